//! Rates and delays that wander at random, in steps: a link whose rate differs from slot to slot of a schedule, a radio whose rate
//! moves within a second.
//!
//! Behind each table is a process of first order of normal numbers: a step resembles the one before it by `correlation`, and the one
//! k steps before by its k-th power. A rate is the link's times a factor with a mean of 1 from each table, so that the rate that is
//! given stays the mean; a delay is the link's, and what each table adds.

use crate::jitter::{Alike, Distribution, Quantiles};
use crate::settings::{Deserialize, JsonSchema, Serialize};
use crate::{Random, Series};
use longhaul_units::{Duration, Instant, Probability, Rate};

/// Steps at random of the rate, of the delay, or of both.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Wander")]
pub struct WanderSpec {
    /// Time from step to step.
    #[schemars(extend("x-minimum" = "1 ms", "x-maximum" = "87600 h"))]
    pub every: Duration,
    /// When the first whole step begins: the phase, less than `every`.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub at: Duration,
    /// Standard deviation of the rate, as a share of its mean, which is the link's `rate`; the distribution is log-normal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spread: Option<Probability>,
    /// In the place of `spread` a distribution that was measured: the rate, as a share of its mean, is as often between each two
    /// neighbours of this list. What is written is scaled to a mean of 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 2, max = 1000))]
    pub factors: Option<Vec<f64>>,
    /// What each step adds to the link's `delay`, as a distribution; a duration alone: uniform between zero and this.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "crate::jitter::short::given"
    )]
    #[schemars(schema_with = "crate::jitter::short::distribution_schema")]
    pub delay: Option<Distribution>,
    /// How much a step resembles the one before it (autocorrelation of the normal numbers behind the draws).
    #[serde(default, skip_serializing_if = "is_never")]
    pub correlation: Probability,
}

#[allow(clippy::trivially_copy_pass_by_ref)] // serde's signature
fn is_zero(duration: &Duration) -> bool {
    duration.is_zero()
}
#[allow(clippy::trivially_copy_pass_by_ref)] // serde's signature
fn is_never(probability: &Probability) -> bool {
    probability.get() == 0.0
}

/// Most steps that one table makes; the whole begins again after them.
const MOST: u64 = 100_000;
/// A rate is less than that of any wire.
const FASTEST_BPS: f64 = 1e15;

impl WanderSpec {
    /// True if it moves the rate.
    pub fn moves_rate(&self) -> bool {
        self.spread.is_some() || self.factors.is_some()
    }

    /// What types do not check.
    ///
    /// # Errors
    /// The field, and what is wrong with it.
    pub fn check(&self) -> Result<(), (&'static str, String)> {
        if self.at >= self.every {
            return Err(("at", format!("it is the phase, less than `every`, {}", self.every)));
        }
        if self.spread.is_some() && self.factors.is_some() {
            let message = "the rate has a `spread` or a list of `factors`: leave out one of both";
            return Err(("factors", message.to_string()));
        }
        if !self.moves_rate() && self.delay.is_none() {
            return Err((
                "every",
                "nothing wanders: give `spread` or `factors` for the rate, or `delay`".to_string(),
            ));
        }
        if let Some(factors) = &self.factors {
            let ascend = factors.windows(2).all(|pair| pair[0] <= pair[1]);
            let fits = factors.iter().all(|factor| (0.0..=1e6).contains(factor));
            if !ascend || !fits || factors.last().is_none_or(|last| *last <= 0.0) {
                let message = "a list of shares of the mean rate, each from 0 and not less than the one before, as in [0.5, 0.9, 1.1, 1.5]";
                return Err(("factors", message.to_string()));
            }
        }
        match self.delay.as_ref().map(|delay| delay.check("delay")) {
            Some(Err(message)) => Err(("delay", message)),
            _ => Ok(()),
        }
    }

    /// How many steps there are of it, whose number is bounded.
    fn span(&self) -> Duration {
        Duration::from_nanos(self.every.as_nanos().saturating_mul(MOST))
    }
}

