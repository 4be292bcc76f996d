//! The controller on a fluid link: no packets, no QUIC.

use super::*;

/// A link with a queue without end; ACKs return for each packet, a round trip and its waiting time later.
struct Fluid {
    controller: RateController,
    now: Instant,
    free_at: Instant,
    base: Duration,
    /// Departure time, arrival of the ACK; lost packets have none.
    under_way: std::collections::VecDeque<(Instant, Option<Instant>)>,
    queue: Duration,
    state: u64,
    sent: u64,
}

const PACKET: u64 = 1500;

fn mbit(rate: u64) -> Rate {
    Rate::from_bps(rate * 1_000_000)
}

fn settings(start: Rate) -> Settings {
    Settings {
        start,
        most: mbit(1000),
        share: Share::Exclusive,
        mtu: 1472,
        headers: 28,
        rtt: Duration::from_millis(650),
        remembered: None,
    }
}

impl Fluid {
    fn new(start: Rate) -> Self {
        Fluid {
            controller: RateController::new(settings(start)),
            now: Instant::ZERO,
            free_at: Instant::ZERO,
            base: Duration::from_millis(650),
            under_way: std::collections::VecDeque::new(),
            queue: Duration::from_millis(650),
            state: 88_172_645_463_325_252,
            sent: 0,
        }
    }

    fn draw(&mut self) -> f64 {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        (self.state >> 11) as f64 / (1u64 << 53) as f64
    }

    /// A sender that always has something to send, until `end` seconds. `capacity` in Mbit/s and loss hold for this time.
    fn run(&mut self, end: u64, capacity: u64, loss: f64) {
        self.until(Instant::ZERO + Duration::from_secs(end), capacity, loss);
    }

    fn until(&mut self, end: Instant, capacity: u64, loss: f64) {
        let mut in_flight = self.under_way.len() as u64 * 1472;
        while self.now < end {
            while let Some((sent, ack)) = self.under_way.front().copied() {
                // Lost packets show when the next one is acknowledged.
                let shows = ack.or_else(|| self.under_way.iter().find_map(|(_, ack)| *ack));
                if shows.is_none_or(|shows| shows > self.now) {
                    break;
                }
                self.under_way.pop_front();
                in_flight -= 1472;
                match ack {
                    Some(_) => {
                        self.controller.on_ack(self.now, sent, 1472);
                        self.controller.on_end_acks(self.now, in_flight);
                    }
                    None => self.controller.on_loss(self.now, sent, 1472),
                }
            }
            match self.controller.allowance(self.now, 1) {
                Allowance::Packets(_) => {
                    self.controller.on_sent(self.now, 1472, 1, true);
                    in_flight += 1472;
                    self.sent += PACKET;
                    let begin = self.free_at.max(self.now);
                    let dropped = begin.since(self.now) > self.queue || self.draw() < loss;
                    if begin.since(self.now) <= self.queue {
                        self.free_at = begin + mbit(capacity).transmission_time(Size::from_bytes(PACKET));
                    }
                    self.under_way.push_back((self.now, (!dropped).then_some(self.free_at + self.base)));
                }
                Allowance::Until(release) => {
                    let ack = self.under_way.iter().find_map(|(_, ack)| *ack).unwrap_or(release);
                    self.now = release.min(ack).max(self.now + Duration::from_nanos(1));
                }
            }
        }
    }

    fn rate(&self) -> f64 {
        self.controller.rate().as_bps() as f64 / 1e6
    }

    fn queued(&self) -> f64 {
        self.free_at.since(self.now.min(self.free_at)).as_secs_f64()
    }
}

#[test]
fn a_right_rate_stays() {
    let mut link = Fluid::new(mbit(50));
    link.run(60, 50, 0.0);
    assert!((47.0..51.0).contains(&link.rate()), "{}", link.rate());
    assert!(link.sent as f64 * 8.0 > 0.97 * 50e6 * 60.0, "{}", link.sent);
    assert!(link.queued() < 0.04, "{}", link.queued());
}

#[test]
fn random_loss_does_not_slow_down() {
    for loss in [0.01, 0.05, 0.2] {
        let mut link = Fluid::new(mbit(50));
        link.run(60, 50, loss);
        assert!(link.sent as f64 * 8.0 > 0.94 * 50e6 * 60.0, "{loss}: {}", link.sent);
        let measured = link.controller.random_loss();
        assert!(loss > 0.1 || (measured - loss).abs() < 0.3 * loss, "{loss}: {measured}");
    }
}

#[test]
fn a_rate_that_is_twice_too_high_is_found_out_within_two_round_trips() {
    for loss in [0.0, 0.02] {
        let mut link = Fluid::new(mbit(100));
        link.run(2, 50, loss);
        assert!((45.0..52.0).contains(&link.rate()), "{loss}: {}", link.rate());
        link.run(30, 50, loss);
        assert!(link.queued() < 0.06, "{loss}: {}", link.queued());
        assert!((45.0..52.0).contains(&link.rate()), "{loss}: {}", link.rate());
    }
}

