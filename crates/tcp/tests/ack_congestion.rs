//! ACK congestion control (RFC 5690). Names of tests are its rules; the numbers follow from the formulas of its section 4.5.

use crate::common::*;
use longhaul_cc::{Algorithm, CongestionControl, InitialWindow, Setup, SlowStartKind, build};
use longhaul_segment::{Ecn, Flags, Segment, SeqNumber};
use longhaul_tcp::{Config, Connection, Recovery};
use longhaul_units::{Duration, Instant};
use proptest::prelude::*;
use std::num::NonZeroU8;

/// No ACK Ratio option was sent.
const NONE: [u8; 0] = [];

fn controlled() -> Config {
    Config { ack_congestion_control: true, delayed_ack: Some(ms(200)), ..plain() }
}
/// A window of so many segments over 100 ms, and so many segments to send.
fn world(window: u64, segments: u64) -> World {
    let mut world = World::established(controlled(), Box::new(Fixed(window * u64::from(MSS))), ms(50));
    world.a.write(segments * u64::from(MSS));
    world
}
/// Drops the pure ACK of `b` that comes after so many others.
fn losing_ack(world: World, number: usize) -> World {
    let mut seen = 0;
    world.dropping(move |sent| {
        let pure = sent.from == End::B && sent.len() == 0;
        seen += usize::from(pure);
        pure && seen == number + 1
    })
}
/// ACK Ratio options: (time in ms, ratio, sequence number).
fn options(world: &World) -> Vec<(u64, u8, u32)> {
    let ratio = |sent: &Sent| sent.transmit.segment.options.ack_ratio.map(NonZeroU8::get);
    let with = |sent: &Sent| Some((sent.at.as_nanos() / 1_000_000, ratio(sent)?, sent.seq()));
    world.log.iter().filter_map(with).collect()
}
fn ratios(world: &World) -> Vec<u8> {
    options(world).iter().map(|option| option.1).collect()
}

/// Section 4.1: the option is on SYNs only; both ends have to send it. Together with ECN pure ACKs are ECN-capable then.
#[test]
fn negotiation() {
    for (a, b, syn_ack) in [(true, true, true), (true, false, false), (false, true, false)] {
        let config = |on| Config { ack_congestion_control: on, ecn: true, ..controlled() };
        let mut world = World::connecting(config(a), config(b), ms(50));
        world.a.write(100_000);
        world = losing_ack(world, 10);
        world.run_until(at_ms(3_000));
        let permitted = |sent: &Sent| sent.transmit.segment.options.ack_congestion_control_permitted;
        assert_eq!((permitted(&world.log[0]), permitted(&world.log[1])), (a, syn_ack));
        assert!(!world.log[2..].iter().any(permitted));
        assert_eq!(world.a.ack_ratio().is_some(), syn_ack);
        assert_eq!(!options(&world).is_empty(), syn_ack, "a lost ACK is answered");
        let acks = world.log.iter().filter(|sent| sent.from == End::B && sent.has(Flags::ACK));
        for ack in acks.filter(|sent| sent.len() == 0 && !sent.has(Flags::SYN)) {
            assert_eq!(ack.transmit.ecn, if syn_ack { Ecn::Ect0 } else { Ecn::NotEct });
        }
        assert_eq!(world.b.received_bytes(), 100_000);
    }
}

/// A receiver that got a ratio with its first segment.
struct Receiver {
    connection: Connection,
    now: Instant,
}

impl Receiver {
    fn new(ratio: u8) -> Self {
        let connection = Connection::established(controlled(), Box::new(Fixed(1000)), ports(End::B));
        let mut receiver = Receiver { connection, now: at_ms(1) };
        if receiver.takes(1, 1001, NonZeroU8::new(ratio)).is_none() {
            receiver.now = receiver.connection.poll_timeout().unwrap();
            receiver.connection.handle_timeout(receiver.now);
            let ack = receiver.connection.poll_transmit(receiver.now);
            assert_eq!(ack.map(|ack| ack.segment.ack.0), Some(1001));
        }
        receiver
    }
    fn takes(&mut self, start: u32, end: u32, ack_ratio: Option<NonZeroU8>) -> Option<u32> {
        let mut segment = data(start, end);
        segment.options.ack_ratio = ack_ratio;
        self.connection.handle_segment(self.now, &segment, Ecn::NotEct);
        let answer = self.connection.poll_transmit(self.now).map(|ack| ack.segment.ack.0);
        assert_eq!(self.connection.poll_transmit(self.now), None);
        answer
    }
    /// Segments with these numbers, of 1000 bytes; which are acknowledged at once.
    fn answered(&mut self, numbers: impl IntoIterator<Item = u32>) -> Vec<u32> {
        let at_once = |n: &u32| self.takes(n * 1000 + 1, n * 1000 + 1001, None).is_some();
        numbers.into_iter().filter(at_once).collect()
    }
}

