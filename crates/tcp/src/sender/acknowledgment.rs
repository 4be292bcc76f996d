//! What an ACK does: RTT (RFC 6298), SACK (RFC 2018), loss detection and recovery (RFC 5681, RFC 6582, RFC 6675),
//! ECN echoes (RFC 3168), and the report to congestion control.

use super::{Acknowledgment, EcnFeedback, Phase, Sender};
use crate::ack_congestion::{INITIAL_RATIO, Seen};
use crate::event::Events;
use crate::undo::ForwardRto;
use crate::{Event, Stats};
use longhaul_cc::{Ack, Allowance, Congestion, CongestionKind, Delivery, EcnUse, Pacing};
use longhaul_segment::SeqNumber;
use longhaul_units::{Duration, Instant, Rate};

/// The outcome of an ACK, as congestion control receives it.
pub(super) struct Report {
    pub now: Instant,
    pub prior_una: u64,
    pub prior_in_flight: u64,
    pub prior_phase: Phase,
    pub newly_acked: u64,
    pub rtt: Option<Duration>,
    pub delivery: Option<Delivery>,
    /// The window may grow upon it.
    pub counts: bool,
}

impl Sender {
    /// The greatest acknowledgment that makes sense.
    #[inline]
    pub fn acceptable_ack(&self) -> u64 {
        self.max + u64::from(self.probe_outstanding)
    }

    /// The ACK on the peer's data while nothing new was sent.
    #[inline]
    pub fn is_old_news(&self, a: &Acknowledgment<'_>) -> bool {
        a.ack == self.una
            && !a.bare
            && a.sack.is_empty()
            && self.expects_nothing(a.window_edge.unwrap_or(self.window_edge))
            && !matches!(a.ecn, EcnFeedback::Echo)
    }
    /// Right edge of the peer's window.
    #[inline]
    pub fn window_edge(&self) -> u64 {
        self.window_edge
    }
    /// An ACK of nothing new that leaves the window where it is has no effect.
    #[inline]
    pub fn expects_nothing(&self, window_edge: u64) -> bool {
        window_edge == self.window_edge && !self.probe_outstanding && self.unanswered_probes == 0
    }

    /// An ACK that later ones have overtaken is of use for its SACK blocks.
    #[inline]
    pub fn takes_old_sacks(&self) -> bool {
        self.sack_of_old_acks && self.recovery.uses_sack()
    }

