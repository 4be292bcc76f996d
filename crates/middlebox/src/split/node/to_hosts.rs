//! What a node does for the hosts on its side: their packets, the local queue, and the connections that stand in for the other host.

use super::*;
use longhaul_units::ConnectionId;

impl<P: Payload> SplitNode<P> {
    pub(super) fn on_host_packet(&mut self, now: Instant, packet: Waiting<P>) {
        let carries = packet.segment.payload_len > 0 || packet.segment.flags.contains(Flags::FIN);
        let held_back = carries && self.is_held_back(packet.connection);
        match &mut self.queue {
            Some(_) if held_back => self.drop_at_queue(&packet),
            Some(queue) if carries => {
                queue.enqueue(now, packet);
                self.note_drops();
                if self.is_event_driven() {
                    self.let_in(now);
                }
            }
            _ => self.reach_local(now, packet),
        }
    }

    pub(super) fn is_event_driven(&self) -> bool {
        self.queue.as_ref().is_some_and(LocalQueue::is_event_driven)
    }

    /// With a local queue: a slow host at the other node has used up a flow's credit, and a buffer of data waits for it here.
    /// More would wait in front of the other flows' packets.
    pub(super) fn is_held_back(&self, number: ConnectionId) -> bool {
        let flow = self.flows.get(number).filter(|_| self.queue.is_some());
        flow.is_some_and(|flow| {
            flow.credit() == 0 && flow.local.connection.readable() >= self.long_hop.buffer
        })
    }

    pub(super) fn drop_at_queue(&mut self, packet: &Waiting<P>) {
        self.counts.local_queue_drops += u64::from(packet.segment.payload_len > 0);
        self.base.events.push_back(packet.dropped());
    }

    pub(super) fn note_drops(&mut self) {
        let Some(queue) = &mut self.queue else { return };
        let dropped: Vec<_> = queue.packets.take_dropped().collect();
        dropped.iter().for_each(|(packet, _)| self.drop_at_queue(packet));
    }

    /// Lets packets of the local queue in, as long as there is credit. True if there was any.
    pub(super) fn let_in(&mut self, now: Instant) -> bool {
        let mss = u64::from(self.long_hop.side.config.mss);
        let mut any = false;
        loop {
            let head = self.queue.as_ref().and_then(|queue| queue.packets.head());
            let Some(number) = head.map(|packet| packet.connection) else { break };
            let unsent = self.unsent(number);
            let Some(packet) = self.queue.as_mut().and_then(|queue| queue.let_in(now, unsent, mss)) else {
                break;
            };
            self.reach_local(now, packet);
            any = true;
        }
        if any {
            self.note_drops();
        }
        any
    }

    /// Bytes of a flow's connection over the long hop that were let in and not sent yet.
    pub(super) fn unsent(&self, number: ConnectionId) -> u64 {
        let flow = self.flows.get(number);
        let long = flow.map_or_else(|| self.long_hop.of(number), |flow| flow.long);
        self.longs[long].as_ref().map_or(0, |end| end.connection.unsent())
    }

    /// A packet reaches the connection that stands in for the other host.
    pub(super) fn reach_local(&mut self, now: Instant, packet: Waiting<P>) {
        let Waiting { connection: number, direction, ecn, segment, body } = packet;
        if !self.has_local(number, direction, &segment) {
            return self.base.refuse(0, number, direction, &segment);
        }
        if let Some(flow) = self.flow(number) {
            flow.local.connection.handle_segment(now, &segment, ecn, &body);
        }
        self.settle_local(now, number);
    }

    /// Finds or makes the connection that a host's packet is for; false if there can be none.
    pub(super) fn has_local(
        &mut self,
        number: ConnectionId,
        direction: Direction,
        segment: &Segment,
    ) -> bool {
        let towards = direction.opposite();
        let long = self.flows.get(number).map_or_else(|| self.long_hop.of(number), |flow| flow.long);
        let long_works = self.long_end(long).is_some();
        let gone = self.flow(number).is_none_or(|flow| flow.local.gives_way_to(segment));
        if hosts::opens(segment) && long_works && gone {
            let local = self.hosts.accept(number, towards, segment);
            let long = self.long_hop.of(number);
            let stream = self.next_stream;
            self.next_stream = (stream + 2) % REVERSE;
            self.put(number, Flow::new(local, stream, long, false));
            let hosts = self.ends(number, towards).encode();
            self.send_record(number, RecordKind::Open, &hosts);
        } else if self.flow(number).is_none() {
            let local = self.hosts.established(number, towards, hosts::ports_to_sender(segment));
            let Some(local) = local else { return false };
            self.put(
                number,
                Flow::new(local, record::established_stream(self.side, number, direction), long, true),
            );
        }
        self.flow(number).is_some_and(|flow| !flow.local.is_closed())
    }

    /// The hosts of a connection, by this node's connection to one of them.
    pub(super) fn ends(&self, number: ConnectionId, towards: Direction) -> Ends {
        let ports = self.flows.get(number).map_or(Ports::default(), |flow| flow.local.connection.ports());
        let [active, passive] = match towards {
            Direction::Forward => [ports.local, ports.remote],
            Direction::Reverse => [ports.remote, ports.local],
        };
        self.directory.ends(number, [active, passive])
    }

    /// A flow begins, in the place of one whose number it has.
    pub(super) fn put(&mut self, number: ConnectionId, flow: Flow<P>) {
        if let Some(old) = self.flows.take(number) {
            self.streams.remove(&old.stream);
            self.hosts.retire(&old.local);
        }
        self.streams.insert(flow.stream, number);
        self.flows.put(number, flow);
    }

    /// Does what has become possible at a connection to a host.
    pub(super) fn settle_local(&mut self, now: Instant, number: ConnectionId) {
        let Some(flow) = self.flow(number) else { return };
        if let Some(why) = flow.local.take_events() {
            self.notes.push_back(Note::Broken(number, why));
            self.send_record(number, RecordKind::Reset, &[]);
        }
        let Some(flow) = self.flow(number) else { return };
        let long = flow.long;
        if flow.has_turn() && !std::mem::replace(&mut flow.local.ready, true) {
            if let Some(end) = self.long_end(long) {
                end.ready.push_back(number);
            }
            self.touch(Owner::Long(long));
            if matches!(self.control, FlowControl::LocalQueue(_)) {
                // What was let in is the long hop's at once.
                self.fill(now, long);
            }
        } else if flow.is_newly_blocked() {
            // Credit had been used up to the last byte when these data came.
            self.send_record(number, RecordKind::Blocked, &[]);
        }
        self.grant(number);
        self.touch(Owner::Local(number));
        if self.long(long).is_some_and(|end| end.blocked) {
            self.take_records(now, long);
        }
    }

    /// Tells the other node how much it may send for a host.
    pub(super) fn grant(&mut self, number: ConnectionId) {
        let buffer = match self.control {
            FlowControl::Window(None) | FlowControl::LocalQueue(_) => Some(self.long_hop.buffer),
            FlowControl::Window(Some(_)) => None,
        };
        let Some(flow) = self.flow(number).filter(|flow| !flow.local.broken) else { return };
        if let Some(limit) = flow.next_credit(buffer) {
            self.send_record(number, RecordKind::Credit, &limit.to_be_bytes());
        }
    }
}
