//! Copies of the data packets that went by and are not acknowledged yet, in the order of their sequence numbers, and what
//! of them is to be sent again from here: on duplicate ACKs (RFC 5681, RFC 6582; with SACK, RFC 6675) and on a timeout
//! (RFC 6298) of the round trip between here and the receiver.

use longhaul_segment::{Ecn, Flags, SackBlocks, Segment, SeqNumber};
use longhaul_tcp::{Config, RttEstimator};
use longhaul_units::{Duration, Instant};
use std::collections::VecDeque;

/// Where unwrapped positions begin: a position's low 32 bits are the sequence number, and the first one seen has room
/// below it.
const ORIGIN: u64 = 1 << 33;

/// The position of a sequence number near another position, or near the beginning if there is none.
#[inline]
pub(crate) fn position(seq: SeqNumber, near: Option<u64>) -> u64 {
    let near = near.unwrap_or(ORIGIN | u64::from(seq.0));
    seq.expand(SeqNumber(0), near).unwrap_or(near)
}

/// The sequence number of a position.
#[inline]
pub(crate) fn number(position: u64) -> SeqNumber {
    SeqNumber::wrap(SeqNumber(0), position)
}

/// The later of two timestamps; they wrap (RFC 7323 section 5.2).
pub(crate) fn later(known: Option<u32>, value: u32) -> u32 {
    known.filter(|known| (known.wrapping_sub(value) as i32) > 0).unwrap_or(value)
}

/// How losses beyond the middlebox are found and repaired.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LocalRecovery {
    /// Whether lost packets are sent again from here at all.
    pub enabled: bool,
    /// Duplicate ACKs, or SACKed packets above a hole, that mean a loss; at least 1.
    pub duplicate_threshold: u32,
    /// Retransmission timeout before the first local round trip was measured.
    pub initial_rto: Duration,
    /// Smallest timeout.
    pub min_rto: Duration,
    /// Largest timeout.
    pub max_rto: Duration,
}

impl Default for LocalRecovery {
    /// Timeouts of RFC 6298, but with the minimum of 200 ms that 4.4BSD and Linux use: the local round trip is short.
    fn default() -> Self {
        LocalRecovery {
            enabled: true,
            duplicate_threshold: 3,
            initial_rto: Duration::from_secs(1),
            min_rto: Duration::from_millis(200),
            max_rto: Duration::from_secs(60),
        }
    }
}

impl LocalRecovery {
    fn estimator(&self) -> RttEstimator {
        RttEstimator::new(&Config {
            initial_rto: self.initial_rto,
            min_rto: self.min_rto,
            max_rto: self.max_rto,
            ..Config::default()
        })
    }
}

/// A packet that went by and is kept.
#[derive(Clone, Debug)]
pub(crate) struct Copy<B> {
    pub start: u64,
    /// End of the payload and the FIN.
    pub end: u64,
    pub segment: Segment,
    pub ecn: Ecn,
    pub body: B,
    /// An ACK for it was sent from here.
    pub acknowledged: bool,
    /// The receiver has reported it above a hole.
    sacked: bool,
    /// The same, and a timeout since does not change that.
    reported: bool,
    sent_at: Instant,
    /// It was sent more than once, by the sender or from here: no round trip is measured with it (Karn's rule), unless
    /// timestamps distinguish the transmissions.
    resent: bool,
    /// The last transmission has a later timestamp than those before it.
    distinct: bool,
}

impl<B> Copy<B> {
    pub fn new(
        now: Instant,
        range: std::ops::Range<u64>,
        segment: &Segment,
        ecn: Ecn,
        body: B,
        resent: bool,
    ) -> Self {
        Copy {
            start: range.start,
            end: range.end,
            segment: *segment,
            ecn,
            body,
            acknowledged: false,
            sacked: false,
            reported: false,
            sent_at: now,
            resent,
            distinct: false,
        }
    }
    /// It is sent again, with this timestamp, if any.
    fn send_again(&mut self, now: Instant, timestamp: Option<u32>) {
        if let (Some(own), Some(latest)) = (&mut self.segment.options.timestamps, timestamp) {
            let newer = (latest.wrapping_sub(own.value) as i32) > 0;
            // A transmission of unknown time, or one with the same timestamp, cannot be distinguished.
            self.distinct = newer;
            own.value = later(Some(own.value), latest);
        }
        self.resent = true;
        self.sent_at = now;
    }
    pub fn payload(&self) -> u64 {
        u64::from(self.segment.payload_len)
    }

