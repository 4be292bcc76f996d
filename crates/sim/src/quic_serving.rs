//! QUIC flows at work: datagrams are handed to their connections, timers expire, and what they send leaves. Datagrams travel as
//! packets like all others; the bytes wait beside the packet's slot.

use crate::packet::Packet;
use crate::quic::{Connections, address};
use crate::world::World;
use bytes::BytesMut;
use longhaul_quic::{Told, TraceKind};
use longhaul_results::SegmentKind;
use longhaul_segment::Ecn;
use longhaul_traffic::{End, Side, Streams};
use longhaul_units::{EndpointId, FlowId, Instant};

impl World<'_> {
    /// The endpoint of the first flow on the connection of `index`, at the same end: it has the connection's timer.
    fn leader(&self, index: EndpointId) -> EndpointId {
        let flow = self.network.flow_of(index);
        let first = self.quic.of(flow).map_or(flow, |(carried, _)| carried.flows[0]);
        self.first_connection(first).end(index.side())
    }

    /// A datagram reaches its endpoint.
    #[inline(never)]
    pub fn receive_datagram(&mut self, packet: Packet, hand_over: bool) {
        let index = packet.to;
        let datagram = self.fabric.freight.take_datagram(&packet);
        self.fabric.freight.release(packet);
        let (flow, side) = (self.network.flow_of(index), index.side());
        let (Some(datagram), Some((quic, place))) = (datagram, self.quic.of_mut(flow)) else { return };
        if datagram.content.stream_bytes > 0 {
            let arrived = &mut quic.arrived[place][side as usize];
            arrived.packets += 1;
            arrived.wire_bytes += u64::from(packet.wire_len);
            arrived.marked += u64::from(packet.ecn() == Ecn::Ce);
        }
        let ecn = packet.ecn();
        let bytes = BytesMut::from(bytes::Bytes::from(datagram.bytes));
        quic.bundle.set_time(self.now);
        quic.bundle.endpoint(side).handle_datagram(self.now, address(side.other()), ecn, bytes);
        self.serve_quic(index, hand_over);
    }

    /// An endpoint's timer is due.
    pub fn quic_timeout(&mut self, index: EndpointId) {
        let now = self.now;
        if let Some((quic, _)) = self.quic.of_mut(self.network.flow_of(index)) {
            quic.bundle.set_time(now);
            quic.bundle.endpoint(index.side()).handle_timeout(now);
        }
    }

    /// Does all that an endpoint requires after an input.
    pub fn serve_quic(&mut self, index: EndpointId, hand_over: bool) {
        let (index, now) = (self.leader(index), self.now);
        let (flow, side) = (self.network.flow_of(index), index.side());
        let mut sent = false;
        loop {
            let Some((quic, _)) = self.quic.of_mut(flow) else { return };
            quic.bundle.set_time(now);
            // Applications act before the next datagram leaves, so that their data are in it.
            match quic.bundle.poll_event(side) {
                Some(told) => {
                    sent = false;
                    self.tell_of_quic(flow, index, told);
                }
                None if sent => break,
                None => {
                    self.transmit_datagrams(index, hand_over);
                    sent = true;
                }
            }
        }
        self.take_trace(flow, side);
        let Some((quic, _)) = self.quic.of_mut(flow) else { return };
        // A timer that is set only now, for a server whose client has just proved to be real, may be due already.
        let due = quic.bundle.endpoint(side).poll_timeout().map_or(Instant::FAR_FUTURE, |due| due.max(now));
        self.set_due(index, due);
    }

    /// Writes down what an end of a connection has traced.
    fn take_trace(&mut self, first: FlowId, side: Side) {
        let Some((connection, _)) = self.quic.place[first] else { return };
        let Some(quic) = self.quic.carried[connection].as_deref_mut() else { return };
        if !quic.traced.contains(&Some(side)) {
            return;
        }
        for (place, row) in quic.bundle.take_trace(side) {
            let kind = match row.kind {
                TraceKind::Sent => SegmentKind::Data,
                TraceKind::Again => SegmentKind::Retransmission,
                TraceKind::Acknowledged => SegmentKind::Ack,
                TraceKind::Piece => SegmentKind::Sack,
            };
            if quic.traced[place] == Some(side) {
                self.recorder.segment(row.time, quic.flows[place], kind, row.start, row.end);
            }
        }
    }

    /// Tells applications and the list of events what an event of a connection means. `first` is the connection's first flow.
    fn tell_of_quic(&mut self, first: FlowId, index: EndpointId, told: Told) {
        let (now, side) = (self.now, index.side());
        if let Some(event) = told.note {
            let group = self.network.flows[first].group;
            let several = self.scenario.group(group).app.connections() > 1;
            self.note_event(first, index, event, several);
        }
        if let Some(phase) = told.phase {
            let sender = side == self.data_side(first);
            let window = self.quic.of(first).map_or(0, |(quic, _)| quic.window(side));
            if sender {
                self.recorder.event(now, phase.name(), Some(first), None, window as f64);
            }
        }
        if side == Side::Client {
            self.tell_connected(first, index);
        }
        if let Some((place, pair)) = told.stream {
            self.reach_over_quic(first, index, place, pair);
        }
        if told.lost && side == Side::Client {
            // Streams that were open are no more.
            while let Some((quic, _)) = self.quic.of_mut(first) {
                let Some((place, pair)) = quic.bundle.take_broken() else { break };
                let flow = quic.flows[place];
                self.call(flow, None, Some(index), |app, streams| app.gone(now, pair, streams));
            }
        }
    }

    /// Tells applications that their connection is established.
    fn tell_connected(&mut self, first: FlowId, index: EndpointId) {
        while let Some((quic, _)) = self.quic.of_mut(first) {
            let Some(place) = quic.bundle.take_connected() else { break };
            let flow = quic.flows[place];
            self.call(flow, None, Some(index), |app, streams| app.connected(streams));
        }
    }

    fn reach_over_quic(&mut self, first: FlowId, index: EndpointId, place: usize, pair: usize) {
        let (now, side) = (self.now, index.side());
        // What has come may be several messages.
        loop {
            let Some((quic, _)) = self.quic.of_mut(first) else { return };
            if !quic.bundle.take_goal(side, place, pair) {
                break;
            }
            let flow = quic.flows[place];
            self.call(flow, None, Some(index), |app, streams| app.reached(now, End { pair, side }, streams));
        }
        let Some((quic, _)) = self.quic.of_mut(first) else { return };
        let flow = quic.flows[place];
        if !quic.bundle.take_gone(place, pair) {
            return;
        }
        if self.scenario.group(self.network.flows[flow].group).app.connections() > 1 {
            self.call(flow, None, Some(index), |app, streams| app.gone(now, pair, streams));
        } else {
            self.serve_other(first, index);
        }
    }

    /// Serves the other end of a flow's connection, where an application has acted on it.
    pub fn serve_other(&mut self, flow: FlowId, index: EndpointId) {
        let other = self.first_connection(flow).end(index.side().other());
        self.serve_quic(other, true);
    }

    /// Calls the application of a QUIC flow. `serving` is an endpoint of its connection that is being served.
    pub fn call_over_quic(
        &mut self,
        flow: FlowId,
        serving: Option<EndpointId>,
        action: impl FnOnce(&mut longhaul_traffic::App, &mut dyn Streams),
    ) {
        let Some((connection, place)) = self.quic.place[flow] else { return };
        let Some(mut quic) = self.quic.carried[connection].take() else { return };
        let bundle = &mut quic.bundle;
        bundle.set_time(self.now);
        let before = bundle.client_connection();
        action(&mut self.apps[flow], &mut bundle.streams(place));
        let touched = bundle.waiting();
        bundle.carry_out();
        let opened = bundle.client_connection() != before;
        let first = self.first_connection(quic.flows[0]);
        self.quic.carried[connection] = Some(quic);
        let serving = serving.map(|index| self.leader(index));
        for (side, touched) in Side::BOTH.into_iter().zip(touched) {
            let end = first.end(side);
            if (touched || (side == Side::Client && opened)) && Some(end) != serving {
                self.serve_quic(end, true);
                if side == Side::Client {
                    self.tell_connected(flow, end);
                }
            }
        }
    }

    fn transmit_datagrams(&mut self, index: EndpointId, hand_over: bool) {
        let (flow, side) = (self.network.flow_of(index), index.side());
        while let Some((quic, _)) = self.quic.of_mut(flow) {
            let Some(datagram) = quic.bundle.endpoint(side).poll_transmit(self.now) else { break };
            // A packet is one of the flow whose data it carries.
            let of = datagram.content.stream.filter(|_| quic.flows.len() > 1);
            let place = of.and_then(|(stream, _)| quic.bundle.flow_of(stream)).unwrap_or(0);
            let sender = self.first_connection(quic_flow(&self.quic, flow, place)).end(side);
            let endpoint = &mut self.endpoints[sender];
            let departure = match &mut endpoint.overhead {
                None => self.now,
                Some(overhead) => overhead.departure(self.now),
            };
            let (to, label, link) = (endpoint.peer, endpoint.label, endpoint.first_link);
            if let Some(packet) = self.fabric.freight.packet_of(to, label, datagram) {
                self.fabric.send(&mut self.recorder, departure, link, packet, hand_over);
            }
        }
    }
}

/// The flow at this place of the connection of `first`.
fn quic_flow(connections: &Connections, first: FlowId, place: usize) -> FlowId {
    connections.of(first).map_or(first, |(carried, _)| carried.flows[place])
}
