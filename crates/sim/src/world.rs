//! The world of a run: fabric, endpoints, applications, and the loop that takes event after event.

use crate::endpoint::{self, Endpoint, SendOverhead, Watch};
use crate::fabric::{Arrival, Delivery, Fabric};
use crate::middleboxes::Node;
use crate::monitor::FlowMonitor;
use crate::packet::{Hosts, Packet};
use crate::quic::Connections;
use crate::recorder::{Capture, Recorder};
use crate::streams::{NO_GOAL, Reused};
use crate::timeline::Timeline;
use crate::totals::{Totals, note_reduction};
use longhaul_cc::Inspection;
use longhaul_results::{CcRow, FlowRow, LinkSnapshot, ReductionTimes};
use longhaul_scenario::{Network, Scenario};
use longhaul_segment::LineStats;
use longhaul_segment::{Ecn, Segment, SeqNumber};
use longhaul_tcp::{Connection, Event, Ports, State, reset_for};
use longhaul_traffic::{App, Side, Timing};
use longhaul_units::{Duration, Instant, Random};
use std::net::{IpAddr, Ipv4Addr};

/// Sums over samples while measured.
#[derive(Clone, Copy, Default)]
pub(crate) struct CwndMean {
    pub sum: f64,
    pub samples: u64,
}

impl CwndMean {
    fn add(&mut self, cwnd_bytes: f64) {
        self.sum += cwnd_bytes;
        self.samples += 1;
    }
}

/// Values at the last sample, for differences.
#[derive(Clone, Copy, Default)]
struct FlowSample {
    sent_bytes: u64,
    received: u64,
    retransmitted: u64,
}

/// A simulation in progress.
pub(crate) struct World<'a> {
    pub scenario: &'a Scenario,
    pub network: &'a Network,
    pub fabric: Fabric,
    pub endpoints: Vec<Endpoint>,
    /// The QUIC connections.
    pub quic: Connections,
    pub apps: Vec<App>,
    /// Connections of flows that have one after the other.
    pub reused: Vec<Option<Box<Reused>>>,
    /// Endpoints that an application has acted on, to be used again.
    pub touched: Vec<usize>,
    pub middleboxes: Vec<Node>,
    pub recorder: Recorder,
    pub now: Instant,
    pub events: u64,
    /// Links of the scenario file.
    pub declared: Vec<usize>,
    /// Flows at the end of the warm-up.
    pub flow_baseline: Vec<Totals>,
    /// When windows were reduced while measured.
    pub reductions: Vec<ReductionTimes>,
    /// Connections of each flow that never opened, since their probes failed.
    pub failed_starts: Vec<u64>,
    pub link_baseline: Vec<LinkSnapshot>,
    /// Header compression on each declared link by then.
    pub line_baseline: Vec<LineStats>,
    /// Largest queue of each declared link while measured.
    pub queue_peak: Vec<u64>,
    pub cwnd_mean: Vec<CwndMean>,
    flow_samples: Vec<FlowSample>,
    /// Largest goodput of one measured interval in bit/s, by flow, where it is requested.
    pub goodput_max: Vec<Option<f64>>,
    link_samples: Vec<LinkSnapshot>,
    last_sample: Instant,
}

/// Most packets that are gathered before they are handed to their endpoints.
const BATCH: usize = 64;

/// How far a run is.
pub(crate) enum Pause {
    /// This point in time was reached.
    Reached,
    /// So many events were handled before it.
    Busy,
}

