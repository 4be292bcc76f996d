//! A connection to another node: quinn-proto's, with the flows on it.

use crate::config::{Config, Role, Session};
use crate::credit::{Backlog, Budget, FLOOR};
use crate::flow::{Flow, Phase};
use crate::gate::Shared;
use crate::parity::Parity;
use crate::scheduler::Scheduler;
use crate::shares::{Member, Portion};
use crate::types::{Bounds, Event, FlowId, Ledger, PeerId, PeerStats, Piece, ResetCode};
use crate::wire::{self, Hello, Record};
use bytes::Bytes;
use longhaul_quic::Clock;
use longhaul_units::{Duration, Instant, Rate};
use quinn_proto::{Connection, Dir, ReadError, StreamEvent, StreamId, VarInt};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::IpAddr;
use std::sync::Arc;
use streams::Streams;
use waiting::Waiting;

mod owner;
mod portions;
mod sending;
pub mod streams;
mod waiting;

/// Codes of resets from here on are refusals.
const REFUSED: u32 = 1 << 16;
/// PINGs in an outage are so far apart, or farther over a long path.
const PROBES: Duration = Duration::from_millis(250);
/// An ACK that is not sent for so long after the packet that needs it is overdue: more than the 40 ms for which it may be held back.
const OVERDUE: Duration = Duration::from_millis(100);
/// A handshake without an answer is given up after this time, or four round trips.
const HANDSHAKE: Duration = Duration::from_secs(10);

/// Bytes of a datagram that an ICMP error must quote: behind flags and connection ID some are encrypted, which only those on the
/// path can have seen.
const MARK: usize = 20;
/// Datagrams whose first bytes are kept.
const MARKS: usize = 64;
/// A peer whose port is closed is over if for so long nothing came from it, and the port is closed still.
const VERDICT: Duration = Duration::from_secs(1);

/// How far a connection is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum State {
    /// QUIC's handshake is under way.
    Handshake,
    /// QUIC is established, the peer's hello has not come.
    Connected,
    /// Flows can be opened.
    Up,
    /// It is over.
    Lost,
}

/// A peer.
pub struct Peer {
    pub id: PeerId,
    pub connection: Connection,
    pub shared: Shared,
    pub state: State,
    pub flows: BTreeMap<u64, Flow>,
    pub ledger: Ledger,
    pub dirty: bool,
    pub began: Instant,
    /// Where a place among strangers was taken, until the peer is up or lost.
    pub stranger: Option<IpAddr>,
    pub(crate) config: Arc<Config>,
    clock: Clock,
    control_out: Option<StreamId>,
    control_in: Option<StreamId>,
    /// Records that are not yet handed to quinn-proto, and what came of one that is incomplete.
    records: Vec<u8>,
    partial: Vec<u8>,
    /// Version of the protocol that both have; 0 before the peer's hello.
    version: u16,
    /// Flows that there may be at a time, as far as is known.
    max_flows: u32,
    streams: Streams,
    /// The peer has opened flows before its hello came.
    flows_wait: bool,
    pub budget: Budget,
    pub(crate) scheduler: Scheduler,
    /// This node's own classes of flows.
    classes: Arc<BTreeMap<u16, Portion>>,
    /// Bounds that this hub has set for the peer, and that the peer, a hub, has set for this node.
    granted: Bounds,
    bounds: Bounds,
    /// This node never sends faster, to any peer and to this one.
    pub most: Option<Rate>,
    pub ceiling: Option<Rate>,
    /// Its part of what this node sends to all peers.
    pub member: Member,
    /// It had something to send when it was looked at last.
    pub sends: bool,
    /// It has something to send, and waits for its turn among the peers.
    pub queues: bool,
    blocked: VecDeque<u64>,
    pub backlog: Backlog,
    /// Flows that wait until less is queued, and of which enough has left.
    drained: Vec<u64>,
    /// Bytes handed to quinn-proto that have not left, about.
    pub(crate) unsent: u64,
    release: Option<Instant>,
    /// How long data have waited for the path, here and at the peer.
    waiting: Waiting,
    peer_waited: Duration,
    /// Bytes of all flows received and not yet read.
    pub(crate) held: u64,
    /// Flows of which more was read than was reported to the peer, and the sum.
    unreported: BTreeSet<u64>,
    unreported_bytes: u64,
    /// When a PING looks whether an outage is over.
    probe_at: Option<Instant>,
    /// When the next report to the peer is due.
    report_at: Option<Instant>,
    received: (u64, u64),
    /// The first bytes of the last datagrams sent, by which an ICMP error shows that it is about one of them.
    marks: VecDeque<[u8; MARK]>,
    /// When the last datagram came.
    pub heard: Instant,
    /// When such an error came first since a datagram of the peer.
    suspected: Option<Instant>,
    /// Frames sent that the peer acknowledges, and when the last of them left.
    eliciting: u64,
    asked: Instant,
    pub(crate) parity: Parity,
    /// Flows of the peer that quinn-proto has shown.
    pub(crate) accepted: u64,
    /// The peer keeps the connection alive by itself.
    excused: bool,
    /// When it is looked whether the ACK of the peer's hello has left, and how many had before it.
    overdue: Option<(Instant, u64)>,
}

