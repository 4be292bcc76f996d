//! Who sends next of several that share one sender, classes of flows or peers: start-time fair queueing (P. Goyal, H. Vin and H. Cheng,
//! SIGCOMM 1996) by weight, with a rate that each has before all others (floor) and one that it never exceeds (ceiling). Both rates are
//! virtual schedules, as in the generic cell rate algorithm (ITU-T I.371): one time for each states until when it is used up.

use longhaul_units::{Duration, Instant, Rate, Size};

/// Largest weight.
pub const MOST_WEIGHT: u32 = 1000;
/// A sender that comes late makes up for that much of a rate.
const CATCH_UP: Duration = Duration::from_millis(10);
/// What was sent beyond a floor counts against it for that long at most.
const DEBT: Duration = Duration::from_millis(100);
/// Of eight bytes, floors have seven at most while others wait: floors that add up to more than the link stop nobody.
const FLOORS: u64 = 7;
/// Bytes of floors in a row before that is looked at.
const IN_A_ROW: u64 = 64 << 10;

/// What one of several that share a sender may have of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Portion {
    /// Share of the rate among those that have something to send, 1 to 1000 parts.
    pub weight: u32,
    /// Up to this rate it is served before all others: floors together have at most seven eighths of the sender.
    pub floor: Option<Rate>,
    /// It never gets more, whether others have something to send or not.
    pub ceiling: Option<Rate>,
}

impl Default for Portion {
    fn default() -> Self {
        Portion { weight: 1, floor: None, ceiling: None }
    }
}

/// One of those that share the sender.
#[derive(Clone, Copy, Debug, Default)]
pub struct Member {
    pub portion: Portion,
    /// What it was served, in 2^-16 bytes for each part of its weight.
    tag: u128,
    /// Until when its floor and its ceiling are used up.
    floor: Instant,
    ceiling: Instant,
}

/// Whose turn it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pick<K> {
    /// This one's.
    Now(K),
    /// Nobody's before this time: all that wait have reached their ceilings.
    Until(Instant),
    /// Nobody waits.
    Nobody,
}

/// What is common to all.
#[derive(Clone, Copy, Debug, Default)]
pub struct Shares {
    /// The least tag of those that waited last.
    virtual_time: u128,
    /// The turn that was given out last was of a floor, and others waited.
    first: bool,
    contested: bool,
    /// Bytes of floors while others waited, less seven for each of these.
    floored: u64,
}

fn later(paid: Instant, now: Instant, rate: Rate, bytes: u64) -> Instant {
    let earliest = Instant::from_nanos(now.as_nanos().saturating_sub(CATCH_UP.as_nanos()));
    paid.max(earliest) + rate.transmission_time(Size::from_bytes(bytes))
}

impl Shares {
    /// One that had nothing to send has something: what it did not use is not made up for.
    pub fn wake(&self, member: &mut Member) {
        member.tag = member.tag.max(self.virtual_time);
    }

    /// Whose turn it is among those that have something to send. [`Shares::charge`] follows.
    pub fn pick<'a, K: Copy>(
        &mut self,
        now: Instant,
        waiting: impl Iterator<Item = (K, &'a Member)>,
    ) -> Pick<K> {
        let (mut of_floor, mut of_weight, mut least, mut release) = (None, None, None, None::<Instant>);
        for (key, member) in waiting {
            if member.portion.ceiling.is_some() && member.ceiling > now {
                release = Some(release.map_or(member.ceiling, |other| other.min(member.ceiling)));
                continue;
            }
            least = Some(least.map_or(member.tag, |other: u128| other.min(member.tag)));
            if member.portion.floor.is_some() && member.floor <= now {
                if of_floor.is_none_or(|(_, due)| member.floor < due) {
                    of_floor = Some((key, member.floor));
                }
            } else if of_weight.is_none_or(|(_, tag)| member.tag < tag) {
                of_weight = Some((key, member.tag));
            }
        }
        self.virtual_time = self.virtual_time.max(least.unwrap_or_default());
        self.contested = of_weight.is_some();
        self.first = of_floor.is_some() && !(self.contested && self.floored >= IN_A_ROW);
        match (of_floor.filter(|_| self.first), of_weight, release) {
            (Some((key, _)), _, _) | (None, Some((key, _)), _) => Pick::Now(key),
            (None, None, Some(release)) => Pick::Until(release),
            (None, None, None) => Pick::Nobody,
        }
    }

