//! What a world of real packets is made from: a scenario's links and middleboxes, the ways between hosts, and what is known of flows.

use crate::Error;
use crate::addresses::Ranges;
use crate::frame::{PROTOCOL_TCP, PROTOCOL_UDP};
use crate::own;
use crate::stage::Stage;
use longhaul_fabric::{Topology, Way, WaysMoved};
use longhaul_path::Hosts;
use longhaul_scenario::{
    DirectedLink, FlowInstance, FlowSpec, HostRoutes, MiddleboxInstance, Network, Scenario, Step, TooBig,
    Transport,
};
use longhaul_traffic::Side;
use longhaul_units::{FlowId, HostId, Id, IdVec, Instant, LinkId, MiddleboxId, NodeId, ids};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::IpAddr;

/// See above.
pub struct Plan<'a> {
    /// Links, and one way for each ordered pair of ends of which one is a host, numbered by [`way_between`]; behind them those of the
    /// middleboxes' own connections, numbered by [`own::way`].
    pub(crate) topology: Topology<'a>,
    pub(crate) stages: IdVec<MiddleboxId, Stage>,
    /// Addresses of the ends of the middleboxes' own connections.
    pub(crate) own_ends: Vec<[IpAddr; 2]>,
    /// How many hosts there are; routers follow them in the numbers of ends.
    pub(crate) hosts: usize,
    /// Addresses of all ends.
    pub(crate) ends: IdVec<HostId, [IpAddr; 2]>,
    /// The routers that packets pass on each way, in their order.
    pub(crate) passed: Passed,
    /// Links on ways that do not carry every packet, by the number of the way.
    pub(crate) narrow: HashMap<usize, Vec<Narrow>>,
    /// Ways that change, as they are then, by the topology's `moves`.
    pub(crate) later: Vec<Vec<Later>>,
    /// The first end on the way of each host's packets that lead nowhere.
    pub(crate) first_hops: Vec<Option<HostId>>,
    pub(crate) addresses: HashMap<IpAddr, HostId>,
    /// The scenario's flows, in the order of their ports.
    pub(crate) known: IdVec<FlowId, Known>,
}

/// A link of a way with an MTU.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Narrow {
    /// How many links of the way come before it: that many routers have passed a packet on, the last one of them to it.
    pub behind: usize,
    /// Its longest packet in bytes.
    pub mtu: u16,
    /// The sender of a longer one is told.
    pub told: bool,
}

/// Links of a way with an MTU, in order.
fn narrow(network: &Network, steps: &[Step]) -> Vec<Narrow> {
    let links = steps.iter().filter_map(|step| match step {
        Step::Link(link) => Some(&network.links[*link]),
        Step::Middlebox { .. } => None,
    });
    let of = |(behind, link): (usize, &DirectedLink)| {
        let (mtu, too_big) = link.mtu?;
        Some(Narrow { behind, mtu, told: too_big == TooBig::Reported })
    };
    links.enumerate().filter_map(of).collect()
}

/// A way as it is from a change on.
pub(crate) struct Later {
    /// Its number.
    pub way: usize,
    /// The routers on it.
    pub routers: Vec<HostId>,
    /// Its links that do not carry every packet.
    pub narrow: Vec<Narrow>,
}

/// The number of the way from one end to another.
pub(crate) fn way_between(ends: usize, from: usize, to: usize) -> usize {
    from * ends + to
}

/// Routers on ways, for each way one list behind the other.
#[derive(Default)]
pub(crate) struct Passed {
    begins: Vec<u32>,
    all: Vec<HostId>,
    /// Of ways that have changed.
    changed: HashMap<usize, Vec<HostId>>,
}

impl Passed {
    fn of(lists: &[Vec<HostId>]) -> Passed {
        let mut passed = Passed { begins: vec![0], ..Passed::default() };
        for list in lists {
            passed.all.extend(list);
            passed.begins.push(passed.all.len() as u32);
        }
        passed
    }

