//! The loop that moves packets: reads them from devices, tells the world the time, and hands over what has arrived. One
//! thread, with real-time priority where that is permitted; it sleeps (ppoll) until a packet comes or one is due.

use crate::clock::Clock;
use crate::lateness::Lateness;
use crate::priority;
use crate::run::Status;
use crate::world::{Observer, World};
use longhaul_units::{Duration, Instant};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::TimeSpec;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Packets read from one device before what is due is handed over.
const BATCH: usize = 32;
/// While packets are on the move, the shortest sleep: packets that are due one after the other are handed over together,
/// since each sleep costs a timer, which in a virtual machine is dear.
const SHORTEST_SLEEP: Duration = Duration::from_micros(50);
/// The longest sleep: how long it takes to notice that it is to stop.
const LONGEST_SLEEP: Duration = Duration::from_millis(50);
/// An IP packet has at most 65,535 bytes, and an Ethernet header before it.
const LONGEST_PACKET: usize = 65_600;

/// A device that packets come from and go to.
pub struct Port {
    /// Its file.
    pub file: File,
    /// Bytes that precede IP packets there.
    pub network: u16,
    /// The device is there; it may vanish at any time.
    alive: bool,
}

impl Port {
    /// A device whose packets have `network` bytes before the IP header.
    pub fn new(file: File, network: u16) -> Self {
        Port { file, network, alive: true }
    }
}

/// How the loop runs.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Real-time priority, if it is permitted.
    pub real_time: bool,
    /// Does not sleep when something is due within this time.
    pub spin: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Options { real_time: true, spin: Duration::ZERO }
    }
}

/// What is looked at while the loop runs, at times of its own choice.
pub trait Watcher: Observer {
    /// When it wants to be called next.
    fn next(&self) -> Instant {
        Instant::FAR_FUTURE
    }
    /// It is time.
    fn look(&mut self, _now: Instant, _world: &mut World, _lateness: &Lateness) {}
}

impl Watcher for () {}

/// Counters that others may look at while the loop runs.
#[derive(Default, Debug)]
pub struct Live {
    moved: AtomicU64,
    dropped: AtomicU64,
    latest_ns: AtomicU64,
}

impl Live {
    /// What they say at a time.
    pub fn status(&self, now: Instant) -> Status {
        Status {
            now,
            delivered: 0,
            moved: self.moved.load(Ordering::Relaxed),
            dropped: self.dropped.load(Ordering::Relaxed),
            latest: Duration::from_nanos(self.latest_ns.load(Ordering::Relaxed)),
        }
    }

    /// Calls `tell` once a second until `over` says that it is enough; looks at that every 20 ms.
    pub fn watch(&self, clock: Clock, tell: Option<fn(&Status)>, over: impl Fn() -> bool) {
        let mut next = Instant::ZERO;
        while !over() {
            if let Some(tell) = tell.filter(|_| clock.now() >= next) {
                tell(&self.status(clock.now()));
                next += Duration::from_secs(1);
            }
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
    }
}

/// What the loop leaves.
pub struct Driven<W> {
    /// The world as it is at the end.
    pub world: World,
    /// Who has watched.
    pub watcher: W,
    /// Lateness of all packets.
    pub lateness: Lateness,
    /// Packets that a host's device did not take.
    pub refused: u64,
    /// Devices that have vanished.
    pub vanished: usize,
    /// When it ended.
    pub ended: Instant,
    /// What a user should know.
    pub warnings: Vec<String>,
}

struct Loop<'a, W> {
    clock: Clock,
    world: World,
    watcher: W,
    ports: &'a mut [Port],
    live: &'a Live,
    lateness: Lateness,
    refused: u64,
    buffer: Vec<u8>,
    /// Packets were moved in the last turn.
    busy: bool,
}

