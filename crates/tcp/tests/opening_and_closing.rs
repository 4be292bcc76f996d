//! The state machine of RFC 9293: handshakes, options, closing, resets; sequence numbers that wrap.

use crate::common::*;
use longhaul_segment::{Ecn, Flags, Segment, SeqNumber};
use longhaul_tcp::{Config, Connection, Event, Keepalive, State, reset_for};
use longhaul_units::Duration;

const SYN: Flags = Flags::SYN;
const SYN_ACK: Flags = Flags(0x012);

fn states(world: &World) -> (State, State) {
    (world.a.state(), world.b.state())
}

/// RFC 9293 figure 6: SYN, SYN-ACK, ACK; data may follow at once.
#[test]
fn three_way_handshake() {
    let mut world = World::connecting(plain(), plain(), ms(50));
    world.a.write(500);
    world.run_until(at_ms(150));
    let seen: Vec<_> = world
        .log
        .iter()
        .map(|sent| {
            (sent.at.as_nanos() / 1_000_000, sent.from, sent.transmit.segment.flags, sent.seq(), sent.ack())
        })
        .collect();
    assert_eq!(seen[0], (0, End::A, SYN, 1000, 0));
    assert_eq!(seen[1], (50, End::B, SYN_ACK, 9000, 1001));
    assert_eq!(seen[2], (100, End::A, Flags::ACK | Flags::PSH, 1001, 9001));
    assert_eq!(seen[3], (150, End::B, Flags::ACK, 9001, 1501));
    assert_eq!(states(&world), (State::Established, State::Established));
    assert!(world.saw(End::A, Event::Connected) && world.saw(End::B, Event::Connected));
    assert_eq!(world.a.srtt(), ms(100));
}

/// Each option is in force only if both offer it (RFC 7323, RFC 2018); the smaller MSS counts.
#[test]
fn options_are_agreed_on() {
    let a = Config { mss: 1400, timestamps: true, receive_buffer: Some(1_000_000), ..plain() };
    let b = Config { mss: 1000, timestamps: true, ..plain() };
    let mut world = World::connecting(a, b, ms(50));
    world.a.write(5_000);
    world.run_until(at_ms(1_000));
    let syn = world.log[0].transmit.segment.options;
    let syn_ack = world.log[1].transmit.segment.options;
    // 1,000,000 >> 4 = 62,500 fits 16 bits; 1 GiB needs the largest shift.
    assert_eq!((syn.mss, syn.window_scale, syn.sack_permitted), (Some(1400), Some(4), true));
    assert_eq!((syn_ack.mss, syn_ack.window_scale, syn_ack.sack_permitted), (Some(1000), Some(14), true));
    assert_eq!(world.log[0].transmit.segment.window, 65_535);
    // RFC 7323 section 3: timestamps take 12 bytes of each segment's room.
    assert_eq!(world.a.effective_mss(), 988);
    assert_eq!(world.b.peer_window(), 1_000_000);
    assert!(world.log[2].transmit.segment.options.timestamps.is_some());

    let mut world = World::connecting(
        Config { timestamps: true, ..plain() },
        Config { window_scaling: false, recovery: longhaul_tcp::Recovery::Reno, ..plain() },
        ms(50),
    );
    world.a.write(5_000);
    world.run_until(at_ms(1_000));
    let syn_ack = world.log[1].transmit.segment.options;
    assert_eq!((syn_ack.window_scale, syn_ack.sack_permitted, syn_ack.timestamps), (None, false, None));
    assert_eq!(world.a.peer_window(), 65_535);
    assert_eq!(world.a.effective_mss(), 1000);
}

