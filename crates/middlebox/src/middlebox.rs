//! What a middlebox is: something at a node that receives packets in both directions and forwards, drops, holds, changes or
//! originates them. It has neither clock nor network (sans-IO).

use crate::base::Base;
use crate::levels::Levels;
use longhaul_segment::{Ecn, Segment, SeqNumber};
use longhaul_tcp::{Config, Connection, Stats};
use longhaul_units::{ConnectionId, Duration, IdVec, Instant, Rate, Side};

/// Which way a packet goes, seen from the end that opened its connection.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Direction {
    /// From the active opener to the passive one.
    Forward = 0,
    /// From the passive opener to the active one.
    Reverse = 1,
}

impl Direction {
    /// Both, in the order of their numbers.
    pub const BOTH: [Direction; 2] = [Direction::Forward, Direction::Reverse];

    /// The end whose packets go this way.
    pub const fn sender(self) -> Side {
        match self {
            Direction::Forward => Side::Client,
            Direction::Reverse => Side::Server,
        }
    }

    /// The other way.
    pub const fn opposite(self) -> Direction {
        match self {
            Direction::Forward => Direction::Reverse,
            Direction::Reverse => Direction::Forward,
        }
    }
}

/// The payload that rides along with a segment. Nothing, `()`, where only its length is simulated; its bytes on real
/// packets.
pub trait Body: Clone + Default + Send + 'static {}
impl<T: Clone + Default + Send + 'static> Body for T {}

/// A packet that has reached a middlebox. What is changed in it is changed in the packet that goes on.
///
/// Whoever drives the middlebox has turned addresses and ports into the number of a connection.
#[derive(Debug)]
pub struct Passing<'a, B> {
    /// Number of its connection.
    pub connection: ConnectionId,
    /// Which way it goes.
    pub direction: Direction,
    /// The ECN field of its IP header.
    pub ecn: &'a mut Ecn,
    /// Its TCP header and the length of its payload.
    pub segment: &'a mut Segment,
    /// Its payload.
    pub body: &'a B,
}

/// What becomes of a packet that has reached a middlebox.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use]
pub enum Verdict {
    /// It goes on, before anything that [`Middlebox::transmit_into`] gives.
    Forward,
    /// It ends here: dropped, or taken in to be sent on later.
    Taken,
}

/// Where a packet goes that a middlebox sends by itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Departure<B> {
    /// Where it leaves: 0, or 1 for the second node of a middlebox that stands at two.
    pub port: usize,
    /// Number of its connection.
    pub connection: ConnectionId,
    /// Which way it goes.
    pub direction: Direction,
    /// The ECN field of its IP header.
    pub ecn: Ecn,
    /// Its payload.
    pub body: B,
}

/// Something that happened inside and that counts for the network around.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Event {
    /// A packet was dropped.
    Dropped {
        /// Number of its connection.
        connection: ConnectionId,
        /// Which way it went.
        direction: Direction,
        /// Its payload in bytes.
        payload_len: u32,
        /// Bytes of the whole IP packet.
        wire_len: u32,
    },
}

