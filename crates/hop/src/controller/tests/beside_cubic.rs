//! The controller beside flows of CUBIC behind one queue.

use super::*;
use longhaul_cc::algorithms::cubic::CubicParams;
use longhaul_cc::{
    Ack, Algorithm, Congestion, CongestionControl, CongestionKind, InitialWindow, Setup, SlowStartKind,
    build_checked,
};
use std::collections::VecDeque;

/// A packet of sender `by`; the controller is the last one.
struct Packet {
    by: usize,
    sent: Instant,
    lost: bool,
    back: Instant,
}

struct Other {
    policy: Box<dyn CongestionControl>,
    in_flight: u64,
    cut_at: Instant,
}

impl Other {
    fn new() -> Self {
        let setup = Setup { mss: 1472, initial_window: InitialWindow::Segments(10), ..Setup::default() };
        let cubic = Algorithm::Cubic(CubicParams::linux());
        let policy = build_checked(&cubic, &SlowStartKind::default(), &setup);
        Other { policy, in_flight: 0, cut_at: Instant::ZERO }
    }

    fn lose(&mut self, now: Instant, sent: Instant) {
        self.in_flight -= 1472;
        if sent >= self.cut_at {
            let flight_size = self.in_flight;
            self.policy.on_congestion(&Congestion { now, kind: CongestionKind::Loss, flight_size });
            self.cut_at = now;
        }
    }

    fn acknowledge(&mut self, now: Instant, rtt: Duration, base: Duration) {
        self.in_flight -= 1472;
        self.policy.on_ack(&Ack {
            now,
            acked: 1472,
            rtt: Some(rtt),
            srtt: rtt,
            min_rtt: base,
            in_flight: self.in_flight,
            prior_in_flight: self.in_flight + 1472,
            round: 0,
            round_start: false,
            delivery: None,
            delivered: 0,
            ack_ratio: 1,
            app_limited: false,
            receiver_limited: false,
            in_recovery: false,
        });
    }
}

/// A queue of `queue` in front of a link of `capacity` Mbit/s, and all that is on the way, in order.
struct Shared {
    controller: RateController,
    in_flight: u64,
    others: Vec<Other>,
    on_the_way: VecDeque<Packet>,
    free_at: Instant,
    capacity: u64,
    base: Duration,
    queue: Duration,
    /// Delivered to the controller's peer, in bytes.
    delivered: u64,
}

impl Shared {
    fn offer(&mut self, now: Instant, by: usize) {
        let begin = self.free_at.max(now);
        let lost = begin.since(now) > self.queue;
        if !lost {
            self.free_at = begin + mbit(self.capacity).transmission_time(Size::from_bytes(PACKET));
        }
        // A lost packet shows when the next one comes.
        self.on_the_way.push_back(Packet { by, sent: now, lost, back: self.free_at + self.base });
    }

    fn arrive(&mut self, packet: &Packet) {
        let now = packet.back;
        if packet.by < self.others.len() {
            let other = &mut self.others[packet.by];
            return match packet.lost {
                true => other.lose(now, packet.sent),
                false => other.acknowledge(now, now.since(packet.sent), self.base),
            };
        }
        self.in_flight -= 1472;
        if packet.lost {
            return self.controller.on_loss(now, packet.sent, 1472);
        }
        self.delivered += 1472;
        self.controller.on_ack(now, packet.sent, 1472);
        self.controller.on_end_acks(now, self.in_flight);
    }

    /// From `now` to `end`; the controller's sender has something to send from `start` on.
    fn run(&mut self, now: &mut Instant, end: Instant, start: Instant) {
        while *now < end {
            while self.on_the_way.front().is_some_and(|packet| packet.back <= *now) {
                let packet = self.on_the_way.pop_front().unwrap();
                self.arrive(&packet);
            }
            for number in 0..self.others.len() {
                while self.others[number].in_flight < self.others[number].policy.window() {
                    self.others[number].in_flight += 1472;
                    self.offer(*now, number);
                }
            }
            let mut next = self.on_the_way.front().map_or(end, |packet| packet.back);
            if *now < start {
                next = next.min(start);
            } else {
                match self.controller.allowance(*now, 1) {
                    Allowance::Packets(_) => {
                        self.controller.on_sent(*now, 1472, 1, true);
                        self.in_flight += 1472;
                        self.offer(*now, self.others.len());
                        continue;
                    }
                    Allowance::Until(release) => next = next.min(release),
                }
            }
            *now = next.max(*now + Duration::from_nanos(1));
        }
    }
}

/// The controller's parts of 50 Mbit/s in the first minute beside flows of CUBIC and in five minutes, as multiples of an equal share.
fn parts(others: usize, start: u64, rtt_ms: u64) -> [f64; 2] {
    let base = Duration::from_millis(rtt_ms);
    let at = |ms: u64| Instant::from_nanos(ms * 1_000_000);
    let mut world = Shared {
        controller: RateController::new(Settings { share: Share::Fair, rtt: base, ..settings(mbit(50)) }),
        in_flight: 0,
        others: (0..others).map(|_| Other::new()).collect(),
        on_the_way: VecDeque::new(),
        free_at: Instant::ZERO,
        capacity: 50,
        base,
        queue: base,
        delivered: 0,
    };
    let mut now = Instant::ZERO;
    // The handshake measures the round trip.
    world.controller.history.end_ack(at(rtt_ms), Instant::ZERO);
    let start = at(start);
    [60, 300].map(|seconds| {
        world.run(&mut now, start + Duration::from_secs(seconds), start);
        world.delivered as f64 * 8.0 / (50e6 * seconds as f64 / (others + 1) as f64)
    })
}

#[test]
fn explore() {
    for (others, rtt) in [(1, 600), (4, 600), (1, 60)] {
        for start in (0..20).map(|n| 5_000 + 3_000 * n) {
            println!("{others} {rtt} {start} {:.2?}", parts(others, start, rtt));
        }
    }
}
