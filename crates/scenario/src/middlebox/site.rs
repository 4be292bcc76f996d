//! Where a middlebox stands, the same for every world: what is made of its table depends on it. Worlds differ in how they number
//! connections.

use super::Parameters;
use crate::{MiddleboxInstance, Network, Scenario, TcpSpec};
use longhaul_middlebox::split::{MakeCongestionControl, Plan, Plans, Side};
use longhaul_middlebox::{Established, KnownEnd};
use longhaul_tcp::{Config, Reading};
use longhaul_units::{
    ConnectionId, FlowId, GroupId, Id, IdVec, LinkId, MiddleboxId, Random, Rate, Size, ids,
};
use std::sync::{Arc, Mutex, PoisonError};

/// Where a middlebox stands.
#[derive(Clone, Copy)]
pub struct Site<'a> {
    pub(crate) scenario: &'a Scenario,
    pub(crate) network: &'a Network,
    pub(crate) instance: &'a MiddleboxInstance,
    /// The number of its first own connection, if it has any.
    pub(crate) own: ConnectionId,
    /// Connections of flows have the numbers that the network gives them.
    as_in_network: bool,
    /// Which of its two nodes draws random numbers; none where it stands at one.
    node: Option<usize>,
}

impl<'a> Site<'a> {
    /// In a world that numbers connections as the network does.
    pub fn numbered(scenario: &'a Scenario, network: &'a Network, id: MiddleboxId) -> Self {
        let instance = &network.middleboxes[id];
        let own = instance.own_connections.0;
        Site { scenario, network, instance, own, as_in_network: true, node: None }
    }

    /// In a world where numbers of connections stand for addresses: a middlebox acts on all flows in the same way. `first_own` is the
    /// number of the first connection that a middlebox has of its own.
    pub fn addressed(
        scenario: &'a Scenario,
        network: &'a Network,
        id: MiddleboxId,
        first_own: ConnectionId,
    ) -> Self {
        let instance = &network.middleboxes[id];
        let own = first_own.after(instance.own_connections.0.index() - network.connection_flows.len());
        Site { scenario, network, instance, own, as_in_network: false, node: None }
    }

    /// The groups of the flows that it acts on.
    pub fn groups(&self) -> Vec<GroupId> {
        let group = |flow: &FlowId| self.network.flows[*flow].group;
        let mut groups: Vec<GroupId> = self.instance.flows.iter().map(group).collect();
        groups.dedup();
        groups
    }

    /// What `make` makes for each of its two nodes, which draw random numbers from streams of their own.
    pub(crate) fn for_both<T>(&self, make: impl Fn(Site<'_>) -> T) -> [T; 2] {
        [0, 1].map(|node| make(Site { node: Some(node), ..*self }))
    }

    /// The stream of random numbers of this middlebox, or of one of its nodes, for this purpose.
    pub(crate) fn random(&self, what: &str) -> Random {
        let node = self.node.map_or(String::new(), |node| format!(" {node}"));
        Random::stream(self.scenario.run.seed, &format!("middlebox {} {what}{node}", self.instance.name))
    }

    /// One end of its connections with these settings; `what` names the stream of seeds for their congestion controls.
    pub(crate) fn side(&self, tcp: &TcpSpec, reading: Reading, what: &str) -> Side {
        let draws = Mutex::new(self.random(&format!("congestion {what}")));
        let maker = Arc::new(tcp.clone());
        let congestion: MakeCongestionControl = Arc::new(move || {
            let seed = draws.lock().unwrap_or_else(PoisonError::into_inner).bits();
            maker.congestion_control(seed)
        });
        Side { config: Config { reading, ..tcp.config() }, congestion }
    }

    /// Rate of the slowest link of a way between its nodes (0: from the first), and the bytes that it adds to a packet.
    pub(crate) fn thin_line(&self, way: usize) -> (Rate, u32) {
        let config = |link: &LinkId| &self.network.links[*link].config;
        let thin = self.instance.between[way].iter().map(config).min_by_key(|config| config.rate);
        let framing = thin.and_then(|config| config.serial).map_or(0, |serial| serial.framing.bytes());
        (thin.map_or(Rate::ZERO, |config| config.rate), framing)
    }

    /// The largest MSS of its flows.
    pub(crate) fn largest_mss(&self) -> Size {
        let mss = |flow: &FlowId| self.scenario.group(self.network.flows[*flow].group).tcp.mss;
        self.instance.flows.iter().map(mss).max().unwrap_or(Size::from_bytes(1460))
    }

    /// How a proxy makes the connections to the hosts of each flow.
    pub(crate) fn plans(&self, proxy: &impl Parameters) -> Plans {
        let plan = |group| self.plan(proxy, group);
        if !self.as_in_network {
            let first = self.groups().first().copied().unwrap_or(GroupId(0));
            return Plans { plans: vec![plan(first)], of: IdVec::new() };
        }
        let group = |flow: &FlowId| self.network.flows[*flow].group.0;
        Plans {
            plans: ids(self.scenario.flow.len()).map(plan).collect(),
            of: self.network.connection_flows.iter().map(group).collect(),
        }
    }

    fn plan(&self, proxy: &impl Parameters, group: GroupId) -> Plan {
        let flow = self.scenario.group(group);
        let [near, far] = proxy.host_tcp(&flow.tcp).expect("only proxies have plans");
        let side = |tcp, what| self.side(tcp, Reading::Manual, &format!("{} {what}", flow.name));
        Plan {
            near: side(&near, "near"),
            far: side(&far, "far"),
            established: flow.tcp.established.then(|| flow.tcp.config()),
        }
    }

    /// Which turn each connection has on the connections of a long hop; none where connections come as they come.
    pub(crate) fn turns(&self) -> IdVec<ConnectionId, u32> {
        if !self.as_in_network {
            return IdVec::new();
        }
        let mut turns = 0..;
        let turn = |flow: &FlowId| {
            let acted_on = self.instance.flows.binary_search(flow).is_ok();
            if acted_on { turns.next().unwrap_or(0) } else { 0 }
        };
        self.network.connection_flows.iter().map(turn).collect()
    }

    /// What the two ends of flows without a handshake offer from the start.
    pub(crate) fn established(&self) -> Established {
        let flows = &self.scenario.flow;
        if !self.as_in_network || !flows.iter().any(|flow| flow.tcp.established) {
            return Established::default();
        }
        let known = |tcp: &TcpSpec| tcp.established.then(|| [KnownEnd::of(&tcp.config()); 2]);
        let of_group: IdVec<GroupId, Option<[KnownEnd; 2]>> =
            flows.iter().map(|flow| known(&flow.tcp)).collect();
        let group = |flow: &FlowId| self.network.flows[*flow].group;
        Established(self.network.connection_flows.iter().map(|flow| of_group[group(flow)]).collect())
    }
}
