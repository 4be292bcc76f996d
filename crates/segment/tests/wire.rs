//! The codec against packets put together by hand, and its invariants on arbitrary ones.

use crate::common::{ACK, DATA_V6, FIN, SYN, accepts, mend_checksums};
use longhaul_segment::{
    DecodeError, Ecn, EcnCounters, EcnOrder, EncodeError, Field, Flags, Options, SackBlocks, Segment,
    SeqNumber, Timestamps, ip, wire,
};
use proptest::prelude::*;
use std::net::IpAddr;

const CLIENT: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 1));
const SERVER: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(198, 51, 100, 2));

fn blocks(of: &[(u32, u32)]) -> SackBlocks {
    let mut blocks = SackBlocks::default();
    for (start, end) in of {
        assert!(blocks.push(SeqNumber(*start), SeqNumber(*end)));
    }
    blocks
}

/// The bytes and the headers stand for each other, in both directions.
#[track_caller]
fn assert_same(bytes: &[u8], ip: ip::Header, segment: Segment, payload: &[u8]) {
    let packet = wire::decode(bytes).unwrap();
    assert_eq!((packet.ip, packet.segment, packet.payload), (ip, segment, payload));
    assert!(packet.unread.is_nothing());
    assert_eq!(packet.wire_len(), bytes.len());
    let mut out = vec![0xee]; // encode appends
    wire::encode(&ip, &segment, payload, &mut out).unwrap();
    assert_eq!(&out[1..], bytes);
}

#[test]
fn linux_syn() {
    let ip = ip::Header { id: 0x1c46, ..ip::Header::new(CLIENT, SERVER) };
    let segment = Segment {
        src_port: 54321,
        dst_port: 443,
        seq: SeqNumber(0x8f1e_2d3c),
        ack: SeqNumber(0),
        window: 64240,
        flags: Flags::SYN | Flags::ECE | Flags::CWR,
        payload_len: 0,
        options: Options {
            mss: Some(1460),
            sack_permitted: true,
            timestamps: Some(Timestamps { value: 0x12_d687, echo: 0 }),
            window_scale: Some(7),
            ..Options::default()
        },
    };
    assert_same(&SYN, ip, segment, &[]);
}

/// RFC 9768 section 3.2.3 and figure 4: kind, length, and counters of 24 bits in the order of the kind; AE is the bit before CWR.
#[test]
fn accurate_ecn() {
    let ip = ip::Header::new(CLIENT, SERVER);
    for (order, kind) in [(EcnOrder::Ect0First, 172), (EcnOrder::Ect1First, 174)] {
        for (len, option) in [
            (0, vec![kind, 2, 1, 1]),
            (1, vec![kind, 5, 0x34, 0x56, 0x78, 1, 1, 1]),
            (2, vec![kind, 8, 0x34, 0x56, 0x78, 0, 3, 0xe8]),
            (3, vec![kind, 11, 0x34, 0x56, 0x78, 0, 3, 0xe8, 0, 0, 1, 1]),
        ] {
            // Of a counter only the lowest 24 bits are there.
            let counters = EcnCounters::new(order, &[0x1234_5678, 1000, 1][..len]);
            let flags = Flags::ACK | Flags::AE | Flags::ECE;
            let options = Options { ecn_counters: Some(counters), ..Options::NONE };
            let segment = Segment { flags, options, ..Segment::default() };
            let mut bytes = Vec::new();
            wire::encode(&ip, &segment, &[], &mut bytes).unwrap();
            assert_eq!(bytes[32] & 0x0f, 1, "AE");
            assert_eq!(bytes[33], 0x50, "ECE and ACK");
            assert_eq!(bytes[40..], option);
            let read = wire::decode(&bytes).unwrap();
            assert_eq!(read.segment, segment);
            assert!(read.unread.is_nothing());
            let (first, third) = (counters.ect0(), counters.ect1());
            let (first, third) = if kind == 172 { (first, third) } else { (third, first) };
            let there = |place: usize, value| (len > place).then_some(value);
            assert_eq!((first, counters.ce(), third), (there(0, 0x34_5678), there(1, 1000), there(2, 1)));
        }
    }
}

