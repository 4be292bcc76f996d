//! Runs a scenario without recording time series and prints what a benchmark needs, as one line of JSON.

use longhaul_sim::{RunOptions, load, simulate};
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
            println!(
                "{}",
                serde_json::to_string(&outcome.summary).expect("a summary is representable in JSON")
            );
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
