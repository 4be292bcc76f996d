//! Careful Resume (RFC 9959): a connection that remembers window and RTT of an earlier one on the same path jumps to half of that
//! window once the path is confirmed, and takes it back if that was too much.
//!
//! It stands around any policy. In the phases *reconnaissance* and *normal* the policy decides; in those between, this file does,
//! and the policy is then built anew with the window and threshold that they end with. What belongs to which phase is decided by
//! departure times: an ACK for a packet that left after the jump is one for an unvalidated packet.

use crate::{
    Ack, Congestion, CongestionControl, CongestionKind, EcnUse, InitialWindow, Inspection, Lost, Probe,
    Probed, Sent, Setup,
};
use longhaul_units::{Duration, Instant, Limit, Rate, Size};

/// What is remembered of an earlier connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Remembered {
    /// Its congestion window in bytes (saved_cwnd).
    pub window: u64,
    /// Its smallest RTT (saved_rtt).
    pub rtt: Duration,
}

/// Builds the policy for a window in bytes and a slow start threshold, if there is one.
pub type Rebuild = Box<dyn Fn(u64, Option<u64>) -> Box<dyn CongestionControl> + Send>;

/// Where a connection is (RFC 9959 section 4).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Phase {
    /// The initial window is sent and confirms the path.
    Reconnaissance,
    /// The window has jumped, and nothing that was sent since is acknowledged yet.
    Unvalidated,
    /// Some of it is acknowledged.
    Validating,
    /// The jump has led to congestion.
    SafeRetreat,
    /// The policy decides.
    Normal,
}

impl Phase {
    /// All of them, in the order of their numbers.
    pub const ALL: [Phase; 5] =
        [Phase::Reconnaissance, Phase::Unvalidated, Phase::Validating, Phase::SafeRetreat, Phase::Normal];

    /// Its name in lists of events.
    pub fn name(self) -> &'static str {
        match self {
            Phase::Reconnaissance => "resume_reconnaissance",
            Phase::Unvalidated => "resume_unvalidated",
            Phase::Validating => "resume_validating",
            Phase::SafeRetreat => "resume_safe_retreat",
            Phase::Normal => "resume_normal",
        }
    }
}

/// The name under which [`CongestionControl::inspect`] returns the number of the phase.
pub const READING: &str = "careful_resume_phase";

/// A policy with careful resume.
pub struct CarefulResume {
    inner: Box<dyn CongestionControl>,
    rebuild: Rebuild,
    remembered: Remembered,
    phase: Phase,
    /// Initial window in bytes.
    initial: u64,
    mss: u64,
    /// Bytes acknowledged so far.
    acked: u64,
    /// PipeSize: bytes that the path is known to hold.
    pipe: u64,
    /// The window between reconnaissance and normal.
    window: u64,
    in_flight: u64,
    /// When the window jumped, and when the last packet of the unvalidated phase left.
    jumped_at: Instant,
    last_unvalidated: Instant,
    srtt: Duration,
}

impl CarefulResume {
    /// A connection whose policy begins as `rebuild` makes it for `initial` bytes.
    pub fn new(remembered: Remembered, initial: u64, rebuild: Rebuild) -> Self {
        CarefulResume {
            inner: rebuild(initial, None),
            rebuild,
            remembered,
            phase: Phase::Reconnaissance,
            initial,
            mss: 1200,
            acked: 0,
            pipe: 0,
            window: 0,
            in_flight: 0,
            jumped_at: Instant::ZERO,
            last_unvalidated: Instant::ZERO,
            srtt: Duration::ZERO,
        }
    }

