//! The network that a scenario describes, with every shorthand expanded: nodes, directed links, single flows and their
//! paths: of least propagation delay, then fewest hops, then in the order of the document; or as routes of the document give them.

use crate::routes::{Moves, Routed, Tables};
use crate::{
    AccessSpec, Between, DirectionSpec, DumbbellSpec, FlowSpec, RouteSpec, RunSpec, Scenario, TooBig,
    Transport,
};
use longhaul_path::{HalfDuplex, HalfDuplexSpec, Hosts, LinkConfig};
use longhaul_units::{
    ConnectionId, DeclaredId, Duration, EndpointId, FlowId, GroupId, Id, IdVec, Instant, LinkId, MiddleboxId,
    NodeId, Rate, Side, Size, ids,
};
use std::collections::{BTreeMap, BTreeSet};

/// One direction of a link.
#[derive(Clone, Debug)]
pub struct DirectedLink {
    /// `bottleneck.forward`, or for a private access link for instance `bulk[3].from.forward`.
    pub name: String,
    /// The node at its beginning.
    pub from: NodeId,
    /// The node at its end.
    pub to: NodeId,
    /// True for a link of the document, false for a flow's private access link.
    pub declared: bool,
    /// The longest packet in bytes that it carries, and what becomes of longer ones; `None` without such a bound.
    pub mtu: Option<(u16, TooBig)>,
    /// Everything else.
    pub config: LinkConfig,
}

/// One flow: a connection.
#[derive(Clone, Debug)]
pub struct FlowInstance {
    /// `bulk`, or `bulk[3]` in a group, or `bulk[3].stream[0]` of several streams.
    pub name: String,
    /// Its `[[flow]]` table.
    pub group: GroupId,
    /// Node of the active opener.
    pub from: NodeId,
    /// Node of the passive opener.
    pub to: NodeId,
    /// When it starts.
    pub start: Instant,
    /// When its application stops, if it does before it has done all.
    pub stop: Option<Instant>,
    /// Number of the transfer that it is a stream of, counted over all groups; the streams of one are neighbours.
    pub transfer: usize,
    /// Which of the transfer's streams it is, from 0.
    pub stream: u32,
    /// Links from the active to the passive opener, at the start: see [`Network::routes`].
    pub forward: Vec<LinkId>,
    /// Links back.
    pub reverse: Vec<LinkId>,
    /// Its first connection; the others follow.
    pub first_connection: ConnectionId,
    /// How many connections it has, at most at a time; most flows are one.
    pub connections: usize,
    /// Another transport than TCP carries it, on which middleboxes do not act.
    pub sealed: bool,
}

/// One middlebox.
#[derive(Clone, Debug)]
pub struct MiddleboxInstance {
    /// Its name.
    pub name: String,
    /// Its `[[middlebox]]` table.
    pub id: MiddleboxId,
    /// Its node; both, where it stands at two.
    pub nodes: Vec<NodeId>,
    /// Flows that it acts on, in order.
    pub flows: Vec<FlowId>,
    /// Its first connection of its own, and how many it has. Flows have the numbers before all of them.
    pub own_connections: (ConnectionId, u32),
    /// Links between its two nodes, there and back, if it stands at two; at the start.
    pub between: [Vec<LinkId>; 2],
    /// Only packets from the first node to the second meet it.
    pub one_way: bool,
}

/// One step of a way through the network.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// Over a link.
    Link(LinkId),
    /// Through a middlebox.
    Middlebox {
        /// The middlebox.
        middlebox: MiddleboxId,
        /// Which of its nodes: 0, or 1 for the second.
        port: usize,
    },
}

/// A way on which packets may go: all of it, or up to or from a middlebox that ends connections.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Way {
    /// Where its packets go.
    pub to: EndpointId,
    /// Its steps, in order.
    pub steps: Vec<Step>,
}

impl FlowInstance {
    /// The name without the number of the stream.
    pub fn transfer_name(&self) -> &str {
        self.name.rsplit_once(".stream[").map_or(self.name.as_str(), |(name, _)| name)
    }
}

/// One of a group's transfers, before it is split into streams.
struct Transfer {
    name: String,
    group: GroupId,
    streams: u32,
    connections: usize,
    sealed: bool,
    start: Instant,
    stop: Option<Instant>,
}

