//! Middleboxes as nodes of the simulation: they are handed the packets that pass, woken when they want, and what they send
//! goes on from their node.

use crate::fabric::Port;
use crate::packet::Packet;
use crate::world::World;
use longhaul_middlebox::split::Plans;
use longhaul_middlebox::{
    Direction, Established, Event, KnownEnd, Levels, Middlebox, OwnConnection, Passing, Verdict,
};
use longhaul_results::{LongHopRow, LongHopSummary, Metrics, MiddleboxRow, MiddleboxSummary};
use longhaul_scenario::{
    MiddleboxInstance, MiddleboxSpec, Network, Scenario, distributed_split, paced_hop, packet_middlebox,
    proxy_plan, single_split,
};
use longhaul_segment::SeqNumber;
use longhaul_tcp::Stats;
use longhaul_units::{Duration, Instant};

/// A middlebox at work.
pub(crate) struct Node {
    inner: Box<dyn Middlebox<()>>,
    /// When it breaks down; [`Instant::FAR_FUTURE`] for never, and afterwards.
    fails_at: Instant,
    /// Its counters at the end of the warm-up.
    baseline: Vec<(&'static str, u64)>,
    /// What was seen of its own connections before: those of the first node, then those of the second.
    ends: Vec<LongHopEnd>,
}

/// What was seen of one end of a connection over a long hop.
#[derive(Clone, Default)]
struct LongHopEnd {
    /// Its counters at the end of the warm-up.
    baseline: Stats,
    /// Bytes sent and segments sent again, at the last sample.
    sampled: (u64, u64),
    cwnd_sum: f64,
    cwnd_samples: u64,
}

/// A middlebox as the scenario says.
fn build(scenario: &Scenario, network: &Network, index: usize) -> Box<dyn Middlebox<()>> {
    let instance = &network.middleboxes[index];
    let own = instance.own_connections.0;
    let spec = &scenario.middlebox[instance.spec];
    let plans = || plans(scenario, network, instance);
    match spec {
        MiddleboxSpec::Split(_) if instance.nodes.len() == 1 => {
            Box::new(single_split(scenario, instance, plans()))
        }
        MiddleboxSpec::Split(spec) => {
            let positions = positions(network, instance);
            Box::new(distributed_split(scenario, network, instance, spec, plans(), own, positions))
        }
        MiddleboxSpec::Paced(spec) => Box::new(paced_hop(scenario, network, instance, spec, plans(), own)),
        _ => packet_middlebox(scenario, network, index, own, established(scenario, network))
            .expect("all but proxies are made there"),
    }
}

/// How a proxy makes the connections of each flow.
fn plans(scenario: &Scenario, network: &Network, instance: &MiddleboxInstance) -> Plans {
    Plans {
        plans: (0..scenario.flow.len()).map(|group| proxy_plan(scenario, instance, group)).collect(),
        of: network.connection_flows.iter().map(|flow| network.flows[*flow as usize].group as u32).collect(),
    }
}

/// Which turn each connection has on the long hop of a split.
fn positions(network: &Network, instance: &MiddleboxInstance) -> Vec<u32> {
    let mut positions = vec![0; network.connection_flows.len()];
    let acted_on = (0..positions.len()).filter(|connection| {
        instance.flows.binary_search(&(network.connection_flows[*connection] as usize)).is_ok()
    });
    for (position, connection) in acted_on.collect::<Vec<_>>().into_iter().enumerate() {
        positions[connection] = position as u32;
    }
    positions
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
            let ends = 2 * self.network.middleboxes[index].own_connections.1 as usize;
            self.middleboxes.push(Node {
                inner,
                fails_at,
                baseline,
                ends: vec![LongHopEnd::default(); ends],
            });
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
        let watched = network.middleboxes[index].between[0].first().filter(|_| inner.watches_queue());
        loop {
            if let Some(link) = watched {
                inner.handle_queue(*now, fabric.queue_state(*link, *now));
            }
            let mut port = 0;
            let mut made_for = None;
            let packet = fabric.segments.packet_to(|segment| {
                let departure = inner.transmit_into(*now, segment)?;
                port = departure.port;
                let passive_end = u32::from(departure.direction == Direction::Forward);
                // A connection of its own is none of a flow.
                let flow = network.connection_flows.get(departure.connection as usize);
                made_for = flow.filter(|_| segment.payload_len > 0);
                let weight = flow.map_or(1, |flow| scenario.flow[network.flows[*flow as usize].group].weight);
                Some((2 * departure.connection + passive_end, weight, departure.ecn))
            });
            let Some(packet) = packet else { break };
            if let Some(flow) = made_for {
                recorder.made[*flow as usize] += 1;
            }
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
            let connections = node.ends.len() / 2;
            for OwnConnection { index, port, connection } in node.inner.own_connections() {
                node.ends[port * connections + index].baseline = connection.stats().clone();
            }
        }
    }

