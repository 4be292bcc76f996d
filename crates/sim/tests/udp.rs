//! Flows over UDP: delays, losses and waits that can be worked out on paper, and that no datagram is lost to the counters.

use longhaul_results::{FlowSummary, Summary};
use longhaul_sim::{Outcome, RunOptions, load, simulate};
use proptest::prelude::*;

fn outcome(text: &str) -> Outcome {
    let scenario = load(text, "test", &[]).unwrap_or_else(|error| panic!("{error}\n{text}"));
    simulate(&scenario, RunOptions::default()).unwrap()
}

fn run(text: &str) -> Summary {
    outcome(text).summary
}

/// One link from `a` to `b`, and one flow over UDP on it.
fn one_flow(run: &str, link: &str, flow: &str) -> String {
    format!(
        "[run]\n{run}\n[[link]]\nname = \"link\"\nends = [\"a\", \"b\"]\n{link}\n[[flow]]\nname = \"flow\"\nfrom = \"a\"\nto = \"b\"\n\
         transport = \"udp\"\n{flow}\n"
    )
}

fn refusal(text: &str) -> String {
    load(text, "test", &[]).expect_err("must be refused").to_string()
}

fn metric(flow: &FlowSummary, name: &str) -> f64 {
    flow.metrics.get(name).unwrap_or_else(|| panic!("no {name}"))
}

fn of_link(summary: &Summary, name: &str) -> f64 {
    summary.links[0].metrics.get(name).unwrap_or_else(|| panic!("no {name}"))
}

fn close(found: f64, expected: f64, tolerance: f64) {
    assert!((found / expected - 1.0).abs() <= tolerance, "{found} is not within {tolerance} of {expected}");
}

/// 1000 bytes and headers of 28 take 822.4 us at 10 Mbit/s, and 20 ms to the other end: 20.8224 ms, always the same.
#[test]
fn an_idle_path_has_its_exact_delay_and_no_jitter() {
    let summary = run(&one_flow(
        "duration = \"10 s\"",
        "rate = \"10 Mbit/s\"\ndelay = \"20 ms\"",
        "app = { kind = \"cbr\", rate = \"1 Mbit/s\", message = \"1000 B\" }",
    ));
    let flow = &summary.flows[0];
    for name in ["one_way_delay_mean_s", "one_way_delay_max_s"] {
        assert!((metric(flow, name) - 0.020_822_4).abs() < 1e-9, "{name}: {}", metric(flow, name));
    }
    assert_eq!(metric(flow, "jitter_s"), 0.0);
    // One each 8 ms from 0 on: 1250, of which the last two are on their way.
    assert_eq!(metric(flow, "sent_packets"), 1250.0);
    assert_eq!(metric(flow, "received_packets"), 1248.0);
    assert_eq!((flow.variant, flow.congestion, flow.state.as_str()), ("udp", "none", "Open"));
    assert_eq!(flow.metrics.get("rtt_mean_s"), None);
    let application = flow.limited.iter().find(|(name, _)| *name == "application").unwrap().1;
    assert_eq!(application, 1.0);
    assert!(summary.warnings.is_empty(), "{:?}", summary.warnings);
}

/// What iperf3 -u shows above the link's rate: 20 Mbit/s of payload are 20.56 on the wire of 10, and 1 - 10 / 20.56 = 51.4 % are lost.
#[test]
fn a_rate_above_the_link_s_loses_the_rest() {
    let summary = run(&one_flow(
        "duration = \"60 s\"\nwarmup = \"5 s\"",
        "rate = \"10 Mbit/s\"\ndelay = \"20 ms\"\nqueue = \"100 packets\"",
        "app = { kind = \"cbr\", rate = \"20 Mbit/s\", message = \"1000 B\" }",
    ));
    let flow = &summary.flows[0];
    close(metric(flow, "loss_rate"), 1.0 - 10.0 / 20.56, 1e-3);
    close(metric(flow, "goodput_bps"), 10e6 * 1000.0 / 1028.0, 1e-3);
    close(metric(flow, "throughput_bps"), 20e6, 1e-3);
    // The queue is full: 100 packets of 822.4 us, one of which is in transmission, and the last one's own time.
    close(metric(flow, "one_way_delay_p50_s"), 0.02 + 100.5 * 822.4e-6, 0.03);
}

