//! The links of a world, and the ways of its packets over them.

use longhaul_path::Hosts;
use longhaul_scenario::{DirectedLink, Step, Ties};
use longhaul_units::{IdVec, Instant, LinkId};

/// A way on which packets go: all of it, or up to or from a middlebox that ends connections.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Way {
    /// Number of the packets that go it, [`crate::Freight::row`]. Of all ways with one number, at most one leads over a link, and
    /// at most one on from a port of a middlebox.
    pub row: usize,
    /// Its steps, in order. A way from a middlebox begins with it.
    pub steps: Vec<Step>,
}

/// Ways that change together.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct WaysMoved {
    /// All ways of the rows that change, from then on.
    pub ways: Vec<Way>,
    /// Packets on links that are no longer on their way are lost at the ends of these.
    pub lost: bool,
}

/// Links, middleboxes and ways.
pub struct Topology<'a> {
    /// The links.
    pub links: &'a IdVec<LinkId, DirectedLink>,
    /// How many middleboxes stand between them.
    pub middleboxes: usize,
    /// All ways, as they are at the start.
    pub ways: Vec<Way>,
    /// How they change.
    pub moves: Vec<WaysMoved>,
    /// When, in order: a point in time, and the place among `moves`.
    pub changes: Vec<(Instant, usize)>,
    /// [`Way::row`] is below this.
    pub rows: usize,
    /// Links draw from streams of this seed, one for each name.
    pub seed: u64,
    /// The order of events at one time.
    pub ties: Ties,
    /// Hosts of packets, where these do not state them.
    pub hosts: Hosts,
    /// Scripts of links may change while the world is at work: [`crate::Fabric::follow`].
    pub changeable: bool,
}
