//! The open in detail: which round trip it measures, what a repeated or crossing SYN means, text in SYNs, and what is answered before
//! the connection is established (RFC 9293 sections 3.10.7.3 and 3.10.7.4, RFC 6298 section 3, RFC 5681 section 3.1).

use crate::common::*;
use longhaul_segment::{Ecn, Flags, Options, Segment, SeqNumber};
use longhaul_tcp::{Config, Connection, Event, SpuriousDetection, State};
use longhaul_units::Duration;

const SYN: Flags = Flags::SYN;
const SYN_ACK: Flags = Flags(0x012);

fn crossing(config: Config) -> World {
    let a = Connection::connect(config.clone(), Reno::new(2), SeqNumber(100), ports(End::A));
    let b = Connection::connect(config, Reno::new(2), SeqNumber(300), ports(End::B));
    World::new(a, b, ms(50))
}

/// RFC 6298 section 3: no round trip is measured of a SYN-ACK that was sent twice, be it the peer's SYN or the timer that
/// demanded the second. RFC 5681 section 3.1: "if the SYN or SYN/ACK is lost, the initial window [...] MUST be one segment".
#[test]
fn a_lost_syn_ack_that_the_peer_asks_for_again() {
    for initial_rto in [1, 3] {
        let patient = Config { initial_rto: Duration::from_secs(initial_rto), ..plain() };
        let mut world = World::connecting(plain(), patient, ms(50))
            .dropping(|sent| sent.from == End::B && sent.at < at_ms(1_000));
        world.b.write(10_000);
        world.run_until(at_ms(1_249));
        assert_eq!(world.data_from(End::B), [(1_150, 9001)]);
        assert_eq!((world.b.srtt(), world.b.stats().syn_retransmissions), (Duration::ZERO, 1));
        assert_eq!(world.b.rto(), Duration::from_secs(3));
        world.run_until(at_ms(1_250));
        assert_eq!(world.b.srtt(), ms(100));
    }
}

/// The peer's SYN may come again more often than this end's timer lets a SYN-ACK be repeated: the peer is alive.
#[test]
fn syns_of_a_peer_do_not_use_up_the_patience_for_its_ack() {
    let b = Config { max_syn_retransmissions: 1, initial_rto: Duration::from_secs(30), ..plain() };
    let mut world =
        World::connecting(plain(), b, ms(50)).dropping(|sent| sent.from == End::B && sent.at < at_ms(14_000));
    world.run_until(at_ms(20_000));
    // SYNs at 0, 1, 3, 7 and 15 s.
    assert_eq!((world.b.state(), world.b.stats().syn_retransmissions), (State::Established, 4));
}

/// RFC 9293 figure 8. The SYN of 0 ms reaches the peer at 50 ms, whose SYN-ACK comes back at 100 ms.
#[test]
fn a_simultaneous_open_measures_a_whole_round_trip() {
    let mut world = crossing(plain());
    world.run_until(at_ms(500));
    assert_eq!((world.a.state(), world.b.state()), (State::Established, State::Established));
    assert_eq!((world.a.srtt(), world.b.srtt()), (ms(100), ms(100)));
    assert_eq!((world.a.stats().syn_retransmissions, world.b.stats().syn_retransmissions), (0, 0));
}

/// The SYN-ACK of B is lost; what completes the open of A is the ACK of its own SYN-ACK, which carries the SYN a second time.
#[test]
fn a_simultaneous_open_with_a_loss_measures_nothing() {
    let mut world =
        crossing(plain()).dropping(|sent| sent.from == End::B && sent.transmit.segment.flags == SYN_ACK);
    world.a.write(10_000);
    world.run_until(at_ms(249));
    assert_eq!((world.a.state(), world.b.state()), (State::Established, State::Established));
    assert_eq!((world.a.srtt(), world.b.srtt()), (Duration::ZERO, ms(100)));
    assert_eq!(world.data_from(End::A), [(150, 101)]);
}