    /// What an ACK that covers it shows about its last transmission. `soonest` is the smallest round trip known.
    ///
    /// An ACK that comes sooner after a retransmission than `soonest` may be for an earlier transmission (RFC 8985 section 6.2
    /// takes it for that). But a measured round trip bounds the smallest one from above only: one that was measured while
    /// a queue stood is too large for an ACK that comes when the queue has gone. Only timestamps are certain.
    fn arrival(&self, now: Instant, soonest: Duration, echo: Option<u32>) -> Arrival {
        if !self.resent {
            return Arrival::Certain;
        }
        let value = self.segment.options.timestamps.map(|own| own.value).filter(|_| self.distinct);
        match echo.zip(value) {
            Some((echo, value)) if (echo.wrapping_sub(value) as i32) < 0 => Arrival::OfEarlier,
            Some(_) => Arrival::Certain,
            None if now.since(self.sent_at) >= soonest => Arrival::Likely,
            None => Arrival::InDoubt,
        }
    }
}

/// Whether the last transmission of a copy that was acknowledged has arrived.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Arrival {
    /// It has.
    Certain,
    /// Nothing contradicts it.
    Likely,
    /// Either it has, or an earlier one; the ACK came sooner than any before.
    InDoubt,
    /// An earlier one has.
    OfEarlier,
}

/// An ACK that came sooner after a retransmission than any before. Either it is for an earlier transmission: then the ACKs of what
/// was sent behind that are on their way too. Or the smallest round trip is not known yet: then no other ACK may come.
#[derive(Clone, Copy, Debug)]
struct Doubt {
    /// When the copy was sent again.
    sent_at: Instant,
    /// How long the ACK took.
    took: Duration,
}

/// What an ACK shows about the copies that it covers, noted one after the other.
struct Acknowledged {
    /// Some of them may have waited above a hole.
    hole: bool,
    /// When the latest sent of those transmissions was sent that have arrived.
    arrived: Instant,
    /// Round trips of the first and the last copy.
    first: Option<(Duration, Arrival)>,
    last: Option<Duration>,
    first_resent: bool,
    any_resent: bool,
    any_sent_once: bool,
    doubt: Option<Doubt>,
}

impl Acknowledged {
    fn new(hole: bool) -> Self {
        Acknowledged {
            hole,
            arrived: Instant::ZERO,
            first: None,
            last: None,
            first_resent: false,
            any_resent: false,
            any_sent_once: false,
            doubt: None,
        }
    }
    fn note<B>(&mut self, now: Instant, copy: &Copy<B>, arrival: Arrival) {
        let took = now.since(copy.sent_at);
        match arrival {
            Arrival::Certain | Arrival::Likely => self.arrived = self.arrived.max(copy.sent_at),
            Arrival::InDoubt => self.doubt = Some(Doubt { sent_at: copy.sent_at, took }),
            Arrival::OfEarlier => {}
        }
        self.hole |= copy.reported;
        self.first_resent |= copy.resent && self.first.is_none();
        self.any_resent |= copy.resent;
        self.any_sent_once |= !copy.resent;
        self.first = self.first.or(Some((took, arrival)));
        self.last = Some(took);
    }
    /// The round trip, if it is known to be one: what was sent again gives none (Karn's rule) unless timestamps identify its
    /// transmissions apart, and what waited above a hole took longer than that.
    fn sample(&self) -> Option<Duration> {
        let (first, arrival) = self.first?;
        if !self.any_resent && !self.hole {
            return self.last;
        }
        Some(first).filter(|_| self.first_resent && arrival == Arrival::Certain)
    }
}

/// Copies of one direction of one connection.
#[derive(Clone, Debug)]
pub(crate) struct Cache<B> {
    copies: VecDeque<Copy<B>>,
    payload: u64,
    /// What the receiver has acknowledged; unknown where the beginning was not seen and no ACK has come yet.
    pub acked: Option<u64>,
    /// Where the connection begins, if that was seen.
    pub first: Option<u64>,
    /// End of the highest data seen.
    pub highest: u64,
    duplicates: u32,
    /// While below it, an ACK of new data that does not reach it may report more losses (RFC 6582).
    recovery_point: u64,
    /// While below it, all that was sent before the last timeout is taken to be lost.
    timeout_point: u64,
    /// When the latest sent of the copies that have arrived was sent. Whatever was sent before is lost, or waits above a hole
    /// (RFC 8985 section 5).
    arrived: Instant,
    /// The receiver's window in bytes, where the sender may be offered more.
    pub window: Option<u64>,
    rtt: RttEstimator,
    deadline: Instant,
    /// An ACK that comes sooner than this after a retransmission is in doubt: the smallest round trip since it was last found
    /// to be none, or what has shown that.
    soonest: Duration,
    soonest_is_measured: bool,
    /// The last ACK was in doubt.
    doubt: Option<Doubt>,
    settings: LocalRecovery,
    /// The sender's latest timestamp.
    timestamp: Option<u32>,
    /// Its latest ACK, with the window.
    ack: Option<(SeqNumber, u16)>,
    /// Positions in `copies` that are to be sent again, in order.
    to_resend: Vec<usize>,
}

