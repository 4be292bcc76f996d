//! Accurate ECN feedback (RFC 9768), and the exact echo of RFC 8257.

use crate::common::*;
use longhaul_cc::EcnUse;
use longhaul_segment::{Ecn, EcnCounters, EcnOrder, Flags, Segment, SeqNumber};
use longhaul_tcp::{Config, Connection, Event, State};

const ACE: Flags = Flags(0x1c0);

fn none() -> Config {
    plain()
}
fn classic() -> Config {
    Config { ecn: true, ..plain() }
}
fn accurate() -> Config {
    Config { accurate_ecn: true, ..classic() }
}
fn ace(sent: &Sent) -> u16 {
    (sent.transmit.segment.flags.0 & ACE.0) >> 6
}
fn counters(sent: &Sent) -> Option<Vec<u32>> {
    sent.transmit.segment.options.ecn_counters.map(|option| option.counters().collect())
}

/// Table 2, each with each. With accurate feedback all but SYNs are ECN-capable.
#[test]
fn negotiation() {
    for (a, b, syn, syn_ack, third, data, answer) in [
        (accurate(), accurate(), 7, 2, 2, Ecn::Ect0, Ecn::Ect0),
        (accurate(), classic(), 7, 1, 0, Ecn::Ect0, Ecn::NotEct),
        (accurate(), none(), 7, 0, 0, Ecn::NotEct, Ecn::NotEct),
        (classic(), accurate(), 3, 1, 0, Ecn::Ect0, Ecn::NotEct),
        (none(), accurate(), 0, 0, 0, Ecn::NotEct, Ecn::NotEct),
    ] {
        let mut world = World::connecting(a, b, ms(50));
        world.run_until(at_ms(120));
        world.a.write(1_000);
        world.run_until(at_ms(1_000));
        let fields: Vec<u16> = world.log.iter().map(ace).collect();
        assert_eq!(fields[..3], [syn, syn_ack, third]);
        let ecn: Vec<Ecn> = world.log.iter().map(|sent| sent.transmit.ecn).collect();
        let control = if third == 2 { Ecn::Ect0 } else { Ecn::NotEct };
        assert_eq!(ecn[..3], [Ecn::NotEct, Ecn::NotEct, control]);
        // The segment of 1,000 bytes has room for the option only in two.
        assert!(world.log[3..].iter().filter(|s| s.from == End::A).all(|s| s.transmit.ecn == data));
        assert!(world.log[3..].iter().filter(|s| s.from == End::B).all(|s| s.transmit.ecn == answer));
        let agreed = third == 2;
        assert!(world.log[3..].iter().all(|sent| ace(sent) == if agreed { 5 } else { 0 }));
        assert_eq!(world.log[3..].iter().all(|sent| counters(sent).is_some()), agreed);
        assert_eq!(world.a.ecn_delivered().is_some(), agreed);
        assert_eq!(world.b.received_bytes(), 1_000);
    }
}

