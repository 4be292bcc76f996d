//! The world of a run: fabric, endpoints, applications, and the loop that takes event after event.

use crate::endpoint::{self, Endpoint, SendOverhead, Watch};
use crate::line::CompressedLine;
use crate::link_watch::LinkWatch;
use crate::monitor::FlowMonitor;
use crate::packet::{Hosts, Label, Segments};
use crate::quic::Connections;
use crate::recorder::{Capture, Recorder};
use crate::reused::{NO_GOAL, Reused};
use crate::totals::{Totals, note_reduction};
use crate::udp::UdpFlow;
use longhaul_fabric::{Ahead, Fabric, Source, Stage, Topology, Way, WaysMoved};
use longhaul_middlebox::Sparse;
use longhaul_results::{LinkSnapshot, PathUse, ReductionTimes};
use longhaul_scenario::{DirectedLink, Network, Routed, Scenario, Ties};
use longhaul_segment::LineStats;
use longhaul_segment::SeqNumber;
use longhaul_tcp::{Connection, Event, Ports};
use longhaul_traffic::{App, Side, Timing};
use longhaul_units::{
    ConnectionId, DeclaredId, EndpointId, FlowId, Id, IdVec, Instant, LinkId, MiddleboxId, NodeId, Random,
};
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};

/// Sums over samples while measured.
#[derive(Clone, Copy, Default)]
pub(crate) struct CwndMean {
    pub sum: f64,
    pub samples: u64,
}

impl CwndMean {
    pub fn add(&mut self, cwnd_bytes: f64) {
        self.sum += cwnd_bytes;
        self.samples += 1;
    }
}

/// Values at the last sample, for differences.
#[derive(Clone, Copy, Default)]
pub(crate) struct FlowSample {
    pub sent_bytes: u64,
    pub received: u64,
    pub retransmitted: u64,
}

