//! All connections of this node: who may come in, what they have carried, how they ended.

use crate::config::Limits;
use crate::flow::{End, Flow, Ledger};
use crate::page::hosts::{Carried, Hosts};
use crate::page::saved::PAUSE;
use crate::tunnel::Tunnel;
use longhaul_hop::FlowId;
use portable_atomic::AtomicU64;
use serde::Serialize;
use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU16, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};
use std::time::{Duration, Instant};

/// How a connection came in.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Entrance {
    Intercepted,
    Socks,
    HttpConnect,
    Forward,
    Tunnel,
}

/// Who is on both sides.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ends {
    pub entrance: Entrance,
    pub client: SocketAddr,
    pub server: SocketAddr,
}

/// State of a connection, for those who look.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub(crate) enum State {
    Opening,
    Open,
    HalfClosed,
    Closing,
}

/// All states.
/// How a connection goes on from this node.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Onward {
    /// Through the tunnel to the other node.
    Tunnel,
    /// By a connection of this node to the server.
    Direct,
}

pub(crate) const STATES: [State; 4] = [State::Opening, State::Open, State::HalfClosed, State::Closing];

/// What carries a connection through the tunnel.
pub(crate) struct InTunnel {
    pub tunnel: Arc<Tunnel>,
    pub flow: FlowId,
    /// Code point of the client's first packet.
    pub dscp: u8,
    /// Its class in the hop.
    pub class: AtomicU16,
}

/// A connection that is alive.
pub(crate) struct Entry {
    pub id: u64,
    pub ends: Ends,
    pub since: Instant,
    /// This node's address of the connection to the server, if it has one of its own.
    pub outward: OnceLock<SocketAddr>,
    /// Once the server's side is open.
    pub onward: OnceLock<Onward>,
    /// This node's address that the client connected to, if it is not the server's.
    pub proxy: OnceLock<SocketAddr>,
    /// The server as it was reached, where that differs: another address of its name, or the name that the hub looks up.
    pub reached: OnceLock<String>,
    /// The flow of the tunnel that carries it, at a terminal.
    pub carried: OnceLock<InTunnel>,
    /// Bytes of it that its class has counted.
    pub counted: AtomicU64,
    /// A ceiling or a used-up quota has slowed it down.
    pub bounded: AtomicBool,
    /// Bytes in the kernel's buffers that senders take for delivered, at the last look.
    pub in_kernel: AtomicUsize,
    /// The time to the server's answer.
    pub connected: OnceLock<Duration>,
    /// Microseconds after `since` at which the client got its last bytes, and those of them without long pauses.
    delivered: AtomicU64,
    busy: AtomicU64,
    state: AtomicU8,
    flow: Mutex<Flow>,
}

impl Entry {
    /// The client gets bytes now.
    pub fn deliver(&self) {
        let now = self.since.elapsed().as_micros() as u64;
        let gap = now.saturating_sub(self.delivered.swap(now, Ordering::Relaxed));
        self.busy.fetch_add(gap.min(PAUSE.as_micros() as u64), Ordering::Relaxed);
    }

    /// The time to the client's last bytes, of each pause [`PAUSE`] at most.
    pub fn busy(&self) -> Duration {
        Duration::from_micros(self.busy.load(Ordering::Relaxed))
    }

    pub fn flow(&self) -> MutexGuard<'_, Flow> {
        lock(&self.flow)
    }

    /// The server's address, or its name, with the port.
    pub fn server(&self) -> String {
        self.reached.get().cloned().unwrap_or_else(|| self.ends.server.to_string())
    }

    pub fn set_state(&self, state: State) {
        self.state.store(state as u8, Ordering::Relaxed);
    }

    pub fn state(&self) -> State {
        STATES[usize::from(self.state.load(Ordering::Relaxed)).min(STATES.len() - 1)]
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing under these locks panics half-way through a change.
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Why a connection is not taken on.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Refusal {
    /// As many as there may be.
    Full,
    /// As many from this client as there may be.
    SourceFull,
}

/// Numbers since the start.
#[derive(Clone, Debug, Default)]
pub(crate) struct Totals {
    /// Bytes of connections that have ended, and of those alive.
    pub up: Ledger,
    pub down: Ledger,
    /// Connections by how they ended.
    pub ended: HashMap<End, u64>,
    pub refused: HashMap<Refusal, u64>,
    pub accepted: u64,
    /// Bytes in the kernel's buffers that senders take for delivered.
    pub in_kernel: u64,
    /// Connections alive, by state.
    pub states: HashMap<State, u64>,
    /// Times to connect to servers, and to their first byte, in buckets.
    pub connect_time: Histogram,
    pub first_byte: Histogram,
}

/// Upper bounds of the buckets, in seconds.
pub(crate) const BUCKETS: [f64; 12] = [0.001, 0.005, 0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 1.0, 2.0, 5.0, 10.0];

/// Counts of times; each bucket is without those before it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Histogram {
    pub counts: [u64; BUCKETS.len() + 1],
    pub sum: f64,
}