    /// A connection whose policy `build` makes for a set-up: `setup` at first, later the same with the window and threshold with which the
    /// policy goes on.
    pub fn around(
        remembered: Remembered,
        setup: Setup,
        build: impl Fn(&Setup) -> Box<dyn CongestionControl> + Send + 'static,
    ) -> Self {
        let initial = setup.initial_window.bytes(setup.mss);
        let rebuild = move |window, ssthresh: Option<u64>| {
            let limit = ssthresh.map(|bytes| Limit::Bytes(Size::from_bytes(bytes)));
            let initial_window = InitialWindow::Bytes(window);
            build(&Setup { initial_window, initial_ssthresh: limit.or(setup.initial_ssthresh), ..setup })
        };
        CarefulResume::new(remembered, initial, Box::new(rebuild))
    }

    /// The present phase.
    pub fn phase(&self) -> Phase {
        self.phase
    }

    /// Bytes that the path is known to hold (PipeSize).
    pub fn pipe(&self) -> u64 {
        self.pipe
    }

    /// The policy decides.
    fn is_inner(&self) -> bool {
        matches!(self.phase, Phase::Reconnaissance | Phase::Normal)
    }

    /// Half of what is remembered (section 4.3.1).
    fn jump(&self) -> u64 {
        self.remembered.window / 2
    }

    /// An ACK in reconnaissance: is the path the one that is remembered, and may the window jump?
    fn reconnoitre(&mut self, ack: &Ack) {
        // Until all of the initial window is acknowledged.
        if self.acked < self.initial {
            return;
        }
        let saved = self.remembered.rtt.as_nanos();
        let same_path = (saved / 2..saved.saturating_mul(10)).contains(&ack.min_rtt.as_nanos());
        if !same_path || self.jump() <= self.inner.window() {
            self.phase = Phase::Normal;
            return;
        }
        // A sender without data could not validate the window.
        if !ack.app_limited {
            self.phase = Phase::Unvalidated;
            self.window = self.jump();
            self.pipe = ack.in_flight;
            self.jumped_at = ack.now;
            self.last_unvalidated = ack.now;
        }
    }

    /// An ACK after the jump. `sent_at` is when the newest packet left that it acknowledges.
    fn validate(&mut self, ack: &Ack, sent_at: Instant) {
        self.pipe += ack.acked;
        match self.phase {
            Phase::Unvalidated => {
                let full = ack.prior_in_flight + self.mss > self.window;
                if sent_at > self.jumped_at || full || ack.now > self.jumped_at + ack.srtt {
                    if ack.in_flight <= self.pipe {
                        // Less was sent than the path is known to hold.
                        return self.go_on(ack.now, self.pipe, None);
                    }
                    self.phase = Phase::Validating;
                    self.window = ack.in_flight.max(self.mss);
                }
            }
            Phase::Validating if sent_at >= self.last_unvalidated => {
                self.go_on(ack.now, self.window, None);
            }
            Phase::SafeRetreat if sent_at >= self.last_unvalidated => {
                self.go_on(ack.now, self.window, Some(self.pipe));
            }
            _ => {}
        }
    }

    /// The policy decides from now on.
    fn go_on(&mut self, now: Instant, window: u64, ssthresh: Option<u64>) {
        self.phase = Phase::Normal;
        self.inner = (self.rebuild)(window, ssthresh);
        self.inner.on_mss(self.mss);
        self.inner.on_established(now, Some(self.srtt).filter(|rtt| !rtt.is_zero()));
    }
}

