//! Whatever the path does, every byte arrives once and in order, and both ends close.

use crate::common::*;
use longhaul_cc::{Ack, Congestion, CongestionControl};
use longhaul_segment::{
    Ecn, EcnCounters, EcnOrder, Flags, Options, SackBlocks, Segment, SeqNumber, Timestamps,
};
use longhaul_tcp::{
    Autotuning, Config, Connection, InitialWindow, Reading, Recovery, ReductionBound, SpuriousDetection,
    State,
};
use longhaul_units::{Duration, Instant, Rate};
use proptest::prelude::*;
use std::collections::VecDeque;

fn recovery() -> impl Strategy<Value = Recovery> {
    prop_oneof![
        Just(Recovery::Tahoe),
        Just(Recovery::Reno),
        Just(Recovery::NewReno),
        Just(Recovery::Sack),
        Just(Recovery::Sack1),
        Just(Recovery::Fack),
        Just(Recovery::Rack),
    ]
}

prop_compose! {
    fn config()(
        recovery in recovery(),
        bits in any::<u32>(),
        rate_reduction in prop::option::of(prop_oneof![
            Just(ReductionBound::Conservative), Just(ReductionBound::SlowStart), Just(ReductionBound::SafeAck),
        ]),
        buffer in prop_oneof![Just(None), (500u64..200_000).prop_map(Some)],
        mss in prop_oneof![Just(1000u32), 100u32..1500],
        ack_every in 1u32..4,
        rate in prop_oneof![Just(None), (100_000u64..10_000_000).prop_map(Some)],
    ) -> Config {
        let bit = |n: u32| bits & (1 << n) != 0;
        Config {
            mss,
            recovery,
            rate_reduction,
            tail_loss_probe: bit(13),
            spurious_detection: SpuriousDetection { eifel: bit(14), f_rto: bit(15), dsack: bit(14) },
            receive_buffer: buffer,
            autotuning: bit(16)
                .then_some(Autotuning { initial: 8_192, max: buffer.unwrap_or(1 << 22).max(8_192), window_share: 0.625, locked: false }),
            send_buffer: bit(17).then_some(5_000),
            quick_acks: if bit(18) { 16 } else { 0 },
            ack_congestion_control: bit(19),
            reading: rate.map_or(Reading::Immediate, |bps| Reading::Rate(Rate::from_bps(bps))),
            ack_every,
            limited_transmit: bit(0),
            clear_sack_on_timeout: bit(1),
            dsack: bit(2),
            offer_sack: bit(3),
            timestamps: bit(4),
            window_scaling: bit(5),
            ecn: bit(6),
            accurate_ecn: bit(20),
            accurate_ecn_option: bit(21),
            delayed_ack: bit(7).then_some(ms(100)),
            nagle: bit(8),
            restart_after_idle: bit(9),
            halve_after_idle: bit(8),
            slow_but_steady: bit(10),
            max_burst: bit(11).then_some(3),
            reassembly_limit: bit(12).then_some(3 * u64::from(mss)),
            initial_window: InitialWindow::Segments(4),
            max_retransmissions: 100,
            max_syn_retransmissions: 100,
            max_rto: Duration::from_secs(8),
            // Long enough that the last ACK gets through.
            time_wait: Duration::from_secs(600),
            ..Config::default()
        }
    }
}

/// The same on every run: fates of segments from a seed (SplitMix64).
fn random(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, max_shrink_iters: 300, ..ProptestConfig::default() })]
    #[test]
    fn every_byte_arrives_once_and_both_ends_close(
        config_a in config(),
        config_b in config(),
        seed in any::<u64>(),
        loss_percent in 0u64..30,
        writes in prop::collection::vec((any::<bool>(), 0u64..3_000, 1u64..60_000), 0..6),
        isn in any::<u32>(),
    ) {
        let a = Connection::connect(config_a, Reno::new(4), SeqNumber(isn), ports(End::A));
        let b = Connection::listen(config_b, Reno::new(4), SeqNumber(!isn), ports(End::B));
        let mut state = seed;
        let mut world = World::new(a, b, ms(20)).scripted(move |_| {
            let mut copies = vec![];
            if random(&mut state) % 100 >= loss_percent {
                copies.push(ms(20) + Duration::from_micros(random(&mut state) % 15_000));
            }
            if random(&mut state) % 100 < 5 {
                copies.push(ms(20 + random(&mut state) % 200));
            }
            copies
        });
        let mut marks = seed;
        world.mark = Box::new(move |sent| {
            let capable = sent.transmit.ecn != Ecn::NotEct;
            if capable && random(&mut marks) % 10 == 0 { Ecn::Ce } else { sent.transmit.ecn }
        });
        world.keep_log = false;
        let mut written = [0, 0];
        let mut time = 0;
        for (to_a, pause, bytes) in writes {
            time += pause;
            world.run_until(at_ms(time));
            let end = if to_a { End::A } else { End::B };
            // A passive end has nothing to send before it gets a SYN.
            world.end(end).write(bytes);
            written[end as usize] += bytes;
        }
        while !world.a.state().is_synchronized() || !world.b.state().is_synchronized() {
            prop_assert!(world.step(at_ms(10_000_000)));
        }
        world.a.close();
        world.b.close();
        let closed = world.run_until_closed(at_ms(10_000_000));
        prop_assert_eq!(world.b.received_bytes(), written[0]);
        prop_assert_eq!(world.a.received_bytes(), written[1]);
        prop_assert!(closed, "{:?} and {:?} at {}", world.a.state(), world.b.state(), world.now);
        prop_assert_eq!(world.a.acked_bytes(), written[0]);
        prop_assert_eq!(world.b.acked_bytes(), written[1]);
    }
}

