//! Links that share a carrier, in whole runs.

use longhaul_results::FlowSummary;
use longhaul_sim::{Outcome, RunOptions, load, simulate};

const CARRIER: &str =
    "[[carrier]]\nname = \"return\"\nrate = \"8 Mbit/s\"\nsuperframe = \"30 ms\"\ndelay = \"600 ms\"\n";

/// A terminal at a hub; what it has on the carrier besides the name.
fn terminal(name: &str, more: &str) -> String {
    format!(
        "[[link]]\nname = \"{name}\"\nends = [\"{name}\", \"hub\"]\ndelay = \"250 ms\"\nqueue = \"1000 packets\"\n\
         forward = {{ carrier = {{ name = \"return\"{more} }} }}\nreverse = {{ rate = \"8 Mbit/s\" }}\n"
    )
}

fn run(duration: &str, parts: &[String]) -> Outcome {
    let text = format!("[run]\nduration = \"{duration}\"\nsample = \"1 s\"\n{CARRIER}{}", parts.concat());
    let scenario = load(&text, "test", &[]).unwrap_or_else(|error| panic!("{error}\n{text}"));
    simulate(&scenario, RunOptions::default()).unwrap()
}

/// Datagrams of 1500 bytes at more than a terminal can send.
fn flood(name: &str) -> String {
    format!(
        "[[flow]]\nname = \"{name}\"\nfrom = \"{name}\"\nto = \"hub\"\ntransport = \"udp\"\n\
         app = {{ kind = \"cbr\", rate = \"9 Mbit/s\", message = \"1472 B\" }}\n"
    )
}

fn metric(flow: &FlowSummary, name: &str) -> f64 {
    flow.metrics.get(name).unwrap_or_else(|| panic!("no {name}"))
}

/// As on a link of its own with capacity on request (`demand`): the SYN comes at 250.1 ms, the SYN-ACK is asked for at 270 ms, assigned at
/// 870 ms and back at 1120.1 ms; the data take 1.5 ms and 250 ms.
#[test]
fn a_terminal_alone_waits_as_with_capacity_on_request() {
    let flow = "[[flow]]\nfrom = \"hub\"\nto = \"ship\"\napp = { kind = \"bulk\", size = \"1460 B\" }\ntcp = { mss = \"1460 B\" }\n";
    let summary = run("5 s", &[terminal("ship", ""), flow.to_string()]).summary;
    let took = metric(&summary.flows[0], "completion_time_s");
    assert!((took - 1.3716).abs() < 2e-4, "{took}");
}

/// Terminals that always have data share by weight, whatever their number of flows, and together have what the carrier has, in each second and
/// never more.
#[test]
fn full_terminals_share_by_weight_and_never_have_more_than_the_carrier() {
    let mut twice = flood("b");
    twice.push_str(&flood("b").replace("name = \"b\"", "name = \"b-2\""));
    let outcome = run("60 s", &[terminal("a", ""), terminal("b", ", weight = 3"), flood("a"), twice]);
    let at = |second: usize| -> f64 {
        let rows = outcome.tables.links.iter().filter(|row| row.link % 2 == 0);
        rows.filter(|row| (row.time_s - second as f64).abs() < 1e-6).map(|row| row.throughput_bps).sum()
    };
    for second in 1..=60 {
        assert!(at(second) <= 8e6 + 1.0, "{second} s: {}", at(second));
        // Two superframes of each second are cut by its ends.
        assert!(second < 3 || at(second) > 0.99 * 8e6, "{second} s: {}", at(second));
    }
    let shares: Vec<f64> = outcome
        .summary
        .links
        .iter()
        .step_by(2)
        .map(|link| link.metrics.get("throughput_bps").unwrap())
        .collect();
    assert!((shares[1] / shares[0] / 3.0 - 1.0).abs() < 0.02, "{shares:?}");
}

/// Equal shares of ideals count the other terminal too: of 8 Mbit/s three quarters for two flows, and a quarter for one.
#[test]
fn ideals_count_the_other_terminals() {
    let upload = |name: &str, from: &str| {
        format!(
            "[[flow]]\nname = \"{name}\"\nfrom = \"{from}\"\nto = \"hub\"\n\
             tcp = {{ congestion = {{ kind = \"fixed\", window = \"4 MB\" }}, established = true }}\n"
        )
    };
    let flows = [upload("a", "a"), upload("b", "b"), upload("b-2", "b")].concat();
    let summary = run("60 s", &[terminal("a", ""), terminal("b", ", weight = 3"), flows]).summary;
    let active: Vec<f64> = summary.links.iter().step_by(2).map(|link| link.active_flows).collect();
    assert!((active[0] - 4.0).abs() < 0.2 && (active[1] - 8.0 / 3.0).abs() < 0.2, "{active:?}");
}

/// Constant capacity is there at once and never grows; the carrier's rest is of no use to it.
#[test]
fn a_constant_rate_is_what_it_is() {
    let constant = terminal("a", ", cra = \"400 kbit/s\", vbdc = false");
    let summary = run("60 s", &[constant, flood("a")]).summary;
    let (rate, carried) =
        (summary.links[0].rate_bps, summary.links[0].metrics.get("throughput_bps").unwrap());
    assert!((rate - 400e3).abs() < 1.0);
    assert!((carried / 400e3 - 1.0).abs() < 0.01, "{carried}");
}