/// RFC 6298 section 5: the SYN goes out again after 1 s, then 2 s. Section 5.7: data then begins with an RTO of 3 s;
/// RFC 5681 section 3.1: and with one segment.
#[test]
fn a_lost_syn() {
    let mut world =
        World::connecting(plain(), plain(), ms(50)).dropping(|sent| sent.at < at_ms(2_900) && sent.has(SYN));
    world.a.write(10_000);
    world.run_until(at_ms(3_100));
    let syns: Vec<u64> = world
        .log
        .iter()
        .filter(|s| s.from == End::A && s.has(SYN))
        .map(|s| s.at.as_nanos() / 1_000_000)
        .collect();
    assert_eq!(syns, [0, 1_000, 3_000]);
    assert_eq!(world.a.rto(), Duration::from_secs(3));
    assert_eq!(world.data_from(End::A), [(3_100, 1001)]);
    assert_eq!(world.a.stats().syn_retransmissions, 2);
    world.run_until(at_ms(60_000));
    assert_eq!(world.b.received_bytes(), 10_000);
}

/// A SYN that is never answered.
#[test]
fn the_peer_does_not_exist() {
    let config = Config { max_syn_retransmissions: 2, ..plain() };
    let mut world = World::connecting(config, plain(), ms(50)).dropping(|_| true);
    world.run_until(at_ms(100_000));
    assert!(world.events.contains(&(at_ms(7_000), End::A, Event::TimedOut)));
    assert_eq!(world.a.state(), State::Closed);
}

/// RFC 9293 figure 8: both ends call at once.
#[test]
fn simultaneous_open() {
    let a = Connection::connect(plain(), Reno::new(2), SeqNumber(100), ports(End::A));
    let b = Connection::connect(plain(), Reno::new(2), SeqNumber(300), ports(End::B));
    let mut world = World::new(a, b, ms(50));
    world.a.write(3_000);
    world.b.write(4_000);
    world.run_until(at_ms(1_000));
    assert_eq!(states(&world), (State::Established, State::Established));
    assert_eq!((world.b.received_bytes(), world.a.received_bytes()), (3_000, 4_000));
}

/// RFC 9293 section 3.10.7.4, fifth check: in SYN-RECEIVED an ACK of what was never sent is answered by RST, whatever its
/// distance; the segment's FIN must not close a connection that was never opened.
#[test]
fn an_impossible_ack_does_not_complete_a_handshake() {
    let mut a = Connection::connect(plain(), Reno::new(2), SeqNumber(0), ports(End::A));
    assert!(a.poll_transmit(at_ms(0)).is_some());
    let syn =
        Segment { src_port: 80, dst_port: 4000, seq: SeqNumber(3172), flags: SYN, ..Segment::default() };
    a.handle_segment(at_ms(10), &syn, Ecn::NotEct);
    assert_eq!(a.state(), State::SynReceived);
    let flags = Flags::FIN | Flags::ACK;
    let fin = Segment { seq: SeqNumber(3173), ack: SeqNumber(1 << 31), flags, ..syn };
    a.handle_segment(at_ms(20), &fin, Ecn::NotEct);
    assert_eq!(a.state(), State::SynReceived);
    assert!(a.poll_transmit(at_ms(20)).is_some_and(|sent| sent.segment.flags.contains(Flags::RST)));
}

/// RFC 9293 figure 12: one end closes, the other goes on sending; then it closes too.
#[test]
fn half_close() {
    let config = Config { time_wait: ms(500), ..plain() };
    let mut world = World::connecting(config.clone(), config, ms(50));
    world.a.write(1_500);
    world.run_until(at_ms(1_000));
    world.a.close();
    world.run_until(at_ms(1_200));
    assert_eq!(states(&world), (State::FinWait2, State::CloseWait));
    assert!(world.saw(End::B, Event::PeerClosed));
    world.b.write(5_000);
    world.run_until(at_ms(2_000));
    assert_eq!(world.a.received_bytes(), 5_000);
    world.b.close();
    world.run_until(at_ms(2_100));
    assert_eq!(states(&world), (State::TimeWait, State::Closed));
    world.run_until(at_ms(3_000));
    assert_eq!(states(&world), (State::Closed, State::Closed));
    // The FIN of B reached A at 2050 ms.
    assert!(world.events.contains(&(at_ms(2_550), End::A, Event::Closed)));
}

