//! Two pools that hand each other their bytes.

use super::*;
use proptest::prelude::*;

const CONFIG: PoolConfig =
    PoolConfig { credit: 64 << 10, memory: 9 * (64 << 10), unsent: u64::MAX, max_flows: 100 };

fn open(confirm: bool) -> Open {
    let (source, destination) = (([10, 0, 0, 1], 1000).into(), ([10, 0, 0, 2], 80).into());
    Open { source, destination, dscp: 0, priority: 0, confirm }
}

struct Pair {
    pools: [Pool; 2],
    lanes: Vec<[LaneId; 2]>,
}

impl Pair {
    fn new(lanes: usize) -> Pair {
        let mut pools = [Pool::new(CONFIG), Pool::new(CONFIG)];
        let address = ([192, 0, 2, 1], 1).into();
        let lanes = (0..lanes)
            .map(|_| {
                [
                    pools[0].connected(Some([2; 32]), address, true),
                    pools[1].connected(Some([1; 32]), address, false),
                ]
            })
            .collect();
        let mut pair = Pair { pools, lanes };
        pair.exchange(usize::MAX);
        pair
    }

    /// Hands over everything, in pieces of `piece` bytes.
    fn exchange(&mut self, piece: usize) {
        while self.step(piece) {}
    }

    fn step(&mut self, piece: usize) -> bool {
        let mut moved = false;
        for lane in self.lanes.clone() {
            for from in 0..2 {
                let mut bytes = vec![];
                self.pools[from].to_send(Instant::ZERO, lane[from], 20_000, &mut bytes);
                moved |= !bytes.is_empty();
                for piece in bytes.chunks(piece.max(1)) {
                    self.pools[1 - from].received(lane[1 - from], piece).unwrap();
                }
            }
        }
        moved
    }

    fn events(&mut self, at: usize) -> Vec<Event> {
        std::iter::from_fn(|| self.pools[at].poll_event()).collect()
    }

    fn check(&self) {
        for pool in &self.pools {
            let ledger = pool.ledger();
            assert_eq!(ledger.written, ledger.delivered + ledger.held + ledger.lost);
        }
    }
}

fn peer(events: &[Event]) -> PeerId {
    events
        .iter()
        .find_map(|event| if let Event::Up { peer, .. } = event { Some(*peer) } else { None })
        .unwrap()
}

fn opened(events: &[Event]) -> FlowId {
    events
        .iter()
        .find_map(|event| if let Event::Opened { flow, .. } = event { Some(*flow) } else { None })
        .unwrap()
}

#[test]
fn a_flow_goes_there_and_back() {
    let mut pair = Pair::new(2);
    let hub = peer(&pair.events(0));
    assert_eq!(pair.events(1).len(), 1, "one Up for both connections");
    let now = Instant::ZERO;
    let flow = pair.pools[0].open(hub, open(true)).unwrap();
    let mut request = Bytes::from_static(b"request");
    assert_eq!(pair.pools[0].write(now, flow, &mut request), 7);
    pair.pools[0].finish(now, flow);
    pair.exchange(1);
    let events = pair.events(1);
    let remote = opened(&events);
    assert!(events.contains(&Event::Readable { flow: remote }), "{events:?}");
    assert!(!events.contains(&Event::Finished { flow: remote }), "the bytes were not read");
    assert_eq!(pair.pools[1].read(remote, 100).unwrap(), &b"request"[..]);
    assert!(pair.events(1).contains(&Event::Finished { flow: remote }));
    pair.pools[1].accept(remote);
    pair.pools[1].finish(now, remote);
    pair.exchange(3);
    let events = pair.events(0);
    for event in [Event::Accepted { flow }, Event::Delivered { flow }, Event::Finished { flow }] {
        assert!(events.contains(&event), "{events:?}");
    }
    assert_eq!((pair.pools[0].flows.len(), pair.pools[1].flows.len()), (0, 0));
    pair.check();
}

/// A flow that nobody reads stops at its credit; others pass, on another connection.
#[test]
fn a_flow_that_nobody_reads_stalls_no_other() {
    let mut pair = Pair::new(2);
    let hub = peer(&pair.events(0));
    let now = Instant::ZERO;
    let full = pair.pools[0].open(hub, open(false)).unwrap();
    let mut all = Bytes::from(vec![7; 1 << 20]);
    let taken = pair.pools[0].write(now, full, &mut all);
    assert_eq!(taken as u64, CONFIG.credit);
    pair.exchange(1000);
    let other = pair.pools[0].open(hub, open(false)).unwrap();
    assert_ne!(pair.pools[0].flows[&full].0, pair.pools[0].flows[&other].0);
    assert_eq!(pair.pools[0].write(now, other, &mut Bytes::from(vec![8; 1000])), 1000);
    pair.exchange(1000);
    let events = pair.events(1);
    let flows: Vec<FlowId> = events
        .iter()
        .filter_map(|event| if let Event::Opened { flow, .. } = event { Some(*flow) } else { None })
        .collect();
    assert_eq!(pair.pools[1].read(flows[1], 9999).unwrap().len(), 1000);
    // What was read makes room.
    assert_eq!(pair.pools[0].write(now, full, &mut all), 0);
    while pair.pools[1].read(flows[0], 9999).is_some() {}
    pair.exchange(1000);
    assert!(pair.events(0).contains(&Event::Writable { flow: full }));
    assert!(pair.pools[0].writable(full) > 50_000);
    pair.check();
}