/// What a peer needs of its node while it takes up an input.
pub struct Context<'a> {
    pub now: Instant,
    pub events: &'a mut VecDeque<Event>,
    pub flows: &'a mut BTreeMap<FlowId, (usize, u64)>,
    pub next_flow: &'a mut u64,
    /// Handle of the connection.
    pub index: usize,
}

impl Context<'_> {
    fn new_flow(&mut self, stream: u64) -> FlowId {
        let id = FlowId(*self.next_flow);
        *self.next_flow += 1;
        self.flows.insert(id, (self.index, stream));
        id
    }
}

pub(crate) fn number(stream: StreamId) -> u64 {
    VarInt::from(stream).into_inner()
}

impl Peer {
    pub fn new(
        id: PeerId,
        connection: Connection,
        shared: Shared,
        config: Arc<Config>,
        clock: Clock,
        now: Instant,
    ) -> Self {
        Peer {
            id,
            connection,
            shared,
            state: State::Handshake,
            flows: BTreeMap::new(),
            ledger: Ledger::default(),
            dirty: true,
            began: now,
            stranger: None,
            config: Arc::clone(&config),
            clock,
            control_out: None,
            control_in: None,
            records: vec![],
            partial: vec![],
            version: 0,
            max_flows: config.max_flows,
            streams: Streams::new(&config),
            flows_wait: false,
            budget: Budget::early(),
            scheduler: Scheduler::default(),
            classes: Arc::default(),
            granted: Bounds::default(),
            bounds: Bounds::default(),
            most: config.rates.most,
            ceiling: None,
            member: Member::default(),
            sends: false,
            queues: false,
            blocked: VecDeque::new(),
            backlog: Backlog::new(config.unsent),
            drained: vec![],
            unsent: 0,
            release: None,
            waiting: Waiting::default(),
            peer_waited: Duration::ZERO,
            held: 0,
            unreported: BTreeSet::new(),
            unreported_bytes: 0,
            probe_at: None,
            report_at: None,
            received: (0, 0),
            marks: VecDeque::new(),
            heard: now,
            suspected: None,
            eliciting: 0,
            asked: now,
            parity: Parity::default(),
            accepted: 0,
            excused: false,
            overdue: None,
        }
    }

    /// When [`Peer::handle_timeout`] is to be called.
    pub fn poll_timeout(&mut self) -> Option<Instant> {
        let timer = self.connection.poll_timeout().map(|due| self.clock.from_std(due));
        let handshake = (self.state == State::Handshake).then(|| self.handshake_ends());
        let silent = self.shared.lock().controller.silent_from();
        self.probe_at = silent.map(|from| self.probe_at.map_or(from, |at| at.max(from)));
        let keep_alive = self.keeps_alive().then(|| self.asked + self.config.keep_alive);
        let overdue = self.overdue.map(|(due, _)| due);
        [
            overdue,
            timer,
            self.release,
            handshake,
            self.report_at,
            self.probe_at,
            keep_alive,
            self.parity.next_flush(),
        ]
        .into_iter()
        .flatten()
        .min()
    }

