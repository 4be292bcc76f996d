//! The outcomes of many scripts, as a table or as JSON.

use crate::run::{Outcome, Verdict};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Numbers of scripts by verdict.
#[derive(Clone, Copy, Default, Debug, PartialEq)]
pub struct Counts {
    /// All that they state came to pass.
    pub passed: usize,
    /// Within scope, and something did not.
    pub failed: usize,
    /// What a connection alone does not have.
    pub out_of_scope: usize,
    /// No scripts.
    pub unreadable: usize,
}

impl Counts {
    /// Counts outcomes.
    pub fn of<'a>(outcomes: impl IntoIterator<Item = &'a Outcome>) -> Self {
        let mut counts = Counts::default();
        for outcome in outcomes {
            match outcome.verdict {
                Verdict::Passed => counts.passed += 1,
                Verdict::Failed(..) => counts.failed += 1,
                Verdict::OutOfScope(..) => counts.out_of_scope += 1,
                Verdict::Unreadable(..) => counts.unreadable += 1,
            }
        }
        counts
    }
    /// Scripts within scope.
    pub fn in_scope(&self) -> usize {
        self.passed + self.failed
    }
}

fn folder(outcome: &Outcome) -> &str {
    outcome.name.rsplit_once('/').map_or(".", |(folder, _)| folder)
}

/// A table by folder, then each script that failed; with `verbose`, those out of scope too.
pub fn table(outcomes: &[Outcome], verbose: bool) -> String {
    let mut folders: BTreeMap<&str, Vec<&Outcome>> = BTreeMap::new();
    for outcome in outcomes {
        folders.entry(folder(outcome)).or_default().push(outcome);
    }
    let width = folders.keys().map(|name| name.len()).max().unwrap_or(0).max("total".len());
    let mut out = format!("{:width$}  passed  failed  out of scope  unreadable\n", "folder");
    let mut row = |name: &str, counts: Counts| {
        out.push_str(&format!(
            "{name:width$}  {:6}  {:6}  {:12}  {:10}\n",
            counts.passed, counts.failed, counts.out_of_scope, counts.unreadable
        ));
    };
    for (name, members) in &folders {
        row(name, Counts::of(members.iter().copied()));
    }
    let total = Counts::of(outcomes);
    row("total", total);
    out.push_str(&format!("\n{} of {} scripts within scope pass\n", total.passed, total.in_scope()));
    for outcome in outcomes {
        let shown = match outcome.verdict {
            Verdict::Passed => false,
            Verdict::OutOfScope(..) => verbose,
            Verdict::Failed(..) | Verdict::Unreadable(..) => true,
        };
        if shown {
            out.push_str(&format!("{}\n", outcome.message()));
        }
    }
    out
}

/// The same for programs.
pub fn json(outcomes: &[Outcome]) -> Value {
    let scripts: Vec<Value> = outcomes
        .iter()
        .map(|outcome| {
            let (verdict, place) = match &outcome.verdict {
                Verdict::Passed => ("passed", None),
                Verdict::Failed(line, text) => ("failed", Some((line, text))),
                Verdict::OutOfScope(line, text) => ("out of scope", Some((line, text))),
                Verdict::Unreadable(line, text) => ("unreadable", Some((line, text))),
            };
            json!({
                "script": outcome.name,
                "verdict": verdict,
                "line": place.map(|(line, _)| line),
                "message": place.map(|(_, text)| text),
            })
        })
        .collect();
    let counts = Counts::of(outcomes);
    json!({
        "passed": counts.passed,
        "failed": counts.failed,
        "out_of_scope": counts.out_of_scope,
        "unreadable": counts.unreadable,
        "scripts": scripts,
    })
}