/// Nodes, directed links, flows.
#[derive(Clone, Debug, Default)]
pub struct Network {
    /// Names of the nodes; those of the document first, then hosts of flows.
    pub nodes: IdVec<NodeId, String>,
    /// Links; those of the document first, each in both directions, then access links.
    pub links: IdVec<LinkId, DirectedLink>,
    /// Flows in the order of the document.
    pub flows: IdVec<FlowId, FlowInstance>,
    /// The flow of each connection, in ascending order.
    pub connection_flows: IdVec<ConnectionId, FlowId>,
    /// Middleboxes in the order of the document.
    pub middleboxes: IdVec<MiddleboxId, MiddleboxInstance>,
    /// How ways change.
    pub routes: Moves<Routed>,
}

/// The ways of a flow from a point in time on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Epoch<'a> {
    /// From when on.
    pub from: Instant,
    /// Links from the active to the passive opener.
    pub forward: &'a [LinkId],
    /// Links back.
    pub reverse: &'a [LinkId],
}

impl<'a> Epoch<'a> {
    /// Links on the way from the data's sender, which is the passive opener if the `server_sends`.
    pub fn data(&self, server_sends: bool) -> &'a [LinkId] {
        if server_sends { self.reverse } else { self.forward }
    }
    /// Links on the way of its ACKs.
    pub fn acks(&self, server_sends: bool) -> &'a [LinkId] {
        self.data(!server_sends)
    }
}

impl Network {
    /// Expands a valid scenario. Random start times come from the run's seed.
    pub fn new(scenario: &Scenario) -> Network {
        let mut network = Network::graph(scenario);
        let mut paths = BTreeMap::new();
        for (group, spec) in ids(scenario.flow.len()).zip(&scenario.flow) {
            let [Some(from), Some(to)] = Network::ends_of(scenario, spec) else { continue };
            let core = paths
                .entry((from.clone(), to.clone()))
                .or_insert_with(|| {
                    let both = (network.core_path(&from, &to), network.core_path(&to, &from));
                    (both.0.unwrap_or_default(), both.1.unwrap_or_default())
                })
                .clone();
            let access = spec.access.as_ref().or(scenario.dumbbell.as_ref().and_then(|d| d.access.as_ref()));
            let seed = scenario.run.seed;
            let starts = spec.start.draw(&spec.name, "start", spec.count, seed);
            let stops = spec.stop.as_ref().map(|stop| stop.draw(&spec.name, "stop", spec.count, seed));
            for (index, start) in starts.into_iter().enumerate() {
                let name =
                    if spec.count == 1 { spec.name.clone() } else { format!("{}[{index}]", spec.name) };
                let stop = stops.as_ref().map(|stops| stops[index]);
                let stop = stop.or(spec.duration.map(|duration| start + duration));
                let connections = spec.app.connections();
                let sealed = spec.transport != Transport::Tcp;
                let transfer =
                    Transfer { name, group, streams: spec.streams, connections, sealed, start, stop };
                let access = access.map(|access| (access, &scenario.run));
                network.add_transfer(transfer, [&from, &to], core.clone(), access);
            }
        }
        let tables = Tables::new(&network.links, &scenario.route, scenario.run.duration, scenario.run.seed);
        if !tables.is_empty() {
            network.begin_ways(scenario, &tables);
        }
        for id in ids(scenario.middlebox.len()) {
            network.add_middlebox(scenario, id);
        }
        if !tables.is_empty() {
            network.begin_ways_between(scenario, &tables);
            let takes = |spec: &RouteSpec, way| network.takes(scenario, spec, way);
            network.routes = tables.moves(&network.links, &network.routed(), takes).unwrap_or_default();
        }
        network.fix_queue_limits();
        network
    }

    /// Puts routes that hold from the start into the ways of flows.
    fn begin_ways(&mut self, scenario: &Scenario, tables: &Tables<'_>) {
        let Network { links, flows, .. } = self;
        for flow in flows.iter_mut() {
            let group = &scenario.group(flow.group).name;
            let takes = |spec: &RouteSpec| spec.flows.is_empty() || spec.flows.contains(group);
            tables.begin(links, &mut flow.forward, takes);
            tables.begin(links, &mut flow.reverse, takes);
        }
    }

    /// The same for ways between the two nodes of middleboxes.
    fn begin_ways_between(&mut self, scenario: &Scenario, tables: &Tables<'_>) {
        for id in ids::<MiddleboxId>(self.middleboxes.len()) {
            for direction in 0..2 {
                let mut way = std::mem::take(&mut self.middleboxes[id].between[direction]);
                let which = Routed::Between(id, direction);
                tables.begin(&self.links, &mut way, |spec| self.takes(scenario, spec, which));
                self.middleboxes[id].between[direction] = way;
            }
        }
    }

