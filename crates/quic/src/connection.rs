//! One connection of an endpoint: what its streams still have to send, its counters, and its events.

use crate::congestion::{Hold, Measured, Shared};
use crate::endpoint::{Datagram, Event, StreamCounts, number};
use crate::frames::{self, Content};
use crate::observe::{Eyes, Kind, Observer};
use crate::order::Order;
use crate::qlog::Log;
use crate::settings::{Session, Settings};
use crate::trace::Tracer;
use crate::warnings::Incidents;
use bytes::Bytes;
use longhaul_cc::careful_resume::Phase;
use longhaul_tcp::{Limit, LimitClock, Stats};
use longhaul_units::{Ecn, Instant};
use quinn_proto::{ConnectionStats, ReadError, StreamEvent, StreamId, VarInt, WriteError};
use std::collections::BTreeMap;
use std::net::Ipv4Addr;

/// quinn-proto remembers so many packet numbers below the newest; what is below them counts as a duplicate.
const DUPLICATES: u64 = 128;
/// Content of data without content: written again and again without being copied.
pub(crate) const ZEROS: usize = 1 << 20;
/// Bytes without content that are at least written ahead of what is sent: more than leave at one time.
const LEAST_AHEAD: u64 = 1 << 16;

/// What an application has still to send on a stream.
#[derive(Debug, Default)]
pub(crate) struct Outgoing {
    /// Bytes without content that are not yet written; [`u64::MAX`] for data without end.
    pub waiting: u64,
    /// The stream ends after them.
    pub finish: bool,
    /// Its end is handed over too.
    finished: bool,
    /// Flow control stopped the last write.
    pub blocked: bool,
    /// Highest offset sent.
    sent: u64,
    /// Bytes handed to quinn-proto.
    written: u64,
}

/// Whether a stream that takes no more data waits for the peer's windows, or for room in its own send buffer: quinn-proto's answer is
/// the same, but it reports a closed window to the peer (RFC 9000 section 4.1), once for each limit.
#[derive(Clone, Copy, Debug, Default)]
struct FlowControl {
    /// There is a send buffer with an end.
    buffer: bool,
    /// Limits that the peer has raised up to now.
    raised: u64,
    /// Closed windows that were reported before the last of them.
    before: u64,
}

impl FlowControl {
    fn reported(stats: &ConnectionStats) -> u64 {
        stats.frame_tx.data_blocked + stats.frame_tx.stream_data_blocked
    }

    /// Something has come from the peer.
    fn look(&mut self, connection: &quinn_proto::Connection) {
        if self.buffer {
            let stats = connection.stats();
            let raised = stats.frame_rx.max_data + stats.frame_rx.max_stream_data;
            if raised > std::mem::replace(&mut self.raised, raised) {
                self.before = Self::reported(&stats);
            }
        }
    }

    /// It is the peer's windows, once all that may leave has left.
    fn is_closed(&self, connection: &quinn_proto::Connection) -> bool {
        !self.buffer || Self::reported(&connection.stats()) > self.before
    }
}

/// A connection with all that belongs to it.
pub(crate) struct Connection {
    pub inner: quinn_proto::Connection,
    pub shared: Shared,
    pub outgoing: BTreeMap<u64, Outgoing>,
    pub received: u64,
    /// Data are read as they come.
    pub unordered: bool,
    /// What was read of each stream then.
    order: BTreeMap<u64, Order>,
    pub stats: Stats,
    pub limits: LimitClock,
    /// When rate or tokens let the next datagram go.
    pub release: Option<Instant>,
    seen: Measured,
    /// Sees packets that are sealed.
    eyes: Option<Eyes>,
    pub log: Option<Box<Log>>,
    pub trace: Option<Box<Tracer>>,
    flow_control: FlowControl,
    phase: Option<Phase>,
    /// The largest packet number that has come, and how many came so far behind it that they count as duplicates.
    newest: u64,
    late_packets: u64,
    /// Packets cannot be read: how far a stream was sent is not known, and quinn-proto takes all that its send window allows.
    opaque: bool,
    /// ACK frames sent, where packets cannot be read.
    acks: u64,
    /// What was sent on each stream, where that is counted.
    pub streams: Option<BTreeMap<u64, StreamCounts>>,
    pub connected: bool,
    pub over: bool,
    pub dirty: bool,
}

