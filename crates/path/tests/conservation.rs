//! Whatever the discipline: every packet is delivered once or dropped with a cause, marks reach only those that can
//! carry them, the queue keeps to its limit, and no more leaves than the rate allows.

use longhaul_path::link::Fate;
use longhaul_path::loss::{LossPlace, LossSpec, RandomLoss};
use longhaul_path::queue::red::{Measure, Overflow};
use longhaul_path::queue::{
    CakeSpec, CodelSpec, Diffserv, DrrSpec, DualPi2Spec, FqCodelSpec, FqPieSpec, HeadDropSpec, Isolation,
    PieSpec, RedSpec, Scheduler, TbfSpec, WfqSpec,
};
use longhaul_path::{
    ArqSpec, CarrierSpec, CorruptionSpec, Link, LinkConfig, Membership, OverheadSpec, Packet, QueueSpec,
    TerminalSpec,
};
use longhaul_units::{Dscp, Duration, Ecn, Instant, Limit, Probability, Rate, Size};
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::sync::Arc;

#[derive(Clone, Copy, PartialEq, Debug, Default)]
struct Numbered {
    id: u64,
    len: u32,
    ecn: Ecn,
    ecn_capable: bool,
    marked: bool,
    damaged: bool,
    twice: bool,
}

impl Packet for Numbered {
    fn wire_len(&self) -> u32 {
        self.len
    }
    fn ecn(&self) -> Ecn {
        self.ecn
    }
    fn set_ecn(&mut self, ecn: Ecn) {
        self.ecn = ecn;
        self.marked |= ecn == Ecn::Ce;
    }
    fn dscp(&self) -> Dscp {
        Dscp::new((self.id % 5 * 10) as u8).unwrap()
    }
    fn hosts(&self) -> [u64; 2] {
        [self.id % 5 % 2, self.id % 5 % 3]
    }
    fn damage(&mut self, _draw: u64) -> bool {
        self.damaged = true;
        true
    }
    fn duplicate(&mut self) -> bool {
        self.twice = true;
        true
    }
    fn flow(&self) -> u64 {
        self.id % 5
    }
    fn weight(&self) -> u8 {
        (self.id % 5) as u8 + 1
    }
}

/// 8 Mbit/s: 1000 bytes take 1 ms.
const RATE: Rate = Rate::from_bps(8_000_000);

/// `wire`: probabilities in percent that a packet arrives twice, and damaged. By its seed the link is as most are, has a carrier on request, or
/// repeats what it loses.
fn link(queue: QueueSpec, wire: (u8, u8), seed: u64) -> Link<Numbered> {
    let percent = |share: u8| Probability::new(f64::from(share) / 100.0).unwrap();
    let config = LinkConfig {
        loss: (seed % 3 == 2)
            .then(|| LossSpec::Random(RandomLoss { probability: percent(30), place: LossPlace::Wire })),
        duplication: percent(wire.0),
        corruption: (wire.1 > 0).then(|| CorruptionSpec::random(percent(wire.1))),
        carrier: (seed % 3 == 1).then(on_request),
        arq: (seed % 3 == 2).then(|| ArqSpec {
            attempts: (seed % 2 == 0).then_some(3),
            feedback: None,
            in_order: true,
        }),
        ..LinkConfig::plain(RATE, Duration::from_millis(10), queue)
    };
    Link::new(&config, seed, "link")
}

/// Superframes of 5 ms, and four of them from a request to its assignment.
fn on_request() -> Membership {
    let carrier = CarrierSpec {
        name: "carrier".to_string(),
        rate: RATE,
        superframe: Duration::from_millis(5),
        delay: Duration::from_millis(20),
        free: false,
        contention: None,
    };
    let terminal =
        TerminalSpec { name: carrier.name.clone(), cra: None, rbdc: None, vbdc: true, weight: 1.0 };
    Membership { carrier: Arc::new(carrier), terminal }
}

