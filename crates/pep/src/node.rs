//! A node at work: takes connections in by every entrance, opens the other side, and carries them.

use crate::classes::Classes;
use crate::config::{Config, Intercept, Limits, Mode};
use crate::confirm::Confirm;
use crate::destinations::is_guarded;
use crate::far::Far;
use crate::flow::End;
use crate::greeting::Greetings;
use crate::helper::Interception;
use crate::hubs::Hubs;
use crate::leg::{TcpLeg, prepare};
use crate::outward::{Outward, set_class};
use crate::page::history::History;
use crate::page::saved::{Saved, Transfer};
use crate::passage::Passage;
use crate::plan::Gate;
use crate::relay::{Relay, Shared, end_of};
use crate::room::{self, Grant, Room};
use crate::socks::{Host, Reply, Request, Step};
use crate::table::{Ends, Entrance, Entry, Onward};
use crate::timer::std_time;
use crate::tunnel::{HopLeg, Tunnel};
use crate::verify::Findings;
use crate::{daemon, descriptors, dscp, eyeballs, grants, http, names, socks, state, sys};
use longhaul_hop::Open;
use portable_atomic::AtomicU64;
use socket2::SockRef;
use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, RwLock};
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, watch};

/// A client of a proxy has this long to name its destination.
const GREETING: Duration = Duration::from_secs(10);
/// How long a client with all the connections that it may have passes untouched.
const LEFT_ALONE: Duration = Duration::from_secs(10);
/// Lines about ended connections in a second.
const LINES: usize = 200;

/// Why new connections pass untouched.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Shut {
    pub bypass: bool,
    pub full: bool,
    pub draining: bool,
    pub starved: bool,
    /// The tunnel to the hub is down.
    pub no_tunnel: bool,
    /// The tunnel gives no answer.
    pub silent: bool,
    /// A hub takes nothing in from the network.
    pub hub: bool,
    /// Whether what is taken in arrives.
    pub passage: Passage,
}

impl Shut {
    pub fn gate(self) -> Gate {
        let others = Shut { passage: Passage::Open, ..self };
        match self.passage {
            _ if others.reasons().next().is_some() => Gate::Shut,
            Passage::Shut => Gate::Shut,
            Passage::Trial => Gate::Trial,
            Passage::Open => Gate::Open,
        }
    }

    /// What becomes of new connections, in words that follow "new connections".
    pub fn becomes(self) -> &'static str {
        match self.gate() {
            Gate::Open => "are accelerated",
            Gate::Trial => "pass untouched but one, which is taken in on trial",
            Gate::Shut => "pass untouched",
        }
    }

    /// Why they pass, in words; nothing if they are accelerated.
    pub fn reasons(self) -> impl Iterator<Item = &'static str> {
        let all = [
            (self.bypass, "bypass is on"),
            (self.full, "there are limits.flows connections"),
            (self.draining, "the daemon drains"),
            (self.starved, "descriptors are short"),
            (self.no_tunnel, "the tunnel is down"),
            (self.silent, "the hub gives no answer through the tunnel (hop.pass_after)"),
            (self.hub, "a hub takes connections from its terminals"),
            (self.passage != Passage::Open, "those taken in do not arrive"),
        ];
        all.into_iter().filter_map(|(holds, reason)| holds.then_some(reason))
    }
}

