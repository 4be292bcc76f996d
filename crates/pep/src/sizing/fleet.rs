//! Terminals of one hub that carry nothing: the hop's own nodes in this process, for as many daemons would fill the machine.

use super::nodes::{Daemon, new_key};
use super::place::Place;
use crate::config::Key;
use crate::{Error, keys};
use longhaul_hop::tls::Identity;
use longhaul_hop::{Config, Event, Node, Role, Session};
use longhaul_units::{Duration, Instant};
use std::fmt::Write as _;
use std::net::{SocketAddr, UdpSocket};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};

/// Where the hub is.
const HUB: ([u8; 4], u16) = ([10, 83, 0, 2], 7714);
/// How often terminals look at their sockets.
const LOOK: std::time::Duration = std::time::Duration::from_millis(5);
/// As the accelerator has it.
const KEEP_ALIVE: Duration = Duration::from_secs(2);

/// What idle terminals cost their hub.
#[derive(Clone, Copy, PartialEq, Debug, serde::Serialize)]
pub struct Terminals {
    /// How many.
    pub count: usize,
    /// Bytes of the hub's memory for each.
    pub bytes_each: f64,
    /// Processors that the hub uses for all of them.
    pub cores: f64,
    /// Seconds until the last of them was up.
    pub up_after: f64,
}

/// Measures a hub with so many terminals.
///
/// # Errors
/// What the system refuses; terminals that do not come up.
pub(super) fn measure(
    program: &Path,
    folder: &Path,
    count: usize,
    time: std::time::Duration,
    stop: &AtomicBool,
) -> Result<Terminals, Error> {
    let (hub, ship) = (Place::new()?, Place::new()?);
    ship.connect(("sat", "10.83.0.1/24"), &hub, ("sat", "10.83.0.2/24"))?;
    let address = SocketAddr::from(HUB);
    let key = new_key(folder, "hub")?;
    let mut text = format!(
        "mode = \"hub\"\n[hop]\nlisten = \"{address}\"\nkey = \"{}/hub.key\"\nterminals = {count}\n",
        folder.display()
    );
    let mut identities = vec![];
    for number in 0..count {
        let failed = |why: String| Error::system("make a key", why);
        let secret = Identity::generate_pkcs8().map_err(|why| failed(why.to_string()))?;
        let identity = Identity::from_pkcs8(&secret).map_err(|why| failed(why.to_string()))?;
        let _ =
            writeln!(text, "[[terminal]]\nname = \"t{number}\"\nkey = \"{}\"", Key(identity.public_key().0));
        identities.push(identity);
    }
    let daemon = Daemon::start(&hub, program, folder, "hub", &text)?;
    daemon.wait_for(stop, |_| true)?;
    std::thread::sleep(std::time::Duration::from_millis(500));
    let (empty, begin) = (daemon.memory(), std::time::Instant::now());
    let (ready, up) = channel();
    let _alive = ship.run(move || start(identities, key, address, ready))?;
    let patience = std::time::Duration::from_secs(30);
    if up.recv_timeout(patience).is_err() || stop.load(Ordering::Relaxed) {
        return Err(Error::system("bring the terminals up", format!("not within {patience:?}")));
    }
    let up_after = begin.elapsed().as_secs_f64();
    // What handshakes have held is given up, and the kernel has counted what is used.
    std::thread::sleep(std::time::Duration::from_secs(2));
    let used = daemon.seconds();
    std::thread::sleep(time);
    let cores = (daemon.seconds() - used) / time.as_secs_f64();
    let bytes_each = (daemon.memory() - empty).max(0.0) / count as f64;
    Ok(Terminals { count, bytes_each, cores, up_after })
}

/// Starts terminals in a thread of their own; they end when what is returned is dropped. `ready` gets a message when all are up.
fn start(
    identities: Vec<Identity>,
    hub: Key,
    at: SocketAddr,
    ready: Sender<()>,
) -> Result<Sender<()>, Error> {
    let (alive, dropped) = channel::<()>();
    let begin = std::time::Instant::now();
    let now = move || Instant::from_nanos(begin.elapsed().as_nanos() as u64);
    let mut terminals = vec![];
    for identity in identities {
        let failed = |why: std::io::Error| Error::system("open a terminal's socket", why);
        let socket = UdpSocket::bind(SocketAddr::from(([0; 4], 0))).map_err(failed)?;
        socket.set_nonblocking(true).map_err(failed)?;
        let peers = std::iter::once(longhaul_hop::tls::PublicKey(hub.0)).collect();
        let config = Config {
            session: Session::Tls { identity: Arc::new(identity), peers },
            keep_alive: KEEP_ALIVE,
            initial_rtt: Duration::from_millis(100),
            batch: 1,
            ..Config::new(Role::Terminal { hub: at })
        };
        let mut seed = [0; 32];
        keys::random(&mut seed)?;
        let node = Node::new(config, seed, now()).map_err(|why| Error::Config(why.to_string()))?;
        terminals.push((node, socket));
    }
    std::thread::spawn(move || {
        let (mut up, mut buffer) = (0, vec![]);
        let mut room = vec![0; 2048];
        while dropped.try_recv() != Err(std::sync::mpsc::TryRecvError::Disconnected) {
            for (node, socket) in &mut terminals {
                serve(node, socket, now(), &mut buffer, &mut room);
                while let Some(event) = node.poll_event() {
                    match event {
                        Event::Up { .. } => up += 1,
                        Event::Down { .. } => up -= 1,
                        _ => {}
                    }
                }
            }
            if up == terminals.len() as i64 {
                let _ = ready.send(());
            }
            std::thread::sleep(LOOK);
        }
    });
    Ok(alive)
}

/// Moves a terminal's datagrams.
fn serve(node: &mut Node, socket: &UdpSocket, now: Instant, buffer: &mut Vec<u8>, room: &mut [u8]) {
    while let Ok((n, from)) = socket.recv_from(room) {
        node.handle_datagram(now, from, None, 0, bytes::BytesMut::from(&room[..n]));
    }
    if node.poll_timeout().is_some_and(|due| due <= now) {
        node.handle_timeout(now);
    }
    while let Some(transmit) = node.poll_transmit(now, buffer) {
        // What the network refuses is lost, as on any link.
        let _ = socket.send_to(&buffer[..transmit.len], transmit.to);
    }
}
