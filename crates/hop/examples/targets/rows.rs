//! The rows of the targets in docs/hop.md: a link, what runs over the hop, and the bound. They run in virtual time and with
//! real packets.

use crate::common::*;
use longhaul_hop::{Config, Rates};
use longhaul_path::{Change, LinkConfig, LinkTrace, LossSpec, Outage, OutageMode};
use longhaul_units::{Duration, Instant, Rate};

const RTT: Duration = Duration::from_millis(650);

/// A terminal whose jobs run over a hop, on a virtual or a real clock.
pub trait Hop {
    fn now(&self) -> Instant;
    /// Runs until flows can be opened.
    fn connect(&mut self);
    fn add(&mut self, job: Job) -> usize;
    /// Runs until `limit`, or until all jobs have an outcome.
    fn run(&mut self, limit: Instant);
    fn run_until(&mut self, limit: Instant);
    fn terminal(&self) -> &End;
}

impl Hop for World {
    fn now(&self) -> Instant {
        self.now
    }
    fn connect(&mut self) {
        World::connect(self);
    }
    fn add(&mut self, job: Job) -> usize {
        World::add(self, job)
    }
    fn run(&mut self, limit: Instant) {
        World::run(self, limit);
    }
    fn run_until(&mut self, limit: Instant) {
        World::run_until(self, limit);
    }
    fn terminal(&self) -> &End {
        &self.ends[0]
    }
}

/// The link of a row, and the rate that the hub has configured.
#[derive(Clone)]
pub struct Cell {
    up: f64,
    down: f64,
    loss: Option<LossSpec>,
    /// The configured rate of the hub, as a multiple of the link's.
    wrong: f64,
    changes: Vec<Change>,
    outages: fn(u64) -> Vec<Outage>,
}

impl Cell {
    /// Rates in Mbit/s, loss in percent.
    fn new(down: f64, up: f64, percent: f64) -> Self {
        Cell { up, down, loss: random(percent / 100.0), wrong: 1.0, changes: vec![], outages: |_| vec![] }
    }

    /// Of the terminal and of the hub.
    pub fn configs(&self) -> [Config; 2] {
        let [mut terminal, mut hub] = configs();
        terminal.rates = Rates { send: Some(mbit(self.up)), ..Rates::default() };
        hub.rates = Rates { send: Some(mbit(self.down * self.wrong)), ..Rates::default() };
        // Five bandwidth-delay products, as docs/hop.md recommends.
        let product = mbit(self.down).bytes_in(RTT).as_bytes();
        for config in [&mut terminal, &mut hub] {
            config.credit = config.credit.max(5 * product);
            config.memory = config.memory.max(9 * config.credit);
        }
        [terminal, hub]
    }

    /// From the terminal, and to it.
    pub fn links(&self, seed: u64) -> [LinkConfig; 2] {
        let down = LinkConfig {
            changes: self.changes.clone(),
            outages: (self.outages)(seed),
            trace: LinkTrace::default(),
            ..link(mbit(self.down), RTT, self.loss)
        };
        [link(mbit(self.up), RTT, self.loss), down]
    }

    fn ideal(&self, bytes: u64) -> f64 {
        0.65 + 1.05 * bytes as f64 * 8.0 / (self.down * 1e6)
    }
}

/// What of a row's values is bounded: a quantile of all runs, and the largest value that keeps the target.
pub type Bound = (f64, f64);

/// What a row does over the hop, and the values that it measures.
type Work = dyn Fn(&mut dyn Hop) -> Vec<f64> + Sync;

pub struct Row {
    pub name: String,
    pub cell: Cell,
    /// The hop has carried 5 MB and has been quiet for two seconds.
    warm: bool,
    /// Of so many seeds that are wanted, those that the row takes: where nothing is drawn, few do.
    pub seeds: fn(u64) -> u64,
    job: Box<Work>,
    pub bounds: Vec<Bound>,
}

impl Row {
    fn new(
        name: impl Into<String>,
        cell: Cell,
        most: f64,
        job: impl Fn(&mut dyn Hop) -> Vec<f64> + Sync + 'static,
    ) -> Self {
        Row {
            name: name.into(),
            cell,
            warm: true,
            seeds: |n| n,
            job: Box::new(job),
            bounds: vec![(0.95, most)],
        }
    }

    fn seeds(self, seeds: fn(u64) -> u64) -> Self {
        Row { seeds, ..self }
    }

    fn bounds(self, bounds: impl Into<Vec<Bound>>) -> Self {
        Row { bounds: bounds.into(), ..self }
    }

    fn cold(self) -> Self {
        Row { warm: false, ..self }
    }

    /// The values of one run.
    pub fn measure(&self, hop: &mut dyn Hop) -> Vec<f64> {
        hop.connect();
        if self.warm {
            pause(hop);
            transfer(hop, 300, 5_000_000);
            pause(hop);
        }
        (self.job)(hop)
    }

