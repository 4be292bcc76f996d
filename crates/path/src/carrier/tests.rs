//! Carriers alone, and links on them: delays and shares that can be worked out on paper.

use super::*;

fn ms(ms: u64) -> Instant {
    Instant::from_nanos(ms * 1_000_000)
}
/// 8 Mbit/s: 1000 bytes take 1 ms. Superframes of 30 ms, and 600 ms (20 of them) from a request to its assignment.
fn spec() -> CarrierSpec {
    CarrierSpec {
        name: "return".to_string(),
        rate: Rate::from_bps(8_000_000),
        superframe: Duration::from_millis(30),
        delay: Duration::from_millis(600),
        free: false,
        contention: None,
    }
}
fn terminal() -> TerminalSpec {
    TerminalSpec { name: "return".to_string(), cra: None, rbdc: None, vbdc: true, weight: 1.0 }
}
fn carrier(spec: &CarrierSpec, terminals: &[TerminalSpec]) -> Carrier {
    let mut made = Carrier::new(spec, 1);
    terminals.iter().for_each(|terminal| {
        made.add(terminal);
    });
    made
}
fn kbps(kbps: u64) -> Rate {
    Rate::from_bps(1000 * kbps)
}

/// When a packet of 1000 bytes that comes at `now` has been sent.
fn sent(carrier: &mut Carrier, now: Instant, place: usize) -> Instant {
    carrier.came(now, place, 1000);
    finish(carrier, now, place)
}
fn finish(carrier: &mut Carrier, mut now: Instant, place: usize) -> Instant {
    let mut left = Duration::from_millis(1);
    loop {
        match carrier.serve(now, place, &mut left) {
            Turn::Ends(at) => return at,
            Turn::Later(at) => now = at,
        }
    }
}

/// VBDC: to the next boundary, one round trip of a request, to the next boundary again, and 1 ms of transmission.
#[test]
fn a_volume_waits_for_a_round_trip_and_two_boundaries() {
    for (comes, ends) in [(1, 631), (29, 631), (31, 661)] {
        assert_eq!(sent(&mut carrier(&spec(), &[terminal()]), ms(comes), 0), ms(ends));
    }
    // 590 ms are 19.7 superframes: the assignment is at the next boundary.
    let quick = CarrierSpec { delay: Duration::from_millis(590), ..spec() };
    assert_eq!(sent(&mut carrier(&quick, &[terminal()]), ms(1), 0), ms(631));
}

/// CRA of 40 kbit/s is 0.15 ms of each superframe of 30 ms: a packet of 1 ms takes 7 of them, the last to two thirds; RBDC and VBDC need a
/// request.
#[test]
fn a_constant_rate_needs_no_request() {
    let constant = TerminalSpec { cra: Some(kbps(40)), vbdc: false, ..terminal() };
    let at = sent(&mut carrier(&spec(), &[constant]), ms(1), 0);
    assert_eq!(at.as_nanos(), 7 * 30_000_000 + 100_000);
}

/// Several have the carrier one after the other, never together: each superframe's assignments are at most the superframe.
#[test]
fn no_more_is_assigned_than_there_is() {
    let some = [
        TerminalSpec { cra: Some(kbps(2_000)), ..terminal() },
        TerminalSpec {
            rbdc: Some(RbdcSpec { max: kbps(8_000), smoothing: smoothing(), timeout: timeout() }),
            weight: 3.0,
            ..terminal()
        },
        terminal(),
    ];
    let mut carrier = carrier(&CarrierSpec { free: true, ..spec() }, &some);
    let mut random = Random::stream(7, "load");
    let mut now = Instant::ZERO;
    for _ in 0..20_000 {
        now += Duration::from_nanos(random.up_to(2_000_000));
        let place = random.up_to(2) as usize;
        carrier.came(now, place, 1 + random.up_to(2_999) as u32);
        let number = carrier.next - 1;
        let (begin, end) = (carrier.boundary(number), carrier.boundary(carrier.next));
        let mut last = begin;
        for terminal in &carrier.terminals {
            assert!(terminal.block.0 >= last && terminal.block.1 <= end);
            last = terminal.block.1;
        }
        let mut left = Duration::from_micros(200);
        carrier.serve(now, place, &mut left);
    }
}