/// RFC 7323 section 2.2: "The window field in a segment where the SYN bit is set [...] MUST NOT be scaled", that of a SYN-ACK in a
/// simultaneous open like any other.
#[test]
fn no_syn_scales_its_window() {
    let config = Config { receive_buffer: Some(1_000_000), ..plain() };
    let mut a = Connection::connect(config, Reno::new(2), SeqNumber(100), ports(End::A));
    assert!(a.poll_transmit(at_ms(0)).is_some());
    let options = Options { window_scale: Some(4), mss: Some(1000), ..Options::NONE };
    let syn = Segment { seq: SeqNumber(300), flags: SYN, window: 65_535, options, ..Segment::default() };
    a.handle_segment(at_ms(50), &syn, Ecn::NotEct);
    assert!(a.poll_transmit(at_ms(50)).is_some_and(|sent| sent.segment.flags == SYN_ACK));
    a.handle_segment(at_ms(100), &Segment { ack: SeqNumber(101), flags: SYN_ACK, ..syn }, Ecn::NotEct);
    assert_eq!((a.state(), a.peer_window()), (State::Established, 65_535));
}

/// An answer to the SYN of a connection that A has opened with number 100.
fn answer(flags: Flags, payload_len: u32) -> Segment {
    Segment {
        src_port: 2,
        dst_port: 1,
        seq: SeqNumber(300),
        ack: SeqNumber(if flags.contains(Flags::ACK) { 101 } else { 0 }),
        window: 10_000,
        flags,
        payload_len,
        ..Segment::default()
    }
}
fn calling() -> Connection {
    let mut a = Connection::connect(plain(), Reno::new(2), SeqNumber(100), ports(End::A));
    assert!(a.poll_transmit(at_ms(0)).is_some());
    a
}

/// RFC 9293 section 3.10.7.3: "If there are other controls or text in the segment, then continue processing at the sixth step".
#[test]
fn text_and_fin_of_a_syn_ack_are_taken() {
    for (fin, ack, state) in [(Flags(0), 401, State::Established), (Flags::FIN, 402, State::CloseWait)] {
        let mut a = calling();
        a.handle_segment(at_ms(100), &answer(SYN_ACK | fin, 100), Ecn::NotEct);
        let sent = a.poll_transmit(at_ms(100)).unwrap().segment;
        assert_eq!((sent.seq, sent.ack, sent.flags), (SeqNumber(101), SeqNumber(ack), Flags::ACK));
        assert_eq!((a.received_bytes(), a.state()), (100, state));
        assert_eq!(a.poll_transmit(at_ms(100)), None);
    }
}

/// Section 3.10.7.3: text of a SYN that crosses ours is queued until the connection is established; the SYN-ACK does not
/// acknowledge it.
#[test]
fn text_of_a_crossing_syn_waits_for_the_connection() {
    let mut a = calling();
    a.handle_segment(at_ms(100), &answer(SYN, 100), Ecn::NotEct);
    let sent = a.poll_transmit(at_ms(100)).unwrap().segment;
    assert_eq!((sent.ack, sent.flags, a.received_bytes()), (SeqNumber(301), SYN_ACK, 0));
    a.handle_segment(at_ms(200), &answer(SYN_ACK, 0), Ecn::NotEct);
    assert_eq!((a.received_bytes(), a.poll_event()), (100, Some(Event::Connected)));
    assert_eq!(a.poll_transmit(at_ms(200)).unwrap().segment.ack, SeqNumber(401));
}

/// A passive end in SYN-RECEIVED whose SYN-ACK has left.
fn called(config: Config) -> Connection {
    let mut b = Connection::listen(config, Reno::new(2), SeqNumber(9000), ports(End::B));
    b.handle_segment(
        at_ms(50),
        &Segment { seq: SeqNumber(1000), flags: SYN, ..data(1000, 1000) },
        Ecn::NotEct,
    );
    assert!(b.poll_transmit(at_ms(50)).is_some_and(|sent| sent.segment.flags == SYN_ACK));
    assert_eq!(b.state(), State::SynReceived);
    b
}