/// A SYN-ACK of another peer: the reserved field is accurate feedback, one that returns all bits is none (table 2).
#[test]
fn what_a_syn_ack_grants() {
    for (field, syn_ack_ecn, third, capable, accurately) in [
        (0b000, Ecn::NotEct, 0b000, Ecn::NotEct, false),
        (0b001, Ecn::NotEct, 0b000, Ecn::NotEct, false),
        (0b010, Ecn::NotEct, 0b010, Ecn::Ect0, true),
        (0b010, Ecn::Ect1, 0b011, Ecn::Ect0, true),
        (0b010, Ecn::Ect0, 0b100, Ecn::Ect0, true),
        (0b010, Ecn::Ce, 0b110, Ecn::Ect0, true),
        // The path has changed the SYN's field, which was not ECN-capable.
        (0b011, Ecn::NotEct, 0b010, Ecn::NotEct, true),
        (0b100, Ecn::NotEct, 0b010, Ecn::NotEct, true),
        (0b110, Ecn::NotEct, 0b010, Ecn::NotEct, true),
        (0b101, Ecn::NotEct, 0b010, Ecn::Ect0, true),
        (0b111, Ecn::NotEct, 0b000, Ecn::NotEct, false),
    ] {
        let mut a = Connection::connect(accurate(), Reno::new(2), SeqNumber(100), ports(End::A));
        assert!(a.poll_transmit(at_ms(0)).is_some_and(|sent| sent.segment.flags.contains(ACE)));
        let syn_ack = Segment {
            src_port: 2,
            dst_port: 1,
            seq: SeqNumber(300),
            ack: SeqNumber(101),
            window: 65_535,
            flags: Flags::SYN | Flags::ACK | Flags(field << 6),
            ..Segment::default()
        };
        a.handle_segment(at_ms(50), &syn_ack, syn_ack_ecn);
        let ack = a.poll_transmit(at_ms(50)).unwrap();
        assert_eq!((ack.segment.flags.0 & ACE.0) >> 6, third, "{field:03b} {syn_ack_ecn:?}");
        assert_eq!(ack.ecn, capable, "{field:03b}");
        assert_eq!(a.ecn_delivered().is_some(), accurately);
        // The option of a peer that has not sent it may be what the path drops.
        assert_eq!(ack.segment.options.ecn_counters, None);
        // A SYN-ACK with congestion counts.
        a.write(100);
        let data = a.poll_transmit(at_ms(51)).unwrap();
        let count = if !accurately {
            0
        } else if syn_ack_ecn == Ecn::Ce {
            6
        } else {
            5
        };
        assert_eq!((data.segment.flags.0 & ACE.0) >> 6, count);
        // It comes again: the field that it has now is reported, for a server that still waits (section 3.2.2.1).
        a.handle_segment(at_ms(60), &syn_ack, Ecn::Ect1);
        let again = a.poll_transmit(at_ms(60)).unwrap();
        assert_eq!((again.segment.flags.0 & ACE.0) >> 6, if accurately { 0b011 } else { 0 });
    }
}

/// The server reports the field of the SYN, and the client that of the SYN-ACK (tables 2 and 3).
#[test]
fn syns_are_reflected() {
    for (ecn, field) in [(Ecn::NotEct, 2), (Ecn::Ect1, 3), (Ecn::Ect0, 4), (Ecn::Ce, 6)] {
        let mut world = World::connecting(accurate(), accurate(), ms(50));
        world.mark = Box::new(move |sent| if sent.has(Flags::SYN) { ecn } else { sent.transmit.ecn });
        world.run_until(at_ms(120));
        assert_eq!((ace(&world.log[1]), ace(&world.log[2])), (field, field));
        // A path that changes it is not to be trusted with ECN (section 3.2.2.3).
        let capable = if ecn == Ecn::NotEct { Ecn::Ect0 } else { Ecn::NotEct };
        world.a.write(2_000);
        world.b.write(2_000);
        world.run_until(at_ms(1_000));
        assert!(world.log[3..].iter().all(|sent| sent.transmit.ecn == capable));
        assert_eq!((world.a.received_bytes(), world.b.received_bytes()), (2_000, 2_000));
        // Without the check it is only counted: the SYN-ACK's mark is reported to the server.
        let unchecked = Config { accurate_ecn_check: false, ..accurate() };
        let mut world = World::connecting(unchecked.clone(), unchecked, ms(50));
        world.mark = Box::new(move |sent| if sent.has(Flags::SYN) { ecn } else { sent.transmit.ecn });
        world.run_until(at_ms(200));
        let marked = world.b.ecn_delivered().unwrap().ce_packets;
        assert_eq!(marked, u64::from(ecn == Ecn::Ce));
        world.a.write(1_000);
        world.run_until(at_ms(400));
        assert!(world.log[2..].iter().all(|sent| sent.transmit.ecn == Ecn::Ect0));
    }
}

