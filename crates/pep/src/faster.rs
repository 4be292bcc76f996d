//! Which carrier is faster where both pass: a network may police UDP, that is, drop what exceeds some rate of it, and let TCP pass.
//! Without a clock and without sockets.
//!
//! QUIC carries new connections. Where it carries much less than the link is known to, while more waits for it all the time, new
//! connections try TCP. They stay there if it is much faster, and QUIC is tried again after a time. A carrier that nobody uses shows
//! nothing, so that only transfers of seconds are compared. That something waits is seen by the node that sends: a hub reports it
//! ([`longhaul_hop::PeerStats::peer_waited`]); short transfers one after the other look like a slow carrier to the terminal.

use longhaul_units::Rate;
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// A rate is judged over so long, without a break: a policer's burst and the search for the rate are over then.
const JUDGED: Duration = Duration::from_secs(3);
/// Part of that time in which something has waited for QUIC: a hub's reports come in steps of 250 ms.
const WAITED: f64 = 0.8;
/// TCP's over so long at least: what a short transfer has carried counts as if it had lasted as long.
const TRIED: Duration = Duration::from_secs(1);
/// A transfer that stands still for so long has had a break: more than a round trip over a geostationary satellite.
const BREAK: Duration = Duration::from_secs(1);
/// Nobody has used TCP for so long: nothing is known of it, and QUIC takes new connections again.
const TRIAL: Duration = Duration::from_secs(60);
/// After a trial the next one is so far away, and twice as far each time that it ends as the last one did, up to the second value. The
/// same for a trial of QUIC.
const PAUSE: (Duration, Duration) = (Duration::from_secs(600), Duration::from_secs(3600));

/// Bytes of the flows of one carrier since the beginning.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    /// Received and handed on.
    pub down: u64,
    /// Received in order, and waiting to be handed on.
    pub unread: u64,
    /// Delivered to the other node.
    pub up: u64,
    /// Waiting in this node to be sent to it.
    pub queued: u64,
    /// How long something has waited for the path, downwards and upwards; unknown over TCP.
    pub waited: (Duration, Duration),
}

/// What the link is known to carry.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Known {
    pub down: Option<Rate>,
    pub up: Option<Rate>,
}

/// A direction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Way {
    Down,
    Up,
}

/// The rate of TCP in one direction, over the last seconds in which it was busy without a break.
#[derive(Debug, Default)]
struct Meter {
    samples: VecDeque<(Instant, u64)>,
    moved: Option<Instant>,
}

impl Meter {
    /// `waits`: more is there to be carried; `limited`: something else than the link slows it down.
    fn look(&mut self, now: Instant, total: u64, waits: bool, limited: bool) {
        let grew = self.samples.back().is_some_and(|(_, last)| total > *last);
        if grew || waits {
            self.moved = Some(now);
        }
        if limited || self.moved.is_none_or(|moved| now.duration_since(moved) >= BREAK) {
            self.samples.clear();
        }
        self.samples.push_back((now, total));
        while self.samples.get(1).is_some_and(|(at, _)| now.duration_since(*at) >= JUDGED) {
            self.samples.pop_front();
        }
    }

    /// In bit/s, no more than what would be carried in so long without anything before and after.
    fn least(&self, over: Duration) -> f64 {
        let (Some((from, before)), Some((to, after))) = (self.samples.front(), self.samples.back()) else {
            return 0.0;
        };
        (after - before) as f64 * 8.0 / to.duration_since(*from).max(over).as_secs_f64()
    }

    /// In bit/s, if it was busy for so long.
    fn rate(&self, over: Duration) -> Option<f64> {
        let ((from, before), (to, after)) = (self.samples.front()?, self.samples.back()?);
        let time = to.duration_since(*from);
        (time >= over).then(|| (after - before) as f64 * 8.0 / time.as_secs_f64())
    }
}

/// The rate of QUIC in one direction, and whether it was the limit: time, bytes and how long something had waited by then.
#[derive(Debug, Default)]
struct Limit(VecDeque<(Instant, u64, Duration)>);

