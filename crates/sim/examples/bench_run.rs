//! Runs a scenario without recording time series and prints what a benchmark needs, as one line of JSON.

use longhaul_sim::{Outcome, RunOptions, load, simulate};
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let Some(file) = arguments.next() else {
        eprintln!("usage: bench_run SCENARIO.toml [PATH=VALUE]...");
        return ExitCode::from(2);
    };
    let overrides: Vec<(String, String)> = arguments
        .filter_map(|text| text.split_once('=').map(|(k, v)| (k.to_string(), v.to_string())))
        .collect();
    let text = match std::fs::read_to_string(&file) {
        Ok(text) => text,
        Err(why) => {
            eprintln!("{file}: {why}");
            return ExitCode::from(2);
        }
    };
    let scenario = match load(&text, &file, &overrides) {
        Ok(scenario) => scenario,
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::from(2);
        }
    };
    match simulate(&scenario, RunOptions { tables: false, ..RunOptions::default() }) {
        Ok(outcome) => {
            println!("{}", report(&outcome));
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// The numbers that are compared: of the first link in its forward direction, and of all flows together.
fn report(outcome: &Outcome) -> serde_json::Value {
    let summary = &outcome.summary;
    let link = &summary.links[0].metrics;
    let per_arrival = |name| Some(link.get(name)? / link.get("arrivals")?);
    // As ns-2's script counts: what the queue dropped is lost, too.
    let lost = Some(per_arrival("drops_queue").unwrap_or(0.0) + per_arrival("drops_loss").unwrap_or(0.0));
    let goodputs: Vec<_> = summary.flows.iter().map(|flow| flow.metrics.get("goodput_bps")).collect();
    serde_json::json!({
        "data_packets_delivered": summary.work.data_packets_delivered,
        "events": outcome.events,
        "utilisation": link.get("utilisation"),
        "drop_rate": per_arrival("drops_queue"),
        "loss_rate": lost,
        "measured_retransmissions": summary.run.get("retransmitted_packets"),
        "measured_timeouts": summary.run.get("timeouts"),
        "goodput_bps": goodputs,
        "setup_cpu_s": outcome.set_up_s,
        "peak_memory_bytes": peak_memory(),
    })
}

/// The largest resident set of this process in bytes, as Linux accounts it; 0 elsewhere.
fn peak_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok());
    kilobytes.unwrap_or(0) * 1024
}
