//! Ways over time: which links packets take between two nodes, and from when on. A run makes of each table the times that its seed
//! gives, and of all tables the ways of its flows from each of these times on.

use crate::Scenario;
use crate::network::{DirectedLink, FlowInstance, Network};
use crate::script::{Times, is_zero};
use longhaul_units::{Duration, FlowId, IdVec, Instant, LinkId, MiddleboxId, NodeId, Random};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Links that packets take from a point in time on, in the place of those that they took between the same two nodes before.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Route")]
pub struct RouteSpec {
    /// Names of links, in their order from one node to another. Every way that leads over both nodes, in this order or back, takes these
    /// links between them.
    pub via: Vec<String>,
    /// From when on, counted from the start of the run; with `every`, the first time. At `"0 s"`, if it is not given: ways begin
    /// so.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub at: Duration,
    /// Again and again, so far apart.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-exclusiveMinimum" = "0 s"))]
    pub every: Option<Duration>,
    /// Each time is later by a random time, uniform between zero and this; the next ones are not.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub jitter: Duration,
    /// Each time moves, and all that follow with it, by a random time up to this, earlier or later.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub drift: Duration,
    /// Names of the flows whose ways change; all that lead over both nodes, if it is not given.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flows: Vec<String>,
    /// Which way packets go that take these links.
    #[serde(default, skip_serializing_if = "RouteWay::is_default")]
    pub way: RouteWay,
    /// What becomes of packets that are on links which their way leaves.
    #[serde(default, skip_serializing_if = "InFlight::is_default")]
    pub in_flight: InFlight,
}

/// Which way packets go, as the links of `via` are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RouteWay {
    /// Both ways.
    #[default]
    Both,
    /// From the first link to the last; of one link, from its first end to its second.
    Forward,
    /// From the last link to the first.
    Reverse,
}

/// What becomes of packets that are on links, or wait for them, which their way leaves.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum InFlight {
    /// They come to the end of their link and go on from there. Packets on a shorter way overtake them.
    #[default]
    Kept,
    /// Nobody is at the end of that link any more: what comes there before the route changes again is lost.
    Lost,
}

impl RouteWay {
    fn is_default(&self) -> bool {
        *self == RouteWay::default()
    }
    fn takes(self, direction: usize) -> bool {
        match self {
            RouteWay::Both => true,
            RouteWay::Forward => direction == 0,
            RouteWay::Reverse => direction == 1,
        }
    }
}

impl InFlight {
    fn is_default(&self) -> bool {
        *self == InFlight::default()
    }
}

impl RouteSpec {
    fn times(&self) -> Times {
        Times { first: self.at, every: self.every, jitter: self.jitter, drift: self.drift }
    }

    /// What is wrong with its times in a run of this length, and the setting.
    pub(crate) fn check(&self, end: Duration) -> Result<(), (&'static str, String)> {
        self.times().check(end)
    }
}

/// Why links are no route.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Broken {
    /// There is none.
    Empty,
    /// There is no link of this name, at this place.
    Unknown(usize),
    /// This one does not begin where the one before it ends.
    Apart(usize),
    /// It comes to a node again, with this one.
    Loop(usize),
}

/// The links of one table, both ways, and the nodes that they lead from and to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Chain {
    ends: [NodeId; 2],
    links: [Vec<LinkId>; 2],
}

