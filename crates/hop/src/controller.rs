//! The rate controller: a value of its own, without clock and socket.
//!
//! It paces exactly at a rate that is known from the start: configured, remembered or requested by the peer. It changes the
//! rate only for what the *link* shows:
//!
//! * **Queueing delay.** While packets that left at full rate wait longer than `QUEUE_HIGH`, the link is busy without a break,
//!   and what it delivers then is its capacity. The rate falls to that, and nothing leaves until the queue is gone.
//! * **Trains.** While there is always something to send, now and then a train of packets leaves a quarter faster for a tenth
//!   of a second, and then as much slower. If the last packets of the train waited no longer than those before it, the link has
//!   more, and the rate rises; if they waited in part, the share gives the capacity. The first train after an overload tries the
//!   rate before it, since many links falter only: it is as much shorter, and leaves no longer queue.
//! * **Others.** Where the queue stays although this sender has drained its part of it, others keep it, and lower rates only give
//!   the link away (`contest`). On a link that belongs to them too, a window like theirs decides then (`rival`).
//! * **Loss.** Random loss does not depend on the rate; overload's does. If more is lost than what is known to be random, the
//!   rate is lowered for a round trip. If the loss goes with it, it was overload, and the rate stays at what was delivered.

use crate::config::{LEAST_RATE, MOST_RATE, Remembered, Share};
use contest::Contest;
use history::History;
use longhaul_units::{Duration, Instant, Rate, Size};
use loss::LossMeter;
use rival::Rival;
use train::{Sender, Trains};

mod contest;
mod history;
mod loss;
mod rival;
#[cfg(test)]
mod tests;
mod train;

/// What a controller begins with.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Rate of the first packet.
    pub start: Rate,
    /// Never faster.
    pub most: Rate,
    /// To whom the link belongs.
    pub share: Share,
    /// UDP payload of a full packet.
    pub mtu: u16,
    /// IP and UDP headers of a packet.
    pub headers: u16,
    /// Round trip before one is measured.
    pub rtt: Duration,
    /// From an earlier connection.
    pub remembered: Option<Remembered>,
}

/// What may leave.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Allowance {
    /// So many packets, at least one.
    Packets(usize),
    /// Nothing before this time.
    Until(Instant),
}

/// Time that passed unused counts for that much.
const LATE: Duration = Duration::from_millis(2);
/// And for that much while there was something to send all the time: a process that the machine serves late must not lose rate.
const CATCH_UP: Duration = Duration::from_millis(10);
/// Packets leave together that would leave within this time.
const TOGETHER: Duration = Duration::from_micros(1000);
/// Waiting time in the link's queue that means overload.
///
/// More than the 40 ms for which a peer may hold back an ACK.
const QUEUE_HIGH: Duration = Duration::from_millis(55);
/// Waiting time from which on the link was busy without a break.
const QUEUE_LOW: Duration = Duration::from_millis(8);
/// For so long packets must have waited, and delivery is measured over that much at least.
const BUSY: Duration = Duration::from_millis(60);
/// Share of the capacity at which is sent after overload, in thousandths: the queue stays away.
const HEADROOM: u64 = 985;
/// The same on a link that belongs to others too: whether they keep a queue shows soon, and alone it costs little.
const FAIR_PART: u64 = 700;
/// Packets are in flight for a round trip and this time, in which ACKs are held back and packets wait.
const SLACK: Duration = Duration::from_millis(100);
/// The same while a queue is drained.
const DRAIN_SLACK: Duration = Duration::from_millis(4);
/// The same at least in a contest on a link that belongs to others too; ACKs are held back for so long.
const FAIR_SLACK: Duration = Duration::from_millis(40);
/// Without an ACK for so long beyond a round trip, there is an outage.
const SILENCE: Duration = Duration::from_millis(300);
/// In an outage a packet leaves now and then, to find its end.
const OUTAGE_PROBE: Duration = Duration::from_millis(100);
/// Over a long path, what looks for the end of an outage leaves so many times in a round trip: the end is known a round trip later anyway.
const PROBES_PER_ROUND: u64 = 16;
/// Share of the pace at which packets leave that exceed what may be in flight, in percent.
const TRICKLE: u64 = 2;