/// A path that drops SYNs with ECN bits (systemd issue 9748): the third has none, and the connection opens without ECN (section
/// 3.1.4.1). The same for SYN-ACKs (sections 3.1.5 and 3.2.3.2.2).
#[test]
fn a_path_that_drops_ecn_setup() {
    let bits = |sent: &Sent| ace(sent) != 0 && sent.has(Flags::SYN);
    let mut world = World::connecting(accurate(), accurate(), ms(50)).dropping(bits);
    world.a.write(1_000);
    world.run_until(at_ms(10_000));
    let syns: Vec<u16> =
        world.log.iter().filter(|s| s.has(Flags::SYN) && s.from == End::A).map(ace).collect();
    assert_eq!(syns, [7, 7, 0]);
    assert!(world.log.iter().all(|sent| sent.transmit.ecn == Ecn::NotEct));
    assert_eq!(world.b.received_bytes(), 1_000);

    let from_b = move |sent: &Sent| sent.from == End::B && bits(sent);
    let mut world = World::connecting(accurate(), accurate(), ms(50)).dropping(from_b);
    world.a.write(1_000);
    world.run_until(at_ms(30_000));
    let syn_acks: Vec<(u16, bool)> = world
        .log
        .iter()
        .filter(|s| s.has(Flags::SYN) && s.from == End::B)
        .map(|s| (ace(s), counters(s).is_some()))
        .collect();
    // The first with the option, the second with bits, and then neither.
    assert_eq!(syn_acks[..3], [(2, true), (2, false), (0, false)]);
    assert_eq!(world.b.received_bytes(), 1_000);
    assert!(world.log.iter().filter(|s| s.from == End::A).all(|s| s.transmit.ecn == Ecn::NotEct));
    // A server that has sent a SYN-ACK without bits has nothing ECN-capable either (section 3.1.5).
    world.b.write(1_000);
    world.run_until(at_ms(40_000));
    assert_eq!(world.a.received_bytes(), 1_000);
    assert!(world.log.iter().filter(|s| s.from == End::B).all(|s| s.transmit.ecn == Ecn::NotEct));
}

/// Each SYN but that of RFC 3168 and one without bits negotiates, for what may come (section 3.1.3).
#[test]
fn a_syn_of_a_later_version_negotiates() {
    for field in 0..8 {
        let mut b = Connection::listen(accurate(), Reno::new(2), SeqNumber(300), ports(End::B));
        let syn = Segment {
            src_port: 1,
            dst_port: 2,
            seq: SeqNumber(100),
            window: 65_535,
            flags: Flags::SYN | Flags(field << 6),
            ..Segment::default()
        };
        b.handle_segment(at_ms(0), &syn, Ecn::NotEct);
        let answer = b.poll_transmit(at_ms(0)).unwrap();
        let granted = match field {
            0b000 => 0b000,
            0b011 => 0b001,
            _ => 0b010,
        };
        assert_eq!((answer.segment.flags.0 & ACE.0) >> 6, granted, "{field:03b}");
    }
}

/// A client that has written before the connection opens, and a server that answers: the field of the SYN-ACK is reported by an ACK of
/// its own, before the data. A later ACK had it, and was read as five marks (section 3.2.2.1).
#[test]
fn a_request_before_the_connection_opens_brings_no_marks() {
    let mut world = World::connecting(accurate(), accurate(), ms(50));
    world.a.write(500);
    world.run_until(at_ms(130));
    assert_eq!((ace(&world.log[2]), world.log[2].len()), (2, 0));
    world.b.write(50_000);
    world.run_until(at_ms(3_000));
    assert_eq!((world.b.received_bytes(), world.a.received_bytes()), (500, 50_000));
    for end in [&world.a, &world.b] {
        assert_eq!(end.ecn_delivered().unwrap().ce_packets, 0);
        assert_eq!(end.stats().ecn_reductions, 0);
    }
    assert!(world.log[3..].iter().all(|sent| ace(sent) == 5));
}