    /// All ways that routes may change, as they are at the start, in order.
    pub(crate) fn routed(&self) -> Vec<(Routed, Vec<LinkId>)> {
        let of_flow = |(id, flow): (FlowId, &FlowInstance)| {
            [(Routed::Flow(id, 0), flow.forward.clone()), (Routed::Flow(id, 1), flow.reverse.clone())]
        };
        let of_middlebox = |(id, one): (MiddleboxId, &MiddleboxInstance)| {
            [0, 1].map(|direction| (Routed::Between(id, direction), one.between[direction].clone()))
        };
        let flows = self.flows.enumerated().flat_map(of_flow);
        flows.chain(self.middleboxes.enumerated().flat_map(of_middlebox)).collect()
    }

    /// Whether a route is for a way: of the connections of a middlebox, if it is for all of its flows.
    pub(crate) fn takes(&self, scenario: &Scenario, spec: &RouteSpec, way: Routed) -> bool {
        let named = |flow: &FlowId| spec.flows.contains(&scenario.group(self.flows[*flow].group).name);
        spec.flows.is_empty()
            || match way {
                Routed::Flow(flow, _) => named(&flow),
                Routed::Between(middlebox, _) => self.middleboxes[middlebox].flows.iter().all(named),
            }
    }

    /// The ways of a flow over time, from the start on.
    pub fn epochs(&self, flow: FlowId) -> Vec<Epoch<'_>> {
        let FlowInstance { forward, reverse, .. } = &self.flows[flow];
        let mut epochs = vec![Epoch { from: Instant::ZERO, forward, reverse }];
        let ways = [Routed::Flow(flow, 0), Routed::Flow(flow, 1)];
        if !ways.iter().any(|way| self.routes.changes(way)) {
            return epochs;
        }
        for change in &self.routes.changes {
            let mut now = *epochs.last().expect("there is one");
            let [there, back] = [0, 1].map(|side| self.routes.lists[change.list].of(&ways[side]));
            if there.is_none() && back.is_none() {
                continue;
            }
            now.forward = there.unwrap_or(now.forward);
            now.reverse = back.unwrap_or(now.reverse);
            if now.from == change.at {
                epochs.pop();
            }
            epochs.push(Epoch { from: change.at, ..now });
        }
        epochs
    }

    /// The different ways of a flow, in the order in which it has them, and for each of its epochs which one that is.
    pub fn distinct_ways(&self, flow: FlowId) -> (Vec<Epoch<'_>>, Vec<(Instant, usize)>) {
        let (mut ways, mut times): (Vec<Epoch<'_>>, Vec<_>) = (vec![], vec![]);
        for epoch in self.epochs(flow) {
            let known =
                ways.iter().position(|way| (way.forward, way.reverse) == (epoch.forward, epoch.reverse));
            let number = known.unwrap_or_else(|| {
                ways.push(epoch);
                ways.len() - 1
            });
            times.push((epoch.from, number));
        }
        (ways, times)
    }

    /// True if packets of a flow ever go over a link.
    pub fn crosses(&self, flow: FlowId, link: LinkId) -> bool {
        self.epochs(flow).iter().any(|epoch| epoch.forward.contains(&link) || epoch.reverse.contains(&link))
    }

    /// Puts every limit of a queue into packets or bytes: times by the link's rate, bandwidth-delay products by it and the
    /// mean round trip of propagation of the flows that cross the link; where none does, its delay counts twice.
    fn fix_queue_limits(&mut self) {
        let mut round_trips = IdVec::<LinkId, (u128, u128)>::filled((0, 0), self.links.len());
        if self.links.iter().any(|link| link.config.queue.needs_path()) {
            for flow in self.flows.ids() {
                // A link has its round trip from the first way of the flow that leads over it.
                let mut seen = BTreeSet::new();
                for epoch in self.epochs(flow) {
                    let path = || epoch.forward.iter().chain(epoch.reverse);
                    let rtt: u128 =
                        path().map(|link| u128::from(self.links[*link].config.delay.as_nanos())).sum();
                    for link in path().filter(|link| seen.insert(**link)) {
                        let (sum, flows) = &mut round_trips[*link];
                        (*sum, *flows) = (*sum + rtt, *flows + 1);
                    }
                }
            }
        }
        for id in ids::<LinkId>(self.links.len()) {
            let config = &mut self.links[id].config;
            let rtt = match round_trips[id] {
                (_, 0) => config.delay * 2,
                (sum, flows) => Duration::from_nanos((sum / flows) as u64),
            };
            config.queue = config.queue.on_path(config.rate, Some(rtt));
        }
    }

    fn add_middlebox(&mut self, scenario: &Scenario, id: MiddleboxId) {
        let spec = scenario.middlebox(id);
        let nodes: Vec<NodeId> = spec.nodes().iter().map(|name| self.node(name)).collect();
        let chosen = |group: GroupId| {
            let names = spec.common().flows;
            names.is_empty() || names.contains(&scenario.group(group).name)
        };
        let passing =
            |flow: &FlowInstance| nodes.iter().all(|node| self.passes([&flow.forward, &flow.reverse], *node));
        let acted_on =
            |(id, flow): (FlowId, &FlowInstance)| (chosen(flow.group) && passing(flow)).then_some(id);
        let flows: Vec<FlowId> = self.flows.enumerated().filter_map(acted_on).collect();
        let between = match nodes[..] {
            [first, second] => {
                let path = |from: NodeId, to: NodeId| self.core_path(&self.nodes[from], &self.nodes[to]);
                [path(first, second).unwrap_or_default(), path(second, first).unwrap_or_default()]
            }
            _ => Default::default(),
        };
        let first = ConnectionId::new(self.connections());
        let connections = flows.iter().map(|flow| self.flows[*flow].connections).sum();
        self.middleboxes.push(MiddleboxInstance {
            name: spec.name().to_string(),
            id,
            nodes,
            own_connections: (first, spec.own_connections(connections)),
            flows,
            between,
            one_way: spec.is_one_way(),
        });
    }

    /// The host that sends to an endpoint, and that endpoint's host.
    pub fn hosts_to(&self, endpoint: EndpointId) -> [NodeId; 2] {
        let [client, server] = self.ends_of_connection(endpoint.connection());
        match endpoint.side() {
            Side::Client => [server, client],
            Side::Server => [client, server],
        }
    }

    /// The same of all endpoints, for links whose packets have the number of the endpoint that they go to.
    pub fn hosts_of_endpoints(&self) -> Hosts {
        let endpoints = ids(2 * self.connections());
        let hosts = endpoints.map(|endpoint| self.hosts_to(endpoint).map(|node: NodeId| u64::from(node.0)));
        Hosts::of_flows(hosts.collect::<Vec<_>>())
    }

    /// The flows of each QUIC connection, in the order of the document: flows between the same hosts whose settings give
    /// connections the same name share one.
    pub fn quic_connections(&self, scenario: &Scenario) -> Vec<Vec<FlowId>> {
        let mut connections: Vec<Vec<FlowId>> = vec![];
        let mut shared = BTreeMap::new();
        for (id, flow) in self.flows.enumerated() {
            let Some(quic) = scenario.group(flow.group).quic() else { continue };
            let name = quic.connection.as_ref().map(|name| (flow.from, flow.to, name.clone()));
            match name.as_ref().and_then(|name| shared.get(name)) {
                Some(connection) => {
                    let flows: &mut Vec<FlowId> = &mut connections[*connection];
                    flows.push(id);
                }
                None => {
                    shared.extend(name.map(|name| (name, connections.len())));
                    connections.push(vec![id]);
                }
            }
        }
        connections
    }

    /// True if packets of a flow pass a node, both ways, which is not one of its ends.
    pub(crate) fn passes(&self, [forward, reverse]: [&[LinkId]; 2], node: NodeId) -> bool {
        [forward, reverse].iter().all(|path| {
            path.split_last()
                .is_some_and(|(_, before)| before.iter().any(|link| self.links[*link].to == node))
        })
    }

    /// Connections of flows and of middleboxes.
    pub fn connections(&self) -> usize {
        self.middleboxes.last().map_or(self.connection_flows.len(), |last| {
            last.own_connections.0.index() + last.own_connections.1 as usize
        })
    }

    /// The flow whose endpoint this is.
    pub fn flow_of(&self, endpoint: EndpointId) -> FlowId {
        self.connection_flows[endpoint.connection()]
    }

    /// The links of each carrier that several share, in the order of its name.
    pub fn carriers(&self) -> Vec<Vec<LinkId>> {
        let mut carriers: BTreeMap<&str, Vec<LinkId>> = BTreeMap::new();
        for (id, link) in self.links.enumerated() {
            if let Some(place) = &link.config.carrier {
                carriers.entry(&place.carrier.name).or_default().push(id);
            }
        }
        carriers.into_values().collect()
    }

    /// Links of the scenario file.
    pub fn declared(&self) -> IdVec<DeclaredId, LinkId> {
        self.links.enumerated().filter(|(_, link)| link.declared).map(|(id, _)| id).collect()
    }
    /// The place of each link among those of the scenario file; `None` for private access links.
    pub fn places(&self) -> IdVec<LinkId, Option<DeclaredId>> {
        let mut places = IdVec::filled(None, self.links.len());
        self.declared().enumerated().for_each(|(place, link)| places[*link] = Some(place));
        places
    }

    /// Nodes of the active and the passive opener of a connection: a flow's, or a middlebox's own.
    pub fn ends_of_connection(&self, connection: ConnectionId) -> [NodeId; 2] {
        if let Some(flow) = self.connection_flows.get(connection) {
            let flow = &self.flows[*flow];
            return [flow.from, flow.to];
        }
        let owns = |middlebox: &&MiddleboxInstance| {
            let (first, count) = middlebox.own_connections;
            (first..first.after(count as usize)).contains(&connection)
        };
        let owner = self.middleboxes.iter().find(owns);
        owner.map_or([NodeId(0); 2], |middlebox| [middlebox.nodes[0], middlebox.nodes[1]])
    }

    /// All ways that packets may go, as they are at the start.
    pub fn ways(&self) -> Vec<Way> {
        let mut ways = vec![];
        for (id, flow) in self.flows.enumerated() {
            for connection in (0..flow.connections).map(|count| flow.first_connection.after(count)) {
                ways.extend(self.ways_of(id, &flow.forward, connection.end(Side::Server), false));
                ways.extend(self.ways_of(id, &flow.reverse, connection.end(Side::Client), true));
            }
        }
        for (id, middlebox) in self.middleboxes.enumerated() {
            let (first, count) = middlebox.own_connections;
            for own in (0..count as usize).map(|count| first.after(count)) {
                for (direction, links) in middlebox.between.iter().enumerate() {
                    ways.push(Network::way_between(id, own, direction, links));
                }
            }
        }
        ways
    }

    /// The ways that one of the [`Network::routes`]' lists changes, as they are from then on.
    pub fn moved_ways(&self, list: usize) -> Vec<Way> {
        let mut ways = vec![];
        for (which, links) in &self.routes.lists[list].ways {
            match *which {
                Routed::Flow(id, direction) => {
                    let flow = &self.flows[id];
                    let (to, reverse) = ([Side::Server, Side::Client][direction], direction == 1);
                    for connection in (0..flow.connections).map(|count| flow.first_connection.after(count)) {
                        ways.extend(self.ways_of(id, links, connection.end(to), reverse));
                    }
                }
                Routed::Between(id, direction) => {
                    let (first, count) = self.middleboxes[id].own_connections;
                    let own = (0..count as usize).map(|count| first.after(count));
                    ways.extend(own.map(|own| Network::way_between(id, own, direction, links)));
                }
            }
        }
        ways
    }

    /// The way of a middlebox's own connection from one of its nodes to the other.
    fn way_between(id: MiddleboxId, own: ConnectionId, direction: usize, links: &[LinkId]) -> Way {
        let end = |port| Step::Middlebox { middlebox: id, port };
        let steps = links.iter().map(|link| Step::Link(*link));
        let steps = [end(direction)].into_iter().chain(steps).chain([end(1 - direction)]).collect();
        Way { to: own.end([Side::Server, Side::Client][direction]), steps }
    }

    /// The way of a flow in one direction, in pieces where a middlebox at two nodes takes its place between them.
    fn ways_of(&self, flow: FlowId, links: &[LinkId], to: EndpointId, reverse: bool) -> Vec<Way> {
        let mut pieces = vec![Way { to, steps: vec![] }];
        // The middlebox between whose nodes the way is, if any.
        let mut inside = None;
        for (position, link) in links.iter().enumerate() {
            if inside.is_none() {
                pieces.last_mut().expect("there is one").steps.push(Step::Link(*link));
            }
            if position + 1 == links.len() {
                break;
            }
            for (middlebox, port) in self.middleboxes_at(self.links[*link].to, flow, links, reverse) {
                let step = Step::Middlebox { middlebox, port };
                let last = pieces.last_mut().expect("there is one");
                match inside {
                    Some(other) if other != middlebox => {}
                    Some(_) => {
                        inside = None;
                        pieces.push(Way { to, steps: vec![step] });
                    }
                    None => {
                        last.steps.push(step);
                        if self.middleboxes[middlebox].nodes.len() == 2 {
                            inside = Some(middlebox);
                        }
                    }
                }
            }
        }
        pieces
    }

    /// A middlebox that flows do not meet since they are on the long hop of another one there: it, and the other.
    pub(crate) fn hidden_middlebox(&self) -> Option<(MiddleboxId, MiddleboxId)> {
        for (id, flow) in self.flows.enumerated() {
            for (links, reverse) in [(&flow.forward, false), (&flow.reverse, true)] {
                let mut inside = None;
                for link in links.iter().take(links.len().saturating_sub(1)) {
                    for (middlebox, _) in self.middleboxes_at(self.links[*link].to, id, links, reverse) {
                        match inside {
                            Some(other) if other != middlebox => return Some((middlebox, other)),
                            Some(_) => inside = None,
                            None if self.middleboxes[middlebox].nodes.len() == 2 => inside = Some(middlebox),
                            None => {}
                        }
                    }
                }
            }
        }
        None
    }

    /// Middleboxes at a node that act on a flow, each with its port there, in the order in which packets meet them.
    fn middleboxes_at(
        &self,
        node: NodeId,
        flow: FlowId,
        way: &[LinkId],
        reverse: bool,
    ) -> Vec<(MiddleboxId, usize)> {
        let mut found: Vec<(MiddleboxId, usize)> = vec![];
        for (id, middlebox) in self.middleboxes.enumerated() {
            // Between two nodes a middlebox takes TCP's way into its own hands; what it cannot read keeps to the links.
            let passes_by = self.flows[flow].sealed && middlebox.nodes.len() == 2;
            if !passes_by && middlebox.flows.binary_search(&flow).is_ok() && self.meets(middlebox, way) {
                let port = middlebox.nodes.iter().position(|at| *at == node);
                found.extend(port.map(|port| (id, port)));
            }
        }
        if reverse {
            found.reverse();
        }
        found
    }

    /// False where a way goes by a middlebox that looks at packets the other way only.
    fn meets(&self, middlebox: &MiddleboxInstance, way: &[LinkId]) -> bool {
        let place = |node: NodeId| way.iter().position(|link| self.links[*link].to == node);
        match middlebox.nodes[..] {
            [first, second] if middlebox.one_way => place(first) < place(second),
            _ => true,
        }
    }

    /// The nodes and links of the document, without flows.
    pub(crate) fn graph(scenario: &Scenario) -> Network {
        let mut network = Network { nodes: Network::declared_nodes(scenario).into(), ..Network::default() };
        if let Some(dumbbell) = &scenario.dumbbell {
            let ends = [DumbbellSpec::LEFT, DumbbellSpec::RIGHT].map(|name| network.node(name));
            let bottleneck = &dumbbell.bottleneck;
            let configs = bottleneck.configs(DumbbellSpec::LINK, &scenario.run, &scenario.carrier);
            let configs = with_one_transmitter(configs, DumbbellSpec::LINK, bottleneck.half_duplex);
            network.add_link(DumbbellSpec::LINK, ends, &configs, &bottleneck.directions(), true);
        }
        for link in &scenario.link {
            let ends = [0, 1].map(|end| network.node(&link.ends[end]));
            let configs = link.configs(&link.name, &scenario.run, &scenario.carrier);
            let configs = with_one_transmitter(configs, &link.name, link.half_duplex);
            network.add_link(&link.name, ends, &configs, &link.directions(), true);
        }
        network
    }

    /// Names of the nodes of the document: listed, of the dumbbell, ends of links.
    pub(crate) fn declared_nodes(scenario: &Scenario) -> Vec<String> {
        let listed = scenario.node.iter().map(|node| node.name.clone());
        let routers = scenario.dumbbell.iter().flat_map(|_| [DumbbellSpec::LEFT, DumbbellSpec::RIGHT]);
        let ends = scenario.link.iter().flat_map(|link| link.ends.iter().cloned());
        let mut seen = BTreeSet::new();
        let all = listed.chain(routers.map(str::to_string)).chain(ends);
        all.filter(|name| seen.insert(name.clone())).collect()
    }

    /// Names of the links of the document.
    pub(crate) fn declared_links(scenario: &Scenario) -> Vec<String> {
        let dumbbell = scenario.dumbbell.iter().map(|_| DumbbellSpec::LINK.to_string());
        dumbbell.chain(scenario.link.iter().map(|link| link.name.clone())).collect()
    }

    /// Where a flow starts and ends: at its own nodes if given, else at the routers of the dumbbell.
    pub(crate) fn ends_of(scenario: &Scenario, flow: &FlowSpec) -> [Option<String>; 2] {
        let default = |name: &str| scenario.dumbbell.as_ref().map(|_| name.to_string());
        [
            flow.from.clone().or_else(|| default(DumbbellSpec::LEFT)),
            flow.to.clone().or_else(|| default(DumbbellSpec::RIGHT)),
        ]
    }

    /// Round trip time of a flow on one of its ways without any queue: propagation, and transmission of a data packet of `data` bytes
    /// and an ACK of `ack` bytes at every hop.
    pub fn base_rtt(&self, way: &Epoch<'_>, data: Size, ack: Size) -> Duration {
        let hop = |link: &LinkId, size| {
            let config = &self.links[*link].config;
            let len = config.usual_len(u32::try_from(Size::as_bytes(size)).unwrap_or(u32::MAX));
            config.delay + config.rate.transmission_time(Size::from_bytes(u64::from(len)))
        };
        let there = way.forward.iter().map(|link| hop(link, data));
        let back = way.reverse.iter().map(|link| hop(link, ack));
        there.chain(back).fold(Duration::ZERO, |sum, time| sum + time)
    }

    /// Rate of the slowest link of a path.
    pub fn bottleneck_rate(&self, path: &[LinkId]) -> Option<Rate> {
        self.slowest_link(path).map(|link| self.links[link].config.rate)
    }

    /// The link of a path with the least rate at the beginning, the first of them if several have it; `None` for an empty path.
    pub fn slowest_link(&self, path: &[LinkId]) -> Option<LinkId> {
        path.iter().copied().min_by_key(|link| self.links[*link].config.rate)
    }

    /// Rate of the slowest link between the two nodes of a middlebox; zero if it stands at one.
    pub fn rate_between(&self, middlebox: &MiddleboxInstance) -> Rate {
        let rates = middlebox.between.iter().filter_map(|path| self.bottleneck_rate(path));
        rates.min().unwrap_or(Rate::ZERO)
    }

    /// What lies between the two nodes of a middlebox: links of 1 Mbit/s if there are none.
    pub fn between(&self, middlebox: &MiddleboxInstance) -> Between {
        let rate = |path: &[LinkId]| self.bottleneck_rate(path).unwrap_or(Rate::from_bps(1_000_000));
        let links = middlebox.between.iter().flatten();
        let rtt = links.fold(Duration::ZERO, |sum, link| sum + self.links[*link].config.delay);
        Between { rates: [rate(&middlebox.between[0]), rate(&middlebox.between[1])], rtt }
    }

    /// Links from one node of the document to another; `None` if there is no way.
    pub(crate) fn core_path(&self, from: &str, to: &str) -> Option<Vec<LinkId>> {
        let position = |name: &str| self.nodes.position(|node| node == name);
        self.shortest(position(from)?, position(to)?, |link| link.declared)
    }

    /// Names of the nodes to which links of the document lead from `from`, itself among them.
    pub(crate) fn reachable(&self, from: &str) -> BTreeSet<&str> {
        let mut neighbours = IdVec::<NodeId, Vec<NodeId>>::filled(vec![], self.nodes.len());
        for link in self.links.iter().filter(|link| link.declared) {
            neighbours[link.from].push(link.to);
        }
        let mut open: Vec<NodeId> = self.nodes.position(|node| node == from).into_iter().collect();
        let mut reached = BTreeSet::new();
        while let Some(node) = open.pop() {
            if reached.insert(self.nodes[node].as_str()) {
                open.append(&mut neighbours[node]);
            }
        }
        reached
    }

    /// Links from any node to any other, private access links among them; `None` if there is no way.
    pub fn path(&self, from: NodeId, to: NodeId) -> Option<Vec<LinkId>> {
        self.shortest(from, to, |_| true)
    }

    /// The links of least propagation delay, then fewest hops, then the order of the document.
    fn shortest(
        &self,
        from: NodeId,
        to: NodeId,
        usable: impl Fn(&DirectedLink) -> bool,
    ) -> Option<Vec<LinkId>> {
        let links: Vec<(LinkId, &DirectedLink)> =
            self.links.enumerated().filter(|(_, link)| usable(link)).collect();
        // Bellman-Ford over (delay, hops): networks of the document are small.
        let mut best: IdVec<NodeId, Option<(Duration, usize, Option<LinkId>)>> =
            IdVec::filled(None, self.nodes.len());
        best[from] = Some((Duration::ZERO, 0, None));
        for _ in 0..self.nodes.len() {
            let mut changed = false;
            for (id, link) in &links {
                let Some((delay, hops, _)) = best[link.from] else { continue };
                let candidate = (delay + link.config.delay, hops + 1);
                if best[link.to].is_none_or(|(delay, hops, _)| candidate < (delay, hops)) {
                    best[link.to] = Some((candidate.0, candidate.1, Some(*id)));
                    changed = true;
                }
            }
            if !changed {
                break;
            }
        }
        let mut path = vec![];
        let mut node = to;
        while node != from {
            let link = best[node]?.2?;
            path.push(link);
            node = self.links[link].from;
        }
        path.reverse();
        Some(path)
    }

    fn node(&mut self, name: &str) -> NodeId {
        self.nodes.position(|node| node == name).unwrap_or_else(|| self.nodes.push(name.to_string()))
    }

    fn add_link(
        &mut self,
        name: &str,
        ends: [NodeId; 2],
        configs: &[Option<LinkConfig>; 2],
        settings: &[DirectionSpec; 2],
        declared: bool,
    ) -> [LinkId; 2] {
        let first = self.links.len();
        for (index, direction) in ["forward", "reverse"].into_iter().enumerate() {
            let Some(config) = configs[index].clone() else { continue };
            let (from, to) = (ends[index], ends[1 - index]);
            let mtu = settings[index].longest();
            let name = format!("{name}.{direction}");
            self.links.push(DirectedLink { name, from, to, declared, mtu, config });
        }
        [first, first + 1].map(LinkId::new)
    }

    /// Adds a transfer's hosts, and a flow for each of its streams.
    fn add_transfer(
        &mut self,
        transfer: Transfer,
        ends: [&str; 2],
        core: (Vec<LinkId>, Vec<LinkId>),
        access: Option<(&AccessSpec, &RunSpec)>,
    ) {
        let Transfer { name, group, streams, connections, sealed, start, stop } = transfer;
        let mut nodes = ends.map(|name| self.node(name));
        let (mut forward, mut reverse) = core;
        if let Some((access, run)) = access {
            let sides = access.configs(&name, run, &[]);
            let settings = access.directions();
            for (side, label) in ["from", "to"].into_iter().enumerate() {
                let host = self.nodes.push(format!("{name}.{label}"));
                let link_name = format!("{name}.{label}");
                let both = [sides[side].clone(), sides[side].clone()];
                let of_both = [settings[side].clone(), settings[side].clone()];
                let [up, down] = self.add_link(&link_name, [host, nodes[side]], &both, &of_both, false);
                if side == 0 {
                    forward.insert(0, up);
                    reverse.push(down);
                } else {
                    forward.push(down);
                    reverse.insert(0, up);
                }
                nodes[side] = host;
            }
        }
        let number = self.flows.last().map_or(0, |last| last.transfer + 1);
        for stream in 0..streams {
            let (first, flow) = (self.connection_flows.len(), FlowId::new(self.flows.len()));
            self.connection_flows.resize(first + connections, flow);
            self.flows.push(FlowInstance {
                name: if streams == 1 { name.clone() } else { format!("{name}.stream[{stream}]") },
                group,
                from: nodes[0],
                to: nodes[1],
                start,
                stop,
                transfer: number,
                stream,
                forward: forward.clone(),
                reverse: reverse.clone(),
                first_connection: ConnectionId::new(first),
                connections,
                sealed,
            });
        }
    }
}

/// Both directions of a link, with one transmitter if they share it.
fn with_one_transmitter(
    mut configs: [Option<LinkConfig>; 2],
    name: &str,
    shared: Option<HalfDuplexSpec>,
) -> [Option<LinkConfig>; 2] {
    for (side, config) in configs.iter_mut().enumerate() {
        if let Some(config) = config {
            config.half_duplex = shared.map(|spec| HalfDuplex { name: name.to_string(), side, spec });
        }
    }
    configs
}
