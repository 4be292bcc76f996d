//! Scenarios that name a trace: where it is looked for, the message if something is wrong with it, what identifies a run.

use crate::common::Directory;
use longhaul_scenario::{AppSpec, Scenario, load, resolved_toml, run_id};
use std::fs;
use std::path::Path;

fn text(app: &str) -> String {
    format!(
        "[run]\nduration = \"9 s\"\n[dumbbell]\nbottleneck = {{ rate = \"1 Mbit/s\", delay = \"1 ms\" }}\n[[flow]]\n\
         app = {{ kind = \"trace\", {app} }}\n"
    )
}

fn refusal(text: &str, source: &Path) -> String {
    load(text, source.to_str().unwrap(), &[]).unwrap_err().to_string()
}

fn records(scenario: &Scenario) -> usize {
    let AppSpec::Trace(spec) = &scenario.flow[0].app else { panic!("a trace") };
    spec.content.as_ref().unwrap().records().len()
}

#[test]
fn a_trace_is_looked_for_beside_the_scenario_and_read_back_from_anywhere() {
    let directory = Directory::new("beside");
    let content = "gap_s,bytes\n0.5,100\n1,200\n";
    directory.file("requests.csv", content);
    let source = directory.file("scenario.toml", text("file = \"requests.csv\""));
    let scenario = load(&text("file = \"requests.csv\""), source.to_str().unwrap(), &[]).unwrap();
    assert_eq!(records(&scenario), 2);
    // The resolved form names the place, so that it can be read from another one.
    let again = load(&resolved_toml(&scenario), "elsewhere/scenario.toml", &[]).unwrap();
    assert_eq!(again, scenario);
    assert_eq!(run_id(&again), run_id(&scenario));
}

#[test]
fn the_access_log_of_a_web_server_is_a_trace() {
    let directory = Directory::new("log");
    let line = |second, bytes| {
        format!("192.0.2.7 - - [10/Oct/2000:13:55:{second:02} -0700] \"GET / HTTP/1.0\" 200 {bytes}\n")
    };
    directory.file("access.log", line(1, 100) + &line(4, 200) + &line(4, 300));
    let source = directory.file("scenario.toml", "");
    for app in ["file = \"access.log\"", "file = \"access.log\", format = \"access_log\""] {
        assert_eq!(records(&load(&text(app), source.to_str().unwrap(), &[]).unwrap()), 3);
    }
    directory.file("access.log", line(1, 100) + "192.0.2.7 - - yesterday\n");
    let message = refusal(&text("file = \"access.log\""), &source);
    assert!(
        message.contains("line 2, ") && message.contains("access.log: there is no time in brackets"),
        "{message}"
    );
}

#[test]
fn a_run_is_identified_by_what_is_in_its_trace() {
    let directory = Directory::new("identity");
    let one = directory.file("one.csv", "gap_s,bytes\n0.5,100\n");
    // The same in ns-2's format: 500,000 us, 100 B.
    let same = directory.file("same.ns", [0, 0x07, 0xa1, 0x20, 0, 0, 0, 100]);
    let other = directory.file("other.csv", "gap_s,bytes\n0.5,101\n");
    let id = |file: &Path| run_id(&load(&text(&format!("file = {file:?}")), "test", &[]).unwrap());
    assert_eq!(id(&one), id(&same));
    assert_ne!(id(&one), id(&other));
    let resolved = resolved_toml(&load(&text(&format!("file = {one:?}")), "test", &[]).unwrap());
    fs::copy(&other, &one).unwrap();
    let message = refusal(&resolved, Path::new("result/scenario.toml"));
    assert!(message.contains("one.csv is another trace: its digest is "), "{message}");
}

#[test]
fn what_is_wrong_is_said_with_the_place_in_both_files() {
    let directory = Directory::new("wrong");
    let source = directory.file("scenario.toml", "");
    directory.file("requests.csv", "gap_s,bytes\n0.5,100\n1,many\n");
    directory.file("film.ns", [0; 12]);
    let message = refusal(&text("file = \"requests.csv\""), &source);
    assert!(message.contains("scenario.toml:6:"), "{message}");
    assert!(
        message.contains("flow.flow.app.file: line 3, ")
            && message.contains("requests.csv: bytes is \"many\"")
    );
    let message = refusal(&text("file = \"film.ns\""), &source);
    assert!(
        message.contains("record 2, ") && message.contains("film.ns: the file ends after 4"),
        "{message}"
    );
    let message = refusal(&text("file = \"film.ns\", format = \"parquet\""), &source);
    assert!(message.contains("film.ns: it cannot be read as a Parquet file"), "{message}");
    let message = refusal(&text("file = \"nowhere.csv\""), &source);
    assert!(message.contains("nowhere.csv cannot be read: "), "{message}");
}

#[test]
fn films_keystrokes_and_documents_are_checked() {
    for (app, message) in [
        ("kind = \"video\", frame_rate = 0.0", "flow.flow.app.frame_rate: must be above 0 and at most 1000"),
        ("kind = \"video\", pattern = \"IBX\"", "flow.flow.app.pattern: a group of pictures is written"),
        ("kind = \"keystrokes\", count = 0", "flow.flow.app.count: must be at least 1"),
        ("kind = \"keystrokes\", echo = \"0 B\"", "flow.flow.app.echo: must be above 0 B"),
        ("kind = \"keystrokes\", gap = \"0 s\"", "flow.flow.app.gap: must be above 0 s"),
        (
            "kind = \"web\", think = \"1 s\", objects = 1, object = \"1 B\", document = \"0 B\"",
            "flow.flow.app.document: a document has at least 1 B",
        ),
    ] {
        let text = text("").replace("kind = \"trace\", ", app);
        let found = load(&text, "test", &[]).unwrap_err().to_string();
        assert!(found.contains(message), "{app}: {found}");
    }
}
