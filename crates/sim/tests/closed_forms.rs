//! Simulations whose outcome can be worked out on paper.

use longhaul_results::{FlowSummary, Summary};
use longhaul_sim::{RunOptions, load, simulate};

fn run(text: &str) -> Summary {
    let scenario = load(text, "test", &[]).unwrap_or_else(|error| panic!("{error}"));
    simulate(&scenario, RunOptions::default()).unwrap().summary
}

fn metric(flow: &FlowSummary, name: &str) -> f64 {
    flow.metrics.get(name).unwrap_or_else(|| panic!("no {name}"))
}

fn close(found: f64, expected: f64, tolerance: f64) {
    assert!((found / expected - 1.0).abs() <= tolerance, "{found} is not within {tolerance} of {expected}");
}

/// One flow over one link; 1000 bytes of payload make 1040 on the wire.
fn one_flow(run: &str, link: &str, flow: &str, tcp: &str) -> Summary {
    self::run(&format!(
        "[run]\n{run}\n[[link]]\nname = \"link\"\nends = [\"a\", \"b\"]\n{link}\n[[flow]]\nfrom = \"a\"\nto = \"b\"\n{flow}\n\
         tcp = {{ mss = \"1000 B\", {tcp} }}\n"
    ))
}

#[test]
fn a_fixed_window_gives_window_over_rtt() {
    // 20 packets of 1000 B in each round trip. RTT: 2 x 250 ms, 1040 B and 40 B at 100 Mbit/s = 83.2 us and 3.2 us:
    // 500.0864 ms. 20,000 B x 8 / 0.5000864 s = 319,945 bit/s.
    let summary = one_flow(
        "duration = \"105 s\"\nwarmup = \"5 s\"",
        "rate = \"100 Mbit/s\"\ndelay = \"250 ms\"",
        "",
        "congestion = { kind = \"fixed\", window = \"20 packets\" }, established = true, delayed_ack = \"off\"",
    );
    close(metric(&summary.flows[0], "goodput_bps"), 319_945.0, 0.005);
    close(metric(&summary.flows[0], "rtt_mean_s"), 0.5000864, 0.0002);
}

#[test]
fn a_window_that_sttp_takes_its_peer_to_have_is_named() {
    // 20 segments of 1460 B over 512 ms are 456 kbit/s.
    let flow = |more: &str| {
        one_flow(
            "duration = \"60 s\"\nwarmup = \"20 s\"",
            "rate = \"20 Mbit/s\"\ndelay = \"256 ms\"",
            "",
            &format!("congestion = {{ kind = \"sttp\"{more} }}, slow_start = \"packet_pair\""),
        )
    };
    let named = |more: &str| flow(more).warnings.iter().any(|warning| warning.code == "peer_window");
    assert!(metric(&flow("").flows[0], "goodput_bps") <= 456_250.0);
    assert!(named(""));
    assert!(!named(", peer_window = 0"));
}

#[test]
fn a_small_receive_buffer_limits_and_is_named() {
    // 64 KiB over 512 ms: 65,536 x 8 / 0.512 = 1.024 Mbit/s.
    let summary = one_flow(
        "duration = \"100 s\"\nwarmup = \"20 s\"",
        "rate = \"50 Mbit/s\"\ndelay = \"256 ms\"",
        "",
        "receive_buffer = \"64 KiB\"",
    );
    let flow = &summary.flows[0];
    close(metric(flow, "goodput_bps"), 1_024_000.0, 0.03);
    let share = flow.limited.iter().find(|(name, _)| *name == "receiver_window").unwrap().1;
    assert!(share > 0.95, "limited by the receiver's window for {share} of the time");
    assert!(
        summary.warnings.iter().any(|warning| warning.code == "receive_buffer"),
        "{:?}",
        summary.warnings
    );
    close(flow.predicted.get("window_limit_bps").unwrap(), 1_024_000.0, 0.02);
}

