//! The accelerator's transport between the nodes of a split: what it gains over a satellite, and what it must not lose.

use longhaul_results::{FlowSummary, Summary};
use longhaul_scenario::load;
use longhaul_sim::{RunOptions, simulate};

/// Server, hub, satellite of 50 and 10 Mbit/s and 600 ms, terminal, client.
fn satellite(settings: &str, rest: &str) -> Summary {
    let text = format!(
        "[run]\nduration = \"60 s\"\n\
         [[link]]\nname = \"internet\"\nends = [\"server\", \"hub\"]\nrate = \"1 Gbit/s\"\ndelay = \"5 ms\"\n\
         [[link]]\nname = \"satellite\"\nends = [\"hub\", \"terminal\"]\ndelay = \"300 ms\"\n\
         forward = {{ rate = \"50 Mbit/s\", queue = \"3.75 MB\" }}\nreverse = {{ rate = \"10 Mbit/s\", queue = \"750 kB\" }}\n\
         {settings}\n\
         [[link]]\nname = \"ship\"\nends = [\"terminal\", \"client\"]\nrate = \"1 Gbit/s\"\ndelay = \"500 us\"\n\
         {rest}"
    );
    let scenario = load(&text, "test", &[]).unwrap_or_else(|error| panic!("{error}\n{text}"));
    simulate(&scenario, RunOptions::default()).unwrap().summary
}

const HOP: &str = "[[middlebox]]\nname = \"pep\"\nkind = \"split\"\nat = \"hub\"\npeer = \"terminal\"\nlong = { transport = \"hop\" }\n";

/// Over TCP, whose first window is a bandwidth-delay product, as the guide to the accelerator has it.
const OVER_TCP: &str = "[[middlebox]]\nname = \"pep\"\nkind = \"split\"\nat = \"hub\"\npeer = \"terminal\"\n\
     long = { transport = \"hop\", carrier = \"tcp\", tcp = { initial_window = \"2600 packets\" } }\n";

fn flow(name: &str, ends: &str, start: &str, app: &str) -> String {
    format!("[[flow]]\nname = \"{name}\"\n{ends}\nstart = \"{start}\"\napp = {app}\n")
}

const DOWN: &str = "from = \"server\"\nto = \"client\"";

fn metric(flow: &FlowSummary, name: &str) -> f64 {
    flow.metrics.get(name).unwrap_or_else(|| panic!("{} has no {name}", flow.name))
}

fn of_pep(summary: &Summary, name: &str) -> f64 {
    summary.middleboxes[0].metrics.get(name).unwrap()
}

/// The ideal: one way, and 10 MB with 5 % of headers at the link's rate.
#[test]
fn ten_megabytes_take_little_more_than_the_ideal() {
    let ideal = 0.305 + 1.05 * 80.0 / 50.0;
    for (loss, most) in [("0 %", 1.08), ("1 %", 1.12), ("5 %", 1.3)] {
        let loss = format!("loss = {{ kind = \"random\", probability = \"{loss}\" }}");
        let download = flow("download", DOWN, "5 s", "{ kind = \"bulk\", size = \"10 MB\" }");
        let summary = satellite(&loss, &format!("{HOP}{download}"));
        let took = metric(&summary.flows[0], "completion_time_s") / ideal;
        assert!((0.99..most).contains(&took), "{loss}: {took} times the ideal");
        assert_eq!(of_pep(&summary, "lost_acknowledged_bytes"), 0.0);
        let hop = &summary.middleboxes[0].long_hop;
        assert_eq!(hop.len(), 2, "both directions of the one connection");
        assert!(hop[0].metrics.get("rtt_mean_s").is_some_and(|rtt| (0.6..0.8).contains(&rtt)));
    }
}

