//! Two connections, a path with a constant delay between them, a clock held by hand, and a script that may drop.
#![allow(dead_code)]

use longhaul_cc::{Ack, Congestion, CongestionControl, CongestionKind, EcnUse};
use longhaul_segment::{Ecn, Flags, Segment, SeqNumber};
use longhaul_tcp::{Config, Connection, Departure, Event, Ports, State, Transmit};
use longhaul_units::{Duration, Instant};
use std::collections::BTreeMap;

pub const MSS: u32 = 1000;

pub fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}
pub fn at_ms(millis: u64) -> Instant {
    Instant::from_nanos(millis * 1_000_000)
}

/// A constant window.
pub struct Fixed(pub u64);
impl CongestionControl for Fixed {
    fn on_ack(&mut self, _: &Ack) {}
    fn on_congestion(&mut self, _: &Congestion) {}
    fn window(&self) -> u64 {
        self.0
    }
    fn ssthresh(&self) -> u64 {
        0
    }
}

/// The same, with another use of ECN.
pub struct Scalable(pub u64, pub EcnUse);
impl CongestionControl for Scalable {
    fn on_ack(&mut self, _: &Ack) {}
    fn on_congestion(&mut self, _: &Congestion) {}
    fn window(&self) -> u64 {
        self.0
    }
    fn ssthresh(&self) -> u64 {
        0
    }
    fn ecn(&self) -> EcnUse {
        self.1
    }
}

/// RFC 5681 in its plainest form, with byte counting.
pub struct Reno {
    pub cwnd: u64,
    pub ssthresh: u64,
    counted: u64,
}
impl Reno {
    pub fn new(segments: u64) -> Box<Self> {
        Box::new(Reno { cwnd: segments * u64::from(MSS), ssthresh: u64::MAX, counted: 0 })
    }
    /// In congestion avoidance from the start.
    pub fn avoiding(segments: u64) -> Box<Self> {
        Box::new(Reno { ssthresh: 0, ..*Reno::new(segments) })
    }
}
impl CongestionControl for Reno {
    fn on_ack(&mut self, ack: &Ack) {
        if ack.in_recovery || ack.app_limited {
            return;
        }
        if self.cwnd < self.ssthresh {
            self.cwnd += ack.acked.min(2 * u64::from(MSS));
            return;
        }
        self.counted += ack.acked;
        if self.counted >= self.cwnd {
            self.counted -= self.cwnd;
            self.cwnd += u64::from(MSS);
        }
    }
    fn on_congestion(&mut self, event: &Congestion) {
        self.ssthresh = (event.flight_size / 2).max(2 * u64::from(MSS));
        self.cwnd = if event.kind == CongestionKind::Timeout { u64::from(MSS) } else { self.ssthresh };
    }
    fn on_idle(&mut self, restart_window: u64) {
        self.cwnd = self.cwnd.min(restart_window);
    }
    fn window(&self) -> u64 {
        self.cwnd
    }
    fn ssthresh(&self) -> u64 {
        self.ssthresh
    }
}

/// The next segment, and whether it is known that nothing follows it.
fn transmitted(connection: &mut Connection, now: Instant) -> Option<(Transmit, bool)> {
    let mut segment = Segment::default();
    let Departure { ecn, retransmission, wire_len, last } = connection.transmit_into(now, &mut segment)?;
    assert_eq!(wire_len, segment.ipv4_len());
    Some((Transmit { segment, ecn, retransmission }, last))
}

/// Which end sent a segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    A,
    B,
}

/// A segment as it left.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    pub at: Instant,
    pub from: End,
    pub transmit: Transmit,
    pub dropped: bool,
}