#[test]
fn a_small_queue_in_bytes_is_warned_of() {
    let warned = |limit: &str| {
        let link = format!(
            "rate = \"10 Mbit/s\"\ndelay = \"10 ms\"\nqueue = {{ kind = \"droptail\", limit = \"{limit}\" }}"
        );
        let summary = one_flow("duration = \"2 s\"", &link, "", "nagle = false");
        summary.warnings.iter().any(|warning| warning.code == "queue_below_a_packet")
    };
    // A packet of 1000 bytes of payload has 40 bytes of headers.
    assert!(warned("1039 B"));
    assert!(!warned("1040 B"));
    assert!(!warned("1 packets"));
}

#[test]
fn packets_that_a_link_does_not_carry_are_warned_of() {
    let warned = |mtu: &str, more: &str| {
        let link = format!("rate = \"10 Mbit/s\"\ndelay = \"10 ms\"\nmtu = \"{mtu}\"\n{more}");
        let summary = one_flow("duration = \"2 s\"", &link, "", "nagle = false");
        summary.warnings.iter().filter(|warning| warning.code == "packets_above_the_mtu").count()
    };
    // A packet of 1000 bytes of payload has 40 bytes of headers.
    assert_eq!((warned("1039 B", ""), warned("1040 B", "")), (1, 0));
    assert_eq!(warned("1039 B", "too_big = \"dropped\""), 1);
}

#[test]
fn slow_start_doubles_every_round_trip() {
    // From 2 packets, doubling each 500 ms with an ACK for each packet: 2, 4, 8, ... A transfer of 2 + 4 + 8 + 16 + 32 = 62
    // packets ends when the fifth flight has arrived: 4 round trips and one way, 4 x 500.0864 ms + 250.0832 ms, and 31 more
    // packets of the last flight at 83.2 us: the ACKs that clock it out came back in pairs of the flight before.
    let summary = one_flow(
        "duration = \"10 s\"",
        "rate = \"100 Mbit/s\"\ndelay = \"250 ms\"",
        "app = { kind = \"bulk\", size = \"62 kB\" }",
        "initial_window = 2, established = true, delayed_ack = \"off\", nagle = false",
    );
    close(metric(&summary.flows[0], "completion_time_s"), 2.2530, 0.002);
}

#[test]
fn a_handshake_takes_one_round_trip_more() {
    let time = |established: &str| {
        let summary = one_flow(
            "duration = \"10 s\"",
            "rate = \"100 Mbit/s\"\ndelay = \"250 ms\"",
            "app = { kind = \"bulk\", size = \"10 kB\" }",
            &format!("established = {established}"),
        );
        metric(&summary.flows[0], "completion_time_s")
    };
    close(time("false") - time("true"), 0.5, 0.001);
}

#[test]
fn reno_under_random_loss_follows_the_square_root_formula() {
    // Mathis et al. 1997: W = sqrt(3 / (2 p)); p = 1e-3: 38.7 packets. Averaged over 3000 round trips.
    let summary = one_flow(
        "duration = \"600 s\"\nwarmup = \"20 s\"",
        "rate = \"1 Gbit/s\"\ndelay = \"50 ms\"\nforward = { loss = { kind = \"random\", probability = 1e-3 } }",
        "",
        "congestion = \"reno\", established = true, delayed_ack = \"off\"",
    );
    let flow = &summary.flows[0];
    let window = metric(flow, "goodput_bps") * metric(flow, "rtt_mean_s") / 8000.0;
    close(window, 38.7, 0.12);
}

