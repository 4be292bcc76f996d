//! Packets as they are seen on real wires, put together by hand, and what every decoded packet must fulfil.

use longhaul_segment::checksum::Checksum;
use longhaul_segment::{EncodeError, Flags, ip, wire};

/// A Linux client's SYN: MSS 1460, SACK-permitted, timestamps, window scale 7.
pub const SYN: [u8; 60] = [
    0x45, 0x00, 0x00, 0x3c, // version 4, IHL 5; total length 60
    0x1c, 0x46, 0x40, 0x00, // id; DF
    0x40, 0x06, 0x32, 0x3f, // TTL 64, TCP, header checksum
    192, 0, 2, 1, // source
    198, 51, 100, 2, // destination
    0xd4, 0x31, 0x01, 0xbb, // ports 54321, 443
    0x8f, 0x1e, 0x2d, 0x3c, // sequence number
    0x00, 0x00, 0x00, 0x00, // no acknowledgment
    0xa0, 0xc2, 0xfa, 0xf0, // 10 words; SYN asking for ECN (ECE, CWR); window 64240
    0xf7, 0x36, 0x00, 0x00, // checksum, urgent pointer
    0x02, 0x04, 0x05, 0xb4, // MSS
    0x04, 0x02, 0x08, 0x0a, // SACK-permitted; timestamps
    0x00, 0x12, 0xd6, 0x87, //
    0x00, 0x00, 0x00, 0x00, //
    0x01, 0x03, 0x03, 0x07, // NOP, window scale
];

/// An ACK on an ECN-capable path with timestamps and three SACK blocks, the sequence numbers about to wrap.
pub const ACK: [u8; 80] = [
    0x45, 0x02, 0x00, 0x50, // ECT(0); total length 80
    0x00, 0x00, 0x40, 0x00, // id 0; DF
    0x34, 0x06, 0x5a, 0x6f, // TTL 52
    198, 51, 100, 2, //
    192, 0, 2, 1, //
    0x01, 0xbb, 0xd4, 0x31, //
    0x11, 0x22, 0x33, 0x44, // sequence number
    0xff, 0xff, 0xfc, 0x00, // acknowledgment
    0xf0, 0x10, 0x01, 0xf5, // 15 words; ACK; window 501
    0x70, 0x6d, 0x00, 0x00, //
    0x01, 0x01, 0x08, 0x0a, // NOP, NOP, timestamps
    0x7b, 0x3f, 0x0a, 0x91, //
    0x00, 0x12, 0xd6, 0xeb, //
    0x01, 0x01, 0x05, 0x1a, // NOP, NOP, SACK with three blocks
    0x00, 0x00, 0x0f, 0x48, 0x00, 0x00, 0x14, 0xf0, //
    0x00, 0x00, 0x03, 0xa0, 0x00, 0x00, 0x09, 0x48, //
    0xff, 0xff, 0xfe, 0x00, 0xff, 0xff, 0xff, 0xa8, //
];

/// A FIN with timestamps, marked for expedited forwarding (DSCP 46).
pub const FIN: [u8; 52] = [
    0x45, 0xb8, 0x00, 0x34, //
    0x1c, 0x50, 0x40, 0x00, //
    0x40, 0x06, 0x31, 0x85, //
    192, 0, 2, 1, //
    198, 51, 100, 2, //
    0xd4, 0x31, 0x01, 0xbb, //
    0x8f, 0x1e, 0x2f, 0x00, //
    0x11, 0x22, 0x3a, 0x00, //
    0x80, 0x11, 0x00, 0xe5, // 8 words; FIN, ACK; window 229
    0x3b, 0x1f, 0x00, 0x00, //
    0x01, 0x01, 0x08, 0x0a, //
    0x00, 0x12, 0xe0, 0x00, //
    0x7b, 0x3f, 0x14, 0x01, //
];

/// Three bytes over IPv6, with a flow label and ECT(0).
pub const DATA_V6: [u8; 63] = [
    0x60, 0x2a, 0xbc, 0xde, // version 6, traffic class 02, flow label abcde
    0x00, 0x17, 0x06, 0x39, // payload length 23, TCP, hop limit 57
    0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, //
    0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, //
    0x9c, 0x40, 0x00, 0x50, // ports 40000, 80
    0x00, 0x00, 0x00, 0x01, //
    0x00, 0x00, 0x03, 0xe8, //
    0x50, 0x18, 0x04, 0x00, // 5 words; PSH, ACK; window 1024
    0x14, 0x96, 0x00, 0x00, //
    b'G', b'E', b'T', //
];

/// Writes the right checksums into a packet as far as its headers can be found, so that a mutation is not stopped
/// by the first checksum.
pub fn mend_checksums(packet: &mut [u8]) {
    let Some(first) = packet.first() else { return };
    let start = if first >> 4 == 6 { 40 } else { usize::from(first & 15) * 4 };
    if first >> 4 == 4 && start >= 20 && packet.len() >= start {
        set_checksum(&mut packet[..start], 10, Checksum::new());
    }
    // The TCP checksum's extent and pseudo-header, as the IP header gives them.
    let Ok(datagram) = ip::decode(packet) else { return };
    let (start, end) = (datagram.header_len, datagram.header_len + datagram.payload.len());
    if datagram.payload.len() >= 20 {
        let mut pseudo = Checksum::new();
        let len = datagram.payload.len() as u32;
        pseudo.add_pseudo_header(datagram.header.src, datagram.header.dst, ip::PROTOCOL_TCP, len);
        set_checksum(&mut packet[start..end], 16, pseudo);
    }
}

fn set_checksum(bytes: &mut [u8], at: usize, mut checksum: Checksum) {
    bytes[at..at + 2].fill(0);
    checksum.add(bytes);
    bytes[at..at + 2].copy_from_slice(&checksum.finish().to_be_bytes());
}

/// Decodes; what is accepted must lie within the bytes and encode to a packet with the same content. True if accepted.
pub fn accepts(bytes: &[u8]) -> bool {
    let Ok(packet) = wire::decode(bytes) else { return false };
    let start = packet.ip_header_len + packet.tcp_header_len;
    assert!(packet.wire_len() <= bytes.len());
    assert_eq!(packet.payload, &bytes[start..packet.wire_len()]);

    let mut again = Vec::new();
    match wire::encode(&packet.ip, &packet.segment, packet.payload, &mut again) {
        Ok(()) => {}
        Err(EncodeError::Urgent) => {
            assert!(packet.segment.flags.contains(Flags::URG));
            return true;
        }
        // A sender may pack options tighter than the customary padding, or the padding may push the packet over 65,535.
        Err(EncodeError::TooLarge { field, .. }) => {
            let tight = packet.segment.header_len() as usize > packet.tcp_header_len;
            assert!(
                tight
                    && ["length of TCP options", "IPv4 total length", "IPv6 payload length"].contains(&field)
            );
            return true;
        }
        Err(error) => panic!("an accepted packet does not encode: {error}"),
    }
    let second = wire::decode(&again).expect("what was encoded decodes");
    assert_eq!((second.ip, second.segment, second.payload), (packet.ip, packet.segment, packet.payload));
    assert!(second.unread.is_nothing());
    true
}
