//! The model of the path (section 5.5): rounds, bandwidth, short-term bounds, and the aggregation of ACKs.

use super::Bbr3;

impl Bbr3 {
    pub(super) fn start_round(&mut self) {
        self.next_round_delivered = self.delivered;
    }
    /// UpdateRound(), section 5.5.1.
    pub(super) fn update_round(&mut self) {
        self.round_start = self.rs.prior_delivered >= self.next_round_delivered;
        if self.round_start {
            self.start_round();
            self.round_count += 1;
            self.rounds_since_probe_up += 1;
            self.cwnd_full = [false, self.cwnd_full[0]];
        }
    }
    /// UpdateMaxBw(), section 5.5.5.
    pub(super) fn update_max_bw(&mut self) {
        self.update_round();
        let rate = self.rs.delivery_rate;
        if rate > 0.0 && (rate >= self.max_bw_filter.max() || !self.rs.app_limited) {
            self.max_bw_filter.update(self.cycle_count, rate);
        }
    }

    /// UpdateLatestDeliverySignals(), section 5.5.10.3.
    pub(super) fn update_latest_delivery_signals(&mut self) {
        self.bw_latest = self.bw_latest.max(self.rs.delivery_rate);
        self.inflight_latest = self.inflight_latest.max(self.rs.delivered);
        self.loss_round_start = self.rs.prior_delivered >= self.loss_round_delivered;
        if self.loss_round_start {
            self.loss_round_delivered = self.delivered;
        }
    }
    pub(super) fn advance_latest_delivery_signals(&mut self) {
        if self.loss_round_start {
            self.bw_latest = self.rs.delivery_rate;
            self.inflight_latest = self.rs.delivered;
        }
    }
    pub(super) fn reset_congestion_signals(&mut self) {
        self.is_loss_in_round = false;
        self.bw_latest = 0.0;
        self.inflight_latest = 0.0;
    }
    /// UpdateCongestionSignals() and AdaptLowerBoundsFromCongestion(): once a round with loss.
    pub(super) fn update_congestion_signals(&mut self) {
        self.update_max_bw();
        if !self.loss_round_start {
            return;
        }
        if self.is_loss_in_round && !self.is_probing_bw() {
            if self.bw_shortterm.is_infinite() {
                self.bw_shortterm = self.max_bw_filter.max();
            }
            if self.inflight_shortterm.is_infinite() {
                self.inflight_shortterm = self.cwnd;
            }
            let beta = self.params.beta;
            self.bw_shortterm = self.bw_latest.max(beta * self.bw_shortterm);
            self.inflight_shortterm = self.inflight_latest.max(beta * self.inflight_shortterm);
        }
        self.is_loss_in_round = false;
    }
    pub(super) fn reset_short_term_model(&mut self) {
        self.bw_shortterm = f64::INFINITY;
        self.inflight_shortterm = f64::INFINITY;
    }

    /// UpdateACKAggregation(), section 5.5.9.
    pub(super) fn update_ack_aggregation(&mut self) {
        let expected = self.bw * self.now.since(self.extra_acked_since).as_secs_f64();
        let mut beyond = expected;
        if self.extra_acked_delivered <= expected {
            self.extra_acked_delivered = 0.0;
            self.extra_acked_since = self.now;
            beyond = 0.0;
        }
        self.extra_acked_delivered += self.rs.newly_acked;
        let extra = (self.extra_acked_delivered - beyond).min(self.cwnd);
        let rounds = if self.full_bw_reached { self.params.extra_acked_window } else { 1 };
        self.extra_acked_filter.update_within(self.round_count, extra, u64::from(rounds));
    }
}
