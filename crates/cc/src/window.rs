//! A congestion window (RFC 5681) composed of an avoidance rule and a slow start policy.
//! What holds for every pair is here: when growth is held, the loss window, restart after idle, undo, pacing.

use crate::setup::in_bytes;
use crate::{
    Ack, Allowance, Avoidance, Bytes, Congestion, CongestionControl, CongestionKind, EcnUse, InitialWindow,
    Inspection, Pacing, Probe, Probed, Reduces, Setup, SlowStart,
};
use longhaul_units::{Duration, Instant, Limit, Rate};

/// The window and its threshold, as the rules get them. Fractions of a byte count: small steps must not be lost.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Window {
    /// Congestion window in bytes; never below one MSS.
    pub cwnd: f64,
    /// Slow start threshold in bytes; infinite while there is none.
    pub ssthresh: f64,
    /// Maximum segment size in bytes.
    pub mss: f64,
    /// How many times congestion has cut the window so far.
    pub cuts: u32,
    /// What the last cut was for.
    pub last_cut: Option<CongestionKind>,
    /// How long nothing was in flight, in all.
    pub idle: Duration,
    /// How long something else than this window was the limit, in all: the application, the receiver's window, nothing in flight.
    pub unused: Duration,
}

impl Window {
    /// The window in segments, for formulas that count packets.
    pub fn segments(&self) -> f64 {
        self.cwnd / self.mss
    }
    /// RFC 5681 section 3.1: slow start while cwnd < ssthresh.
    pub fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }
    /// The time on a clock that stands still while nothing is in flight, for rates.
    pub fn time_in_flight(&self, now: Instant) -> Instant {
        Instant::from_nanos(now.as_nanos().saturating_sub(self.idle.as_nanos()))
    }
    /// The time on a clock that runs only while this window is the limit, for rules by which it grows with time: other time is
    /// no proof that the path would carry more (RFC 9438 section 4.2).
    pub fn time_in_use(&self, now: Instant) -> Instant {
        Instant::from_nanos(now.as_nanos().saturating_sub(self.unused.as_nanos()))
    }
    fn grow(&mut self, bytes: f64) {
        self.cwnd = (self.cwnd + bytes).max(self.mss);
    }
}

/// A window policy made of an avoidance rule `A` and a slow start policy `S`.
#[derive(Clone, Debug)]
pub struct WindowBased<A, S> {
    window: Window,
    avoidance: A,
    slow_start: S,
    pacing: Pacing,
    reduces: Reduces,
    srtt: Duration,
    last_ack: Instant,
    /// What the window and its threshold begin with, until something has happened to them: the MSS is known only then.
    start: Option<(InitialWindow, Option<Limit>)>,
    /// The timer has expired and nothing was acknowledged since: the next timeout is of the same segment.
    backed_off: bool,
    /// The last loss window was more than one segment.
    restarted_larger: bool,
    /// Fast recovery is under way.
    recovering: bool,
    /// The state before the last cut.
    before_cut: Option<(Window, A, S)>,
}

impl<A: Avoidance, S: SlowStart> WindowBased<A, S> {
    /// A window at its initial size.
    pub fn new(avoidance: A, slow_start: S, setup: &Setup) -> Self {
        let window = Window {
            cwnd: 0.0,
            ssthresh: f64::INFINITY,
            mss: 0.0,
            cuts: 0,
            last_cut: None,
            idle: Duration::ZERO,
            unused: Duration::ZERO,
        };
        let mut policy = WindowBased {
            window,
            avoidance,
            slow_start,
            pacing: setup.pacing,
            reduces: setup.reduces,
            srtt: Duration::ZERO,
            last_ack: Instant::ZERO,
            start: Some((setup.initial_window, setup.initial_ssthresh)),
            backed_off: false,
            restarted_larger: false,
            recovering: false,
            before_cut: None,
        };
        policy.on_mss(setup.mss.max(1));
        policy
    }

