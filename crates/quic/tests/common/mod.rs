//! Two endpoints and a virtual path between them: constant rate, propagation delay, a DropTail queue in bytes, random loss.
#![allow(dead_code)] // each test uses a part of it

use bytes::BytesMut;
use longhaul_quic::{ConnectionKey, Datagram, Endpoint, Event, Settings};
use longhaul_units::{Duration, Instant};
use std::collections::VecDeque;
use std::net::SocketAddr;

/// IPv4 and UDP headers.
const HEADERS: u64 = 28;

/// One direction of a path.
pub struct Line {
    pub bps: u64,
    pub delay: Duration,
    /// Bytes that may wait.
    pub queue: u64,
    /// Of 65,536 datagrams, so many are lost.
    pub loss: u32,
    free_at: Instant,
    state: u64,
    under_way: VecDeque<(Instant, Datagram)>,
    /// Time and size of each datagram that was offered.
    pub log: Vec<(u64, usize)>,
    pub dropped: u64,
}

impl Line {
    pub fn new(bps: u64, delay: Duration, queue: u64, loss: u32, seed: u64) -> Self {
        Line {
            bps,
            delay,
            queue,
            loss,
            free_at: Instant::ZERO,
            state: seed | 1,
            under_way: VecDeque::new(),
            log: vec![],
            dropped: 0,
        }
    }

    fn draw(&mut self) -> u32 {
        // xorshift64* (S. Vigna, 2016).
        self.state ^= self.state >> 12;
        self.state ^= self.state << 25;
        self.state ^= self.state >> 27;
        (self.state.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 48) as u32
    }

    fn offer(&mut self, now: Instant, datagram: Datagram) {
        self.log.push((now.as_nanos(), datagram.bytes.len()));
        let waiting = self.free_at.since(now.min(self.free_at)).as_nanos() / 8 * self.bps / 1_000_000_000;
        let lost = self.draw() < self.loss;
        if waiting > self.queue || lost {
            self.dropped += 1;
            return;
        }
        let bits = (datagram.bytes.len() as u64 + HEADERS) * 8;
        let took = Duration::from_nanos((u128::from(bits) * 1_000_000_000 / u128::from(self.bps)) as u64);
        self.free_at = self.free_at.max(now) + took;
        self.under_way.push_back((self.free_at + self.delay, datagram));
    }
}

pub struct World {
    pub now: Instant,
    pub ends: [Endpoint; 2],
    pub lines: [Line; 2],
    /// Events of client and server.
    pub events: [Vec<(Instant, ConnectionKey, Event)>; 2],
}

pub const ADDRESSES: [&str; 2] = ["10.0.0.1:40000", "10.0.0.2:443"];

pub fn address(end: usize) -> SocketAddr {
    ADDRESSES[end].parse().unwrap()
}

impl World {
    pub fn new(client: Settings, server: Settings, lines: [Line; 2]) -> Self {
        let base = std::time::Instant::now();
        let ends = [
            Endpoint::client(client, [1; 32], base).unwrap(),
            Endpoint::server(server, [2; 32], base).unwrap(),
        ];
        World { now: Instant::ZERO, ends, lines, events: [vec![], vec![]] }
    }

    pub fn connect(&mut self) -> ConnectionKey {
        self.ends[0].connect(self.now, address(1), "localhost", None).unwrap()
    }

    pub fn serve(&mut self, act: &mut impl FnMut(&mut Endpoint, usize, Instant, ConnectionKey, &Event)) {
        for end in 0..2 {
            loop {
                while let Some(datagram) = self.ends[end].poll_transmit(self.now) {
                    self.lines[end].offer(self.now, datagram);
                }
                let Some((key, event)) = self.ends[end].poll_event() else { break };
                act(&mut self.ends[end], end, self.now, key, &event);
                self.events[end].push((self.now, key, event));
            }
        }
    }

    /// Runs until `end`, or until nothing more is due. `act` answers events.
    pub fn run(
        &mut self,
        end: Instant,
        mut act: impl FnMut(&mut Endpoint, usize, Instant, ConnectionKey, &Event),
    ) {
        let mut at_once = 0;
        loop {
            self.serve(&mut act);
            let arrival = |line: &Line| line.under_way.front().map(|(at, _)| *at);
            let arrivals = [arrival(&self.lines[0]), arrival(&self.lines[1])];
            let timers = [self.ends[0].poll_timeout(), self.ends[1].poll_timeout()];
            let next = arrivals.into_iter().chain(timers).flatten().min();
            let Some(next) = next.filter(|next| *next <= end) else { return };
            // A timer in the past is due now: a probe timeout counts from the last packet sent, and shrinks with the estimate of the
            // round trip (RFC 9002 section 6.2.1).
            let next = next.max(self.now);
            at_once = if next == self.now { at_once + 1 } else { 0 };
            assert!(at_once < 10_000, "time stands still at {next:?}");
            self.now = next;
            for line in 0..2 {
                if arrivals[line].is_some_and(|at| at <= next) {
                    let (_, datagram) = self.lines[line].under_way.pop_front().unwrap();
                    let bytes = BytesMut::from(datagram.bytes.as_slice());
                    self.ends[1 - line].handle_datagram(next, address(line), datagram.ecn, bytes);
                }
                if timers[line].is_some_and(|due| due <= next) {
                    self.ends[line].handle_timeout(next);
                }
            }
        }
    }
}

/// A path of `mbps` and `rtt_ms` with queues of one bandwidth-delay product.
pub fn path(mbps: u64, rtt_ms: u64, loss: u32) -> [Line; 2] {
    let bps = mbps * 1_000_000;
    let queue = (bps / 8 * rtt_ms / 1000).max(30_000);
    let delay = Duration::from_millis(rtt_ms / 2);
    [Line::new(bps, delay, queue, loss, 7), Line::new(bps, delay, queue, loss, 8)]
}

/// A request of `request` bytes on a stream of its own and a response of `response` bytes: the time at which the response is
/// complete, and the world then.
pub fn fetch(
    client: Settings,
    server: Settings,
    lines: [Line; 2],
    request: u64,
    response: u64,
) -> (Option<Instant>, World) {
    let mut world = World::new(client, server, lines);
    let key = world.connect();
    let mut asked = 0;
    let mut done = None;
    let limit = Instant::ZERO + Duration::from_secs(3600);
    let mut answered = 0;
    world.run(limit, |endpoint, end, now, connection, event| match (end, event) {
        (0, Event::Connected) => {
            let stream = endpoint.open(connection).expect("streams are allowed");
            endpoint.write(connection, stream, request);
            endpoint.finish(connection, stream);
        }
        (1, Event::Received { stream, bytes, end: last }) => {
            asked += bytes;
            if *last {
                endpoint.write(connection, *stream, response);
                endpoint.finish(connection, *stream);
            }
        }
        (0, Event::Received { bytes, end: last, .. }) => {
            answered += bytes;
            if *last {
                done = Some(now);
                endpoint.close(now, connection, 0);
            }
        }
        _ => {}
    });
    let _ = key;
    if done.is_some() {
        assert_eq!((asked, answered), (request, response));
    }
    (done, world)
}
