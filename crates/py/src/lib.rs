//! The Python module `longhaul._core`: the simulator's few entry points, and nothing else.
//! What is convenient (results as tables, sweeps, plots) is written in Python, in `python/longhaul`.

mod batch;
mod closed_forms;
mod control;
mod estimates;

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use longhaul_sim as sim;
use pyo3::create_exception;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;

create_exception!(longhaul._core, ScenarioError, PyValueError, "A scenario is not well-formed.");
create_exception!(longhaul._core, RunError, PyRuntimeError, "A run could not be finished.");
create_exception!(longhaul._core, WriteError, RunError, "A file of a result could not be written.");
create_exception!(longhaul._core, RunCancelled, RunError, "The progress callback stopped the run.");

/// Reads a scenario (TOML) and applies `(path, TOML value)` overrides to it; without Python's lock.
fn load(
    text: &str,
    source: &str,
    overrides: &[(String, String)],
    folder: Option<&Path>,
) -> PyResult<sim::Scenario> {
    sim::load_with(text, source, overrides, folder, &longhaul_parquet::read)
        .map_err(|e| ScenarioError::new_err(e.to_string()))
}

/// Runs a scenario, whose files of relative paths are in `folder`; returns its summary as JSON and, if `out` is given, writes a result directory there.
///
/// `progress(sim_time_s, duration_s, events, delivered)`, the last the bytes delivered by each group of flows, is called a few times a second from the calling thread; if it returns
/// `False`, the run stops and `RunCancelled` is raised. Python signals are looked at in the same rhythm.
#[pyfunction]
#[expect(clippy::too_many_arguments)] // keywords in Python
#[pyo3(signature = (text, source_name, overrides, folder=None, out=None, tables=true, progress=None))]
fn run(
    py: Python<'_>,
    text: &str,
    source_name: &str,
    overrides: Vec<(String, String)>,
    folder: Option<PathBuf>,
    out: Option<PathBuf>,
    tables: bool,
    progress: Option<Py<PyAny>>,
) -> PyResult<String> {
    control::take_error();
    let scenario = py.detach(|| load(text, source_name, &overrides, folder.as_deref()))?;
    let mut raised: Option<PyErr> = None;
    let outcome = py.detach(|| {
        let mut on_progress = |p: &sim::Progress| report(progress.as_ref(), p, &mut raised);
        sim::run(
            &scenario,
            sim::RunOptions {
                out: out
                    .as_deref()
                    .map(|directory| sim::Output { directory, write_table: &longhaul_parquet::write }),
                tables,
                progress: Some(&mut on_progress),
                ..Default::default()
            },
        )
    });
    if let Some(error) = control::take_error() {
        return Err(RunError::new_err(error));
    }
    match (outcome, raised) {
        (_, Some(error)) => Err(error),
        (Ok(summary), None) => Ok(summary),
        (Err(sim::RunError::Cancelled), None) => Err(RunCancelled::new_err("the run was cancelled")),
        (Err(error @ sim::RunError::Write(_)), None) => Err(WriteError::new_err(error.to_string())),
    }
}

/// Reports the progress to Python, and handles a pending signal (Ctrl-C).
fn report(
    callback: Option<&Py<PyAny>>,
    progress: &sim::Progress,
    raised: &mut Option<PyErr>,
) -> ControlFlow<()> {
    report_with(callback, raised, |py, callback| {
        let delivered = progress.delivered.clone();
        callback.call1(py, (progress.sim_time_s, progress.duration_s, progress.events, delivered))
    })
}

