//! RED here and in ns-2 (2.35), on the very same arrivals: it needs ns-2 (Debian's package `ns2`) and is ignored by default.
//! With `--nocapture` the numbers of docs/validation.md are printed.

use longhaul_path::link::Fate;
use longhaul_path::queue::red::{Measure, RedForm};
use longhaul_path::queue::{Admission, Found, Occupancy, Red, RedSpec, Verdict};
use longhaul_path::{DropCause, Link, LinkConfig, Packet, QueueSpec};
use longhaul_units::{Duration, Ecn, Instant, Limit, Probability, Random, Rate, Size};
use std::process::Command;

const RATE: Rate = Rate::from_bps(1_000_000);
const SECONDS: &str = "1000";
/// While the first windows of TCP open, the queue is empty time and again, and each of its idle times may differ (see `compare_under`):
/// averages are compared from here on.
const START: Instant = Instant::from_nanos(1_000_000_000);
/// Everything in packets, automatic weight and thresholds, no marks.
const COMMON: &str =
    "setbit_ false use_mark_p_ false bytes_ false queue_in_bytes_ false q_weight_ 0 bottom_ 0.01";

/// One line of ns-2's trace of the queue.
struct Traced {
    kind: char,
    at: Instant,
    len: u32,
    /// It has met congestion (ns-2's flag E).
    marked: bool,
}

struct Sample {
    at: Instant,
    average: f64,
    max_p: f64,
}

struct Ns2 {
    events: Vec<Traced>,
    samples: Vec<Sample>,
}

fn instant(seconds: &str) -> Instant {
    Instant::ZERO + Duration::from_secs_f64(seconds.parse().expect("a time"))
}