/// A Poisson process of messages of the same size is M/D/1: the mean wait is rho / (2 (1 - rho)) times of service (Pollaczek and
/// Khinchine). 972 bytes are 1000 on the wire, 1 ms at 8 Mbit/s.
#[test]
fn poisson_arrivals_wait_as_in_an_m_d_1_queue() {
    for (gap_us, rho) in [(2000, 0.5), (1250, 0.8)] {
        let summary = run(&one_flow(
            "duration = \"1000 s\"\nsample = \"100 s\"",
            "rate = \"8 Mbit/s\"\ndelay = \"10 ms\"\nqueue = \"100000 packets\"",
            &format!(
                "app = {{ kind = \"messages\", gap = {{ exponential = \"{gap_us} us\" }}, size = \"972 B\" }}"
            ),
        ));
        let wait = 1e-3 * rho / (2.0 * (1.0 - rho));
        close(metric(&summary.flows[0], "one_way_delay_mean_s") - 0.011, wait, 0.03);
        close(of_link(&summary, "queue_delay_mean_s"), wait, 0.03);
        close(of_link(&summary, "utilisation"), rho, 0.01);
    }
}

/// Delays that are drawn between 0 and 12 ms differ by a third of that on average; messages 20 ms apart keep their order.
#[test]
fn jitter_is_the_mean_difference_of_delays() {
    let summary = run(&one_flow(
        "duration = \"400 s\"",
        "rate = \"10 Mbit/s\"\ndelay = \"20 ms\"\njitter = { distribution = \"12 ms\", overtaking = true }",
        "app = { kind = \"cbr\", rate = \"80 kbit/s\", message = \"200 B\" }",
    ));
    close(metric(&summary.flows[0], "jitter_s"), 0.004, 0.03);
    assert_eq!(metric(&summary.flows[0], "reordered_packets"), 0.0);
}

/// A datagram that waits for 5 ms is overtaken by those of the next 5 ms.
#[test]
fn overtaken_datagrams_and_copies_are_counted() {
    let summary = run(&one_flow(
        "duration = \"100 s\"",
        "rate = \"10 Mbit/s\"\ndelay = \"20 ms\"\nduplication = \"2 %\"\nreordering = { probability = 0.01, delay = \"5 ms\" }",
        "app = { kind = \"cbr\", rate = \"1 Mbit/s\", message = \"125 B\" }\nstop = \"99 s\"",
    ));
    let flow = &summary.flows[0];
    close(metric(flow, "reordered_packets"), 990.0, 0.15);
    assert_eq!(metric(flow, "duplicate_packets"), of_link(&summary, "duplicated_packets"));
    assert_eq!(metric(flow, "delivered_bytes"), 99_000.0 * 125.0);
}

/// 4,000 bytes are two datagrams of 1,472 and one of 1,056. The last one comes after all three were transmitted.
#[test]
fn a_long_message_is_several_datagrams() {
    let message = |more: &str| {
        run(&one_flow(
            "duration = \"10 s\"",
            "rate = \"10 Mbit/s\"\ndelay = \"20 ms\"",
            &format!(
                "app = {{ kind = \"cbr\", rate = \"32 kbit/s\", message = \"4000 B\" }}\nstop = \"9500 ms\"{more}"
            ),
        ))
    };
    let summary = message("");
    assert_eq!(metric(&summary.flows[0], "sent_packets"), 30.0);
    assert_eq!(metric(&summary.flows[0], "delivered_bytes"), 40_000.0);
    let all = 8.0 * (4000.0 + 3.0 * 28.0) / 10e6;
    assert!((metric(&summary.flows[0], "one_way_delay_max_s") - (0.02 + all)).abs() < 1e-9);
    let jumbo = message("\nudp = { payload = \"8972 B\" }");
    assert_eq!(metric(&jumbo.flows[0], "sent_packets"), 10.0);
}

/// ns-2's Exponential and Pareto: bursts of 500 ms and silences of 500 ms at 1 Mbit/s are 500 kbit/s on average.
#[test]
fn bursts_have_their_mean_rate() {
    for draw in ["exponential = \"500 ms\"", "pareto = \"500 ms\", shape = 2.5"] {
        let app = format!(
            "app = {{ kind = \"on_off\", rate = \"1 Mbit/s\", message = \"210 B\", on = {{ {draw} }}, off = {{ {draw} }} }}"
        );
        let link = "rate = \"10 Mbit/s\"\ndelay = \"20 ms\"";
        let summary = run(&one_flow("duration = \"2000 s\"\nsample = \"100 s\"", link, &app));
        close(metric(&summary.flows[0], "goodput_bps"), 500e3, 0.08);
    }
}

