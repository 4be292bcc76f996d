//! Congestion control of crate `cc` under quinn-proto's loss recovery (RFC 9002).
//!
//! quinn-proto takes a window from its controller and paces by it at 1.25 windows per round trip. A policy of ours may set a rate
//! of its own, or let segments go by tokens. So this adapter decides *before* each packet whether one may leave, by window and
//! by rate, and then shows quinn-proto a window without end or none at all: ACKs and probes still leave, and quinn-proto's own
//! pacer, which does nothing for windows over 2^32 bytes, stays out of the way.
//!
//! Bytes are those of UDP payloads, as in RFC 9002: `mss` is the largest datagram. What differs from TCP: there are no
//! retransmitted packets, so each ACK measures the round trip and the rate; an ACK is taken up after the losses that it
//! reveals; nothing is undone, since a packet that was declared lost is forgotten.

use crate::clock::Clock;
use longhaul_cc::careful_resume::{Phase, READING};
use longhaul_cc::{Ack, Congestion, CongestionControl, CongestionKind, Delivery, Inspection, Lost, Sent};
use longhaul_units::{Duration, Instant, Rate, Size};
use quinn_proto::RttEstimator;
use quinn_proto::congestion::{Controller, ControllerFactory};
use std::any::Any;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Datagrams that leave at the same time, and the state when they did (draft-ietf-ccwg-bbr-04 section 4.1).
#[derive(Clone, Copy, Debug)]
struct Departure {
    sent_at: Instant,
    first_sent_at: Instant,
    delivered: u64,
    delivered_at: Instant,
    lost: u64,
    in_flight: u64,
    app_limited: bool,
    /// Bytes sent in all before it.
    begin: u64,
}

/// Who decides how much may be in flight.
enum Decider {
    Ours(Box<dyn CongestionControl>),
    Quinn(Box<dyn Controller>),
}

/// What holds the next datagram back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Hold {
    /// It may leave.
    None,
    /// The window is full.
    Window,
    /// Not before this time.
    Until(Instant),
}

/// Counters and measurements of one connection's sender.
#[derive(Clone, Copy, Debug)]
pub struct Measured {
    /// Round trips measured, without correction for the peer's delay.
    pub rtt_samples: u64,
    /// Their sum.
    pub rtt_sum: Duration,
    /// The smallest; [`Duration::MAX`] before the first.
    pub rtt_min: Duration,
    /// The largest.
    pub rtt_max: Duration,
    /// Smoothed round trip (RFC 6298 section 2).
    pub srtt: Duration,
    /// Reductions on loss, at most one per round trip (RFC 9002 section 7.3.2).
    pub loss_events: u64,
    /// Reductions on an ECN echo.
    pub ecn_events: u64,
    /// Times of persistent congestion (RFC 9002 section 7.6).
    pub persistent_congestion: u64,
    /// Bytes in flight.
    pub in_flight: u64,
}

pub(crate) struct Core {
    clock: Clock,
    decider: Decider,
    samples_delivery: bool,
    /// The policy resumes carefully, and reports its phase.
    resumes: bool,
    holds_tokens: bool,
    /// The gate is open: a datagram may leave.
    open: bool,
    /// Bytes sent in 0-RTT packets.
    pub early: u64,
    /// Initial packets are in flight no more.
    handshake_began: bool,
    /// The next datagram leaves whatever is in flight: see [`Core::let_finished_pass`].
    passes_window: bool,
    /// quinn-proto had something to send and found the gate closed.
    pub asked: bool,
    mtu: u64,
    next_departure: Instant,
    burst: u64,
    departures: VecDeque<Departure>,
    sent: u64,
    delivered: u64,
    delivered_at: Instant,
    first_sent_at: Instant,
    lost: u64,
    newly_lost: u64,
    app_limited_until: u64,
    /// Data sent before this byte left while window or rate were the limit.
    limited_below: u64,
    idle_since: Option<Instant>,
    round: u64,
    next_round: u64,
    recovery_start: Option<Instant>,
    /// ACKs that are not yet reported: bytes, and when the newest of them left.
    acked: u64,
    newest: Option<Instant>,
    prior_in_flight: u64,
    pub measured: Measured,
}

/// The state that the connection's owner shares with the controller inside the connection.
#[derive(Clone)]
pub(crate) struct Shared(Arc<Mutex<Core>>);