/// What all tasks of the daemon share.
pub(crate) struct Node {
    pub config: RwLock<Config>,
    pub shared: Arc<Shared>,
    pub interception: Mutex<Option<Interception>>,
    pub shut: Mutex<Shut>,
    pub stop: watch::Sender<bool>,
    /// Why this node stops by itself, as when the gate cannot be shut any more: the listeners close, without which everything passes.
    pub fault: watch::Sender<Option<&'static str>>,
    /// Turns true when it drains: proxies and forwards take no new clients, who find nobody there and go elsewhere.
    pub draining: watch::Sender<bool>,
    /// Openings that wait for the server's answer.
    pub confirm: Option<Confirm>,
    /// Tunnels to the other nodes, of two.
    pub hubs: OnceLock<Hubs>,
    /// True while a terminal's tunnel is down, or gives no answer.
    pub without_tunnel: watch::Sender<bool>,
    /// Where a terminal's hubs are, as far as that is known.
    pub hub_addresses: Mutex<Vec<IpAddr>>,
    pub since: Instant,
    /// Classes of connections and shares of terminals at work.
    pub classes: Classes,
    /// No descriptor was left when a connection came.
    pub starved: AtomicBool,
    /// Whether what is taken in arrives, and why not.
    pub findings: Findings,
    /// What the kernel may take in.
    room: Mutex<Room>,
    /// Notified when most of that has arrived.
    pub granting: Notify,
    /// Notified when a terminal's flow has begun or ended, at a hub.
    pub allotting: Notify,
    /// Descriptors that belong to no connection.
    pub own_descriptors: OnceLock<u64>,
    /// Clients with all the connections that they may have, and since when they pass untouched.
    left_alone: Mutex<HashMap<IpAddr, Instant>>,
    /// Clients of proxies that have not yet named a server.
    greetings: Greetings,
    /// Ends of connections logged in this second.
    lines: AtomicUsize,
    /// The last minutes and the last day.
    pub history: Mutex<History>,
    /// Time that downloads took and would have taken.
    pub saved: Mutex<Saved>,
    /// Least round trip of the tunnel in microseconds, 0 as long as there is none.
    pub link_rtt: AtomicU64,
}

/// The server that a client requests.
enum Target {
    /// By its addresses, in the order in which they are tried; there is one at least.
    Addresses(Vec<SocketAddr>),
    /// By name, which the hub looks up, and port.
    Name(String, u16),
}

impl Target {
    /// The address that stands for it before it is reached.
    fn address(&self) -> SocketAddr {
        match self {
            Target::Addresses(all) if !all.is_empty() => all[0],
            Target::Addresses(_) => SocketAddr::from(([0; 4], 0)),
            Target::Name(_, port) => SocketAddr::from(([0; 4], *port)),
        }
    }
}

/// What becomes of the client once the server has answered.
enum Answer {
    Nothing,
    Socks,
    Http,
}

impl Node {
    pub fn new(config: Config, confirm: Option<Confirm>) -> Node {
        let shut = Shut {
            no_tunnel: config.mode == Mode::Terminal,
            hub: config.mode == Mode::Hub,
            ..Shut::default()
        };
        let hub_addresses = daemon::literal_hubs(&config);
        // What the kernel has before the gate opens is replaced then.
        let first = if shut.gate() == Gate::Open { config.limits.flows.min(room::FIRST) } else { 0 };
        Node {
            shared: Arc::new(Shared::new(config.limits, config.timeouts)),
            room: Mutex::new(Room::new(first, grants::waiting())),
            granting: Notify::new(),
            allotting: Notify::new(),
            classes: Classes::new(config.hop.as_ref().and_then(state::directory)),
            own_descriptors: OnceLock::new(),
            config: RwLock::new(config),
            interception: Mutex::new(None),
            shut: Mutex::new(shut),
            stop: watch::Sender::new(false),
            fault: watch::Sender::new(None),
            draining: watch::Sender::new(false),
            confirm,
            hubs: OnceLock::new(),
            without_tunnel: watch::Sender::new(shut.no_tunnel),
            hub_addresses: Mutex::new(hub_addresses),
            since: Instant::now(),
            starved: AtomicBool::new(false),
            findings: Findings::default(),
            left_alone: Mutex::default(),
            greetings: Greetings::default(),
            lines: AtomicUsize::new(0),
            history: Mutex::default(),
            saved: Mutex::default(),
            link_rtt: AtomicU64::new(0),
        }
    }

    pub fn config<T>(&self, read: impl FnOnce(&Config) -> T) -> T {
        read(&self.config.read().unwrap_or_else(|poisoned| poisoned.into_inner()))
    }

    /// The tunnel that takes new connections; none for one node.
    pub fn tunnel(&self) -> Option<&Arc<Tunnel>> {
        self.hubs.get().map(|hubs| &hubs.in_use().tunnel)
    }

    /// All tunnels.
    pub fn tunnels(&self) -> impl Iterator<Item = &Arc<Tunnel>> {
        self.hubs.get().into_iter().flat_map(|hubs| hubs.all()).map(|way| &way.tunnel)
    }

