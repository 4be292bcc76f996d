//! Middleboxes as nodes of the simulation: they are handed the packets that pass, woken when their time comes, and what they send
//! goes on from their node.

use crate::packet::{Label, Packet};
use crate::world::World;
use longhaul_fabric::{Port, Stage};
use longhaul_middlebox::{Direction, Event, Passing, Sparse, Verdict};
use longhaul_results::MiddleboxFacts;
use longhaul_scenario::middlebox::Site;
use longhaul_units::{Duration, Id, IdVec, Instant, MiddleboxId, Side, ids};

impl World<'_> {
    pub(crate) fn add_middleboxes(&mut self) {
        for id in self.network.middleboxes.ids() {
            let site = Site::numbered(self.scenario, self.network, id);
            let instance = &self.network.middleboxes[id];
            self.middleboxes.push(Stage::new(self.scenario.middlebox(id), instance, &site));
            self.set_middlebox_timer(id);
        }
    }

    /// A packet has reached a middlebox, and perhaps goes on to another one at the same node.
    #[inline(never)]
    pub(crate) fn pass_middlebox(&mut self, port: Port, packet: Packet) {
        let mut next = Some((port, packet));
        while let Some((port, mut packet)) = next {
            let id = port.middlebox();
            let World { fabric, recorder, middleboxes, now, network, .. } = self;
            let its_own = packet.to.connection().index() >= network.connection_flows.len();
            if packet.is_damaged() && (its_own || !fabric.goes_on(port, &packet)) {
                // The way of its own packets ends at a middlebox, and that of others where they go on as its own.
                self.drop_damaged(packet);
                next = self.fabric.take_for_middlebox();
                continue;
            }
            if packet.is_damaged() || fabric.freight.is_datagram(&packet) {
                // What does not fit its checksum passes unseen.
                // What acts on TCP lets UDP pass, with QUIC in it or without.
                fabric.send_from_middlebox(recorder, *now, port, packet);
                next = fabric.take_for_middlebox();
                continue;
            }
            let mut ecn = packet.ecn();
            let (segment, body) = fabric.freight.with_payload(&packet);
            let direction = match packet.to.side() {
                Side::Server => Direction::Forward,
                Side::Client => Direction::Reverse,
            };
            let passing =
                Passing { connection: packet.to.connection(), direction, ecn: &mut ecn, segment, body };
            match middleboxes[id].inner.handle_packet(*now, port.node(), passing) {
                Verdict::Forward => {
                    packet.set_ecn(ecn);
                    packet.wire_len = fabric.freight.get(&packet).ipv4_len();
                    fabric.send_from_middlebox(recorder, *now, port, packet);
                }
                Verdict::Taken => fabric.freight.release(packet),
            }
            self.serve_middlebox(id);
            next = self.fabric.take_for_middlebox();
        }
    }

    /// Does all that a middlebox requires after an input.
    fn serve_middlebox(&mut self, id: MiddleboxId) {
        let World { fabric, recorder, middleboxes, now, scenario, network, .. } = self;
        let stage = &mut middleboxes[id];
        loop {
            stage.observe(fabric, *now);
            let mut port = 0;
            let (mut made_for, mut body) = (None, Sparse::default());
            let packet = fabric.freight.packet_to(|segment| {
                let departure = stage.inner.transmit_into(*now, segment)?;
                (port, body) = (departure.port, departure.body);
                let to = match departure.direction {
                    Direction::Forward => Side::Server,
                    Direction::Reverse => Side::Client,
                };
                // A connection of its own is none of a flow.
                let connection = departure.connection;
                let flow = network.connection_flows.get(connection);
                made_for = flow.filter(|_| segment.payload_len > 0);
                let label = flow.map_or_else(Label::default, |flow| {
                    let spec = scenario.group(network.flows[*flow].group);
                    Label::new(spec.weight, spec.dscp)
                });
                Some((connection.end(to), label, departure.ecn))
            });
            let Some(packet) = packet else { break };
            fabric.freight.set_payload(&packet, body);
            if let Some(flow) = made_for {
                recorder.made[*flow] += 1;
            }
            fabric.send_from_middlebox(recorder, *now, Port::new(id, port), packet);
        }
        while let Some(event) = stage.inner.poll_event() {
            let Event::Dropped { connection, payload_len, wire_len, .. } = event;
            recorder.drop(*now, "drop", connection, payload_len, None, wire_len);
        }
        self.set_middlebox_timer(id);
    }

    fn set_middlebox_timer(&mut self, id: MiddleboxId) {
        let due = self.middleboxes[id].due();
        self.fabric.timeline.set(self.middlebox_component(id), due);
    }

    #[inline(never)]
    pub(crate) fn middlebox_timer(&mut self, id: MiddleboxId) {
        let (component, now) = (self.middlebox_component(id), self.now);
        self.fabric.timeline.set(component, Instant::FAR_FUTURE);
        if let Some(at_stake) = self.middleboxes[id].wake(now) {
            self.recorder.event(now, "middlebox_failed", None, None, at_stake as f64);
        }
        self.serve_middlebox(id);
        while let Some((port, packet)) = self.fabric.take_for_middlebox() {
            self.pass_middlebox(port, packet);
        }
    }

    pub(crate) fn begin_measuring_middleboxes(&mut self) {
        self.middleboxes.iter_mut().for_each(|stage| stage.begin_measuring(self.now));
    }

    pub(crate) fn sample_middleboxes(&mut self, span: Duration, measuring: bool) {
        let recording = self.recorder.recording && !span.is_zero();
        for (id, stage) in ids(self.middleboxes.len()).zip(&mut self.middleboxes) {
            let tables = recording.then_some(&mut self.recorder.tables);
            stage.sample(id, self.now, span, measuring, tables);
        }
    }

    pub(crate) fn middlebox_facts(&self) -> IdVec<MiddleboxId, MiddleboxFacts> {
        self.middleboxes.iter().map(Stage::facts).collect()
    }
}