    /// A timer may be due. True if quinn-proto's was.
    pub fn handle_timeout(&mut self, now: Instant) -> bool {
        if self.release.is_some_and(|release| release <= now) {
            self.release = None;
            self.dirty = true;
        }
        if self.report_at.is_some_and(|due| due <= now) {
            self.report_at = None;
            self.report_all();
        }
        self.flush_blocks(now);
        if self.probe_at.is_some_and(|due| due <= now) {
            // quinn-proto's own probes become rarer and rarer.
            self.probe_at = Some(now + self.shared.lock().controller.apart(PROBES));
            if self.state != State::Handshake {
                self.connection.ping();
                self.dirty = true;
            }
        }
        if self.keeps_alive() && self.asked + self.config.keep_alive <= now {
            self.asked = now;
            self.connection.ping();
            self.dirty = true;
        }
        self.look_for_ack(now);
        let at = self.clock.to_std(now);
        if self.state == State::Handshake && self.handshake_ends() <= now {
            self.fail(now, "no answer to the handshake");
            return true;
        }
        let due = self.connection.poll_timeout().is_some_and(|due| due <= at);
        if due {
            self.connection.handle_timeout(at);
        }
        due
    }

    /// quinn-proto stops the timer of all ACKs when it acknowledges the handshake. What came before, and what comes after it, then has no ACK
    /// until 65 packets wait for one, or one goes along with a packet that leaves anyway. So one leaves, unless a flow sees to that.
    fn look_for_ack(&mut self, now: Instant) {
        let Some((_, before)) = self.overdue.take_if(|(due, _)| *due <= now) else { return };
        if self.connection.stats().frame_tx.acks != before || !self.keeps_up() {
            return;
        }
        self.overdue = Some((now + self.shared.lock().controller.apart(PROBES), before));
        if self.flows.is_empty() {
            self.connection.ping();
            self.dirty = true;
        }
    }

    fn keeps_up(&self) -> bool {
        matches!(self.state, State::Connected | State::Up)
    }

    /// quinn-proto's timer starts again with each datagram of the peer: where only the way back passes, the peer's own probes would
    /// keep this node from asking.
    fn keeps_alive(&self) -> bool {
        self.keeps_up() && !self.excused
    }

    /// When a handshake without an answer is given up.
    fn handshake_ends(&self) -> Instant {
        self.began + HANDSHAKE.max(self.config.initial_rtt.saturating_mul(4))
    }

    /// A datagram was handed to quinn-proto.
    pub fn count_received(&mut self, now: Instant, bytes: u64) {
        self.heard = now;
        self.suspected = None;
        self.received.0 += 1;
        self.received.1 += bytes;
    }

    /// Closes the connection for a fault of the peer.
    fn fail(&mut self, now: Instant, reason: &'static str) {
        let at = self.clock.to_std(now);
        self.connection.close(at, VarInt::from_u32(1), Bytes::from_static(reason.as_bytes()));
        self.dirty = true;
    }

    /// Takes up what quinn-proto reports.
    pub fn take_events(&mut self, context: &mut Context<'_>) {
        let mut read = None;
        while let Some(event) = self.connection.poll() {
            match event {
                // One for each of several packets: the first has taken what all have brought.
                quinn_proto::Event::Stream(StreamEvent::Readable { id }) if read == Some(id) => {}
                quinn_proto::Event::Connected => self.connected(context),
                quinn_proto::Event::ConnectionLost { reason } if self.state == State::Up => {
                    self.lost(&reason.to_string(), context);
                }
                // Who it was is known to nobody else.
                quinn_proto::Event::ConnectionLost { reason } => {
                    let from = self.connection.remote_address();
                    self.lost(&format!("{from}: {reason}"), context);
                }
                quinn_proto::Event::Stream(StreamEvent::Opened { dir }) => self.opened(dir, context),
                quinn_proto::Event::Stream(StreamEvent::Readable { id }) => {
                    self.receive(id, context);
                    read = Some(id);
                }
                quinn_proto::Event::DatagramReceived => self.receive_parities(context),
                quinn_proto::Event::Stream(StreamEvent::Finished { id }) => {
                    if let Some(flow) = self.flows.get_mut(&number(id)) {
                        flow.out.acknowledged = true;
                    }
                    self.settle(number(id), context);
                }
                quinn_proto::Event::Stream(StreamEvent::Available { dir: Dir::Bi }) => {
                    self.open_waiting(context.now);
                }
                quinn_proto::Event::Stream(StreamEvent::Stopped { id, error_code }) => {
                    self.stopped_by_peer(number(id), error_code.into_inner(), context);
                }
                _ => {}
            }
        }
        // The connection was closed by this node: quinn-proto does not report that.
        if self.connection.is_closed() && self.state != State::Lost {
            self.lost("closed", context);
        }
    }