impl<B> Cache<B> {
    pub fn new(settings: LocalRecovery) -> Self {
        Cache {
            copies: VecDeque::new(),
            payload: 0,
            acked: None,
            first: None,
            highest: 0,
            duplicates: 0,
            recovery_point: 0,
            timeout_point: 0,
            arrived: Instant::ZERO,
            window: None,
            rtt: settings.estimator(),
            deadline: Instant::FAR_FUTURE,
            soonest: Duration::ZERO,
            soonest_is_measured: false,
            doubt: None,
            settings,
            timestamp: None,
            ack: None,
            to_resend: vec![],
        }
    }
    /// The next byte of the connection stands at `start`.
    pub fn begin(&mut self, start: u64) {
        self.first = Some(start);
        self.acked = Some(start);
        self.highest = start;
    }

    pub fn len(&self) -> usize {
        self.copies.len()
    }
    /// Payload of all copies in bytes.
    pub fn payload(&self) -> u64 {
        self.payload
    }
    pub fn get(&self, index: usize) -> Option<&Copy<B>> {
        self.copies.get(index)
    }
    pub fn get_mut(&mut self, index: usize) -> Option<&mut Copy<B>> {
        self.copies.get_mut(index)
    }
    /// How many copies lie below `position`.
    pub fn count_below(&self, position: u64) -> usize {
        self.copies.partition_point(|copy| copy.start < position)
    }
    /// When [`Cache::on_timeout`] is due.
    pub fn deadline(&self) -> Option<Instant> {
        (self.deadline < Instant::FAR_FUTURE).then_some(self.deadline)
    }
    /// The smallest round trip to the receiver and back; `Duration::MAX` before the first.
    pub fn min_rtt(&self) -> Duration {
        self.rtt.min
    }

    /// The copy that holds all of `[start, end)`.
    pub fn find(&mut self, start: u64, end: u64) -> Option<&mut Copy<B>> {
        let index = self.copies.partition_point(|copy| copy.end <= start);
        self.copies.get_mut(index).filter(|copy| copy.start <= start && end <= copy.end)
    }
    /// True if any of `[start, end)` is in a copy.
    pub fn overlaps(&self, start: u64, end: u64) -> bool {
        let index = self.copies.partition_point(|copy| copy.end <= start);
        self.copies.get(index).is_some_and(|copy| copy.start < end)
    }

    /// Takes a copy in, which overlaps no other.
    pub fn insert(&mut self, now: Instant, copy: Copy<B>) {
        self.payload += copy.payload();
        let index = match self.copies.back() {
            Some(last) if last.start > copy.start => self.count_below(copy.start),
            _ => self.copies.len(),
        };
        self.copies.insert(index, copy);
        if self.settings.enabled && self.deadline == Instant::FAR_FUTURE {
            self.deadline = now + self.rtt.rto();
        }
    }
    /// The sender has sent a packet again that is here.
    pub fn note_resent(now: Instant, copy: &mut Copy<B>, segment: &Segment) {
        copy.send_again(now, segment.options.timestamps.map(|sent| sent.value));
    }