    /// An acceptable ACK of an established connection; below SND.UNA only its SACK blocks count.
    pub fn on_ack(&mut self, a: &Acknowledgment<'_>, stats: &mut Stats, events: &mut Events) {
        if self.probe_outstanding || self.unanswered_probes > 0 {
            self.on_probe_answer(a.now, a.ack);
        }
        let prior_una = self.una;
        let prior_flight_size = self.flight_size();
        let prior_in_flight = self.pipe();
        let prior_phase = self.phase;
        let prior_lost = self.board.lost();
        let orderly = self.is_orderly();
        let prior_duplicates = self.duplicate_acks;
        if self.measured.is_some() {
            self.begin_measured_ack(a);
        }
        let probed = self.timeouts_in_a_row > 0 && self.window_is_closed();
        let window_changed = match a.window_edge {
            Some(edge) => self.update_window(a.ack, edge),
            None => false,
        };
        if probed && self.window_edge > a.ack {
            self.on_window_reopened(a.now, a.ack);
        }
        if self.phase == Phase::FastRecovery && self.recovery.counts_acks() {
            self.inflation += self.mss as i64;
        }
        let mut newly_sacked = 0;
        let mut duplicate = None;
        if !a.sack.is_empty() && self.recovery.uses_sack() && !self.ignores_sack() {
            (newly_sacked, duplicate) = self.on_sack(a, stats);
        }

        let mut rtt = None;
        let mut newly_acked = 0;
        if a.ack > prior_una {
            let advanced = a.ack - prior_una;
            self.una = a.ack;
            if let Some(measured) = &mut self.measured {
                for (start, end) in self.board.gaps(prior_una, a.ack) {
                    measured.delivers(start, end);
                }
                measured.transmissions.acknowledge(a.ack);
                self.board.stop_awaiting_below(a.ack);
            }
            let was_sacked = self.board.acknowledge(a.ack);
            newly_acked = advanced - was_sacked;
            rtt = self.measure(a.now, a.ack, a.timestamp_rtt, prior_una, stats);
            self.on_new_ack(a.now, advanced, events);
        } else if newly_sacked > 0 || (self.is_duplicate_ack(a) && !window_changed) {
            stats.duplicate_acks_received += 1;
            if self.phase == Phase::FastRecovery {
                self.inflation += if self.recovery.counts_acks() { 0 } else { self.mss as i64 };
            } else {
                self.duplicate_acks += 1;
            }
        }
        if duplicate.is_some() && self.measured.is_some() {
            self.hear_of_duplicate();
        }
        let undecided = self.measured.is_some()
            && self.reconsider_reduction(a, (prior_una, prior_phase), newly_sacked, duplicate, stats, events);
        let measures = self.measured.is_some() && newly_acked + newly_sacked > 0;
        if measures {
            self.take_up_delivery(a.now, !undecided, &mut rtt, stats);
        }
        if self.phase == Phase::Open && (self.duplicate_acks != 0 || !self.board.is_empty()) {
            self.enter_recovery_if_lost(a.now, newly_acked + newly_sacked, stats, events);
        }

        self.sacked_unreported += newly_sacked;
        self.delivered += newly_acked + newly_sacked - self.board.take_reported_again();
        let delivery = if measures { self.sample_delivery(a.now, prior_lost) } else { None };
        let marked =
            !matches!(a.ecn, EcnFeedback::None) && self.take_ecn_feedback(&a.ecn, newly_acked + newly_sacked);
        let counts = a.ack > prior_una
            || (newly_sacked > 0
                && (prior_phase == Phase::FastRecovery || self.samples_rate() || self.sacks_count()));
        if counts || (newly_sacked > 0 && !self.credit_sacked) {
            let newly_acked = self.credited(newly_acked, prior_duplicates, prior_phase);
            self.tell_congestion_control(&Report {
                now: a.now,
                prior_una,
                prior_in_flight,
                prior_phase,
                newly_acked,
                rtt,
                delivery,
                counts,
            });
        }
        if self.reducing && newly_acked + newly_sacked > 0 {
            let safe = a.ack > prior_una && self.board.lost() == prior_lost;
            self.reduce_in_proportion(newly_acked + newly_sacked, safe, stats);
        }
        if self.measured.is_some() {
            self.end_measured_ack(a, prior_una, duplicate);
        }
        if marked {
            self.on_ecn_echo(a, prior_flight_size, newly_acked + newly_sacked, stats, events);
        }
        if self.ack_congestion.is_some() && (a.ack > prior_una || a.marked) {
            self.judge_acks(a, prior_una, orderly, stats);
        }
    }

    /// What an ACK counts for where the window grows. Without SACK each duplicate ACK before it stands for a segment that was
    /// delivered then; at least one segment is left (Linux: `tcp_remove_reno_sacks`).
    #[inline]
    fn credited(&self, newly_acked: u64, duplicates: u32, phase: Phase) -> u64 {
        if self.credit_sacked || duplicates == 0 || phase != Phase::Open || self.recovery.uses_sack() {
            return newly_acked;
        }
        newly_acked.saturating_sub(u64::from(duplicates) * self.mss).max(newly_acked.min(self.mss))
    }

    /// After a timeout that has discarded the scoreboard.
    #[inline]
    fn ignores_sack(&self) -> bool {
        self.timeouts_in_a_row > 0 && self.recovery.forgets_on_timeout()
    }

    /// No data are missing, as far as ACKs show.
    #[inline]
    pub(super) fn is_orderly(&self) -> bool {
        self.phase == Phase::Open && self.duplicate_acks == 0 && self.board.is_empty()
    }

