//! One direction of a link: queue, transmitter, wire.
//!
//! Behind a discipline that decides on arrival, a packet's departure is known the moment it comes in, so a link costs
//! one event per packet: the arrival at the far end. Other disciplines cost a second one, the end of transmission.

use crate::backlog::Backlog;
use crate::queue::{Admission, Discipline, Found, Occupancy, Report, Verdict};
use crate::schedule::Schedule;
use crate::serial::{LineCoder, Plain};
use crate::{
    Change, Histogram, LossModel, LossPlace, LossSpec, Outage, Packet, QueueSpec, Random, SerialSpec,
};
use longhaul_units::{Duration, Instant, Probability, Rate, Size, counters};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// Why a packet was dropped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum DropCause {
    /// The queue was full.
    QueueFull = 0,
    /// Active queue management chose it.
    Early = 1,
    /// Active queue management let nothing in.
    Forced = 2,
    /// A loss model hit it.
    Loss = 3,
    /// It was transmitted during an outage.
    Outage = 4,
    /// The far end of a line could not make out its compressed header.
    Unreadable = 5,
}

impl DropCause {
    /// All causes, in the order of [`LinkStats::dropped`].
    pub const ALL: [DropCause; 6] = [
        DropCause::QueueFull,
        DropCause::Early,
        DropCause::Forced,
        DropCause::Loss,
        DropCause::Outage,
        DropCause::Unreadable,
    ];

    /// The causes that lie with a queue.
    pub const OF_QUEUES: [DropCause; 3] = [DropCause::QueueFull, DropCause::Early, DropCause::Forced];

    /// The cause's name in results.
    pub fn name(self) -> &'static str {
        match self {
            DropCause::QueueFull => "queue_full",
            DropCause::Early => "early",
            DropCause::Forced => "forced",
            DropCause::Loss => "loss",
            DropCause::Outage => "outage",
            DropCause::Unreadable => "unreadable",
        }
    }
}

/// Some packets take longer and are overtaken.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Reordering {
    /// Probability that a packet takes longer.
    pub probability: Probability,
    /// How much longer.
    pub delay: Duration,
}

/// Everything that makes a link.
#[derive(Clone, Debug)]
pub struct LinkConfig {
    /// Rate of the transmitter; of a serial line, that at which it carries bytes of 8 bits.
    pub rate: Rate,
    /// Propagation delay.
    pub delay: Duration,
    /// Queue discipline.
    pub queue: QueueSpec,
    /// Loss without congestion.
    pub loss: Option<LossSpec>,
    /// Scripted changes of rate and delay.
    pub changes: Vec<Change>,
    /// Scripted outages.
    pub outages: Vec<Outage>,
    /// Extra delay, uniform between zero and this; packets keep their order.
    pub jitter: Duration,
    /// Random overtaking.
    pub reordering: Option<Reordering>,
    /// Framing and the like. With header compression, packets are offered by [`Link::offer_coded`].
    pub serial: Option<SerialSpec>,
}

impl LinkConfig {
    /// Rate, delay and outages over time.
    pub fn schedule(&self) -> Schedule {
        Schedule::new(self.rate, self.delay, &self.changes, &self.outages)
    }

    /// Bytes that a packet of `len` bytes takes on the link where nothing is lost.
    pub fn usual_len(&self, len: u32) -> u32 {
        self.serial.map_or(len, |serial| serial.usual_len(len))
    }
}

counters! {
    /// What happened on a link since it was made. `arrivals` is the sum of all drops, `delivered`, and what is inside.
    pub struct LinkStats {
        /// Packets offered to the link.
        sum pub arrivals: u64,
        /// Packets dropped, by [`DropCause`].
        sum pub dropped: [u64; 6],
        /// Packets marked with congestion experienced.
        sum pub marked: u64,
        /// Packets whose transmission has ended, lost ones included.
        sum pub transmitted: u64,
        /// Their bytes; on a serial line, as they are there.
        sum pub transmitted_bytes: u64,
        /// Packets handed over at the far end.
        sum pub delivered: u64,
    }
}

impl LinkStats {
    /// All drops.
    pub fn total_dropped(&self) -> u64 {
        self.dropped.iter().sum()
    }

    /// Drops for one cause.
    pub fn dropped_for(&self, cause: DropCause) -> u64 {
        self.dropped[cause as usize]
    }

    /// Packets that the queue has dropped, for whatever cause.
    pub fn dropped_by_queue(&self) -> u64 {
        DropCause::OF_QUEUES.iter().map(|cause| self.dropped_for(*cause)).sum()
    }
}

/// What becomes of an offered packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fate {
    /// It reaches the far end then: pass it to [`Link::carry`], or take it there by other means.
    Arrives(Instant),
    /// It is gone.
    Dropped(DropCause),
    /// It is let in and transmitted, and lost at the end of its transmission, at this time.
    Lost(DropCause, Instant),
    /// The discipline wants the packet itself: pass it to [`Link::enqueue`].
    Queue,
}