/// Section 4.3: "one pure ACK for every R newly received data packets unless the delayed ACK timer expires first".
#[test]
fn one_ack_for_r_segments() {
    for ratio in [1, 2, 3, 4, 16] {
        let mut receiver = Receiver::new(ratio);
        let multiples = (1..=48).filter(|n| n % u32::from(ratio) == 0);
        assert_eq!(receiver.answered(1..=48), multiples.collect::<Vec<_>>());
    }
    let mut receiver = Receiver::new(4);
    assert_eq!(receiver.answered(1..=2).len(), 0);
    assert_eq!(receiver.connection.poll_timeout(), Some(receiver.now + ms(200)));
}

/// It is segments that count, not their bytes: those with an option are shorter.
#[test]
fn short_segments_count_as_well() {
    let mut receiver = Receiver::new(3);
    assert_eq!(receiver.takes(1001, 1011, None), None);
    assert_eq!(receiver.takes(1011, 2011, None), None);
    assert_eq!(receiver.takes(2011, 2012, None), Some(2012));
}

/// Section 4.6: with a ratio of at most two each segment above a gap is acknowledged at once; with a larger one the first three of a
/// reordering event are, and then one of R. What fills the gap is acknowledged at once, and ends the event.
#[test]
fn the_first_three_above_a_gap_are_acknowledged_at_once() {
    assert_eq!(Receiver::new(2).answered(2..=9), (2..=9).collect::<Vec<_>>());
    let mut receiver = Receiver::new(4);
    assert_eq!(receiver.answered(2..=15), [2, 3, 4, 8, 12]);
    assert_eq!(receiver.takes(1001, 2001, None), Some(16_001));
    assert_eq!(receiver.answered([17, 18, 19, 20, 21]), [17, 18, 19]);
}

/// Figure 1 of the RFC, with 24 segments in flight: a lost ACK makes R 4. It is 3 after 24/(4^2 - 4) = 2 windows of data without
/// another one, and 2 after 24/(3^2 - 3) = 4 more; never less with 4 segments or more in flight (section 4.5, constraint 3).
#[test]
fn a_lost_ack_doubles_r_and_clear_windows_bring_it_back() {
    let mut world = losing_ack(world(24, 1000), 20);
    world.run_until(at_ms(20_000));
    assert_eq!(ratios(&world), [4, 3, 2]);
    assert_eq!((world.a.stats().ack_congestion_events, world.a.stats().largest_ack_ratio), (1, 4));
    let offsets: Vec<u32> = options(&world).iter().map(|option| option.2).collect();
    // One window from sending an option to its ACK, and an ACK stands for R segments.
    for (pair, windows) in offsets.windows(2).zip([2, 4]) {
        let segments = (pair[1] - pair[0]).div_ceil(MSS);
        let expected = (windows + 1) * 24;
        assert!((expected..=expected + 8).contains(&segments), "{segments} segments for {windows} windows");
    }
    assert_eq!(world.b.received_bytes(), 1_000_000);
    assert_eq!(world.a.stats().retransmitted_segments, 0);
}

/// Section 4.4: ACKs reveal a lost one by acknowledging more than R segments; without loss nothing is sent.
#[test]
fn no_option_without_loss() {
    let mut world = world(24, 1000);
    world.run_until(at_ms(20_000));
    assert_eq!(ratios(&world), NONE);
    assert_eq!((world.a.ack_ratio(), world.a.stats().ack_congestion_events), (Some(2), 0));
}

/// Section 4.5, constraint 2: at most max(2, cwnd/(2 MSS)), rounded up.
#[test]
fn two_acks_for_a_window_at_least() {
    for (window, largest) in [(2, 2), (4, 2), (5, 3), (7, 4), (30, 15), (400, 200), (600, 255)] {
        let mut world = world(window, 100_000);
        let mut pure = 0;
        // Every fourth ACK is lost: R rises as far as it may.
        world = world.dropping(move |sent| {
            let is = sent.from == End::B && sent.len() == 0;
            pure += u32::from(is);
            is && pure % 4 == 0
        });
        world.keep_log = false;
        world.run_until(at_ms(30_000));
        assert_eq!(world.a.stats().largest_ack_ratio.max(2), largest, "window of {window}");
    }
}

/// Section 5.4: an ACK that another has overtaken is not lost.
#[test]
fn a_reordered_ack_is_not_lost() {
    let mut seen = 0;
    let mut world = world(24, 1000).scripted(move |sent| {
        let pure = sent.from == End::B && sent.len() == 0;
        seen += u32::from(pure);
        // The ACKs of a burst leave together: that is overtaken by two at most.
        let late = pure && seen % 20 == 0;
        vec![if late { ms(51) } else { ms(50) + Duration::from_micros(600 * u64::from(seen % 12)) }]
    });
    world.run_until(at_ms(20_000));
    assert_eq!(ratios(&world), NONE);
    assert_eq!(world.b.received_bytes(), 1_000_000);
}