    /// A way is another one from now on.
    pub fn change(&mut self, way: usize, routers: &[HostId]) {
        self.changed.insert(way, routers.to_vec());
    }

    /// Those on a way.
    pub fn on(&self, way: usize) -> &[HostId] {
        if let Some(changed) = self.changed.get(&way) {
            return changed;
        }
        let place = |way: usize| self.begins.get(way).map_or(self.all.len(), |begin| *begin as usize);
        &self.all[place(way)..place(way + 1)]
    }
}

impl<'a> Plan<'a> {
    /// Of a scenario. `hosts` are nodes with their addresses, in the order of their numbers; those of routers are of `ranges`.
    ///
    /// # Errors
    /// A middlebox that is not for real packets; flows between the same hosts with different ways.
    pub fn new(
        scenario: &Scenario,
        network: &'a Network,
        hosts: &[(NodeId, Vec<IpAddr>)],
        ranges: &Ranges,
    ) -> Result<Self, Error> {
        let of_hosts: Vec<NodeId> = hosts.iter().map(|(node, _)| *node).collect();
        let routes = HostRoutes::new(scenario, network);
        if let Some([one, other]) = routes.parted() {
            return Err(Error::Unsupported(format!(
                "a [[route]] is for \"{one}\" or \"{other}\" alone, and both are between the same hosts: real packets are known by their \
                 hosts; give the flows hosts of their own"
            )));
        }
        let Between { nodes, ways: between, first_hops, mut changes, moves } =
            Between::new(scenario, network, &routes, &of_hosts);
        let count = nodes.len();
        let numbers: HashMap<NodeId, usize> =
            nodes.iter().enumerate().map(|(end, node)| (*node, end)).collect();
        let mut lists = vec![vec![]; count * count];
        let mut ways = vec![];
        let mut narrow_links = HashMap::new();
        for ((from, to), steps) in between {
            let row = way_between(count, from, to);
            let found = narrow(network, &steps);
            if !found.is_empty() {
                narrow_links.insert(row, found);
            }
            lists[row] = Between::passed(network, &numbers, &steps);
            ways.push(Way { row, steps });
        }
        ways.extend(own::ways(network, count));
        let (mut moved_ways, mut later) = (vec![], vec![]);
        for (list, lost) in moves {
            let (mut moved, mut then) = (vec![], vec![]);
            for ((from, to), steps) in list {
                let row = way_between(count, from, to);
                let routers = Between::passed(network, &numbers, &steps);
                then.push(Later { way: row, routers, narrow: narrow(network, &steps) });
                moved.push(Way { row, steps });
            }
            moved_ways.push(WaysMoved { ways: moved, lost });
            later.push(then);
        }
        let between_hosts = moved_ways.len();
        for (list, moved) in network.routes.lists.iter().enumerate() {
            moved_ways.push(WaysMoved { ways: own::moved(network, count, list), lost: moved.lost });
            later.push(vec![]);
        }
        changes.extend(
            network
                .routes
                .changes
                .iter()
                .map(|change| (change.at, change.table, between_hosts + change.list)),
        );
        changes.sort_unstable();
        let own_ends = own::ends(network, ranges);
        let ends: IdVec<HostId, [IpAddr; 2]> = nodes
            .iter()
            .map(|node| {
                let (v4, v6) = ranges.of(*node);
                [v4.into(), v6.into()]
            })
            .collect();
        let topology = Topology {
            links: &network.links,
            middleboxes: network.middleboxes.len(),
            ways,
            moves: moved_ways,
            changes: changes.into_iter().map(|(at, _, list)| (at, list)).collect(),
            rows: count * count + 2 * own_ends.len(),
            seed: scenario.run.seed,
            ties: scenario.run.ties,
            hosts: Hosts::default(),
            changeable: true,
        };
        let stages = network.middleboxes.ids().map(|id| Stage::new(scenario, network, id));
        let of_hosts = ids(hosts.len())
            .zip(hosts)
            .flat_map(|(number, (_, addresses))| addresses.iter().map(move |address| (*address, number)));
        let of_routers =
            ends.enumerated().skip(hosts.len()).flat_map(|(number, both)| both.map(|one| (one, number)));
        let addresses: HashMap<IpAddr, HostId> = of_routers.chain(of_hosts).collect();
        Ok(Plan {
            topology,
            stages: stages.collect::<Result<IdVec<_, _>, Error>>()?,
            own_ends,
            hosts: hosts.len(),
            passed: Passed::of(&lists),
            narrow: narrow_links,
            later,
            ends,
            first_hops,
            addresses,
            known: network.flows.iter().map(|flow| Known::new(scenario.group(flow.group))).collect(),
        })
    }
}

