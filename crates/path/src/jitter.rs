//! Delay that varies at random: how it is distributed, and whether packets overtake one another by it.
//!
//! A distribution is a list of quantiles, straight lines between them (as netem's tables): one mechanism draws from all of them.
//! Without overtaking the delay is a process in time, not a draw for each packet. Packets that are drawn a delay each, and wait for
//! those before them, have a running maximum of the draws: the more packets, the nearer to the largest delay.

use crate::Random;
use crate::settings::{Deserialize, JsonSchema, Serialize};
use longhaul_units::{Duration, Instant, Probability};

/// Delay beside the propagation delay, at random.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JitterSpec {
    /// How the extra delay is distributed; a duration alone is the `most` of a uniform one.
    #[serde(deserialize_with = "short::distribution")]
    #[schemars(schema_with = "short::distribution_schema")]
    pub distribution: Distribution,
    /// Each packet's delay is drawn by itself, and packets overtake one another, as with netem. Without it the delay moves up and
    /// down in time, by at most 1 ms in 2 ms, so that packets keep their order; at any time it has the same distribution.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub overtaking: bool,
    /// With `overtaking`: how much a packet's delay resembles that of the packet before it (autocorrelation of the normal numbers
    /// behind the draws). The distribution stays as it is; netem's grows narrower.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub correlation: Probability,
}

fn is_zero(probability: &Probability) -> bool {
    probability.get() == 0.0
}

/// How an extra delay is distributed.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Distribution {
    /// Between zero and `most`; the mean is half of that.
    Uniform {
        /// The largest extra delay.
        #[schemars(extend("x-maximum" = "1 h"))]
        most: Duration,
    },
    /// Normal, cut off at four deviations from the mean, as netem's.
    Normal {
        /// The mean, at least four deviations: no delay is below that of the link.
        #[schemars(extend("x-maximum" = "1 h"))]
        mean: Duration,
        /// The standard deviation.
        #[schemars(extend("x-exclusiveMinimum" = "0 s", "x-maximum" = "1 h"))]
        deviation: Duration,
    },
    /// Rare long delays, from zero on (Pareto type II): more than x with probability (1 + x / (mean (shape - 1)))^-shape, cut off
    /// where that is one in a million.
    Pareto {
        /// The mean.
        #[schemars(extend("x-exclusiveMinimum" = "0 s", "x-maximum" = "1 h"))]
        mean: Duration,
        /// The smaller, the longer the tail; netem's table has 3.
        #[serde(default = "netems_shape")]
        #[schemars(range(min = 1.2, max = 100.0))]
        shape: f64,
    },
    /// Measured delays: as often between each two neighbours of this list.
    Table {
        /// Extra delays, each longer than the one before; at least two.
        #[schemars(length(min = 2, max = 100000))]
        values: Vec<Duration>,
    },
}

fn netems_shape() -> f64 {
    3.0
}

impl JitterSpec {
    /// Uniform between zero and `most`; packets keep their order.
    pub fn uniform(most: Duration) -> Self {
        JitterSpec {
            distribution: Distribution::Uniform { most },
            overtaking: false,
            correlation: Probability::default(),
        }
    }

    /// The mean of the extra delay.
    pub fn mean(&self) -> Duration {
        Duration::from_nanos(self.distribution.quantiles().mean().round() as u64)
    }

    /// What types do not check.
    ///
    /// # Errors
    /// The field, and what is wrong with it.
    pub fn check(&self) -> Result<(), (&'static str, String)> {
        self.distribution.check("delay").map_err(|message| ("distribution", message))?;
        if self.correlation.get() > 0.0 && !self.overtaking {
            let message = "goes with overtaking = true: in order, the delay changes with time";
            return Err(("correlation", message.to_string()));
        }
        Ok(())
    }
}

/// Steps of a deviation between the quantiles of the normal distribution, and how far it reaches.
const STEPS: i32 = 20;
const DEVIATIONS: i32 = 4;
/// Steps for each halving of a Pareto tail, and halvings until it is cut off.
const STEPS_OF_HALVING: i32 = 8;
const HALVINGS: i32 = 20;