/// Section 4.4: a pure ACK that is marked counts like a lost one.
#[test]
fn a_marked_ack_doubles_r() {
    let config = Config { ecn: true, ..controlled() };
    let mut world = World::established(config, Box::new(Fixed(24_000)), ms(50));
    let mut seen = 0;
    world.mark = Box::new(move |sent| {
        seen += u32::from(sent.from == End::B);
        if sent.from == End::B && seen == 20 { Ecn::Ce } else { sent.transmit.ecn }
    });
    world.a.write(300_000);
    world.run_until(at_ms(1_500));
    assert_eq!(ratios(&world)[0], 4);
    assert_eq!(world.a.stats().ack_congestion_events, 1);
    // It is not congestion of the data's way.
    assert_eq!(world.a.stats().ecn_reductions, 0);
}

/// Section 4.4.1: "the sender should not attempt to detect lost ACK packets during a loss recovery period".
#[test]
fn jumps_of_the_ack_in_loss_recovery_are_no_lost_acks() {
    for recovery in [Recovery::Reno, Recovery::NewReno, Recovery::Sack, Recovery::Fack, Recovery::Rack] {
        let config = Config { recovery, ..controlled() };
        let mut world = World::established(config, Reno::avoiding(30), ms(50))
            .dropping_once(&[60_001, 61_001, 65_001, 70_001, 90_001]);
        world.a.write(500_000);
        world.run_until(at_ms(20_000));
        assert_eq!(world.b.received_bytes(), 500_000, "{recovery:?}");
        assert_eq!(ratios(&world), NONE, "{recovery:?}");
    }
}

/// Section 4.2: "TCP uses reliable delivery for data packets": an option that is lost is sent again with its data.
#[test]
fn a_lost_option_is_sent_again() {
    let mut lost = false;
    let mut acks = 0;
    let mut world = world(24, 600).dropping(move |sent| {
        let pure = sent.from == End::B && sent.len() == 0;
        acks += usize::from(pure);
        let option = !lost && sent.transmit.segment.options.ack_ratio.is_some();
        lost |= option;
        option || (pure && acks == 21)
    });
    world.run_until(at_ms(2_000));
    let sent = options(&world);
    assert_eq!((sent[0].1, sent[1].1), (4, 4));
    assert_eq!(sent[0].2, sent[1].2);
    assert_eq!(world.retransmissions().len(), 1);
    assert!(world.a.stats().largest_ack_ratio == 4);
}

/// With full-sized segments nothing that leaves is longer than MSS and options allow.
#[test]
fn an_option_takes_room_from_the_payload() {
    for timestamps in [false, true] {
        let config = Config { timestamps, ..controlled() };
        let mut world = losing_ack(World::established(config, Box::new(Fixed(24_000)), ms(50)), 20);
        world.a.write(300_000);
        world.run_until(at_ms(2_000));
        let longest = world.log.iter().map(|sent| sent.transmit.segment.header_len() + sent.len()).max();
        assert_eq!(longest, Some(MSS + 20));
        assert!(!options(&world).is_empty());
    }
}

