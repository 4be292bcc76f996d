//! `longhaul-pep run`: starts a node, keeps it in order each second, and stops it.

use crate::claim::{self, Claim};
use crate::config::{Carrier, Config, Hop, Intercept, Limits, Mode};
use crate::confirm::Confirm;
use crate::faster::Known;
use crate::helper::Interception;
use crate::hubs::{self, Hubs};
use crate::lanes::{self, Common};
use crate::leg::prepare;
use crate::listen::listen;
use crate::node::Node;
use crate::state::{self, State};
use crate::table::Entrance;
use crate::timer::std_time;
use crate::tunnel::Tunnel;
use crate::{
    Error, choice, classes, confirm, control, descriptors, grants, hub, load, metrics, page, plan, reload,
    room, sandbox, start, sys, system, verify,
};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use sd_notify::NotifyState;
use socket2::{Domain, SockRef, Socket, Type};
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{Notify, mpsc};

/// Descriptors besides those of connections.
const OWN_DESCRIPTORS: u64 = 128;
/// Seconds between two looks at whether memory can be given back to the system.
const GIVING_BACK: u64 = 60;
/// Seconds between two lines about terminals that were turned away.
const EACH_MINUTE: u64 = 60;
/// Connections fewer than before that make it worth while.
const MANY: usize = 100;
/// Niceness by which the tunnel's thread is ahead of the others: it keeps the pace, and wakes up for each millisecond of packets.
const AHEAD: i32 = 10;
/// How often measured rates are written to the state directory.
const KEEP: Duration = Duration::from_secs(60);
/// A full node takes connections in again below this part of its bound.
const ROOM_AGAIN: f64 = 0.9;

/// Runs a node until a signal stops it.
///
/// # Errors
/// Whatever keeps it from starting, with the remedy.
pub fn run(path: &Path) -> Result<(), Error> {
    let mut config = load::load(path)?;
    enough_descriptors(&mut config)?;
    check_legs(&config)?;
    let failed = |why| Error::system("start threads", why);
    // What needs more rights than the node has afterwards.
    let rules = config.rules();
    let claim = rules.as_ref().map(claim::claim).transpose()?;
    let helper = rules.map(|_| Interception::start()).transpose()?;
    let (udp, lanes) = (start::sockets(&config)?, start::lane_socket(&config)?);
    let confirming = config.intercept.as_ref().filter(|_| config.mode != Mode::Hub);
    let confirm = confirming.map(Confirm::open).transpose()?.flatten();
    let control = control::Socket::bind(&config.control)?;
    let page = page::start(&config, path)?;
    // The thread of the tunnel, which is a child of this one, is served before those that move bytes of connections.
    let usual = sys::nice();
    if config.hop.is_some() && sys::set_nice(usual - AHEAD).is_err() {
        tracing::info!("the tunnel's thread has no priority (CAP_SYS_NICE or LimitNICE)");
    }
    sandbox::enter(&config, path)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .on_thread_start(move || drop(sys::set_nice(usual)))
        .build()
        .map_err(failed)?;
    let hop = Arc::new(tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(failed)?);
    let privileged = Privileged { claim, helper, udp, lanes, confirm, control, page };
    runtime.block_on(serve(config, path.to_path_buf(), privileged, hop.clone()))
}

/// What was opened before the node gave up its rights.
struct Privileged {
    /// Held until the rules are removed.
    claim: Option<Claim>,
    helper: Option<Interception>,
    /// Of each tunnel.
    udp: Vec<Vec<Socket>>,
    /// Where a hub takes TCP connections of terminals.
    lanes: Option<Socket>,
    confirm: Option<Confirm>,
    control: control::Socket,
    /// Held until the end.
    page: Option<page::Beside>,
}

