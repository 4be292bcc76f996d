//! Links that follow measurements or satellites: what a scenario names, and the formats of the programs that measured.

mod formats;
mod packed;

use crate::load::in_hex;
use crate::satellites::Catalogue;
use crate::validate::Problem;
use crate::{ReadTable, Scenario};
use longhaul_path::leo::Course;
use longhaul_path::{LeoSpec, LinkTrace, Opportunities, Series, TracedRate};
use longhaul_units::ranges::Key;
use longhaul_units::{Duration, Rate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::path::Path;
use std::sync::Arc;

/// A link that follows measurements, from files.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LinkTraceSpec {
    /// Its rate over time, in the place of `rate`. A text is the name of the file.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "crate::shorthand::measured"
    )]
    #[schemars(schema_with = "crate::shorthand::measured_schema")]
    pub rate: Option<MeasuredSpec>,
    /// Its delay over time, one way, in the place of `delay`. Of round trips, the half.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "crate::shorthand::measured"
    )]
    #[schemars(schema_with = "crate::shorthand::measured_schema")]
    pub delay: Option<MeasuredSpec>,
    /// The share of packets that are lost over time, in the place of `loss`. Of lost probes, the share in each second.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "crate::shorthand::measured"
    )]
    #[schemars(schema_with = "crate::shorthand::measured_schema")]
    pub loss: Option<MeasuredSpec>,
    /// The signal (Es/N0, in dB) over time that `acm` makes the link's rate of.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "crate::shorthand::measured"
    )]
    #[schemars(schema_with = "crate::shorthand::measured_schema")]
    pub signal: Option<MeasuredSpec>,
    /// What times at which packets can leave (Mahimahi's format) stand for.
    #[serde(default, skip_serializing_if = "OpportunitiesSpec::is_default")]
    pub opportunities: OpportunitiesSpec,
    /// Each file begins again at its end. Without it, a run must not be longer than its files.
    #[serde(default = "repeated")]
    pub repeat: bool,
    /// Where in the files the run begins.
    #[serde(default, skip_serializing_if = "is_none")]
    pub offset: Duration,
}

fn repeated() -> bool {
    true
}
#[allow(clippy::trivially_copy_pass_by_ref)] // serde's signature
fn is_none(offset: &Duration) -> bool {
    offset.is_zero()
}

/// What times at which packets can leave stand for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OpportunitiesSpec {
    /// 1500 bytes can leave at each of them; what does not leave then is lost, as in Mahimahi.
    #[default]
    Exact,
    /// The mean rate of each 100 ms.
    Rate,
}

impl OpportunitiesSpec {
    fn is_default(&self) -> bool {
        *self == OpportunitiesSpec::default()
    }
}

/// A quantity over time, in a file.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MeasuredSpec {
    /// The file; a relative path begins at the scenario file.
    pub file: String,
    /// Its format; without it by its name (`.csv`, `.parquet`) or its content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<MeasuredFormat>,
    /// The column of the values in a table; without it the only one beside the times.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub column: Option<String>,
    /// The column of the times in a table; without it the first that is called `time`, `timestamp` or the like.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time: Option<String>,
    /// Unit of the values, as in `"Mbit/s"`, `"ms"`, `"%"`; without it that of the column's name (`rate_mbps`, `delay_ms`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
    /// Time from value to value, in a file without times.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-exclusiveMinimum" = "0 s"))]
    pub every: Option<Duration>,
    /// All values are multiplied by this.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 1e6))]
    pub scale: f64,
    /// The digest of what was read, which is written into the resolved scenario: with it, another content of the file is refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// What is in the file, once it was read.
    #[serde(skip)]
    pub content: Option<Arc<Measured>>,
}

fn one() -> f64 {
    1.0
}
#[allow(clippy::trivially_copy_pass_by_ref, clippy::float_cmp)] // serde's signature, and a default is written as it is
fn is_one(scale: &f64) -> bool {
    *scale == 1.0
}

impl MeasuredSpec {
    /// The file alone.
    pub fn of(file: &str) -> Self {
        MeasuredSpec {
            file: file.to_string(),
            format: None,
            column: None,
            time: None,
            unit: None,
            every: None,
            scale: 1.0,
            digest: None,
            content: None,
        }
    }

    /// What all values are multiplied by, in its range: links are built before ranges are checked.
    fn factor(&self) -> f64 {
        self.scale.clamp(0.0, 1e6)
    }
}

