//! The world of the emulator with a hand-held clock: no device, no privileges.

use longhaul_emu::addresses::{Ranges, Used};
use longhaul_emu::frame::{self, Frame};
use longhaul_emu::plan::Plan;
use longhaul_emu::world::{Observer, World};
use longhaul_scenario::{Network, load};
use longhaul_segment::checksum::Checksum;
use longhaul_segment::compaction::ExactBatch;
use longhaul_segment::{Ecn, Flags, Segment, SeqNumber, ip, wire};
use longhaul_units::{Duration, FlowId, HostId, Instant, LinkId, NodeId};
use proptest::prelude::*;
use std::net::IpAddr;

const HOSTS: [&str; 2] = ["10.0.0.1", "10.0.0.3"];

/// a - r - b: 8 Mbit/s and 10 ms, then 4 Mbit/s and 20 ms.
fn world(queue: &str) -> World {
    world_with(queue, "")
}

fn world_with(queue: &str, more: &str) -> World {
    let text = format!(
        "[run]\nduration = \"1 s\"\n\
         [[link]]\nname = \"one\"\nends = [\"a\", \"r\"]\nrate = \"8 Mbit/s\"\ndelay = \"10 ms\"\n\
         [[link]]\nname = \"two\"\nends = [\"r\", \"b\"]\nrate = \"4 Mbit/s\"\ndelay = \"20 ms\"\nqueue = {queue}\n\
         {more}\n[[flow]]\nfrom = \"a\"\nto = \"b\"\n"
    );
    let scenario = load(&text, "test", &[]).unwrap();
    let network = Network::new(&scenario);
    let address = |text: &str| vec![text.parse::<IpAddr>().unwrap()];
    World::new(
        Plan::new(
            &scenario,
            &network,
            &[(NodeId(0), address(HOSTS[0])), (NodeId(2), address(HOSTS[1]))],
            &Ranges::default(),
        )
        .unwrap(),
    )
}

/// A TCP packet of 1000 bytes to the first flow's port.
fn packet(from: &str, to: &str, ecn: Ecn) -> Vec<u8> {
    let ip = ip::Header { ecn, ..ip::Header::new(from.parse().unwrap(), to.parse().unwrap()) };
    let segment = Segment {
        src_port: 40_000,
        dst_port: 10_000,
        flags: Flags::ACK,
        payload_len: 960,
        ..Segment::default()
    };
    let mut bytes = vec![];
    wire::encode(&ip, &segment, &[7; 960], &mut bytes).unwrap();
    bytes
}

/// A packet that so many routers have passed on.
fn passed(routers: usize, packet: &[u8]) -> Vec<u8> {
    let mut packet = packet.to_vec();
    (0..routers).for_each(|_| frame::count_down(&mut packet));
    packet
}

fn us(us: u64) -> Instant {
    Instant::ZERO + Duration::from_micros(us)
}

const DROPTAIL: &str = "{ kind = \"droptail\", limit = \"2 packets\" }";

#[test]
fn a_packet_is_due_after_both_links_however_late_the_caller_is() {
    let mut world = world(DROPTAIL);
    let sent = packet(HOSTS[0], HOSTS[1], Ecn::NotEct);
    world.inject(&mut (), us(5), HostId(0), 0, &sent);
    assert_eq!(world.next_event(), Some(us(11_005)), "1 ms for 1000 bytes at 8 Mbit/s, and 10 ms");
    // Nobody looks for a second: the second link was entered in time all the same.
    world.advance(&mut (), us(1_000_000));
    let arrival = world.arrivals.pop().unwrap();
    assert_eq!((arrival.due, arrival.host), (us(33_005), HostId(1)), "2 ms at 4 Mbit/s, and 20 ms");
    assert_eq!(arrival.frame.bytes, passed(1, &sent), "every byte but the TTL as it was");
    assert_eq!(
        (world.flows[FlowId(0)].arrived.packets, world.flows[FlowId(0)].arrived.wire_bytes),
        (1, 1000)
    );
}

#[test]
fn every_packet_is_accounted_for() {
    let mut world = world(DROPTAIL);
    let sent = packet(HOSTS[0], HOSTS[1], Ecn::NotEct);
    for _ in 0..20 {
        world.inject(&mut (), us(0), HostId(0), 0, &sent);
    }
    world.inject(&mut (), us(1), HostId(0), 0, &packet(HOSTS[0], "224.0.0.1", Ecn::NotEct));
    world.inject(&mut (), us(1), HostId(0), 0, &packet(HOSTS[0], HOSTS[0], Ecn::NotEct));
    for nonsense in [&[][..], &[0x45; 19], &[0x60; 39], &[0x10; 100]] {
        world.inject(&mut (), us(1), HostId(0), 0, nonsense);
    }
    world.advance(&mut (), us(1_000_000));
    let counters = world.counters;
    assert_eq!((counters.injected, counters.no_route, counters.unreadable), (26, 2, 4));
    let dropped = world.link(LinkId(2)).stats(us(1_000_000)).total_dropped();
    assert!(dropped > 0, "a queue of two packets overflows");
    assert_eq!(counters.arrived + dropped, 20);
    assert_eq!(world.flows[FlowId(0)].lost, dropped);
    assert_eq!(world.arrivals.len() as u64, counters.arrived);
    assert!(world.arrivals.windows(2).all(|pair| pair[0].due < pair[1].due), "in order of time");
}