async fn serve(
    config: Config,
    path: PathBuf,
    privileged: Privileged,
    hop: Arc<Runtime>,
) -> Result<(), Error> {
    let Privileged { claim: _held, helper, udp, lanes, confirm, control, page: _beside } = privileged;
    let mut listeners: Vec<(TcpListener, Entrance, Option<SocketAddr>)> = vec![];
    if let (Some(intercept), false) = (&config.intercept, config.mode == Mode::Hub) {
        listeners.extend(transparent(intercept)?.into_iter().map(|open| (open, Entrance::Intercepted, None)));
    }
    for (at, entrance) in [(config.socks, Entrance::Socks), (config.http_connect, Entrance::HttpConnect)] {
        if let Some(at) = at {
            listeners.push((listen(at, false, 0)?, entrance, None));
        }
    }
    for forward in &config.forward {
        listeners.push((listen(forward.listen, false, 0)?, Entrance::Forward, Some(forward.to)));
    }
    let measured = config.metrics.map(|at| listen(at, false, 0)).transpose()?;
    let mut state = config
        .hop
        .as_ref()
        .map_or_else(State::default, |hop| State::load(state::directory(hop), hop.remember));
    let tunnels = {
        // Their sockets are waited for there.
        let _inside = hop.enter();
        start::tunnels(&config, udp, &state)?
    };
    let node = Arc::new(Node::new(config, confirm));
    if let Some((tunnels, common)) = tunnels {
        let changed = Arc::new(Notify::new());
        carriers(&node, &tunnels, &common, lanes, &changed)?;
        let names = node.config(|config| config.hop.as_ref().map(Hop::hubs)).unwrap_or_default();
        let _ = node.hubs.set(Hubs::new(tunnels.clone(), names));
        classes::apply(&node);
        let (sender, receiver) = mpsc::unbounded_channel();
        tokio::spawn(hub::serve(node.clone(), receiver));
        tokio::spawn(hubs::follow(node.clone(), changed.clone()));
        for tunnel in tunnels {
            let (driving, node) = (tunnel.drive(sender.clone(), changed.clone()), node.clone());
            hop.spawn(async move {
                let why = why_ended(driving).await;
                tracing::error!("nothing moves the tunnel's datagrams any more: {why}; this node stops");
                node.fault.send_replace(Some("the tunnel's task has ended"));
            });
        }
        std::thread::Builder::new()
            .name("tunnel".into())
            .spawn(move || hop.block_on(std::future::pending::<()>()))
            .map_err(|why| Error::system("start a thread", why))?;
    }
    if let (Some((intercept, limits, hubs)), Some(helper)) = (node.intercepted(), helper) {
        // Held, so that the gate does not change between what is installed and who may change it.
        let shut = node.shut.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        helper.install(shut.gate(), (&intercept, &limits, &hubs))?;
        *node.interception.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = Some(helper);
        drop(shut);
        verify::start(&node)?;
    }
    for index in [0, 1] {
        let node = node.clone();
        tokio::spawn(async move {
            if let Err(why) = confirm::serve(node, index).await {
                tracing::error!("openings are not confirmed any more: {why}");
            }
        });
    }
    for (listener, entrance, to) in listeners {
        tokio::spawn(node.clone().accept(listener, entrance, to));
    }
    if let Some(listener) = measured {
        tokio::spawn(metrics::serve(node.clone(), listener));
    }
    tokio::spawn(control.serve(node.clone())?);
    tokio::spawn(watch(node.clone()));
    tokio::spawn(grants::serve(node.clone()));
    tokio::spawn(classes::allot(node.clone()));
    tokio::spawn({
        let node = node.clone();
        async move {
            if let Err(why) = node.shared.neighbours.watch().await {
                tracing::warn!("hosts that do not answer for their addresses are not noticed: {why}");
            }
        }
    });
    tokio::spawn(remember(node.clone(), state.clone()));
    let _ = sd_notify::notify(&[NotifyState::Ready]);
    tracing::info!("ready");
    let ended = until_stopped(&node, &path).await;
    let _ = sd_notify::notify(&[NotifyState::Stopping]);
    drain(&node).await;
    node.stop.send_replace(true);
    // Connections end with a reset each; their lines are written before the log ends.
    let begin = Instant::now();
    while node.shared.table.len() > 0 && begin.elapsed() < Duration::from_secs(2) {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    if let Err(why) = state.save(&remembered(&node)) {
        tracing::warn!("the rates are not kept: {why}");
    }
    if let Err(why) = node.classes.save() {
        tracing::warn!("volumes are not kept: {why}");
    }
    for tunnel in node.tunnels() {
        tunnel.close().await;
    }
    drop(node.interception.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).take());
    ended
}

/// Waits for what goes on for ever as long as nothing is wrong; why it has ended. A panic ends a task alone: a node would go on without it,
/// and its supervisor (systemd, procd) would not start it anew.
async fn why_ended(work: impl Future<Output = Result<(), Error>> + Send + 'static) -> String {
    match tokio::spawn(work).await {
        Ok(Ok(())) => "no reason is known".into(),
        Ok(Err(why)) => why.to_string(),
        Err(panicked) => panicked.to_string(),
    }
}