/// The controller.
#[derive(Clone, Debug)]
pub struct RateController {
    settings: Settings,
    rate: Rate,
    next: Instant,
    last_sent: Instant,
    /// Since the last packet left there was a time with nothing to send, or with too much in flight.
    paused: bool,
    /// The last ACK, or later the first packet in flight.
    waits_since: Instant,
    in_flight: u64,
    history: History,
    loss: LossMeter,
    contest: Contest,
    /// The window in a contest on a link that belongs to others too.
    rival: Rival,
    /// The queue is drained: less may be in flight.
    draining: bool,
    /// Packets sent before this left under an older rate, and show nothing about the present one.
    since: Instant,
    trains: Trains,
    /// The newest packet of the ACK that is being reported.
    newest: Option<Instant>,
    overloads: u64,
}

impl RateController {
    /// A controller that has sent nothing.
    pub fn new(settings: Settings) -> Self {
        RateController {
            settings,
            rate: clamp(settings.start, settings.most),
            next: Instant::ZERO,
            last_sent: Instant::ZERO,
            paused: true,
            waits_since: Instant::ZERO,
            in_flight: 0,
            history: History::default(),
            loss: LossMeter::new(settings.remembered),
            contest: Contest::default(),
            rival: Rival::default(),
            draining: false,
            since: Instant::ZERO,
            trains: Trains::default(),
            newest: None,
            overloads: 0,
        }
    }

    /// Begins again at another rate, if there is one, and never exceeds `most` from now on.
    pub fn set_rates(&mut self, start: Option<Rate>, most: Rate) {
        self.settings.most = most;
        self.rate = clamp(start.unwrap_or(self.rate), most);
    }

    /// The peer requests a rate to begin with.
    pub fn restart(&mut self, start: Rate) {
        self.rate = clamp(start, self.settings.most);
    }

    /// Takes up what an earlier connection has measured; its rate only if `begins`.
    pub fn resume(&mut self, remembered: Remembered, begins: bool) {
        self.loss = LossMeter::new(Some(remembered));
        if begins {
            self.restart(remembered.rate);
        }
    }

    /// True if this node's own bound is the limit, not the path.
    pub fn is_at_most(&self) -> bool {
        self.rate >= self.settings.most
    }

    /// Present rate.
    pub fn rate(&self) -> Rate {
        self.rate
    }

    /// Round trip of the newest acknowledged packet.
    pub fn rtt(&self) -> Duration {
        self.history.latest_rtt().unwrap_or(self.settings.rtt)
    }

    /// Round trip without queues.
    pub fn base_rtt(&self) -> Duration {
        self.history.base_rtt().unwrap_or(self.settings.rtt)
    }

    /// Share of packets lost without overload, 0 to 1.
    pub fn random_loss(&self) -> f64 {
        self.loss.random()
    }

    /// Mean number of packets lost in a row.
    pub fn burst(&self) -> f64 {
        self.loss.burst()
    }

    /// Times that the rate was cut.
    pub fn overloads(&self) -> u64 {
        self.overloads
    }

    /// What to keep for the next connection; `None` before something was measured.
    pub fn remembered(&self) -> Option<Remembered> {
        Some(Remembered {
            rate: self.rate,
            rtt: self.history.base_rtt()?,
            loss_ppm: (self.loss.random() * 1e6) as u32,
            burst_permille: (self.loss.burst() * 1e3) as u32,
        })
    }

    /// Bytes in flight.
    pub fn in_flight(&self) -> u64 {
        self.in_flight
    }

    fn packet(&self) -> u64 {
        u64::from(self.settings.mtu) + u64::from(self.settings.headers)
    }

    /// Sum of the round trips of all ACKs, and how many there were.
    pub fn rtts(&self) -> (Duration, u64) {
        self.history.rtts()
    }

