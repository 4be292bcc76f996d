//! Packets written to a pcapng file while they pass, at points of the path: each end of each direction of a link, before its queue
//! and at its far end, and each middlebox, where packets come to it and where they leave. Writing must not make packets late, so it
//! is done by a thread of its own; what that does not take in time, or what the disk does not, is counted and left out.

use crate::Error;
use crate::clock::Clock;
use crate::driver::Watcher;
use crate::frame::Frame;
use crate::world::Observer;
use longhaul_scenario::{Network, Scenario};
use longhaul_segment::pcapng::{LinkType, WALL_CLOCK_TIMES, Writer};
use longhaul_units::{Duration, Instant, LinkId, MiddleboxId};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

/// Packets that wait to be written, at most.
const WAITING: usize = 16_384;

/// EtherTypes.
const IPV4: [u8; 2] = [0x08, 0x00];
const IPV6: [u8; 2] = [0x86, 0xdd];

struct Packet {
    tap: usize,
    at: Instant,
    bytes: Vec<u8>,
}

/// Selects all points.
pub const EVERYWHERE: &str = "all";

/// Where packets can be captured.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Point {
    /// Where packets are offered to the queue of a link.
    LinkIn(LinkId),
    /// At the far end of a link.
    LinkOut(LinkId),
    /// Where packets come to a middlebox.
    MiddleboxIn(MiddleboxId),
    /// Where packets leave a middlebox, its own among them.
    MiddleboxOut(MiddleboxId),
}

/// All points with their names: `LINK.forward.in`, `LINK.forward.out`, the same for `reverse`, `MIDDLEBOX.in`, `MIDDLEBOX.out`.
fn points(network: &Network) -> Vec<(String, Point)> {
    let links = network.links.enumerated().flat_map(|(id, link)| {
        let name = &link.name;
        [(format!("{name}.in"), Point::LinkIn(id)), (format!("{name}.out"), Point::LinkOut(id))]
    });
    let middleboxes = network.middleboxes.iter().flat_map(|middlebox| {
        let name = &middlebox.name;
        [
            (format!("{name}.in"), Point::MiddleboxIn(middlebox.id)),
            (format!("{name}.out"), Point::MiddleboxOut(middlebox.id)),
        ]
    });
    links.chain(middleboxes).collect()
}

/// A point's name, or what it begins with up to a full stop: a link, one of its directions, a middlebox.
fn selects(selection: &str, name: &str) -> bool {
    name.strip_prefix(selection).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// A capture under way.
pub struct Capture {
    /// The point of each interface in the file.
    points: Vec<Point>,
    /// What packets begin with.
    link: LinkType,
    /// The time of day at time zero.
    zero: Duration,
    writer: Option<SyncSender<Packet>>,
    thread: Option<JoinHandle<Result<u64, String>>>,
    missed: u64,
}

/// What became of a capture.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Captured {
    /// Packets in the file.
    pub written: u64,
    /// Packets that are not, since writing was too slow.
    pub missed: u64,
    /// Why writing has stopped.
    pub error: Option<String>,
}

impl Captured {
    /// A notice for the user: what is missing.
    pub fn warnings(&self) -> Vec<String> {
        let Captured { missed, error, .. } = self;
        let stopped = error.iter().map(|why| format!("the capture is not complete: {why}"));
        let missed = (*missed > 0)
            .then(|| format!("{missed} packets are missing in the capture: writing it was too slow"));
        stopped.chain(missed).collect()
    }
}

impl Capture {
    /// Begins to write packets from their `link` type's header on at the points that are selected by `taps`, and where packets enter the links that the scenario captures; `None`
    /// if there are neither.
    ///
    /// # Errors
    /// A selection that selects nothing; a file that cannot be made.
    pub fn new(
        scenario: &Scenario,
        network: &Network,
        taps: &[String],
        link: LinkType,
        path: &Path,
    ) -> Result<Option<Capture>, Error> {
        let mut chosen = vec![];
        for (id, link) in network.links.enumerated() {
            if link.declared && scenario.run.capture.iter().any(|wanted| selects(wanted, &link.name)) {
                chosen.push((link.name.clone(), Point::LinkIn(id)));
            }
        }
        let all = points(network);
        for tap in taps {
            let before = chosen.len();
            let selected = |point: &&(String, Point)| tap == EVERYWHERE || selects(tap, &point.0);
            for (name, point) in all.iter().filter(selected) {
                if !chosen.iter().any(|(_, known)| known == point) {
                    chosen.push((name.clone(), *point));
                }
            }
            if chosen.len() == before && !all.iter().any(|(name, _)| selects(tap, name)) {
                let names: Vec<&str> = all.iter().map(|(name, _)| &name[..]).collect();
                return Err(Error::Unsupported(format!(
                    "there is no point \"{tap}\" to capture at; there are {EVERYWHERE}, {}",
                    names.join(", ")
                )));
            }
        }
        if chosen.is_empty() {
            return Ok(None);
        }
        let (names, points): (Vec<String>, Vec<Point>) = chosen.into_iter().unzip();
        let file = File::create(path)
            .map_err(|why| Error::system(format!("write the capture {}", path.display()), why))?;
        let (writer, packets) = sync_channel(WAITING);
        let thread = std::thread::spawn(move || write(file, &names, link, &packets));
        let zero = Duration::ZERO;
        Ok(Some(Capture { points, link, zero, writer: Some(writer), thread: Some(thread), missed: 0 }))
    }