impl Sent {
    pub fn seq(&self) -> u32 {
        self.transmit.segment.seq.0
    }
    pub fn ack(&self) -> u32 {
        self.transmit.segment.ack.0
    }
    pub fn len(&self) -> u32 {
        self.transmit.segment.payload_len
    }
    pub fn has(&self, flags: Flags) -> bool {
        self.transmit.segment.flags.contains(flags)
    }
    pub fn sack(&self) -> Vec<(u32, u32)> {
        self.transmit.segment.options.sack.as_slice().iter().map(|block| (block.0.0, block.1.0)).collect()
    }
}

/// What the path does to a segment: arrival delays of its copies; none drops it.
type Script = Box<dyn FnMut(&Sent) -> Vec<Duration>>;

pub struct World {
    pub now: Instant,
    pub a: Connection,
    pub b: Connection,
    pub delay: Duration,
    pub log: Vec<Sent>,
    pub keep_log: bool,
    pub events: Vec<(Instant, End, Event)>,
    /// What arrived in the last step, and who sent it; none if it was a timer's.
    pub arrived: Option<(End, Segment)>,
    /// ECN field on arrival, for each segment that left.
    pub mark: Box<dyn FnMut(&Sent) -> Ecn>,
    script: Script,
    wire: BTreeMap<(Instant, u64), (End, Transmit, Ecn)>,
    counter: u64,
}

impl World {
    pub fn new(a: Connection, b: Connection, delay: Duration) -> Self {
        World {
            now: Instant::ZERO,
            a,
            b,
            delay,
            log: vec![],
            keep_log: true,
            events: vec![],
            arrived: None,
            mark: Box::new(|sent| sent.transmit.ecn),
            script: Box::new(move |_| vec![delay]),
            wire: BTreeMap::new(),
            counter: 0,
        }
    }
    /// Both ends established, `a` with window policy `cc`.
    pub fn established(config: Config, cc: Box<dyn CongestionControl>, delay: Duration) -> Self {
        let a = Connection::established(config.clone(), cc, ports(End::A));
        let b = Connection::established(config, Box::new(Fixed(u64::from(10 * MSS))), ports(End::B));
        World::new(a, b, delay)
    }
    /// `a` connects to `b`.
    pub fn connecting(config_a: Config, config_b: Config, delay: Duration) -> Self {
        let a = Connection::connect(config_a, Reno::new(2), SeqNumber(1000), ports(End::A));
        let b = Connection::listen(config_b, Reno::new(2), SeqNumber(9000), ports(End::B));
        World::new(a, b, delay)
    }
    /// Drops what `lost` says.
    pub fn dropping(mut self, mut lost: impl FnMut(&Sent) -> bool + 'static) -> Self {
        let delay = self.delay;
        self.script = Box::new(move |sent| if lost(sent) { vec![] } else { vec![delay] });
        self
    }
    /// Drops the first transmission of `a`'s segments that begin at these sequence numbers.
    pub fn dropping_once(self, seqs: &[u32]) -> Self {
        let mut left: std::collections::HashSet<u32> = seqs.iter().copied().collect();
        self.dropping(move |sent| sent.from == End::A && sent.len() > 0 && left.remove(&sent.seq()))
    }
    pub fn scripted(mut self, script: impl FnMut(&Sent) -> Vec<Duration> + 'static) -> Self {
        self.script = Box::new(script);
        self
    }

    pub fn end(&mut self, end: End) -> &mut Connection {
        match end {
            End::A => &mut self.a,
            End::B => &mut self.b,
        }
    }

    /// Sends all that either end has to send now; what is known beforehand of a segment holds.
    pub fn flush(&mut self) {
        for end in [End::A, End::B] {
            let now = self.now;
            let mut expected = true;
            while let Some((transmit, last)) = transmitted(self.end(end), now) {
                assert!(expected, "a segment was the last, and another one followed");
                expected = !last;
                let mut sent = Sent { at: now, from: end, transmit, dropped: false };
                let copies = (self.script)(&sent);
                sent.dropped = copies.is_empty();
                let ecn = (self.mark)(&sent);
                for delay in copies {
                    self.counter += 1;
                    self.wire.insert((now + delay, self.counter), (end, transmit, ecn));
                }
                if self.keep_log {
                    self.log.push(sent);
                }
            }
            while let Some(event) = self.end(end).poll_event() {
                self.events.push((now, end, event));
            }
        }
    }

