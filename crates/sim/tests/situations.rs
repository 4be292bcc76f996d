//! Situations that people met with other programs, each a file in `situations/`: where it was reported, what is right by a closed form,
//! an RFC or the maintainers' explanation, and lines that begin with `#=` for what must come out:
//!
//! * `#= METRIC LEAST..MOST`: a metric of the first flow (or of the flow named as in `#= NAME.METRIC`) lies in this range;
//! * `#= warns CODE`, `#= does not warn CODE`, `#= warns CODE: TEXT`: a warning, or none, with this code and text in it.
//!
//! The table in docs/validation.md (section 10) has them all.

use longhaul_results::Summary;
use longhaul_sim::{RunOptions, load, simulate};
use std::path::{Path, PathBuf};

fn run(path: &Path) -> (String, Summary) {
    let text = std::fs::read_to_string(path).unwrap();
    let name = path.file_name().unwrap().to_str().unwrap();
    let scenario = load(&text, name, &[]).unwrap_or_else(|error| panic!("{error}"));
    (text, simulate(&scenario, RunOptions { tables: false, ..RunOptions::default() }).unwrap().summary)
}

/// What is wrong with one expectation; `None` if it is met.
fn missed(expected: &str, summary: &Summary) -> Option<String> {
    let warned =
        |code: &str| summary.warnings.iter().filter(|warning| warning.code == code).collect::<Vec<_>>();
    if let Some(code) = expected.strip_prefix("does not warn ") {
        return (!warned(code).is_empty()).then(|| format!("{expected}: {:?}", warned(code)));
    }
    if let Some(rest) = expected.strip_prefix("warns ") {
        let (code, text) = rest.split_once(": ").unwrap_or((rest, ""));
        let met = warned(code).iter().any(|warning| warning.message.contains(text));
        return (!met).then(|| format!("{expected}: warnings are {:?}", summary.warnings));
    }
    let (name, range) = expected.split_once(' ').expect("a metric and its range");
    let (least, most) = range.split_once("..").expect("a range");
    let (least, most): (f64, f64) = (least.parse().unwrap(), most.parse().unwrap());
    let (flow, metric) = match name.split_once('.') {
        Some((flow, metric)) => (summary.flows.iter().find(|one| one.name == flow).expect("a flow"), metric),
        None => (&summary.flows[0], name),
    };
    let found = flow.metrics.get(metric);
    let met = found.is_some_and(|found| (least..=most).contains(&found));
    (!met).then(|| format!("{expected}: {found:?}"))
}

fn situations() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/situations");
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
    files.sort();
    files
}

#[test]
fn situations_that_others_met_come_out_right() {
    let files = situations();
    assert!(files.len() >= 20, "{} situations", files.len());
    let mut wrong = vec![];
    for path in files {
        let (text, summary) = run(&path);
        let expected: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("#= ")).collect();
        assert!(!expected.is_empty(), "{} expects nothing", path.display());
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        wrong.extend(expected.iter().filter_map(|line| Some(format!("{name}: {}", missed(line, &summary)?))));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_is_not_met_is_named() {
    let (_, summary) = run(&situations()[0]);
    assert!(missed("goodput_bps 0..1", &summary).is_some());
    assert!(missed("warns nonsense", &summary).is_some());
    assert!(missed("no_such_metric 0..1e99", &summary).is_some());
}