/// Steps of one table over time, from the values that `draw` gives.
struct Course<'a> {
    every: Duration,
    /// When the present step ends.
    until: Duration,
    value: f64,
    draw: Box<dyn FnMut() -> f64 + 'a>,
}

impl<'a> Course<'a> {
    fn new(table: &WanderSpec, mut draw: impl FnMut() -> f64 + 'a) -> Self {
        let until = if table.at.is_zero() { table.every } else { table.at };
        Course { every: table.every, until, value: draw(), draw: Box::new(draw) }
    }
}

/// Steps of several tables, one after the other: what `join` makes of their values.
fn joined<T: Copy>(
    mut courses: Vec<Course<'_>>,
    spans: impl Iterator<Item = Duration>,
    end: Duration,
    join: impl Fn(&[f64]) -> T,
) -> Option<Series<T>> {
    let span = spans.chain([end]).min()?.max(Duration::from_nanos(1));
    if courses.is_empty() {
        return None;
    }
    let (mut clock, mut steps) = (Duration::ZERO, vec![]);
    while clock < span {
        let values: Vec<f64> = courses.iter().map(|course| course.value).collect();
        steps.push((clock, join(&values)));
        clock = courses.iter().map(|course| course.until).min()?;
        for course in courses.iter_mut().filter(|course| course.until == clock) {
            course.until = clock + course.every;
            course.value = (course.draw)();
        }
    }
    Some(Series::new(&steps, span, Duration::ZERO))
}

/// The rate of a link in a run that ends at `end`, if one of its tables moves it. `random` has the stream of a table's
/// number among those.
/// After 100,000 steps of the shortest table it begins again.
pub fn wandering_rate(
    tables: &[WanderSpec],
    rate: Rate,
    end: Duration,
    random: impl Fn(usize) -> Random,
) -> Option<Series<Rate>> {
    let moving = || tables.iter().filter(|table| table.moves_rate()).enumerate();
    let courses = moving().map(|(number, table)| {
        let mut alike = Alike::new(table.correlation, random(number));
        // Of a log-normal with mean 1: variance and mean of the logarithm.
        let spread = table.spread.unwrap_or_default().get();
        let variance = libm::log1p(spread * spread);
        let quantiles = table.factors.as_deref().map(Quantiles::of);
        Course::new(table, move || match &quantiles {
            Some(quantiles) => quantiles.at(alike.below()) / quantiles.mean(),
            None => libm::exp(variance.sqrt() * alike.normal() - variance / 2.0),
        })
    });
    let of_factors = |factors: &[f64]| {
        let bps = rate.as_bps() as f64 * factors.iter().product::<f64>();
        Rate::from_bps_f64(bps.clamp(1.0, FASTEST_BPS))
    };
    joined(courses.collect(), moving().map(|(_, table)| table.span()), end, of_factors)
}

/// The delay of a link in a run that ends at `end`, if one of its tables moves it; as [`wandering_rate`].
pub fn wandering_delay(
    tables: &[WanderSpec],
    delay: Duration,
    end: Duration,
    random: impl Fn(usize) -> Random,
) -> Option<Series<Duration>> {
    let moving = || tables.iter().filter_map(|table| Some((table, table.delay.as_ref()?))).enumerate();
    let courses = moving().map(|(number, (table, added))| {
        let mut draws = added.draws(table.correlation, random(number));
        Course::new(table, move || draws.next().as_nanos() as f64)
    });
    let of_added = |added: &[f64]| delay + Duration::from_nanos(added.iter().sum::<f64>() as u64);
    joined(courses.collect(), moving().map(|(_, (table, _))| table.span()), end, of_added)
}

