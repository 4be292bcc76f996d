//! Measures the hop in virtual time against its targets and prints the table of docs/hop.md:
//! `cargo run --release -p longhaul-hop --example targets -- [seeds] [part of a row's name]`.

#[path = "../tests/common/mod.rs"]
mod common;

use common::*;
use longhaul_hop::Rates;
use longhaul_path::{Change, LinkConfig, LossSpec, Outage, OutageMode};
use longhaul_units::{Duration, Rate};

const RTT: Duration = Duration::from_millis(650);

/// What one run needs.
#[derive(Clone)]
struct Cell {
    up: f64,
    down: f64,
    loss: Option<LossSpec>,
    /// The configured rate of the hub, as a multiple of the link's.
    wrong: f64,
    changes: Vec<Change>,
    outages: Vec<Outage>,
}

impl Cell {
    fn new(down: f64, up: f64, loss: Option<LossSpec>) -> Self {
        Cell { up, down, loss, wrong: 1.0, changes: vec![], outages: vec![] }
    }

    fn world(&self, seed: u64) -> World {
        let [mut terminal, mut hub] = configs();
        terminal.rates = Rates { send: Some(mbit(self.up)), ..Rates::default() };
        hub.rates = Rates { send: Some(mbit(self.down * self.wrong)), ..Rates::default() };
        // Five bandwidth-delay products, as docs/hop.md recommends.
        let product = mbit(self.down).bytes_in(RTT).as_bytes();
        for config in [&mut terminal, &mut hub] {
            config.credit = config.credit.max(5 * product);
            config.memory = config.memory.max(9 * config.credit);
        }
        let down = LinkConfig {
            changes: self.changes.clone(),
            outages: self.outages.clone(),
            ..link(mbit(self.down), RTT, self.loss)
        };
        World::new([terminal, hub], [link(mbit(self.up), RTT, self.loss), down], seed)
    }

    /// A hop that has carried 5 MB and has been quiet for two seconds.
    fn warm(&self, seed: u64) -> World {
        let mut world = self.world(seed);
        let up = world.warm_up();
        world.run_until(up + Duration::from_secs(2));
        let at = world.now;
        world.add(Job::new(at, 300, 5_000_000));
        world.run(at + Duration::from_secs(200));
        let at = world.now;
        world.run_until(at + Duration::from_secs(2));
        world
    }

    fn ideal(&self, bytes: u64) -> f64 {
        0.65 + 1.05 * bytes as f64 * 8.0 / (self.down * 1e6)
    }

    /// Times of one download each, as multiples of the ideal.
    fn downloads(&self, bytes: u64, seeds: u64) -> Vec<f64> {
        each_seed(seeds, |seed| {
            let mut world = self.warm(seed);
            let took = transfer(&mut world, 300, bytes);
            vec![took / self.ideal(bytes)]
        })
    }
}

fn transfer(world: &mut World, request: u64, response: u64) -> f64 {
    let at = world.now;
    let job = world.add(Job::new(at, request, response));
    world.run(at + Duration::from_secs(2000));
    world.check_ledgers();
    world.seconds(job)
}

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

fn quantile(values: &[f64], q: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[((sorted.len() as f64 * q).ceil() as usize).clamp(1, sorted.len()) - 1]
}

struct Table {
    seeds: u64,
    wanted: String,
    missed: u32,
}

impl Table {
    fn wants(&self, name: &str) -> bool {
        name.contains(&self.wanted)
    }

    fn row(&mut self, name: &str, values: &[f64], target: &str, kept: bool) {
        let (median, most) = (quantile(values, 0.5), quantile(values, 0.95));
        let verdict = if kept { "yes" } else { "**no**" };
        self.missed += u32::from(!kept);
        let worst = quantile(values, 1.0);
        println!("| {name} | {median:.3} | {most:.3} | {worst:.3} | {target} | {verdict} |");
    }

    /// 95 % of the runs must keep the target.
    fn most(&mut self, name: &str, target: f64, measure: impl FnOnce(u64) -> Vec<f64>) {
        if self.wants(name) {
            let values = measure(self.seeds);
            self.row(name, &values, &format!("<= {target}"), quantile(&values, 0.95) <= target);
        }
    }
}