impl Shared {
    /// Never contended: both users are one thread. A panic elsewhere leaves the state as it is.
    #[inline]
    pub fn lock(&self) -> MutexGuard<'_, Core> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Core {
    fn new(clock: Clock, decider: Decider, mtu: u16, burst: u32) -> Self {
        let (samples_delivery, holds_tokens) = match &decider {
            Decider::Ours(policy) => (policy.needs_delivery_rate(), policy.holds_tokens()),
            Decider::Quinn(_) => (false, false),
        };
        let mut core = Core {
            clock,
            decider,
            samples_delivery,
            resumes: true,
            holds_tokens,
            open: true,
            early: 0,
            handshake_began: false,
            passes_window: false,
            asked: false,
            mtu: u64::from(mtu),
            next_departure: Instant::ZERO,
            burst: u64::from(burst.max(1)),
            departures: VecDeque::new(),
            sent: 0,
            delivered: 0,
            delivered_at: Instant::ZERO,
            first_sent_at: Instant::ZERO,
            lost: 0,
            newly_lost: 0,
            app_limited_until: 0,
            limited_below: 0,
            idle_since: None,
            round: 0,
            next_round: 0,
            recovery_start: None,
            acked: 0,
            newest: None,
            prior_in_flight: 0,
            measured: Measured {
                rtt_samples: 0,
                rtt_sum: Duration::ZERO,
                rtt_min: Duration::MAX,
                rtt_max: Duration::ZERO,
                srtt: Duration::ZERO,
                loss_events: 0,
                ecn_events: 0,
                persistent_congestion: 0,
                in_flight: 0,
            },
        };
        core.resumes = core.phase().is_some();
        core
    }

    /// What goes on inside a policy of ours.
    pub fn inspect(&self, inspection: &mut Inspection) {
        if let Decider::Ours(policy) = &self.decider {
            policy.inspect(inspection);
        }
    }

    /// The phase of careful resume, where there is one.
    pub fn phase(&self) -> Option<Phase> {
        if !self.resumes {
            return None;
        }
        let mut inspection = Inspection::default();
        self.inspect(&mut inspection);
        let reading = inspection.readings().iter().find(|reading| reading.name == READING)?;
        Phase::ALL.get(reading.value as usize).copied()
    }

    pub fn window(&self) -> u64 {
        match &self.decider {
            Decider::Ours(policy) => policy.window(),
            Decider::Quinn(controller) => controller.window(),
        }
    }

    pub fn ssthresh(&self) -> Option<u64> {
        match &self.decider {
            Decider::Ours(policy) => Some(policy.ssthresh()).filter(|bytes| *bytes < u64::MAX),
            Decider::Quinn(controller) => controller.metrics().ssthresh,
        }
    }

    pub fn in_slow_start(&self) -> bool {
        match &self.decider {
            Decider::Ours(policy) => policy.in_slow_start(),
            // Without a threshold a window has never been cut.
            Decider::Quinn(controller) => self.ssthresh().is_none_or(|bytes| controller.window() < bytes),
        }
    }

    /// quinn-proto's own control decides.
    pub fn is_quinns(&self) -> bool {
        matches!(self.decider, Decider::Quinn(_))
    }

    /// The window has no room for a full datagram.
    pub fn is_full(&self) -> bool {
        self.measured.in_flight + self.mtu >= self.window()
    }

    pub fn in_recovery(&self) -> bool {
        self.recovery_start.is_some()
    }

    pub fn established(&mut self, now: Instant) {
        let rtt = (self.measured.rtt_samples > 0).then_some(self.measured.srtt);
        if let Decider::Ours(policy) = &mut self.decider {
            policy.on_established(now, rtt);
        }
    }

    /// A client sends its first Handshake packet and discards its Initial keys: what is not acknowledged of Initial packets is in flight
    /// no more (RFC 9001 section 4.9.1, RFC 9002 section 6.4). quinn-proto reports its count with the next ACK only, a round trip later,
    /// and the Initial packets that probes have sent again would take the window until then.
    pub fn initial_packets_are_discarded(&mut self) {
        if !std::mem::replace(&mut self.handshake_began, true) {
            self.measured.in_flight = self.measured.in_flight.min(self.early);
        }
    }

    /// The next datagram leaves whatever is in flight: it has the client's Finished, without which the server can read nothing that
    /// follows, and so acknowledge nothing. quinn-proto sends its MTU probes past the window. With a window of two datagrams, one in
    /// flight and a probe, a Finished that waits for room would wait for ever. The rate still holds.
    pub fn let_finished_pass(&mut self) {
        self.passes_window = true;
    }