impl Chain {
    /// Of these names.
    pub fn new(links: &IdVec<LinkId, DirectedLink>, via: &[String]) -> Result<Chain, Broken> {
        let both = |name: &String| {
            let of =
                |side: &str| links.position(|link| link.declared && link.name == format!("{name}.{side}"));
            Some([of("forward")?, of("reverse")?])
        };
        let found: Vec<[LinkId; 2]> = via
            .iter()
            .enumerate()
            .map(|(place, name)| both(name).ok_or(Broken::Unknown(place)))
            .collect::<Result<_, _>>()?;
        let ends = |place: usize| [links[found[place][0]].from, links[found[place][0]].to];
        // The first link goes the way that ends where the second one begins.
        let backwards = match found.len() {
            0 => return Err(Broken::Empty),
            1 => false,
            _ => !ends(1).contains(&ends(0)[1]),
        };
        let first = ends(0)[usize::from(backwards)];
        let (mut node, mut seen) = (first, BTreeSet::from([first]));
        let mut chain = Chain { ends: [first; 2], links: [vec![], vec![]] };
        for (place, [there, back]) in found.iter().enumerate() {
            let side = ends(place).iter().position(|end| *end == node).ok_or(Broken::Apart(place))?;
            node = ends(place)[1 - side];
            if !seen.insert(node) {
                return Err(Broken::Loop(place));
            }
            let (out, home) = if side == 0 { (*there, *back) } else { (*back, *there) };
            chain.links[0].push(out);
            chain.links[1].push(home);
        }
        chain.links[1].reverse();
        chain.ends[1] = node;
        Ok(chain)
    }

    /// A way with these links in the place of those between both ends, and which direction of them it takes; `None` if it does not lead
    /// over both.
    fn put_into(&self, links: &IdVec<LinkId, DirectedLink>, way: &[LinkId]) -> Option<(usize, Vec<LinkId>)> {
        let place = |node: NodeId| match way.first() {
            Some(first) if links[*first].from == node => Some(0),
            _ => way.iter().position(|link| links[*link].to == node).map(|place| place + 1),
        };
        let (one, other) = (place(self.ends[0])?, place(self.ends[1])?);
        let direction = usize::from(one > other);
        let (begin, end) = (one.min(other), one.max(other));
        Some((direction, [&way[..begin], &self.links[direction], &way[end..]].concat()))
    }
}

/// True if a way comes to a node a second time.
fn has_loop(links: &IdVec<LinkId, DirectedLink>, way: &[LinkId]) -> bool {
    let mut seen: BTreeSet<NodeId> = way.first().map(|first| links[*first].from).into_iter().collect();
    !way.iter().all(|link| seen.insert(links[*link].to))
}

/// At a point in time ways change.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RouteChange {
    /// When.
    pub at: Instant,
    /// Which ways: the place in [`Moves::lists`].
    pub list: usize,
    /// Because of which table of the document.
    pub table: usize,
}

/// Ways that change together. `W` identifies a way.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MovedWays<W> {
    /// Each with its links from now on, in ascending order.
    pub ways: Vec<(W, Vec<LinkId>)>,
    /// What is on links that are not on the new way does not go on from there.
    pub lost: bool,
}

/// Ways over time.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Moves<W> {
    /// When ways change, in order.
    pub changes: Vec<RouteChange>,
    /// What changes. The same change at several times is there once.
    pub lists: Vec<MovedWays<W>>,
}

impl<W> Default for Moves<W> {
    fn default() -> Self {
        Moves { changes: vec![], lists: vec![] }
    }
}

impl<W: Ord> MovedWays<W> {
    /// The new links of a way, if it is among these.
    pub fn of(&self, way: &W) -> Option<&[LinkId]> {
        let place = self.ways.binary_search_by(|(moved, _)| moved.cmp(way)).ok()?;
        Some(&self.ways[place].1)
    }
}

impl<W: Ord> Moves<W> {
    /// True if a way ever changes.
    pub fn changes(&self, way: &W) -> bool {
        self.lists.iter().any(|list| list.of(way).is_some())
    }
}

/// A way of a network that a route may change.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Routed {
    /// Of a flow's packets, from the active to the passive opener (0) or back (1).
    Flow(FlowId, usize),
    /// Of a middlebox's own packets, from its first node to its second (0) or back (1).
    Between(MiddleboxId, usize),
}

/// The tables of a run, as links and times.
pub(crate) struct Tables<'a> {
    specs: &'a [RouteSpec],
    chains: Vec<Chain>,
    /// Time and table, in order.
    times: Vec<(Duration, usize)>,
}

/// A way comes to a node twice: by this table, at this time.
#[derive(Clone, Debug)]
pub(crate) struct Looping<W> {
    pub table: usize,
    pub at: Duration,
    pub way: W,
}