#[test]
fn a_duplicating_link_delivers_twice_and_a_corrupting_one_flips_a_bit() {
    let mut world = world_with(DROPTAIL, "duplication = 1\ncorruption = 1");
    let sent = packet(HOSTS[0], HOSTS[1], Ecn::NotEct);
    for number in 0..100 {
        world.inject(&mut (), us(5000 * number), HostId(0), 0, &sent);
    }
    world.advance(&mut (), us(1_000_000));
    let (counters, stats) = (world.counters, world.link(LinkId(2)).stats(us(1_000_000)));
    assert_eq!(
        (counters.injected, counters.copied, counters.arrived, counters.damaged),
        (100, 100, 200, 200)
    );
    assert_eq!(
        (stats.delivered, stats.duplicated, stats.corrupted, stats.total_dropped()),
        (100, 100, 100, 0)
    );
    assert_eq!((world.flows[FlowId(0)].arrived.packets, world.flows[FlowId(0)].lost), (0, 200));
    let mut places = std::collections::BTreeSet::new();
    for pair in world.arrivals.chunks(2) {
        assert_eq!((pair[0].due, &pair[0].frame.bytes), (pair[1].due, &pair[1].frame.bytes));
        let wrong =
            pair[0].frame.bytes.iter().zip(passed(1, &sent)).map(|(one, other)| (one ^ other).count_ones());
        let wrong: Vec<usize> = wrong.enumerate().filter(|(_, bits)| *bits > 0).map(|(at, _)| at).collect();
        assert_eq!(wrong.len(), 1);
        assert!(wrong[0] >= 20, "behind the IP header");
        assert!(wire::decode(&pair[0].frame.bytes).is_err(), "its checksum does not fit");
        places.insert(wrong[0]);
    }
    assert!(places.len() > 80 && *places.last().unwrap() > 800, "all over the packet");
}

#[test]
fn queues_that_hold_packets_and_mark_them_work_on_real_ones() {
    let mut world = world("{ kind = \"codel\", limit = \"100 packets\", ecn = true }");
    let sent = packet(HOSTS[0], HOSTS[1], Ecn::Ect0);
    for number in 0..400 {
        world.inject(&mut (), us(1000 * number), HostId(0), 0, &sent);
    }
    world.advance(&mut (), us(10_000_000));
    assert!(
        world.flows[FlowId(0)].arrived.marked > 0,
        "a queue that stands for longer than 100 ms is marked"
    );
    for arrival in &world.arrivals {
        wire::decode(&arrival.frame.bytes).expect("checksums are right after marking");
    }
}

#[test]
fn what_is_no_tcp_passes_untouched() {
    let mut world = world(DROPTAIL);
    let mut fragment = packet(HOSTS[0], HOSTS[1], Ecn::NotEct);
    fragment[6..8].copy_from_slice(&[0x20, 0x01]);
    let mut unknown = packet(HOSTS[0], HOSTS[1], Ecn::NotEct);
    unknown[9] = 99;
    let mut lying = packet(HOSTS[0], HOSTS[1], Ecn::NotEct);
    lying[2..4].copy_from_slice(&[0xff, 0xff]);
    for (number, odd) in [&fragment, &unknown, &lying].into_iter().enumerate() {
        world.inject(&mut (), us(100_000 * number as u64), HostId(0), 0, odd);
    }
    world.advance(&mut (), us(1_000_000));
    let arrived: Vec<&Vec<u8>> = world.arrivals.iter().map(|arrival| &arrival.frame.bytes).collect();
    assert_eq!(arrived, [&fragment, &unknown, &lying].map(|odd| passed(1, odd)).iter().collect::<Vec<_>>());
    assert_eq!(world.flows[FlowId(0)].arrived.packets, 0, "and counts for no flow");
}

/// A PEP, snoop, and a serial line with header compression.
const CHAIN: &str = "serial = { framing = \"slip\", vj = {} }\n\
    [[middlebox]]\nkind = \"premature_ack\"\nat = \"r\"\nwatermark = \"5 packets\"\n[[middlebox]]\nkind = \"snoop\"\nat = \"r\"";

#[test]
fn a_premature_ack_is_a_packet_of_the_receiver() {
    let mut world = world_with(DROPTAIL, CHAIN);
    let syn = |from: usize, flags, ack: u32| {
        let ip = ip::Header::new(HOSTS[from].parse().unwrap(), HOSTS[1 - from].parse().unwrap());
        let ports = [40_000, 10_000];
        let segment = Segment {
            src_port: ports[from],
            dst_port: ports[1 - from],
            seq: SeqNumber(100),
            ack: SeqNumber(ack),
            flags,
            window: 60_000,
            ..Segment::default()
        };
        let mut bytes = vec![];
        wire::encode(&ip, &segment, b"", &mut bytes).unwrap();
        bytes
    };
    world.inject(&mut (), us(0), HostId(0), 0, &syn(0, Flags::SYN, 0));
    world.inject(&mut (), us(100_000), HostId(1), 0, &syn(1, Flags::SYN | Flags::ACK, 101));
    let data = |number: u32| {
        let whole = packet(HOSTS[0], HOSTS[1], Ecn::NotEct);
        let read = wire::decode(&whole).unwrap();
        let segment = Segment {
            seq: SeqNumber(101 + 960 * number),
            ack: SeqNumber(101),
            window: 60_000,
            ..read.segment
        };
        let mut bytes = vec![];
        wire::encode(&read.ip, &segment, &[7; 960], &mut bytes).unwrap();
        bytes
    };
    for number in 0..10 {
        world.inject(&mut (), us(200_000 + 10_000 * u64::from(number)), HostId(0), 0, &data(number));
    }
    world.advance(&mut (), us(350_000));
    let mut acks = world.arrivals.iter().filter(|arrival| arrival.host == HostId(0)).filter_map(|arrival| {
        let read = wire::decode(&arrival.frame.bytes).expect("every checksum is right");
        (!read.segment.flags.contains(Flags::SYN)).then_some((read.ip, read.segment))
    });
    let (ip, segment) =
        acks.next().expect("the receiver has acknowledged nothing, and still there is an ACK");
    assert_eq!((ip.src.to_string(), ip.dst.to_string()), (HOSTS[1].into(), HOSTS[0].into()));
    assert_eq!((segment.src_port, segment.dst_port), (10_000, 40_000));
    assert_eq!((segment.ack.0 - 101) % 960, 0, "it acknowledges whole packets");
    assert!(world.counters.originated > 0);
    // Nothing arrives at the receiver's TCP: after a timeout of 1 s both send the first packet again.
    let made = |world: &World| world.flows[FlowId(0)].made;
    assert_eq!(made(&world), 0, "an ACK is no data");
    world.advance(&mut (), us(1_500_000));
    assert_eq!(made(&world), 2, "offered to the path beside the ten of the sender");
}

/// a - r - s - b with middleboxes, 10 ms on each of the three links.
fn longer_world(middleboxes: &str) -> World {
    longer_world_with("", middleboxes)
}

/// Of the longer world's routers.
fn ranges() -> Ranges {
    Ranges::choose(4, &["10.9.0.0/24".parse().unwrap()], &Used::default()).unwrap()
}

