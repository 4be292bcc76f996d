//! Two whole nodes over whatever a link does, and owners that open, write, read, end and reset in any order: each reader gets an exact
//! beginning of what was written, an end only behind all of it, and a reset wherever something is missing; the ledgers balance at each
//! step, and no flow waits for ever. PROPTEST_CASES sets how many cases there are.

#[path = "../common/mod.rs"]
mod common;
mod owners;
mod worlds;

use longhaul_units::{Duration, Instant};
use owners::{Act, FLOWS, Owners};
use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;
use worlds::{Loss, Nodes, Quic, Tcp, Way, World};

/// Flows that are to end have done so after this time, outages and the end of lost peers included.
const PATIENCE: Duration = Duration::from_secs(1200);
/// And what is on its way then has come after this time, or its peer is lost.
const LAST: Duration = Duration::from_secs(200);

fn serve(world: &mut dyn World, owners: &mut Owners, now: Instant, winding_up: bool) {
    loop {
        world.send(now);
        let mut any = false;
        for side in 0..2 {
            while let Some(event) = world.carriers()[side].poll_event() {
                any = true;
                let [terminal, hub] = world.carriers();
                let carrier = [terminal, hub].into_iter().nth(side).expect("there are two");
                owners.take(now, side, carrier, event, winding_up);
            }
        }
        owners.check(world.ledgers());
        if !any {
            return;
        }
    }
}

fn run(world: &mut dyn World, acts: &[Act]) {
    let (mut owners, mut now) = (Owners::new(), Instant::ZERO);
    let mut until = |world: &mut dyn World, owners: &mut Owners, limit: Instant, winding_up: bool| {
        serve(world, owners, now, winding_up);
        loop {
            let next = world.next().max(now);
            if next > limit || (winding_up && owners.are_settled()) {
                break;
            }
            now = next;
            world.happen(now);
            serve(world, owners, now, winding_up);
        }
        if !winding_up {
            now = limit;
        }
        now
    };
    let mut time = until(world, &mut owners, Instant::ZERO + Duration::from_secs(3), false);
    for act in acts {
        match act {
            Act::Wait(ms) => {
                time = until(world, &mut owners, time + Duration::from_millis(*ms), false);
            }
            Act::Break(which) => world.break_one(time, *which),
            act => owners.act(time, world.carriers(), *act),
        }
        time = until(world, &mut owners, time, false);
    }
    owners.wind_up(time, world.carriers());
    let time = until(world, &mut owners, time + PATIENCE, true);
    let waits = owners.waiting();
    assert!(waits.is_none(), "a flow waits for ever: {waits:?}");
    // The last resets are on their way.
    until(world, &mut owners, time + LAST, false);
    owners.check_end(world.ledgers());
}

fn losses() -> impl Strategy<Value = Loss> {
    prop_oneof![
        Just(Loss::None),
        (0.0005f64..0.1).prop_map(Loss::Random),
        (0.001f64..0.08, 1.5f64..40.0).prop_map(|(loss, burst)| Loss::Bursts(loss, burst)),
    ]
}

fn outages() -> impl Strategy<Value = Vec<(u64, u64)>> {
    // One after the other, each with its pause before it.
    prop::collection::vec((0u64..8000, prop_oneof![5 => 1u64..3000, 1 => 3000u64..90_000]), 0..3).prop_map(
        |gaps| {
            let mut end = 0;
            let one = |(pause, length)| {
                let from = end + 1 + pause;
                end = from + length;
                (from, length)
            };
            gaps.into_iter().map(one).collect()
        },
    )
}

fn ways() -> impl Strategy<Value = Way> {
    let rates = [0.3f64..60.0, 0.3f64..60.0];
    let reordering = prop::option::of((0.001f64..0.3, 1u64..500));
    let duplication = prop_oneof![Just(0.0), 0.001f64..0.2];
    let both = any::<bool>();
    (
        rates,
        1u64..700,
        [losses(), losses()],
        reordering,
        duplication,
        0u64..40,
        [outages(), outages()],
        both,
        any::<u64>(),
    )
        .prop_map(|(mbit, rtt_ms, loss, reordering, duplication, jitter_ms, mut outages, both, seed)| {
            if both {
                outages[1] = outages[0].clone();
            }
            Way { mbit, rtt_ms, loss, reordering, duplication, jitter_ms, outages, seed }
        })
}

fn nodes() -> impl Strategy<Value = Nodes> {
    let unsent = prop_oneof![Just(u64::MAX), 10_000u64..200_000];
    (any::<bool>(), (16u64 << 10)..400_000, 9u64..40, 1200u16..1473, 1usize..17, any::<bool>(), unsent)
        .prop_map(|(coding, credit, credits, mtu, batch, remembered_rate, unsent)| Nodes {
            coding,
            credit,
            credits,
            mtu,
            batch,
            remembered_rate,
            unsent,
        })
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let which = 0usize..2 * FLOWS;
    let sizes = prop_oneof![3 => 0u64..3000, 3 => 3000u64..60_000, 1 => 60_000u64..600_000];
    let act = prop_oneof![
        6 => (0usize..2, any::<bool>(), prop::bool::weighted(0.1)).prop_map(|(side, confirm, refused)| Act::Open(side, confirm, refused)),
        10 => (which.clone(), sizes).prop_map(|(which, bytes)| Act::Write(which, bytes)),
        3 => which.clone().prop_map(Act::Finish),
        1 => which.clone().prop_map(Act::Reset),
        1 => which.clone().prop_map(Act::ResetBehind),
        2 => which.clone().prop_map(Act::StopReading),
        3 => which.clone().prop_map(Act::Read),
        6 => prop_oneof![0u64..50, 50u64..3000].prop_map(Act::Wait),
    ];
    let rare = (0usize..8).prop_map(Act::Break);
    (prop::collection::vec(act, 1..80), prop::collection::vec((rare, 0usize..80), 0..2)).prop_map(
        |(mut acts, breaks)| {
            for (act, place) in breaks {
                acts.insert(place.min(acts.len()), act);
            }
            acts
        },
    )
}