    fn connected(&mut self, context: &mut Context<'_>) {
        self.state = State::Connected;
        context.events.push_back(Event::Connected { peer: self.id });
        let Some(control) = self.connection.streams().open(Dir::Uni) else { return };
        let _ = self.connection.send_stream(control).set_priority(1);
        self.control_out = Some(control);
        let hello = Hello {
            versions: wire::VERSIONS,
            credit: self.config.credit,
            memory: self.config.memory,
            max_flows: u64::from(self.config.max_flows),
            receive: self.config.rates.receive.map_or(0, Rate::as_bps),
            alone: self.config.alone,
        };
        // Before all that may have been written already.
        let mut records = vec![];
        Record::Hello(hello).write(&mut records);
        records.append(&mut self.records);
        self.records = records;
        self.dirty = true;
    }

    /// Records a datagram that was sent.
    fn mark(&mut self, datagram: &[u8]) {
        let Some(mark) = datagram.first_chunk::<MARK>() else { return };
        self.marks.truncate(MARKS - 1);
        self.marks.push_front(*mark);
    }

    /// An ICMP error states that nobody listens at the peer's port, and quotes a datagram. Errors can be forged, so one only
    /// leads to a question; the peer is over if a second error comes in the place of an answer.
    pub fn port_is_closed(&mut self, now: Instant, quoted: &[u8], context: &mut Context<'_>) {
        let known = quoted.first_chunk::<MARK>().is_some_and(|quoted| self.marks.contains(quoted));
        if !known || matches!(self.state, State::Lost | State::Handshake) {
            return;
        }
        let since = *self.suspected.get_or_insert(now);
        if now.since(since) < VERDICT {
            self.connection.ping();
            self.dirty = true;
            return;
        }
        self.lost("its program has ended: the port is closed", context);
        self.fail(now, "the port is closed");
    }

    /// Ends the connection at the owner's request.
    pub fn give_up(&mut self, now: Instant, reason: &str, context: &mut Context<'_>) {
        if self.state != State::Lost {
            self.lost(reason, context);
            self.fail(now, "given up");
        }
    }

    fn lost(&mut self, reason: &str, context: &mut Context<'_>) {
        self.state = State::Lost;
        self.streams.clear();
        let streams: Vec<u64> = self.flows.keys().copied().collect();
        for stream in streams {
            let Some(flow) = self.remove(stream, context) else { continue };
            if flow.open.is_some() && !flow.is_complete() {
                let undelivered = flow.out.undelivered();
                context.events.push_back(Event::Reset {
                    flow: flow.id,
                    code: ResetCode::HopDown,
                    undelivered,
                });
            }
        }
        context.events.push_back(Event::Down { peer: self.id, reason: reason.to_string() });
    }

    fn opened(&mut self, dir: Dir, context: &mut Context<'_>) {
        if dir == Dir::Bi && self.state != State::Up {
            self.flows_wait = true;
            return;
        }
        while let Some(id) = self.connection.streams().accept(dir) {
            self.accepted += u64::from(dir == Dir::Bi);
            if dir == Dir::Uni {
                if self.control_in.replace(id).is_some() {
                    return self.fail(context.now, "a second control stream");
                }
            } else if self.parity.early.remove(&number(id)) {
                // Its parities came first.
                if !self.flows.contains_key(&number(id)) {
                    self.abort(id, 0);
                }
            } else {
                let flow = Flow::new(FlowId(u64::MAX), id, true, None);
                self.flows.insert(number(id), flow);
            }
            self.receive(id, context);
        }
        self.permit();
    }

