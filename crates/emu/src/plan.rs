//! What a world of real packets is made from: a scenario's links and middleboxes, the ways between hosts, and what is known of flows.

use crate::Error;
use crate::addresses::Ranges;
use crate::frame::{PROTOCOL_TCP, PROTOCOL_UDP};
use crate::own;
use crate::stage::Stage;
use longhaul_fabric::{Topology, Way};
use longhaul_path::Hosts;
use longhaul_scenario::{
    DirectedLink, FlowInstance, FlowSpec, MiddleboxInstance, Network, Scenario, Step, TooBig, Transport,
};
use longhaul_traffic::Side;
use longhaul_units::{FlowId, HostId, Id, IdVec, MiddleboxId, NodeId, ids};
use std::collections::{BTreeMap, HashMap};
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

/// The number of the way from one end to another.
pub(crate) fn way_between(ends: usize, from: usize, to: usize) -> usize {
    from * ends + to
}

/// Routers on ways, for each way one list behind the other.
#[derive(Default)]
pub(crate) struct Passed {
    begins: Vec<u32>,
    all: Vec<HostId>,
}

impl Passed {
    fn of(lists: &[Vec<HostId>]) -> Passed {
        let mut passed = Passed { begins: vec![0], all: vec![] };
        for list in lists {
            passed.all.extend(list);
            passed.begins.push(passed.all.len() as u32);
        }
        passed
    }

    /// Those on a way.
    pub fn on(&self, way: usize) -> &[HostId] {
        let place = |way: usize| self.begins.get(way).map_or(self.all.len(), |begin| *begin as usize);
        &self.all[place(way)..place(way + 1)]
    }
}

impl<'a> Plan<'a> {
    /// Of a scenario. `hosts` are nodes with their addresses, in the order of their numbers; those of routers are of `ranges`.
    ///
    /// # Errors
    /// A middlebox that is not for real packets.
    pub fn new(
        scenario: &Scenario,
        network: &'a Network,
        hosts: &[(NodeId, Vec<IpAddr>)],
        ranges: &Ranges,
    ) -> Result<Self, Error> {
        let of_hosts: Vec<NodeId> = hosts.iter().map(|(node, _)| *node).collect();
        let Between { nodes, ways: between, first_hops } = Between::new(scenario, network, &of_hosts);
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
            ends,
            first_hops,
            addresses,
            known: network.flows.iter().map(|flow| Known::new(scenario.group(flow.group))).collect(),
        })
    }
}

/// Hosts, then the routers between them, and the ways between these ends, by their numbers.
struct Between {
    nodes: Vec<NodeId>,
    ways: BTreeMap<(usize, usize), Vec<Step>>,
    first_hops: Vec<Option<HostId>>,
}

impl Between {
    /// Ways between hosts, from each host to the routers on these, and back.
    fn new(scenario: &Scenario, network: &Network, hosts: &[NodeId]) -> Between {
        let mut nodes = hosts.to_vec();
        let mut ends: HashMap<NodeId, usize> =
            nodes.iter().enumerate().map(|(end, node)| (*node, end)).collect();
        let mut ways = BTreeMap::new();
        let mut first_hops = vec![None; hosts.len()];
        for (a, from) in hosts.iter().enumerate() {
            for (b, to) in hosts.iter().enumerate() {
                let steps = way(scenario, network, *from, *to);
                for (position, step) in steps.iter().enumerate() {
                    let Step::Link(link) = step else { continue };
                    let node = network.links[*link].to;
                    let end = *ends.entry(node).or_insert_with(|| {
                        nodes.push(node);
                        nodes.len() - 1
                    });
                    first_hops[a].get_or_insert(HostId::new(end));
                    // Hosts have ways of their own.
                    if end >= hosts.len() {
                        ways.entry((a, end)).or_insert_with(|| steps[..=position].to_vec());
                        ways.entry((end, a)).or_insert_with(|| way(scenario, network, node, *from));
                    }
                }
                ways.insert((a, b), steps);
            }
        }
        Between { nodes, ways, first_hops }
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

/// The way from one node to another: links, and the middleboxes at the nodes between them that act on flows of these ends.
fn way(scenario: &Scenario, network: &Network, from: NodeId, to: NodeId) -> Vec<Step> {
    let joins = |flow: &FlowInstance, a: NodeId, b: NodeId| flow.from == a && flow.to == b;
    let any = |a: NodeId, b: NodeId| network.flows.iter().any(|flow| joins(flow, a, b));
    // Forward packets meet the middleboxes at a node in the order of the document, others in the opposite one.
    let reverse = any(to, from) && !any(from, to);
    let links = network.path(from, to).unwrap_or_default();
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
