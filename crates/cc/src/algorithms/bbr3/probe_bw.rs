//! ProbeBW: the cycle that probes for bandwidth (section 5.3.3).

use super::{AckPhase, Bbr3, State};
use longhaul_units::Duration;

/// The most that bw_probe_up_rounds counts to.
const MOST_UP_ROUNDS: u32 = 30;

impl Bbr3 {
    pub(super) fn start_down(&mut self) {
        self.reset_congestion_signals();
        self.probe_up_acked_per_inc = f64::INFINITY;
        self.pick_probe_wait();
        self.cycle_stamp = self.now;
        self.ack_phase = AckPhase::ProbeStopping;
        self.start_round();
        self.state = State::Down;
    }
    pub(super) fn start_refill(&mut self) {
        self.reset_short_term_model();
        self.bw_probe_up_rounds = 0;
        self.bw_probe_up_acked = 0.0;
        self.prev_probe_precautionary = false;
        self.ack_phase = AckPhase::Refilling;
        self.start_round();
        self.state = State::Refill;
    }
    pub(super) fn start_up(&mut self) {
        self.ack_phase = AckPhase::ProbeStarting;
        self.start_round();
        self.reset_full_bw();
        self.full_bw = self.rs.delivery_rate;
        self.state = State::Up;
        self.raise_inflight_longterm_slope();
    }

    /// UpdateProbeBWCyclePhase().
    pub(super) fn update_probe_bw_cycle_phase(&mut self) {
        if !self.full_bw_reached || self.adapt_long_term_model() {
            return;
        }
        if self.state == State::Up {
            if self.is_time_to_go_down() {
                self.prev_probe_too_high = false;
                self.start_down();
            }
            return;
        }
        match self.state {
            State::Down | State::Cruise if self.is_time_to_probe_bw() => self.start_refill(),
            State::Down if self.is_time_to_cruise() => self.state = State::Cruise,
            State::Refill if self.round_start => {
                self.is_bw_probe_sample = true;
                self.start_up();
            }
            _ => {}
        }
    }
    pub(super) fn is_time_to_cruise(&self) -> bool {
        self.in_flight <= self.inflight_with_headroom()
            && self.in_flight <= self.inflight(self.max_bw_filter.max(), 1.0)
    }
    pub(super) fn is_time_to_go_down(&mut self) -> bool {
        if self.prev_probe_too_high && self.in_flight >= self.inflight_longterm {
            self.prev_probe_precautionary = true;
            return true;
        }
        if self.is_cwnd_limited() && self.cwnd >= self.inflight_longterm {
            self.reset_full_bw();
            self.full_bw = self.rs.delivery_rate;
            return false;
        }
        self.full_bw_now
    }
    /// IsTimeToProbeBW(), section 5.3.3.6.3.
    pub(super) fn is_time_to_probe_bw(&self) -> bool {
        let reno_rounds = (self.target_inflight() / self.mss).min(f64::from(self.params.probe_rounds));
        self.now > self.cycle_stamp + self.bw_probe_wait || self.rounds_since_probe_up as f64 >= reno_rounds
    }
    /// PickProbeWait(): two to three seconds, and nought or one round trip off the bound.
    pub(super) fn pick_probe_wait(&mut self) {
        self.rounds_since_probe_up = self.draws.bits() & 1;
        let share = (self.draws.bits() >> 11) as f64 / (1u64 << 53) as f64;
        self.bw_probe_wait = self.params.probe_wait + Duration::from_secs_f64(share);
    }
    pub(super) fn raise_inflight_longterm_slope(&mut self) {
        let growth_this_round = (1u64 << self.bw_probe_up_rounds) as f64;
        self.bw_probe_up_rounds = (self.bw_probe_up_rounds + 1).min(MOST_UP_ROUNDS);
        self.probe_up_acked_per_inc = (self.cwnd / growth_this_round).max(self.mss);
    }
    pub(super) fn probe_inflight_longterm_upward(&mut self) {
        if !self.is_cwnd_limited() || self.cwnd < self.inflight_longterm {
            return;
        }
        self.bw_probe_up_acked += self.rs.newly_acked;
        if self.bw_probe_up_acked >= self.probe_up_acked_per_inc {
            let delta = (self.bw_probe_up_acked / self.probe_up_acked_per_inc).floor();
            self.bw_probe_up_acked -= delta * self.probe_up_acked_per_inc;
            self.inflight_longterm += delta * self.mss;
        }
        if self.round_start {
            self.raise_inflight_longterm_slope();
        }
    }
    /// AdaptLongTermModel(): true if it decided a state.
    pub(super) fn adapt_long_term_model(&mut self) -> bool {
        if self.ack_phase == AckPhase::ProbeStarting && self.round_start {
            self.ack_phase = AckPhase::ProbeFeedback;
        }
        if self.ack_phase == AckPhase::ProbeStopping && self.round_start {
            self.is_bw_probe_sample = false;
            self.ack_phase = AckPhase::Init;
            if self.in_probe_bw() && !self.rs.app_limited {
                self.cycle_count += 1; // AdvanceMaxBwFilter()
            }
            if self.in_probe_bw() && self.prev_probe_precautionary && !self.prev_probe_too_high {
                self.start_refill();
                return true;
            }
        }
        if !self.is_inflight_too_high() && self.inflight_longterm.is_finite() {
            self.inflight_longterm = self.inflight_longterm.max(self.rs.tx_in_flight);
            if self.state == State::Up {
                self.probe_inflight_longterm_upward();
            }
        }
        false
    }
}
