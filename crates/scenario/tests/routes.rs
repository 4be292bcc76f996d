//! Routes: which links ways have, and what is refused.

use longhaul_scenario::{Network, Routed, Scenario, load};
use longhaul_units::{Duration, FlowId, Instant, LinkId};

const LINKS: &str = "[run]\nduration = \"100 s\"\n\
    [[link]]\nname = \"geo\"\nends = [\"left\", \"right\"]\nrate = \"10 Mbit/s\"\ndelay = \"250 ms\"\n\
    [[link]]\nname = \"fibre\"\nends = [\"right\", \"left\"]\nrate = \"10 Mbit/s\"\ndelay = \"10 ms\"\n\
    [[link]]\nname = \"on\"\nends = [\"right\", \"end\"]\nrate = \"10 Mbit/s\"\ndelay = \"1 ms\"\n\
    [[link]]\nname = \"direct\"\nends = [\"end\", \"left\"]\nrate = \"10 Mbit/s\"\ndelay = \"300 ms\"\n";
const FLOW: &str = "[[flow]]\nname = \"download\"\nfrom = \"left\"\nto = \"end\"\n";
const HOSTS: &str = "access = { rate = \"1 Gbit/s\", delay = \"1 ms\" }\n";

fn scenario(routes: &str, more: &str) -> Scenario {
    let text = format!("{LINKS}{routes}\n{FLOW}{more}");
    load(&text, "test", &[]).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn refusal(routes: &str, more: &str) -> String {
    let message = load(&format!("{LINKS}{FLOW}{more}{routes}\n"), "routes.toml", &[])
        .expect_err("must be refused")
        .to_string();
    assert!(message.lines().count() <= 12, "more than a glance:\n{message}");
    message
}

/// Names of links on the first flow's ways there and back, from each time (s) on.
fn epochs(routes: &str, more: &str) -> Vec<(u64, String, String)> {
    let network = Network::new(&scenario(routes, more));
    let names = |way: &[LinkId]| {
        way.iter().map(|link| network.links[*link].name.clone()).collect::<Vec<_>>().join(" ")
    };
    let seconds = |at: Instant| at.since(Instant::ZERO).as_nanos() / 1_000_000_000;
    network
        .epochs(FlowId(0))
        .iter()
        .map(|epoch| (seconds(epoch.from), names(epoch.forward), names(epoch.reverse)))
        .collect()
}

#[test]
fn a_route_has_its_links_between_its_ends_in_both_directions() {
    let there = |link: &str| format!("{link} on.forward");
    let back = |link: &str| format!("on.reverse {link}");
    assert_eq!(epochs("", ""), [(0, there("fibre.reverse"), back("fibre.forward"))]);
    assert_eq!(epochs("[[route]]\nvia = [\"geo\"]", ""), [(0, there("geo.forward"), back("geo.reverse"))]);
    // A way back of its own, and links in their order whichever way they were written.
    assert_eq!(
        epochs(
            "[[route]]\nat = \"5 s\"\nvia = [\"geo\"]\nway = \"reverse\"\n[[route]]\nat = \"9 s\"\nvia = [\"direct\"]",
            ""
        ),
        [
            (0, there("fibre.reverse"), back("fibre.forward")),
            (5, there("fibre.reverse"), back("geo.reverse")),
            (9, "direct.reverse".to_string(), "direct.forward".to_string()),
        ]
    );
    let all =
        "[[route]]\nat = \"9 s\"\nvia = [\"direct\"]\n[[route]]\nat = \"10 s\"\nvia = [\"on\", \"geo\"]";
    assert_eq!(epochs(all, "")[2], (10, there("geo.forward"), back("geo.reverse")));
}

#[test]
fn ways_that_come_again_are_kept_once() {
    let routes = "[[route]]\nevery = \"2 s\"\nvia = [\"geo\"]\n[[route]]\nat = \"1 s\"\nevery = \"2 s\"\nvia = [\"fibre\"]";
    let network = Network::new(&scenario(routes, ""));
    // At 1 s, 2 s and so on to 99 s.
    assert_eq!((network.routes.changes.len(), network.routes.lists.len()), (99, 2));
    let again: Vec<usize> = network.routes.changes.iter().take(4).map(|change| change.list).collect();
    assert_eq!(again, [0, 1, 0, 1]);
    assert!(network.routes.changes(&Routed::Flow(FlowId(0), 1)));
}

#[test]
fn a_route_is_for_the_flows_that_it_names() {
    let routes = "[[route]]\nvia = [\"geo\"]\nflows = [\"other\"]";
    let other = "[[flow]]\nname = \"other\"\nfrom = \"left\"\nto = \"right\"\n";
    let network = Network::new(&scenario(routes, other));
    let first = |flow: u32| network.links[network.flows[FlowId(flow)].forward[0]].name.clone();
    assert_eq!((first(0), first(1)), ("fibre.reverse".to_string(), "geo.forward".to_string()));
}

/// The same seed gives the same times, whatever other tables there are.
#[test]
fn random_times_follow_from_the_seed() {
    let routes = "[[route]]\nat = \"1 s\"\nevery = \"10 s\"\njitter = \"3 s\"\nvia = [\"geo\"]\n[[route]]\nat = \"6 s\"\nevery = \"10 s\"\nvia = [\"fibre\"]";
    let changes = |text: &str| Network::new(&scenario(text, "")).routes.changes;
    assert_eq!(changes(routes), changes(routes));
    let times: Vec<Duration> = changes(routes)
        .iter()
        .filter(|change| change.table == 0)
        .map(|change| change.at.since(Instant::ZERO))
        .collect();
    assert_eq!(times.len(), 10);
    assert!(times.iter().any(|at| at.as_nanos() % 1_000_000_000 != 0));
}

/// Between its nodes a middlebox that stands at two takes the new way too.
#[test]
fn the_connections_of_a_split_change_with_the_way_between_its_nodes() {
    let routes = "[[route]]\nat = \"5 s\"\nvia = [\"geo\"]";
    let split =
        format!("{HOSTS}[[middlebox]]\nname = \"pep\"\nkind = \"split\"\nat = \"left\"\npeer = \"right\"\n");
    let network = Network::new(&scenario(routes, &split));
    let [list] = &network.routes.lists[..] else { panic!("one change") };
    let between: Vec<&[LinkId]> = list
        .ways
        .iter()
        .filter(|(way, _)| matches!(way, Routed::Between(..)))
        .map(|(_, links)| &links[..])
        .collect();
    let names: Vec<&str> = between.iter().map(|links| &network.links[links[0]].name[..]).collect();
    assert_eq!(names, ["geo.forward", "geo.reverse"]);
}

#[test]
fn what_is_no_way_is_refused_with_its_line() {
    for (route, parts) in [
        ("via = []", &["via", "names no link"][..]),
        ("via = [\"geo\", \"moon\"]", &["there is no link \"moon\"", "geo, fibre, on, direct"]),
        ("via = [\"geos\"]", &["there is no link \"geos\"", "did you mean \"geo\""]),
        ("via = [\"geo\", \"fibre\"]", &["comes to a node again", "\"fibre\""]),
        ("via = [\"geo\", \"direct\", \"on\"]", &["comes to a node again"]),
        ("via = [\"geo\"]\nflows = [\"upload\"]", &["there is no flow \"upload\""]),
        ("via = [\"geo\"]\nevery = \"1 s\"\njitter = \"2 s\"", &["at most `every`"]),
        ("via = [\"geo\"]\ndrift = \"1 s\"", &["goes with `every`"]),
    ] {
        let message = refusal(&format!("[[route]]\n{route}"), "");
        let line = ["28", "29", "30"].iter().any(|line| message.contains(&format!("routes.toml:{line}:")));
        assert!(line, "no line:\n{message}");
        for part in parts {
            assert!(message.contains(part), "{part:?} is missing in:\n{message}");
        }
    }
    let apart = "[[link]]\nname = \"far\"\nends = [\"x\", \"y\"]\nrate = \"1 Mbit/s\"\ndelay = \"1 ms\"\n";
    let message = refusal("[[route]]\nvia = [\"geo\", \"far\"]", apart);
    assert!(
        message.contains("\"geo\" joins \"left\" and \"right\", and \"far\" \"x\" and \"y\""),
        "{message}"
    );
    let message = refusal("[[route]]\nvia = [\"far\"]", apart);
    assert!(message.contains("no flow goes over \"x\" and \"y\""), "{message}");
}

/// left to right is on the way to the end, and the way there by `direct` and back over `on` would come to `end` first.
#[test]
fn a_way_that_would_go_round_is_refused() {
    let flow = "[[flow]]\nname = \"short\"\nfrom = \"left\"\nto = \"right\"\n[[link]]\nname = \"loop\"\nends = [\"left\", \"end\"]\n\
                rate = \"1 Mbit/s\"\ndelay = \"1 s\"\n[[link]]\nname = \"back\"\nends = [\"end\", \"x\"]\nrate = \"1 Mbit/s\"\ndelay = \"1 s\"\n\
                [[link]]\nname = \"home\"\nends = [\"x\", \"right\"]\nrate = \"1 Mbit/s\"\ndelay = \"1 s\"\n";
    let message = refusal(
        "[[route]]\nat = \"5 s\"\nvia = [\"loop\", \"back\", \"home\"]\nflows = [\"download\"]",
        flow,
    );
    assert!(message.contains("at 5 s packets of \"download\" would come to a node twice"), "{message}");
}

/// What has the state of connections stays on their way.
#[test]
fn flows_that_leave_a_middlebox_are_refused() {
    let pep = format!("{HOSTS}[[middlebox]]\nname = \"pep\"\nkind = \"split\"\nat = \"right\"\n");
    let message = refusal("[[route]]\nat = \"5 s\"\nvia = [\"direct\"]", &pep);
    assert!(message.contains("at 5 s packets of \"download\" leave the middlebox \"pep\""), "{message}");
    let start = "[[route]]\nvia = [\"direct\"]\n[[route]]\nat = \"5 s\"\nvia = [\"fibre\", \"on\"]\n";
    let other = format!("{pep}[[flow]]\nname = \"other\"\nfrom = \"left\"\nto = \"end\"\n{HOSTS}");
    let message = refusal(&start.replace("[[route]]\nvia", "[[route]]\nflows = [\"download\"]\nvia"), &other);
    assert!(message.contains("come to the middlebox \"pep\""), "{message}");
    // Ways that change between its nodes stay at them.
    load(&format!("{LINKS}[[route]]\nat = \"5 s\"\nvia = [\"geo\"]\n{FLOW}{pep}"), "test", &[]).unwrap();
}
