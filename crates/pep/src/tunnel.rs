//! The tunnel between two nodes on the wall clock: [`longhaul_hop::Node`] with a UDP socket under it and the legs of
//! connections above it.
//!
//! The hop is behind one lock. Connections read and write under it; one task moves datagrams and keeps the time. Whoever
//! gave the hop something wakes that task.

use crate::Error;
use crate::config::Carrier;
use crate::faster::Counts;
use crate::lanes::LaneRate;
use crate::leg::Leg;
use crate::pipe::Pipe;
use crate::sys;
use crate::table::InTunnel;
use crate::timer::{Timer, std_time};
use crate::udp::Udp;
use bytes::Bytes;
use longhaul_hop::tls::{PublicKey, Trusted};
use longhaul_hop::{
    Bounds, Carrier as Hauler, Event, FlowId, LaneId, Node as Hop, Open, PeerId, PeerStats, Pool, Portion,
    Refusal, Remembered, ResetCode,
};
use longhaul_units::{Duration, Instant, Rate};
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::io;
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, AtomicU16, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll, Waker};
use tokio::net::TcpStream;
use tokio::sync::{Notify, mpsc};

/// A line about a stranger at most so often.
const EACH_MINUTE: Duration = Duration::from_secs(60);
/// Datagrams sent before the socket is read again.
const AT_ONCE: usize = 32;

/// A flow that the other node has opened.
pub(crate) struct Incoming {
    pub leg: HopLeg,
    pub open: Open,
    /// The terminal's public key.
    pub key: Option<[u8; 32]>,
    pub peer: PeerId,
}

/// Another node to which the tunnel is up.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PeerInfo {
    pub id: PeerId,
    pub key: Option<[u8; 32]>,
    pub address: SocketAddr,
    /// A hub that may look names up: its version can, and it has not refused to.
    pub looks_up: bool,
}

/// One end of the tunnel.
pub(crate) struct Tunnel {
    inside: Mutex<Inside>,
    wake: Notify,
    udp: Udp,
    epoch: std::time::Instant,
    carrier: Carrier,
    trusted: Trusted,
    lane_rate: LaneRate,
    /// Both carriers pass, and TCP is faster.
    prefers_tcp: AtomicBool,
}

struct Inside {
    /// Where a terminal's hub is, while there is to be a tunnel to it.
    hub: Option<SocketAddr>,
    /// Over QUIC.
    hop: Hop,
    /// Over TCP.
    pool: Pool,
    lanes: HashMap<LaneId, Arc<LaneWake>>,
    keep_alive: Duration,
    /// Names of terminals by their keys.
    names: HashMap<[u8; 32], String>,
    /// Counts nodes that came and went, and bounds that a hub has set.
    changes: u64,
    slots: HashMap<FlowId, Slot>,
    peers: Vec<PeerInfo>,
    incoming: VecDeque<(FlowId, Open, Option<[u8; 32]>, PeerId)>,
    is_hub: bool,
    strangers: Strangers,
    /// Handshakes that found no place, as far as they were counted.
    crowded: u64,
}

/// Those who have opened a connection and shown no key that is known. They cannot fill the log.
#[derive(Default)]
struct Strangers {
    logged: Option<Instant>,
    count: u64,
    last: String,
}

impl Strangers {
    fn add(&mut self, now: Instant, what: &str) {
        if self.logged.is_some_and(|logged| now.since(logged) < EACH_MINUTE) {
            self.count += 1;
            self.last = what.to_string();
            return;
        }
        self.logged = Some(now);
        tracing::warn!("an attempt to open a tunnel failed: {what}");
    }
}

/// Wakes the task of a TCP connection.
pub(crate) struct LaneWake {
    notify: Notify,
    stop: AtomicBool,
    stream: Arc<TcpStream>,
}

impl LaneWake {
    /// Closes the connection.
    fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
        self.notify.notify_one();
    }

    /// True if what the kernel has sent has had no answer for so long.
    fn is_silent(&self, after: Duration) -> bool {
        sys::tcp_info(self.stream.as_fd()).is_ok_and(|info| info.is_unanswered(after.as_nanos() / 1_000_000))
    }

    /// Waits until there is something to do; true if the connection is to be closed.
    pub async fn wait(&self) -> bool {
        self.notify.notified().await;
        self.stop.load(Ordering::Relaxed)
    }
}

/// What is remembered of a flow between two looks at it.
#[derive(Default)]
struct Slot {
    reader: Option<Waker>,
    writer: Option<Waker>,
    finished: bool,
    delivered: bool,
    accepted: bool,
    over: Option<ResetCode>,
    /// Bytes that were not delivered when it was over.
    undelivered: u64,
}

impl Slot {
    fn wake(&mut self) {
        self.reader.take().into_iter().chain(self.writer.take()).for_each(Waker::wake);
    }
}

