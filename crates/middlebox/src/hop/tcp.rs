//! The hop's second carrier, for paths on which UDP does not pass: TCP connections between the nodes, with records as long as TLS makes
//! them.

use super::quic::address;
use super::tunnel::Tunnel;
use crate::base::counters;
use crate::split::Side;
use crate::{Data, Departure, Direction, OwnConnection, Passing, Payload};
use longhaul_hop::pool::null_tls::NullTls;
use longhaul_hop::{Carrier, LaneId, Pool, PoolConfig};
use longhaul_segment::{Flags, IPV4_HEADER, Segment, SeqNumber, TCP_HEADER};
use longhaul_tcp::{Config, Connection, Event, Ports, Reading, Stats};
use longhaul_units::{ConnectionId, Duration, Id, Instant, Random, Rate};

/// Bytes that are sealed at once, and those that wait in a connection without having been sent, as `longhaul-pep` has them.
const AT_ONCE: usize = 32 << 10;
const UNSENT: u64 = 256 << 10;
/// Pause before a connection that has ended is opened again, at first and at most.
const RETRY: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(15));
/// Bytes of the timestamps option in each segment (RFC 7323 appendix A).
const TIMESTAMPS: u64 = 12;
/// Both nodes' keys: there is one node at the other end.
const KEY: [u8; 32] = [0; 32];

/// The connections between the nodes.
#[derive(Clone)]
pub struct TcpCarrier {
    /// Their settings at both ends.
    pub side: Side,
    /// The rate at which each node sends on each of them at most, IP headers included.
    pub rates: [Option<Rate>; 2],
    /// How many there are. A flow stays on one of them.
    pub connections: u32,
    /// Credits.
    pub pool: PoolConfig,
}

counters! {
    /// What the connections of a node have done.
    struct Counts {
        long_hop_packets,
        long_hop_retransmissions,
        long_hop_timeouts,
    }
}

impl Counts {
    fn add(&mut self, stats: &Stats) {
        self.long_hop_packets += stats.data_segments_sent;
        self.long_hop_retransmissions += stats.retransmitted_segments;
        self.long_hop_timeouts += stats.timeouts;
    }
}

/// What is left of a rate for the payload of full segments.
fn payload_rate(rate: Rate, config: &Config) -> Rate {
    let options = if config.timestamps { TIMESTAMPS } else { 0 };
    let mss = u64::from(config.mss);
    let packet = mss + u64::from(TCP_HEADER + IPV4_HEADER);
    Rate::from_bps_f64(rate.as_bps() as f64 * (mss - options) as f64 / packet as f64)
}

/// One of the connections.
struct Lane<P: Payload> {
    connection: crate::Carrier<P>,
    tls: NullTls,
    /// In the pool, once its handshake is complete.
    id: Option<LaneId>,
    /// The SYN that opened it at this node.
    syn: Option<SeqNumber>,
}

impl<P: Payload> Lane<P> {
    fn new(connection: Connection, opener: bool, syn: Option<SeqNumber>) -> Self {
        let mut out = vec![];
        let tls = NullTls::new(opener, &mut out);
        let mut lane = Lane { connection: crate::Carrier::new(connection), tls, id: None, syn };
        lane.write(&out);
        lane
    }

    fn write(&mut self, bytes: &[u8]) {
        if !bytes.is_empty() {
            self.connection.write(&P::Data::of(bytes.len() as u32, bytes));
        }
    }

    /// True if it is over.
    fn has_ended(&mut self) -> bool {
        let mut ended = false;
        while let Some(event) = self.connection.poll_event() {
            ended |= matches!(event, Event::Reset | Event::TimedOut | Event::StartFailed | Event::PeerClosed);
        }
        ended
    }

    /// Takes what has come.
    fn read(&mut self, now: Instant, opener: bool, pool: &mut Pool) -> Result<(), &'static str> {
        let (mut plain, mut answer) = (vec![], vec![]);
        loop {
            let data = self.connection.read(now, AT_ONCE as u64);
            if data.is_empty() {
                break;
            }
            self.tls.received(&data.to_bytes(), &mut plain, &mut answer)?;
        }
        self.write(&answer);
        if self.tls.is_open() {
            let id = *self.id.get_or_insert_with(|| pool.connected(Some(KEY), address(0), opener));
            pool.received(id, &plain)?;
        }
        Ok(())
    }

    /// Hands over what the pool has to send, as much as leaves soon.
    fn fill(&mut self, now: Instant, pool: &mut Pool) {
        let Some(id) = self.id else { return };
        while self.connection.unsent() < UNSENT && pool.has_output(id) {
            let (mut plain, mut sealed) = (vec![], vec![]);
            pool.to_send(now, id, AT_ONCE, &mut plain);
            NullTls::seal(&plain, &mut sealed);
            self.write(&sealed);
        }
    }
}

/// One node's end of all connections. The first node opens them.
pub(super) struct Tcp<P: Payload> {
    side: usize,
    first_number: ConnectionId,
    settings: TcpCarrier,
    pool: Pool,
    lanes: Vec<Option<Box<Lane<P>>>>,
    /// When each connection is opened, at the first node, and the pause after that.
    opens: Vec<Option<Instant>>,
    pause: Duration,
    random: Random,
    /// What earlier connections in each place have done.
    before: Vec<Stats>,
}

