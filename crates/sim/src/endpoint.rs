//! One end of a flow: a connection, the link where its packets leave, and how it is watched.

use crate::packet::Label;
use longhaul_scenario::TcpSpec;
use longhaul_segment::SeqNumber;
use longhaul_tcp::{Connection, Ports, State};
use longhaul_traffic::Side;
use longhaul_units::{Duration, EndpointId, Instant, LinkId, Random};

/// What every packet touches stands together, here and in the connection: there may be thousands of endpoints.
#[repr(C, align(64))]
pub(crate) struct Endpoint {
    /// First link on the way to the peer.
    pub first_link: LinkId,
    /// The peer's endpoint.
    pub peer: EndpointId,
    /// Received bytes at which the application is notified.
    pub goal: u64,
    /// When the connection's next timer is due.
    pub due: Instant,
    /// When the timeline wakes this endpoint: not after `due`, but often before it, since timers move on with every ACK.
    pub wake: Instant,
    pub overhead: Option<Box<SendOverhead>>,
    /// What queues see of its packets.
    pub label: Label,
    pub watch: Watch,
    pub connection: Connection,
}

/// What is done with a packet that arrives, beside handing it over.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Watch {
    Nothing,
    /// Segments are traced here.
    Trace,
    /// The endpoint has one connection after the other: a packet may be of one that is no more.
    Ports,
    /// It is one of a QUIC connection, which has a place of its own.
    Quic,
    /// It is one of a flow over UDP, which has a place of its own.
    Udp,
}

/// One end of a flow's connection, by its settings. Probes are a connection request and are always sent: with them
/// `established` only means that there is nothing else to agree on. `seed` is that of its congestion control's random numbers.
pub(crate) fn connection(tcp: &TcpSpec, side: Side, isn: SeqNumber, ports: Ports, seed: u64) -> Connection {
    let (config, cc) = (tcp.config(), tcp.congestion_control(seed));
    match side {
        _ if tcp.established && cc.probe().is_none() => Connection::established(config, cc, ports),
        Side::Client => Connection::connect(config, cc, isn, ports),
        Side::Server => Connection::listen(config, cc, isn, ports),
    }
}

impl Endpoint {
    /// It has an open connection of its own, and nothing is done with what arrives but handing it over.
    #[inline(always)]
    pub fn is_ordinary(&self) -> bool {
        self.watch == Watch::Nothing && self.overhead.is_none() && self.connection.state() != State::Closed
    }

    /// After it has sent all that it may: takes note of its next timer. True if it reports nothing to the application, and the timeline
    /// wakes it in time.
    #[inline(always)]
    pub fn is_settled(&mut self) -> bool {
        if self.connection.has_events() || self.connection.received_bytes() >= self.goal {
            return false;
        }
        self.due = self.connection.poll_timeout().unwrap_or(Instant::FAR_FUTURE);
        self.due >= self.wake
    }

    /// Takes a new connection in the place of the old one.
    pub fn renew(&mut self, connection: Connection) {
        self.connection = connection;
        self.goal = u64::MAX;
        self.due = Instant::FAR_FUTURE;
    }
}

/// A random delay before each transmission; packets keep their order.
pub(crate) struct SendOverhead {
    pub most: Duration,
    pub random: Random,
    pub last: Instant,
}

impl SendOverhead {
    /// When a packet that is handed over at `now` leaves.
    pub fn departure(&mut self, now: Instant) -> Instant {
        let drawn = now + Duration::from_nanos(self.random.up_to(self.most.as_nanos()));
        self.last = self.last.max(drawn);
        self.last
    }
}