impl Distribution {
    /// What types do not check.
    /// `least` names the setting that has the delay without it.
    pub(crate) fn check(&self, least: &str) -> Result<(), String> {
        match self {
            Distribution::Normal { mean, deviation } if *mean < *deviation * 4 => Err(format!(
                "the mean must be at least four deviations ({}), not {mean}: the link's `{least}` is the shortest one; for a mean delay of \
                 50 ms with a deviation of 5 ms write {least} = \"30 ms\" and a mean of 20 ms here",
                *deviation * 4
            )),
            Distribution::Table { values } if values.windows(2).any(|pair| pair[0] >= pair[1]) => {
                Err("each of the table's values must be longer than the one before".to_string())
            }
            _ => Ok(()),
        }
    }

    /// Draws that resemble each the one before it, by the autocorrelation of the normal numbers behind them.
    pub(crate) fn draws(&self, correlation: Probability, random: Random) -> Draws {
        Draws { quantiles: self.quantiles(), alike: Alike::new(correlation, random) }
    }

    /// The shortest extra delay.
    pub(crate) fn least(&self) -> Duration {
        Duration::from_nanos(self.quantiles().0.first().map_or(0.0, |(_, value)| *value) as u64)
    }

    fn quantiles(&self) -> Quantiles {
        let nanos = |duration: &Duration| duration.as_nanos() as f64;
        match self {
            Distribution::Uniform { most } => Quantiles(vec![(0.0, 0.0), (1.0, nanos(most))]),
            Distribution::Normal { mean, deviation } => {
                let below = |z: f64| libm::erfc(-z / core::f64::consts::SQRT_2) / 2.0;
                let least = below(f64::from(-DEVIATIONS));
                let knot = |step| {
                    let z = f64::from(step) / f64::from(STEPS);
                    ((below(z) - least) / (1.0 - 2.0 * least), nanos(mean) + z * nanos(deviation))
                };
                Quantiles((-DEVIATIONS * STEPS..=DEVIATIONS * STEPS).map(knot).collect())
            }
            Distribution::Pareto { mean, shape } => {
                let beyond = |step: i32| libm::exp2(-f64::from(step) / f64::from(STEPS_OF_HALVING));
                let rarest = beyond(HALVINGS * STEPS_OF_HALVING);
                let knot = |step| {
                    let beyond = beyond(step);
                    ((1.0 - beyond) / (1.0 - rarest), libm::pow(beyond, -1.0 / shape) - 1.0)
                };
                let unscaled = Quantiles((0..=HALVINGS * STEPS_OF_HALVING).map(knot).collect());
                let scale = nanos(mean) / unscaled.mean();
                Quantiles(unscaled.0.into_iter().map(|(below, value)| (below, value * scale)).collect())
            }
            Distribution::Table { values } => Quantiles::of(&values.iter().map(nanos).collect::<Vec<_>>()),
        }
    }
}

/// Probability of less, and value in ns, both ascending; straight lines between them.
#[derive(Clone, Debug)]
pub(crate) struct Quantiles(Vec<(f64, f64)>);

impl Quantiles {
    /// Values that are as often between each two neighbours of a list, which ascends.
    pub fn of(values: &[f64]) -> Self {
        let last = (values.len() - 1) as f64;
        Quantiles(values.iter().enumerate().map(|(at, value)| (at as f64 / last, *value)).collect())
    }

    /// The value below which a share `below` lies.
    pub fn at(&self, below: f64) -> f64 {
        let after = self.0.partition_point(|(share, _)| *share <= below).clamp(1, self.0.len() - 1);
        let ((from, low), (to, high)) = (self.0[after - 1], self.0[after]);
        low + (high - low) * ((below - from) / (to - from)).clamp(0.0, 1.0)
    }

    pub fn mean(&self) -> f64 {
        self.0.windows(2).map(|pair| (pair[1].0 - pair[0].0) * (pair[0].1 + pair[1].1) / 2.0).sum()
    }

    fn range(&self) -> f64 {
        self.0[self.0.len() - 1].1 - self.0[0].1
    }
}

/// A delay at work.
pub(crate) enum Jitter {
    /// A draw for each packet.
    Each(Box<Draws>),
    /// A delay that moves in time.
    Moving(Box<Moving>),
}