impl Tunnel {
    /// A tunnel over a socket; `hop` began at time zero.
    pub fn new(
        hop: Hop,
        pool: Pool,
        (is_hub, carrier, keep_alive): (bool, Carrier, Duration),
        udp: Udp,
        epoch: std::time::Instant,
        (trusted, lane_rate): (Trusted, LaneRate),
    ) -> Arc<Tunnel> {
        let inside = Inside {
            hub: None,
            hop,
            pool,
            lanes: HashMap::new(),
            keep_alive,
            names: HashMap::new(),
            changes: 0,
            slots: HashMap::new(),
            peers: vec![],
            incoming: VecDeque::new(),
            is_hub,
            strangers: Strangers::default(),
            crowded: 0,
        };
        let (inside, wake) = (Mutex::new(inside), Notify::new());
        let prefers_tcp = AtomicBool::new(false);
        Arc::new(Tunnel { inside, wake, udp, epoch, carrier, trusted, lane_rate, prefers_tcp })
    }

    fn lock(&self) -> MutexGuard<'_, Inside> {
        self.inside.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn now(&self) -> Instant {
        Instant::from_nanos(self.epoch.elapsed().as_nanos() as u64)
    }

    /// Where the hub is from now on, which takes effect with the next connection; without an address, none is opened.
    pub fn set_hub(&self, hub: Option<SocketAddr>) {
        let now = self.now();
        let mut inside = self.lock();
        inside.hub = hub;
        inside.hop.set_hub(now, hub.unwrap_or(crate::start::UNKNOWN));
        inside.take_events(self.now());
        drop(inside);
        self.wake.notify_one();
    }

    /// Where a terminal's hub is, while there is to be a tunnel to it.
    pub fn hub(&self) -> Option<SocketAddr> {
        self.lock().hub
    }

    /// True if there is a tunnel, by either carrier.
    pub fn is_up(&self) -> bool {
        !self.lock().peers.is_empty()
    }

    /// Closes a tunnel that carries nothing; true if there is none any more.
    pub fn close_idle(&self, reason: &str) -> bool {
        let now = self.now();
        let mut inside = self.lock();
        if !inside.slots.is_empty() {
            return false;
        }
        for id in inside.peers.iter().map(|peer| peer.id).filter(|id| !id.is_pooled()).collect::<Vec<_>>() {
            inside.hop.give_up(now, id, reason);
        }
        inside.lanes.values().for_each(|lane| lane.stop());
        inside.take_events(self.now());
        let closed = inside.peers.is_empty();
        drop(inside);
        self.wake.notify_one();
        closed
    }

    /// The node to which the tunnel is up, by the carrier that is to take new flows: QUIC, unless it is silent while TCP is not, or TCP is
    /// faster.
    pub fn peer(&self) -> Option<PeerInfo> {
        let now = self.now();
        let inside = self.lock();
        let of = |pooled| inside.peers.iter().find(|peer| peer.id.is_pooled() == pooled).copied();
        let (quic, pooled) = (of(false), of(true));
        match self.carrier {
            Carrier::Tcp => pooled,
            Carrier::Quic => quic,
            Carrier::Auto if self.prefers_tcp.load(Ordering::Relaxed) && pooled.is_some() => pooled,
            Carrier::Auto => quic.filter(|quic| inside.answers(now, quic.id)).or(pooled).or(quic),
        }
    }

    /// True if what was sent to the node that takes new flows has had no answer for so long.
    pub fn is_silent(&self, after: Duration) -> bool {
        let now = self.now();
        let Some(peer) = self.peer().map(|peer| peer.id) else { return false };
        let inside = self.lock();
        if peer.is_pooled() {
            let mut lanes =
                inside.lanes.iter().filter(|(id, _)| inside.pool.peer_of(**id) == Some(peer)).peekable();
            return lanes.peek().is_some() && lanes.all(|(_, lane)| lane.is_silent(after));
        }
        let unanswered = inside.hop.unanswered(now, peer).unwrap_or_default();
        // While the hop works, something comes each `keep_alive`.
        unanswered >= after || inside.hop.silence(now, peer) >= Some(after + inside.keep_alive)
    }

    /// True if the tunnel is up over QUIC and not silent.
    pub fn quic_answers(&self) -> bool {
        let now = self.now();
        let inside = self.lock();
        inside.peers.iter().any(|peer| !peer.id.is_pooled() && inside.answers(now, peer.id))
    }

    /// Gives up QUIC connections that are silent for so long while TCP passes.
    pub fn give_up_blocked(&self, after: std::time::Duration) {
        let now = self.now();
        let mut inside = self.lock();
        let pooled = |key| inside.peers.iter().any(|peer| peer.id.is_pooled() && peer.key == key);
        let silent =
            |id| inside.hop.silence(now, id).is_some_and(|time| time.as_nanos() > after.as_nanos() as u64);
        let blocked: Vec<PeerId> = inside
            .peers
            .iter()
            .filter(|peer| !peer.id.is_pooled() && pooled(peer.key) && silent(peer.id))
            .map(|peer| peer.id)
            .collect();
        for id in &blocked {
            inside.hop.give_up(now, *id, "UDP is blocked, TCP is not");
        }
        inside.take_events(self.now());
        drop(inside);
        if !blocked.is_empty() {
            self.wake.notify_one();
        }
    }

