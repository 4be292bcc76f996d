use super::*;
use crate::loss::{PeriodicLoss, RandomLoss};
use crate::queue::HeadDropSpec;
use crate::{
    ArqSpec, Change, GrantSettings, HalfDuplex, HalfDuplexSpec, LossSpec, Outage, OutageMode, QueueSpec,
    Reordering,
};
use longhaul_units::{Ecn, Limit, Probability};
use proptest::prelude::*;

#[derive(Clone, Copy, PartialEq, Debug)]
struct Dummy {
    id: u64,
    len: u32,
}
impl Packet for Dummy {
    fn wire_len(&self) -> u32 {
        self.len
    }
    fn ecn(&self) -> Ecn {
        Ecn::NotEct
    }
    fn set_ecn(&mut self, _: Ecn) {}
    fn flow(&self) -> u64 {
        0
    }
}

fn config(queue: QueueSpec) -> LinkConfig {
    // 1000 bytes take 1 ms.
    LinkConfig::plain(Rate::from_bps(8_000_000), Duration::from_millis(10), queue)
}
fn droptail(packets: u64) -> QueueSpec {
    QueueSpec::droptail(Limit::Packets(packets))
}
fn ms(ms: u64) -> Instant {
    Instant::from_nanos(ms * 1_000_000)
}

/// Offers a packet, and carries or enqueues it as the link requires.
fn send(link: &mut Link<Dummy>, now: Instant, id: u64) -> Fate {
    let mut packet = Dummy { id, len: 1000 };
    let fate = link.offer(now, &mut packet);
    match fate {
        Fate::Arrives(at) => {
            link.carry(at, packet);
        }
        Fate::Queue => link.enqueue(now, packet),
        Fate::Dropped(_) | Fate::Lost(..) => {}
    }
    fate
}

/// Offers packets 0, 1, 2, ... all at time zero.
fn send_many(link: &mut Link<Dummy>, count: u64) {
    for id in 0..count {
        send(link, ms(0), id);
    }
}

/// Runs the link until nothing is left; arrivals as (ms, id).
fn drain(link: &mut Link<Dummy>) -> Vec<(u64, u64)> {
    let mut arrivals = vec![];
    while link.next_event() < Instant::FAR_FUTURE {
        let now = link.next_event();
        while let Some(packet) = link.poll(now) {
            arrivals.push((now.as_nanos() / 1_000_000, packet.id));
        }
    }
    arrivals
}

#[test]
fn packets_leave_one_after_the_other() {
    let mut link = Link::new(&config(droptail(10)), 1, "link");
    send_many(&mut link, 3);
    assert_eq!(link.occupancy(ms(0)).packets, 3);
    assert_eq!(link.occupancy(ms(2)).packets, 1);
    assert_eq!(drain(&mut link), [(11, 0), (12, 1), (13, 2)]);
}

#[test]
fn droptail_counts_the_packet_in_transmission() {
    let mut link = Link::new(&config(droptail(2)), 1, "link");
    let fates: Vec<bool> = (0..4).map(|id| matches!(send(&mut link, ms(0), id), Fate::Dropped(_))).collect();
    assert_eq!(fates, [false, false, true, true]);
    assert!(matches!(send(&mut link, ms(1), 4), Fate::Arrives(_)), "room again after one has left");
    assert_eq!(link.stats(ms(1)).dropped, [2, 0, 0, 0, 0, 0]);
}

#[test]
fn a_limit_in_bytes_admits_what_fits() {
    let spec = QueueSpec::droptail(Limit::Bytes("2500 B".parse().unwrap()));
    let mut link = Link::new(&config(spec), 1, "link");
    let dropped = (0..4).filter(|id| matches!(send(&mut link, ms(0), *id), Fate::Dropped(_))).count();
    assert_eq!(dropped, 2);
}

#[test]
fn head_drop_pushes_out_the_oldest_waiting_packet() {
    let mut link =
        Link::new(&config(QueueSpec::HeadDrop(HeadDropSpec { limit: Limit::Packets(3).into() })), 1, "link");
    send_many(&mut link, 5);
    let dropped: Vec<u64> = link.take_dropped().map(|(packet, _)| packet.id).collect();
    assert_eq!(dropped, [1, 2], "packet 0 is on the wire already");
    assert_eq!(drain(&mut link), [(11, 0), (12, 3), (13, 4)]);
}