    fn receive(&mut self, id: StreamId, context: &mut Context<'_>) {
        if Some(id) == self.control_in {
            self.receive_records(id, context);
        } else if self.flows.contains_key(&number(id)) {
            self.receive_data(id, context);
        }
    }

    fn receive_records(&mut self, id: StreamId, context: &mut Context<'_>) {
        let mut stream = self.connection.recv_stream(id);
        let Ok(mut chunks) = stream.read(true) else { return };
        let mut ended = false;
        loop {
            match chunks.next(usize::MAX) {
                Ok(Some(chunk)) => self.partial.extend_from_slice(&chunk.bytes),
                Err(ReadError::Blocked) => break,
                Ok(None) | Err(ReadError::Reset(_)) => {
                    ended = true;
                    break;
                }
            }
        }
        self.dirty |= chunks.finalize().should_transmit();
        if ended {
            return self.fail(context.now, "the control stream has ended");
        }
        let mut read = 0;
        loop {
            match Record::read(&self.partial[read..]) {
                Ok(None) => break,
                Ok(Some((record, length))) => {
                    read += length;
                    if let Err(fault) = self.take_record(record, context) {
                        return self.fail(context.now, fault);
                    }
                }
                Err(fault) => return self.fail(context.now, fault.0),
            }
        }
        self.partial.drain(..read);
        self.wake_blocked(context);
    }

