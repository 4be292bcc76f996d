//! STTP, the Shaped Token Transport Protocol: the rate begins at what a packet pair measured, packets leave against the tokens
//! of a bucket (depth sigma, rate rho), and both follow changes of the round trip. R. J. Wade: The Design and Simulation of a
//! Transport Protocol for Interactive Network Applications, PhD thesis, University of Leeds 2000, chapter 3.

mod beyond;
mod contest;
mod gradient;
mod params;
mod practical;
mod train;

pub use contest::Rival;
pub use gradient::Scaling;
pub use params::{SttpParams, TokenUnit};
pub use practical::PracticalParams;

use crate::max_filter::MaxFilter;
use crate::probe::{Probe, Probed};
use crate::slow_start::packet_pair::PacketPairParams;
use crate::token_bucket::TokenBucket;
use crate::{
    Ack, Bytes, Congestion, CongestionControl, CongestionKind, InitialWindow, Inspection, Sent, Setup,
};
use contest::Level;
use gradient::Gradient;
use longhaul_units::{Duration, Instant, Rate};
use train::Train;

/// The largest window that TCP can offer (RFC 7323): no limit.
const NO_WINDOW_LIMIT: Bytes = 1 << 30;
/// Below this many packets the safety window never falls (deployment, "cwnd = max(4, ..)").
const LEAST_SAFETY_WINDOW: f64 = 4.0;
/// Rounds over which the largest delivery rate counts.
const DELIVERY_ROUNDS: u64 = 10;
/// So much is as good as no limit for a rate in packets per second and a burst in packets.
const MOST: f64 = 1e9;

/// STTP. Tokens are packets of one MSS and its headers; rates are tokens per second.
pub struct Sttp {
    params: SttpParams,
    probe: PacketPairParams,
    mss: f64,
    given_window: InitialWindow,
    /// The same in packets, for a start without a probe.
    initial_window: f64,
    bucket: TokenBucket,
    gradient: Gradient,
    srtt: Duration,
    /// What the probes measured, in tokens per second.
    capacity: Option<f64>,
    /// The largest delivery rate of late, in tokens per second.
    delivery: MaxFilter,
    /// The round of the last delivery that was not limited by the application, and the number of such rounds.
    full_rounds: (u64, u64),
    last_ack: Instant,
    /// sigma and rho before the last cut.
    before_cut: Option<(f64, f64)>,
    train: Train,
    /// A train has measured a rate.
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
        let train = Train::new(params.train, params.reprobe, Instant::ZERO);
        let mut sttp = Sttp {
            bucket: full_bucket(&params, 1.0, 1.0, Instant::ZERO),
            params,
            probe,
            mss: 1.0,
            given_window: setup.initial_window,
            initial_window: 1.0,
            gradient: Gradient::default(),
            srtt: Duration::ZERO,
            capacity: None,
            delivery: MaxFilter::new(DELIVERY_ROUNDS),
            full_rounds: (0, 0),
            last_ack: Instant::ZERO,
            before_cut: None,
            train,
            has_measured: false,
            level: Level::default(),
            horizon: 1.0,
            rho_before_draining: 0.0,
            rival: None,
        };
        sttp.on_mss(setup.mss.max(1));
        sttp
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

    /// Rounds limited by the application neither lower the largest rate nor make it old: a connection that mostly waits has
    /// not seen a slower path. They count where they show a higher rate.
    fn note_delivery(&mut self, ack: &Ack) {
        let Some((sample, rate)) = ack.delivery.and_then(|sample| Some((sample, sample.rate?))) else {
            return;
        };
        let rate = rate.as_bps() as f64 / (8.0 * self.mss);
        if sample.app_limited {
            if rate <= self.delivery.max() {
                return;
            }
        } else if self.full_rounds.1 == 0 || ack.round != self.full_rounds.0 {
            self.full_rounds = (ack.round, self.full_rounds.1 + 1);
        }
        self.delivery.update(self.full_rounds.1, rate);
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

    fn follow_gradient(&mut self, ack: &Ack) {
        if let Some(rtt) = ack.rtt.filter(|_| !self.is_compressed(ack.now)) {
            let factor = self.gradient.factor(&self.params, rtt);
            if factor != 1.0 {
                self.scale(ack.now, factor);
            }
        }
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
    fn inspect(&self, inspection: &mut Inspection) {
        inspection.segments("sigma", self.bucket.sigma(), self.mss);
        inspection.byte_rate("rho", self.bucket.rho() * self.mss);
        inspection.byte_rate("delivery_rate", self.delivery.max() * self.mss);
        if let Some(capacity) = self.capacity {
            inspection.byte_rate("capacity", capacity * self.mss);
        }
    }
    /// A token is a packet of this length. Rates and depths that are known already go on as so many bits.
    fn on_mss(&mut self, mss: Bytes) {
        let mss = mss.max(1);
        let before = self.packet_bits();
        self.mss = mss as f64;
        self.initial_window = self.given_window.bytes(mss) as f64 / self.mss;
        if self.srtt.is_zero() {
            self.bucket = full_bucket(&self.params, self.initial_window, self.initial_window, Instant::ZERO);
        } else if self.packet_bits() != before {
            let by = before / self.packet_bits();
            self.capacity = self.capacity.map(|packets| packets * by);
            self.rho_before_draining *= by;
            self.delivery = MaxFilter::new(DELIVERY_ROUNDS);
            self.before_cut = None;
            self.scale(self.last_ack, by);
        }
        if let Some(rival) = &mut self.rival {
            rival.on_mss(mss);
        }
    }

    fn on_transmission_start(&mut self, now: Instant, idle: Duration) {
        if let Some(rival) = &mut self.rival {
            rival.on_transmission_start(now, idle);
        }
    }

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

    /// Not a congestion window: the peer's, and where set a limit in case ACKs stop.
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
mod tests;
