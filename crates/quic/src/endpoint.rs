//! An endpoint: quinn-proto's, driven by the run's time, with what an application has to send and what it has received.
//!
//! Sans-IO: inputs are datagrams, time and the application's requests; outputs are datagrams, events and the time of the next
//! timer. After each input, [`Endpoint::poll_transmit`] is called until it gives nothing more, then
//! [`Endpoint::poll_event`], then [`Endpoint::poll_timeout`].

use crate::clock::Clock;
use crate::congestion::{Factory, Measured};
use crate::connection::{Connection, ZEROS};
use crate::frames::Content;
use crate::null::Ticket;
use crate::observe::Observer;
use crate::settings::{Settings, SettingsError};
use crate::trace::TraceRow;
use crate::warnings::Incidents;
use bytes::{Bytes, BytesMut};
use longhaul_cc::Inspection;
use longhaul_cc::careful_resume::Phase;
use longhaul_tcp::{Limit, LimitedTime, Stats};
use longhaul_units::{Ecn, Instant, counters};
use quinn_proto::{ConnectionHandle, DatagramEvent, Dir, EcnCodepoint, StreamId, TransportConfig, VarInt};
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::Arc;

/// A UDP datagram, without its headers.
#[derive(Clone, Debug)]
pub struct Datagram {
    /// Where it goes.
    pub to: SocketAddr,
    /// Its ECN field.
    pub ecn: Ecn,
    /// UDP payload.
    pub bytes: Vec<u8>,
    /// What is in it.
    pub content: Content,
}

/// A connection of an endpoint.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ConnectionKey(usize);

counters! {
    /// What was sent on a stream.
    pub struct StreamCounts {
        /// Packets with its data.
        sum pub packets: u64,
        /// Bytes of it.
        sum pub bytes: u64,
        /// Packets with data that had been sent before.
        sum pub repeated_packets: u64,
        /// Those data.
        sum pub repeated_bytes: u64,
    }
}

/// What an endpoint reports.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Event {
    /// A connection is established: a client's by its own request, a server's by a peer's.
    Connected,
    /// The peer has opened a stream.
    Opened(StreamId),
    /// Data came in order and were read; `end` if nothing more follows.
    Received {
        /// On which stream.
        stream: StreamId,
        /// How many bytes.
        bytes: u64,
        /// The stream is complete.
        end: bool,
    },
    /// All of a stream, and its end, is acknowledged.
    Acknowledged(StreamId),
    /// The peer has given up a stream, with its code.
    Reset {
        /// Which stream.
        stream: StreamId,
        /// The application's code.
        code: u64,
    },
    /// The peer reads no more of a stream, with its code.
    Stopped {
        /// Which stream.
        stream: StreamId,
        /// The application's code.
        code: u64,
    },
    /// The window was reduced: loss, at most once a round trip. In flight before it, in bytes.
    LossEvent {
        /// Bytes in flight.
        in_flight: u64,
    },
    /// The window was reduced on an ECN echo.
    EcnEvent,
    /// Persistent congestion (RFC 9002 section 7.6).
    PersistentCongestion,
    /// The round trip of a reduction is over.
    RecoveryEnd,
    /// Careful resume has come to this phase.
    Resume(Phase),
    /// The connection is over; the text has the reason.
    Lost {
        /// Why, in quinn-proto's words.
        reason: String,
        /// It was closed by one of its two applications, and not by an error.
        closed: bool,
    },
}

/// A QUIC endpoint with its connections.
pub struct Endpoint {
    inner: quinn_proto::Endpoint,
    clock: Clock,
    settings: Settings,
    transport: Arc<TransportConfig>,
    factory: Arc<Factory>,
    seed: [u8; 32],
    /// Connections that it has opened.
    opened: u64,
    connections: Vec<Option<Box<Connection>>>,
    /// Datagrams without a connection: version negotiation, refusals, resets.
    answers: VecDeque<Datagram>,
    events: VecDeque<(ConnectionKey, Event)>,
    zeros: Bytes,
    counts_streams: bool,
    /// Logs of connections that are no more.
    logs: Vec<Vec<u8>>,
    buffer: Vec<u8>,
}