/// A TCP flow has what UDP leaves of 10 Mbit/s: 4 Mbit/s of payload in messages of 1,000 bytes are 4.112 on the wire.
#[test]
fn tcp_gives_way_and_udp_does_not() {
    let summary = run(
        "[run]\nduration = \"60 s\"\nwarmup = \"20 s\"\n[[link]]\nname = \"link\"\nends = [\"a\", \"b\"]\nrate = \"10 Mbit/s\"\n\
         delay = \"10 ms\"\nqueue = \"50 packets\"\n[[flow]]\nname = \"cross\"\nfrom = \"a\"\nto = \"b\"\ntransport = \"udp\"\n\
         app = { kind = \"cbr\", rate = \"4 Mbit/s\", message = \"1000 B\" }\n[[flow]]\nname = \"file\"\nfrom = \"a\"\nto = \"b\"\n",
    );
    let [cross, file] = &summary.flows[..] else { panic!("two flows") };
    close(metric(cross, "goodput_bps"), 4e6, 0.03);
    close(metric(file, "goodput_bps"), (10e6 - 4.112e6) * 1460.0 / 1500.0, 0.05);
    assert!(metric(file, "timeouts") < 5.0 && metric(cross, "retransmitted_packets") == 0.0);
}

/// Marks instead of drops, to which nothing reacts.
#[test]
fn datagrams_that_are_ecn_capable_are_marked() {
    let marked = |udp: &str| {
        let summary = run(&one_flow(
            "duration = \"20 s\"",
            "rate = \"10 Mbit/s\"\ndelay = \"10 ms\"\nqueue = { kind = \"codel\", limit = \"1000 packets\", ecn = true }",
            &format!(
                "app = {{ kind = \"messages\", gap = {{ exponential = \"800 us\" }}, size = \"1000 B\" }}\n{udp}"
            ),
        ));
        metric(&summary.flows[0], "marked_packets")
    };
    assert_eq!(marked(""), 0.0);
    assert!(marked("udp = { ecn = true }") > 100.0);
}

/// What acts on TCP lets datagrams pass, and they take no longer for it.
#[test]
fn middleboxes_let_datagrams_pass() {
    let delay = |middlebox: &str| {
        let text = format!(
            "[run]\nduration = \"10 s\"\n[[link]]\nname = \"near\"\nends = [\"a\", \"m\"]\nrate = \"10 Mbit/s\"\ndelay = \"5 ms\"\n\
             [[link]]\nname = \"line\"\nends = [\"m\", \"n\"]\nrate = \"10 Mbit/s\"\ndelay = \"50 ms\"\n[[link]]\nname = \"far\"\n\
             ends = [\"n\", \"b\"]\nrate = \"10 Mbit/s\"\ndelay = \"5 ms\"\n[[flow]]\nname = \"call\"\nfrom = \"a\"\nto = \"b\"\n\
             transport = \"udp\"\napp = {{ kind = \"cbr\", rate = \"64 kbit/s\", message = \"160 B\", voice = true }}\nstop = \"9 s\"\n\
             [[flow]]\nname = \"file\"\nfrom = \"a\"\nto = \"b\"\nstart = \"9500 ms\"\n{middlebox}"
        );
        let summary = run(&text);
        let call = &summary.flows[0];
        assert_eq!(metric(call, "delivered_bytes"), 450.0 * 172.0, "{middlebox}");
        let told = summary.warnings.iter().any(|warning| {
            warning.code == "untouched_by_middlebox"
                && warning.message.contains("call unchanged: UDP has nothing")
        });
        assert_eq!(told, !middlebox.is_empty() && !middlebox.contains("mss_clamp"), "{:?}", summary.warnings);
        metric(call, "one_way_delay_max_s")
    };
    let plain = delay("");
    for settings in [
        "kind = \"snoop\"\nat = \"m\"",
        "kind = \"premature_ack\"\nat = \"m\"",
        "kind = \"split\"\nat = \"m\"",
        "kind = \"split\"\nat = \"m\"\npeer = \"n\"",
        "kind = \"split\"\nat = \"m\"\npeer = \"n\"\nlong = { transport = \"hop\" }",
        "kind = \"ack_filter\"\nat = \"m\"",
        "kind = \"mss_clamp\"\nat = \"m\"\nmss = \"1200 B\"",
    ] {
        assert_eq!(delay(&format!("[[middlebox]]\nname = \"box\"\n{settings}\n")), plain, "{settings}");
    }
}