/// One direction of a link. Here stands what every packet touches, and it is small and in order of use: thousands of
/// links fit a cache, an arrival at the far end touches one line of it, a packet that enters the link three.
#[repr(C)]
pub struct Link<P> {
    /// Packets on the wire in order of arrival.
    flight: VecDeque<(Instant, P)>,
    delivered: u64,
    /// When the transmitter has sent all that was accepted (disciplines that decide on arrival), or ends the
    /// transmission under way (others).
    free_at: Instant,
    /// Transmission time of a packet of `last_len` bytes: most have the same length. Not used where the rate changes.
    last_time: Duration,
    last_len: u32,
    /// Departures are known on arrival, and the order of packets never changes.
    fifo: bool,
    /// Neither changes nor loss, fades, jitter, reordering or framing.
    plain: bool,
    /// Neither rate nor propagation delay ever change.
    constant: bool,
    /// A plain DropTail link whose waiting times are not measured.
    express: bool,
    /// The propagation delay at the start.
    delay: Duration,
    discipline: Discipline<P>,
    /// Packets and bytes that the queue has let in.
    accepted: Occupancy,
    peak: u64,
    waits: Option<Box<Histogram>>,
    /// What waits or is being transmitted (disciplines that decide on arrival).
    backlog: Backlog,
    /// The rate at the start.
    rate: Rate,
    rest: Box<Rest<P>>,
}

/// The time integral of the packets that wait, without the one in transmission, in nanoseconds.
#[derive(Clone, Copy, Debug, Default)]
struct Waited {
    /// Up to `until`, for other disciplines.
    sum: u128,
    until: Instant,
    /// What was still to come at the beginning, for disciplines that decide on arrival: they record a wait when it begins.
    open_at_start: u128,
}

/// What few packets touch.
struct Rest<P> {
    schedule: Schedule,
    before_queue: Option<LossModel>,
    on_wire: Option<LossModel>,
    serial: Option<SerialSpec>,
    jitter: Duration,
    reordering: Option<Reordering>,
    /// For jitter and reordering.
    random: Option<Random>,
    last_arrival: Instant,
    dropped: [u64; 6],
    /// When the packets leave that are counted as lost but are still in the backlog.
    to_be_lost: VecDeque<Instant>,
    /// How long packets have waited since [`Link::measure_waits`].
    waited: Waited,
    /// Packet in transmission and its arrival in the queue (other disciplines).
    in_service: Option<(Instant, P)>,
    /// What the discipline has done to packets that it had taken in, and all marks.
    report: Report<P>,
    /// Packets and bytes transmitted (other disciplines).
    transmitted: Occupancy,
}

