//! Two nodes with TLS 1.3 and raw public keys.
#![cfg(feature = "tls")]

use crate::common::*;
use longhaul_hop::tls::{Identity, PublicKey, Trusted};
use longhaul_hop::{Config, Event, Session};
use longhaul_units::Duration;
use std::sync::Arc;

const RTT: Duration = Duration::from_millis(20);

fn identity() -> Arc<Identity> {
    Arc::new(Identity::from_pkcs8(&Identity::generate_pkcs8().unwrap()).unwrap())
}

fn with(mut config: Config, identity: &Arc<Identity>, peers: &[PublicKey]) -> Config {
    config.session = Session::Tls { identity: Arc::clone(identity), peers: peers.iter().copied().collect() };
    config.rates.send = Some(mbit(50.0));
    config
}

fn world(terminal_shows: &Arc<Identity>, hub_expects: PublicKey) -> World {
    let hub_identity = identity();
    let [terminal, hub] = configs();
    let terminal = with(terminal, terminal_shows, &[hub_identity.public_key()]);
    let hub = with(hub, &hub_identity, &[hub_expects]);
    World::new([terminal, hub], [link(mbit(50.0), RTT, None), link(mbit(50.0), RTT, random(0.02))], 1)
}

#[test]
fn peers_with_the_right_keys_are_up_and_carry_bytes() {
    let own = identity();
    let mut world = world(&own, own.public_key());
    let up = world.warm_up();
    let job = world.add(Job::new(up, 300, 3_000_000));
    world.run(up + Duration::from_secs(20));
    assert!(world.seconds(job) < 2.0, "{:?}", world.ends[0].outcomes);
    world.check_ledgers();
    let key = world.ends[1].events.iter().find_map(|(_, event)| match event {
        Event::Up { key, .. } => Some(*key),
        _ => None,
    });
    assert_eq!(key, Some(Some(own.public_key().0)));
}

/// Datagrams, and their payload in bytes, that each node of an idle hop sends in this time once it is up, over 650 ms.
fn idle([terminal, hub]: [Config; 2], time: Duration) -> [(u64, u64); 2] {
    let (own, other) = (identity(), identity());
    let terminal = with(terminal, &own, &[other.public_key()]);
    let hub = with(hub, &other, &[own.public_key()]);
    let rtt = Duration::from_millis(650);
    let mut world =
        World::new([terminal, hub], [link(mbit(50.0), rtt, None), link(mbit(50.0), rtt, None)], 1);
    let up = world.warm_up();
    let before = world.ends.each_ref().map(|end| end.sent);
    world.run_until(up + time);
    [0, 1].map(|end| {
        let (datagrams, payload) = world.ends[end].sent;
        (datagrams - before[end].0, payload - before[end].1)
    })
}

/// Over a long round trip the hub's packets had no ACK after the handshake, so that it looked for the end of an outage four times a second.
#[test]
fn an_idle_hop_costs_its_keep_alives_and_no_more() {
    let mut configs = configs();
    for config in &mut configs {
        config.keep_alive = Duration::from_secs(25);
    }
    let sent = idle(configs, Duration::from_secs(100)).map(|(datagrams, _)| datagrams);
    // Four of each node's own, and as many ACKs; some follow the handshake.
    assert!(sent.iter().all(|sent| (8..=14).contains(sent)), "{sent:?}");
}

/// A terminal on a link that is paid by the byte keeps the hop alive alone: a day costs no more than half a megabyte, also over IPv6.
#[test]
fn an_idle_day_that_is_paid_by_the_byte_costs_half_a_megabyte() {
    let [mut terminal, mut hub] = configs();
    (terminal.keep_alive, terminal.alone) = (Duration::from_secs(30), true);
    hub.keep_alive = Duration::from_secs(2);
    let sent = idle([terminal, hub], Duration::from_secs(86_400));
    let datagrams = sent.map(|(datagrams, _)| datagrams);
    assert!(
        datagrams.iter().all(|n| (2880..2900).contains(n)),
        "one each 30 s, and an ACK for each: {datagrams:?}"
    );
    let day: u64 = sent.iter().map(|(datagrams, payload)| payload + 48 * datagrams).sum();
    assert!((300_000..=500_000).contains(&day), "{day} bytes");
}

#[test]
fn a_stranger_is_never_up() {
    let mut world = world(&identity(), identity().public_key());
    let later = world.now + Duration::from_secs(5);
    world.run_until(later);
    let up = |(_, event): &(_, Event)| matches!(event, Event::Up { .. });
    assert!(!world.ends.iter().flat_map(|end| &end.events).any(up));
    assert!(world.ends[0].events.iter().any(|(_, event)| matches!(event, Event::Down { .. })));
    assert!(world.ends[1].node.peers().next().is_none());
}

#[test]
fn a_key_that_is_taken_from_the_list_opens_no_new_connection() {
    let (own, hub_identity) = (identity(), identity());
    let trusted: Trusted = [own.public_key()].into_iter().collect();
    let [terminal, mut hub] = configs();
    let terminal = with(terminal, &own, &[hub_identity.public_key()]);
    hub.session = Session::Tls { identity: hub_identity, peers: trusted.clone() };
    trusted.set([identity().public_key()]);
    let mut world =
        World::new([terminal, hub], [link(mbit(50.0), RTT, None), link(mbit(50.0), RTT, None)], 1);
    let later = world.now + Duration::from_secs(5);
    world.run_until(later);
    let up = |(_, event): &(_, Event)| matches!(event, Event::Up { .. });
    assert!(!world.ends.iter().flat_map(|end| &end.events).any(up), "it is revoked");
    trusted.set([own.public_key()]);
    let later = world.now + Duration::from_secs(30);
    world.run_until(later);
    assert!(world.ends.iter().all(|end| end.events.iter().any(up)), "it is listed again");
}

/// The sizes by which simulations take the place of TLS on the second carrier's connections.
#[test]
fn the_null_sessions_of_streams_are_as_long_as_those_of_tls() {
    use longhaul_hop::pool::null_tls::{FLIGHTS, MOST, RECORD};
    use rustls::{ClientConnection, Connection, ServerConnection};
    use std::io::Write;

    let ends = [identity(), identity()];
    let streams = |own: usize| {
        let other = [ends[1 - own].public_key()].into_iter().collect();
        longhaul_hop::tls::streams(&ends[own], &other, b"longhaul-hop-tcp").unwrap()
    };
    let name = rustls::pki_types::ServerName::from(std::net::IpAddr::from([0; 4]));
    let mut client: Connection = ClientConnection::new(Arc::new(streams(0).client), name).unwrap().into();
    let mut server: Connection = ServerConnection::new(Arc::new(streams(1).server)).unwrap().into();
    let mut flights = vec![];
    for _ in 0..2 {
        for client_sends in [true, false] {
            let [from, to] =
                if client_sends { [&mut client, &mut server] } else { [&mut server, &mut client] };
            let mut flight = vec![];
            while from.wants_write() {
                from.write_tls(&mut flight).unwrap();
            }
            to.read_tls(&mut &flight[..]).unwrap();
            to.process_new_packets().unwrap();
            flights.push(flight.len());
        }
    }
    assert!(!client.is_handshaking() && !server.is_handshaking());
    assert_eq!(flights, [FLIGHTS[0], FLIGHTS[1], FLIGHTS[2], 0]);
    let mut sealed = vec![];
    client.writer().write_all(&[1; MOST + 1]).unwrap();
    while client.wants_write() {
        client.write_tls(&mut sealed).unwrap();
    }
    assert_eq!(sealed.len(), MOST + 1 + 2 * RECORD);
}