/// Every discipline, with settings under which it acts on few packets.
fn disciplines() -> impl Strategy<Value = QueueSpec> {
    let limit = prop_oneof![
        (1u64..60).prop_map(Limit::Packets),
        (1500u64..60_000).prop_map(|bytes| Limit::Bytes(Size::from_bytes(bytes))),
    ];
    (
        limit,
        0..12u8,
        any::<[bool; 5]>(),
        prop_oneof![Just(Overflow::Arriving), Just(Overflow::Oldest), Just(Overflow::Random)],
    )
        .prop_map(|(limit, kind, [gentle, adaptive, wait, bytes, ecn], overflow)| match kind {
            0 => QueueSpec::droptail(limit),
            1 => QueueSpec::HeadDrop(HeadDropSpec { limit: limit.into() }),
            2 => QueueSpec::Codel(CodelSpec {
                limit: limit.into(),
                target: Duration::from_millis(1),
                interval: Duration::from_millis(5),
                ecn,
                ce_threshold: wait.then(|| Duration::from_millis(3)),
            }),
            3 => QueueSpec::FqCodel(FqCodelSpec {
                limit: limit.into(),
                target: Duration::from_millis(1),
                interval: Duration::from_millis(5),
                quantum: Size::from_bytes(if bytes { 300 } else { 1514 }),
                queues: if gentle { 3 } else { 1024 },
                drop_batch: if adaptive { 1 } else { 64 },
                ecn,
                ce_threshold: None,
            }),
            4 => QueueSpec::Pie(PieSpec {
                target: Duration::from_millis(2),
                update: Duration::from_millis(1),
                alpha: 100.0,
                beta: 900.0,
                max_burst: Duration::from_millis(if wait { 0 } else { 3 }),
                mean_packet: Size::from_bytes(500),
                derandomise: bytes,
                cap_adjustment: gentle,
                activation: adaptive.then_some(Limit::Packets(5).into()),
                ecn,
                ..PieSpec::rfc(limit)
            }),
            5 => QueueSpec::Drr(DrrSpec {
                limit: limit.into(),
                quantum: Size::from_bytes(if bytes { 300 } else { 1500 }),
                queues: gentle.then_some(3),
            }),
            6 => QueueSpec::Wfq(WfqSpec { limit: limit.into(), queues: gentle.then_some(3) }),
            7 => QueueSpec::Dualpi2(DualPi2Spec {
                target: Duration::from_millis(2),
                update: Duration::from_millis(1),
                alpha: 100.0,
                beta: 900.0,
                coupling: if bytes { 2.0 } else { 0.5 },
                threshold: Duration::from_millis(if wait { 0 } else { 2 }),
                ramp: Duration::from_millis(if adaptive { 0 } else { 1 }),
                scheduler: if gentle { Scheduler::Weighted } else { Scheduler::TimeShifted },
                classic_share: if wait { 0.0 } else { 0.5 },
                time_shift: Duration::from_millis(3),
                drop_on_overload: ecn,
                ..DualPi2Spec::rfc(limit)
            }),
            8 => QueueSpec::FqPie(FqPieSpec {
                target: Duration::from_millis(2),
                update: Duration::from_millis(1),
                alpha: 100.0,
                beta: 900.0,
                max_burst: Duration::from_millis(if wait { 0 } else { 3 }),
                quantum: Size::from_bytes(if bytes { 300 } else { 1514 }),
                queues: if gentle { 3 } else { 1024 },
                ecn,
                ..FqPieSpec::rfc(limit)
            }),
            9 => QueueSpec::Cake(CakeSpec {
                limit: Some(limit.into()),
                rtt: Duration::from_millis(if adaptive { 100 } else { 5 }),
                diffserv: match (gentle, wait) {
                    (false, false) => Diffserv::Besteffort,
                    (false, true) => Diffserv::Diffserv3,
                    (true, false) => Diffserv::Diffserv4,
                    (true, true) => Diffserv::Diffserv8,
                },
                isolation: if ecn { Isolation::TripleIsolate } else { Isolation::DualDsthost },
                overhead: (adaptive && bytes).then(|| OverheadSpec::named("pppoe-llcsnap").unwrap()),
                ..CakeSpec::linux(bytes.then_some(Rate::from_bps(if wait { 6_000_000 } else { 9_000_000 })))
            }),
            10 => QueueSpec::Tbf(TbfSpec {
                rate: Rate::from_bps(if wait { 6_000_000 } else { 9_000_000 }),
                burst: Size::from_bytes(if bytes { 1500 } else { 20_000 }),
                limit: Some(limit.into()),
                latency: None,
                peakrate: ecn.then_some(Rate::from_bps(9_500_000)),
            }),
            _ => QueueSpec::Red(RedSpec {
                min_threshold: Some(Limit::Packets(if limit == Limit::Packets(1) { 1 } else { 2 })),
                max_threshold: Some(Limit::Packets(6)),
                queue_weight: Some(0.3),
                max_p: Probability::new(0.2).unwrap(),
                measure: if bytes { Measure::Bytes } else { Measure::Packets },
                size_dependent: bytes,
                gentle,
                adaptive,
                wait,
                ecn,
                overflow,
                ..RedSpec::automatic(limit)
            }),
        })
}

