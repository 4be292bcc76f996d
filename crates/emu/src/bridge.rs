//! `longhaul-emu bridge`: a scenario's path between two interfaces of this machine, for whatever equipment is behind them.
//! Frames are taken in at one and leave at the other; nothing is made, and no address is looked at.

use crate::capture::{self, Taps};
use crate::clock::Clock;
use crate::driver::{self, Driven, Live, Port};
use crate::run::{Moved, Status};
use crate::testbed::hosts_of;
use crate::world::World;
use crate::{Error, sys};
use longhaul_scenario::{Network, Scenario};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

/// Bytes of Ethernet's header.
const ETHERNET: u16 = 14;

/// How to bridge.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// How packets are moved.
    pub driver: driver::Options,
    /// File and points of a capture.
    pub capture: Option<(PathBuf, Vec<String>)>,
    /// Called about once a second.
    pub progress: Option<fn(&Status)>,
}

/// Bridges two interfaces until `stop` is set. The first stands for the node where the first flow begins, the second for the
/// one where it ends.
///
/// # Errors
/// An interface that does not exist, and what the system refuses.
pub fn run(
    scenario: &Scenario,
    interfaces: [&str; 2],
    options: &Options,
    stop: &AtomicBool,
) -> Result<Moved, Error> {
    let network = Network::new(scenario);
    let [from, to] = match hosts_of(&network)[..] {
        [from, to, ..] => [from, to],
        _ => return Err(Error::Unsupported("a bridge needs two nodes: the ends of a flow".to_string())),
    };
    let open = |name: &str| {
        sys::packet_socket(name).map_err(|why| Error::system(format!("open the interface {name}"), why))
    };
    let mut ports = vec![];
    for name in interfaces {
        ports.push(Port::new(open(name)?, ETHERNET));
    }
    let mut world = World::new(scenario, &network, &[(from, vec![]), (to, vec![])])?;
    world.bridge();
    let taps = capture::taps(scenario, &network, options.capture.as_ref())?;
    let (clock, live) = (Clock::start(), Live::default());
    let driven: Driven<Taps> = std::thread::scope(|scope| {
        let driver =
            scope.spawn(|| driver::drive(clock, world, taps, &mut ports, options.driver, &live, stop));
        live.watch(clock, options.progress, || stop.load(Ordering::Relaxed) || driver.is_finished());
        driver.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    });
    let lost: u64 = ports.iter().map(|port| sys::packets_lost(&port.file)).sum();
    Ok(Moved {
        lateness: driven.lateness.figures(),
        counters: driven.world.counters,
        device_drops: lost + driven.refused,
        warnings: driven.warnings.into_iter().chain(capture::finish(driven.watcher)).collect(),
    })
}