    /// What is installed in the network: see [`daemon::intercepted`].
    pub fn intercepted(&self) -> Option<(Intercept, Limits, Vec<IpAddr>)> {
        let hubs = self.hub_addresses.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).clone();
        self.config(|config| daemon::intercepted(config, &hubs))
    }

    /// Changes a reason to let connections pass, and the rules if that makes a difference.
    pub fn set_shut(&self, change: impl FnOnce(&mut Shut)) -> Result<(), crate::Error> {
        let mut shut = self.shut.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let before = shut.gate();
        change(&mut shut);
        if shut.gate() == before {
            return Ok(());
        }
        let reasons: Vec<&str> = shut.reasons().collect();
        match shut.gate() {
            Gate::Open => tracing::info!("new connections are taken in again"),
            _ => tracing::info!("new connections {}: {}", shut.becomes(), reasons.join("; ")),
        }
        let interception = self.interception.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let Some(interception) = interception.as_ref() else { return Ok(()) };
        if shut.gate() != Gate::Shut {
            interception.set_room(Grant::Anew(self.room().open(Instant::now(), grants::free(self))))?;
        }
        interception.set_gate(shut.gate())
    }

    /// Takes connections of a listener, until the node drains. Lack of descriptors and memory is waited out, with what the kernel has
    /// accepted; each listener has one of the reserve for that.
    pub async fn accept(self: Arc<Self>, listener: TcpListener, entrance: Entrance, to: Option<SocketAddr>) {
        let (mut fault, mut draining) = (self.fault.subscribe(), self.draining.subscribe());
        // Intercepted clients pass by, which the gate sees to.
        let closes = entrance != Entrance::Intercepted;
        loop {
            let accepted = tokio::select! {
                accepted = listener.accept() => accepted,
                _ = draining.wait_for(|draining| *draining), if closes => return,
                _ = fault.wait_for(Option::is_some) => return,
            };
            let lack = match accepted {
                Ok((stream, client)) => {
                    // Through a tunnel, the other side takes none.
                    let owed = self.hubs.get().is_none().then(descriptors::Owed::new);
                    let lack = descriptors::check_client(&stream);
                    let node = self.clone();
                    tokio::spawn(async move { node.serve(stream, client, entrance, (to, owed)).await });
                    lack
                }
                Err(why) => Err(why),
            };
            match lack {
                Ok(()) => {}
                // The connection was gone before it was taken.
                Err(why) if why.kind() == io::ErrorKind::ConnectionAborted => {}
                Err(why) => {
                    if !self.starved.swap(true, Ordering::Relaxed) {
                        tracing::warn!("no new connection can be taken: {why}");
                    }
                    tokio::time::sleep(Duration::from_millis(50)).await;
                    tokio::select! {
                        () = descriptors::freed_for_clients() => {}
                        _ = fault.wait_for(Option::is_some) => return,
                    }
                }
            }
        }
    }

    async fn serve(
        self: Arc<Self>,
        mut stream: TcpStream,
        client: SocketAddr,
        entrance: Entrance,
        (to, owed): (Option<SocketAddr>, Option<descriptors::Owed>),
    ) {
        // Whatever ends before there is a leg ends with a reset too.
        let _ = SockRef::from(&stream).set_linger(Some(Duration::ZERO));
        let plain = |server: SocketAddr| {
            let server = SocketAddr::new(server.ip().to_canonical(), server.port());
            (Target::Addresses(vec![server]), vec![], Answer::Nothing)
        };
        let asked = match entrance {
            Entrance::Intercepted => match stream.local_addr() {
                Ok(server) => Ok(plain(server)),
                Err(_) => return,
            },
            Entrance::Forward | Entrance::Tunnel => match to {
                Some(server) => Ok(plain(server)),
                None => return,
            },
            Entrance::Socks | Entrance::HttpConnect => {
                let limits = self.shared.table.limits();
                let guest = self.greetings.enter(client.ip(), limits.flows_per_source, limits.flows);
                if guest.is_none() {
                    return;
                }
                let dialogue = self.ask(&mut stream, entrance == Entrance::Socks);
                tokio::time::timeout(GREETING, dialogue).await.unwrap_or(Err(None))
            }
        };
        let (target, bytes, answer) = match asked {
            Ok(asked) => asked,
            Err(refusal) => return refuse(stream, refusal.unwrap_or_default()).await,
        };
        let server = target.address();
        if let Some((entry, far)) = self.confirm.as_ref().and_then(|confirm| confirm.claim(client, server)) {
            drop(owed);
            if entrance == Entrance::Intercepted {
                self.arrived(&mut self.room());
            }
            goes_on(&entry, &far);
            let end = self.clone().carry(stream, far, &entry, &[]).await;
            return self.ended(&entry, end);
        }
        let ends = Ends { entrance, client, server };
        let entry = if entrance == Entrance::Intercepted {
            // It is in the table as soon as it has arrived: grants look at both at once.
            let (entry, is_last) = {
                let mut room = self.room();
                self.arrived(&mut room);
                self.shared.table.admit(ends)
            };
            if is_last {
                self.leave_alone(client);
            }
            entry
        } else {
            let Ok(entry) = self.shared.table.enter(ends) else { return };
            entry
        };
        let end = self.clone().connect_and_carry(stream, &entry, (target, owed), (bytes, answer)).await;
        self.ended(&entry, end);
    }

    /// A connection that the kernel has taken in has arrived.
    fn arrived(&self, room: &mut Room) {
        if room.arrive() {
            self.granting.notify_one();
        }
    }

    /// A connection has ended.
    pub fn ended(&self, entry: &Entry, end: End) {
        self.allotting.notify_one();
        self.config(|config| {
            self.classes.count(config, entry);
            if self.classes.slows(config, entry) {
                entry.bounded.store(true, Ordering::Relaxed);
            }
        });
        self.shared.table.leave(entry, end);
        if end == End::Complete && entry.ends.entrance != Entrance::Tunnel {
            self.count_saved(entry);
        }
        self.log(entry, end);
    }

    /// Compares a connection that has ended complete with one of the kernel. Without a tunnel its own round trip counts.
    fn count_saved(&self, entry: &Entry) {
        let tunnel = Duration::from_micros(self.link_rtt.load(Ordering::Relaxed));
        let own = entry.connected.get().copied().unwrap_or_default();
        let flow = *entry.flow();
        let transfer = Transfer {
            down: flow.down.ledger().sent,
            up: flow.up.ledger().sent,
            busy: entry.busy(),
            rtt: if self.hubs.get().is_some() { tunnel } else { own },
            rate: self.config(|config| {
                let configured = config.hop.as_ref()?.receive_rate;
                let least = configured.into_iter().chain(self.classes.hub_rate()).min();
                least.map(|rate| rate.as_bps() as f64)
            }),
            bounded: entry.bounded.load(Ordering::Relaxed),
        };
        self.saved.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).add(&transfer);
    }

    async fn connect_and_carry(
        self: Arc<Self>,
        mut stream: TcpStream,
        entry: &Arc<Entry>,
        (target, owed): (Target, Option<descriptors::Owed>),
        (bytes, answer): (Vec<u8>, Answer),
    ) -> End {
        let Ends { client, server, .. } = entry.ends;
        let dscp = self.class_of(&stream, server);
        let opened = match target {
            Target::Addresses(servers) => self.open_any(entry, servers, dscp).await,
            Target::Name(name, port) => self.open_named(entry, &name, port, dscp).await,
        };
        drop(owed);
        let leg = match opened {
            Ok(leg) => leg,
            Err((end, why)) => {
                tracing::debug!(flow = entry.id, %client, %server, "not opened: {why}");
                let refusal = match answer {
                    Answer::Nothing => vec![],
                    Answer::Socks => socks::reply(match end {
                        End::Refused => Reply::Refused,
                        End::Forbidden => Reply::NotAllowed,
                        _ => Reply::HostUnreachable,
                    }),
                    Answer::Http if end == End::Forbidden => http::refusal("403 Forbidden"),
                    Answer::Http => http::refusal("502 Bad Gateway"),
                };
                refuse(stream, refusal).await;
                return end;
            }
        };
        let took = entry.since.elapsed();
        self.shared.table.connected(took);
        let _ = entry.connected.set(took);
        // Before the client has its answer, so that it can look its own connection up.
        goes_on(entry, &leg);
        let reply = match answer {
            Answer::Nothing => vec![],
            Answer::Socks => socks::reply(Reply::Succeeded),
            Answer::Http => http::ESTABLISHED.to_vec(),
        };
        if stream.write_all(&reply).await.is_err() {
            return End::ClientReset;
        }
        self.carry(stream, leg, entry, &bytes).await
    }

    /// Opens the way to one of a server's addresses: the first one that may be reached and answers (RFC 8305).
    async fn open_any(
        self: &Arc<Self>,
        entry: &Entry,
        servers: Vec<SocketAddr>,
        dscp: u8,
    ) -> Result<Far, eyeballs::Failure> {
        let Ends { entrance, client, server } = entry.ends;
        let allowed: Vec<SocketAddr> =
            servers.into_iter().filter(|server| self.may_go(*server, entrance)).collect();
        if allowed.is_empty() {
            return Err((End::Forbidden, io::ErrorKind::PermissionDenied.into()));
        }
        let confirm = matches!(entrance, Entrance::Socks | Entrance::HttpConnect);
        // An answer through the tunnel takes a round trip at least.
        let rtt = self.tunnel().and_then(|tunnel| tunnel.rtt()).unwrap_or_default();
        let attempt = |server: SocketAddr| {
            let node = self.clone();
            async move { node.open(client, server, entrance, dscp, confirm).await }
        };
        let (reached, far) = eyeballs::first(allowed, eyeballs::DELAY + rtt, attempt).await?;
        if reached != server {
            let _ = entry.reached.set(reached.to_string());
        }
        Ok(far)
    }

    /// Opens the way to a server by name: the hub looks it up, or else this node.
    async fn open_named(
        self: &Arc<Self>,
        entry: &Entry,
        name: &str,
        port: u16,
        dscp: u8,
    ) -> Result<Far, eyeballs::Failure> {
        let _ = entry.reached.set(format!("{name}:{port}"));
        if !self.config(|config| config.destinations.permit_port(port)) {
            return Err((End::Forbidden, io::ErrorKind::PermissionDenied.into()));
        }
        if let Some((tunnel, peer)) = names::server(self) {
            let opened = async {
                let mut leg = names::open(tunnel, peer, (name, port), dscp).await?;
                let Ends { client, server, .. } = entry.ends;
                leg.classify(self.config(|config| self.classes.number(config, client.ip(), server, dscp)));
                self.answered(&leg).await.map(|()| leg)
            };
            match opened.await {
                Ok(leg) => return Ok(Far::Hop(leg)),
                Err(why) if why.kind() == io::ErrorKind::Unsupported => {
                    if tunnel.looks_nothing_up(peer.id) {
                        let what = "the hub looks no names up (names = \"hub\" is not in its file): they are looked up here";
                        tracing::warn!("{what}");
                    }
                }
                Err(why) if why.kind() == io::ErrorKind::NotConnected => {}
                Err(why) => return Err((end_of(&why, End::Tunnel), why)),
            }
        }
        let servers = names::look_up(name, port).await.map_err(|why| (End::Unreachable, why))?;
        self.open_any(entry, servers, dscp).await
    }

    /// Waits for the hub's answer: not longer than for a server, and not in a tunnel that is silent.
    async fn answered(&self, leg: &HopLeg) -> io::Result<()> {
        let limit = std_time(self.shared.timeouts().connect);
        let mut without = self.without_tunnel.subscribe();
        tokio::select! {
            answer = tokio::time::timeout(limit, leg.answered()) => {
                answer.unwrap_or_else(|_| Err(io::ErrorKind::HostUnreachable.into()))
            }
            _ = without.wait_for(|without| *without) => Err(io::ErrorKind::NotConnected.into()),
        }
    }

    /// Carries a connection whose both sides are open; `bytes` of the client have come already.
    async fn carry(self: Arc<Self>, stream: TcpStream, leg: Far, entry: &Arc<Entry>, bytes: &[u8]) -> End {
        if entry.ends.entrance != Entrance::Intercepted {
            stream.local_addr().map(|own| entry.proxy.set(own)).ok();
        }
        let timeouts = self.shared.timeouts();
        let settings = self.config(|config| config.client_leg.clone());
        if let Err(why) = prepare(&SockRef::from(&stream), &settings) {
            tracing::warn!("client_leg: {why}");
        }
        let Ok(near) = TcpLeg::new(stream, &timeouts) else { return End::ClientReset };
        let relay = Relay::new(near, leg, entry.clone(), self.shared.clone()).with_bytes(bytes);
        relay.run(self.stop.subscribe()).await
    }

    /// The class of the client's opening packet, which the answers to the client get too.
    fn class_of(&self, stream: &TcpStream, server: SocketAddr) -> u8 {
        if !self.config(|config| config.dscp) {
            return 0;
        }
        let opening = sys::saved_syn(stream.as_fd()).unwrap_or_default();
        let dscp = dscp::of_packet(&opening).unwrap_or(0);
        set_class(&SockRef::from(stream), stream.local_addr().unwrap_or(server).is_ipv4(), dscp);
        dscp
    }

    /// Opens the way to the server. Through the tunnel an intercepted client's bytes travel with the opening; with
    /// `confirm` the answer is waited for.
    pub async fn open(
        &self,
        client: SocketAddr,
        server: SocketAddr,
        entrance: Entrance,
        dscp: u8,
        confirm: bool,
    ) -> Result<Far, (End, io::Error)> {
        let (outward, keep) = self.config(|config| {
            let intercept = config.intercept.as_ref();
            let mark = intercept.map_or(0, |intercept| intercept.own_mark);
            let keep = intercept.is_some_and(|intercept| intercept.keep_source);
            (Outward { leg: config.server_leg.clone(), timeouts: config.timeouts, mark, dscp }, keep)
        });
        let keep = keep && entrance == Entrance::Intercepted;
        let direct = || async {
            let source = keep.then_some(client);
            outward.open(source, server, &self.shared.neighbours).await.map(Far::Tcp)
        };
        // Clients that connect to this node cannot pass it untouched; it connects to their servers itself, which is the same to them.
        let passes = entrance != Entrance::Intercepted;
        let Some(tunnel) = self.tunnel().filter(|_| !(passes && *self.without_tunnel.borrow())) else {
            return direct().await;
        };
        let down = || (End::Tunnel, io::Error::from(io::ErrorKind::NotConnected));
        let peer = tunnel.peer().ok_or_else(down)?;
        let any = match server {
            SocketAddr::V4(_) => SocketAddr::from(([0; 4], 0)),
            SocketAddr::V6(_) => SocketAddr::from(([0; 16], 0)),
        };
        let source = if keep { SocketAddr::new(client.ip().to_canonical(), client.port()) } else { any };
        let open = Open { source, destination: server, dscp, priority: 0, confirm };
        let mut leg = tunnel.open(peer.id, open).map_err(|why| (End::Tunnel, io::Error::other(why)))?;
        leg.classify(self.config(|config| self.classes.number(config, client.ip(), server, dscp)));
        if confirm {
            match self.answered(&leg).await {
                Ok(()) => {}
                Err(why) if passes && why.kind() == io::ErrorKind::NotConnected => {
                    drop(leg);
                    return direct().await;
                }
                Err(why) => return Err((end_of(&why, End::Tunnel), why)),
            }
        }
        Ok(Far::Hop(leg))
    }

    /// Whether a connection may go there: the lists; and for proxies no guarded address ([`is_guarded`]).
    pub fn may_go(&self, server: SocketAddr, entrance: Entrance) -> bool {
        let proxied = matches!(entrance, Entrance::Socks | Entrance::HttpConnect);
        let named = self.config(|config| {
            config.destinations.permit(server).then(|| config.destinations.names(server.ip()))
        });
        named.is_some_and(|named| named || !proxied || !is_guarded(server.ip()))
    }

    /// What the kernel may take in.
    pub fn room(&self) -> MutexGuard<'_, Room> {
        self.room.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// The next connections of a client pass untouched.
    pub fn leave_alone(self: &Arc<Self>, client: SocketAddr) {
        let client = client.ip().to_canonical();
        let now = Instant::now();
        {
            let mut left_alone = self.left_alone.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            left_alone.retain(|_, since| now.duration_since(*since) < LEFT_ALONE);
            if left_alone.insert(client, now).is_some() {
                return;
            }
        }
        let node = self.clone();
        tokio::task::spawn_blocking(move || {
            let interception = node.interception.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            let done = interception
                .as_ref()
                .map(|interception| interception.leave_alone(client, LEFT_ALONE.as_secs()));
            if let Some(Err(why)) = done {
                tracing::warn!("{why}");
            }
        });
    }

    /// One line for each connection that has ended, unless there are too many.
    fn log(&self, entry: &Entry, end: End) {
        if self.lines.fetch_add(1, Ordering::Relaxed) >= LINES {
            return;
        }
        let flow = *entry.flow();
        let (up, down) = (flow.up.ledger(), flow.down.ledger());
        tracing::info!(
            target: "flow",
            id = entry.id,
            entrance = ?entry.ends.entrance,
            client = %entry.ends.client,
            server = %entry.server(),
            end = ?end,
            seconds = format!("{:.3}", entry.since.elapsed().as_secs_f64()),
            up = up.sent,
            down = down.sent,
            lost = up.lost + down.lost,
            unacknowledged = up.unacknowledged + down.unacknowledged,
            "ended"
        );
    }

    /// A new second: lines may be written again. Returns how many were left out.
    pub fn new_second(&self) -> u64 {
        self.lines.swap(0, Ordering::Relaxed).saturating_sub(LINES) as u64
    }
}

