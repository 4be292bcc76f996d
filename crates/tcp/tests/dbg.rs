mod common;
use common::*;
use longhaul_segment::SeqNumber;
use longhaul_tcp::*;
use longhaul_units::Duration;
fn random(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}
#[test]
fn dbg() {
    let base = Config {
        mss: 1000,
        max_rto: Duration::from_secs(8),
        max_retransmissions: 100,
        max_syn_retransmissions: 100,
        nagle: false,
        restart_after_idle: false,
        delayed_ack: Some(ms(100)),
        initial_window: InitialWindow::Segments(4),
        ..Config::default()
    };
    let ca = Config {
        recovery: Recovery::Tahoe,
        clear_sack_on_timeout: true,
        offer_sack: true,
        max_burst: Some(3),
        ..base.clone()
    };
    let cb = Config { limited_transmit: false, timestamps: true, ecn: true, ..base };
    let mut state = 3393985994896708766u64;
    let loss = 28;
    let a = Connection::connect(ca, Reno::new(4), SeqNumber(0), ports(End::A));
    let b = Connection::listen(cb, Reno::new(4), SeqNumber(!0), ports(End::B));
    let mut world = World::new(a, b, ms(20)).scripted(move |_| {
        let mut copies = vec![];
        if random(&mut state) % 100 >= loss {
            copies.push(ms(20) + Duration::from_micros(random(&mut state) % 15_000));
        }
        if random(&mut state) % 100 < 5 {
            copies.push(ms(20 + random(&mut state) % 200));
        }
        copies
    });
    world.run_until(at_ms(45));
    world.b.write(25813);
    world.run_until(at_ms(45 + 1242));
    world.a.write(19861);
    while !world.a.state().is_synchronized() || !world.b.state().is_synchronized() {
        world.step(at_ms(10000000));
    }
    world.a.close();
    world.b.close();
    println!("{}", world.run_until_closed(at_ms(10_000_000)));
    for s in &world.log {
        println!(
            "{} {:?} {:?} seq {} ack {} len {} w {} {} {:?}",
            s.at,
            s.from,
            s.transmit.segment.flags,
            s.seq(),
            s.ack(),
            s.len(),
            s.transmit.segment.window,
            if s.dropped { "DROP" } else { "" },
            s.sack()
        );
    }
    println!("{:?}", world.events);
}