#[test]
fn a_fade_loses_what_leaves_in_it_and_uses_the_capacity() {
    let outages = vec![Outage {
        start: Duration::from_micros(1500),
        duration: Duration::from_millis(1),
        mode: OutageMode::Drop,
    }];
    let mut link = Link::new(&LinkConfig { outages, ..config(droptail(10)) }, 1, "link");
    send_many(&mut link, 3);
    assert_eq!(drain(&mut link), [(11, 0), (13, 2)]);
    assert_eq!(link.stats(ms(13)).dropped[DropCause::Outage as usize], 1);
}

#[test]
fn a_shrinking_delay_does_not_reorder() {
    let changes = vec![Change {
        at: Duration::from_micros(1500),
        rate: None,
        delay: Some(Duration::from_millis(1)),
        loss: None,
    }];
    let mut link = Link::new(
        &LinkConfig {
            changes,
            jitter: Some(crate::JitterSpec::uniform(Duration::from_nanos(1))),
            ..config(droptail(10))
        },
        1,
        "x",
    );
    send_many(&mut link, 2);
    assert_eq!(drain(&mut link).iter().map(|(_, id)| *id).collect::<Vec<_>>(), [0, 1]);
}

#[test]
fn reordering_lets_later_packets_overtake() {
    let reordering =
        Some(Reordering { probability: Probability::new(0.5).unwrap(), delay: Duration::from_millis(5) });
    let mut link = Link::new(&LinkConfig { reordering, ..config(droptail(100)) }, 1, "link");
    send_many(&mut link, 50);
    let ids: Vec<u64> = drain(&mut link).into_iter().map(|(_, id)| id).collect();
    assert_eq!(ids.len(), 50);
    assert!(ids.windows(2).any(|pair| pair[0] > pair[1]), "some packet was overtaken");
}

/// A line at 10 bits a byte with two bytes of framing: 1000 bytes take 1.2525 ms at 8 Mbit/s.
#[test]
fn a_serial_line_takes_longer() {
    for queue in [droptail(10), QueueSpec::HeadDrop(HeadDropSpec { limit: Limit::Packets(10).into() })] {
        let spec = SerialSpec::default();
        let rate = spec.data_rate(Rate::from_bps(8_000_000));
        let mut link = Link::new(&LinkConfig { rate, serial: Some(spec), ..config(queue) }, 1, "link");
        send_many(&mut link, 2);
        let ends: Vec<u64> = std::iter::from_fn(|| {
            let now = link.next_event();
            link.poll(now).map(|_| now.as_nanos()).or((now < Instant::FAR_FUTURE).then_some(0))
        })
        .filter(|at| *at > 0)
        .collect();
        assert_eq!(ends, [11_252_500, 12_505_000]);
        assert_eq!(link.stats(ms(20)).transmitted_bytes, 2004);
    }
}

/// Headers shrink to 100 bytes; whoever follows a lost packet cannot be read.
struct Shrinking {
    lost: Vec<bool>,
}
impl LineCoder<Dummy> for Shrinking {
    fn encode(&mut self, _start: Instant, _packet: &Dummy) -> u32 {
        100
    }
    fn decode(&mut self, _departure: Instant) -> bool {
        self.lost.is_empty()
    }
    fn lost(&mut self, noticed: bool) {
        self.lost.push(noticed);
    }
}

