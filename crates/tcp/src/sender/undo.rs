//! Reductions of the window that prove to be for nothing, and what is done then (RFC 3522, RFC 4015, RFC 5682, RFC 3708).

use super::{Acknowledgment, Chunk, Phase, Sender};
use crate::event::Events;
use crate::undo::{Evidence, ForwardRto, Undo, Verdict};
use crate::{Event, Stats};
use longhaul_cc::{Congestion, CongestionKind};
use longhaul_units::Instant;

/// RFC 5682 section 2.1 step 2 b.
const NEW_SEGMENTS_AFTER_TIMEOUT: u32 = 2;

impl Sender {
    fn undo(&mut self) -> Option<&mut Undo> {
        self.measured.as_mut()?.undo.as_mut()
    }
    fn forward_rto(&self) -> ForwardRto {
        let undo = self.measured.as_ref().and_then(|measured| measured.undo.as_ref());
        undo.and_then(|undo| undo.episode.as_ref()).map_or(ForwardRto::Off, |episode| episode.forward)
    }
    /// A timeout may still prove to be spurious by F-RTO.
    pub(super) fn forward_rto_is_undecided(&self) -> bool {
        self.forward_rto() != ForwardRto::Off
    }
    fn set_forward_rto(&mut self, forward: ForwardRto) {
        if let Some(episode) = self.undo().and_then(|undo| undo.episode.as_mut()) {
            episode.forward = forward;
        }
    }

    /// The window has been reduced.
    pub(super) fn reduction_may_be_spurious(&mut self, forward: ForwardRto) {
        let (una, max) = (self.una, self.max);
        let resent_before = self.a_retransmission_is_out();
        if let Some(undo) = self.undo() {
            undo.begin(una, max, resent_before, forward);
        }
    }
    /// Something that was sent again is neither acknowledged nor SACKed.
    fn a_retransmission_is_out(&self) -> bool {
        let Some(measured) = &self.measured else { return false };
        let mut again =
            measured.transmissions.within(self.una, self.max).filter(|(_, _, run)| run.retransmitted);
        again.any(|(start, end, _)| self.board.gaps(start, end).next().is_some())
    }

    /// A first timeout. True if F-RTO applies (RFC 5682 section 2.1 step 1): nothing was being repaired, and only the first
    /// segment is sent again for now.
    pub(super) fn wait_for_spurious_timeout(&mut self, prior_phase: Phase) -> bool {
        if self.timeouts_in_a_row > 1 {
            // The timer has expired again for the same data: the usual recovery, and no more doubt.
            self.set_forward_rto(ForwardRto::Off);
            return false;
        }
        let Some(undo) = self.undo() else { return false };
        let waits = undo.ways.f_rto && prior_phase == Phase::Open;
        self.reduction_may_be_spurious(if waits { ForwardRto::FirstAck } else { ForwardRto::Off });
        if waits {
            let first = (self.una + self.mss).min(self.max);
            self.recovery.on_doubtful_timeout(&mut self.board, self.una, first);
        }
        waits
    }

    /// RFC 5682 section 2.1 step 2 b: a new segment, whatever the window.
    #[cold]
    #[inline(never)]
    pub(super) fn take_new_segment_after_timeout(&mut self, segment_size: u64) -> Option<Chunk> {
        let ForwardRto::SecondAck { new_segments: 1.. } = self.forward_rto() else { return None };
        let payload = self.new_payload(segment_size);
        if payload == 0 {
            return None;
        }
        if let ForwardRto::SecondAck { new_segments } = self.forward_rto() {
            self.set_forward_rto(ForwardRto::SecondAck { new_segments: new_segments - 1 });
        }
        Some(self.new_chunk(payload))
    }