    fn next_instant(&self) -> Option<Instant> {
        let arrival = self.wire.keys().next().map(|key| key.0);
        [arrival, self.a.poll_timeout(), self.b.poll_timeout()].into_iter().flatten().min()
    }

    /// One step: the next arrival or timer. False when nothing is left to happen by `until`.
    pub fn step(&mut self, until: Instant) -> bool {
        self.flush();
        let Some(next) = self.next_instant().filter(|&next| next <= until) else {
            self.now = self.now.max(until.min(Instant::from_nanos(u64::MAX / 2)));
            return false;
        };
        self.now = self.now.max(next);
        let now = self.now;
        self.arrived = None;
        if let Some(entry) = self.wire.first_entry().filter(|entry| entry.key().0 <= now) {
            let (from, transmit, ecn) = entry.remove();
            self.arrived = Some((from, transmit.segment));
            let to = if from == End::A { &mut self.b } else { &mut self.a };
            to.handle_segment(now, &transmit.segment, ecn);
        } else {
            for end in [End::A, End::B] {
                if self.end(end).poll_timeout().is_some_and(|due| due <= now) {
                    self.end(end).handle_timeout(now);
                }
            }
        }
        self.flush();
        true
    }
    /// Runs up to and including this time.
    pub fn run_until(&mut self, until: Instant) {
        while self.step(until) {}
    }
    /// Runs until both ends are closed; false if they are not by then.
    pub fn run_until_closed(&mut self, until: Instant) -> bool {
        while self.a.state() != State::Closed || self.b.state() != State::Closed {
            if !self.step(until) {
                break;
            }
        }
        self.a.state() == State::Closed && self.b.state() == State::Closed
    }

    /// Segments with payload that `end` sent, in order: (time in ms, sequence number).
    pub fn data_from(&self, end: End) -> Vec<(u64, u32)> {
        self.log
            .iter()
            .filter(|sent| sent.from == end && sent.len() > 0)
            .map(|sent| (sent.at.as_nanos() / 1_000_000, sent.seq()))
            .collect()
    }
    /// Pure ACKs that `end` sent: (time in ms, acknowledgment number).
    pub fn acks_from(&self, end: End) -> Vec<(u64, u32)> {
        self.log
            .iter()
            .filter(|sent| sent.from == end && sent.len() == 0)
            .map(|sent| (sent.at.as_nanos() / 1_000_000, sent.ack()))
            .collect()
    }
    pub fn retransmissions(&self) -> Vec<(u64, u32)> {
        self.log
            .iter()
            .filter(|sent| sent.transmit.retransmission)
            .map(|sent| (sent.at.as_nanos() / 1_000_000, sent.seq()))
            .collect()
    }
    pub fn saw(&self, end: End, event: Event) -> bool {
        self.events.iter().any(|entry| entry.1 == end && entry.2 == event)
    }
}

/// A segment from A to B with the payload `[start, end)`, as sequence numbers.
pub fn data(start: u32, end: u32) -> Segment {
    Segment {
        src_port: 1,
        dst_port: 2,
        seq: SeqNumber(start),
        ack: SeqNumber(1),
        window: 65_535,
        flags: Flags::ACK,
        payload_len: end - start,
        ..Segment::default()
    }
}

pub fn ports(end: End) -> Ports {
    match end {
        End::A => Ports { local: 1, remote: 2 },
        End::B => Ports { local: 2, remote: 1 },
    }
}

/// 1000-byte segments, an ACK for each, no Nagle: so that tests can count.
pub fn plain() -> Config {
    Config { mss: MSS, delayed_ack: None, nagle: false, restart_after_idle: false, ..Config::default() }
}