#[test]
fn a_coder_decides_lengths_and_learns_of_losses() {
    for (framing, noticed) in [(crate::Framing::Slip, false), (crate::Framing::Ppp, true)] {
        let serial = Some(SerialSpec { framing, bits_per_byte: 8, ..SerialSpec::default() });
        let loss = PeriodicLoss { every: 3, first: None, count: Some(1), place: LossPlace::Wire };
        let loss = Some(loss.into());
        let mut link = Link::new(&LinkConfig { serial, loss, ..config(droptail(10)) }, 1, "link");
        let mut coder = Shrinking { lost: vec![] };
        let fates: Vec<Fate> =
            (0..4).map(|id| link.offer_coded(ms(0), &mut Dummy { id, len: 1000 }, &mut coder)).collect();
        let len = 100 + u64::from(framing.bytes());
        let arrives = |n: u64| Fate::Arrives(ms(10) + Duration::from_micros(n * len));
        let gone = |cause, n: u64| Fate::Lost(cause, ms(0) + Duration::from_micros(n * len));
        let (lost, unreadable) = (gone(DropCause::Loss, 3), gone(DropCause::Unreadable, 4));
        assert_eq!(fates, [arrives(1), arrives(2), lost, unreadable]);
        assert_eq!(coder.lost, [noticed]);
    }
}

/// A packet that waits when a fade begins is lost in the fade, and one that has left before is not.
#[test]
fn losses_are_those_of_the_end_of_transmission() {
    let outages = vec![Outage {
        start: Duration::from_millis(2),
        duration: Duration::from_millis(2),
        mode: OutageMode::Drop,
    }];
    let mut link = Link::new(&LinkConfig { outages, ..config(droptail(10)) }, 1, "link");
    let fates: Vec<Fate> = (0..5).map(|id| send(&mut link, ms(0), id)).collect();
    let lost = |at| Fate::Lost(DropCause::Outage, ms(at));
    assert_eq!(fates[1..4], [lost(2), lost(3), Fate::Arrives(ms(14))]);
    assert_eq!([ms(1), ms(2), ms(3)].map(|now| link.lost_to_come(now)), [2, 1, 0]);
    assert_eq!(link.stats(ms(1)).dropped_for(DropCause::Outage), 2);
}

#[test]
fn waits_are_measured_until_transmission_begins() {
    let mut link = Link::new(&config(droptail(10)), 1, "link");
    link.measure_waits(ms(0));
    send_many(&mut link, 3);
    assert_eq!(link.waits().unwrap().mean(), Some(Duration::from_millis(1)), "0, 1 and 2 ms");
}

#[test]
fn what_waits_at_either_end_of_the_measurement_counts_for_its_time_within() {
    // Six packets of 1 ms each: from 2.5 to 4.5 ms, three wait for half a millisecond, two for one, one for half.
    for queue in [droptail(10), QueueSpec::HeadDrop(HeadDropSpec { limit: Limit::Packets(10).into() })] {
        let mut link = Link::new(&config(queue), 1, "link");
        send_many(&mut link, 6);
        let half = Duration::from_micros(500);
        while link.poll(ms(2) + half).is_some() {}
        link.measure_waits(ms(2) + half);
        while link.poll(ms(4) + half).is_some() {}
        assert_eq!(link.waited_secs(ms(4) + half), 0.0015 + 0.002 + 0.0005);
    }
}

proptest! {
    /// Every packet offered is dropped with a cause, delivered, or still inside; the queue keeps to its limit; no
    /// more leaves than the rate allows.
    #[test]
    fn packets_are_conserved(
        gaps in proptest::collection::vec(0u64..3_000_000, 1..300),
        limit in 1u64..20,
        head_drop: bool,
        loss in 0.0f64..0.3,
        before_queue: bool,
        seed: u64,
    ) {
        let limit = Limit::Packets(limit);
        let queue = if head_drop { QueueSpec::HeadDrop(HeadDropSpec { limit: limit.into() }) } else { QueueSpec::droptail(limit) };
        let place = if before_queue { LossPlace::BeforeQueue } else { LossPlace::Wire };
        let loss = Some(RandomLoss { probability: Probability::new(loss).unwrap(), place }.into());
        let mut link = Link::new(&LinkConfig { loss, ..config(queue) }, seed, "link");
        let Limit::Packets(most) = limit else { unreachable!() };
        let mut now = Instant::ZERO;
        let mut received = vec![];
        for (id, gap) in gaps.iter().enumerate() {
            now += Duration::from_nanos(*gap);
            while link.next_event() <= now {
                let at = link.next_event();
                received.extend(std::iter::from_fn(|| link.poll(at)).map(|packet: Dummy| packet.id));
            }
            send(&mut link, now, id as u64);
            prop_assert!(link.occupancy(now).packets <= most);
        }
        let stats = link.stats(now);
        prop_assert!(stats.transmitted_bytes <= 1000 * (now.as_nanos() / 1_000_000 + 1));
        received.extend(drain(&mut link).iter().map(|(_, id)| *id));
        let stats = link.stats(Instant::FAR_FUTURE);
        prop_assert_eq!(stats.arrivals, gaps.len() as u64);
        prop_assert_eq!(stats.arrivals, stats.delivered + stats.total_dropped());
        prop_assert_eq!(stats.delivered, received.len() as u64);
        prop_assert!(received.windows(2).all(|pair| pair[0] < pair[1]), "in order");
    }
}