/// Runs ns-2 with variables of `Queue/RED`. Its traces, of 40 MB each, are not recorded.
fn ns2(name: &str, variables: &str, traffic: &str) -> Ns2 {
    let directory = std::env::temp_dir().join(format!("longhaul-red-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&directory).expect("a directory for ns-2's files");
    let (trace, averages) = (directory.join("trace"), directory.join("averages"));
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/ns2/red.tcl");
    let variables = format!("{COMMON} {variables}");
    let run = Command::new("ns")
        .arg(script)
        .arg(&trace)
        .arg(&averages)
        .args([SECONDS, "7", &variables, traffic])
        .output();
    let output = run.expect("ns-2 can be run (scripts/install-packages)");
    assert!(output.status.success(), "ns-2: {}", String::from_utf8_lossy(&output.stderr));
    let rows = |file| -> Vec<Vec<String>> {
        let text = std::fs::read_to_string(file).expect("ns-2 has written its files");
        text.lines().map(|line| line.split(' ').map(str::to_string).collect()).collect()
    };
    let events = rows(&trace).into_iter().map(|fields| Traced {
        kind: fields[0].chars().next().expect("a kind of event"),
        at: instant(&fields[1]),
        len: fields[5].parse().expect("a length"),
        marked: fields[6].contains('E'),
    });
    let samples = rows(&averages).into_iter().map(|fields| Sample {
        at: instant(&fields[0]),
        average: fields[1].parse().expect("an average"),
        max_p: fields[2].parse().expect("a probability"),
    });
    let ns2 = Ns2 { events: events.collect(), samples: samples.collect() };
    std::fs::remove_dir_all(&directory).expect("the directory can be removed");
    ns2
}

/// Drops of ns-2 and ours.
#[derive(Clone, Copy, Default)]
struct Drops {
    ns2: u64,
    ours: u64,
}

#[derive(Default)]
struct Replayed {
    arrivals: u64,
    early: Drops,
    forced: Drops,
    marks: Drops,
    /// Largest and mean difference of the average queue, and the largest of max_p, relative to ns-2's.
    average_error: f64,
    mean_error: f64,
    max_p_error: f64,
}

/// Shows each arrival to our RED as ns-2's RED saw it: the queue is what ns-2's decisions have made of it.
fn replay(spec: &RedSpec, ns2: &Ns2) -> Replayed {
    let mut red = Red::new(spec, RATE, Random::stream(1, "red"));
    let settings = spec.settings(RATE);
    let (unit, end) = match (spec.measure, spec.gentle) {
        (Measure::Packets, true) => (1.0, 2.0 * settings.max_threshold),
        (Measure::Packets, false) => (1.0, settings.max_threshold),
        (Measure::Bytes, _) => (500.0, 2.0 * settings.max_threshold),
    };
    let mut waiting = Occupancy::default();
    let mut in_service = (0, Instant::ZERO);
    let mut samples = ns2.samples.iter().peekable();
    let mut result = Replayed::default();
    for event in &ns2.events {
        while let Some(sample) = samples.next_if(|sample| sample.at <= event.at) {
            if sample.average > 1e-3 && sample.at > START {
                let error = (red.average_packets() * unit / sample.average - 1.0).abs();
                result.average_error = result.average_error.max(error);
                result.mean_error += error / ns2.samples.len() as f64;
            }
            result.max_p_error = result.max_p_error.max((red.max_p() / sample.max_p - 1.0).abs());
        }
        let len = u64::from(event.len);
        match event.kind {
            '+' => {
                let (len_in_service, end_of_service) = in_service;
                let busy = if end_of_service > event.at { len_in_service } else { 0 };
                let system = Occupancy {
                    packets: waiting.packets + u64::from(busy > 0),
                    bytes: waiting.bytes + u64::from(busy),
                };
                let found = Found { system, in_service: busy, free_at: end_of_service };
                result.arrivals += 1;
                match red.admit(event.at, &found, event.len) {
                    Verdict::Drop(DropCause::Early) => result.early.ours += 1,
                    Verdict::Drop(_) => result.forced.ours += 1,
                    Verdict::Accept => {}
                    Verdict::Mark => result.marks.ours += 1,
                }
                waiting = Occupancy { packets: waiting.packets + 1, bytes: waiting.bytes + len };
            }
            'd' | '-' => {
                waiting = Occupancy { packets: waiting.packets - 1, bytes: waiting.bytes - len };
                if event.kind == '-' {
                    result.marks.ns2 += u64::from(event.marked);
                    in_service = (event.len, event.at + RATE.transmission_time(Size::from_bytes(len)));
                } else if red.average_packets() * unit >= end {
                    result.forced.ns2 += 1;
                } else {
                    result.early.ns2 += 1;
                }
            }
            _ => {}
        }
    }
    result
}

/// A packet of some length, perhaps ECN-capable.
struct Frame(u32, bool);
impl Packet for Frame {
    fn wire_len(&self) -> u32 {
        self.0
    }
    fn ecn(&self) -> Ecn {
        if self.1 { Ecn::Ect0 } else { Ecn::NotEct }
    }
    fn set_ecn(&mut self, _: Ecn) {}
    fn flow(&self) -> u64 {
        0
    }
}

/// A link with our RED under the same arrivals, deciding for itself: drops and marks, and mean of the average queue at ns-2's times.
fn simulate(spec: &RedSpec, ns2: &Ns2) -> (u64, f64) {
    let config = LinkConfig::plain(RATE, Duration::from_millis(10), QueueSpec::Red(*spec));
    let mut link: Link<Frame> = Link::new(&config, 1, "link");
    let mut samples = ns2.samples.iter().peekable();
    let mut sum = 0.0;
    for event in ns2.events.iter().filter(|event| event.kind == '+') {
        while samples.next_if(|sample| sample.at <= event.at).is_some() {
            sum += link.average_queue().expect("RED has one");
        }
        let mut frame = Frame(event.len, spec.ecn);
        if let Fate::Arrives(at) = link.offer(event.at, &mut frame) {
            link.carry(at, frame);
        }
        while link.poll(event.at).is_some() {}
    }
    let end = ns2.events.last().map_or(Instant::ZERO, |event| event.at);
    (link.stats(end).total_dropped() + link.stats(end).marked, sum / ns2.samples.len() as f64)
}

fn automatic() -> RedSpec {
    RedSpec { ecn: false, ..RedSpec::automatic(Limit::Packets(1000)) }
}

fn compare(name: &str, variables: &str, spec: RedSpec) {
    compare_under("udp", name, variables, spec);
}

fn compare_under(traffic: &str, name: &str, variables: &str, spec: RedSpec) {
    let ns2 = ns2(name, variables, traffic);
    let replayed = replay(&spec, &ns2);
    let (dropped, average) = simulate(&spec, &ns2);
    let unit = if spec.measure == Measure::Bytes { 500.0 } else { 1.0 };
    let ns2_average =
        ns2.samples.iter().map(|sample| sample.average).sum::<f64>() / ns2.samples.len() as f64 / unit;
    let ns2_dropped = replayed.early.ns2 + replayed.forced.ns2 + replayed.marks.ns2;
    println!(
        "{name}: {} arrivals; on ns-2's queue: average within {:.1e} (mean {:.1e}), max_p within {:.1e}, early drops {} / {}, forced {} / \
         {}, marks {} / {}; on its own: drops and marks {ns2_dropped} / {dropped}, mean of the average queue {ns2_average:.2} / {average:.2}",
        replayed.arrivals,
        replayed.average_error,
        replayed.mean_error,
        replayed.max_p_error,
        replayed.early.ns2,
        replayed.early.ours,
        replayed.forced.ns2,
        replayed.forced.ours,
        replayed.marks.ns2,
        replayed.marks.ours,
    );
    assert!(replayed.arrivals > 200_000);
    // The trace has times to the microsecond, so that now and then an idle time is a packet longer or shorter: one or two
    // weights (0.002, 0.004), soon forgotten. The averages come with six digits.
    assert!(replayed.average_error < 1e-2, "average queue differs by {}", replayed.average_error);
    assert!(replayed.mean_error < 1e-4, "average queue differs by {} in the mean", replayed.mean_error);
    assert!(replayed.max_p_error < 1e-5, "max_p differs by {}", replayed.max_p_error);
    assert_eq!(replayed.forced.ns2, replayed.forced.ours);
    // Gaps are more regular than Poisson's, so that four times the root of the count is generous.
    let close = |a: u64, b: u64| (a as f64 - b as f64).abs() <= 4.0 * (a as f64).sqrt();
    assert!(close(replayed.early.ns2, replayed.early.ours));
    assert!(close(replayed.marks.ns2, replayed.marks.ours));
    assert_eq!(replayed.marks.ns2 > 0, spec.ecn);
    assert!(close(ns2_dropped, dropped), "drops and marks {ns2_dropped} and {dropped}");
    assert!((average / ns2_average - 1.0).abs() < 0.02, "average queue {ns2_average} and {average}");
}

#[test]
#[ignore = "runs ns-2: `make test-all`"]
fn adaptive_and_automatic() {
    compare("adaptive", "adaptive_ 1 gentle_ true", RedSpec { form: RedForm::Ns2, ..automatic() });
}

#[test]
#[ignore = "runs ns-2: `make test-all`"]
fn gentle() {
    let spec = RedSpec { adaptive: false, ..automatic() };
    compare("gentle", "adaptive_ 0 gentle_ true", spec);
}

#[test]
#[ignore = "runs ns-2: `make test-all`"]
fn classic_without_wait() {
    let spec = RedSpec {
        adaptive: false,
        gentle: false,
        wait: false,
        queue_weight: Some(0.002),
        min_threshold: Some(Limit::Packets(10)),
        max_threshold: Some(Limit::Packets(40)),
        max_p: Probability::new(0.02).expect("a probability"),
        ..automatic()
    };
    compare(
        "classic",
        "adaptive_ 0 gentle_ false wait_ false q_weight_ 0.002 thresh_ 10 maxthresh_ 40 linterm_ 50",
        spec,
    );
}

#[test]
#[ignore = "runs ns-2: `make test-all`"]
fn byte_mode() {
    let spec = RedSpec {
        adaptive: false,
        measure: Measure::Bytes,
        size_dependent: true,
        limit: Limit::Bytes(Size::from_bytes(500_000)).into(),
        ..automatic()
    };
    compare("bytes", "adaptive_ 0 gentle_ true queue_in_bytes_ true bytes_ true", spec);
}

#[test]
#[ignore = "runs ns-2: `make test-all`"]
fn marks() {
    let spec = RedSpec {
        ecn: true,
        mark_limit: Probability::new(1.0).expect("a probability"),
        form: RedForm::Ns2,
        ..automatic()
    };
    compare_under("tcp", "marks", "adaptive_ 1 gentle_ true setbit_ true", spec);
}
