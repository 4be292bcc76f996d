//! Losses (section 5.5.10), and what is restored if they prove to be for nothing (section 5.5.11).

use super::{Bbr3, State, UndoState};

impl Bbr3 {
    /// NoteLoss().
    pub(super) fn note_loss(&mut self) {
        if !self.is_loss_in_round {
            self.loss_round_delivered = self.delivered;
            self.save_state_upon_loss();
        }
        self.is_loss_in_round = true;
    }
    pub(super) fn is_inflight_too_high(&self) -> bool {
        self.rs.lost > self.rs.tx_in_flight * self.params.loss_threshold
    }
    pub(super) fn handle_inflight_too_high(&mut self) {
        self.prev_probe_too_high = true;
        self.is_bw_probe_sample = false;
        if !self.rs.app_limited {
            let least = self.target_inflight() * self.params.beta;
            self.inflight_longterm = self.rs.tx_in_flight.max(least);
        }
        if self.state == State::Up {
            self.undo.state = Some(State::Up);
            self.start_down();
        }
    }
    /// InflightAtLoss(P): where within the lost data the losses exceeded the threshold.
    pub(super) fn inflight_at_loss(&self, size: f64) -> f64 {
        let threshold = self.params.loss_threshold;
        let inflight_prev = self.rs.tx_in_flight - size;
        let lost_prev = self.rs.lost - size;
        inflight_prev + (threshold * inflight_prev - lost_prev) / (1.0 - threshold)
    }

    /// SaveStateUponLoss(), section 5.5.11.1.
    pub(super) fn save_state_upon_loss(&mut self) {
        self.save_cwnd();
        self.undo = UndoState {
            state: None,
            bw_shortterm: self.bw_shortterm,
            inflight_shortterm: self.inflight_shortterm,
            inflight_longterm: self.inflight_longterm,
        };
    }
    /// HandleSpuriousLossDetection(), section 5.5.11.2.
    pub(super) fn handle_spurious_loss(&mut self) {
        self.in_recovery = false;
        self.restore_cwnd();
        self.is_loss_in_round = false;
        self.reset_full_bw();
        self.bw_shortterm = self.bw_shortterm.max(self.undo.bw_shortterm);
        self.inflight_shortterm = self.inflight_shortterm.max(self.undo.inflight_shortterm);
        self.inflight_longterm = self.inflight_longterm.max(self.undo.inflight_longterm);
        match self.undo.state.take() {
            Some(State::Startup) if self.state != State::Startup => {
                self.full_bw_reached = false;
                if self.state != State::ProbeRtt {
                    self.state = State::Startup;
                }
            }
            Some(State::Up) if !matches!(self.state, State::Up | State::ProbeRtt) => self.start_refill(),
            _ => {}
        }
    }
}