impl<P: Payload> Tcp<P> {
    pub fn new(side: usize, first_number: ConnectionId, settings: TcpCarrier, random: Random) -> Self {
        let count = settings.connections as usize;
        Tcp {
            side,
            first_number,
            pool: Pool::new(settings.pool),
            lanes: (0..count).map(|_| None).collect(),
            opens: vec![(side == 0).then_some(Instant::ZERO); count],
            pause: RETRY.0,
            settings,
            random,
            before: vec![Stats::default(); count],
        }
    }

    fn opener(&self) -> bool {
        self.side == 0
    }

    fn open(&mut self, index: usize, syn: Option<SeqNumber>) {
        let Side { config, congestion } = &self.settings.side;
        let isn = SeqNumber(self.random.bits() as u32);
        // Any ports will do, as long as each connection has its own.
        let port = |side: usize| 20_000 + 2 * (index as u16) + side as u16;
        let ports = Ports { local: port(self.side), remote: port(1 - self.side) };
        let make = if self.opener() { Connection::connect } else { Connection::listen };
        let most = self.settings.rates[self.side].map(|rate| payload_rate(rate, config));
        let config = Config {
            max_pacing_rate: config.max_pacing_rate.or(most),
            reading: Reading::Manual,
            ..config.clone()
        };
        let connection = make(config, congestion(), isn, ports);
        self.lanes[index] = Some(Box::new(Lane::new(connection, self.opener(), syn)));
    }

    /// What all connections in this place have done.
    fn stats_of(&self, index: usize, lane: &Lane<P>) -> Stats {
        let mut stats = self.before[index];
        stats.merge(lane.connection.stats());
        stats
    }

    /// A connection is over; its flows are reset, and the first node opens another.
    fn end(&mut self, now: Instant, index: usize, reason: &str) {
        let Some(lane) = self.lanes[index].take() else { return };
        self.before[index] = self.stats_of(index, &lane);
        if let Some(id) = lane.id {
            self.pool.disconnected(id, reason);
            self.pause = RETRY.0;
        }
        if self.opener() {
            self.opens[index] = Some(now + self.pause);
            self.pause = self.pause.saturating_mul(2).min(RETRY.1);
        }
    }

    /// Takes up what has happened to a connection.
    fn settle(&mut self, now: Instant, index: usize) {
        let opener = self.opener();
        let Some(lane) = self.lanes[index].as_deref_mut() else { return };
        let read = lane.read(now, opener, &mut self.pool);
        if lane.has_ended() {
            self.end(now, index, "the connection has ended");
        } else if let Err(reason) = read {
            self.end(now, index, reason);
        }
    }
}

impl<P: Payload> Tunnel<P> for Tcp<P> {
    fn carrier(&mut self) -> &mut dyn Carrier {
        &mut self.pool
    }

    fn handle_packet(&mut self, now: Instant, packet: &Passing<'_, P>) -> bool {
        let index = packet.connection.index() - self.first_number.index();
        let segment = &*packet.segment;
        let opens = segment.flags.contains(Flags::SYN) && !segment.flags.contains(Flags::ACK);
        if !self.opener() && opens {
            let known = self.lanes[index].as_deref().is_some_and(|lane| lane.syn == Some(segment.seq));
            if !known {
                // The other node has given up the old one.
                self.end(now, index, "the peer opens a new connection");
                self.open(index, Some(segment.seq));
            }
        }
        let Some(lane) = self.lanes[index].as_deref_mut() else { return true };
        lane.connection.handle_segment(now, segment, *packet.ecn, packet.body);
        self.settle(now, index);
        false
    }

    fn handle_timeout(&mut self, now: Instant) {
        for index in 0..self.lanes.len() {
            if self.opens[index].is_some_and(|at| at <= now) {
                self.opens[index] = None;
                self.open(index, None);
            }
            let Some(lane) = self.lanes[index].as_deref_mut() else { continue };
            if lane.connection.poll_timeout().is_some_and(|due| due <= now) {
                lane.connection.handle_timeout(now);
                self.settle(now, index);
            }
        }
    }

    fn poll_timeout(&mut self) -> Option<Instant> {
        let timers = self.lanes.iter().flatten().filter_map(|lane| lane.connection.poll_timeout());
        timers.chain(self.opens.iter().copied().flatten()).min()
    }

    fn transmit_into(&mut self, now: Instant, segment: &mut Segment) -> Option<Departure<P>> {
        for (index, lane) in self.lanes.iter_mut().enumerate() {
            let Some(lane) = lane else { continue };
            lane.fill(now, &mut self.pool);
            if let Some((ecn, body)) = lane.connection.transmit_into(now, segment) {
                let connection = self.first_number.after(index);
                return Some(Departure {
                    port: 0,
                    connection,
                    direction: Direction::BOTH[self.side],
                    ecn,
                    body,
                });
            }
        }
        None
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        let mut counts = Counts::default();
        for (before, lane) in self.before.iter().zip(&self.lanes) {
            counts.add(before);
            if let Some(lane) = lane {
                counts.add(lane.connection.stats());
            }
        }
        counts.list()
    }

    fn own_connections(&self) -> Vec<OwnConnection> {
        let lanes = self.lanes.iter().enumerate().filter_map(|(index, lane)| Some((index, lane.as_ref()?)));
        lanes
            .map(|(index, lane)| OwnConnection {
                stats: self.stats_of(index, lane),
                ..OwnConnection::of(index, &lane.connection)
            })
            .collect()
    }
}
