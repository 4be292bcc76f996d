//! What can be set of a split at two nodes.

use super::Side;
use super::local_queue::LocalQueueSettings;
use super::record::Framing;
use longhaul_units::{ConnectionId, IdVec};

/// What keeps hosts from sending more than the long hop takes.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum FlowControl {
    /// The windows that the split offers to the hosts. With a limit, the far end takes nothing more from the long hop while
    /// a host has not acknowledged so many bytes.
    Window(Option<u64>),
    /// A queue before the split, which drops.
    LocalQueue(LocalQueueSettings),
}

/// The connections over the long hop.
#[derive(Clone)]
pub struct LongHop {
    /// Their settings at both ends.
    pub side: Side,
    /// They are there from the start; otherwise each is opened when it is first needed.
    pub established: bool,
    /// How many there are. A flow keeps to one of them.
    pub connections: u32,
    /// How records are delimited.
    pub framing: Framing,
    /// Bytes of a flow that may wait for a slow host, more or less.
    pub buffer: u64,
    /// Number of the first of them as a connection.
    pub first_number: ConnectionId,
    /// Position of each flow among those that take turns on these connections, by its number.
    pub positions: IdVec<ConnectionId, u32>,
}

impl LongHop {
    /// Which of them a flow keeps to.
    pub(super) fn of(&self, flow: ConnectionId) -> usize {
        let position = self.positions.get(flow).copied().unwrap_or(flow.0);
        (position % self.connections.max(1)) as usize
    }
}
