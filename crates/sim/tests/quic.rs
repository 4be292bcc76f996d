//! QUIC flows: times that can be worked out on paper, results as for TCP, refusals.

use longhaul_results::{FlowSummary, Summary};
use longhaul_sim::{RunOptions, load, simulate};

/// Two nodes and a link of 10 Mbit/s with 50 ms each way, and flows.
fn scenario(link: &str, flows: &str) -> String {
    format!(
        "[run]\nduration = \"60 s\"\n[[link]]\nname = \"link\"\nends = [\"a\", \"b\"]\n{link}\n{}",
        flows.replace("[[flow]]", "[[flow]]\nfrom = \"a\"\nto = \"b\"\ntransport = \"quic\"")
    )
}

const LINK: &str = "rate = \"10 Mbit/s\"\ndelay = \"50 ms\"\nqueue = \"200 packets\"";

fn run(text: &str) -> Summary {
    let scenario = load(text, "test", &[]).unwrap_or_else(|error| panic!("{error}"));
    simulate(&scenario, RunOptions::default()).unwrap().summary
}

fn refused(text: &str) -> String {
    load(text, "test", &[]).expect_err("it cannot be").to_string()
}

fn metric(flow: &FlowSummary, name: &str) -> f64 {
    flow.metrics.get(name).unwrap_or_else(|| panic!("no {name} in {:?}", flow.metrics))
}

#[test]
fn a_transfer_takes_a_handshake_and_its_bytes() {
    let flow =
        |quic: &str| format!("[[flow]]\napp = {{ kind = \"bulk\", size = \"5 MB\" }}\nquic = {{ {quic} }}\n");
    for congestion in ["cubic", "bbr3", "quinn_cubic"] {
        let summary = run(&scenario(LINK, &flow(&format!("congestion = \"{congestion}\""))));
        let took = metric(&summary.flows[0], "completion_time_s");
        // One round trip, then 5 MB in packets of 1452 + 28 bytes with some 1415 of data, and half a round trip.
        let least = 0.1 + 5e6 * 8.0 / 10e6 * 1480.0 / 1420.0 + 0.05;
        assert!((least..least * 1.15).contains(&took), "{congestion}: {took} s, at least {least}");
        let flow = &summary.flows[0];
        assert_eq!((flow.variant, flow.congestion, flow.state.as_str()), ("quic", congestion, "Closed"));
        assert_eq!(metric(flow, "delivered_bytes"), 5e6);
        assert!(metric(flow, "rtt_min_s") >= 0.1 && metric(flow, "rtt_min_s") < 0.103);
        assert!((0.98..1.2).contains(&(metric(flow, "sent_packets") / (5e6 / 1415.0))));
        assert!(summary.warnings.is_empty(), "{:?}", summary.warnings);
    }
}

/// A handshake, then a request and its answer on a stream of their own each: one round trip, and the bytes. The answer to early
/// data is small: a server sends no more than three times what it has received before it has seen that the client's address is
/// real (RFC 9000 section 8.1).
#[test]
fn requests_take_a_round_trip_each() {
    let flow = |handshake: &str| {
        format!(
            "[[flow]]\napp = {{ kind = \"request\", response = \"2 kB\", requests = 20, think = \"1 s\" }}\nquic = {{ handshake = \
             \"{handshake}\" }}\n"
        )
    };
    for (handshake, first) in [("full", 0.2), ("resumed", 0.2), ("early_data", 0.1)] {
        let summary = run(&scenario(LINK, &flow(handshake)));
        let flow = &summary.flows[0];
        assert_eq!(metric(flow, "responses"), 20.0);
        let (median, most) = (metric(flow, "response_time_p50_s"), metric(flow, "response_time_max_s"));
        assert!((0.101..0.104).contains(&median), "{median}");
        // The first has the handshake before it.
        assert!((first + 0.001..first + 0.008).contains(&most), "{handshake}: {most}");
    }
}

