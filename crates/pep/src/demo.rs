//! `longhaul-pep demo`: a download and a page over an emulated satellite link, without and with the accelerator.

use crate::Error;
use crate::config::Carrier;
use crate::rig::{Link, Rig};
use crate::timer::std_time;
use longhaul_units::{Duration, Size};
use serde::Serialize;
use std::io::Read;
use std::path::PathBuf;
use std::process::Child;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// Until a program at the server listens.
const SETTLING: std::time::Duration = std::time::Duration::from_secs(1);

/// Objects of a page, and bytes of each.
const PAGE: (usize, u64) = (24, 40_000);

/// What to measure.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The link, without its loss.
    pub link: Link,
    /// Parts of packets lost, one measurement for each.
    pub losses: Vec<f64>,
    /// Sizes of downloads.
    pub sizes: Vec<Size>,
    /// How often each is repeated.
    pub repeat: usize,
    /// The longest that a transfer is waited for.
    pub patience: Duration,
    /// A page is loaded too.
    pub page: bool,
    /// Also without the accelerator.
    pub control: bool,
    /// What carries the tunnel.
    pub carrier: Carrier,
    /// Programs of the user's own in the place of downloads and page.
    pub own: Option<Own>,
}

/// Programs of the user's own, as shell commands.
#[derive(Clone, Debug)]
pub struct Own {
    /// At the server, for the whole time.
    pub serve: Option<String>,
    /// At the client. If its output ends with a number, that is its time in seconds, else the time that it ran.
    pub run: String,
}

/// One transfer.
#[derive(Clone, Debug, Serialize)]
pub struct Sample {
    /// Part of packets lost.
    pub loss: f64,
    /// What was transferred.
    pub what: String,
    /// Bytes of it.
    pub bytes: u64,
    /// With the accelerator.
    pub accelerated: bool,
    /// Time of each repeat in seconds; `None` for one that did not end in time.
    pub seconds: Vec<Option<f64>>,
    /// Bytes that came where it did not.
    pub came: u64,
    /// One round trip, and the bytes with 5 % of headers at the link's rate: no transfer is faster.
    pub ideal: f64,
}

impl Sample {
    /// The median of the repeats that ended, if all did.
    pub fn median(&self) -> Option<f64> {
        let mut times = self.seconds.iter().copied().collect::<Option<Vec<f64>>>()?;
        times.sort_by(f64::total_cmp);
        times.get(times.len() / 2).copied()
    }
}

/// Measures everything. `told` is called with a line for each step.
///
/// # Errors
/// What the system refuses; `stop` is set.
pub fn measure(
    plan: &Plan,
    program: PathBuf,
    stop: &Arc<AtomicBool>,
    told: &dyn Fn(&str),
) -> Result<(Vec<Sample>, Vec<String>), Error> {
    let rig = Rig::new(program)?;
    let (mut samples, mut doubts) = (vec![], vec![]);
    for loss in &plan.losses {
        let link = Link { loss: *loss, ..plan.link };
        let over = AtomicBool::new(false);
        let result = std::thread::scope(|scope| {
            let carried = scope.spawn(|| rig.carry(&link, &over));
            let served = scope.spawn(|| rig.serve(&over));
            std::thread::sleep(std::time::Duration::from_millis(500));
            let result = both(&rig, plan, &link, stop, told);
            over.store(true, Ordering::Relaxed);
            let doubts = carried.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            served.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
            Ok::<_, Error>((result?, doubts?))
        });
        let (found, doubt) = result?;
        samples.extend(found);
        doubts.extend(doubt.into_iter().map(|why| format!("at {} % loss: {why}", loss * 100.0)));
    }
    Ok((samples, doubts))
}

