//! Loss detection by time, and the probe for losses at the tail: RACK-TLP (RFC 8985), whose sections are named below.
//! The calls of the scoreboard, and the reactions, are in `sender/rack_tlp.rs`.

use crate::transmissions::Run;
use longhaul_units::{Duration, Instant};
use std::collections::VecDeque;

/// A transmission: bytes that left together, one after the other in the stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Transmission {
    /// Its place in the order of departures.
    pub order: u64,
    pub sent_at: Instant,
    pub start: u64,
    pub end: u64,
}

/// What the reordering window depends on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Circumstances {
    pub in_recovery: bool,
    /// Duplicate-ACK threshold of segments SACKed.
    pub enough_sacked: bool,
    pub min_rtt: Duration,
    pub srtt: Duration,
}

/// The probe that is out (section 7.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Probe {
    /// TLP.end_seq.
    pub end: u64,
    /// TLP.is_retrans.
    pub retransmission: bool,
    /// FlightSize when it left.
    pub flight_size: u64,
}

/// Rounds of recovery without a D-SACK after which the reordering window is as in the beginning.
const REO_WND_PERSIST: u32 = 16;

#[derive(Clone, Debug)]
pub(crate) struct Rack {
    /// The most recently sent segment that was delivered: the order of its transmission, and RACK.end_seq. RACK.xmit_ts alone
    /// would not distinguish a retransmission from new data that left in the same nanosecond.
    newest: (u64, u64),
    /// RACK.rtt.
    rtt: Duration,
    /// RACK.fack, and as it was before the ACK under way.
    fack: u64,
    prior_fack: u64,
    /// How far below the highest delivered byte new data have arrived at most: no policy reads it here.
    pub reordering_extent: u64,
    reordering_seen: bool,
    reo_wnd_mult: u32,
    reo_wnd_persist: u32,
    /// Multiplier and rounds left before the recovery that the ACK under way has ended.
    before_end: Option<(u32, u32)>,
    dsack_round: Option<u64>,
    /// Transmissions of which something may still be outstanding.
    order: VecDeque<Transmission>,
    departures: u64,
    /// The ACK under way: when it came, the smallest round trip before it, the age of the timestamp that it echoes.
    now: Instant,
    min_rtt: Duration,
    echo_age: Option<Duration>,
    timestamp_tick: Duration,

    /// The reordering timer.
    pub reordering_deadline: Instant,
    /// The probe timeout (PTO).
    pub probe_deadline: Instant,
    /// Tail loss probes are sent.
    pub probing: bool,
    /// The probe timeout has expired: a probe is to be sent.
    pub probe_due: bool,
    pub probe: Option<Probe>,
    /// Start of the last segment of new data.
    pub last_start: u64,
}

impl Rack {
    pub fn new(probing: bool, timestamp_tick: Duration) -> Self {
        Rack {
            now: Instant::ZERO,
            min_rtt: Duration::MAX,
            echo_age: None,
            timestamp_tick,
            newest: (0, 0),
            rtt: Duration::ZERO,
            fack: 0,
            prior_fack: 0,
            reordering_seen: false,
            reordering_extent: 0,
            reo_wnd_mult: 1,
            reo_wnd_persist: 0,
            before_end: None,
            dsack_round: None,
            order: VecDeque::new(),
            departures: 0,
            reordering_deadline: Instant::FAR_FUTURE,
            probe_deadline: Instant::FAR_FUTURE,
            probing,
            probe_due: false,
            probe: None,
            last_start: 0,
        }
    }

    /// Section 6.2 step 1. Returns the place of this departure in the order of all.
    pub fn sent(&mut self, sent_at: Instant, start: u64, end: u64) -> u64 {
        match self.order.back_mut() {
            Some(last) if last.sent_at == sent_at && last.end == start => last.end = end,
            _ => {
                self.departures += 1;
                self.order.push_back(Transmission { order: self.departures, sent_at, start, end });
            }
        }
        self.departures
    }