    pub fn simulate(&self, seed: u64) -> Vec<f64> {
        let mut world = World::new(self.cell.configs(), self.cell.links(seed), seed);
        let values = self.measure(&mut world);
        world.check_ledgers();
        values
    }

    pub fn kept(&self, values: &[f64]) -> bool {
        self.bounds.iter().all(|(q, most)| quantile(values, *q) <= *most)
    }
}

pub fn quantile(values: &[f64], q: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[((sorted.len() as f64 * q).ceil() as usize).clamp(1, sorted.len()) - 1]
}

fn pause(hop: &mut dyn Hop) {
    let now = hop.now();
    hop.run_until(now + Duration::from_secs(2));
}

/// Seconds of one request and its answer.
fn transfer(hop: &mut dyn Hop, request: u64, response: u64) -> f64 {
    let at = hop.now();
    let job = hop.add(Job::new(at, request, response));
    hop.run(at + Duration::from_secs(2000));
    hop.terminal().seconds(job)
}

/// A download of `megabytes`, as a multiple of the ideal.
fn download(name: &str, cell: Cell, megabytes: u64, most: f64) -> Row {
    let bytes = megabytes * 1_000_000;
    let ideal = cell.ideal(bytes);
    Row::new(format!("{name}, x ideal"), cell, most, move |hop| vec![transfer(hop, 300, bytes) / ideal])
}

fn downloads() -> Vec<Row> {
    let mut rows = vec![];
    for (down, up, most) in [(50.0, 10.0, 1.08), (250.0, 3.0, 1.08), (50.0, 0.5, 1.08), (10.0, 2.0, 1.02)] {
        for size in [2, 10, 100] {
            let name = format!("{size} MB, {down}/{up}, 0 %");
            rows.push(download(&name, Cell::new(down, up, 0.0), size, most).seeds(|n| n.min(4)));
        }
    }
    let slow = |hop: &mut dyn Hop| vec![transfer(hop, 300, 100_000_000)];
    rows.push(Row::new("100 MB, 10/2, seconds", Cell::new(10.0, 2.0, 0.0), 85.0, slow).seeds(|n| n.min(4)));
    for (percent, most) in [(0.1, 1.12), (1.0, 1.12), (2.0, 1.15), (5.0, 1.25)] {
        for (size, down, up) in [(2, 50.0, 10.0), (10, 50.0, 10.0), (10, 250.0, 3.0)] {
            let name = format!("{size} MB, {down}/{up}, {percent} %");
            rows.push(download(&name, Cell::new(down, up, percent), size, most));
        }
    }
    for (down, up) in [(50.0, 10.0), (250.0, 3.0)] {
        let name = format!("100 MB, {down}/{up}, 1 %");
        rows.push(download(&name, Cell::new(down, up, 1.0), 100, 1.10));
    }
    let cell = Cell { loss: bursts(0.01, 5.0), ..Cell::new(50.0, 10.0, 0.0) };
    rows.push(
        download("bursts of 5, 1 %, 2 MB", cell, 2, 1.7).bounds([(0.5, 1.08), (0.95, 1.7)]).seeds(|n| 5 * n),
    );
    rows
}

fn starts_and_uploads() -> Vec<Row> {
    let mut rows = vec![];
    for percent in [0.0, 1.0] {
        let cell = Cell::new(50.0, 10.0, percent);
        let ideal = cell.ideal(2_000_000) + 0.65;
        let name = format!("first 2 MB on a new hop, {percent} %, x (ideal + RTT)");
        let first = move |hop: &mut dyn Hop| {
            transfer(hop, 300, 2_000_000);
            vec![hop.now().as_secs_f64() / ideal]
        };
        rows.push(Row::new(name, cell, 1.12, first).cold());
    }
    for percent in [0.0, 1.0] {
        let name = format!("2 MB up, 50/10, {percent} %, x ideal");
        let upload = |hop: &mut dyn Hop| vec![transfer(hop, 2_000_000, 200) / 2.33];
        rows.push(Row::new(name, Cell::new(50.0, 10.0, percent), 1.12, upload));
    }
    rows
}

/// `count` requests of 300 bytes with answers of 20 kB, 470 ms apart: seconds each.
fn requests(hop: &mut dyn Hop, count: u64) -> Vec<f64> {
    let start = hop.now();
    let at = |n| start + Duration::from_millis(470 * n);
    let jobs: Vec<usize> = (0..count).map(|n| hop.add(Job::new(at(n), 300, 20_000))).collect();
    hop.run_until(at(count) + Duration::from_secs(20));
    jobs.into_iter().map(|job| hop.terminal().seconds(job)).collect()
}

