//! STTP, the Shaped Token Transport Protocol: the rate begins at what a packet pair measured, packets leave against the tokens
//! of a bucket (depth sigma, rate rho), and both follow changes of the round trip. R. J. Wade: The Design and Simulation of a
//! Transport Protocol for Interactive Network Applications, PhD thesis, University of Leeds 2000, chapter 3.

mod gradient;
mod params;

pub use gradient::Scaling;
pub use params::{SttpParams, TokenUnit};

use crate::max_filter::MaxFilter;
use crate::probe::{Probe, Probed};
use crate::slow_start::packet_pair::PacketPairParams;
use crate::token_bucket::TokenBucket;
use crate::{Ack, Bytes, Congestion, CongestionControl, CongestionKind, Sent, Setup};
use gradient::Gradient;
use longhaul_units::{Duration, Instant, Rate};

/// The largest window that TCP can offer (RFC 7323): no limit.
const NO_WINDOW_LIMIT: Bytes = 1 << 30;
/// Below this many packets the safety window never falls (deployment, "cwnd = max(4, ..)").
const LEAST_SAFETY_WINDOW: f64 = 4.0;
/// Rounds over which the largest delivery rate counts.
const DELIVERY_ROUNDS: u64 = 10;
/// So much is as good as no limit for a rate in packets per second and a burst in packets.
const MOST: f64 = 1e9;

/// STTP. Tokens are packets of one MSS and its headers; rates are tokens per second.
#[derive(Clone, Debug)]
pub struct Sttp {
    params: SttpParams,
    probe: PacketPairParams,
    mss: f64,
    /// The initial window in packets, for a start without a probe.
    initial_window: f64,
    bucket: TokenBucket,
    gradient: Gradient,
    srtt: Duration,
    /// What the probes measured, in tokens per second.
    capacity: Option<f64>,
    /// The largest delivery rate of late, in tokens per second.
    delivery: MaxFilter,
    last_ack: Instant,
    /// sigma and rho before the last cut.
    before_cut: Option<(f64, f64)>,
}

impl Sttp {
    pub(crate) fn new(params: SttpParams, probe: PacketPairParams, setup: &Setup) -> Self {
        let mss = setup.mss.max(1) as f64;
        let initial_window = (setup.initial_window as f64 / mss).max(1.0);
        Sttp {
            bucket: full_bucket(&params, initial_window, initial_window, Instant::ZERO),
            params,
            probe,
            mss,
            initial_window,
            gradient: Gradient::default(),
            srtt: Duration::ZERO,
            capacity: None,
            delivery: MaxFilter::new(DELIVERY_ROUNDS),
            last_ack: Instant::ZERO,
            before_cut: None,
        }
    }

    /// L: length of a full packet on the wire, in bits.
    fn packet_bits(&self) -> f64 {
        8.0 * (self.mss + f64::from(self.params.header))
    }

    /// A full bucket of this rate, as deep as the rate fills in the horizon: sigma0 = clamp(ceil(rho0 T_sigma), 1, peer window).
    fn begin(&mut self, now: Instant, rho: f64, rtt: Duration) {
        let horizon = if self.params.sigma_horizon.is_zero() { rtt } else { self.params.sigma_horizon };
        let sigma = (rho * horizon.as_secs_f64()).ceil().clamp(1.0, self.peer_window());
        self.bucket = full_bucket(&self.params, sigma, rho, now);
    }

    /// A rate without an estimate: the initial window in a round trip.
    fn rate_of_initial_window(&self, rtt: Duration) -> f64 {
        let seconds = rtt.as_secs_f64();
        let rho = if seconds > 0.0 { self.initial_window / seconds } else { self.initial_window };
        rho.clamp(self.least_rho(), MOST)
    }

    /// In packets; infinite if there is none.
    fn peer_window(&self) -> f64 {
        if self.params.peer_window == 0 { f64::INFINITY } else { f64::from(self.params.peer_window) }
    }

    fn least_rho(&self) -> f64 {
        let srtt = self.srtt.as_secs_f64();
        let per_rtt = if srtt > 0.0 { self.params.rho_min_per_rtt / srtt } else { 0.0 };
        self.params.rho_min.max(per_rtt)
    }
    /// rho_max: so many times the largest delivery rate, once there is one.
    fn most_rho(&self) -> f64 {
        let limit = self.params.rho_max * self.delivery.max();
        if limit > 0.0 { limit.max(self.least_rho()) } else { MOST }
    }