impl Endpoint {
    /// A client; `base` is time zero of the run, `seed` that of all its random numbers.
    ///
    /// # Errors
    /// If there can be no endpoint with these settings.
    pub fn client(
        settings: Settings,
        seed: [u8; 32],
        base: std::time::Instant,
    ) -> Result<Self, SettingsError> {
        Self::new(settings, seed, base, false)
    }

    /// A server; the rest as for [`Endpoint::client`].
    ///
    /// # Errors
    /// If there can be no endpoint with these settings.
    pub fn server(
        settings: Settings,
        seed: [u8; 32],
        base: std::time::Instant,
    ) -> Result<Self, SettingsError> {
        Self::new(settings, seed, base, true)
    }

    fn new(
        settings: Settings,
        seed: [u8; 32],
        base: std::time::Instant,
        server: bool,
    ) -> Result<Self, SettingsError> {
        settings.check()?;
        // Each endpoint counts its own connections only.
        let observed = settings.qlog || settings.trace || settings.observer.is_some();
        let settings = Settings { observer: observed.then(Observer::default), ..settings };
        let clock = Clock::new(base);
        let policy_seed = seed.first_chunk::<8>().map_or(0, |bytes| u64::from_le_bytes(*bytes));
        let factory = settings.factory(clock, policy_seed);
        let transport = Arc::new(settings.transport(Arc::clone(&factory)));
        let config = Arc::new(settings.endpoint(seed));
        let accepts = server.then(|| Arc::new(settings.server(Arc::clone(&transport), &seed)));
        let inner = quinn_proto::Endpoint::new(config, accepts, settings.mtu_discovery.is_some(), None);
        Ok(Endpoint {
            inner,
            clock,
            settings,
            transport,
            factory,
            seed,
            opened: 0,
            connections: vec![],
            answers: VecDeque::new(),
            events: VecDeque::new(),
            zeros: Bytes::from(vec![0; ZEROS]),
            counts_streams: false,
            logs: vec![],
            buffer: vec![],
        })
    }

    /// Counts what is sent on each stream of the connections to come ([`Endpoint::sent_on`]).
    pub fn count_streams(&mut self) {
        self.counts_streams = true;
    }

    /// Opens a connection. With a `ticket` it is resumed, and early data may be sent if it allows them.
    ///
    /// # Errors
    /// A text if the address cannot be one of a server, or no connection ID is left.
    pub fn connect(
        &mut self,
        now: Instant,
        server: SocketAddr,
        name: &str,
        ticket: Option<Ticket>,
    ) -> Result<ConnectionKey, String> {
        let config = self.settings.client(Arc::clone(&self.transport), &self.seed, self.opened, ticket);
        self.opened += 1;
        let (handle, connection) = self
            .inner
            .connect(self.clock.to_std(now), config, server, name)
            .map_err(|error| error.to_string())?;
        Ok(self.insert(handle, connection, now))
    }

    fn insert(
        &mut self,
        handle: ConnectionHandle,
        inner: quinn_proto::Connection,
        now: Instant,
    ) -> ConnectionKey {
        let shared =
            self.factory.take().expect("a connection has just been made, and with it its controller");
        if self.connections.len() <= handle.0 {
            self.connections.resize_with(handle.0 + 1, || None);
        }
        // The number of a connection that is no more is given again.
        let before = self.connections[handle.0].take();
        self.logs.extend(before.and_then(|mut before| before.log.as_mut().map(|log| log.take())));
        let connection = Connection::new(now, inner, shared, &self.settings, self.counts_streams);
        self.connections[handle.0] = Some(Box::new(connection));
        ConnectionKey(handle.0)
    }

    fn connection(&self, key: ConnectionKey) -> Option<&Connection> {
        self.connections.get(key.0)?.as_deref()
    }

    fn connection_mut(&mut self, key: ConnectionKey) -> Option<&mut Connection> {
        self.connections.get_mut(key.0)?.as_deref_mut()
    }