impl<'a> World<'a> {
    /// Sets everything up at time zero.
    pub fn new(scenario: &'a Scenario, network: &'a Network, recording: bool, serve_ahead: bool) -> Self {
        let seed = scenario.run.seed;
        let declared: Vec<usize> =
            (0..network.links.len()).filter(|link| network.links[*link].declared).collect();
        let mut position = vec![None; network.links.len()];
        declared.iter().enumerate().for_each(|(index, link)| position[*link] = Some(index as u32));
        let named = |names: &[String]| -> Vec<bool> {
            let is_named = |link: &str| names.iter().any(|name| link.starts_with(&format!("{name}.")));
            network.links.iter().map(|link| link.declared && is_named(&link.name)).collect()
        };
        let taps = named(if recording { &scenario.run.capture } else { &[] });
        let monitored = named(&scenario.run.monitor);
        let watched: Vec<bool> = taps.iter().zip(&monitored).map(|(tap, monitor)| tap | monitor).collect();
        let bound = |endpoint: usize| {
            let flow = &network.flows[network.flow_of(endpoint)];
            let spec = &scenario.flow[flow.group];
            let side = if endpoint % 2 == 0 { Side::Client } else { Side::Server };
            // What another flow on the same connection does is not seen from here.
            let shared = spec.quic().is_some_and(|quic| quic.connection.is_some());
            match side {
                _ if shared || spec.app.timing() == Timing::Both => Delivery::OnTime,
                Side::Client if spec.app.timing() == Timing::Client || flow.stop.is_some() => {
                    Delivery::OnTime
                }
                // The window of a sender is looked at whenever the world stops, if the flow has not ended by then.
                _ if side == spec.app.data_sender() && !spec.app.is_endless() => Delivery::UntilStop,
                _ => Delivery::UntilCount,
            }
        };
        let flows = network.flows.len();
        let others = 2 * network.connection_flows.len() + flows + network.middleboxes.len();
        let fabric = Fabric::new(network, seed, serve_ahead, &watched, bound, others);
        // Time zero as QUIC counts; which instant it is changes nothing.
        let base = std::time::Instant::now();
        let mut world = World {
            scenario,
            network,
            fabric,
            endpoints: Vec::with_capacity(2 * network.connection_flows.len()),
            quic: Connections::new(scenario, network, base),
            apps: Vec::with_capacity(flows),
            reused: Vec::with_capacity(flows),
            touched: vec![],
            middleboxes: vec![],
            recorder: Recorder::new(recording, network.connection_flows.clone(), position),
            now: Instant::ZERO,
            events: 0,
            flow_baseline: vec![Totals::default(); flows],
            reductions: vec![ReductionTimes::default(); flows],
            failed_starts: vec![0; flows],
            link_baseline: vec![LinkSnapshot::default(); declared.len()],
            line_baseline: vec![LineStats::default(); declared.len()],
            queue_peak: vec![0; declared.len()],
            cwnd_mean: vec![CwndMean::default(); flows],
            flow_samples: vec![FlowSample::default(); flows],
            goodput_max: vec![None; flows],
            link_samples: vec![LinkSnapshot::default(); declared.len()],
            declared,
            last_sample: Instant::ZERO,
        };
        for flow in 0..flows {
            world.add_flow(flow, seed);
        }
        world.add_middleboxes();
        world.add_monitors(&monitored);
        world.recorder.taps = taps;
        world.note_script();
        world
    }

    fn add_monitors(&mut self, monitored: &[bool]) {
        let flows = &self.network.flows;
        for link in (0..monitored.len()).filter(|link| monitored[*link]) {
            let Some(position) = self.recorder.declared[link] else { continue };
            let crosses =
                |flow: &usize| flows[*flow].forward.contains(&link) || flows[*flow].reverse.contains(&link);
            let crossing = (0..flows.len()).filter(crosses).collect();
            self.recorder.monitors[link] = Some(FlowMonitor::new(position, flows.len(), crossing));
        }
    }

    /// Notes the scripted changes of links among the events: they are known from the start.
    fn note_script(&mut self) {
        let end = Instant::ZERO + self.scenario.run.duration;
        for (position, link) in self.declared.iter().enumerate() {
            let config = &self.network.links[*link].config;
            let changes = config.changes.iter().flat_map(|change| {
                let rate = change.rate.map(|rate| ("link_rate", rate.as_bps() as f64));
                let delay = change.delay.map(|delay| ("link_delay", delay.as_secs_f64()));
                [rate, delay].into_iter().flatten().map(|(kind, value)| (change.at, kind, value))
            });
            let outages = config.outages.iter().flat_map(|outage| {
                let length = outage.duration.as_secs_f64();
                [(outage.start, "link_down", length), (outage.start + outage.duration, "link_up", 0.0)]
            });
            for (after, kind, value) in changes.chain(outages) {
                let at = Instant::ZERO + after;
                if at < end {
                    self.recorder.event(at, kind, None, Some(position as u32), value);
                }
            }
        }
    }