proptest! {
    /// The short ways through a plain link do what its long way does.
    #[test]
    fn the_short_ways_do_what_the_long_way_does(
        packets in proptest::collection::vec((prop_oneof![0u64..100_000, 0u64..4_000_000], prop_oneof![Just(40u32), Just(1000)], 0u8..8), 1..400),
        kind in 0u8..3,
        limit in 1u64..30,
        ecn: bool,
        seed: u64,
    ) {
        let limit = Limit::Packets(limit);
        let red = crate::queue::RedSpec {
            ecn,
            adaptive: true,
            min_threshold: Some(Limit::Packets(2)),
            max_threshold: Some(Limit::Packets(8)),
            queue_weight: Some(0.1),
            interval: Duration::from_millis(20),
            ..crate::queue::RedSpec::automatic(limit)
        };
        let queue = if kind == 0 { QueueSpec::droptail(limit) } else { QueueSpec::Red(red) };
        let link = || Link::<Dummy>::new(&config(queue), seed, "link");
        let (mut short, mut long) = (link(), link());
        let mut now = Instant::ZERO;
        for (id, (gap, len, look)) in packets.into_iter().enumerate() {
            now += Duration::from_nanos(gap);
            if look == 0 {
                prop_assert_eq!(short.take_peak(now), long.take_peak(now));
            }
            if look == 1 && short.waits().is_none() {
                short.measure_waits(now);
                long.measure_waits(now);
            }
            let mut packet = Dummy { id: id as u64, len };
            let fate = short.offer(now, &mut packet);
            prop_assert_eq!(fate, long.offer_to_queue(now, &mut packet, &mut Plain));
            prop_assert_eq!(short.average_queue(), long.average_queue());
            if look == 2 {
                prop_assert_eq!(short.occupancy(now), long.occupancy(now));
                prop_assert_eq!(short.stats(now), long.stats(now));
                if short.waits().is_some() {
                    prop_assert_eq!(short.waited_secs(now), long.waited_secs(now));
                }
            }
        }
        prop_assert_eq!(short.stats(now), long.stats(now));
        let sums = |link: &Link<Dummy>| link.waits().map(|waits| (waits.count(), waits.sum_nanos(), waits.max()));
        prop_assert_eq!(sums(&short), sums(&long));
    }
}

/// Frames of 30 ms, 600 ms from request to assignment: a request at once, an assignment at 600 ms, 1 ms for each packet, 10 ms of wire.
/// What comes in the first frame is assigned a frame later. A queue that is asked packet by packet gives the same.
#[test]
fn packets_wait_until_capacity_is_assigned() {
    for queue in [droptail(10), QueueSpec::HeadDrop(HeadDropSpec { limit: Limit::Packets(10).into() })] {
        let demand = crate::DemandSpec {
            frame: Duration::from_millis(30),
            delay: Duration::from_millis(600),
            constant: None,
        };
        let mut link = Link::new(
            &LinkConfig { grants: GrantSettings { demand: Some(demand) }, ..config(queue) },
            1,
            "link",
        );
        send_many(&mut link, 2);
        send(&mut link, ms(1), 2);
        assert_eq!(link.occupancy(ms(599)).packets, 3);
        assert_eq!(drain(&mut link), [(611, 0), (612, 1), (641, 2)]);
        assert_eq!(link.stats(ms(641)).transmitted_bytes, 3000);
    }
}