/// A simulation in progress.
pub(crate) struct World<'a> {
    pub scenario: &'a Scenario,
    pub network: &'a Network,
    pub fabric: Fabric<Segments>,
    pub endpoints: IdVec<EndpointId, Endpoint>,
    /// The QUIC connections.
    pub quic: Connections,
    /// Flows over UDP.
    pub udp: IdVec<FlowId, Option<Box<UdpFlow>>>,
    pub apps: IdVec<FlowId, App>,
    /// Connections of flows that have one after the other.
    pub reused: IdVec<FlowId, Option<Box<Reused>>>,
    /// Endpoints that an application has acted on, to be used again.
    pub touched: Vec<EndpointId>,
    pub middleboxes: IdVec<MiddleboxId, Stage<Sparse>>,
    pub recorder: Recorder,
    pub now: Instant,
    pub events: u64,
    /// Links of the scenario file.
    pub declared: IdVec<DeclaredId, LinkId>,
    /// Flows at the end of the warm-up.
    pub flow_baseline: IdVec<FlowId, Totals>,
    /// When windows were reduced while measured.
    pub reductions: IdVec<FlowId, ReductionTimes>,
    /// Connections of each flow that never opened, since their probes failed.
    pub failed_starts: IdVec<FlowId, u64>,
    pub link_baseline: IdVec<DeclaredId, LinkSnapshot>,
    /// Header compression on each declared link by then.
    pub line_baseline: IdVec<DeclaredId, LineStats>,
    /// Largest queue of each declared link while measured.
    pub queue_peak: IdVec<DeclaredId, u64>,
    pub cwnd_mean: IdVec<FlowId, CwndMean>,
    pub flow_samples: IdVec<FlowId, FlowSample>,
    /// Largest goodput of one measured interval in bit/s, by flow, where it is requested.
    pub goodput_max: IdVec<FlowId, Option<f64>>,
    pub link_samples: IdVec<DeclaredId, LinkSnapshot>,
    pub last_sample: Instant,
    /// What the flows left of their paths.
    pub path_use: IdVec<FlowId, PathUse>,
    pub(crate) link_watch: LinkWatch,
    /// Ways of data that have changed.
    pub data_ways: BTreeMap<FlowId, &'a [LinkId]>,
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
        let declared = network.declared();
        let named = |names: &[String]| -> IdVec<LinkId, bool> {
            let is_named = |link: &str| names.iter().any(|name| link.starts_with(&format!("{name}.")));
            network.links.iter().map(|link| link.declared && is_named(&link.name)).collect()
        };
        let taps = named(if recording { &scenario.run.capture } else { &[] });
        let monitored = named(&scenario.run.monitor);
        let watched: IdVec<LinkId, bool> =
            taps.iter().zip(&monitored).map(|(tap, monitor)| tap | monitor).collect();
        let waits = |endpoint: EndpointId| {
            let flow = &network.flows[network.flow_of(endpoint)];
            let spec = scenario.group(flow.group);
            let side = endpoint.side();
            // What another flow on the same connection does is not seen from here.
            let shared = spec.quic().is_some_and(|quic| quic.connection.is_some());
            match side {
                _ if shared || spec.app.timing() == Timing::Both => false,
                Side::Client => spec.app.timing() != Timing::Client && flow.stop.is_none(),
                Side::Server => true,
            }
        };
        let flows = network.flows.len();
        let others = 2 * network.connection_flows.len() + flows + network.middleboxes.len();
        let ties = scenario.run.ties;
        let rows = |ways: Vec<longhaul_scenario::Way>| -> Vec<Way> {
            ways.into_iter().map(|way| Way { row: way.to.index(), steps: way.steps }).collect()
        };
        let routes = &network.routes;
        let moved = routes
            .lists
            .iter()
            .enumerate()
            .map(|(list, moved)| WaysMoved { ways: rows(network.moved_ways(list)), lost: moved.lost });
        let topology = Topology {
            links: &network.links,
            middleboxes: network.middleboxes.len(),
            ways: rows(network.ways()),
            moves: moved.collect(),
            changes: routes.changes.iter().map(|change| (change.at, change.list)).collect(),
            rows: 2 * network.connections(),
            seed,
            ties,
            hosts: network.hosts_of_endpoints(),
            changeable: false,
        };
        // The link on which an endpoint sends, if its application does not act by itself.
        let sends_on = |row: usize| {
            let endpoint = EndpointId::new(row);
            let flow = &network.flows[network.flow_of(endpoint)];
            let way = if endpoint.side() == Side::Client { &flow.forward } else { &flow.reverse };
            waits(endpoint).then(|| way[0])
        };
        let ahead = (serve_ahead && ties == Ties::Hash).then_some(&sends_on as Ahead<'_>);
        let line = |link: &DirectedLink| CompressedLine::new(&link.config.serial?, network);
        let fabric = Fabric::new(&topology, ahead, &watched, line, others);
        // Time zero as QUIC counts; which instant it is changes nothing.
        let base = std::time::Instant::now();
        let mut world = World {
            scenario,
            network,
            fabric,
            endpoints: IdVec::with_capacity(2 * network.connection_flows.len()),
            quic: Connections::new(scenario, network, base),
            udp: IdVec::with_capacity(flows),
            apps: IdVec::with_capacity(flows),
            reused: IdVec::with_capacity(flows),
            touched: vec![],
            middleboxes: IdVec::new(),
            recorder: Recorder::new(recording, network.connection_flows.clone(), network.places()),
            now: Instant::ZERO,
            events: 0,
            flow_baseline: IdVec::filled(Totals::default(), flows),
            reductions: IdVec::filled(ReductionTimes::default(), flows),
            failed_starts: IdVec::filled(0, flows),
            link_baseline: IdVec::filled(LinkSnapshot::default(), declared.len()),
            line_baseline: IdVec::filled(LineStats::default(), declared.len()),
            queue_peak: IdVec::filled(0, declared.len()),
            cwnd_mean: IdVec::filled(CwndMean::default(), flows),
            flow_samples: IdVec::filled(FlowSample::default(), flows),
            goodput_max: IdVec::filled(None, flows),
            link_samples: IdVec::filled(LinkSnapshot::default(), declared.len()),
            path_use: IdVec::filled(PathUse::default(), flows),
            link_watch: LinkWatch::new(network, declared.len()),
            data_ways: BTreeMap::new(),
            declared,
            last_sample: Instant::ZERO,
        };
        for flow in network.flows.ids() {
            world.add_flow(flow, seed);
        }
        world.add_middleboxes();
        world.add_monitors(&monitored);
        world.recorder.taps = taps;
        world.note_script();
        world
    }

    fn add_monitors(&mut self, monitored: &IdVec<LinkId, bool>) {
        let flows = &self.network.flows;
        for link in monitored.ids().filter(|link| monitored[*link]) {
            let Some(place) = self.recorder.places[link] else { continue };
            let crossing = flows.ids().filter(|flow| self.network.crosses(*flow, link)).collect();
            self.recorder.monitors[link] = Some(FlowMonitor::new(place, flows.len(), crossing));
        }
    }

    /// Notes the scripted changes of links among the events: they are known from the start.
    fn note_script(&mut self) {
        let end = Instant::ZERO + self.scenario.run.duration;
        for (place, link) in self.declared.enumerated() {
            let config = &self.network.links[*link].config;
            let changes = config.changes.iter().flat_map(|change| {
                let rate = change.rate.map(|rate| ("link_rate", rate.as_bps() as f64));
                let delay = change.delay.map(|delay| ("link_delay", delay.as_secs_f64()));
                let loss = change.loss.map(|loss| ("link_loss", loss.get()));
                [rate, delay, loss].into_iter().flatten().map(|(kind, value)| (change.at, kind, value))
            });
            let outages = config.outages.iter().flat_map(|outage| {
                let length = outage.duration.as_secs_f64();
                [(outage.start, "link_down", length), (outage.start + outage.duration, "link_up", 0.0)]
            });
            for (after, kind, value) in changes.chain(outages) {
                let at = Instant::ZERO + after;
                if at < end {
                    self.recorder.event(at, kind, None, Some(place), value);
                }
            }
        }
        if self.network.routes.changes.is_empty() {
            return;
        }
        for flow in self.network.flows.ids() {
            let (_, times) = self.network.distinct_ways(flow);
            for (at, way) in &times[1..] {
                self.recorder.event(*at, "route", Some(flow), None, *way as f64);
            }
        }
    }

    /// Ways change: see [`Fabric::change_ways`].
    pub(crate) fn change_ways(&mut self) {
        let Some(list) = self.fabric.change_ways() else { return };
        for (which, links) in &self.network.routes.lists[list].ways {
            let Routed::Flow(id, direction) = *which else { continue };
            let flow = &self.network.flows[id];
            let side = [Side::Client, Side::Server][direction];
            if side == self.data_side(id) {
                self.data_ways.insert(id, links);
            }
            for connection in (0..flow.connections).map(|count| flow.first_connection.after(count)) {
                self.endpoints[connection.end(side)].first_link = links[0];
            }
        }
    }

    /// Links on which a flow's data is sent now.
    pub(crate) fn data_way(&self, flow: FlowId) -> &'a [LinkId] {
        if let Some(links) = self.data_ways.get(&flow) {
            return links;
        }
        let instance = &self.network.flows[flow];
        if self.data_side(flow) == Side::Server { &instance.reverse } else { &instance.forward }
    }

    fn add_flow(&mut self, flow: FlowId, seed: u64) {
        let instance = &self.network.flows[flow];
        let spec = self.scenario.group(instance.group);
        let app = spec.application(instance, seed);
        let data_side = spec.app.data_sender();
        self.fabric.timeline.set(self.app_component(flow), app.wake());
        self.apps.push(app);
        let client_port = 1024 + (flow.0 % 60_000) as u16;
        let pairs = spec.app.connections();
        let quic = spec.quic();
        let udp = spec.udp();
        self.udp.push(udp.map(|udp| Box::new(UdpFlow::new(udp, &spec.app, instance.start))));
        let reused = pairs > 1 && quic.is_none();
        self.reused.push(reused.then(|| Box::new(Reused::new(pairs, &instance.name, seed))));
        for pair in 0..pairs {
            for side in Side::BOTH {
                let (local, remote) =
                    if side == Side::Client { (client_port, 80) } else { (80, client_port) };
                let ports = Ports { local, remote };
                let connection = if reused || quic.is_some() || udp.is_some() {
                    // There is no connection before it is opened, and none of TCP where QUIC or UDP stands in its place.
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
                    first_link: path[0],
                    peer: EndpointId::new(self.endpoints.len()).peer(),
                    goal: NO_GOAL,
                    due: Instant::FAR_FUTURE,
                    wake: Instant::FAR_FUTURE,
                    label: Label::new(spec.weight, spec.dscp),
                    watch: match side {
                        _ if quic.is_some() => Watch::Quic,
                        _ if udp.is_some() => Watch::Udp,
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

    pub(crate) fn endpoint_component(&self, endpoint: EndpointId) -> usize {
        self.fabric.link_count() + endpoint.index()
    }
    pub(crate) fn app_component(&self, flow: FlowId) -> usize {
        self.fabric.link_count() + 2 * self.network.connection_flows.len() + flow.index()
    }

    pub(crate) fn middlebox_component(&self, middlebox: MiddleboxId) -> usize {
        self.app_component(FlowId::new(self.network.flows.len())) + middlebox.index()
    }

    /// A flow's first connection.
    pub fn first_connection(&self, flow: FlowId) -> ConnectionId {
        self.network.flows[flow].first_connection
    }
    /// The end that sends the bulk of a flow's data.
    pub fn data_side(&self, flow: FlowId) -> Side {
        self.scenario.group(self.network.flows[flow].group).app.data_sender()
    }
    /// The endpoint that sends the bulk of a flow's data.
    pub fn data_sender(&self, flow: FlowId) -> &Endpoint {
        &self.endpoints[self.first_connection(flow).end(self.data_side(flow))]
    }
    /// The endpoint that receives it.
    pub fn data_receiver(&self, flow: FlowId) -> &Endpoint {
        &self.endpoints[self.first_connection(flow).end(self.data_side(flow).other())]
    }

    /// Addresses of a packet that goes to `endpoint`.
    pub fn hosts(&self, endpoint: EndpointId) -> Hosts {
        let address = |node: NodeId| {
            let [_, high, middle, low] = (node.0 + 1).to_be_bytes();
            IpAddr::V4(Ipv4Addr::new(10, high, middle, low))
        };
        let [src, dst] = self.network.hosts_to(endpoint).map(address);
        Hosts { src, dst }
    }

    /// Handles all events before `until`, but at most `budget` of them.
    pub fn advance(&mut self, until: Instant, budget: u64) -> Pause {
        let links = self.fabric.link_count();
        let apps = links + self.endpoints.len();
        let middleboxes = apps + self.apps.len();
        self.fabric.set_horizon(until);
        for _ in 0..budget {
            let (time, source) = self.fabric.first();
            if time >= until.min(self.fabric.first_arrival) || self.fabric.arrivals.len() >= BATCH {
                if self.fabric.arrivals.is_empty() {
                    self.now = until;
                    return Pause::Reached;
                }
                self.deliver();
                continue;
            }
            self.now = time;
            self.events += 1;
            let component = match source {
                Source::Lane => {
                    self.fabric.handle_lane(&mut self.recorder, time);
                    continue;
                }
                Source::Component(component) => component,
            };
            if component < links {
                self.fabric.handle_event(&mut self.recorder, time, LinkId::new(component));
                if let Some((port, packet)) = self.fabric.take_for_middlebox() {
                    self.pass_middlebox(port, packet);
                }
            } else if component < apps {
                self.timer(EndpointId::new(component - links));
            } else if component < middleboxes {
                self.act(FlowId::new(component - apps));
            } else {
                self.middlebox_timer(MiddleboxId::new(component - middleboxes));
            }
        }
        Pause::Busy
    }

    /// Takes note of what a connection reports; `several` if its flow has many of them.
    pub(crate) fn note_event(&mut self, flow: FlowId, index: EndpointId, event: Event, several: bool) {
        let sends_data = index.side() == self.data_side(flow);
        self.failed_starts[flow] += u64::from(event == Event::StartFailed);
        let told = sends_data || event == Event::StartFailed;
        if told && !(several && matches!(event, Event::Connected | Event::Closed)) {
            self.recorder.connection_event(self.now, flow, event);
            note_reduction(&mut self.reductions[flow], self.now, event);
        }
    }
}

impl World<'_> {
    /// The captured packets as a pcapng file, if a capture was requested.
    pub fn capture_file(&self) -> Option<Capture> {
        let is_tap = |link: &&LinkId| self.recorder.taps[**link];
        let taps: Vec<(LinkId, String)> = self
            .declared
            .iter()
            .filter(is_tap)
            .map(|link| (*link, self.network.links[*link].name.clone()))
            .collect();
        (!taps.is_empty()).then(|| self.recorder.capture_file(&taps, |endpoint| self.hosts(endpoint)))
    }
}