/// The reset behind a flow's bytes overtakes them and the end; with the end, the flow is over in both directions.
#[test]
fn a_reset_that_was_overtaken_by_both_ends_is_none() {
    let mut pair = Pair::new(1);
    let hub = peer(&pair.events(0));
    let now = Instant::ZERO;
    let flow = pair.pools[0].open(hub, open(false)).unwrap();
    pair.exchange(1000);
    let remote = opened(&pair.events(1));
    pair.pools[1].finish(now, remote);
    pair.exchange(1000);
    assert!(pair.events(0).contains(&Event::Finished { flow }));
    pair.pools[0].write(now, flow, &mut Bytes::from_static(b"the last bytes"));
    pair.pools[0].finish(now, flow);
    pair.pools[0].reset_behind(flow, ResetCode::Reset);
    pair.exchange(1000);
    assert_eq!(pair.pools[1].read(remote, 100).unwrap(), &b"the last bytes"[..]);
    let events = pair.events(1);
    assert!(events.contains(&Event::Finished { flow: remote }), "{events:?}");
    assert!(!events.iter().any(|event| matches!(event, Event::Reset { .. })), "{events:?}");
    pair.exchange(1000);
    assert!(pair.events(0).contains(&Event::Delivered { flow }));
    pair.check();
}

#[test]
fn a_connection_that_ends_resets_its_flows_only() {
    let mut pair = Pair::new(2);
    let hub = peer(&pair.events(0));
    let now = Instant::ZERO;
    let first = pair.pools[0].open(hub, open(false)).unwrap();
    pair.pools[0].write(now, first, &mut Bytes::from(vec![1; 64 << 10]));
    let second = pair.pools[0].open(hub, open(false)).unwrap();
    pair.exchange(1000);
    let lane = pair.pools[0].flows[&first].0;
    pair.pools[0].disconnected(lane, "cable");
    let events = pair.events(0);
    assert_eq!(events, [Event::Reset { flow: first, code: ResetCode::HopDown, undelivered: 64 << 10 }]);
    assert!(pair.pools[0].writable(second) > 0);
    let lane = pair.pools[0].flows[&second].0;
    pair.pools[0].disconnected(lane, "cable");
    let events = pair.events(0);
    assert_eq!(events[1], Event::Down { peer: hub, reason: "cable".into() });
    assert_eq!(pair.pools[0].open(hub, open(false)), Err(Refusal::Down));
    assert_eq!(pair.pools[0].ledger().lost, 64 << 10);
    pair.check();
}

#[test]
fn what_makes_no_sense_ends_the_connection() {
    let mut hello = vec![];
    let mut other = Pool::new(CONFIG);
    let address = ([192, 0, 2, 1], 1).into();
    let lane = other.connected(None, address, true);
    other.to_send(Instant::ZERO, lane, 1000, &mut hello);
    let told = |frames: &[Frame]| {
        let mut pool = Pool::new(CONFIG);
        let lane = pool.connected(None, address, false);
        let mut bytes = hello.clone();
        frames.iter().for_each(|frame| frame.write(&mut bytes));
        pool.received(lane, &bytes)
    };
    let opening = Frame::Open { flow: 0, open: open(false) };
    assert_eq!(told(&[opening]), Ok(()));
    assert_eq!(told(&[opening, opening]), Err("a flow was opened twice"));
    assert_eq!(told(&[Frame::Open { flow: 1, open: open(false) }]), Err("a flow was opened twice"));
    assert_eq!(told(&[Frame::Data { flow: 4, bytes: b"x" }]), Err("data of a flow that was not opened"));
    assert_eq!(
        told(&[opening, Frame::End { flow: 0 }, Frame::Data { flow: 0, bytes: b"x" }]),
        Err("data behind the end of a flow")
    );
    let much = [0; 16_000];
    let too_much: Vec<Frame> =
        std::iter::once(opening).chain((0..6).map(|_| Frame::Data { flow: 0, bytes: &much })).collect();
    assert_eq!(told(&too_much), Err("more was sent than the credit allows"));
    assert_eq!(
        told(&[opening, Frame::Record(Record::Consumed { stream: 0, offset: 1 })]),
        Err("more was read than was sent")
    );
    assert_eq!(told(&[opening, Frame::Read { flow: 0 }]), Err("an end was read that was not sent"));
    let mut pool = Pool::new(CONFIG);
    let lane = pool.connected(None, address, false);
    let mut bytes = vec![];
    opening.write(&mut bytes);
    assert_eq!(pool.received(lane, &bytes), Err("a frame before the hello"));
}