    /// Whether a full datagram may leave now; sets the gate accordingly.
    pub fn hold(&mut self, now: Instant) -> Hold {
        self.asked = false;
        self.open = true;
        let Decider::Ours(policy) = &mut self.decider else { return Hold::None };
        let full = self.measured.in_flight + self.mtu > policy.window().max(self.mtu);
        let hold = if full && !self.passes_window {
            Hold::Window
        } else {
            let release = if self.holds_tokens {
                policy.release(now, self.mtu)
            } else if policy.pacing_rate().is_some() {
                self.next_departure
            } else {
                now
            };
            if release > now { Hold::Until(release) } else { Hold::None }
        };
        self.open = hold == Hold::None;
        hold
    }

    /// There is something to send, but window or rate forbid it.
    pub fn held(&mut self) {
        self.limited_below = self.sent;
    }

    /// Nothing is left to send although window and rate would allow it.
    pub fn limited_by_application(&mut self) {
        self.app_limited_until = (self.delivered + self.measured.in_flight).max(1);
    }

    /// A datagram left that counts as in flight.
    pub fn sent(&mut self, now: Instant, bytes: u64, repeated: bool) {
        self.passes_window = false;
        if self.measured.in_flight == 0 {
            self.first_sent_at = now;
            self.delivered_at = now;
            let idle = self.idle_since.take().map(|since| now.since(since));
            if let (Decider::Ours(policy), Some(idle)) = (&mut self.decider, idle) {
                policy.on_transmission_start(now, idle);
            }
        }
        self.measured.in_flight += bytes;
        let in_flight = self.measured.in_flight;
        match self.departures.back_mut().filter(|last| last.sent_at == now) {
            Some(last) => last.in_flight = in_flight,
            None => self.departures.push_back(Departure {
                sent_at: now,
                first_sent_at: self.first_sent_at,
                delivered: self.delivered,
                delivered_at: self.delivered_at,
                lost: self.lost,
                in_flight,
                app_limited: self.app_limited_until != 0,
                begin: self.sent,
            }),
        }
        self.sent += bytes;
        let Decider::Ours(policy) = &mut self.decider else { return };
        policy.on_sent(&Sent { now, bytes, in_flight, retransmission: repeated });
        if let Some(rate) = policy.pacing_rate().filter(|_| !self.holds_tokens) {
            let interval = rate.transmission_time(Size::from_bytes(bytes));
            // Time that passed unused counts for a burst of full datagrams at most.
            let credit = rate.transmission_time(Size::from_bytes((self.burst - 1) * self.mtu)).as_nanos();
            let earliest = Instant::from_nanos(now.as_nanos().saturating_sub(credit));
            self.next_departure = self.next_departure.max(earliest) + interval;
        }
    }

    fn departure(&self, sent_at: Instant) -> Option<Departure> {
        let at = self.departures.binary_search_by_key(&sent_at, |departure| departure.sent_at).ok()?;
        Some(self.departures[at])
    }

    fn acknowledged(&mut self, sent_at: Instant, bytes: u64) {
        if self.newest.is_none() {
            self.prior_in_flight = self.measured.in_flight;
        }
        self.acked += bytes;
        self.newest = Some(self.newest.map_or(sent_at, |newest| newest.max(sent_at)));
    }

    fn congestion(&mut self, now: Instant, sent_at: Instant, persistent: bool, lost: u64) {
        let flight_size = self.measured.in_flight;
        self.lost += lost;
        self.newly_lost += lost;
        let departure = self.departure(sent_at);
        self.measured.in_flight = self.measured.in_flight.saturating_sub(lost);
        let begins = self.recovery_start.is_none_or(|start| sent_at > start);
        let Decider::Ours(policy) = &mut self.decider else {
            self.count_event(begins, persistent, lost);
            if begins {
                self.recovery_start = Some(now);
            }
            return;
        };
        if let (true, true, Some(departure)) = (self.samples_delivery, lost > 0, departure) {
            policy.on_lost(&Lost {
                now,
                start: departure.begin,
                bytes: lost,
                lost: self.lost - departure.lost,
                in_flight_when_sent: departure.in_flight,
                app_limited: departure.app_limited,
                delivered: self.delivered,
            });
        }
        let kind = match (persistent, lost) {
            (true, _) => CongestionKind::Timeout,
            (false, 0) => CongestionKind::EcnEcho,
            _ => CongestionKind::Loss,
        };
        if begins || persistent {
            policy.on_congestion(&Congestion { now, kind, flight_size });
            self.recovery_start = Some(now);
        }
        self.count_event(begins, persistent, lost);
    }

