//! A contest on a link that belongs to others too: the window of CUBIC (RFC 9438), which most of the others have. Equal windows in one
//! queue get equal parts of the link, and reductions at the same losses make windows equal, whatever they began with. A rule by delivery
//! rates keeps any part that it began with: 1.5 to 14 of 50 Mbit/s beside one flow of CUBIC, by the time at which it started.

use longhaul_cc::algorithms::cubic::CubicParams;
use longhaul_cc::{
    Ack, Algorithm, Congestion, CongestionControl, CongestionKind, InitialWindow, Reduces, Setup,
    SlowStartKind, build_checked,
};
use longhaul_units::{Duration, Instant, Limit, Size};

/// Fewer packets lost in a round trip than this are no congestion, beyond what is random.
const LEAST_LOST: f64 = 3.0;

pub struct FairWindow {
    policy: Box<dyn CongestionControl>,
    mtu: u64,
    /// Packets sent before the last reduction show nothing about the present window.
    cut_at: Instant,
    /// Packets lost in this round trip.
    lost: u64,
    round_began: Instant,
    /// The queue was not empty then.
    waited: Instant,
    delivered: u64,
}

impl std::fmt::Debug for FairWindow {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FairWindow").field("window", &self.policy.window()).finish_non_exhaustive()
    }
}

/// What an ACK shows.
#[derive(Clone, Copy, Debug)]
pub struct Acknowledged {
    pub now: Instant,
    pub bytes: u64,
    pub rtt: Duration,
    pub base_rtt: Duration,
    pub in_flight: u64,
    /// The sender had less to send than the window allows.
    pub app_limited: bool,
    /// Packets wait in the queue.
    pub waits: bool,
}

impl FairWindow {
    /// Begins with a reduction of what was in flight.
    pub fn new(now: Instant, window: u64, mtu: u16) -> Self {
        let size = Size::from_bytes(window.max(4 * u64::from(mtu)));
        let setup = Setup {
            mss: u64::from(mtu),
            initial_window: InitialWindow::Bytes(size.as_bytes()),
            initial_ssthresh: Some(Limit::Bytes(size)),
            reduces: Reduces::Cwnd,
            ..Setup::default()
        };
        let cubic = Algorithm::Cubic(CubicParams::linux());
        let mut fair = FairWindow {
            policy: build_checked(&cubic, &SlowStartKind::default(), &setup),
            mtu: u64::from(mtu),
            cut_at: now,
            lost: 0,
            round_began: now,
            waited: now,
            delivered: 0,
        };
        fair.cut(now);
        fair
    }

    /// Most bytes in flight.
    pub fn window(&self) -> u64 {
        self.policy.window()
    }

    fn cut(&mut self, now: Instant) {
        let kind = CongestionKind::Loss;
        self.policy.on_congestion(&Congestion { now, kind, flight_size: self.policy.window() });
        (self.cut_at, self.lost, self.round_began) = (now, 0, now);
    }

    /// Packets were lost, of which a share of `random` does not depend on what is sent.
    pub fn on_loss(&mut self, now: Instant, sent: Instant, packets: u64, random: f64) {
        if sent < self.cut_at {
            return;
        }
        self.lost += packets;
        let by_chance = random * self.window() as f64 / self.mtu as f64;
        if self.lost as f64 > by_chance + LEAST_LOST * (by_chance + 1.0).sqrt() {
            self.cut(now);
        }
    }

    /// All of an ACK; false if the queue has been empty for so long that there is no contest any more.
    pub fn on_ack(&mut self, ack: Acknowledged) -> bool {
        let Acknowledged { now, rtt, .. } = ack;
        self.delivered += ack.bytes;
        self.policy.on_ack(&Ack {
            now,
            acked: ack.bytes,
            rtt: Some(rtt),
            srtt: rtt,
            min_rtt: ack.base_rtt,
            in_flight: ack.in_flight,
            prior_in_flight: ack.in_flight + ack.bytes,
            round: 0,
            round_start: false,
            delivery: None,
            delivered: self.delivered,
            ack_ratio: 1,
            app_limited: ack.app_limited,
            receiver_limited: false,
            in_recovery: false,
        });
        if now.since(self.round_began) >= rtt {
            (self.lost, self.round_began) = (0, now);
        }
        if ack.waits {
            self.waited = now;
        }
        now.since(self.waited) <= rtt + rtt
    }
}