/// Capacity that comes from outside: here every transmission begins at a full second.
#[test]
fn a_link_takes_any_grants() {
    struct Seconds;
    impl crate::Grants for Seconds {
        fn begin(&mut self, _arrival: Instant, free_at: Instant, _len: u32) -> Instant {
            ms(free_at.as_nanos().div_ceil(1_000_000_000) * 1000)
        }
    }
    let mut link =
        Link::with_grants(&Hosts::default(), &config(droptail(10)), Some(Box::new(Seconds)), 1, "link");
    for (at, id) in [(1, 0), (1, 1), (1500, 2)] {
        send(&mut link, ms(at), id);
    }
    assert_eq!(drain(&mut link), [(1011, 0), (2011, 1), (3011, 2)]);
}

/// Hands out one packet every 5 ms, and writes down what it is notified of.
#[derive(Default)]
struct Sparing {
    packets: VecDeque<(Instant, Dummy)>,
    next: Instant,
    rates: std::sync::Arc<std::sync::Mutex<Vec<Rate>>>,
}

impl crate::queue::Queue<Dummy> for Sparing {
    fn enqueue(&mut self, now: Instant, packet: Dummy, _in_service: u32, _report: &mut Report<Dummy>) {
        self.packets.push_back((now, packet));
    }
    fn dequeue(&mut self, now: Instant, _report: &mut Report<Dummy>) -> Option<(Instant, Dummy)> {
        if now < self.next {
            return None;
        }
        let next = self.packets.pop_front()?;
        self.next = now + Duration::from_millis(5);
        Some(next)
    }
    fn waiting(&self) -> Occupancy {
        let packets = self.packets.len() as u64;
        Occupancy { packets, bytes: 1000 * packets }
    }
    fn ready_at(&self) -> Option<Instant> {
        (!self.packets.is_empty()).then_some(self.next)
    }
    fn rate_changed(&mut self, rate: Rate) {
        self.rates.lock().unwrap().push(rate);
    }
}

fn sparing(config: &LinkConfig, queue: Sparing) -> Link<Dummy> {
    let spec = QueueSpec::HeadDrop(HeadDropSpec { limit: Limit::Packets(3).into() });
    let mut link = Link::new(&LinkConfig { queue: spec, ..config.clone() }, 1, "link");
    link.discipline = Discipline::queue(queue);
    link
}

#[test]
fn a_discipline_that_holds_packets_back_is_asked_again_at_its_time() {
    let mut link = sparing(&config(droptail(9)), Sparing::default());
    send_many(&mut link, 3);
    assert_eq!(link.next_event(), ms(1), "the first packet is being transmitted");
    assert_eq!(drain(&mut link), [(11, 0), (16, 1), (21, 2)]);
    // Packets that come while it holds back others do not push them out.
    send(&mut link, ms(30), 3);
    send(&mut link, ms(32), 4);
    assert_eq!(link.poll(ms(33)), None);
    assert_eq!(link.occupancy(ms(33)).packets, 1);
    assert_eq!(drain(&mut link), [(41, 3), (46, 4)]);
}

#[test]
fn a_discipline_is_notified_of_the_rate_of_its_link() {
    let rates = std::sync::Arc::default();
    let change = |at: u64, mbit: u64| Change {
        at: Duration::from_millis(at),
        rate: Some(Rate::from_bps(mbit * 1_000_000)),
        delay: None,
        loss: None,
    };
    let config = LinkConfig { changes: vec![change(10, 4), change(20, 16)], ..config(droptail(9)) };
    let mut link = sparing(&config, Sparing { rates: std::sync::Arc::clone(&rates), ..Sparing::default() });
    for (id, at) in [0, 5, 12, 13, 25].into_iter().enumerate() {
        while link.next_event() <= ms(at) {
            link.poll(link.next_event());
        }
        send(&mut link, ms(at), id as u64);
    }
    assert_eq!(*rates.lock().unwrap(), [4_000_000, 16_000_000].map(Rate::from_bps));
}