    fn count_event(&mut self, begins: bool, persistent: bool, lost: u64) {
        match (begins, persistent, lost) {
            (_, true, _) => self.measured.persistent_congestion += 1,
            (true, _, 0) => self.measured.ecn_events += 1,
            (true, ..) => self.measured.loss_events += 1,
            _ => {}
        }
    }

    /// Reports what was acknowledged, once the losses that came to light with it are known. True if a reduction's round trip
    /// is over.
    pub fn report_acks(&mut self, now: Instant) -> bool {
        let Some(newest) = self.newest.take() else { return false };
        let acked = std::mem::take(&mut self.acked);
        self.delivered += acked;
        let rtt = now.since(newest);
        self.measure(rtt);
        let departure = self.departure(newest);
        let then = departure.unwrap_or(Departure {
            sent_at: newest,
            first_sent_at: newest,
            delivered: self.delivered - acked,
            delivered_at: newest,
            lost: self.lost,
            in_flight: self.prior_in_flight,
            app_limited: true,
            begin: self.sent,
        });
        let delivery = self.samples_delivery.then(|| self.delivery(now, &then));
        if self.app_limited_until != 0 && self.delivered > self.app_limited_until {
            self.app_limited_until = 0;
        }
        self.delivered_at = now;
        self.first_sent_at = newest;
        self.newly_lost = 0;
        // What left longer ago than any packet is waited for (9/8 of a round trip) is not kept any more.
        let forgotten = Duration::from_nanos(4 * self.measured.srtt.max(rtt).as_nanos());
        while self.departures.front().is_some_and(|first| first.sent_at + forgotten < newest) {
            self.departures.pop_front();
        }
        let round_start = then.delivered >= self.next_round;
        if round_start {
            self.round += 1;
            self.next_round = self.delivered;
        }
        let in_recovery = self.recovery_start.is_some_and(|start| newest <= start);
        let ends = !in_recovery && self.recovery_start.take().is_some();
        self.idle_since = (self.measured.in_flight == 0).then_some(now);
        let Decider::Ours(policy) = &mut self.decider else { return ends };
        if ends {
            policy.on_recovery_end();
        }
        policy.on_ack(&Ack {
            now,
            acked,
            rtt: Some(rtt),
            srtt: self.measured.srtt,
            min_rtt: self.measured.rtt_min,
            in_flight: self.measured.in_flight,
            prior_in_flight: self.prior_in_flight,
            next_departure: now,
            round: self.round,
            round_start,
            delivery: delivery.flatten(),
            delivered: self.delivered,
            marked: 0,
            // Slow start grows by all that is acknowledged, however many packets one ACK is for (RFC 9002 section 7.3.1).
            ack_ratio: u32::try_from(acked.div_ceil(self.mtu)).unwrap_or(u32::MAX).max(1),
            app_limited: then.begin >= self.limited_below,
            receiver_limited: false,
            in_recovery,
        });
        ends
    }

    fn measure(&mut self, rtt: Duration) {
        let measured = &mut self.measured;
        measured.srtt = if measured.rtt_samples == 0 {
            rtt
        } else {
            Duration::from_nanos((7 * measured.srtt.as_nanos() + rtt.as_nanos()) / 8)
        };
        measured.rtt_samples += 1;
        measured.rtt_sum += rtt;
        measured.rtt_min = measured.rtt_min.min(rtt);
        measured.rtt_max = measured.rtt_max.max(rtt);
    }

    fn delivery(&self, now: Instant, then: &Departure) -> Option<Delivery> {
        let sending = then.sent_at.since(then.first_sent_at);
        let interval = sending.max(now.since(then.delivered_at));
        let delivered = self.delivered - then.delivered;
        let rate = (interval >= self.measured.rtt_min && !interval.is_zero()).then(|| {
            let bps = u128::from(delivered) * 8_000_000_000 / u128::from(interval.as_nanos());
            Rate::from_bps(u64::try_from(bps).unwrap_or(u64::MAX))
        });
        Some(Delivery {
            rate,
            rtt: Some(now.since(then.sent_at)),
            delivered,
            prior_delivered: then.delivered,
            app_limited: then.app_limited,
            newly_lost: self.newly_lost,
            lost: self.lost - then.lost,
            in_flight_when_sent: then.in_flight,
        })
    }
}

