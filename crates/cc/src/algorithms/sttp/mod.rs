//! STTP, the Shaped Token Transport Protocol: the rate begins at what a packet pair measured, packets leave against the tokens
//! of a bucket (depth sigma, rate rho), and both follow changes of the round trip. R. J. Wade: The Design and Simulation of a
//! Transport Protocol for Interactive Network Applications, PhD thesis, University of Leeds 2000, chapter 3.

mod contest;
mod gradient;
mod params;
mod practical;
mod train;

pub use contest::Rival;
pub use gradient::Scaling;
pub use params::{SttpParams, TokenUnit};
pub use practical::PracticalParams;

use crate::algorithms::cubic::CubicParams;
use crate::algorithms::reno::RenoParams;
use crate::max_filter::MaxFilter;
use crate::probe::{Probe, Probed};
use crate::registry::{Algorithm, SlowStartKind, build_checked};
use crate::slow_start::packet_pair::PacketPairParams;
use crate::token_bucket::TokenBucket;
use crate::{Ack, Bytes, Congestion, CongestionControl, CongestionKind, Pacing, Sent, Setup};
use contest::{Level, Round};
use gradient::Gradient;
use longhaul_units::{Duration, Instant, Rate};
use train::Train;

/// The largest window that TCP can offer (RFC 7323): no limit.
const NO_WINDOW_LIMIT: Bytes = 1 << 30;
/// Below this many packets the safety window never falls (deployment, "cwnd = max(4, ..)").
const LEAST_SAFETY_WINDOW: f64 = 4.0;
/// Fewer packets than these are no standing queue.
const LEAST_STANDING: f64 = 3.0;
/// Pacing of a rival's window, as Linux paces windows in congestion avoidance.
const RIVAL_PACING: f64 = 1.2;
/// The most that is given up at once while a queue stands.
const MOST_DRAINED: f64 = 0.5;
/// Rounds over which the largest delivery rate counts.
const DELIVERY_ROUNDS: u64 = 10;
/// So much is as good as no limit for a rate in packets per second and a burst in packets.
const MOST: f64 = 1e9;

/// STTP. Tokens are packets of one MSS and its headers; rates are tokens per second.
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
    train: Train,
    /// A train has told a rate.
    has_measured: bool,
    level: Level,
    /// sigma over rho at the beginning, in seconds.
    horizon: f64,
    /// rho when the queue began to stand.
    rho_before_draining: f64,
    /// The window that sets the rate in a contest.
    rival: Option<Box<dyn CongestionControl>>,
}

