//! `longhaul-packetdrill FOLDER...`: packetdrill's scripts against Longhaul's TCP.

use clap::Parser;
use longhaul_packetdrill::{Verdict, report, run_file};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Run packetdrill scripts against Longhaul's TCP with variant "linux", in virtual time.
///
/// Exit code: 0 if all scripts within scope pass, 1 if one fails or cannot be read, 2 for a mistake in the command.
#[derive(Parser)]
#[command(version)]
struct Arguments {
    /// Scripts (.pkt), or folders that are searched for them.
    #[arg(required = true)]
    paths: Vec<PathBuf>,
    /// Give the reason for each script out of scope too.
    #[arg(long)]
    verbose: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    /// Tolerance of times in microseconds, where a script sets no larger one [default: 4000].
    #[arg(long, value_name = "USECS", value_parser = clap::value_parser!(i64).range(0..=1_000_000_000))]
    tolerance_usecs: Option<i64>,
}

/// The scripts at and below this path, in order.
fn scripts(path: &Path, found: &mut Vec<PathBuf>) -> Result<(), String> {
    let unreadable = |error| format!("{}: {error}", path.display());
    if !path.is_dir() {
        std::fs::metadata(path).map_err(unreadable)?;
        found.push(path.to_path_buf());
        return Ok(());
    }
    let mut entries = Vec::new();
    for entry in std::fs::read_dir(path).map_err(unreadable)? {
        entries.push(entry.map_err(unreadable)?.path());
    }
    entries.sort();
    for entry in entries {
        if entry.is_dir() {
            scripts(&entry, found)?;
        } else if entry.extension().is_some_and(|extension| extension == "pkt") {
            found.push(entry);
        }
    }
    Ok(())
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let mut found = Vec::new();
    for path in &arguments.paths {
        if let Err(message) = scripts(path, &mut found) {
            eprintln!("error: {message}");
            return ExitCode::from(2);
        }
    }
    if found.is_empty() {
        eprintln!("error: no script (*.pkt) in {}", arguments.paths[0].display());
        return ExitCode::from(2);
    }
    let outcomes: Vec<_> = found.iter().map(|path| run_file(path, arguments.tolerance_usecs)).collect();
    let text = if arguments.json {
        format!("{:#}\n", report::json(&outcomes))
    } else {
        report::table(&outcomes, arguments.verbose)
    };
    use std::io::Write;
    // A reader that has seen enough is no error.
    let _ = std::io::stdout().write_all(text.as_bytes());
    let good = |verdict: &Verdict| matches!(verdict, Verdict::Passed | Verdict::OutOfScope(..));
    if outcomes.iter().all(|outcome| good(&outcome.verdict)) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