/// The same with more settings of each link.
fn longer_world_with(settings: &str, middleboxes: &str) -> World {
    let link = |name: &str, ends: &str| {
        format!(
            "[[link]]\nname = \"{name}\"\nends = [{ends}]\nrate = \"8 Mbit/s\"\ndelay = \"10 ms\"\n{settings}"
        )
    };
    let links = [("one", "\"a\", \"r\""), ("two", "\"r\", \"s\""), ("three", "\"s\", \"b\"")];
    let links: String = links.iter().map(|(name, ends)| link(name, ends)).collect();
    let text = format!("[run]\nduration = \"1 s\"\n{links}{middleboxes}[[flow]]\nfrom = \"a\"\nto = \"b\"\n");
    let scenario = load(&text, "test", &[]).unwrap();
    let network = Network::new(&scenario);
    let address = |text: &str| vec![text.parse::<IpAddr>().unwrap()];
    // Those of the routers.
    let ranges = ranges();
    let hosts = [(NodeId(0), address(HOSTS[0])), (NodeId(3), address(HOSTS[1]))];
    World::new(Plan::new(&scenario, &network, &hosts, &ranges).unwrap())
}

/// A pure ACK from the first host to the second, as kernels send them: with an identification, a DSCP and a TTL of its own.
fn ack(number: u32, options: &[u8]) -> Vec<u8> {
    let ip = ip::Header {
        id: 0x1234,
        dscp: 10,
        ttl: 61,
        ..ip::Header::new(HOSTS[0].parse().unwrap(), HOSTS[1].parse().unwrap())
    };
    let mut segment = Segment {
        src_port: 40_000,
        dst_port: 10_000,
        ack: SeqNumber(number),
        flags: Flags::ACK,
        window: 500,
        ..Segment::default()
    };
    if !options.is_empty() {
        segment.options.timestamps = Some(longhaul_segment::Timestamps { value: 1, echo: 2 });
    }
    let mut bytes = vec![];
    wire::encode(&ip, &segment, b"", &mut bytes).unwrap();
    if !options.is_empty() {
        // The timestamps, 2 NOPs before them, become an unknown option; the checksum follows.
        let mut sum = u16::from_be_bytes([bytes[36], bytes[37]]);
        for (at, word) in options.chunks(2).enumerate() {
            let place = 40 + 2 * at;
            let old = u16::from_be_bytes([bytes[place], bytes[place + 1]]);
            sum = longhaul_segment::checksum::update(sum, old, u16::from_be_bytes([word[0], word[1]]));
            bytes[place..place + 2].copy_from_slice(word);
        }
        bytes[36..38].copy_from_slice(&sum.to_be_bytes());
        wire::decode(&bytes).expect("the checksum is right");
    }
    bytes
}

const COMPACTION: &str = "[[middlebox]]\nkind = \"ack_compaction\"\nat = \"r\"\npeer = \"s\"\nwait = \"50 ms\"\nspacing = \"immediate\"\npace = false\n";

/// 28 bytes of the tunnel, 40 of the first ACK and 2 for each of the other nine (Coetzee 1999, appendix A.2).
#[test]
fn ten_acks_cross_as_one_packet_and_come_out_as_they_were() {
    let mut world = longer_world(COMPACTION);
    let sent: Vec<Vec<u8>> = (1..=10).map(|n| ack(1000 * n, &[])).collect();
    for packet in &sent {
        world.inject(&mut (), us(0), HostId(0), 0, packet);
    }
    world.advance(&mut (), us(1_000_000));
    // The first ACK is at the compactor after 10 ms and 40 us, the packet at the other end 50 ms, 86 us and 10 ms later.
    assert_eq!(world.arrivals[0].due, us(10_040 + 50_000 + 86 + 10_000 + 40 + 10_000));
    let arrived: Vec<&Vec<u8>> = world.arrivals.iter().map(|arrival| &arrival.frame.bytes).collect();
    // Between its ends is a tunnel, of one hop whatever is within.
    let sent: Vec<Vec<u8>> = sent.iter().map(|ack| passed(1, ack)).collect();
    assert_eq!(arrived, sent.iter().collect::<Vec<_>>());
    assert_eq!(world.link(LinkId(2)).stats(us(1_000_000)).transmitted, 1, "one packet over the line");
}

/// What is captured between the two ends.
#[derive(Default)]
struct Between(Vec<Vec<u8>>);

impl Observer for Between {
    fn delivered(&mut self, _now: Instant, link: LinkId, frame: &Frame) {
        if link == LinkId(2) {
            self.0.push(frame.packet().to_vec());
        }
    }
}

/// RFC 768: behind the UDP header, whose checksum is right, the packet that the compactor made; over TCP behind two bytes of length.
#[test]
fn a_capture_between_the_ends_shows_the_acks() {
    for carrier in ["", "carrier = { }\n"] {
        let mut world = longer_world(&format!("{COMPACTION}{carrier}"));
        let mut between = Between::default();
        for number in 1..=10 {
            world.inject(&mut between, us(0), HostId(0), 0, &ack(1000 * number, &[]));
        }
        world.advance(&mut between, us(1_000_000));
        let [packet] = &between.0[..] else { panic!("{} packets", between.0.len()) };
        let inner = if carrier.is_empty() {
            let udp = ip::decode(packet).unwrap();
            let mut sum = Checksum::new();
            sum.add_pseudo_header(udp.header.src, udp.header.dst, 17, udp.payload.len() as u32);
            sum.add(udp.payload);
            assert!(sum.is_intact(), "the checksum is right");
            assert_eq!(udp.payload[4..6], (udp.payload.len() as u16).to_be_bytes());
            udp.payload[8..].to_vec()
        } else {
            let tcp = wire::decode(packet).unwrap();
            let (len, record) = tcp.payload.split_at(2);
            assert_eq!(len, (record.len() as u16).to_be_bytes());
            record.to_vec()
        };
        let acks = ExactBatch::decode(&inner).unwrap();
        let numbers: Vec<u32> = acks.iter().map(|(_, segment)| segment.ack.0).collect();
        assert_eq!(numbers, (1..=10).map(|number| 1000 * number).collect::<Vec<_>>());
    }
}