/// Where UDP does not pass: as fast without loss, and slower with it, since a loss costs a round trip and BBR some of its rate. On real
/// packets (docs/accelerator.md) 10 MB take 2.32 s at 650 ms, a quarter of it for the request, and 2.97 s and more at 1 %.
#[test]
fn over_tcp_a_loss_costs_more() {
    let ideal = 0.305 + 1.05 * 80.0 / 50.0;
    for (loss, least, most) in [("0 %", 0.99, 1.08), ("1 %", 1.12, 2.5)] {
        let loss = format!("loss = {{ kind = \"random\", probability = \"{loss}\" }}");
        let download = flow("download", DOWN, "5 s", "{ kind = \"bulk\", size = \"10 MB\" }");
        let summary = satellite(&loss, &format!("{OVER_TCP}{download}"));
        let took = metric(&summary.flows[0], "completion_time_s") / ideal;
        assert!((least..most).contains(&took), "{loss}: {took} times the ideal");
        assert_eq!(of_pep(&summary, "lost_acknowledged_bytes"), 0.0);
        assert_eq!(summary.middleboxes[0].long_hop.len(), 8, "both directions of four connections");
    }
}

/// A small answer takes another connection than the bulk transfer, but the queue of the satellite is theirs together. The slowest of
/// them meets ProbeRTT, which comes each 10 s as in Linux: with `equal_rtt_is_news = true` it takes 1.36 s.
#[test]
fn over_tcp_small_answers_pass_beside_bulk() {
    let up = "from = \"client\"\nto = \"server\"";
    let flows = flow("bulk", DOWN, "3 s", "{ kind = \"bulk\" }")
        + &flow("answers", up, "10 s", "{ kind = \"request\", response = \"20 kB\", requests = 20 }");
    let summary = satellite("", &format!("{OVER_TCP}{flows}"));
    let slowest = metric(&summary.flows[1], "response_time_max_s");
    assert!(slowest < 2.0, "{slowest} s");
    assert!(metric(&summary.flows[0], "goodput_bps") > 40e6);
}

/// All applications, both ways, opened before the hop is up and during the run, with and without a handshake of the hosts.
#[test]
fn all_applications_cross_it() {
    for pep in [HOP, OVER_TCP] {
        let up = "from = \"client\"\nto = \"server\"";
        let flows = [
            flow("download", DOWN, "0 s", "{ kind = \"bulk\", size = \"2 MB\" }"),
            flow("upload", up, "1 s", "{ kind = \"bulk\", size = \"2 MB\" }"),
            flow(
                "known",
                &format!("{DOWN}\ntcp = {{ established = true }}"),
                "0 s",
                "{ kind = \"bulk\", size = \"1 MB\" }",
            ),
            flow("pages", up, "2 s", "{ kind = \"web\", think = \"1 s\", objects = 5, object = \"20 kB\" }"),
            flow("answers", up, "2 s", "{ kind = \"request\", response = \"20 kB\", requests = 5 }"),
            flow("keys", up, "3 s", "{ kind = \"keystrokes\" }"),
            flow("film", up, "4 s", "{ kind = \"video\" }"),
        ];
        let summary = satellite("", &format!("{pep}{}", flows.concat()));
        for flow in &summary.flows[..3] {
            assert!(flow.metrics.get("completion_time_s").is_some(), "{} is not complete", flow.name);
        }
        for flow in &summary.flows {
            assert!(metric(flow, "delivered_bytes") > 0.0, "{}", flow.name);
        }
        assert_eq!(of_pep(&summary, "lost_acknowledged_bytes"), 0.0);
    }
}

/// A client behind 100 kbit/s holds back its own download only; what waits for it is bounded by the credit and the buffers.
#[test]
fn a_slow_reader_stalls_no_other() {
    for pep in [HOP, OVER_TCP] {
        let slow = flow("slow", DOWN, "2 s", "{ kind = \"bulk\" }")
            + "access = { rate = \"1 Gbit/s\", delay = \"1 ms\", to = { rate = \"100 kbit/s\" } }\n";
        let fast = flow("fast", DOWN, "10 s", "{ kind = \"bulk\", size = \"10 MB\" }");
        let hop = "buffer = \"200 kB\"\nlong = { transport = \"hop\", credit = \"4 MiB\"";
        let pep = pep.replace("long = { transport = \"hop\"", hop);
        let summary = satellite("", &format!("{pep}{slow}{fast}"));
        let took = metric(&summary.flows[1], "completion_time_s");
        assert!(took < 3.0, "{took} s");
        let waits = of_pep(&summary, "undelivered_max_bytes");
        // Credit and buffers of both nodes, and 10 MB of the fast one.
        assert!(waits < 4.2e6 + 2.0 * 0.4e6 + 10e6, "{waits}");
        assert!(metric(&summary.flows[0], "goodput_bps") > 90e3);
    }
}