    /// sigma and rho times F, within their bounds.
    fn scale(&mut self, now: Instant, factor: f64) {
        let (sigma, rho) = (self.bucket.sigma() * factor, self.bucket.rho() * factor);
        self.set(now, sigma, rho);
    }
    fn set(&mut self, now: Instant, sigma: f64, rho: f64) {
        let rho = rho.clamp(self.least_rho(), self.most_rho());
        let sigma = sigma.clamp(self.params.sigma_min, MOST);
        self.bucket.set(now, sigma, rho, self.params.scale_tokens);
    }

    /// An ACK that comes sooner after the last than the bottleneck can send packets was held up and let go with others: its
    /// round trip is no measure.
    fn is_compressed(&self, now: Instant) -> bool {
        let share = self.params.compressed_acks;
        let spacing = self.capacity.map_or(0.0, |capacity| 1.0 / capacity);
        share > 0.0 && now.since(self.last_ack).as_secs_f64() < share * spacing
    }

    fn note_delivery(&mut self, ack: &Ack) {
        if let Some(rate) = ack.delivery.and_then(|sample| sample.rate) {
            self.delivery.update(ack.round, rate.as_bps() as f64 / (8.0 * self.mss));
        }
    }

    /// Tokens that a packet with so much payload costs. Bare FINs cost none.
    fn cost(&self, bytes: Bytes) -> f64 {
        match self.params.token {
            _ if bytes == 0 => 0.0,
            TokenUnit::Packet => 1.0,
            TokenUnit::Bytes => 8.0 * (bytes as f64 + f64::from(self.params.header)) / self.packet_bits(),
        }
    }

    fn cut(&mut self, now: Instant, factor: f64) {
        self.before_cut = Some((self.bucket.sigma(), self.bucket.rho()));
        self.scale(now, factor);
    }

    fn undo(&mut self, now: Instant) {
        if let Some((sigma, rho)) = self.before_cut.take() {
            if self.bucket.rho() < rho {
                self.set(now, sigma, rho);
            }
        }
    }
}

fn full_bucket(params: &SttpParams, sigma: f64, rho: f64, now: Instant) -> TokenBucket {
    TokenBucket::full(params.bucket, sigma, rho, f64::from(params.circulation), now)
}

impl CongestionControl for Sttp {
    fn probe(&self) -> Option<Probe> {
        Some(self.probe.probe())
    }

    /// rho0 = C_est / (8 L). In strict mode no estimate, or one below rho_fail, ends the connection.
    fn on_probed(&mut self, probed: &Probed<'_>) -> bool {
        let estimate =
            probed.bottleneck(self.probe.filter).map(|rate| rate.as_bps() as f64 / self.packet_bits());
        if self.probe.is_strict() && estimate.is_none_or(|rho| rho < self.params.rho_fail) {
            return false;
        }
        self.capacity = estimate;
        let rho = estimate.unwrap_or_else(|| self.rate_of_initial_window(probed.rtt));
        self.begin(probed.now, rho.clamp(self.least_rho(), MOST), probed.rtt);
        true
    }

    /// The passive end has sent no probes: it begins with the initial window.
    fn on_established(&mut self, now: Instant, rtt: Option<Duration>) {
        let Some(rtt) = rtt else { return };
        if self.srtt.is_zero() {
            self.srtt = rtt;
        }
        if self.capacity.is_none() {
            let rho = self.rate_of_initial_window(rtt);
            self.bucket = full_bucket(&self.params, self.initial_window, rho, now);
        }
    }

    fn on_ack(&mut self, ack: &Ack) {
        self.srtt = ack.srtt;
        self.note_delivery(ack);
        self.bucket.acknowledge(ack.now, ack.in_flight as f64 / self.mss);
        if let Some(rtt) = ack.rtt.filter(|_| !self.is_compressed(ack.now)) {
            let factor = self.gradient.factor(&self.params, rtt);
            if factor != 1.0 {
                self.scale(ack.now, factor);
            }
        }
        self.last_ack = ack.now;
    }

    fn on_congestion(&mut self, event: &Congestion) {
        match event.kind {
            CongestionKind::Loss | CongestionKind::EcnEcho => self.cut(event.now, self.params.loss_factor),
            CongestionKind::Timeout => {
                self.cut(event.now, self.params.timeout_factor);
                self.bucket.after_timeout(event.now);
            }
            CongestionKind::Spurious => self.undo(event.now),
        }
    }