    /// An ACK has come at `now`, with a timestamp echoed that is `echo_age` old.
    pub fn begin_ack(&mut self, now: Instant, min_rtt: Duration, echo_age: Option<Duration>) {
        self.prior_fack = self.fack;
        self.before_end = None;
        (self.now, self.min_rtt, self.echo_age) = (now, min_rtt, echo_age);
    }

    /// Steps 2 and 3: the ACK delivers `[start, end)`, of which nothing was delivered before.
    pub fn delivered(&mut self, start: u64, end: u64, run: &Run) {
        let Run { sent_at, retransmitted, order, .. } = *run;
        if end > self.prior_fack {
            self.fack = self.fack.max(end);
        } else if end < self.prior_fack && !retransmitted {
            self.on_late_arrival(start);
        }
        let rtt = self.now.since(sent_at);
        // The ACK may be for the first transmission: then nothing is known of the second.
        let echo_is_older = self.echo_age.is_some_and(|age| age > rtt + self.timestamp_tick);
        if retransmitted && (rtt < self.min_rtt || echo_is_older) {
            return;
        }
        self.rtt = rtt;
        self.newest = self.newest.max((order, end));
    }

    /// Data from `start` on have arrived after what left later.
    pub fn on_late_arrival(&mut self, start: u64) {
        self.reordering_seen = true;
        self.reordering_extent = self.reordering_extent.max(self.fack.saturating_sub(start));
    }

    /// Step 4, DSACK-based adaptation: once a round.
    pub fn on_dsack(&mut self, una: u64, max: u64) {
        if self.dsack_round.is_some_and(|round| una < round) {
            return;
        }
        self.dsack_round = Some(max);
        self.reo_wnd_mult += 1;
        self.reo_wnd_persist = REO_WND_PERSIST;
    }
    /// Step 4: recovery is over.
    pub fn on_recovery_end(&mut self) {
        self.before_end = Some((self.reo_wnd_mult, self.reo_wnd_persist));
        self.reo_wnd_persist = self.reo_wnd_persist.saturating_sub(1);
        if self.reo_wnd_persist == 0 {
            self.reo_wnd_mult = 1;
        }
    }

    /// A reduction was for nothing: the recovery that the ACK under way has ended does not count, and D-SACKs that come after it
    /// compensate for it (Linux: `tcp_try_undo_recovery`, `tcp_try_undo_dsack`).
    pub fn on_undo(&mut self, by_duplicates: bool) {
        if let Some(before) = self.before_end.take() {
            (self.reo_wnd_mult, self.reo_wnd_persist) = before;
        } else if by_duplicates {
            self.reo_wnd_persist = (self.reo_wnd_persist + 1).min(REO_WND_PERSIST);
        }
    }

    /// Step 4, RACK_update_reo_wnd().
    pub fn reordering_window(&self, circumstances: &Circumstances) -> Duration {
        let Circumstances { in_recovery, enough_sacked, min_rtt, srtt } = *circumstances;
        if !self.reordering_seen && (in_recovery || enough_sacked) {
            return Duration::ZERO;
        }
        (min_rtt / 4).saturating_mul(u64::from(self.reo_wnd_mult)).min(srtt)
    }

    /// The earliest transmission that has not been evaluated yet.
    pub fn earliest(&self) -> Option<Transmission> {
        self.order.front().copied()
    }
    /// Nothing below `start` of the earliest transmission is outstanding any more.
    pub fn judged_below(&mut self, start: u64) {
        if let Some(front) = self.order.front_mut() {
            front.start = front.start.max(start);
            if front.start >= front.end {
                self.order.pop_front();
            }
        }
    }
    /// Step 5: the part of it that was sent before a segment that has been delivered, if there is one.
    pub fn overtaken_part(&self, transmission: &Transmission) -> Option<(u64, u64)> {
        let end = match transmission.order.cmp(&self.newest.0) {
            std::cmp::Ordering::Less => transmission.end,
            // Of the same departure: the order of the stream counts. The delivered segment itself is SACKed.
            std::cmp::Ordering::Equal => transmission.end.min(self.newest.1),
            std::cmp::Ordering::Greater => return None,
        };
        (transmission.start < end).then_some((transmission.start, end))
    }
    /// Step 5: when what was sent at `sent_at` is lost.
    pub fn lost_at(&self, sent_at: Instant, reordering_window: Duration) -> Instant {
        sent_at + self.rtt + reordering_window
    }

