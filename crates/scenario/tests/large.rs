//! Scenarios of many sections.

use longhaul_scenario::{load, run_id};
use std::time::{Duration, Instant};

/// A scenario in which each of so many flows has its own `[[flow]]`, and its own link.
fn with_links(count: usize) -> String {
    let link = |i| {
        format!(
            "[[link]]\nname = \"l{i}\"\nends = [\"hub\", \"n{i}\"]\nrate = \"1 Mbit/s\"\ndelay = \"1 ms\"\n"
        )
    };
    let flow = |i| format!("[[flow]]\nname = \"f{i}\"\nfrom = \"hub\"\nto = \"n{i}\"\n");
    let run = "[run]\nduration = \"10 s\"\n".to_string();
    [run].into_iter().chain((0..count).map(link)).chain((0..count).map(flow)).collect()
}

/// A scenario in which so many sections share a link.
fn on_one_link(count: usize) -> String {
    let bottleneck =
        "[run]\nduration = \"10 s\"\n[dumbbell.bottleneck]\nrate = \"1 Mbit/s\"\ndelay = \"1 ms\"\n";
    let flow = |i| format!("[[flow]]\nname = \"f{i}\"\n");
    [bottleneck.to_string()].into_iter().chain((0..count).map(flow)).collect()
}

/// The shortest of three times, which other work on the machine disturbs least.
fn time_of(text: &str) -> Duration {
    let time = |_| {
        let began = Instant::now();
        let scenario = load(text, "large.toml", &[]).unwrap();
        run_id(&scenario);
        began.elapsed()
    };
    (0..3).map(time).min().unwrap()
}

#[test]
fn ten_times_the_sections_take_about_ten_times_as_long() {
    for scenario in [with_links, on_one_link] {
        let (few, many) = (time_of(&scenario(50)), time_of(&scenario(500)));
        assert!(many < few * 30, "50 sections take {few:?}, 500 take {many:?}");
    }
}
