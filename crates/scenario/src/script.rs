//! What happens to a link over time, as scenarios write it: changes and outages, once, again and again, or at random. A run makes of
//! each table the times that its seed gives, up to its end.

use longhaul_path::{Change, Outage, OutageMode};
use longhaul_units::{Duration, Probability, Random, Rate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A change of rate, delay or loss at a point in time; it holds until the next one.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Change")]
pub struct ChangeSpec {
    /// When, counted from the start of the run; with `every`, the first time.
    pub at: Duration,
    /// Again and again, so far apart.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-exclusiveMinimum" = "0 s"))]
    pub every: Option<Duration>,
    /// Each time is later by a random time, uniform between zero and this; the next ones are not.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub jitter: Duration,
    /// Each time moves, and all that follow with it, by a random time up to this, earlier or later.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub drift: Duration,
    /// The new rate, if it changes. `"0 bit/s"` stops the transmitter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-maximum" = "1000 Tbit/s"))]
    pub rate: Option<Rate>,
    /// The new propagation delay, if it changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-maximum" = "1 h"))]
    pub delay: Option<Duration>,
    /// The new loss, if it changes: each packet is lost with this probability after its transmission, independently, in the place of
    /// the link's own losses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss: Option<Probability>,
}

/// A time during which nothing gets through, once or again and again; or, with `up` and `down`, such times at random.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Outage")]
pub struct OutageSpec {
    /// When it begins, counted from the start of the run; with `every`, the first time. Of outages at random, when they become
    /// possible; the start of the run, if it is not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<Duration>,
    /// How long it lasts; not of outages at random.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-exclusiveMinimum" = "0 s"))]
    pub duration: Option<Duration>,
    /// Again and again, so far apart.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-exclusiveMinimum" = "0 s"))]
    pub every: Option<Duration>,
    /// Each beginning is later by a random time, uniform between zero and this; the next ones are not.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub jitter: Duration,
    /// Each beginning moves, and all that follow with it, by a random time up to this, earlier or later.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub drift: Duration,
    /// Outages at random: mean time between them, exponential.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-exclusiveMinimum" = "0 s"))]
    pub up: Option<Duration>,
    /// Outages at random: their mean length, exponential.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-exclusiveMinimum" = "0 s"))]
    pub down: Option<Duration>,
    /// Whether packets are lost or held.
    #[serde(default)]
    pub mode: OutageMode,
}

#[allow(clippy::trivially_copy_pass_by_ref)] // serde's signature
pub(crate) fn is_zero(time: &Duration) -> bool {
    time.is_zero()
}

/// Most times in a run that one table stands for.
const MOST: u64 = 100_000;

/// When something happens.
pub(crate) struct Times {
    pub first: Duration,
    pub every: Option<Duration>,
    pub jitter: Duration,
    pub drift: Duration,
}

impl Times {
    /// All times before `end`; one that happens once has its time whenever that is.
    pub fn until(&self, end: Duration, random: &mut Random) -> Vec<Duration> {
        let mut draw = |most: Duration| match most.is_zero() {
            true => Duration::ZERO,
            false => Duration::from_nanos(random.up_to(most.as_nanos())),
        };
        let Some(every) = self.every else { return vec![self.first + draw(self.jitter)] };
        let (mut clock, mut times) = (self.first, vec![]);
        while clock < end && (times.len() as u64) < MOST {
            times.push(clock + draw(self.jitter));
            let next = clock + every + draw(self.drift * 2);
            clock = next.saturating_sub(self.drift).max(clock);
        }
        times
    }

    /// What is wrong with them in a run of this length, and the setting.
    pub fn check(&self, end: Duration) -> Result<(), (&'static str, String)> {
        let Some(every) = self.every.filter(|every| !every.is_zero()) else {
            let message = "goes with `every`: it moves all times that follow".to_string();
            return if self.drift.is_zero() { Ok(()) } else { Err(("drift", message)) };
        };
        bounded("every", end.saturating_sub(self.first), every)?;
        if self.jitter.as_nanos().saturating_add(self.drift.as_nanos()) > every.as_nanos() {
            let field = if self.drift.is_zero() { "jitter" } else { "drift" };
            let message =
                format!("jitter and drift are together at most `every`, {every}: times keep their order");
            return Err((field, message));
        }
        Ok(())
    }
}

/// That a table does not stand for too many times.
fn bounded(field: &'static str, span: Duration, every: Duration) -> Result<(), (&'static str, String)> {
    let times = span.as_nanos() / every.as_nanos().max(1);
    if times < MOST {
        return Ok(());
    }
    Err((
        field,
        format!("it happens {times} times in this run; at most {MOST}: make it longer, or the run shorter"),
    ))
}

impl From<Change> for ChangeSpec {
    fn from(change: Change) -> ChangeSpec {
        let Change { at, rate, delay, loss } = change;
        ChangeSpec { at, every: None, jitter: Duration::ZERO, drift: Duration::ZERO, rate, delay, loss }
    }
}

impl ChangeSpec {
    /// Nothing of it is random.
    pub(crate) fn is_certain(&self) -> bool {
        self.jitter.is_zero() && self.drift.is_zero()
    }

    fn times(&self) -> Times {
        Times { first: self.at, every: self.every, jitter: self.jitter, drift: self.drift }
    }

    /// What is wrong with it in a run of this length, and the setting.
    pub(crate) fn check(&self, end: Duration) -> Result<(), (&'static str, String)> {
        self.times().check(end)
    }
}

impl OutageSpec {
    /// Nothing of it is random.
    pub(crate) fn is_certain(&self) -> bool {
        self.up.is_none() && self.jitter.is_zero() && self.drift.is_zero()
    }

    fn times(&self) -> Times {
        let first = self.start.unwrap_or_default();
        Times { first, every: self.every, jitter: self.jitter, drift: self.drift }
    }

    /// Mean times between outages and of outages, if they come at random.
    fn means(&self) -> Option<(Duration, Duration)> {
        Some((self.up?, self.down?))
    }

    /// What is wrong with it in a run of this length, and the setting.
    pub(crate) fn check(&self, end: Duration) -> Result<(), (&'static str, String)> {
        let wrong = |field, message: &str| Err((field, message.to_string()));
        if self.up.is_some() || self.down.is_some() {
            let Some((up, down)) = self.means() else {
                let (missing, given) = if self.up.is_none() { ("up", "down") } else { ("down", "up") };
                return Err((given, format!("outages at random have both mean times: give `{missing}` too")));
            };
            let scripted = [
                ("duration", self.duration.is_some()),
                ("every", self.every.is_some()),
                ("jitter", !self.jitter.is_zero()),
                ("drift", !self.drift.is_zero()),
            ];
            if let Some((field, _)) = scripted.into_iter().find(|(_, given)| *given) {
                return wrong(
                    field,
                    "outages at random (`up`, `down`) have no times of their own: leave it out",
                );
            }
            let span = end.saturating_sub(self.start.unwrap_or_default());
            return bounded("up", span, Duration::from_nanos(up.as_nanos().saturating_add(down.as_nanos())));
        }
        let needed = [("start", self.start.is_none()), ("duration", self.duration.is_none())];
        if let Some((field, _)) = needed.into_iter().find(|(_, missing)| *missing) {
            return wrong(
                field,
                "an outage has a start and a duration, or the mean times `up` and `down` at random",
            );
        }
        self.times().check(end)
    }
}

/// Changes of a run that ends at `end`, from the random stream of this name.
pub(crate) fn changes(tables: &[ChangeSpec], end: Duration, seed: u64, stream: &str) -> Vec<Change> {
    let of_table = |(index, table): (usize, &ChangeSpec)| {
        let mut random = Random::stream(seed, &format!("{stream} {index}"));
        let ChangeSpec { rate, delay, loss, .. } = *table;
        let times = table.times().until(end, &mut random);
        times.into_iter().map(move |at| Change { at, rate, delay, loss })
    };
    tables.iter().enumerate().flat_map(of_table).collect()
}

/// Outages of a run that ends at `end`, from the random stream of this name.
pub(crate) fn outages(tables: &[OutageSpec], end: Duration, seed: u64, stream: &str) -> Vec<Outage> {
    let of_table = |(index, table): (usize, &OutageSpec)| {
        let mut random = Random::stream(seed, &format!("{stream} {index}"));
        let mode = table.mode;
        let spans = match table.means() {
            Some(means) => at_random(table.start.unwrap_or_default(), means, end, &mut random),
            None => {
                let duration = table.duration.unwrap_or_default();
                table.times().until(end, &mut random).into_iter().map(|start| (start, duration)).collect()
            }
        };
        spans.into_iter().map(move |(start, duration)| Outage { start, duration, mode })
    };
    tables.iter().enumerate().flat_map(of_table).collect()
}

/// Begins and lengths of outages with exponential times between them and of them.
fn at_random(
    start: Duration,
    (up, down): (Duration, Duration),
    end: Duration,
    random: &mut Random,
) -> Vec<(Duration, Duration)> {
    let mut draw = |mean: Duration| Duration::from_secs_f64(random.exponential(mean.as_secs_f64()));
    let (mut clock, mut spans) = (start + draw(up), vec![]);
    // Twice as many as are expected at most.
    while clock < end && (spans.len() as u64) < 2 * MOST {
        let length = draw(down);
        spans.push((clock, length));
        clock = clock + length + draw(up);
    }
    spans
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }
    fn every(at: u64, every: u64, jitter: u64, drift: u64) -> Times {
        Times { first: ms(at), every: Some(ms(every)), jitter: ms(jitter), drift: ms(drift) }
    }
    fn times(times: &Times, end: u64) -> Vec<Duration> {
        times.until(ms(end), &mut Random::stream(1, "times"))
    }

    #[test]
    fn every_begins_at_its_phase_and_ends_with_the_run() {
        assert_eq!(times(&every(5_000, 15_000, 0, 0), 50_000), [5_000, 20_000, 35_000].map(ms));
    }

    /// The mean of a uniform time from 0 to 2 s is 1 s; what follows does not move.
    #[test]
    fn a_jitter_does_not_add_up() {
        let found = times(&every(0, 15_000, 2_000, 0), 15_000_000);
        assert_eq!(found.len(), 1000);
        let late: Vec<Duration> =
            found.iter().enumerate().map(|(index, time)| *time - ms(15_000) * index as u64).collect();
        assert!(late.iter().all(|late| *late <= ms(2_000)));
        let mean = late.iter().map(|late| late.as_secs_f64()).sum::<f64>() / 1000.0;
        // Four deviations of the mean of 1000 draws: 4 x 2 / sqrt(12 x 1000).
        assert!((mean - 1.0).abs() < 0.08, "{mean}");
    }

    /// Steps of +-1 s have a variance of 1/3 s^2: after n of them the deviation is sqrt(n / 3).
    #[test]
    fn a_drift_adds_up() {
        let away = |seed| {
            let found = every(0, 15_000, 0, 1_000).until(ms(6_000_000), &mut Random::stream(seed, "drift"));
            found[300].as_secs_f64() - 4500.0
        };
        let variance = (1..=400).map(|seed| away(seed) * away(seed)).sum::<f64>() / 400.0;
        // 300 / 3; the variance of 400 squares of normal numbers is known to sqrt(2 / 400), four times.
        assert!((variance / 100.0 - 1.0).abs() < 0.3, "{variance}");
    }

    /// The link is down for down / (up + down) of the time, a fifth here, in one outage each 50 s.
    #[test]
    fn outages_at_random_have_their_means() {
        let found = at_random(
            ms(0),
            (ms(40_000), ms(10_000)),
            ms(1_000_000_000),
            &mut Random::stream(3, "up and down"),
        );
        let down = found.iter().map(|(_, length)| length.as_secs_f64()).sum::<f64>();
        // 20,000 outages: four deviations of their number are 4 x sqrt(20,000 x (0.8^2 + 0.2^2)).
        assert!((found.len() as f64 - 20_000.0).abs() < 470.0, "{}", found.len());
        assert!((down / 1e6 - 0.2).abs() < 0.01, "{down}");
        // Of exponential lengths e^-1 are longer than the mean.
        let long =
            found.iter().filter(|(_, length)| *length > ms(10_000)).count() as f64 / found.len() as f64;
        assert!((long - 0.3679).abs() < 0.014, "{long}");
    }
}