    /// TLP_calc_PTO(), section 7.2: `max_ack_delay` if only one segment is in flight, at most until the RTO, which expires at `rto`.
    pub fn plan_probe(
        &mut self,
        now: Instant,
        srtt: Duration,
        max_ack_delay: Option<Duration>,
        rto: Instant,
    ) {
        let timeout = if srtt.is_zero() {
            Duration::from_secs(1)
        } else {
            srtt.saturating_mul(2) + max_ack_delay.unwrap_or(Duration::ZERO)
        };
        self.probe_deadline = (now + timeout).min(rto);
    }

    /// Section 8: what comes first but for the retransmission timeout.
    pub fn next_deadline(&self) -> Instant {
        self.reordering_deadline.min(self.probe_deadline)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transmissions::Snapshot;

    fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }
    fn at(millis: u64) -> Instant {
        Instant::ZERO + ms(millis)
    }
    fn calm() -> Circumstances {
        Circumstances { in_recovery: false, enough_sacked: false, min_rtt: ms(100), srtt: ms(120) }
    }
    fn rack() -> Rack {
        Rack::new(true, ms(1))
    }
    /// Departures are numbered by their milliseconds.
    fn run(sent_at: u64, end: u64, retransmitted: bool) -> Run {
        Run { end, sent_at: at(sent_at), order: sent_at, retransmitted, then: Snapshot::default() }
    }
    fn delivered(rack: &mut Rack, now: u64, sent_at: u64, end: u64, retransmitted: bool) {
        rack.begin_ack(at(now), ms(100), None);
        rack.delivered(end - 100, end, &run(sent_at, end, retransmitted));
    }

    /// Section 6.2 step 4: a quarter of the smallest round trip; none where three segments are SACKed or in recovery, as long
    /// as nothing has ever been reordered; at most SRTT.
    #[test]
    fn the_reordering_window() {
        let mut rack = rack();
        assert_eq!(rack.reordering_window(&calm()), ms(25));
        assert_eq!(rack.reordering_window(&Circumstances { in_recovery: true, ..calm() }), ms(0));
        assert_eq!(rack.reordering_window(&Circumstances { enough_sacked: true, ..calm() }), ms(0));
        delivered(&mut rack, 100, 0, 3000, false);
        delivered(&mut rack, 105, 0, 1000, false);
        assert_eq!(rack.reordering_window(&Circumstances { enough_sacked: true, ..calm() }), ms(25));
        for round in 1..=9 {
            rack.on_dsack(round * 10_000, (round + 1) * 10_000);
            rack.on_dsack(round * 10_000, (round + 1) * 10_000); // once a round
            assert_eq!(rack.reordering_window(&calm()), ms(25 * (round + 1)).min(ms(120)));
        }
        for _ in 0..15 {
            rack.on_recovery_end();
        }
        assert_eq!(rack.reordering_window(&calm()), ms(120));
        rack.on_recovery_end();
        assert_eq!(rack.reordering_window(&calm()), ms(25));
    }

    /// Of sixteen recoveries one was undone: the window stays until a seventeenth.
    #[test]
    fn a_recovery_that_was_undone_does_not_count_in_linux() {
        let mut rack = rack();
        rack.on_dsack(1, 10_001);
        for undone in 1..=17 {
            assert_eq!(rack.reordering_window(&calm()), ms(50), "{undone}");
            rack.begin_ack(at(100), ms(100), None);
            rack.on_recovery_end();
            if undone == 16 {
                rack.on_undo(false);
                // Only the one that this ACK has ended.
                rack.on_undo(false);
            }
        }
        assert_eq!(rack.reordering_window(&calm()), ms(25));
        // D-SACKs after its end give it back, and no more than sixteen are left.
        rack.on_dsack(20_001, 30_001);
        for _ in 0..10 {
            rack.on_recovery_end();
            rack.begin_ack(at(100), ms(100), None);
            rack.on_undo(true);
        }
        rack.on_undo(true);
        assert_eq!(rack.reo_wnd_persist, 16);
    }