/// Ways between ends, by their numbers.
type Ways = BTreeMap<(usize, usize), Vec<Step>>;

/// Hosts, then the routers between them, and the ways between these ends, by their numbers.
struct Between {
    nodes: Vec<NodeId>,
    ways: Ways,
    first_hops: Vec<Option<HostId>>,
    /// When ways change, because of which table, and the place among `moves`.
    changes: Vec<(Instant, usize, usize)>,
    /// What they are then, and whether packets on the old ones are lost.
    moves: Vec<(Ways, bool)>,
}

impl Between {
    /// Ways between hosts, from each host to the routers on these, and back.
    fn new(scenario: &Scenario, network: &Network, routes: &HostRoutes<'_>, hosts: &[NodeId]) -> Between {
        let mut nodes = hosts.to_vec();
        let mut numbers: HashMap<NodeId, usize> =
            nodes.iter().enumerate().map(|(end, node)| (*node, end)).collect();
        let pairs = (0..hosts.len()).flat_map(|a| (0..hosts.len()).map(move |b| (a, b)));
        let mut places: Vec<(usize, usize)> = pairs.collect();
        let mut links: Vec<([NodeId; 2], Vec<LinkId>)> =
            places.iter().map(|(a, b)| ([hosts[*a], hosts[*b]], routes.path(hosts[*a], hosts[*b]))).collect();
        // Ways that come later may lead over other routers.
        let later = routes.moves(&links).lists;
        let later = later.iter().flat_map(|list| &list.ways).map(|(place, way)| (*place, way));
        let first = links.iter().map(|(_, way)| way).enumerate();
        let mut first_hops = vec![None; hosts.len()];
        let mut back = BTreeSet::new();
        for (place, way) in first.chain(later) {
            let a = places[place].0;
            for link in way {
                let node = network.links[*link].to;
                let end = *numbers.entry(node).or_insert_with(|| {
                    nodes.push(node);
                    nodes.len() - 1
                });
                first_hops[a].get_or_insert(HostId::new(end));
                if end >= hosts.len() {
                    back.insert((end, a));
                }
            }
        }
        for (router, a) in back {
            places.push((router, a));
            links.push(([nodes[router], hosts[a]], routes.path(nodes[router], hosts[a])));
        }
        let moved = routes.moves(&links);
        // Of ways between hosts those from a host to the routers on them follow.
        let with_prefixes = |given: &mut dyn Iterator<Item = (usize, &Vec<LinkId>)>| {
            let mut ways = Ways::new();
            for (place, way) in given {
                let (a, b) = places[place];
                let steps = steps(scenario, network, links[place].0, way);
                for (position, step) in steps.iter().enumerate().filter(|_| a < hosts.len()) {
                    let Step::Link(link) = step else { continue };
                    let end = numbers[&network.links[*link].to];
                    // Hosts have ways of their own.
                    if end >= hosts.len() {
                        ways.entry((a, end)).or_insert_with(|| steps[..=position].to_vec());
                    }
                }
                ways.insert((a, b), steps);
            }
            ways
        };
        let mut ways = with_prefixes(&mut links.iter().map(|(_, way)| way).enumerate());
        let moves: Vec<(Ways, bool)> = moved
            .lists
            .iter()
            .map(|list| (with_prefixes(&mut list.ways.iter().map(|(place, way)| (*place, way))), list.lost))
            .collect();
        // To a router that is on no way at the start, packets go as they will then.
        for (ends, steps) in moves.iter().flat_map(|(list, _)| list) {
            ways.entry(*ends).or_insert_with(|| steps.clone());
        }
        let changes = moved.changes.iter().map(|change| (change.at, change.table, change.list)).collect();
        Between { nodes, ways, first_hops, changes, moves }
    }