/// Starts what belongs to the choice between the carriers.
fn carriers(
    node: &Node,
    tunnels: &[Arc<Tunnel>],
    common: &Common,
    lanes: Option<Socket>,
    changed: &Arc<Notify>,
) -> Result<(), Error> {
    let (mode, carrier, known) = node.config(|config| {
        let hop = config.hop.as_ref();
        let known = hop.map(|hop| Known { down: hop.receive_rate, up: hop.most_rate.or(hop.send_rate) });
        (config.mode, hop.map_or(Carrier::Quic, |hop| hop.carrier), known.unwrap_or_default())
    });
    if let (Some(socket), [tunnel, ..]) = (lanes, tunnels) {
        let listener =
            TcpListener::from_std(socket.into()).map_err(|why| Error::system("listen for terminals", why))?;
        tokio::spawn(lanes::accept(tunnel.clone(), common.clone(), listener));
    }
    if carrier == Carrier::Quic {
        return Ok(());
    }
    for tunnel in tunnels {
        if mode == Mode::Terminal {
            tokio::spawn(choice::choose(tunnel.clone(), common.clone(), carrier, known, changed.clone()));
        }
        tokio::spawn(choice::give_up_blocked(tunnel.clone()));
    }
    Ok(())
}

/// What is to be installed, and the hubs that servers must be behind.
pub(crate) fn intercepted(config: &Config, hubs: &[IpAddr]) -> Option<(Intercept, Limits, Vec<IpAddr>)> {
    let intercept = config.rules()?;
    let behind = config.mode == Mode::Terminal && !intercept.local;
    Some((intercept, config.limits, if behind { hubs.to_vec() } else { vec![] }))
}

/// Addresses of a terminal's hubs that are known without a look-up.
pub(crate) fn literal_hubs(config: &Config) -> Vec<IpAddr> {
    let hubs = config.hop.iter().flat_map(Hop::hubs);
    hubs.filter_map(|hub| Some(hub.literal()?.ip())).collect()
}

/// Every command that [`run`] would give to nftables and `ip`; `None` if it would give none.
pub fn planned(config: &Config) -> Option<String> {
    let addresses = config.hop.iter().flat_map(Hop::hubs).filter_map(|hub| hub.look_up().ok()).flatten();
    let hubs: Vec<IpAddr> = addresses.map(|hub| hub.ip()).collect();
    let (intercept, limits, hubs) = intercepted(config, &hubs)?;
    Some(plan::printed(&intercept, &limits, &system::around(&hubs, intercept.own_mark)))
}

fn transparent(intercept: &Intercept) -> Result<Vec<TcpListener>, Error> {
    let mut all = vec![];
    for address in [std::net::IpAddr::from([127, 0, 0, 1]), std::net::Ipv6Addr::LOCALHOST.into()] {
        match listen(SocketAddr::new(address, intercept.port), true, intercept.client_mark) {
            Ok(listener) => all.push(listener),
            // A kernel without IPv6.
            Err(why) if address.is_ipv6() && !Path::new("/proc/sys/net/ipv6").exists() => {
                tracing::info!("IPv4 only: {why}");
            }
            Err(why) => return Err(why),
        }
    }
    Ok(all)
}

async fn until_stopped(node: &Arc<Node>, path: &Path) -> Result<(), Error> {
    let on = |kind| signal(kind).map_err(|why| Error::system("listen to signals", why));
    let (mut terminate, mut interrupt, mut hangup) =
        (on(SignalKind::terminate())?, on(SignalKind::interrupt())?, on(SignalKind::hangup())?);
    let (mut stop, mut fault) = (node.stop.subscribe(), node.fault.subscribe());
    loop {
        tokio::select! {
            Ok(why) = fault.wait_for(Option::is_some) => {
                return Err(Error::system("go on", why.unwrap_or_default()));
            }
            _ = terminate.recv() => return Ok(()),
            _ = interrupt.recv() => return Ok(()),
            _ = stop.wait_for(|stop| *stop) => return Ok(()),
            _ = hangup.recv() => match reload(node, path) {
                Ok(()) => tracing::info!("configuration read again"),
                Err(why) => tracing::error!("the configuration stays as it was: {why}"),
            },
        }
    }
}

