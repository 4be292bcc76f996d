//! Many runs at a call: what a sweep makes that keeps summaries only, and the metrics of many summaries as columns.

use crate::{RunCancelled, RunError, control, load};
use longhaul_sim as sim;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;
use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// A run that was made: the resolved scenario (TOML), its summary without definitions and these (JSON), events, wall-clock
/// seconds.
type Made = (Py<PyBytes>, Py<PyBytes>, Py<PyBytes>, u64, f64);

/// Makes runs of a scenario under several seeds, without time series, until all are made or `budget_s` of wall-clock time is over;
/// at least one.
///
/// `progress(index, sim_time_s, duration_s, events, delivered)` is called as that of `run`; `index` counts the seeds.
#[pyfunction]
#[expect(clippy::too_many_arguments)] // keywords in Python
#[pyo3(signature = (text, source_name, overrides, seeds, folder=None, progress=None, budget_s=f64::INFINITY))]
pub fn run_seeds(
    py: Python<'_>,
    text: &str,
    source_name: &str,
    overrides: Vec<(String, String)>,
    seeds: Vec<u64>,
    folder: Option<PathBuf>,
    progress: Option<Py<PyAny>>,
    budget_s: f64,
) -> PyResult<Vec<Made>> {
    control::take_error();
    let mut overrides = overrides;
    overrides.extend(seeds.first().map(|seed| ("run.seed".to_string(), seed.to_string())));
    let mut scenario = py.detach(|| load(text, source_name, &overrides, folder.as_deref()))?;
    let began = Instant::now();
    let budget = Duration::try_from_secs_f64(budget_s).unwrap_or(Duration::MAX);
    let tomls = sim::resolved_tomls(&scenario, &seeds);
    let mut known: Option<(String, Py<PyBytes>)> = None;
    let mut made = vec![];
    for (index, (seed, toml)) in seeds.iter().zip(tomls).enumerate() {
        if index > 0 && began.elapsed() >= budget {
            break;
        }
        scenario.run.seed = *seed;
        let started = Instant::now();
        let (parts, events) = py.detach(|| run_one(&scenario, progress.as_ref(), index))?;
        let (summary, definitions) = parts;
        let definitions = match &known {
            Some((text, bytes)) if *text == definitions => bytes.clone_ref(py),
            _ => {
                let bytes = PyBytes::new(py, definitions.as_bytes()).unbind();
                known = Some((definitions, bytes.clone_ref(py)));
                bytes
            }
        };
        let bytes = |text: String| PyBytes::new(py, text.as_bytes()).unbind();
        made.push((bytes(toml), bytes(summary), definitions, events, started.elapsed().as_secs_f64()));
    }
    Ok(made)
}

fn run_one(
    scenario: &sim::Scenario,
    progress: Option<&Py<PyAny>>,
    index: usize,
) -> PyResult<((String, String), u64)> {
    let mut raised: Option<PyErr> = None;
    let mut on_progress = |p: &sim::Progress| report(progress, index, p, &mut raised);
    let options =
        sim::RunOptions { tables: false, progress: Some(&mut on_progress), ..sim::RunOptions::default() };
    let outcome = sim::simulate(scenario, options);
    if let Some(error) = control::take_error() {
        return Err(RunError::new_err(error));
    }
    match (outcome, raised) {
        (_, Some(error)) => Err(error),
        (Ok(outcome), None) => Ok((outcome.summary.in_two_parts(), outcome.events)),
        (Err(error), None) => Err(RunCancelled::new_err(error.to_string())),
    }
}

fn report(
    callback: Option<&Py<PyAny>>,
    index: usize,
    progress: &sim::Progress,
    raised: &mut Option<PyErr>,
) -> ControlFlow<()> {
    crate::report_with(callback, raised, |py, callback| {
        let delivered = progress.delivered.clone();
        callback.call1(py, (index, progress.sim_time_s, progress.duration_s, progress.events, delivered))
    })
}