/// Packets that a discipline drops after it has taken them in are requested no more, and all are accounted for. One that keeps packets for a
/// shorter time than a request takes (CoDel with its target of 5 ms) leaves a part of what was assigned unused.
#[test]
fn other_disciplines_hold_their_packets_too() {
    for (queue, least, most) in [
        ("kind = \"fq_codel\"", 0.4, 0.8),
        ("kind = \"fq_codel\", target = \"1 s\", interval = \"2 s\", limit = \"2000 packets\"", 0.95, 1.0),
        (
            "kind = \"red\", limit = \"2000 packets\", min_threshold = \"700 packets\", max_threshold = \"1500 packets\"",
            0.9,
            1.0,
        ),
        ("kind = \"head_drop\", limit = \"1000 packets\"", 0.95, 1.0),
    ] {
        let ship = terminal("a", "").replace("\"1000 packets\"", &format!("{{ {queue} }}"));
        let outcome = run("30 s", &[ship, flood("a")]);
        let of_link = |name: &str| outcome.summary.links[0].metrics.get(name).unwrap();
        let share = of_link("throughput_bps") / 8e6;
        assert!((least..=most).contains(&share), "{queue}: {share}");
        assert!(of_link("drops_queue") > 0.0);
        let inside = of_link("arrivals") - of_link("transmitted_packets") - of_link("drops_queue");
        assert!((0.0..=2000.0).contains(&inside), "{queue}: {inside}");
    }
}

/// With four slots for the first requests of twenty terminals answers come late, by 0.63 s for each lost request, and they come.
#[test]
fn first_requests_may_collide() {
    let parts: Vec<String> = (0..20)
        .flat_map(|number| {
            let name = format!("t{number}");
            let flow = format!(
                "[[flow]]\nname = \"{name}\"\nfrom = \"{name}\"\nto = \"hub\"\napp = {{ kind = \"bulk\", size = \"1 kB\" }}\n"
            );
            [terminal(&name, ""), flow]
        })
        .collect();
    let mean = |contention: &str| {
        let text = format!("[run]\nduration = \"120 s\"\n{CARRIER}{contention}{}", parts.concat());
        let summary = simulate(&load(&text, "test", &[]).unwrap(), RunOptions::default()).unwrap().summary;
        let took: f64 = summary.flows.iter().map(|flow| metric(flow, "completion_time_s")).sum();
        took / summary.flows.len() as f64
    };
    let (alone, crdsa) = (mean(""), mean("contention = { kind = \"crdsa\", slots = 100 }\n"));
    let crowded = mean("contention = { kind = \"aloha\", slots = 4 }\n");
    assert!((crdsa / alone - 1.0).abs() < 0.02, "{alone} {crdsa}");
    assert!(crowded > alone + 0.63, "{alone} {crowded}");
}

#[test]
fn what_makes_no_sense_is_refused() {
    let refusal = |parts: &[String]| {
        let text = format!("[run]\nduration = \"5 s\"\n{}", parts.concat());
        load(&text, "test", &[]).expect_err("must be refused").to_string()
    };
    let says = |message: String, part: &str| assert!(message.contains(part), "{message}");
    let carrier = CARRIER.to_string();
    let one = |more: &str| [carrier.clone(), terminal("a", more), flood("a")];
    says(refusal(&[terminal("a", ""), flood("a")]), "there is no carrier \"return\"");
    says(
        refusal(&[carrier.clone(), terminal("a", "").replace("\"return\"", "\"retrun\""), flood("a")]),
        "did you mean",
    );
    says(refusal(&one(", vbdc = false")), "can never send");
    says(refusal(&one(", cra = \"9 Mbit/s\"")), "more than the carrier has");
    let half = ", cra = \"5 Mbit/s\"";
    says(
        refusal(&[carrier.clone(), terminal("a", half), terminal("b", half), flood("a")]),
        "without a request (cra)",
    );
    says(
        refusal(&[carrier.clone(), CARRIER.replace("return", "spare"), terminal("a", ""), flood("a")]),
        "no link is on it",
    );
    let with =
        |setting: &str| terminal("a", "").replace("forward = { ", &format!("forward = {{ {setting}, "));
    says(refusal(&[carrier.clone(), with("rate = \"1 Mbit/s\""), flood("a")]), "leave out its own rate");
    says(
        refusal(&[carrier.clone(), with("demand = { delay = \"1 s\" }"), flood("a")]),
        "leave out its own rate",
    );
    let held = "outages = [{ start = \"1 s\", duration = \"1 s\", mode = \"hold\" }]";
    says(refusal(&[carrier.clone(), with(held), flood("a")]), "write mode = \"drop\"");
    let overhead = flood("a") + "send_overhead = \"1 ms\"\n";
    says(refusal(&[carrier, terminal("a", ""), overhead]), "access links of its own");
}