#[test]
fn a_rate_that_is_half_the_right_one_rises() {
    for loss in [0.0, 0.02] {
        let mut link = Fluid::new(mbit(25));
        link.run(6, 50, loss);
        assert!((46.0..52.0).contains(&link.rate()), "{loss}: {}", link.rate());
    }
}

#[test]
fn falls_and_rises_are_followed() {
    let mut link = Fluid::new(mbit(50));
    link.queue = Duration::from_millis(3250);
    link.run(20, 50, 0.01);
    link.run(26, 10, 0.01);
    assert!((9.0..10.3).contains(&link.rate()), "{}", link.rate());
    assert!(link.queued() < 0.1, "{}", link.queued());
    link.run(50, 50, 0.01);
    assert!((46.0..52.0).contains(&link.rate()), "{}", link.rate());
}

/// The link gives a fifth of its rate for 0.3 s: the rate is back two seconds later, and not after a train for each quarter.
#[test]
fn a_short_fall_does_not_cost_many_trains() {
    let mut link = Fluid::new(mbit(249));
    link.run(5, 250, 0.0);
    link.until(Instant::from_nanos(5_300_000_000), 50, 0.0);
    link.until(Instant::from_nanos(6_500_000_000), 250, 0.0);
    assert!(link.controller.overloads() > 0 && link.rate() < 200.0, "{}", link.rate());
    link.until(Instant::from_nanos(8_500_000_000), 250, 0.0);
    assert!((235.0..255.0).contains(&link.rate()), "{}", link.rate());
}

/// If the link stays slow, the train that tries the old rate leaves no more of a queue than any other.
#[test]
fn the_train_back_to_the_old_rate_leaves_a_short_queue() {
    let mut link = Fluid::new(mbit(249));
    link.queue = Duration::from_millis(3250);
    link.run(5, 250, 0.0);
    // What is in flight then needs 3 s.
    link.run(10, 50, 0.0);
    for tenth in 100..150 {
        link.until(Instant::from_nanos(tenth * 100_000_000), 50, 0.0);
        assert!(link.queued() < 0.06, "{} at {tenth}", link.queued());
    }
    assert!((45.0..52.0).contains(&link.rate()), "{}", link.rate());
}

/// A machine that stands still for 70 ms: all ACKs come at once, and behind them nothing waits.
#[test]
fn a_stall_of_the_machine_is_no_overload() {
    let mut link = Fluid::new(mbit(50));
    link.run(5, 50, 0.0);
    // A little queue before it, as on a link that is used to the full.
    link.free_at += Duration::from_millis(12);
    link.until(Instant::from_nanos(5_900_000_000), 50, 0.0);
    let overloads = link.controller.overloads();
    let end = link.now + Duration::from_millis(70);
    for (_, ack) in &mut link.under_way {
        *ack = ack.map(|ack| ack.max(end));
    }
    link.run(8, 50, 0.0);
    assert_eq!(link.controller.overloads(), overloads);
}

/// A policer or a queue of a few packets: overload shows as loss only.
#[test]
fn overload_without_a_queue_is_told_from_random_loss() {
    let mut link = Fluid::new(mbit(70));
    link.queue = Duration::from_millis(3);
    link.run(30, 50, 0.01);
    assert!((44.0..54.0).contains(&link.rate()), "{}", link.rate());
}

/// A sender that gives way to others, alone on the link after all: no queue stays, and the link is used.
#[test]
fn a_fair_sender_alone_keeps_no_queue() {
    for start in [50, 100] {
        let mut link = Fluid::new(mbit(start));
        link.controller = RateController::new(Settings { share: Share::Fair, ..settings(mbit(start)) });
        link.run(10, 50, 0.0);
        let sent = link.sent;
        for second in 11..=60 {
            link.run(second, 50, 0.0);
            assert!(link.queued() < 0.06, "{start}: {} at {second}", link.queued());
        }
        let used = (link.sent - sent) as f64 * 8.0 / 50e6 / 50.0;
        assert!(used > 0.85, "{start}: {used}");
    }
}

/// The others leave: what a window kept in the queue goes at its next cut.
#[test]
fn a_fair_sender_that_is_left_alone_empties_the_queue() {
    let mut link = Fluid::new(mbit(50));
    link.controller = RateController::new(Settings { share: Share::Fair, ..settings(mbit(50)) });
    link.run(5, 50, 0.0);
    // Others as a queue that is never empty: what they send fills the link's gaps.
    for ms in 5_000..25_000 {
        let now = Instant::from_nanos(ms * 1_000_000);
        link.free_at = link.free_at.max(now + Duration::from_millis(200));
        link.until(now, 50, 0.0);
    }
    assert!(link.controller.contest.is_on());
    link.run(90, 50, 0.0);
    assert!(!link.controller.contest.is_on() && link.queued() < 0.06, "{}", link.queued());
}