/// RFC 9768 section 3.2.3: whole counters count, whatever the length, and the rest is ignored.
#[test]
fn an_accurate_ecn_option_of_another_length() {
    let ip = ip::Header::new(CLIENT, SERVER);
    let counters = EcnCounters::new(EcnOrder::Ect0First, &[7, 8, 9]);
    let options = Options { ecn_counters: Some(counters), ..Options::NONE };
    let segment = Segment { flags: Flags::ACK, options, ..Segment::default() };
    let mut bytes = Vec::new();
    wire::encode(&ip, &segment, &[], &mut bytes).unwrap();
    for (len, counters) in [(10, 2), (9, 2), (7, 1), (4, 0)] {
        let mut odd = bytes.clone();
        odd[41] = len;
        odd[40 + usize::from(len)..].fill(1);
        odd[36..38].fill(0);
        let mut sum = longhaul_segment::checksum::Checksum::new();
        sum.add_pseudo_header(ip.src, ip.dst, ip::PROTOCOL_TCP, 32);
        sum.add(&odd[20..]);
        let sum = sum.finish().to_be_bytes();
        odd[36..38].copy_from_slice(&sum);
        let read = wire::decode(&odd).unwrap();
        let option = read.segment.options.ecn_counters.unwrap();
        assert_eq!(option, EcnCounters::new(EcnOrder::Ect0First, &[7, 8, 9][..counters]));
        assert!(read.unread.tcp_options, "length {len}");
    }
}

#[test]
fn ack_with_three_sack_blocks() {
    let ip = ip::Header { ecn: Ecn::Ect0, ttl: 52, ..ip::Header::new(SERVER, CLIENT) };
    let segment = Segment {
        src_port: 443,
        dst_port: 54321,
        seq: SeqNumber(0x1122_3344),
        ack: SeqNumber(0xffff_fc00),
        window: 501,
        flags: Flags::ACK,
        payload_len: 0,
        options: Options {
            timestamps: Some(Timestamps { value: 0x7b3f_0a91, echo: 0x12_d6eb }),
            sack: blocks(&[(0xf48, 0x14f0), (0x3a0, 0x948), (0xffff_fe00, 0xffff_ffa8)]),
            ..Options::default()
        },
    };
    assert_same(&ACK, ip, segment, &[]);
}

#[test]
fn fin() {
    let ip = ip::Header { id: 0x1c50, dscp: 46, ..ip::Header::new(CLIENT, SERVER) };
    let segment = Segment {
        src_port: 54321,
        dst_port: 443,
        seq: SeqNumber(0x8f1e_2f00),
        ack: SeqNumber(0x1122_3a00),
        window: 229,
        flags: Flags::FIN | Flags::ACK,
        payload_len: 0,
        options: Options {
            timestamps: Some(Timestamps { value: 0x12_e000, echo: 0x7b3f_1401 }),
            ..Options::default()
        },
    };
    assert_same(&FIN, ip, segment, &[]);
}

#[test]
fn data_over_ipv6() {
    let [src, dst] = ["2001:db8::1", "2001:db8::2"].map(|text| text.parse().unwrap());
    let ip = ip::Header { ecn: Ecn::Ect0, flow_label: 0xa_bcde, ttl: 57, ..ip::Header::new(src, dst) };
    let segment = Segment {
        src_port: 40_000,
        dst_port: 80,
        seq: SeqNumber(1),
        ack: SeqNumber(1000),
        window: 1024,
        flags: Flags::PSH | Flags::ACK,
        payload_len: 3,
        options: Options::default(),
    };
    assert_same(&DATA_V6, ip, segment, b"GET");
}

