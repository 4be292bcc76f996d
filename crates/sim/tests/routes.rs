//! Ways that change: arrivals around the change by closed form, what overtakes what, what is lost, and each way by itself.

use longhaul_sim::{Outcome, RunOptions, load, simulate};
use proptest::prelude::*;

fn outcome(text: &str) -> Outcome {
    run(text, RunOptions::default())
}

fn run(text: &str, options: RunOptions<'_>) -> Outcome {
    let scenario = load(text, "test", &[]).unwrap_or_else(|error| panic!("{error}\n{text}"));
    simulate(&scenario, options).unwrap()
}

fn flow(outcome: &Outcome, name: &str) -> f64 {
    outcome.summary.flows[0].metrics.get(name).unwrap_or_else(|| panic!("no {name}"))
}

fn link(outcome: &Outcome, link: &str, name: &str) -> f64 {
    let found = outcome.summary.links.iter().find(|one| one.name == link).unwrap();
    found.metrics.get(name).unwrap_or_else(|| panic!("no {name}"))
}

fn events(outcome: &Outcome, kind: &str) -> usize {
    outcome.tables.events.iter().filter(|event| event.kind == kind).count()
}

/// A satellite and a fibre between `a` and `b`, with these routes.
fn two_ways(routes: &str, flow: &str) -> String {
    format!(
        "[run]\nduration = \"10 s\"\n[[link]]\nname = \"geo\"\nends = [\"a\", \"b\"]\nrate = \"10 Mbit/s\"\ndelay = \"251 ms\"\n\
         [[link]]\nname = \"fibre\"\nends = [\"a\", \"b\"]\nrate = \"10 Mbit/s\"\ndelay = \"10 ms\"\n{routes}\n\
         [[flow]]\nname = \"flow\"\nfrom = \"a\"\nto = \"b\"\n{flow}\n"
    )
}

/// A packet of 1028 bytes each 8 ms from 0 on takes 822.4 us to be sent at 10 Mbit/s.
const EACH_8_MS: &str =
    "transport = \"udp\"\napp = { kind = \"cbr\", rate = \"1 Mbit/s\", message = \"1000 B\" }";
const SENDING_S: f64 = 0.000_822_4;
const TO_FIBRE: &str = "[[route]]\nvia = [\"geo\"]\n[[route]]\nat = \"5 s\"\nvia = [\"fibre\"]";

/// Without a route, packets take the shortest way; with one from the start on, the links that it names.
#[test]
fn a_route_from_the_start_is_the_way() {
    for (routes, delay) in [("", 0.010), ("[[route]]\nvia = [\"geo\"]", 0.251)] {
        let outcome = outcome(&two_ways(routes, EACH_8_MS));
        for name in ["one_way_delay_mean_s", "one_way_delay_max_s"] {
            assert!((flow(&outcome, name) - delay - SENDING_S).abs() < 1e-9, "{name}");
        }
        assert_eq!(events(&outcome, "route"), 0);
    }
}

/// Packets 0 to 624 leave before 5 s and take 251 ms, those from 5 s on take 10 ms. The first of these comes at 5.010 8 s, before those
/// that left by satellite later than 4.759 s: packets 595 to 624.
#[test]
fn packets_on_the_old_way_arrive_and_are_overtaken() {
    let outcome = outcome(&two_ways(TO_FIBRE, EACH_8_MS));
    assert_eq!(flow(&outcome, "reordered_packets"), 30.0);
    // The last to arrive was sent at 9.984 s: packet 1248.
    assert_eq!(flow(&outcome, "received_packets"), 1249.0);
    let mean = (625.0 * 0.251 + 624.0 * 0.010) / 1249.0 + SENDING_S;
    assert!((flow(&outcome, "one_way_delay_mean_s") - mean).abs() < 1e-9);
    assert_eq!(flow(&outcome, "lost_packets"), 0.0);
    assert_eq!(
        (link(&outcome, "geo.forward", "arrivals"), link(&outcome, "fibre.forward", "arrivals")),
        (625.0, 625.0)
    );
    assert_eq!(events(&outcome, "route"), 1);
}