/// The response functions that papers print, at their own event rate: what a lossy path shows of them. In recovery the window
/// stands still for a round trip, which the formulas leave out. For Scalable that is always one round trip in 14: its logarithm grows
/// by a = 0.01 in each of the others and falls by -ln(1 - b) = 0.1335 in an event (b = 0.125), so that there are
/// p W = a / (0.1335 + a) = 0.0697 events in a round trip, where the formula a / (b p) has 0.08: W is 0.87 of it.
#[test]
fn algorithms_follow_their_response_functions_under_random_loss() {
    for (congestion, formula, share, tolerance) in [
        ("\"highspeed\"", "highspeed_bps", 1.0, 0.05),
        ("\"scalable\"", "scalable_bps", 0.87, 0.04),
        ("\"hybla\"", "hybla_bps", 1.0, 0.12),
        ("\"compound\"", "compound_bps", 1.0, 0.12),
    ] {
        let summary = one_flow(
            "duration = \"600 s\"\nwarmup = \"60 s\"",
            "rate = \"1 Gbit/s\"\ndelay = \"50 ms\"\nforward = { loss = { kind = \"random\", probability = 1e-4 } }",
            "",
            &format!(
                "congestion = {congestion}, established = true, initial_ssthresh = \"500 packets\", delayed_ack = \"off\""
            ),
        );
        let flow = &summary.flows[0];
        let predicted = flow.predicted.get(formula).unwrap_or_else(|| panic!("no {formula}"));
        close(metric(flow, "goodput_bps"), share * predicted, tolerance);
    }
}

/// A receiver that forgets what lies far above a gap sees it arrive all the same.
#[test]
fn what_is_not_reassembled_has_arrived() {
    let summary = one_flow(
        "duration = \"60 s\"",
        "rate = \"50 Mbit/s\"\ndelay = \"100 ms\"\nqueue = { kind = \"droptail\", limit = \"500 packets\" }",
        "",
        "congestion = \"reno\", reassembly_limit = \"300 packets\", established = true, delayed_ack = \"off\"",
    );
    let utilisation = summary.links[0].metrics.get("utilisation").unwrap();
    // Headers are sent as well; a window's worth is on the way at the end.
    close(metric(&summary.flows[0], "throughput_bps"), utilisation * 50e6, 0.06);
    assert!(metric(&summary.flows[0], "timeouts") > 0.0);
}

#[test]
fn reno_under_periodic_loss_is_a_regular_sawtooth() {
    // Mathis et al. 1997: if each 1000th packet is lost, the window goes from W / 2 to W = sqrt(8 n / 3) = 51.6 packets, and the
    // mean is sqrt(3 n / 2) = 38.73. A cycle takes 26 round trips, and one more in recovery, which the formula leaves out:
    // 1000 packets in 27 round trips, 37.04.
    let summary = one_flow(
        "duration = \"300 s\"\nwarmup = \"20 s\"",
        "rate = \"1 Gbit/s\"\ndelay = \"50 ms\"\nforward = { loss = { kind = \"periodic\", every = 1000 } }",
        "",
        "congestion = \"reno\", established = true, delayed_ack = \"off\"",
    );
    let flow = &summary.flows[0];
    let window = metric(flow, "goodput_bps") * metric(flow, "rtt_mean_s") / 8000.0;
    close(window, 37.04, 0.01);
    close(metric(flow, "loss_rate"), 0.001, 0.01);
    assert_eq!(metric(flow, "timeouts"), 0.0);
}

#[test]
fn vegas_flows_keep_alpha_to_beta_packets_each_in_the_queue() {
    // Four flows, 10 Mbit/s of 1040 bytes = 1201.9 packets/s; the RTT without a queue is 101.7 ms, which holds 122.2 packets.
    // Brakmo and Peterson 1995: each keeps 1 to 3 packets waiting. The base RTT of a flow that never saw the queue empty is
    // too large by what it saw: with the starts here at most by one packet of each other flow.
    let summary = run(
        "[run]\nduration = \"120 s\"\nwarmup = \"60 s\"\n[[link]]\nname = \"link\"\nends = [\"a\", \"b\"]\n\
         rate = \"10 Mbit/s\"\ndelay = \"50 ms\"\nqueue = { kind = \"droptail\", limit = \"200 packets\" }\n\
         [[flow]]\nfrom = \"a\"\nto = \"b\"\ncount = 4\naccess = { rate = \"100 Mbit/s\", delay = \"0 ms\" }\n\
         tcp = { mss = \"1000 B\", congestion = \"vegas\", established = true, delayed_ack = \"off\" }\n",
    );
    let link = &summary.links[0].metrics;
    let queued = link.get("queue_mean_packets").unwrap();
    assert!((4.0..=4.0 * (3.0 + 3.0)).contains(&queued), "{queued} packets in the queue");
    close(link.get("utilisation").unwrap(), 1.0, 0.001);
    assert_eq!(summary.run.get("loss_rate"), Some(0.0));
    let windows: f64 = summary.flows.iter().map(|flow| metric(flow, "cwnd_mean_bytes") / 1000.0).sum();
    close(windows, 122.2 + queued, 0.03);
}

