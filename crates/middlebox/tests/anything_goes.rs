//! Whatever every hop of the path does, and in whatever order the hosts close: through every middlebox each byte arrives once
//! and in order, unless a host resets the connection or the middlebox breaks down; what is lost then is counted.

use crate::common::*;
use longhaul_hop::{Coding, PoolConfig, Rates, Role, Share};
use longhaul_middlebox::ack_compaction::{self, Form, Spacing, ack_compaction};
use longhaul_middlebox::ack_filter::{self, AckFilter};
use longhaul_middlebox::hop;
use longhaul_middlebox::mss_clamp::{self, MssClamp};
use longhaul_middlebox::paced::erasure::Code;
use longhaul_middlebox::paced::{self, Control, paced_hop};
use longhaul_middlebox::premature_ack::{self, Guard, PrematureAck, Watermark};
use longhaul_middlebox::snoop::{self, Snoop};
use longhaul_middlebox::split::record::Framing;
use longhaul_middlebox::split::{FlowControl, LocalQueueSettings, LongHop, SingleSplit, distributed_split};
use longhaul_middlebox::throttle::{self, Throttle};
use longhaul_middlebox::{
    Base, Departure, Direction, Established, LocalRecovery, Middlebox, Passing, TwoNodes, Verdict,
};
use longhaul_path::QueueSpec;
use longhaul_segment::Segment;
use longhaul_tcp::{Config, Reading, Recovery, State};
use longhaul_units::{ConnectionId, Instant, Limit, Random, Rate};
use proptest::prelude::*;

const FLOWS: u32 = 3;
/// The first connection that is no flow's.
const OWN: ConnectionId = ConnectionId(FLOWS);

type Boxes = Vec<Box<dyn Middlebox<Bytes>>>;

/// Which middleboxes stand on the path.
#[derive(Clone, Debug)]
enum Kind {
    PrematureAck {
        buffer: usize,
        watermark: usize,
        automatic: bool,
        window: Option<u64>,
    },
    TwoPrematureAcks,
    Snoop {
        cache: usize,
    },
    Single {
        buffer: u64,
    },
    Distributed {
        connections: u32,
        buffer: Option<u64>,
        hold_back: bool,
        credit: u64,
        established: bool,
        queue: Option<u64>,
    },
    SingleAndSnoop,
    AckFilter {
        every: u32,
    },
    MssClamp {
        mss: u16,
    },
    AckCompaction {
        traditional: bool,
        wait: u64,
        spacing: Spacing,
        over_tcp: bool,
    },
    Throttle {
        burst: u64,
        queue: u64,
    },
    Paced {
        buffer: u64,
        credit: u64,
        code: Option<Code>,
        established: bool,
        rate: u64,
        /// The active openers are on the side of the pseudo proxy.
        mirrored: bool,
    },
    /// The accelerator's transport.
    Hop {
        buffer: u64,
        credit: u64,
        coding: bool,
        exclusive: bool,
        rate: u64,
        /// TCP connections that carry it, in the place of QUIC.
        connections: Option<u32>,
        /// The active openers are on the side of the second node.
        mirrored: bool,
    },
}

/// A proxy whose second node is on the side of the active openers: what goes from its first to its second goes their way.
struct Mirrored(TwoNodes<Bytes>);

impl Middlebox<Bytes> for Mirrored {
    fn handle_packet(&mut self, now: Instant, port: usize, packet: Passing<'_, Bytes>) -> Verdict {
        self.0.handle_packet(now, port, packet)
    }
    fn handle_timeout(&mut self, now: Instant) {
        self.0.handle_timeout(now);
    }
    fn poll_timeout(&self) -> Option<Instant> {
        self.0.poll_timeout()
    }
    fn transmit_into(&mut self, now: Instant, segment: &mut Segment) -> Option<Departure<Bytes>> {
        let mut departure = self.0.transmit_into(now, segment)?;
        if departure.connection >= OWN {
            departure.direction = departure.direction.opposite();
        }
        Some(departure)
    }
    fn lose_all(&mut self, now: Instant) {
        self.0.lose_all(now);
    }
    fn counters(&self) -> Vec<(&'static str, u64)> {
        self.0.counters()
    }
    fn base(&self) -> &Base<Bytes> {
        self.0.base()
    }
    fn base_mut(&mut self) -> &mut Base<Bytes> {
        self.0.base_mut()
    }
}