    /// When the floor of one that waits is due, if any has a floor.
    pub fn floor_at<'a>(waiting: impl Iterator<Item = &'a Member>) -> Option<Instant> {
        let with_floor = waiting.filter(|member| member.portion.floor.is_some());
        with_floor
            .map(|member| member.floor.max(member.portion.ceiling.map_or(member.floor, |_| member.ceiling)))
            .min()
    }

    /// The one whose turn it was has sent something.
    pub fn charge(&mut self, now: Instant, member: &mut Member, bytes: u64) {
        let Portion { weight, floor, ceiling } = member.portion;
        member.tag += (u128::from(bytes) << 16) / u128::from(weight.max(1));
        if let Some(rate) = ceiling {
            member.ceiling = later(member.ceiling, now, rate, bytes);
        }
        if let Some(rate) = floor {
            let paid = later(member.floor, now, rate, bytes);
            member.floor = if self.first { paid } else { paid.min(member.floor.max(now + DEBT)) };
        }
        if !self.first {
            self.floored = self.floored.saturating_sub(FLOORS * bytes);
        } else if self.contested {
            self.floored += bytes;
        }
    }

    /// Another portion, from now on.
    pub fn set(&self, member: &mut Member, portion: Portion) {
        *member = Member { portion, tag: self.virtual_time, ..Member::default() };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TURN: u64 = 1472;

    fn portion(weight: u32, floor: Option<u64>, ceiling: Option<u64>) -> Portion {
        Portion { weight, floor: floor.map(Rate::from_bps), ceiling: ceiling.map(Rate::from_bps) }
    }

    /// A sender of `rate` bit/s: serves those that wait, and returns the bytes of each and of idle time.
    struct Sender {
        now: Instant,
        rate: Rate,
        shares: Shares,
        members: Vec<Member>,
        served: Vec<u64>,
        idle: Duration,
        /// The longest time for which each has waited for a turn.
        waited: Vec<Duration>,
        since: Vec<Instant>,
    }

    impl Sender {
        fn new(rate: u64, portions: &[Portion]) -> Sender {
            let shares = Shares::default();
            let members = portions.iter().map(|portion| Member { portion: *portion, ..Member::default() });
            let count = portions.len();
            Sender {
                now: Instant::ZERO + Duration::from_secs(1),
                rate: Rate::from_bps(rate),
                shares,
                members: members.collect(),
                served: vec![0; count],
                idle: Duration::ZERO,
                waited: vec![Duration::ZERO; count],
                since: vec![Instant::ZERO + Duration::from_secs(1); count],
            }
        }

        fn run(&mut self, time: Duration, waits: impl Fn(usize) -> bool) {
            let end = self.now + time;
            while self.now < end {
                let waiting = self.members.iter().enumerate().filter(|(at, _)| waits(*at));
                match self.shares.pick(self.now, waiting) {
                    Pick::Now(at) => {
                        self.shares.charge(self.now, &mut self.members[at], TURN);
                        self.waited[at] = self.waited[at].max(self.now.since(self.since[at]));
                        self.now += self.rate.transmission_time(Size::from_bytes(TURN));
                        self.since[at] = self.now;
                        self.served[at] += TURN;
                    }
                    Pick::Until(release) => {
                        assert!(release > self.now);
                        self.idle += release.min(end).since(self.now);
                        self.now = release.min(end);
                    }
                    Pick::Nobody => {
                        self.idle += end.since(self.now);
                        self.now = end;
                    }
                }
            }
        }

        /// Mbit/s of each over `seconds`.
        fn rates(&self, seconds: f64) -> Vec<f64> {
            self.served.iter().map(|bytes| *bytes as f64 * 8e-6 / seconds).collect()
        }
    }

    fn near(found: &[f64], expected: &[f64]) {
        for (found_one, expected_one) in found.iter().zip(expected) {
            assert!(
                (found_one - expected_one).abs() < 0.02 * expected_one.max(1.0),
                "{found:?} {expected:?}"
            );
        }
    }

    #[test]
    fn weights_divide_the_rate_and_what_one_leaves_is_divided_among_the_others() {
        let mut sender = Sender::new(
            10_000_000,
            &[portion(1, None, None), portion(3, None, None), portion(6, None, None)],
        );
        sender.run(Duration::from_secs(10), |_| true);
        near(&sender.rates(10.0), &[1.0, 3.0, 6.0]);
        sender.served.fill(0);
        sender.run(Duration::from_secs(10), |at| at != 2);
        near(&sender.rates(10.0), &[2.5, 7.5, 0.0]);
        // Who comes back has its share, and nothing for the time in which it was away.
        sender.shares.wake(&mut sender.members[2]);
        sender.served.fill(0);
        sender.run(Duration::from_secs(1), |_| true);
        near(&sender.rates(1.0), &[1.0, 3.0, 6.0]);
    }

    #[test]
    fn a_floor_is_held_beside_any_weight_and_a_ceiling_also_alone() {
        let all =
            [portion(1, Some(4_000_000), None), portion(1000, None, None), portion(1, None, Some(500_000))];
        let mut sender = Sender::new(10_000_000, &all);
        sender.run(Duration::from_secs(10), |_| true);
        let rates = sender.rates(10.0);
        assert!((3.98..4.1).contains(&rates[0]) && rates[2] < 0.51, "{rates:?}");
        sender.served.fill(0);
        sender.run(Duration::from_secs(10), |at| at == 2);
        near(&sender.rates(10.0), &[0.0, 0.0, 0.5]);
    }

    /// A class that has sent at the whole rate for a minute has its floor again after a tenth of a second.
    #[test]
    fn what_was_free_is_not_held_against_a_floor() {
        let mut sender =
            Sender::new(10_000_000, &[portion(1, Some(2_000_000), None), portion(1000, None, None)]);
        sender.run(Duration::from_secs(60), |at| at == 0);
        sender.served.fill(0);
        sender.run(Duration::from_secs(2), |_| true);
        assert!(sender.rates(2.0)[0] > 1.85, "{:?}", sender.rates(2.0));
    }

    #[test]
    fn floors_that_add_up_to_more_than_the_rate_stop_nobody() {
        let all =
            [portion(1, Some(8_000_000), None), portion(1, Some(8_000_000), None), portion(1, None, None)];
        let mut sender = Sender::new(10_000_000, &all);
        sender.run(Duration::from_secs(10), |_| true);
        let rates = sender.rates(10.0);
        assert!(rates[2] > 1.2 && (rates[0] - rates[1]).abs() < 0.1, "{rates:?}");
    }

    fn portions() -> impl Strategy<Value = Portion> {
        let rate = || proptest::option::of(100_000u64..20_000_000);
        (1u32..=20, rate(), rate()).prop_map(|(weight, floor, ceiling)| portion(weight, floor, ceiling))
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        /// Whatever the portions: no ceiling is exceeded, each floor is held where they fit, nobody starves, and the sender is never
        /// idle while somebody below its ceiling waits.
        #[test]
        fn floors_and_ceilings_hold_nobody_starves_and_nothing_is_wasted(
            portions in prop::collection::vec(portions(), 1..8),
            rate in 1_000_000u64..50_000_000,
        ) {
            let mut sender = Sender::new(rate, &portions);
            let seconds = 4.0;
            sender.run(Duration::from_secs(4), |_| true);
            let rates = sender.rates(seconds);
            let capacity = rate as f64 * 1e-6;
            let turn = TURN as f64 * 8e-6;
            let of = |rate: Option<Rate>| rate.map_or(f64::INFINITY, |rate| rate.as_bps() as f64 * 1e-6);
            let floors: f64 = portions.iter().map(|one| one.floor.map_or(0.0, |_| of(one.floor))).sum();
            for (one, got) in portions.iter().zip(&rates) {
                prop_assert!(got * seconds <= of(one.ceiling) * (seconds + 0.011) + 2.0 * turn);
                if floors <= 0.85 * capacity && one.floor.is_some() {
                    let least = of(one.floor).min(of(one.ceiling));
                    prop_assert!(got * seconds >= least * (seconds - 0.2) - 2.0 * turn, "{:?} {:?}", portions, rates);
                }
                prop_assert!(*got > 0.0);
            }
            if portions.iter().any(|one| one.ceiling.is_none()) {
                prop_assert_eq!(sender.idle, Duration::ZERO);
            } else {
                let most: f64 = portions.iter().map(|one| of(one.ceiling)).sum();
                let total: f64 = rates.iter().sum();
                prop_assert!(total >= 0.97 * most.min(capacity) - 8.0 * turn / seconds);
            }
        }

        /// Whoever waits has a turn within the time in which all others have theirs by weight, and floors what they may.
        #[test]
        fn no_wait_is_longer_than_weights_explain(portions in prop::collection::vec(portions(), 2..6)) {
            let portions: Vec<Portion> = portions.into_iter().map(|one| Portion { ceiling: None, ..one }).collect();
            let mut sender = Sender::new(10_000_000, &portions);
            sender.run(Duration::from_secs(2), |_| true);
            for waited in &sender.waited {
                // 20 x 6 parts of weight, an eighth of the rate, and 64 KiB of floors.
                prop_assert!(*waited < Duration::from_millis(1300), "{:?}", waited);
            }
        }
    }
}