    /// Most bytes in flight.
    pub fn window(&self) -> u64 {
        let slack = if self.draining { DRAIN_SLACK } else { SLACK };
        // In the queue of others, packets wait with theirs: how many decides what this sender gets.
        let slack = match self.settings.share {
            _ if !self.contest.is_on() || self.draining => slack,
            Share::Exclusive => slack.max(self.base_rtt()),
            // The rate is the window's over the present round trip, so that the pace alone keeps to it.
            Share::Fair => FAIR_SLACK + self.rtt().saturating_sub(self.base_rtt()),
        };
        self.rate.bytes_in(self.base_rtt() + slack).as_bytes().max(4 * self.packet())
    }

    /// When an outage is to be supposed if no ACK comes before: packets are in flight, and nothing was acknowledged for longer
    /// than a round trip.
    pub fn silent_from(&self) -> Option<Instant> {
        (self.in_flight > 0).then(|| self.waits_since + self.rtt() + SILENCE)
    }

    /// What looks for the end of an outage leaves so far apart: the given time, or a part of the round trip if that is longer.
    pub fn apart(&self, least: Duration) -> Duration {
        least.max(self.rtt() / PROBES_PER_ROUND)
    }

    /// For how long packets are in flight without an ACK.
    pub fn unanswered(&self, now: Instant) -> Duration {
        if self.in_flight > 0 { now.since(self.waits_since) } else { Duration::ZERO }
    }

    fn is_silent(&self, now: Instant) -> bool {
        self.silent_from().is_some_and(|from| from <= now)
    }

    /// What may leave now, at most `most` packets.
    pub fn allowance(&mut self, now: Instant, most: usize) -> Allowance {
        if self.next > now {
            return Allowance::Until(self.next);
        }
        let free = self.window().saturating_sub(self.in_flight) / self.packet();
        if free == 0 && self.history.base_rtt().is_some() {
            self.paused = true;
            let slow = Rate::from_bps(self.rate.as_bps() * TRICKLE / 100);
            let pause = slow.transmission_time(Size::from_bytes(self.packet()));
            let pause = if self.is_silent(now) { self.apart(OUTAGE_PROBE) } else { pause.min(OUTAGE_PROBE) };
            let release = self.last_sent + pause;
            return if release > now { Allowance::Until(release) } else { Allowance::Packets(1) };
        }
        let together = self.rate.bytes_in(TOGETHER).as_bytes() / self.packet();
        Allowance::Packets((together.min(free.max(1)) as usize).clamp(1, most.max(1)))
    }

    /// True if nothing may leave for what is in flight already, as while a queue is drained, and not for the pace or an outage.
    pub fn is_full(&self, now: Instant) -> bool {
        let free = self.window().saturating_sub(self.in_flight) / self.packet();
        self.next <= now && free == 0 && self.history.base_rtt().is_some() && !self.is_silent(now)
    }

    /// Packets left, with so much UDP payload in all; packets that have nothing but ACKs are not in flight.
    pub fn on_sent(&mut self, now: Instant, bytes: u64, packets: u64, in_flight: bool) {
        let wire = bytes + packets * u64::from(self.settings.headers);
        let late = if std::mem::replace(&mut self.paused, false) { LATE } else { CATCH_UP };
        let earliest = Instant::from_nanos(now.as_nanos().saturating_sub(late.as_nanos()));
        let sender = self.sender();
        let pace = self.trains.pace(now, sender);
        let next = self.next.max(earliest) + pace.transmission_time(Size::from_bytes(wire));
        // ACKs leave in any case; at a low rate, what waits for its turn must not wait for all of them.
        let most = now + pace.transmission_time(Size::from_bytes(self.packet()));
        self.next = if in_flight { next } else { next.min(most).max(self.next) };
        self.last_sent = now;
        if in_flight {
            if self.in_flight == 0 {
                self.waits_since = now;
            }
            self.in_flight += bytes;
        }
        self.history.sent(now, wire);
    }

    fn sender(&self) -> Sender {
        Sender { rate: self.rate, packet: self.packet(), rtt: self.rtt(), base_rtt: self.base_rtt() }
    }