fn kind() -> impl Strategy<Value = Kind> {
    prop_oneof![
        (1usize..30, any::<u8>(), any::<bool>(), prop::option::of(2000u64..60_000)).prop_map(
            |(buffer, level, automatic, window)| Kind::PrematureAck {
                buffer,
                watermark: usize::from(level) % (buffer + 1),
                automatic,
                window
            }
        ),
        Just(Kind::TwoPrematureAcks),
        (1usize..40).prop_map(|cache| Kind::Snoop { cache }),
        (2000u64..60_000).prop_map(|buffer| Kind::Single { buffer }),
        (
            1u32..4,
            prop::option::of(2000u64..60_000),
            any::<bool>(),
            500u64..60_000,
            any::<bool>(),
            prop::option::of(1u64..30)
        )
            .prop_map(|(connections, buffer, hold_back, credit, established, queue)| {
                Kind::Distributed { connections, buffer, hold_back, credit, established, queue }
            }),
        Just(Kind::SingleAndSnoop),
        (1u32..6).prop_map(|every| Kind::AckFilter { every }),
        (100u16..1500).prop_map(|mss| Kind::MssClamp { mss }),
        (500u64..20_000, 1u64..60).prop_map(|(burst, queue)| Kind::Throttle { burst, queue }),
        (any::<bool>(), 0u64..200, 0u32..40, any::<bool>()).prop_map(
            |(traditional, wait, rate, over_tcp)| {
                let spacing = match rate {
                    0..10 => Spacing::Even,
                    10..20 => Spacing::Immediate,
                    rate => Spacing::PerSecond(rate),
                };
                Kind::AckCompaction { traditional, wait, spacing, over_tcp }
            }
        ),
        (
            2000u64..60_000,
            2000u64..60_000,
            prop::option::of((1u8..12, 1u8..4)),
            any::<bool>(),
            100_000u64..20_000_000,
            any::<bool>(),
        )
            .prop_map(|(buffer, credit, code, established, rate, mirrored)| {
                let code = code.map(|(items, parities)| Code { items, parities });
                Kind::Paced { buffer, credit, code, established, rate, mirrored }
            }),
        (2000u64..60_000, 16u64..200, any::<[bool; 3]>(), 100_000u64..20_000_000, prop::option::of(1u32..4))
            .prop_map(|(buffer, credit, [coding, exclusive, mirrored], rate, connections)| {
                Kind::Hop { buffer, credit: credit << 10, coding, exclusive, rate, connections, mirrored }
            }),
    ]
}

fn premature_ack(buffer: usize, watermark: Watermark, window: Option<u64>) -> Box<dyn Middlebox<Bytes>> {
    let settings = premature_ack::Settings {
        buffer,
        watermark,
        window,
        guard: Guard::Strict,
        recovery: LocalRecovery { max_rto: ms(8000), ..LocalRecovery::default() },
    };
    Box::new(PrematureAck::new(settings, Established::default()))
}

fn snoop_agent(cache: usize) -> Box<dyn Middlebox<Bytes>> {
    let recovery = LocalRecovery { max_rto: ms(8000), ..snoop::Settings::recovery() };
    Box::new(Snoop::new(snoop::Settings { cache, towards: Direction::Forward, recovery }))
}

fn single(config: &Config, buffer: u64) -> Box<dyn Middlebox<Bytes>> {
    Box::new(SingleSplit::new(plans(config, Some(buffer)), Random::stream(1, "split")))
}