/// An outage of 20 s in the middle of a download: nothing is lost, and the transfer goes on.
#[test]
fn an_outage_loses_nothing() {
    for pep in [HOP, OVER_TCP] {
        let outage = "outages = [{ start = \"6 s\", duration = \"20 s\" }]";
        let download = flow("download", DOWN, "5 s", "{ kind = \"bulk\", size = \"10 MB\" }");
        let summary = satellite(outage, &format!("{pep}{download}"));
        let took = metric(&summary.flows[0], "completion_time_s");
        assert!((22.0..25.5).contains(&took), "{took} s");
        assert_eq!(metric(&summary.flows[0], "delivered_bytes"), 10e6);
        assert_eq!(of_pep(&summary, "lost_acknowledged_bytes"), 0.0);
    }
}

/// Over a round trip of 20 min the end of an outage is looked for some times in a round trip, not four times a second: 3 h in which nothing
/// arrives took 37,000 PINGs from each side.
#[test]
fn an_outage_of_an_interplanetary_link_is_not_filled_with_probes() {
    let text = "[run]\nduration = \"24 h\"\nsample = \"10 min\"\n\
         [[link]]\nname = \"space\"\nends = [\"earth\", \"mars\"]\nrate = \"2 Mbit/s\"\ndelay = \"600 s\"\nqueue = \"300 MB\"\n\
         outages = [{ start = \"2 h\", duration = \"3 h\" }]\n\
         [[link]]\nname = \"lan\"\nends = [\"control\", \"earth\"]\nrate = \"1 Gbit/s\"\ndelay = \"5 ms\"\n\
         [[link]]\nname = \"field\"\nends = [\"mars\", \"rover\"]\nrate = \"1 Gbit/s\"\ndelay = \"5 ms\"\n\
         [[middlebox]]\nname = \"pep\"\nkind = \"split\"\nat = \"earth\"\npeer = \"mars\"\n\
         long = { transport = \"hop\", keep_alive = \"10 min\", idle_timeout = \"12 h\" }\n\
         [[flow]]\nname = \"early\"\nfrom = \"control\"\nto = \"rover\"\nstart = \"45 min\"\napp = { kind = \"bulk\", size = \"2 MB\" }\n\
         [[flow]]\nname = \"outside\"\nfrom = \"control\"\nto = \"rover\"\nstart = \"3 h\"\napp = { kind = \"bulk\", size = \"2 MB\" }\n";
    let scenario = load(text, "test", &[]).unwrap_or_else(|error| panic!("{error}"));
    let summary = simulate(&scenario, RunOptions::default()).unwrap().summary;
    // The second flow begins in the outage, in which all that it sends is lost: 2 h later a probe and its ACK take a round trip, and
    // what is sent again half of one.
    let took = metric(&summary.flows[1], "completion_time_s");
    assert!((7200.0 + 1800.0..7200.0 + 1900.0).contains(&took), "{took} s");
    assert_eq!(of_pep(&summary, "lost_acknowledged_bytes"), 0.0);
    for way in &summary.middleboxes[0].long_hop {
        let of = |name| way.metrics.get(name).unwrap();
        // Two times 2 MB in packets, the second again, since it was sent into the outage, and some hundred PINGs.
        assert!(of("sent_packets") < 12_000.0, "{} packets from {}", of("sent_packets"), way.from);
        assert!(of("retransmitted_packets") < 1_700.0, "{}", of("retransmitted_packets"));
    }
}

/// One that is longer than the idle timeout ends all connections, which is counted, and a later one is carried again.
#[test]
fn an_outage_beyond_the_idle_timeout_resets() {
    // Over TCP, SYNs were lost in the outage: the window begins with one segment (RFC 5681 section 3.1; Linux from the second loss on).
    // With an outage of 23 s, in which none is lost, the transfer takes 0.5 s.
    for (pep, most) in [(HOP, 3.0), (OVER_TCP, 7.0)] {
        let outage = "outages = [{ start = \"6 s\", duration = \"20 s\" }]";
        let flows = flow("before", DOWN, "5 s", "{ kind = \"bulk\", size = \"10 MB\" }")
            + &flow("after", DOWN, "45 s", "{ kind = \"bulk\", size = \"1 MB\" }");
        let pep = pep.replace("\"hop\"", "\"hop\", idle_timeout = \"5 s\", keep_alive = \"1 s\"");
        let summary = satellite(outage, &format!("{pep}{flows}"));
        assert!(summary.flows[0].metrics.get("completion_time_s").is_none());
        assert!(of_pep(&summary, "lost_acknowledged_bytes") > 1e6);
        let took = metric(&summary.flows[1], "completion_time_s");
        assert!(took < most, "{took} s with {pep}");
    }
}

