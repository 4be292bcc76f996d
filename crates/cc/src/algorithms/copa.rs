//! Copa: the rate goes towards 1 / (delta d_q), where d_q is the queueing delay, faster the longer it goes one way; where others fill
//! the queue, delta follows losses as a window of AIMD does. V. Arun, H. Balakrishnan: Copa: Practical Delay-Based Congestion
//! Control for the Internet, NSDI 2018.

use crate::compose::{AlgorithmSpec, Compose};
use crate::max_filter::MaxFilter;
use crate::params::Spec;
use crate::settings::{Deserialize, JsonSchema, Serialize};
use crate::{
    Ack, Avoidance, Congestion, CongestionControl, CongestionKind, Cut, Growth, Inspection, Pacing, Setup,
    Window,
};
use longhaul_units::{Duration, Instant};

/// Parameters of [`Copa`].
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CopaParams {
    /// delta: 1 / delta packets of this flow wait in equilibrium, more or less.
    #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 100, "x-unit" = "1 / segments"))]
    pub delta: f64,
    /// Changes to the competitive mode where the queue was not nearly empty for five round trips.
    #[schemars(extend("x-unit" = "true or false"))]
    pub competitive: bool,
    /// How long the least round trip counts (RTT_min).
    #[schemars(extend("x-exclusiveMinimum" = "0 s", "x-maximum" = "1 h"))]
    pub memory: Duration,
}

impl Default for CopaParams {
    /// delta = 0.5, both modes, 10 s.
    fn default() -> Self {
        CopaParams { delta: 0.5, competitive: true, memory: Duration::from_secs(10) }
    }
}

impl Spec for CopaParams {
    const NAME: &'static str = "copa";
    const SOURCE: &'static str = "Arun and Balakrishnan 2018";
    const SUMMARY: &'static str =
        "goes towards 1 / (delta queueing delay), and competes where others fill the queue; paced";
}

impl AlgorithmSpec for CopaParams {
    /// Segments are spaced at two windows in a round trip, unless other pacing is asked for (section 2.1).
    fn policy(&self, slow_start: &impl Compose, setup: &Setup) -> Box<dyn CongestionControl> {
        let pacing = match setup.pacing {
            Pacing::Off => Pacing::Window { gain_ss: 2.0, gain_ca: 2.0 },
            asked => asked,
        };
        slow_start.compose(Copa::new(self.clone()), &Setup { pacing, ..*setup })
    }
}

/// The least window, in segments.
const LEAST_SEGMENTS: f64 = 2.0;
/// The queue counts as nearly empty below this share of its largest length in four round trips (section 2.2).
const NEARLY_EMPTY: f64 = 0.1;
/// Round trips over which the largest counts, and after which a queue that was never nearly empty is somebody else's.
const LARGEST_OF: u64 = 4;
const EMPTIES_IN: u64 = 5;
/// Round trips in one direction before the velocity doubles.
const STEADY: u32 = 3;

/// Takes a sample that counts for `age`.
fn keep(filter: &mut MaxFilter, now: Instant, value: f64, age: Duration) {
    filter.update_within(now.as_nanos(), value, age.as_nanos().max(1));
}

/// Copa's window.
#[derive(Clone, Debug)]
pub struct Copa {
    params: CopaParams,
    /// The negative of RTT_min and of RTT_standing, and RTT_max, in seconds; 0 before the first sample.
    least: MaxFilter,
    standing: MaxFilter,
    largest: MaxFilter,
    /// 1 / delta in the competitive mode; none in the default mode.
    competing: Option<f64>,
    /// The queue was nearly empty last.
    empty_at: Option<Instant>,
    velocity: f64,
    up: bool,
    steady: u32,
    /// The window when this round trip began.
    window: f64,
}

impl Copa {
    fn new(params: CopaParams) -> Self {
        Copa {
            params,
            least: MaxFilter::new(1),
            standing: MaxFilter::new(1),
            largest: MaxFilter::new(1),
            competing: None,
            empty_at: None,
            velocity: 1.0,
            up: true,
            steady: 0,
            window: 0.0,
        }
    }

    /// 1 / delta, in segments.
    fn packets(&self) -> f64 {
        self.competing.unwrap_or(1.0 / self.params.delta)
    }

    /// The window at the target rate 1 / (delta d_q), in segments: RTT_standing / (delta d_q). Infinite without a queue.
    fn target(&self) -> f64 {
        let (standing, least) = (-self.standing.max(), -self.least.max());
        let queued = standing - least;
        if queued > 0.0 { self.packets() * standing / queued } else { f64::INFINITY }
    }