impl Connection {
    /// A connection that quinn-proto has just made.
    pub fn new(
        now: Instant,
        inner: quinn_proto::Connection,
        shared: Shared,
        settings: &Settings,
        counts_streams: bool,
    ) -> Self {
        let eyes = settings.observer.as_ref().and_then(Observer::take);
        let mut limits = LimitClock::new();
        limits.set(now, Limit::Handshake);
        let client = inner.side().is_client();
        let seen = shared.lock().measured;
        let own = inner.local_ip().unwrap_or(Ipv4Addr::UNSPECIFIED.into());
        let peer = inner.remote_address().ip();
        Connection {
            inner,
            shared,
            outgoing: BTreeMap::new(),
            received: 0,
            unordered: settings.unordered,
            order: BTreeMap::new(),
            stats: Stats::default(),
            limits,
            release: None,
            seen,
            opaque: eyes.is_none() && matches!(settings.session, Session::Real { .. }),
            eyes,
            phase: None,
            newest: 0,
            late_packets: 0,
            log: settings.qlog.then(|| Box::new(Log::new(now, client, own, peer))),
            trace: settings.trace.then(|| Box::new(Tracer::new(settings))),
            flow_control: FlowControl { buffer: settings.send_window.is_some(), ..FlowControl::default() },
            acks: 0,
            streams: counts_streams.then(BTreeMap::new),
            connected: false,
            over: false,
            dirty: true,
        }
    }

    pub fn poll_transmit(
        &mut self,
        now: Instant,
        at: std::time::Instant,
        settings: &Settings,
    ) -> Option<Datagram> {
        let hold = self.shared.lock().hold(now);
        let mut bytes =
            Vec::with_capacity(usize::from(settings.mtu.max(settings.mtu_discovery.unwrap_or(0))));
        let Some(transmit) = self.inner.poll_transmit(at, 1, &mut bytes) else {
            self.nothing_to_send(now, hold);
            return None;
        };
        let content = self.content(now, &bytes, settings);
        self.count(&content);
        if content.handshake && self.inner.side().is_client() {
            self.shared.lock().initial_packets_are_discarded();
        }
        if content.in_flight {
            self.shared.lock().sent(now, bytes.len() as u64, content.repeated_bytes > 0);
        }
        if content.early {
            self.shared.lock().early += bytes.len() as u64;
        }
        let ecn = if transmit.ecn.is_some() && settings.ecn { Ecn::Ect0 } else { Ecn::NotEct };
        Some(Datagram { to: transmit.destination, ecn, bytes, content })
    }

    /// What is in a datagram that was just made.
    fn content(&mut self, now: Instant, bytes: &[u8], settings: &Settings) -> Content {
        if self.opaque {
            // Nothing can be read. It counts as in flight unless it has nothing but ACKs, which fit into a small packet.
            let acks = self.inner.stats().frame_tx.acks;
            let bare = acks > std::mem::replace(&mut self.acks, acks) && bytes.len() < 100;
            return Content { in_flight: !bare, ..Content::default() };
        }
        let mut repeated = 0;
        let (outgoing, streams) = (&mut self.outgoing, &mut self.streams);
        let mut sent_on = |stream: u64, offset: u64, length: u64| {
            let sent = &mut outgoing.entry(stream).or_default().sent;
            let again = sent.saturating_sub(offset).min(length);
            repeated += again;
            *sent = (*sent).max(offset + length);
            if let Some(streams) = streams {
                streams.entry(stream).or_default().merge(&StreamCounts {
                    packets: 1,
                    bytes: length,
                    repeated_packets: u64::from(again > 0),
                    repeated_bytes: again,
                });
            }
        };
        let mut content = match &self.eyes {
            Some(eyes) => {
                let (mut content, log, trace) = (Content::default(), &mut self.log, &mut self.trace);
                eyes.sent().take(|packet, frames| {
                    frames::read_seen(&packet, frames, &mut content, &mut sent_on);
                    if let Some(trace) = trace {
                        trace.sent(now, &packet, frames);
                    }
                    if let Some(log) = log {
                        log.sent(now, &packet, frames);
                    }
                });
                content
            }
            // The peer chose the length of the IDs; both ends have the same settings.
            None => frames::read(bytes, usize::from(settings.cid_length), sent_on),
        };
        content.repeated_bytes = repeated as u32;
        content
    }

    /// A datagram has come, which begins with `head`.
    pub fn look_at(&mut self, now: Instant, head: &[u8], cid_length: usize) {
        self.flow_control.look(&self.inner);
        self.look_at_number(head, cid_length);
        self.look_at_received(now);
    }

    /// Limits of quinn-proto that it has met.
    pub fn incidents(&self) -> Incidents {
        let connection_blocked = self.inner.stats().frame_tx.data_blocked;
        Incidents { late_packets: self.late_packets, connection_blocked }
    }