/// The same run twice gives the same bytes.
#[test]
fn runs_are_deterministic() {
    for pep in [HOP, OVER_TCP] {
        let run = || {
            let loss = "loss = { kind = \"random\", probability = \"2 %\" }";
            let flows = flow("down", DOWN, "0 s", "{ kind = \"bulk\", size = \"3 MB\" }");
            serde_json::to_string(&satellite(loss, &format!("{pep}{flows}"))).unwrap()
        };
        assert_eq!(run(), run());
    }
}

/// Beside a flow of CUBIC that keeps the queue full, lower rates do not empty it: a hop that cut its rate for it ended with 3 % of the
/// link. Goodput of the hop and of the other for each start of the hop.
fn beside_cubic(share: &str) -> Vec<[f64; 2]> {
    let beside = |start| {
        let flows = flow("hop", DOWN, &format!("{start} s"), "{ kind = \"bulk\" }")
            + &flow("other", DOWN, "2 s", "{ kind = \"bulk\" }")
            // A sender whose buffer is full keeps a fixed amount in flight: no rival that a loss can slow down (docs/STATUS.md).
            + "tcp = { variant = \"linux\", congestion = \"cubic\", send_buffer_windows = 0 }\n";
        let settings =
            format!("\"hop\", share = \"{share}\", forward_rate = \"40 Mbit/s\" }}\nflows = [\"hop\"]\n");
        let summary = satellite("", &format!("{}{flows}", HOP.replace("\"hop\" }\n", &settings)));
        [0, 1].map(|flow| metric(&summary.flows[flow], "goodput_bps"))
    };
    [5, 10, 20].map(beside).to_vec()
}

#[test]
fn others_do_not_starve_it_nor_it_them() {
    let rates = beside_cubic("exclusive");
    let means = [0, 1].map(|flow| rates.iter().map(|rates| rates[flow]).sum::<f64>() / 3.0);
    assert!(means.iter().all(|mean| *mean > 4e6), "hop and other have {means:?} bit/s");
}

/// Of 50 Mbit/s, whatever the start: with a fixed amount in flight it had 1.5 to 14.
#[test]
fn a_fair_hop_has_a_part_like_that_of_a_flow_of_cubic() {
    for rates in beside_cubic("fair") {
        assert!(rates.iter().all(|rate| (15e6..32e6).contains(rate)), "hop and other have {rates:?} bit/s");
    }
}

/// One packet in twenty comes 85 ms late, hundreds of packets behind. Their short numbers are then those of later packets, which cannot
/// be opened: it ended the hop with an error of its keys, or stalled it.
#[test]
fn packets_far_behind_end_no_hop() {
    for seed in 1..4 {
        let late = format!(
            "reordering = {{ probability = 0.05, delay = \"85 ms\" }}\n\n[[link]]\nname = \"x{seed}\"\nends = [\"hub\", \"x\"]\nrate = \"1 Mbit/s\"\ndelay = \"1 ms\""
        );
        let download = flow("download", DOWN, "5 s", "{ kind = \"bulk\", size = \"30 MB\" }");
        let pep = HOP.replace("\"hop\" }\n", "\"hop\", forward_rate = \"100 Mbit/s\" }\n");
        let summary = satellite(&late, &format!("{pep}{download}"));
        let took = metric(&summary.flows[0], "completion_time_s");
        assert!(took < 12.0, "{took} s");
        assert_eq!(of_pep(&summary, "lost_acknowledged_bytes"), 0.0);
    }
}