impl Limit {
    fn look(&mut self, now: Instant, total: u64, waited: Duration) {
        // A new connection counts from zero.
        if self.0.back().is_some_and(|(_, _, last)| waited < *last) {
            self.0.clear();
        }
        self.0.push_back((now, total, waited));
        while self.0.get(1).is_some_and(|(at, ..)| now.duration_since(*at) >= JUDGED) {
            self.0.pop_front();
        }
    }

    /// In bit/s, if for so long there was more than it carried.
    fn rate(&self) -> Option<f64> {
        let ((from, before, start), (to, after, end)) = (self.0.front()?, self.0.back()?);
        let time = to.duration_since(*from);
        let limited = time >= JUDGED && *end - *start >= time.mul_f64(WAITED);
        limited.then(|| (after - before) as f64 * 8.0 / time.as_secs_f64())
    }
}

/// Both directions of TCP.
#[derive(Debug, Default)]
struct Meters {
    down: Meter,
    up: Meter,
}

impl Meters {
    fn look(&mut self, now: Instant, counts: Counts) {
        let came = self.down.samples.back().map_or(0, |(_, last)| counts.down - last);
        // A client that takes less than has come is the limit.
        self.down.look(now, counts.down, false, counts.unread > came);
        self.up.look(now, counts.up, counts.queued > 0, false);
    }

    fn of(&self, way: Way) -> &Meter {
        match way {
            Way::Down => &self.down,
            Way::Up => &self.up,
        }
    }
}

/// What takes new connections.
#[derive(Clone, Copy, PartialEq, Debug)]
enum State {
    /// QUIC; TCP is not tried before this time.
    Quic { until: Instant },
    /// TCP, to see whether it is faster than this rate of QUIC.
    Trial { since: Instant, way: Way, quic: f64 },
    /// TCP, which is faster; QUIC is tried again at this time.
    Tcp { until: Instant },
}

/// A change, in words for the log.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Change {
    /// QUIC carries this of what the link is known to carry, in bit/s: TCP is tried.
    Slow { quic: f64, known: f64 },
    /// TCP carries more: both rates in bit/s.
    Faster { tcp: f64, quic: f64 },
    /// TCP is no faster, or nobody used it.
    NotFaster,
    /// QUIC is tried again.
    Again,
}

/// The choice.
#[derive(Debug)]
pub(crate) struct Faster {
    quic: [Limit; 2],
    tcp: Meters,
    state: State,
    /// The next pauses of either carrier.
    pauses: (Duration, Duration),
}

impl Faster {
    /// QUIC, of which nothing is known.
    pub fn new(now: Instant) -> Faster {
        Faster {
            quic: Default::default(),
            tcp: Meters::default(),
            state: State::Quic { until: now },
            pauses: (PAUSE.0, PAUSE.0),
        }
    }

    /// True while TCP is to take new connections, as far as it passes.
    pub fn prefers_tcp(&self) -> bool {
        !matches!(self.state, State::Quic { .. })
    }

    /// Takes up what both carriers have carried until now.
    pub fn look(&mut self, now: Instant, quic: Counts, tcp: Counts, known: Known) -> Option<Change> {
        self.quic[0].look(now, quic.down, quic.waited.0);
        self.quic[1].look(now, quic.up, quic.waited.1);
        self.tcp.look(now, tcp);
        match self.state {
            State::Quic { until } if now >= until => {
                let (way, quic, known) = self.slow(known)?;
                self.state = State::Trial { since: now, way, quic };
                self.tcp = Meters::default();
                Some(Change::Slow { quic, known })
            }
            State::Quic { .. } => None,
            State::Trial { since, way, quic } => {
                let meter = self.tcp.of(way);
                let tcp = meter.least(TRIED);
                if tcp >= quic * 1.5 {
                    self.state = State::Tcp { until: now + self.pauses.1 };
                    // TCP has kept what it promised until the next trial of QUIC.
                    self.pauses = (PAUSE.0, doubled(self.pauses.1));
                    return Some(Change::Faster { tcp, quic });
                }
                let decided = meter.rate(JUDGED).is_some() || now.duration_since(since) >= TRIAL;
                decided.then(|| {
                    self.state = State::Quic { until: now + self.pauses.0 };
                    self.pauses = (doubled(self.pauses.0), PAUSE.0);
                    Change::NotFaster
                })
            }
            State::Tcp { until } => (now >= until).then(|| {
                self.state = State::Quic { until: now };
                self.quic = Default::default();
                Change::Again
            }),
        }
    }