    /// A TCP connection to a node was made, by this one if `opener`.
    pub fn add_lane(
        &self,
        key: Option<[u8; 32]>,
        address: SocketAddr,
        opener: bool,
        stream: Arc<TcpStream>,
    ) -> (LaneId, Arc<LaneWake>) {
        let mut inside = self.lock();
        let id = inside.pool.connected(key, address, opener);
        let wake = Arc::new(LaneWake { notify: Notify::new(), stop: AtomicBool::new(false), stream });
        inside.lanes.insert(id, wake.clone());
        (id, wake)
    }

    /// It is over.
    pub fn remove_lane(&self, id: LaneId, reason: &str) {
        let mut inside = self.lock();
        inside.lanes.remove(&id);
        inside.pool.disconnected(id, reason);
        inside.take_events(self.now());
        drop(inside);
        self.wake.notify_one();
    }

    /// It has received something.
    pub fn lane_received(&self, id: LaneId, bytes: &[u8]) -> Result<(), &'static str> {
        let mut inside = self.lock();
        let changes = inside.changes;
        let result = inside.pool.received(id, bytes);
        inside.take_events(self.now());
        // Where only TCP passes, nothing else may happen for long.
        let news = !inside.incoming.is_empty() || inside.changes != changes;
        drop(inside);
        if news {
            self.wake.notify_one();
        }
        result
    }

    /// Appends what it is to send.
    pub fn lane_to_send(&self, id: LaneId, most: usize, out: &mut Vec<u8>) {
        let now = self.now();
        let mut inside = self.lock();
        inside.pool.to_send(now, id, most, out);
        inside.take_events(self.now());
    }

    /// The rate that the hub has set for this terminal, over QUIC.
    pub fn bound_rate(&self) -> Option<Rate> {
        let inside = self.lock();
        let of = |peer: &PeerInfo| inside.hop.stats(peer.id)?.bound_rate;
        inside.peers.iter().filter(|peer| !peer.id.is_pooled()).find_map(of)
    }

    /// Lets those in who have these keys, and nobody else. Others are disconnected, with all their connections.
    pub fn trust(&self, keys: Vec<PublicKey>) {
        self.trusted.set(keys);
        let now = self.now();
        let mut inside = self.lock();
        let known = |peer: &PeerInfo| peer.key.is_some_and(|key| self.trusted.contains(&PublicKey(key)));
        let revoked: Vec<PeerId> =
            inside.peers.iter().filter(|peer| !known(peer)).map(|peer| peer.id).collect();
        for id in &revoked {
            if !id.is_pooled() {
                inside.hop.give_up(now, *id, "its key is not in the configuration any more");
            }
        }
        for (lane, wake) in &inside.lanes {
            if inside.pool.peer_of(*lane).is_some_and(|peer| revoked.contains(&peer)) {
                wake.stop();
            }
        }
        inside.take_events(self.now());
        drop(inside);
        self.wake.notify_one();
    }

    /// Names for the log, by public key.
    pub fn set_names(&self, names: HashMap<[u8; 32], String>) {
        self.lock().names = names;
    }

    /// Other rates: to begin with, and never exceeded.
    pub fn set_rates(&self, send: Option<Rate>, most: Option<Rate>) {
        self.lock().hop.set_rates(send, most);
        self.lane_rate.set(send);
        self.wake.notify_one();
    }

    /// Other classes of flows; they hold over QUIC.
    pub fn set_classes(&self, classes: BTreeMap<u16, Portion>) {
        self.lock().hop.set_classes(classes);
        self.wake.notify_one();
    }

    /// The class of a flow from now on; over TCP there are none.
    pub fn classify(&self, flow: FlowId, class: u16) {
        if !flow.is_pooled() {
            self.lock().hop.classify(flow, class);
            self.wake.notify_one();
        }
    }

    /// What terminals may have of this hub; over TCP, no part of its rate.
    pub fn grant(&self, total: Option<Rate>, peers: &[(PeerId, Portion, Bounds)]) {
        let mut inside = self.lock();
        inside.hop.set_total(total);
        for (peer, portion, _) in peers.iter().filter(|(peer, ..)| !peer.is_pooled()) {
            inside.hop.set_portion(*peer, *portion);
        }
        drop(inside);
        self.set_bounds(peers.iter().map(|(peer, _, bounds)| (*peer, *bounds)));
    }

    /// What terminals may open and send; those of earlier releases are not bound by it.
    pub fn set_bounds(&self, bounds: impl Iterator<Item = (PeerId, Bounds)>) {
        let mut inside = self.lock();
        for (peer, bounds) in bounds {
            if peer.is_pooled() {
                inside.pool.set_bounds(peer, bounds);
            } else {
                inside.hop.set_bounds(peer, bounds);
            }
        }
        inside.take_events(self.now());
        drop(inside);
        self.wake.notify_one();
    }

    /// The round trip to the node that takes new flows, as far as QUIC has measured it.
    pub fn rtt(&self) -> Option<std::time::Duration> {
        let peer = self.peer()?.id;
        let stats = self.lock().hop.stats(peer)?;
        Some(std_time(stats.base_rtt))
    }

    /// Flows that can still be opened to the node that takes new ones, by a node that holds so many connections.
    pub fn room(&self, held: usize) -> Option<usize> {
        let (peer, peers) = (self.peer()?, self.peers());
        let of = |other: &PeerInfo| other.key == peer.key;
        let same = peers.into_iter().filter(|(other, _)| of(other));
        let (own, others): (Vec<_>, Vec<_>) = same.partition(|(other, _)| other.id == peer.id);
        let others: Vec<PeerStats> = others.into_iter().map(|(_, stats)| stats).collect();
        own.first().map(|(_, stats)| room(stats, &others, held))
    }

    /// Somebody has opened a connection and shown no key that is known. The first in a while is logged, others are counted.
    pub fn count_stranger(&self, what: &str) {
        let now = self.now();
        self.lock().strangers.add(now, what);
    }

    /// Strangers since the last call that were not logged, and what became of the last one.
    pub fn strangers(&self) -> Option<(u64, String)> {
        let mut inside = self.lock();
        let crowded = inside.hop.crowded();
        let new = crowded.count - std::mem::replace(&mut inside.crowded, crowded.count);
        if let (Some(last), true) = (crowded.last, new > 0) {
            inside.strangers.count += new;
            inside.strangers.last = format!("{last}: as many strangers as there may be are served");
        }
        let count = std::mem::take(&mut inside.strangers.count);
        (count > 0).then(|| (count, std::mem::take(&mut inside.strangers.last)))
    }

    /// Terminals that found no place at this hub.
    pub fn turned_away(&self) -> longhaul_hop::TurnedAway {
        self.lock().hop.turned_away()
    }

    /// A hub has refused to look a name up. True the first time.
    pub fn looks_nothing_up(&self, id: PeerId) -> bool {
        let mut inside = self.lock();
        let peer = inside.peers.iter_mut().find(|peer| peer.id == id);
        peer.is_some_and(|peer| std::mem::take(&mut peer.looks_up))
    }

    /// TCP connections that are open.
    pub fn lanes(&self) -> usize {
        self.lock().lanes.len()
    }

    /// Closes TCP connections that carry nothing.
    pub fn close_idle_lanes(&self) {
        let inside = self.lock();
        for (id, wake) in inside.lanes.iter().filter(|(id, _)| inside.pool.flows_of(**id) == 0) {
            tracing::debug!(lane = ?id, "closed: QUIC carries all");
            wake.stop();
        }
    }

    /// TCP takes new flows as far as it passes, or QUIC does.
    pub fn prefer_tcp(&self, prefers: bool) {
        self.prefers_tcp.store(prefers, Ordering::Relaxed);
    }

    /// What flows have carried over QUIC and over TCP.
    pub fn counts(&self) -> [Counts; 2] {
        let inside = self.lock();
        let of = |ledger: longhaul_hop::Ledger, pooled: bool| {
            let peers = inside.peers.iter().map(|peer| peer.id).filter(|id| id.is_pooled() == pooled);
            let stats =
                peers.filter_map(|id| if pooled { inside.pool.stats(id) } else { inside.hop.stats(id) });
            let first = Counts { down: ledger.read, up: ledger.delivered, ..Counts::default() };
            stats.fold(first, |counts, stats| Counts {
                unread: counts.unread + stats.readable,
                queued: counts.queued + stats.queued,
                waited: (
                    counts.waited.0 + std_time(stats.peer_waited),
                    counts.waited.1 + std_time(stats.waited),
                ),
                ..counts
            })
        };
        [of(inside.hop.ledger(), false), of(inside.pool.ledger(), true)]
    }

    /// All nodes to which it is up, with measurements.
    pub fn peers(&self) -> Vec<(PeerInfo, PeerStats)> {
        let inside = self.lock();
        let stats = |id: PeerId| if id.is_pooled() { inside.pool.stats(id) } else { inside.hop.stats(id) };
        inside.peers.iter().filter_map(|peer| Some((*peer, stats(peer.id)?))).collect()
    }

    /// UDP payload of full packets to all nodes to which it is up over QUIC.
    pub fn packet_sizes(&self) -> Vec<(PeerInfo, u16)> {
        let inside = self.lock();
        inside.peers.iter().filter_map(|peer| Some((*peer, inside.hop.packet_size(peer.id)?))).collect()
    }

    /// What to keep of the ways to other nodes for the next start.
    pub fn remembered(&self) -> Vec<([u8; 32], Remembered)> {
        let inside = self.lock();
        let one = |peer: &PeerInfo| Some((peer.key?, inside.hop.remembered(peer.id)?));
        inside.peers.iter().filter_map(one).collect()
    }

    /// Bytes of all flows.
    pub fn ledger(&self) -> longhaul_hop::Ledger {
        let inside = self.lock();
        inside.hop.ledger() + inside.pool.ledger()
    }

    /// Opens a flow to a node.
    pub fn open(self: &Arc<Self>, peer: PeerId, open: Open) -> Result<HopLeg, Refusal> {
        let now = self.now();
        let mut inside = self.lock();
        let flow = inside.carrier(peer.is_pooled()).open(now, peer, open)?;
        inside.slots.insert(flow, Slot::default());
        inside.take_events(self.now());
        drop(inside);
        self.wake.notify_one();
        Ok(HopLeg { tunnel: self.clone(), flow, dscp: open.dscp, class: 0, over: false })
    }

    /// Closes the tunnel; the goodbye is on its way when this returns.
    pub async fn close(&self) {
        let now = self.now();
        {
            let mut inside = self.lock();
            inside.hop.close(now);
            inside.pool.close();
            inside.take_events(self.now());
        }
        self.wake.notify_one();
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }

    /// Moves datagrams, for ever. New flows go to `incoming`; `changed` is notified when a node came or went.
    pub async fn drive(
        self: Arc<Self>,
        incoming: mpsc::UnboundedSender<Incoming>,
        changed: Arc<Notify>,
    ) -> Result<(), Error> {
        let failed = |why: nix::Error| Error::system("set a timer", why);
        let timer = sys::watched(Timer::new().map_err(failed)?)
            .map_err(|why| Error::system("wait for a timer", why))?;
        let mut buffer = Vec::with_capacity(1 << 16);
        let mut changes = 0;
        loop {
            let sent = self.send(&mut buffer).await;
            let (timeout, news) = {
                let mut inside = self.lock();
                let news = inside.changes != changes;
                changes = inside.changes;
                (inside.hop.poll_timeout(), news)
            };
            if news {
                changed.notify_one();
            }
            for leg in self.new_flows() {
                let _ = incoming.send(leg);
            }
            if sent {
                // There may be more; the socket is read in between, for which the runtime has to look at it.
                tokio::task::yield_now().await;
                self.take_in();
                continue;
            }
            timer
                .get_ref()
                .set(timeout.map(|timeout| timeout.since(self.now()).as_nanos()))
                .map_err(failed)?;
            tokio::select! {
                ready = timer.readable() => if let Ok(mut ready) = ready { ready.clear_ready() },
                () = self.udp.may_receive() => self.take_in(),
                () = self.wake.notified() => {}
            }
            let now = self.now();
            let mut inside = self.lock();
            if inside.hop.poll_timeout().is_some_and(|timeout| timeout <= now) {
                inside.hop.handle_timeout(now);
            }
            for closed in self.udp.take_closed() {
                tracing::debug!(address = %closed.address, "the port is closed");
                inside.hop.port_is_closed(now, closed.address, &closed.quoted);
            }
            inside.take_events(self.now());
        }
    }

    /// Sends what may leave; true if there may be more.
    async fn send(&self, buffer: &mut Vec<u8>) -> bool {
        for _ in 0..AT_ONCE {
            let transmit = {
                let now = self.now();
                let mut inside = self.lock();
                let transmit = inside.hop.poll_transmit(now, buffer);
                inside.take_events(self.now());
                transmit
            };
            match transmit {
                Some(transmit) => self.udp.send(&transmit, &buffer[..transmit.len]).await,
                None => return false,
            }
        }
        true
    }

    /// Takes the datagrams that are there, each copied once: QUIC decrypts it in place.
    fn take_in(&self) {
        self.udp.receive(|received| {
            let now = self.now();
            let mut inside = self.lock();
            let (from, to, ecn) = (received.from, received.to, received.ecn);
            inside.hop.handle_datagrams(now, from, to, ecn, received.stride, received.bytes);
            inside.take_events(self.now());
        });
    }

    fn new_flows(self: &Arc<Self>) -> Vec<Incoming> {
        let mut inside = self.lock();
        let news = std::mem::take(&mut inside.incoming);
        let leg =
            |flow, open: Open| HopLeg { tunnel: self.clone(), flow, dscp: open.dscp, class: 0, over: false };
        let flows = news.into_iter();
        flows.map(|(flow, open, key, peer)| Incoming { leg: leg(flow, open), open, key, peer }).collect()
    }
}