    /// [`CongestionControl::on_ack`].
    #[inline(always)]
    fn acknowledged(&mut self, ack: &Ack) {
        self.srtt = ack.srtt;
        self.backed_off = false;
        self.start = None;
        if ack.app_limited {
            self.window.unused += ack.now.since(self.last_ack);
        }
        self.last_ack = ack.now;
        self.avoidance.observe(&self.window, ack);
        self.slow_start.observe(&self.window, ack);
        // The window stands still in recovery (RFC 5681 section 3.2, RFC 6675 section 5), and while it is not what limits
        // the sender: then ACKs do not show whether the path would carry more (RFC 7661 section 4).
        if ack.in_recovery {
            return;
        }
        if std::mem::take(&mut self.recovering) {
            if let Some(bytes) = self.avoidance.recovered(&self.window) {
                self.window.ssthresh = bytes.max(2.0 * self.window.mss);
                self.window.cwnd = self.window.ssthresh;
            }
        }
        if ack.app_limited {
            if ack.receiver_limited {
                self.judge_without_growth(ack);
            }
            return;
        }
        if let Some(cut) = self.avoidance.set(&self.window, ack) {
            self.window.ssthresh = cut.ssthresh.max(2.0 * self.window.mss);
            self.window.cwnd = cut.cwnd.max(self.window.mss);
            return;
        }
        if self.window.in_slow_start() {
            self.step_of_slow_start(ack);
        } else {
            self.step_of_avoidance(ack);
        }
    }

    fn step_of_slow_start(&mut self, ack: &Ack) {
        let step = self.slow_start.increase(&self.window, ack);
        let step = self.avoidance.shape_slow_start(&self.window, ack, step);
        self.window.grow(step.bytes);
        if step.exit {
            self.window.ssthresh = self.window.cwnd.max(2.0 * self.window.mss);
        }
    }

    #[inline(always)]
    fn step_of_avoidance(&mut self, ack: &Ack) {
        let step = self.avoidance.increase(&self.window, ack);
        let least = self.slow_start.beyond_ssthresh(&self.window, ack);
        self.window.grow(if least > 0.0 { step.max(least) } else { step });
        if step < 0.0 {
            // A rule that shrinks the window must not find itself in slow start again.
            self.window.ssthresh = self.window.ssthresh.min(self.window.cwnd).max(2.0 * self.window.mss);
        }
    }

    fn judge_without_growth(&mut self, ack: &Ack) {
        let step = self.avoidance.judge_without_growth(&self.window, ack);
        if step.bytes < 0.0 {
            self.window.grow(step.bytes);
        }
        if step.exit || step.bytes < 0.0 {
            self.window.ssthresh = self.window.ssthresh.min(self.window.cwnd).max(2.0 * self.window.mss);
        }
    }

    /// Loss or ECN echo.
    fn cut(&mut self, event: &Congestion) {
        self.remember();
        self.recovering = event.kind == CongestionKind::Loss;
        let cut = self.avoidance.decrease(&self.window, event);
        self.slow_start.congestion(event);
        self.window.ssthresh = cut.ssthresh;
        // FlightSize can exceed cwnd (two events in a row): congestion never raises the window.
        self.window.cwnd = cut.cwnd.min(self.window.cwnd).max(self.window.mss);
    }

    /// RFC 5681 section 3.1: cwnd becomes the loss window of one segment; ssthresh is held when the timer expires again
    /// for the same segment.
    fn timeout(&mut self, event: &Congestion) {
        if !self.backed_off {
            self.remember();
            self.window.ssthresh = self.avoidance.timeout(&self.window, event);
            self.slow_start.congestion(event);
        }
        self.backed_off = true;
        self.recovering = false;
        let loss_window = self.avoidance.loss_window(&self.window);
        self.window.cwnd = loss_window.min(self.window.cwnd).max(self.window.mss);
        self.restarted_larger = self.window.cwnd > self.window.mss;
    }

    fn remember(&mut self) {
        self.before_cut = Some((self.window, self.avoidance.clone(), self.slow_start.clone()));
    }

    /// RFC 9438 section 4.9.2: everything as before the cut, unless the window has already outgrown it; then the threshold is
    /// (RFC 4015 section 3.3 gives it back, whatever the window).
    fn undo(&mut self) {
        self.recovering = false;
        let Some((window, avoidance, slow_start)) = self.before_cut.take() else { return };
        if self.window.cwnd > window.cwnd {
            self.window.ssthresh = self.window.ssthresh.max(window.ssthresh);
            return;
        }
        if !self.avoidance.undone_with_window() {
            (self.window.cwnd, self.window.ssthresh) = (window.cwnd, window.ssthresh);
            return;
        }
        let Window { idle, unused, .. } = self.window;
        (self.window, self.avoidance, self.slow_start) = (window, avoidance, slow_start);
        (self.window.idle, self.window.unused) = (idle, unused);
    }
}

