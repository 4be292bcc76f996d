//! `longhaul-emu bridge`: a scenario's path between two interfaces of this machine, for whatever equipment is behind them.
//! Frames are taken in at one and leave at the other; nothing is made, and no address is looked at.

use crate::Error;
use crate::addresses::Ranges;
use crate::capture::{self, Taps};
use crate::control::{Control, show};
use crate::device::{Device, Interface};
use crate::driver::{self, Driven, Live, Port, Status};
use crate::lateness::Bounds;
use crate::moved::Moved;
use crate::plan::Plan;
use crate::start::Start;
use crate::testbed::hosts_of;
use crate::world::World;
use longhaul_scenario::{Network, Scenario};
use longhaul_segment::pcapng::LinkType;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

/// How to bridge.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// How packets are moved.
    pub driver: driver::Options,
    /// File and points of a capture.
    pub capture: Option<(PathBuf, Vec<String>)>,
    /// Called about once a second.
    pub progress: Option<fn(&Status)>,
    /// Called with notices for the user.
    pub notice: Option<fn(&str)>,
    /// With `progress`: shows links.
    pub links: bool,
    /// The emulator's name for requests while it runs; without, its process id.
    pub name: Option<String>,
    /// Where the scenario as it was is written if something was set; without, beside the socket.
    pub as_it_was: Option<PathBuf>,
    /// What is still to be believed.
    pub bounds: Bounds,
}

/// What a bridge leaves.
pub struct Bridged {
    /// What became of frames.
    pub moved: Moved,
    /// The interface that has vanished, which has ended it.
    pub cut: Option<String>,
}

/// Bridges two interfaces until `stop` is set, or one of them has vanished. The first stands for the node where the first flow begins,
/// the second for the one where it ends.
///
/// # Errors
/// An interface that does not exist, is down, or is both; and what the system refuses.
pub fn run(
    scenario: &Scenario,
    interfaces: [&str; 2],
    options: &Options,
    stop: &AtomicBool,
) -> Result<Bridged, Error> {
    let network = Network::new(scenario);
    let [from, to] = match hosts_of(&network)[..] {
        [from, to, ..] => [from, to],
        _ => return Err(Error::Unsupported("a bridge needs two nodes: the ends of a flow".to_string())),
    };
    let [first, second] = interfaces.map(Interface::open);
    let (first, second) = (first?, second?);
    if first.number() == second.number() {
        return Err(Error::Unsupported(format!(
            "{} and {} are one interface; a bridge needs two",
            interfaces[0], interfaces[1]
        )));
    }
    let mut ports = [first, second].map(|interface| Port::new(Device::Interface(interface)));
    let mut world =
        World::new(Plan::new(scenario, &network, &[(from, vec![]), (to, vec![])], &Ranges::default())?);
    world.bridge();
    let taps = capture::taps(scenario, &network, options.capture.as_ref(), LinkType::Ethernet)?;
    let control = Control::open(options.name.as_deref(), scenario, &network)?;
    let (start, live) = (Start::of(2), Live::default());
    let driven: Option<Driven<Taps>> = std::thread::scope(|scope| {
        let driver =
            scope.spawn(|| driver::drive(&start, world, taps, &mut ports, options.driver, &live, stop));
        if let Some(clock) = start.ready() {
            let over = || stop.load(Ordering::Relaxed) || driver.is_finished();
            let links = || if options.links { show::links(&network, &live.readings()) } else { vec![] };
            std::thread::scope(|scope| {
                scope.spawn(|| control.serve(clock, &live, over));
                live.watch(clock, options.progress, links, options.notice, over);
            });
        }
        driver.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    });
    let mut driven = driven.ok_or(Error::Interrupted)?;
    let cut = driven.cut.take();
    let lost = ports.iter().map(|port| port.device.lost()).sum();
    let as_it_was = control.keep(driven.ended, options.as_it_was.as_deref())?;
    let mut moved = Moved::new(driven, control.warning().into_iter().collect(), vec![], lost, options.bounds);
    moved.notes.extend(as_it_was);
    for port in &ports {
        if let Device::Interface(interface) = &port.device {
            moved.completed_checksums += interface.completed;
        }
    }
    Ok(Bridged { moved, cut })
}