    fn add_flow(&mut self, flow: usize, seed: u64) {
        let instance = &self.network.flows[flow];
        let spec = &self.scenario.flow[instance.group];
        let app = spec.application(instance, seed);
        let data_side = spec.app.data_sender();
        self.fabric.timeline.set(self.app_component(flow), app.wake());
        self.apps.push(app);
        let client_port = 1024 + (flow % 60_000) as u16;
        let pairs = spec.app.connections();
        let quic = spec.quic();
        let reused = pairs > 1 && quic.is_none();
        self.reused.push(reused.then(|| Box::new(Reused::new(pairs, &instance.name, seed))));
        for pair in 0..pairs {
            for side in [Side::Client, Side::Server] {
                let (local, remote) =
                    if side == Side::Client { (client_port, 80) } else { (80, client_port) };
                let ports = Ports { local, remote };
                let connection = if reused || quic.is_some() {
                    // There is no connection before it is opened, and none of TCP where QUIC stands in its place.
                    let cc = spec.tcp.congestion_control(0);
                    Connection::listen(spec.tcp.config(), cc, SeqNumber(0), ports)
                } else {
                    let isn = Random::stream(seed, &format!("{} isn {side:?}", instance.name)).bits() as u32;
                    let draws =
                        Random::stream(seed, &format!("{} congestion {side:?}", instance.name)).bits();
                    endpoint::connection(&spec.tcp, side, SeqNumber(isn), ports, draws)
                };
                let path = if side == Side::Client { &instance.forward } else { &instance.reverse };
                let overhead = (!spec.send_overhead.is_zero()).then(|| {
                    let number = if pair == 0 { String::new() } else { format!(" {pair}") };
                    let random =
                        Random::stream(seed, &format!("{} overhead{number} {side:?}", instance.name));
                    Box::new(SendOverhead { most: spec.send_overhead, random, last: Instant::ZERO })
                });
                self.endpoints.push(Endpoint {
                    connection,
                    first_link: path[0] as u32,
                    peer: (self.endpoints.len() ^ 1) as u32,
                    goal: NO_GOAL,
                    due: Instant::FAR_FUTURE,
                    wake: Instant::FAR_FUTURE,
                    next_sample: Instant::FAR_FUTURE,
                    weight: spec.weight,
                    watch: match side {
                        _ if quic.is_some() => Watch::Quic,
                        _ if reused => Watch::Ports,
                        side if spec.trace && side == data_side => Watch::Trace,
                        _ => Watch::Nothing,
                    },
                    overhead,
                });
            }
        }
        if spec.tcp.established && spec.trace {
            let shift = self.data_sender(flow).connection.config().window_shift();
            self.recorder.assume_window_shift(flow, shift);
        }
    }

    fn endpoint_component(&self, endpoint: usize) -> usize {
        self.fabric.len() + endpoint
    }
    pub(crate) fn app_component(&self, flow: usize) -> usize {
        self.fabric.len() + 2 * self.network.connection_flows.len() + flow
    }

    pub(crate) fn middlebox_component(&self, middlebox: usize) -> usize {
        self.app_component(self.network.flows.len()) + middlebox
    }

    /// Number of a flow's first connection: its endpoints are twice this, and the next.
    pub fn first_connection(&self, flow: usize) -> usize {
        self.network.flows[flow].first_connection
    }
    /// The end that sends the bulk of a flow's data.
    pub fn data_side(&self, flow: usize) -> Side {
        self.scenario.flow[self.network.flows[flow].group].app.data_sender()
    }
    /// The endpoint that sends the bulk of a flow's data.
    pub fn data_sender(&self, flow: usize) -> &Endpoint {
        &self.endpoints[2 * self.first_connection(flow) + self.data_side(flow) as usize]
    }
    /// The endpoint that receives it.
    pub fn data_receiver(&self, flow: usize) -> &Endpoint {
        &self.endpoints[2 * self.first_connection(flow) + 1 - self.data_side(flow) as usize]
    }

    /// Addresses of a packet that goes to `endpoint`.
    pub fn hosts(&self, endpoint: u32) -> Hosts {
        let address = |node: usize| {
            let [_, high, middle, low] = (node as u32 + 1).to_be_bytes();
            IpAddr::V4(Ipv4Addr::new(10, high, middle, low))
        };
        let [client, server] = self.network.ends_of_connection(endpoint as usize / 2).map(address);
        if endpoint % 2 == 0 {
            Hosts { src: server, dst: client }
        } else {
            Hosts { src: client, dst: server }
        }
    }