/// Packets of so many terminals always wait; packets that each has sent in 300 s.
fn throughput(carrier: &mut Carrier, places: &[usize]) -> Vec<u64> {
    let mut counts = vec![0; carrier.terminals.len()];
    let mut left = vec![Duration::from_millis(1); carrier.terminals.len()];
    for number in 0..10_000 {
        let now = ms(30 * number);
        carrier.advance(now);
        for place in places.iter().copied() {
            while carrier.terminals[place].backlog < 1_000_000_000 {
                carrier.came(now, place, 1000);
            }
            let (mut at, end) = (now, ms(30 * (number + 1)));
            while at < end {
                let Turn::Ends(sent) = carrier.serve(at, place, &mut left[place]) else { break };
                (at, left[place]) = (sent, Duration::from_millis(1));
                counts[place] += 1;
                carrier.came(now, place, 1000);
            }
        }
    }
    counts
}

/// Two that always have data share it equally, and by 1 to 3 with these weights, whatever the category.
#[test]
fn full_terminals_share_by_weight() {
    let rbdc = Some(RbdcSpec { max: kbps(8_000), smoothing: smoothing(), timeout: timeout() });
    for (free, one) in [
        (false, terminal()),
        (false, TerminalSpec { vbdc: false, rbdc, ..terminal() }),
        (true, TerminalSpec { vbdc: false, ..terminal() }),
    ] {
        for weight in [1.0, 3.0] {
            let spec = CarrierSpec { free, ..spec() };
            let mut carrier = carrier(&spec, &[one.clone(), TerminalSpec { weight, ..one.clone() }]);
            let counts = throughput(&mut carrier, &[0, 1]);
            let ratio = counts[1] as f64 / counts[0] as f64;
            assert!((ratio / weight - 1.0).abs() < 0.02, "{free} {weight}: {counts:?}");
            // All of the carrier, but for the first requests.
            let all = (counts[0] + counts[1]) as f64 / 300_000.0;
            assert!((0.98..=1.0).contains(&all), "{free} {weight}: {all}");
        }
    }
}

/// What nobody requests is divided by weight among all: alone among three of weight 1, 1 and 2, one of weight 1 has a quarter at once.
#[test]
fn free_capacity_needs_no_request() {
    let quiet = TerminalSpec { vbdc: false, ..terminal() };
    let heavy = TerminalSpec { weight: 2.0, ..quiet.clone() };
    let mut carrier = carrier(&CarrierSpec { free: true, ..spec() }, &[quiet.clone(), quiet, heavy]);
    let counts = throughput(&mut carrier, &[0]);
    assert!((counts[0] as f64 / 75_000.0 - 1.0).abs() < 0.001, "{counts:?}");
    // Of the superframe's 30 ms the second's part is that from 7.5 to 15 ms.
    assert_eq!(sent(&mut carrier, ms(300_001), 1).as_nanos(), 300_008_500_000);
}

/// A steady 800 kbit/s, one packet each 10 ms, is requested as a rate and then has it: a part of each superframe. In the steady state a packet
/// waits for at most one superframe, and not for a round trip.
#[test]
fn a_steady_rate_is_requested_ahead() {
    let rbdc = Some(RbdcSpec { max: kbps(2_000), smoothing: smoothing(), timeout: timeout() });
    let mut carrier = carrier(&spec(), &[TerminalSpec { rbdc, vbdc: false, ..terminal() }]);
    let mut longest = Duration::ZERO;
    let (mut free_at, mut last) = (Instant::ZERO, Instant::ZERO);
    for number in 0..3000u64 {
        let now = ms(10 * number + 1);
        carrier.came(now, 0, 1000);
        if free_at > now {
            continue;
        }
        last = now;
        free_at = finish(&mut carrier, now, 0);
        if number > 600 {
            longest = longest.max(free_at.since(now));
        }
    }
    assert!(last > ms(20_000));
    assert!(longest <= Duration::from_millis(62), "{longest}");
}