fn reno(slow_start: &str) -> Box<dyn CongestionControl> {
    let algorithm: Algorithm = serde_json::from_str(r#""reno""#).unwrap();
    let slow_start: SlowStartKind = serde_json::from_str(slow_start).unwrap();
    let setup =
        Setup { mss: u64::from(MSS), initial_window: InitialWindow::Bytes(4_000), ..Setup::default() };
    build(&algorithm, &slow_start, &setup).unwrap()
}

/// Section 4.7: fewer ACKs do not slow the growth of the window, since bytes are counted, and do not make bursts, since what an ACK
/// lets go is paced when R is above two.
#[test]
fn growth_goes_by_bytes_and_segments_are_paced() {
    let mut acks = 0;
    let mut world = World::established(controlled(), reno(r#""standard""#), ms(50));
    world = world.dropping(move |sent| {
        let pure = sent.from == End::B && sent.len() == 0;
        acks += usize::from(pure);
        pure && acks % 8 == 7
    });
    world.a.write(20_000_000);
    world.run_until(at_ms(1_500));
    assert!(world.a.stats().largest_ack_ratio >= 8);
    // Doubling each round from 4 segments: 12 rounds and more have passed, in one segment for each ACK it would be a tenth.
    assert!(world.a.cwnd() > 2_000_000, "{}", world.a.cwnd());
    let late = world.log.iter().filter(|sent| sent.from == End::A && sent.at > at_ms(1_200));
    let mut bursts = std::collections::BTreeMap::<Instant, u32>::new();
    for sent in late {
        *bursts.entry(sent.at).or_default() += 1;
    }
    assert!(bursts.values().all(|&segments| segments <= 2), "{:?}", bursts.values().max());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    /// Delayed ACKs, short segments, any window: without loss no ACK seems lost (section 5.1).
    #[test]
    fn no_false_alarm(
        window in 1u64..300,
        delayed in 1u64..400,
        timestamps: bool,
        writes in prop::collection::vec((0u64..500, 1u64..200_000), 1..8),
        delay in 1u64..300,
    ) {
        let config = Config { timestamps, delayed_ack: Some(ms(delayed)), ..controlled() };
        let mut world = World::established(config, Box::new(Fixed(window * u64::from(MSS))), ms(delay));
        let mut total = 0;
        for (pause, bytes) in writes {
            world.a.write(bytes);
            total += bytes;
            let until = world.now + ms(pause);
            world.run_until(until);
        }
        // At most 1,620 segments, one in each round trip and delay of its ACK: a second.
        let until = world.now + ms(2_000_000);
        world.run_until(until);
        prop_assert_eq!(world.b.received_bytes(), total);
        prop_assert_eq!(ratios(&world), NONE);
        prop_assert_eq!(world.a.stats().ack_congestion_events, 0);
    }

    /// Section 4.5, whatever is lost: R is doubled, or less by one, or bounded by the window; and no second option leaves before the
    /// data of the first are acknowledged.
    #[test]
    fn the_ratio_moves_by_the_rules(
        window in 4u64..200,
        seed: u64,
        loss_of_acks in 0u64..60,
        loss_of_data in 0u64..3,
    ) {
        let mut world = World::established(controlled(), Box::new(Fixed(window * u64::from(MSS))), ms(50));
        let mut state = seed | 1;
        world = world.dropping(move |sent| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let percent = if sent.len() > 0 { loss_of_data } else { loss_of_acks };
            (state >> 33) % 100 < percent
        });
        world.a.write(600 * u64::from(MSS));
        world.run_until(at_ms(400_000));
        prop_assert_eq!(world.b.received_bytes(), 600 * u64::from(MSS));
        let bound = window.div_ceil(2).max(2) as u8;
        let mut last = 2;
        let mut carried_by = 0;
        let mut acknowledged = 0;
        for sent in &world.log {
            if sent.from == End::B && !sent.dropped {
                acknowledged = acknowledged.max(sent.ack());
            }
            let Some(ratio) = sent.transmit.segment.options.ack_ratio else { continue };
            let ratio = ratio.get();
            if sent.seq() <= carried_by {
                prop_assert_eq!(ratio, last, "the same option with its data again");
                continue;
            }
            prop_assert!(ratio == (2 * last).min(bound) || ratio + 1 == last, "{} after {}", ratio, last);
            prop_assert!((2..=bound).contains(&ratio));
            prop_assert!(carried_by < acknowledged);
            (last, carried_by) = (ratio, sent.seq());
        }
    }
}

/// A window that closes while ACKs are controlled, and what is sent therefore paced (RFC 5690 section 4.7), opens again: the pace is
/// a segment in a round trip at least.
#[test]
fn a_closed_window_does_not_stop_the_pacing_for_good() {
    let mut a = Connection::established(controlled(), Box::new(Fixed(20_000)), ports(End::A));
    a.write_unlimited();
    let ack = |number: u32, window: u16| Segment { ack: SeqNumber(number), window, ..data(1, 1) };
    let sends = |a: &mut Connection, now| std::iter::from_fn(|| a.poll_transmit(now)).count();
    let (mut now, mut acked) = (at_ms(0), 1);
    // Congestion on the way of the ACKs: each of them is marked, and the ratio doubles.
    while a.ack_ratio() <= Some(2) {
        sends(&mut a, now);
        now += ms(100);
        acked = 1 + a.acked_bytes() as u32 + a.flight_size() as u32;
        assert!(acked < 200_000);
        a.handle_segment(now, &ack(acked, 1), Ecn::Ce);
        a.handle_timeout(now);
    }
    for _ in 0..20 {
        sends(&mut a, now);
        now += ms(10);
        a.handle_timeout(now);
    }
    acked += a.flight_size() as u32;
    a.handle_segment(now, &ack(acked, 0), Ecn::NotEct);
    assert_eq!((sends(&mut a, now), a.peer_window()), (0, 0));
    for _ in 0..3 {
        now += ms(100);
        a.handle_segment(now, &ack(acked, 1), Ecn::NotEct);
        a.handle_timeout(now);
        sends(&mut a, now);
    }
    assert!(a.flight_size() >= 2 * u64::from(MSS), "{}", a.flight_size());
}