    /// The receiver acknowledges all below `ack`, which is more than before, and echoes the timestamp `echo`. `freed` is called for each
    /// copy that goes. Returns the round trip to the receiver, if it could be measured.
    pub fn acknowledge(
        &mut self,
        now: Instant,
        ack: u64,
        echo: Option<u32>,
        mut freed: impl FnMut(&Copy<B>),
    ) -> Option<Duration> {
        let known = self.acked;
        let mut seen = Acknowledged::new(self.duplicates > 0 || known < Some(self.recovery_point));
        let mut count = 0;
        while let Some(copy) = self.copies.front().filter(|copy| copy.end <= ack) {
            // The echo is of the packet that has filled the hole (RFC 7323 section 4.3).
            let arrival = copy.arrival(now, self.soonest, echo.filter(|_| count == 0));
            seen.note(now, copy, arrival);
            freed(copy);
            count += 1;
            self.payload -= copy.payload();
            self.copies.pop_front();
        }
        self.acked = Some(ack);
        self.highest = self.highest.max(ack);
        self.duplicates = 0;
        self.arrived = self.arrived.max(seen.arrived);
        let sample = seen.sample();
        if let Some(rtt) = sample {
            self.note_round_trip(rtt);
        } else if seen.any_sent_once || (ack < self.timeout_point && !self.copies.is_empty()) {
            // Data that was not sent again has arrived (RFC 8961 section 4), or part of what was under way at a timeout: the
            // ACKs of the rest will give a round trip, or report losses that must not wait for a timeout that grows and grows.
            self.rtt.forget_back_off();
        }
        if self.settings.enabled {
            self.doubt = seen.doubt.filter(|doubt| doubt.sent_at > self.arrived && !self.copies.is_empty());
            let wait = if self.doubt.is_some() { self.patience() } else { self.rtt.rto() };
            self.deadline = if self.copies.is_empty() { Instant::FAR_FUTURE } else { now + wait };
            let edge = known.zip(self.window).map(|(known, window)| known + window);
            self.find_discarded(edge.unwrap_or(u64::MAX));
            if ack < self.recovery_point && self.holds_missing() {
                self.resend_missing(edge.unwrap_or(u64::MAX), 2 * count, now);
            }
        }
        sample
    }

    fn note_round_trip(&mut self, rtt: Duration) {
        self.rtt.observe(rtt);
        self.rtt.sample(rtt);
        let measured = Some(self.soonest).filter(|_| self.soonest_is_measured);
        self.soonest = measured.map_or(rtt, |soonest| soonest.min(rtt));
        self.soonest_is_measured = true;
    }

    /// How long other ACKs may take that follow one in doubt: the timeout without back-off.
    fn patience(&self) -> Duration {
        let mut rtt = self.rtt.clone();
        rtt.forget_back_off();
        rtt.rto()
    }

    /// No ACK has followed the one in doubt. Had an earlier transmission arrived, what was sent after that would have arrived
    /// too: the ACK was for the last one, and the smallest round trip was none.
    fn settle_doubt(&mut self, now: Instant, doubt: Doubt) {
        self.soonest = doubt.took;
        self.soonest_is_measured = false;
        self.arrived = self.arrived.max(doubt.sent_at);
        self.deadline = now + self.rtt.rto();
        if self.acked < Some(self.recovery_point) && self.holds_missing() {
            self.resend_missing(u64::MAX, 1, now);
        }
    }

    /// True if a copy should have arrived with what was acknowledged just now, and did not (RFC 8985 section 5).
    fn is_overdue(&self, index: usize) -> bool {
        self.copies.get(index).is_some_and(|copy| copy.sent_at < self.arrived)
    }

    /// While it waited for a hole to be filled, the receiver discarded what came from beyond `edge`, the end of its window.
    fn find_discarded(&mut self, edge: u64) {
        let last = self.copies.len().checked_sub(1).filter(|last| self.is_overdue(*last));
        if let Some(copy) = last.and_then(|last| self.copies.get(last)).filter(|copy| copy.end > edge) {
            self.recovery_point = self.recovery_point.max(copy.end);
        }
    }

    /// The oldest copy is missing, if it should have arrived; so are those that were discarded beyond `edge`, and after a timeout
    /// all. Of these so many are sent again as the window has room for: twice what was acknowledged, so that they double from
    /// round trip to round trip.
    fn resend_missing(&mut self, edge: u64, most: usize, now: Instant) {
        let limit = self.acked.zip(self.window).map_or(u64::MAX, |(acked, window)| acked + window);
        let mut left = most;
        for index in 0..self.copies.len() {
            let end = self.copies[index].end;
            if left == 0 || end > limit {
                return;
            }
            let missing = index == 0 || end > edge || end <= self.timeout_point;
            if missing && self.is_overdue(index) && self.resend(index, now) {
                left -= 1;
            }
        }
    }

    /// True if the packet that the receiver waits for is here.
    pub fn holds_missing(&self) -> bool {
        match (self.copies.front(), self.acked) {
            (Some(first), Some(acked)) => first.start <= acked,
            _ => false,
        }
    }

