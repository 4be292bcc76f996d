//! Every target takes its seeds and some changed inputs; `make test-long` runs many more.

use longhaul_fuzz::{Mutator, TARGETS};
use longhaul_quic::Side;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// The seeds of every target, and so many inputs made of them, fewer of targets that take longer; on all processors.
fn run(inputs: u32) {
    let next = AtomicUsize::new(0);
    let work = || {
        while let Some(target) = TARGETS.get(next.fetch_add(1, Ordering::Relaxed)) {
            let seeds = (target.seeds)();
            assert!(!seeds.is_empty(), "{}", target.name);
            seeds.iter().for_each(|seed| (target.run)(seed));
            let mut mutator = Mutator::new(1);
            (0..inputs / target.cost()).for_each(|_| (target.run)(&mutator.input(&seeds)));
        }
    };
    let processors = thread::available_parallelism().map_or(1, |count| count.get());
    thread::scope(|scope| (0..processors).for_each(|_| drop(scope.spawn(work))));
}

#[test]
fn every_target_takes_its_seeds_and_what_is_made_of_them() {
    run(1000);
}

#[test]
#[ignore = "takes a minute of processor time: make test-long"]
fn every_target_takes_a_hundred_thousand_inputs() {
    run(100_000);
}

/// libFuzzer ends the process at a panic, also at those inside of the Parquet library, which are caught.
const DRIVER_ONLY: [&str; 1] = ["trace_parquet"];

#[test]
fn libfuzzer_has_the_same_targets() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz");
    let manifest = std::fs::read_to_string(folder.join("Cargo.toml")).unwrap();
    for name in TARGETS.iter().map(|target| target.name).filter(|name| !DRIVER_ONLY.contains(name)) {
        let program = std::fs::read_to_string(folder.join(format!("fuzz_targets/{name}.rs"))).unwrap();
        assert!(program.contains(&format!("target(\"{name}\")")), "{name}");
        assert!(manifest.contains(&format!("name = \"{name}\"\n")), "{name}");
    }
}

/// Elements of this year are read as a satellite.
#[test]
fn elements_are_understood() {
    let seeds = longhaul_fuzz::target("elements").unwrap().seeds;
    let counts = seeds()
        .iter()
        .map(|seed| longhaul_scenario::count_satellites(std::str::from_utf8(seed).unwrap()).unwrap_or(0))
        .collect::<Vec<_>>();
    assert_eq!(counts, [0, 1]);
}

/// Recorded datagrams reach a connection: it comes about, and a stream is opened.
#[test]
fn quic_seeds_are_understood() {
    for side in [Side::Client, Side::Server] {
        assert!(longhaul_fuzz::quic_connects(side), "{side:?}");
    }
}

/// The recorded datagrams and the peer's streams lead to a hop that is up: what is made of them gets past the handshake.
#[test]
fn hop_seeds_are_understood() {
    assert!(longhaul_fuzz::hop_connects());
}

#[test]
fn the_same_seed_makes_the_same_inputs() {
    let corpus = vec![b"one input".to_vec(), b"another".to_vec()];
    let inputs = |seed| {
        let mut mutator = Mutator::new(seed);
        (0..50).map(|_| mutator.input(&corpus)).collect::<Vec<_>>()
    };
    assert_eq!(inputs(7), inputs(7));
    assert_ne!(inputs(7), inputs(8));
}
