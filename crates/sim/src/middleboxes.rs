//! Middleboxes as nodes of the simulation: they are handed the packets that pass, woken when they want, and what they send
//! goes on from their node.

use crate::fabric::Port;
use crate::packet::Packet;
use crate::world::World;
use longhaul_middlebox::{
    Direction, Established, Event, KnownEnd, Levels, Middlebox, Passing, PrematureAck, Verdict,
};
use longhaul_results::{Metrics, MiddleboxRow, MiddleboxSummary};
use longhaul_scenario::{MiddleboxSpec, Network, Scenario};
use longhaul_segment::SeqNumber;
use longhaul_units::Instant;

/// A middlebox at work.
pub(crate) struct Node {
    inner: Box<dyn Middlebox<()>>,
    /// When it breaks down; [`Instant::FAR_FUTURE`] for never, and afterwards.
    fails_at: Instant,
    /// Its counters at the end of the warm-up.
    baseline: Vec<(&'static str, u64)>,
}

/// A middlebox as the scenario says.
fn build(scenario: &Scenario, network: &Network, index: usize) -> Box<dyn Middlebox<()>> {
    let spec = &scenario.middlebox[network.middleboxes[index].spec];
    match spec {
        MiddleboxSpec::PrematureAck(spec) => {
            Box::new(PrematureAck::new(spec.settings(), established(scenario, network)))
        }
    }
}

/// What the two ends of flows without a handshake offer from the start.
fn established(scenario: &Scenario, network: &Network) -> Established {
    if !scenario.flow.iter().any(|flow| flow.tcp.established) {
        return Established::default();
    }
    let of_group: Vec<Option<[KnownEnd; 2]>> = scenario
        .flow
        .iter()
        .map(|flow| {
            let config = flow.tcp.config();
            let shift = config.window_shift();
            let window = (config.largest_window() >> shift) as u16;
            flow.tcp.established.then_some([KnownEnd { first: SeqNumber(1), window, shift }; 2])
        })
        .collect();
    let group_of = |flow: &u32| network.flows[*flow as usize].group;
    Established(network.connection_flows.iter().map(|flow| of_group[group_of(flow)]).collect())
}

impl World<'_> {
    pub(crate) fn add_middleboxes(&mut self) {
        for index in 0..self.network.middleboxes.len() {
            let spec = &self.scenario.middlebox[self.network.middleboxes[index].spec];
            let fails_at = spec.common().fail_at.map_or(Instant::FAR_FUTURE, |after| Instant::ZERO + after);
            let inner = build(self.scenario, self.network, index);
            let baseline = inner.counters();
            self.middleboxes.push(Node { inner, fails_at, baseline });
            self.set_middlebox_timer(index);
        }
    }

    /// A packet has reached a middlebox, and perhaps goes on to another one at the same node.
    #[inline(never)]
    pub(crate) fn pass_middlebox(&mut self, port: Port, packet: Packet) {
        let mut next = Some((port, packet));
        while let Some((port, mut packet)) = next {
            let index = usize::from(port.middlebox);
            let World { fabric, recorder, middleboxes, now, .. } = self;
            let mut ecn = packet.ecn;
            let passing = Passing {
                connection: packet.to / 2,
                direction: if packet.to % 2 == 1 { Direction::Forward } else { Direction::Reverse },
                ecn: &mut ecn,
                segment: fabric.segments.get_mut(&packet),
                body: &(),
            };
            match middleboxes[index].inner.handle_packet(*now, usize::from(port.port), passing) {
                Verdict::Forward => {
                    packet.ecn = ecn;
                    packet.wire_len = fabric.segments.get(&packet).ipv4_len();
                    fabric.send_from_middlebox(recorder, *now, port, packet);
                }
                Verdict::Taken => fabric.segments.release(packet),
            }
            self.serve_middlebox(index);
            next = self.fabric.take_for_middlebox();
        }
    }