/// Flows that can still be opened over a carrier to a node that has others too. A hub permits a number of flows over all of them; a new
/// carrier has no record of it at first. What of the connections that are held has no flow yet will have one.
fn room(own: &PeerStats, others: &[PeerStats], held: usize) -> usize {
    let flows = others.iter().fold(own.flows, |sum, other| sum.saturating_add(other.flows));
    let to_come = held.saturating_sub(flows as usize);
    let here = own.max_flows.saturating_sub(own.flows);
    let bound = own.bound.or_else(|| others.iter().find_map(|other| other.bound));
    let room = bound.map_or(here, |bound| bound.saturating_sub(flows).min(here));
    (room as usize).saturating_sub(to_come)
}

/// What to tell the operator if one connection cannot fill the link: less than a round trip of the rate may be under way.
fn short_credit(stats: &PeerStats) -> Option<String> {
    let needed = stats.rate.bytes_in(stats.base_rtt).as_bytes();
    if stats.credit == 0 || stats.credit >= needed {
        return None;
    }
    let most = stats.rate.as_bps() as f64 * stats.credit as f64 / needed as f64;
    Some(format!(
        "one connection sends at most {} of {}: a credit of {} is less than a round trip of {}; state the link's \
         rates (send_rate and receive_rate in [hop]) or a larger credit at both nodes",
        Rate::from_bps(most as u64 / 100_000 * 100_000),
        stats.rate,
        crate::load::bytes(stats.credit),
        Duration::from_millis(stats.base_rtt.as_nanos() / 1_000_000)
    ))
}

