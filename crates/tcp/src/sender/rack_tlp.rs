//! What is kept about each transmission for those that need it, and what RACK-TLP (RFC 8985) does with it: losses by
//! time, the probe at the tail, and the timers of both beside the retransmission timer.

use super::{Acknowledgment, Chunk, Phase, Sender};
use crate::delivery::DeliveryRate;
use crate::event::Events;
use crate::rack::{Circumstances, Probe, Rack};
use crate::transmissions::{Run, Snapshot, Transmissions};
use crate::undo::Undo;
use crate::{Limit, Stats};
use longhaul_cc::{CongestionKind, Delivery, Lost};
use longhaul_units::{Duration, Instant};

/// What is kept about each transmission.
pub(crate) struct Measured {
    pub transmissions: Transmissions,
    pub rate: DeliveryRate,
    /// Congestion control uses rate samples.
    pub samples: bool,
    /// Losses are found by time.
    pub rack: Option<Rack>,
    /// Unnecessary reductions are undone.
    pub undo: Option<Undo>,
    /// When the first left of what the ACK under way delivers and was sent once.
    first_delivered: Option<Instant>,
}

impl Measured {
    pub fn new(samples: bool, rack: Option<Rack>, undo: Option<Undo>) -> Self {
        let (transmissions, rate) = (Transmissions::new(1), DeliveryRate::default());
        Measured { transmissions, rate, samples, rack, undo, first_delivered: None }
    }
    /// The ACK under way delivers `[start, end)`.
    pub fn delivers(&mut self, start: u64, end: u64) {
        for (start, end, run) in self.transmissions.within(start, end) {
            self.rate.delivers(run);
            if !run.retransmitted {
                self.first_delivered.get_or_insert(run.sent_at);
            }
            if let Some(rack) = &mut self.rack {
                rack.delivered(start, end, run);
            }
        }
    }
}

impl Sender {
    fn rack(&mut self) -> Option<&mut Rack> {
        self.measured.as_mut()?.rack.as_mut()
    }
    /// True if congestion control uses rate samples.
    pub(super) fn samples_rate(&self) -> bool {
        self.measured.as_ref().is_some_and(|measured| measured.samples)
    }

    // Segments that leave.

    /// What is to be known later of a segment that leaves.
    #[inline(never)]
    pub(super) fn remember(&mut self, now: Instant, chunk: &Chunk, end: u64, in_flight: u64) {
        let idle = !chunk.retransmission && chunk.start == self.una;
        let (delivered, lost) = (self.delivered, self.board.lost());
        let Some(measured) = &mut self.measured else { return };
        let then = measured.rate.snapshot(now, delivered, lost, in_flight, idle);
        let order = measured.rack.as_mut().map_or(0, |rack| rack.sent(now, chunk.start, end));
        let run = Run { end, sent_at: now, order, retransmitted: chunk.retransmission, then };
        if chunk.retransmission {
            measured.transmissions.resent(chunk.start, run);
        } else {
            measured.transmissions.sent(run);
        }
        if let Some(undo) = measured.undo.as_mut().filter(|_| chunk.retransmission) {
            undo.retransmitted(now, chunk.start, chunk.payload);
        }
        let Some(rack) = &mut measured.rack else { return };
        if !chunk.retransmission {
            rack.last_start = chunk.start;
            rack.probe_due = false;
            self.plan_probe(now);
        }
        self.set_timer();
    }

    /// Nothing stops the next segment but that there is none.
    #[cold]
    #[inline(never)]
    pub(super) fn mark_application_limited(&mut self) {
        let in_flight = self.pipe();
        if in_flight < self.cwnd && self.unsent() == 0 && self.next_lost().is_none() {
            if let Some(measured) = &mut self.measured {
                measured.rate.limited_by_application(self.delivered, in_flight);
            }
        }
    }

    // ACKs.

    /// An ACK is about to be taken up.
    #[inline(never)]
    pub(super) fn begin_measured_ack(&mut self, a: &Acknowledgment<'_>) {
        let min_rtt = self.rtt.min;
        if let Some(measured) = &mut self.measured {
            measured.first_delivered = None;
        }
        let Some(rack) = self.rack() else { return };
        rack.begin_ack(a.now, min_rtt, a.timestamp_rtt);
    }