#[test]
fn bbr_fills_a_lossy_path_that_reno_leaves_empty() {
    // 10 Mbit/s, 100 ms, a queue of one bandwidth-delay product, 1 % loss: Reno has Mathis' window of 12 packets, 1 Mbit/s. BBR
    // loses what is lost, 2 % of the time to ProbeRTT (200 ms and the round trips around it in 10 s), and some in recoveries.
    let goodput = |congestion: &str| {
        let summary = one_flow(
            "duration = \"120 s\"\nwarmup = \"20 s\"",
            "rate = \"10 Mbit/s\"\ndelay = \"50 ms\"\nqueue = { kind = \"droptail\", limit = \"120 packets\" }\n\
             forward = { loss = { kind = \"random\", probability = 0.01 } }",
            "",
            &format!("congestion = \"{congestion}\""),
        );
        metric(&summary.flows[0], "goodput_bps") / (10e6 * 1000.0 / 1040.0)
    };
    assert!(goodput("bbr") > 0.85, "{}", goodput("bbr"));
    assert!(goodput("reno") < 0.15, "{}", goodput("reno"));
}

#[test]
fn bbr_keeps_the_queue_short() {
    // The same path without loss: a quarter of a bandwidth-delay product (30 packets) for one round in eight, and the RTT
    // between its least and that.
    let summary = one_flow(
        "duration = \"120 s\"\nwarmup = \"20 s\"",
        "rate = \"10 Mbit/s\"\ndelay = \"50 ms\"\nqueue = { kind = \"droptail\", limit = \"240 packets\" }",
        "",
        "congestion = \"bbr\"",
    );
    let link = &summary.links[0].metrics;
    assert!(link.get("queue_mean_packets").unwrap() < 12.0, "{:?}", link.get("queue_mean_packets"));
    assert!(link.get("queue_max_packets").unwrap() < 45.0, "{:?}", link.get("queue_max_packets"));
    assert!(link.get("utilisation").unwrap() > 0.95);
}

#[test]
fn a_flow_fills_a_link_with_enough_queue() {
    // The payload's share of the rate: 10 Mbit/s x 1000 / 1040 = 9.6154 Mbit/s.
    let summary = one_flow(
        "duration = \"120 s\"\nwarmup = \"60 s\"",
        "rate = \"10 Mbit/s\"\ndelay = \"20 ms\"\nqueue = { kind = \"droptail\", limit = \"100 packets\" }",
        "",
        "congestion = \"reno\"",
    );
    close(metric(&summary.flows[0], "goodput_bps"), 9_615_384.0, 0.002);
    close(summary.links[0].metrics.get("utilisation").unwrap(), 1.0, 0.001);
}

#[test]
fn a_constant_bit_rate_is_delivered_and_limited_by_the_application() {
    let summary = one_flow(
        "duration = \"60 s\"\nwarmup = \"10 s\"",
        "rate = \"10 Mbit/s\"\ndelay = \"20 ms\"",
        "app = { kind = \"cbr\", rate = \"1 Mbit/s\", message = \"1000 B\" }",
        "congestion = \"cubic\"",
    );
    let flow = &summary.flows[0];
    close(metric(flow, "goodput_bps"), 1e6, 0.001);
    let share = flow.limited.iter().find(|(name, _)| *name == "application").unwrap().1;
    assert!(share > 0.95, "limited by the application for {share} of the time");
}