impl Inside {
    fn carrier(&mut self, pooled: bool) -> &mut dyn Hauler {
        if pooled { &mut self.pool } else { &mut self.hop }
    }

    /// A node in the log: a terminal's name, else the begin of its key.
    fn name(&self, key: Option<[u8; 32]>) -> Option<String> {
        key.map(|key| self.names.get(&key).cloned().unwrap_or_else(|| crate::keys::to_hex(&key[..4])))
    }

    fn knows(&self, peer: PeerId) -> bool {
        self.peers.iter().any(|other| other.id == peer)
    }

    /// True if a QUIC connection is not silent for longer than it is in quiet times.
    fn answers(&self, now: Instant, id: PeerId) -> bool {
        let Some(stats) = self.hop.stats(id) else { return false };
        let quiet = self.keep_alive + stats.rtt + stats.rtt + Duration::from_secs(1);
        self.hop.silence(now, id).is_some_and(|silence| silence < quiet)
    }

    /// Takes up what the carriers report, and wakes those that have something to do.
    fn take_events(&mut self, now: Instant) {
        while let Some(event) = self.hop.poll_event().or_else(|| self.pool.poll_event()) {
            self.take_event(now, event);
        }
        for id in self.pool.with_output() {
            if let Some(wake) = self.lanes.get(&id) {
                wake.notify.notify_one();
            }
        }
    }