impl Histogram {
    pub fn add(&mut self, time: Duration) {
        let seconds = time.as_secs_f64();
        self.counts[BUCKETS.iter().position(|bound| seconds <= *bound).unwrap_or(BUCKETS.len())] += 1;
        self.sum += seconds;
    }
}

struct Inside {
    next: u64,
    alive: HashMap<u64, Arc<Entry>>,
    per_source: HashMap<IpAddr, usize>,
    /// Of connections that have ended.
    past: Totals,
    hosts: Hosts,
}

impl Inside {
    fn insert(&mut self, ends: Ends) -> Arc<Entry> {
        let id = self.next;
        self.next += 1;
        self.past.accepted += 1;
        let entry = Arc::new(Entry {
            id,
            ends,
            since: Instant::now(),
            outward: OnceLock::new(),
            onward: OnceLock::new(),
            proxy: OnceLock::new(),
            reached: OnceLock::new(),
            carried: OnceLock::new(),
            counted: AtomicU64::new(0),
            bounded: AtomicBool::new(false),
            in_kernel: AtomicUsize::new(0),
            connected: OnceLock::new(),
            delivered: AtomicU64::new(0),
            busy: AtomicU64::new(0),
            state: AtomicU8::new(State::Opening as u8),
            flow: Mutex::default(),
        });
        self.alive.insert(id, entry.clone());
        *self.per_source.entry(ends.client.ip().to_canonical()).or_default() += 1;
        entry
    }
}

fn carried(flow: &Flow, is_open: bool) -> Carried {
    let (down, up) = (flow.down.ledger().sent, flow.up.ledger().sent);
    Carried { open: u64::from(is_open), ended: u64::from(!is_open), down, up }
}

/// All connections.
pub(crate) struct Table {
    limits: Mutex<Limits>,
    inside: Mutex<Inside>,
}

impl Table {
    pub fn new(limits: Limits) -> Table {
        let inside = Inside {
            next: 1,
            alive: HashMap::new(),
            per_source: HashMap::new(),
            past: Totals::default(),
            hosts: Hosts::default(),
        };
        Table { limits: Mutex::new(limits), inside: Mutex::new(inside) }
    }

    /// The bounds that hold now.
    pub fn limits(&self) -> Limits {
        *lock(&self.limits)
    }

    /// Other bounds; connections that are alive stay.
    pub fn set_limits(&self, limits: Limits) {
        *lock(&self.limits) = limits;
    }

    /// Takes a connection on, if there is room.
    pub fn enter(&self, ends: Ends) -> Result<Arc<Entry>, Refusal> {
        let limits = self.limits();
        let mut inside = lock(&self.inside);
        let source = ends.client.ip().to_canonical();
        let of_source = inside.per_source.get(&source).copied().unwrap_or(0);
        let refusal = if inside.alive.len() >= limits.most(ends.entrance == Entrance::Tunnel) {
            Some(Refusal::Full)
        } else {
            // At a hub, terminals keep to the bound, and serve what their kernels have accepted beyond it.
            let known = ends.entrance != Entrance::Tunnel;
            (known && of_source >= limits.flows_per_source).then_some(Refusal::SourceFull)
        };
        if let Some(refusal) = refusal {
            *inside.past.refused.entry(refusal).or_default() += 1;
            return Err(refusal);
        }
        Ok(inside.insert(ends))
    }

    /// Takes a connection on that the kernel has accepted already; the bounds are kept by what it may accept. True if its client has all
    /// the connections that it may have.
    pub fn admit(&self, ends: Ends) -> (Arc<Entry>, bool) {
        let limits = self.limits();
        let mut inside = lock(&self.inside);
        let entry = inside.insert(ends);
        let of_source = inside.per_source.get(&ends.client.ip().to_canonical()).copied().unwrap_or(0);
        (entry, of_source >= limits.flows_per_source)
    }

