//! Explicit congestion notification (RFC 3168 section 6.1).

use crate::common::*;
use longhaul_segment::{Ecn, Flags};
use longhaul_tcp::{Config, Event};

fn ecn_world(a: bool, b: bool) -> World {
    World::connecting(Config { ecn: a, ..plain() }, Config { ecn: b, ..plain() }, ms(50))
}

/// Section 6.1.1: ECN-setup SYN has ECE and CWR, ECN-setup SYN-ACK has ECE only; neither is ECN-capable.
#[test]
fn negotiation() {
    for (a, b, syn, syn_ack, data) in [
        (true, true, Flags::ECE | Flags::CWR, Flags::ECE, Ecn::Ect0),
        (true, false, Flags::ECE | Flags::CWR, Flags::NONE, Ecn::NotEct),
        (false, true, Flags::NONE, Flags::NONE, Ecn::NotEct),
    ] {
        let mut world = ecn_world(a, b);
        world.a.write(1_000);
        world.run_until(at_ms(1_000));
        assert_eq!(world.log[0].transmit.segment.flags, Flags::SYN | syn);
        assert_eq!(world.log[1].transmit.segment.flags, Flags::SYN | Flags::ACK | syn_ack);
        assert_eq!((world.log[0].transmit.ecn, world.log[1].transmit.ecn), (Ecn::NotEct, Ecn::NotEct));
        assert_eq!(world.log[2].transmit.ecn, data);
        // Pure ACKs are not ECN-capable (section 6.1.4).
        assert_eq!(world.log[3].transmit.ecn, Ecn::NotEct);
    }
}

/// Sections 6.1.2 and 6.1.3: one mark is echoed until CWR arrives; the window is halved once.
#[test]
fn one_mark_one_reduction() {
    let config = Config { ecn: true, ..plain() };
    let mut world = World::established(config, Reno::avoiding(20), ms(50));
    // Three marks in one window of data.
    world.mark = Box::new(|sent| {
        if [5001, 8001, 9001].contains(&sent.seq()) && sent.from == End::A {
            Ecn::Ce
        } else {
            sent.transmit.ecn
        }
    });
    world.a.write(200_000);
    world.run_until(at_ms(150));
    assert_eq!(world.a.ssthresh(), 10_000);
    assert!(world.saw(End::A, Event::EcnReduction));
    world.run_until(at_ms(3_000));
    assert_eq!(world.a.stats().ecn_reductions, 1);
    assert_eq!(world.b.stats().ce_received, 3);
    let cwr: Vec<_> = world.log.iter().filter(|s| s.from == End::A && s.has(Flags::CWR)).collect();
    assert_eq!(cwr.len(), 1);
    let echoes: Vec<u32> =
        world.log.iter().filter(|s| s.from == End::B && s.has(Flags::ECE)).map(|s| s.ack()).collect();
    // From the first marked segment up to the one before CWR.
    assert_eq!((echoes[0], *echoes.last().unwrap()), (6001, cwr[0].seq()));
    assert_eq!(world.b.received_bytes(), 200_000);
    assert_eq!(world.a.stats().retransmitted_segments, 0);
}

/// Section 6.1.5: retransmissions are not ECN-capable. Section 6.1.2: mark and loss in one window, one reduction.
#[test]
fn a_mark_and_a_loss_in_one_window() {
    let config = Config { ecn: true, ..plain() };
    let mut world = World::established(config, Reno::avoiding(20), ms(50)).dropping_once(&[8001]);
    world.mark = Box::new(|s| if s.seq() == 5001 && s.from == End::A { Ecn::Ce } else { s.transmit.ecn });
    world.a.write(200_000);
    world.run_until(at_ms(250));
    assert_eq!(world.a.ssthresh(), 10_000);
    let again: Vec<_> = world.log.iter().filter(|s| s.transmit.retransmission).collect();
    assert_eq!(again.len(), 1);
    assert_eq!(again[0].transmit.ecn, Ecn::NotEct);
}