    /// Does all that a middlebox wants after an input.
    fn serve_middlebox(&mut self, index: usize) {
        let World { fabric, recorder, middleboxes, now, scenario, network, .. } = self;
        let inner = &mut *middleboxes[index].inner;
        loop {
            let mut port = 0;
            let packet = fabric.segments.packet_to(|segment| {
                let departure = inner.transmit_into(*now, segment)?;
                port = departure.port;
                let passive_end = u32::from(departure.direction == Direction::Forward);
                let flow = network.flow_of(2 * departure.connection as usize);
                let group = network.flows[flow].group;
                Some((2 * departure.connection + passive_end, scenario.flow[group].weight, departure.ecn))
            });
            let Some(packet) = packet else { break };
            let port = Port { middlebox: index as u16, port: port as u16 };
            fabric.send_from_middlebox(recorder, *now, port, packet);
        }
        while let Some(event) = inner.poll_event() {
            let Event::Dropped { connection, payload_len, wire_len, .. } = event;
            recorder.drop(*now, "drop", connection as usize, payload_len, None, wire_len);
        }
        self.set_middlebox_timer(index);
    }

    fn set_middlebox_timer(&mut self, index: usize) {
        let node = &self.middleboxes[index];
        let due = node.inner.poll_timeout().unwrap_or(Instant::FAR_FUTURE).min(node.fails_at);
        self.fabric.timeline.set(self.middlebox_component(index), due);
    }

    #[inline(never)]
    pub(crate) fn middlebox_timer(&mut self, index: usize) {
        let (component, now) = (self.middlebox_component(index), self.now);
        self.fabric.timeline.set(component, Instant::FAR_FUTURE);
        let node = &mut self.middleboxes[index];
        if node.fails_at <= now {
            node.fails_at = Instant::FAR_FUTURE;
            let at_stake = node.inner.levels().undelivered.level();
            node.inner.fail(now);
            self.recorder.event(now, "middlebox_failed", None, None, at_stake as f64);
        }
        let node = &mut self.middleboxes[index];
        if node.inner.poll_timeout().is_some_and(|due| due <= now) {
            node.inner.handle_timeout(now);
        }
        self.serve_middlebox(index);
        while let Some((port, packet)) = self.fabric.take_for_middlebox() {
            self.pass_middlebox(port, packet);
        }
    }

    pub(crate) fn begin_measuring_middleboxes(&mut self) {
        for node in &mut self.middleboxes {
            node.baseline = node.inner.counters();
            node.inner.begin_measuring(self.now);
        }
    }

    pub(crate) fn sample_middleboxes(&mut self) {
        if !self.recorder.recording {
            return;
        }
        for (index, node) in self.middleboxes.iter().enumerate() {
            let levels = node.inner.levels();
            self.recorder.tables.middleboxes.push(MiddleboxRow {
                time_s: self.now.as_secs_f64(),
                middlebox: index as u32,
                buffer_packets: levels.packets.map(|gauge| gauge.level() as f64),
                buffer_bytes: levels.bytes.level(),
                undelivered_bytes: levels.undelivered.level(),
            });
        }
    }

    pub(crate) fn middlebox_summary(&self, index: usize) -> MiddleboxSummary {
        let node = &self.middleboxes[index];
        let instance = &self.network.middleboxes[index];
        let spec = &self.scenario.middlebox[instance.spec];
        let mut metrics = Metrics::default();
        self.set_levels(node.inner.levels(), &mut metrics);
        for ((name, now), (_, before)) in node.inner.counters().into_iter().zip(&node.baseline) {
            metrics.set(name, (now - before) as f64);
        }
        MiddleboxSummary {
            name: instance.name.clone(),
            kind: spec.kind(),
            at: instance.nodes.iter().map(|node| self.network.nodes[*node].clone()).collect(),
            flows: instance.flows.len(),
            metrics,
        }
    }

    fn set_levels(&self, levels: &Levels, metrics: &mut Metrics) {
        if let Some(packets) = &levels.packets {
            metrics.set("buffer_mean_packets", packets.mean(self.now));
            metrics.set("buffer_max_packets", packets.max() as f64);
        }
        metrics.set("buffer_mean_bytes", levels.bytes.mean(self.now));
        metrics.set("buffer_max_bytes", levels.bytes.max() as f64);
        metrics.set("undelivered_mean_bytes", levels.undelivered.mean(self.now));
        metrics.set("undelivered_max_bytes", levels.undelivered.max() as f64);
    }
}