/// A script that becomes known while the link is at work, change by change at its time, gives what the same script gives that is known
/// from the start: each packet arrives at the same time or is lost for the same cause. 200 packets come within 100 ms at up to twice
/// the rate, over changes of rate, delay and loss and an outage, some of which meet packets that wait or are being transmitted.
#[test]
fn a_link_that_is_changed_at_work_is_the_link_of_the_whole_script() {
    for seed in 0..200 {
        let mut random = Random::stream(seed, "changes at work");
        let mut draw = |below: u64| (random.uniform() * below as f64) as u64;
        let mut whole = config(droptail(12));
        let mut at = 0;
        for _ in 0..4 {
            at += 1 + draw(20_000);
            let kind = draw(4);
            whole.changes.push(Change {
                at: Duration::from_micros(at),
                rate: (kind == 0).then(|| Rate::from_bps(1_000_000 * draw(20))),
                delay: (kind == 1).then(|| Duration::from_micros(draw(30_000))),
                loss: (kind == 2).then(|| Probability::new(draw(3) as f64 / 2.0).unwrap()),
            });
        }
        // So that nothing waits for ever.
        let change = Change {
            at: Duration::from_millis(90),
            rate: Some(Rate::from_bps(9_000_000)),
            delay: None,
            loss: None,
        };
        whole.changes.push(change);
        let outage = Outage {
            start: Duration::from_micros(draw(80_000)),
            duration: Duration::from_millis(3),
            mode: OutageMode::Drop,
        };
        whole.outages.push(outage);
        let packets: Vec<Instant> =
            (0..200).map(|id| Instant::from_nanos((id * 500 + draw(400)) * 1000)).collect();
        let mut times: Vec<Instant> = whole.changes.iter().map(|change| Instant::ZERO + change.at).collect();
        times.extend([outage.begin(), outage.end()]);
        times.sort();

        let run = |link: &mut Link<Dummy>, at_work: bool| {
            let (mut arrivals, mut known) = (vec![], 0);
            let take = |link: &mut Link<Dummy>, until: Instant, arrivals: &mut Vec<(Instant, u64)>| {
                while link.next_event() <= until && link.next_event() < Instant::FAR_FUTURE {
                    let now = link.next_event();
                    while let Some(packet) = link.poll(now) {
                        arrivals.push((now, packet.id));
                    }
                }
            };
            for (id, now) in packets.iter().copied().chain([ms(200)]).enumerate() {
                while at_work && known < times.len() && times[known] <= now {
                    let time = times[known];
                    take(link, time, &mut arrivals);
                    let mut so_far = whole.clone();
                    so_far.changes.retain(|change| Instant::ZERO + change.at <= time);
                    so_far.outages.retain(|outage| outage.begin() <= time);
                    if outage.end() > time {
                        // Nobody knows yet when it will be over.
                        so_far
                            .outages
                            .iter_mut()
                            .for_each(|outage| outage.duration = Duration::from_secs(3600));
                    }
                    link.follow(so_far.schedule());
                    known += 1;
                }
                take(link, now, &mut arrivals);
                if id < packets.len() {
                    send(link, now, id as u64);
                }
            }
            take(link, ms(10_000), &mut arrivals);
            let stats = link.stats(ms(10_000));
            (arrivals, stats.dropped, stats.transmitted_bytes)
        };
        let known = run(&mut Link::new(&whole, seed, "link"), false);
        let changed =
            run(&mut Link::changeable(&Hosts::default(), &config(droptail(12)), seed, "link"), true);
        assert_eq!(changed, known, "seed {seed}: {:?} {:?}", whole.changes, whole.outages);
    }
}

/// In the place of the link's own losses, and from then on.
#[test]
fn a_scripted_loss_replaces_the_link_s_own() {
    let own = RandomLoss { probability: Probability::new(1.0).unwrap(), place: LossPlace::Wire };
    for place in [LossPlace::Wire, LossPlace::BeforeQueue] {
        let change = |at, loss| Change {
            at: Duration::from_millis(at),
            rate: None,
            delay: None,
            loss: Some(Probability::new(loss).unwrap()),
        };
        let changes = vec![change(10, 0.0), change(20, 1.0)];
        let own = Some(RandomLoss { place, ..own }.into());
        let mut link = Link::new(&LinkConfig { loss: own, changes, ..config(droptail(10)) }, 1, "link");
        (0..30).for_each(|id| {
            send(&mut link, ms(id), id);
        });
        let ids: Vec<u64> = drain(&mut link).into_iter().map(|(_, id)| id).collect();
        // Before the queue a packet meets the loss when it comes, on the wire a millisecond later.
        let first = if place == LossPlace::Wire { 9 } else { 10 };
        assert_eq!(ids, (first..19).collect::<Vec<u64>>());
    }
}