    fn take_event(&mut self, now: Instant, event: Event) {
        {
            match event {
                Event::Connected { .. } => {}
                Event::Up { peer, key, version, address } => {
                    let name = self.name(key);
                    let over = if peer.is_pooled() { "TCP" } else { "QUIC" };
                    tracing::info!(%address, version, over, node = name.as_deref(), "tunnel is up");
                    if let Some(what) = self.hop.stats(peer).as_ref().and_then(short_credit) {
                        tracing::warn!(%address, "{what}");
                    }
                    self.changes += 1;
                    let looks_up = version >= longhaul_hop::wire::NAMES;
                    self.peers.push(PeerInfo { id: peer, key, address, looks_up });
                }
                Event::Down { peer, reason } if self.is_hub && !self.knows(peer) => {
                    self.strangers.add(now, &format!("{reason}{}", help_for(&reason)));
                }
                Event::Down { peer, reason } => {
                    let over = if peer.is_pooled() { "TCP" } else { "QUIC" };
                    let help = help_for(&reason);
                    let known = self.peers.iter().find(|other| other.id == peer);
                    let (name, address) =
                        (known.and_then(|known| self.name(known.key)), known.map(|known| known.address));
                    let address = address.or(self.hub).map(tracing::field::display);
                    tracing::warn!(address, over, node = name.as_deref(), "tunnel is down: {reason}{help}");
                    self.changes += 1;
                    self.peers.retain(|other| other.id != peer);
                }
                Event::Opened { flow, peer, open } => {
                    let key = self.peers.iter().find(|other| other.id == peer).and_then(|other| other.key);
                    self.slots.insert(flow, Slot::default());
                    self.incoming.push_back((flow, open, key, peer));
                }
                Event::Bounded { .. } => self.changes += 1,
                Event::Accepted { flow } => self.with(flow, |slot| slot.accepted = true),
                Event::Readable { flow } | Event::Writable { flow } => self.with(flow, |_| {}),
                Event::Finished { flow } => self.with(flow, |slot| slot.finished = true),
                Event::Delivered { flow } => self.with(flow, |slot| slot.delivered = true),
                Event::Refused { flow, reason } => self.with(flow, |slot| slot.over = Some(reason)),
                Event::Reset { flow, code, undelivered } => {
                    self.with(flow, |slot| (slot.over, slot.undelivered) = (Some(code), undelivered));
                }
            }
        }
    }

    fn with(&mut self, flow: FlowId, change: impl FnOnce(&mut Slot)) {
        if let Some(slot) = self.slots.get_mut(&flow) {
            change(slot);
            slot.wake();
        }
    }
}

/// What helps if a handshake failed for the keys (TLS alerts 42 to 49), or the hub has no place (RFC 9000, CONNECTION_REFUSED).
fn help_for(reason: &str) -> &'static str {
    if reason.contains("refused to accept a new connection") {
        return "; the hub has no place for another terminal (hop.terminals at the hub)";
    }
    if reason.contains("cryptographic handshake failed: error 4") {
        "; the keys do not match: hub_key at the terminal must be the hub's public key, and key in a [[terminal]] at the hub the \
         terminal's (`longhaul-pep keygen --show FILE` prints it)"
    } else {
        ""
    }
}

/// The side of a connection that goes through the tunnel. Dropped, it is reset.
pub(crate) struct HopLeg {
    tunnel: Arc<Tunnel>,
    flow: FlowId,
    dscp: u8,
    class: u16,
    over: bool,
}

impl Drop for HopLeg {
    fn drop(&mut self) {
        self.end(Some(ResetCode::Reset));
    }
}

