//! Startup and Drain (sections 5.3.1 and 5.3.2).

use super::{Bbr3, State};

/// Section 5.3.1.2: less growth than this in so many rounds means that the pipe is full.
const FULL_BW_GROWTH: f64 = 1.25;
const FULL_BW_ROUNDS: u32 = 3;
/// Rounds after which Drain ends in any case (section 5.3.2).
const DRAIN_ROUNDS: u64 = 3;

impl Bbr3 {
    pub(super) fn reset_full_bw(&mut self) {
        self.full_bw = 0.0;
        self.full_bw_count = 0;
        self.full_bw_now = false;
    }
    /// CheckFullBWReached().
    pub(super) fn check_full_bw_reached(&mut self) {
        if self.full_bw_now || !self.round_start || self.rs.app_limited {
            return;
        }
        if self.rs.delivery_rate >= self.full_bw * FULL_BW_GROWTH {
            self.reset_full_bw();
            self.full_bw = self.rs.delivery_rate;
            return;
        }
        self.full_bw_count += 1;
        self.full_bw_now = self.full_bw_count >= FULL_BW_ROUNDS;
        self.full_bw_reached |= self.full_bw_now;
    }
    /// CheckStartupDone() with CheckStartupHighLoss(), (c).
    pub(super) fn check_startup_done(&mut self) {
        if self.state == State::Startup && !self.full_bw_reached && self.loss_round_start {
            let many = self.loss_ranges >= self.params.startup_loss_ranges;
            if self.in_recovery && many && self.is_inflight_too_high() {
                self.undo.state = Some(State::Startup);
                self.full_bw_reached = true;
                self.full_bw_now = true;
                self.inflight_longterm = self.bdp_multiple(self.bw, 1.0).max(self.inflight_latest);
            }
        }
        if self.loss_round_start {
            self.loss_ranges = 0;
        }
        if self.state == State::Startup && self.full_bw_reached {
            self.state = State::Drain;
            self.drain_start_round = self.round_count;
        }
    }
    /// CheckDrainDone().
    pub(super) fn check_drain_done(&mut self) {
        let drained = self.in_flight <= self.inflight(self.bw, 1.0);
        if self.state == State::Drain && (drained || self.round_count > self.drain_start_round + DRAIN_ROUNDS)
        {
            self.start_down();
        }
    }
}