/// The FIN rides on the last data segment, takes a number of its own, and is retransmitted like data.
#[test]
fn a_lost_fin() {
    let mut world = World::established(plain(), Reno::new(10), ms(50))
        .dropping(|s| s.has(Flags::FIN) && s.at < at_ms(500));
    world.a.write(1_500);
    world.a.close();
    world.run_until(at_ms(900));
    assert_eq!(states(&world), (State::FinWait1, State::Established));
    world.run_until(at_ms(5_000));
    assert_eq!(states(&world), (State::FinWait2, State::CloseWait));
    assert_eq!(world.retransmissions(), [(1_100, 1001)]);
    assert_eq!((world.b.received_bytes(), world.a.acked_bytes()), (1_500, 1_500));
    assert!(world.saw(End::A, Event::AllAcked));
}

/// RFC 9293 figure 13.
#[test]
fn simultaneous_close() {
    let config = Config { time_wait: ms(500), ..plain() };
    let mut world = World::established(config, Reno::new(2), ms(50));
    world.a.close();
    world.b.close();
    world.run_until(at_ms(60));
    assert_eq!(states(&world), (State::Closing, State::Closing));
    world.run_until(at_ms(110));
    assert_eq!(states(&world), (State::TimeWait, State::TimeWait));
    world.run_until(at_ms(610));
    assert_eq!(states(&world), (State::Closed, State::Closed));
}

/// RFC 9293 section 3.10.7.1.
#[test]
fn a_closed_port_answers_with_rst() {
    let syn = Segment { src_port: 7, dst_port: 8, seq: SeqNumber(100), flags: SYN, ..Segment::default() };
    let rst = reset_for(&syn).unwrap();
    assert_eq!((rst.src_port, rst.dst_port), (8, 7));
    assert_eq!((rst.seq, rst.ack, rst.flags), (SeqNumber(0), SeqNumber(101), Flags::RST | Flags::ACK));
    let data = Segment { ack: SeqNumber(55), flags: Flags::ACK, payload_len: 10, ..syn };
    let rst = reset_for(&data).unwrap();
    assert_eq!((rst.seq, rst.flags), (SeqNumber(55), Flags::RST));
    assert_eq!(reset_for(&rst), None);

    let mut a = Connection::connect(plain(), Reno::new(2), SeqNumber(1000), ports(End::A));
    let syn = a.poll_transmit(at_ms(0)).unwrap().segment;
    a.handle_segment(at_ms(100), &reset_for(&syn).unwrap(), Ecn::NotEct);
    assert_eq!(a.poll_event(), Some(Event::Reset));
    assert_eq!((a.state(), a.poll_timeout()), (State::Closed, None));
}

/// RFC 5961 section 3.2: a RST resets only with the exact number; elsewhere in the window it is challenged, outside it
/// is dropped.
#[test]
fn a_reset_needs_the_right_number() {
    for (seq, state, challenged) in
        [(1, State::Closed, false), (500, State::Established, true), (0xF000_0000, State::Established, false)]
    {
        let mut a = Connection::established(plain(), Reno::new(2), ports(End::A));
        let rst = Segment { seq: SeqNumber(seq), flags: Flags::RST, ..Segment::default() };
        a.handle_segment(at_ms(1), &rst, Ecn::NotEct);
        assert_eq!(a.state(), state, "{seq}");
        assert_eq!(a.poll_transmit(at_ms(1)).is_some(), challenged, "{seq}");
    }
}

#[test]
fn abort_resets_the_peer() {
    let mut world = World::connecting(plain(), plain(), ms(50));
    world.a.write(100_000);
    world.run_until(at_ms(300));
    world.a.abort();
    world.run_until(at_ms(1_000));
    assert_eq!(states(&world), (State::Closed, State::Closed));
    assert!(world.saw(End::A, Event::Reset) && world.saw(End::B, Event::Reset));
}

