//! What a world brings: the kind of its packets, and who is notified of what happens to them.

use longhaul_path::link::Fate;
use longhaul_path::{DropCause, Link, Packet};
use longhaul_units::{Id, Instant, LinkId, MiddleboxId};

/// Packets of a world, and the store of what belongs to them but does not travel with them.
pub trait Freight {
    /// What links hand on. A copy is made where it is cheap only: in the lanes of the simulation.
    type Packet: Packet + Clone + Send + 'static;
    /// Header compression on a line.
    type Line;

    /// Which of the topology's ways a packet goes: [`crate::Way::row`] of all ways that it may be on.
    fn row(packet: &Self::Packet) -> usize;

    /// The second packet, if it comes out of a link twice ([`Packet::duplicate`]), whose mark is taken away.
    fn copy(&mut self, packet: &mut Self::Packet) -> Option<Self::Packet>;

    /// A packet is at a node between two steps of its way, which it does not reach ahead of time.
    #[inline]
    fn pass(&mut self, _packet: &mut Self::Packet) {}

    /// A packet is no more.
    fn release(&mut self, packet: Self::Packet);

    /// Offers a packet to a link with header compression.
    fn offer_coded(
        &self,
        now: Instant,
        link: &mut Link<Self::Packet>,
        line: &mut Self::Line,
        packet: &mut Self::Packet,
    ) -> Fate;
}

/// Who is notified of what happens to packets on links.
pub trait Observer<F: Freight> {
    /// A packet was dropped, or will be lost on the wire at a time still to come.
    fn dropped(&mut self, now: Instant, link: LinkId, packet: &F::Packet, freight: &F, cause: DropCause);
    /// A packet is offered to a link that is watched.
    fn offered(&mut self, now: Instant, link: LinkId, packet: &F::Packet, freight: &F);
    /// A packet is at the far end of a link.
    #[inline]
    fn delivered(&mut self, _now: Instant, _link: LinkId, _packet: &F::Packet) {}
    /// A packet is at the far end of a link that its way has left: it is lost there. It counts as delivered by the link.
    #[inline]
    fn left_behind(&mut self, _now: Instant, _link: LinkId, _packet: &F::Packet, _freight: &F) {}
    /// A packet has come out of a link twice.
    #[inline]
    fn copied(&mut self) {}
}

/// A middlebox and which of its nodes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Port {
    middlebox: u16,
    node: u16,
}

impl Port {
    /// Of a middlebox the first node (0) or the second (1).
    #[inline]
    pub fn new(middlebox: MiddleboxId, node: usize) -> Port {
        Port { middlebox: middlebox.0 as u16, node: node as u16 }
    }
    /// The middlebox.
    #[inline]
    pub fn middlebox(self) -> MiddleboxId {
        MiddleboxId::new(usize::from(self.middlebox))
    }
    /// Which of its nodes: 0, or 1 for the second.
    #[inline]
    pub fn node(self) -> usize {
        usize::from(self.node)
    }
    /// Its place in lists of all ports.
    #[inline]
    pub(crate) fn index(self) -> usize {
        2 * usize::from(self.middlebox) + usize::from(self.node)
    }
}