    /// RFC 5690: is the way of the ACKs congested?
    #[inline(never)]
    fn judge_acks(&mut self, a: &Acknowledgment<'_>, prior_una: u64, was_orderly: bool, stats: &mut Stats) {
        let regular = a.bare && was_orderly && self.is_orderly();
        let seen = Seen {
            ack: a.ack,
            advanced: (a.ack - prior_una).saturating_sub(u64::from(self.fin_acked())),
            regular,
            marked: a.marked && a.bare,
            window: self.window_in_use(),
            mss: self.mss,
        };
        let Some(acks) = &mut self.ack_congestion else { return };
        let before = acks.ratio();
        stats.ack_congestion_events += u64::from(acks.on_ack(&seen));
        stats.largest_ack_ratio = stats.largest_ack_ratio.max(u64::from(acks.ratio()));
        if acks.ratio() != before {
            self.refresh();
        }
    }
    /// An ACK that later ones have overtaken.
    #[inline]
    pub fn hear_overtaken_ack(&mut self, ack: u64) {
        if let Some(acks) = &mut self.ack_congestion {
            acks.on_overtaken(ack);
        }
    }

    #[inline(always)]
    pub(super) fn tell_congestion_control(&mut self, report: &Report) {
        let round_start = self.una > self.round_end;
        if round_start {
            self.round += 1;
            self.round_end = self.max;
        }
        let acked = report.newly_acked + std::mem::take(&mut self.sacked_unreported);
        let doubles = self.in_slow_start && self.usage.is_some_and(|usage| self.cwnd < 2 * usage.most);
        let ack = Ack {
            now: report.now,
            acked,
            rtt: report.rtt,
            srtt: self.rtt.srtt,
            min_rtt: self.rtt.min,
            in_flight: self.pipe(),
            prior_in_flight: report.prior_in_flight,
            next_departure: self.pacer.held_until(report.now).unwrap_or(report.now),
            round: self.round,
            round_start,
            delivery: report.delivery,
            delivered: self.delivered,
            marked: self.marked,
            ack_ratio: self.ack_ratio().unwrap_or(1),
            app_limited: report.prior_una >= self.cwnd_limited_below && !doubles,
            receiver_limited: (self.cwnd_limited_below..self.receiver_limited_below)
                .contains(&report.prior_una),
            in_recovery: report.prior_phase == Phase::FastRecovery
                || self.phase == Phase::FastRecovery
                || self.reducing,
        };
        if report.counts {
            let allowance = self.cc.take_ack(&ack);
            self.adopt(allowance);
        } else {
            self.cc.on_sack(&ack);
            self.refresh();
        }
    }

    /// Data are SACKed as they are delivered, and let the window grow at once: where what counts is delivery, and the path has been seen to
    /// reorder by more than the duplicate threshold, counted from the segment that arrived before (Linux: `tcp_may_raise_cwnd`).
    fn sacks_count(&self) -> bool {
        let usual = u64::from(self.duplicate_threshold + 1) * self.mss;
        !self.credit_sacked && self.reordering_extent() > usual
    }

    /// SND.WND of RFC 9293; true if it changed.
    #[inline]
    pub(super) fn update_window(&mut self, ack: u64, edge: u64) -> bool {
        let window = edge - ack;
        let changed = window != self.window_edge.saturating_sub(self.una);
        self.window_edge = edge;
        self.max_window = self.max_window.max(window);
        if edge > self.max && self.persist_deadline != Instant::FAR_FUTURE && self.usable_is_worthwhile() {
            self.stop_persisting();
        }
        changed
    }

    /// RFC 5681 section 2; with SACK only news of SACKed data counts (RFC 6675 section 2).
    pub(super) fn is_duplicate_ack(&self, a: &Acknowledgment<'_>) -> bool {
        a.bare && self.max > self.una && !self.recovery.uses_sack()
    }