    pub(crate) fn sample_middleboxes(&mut self, span: Duration, measuring: bool) {
        let (now, recording) = (self.now, self.recorder.recording && !span.is_zero());
        let tables = &mut self.recorder.tables;
        for (middlebox, node) in self.middleboxes.iter_mut().enumerate() {
            if recording {
                let levels = node.inner.levels();
                tables.middleboxes.push(MiddleboxRow {
                    time_s: now.as_secs_f64(),
                    middlebox: middlebox as u32,
                    buffer_packets: levels.packets.map(|gauge| gauge.level() as f64),
                    buffer_bytes: levels.bytes.level(),
                    undelivered_bytes: levels.undelivered.level(),
                });
            }
            let connections = node.ends.len() / 2;
            for own in node.inner.own_connections() {
                let end = &mut node.ends[own.port * connections + own.index];
                if let Some(row) = end.sample(now, span, measuring, middlebox, &own).filter(|_| recording) {
                    tables.long_hops.push(row);
                }
            }
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
            long_hop: self.long_hop_summaries(node, instance),
        }
    }

    fn long_hop_summaries(&self, node: &Node, instance: &MiddleboxInstance) -> Vec<LongHopSummary> {
        let measured = self.scenario.run.duration - self.scenario.run.warmup;
        let connections = node.ends.len() / 2;
        let mut ends = node.inner.own_connections();
        ends.retain(|own| own.connection.stats().data_segments_sent > 0);
        ends.sort_by_key(|own| (own.index, own.port));
        let name = |port: usize| self.network.nodes[instance.nodes[port]].clone();
        ends.iter()
            .map(|own| LongHopSummary {
                connection: own.index,
                from: name(own.port),
                to: name(1 - own.port),
                metrics: node.ends[own.port * connections + own.index].metrics(own, measured),
            })
            .collect()
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

impl LongHopEnd {
    /// Adds to the means; a row for an end that has sent data.
    fn sample(
        &mut self,
        now: Instant,
        span: Duration,
        measuring: bool,
        middlebox: usize,
        own: &OwnConnection<'_>,
    ) -> Option<LongHopRow> {
        let connection = own.connection;
        let stats = connection.stats();
        if stats.data_segments_sent == 0 {
            return None;
        }
        if measuring {
            self.cwnd_sum += connection.cwnd() as f64;
            self.cwnd_samples += 1;
        }
        let sampled = (stats.data_bytes_sent, stats.retransmitted_segments);
        let before = std::mem::replace(&mut self.sampled, sampled);
        Some(LongHopRow {
            time_s: now.as_secs_f64(),
            middlebox: middlebox as u32,
            connection: own.index as u32,
            port: own.port as u32,
            cwnd_bytes: connection.cwnd() as f64,
            ssthresh_bytes: Some(connection.ssthresh())
                .filter(|bytes| *bytes < u64::MAX)
                .map(|bytes| bytes as f64),
            flight_bytes: connection.flight_size() as f64,
            unsent_bytes: connection.unsent() as f64,
            srtt_s: (stats.rtt_samples > 0).then(|| connection.srtt().as_secs_f64()),
            throughput_bps: (sampled.0 - before.0) as f64 * 8.0 / span.as_secs_f64(),
            retransmits: (sampled.1 - before.1) as u32,
        })
    }

    fn metrics(&self, own: &OwnConnection<'_>, measured: Duration) -> Metrics {
        let (now, then) = (own.connection.stats(), &self.baseline);
        let sent = now.data_segments_sent - then.data_segments_sent;
        let retransmitted = now.retransmitted_segments - then.retransmitted_segments;
        let samples = now.rtt_samples - then.rtt_samples;
        let ratio = |numerator: f64, denominator: f64| (denominator > 0.0).then(|| numerator / denominator);
        let bits = (now.data_bytes_sent - then.data_bytes_sent) as f64 * 8.0;
        let mut metrics = Metrics::default();
        metrics.set("throughput_bps", ratio(bits, measured.as_secs_f64()));
        metrics.set("cwnd_mean_bytes", ratio(self.cwnd_sum, self.cwnd_samples as f64));
        metrics
            .set("rtt_mean_s", (samples > 0).then(|| ((now.rtt_sum - then.rtt_sum) / samples).as_secs_f64()));
        metrics.set("sent_packets", sent as f64);
        metrics.set("retransmitted_packets", retransmitted as f64);
        metrics.set("retransmission_rate", ratio(retransmitted as f64, sent as f64));
        metrics.set("fast_retransmits", (now.fast_retransmits - then.fast_retransmits) as f64);
        metrics.set("timeouts", (now.timeouts - then.timeouts) as f64);
        metrics
    }
}
