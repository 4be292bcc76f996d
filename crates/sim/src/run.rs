//! Running a scenario from beginning to end.

use crate::facts;
use crate::world::{Pause, World};
use longhaul_results::{ResultFiles, Summary, Tables, Warning, WriteError, WriteTable};
use longhaul_scenario::{Network, Scenario, resolved_toml};
use longhaul_units::{GroupId, IdVec, Instant};
use std::ops::ControlFlow;
use std::path::Path;
use std::time::Instant as WallClock;

/// Events between two looks at the wall clock.
const EVENTS_PER_SLICE: u64 = 20_000;

/// Hears how far a run is; `Break` cancels it.
pub type ProgressCallback<'a> = dyn FnMut(&Progress) -> ControlFlow<()> + 'a;

/// Where a result goes.
#[derive(Clone, Copy)]
pub struct Output<'a> {
    /// The directory; see [`longhaul_results`].
    pub directory: &'a Path,
    /// Makes the Parquet files of the time series.
    pub write_table: WriteTable<'a>,
}

/// How a run is to be done. None of it changes the result.
pub struct RunOptions<'a> {
    /// Where to write the result to.
    pub out: Option<Output<'a>>,
    /// Record time series, traces and captures.
    pub tables: bool,
    /// Called a few times a second; `Break` cancels the run.
    pub progress: Option<&'a mut ProgressCallback<'a>>,
    /// Serve private links ahead of time. Off, every hop is an event: slower, with the same result.
    pub serve_ahead: bool,
}

impl Default for RunOptions<'_> {
    fn default() -> Self {
        RunOptions { out: None, tables: true, progress: None, serve_ahead: true }
    }
}

/// How far a run is.
#[derive(Clone, PartialEq, Debug)]
pub struct Progress {
    /// Simulated time in seconds.
    pub sim_time_s: f64,
    /// Length of the run in seconds.
    pub duration_s: f64,
    /// Events handled.
    pub events: u64,
    /// Payload that each group of flows has delivered so far, in bytes, in the scenario's order.
    pub delivered: Vec<u64>,
}

/// Why there is no result.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The progress callback requested it.
    #[error("the run was cancelled")]
    Cancelled,
    /// The result could not be written.
    #[error(transparent)]
    Write(#[from] WriteError),
}

/// What a run leaves.
pub struct Outcome {
    /// The numbers.
    pub summary: Summary,
    /// The time series; empty without [`RunOptions::tables`].
    pub tables: Tables,
    /// Logs of QUIC connections, if they are requested: name of the file, content.
    pub logs: Vec<(String, Vec<u8>)>,
    /// Wall-clock time that setting up took, in seconds.
    pub set_up_s: f64,
    /// Events handled: a matter of how, not of what, was computed.
    pub events: u64,
}

/// Runs a scenario and writes the result if a directory is given. Returns `summary.json`.
///
/// # Errors
/// [`RunError::Cancelled`], or the file that could not be written.
pub fn run(scenario: &Scenario, options: RunOptions<'_>) -> Result<String, RunError> {
    let outcome = simulate(scenario, options)?;
    Ok(serde_json::to_string(&outcome.summary).expect("a summary is representable in JSON"))
}

/// Runs a scenario and writes the result if a directory is given.
///
/// # Errors
/// As [`run`].
pub fn simulate(scenario: &Scenario, mut options: RunOptions<'_>) -> Result<Outcome, RunError> {
    let began = WallClock::now();
    let network = Network::new(scenario);
    let mut world = World::new(scenario, &network, options.tables, options.serve_ahead);
    let set_up = began.elapsed();
    play(&mut world, &mut options)?;
    let mut summary = longhaul_results::summarise(&facts::collect(&mut world));
    let wall_s = began.elapsed().as_secs_f64();
    let tables = world.recorder.finish(world.now);
    let capture = world.capture_file();
    let logs = world.quic.take_logs(&network);
    summary.warnings.extend(capture.as_ref().and_then(facts::left_out_of_capture));
    if let Some(out) = options.out {
        let timing = serde_json::json!({
            "program": crate::PROGRAM,
            "wall_s": wall_s,
            "set_up_s": set_up.as_secs_f64(),
            "simulated_s_per_wall_s": summary.duration_s / wall_s,
            "events": world.events,
            "data_packets_per_wall_s": summary.work.data_packets_delivered as f64 / wall_s,
        });
        let files = ResultFiles {
            scenario_toml: &resolved_toml(scenario),
            summary: &summary,
            tables: options.tables.then_some(&tables),
            write_table: out.write_table,
            packets: capture.as_ref().map(|capture| capture.file.as_slice()),
            logs: &logs,
            timing_json: &format!("{timing:#}\n"),
        };
        files.write(out.directory)?;
    }
    Ok(Outcome { summary, tables, logs, set_up_s: set_up.as_secs_f64(), events: world.events })
}