    /// Takes up the SACK blocks; returns the bytes that are news, and what is reported as received twice (D-SACK).
    pub(super) fn on_sack(&mut self, a: &Acknowledgment<'_>, stats: &mut Stats) -> (u64, Option<(u64, u64)>) {
        let blocks = a.sack.as_slice();
        let offsets = |block: &(SeqNumber, SeqNumber)| {
            let start = block.0.expand(a.isn, self.una)?;
            let end = block.1.expand(a.isn, self.una)?;
            (start < end && end <= self.max).then_some((start, end))
        };
        // RFC 2883 section 4: the first block is a D-SACK if it is acknowledged already or within the second.
        let duplicate = offsets(&blocks[0]).filter(|&(start, end)| {
            end <= a.ack
                || blocks.get(1).and_then(offsets).is_some_and(|second| second.0 <= start && end <= second.1)
        });
        stats.dsacks_received += u64::from(duplicate.is_some());
        let mut news = 0;
        for block in &blocks[usize::from(duplicate.is_some())..] {
            if self.board.last_blocks().as_slice().contains(block) {
                continue;
            }
            let start = block.0.expand(a.isn, self.una);
            let end = block.1.expand(a.isn, self.una);
            if let (Some(start), Some(end)) = (start, end) {
                if start < end && end <= self.max && end > self.una {
                    let measured = &mut self.measured;
                    let Some((start, end)) = measured.as_ref().map_or(Some((start, end)), |measured| {
                        measured.transmissions.whole_segments(start, end)
                    }) else {
                        continue;
                    };
                    news += self.board.sack(start, end, |start, end| {
                        if let Some(measured) = measured {
                            measured.delivers(start, end);
                        }
                    });
                }
            }
        }
        self.board.set_last_blocks(*a.sack);
        if news > 0 {
            self.recovery.on_sacked(&mut self.board, self.duplicate_threshold, self.mss);
        }
        (news, duplicate)
    }

    /// RTT measurement by Karn's rule, else by timestamps (RFC 7323 section 4).
    #[inline(always)]
    pub(super) fn measure(
        &mut self,
        now: Instant,
        ack: u64,
        timestamp_rtt: Option<Duration>,
        prior_una: u64,
        stats: &mut Stats,
    ) -> Option<Duration> {
        let timed_at =
            if self.every_ack_sampled || self.every_ack_otherwise { None } else { self.timed_segment(ack) };
        let departures = self.log.acknowledge(ack);
        let unambiguous = prior_una >= self.retransmitted_below;
        let (oldest, newest) = if unambiguous {
            let departures = departures?;
            (now.since(departures.oldest), now.since(departures.newest))
        } else {
            let rtt = timestamp_rtt?;
            (rtt, rtt)
        };
        self.take_rtt(oldest, newest, stats);
        if let Some(timed_at) = timed_at {
            if unambiguous {
                self.rtt.sample_timed(timed_at, now);
            } else {
                self.rtt.sample_echoed(newest);
            }
        }
        Some(newest)
    }

    /// With one sample a round trip: when the timed segment left, if this ACK acknowledges it. The next one timed is the first new
    /// one to leave (RFC 6298 section 3).
    fn timed_segment(&mut self, ack: u64) -> Option<Instant> {
        if ack <= self.timed {
            return None;
        }
        let timed = std::mem::replace(&mut self.timed, self.max);
        self.log.departure_of(timed)
    }

    /// `newest` is the path's round trip, `oldest` what the RTO has to cover.
    #[inline]
    pub(super) fn take_rtt(&mut self, oldest: Duration, newest: Duration, stats: &mut Stats) {
        self.rtt.observe(newest);
        stats.rtt_sample(newest);
        if self.every_ack_sampled {
            self.rtt.sample(oldest);
        } else if self.every_ack_otherwise {
            self.rtt.sample_by_round(oldest, self.una, self.max);
        }
    }

    /// SND.UNA has advanced by `advanced`.
    #[inline(always)]
    pub(super) fn on_new_ack(&mut self, now: Instant, advanced: u64, events: &mut Events) {
        self.duplicate_acks = 0;
        self.limited_transmitted = 0;
        self.timeouts_in_a_row = 0;
        self.last_progress = now;
        self.more_follows = false;
        let mut restart_timer = true;
        if self.phase != Phase::Open {
            if self.una >= self.recovery_point
                || (self.phase == Phase::FastRecovery && self.recovery.ends_with_first_ack())
            {
                self.leave_recovery(events);
            } else if self.phase == Phase::FastRecovery && !self.recovery.uses_sack() {
                restart_timer = self.on_partial_ack(advanced);
            } else if self.phase == Phase::FastRecovery && self.recovery.counts_acks() {
                // FlightSize has fallen by what is acknowledged; the pipe falls by the lost segment.
                self.inflation += self.mss as i64 - advanced as i64;
            }
        } else if self.reducing && self.una > self.reduction_point {
            // After an ECN echo: what left with CWR is acknowledged.
            self.end_rate_reduction();
        }
        // RFC 6298 sections 5.2 and 5.3.
        if self.una == self.max {
            self.rto_deadline = Instant::FAR_FUTURE;
        } else if restart_timer {
            self.rto_deadline = now + self.rtt.rto();
        }
    }

