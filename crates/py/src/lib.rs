//! The Python module `longhaul._core`: the simulator's few entry points, and nothing else.
//! What is convenient (results as tables, sweeps, plots) is written in Python, in `python/longhaul`.

mod closed_forms;
mod control;
mod tables;

use std::io;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use longhaul_sim as sim;
use pyo3::create_exception;
use pyo3::exceptions::{PyKeyboardInterrupt, PyRuntimeError, PyValueError};
use pyo3::prelude::*;

create_exception!(longhaul._core, ScenarioError, PyValueError, "A scenario is not well-formed.");
create_exception!(longhaul._core, RunError, PyRuntimeError, "A run could not be finished.");
create_exception!(longhaul._core, WriteError, RunError, "A file of a result could not be written.");
create_exception!(longhaul._core, RunCancelled, RunError, "The progress callback stopped the run.");

/// Reads a scenario (TOML) and applies `(path, TOML value)` overrides to it.
fn load(py: Python<'_>, text: &str, source: &str, overrides: &[(String, String)]) -> PyResult<sim::Scenario> {
    sim::load_with(text, source, overrides, &|content| tables::read(py, &content))
        .map_err(|e| ScenarioError::new_err(e.to_string()))
}

/// Runs a scenario; returns its summary as JSON and, if `out` is given, writes a result directory there.
///
/// `progress(sim_time_s, duration_s, events, delivered)`, the last the bytes delivered by each group of flows, is called a few times a second from the calling thread; if it returns
/// `False`, the run stops and `RunCancelled` is raised. Python signals are looked at in the same rhythm.
#[pyfunction]
#[pyo3(signature = (text, source_name, overrides, out=None, tables=true, progress=None))]
fn run(
    py: Python<'_>,
    text: &str,
    source_name: &str,
    overrides: Vec<(String, String)>,
    out: Option<PathBuf>,
    tables: bool,
    progress: Option<Py<PyAny>>,
) -> PyResult<String> {
    control::take_error();
    let scenario = load(py, text, source_name, &overrides)?;
    let mut raised: Option<PyErr> = None;
    // Python looks at signals while it writes a table, too: that is no failure to write.
    let interrupted: Mutex<Option<PyErr>> = Mutex::new(None);
    let write_table = |table: &sim::Table| {
        tables::write(table).map_err(|error| {
            Python::attach(|py| {
                if !error.is_instance_of::<PyKeyboardInterrupt>(py) {
                    return io::Error::other(error.to_string());
                }
                // polars reports the signal and leaves it pending: Python would raise it a second time, while tidying up.
                let again = py.check_signals().err();
                let first = again.unwrap_or(error);
                interrupted.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(first);
                io::ErrorKind::Interrupted.into()
            })
        })
    };
    let outcome = py.detach(|| {
        let mut on_progress = |p: &sim::Progress| match report(progress.as_ref(), p) {
            Ok(_) if control::has_failed() => ControlFlow::Break(()),
            Ok(flow) => flow,
            Err(error) => {
                raised = Some(error);
                ControlFlow::Break(())
            }
        };
        sim::run(
            &scenario,
            sim::RunOptions {
                out: out.as_deref().map(|directory| sim::Output { directory, write_table: &write_table }),
                tables,
                progress: Some(&mut on_progress),
                ..Default::default()
            },
        )
    });
    let interrupted = interrupted.into_inner().unwrap_or_else(PoisonError::into_inner);
    if let Some(error) = control::take_error() {
        return Err(RunError::new_err(error));
    }
    match (outcome, raised.or(interrupted)) {
        (_, Some(error)) => Err(error),
        (Ok(summary), None) => Ok(summary),
        (Err(sim::RunError::Cancelled), None) => Err(RunCancelled::new_err("the run was cancelled")),
        (Err(error @ sim::RunError::Write(_)), None) => Err(WriteError::new_err(error.to_string())),
    }
}

/// Reports the progress to Python, and handles a pending signal (Ctrl-C).
fn report(callback: Option<&Py<PyAny>>, progress: &sim::Progress) -> PyResult<ControlFlow<()>> {
    Python::attach(|py| {
        py.check_signals()?;
        let Some(callback) = callback else { return Ok(ControlFlow::Continue(())) };
        let answer = callback.call1(
            py,
            (progress.sim_time_s, progress.duration_s, progress.events, progress.delivered.clone()),
        )?;
        let stop = answer.extract::<bool>(py).is_ok_and(|go_on| !go_on);
        Ok(if stop { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    })
}

/// The resolved scenario as TOML (every default written out), and the run's identity as a hexadecimal hash.
#[pyfunction]
#[pyo3(signature = (text, source_name, overrides))]
fn resolve(
    py: Python<'_>,
    text: &str,
    source_name: &str,
    overrides: Vec<(String, String)>,
) -> PyResult<(String, String)> {
    let scenario = load(py, text, source_name, &overrides)?;
    Ok((sim::resolved_toml(&scenario), sim::run_id(&scenario)))
}

/// The same for several seeds, without reading the scenario again for each: the resolved scenario under the first one, and the
/// identity of the run under each.
#[pyfunction]
#[pyo3(signature = (text, source_name, overrides, seeds))]
fn resolve_seeds(
    py: Python<'_>,
    text: &str,
    source_name: &str,
    overrides: Vec<(String, String)>,
    seeds: Vec<u64>,
) -> PyResult<(String, Vec<String>)> {
    let mut overrides = overrides;
    overrides.extend(seeds.first().map(|seed| ("run.seed".to_string(), seed.to_string())));
    let scenario = load(py, text, source_name, &overrides)?;
    Ok((sim::resolved_toml(&scenario), sim::run_ids(&scenario, &seeds)))
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
    module.add_function(wrap_pyfunction!(resolve_seeds, module)?)?;
    module.add_function(wrap_pyfunction!(control::register_control, module)?)?;
    module.add_class::<control::PyAck>()?;
    module.add_class::<control::PyLoss>()?;
    module.add_function(wrap_pyfunction!(schema, module)?)?;
    module.add_function(wrap_pyfunction!(registry, module)?)?;
    Ok(())
}
