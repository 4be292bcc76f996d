//! Hosts at both ends of a path with middleboxes on it, a clock held by hand, and on each hop a script that loses, delays,
//! doubles packets or lets nothing through.
#![allow(dead_code)]

use longhaul_cc::{Algorithm, CongestionControl, InitialWindow, Setup, SlowStartKind};
use longhaul_middlebox::paced::{self, erasure::Code};
use longhaul_middlebox::split::{Plan, Plans, Side};
use longhaul_middlebox::{Base, Carrier, Departure, Direction, Middlebox, Passing, TwoNodes, Verdict};
use longhaul_segment::{Ecn, Segment, SeqNumber};
use longhaul_tcp::{Config, Connection, Event, Ports, Reading, State};
use longhaul_units::{ConnectionId, Duration, Id, IdVec, Instant, Rate};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Payload with its bytes.
pub use bytes::Bytes;

pub const MSS: u32 = 1000;

pub fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}
pub fn at_ms(millis: u64) -> Instant {
    Instant::ZERO + ms(millis)
}

pub fn reno() -> Box<dyn CongestionControl> {
    let setup = Setup { mss: u64::from(MSS), initial_window: InitialWindow::Segments(4), ..Setup::default() };
    longhaul_cc::build(&Algorithm::default(), &SlowStartKind::default(), &setup).unwrap()
}

/// Patient hosts: what is lost again and again is sent again and again.
pub fn patient() -> Config {
    Config {
        mss: MSS,
        max_retransmissions: 100,
        max_syn_retransmissions: 100,
        max_rto: Duration::from_secs(8),
        time_wait: Duration::from_secs(600),
        ..Config::default()
    }
}

pub fn side(config: &Config) -> Side {
    Side { config: config.clone(), congestion: Arc::new(reno) }
}
/// The sending node of a paced hop, at so many bit/s.
pub fn paced_sender(rate: u64, code: Option<Code>) -> paced::sender::Settings {
    paced::sender::Settings {
        rate: Some(Rate::from_bps(rate)),
        queue: ms(20),
        mtu: 1000,
        loop_rtts: 2.0,
        initial_rtt: ms(300),
        most_kept: 100_000,
        report_interval: ms(100),
        code,
    }
}

/// The same for the two nodes of a middlebox.
pub fn both<T: Clone>(node: T) -> [T; 2] {
    [node.clone(), node]
}

/// Splits with a receive buffer of this size, if any.
pub fn plans(config: &Config, buffer: Option<u64>) -> Plans {
    let config = Config { reading: Reading::Manual, receive_buffer: buffer, nagle: false, ..config.clone() };
    Plans {
        plans: vec![Plan { near: side(&config), far: side(&config), established: None }],
        of: IdVec::new(),
    }
}

/// SplitMix64: the same on every run.
#[derive(Clone)]
pub struct Dice(pub u64);
impl Dice {
    pub fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }
    pub fn percent(&mut self, chance: u64) -> bool {
        self.roll() % 100 < chance
    }
}

/// What a hop does to packets.
#[derive(Clone, Copy, Debug)]
pub struct Hop {
    pub delay_ms: u64,
    pub loss_percent: u64,
    pub reorder_percent: u64,
    pub double_percent: u64,
    /// Nothing passes from the first to the second time in ms.
    pub outage: (u64, u64),
}

impl Hop {
    pub const CLEAN: Hop =
        Hop { delay_ms: 10, loss_percent: 0, reorder_percent: 0, double_percent: 0, outage: (0, 0) };

    /// Delays of the copies that arrive.
    fn fate(&self, now: Instant, dice: &mut Dice) -> Vec<Duration> {
        if at_ms(self.outage.0) <= now && now < at_ms(self.outage.1) {
            return vec![];
        }
        let mut copies = vec![];
        let mut copy = |dice: &mut Dice| {
            let late = if dice.percent(self.reorder_percent) { dice.roll() % 30 } else { 0 };
            if !dice.percent(self.loss_percent) {
                copies.push(ms(self.delay_ms + late));
            }
        };
        copy(dice);
        if dice.percent(self.double_percent) {
            copy(dice);
        }
        copies
    }
}

#[derive(Clone, Debug)]
pub struct Flying {
    pub connection: ConnectionId,
    pub direction: Direction,
    pub hop: usize,
    pub segment: Segment,
    pub ecn: Ecn,
    pub body: Bytes,
}

/// The two hosts of a connection.
pub struct Hosts {
    pub client: Carrier<Bytes>,
    pub server: Carrier<Bytes>,
    pub written: [u64; 2],
}

/// The byte that a host writes at a place of its stream.
pub fn byte(flow: usize, from_client: bool, place: u64) -> u8 {
    (Dice(place ^ (flow as u64) << 48 ^ u64::from(from_client) << 60).roll() >> 56) as u8
}