    /// Keys of all connections, those that are over and not yet forgotten included.
    pub fn connections(&self) -> impl Iterator<Item = ConnectionKey> + '_ {
        (0..self.connections.len()).filter(|index| self.connections[*index].is_some()).map(ConnectionKey)
    }

    /// A datagram has arrived.
    pub fn handle_datagram(&mut self, now: Instant, from: SocketAddr, ecn: Ecn, bytes: BytesMut) {
        let at = self.clock.to_std(now);
        let ecn = match ecn {
            Ecn::NotEct => None,
            Ecn::Ect0 => Some(EcnCodepoint::Ect0),
            Ecn::Ect1 => Some(EcnCodepoint::Ect1),
            Ecn::Ce => Some(EcnCodepoint::Ce),
        };
        self.buffer.clear();
        let head: [u8; 32] = std::array::from_fn(|index| bytes.get(index).copied().unwrap_or(0));
        match self.inner.handle(at, from, None, ecn, bytes, &mut self.buffer) {
            None => {}
            Some(DatagramEvent::ConnectionEvent(handle, event)) => {
                let cid_length = usize::from(self.settings.cid_length);
                if let Some(connection) = self.connection_mut(ConnectionKey(handle.0)) {
                    connection.inner.handle_event(event);
                    connection.look_at(now, &head, cid_length);
                    connection.stats.segments_received += 1;
                    connection.stats.ce_received += u64::from(ecn == Some(EcnCodepoint::Ce));
                    self.after_input(now, handle.0);
                }
            }
            Some(DatagramEvent::NewConnection(incoming)) => {
                self.buffer.clear();
                match self.inner.accept(incoming, at, &mut self.buffer, None) {
                    Ok((handle, connection)) => {
                        let key = self.insert(handle, connection, now);
                        let cid_length = usize::from(self.settings.cid_length);
                        if let Some(connection) = self.connection_mut(key) {
                            connection.look_at(now, &head, cid_length);
                        }
                        self.after_input(now, handle.0);
                    }
                    Err(refused) => {
                        if let Some(transmit) = refused.response {
                            self.answer(transmit.destination, transmit.size);
                        }
                    }
                }
            }
            Some(DatagramEvent::Response(transmit)) => self.answer(transmit.destination, transmit.size),
        }
    }

    fn answer(&mut self, to: SocketAddr, size: usize) {
        let bytes = self.buffer[..size].to_vec();
        self.answers.push_back(Datagram { to, ecn: Ecn::NotEct, bytes, content: Content::default() });
    }

    /// Time has come to [`Endpoint::poll_timeout`].
    pub fn handle_timeout(&mut self, now: Instant) {
        let at = self.clock.to_std(now);
        for index in 0..self.connections.len() {
            let Some(connection) = self.connections[index].as_deref_mut() else { continue };
            let timer = connection.inner.poll_timeout().is_some_and(|due| due <= at);
            let released = connection.release.is_some_and(|release| release <= now);
            if released {
                connection.release = None;
                connection.dirty = true;
            }
            if timer {
                connection.inner.handle_timeout(at);
                self.after_input(now, index);
            }
        }
    }

    /// When [`Endpoint::handle_timeout`] is to be called, if nothing happens before. A time in the past is due at once: a probe
    /// timeout counts from the last packet sent, and shrinks with the estimate of the round trip (RFC 9002 section 6.2.1).
    pub fn poll_timeout(&mut self) -> Option<Instant> {
        let clock = self.clock;
        let connections = self.connections.iter_mut().flatten();
        connections
            .filter_map(|connection| {
                let timer = connection.inner.poll_timeout().map(|due| clock.from_std(due));
                [timer, connection.release].into_iter().flatten().min()
            })
            .min()
    }

    /// The next event.
    pub fn poll_event(&mut self) -> Option<(ConnectionKey, Event)> {
        self.events.pop_front()
    }

    /// The next datagram to send.
    pub fn poll_transmit(&mut self, now: Instant) -> Option<Datagram> {
        if let Some(answer) = self.answers.pop_front() {
            return Some(answer);
        }
        for index in 0..self.connections.len() {
            let Some(connection) = self.connections[index].as_deref_mut() else { continue };
            if !connection.dirty {
                continue;
            }
            let at = self.clock.to_std(now);
            if let Some(datagram) = connection.poll_transmit(now, at, &self.settings) {
                connection.top_up(&datagram.content, &self.zeros);
                return Some(datagram);
            }
            connection.dirty = false;
            self.forget_if_drained(now, index);
        }
        None
    }

    /// Takes up what an input has led to: events for the endpoint, for the application, ACKs for congestion control.
    fn after_input(&mut self, now: Instant, index: usize) {
        let key = ConnectionKey(index);
        let Some(connection) = self.connections[index].as_deref_mut() else { return };
        connection.dirty = true;
        connection.report_congestion(now, &mut |event| self.events.push_back((key, event)));
        connection.log_recovery(now);
        while let Some(event) = connection.inner.poll() {
            connection.take(now, event, &self.zeros, &mut |event| {
                self.events.push_back((key, event));
            });
        }
        self.forget_if_drained(now, index);
    }

    fn forget_if_drained(&mut self, now: Instant, index: usize) {
        let Some(connection) = self.connections[index].as_deref_mut() else { return };
        while let Some(event) = connection.inner.poll_endpoint_events() {
            if let Some(reply) = self.inner.handle_event(ConnectionHandle(index), event) {
                connection.inner.handle_event(reply);
                connection.dirty = true;
            }
        }
        if connection.inner.is_drained() {
            connection.limits.set(now, Limit::Closed);
            connection.over = true;
        }
    }

    /// Forgets a connection that is over, and its counters.
    pub fn forget(&mut self, key: ConnectionKey) {
        if self.connection(key).is_some_and(|connection| connection.over) {
            self.connections[key.0] = None;
        }
    }

    /// Opens a stream; `None` if the peer allows no more for the time being, or the connection is over.
    pub fn open(&mut self, key: ConnectionKey) -> Option<StreamId> {
        let connection = self.connection_mut(key)?;
        connection.inner.streams().open(Dir::Bi)
    }

    /// Sends `bytes` without content on a stream, [`u64::MAX`] for data without end.
    pub fn write(&mut self, key: ConnectionKey, stream: StreamId, bytes: u64) {
        let zeros = self.zeros.clone();
        let Some(connection) = self.connection_mut(key) else { return };
        let outgoing = connection.outgoing.entry(number(stream)).or_default();
        outgoing.waiting = outgoing.waiting.saturating_add(bytes);
        connection.fill(stream, &zeros);
        connection.dirty = true;
    }

    /// Nothing follows on a stream after what was written.
    pub fn finish(&mut self, key: ConnectionKey, stream: StreamId) {
        let zeros = self.zeros.clone();
        let Some(connection) = self.connection_mut(key) else { return };
        let outgoing = connection.outgoing.entry(number(stream)).or_default();
        outgoing.finish = true;
        if outgoing.waiting == u64::MAX {
            // Data without end have one now.
            outgoing.waiting = 0;
        }
        connection.fill(stream, &zeros);
        connection.dirty = true;
    }

    /// Gives a stream up in the sending direction: what is not delivered is lost (RFC 9000 section 3.1).
    pub fn reset(&mut self, key: ConnectionKey, stream: StreamId, code: u32) {
        let Some(connection) = self.connection_mut(key) else { return };
        connection.outgoing.remove(&number(stream));
        // A stream that is complete needs no reset.
        let _ = connection.inner.send_stream(stream).reset(VarInt::from_u32(code));
        connection.dirty = true;
    }

    /// Reads no more of a stream, and sends STOP_SENDING.
    pub fn stop(&mut self, key: ConnectionKey, stream: StreamId, code: u32) {
        let Some(connection) = self.connection_mut(key) else { return };
        let _ = connection.inner.recv_stream(stream).stop(VarInt::from_u32(code));
        connection.dirty = true;
    }

    /// Streams of higher priority are sent first; 0 at the beginning.
    pub fn set_priority(&mut self, key: ConnectionKey, stream: StreamId, priority: i32) {
        if let Some(connection) = self.connection_mut(key) {
            let _ = connection.inner.send_stream(stream).set_priority(priority);
        }
    }

    /// Closes a connection at once: what is not delivered is lost.
    pub fn close(&mut self, now: Instant, key: ConnectionKey, code: u32) {
        let at = self.clock.to_std(now);
        if let Some(connection) = self.connection_mut(key) {
            connection.inner.close(at, VarInt::from_u32(code), Bytes::new());
            connection.dirty = true;
        }
    }

    /// Whether a connection is established.
    pub fn is_connected(&self, key: ConnectionKey) -> bool {
        self.connection(key).is_some_and(|connection| connection.connected && !connection.over)
    }

    /// Whether a connection is no more.
    pub fn is_over(&self, key: ConnectionKey) -> bool {
        self.connection(key).is_none_or(|connection| connection.over || connection.inner.is_closed())
    }

    /// A ticket with which the next connection to the same server is resumed; `None` before the server has shown its
    /// parameters. `early_data` allows 0-RTT.
    pub fn ticket(&self, key: ConnectionKey, early_data: bool) -> Option<Ticket> {
        Ticket::of(self.connection(key)?.inner.crypto_session(), early_data)
    }

    /// Bytes of all streams that were read, in order.
    pub fn received_bytes(&self, key: ConnectionKey) -> u64 {
        self.connection(key).map_or(0, |connection| connection.received)
    }

    /// The logs of all connections in the format qlog, each from its beginning; empty unless logs are kept.
    pub fn take_logs(&mut self) -> Vec<Vec<u8>> {
        let mut logs = std::mem::take(&mut self.logs);
        let connections = self.connections.iter_mut().flatten();
        logs.extend(connections.filter_map(|connection| connection.log.as_mut().map(|log| log.take())));
        logs
    }

    /// What was traced since the last call; nothing unless [`Settings::trace`] is set.
    pub fn take_trace(&mut self) -> Vec<TraceRow> {
        let connections = self.connections.iter_mut().flatten();
        connections
            .filter_map(|connection| connection.trace.as_mut())
            .flat_map(|trace| trace.take())
            .collect()
    }

    /// What was sent on a stream; zeros unless streams are counted.
    pub fn sent_on(&self, key: ConnectionKey, stream: StreamId) -> StreamCounts {
        let streams = self.connection(key).and_then(|connection| connection.streams.as_ref());
        streams.and_then(|streams| streams.get(&number(stream))).copied().unwrap_or_default()
    }

    /// Counters of a connection, as far as they have a meaning in QUIC: `fast_retransmits` are loss events, `timeouts` those of
    /// persistent congestion.
    pub fn stats(&self, key: ConnectionKey) -> Stats {
        self.connection(key).map_or_else(Stats::default, |connection| {
            let measured = connection.shared.lock().measured;
            Stats {
                fast_retransmits: measured.loss_events,
                ecn_reductions: measured.ecn_events,
                timeouts: measured.persistent_congestion,
                rtt_samples: measured.rtt_samples,
                rtt_sum: measured.rtt_sum,
                rtt_min: measured.rtt_min,
                rtt_max: measured.rtt_max,
                ..connection.stats
            }
        })
    }

    /// quinn-proto's own counters: datagrams, frames by type, lost packets.
    pub fn quinn_stats(&self, key: ConnectionKey) -> Option<quinn_proto::ConnectionStats> {
        Some(self.connection(key)?.inner.stats())
    }

    /// Limits of quinn-proto that a connection has met.
    pub fn incidents(&self, key: ConnectionKey) -> Incidents {
        self.connection(key).map_or_else(Incidents::default, Connection::incidents)
    }

    /// What the sender has measured.
    pub fn measured(&self, key: ConnectionKey) -> Option<Measured> {
        Some(self.connection(key)?.shared.lock().measured)
    }

    /// Congestion window in bytes.
    pub fn window(&self, key: ConnectionKey) -> u64 {
        self.connection(key).map_or(0, |connection| connection.shared.lock().window())
    }

    /// What goes on inside a policy of ours.
    pub fn inspect(&self, key: ConnectionKey, inspection: &mut Inspection) {
        if let Some(connection) = self.connection(key) {
            connection.shared.lock().inspect(inspection);
        }
    }

    /// Slow start threshold in bytes; `None` while there is none.
    pub fn ssthresh(&self, key: ConnectionKey) -> Option<u64> {
        self.connection(key)?.shared.lock().ssthresh()
    }

    /// Time under each limit.
    pub fn limited_time(&self, now: Instant, key: ConnectionKey) -> LimitedTime {
        self.connection(key).map_or_else(LimitedTime::default, |connection| connection.limits.total(now))
    }

    /// UDP payload of full datagrams at present.
    pub fn mtu(&self, key: ConnectionKey) -> u16 {
        self.connection(key).map_or(self.settings.mtu, |connection| connection.inner.stats().path.current_mtu)
    }
}

/// A stream's number on the wire.
pub fn number(stream: StreamId) -> u64 {
    VarInt::from(stream).into_inner()
}