/// The protocol's datagrams go from the first node to the second.
fn paced(config: &Config, kind: &Kind, seed: u64) -> TwoNodes<Bytes> {
    let Kind::Paced { buffer, credit, code, established, rate, .. } = *kind else { unreachable!() };
    let control = Config {
        reading: Reading::Immediate,
        receive_buffer: None,
        nagle: false,
        max_retransmissions: u32::MAX,
        max_syn_retransmissions: u32::MAX,
        ..config.clone()
    };
    let settings = paced::Settings {
        sender: paced_sender(rate, code),
        receiver: paced::receiver::Settings {
            report_interval: ms(100),
            reordering: 3,
            line: Some(Rate::from_bps(19_200)),
            headers: 42,
            share: 0.5,
            buffer: credit,
            code,
        },
        control: Control { side: side(&control), established },
        silence: None,
        first_number: OWN,
    };
    let randoms = ["hub", "client"].map(|name| Random::stream(seed, name));
    paced_hop(both((plans(config, Some(buffer)), settings)), randoms)
}

fn accelerator(config: &Config, kind: &Kind, seed: u64) -> TwoNodes<Bytes> {
    let Kind::Hop { buffer, credit, coding, exclusive, rate, connections, .. } = *kind else {
        unreachable!()
    };
    let node = |role| longhaul_hop::Config {
        coding: if coding { Coding::Adaptive } else { Coding::Off },
        share: if exclusive { Share::Exclusive } else { Share::Fair },
        rates: Rates { send: Some(Rate::from_bps(rate)), ..Rates::default() },
        credit,
        memory: 9 * credit,
        initial_rtt: ms(200),
        ..longhaul_hop::Config::new(role)
    };
    let nodes = [node(hop::terminal()), node(Role::Hub)];
    let carrier = match connections {
        None => hop::CarrierSettings::Quic(nodes.into()),
        Some(connections) => hop::CarrierSettings::Tcp(Box::new(hop::TcpCarrier {
            side: side(&Config { nagle: false, max_retransmissions: u32::MAX, ..patient() }),
            rates: nodes.each_ref().map(|node| node.rates.send),
            connections,
            pool: PoolConfig { credit, memory: 9 * credit, unsent: u64::MAX, max_flows: 100 },
        })),
    };
    let settings = hop::Settings { carrier, buffer, first_number: OWN };
    let randoms = ["terminal", "hub"].map(|name| Random::stream(seed, name));
    hop::hop(both((plans(config, Some(buffer)), settings)), randoms).unwrap()
}