pub struct Path {
    pub now: Instant,
    pub hosts: Vec<Hosts>,
    pub boxes: Vec<Box<dyn Middlebox<Bytes>>>,
    /// What the middleboxes have sent to themselves.
    pub own: Vec<Flying>,
    /// Middlebox and port, in order from the clients to the servers.
    stations: Vec<(usize, usize)>,
    hops: Vec<Hop>,
    dice: Dice,
    wire: BTreeMap<(Instant, u64), Flying>,
    counter: u64,
    /// When each middlebox breaks down.
    pub fails: Vec<Option<Instant>>,
    /// Steps and packets since time last moved on.
    standstill: u32,
}

/// More steps and packets than this at one time are a loop without end.
const MOST_AT_ONCE: u32 = 1_000_000;

impl Path {
    /// `stations` are ports of `boxes`; there is one hop more than stations.
    pub fn new(
        hosts: Vec<Hosts>,
        boxes: Vec<Box<dyn Middlebox<Bytes>>>,
        stations: Vec<(usize, usize)>,
        hops: Vec<Hop>,
        seed: u64,
    ) -> Self {
        assert_eq!(hops.len(), stations.len() + 1);
        let fails = vec![None; boxes.len()];
        Path {
            now: Instant::ZERO,
            hosts,
            boxes,
            own: vec![],
            stations,
            hops,
            dice: Dice(seed),
            wire: BTreeMap::new(),
            counter: 0,
            fails,
            standstill: 0,
        }
    }

    /// Fails where time does not move on.
    fn count_at_this_time(&mut self) {
        self.standstill += 1;
        assert!(self.standstill < MOST_AT_ONCE, "time stands still at {:?}", self.now);
    }

    fn fly(&mut self, packet: Flying) {
        self.count_at_this_time();
        for delay in self.hops[packet.hop].fate(self.now, &mut self.dice) {
            self.counter += 1;
            self.wire.insert((self.now + delay, self.counter), packet.clone());
        }
    }

    /// The hop that begins behind a station in a direction.
    fn hop_after(&self, station: usize, direction: Direction) -> usize {
        match direction {
            Direction::Forward => station + 1,
            Direction::Reverse => station,
        }
    }

    /// Hosts send all that they have.
    fn flush_hosts(&mut self) {
        for index in 0..self.hosts.len() {
            for direction in Direction::BOTH {
                loop {
                    let hosts = &mut self.hosts[index];
                    let host =
                        if direction == Direction::Forward { &mut hosts.client } else { &mut hosts.server };
                    while let Some(event) = host.poll_event() {
                        if event == Event::PeerClosed {
                            host.close();
                        }
                    }
                    let mut segment = Segment::default();
                    let Some((ecn, body)) = host.transmit_into(self.now, &mut segment) else { break };
                    let hop = if direction == Direction::Forward { 0 } else { self.hops.len() - 1 };
                    self.fly(Flying {
                        connection: ConnectionId::new(index),
                        direction,
                        hop,
                        segment,
                        ecn,
                        body,
                    });
                }
            }
        }
    }

    fn flush_box(&mut self, index: usize) {
        let mut segment = Segment::default();
        while let Some(departure) = self.boxes[index].transmit_into(self.now, &mut segment) {
            let station = self.stations.iter().position(|at| *at == (index, departure.port)).unwrap();
            let hop = self.hop_after(station, departure.direction);
            let packet = Flying {
                connection: departure.connection,
                direction: departure.direction,
                hop,
                segment,
                ecn: departure.ecn,
                body: departure.body,
            };
            if packet.connection.index() >= self.hosts.len() {
                self.own.push(packet.clone());
            }
            self.fly(packet);
        }
        while self.boxes[index].poll_event().is_some() {}
    }

    fn arrive(&mut self, mut packet: Flying) {
        let station = match packet.direction {
            Direction::Forward if packet.hop + 1 == self.hops.len() => None,
            Direction::Forward => Some(packet.hop),
            Direction::Reverse => packet.hop.checked_sub(1),
        };
        let Some(station) = station else {
            let hosts = &mut self.hosts[packet.connection.index()];
            let host = match packet.direction {
                Direction::Forward => &mut hosts.server,
                Direction::Reverse => &mut hosts.client,
            };
            host.handle_segment(self.now, &packet.segment, packet.ecn, &packet.body);
            return;
        };
        let (index, port) = self.stations[station];
        let passing = Passing {
            connection: packet.connection,
            direction: packet.direction,
            ecn: &mut packet.ecn,
            segment: &mut packet.segment,
            body: &packet.body,
        };
        let verdict = self.boxes[index].handle_packet(self.now, port, passing);
        if verdict == Verdict::Forward {
            let hop = self.hop_after(station, packet.direction);
            self.fly(Flying { hop, ..packet });
        }
        self.flush_box(index);
    }

    fn timers(&self) -> Option<Instant> {
        let hosts =
            self.hosts.iter().flat_map(|hosts| [hosts.client.poll_timeout(), hosts.server.poll_timeout()]);
        let boxes = self.boxes.iter().map(|inner| inner.poll_timeout());
        hosts.chain(boxes).chain(self.fails.iter().copied()).flatten().min()
    }