/// How measurements are written down.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MeasuredFormat {
    /// Mahimahi's: a line for each packet of 1500 bytes that can leave, the time in ms; times do not fall.
    Mahimahi,
    /// A value on each line, one each `every`, in `unit`: LeoReplayer's delays are one each 10 ms, in ms.
    List,
    /// A table with a line of headings.
    Csv,
    /// A table in Parquet.
    Parquet,
    /// `irtt client -o`: one-way delays, or half of round trips; lost probes.
    Irtt,
    /// `iperf3 --json`: the rate of each interval.
    Iperf3,
    /// The text of `ping`, at best with `-D`: half of round trips; lost probes.
    Ping,
}

/// What a file holds.
#[derive(Clone, PartialEq, Debug)]
pub enum Measured {
    /// Times at which packets of 1500 bytes can leave, and the length of the whole.
    Opportunities(Arc<[Duration]>, Duration),
    /// Values in steps, in bit/s, s, shares or dB, and the length of the whole.
    Steps(Vec<(Duration, f64)>, Duration),
}

/// What is measured.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Quantity {
    Rate,
    Delay,
    Loss,
    Signal,
}

impl Quantity {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Quantity::Rate => "rate",
            Quantity::Delay => "delay",
            Quantity::Loss => "loss",
            Quantity::Signal => "signal",
        }
    }
}

impl Measured {
    fn period(&self) -> Duration {
        match self {
            Measured::Opportunities(_, period) | Measured::Steps(_, period) => *period,
        }
    }

    fn digest(&self) -> String {
        let mut hash = Sha256::new();
        hash.update(self.period().as_nanos().to_le_bytes());
        match self {
            Measured::Opportunities(at, _) => {
                at.iter().for_each(|at| hash.update(at.as_nanos().to_le_bytes()))
            }
            Measured::Steps(steps, _) => steps.iter().for_each(|(at, value)| {
                hash.update(at.as_nanos().to_le_bytes());
                hash.update(value.to_le_bytes());
            }),
        }
        in_hex(&hash.finalize()[..16])
    }
}

/// Delays of satellites are kept for each tenth of a second, 16 bytes each.
const LONGEST_COURSE: Duration = Duration::from_secs(24 * 3600);
/// The rate of times at which packets can leave is the mean over so long.
const BIN: Duration = Duration::from_millis(100);

impl LinkTraceSpec {
    /// The quantities that it gives.
    pub(crate) fn given(&self) -> impl Iterator<Item = (Quantity, &MeasuredSpec)> {
        let all = [
            (Quantity::Rate, &self.rate),
            (Quantity::Delay, &self.delay),
            (Quantity::Loss, &self.loss),
            (Quantity::Signal, &self.signal),
        ];
        all.into_iter().filter_map(|(quantity, spec)| Some((quantity, spec.as_ref()?)))
    }

    /// What a link follows, of files that were read.
    pub fn build(&self) -> LinkTrace {
        LinkTrace {
            rate: self.rate.as_ref().and_then(|spec| self.rate_of(spec)),
            delay: self.delay.as_ref().and_then(|spec| self.series(spec, Duration::from_secs_f64)),
            loss: self.loss.as_ref().and_then(|spec| self.series(spec, |share| share)),
        }
    }

    /// The signal over time, of a file that was read.
    pub(crate) fn signal(&self) -> Option<Series<f64>> {
        self.series(self.signal.as_ref()?, |db| db)
    }

    /// The steps of a file, of which `value` makes the link's; `None` if it was not read, or has none.
    fn series<T: Copy>(&self, spec: &MeasuredSpec, value: impl Fn(f64) -> T) -> Option<Series<T>> {
        let Measured::Steps(steps, period) = spec.content.as_deref()? else { return None };
        let steps: Vec<_> = steps.iter().map(|(at, number)| (*at, value(number * spec.factor()))).collect();
        Some(Series::new(&steps, *period, self.offset))
    }

    fn rate_of(&self, spec: &MeasuredSpec) -> Option<TracedRate> {
        let Measured::Opportunities(at, period) = spec.content.as_deref()? else {
            return self.series(spec, Rate::from_bps_f64).map(TracedRate::Steps);
        };
        let bytes = (f64::from(Opportunities::MAHIMAHI) * spec.factor()).round().max(1.0) as u32;
        let list = |offset| Opportunities::new(at.clone(), *period, offset, bytes);
        if self.opportunities == OpportunitiesSpec::Exact {
            return Some(TracedRate::Opportunities(list(self.offset)));
        }
        let whole = list(Duration::ZERO);
        let begins = (0..period.as_nanos().div_ceil(BIN.as_nanos())).map(|bin| bin * BIN.as_nanos());
        let steps: Vec<_> = begins
            .map(|begin| {
                let end = (begin + BIN.as_nanos()).min(period.as_nanos());
                let [from, to] = [begin, end].map(longhaul_units::Instant::from_nanos);
                let rate = whole.capacity_bits(from, to) / (to - from).as_secs_f64();
                (Duration::from_nanos(begin), Rate::from_bps_f64(rate))
            })
            .collect();
        Some(TracedRate::Steps(Series::new(&steps, *period, self.offset)))
    }
}