/// Data beside SACK blocks and the option stay within the largest segment: the room was reckoned with blocks that the option leaves out.
#[test]
fn data_with_blocks_and_the_option_fit() {
    let mut config = accurate();
    config.timestamps = true;
    let mut world = World::established(config, Box::new(Fixed(20_000)), ms(50)).dropping(|sent| {
        sent.from == End::A
            && sent.len() > 0
            && sent.seq() > 5_000
            && sent.seq() < 9_000
            && sent.at < at_ms(60)
    });
    world.a.write(60_000);
    world.b.write(60_000);
    world.run_until(at_ms(3_000));
    assert_eq!((world.b.received_bytes(), world.a.received_bytes()), (60_000, 60_000));
    let full = world.log.iter().map(|sent| sent.transmit.segment.ipv4_len()).max().unwrap();
    let both = |sent: &&Sent| {
        sent.len() > 0 && !sent.transmit.segment.options.sack.is_empty() && counters(sent).is_some()
    };
    assert!(world.log.iter().any(|sent| both(&sent)), "blocks and option beside data");
    assert!(full <= 40 + 1_000, "{full}");
}

/// A path that clears the ACE field after the handshake: nothing is ECN-capable from then on, since marks would go unseen
/// (section 3.2.2.4).
#[test]
fn a_path_that_clears_the_field() {
    let mut ends = [
        Connection::connect(accurate(), Reno::new(2), SeqNumber(100), ports(End::A)),
        Connection::listen(accurate(), Reno::new(2), SeqNumber(300), ports(End::B)),
    ];
    ends[0].write(20_000);
    ends[1].write(20_000);
    let mut capable = vec![];
    for step in 0..200 {
        let now = at_ms(10 * step);
        for from in [0, 1] {
            while let Some(mut sent) = ends[from].poll_transmit(now) {
                if !sent.segment.flags.contains(Flags::SYN) {
                    sent.segment.flags = Flags(sent.segment.flags.0 & !ACE.0);
                    capable.push((from, sent.ecn != Ecn::NotEct));
                }
                ends[1 - from].handle_segment(now, &sent.segment, sent.ecn);
            }
            if ends[from].poll_timeout().is_some_and(|due| due <= now) {
                ends[from].handle_timeout(now);
            }
        }
    }
    assert_eq!((ends[0].received_bytes(), ends[1].received_bytes()), (20_000, 20_000));
    // The client's first flight leaves before it can see that; the server has seen it.
    assert!(capable.iter().filter(|(from, _)| *from == 1).all(|(_, capable)| !capable));
    let first = capable.iter().filter(|(from, _)| *from == 0).take_while(|(_, capable)| *capable).count();
    assert!((1..=4).contains(&first), "{first}");
    assert_eq!(ends[0].stats().ecn_reductions + ends[1].stats().ecn_reductions, 0);
}

/// One mark, one reduction in a window; every mark is counted, at once and without CWR.
#[test]
fn every_mark_counts_and_one_reduces() {
    let mut world = World::established(accurate(), Reno::avoiding(20), ms(50));
    world.mark = Box::new(|sent| {
        let marked = [3, 5, 6].contains(&(sent.seq() / 988)) && sent.from == End::A && sent.at < at_ms(50);
        if marked { Ecn::Ce } else { sent.transmit.ecn }
    });
    world.a.write(200_000);
    world.run_until(at_ms(150));
    assert!(world.saw(End::A, Event::EcnReduction));
    world.run_until(at_ms(3_000));
    assert_eq!(world.a.stats().ecn_reductions, 1);
    assert_eq!(world.b.stats().ce_received, 3);
    let delivered = world.a.ecn_delivered().unwrap();
    assert_eq!((delivered.ce_packets, delivered.ce_bytes), (3, 3 * 988));
    assert_eq!(delivered.ect0_bytes + delivered.ce_bytes, 200_000);
    assert!(!world.log.iter().any(|sent| sent.from == End::A && sent.has(Flags::CWR)));
    assert_eq!(world.b.received_bytes(), 200_000);
    assert_eq!(world.a.stats().retransmitted_segments, 0);
}