impl Kind {
    /// Middleboxes and where they stand.
    fn build(&self, config: &Config, seed: u64) -> (Boxes, Vec<(usize, usize)>) {
        match self {
            Kind::PrematureAck { buffer, watermark, automatic, window } => {
                let watermark = if *automatic { Watermark::Automatic } else { Watermark::Fixed(*watermark) };
                (vec![premature_ack(*buffer, watermark, *window)], vec![(0, 0)])
            }
            Kind::TwoPrematureAcks => {
                let boxes = vec![
                    premature_ack(20, Watermark::Fixed(10), None),
                    premature_ack(5, Watermark::Fixed(5), None),
                ];
                (boxes, vec![(0, 0), (1, 0)])
            }
            Kind::Snoop { cache } => (vec![snoop_agent(*cache)], vec![(0, 0)]),
            Kind::AckFilter { every } => {
                let settings = ack_filter::Settings { every: *every, hold: ms(50), adapt: None };
                (vec![Box::new(AckFilter::new(settings))], vec![(0, 0)])
            }
            Kind::MssClamp { mss } => {
                (vec![Box::new(MssClamp::new(mss_clamp::Settings { mss: *mss, raise: false }))], vec![(0, 0)])
            }
            Kind::Throttle { burst, queue } => {
                let settings = throttle::Settings {
                    rate: Rate::from_bps(2_000_000),
                    burst: *burst,
                    queue: QueueSpec::droptail(Limit::Packets(*queue)),
                    towards: Direction::Forward,
                };
                (vec![Box::new(Throttle::new(settings, seed, "throttle"))], vec![(0, 0)])
            }
            Kind::AckCompaction { traditional, wait, spacing, over_tcp } => {
                let settings = ack_compaction::Settings {
                    form: if *traditional { Form::Traditional { threshold: 2 } } else { Form::Exact },
                    wait: ms(*wait),
                    rate: None,
                    framing: 0,
                    most: 8,
                    spacing: *spacing,
                };
                let carrier = Config { nagle: false, max_retransmissions: u32::MAX, ..patient() };
                let carrier = over_tcp.then(|| both(side(&carrier)));
                let compaction = ack_compaction(settings, OWN, carrier);
                (vec![Box::new(OneWay(compaction, OWN))], vec![(0, 0), (0, 1)])
            }
            Kind::Paced { mirrored: false, .. } => {
                (vec![Box::new(paced(config, self, seed))], vec![(0, 0), (0, 1)])
            }
            Kind::Paced { .. } => (vec![Box::new(Mirrored(paced(config, self, seed)))], vec![(0, 1), (0, 0)]),
            Kind::Hop { mirrored, .. } => {
                let both = accelerator(config, self, seed);
                match mirrored {
                    false => (vec![Box::new(both)], vec![(0, 0), (0, 1)]),
                    true => (vec![Box::new(Mirrored(both))], vec![(0, 1), (0, 0)]),
                }
            }
            Kind::Single { buffer } => (vec![single(config, *buffer)], vec![(0, 0)]),
            Kind::SingleAndSnoop => (vec![single(config, 20_000), snoop_agent(20)], vec![(0, 0), (1, 0)]),
            Kind::Distributed { connections, buffer, hold_back, credit, established, queue } => {
                let control = match queue {
                    Some(packets) => FlowControl::LocalQueue(LocalQueueSettings {
                        queue: QueueSpec::droptail(Limit::Packets(*packets)),
                        rate: Rate::from_bps(10_000_000),
                        buffer_start: 5200,
                        header_size: 40,
                        check_interval: hold_back.then_some(ms(3)),
                    }),
                    None => FlowControl::Window(hold_back.then_some(10_000)),
                };
                let reading = match control {
                    FlowControl::Window(Some(_)) => Reading::Manual,
                    _ => Reading::Immediate,
                };
                let long = Config {
                    reading,
                    receive_buffer: (reading == Reading::Manual).then_some(50_000),
                    nagle: false,
                    max_retransmissions: u32::MAX,
                    time_wait: ms(1000),
                    ..config.clone()
                };
                let long_hop = LongHop {
                    side: side(&long),
                    established: *established,
                    connections: *connections,
                    framing: Framing::Header,
                    buffer: *credit,
                    first_number: OWN,
                    positions: (0..FLOWS).collect(),
                };
                let buffer = if queue.is_some() { None } else { *buffer };
                let split =
                    distributed_split(both((plans(config, buffer), long_hop)), control, seed, "split");
                (vec![Box::new(split)], vec![(0, 0), (0, 1)])
            }
        }
    }
    fn hops(&self) -> usize {
        match self {
            Kind::PrematureAck { .. }
            | Kind::Snoop { .. }
            | Kind::Single { .. }
            | Kind::AckFilter { .. }
            | Kind::Throttle { .. }
            | Kind::MssClamp { .. } => 2,
            Kind::TwoPrematureAcks
            | Kind::SingleAndSnoop
            | Kind::Distributed { .. }
            | Kind::Paced { .. }
            | Kind::Hop { .. }
            | Kind::AckCompaction { .. } => 3,
        }
    }
}