impl CongestionControl for CarefulResume {
    fn probe(&self) -> Option<Probe> {
        self.inner.probe()
    }
    fn on_probed(&mut self, probed: &Probed<'_>) -> bool {
        self.inner.on_probed(probed)
    }
    fn ecn(&self) -> EcnUse {
        self.inner.ecn()
    }
    fn on_sack(&mut self, ack: &Ack) {
        if self.is_inner() {
            self.inner.on_sack(ack);
        }
    }
    fn on_mss(&mut self, mss: u64) {
        self.mss = mss;
        self.inner.on_mss(mss);
    }
    fn on_established(&mut self, now: Instant, rtt: Option<Duration>) {
        self.inner.on_established(now, rtt);
    }
    fn on_ack(&mut self, ack: &Ack) {
        self.acked += ack.acked;
        self.srtt = ack.srtt;
        self.in_flight = ack.in_flight;
        if self.is_inner() {
            self.inner.on_ack(ack);
            if self.phase == Phase::Reconnaissance {
                self.reconnoitre(ack);
            }
            return;
        }
        let rtt = ack.rtt.unwrap_or(ack.srtt).as_nanos();
        self.validate(ack, Instant::from_nanos(ack.now.as_nanos().saturating_sub(rtt)));
    }
    fn on_congestion(&mut self, event: &Congestion) {
        match self.phase {
            Phase::Reconnaissance | Phase::Normal => {
                self.phase = Phase::Normal;
                self.inner.on_congestion(event);
            }
            Phase::SafeRetreat if event.kind != CongestionKind::Timeout => {}
            _ => {
                // Section 4.5: half of what is known to fit.
                self.phase = Phase::SafeRetreat;
                self.window = match event.kind {
                    CongestionKind::Timeout => 2 * self.mss,
                    _ => (self.pipe / 2).max(self.initial),
                };
            }
        }
    }
    fn on_sent(&mut self, sent: &Sent) {
        self.in_flight = sent.in_flight;
        if self.phase == Phase::Unvalidated {
            self.last_unvalidated = sent.now;
        }
        if self.is_inner() {
            self.inner.on_sent(sent);
        }
    }
    fn on_back_off(&mut self, now: Instant) -> bool {
        self.inner.on_back_off(now)
    }
    fn on_transmission_start(&mut self, now: Instant, idle: Duration) {
        self.inner.on_transmission_start(now, idle);
    }
    fn remember_window(&mut self) {
        self.inner.remember_window();
    }
    fn on_idle(&mut self, restart_window: u64) {
        self.inner.on_idle(restart_window);
    }
    fn window(&self) -> u64 {
        if self.is_inner() { self.inner.window() } else { self.window.max(self.mss) }
    }
    fn ssthresh(&self) -> u64 {
        if self.is_inner() { self.inner.ssthresh() } else { u64::MAX }
    }
    fn in_slow_start(&self) -> bool {
        if self.is_inner() { self.inner.in_slow_start() } else { self.phase != Phase::SafeRetreat }
    }
    fn pacing_rate(&self) -> Option<Rate> {
        if self.is_inner() {
            return self.inner.pacing_rate();
        }
        // The jump is never sent as a burst (section 4.3.1): a window in a round trip.
        let rtt = u128::from(self.srtt.as_nanos().max(1));
        let bps = u128::from(self.window) * 8_000_000_000 / rtt;
        Some(Rate::from_bps(u64::try_from(bps).unwrap_or(u64::MAX).max(1)))
    }
    fn release(&mut self, now: Instant, bytes: u64) -> Instant {
        if self.is_inner() { self.inner.release(now, bytes) } else { now }
    }
    fn holds_tokens(&self) -> bool {
        self.inner.holds_tokens()
    }
    fn sets_rate(&self) -> bool {
        self.inner.sets_rate()
    }
    fn on_lost(&mut self, lost: &Lost) {
        if self.is_inner() {
            self.inner.on_lost(lost);
        }
    }
    fn on_recovery_end(&mut self) {
        if self.is_inner() {
            self.inner.on_recovery_end();
        }
    }
    fn inspect(&self, inspection: &mut Inspection) {
        self.inner.inspect(inspection);
        inspection.number(READING, f64::from(self.phase as u8));
        inspection.bytes("careful_resume_pipe", self.pipe as f64);
    }
    fn needs_delivery_rate(&self) -> bool {
        self.inner.needs_delivery_rate()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::ack_at;
    use crate::{Algorithm, Pacing, SlowStartKind, build_checked};
    use proptest::prelude::*;

    const MSS: u64 = 1200;
    const IW: u64 = 10 * MSS;
    const RTT: Duration = Duration::from_millis(600);

    fn rebuild() -> Rebuild {
        let algorithm: Algorithm = "reno".parse().unwrap();
        Box::new(move |window, ssthresh| {
            let setup = Setup {
                mss: MSS,
                initial_window: InitialWindow::Bytes(window),
                initial_ssthresh: ssthresh.map(|bytes| Limit::Bytes(Size::from_bytes(bytes))),
                pacing: Pacing::LINUX,
                ..Setup::default()
            };
            build_checked(&algorithm, &SlowStartKind::default(), &setup)
        })
    }

    fn resumed(window: u64, rtt: Duration) -> CarefulResume {
        let mut policy = CarefulResume::new(Remembered { window, rtt }, IW, rebuild());
        policy.on_mss(MSS);
        policy
    }

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    fn ack(now: u64, acked: u64, in_flight: u64, rtt: u64) -> Ack {
        let rtt = Duration::from_millis(rtt);
        let (round, round_start, prior_in_flight) = (1, true, in_flight + acked);
        let of_rtt = Ack { rtt: Some(rtt), srtt: rtt, min_rtt: rtt, ..ack_at(now, acked) };
        Ack { in_flight, prior_in_flight, round, round_start, ..of_rtt }
    }

    fn sent(now: u64, in_flight: u64) -> Sent {
        Sent { now: at(now), bytes: MSS, in_flight, retransmission: false }
    }

    fn loss(now: u64) -> Congestion {
        Congestion { now: at(now), kind: CongestionKind::Loss, flight_size: 0 }
    }

    /// Through reconnaissance: the initial window is acknowledged after an RTT; 2 MB are remembered.
    fn jumped() -> CarefulResume {
        let mut policy = resumed(2_000_000, RTT);
        policy.on_ack(&ack(600, IW, 0, 600));
        assert_eq!((policy.phase(), policy.window()), (Phase::Unvalidated, 1_000_000));
        policy
    }

    #[test]
    fn reconnaissance_ends_when_the_initial_window_is_acknowledged() {
        let mut policy = resumed(2_000_000, RTT);
        assert_eq!(policy.window(), IW);
        policy.on_ack(&ack(600, IW - MSS, MSS, 600));
        assert_eq!(policy.phase(), Phase::Reconnaissance);
        policy.on_ack(&ack(601, MSS, 5000, 600));
        assert_eq!((policy.phase(), policy.window(), policy.pipe()), (Phase::Unvalidated, 1_000_000, 5000));
        // One window in a round trip: 1 MB in 600 ms.
        assert_eq!(policy.pacing_rate().unwrap().as_bps() / 1000, 13_333);
    }

    #[test]
    fn another_path_a_loss_or_no_data_keep_it_from_jumping() {
        // RFC 9959 section 4.2: an RTT under half of what is remembered, or ten times that or more.
        for rtt in [299, 6000] {
            let mut policy = resumed(2_000_000, RTT);
            policy.on_ack(&ack(rtt, IW, 0, rtt));
            assert_eq!(policy.phase(), Phase::Normal, "{rtt} ms");
            assert!(policy.window() <= 2 * IW);
        }
        for rtt in [300, 5999] {
            let mut policy = resumed(2_000_000, RTT);
            policy.on_ack(&ack(rtt, IW, 0, rtt));
            assert_eq!(policy.phase(), Phase::Unvalidated, "{rtt} ms");
        }
        let mut policy = resumed(2_000_000, RTT);
        policy.on_congestion(&loss(500));
        policy.on_ack(&ack(600, IW, 0, 600));
        assert_eq!(policy.phase(), Phase::Normal);
        let mut policy = resumed(2_000_000, RTT);
        policy.on_ack(&Ack { app_limited: true, ..ack(600, IW, 0, 600) });
        assert_eq!((policy.phase(), policy.jump()), (Phase::Reconnaissance, 1_000_000));
    }

    #[test]
    fn the_first_ack_for_an_unvalidated_packet_begins_validation_with_what_is_in_flight() {
        let mut policy = jumped();
        policy.on_sent(&sent(601, 400_000));
        policy.on_sent(&sent(1199, 900_000));
        policy.on_ack(&ack(1202, MSS, 898_800, 600));
        assert_eq!((policy.phase(), policy.window(), policy.pipe()), (Phase::Validating, 898_800, MSS));
        // It does not grow meanwhile.
        policy.on_ack(&ack(1500, 400_000, 498_800, 600));
        assert_eq!((policy.phase(), policy.window()), (Phase::Validating, 898_800));
        // The last packet of that phase left at 1199 ms.
        policy.on_ack(&ack(1800, 498_800, 0, 601));
        assert_eq!((policy.phase(), policy.window()), (Phase::Normal, 898_800));
        assert_eq!(policy.ssthresh(), u64::MAX);
    }

    #[test]
    fn who_sends_less_than_the_path_is_known_to_hold_goes_on_with_that() {
        let mut policy = jumped();
        policy.on_sent(&sent(601, 20_000));
        policy.on_ack(&ack(1202, 15_000, 5000, 600));
        assert_eq!((policy.phase(), policy.window()), (Phase::Normal, 15_000));
    }

    #[test]
    fn congestion_after_the_jump_halves_what_is_known_to_fit() {
        let mut policy = jumped();
        policy.on_sent(&sent(601, 400_000));
        policy.on_sent(&sent(1199, 900_000));
        policy.on_ack(&ack(1202, 200_000, 700_000, 600));
        policy.on_congestion(&loss(1203));
        assert_eq!((policy.phase(), policy.window()), (Phase::SafeRetreat, 100_000));
        // Further losses of the same flight, and ACKs, leave the window; PipeSize grows.
        policy.on_congestion(&loss(1300));
        policy.on_ack(&ack(1400, 300_000, 200_000, 600));
        assert_eq!((policy.phase(), policy.window(), policy.pipe()), (Phase::SafeRetreat, 100_000, 500_000));
        // All of the unvalidated phase is acknowledged or lost: ssthresh is what was found to fit.
        policy.on_ack(&ack(1800, 10_000, 0, 601));
        assert_eq!((policy.phase(), policy.window(), policy.ssthresh()), (Phase::Normal, 100_000, 510_000));
        // It never jumps again.
        policy.on_ack(&ack(2500, 100_000, 0, 600));
        assert_eq!(policy.phase(), Phase::Normal);
    }

    #[test]
    fn a_safe_retreat_leaves_at_least_the_initial_window() {
        let mut policy = jumped();
        policy.on_congestion(&loss(700));
        assert_eq!((policy.phase(), policy.window()), (Phase::SafeRetreat, IW));
    }

    proptest! {
        /// Whatever happens: the window after the jump is never above half of what is remembered, never below one packet, and
        /// phases follow each other in order.
        #[test]
        fn phases_only_go_forward(
            saved in 20_000u64..10_000_000,
            steps in prop::collection::vec((0u8..3, 1u64..200, 1u64..50), 1..80),
        ) {
            let mut policy = resumed(saved, RTT);
            let (mut now, mut in_flight, mut before) = (0, 0u64, policy.phase());
            for (kind, gap, packets) in steps {
                now += gap;
                match kind {
                    0 => {
                        in_flight += packets * MSS;
                        policy.on_sent(&sent(now, in_flight));
                    }
                    1 if in_flight > 0 => {
                        let acked = (packets * MSS).min(in_flight);
                        in_flight -= acked;
                        policy.on_ack(&ack(now + 600, acked, in_flight, 600));
                    }
                    _ => policy.on_congestion(&loss(now)),
                }
                let phase = policy.phase();
                prop_assert!(phase as u8 >= before as u8, "{:?} after {:?}", phase, before);
                prop_assert!(policy.window() >= MSS);
                if matches!(phase, Phase::Unvalidated) {
                    prop_assert_eq!(policy.window(), (saved / 2).max(MSS));
                }
                before = phase;
            }
        }
    }
}