/// Marks at random, with ACKs held back and lost: with the option all is known in the end. Without it all packets are, as long as no
/// ACK covers more than the field can count; then rather too many (section 3.2.2.5.2).
#[test]
fn marks_are_all_known_in_the_end() {
    for (option, lost) in [(true, 0), (true, 3), (false, 0), (false, 3)] {
        let config = Config { accurate_ecn_option: option, delayed_ack: Some(ms(100)), ..accurate() };
        let mut seen = 0u32;
        let mut world = World::established(config, Box::new(Fixed(60_000)), ms(50)).dropping(move |sent| {
            seen += 1;
            lost > 0 && sent.from == End::B && seen % 10 < lost && sent.at < at_ms(5_000)
        });
        let mut data = 0u32;
        world.mark = Box::new(move |sent| {
            if sent.len() == 0 {
                return sent.transmit.ecn;
            }
            data += 1;
            if data.wrapping_mul(2_654_435_761) >> 29 == 0 { Ecn::Ce } else { sent.transmit.ecn }
        });
        world.a.write(2_000_000);
        world.run_until(at_ms(20_000));
        assert_eq!(world.b.received_bytes(), 2_000_000);
        let delivered = world.a.ecn_delivered().unwrap();
        let marked = world.b.stats().ce_received;
        assert!(marked > 200, "{marked}");
        if option || lost == 0 {
            assert_eq!(delivered.ce_packets, marked, "option {option}, {lost} of 10 ACKs lost");
        } else {
            assert!(delivered.ce_packets > marked, "what may have wrapped is taken to have");
        }
        if option {
            assert_eq!(delivered.ect0_bytes + delivered.ce_bytes, world.a.stats().data_bytes_sent);
        }
    }
}

/// A path that removes the option: the field alone counts, and no option is sent to a peer whose own does not arrive.
#[test]
fn a_path_that_removes_the_option() {
    let mut ends = [
        Connection::connect(accurate(), Box::new(Fixed(10_000)), SeqNumber(100), ports(End::A)),
        Connection::listen(accurate(), Box::new(Fixed(10_000)), SeqNumber(300), ports(End::B)),
    ];
    ends[0].write(200_000);
    let (mut options, mut marked, mut number) = (0, 0, 0u32);
    for step in 0..400 {
        let now = at_ms(10 * step);
        for from in [0, 1] {
            while let Some(mut sent) = ends[from].poll_transmit(now) {
                options += u32::from(sent.segment.options.ecn_counters.take().is_some());
                number += 1;
                let mark = sent.segment.payload_len > 0 && number % 11 == 0;
                marked += u64::from(mark);
                let ecn = if mark { Ecn::Ce } else { sent.ecn };
                ends[1 - from].handle_segment(now, &sent.segment, ecn);
            }
        }
    }
    assert_eq!(ends[1].received_bytes(), 200_000);
    assert_eq!(options, 1, "that of the SYN-ACK");
    assert_eq!(ends[0].ecn_delivered().unwrap().ce_packets, marked);
    assert!(marked > 10);
}

/// A path that drops what carries the option after the handshake: the peer repeats what it has sent, and the option is given up
/// (section 3.2.3.2.2).
#[test]
fn a_path_that_drops_the_option() {
    let mut world = World::connecting(accurate(), accurate(), ms(50))
        .dropping(|sent| sent.from == End::B && !sent.has(Flags::SYN) && counters(sent).is_some());
    world.a.write(5_000);
    world.run_until(at_ms(60_000));
    assert_eq!((world.b.received_bytes(), world.a.acked_bytes()), (5_000, 5_000));
}

