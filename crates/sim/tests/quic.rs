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
    let web = flow(
        "trace = true\napp = { kind = \"web\", think = \"1 s\", document = \"1 kB\", objects = 2, object = \"1 kB\" }",
    );
    assert!(web.contains("a trace is of one connection"), "{web}");
    assert!(flow("quic = { mtu = \"500 B\" }").contains("1200 B"));
    let tcp = "[run]\nduration = \"1 s\"\n[dumbbell]\nbottleneck = { rate = \"1 Mbit/s\", delay = \"1 ms\" }\n[[flow]]\nquic = {}\n";
    assert!(refused(tcp).contains("add transport = \"quic\""), "{}", refused(tcp));
    let throttled = format!(
        "{}[[middlebox]]\nkind = \"throttle\"\nname = \"slow\"\nat = \"a\"\nrate = \"1 Mbit/s\"\n",
        scenario(LINK, "[[flow]]\n")
    );
    assert!(refused(&throttled).contains("throttle"), "{}", refused(&throttled));
}

/// Two transfers of 2 MB on one connection take turns: one handshake, equal shares, results for each of them.
#[test]
fn flows_share_a_connection() {
    let flows = |settings: &str| {
        let flow = |name: &str| {
            format!(
                "[[flow]]\nname = \"{name}\"\napp = {{ kind = \"bulk\", size = \"2 MB\" }}\nquic = {{ {settings} }}\n"
            )
        };
        scenario(LINK, &(flow("one") + &flow("two")))
    };
    let shared = run(&flows("connection = \"shared\""));
    let took = |summary: &Summary, flow: usize| metric(&summary.flows[flow], "completion_time_s");
    for flow in &shared.flows {
        assert_eq!(metric(flow, "delivered_bytes"), 2e6);
        assert_eq!(flow.state, "Closed");
        let sent = metric(flow, "sent_packets");
        assert!((0.95..1.3).contains(&(sent / (2e6 / 1415.0))), "{sent}");
        assert!(metric(flow, "rtt_min_s") >= 0.1);
    }
    // They end together, at the time that 4 MB take on one connection.
    let least = 0.1 + 4e6 * 8.0 / 10e6 * 1480.0 / 1420.0;
    for flow in 0..2 {
        assert!((least..least * 1.2).contains(&took(&shared, flow)), "{}", took(&shared, flow));
    }
    assert!((took(&shared, 0) - took(&shared, 1)).abs() < 0.1);
    // They have one window, so that both report the same one.
    assert_eq!(metric(&shared.flows[0], "cwnd_mean_bytes"), metric(&shared.flows[1], "cwnd_mean_bytes"));
    let apart = run(&flows("congestion = \"cubic\""));
    assert_ne!(metric(&apart.flows[0], "cwnd_mean_bytes"), metric(&apart.flows[1], "cwnd_mean_bytes"));
}

/// What has priority is sent first: it takes what it would take alone, and the other one waits for it.
#[test]
fn a_higher_priority_is_sent_first() {
    let flow = |name: &str, priority: i32| {
        format!(
            "[[flow]]\nname = \"{name}\"\napp = {{ kind = \"bulk\", size = \"3 MB\" }}\nquic = {{ connection = \"shared\", priority = {priority} }}\n"
        )
    };
    let summary = run(&scenario(LINK, &(flow("low", 0) + &flow("high", 1))));
    let [low, high] = [0, 1].map(|flow| metric(&summary.flows[flow], "completion_time_s"));
    let alone = 0.15 + 3e6 * 8.0 / 10e6 * 1480.0 / 1420.0;
    assert!((alone..alone * 1.2).contains(&high), "{high} s, {alone} s alone");
    assert!((2.0 * alone - 0.2..2.0 * alone * 1.2).contains(&low), "{low} s");
}

/// A flow that begins later finds the connection established: no handshake. A web session is beside it.
#[test]
fn a_later_flow_needs_no_handshake() {
    let request = |name: &str, start: &str| {
        format!(
            "[[flow]]\nname = \"{name}\"\nstart = \"{start}\"\napp = {{ kind = \"request\", response = \"1 kB\", requests = 1 }}\n\
             quic = {{ connection = \"shared\" }}\n"
        )
    };
    let web = "[[flow]]\nname = \"web\"\napp = { kind = \"web\", pages = 2, think = \"1 s\", document = \"5 kB\", objects = 4, object = \"2 kB\" }\n\
               quic = { connection = \"shared\" }\n";
    let summary = run(&scenario(LINK, &(request("first", "0 s") + &request("later", "5 s") + web)));
    let took = |flow: usize| metric(&summary.flows[flow], "response_time_max_s");
    assert!((0.2..0.215).contains(&took(0)), "{}", took(0));
    assert!((0.1..0.11).contains(&took(1)), "{}", took(1));
    assert_eq!(metric(&summary.flows[2], "pages"), 2.0);
    assert_eq!(metric(&summary.flows[2], "delivered_bytes"), 2.0 * 13e3);
}

#[test]
fn what_cannot_share_a_connection_is_refused_with_the_reason() {
    let flow = |name: &str, quic: &str| format!("[[flow]]\nname = \"{name}\"\nquic = {{ {quic} }}\n");
    let shared = "connection = \"shared\"";
    let other =
        refused(&scenario(LINK, &(flow("a", shared) + &flow("b", &format!("{shared}, ecn = false")))));
    assert!(other.contains("flow \"a\" uses the same connection with other settings"), "{other}");
    let alone = refused(&scenario(LINK, &flow("a", "priority = 1")));
    assert!(alone.contains("add connection = \"shared\""), "{alone}");
    let access = refused(&scenario(
        LINK,
        &format!("{}access = {{ rate = \"1 Gbit/s\", delay = \"1 ms\" }}\n", flow("a", shared)),
    ));
    assert!(access.contains("have hosts of their own"), "{access}");
}