impl<'a> Tables<'a> {
    /// Of a valid scenario: tables whose links are no route have no effect.
    pub fn new(
        links: &IdVec<LinkId, DirectedLink>,
        specs: &'a [RouteSpec],
        end: Duration,
        seed: u64,
    ) -> Tables<'a> {
        let chains: Vec<Chain> = specs
            .iter()
            .map(|spec| {
                let nowhere = Chain { ends: [NodeId(u32::MAX); 2], links: [vec![], vec![]] };
                Chain::new(links, &spec.via).unwrap_or(nowhere)
            })
            .collect();
        let of_table = |(table, spec): (usize, &RouteSpec)| {
            let mut random = Random::stream(seed, &format!("route {table}"));
            spec.times().until(end, &mut random).into_iter().map(move |at| (at, table))
        };
        let mut times: Vec<(Duration, usize)> = specs.iter().enumerate().flat_map(of_table).collect();
        times.retain(|(at, _)| *at < end);
        times.sort_unstable();
        Tables { specs, chains, times }
    }

    pub fn is_empty(&self) -> bool {
        self.specs.is_empty()
    }

    /// The nodes from which and to which the links of a table lead.
    pub fn ends(&self, table: usize) -> [NodeId; 2] {
        self.chains[table].ends
    }

    /// Puts the links into a way that it has at the start. `takes` is false for tables that leave it alone.
    pub fn begin(
        &self,
        links: &IdVec<LinkId, DirectedLink>,
        way: &mut Vec<LinkId>,
        takes: impl Fn(&RouteSpec) -> bool,
    ) {
        for (_, table) in self.times.iter().take_while(|(at, _)| at.is_zero()) {
            if takes(&self.specs[*table]) {
                self.put(links, *table, way);
            }
        }
    }

    /// True if the way has changed.
    fn put(&self, links: &IdVec<LinkId, DirectedLink>, table: usize, way: &mut Vec<LinkId>) -> bool {
        match self.chains[table].put_into(links, way) {
            Some((direction, new)) if self.specs[table].way.takes(direction) && new != *way => {
                *way = new;
                true
            }
            _ => false,
        }
    }

    /// True if a table is for ways like this one, whether or not it has its links already.
    pub fn leads_over(&self, links: &IdVec<LinkId, DirectedLink>, table: usize, way: &[LinkId]) -> bool {
        let found = self.chains[table].put_into(links, way);
        found.is_some_and(|(direction, _)| self.specs[table].way.takes(direction))
    }

    /// How these ways, as they are at the start, change.
    ///
    /// # Errors
    /// A way that would come to a node twice.
    pub fn moves<W: Copy>(
        &self,
        links: &IdVec<LinkId, DirectedLink>,
        ways: &[(W, Vec<LinkId>)],
        takes: impl Fn(&RouteSpec, W) -> bool,
    ) -> Result<Moves<W>, Looping<W>> {
        if let Some((way, _)) = ways.iter().find(|(_, way)| has_loop(links, way)) {
            let table = self.times.first().map_or(0, |(_, table)| *table);
            return Err(Looping { table, at: Duration::ZERO, way: *way });
        }
        let mut now: Vec<Vec<LinkId>> = ways.iter().map(|(_, way)| way.clone()).collect();
        let mut moves = Moves::default();
        // Each state of all ways has a number; what a table makes of one is computed once.
        let mut states: BTreeMap<Vec<Vec<LinkId>>, usize> = BTreeMap::from([(now.clone(), 0)]);
        let mut all = vec![now.clone()];
        let mut known: BTreeMap<(usize, usize), (usize, Option<usize>)> = BTreeMap::new();
        let mut state = 0;
        for (at, table) in &self.times {
            let (next, list) = match known.get(&(state, *table)) {
                Some(known) => *known,
                None => {
                    now.clone_from(&all[state]);
                    let mut moved = vec![];
                    for (way, (which, _)) in now.iter_mut().zip(ways) {
                        if takes(&self.specs[*table], *which) && self.put(links, *table, way) {
                            if has_loop(links, way) {
                                return Err(Looping { table: *table, at: *at, way: *which });
                            }
                            moved.push((*which, way.clone()));
                        }
                    }
                    let next = *states.entry(now.clone()).or_insert_with(|| {
                        all.push(now.clone());
                        all.len() - 1
                    });
                    let list = (!moved.is_empty()).then(|| {
                        let lost = self.specs[*table].in_flight == InFlight::Lost;
                        moves.lists.push(MovedWays { ways: moved, lost });
                        moves.lists.len() - 1
                    });
                    known.insert((state, *table), (next, list));
                    (next, list)
                }
            };
            state = next;
            let change = |list| RouteChange { at: Instant::ZERO + *at, list, table: *table };
            moves.changes.extend(list.map(change));
        }
        Ok(moves)
    }
}