    /// A datagram begins with this: did it come so late that it counts as a duplicate?
    fn look_at_number(&mut self, head: &[u8], cid_length: usize) {
        // Numbers of encrypted packets are seen when they are opened.
        if self.opaque || self.eyes.is_some() {
            return;
        }
        if let Some(number) = frames::number_of(head, cid_length, self.newest) {
            self.came(number);
        }
    }

    fn came(&mut self, number: u64) {
        self.late_packets += u64::from(number + DUPLICATES < self.newest);
        self.newest = self.newest.max(number);
    }

    /// Packets that were opened are for the log, and for their numbers.
    fn look_at_received(&mut self, now: Instant) {
        let Some(eyes) = &self.eyes else { return };
        let (log, trace, mut numbers) = (&mut self.log, &mut self.trace, vec![]);
        eyes.received().take(|packet, frames| {
            if packet.kind == Kind::OneRtt {
                numbers.push(packet.number);
            }
            if let Some(trace) = trace {
                trace.received(now, &packet, frames);
            }
            if let Some(log) = log {
                log.received(now, &packet, frames);
            }
        });
        numbers.into_iter().for_each(|number| self.came(number));
    }

    /// Takes down losses and measurements.
    pub fn log_recovery(&mut self, now: Instant) {
        let Some(log) = &mut self.log else { return };
        let path = self.inner.stats().path;
        log.lost(now, path.lost_packets, usize::from(path.current_mtu));
        let core = self.shared.lock();
        log.measured(now, &core.measured, core.window(), core.ssthresh());
    }

    fn count(&mut self, content: &Content) {
        let stats = &mut self.stats;
        if content.stream_bytes > 0 {
            stats.data_segments_sent += 1;
            stats.data_bytes_sent += u64::from(content.stream_bytes);
            stats.retransmitted_segments += u64::from(content.repeated_bytes > 0);
            stats.retransmitted_bytes += u64::from(content.repeated_bytes);
        } else if !content.in_flight {
            stats.pure_acks_sent += 1;
        }
    }

    /// What is the limit now that nothing more leaves.
    fn nothing_to_send(&mut self, now: Instant, hold: Hold) {
        // Asked first: quinn-proto's counters take the lock that is held below.
        let blocked = self.outgoing.values().any(|outgoing| outgoing.blocked);
        let blocked = blocked.then(|| self.flow_control.is_closed(&self.inner));
        let all_sent = !self.outgoing.is_empty() && self.outgoing.values().all(|outgoing| outgoing.finished);
        let mut core = self.shared.lock();
        let asked = core.asked || (core.is_quinns() && core.is_full());
        self.release = match hold {
            Hold::Until(release) if asked => Some(release),
            _ => None,
        };
        let limit = if self.over || self.inner.is_closed() {
            Limit::Closed
        } else if !self.connected {
            Limit::Handshake
        } else if asked {
            core.held();
            match hold {
                Hold::Until(_) => Limit::Pacing,
                _ if core.in_recovery() => Limit::Recovery,
                _ if core.in_slow_start() => Limit::SlowStart,
                _ => Limit::Cwnd,
            }
        } else {
            core.limited_by_application();
            match blocked {
                Some(closed) if closed => Limit::ReceiverWindow,
                Some(_) => Limit::SendBuffer,
                None if all_sent => Limit::Closed,
                None => Limit::Application,
            }
        };
        drop(core);
        self.limits.set(now, limit);
    }

    /// Hands ACKs to congestion control and reports what changed.
    pub fn report_congestion(&mut self, now: Instant, tell: &mut impl FnMut(Event)) {
        let mut core = self.shared.lock();
        let in_flight = core.measured.in_flight;
        let ended = core.report_acks(now);
        let phase = core.phase();
        let (measured, seen) = (core.measured, self.seen);
        self.seen = measured;
        drop(core);
        if let Some(phase) = phase.filter(|_| phase != self.phase) {
            self.phase = Some(phase);
            if let Some(log) = &mut self.log {
                log.resumed(now, phase.name().trim_start_matches("resume_"));
            }
            tell(Event::Resume(phase));
        }
        if ended {
            tell(Event::RecoveryEnd);
        }
        if measured.loss_events > seen.loss_events {
            tell(Event::LossEvent { in_flight });
        }
        if measured.ecn_events > seen.ecn_events {
            tell(Event::EcnEvent);
        }
        if measured.persistent_congestion > seen.persistent_congestion {
            tell(Event::PersistentCongestion);
        }
    }