/// The least delay of what a link follows.
pub(crate) fn least_delay(trace: &LinkTrace) -> Option<Duration> {
    trace.delay.as_ref().and_then(|delay| delay.values().iter().min().copied())
}

/// Reads every measurement of a scenario, and computes where satellites go; relative paths begin at `folder`.
pub(crate) fn read_all(
    scenario: &mut Scenario,
    folder: &Path,
    read_table: ReadTable<'_>,
) -> Result<(), Problem> {
    let end = scenario.run.duration;
    let mut known: Vec<(MeasuredSpec, Quantity, Arc<Measured>)> = vec![];
    for (mut path, spec, leo) in places(scenario) {
        if let Some(leo) = leo {
            if end > LONGEST_COURSE {
                path.push(Key::Field("leo"));
                let message =
                    format!("satellites are followed for {LONGEST_COURSE} at most, and the run takes {end}");
                return Err(Problem { path, message, help: None });
            }
            let course = follow(leo, folder, end).map_err(|(place, message)| {
                let keys = place.iter().copied().map(Key::Field);
                let path = path.iter().cloned().chain([Key::Field("leo")]).chain(keys).collect();
                Problem { path, message, help: None }
            })?;
            leo.course = Some(Arc::new(course));
        }
        let Some(spec) = spec else { continue };
        let (repeat, offset) = (spec.repeat, spec.offset);
        let all = [
            (Quantity::Rate, &mut spec.rate),
            (Quantity::Delay, &mut spec.delay),
            (Quantity::Loss, &mut spec.loss),
            (Quantity::Signal, &mut spec.signal),
        ];
        for (quantity, measured) in all {
            let Some(measured) = measured else { continue };
            path.extend([Key::Field("trace"), Key::Field(quantity.name())]);
            let problem = |field: Option<&'static str>, message: String| {
                let path = path.iter().cloned().chain(field.map(Key::Field)).collect();
                Problem { path, message, help: None }
            };
            let place = crate::traces::place_of(&measured.file, folder);
            measured.file = place.to_string_lossy().into_owned();
            let is_same = |one: &MeasuredSpec| {
                MeasuredSpec { content: None, digest: None, ..one.clone() }
                    == MeasuredSpec { content: None, digest: None, ..measured.clone() }
            };
            let content = match known.iter().find(|(one, of, _)| *of == quantity && is_same(one)) {
                Some((.., content)) => content.clone(),
                None => Arc::new(
                    formats::read(&place, measured, quantity, read_table)
                        .map_err(|error| problem(error.field, error.message))?,
                ),
            };
            known.push((measured.clone(), quantity, content.clone()));
            let digest = content.digest();
            expect(measured.digest.as_ref(), &digest, &place)
                .map_err(|message| problem(Some("digest"), message))?;
            if !repeat && offset + end > content.period() {
                let message = format!(
                    "{} ends after {}, and the run with its offset after {}: a shorter run, or repeat = true",
                    place.display(),
                    content.period(),
                    offset + end
                );
                return Err(problem(None, message));
            }
            (measured.digest, measured.content) = (Some(digest), Some(content));
            path.truncate(path.len() - 2);
        }
    }
    Ok(())
}

/// A measurement that no scenario names: times in s and values in bit/s, s or shares, and the length of the whole in s; of times at
/// which packets can leave, the mean of each 100 ms. `quantity` is `rate`, `delay` or `loss`, `settings` are those of a measured
/// quantity in TOML.
///
/// # Errors
/// What is wrong with the settings or the file.
pub fn read_measurement(
    settings: &str,
    quantity: &str,
    read_table: ReadTable<'_>,
) -> Result<(Vec<(f64, f64)>, f64), String> {
    let all = [Quantity::Rate, Quantity::Delay, Quantity::Loss];
    let wrong = || format!("{quantity:?} is none of rate, delay, loss");
    let quantity = *all.iter().find(|one| one.name() == quantity).ok_or_else(wrong)?;
    let mut spec: MeasuredSpec = toml::from_str(settings).map_err(|why| why.message().to_string())?;
    let place = crate::traces::place_of(&spec.file, Path::new(""));
    let content = formats::read(&place, &spec, quantity, read_table).map_err(named)?;
    let period = content.period().as_secs_f64();
    if let Measured::Steps(steps, _) = content {
        let factor = spec.factor();
        return Ok((steps.iter().map(|(at, value)| (at.as_secs_f64(), value * factor)).collect(), period));
    }
    spec.content = Some(Arc::new(content));
    let opportunities = OpportunitiesSpec::Rate;
    let link = LinkTraceSpec {
        rate: Some(spec),
        delay: None,
        loss: None,
        signal: None,
        opportunities,
        repeat: true,
        offset: Duration::ZERO,
    };
    match link.build().rate {
        Some(TracedRate::Steps(series)) => {
            Ok((series.steps().map(|(at, rate)| (at.as_secs_f64(), rate.as_bps() as f64)).collect(), period))
        }
        _ => Err("it has no rate".to_string()),
    }
}