    /// Section 2.2: a queue that is nearly empty once in five round trips is Copa's own.
    fn choose_mode(&mut self, now: Instant, rtt: f64, srtt: Duration) {
        let (least, largest) = (-self.least.max(), self.largest.max());
        let empty = rtt - least <= NEARLY_EMPTY * (largest - least);
        if empty || self.empty_at.is_none() {
            self.empty_at = Some(now);
        }
        let since = self.empty_at.map_or(Duration::ZERO, |at| now.since(at));
        if since <= srtt * EMPTIES_IN {
            self.competing = None;
        } else if self.competing.is_none() {
            self.competing = Some(1.0 / self.params.delta);
        }
    }

    /// Once in a round trip: the velocity doubles while the direction stays.
    fn judge_direction(&mut self, window: &Window) {
        let up = window.cwnd > self.window;
        self.window = window.cwnd;
        self.steady = if up == self.up { self.steady + 1 } else { 0 };
        self.up = up;
        self.velocity = if self.steady >= STEADY { self.velocity * 2.0 } else { 1.0 };
        // A round trip at most doubles the window.
        self.velocity = self.velocity.min(window.segments() / self.packets()).max(1.0);
    }
}

impl Avoidance for Copa {
    fn inspect(&self, _: &Window, inspection: &mut Inspection) {
        inspection.number("delta", 1.0 / self.packets());
        inspection.number("velocity", self.velocity);
        inspection.number("competing", f64::from(u8::from(self.competing.is_some())));
    }

    fn observe(&mut self, _: &Window, ack: &Ack) {
        let Some(rtt) = ack.rtt.map(|rtt| rtt.as_secs_f64()) else { return };
        keep(&mut self.least, ack.now, -rtt, self.params.memory);
        keep(&mut self.standing, ack.now, -rtt, ack.srtt / 2);
        keep(&mut self.largest, ack.now, rtt, ack.srtt * LARGEST_OF);
        if self.params.competitive {
            self.choose_mode(ack.now, rtt, ack.srtt);
        }
    }

    /// Section 2.1: cwnd changes by v / (delta cwnd) for each packet acknowledged.
    fn increase(&mut self, window: &Window, ack: &Ack) -> f64 {
        if ack.round_start {
            self.judge_direction(window);
            // The competitive mode: 1 / delta grows by one in a round trip.
            if let Some(packets) = &mut self.competing {
                *packets += 1.0;
            }
        }
        let below = window.segments() < self.target();
        if below != self.up && self.velocity > 1.0 {
            // A velocity of the other direction is not to carry the window past the target.
            (self.up, self.velocity, self.steady) = (below, 1.0, 0);
        }
        let step = self.velocity * self.packets() * window.mss * (ack.acked as f64 / window.cwnd);
        if below {
            return step;
        }
        (-step).max(-(window.cwnd - LEAST_SEGMENTS * window.mss).max(0.0))
    }

    /// A loss is no sign to the default mode; in the competitive mode 1 / delta halves, and delta is never larger than that of the default
    /// mode (section 2.2).
    fn decrease(&mut self, window: &Window, event: &Congestion) -> Cut {
        if let Some(packets) = self.competing.as_mut().filter(|_| event.kind == CongestionKind::Loss) {
            *packets = (*packets / 2.0).max(1.0 / self.params.delta);
        }
        Cut { ssthresh: window.cwnd.max(LEAST_SEGMENTS * window.mss), cwnd: window.cwnd }
    }

    /// Slow start ends when the rate is above the target's.
    fn shape_slow_start(&mut self, window: &Window, ack: &Ack, step: Growth) -> Growth {
        if ack.round_start {
            self.window = window.cwnd;
        }
        if window.segments() < self.target() {
            return step;
        }
        (self.velocity, self.steady) = (1.0, 0);
        Growth { bytes: 0.0, exit: true }
    }