    /// RFC 6582 section 3.2 step 3, partial acknowledgment. Returns whether the timer restarts: with the first
    /// partial ACK only ("impatient"), or with each ("slow but steady").
    pub(super) fn on_partial_ack(&mut self, advanced: u64) -> bool {
        self.inflation -= advanced as i64;
        if advanced >= self.mss {
            self.inflation += self.mss as i64;
        }
        self.board.mark_lost_below((self.una + self.mss).min(self.max));
        self.retransmit_now = true;
        !std::mem::replace(&mut self.partial_ack_seen, true) || !self.impatient
    }

    pub(super) fn leave_recovery(&mut self, events: &mut Events) {
        self.phase = Phase::Open;
        self.board.forget_discarded();
        self.end_rate_reduction();
        self.inflation = 0;
        self.retransmit_now = false;
        self.board.restart_retransmission();
        self.cc.on_recovery_end();
        self.rack_recovery_ends();
        events.push(Event::RecoveryEnd);
    }

    /// RFC 5681 section 3.2, RFC 6582 section 3.2 step 2, RFC 6675 section 5 steps 1 to 4. `delivered` by the ACK under way.
    pub(super) fn enter_recovery_if_lost(
        &mut self,
        now: Instant,
        delivered: u64,
        stats: &mut Stats,
        events: &mut Events,
    ) {
        let enough = self.recovery.is_loss(self.duplicate_acks, self.duplicate_threshold);
        let sack = self.recovery.uses_sack();
        let lost = enough || (sack && self.board.lost_edge() > self.una);
        // Without SACK duplicate ACKs may come from data sent twice: wait until new data is acknowledged.
        let fresh = if sack { self.una >= self.recovery_point } else { self.una > self.recovery_point };
        if lost && fresh && self.max > self.una {
            self.enter_recovery(now, delivered, stats, events);
        }
    }

    #[cold]
    pub(super) fn enter_recovery(
        &mut self,
        now: Instant,
        delivered: u64,
        stats: &mut Stats,
        events: &mut Events,
    ) {
        let flight_size = self.flight_size() - self.limited_transmitted.min(self.flight_size());
        let tahoe = self.recovery.restarts();
        stats.fast_retransmits += 1;
        events.push(Event::FastRetransmit { lost: self.una - 1, flight_size });
        // One reduction per window, be it for loss or for an ECN echo (RFC 3168 section 6.1.2).
        if self.una >= self.reduction_point || tahoe {
            let kind = if tahoe { CongestionKind::Timeout } else { CongestionKind::Loss };
            self.reduce(now, kind, flight_size);
            if !tahoe {
                self.reduction_may_be_spurious(ForwardRto::Off);
            }
        }
        if !self.recovery.ends_with_first_ack() {
            self.recovery_point = self.max;
        }
        self.retransmit_now = true;
        // Nothing is rescued before the first retransmission has left and been acknowledged (RFC 6675 section 5 step 4.3).
        self.rescue_rxt = u64::MAX;
        self.partial_ack_seen = false;
        self.board.restart_retransmission();
        if tahoe {
            self.phase = Phase::AfterTimeout;
            self.board.mark_lost_below(self.max);
        } else {
            self.phase = Phase::FastRecovery;
            self.inflation = i64::from(self.duplicate_acks) * self.mss as i64;
            self.recovery.on_recovery(&mut self.board, (self.una + self.mss).min(self.max));
        }
        self.duplicate_acks = 0;
        self.rack_recovery_begins();
        if self.phase == Phase::FastRecovery && !self.reducing {
            self.begin_rate_reduction(delivered, stats);
        }
        // The first lost segment leaves now.
        if self.restart_timer_on_fast_retransmit {
            self.rto_deadline = now + self.rtt.rto();
        }
    }

    pub(super) fn reduce(&mut self, now: Instant, kind: CongestionKind, flight_size: u64) {
        self.reduction_point = self.max;
        self.reduced_at = now;
        // Accurate feedback counts on, without CWR.
        self.cwr_due = self.marks.is_none();
        self.ecn_point = if self.cwr_due { u64::MAX } else { 0 };
        self.cc.on_congestion(&Congestion { now, kind, flight_size });
        self.refresh();
    }