/// The option bytes of every combination on a SYN, in the order and padding that Linux sends.
#[test]
fn option_layouts() {
    let timestamps = Some(Timestamps { value: 0x0102_0304, echo: 0x0506_0708 });
    const TS: [u8; 10] = [8, 10, 1, 2, 3, 4, 5, 6, 7, 8];
    let cases: [(Options, Vec<u8>); 8] = [
        (Options::default(), vec![]),
        (Options { timestamps, ..Options::default() }, [&[1, 1][..], &TS].concat()),
        (Options { timestamps, sack_permitted: true, ..Options::default() }, [&[4, 2][..], &TS].concat()),
        (
            Options { mss: Some(536), sack_permitted: true, ..Options::default() },
            vec![2, 4, 2, 24, 1, 1, 4, 2],
        ),
        (
            Options { mss: Some(1460), window_scale: Some(14), sack_permitted: true, ..Options::default() },
            vec![2, 4, 5, 0xb4, 1, 1, 4, 2, 1, 3, 3, 14],
        ),
        (
            Options { sack: blocks(&[(1, 2)]), ..Options::default() },
            vec![1, 1, 5, 10, 0, 0, 0, 1, 0, 0, 0, 2],
        ),
        (Options { ack_congestion_control_permitted: true, ..Options::default() }, vec![253, 4, 0x56, 0x90]),
        (
            Options { ack_ratio: std::num::NonZeroU8::new(4), ..Options::default() },
            vec![1, 1, 1, 253, 5, 0x56, 0x90, 4],
        ),
    ];
    for (options, expected) in cases {
        let segment = Segment { options, ..Segment::default() };
        let mut out = Vec::new();
        wire::encode(&ip::Header::new(CLIENT, SERVER), &segment, &[], &mut out).unwrap();
        assert_eq!(&out[40..], expected);
        assert_eq!(options.wire_len() as usize, expected.len());
    }
}

#[test]
fn headers_alone_are_those_of_a_packet_of_zeros() {
    let ip = ip::Header::new(CLIENT, SERVER);
    let segment = Segment { src_port: 1, flags: Flags::ACK, payload_len: 1000, ..Segment::default() };
    let (mut headers, mut whole) = (Vec::new(), Vec::new());
    wire::encode_headers(&ip, &segment, &mut headers).unwrap();
    wire::encode(&ip, &segment, &[0; 1000], &mut whole).unwrap();
    assert_eq!(headers.len(), 40);
    assert_eq!(headers, whole[..40]);
}

/// A SYN whose 20 bytes of options are replaced by these.
fn with_options(options: [u8; 20]) -> [u8; 60] {
    let mut packet = SYN;
    packet[40..].copy_from_slice(&options);
    mend_checksums(&mut packet);
    packet
}

#[test]
fn options_in_another_order_and_padding() {
    // MSS, NOP, WS, NOP, NOP, TS, then SACK-permitted and end of list would take 24; here MSS, TS, SACKOK, WS, END.
    let bytes = with_options([2, 4, 5, 0xb4, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2, 4, 2, 3, 3, 7, 0]);
    let packet = wire::decode(&bytes).unwrap();
    let expected = Options {
        mss: Some(1460),
        timestamps: Some(Timestamps { value: 1, echo: 2 }),
        sack_permitted: true,
        window_scale: Some(7),
        ..Options::default()
    };
    assert_eq!(packet.segment.options, expected);
    assert!(packet.unread.is_nothing());
}