/// Careful resume on a geostationary path: with what the path holds remembered, 10 MB come seconds earlier; with ten times that,
/// the jump leads to losses and is taken back. Phases are events, in order.
#[test]
fn careful_resume_jumps_and_retreats() {
    let link = "delay = \"300 ms\"\nrate = \"20 Mbit/s\"\nqueue = \"1.5 MB\"";
    let outcome = |quic: &str| {
        let flow = "[[flow]]\napp = { kind = \"bulk\", size = \"10 MB\" }\nquic = { unordered = true, "
            .to_string()
            + quic
            + " }\n";
        simulate(&load(&scenario(link, &flow), "test", &[]).unwrap(), RunOptions::default()).unwrap()
    };
    let took = |quic: &str| metric(&outcome(quic).summary.flows[0], "completion_time_s");
    let phases = |quic: &str| -> Vec<&str> {
        let outcome = outcome(quic);
        let kinds = outcome.tables.events.iter().map(|event| event.kind);
        kinds.filter(|kind| kind.starts_with("resume_")).collect()
    };
    let remembered = |bytes: &str, rtt: &str| {
        format!("congestion = \"cubic\", careful_resume = {{ window = \"{bytes}\", rtt = \"{rtt}\" }}")
    };
    // 20 Mbit/s times 600 ms are 1.5 MB.
    let fitting = remembered("2.8 MB", "600 ms");
    assert_eq!(
        phases(&fitting),
        ["resume_reconnaissance", "resume_unvalidated", "resume_validating", "resume_normal"]
    );
    let (with, without) = (took(&fitting), took("congestion = \"cubic\""));
    // Handshake and initial window, then all at the rate of the link; without, slow start takes some ten round trips.
    let least = 0.6 + 0.6 + 10e6 * 8.0 / 20e6;
    assert!((least..least + 1.2).contains(&with), "{with} s");
    assert!(with + 1.0 < without, "{with} s and {without} s");
    let wrong = remembered("30 MB", "600 ms");
    let phases_then = phases(&wrong);
    assert!(phases_then.contains(&"resume_safe_retreat"), "{phases_then:?}");
    assert_eq!(phases_then.last(), Some(&"resume_normal"));
    assert!(took(&wrong) < 30.0);
    // Another path: it begins as all do.
    assert_eq!(phases(&remembered("2.8 MB", "20 ms")), ["resume_reconnaissance", "resume_normal"]);
    let refused = refused(&scenario(
        link,
        "[[flow]]\nquic = { congestion = \"quinn_bbr\", careful_resume = { window = \"1 MB\", rtt = \"1 s\" } }\n",
    ));
    assert!(refused.contains("quinn_bbr does not resume"), "{refused}");
}

/// Packets that are overtaken by more than 128 others: quinn-proto drops them as duplicates, so that what was only late is lost. The
/// run names it; with less reordering, nothing is.
#[test]
fn packets_that_come_too_late_are_named() {
    let late = |delay: &str| {
        let link = format!(
            "delay = \"20 ms\"\nrate = \"100 Mbit/s\"\nqueue = \"1000 packets\"\nforward = {{ reordering = {{ probability = \"1 %\", delay = \"{delay}\" }} }}"
        );
        let flow = "[[flow]]\napp = { kind = \"bulk\", size = \"20 MB\" }\nquic = { congestion = \"bbr\", unordered = true, packet_threshold = 100 }\n";
        run(&scenario(&link, flow))
    };
    let named = |summary: &Summary| {
        let warning = summary.warnings.iter().find(|warning| warning.code == "quic_late_packets");
        warning.map(|warning| warning.message.clone())
    };
    // A packet takes 0.12 ms: in 100 ms some 800 pass it, in 5 ms some 40.
    let (far, near) = (late("100 ms"), late("5 ms"));
    let message = named(&far).expect("a warning");
    assert!(message.contains("more than 128 behind the newest"), "{message}");
    assert_eq!(named(&near), None);
    // Nothing was lost on the link, and yet it is sent again.
    assert_eq!(metric(&far.flows[0], "lost_packets"), 0.0);
    assert!(metric(&far.flows[0], "retransmitted_packets") > 20.0);
}

/// A window for the whole connection, of which data that wait for a lost packet hold a part: flows that share it wait for each other.
/// The run names it, and what helps does.
#[test]
fn a_connection_window_that_is_used_up_is_named() {
    let link = "delay = \"100 ms\"\nrate = \"20 Mbit/s\"\nqueue = \"1 MB\"\nloss = \"0.2 %\"";
    let flows = |settings: &str| {
        let flow = |name: &str| {
            format!(
                "[[flow]]\nname = \"{name}\"\napp = {{ kind = \"bulk\", size = \"4 MB\" }}\n\
                 quic = {{ congestion = \"bbr3\", connection = \"shared\", {settings} }}\n"
            )
        };
        run(&scenario(link, &(flow("one") + &flow("two"))))
    };
    let used_up = |summary: &Summary| {
        summary.warnings.iter().any(|warning| {
            warning.code == "quic_connection_window" && warning.message.contains("raise connection_window")
        })
    };
    let narrow = flows("connection_window = \"600 kB\"");
    let wide = flows("connection_window = \"6 MB\"");
    assert!(used_up(&narrow) && !used_up(&wide), "{:?}", narrow.warnings);
    let took = |summary: &Summary| {
        metric(&summary.flows[0], "completion_time_s").max(metric(&summary.flows[1], "completion_time_s"))
    };
    assert!(took(&narrow) > took(&wide), "{} s and {} s", took(&narrow), took(&wide));
}