#[test]
fn keystrokes_and_films_are_carried() {
    let flows = "[[flow]]\nname = \"keys\"\napp = { kind = \"keystrokes\", count = 50 }\n\
                 [[flow]]\nname = \"film\"\napp = { kind = \"video\", rate = \"1 Mbit/s\" }\n";
    let summary = run(&scenario(LINK, flows));
    assert_eq!(metric(&summary.flows[0], "responses"), 50.0);
    assert!(metric(&summary.flows[0], "response_time_p50_s") < 0.11);
    let goodput = metric(&summary.flows[1], "goodput_bps");
    assert!((0.7e6..1.4e6).contains(&goodput), "{goodput}");
}

/// Objects of a page are streams of one connection: no handshake for each, as with HTTP/3.
#[test]
fn pages_are_fetched_over_streams_of_one_connection() {
    let app = "app = { kind = \"web\", pages = 5, think = \"40 s\", document = \"20 kB\", objects = 10, object = \"5 kB\" }\n";
    let text = scenario(LINK, &format!("[[flow]]\n{app}")).replace("60 s", "300 s");
    let summary = run(&text);
    let flow = &summary.flows[0];
    assert_eq!((metric(flow, "pages"), metric(flow, "responses")), (5.0, 55.0));
    assert_eq!((metric(flow, "failed_responses"), metric(flow, "delivered_bytes")), (0.0, 5.0 * 70e3));
    // A pause of 40 s is longer than the idle timeout of 30 s: each page has a connection of its own, and its handshake. Then
    // the document in two round trips, six objects and four objects in one each.
    let median = metric(flow, "page_time_p50_s");
    assert!((0.45..0.75).contains(&median), "{median}");
    // Over TCP each object has a handshake, but also an initial window of its own.
    let tcp = run(&text.replace("transport = \"quic\"", ""));
    assert!(metric(&tcp.flows[0], "page_time_p50_s") > median + 0.08);
    let kept =
        run(&text.replace("transport = \"quic\"", "transport = \"quic\"\nquic = { keep_alive = \"10 s\" }"));
    assert!(metric(&kept.flows[0], "page_time_p50_s") < median - 0.09);
    assert!(summary.warnings.is_empty() && kept.warnings.is_empty(), "{:?}", summary.warnings);
}

#[test]
fn the_same_seed_gives_the_same_results_and_another_does_not() {
    let text = |seed: u64| {
        let link = format!("{LINK}\nloss = 0.01");
        let flows = "[[flow]]\ncount = 3\napp = { kind = \"bulk\", size = \"500 kB\" }\n";
        scenario(&link, flows).replace("[run]", &format!("[run]\nseed = {seed}"))
    };
    let json = |seed| {
        let mut summary = serde_json::to_value(run(&text(seed))).unwrap();
        summary.as_object_mut().unwrap().remove("timing");
        summary.to_string()
    };
    assert_eq!(json(1), json(1));
    assert_ne!(json(1), json(2));
}

/// Handing packets over ahead of time is a matter of speed alone.
#[test]
fn serving_ahead_changes_nothing() {
    let text = "[run]\nduration = \"20 s\"\n[dumbbell]\nbottleneck = { rate = \"10 Mbit/s\", delay = \"50 ms\", queue = \"60 packets\" }\n\
                access = { rate = \"100 Mbit/s\", delay = \"1 ms\" }\n[[flow]]\ncount = 4\ntransport = \"quic\"\n\
                [[flow]]\nname = \"tcp\"\ncount = 2\n";
    let scenario = load(text, "test", &[]).unwrap_or_else(|error| panic!("{error}"));
    let outcome = |serve_ahead| {
        let options = RunOptions { serve_ahead, ..RunOptions::default() };
        let mut summary = serde_json::to_value(simulate(&scenario, options).unwrap().summary).unwrap();
        summary.as_object_mut().unwrap().remove("timing");
        summary.to_string()
    };
    assert_eq!(outcome(true), outcome(false));
}

