//! Packets written to a pcapng file while they pass: one interface for each direction of a link, packets as they are offered to
//! its queue. Writing must not make packets late, so it is done by a thread of its own; what that does not take in time, or
//! what the disk does not, is counted and left out.

use crate::Error;
use crate::frame::Frame;
use longhaul_results::pcapng;
use longhaul_scenario::{Network, Scenario};
use longhaul_units::Instant;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

/// Packets that wait to be written, at most.
const WAITING: usize = 16_384;

struct Packet {
    tap: usize,
    at: Instant,
    bytes: Vec<u8>,
}

/// A capture under way.
pub struct Capture {
    /// For each link the number of its interface in the file.
    taps: Vec<Option<usize>>,
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

impl Capture {
    /// Begins to write the links of which the scenario wants a capture; `None` if it wants none.
    ///
    /// # Errors
    /// If the file cannot be made.
    pub fn new(scenario: &Scenario, network: &Network, path: &Path) -> Result<Option<Capture>, Error> {
        let wanted =
            |name: &str| scenario.run.capture.iter().any(|link| name.starts_with(&format!("{link}.")));
        let mut names = vec![];
        let taps = network.links.iter().map(|link| {
            (link.declared && wanted(&link.name)).then(|| {
                names.push(link.name.clone());
                names.len() - 1
            })
        });
        let taps: Vec<Option<usize>> = taps.collect();
        if names.is_empty() {
            return Ok(None);
        }
        let file = File::create(path)
            .map_err(|why| Error::system(format!("write the capture {}", path.display()), why))?;
        let (writer, packets) = sync_channel(WAITING);
        let thread = std::thread::spawn(move || write(file, &names, &packets));
        Ok(Some(Capture { taps, writer: Some(writer), thread: Some(thread), missed: 0 }))
    }

    /// A packet is offered to a link.
    pub fn packet(&mut self, now: Instant, link: usize, frame: &Frame) {
        let Some(tap) = self.taps[link] else { return };
        let packet = Packet { tap, at: now, bytes: frame.packet().to_vec() };
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

fn write(file: File, names: &[String], packets: &Receiver<Packet>) -> Result<u64, String> {
    let said = |why: std::io::Error| why.to_string();
    let mut writer = pcapng::Writer::new(BufWriter::with_capacity(1 << 20, file), names).map_err(said)?;
    let mut written = 0;
    for Packet { tap, at, bytes } in packets {
        writer.packet(tap, at, &bytes, bytes.len() as u32).map_err(said)?;
        written += 1;
    }
    writer.finish().and_then(|mut file| file.flush()).map_err(said)?;
    Ok(written)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// /dev/full takes nothing, as a disk that is full.
    #[test]
    fn a_full_disk_ends_the_capture_and_nothing_else() {
        let text = "[run]\nduration = \"1 s\"\ncapture = [\"l\"]\n[[link]]\nname = \"l\"\nends = [\"a\", \"b\"]\n\
                    rate = \"1 Mbit/s\"\ndelay = \"1 ms\"\n[[flow]]\nfrom = \"a\"\nto = \"b\"\n";
        let scenario = longhaul_scenario::load(text, "test", &[]).unwrap();
        let network = Network::new(&scenario);
        let mut capture = Capture::new(&scenario, &network, Path::new("/dev/full")).unwrap().unwrap();
        let frame = Frame {
            bytes: vec![0x45; 1500],
            network: 0,
            step: 0,
            way: 0,
            flow: 0,
            is_data: false,
            hash: 0,
            weight: 1,
        };
        for at in 0..3000 {
            capture.packet(Instant::from_nanos(at), 0, &frame);
        }
        let captured = capture.finish();
        assert!(captured.error.unwrap().contains("No space left"));
        assert_eq!(captured.written, 0);
    }
}