    /// A connection has ended.
    pub fn leave(&self, entry: &Entry, end: End) {
        let mut inside = lock(&self.inside);
        if inside.alive.remove(&entry.id).is_none() {
            return;
        }
        let source = entry.ends.client.ip().to_canonical();
        if let Some(count) = inside.per_source.get_mut(&source) {
            *count -= 1;
            if *count == 0 {
                inside.per_source.remove(&source);
            }
        }
        let flow = *entry.flow();
        inside.past.up.add(&flow.up.ledger());
        inside.past.down.add(&flow.down.ledger());
        inside.hosts.add(source, &carried(&flow, false));
        *inside.past.ended.entry(end).or_default() += 1;
    }

    /// A server has answered after this time.
    pub fn connected(&self, time: Duration) {
        lock(&self.inside).past.connect_time.add(time);
    }

    /// The first byte of a server has come after this time.
    pub fn first_byte(&self, time: Duration) {
        lock(&self.inside).past.first_byte.add(time);
    }

    /// Connections that are alive.
    pub fn len(&self) -> usize {
        lock(&self.inside).alive.len()
    }

    /// Those alive, oldest first.
    pub fn alive(&self) -> Vec<Arc<Entry>> {
        let mut all: Vec<Arc<Entry>> = lock(&self.inside).alive.values().cloned().collect();
        all.sort_by_key(|entry| entry.id);
        all
    }

    /// What each client has carried since the start, those of connections alive included.
    pub fn hosts(&self) -> Hosts {
        let (mut hosts, alive) = {
            let inside = lock(&self.inside);
            (inside.hosts.clone(), inside.alive.values().cloned().collect::<Vec<_>>())
        };
        for entry in alive {
            let flow = *entry.flow();
            hosts.add(entry.ends.client.ip().to_canonical(), &carried(&flow, true));
        }
        hosts
    }

    /// All numbers, those of connections alive included.
    pub fn totals(&self) -> Totals {
        let inside = lock(&self.inside);
        let mut totals = inside.past.clone();
        for entry in inside.alive.values() {
            let flow = *entry.flow();
            totals.up.add(&flow.up.ledger());
            totals.down.add(&flow.down.ledger());
            totals.in_kernel += entry.in_kernel.load(Ordering::Relaxed) as u64;
            *totals.states.entry(entry.state()).or_default() += 1;
        }
        totals
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ends(client: &str) -> Ends {
        Ends {
            entrance: Entrance::Socks,
            client: client.parse().unwrap(),
            server: "192.0.2.1:80".parse().unwrap(),
        }
    }

    #[test]
    fn caps_hold_for_each_source_and_in_all() {
        let table = Table::new(Limits { flows: 3, flows_per_source: 2, ..Limits::default() });
        let first = table.enter(ends("10.0.0.1:1")).unwrap();
        table.enter(ends("10.0.0.1:2")).unwrap();
        assert_eq!(table.enter(ends("10.0.0.1:3")).err(), Some(Refusal::SourceFull));
        table.enter(ends("10.0.0.2:1")).unwrap();
        assert_eq!(table.enter(ends("10.0.0.3:1")).err(), Some(Refusal::Full));
        table.leave(&first, End::Complete);
        table.leave(&first, End::Complete);
        assert_eq!(table.len(), 2);
        table.enter(ends("10.0.0.1:4")).unwrap();
        let totals = table.totals();
        assert_eq!((totals.accepted, totals.ended[&End::Complete]), (4, 1));
        assert_eq!(totals.refused[&Refusal::Full], 1);
    }

    #[test]
    fn bytes_of_the_dead_and_the_living_add_up() {
        let table = Table::new(Limits::default());
        let [first, second] = ["10.0.0.1:1", "10.0.0.1:2"].map(|client| table.enter(ends(client)).unwrap());
        first.flow().up.received(10);
        first.flow().up.sent(4);
        first.flow().up.abandoned(0);
        table.leave(&first, End::ClientReset);
        second.flow().up.received(7);
        let up = table.totals().up;
        assert_eq!((up.received, up.sent, up.held, up.lost), (17, 4, 7, 6));
        assert!(up.balances());
    }
}