prop_compose! {
    fn arbitrary_segment()(
        seq in prop_oneof![0u32..5000, any::<u32>()],
        ack in prop_oneof![0u32..20_000, any::<u32>()],
        window in any::<u16>(),
        flags in prop_oneof![Just(0x10u16), 0u16..512],
        payload_len in prop_oneof![Just(0u32), 0u32..65_536],
        timestamps in prop::option::of((any::<u32>(), any::<u32>())),
        mss in prop::option::of(any::<u16>()),
        window_scale in prop::option::of(any::<u8>()),
        sack_permitted in any::<bool>(),
        ack_congestion_control_permitted in any::<bool>(),
        ack_ratio in prop::option::of(any::<std::num::NonZeroU8>()),
        sack in prop::collection::vec((0u32..20_000, prop_oneof![0u32..20_000, any::<u32>()]), 0..4),
        ecn_counters in prop::option::of(prop::collection::vec(any::<u32>(), 0..4)),
    ) -> Segment {
        let mut blocks = SackBlocks::default();
        for (start, end) in sack {
            blocks.push(SeqNumber(start), SeqNumber(end));
        }
        Segment {
            src_port: 2,
            dst_port: 1,
            seq: SeqNumber(seq),
            ack: SeqNumber(ack),
            window,
            flags: Flags(flags),
            payload_len,
            options: Options {
                timestamps: timestamps.map(|(value, echo)| Timestamps { value, echo }),
                sack: blocks,
                mss,
                window_scale,
                sack_permitted,
                ack_congestion_control_permitted,
                ack_ratio,
                ecn_counters: ecn_counters.map(|counters| EcnCounters::new(EcnOrder::Ect0First, &counters)),
            },
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, ..ProptestConfig::default() })]
    #[test]
    fn no_segment_makes_it_panic(
        config in config(),
        opening in 0u8..4,
        segments in prop::collection::vec((arbitrary_segment(), 0u64..2000, 0u8..16), 1..60),
    ) {
        let mut connection = match opening {
            0 => Connection::connect(config, Reno::new(4), SeqNumber(0), ports(End::A)),
            1 => Connection::listen(config, Reno::new(4), SeqNumber(0), ports(End::A)),
            _ => Connection::established(config, Reno::new(4), ports(End::A)),
        };
        let mut now = Instant::ZERO;
        if opening == 3 {
            connection.write_unlimited();
        }
        for (segment, pause, action) in segments {
            match action {
                0 => connection.write(5000),
                1 => connection.close(),
                2 => drop(connection.read(now, 700)),
                3 => connection.stop_writing(),
                4 => connection.handle_timeout(now),
                _ => {}
            }
            let mut sent = 0;
            let mut drain = |connection: &mut Connection, now| {
                while sent < 2_000_000 && connection.poll_transmit(now).is_some() {
                    sent += 1;
                }
                sent < 2_000_000
            };
            prop_assert!(drain(&mut connection, now), "it never stops sending");
            now += ms(pause);
            while let Some(due) = connection.poll_timeout().filter(|&due| due <= now) {
                connection.handle_timeout(due);
                prop_assert!(drain(&mut connection, due), "it never stops sending");
                prop_assert!(connection.poll_timeout().is_none_or(|next| next > due), "a timer that stays due");
            }
            connection.handle_segment(now, &segment, Ecn::Ce);
            prop_assert!(connection.pipe() <= 1 << 62);
        }
        let _ = connection.state() == State::Closed;
    }
}