/// To the longer way nothing overtakes anything, and for 241 ms nothing comes.
#[test]
fn a_longer_way_keeps_the_order() {
    let routes = "[[route]]\nat = \"5 s\"\nvia = [\"geo\"]";
    let outcome = outcome(&two_ways(routes, EACH_8_MS));
    assert_eq!((flow(&outcome, "reordered_packets"), flow(&outcome, "lost_packets")), (0.0, 0.0));
    // From 5 s on those that left 251.8 ms before the end have come: packets 625 to 1218.
    let mean = (625.0 * 0.010 + 594.0 * 0.251) / 1219.0 + SENDING_S;
    assert_eq!(flow(&outcome, "received_packets"), 1219.0);
    assert!((flow(&outcome, "one_way_delay_mean_s") - mean).abs() < 1e-9);
}

/// What left by satellite later than 4.748 2 s had not come by 5 s: packets 594 to 624.
#[test]
fn packets_in_flight_are_lost_where_they_are_said_to_be() {
    let routes = TO_FIBRE.replace("via = [\"fibre\"]", "via = [\"fibre\"]\nin_flight = \"lost\"");
    let outcome = outcome(&two_ways(&routes, EACH_8_MS));
    assert_eq!(flow(&outcome, "lost_packets"), 31.0);
    assert_eq!(events(&outcome, "left_behind"), 31);
    assert_eq!(flow(&outcome, "reordered_packets"), 0.0);
    assert_eq!(flow(&outcome, "received_packets"), 1249.0 - 31.0);
    // The link has carried them: they are lost behind it.
    assert_eq!(link(&outcome, "geo.forward", "drops_loss"), 0.0);
}

/// A way that comes back: 1 s by satellite, 1 s by fibre.
#[test]
fn a_way_that_changes_again_and_again() {
    let routes = "[[route]]\nvia = [\"geo\"]\nevery = \"2 s\"\n[[route]]\nat = \"1 s\"\nevery = \"2 s\"\nvia = [\"fibre\"]";
    let outcome = outcome(&two_ways(routes, EACH_8_MS));
    assert_eq!(events(&outcome, "route"), 9);
    assert_eq!(
        (link(&outcome, "geo.forward", "arrivals"), link(&outcome, "fibre.forward", "arrivals")),
        (625.0, 625.0)
    );
    // Five times the packets of the last 241 ms before it: as above, the grid of 8 ms is met at each second.
    assert_eq!(flow(&outcome, "reordered_packets"), 5.0 * 30.0);
}

/// Data by satellite, ACKs by fibre: the round trip is the sum, 261 ms and two times of sending, and each link has one way only.
#[test]
fn each_way_has_its_own_links() {
    let routes = "[[route]]\nvia = [\"geo\"]\n[[route]]\nat = \"4 s\"\nway = \"reverse\"\nvia = [\"fibre\"]";
    let messages = "app = { kind = \"messages\", size = \"1000 B\", gap = \"8 ms\" }\ntcp = { ack_every = 1, nagle = false }";
    let text = two_ways(routes, messages).replace("[run]\n", "[run]\nwarmup = \"5 s\"\n");
    let outcome = outcome(&text);
    let rtt = 0.261 + 1040.0 * 8.0 / 10e6 + 40.0 * 8.0 / 10e6;
    for name in ["rtt_mean_s", "rtt_min_s"] {
        assert!((flow(&outcome, name) - rtt).abs() < 1e-6, "{name}: {}", flow(&outcome, name));
    }
    for (name, busy) in
        [("geo.forward", true), ("geo.reverse", false), ("fibre.forward", false), ("fibre.reverse", true)]
    {
        assert_eq!(link(&outcome, name, "arrivals") > 0.0, busy, "{name}");
    }
}

/// On the way from `a` to `b` and on to `c`; from 5 s on directly to `c`. What is on the first link by then goes on from `b` as before.
#[test]
fn packets_go_on_from_nodes_that_the_new_way_does_not_pass() {
    let text = "[run]\nduration = \"10 s\"\n[[link]]\nname = \"ab\"\nends = [\"a\", \"b\"]\nrate = \"10 Mbit/s\"\ndelay = \"100 ms\"\n\
         [[link]]\nname = \"bc\"\nends = [\"b\", \"c\"]\nrate = \"10 Mbit/s\"\ndelay = \"100 ms\"\n\
         [[link]]\nname = \"ac\"\nends = [\"c\", \"a\"]\nrate = \"10 Mbit/s\"\ndelay = \"300 ms\"\n\
         [[route]]\nat = \"5 s\"\nvia = [\"ac\"]\n[[flow]]\nname = \"flow\"\nfrom = \"a\"\nto = \"c\"\n";
    let outcome = outcome(&format!("{text}{EACH_8_MS}\n"));
    assert_eq!((flow(&outcome, "lost_packets"), flow(&outcome, "reordered_packets")), (0.0, 0.0));
    assert_eq!(link(&outcome, "bc.forward", "arrivals"), 625.0);
    assert_eq!(link(&outcome, "ac.reverse", "arrivals"), 625.0);
}