#[test]
fn what_is_not_modelled_is_reported() {
    let unread = |bytes: &[u8]| wire::decode(bytes).unwrap().unread;
    // TCP Fast Open (kind 34, RFC 7413) is skipped, the MSS behind it is read.
    let fast_open = with_options([34, 10, 1, 2, 3, 4, 5, 6, 7, 8, 2, 4, 5, 0xb4, 1, 1, 1, 1, 1, 1]);
    assert_eq!(
        wire::decode(&fast_open).unwrap().segment.options,
        Options { mss: Some(1460), ..Options::default() }
    );
    assert_eq!(unread(&fast_open), wire::Unread { tcp_options: true, ..wire::Unread::default() });

    // RFC 7323 section 2.3: a shift count over 14 counts as 14.
    let wide = with_options([3, 3, 15, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]);
    assert_eq!(wire::decode(&wide).unwrap().segment.options.window_scale, Some(14));
    assert!(unread(&wide).tcp_options);

    // Of an experiment of others, and a ratio of none, nothing is read and nothing is refused.
    for other in [[253, 5, 0xf9, 0x89, 4], [253, 5, 0x56, 0x90, 0], [253, 5, 1, 1, 1]] {
        let mut bytes = [1; 20];
        bytes[..5].copy_from_slice(&other);
        let packet = with_options(bytes);
        assert_eq!(wire::decode(&packet).unwrap().segment.options, Options::default());
        assert!(unread(&packet).tcp_options);
    }

    let twice = with_options([2, 4, 0, 1, 2, 4, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(wire::decode(&twice).unwrap().segment.options.mss, Some(2));
    assert!(unread(&twice).tcp_options);

    let behind_the_end = with_options([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9]);
    assert!(unread(&behind_the_end).tcp_options);

    let mut urgent = FIN;
    (urgent[33], urgent[39]) = (0x31, 5);
    mend_checksums(&mut urgent);
    assert_eq!(unread(&urgent).urgent_pointer, 5);
    assert!(wire::decode(&urgent).unwrap().segment.flags.contains(Flags::URG));

    let mut reserved = FIN;
    reserved[32] |= 0x02;
    mend_checksums(&mut reserved);
    assert!(unread(&reserved).reserved_bits);

    // An IPv4 router alert (RFC 2113) in front of the TCP header, and Ethernet's padding behind the packet.
    let mut routed = [&FIN[..20], &[0x94, 4, 0, 0], &FIN[20..], &[0; 6]].concat();
    (routed[0], routed[3]) = (0x46, 56);
    mend_checksums(&mut routed);
    let packet = wire::decode(&routed).unwrap();
    assert_eq!(packet.segment, wire::decode(&FIN).unwrap().segment);
    assert_eq!((packet.ip_header_len, packet.tcp_header_len, packet.wire_len()), (24, 32, 56));
    assert!(packet.unread.ip);
}

/// Changes bytes of a packet, sets its checksums right, and expects this error.
#[track_caller]
fn assert_refused(packet: &[u8], changes: &[(usize, u8)], expected: DecodeError) {
    let mut bytes = packet.to_vec();
    for (at, value) in changes {
        bytes[*at] = *value;
    }
    mend_checksums(&mut bytes);
    assert_eq!(wire::decode(&bytes).unwrap_err(), expected);
}

#[test]
fn errors_name_field_offset_and_value() {
    let invalid = |field, offset, value| DecodeError::Invalid { field, offset, value };
    assert_refused(&SYN, &[(0, 0x55)], invalid(Field::Version, 0, 5));
    assert_refused(&SYN, &[(0, 0x44)], invalid(Field::Ihl, 0, 4));
    assert_refused(&SYN, &[(3, 19)], invalid(Field::Length, 2, 19));
    assert_refused(&SYN, &[(6, 0x20)], invalid(Field::Fragment, 6, 0x2000));
    assert_refused(&SYN, &[(7, 0x01)], invalid(Field::Fragment, 6, 0x4001));
    assert_refused(&SYN, &[(9, 17)], invalid(Field::Protocol, 9, 17));
    assert_refused(&SYN, &[(32, 0x40)], invalid(Field::DataOffset, 32, 4));
    assert_refused(&SYN, &[(32, 0xb0)], invalid(Field::DataOffset, 32, 11));
    assert_refused(&SYN, &[(41, 3)], invalid(Field::OptionLength(2), 41, 3));
    assert_refused(&SYN, &[(41, 1)], invalid(Field::OptionLength(2), 41, 1));
    assert_refused(&SYN, &[(45, 3)], invalid(Field::OptionLength(4), 45, 3));
    assert_refused(&SYN, &[(47, 9)], invalid(Field::OptionLength(8), 47, 9));
    assert_refused(&ACK, &[(55, 2)], invalid(Field::OptionLength(5), 55, 2));
    assert_refused(&ACK, &[(55, 25)], invalid(Field::OptionLength(5), 55, 25));
    assert_refused(&DATA_V6, &[(6, 44)], invalid(Field::ExtensionHeader, 6, 44));
    assert_refused(&DATA_V6, &[(6, 17)], invalid(Field::Protocol, 6, 17));

    let truncated =
        |field, offset, needed, available| DecodeError::Truncated { field, offset, needed, available };
    assert_refused(&[], &[], truncated(Field::IpHeader, 0, 1, 0));
    assert_refused(&SYN[..19], &[], truncated(Field::IpHeader, 0, 20, 19));
    assert_refused(&SYN[..59], &[], truncated(Field::Length, 2, 60, 59));
    assert_refused(&SYN, &[(3, 39)], truncated(Field::TcpHeader, 20, 40, 39));
    assert_refused(&SYN, &[(58, 4)], truncated(Field::OptionLength(3), 58, 61, 60));
    assert_refused(&SYN, &[(57, 1), (58, 1), (59, 8)], truncated(Field::OptionLength(8), 60, 61, 60));
    assert_refused(&DATA_V6[..39], &[], truncated(Field::IpHeader, 0, 40, 39));
    assert_refused(&DATA_V6[..62], &[], truncated(Field::Length, 4, 63, 62));

    // Corruption under the checksums.
    let mut bytes = SYN;
    bytes[8] = 63;
    assert_eq!(wire::decode(&bytes).unwrap_err(), invalid(Field::HeaderChecksum, 10, 0x323f));
    let mut bytes = SYN;
    bytes[59] = 8;
    assert_eq!(wire::decode(&bytes).unwrap_err(), invalid(Field::TcpChecksum, 36, 0xf736));
    assert_eq!(
        wire::decode(&bytes).unwrap_err().to_string(),
        "TCP checksum at byte 36 is 63286 (0xf736): it does not fit the bytes"
    );
}

#[test]
fn what_does_not_fit_is_not_encoded() {
    let ip = ip::Header::new(CLIENT, SERVER);
    let v6: IpAddr = "::1".parse().unwrap();
    let plain = Segment::default();
    let refuse = |ip: ip::Header, segment: Segment| {
        let mut out = vec![7];
        let error = wire::encode_headers(&ip, &segment, &mut out).unwrap_err();
        assert_eq!(out, [7]);
        error
    };
    let too_large = |field, value, max| EncodeError::TooLarge { field, value, max };
    assert_eq!(refuse(ip::Header { dst: v6, ..ip }, plain), EncodeError::MixedVersions);
    assert_eq!(refuse(ip::Header { dscp: 64, ..ip }, plain), too_large("DSCP", 64, 63));
    let labelled = ip::Header { flow_label: 0x10_0000, ..ip::Header::new(v6, v6) };
    assert_eq!(refuse(labelled, plain), too_large("IPv6 flow label", 0x10_0000, 0xf_ffff));
    let flags = Flags(0x200);
    assert_eq!(refuse(ip, Segment { flags, ..plain }), too_large("TCP flags", 0x200, 0x1ff));
    assert_eq!(refuse(ip, Segment { flags: Flags::URG, ..plain }), EncodeError::Urgent);
    let long = Segment { payload_len: 65_496, ..plain };
    assert_eq!(refuse(ip, long), too_large("IPv4 total length", 65_536, 65_535));
    assert_eq!(
        refuse(ip, Segment { payload_len: u32::MAX, ..plain }),
        too_large("IPv4 total length", u32::MAX, 65_535)
    );
    let options = Options { window_scale: Some(15), ..Options::default() };
    assert_eq!(refuse(ip, Segment { options, ..plain }), too_large("window scale", 15, 14));
    let timestamps = Some(Timestamps::default());
    let options = Options { timestamps, sack: blocks(&[(0, 1); 4]), ..Options::default() };
    assert_eq!(refuse(ip, Segment { options, ..plain }), too_large("length of TCP options", 48, 40));

    let mut out = Vec::new();
    let error = wire::encode(&ip, &plain, b"x", &mut out).unwrap_err();
    assert_eq!((error, out.len()), (EncodeError::PayloadLength { stated: 0, given: 1 }, 0));
}

prop_compose! {
    fn any_options()(
        timestamps in prop::option::of(any::<(u32, u32)>()),
        sack in prop::collection::vec(any::<(u32, u32)>(), 0..=4),
        mss in any::<Option<u16>>(),
        window_scale in prop::option::of(0u8..=14),
        sack_permitted: bool,
        ack_congestion_control_permitted: bool,
        ack_ratio in any::<Option<std::num::NonZeroU8>>(),
        ecn_counters in prop::option::of((any::<bool>(), prop::collection::vec(any::<u32>(), 0..=3))),
    ) -> Options {
        let timestamps = timestamps.map(|(value, echo)| Timestamps { value, echo });
        Options {
            timestamps,
            sack: blocks(&sack),
            mss,
            window_scale,
            sack_permitted,
            ack_congestion_control_permitted,
            ack_ratio,
            ecn_counters: ecn_counters.map(|(ect0_first, counters)| {
                let order = if ect0_first { EcnOrder::Ect0First } else { EcnOrder::Ect1First };
                EcnCounters::new(order, &counters)
            }),
        }
    }
}

prop_compose! {
    fn any_segment()(
        ports: (u16, u16),
        seq: u32,
        ack: u32,
        window: u16,
        flags in 0u16..=0x1ff,
        options in any_options().prop_filter("40 bytes", |options| options.wire_len() <= wire::MAX_OPTIONS),
    ) -> Segment {
        let flags = Flags(flags & !Flags::URG.0);
        let (src_port, dst_port) = ports;
        Segment { src_port, dst_port, seq: SeqNumber(seq), ack: SeqNumber(ack), window, flags, payload_len: 0, options }
    }
}

prop_compose! {
    fn any_ip()(
        v4: bool,
        addresses: ([u8; 16], [u8; 16]),
        dscp in 0u8..64,
        ecn: u8,
        id: u16,
        flow_label in 0u32..=0xf_ffff,
        ttl: u8,
        dont_fragment: bool,
    ) -> ip::Header {
        let address = |a: [u8; 16]| -> IpAddr { if v4 { [a[0], a[1], a[2], a[3]].into() } else { a.into() } };
        let header = ip::Header::new(address(addresses.0), address(addresses.1));
        let header = ip::Header { dscp, ecn: Ecn::from_bits(ecn), ttl, ..header };
        if v4 { ip::Header { id, dont_fragment, ..header } } else { ip::Header { flow_label, ..header } }
    }
}

prop_compose! {
    fn any_packet()(ip in any_ip(), segment in any_segment(), payload in prop::collection::vec(any::<u8>(), 0..64))
        -> (ip::Header, Segment, Vec<u8>) {
        (ip, Segment { payload_len: payload.len() as u32, ..segment }, payload)
    }
}

fn encoded((ip, segment, payload): &(ip::Header, Segment, Vec<u8>)) -> Vec<u8> {
    let mut bytes = Vec::new();
    wire::encode(ip, segment, payload, &mut bytes).unwrap();
    bytes
}

proptest! {
    #[test]
    fn round_trip(packet in any_packet(), behind in prop::collection::vec(any::<u8>(), 0..8)) {
        let mut bytes = encoded(&packet);
        let len = bytes.len();
        prop_assert_eq!(len as u32, packet.0.wire_len() + packet.1.header_len() + packet.1.payload_len);
        bytes.extend(behind);
        let read = wire::decode(&bytes).unwrap();
        prop_assert_eq!((read.ip, read.segment, read.payload), (packet.0, packet.1, &packet.2[..]));
        prop_assert!(read.unread.is_nothing());
        prop_assert_eq!(read.wire_len(), len);
    }

    /// One's complement sums see every change of a single bit under them.
    #[test]
    fn a_flipped_bit_under_a_checksum_is_seen(packet in any_packet(), bit: prop::sample::Index) {
        let mut bytes = encoded(&packet);
        let start = if bytes[0] >> 4 == 6 { 40 } else { 0 };
        let bit = start * 8 + bit.index((bytes.len() - start) * 8);
        bytes[bit / 8] ^= 0x80 >> (bit % 8);
        prop_assert!(wire::decode(&bytes).is_err());
    }

    #[test]
    fn a_cut_packet_is_refused(packet in any_packet(), at: prop::sample::Index) {
        let bytes = encoded(&packet);
        prop_assert!(wire::decode(&bytes[..at.index(bytes.len())]).is_err());
    }

    #[test]
    fn arbitrary_bytes_do_no_harm(bytes in prop::collection::vec(any::<u8>(), 0..128), version in 4u8..=6, mend: bool) {
        let mut bytes = bytes;
        if let Some(first) = bytes.first_mut() {
            *first = version << 4 | *first & 0x0f;
        }
        if mend {
            mend_checksums(&mut bytes);
        }
        accepts(&bytes);
    }

    /// Mutations with right checksums are tested by the rest of the codec.
    #[test]
    fn mutated_packets_do_no_harm(packet in any_packet(), changes in prop::collection::vec(any::<(prop::sample::Index, u8)>(), 1..6)) {
        let mut bytes = encoded(&packet);
        for (at, value) in changes {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        mend_checksums(&mut bytes);
        accepts(&bytes);
    }
}