/// Points of a sweep: for each the resolved scenario as JSON, and the identity of the run under each seed.
#[pyfunction]
#[pyo3(signature = (text, source_name, points, seeds, folder=None))]
pub fn resolve_points(
    py: Python<'_>,
    text: &str,
    source_name: &str,
    points: Vec<Vec<(String, String)>>,
    seeds: Vec<u64>,
    folder: Option<PathBuf>,
) -> PyResult<Vec<(String, Vec<String>)>> {
    py.detach(|| {
        let resolve = |mut overrides: Vec<(String, String)>| {
            overrides.extend(seeds.first().map(|seed| ("run.seed".to_string(), seed.to_string())));
            let scenario = load(text, source_name, &overrides, folder.as_deref())?;
            Ok((sim::resolved_json(&scenario), sim::run_ids(&scenario, &seeds)))
        };
        points.into_iter().map(resolve).collect()
    })
}

/// A column of numbers: its name, and its values as 64-bit floats in the machine's order, NaN where there is none.
type Column = (String, Py<PyBytes>);

/// The metrics of several summaries (JSON) under flat names, a column for each, in the order of their first appearance:
/// `goodput_bps`, `link.NAME.utilisation`, `group.NAME.goodput_bps`.
#[pyfunction]
pub fn flat_columns(py: Python<'_>, summaries: Vec<PyBackedBytes>) -> PyResult<Vec<Column>> {
    let columns: Result<Columns, String> = py.detach(|| {
        let mut columns = Columns { rows: summaries.len(), ..Columns::default() };
        for (row, summary) in summaries.iter().enumerate() {
            let summary: Flat<'_> = serde_json::from_slice(summary).map_err(|error| error.to_string())?;
            columns.add(row, &summary);
        }
        Ok(columns)
    });
    let columns = columns.map_err(PyValueError::new_err)?;
    let to_python = |(name, values): (String, Vec<f64>)| {
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_ne_bytes()).collect();
        (name, PyBytes::new(py, &bytes).unbind())
    };
    Ok(columns.found.into_iter().map(to_python).collect())
}

#[derive(Default)]
struct Columns {
    rows: usize,
    found: Vec<(String, Vec<f64>)>,
    places: HashMap<String, usize>,
    name: String,
}

impl Columns {
    fn add(&mut self, row: usize, summary: &Flat<'_>) {
        self.set(row, "", "", &summary.run);
        for (kind, objects) in
            [("link", &summary.links), ("group", &summary.groups), ("middlebox", &summary.middleboxes)]
        {
            for object in objects {
                self.set(row, kind, &object.name, &object.metrics);
            }
        }
    }

    fn set(&mut self, row: usize, kind: &str, object: &str, metrics: &Metrics<'_>) {
        for (metric, value) in &metrics.0 {
            self.name.clear();
            for part in [kind, object] {
                if !kind.is_empty() {
                    self.name.push_str(part);
                    self.name.push('.');
                }
            }
            self.name.push_str(metric);
            let place = match self.places.get(&self.name) {
                Some(place) => *place,
                None => {
                    let place = self.found.len();
                    self.places.insert(self.name.clone(), place);
                    self.found.push((self.name.clone(), vec![f64::NAN; self.rows]));
                    place
                }
            };
            self.found[place].1[row] = value.unwrap_or(f64::NAN);
        }
    }
}

#[derive(Deserialize)]
struct Flat<'a> {
    #[serde(borrow)]
    run: Metrics<'a>,
    #[serde(borrow, default)]
    links: Vec<Object<'a>>,
    #[serde(borrow, default)]
    groups: Vec<Object<'a>>,
    #[serde(borrow, default)]
    middleboxes: Vec<Object<'a>>,
}

#[derive(Deserialize)]
struct Object<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
    #[serde(borrow)]
    metrics: Metrics<'a>,
}

/// A name that is borrowed from the text where it has no escapes.
#[derive(Deserialize)]
struct Name<'a>(#[serde(borrow)] Cow<'a, str>);

/// Names and values in the order of the text.
struct Metrics<'a>(Vec<(Cow<'a, str>, Option<f64>)>);

impl<'de: 'a, 'a> Deserialize<'de> for Metrics<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Pairs;
        impl<'de> Visitor<'de> for Pairs {
            type Value = Metrics<'de>;
            fn expecting(&self, text: &mut fmt::Formatter<'_>) -> fmt::Result {
                text.write_str("metrics by name")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut pairs = vec![];
                while let Some((Name(name), value)) = map.next_entry()? {
                    pairs.push((name, value));
                }
                Ok(Metrics(pairs))
            }
        }
        deserializer.deserialize_map(Pairs)
    }
}