/// 1 - Jain's index of the rates of `flows` equal downloads.
fn unfairness(hop: &mut dyn Hop, flows: usize) -> f64 {
    let at = hop.now();
    let bytes = if flows > 100 { 200_000 } else { 2_000_000 };
    let jobs: Vec<usize> = (0..flows).map(|_| hop.add(Job::new(at, 300, bytes))).collect();
    hop.run(at + Duration::from_secs(600));
    let rates: Vec<f64> = jobs.iter().map(|job| 1.0 / hop.terminal().seconds(*job)).collect();
    let (sum, squares) = (rates.iter().sum::<f64>(), rates.iter().map(|x| x * x).sum::<f64>());
    1.0 - sum * sum / (squares * rates.len() as f64)
}

fn together() -> Vec<Row> {
    let mut rows = vec![];
    for percent in [0.0, 0.1, 1.0] {
        let name = format!("20 kB beside a bulk transfer, 50/10, {percent} %, s");
        let beside = |hop: &mut dyn Hop| {
            let at = hop.now();
            hop.add(Job::new(at, 300, 400_000_000));
            pause(hop);
            requests(hop, 50)
        };
        rows.push(Row::new(name, Cell::new(50.0, 10.0, percent), 0.7, beside).bounds([(0.99, 0.7)]));
    }
    for flows in [10, 50, 500] {
        let equal = move |hop: &mut dyn Hop| vec![unfairness(hop, flows)];
        let cell = Cell::new(50.0, 10.0, 0.5);
        rows.push(Row::new(format!("{flows} equal flows, 1 - Jain"), cell, 0.02, equal));
    }
    let cell = Cell::new(50.0, 10.0, 1.0);
    let ideal = cell.ideal(20_000_000);
    let many = move |hop: &mut dyn Hop| {
        let at = hop.now();
        for _ in 0..500 {
            hop.add(Job::new(at, 300, 40_000));
        }
        hop.run(at + Duration::from_secs(100));
        vec![hop.now().since(at).as_secs_f64() / ideal]
    };
    rows.push(Row::new("500 x 40 kB, 1 %, x ideal of all", cell, 1.12, many));
    let acks = |hop: &mut dyn Hop| {
        let sent = |hop: &dyn Hop| hop.terminal().sent.1 + 28 * hop.terminal().sent.0;
        let before = sent(hop);
        transfer(hop, 300, 100_000_000);
        vec![(sent(hop) - before) as f64 / 1e8 * 100.0]
    };
    rows.push(
        Row::new("ACKs at 250/3, 100 MB, % of the data", Cell::new(250.0, 3.0, 0.0), 0.3, acks).seeds(|_| 1),
    );
    rows
}

fn change(at: u64, rate: f64) -> Change {
    Change {
        at: Duration::from_secs(at),
        rate: Some(Rate::from_bps_f64(rate * 1e6)),
        delay: None,
        loss: None,
    }
}

fn changes() -> Vec<Row> {
    let outages = |seed| {
        let start = Duration::from_millis(12_000 + 137 * seed);
        vec![Outage { start, duration: Duration::from_secs(60), mode: OutageMode::Drop }]
    };
    let cell = Cell { outages, ..Cell::new(50.0, 10.0, 0.0) };
    let ideal = cell.ideal(100_000_000) + 60.0;
    let interrupted = move |hop: &mut dyn Hop| vec![transfer(hop, 300, 100_000_000) - ideal];
    let mut rows = vec![Row::new("outage of 60 s in 100 MB, s more than ideal", cell, 5.0, interrupted)];
    for percent in [0.0, 1.0] {
        let fading = |hop: &mut dyn Hop| {
            let at = hop.now();
            hop.add(Job::new(at, 300, 400_000_000));
            hop.run_until(Instant::ZERO + Duration::from_secs(20));
            requests(hop, 60)
        };
        let cell = Cell { changes: vec![change(20, 10.0)], ..Cell::new(50.0, 10.0, percent) };
        let name = format!("rate 50 -> 10, {percent} %, 20 kB requests, s");
        rows.push(Row::new(name, cell, 0.85, fading).bounds([(0.5, 0.85)]));
    }
    for wrong in [0.5, 2.0] {
        for percent in [0.0, 1.0] {
            let name = format!("100 MB, rate configured {wrong} times, {percent} %");
            let cell = Cell { wrong, ..Cell::new(50.0, 10.0, percent) };
            rows.push(download(&name, cell, 100, 1.25));
        }
    }
    let rising = vec![change(0, 10.0), change(20, 50.0)];
    let cell = Cell { changes: rising, wrong: 0.2, ..Cell::new(50.0, 10.0, 0.0) };
    let long = |hop: &mut dyn Hop| vec![transfer(hop, 300, 150_000_000)];
    rows.push(Row::new("rate 10 -> 50 at 20 s, 150 MB, s", cell, 45.0, long));
    rows
}

pub fn rows() -> Vec<Row> {
    [downloads(), starts_and_uploads(), together(), changes()].into_iter().flatten().collect()
}
