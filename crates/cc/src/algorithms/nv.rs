//! TCP-NV (New Vegas; L. Brakmo; `tcp_nv.c` of Linux): once in a round trip the window is compared with what the largest rate of that
//! time would fill at the least round trip, plus some packets of room. Without its special handling of segmentation offload.

use crate::compose::{AlgorithmSpec, Compose};
use crate::draws::Draws;
use crate::params::Spec;
use crate::policy::keep;
use crate::settings::{Deserialize, JsonSchema, Serialize};
use crate::{Ack, Avoidance, Congestion, CongestionControl, CongestionKind, Cut, Inspection, Setup, Window};
use longhaul_units::{Duration, Instant};

/// Parameters of [`Nv`].
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct NvParams {
    /// nv_pad: packets that may wait.
    #[schemars(extend("minimum" = 0, "maximum" = 100_000, "x-unit" = "segments"))]
    pub pad: f64,
    /// nv_pad_buffer: the window grows no more when it is so near to the most.
    #[schemars(extend("minimum" = 0, "maximum" = 100_000, "x-unit" = "segments"))]
    pub pad_buffer: f64,
    /// nv_reset_period: how long a least round trip counts, on the mean.
    #[schemars(extend("x-exclusiveMinimum" = "0 s", "x-maximum" = "1 h"))]
    pub reset_period: Duration,
    /// nv_cong_dec_mult: share of what is too much that one decision takes off.
    #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 1, "x-unit" = "share of the excess"))]
    pub decrease: f64,
    /// nv_loss_dec_factor: what is left of the window upon loss.
    #[schemars(extend("exclusiveMinimum" = 0, "exclusiveMaximum" = 1, "x-unit" = "share of the window"))]
    pub left_on_loss: f64,
}

impl Default for NvParams {
    /// Linux's: 10 and 2 packets, 5 s, 30 %, 80 %.
    fn default() -> Self {
        NvParams {
            pad: 10.0,
            pad_buffer: 2.0,
            reset_period: Duration::from_secs(5),
            decrease: 0.3,
            left_on_loss: 0.8,
        }
    }
}

impl Spec for NvParams {
    const NAME: &'static str = "nv";
    const SOURCE: &'static str = "Linux, tcp_nv.c";
    const SUMMARY: &'static str = "for data centres: at most ten packets waiting, by the largest rate of a round trip and the least delay";

    fn check(&self) -> Result<(), String> {
        if self.pad_buffer > self.pad {
            return Err(format!("pad_buffer must be at most pad ({}), not {}", self.pad, self.pad_buffer));
        }
        Ok(())
    }
}

impl AlgorithmSpec for NvParams {
    fn policy(&self, slow_start: &impl Compose, setup: &Setup) -> Box<dyn CongestionControl> {
        slow_start.compose(Nv::new(self.clone(), setup.seed), setup)
    }
}

/// Measurements before the window may shrink, grow, and leave the first slow start; round trips before any decision, and after which
/// growth ends that was not confirmed.
const SHRINK_AFTER: u32 = 60;
const GROW_AFTER: u32 = 20;
const EXIT_AFTER: u32 = 30;
const DECIDE_AFTER: u32 = 2;
const STOP_AFTER: u32 = 10;
/// Decisions to grow before growth that losses have slowed down doubles again; it is at least 2^-8 segments a round trip.
const RECOVER_AFTER: u32 = 8;
const SLOWEST: i32 = -8;
/// A larger excess shrinks by a share, a smaller one at once; in segments.
const SMALL_EXCESS: f64 = 2.0;
/// How long the first least round trip counts.
const FIRST_PERIOD: Duration = Duration::from_secs(2);

/// The window of NV.
#[derive(Clone, Debug)]
pub struct Nv {
    params: NvParams,
    draws: Draws,
    /// Round trips in seconds: smoothed over two samples, the least that counts, and the least of the next period.
    last: f64,
    least: f64,
    next_least: f64,
    renew_at: Option<Instant>,
    /// Since the last decision: the largest rate in bytes a second, measurements, round trips.
    rate: f64,
    measurements: u32,
    rounds: u32,
    grows: bool,
    /// Growth is 2^factor segments a round trip; 0 or less.
    factor: i32,
    /// Decisions to grow in a row.
    uncongested: u32,
}