impl Jitter {
    /// `None` if there is no extra delay.
    pub fn new(spec: &JitterSpec, random: Random) -> Option<Self> {
        let quantiles = spec.distribution.quantiles();
        if quantiles.range() == 0.0 {
            return None;
        }
        Some(if spec.overtaking {
            Jitter::Each(Box::new(spec.distribution.draws(spec.correlation, random)))
        } else {
            Jitter::Moving(Box::new(Moving::new(quantiles, random)))
        })
    }

    /// The extra delay of a packet that is sent at `now`.
    pub fn delay(&mut self, now: Instant) -> Duration {
        match self {
            Jitter::Each(draws) => draws.next(),
            Jitter::Moving(moving) => Duration::from_nanos(moving.at(now) as u64),
        }
    }
}

/// Delays that resemble each the one before it, or none.
pub(crate) struct Draws {
    quantiles: Quantiles,
    alike: Alike,
}

impl Draws {
    pub fn next(&mut self) -> Duration {
        let below = self.alike.below();
        Duration::from_nanos(self.quantiles.at(below) as u64)
    }
}

/// Normal numbers that resemble each the one before it, or none: a process of first order with this autocorrelation.
pub(crate) struct Alike {
    correlation: f64,
    last: Option<f64>,
    random: Random,
}

impl Alike {
    pub fn new(correlation: Probability, random: Random) -> Self {
        Alike { correlation: correlation.get(), last: None, random }
    }

    /// The next one, of mean 0 and variance 1.
    pub fn normal(&mut self) -> f64 {
        let radius = (2.0 * self.random.exponential(1.0)).sqrt();
        let fresh = radius * libm::cos(core::f64::consts::TAU * self.random.uniform());
        let spread = (1.0 - self.correlation * self.correlation).sqrt();
        let number = self.last.map_or(fresh, |last| self.correlation * last + spread * fresh);
        self.last = Some(number);
        number
    }

    /// The share of all that are less than the next one.
    pub fn below(&mut self) -> f64 {
        if self.correlation == 0.0 {
            return self.random.uniform();
        }
        libm::erfc(-self.normal() / core::f64::consts::SQRT_2) / 2.0
    }
}

/// How fast the delay moves. At 1, packets that are sent while it falls arrive at once.
const SPEED: f64 = 0.5;
/// After so many of its ranges the delay has forgotten where it was.
const FORGOTTEN: f64 = 20.0;

/// A delay that goes up and down at one speed. It turns at random, and where its density falls: at the border to a part with a
/// density that is smaller by a factor f it goes on with probability f. So the time that it spends in each part is that part's
/// probability (the zigzag process of Bierkens and Roberts 2017, with a density of steps).
pub(crate) struct Moving {
    quantiles: Quantiles,
    /// The part that it is in: between these two of the quantiles.
    part: usize,
    delay: f64,
    rising: bool,
    /// How far it goes until it turns by itself: once in a range, on average.
    until_turn: f64,
    now: Instant,
    random: Random,
}

impl Moving {
    fn new(quantiles: Quantiles, random: Random) -> Self {
        let (part, delay, rising, until_turn, now) = (0, 0.0, true, 0.0, Instant::ZERO);
        let mut moving = Moving { quantiles, part, delay, rising, until_turn, now, random };
        moving.begin();
        moving
    }

    fn begin(&mut self) {
        let below = self.random.uniform();
        let knots = &self.quantiles.0;
        self.part = knots.partition_point(|(share, _)| *share <= below).clamp(1, knots.len() - 1) - 1;
        self.delay = self.quantiles.at(below);
        self.rising = self.random.uniform() < 0.5;
        self.until_turn = self.random.exponential(self.quantiles.range());
    }

    fn density(&self, part: usize) -> f64 {
        let ((from, low), (to, high)) = (self.quantiles.0[part], self.quantiles.0[part + 1]);
        (to - from) / (high - low)
    }