/// Reno that takes no notice of what is sent, as most policies.
struct Unnotified(Box<Reno>);

impl CongestionControl for Unnotified {
    fn on_ack(&mut self, ack: &Ack) {
        self.0.on_ack(ack);
    }
    fn on_congestion(&mut self, event: &Congestion) {
        self.0.on_congestion(event);
    }
    fn hears_of_sending(&self) -> bool {
        false
    }
    fn window(&self) -> u64 {
        self.0.window()
    }
    fn ssthresh(&self) -> u64 {
        self.0.ssthresh()
    }
}

/// Two ends, and what is on its way to each. Segments are handled and the next ones polled in one call, or in two, of which the first
/// predicts no headers.
struct Two {
    ends: [Connection; 2],
    wires: [VecDeque<(Segment, Ecn)>; 2],
    in_one_call: bool,
}

impl Two {
    fn poll(&mut self, now: Instant, end: usize) {
        while let Some(out) = self.ends[end].poll_transmit(now) {
            self.wires[1 - end].push_back((out.segment, out.ecn));
        }
    }
    /// The first segment on its way to `end` arrives, unless it is lost.
    fn arrive(&mut self, now: Instant, end: usize, lost: bool, marked: bool) {
        let Some((mut segment, mut ecn)) = self.wires[end].pop_front() else { return };
        if lost {
            return;
        }
        if marked && ecn != Ecn::NotEct {
            ecn = Ecn::Ce;
        }
        if !self.in_one_call {
            self.ends[end].handle_segment_in_full(now, &segment, ecn);
            return self.poll(now, end);
        }
        let departure = self.ends[end].exchange(now, &mut segment, ecn);
        let Some(departure) = departure else { return };
        assert_eq!(departure.wire_len, segment.ipv4_len());
        self.wires[1 - end].push_back((segment, departure.ecn));
        if !departure.last {
            self.poll(now, end);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, max_shrink_iters: 300, ..ProptestConfig::default() })]
    /// Polls that [`Connection::exchange`] leaves out, since they give nothing, change nothing either, and header prediction does what
    /// the full procedure does.
    #[test]
    fn one_call_does_what_two_do(
        config in config(),
        plain in any::<bool>(),
        seed in any::<u64>(),
        loss_percent in prop_oneof![Just(0u64), 0u64..5],
        written in prop_oneof![Just(None), (0u64..300_000).prop_map(Some)],
    ) {
        let config = if plain { Config { offer_sack: true, ..Config::default() } } else { config };
        let pair = |in_one_call| {
            let established = |end| Connection::established(config.clone(), Box::new(Unnotified(Reno::new(4))), ports(end));
            let mut two = Two { ends: [End::A, End::B].map(established), wires: Default::default(), in_one_call };
            match written {
                None => two.ends[0].write_unlimited(),
                Some(bytes) => two.ends[0].write(bytes),
            }
            two.poll(Instant::ZERO, 0);
            two
        };
        let (mut long, mut short) = (pair(false), pair(true));
        let mut state = seed;
        let mut now = Instant::ZERO;
        for step in 0..1500 {
            let draw = random(&mut state);
            now += Duration::from_micros(draw % 3_000);
            let end = (draw >> 20) as usize % 2;
            let lost = (draw >> 24) % 100 < loss_percent;
            let marked = (draw >> 32) % 50 == 0;
            for two in [&mut long, &mut short] {
                for end in 0..2 {
                    if two.ends[end].poll_timeout().is_some_and(|due| due <= now) {
                        two.ends[end].handle_timeout(now);
                        two.poll(now, end);
                    }
                }
                match (draw >> 40) % 200 {
                    0 => two.ends[1].write(700),
                    1 if step > 1200 => two.ends[0].close(),
                    _ => two.arrive(now, end, lost, marked),
                }
            }
            prop_assert_eq!(&long.wires, &short.wires, "step {}", step);
            for (a, b) in long.ends.iter_mut().zip(&mut short.ends) {
                prop_assert_eq!(a.stats(), b.stats());
                prop_assert_eq!((a.state(), a.cwnd(), a.poll_timeout()), (b.state(), b.cwnd(), b.poll_timeout()));
                prop_assert_eq!(a.limited_time(now), b.limited_time(now));
                loop {
                    let event = a.poll_event();
                    prop_assert_eq!(event, b.poll_event());
                    if event.is_none() {
                        break;
                    }
                }
            }
        }
        prop_assert!(loss_percent > 0 || written == Some(0) || short.ends[1].received_bytes() > 0);
    }
}