    /// Data were delivered. Their round trip is one for the RTO as well where the cumulative ACK gave none: SACKed data that
    /// were sent once are as unambiguous (Karn's rule). `judges`: then losses are looked for.
    #[inline(never)]
    pub(super) fn take_up_delivery(
        &mut self,
        now: Instant,
        judges: bool,
        rtt: &mut Option<Duration>,
        stats: &mut Stats,
    ) {
        let Some(measured) = &self.measured else { return };
        if let (None, Some(sample)) = (*rtt, measured.rate.round_trip(now)) {
            *rtt = Some(sample);
            self.take_rtt(sample, sample, stats);
        }
        if judges {
            self.detect_losses_with_rack(now);
        }
    }

    /// The rate sample of this ACK.
    #[inline(never)]
    pub(super) fn sample_delivery(&mut self, now: Instant, prior_lost: u64) -> Option<Delivery> {
        self.report_losses(now);
        let lost = self.board.lost();
        let (delivered, min_rtt) = (self.delivered, self.rtt.min);
        let measured = self.measured.as_mut()?;
        let sample = measured.rate.sample(now, delivered, lost, lost - prior_lost, min_rtt);
        sample.filter(|_| measured.samples)
    }

    /// Reports each loss to congestion control, if it uses rate samples.
    pub(super) fn report_losses(&mut self, now: Instant) {
        let Some(measured) = self.measured.as_ref().filter(|measured| measured.samples) else { return };
        let marked = self.board.take_journal();
        if marked.is_empty() {
            return;
        }
        let mut pieces: Vec<(u64, u64, Snapshot)> = vec![];
        for (start, end) in marked {
            for (start, end) in self.board.gaps(start.max(self.una), end) {
                let runs = measured.transmissions.within(start, end);
                pieces.extend(runs.map(|(start, end, run)| (start, end, run.then)));
            }
        }
        let together: u64 = pieces.iter().map(|(start, end, _)| end - start).sum();
        let mut lost = self.board.lost().saturating_sub(together);
        for (start, end, then) in pieces {
            lost += end - start;
            self.cc.on_lost(&Lost {
                now,
                start,
                bytes: end - start,
                lost: lost.saturating_sub(then.lost),
                in_flight_when_sent: then.in_flight,
                app_limited: then.app_limited,
                delivered: self.delivered,
            });
        }
        self.refresh();
    }

    /// The ACK has been taken up.
    #[inline(never)]
    pub(super) fn end_measured_ack(
        &mut self,
        a: &Acknowledgment<'_>,
        prior_una: u64,
        duplicate: Option<(u64, u64)>,
    ) {
        self.on_ack_of_probe(a, prior_una, duplicate);
        if !self.recovery.goes_by_time() {
            return;
        }
        let calm = self.phase == Phase::Open && self.board.is_empty();
        if a.ack > prior_una || !calm {
            self.plan_probe(a.now);
        }
        if self.head_restarts_timer && a.ack == prior_una && self.delivers_older_than_head() {
            self.rto_deadline = a.now + self.rtt.rto();
        }
        self.set_timer();
    }
    /// What the ACK SACKs left before the first segment in flight last did: the timer is for that transmission.
    fn delivers_older_than_head(&self) -> bool {
        let Some(measured) = &self.measured else { return false };
        let head = measured.transmissions.within(self.una, self.max).next();
        match (measured.first_delivered, head) {
            (Some(first), Some((_, _, head))) => first < head.sent_at,
            _ => false,
        }
    }
    /// The ACK reports something as received twice.
    #[cold]
    pub(super) fn hear_of_duplicate(&mut self) {
        let (una, max) = (self.una, self.max);
        if let Some(rack) = self.rack() {
            rack.on_dsack(una, max);
        }
    }
    /// Data from `start` on that were taken for lost were late.
    pub(super) fn learn_reordering(&mut self, start: u64) {
        if let Some(rack) = self.rack() {
            rack.on_late_arrival(start);
        }
    }
    /// Section 7.2: no probe while losses are repaired.
    pub(super) fn rack_recovery_begins(&mut self) {
        if let Some(rack) = self.rack() {
            (rack.probe_deadline, rack.probe_due) = (Instant::FAR_FUTURE, false);
        }
    }
    pub(super) fn rack_recovery_ends(&mut self) {
        if let Some(rack) = self.rack() {
            rack.on_recovery_end();
        }
    }
    /// A reduction was for nothing, as timestamps or an order of ACKs show, or D-SACKs.
    pub(super) fn rack_after_undo(&mut self, by_duplicates: bool) {
        let counts = self.undone_recoveries_count;
        if let Some(rack) = self.rack().filter(|_| !counts) {
            rack.on_undo(by_duplicates);
        }
    }