    /// A hole that a retransmission fills is no reordering.
    #[test]
    fn a_retransmission_that_arrives_is_not_reordering() {
        let mut rack = rack();
        delivered(&mut rack, 100, 0, 3000, false);
        delivered(&mut rack, 210, 110, 1000, true);
        assert_eq!(rack.reordering_window(&Circumstances { in_recovery: true, ..calm() }), ms(0));
    }

    /// Step 3: an ACK that comes too soon after the retransmission is for the first transmission.
    #[test]
    fn the_extent_of_reordering_is_the_farthest_that_data_came_late() {
        let mut rack = rack();
        rack.begin_ack(at(100), ms(100), None);
        rack.delivered(8001, 9001, &run(0, 9001, false));
        rack.begin_ack(at(101), ms(100), None);
        rack.delivered(3001, 4001, &run(0, 4001, false));
        rack.begin_ack(at(102), ms(100), None);
        rack.delivered(5001, 6001, &run(0, 6001, false));
        assert_eq!(rack.reordering_extent, 6000);
        // A retransmission is no evidence of the path's order.
        rack.begin_ack(at(200), ms(100), None);
        rack.delivered(1001, 2001, &run(100, 2001, true));
        assert_eq!(rack.reordering_extent, 6000);
    }
    #[test]
    fn a_retransmission_counts_only_if_it_can_have_been_delivered() {
        let mut rack = rack();
        delivered(&mut rack, 100, 0, 1000, false);
        delivered(&mut rack, 160, 100, 2000, true);
        assert_eq!(rack.newest, (0, 1000));
        delivered(&mut rack, 210, 105, 3000, true);
        assert_eq!((rack.newest, rack.rtt), ((105, 3000), ms(105)));
        rack.begin_ack(at(310), ms(100), Some(ms(150)));
        rack.delivered(3900, 4000, &run(200, 4000, true));
        assert_eq!(rack.newest, (105, 3000));
    }

    /// RACK_sent_after(): by departure, then by the order of the stream.
    #[test]
    fn what_left_before_a_delivered_segment_is_overtaken() {
        let mut rack = rack();
        let orders = [(0, 0, 1000), (0, 1000, 5000), (0, 200, 300), (10, 5000, 6000)]
            .map(|(sent_at, start, end)| rack.sent(at(sent_at), start, end));
        assert_eq!(orders, [1, 1, 2, 3]);
        let delivered = |rack: &mut Rack, order, end| {
            rack.begin_ack(at(111), ms(100), None);
            rack.delivered(end - 100, end, &Run { order, ..run(0, end, false) });
        };
        delivered(&mut rack, 1, 3000);
        let first = rack.earliest().unwrap();
        assert_eq!((first.start, first.end), (0, 5000)); // left together
        assert_eq!(rack.overtaken_part(&first), Some((0, 3000)));
        assert_eq!(rack.lost_at(first.sent_at, ms(25)), at(136));
        rack.judged_below(3000);
        let rest = rack.earliest().unwrap();
        assert_eq!(rack.overtaken_part(&rest), None);
        // A retransmission that left later in the same instant has a lower sequence number and has overtaken it.
        delivered(&mut rack, 2, 300);
        assert_eq!(rack.overtaken_part(&rest), Some((3000, 5000)));
    }

    /// Section 7.2: PTO = 2 SRTT, with the worst delay of an ACK for a single segment, 1 s without SRTT, not after the RTO.
    #[test]
    fn the_probe_timeout() {
        let mut rack = rack();
        let mut planned = |srtt, delay, rto| {
            rack.plan_probe(at(1000), srtt, delay, at(rto));
            rack.probe_deadline
        };
        assert_eq!(planned(ms(100), None, 9000), at(1200));
        assert_eq!(planned(ms(100), Some(ms(200)), 9000), at(1400));
        assert_eq!(planned(ms(0), None, 9000), at(2000));
        assert_eq!(planned(ms(600), None, 2000), at(2000));
    }
}
