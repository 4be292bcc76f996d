//! Segments spaced at a rate, in recovery too.

use crate::common::{End, MSS, World, at_ms, ms};
use longhaul_cc::{Ack, Congestion, CongestionControl};
use longhaul_tcp::{Config, Limit};
use longhaul_units::{Duration, Rate};

/// A constant window of twice what the pacing rate, a segment each 5 ms, fills in a round trip of 100 ms.
struct Paced {
    sets_rate: bool,
}

impl CongestionControl for Paced {
    fn on_ack(&mut self, _: &Ack) {}
    fn on_congestion(&mut self, _: &Congestion) {}
    fn window(&self) -> u64 {
        u64::from(40 * MSS)
    }
    fn ssthresh(&self) -> u64 {
        0
    }
    fn pacing_rate(&self) -> Option<Rate> {
        Some(Rate::from_bps(1_600_000))
    }
    fn sets_rate(&self) -> bool {
        self.sets_rate
    }
}

/// Segments 30 to 39 are lost once.
fn run(sets_rate: bool, until: u64) -> World {
    let lost: Vec<u32> = (30..40).map(|segment| segment * MSS + 1).collect();
    let config = Config { mss: MSS, delayed_ack: None, ..Config::default() };
    let policy = Box::new(Paced { sets_rate });
    let mut world = World::established(config, policy, ms(50)).dropping_once(&lost);
    world.a.write_unlimited();
    world.run_until(at_ms(until));
    world
}

#[test]
fn retransmissions_keep_the_distance_too() {
    let world = run(false, 1000);
    let data: Vec<_> = world.log.iter().filter(|sent| sent.from == End::A).collect();
    assert_eq!(data.iter().filter(|sent| sent.transmit.retransmission).count(), 10);
    for pair in data.windows(2) {
        let gap = pair[1].at.since(pair[0].at);
        assert!(gap >= ms(5), "{gap} before sequence number {}", pair[1].seq());
    }
}

#[test]
fn in_recovery_a_paced_window_is_limited_by_recovery() {
    // The loss of segment 30, sent at 150 ms, is known at 310 ms (the SACK of 42), and repaired at 410 ms.
    let spent = |sets_rate| {
        let limits = |until| {
            let world = run(sets_rate, until);
            let time = world.a.limited_time(world.now);
            (time.get(Limit::Pacing), time.get(Limit::Recovery))
        };
        let (before, after) = (limits(310), limits(400));
        assert_eq!(before.0, ms(310));
        (after.0 - before.0, after.1)
    };
    assert_eq!(spent(false), (Duration::ZERO, ms(90)));
    // A rate of its own goes on as before, and there is room in the window: pacing is the limit.
    assert_eq!(spent(true), (ms(90), Duration::ZERO));
}