    fn take_record(&mut self, record: Record, context: &mut Context<'_>) -> Result<(), &'static str> {
        match (self.state, record) {
            (State::Connected, Record::Hello(hello)) => self.up(&hello, context),
            (State::Connected, _) => Err("a record before the hello"),
            (_, Record::Hello(_)) => Err("a second hello"),
            (_, Record::Consumed { stream, offset }) => {
                let Some(flow) = self.flows.get_mut(&stream) else { return Ok(()) };
                if offset > flow.out.fed {
                    return Err("more was read than was sent");
                }
                let more = offset.saturating_sub(flow.out.consumed);
                let head = flow.out.head.saturating_sub(flow.out.consumed).min(more);
                flow.out.consumed += more;
                self.budget.give_back(more);
                self.ledger.delivered += more - head;
                self.settle(stream, context);
                Ok(())
            }
            (_, Record::Accepted { stream }) => {
                self.accepted_by_peer(stream, context);
                Ok(())
            }
            (_, Record::Reset { stream, code }) => {
                self.reset_by_peer(stream, code, context);
                Ok(())
            }
            (_, Record::ResetAt { stream, code, size }) => {
                self.reset_by_peer_at(stream, code, size, context);
                Ok(())
            }
            (_, Record::Class { class, weight, floor, ceiling }) => {
                self.class_of_peer(class, weight, (floor, ceiling));
                Ok(())
            }
            (_, Record::Classify { stream, class }) => {
                self.classified_by_peer(stream, class);
                Ok(())
            }
            (_, Record::Bounds { flows, rate }) => {
                self.bounds_of_peer(flows, rate, context.events);
                Ok(())
            }
            (_, Record::Waited { millis }) => {
                self.peer_waited = Duration::from_millis(millis);
                Ok(())
            }
            (_, Record::Unknown) => Ok(()),
        }
    }

    fn up(&mut self, hello: &Hello, context: &mut Context<'_>) -> Result<(), &'static str> {
        let version = wire::agreed(wire::VERSIONS, hello.versions).ok_or("no common version of the hop")?;
        self.state = State::Up;
        self.version = version;
        // Two that leave it to each other would both be silent.
        self.excused = hello.alone && !self.config.alone;
        self.max_flows = self.config.max_flows.min(u32::try_from(hello.max_flows).unwrap_or(u32::MAX));
        self.budget.set(self.config.credit.min(hello.credit), self.config.memory.min(hello.memory));
        if self.config.rates.send.is_none() && self.config.remembered.is_none() && hello.receive > 0 {
            self.shared.lock().controller.restart(Rate::from_bps(hello.receive));
        }
        self.introduce_classes();
        if version < wire::WAITS {
            self.permit_all();
        }
        if matches!(self.config.role, Role::Terminal { .. }) {
            self.overdue = Some((context.now + OVERDUE, self.connection.stats().frame_tx.acks));
        }
        let key = self.key();
        if let Some(remembered) = key.and_then(|key| self.config.remembered_of.get(&key)) {
            let begins = self.config.rates.send.is_none();
            self.shared.lock().controller.resume(*remembered, begins);
        }
        context.events.push_back(Event::Up {
            peer: self.id,
            key,
            version,
            address: self.connection.remote_address(),
        });
        if std::mem::take(&mut self.flows_wait) {
            self.opened(Dir::Bi, context);
        }
        Ok(())
    }

    /// The peer's public key.
    pub fn key(&self) -> Option<[u8; 32]> {
        match &self.config.session {
            Session::Null => None,
            #[cfg(feature = "tls")]
            Session::Tls { .. } => longhaul_quic::tls::peer_key(self.connection.crypto_session()),
        }
    }

    fn accepted_by_peer(&mut self, stream: u64, context: &mut Context<'_>) {
        let Some(flow) = self.flows.get_mut(&stream) else { return };
        if !std::mem::replace(&mut flow.accepted, true) && flow.open.is_some_and(|open| open.confirm) {
            context.events.push_back(Event::Accepted { flow: flow.id });
        }
    }

    fn receive_data(&mut self, id: StreamId, context: &mut Context<'_>) {
        let key = number(id);
        let mut reset = None;
        {
            let Some(flow) = self.flows.get_mut(&key) else { return };
            let mut stream = self.connection.recv_stream(id);
            let Ok(mut chunks) = stream.read(false) else { return };
            loop {
                match chunks.next(usize::MAX) {
                    Ok(Some(chunk)) => {
                        let piece = Piece { offset: chunk.offset, bytes: chunk.bytes };
                        self.held += self.parity.receive(&self.config, flow, piece);
                    }
                    Ok(None) => {
                        flow.into.drained = true;
                        // Parities may have stated it before.
                        flow.into.end.get_or_insert(flow.into.reassembly.highest());
                        break;
                    }
                    Err(ReadError::Blocked) => break,
                    Err(ReadError::Reset(code)) => {
                        reset = Some(code.into_inner());
                        break;
                    }
                }
            }
            self.dirty |= chunks.finalize().should_transmit();
        }
        if let Some(code) = reset {
            return self.reset_by_peer(key, code, context);
        }
        self.after_data(key, context);
    }

    /// Looks at a flow that has received something.
    pub(crate) fn after_data(&mut self, key: u64, context: &mut Context<'_>) {
        let limit = self.config.credit.max(4 * FLOOR);
        let most = self.config.memory + (self.flows_len_limit() + 1) * FLOOR;
        let Some(flow_now) = self.flows.get(&key) else { return };
        if flow_now.into.reassembly.highest() > flow_now.into.reported + limit || self.held > most {
            return self.fail(context.now, "more was sent than the credit allows");
        }
        if flow_now.into.end_is_wrong() {
            return self.fail(context.now, "a flow with two ends");
        }
        let Some(flow) = self.flows.get_mut(&key) else { return };
        if flow.open.is_none() {
            let mut head = [0; 38];
            let length = flow.into.reassembly.peek(&mut head);
            match wire::read_open(&head[..length]) {
                Ok(None) if flow.into.drained => {
                    return self.fail(context.now, "a flow without a head");
                }
                Ok(None) => return,
                Err(fault) => return self.fail(context.now, fault.0),
                Ok(Some((open, length))) => {
                    flow.into.reassembly.take_all(length);
                    flow.open = Some(open);
                    flow.id = context.new_flow(key);
                    self.held -= length as u64;
                    context.events.push_back(Event::Opened { flow: flow.id, peer: self.id, open });
                }
            }
        } else if !flow.remote && !flow.accepted {
            self.accepted_by_peer(key, context);
        }
        self.tell_reader(key, context);
    }

    fn flows_len_limit(&self) -> u64 {
        2 * u64::from(self.config.max_flows)
    }

    /// Notifies the owner that there is something to read, or that nothing more will come.
    fn tell_reader(&mut self, key: u64, context: &mut Context<'_>) {
        let Some(flow) = self.flows.get_mut(&key) else { return };
        if flow.into.reassembly.ready() > 0 && !flow.into.told {
            flow.into.told = true;
            context.events.push_back(Event::Readable { flow: flow.id });
        }
        if flow.into.phase == Phase::Open && flow.into.is_complete() {
            flow.into.phase = Phase::Over;
            context.events.push_back(Event::Finished { flow: flow.id });
            self.report(key);
        }
        self.reset_if_read(key, context);
        self.settle(key, context);
    }

    /// Passes on a reset of the peer once all in front of it was read.
    fn reset_if_read(&mut self, key: u64, context: &mut Context<'_>) {
        let Some(flow) = self.flows.get(&key).filter(|flow| flow.open.is_some()) else { return };
        let Some(code) = flow.into.must_reset() else { return };
        self.report(key);
        self.reset_by_peer(key, code.number().into(), context);
    }

    /// Removes a flow that is over.
    fn settle(&mut self, key: u64, context: &mut Context<'_>) {
        let Some(flow) = self.flows.get_mut(&key) else { return };
        if let Some(code) = flow.leaving {
            if flow.out.outstanding() == 0 {
                context.events.push_back(Event::Delivered { flow: flow.id });
                let stream = flow.stream;
                self.remove(key, context);
                self.abort(stream, code.number());
            }
            return;
        }
        if flow.out.phase != Phase::Over && flow.out.is_over() {
            flow.out.phase = Phase::Over;
            context.events.push_back(Event::Delivered { flow: flow.id });
        }
        if flow.is_over() {
            self.remove(key, context);
        }
    }

    /// Takes a flow out of all lists. What was not delivered is lost.
    fn remove(&mut self, key: u64, context: &mut Context<'_>) -> Option<Flow> {
        self.give_up_outgoing(key);
        self.give_up_incoming(key);
        let flow = self.flows.remove(&key)?;
        if !flow.remote {
            self.streams.remove();
        }
        context.flows.remove(&flow.id);
        Some(flow)
    }

    /// Nobody reads what was written: it is lost as far as it was not read.
    fn give_up_outgoing(&mut self, key: u64) {
        let Some(flow) = self.flows.get_mut(&key) else { return };
        self.scheduler.remove(key, &mut flow.out.turn);
        self.blocked.retain(|other| *other != key);
        let out = &mut flow.out;
        self.budget.give_back(out.outstanding());
        let lost = out.undelivered();
        self.ledger.lost += lost - out.given_up.replace(lost).unwrap_or(0);
        self.backlog.remove(out.queued);
        (out.queued, out.consumed) = (0, out.fed);
        out.queue.clear();
    }

    /// Nobody reads what comes.
    fn give_up_incoming(&mut self, key: u64) {
        let Some(flow) = self.flows.get_mut(&key) else { return };
        if self.unreported.remove(&key) {
            self.unreported_bytes -= flow.into.reassembly.taken() - flow.into.reported;
        }
        self.parity.forget(flow);
        let discarded = flow.into.reassembly.clear();
        self.held -= discarded;
        self.ledger.discarded += discarded;
    }

    /// STOP_SENDING: the peer has reset the flow. It is not that if the peer resets the flow behind its own bytes, or has
    /// read all in front of this node's reset: for both there are records, which come in their order.
    fn stopped_by_peer(&mut self, key: u64, code: u64, context: &mut Context<'_>) {
        let leaving = self.flows.get(&key).is_some_and(|flow| flow.leaving.is_some());
        if !leaving && code != u64::from(wire::UNREAD) {
            self.reset_by_peer(key, code, context);
        }
    }

    /// The peer has reset a flow behind its bytes.
    fn reset_by_peer_at(&mut self, key: u64, code: u64, size: u64, context: &mut Context<'_>) {
        // The record may be faster than what opens the flow.
        if !self.flows.contains_key(&key) && !self.open_early(key) {
            return;
        }
        let Some(flow) = self.flows.get_mut(&key) else { return };
        if flow.leaving.is_some() {
            return self.reset_by_peer(key, code, context);
        }
        flow.into.reset = Some((size, ResetCode::from_number(code)));
        if flow.out.phase != Phase::Over {
            flow.out.phase = Phase::Leaving;
            let stream = flow.stream;
            self.give_up_outgoing(key);
            let _ = self.connection.send_stream(stream).reset(VarInt::from_u32(0));
            self.dirty = true;
            self.wake_blocked(context);
        }
        self.reset_if_read(key, context);
    }

    fn reset_by_peer(&mut self, key: u64, code: u64, context: &mut Context<'_>) {
        let Some(flow) = self.remove(key, context) else { return };
        self.abort(flow.stream, 0);
        if flow.open.is_none() || flow.is_complete() {
            return;
        }
        let refused = code >= u64::from(REFUSED) && !flow.remote;
        let reason = ResetCode::from_number(if refused { code - u64::from(REFUSED) } else { code });
        context.events.push_back(if refused {
            Event::Refused { flow: flow.id, reason }
        } else {
            Event::Reset { flow: flow.id, code: reason, undelivered: flow.out.undelivered() }
        });
        self.wake_blocked(context);
    }

    /// Ends both directions of a stream at once.
    fn abort(&mut self, id: StreamId, code: u32) {
        // Either may be over already.
        let _ = self.connection.send_stream(id).reset(VarInt::from_u32(code));
        let _ = self.connection.recv_stream(id).stop(VarInt::from_u32(code));
        self.dirty = true;
    }

    /// Closes the connection; the peer's flows are reset.
    pub fn close(&mut self, now: Instant) {
        let at = self.clock.to_std(now);
        self.connection.close(at, VarInt::from_u32(0), Bytes::from_static(b"closed"));
        self.dirty = true;
    }

    pub fn stats(&self) -> PeerStats {
        let quinn = self.connection.stats();
        let core = self.shared.lock();
        PeerStats {
            rtt: core.controller.rtt(),
            base_rtt: core.controller.base_rtt(),
            rate: core.controller.rate(),
            loss: core.controller.random_loss(),
            burst: core.controller.burst(),
            queued: self.flows.values().map(|flow| flow.out.queued).sum(),
            readable: self.flows.values().map(|flow| flow.into.reassembly.ready()).sum(),
            waited: self.waiting.sum(),
            peer_waited: self.peer_waited,
            in_flight: core.controller.in_flight(),
            window: core.controller.window(),
            credit: self.budget.most(),
            rtt_sum: core.controller.rtts().0,
            rtt_samples: core.controller.rtts().1,
            sent_packets: quinn.udp_tx.datagrams,
            sent_bytes: quinn.udp_tx.bytes,
            received_packets: self.received.0,
            received_bytes: self.received.1,
            lost_packets: quinn.path.lost_packets,
            parity_bytes: self.parity.sent_bytes,
            restored_bytes: self.parity.restored_bytes,
            acks: quinn.frame_tx.acks,
            flows: self.flows.len() as u32,
            max_flows: self.bounds.flows.map_or(self.max_flows, |most| most.min(self.max_flows)),
            bound: self.bounds.flows,
            bound_rate: self.bounds.rate,
            overloads: core.controller.overloads(),
            address: Some(self.connection.remote_address()),
            mtu: self.connection.current_mtu(),
        }
    }

    /// Ledger of this connection with what is held at present.
    pub fn ledger(&self) -> Ledger {
        let ledger = self.ledger;
        Ledger { held: ledger.written - ledger.delivered - ledger.lost, unread: self.held, ..ledger }
    }
}