/// A link that repeats what it loses, 20 ms after the end of the transmission (twice its delay).
fn repeating(attempts: Option<u32>, in_order: bool) -> LinkConfig {
    LinkConfig { arq: Some(ArqSpec { attempts, feedback: None, in_order }), ..config(droptail(100_000)) }
}
fn losing(link: LinkConfig, percent: f64) -> LinkConfig {
    let probability = Probability::new(percent / 100.0).unwrap();
    LinkConfig { loss: Some(LossSpec::Random(RandomLoss { probability, place: LossPlace::Wire })), ..link }
}

/// The first transmission is lost at 1 ms and repeated from 21 ms on; it arrives at 32 ms, and the two behind it at 12 and 13 ms or, in
/// order, with it.
#[test]
fn a_lost_packet_is_repeated_after_a_round_trip() {
    let first = PeriodicLoss { every: 1, first: Some(1), count: Some(1), place: LossPlace::Wire };
    for (in_order, expected) in [(true, [(32, 0), (32, 1), (32, 2)]), (false, [(12, 1), (13, 2), (32, 0)])] {
        let loss = Some(LossSpec::Periodic(first));
        let mut link = Link::new(&LinkConfig { loss, ..repeating(None, in_order) }, 1, "link");
        send_many(&mut link, 3);
        assert_eq!(drain(&mut link), expected);
        assert_eq!((link.stats(ms(40)).repeated, link.stats(ms(40)).transmitted), (1, 4));
    }
}

/// A repetition goes before what waits: packets come at 0 to 24 ms, and the second transmission of the first takes 21 to 22 ms.
#[test]
fn a_repetition_goes_first() {
    let loss = Some(LossSpec::Periodic(PeriodicLoss {
        every: 1,
        first: Some(1),
        count: Some(1),
        place: LossPlace::Wire,
    }));
    let mut link = Link::new(&LinkConfig { loss, ..repeating(None, false) }, 1, "link");
    send_many(&mut link, 25);
    let arrivals = drain(&mut link);
    assert_eq!(arrivals[19..23], [(31, 20), (32, 0), (33, 21), (34, 22)]);
}

/// Two attempts that an outage meets: the packet is given up at 22 ms, which the far end knows at 32 ms.
#[test]
fn a_packet_is_given_up_after_its_attempts() {
    let outage = |start| Outage {
        start: Duration::from_micros(start),
        duration: Duration::from_millis(1),
        mode: OutageMode::Drop,
    };
    let outages = vec![outage(500), outage(21_500)];
    let mut link = Link::new(&LinkConfig { outages, ..repeating(Some(2), true) }, 1, "link");
    send_many(&mut link, 3);
    assert_eq!(drain(&mut link), [(32, 1), (32, 2)]);
    let lost: Vec<_> = link.take_lost().map(|(at, packet, cause)| (at, packet.id, cause)).collect();
    assert_eq!(lost, [(ms(22), 0, DropCause::Outage)]);
}

/// Selective repeat in closed form: the link carries its rate times 1 - p, whatever waits for repetitions.
#[test]
fn repetitions_take_their_part_of_the_rate() {
    for (percent, in_order) in [(10.0, true), (10.0, false), (40.0, true)] {
        let mut link = Link::new(&losing(repeating(None, in_order), percent), 1, "link");
        send_many(&mut link, 20_000);
        let arrivals = drain(&mut link);
        assert_eq!(arrivals.len(), 20_000);
        // The last ones wait for their repetitions while nothing else is sent.
        let rate = 18_000.0 / arrivals[17_999].0 as f64;
        assert!((rate / (1.0 - percent / 100.0) - 1.0).abs() < 0.02, "{percent} %: {rate}");
    }
}