impl<P: Packet + Send + 'static> Link<P> {
    /// A link with random streams derived from `seed` and `name`.
    pub fn new(config: &LinkConfig, seed: u64, name: &str) -> Self {
        let model = |place| {
            let spec = config.loss.as_ref().filter(|spec| spec.place() == place)?;
            Some(LossModel::new(spec, Random::stream(seed, &format!("{name} loss"))))
        };
        let schedule = config.schedule();
        let discipline = config.queue.build(config.rate, seed, name);
        let plain = config.loss.is_none()
            && config.outages.is_empty()
            && config.jitter.is_zero()
            && config.reordering.is_none()
            && config.serial.is_none()
            && schedule.is_constant();
        let draws = !config.jitter.is_zero() || config.reordering.is_some();
        Link {
            free_at: Instant::ZERO,
            delay: config.delay,
            last_time: Duration::ZERO,
            last_len: 0,
            constant: schedule.is_constant(),
            rate: config.rate,
            fifo: !matches!(discipline, Discipline::Queue(_)) && config.reordering.is_none(),
            plain,
            express: plain && matches!(discipline, Discipline::DropTail(_)),
            discipline,
            backlog: Backlog::default(),
            flight: VecDeque::new(),
            accepted: Occupancy::default(),
            delivered: 0,
            peak: 0,
            waits: None,
            rest: Box::new(Rest {
                schedule,
                before_queue: model(LossPlace::BeforeQueue),
                on_wire: model(LossPlace::Wire),
                serial: config.serial,
                jitter: config.jitter,
                reordering: config.reordering,
                random: draws.then(|| Random::stream(seed, &format!("{name} jitter"))),
                last_arrival: Instant::ZERO,
                dropped: [0; 6],
                to_be_lost: VecDeque::new(),
                waited: Waited::default(),
                in_service: None,
                report: Report::default(),
                transmitted: Occupancy::default(),
            }),
        }
    }

    /// True if departures are known on arrival and packets arrive in the order in which they are offered.
    #[inline]
    pub fn is_fifo(&self) -> bool {
        self.fifo
    }

    /// Starts measuring how long packets wait, from now on.
    pub fn measure_waits(&mut self, now: Instant) {
        self.clear_backlog(now);
        let open_at_start = self.backlog.waiting_to_come(now);
        self.rest.waited = Waited { sum: 0, until: now, open_at_start };
        self.waits = Some(Box::default());
        self.express = false;
    }

    /// The time in seconds that packets have waited from [`Link::measure_waits`] to `now`, summed over them: the integral of the
    /// number that wait, without the one in transmission.
    pub fn waited_secs(&mut self, now: Instant) -> f64 {
        if matches!(self.discipline, Discipline::Queue(_)) {
            self.integrate_waiting(now);
            return self.rest.waited.sum as f64 / 1e9;
        }
        self.clear_backlog(now);
        let recorded = self.waits.as_ref().map_or(0, |waits| waits.sum_nanos());
        (recorded + self.rest.waited.open_at_start - self.backlog.waiting_to_come(now)) as f64 / 1e9
    }

    /// Adds the time since the last change of what waits; to be called before each change.
    fn integrate_waiting(&mut self, now: Instant) {
        let Discipline::Queue(queue) = &self.discipline else { return };
        let waited = &mut self.rest.waited;
        if now > waited.until {
            waited.sum +=
                u128::from(now.since(waited.until).as_nanos()) * u128::from(queue.waiting().packets);
            waited.until = now;
        }
    }

    /// Waiting times before transmission, since [`Link::measure_waits`].
    pub fn waits(&self) -> Option<&Histogram> {
        self.waits.as_deref()
    }

    /// Offers a packet. Offers never go back in time.
    #[inline]
    pub fn offer(&mut self, now: Instant, packet: &mut P) -> Fate {
        let len = packet.wire_len();
        if self.express && self.free_at <= now && self.last_len == len {
            // The transmitter is idle and nothing can go wrong, as on most links at most times. The long way gives the same.
            self.free_at = now + self.last_time;
            self.accepted.add(len);
            self.peak = self.peak.max(1);
            self.backlog.begin(self.free_at, self.last_time, len);
            return Fate::Arrives(self.free_at + self.delay);
        }
        self.offer_to_queue(now, packet, &mut Plain)
    }

    /// The same on a line that compresses headers. Only for FIFO links: packets are transmitted in the order in which they are
    /// let in, so that the coder, which compresses what leaves the queue, can be asked when they come.
    pub fn offer_coded(&mut self, now: Instant, packet: &mut P, coder: &mut impl LineCoder<P>) -> Fate {
        self.offer_to_queue(now, packet, coder)
    }

    fn offer_to_queue(&mut self, now: Instant, packet: &mut P, coder: &mut impl LineCoder<P>) -> Fate {
        let len = packet.wire_len();
        if !self.plain && self.rest.before_queue.as_mut().is_some_and(|model| model.is_lost(len)) {
            return self.drop_for(DropCause::Loss);
        }
        self.clear_backlog(now);
        let found = Found {
            system: self.backlog.occupancy(),
            in_service: self.backlog.in_transmission().map_or(0, |(_, len)| len),
            free_at: self.free_at,
        };
        let verdict = match &mut self.discipline {
            Discipline::DropTail(queue) => queue.admit(now, &found, len),
            Discipline::Red(queue) => queue.admit(now, &found, len),
            Discipline::Pie(queue) => queue.admit(now, &found, len),
            Discipline::Queue(_) => return Fate::Queue,
        };
        match verdict {
            Verdict::Accept => {}
            Verdict::Mark if packet.mark_congestion() => self.rest.report.marked += 1,
            Verdict::Mark => return self.drop_for(DropCause::Early),
            Verdict::Drop(cause) => return self.drop_for(cause),
        }
        let start = if self.free_at > now { self.free_at } else { now };
        let len = if self.plain { len } else { self.line_len(coder.encode(start, packet)) };
        let time = self.transmission_time(start, len);
        let departure = start + time;
        self.free_at = departure;
        self.accepted.add(len);
        self.backlog.push(departure, time, len);
        self.peak = self.peak.max(self.backlog.occupancy().packets);
        if let Some(waits) = &mut self.waits {
            waits.record(start - now);
        }
        if self.plain { Fate::Arrives(departure + self.delay) } else { self.leave(departure, len, coder) }
    }

    fn line_len(&self, len: u32) -> u32 {
        self.rest.serial.map_or(len, |serial| serial.line_len(len))
    }

    #[inline]
    fn transmission_time(&mut self, start: Instant, len: u32) -> Duration {
        if self.last_len != len || !self.constant {
            self.look_up_transmission_time(start, len);
        }
        self.last_time
    }

    #[cold]
    fn look_up_transmission_time(&mut self, start: Instant, len: u32) {
        self.last_len = len;
        self.last_time = if self.constant {
            self.rate.transmission_time(Size::from_bytes(u64::from(len)))
        } else {
            self.rest.schedule.transmission_end(start, len) - start
        };
    }

    /// Takes a packet for which [`Link::offer`] said [`Fate::Queue`]. See [`Link::take_dropped`].
    pub fn enqueue(&mut self, now: Instant, packet: P) {
        self.integrate_waiting(now);
        let Discipline::Queue(queue) = &mut self.discipline else {
            unreachable!("only a queueing discipline asks for the packet");
        };
        let in_service = self.rest.in_service.as_ref().map_or(0, |(_, packet)| packet.wire_len());
        let before = self.rest.report.dropped.len();
        self.accepted.add(packet.wire_len());
        queue.enqueue(now, packet, in_service, &mut self.rest.report);
        let waiting = queue.waiting().packets;
        self.count_discarded(before);
        self.peak = self.peak.max(waiting + u64::from(in_service > 0));
        if self.rest.in_service.is_none() {
            self.serve_next(now);
        }
    }

    /// Packets that the discipline has dropped after taking them in, with the cause.
    pub fn take_dropped(&mut self) -> std::vec::Drain<'_, (P, DropCause)> {
        self.rest.report.dropped.drain(..)
    }

    /// Puts a packet on the wire, to arrive at `arrival` as [`Link::offer`] said. True if it will be the next to arrive.
    #[inline]
    pub fn carry(&mut self, arrival: Instant, packet: P) -> bool {
        if self.plain {
            self.flight.push_back((arrival, packet));
            return self.flight.len() == 1;
        }
        self.carry_in_order_of_arrival(arrival, packet)
    }

    #[cold]
    fn carry_in_order_of_arrival(&mut self, arrival: Instant, packet: P) -> bool {
        let overtaken = self.flight.iter().rev().take_while(|(other, _)| *other > arrival).count();
        let position = self.flight.len() - overtaken;
        self.flight.insert(position, (arrival, packet));
        position == 0
    }

    /// When the link next needs [`Link::poll`]; [`Instant::FAR_FUTURE`] when never.
    #[inline]
    pub fn next_event(&self) -> Instant {
        let arrival = self.flight.front().map_or(Instant::FAR_FUTURE, |(at, _)| *at);
        if self.fifo || self.rest.in_service.is_none() { arrival } else { arrival.min(self.free_at) }
    }

    /// The next packet that has arrived at the far end by `now`, if any.
    #[inline]
    pub fn poll(&mut self, now: Instant) -> Option<P> {
        if !self.fifo {
            self.end_services(now);
        }
        if self.flight.front()?.0 > now {
            return None;
        }
        self.delivered += 1;
        self.flight.pop_front().map(|(_, packet)| packet)
    }

    #[cold]
    fn end_services(&mut self, now: Instant) {
        while self.rest.in_service.is_some() && self.free_at <= now {
            self.end_service();
        }
    }

    /// Counts a packet that was taken to the far end without [`Link::carry`].
    #[inline]
    pub fn count_delivered(&mut self) {
        self.delivered += 1;
    }

    /// Counters at `now`.
    pub fn stats(&mut self, now: Instant) -> LinkStats {
        self.clear_backlog(now);
        let queueing = matches!(self.discipline, Discipline::Queue(_));
        let refused = if queueing {
            0
        } else {
            DropCause::OF_QUEUES.iter().map(|cause| self.rest.dropped[*cause as usize]).sum()
        };
        let lost_before =
            self.rest.before_queue.as_ref().map_or(0, |_| self.rest.dropped[DropCause::Loss as usize]);
        let transmitted = if queueing {
            self.rest.transmitted
        } else {
            let present = self.backlog.occupancy();
            Occupancy {
                packets: self.accepted.packets - present.packets,
                bytes: self.accepted.bytes - present.bytes,
            }
        };
        LinkStats {
            arrivals: self.accepted.packets + refused + lost_before,
            dropped: self.rest.dropped,
            marked: self.rest.report.marked,
            transmitted: transmitted.packets,
            transmitted_bytes: transmitted.bytes,
            delivered: self.delivered,
        }
    }

    /// Packets that [`Link::stats`] counts as lost already, since what becomes of them is known, but whose transmission has not
    /// ended by `now`.
    pub fn lost_to_come(&mut self, now: Instant) -> u64 {
        let to_be_lost = &mut self.rest.to_be_lost;
        while to_be_lost.front().is_some_and(|departure| *departure <= now) {
            to_be_lost.pop_front();
        }
        to_be_lost.len() as u64
    }

    /// Bits transmitted by `now`, the begun part of the packet in transmission included.
    pub fn transmitted_bits(&mut self, now: Instant) -> f64 {
        let complete = self.stats(now).transmitted_bytes as f64 * 8.0;
        let under_way = match (&self.discipline, &self.rest.in_service) {
            (Discipline::Queue(_), service) => {
                service.as_ref().map(|(_, packet)| (self.free_at, self.line_len(packet.wire_len())))
            }
            _ => self.backlog.in_transmission(),
        };
        let Some((end, len)) = under_way else { return complete };
        let bits = f64::from(len) * 8.0;
        let to_come = self.rest.schedule.capacity_bits(now, end);
        complete + (bits - to_come).max(0.0)
    }

    /// What waits or is being transmitted at `now`.
    pub fn occupancy(&mut self, now: Instant) -> Occupancy {
        self.clear_backlog(now);
        match (&self.discipline, &self.rest.in_service) {
            (Discipline::Queue(queue), Some((_, packet))) => {
                let mut all = queue.waiting();
                all.add(packet.wire_len());
                all
            }
            _ => self.backlog.occupancy(),
        }
    }

    /// The rate at `now`: zero while the transmitter is stopped. Looks never go back in time.
    pub fn rate_at(&mut self, now: Instant) -> Rate {
        if self.constant { self.rate } else { self.rest.schedule.rate_at(now) }
    }

    /// The average queue that the discipline goes by, in packets, as of the last arrival; `None` if it goes by none.
    pub fn average_queue(&self) -> Option<f64> {
        match &self.discipline {
            Discipline::Red(queue) => Some(queue.average_packets()),
            Discipline::Queue(queue) => queue.average(),
            Discipline::DropTail(_) | Discipline::Pie(_) => None,
        }
    }

    /// The largest number of packets in the system since the last call.
    pub fn take_peak(&mut self, now: Instant) -> u64 {
        let present = self.occupancy(now).packets;
        std::mem::replace(&mut self.peak, present)
    }

    /// Takes the first packet off the wire ahead of time, if it arrives before `limit`. Only for FIFO links.
    #[inline]
    pub fn take_ahead(&mut self, limit: Instant) -> Option<(Instant, P)> {
        if self.flight.front()?.0 >= limit {
            return None;
        }
        self.delivered += 1;
        self.flight.pop_front()
    }

    /// Packets on the wire whose transmission is over or under way, in [`Link::carry`]'s hands.
    pub fn in_flight(&self) -> u64 {
        self.flight.len() as u64
    }

    /// Rate, delay and outages over time.
    pub fn schedule(&self) -> &Schedule {
        &self.rest.schedule
    }

    #[inline]
    fn clear_backlog(&mut self, now: Instant) {
        if self.free_at <= now {
            self.backlog.clear();
        } else {
            self.backlog.remove_until(now);
        }
    }

    #[cold]
    fn drop_for(&mut self, cause: DropCause) -> Fate {
        self.rest.dropped[cause as usize] += 1;
        Fate::Dropped(cause)
    }

    #[cold]
    fn lose_for(&mut self, cause: DropCause, departure: Instant) -> Fate {
        self.rest.dropped[cause as usize] += 1;
        if !matches!(self.discipline, Discipline::Queue(_)) {
            let to_be_lost = &mut self.rest.to_be_lost;
            to_be_lost.push_back(departure);
            // What is not in the backlog any more has left.
            while to_be_lost.len() as u64 > self.backlog.occupancy().packets {
                to_be_lost.pop_front();
            }
        }
        Fate::Lost(cause, departure)
    }

    fn count_discarded(&mut self, from: usize) {
        for (_, cause) in &self.rest.report.dropped[from..] {
            self.rest.dropped[*cause as usize] += 1;
        }
    }

    /// What the wire does to a packet of `len` bytes whose transmission ends at `departure`.
    fn leave(&mut self, departure: Instant, len: u32, coder: &mut impl LineCoder<P>) -> Fate {
        let wire = &mut *self.rest;
        if wire.on_wire.as_mut().is_some_and(|model| model.is_lost(len)) {
            coder.lost(wire.serial.is_some_and(|serial| serial.framing.notices_damage()));
            return self.lose_for(DropCause::Loss, departure);
        }
        if wire.schedule.in_fade(departure) {
            coder.lost(false);
            return self.lose_for(DropCause::Outage, departure);
        }
        if !coder.decode(departure) {
            return self.lose_for(DropCause::Unreadable, departure);
        }
        let mut arrival = departure + wire.schedule.delay_at(departure);
        if let Some(random) = wire.random.as_mut().filter(|_| !wire.jitter.is_zero()) {
            arrival += Duration::from_nanos(random.up_to(wire.jitter.as_nanos()));
        }
        // Jitter and a delay that shrinks do not reorder: a wire is first in, first out.
        arrival = arrival.max(wire.last_arrival);
        if let (Some(reordering), Some(random)) = (wire.reordering, &mut wire.random) {
            if random.uniform() < reordering.probability.get() {
                return Fate::Arrives(arrival + reordering.delay);
            }
        }
        wire.last_arrival = arrival;
        Fate::Arrives(arrival)
    }

    fn serve_next(&mut self, now: Instant) {
        self.integrate_waiting(now);
        let Discipline::Queue(queue) = &mut self.discipline else { return };
        let before = self.rest.report.dropped.len();
        let next = queue.dequeue(now, &mut self.rest.report);
        self.count_discarded(before);
        if let Some((arrived, packet)) = next {
            // A host with a random delay before each transmission offers its packets ahead of time.
            let start = now.max(arrived);
            if let Some(waits) = &mut self.waits {
                waits.record(start - arrived);
            }
            let len = self.line_len(packet.wire_len());
            self.free_at = self.rest.schedule.transmission_end(start, len);
            self.rest.in_service = Some((arrived, packet));
        }
    }

    fn end_service(&mut self) {
        let Some((_, packet)) = self.rest.in_service.take() else { return };
        let (departure, len) = (self.free_at, self.line_len(packet.wire_len()));
        self.rest.transmitted.add(len);
        match self.leave(departure, len, &mut Plain) {
            Fate::Arrives(arrival) => {
                self.carry(arrival, packet);
            }
            Fate::Dropped(cause) | Fate::Lost(cause, _) => self.rest.report.drop(packet, cause),
            Fate::Queue => unreachable!("the wire does not queue"),
        }
        self.serve_next(departure);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::OutageMode;
    use longhaul_units::Limit;
    use proptest::prelude::*;

    #[derive(Clone, Copy, PartialEq, Debug)]
    struct Dummy {
        id: u64,
        len: u32,
    }
    impl Packet for Dummy {
        fn wire_len(&self) -> u32 {
            self.len
        }
        fn mark_congestion(&mut self) -> bool {
            false
        }
        fn flow(&self) -> u64 {
            0
        }
    }

    fn config(queue: QueueSpec) -> LinkConfig {
        LinkConfig {
            rate: Rate::from_bps(8_000_000), // 1000 bytes take 1 ms
            delay: Duration::from_millis(10),
            queue,
            loss: None,
            changes: vec![],
            outages: vec![],
            jitter: Duration::ZERO,
            reordering: None,
            serial: None,
        }
    }
    fn droptail(packets: u64) -> QueueSpec {
        QueueSpec::Droptail { limit: Limit::Packets(packets) }
    }
    fn ms(ms: u64) -> Instant {
        Instant::from_nanos(ms * 1_000_000)
    }

    /// Offers a packet, and carries or enqueues it as the link says.
    fn send(link: &mut Link<Dummy>, now: Instant, id: u64) -> Fate {
        let mut packet = Dummy { id, len: 1000 };
        let fate = link.offer(now, &mut packet);
        match fate {
            Fate::Arrives(at) => {
                link.carry(at, packet);
            }
            Fate::Queue => link.enqueue(now, packet),
            Fate::Dropped(_) | Fate::Lost(..) => {}
        }
        fate
    }

    /// Offers packets 0, 1, 2, ... all at time zero.
    fn send_many(link: &mut Link<Dummy>, count: u64) {
        for id in 0..count {
            send(link, ms(0), id);
        }
    }

    /// Runs the link until nothing is left; arrivals as (ms, id).
    fn drain(link: &mut Link<Dummy>) -> Vec<(u64, u64)> {
        let mut arrivals = vec![];
        while link.next_event() < Instant::FAR_FUTURE {
            let now = link.next_event();
            while let Some(packet) = link.poll(now) {
                arrivals.push((now.as_nanos() / 1_000_000, packet.id));
            }
        }
        arrivals
    }

    #[test]
    fn packets_leave_one_after_the_other() {
        let mut link = Link::new(&config(droptail(10)), 1, "link");
        send_many(&mut link, 3);
        assert_eq!(link.occupancy(ms(0)).packets, 3);
        assert_eq!(link.occupancy(ms(2)).packets, 1);
        assert_eq!(drain(&mut link), [(11, 0), (12, 1), (13, 2)]);
    }

    #[test]
    fn droptail_counts_the_packet_in_transmission() {
        let mut link = Link::new(&config(droptail(2)), 1, "link");
        let fates: Vec<bool> =
            (0..4).map(|id| matches!(send(&mut link, ms(0), id), Fate::Dropped(_))).collect();
        assert_eq!(fates, [false, false, true, true]);
        assert!(matches!(send(&mut link, ms(1), 4), Fate::Arrives(_)), "room again after one has left");
        assert_eq!(link.stats(ms(1)).dropped, [2, 0, 0, 0, 0, 0]);
    }

    #[test]
    fn a_limit_in_bytes_admits_what_fits() {
        let spec = QueueSpec::Droptail { limit: Limit::Bytes("2500 B".parse().unwrap()) };
        let mut link = Link::new(&config(spec), 1, "link");
        let dropped = (0..4).filter(|id| matches!(send(&mut link, ms(0), *id), Fate::Dropped(_))).count();
        assert_eq!(dropped, 2);
    }

    #[test]
    fn head_drop_pushes_out_the_oldest_waiting_packet() {
        let mut link = Link::new(&config(QueueSpec::HeadDrop { limit: Limit::Packets(3) }), 1, "link");
        send_many(&mut link, 5);
        let dropped: Vec<u64> = link.take_dropped().map(|(packet, _)| packet.id).collect();
        assert_eq!(dropped, [1, 2], "packet 0 is on the wire already");
        assert_eq!(drain(&mut link), [(11, 0), (12, 3), (13, 4)]);
    }

    #[test]
    fn a_fade_loses_what_leaves_in_it_and_uses_the_capacity() {
        let outages = vec![Outage {
            start: Duration::from_micros(1500),
            duration: Duration::from_millis(1),
            mode: OutageMode::Drop,
        }];
        let mut link = Link::new(&LinkConfig { outages, ..config(droptail(10)) }, 1, "link");
        send_many(&mut link, 3);
        assert_eq!(drain(&mut link), [(11, 0), (13, 2)]);
        assert_eq!(link.stats(ms(13)).dropped[DropCause::Outage as usize], 1);
    }

    #[test]
    fn a_shrinking_delay_does_not_reorder() {
        let changes = vec![Change {
            at: Duration::from_micros(1500),
            rate: None,
            delay: Some(Duration::from_millis(1)),
        }];
        let mut link = Link::new(
            &LinkConfig { changes, jitter: Duration::from_nanos(1), ..config(droptail(10)) },
            1,
            "x",
        );
        send_many(&mut link, 2);
        assert_eq!(drain(&mut link).iter().map(|(_, id)| *id).collect::<Vec<_>>(), [0, 1]);
    }

    #[test]
    fn reordering_lets_later_packets_overtake() {
        let reordering =
            Some(Reordering { probability: Probability::new(0.5).unwrap(), delay: Duration::from_millis(5) });
        let mut link = Link::new(&LinkConfig { reordering, ..config(droptail(100)) }, 1, "link");
        send_many(&mut link, 50);
        let ids: Vec<u64> = drain(&mut link).into_iter().map(|(_, id)| id).collect();
        assert_eq!(ids.len(), 50);
        assert!(ids.windows(2).any(|pair| pair[0] > pair[1]), "some packet was overtaken");
    }

    /// A line at 10 bits a byte with two bytes of framing: 1000 bytes take 1.2525 ms at 8 Mbit/s.
    #[test]
    fn a_serial_line_takes_longer() {
        for queue in [droptail(10), QueueSpec::HeadDrop { limit: Limit::Packets(10) }] {
            let spec = SerialSpec::default();
            let rate = spec.data_rate(Rate::from_bps(8_000_000));
            let mut link = Link::new(&LinkConfig { rate, serial: Some(spec), ..config(queue) }, 1, "link");
            send_many(&mut link, 2);
            let ends: Vec<u64> = std::iter::from_fn(|| {
                let now = link.next_event();
                link.poll(now).map(|_| now.as_nanos()).or((now < Instant::FAR_FUTURE).then_some(0))
            })
            .filter(|at| *at > 0)
            .collect();
            assert_eq!(ends, [11_252_500, 12_505_000]);
            assert_eq!(link.stats(ms(20)).transmitted_bytes, 2004);
        }
    }

    /// Headers shrink to 100 bytes; whoever follows a lost packet cannot be read.
    struct Shrinking {
        lost: Vec<bool>,
    }
    impl LineCoder<Dummy> for Shrinking {
        fn encode(&mut self, _start: Instant, _packet: &Dummy) -> u32 {
            100
        }
        fn decode(&mut self, _departure: Instant) -> bool {
            self.lost.is_empty()
        }
        fn lost(&mut self, noticed: bool) {
            self.lost.push(noticed);
        }
    }

    #[test]
    fn a_coder_decides_lengths_and_learns_of_losses() {
        for (framing, noticed) in [(crate::Framing::Slip, false), (crate::Framing::Ppp, true)] {
            let serial = Some(SerialSpec { framing, bits_per_byte: 8, ..SerialSpec::default() });
            let loss =
                Some(LossSpec::Periodic { every: 3, first: None, count: Some(1), place: LossPlace::Wire });
            let mut link = Link::new(&LinkConfig { serial, loss, ..config(droptail(10)) }, 1, "link");
            let mut coder = Shrinking { lost: vec![] };
            let fates: Vec<Fate> =
                (0..4).map(|id| link.offer_coded(ms(0), &mut Dummy { id, len: 1000 }, &mut coder)).collect();
            let len = 100 + u64::from(framing.bytes());
            let arrives = |n: u64| Fate::Arrives(ms(10) + Duration::from_micros(n * len));
            let gone = |cause, n: u64| Fate::Lost(cause, ms(0) + Duration::from_micros(n * len));
            let (lost, unreadable) = (gone(DropCause::Loss, 3), gone(DropCause::Unreadable, 4));
            assert_eq!(fates, [arrives(1), arrives(2), lost, unreadable]);
            assert_eq!(coder.lost, [noticed]);
        }
    }

    /// A packet that waits when a fade begins is lost in the fade, and one that has left before is not.
    #[test]
    fn losses_are_those_of_the_end_of_transmission() {
        let outages = vec![Outage {
            start: Duration::from_millis(2),
            duration: Duration::from_millis(2),
            mode: OutageMode::Drop,
        }];
        let mut link = Link::new(&LinkConfig { outages, ..config(droptail(10)) }, 1, "link");
        let fates: Vec<Fate> = (0..5).map(|id| send(&mut link, ms(0), id)).collect();
        let lost = |at| Fate::Lost(DropCause::Outage, ms(at));
        assert_eq!(fates[1..4], [lost(2), lost(3), Fate::Arrives(ms(14))]);
        assert_eq!([ms(1), ms(2), ms(3)].map(|now| link.lost_to_come(now)), [2, 1, 0]);
        assert_eq!(link.stats(ms(1)).dropped_for(DropCause::Outage), 2);
    }

    #[test]
    fn waits_are_measured_until_transmission_begins() {
        let mut link = Link::new(&config(droptail(10)), 1, "link");
        link.measure_waits(ms(0));
        send_many(&mut link, 3);
        assert_eq!(link.waits().unwrap().mean(), Some(Duration::from_millis(1)), "0, 1 and 2 ms");
    }

    #[test]
    fn what_waits_at_either_end_of_the_measurement_counts_for_its_time_within() {
        // Six packets of 1 ms each: from 2.5 to 4.5 ms, three wait for half a millisecond, two for one, one for half.
        for queue in [droptail(10), QueueSpec::HeadDrop { limit: Limit::Packets(10) }] {
            let mut link = Link::new(&config(queue), 1, "link");
            send_many(&mut link, 6);
            let half = Duration::from_micros(500);
            while link.poll(ms(2) + half).is_some() {}
            link.measure_waits(ms(2) + half);
            while link.poll(ms(4) + half).is_some() {}
            assert_eq!(link.waited_secs(ms(4) + half), 0.0015 + 0.002 + 0.0005);
        }
    }

    proptest! {
        /// Every packet offered is dropped with a cause, delivered, or still inside; the queue keeps to its limit; no
        /// more leaves than the rate allows.
        #[test]
        fn packets_are_conserved(
            gaps in proptest::collection::vec(0u64..3_000_000, 1..300),
            limit in 1u64..20,
            head_drop: bool,
            loss in 0.0f64..0.3,
            before_queue: bool,
            seed: u64,
        ) {
            let limit = Limit::Packets(limit);
            let queue = if head_drop { QueueSpec::HeadDrop { limit } } else { QueueSpec::Droptail { limit } };
            let place = if before_queue { LossPlace::BeforeQueue } else { LossPlace::Wire };
            let loss = Some(LossSpec::Random { probability: Probability::new(loss).unwrap(), place });
            let mut link = Link::new(&LinkConfig { loss, ..config(queue) }, seed, "link");
            let Limit::Packets(most) = limit else { unreachable!() };
            let mut now = Instant::ZERO;
            let mut received = vec![];
            for (id, gap) in gaps.iter().enumerate() {
                now += Duration::from_nanos(*gap);
                while link.next_event() <= now {
                    let at = link.next_event();
                    received.extend(std::iter::from_fn(|| link.poll(at)).map(|packet: Dummy| packet.id));
                }
                send(&mut link, now, id as u64);
                prop_assert!(link.occupancy(now).packets <= most);
            }
            let stats = link.stats(now);
            prop_assert!(stats.transmitted_bytes <= 1000 * (now.as_nanos() / 1_000_000 + 1));
            received.extend(drain(&mut link).iter().map(|(_, id)| *id));
            let stats = link.stats(Instant::FAR_FUTURE);
            prop_assert_eq!(stats.arrivals, gaps.len() as u64);
            prop_assert_eq!(stats.arrivals, stats.delivered + stats.total_dropped());
            prop_assert_eq!(stats.delivered, received.len() as u64);
            prop_assert!(received.windows(2).all(|pair| pair[0] < pair[1]), "in order");
        }
    }
}