/// Ways between nodes, for worlds that see the hosts of packets and not their flows.
pub struct HostRoutes<'a> {
    scenario: &'a Scenario,
    network: &'a Network,
    tables: Tables<'a>,
}

impl<'a> HostRoutes<'a> {
    /// Of a valid scenario and its network.
    pub fn new(scenario: &'a Scenario, network: &'a Network) -> HostRoutes<'a> {
        let run = &scenario.run;
        HostRoutes {
            scenario,
            network,
            tables: Tables::new(&network.links, &scenario.route, run.duration, run.seed),
        }
    }

    /// The links from one node to another at the start.
    pub fn path(&self, from: NodeId, to: NodeId) -> Vec<LinkId> {
        let mut way = self.network.path(from, to).unwrap_or_default();
        if !self.tables.is_empty() {
            self.tables.begin(&self.network.links, &mut way, |spec| self.takes(spec, [from, to]));
        }
        way
    }

    /// How ways change, by their places in this list; each has the nodes between which it is.
    pub fn moves(&self, ways: &[([NodeId; 2], Vec<LinkId>)]) -> Moves<usize> {
        if self.tables.is_empty() {
            return Moves::default();
        }
        let numbered: Vec<(usize, Vec<LinkId>)> =
            ways.iter().enumerate().map(|(place, (_, way))| (place, way.clone())).collect();
        let takes = |spec: &RouteSpec, place: usize| self.takes(spec, ways[place].0);
        self.tables.moves(&self.network.links, &numbered, takes).unwrap_or_default()
    }

    /// Whether a route is for packets between two nodes: hosts of flows that it names, or one such host and a router.
    fn takes(&self, spec: &RouteSpec, [a, b]: [NodeId; 2]) -> bool {
        let flows = self.network.flows.as_slice();
        let is_host = |node: NodeId| flows.iter().any(|flow| flow.from == node || flow.to == node);
        let both = is_host(a) && is_host(b);
        let joins = |flow: &FlowInstance| match both {
            true => (flow.from, flow.to) == (a, b) || (flow.from, flow.to) == (b, a),
            false => [flow.from, flow.to].iter().any(|end| *end == a || *end == b),
        };
        spec.flows.is_empty() || flows.iter().any(|flow| self.names(spec, flow) && joins(flow))
    }

    fn names(&self, spec: &RouteSpec, flow: &FlowInstance) -> bool {
        spec.flows.contains(&self.scenario.group(flow.group).name)
    }

    /// Two flows between the same hosts of which a route is for one only, by name: where packets are known by their hosts, they
    /// cannot have different ways.
    pub fn parted(&self) -> Option<[&'a str; 2]> {
        let ends = |flow: &FlowInstance| (flow.from.min(flow.to), flow.from.max(flow.to));
        for spec in self.scenario.route.iter().filter(|spec| !spec.flows.is_empty()) {
            let mut seen: BTreeMap<(NodeId, NodeId), &FlowInstance> = BTreeMap::new();
            for flow in self.network.flows.as_slice() {
                let other = *seen.entry(ends(flow)).or_insert(flow);
                if self.names(spec, flow) != self.names(spec, other) {
                    return Some([other, flow].map(|flow| &self.scenario.group(flow.group).name[..]));
                }
            }
        }
        None
    }
}