    /// The ends between the links of a way.
    fn passed(network: &Network, ends: &HashMap<NodeId, usize>, steps: &[Step]) -> Vec<HostId> {
        let node = |step: &Step| match step {
            Step::Link(link) => Some(network.links[*link].to),
            Step::Middlebox { .. } => None,
        };
        let mut passed: Vec<HostId> =
            steps.iter().filter_map(node).map(|node| HostId::new(ends[&node])).collect();
        passed.pop();
        passed
    }
}

/// A QUIC packet of so many bytes has data in it.
const LEAST_QUIC_DATA: u32 = 150;

/// What is known of a flow beforehand.
pub(crate) struct Known {
    pub weight: u8,
    /// Its data comes from the passive opener.
    pub server_sends: bool,
    /// It is carried by this protocol.
    pub protocol: u8,
    /// Bytes of payload of its data packets at least: ACKs have fewer.
    pub least: u32,
}

impl Known {
    fn new(spec: &FlowSpec) -> Known {
        let server_sends = spec.app.data_sender() == Side::Server;
        let (protocol, least) = match spec.transport {
            Transport::Tcp => (PROTOCOL_TCP, 1),
            // ACKs of QUIC cannot be distinguished from data but by their length.
            Transport::Quic => (PROTOCOL_UDP, LEAST_QUIC_DATA),
            Transport::Udp => (PROTOCOL_UDP, 1),
        };
        Known { weight: spec.weight, server_sends, protocol, least }
    }
}

/// The way from one node to another over these links, and the middleboxes at the nodes between them that act on flows of these ends.
fn steps(scenario: &Scenario, network: &Network, [from, to]: [NodeId; 2], links: &[LinkId]) -> Vec<Step> {
    let joins = |flow: &FlowInstance, a: NodeId, b: NodeId| flow.from == a && flow.to == b;
    let any = |a: NodeId, b: NodeId| network.flows.iter().any(|flow| joins(flow, a, b));
    // Forward packets meet the middleboxes at a node in the order of the document, others in the opposite one.
    let reverse = any(to, from) && !any(from, to);
    let inner = &links[..links.len().saturating_sub(1)];
    let place = |node: NodeId| inner.iter().position(|link| network.links[*link].to == node);
    let acts = |instance: &MiddleboxInstance| {
        let chosen = |flow: &FlowId| {
            let flow = &network.flows[*flow];
            joins(flow, from, to) || joins(flow, to, from)
        };
        let on_the_way = instance.nodes.iter().all(|node| place(*node).is_some());
        let faces = !instance.one_way || place(instance.nodes[0]) < place(instance.nodes[1]);
        let named = !scenario.middlebox(instance.id).common().flows.is_empty();
        on_the_way && faces && (!named || instance.flows.iter().any(chosen))
    };
    let mut steps = vec![];
    for (position, link) in links.iter().enumerate() {
        steps.push(Step::Link(*link));
        if position + 1 == links.len() {
            break;
        }
        let node = network.links[*link].to;
        let here = network.middleboxes.iter().filter(|instance| acts(instance)).filter_map(|instance| {
            let port = instance.nodes.iter().position(|at| *at == node)?;
            Some(Step::Middlebox { middlebox: instance.id, port })
        });
        let mut here: Vec<Step> = here.collect();
        if reverse {
            here.reverse();
        }
        steps.append(&mut here);
    }
    steps
}