#[test]
fn what_the_tunnel_cannot_say_goes_by_it() {
    let mut world = longer_world(COMPACTION);
    let unknown = ack(1000, &[254, 12, 1, 2, 3, 4, 5, 6, 7, 8, 9, 9]);
    let mut fragment = ack(1000, &[]);
    fragment[6..8].copy_from_slice(&[0x20, 0x01]);
    let mut icmp = ack(1000, &[]);
    icmp[9] = 1;
    for (number, packet) in [&unknown, &fragment, &icmp].into_iter().enumerate() {
        world.inject(&mut (), us(100_000 * number as u64), HostId(0), 0, packet);
    }
    world.advance(&mut (), us(1_000_000));
    let arrived: Vec<&Vec<u8>> = world.arrivals.iter().map(|arrival| &arrival.frame.bytes).collect();
    let sent = [&unknown, &fragment, &icmp].map(|packet| passed(2, packet));
    assert_eq!(arrived, sent.iter().collect::<Vec<_>>(), "without waiting and as they were");
    assert_eq!(world.counters.unseen, 6, "at both ends");
    assert_eq!(world.arrivals[0].due, us(30_000 + 3 * 52));
}

#[test]
fn what_a_middlebox_sends_over_a_bridge_has_its_ethernet_header() {
    let filter = "[[middlebox]]\nkind = \"ack_filter\"\nat = \"r\"\nevery = 10\nhold = \"100 ms\"\n";
    let mut world = longer_world(filter);
    world.bridge();
    let framed = |number| [&[7; 12][..], &[8, 0], &ack(number, &[])].concat();
    for number in [1000, 2000] {
        world.inject(&mut (), us(0), HostId(0), 14, &framed(number));
    }
    world.advance(&mut (), us(1_000_000));
    assert_eq!(world.arrivals.len(), 2);
    assert_eq!(world.arrivals[1].frame.bytes, framed(2000), "held, and sent by itself");
    // 40 us on each of two links for each packet, which wait for each other on the first; 100 ms; two more links.
    assert!(world.arrivals[1].due > us(130_000), "{:?}", world.arrivals[1].due);
}

/// What stands at r and s in worlds of hostile packets.
const MIDDLEBOXES: [&str; 4] = [
    "[[middlebox]]\nkind = \"ack_filter\"\nat = \"r\"\nevery = 3\n[[middlebox]]\nkind = \"mss_clamp\"\nat = \"s\"\nmss = \"500 B\"\n",
    COMPACTION,
    "[[middlebox]]\nkind = \"split\"\nat = \"r\"\n",
    "[[middlebox]]\nkind = \"split\"\nat = \"r\"\npeer = \"s\"\n",
];

/// A packet of 28 bytes (IPv6: 48) with this TTL, protocol and first byte behind the header.
fn probe(from: &str, to: &str, ttl: u8, protocol: u8, kind: u8) -> Vec<u8> {
    let header = ip::Header { ttl, ..ip::Header::new(from.parse().unwrap(), to.parse().unwrap()) };
    let mut bytes = vec![];
    header.encode(protocol, 8, &mut bytes).unwrap();
    bytes.extend_from_slice(&[kind, 0, 0, 0, 1, 2, 3, 4]);
    bytes
}

/// What has come back to the first host: from whom, of which type and code, and when.
fn reports(world: &World) -> Vec<(String, [u8; 2], Instant)> {
    let back = world.arrivals.iter().filter(|arrival| arrival.host == HostId(0));
    back.map(|arrival| {
        let report = ip::decode(&arrival.frame.bytes).unwrap();
        (report.header.src.to_string(), [report.payload[0], report.payload[1]], arrival.due)
    })
    .collect()
}

/// RFC 1812 section 5.3.1: over three links there are two routers, and the third hop is the host.
#[test]
fn each_node_counts_down_and_the_one_that_comes_to_zero_reports_it() {
    let mut world = longer_world("");
    for ttl in 1..=3 {
        world.inject(
            &mut (),
            us(1_000_000 * u64::from(ttl)),
            HostId(0),
            0,
            &probe(HOSTS[0], HOSTS[1], ttl, 17, 0),
        );
    }
    world.advance(&mut (), us(10_000_000));
    let reports = reports(&world);
    let from: Vec<&str> = reports.iter().map(|(from, ..)| &from[..]).collect();
    assert_eq!(from, ["10.9.0.2", "10.9.0.3"]);
    assert!(reports.iter().all(|(_, kind, _)| *kind == [11, 0]), "{reports:?}");
    // There 10 ms and 28 us for 28 bytes; back the same for 56 bytes. Two links are twice as long.
    assert_eq!(reports[0].2, us(1_000_000 + 10_028 + 10_056));
    assert_eq!(reports[1].2, us(2_000_000 + 2 * (10_028 + 10_056)));
    let arrived: Vec<u8> = world
        .arrivals
        .iter()
        .filter(|arrival| arrival.host == HostId(1))
        .map(|arrival| arrival.frame.bytes[8])
        .collect();
    assert_eq!(arrived, [1], "the host receives what has a TTL of 1 left");
    assert_eq!((world.counters.expired, world.counters.originated), (2, 2));
}

/// A UDP packet of so many bytes with its IP header, which may be cut or not (IPv4).
fn datagram(from: &str, to: &str, ttl: u8, len: u32, dont_fragment: bool) -> Vec<u8> {
    let header =
        ip::Header { ttl, dont_fragment, ..ip::Header::new(from.parse().unwrap(), to.parse().unwrap()) };
    let payload = len - header.wire_len();
    let mut bytes = vec![];
    header.encode(17, payload, &mut bytes).unwrap();
    bytes.resize(len as usize, 9);
    bytes
}