/// A middlebox. After each input its owner takes what [`Middlebox::transmit_into`] gives until it gives nothing, then
/// polls the next timeout.
///
/// A new one defines what it does with a packet, with a timer of its own, and with what it holds when it breaks down;
/// the rest follows from its [`Base`].
pub trait Middlebox<B: Body>: Send {
    /// What it has in common with all others.
    fn base(&self) -> &Base<B>;
    /// The same, to change it.
    fn base_mut(&mut self) -> &mut Base<B>;
    /// A packet has reached the middlebox at `port`.
    fn handle_packet(&mut self, now: Instant, port: usize, packet: Passing<'_, B>) -> Verdict;
    /// Everything that it counts, by the name of the metric, from the start.
    fn counters(&self) -> Vec<(&'static str, u64)>;

    /// One of the timers that it has set has expired; the next is looked for when it is done. It may have been set for a later
    /// time meanwhile.
    fn on_timer(&mut self, _now: Instant, _owner: usize) {}
    /// Gives up all that it holds, since it breaks down.
    fn lose_all(&mut self, _now: Instant) {}

    /// True if it needs [`Middlebox::handle_queue`] before each time that it is polled for packets.
    fn watches_queue(&self) -> bool {
        false
    }
    /// What waits for the link that leads from its first node to its second.
    fn handle_queue(&mut self, _now: Instant, _state: QueueState) {}

    /// The time that [`Middlebox::poll_timeout`] returned has come.
    fn handle_timeout(&mut self, now: Instant) {
        while let Some(owner) = self.base_mut().timers.expired(now) {
            self.on_timer(now, owner);
        }
    }
    /// When it next needs [`Middlebox::handle_timeout`].
    fn poll_timeout(&self) -> Option<Instant> {
        self.base().timers.next()
    }
    /// Writes the next packet that is to leave into `segment`, if there is one.
    fn transmit_into(&mut self, _now: Instant, segment: &mut Segment) -> Option<Departure<B>> {
        self.base_mut().outbox.pop_into(segment)
    }
    /// What has happened, one by one.
    fn poll_event(&mut self) -> Option<Event> {
        self.base_mut().events.pop_front()
    }
    /// It breaks down: all that it holds is lost. From then on it behaves as documented for its kind.
    fn fail(&mut self, now: Instant) {
        self.lose_all(now);
        self.base_mut().break_down();
    }
    /// What it holds.
    fn levels(&self) -> &Levels {
        &self.base().levels
    }
    /// Mean and largest values are of the time from now on.
    fn begin_measuring(&mut self, now: Instant) {
        self.base_mut().levels.restart(now);
    }
    /// Its connections between its own nodes.
    fn own_connections(&self) -> Vec<OwnConnection> {
        vec![]
    }
}

/// The queue of a link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct QueueState {
    /// Bytes that wait or are being transmitted.
    pub bytes: u64,
    /// The link's rate now.
    pub rate: Rate,
}

/// What one end of a connection between the two nodes of a middlebox has done.
#[derive(Clone, Copy, Debug)]
pub struct OwnConnection {
    /// Which of its connections.
    pub index: usize,
    /// At which node.
    pub port: usize,
    /// Its counters.
    pub stats: Stats,
    /// Congestion window in bytes.
    pub cwnd: u64,
    /// Slow start threshold in bytes; `u64::MAX` where there is none.
    pub ssthresh: u64,
    /// Bytes in flight.
    pub flight: u64,
    /// Bytes that wait to be sent.
    pub unsent: u64,
    /// Smoothed round trip time; zero before one was measured.
    pub srtt: Duration,
}

impl OwnConnection {
    /// Of a TCP connection.
    pub fn of(index: usize, connection: &Connection) -> Self {
        OwnConnection {
            index,
            port: 0,
            stats: *connection.stats(),
            cwnd: connection.cwnd(),
            ssthresh: connection.ssthresh(),
            flight: connection.flight_size(),
            unsent: connection.unsent(),
            srtt: connection.srtt(),
        }
    }
}

/// One end of a connection whose handshake is not seen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct KnownEnd {
    /// Sequence number of its first byte.
    pub first: SeqNumber,
    /// The window field that it offers at first, scaled.
    pub window: u16,
    /// The scale of its windows.
    pub shift: u8,
}

impl KnownEnd {
    /// Of a connection with these settings.
    pub fn of(config: &Config) -> Self {
        let shift = config.window_shift();
        KnownEnd { first: SeqNumber(1), window: (config.largest_window() >> shift) as u16, shift }
    }
}

/// Connections that are established from the start, by their numbers: the active opener's end and the passive one's.
#[derive(Clone, Debug, Default)]
pub struct Established(pub IdVec<ConnectionId, Option<[KnownEnd; 2]>>);

impl Established {
    /// What is known of a connection, if its handshake will not be seen.
    pub fn of(&self, connection: ConnectionId) -> Option<[KnownEnd; 2]> {
        self.0.get(connection).copied().flatten()
    }
}