/// G.711 over RTP: 160 bytes each 20 ms, 200 with RTP, UDP and IP headers, 80 kbit/s on the wire. 50 ms on the way and 20 ms to speak a
/// message: R = 93.2 - 0.024 x 70.16 and MOS 4.37; each percent of loss at random then costs 95 / 26.1.
#[test]
fn a_call_is_heard_by_its_delay_and_its_losses() {
    let call = |link: &str| {
        run(&one_flow(
            "duration = \"1000 s\"\nsample = \"100 s\"",
            &format!("rate = \"10 Mbit/s\"\ndelay = \"50 ms\"\n{link}"),
            "app = { kind = \"cbr\", rate = \"64 kbit/s\", message = \"160 B\", voice = true }",
        ))
    };
    let mos = |r: f64| 1.0 + 0.035 * r + r * (r - 60.0) * (100.0 - r) * 7e-6;
    let delay = 0.024 * (20.0 + 50.0 + 0.16);
    let quiet = call("");
    close(metric(&quiet.flows[0], "mos"), mos(93.2 - delay), 1e-4);
    close(metric(&quiet.flows[0], "call_delay_s"), 0.070_16, 1e-4);
    close(of_link(&quiet, "throughput_bps"), 80e3, 1e-3);
    let lossy = call("loss = \"2 %\"");
    let lost = 100.0 * metric(&lossy.flows[0], "loss_rate");
    close(metric(&lossy.flows[0], "mos"), mos(93.2 - delay - 95.0 * lost / (lost + 25.1)), 1e-3);
    assert_eq!(metric(&lossy.flows[0], "late_messages"), 0.0);
}

/// Jitter uniform from 0 to 40 ms: a buffer that holds the first message for 60 ms loses none, one of 1 ms most, and the adaptive one
/// waits for the mean and four times the mean deviation, 20 + 4 x 10 ms: as good as none is late.
#[test]
fn playout_buffers_trade_delay_for_late_messages() {
    let call = |playout: &str| {
        let summary = run(&one_flow(
            "duration = \"1000 s\"\nwarmup = \"100 s\"\nsample = \"100 s\"",
            "rate = \"10 Mbit/s\"\ndelay = \"50 ms\"\njitter = { distribution = \"40 ms\", overtaking = true }",
            &format!(
                "app = {{ kind = \"cbr\", rate = \"64 kbit/s\", message = \"160 B\", voice = {{ playout = \"{playout}\" }} }}"
            ),
        ));
        ["late_messages", "call_delay_s", "mos"].map(|name| metric(&summary.flows[0], name))
    };
    let [late, delay, mos] = call("60 ms");
    assert!(late == 0.0 && (0.13..0.18).contains(&delay), "{late}, {delay}");
    let [late_short, _, mos_short] = call("1 ms");
    assert!(late_short > 0.02 && mos_short < mos, "{late_short}, {mos_short}");
    let [late_adaptive, delay_adaptive, mos_adaptive] = call("adaptive");
    close(delay_adaptive, 0.02 + 0.050_16 + 0.02 + 4.0 * 0.01, 0.02);
    assert!(late_adaptive < 1e-3 && mos_adaptive > 4.2, "{late_adaptive}, {mos_adaptive}");
    let [_, _, best] = call("best");
    assert!(best >= mos_adaptive && best >= mos, "{best}, {mos_adaptive}, {mos}");
}

/// A call beside a transfer: behind a bloated queue it is late by that, in a queue of its own (fq_codel) it is not.
#[test]
fn a_call_beside_a_transfer_has_its_own_queue_with_fq_codel() {
    let mos = |queue: &str| {
        let text = format!(
            "[run]\nduration = \"60 s\"\nwarmup = \"10 s\"\n[[link]]\nname = \"link\"\nends = [\"a\", \"b\"]\nrate = \"2 Mbit/s\"\n\
             delay = \"20 ms\"\nqueue = {{ kind = \"{queue}\", limit = \"200 packets\" }}\n[[flow]]\nname = \"call\"\nfrom = \"a\"\nto = \"b\"\n\
             transport = \"udp\"\napp = {{ kind = \"cbr\", rate = \"64 kbit/s\", message = \"160 B\", voice = true }}\n[[flow]]\n\
             name = \"file\"\nfrom = \"a\"\nto = \"b\"\n"
        );
        metric(&run(&text).flows[0], "mos")
    };
    assert!(mos("droptail") < 2.0, "{}", mos("droptail"));
    assert!(mos("fq_codel") > 4.2, "{}", mos("fq_codel"));
}

