//! What a link and a queue need to know of a packet.

/// A packet of any kind.
pub trait Packet {
    /// Bytes on the wire, IP header included, 1 to 65,575.
    fn wire_len(&self) -> u32;
    /// Marks the packet as having met congestion (RFC 3168 section 5); false if it is not ECN-capable.
    fn mark_congestion(&mut self) -> bool;
    /// The flow that it belongs to, in one direction: equal for all of its packets, and for no packet of another.
    fn flow(&self) -> u64;
    /// The flow's share in disciplines that serve flows by weight, at least 1.
    fn weight(&self) -> u8 {
        1
    }
}