    /// RFC 8985 section 6.2 step 5, RACK_detect_loss(). What was sent first is evaluated first; the timer is for the first
    /// that cannot be evaluated yet.
    pub(super) fn detect_losses_with_rack(&mut self, now: Instant) {
        if self.mark_losses_with_rack(now) && self.phase != Phase::Open && self.rate_reduction.is_none() {
            // RFC 5681 section 4.3: the loss of a retransmission is another indication of congestion. Without it a window too
            // large for the path would be sent and lost again and again in one recovery.
            let flight_size = self.flight_size().min(self.cwnd);
            self.reduce(now, CongestionKind::Loss, flight_size);
        }
    }
    /// True if a retransmission was lost that had left since the last reduction of the window.
    fn mark_losses_with_rack(&mut self, now: Instant) -> bool {
        let many = u64::from(self.duplicate_threshold.saturating_sub(1)) * self.mss;
        let circumstances = Circumstances {
            in_recovery: self.phase != Phase::Open,
            enough_sacked: self.board.sacked() > many
                || self.board.blocks() >= self.duplicate_threshold as usize,
            min_rtt: self.rtt.min,
            srtt: self.rtt.srtt,
        };
        // Until it is known whether the timeout was right, its retransmission is no evidence about what left before it.
        let undecided = self.forward_rto_is_undecided();
        let Some(Measured { transmissions, rack: Some(rack), .. }) = self.measured.as_deref_mut() else {
            return false;
        };
        let mut lost_again = false;
        let window = rack.reordering_window(&circumstances);
        rack.reordering_deadline = Instant::FAR_FUTURE;
        if undecided {
            return false;
        }
        while let Some(first) = rack.earliest() {
            let Some((start, end)) = rack.overtaken_part(&first) else { break };
            let lost_at = rack.lost_at(first.sent_at, window);
            for (start, end, run) in transmissions.within(start, end) {
                if run.order != first.order || self.board.gaps(start, end).next().is_none() {
                    continue; // sent again since then, or SACKed
                }
                if lost_at > now {
                    rack.reordering_deadline = lost_at;
                    return lost_again;
                }
                lost_again |= run.retransmitted && run.sent_at >= self.reduced_at;
                self.board.mark_lost(start, end);
            }
            rack.judged_below(end);
        }
        lost_again
    }

    /// Section 6.3: the first segment, and what was sent so long ago that its ACK is overdue.
    pub(super) fn mark_losses_on_timeout(&mut self, now: Instant) {
        self.board.mark_lost(self.una, (self.una + self.mss).min(self.max));
        let circumstances = Circumstances {
            in_recovery: true,
            enough_sacked: false,
            min_rtt: self.rtt.min,
            srtt: self.rtt.srtt,
        };
        let Some(Measured { transmissions, rack: Some(rack), .. }) = self.measured.as_deref_mut() else {
            return;
        };
        let window = rack.reordering_window(&circumstances);
        rack.reordering_deadline = Instant::FAR_FUTURE;
        for (start, end, run) in transmissions.within(self.una, self.max) {
            if rack.lost_at(run.sent_at, window) <= now {
                self.board.mark_lost(start, end);
            }
        }
    }

    // The probe at the tail (section 7).

