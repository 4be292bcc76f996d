//! Endpoints at work: packets are handed to them, their timers expire, and what they send leaves.

use crate::endpoint::Watch;
use crate::packet::Packet;
use crate::world::World;
use longhaul_fabric::{Arrival, Timeline};
use longhaul_segment::{Ecn, Segment};
use longhaul_tcp::{State, reset_for};
use longhaul_units::{EndpointId, Id, Instant};

/// So many packets that were handed over are forgotten at once.
const MOST_DONE: usize = 1024;

impl World<'_> {
    /// Hands packets to their endpoints: what has arrived in this event, and what may be handed over ahead of time. Many at
    /// a time, so that code and data stay in the cache, as long as no event comes before the first of them.
    pub(crate) fn deliver(&mut self) {
        let (now, mut next) = (self.now, 0);
        while let Some(arrival) = self.fabric.arrivals.get(next).copied() {
            next += 1;
            if next == MOST_DONE {
                // Where a flow has its way to itself there are more and more, up to the next stop.
                self.fabric.arrivals.drain(..next);
                next = 0;
            }
            let endpoint = &self.endpoints[arrival.packet.to];
            if arrival.at > now && endpoint.due <= arrival.at {
                self.catch_up(&arrival);
            }
            self.now = arrival.at;
            if arrival.packet.is_damaged() {
                self.drop_damaged(arrival.packet);
                continue;
            }
            self.receive(arrival.packet);
        }
        self.now = now;
        self.fabric.arrivals.clear();
        self.fabric.first_arrival = Instant::FAR_FUTURE;
    }

    /// A packet's checksum is wrong: its receiver drops it.
    #[cold]
    pub(crate) fn drop_damaged(&mut self, packet: Packet) {
        let payload_len = self.fabric.freight.get(&packet).payload_len;
        self.recorder.drop(self.now, "checksum", packet.to.connection(), payload_len, None, packet.wire_len);
        self.fabric.freight.release(packet);
    }

    /// Timers of an endpoint that are due before a packet that is handed to it ahead of time come first.
    #[cold]
    fn catch_up(&mut self, arrival: &Arrival<Packet>) {
        let index = arrival.packet.to;
        loop {
            let due = self.endpoints[index].due;
            if due > arrival.at {
                return;
            }
            let component = self.endpoint_component(index);
            if due == arrival.at && !Timeline::wins(component, arrival.link.index(), due) {
                return;
            }
            self.fire_ahead(index, due);
        }
    }

    #[cold]
    fn fire_ahead(&mut self, index: EndpointId, due: Instant) {
        self.now = due;
        if self.endpoints[index].watch == Watch::Quic {
            self.quic_timeout(index);
        } else {
            self.endpoints[index].connection.handle_timeout(due);
        }
        self.serve(index, false);
    }

    /// A packet reaches its endpoint now.
    #[inline(always)]
    fn receive(&mut self, mut packet: Packet) {
        let index = packet.to;
        let endpoint = &mut self.endpoints[index];
        if !endpoint.is_ordinary() {
            return self.receive_specially(packet);
        }
        // The first segment that it sends now, if any, takes the packet's place.
        let segment = self.fabric.freight.get_mut(&packet);
        let Some(departure) = endpoint.connection.exchange(self.now, segment, packet.ecn()) else {
            self.fabric.freight.release(packet);
            if !endpoint.is_settled() {
                self.settle_and_serve(index);
            }
            return;
        };
        let (ecn, wire_len) = (departure.ecn, departure.wire_len);
        self.fabric.freight.reuse(&mut packet, endpoint.peer, endpoint.label, ecn, wire_len);
        self.fabric.leave(&mut self.recorder, self.now, endpoint.first_link, packet, true);
        if !departure.last {
            self.serve(index, true);
        } else if !endpoint.is_settled() {
            self.settle_and_serve(index);
        }
    }

    /// What is left to do for an endpoint that has sent all that it may.
    #[inline(never)]
    fn settle_and_serve(&mut self, index: EndpointId) {
        if !self.settle(index) {
            self.serve(index, true);
        }
    }

    /// A packet reaches an endpoint that is closed, watched, or slow to send.
    #[inline(never)]
    fn receive_specially(&mut self, packet: Packet) {
        let index = packet.to;
        let endpoint = &self.endpoints[index];
        let watch = endpoint.watch;
        if watch == Watch::Udp {
            return self.receive_over_udp(packet);
        }
        if endpoint.connection.state() == State::Closed {
            let segment = *self.fabric.freight.get(&packet);
            self.fabric.freight.release(packet);
            return self.refuse(index, &segment);
        }
        if watch == Watch::Quic {
            return self.receive_datagram(packet, true);
        }
        if watch != Watch::Nothing && self.is_stray(index, &packet) {
            return;
        }
        let segment = self.fabric.freight.get(&packet);
        self.endpoints[index].connection.handle_segment(self.now, segment, packet.ecn());
        self.fabric.freight.release(packet);
        self.serve(index, true);
    }

    /// Traces a packet that arrives at a watched endpoint. True if it belongs to another connection: it is answered as such.
    #[cold]
    fn is_stray(&mut self, index: EndpointId, packet: &Packet) -> bool {
        let (endpoint, segment) = (&self.endpoints[index], self.fabric.freight.get(packet));
        if endpoint.watch == Watch::Trace {
            self.recorder.trace_received(self.now, self.network.flow_of(index), segment);
            return false;
        }
        let ports = endpoint.connection.ports();
        let stray = (segment.src_port, segment.dst_port) != (ports.remote, ports.local);
        if stray {
            let segment = *segment;
            self.fabric.freight.release(*packet);
            self.refuse(index, &segment);
        }
        stray
    }

    /// Answers a segment for a connection that is no more (RFC 9293 section 3.10.7.1).
    #[cold]
    fn refuse(&mut self, index: EndpointId, segment: &Segment) {
        if let Some(reset) = reset_for(segment) {
            let endpoint = &self.endpoints[index];
            let write = |segment: &mut Segment| {
                *segment = reset;
                Some((Ecn::NotEct, reset.ipv4_len()))
            };
            let Some(packet) = self.fabric.freight.packet(endpoint.peer, endpoint.label, write) else {
                return;
            };
            let link = endpoint.first_link;
            self.fabric.send(&mut self.recorder, self.now, link, packet, false);
        }
    }

    pub(crate) fn timer(&mut self, index: EndpointId) {
        let component = self.endpoint_component(index);
        let endpoint = &mut self.endpoints[index];
        let due = endpoint.due;
        endpoint.wake = if due <= self.now { Instant::FAR_FUTURE } else { due };
        self.fabric.timeline.set_first(component, endpoint.wake);
        if due <= self.now {
            if endpoint.watch == Watch::Quic {
                self.quic_timeout(index);
            } else {
                endpoint.connection.handle_timeout(self.now);
            }
            self.serve(index, true);
        }
    }

    /// Does all that an endpoint requires after an input: sends, notifies the application, sets the timer.
    #[inline]
    pub fn serve(&mut self, index: EndpointId, hand_over: bool) {
        match self.endpoints[index].watch {
            Watch::Quic => return self.serve_quic(index, hand_over),
            Watch::Udp => return,
            Watch::Nothing | Watch::Trace | Watch::Ports => {}
        }
        loop {
            self.transmit(index, hand_over);
            if self.settle(index) {
                return;
            }
        }
    }

    /// After an endpoint has sent all that it may: sets its timer if it reports nothing; else notifies the application, and there
    /// may be more to send (false).
    #[inline]
    fn settle(&mut self, index: EndpointId) -> bool {
        let endpoint = &mut self.endpoints[index];
        if endpoint.is_settled() {
            return true;
        }
        let reached = endpoint.connection.received_bytes() >= endpoint.goal;
        let event = endpoint.connection.poll_event();
        if event.is_some() || reached {
            self.tell_application(index, event, reached);
            return false;
        }
        self.wake_when_due(index);
        true
    }

    /// The next timer of an endpoint is due at `due`.
    #[inline]
    pub fn set_due(&mut self, index: EndpointId, due: Instant) {
        let endpoint = &mut self.endpoints[index];
        endpoint.due = due;
        if due < endpoint.wake {
            self.wake_when_due(index);
        }
    }

    #[cold]
    fn wake_when_due(&mut self, index: EndpointId) {
        let component = self.endpoint_component(index);
        let endpoint = &mut self.endpoints[index];
        endpoint.wake = endpoint.due;
        self.fabric.timeline.set(component, endpoint.due);
    }

    #[inline]
    fn transmit(&mut self, index: EndpointId, hand_over: bool) {
        let endpoint = &mut self.endpoints[index];
        loop {
            let (mut retransmission, mut last) = (false, false);
            let next = self.fabric.freight.packet(endpoint.peer, endpoint.label, |segment| {
                let departure = endpoint.connection.transmit_into(self.now, segment)?;
                (retransmission, last) = (departure.retransmission, departure.last);
                Some((departure.ecn, departure.wire_len))
            });
            let Some(packet) = next else { break };
            if endpoint.watch == Watch::Trace {
                let segment = self.fabric.freight.get(&packet);
                self.recorder.trace_sent(self.now, self.network.flow_of(index), segment, retransmission);
            }
            let departure = match &mut endpoint.overhead {
                None => self.now,
                Some(overhead) => overhead.departure(self.now),
            };
            self.fabric.send(&mut self.recorder, departure, endpoint.first_link, packet, hand_over);
            if last {
                break;
            }
        }
    }
}
