//! The retransmission timer (RFC 6298 section 5, RFC 6675 section 5.1) and the persist timer (RFC 9293 section 3.8.6.1).

use super::{Phase, Sender};
use crate::event::Events;
use crate::{Event, Stats};
use longhaul_cc::CongestionKind;
use longhaul_units::Instant;

impl Sender {
    /// The retransmission timer has expired (RFC 6298 section 5.4 to 5.6, RFC 6675 section 5.1). False: give up.
    #[must_use]
    pub fn on_retransmission_timeout(
        &mut self,
        now: Instant,
        stats: &mut Stats,
        events: &mut Events,
    ) -> bool {
        self.rto_deadline = Instant::FAR_FUTURE;
        if self.max == self.una {
            self.rack_after_timeout(now);
            return true;
        }
        // Where the window has been closed over data in flight, the retransmissions are its probes, and no answered one counts
        // towards giving up (RFC 9293 section 3.8.6: SHLD-17, MUST-35, MUST-37).
        let refused = self.window_is_closed();
        let gives_up = if refused {
            self.peer_is_silent(now)
        } else {
            self.timeouts_in_a_row >= self.max_retransmissions || self.user_timeout_is_over(now)
        };
        if gives_up {
            return false;
        }
        self.unanswered_probes += u32::from(refused);
        self.timeouts_in_a_row += 1;
        stats.timeouts += 1;
        let flight_size = self.flight_size();
        events.push(Event::Timeout { lost: self.una - 1, flight_size, backoff: self.timeouts_in_a_row });
        // RFC 5681 section 3.1: ssthresh is set once, not at each back-off.
        if self.timeouts_in_a_row == 1 {
            let mut in_network = flight_size - self.limited_transmitted.min(flight_size);
            // In recovery FlightSize goes on counting what has long arrived or is lost, and would raise ssthresh; what
            // the window allows is the better measure (as in 4.4BSD).
            if self.phase != Phase::Open {
                in_network = in_network.min(self.target_window());
            }
            self.end_rate_reduction();
            self.reduce(now, CongestionKind::Timeout, in_network);
        } else if self.cc.on_back_off(now) {
            self.refresh();
        }
        if self.board.reneged() {
            stats.reneging += 1;
            self.board.clear();
        } else if self.clear_sack_on_timeout || self.recovery.forgets_on_timeout() {
            self.board.clear();
        }
        let prior_phase = std::mem::replace(&mut self.phase, Phase::AfterTimeout);
        self.recovery_point = self.max;
        self.duplicate_acks = 0;
        self.inflation = 0;
        self.limited_transmitted = 0;
        self.retransmit_now = true;
        if !self.wait_for_spurious_timeout(prior_phase) {
            self.mark_all_lost_on_timeout(now);
        }
        self.rtt.back_off();
        self.rto_deadline = now + self.rtt.rto();
        self.rack_after_timeout(now);
        true
    }

    /// Marks what a timeout declares lost: by time, what is overdue; else all that is not SACKed.
    pub(super) fn mark_all_lost_on_timeout(&mut self, now: Instant) {
        if self.recovery.goes_by_time() {
            self.mark_losses_on_timeout(now);
        } else {
            self.recovery.on_timeout(&mut self.board, self.recovery_point);
        }
    }

    /// RFC 9293 section 3.8.6.1: the window has been closed for long. False: the peer has fallen silent, give up.
    #[must_use]
    pub fn on_persist_timeout(&mut self, now: Instant) -> bool {
        if self.peer_is_silent(now) {
            return false;
        }
        self.unanswered_probes += 1;
        self.persist_interval = self.persist_interval.saturating_mul(2).min(self.max_rto);
        self.persist_deadline = now + self.persist_interval;
        if self.window_edge > self.max {
            self.send_small = true;
            self.unpushed = false;
        } else {
            self.probe_due = true;
        }
        true
    }
    /// What is in flight, if anything is, lies beyond the peer's window.
    pub(super) fn window_is_closed(&self) -> bool {
        self.window_edge <= self.una
    }
    fn user_timeout_is_over(&self, now: Instant) -> bool {
        self.user_timeout.is_some_and(|limit| now.since(self.last_progress) >= limit)
    }
    /// Too many probes of a closed window, or those of too long a time, have not been answered.
    fn peer_is_silent(&self, now: Instant) -> bool {
        self.unanswered_probes >= self.max_retransmissions
            || (self.unanswered_probes > 0 && self.user_timeout_is_over(now))
    }
    /// The window that the timer's retransmissions have probed is open again: what it refused is sent again now, and the
    /// back-off, which was the interval between probes, is over.
    #[cold]
    pub(super) fn on_window_reopened(&mut self, now: Instant, ack: u64) {
        self.last_progress = now;
        self.timeouts_in_a_row = 1;
        self.rtt.end_back_off();
        if ack == self.una {
            self.rto_deadline = now + self.rtt.rto();
            self.retransmit_now = true;
            self.mark_all_lost_on_timeout(now);
        }
    }
    pub(super) fn start_persisting(&mut self, now: Instant) {
        if self.persist_deadline == Instant::FAR_FUTURE {
            self.last_progress = now;
            self.persist_interval = self.rtt.rto();
            self.persist_deadline = now + self.persist_interval;
        }
    }
    pub(super) fn stop_persisting(&mut self) {
        self.persist_deadline = Instant::FAR_FUTURE;
        self.probe_due = false;
        self.send_small = false;
    }
    #[inline]
    pub fn probe_is_due(&self) -> bool {
        self.probe_due
    }
    /// Where the probe stands and what it carries, if one is due: the next byte, or nothing.
    pub fn take_probe(&mut self) -> Option<(u64, u32)> {
        if !std::mem::take(&mut self.probe_due) || self.max != self.una || self.max >= self.data_end {
            return None;
        }
        if self.empty_probes {
            return Some((self.una - 1, 0));
        }
        self.probe_outstanding = true;
        Some((self.max, 1))
    }
    #[cold]
    pub(super) fn on_probe_answer(&mut self, now: Instant, ack: u64) {
        self.unanswered_probes = 0;
        self.last_progress = now;
        if ack > self.max {
            self.max = ack;
            self.probe_outstanding = false;
        }
    }
    /// Silly window avoidance on the sending side lets something go.
    pub(super) fn usable_is_worthwhile(&self) -> bool {
        let usable = self.window_edge.saturating_sub(self.max);
        usable >= self.mss || usable >= self.max_window / 2 || usable >= self.unsent()
    }
}