#[test]
fn requests_are_answered_one_after_the_other() {
    // 1000 B fit one segment: after the first, each response takes one round trip, 2 x 50 ms and transmission of 340 B and
    // 1040 B at 100 Mbit/s (27.2 us + 83.2 us), then the client thinks for 100 ms.
    let summary = one_flow(
        "duration = \"20 s\"",
        "rate = \"100 Mbit/s\"\ndelay = \"50 ms\"",
        "app = { kind = \"request\", request = \"300 B\", response = \"1000 B\", think = \"100 ms\", requests = 10 }",
        "established = true",
    );
    let flow = &summary.flows[0];
    assert_eq!(metric(flow, "responses"), 10.0);
    close(metric(flow, "response_time_mean_s"), 0.1001104, 0.0001);
    close(metric(flow, "completion_time_s"), 10.0 * 0.1001104 + 9.0 * 0.1, 0.0001);
}

#[test]
fn a_rain_fade_slows_a_flow_down_and_lets_it_recover() {
    let scenario = load(
        "[run]\nduration = \"120 s\"\nsample = \"1 s\"\n[[link]]\nname = \"link\"\nends = [\"a\", \"b\"]\n\
         rate = \"10 Mbit/s\"\ndelay = \"50 ms\"\nqueue = { kind = \"droptail\", limit = \"100 packets\" }\n\
         changes = [{ at = \"40 s\", rate = \"2 Mbit/s\" }, { at = \"80 s\", rate = \"10 Mbit/s\" }]\n\
         [[flow]]\nfrom = \"a\"\nto = \"b\"\n",
        "test",
        &[],
    )
    .unwrap();
    let outcome = simulate(&scenario, RunOptions::default()).unwrap();
    let mean = |from: f64, to: f64| {
        let rows: Vec<f64> = outcome
            .tables
            .links
            .iter()
            .filter(|row| row.link == 0 && row.time_s > from && row.time_s <= to)
            .map(|row| row.throughput_bps)
            .collect();
        rows.iter().sum::<f64>() / rows.len() as f64
    };
    let script: Vec<(f64, f64)> = outcome
        .tables
        .events
        .iter()
        .filter(|event| event.kind == "link_rate" && event.link == 0)
        .map(|event| (event.time_s, event.value))
        .collect();
    assert_eq!(script, [(40.0, 2e6), (80.0, 10e6)], "the script is among the events");
    close(mean(20.0, 40.0), 10e6, 0.05);
    close(mean(45.0, 80.0), 2e6, 0.02);
    close(mean(95.0, 120.0), 10e6, 0.1);
}

/// What waits in the queue when a fade begins is lost when it is transmitted: neither the time series nor the list of events
/// has a loss outside the fade.
#[test]
fn losses_of_a_fade_are_within_it() {
    let scenario = load(
        "[run]\nduration = \"60 s\"\nsample = \"100 ms\"\n[[link]]\nname = \"link\"\nends = [\"a\", \"b\"]\nrate = \"2 Mbit/s\"\n\
         delay = \"50 ms\"\noutages = [{ start = \"30 s\", duration = \"1 s\" }]\nqueue = { kind = \"droptail\", limit = \"200 packets\" }\n\
         [[flow]]\nfrom = \"a\"\nto = \"b\"\n",
        "test",
        &[],
    )
    .unwrap();
    let tables = simulate(&scenario, RunOptions::default()).unwrap().tables;
    let lost = |from: f64, to: f64| -> u32 {
        let within = tables.links.iter().filter(|row| row.time_s > from + 1e-9 && row.time_s <= to + 1e-9);
        within.map(|row| row.drops_loss).sum()
    };
    // 2 Mbit/s are 167 packets of 1500 B in a second; the ACKs' direction loses some too.
    assert!((150..=250).contains(&lost(30.0, 31.0)), "{} lost", lost(30.0, 31.0));
    assert_eq!((lost(0.0, 30.0), lost(31.0, 60.0)), (0, 0));
    let events: Vec<f64> =
        tables.events.iter().filter(|event| event.kind == "loss").map(|event| event.time_s).collect();
    assert_eq!(events.len(), lost(30.0, 31.0) as usize);
    assert!(events.iter().all(|time| (30.0..31.0).contains(time)), "{events:?}");
}