impl<A: Avoidance, S: SlowStart> CongestionControl for WindowBased<A, S> {
    fn hears_of_sending(&self) -> bool {
        false
    }
    fn needs_delivery_rate(&self) -> bool {
        self.avoidance.needs_delivery_rate()
    }
    fn ecn(&self) -> EcnUse {
        self.avoidance.ecn()
    }
    fn inspect(&self, inspection: &mut Inspection) {
        self.avoidance.inspect(&self.window, inspection);
    }
    fn on_ack(&mut self, ack: &Ack) {
        self.acknowledged(ack);
    }
    fn take_ack(&mut self, ack: &Ack) -> Allowance {
        self.acknowledged(ack);
        Allowance {
            window: self.window(),
            in_slow_start: self.in_slow_start(),
            pacing_rate: self.pacing_rate(),
        }
    }

    /// What watches round trips sees them, and may end slow start.
    fn on_sack(&mut self, ack: &Ack) {
        self.avoidance.observe(&self.window, ack);
        self.slow_start.observe(&self.window, ack);
        let grows_nothing = Ack { acked: 0, ..*ack };
        if !ack.in_recovery
            && self.window.in_slow_start()
            && self.slow_start.increase(&self.window, &grows_nothing).exit
        {
            self.window.ssthresh = self.window.cwnd.max(2.0 * self.window.mss);
        }
    }

    fn on_congestion(&mut self, event: &Congestion) {
        self.start = None;
        let from_cwnd = Congestion { flight_size: self.window.cwnd as Bytes, ..*event };
        let event = if self.reduces == Reduces::Cwnd { &from_cwnd } else { event };
        match event.kind {
            CongestionKind::Spurious => return self.undo(),
            CongestionKind::Loss | CongestionKind::EcnEcho => self.cut(event),
            CongestionKind::Timeout => self.timeout(event),
        }
        self.window.cuts = self.window.cuts.saturating_add(1);
        self.window.last_cut = Some(event.kind);
    }

    /// What a larger loss window let go brought no ACK either: now it is one segment.
    fn on_back_off(&mut self, _: Instant) -> bool {
        let larger = std::mem::take(&mut self.restarted_larger) && self.backed_off;
        if larger {
            self.window.cwnd = self.window.mss;
        }
        larger
    }

    fn probe(&self) -> Option<Probe> {
        self.slow_start.probe()
    }

    fn on_probed(&mut self, probed: &Probed<'_>) -> bool {
        if let Some(ssthresh) = self.slow_start.ssthresh_probed(probed) {
            self.window.ssthresh = ssthresh.max(2.0 * self.window.mss);
        }
        true
    }

    /// Before anything has happened the initial window and threshold follow the MSS; later they stay in bytes.
    fn on_mss(&mut self, mss: Bytes) {
        let mss = mss.max(1);
        let before = std::mem::replace(&mut self.window.mss, mss as f64);
        if before == self.window.mss {
            return;
        }
        self.avoidance.rescale(before / self.window.mss);
        self.slow_start.on_mss(mss);
        self.before_cut = None;
        if let Some((initial_window, initial_ssthresh)) = self.start {
            let given = initial_ssthresh.map_or(f64::INFINITY, |limit| in_bytes(limit, mss) as f64);
            self.window.cwnd = initial_window.bytes(mss) as f64;
            self.window.ssthresh = self.slow_start.initial_ssthresh(given.max(2.0 * self.window.mss));
        }
        self.window.cwnd = self.window.cwnd.max(self.window.mss);
        self.window.ssthresh = self.window.ssthresh.max(2.0 * self.window.mss);
    }

    fn on_transmission_start(&mut self, _: Instant, idle: Duration) {
        self.window.idle += idle;
        self.window.unused += idle;
        // If the next ACK finds the window unused too, that time is not to count twice.
        self.last_ack += idle;
    }

    fn remember_window(&mut self) {
        self.window.ssthresh = self.window.ssthresh.max(0.75 * self.window.cwnd);
    }