/// Duplicates of an ACK, and ACKs that were overtaken, report nothing (sections 3.2.2.2 and A.1).
#[test]
fn an_ack_without_progress_reports_nothing() {
    let mut a = Connection::established(accurate(), Box::new(Fixed(10_000)), ports(End::A));
    a.write(3_000);
    while a.poll_transmit(at_ms(0)).is_some() {}
    let ack = |number, ace: u16| Segment {
        src_port: 2,
        dst_port: 1,
        seq: SeqNumber(1),
        ack: SeqNumber(number),
        window: 65_535,
        flags: Flags::ACK | Flags(ace << 6),
        ..Segment::default()
    };
    let mut counted = |segment: &Segment| {
        a.handle_segment(at_ms(50), segment, Ecn::NotEct);
        a.ecn_delivered().unwrap().ce_packets
    };
    assert_eq!(counted(&ack(1, 6)), 0);
    assert_eq!(counted(&ack(989, 6)), 1);
    assert_eq!(counted(&ack(989, 5)), 1);
    assert_eq!(counted(&ack(1, 5)), 1);
    let mut with_option = ack(1977, 7);
    with_option.options.ecn_counters = Some(EcnCounters::new(EcnOrder::Ect0First, &[1, 988, 1]));
    assert_eq!(counted(&with_option), 2);
    assert_eq!(a.stats().ecn_reductions, 1);
}

/// RFC 8257 section 3.2: with the feedback of RFC 3168 each ACK echoes the state of what it acknowledges. Where the state changes, what
/// was held back is acknowledged first.
#[test]
fn an_exact_echo_without_accurate_feedback() {
    let config = Config { delayed_ack: Some(ms(100)), ..classic() };
    let dctcp = || Box::new(Scalable(10_000, EcnUse::Fraction));
    let mut b = Connection::established(config, dctcp(), ports(End::B));
    let mut acks = vec![];
    for (place, ecn) in [0, 0, 0, 1, 1, 1, 1, 0, 1, 0].into_iter().enumerate() {
        let start = 1 + 1000 * place as u32;
        let ecn = if ecn == 1 { Ecn::Ce } else { Ecn::Ect0 };
        b.handle_segment(at_ms(place as u64), &data(start, start + 1000), ecn);
        while let Some(sent) = b.poll_transmit(at_ms(place as u64)) {
            acks.push((sent.segment.ack.0, sent.segment.flags.contains(Flags::ECE)));
        }
    }
    assert_eq!(acks, [(2001, false), (3001, false), (5001, true), (7001, true), (8001, false), (9001, true)]);
}

/// Congestion control that needs accurate feedback for ECT(1) gets ECT(0) without (RFC 9331 sections 4.2 and 4.3, and github.com/L4STeam/linux
/// pull request 19), and takes an echo as a loss.
#[test]
fn ect1_needs_accurate_feedback() {
    let l4s = || Box::new(Scalable(10_000, EcnUse::L4s));
    for (peer, capable) in [(accurate(), Ecn::Ect1), (classic(), Ecn::Ect0), (none(), Ecn::NotEct)] {
        let a = Connection::connect(accurate(), l4s(), SeqNumber(1), ports(End::A));
        let b = Connection::listen(peer, Reno::new(2), SeqNumber(1), ports(End::B));
        let mut world = World::new(a, b, ms(10));
        world.a.write(30_000);
        world.run_until(at_ms(2_000));
        assert_eq!((world.a.state(), world.b.received_bytes()), (State::Established, 30_000));
        assert!(
            world.log.iter().filter(|s| s.from == End::A && s.len() > 0).all(|s| s.transmit.ecn == capable)
        );
        // The other end's congestion control is another one's.
        assert!(world.log.iter().filter(|s| s.from == End::B).all(|s| s.transmit.ecn != Ecn::Ect1));
    }
}