fn any_hop() -> impl Strategy<Value = Hop> {
    (1u64..60, 0u64..20, 0u64..10, 0u64..10, 0u64..20_000, 0u64..4000).prop_map(
        |(delay_ms, loss_percent, reorder_percent, double_percent, begin, length)| Hop {
            delay_ms,
            loss_percent,
            reorder_percent,
            double_percent,
            outage: (begin, begin + length),
        },
    )
}

/// What hosts do, one after the other: pause in ms, flow, whether the client does it, what.
#[derive(Clone, Copy, Debug)]
enum Deed {
    Write(u64),
    Close,
}

fn deeds() -> impl Strategy<Value = Vec<(u64, usize, bool, Deed)>> {
    let deed = prop_oneof![4 => (1u64..40_000).prop_map(Deed::Write), 1 => Just(Deed::Close)];
    prop::collection::vec((0u64..2000, 0..FLOWS as usize, any::<bool>(), deed), 1..12)
}

fn config() -> impl Strategy<Value = Config> {
    let recovery = prop_oneof![Just(Recovery::Reno), Just(Recovery::NewReno), Just(Recovery::Sack)];
    (recovery, any::<u8>(), prop::option::of(3000u64..100_000)).prop_map(
        |(recovery, bits, receive_buffer)| Config {
            recovery,
            timestamps: bits & 1 != 0,
            window_scaling: bits & 2 != 0,
            delayed_ack: (bits & 4 != 0).then_some(ms(100)),
            ecn: bits & 8 != 0,
            nagle: bits & 16 != 0,
            offer_sack: bits & 32 != 0,
            receive_buffer,
            ..patient()
        },
    )
}

/// Does all deeds; then both ends of every flow are open, or have been closed by their application.
fn act(path: &mut Path, deeds: &[(u64, usize, bool, Deed)]) {
    // A passive end sends nothing before a request, and no end closes what is not open.
    let mut closed = [[false; 2]; FLOWS as usize];
    let mut time = 0;
    while !path.hosts.iter().all(|h| h.client.state().is_synchronized() && h.server.state().is_synchronized())
    {
        assert!(path.step(at_ms(10_000_000)), "not all connections open");
    }
    let begin = path.now;
    for &(pause, flow, client, deed) in deeds {
        time += pause;
        path.run_until(begin + ms(time));
        let hosts = &mut path.hosts[flow];
        let host = if client { &mut hosts.client } else { &mut hosts.server };
        match deed {
            Deed::Write(bytes) if !closed[flow][usize::from(client)] && can_write(host) => {
                path.write(flow, client, bytes);
            }
            Deed::Write(_) => {}
            Deed::Close => {
                host.close();
                closed[flow][usize::from(client)] = true;
            }
        }
    }
}