    /// A duplicate ACK has come. True if the loss that it reports is repaired from here.
    pub fn on_duplicate_ack(&mut self, now: Instant) -> bool {
        if !self.settings.enabled || !self.holds_missing() {
            return false;
        }
        self.duplicates += 1;
        if self.duplicates == self.settings.duplicate_threshold && self.acked >= Some(self.recovery_point) {
            self.recovery_point = self.highest;
            self.resend(0, now);
        }
        true
    }

    /// Takes note of SACK blocks: a hole with enough packets reported above it is lost (RFC 6675 section 4, IsLost).
    pub fn on_sack(&mut self, now: Instant, blocks: &SackBlocks) {
        let Some(acked) = self.acked.filter(|_| self.settings.enabled) else { return };
        let mut sample: Option<Duration> = None;
        for &(start, end) in blocks.as_slice() {
            let (start, end) = (position(start, Some(acked)), position(end, Some(acked)));
            let first = self.copies.partition_point(|copy| copy.start < start);
            for copy in self.copies.iter_mut().skip(first).take_while(|copy| copy.end <= end) {
                if !copy.reported && !copy.resent {
                    // It has arrived just now.
                    let took = now.since(copy.sent_at);
                    sample = Some(sample.map_or(took, |least| least.min(took)));
                    self.arrived = self.arrived.max(copy.sent_at);
                }
                copy.sacked = true;
                copy.reported = true;
            }
        }
        if let Some(rtt) = sample {
            self.note_round_trip(rtt);
        }
        let mut above = 0;
        for index in (0..self.copies.len()).rev() {
            if self.copies[index].sacked {
                above += 1;
            } else if above >= self.settings.duplicate_threshold {
                self.resend(index, now);
            }
        }
        self.to_resend.sort_unstable();
    }

    /// The timer has expired. True if that was a retransmission timeout.
    pub fn on_timeout(&mut self, now: Instant) -> bool {
        if self.deadline > now {
            return false;
        }
        if let Some(doubt) = self.doubt.take() {
            self.settle_doubt(now, doubt);
            return false;
        }
        // A sender that must repair the first hole itself has a timer of its own.
        let ours = self.holds_missing() || (self.acked.is_none() && !self.copies.is_empty());
        if ours {
            self.rtt.back_off();
            self.timeout_point = self.highest;
            self.copies.iter_mut().for_each(|copy| copy.sacked = false);
            self.recovery_point = self.highest;
            self.duplicates = 0;
            self.to_resend = vec![0];
        }
        self.deadline = if self.copies.is_empty() { Instant::FAR_FUTURE } else { now + self.rtt.rto() };
        ours
    }

    /// A copy goes out again, unless it did so within the last round trip. True if it does.
    fn resend(&mut self, index: usize, now: Instant) -> bool {
        let copy = &self.copies[index];
        let under_way = copy.resent && now.since(copy.sent_at) < self.rtt.srtt;
        let chosen = !under_way && !copy.sacked && !self.to_resend.contains(&index);
        if chosen {
            self.to_resend.push(index);
        }
        chosen
    }

    /// Takes note of the sender's clock and of what it acknowledges.
    pub fn note_sender(&mut self, segment: &Segment) {
        let is_old = self.ack.is_some_and(|(known, _)| segment.ack.before(known));
        if segment.flags.contains(Flags::ACK) && !is_old {
            self.ack = Some((segment.ack, segment.window));
        }
        if let Some(sent) = segment.options.timestamps {
            self.timestamp = Some(later(self.timestamp, sent.value));
        }
    }

    /// The next packet that is to be sent again from here. It has the sender's latest timestamp and ACK, as if the sender had sent
    /// it: with those that it came with, a receiver that has seen later ones would take it for an old duplicate (PAWS, RFC
    /// 7323 section 5) or for a forged one (RFC 5961 section 5.2).
    pub fn poll_resend(&mut self, now: Instant) -> Option<&Copy<B>> {
        if self.to_resend.is_empty() {
            return None;
        }
        let index = self.to_resend.remove(0);
        let (timestamp, ack) = (self.timestamp, self.ack);
        let copy = self.copies.get_mut(index)?;
        if let Some((ack, window)) = ack {
            (copy.segment.ack, copy.segment.window) = (ack, window);
        }
        copy.send_again(now, timestamp);
        Some(copy)
    }
}

#[cfg(test)]
mod tests;