#[test]
fn a_transfer_that_cannot_finish_is_named() {
    let summary = one_flow(
        "duration = \"5 s\"",
        "rate = \"1 Mbit/s\"\ndelay = \"50 ms\"",
        "app = { kind = \"bulk\", size = \"10 MB\" }",
        "",
    );
    assert!(summary.warnings.iter().any(|warning| warning.code == "not_finished"));
    assert_eq!(summary.flows[0].metrics.get("completion_time_s"), None);
}

#[test]
fn a_closed_connection_has_sent_every_byte_once() {
    let summary = one_flow(
        "duration = \"100 s\"",
        "rate = \"10 Mbit/s\"\ndelay = \"50 ms\"\nloss = { kind = \"random\", probability = \"1 %\" }",
        "app = { kind = \"bulk\", size = \"3 MB\" }",
        "",
    );
    let flow = &summary.flows[0];
    assert_eq!(metric(flow, "delivered_bytes"), 3e6);
    assert_eq!(flow.state, "Closed", "FIN and TIME-WAIT are over");
}

/// 20 packets a round trip of 0.5000864 s (see above): what is sent up to 1.6 s are four windows.
fn stopped_flow(ending: &str, loss: &str) -> Summary {
    one_flow(
        "duration = \"20 s\"",
        &format!("rate = \"100 Mbit/s\"\ndelay = \"250 ms\"\n{loss}"),
        &format!("start = \"1 s\"\nduration = \"1.6 s\"\n{ending}"),
        "congestion = { kind = \"fixed\", window = \"20 packets\" }, established = true, delayed_ack = \"off\"",
    )
}

#[test]
fn a_flow_stops_after_its_duration() {
    let summary = stopped_flow("", "");
    let flow = &summary.flows[0];
    assert_eq!(metric(flow, "sent_packets"), 80.0);
    assert_eq!(metric(flow, "delivered_bytes"), 80_000.0);
    close(metric(flow, "goodput_bps"), 80_000.0 * 8.0 / 1.6, 1e-9);
    assert_eq!(flow.state, "Closed");
}

#[test]
fn a_reset_flow_repairs_nothing_more() {
    let loss = "forward = { loss = { kind = \"random\", probability = 0.2 } }";
    let (closed, reset) = (stopped_flow("", loss), stopped_flow("ending = \"reset\"", loss));
    let (closed, reset) = (&closed.flows[0], &reset.flows[0]);
    assert!(metric(reset, "delivered_bytes") < metric(closed, "delivered_bytes"));
    assert!(metric(reset, "sent_packets") < metric(closed, "sent_packets"));
    assert_eq!([closed.state.as_str(), reset.state.as_str()], ["Closed"; 2]);
}

#[test]
fn streams_share_a_transfer_and_its_last_byte_ends_it() {
    let summary = one_flow(
        "duration = \"100 s\"",
        "rate = \"10 Mbit/s\"\ndelay = \"50 ms\"\nforward = { loss = { kind = \"random\", probability = \"1 %\" } }",
        "streams = 3\napp = { kind = \"bulk\", size = \"1000001 B\" }",
        "",
    );
    let parts: Vec<f64> = summary.flows.iter().map(|flow| metric(flow, "delivered_bytes")).collect();
    assert_eq!(parts, [333_334.0, 333_334.0, 333_333.0]);
    let times = summary.flows.iter().map(|flow| metric(flow, "completion_time_s"));
    let group = &summary.groups[0].metrics;
    assert_eq!(group.get("completion_time_mean_s"), times.reduce(f64::max));
    assert_eq!(group.get("completed_flows"), Some(1.0));
    assert_eq!(group.get("delivered_bytes"), Some(1_000_001.0));
}