/// A host that has received the other's FIN closes its own side; it writes nothing after that.
fn can_write(host: &longhaul_tcp::Connection) -> bool {
    host.state() == State::Established
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, max_shrink_iters: 400, ..ProptestConfig::default() })]

    #[test]
    fn every_byte_arrives_once_and_all_close(
        kind in kind(),
        config in config(),
        hop_settings in prop::collection::vec(any_hop(), 3),
        deeds in deeds(),
        seed in any::<u64>(),
    ) {
        let (boxes, stations) = kind.build(&config, seed);
        let flows = (0..FLOWS).map(|number| hosts(number, &config)).collect();
        let hops = hop_settings[..kind.hops()].to_vec();
        let mut path = Path::new(flows, boxes, stations, hops, seed);
        act(&mut path, &deeds);
        for hosts in &mut path.hosts {
            hosts.client.close();
            hosts.server.close();
        }
        let closed = path.run_until_closed(at_ms(100_000_000));
        path.check_content();
        for (flow, hosts) in path.hosts.iter().enumerate() {
            prop_assert_eq!(hosts.server.received_bytes(), hosts.written[0], "to the server, flow {}", flow);
            prop_assert_eq!(hosts.client.received_bytes(), hosts.written[1], "to the client, flow {}", flow);
        }
        let states: Vec<_> = path.hosts.iter().map(|h| (h.client.state(), h.server.state())).collect();
        prop_assert!(closed, "{:?}", states);
        for inner in &path.boxes {
            prop_assert_eq!(inner.levels().undelivered.level(), 0, "at stake when all is over");
            let lost = inner.counters().into_iter().find(|(name, _)| *name == "lost_acknowledged_bytes");
            prop_assert_eq!(lost.map_or(0, |(_, bytes)| bytes), 0, "counted as lost");
        }
    }

    /// No more bytes may be acknowledged that never arrive than the middlebox counts as lost.
    #[test]
    fn what_a_broken_middlebox_loses_is_counted(
        kind in kind(),
        config in config(),
        hop_settings in prop::collection::vec(any_hop(), 3),
        deeds in deeds(),
        seed in any::<u64>(),
        fails_at in 100u64..10_000,
    ) {
        let (boxes, stations) = kind.build(&config, seed);
        let flows = (0..FLOWS).map(|number| hosts(number, &config)).collect();
        let hops = hop_settings[..kind.hops()].to_vec();
        let mut path = Path::new(flows, boxes, stations, hops, seed);
        act(&mut path, &deeds);
        path.fails[0] = Some(path.now + ms(fails_at));
        path.run_until(path.now + ms(300_000));
        path.check_content();
        let mut missing = 0;
        for hosts in &path.hosts {
            missing += hosts.client.acked_bytes().saturating_sub(hosts.server.received_bytes());
            missing += hosts.server.acked_bytes().saturating_sub(hosts.client.received_bytes());
        }
        // One that is still at work will deliver what it holds.
        let at_stake: u64 = path.boxes.iter().map(|inner| inner.levels().undelivered.level()).sum();
        let counted: u64 = path
            .boxes
            .iter()
            .flat_map(|inner| inner.counters())
            .filter(|(name, _)| *name == "lost_acknowledged_bytes")
            .map(|(_, bytes)| bytes)
            .sum();
        prop_assert!(
            missing <= counted + at_stake,
            "{} bytes are missing, {} were counted, {} at stake", missing, counted, at_stake
        );
        if matches!(
            kind,
            Kind::Snoop { .. } | Kind::AckFilter { .. } | Kind::MssClamp { .. } | Kind::AckCompaction { .. }
        ) {
            prop_assert_eq!(missing, 0);
        }
    }

    /// A reset ends the connection; nothing arrives that was not written, and other flows are not disturbed.
    #[test]
    fn a_reset_disturbs_no_other_flow(
        kind in kind(),
        config in config(),
        hop_settings in prop::collection::vec(any_hop(), 3),
        deeds in deeds(),
        seed in any::<u64>(),
        by_client in any::<bool>(),
    ) {
        let (boxes, stations) = kind.build(&config, seed);
        let flows = (0..FLOWS).map(|number| hosts(number, &config)).collect();
        let hops = hop_settings[..kind.hops()].to_vec();
        let mut path = Path::new(flows, boxes, stations, hops, seed);
        act(&mut path, &deeds);
        let hosts = &mut path.hosts[0];
        if by_client { hosts.client.abort() } else { hosts.server.abort() }
        for hosts in &mut path.hosts[1..] {
            hosts.client.close();
            hosts.server.close();
        }
        // Segments of 100 bytes over a lossy path may take an hour and more.
        let hours = if matches!(kind, Kind::MssClamp { .. }) { 6 } else { 1 };
        path.run_until(path.now + ms(hours * 3_000_000));
        path.check_content();
        for hosts in &path.hosts[1..] {
            prop_assert_eq!(hosts.server.received_bytes(), hosts.written[0], "to the server");
            prop_assert_eq!(hosts.client.received_bytes(), hosts.written[1], "to the client");
        }
    }
}
