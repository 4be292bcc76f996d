//! What a world of real packets is made from: a scenario's links and middleboxes, the ways between hosts, and what is known of flows.

use crate::Error;
use crate::frame::{PROTOCOL_TCP, PROTOCOL_UDP};
use crate::own;
use crate::stage::Stage;
use longhaul_fabric::{Topology, Way};
use longhaul_scenario::{FlowInstance, FlowSpec, MiddleboxInstance, Network, Scenario, Step};
use longhaul_traffic::Side;
use longhaul_units::{FlowId, HostId, IdVec, MiddleboxId, NodeId, ids};
use std::collections::HashMap;
use std::net::IpAddr;

/// See above.
pub struct Plan<'a> {
    /// Links, and one way for each ordered pair of hosts, numbered by [`way_between`]; behind them those of the middleboxes' own
    /// connections, numbered by [`own::way`].
    pub(crate) topology: Topology<'a>,
    pub(crate) stages: IdVec<MiddleboxId, Stage>,
    /// Addresses of the ends of the middleboxes' own connections.
    pub(crate) own_ends: Vec<[IpAddr; 2]>,
    /// How many hosts there are.
    pub(crate) hosts: usize,
    pub(crate) addresses: HashMap<IpAddr, HostId>,
    /// The scenario's flows, in the order of their ports.
    pub(crate) known: IdVec<FlowId, Known>,
}

/// The number of the way from one host to another.
pub(crate) fn way_between(hosts: usize, from: usize, to: usize) -> usize {
    from * hosts + to
}

impl<'a> Plan<'a> {
    /// Of a scenario. `hosts` are nodes with their addresses, in the order of their numbers.
    ///
    /// # Errors
    /// A middlebox that is not for real packets.
    pub fn new(
        scenario: &Scenario,
        network: &'a Network,
        hosts: &[(NodeId, Vec<IpAddr>)],
    ) -> Result<Self, Error> {
        let count = hosts.len();
        let mut ways = vec![];
        for (a, (from, _)) in hosts.iter().enumerate() {
            for (b, (to, _)) in hosts.iter().enumerate() {
                ways.push(Way { row: way_between(count, a, b), steps: way(scenario, network, *from, *to) });
            }
        }
        ways.extend(own::ways(network, count));
        let own_ends = own::ends(network);
        let topology = Topology {
            links: &network.links,
            middleboxes: network.middleboxes.len(),
            ways,
            rows: count * count + 2 * own_ends.len(),
            seed: scenario.run.seed,
            ties: scenario.run.ties,
        };
        let stages = network.middleboxes.ids().map(|id| Stage::new(scenario, network, id));
        let addresses = ids(count)
            .zip(hosts)
            .flat_map(|(number, (_, addresses))| addresses.iter().map(move |address| (*address, number)));
        Ok(Plan {
            topology,
            stages: stages.collect::<Result<IdVec<_, _>, Error>>()?,
            own_ends,
            hosts: count,
            addresses: addresses.collect(),
            known: network.flows.iter().map(|flow| Known::new(scenario.group(flow.group))).collect(),
        })
    }
}

/// What is known of a flow beforehand.
pub(crate) struct Known {
    pub weight: u8,
    /// Its data comes from the passive opener.
    pub server_sends: bool,
    /// It is carried by this protocol.
    pub protocol: u8,
}

impl Known {
    fn new(spec: &FlowSpec) -> Known {
        let server_sends = spec.app.data_sender() == Side::Server;
        let protocol = if spec.quic().is_some() { PROTOCOL_UDP } else { PROTOCOL_TCP };
        Known { weight: spec.weight, server_sends, protocol }
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