proptest! {
    /// Flows write, read, end and reset in any order, cut anywhere: each reader gets what was written, in order, and the end only
    /// behind all of it.
    #[test]
    fn bytes_arrive_in_order_and_before_the_end(
        steps in prop::collection::vec((0usize..6, 0usize..4, 1usize..30_000), 1..120),
        piece in 1usize..3000,
    ) {
        let mut pair = Pair::new(3);
        let hub = peer(&pair.events(0));
        let now = Instant::ZERO;
        let mut own: Vec<(FlowId, u64)> = vec![];
        let mut was_reset = [false; 20];
        // Flows of different lanes arrive in any order: the opener's number is in the port.
        let mut remote: Vec<(FlowId, usize, u64)> = vec![];
        let steps = steps.into_iter().chain(std::iter::repeat_n((5, 0, 30_000), 2000));
        for (what, which, size) in steps {
            let at = which.min(own.len().saturating_sub(1));
            match what {
                0 if own.len() < 20 => {
                    let source = ([10, 0, 0, 1], 1000 + own.len() as u16).into();
                    own.push((pair.pools[0].open(hub, Open { source, ..open(false) }).unwrap(), 0));
                }
                1 | 2 if !own.is_empty() => {
                    let (flow, written) = &mut own[at];
                    let mut bytes: Bytes =
                        (0..size as u64).map(|n| ((*written + n) % 251) as u8).collect::<Vec<_>>().into();
                    *written += pair.pools[0].write(now, *flow, &mut bytes) as u64;
                }
                3 if !own.is_empty() => pair.pools[0].finish(now, own[at].0),
                4 if !own.is_empty() && size % 5 == 0 => {
                    pair.pools[0].reset(own[at].0, ResetCode::Reset);
                    was_reset[at] = true;
                }
                _ => { pair.step(piece); }
            }
            let mut ended = vec![];
            for event in pair.events(1) {
                match event {
                    Event::Opened { flow, open, .. } => remote.push((flow, usize::from(open.source.port() - 1000), 0)),
                    Event::Finished { flow } => ended.push(flow),
                    _ => {}
                }
            }
            for (flow, at, read) in &mut remote {
                while let Some(bytes) = pair.pools[1].read(*flow, size) {
                    for byte in bytes {
                        prop_assert_eq!(u64::from(byte), *read % 251);
                        *read += 1;
                    }
                }
                if ended.contains(flow) {
                    prop_assert_eq!(*read, own[*at].1);
                }
            }
            pair.check();
        }
        prop_assert_eq!(own.len(), remote.len());
        for (_, at, read) in remote {
            prop_assert!(was_reset[at] || read == own[at].1, "flow {at}: {read} of {} bytes", own[at].1);
        }
    }
}

/// A terminal opens further connections beside the first one. What the peer bears is known meanwhile: it was taken for 0, so that a terminal
/// let new connections pass until the last hello had come.
#[test]
fn a_connection_without_a_hello_leaves_the_room_as_it_is() {
    let mut pair = Pair::new(1);
    let events = pair.events(0);
    assert_eq!(pair.pools[0].stats(peer(&events)).unwrap().max_flows, 100);
    pair.pools[0].connected(Some([2; 32]), ([192, 0, 2, 1], 1).into(), true);
    assert_eq!(pair.pools[0].stats(peer(&events)).unwrap().max_flows, 100);
}

/// A hub's bound reaches the terminal, and is not lost with the connection that carries it. A terminal cannot bound its hub.
#[test]
fn a_hub_bounds_the_flows_of_a_terminal() {
    let mut pair = Pair::new(2);
    let (hub_of, terminal_of) = (peer(&pair.events(0)), peer(&pair.events(1)));
    let bounds = |flows| Bounds { flows: Some(flows), rate: None };
    pair.pools[1].set_bounds(terminal_of, bounds(7));
    pair.pools[0].set_bounds(hub_of, bounds(5));
    pair.exchange(1);
    assert_eq!(pair.events(0), [Event::Bounded { peer: hub_of }]);
    assert_eq!(pair.pools[0].stats(hub_of).unwrap().max_flows, 7);
    assert_eq!(pair.pools[1].stats(terminal_of).unwrap().max_flows, 100);
    pair.pools[1].set_bounds(terminal_of, bounds(9));
    let lost = pair.lanes.remove(0);
    (0..2).for_each(|at| pair.pools[at].disconnected(lost[at], "lost"));
    pair.exchange(1);
    assert_eq!(pair.pools[0].stats(hub_of).unwrap().max_flows, 9);
}