    /// One step: the next arrival or timer. False when nothing is left to happen by `until`.
    pub fn step(&mut self, until: Instant) -> bool {
        self.flush_hosts();
        let arrival = self.wire.keys().next().map(|key| key.0);
        let Some(next) = [arrival, self.timers()].into_iter().flatten().min().filter(|next| *next <= until)
        else {
            self.now = self.now.max(until);
            return false;
        };
        if next > self.now {
            self.now = next;
            self.standstill = 0;
        }
        self.count_at_this_time();
        let now = self.now;
        if let Some(entry) = self.wire.first_entry().filter(|entry| entry.key().0 <= now) {
            let packet = entry.remove();
            self.arrive(packet);
        } else {
            for hosts in &mut self.hosts {
                for host in [&mut hosts.client, &mut hosts.server] {
                    if host.poll_timeout().is_some_and(|due| due <= now) {
                        host.handle_timeout(now);
                    }
                }
            }
            for index in 0..self.boxes.len() {
                if self.fails[index].is_some_and(|at| at <= now) {
                    self.fails[index] = None;
                    self.boxes[index].fail(now);
                }
                if self.boxes[index].poll_timeout().is_some_and(|due| due <= now) {
                    self.boxes[index].handle_timeout(now);
                }
                self.flush_box(index);
            }
        }
        self.flush_hosts();
        for hosts in &self.hosts {
            assert!(hosts.server.received_bytes() <= hosts.written[0], "more arrives than was written");
            assert!(hosts.client.received_bytes() <= hosts.written[1], "more arrives than was written");
        }
        true
    }

    pub fn run_until(&mut self, until: Instant) {
        while self.step(until) {}
    }

    /// Runs until all hosts are closed; false if they are not by then.
    pub fn run_until_closed(&mut self, until: Instant) -> bool {
        let closed = |path: &Path| {
            let is_closed = |host: &Carrier<Bytes>| host.state() == State::Closed;
            path.hosts.iter().all(|hosts| is_closed(&hosts.client) && is_closed(&hosts.server))
        };
        while !closed(self) {
            if !self.step(until) {
                return closed(self);
            }
        }
        true
    }

    pub fn write(&mut self, flow: usize, from_client: bool, bytes: u64) {
        let hosts = &mut self.hosts[flow];
        let (host, written) = match from_client {
            true => (&mut hosts.client, &mut hosts.written[0]),
            false => (&mut hosts.server, &mut hosts.written[1]),
        };
        host.write(&(*written..*written + bytes).map(|place| byte(flow, from_client, place)).collect());
        *written += bytes;
    }

    /// Whatever has arrived is what was written; checked once.
    pub fn check_content(&mut self) {
        for (flow, hosts) in self.hosts.iter_mut().enumerate() {
            for (host, from_client) in [(&mut hosts.server, true), (&mut hosts.client, false)] {
                let came = host.take(host.received_bytes());
                let wrong = (0..).zip(&came).find(|(place, got)| byte(flow, from_client, *place) != **got);
                assert_eq!(wrong, None, "byte and value, flow {flow}, by the client: {from_client}");
            }
        }
    }
}

pub fn hosts(number: u32, config: &Config) -> Hosts {
    let client = Ports { local: 1000 + number as u16, remote: 80 };
    let server = Ports { local: 80, remote: 1000 + number as u16 };
    Hosts {
        client: Carrier::new(Connection::connect(
            config.clone(),
            reno(),
            SeqNumber(7_000_000 * number),
            client,
        )),
        server: Carrier::new(Connection::listen(
            config.clone(),
            reno(),
            SeqNumber(u32::MAX - 5000 * number),
            server,
        )),
        written: [0, 0],
    }
}

/// Packets the other way do not meet an ACK compactor, which has this number for its tunnel.
pub struct OneWay(pub TwoNodes<Bytes>, pub ConnectionId);

impl Middlebox<Bytes> for OneWay {
    fn handle_packet(&mut self, now: Instant, port: usize, packet: Passing<'_, Bytes>) -> Verdict {
        match packet.direction {
            Direction::Forward => self.0.handle_packet(now, port, packet),
            Direction::Reverse if packet.connection == self.1 => self.0.handle_packet(now, port, packet),
            Direction::Reverse => Verdict::Forward,
        }
    }
    fn handle_timeout(&mut self, now: Instant) {
        self.0.handle_timeout(now);
    }
    fn poll_timeout(&self) -> Option<Instant> {
        self.0.poll_timeout()
    }
    fn transmit_into(&mut self, now: Instant, segment: &mut Segment) -> Option<Departure<Bytes>> {
        self.0.transmit_into(now, segment)
    }
    fn lose_all(&mut self, now: Instant) {
        self.0.lose_all(now);
    }
    fn counters(&self) -> Vec<(&'static str, u64)> {
        self.0.counters()
    }
    fn base(&self) -> &Base<Bytes> {
        self.0.base()
    }
    fn base_mut(&mut self) -> &mut Base<Bytes> {
        self.0.base_mut()
    }
}
