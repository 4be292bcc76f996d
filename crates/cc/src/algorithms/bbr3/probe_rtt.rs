//! ProbeRTT: the smallest round trip (section 5.3.4).

use super::{AckPhase, Bbr3, State};
use crate::Bytes;

impl Bbr3 {
    /// UpdateMinRTT().
    pub(super) fn update_min_rtt(&mut self) {
        self.probe_rtt_expired = self.now > self.probe_rtt_min_stamp + self.params.probe_rtt_interval;
        if let Some(rtt) = self.rs.rtt {
            if self.probe_rtt_expired || self.probe_rtt_min_delay.is_none_or(|least| rtt < least) {
                self.probe_rtt_min_delay = Some(rtt);
                self.probe_rtt_min_stamp = self.now;
            }
        }
        let min_rtt_expired = self.now > self.min_rtt_stamp + self.params.min_rtt_window;
        if let Some(delay) = self.probe_rtt_min_delay {
            if min_rtt_expired || self.min_rtt.is_none_or(|least| delay < least) {
                self.min_rtt = Some(delay);
                self.min_rtt_stamp = self.probe_rtt_min_stamp;
            }
        }
    }
    /// CheckProbeRTT().
    pub(super) fn check_probe_rtt(&mut self) {
        if self.state != State::ProbeRtt && self.probe_rtt_expired && !self.idle_restart {
            self.save_cwnd();
            self.state = State::ProbeRtt;
            self.held_back.0 = self.delivered;
            self.probe_rtt_done_stamp = None;
            self.ack_phase = AckPhase::ProbeStopping;
            self.start_round();
        }
        if self.state == State::ProbeRtt {
            self.handle_probe_rtt();
        }
        if self.rs.delivered > 0.0 {
            self.idle_restart = false;
        }
    }
    /// HandleProbeRTT().
    pub(super) fn handle_probe_rtt(&mut self) {
        // MarkConnectionAppLimited(): low rates do not count.
        self.held_back.1 = self.delivered + self.in_flight as Bytes;
        if self.probe_rtt_done_stamp.is_none() {
            if self.in_flight <= self.probe_rtt_cwnd() {
                self.probe_rtt_done_stamp = Some(self.now + self.params.probe_rtt_duration);
                self.probe_rtt_round_done = false;
                self.start_round();
            }
            return;
        }
        self.probe_rtt_round_done |= self.round_start;
        if self.probe_rtt_round_done {
            self.check_probe_rtt_done();
        }
    }
    /// CheckProbeRTTDone() and ExitProbeRTT().
    pub(super) fn check_probe_rtt_done(&mut self) {
        if self.probe_rtt_done_stamp.is_none_or(|done| self.now <= done) {
            return;
        }
        self.probe_rtt_min_stamp = self.now;
        self.restore_cwnd();
        self.reset_short_term_model();
        if self.full_bw_reached {
            self.start_down();
            self.state = State::Cruise;
        } else {
            self.state = State::Startup;
        }
    }
    pub(super) fn probe_rtt_cwnd(&self) -> f64 {
        self.bdp_multiple(self.bw, self.params.probe_rtt_cwnd_gain).max(self.least_window())
    }
}