/// Warnings that follow from a scenario's settings alone, as its run has them.
pub fn warnings_of_settings(scenario: &Scenario) -> Vec<Warning> {
    let network = Network::new(scenario);
    let mut world = World::new(scenario, &network, false, true);
    let mut warnings = longhaul_results::summarise(&facts::collect(&mut world)).warnings;
    warnings.retain(|warning| longhaul_results::OF_SETTINGS.contains(&warning.code));
    warnings
}

/// Takes the world to the end of the run, with a stop at each sample, at the end of the warm-up and where ways change.
fn play(world: &mut World<'_>, options: &mut RunOptions<'_>) -> Result<(), RunError> {
    let run = &world.scenario.run;
    let (end, warmup) = (Instant::ZERO + run.duration, Instant::ZERO + run.warmup);
    let mut next_sample = Instant::ZERO + run.sample;
    let mut measuring = false;
    let mut told = WallClock::now();
    if warmup == Instant::ZERO {
        world.end_warmup();
        measuring = true;
    }
    while world.now < end {
        let stop =
            next_sample.min(end).min(if measuring { end } else { warmup }).min(world.fabric.next_change());
        while let Pause::Busy = world.advance(stop, EVENTS_PER_SLICE) {
            tell(world, options, &mut told, end)?;
        }
        if world.now == next_sample || world.now == end {
            world.sample(measuring);
            next_sample += world.scenario.run.sample;
        }
        if world.now == warmup && !measuring {
            world.end_warmup();
            measuring = true;
        }
        while world.now == world.fabric.next_change() {
            if measuring {
                // What was left of the path was left of the one that the flow had.
                world.add_path_use();
            }
            world.change_ways();
        }
        tell(world, options, &mut told, end)?;
    }
    Ok(())
}

fn tell(
    world: &World<'_>,
    options: &mut RunOptions<'_>,
    told: &mut WallClock,
    end: Instant,
) -> Result<(), RunError> {
    let Some(progress) = &mut options.progress else { return Ok(()) };
    if told.elapsed().as_millis() < 50 {
        return Ok(());
    }
    *told = WallClock::now();
    let mut delivered = IdVec::<GroupId, u64>::filled(0, world.scenario.flow.len());
    for (flow, instance) in world.network.flows.enumerated() {
        delivered[instance.group] += world.totals(flow).delivered;
    }
    let report = Progress {
        sim_time_s: world.now.as_secs_f64(),
        duration_s: end.as_secs_f64(),
        events: world.events,
        delivered: delivered.into_vec(),
    };
    match progress(&report) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(()) => Err(RunError::Cancelled),
    }
}

/// Every algorithm with its source and parameters, every profile of a network and every metric, as JSON.
pub fn registry_json() -> String {
    let parameters = |entry: &longhaul_cc::Entry| -> Vec<serde_json::Value> {
        let parameter = |p: &longhaul_cc::Parameter| {
            serde_json::json!({
                "name": p.name, "default": p.default, "unit": p.unit, "range": p.range, "description": p.description,
            })
        };
        entry.parameters.iter().map(parameter).collect()
    };
    let algorithms: Vec<_> = longhaul_cc::registry()
        .iter()
        .map(|entry| {
            let role = match entry.role {
                longhaul_cc::Role::Avoidance => "congestion",
                longhaul_cc::Role::SlowStart => "slow_start",
            };
            serde_json::json!({
                "name": entry.name, "role": role, "source": entry.source, "summary": entry.summary,
                "parameters": parameters(entry),
            })
        })
        .collect();
    let metrics = longhaul_results::DEFINITIONS;
    let profiles = longhaul_scenario::profiles();
    serde_json::json!({ "algorithms": algorithms, "profiles": profiles, "metrics": metrics }).to_string()
}
