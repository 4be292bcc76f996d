//! Runs fuzz targets with any compiler: inputs are made from the corpus by random changes, reproducibly. An input that makes a target
//! panic or takes longer than a second is written down, and the exit status is 1.
//!
//! `cargo run --profile quick -p longhaul-fuzz -- [--iterations N] [--seed S] [TARGET]...`

use longhaul_fuzz::{Mutator, TARGETS, Target, target};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// An input that takes longer is reported.
const LONGEST: Duration = Duration::from_secs(1);

struct Options {
    iterations: u64,
    seed: u64,
    targets: Vec<&'static Target>,
}

fn options() -> Result<Options, String> {
    let mut options = Options { iterations: 20_000, seed: 1, targets: vec![] };
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut number = |name: &str| {
            let text = arguments.next().unwrap_or_default();
            text.parse::<u64>().map_err(|_| format!("{name} {text:?}: a whole number is expected"))
        };
        match argument.as_str() {
            "--iterations" => options.iterations = number("--iterations")?,
            "--seed" => options.seed = number("--seed")?,
            name => options.targets.push(target(name).ok_or_else(|| {
                let known: Vec<_> = TARGETS.iter().map(|target| target.name).collect();
                format!("there is no target {name:?}; there are {}", known.join(", "))
            })?),
        }
    }
    if options.targets.is_empty() {
        options.targets = TARGETS.iter().collect();
    }
    Ok(options)
}

fn main() -> ExitCode {
    let options = match options() {
        Ok(options) => options,
        Err(message) => {
            eprintln!("error: {message}");
            return ExitCode::from(2);
        }
    };
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz");
    let mut failed = false;
    for target in &options.targets {
        let began = Instant::now();
        match fuzz(target, &options, &folder) {
            Ok(inputs) => {
                println!("{}: {inputs} inputs in {:.1} s", target.name, began.elapsed().as_secs_f64())
            }
            Err(message) => {
                eprintln!("error: {}: {message}", target.name);
                failed = true;
            }
        }
    }
    if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

fn fuzz(target: &Target, options: &Options, folder: &Path) -> Result<u64, String> {
    let mut corpus = (target.seeds)();
    corpus.extend(files(&folder.join("corpus").join(target.name))?);
    for input in &corpus {
        attempt(target, input, folder)?;
    }
    let mut mutator = Mutator::new(options.seed);
    let iterations = (options.iterations / u64::from(target.cost())).max(1);
    for _ in 0..iterations {
        attempt(target, &mutator.input(&corpus), folder)?;
    }
    Ok(corpus.len() as u64 + iterations)
}

/// The kept inputs in a folder, in the order of their names.
fn files(folder: &Path) -> Result<Vec<Vec<u8>>, String> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Ok(vec![]) };
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.sort();
    paths.iter().map(|path| std::fs::read(path).map_err(|why| format!("{}: {why}", path.display()))).collect()
}

fn attempt(target: &Target, input: &[u8], folder: &Path) -> Result<(), String> {
    let began = Instant::now();
    let panicked = std::panic::catch_unwind(|| (target.run)(input)).is_err();
    let slow = began.elapsed() > LONGEST;
    if !panicked && !slow {
        return Ok(());
    }
    let place = folder.join("crashes").join(target.name);
    let file = place.join(format!("{:016x}", digest(input)));
    let kept = std::fs::create_dir_all(&place).and_then(|()| std::fs::write(&file, input));
    let what = if panicked { "a panic" } else { "more than a second" };
    let where_to = kept.map_or_else(|why| why.to_string(), |()| file.display().to_string());
    Err(format!("{what}; the input is in {where_to}"))
}

/// FNV-1a, as a name for an input.
fn digest(input: &[u8]) -> u64 {
    input
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}