/// Three links of which the last two carry less: the routers are 10.9.0.2 and 10.9.0.3.
fn narrowing(more: &str) -> World {
    let link = |name: &str, ends: &str, mtu: &str| {
        format!("[[link]]\nname = \"{name}\"\nends = [{ends}]\nrate = \"8 Mbit/s\"\ndelay = \"10 ms\"\n{mtu}")
    };
    let links = [
        link("one", "\"a\", \"r\"", ""),
        link("two", "\"r\", \"s\"", &format!("mtu = \"1400 B\"\n{more}")),
        link("three", "\"s\", \"b\"", &format!("mtu = \"1300 B\"\n{more}")),
    ];
    let text = format!("[run]\nduration = \"1 s\"\n{}[[flow]]\nfrom = \"a\"\nto = \"b\"\n", links.concat());
    let scenario = load(&text, "test", &[]).unwrap();
    let network = Network::new(&scenario);
    let address = |v4: &str, v6: &str| vec![v4.parse::<IpAddr>().unwrap(), v6.parse::<IpAddr>().unwrap()];
    let hosts = [(NodeId(0), address(HOSTS[0], "fd00::1")), (NodeId(3), address(HOSTS[1], "fd00::9"))];
    World::new(Plan::new(&scenario, &network, &hosts, &ranges()).unwrap())
}

/// RFC 1191 section 4, RFC 4443 section 3.2: the router before the link reports it, with the link's MTU. What is shorter gets through, and
/// one that expires at the same router is reported as expired.
#[test]
fn a_packet_that_a_link_does_not_carry_is_reported_with_the_mtu() {
    let mut world = narrowing("");
    let v6 = ["fd00::1", "fd00::9"];
    let sent = [
        datagram(HOSTS[0], HOSTS[1], 64, 1401, true),
        datagram(HOSTS[0], HOSTS[1], 64, 1400, true),
        datagram(HOSTS[0], HOSTS[1], 64, 1300, true),
        datagram(v6[0], v6[1], 64, 1500, true),
        datagram(v6[0], v6[1], 64, 1301, true),
        datagram(v6[0], v6[1], 64, 1300, true),
        datagram(HOSTS[0], HOSTS[1], 1, 1500, true),
        datagram(HOSTS[0], HOSTS[1], 2, 1350, true),
    ];
    for (number, packet) in sent.iter().enumerate() {
        world.inject(&mut (), us(100_000 * number as u64), HostId(0), 0, packet);
    }
    world.advance(&mut (), us(10_000_000));
    let mtus: Vec<u16> = (world.arrivals.iter().filter(|arrival| arrival.host == HostId(0)))
        .map(|arrival| {
            let payload = ip::decode(&arrival.frame.bytes).unwrap().payload.to_vec();
            u16::from_be_bytes([payload[6], payload[7]])
        })
        .collect();
    let reports = reports(&world);
    let found: Vec<_> = reports.iter().map(|(from, kind, _)| (&from[..], *kind)).zip(mtus).collect();
    let v6_router = |number: u8| format!("fd6c:6f6e:6768::{number}");
    let (second, third) = (v6_router(2), v6_router(3));
    assert_eq!(
        found,
        [
            (("10.9.0.2", [3, 4]), 1400),
            (("10.9.0.3", [3, 4]), 1300),
            ((&second[..], [2, 0]), 1400),
            ((&third[..], [2, 0]), 1300),
            (("10.9.0.2", [11, 0]), 0),
            (("10.9.0.3", [11, 0]), 0),
        ]
    );
    let there = world.arrivals.iter().filter(|arrival| arrival.host == HostId(1)).count();
    assert_eq!((there, world.counters.too_big, world.counters.expired), (2, 4, 2));
}

#[test]
fn a_packet_that_may_be_cut_arrives_in_fragments_and_all_is_accounted_for() {
    let mut world = narrowing("");
    let whole = datagram(HOSTS[0], HOSTS[1], 64, 1500, false);
    world.inject(&mut (), us(0), HostId(0), 0, &whole);
    world.advance(&mut (), us(1_000_000));
    let fragments: Vec<&[u8]> = world.arrivals.iter().map(|arrival| &arrival.frame.bytes[..]).collect();
    // 1280 and 200 bytes of data: as much as the narrowest link carries, though the second carries more.
    let lens: Vec<usize> = fragments.iter().map(|fragment| fragment.len()).collect();
    assert_eq!(lens, [1300, 220]);
    let data: usize = fragments.iter().map(|fragment| fragment.len() - 20).sum();
    assert_eq!(data, 1480);
    // Two routers have passed all of them on.
    assert!(fragments.iter().all(|fragment| frame::ttl(fragment) == Some(62)), "{fragments:?}");
    let counters = world.counters;
    assert_eq!((counters.injected, counters.too_big, counters.originated, counters.arrived), (1, 1, 2, 2));
}

/// Operators of proxies and tunnels meet this: handshakes and pings get through, data does not, and nobody is told.
#[test]
fn a_black_hole_drops_long_packets_without_a_word() {
    let mut world = narrowing("too_big = \"dropped\"\n");
    for (number, (len, dont_fragment)) in [(1500, true), (1500, false), (1300, true)].into_iter().enumerate()
    {
        let packet = datagram(HOSTS[0], HOSTS[1], 64, len, dont_fragment);
        world.inject(&mut (), us(100_000 * number as u64), HostId(0), 0, &packet);
    }
    world.advance(&mut (), us(10_000_000));
    let hosts: Vec<HostId> = world.arrivals.iter().map(|arrival| arrival.host).collect();
    assert_eq!(hosts, [HostId(1)]);
    assert_eq!((world.counters.too_big, world.counters.originated), (2, 0));
}

/// Linux sends no more than 1,000 in a second either (icmp_msgs_per_sec).
#[test]
fn reports_of_long_packets_are_few_whatever_is_sent() {
    let mut world = narrowing("");
    for _ in 0..2000 {
        world.inject(&mut (), us(0), HostId(0), 0, &datagram(HOSTS[0], HOSTS[1], 64, 1450, true));
    }
    world.advance(&mut (), us(60_000_000));
    // The queue of the first link takes 1,000; they come to the router in 1.45 s.
    let reported = world.arrivals.len();
    assert!((900..=1000).contains(&reported), "{reported}");
}

#[test]
fn a_bridge_drops_what_its_link_does_not_carry() {
    let mut world = narrowing("");
    world.bridge();
    for (number, len) in [1301, 1300].into_iter().enumerate() {
        world.inject(
            &mut (),
            us(100_000 * number as u64),
            HostId(0),
            0,
            &datagram(HOSTS[0], HOSTS[1], 64, len, true),
        );
    }
    world.advance(&mut (), us(10_000_000));
    assert_eq!((world.arrivals.len(), world.counters.too_big), (1, 1));
}