    fn idle(&mut self) {
        (self.velocity, self.steady) = (1.0, 0);
        self.empty_at = None;
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{MSS, ack_of, avoiding, event, policy, reading, setup};
    use crate::{Ack, CongestionKind};

    /// delta 0.5, RTT_min 100 ms: with 10 ms of queue the target is 2 * 110 / 10 = 22 segments, with 20 ms 12; v / (delta cwnd) is a
    /// tenth of a segment for a window of 20.
    #[test]
    fn it_goes_towards_its_target_rate() {
        for (rtt, step) in [(100, 100), (110, 100), (120, -100)] {
            let mut copa = avoiding(r#""copa""#, 20);
            copa.on_ack(&Ack { app_limited: true, ..ack_of(0, 100) });
            let standing = ack_of(100, rtt);
            copa.on_ack(&standing);
            assert_eq!(copa.window() as i64 - 20_000, step, "{rtt} ms");
        }
    }

    /// RTT_standing is the least of half a round trip: one late ACK (or ten) changes nothing.
    #[test]
    fn late_acks_are_no_queue() {
        let mut copa = avoiding(r#""copa""#, 20);
        copa.on_ack(&ack_of(0, 100));
        for late in [150, 190, 170] {
            let before = copa.window();
            copa.on_ack(&ack_of(10, late));
            assert!(copa.window() > before);
        }
    }

    /// Doubled with each round trip in one direction from the fourth on; a change of direction begins with 1 again.
    #[test]
    fn the_velocity_doubles_after_three_round_trips() {
        let mut copa = avoiding(r#""copa""#, 200);
        let mut velocities = vec![];
        for round in 0..8 {
            copa.on_ack(&Ack { round_start: true, ..ack_of(100 * round, 100) });
            velocities.push(reading(&*copa, "velocity"));
        }
        assert_eq!(velocities, [1.0, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0]);
        // A queue: once it is in all of half a round trip, at once.
        copa.on_ack(&ack_of(900, 200));
        copa.on_ack(&ack_of(1000, 200));
        assert_eq!(reading(&*copa, "velocity"), 1.0);
    }

    /// RTTs of 150 to 200 ms for more than five round trips, after one of 100 ms: the queue is somebody else's. 1 / delta grows by
    /// one in a round trip, and halves upon a loss, down to that of the default mode.
    #[test]
    fn it_competes_where_the_queue_never_empties() {
        let mut copa = avoiding(r#""copa""#, 100);
        copa.on_ack(&ack_of(0, 100));
        for step in 0..20 {
            let rtt = if step % 2 == 0 { 150 } else { 200 };
            copa.on_ack(&Ack { round_start: true, ..ack_of(200 * step + 1, rtt) });
        }
        assert_eq!(reading(&*copa, "competing"), 1.0);
        let packets = 1.0 / reading(&*copa, "delta");
        assert!(packets > 10.0, "{packets}");
        let window = copa.window();
        copa.on_congestion(&event(CongestionKind::Loss, window));
        assert!((1.0 / reading(&*copa, "delta") - packets / 2.0).abs() < 1e-9);
        assert_eq!(copa.window(), window);
        for _ in 0..5 {
            copa.on_congestion(&event(CongestionKind::Loss, window));
        }
        assert_eq!(reading(&*copa, "delta"), 0.5);
        // A queue that is nearly empty ends it.
        copa.on_ack(&ack_of(4001, 105));
        assert_eq!(reading(&*copa, "competing"), 0.0);
    }

    #[test]
    fn a_loss_is_no_sign_in_the_default_mode() {
        let mut copa = avoiding(r#""copa""#, 100);
        copa.on_ack(&Ack { app_limited: true, ..ack_of(0, 100) });
        copa.on_congestion(&event(CongestionKind::Loss, 50 * MSS));
        assert_eq!(copa.window(), 100 * MSS);
        copa.on_congestion(&event(CongestionKind::Timeout, 50 * MSS));
        assert_eq!(copa.window(), MSS);
    }

    #[test]
    fn slow_start_ends_at_the_target_and_segments_are_spaced() {
        let mut copa = policy(r#""copa""#, r#""standard""#, &setup(20 * MSS, None));
        copa.on_ack(&ack_of(0, 100));
        assert_eq!(copa.window(), 21 * MSS);
        // 21,000 bytes twice in 100 ms.
        assert_eq!(copa.pacing_rate().unwrap().as_bps(), 3_360_000);
        copa.on_ack(&ack_of(200, 120));
        assert_eq!((copa.window(), copa.in_slow_start()), (21 * MSS, false));
    }

    /// RTT_min is forgotten after 10 s, so that a longer route is no queue for ever.
    #[test]
    fn the_least_round_trip_counts_for_ten_seconds() {
        let mut copa = avoiding(r#"{"kind": "copa", "competitive": false}"#, 100);
        copa.on_ack(&ack_of(0, 100));
        for step in 1..=11 {
            let before = copa.window();
            copa.on_ack(&ack_of(1000 * step, 200));
            assert_eq!(copa.window() > before, step >= 10, "{step}");
        }
    }
}
