//! Every target takes its seeds and some changed inputs; `make test-all` runs many more.

use longhaul_fuzz::{Mutator, TARGETS};

/// The seeds of every target, and so many inputs made of them; scenarios take longer to read, so they get fewer.
fn run(inputs: u32, scenarios: u32) {
    for target in TARGETS {
        let seeds = (target.seeds)();
        assert!(!seeds.is_empty(), "{}", target.name);
        seeds.iter().for_each(|seed| (target.run)(seed));
        let mut mutator = Mutator::new(1);
        let inputs = if target.name == "scenario" { scenarios } else { inputs };
        (0..inputs).for_each(|_| (target.run)(&mutator.input(&seeds)));
    }
}

#[test]
fn every_target_takes_its_seeds_and_what_is_made_of_them() {
    run(1000, 30);
}

#[test]
#[ignore = "takes a minute: make test-all"]
fn every_target_takes_a_hundred_thousand_inputs() {
    run(100_000, 3000);
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