    /// The delay at `now`, in ns. Looks never go back in time.
    fn at(&mut self, now: Instant) -> f64 {
        let mut way = now.since(self.now.min(now)).as_nanos() as f64 * SPEED;
        self.now = self.now.max(now);
        if way > FORGOTTEN * self.quantiles.range() {
            self.begin();
            return self.delay;
        }
        while way > 0.0 {
            let border = self.quantiles.0[self.part + usize::from(self.rising)].1;
            let to_border = (border - self.delay).abs();
            let step = way.min(to_border).min(self.until_turn);
            way -= step;
            self.until_turn -= step;
            self.delay += if self.rising { step } else { -step };
            if self.until_turn <= 0.0 {
                self.rising = !self.rising;
                self.until_turn = self.random.exponential(self.quantiles.range());
            } else if step == to_border {
                self.delay = border;
                self.cross();
            }
        }
        self.delay
    }

    /// It is at the border of its part: goes on into the next one, or turns.
    fn cross(&mut self) {
        let next = if self.rising { self.part + 1 } else { self.part.wrapping_sub(1) };
        let goes_on = next < self.quantiles.0.len() - 1 && {
            let falls_by = self.density(next) / self.density(self.part);
            falls_by >= 1.0 || self.random.uniform() < falls_by
        };
        if goes_on {
            self.part = next;
        } else {
            self.rising = !self.rising;
        }
    }
}

#[cfg(feature = "serde")]
pub(crate) mod short {
    //! A distribution, or the largest delay of a uniform one.

    use super::Distribution;
    use longhaul_units::Duration;
    use serde::de::{Deserializer, Error, MapAccess, Visitor, value::MapAccessDeserializer};
    use std::fmt;