/// Gap before a packet in microseconds, its length, whether it is ECN-capable.
fn arrivals() -> impl Strategy<Value = Vec<(u64, u32, bool)>> {
    proptest::collection::vec((prop_oneof![Just(0), 0u64..2_000], 40u32..=1500, any::<bool>()), 1..400)
}

fn wires() -> impl Strategy<Value = (u8, u8)> {
    let share = || prop_oneof![Just(0u8), Just(100), 1u8..100];
    (share(), share())
}

/// What became of the packets.
#[derive(Default, PartialEq, Debug)]
struct Outcome {
    received: Vec<(Instant, Numbered)>,
    dropped: Vec<Numbered>,
}

fn within(limit: Limit, link: &mut Link<Numbered>, now: Instant) -> bool {
    let present = link.occupancy(now);
    match limit {
        Limit::Packets(most) => present.packets <= most,
        Limit::Bytes(most) => present.packets <= 1 || present.bytes <= most.as_bytes(),
    }
}

fn run(
    queue: QueueSpec,
    wire: (u8, u8),
    arrivals: &[(u64, u32, bool)],
    seed: u64,
) -> Result<Outcome, TestCaseError> {
    let mut link = link(queue, wire, seed);
    let mut outcome = Outcome::default();
    let mut now = Instant::ZERO;
    let poll_until = |link: &mut Link<Numbered>, until: Instant, outcome: &mut Outcome| {
        while link.next_event() <= until && link.next_event() < Instant::FAR_FUTURE {
            let at = link.next_event();
            outcome.received.extend(link.poll(at).map(|packet| (at, packet)));
            outcome.dropped.extend(link.take_lost().map(|(_, packet, _)| packet));
            outcome.dropped.extend(link.take_dropped().map(|(packet, _)| packet));
        }
    };
    for (id, (gap, len, ecn_capable)) in arrivals.iter().enumerate() {
        now += Duration::from_micros(*gap);
        poll_until(&mut link, now, &mut outcome);
        // A packet that is marked already would count as marked here.
        let ecn = match (ecn_capable, id % 5 % 2) {
            (false, _) => Ecn::NotEct,
            (true, 0) => Ecn::Ect0,
            (true, _) => Ecn::Ect1,
        };
        let mut packet =
            Numbered { id: id as u64, len: *len, ecn, ecn_capable: *ecn_capable, ..Numbered::default() };
        match link.offer(now, &mut packet) {
            Fate::Arrives(at) => {
                link.carry(at, packet);
            }
            Fate::Queue => link.enqueue(now, packet),
            Fate::Dropped(_) | Fate::Lost(..) => outcome.dropped.push(packet),
        }
        outcome.dropped.extend(link.take_lost().map(|(_, packet, _)| packet));
        outcome.dropped.extend(link.take_dropped().map(|(packet, _)| packet));
        prop_assert!(within(queue.limit().fixed(), &mut link, now), "limit {}", queue.limit());
        let bits = link.stats(now).transmitted_bytes * 8;
        prop_assert!(bits as f64 <= 8e6 * now.as_secs_f64() + 1.0);
    }
    poll_until(&mut link, Instant::FAR_FUTURE, &mut outcome);
    let stats = link.stats(Instant::FAR_FUTURE);
    prop_assert_eq!(stats.arrivals, arrivals.len() as u64);
    prop_assert_eq!(stats.delivered, outcome.received.len() as u64);
    prop_assert_eq!(stats.total_dropped(), outcome.dropped.len() as u64);
    let marked =
        outcome.received.iter().map(|(_, packet)| packet).chain(&outcome.dropped).filter(|p| p.marked);
    prop_assert_eq!(stats.marked, marked.count() as u64);
    let count =
        |of: fn(&Numbered) -> bool| outcome.received.iter().filter(|(_, packet)| of(packet)).count() as u64;
    prop_assert_eq!(stats.duplicated, count(|packet| packet.twice));
    prop_assert_eq!(stats.corrupted, count(|packet| packet.damaged));
    let out = stats.delivered + stats.duplicated;
    prop_assert_eq!(stats.arrivals + stats.duplicated, stats.total_dropped() + out);
    prop_assert!(
        wire != (100, 100) || (stats.delivered, stats.delivered) == (stats.duplicated, stats.corrupted)
    );
    prop_assert!(wire != (0, 0) || (stats.duplicated, stats.corrupted) == (0, 0));
    Ok(outcome)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]
    #[test]
    fn packets_are_conserved(queue in disciplines(), wire in wires(), arrivals in arrivals(), seed: u64) {
        prop_assert_eq!(queue.check(RATE), Ok(()));
        let outcome = run(queue, wire, &arrivals, seed)?;
        let received = outcome.received.iter().map(|(_, packet)| packet.id);
        let ids: BTreeSet<u64> = received.chain(outcome.dropped.iter().map(|packet| packet.id)).collect();
        prop_assert_eq!(ids.len(), arrivals.len(), "each once");
        prop_assert_eq!(outcome.received.len() + outcome.dropped.len(), arrivals.len());
        prop_assert!(outcome.received.iter().all(|(_, packet)| packet.ecn_capable || !packet.marked));
        prop_assert!(outcome.received.windows(2).all(|pair| pair[0].0 <= pair[1].0));
        // A flow's packets have one DSCP; its ECN field depends on whether they are capable.
        for (flow, capable) in (0..5).flat_map(|flow| [(flow, false), (flow, true)]) {
            let of_flow = outcome.received.iter().map(|(_, packet)| packet);
            let of_flow = of_flow.filter(|packet| packet.id % 5 == flow && packet.ecn_capable == capable);
            let in_order = of_flow.clone().zip(of_flow.skip(1)).all(|(one, next)| one.id < next.id);
            prop_assert!(in_order, "each flow in order");
        }
        prop_assert_eq!(&run(queue, wire, &arrivals, seed)?, &outcome, "the same again");
        // What the wire does to packets changes nothing else.
        let mut plain = run(queue, (0, 0), &arrivals, seed)?;
        prop_assert_eq!(plain.received.len(), outcome.received.len());
        for ((_, packet), (_, other)) in plain.received.iter_mut().zip(&outcome.received) {
            (packet.twice, packet.damaged) = (other.twice, other.damaged);
        }
        prop_assert_eq!(plain, outcome);
    }
}
