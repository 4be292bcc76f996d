//! What a node does on the long hop: its ends of the connections there, whose turn it is on them, and the records that arrive.

use super::*;
use longhaul_units::{ConnectionId, Id};

impl<P: Payload> SplitNode<P> {
    /// The end of a long connection, opened if it is needed for the first time; `None` if it has broken.
    pub(super) fn long_end(&mut self, index: usize) -> Option<&mut LongEnd<P>> {
        if self.longs[index].is_none() {
            self.open_long(index, true);
        }
        self.long(index).filter(|end| !end.broken)
    }

    pub(super) fn open_long(&mut self, index: usize, active: bool) {
        let isn = self.hosts.isn();
        let Side { config, congestion } = &self.long_hop.side;
        // Any ports will do, as long as each connection has its own.
        let port = |side: usize| 10_000 + 2 * (index as u16 % 20_000) + side as u16;
        let ports = Ports { local: port(self.side), remote: port(1 - self.side) };
        let connection = if self.long_hop.established {
            Connection::established(config.clone(), congestion(), ports)
        } else if active {
            Connection::connect(config.clone(), congestion(), isn, ports)
        } else {
            Connection::listen(config.clone(), congestion(), isn, ports)
        };
        self.longs[index] = Some(Box::new(LongEnd::new(connection, self.long_hop.framing)));
    }

    /// Tells the other node something of a flow that is no data.
    pub(super) fn send_record(&mut self, number: ConnectionId, kind: RecordKind, content: &[u8]) {
        let Some(flow) = self.flow(number) else { return };
        let (stream, long) = (flow.stream, flow.long);
        self.announce(number);
        let Some(end) = self.long_end(long) else { return };
        end.write(stream, kind, content);
        self.touch(Owner::Long(long));
    }

    /// Notifies the other node of the hosts of a stream, unless that has been done.
    pub(super) fn announce(&mut self, number: ConnectionId) {
        let Some(flow) = self.flow(number).filter(|flow| flow.unannounced) else { return };
        flow.unannounced = false;
        let (stream, long, towards) = (flow.stream, flow.long, flow.local.direction);
        let hosts = self.ends(number, towards).encode();
        if let Some(end) = self.long_end(long) {
            end.announce(stream, RecordKind::Open, &hosts);
        }
    }

    /// Moves data of the flows whose turn it is to a long connection, as much as it can soon send. True if there was any.
    pub(super) fn fill(&mut self, now: Instant, long: usize) -> bool {
        let without_limit = matches!(self.control, FlowControl::LocalQueue(_));
        let framing = self.long_hop.framing;
        let mut any = false;
        loop {
            let Some(end) = self.long(long).filter(|end| !end.broken) else { return any };
            let segment = u64::from(end.connection.effective_mss());
            if !without_limit && end.connection.unsent() >= READY_SEGMENTS * segment {
                return any;
            }
            let Some(number) = end.ready.pop_front() else { return any };
            let Some(flow) = self.flow(number) else { continue };
            flow.local.ready = false;
            if flow.local.broken {
                continue;
            }
            // A record fills a segment with its header: what is left of it would go alone.
            let most = if without_limit { MOST_DATA } else { framing.most_data(segment) };
            let taken = flow.local.connection.read(now, most.min(MOST_DATA).min(flow.credit()));
            flow.note_sent(taken.len());
            let ends = flow.local.has_end_to_pass();
            flow.local.end_passed |= ends;
            let again = flow.has_turn();
            flow.local.ready = again;
            let (stream, is_blocked) = (flow.stream, flow.is_newly_blocked());
            self.announce(number);
            // Reading may have opened the window.
            self.touch(Owner::Local(number));
            let Some(end) = self.long(long) else { return any };
            if !taken.is_empty() {
                end.write_data(stream, taken);
            }
            if ends {
                end.write(stream, RecordKind::Close, &[]);
            }
            if is_blocked {
                end.write(stream, RecordKind::Blocked, &[]);
            }
            if again {
                end.ready.push_back(number);
            }
            self.touch(Owner::Long(long));
            any = true;
        }
    }

    /// Takes the records that have arrived.
    pub(super) fn take_records(&mut self, now: Instant, long: usize) {
        loop {
            let Some(end) = self.long(long).filter(|end| !end.broken) else { return };
            let record = match end.next() {
                Ok(Some(record)) => record,
                Ok(None) => {
                    end.blocked = false;
                    return;
                }
                Err(Malformed) => {
                    end.broken = true;
                    return self.on_long_broken(long);
                }
            };
            let limit = match self.control {
                FlowControl::Window(limit) if record.kind == RecordKind::Data => limit,
                _ => None,
            };
            let number = self.streams.get(&record.stream).copied();
            let host = number.and_then(|number| self.flow(number)).filter(|flow| !flow.local.broken);
            let backlog = host.map_or(0, |flow| flow.local.backlog());
            let full = limit.is_some_and(|limit| backlog > 0 && backlog + u64::from(record.len) > limit);
            let Some(end) = self.long(long) else { return };
            end.blocked = full;
            if full {
                return;
            }
            let data = end.take(now);
            self.touch(Owner::Long(long));
            self.on_record(now, long, record, number, &data);
        }
    }

