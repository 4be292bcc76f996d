//! What a link and a queue need of a packet.

/// A packet of any kind.
pub trait Packet {
    /// Bytes on the wire, IP header included, 1 to 65,575.
    fn wire_len(&self) -> u32;
    /// Marks the packet as having met congestion (RFC 3168 section 5); false if it is not ECN-capable.
    fn mark_congestion(&mut self) -> bool;
    /// Flips a bit that a checksum at its end covers, chosen by `draw`; false if there is none, and then nothing is changed. A
    /// packet that is damaged already stays as it is.
    fn damage(&mut self, _draw: u64) -> bool {
        false
    }
    /// Marks it as one that comes out of the link twice: whoever takes it off the link makes the copy. False if there is no such
    /// mark.
    fn duplicate(&mut self) -> bool {
        false
    }
    /// The flow that it belongs to, in one direction: equal for all of its packets, and for no packet of another.
    fn flow(&self) -> u64;
    /// The flow's share in disciplines that serve flows by weight, at least 1.
    fn weight(&self) -> u8 {
        1
    }
}