fn transfers(table: &mut Table) {
    for (down, up) in [(50.0, 10.0), (250.0, 3.0), (50.0, 0.5)] {
        for bytes in [2, 10, 100] {
            table.most(&format!("{bytes} MB, {down}/{up}, 0 %, x ideal"), 1.08, |seeds| {
                Cell::new(down, up, None).downloads(bytes * 1_000_000, seeds.min(4))
            });
        }
    }
    for bytes in [2, 10, 100] {
        table.most(&format!("{bytes} MB, 10/2, 0 %, x ideal"), 1.02, |seeds| {
            Cell::new(10.0, 2.0, None).downloads(bytes * 1_000_000, seeds.min(4))
        });
    }
    table.most("100 MB, 10/2, seconds", 85.0, |seeds| {
        let cell = Cell::new(10.0, 2.0, None);
        let times = cell.downloads(100_000_000, seeds.min(4));
        times.into_iter().map(|time| time * cell.ideal(100_000_000)).collect()
    });
    for (percent, target) in [(0.1, 1.12), (1.0, 1.12), (2.0, 1.15), (5.0, 1.25)] {
        for (bytes, down, up) in [(2, 50.0, 10.0), (10, 50.0, 10.0), (10, 250.0, 3.0)] {
            table.most(&format!("{bytes} MB, {down}/{up}, {percent} %, x ideal"), target, |seeds| {
                Cell::new(down, up, random(percent / 100.0)).downloads(bytes * 1_000_000, seeds)
            });
        }
    }
    for (down, up) in [(50.0, 10.0), (250.0, 3.0)] {
        table.most(&format!("100 MB, {down}/{up}, 1 %, x ideal"), 1.10, |seeds| {
            Cell::new(down, up, random(0.01)).downloads(100_000_000, seeds.min(10))
        });
    }
    let name = "bursts of 5, 1 %, 2 MB, x ideal";
    if table.wants(name) {
        let values = Cell::new(50.0, 10.0, bursts(0.01, 5.0)).downloads(2_000_000, 5 * table.seeds);
        let kept = quantile(&values, 0.5) <= 1.08 && quantile(&values, 0.95) <= 1.7;
        table.row(name, &values, "median <= 1.08, 95 % <= 1.7", kept);
    }
    for percent in [0.0, 1.0] {
        table.most(&format!("first 2 MB on a new hop, {percent} %, x (ideal + RTT)"), 1.12, |seeds| {
            each_seed(seeds, |seed| {
                let cell = Cell::new(50.0, 10.0, random(percent / 100.0));
                let mut world = cell.world(seed);
                world.connect();
                transfer(&mut world, 300, 2_000_000);
                vec![world.now.as_secs_f64() / (cell.ideal(2_000_000) + 0.65)]
            })
        });
    }
    for percent in [0.0, 1.0] {
        table.most(&format!("2 MB up, 50/10, {percent} %, x ideal"), 1.12, |seeds| {
            each_seed(seeds, |seed| {
                let mut world = Cell::new(50.0, 10.0, random(percent / 100.0)).warm(seed);
                vec![transfer(&mut world, 2_000_000, 200) / 2.33]
            })
        });
    }
}

/// Requests of 300 bytes with answers of 20 kB beside whatever runs: seconds each.
fn requests(world: &mut World, every: Duration, count: u64) -> Vec<f64> {
    let start = world.now;
    let jobs: Vec<usize> = (0..count)
        .map(|n| world.add(Job::new(start + Duration::from_nanos(every.as_nanos() * n), 300, 20_000)))
        .collect();
    world.run_until(start + Duration::from_nanos(every.as_nanos() * count) + Duration::from_secs(20));
    jobs.into_iter().map(|job| world.seconds(job)).collect()
}

