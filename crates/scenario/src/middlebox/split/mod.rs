//! The table of a split connection proxy.

mod hop;
mod local_queue;
mod long;

pub use hop::{Between, CarrierSpec, CodingSpec, HopSpec, ShareSpec, TransportOfHop};
pub use local_queue::LocalQueueSpec;
pub use long::{ConnectionsSpec, FramingSpec, LongSpec};

use super::{OnOthers, Parameters, RealPackets, Site, middlebox, proxy};
use crate::validate::Checker;
use crate::{BufferSpec, MiddleboxInstance, Network, Scenario, TcpChanges, TcpSpec};
use longhaul_middlebox::split::{self, FlowControl, LongHop};
use longhaul_middlebox::{Middlebox, Payload, SingleSplit, TwoNodes};
use longhaul_tcp::Reading;
use longhaul_units::{Limit, Size};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toml::Spanned;
use toml::de::{DeValue, ValueDeserializer};

middlebox! {
    /// A split connection proxy. Without `peer` it stands at one node; with it, at two, with a long hop between them.
    SplitSpec {
        /// Name of the second node. The first is the one of `at`; it makes no difference which is which.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub peer: Option<String>,
        /// What differs from the flow's own settings in the connection to the active opener.
        #[serde(default, skip_serializing_if = "TcpChanges::is_empty")]
        pub near: TcpChanges,
        /// What differs from the flow's own settings in the connection to the passive opener.
        #[serde(default, skip_serializing_if = "TcpChanges::is_empty")]
        pub far: TcpChanges,
        /// What crosses the long hop. TCP: what differs from its default settings; connections are `established` from the start
        /// and without Nagle's algorithm unless set otherwise; their MSS is the largest of the flows. Or, with
        /// `transport = "hop"`, the accelerator's own transport.
        #[serde(default, skip_serializing_if = "LongSpec::is_default")]
        pub long: LongSpec,
        /// Receive buffer of each connection to a host: its window closes as it fills. With a local queue it is not limited.
        #[serde(default = "proxy::one_megabyte")]
        pub buffer: Size,
        /// Connections over the long hop: a number that the flows share, or `"per_flow"`.
        #[serde(default)]
        pub connections: ConnectionsSpec,
        /// How the flows' data are distinguished on the long hop.
        #[serde(default)]
        pub framing: FramingSpec,
        /// A queue before the split that drops; without it windows keep the hosts back.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub local_queue: Option<LocalQueueSpec>,
    }
}

impl SplitSpec {
    /// The accelerator's transport, if the long hop has it.
    pub fn hop(&self) -> Option<&HopSpec> {
        match &self.long {
            LongSpec::Hop(spec) if self.peer.is_some() => Some(spec),
            _ => None,
        }
    }
    /// Settings of TCP connections over the long hop with these changes, for flows of which the largest has this MSS.
    fn long_tcp(long: &TcpChanges, mss: Size) -> TcpSpec {
        let base = TcpSpec {
            mss,
            established: true,
            nagle: false,
            // A connection that all flows share is not given up.
            max_retransmissions: u32::MAX,
            ..TcpSpec::default()
        };
        TcpSpec { receive_autotuning: None, ..long.over(&base) }
    }

    /// What is for two nodes, at one; or for TCP on the long hop, on another.
    fn not_concerned(&self, check: &mut Checker, message: &str, help: Option<&str>) {
        for (field, given) in [
            ("connections", self.connections != ConnectionsSpec::default()),
            ("framing", self.framing != FramingSpec::default()),
            ("local_queue", self.local_queue.is_some()),
        ] {
            if given {
                check.problem_with_help(&[field], message, help.map(str::to_string));
            }
        }
    }

    fn over_tcp<B: Payload>(&self, long: &TcpChanges, site: &Site<'_>) -> TwoNodes<B> {
        let tcp = SplitSpec::long_tcp(long, site.largest_mss());
        let limit = match tcp.receive_buffer {
            BufferSpec::Limited(_) => Some(self.buffer.as_bytes()),
            BufferSpec::Unlimited => None,
        };
        let (control, reading) = match &self.local_queue {
            Some(queue) => {
                let rate = site.network.rate_between(site.instance);
                (FlowControl::LocalQueue(queue.settings(rate)), Reading::Immediate)
            }
            None if limit.is_some() => (FlowControl::Window(limit), Reading::Manual),
            None => (FlowControl::Window(None), Reading::Immediate),
        };
        let long_hop = |node: &Site<'_>| LongHop {
            side: node.side(&tcp, reading, "long hop"),
            established: tcp.established,
            connections: site.instance.own_connections.1,
            framing: self.framing.framing(),
            buffer: self.buffer.as_bytes(),
            first_number: site.own,
            positions: site.turns(),
        };
        let name = format!("middlebox {}", site.instance.name);
        let nodes = site.for_both(|node| (node.plans(self), long_hop(&node)));
        split::distributed_split(nodes, control, site.scenario.run.seed, &name)
    }
}

