//! The middle of a bulk transfer, where nothing is missing: an ACK moves the window on and lets one segment go. The effect is
//! that of the full procedures ([`Sender::on_ack`], [`Sender::next_segment`]), of which the steps are left out that would find
//! nothing.

use super::acknowledgment::Report;
use super::{Phase, Sender};
use crate::{Limit, Stats};
use longhaul_units::Instant;

/// What is to be sent after an ACK in the middle of a bulk transfer.
pub(crate) enum Bulk {
    /// A full segment from this offset on. Nothing follows it if there is a limit.
    Segment(u64, Option<Limit>),
    /// Nothing, for this reason.
    Nothing(Limit),
    /// The full procedure is needed, and nothing was done.
    Unclear,
}

impl Sender {
    /// Nothing is missing or measured by the segment, no probe or timeout is open: an ACK of new data without SACK blocks and
    /// echoes only moves the window on.
    #[inline(always)]
    pub fn is_undisturbed(&self) -> bool {
        self.is_orderly()
            && !(self.probe_outstanding || self.reducing)
            && (self.unanswered_probes | self.timeouts_in_a_row) == 0
            && self.sacked_unreported == 0
            && self.measured.is_none()
            && self.ack_congestion.is_none()
    }

    /// What is left of [`Sender::on_ack`] then, for an ACK of new data at `ack` that moves the peer's window to `edge`.
    #[inline(always)]
    pub fn move_on(&mut self, now: Instant, ack: u64, edge: u64, stats: &mut Stats) {
        let (prior_una, prior_in_flight) = (self.una, self.flight_size());
        self.update_window(ack, edge);
        let advanced = ack - prior_una;
        self.una = ack;
        self.board.acknowledge(ack);
        let rtt = self.measure(now, ack, None, prior_una, stats);
        self.limited_transmitted = 0;
        self.last_progress = now;
        self.more_follows = false;
        self.rto_deadline = if ack == self.max { Instant::FAR_FUTURE } else { now + self.rtt.rto() };
        self.delivered += advanced;
        self.tell_congestion_control(&Report {
            now,
            prior_una,
            prior_in_flight,
            prior_phase: Phase::Open,
            newly_acked: advanced,
            rtt,
            delivery: None,
            counts: true,
        });
    }

    /// What [`Sender::next_segment`] gives after [`Sender::move_on`], and again after that, if it is plain.
    #[inline(always)]
    pub fn next_in_bulk(&mut self, now: Instant, stats: &mut Stats) -> Bulk {
        let (mss, start, in_flight) = (self.mss, self.max, self.flight_size());
        let edge = self.data_end.min(self.window_edge).min(self.buffer_edge());
        let plain = in_flight > 0
            && edge.saturating_sub(start) >= 2 * mss
            && self.pacer.rate.is_none()
            && self.burst_left > 0
            && self.record_ends.is_none()
            && !self.tells_of_sending;
        if !plain {
            return Bulk::Unclear;
        }
        if in_flight + mss > self.cwnd {
            return Bulk::Nothing(self.note_limit(Limit::Cwnd));
        }
        let end = start + mss;
        stats.data_segments_sent += 1;
        stats.data_bytes_sent += mss;
        self.max = end;
        self.log.sent(end, now);
        self.send_small = false;
        self.persist_deadline = Instant::FAR_FUTURE;
        self.pacing_deadline = Instant::FAR_FUTURE;
        self.last_sent = now;
        self.burst_left -= 1;
        let full = in_flight + 2 * mss > self.cwnd;
        Bulk::Segment(start, full.then(|| self.note_limit(Limit::Cwnd)))
    }
}