#[test]
fn groups_share_the_link_that_carries_them() {
    // Two groups fill a link; what they take of it adds up to the link's own utilisation. What differs is in the queue or on
    // the way when the measured time begins and ends: at most 2 x (200 + 84) packets of 500,000.
    let summary = run("[run]\nduration = \"100 s\"\nwarmup = \"40 s\"\n[dumbbell]\n\
         bottleneck = { rate = \"100 Mbit/s\", delay = \"10 ms\", queue = { kind = \"droptail\", limit = \"200 packets\" } }\n\
         [[flow]]\nname = \"reno\"\ncount = 4\ntcp = { congestion = \"reno\" }\n\
         [[flow]]\nname = \"cubic\"\ncount = 2\nstart = \"1 s\"\n");
    let metric = |group: usize, name| summary.groups[group].metrics.get(name).unwrap();
    let link = &summary.links[0].metrics;
    let shares = metric(0, "utilisation") + metric(1, "utilisation");
    close(shares, link.get("utilisation").unwrap(), 0.001);
    let losses = metric(0, "congestion_signals") + metric(1, "congestion_signals");
    assert_eq!(losses, link.get("drops_queue").unwrap());
    assert_eq!(losses, link.get("congestion_signals").unwrap());
    let received = metric(0, "received_packets") + metric(1, "received_packets");
    close(losses / received, link.get("congestion_signal_rate").unwrap(), 0.001);
}

#[test]
fn a_fixed_window_is_what_is_sent_in_a_round_trip() {
    let summary = one_flow(
        "duration = \"105 s\"\nwarmup = \"5 s\"",
        "rate = \"100 Mbit/s\"\ndelay = \"250 ms\"",
        "",
        "congestion = { kind = \"fixed\", window = \"20 packets\" }, established = true, delayed_ack = \"off\"",
    );
    close(metric(&summary.flows[0], "packets_per_rtt"), 20.0, 0.006);
    // 20 x 1040 B in 500.0864 ms over 100 Mbit/s.
    close(metric(&summary.flows[0], "utilisation"), 0.003327, 0.006);
}

#[test]
fn congestion_events_have_a_first_and_a_last_time() {
    let summary = one_flow(
        "duration = \"60 s\"\nwarmup = \"10 s\"",
        "rate = \"10 Mbit/s\"\ndelay = \"20 ms\"\noutages = [{ start = \"30 s\", duration = \"5 s\" }]\nqueue = { kind = \"droptail\", limit = \"1000 packets\" }",
        "",
        "congestion = { kind = \"fixed\", window = \"20 packets\" }",
    );
    let flow = &summary.flows[0];
    assert_eq!(metric(flow, "congestion_events"), metric(flow, "timeouts"));
    // Nothing is lost but in the outage: the first timeout comes after the minimum RTO of 1 s, back-offs after 2 s more each.
    let (first, last) = (metric(flow, "first_congestion_event_s"), metric(flow, "last_congestion_event_s"));
    assert!((30.9..31.2).contains(&first), "first at {first} s");
    assert!(last > first && last < 38.5, "last at {last} s");
    assert_eq!(summary.groups[0].metrics.get("first_congestion_event_s"), Some(first));
}