/// The side of the adapter that lives in quinn-proto's connection.
struct Adapter(Shared);

impl Controller for Adapter {
    fn on_sent(&mut self, now: std::time::Instant, bytes: u64, last_packet_number: u64) {
        if let Decider::Quinn(controller) = &mut self.0.lock().decider {
            controller.on_sent(now, bytes, last_packet_number);
        }
    }

    fn on_ack(
        &mut self,
        now: std::time::Instant,
        sent: std::time::Instant,
        bytes: u64,
        app_limited: bool,
        rtt: &RttEstimator,
    ) {
        let mut core = self.0.lock();
        let sent_at = core.clock.from_std(sent);
        core.acknowledged(sent_at, bytes);
        if let Decider::Quinn(controller) = &mut core.decider {
            controller.on_ack(now, sent, bytes, app_limited, rtt);
        }
    }

    fn on_end_acks(
        &mut self,
        now: std::time::Instant,
        in_flight: u64,
        app_limited: bool,
        largest_packet_num_acked: Option<u64>,
    ) {
        let mut core = self.0.lock();
        core.measured.in_flight = in_flight;
        if let Decider::Quinn(controller) = &mut core.decider {
            controller.on_end_acks(now, in_flight, app_limited, largest_packet_num_acked);
        }
    }

    fn on_congestion_event(
        &mut self,
        now: std::time::Instant,
        sent: std::time::Instant,
        is_persistent_congestion: bool,
        lost_bytes: u64,
    ) {
        let mut core = self.0.lock();
        let (at, sent_at) = (core.clock.from_std(now), core.clock.from_std(sent));
        core.congestion(at, sent_at, is_persistent_congestion, lost_bytes);
        if let Decider::Quinn(controller) = &mut core.decider {
            controller.on_congestion_event(now, sent, is_persistent_congestion, lost_bytes);
        }
    }

    fn on_mtu_update(&mut self, new_mtu: u16) {
        let mut core = self.0.lock();
        core.mtu = u64::from(new_mtu);
        match &mut core.decider {
            Decider::Ours(policy) => policy.on_mss(u64::from(new_mtu)),
            Decider::Quinn(controller) => controller.on_mtu_update(new_mtu),
        }
    }

    fn window(&self) -> u64 {
        let mut core = self.0.lock();
        match &core.decider {
            Decider::Quinn(_) if core.passes_window => u64::MAX / 2,
            Decider::Quinn(controller) => controller.window(),
            // Halved, since quinn-proto adds to what it compares with.
            Decider::Ours(_) if core.open => u64::MAX / 2,
            Decider::Ours(_) => {
                core.asked = true;
                1
            }
        }
    }

    /// A path that changes keeps its controller: paths do not change in a run.
    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(Adapter(self.0.clone()))
    }

    fn initial_window(&self) -> u64 {
        let core = self.0.lock();
        match &core.decider {
            Decider::Ours(policy) => policy.window(),
            Decider::Quinn(controller) => controller.initial_window(),
        }
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

/// Makes the policy of a connection.
pub(crate) enum Maker {
    Ours(crate::settings::MakePolicy),
    Quinn(Arc<dyn ControllerFactory + Send + Sync>),
}

/// Builds a connection's controller and keeps hold of what it shares with its owner.
pub(crate) struct Factory {
    pub clock: Clock,
    pub maker: Maker,
    pub burst: u32,
    /// Seed of the policy's own random numbers, by the number of the connection.
    pub seed: u64,
    pub made: Mutex<Vec<Shared>>,
}

impl Factory {
    /// What the connection that was made last shares.
    pub fn take(&self) -> Option<Shared> {
        self.made.lock().unwrap_or_else(PoisonError::into_inner).pop()
    }
}

impl ControllerFactory for Factory {
    fn build(self: Arc<Self>, now: std::time::Instant, current_mtu: u16) -> Box<dyn Controller> {
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        let decider = match &self.maker {
            Maker::Ours(make) => {
                let mut policy = make(self.seed);
                policy.on_mss(u64::from(current_mtu));
                Decider::Ours(policy)
            }
            Maker::Quinn(factory) => Decider::Quinn(Arc::clone(factory).build(now, current_mtu)),
        };
        let shared = Shared(Arc::new(Mutex::new(Core::new(self.clock, decider, current_mtu, self.burst))));
        made.clear();
        made.push(shared.clone());
        Box::new(Adapter(shared))
    }
}
