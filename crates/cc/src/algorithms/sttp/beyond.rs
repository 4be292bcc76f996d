//! What goes beyond the thesis: trains of data, growth, draining, and a rival's window. Each part is off by default.

use super::contest::Round;
use super::{LEAST_SAFETY_WINDOW, MOST, Rival, Sttp};
use crate::algorithms::cubic::CubicParams;
use crate::algorithms::reno::RenoParams;
use crate::compose::AlgorithmSpec;
use crate::slow_start::standard::StandardParams;
use crate::{Ack, Bytes, InitialWindow, Setup};
use longhaul_units::{Duration, Instant, Limit, Size};

/// Fewer packets than these are no standing queue.
const LEAST_STANDING: f64 = 3.0;
/// Pacing of a rival's window, as Linux paces windows in congestion avoidance.
const RIVAL_PACING: f64 = 1.2;
/// The most that is given up at once while a queue stands.
const MOST_DRAINED: f64 = 0.5;

impl Sttp {
    /// The delay that counts as a standing queue: a share of the base round trip, but some packets' time at least.
    pub(super) fn standing_queue(&self, base: Duration) -> Duration {
        let packets = self.capacity.map_or(0.0, |capacity| LEAST_STANDING / capacity);
        base.mul_f64(self.params.standing).max(Duration::from_secs_f64(packets.min(1e3)))
    }

    /// A train has shown the bottleneck's rate. The first one is where the connection begins: packets of full length, whose ACKs
    /// no return link spreads, measure better than small probes, and the passive end has sent none. After that rho moves
    /// towards it by the weights, upwards only where no queue stands, and at most to twice of what it is.
    pub(super) fn on_train(&mut self, now: Instant, rate: f64) {
        self.capacity = Some(rate);
        let first = !std::mem::replace(&mut self.has_measured, true);
        let rho = self.bucket.rho();
        if first {
            return self.begin(now, rate.clamp(self.least_rho(), MOST), self.srtt);
        }
        if self.rival.is_none() && (rate < rho || !self.level.stands()) {
            let aim = rate.min(2.0 * rho);
            let factor = (1.0 - self.params.w_new) + self.params.w_new * aim / rho;
            self.scale(now, factor);
        }
    }

    /// A round trip is over: grow into a free path, drain a queue that stands, contend for one that others fill.
    pub(super) fn on_round(&mut self, ack: &Ack, round: Round) {
        let rho = self.bucket.rho();
        match round {
            Round::Free(rounds) if self.rival.is_some() => {
                if rounds >= self.params.patience {
                    self.rival = None;
                }
            }
            Round::Standing(..) if self.rival.is_some() => {}
            Round::Free(_) => {
                if self.params.grow > 0.0 && !ack.app_limited && !ack.in_recovery {
                    let capacity = self.capacity.unwrap_or(rho);
                    // Many flows on one path grow by less in all than by a step each, and the small ones by more than their share.
                    let step = self.params.grow * (rho * capacity).sqrt();
                    self.scale(ack.now, (rho + step) / rho);
                }
            }
            Round::Standing(rounds, queue) => {
                if rounds == 1 {
                    self.rho_before_draining = rho;
                }
                if self.params.rival != Rival::None && rounds >= self.params.patience {
                    self.contend(ack);
                } else if self.params.drain > 0.0 && rounds % 2 == 1 {
                    // What a cut does is seen a round trip later: every other round. A flow too many fills the queue to its share
                    // of the round trip, and that is what all of them give up.
                    let share = queue.as_secs_f64() / (ack.min_rtt + queue).as_secs_f64();
                    self.scale(
                        ack.now,
                        1.0 - share.clamp(self.params.drain, MOST_DRAINED.max(self.params.drain)),
                    );
                }
            }
        }
    }

    /// Others fill the queue: from now on a window as theirs sets the rate, beginning with what was given up for nothing.
    fn contend(&mut self, ack: &Ack) {
        if self.params.rival == Rival::None {
            return;
        }
        let rho = self.bucket.rho().max(self.rho_before_draining);
        let window = (rho * ack.srtt.as_secs_f64()).max(LEAST_SAFETY_WINDOW) * self.mss;
        let setup = Setup {
            mss: self.mss as Bytes,
            initial_window: InitialWindow::Bytes(window as Bytes),
            initial_ssthresh: Some(Limit::Bytes(Size::from_bytes(window as Bytes))),
            ..Setup::default()
        };
        let slow_start = StandardParams::default();
        self.rival = match self.params.rival {
            Rival::None => None,
            Rival::Reno => Some(RenoParams::default().policy(&slow_start, &setup)),
            Rival::Cubic => Some(CubicParams::default().policy(&slow_start, &setup)),
        };
    }

    pub(super) fn follow_rival(&mut self, ack: &Ack) {
        if let Some(rival) = &mut self.rival {
            rival.on_ack(ack);
            self.take_rivals_rate(ack.now);
        }
    }
    /// rho = window / srtt, and a little more, so that the window is the limit.
    pub(super) fn take_rivals_rate(&mut self, now: Instant) {
        let Some(rival) = &self.rival else { return };
        let srtt = self.srtt.as_secs_f64();
        if srtt > 0.0 {
            let rho = RIVAL_PACING * rival.window() as f64 / self.mss / srtt;
            self.set(now, rho * self.horizon, rho);
        }
    }
}