fn both(
    rig: &Rig,
    plan: &Plan,
    link: &Link,
    stop: &AtomicBool,
    told: &dyn Fn(&str),
) -> Result<Vec<Sample>, Error> {
    let mut samples = vec![];
    for accelerated in [false, true] {
        if !accelerated && !plan.control {
            continue;
        }
        let how = if accelerated { "with the accelerator" } else { "without" };
        told(&format!("{} % loss, {how}", link.loss * 100.0));
        let nodes = if accelerated { Some(rig.accelerate(link, plan.carrier, stop)?) } else { None };
        if let Some(own) = &plan.own {
            samples.push(programs(rig, plan, own, link, accelerated, stop)?);
            continue;
        }
        let mut what: Vec<(String, usize, u64)> =
            plan.sizes.iter().map(|size| (size.to_string(), 0, size.as_bytes())).collect();
        if plan.page {
            what.insert(0, ("page".to_string(), PAGE.0, PAGE.1));
        }
        for (name, objects, size) in what {
            let bytes = size * (objects as u64 + 1).max(1);
            // Of a page each round of six objects takes a round trip, after the first.
            let ideal = link.rtt.as_secs_f64() * (1 + objects.div_ceil(crate::rig::AT_ONCE)) as f64
                + 1.05 * 8.0 * bytes as f64 / link.down.as_bps() as f64;
            let mut sample =
                Sample { loss: link.loss, what: name, bytes, accelerated, seconds: vec![], came: 0, ideal };
            for _ in 0..plan.repeat {
                let patience = std_time(plan.patience);
                let took = match objects {
                    0 => rig.download(size, patience, stop)?,
                    _ => rig.page(objects, size, patience, stop)?,
                };
                if stop.load(Ordering::Relaxed) {
                    return Err(Error::system("finish", "interrupted"));
                }
                sample.came = took.err().unwrap_or(sample.came);
                sample.seconds.push(took.ok());
            }
            samples.push(sample);
        }
        drop(nodes);
    }
    Ok(samples)
}

/// Runs the user's own programs.
fn programs(
    rig: &Rig,
    plan: &Plan,
    own: &Own,
    link: &Link,
    accelerated: bool,
    stop: &AtomicBool,
) -> Result<Sample, Error> {
    let _server =
        own.serve.as_ref().map(|command| rig.start(true, command, accelerated).map(Group)).transpose()?;
    std::thread::sleep(SETTLING);
    let mut sample = Sample {
        loss: link.loss,
        what: "own".to_string(),
        bytes: 0,
        accelerated,
        seconds: vec![],
        came: 0,
        ideal: 0.0,
    };
    for _ in 0..plan.repeat {
        let (begin, mut client) = (Instant::now(), Group(rig.start(false, &own.run, accelerated)?));
        let patience = std_time(plan.patience);
        let ended = loop {
            if stop.load(Ordering::Relaxed) {
                return Err(Error::system("finish", "interrupted"));
            }
            match client.0.try_wait().map_err(|why| Error::system("wait for a program", why))? {
                Some(status) => break Some(status),
                None if begin.elapsed() > patience => break None,
                None => std::thread::sleep(std::time::Duration::from_millis(5)),
            }
        };
        let took = begin.elapsed().as_secs_f64();
        let mut output = String::new();
        if let (Some(status), Some(mut pipe)) = (ended, client.0.stdout.take()) {
            let _ = pipe.read_to_string(&mut output);
            if !status.success() {
                return Err(Error::Command { command: own.run.clone(), why: format!("{status}\n{output}") });
            }
        }
        let stated = output.split_whitespace().last().and_then(|word| word.parse().ok());
        sample.seconds.push(ended.map(|_| stated.unwrap_or(took)));
    }
    Ok(sample)
}

/// A shell and what it started. Dropped, all are ended.
struct Group(Child);

impl Drop for Group {
    fn drop(&mut self) {
        let group = nix::unistd::Pid::from_raw(self.0.id() as i32);
        let _ = nix::sys::signal::killpg(group, nix::sys::signal::Signal::SIGTERM);
        let _ = self.0.wait();
    }
}

/// The results as a table.
pub fn table(plan: &Plan, samples: &[Sample]) -> String {
    let link = &plan.link;
    let mut text = format!(
        "{} down, {} up, round trip {}; seconds from connect to the last byte{}\n\n{:>6}  {:<8} {:>7} {:>18} {:>10}\n",
        link.down,
        link.up,
        link.rtt,
        if plan.repeat > 1 { format!(", median of {}", plan.repeat) } else { String::new() },
        "loss",
        "",
        "ideal",
        "without",
        "with"
    );
    let shown = |sample: Option<&Sample>| match sample {
        None => "-".to_string(),
        Some(sample) => sample.median().map_or_else(
            || {
                format!(
                    "{:.1} of {:.1} MB in {}",
                    sample.came as f64 / 1e6,
                    sample.bytes as f64 / 1e6,
                    plan.patience
                )
            },
            |seconds| format!("{seconds:.2}"),
        ),
    };
    for sample in samples.iter().filter(|sample| sample.accelerated) {
        let same =
            |other: &&Sample| !other.accelerated && other.what == sample.what && other.loss == sample.loss;
        let without = shown(samples.iter().find(same));
        text += &format!(
            "{:>4} %  {:<8} {:>7} {without:>18} {:>10}\n",
            sample.loss * 100.0,
            sample.what,
            if sample.ideal > 0.0 { format!("{:.2}", sample.ideal) } else { "-".to_string() },
            shown(Some(sample))
        );
    }
    text
}
