//! Split connections: a proxy ends the connection of each host and has connections of its own beyond.
//!
//! * [`SingleSplit`] stands at one node, as I-TCP and PEPsal do: host, proxy, host.
//! * [`SplitNode`]s stand at two, at the ends of a long hop: host, split start, split end, host. The flows share one
//!   connection over the long hop, or several, or have one each ("A split connection PEP in ns-2", Innsbruck, 2009). Each is a value of
//!   its own, and gets from the other what is in the packets of the long hop.
//!
//! Hosts are answered with the address of the other host, so that they notice nothing; the paper's hosts address the PEP.
//!
//! **Keep:** every byte once and in order to the right host; half-close; a reset or a host that no longer answers ends the
//! connection at the other host too. Within a flow the order of data and its end is kept over the long hop.
//!
//! **Break:** the handshake is answered before the other host is contacted; an ACK means that the data has reached the proxy,
//! not the host; a FIN is acknowledged before the other host has it. So the hosts no longer share one fate: what the proxy
//! has acknowledged and not delivered is lost if the proxy breaks down, if the receiving host resets the connection, or
//! no longer answers (counted as `lost_acknowledged_bytes`). Sequence numbers differ on both sides of the proxy, so that a
//! connection cannot go on without it. Round trips measured by hosts end at the proxy.
//!
//! After [`fail`](crate::Middlebox::fail) every connection is unknown: hosts that send are answered with a reset, new
//! connections are refused, and the long hop is silent.

mod counts;
pub mod flow;
pub(crate) mod hosts;
pub mod local;
mod local_queue;
mod long_end;
mod node;
pub mod record;
mod settings;
mod single;

pub use local_queue::LocalQueueSettings;
pub use node::SplitNode;
pub use settings::{FlowControl, LongHop};
pub use single::SingleSplit;

use crate::Payload;
use crate::nodes::{ByNumber, Node, TwoNodes};

use longhaul_cc::CongestionControl;
use longhaul_tcp::Config;
use longhaul_units::{ConnectionId, IdVec};
use std::sync::Arc;

/// Makes the congestion control of a new connection.
pub type MakeCongestionControl = Arc<dyn Fn() -> Box<dyn CongestionControl> + Send + Sync>;

/// The proxy's connections on one side.
#[derive(Clone)]
pub struct Side {
    /// Their settings.
    pub config: Config,
    /// Their congestion control.
    pub congestion: MakeCongestionControl,
}

/// How the connections of a flow are made.
#[derive(Clone)]
pub struct Plan {
    /// Towards the active opener.
    pub near: Side,
    /// Towards the passive opener.
    pub far: Side,
    /// The settings of the hosts, if their connections are established from the start.
    pub established: Option<Config>,
}

/// Plans for all connections.
#[derive(Clone)]
pub struct Plans {
    /// All that there are; at least one.
    pub plans: Vec<Plan>,
    /// Which of them each connection has, by its number; those beyond the end have the first.
    pub of: IdVec<ConnectionId, u32>,
}

impl Plans {
    pub(crate) fn of(&self, connection: ConnectionId) -> &Plan {
        let index = self.of.get(connection).copied().unwrap_or(0);
        &self.plans[index as usize]
    }
}

/// Unsent data that the proxy keeps ready at a connection, in segments: enough that it never waits for more, and little, so
/// that data waits where flow control counts it.
const READY_SEGMENTS: u64 = 2;

/// Both nodes in one world, each with its own plans and its own end of the long hop: they draw from streams of their own.
pub fn distributed_split<P: Payload>(
    nodes: [(Plans, LongHop); 2],
    control: FlowControl,
    seed: u64,
    name: &str,
) -> TwoNodes<P> {
    let node = |side, (plans, long_hop)| -> Box<dyn Node<P>> {
        Box::new(SplitNode::new(side, plans, long_hop, control, Box::new(ByNumber), seed, name))
    };
    let [first, second] = nodes;
    TwoNodes::of_proxy([node(0, first), node(1, second)], matches!(control, FlowControl::LocalQueue(_)))
}
