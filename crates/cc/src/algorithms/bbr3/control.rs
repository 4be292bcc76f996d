//! Control of pacing and window (section 5.6), and the volumes that it goes by.

use super::{Bbr3, State};

/// Gains in ProbeBW (section 5.6.1, the table).
const DOWN_PACING_GAIN: f64 = 0.9;
const UP_PACING_GAIN: f64 = 1.25;
const UP_CWND_GAIN: f64 = 2.25;

impl Bbr3 {
    /// BBR.pacing_gain (section 5.6.1).
    pub(super) fn pacing_gain(&self) -> f64 {
        match self.state {
            State::Startup => self.params.startup_pacing_gain,
            State::Drain => self.params.drain_pacing_gain,
            State::Down => DOWN_PACING_GAIN,
            State::Up => UP_PACING_GAIN,
            State::Cruise | State::Refill | State::ProbeRtt => 1.0,
        }
    }
    /// BBR.cwnd_gain (section 5.6.1).
    pub(super) fn cwnd_gain(&self) -> f64 {
        match self.state {
            State::Up => UP_CWND_GAIN,
            State::ProbeRtt => self.params.probe_rtt_cwnd_gain,
            _ => self.params.cwnd_gain,
        }
    }

    /// BDPMultiple(gain) at a rate.
    pub(super) fn bdp_multiple(&self, bw: f64, gain: f64) -> f64 {
        self.min_rtt.map_or(self.initial_window, |min_rtt| gain * bw * min_rtt.as_secs_f64())
    }
    /// C.send_quantum (section 5.6.3). Pacing here is by segments; the quantum only makes room in the window.
    pub(super) fn send_quantum(&self) -> f64 {
        (self.pacing_rate * 1e-3).min(65_536.0).max(2.0 * self.mss)
    }
    pub(super) fn quantization_budget(&self, inflight_cap: f64) -> f64 {
        let cap = inflight_cap.max(3.0 * self.send_quantum()).max(self.least_window());
        if self.state == State::Up { cap + 2.0 * self.mss } else { cap }
    }
    pub(super) fn inflight(&self, bw: f64, gain: f64) -> f64 {
        self.quantization_budget(self.bdp_multiple(bw, gain))
    }
    pub(super) fn inflight_with_headroom(&self) -> f64 {
        if self.inflight_longterm.is_infinite() {
            return f64::INFINITY;
        }
        let headroom = (self.params.headroom * self.inflight_longterm).max(self.mss);
        (self.inflight_longterm - headroom).max(self.least_window())
    }
    /// TargetInflight(): the estimated bandwidth-delay product, unless congestion has cut the window.
    pub(super) fn target_inflight(&self) -> f64 {
        self.bdp_multiple(self.bw, 1.0).min(self.cwnd)
    }

    /// SetPacingRateWithGain().
    pub(super) fn set_pacing_rate(&mut self, gain: f64) {
        let rate = gain * self.bw * (1.0 - self.params.pacing_margin);
        if rate > 0.0 && (self.full_bw_reached || rate > self.pacing_rate) {
            self.pacing_rate = rate;
        }
    }
    /// SetCwnd(), BoundCwndForProbeRTT(), BoundCwndForModel().
    pub(super) fn set_cwnd(&mut self) {
        let cap = self.bdp_multiple(self.bw, self.cwnd_gain()) + self.extra_acked_filter.max();
        let max_inflight = self.quantization_budget(cap);
        if self.full_bw_reached {
            self.cwnd = (self.cwnd + self.rs.newly_acked).min(max_inflight);
        } else if self.cwnd < max_inflight || (self.delivered as f64) < self.initial_window {
            self.cwnd += self.rs.newly_acked;
        }
        self.cwnd = self.cwnd.max(self.least_window());
        if self.state == State::ProbeRtt {
            self.cwnd = self.cwnd.min(self.probe_rtt_cwnd());
        }
        let longterm = match self.state {
            State::Down | State::Refill | State::Up => self.inflight_longterm,
            State::ProbeRtt | State::Cruise => self.inflight_with_headroom(),
            State::Startup | State::Drain => f64::INFINITY, // (d)
        };
        self.cwnd = self.cwnd.min(longterm.min(self.inflight_shortterm).max(self.least_window()));
    }
    /// SaveCwnd() and RestoreCwnd(), section 5.6.4.4.
    pub(super) fn save_cwnd(&mut self) {
        let held_down = self.in_recovery || self.state == State::ProbeRtt;
        self.prior_cwnd = if held_down { self.prior_cwnd.max(self.cwnd) } else { self.cwnd };
    }
    pub(super) fn restore_cwnd(&mut self) {
        self.cwnd = self.cwnd.max(self.prior_cwnd);
    }
}
