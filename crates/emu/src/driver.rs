//! The loop that moves packets: reads them from devices, passes the time to the world, and hands over what has arrived. One
//! thread, with real-time priority where that is permitted; it sleeps (ppoll) until a packet comes or one is due.

use crate::Error;
use crate::clock::Clock;
use crate::device::{Device, Fault, MARGIN, Received};
use crate::lateness::Lateness;
use crate::priority;
use crate::start::Start;
use crate::testbed::{Host, Testbed};
use crate::world::{Observer, World};
use longhaul_path::queue::Occupancy;
use longhaul_path::{LinkStats, Schedule, Scripted};
use longhaul_units::{Duration, HostId, Id, Instant, LinkId};
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::TimeSpec;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};

/// Packets read from one device before what is due is handed over.
const BATCH: usize = 32;
/// While packets are on the move, the shortest sleep: packets that are due one after the other are handed over together,
/// since each sleep costs a timer, which in a virtual machine is dear.
const SHORTEST_SLEEP: Duration = Duration::from_micros(50);
/// The longest sleep: how long it takes to notice that it is to stop.
const LONGEST_SLEEP: Duration = Duration::from_millis(50);
/// Whoever asks for readings waits for so long.
const ANSWER: std::time::Duration = std::time::Duration::from_millis(500);
/// An IP packet has at most 65,535 bytes, and an Ethernet header before it.
const LONGEST_PACKET: usize = 65_600 + MARGIN;

/// The device of a host.
pub struct Port {
    /// The device.
    pub device: Device,
    /// It is there; it may vanish at any time.
    alive: bool,
}

impl Port {
    /// A host's device.
    pub fn new(device: Device) -> Self {
        Port { device, alive: true }
    }
}

/// The devices of all hosts.
///
/// # Errors
/// If there are too many open files.
pub fn ports(testbed: &Testbed) -> Result<Vec<Port>, Error> {
    let copy = |host: &Host| {
        let file = host.tun.try_clone().map_err(|why| Error::system("copy a file descriptor", why))?;
        Ok(Port::new(Device::Tun(file)))
    };
    testbed.hosts.iter().map(copy).collect()
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
    /// The clock has started.
    fn begin(&mut self, _clock: Clock) {}
    /// When it is to be called next.
    fn next(&self) -> Instant {
        Instant::FAR_FUTURE
    }
    /// It is time.
    fn look(&mut self, _now: Instant, _world: &mut World, _lateness: &Lateness) {}
}

impl Watcher for () {}

/// A link goes on by another script.
#[derive(Clone, Debug)]
pub struct LinkChange {
    /// The link.
    pub link: LinkId,
    /// The script; what was before now is the same in both.
    pub schedule: Schedule,
}

/// How a link is.
#[derive(Clone, Copy, Debug)]
pub struct LinkReading {
    /// When.
    pub at: Instant,
    /// What holds by its script.
    pub scripted: Scripted,
    /// What waits, or is being transmitted.
    pub waiting: Occupancy,
    /// Its counters.
    pub stats: LinkStats,
}

/// How far a run is.
#[derive(Clone, PartialEq, Debug)]
pub struct Status {
    /// Time since its start.
    pub now: Instant,
    /// Bytes delivered to applications.
    pub delivered: u64,
    /// Packets handed to kernels.
    pub moved: u64,
    /// Packets dropped on links.
    pub dropped: u64,
    /// The latest of them.
    pub latest: Duration,
    /// The links of the document, as [`crate::control::show::links`] has them; empty where nobody asked for them.
    pub links: Vec<serde_json::Value>,
}

/// Counters that others may look at while the loop runs.
#[derive(Default, Debug)]
pub struct Live {
    moved: AtomicU64,
    dropped: AtomicU64,
    latest_ns: AtomicU64,
    notices: Mutex<Vec<String>>,
    /// Changes of links that have not been made.
    changes: Mutex<Vec<LinkChange>>,
    /// Somebody waits for readings of links.
    is_asked: AtomicBool,
    readings: Mutex<Vec<LinkReading>>,
    is_read: Condvar,
}

impl Live {
    /// A notice for the user, without delay.
    fn notify(&self, text: String) {
        self.notices.lock().unwrap_or_else(PoisonError::into_inner).push(text);
    }