    /// Nothing is left to send although more may leave.
    pub fn on_app_limited(&mut self, _now: Instant) {
        self.paused = true;
        self.trains.interrupt(self.last_sent + self.base_rtt());
    }

    /// A packet was acknowledged.
    pub fn on_ack(&mut self, _now: Instant, sent: Instant, bytes: u64) {
        self.newest = Some(self.newest.map_or(sent, |newest| newest.max(sent)));
        self.history.acked(bytes + u64::from(self.settings.headers));
        self.loss.on_ack(sent);
        self.rival.on_ack(sent);
    }

    /// All that one ACK acknowledges, and all losses that it reveals, were reported.
    pub fn on_end_acks(&mut self, now: Instant, in_flight: u64) {
        self.in_flight = in_flight;
        let Some(newest) = self.newest.take() else { return };
        if now.since(self.waits_since) > self.rtt() + SILENCE {
            self.loss.restart(now);
        }
        self.waits_since = now;
        self.history.end_ack(now, newest);
        self.loss.end_ack();
        if self.draining && self.in_flight <= self.window() {
            self.draining = false;
            // What left before shows the queue that is gone.
            self.since = now;
        }
        if self.history.waiting().is_some_and(|waiting| waiting < QUEUE_LOW) {
            self.contest.queue_is_empty();
        }
        if self.contest.is_on() {
            return self.compete(now, newest);
        }
        self.look_at_queue(now, newest);
        self.look_at_train(now, newest);
        self.look_at_loss(now);
    }

    /// Holds its own against others that keep the queue.
    fn compete(&mut self, now: Instant, newest: Instant) {
        let round = self.rtt().max(BUSY);
        let full = self.was_full(Instant::from_nanos(now.as_nanos().saturating_sub(round.as_nanos())), round);
        let delivered = self.history.delivery_rate(now, round).filter(|_| full);
        let waits = self.history.waiting().is_none_or(|waiting| waiting >= QUEUE_LOW);
        let decided = self.contest.round(now, round, waits, delivered);
        if self.settings.share == Share::Fair {
            return self.compete_as_equal(now, newest, delivered, waits);
        }
        if let Some(rate) = decided {
            self.set(rate);
            self.loss.restart(now);
            self.since = now;
        }
    }

    /// With a window as the others have.
    fn compete_as_equal(&mut self, now: Instant, newest: Instant, delivered: Option<Rate>, waits: bool) {
        if !self.contest.is_on() {
            self.loss.restart(now);
            self.since = now;
            self.trains.wait_until(now);
            return;
        }
        if self.rival.asks() {
            // What left after this sender's part of the queue was gone shows whether others keep one.
            if self.draining || newest < self.since || !waits {
                return;
            }
            self.rival.resume(now);
            self.loss.restart(now);
        }
        if self.rival.look(now, self.rtt(), self.loss.known(), delivered.is_some()) {
            return self.let_out(now, delivered.unwrap_or(self.rate), FAIR_PART);
        }
        self.loss.calm(now, self.rtt());
        let bits = self.rival.window() * (self.packet() * 8) as f64;
        self.set(Rate::from_bps_f64(bits / self.rtt().as_secs_f64()));
    }

    /// Sends that part of what was delivered, in thousandths, until its own part of the queue is gone.
    fn let_out(&mut self, now: Instant, delivered: Rate, part: u64) {
        let target = delivered.as_bps() * part / 1000;
        // Where more is delivered than sent, the waiting has another reason than this rate.
        self.set(Rate::from_bps(target.min(self.rate.as_bps())));
        self.draining = true;
        self.since = now;
    }

    /// Packets were declared lost, the newest of them sent at `sent`.
    pub fn on_loss(&mut self, _now: Instant, sent: Instant, bytes: u64) {
        self.in_flight = self.in_flight.saturating_sub(bytes);
        let packets = bytes.div_ceil(u64::from(self.settings.mtu));
        self.loss.on_loss(sent, packets);
        self.rival.on_loss(sent, packets);
    }