/// Moves packets until `stop` is set. `ports` are the devices of the world's hosts, in their order.
pub fn drive<W: Watcher>(
    clock: Clock,
    world: World,
    watcher: W,
    ports: &mut [Port],
    options: Options,
    live: &Live,
    stop: &AtomicBool,
) -> Driven<W> {
    let mut warnings = vec![];
    if options.real_time {
        warnings.extend(priority::raise().err());
    }
    let mut state = Loop {
        clock,
        world,
        watcher,
        ports,
        live,
        lateness: Lateness::default(),
        refused: 0,
        buffer: vec![0; LONGEST_PACKET],
        busy: false,
    };
    while !stop.load(Ordering::Relaxed) {
        let ready = state.wait(options.spin);
        for port in ready {
            state.read(port);
        }
        state.catch_up();
    }
    let ended = clock.now();
    let Loop { world, watcher, lateness, refused, ports, .. } = state;
    let vanished = ports.iter().filter(|port| !port.alive).count();
    if vanished > 0 {
        warnings.push(format!("{vanished} devices have vanished while packets were moved"));
    }
    Driven { world, watcher, lateness, refused, vanished, ended, warnings }
}

impl<W: Watcher> Loop<'_, W> {
    /// Sleeps until a packet comes or something is due. Returns the ports at which there is something.
    fn wait(&mut self, spin: Duration) -> Vec<usize> {
        let now = self.clock.now();
        let due = self.world.next_event().unwrap_or(Instant::FAR_FUTURE).min(self.watcher.next());
        let sleep = due.since(now).min(LONGEST_SLEEP);
        let sleep = match sleep {
            // What is due by now is not held back, nor within the time that it stays awake for.
            short if short <= spin => Duration::ZERO,
            short if self.busy => short.max(SHORTEST_SLEEP),
            long => long,
        };
        let numbers: Vec<usize> = (0..self.ports.len()).filter(|port| self.ports[*port].alive).collect();
        let mut polled: Vec<PollFd> = numbers
            .iter()
            .map(|port| PollFd::new(self.ports[*port].file.as_fd(), PollFlags::POLLIN))
            .collect();
        let timeout = TimeSpec::from(std::time::Duration::from_nanos(sleep.as_nanos()));
        match ppoll(&mut polled, Some(timeout), None) {
            Ok(1..) => {}
            _ => return vec![],
        }
        let events: Vec<PollFlags> =
            polled.iter().map(|fd| fd.revents().unwrap_or(PollFlags::empty())).collect();
        let mut ready = vec![];
        for (port, events) in numbers.into_iter().zip(events) {
            if events.contains(PollFlags::POLLIN) {
                ready.push(port);
            } else if events.intersects(PollFlags::POLLERR | PollFlags::POLLHUP | PollFlags::POLLNVAL) {
                self.ports[port].alive = false;
            }
        }
        ready
    }

    fn read(&mut self, port: usize) {
        for _ in 0..BATCH {
            let Port { file, network, alive } = &mut self.ports[port];
            match file.read(&mut self.buffer) {
                Ok(len) => {
                    let (now, network) = (self.clock.now(), *network);
                    self.world.inject(&mut self.watcher, now, port, network, &self.buffer[..len]);
                }
                Err(why) => {
                    // EBADFD: the device was removed, with its namespace.
                    *alive = why.raw_os_error() != Some(Errno::EBADFD as i32);
                    return;
                }
            }
        }
    }

    /// Does what is due, and hands packets to their hosts.
    fn catch_up(&mut self) {
        self.world.advance(&mut self.watcher, self.clock.now());
        let mut arrivals = std::mem::take(&mut self.world.arrivals);
        self.busy = !arrivals.is_empty();
        for arrival in arrivals.drain(..) {
            let port = &mut self.ports[arrival.host];
            let bytes = &arrival.frame.bytes;
            match port.file.write(bytes) {
                // Devices take a packet or refuse it.
                Ok(len) if len == bytes.len() => {
                    let late = self.clock.now().since(arrival.due);
                    self.lateness.record(late);
                    self.live.moved.fetch_add(1, Ordering::Relaxed);
                    self.live.latest_ns.fetch_max(late.as_nanos(), Ordering::Relaxed);
                }
                _ => self.refused += 1,
            }
        }
        self.world.arrivals = arrivals;
        self.live.dropped.store(self.world.counters.dropped, Ordering::Relaxed);
        let now = self.clock.now();
        if self.watcher.next() <= now {
            self.watcher.look(now, &mut self.world, &self.lateness);
        }
    }
}
