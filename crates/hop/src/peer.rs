//! A connection to another node: quinn-proto's, with the flows on it.

use crate::config::{Config, Session};
use crate::controller::Allowance;
use crate::credit::{Budget, FLOOR};
use crate::flow::{Flow, Phase};
use crate::gate::Shared;
use crate::parity::Parity;
use crate::scheduler::Scheduler;
use crate::types::{Event, FlowId, Ledger, Open, PeerId, PeerStats, Piece, Refusal, ResetCode, Transmit};
use crate::wire::{self, Hello, Record};
use bytes::{Buf, Bytes};
use longhaul_quic::Clock;
use longhaul_units::{Duration, Instant, Rate};
use quinn_proto::{Connection, Dir, ReadError, StreamEvent, StreamId, VarInt};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

/// Codes of resets from here on are refusals.
const REFUSED: u32 = 1 << 16;
/// Bytes of a packet that are neither data nor headers of IP and UDP: QUIC's header, tag and the head of a frame.
const OVERHEAD: u64 = 36;
/// PINGs in an outage are so far apart.
const PROBES: Duration = Duration::from_millis(250);
/// What was read is reported at the latest after this time.
const REPORTS: Duration = Duration::from_millis(50);
/// A handshake without an answer is given up after this time.
const HANDSHAKE: Duration = Duration::from_secs(10);

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
    pub(crate) config: Arc<Config>,
    clock: Clock,
    control_out: Option<StreamId>,
    control_in: Option<StreamId>,
    /// Records that are not yet handed to quinn-proto, and what came of one that is incomplete.
    records: Vec<u8>,
    partial: Vec<u8>,
    /// The peer has opened flows before its hello came.
    flows_wait: bool,
    pub budget: Budget,
    pub(crate) scheduler: Scheduler,
    blocked: VecDeque<u64>,
    /// Bytes handed to quinn-proto that have not left, about.
    pub(crate) unsent: u64,
    release: Option<Instant>,
    /// Bytes of all flows received and not yet read.
    pub(crate) held: u64,
    /// Flows of which more was read than the peer was told, and the sum.
    unreported: BTreeSet<u64>,
    unreported_bytes: u64,
    /// When a PING looks whether an outage is over.
    probe_at: Option<Instant>,
    /// When the peer is told next.
    report_at: Option<Instant>,
    received: (u64, u64),
    /// ACK frames sent.
    acks: u64,
    pub(crate) parity: Parity,
    /// Flows of the peer that quinn-proto has shown.
    pub(crate) accepted: u64,
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
            config,
            clock,
            control_out: None,
            control_in: None,
            records: vec![],
            partial: vec![],
            flows_wait: false,
            budget: Budget::early(),
            scheduler: Scheduler::default(),
            blocked: VecDeque::new(),
            unsent: 0,
            release: None,
            held: 0,
            unreported: BTreeSet::new(),
            unreported_bytes: 0,
            probe_at: None,
            report_at: None,
            received: (0, 0),
            acks: 0,
            parity: Parity::default(),
            accepted: 0,
        }
    }

    /// When [`Peer::handle_timeout`] is to be called.
    pub fn poll_timeout(&mut self) -> Option<Instant> {
        let timer = self.connection.poll_timeout().map(|due| self.clock.from_std(due));
        let handshake = (self.state == State::Handshake).then(|| self.began + HANDSHAKE);
        let silent = self.shared.lock().controller.silent_from();
        self.probe_at = silent.map(|from| self.probe_at.map_or(from, |at| at.max(from)));
        [timer, self.release, handshake, self.report_at, self.probe_at, self.parity.next_flush()]
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
            self.probe_at = Some(now + PROBES);
            if self.state != State::Handshake {
                self.connection.ping();
                self.dirty = true;
            }
        }
        let at = self.clock.to_std(now);
        if self.state == State::Handshake && self.began + HANDSHAKE <= now {
            self.fail(now, "no answer to the handshake");
            return true;
        }
        let due = self.connection.poll_timeout().is_some_and(|due| due <= at);
        if due {
            self.connection.handle_timeout(at);
        }
        due
    }

    /// A datagram was handed to quinn-proto.
    pub fn count_received(&mut self, bytes: u64) {
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
        while let Some(event) = self.connection.poll() {
            match event {
                quinn_proto::Event::Connected => self.connected(context),
                quinn_proto::Event::ConnectionLost { reason } => self.lost(&reason.to_string(), context),
                quinn_proto::Event::Stream(StreamEvent::Opened { dir }) => self.opened(dir, context),
                quinn_proto::Event::Stream(StreamEvent::Readable { id }) => self.receive(id, context),
                quinn_proto::Event::DatagramReceived => self.receive_parities(context),
                quinn_proto::Event::Stream(StreamEvent::Finished { id }) => {
                    if let Some(flow) = self.flows.get_mut(&number(id)) {
                        flow.out.acknowledged = true;
                    }
                    self.settle(number(id), context);
                }
                quinn_proto::Event::Stream(StreamEvent::Stopped { id, error_code }) => {
                    self.reset_by_peer(number(id), error_code.into_inner(), context);
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
        };
        // Before all that may have been written already.
        let mut records = vec![];
        Record::Hello(hello).write(&mut records);
        records.append(&mut self.records);
        self.records = records;
        self.dirty = true;
    }

    fn lost(&mut self, reason: &str, context: &mut Context<'_>) {
        self.state = State::Lost;
        let streams: Vec<u64> = self.flows.keys().copied().collect();
        for stream in streams {
            let Some(flow) = self.remove(stream, context) else { continue };
            if flow.open.is_some() {
                context.events.push_back(Event::Reset { flow: flow.id, code: ResetCode::HopDown });
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
            (_, Record::Unknown) => Ok(()),
        }
    }

    fn up(&mut self, hello: &Hello, context: &mut Context<'_>) -> Result<(), &'static str> {
        let version = wire::agreed(wire::VERSIONS, hello.versions).ok_or("no common version of the hop")?;
        self.state = State::Up;
        self.budget.set(self.config.credit.min(hello.credit), self.config.memory.min(hello.memory));
        if self.config.rates.send.is_none() && self.config.remembered.is_none() && hello.receive > 0 {
            self.shared.lock().controller.restart(Rate::from_bps(hello.receive));
        }
        context.events.push_back(Event::Up {
            peer: self.id,
            key: self.key(),
            version,
            address: self.connection.remote_address(),
        });
        if std::mem::take(&mut self.flows_wait) {
            self.opened(Dir::Bi, context);
        }
        Ok(())
    }

    /// The peer's public key.
    fn key(&self) -> Option<[u8; 32]> {
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
                        flow.into.end = Some(flow.into.reassembly.highest());
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

    /// Tells the owner that there is something to read, or that nothing more will be.
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
        self.settle(key, context);
    }

    /// Removes a flow that is over.
    fn settle(&mut self, key: u64, context: &mut Context<'_>) {
        let Some(flow) = self.flows.get_mut(&key) else { return };
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
        let mut flow = self.flows.remove(&key)?;
        context.flows.remove(&flow.id);
        self.scheduler.remove(key);
        self.blocked.retain(|other| *other != key);
        if self.unreported.remove(&key) {
            self.unreported_bytes -= flow.into.reassembly.taken() - flow.into.reported;
        }
        let lost = flow.out.outstanding();
        let head = flow.out.head.saturating_sub(flow.out.consumed);
        self.budget.give_back(lost);
        self.ledger.lost += lost.saturating_sub(head);
        self.parity.forget(&mut flow);
        let discarded = flow.into.reassembly.clear();
        self.held -= discarded;
        self.ledger.discarded += discarded;
        Some(flow)
    }

    fn reset_by_peer(&mut self, key: u64, code: u64, context: &mut Context<'_>) {
        let Some(flow) = self.remove(key, context) else { return };
        self.abort(flow.stream, 0);
        if flow.open.is_none() {
            return;
        }
        let refused = code >= u64::from(REFUSED) && !flow.remote;
        let reason = ResetCode::from_number(if refused { code - u64::from(REFUSED) } else { code });
        context.events.push_back(if refused {
            Event::Refused { flow: flow.id, reason }
        } else {
            Event::Reset { flow: flow.id, code: reason }
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

    /// Opens a flow.
    pub fn open(&mut self, open: Open, context: &mut Context<'_>) -> Result<FlowId, Refusal> {
        if !wire::is_possible(&open) {
            return Err(Refusal::Malformed);
        }
        if !matches!(self.state, State::Up | State::Connected) {
            return Err(Refusal::Down);
        }
        let id = self.connection.streams().open(Dir::Bi).ok_or(Refusal::TooMany)?;
        let key = number(id);
        let mut flow = Flow::new(context.new_flow(key), id, false, Some(open));
        let mut head = vec![];
        wire::write_open(&open, &mut head);
        flow.out.head = head.len() as u64;
        flow.out.queued = head.len() as u64;
        self.budget.add(flow.out.head);
        flow.out.queue.push_back(Bytes::from(head));
        let id = flow.id;
        self.scheduler.wake(context.now, key, &mut flow.out.turn);
        self.flows.insert(key, flow);
        self.dirty = true;
        Ok(id)
    }

    /// Answers a flow that the peer has opened.
    pub fn accept(&mut self, key: u64) {
        let confirms = self
            .flows
            .get(&key)
            .is_some_and(|flow| flow.remote && flow.open.is_some_and(|open| open.confirm));
        if confirms {
            Record::Accepted { stream: key }.write(&mut self.records);
            self.dirty = true;
        }
    }

    /// Gives up a flow at the wish of the owner.
    pub fn reset(&mut self, key: u64, code: ResetCode, refused: bool, context: &mut Context<'_>) {
        let Some(flow) = self.remove(key, context) else { return };
        let code = code.number().min(REFUSED - 1) + if refused { REFUSED } else { 0 };
        self.abort(flow.stream, code);
        self.wake_blocked(context);
    }

    /// Bytes that a flow takes now.
    pub fn writable(&self, key: u64) -> usize {
        self.flows
            .get(&key)
            .filter(|flow| flow.out.phase == Phase::Open)
            .map_or(0, |flow| usize::try_from(self.budget.room(flow.out.outstanding())).unwrap_or(usize::MAX))
    }

    /// Takes as many bytes as there is room for, and leaves the rest.
    pub fn write(&mut self, now: Instant, key: u64, bytes: &mut Bytes) -> usize {
        let room = self.writable(key).min(bytes.len());
        let Some(flow) = self.flows.get_mut(&key) else { return 0 };
        if room < bytes.len() && flow.out.phase == Phase::Open && !flow.out.blocked {
            flow.out.blocked = true;
            self.blocked.push_back(key);
        }
        if room == 0 {
            return 0;
        }
        flow.out.queue.push_back(bytes.split_to(room));
        flow.out.queued += room as u64;
        self.budget.add(room as u64);
        self.ledger.written += room as u64;
        self.scheduler.wake(now, key, &mut flow.out.turn);
        self.dirty = true;
        room
    }

    /// Nothing more follows.
    pub fn finish(&mut self, now: Instant, key: u64) {
        let Some(flow) = self.flows.get_mut(&key) else { return };
        if flow.out.phase == Phase::Open {
            flow.out.phase = Phase::Ending;
            self.scheduler.wake(now, key, &mut flow.out.turn);
            self.dirty = true;
        }
    }

    /// Gives out bytes in order.
    pub fn read(&mut self, key: u64, most: usize, context: &mut Context<'_>) -> Option<Bytes> {
        let flow = self.flows.get_mut(&key)?;
        let Some(bytes) = flow.into.reassembly.take(most) else {
            flow.into.told = false;
            return None;
        };
        let length = bytes.len() as u64;
        self.held -= length;
        self.ledger.read += length;
        self.unreported_bytes += length;
        if self.unreported.insert(key) {
            // The head was not counted when it was taken.
            self.unreported_bytes += flow.into.reassembly.taken() - length - flow.into.reported;
        }
        if flow.into.reassembly.taken() - flow.into.reported >= self.config.credit / 16 {
            self.report(key);
        } else if self.unreported_bytes >= self.config.memory / 16 {
            self.report_all();
        } else if flow.into.reassembly.taken() - flow.into.reported >= FLOOR / 2 {
            // A peer that is short of memory waits for it.
            self.report_at = self.report_at.or(Some(context.now + REPORTS));
        }
        self.tell_reader(key, context);
        Some(bytes)
    }

    /// Tells the peer how much of a flow was read.
    fn report(&mut self, key: u64) {
        let Some(flow) = self.flows.get_mut(&key) else { return };
        let offset = flow.into.reassembly.taken();
        if self.unreported.remove(&key) {
            self.unreported_bytes -= offset - flow.into.reported;
        }
        flow.into.reported = offset;
        Record::Consumed { stream: key, offset }.write(&mut self.records);
        self.dirty = true;
    }

    fn report_all(&mut self) {
        for key in std::mem::take(&mut self.unreported) {
            self.unreported.insert(key);
            self.report(key);
        }
    }

    /// Tells flows that wait for room that there is some, each in its turn.
    fn wake_blocked(&mut self, context: &mut Context<'_>) {
        for _ in 0..self.blocked.len() {
            let Some(key) = self.blocked.pop_front() else { return };
            let Some(flow) = self.flows.get_mut(&key) else { continue };
            if self.budget.room(flow.out.outstanding()) >= self.budget.worth_waking() {
                flow.out.blocked = false;
                context.events.push_back(Event::Writable { flow: flow.id });
            } else {
                self.blocked.push_back(key);
            }
        }
    }

    /// The next batch to send. `buffer` is empty.
    pub fn poll_transmit(&mut self, now: Instant, buffer: &mut Vec<u8>) -> Option<Transmit> {
        let at = self.clock.to_std(now);
        self.flush_records();
        let allowance = {
            let mut core = self.shared.lock();
            self.unsent += std::mem::take(&mut core.lost);
            let allowance = core.controller.allowance(now, self.config.batch);
            core.open = matches!(allowance, Allowance::Packets(_));
            core.asked = false;
            allowance
        };
        let packets = match allowance {
            Allowance::Packets(packets) => packets,
            Allowance::Until(_) => 1,
        };
        let open = matches!(allowance, Allowance::Packets(_));
        let full = packets as u64 * u64::from(self.config.mtu);
        for _ in 0..2 {
            if open {
                self.feed(now, full);
            }
            if let Some(transmit) = self.connection.poll_transmit(at, packets, buffer) {
                return Some(self.sent(now, &transmit, packets));
            }
            if !open {
                let asked = self.shared.lock().asked || !self.scheduler.is_empty() || !self.parity.is_empty();
                if let (Allowance::Until(release), true) = (allowance, asked) {
                    self.release = Some(release);
                }
                return None;
            }
            self.unsent = 0;
            if self.scheduler.is_empty() && self.parity.is_empty() {
                self.shared.lock().controller.on_app_limited(now);
                return None;
            }
        }
        None
    }

    fn sent(&mut self, now: Instant, transmit: &quinn_proto::Transmit, packets: usize) -> Transmit {
        let length = transmit.size as u64;
        let segment = transmit.segment_size.unwrap_or(transmit.size).max(1);
        let count = transmit.size.div_ceil(segment);
        let last = transmit.size - (count - 1) * segment;
        let acks = self.connection.stats().frame_tx.acks;
        // What has nothing but an ACK is not in flight: nobody acknowledges it.
        let bare = acks > std::mem::replace(&mut self.acks, acks) && count == 1 && length < 90;
        self.shared.lock().controller.on_sent(now, length, count as u64, !bare);
        self.unsent = if count <= packets && last + 32 < usize::from(self.config.mtu) {
            0 // The last packet had room: nothing is left.
        } else {
            self.unsent.saturating_sub(length.saturating_sub(OVERHEAD * count as u64))
        };
        Transmit {
            to: transmit.destination,
            from: transmit.src_ip,
            len: transmit.size,
            segment_size: transmit.segment_size,
            ecn: if transmit.ecn.is_some() { 2 } else { 0 },
        }
    }

    fn flush_records(&mut self) {
        let Some(control) = self.control_out.filter(|_| !self.records.is_empty()) else { return };
        match self.connection.send_stream(control).write(&self.records) {
            Ok(written) => {
                self.records.drain(..written);
                self.unsent += written as u64;
            }
            Err(_) => self.records.clear(),
        }
    }

    /// Hands quinn-proto what leaves next, so that it has `want` bytes.
    fn feed(&mut self, now: Instant, want: u64) {
        let plan = self.coding_plan();
        while self.unsent < want {
            if let Some(length) = self.parity.send(&mut self.connection) {
                self.unsent += length;
                continue;
            }
            let Some(key) = self.scheduler.next() else { return };
            let Some(flow) = self.flows.get_mut(&key) else { continue };
            let quantum =
                u64::from(self.config.mtu) * (1 + flow.open.map_or(0, |open| u64::from(open.priority)));
            let out = &mut flow.out;
            let codes = plan.codes(out, self.scheduler.len());
            let mut stream = self.connection.send_stream(flow.stream);
            let mut fed = 0;
            while fed < quantum {
                let Some(bytes) = out.take(quantum - fed) else { break };
                let length = bytes.len() as u64;
                if codes {
                    out.encoder.push(out.fed - length, bytes.clone());
                }
                fed += length;
                // Windows are without end: all is taken, unless the stream was stopped, which is reported elsewhere.
                let mut chunks = [bytes];
                while chunks[0].has_remaining() && stream.write_chunks(&mut chunks).is_ok() {}
            }
            if out.queued == 0 && out.phase == Phase::Ending && !out.ended {
                out.ended = true;
                let _ = stream.finish();
            }
            self.unsent += fed;
            out.turn.sent(fed);
            self.parity.after_feed(now, key, out, codes, &plan);
            if out.has_work() {
                self.scheduler.put_back(key, &mut out.turn);
            } else {
                self.scheduler.rest(now, &mut out.turn);
            }
        }
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
            in_flight: core.controller.in_flight(),
            sent_packets: quinn.udp_tx.datagrams,
            sent_bytes: quinn.udp_tx.bytes,
            received_packets: self.received.0,
            received_bytes: self.received.1,
            lost_packets: quinn.path.lost_packets,
            parity_bytes: self.parity.sent_bytes,
            restored_bytes: self.parity.restored_bytes,
            acks: quinn.frame_tx.acks,
            flows: self.flows.len() as u32,
            overloads: core.controller.overloads(),
        }
    }

    /// Ledger of this connection with what is held at present.
    pub fn ledger(&self) -> Ledger {
        let ledger = self.ledger;
        Ledger { held: ledger.written - ledger.delivered - ledger.lost, unread: self.held, ..ledger }
    }
}