/// Handles a pending signal, and calls Python's callback, if there is one: `False` stops the run, as does what is raised, and a
/// congestion control in Python that has failed.
fn report_with(
    callback: Option<&Py<PyAny>>,
    raised: &mut Option<PyErr>,
    call: impl FnOnce(Python<'_>, &Py<PyAny>) -> PyResult<Py<PyAny>>,
) -> ControlFlow<()> {
    let goes_on = Python::attach(|py| {
        py.check_signals()?;
        let Some(callback) = callback else { return Ok(true) };
        Ok(call(py, callback)?.extract::<bool>(py).unwrap_or(true))
    });
    let goes_on = goes_on.unwrap_or_else(|error| {
        *raised = Some(error);
        false
    });
    if goes_on && !control::has_failed() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
}

/// The resolved scenario as TOML (every default written out), and the run's identity as a hexadecimal hash.
#[pyfunction]
#[pyo3(signature = (text, source_name, overrides, folder=None))]
fn resolve(
    py: Python<'_>,
    text: &str,
    source_name: &str,
    overrides: Vec<(String, String)>,
    folder: Option<PathBuf>,
) -> PyResult<(String, String)> {
    let scenario = py.detach(|| load(text, source_name, &overrides, folder.as_deref()))?;
    Ok((sim::resolved_toml(&scenario), sim::run_id(&scenario)))
}

/// Code, object and message of a warning.
type Warned = (&'static str, String, String);

/// Messages of all errors of a scenario; or else the scenario, resolved, and the warnings that follow from its settings.
#[pyfunction]
#[pyo3(signature = (text, source_name, overrides, folder=None))]
fn check(
    py: Python<'_>,
    text: &str,
    source_name: &str,
    overrides: Vec<(String, String)>,
    folder: Option<PathBuf>,
) -> (Vec<String>, String, Vec<Warned>) {
    py.detach(|| {
        let read = &longhaul_parquet::read;
        match sim::load_or_all_errors(text, source_name, &overrides, folder.as_deref(), read) {
            Err(errors) => (errors.iter().map(ToString::to_string).collect(), String::new(), vec![]),
            Ok(scenario) => {
                let warnings = sim::warnings_of_settings(&scenario).into_iter();
                let parts = warnings.map(|warning| (warning.code, warning.object, warning.message));
                (vec![], sim::resolved_toml(&scenario), parts.collect())
            }
        }
    })
}

/// Several seeds at once, without reading the scenario again for each: the resolved scenario under the first one, and the identity of
/// the run under each.
#[pyfunction]
#[pyo3(signature = (text, source_name, overrides, seeds, folder=None))]
fn resolve_seeds(
    py: Python<'_>,
    text: &str,
    source_name: &str,
    overrides: Vec<(String, String)>,
    seeds: Vec<u64>,
    folder: Option<PathBuf>,
) -> PyResult<(String, Vec<String>)> {
    let mut overrides = overrides;
    overrides.extend(seeds.first().map(|seed| ("run.seed".to_string(), seed.to_string())));
    let scenario = py.detach(|| load(text, source_name, &overrides, folder.as_deref()))?;
    Ok((sim::resolved_toml(&scenario), sim::run_ids(&scenario, &seeds)))
}

/// Times in s and values (bit/s, s, shares) of a measurement, and its length in s; `settings` as those of a measured quantity, in TOML.
#[pyfunction]
fn read_measurement(py: Python<'_>, settings: &str, quantity: &str) -> PyResult<(Vec<(f64, f64)>, f64)> {
    py.detach(|| sim::read_measurement(settings, quantity, &longhaul_parquet::read))
        .map_err(ScenarioError::new_err)
}

/// Each probe of a file of `irtt` or `ping`: time in s, and whether it was lost; `None` of files of other programs.
#[pyfunction]
fn read_outcomes(py: Python<'_>, settings: &str) -> PyResult<Option<Vec<(f64, bool)>>> {
    py.detach(|| sim::read_outcomes(settings)).map_err(ScenarioError::new_err)
}

/// Rate in bit/s and delay in s of a direction of a link at each of these times in s, as its script, its measurement or its wandering
/// has them; `link` is its number among those of the scenario, two for each link.
#[pyfunction]
#[pyo3(signature = (text, source_name, link, times, folder=None))]
fn course(
    py: Python<'_>,
    text: &str,
    source_name: &str,
    link: usize,
    times: Vec<f64>,
    folder: Option<PathBuf>,
) -> PyResult<Vec<(f64, f64)>> {
    let scenario = py.detach(|| load(text, source_name, &[], folder.as_deref()))?;
    let network = sim::Network::new(&scenario);
    let found = network.declared().iter().nth(link).map(|link| network.links[*link].config.schedule());
    let schedule = found.ok_or_else(|| ScenarioError::new_err(format!("there is no link {link}")))?;
    let at = |time: f64| schedule.from(longhaul_units::Instant::from_nanos((time.max(0.0) * 1e9) as u64));
    Ok(times.into_iter().map(at).map(|(rate, delay)| (rate.as_bps() as f64, delay.as_secs_f64())).collect())
}

/// The JSON Schema of scenario files.
#[pyfunction]
fn schema() -> String {
    sim::schema_json()
}

/// All algorithms, queues, applications and metrics, as JSON.
#[pyfunction]
fn registry() -> String {
    sim::registry_json()
}

#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    module.add("version", sim::VERSION)?;
    module.add("program", sim::PROGRAM)?;
    module.add("ScenarioError", py.get_type::<ScenarioError>())?;
    module.add("WriteError", py.get_type::<WriteError>())?;
    module.add("RunError", py.get_type::<RunError>())?;
    module.add("RunCancelled", py.get_type::<RunCancelled>())?;
    module.add_class::<closed_forms::HighSpeedResponse>()?;
    module.add_function(wrap_pyfunction!(closed_forms::power_law_window, module)?)?;
    module.add_function(wrap_pyfunction!(closed_forms::aimd_window, module)?)?;
    module.add_function(wrap_pyfunction!(run, module)?)?;
    module.add_function(wrap_pyfunction!(resolve, module)?)?;
    module.add_function(wrap_pyfunction!(check, module)?)?;
    module.add_function(wrap_pyfunction!(resolve_seeds, module)?)?;
    module.add_function(wrap_pyfunction!(batch::run_seeds, module)?)?;
    module.add_function(wrap_pyfunction!(batch::resolve_points, module)?)?;
    module.add_function(wrap_pyfunction!(batch::flat_columns, module)?)?;
    module.add_function(wrap_pyfunction!(estimates::estimates, module)?)?;
    module.add_function(wrap_pyfunction!(control::register_control, module)?)?;
    module.add_class::<control::PyAck>()?;
    module.add_class::<control::PyLoss>()?;
    module.add_function(wrap_pyfunction!(read_measurement, module)?)?;
    module.add_function(wrap_pyfunction!(read_outcomes, module)?)?;
    module.add_function(wrap_pyfunction!(course, module)?)?;
    module.add_function(wrap_pyfunction!(schema, module)?)?;
    module.add_function(wrap_pyfunction!(registry, module)?)?;
    Ok(())
}