/// A requested rate that is not repeated is forgotten: after the last data, the terminal has nothing.
#[test]
fn a_rate_ends_with_its_timeout() {
    let rbdc =
        Some(RbdcSpec { max: kbps(8_000), smoothing: Duration::ZERO, timeout: Duration::from_millis(300) });
    let mut carrier = carrier(&spec(), &[TerminalSpec { rbdc, vbdc: false, ..terminal() }]);
    carrier.came(ms(1), 0, 1000);
    carrier.terminals[0].backlog = 0;
    carrier.advance(ms(30));
    // The terminal sends nothing more, as one whose later requests are all lost.
    carrier.terminals[0].requested_rate = 0;
    carrier.terminals[0].smoothed = 0.0;
    let has = |carrier: &mut Carrier, at: u64| {
        carrier.advance(ms(at));
        carrier.terminals[0].block.0 < carrier.terminals[0].block.1
    };
    assert!(!has(&mut carrier, 629));
    assert!(has(&mut carrier, 630) && has(&mut carrier, 929));
    assert!(!has(&mut carrier, 930));
}

/// Requests of many terminals in few slots collide, are repeated, and all come through in the end: each packet is sent, and later than
/// without.
#[test]
fn lost_requests_are_repeated() {
    let contention = Some(ContentionSpec { kind: Access::Aloha, slots: 4, backoff: 8 });
    let ends = |contention| {
        let mut carrier = carrier(&CarrierSpec { contention, ..spec() }, &vec![terminal(); 10]);
        (0..10).for_each(|place| carrier.came(ms(1), place, 1000));
        let mut now = ms(1);
        let mut left = [Duration::from_millis(1); 10];
        let mut ends = [None; 10];
        while ends.contains(&None) {
            for place in (0..10).filter(|place| ends[*place].is_none()).collect::<Vec<_>>() {
                if let Turn::Ends(at) = carrier.serve(now, place, &mut left[place]) {
                    ends[place] = Some(at);
                }
            }
            now = carrier.boundary(carrier.next);
            assert!(now < ms(120_000));
        }
        ends.map(Option::unwrap)
    };
    let alone = ends(None);
    assert!(alone.iter().zip(631..).all(|(end, at)| *end == ms(at)));
    let late = ends(contention);
    // An answer that does not come is noticed 21 superframes after the request, which is then repeated.
    assert!(late.iter().any(|end| *end >= ms(30 + 21 * 30 + 600)));
}

#[test]
fn contention_follows_from_the_seed() {
    let contention = Some(ContentionSpec { kind: Access::Crdsa, slots: 16, backoff: 8 });
    let of = |seed| {
        let mut carrier = Carrier::new(&CarrierSpec { contention, ..spec() }, seed);
        (0..12).for_each(|_| {
            carrier.add(&terminal());
        });
        (0..12).for_each(|place| carrier.came(ms(1), place, 1000));
        carrier.advance(ms(30));
        carrier.requests.iter().map(|request| request.place).collect::<Vec<_>>()
    };
    assert_eq!(of(1), of(1));
    assert!((2..9).any(|seed| of(seed) != of(1)));
}

#[test]
fn settings_that_make_no_sense_are_named() {
    let mute = TerminalSpec { vbdc: false, ..terminal() };
    assert!(mute.check(&spec()).unwrap_err().1.contains("never send"));
    assert_eq!(mute.check(&CarrierSpec { free: true, ..spec() }), Ok(()));
    let greedy = TerminalSpec { cra: Some(kbps(9_000)), ..terminal() };
    assert_eq!(greedy.check(&spec()).unwrap_err().0, "cra");
    let constant = TerminalSpec { cra: Some(kbps(40)), vbdc: false, ..terminal() };
    assert_eq!((constant.most(&spec()), terminal().most(&spec())), (kbps(40), kbps(8_000)));
}