/// Section 3.10.7.4, first check, in SYN-RECEIVED too: "an acknowledgment should be sent in reply", at once and once:
/// `<SEQ=SND.NXT><ACK=RCV.NXT><CTL=ACK>`; not for a RST. RFC 5961 section 4 requires the same for a SYN with another number.
#[test]
fn what_is_not_acceptable_in_syn_received_is_challenged() {
    let mut b = called(Config { receive_buffer: Some(10_000), ..plain() });
    let beyond = Segment { ack: SeqNumber(9001), ..data(900_000, 900_100) };
    for segment in [beyond, Segment { flags: SYN, payload_len: 0, ..beyond }] {
        b.handle_segment(at_ms(60), &segment, Ecn::NotEct);
        let sent = b.poll_transmit(at_ms(60)).expect("a challenge ACK").segment;
        assert_eq!((sent.seq, sent.ack, sent.flags), (SeqNumber(9001), SeqNumber(1001), Flags::ACK));
    }
    b.handle_segment(at_ms(60), &Segment { flags: Flags::RST, payload_len: 0, ..beyond }, Ecn::NotEct);
    assert_eq!((b.poll_transmit(at_ms(60)), b.state()), (None, State::SynReceived));
    let last = Segment { ack: SeqNumber(9001), ..data(1001, 1001) };
    b.handle_segment(at_ms(150), &last, Ecn::NotEct);
    assert_eq!((b.poll_transmit(at_ms(150)), b.state()), (None, State::Established));
}

/// A round trip of 5 s, an RTO of 1 s: the SYN is sent again for nothing. The timestamp shows that the first one was answered: the round
/// trip is known, and the initial window stays (RFC 7323 section 4.1; Linux: `tcp_try_undo_spurious_syn`, `tcp_init_transfer`).
#[test]
fn a_timeout_of_the_syn_that_was_for_nothing_costs_no_window() {
    let eifel = SpuriousDetection { eifel: true, ..SpuriousDetection::default() };
    let run = |timestamps, spurious_detection| {
        let config = Config { timestamps, spurious_detection, ..plain() };
        let a = Connection::connect(config.clone(), Reno::new(10), SeqNumber(1000), ports(End::A));
        let b = Connection::listen(config, Reno::new(10), SeqNumber(9000), ports(End::B));
        let mut world = World::new(a, b, ms(2_500));
        world.a.write(20_000);
        world.run_until(at_ms(5_000));
        world
    };
    let world = run(true, eifel);
    assert_eq!((world.data_from(End::A).len(), world.a.srtt(), world.a.rto()), (10, ms(5_000), ms(15_000)));
    assert_eq!((world.a.stats().syn_retransmissions, world.a.ssthresh()), (2, u64::MAX));
    // Without detection it is presumed lost; the timestamp still gives the round trip.
    let world = run(true, SpuriousDetection::default());
    assert_eq!((world.data_from(End::A).len(), world.a.srtt(), world.a.rto()), (1, ms(5_000), ms(15_000)));
    // Without timestamps nothing is known (RFC 6298 sections 3 and 5.7).
    let world = run(false, SpuriousDetection::default());
    assert_eq!(
        (world.data_from(End::A).len(), world.a.srtt(), world.a.rto()),
        (1, Duration::ZERO, ms(3_000))
    );
}

/// Each SYN before 4.5 s is lost: what comes back echoes another one, and the round trip is that of its own.
#[test]
fn a_lost_syn_is_none_that_was_for_nothing() {
    let eifel = SpuriousDetection { eifel: true, ..SpuriousDetection::default() };
    for (tolerated_syn_losses, lost_before, window) in [(0, 500, 1), (1, 500, 2), (1, 2_000, 1)] {
        let config = Config { timestamps: true, spurious_detection: eifel, tolerated_syn_losses, ..plain() };
        let mut world = World::connecting(config.clone(), config, ms(50))
            .dropping(move |sent| sent.from == End::A && sent.at < at_ms(lost_before));
        world.a.write(20_000);
        // SYNs at 0, 1 and 3 s.
        world.run_until(at_ms(if lost_before == 500 { 1_100 } else { 3_100 }));
        assert_eq!((world.data_from(End::A).len(), world.a.srtt()), (window, ms(100)));
    }
}

/// `tcp_syn_linear_timeouts`: the timeout of the SYN is doubled from the fifth expiration on, and the four before it do not count
/// towards giving up.
#[test]
fn the_first_timeouts_of_the_syn_may_be_linear() {
    let config = Config { syn_linear_timeouts: 4, max_syn_retransmissions: 2, ..plain() };
    let mut world = World::connecting(config.clone(), config, ms(50)).dropping(|_| true);
    world.run_until(at_ms(60_000));
    let sent: Vec<u64> = world.log.iter().map(|sent| sent.at.as_nanos() / 1_000_000_000).collect();
    assert_eq!(sent, [0, 1, 2, 3, 4, 5, 7]);
    assert!(world.saw(End::A, Event::TimedOut));
    assert_eq!(world.a.state(), State::Closed);
}