    /// Handles all events before `until`, but at most `budget` of them. Counters of receivers are not looked at before
    /// `count`, which is not before `until`.
    pub fn advance(&mut self, until: Instant, count: Instant, budget: u64) -> Pause {
        let links = self.fabric.len();
        let apps = links + self.endpoints.len();
        let middleboxes = apps + self.apps.len();
        self.fabric.set_horizons(until, count);
        for _ in 0..budget {
            let (time, component) = self.fabric.timeline.first();
            let due = time >= until.min(self.fabric.first_arrival);
            if !self.fabric.arrivals.is_empty() && (due || self.fabric.arrivals.len() >= BATCH) {
                self.deliver();
                continue;
            }
            if time >= until {
                self.now = until;
                return Pause::Reached;
            }
            self.now = time;
            self.events += 1;
            if component < links {
                self.fabric.handle_event(&mut self.recorder, time, component);
                if let Some((port, packet)) = self.fabric.take_for_middlebox() {
                    self.pass_middlebox(port, packet);
                }
            } else if component < apps {
                self.timer(component - links);
            } else if component < middleboxes {
                self.act(component - apps);
            } else {
                self.middlebox_timer(component - middleboxes);
            }
        }
        Pause::Busy
    }

    /// Hands packets to their endpoints: what has arrived in this event, and what may be handed over ahead of time. Many at
    /// a time, so that code and data stay in the cache, as long as no event comes before the first of them.
    fn deliver(&mut self) {
        let mut next = 0;
        let now = self.now;
        while let Some(arrival) = self.fabric.arrivals.get(next).copied() {
            next += 1;
            let ahead = arrival.at > now;
            if ahead {
                self.catch_up(&arrival);
            }
            self.now = arrival.at;
            if arrival.packet.damaged {
                self.drop_damaged(arrival.packet);
                continue;
            }
            self.receive(arrival.packet, !ahead);
        }
        self.now = now;
        self.fabric.arrivals.clear();
        self.fabric.first_arrival = Instant::FAR_FUTURE;
    }

    /// A packet's checksum is wrong: its receiver drops it.
    #[cold]
    pub(crate) fn drop_damaged(&mut self, packet: Packet) {
        let payload_len = self.fabric.segments.get(&packet).payload_len;
        self.recorder.drop(self.now, "checksum", packet.to as usize / 2, payload_len, None, packet.wire_len);
        self.fabric.segments.release(packet);
    }

    /// What would happen to an endpoint before a packet that is handed to it ahead of time is a timer, or a sample of its
    /// window: they come first.
    #[inline]
    fn catch_up(&mut self, arrival: &Arrival) {
        let index = arrival.packet.to as usize;
        loop {
            let Endpoint { due, next_sample, .. } = self.endpoints[index];
            if due.min(next_sample) > arrival.at {
                return;
            }
            if next_sample <= due {
                self.sample_window(index);
                continue;
            }
            let component = self.endpoint_component(index);
            if due == arrival.at && !Timeline::wins(component, arrival.link, due) {
                return;
            }
            self.fire_ahead(index, due);
        }
    }

    #[cold]
    fn fire_ahead(&mut self, index: usize, due: Instant) {
        self.now = due;
        if self.endpoints[index].watch == Watch::Quic {
            self.quic_timeout(index);
        } else {
            self.endpoints[index].connection.handle_timeout(due);
        }
        self.serve(index, false);
    }

    /// Adds the window of a sender that is served ahead of time to its mean, as it is before what happens next.
    #[cold]
    fn sample_window(&mut self, index: usize) {
        let endpoint = &mut self.endpoints[index];
        let at = endpoint.next_sample;
        endpoint.next_sample += self.scenario.run.sample;
        // The sample that ends the warm-up belongs to it.
        if at > Instant::ZERO + self.scenario.run.warmup {
            let flow = self.network.flow_of(index);
            let cwnd = match self.quic.of(flow) {
                Some((quic, _)) => quic.window(if index % 2 == 0 { Side::Client } else { Side::Server }),
                None => endpoint.connection.cwnd(),
            };
            self.cwnd_mean[flow].add(cwnd as f64);
        }
    }