/// 100 kB over 100 ms are 8 Mbit/s; quinn-proto renews a window in steps of an eighth.
#[test]
fn a_small_window_limits_and_is_named() {
    let link = LINK.replace("10 Mbit/s", "100 Mbit/s");
    let summary = run(&scenario(&link, "[[flow]]\nquic = { stream_window = \"100 kB\" }\n"));
    let goodput = metric(&summary.flows[0], "goodput_bps");
    assert!((6.5e6..8.05e6).contains(&goodput), "{goodput}");
    let warning =
        summary.warnings.iter().find(|warning| warning.code == "receive_buffer").expect("a warning");
    assert!(warning.message.contains("raise stream_window and connection_window"), "{}", warning.message);
}

/// An outage longer than the idle timeout ends the connection, which is named; kept alive or not.
#[test]
fn a_connection_that_dies_is_named() {
    let link = format!("{LINK}\noutages = [{{ start = \"10 s\", duration = \"45 s\" }}]");
    let summary = run(&scenario(&link, "[[flow]]\napp = { kind = \"bulk\", size = \"50 MB\" }\n"));
    let warning = summary.warnings.iter().find(|warning| warning.code == "quic_ended").expect("a warning");
    assert!(warning.message.contains("timed out"), "{}", warning.message);
    assert_eq!(summary.flows[0].metrics.get("completion_time_s"), None);
}

/// Slow start's overshoot at 50 Mbit/s and 600 ms: quinn-proto ends the connection, the run names it and what helps, and it does.
#[test]
fn too_many_gaps_are_named_with_a_remedy_that_works() {
    let link = "delay = \"300 ms\"\nrate = \"50 Mbit/s\"\nqueue = \"3.75 MB\"";
    let flow = |quic: &str| {
        format!("[[flow]]\napp = {{ kind = \"bulk\", size = \"50 MB\" }}\nquic = {{ {quic} }}\n")
    };
    let ended = run(&scenario(link, &flow("")));
    let warning = ended.warnings.iter().find(|warning| warning.code == "quic_ended").expect("a warning");
    assert!(warning.message.contains("too many gaps"), "{}", warning.message);
    assert!(warning.message.contains("unordered = true"), "{}", warning.message);
    assert_eq!(ended.flows[0].metrics.get("completion_time_s"), None);
    for remedy in ["unordered = true", "congestion = \"bbr3\""] {
        let done = run(&scenario(link, &flow(remedy)));
        assert!(metric(&done.flows[0], "completion_time_s") < 25.0, "{remedy}");
        assert!(done.warnings.iter().all(|warning| warning.code != "quic_ended"));
    }
}

/// Proxies act on TCP; QUIC passes them as if they were not there.
#[test]
fn proxies_let_quic_pass() {
    let flows = "[[flow]]\napp = { kind = \"bulk\", size = \"2 MB\" }\n";
    let links = |middlebox: &str| {
        format!(
            "[run]\nduration = \"30 s\"\n[[link]]\nname = \"one\"\nends = [\"a\", \"m\"]\n{LINK}\n[[link]]\nname = \"two\"\nends = [\"m\", \
             \"b\"]\nrate = \"100 Mbit/s\"\ndelay = \"1 ms\"\n{}{middlebox}",
            flows.replace("[[flow]]", "[[flow]]\nfrom = \"a\"\nto = \"b\"\ntransport = \"quic\"")
        )
    };
    let took = |middlebox: &str| metric(&run(&links(middlebox)).flows[0], "completion_time_s");
    let plain = took("");
    assert_eq!(took("[[middlebox]]\nkind = \"split\"\nname = \"pep\"\nat = \"m\"\n"), plain);
    assert_eq!(took("[[middlebox]]\nkind = \"premature_ack\"\nname = \"pep\"\nat = \"m\"\n"), plain);
}