/// What private links at both ends have of a change: nothing, as the long way of computing it finds too.
#[test]
fn serving_ahead_changes_nothing() {
    let routes = "[[route]]\nvia = [\"geo\"]\nevery = \"2 s\"\n[[route]]\nat = \"1 s\"\nevery = \"2 s\"\njitter = \"300 ms\"\nvia = [\"fibre\"]\nflows = [\"flow\"]\nin_flight = \"lost\"";
    let flows = "count = 3\naccess = { rate = \"100 Mbit/s\", delay = \"1 ms\" }\n[[flow]]\nname = \"others\"\ncount = 3\nfrom = \"a\"\nto = \"b\"\n\
         access = { rate = \"100 Mbit/s\", delay = \"1 ms\" }";
    let text = two_ways(routes, flows);
    let [quick, slow] =
        [true, false].map(|serve_ahead| run(&text, RunOptions { serve_ahead, ..RunOptions::default() }));
    assert_eq!(serde_json::to_string(&quick.summary).unwrap(), serde_json::to_string(&slow.summary).unwrap());
    assert_eq!(quick.tables.events, slow.tables.events);
    assert!(quick.events < slow.events);
    // Nine changes of three flows; those of the second group stay on the satellite, where all are from the start on.
    let routed = quick.tables.events.iter().filter(|event| event.kind == "route");
    let routed: Vec<i32> = routed.map(|event| event.flow).collect();
    assert_eq!(routed.len(), 27);
    assert!(routed.iter().all(|flow| (0..3).contains(flow)));
}

/// A network of some nodes, ways through it from the first to the last node, and when they begin.
#[derive(Clone, Debug)]
struct Random {
    /// Ends and delay in ms of each link.
    links: Vec<(usize, usize, u64)>,
    /// Time in ms, way, and whether what is in flight is lost.
    routes: Vec<(u64, Vec<usize>, bool)>,
}

/// All ways without a circle from node 0 to `last`.
fn ways(links: &[(usize, usize, u64)], last: usize) -> Vec<Vec<usize>> {
    let mut found = vec![];
    let mut open = vec![(0, vec![], vec![0])];
    while let Some((node, way, seen)) = open.pop() {
        if node == last {
            found.push(way);
            continue;
        }
        for (number, (a, b, _)) in links.iter().enumerate() {
            let to = if *a == node { *b } else { *a };
            if (*a == node || *b == node) && !seen.contains(&to) {
                open.push((to, [&way[..], &[number]].concat(), [&seen[..], &[to]].concat()));
            }
        }
    }
    found
}

fn network() -> impl Strategy<Value = Random> {
    let link = |nodes: usize| {
        (0..nodes, 1..nodes, 1..400u64).prop_map(move |(a, step, delay)| (a, (a + step) % nodes, delay))
    };
    (3..6usize).prop_flat_map(move |nodes| {
        let chain: Vec<_> = (0..nodes - 1).map(|node| (node, node + 1, 37 + 11 * node as u64)).collect();
        (
            prop::collection::vec(link(nodes), 1..5),
            prop::collection::vec((1..4000u64, 0..1000usize, any::<bool>()), 1..6),
        )
            .prop_map(move |(more, routes)| {
                let links = [&chain[..], &more[..]].concat();
                let all = ways(&links, nodes - 1);
                let route = |(at, way, lost): (u64, usize, bool)| (at, all[way % all.len()].clone(), lost);
                let first = (0, all[routes[0].1 / 7 % all.len()].clone(), false);
                let mut routes: Vec<_> = routes.into_iter().map(route).collect();
                routes.sort_by_key(|(at, ..)| *at);
                let mut routes = [vec![first], routes].concat();
                // A route that is there already is no change.
                routes.dedup_by(|next, before| next.1 == before.1);
                Random { links, routes }
            })
    })
}

/// The delay of a link: sums over different links differ by 1 us and more, so that no packet waits for another.
fn delay_us(link: usize, delay_ms: u64) -> u64 {
    delay_ms * 1000 + (1 << link)
}