#[test]
fn what_no_host_has_the_address_of_is_refused_by_the_first_router() {
    let mut world = longer_world("");
    let to = ["192.0.2.77", "2001:db8::77", "224.0.0.251", "ff02::fb", "192.0.2.77"];
    for (number, to) in to.into_iter().enumerate() {
        let from = if to.contains(':') { "fd6c:6f6e:6768::1" } else { HOSTS[0] };
        world.inject(&mut (), us(100_000 * number as u64), HostId(0), 0, &probe(from, to, 64, 17, 0));
    }
    // What a kernel finds its neighbours with is no loss.
    world.inject(&mut (), us(500_000), HostId(0), 0, &probe("fe80::1", "ff02::2", 255, 58, 133));
    world.advance(&mut (), us(10_000_000));
    let reports = reports(&world);
    let kinds: Vec<_> = reports.iter().map(|(from, kind, _)| (&from[..], *kind)).collect();
    let [v4, v6] = [("10.9.0.2", [3, 0]), ("fd6c:6f6e:6768::2", [1, 0])];
    assert_eq!(kinds, [v4, v6, v4], "and none of multicast");
    assert_eq!(world.counters.no_route, 6);
    let sentences = world.unrouted.sentences();
    assert!(
        sentences[0].contains("2 packets were to multicast")
            && sentences[0].contains("224.0.0.251: 1, ff02::fb: 1")
    );
    assert!(
        sentences[1].contains("3 packets were") && sentences[1].contains("192.0.2.77: 2, 2001:db8::77: 1"),
        "{sentences:?}"
    );
}

#[test]
fn with_a_way_out_that_has_no_ipv6_the_far_host_refuses_ipv6_and_takes_the_rest() {
    for v6 in [false, true] {
        let mut world = longer_world("");
        world.set_gateway(HostId(1), v6, &ranges());
        world.inject(&mut (), us(0), HostId(0), 0, &probe(HOSTS[0], "192.0.2.77", 64, 17, 0));
        world.inject(&mut (), us(1), HostId(0), 0, &probe("fd6c:6f6e:6768::1", "2001:db8::77", 64, 17, 0));
        world.advance(&mut (), us(10_000_000));
        let taken = world.arrivals.iter().filter(|arrival| arrival.host == HostId(1)).count();
        let kinds: Vec<_> = reports(&world).into_iter().map(|(from, kind, _)| (from, kind)).collect();
        if v6 {
            assert_eq!((taken, kinds.len()), (2, 0));
        } else {
            assert_eq!((taken, kinds), (1, vec![("fd6c:6f6e:6768::4".to_string(), [1, 0])]));
            assert!(world.unrouted.sentences()[0].contains("2001:db8::77: 1"));
        }
    }
}

/// The ranges of hosts lead nowhere else, although the machine may have a route for them.
#[test]
fn an_address_that_no_host_has_in_their_ranges_does_not_go_out() {
    let mut world = longer_world("");
    world.set_gateway(HostId(1), true, &ranges());
    world.inject(&mut (), us(0), HostId(0), 0, &probe(HOSTS[0], "10.9.0.77", 64, 17, 0));
    world.advance(&mut (), us(10_000_000));
    assert!(world.arrivals.iter().all(|arrival| arrival.host != HostId(1)));
    let kinds: Vec<_> = reports(&world).into_iter().map(|(_, kind, _)| kind).collect();
    assert_eq!(kinds, [[3, 0]]);
    assert!(world.unrouted.sentences()[0].contains("10.9.0.77: 1"));
}

#[test]
fn routers_answer_pings_and_refuse_the_rest() {
    let mut world = longer_world("");
    world.inject(&mut (), us(0), HostId(0), 0, &probe(HOSTS[0], "10.9.0.2", 1, 1, 8));
    world.inject(&mut (), us(100_000), HostId(0), 0, &probe(HOSTS[0], "10.9.0.2", 64, 17, 0));
    world.advance(&mut (), us(10_000_000));
    let kinds: Vec<_> = reports(&world).into_iter().map(|(from, kind, _)| (from, kind)).collect();
    assert_eq!(kinds, [("10.9.0.2".to_string(), [0, 0]), ("10.9.0.2".to_string(), [3, 3])]);
    assert_eq!(world.counters.to_routers, 2);
}

/// Linux: 1000 in a second, and 50 at once.
#[test]
fn a_flood_to_nowhere_brings_few_reports() {
    let mut world = longer_world("");
    for number in 0..2000 {
        world.inject(&mut (), us(100 * number), HostId(0), 0, &probe(HOSTS[0], "192.0.2.77", 64, 17, 0));
    }
    world.advance(&mut (), us(10_000_000));
    let sent = reports(&world).len();
    assert!((200..=260).contains(&sent), "{sent} in 200 ms");
    assert_eq!(world.counters.no_route, 2000);
}