    /// Sections 7.2 and 7.4: data are in flight, none of them SACKed, nothing is being repaired, and no probe is out.
    fn plan_probe(&mut self, now: Instant) {
        let quiet = self.phase == Phase::Open && self.max > self.una && self.board.is_empty();
        let (srtt, single, rto) = (self.rtt.srtt, self.flight_size() <= self.mss, self.rto_deadline);
        let max_ack_delay = self.max_ack_delay.filter(|_| single);
        let Some(rack) = self.rack() else { return };
        if quiet && rack.probing && rack.probe.is_none() {
            rack.plan_probe(now, srtt, max_ack_delay, rto);
        } else {
            rack.probe_deadline = Instant::FAR_FUTURE;
        }
    }

    /// The probe, if one is due: a new segment if there is one and the receiver has room, else the last one again. It needs
    /// no room in the congestion window (section 7.3).
    #[cold]
    #[inline(never)]
    pub(super) fn take_tail_probe(
        &mut self,
        limit: Limit,
        segment_size: u64,
        stats: &mut Stats,
    ) -> Option<Chunk> {
        let (una, max) = (self.una, self.max);
        let flight_size = self.flight_size();
        let rack = self.rack()?;
        if !std::mem::take(&mut rack.probe_due) || limit == Limit::Pacing || max == una {
            return None;
        }
        let last_start = rack.last_start.max(una);
        let payload = self.new_payload(segment_size);
        let chunk = if payload > 0 {
            self.new_chunk(payload)
        } else {
            self.piece(last_start, max.min(last_start + segment_size + 1))
        };
        let end = max.max(chunk.start + chunk.payload + u64::from(chunk.fin));
        stats.tail_loss_probes += 1;
        self.rack()?.probe = Some(Probe { end, retransmission: chunk.retransmission, flight_size });
        Some(chunk)
    }

    /// Section 7.4.2, TLP_process_ack(): evaluates an ACK for the outstanding probe.
    fn on_ack_of_probe(&mut self, a: &Acknowledgment<'_>, prior_una: u64, duplicate: Option<(u64, u64)>) {
        let fresh = self.una >= self.reduction_point;
        let Some(rack) = self.rack() else { return };
        let Some(probe) = rack.probe.filter(|probe| a.ack >= probe.end) else { return };
        let both_arrived = duplicate.is_some_and(|duplicate| duplicate.1 == probe.end)
            || (a.bare && a.ack == prior_una && a.sack.is_empty());
        if !probe.retransmission || both_arrived {
            rack.probe = None;
        } else if a.ack > probe.end {
            // The probe has repaired a loss: congestion, as in fast recovery.
            rack.probe = None;
            if fresh && self.phase == Phase::Open {
                self.reduce(a.now, CongestionKind::Loss, probe.flight_size);
            }
        }
    }

    // Timers (section 8): reordering and probe beside the retransmission timer.

    /// The timer of loss recovery is set to what comes first.
    pub(super) fn set_timer(&mut self) {
        if let Some(deadline) = self.rack().map(|rack| rack.next_deadline()) {
            self.recovery_deadline = deadline;
        }
    }

    /// The timer of loss recovery has expired.
    #[cold]
    #[inline(never)]
    pub fn on_recovery_timer(&mut self, now: Instant, stats: &mut Stats, events: &mut Events) {
        let (rto, rto_deadline) = (self.rtt.rto(), self.rto_deadline);
        let Some(rack) = self.rack() else { return };
        let reorders = rack.reordering_deadline <= now;
        if rack.probe_deadline <= now {
            rack.probe_deadline = Instant::FAR_FUTURE;
            rack.probe_due = true;
            self.rto_deadline = now + rto;
        } else if rto_deadline <= now {
            // The retransmission timeout covers this too.
            return;
        }
        if !reorders {
            return self.set_timer();
        }
        let prior_lost = self.board.lost();
        self.detect_losses_with_rack(now);
        if self.phase == Phase::Open {
            self.enter_recovery_if_lost(now, 0, stats, events);
        }
        if self.reducing && self.board.lost() != prior_lost {
            self.reduce_in_proportion(0, false, stats);
        }
        self.report_losses(now);
        self.set_timer();
    }

    /// There has been a retransmission timeout.
    pub(super) fn rack_after_timeout(&mut self, now: Instant) {
        self.report_losses(now);
        if let Some(rack) = self.rack() {
            rack.probe_deadline = Instant::FAR_FUTURE;
            (rack.probe, rack.probe_due) = (None, false);
        }
        self.set_timer();
    }
}