    pub(super) fn on_record(
        &mut self,
        now: Instant,
        long: usize,
        record: Record,
        number: Option<ConnectionId>,
        data: &P::Data,
    ) {
        if record.kind == RecordKind::Open && number.is_none() {
            return self.on_open(now, long, record.stream, &data.to_bytes());
        }
        let Some(number) = number else { return };
        let Some(flow) = self.flow(number) else { return };
        if !flow.local.broken {
            match record.kind {
                RecordKind::Open => flow.unannounced = false,
                RecordKind::Hello => {}
                RecordKind::Blocked => flow.on_blocked(),
                RecordKind::Data => {
                    if !flow.give(data) {
                        return self.refuse_stream(number);
                    }
                }
                RecordKind::Close => flow.local.close(),
                RecordKind::Reset => flow.local.break_off(),
                RecordKind::Credit => {
                    if let Some(limit) = data.to_bytes().first_chunk() {
                        flow.set_limit(u64::from_be_bytes(*limit));
                    }
                }
            }
        }
        self.settle_local(now, number);
    }

    /// The first record of a stream: a connection to its host on this side.
    pub(super) fn on_open(&mut self, now: Instant, long: usize, stream: u32, hosts: &[u8]) {
        let hosts = Ends::decode(hosts);
        let Some((number, hosts)) = hosts.and_then(|hosts| Some((self.directory.number(&hosts)?, hosts)))
        else {
            return self.reset_stream(long, stream);
        };
        let towards = record::towards_host(self.side, stream);
        if self.flow(number).is_some_and(|flow| !flow.local.is_over()) {
            return self.reset_stream(long, stream);
        }
        let ports = hosts.ports(towards);
        let local = if stream & ESTABLISHED == 0 {
            Some(self.hosts.connect(number, towards, ports))
        } else {
            self.hosts.established(number, towards, ports)
        };
        let Some(local) = local else { return self.reset_stream(long, stream) };
        self.put(number, Flow::new(local, stream, long, false));
        self.settle_local(now, number);
    }

    /// A stream is refused: the other node ends the connection of its host.
    pub(super) fn reset_stream(&mut self, long: usize, stream: u32) {
        if let Some(end) = self.long_end(long) {
            end.write(stream, RecordKind::Reset, &[]);
            self.touch(Owner::Long(long));
        }
    }

    /// The other node sends what it may not: the flow ends.
    pub(super) fn refuse_stream(&mut self, number: ConnectionId) {
        self.notes.push_back(Note::Broken(number, Broken::TimedOut));
        if let Some(flow) = self.flow(number) {
            flow.local.break_off();
        }
        self.send_record(number, RecordKind::Reset, &[]);
        self.touch(Owner::Local(number));
    }

    /// A long connection has broken: all its flows end before their time.
    pub(super) fn on_long_broken(&mut self, long: usize) {
        if let Some(end) = self.long(long) {
            end.connection.abort();
            end.ready.clear();
        }
        for number in self.flows.ids() {
            let Some(flow) = self.flow(number).filter(|flow| flow.long == long && !flow.local.broken) else {
                continue;
            };
            flow.local.break_off();
            self.touch(Owner::Local(number));
            self.notes.push_back(Note::Broken(number, Broken::Hop));
            self.notes.push_back(Note::Changed(number));
        }
        self.touch(Owner::Long(long));
    }

    pub(super) fn on_long_packet(&mut self, now: Instant, packet: Passing<'_, P>) {
        let index = packet.connection.index() - self.long_hop.first_number.index();
        if index >= self.longs.len() {
            return;
        }
        if self.longs[index].is_none() {
            self.open_long(index, false);
        }
        let Some(end) = self.long(index) else { return };
        if end.broken {
            // The other node has not been notified yet.
            let direction = Direction::BOTH[1 - self.side];
            return self.base.refuse(0, packet.connection, direction, packet.segment);
        }
        end.connection.handle_segment(now, packet.segment, *packet.ecn, packet.body);
        self.settle_long(now, index);
    }

    pub(super) fn settle_long(&mut self, now: Instant, index: usize) {
        let broke = self.long(index).is_some_and(LongEnd::take_events);
        if broke {
            return self.on_long_broken(index);
        }
        self.take_records(now, index);
        self.touch(Owner::Long(index));
    }

    /// What is ready joins what would leave as less than a segment: a small record goes alone only if there is nothing else.
    pub(super) fn top_up(&mut self, now: Instant, owner: Owner) {
        let Owner::Long(index) = owner else { return };
        let is_short = |end: &mut LongEnd<P>| {
            !end.ready.is_empty() && end.connection.unsent() < u64::from(end.connection.effective_mss())
        };
        if self.long(index).is_some_and(is_short) {
            self.fill(now, index);
        }
    }
}