impl Nv {
    fn new(params: NvParams, seed: u64) -> Self {
        Nv {
            params,
            draws: Draws::new(seed),
            last: 0.0,
            least: f64::INFINITY,
            next_least: f64::INFINITY,
            renew_at: None,
            rate: 0.0,
            measurements: 0,
            rounds: 0,
            grows: true,
            factor: 0,
            uncongested: 0,
        }
    }

    fn decided(&mut self) {
        (self.rate, self.measurements, self.rounds) = (0.0, 0, 0);
    }

    fn measure(&mut self, ack: &Ack, rtt: f64, in_flight: f64) {
        self.last = if self.last > 0.0 { (self.last + rtt) / 2.0 } else { rtt };
        self.rate = self.rate.max(in_flight / self.last);
        self.measurements += 1;
        self.least = self.least.min(self.last);
        self.next_least = self.next_least.min(self.last);
        let renew_at = *self.renew_at.get_or_insert(ack.now + FIRST_PERIOD);
        if ack.now >= renew_at {
            (self.least, self.next_least) = (self.next_least, f64::INFINITY);
            // From 3/4 to 5/4 of the period.
            let share = 0.75 + (self.draws.bits() >> 11) as f64 / (1_u64 << 54) as f64;
            let period = self.params.reset_period.as_secs_f64() * share;
            self.renew_at = Some(ack.now + Duration::from_secs_f64(period));
        }
    }

    /// The window is above the most, in bytes, that the rate fills: what to make of it.
    fn shrink(&mut self, window: &Window, most: f64) -> Option<Cut> {
        if self.rounds < DECIDE_AFTER {
            return None;
        }
        let needed = if window.ssthresh == f64::INFINITY { EXIT_AFTER } else { SHRINK_AFTER };
        if self.measurements < needed {
            self.grows &= self.rounds <= STOP_AFTER || window.ssthresh == f64::INFINITY;
            return None;
        }
        let excess = window.cwnd - most;
        let off = if excess > SMALL_EXCESS * window.mss {
            (self.params.decrease * excess).max(SMALL_EXCESS * window.mss)
        } else {
            excess
        };
        self.grows = false;
        self.uncongested = 0;
        self.decided();
        // Slow start does not begin again where the window is still below what was found.
        let cwnd = (window.cwnd - off).max(2.0 * window.mss);
        Some(Cut { ssthresh: most.min(cwnd), cwnd })
    }

    fn grow(&mut self) {
        if self.measurements < GROW_AFTER {
            return;
        }
        self.grows = true;
        self.uncongested += 1;
        if self.factor < 0 && self.uncongested > RECOVER_AFTER {
            self.factor += 1;
            self.uncongested = 0;
        }
        self.decided();
    }
}

impl Avoidance for Nv {
    fn needs_delivery_rate(&self) -> bool {
        true
    }

    fn inspect(&self, _: &Window, inspection: &mut Inspection) {
        inspection.byte_rate("nv_rtt_max_rate", self.rate);
        inspection.seconds("nv_min_rtt", self.least);
        inspection.number("cwnd_growth_factor", f64::from(self.factor));
    }

    fn observe(&mut self, _: &Window, ack: &Ack) {
        if ack.in_recovery {
            return;
        }
        let sent =
            ack.delivery.map(|delivery| delivery.in_flight_when_sent as f64).filter(|bytes| *bytes > 0.0);
        if let (Some(rtt), Some(in_flight)) = (ack.rtt, sent) {
            self.measure(ack, rtt.as_secs_f64(), in_flight);
        }
    }

    fn set(&mut self, window: &Window, ack: &Ack) -> Option<Cut> {
        if !ack.round_start || self.rate == 0.0 {
            return None;
        }
        self.rounds += 1;
        let most = self.rate * self.least + self.params.pad * window.mss;
        if window.cwnd > most {
            return self.shrink(window, most);
        }
        if window.cwnd <= most - self.params.pad_buffer * window.mss {
            self.grow();
        }
        None
    }

    fn increase(&mut self, window: &Window, ack: &Ack) -> f64 {
        if !self.grows {
            return 0.0;
        }
        let segments = f64::from(self.factor).exp2();
        (segments * window.mss * ack.acked as f64 / window.cwnd).min(ack.acked as f64 / 4.0)
    }

    fn shape_slow_start(&mut self, _: &Window, _: &Ack, step: crate::Growth) -> crate::Growth {
        if self.grows { step } else { crate::Growth { bytes: 0.0, ..step } }
    }