fn settings() -> ProptestConfig {
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|text| text.parse().ok()).unwrap_or(40);
    let kept = FileFailurePersistence::WithSource("proptest-regressions");
    ProptestConfig { cases, failure_persistence: Some(Box::new(kept)), ..ProptestConfig::default() }
}

fn clean(mbit: [f64; 2], rtt_ms: u64) -> Way {
    Way {
        mbit,
        rtt_ms,
        loss: [Loss::None; 2],
        reordering: None,
        duplication: 0.0,
        jitter_ms: 0,
        outages: [vec![], vec![]],
        seed: 0,
    }
}

const NODES: Nodes = Nodes {
    coding: false,
    credit: 38_632,
    credits: 9,
    mtu: 1200,
    batch: 1,
    remembered_rate: false,
    unsent: u64::MAX,
};

/// The opener has ended its direction and resets while the link is out. STOP_SENDING is lost, and when it comes again the peer's bytes and
/// end are acknowledged: QUIC does not report it, and the peer's flow waited for ever.
#[test]
fn a_reset_behind_the_end_of_a_direction_is_reported_once_the_link_is_back() {
    let mut way = clean([0.3, 45.0], 1);
    way.outages[0] = vec![(3057, 10_247)];
    let open = Act::Open(0, false, false);
    let acts = [
        open,
        Act::Finish(12),
        Act::Wait(56),
        open,
        Act::Reset(20),
        open,
        open,
        open,
        open,
        open,
        Act::Write(15, 1),
    ];
    run(&mut Quic::new(&way, &NODES), &acts);
}

/// Parities bring the last bytes and the end before the stream does. A flow that is complete at both of its ends was reset when the
/// connection was given up before the stream's own end had come.
#[test]
fn a_flow_that_is_complete_is_not_reset_with_its_connection() {
    let way = Way {
        loss: [Loss::Random(0.07823565065942956), Loss::None],
        reordering: Some((0.13945827695970936, 318)),
        seed: 5920566959060204939,
        ..clean([45.41280243880004, 3.839567905916923], 608)
    };
    let nodes = Nodes { coding: true, credit: 27_715, mtu: 1214, ..NODES };
    let open = |side| Act::Open(side, false, false);
    let acts = [
        open(1),
        open(0),
        Act::Write(5, 1718),
        Act::Write(3, 38_550),
        open(0),
        Act::Finish(33),
        open(0),
        Act::Finish(26),
        open(0),
        Act::Wait(118),
        Act::Write(34, 7122),
        Act::Wait(1529),
        Act::Break(2),
    ];
    run(&mut Quic::new(&way, &nodes), &acts);
}

/// Parities open a flow whose first packet is late, and the flow ends before that packet comes. A check of numbers in the library ended
/// the program in debug builds.
#[test]
fn a_flow_that_parities_have_opened_may_end_before_its_first_packet() {
    let way = Way {
        reordering: Some((0.15121132362657286, 190)),
        jitter_ms: 5,
        outages: [vec![], vec![(2291, 964)]],
        seed: 3110647575327974172,
        ..clean([39.556830903247004, 0.3], 364)
    };
    let nodes = Nodes { coding: true, credit: 87_184, mtu: 1353, ..NODES };
    let acts = [
        Act::Open(1, false, false),
        Act::Write(32, 5301),
        Act::Open(0, true, false),
        Act::Open(0, false, false),
        Act::StopReading(16),
        Act::Reset(15),
        Act::Write(8, 59_469),
        Act::Wait(917),
        Act::Open(1, true, false),
        Act::Open(1, false, false),
        Act::Write(28, 50_580),
        Act::Finish(5),
        Act::Wait(1081),
        Act::Write(32, 10_508),
        Act::Open(0, false, true),
        Act::Open(0, false, true),
        Act::Wait(53),
    ];
    run(&mut Quic::new(&way, &nodes), &acts);
}

/// RESET_STREAM discards what has not arrived (RFC 9000 section 3.2): of an answer in front of a reset nothing came. Behind the bytes, with
/// packets that are lost and late, and before QUIC has shown the flow.
#[test]
fn what_was_written_is_read_before_a_reset_behind_it() {
    for (bytes, wait) in [(400, 0), (400, 700), (90_000, 0), (90_000, 700), (0, 0)] {
        let acts = [
            Act::Open(0, false, false),
            Act::Write(0, bytes),
            Act::Wait(wait),
            Act::ResetBehind(0),
            Act::Wait(20_000),
        ];
        let way = Way {
            loss: [Loss::Random(0.2), Loss::Random(0.2)],
            reordering: Some((0.3, 300)),
            seed: bytes + wait,
            ..clean([5.0, 5.0], 600)
        };
        for coding in [false, true] {
            let nodes = Nodes { coding, ..NODES };
            run(&mut Quic::new(&way, &nodes), &acts);
            run(&mut Tcp::new(&way, &nodes, 2), &acts);
        }
    }
}

proptest! {
    #![proptest_config(settings())]

    #[test]
    fn over_quic_every_byte_arrives_or_is_reset(way in ways(), nodes in nodes(), acts in acts()) {
        run(&mut Quic::new(&way, &nodes), &acts);
    }

    #[test]
    fn over_tcp_every_byte_arrives_or_is_reset(way in ways(), nodes in nodes(), lanes in 1usize..5, acts in acts()) {
        run(&mut Tcp::new(&way, &nodes, lanes), &acts);
    }
}