    /// Notices that nobody has seen yet.
    pub fn take_notices(&self) -> Vec<String> {
        std::mem::take(&mut *self.notices.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Their values at a time.
    pub fn status(&self, now: Instant) -> Status {
        Status {
            now,
            delivered: 0,
            moved: self.moved.load(Ordering::Relaxed),
            dropped: self.dropped.load(Ordering::Relaxed),
            latest: Duration::from_nanos(self.latest_ns.load(Ordering::Relaxed)),
            links: vec![],
        }
    }

    /// Has links go on by other scripts. They are taken up within 50 ms, and before the next packet.
    pub fn change(&self, changes: Vec<LinkChange>) {
        self.changes.lock().unwrap_or_else(PoisonError::into_inner).extend(changes);
    }

    /// How links are now, in the order of their numbers; as they were at the last look, if the loop does not answer.
    pub fn readings(&self) -> Vec<LinkReading> {
        let readings = self.readings.lock().unwrap_or_else(PoisonError::into_inner);
        self.is_asked.store(true, Ordering::Release);
        let unread = |_: &mut Vec<LinkReading>| self.is_asked.load(Ordering::Acquire);
        let waited = self.is_read.wait_timeout_while(readings, ANSWER, unread);
        waited.unwrap_or_else(PoisonError::into_inner).0.clone()
    }

    fn take_changes(&self) -> Vec<LinkChange> {
        // Whoever holds it is not waited for: the next turn comes soon.
        self.changes.try_lock().map(|mut changes| std::mem::take(&mut *changes)).unwrap_or_default()
    }

    fn answer(&self, read: impl FnOnce() -> Vec<LinkReading>) {
        if !self.is_asked.load(Ordering::Acquire) {
            return;
        }
        let Ok(mut readings) = self.readings.try_lock() else { return };
        *readings = read();
        self.is_asked.store(false, Ordering::Release);
        drop(readings);
        self.is_read.notify_all();
    }

    /// Calls `tell` once a second until `over` is true, which it checks every 20 ms, and then calls `notice` with what has happened.
    /// `links` gives the links for it.
    pub fn watch(
        &self,
        clock: Clock,
        tell: Option<fn(&Status)>,
        links: impl Fn() -> Vec<serde_json::Value>,
        notice: Option<fn(&str)>,
        over: impl Fn() -> bool,
    ) {
        let mut next = Instant::ZERO;
        while !over() {
            if let Some(notice) = notice {
                self.take_notices().iter().for_each(|text| notice(text));
            }
            if let Some(tell) = tell.filter(|_| clock.now() >= next) {
                tell(&Status { links: links(), ..self.status(clock.now()) });
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
    /// What devices have done that they should not: vanished, gone down.
    pub faults: Vec<String>,
    /// The interface that has vanished and thereby ended it.
    pub cut: Option<String>,
    /// When it ended.
    pub ended: Instant,
    /// Notices for the user.
    pub warnings: Vec<String>,
}

impl<W> Driven<W> {
    /// The same with what is made of the watcher in its place.
    pub fn map<V>(self, make: impl FnOnce(W, Instant) -> V) -> Driven<V> {
        let Driven { world, watcher, lateness, refused, faults, cut, ended, warnings } = self;
        Driven { world, watcher: make(watcher, ended), lateness, refused, faults, cut, ended, warnings }
    }
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
    /// An interface is down.
    down: bool,
    /// The interface that has vanished.
    cut: Option<String>,
}

/// Moves packets from the `start` until `stop` is set, or an interface has vanished. `ports` are the devices of the world's hosts, in
/// their order. `None` if the start was cancelled.
pub fn drive<W: Watcher>(
    start: &Start,
    world: World,
    mut watcher: W,
    ports: &mut [Port],
    options: Options,
    live: &Live,
    stop: &AtomicBool,
) -> Option<Driven<W>> {
    let mut warnings = vec![];
    if options.real_time {
        warnings.extend(priority::raise().err());
        warnings.iter().for_each(|warning: &String| live.notify(warning.clone()));
    }
    let buffer = vec![0; LONGEST_PACKET];
    let clock = start.ready()?;
    watcher.begin(clock);
    let mut state = Loop {
        clock,
        world,
        watcher,
        ports,
        live,
        lateness: Lateness::default(),
        refused: 0,
        buffer,
        busy: false,
        down: false,
        cut: None,
    };
    while !stop.load(Ordering::Relaxed) && state.cut.is_none() {
        let ready = state.wait(options.spin);
        // First: what comes now meets links as they are from now on.
        for change in live.take_changes() {
            state.world.follow(change);
        }
        for port in ready {
            state.read(port);
        }
        state.catch_up();
        live.answer(|| state.world.readings(clock.now()));
    }
    let ended = clock.now();
    state.lateness.turn(ended, Duration::ZERO);
    let Loop { world, watcher, lateness, refused, ports, cut, .. } = state;
    let vanished = ports.iter().filter(|port| !port.alive).count();
    let mut faults = vec![];
    if vanished > 0 {
        faults.push(format!("{vanished} devices have vanished while packets were moved"));
    }
    for port in ports.iter() {
        let Device::Interface(interface) = &port.device else { continue };
        if interface.downs > 0 {
            faults.push(format!(
                "{} went down while packets were moved, times: {}",
                interface.name, interface.downs
            ));
        }
    }
    Some(Driven { world, watcher, lateness, refused, faults, cut, ended, warnings })
}

impl<W: Watcher> Loop<'_, W> {
    /// Sleeps until a packet comes or something is due. Returns the ports at which there is something.
    fn wait(&mut self, spin: Duration) -> Vec<usize> {
        if self.down {
            self.look_for_interfaces();
        }
        let now = self.clock.now();
        let due = self.world.next_event().unwrap_or(Instant::FAR_FUTURE).min(self.watcher.next());
        let sleep = due.since(now).min(LONGEST_SLEEP);
        let sleep = match sleep {
            // What is due by now is not held back, nor within the time that it stays awake for.
            short if short <= spin => Duration::ZERO,
            short if self.busy => short.max(SHORTEST_SLEEP),
            long => long,
        };
        self.lateness.turn(now, sleep);
        let numbers: Vec<usize> = (0..self.ports.len()).filter(|port| self.ports[*port].alive).collect();
        let mut polled: Vec<PollFd> = numbers
            .iter()
            .map(|port| PollFd::new(self.ports[*port].device.as_fd(), PollFlags::POLLIN))
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
            let broken = events.intersects(PollFlags::POLLERR | PollFlags::POLLHUP | PollFlags::POLLNVAL);
            let is_tun = matches!(self.ports[port].device, Device::Tun(_));
            // What an interface suffers from is learnt by reading.
            if events.contains(PollFlags::POLLIN) || broken && !is_tun {
                ready.push(port);
            } else if broken {
                self.ports[port].alive = false;
            }
        }
        ready
    }

    fn read(&mut self, port: usize) {
        for _ in 0..BATCH {
            match self.ports[port].device.receive(&mut self.buffer) {
                Ok(Received { place, network }) => {
                    let now = self.clock.now();
                    let host = HostId::new(port);
                    self.world.inject(&mut self.watcher, now, host, network, &self.buffer[place]);
                }
                Err(fault) => return self.suffer(port, &fault),
            }
        }
    }

    fn suffer(&mut self, port: usize, fault: &Fault) {
        let Port { device, alive } = &mut self.ports[port];
        let name = match device {
            Device::Interface(interface) => Some(&interface.name),
            Device::Tun(_) => None,
        };
        match (fault, name) {
            (Fault::Nothing, _) => {}
            (Fault::Down, name) => {
                self.down = true;
                let name = name.map_or("a device", |name| name);
                self.live.notify(format!("{name} is down: what is sent there is lost until it is up again"));
            }
            (Fault::Gone, name) => {
                *alive = false;
                self.cut = name.cloned();
            }
        }
    }

    /// Looks whether interfaces that are down are up again, or gone: one that is removed goes down first, and the kernel may report
    /// no more than that.
    fn look_for_interfaces(&mut self) {
        self.down = false;
        for port in self.ports.iter_mut() {
            let Device::Interface(interface) = &mut port.device else { continue };
            if interface.is_gone() {
                port.alive = false;
                self.cut = Some(interface.name.clone());
                continue;
            }
            if interface.has_come_up() {
                self.live.notify(format!("{} is up again", interface.name));
            }
            self.down |= interface.is_down();
        }
    }

    /// Does what is due, and hands packets to their hosts.
    fn catch_up(&mut self) {
        self.world.advance(&mut self.watcher, self.clock.now());
        let mut arrivals = std::mem::take(&mut self.world.arrivals);
        self.busy = !arrivals.is_empty();
        for arrival in arrivals.drain(..) {
            let port = &mut self.ports[arrival.host.index()];
            let bytes = &arrival.frame.bytes;
            if port.device.send(bytes) {
                let late = self.clock.now().since(arrival.due);
                self.lateness.record(late);
                self.live.moved.fetch_add(1, Ordering::Relaxed);
                self.live.latest_ns.fetch_max(late.as_nanos(), Ordering::Relaxed);
            } else {
                self.refused += 1;
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