impl Parameters for SplitSpec {
    fn peer(&self) -> Option<&str> {
        self.peer.as_deref()
    }
    fn check(&self, scenario: &Scenario, check: &mut Checker) {
        if self.peer.as_ref() == Some(&self.at) {
            let message = format!("both nodes are \"{}\"; without `peer` it stands at one", self.at);
            check.problem(&["peer"], message);
        }
        if self.peer.is_none() {
            let message = "is for a split at two nodes";
            let help = "name the second node, as in peer = \"remote\"";
            if !self.long.is_default() {
                check.problem_with_help(&["long"], message, Some(help.to_string()));
            }
            self.not_concerned(check, message, Some(help));
        }
        if let Some(hop) = self.hop() {
            let message = "is for TCP on the long hop, not for `transport = \"hop\"`";
            self.not_concerned(check, message, None);
            check.within("long", None, |check| hop.check(check));
        }
        if let ConnectionsSpec::Shared(count) = self.connections {
            if count == 0 || count > MOST_LONG_CONNECTIONS {
                let message = format!("from 1 to {MOST_LONG_CONNECTIONS} connections, or \"per_flow\"");
                check.problem(&["connections"], message);
            }
        }
        check.host_changes(&self.near, &self.far);
        for flow in proxy::groups(scenario, &self.flows) {
            let buffer = self.local_queue.is_none().then_some(self.buffer);
            if !check.proxied(flow, self, buffer) {
                return;
            }
            let mss = flow.tcp.mss;
            check.within("long", None, |check| match &self.long {
                LongSpec::Tcp(long) => check.tcp(&SplitSpec::long_tcp(long, mss)),
                LongSpec::Hop(hop) => check.within("tcp", None, |check| check.tcp(&hop.tcp(mss))),
            });
        }
    }
    fn check_placed(&self, network: &Network, instance: &MiddleboxInstance, check: &mut Checker) {
        if let Some(queue) = &self.local_queue {
            queue.check(network.rate_between(instance), check);
        }
    }
    fn own_connections(&self, connections: usize) -> u32 {
        match (&self.long, self.connections) {
            _ if self.peer.is_none() => 0,
            (LongSpec::Hop(hop), _) => hop.own_connections(),
            (LongSpec::Tcp(_), ConnectionsSpec::Shared(count)) => u32::try_from(count).unwrap_or(u32::MAX),
            (LongSpec::Tcp(_), ConnectionsSpec::PerFlow) => connections as u32,
        }
    }
    fn host_tcp(&self, flow: &TcpSpec) -> Option<[TcpSpec; 2]> {
        let buffer = match self.local_queue {
            None => BufferSpec::Limited(Limit::Bytes(self.buffer)),
            Some(_) => BufferSpec::Unlimited,
        };
        Some([&self.near, &self.far].map(|changes| proxy::host_tcp(changes, flow, buffer)))
    }
    fn on_others(&self) -> OnOthers {
        OnOthers::Unchanged(match self.hop() {
            Some(_) => "; on the links between its nodes these flows compete with the hop",
            None => "",
        })
    }
    fn real_packets(&self) -> Result<RealPackets, &'static str> {
        match self.framing {
            FramingSpec::Header => Ok(RealPackets::default()),
            FramingSpec::Pepid => Err(
                "`framing = \"pepid\"` is a field that takes no room, which real packets do not have: use \
                                       `framing = \"header\"`",
            ),
        }
    }
    fn error_in(mut table: Spanned<DeValue<'_>>) -> Option<toml::de::Error> {
        if let DeValue::Table(fields) = table.get_mut() {
            if let Some((_, long)) = fields.remove_entry("long") {
                if let Some(error) = LongSpec::error_in(long) {
                    return Some(error);
                }
            }
        }
        SplitSpec::deserialize(ValueDeserializer::from(table)).err()
    }
    fn build<B: Payload>(&self, site: &Site<'_>) -> Box<dyn Middlebox<B>> {
        match &self.long {
            _ if self.peer.is_none() => Box::new(SingleSplit::new(site.plans(self), site.random("isn"))),
            LongSpec::Tcp(long) => Box::new(self.over_tcp(long, site)),
            LongSpec::Hop(hop) => Box::new(hop.build(self, site)),
        }
    }
}

/// Most connections over a long hop.
const MOST_LONG_CONNECTIONS: u64 = 100_000;