/// Each probe of a file of `irtt` or `ping`: its time in s, and whether it was lost; `None` of files of other programs.
///
/// # Errors
/// What is wrong with the settings or the file.
pub fn read_outcomes(settings: &str) -> Result<Option<Vec<(f64, bool)>>, String> {
    let spec: MeasuredSpec = toml::from_str(settings).map_err(|why| why.message().to_string())?;
    formats::outcomes(&crate::traces::place_of(&spec.file, Path::new("")), &spec).map_err(named)
}

/// An error with the setting that it is about.
fn named(error: formats::Wrong) -> String {
    match error.field.filter(|field| *field != "file") {
        Some(field) => format!("{field}: {}", error.message),
        None => error.message,
    }
}

/// That a file has the content that a scenario expects, if it does.
fn expect(expected: Option<&String>, digest: &str, place: &Path) -> Result<(), String> {
    match expected {
        Some(expected) if expected != digest => Err(format!(
            "{} has another content: its digest is {digest}, expected is {expected}",
            place.display()
        )),
        _ => Ok(()),
    }
}

/// Where the satellites of a link go in the time of a run.
fn follow(leo: &mut LeoSpec, folder: &Path, end: Duration) -> Result<Course, (Vec<&'static str>, String)> {
    let of_link = |(field, message)| (vec![field], message);
    let Some(elements) = &mut leo.elements else { return leo.course(end).map_err(of_link) };
    let place = crate::traces::place_of(&elements.file, folder);
    let (sky, digest) =
        Catalogue::read(&place, elements).map_err(|(field, message)| (vec!["elements", field], message))?;
    expect(elements.digest.as_ref(), &digest, &place)
        .map_err(|message| (vec!["elements", "digest"], message))?;
    (elements.file, elements.digest) = (place.to_string_lossy().into_owned(), Some(digest));
    leo.course_under(&sky, end).map_err(of_link)
}

/// Leaves out what is no part of a run's identity: where a measurement is, and how it is written down.
pub(crate) fn make_anonymous(scenario: &mut Scenario) {
    for (_, spec, leo) in places(scenario) {
        if let Some(elements) = leo.as_mut().and_then(|leo| leo.elements.as_mut()) {
            elements.file = String::new();
        }
        let Some(spec) = spec else { continue };
        for measured in
            [&mut spec.rate, &mut spec.delay, &mut spec.loss, &mut spec.signal].into_iter().flatten()
        {
            let (scale, digest) = (measured.scale, measured.digest.take());
            *measured = MeasuredSpec { scale, digest, ..MeasuredSpec::of("") };
        }
    }
}

/// A direction of a link: where it stands, the measurement and the satellites that it may follow.
type Place<'a> = (Vec<Key>, &'a mut Option<LinkTraceSpec>, &'a mut Option<LeoSpec>);

/// Where links may follow measurements and satellites.
fn places(scenario: &mut Scenario) -> Vec<Place<'_>> {
    let mut found: Vec<Place<'_>> = vec![];
    let field = Key::Field;
    macro_rules! table {
        ($path:expr, $table:expr, $first:ident, $second:ident) => {{
            let (path, table) = ($path, $table);
            found.push((path.clone(), &mut table.trace, &mut table.leo));
            for (name, side) in
                [(stringify!($first), &mut table.$first), (stringify!($second), &mut table.$second)]
            {
                if let Some(side) = side.as_mut() {
                    found.push(([&path[..], &[field(name)]].concat(), &mut side.trace, &mut side.leo));
                }
            }
        }};
    }
    if let Some(dumbbell) = &mut scenario.dumbbell {
        table!(vec![field("dumbbell"), field("bottleneck")], &mut dumbbell.bottleneck, forward, reverse);
        if let Some(access) = &mut dumbbell.access {
            table!(vec![field("dumbbell"), field("access")], access, from, to);
        }
    }
    for (index, link) in scenario.link.iter_mut().enumerate() {
        table!(vec![field("link"), Key::Index(index)], link, forward, reverse);
    }
    for (index, flow) in scenario.flow.iter_mut().enumerate() {
        if let Some(access) = &mut flow.access {
            table!(vec![field("flow"), Key::Index(index), field("access")], access, from, to);
        }
    }
    found
}