    pub fn distribution<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Distribution, D::Error> {
        struct Read;
        impl<'de> Visitor<'de> for Read {
            type Value = Distribution;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(
                    "a duration, as in \"30 ms\", or a table, as in { kind = \"pareto\", mean = \"5 ms\" }",
                )
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Distribution, E> {
                text.parse().map(|most: Duration| Distribution::Uniform { most }).map_err(E::custom)
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Distribution, A::Error> {
                serde::Deserialize::deserialize(MapAccessDeserializer::new(map))
            }
        }
        deserializer.deserialize_any(Read)
    }

    pub fn given<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Distribution>, D::Error> {
        distribution(deserializer).map(Some)
    }

    pub fn distribution_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "anyOf": [generator.subschema_for::<Distribution>(), generator.subschema_for::<Duration>()],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Distribution::*;

    const MS: f64 = 1e6;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn spec(distribution: Distribution) -> JitterSpec {
        JitterSpec { distribution, ..JitterSpec::uniform(Duration::ZERO) }
    }

    /// Delays of packets that are sent so far apart.
    fn delays(spec: &JitterSpec, gap: Duration, packets: u64) -> Vec<f64> {
        let mut jitter = Jitter::new(spec, Random::stream(1, "jitter")).unwrap();
        (0..packets).map(|packet| jitter.delay(Instant::ZERO + gap * packet).as_nanos() as f64).collect()
    }

    fn mean(values: &[f64]) -> f64 {
        values.iter().sum::<f64>() / values.len() as f64
    }

    fn deviation(values: &[f64]) -> f64 {
        let mean = mean(values);
        (values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / values.len() as f64).sqrt()
    }

    fn beyond(values: &[f64], limit: f64) -> f64 {
        values.iter().filter(|value| **value > limit).count() as f64 / values.len() as f64
    }

    fn close(found: f64, expected: f64, tolerance: f64, what: &str) {
        assert!((found / expected - 1.0).abs() <= tolerance, "{what}: {found}, not {expected}");
    }

    /// Mean, deviation and a tail of each distribution from its closed form.
    fn known() -> Vec<(Distribution, [f64; 2], (f64, f64))> {
        let values = vec![ms(2), ms(4), ms(12)];
        vec![
            (Uniform { most: ms(30) }, [15.0, 30.0 / 12f64.sqrt()], (20.0, 1.0 / 3.0)),
            (Normal { mean: ms(20), deviation: ms(5) }, [20.0, 5.0], (25.0, 0.158655)),
            // Deviation of shape 5: mean sqrt(5 / 3). Beyond 3 means: (1 + 3 / 4)^-5.
            (
                Pareto { mean: ms(5), shape: 5.0 },
                [5.0, 5.0 * (5.0f64 / 3.0).sqrt()],
                (15.0, 1.75f64.powi(-5)),
            ),
            // Half between 2 and 4 ms, half between 4 and 12: mean (3 + 8) / 2, mean square ((2^3 .. 4^3) + (4^3 .. 12^3)) by parts.
            (
                Table { values },
                [5.5, (0.5 * (28.0 / 3.0 + 208.0 / 3.0) - 5.5f64.powi(2)).sqrt()],
                (8.0, 0.25),
            ),
        ]
    }

    #[test]
    fn draws_have_their_distributions() {
        for (distribution, [expected, spread], (limit, share)) in known() {
            let what = format!("{distribution:?}");
            let spec = JitterSpec { overtaking: true, ..spec(distribution) };
            close(spec.mean().as_nanos() as f64, expected * MS, 1e-6, &what);
            let found = delays(&spec, ms(1), 400_000);
            close(mean(&found), expected * MS, 0.01, &what);
            close(deviation(&found), spread * MS, 0.02, &what);
            close(beyond(&found, limit * MS), share, 0.03, &what);
            assert!(found.windows(2).any(|pair| pair[0] > pair[1] + MS), "{what}: packets overtake");
        }
    }

    /// The mean is the stated one however close packets follow each other, and none overtakes another.
    #[test]
    fn a_delay_that_keeps_order_has_its_distribution_at_every_rate() {
        for (distribution, [expected, spread], (limit, share)) in known() {
            let spec = spec(distribution);
            for (gap_us, packets) in
                [(100, 2_000_000), (1_000, 600_000), (20_000, 100_000), (5_000_000, 100_000)]
            {
                let what = format!("{spec:?} every {gap_us} us");
                let found = delays(&spec, Duration::from_micros(gap_us), packets);
                close(mean(&found), expected * MS, 0.03, &what);
                // Rare long delays come in few excursions.
                let few = if matches!(spec.distribution, Pareto { .. }) { 3.0 } else { 1.0 };
                close(deviation(&found), spread * MS, 0.05 * few, &what);
                close(beyond(&found, limit * MS), share, 0.06 * few, &what);
                let gap = gap_us as f64 * 1e3;
                assert!(found.windows(2).all(|pair| pair[1] - pair[0] >= -gap - 1.0), "{what}: order");
            }
        }
    }

    /// Of uniform numbers made from normal ones with correlation r: 6 / pi arcsin(r / 2). netem's deviation at 50 % would be 0.58 of it.
    #[test]
    fn correlation_has_its_closed_form_and_leaves_the_distribution() {
        let correlation = Probability::new(0.5).unwrap();
        let spec = JitterSpec { overtaking: true, correlation, ..JitterSpec::uniform(ms(30)) };
        let found = delays(&spec, ms(1), 400_000);
        let centre = mean(&found);
        let products: Vec<f64> =
            found.windows(2).map(|pair| (pair[0] - centre) * (pair[1] - centre)).collect();
        let expected = 6.0 / core::f64::consts::PI * 0.25f64.asin();
        close(mean(&products) / deviation(&found).powi(2), expected, 0.02, "correlation");
        close(centre, 15.0 * MS, 0.01, "mean");
        close(deviation(&found), 30.0 * MS / 12f64.sqrt(), 0.01, "deviation");
    }

    #[test]
    fn what_makes_no_sense_is_named() {
        let refused = |spec: JitterSpec| spec.check().unwrap_err();
        let message = refused(spec(Normal { mean: ms(10), deviation: ms(5) })).1;
        assert!(message.contains("at least four deviations (20 ms), not 10 ms"), "{message}");
        assert_eq!(refused(spec(Table { values: vec![ms(1), ms(1)] })).0, "distribution");
        let correlation = Probability::new(0.2).unwrap();
        assert_eq!(refused(JitterSpec { correlation, ..JitterSpec::uniform(ms(1)) }).0, "correlation");
        assert!(Jitter::new(&JitterSpec::uniform(Duration::ZERO), Random::stream(1, "none")).is_none());
    }
}