    /// Evaluates an ACK for evidence about the last reduction, after its data were accounted for and before losses are looked for:
    /// what it shows of the path's order counts there. True if no more is to be taken for lost upon this ACK.
    pub(super) fn reconsider_reduction(
        &mut self,
        a: &Acknowledgment<'_>,
        prior: (u64, Phase),
        newly_sacked: u64,
        duplicate: Option<(u64, u64)>,
        stats: &mut Stats,
        events: &mut Events,
    ) -> bool {
        let (prior_una, prior_phase) = prior;
        let advances = a.ack > prior_una;
        let evidence = Evidence {
            now: a.now,
            advances: advances && prior_phase != Phase::Open,
            acknowledges_all: self.una == self.max,
            echo_age: a.timestamp_rtt,
            duplicate,
        };
        let Some(undo) = self.undo() else { return false };
        let verdict = undo.judge(&evidence);
        // After a timeout all ACKs may have been late.
        if verdict == Verdict::OriginalArrived && prior_phase == Phase::FastRecovery {
            self.learn_reordering(prior_una);
            // Other retransmissions may be of what is lost: on with new data until it is known (Linux: tcp_try_undo_partial).
            if self.phase == Phase::FastRecovery && self.a_retransmission_is_out() {
                return true;
            }
        }
        if verdict != Verdict::Nothing || self.forward_rto_disproves(a, advances, newly_sacked) {
            self.take_back(a.now, verdict == Verdict::AllDuplicates, stats, events);
        }
        false
    }

    /// RFC 5682 section 2.1 steps 2 and 3, with SACK section 3.1. True if the timeout was spurious.
    fn forward_rto_disproves(&mut self, a: &Acknowledgment<'_>, advances: bool, newly_sacked: u64) -> bool {
        let forward = self.forward_rto();
        if forward == ForwardRto::Off {
            return false;
        }
        if self.phase != Phase::AfterTimeout {
            // All that was in flight is acknowledged: no evidence is left.
            self.set_forward_rto(ForwardRto::Off);
            return false;
        }
        let sack = self.recovery.uses_sack();
        match forward {
            // Step 2. With SACK duplicate ACKs may come before the retransmission is answered.
            ForwardRto::FirstAck if advances => {
                if self.new_payload(1) == 0 {
                    self.recover_as_usual(a.now);
                } else {
                    let new_segments = NEW_SEGMENTS_AFTER_TIMEOUT;
                    self.set_forward_rto(ForwardRto::SecondAck { new_segments });
                }
                false
            }
            ForwardRto::FirstAck if sack && newly_sacked > 0 => false,
            // Step 3: data that were sent once are acknowledged.
            ForwardRto::SecondAck { .. } if advances => true,
            ForwardRto::SecondAck { .. } if sack && newly_sacked > 0 && self.sacks_old_data(a) => true,
            _ if a.bare => {
                self.recover_as_usual(a.now);
                false
            }
            _ => false,
        }
    }

    /// A block that lies below what the timeout found in flight.
    fn sacks_old_data(&self, a: &Acknowledgment<'_>) -> bool {
        a.sack.as_slice().iter().any(|block| {
            let end = block.1.expand(a.isn, self.una);
            end.is_some_and(|end| end > self.una && end <= self.recovery_point)
        })
    }

    /// The timeout was right: what it found in flight is lost.
    fn recover_as_usual(&mut self, now: Instant) {
        self.set_forward_rto(ForwardRto::Off);
        self.mark_all_lost_on_timeout(now);
    }

    /// RFC 4015: window and threshold as before, and on with new data.
    fn take_back(&mut self, now: Instant, by_duplicates: bool, stats: &mut Stats, events: &mut Events) {
        if let Some(undo) = self.undo() {
            undo.episode = None;
        }
        stats.reductions_undone += 1;
        events.push(Event::ReductionUndone);
        if self.phase != Phase::Open {
            self.leave_recovery(events);
            self.board.unmark_lost();
            self.duplicate_acks = 0;
        }
        self.rack_after_undo(by_duplicates);
        self.recovery_point = self.una;
        self.reduction_point = self.una;
        let flight_size = self.flight_size();
        self.cc.on_congestion(&Congestion { now, kind: CongestionKind::Spurious, flight_size });
        self.refresh();
    }
}