    pub fn take(
        &mut self,
        now: Instant,
        event: quinn_proto::Event,
        zeros: &Bytes,
        tell: &mut impl FnMut(Event),
    ) {
        match event {
            quinn_proto::Event::Connected => {
                self.connected = true;
                let mut core = self.shared.lock();
                core.established(now);
                if self.inner.side().is_client() {
                    core.let_finished_pass();
                }
                drop(core);
                tell(Event::Connected);
            }
            quinn_proto::Event::ConnectionLost { reason } => {
                use quinn_proto::ConnectionError::{ApplicationClosed, LocallyClosed};
                self.limits.set(now, Limit::Closed);
                if let Some(log) = &mut self.log {
                    log.closed(now, &reason.to_string());
                }
                let closed = matches!(reason, LocallyClosed | ApplicationClosed(_));
                tell(Event::Lost { reason: reason.to_string(), closed });
            }
            quinn_proto::Event::Stream(StreamEvent::Opened { dir }) => {
                while let Some(stream) = self.inner.streams().accept(dir) {
                    tell(Event::Opened(stream));
                    self.read(stream, tell);
                }
            }
            quinn_proto::Event::Stream(StreamEvent::Readable { id }) => self.read(id, tell),
            quinn_proto::Event::Stream(StreamEvent::Writable { id }) => self.fill(id, zeros),
            quinn_proto::Event::Stream(StreamEvent::Finished { id }) => {
                self.outgoing.remove(&number(id));
                tell(Event::Acknowledged(id));
            }
            quinn_proto::Event::Stream(StreamEvent::Stopped { id, error_code }) => {
                self.outgoing.remove(&number(id));
                tell(Event::Stopped { stream: id, code: error_code.into_inner() });
            }
            quinn_proto::Event::Stream(StreamEvent::Available { .. })
            | quinn_proto::Event::HandshakeDataReady
            | quinn_proto::Event::DatagramReceived
            | quinn_proto::Event::DatagramsUnblocked => {}
        }
    }

    /// Reads all that has come in order.
    fn read(&mut self, stream: StreamId, tell: &mut impl FnMut(Event)) {
        let mut recv = self.inner.recv_stream(stream);
        let Ok(mut chunks) = recv.read(!self.unordered) else { return };
        let (mut bytes, mut end, mut reset) = (0, false, None);
        loop {
            match chunks.next(usize::MAX) {
                Ok(Some(chunk)) if self.unordered => {
                    let order = self.order.entry(number(stream)).or_default();
                    bytes += order.take(chunk.offset, chunk.bytes.len() as u64);
                }
                Ok(Some(chunk)) => bytes += chunk.bytes.len() as u64,
                Ok(None) => {
                    end = true;
                    break;
                }
                Err(ReadError::Blocked) => break,
                Err(ReadError::Reset(code)) => {
                    reset = Some(code.into_inner());
                    break;
                }
            }
        }
        let _ = chunks.finalize();
        self.received += bytes;
        if end || reset.is_some() {
            self.order.remove(&number(stream));
        }
        if bytes > 0 || end {
            tell(Event::Received { stream, bytes, end });
        }
        if let Some(code) = reset {
            tell(Event::Reset { stream, code });
        }
    }

    /// Writes more on the stream that was just sent from, before there is too little.
    pub fn top_up(&mut self, content: &Content, zeros: &Bytes) {
        let Some((stream, _)) = content.stream else { return };
        let low = self
            .outgoing
            .get(&stream)
            .is_some_and(|outgoing| outgoing.waiting > 0 && outgoing.written < outgoing.sent + LEAST_AHEAD);
        if let Some(stream) = VarInt::from_u64(stream).ok().filter(|_| low) {
            self.fill(StreamId::from(stream), zeros);
        }
    }

    /// Hands quinn-proto as much of what waits on a stream as flow control allows.
    pub fn fill(&mut self, stream: StreamId, zeros: &Bytes) {
        let Some(outgoing) = self.outgoing.get_mut(&number(stream)) else { return };
        let mut send = self.inner.send_stream(stream);
        outgoing.blocked = false;
        let ahead = self.shared.lock().window().clamp(LEAST_AHEAD, ZEROS as u64);
        while outgoing.waiting > 0 && (self.opaque || outgoing.written < outgoing.sent + 2 * ahead) {
            let length = outgoing.waiting.min(ahead) as usize;
            match send.write_chunks(&mut [zeros.slice(..length)]) {
                Ok(written) => {
                    outgoing.written += written.bytes as u64;
                    if outgoing.waiting < u64::MAX {
                        outgoing.waiting -= written.bytes as u64;
                    }
                }
                Err(WriteError::Blocked) => {
                    outgoing.blocked = true;
                    return;
                }
                Err(_) => outgoing.waiting = 0,
            }
        }
        if outgoing.waiting == 0 && std::mem::take(&mut outgoing.finish) {
            // A stream that the peer has stopped is over already.
            let _ = send.finish();
            outgoing.finished = true;
        }
    }
}