/// Nor do they between two nodes, where TCP's way is cut in pieces.
#[test]
fn proxies_at_two_nodes_let_quic_pass() {
    let link = |ends: &str| {
        format!("[[link]]\nname = \"{}\"\nends = [{ends}]\n{LINK}\n", ends.replace(['"', ',', ' '], ""))
    };
    let links: String = ["\"a\", \"m\"", "\"m\", \"n\"", "\"n\", \"b\""].map(link).concat();
    let flow = "[[flow]]\nfrom = \"a\"\nto = \"b\"\ntransport = \"quic\"\napp = { kind = \"bulk\", size = \"2 MB\" }\n";
    let took = |kind: &str| {
        let boxes = ["split", "ack_compaction", "paced"].contains(&kind);
        let middlebox = if boxes {
            format!("[[middlebox]]\nkind = \"{kind}\"\nname = \"pep\"\nat = \"m\"\npeer = \"n\"\n")
        } else {
            String::new()
        };
        let rate = if kind == "paced" { "rate = \"10 Mbit/s\"\n" } else { "" };
        let scenario = format!("[run]\nduration = \"60 s\"\n{links}{flow}{middlebox}{rate}");
        metric(&run(&scenario).flows[0], "completion_time_s")
    };
    let plain = took("");
    assert_eq!(took("split"), plain);
    assert_eq!(took("ack_compaction"), plain);
    assert_eq!(took("paced"), plain);
}

/// A marking queue is answered by smaller windows, not by losses.
#[test]
fn marks_are_answered() {
    let link = LINK.replace(
        "queue = \"200 packets\"",
        "queue = { kind = \"red\", limit = \"400 packets\", min_threshold = \"20 packets\", max_threshold = \"60 packets\", ecn = true }",
    );
    let summary = run(&scenario(&link, "[[flow]]\nquic = { congestion = \"reno\", pacing = \"off\" }\n"));
    let flow = &summary.flows[0];
    assert!(metric(flow, "ecn_reductions") > 2.0 && metric(flow, "marked_packets") > 2.0);
    let off =
        run(&scenario(&link, "[[flow]]\nquic = { congestion = \"reno\", ecn = false, pacing = \"off\" }\n"));
    assert_eq!(
        (metric(&off.flows[0], "marked_packets"), metric(&off.flows[0], "ecn_reductions")),
        (0.0, 0.0)
    );
    assert!(metric(&off.flows[0], "lost_packets") > 0.0);
}

#[test]
fn what_quic_cannot_do_is_refused_with_the_reason() {
    let flow = |text: &str| refused(&scenario(LINK, &format!("[[flow]]\n{text}\n")));
    assert!(flow("quic = { congestion = \"sttp_practical\" }").contains("probes of its own"));
    assert!(flow("quic = { congestion = \"cubc\" }").contains("unknown congestion control \"cubc\""));
    assert!(
        flow("tcp = { congestion = \"bbr\" }").contains("the flow uses QUIC; its settings are in `quic`")
    );
    assert!(flow("trace = true").contains("a trace is of TCP segments"));
    assert!(flow("quic = { mtu = \"500 B\" }").contains("1200 B"));
    let tcp = "[run]\nduration = \"1 s\"\n[dumbbell]\nbottleneck = { rate = \"1 Mbit/s\", delay = \"1 ms\" }\n[[flow]]\nquic = {}\n";
    assert!(refused(tcp).contains("add transport = \"quic\""), "{}", refused(tcp));
    let throttled = format!(
        "{}[[middlebox]]\nkind = \"throttle\"\nname = \"slow\"\nat = \"a\"\nrate = \"1 Mbit/s\"\n",
        scenario(LINK, "[[flow]]\n")
    );
    assert!(refused(&throttled).contains("throttle"), "{}", refused(&throttled));
}