fn together(table: &mut Table) {
    for percent in [0.0, 0.1, 1.0] {
        let name = format!("20 kB beside a bulk transfer, 50/10, {percent} %, s");
        if table.wants(&name) {
            let values = each_seed(table.seeds, |seed| {
                let mut world = Cell::new(50.0, 10.0, random(percent / 100.0)).warm(seed);
                let at = world.now;
                world.add(Job::new(at, 300, 400_000_000));
                world.run_until(at + Duration::from_secs(2));
                requests(&mut world, Duration::from_millis(470), 50)
            });
            let last = quantile(&values, 0.99);
            table.row(&name, &values, &format!("99 % <= 0.7 ({last:.3})"), last <= 0.70);
        }
    }
    for flows in [10, 50, 500] {
        let name = format!("{flows} equal flows, 1 - Jain");
        if table.wants(&name) {
            let values = each_seed(table.seeds.min(6), |seed| {
                let mut world = Cell::new(50.0, 10.0, random(0.005)).warm(seed);
                let at = world.now;
                let bytes = if flows > 100 { 200_000 } else { 2_000_000 };
                let jobs: Vec<usize> = (0..flows).map(|_| world.add(Job::new(at, 300, bytes))).collect();
                world.run(at + Duration::from_secs(600));
                let shares: Vec<f64> = jobs.iter().map(|job| 1.0 / world.seconds(*job)).collect();
                let (sum, squares) = (shares.iter().sum::<f64>(), shares.iter().map(|x| x * x).sum::<f64>());
                vec![1.0 - sum * sum / (squares * shares.len() as f64)]
            });
            table.row(&name, &values, "<= 0.02", quantile(&values, 0.95) <= 0.02);
        }
    }
    table.most("500 x 40 kB, 1 %, x ideal of all", 1.12, |seeds| {
        each_seed(seeds.min(6), |seed| {
            let cell = Cell::new(50.0, 10.0, random(0.01));
            let mut world = cell.warm(seed);
            let at = world.now;
            for _ in 0..500 {
                world.add(Job::new(at, 300, 40_000));
            }
            world.run(at + Duration::from_secs(100));
            vec![world.now.since(at).as_secs_f64() / cell.ideal(20_000_000)]
        })
    });
    table.most("ACKs at 250/3, 100 MB, % of the data", 0.3, |_| {
        let mut world = Cell::new(250.0, 3.0, None).warm(1);
        let before = world.sent[0].1 + 28 * world.sent[0].0;
        transfer(&mut world, 300, 100_000_000);
        let after = world.sent[0].1 + 28 * world.sent[0].0;
        vec![(after - before) as f64 / 1e8 * 100.0]
    });
}

fn changes(table: &mut Table) {
    table.most("outage of 60 s in 100 MB, s more than ideal", 5.0, |seeds| {
        each_seed(seeds, |seed| {
            let at = Duration::from_millis(12_000 + 137 * seed);
            let outage = Outage { start: at, duration: Duration::from_secs(60), mode: OutageMode::Drop };
            let cell = Cell { outages: vec![outage], ..Cell::new(50.0, 10.0, None) };
            let mut world = cell.warm(seed);
            vec![transfer(&mut world, 300, 100_000_000) - cell.ideal(100_000_000) - 60.0]
        })
    });
    for loss in [0.0, 0.01] {
        let name = format!("rate 50 -> 10, {} %, 20 kB requests, s", loss * 100.0);
        if table.wants(&name) {
            let values = each_seed(table.seeds, |seed| {
                let rate = Some(Rate::from_bps(10_000_000));
                let change = Change { at: Duration::from_secs(20), rate, delay: None };
                let cell = Cell { changes: vec![change], ..Cell::new(50.0, 10.0, random(loss)) };
                let mut world = cell.warm(seed);
                let at = world.now;
                world.add(Job::new(at, 300, 400_000_000));
                world.run_until(longhaul_units::Instant::ZERO + Duration::from_secs(20));
                requests(&mut world, Duration::from_millis(470), 60)
            });
            let median = quantile(&values, 0.5);
            table.row(&name, &values, "median <= 0.85", median <= 0.85);
        }
    }
    for wrong in [0.5, 2.0] {
        for loss in [0.0, 1.0] {
            let name = format!("100 MB, rate configured {wrong} times, {loss} %, x ideal");
            table.most(&name, 1.25, |seeds| {
                let cell = Cell { wrong, ..Cell::new(50.0, 10.0, random(loss / 100.0)) };
                cell.downloads(100_000_000, seeds.min(10))
            });
        }
    }
    let name = "rate 10 -> 50 at 20 s, 150 MB, s";
    table.most(name, 45.0, |seeds| {
        each_seed(seeds.min(10), |seed| {
            let rate = |mbit: u64| Some(Rate::from_bps(mbit * 1_000_000));
            let change = |at, mbit| Change { at: Duration::from_secs(at), rate: rate(mbit), delay: None };
            let cell = Cell { changes: vec![change(20, 50)], wrong: 0.2, ..Cell::new(50.0, 10.0, None) };
            let mut cell = cell;
            cell.changes.insert(0, change(0, 10));
            let mut world = cell.warm(seed);
            vec![transfer(&mut world, 300, 150_000_000)]
        })
    });
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let seeds = arguments.next().and_then(|seeds| seeds.parse().ok()).unwrap_or(20);
    let mut table = Table { seeds, wanted: arguments.next().unwrap_or_default(), missed: 0 };
    println!("| cell | median | 95 % | worst | target | kept |\n|---|---|---|---|---|---|");
    transfers(&mut table);
    together(&mut table);
    changes(&mut table);
    println!("\n{seeds} seeds; {} targets missed", table.missed);
}