/// What is captured is an IPv4 packet with a UDP header: 20 bytes and 8, the lengths that the wire has.
#[test]
fn a_capture_has_udp_headers() {
    let path = std::env::temp_dir().join(format!("longhaul-{}-udp", std::process::id()));
    let text = one_flow(
        "duration = \"1 s\"\ncapture = [\"link\"]\nmonitor = [\"link\"]",
        "rate = \"10 Mbit/s\"\ndelay = \"20 ms\"",
        "app = { kind = \"cbr\", rate = \"80 kbit/s\", message = \"1000 B\" }",
    );
    let scenario = load(&text, "test", &[]).unwrap();
    let write_table = |_: &longhaul_sim::Table| Ok(vec![]);
    let out = longhaul_sim::Output { directory: &path, write_table: &write_table };
    let outcome = simulate(&scenario, RunOptions { out: Some(out), ..RunOptions::default() }).unwrap();
    let file = std::fs::read(path.join("packets.pcapng")).unwrap();
    std::fs::remove_dir_all(path).unwrap();
    let header = [0x45, 0, 0x04, 0x04];
    let packets: Vec<&[u8]> =
        file.windows(28).filter(|bytes| bytes.starts_with(&header) && bytes[9] == 17).collect();
    assert_eq!(packets.len(), 10);
    for packet in packets {
        assert_eq!(u16::from_be_bytes([packet[22], packet[23]]), 5001);
        assert_eq!(u16::from_be_bytes([packet[24], packet[25]]), 1008);
    }
    let monitored = &outcome.summary.links[0].monitor[0].metrics;
    assert_eq!(monitored.get("offered_bytes"), Some(10.0 * 1028.0));
}

#[test]
fn what_datagrams_cannot_carry_is_refused() {
    let link = "rate = \"10 Mbit/s\"\ndelay = \"20 ms\"";
    let flow = |flow: &str| refusal(&one_flow("duration = \"1 s\"", link, flow));
    let cbr = "app = { kind = \"cbr\", rate = \"1 Mbit/s\" }\n";
    for (text, part) in [
        ("", "give a rate, as in app = { kind = \"cbr\""),
        (
            "app = { kind = \"request\", response = \"1 kB\" }",
            "\"request\" takes a connection, which UDP has not",
        ),
        ("app = { kind = \"keystrokes\" }", "over UDP are \"cbr\", \"on_off\", \"messages\" and \"trace\""),
        (&format!("{cbr}tcp = {{ mss = \"1000 B\" }}"), "the flow uses UDP; its settings are in `udp`"),
        (&format!("{cbr}quic = {{ ack_every = 3 }}"), "the flow uses UDP; its settings are in `udp`"),
        (&format!("{cbr}udp = {{ payload = \"65508 B\" }}"), "65507 B"),
        (&format!("{cbr}trace = true"), "run.capture has its packets"),
        (&format!("{cbr}duration = \"1 s\"\nending = \"reset\""), "there is no connection with UDP"),
        (
            "app = { kind = \"cbr\", rate = \"64 kbit/s\", message = \"1461 B\", voice = true }",
            "a message of a call is one datagram",
        ),
    ] {
        let message = flow(text);
        assert!(message.contains(part), "{part:?} is missing in:\n{message}");
    }
    let over_tcp = |more: &str| {
        refusal(&one_flow("duration = \"1 s\"", link, more).replace("transport = \"udp\"\n", ""))
    };
    let message = over_tcp(&format!("{cbr}udp = {{ ecn = true }}"));
    assert!(message.contains("the flow uses TCP; add transport = \"udp\""), "{message}");
    let call = "app = { kind = \"cbr\", rate = \"64 kbit/s\", message = \"160 B\", voice = { playout = \"60 ms\" } }";
    let message = over_tcp(call);
    assert!(message.contains("set transport = \"udp\""), "{message}");
}

