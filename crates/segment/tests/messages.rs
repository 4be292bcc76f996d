//! What is wrong with bytes that are no TCP/IP packet is named with its place, its value and what would be right.

use longhaul_segment::wire;

/// An IPv4 header and a SYN with an MSS, checksums right (computed by hand: RFC 1071).
fn syn() -> Vec<u8> {
    let mut bytes = vec![0x45, 0, 0, 44, 0, 0, 0x40, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
    bytes.extend([
        0x27, 0x10, 0, 80, 0, 0, 0, 1, 0, 0, 0, 0, 0x60, 0x02, 0xff, 0xff, 0, 0, 0, 0, 2, 4, 5, 0xb4,
    ]);
    let header = sum(&bytes[..20], 0);
    bytes[10..12].copy_from_slice(&header.to_be_bytes());
    let pseudo = sum_of(&bytes[12..20], 6 + 24);
    let segment = sum(&bytes[20..], pseudo);
    bytes[36..38].copy_from_slice(&segment.to_be_bytes());
    bytes
}

fn sum_of(bytes: &[u8], start: u32) -> u32 {
    bytes.chunks(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]]))).sum::<u32>() + start
}

fn sum(bytes: &[u8], start: u32) -> u16 {
    let mut sum = sum_of(bytes, start);
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !u16::try_from(sum).unwrap()
}

#[test]
fn each_fault_has_its_place_its_value_and_its_rule() {
    assert!(wire::decode(&syn()).is_ok(), "{:?}", wire::decode(&syn()));
    let message = |at: usize, value: u8| {
        let mut bytes = syn();
        bytes[at] = value;
        wire::decode(&bytes).unwrap_err().to_string()
    };
    for (at, value, expected) in [
        (0, 0x35, "IP version at byte 0 is 3 (0x3): it must be 4 or 6"),
        (0, 0x44, "IPv4 header length at byte 0 is 4 (0x4): it must be 5 to 15"),
        (3, 19, "IP length at byte 2 is 19 (0x13): it is less than the header length"),
        (8, 63, "IPv4 header checksum at byte 10 is "),
        (34, 0, "TCP checksum at byte 36 is "),
    ] {
        let found = message(at, value);
        assert!(found.starts_with(expected), "{found}");
    }
    let cut = wire::decode(&syn()[..30]).unwrap_err().to_string();
    assert!(cut.contains("needs bytes up to 44; what is there ends at 30"), "{cut}");
}

/// With the checksums made right again, so that it is the field that is wrong.
#[test]
fn faults_behind_right_checksums_are_named_too() {
    let message = |at: usize, value: u8| {
        let mut bytes = syn();
        bytes[at] = value;
        for zero in [10, 11, 36, 37] {
            bytes[zero] = 0;
        }
        let header = sum(&bytes[..20], 0);
        bytes[10..12].copy_from_slice(&header.to_be_bytes());
        let segment = sum(&bytes[20..], sum_of(&bytes[12..20], 6 + 24));
        bytes[36..38].copy_from_slice(&segment.to_be_bytes());
        wire::decode(&bytes).unwrap_err().to_string()
    };
    for (at, value, expected) in [
        (6, 0x20, "IPv4 fragment field at byte 6 is 8192 (0x2000): fragments are not reassembled here"),
        (9, 17, "IP protocol at byte 9 is 17 (0x11): it must be 6, TCP"),
        (32, 0x40, "TCP data offset at byte 32 is 4 (0x4): it must be 5 or more and lie within the packet"),
        (41, 3, "length of TCP option 2 at byte 41 is 3 (0x3): a maximum segment size has length 4"),
        (41, 0, "length of TCP option 2 at byte 41 is 0 (0x0): a maximum segment size has length 4"),
    ] {
        assert_eq!(message(at, value), expected);
    }
}