    fn decrease(&mut self, window: &Window, event: &Congestion) -> Cut {
        self.grows = false;
        self.uncongested = 0;
        self.decided();
        keep(self.params.left_on_loss, event, window.mss)
    }

    fn timeout(&mut self, window: &Window, event: &Congestion) -> f64 {
        self.factor = (self.factor - 1).max(SLOWEST);
        let Cut { ssthresh, .. } =
            self.decrease(window, &Congestion { kind: CongestionKind::Loss, ..*event });
        ssthresh
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{MSS, ack_at, event, policy, setup};
    use crate::{Ack, Algorithm, CongestionControl, CongestionKind, Delivery};
    use longhaul_units::Duration;

    fn avoiding(segments: u64, ssthresh: Option<u64>) -> Box<dyn CongestionControl> {
        policy(r#""nv""#, r#""standard""#, &setup(segments * MSS, ssthresh))
    }

    /// A path of 100 ms that holds 100 segments: a round, as long as the window makes it. Windows in segments.
    fn round(policy: &mut dyn CongestionControl, now: &mut u64) -> f64 {
        let window = policy.window();
        let millis = (window / MSS).max(100);
        let rtt = Duration::from_millis(millis);
        let acks = window / MSS;
        for index in 0..acks {
            let delivery = Delivery {
                rate: None,
                rtt: Some(rtt),
                delivered: window,
                prior_delivered: 0,
                app_limited: false,
                newly_lost: 0,
                lost: 0,
                in_flight_when_sent: window,
            };
            let round_start = index == 0;
            let time = *now + millis * index / acks;
            policy.on_ack(&Ack {
                rtt: Some(rtt),
                round_start,
                delivery: Some(delivery),
                ..ack_at(time, MSS)
            });
        }
        *now += millis;
        policy.window() as f64 / MSS as f64
    }

    /// The rate fills 100 segments, and 10 may wait; from 108 on the window no longer grows.
    #[test]
    fn eight_to_ten_segments_wait() {
        let (mut nv, mut now) = (avoiding(90, Some(90 * MSS)), 0);
        let windows: Vec<f64> = (0..60).map(|_| round(&mut *nv, &mut now)).collect();
        assert!(windows[40..].iter().all(|window| (107.0..111.0).contains(window)), "{windows:?}");
    }

    /// 30 % of what is too much, once in two round trips. The first of the longer round trips is averaged with one of 100 ms: 200
    /// segments in 150 ms are 133 in the least, and 10 may wait, so that 57 of 200 are too many, and 17 go.
    #[test]
    fn it_takes_a_third_of_what_is_too_much() {
        let mut large = avoiding(200, Some(200 * MSS));
        // A base of 100 ms first, with samples of a small flight.
        let delivery = Delivery {
            rate: None,
            rtt: None,
            delivered: MSS,
            prior_delivered: 0,
            app_limited: false,
            newly_lost: 0,
            lost: 0,
            in_flight_when_sent: MSS,
        };
        for _ in 0..4 {
            let rtt = Duration::from_millis(100);
            large.on_ack(&Ack {
                rtt: Some(rtt),
                app_limited: true,
                delivery: Some(delivery),
                ..ack_at(0, MSS)
            });
        }
        let mut now = 1;
        let windows: Vec<f64> = (0..8).map(|_| round(&mut *large, &mut now)).collect();
        let first = windows.iter().find(|window| **window < 190.0).unwrap();
        assert!((182.0..185.0).contains(first), "{windows:?}");
    }

    #[test]
    fn a_loss_leaves_four_fifths_and_timeouts_slow_growth_down() {
        let mut nv = avoiding(100, Some(100 * MSS));
        nv.on_congestion(&event(CongestionKind::Loss, 100 * MSS));
        assert_eq!(nv.window(), 80 * MSS);
        nv.on_congestion(&event(CongestionKind::Timeout, 80 * MSS));
        assert_eq!((nv.window(), nv.ssthresh()), (MSS, 64 * MSS));
    }

    #[test]
    fn refuses_what_cannot_be() {
        let error = |text: &str| serde_json::from_str::<Algorithm>(text).unwrap_err().to_string();
        assert_eq!(error(r#"{"kind": "nv", "pad": 1}"#), "nv: pad_buffer must be at most pad (1), not 2");
        let none = error(r#"{"kind": "nv", "reset_period": "0 s"}"#);
        assert_eq!(none, "nv: reset_period must be above 0 s and at most 1 h, not 0 s");
    }
}