/// No new connections; waits for those alive, as long as `timeouts.drain`.
pub(crate) async fn drain(node: &Arc<Node>) {
    node.draining.send_replace(true);
    let shutting = node.clone();
    let shut = tokio::task::spawn_blocking(move || shutting.set_shut(|shut| shut.draining = true)).await;
    if let Ok(Err(why)) = shut {
        tracing::warn!("{why}");
    }
    let limit = std_time(node.shared.timeouts().drain);
    let begin = Instant::now();
    while node.shared.table.len() > 0 && begin.elapsed() < limit {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// Reads the file again. What cannot change while the node runs stays, with a line in the log.
fn reload(node: &Arc<Node>, path: &Path) -> Result<(), Error> {
    let mut wanted = load::load(path)?;
    enough_descriptors(&mut wanted)?;
    check_legs(&wanted)?;
    if let Some(what) = load::unfilled(&wanted) {
        return Err(Error::Config(what));
    }
    let next = {
        let mut config = node.config.write().unwrap_or_else(|poisoned| poisoned.into_inner());
        *config = reload::adopted(&config, &wanted, node.confirm.is_some());
        config.clone()
    };
    for name in reload::left(&next, &wanted) {
        tracing::warn!("{name}: a change needs a restart");
    }
    node.shared.table.set_limits(next.limits);
    node.shared.set_timeouts(next.timeouts);
    if let Some(hop) = &next.hop {
        for tunnel in node.tunnels() {
            tunnel.set_rates(hop.send_rate, hop.most_rate);
            start::trust(tunnel, &next);
        }
    }
    classes::apply(node);
    let Some((intercept, limits, hubs)) = node.intercepted() else { return Ok(()) };
    let gate = node.shut.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).gate();
    let interception = node.interception.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    if let Some(interception) = interception.as_ref() {
        interception.replace(gate, (&intercept, &limits, &hubs))?;
        node.room().start_again(Instant::now(), limits.flows.min(room::FIRST));
        node.granting.notify_one();
    }
    Ok(())
}

/// True if so many connections have ended that the memory which they leave is worth a look through all of it.
fn has_fallen(most: usize, alive: usize) -> bool {
    most >= alive + MANY && most >= 2 * alive
}

/// Each second: the gate, the ledger, the watchdog.
async fn watch(node: Arc<Node>) {
    let mut ledger_was_wrong = false;
    let (mut most, mut seconds) = (0, 0);
    let mut turned_away = 0;
    let mut small = std::collections::HashSet::new();
    let watchdog = sd_notify::watchdog_enabled().is_some();
    let mut looked = Instant::now();
    loop {
        tokio::time::sleep(Duration::from_secs(1)).await;
        classes::apply(&node);
        page::reading::record(&node, looked.elapsed());
        looked = Instant::now();
        let (limits, alive) = (node.shared.table.limits(), node.shared.table.len());
        most = most.max(alive);
        seconds += 1;
        if seconds % GIVING_BACK == 0 {
            if has_fallen(most, alive) {
                tokio::task::spawn_blocking(sys::give_memory_back);
            }
            most = alive;
        }
        if seconds % EACH_MINUTE == 1 {
            let now = node.tunnel().map(|tunnel| tunnel.turned_away()).unwrap_or_default();
            if let (Some(last), true) = (now.last, now.count > turned_away) {
                let new = now.count - turned_away;
                tracing::warn!(%last, "{new} openings of tunnels were turned away: hop.terminals are served already");
            }
            turned_away = now.count;
            if let Some((count, last)) = node.tunnel().and_then(|tunnel| tunnel.strangers()) {
                tracing::warn!("{count} more attempts to open a tunnel failed, the last of them: {last}");
            }
        }
        for (peer, address, mtu) in shrunk(&node) {
            if small.insert(peer) {
                tracing::warn!(
                    %address,
                    "full packets of the tunnel do not arrive: it sends {mtu} bytes of UDP payload instead of hop.mtu (`longhaul-pep \
                     doctor` at the terminal finds how much passes)"
                );
            }
        }
        let starved = node.starved.swap(false, Ordering::Relaxed);
        let changing = node.clone();
        let changed = tokio::task::spawn_blocking(move || {
            changing.set_shut(|shut| {
                shut.starved = starved || (shut.starved && !descriptors::are_free());
                shut.full =
                    alive >= limits.flows || (shut.full && alive as f64 > limits.flows as f64 * ROOM_AGAIN);
            })
        });
        if let Ok(Err(why)) = changed.await {
            tracing::warn!("{why}");
        }
        let helpless = {
            let interception = node.interception.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            interception.as_ref().is_some_and(|helper| !helper.is_alive())
        };
        if helpless && node.fault.send_replace(Some("the helper process for nftables has ended")).is_none() {
            tracing::error!(
                "the helper process for nftables has ended: new connections pass, this node stops"
            );
        }
        let left_out = node.new_second();
        if left_out > 0 {
            tracing::info!(target: "flow", "{left_out} more connections ended");
        }
        let totals = node.shared.table.totals();
        let wrong = !totals.up.balances() || !totals.down.balances();
        if wrong && !ledger_was_wrong {
            tracing::error!(up = ?totals.up, down = ?totals.down, "bytes are missing in the ledger");
        }
        ledger_was_wrong = wrong;
        if watchdog {
            let _ = sd_notify::notify(&[NotifyState::Watchdog]);
        }
    }
}

/// Tunnels whose packets had to become smaller, for larger ones do not arrive and nothing reports it (a black hole, RFC 8899).
fn shrunk(node: &Node) -> Vec<((usize, longhaul_hop::PeerId), SocketAddr, u16)> {
    let full = node.config(|config| config.hop.as_ref().map_or(0, |hop| hop.mtu));
    let of = |(at, tunnel): (usize, &Arc<Tunnel>)| {
        let small = tunnel.packet_sizes().into_iter().filter(move |(_, size)| *size < full);
        small.map(move |(peer, size)| ((at, peer.id), peer.address, size)).collect::<Vec<_>>()
    };
    node.tunnels().enumerate().flat_map(of).collect()
}

/// What was measured on the way to all other nodes.
fn remembered(node: &Node) -> Vec<([u8; 32], longhaul_hop::Remembered)> {
    node.tunnels().flat_map(|tunnel| tunnel.remembered()).collect()
}

/// Keeps what was measured, for the case that this process is killed.
async fn remember(node: Arc<Node>, mut state: State) {
    let mut failed = false;
    loop {
        tokio::time::sleep(KEEP).await;
        match state.save(&remembered(&node)).and(node.classes.save()) {
            Err(why) if !std::mem::replace(&mut failed, true) => {
                tracing::warn!("rates and volumes are not kept: {why}");
            }
            _ => {}
        }
    }
}

/// Raises the bound on open files; if it cannot be enough, fewer connections are taken on.
fn enough_descriptors(config: &mut Config) -> Result<(), Error> {
    let failed = |why: nix::Error| Error::system("read the bound on open files", why);
    let needed = config.limits.flows as u64 * 2 + OWN_DESCRIPTORS;
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE).map_err(failed)?;
    if soft >= needed {
        return Ok(());
    }
    if setrlimit(Resource::RLIMIT_NOFILE, needed, hard.max(needed)).is_ok() {
        return Ok(());
    }
    let _ = setrlimit(Resource::RLIMIT_NOFILE, hard, hard);
    if hard < needed {
        let flows = (hard.saturating_sub(OWN_DESCRIPTORS) / 2) as usize;
        if flows == 0 {
            return Err(Error::system("start", format!("{hard} open files are too few; raise LimitNOFILE")));
        }
        tracing::warn!(
            "limits.flows is {flows} instead of {}: {hard} files may be open, {needed} are needed (LimitNOFILE)",
            config.limits.flows
        );
        config.limits.flows = flows;
    }
    Ok(())
}

/// Tries the settings of both legs on a socket, so that a wrong one is found at the start.
fn check_legs(config: &Config) -> Result<(), Error> {
    for (name, leg) in [("client_leg", &config.client_leg), ("server_leg", &config.server_leg)] {
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None)
            .map_err(|why| Error::system("open a socket", why))?;
        prepare(&SockRef::from(&socket), leg).map_err(|why| {
            let known = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control");
            let hint = match (why.to_string().contains("congestion"), known) {
                (true, Ok(known)) => {
                    format!("; this kernel has {} (others: modprobe tcp_NAME)", known.trim())
                }
                _ => String::new(),
            };
            Error::system(format!("use {name}"), format!("{why}{hint}"))
        })?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn broken() -> Result<(), Error> {
        panic!("a fault")
    }

    #[test]
    fn what_ends_by_a_panic_has_its_reason() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let why = runtime.block_on(why_ended(broken()));
        assert!(why.contains("a fault"), "{why}");
        let why = runtime.block_on(why_ended(async { Err(Error::Config("no timer".into())) }));
        assert_eq!(why, "no timer");
    }
}
