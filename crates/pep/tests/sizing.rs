//! `bench --self` measures what it states, with real packets.

use crate::bed::{PEP, can_run, text};
use std::process::Command;

/// Each figure of each case is there, connections went through the nodes, and the nodes have used the processor.
#[test]
#[ignore = "real packets, needs root: make test-all"]
fn a_machine_is_measured_without_leaving_anything() {
    if !can_run() {
        return;
    }
    // A folder of its own: what another program left in the common one is not this one's.
    let folder = std::env::temp_dir().join(format!("longhaul-pep-sizing-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let measured = || -> serde_json::Value {
        let output = Command::new(PEP)
            .args(["bench", "--self", "--seconds", "1", "--json"])
            .env("TMPDIR", &folder)
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", text(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap()
    };
    // A node that is served late lets connections pass, on busy machines every second measurement: then there is nothing to compare.
    let whole = |report: &serde_json::Value| {
        report["cases"].as_array().unwrap()[1..]
            .iter()
            .all(|case| case["accelerated"].as_f64().unwrap() > 0.99)
    };
    let report = (0..8).map(|_| measured()).find(whole).expect("connections go through the nodes");
    let cases = report["cases"].as_array().unwrap();
    assert_eq!(cases.len(), 4);
    for (case, nodes) in cases.iter().zip([0, 1, 2, 2]) {
        let number = |value: &serde_json::Value| value.as_f64().unwrap();
        let list = |name: &str| case[name].as_array().unwrap().clone();
        assert!(number(&case["goodput_bps"]) > 1e7 && number(&case["openings"]) > 10.0, "{case}");
        assert!(number(&case["opening"]["p99"]) >= number(&case["opening"]["median"]), "{case}");
        for name in ["cores", "bytes_each", "memory"] {
            assert_eq!(list(name).len(), nodes, "{name}: {case}");
        }
        assert!(list("cores").iter().all(|cores| number(cores) > 0.0), "{case}");
        // Both sockets of a connection and what the relay keeps of it; a leak of buffers would be 16 kB.
        assert!(list("bytes_each").iter().all(|bytes| (100.0..50e3).contains(&number(bytes))), "{case}");
        if nodes > 0 {
            assert!(number(&case["accelerated"]) > 0.99, "{case}");
            // What a node adds is some 0.03 ms, less than what a busy machine adds to either.
            let [direct, through] = [0, 1].map(|at| number(&case["question"][at]["median"]));
            assert!(direct > 0.0 && through > 0.0 && through < direct + 0.05, "{case}");
        }
    }
    assert_eq!(report["terminals"]["count"], 200);
    // With all 10,000 streams permitted at once, quinn-proto alone took 690 kB of each.
    let each = report["terminals"]["bytes_each"].as_f64().unwrap();
    assert!((1.0..200e3).contains(&each), "{report}");
    let left: Vec<_> = std::fs::read_dir(&folder).unwrap().flatten().map(|file| file.file_name()).collect();
    assert_eq!(left, [""; 0]);
    std::fs::remove_dir(&folder).unwrap();
}

#[test]
fn seconds_out_of_range_are_refused() {
    let output = Command::new(PEP).args(["bench", "--self", "--seconds", "61"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(text(&output.stderr), "error: --seconds 61: with --self from 1 to 60\n");
}
