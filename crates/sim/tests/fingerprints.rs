//! Results stay byte-identical: a digest of each result file of a set of runs is compared with the one on record.
//!
//! A change that changes results on purpose names them and the reason in CHANGELOG.md, and records them again:
//!
//!     LONGHAUL_FINGERPRINTS=record cargo test -p longhaul-sim --test sim --locked -- --include-ignored fingerprints::
//!
//! To see what differs: `LONGHAUL_FINGERPRINTS=DIRECTORY` also leaves the files there, tables as text; do it before and after.
//! Not compared is what may differ without a change of results: times of the machine, version, run id, definitions of metrics.

use longhaul_sim::{Output, RunOptions, Table, Values, load, run};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fingerprints");

/// What to do with results.
enum Mode {
    Compare,
    Record,
    Keep(PathBuf),
}

fn mode() -> Mode {
    match std::env::var("LONGHAUL_FINGERPRINTS") {
        Err(_) => Mode::Compare,
        Ok(text) if text == "record" => Mode::Record,
        Ok(directory) => Mode::Keep(PathBuf::from(directory)),
    }
}

struct Run {
    name: String,
    file: PathBuf,
    overrides: Vec<(String, String)>,
}

/// The runs of runs.toml; `quick` shortens them.
fn runs(quick: bool) -> Vec<Run> {
    let text = fs::read_to_string(Path::new(FOLDER).join("runs.toml")).unwrap();
    let document: toml::Table = text.parse().unwrap();
    let entries = document["run"].as_array().unwrap();
    let overrides = |entry: &toml::Value, key: &str| -> Vec<(String, String)> {
        let table = entry.get(key).and_then(toml::Value::as_table).into_iter().flatten();
        table.map(|(path, value)| (path.clone(), value.as_str().unwrap().to_string())).collect()
    };
    let run = |entry: &toml::Value| {
        let file = Path::new(entry["file"].as_str().unwrap());
        let folder =
            if file.starts_with("examples") { Path::new(FOLDER).join("../../../..") } else { FOLDER.into() };
        let mut all = overrides(entry, "set");
        if quick {
            all.extend(overrides(entry, "quick"));
        }
        Run { name: entry["name"].as_str().unwrap().to_string(), file: folder.join(file), overrides: all }
    };
    entries.iter().map(run).collect()
}

/// A table as text, one line for each column: numbers are written such that no bit is lost.
fn as_text(table: &Table) -> String {
    let mut text = String::new();
    for (name, values) in &table.columns {
        match values {
            Values::F64(values) => writeln!(text, "{name} {values:?}"),
            Values::Optional(values) => writeln!(text, "{name} {values:?}"),
            Values::U8(values) => writeln!(text, "{name} {values:?}"),
            Values::U32(values) => writeln!(text, "{name} {values:?}"),
            Values::U64(values) => writeln!(text, "{name} {values:?}"),
            Values::I32(values) => writeln!(text, "{name} {values:?}"),
            Values::Text(values) => writeln!(text, "{name} {values:?}"),
        }
        .unwrap();
    }
    text
}

/// `summary.json` without the version and what depends on it.
fn without_version(summary: &str) -> String {
    let of_version = |line: &&str| line.starts_with("  \"longhaul\":") || line.starts_with("  \"run_id\":");
    let mut explains = false;
    let of_result = |line: &&str| {
        explains |= line.starts_with("  \"definitions\": {");
        let left_out = explains;
        explains &= !line.starts_with("  }");
        !left_out
    };
    let lines = summary.lines().filter(|line| !of_version(line)).filter(of_result);
    lines.map(|line| format!("{line}\n")).collect()
}

/// The digest of each result file of a run, by file name.
fn digests(run_of: &Run, directory: &Path) -> BTreeMap<String, String> {
    let text = fs::read_to_string(&run_of.file).unwrap();
    let scenario = load(&text, &run_of.file.to_string_lossy(), &run_of.overrides)
        .unwrap_or_else(|error| panic!("{}: {error}", run_of.name));
    let write_table = |table: &Table| Ok(as_text(table).into_bytes());
    let out = Output { directory, write_table: &write_table };
    run(&scenario, RunOptions { out: Some(out), ..RunOptions::default() }).unwrap();
    let mut digests = BTreeMap::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if name == "timing.json" || name == "scenario.toml" {
            continue;
        }
        let mut content = fs::read(&path).unwrap();
        if name == "summary.json" {
            content = without_version(&String::from_utf8(content).unwrap()).into_bytes();
        }
        let digest = Sha256::digest(&content);
        digests.insert(name, digest[..8].iter().map(|byte| format!("{byte:02x}")).collect());
    }
    digests
}

/// Runs everything and compares with `record`, or writes it.
fn check(quick: bool, record: &str) {
    let mode = mode();
    let scratch = Path::new(env!("CARGO_TARGET_TMPDIR")).join(record.trim_end_matches(".txt"));
    let base = if let Mode::Keep(directory) = &mode { directory.clone() } else { scratch };
    let (all, next) = (runs(quick), AtomicUsize::new(0));
    let work = || {
        let mut lines = BTreeMap::new();
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let Some(run) = all.get(number) else { return lines };
            let directory = base.join(&run.name);
            let _ = fs::remove_dir_all(&directory);
            let found = digests(run, &directory);
            let text = found.iter().map(|(file, digest)| format!("{} {file} {digest}\n", run.name)).collect();
            lines.insert(number, text);
            if !matches!(mode, Mode::Keep(_)) {
                fs::remove_dir_all(&directory).unwrap();
            }
        }
    };
    let processors = thread::available_parallelism().map_or(1, |count| count.get());
    // As on record: in the order of runs.toml, whichever thread ran them.
    let lines: BTreeMap<usize, String> = thread::scope(|scope| {
        let threads: Vec<_> = (0..processors).map(|_| scope.spawn(work)).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    let now: String = lines.into_values().collect();
    let path = Path::new(FOLDER).join(record);
    if let Mode::Record = mode {
        return fs::write(path, now).unwrap();
    }
    let before = fs::read_to_string(&path).unwrap();
    let missing = |from: &str, of: &str| -> Vec<String> {
        of.lines().filter(|line| !from.lines().any(|other| other == *line)).map(str::to_string).collect()
    };
    let (expected, found) = (missing(&now, &before), missing(&before, &now));
    assert!(
        expected.is_empty() && found.is_empty(),
        "results differ from {record}; if that is meant, name it in CHANGELOG.md and record again (tests/fingerprints.rs)\n\
         on record:\n  {}\nnow:\n  {}",
        expected.join("\n  "),
        found.join("\n  "),
    );
}

#[test]
fn results_of_short_runs_are_those_on_record() {
    check(true, "quick.txt");
}

#[test]
#[ignore = "ten times the work: make test-all"]
fn results_of_whole_runs_are_those_on_record() {
    check(false, "full.txt");
}