    /// An ACK that delivers so much and reports on marks. True if it reports congestion.
    #[inline(never)]
    fn take_ecn_feedback(&mut self, feedback: &EcnFeedback, delivered: u64) -> bool {
        match (feedback, &mut self.marks) {
            (EcnFeedback::Accurate(reported), Some(marks)) => {
                let (packets, bytes) = marks.take(reported, delivered, self.mss);
                self.marked += bytes;
                packets > 0 || bytes > 0
            }
            (EcnFeedback::Echo, _) => {
                // RFC 8257 section 3.3 step 3: all that it acknowledges.
                self.marked += delivered;
                true
            }
            _ => false,
        }
    }

    /// RFC 3168 section 6.1.2: once in a window. The receiver repeats its echo until CWR arrives; accurate feedback reports each mark.
    #[cold]
    pub(super) fn on_ecn_echo(
        &mut self,
        a: &Acknowledgment<'_>,
        flight_size: u64,
        delivered: u64,
        stats: &mut Stats,
        events: &mut Events,
    ) {
        stats.ecn_echoes_received += 1;
        let fresh = self.una >= self.reduction_point && self.una >= self.ecn_point;
        if fresh && flight_size > 0 && self.phase == Phase::Open {
            stats.ecn_reductions += 1;
            events.push(Event::EcnReduction);
            // What is built for L4S's marks has no other answer to those of RFC 3168 than to a loss (RFC 9331 section 4.3).
            let l4s = self.ecn_use == EcnUse::L4s;
            let frequent = l4s && self.marks.is_some();
            let kind = if l4s && !frequent { CongestionKind::Loss } else { CongestionKind::EcnEcho };
            self.reduce(a.now, kind, flight_size);
            // L4S's small and frequent reductions hold at once, and the window grows on meanwhile.
            if self.rate_reduction_on_ecn && !frequent {
                self.begin_rate_reduction(delivered, stats);
                self.reduce_in_proportion(delivered, delivered > 0, stats);
            }
        }
    }
    /// True if the segment with new data up to `end` is to carry CWR.
    #[inline]
    pub fn take_cwr(&mut self, end: u64) -> bool {
        if self.cwr_due {
            self.ecn_point = end;
        }
        std::mem::take(&mut self.cwr_due)
    }

    #[inline]
    pub(super) fn refresh(&mut self) {
        let allowance = self.cc.allowance();
        self.adopt(allowance);
    }
    #[inline]
    fn adopt(&mut self, allowance: Allowance) {
        self.cwnd = if self.reducing { self.reduced_window(allowance.window) } else { allowance.window };
        self.in_slow_start = allowance.in_slow_start;
        if self.own_rate || self.ack_congestion.is_some() {
            return self.adopt_pacing(allowance.pacing_rate);
        }
        self.pacer.rate = allowance.pacing_rate;
    }
    /// The pacing rate, where not only congestion control determines it.
    #[inline(never)]
    fn adopt_pacing(&mut self, rate: Option<Rate>) {
        // The first ACK of what was sent after idleness is the new ACK clock.
        self.restart_pacing = self.restart_pacing.filter(|(_, sent_before)| self.una <= *sent_before);
        self.own_rate = self.restart_pacing.is_some() || self.max_pacing_rate.is_some();
        self.pacer.rate = self.restart_pacing.map(|(rate, _)| rate).or(rate);
        if self.pacer.rate.is_none() && self.ack_ratio().is_some_and(|ratio| ratio > INITIAL_RATIO) {
            // RFC 5690 section 4.7: what an ACK of many segments lets go is not to leave in one burst.
            // At least a segment in a round trip: a window of zero would never let go what follows it.
            let window = self.window_in_use().max(self.mss);
            self.pacer.rate = Pacing::LINUX.rate(window as f64, self.cc.ssthresh() as f64, self.rtt.srtt);
        }
        if let Some(most) = self.max_pacing_rate {
            self.pacer.rate = Some(self.pacer.rate.map_or(most, |rate| rate.min(most)));
        }
    }
}
