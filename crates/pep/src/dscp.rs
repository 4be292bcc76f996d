//! The class of a client's packets (DSCP, RFC 2474), read from the opening packet that the kernel keeps for a listener.

use longhaul_segment::ip;

/// Least length of an IP header in bytes.
const HEADER: usize = 20;

/// The code point of a packet that begins with its IP header, 0 to 63; `None` for anything else.
pub fn of_packet(packet: &[u8]) -> Option<u8> {
    let whole = packet.len() >= HEADER;
    ip::traffic_class(packet).filter(|_| whole).map(|class| class >> 2)
}

/// The byte of the IP header with this code point, without marks of congestion.
pub fn traffic_class(dscp: u8) -> u32 {
    u32::from(dscp & 63) << 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_families_are_read() {
        let mut v4 = [0u8; 40];
        v4[..2].copy_from_slice(&[0x45, 0xb9]);
        assert_eq!(of_packet(&v4), Some(46), "expedited forwarding, with a mark of congestion");
        let mut v6 = [0u8; 60];
        v6[..2].copy_from_slice(&[0x6b, 0x80]);
        assert_eq!(of_packet(&v6), Some(46));
        assert_eq!(of_packet(&v4[..19]), None);
        assert_eq!(of_packet(&[]), None);
        assert_eq!(traffic_class(46), 0xb8);
    }
}
