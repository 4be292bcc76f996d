//! The hop against its targets, in virtual time and with real packets.
//!
//!     targets [SEEDS] [NAME]           the table of docs/hop.md: all rows, or those whose name contains NAME
//!     targets rows                     names of the rows
//!     targets scenario ROW SEED        the row's link as a scenario for longhaul-emu
//!     targets simulate ROW SEED        values of one run in virtual time, one a line
//!     targets hub LISTEN ROW           the servers with real packets, until the process is ended
//!     targets terminal HUB ROW SEED    the clients with real packets: values of one run, one a line
//!
//! `benches/hop_emulated.py` puts an emulated link between the two processes and compares them with virtual time.

#[path = "../../tests/common/mod.rs"]
mod common;
mod process;
mod rows;
mod scenario;

use rows::{Row, quantile, rows};

/// Results of all seeds, two at a time.
fn each_seed(seeds: u64, run: impl Fn(u64) -> Vec<f64> + Sync) -> Vec<f64> {
    std::thread::scope(|scope| {
        let run = &run;
        let halves = [0, 1].map(|half| {
            scope.spawn(move || (1..=seeds).filter(|seed| seed % 2 == half).flat_map(run).collect::<Vec<_>>())
        });
        halves.into_iter().flat_map(|half| half.join().unwrap()).collect()
    })
}

/// As in "<= 1.08" for 95 % of the runs, or "median <= 1.08, 95 % <= 1.7".
fn target(row: &Row, values: &[f64]) -> String {
    let text = |(q, most): &(f64, f64)| match *q {
        0.5 => format!("median <= {most}"),
        0.99 => format!("99 % <= {most} ({:.3})", quantile(values, *q)),
        _ if row.bounds.len() > 1 => format!("95 % <= {most}"),
        _ => format!("<= {most}"),
    };
    row.bounds.iter().map(text).collect::<Vec<_>>().join(", ")
}

fn table(seeds: u64, wanted: &str) {
    let mut missed = 0;
    println!("| cell | median | 95 % | worst | target | kept |\n|---|---|---|---|---|---|");
    for row in rows().iter().filter(|row| row.name.contains(wanted)) {
        let values = each_seed((row.seeds)(seeds), |seed| row.simulate(seed));
        let [median, most, worst] = [0.5, 0.95, 1.0].map(|q| quantile(&values, q));
        let kept = row.kept(&values);
        missed += u32::from(!kept);
        let verdict = if kept { "yes" } else { "**no**" };
        println!(
            "| {} | {median:.3} | {most:.3} | {worst:.3} | {} | {verdict} |",
            row.name,
            target(row, &values)
        );
    }
    println!("\n{seeds} seeds; {missed} targets missed");
}

fn print(values: &[f64]) {
    values.iter().for_each(|value| println!("{value}"));
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let row = |name: &str| {
        let found = rows().into_iter().find(|row| row.name == name);
        found.unwrap_or_else(|| panic!("no row {name:?}: see `targets rows`"))
    };
    let number = |text: &str| text.parse().expect("a number of seeds, or a seed");
    let address = |text: &str| text.parse().expect("an address and port, as in 10.0.0.1:4433");
    match words[..] {
        [] => table(20, ""),
        ["rows"] => rows().iter().for_each(|row| println!("{}", row.name)),
        ["scenario", name, seed] => print!("{}", scenario::scenario(&row(name), number(seed))),
        ["simulate", name, seed] => print(&row(name).simulate(number(seed))),
        ["hub", listen, name] => process::hub(address(listen), &row(name)),
        ["terminal", hub, name, seed] => print(&process::terminal(address(hub), &row(name), number(seed))),
        [seeds] => table(number(seeds), ""),
        [seeds, name] => table(number(seeds), name),
        _ => panic!("usage: see the top of this file"),
    }
}
