//! Middleboxes as nodes of the simulation: they are handed the packets that pass, woken when their time comes, and what they send
//! goes on from their node.

use crate::fabric::Port;
use crate::packet::Packet;
use crate::world::World;
use longhaul_middlebox::{Direction, Event, Middlebox, Passing, Sparse, Verdict};
use longhaul_results::{MiddleboxFacts, MiddleboxWatch};
use longhaul_scenario::middlebox::Site;
use longhaul_units::{Duration, Id, IdVec, Instant, MiddleboxId, Side, ids};

/// A middlebox at work.
pub(crate) struct Node {
    inner: Box<dyn Middlebox<Sparse>>,
    /// When it breaks down; [`Instant::FAR_FUTURE`] for never, and afterwards.
    fails_at: Instant,
    watch: MiddleboxWatch,
}

impl World<'_> {
    pub(crate) fn add_middleboxes(&mut self) {
        for id in self.network.middleboxes.ids() {
            let spec = self.scenario.middlebox(id);
            let fails_at = spec.common().fail_at.map_or(Instant::FAR_FUTURE, |after| Instant::ZERO + after);
            let inner: Box<dyn Middlebox<Sparse>> =
                spec.build(&Site::numbered(self.scenario, self.network, id));
            let watch = MiddleboxWatch::new(&*inner);
            self.middleboxes.push(Node { inner, fails_at, watch });
            self.set_middlebox_timer(id);
        }
    }

    /// A packet has reached a middlebox, and perhaps goes on to another one at the same node.
    #[inline(never)]
    pub(crate) fn pass_middlebox(&mut self, port: Port, packet: Packet) {
        let mut next = Some((port, packet));
        while let Some((port, mut packet)) = next {
            let id = MiddleboxId(port.middlebox.into());
            let World { fabric, recorder, middleboxes, now, network, .. } = self;
            let its_own = packet.to.connection().index() >= network.connection_flows.len();
            if packet.is_damaged() && (its_own || !fabric.goes_on(port, &packet)) {
                // The way of its own packets ends at a middlebox, and that of others where they go on as its own.
                self.drop_damaged(packet);
                next = self.fabric.take_for_middlebox();
                continue;
            }
            if packet.is_damaged() || fabric.segments.datagram(&packet).is_some() {
                // What does not fit its checksum passes unseen.
                // QUIC is encrypted: what acts on TCP lets it pass.
                fabric.send_from_middlebox(recorder, *now, port, packet);
                next = fabric.take_for_middlebox();
                continue;
            }
            let mut ecn = packet.ecn();
            let (segment, body) = fabric.segments.with_payload(&packet);
            let direction = match packet.to.side() {
                Side::Server => Direction::Forward,
                Side::Client => Direction::Reverse,
            };
            let passing =
                Passing { connection: packet.to.connection(), direction, ecn: &mut ecn, segment, body };
            match middleboxes[id].inner.handle_packet(*now, usize::from(port.port), passing) {
                Verdict::Forward => {
                    packet.set_ecn(ecn);
                    packet.wire_len = fabric.segments.get(&packet).ipv4_len();
                    fabric.send_from_middlebox(recorder, *now, port, packet);
                }
                Verdict::Taken => fabric.segments.release(packet),
            }
            self.serve_middlebox(id);
            next = self.fabric.take_for_middlebox();
        }
    }

    /// Does all that a middlebox requires after an input.
    fn serve_middlebox(&mut self, id: MiddleboxId) {
        let World { fabric, recorder, middleboxes, now, scenario, network, .. } = self;
        let inner = &mut *middleboxes[id].inner;
        let watched = network.middleboxes[id].between[0].first().filter(|_| inner.watches_queue());
        loop {
            if let Some(link) = watched {
                inner.handle_queue(*now, fabric.queue_state(*link, *now));
            }
            let mut port = 0;
            let (mut made_for, mut body) = (None, Sparse::default());
            let packet = fabric.segments.packet_to(|segment| {
                let departure = inner.transmit_into(*now, segment)?;
                (port, body) = (departure.port, departure.body);
                let to = match departure.direction {
                    Direction::Forward => Side::Server,
                    Direction::Reverse => Side::Client,
                };
                // A connection of its own is none of a flow.
                let connection = departure.connection;
                let flow = network.connection_flows.get(connection);
                made_for = flow.filter(|_| segment.payload_len > 0);
                let weight = flow.map_or(1, |flow| scenario.group(network.flows[*flow].group).weight);
                Some((connection.end(to), weight, departure.ecn))
            });
            let Some(packet) = packet else { break };
            fabric.segments.set_payload(&packet, body);
            if let Some(flow) = made_for {
                recorder.made[*flow] += 1;
            }
            let port = Port { middlebox: id.0 as u16, port: port as u16 };
            fabric.send_from_middlebox(recorder, *now, port, packet);
        }
        while let Some(event) = inner.poll_event() {
            let Event::Dropped { connection, payload_len, wire_len, .. } = event;
            recorder.drop(*now, "drop", connection, payload_len, None, wire_len);
        }
        self.set_middlebox_timer(id);
    }

    fn set_middlebox_timer(&mut self, id: MiddleboxId) {
        let node = &self.middleboxes[id];
        let due = node.inner.poll_timeout().unwrap_or(Instant::FAR_FUTURE).min(node.fails_at);
        self.fabric.timeline.set(self.middlebox_component(id), due);
    }

    #[inline(never)]
    pub(crate) fn middlebox_timer(&mut self, id: MiddleboxId) {
        let (component, now) = (self.middlebox_component(id), self.now);
        self.fabric.timeline.set(component, Instant::FAR_FUTURE);
        let node = &mut self.middleboxes[id];
        if node.fails_at <= now {
            node.fails_at = Instant::FAR_FUTURE;
            let at_stake = node.inner.levels().undelivered.level();
            node.inner.fail(now);
            self.recorder.event(now, "middlebox_failed", None, None, at_stake as f64);
        }
        let node = &mut self.middleboxes[id];
        if node.inner.poll_timeout().is_some_and(|due| due <= now) {
            node.inner.handle_timeout(now);
        }
        self.serve_middlebox(id);
        while let Some((port, packet)) = self.fabric.take_for_middlebox() {
            self.pass_middlebox(port, packet);
        }
    }

    pub(crate) fn begin_measuring_middleboxes(&mut self) {
        for node in &mut self.middleboxes {
            node.watch.begin_measuring(&mut *node.inner, self.now);
        }
    }

    pub(crate) fn sample_middleboxes(&mut self, span: Duration, measuring: bool) {
        let (now, recording) = (self.now, self.recorder.recording && !span.is_zero());
        let tables = &mut self.recorder.tables;
        for (id, node) in ids(self.middleboxes.len()).zip(&mut self.middleboxes) {
            let (row, long_hops) = node.watch.sample(&*node.inner, id, now, span, measuring);
            if recording {
                tables.middleboxes.push(row);
                tables.long_hops.extend(long_hops);
            }
        }
    }

    pub(crate) fn middlebox_facts(&self) -> IdVec<MiddleboxId, MiddleboxFacts> {
        self.middleboxes.iter().map(|node| node.watch.facts(&*node.inner)).collect()
    }
}