    /// A packet reaches its endpoint now. With `hand_over`, what the endpoint sends may be delivered ahead of time.
    #[inline]
    fn receive(&mut self, packet: Packet, hand_over: bool) {
        let index = packet.to as usize;
        let endpoint = &self.endpoints[index];
        if endpoint.connection.state() == State::Closed {
            let segment = *self.fabric.segments.get(&packet);
            self.fabric.segments.release(packet);
            return self.refuse(index, &segment);
        }
        if endpoint.watch != Watch::Nothing {
            if endpoint.watch == Watch::Quic {
                return self.receive_datagram(packet, hand_over);
            }
            if self.is_stray(index, &packet) {
                return;
            }
        }
        let segment = self.fabric.segments.get(&packet);
        self.endpoints[index].connection.handle_segment(self.now, segment, packet.ecn);
        self.fabric.segments.release(packet);
        self.serve(index, hand_over);
    }

    /// Traces a packet that arrives at a watched endpoint. True if it belongs to another connection: it is answered as such.
    #[cold]
    fn is_stray(&mut self, index: usize, packet: &Packet) -> bool {
        let (endpoint, segment) = (&self.endpoints[index], self.fabric.segments.get(packet));
        if endpoint.watch == Watch::Trace {
            self.recorder.trace_received(self.now, self.network.flow_of(index), segment);
            return false;
        }
        let ports = endpoint.connection.ports();
        let stray = (segment.src_port, segment.dst_port) != (ports.remote, ports.local);
        if stray {
            let segment = *segment;
            self.fabric.segments.release(*packet);
            self.refuse(index, &segment);
        }
        stray
    }

    /// Answers a segment for a connection that is no more (RFC 9293 section 3.10.7.1).
    #[cold]
    fn refuse(&mut self, index: usize, segment: &Segment) {
        if let Some(reset) = reset_for(segment) {
            let endpoint = &self.endpoints[index];
            let write = |segment: &mut Segment| {
                *segment = reset;
                Some(Ecn::NotEct)
            };
            let Some(packet) = self.fabric.segments.packet(endpoint.peer, endpoint.weight, write) else {
                return;
            };
            let link = endpoint.first_link as usize;
            self.fabric.send(&mut self.recorder, self.now, link, packet, false);
        }
    }