    /// RFC 5681 section 4.1: RW = min(IW, cwnd); ssthresh stays.
    fn on_idle(&mut self, restart_window: Bytes) {
        self.start = None;
        self.window.cwnd = self.window.cwnd.min(restart_window as f64).max(self.window.mss);
        self.avoidance.idle();
        self.slow_start.idle();
    }

    fn window(&self) -> Bytes {
        self.window.cwnd as Bytes
    }

    fn ssthresh(&self) -> Bytes {
        self.window.ssthresh as Bytes
    }

    fn in_slow_start(&self) -> bool {
        self.window.in_slow_start()
    }

    fn pacing_rate(&self) -> Option<Rate> {
        self.pacing.rate(self.window.cwnd, self.window.ssthresh, self.srtt)
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{MSS, ack, event, policy, setup};
    use crate::{Ack, Congestion, CongestionControl, CongestionKind, Pacing, Reduces, Setup};
    use longhaul_units::{Duration, Instant, Rate};
    use proptest::prelude::*;

    fn reno(initial_window: u64) -> Box<dyn CongestionControl> {
        policy(r#""reno""#, r#""standard""#, &setup(initial_window, None))
    }

    #[test]
    fn begins_with_the_initial_window_and_no_threshold() {
        let reno = reno(4 * MSS);
        assert_eq!((reno.window(), reno.ssthresh(), reno.in_slow_start()), (4000, u64::MAX, true));
        assert_eq!(self::reno(10).window(), 1000); // never below one MSS
    }

    #[test]
    fn holds_while_limited_by_the_application_or_in_recovery() {
        let mut reno = reno(4 * MSS);
        reno.on_ack(&Ack { app_limited: true, ..ack() });
        reno.on_ack(&Ack { in_recovery: true, ..ack() });
        assert_eq!(reno.window(), 4000);
        reno.on_ack(&ack());
        assert_eq!(reno.window(), 5000);
    }

    #[test]
    fn a_timeout_leaves_one_segment_and_half_the_flight() {
        // RFC 5681 section 3.1, equation (4) and the loss window.
        let mut reno = reno(10 * MSS);
        reno.on_congestion(&event(CongestionKind::Timeout, 10_000));
        assert_eq!((reno.window(), reno.ssthresh()), (1000, 5000));
    }

    #[test]
    fn ssthresh_is_held_when_the_timer_expires_again() {
        // RFC 5681 section 3.1: "the value of ssthresh is held constant" if the segment was sent by the timer before.
        let mut reno = reno(10 * MSS);
        reno.on_congestion(&event(CongestionKind::Timeout, 10_000));
        reno.on_congestion(&event(CongestionKind::Timeout, 1000));
        assert_eq!(reno.ssthresh(), 5000);
        reno.on_ack(&ack());
        reno.on_congestion(&event(CongestionKind::Timeout, 1000));
        assert_eq!(reno.ssthresh(), 2000);
    }

    #[test]
    fn a_cut_may_be_reckoned_from_the_window() {
        // Ten segments of window, four in flight: RFC 5681 equation (4) leaves two, Linux half of the ten.
        for (reduces, ssthresh) in [(Reduces::FlightSize, 2000), (Reduces::Cwnd, 5000)] {
            for kind in [CongestionKind::Loss, CongestionKind::EcnEcho, CongestionKind::Timeout] {
                let setup = Setup { reduces, ..setup(10 * MSS, None) };
                let mut reno = policy(r#""reno""#, r#""standard""#, &setup);
                reno.on_congestion(&event(kind, 4000));
                assert_eq!(reno.ssthresh(), ssthresh, "{kind:?}");
            }
        }
    }

    #[test]
    fn congestion_never_raises_the_window() {
        let mut reno = reno(2 * MSS);
        reno.on_congestion(&event(CongestionKind::Loss, 50_000));
        assert_eq!((reno.window(), reno.ssthresh()), (2000, 25_000));
    }

    #[test]
    fn a_spurious_cut_is_undone() {
        let mut reno = reno(10 * MSS);
        reno.on_congestion(&event(CongestionKind::Loss, 10_000));
        assert_eq!((reno.window(), reno.ssthresh()), (5000, 5000));
        reno.on_congestion(&event(CongestionKind::Spurious, 10_000));
        assert_eq!((reno.window(), reno.ssthresh()), (10_000, u64::MAX));
        // Once only.
        reno.on_congestion(&event(CongestionKind::Loss, 10_000));
        reno.on_congestion(&event(CongestionKind::Spurious, 10_000));
        reno.on_congestion(&event(CongestionKind::Spurious, 10_000));
        assert_eq!((reno.window(), reno.ssthresh()), (10_000, u64::MAX));
    }

    #[test]
    fn a_series_of_spurious_timeouts_is_undone_to_its_beginning() {
        let mut reno = reno(10 * MSS);
        reno.on_congestion(&event(CongestionKind::Timeout, 10_000));
        reno.on_congestion(&event(CongestionKind::Timeout, 10_000));
        reno.on_congestion(&event(CongestionKind::Spurious, 10_000));
        assert_eq!((reno.window(), reno.ssthresh()), (10_000, u64::MAX));
    }

    #[test]
    fn of_an_outgrown_cut_only_the_threshold_is_undone() {
        // RFC 9438 section 4.9.2: only if cwnd < cwnd_prior. RFC 4015 section 3.3: ssthresh is what it was.
        let mut reno = reno(2 * MSS);
        reno.on_congestion(&event(CongestionKind::Timeout, 20_000)); // cwnd 1000, ssthresh 10,000
        for _ in 0..2 {
            reno.on_ack(&ack());
        }
        reno.on_congestion(&event(CongestionKind::Spurious, 0));
        assert_eq!((reno.window(), reno.ssthresh()), (3000, u64::MAX));
    }

    #[test]
    fn a_timeout_of_the_least_window_is_undone() {
        // There is nothing to cut from cwnd, but ssthresh falls to two segments: it would stay there for ever.
        let mut reno = reno(MSS);
        reno.on_congestion(&event(CongestionKind::Timeout, 1_000));
        assert_eq!((reno.window(), reno.ssthresh()), (1000, 2000));
        reno.on_congestion(&event(CongestionKind::Spurious, 0));
        assert_eq!((reno.window(), reno.ssthresh()), (1000, u64::MAX));
    }

    #[test]
    fn idleness_shrinks_the_window_to_the_restart_window() {
        // RFC 5681 section 4.1; ssthresh stays.
        let mut reno = reno(20 * MSS);
        reno.on_congestion(&event(CongestionKind::Loss, 20_000));
        reno.on_idle(4000);
        assert_eq!((reno.window(), reno.ssthresh()), (4000, 10_000));
        reno.on_idle(8000);
        assert_eq!(reno.window(), 4000);
    }

    #[test]
    fn a_window_is_remembered_in_ssthresh() {
        // RFC 2861 section 3.1: max(ssthresh, 3/4 cwnd).
        let mut reno = reno(20 * MSS);
        reno.on_congestion(&event(CongestionKind::Loss, 20_000));
        reno.remember_window();
        assert_eq!(reno.ssthresh(), 10_000);
        while reno.window() < 16_000 {
            reno.on_ack(&ack());
        }
        reno.remember_window();
        assert!(reno.ssthresh().abs_diff(reno.window() * 3 / 4) <= 1, "{}", reno.ssthresh());
    }

    #[test]
    fn any_window_can_be_paced() {
        let paced = Setup { pacing: Pacing::LINUX, ..setup(10 * MSS, None) };
        for algorithm in [r#""reno""#, r#""cubic""#, r#"{"kind": "fixed", "window": "10 packets"}"#] {
            let mut policy = policy(algorithm, r#""standard""#, &paced);
            assert_eq!(policy.pacing_rate(), None);
            policy.on_ack(&Ack { app_limited: true, ..ack() });
            // 10,000 bytes per 100 ms: 800 kbit/s times 2 in slow start, 1.2 for the constant window.
            let expected = if algorithm.contains("fixed") { 960_000 } else { 1_600_000 };
            assert_eq!(policy.pacing_rate(), Some(Rate::from_bps(expected)));
        }
        assert_eq!(reno(4000).pacing_rate(), None);
    }

    #[derive(Clone, Debug)]
    enum Step {
        Ack { acked: u64, rtt: u64, gap: u64, round_start: bool, app_limited: bool, in_recovery: bool },
        Congestion { kind: CongestionKind, flight_size: u64 },
        Idle(u64),
    }

    fn step() -> impl Strategy<Value = Step> {
        let bytes = || prop_oneof![0..5000u64, 0..200_000_000u64, Just(u64::MAX)];
        let nanos = || prop_oneof![Just(0u64), 0..2_000_000_000u64, Just(u64::MAX)];
        let kind = prop_oneof![
            Just(CongestionKind::Loss),
            Just(CongestionKind::EcnEcho),
            Just(CongestionKind::Timeout),
            Just(CongestionKind::Spurious),
        ];
        prop_oneof![
            8 => (bytes(), nanos(), nanos(), any::<bool>(), any::<bool>(), any::<bool>()).prop_map(
                |(acked, rtt, gap, round_start, app_limited, in_recovery)| Step::Ack {
                    acked, rtt, gap, round_start, app_limited, in_recovery
                }
            ),
            2 => (kind, bytes()).prop_map(|(kind, flight_size)| Step::Congestion { kind, flight_size }),
            1 => bytes().prop_map(Step::Idle),
        ]
    }

    /// Every algorithm with its defaults, and some with others.
    fn algorithms() -> Vec<String> {
        let mut algorithms: Vec<String> =
            crate::Algorithm::NAMES.iter().map(|name| format!("\"{name}\"")).collect();
        algorithms.extend([
            r#"{"kind": "reno", "a": 32, "b": 0.125, "counting": "acks"}"#.to_string(),
            r#"{"kind": "cubic", "reno_friendly": false, "counting": "bytes", "c": 4}"#.to_string(),
        ]);
        algorithms
    }
    /// Those that look at delay or at a rate: an ACK may shrink their window.
    const SENSE_THE_PATH: &[&str] =
        &["bbr", "compound", "copa", "dual", "fast", "ledbat", "nv", "sttp", "tri_s", "vegas", "yeah"];
    fn has_a_window_of_its_own(algorithm: &str) -> bool {
        !algorithm.contains("bbr") && !algorithm.contains("sttp")
    }
    fn only_grows_on_acks(algorithm: &str) -> bool {
        !SENSE_THE_PATH.iter().any(|name| algorithm.contains(name))
    }
    const SLOW_START: [&str; 6] = [
        r#""standard""#,
        r#"{"kind": "standard", "counting": "acks"}"#,
        r#"{"kind": "standard", "limit": 65535}"#,
        r#""limited""#,
        r#"{"kind": "limited", "form": "ns2"}"#,
        r#""hystart++""#,
    ];

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(400))]
        #[test]
        fn windows_are_sound_whatever_happens(
            algorithm in proptest::sample::select(algorithms()),
            slow_start in 0..SLOW_START.len(),
            initial_window in 0..100_000u64,
            initial_ssthresh in proptest::option::of(0..1_000_000u64),
            paced in any::<bool>(),
            steps in proptest::collection::vec(step(), 0..120),
        ) {
            let pacing = if paced { Pacing::LINUX } else { Pacing::Off };
            let setup = Setup { pacing, ..setup(initial_window, initial_ssthresh) };
            let mut policy = policy(&algorithm, SLOW_START[slow_start], &setup);
            let mut now = Instant::ZERO;
            for step in steps {
                let before = policy.window();
                match step {
                    Step::Ack { acked, rtt, gap, round_start, app_limited, in_recovery } => {
                        now += Duration::from_nanos(gap);
                        let rtt = Duration::from_nanos(rtt);
                        policy.on_ack(&Ack {
                            now, acked, rtt: Some(rtt), srtt: rtt, round_start, app_limited, in_recovery, ..ack()
                        });
                        if (app_limited || in_recovery) && has_a_window_of_its_own(&algorithm) {
                            prop_assert_eq!(policy.window(), before);
                        } else if only_grows_on_acks(&algorithm) {
                            prop_assert!(policy.window() >= before);
                        }
                    }
                    Step::Congestion { kind, flight_size } => {
                        policy.on_congestion(&Congestion { now, kind, flight_size });
                        if kind != CongestionKind::Spurious {
                            prop_assert!(policy.window() <= before);
                        }
                    }
                    Step::Idle(restart_window) => {
                        policy.on_idle(restart_window);
                        prop_assert!(policy.window() <= before);
                    }
                }
                prop_assert!(policy.window() >= MSS);
                prop_assert!(algorithm.contains("fixed") || policy.ssthresh() >= 2 * MSS);
            }
        }
    }
}