    /// Cuts the rate if packets wait for long.
    fn look_at_queue(&mut self, now: Instant, newest: Instant) {
        if newest < self.since {
            // A link that becomes slower still shows it at once.
            return self.follow_fall(now);
        }
        if self.draining {
            // What leaves now is little, and shows nothing.
            return;
        }
        let Some(capacity) = self.history.busy_capacity(now, QUEUE_LOW, QUEUE_HIGH, BUSY) else { return };
        if self.was_full(newest, BUSY) {
            self.overload(now, capacity);
        }
    }

    fn follow_fall(&mut self, now: Instant) {
        let Some(capacity) = self.history.busy_capacity(now, QUEUE_HIGH, QUEUE_HIGH, BUSY + BUSY) else {
            return;
        };
        let capacity = self.with_random_loss(capacity);
        if capacity.as_bps() * 10 < self.rate.as_bps() * 9 {
            self.set(capacity);
            self.draining = true;
        }
    }

    /// Packets lost at random have used the link too.
    fn with_random_loss(&self, delivered: Rate) -> Rate {
        Rate::from_bps_f64(delivered.as_bps() as f64 / (1.0 - self.loss.random().min(0.5)))
    }

    fn overload(&mut self, now: Instant, delivered: Rate) {
        let capacity = self.with_random_loss(delivered);
        self.overloads += 1;
        let contest = self.contest.overload(now, capacity, self.settings.share);
        if contest && self.settings.share == Share::Exclusive {
            self.draining = false;
            return;
        }
        let capacity = Rate::from_bps(capacity.as_bps().max(self.rate.as_bps() / 8));
        if contest {
            let window = capacity.bytes_in(self.rtt()).as_bytes() / self.packet();
            self.rival.begin(now, window as f64);
            return self.let_out(now, capacity, FAIR_PART);
        }
        self.trains.overload(self.rate, now + self.base_rtt());
        self.let_out(now, capacity, HEADROOM);
        self.loss.restart(now);
    }

    fn set(&mut self, rate: Rate) {
        self.rate = clamp(rate, self.settings.most);
    }

    /// Whether packets left at the full rate during some time before `at`.
    fn was_full(&self, at: Instant, time: Duration) -> bool {
        let sent = self.history.sending_rate(at, self.sender().packets(16, time));
        sent.as_bps() * 10 >= self.rate.as_bps() * 9
    }

    /// Begins a train, or takes up what the last one has shown.
    fn look_at_train(&mut self, now: Instant, newest: Instant) {
        let sender = self.sender();
        if self.trains.is_due(now) {
            let full = self.was_full(now, self.base_rtt().min(BUSY + BUSY));
            let quiet = !self.draining && newest > self.since && !self.loss.is_testing();
            if full && quiet && self.rate < self.settings.most {
                self.trains.begin(now, sender);
            }
        } else if let Some(rate) = self.trains.look(now, newest, sender, &self.history, &self.loss) {
            self.set(rate);
        }
    }

    /// Finds out whether loss is overload.
    fn look_at_loss(&mut self, now: Instant) {
        let round = self.base_rtt().max(BUSY + BUSY);
        let delivered = self.history.delivery_rate(now, round);
        // A round's packets left a round trip before their ACKs.
        let left = Instant::from_nanos(now.as_nanos().saturating_sub(self.rtt().as_nanos()));
        let full = self.was_full(left, round);
        match self.loss.round(now, round, self.rate, full) {
            loss::Verdict::Nothing => {}
            loss::Verdict::Test(rate) | loss::Verdict::Restore(rate) => self.set(rate),
            loss::Verdict::Overload => {
                if let Some(delivered) = delivered {
                    self.overload(now, delivered);
                }
            }
        }
    }
}

fn clamp(rate: Rate, most: Rate) -> Rate {
    Rate::from_bps(rate.as_bps().clamp(LEAST_RATE, most.as_bps().clamp(LEAST_RATE, MOST_RATE)))
}