    fn timer(&mut self, index: usize) {
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
    pub fn serve(&mut self, index: usize, hand_over: bool) {
        if self.endpoints[index].watch == Watch::Quic {
            return self.serve_quic(index, hand_over);
        }
        loop {
            self.transmit(index, hand_over);
            let connection = &mut self.endpoints[index].connection;
            let reached = connection.received_bytes() >= self.endpoints[index].goal;
            let event = self.endpoints[index].connection.poll_event();
            if event.is_none() && !reached {
                break;
            }
            self.tell_application(index, event, reached);
        }
        let due = self.endpoints[index].connection.poll_timeout().unwrap_or(Instant::FAR_FUTURE);
        self.set_due(index, due);
    }

    /// The next timer of an endpoint is due at `due`.
    #[inline]
    pub fn set_due(&mut self, index: usize, due: Instant) {
        let component = self.endpoint_component(index);
        let endpoint = &mut self.endpoints[index];
        endpoint.due = due;
        if endpoint.due < endpoint.wake {
            endpoint.wake = endpoint.due;
            self.fabric.timeline.set(component, endpoint.due);
        }
    }

    #[inline]
    fn transmit(&mut self, index: usize, hand_over: bool) {
        let endpoint = &mut self.endpoints[index];
        loop {
            let (mut retransmission, mut last) = (false, false);
            let next = self.fabric.segments.packet(endpoint.peer, endpoint.weight, |segment| {
                let departure = endpoint.connection.transmit_into(self.now, segment)?;
                (retransmission, last) = (departure.retransmission, departure.last);
                Some(departure.ecn)
            });
            let Some(packet) = next else { break };
            if endpoint.watch == Watch::Trace {
                let segment = self.fabric.segments.get(&packet);
                self.recorder.trace_sent(self.now, self.network.flow_of(index), segment, retransmission);
            }
            let departure = match &mut endpoint.overhead {
                None => self.now,
                Some(overhead) => overhead.departure(self.now),
            };
            self.fabric.send(&mut self.recorder, departure, endpoint.first_link as usize, packet, hand_over);
            if last {
                break;
            }
        }
    }

    /// Takes note of what a connection reports; `several` if its flow has many of them.
    pub(crate) fn note_event(&mut self, flow: usize, index: usize, event: Event, several: bool) {
        let sends_data = index % 2 == self.data_side(flow) as usize;
        self.failed_starts[flow] += u64::from(event == Event::StartFailed);
        let told = sends_data || event == Event::StartFailed;
        if told && !(several && matches!(event, Event::Connected | Event::Closed)) {
            self.recorder.connection_event(self.now, flow, event);
            note_reduction(&mut self.reductions[flow], self.now, event);
        }
    }

    /// Takes note of all counters: what comes later is measured.
    pub fn end_warmup(&mut self) {
        for flow in 0..self.apps.len() {
            self.flow_baseline[flow] = Totals::of(self, flow);
            self.reductions[flow] = ReductionTimes::default();
            self.apps[flow].clear_times(self.now);
        }
        for (position, link) in self.declared.iter().enumerate() {
            self.link_baseline[position] = LinkSnapshot::of(self.fabric.link(*link), self.now);
            self.line_baseline[position] = self.fabric.line_stats(*link).unwrap_or_default();
            self.fabric.link(*link).measure_waits(self.now);
            self.fabric.link(*link).take_peak(self.now);
            self.queue_peak[position] = 0;
        }
        self.recorder.monitors.iter_mut().flatten().for_each(FlowMonitor::end_warmup);
        self.begin_measuring_middleboxes();
    }

    /// Writes a row for each flow and each link, and adds to the means. `measuring` is false during the warm-up.
    pub fn sample(&mut self, measuring: bool) {
        let span = self.now.since(self.last_sample);
        self.last_sample = self.now;
        for position in 0..self.declared.len() {
            self.sample_link(position);
        }
        for flow in 0..self.apps.len() {
            self.sample_flow(flow, span, measuring);
        }
        self.sample_middleboxes(span, measuring);
        if self.recorder.recording && !span.is_zero() {
            let Recorder { monitors, tables, .. } = &mut self.recorder;
            monitors.iter_mut().flatten().for_each(|monitor| monitor.sample(self.now, &mut tables.monitors));
        }
    }

    fn sample_link(&mut self, position: usize) {
        let index = self.declared[position];
        let now = self.now;
        let link = self.fabric.link(index);
        let peak = link.take_peak(now);
        self.queue_peak[position] = self.queue_peak[position].max(peak);
        if !self.recorder.recording {
            return;
        }
        if let Some(row) = self.link_samples[position].row(link, now, position, peak) {
            self.link_samples[position] = LinkSnapshot::of(link, now);
            self.recorder.tables.links.push(row);
        }
    }

    fn sample_flow(&mut self, flow: usize, span: Duration, measuring: bool) {
        let app = &self.apps[flow];
        if !app.started() {
            return;
        }
        // A receiver that was served ahead may have finished at a time that is still to come.
        let ended = app.stopped() || app.finished().is_some_and(|at| at < self.now);
        let index = 2 * self.first_connection(flow) + self.data_side(flow) as usize;
        let (sample, state) = match &self.reused[flow] {
            None => self.connection_sample(flow),
            Some(reused) => self.sample_of_several(flow, reused),
        };
        let next_sample = &mut self.endpoints[index].next_sample;
        let following = self.now + self.scenario.run.sample;
        // A sender that was served ahead has taken this sample already.
        if measuring && !ended && *next_sample != following {
            self.cwnd_mean[flow].add(state.cwnd_bytes);
        }
        if *next_sample == self.now {
            *next_sample = following;
        }
        if !(self.recorder.recording || self.scenario.run.peak_goodput) || span.is_zero() {
            return;
        }
        let before = std::mem::replace(&mut self.flow_samples[flow], sample);
        let per_second = |bytes: u64| bytes as f64 * 8.0 / span.as_secs_f64();
        let goodput_bps = per_second(sample.received - before.received);
        if self.scenario.run.peak_goodput && measuring && span == self.scenario.run.sample {
            let largest = &mut self.goodput_max[flow];
            *largest = Some(largest.map_or(goodput_bps, |most| most.max(goodput_bps)));
        }
        if !self.recorder.recording {
            return;
        }
        if self.scenario.run.inspect && !ended {
            self.inspect(flow);
        }
        let row = FlowRow {
            time_s: self.now.as_secs_f64(),
            flow: flow as u32,
            throughput_bps: per_second(sample.sent_bytes - before.sent_bytes),
            goodput_bps,
            retransmits: (sample.retransmitted - before.retransmitted) as u32,
            ..state
        };
        self.recorder.tables.flows.push(row);
    }

    /// Records what goes on inside the congestion control of a flow that is one connection.
    fn inspect(&mut self, flow: usize) {
        let mut inspection = Inspection::default();
        match self.quic.of(flow) {
            Some((quic, _)) => quic.inspect(self.data_side(flow), &mut inspection),
            None if self.reused[flow].is_some() => return,
            None => self.data_sender(flow).connection.congestion_control().inspect(&mut inspection),
        }
        let (time_s, flow) = (self.now.as_secs_f64(), flow as u32);
        let rows = inspection.readings().iter().map(|reading| CcRow {
            time_s,
            flow,
            name: reading.name,
            unit: reading.unit,
            value: reading.value,
        });
        self.recorder.tables.cc.extend(rows);
    }

    /// Counters and state of a flow that is one connection.
    fn connection_sample(&self, flow: usize) -> (FlowSample, FlowRow) {
        if let Some((quic, _)) = self.quic.of(flow) {
            let (totals, side) = (Totals::of(self, flow), self.data_side(flow));
            let sample = FlowSample {
                sent_bytes: totals.sender.data_bytes_sent,
                received: totals.delivered,
                retransmitted: totals.sender.retransmitted_segments,
            };
            return (sample, quic.row(side));
        }
        let sender = &self.data_sender(flow).connection;
        let stats = sender.stats();
        let sample = FlowSample {
            sent_bytes: stats.data_bytes_sent,
            received: self.data_receiver(flow).connection.received_bytes(),
            retransmitted: stats.retransmitted_segments,
        };
        let ssthresh = Some(sender.ssthresh()).filter(|bytes| *bytes < u64::MAX);
        let state = FlowRow {
            cwnd_bytes: sender.cwnd() as f64,
            ssthresh_bytes: ssthresh.map(|bytes| bytes as f64),
            flight_bytes: sender.flight_size() as f64,
            srtt_s: (stats.rtt_samples > 0).then(|| sender.srtt().as_secs_f64()),
            rto_s: sender.rto().as_secs_f64(),
            peer_window_bytes: sender.peer_window() as f64,
            ..FlowRow::default()
        };
        (sample, state)
    }

    /// The same of a flow with several connections: windows and flights are sums over the open ones.
    fn sample_of_several(&self, flow: usize, reused: &Reused) -> (FlowSample, FlowRow) {
        let totals = Totals::of(self, flow);
        let sample = FlowSample {
            sent_bytes: totals.sender.data_bytes_sent,
            received: totals.delivered,
            retransmitted: totals.sender.retransmitted_segments,
        };
        let mut state = FlowRow::default();
        for pair in reused.open() {
            let sender = 2 * (self.first_connection(flow) + pair) + self.data_side(flow) as usize;
            let sender = &self.endpoints[sender].connection;
            state.cwnd_bytes += sender.cwnd() as f64;
            state.flight_bytes += sender.flight_size() as f64;
            state.peer_window_bytes += sender.peer_window() as f64;
            state.rto_s = state.rto_s.max(sender.rto().as_secs_f64());
        }
        (sample, state)
    }
}

impl World<'_> {
    /// The captured packets as a pcapng file, if a capture was requested.
    pub fn capture_file(&self) -> Option<Capture> {
        let is_tap = |link: &&usize| self.recorder.taps[**link];
        let taps: Vec<(usize, String)> = self
            .declared
            .iter()
            .filter(is_tap)
            .map(|link| (*link, self.network.links[*link].name.clone()))
            .collect();
        (!taps.is_empty()).then(|| self.recorder.capture_file(&taps, |endpoint| self.hosts(endpoint)))
    }
}