#[test]
fn throttles_and_compressed_lines_take_no_datagrams() {
    let text = |middlebox: &str, serial: &str| {
        format!(
            "[run]\nduration = \"1 s\"\n[[link]]\nname = \"near\"\nends = [\"a\", \"m\"]\nrate = \"10 Mbit/s\"\ndelay = \"5 ms\"\n{serial}\n\
             [[link]]\nname = \"far\"\nends = [\"m\", \"b\"]\nrate = \"10 Mbit/s\"\ndelay = \"5 ms\"\n[[flow]]\nfrom = \"a\"\nto = \"b\"\n\
             transport = \"udp\"\napp = {{ kind = \"cbr\", rate = \"1 Mbit/s\" }}\n{middlebox}"
        )
    };
    let throttle = "[[middlebox]]\nname = \"police\"\nkind = \"throttle\"\nat = \"m\"\nrate = \"1 Mbit/s\"\n";
    let message = refusal(&text(throttle, ""));
    assert!(message.contains("\"police\" throttles TCP segments only"), "{message}");
    let message = refusal(&text("", "serial = { framing = \"slip\", vj = {} }"));
    assert!(message.contains("has no form for UDP packets"), "{message}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    /// Whatever happens on the way: each datagram and each copy of one arrives or is dropped, and how it is computed changes nothing.
    #[test]
    fn datagrams_are_conserved_beside_tcp(
        mbit in 1u32..20,
        packets in 2u32..60,
        kbit in 100u32..20_000,
        payload in 50u32..1472,
        discipline in prop_oneof![Just("droptail"), Just("red"), Just("fq_codel"), Just("drr"), Just("pie"), Just("head_drop")],
        wire in prop_oneof![
            Just(""), Just("loss = \"2 %\""), Just("duplication = \"3 %\""), Just("corruption = \"2 %\""),
            Just("jitter = { distribution = \"30 ms\", overtaking = true }"),
            Just("outages = [{ start = \"2 s\", duration = \"1 s\" }]"),
        ],
        access in any::<bool>(),
        seed in 0u64..1000,
    ) {
        let access = if access { "access = { rate = \"20 Mbit/s\", delay = \"1 ms\" }" } else { "" };
        let text = format!(
            "[run]\nduration = \"20 s\"\nseed = {seed}\n[[link]]\nname = \"link\"\nends = [\"a\", \"b\"]\nrate = \"{mbit} Mbit/s\"\n\
             delay = \"20 ms\"\nqueue = {{ kind = \"{discipline}\", limit = \"{packets} packets\" }}\n{wire}\n\
             [[flow]]\nname = \"file\"\nfrom = \"a\"\nto = \"b\"\napp = {{ kind = \"bulk\", size = \"2 MB\" }}\n{access}\n\
             [[flow]]\nname = \"cross\"\nfrom = \"a\"\nto = \"b\"\ntransport = \"udp\"\nstop = \"8 s\"\n{access}\n\
             app = {{ kind = \"cbr\", rate = \"{kbit} kbit/s\", message = \"3000 B\" }}\nudp = {{ payload = \"{payload} B\" }}\n\
             [[flow]]\nname = \"bursts\"\nfrom = \"b\"\nto = \"a\"\ntransport = \"udp\"\nstop = \"9 s\"\n{access}\n\
             app = {{ kind = \"on_off\", rate = \"2 Mbit/s\", on = {{ exponential = \"100 ms\" }}, off = {{ exponential = \"100 ms\" }} }}\n"
        );
        let whole = outcome(&text);
        let scenario = load(&text, "test", &[]).unwrap();
        let plain = simulate(&scenario, RunOptions { serve_ahead: false, ..RunOptions::default() }).unwrap();
        prop_assert_eq!(serde_json::to_string(&whole.summary).unwrap(), serde_json::to_string(&plain.summary).unwrap());
        prop_assert_eq!(&whole.tables.flows, &plain.tables.flows);
        let flows = &whole.summary.flows;
        // Copies are of flows by no counter: sums over all flows, ACKs left out, are at most the copies above what was sent.
        let copies: f64 = whole.summary.links.iter().filter_map(|link| link.metrics.get("duplicated_packets")).sum();
        for flow in &flows[1..] {
            let of = |name: &str| flow.metrics.get(name).unwrap();
            let (sent, ended) = (of("sent_packets"), of("received_packets") + of("lost_packets"));
            prop_assert!(sent <= ended && ended <= sent + copies, "{} sent, {} ended, {} copies", sent, ended, copies);
            prop_assert!(of("received_packets") - of("duplicate_packets") <= sent);
            if copies == 0.0 {
                prop_assert_eq!(of("delivered_bytes") + 0.0 <= of("throughput_bps") * 9.0 / 8.0, true);
                prop_assert_eq!(of("duplicate_packets"), 0.0);
            }
        }
        prop_assert_eq!(flows[1].state.as_str(), "Closed");
    }
}