#[test]
fn bursts_are_whole_messages_with_silence_between_them() {
    // 1000 B at 1 Mbit/s: one each 8 ms. 500 ms are 62.5, rounded to 63 messages; then 500 ms of silence. From 0 s: a silence,
    // a burst of 504 ms, a silence, ...: (63 x 8000 bit) / 1.004 s = 501,992 bit/s.
    let summary = one_flow(
        "duration = \"210 s\"\nwarmup = \"9.2 s\"",
        "rate = \"10 Mbit/s\"\ndelay = \"20 ms\"",
        "app = { kind = \"on_off\", rate = \"1 Mbit/s\", message = \"1000 B\", on = \"500 ms\", off = \"500 ms\" }",
        "established = true",
    );
    close(metric(&summary.flows[0], "goodput_bps"), 501_992.0, 0.003);
}

#[test]
fn pareto_bursts_have_their_mean_rate() {
    // Bursts and silences of 500 ms in the mean: half of the time, 32 kbit/s. With shape 1.5 means converge slowly: 400 flows
    // of 400 s. A burst of at least 1 message and the rounding of bursts add little: the shortest burst is 167 ms, 6 messages.
    let summary = run(
        "[run]\nduration = \"400 s\"\nwarmup = \"20 s\"\n[dumbbell]\nbottleneck = { rate = \"1 Gbit/s\", delay = \"10 ms\" }\n\
         [[flow]]\ncount = 400\ntcp = { nagle = false }\n\
         app = { kind = \"on_off\", rate = \"64 kbit/s\", message = \"210 B\", on = { pareto = \"500 ms\", shape = 1.5 }, \
         off = { pareto = \"500 ms\", shape = 1.5 } }\n",
    );
    close(summary.groups[0].metrics.get("goodput_bps").unwrap(), 400.0 * 32_000.0, 0.06);
}

#[test]
fn transfers_of_drawn_sizes_are_delivered_whole() {
    let summary = run(
        "[run]\nduration = \"200 s\"\n[dumbbell]\nbottleneck = { rate = \"100 Mbit/s\", delay = \"10 ms\" }\n[[flow]]\ncount = 1000\n\
         start = { exponential = \"100 ms\" }\napp = { kind = \"bulk\", size = { exponential = \"50 kB\" } }\n",
    );
    let group = &summary.groups[0].metrics;
    assert_eq!(group.get("completed_flows"), Some(1000.0));
    // Four standard errors of the mean of 1000 exponential sizes are 12.6 %.
    close(group.get("delivered_bytes").unwrap(), 1000.0 * 50_000.0, 0.126);
    assert_ne!(
        summary.flows[0].metrics.get("delivered_bytes"),
        summary.flows[1].metrics.get("delivered_bytes")
    );
}

/// 8 Mbit/s send 1000 B in a millisecond: a queue of 100 ms holds 100,000 B, and no packet waits longer.
#[test]
fn a_queue_of_a_time_keeps_packets_no_longer() {
    let summary = one_flow(
        "duration = \"20 s\"",
        "rate = \"8 Mbit/s\"\ndelay = \"50 ms\"\nqueue = \"100 ms\"",
        "",
        "congestion = \"cubic\"",
    );
    let link = &summary.links[0];
    assert_eq!(link.queue, "droptail 100 kB");
    assert!(link.metrics.get("drops_queue").unwrap() > 0.0);
    // The packet in transmission counts against the limit: 96 of 1040 B.
    assert_eq!(link.metrics.get("queue_max_packets"), Some(96.0));
    let late = link.metrics.get("queue_delay_p99_s").unwrap();
    assert!((0.09..=0.1).contains(&late), "{late}");
}

/// 1040 B and 40 B of headers below IP are 1080 B, 23 cells of 53 B: 1000 B of payload take 1219 B of an ADSL line.
#[test]
fn cells_take_their_share_of_a_line() {
    let summary = one_flow(
        "duration = \"60 s\"\nwarmup = \"10 s\"",
        "rate = \"8 Mbit/s\"\ndelay = \"10 ms\"\nqueue = \"100 packets\"\nforward = { overhead = \"pppoe-llcsnap\" }",
        "",
        "congestion = \"cubic\"",
    );
    close(metric(&summary.flows[0], "goodput_bps"), 8e6 * 1000.0 / 1219.0, 0.005);
}