/// Takes down how a connection goes on, once its server's side is open.
fn goes_on(entry: &Entry, far: &Far) {
    let onward = match far {
        Far::Tcp(leg) => {
            let _ = leg.local().map(|own| entry.outward.set(own));
            Onward::Direct
        }
        Far::Hop(leg) => {
            let _ = entry.carried.set(leg.carried());
            Onward::Tunnel
        }
    };
    let _ = entry.onward.set(onward);
}

type Asked = (Target, Vec<u8>, Answer);

impl Node {
    /// The dialogue of a proxy. An error may carry the answer to send.
    async fn ask(&self, stream: &mut TcpStream, is_socks: bool) -> Result<Asked, Option<Vec<u8>>> {
        let mut bytes = vec![];
        if is_socks {
            let used = understood(stream, &mut bytes, socks::greeting).await?.1;
            bytes.drain(..used);
            stream.write_all(&socks::WELCOME).await.map_err(|_| None)?;
        }
        let read = if is_socks { socks::request } else { http::request };
        let (request, used) = understood(stream, &mut bytes, read).await?;
        bytes.drain(..used);
        let answer = if is_socks { Answer::Socks } else { Answer::Http };
        match self.target(request).await {
            Some(target) => Ok((target, bytes, answer)),
            None if is_socks => Err(Some(socks::reply(Reply::HostUnreachable))),
            None => Err(Some(http::refusal("502 Bad Gateway"))),
        }
    }