/// The configured rate is twice too high, and the rate back has fallen far for the losses of ACKs. Those waited with reports for their
/// turn, and long ones counted as data: a download of 15 s took 97, and another stalled.
#[test]
fn acks_do_not_wait_for_their_turn() {
    for (down, up, queue, rtt_ms, loss, size, most) in [
        ("4.181 Mbit/s", "492 kbit/s", "15000 B", 59.4, "3 %", "6.27 MB", 25.0),
        ("110.4 Mbit/s", "3.873 Mbit/s", "380 kB", 14.84, "5 %", "30 MB", 6.0),
    ] {
        let text = format!(
            "[run]\nduration = \"120 s\"\nseed = 280\n\
             [[link]]\nname = \"satellite\"\nends = [\"hub\", \"terminal\"]\ndelay = \"{rtt_ms} ms\"\n\
             loss = {{ kind = \"random\", probability = \"{loss}\" }}\n\
             forward = {{ rate = \"{down}\", queue = \"{queue}\" }}\nreverse = {{ rate = \"{up}\", queue = \"15000 B\" }}\n\
             [[link]]\nname = \"internet\"\nends = [\"server\", \"hub\"]\nrate = \"10 Gbit/s\"\ndelay = \"1 ms\"\n\
             [[link]]\nname = \"ship\"\nends = [\"terminal\", \"client\"]\nrate = \"10 Gbit/s\"\ndelay = \"100 us\"\n\
             [[flow]]\nname = \"download\"\nfrom = \"server\"\nto = \"client\"\nstart = \"4 s\"\n\
             app = {{ kind = \"bulk\", size = \"{size}\" }}\n\
             [[middlebox]]\nkind = \"split\"\nat = \"hub\"\npeer = \"terminal\"\nbuffer = \"64 MB\"\n\
             long = {{ transport = \"hop\", forward_rate = \"{}\" }}\n",
            if down.starts_with('4') { "8.338 Mbit/s" } else { "220 Mbit/s" }
        );
        let scenario = load(&text, "test", &[]).unwrap_or_else(|error| panic!("{error}"));
        let summary = simulate(&scenario, RunOptions::default()).unwrap().summary;
        let took = metric(&summary.flows[0], "completion_time_s");
        assert!(took < most, "{down}: {took} s");
    }
}

fn warned(summary: &Summary, code: &str) -> Option<String> {
    summary.warnings.iter().find(|warning| warning.code == code).map(|warning| warning.message.clone())
}

/// QUIC passes a hop unchanged, and competes with it.
#[test]
fn a_flow_that_no_proxy_can_split_is_named() {
    let flows = |transport: &str| {
        flow("tcp", DOWN, "3 s", "{ kind = \"bulk\", size = \"1 MB\" }")
            + &flow(
                "other",
                &format!("{DOWN}\ntransport = \"{transport}\""),
                "3 s",
                "{ kind = \"bulk\", size = \"1 MB\" }",
            )
    };
    let message = warned(&satellite("", &format!("{HOP}{}", flows("quic"))), "untouched_by_middlebox")
        .expect("a warning");
    assert!(
        message.contains("it forwards other unchanged") && message.contains("compete with the hop"),
        "{message}"
    );
    assert_eq!(warned(&satellite("", &format!("{HOP}{}", flows("tcp"))), "untouched_by_middlebox"), None);
}

/// Two hops of which each takes the link for its own lose much; the warning names the setting.
#[test]
fn two_exclusive_hops_on_one_link_are_named() {
    let flows = flow("a", DOWN, "3 s", "{ kind = \"bulk\", size = \"1 MB\" }")
        + &flow("b", DOWN, "3 s", "{ kind = \"bulk\", size = \"1 MB\" }");
    let hop = |name: &str, flow: &str, share: &str| {
        HOP.replace("\"pep\"", &format!("\"{name}\"\nflows = [\"{flow}\"]"))
            .replace("\"hop\"", &format!("\"hop\", share = \"{share}\""))
    };
    let both = |share| satellite("", &format!("{}{}{flows}", hop("one", "a", share), hop("two", "b", share)));
    let message = warned(&both("exclusive"), "exclusive_hops").expect("a warning");
    assert!(message.contains("shares satellite.forward with that of one"), "{message}");
    assert_eq!(warned(&both("fair"), "exclusive_hops"), None);
}