/// How the other node's reason looks to the relay.
fn error_of(code: ResetCode) -> io::Error {
    let kind = match code {
        ResetCode::ConnectionRefused => io::ErrorKind::ConnectionRefused,
        ResetCode::TimedOut | ResetCode::Unreachable => io::ErrorKind::HostUnreachable,
        ResetCode::Denied => io::ErrorKind::PermissionDenied,
        ResetCode::NotOffered => io::ErrorKind::Unsupported,
        ResetCode::HopDown | ResetCode::Closing => io::ErrorKind::NotConnected,
        _ => io::ErrorKind::ConnectionReset,
    };
    io::Error::new(kind, format!("{code:?}"))
}

impl HopLeg {
    /// Gives a flow that this node has opened its class.
    pub fn classify(&mut self, class: u16) {
        if class > 0 {
            self.class = class;
            self.tunnel.classify(self.flow, class);
        }
    }

    /// What others need to count and to classify it.
    pub fn carried(&self) -> InTunnel {
        let (tunnel, class) = (self.tunnel.clone(), AtomicU16::new(self.class));
        InTunnel { tunnel, flow: self.flow, dscp: self.dscp, class }
    }

    /// Lets the other node's flow begin.
    pub fn accept(&self) {
        let mut inside = self.tunnel.lock();
        inside.carrier(self.flow.is_pooled()).accept(self.flow);
        drop(inside);
        self.tunnel.wake.notify_one();
    }

    /// Refuses it.
    pub fn refuse(mut self, code: ResetCode) {
        let now = self.tunnel.now();
        let mut inside = self.tunnel.lock();
        inside.carrier(self.flow.is_pooled()).refuse(now, self.flow, code);
        inside.slots.remove(&self.flow);
        inside.take_events(self.tunnel.now());
        drop(inside);
        self.over = true;
        self.tunnel.wake.notify_one();
    }

    /// Waits for the other node's answer.
    pub async fn answered(&self) -> io::Result<()> {
        std::future::poll_fn(|cx| {
            let mut inside = self.tunnel.lock();
            match inside.slots.get_mut(&self.flow) {
                None => Poll::Ready(Err(io::ErrorKind::NotConnected.into())),
                Some(Slot { over: Some(code), .. }) => Poll::Ready(Err(error_of(*code))),
                Some(Slot { accepted: true, .. }) => Poll::Ready(Ok(())),
                Some(slot) => {
                    slot.reader = Some(cx.waker().clone());
                    Poll::Pending
                }
            }
        })
        .await
    }

    /// Waits until the other node gives the flow up.
    pub async fn given_up(&self) {
        std::future::poll_fn(|cx| match self.tunnel.lock().slots.get_mut(&self.flow) {
            Some(slot) if slot.over.is_none() => {
                slot.reader = Some(cx.waker().clone());
                Poll::Pending
            }
            _ => Poll::Ready(()),
        })
        .await;
    }

    fn end(&mut self, code: Option<ResetCode>) {
        if std::mem::replace(&mut self.over, true) {
            return;
        }
        let now = self.tunnel.now();
        let mut inside = self.tunnel.lock();
        let slot = inside.slots.remove(&self.flow);
        if let (Some(code), Some(Slot { over: None, .. })) = (code, slot) {
            inside.carrier(self.flow.is_pooled()).reset(now, self.flow, code);
            inside.take_events(self.tunnel.now());
        }
        drop(inside);
        self.tunnel.wake.notify_one();
    }

    fn slot<T>(&self, read: impl FnOnce(&Slot) -> T) -> Option<T> {
        self.tunnel.lock().slots.get(&self.flow).map(read)
    }
}

impl Leg for HopLeg {
    fn poll_read(&mut self, cx: &mut Context, room: &mut [u8]) -> Poll<io::Result<usize>> {
        let now = self.tunnel.now();
        let mut inside = self.tunnel.lock();
        let filled = inside.carrier(self.flow.is_pooled()).read_into(now, self.flow, room);
        inside.take_events(self.tunnel.now());
        let Some(slot) = inside.slots.get_mut(&self.flow) else {
            return Poll::Ready(Err(io::ErrorKind::NotConnected.into()));
        };
        if filled > 0 {
            drop(inside);
            self.tunnel.wake.notify_one();
            return Poll::Ready(Ok(filled));
        }
        if let Some(code) = slot.over {
            return Poll::Ready(Err(error_of(code)));
        }
        if slot.finished {
            return Poll::Ready(Ok(0));
        }
        slot.reader = Some(cx.waker().clone());
        Poll::Pending
    }

    fn poll_write(&mut self, cx: &mut Context, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let now = self.tunnel.now();
        let mut inside = self.tunnel.lock();
        let room = inside.carrier(self.flow.is_pooled()).writable(self.flow).clamp(1, bytes.len());
        let mut offered = Bytes::copy_from_slice(&bytes[..room]);
        let n = inside.carrier(self.flow.is_pooled()).write(now, self.flow, &mut offered);
        inside.take_events(self.tunnel.now());
        let Some(slot) = inside.slots.get_mut(&self.flow) else {
            return Poll::Ready(Err(io::ErrorKind::NotConnected.into()));
        };
        if let Some(code) = slot.over {
            return Poll::Ready(Err(error_of(code)));
        }
        if n == 0 {
            slot.writer = Some(cx.waker().clone());
            return Poll::Pending;
        }
        drop(inside);
        self.tunnel.wake.notify_one();
        Poll::Ready(Ok(n))
    }