/// RFC 9293 section 3.8.3: R2.
#[test]
fn a_silent_peer_is_given_up() {
    let config = Config { max_retransmissions: 3, ..plain() };
    let mut world = World::established(config, Reno::new(2), ms(50)).dropping(|_| true);
    world.a.write(1_000);
    world.run_until(at_ms(100_000));
    // Retransmissions after 1, 3 and 7 s; given up when the next is due.
    assert!(world.events.contains(&(at_ms(15_000), End::A, Event::TimedOut)));

    let config = Config { user_timeout: Some(Duration::from_secs(5)), ..plain() };
    let mut world = World::established(config, Reno::new(2), ms(50)).dropping(|_| true);
    world.a.write(1_000);
    world.run_until(at_ms(100_000));
    assert!(world.events.contains(&(at_ms(7_000), End::A, Event::TimedOut)));
}

/// RFC 9293 section 3.8.4.
#[test]
fn keepalive_finds_out_that_the_peer_is_gone() {
    let keepalive = Keepalive { idle: Duration::from_secs(10), interval: Duration::from_secs(1), probes: 3 };
    let config = Config { keepalive: Some(keepalive), ..plain() };
    let b = Connection::established(plain(), Reno::new(2), ports(End::B));
    let a = Connection::established(config, Reno::new(2), ports(End::A));
    let mut world = World::new(a, b, ms(50)).dropping(|sent| sent.at > at_ms(15_000));
    world.run_until(at_ms(60_000));
    let probes: Vec<u64> =
        world.log.iter().filter(|s| s.from == End::A).map(|s| s.at.as_nanos() / 1_000_000).collect();
    // The first is answered at 10.1 s; those from 20.1 s on are not.
    assert_eq!(probes, [10_000, 20_100, 21_100, 22_100]);
    assert!(world.events.contains(&(at_ms(23_100), End::A, Event::TimedOut)));
}

/// More than 4 GiB each way, starting just below the wrap.
#[test]
fn sequence_numbers_wrap() {
    let config = Config { mss: 60_000, ..plain() };
    let window = || Box::new(Fixed(64 * 60_000));
    let a = Connection::connect(config.clone(), window(), SeqNumber(u32::MAX - 10), ports(End::A));
    let b = Connection::listen(config, window(), SeqNumber(u32::MAX), ports(End::B));
    let mut count = 0;
    let mut world = World::new(a, b, ms(5)).dropping(move |_| {
        count += 1;
        count % 997 == 0
    });
    world.keep_log = false;
    world.a.write(9_000_000_000);
    world.run_until(at_ms(20));
    world.b.write(5_000_000_000);
    world.a.close();
    world.b.close();
    assert!(world.run_until_closed(at_ms(10_000_000)));
    assert_eq!((world.b.received_bytes(), world.a.received_bytes()), (9_000_000_000, 5_000_000_000));
    assert_eq!((world.a.acked_bytes(), world.b.acked_bytes()), (9_000_000_000, 5_000_000_000));
}

/// PAWS (RFC 7323 section 5): a segment with an old timestamp is refused.
#[test]
fn old_timestamps_are_refused() {
    let config = Config { timestamps: true, ..plain() };
    let mut b = Connection::established(config, Reno::new(2), ports(End::B));
    let mut segment = Segment {
        seq: SeqNumber(1),
        ack: SeqNumber(1),
        window: 1000,
        flags: Flags::ACK,
        payload_len: 100,
        ..Segment::default()
    };
    for (value, seq, received) in [(1000, 1, 100), (999, 101, 100), (1000, 101, 200), (0x9000_0000, 201, 200)]
    {
        segment.seq = SeqNumber(seq);
        segment.options.timestamps = Some(longhaul_segment::Timestamps { value, echo: 0 });
        b.handle_segment(at_ms(1), &segment, Ecn::NotEct);
        assert!(b.poll_transmit(at_ms(1)).is_some());
        assert_eq!(b.received_bytes(), received, "{value}");
    }
    assert_eq!(b.stats().paws_rejected, 2);
}