    fn packet(&mut self, now: Instant, point: Point, frame: &Frame) {
        let Some(tap) = self.points.iter().position(|known| *known == point) else { return };
        let bytes = match self.link {
            LinkType::Ip => frame.packet().to_vec(),
            // Packets between the two nodes of a proxy have no header below IP's.
            LinkType::Ethernet if frame.own.is_some() => {
                let kind =
                    if frame.packet().first().is_some_and(|first| first >> 4 == 6) { IPV6 } else { IPV4 };
                [&[0; 12][..], &kind, frame.packet()].concat()
            }
            LinkType::Ethernet => frame.bytes.clone(),
        };
        let packet = Packet { tap, at: now + self.zero, bytes };
        let taken = self.writer.as_ref().is_some_and(|writer| writer.try_send(packet).is_ok());
        self.missed += u64::from(!taken);
    }

    /// Writes what is left.
    pub fn finish(mut self) -> Captured {
        drop(self.writer.take());
        let result = self.thread.take().map(JoinHandle::join);
        let missed = self.missed;
        match result {
            Some(Ok(Ok(written))) => Captured { written, missed, error: None },
            Some(Ok(Err(why))) => Captured { written: 0, missed, error: Some(why) },
            _ => Captured { written: 0, missed, error: Some("the thread that writes has ended".to_string()) },
        }
    }
}

fn write(file: File, names: &[String], link: LinkType, packets: &Receiver<Packet>) -> Result<u64, String> {
    let said = |why: std::io::Error| why.to_string();
    let file = BufWriter::with_capacity(1 << 20, file);
    let mut writer = Writer::new(file, names, link, WALL_CLOCK_TIMES).map_err(said)?;
    let mut written = 0;
    for Packet { tap, at, bytes } in packets {
        writer.packet(tap, at, &bytes, bytes.len() as u32).map_err(said)?;
        written += 1;
    }
    writer.finish().and_then(|mut file| file.flush()).map_err(said)?;
    Ok(written)
}

impl Observer for Capture {
    fn offered(&mut self, now: Instant, link: LinkId, frame: &Frame) {
        self.packet(now, Point::LinkIn(link), frame);
    }
    fn delivered(&mut self, now: Instant, link: LinkId, frame: &Frame) {
        self.packet(now, Point::LinkOut(link), frame);
    }
    fn entered(&mut self, now: Instant, middlebox: MiddleboxId, frame: &Frame) {
        self.packet(now, Point::MiddleboxIn(middlebox), frame);
    }
    fn left(&mut self, now: Instant, middlebox: MiddleboxId, frame: &Frame) {
        self.packet(now, Point::MiddleboxOut(middlebox), frame);
    }
}

/// A capture, if there is one.
pub type Taps = Option<Capture>;

impl Watcher for Taps {
    fn begin(&mut self, clock: Clock) {
        if let Some(capture) = self {
            capture.zero = clock.time_of_day();
        }
    }
}

/// A capture of packets from their `link` type's header on into a file, if one is requested: at the points that are named, or at all.
///
/// # Errors
/// Those of [`Capture::new`].
pub fn taps(
    scenario: &Scenario,
    network: &Network,
    wanted: Option<&(PathBuf, Vec<String>)>,
    link: LinkType,
) -> Result<Taps, Error> {
    let Some((file, taps)) = wanted else { return Ok(None) };
    let everywhere = [EVERYWHERE.to_string()];
    Capture::new(scenario, network, if taps.is_empty() { &everywhere } else { taps }, link, file)
}

/// Writes what is left. Returns notices for the user.
pub fn finish(taps: Taps) -> Vec<String> {
    taps.map(|capture| capture.finish().warnings()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use longhaul_units::FlowId;

    #[test]
    fn points_are_selected_by_what_their_names_begin_with() {
        assert!(selects("sat", "sat.forward.in") && selects("sat.forward", "sat.forward.in"));
        assert!(selects("pep.out", "pep.out") && !selects("sat", "satellite.forward.in"));
    }

    /// /dev/full takes nothing, as a disk that is full.
    #[test]
    fn a_full_disk_ends_the_capture_and_nothing_else() {
        let text = "[run]\nduration = \"1 s\"\ncapture = [\"l\"]\n[[link]]\nname = \"l\"\nends = [\"a\", \"b\"]\n\
                    rate = \"1 Mbit/s\"\ndelay = \"1 ms\"\n[[flow]]\nfrom = \"a\"\nto = \"b\"\n";
        let scenario = longhaul_scenario::load(text, "test", &[]).unwrap();
        let network = Network::new(&scenario);
        let mut capture =
            Capture::new(&scenario, &network, &[], LinkType::Ip, Path::new("/dev/full")).unwrap().unwrap();
        let frame = Frame {
            bytes: vec![0x45; 1500],
            network: 0,
            way: 0,
            flow: FlowId(0),
            is_data: false,
            hash: 0,
            weight: 1,
            own: None,
            damaged: false,
            twice: false,
            dropped_there: None,
        };
        for at in 0..3000 {
            capture.offered(Instant::from_nanos(at), LinkId(0), &frame);
        }
        let captured = capture.finish();
        assert!(captured.error.unwrap().contains("No space left"));
        assert_eq!(captured.written, 0);
    }
}