    fn on_back_off(&mut self, now: Instant) -> bool {
        self.scale(now, self.params.timeout_factor);
        self.bucket.after_timeout(now);
        true
    }

    fn on_sent(&mut self, sent: &Sent) {
        let cost = self.cost(sent.bytes);
        self.bucket.spend(sent.now, cost);
    }

    fn release(&mut self, now: Instant, bytes: Bytes) -> Instant {
        let cost = self.cost(bytes);
        self.bucket.ready(now, cost)
    }
    fn holds_tokens(&self) -> bool {
        true
    }
    fn pacing_rate(&self) -> Option<Rate> {
        Some(Rate::from_bps_f64((8.0 * self.mss * self.bucket.rho()).max(1.0)))
    }
    fn sets_rate(&self) -> bool {
        true
    }
    fn needs_delivery_rate(&self) -> bool {
        self.params.rho_max > 0.0
    }

    /// Not a congestion window: the peer's, and if asked for a limit in case ACKs stop.
    fn window(&self) -> Bytes {
        let safety = if self.params.window_gain > 0.0 && !self.srtt.is_zero() {
            let filled = self.params.window_gain * self.bucket.rho() * self.srtt.as_secs_f64();
            filled.max(LEAST_SAFETY_WINDOW).max(self.initial_window)
        } else {
            f64::INFINITY
        };
        let window = safety.min(self.peer_window()) * self.mss;
        (window as Bytes).clamp(self.mss as Bytes, NO_WINDOW_LIMIT)
    }
    /// There is none.
    fn ssthresh(&self) -> Bytes {
        Bytes::MAX
    }
    fn in_slow_start(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Algorithm;
    use crate::testing::{ack_at, setup};
    use longhaul_units::Size;

    /// Payload of a packet of 1000 bytes.
    const PAYLOAD: Bytes = 960;

    fn ms(millis: u64) -> Instant {
        Instant::from_nanos(millis * 1_000_000)
    }
    fn sttp(params: SttpParams) -> Sttp {
        let setup = Setup { mss: PAYLOAD, ..setup(10 * PAYLOAD, None) };
        Sttp::new(params, PacketPairParams::default(), &setup)
    }
    /// Probes of 40 bytes over a bottleneck, with this round trip.
    fn probe(sttp: &mut Sttp, bits_per_second: u64, rtt_ms: u64) -> bool {
        let size = Size::from_bytes(40);
        let gap = [Rate::from_bps(bits_per_second).transmission_time(size)];
        let rtt = Duration::from_millis(rtt_ms);
        sttp.on_probed(&Probed { now: ms(0), rtt, size, gaps: &gap })
    }
    fn probed(params: SttpParams, bits_per_second: u64, rtt_ms: u64) -> Sttp {
        let mut sttp = sttp(params);
        assert!(probe(&mut sttp, bits_per_second, rtt_ms));
        sttp
    }
    fn acked(sttp: &mut Sttp, rtt_ms: u64) {
        let rtt = Duration::from_millis(rtt_ms);
        sttp.on_ack(&Ack { rtt: Some(rtt), srtt: rtt, in_flight: PAYLOAD, ..ack_at(1, PAYLOAD) });
    }
    fn event(kind: CongestionKind) -> Congestion {
        Congestion { now: ms(1), kind, flight_size: 10 * PAYLOAD }
    }
    /// Packets that can leave at once.
    fn burst(sttp: &mut Sttp, now: Instant) -> u64 {
        let mut sent = 0;
        while sttp.release(now, PAYLOAD) == now {
            sttp.on_sent(&Sent { now, bytes: PAYLOAD, in_flight: 0, retransmission: false });
            sent += 1;
        }
        sent
    }

    /// Section 1.2: "64 kb/s -> 64000 / packetSize(bits) timer events per second": 8 for 1000 bytes.
    #[test]
    fn the_probe_sets_the_rate_of_tokens() {
        for (rate, rho) in [(64_000, 8.0), (128_000, 16.0), (2_000_000, 250.0)] {
            let sttp = probed(SttpParams::default(), rate, 100);
            assert!((sttp.bucket.rho() - rho).abs() < 1e-6 * rho, "{}", sttp.bucket.rho());
        }
    }

    /// Section 1.2: sigma0 = clamp(ceil(rho0 * RTT0), 1, peer window), and the bucket starts full.
    #[test]
    fn the_first_burst_is_the_bandwidth_delay_product_within_the_peers_window() {
        let mut slow = probed(SttpParams::default(), 128_000, 21); // 0.34 packets
        assert_eq!(burst(&mut slow, ms(0)), 1);
        let mut middle = probed(SttpParams::default(), 500_000, 100); // 6.25 packets
        assert_eq!(burst(&mut middle, ms(0)), 7);
        let mut fast = probed(SttpParams::default(), 2_000_000, 1000); // 250 packets
        assert_eq!(burst(&mut fast, ms(0)), 20);
        let seconds =
            SttpParams { sigma_horizon: Duration::from_secs(2), peer_window: 0, ..SttpParams::default() };
        assert_eq!(burst(&mut probed(seconds, 128_000, 21), ms(0)), 32);
    }

    #[test]
    fn packets_leave_at_the_rate_of_tokens() {
        let mut sttp = probed(SttpParams::default(), 128_000, 21);
        assert_eq!(burst(&mut sttp, ms(0)), 1);
        // 16 packets a second.
        assert_eq!(sttp.release(ms(0), PAYLOAD), Instant::from_nanos(62_500_000));
        assert_eq!(burst(&mut sttp, Instant::from_nanos(62_500_000)), 1);
    }

    /// Section 1.2: dead "if rho0 < rho_fail (default 1 token/s, i.e. C_est < 8*L bit/s)", or without an estimate.
    #[test]
    fn strict_mode_gives_up_where_normal_mode_goes_on() {
        let mut strict = sttp(SttpParams::default());
        assert!(!probe(&mut strict, 7999, 100));
        assert!(probe(&mut strict, 8001, 100));
        let none =
            Probed { now: ms(0), rtt: Duration::from_millis(100), size: Size::from_bytes(40), gaps: &[] };
        assert!(!strict.on_probed(&none));
        let mut normal = sttp(SttpParams::default());
        normal.probe.retries = 5;
        assert!(probe(&mut normal, 800, 100));
        assert_eq!(normal.bucket.rho(), 1.0); // rho_min
        assert!(normal.on_probed(&none));
        assert_eq!(normal.bucket.rho(), 100.0); // ten packets in 100 ms
    }

    #[test]
    fn sigma_and_rho_follow_the_round_trip_together() {
        let mut sttp = probed(SttpParams::default(), 2_000_000, 40); // rho 250, sigma 10
        acked(&mut sttp, 100);
        acked(&mut sttp, 85);
        assert!((sttp.bucket.rho() - 268.75).abs() < 1e-3 && (sttp.bucket.sigma() - 10.75).abs() < 1e-6);
        acked(&mut sttp, 85);
        assert!((sttp.bucket.rho() - 268.75).abs() < 1e-3);
        acked(&mut sttp, 170); // twice the RTT: G = 0.1 at least, here 2 - 2 = 0, so 0.1
        assert!((sttp.bucket.rho() - 268.75 * 0.55).abs() < 1e-3);
    }

    /// Section 1.6: sigma and rho times 0.9.
    #[test]
    fn a_loss_costs_ten_per_cent_and_no_slow_start() {
        for kind in [CongestionKind::Loss, CongestionKind::EcnEcho, CongestionKind::Timeout] {
            let mut sttp = probed(SttpParams::default(), 2_000_000, 40);
            sttp.on_congestion(&event(kind));
            assert!((sttp.bucket.rho() - 225.0).abs() < 1e-3 && (sttp.bucket.sigma() - 9.0).abs() < 1e-6);
            assert!(!sttp.in_slow_start());
            sttp.on_congestion(&event(CongestionKind::Spurious));
            assert!((sttp.bucket.rho() - 250.0).abs() < 1e-3);
        }
        let mut safer = probed(SttpParams { timeout_factor: 0.5, ..SttpParams::default() }, 2_000_000, 40);
        safer.on_congestion(&event(CongestionKind::Timeout));
        assert!((safer.bucket.rho() - 125.0).abs() < 1e-3);
    }

    #[test]
    fn a_timeout_leaves_one_token() {
        let mut sttp = probed(SttpParams::default(), 2_000_000, 40);
        sttp.on_congestion(&event(CongestionKind::Timeout));
        assert_eq!(burst(&mut sttp, ms(1)), 1);
    }

    #[test]
    fn sigma_and_rho_have_a_floor() {
        let mut sttp = probed(SttpParams::default(), 2_000_000, 40);
        for _ in 0..200 {
            sttp.on_congestion(&event(CongestionKind::Loss));
        }
        assert_eq!((sttp.bucket.rho(), sttp.bucket.sigma()), (1.0, 1.0));
        let mut per_rtt = probed(SttpParams { rho_min_per_rtt: 1.0, ..SttpParams::default() }, 2_000_000, 40);
        acked(&mut per_rtt, 100);
        for _ in 0..200 {
            per_rtt.on_congestion(&event(CongestionKind::Loss));
        }
        assert_eq!(per_rtt.bucket.rho(), 10.0); // one in 100 ms
    }

    /// Section 1.9: rho_max, in deployment 1.25 times the largest measured delivery rate.
    #[test]
    fn the_delivery_rate_limits_rho() {
        let params = SttpParams { rho_max: 1.25, ..SttpParams::default() };
        let mut sttp = probed(params, 2_000_000, 40);
        assert!(sttp.needs_delivery_rate());
        let delivery = crate::Delivery {
            rate: Some(Rate::from_bps(768_000)), // 100 packets of 960 bytes a second
            rtt: None,
            delivered: 0,
            prior_delivered: 0,
            app_limited: false,
            newly_lost: 0,
            lost: 0,
            in_flight_when_sent: 0,
        };
        sttp.on_ack(&Ack { delivery: Some(delivery), ..ack_at(1, PAYLOAD) });
        acked(&mut sttp, 90);
        assert!((sttp.bucket.rho() - 125.0).abs() < 1e-6);
    }

    #[test]
    fn small_packets_cost_a_token_or_their_bytes() {
        let packets = probed(SttpParams::default(), 2_000_000, 40);
        assert_eq!((packets.cost(60), packets.cost(PAYLOAD), packets.cost(0)), (1.0, 1.0, 0.0));
        let bytes = sttp(SttpParams { token: TokenUnit::Bytes, ..SttpParams::default() });
        assert_eq!((bytes.cost(60), bytes.cost(PAYLOAD)), (0.1, 1.0));
    }

    #[test]
    fn the_window_is_the_peers_or_a_safety_limit() {
        assert_eq!(probed(SttpParams::default(), 2_000_000, 40).window(), 19_200); // 20 packets
        let params = SttpParams { peer_window: 0, ..SttpParams::default() };
        assert_eq!(probed(params.clone(), 2_000_000, 40).window(), 1 << 30);
        // Section 1.11: cwnd = max(4, 2 rho srtt): 2 * 250 * 0.1 = 50 packets.
        let mut sttp = probed(SttpParams { window_gain: 2.0, ..params }, 2_000_000, 40);
        acked(&mut sttp, 100);
        assert_eq!(sttp.window(), 48_000);
    }

    #[test]
    fn compressed_acks_measure_nothing() {
        let params = SttpParams { compressed_acks: 0.5, ..SttpParams::default() };
        let mut sttp = probed(params, 2_000_000, 40); // a packet in 4 ms
        let mut at = |ms_now: u64, rtt_ms: u64| {
            let rtt = Some(Duration::from_millis(rtt_ms));
            sttp.on_ack(&Ack { rtt, ..ack_at(ms_now, PAYLOAD) });
            sttp.bucket.rho()
        };
        at(100, 100);
        assert!((at(101, 80) - 250.0).abs() < 1e-3);
        assert!((at(104, 80) - 275.0).abs() < 1e-3);
    }

    #[test]
    fn without_a_probe_the_initial_window_is_the_rate() {
        let mut passive = sttp(SttpParams::default());
        passive.on_established(ms(50), Some(Duration::from_millis(50)));
        assert_eq!(passive.bucket.rho(), 200.0); // ten packets in 50 ms
        assert_eq!(burst(&mut passive, ms(50)), 10);
    }

    #[test]
    fn refuses_what_makes_no_sense() {
        for (json, message) in [
            (r#"{"kind": "sttp", "rtt_hi": 0.9}"#, "sttp: rtt_hi must be at least 1 and at most 10, not 0.9"),
            (r#"{"kind": "sttp", "w_new": 1.5}"#, "sttp: w_new must be at least 0 and at most 1, not 1.5"),
            (r#"{"kind": "sttp", "scaling": "r1"}"#, "sttp: unknown variant `r1`"),
        ] {
            let error = serde_json::from_str::<Algorithm>(json).unwrap_err().to_string();
            assert!(error.starts_with(message), "{error}");
        }
    }
}