impl Sttp {
    pub(crate) fn new(params: SttpParams, probe: PacketPairParams, setup: &Setup) -> Self {
        let mss = setup.mss.max(1) as f64;
        let initial_window = (setup.initial_window as f64 / mss).max(1.0);
        let train = Train::new(params.train, params.reprobe, Instant::ZERO);
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
            train,
            has_measured: false,
            level: Level::default(),
            horizon: 1.0,
            rho_before_draining: 0.0,
            rival: None,
        }
    }

    /// L: length of a full packet on the wire, in bits.
    fn packet_bits(&self) -> f64 {
        8.0 * (self.mss + f64::from(self.params.header))
    }

    /// A full bucket of this rate, as deep as the rate fills in the horizon: sigma0 = clamp(ceil(rho0 T_sigma), 1, peer window).
    fn begin(&mut self, now: Instant, rho: f64, rtt: Duration) {
        self.srtt = rtt;
        let horizon = if self.params.sigma_horizon.is_zero() { rtt } else { self.params.sigma_horizon };
        let sigma = (rho * horizon.as_secs_f64()).ceil().clamp(1.0, self.peer_window());
        self.horizon = sigma / rho;
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
    /// rho_max: so many times the largest delivery rate, or what probes have measured: a flow that has just begun has not
    /// delivered much.
    fn most_rho(&self) -> f64 {
        let limit = self.params.rho_max * self.delivery.max().max(self.capacity.unwrap_or(0.0));
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

/// What goes beyond the thesis: each part is off by default.
impl Sttp {
    fn follow_gradient(&mut self, ack: &Ack) {
        if let Some(rtt) = ack.rtt.filter(|_| !self.is_compressed(ack.now)) {
            let factor = self.gradient.factor(&self.params, rtt);
            if factor != 1.0 {
                self.scale(ack.now, factor);
            }
        }
    }

    /// The delay that counts as a standing queue: a share of the base round trip, but some packets' time at least.
    fn standing_queue(&self, base: Duration) -> Duration {
        let packets = self.capacity.map_or(0.0, |capacity| LEAST_STANDING / capacity);
        base.mul_f64(self.params.standing).max(Duration::from_secs_f64(packets.min(1e3)))
    }

    /// A train has told the bottleneck's rate. The first one is where the connection begins: packets of full length, whose ACKs
    /// no return link spreads, measure better than small probes, and the passive end has sent none. After that rho moves
    /// towards it by the weights, upwards only where no queue stands, and at most to twice of what it is.
    fn on_train(&mut self, now: Instant, rate: f64) {
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
    fn on_round(&mut self, ack: &Ack, round: Round) {
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
        let algorithm = match self.params.rival {
            Rival::None => return,
            Rival::Reno => Algorithm::Reno(RenoParams::default()),
            Rival::Cubic => Algorithm::Cubic(CubicParams::default()),
        };
        let rho = self.bucket.rho().max(self.rho_before_draining);
        let window = (rho * ack.srtt.as_secs_f64()).max(LEAST_SAFETY_WINDOW) * self.mss;
        let setup = Setup {
            mss: self.mss as Bytes,
            initial_window: window as Bytes,
            initial_ssthresh: Some(window as Bytes),
            pacing: Pacing::Off,
        };
        self.rival = Some(build_checked(&algorithm, &SlowStartKind::default(), &setup));
    }

    fn follow_rival(&mut self, ack: &Ack) {
        if let Some(rival) = &mut self.rival {
            rival.on_ack(ack);
            self.take_rivals_rate(ack.now);
        }
    }
    /// rho = window / srtt, and a little more, so that the window is the limit.
    fn take_rivals_rate(&mut self, now: Instant) {
        let Some(rival) = &self.rival else { return };
        let srtt = self.srtt.as_secs_f64();
        if srtt > 0.0 {
            let rho = RIVAL_PACING * rival.window() as f64 / self.mss / srtt;
            self.set(now, rho * self.horizon, rho);
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
            self.horizon = self.initial_window / rho;
            self.bucket = full_bucket(&self.params, self.initial_window, rho, now);
        }
    }

    fn on_ack(&mut self, ack: &Ack) {
        self.srtt = ack.srtt;
        self.note_delivery(ack);
        self.bucket.acknowledge(ack.now, ack.in_flight as f64 / self.mss);
        if let Some(rate) = self.train.on_ack(ack) {
            self.on_train(ack.now, rate / self.mss);
        }
        let queue = self.level.observe(ack, self.standing_queue(ack.min_rtt));
        if self.rival.is_none() {
            self.follow_gradient(ack);
        }
        if let Some(round) = queue {
            self.on_round(ack, round);
        }
        self.follow_rival(ack);
        self.last_ack = ack.now;
    }

    fn on_congestion(&mut self, event: &Congestion) {
        self.train.give_up(event.now);
        if let Some(rival) = &mut self.rival {
            rival.on_congestion(event);
            if event.kind == CongestionKind::Timeout {
                self.bucket.after_timeout(event.now);
            }
            return self.take_rivals_rate(event.now);
        }
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
        match &mut self.rival {
            Some(rival) => {
                rival.on_back_off(now);
                self.take_rivals_rate(now);
            }
            None => self.scale(now, self.params.timeout_factor),
        }
        self.bucket.after_timeout(now);
        true
    }

    fn on_sent(&mut self, sent: &Sent) {
        let cost = self.cost(sent.bytes);
        self.bucket.spend(sent.now, cost);
        self.train.on_sent(sent);
    }

    fn release(&mut self, now: Instant, bytes: Bytes) -> Instant {
        let cost = self.cost(bytes);
        let ready = self.bucket.ready(now, cost);
        if self.train.hurries(now, ready <= now) { now } else { ready }
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
        let rival = self.rival.as_ref().map_or(f64::INFINITY, |rival| rival.window() as f64 / self.mss);
        let window = safety.min(self.peer_window()).min(rival) * self.mss;
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
            rate: Some(Rate::from_bps(2_304_000)), // 300 packets of 960 bytes a second
            rtt: None,
            delivered: 0,
            prior_delivered: 0,
            app_limited: false,
            newly_lost: 0,
            lost: 0,
            in_flight_when_sent: 0,
        };
        for rtt in [100, 50, 25] {
            acked(&mut sttp, rtt);
        }
        assert!((sttp.bucket.rho() - 312.5).abs() < 1e-3); // 1.25 * 250, what was probed
        sttp.on_ack(&Ack { delivery: Some(delivery), ..ack_at(1, PAYLOAD) });
        for rtt in [100, 50, 25, 12, 6, 3] {
            acked(&mut sttp, rtt);
        }
        assert!((sttp.bucket.rho() - 375.0).abs() < 1e-3);
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

    /// A policy with a probed rate of 250 packets a second whose base round trip is 100 ms, and so much of practice.
    fn practical(params: SttpParams) -> Sttp {
        probed(SttpParams { peer_window: 0, ..params }, 2_000_000, 100)
    }
    /// A round whose round trips are all this; the base is 100 ms.
    fn round(sttp: &mut Sttp, rtt_ms: u64) -> f64 {
        let rtt = Duration::from_millis(rtt_ms);
        let base = Duration::from_millis(100);
        for round_start in [true, false] {
            sttp.on_ack(&Ack { rtt: Some(rtt), srtt: rtt, min_rtt: base, round_start, ..ack_at(1, PAYLOAD) });
        }
        sttp.bucket.rho()
    }

    #[test]
    fn without_a_standing_queue_the_rate_grows() {
        let mut sttp = practical(SttpParams { grow: 0.02, ..SttpParams::default() });
        assert_eq!(round(&mut sttp, 100), 250.0); // no round is over yet
        assert!((round(&mut sttp, 100) - 255.0).abs() < 1e-6); // 2 % of 250, the capacity
        // From a quarter of the capacity by 2 % of sqrt(62.5 * 250) = 125.
        sttp.set(ms(1), 1.0, 62.5);
        assert!((round(&mut sttp, 100) - 65.0).abs() < 1e-6);
        let mut idle = practical(SttpParams::default());
        round(&mut idle, 100);
        assert_eq!(round(&mut idle, 100), 250.0);
    }

    #[test]
    fn a_standing_queue_is_drained() {
        let mut sttp = practical(SttpParams { drain: 0.1, rtt_hi: 10.0, ..SttpParams::default() });
        round(&mut sttp, 113);
        // Three packets' time are 12 ms, a tenth of the base 10 ms: 13 ms are a standing queue, a ninth of the round trip.
        assert!((round(&mut sttp, 120) - 250.0 * 100.0 / 113.0).abs() < 1e-3);
        // What that does is seen after another round; 20 ms are a sixth.
        let before = round(&mut sttp, 120);
        assert!((before - 250.0 * 100.0 / 113.0).abs() < 1e-3);
        assert!((round(&mut sttp, 120) - before * 100.0 / 120.0).abs() < 1e-3);
    }

    #[test]
    fn a_queue_that_stands_although_the_rate_gives_way_is_contended_for() {
        let params = SttpParams {
            drain: 0.1,
            rtt_hi: 10.0,
            rtt_lo: 0.0,
            rival: Rival::Reno,
            patience: 4,
            ..SttpParams::default()
        };
        let mut sttp = practical(params);
        for _ in 0..4 {
            round(&mut sttp, 200);
        }
        assert!((sttp.bucket.rho() - 250.0 * 0.25).abs() < 1e-6 && sttp.rival.is_none());
        // Four rounds of a standing queue: what was given up is taken back, 250 packets a second in a round trip of 200 ms
        // are 50 packets, and paced 1.2 times as fast as that.
        round(&mut sttp, 200);
        assert!(sttp.rival.is_some());
        assert!((sttp.window() as f64 / 960.0 - 50.0).abs() < 0.1, "{}", sttp.window());
        assert!((sttp.bucket.rho() - 300.0).abs() < 1.0, "{}", sttp.bucket.rho());
        // A loss halves the window as Reno's: half of FlightSize, ten packets.
        sttp.on_congestion(&event(CongestionKind::Loss));
        assert_eq!(sttp.window(), 5 * PAYLOAD);
        // The queue is empty for four rounds: the contest is over.
        for _ in 0..4 {
            round(&mut sttp, 100);
            assert!(sttp.rival.is_some());
        }
        round(&mut sttp, 100);
        assert!(sttp.rival.is_none());
        assert_eq!(sttp.window(), 1 << 30);
    }

    #[test]
    fn a_train_sets_the_rate_of_the_end_that_has_not_probed() {
        let mut passive = sttp(SttpParams { train: 4, peer_window: 0, ..SttpParams::default() });
        passive.on_established(ms(0), Some(Duration::from_millis(100)));
        assert_eq!(burst(&mut passive, ms(0)), 10);
        for packet in 1..=4 {
            let ack = ack_at(100 + 4 * packet, PAYLOAD);
            passive.on_ack(&Ack { delivered: packet * PAYLOAD, ..ack });
        }
        // A packet in 4 ms.
        assert!((passive.bucket.rho() - 250.0).abs() < 1e-6, "{}", passive.bucket.rho());
    }
}