    /// The server of a request; its name is looked up here, unless the hub does that.
    async fn target(&self, Request { host, port }: Request) -> Option<Target> {
        match host {
            Host::Address(address) => {
                Some(Target::Addresses(vec![SocketAddr::new(address.to_canonical(), port)]))
            }
            Host::Name(name) if names::server(self).is_some() => Some(Target::Name(name, port)),
            Host::Name(name) => names::look_up(&name, port).await.ok().map(Target::Addresses),
        }
    }
}

/// Reads until `parse` has a complete message.
async fn understood<T>(
    stream: &mut TcpStream,
    bytes: &mut Vec<u8>,
    parse: fn(&[u8]) -> Step<T>,
) -> Result<(T, usize), Option<Vec<u8>>> {
    loop {
        match parse(bytes) {
            Step::Done(value, used) => return Ok((value, used)),
            Step::Refused(answer) => return Err(Some(answer)),
            Step::More => {}
        }
        let mut more = [0; 1024];
        match stream.read(&mut more).await {
            Ok(n) if n > 0 => bytes.extend(&more[..n]),
            _ => return Err(None),
        }
    }
}

/// Ends a connection: with an answer if there is one, else with a reset.
async fn refuse(mut stream: TcpStream, answer: Vec<u8>) {
    if answer.is_empty() {
        return;
    }
    let _ = SockRef::from(&stream).set_linger(None);
    if stream.write_all(&answer).await.is_ok() {
        let _ = stream.shutdown().await;
        // What the client still sends would make the kernel reset the connection before the answer is read.
        let mut rest = [0; 1024];
        let _ = tokio::time::timeout(Duration::from_secs(2), async {
            while stream.read(&mut rest).await.is_ok_and(|n| n > 0) {}
        })
        .await;
    }
}