    /// QUIC carries less than half of what is known, in some direction in which more waits for it.
    fn slow(&self, known: Known) -> Option<(Way, f64, f64)> {
        let ways = [(Way::Down, known.down), (Way::Up, known.up)];
        ways.into_iter().zip(&self.quic).find_map(|((way, known), limit)| {
            let (quic, known) = (limit.rate()?, known?.as_bps() as f64);
            // Next to nothing is an outage, or a hub that stands still.
            (quic > known / 1000.0 && quic < known / 2.0).then_some((way, quic, known))
        })
    }
}

fn doubled(pause: Duration) -> Duration {
    (pause * 2).min(PAUSE.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two carriers with their rates in Mbit/s, looked at four times a second.
    struct Bed {
        faster: Faster,
        now: Instant,
        quic: Counts,
        tcp: Counts,
    }

    const KNOWN: Known =
        Known { down: Some(Rate::from_bps(50_000_000)), up: Some(Rate::from_bps(10_000_000)) };

    impl Bed {
        fn new() -> Bed {
            let now = Instant::now();
            Bed { faster: Faster::new(now), now, quic: Counts::default(), tcp: Counts::default() }
        }

        /// What comes down for so many seconds, while more waits at the hub; returns the changes.
        fn carry(&mut self, seconds: u32, quic: f64, tcp: f64, known: Known) -> Vec<Change> {
            let mut changes = vec![];
            for _ in 0..4 * seconds {
                self.now += Duration::from_millis(250);
                self.quic.waited.0 += Duration::from_millis(if quic > 0.0 { 250 } else { 0 });
                self.quic.down += (quic * 1e6 / 32.0) as u64;
                self.tcp.down += (tcp * 1e6 / 32.0) as u64;
                changes.extend(self.faster.look(self.now, self.quic, self.tcp, known));
            }
            changes
        }
    }

    #[test]
    fn policed_udp_moves_new_connections_to_tcp() {
        let mut bed = Bed::new();
        assert_eq!(bed.carry(2, 4.0, 0.0, KNOWN), [], "it may be the beginning");
        let changes = bed.carry(2, 4.0, 0.0, KNOWN);
        assert!(
            matches!(changes[..], [Change::Slow { quic, known }] if (3.9..4.1).contains(&(quic / 1e6)) && known == 5e7)
        );
        assert!(bed.faster.prefers_tcp());
        let changes = bed.carry(3, 4.0, 30.0, KNOWN);
        assert!(
            matches!(changes[..], [Change::Faster { tcp, .. }] if (6.0..31.0).contains(&(tcp / 1e6))),
            "{changes:?}"
        );
        // It stays for ten minutes, whatever is carried, and then QUIC shows whether it is better.
        assert_eq!(bed.carry(580, 0.0, 1.0, KNOWN), []);
        assert_eq!(bed.carry(20, 0.0, 0.0, KNOWN), [Change::Again]);
        assert!(!bed.faster.prefers_tcp());
        assert_eq!(bed.carry(60, 45.0, 0.0, KNOWN), []);
    }

    #[test]
    fn a_short_transfer_is_enough_if_it_carries_much() {
        let mut bed = Bed::new();
        bed.carry(4, 4.0, 0.0, KNOWN);
        bed.now += Duration::from_millis(250);
        bed.tcp.down += 1_000_000;
        let change = bed.faster.look(bed.now, bed.quic, bed.tcp, KNOWN);
        assert!(matches!(change, Some(Change::Faster { .. })), "8 Mbit in a second at least: {change:?}");
        let mut bed = Bed::new();
        bed.carry(4, 4.0, 0.0, KNOWN);
        bed.now += Duration::from_millis(250);
        bed.tcp.down += 200_000;
        assert_eq!(bed.faster.look(bed.now, bed.quic, bed.tcp, KNOWN), None);
    }

    #[test]
    fn tcp_that_is_no_faster_is_left_for_longer_each_time() {
        let mut bed = Bed::new();
        bed.carry(4, 4.0, 0.0, KNOWN);
        assert_eq!(bed.carry(4, 4.0, 5.0, KNOWN), [Change::NotFaster]);
        assert!(!bed.faster.prefers_tcp());
        assert_eq!(bed.carry(590, 4.0, 0.0, KNOWN), []);
        assert!(matches!(bed.carry(10, 4.0, 0.0, KNOWN)[..], [Change::Slow { .. }]));
        assert_eq!(bed.carry(60, 4.0, 0.0, KNOWN), [Change::NotFaster], "nobody used it");
        assert_eq!(bed.carry(1190, 4.0, 0.0, KNOWN), []);
        assert!(matches!(bed.carry(10, 4.0, 0.0, KNOWN)[..], [Change::Slow { .. }]));
    }

    #[test]
    fn short_transfers_and_links_of_unknown_rate_show_nothing() {
        let mut bed = Bed::new();
        for _ in 0..100 {
            assert_eq!(bed.carry(2, 4.0, 0.0, KNOWN), []);
            assert_eq!(bed.carry(2, 0.0, 0.0, KNOWN), []);
        }
        assert_eq!(bed.carry(100, 4.0, 0.0, Known::default()), []);
        bed.carry(2, 0.0, 0.0, Known::default());
        assert_eq!(bed.carry(100, 30.0, 0.0, KNOWN), [], "more than half");
    }

    /// 2 MB take 0.32 s of a link of 50 Mbit/s, and the next request a round trip of 0.65 s: 16 Mbit/s, without a pause of a second.
    #[test]
    fn short_transfers_one_after_the_other_are_not_a_slow_carrier() {
        let mut bed = Bed::new();
        for _ in 0..100 {
            for (millis, bytes) in [(320, 2_000_000), (650, 0)] {
                bed.now += Duration::from_millis(millis);
                bed.quic.down += bytes;
                bed.quic.waited.0 += Duration::from_millis(if bytes > 0 { millis } else { 0 });
                assert_eq!(bed.faster.look(bed.now, bed.quic, bed.tcp, KNOWN), None);
            }
        }
    }

    /// Its hub's data wait for credit then, not for the path. A hub of an earlier release reports nothing.
    #[test]
    fn a_slow_client_is_not_a_slow_carrier() {
        let mut bed = Bed::new();
        for _ in 0..400 {
            bed.now += Duration::from_millis(250);
            bed.quic.down += 125_000;
            assert_eq!(bed.faster.look(bed.now, bed.quic, bed.tcp, KNOWN), None);
        }
    }

    #[test]
    fn a_new_tunnel_is_judged_by_its_own_time() {
        let mut bed = Bed::new();
        bed.carry(2, 4.0, 0.0, KNOWN);
        bed.quic.waited = Default::default();
        assert_eq!(bed.carry(3, 4.0, 0.0, KNOWN), []);
        assert!(matches!(bed.carry(1, 4.0, 0.0, KNOWN)[..], [Change::Slow { .. }]));
    }

    #[test]
    fn the_way_up_counts_while_bytes_wait() {
        let mut bed = Bed::new();
        let mut changes = vec![];
        for _ in 0..16 {
            bed.now += Duration::from_millis(250);
            bed.quic.waited.1 += Duration::from_millis(250);
            bed.quic.up += 31_250;
            changes.extend(bed.faster.look(bed.now, bed.quic, bed.tcp, KNOWN));
        }
        assert!(
            matches!(changes[..], [Change::Slow { known, .. }] if known == 1e7),
            "1 of 10 Mbit/s: {changes:?}"
        );
    }

    #[test]
    fn an_outage_is_not_a_slow_carrier() {
        let mut bed = Bed::new();
        for _ in 0..240 {
            bed.quic.waited.0 += Duration::from_millis(250);
            assert_eq!(bed.carry(1, 0.0, 0.0, KNOWN), []);
        }
    }
}
