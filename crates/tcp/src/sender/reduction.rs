//! The window while it comes down in proportion to what is delivered (RFC 9937): from the start of a recovery, or from an ECN
//! echo, until its end it is not congestion control's window that bounds what is sent, but what the last ACK or timer allowed.

use super::Sender;
use crate::Stats;
use crate::prr::{Progress, ProportionalRateReduction};

impl Sender {
    /// The window has been reduced, upon an ACK that delivered so much, or upon a timer.
    pub(super) fn begin_rate_reduction(&mut self, delivered: u64, stats: &Stats) {
        let Some(bound) = self.rate_reduction.filter(|_| self.recovery.uses_sack()) else { return };
        // RecoverFS: what was SACKed before will not be delivered from now on (RFC 9937 section 6.1).
        let outstanding = self.flight_size() - self.board.sacked();
        let sent = stats.data_bytes_sent;
        self.prr = Some(ProportionalRateReduction::new(bound, outstanding + delivered, sent, self.cwnd));
        self.reducing = true;
        self.reduce_in_proportion(0, false, stats);
    }

    /// Congestion control's window counts again.
    #[cold]
    #[inline(never)]
    pub(super) fn end_rate_reduction(&mut self) {
        self.reducing = false;
        self.prr = None;
    }

    /// RFC 9937 section 6.2: so much has been delivered, or more was found lost. `safe`: SND.UNA has advanced and nothing more
    /// is lost.
    #[cold]
    #[inline(never)]
    pub(super) fn reduce_in_proportion(&mut self, delivered: u64, safe: bool, stats: &Stats) {
        let (pipe, mss, sent) = (self.pipe(), self.mss, stats.data_bytes_sent);
        if let Some(prr) = &mut self.prr {
            prr.advance(&Progress { delivered, pipe, sent, mss, safe });
            self.cwnd = prr.window();
        }
    }

    /// Congestion control's window has become `target`. Returns the one that counts.
    #[cold]
    #[inline(never)]
    pub(super) fn reduced_window(&mut self, target: u64) -> u64 {
        let Some(prr) = &mut self.prr else { return target };
        prr.target = target;
        prr.window()
    }

    /// The window that congestion control has chosen.
    pub(super) fn target_window(&self) -> u64 {
        self.prr.as_ref().map_or(self.cwnd, |prr| prr.target)
    }
}