proptest! {
    /// The same with each middlebox in turn; TCP flags are among what is changed, so that connections begin and end.
    #[test]
    fn hostile_packets_do_no_harm_to_middleboxes(
        which in 0..MIDDLEBOXES.len(),
        wire in 0usize..3,
        changes in proptest::collection::vec((0usize..60, any::<u8>(), any::<bool>(), 0usize..2, 0u8..64), 1..60),
    ) {
        let wire = ["", "duplication = 0.5\n", "corruption = 0.3\nduplication = 0.3\n"][wire];
        let mut world = longer_world_with(wire, MIDDLEBOXES[which]);
        let sent = changes.len() as u64;
        for (number, (at, value, raw, host, flags)) in changes.into_iter().enumerate() {
            let mut bytes = packet(HOSTS[host], HOSTS[1 - host], Ecn::Ect0);
            if host == 1 {
                bytes.swap(20, 22);
                bytes.swap(21, 23);
            }
            bytes[33] = flags;
            bytes[at] = value;
            if !raw {
                // With checksums that are right: it gets as far as the TCP of a split.
                for (place, from) in [(10, 0..20), (36, 20..bytes.len())] {
                    bytes[place..place + 2].fill(0);
                    let mut sum = longhaul_segment::checksum::Checksum::new();
                    if from.start > 0 {
                        let address = |at: usize| IpAddr::from([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
                        sum.add_pseudo_header(address(12), address(16), ip::PROTOCOL_TCP, bytes.len() as u32 - 20);
                    }
                    sum.add(&bytes[from]);
                    let sum = sum.finish().to_be_bytes();
                    bytes[place..place + 2].copy_from_slice(&sum);
                }
            }
            world.inject(&mut (), us(5_000 * number as u64), HostId(host as u32), 0, &bytes);
        }
        // Long after every connection of a split has been given up.
        world.advance(&mut (), us(100_000_000_000));
        let counters = world.counters;
        let at_routers = counters.no_route + counters.expired + counters.too_big + counters.to_routers;
        let refused = counters.unreadable + at_routers + counters.taken;
        let made = counters.originated + counters.copied;
        prop_assert_eq!(sent + made, counters.arrived + counters.dropped + refused);
    }

    /// Whatever bytes come, nothing panics, and every packet is accounted for.
    #[test]
    fn hostile_packets_are_carried_or_refused(
        changes in proptest::collection::vec((0usize..120, any::<u8>(), 0usize..1001, any::<bool>()), 1..60),
    ) {
        let mut world = world_with(DROPTAIL, CHAIN);
        let sent = changes.len() as u64;
        for (number, (at, value, len, twice)) in changes.into_iter().enumerate() {
            let mut bytes = packet(HOSTS[0], HOSTS[1], Ecn::Ect0);
            bytes[at] = value;
            if twice {
                bytes[(at * 7 + usize::from(value)) % 60] ^= value;
            }
            bytes.truncate(len);
            world.inject(&mut (), us(5_000 * number as u64), HostId(0), 0, &bytes);
        }
        let end = us(100_000_000);
        world.advance(&mut (), end);
        let dropped: u64 = (0..4).map(|link| world.link(LinkId(link)).stats(end).total_dropped()).sum();
        let counters = world.counters;
        let at_routers = counters.no_route + counters.expired + counters.too_big + counters.to_routers;
        let refused = counters.unreadable + at_routers + counters.taken;
        prop_assert_eq!(counters.injected, sent);
        prop_assert_eq!(sent + counters.originated, counters.arrived + dropped + refused);
    }
}

/// Hosts at nodes 0, 1 and so on, each with an address.
fn world_of(links: &str, hosts: &[(u32, &str)]) -> World {
    let scenario = load(&format!("[run]\nduration = \"1 s\"\n{links}"), "test", &[]).unwrap();
    let network = Network::new(&scenario);
    let hosts: Vec<(NodeId, Vec<IpAddr>)> =
        hosts.iter().map(|(node, address)| (NodeId(*node), vec![address.parse().unwrap()])).collect();
    World::new(Plan::new(&scenario, &network, &hosts, &Ranges::default()).unwrap())
}

/// When packets are due that two hosts inject at 1 ms, by the number of the host that they reach.
fn due(world: &mut World, sent: [(u32, &str, &str); 2]) -> Vec<(u32, Instant)> {
    for (host, from, to) in sent {
        world.inject(&mut (), us(1000), HostId(host), 0, &packet(from, to, Ecn::NotEct));
    }
    // Nobody looks for two seconds.
    world.advance(&mut (), us(2_000_000));
    world.arrivals.iter().map(|arrival| (arrival.host.0, arrival.due)).collect()
}

/// As in the simulator: requests go out at 30 ms, the superframe at 630 ms is divided by them, 1 ms for each terminal, and 10 ms to the hub.
#[test]
fn terminals_share_a_carrier_with_real_packets() {
    let terminal = |name: &str| {
        format!(
            "[[link]]\nname = \"{name}\"\nends = [\"{name}\", \"hub\"]\ndelay = \"10 ms\"\nforward = {{ carrier = {{ name = \"return\" }} }}\n\
             reverse = {{ rate = \"8 Mbit/s\" }}\n[[flow]]\nname = \"{name}\"\nfrom = \"{name}\"\nto = \"hub\"\n"
        )
    };
    let carrier =
        "[[carrier]]\nname = \"return\"\nrate = \"8 Mbit/s\"\nsuperframe = \"30 ms\"\ndelay = \"600 ms\"\n";
    let links = [carrier.to_string(), terminal("a"), terminal("c")].concat();
    let mut world = world_of(&links, &[(0, HOSTS[0]), (1, HOSTS[1]), (2, "10.0.0.5")]);
    let found = due(&mut world, [(0, HOSTS[0], HOSTS[1]), (2, "10.0.0.5", HOSTS[1])]);
    assert_eq!(found, [(1, us(641_000)), (1, us(642_000))]);
}

/// One transmitter: 1 ms, a turnaround of half a millisecond, 1 ms; and 10 ms to the other end.
#[test]
fn directions_take_turns_with_real_packets() {
    let link = "[[link]]\nname = \"radio\"\nends = [\"a\", \"b\"]\nrate = \"8 Mbit/s\"\ndelay = \"10 ms\"\n\
                half_duplex = { turnaround = \"500 us\" }\n[[flow]]\nfrom = \"a\"\nto = \"b\"\n";
    let mut world = world_of(link, &[(0, HOSTS[0]), (1, HOSTS[1])]);
    let found = due(&mut world, [(0, HOSTS[0], HOSTS[1]), (1, HOSTS[1], HOSTS[0])]);
    assert_eq!(found, [(1, us(12_000)), (0, us(13_500))]);
}

/// The first transmission is lost at 2 ms and repeated from 22 ms on; what came behind it waits for it at the far end.
#[test]
fn a_link_repeats_real_packets() {
    let link = "[[link]]\nname = \"radio\"\nends = [\"a\", \"b\"]\nrate = \"8 Mbit/s\"\ndelay = \"10 ms\"\narq = {}\n\
                loss = { kind = \"periodic\", every = 1, first = 1, count = 1 }\n[[flow]]\nfrom = \"a\"\nto = \"b\"\n";
    let mut world = world_of(link, &[(0, HOSTS[0]), (1, HOSTS[1])]);
    let found = due(&mut world, [(0, HOSTS[0], HOSTS[1]), (0, HOSTS[0], HOSTS[1])]);
    assert_eq!(found, [(1, us(33_000)), (1, us(33_000))]);
    assert_eq!(world.counters.dropped, 0);
}

/// 1 MBd of QPSK 1/2 (0.988858 bits in a symbol) at 2 dB: 1000 bytes take 8.09 ms; what is sent below the threshold of 1 dB is lost.
#[test]
fn a_link_adapts_under_real_packets() {
    let link = |es_n0: &str, reaction: &str| {
        format!(
            "[[link]]\nname = \"sky\"\nends = [\"a\", \"b\"]\ndelay = \"10 ms\"\nacm = {{ symbol_rate = 1e6, table = \"dvb-s2\", margin = 0, \
             {es_n0}, reaction = \"{reaction}\" }}\n[[flow]]\nfrom = \"a\"\nto = \"b\"\n"
        )
    };
    let mut world = world_of(&link("es_n0 = 2", "0 s"), &[(0, HOSTS[0]), (1, HOSTS[1])]);
    let found = due(&mut world, [(0, HOSTS[0], HOSTS[1]), (1, HOSTS[1], HOSTS[0])]);
    assert!(found.iter().all(|(_, at)| *at > us(19_080) && *at < us(19_100)), "{found:?}");
    let falls = "signal = [{ at = \"0 s\", es_n0 = 2 }, { at = \"1 ms\", es_n0 = -20 }]";
    let mut world = world_of(&link(falls, "1 s"), &[(0, HOSTS[0]), (1, HOSTS[1])]);
    world.inject(&mut (), us(200_000), HostId(0), 0, &packet(HOSTS[0], HOSTS[1], Ecn::NotEct));
    world.advance(&mut (), us(2_000_000));
    assert_eq!((world.arrivals.len(), world.counters.dropped), (0, 1));
}

/// A satellite and a fibre between two hosts' routers: the packet at 1 ms goes by satellite, the one at 30 ms by fibre.
fn routed(in_flight: &str) -> World {
    let link = |name: &str, ends: &str, delay: &str| {
        format!("[[link]]\nname = \"{name}\"\nends = {ends}\nrate = \"8 Mbit/s\"\ndelay = \"{delay}\"\n")
    };
    let links = [
        link("up", "[\"a\", \"r\"]", "1 ms"),
        link("down", "[\"s\", \"b\"]", "1 ms"),
        link("geo", "[\"r\", \"sky\"]", "100 ms"),
        link("beam", "[\"sky\", \"s\"]", "100 ms"),
        link("fibre", "[\"r\", \"s\"]", "10 ms"),
    ]
    .concat();
    let routes = format!(
        "[[route]]\nvia = [\"geo\", \"beam\"]\n[[route]]\nat = \"30 ms\"\nvia = [\"fibre\"]\n{in_flight}\n"
    );
    let text = format!("{links}{routes}[[flow]]\nfrom = \"a\"\nto = \"b\"\n");
    let scenario = load(&format!("[run]\nduration = \"1 s\"\n{text}"), "test", &[]).unwrap();
    let network = Network::new(&scenario);
    let hosts = [(NodeId(0), HOSTS[0]), (NodeId(3), HOSTS[1])]
        .map(|(node, host)| (node, vec![host.parse().unwrap()]));
    World::new(Plan::new(&scenario, &network, &hosts, &ranges()).unwrap())
}

/// 1000 bytes take 1 ms on each link. What comes to `r` at 30 ms or later takes the fibre, and is there before what left by satellite.
#[test]
fn real_packets_take_another_way_and_overtake() {
    let mut world = routed("");
    for at in [1_000, 27_000, 28_000] {
        world.inject(&mut (), us(at), HostId(0), 0, &packet(HOSTS[0], HOSTS[1], Ecn::NotEct));
    }
    world.advance(&mut (), us(1_000_000));
    let due: Vec<Instant> = world.arrivals.iter().map(|arrival| arrival.due).collect();
    // Up and down 2 ms each, over the satellite 202 ms, by fibre 11 ms.
    assert_eq!(
        due,
        [us(28_000 + 2_000 + 11_000 + 2_000), us(1_000 + 2_000 + 202_000 + 2_000), us(27_000 + 206_000)]
    );
    assert_eq!(world.counters.dropped, 0);
}

#[test]
fn real_packets_on_the_old_way_are_lost_where_it_is_said() {
    let mut world = routed("in_flight = \"lost\"");
    for at in [1_000, 27_000, 28_000] {
        world.inject(&mut (), us(at), HostId(0), 0, &packet(HOSTS[0], HOSTS[1], Ecn::NotEct));
    }
    world.advance(&mut (), us(1_000_000));
    assert_eq!(world.arrivals.len(), 1);
    assert_eq!((world.counters.injected, world.counters.dropped, world.counters.arrived), (3, 2, 1));
}

/// traceroute sees the routers of the way that there is: over the satellite three, by fibre two.
#[test]
fn the_routers_on_the_way_are_those_of_its_time() {
    let mut world = routed("");
    for start in [0, 500_000] {
        for ttl in 1..=4 {
            let at = us(start + 1_000 * u64::from(ttl));
            world.inject(&mut (), at, HostId(0), 0, &probe(HOSTS[0], HOSTS[1], ttl, 17, 0));
        }
    }
    world.advance(&mut (), us(2_000_000));
    assert_eq!((world.counters.expired, world.counters.originated), (3 + 2, 5));
}

/// Packets between the same hosts are known by these alone.
#[test]
fn flows_between_the_same_hosts_have_one_way() {
    let link = |name: &str| {
        format!("[[link]]\nname = \"{name}\"\nends = [\"a\", \"b\"]\nrate = \"8 Mbit/s\"\ndelay = \"1 ms\"\n")
    };
    let flow = |name: &str| format!("[[flow]]\nname = \"{name}\"\nfrom = \"a\"\nto = \"b\"\n");
    let text = [link("one"), link("two"), flow("x"), flow("y")].concat();
    let text = format!("[run]\nduration = \"1 s\"\n{text}[[route]]\nvia = [\"two\"]\nflows = [\"x\"]\n");
    let scenario = load(&text, "test", &[]).unwrap();
    let network = Network::new(&scenario);
    let hosts = [(NodeId(0), HOSTS[0]), (NodeId(1), HOSTS[1])]
        .map(|(node, host)| (node, vec![host.parse().unwrap()]));
    let refused = Plan::new(&scenario, &network, &hosts, &Ranges::default()).err().unwrap().to_string();
    assert!(refused.contains("\"x\" or \"y\" alone") && refused.contains("hosts of their own"), "{refused}");
}