/// The way of one packet by the tables of nodes: when it arrives, in ns; `None` if it is lost.
fn walk(network: &Random, sent: u64, last: usize) -> Option<u64> {
    let nodes_of = |way: &[usize]| {
        way.iter()
            .scan(0, |node, link| {
                let (a, b, _) = network.links[*link];
                let from = *node;
                *node = if a == from { b } else { a };
                Some((from, *link))
            })
            .collect::<Vec<_>>()
    };
    let begun = |now: u64| network.routes.iter().rev().filter(move |(at, ..)| at * 1_000_000 <= now);
    let (mut now, mut node, mut came_by) = (sent, 0, None);
    loop {
        // Somebody must be at the end of a link: its direction is on the way, or the last change lost nothing.
        let (_, way, lost) = begun(now).next().expect("the first route holds from the start on");
        if *lost && came_by.is_some_and(|hop| !nodes_of(way).contains(&hop)) {
            return None;
        }
        if node == last {
            return Some(now);
        }
        let mut next = None;
        for (_, way, lost) in begun(now) {
            // What an earlier change has lost stays lost where a later one did not touch the table.
            if *lost && came_by.is_some_and(|hop| !nodes_of(way).contains(&hop)) {
                return None;
            }
            next = nodes_of(way).into_iter().find(|(from, _)| *from == node).map(|(_, link)| link);
            if next.is_some() {
                break;
            }
        }
        let link = next.expect("every node that a packet comes to has been on a way");
        let (a, b, delay) = network.links[link];
        came_by = Some((node, link));
        node = if a == node { b } else { a };
        // 128 bytes at 8 Gbit/s.
        now += delay_us(link, delay) * 1_000 + 128;
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    /// Each packet takes the way that the tables of the nodes give it at the time at which it is there, in any network.
    #[test]
    fn packets_follow_the_tables_of_the_nodes(network in network()) {
        let last = network.links.iter().map(|(a, b, _)| *a.max(b)).max().unwrap();
        let mut text = "[run]\nduration = \"9 s\"\n".to_string();
        for (number, (a, b, delay)) in network.links.iter().enumerate() {
            text += &format!("[[link]]\nname = \"l{number}\"\nends = [\"n{a}\", \"n{b}\"]\nrate = \"8 Gbit/s\"\ndelay = \"{} us\"\n", delay_us(number, *delay));
        }
        for (at, way, lost) in &network.routes {
            let via: Vec<String> = way.iter().map(|link| format!("\"l{link}\"")).collect();
            let lost = if *lost { "in_flight = \"lost\"\n" } else { "" };
            text += &format!("[[route]]\nat = \"{at} ms\"\nvia = [{}]\n{lost}", via.join(", "));
        }
        // Off the grid of milliseconds, so that no packet is anywhere at the time of a change.
        text += &format!(
            "[[flow]]\nname = \"flow\"\nfrom = \"n0\"\nto = \"n{last}\"\ntransport = \"udp\"\nstart = \"333333 ns\"\nstop = \"5 s\"\n\
             app = {{ kind = \"cbr\", rate = \"100 kbit/s\", message = \"100 B\" }}\n"
        );
        let outcome = outcome(&text);
        let sent = flow(&outcome, "sent_packets") as u64;
        let arrivals: Vec<Option<u64>> =
            (0..sent).map(|number| walk(&network, 333_333 + number * 8_000_000, last).map(|at| at - 333_333 - number * 8_000_000)).collect();
        let delays: Vec<f64> = arrivals.iter().flatten().map(|delay| *delay as f64 / 1e9).collect();
        prop_assert_eq!(flow(&outcome, "received_packets"), delays.len() as f64);
        prop_assert_eq!(flow(&outcome, "lost_packets"), (sent as usize - delays.len()) as f64);
        prop_assert!((flow(&outcome, "one_way_delay_mean_s") - delays.iter().sum::<f64>() / delays.len() as f64).abs() < 1e-9);
        prop_assert!((flow(&outcome, "one_way_delay_max_s") - delays.iter().copied().fold(0.0, f64::max)).abs() < 1e-9);
        let mut in_order: Vec<(u64, u64)> =
            (0..sent).zip(&arrivals).filter_map(|(number, delay)| Some((number * 8_000_000 + (*delay)?, number))).collect();
        in_order.sort_unstable();
        let mut most = 0;
        let late = in_order.iter().filter(|(_, number)| { let late = *number < most; most = most.max(*number); late }).count();
        prop_assert_eq!(flow(&outcome, "reordered_packets"), late as f64);
    }
}