    fn has_pipes(&self) -> bool {
        false
    }

    fn poll_fill(&mut self, _cx: &mut Context, _pipe: &mut Pipe) -> Poll<io::Result<usize>> {
        Poll::Ready(Ok(0))
    }

    fn poll_drain(&mut self, _cx: &mut Context, _pipe: &mut Pipe) -> Poll<io::Result<usize>> {
        Poll::Ready(Err(io::ErrorKind::Unsupported.into()))
    }

    fn finish(&mut self) -> io::Result<()> {
        let now = self.tunnel.now();
        let mut inside = self.tunnel.lock();
        inside.carrier(self.flow.is_pooled()).finish(now, self.flow);
        inside.take_events(self.tunnel.now());
        drop(inside);
        self.tunnel.wake.notify_one();
        Ok(())
    }

    /// Not known for a flow; the ledger of the tunnel counts what was written and not delivered.
    fn unacknowledged(&self) -> usize {
        0
    }

    /// The other node counts it as under way until it is read.
    fn unread(&self) -> usize {
        0
    }

    fn is_flushed(&self) -> bool {
        self.slot(|slot| slot.delivered).unwrap_or(true)
    }

    fn reset_behind(&mut self) {
        let now = self.tunnel.now();
        let mut inside = self.tunnel.lock();
        inside.carrier(self.flow.is_pooled()).reset_behind(now, self.flow, ResetCode::Reset);
        inside.take_events(self.tunnel.now());
        drop(inside);
        self.tunnel.wake.notify_one();
    }

    fn is_delivered(&self) -> bool {
        let over = |slot: &Slot| slot.delivered || slot.over.is_some();
        self.undelivered() == 0 || self.slot(over).unwrap_or(true)
    }

    fn undelivered(&self) -> usize {
        let mut inside = self.tunnel.lock();
        let known = inside.slots.get(&self.flow).filter(|slot| slot.over.is_some());
        let bytes = match known.map(|slot| slot.undelivered) {
            Some(bytes) => bytes,
            None => inside.carrier(self.flow.is_pooled()).undelivered(self.flow),
        };
        usize::try_from(bytes).unwrap_or(usize::MAX)
    }

    fn error(&self) -> Option<io::Error> {
        self.slot(|slot| slot.over).flatten().map(error_of)
    }

    fn close(mut self) {
        self.end(None);
    }

    fn reset(mut self) {
        self.end(Some(ResetCode::Reset));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A hub's bound holds for both carriers together, from the first moment of the second one.
    #[test]
    fn a_terminal_that_changes_its_carrier_keeps_its_room() {
        let carrier = |flows, bound| PeerStats { max_flows: 100, flows, bound, ..PeerStats::default() };
        let (quic, tcp) = (carrier(20, Some(50)), carrier(5, None));
        assert_eq!(room(&quic, &[], 0), 30);
        assert_eq!((room(&quic, &[tcp], 0), room(&tcp, &[quic], 0)), (25, 25));
        assert_eq!(
            room(&carrier(5, Some(60)), &[quic], 0),
            35,
            "its own is newer than that of one that is silent"
        );
        assert_eq!(room(&carrier(30, Some(40)), &[quic], 0), 0);
        assert_eq!(
            room(&carrier(98, None), &[carrier(7, None)], 0),
            2,
            "a hub of the release before sends none"
        );
    }

    /// Connections that have arrived take room before they have a flow: with more grants than room, some were reset.
    #[test]
    fn connections_that_have_no_flow_yet_take_room() {
        let carrier = |flows, bound| PeerStats { max_flows: 100, flows, bound, ..PeerStats::default() };
        let (quic, tcp) = (carrier(20, Some(50)), carrier(5, None));
        assert_eq!([0, 20, 30, 50, 60].map(|held| room(&quic, &[], held)), [30, 30, 20, 0, 0]);
        assert_eq!([25, 30].map(|held| room(&tcp, &[quic], held)), [25, 20]);
    }

    #[test]
    fn a_credit_that_does_not_fill_the_link_is_named() {
        // A terminal that knows 3 Mbit/s up only, at a hub that sends 249.25 Mbit/s: the least default credit.
        let stats = PeerStats {
            rate: Rate::from_bps(249_250_000),
            base_rtt: Duration::from_millis(650),
            credit: 16 << 20,
            ..PeerStats::default()
        };
        let found = short_credit(&stats).unwrap();
        assert!(found.starts_with("one connection sends at most 206.4 Mbit/s of 249.25 Mbit/s"), "{found}");
        assert!(found.contains("a credit of 16 MiB is less than a round trip of 650 ms"), "{found}");
        assert_eq!(short_credit(&PeerStats { credit: 100 << 20, ..stats }), None);
        assert_eq!(short_credit(&PeerStats { rate: Rate::from_bps(50_000_000), ..stats }), None);
    }
}