/// The same rate, and none in these times (begin and end): outages that hold packets. Of a rate that begins again, its first course
/// has them.
pub fn stopped(rate: &Series<Rate>, holds: &[(Duration, Duration)]) -> Series<Rate> {
    let mut holds: Vec<_> =
        holds.iter().filter(|(begin, end)| begin < end && *begin < rate.period()).collect();
    holds.sort_unstable();
    let begins = rate.steps().map(|(at, _)| at);
    let mut times: Vec<Duration> =
        begins.chain(holds.iter().flat_map(|(begin, end)| [*begin, *end])).collect();
    times.retain(|time| *time < rate.period());
    times.sort_unstable();
    times.dedup();
    // Those that have begun reach up to here.
    let (mut next, mut until) = (0, Duration::ZERO);
    let steps: Vec<_> = times
        .into_iter()
        .map(|time| {
            while let Some((_, end)) = holds.get(next).filter(|(begin, _)| *begin <= time) {
                (next, until) = (next + 1, until.max(*end));
            }
            (time, if time < until { Rate::ZERO } else { rate.at(Instant::ZERO + time) })
        })
        .collect();
    Series::new(&steps, rate.period(), Duration::ZERO)
}

/// The shortest delay that a link whose delay wanders may have.
pub fn least_delay(tables: &[WanderSpec], delay: Duration) -> Duration {
    tables.iter().filter_map(|table| table.delay.as_ref()).fold(delay, |sum, added| sum + added.least())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn table(every: u64, spread: f64, correlation: f64) -> WanderSpec {
        WanderSpec {
            every: ms(every),
            at: Duration::ZERO,
            spread: Some(Probability::new(spread).unwrap()),
            factors: None,
            delay: None,
            correlation: Probability::new(correlation).unwrap(),
        }
    }

    fn rates(tables: &[WanderSpec], steps: u64, every: u64) -> Vec<f64> {
        let random = |number: usize| Random::stream(7, &number.to_string());
        let series = wandering_rate(tables, Rate::from_bps(100_000_000), ms(steps * every), random).unwrap();
        (0..steps).map(|step| series.at(Instant::ZERO + ms(step * every)).as_bps() as f64 / 1e8).collect()
    }

    fn mean(values: &[f64]) -> f64 {
        values.iter().sum::<f64>() / values.len() as f64
    }

    /// Covariance of values and those `lag` later.
    fn covariance(values: &[f64], lag: usize) -> f64 {
        let mean = mean(values);
        let products = values.iter().zip(&values[lag..]).map(|(one, later)| (one - mean) * (later - mean));
        products.sum::<f64>() / (values.len() - lag) as f64
    }

    /// A log-normal of mean 1 and deviation d: the logarithm has the variance s = ln(1 + d^2) and the mean -s / 2, and values k steps
    /// apart of a process of first order the covariance exp(s r^k) - 1.
    #[test]
    fn a_rate_has_its_mean_its_spread_and_its_memory() {
        let found = rates(&[table(100, 0.25, 0.6)], 90_000, 100);
        let log_variance = (1.0f64 + 0.25 * 0.25).ln();
        // The effective number of draws of a process of first order is n (1 - r) / (1 + r), 22,500: 0.25 / 150, four times.
        assert!((mean(&found) - 1.0).abs() < 0.007, "{}", mean(&found));
        for (lag, memory) in [(0, 1.0), (1, 0.6), (2, 0.36), (5, 0.077_76)] {
            let expected = (log_variance * memory).exp() - 1.0;
            let here = covariance(&found, lag);
            assert!((here - expected).abs() < 0.0035, "{lag}: {here} {expected}");
        }
        let logs: Vec<f64> = found.iter().map(|rate| rate.ln()).collect();
        assert!((mean(&logs) + log_variance / 2.0).abs() < 0.007);
    }

    /// Factors of independent tables multiply: (1 + a^2) (1 + b^2) is the mean square. The slow one holds for its step.
    #[test]
    fn two_tables_are_a_slow_and_a_fast_part() {
        let found = rates(&[table(15_000, 0.3, 0.0), table(500, 0.2, 0.0)], 90_000, 500);
        let square = mean(&found.iter().map(|rate| rate * rate).collect::<Vec<_>>());
        assert!((mean(&found) - 1.0).abs() < 0.025, "{}", mean(&found)); // 3000 slots
        assert!((square / (1.09 * 1.04) - 1.0).abs() < 0.06, "{square}");
        let slots: Vec<f64> = found.chunks(30).map(mean).collect();
        // Of a slot's mean: 0.09, and of 30 fast ones (1.09 * 1.04 - 1.09) / 30.
        let expected = 0.09 + 1.09 * 0.04 / 30.0;
        assert!((covariance(&slots, 0) / expected - 1.0).abs() < 0.15, "{}", covariance(&slots, 0));
    }

    /// As often between each two neighbours: the shares of 0.5, 1.0, 1.0 and 2.5 are scaled by their mean, 1.1667.
    #[test]
    fn factors_are_scaled_to_a_mean_of_one() {
        let given =
            WanderSpec { spread: None, factors: Some(vec![0.5, 1.0, 1.0, 2.5]), ..table(100, 0.1, 0.5) };
        let found = rates(&[given], 90_000, 100);
        let scale = (0.75 + 1.0 + 1.75) / 3.0;
        assert!((mean(&found) - 1.0).abs() < 0.012, "{}", mean(&found));
        let share = |below: f64| found.iter().filter(|rate| **rate * scale < below).count() as f64 / 90_000.0;
        assert!((share(0.999) - 1.0 / 3.0).abs() < 0.013 && (share(1.001) - 2.0 / 3.0).abs() < 0.013);
        assert!(found.iter().all(|rate| (0.4999..=2.5001).contains(&(rate * scale))));
    }

    /// A uniform delay of up to 20 ms in slots with a phase: mean 10 ms, variance 400 / 12, nothing in common between slots.
    #[test]
    fn a_delay_is_added_in_each_slot() {
        let given = WanderSpec {
            at: ms(12_000),
            spread: None,
            delay: Some(Distribution::Uniform { most: ms(20) }),
            ..table(15_000, 0.1, 0.0)
        };
        let random = |number: usize| Random::stream(7, &number.to_string());
        let series =
            wandering_delay(std::slice::from_ref(&given), ms(30), ms(15_000 * 20_000), random).unwrap();
        let at = |time: u64| series.at(Instant::ZERO + ms(time)).as_secs_f64() * 1e3 - 30.0;
        assert_eq!(at(12_000), at(26_999));
        assert!(at(11_999) != at(12_000) && at(26_999) != at(27_000));
        let found: Vec<f64> = (0..20_000).map(|slot| at(12_000 + 15_000 * slot)).collect();
        assert!((mean(&found) - 10.0).abs() < 0.17, "{}", mean(&found)); // four times sqrt(33.3 / 20,000)
        assert!((covariance(&found, 0) / (400.0 / 12.0) - 1.0).abs() < 0.03);
        assert!(covariance(&found, 1).abs() < 1.0);
        assert_eq!(least_delay(&[given], ms(30)), ms(30));
        assert!(wandering_rate(&[], Rate::from_bps(1), ms(1), random).is_none());
    }

    /// Outages that hold may overlap, and meet steps of the rate: the rate is 0 in each of them, and as before otherwise.
    #[test]
    fn a_rate_that_is_held_is_zero_meanwhile() {
        let random = |number: usize| Random::stream(7, &number.to_string());
        let series =
            wandering_rate(&[table(100, 0.2, 0.5)], Rate::from_bps(1_000_000), ms(1000), random).unwrap();
        let holds = [(350, 420), (400, 450), (0, 20), (990, 2000), (3000, 4000)].map(|(a, b)| (ms(a), ms(b)));
        let held = stopped(&series, &holds);
        for time in 0..1000 {
            let stopped = holds.iter().any(|(begin, end)| (*begin..*end).contains(&ms(time)));
            let now = Instant::ZERO + ms(time);
            assert_eq!(held.at(now), if stopped { Rate::ZERO } else { series.at(now) }, "{time} ms");
        }
    }

    /// A day in steps of 1 ms has 86,400,000 of them: 100,000 are made, and they come again.
    #[test]
    fn the_number_of_steps_is_bounded() {
        let random = |number: usize| Random::stream(7, &number.to_string());
        let series =
            wandering_rate(&[table(1, 0.2, 0.9)], Rate::from_bps(1_000_000), ms(86_400_000), random).unwrap();
        assert_eq!((series.values().len(), series.period()), (100_000, ms(100_000)));
        assert_eq!(series.at(Instant::ZERO + ms(77)), series.at(Instant::ZERO + ms(100_077)));
    }
}