/// Attempts are geometric: p / (1 - p) repetitions on average, each after 21 ms. With three attempts, p^3 of the packets are lost.
#[test]
fn delay_and_rest_of_the_loss_have_their_closed_forms() {
    let each_second = |attempts| {
        let mut link: Link<Dummy> = Link::new(&losing(repeating(attempts, true), 30.0), 1, "link");
        let (mut late, mut arrived) = (0.0, 0.0);
        for id in 0..20_000 {
            let at = ms(1000 * id);
            while link.next_event() < at {
                let now = link.next_event();
                while let Some(packet) = link.poll(now) {
                    late += (now - ms(1000 * packet.id)).as_secs_f64() * 1e3 - 11.0;
                    arrived += 1.0;
                }
            }
            send(&mut link, at, id);
        }
        (late / arrived, 1.0 - arrived / 19_999.0)
    };
    let (late, lost) = each_second(None);
    // Four deviations: 21 sqrt(p) / (1 - p) / sqrt(20,000).
    assert!((late - 21.0 * 0.3 / 0.7).abs() < 0.47, "{late}");
    assert!(lost.abs() < 1e-9);
    let (_, lost) = each_second(Some(3));
    assert!((lost - 0.027).abs() < 4.0 * (0.027f64 * 0.973 / 20_000.0).sqrt(), "{lost}");
}

/// Both directions of a half duplex link of 8 Mbit/s and 10 ms: 1000 bytes take 1 ms, and turning round half a millisecond.
fn half_duplex() -> [Link<Dummy>; 2] {
    let spec = HalfDuplexSpec { turnaround: Duration::from_micros(500) };
    let mut media = Media::new(1);
    [0, 1].map(|side| {
        let half_duplex = Some(HalfDuplex { name: "radio".to_string(), side, spec });
        Link::joined(
            &Hosts::default(),
            &LinkConfig { half_duplex, ..config(droptail(100_000)) },
            1,
            "radio",
            &mut media,
        )
    })
}

/// Runs both until nothing is left, in the order of time; arrivals as (us, side, id).
fn drain_both(links: &mut [Link<Dummy>; 2]) -> Vec<(u64, usize, u64)> {
    let mut arrivals = vec![];
    loop {
        let side = usize::from(links[1].next_event() < links[0].next_event());
        let now = links[side].next_event();
        if now == Instant::FAR_FUTURE {
            return arrivals;
        }
        while let Some(packet) = links[side].poll(now) {
            arrivals.push((now.as_nanos() / 1000, side, packet.id));
        }
    }
}

/// Packet by packet in turns, with a turnaround between them: 0 to 1 ms, 1.5 to 2.5, 3 to 4, ...; what is alone at the end needs none. The
/// way to the far end holds nobody up (reported of a shared medium that was blocked for the propagation delay too: p4sim, issue 19).
#[test]
fn the_directions_of_a_half_duplex_link_take_turns() {
    let mut links = half_duplex();
    send_many(&mut links[0], 4);
    send_many(&mut links[1], 2);
    let expected =
        [(11_000, 0, 0), (12_500, 1, 0), (14_000, 0, 1), (15_500, 1, 1), (17_000, 0, 2), (18_000, 0, 3)];
    assert_eq!(drain_both(&mut links), expected);
}

/// In closed form: alone, a direction has the link's rate; where both always send, each has a packet in 2 (1 + 0.5) ms.
#[test]
fn half_duplex_links_have_their_closed_forms() {
    let mut links = half_duplex();
    send_many(&mut links[0], 1000);
    assert_eq!(drain_both(&mut links).last(), Some(&(1_010_000, 0, 999)));
    let mut links = half_duplex();
    send_many(&mut links[0], 1000);
    send_many(&mut links[1], 1000);
    let arrivals = drain_both(&mut links);
    assert_eq!(arrivals.last(), Some(&(2 * 1000 * 1500 - 500 + 10_000, 1, 999)));
    assert!(arrivals.windows(2).all(|pair| pair[0].1 != pair[1].1));
}
