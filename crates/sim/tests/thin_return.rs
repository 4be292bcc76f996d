//! ACK compaction, ACK filtering and MSS clamping on a return line of 9600 baud (Coetzee 1999; its kB are 1024 bytes). Without
//! anything the line lets through 65.2 kB/s (table 5.1).

use longhaul_results::{MiddleboxSummary, Summary};
use longhaul_sim::{RunOptions, load, simulate};

/// server - hub = thin line = edge - client; the download goes from left to right.
fn run_with(options: RunOptions, middlebox: &str, [forward, thin]: [&str; 2], tcp: &str) -> Summary {
    let text = format!(
        "[run]\nduration = \"120 s\"\nwarmup = \"40 s\"\n\
         [[link]]\nname = \"net\"\nends = [\"server\", \"hub\"]\nrate = \"100 Mbit/s\"\ndelay = \"1 ms\"\n\
         [[link]]\nname = \"thin\"\nends = [\"hub\", \"edge\"]\ndelay = \"100 ms\"\nforward = {{ rate = \"10 Mbit/s\", {forward} }}\n\
         reverse = {{ rate = \"9600 bit/s\", serial = {{ mtu = \"576 B\" }}, \
         queue = {{ kind = \"droptail\", limit = \"20 packets\" }}, {thin} }}\n\
         [[link]]\nname = \"lan\"\nends = [\"edge\", \"client\"]\nrate = \"100 Mbit/s\"\ndelay = \"0 s\"\n\
         [[flow]]\nname = \"download\"\nfrom = \"server\"\nto = \"client\"\n\
         tcp = {{ mss = \"1460 B\", initial_window = 4, {tcp} }}\n{middlebox}"
    );
    let scenario = load(&text, "test", &[]).unwrap_or_else(|error| panic!("{error}"));
    simulate(&scenario, options).unwrap().summary
}
fn run(middlebox: &str, thin: &str, tcp: &str) -> Summary {
    run_with(RunOptions::default(), middlebox, ["", thin], tcp)
}
fn kilobytes(summary: &Summary) -> f64 {
    summary.flows[0].metrics.get("goodput_bps").unwrap() / 8.0 / 1024.0
}
fn count(of: &MiddleboxSummary, name: &str) -> f64 {
    of.metrics.get(name).unwrap_or_else(|| panic!("no {name}"))
}
fn compaction(more: &str) -> String {
    format!("[[middlebox]]\nkind = \"ack_compaction\"\nat = \"edge\"\npeer = \"hub\"\n{more}\n")
}

/// The thesis's appendix A.2: steady rates of 100 to 200 kB/s at 9600 baud, three times the limit of plain ACKs. With windows of
/// 120 kB and no loss the exact form goes on to the window's limit, 120 kB over 0.2 s and what batches wait.
#[test]
fn compacted_acks_pass_the_limit_of_plain_ones() {
    let window = "receive_buffer = \"60 KiB\"";
    let plain = kilobytes(&run("", "", window));
    assert!(plain < 66.0, "{plain}");
    for form in ["exact", "traditional"] {
        let summary = run(&compaction(&format!("form = \"{form}\"")), "", window);
        let rate = kilobytes(&summary);
        assert!((100.0..250.0).contains(&rate), "{form}: {rate} kB/s");
        assert_eq!(summary.flows[0].metrics.get("timeouts"), Some(0.0));
        let middlebox = &summary.middleboxes[0];
        assert_eq!(count(middlebox, "tunnel_losses"), 0.0);
        let (compacted, packets) =
            (count(middlebox, "compacted_acks"), count(middlebox, "compacted_packets"));
        assert!(compacted / packets > 3.0, "{compacted} ACKs in {packets} packets");
    }
}

/// Windows of 40 kB over 202 ms of empty path would allow 200 kB/s; the thin line lets through 65. What limits is the line.
#[test]
fn a_return_link_full_of_acks_is_named_and_not_the_window() {
    let summary = run("", "", "receive_buffer = \"40 KiB\"");
    let codes: Vec<&str> = summary.warnings.iter().map(|warning| warning.code).collect();
    assert_eq!(codes, ["full_return_link"]);
}

/// RFC 5690 in place of a box in the network: the sender hears from the ACKs that the line loses, and the receiver sends fewer. With a
/// window of 250 kB the line loses most ACKs of a receiver that acknowledges every second segment.
#[test]
fn the_ends_control_the_congestion_of_their_acks() {
    let window = "receive_buffer = \"250 KiB\"";
    let without = run("", "", window);
    let with = run("", "", &format!("{window}, ack_congestion_control = true"));
    let share_lost = |summary: &Summary| {
        let thin = summary.links.iter().find(|link| link.name == "thin.reverse").unwrap();
        let metric = |name: &str| thin.metrics.get(name).unwrap();
        metric("drops_queue") / (metric("drops_queue") + metric("transmitted_packets"))
    };
    assert!(share_lost(&without) > 0.5, "{}", share_lost(&without));
    assert!(share_lost(&with) < 0.2, "{}", share_lost(&with));
    let metric = |name: &str| with.flows[0].metrics.get(name).unwrap();
    assert!(metric("ack_congestion_events") >= 3.0);
    // 250 kB are 176 segments: one ACK for half of them at the least.
    assert!((8.0..=88.0).contains(&metric("ack_ratio_max")), "{}", metric("ack_ratio_max"));
    assert!(without.flows[0].metrics.get("ack_ratio_max").is_none());
}

/// "a compacted packet holding most of the ACK clock was lost": a slow-down, but nothing is lost for good.
#[test]
fn a_lost_packet_of_acks_is_many_lost_acks() {
    let thin = "loss = { kind = \"periodic\", every = 100 }";
    let window = "receive_buffer = \"60 KiB\"";
    let whole = run(&compaction(""), "", window);
    let lossy = run(&compaction(""), thin, window);
    assert!(count(&lossy.middleboxes[0], "tunnel_losses") >= 5.0);
    assert!(kilobytes(&lossy) < kilobytes(&whole));
    assert!(kilobytes(&lossy) > 30.0, "{}", kilobytes(&lossy));
}

/// The thesis's proposal (A.2.2): over TCP the packets of ACKs are sent again. The line loses one packet in 50; over datagrams that is
/// ACKs lost for good, over TCP none.
#[test]
fn a_tunnel_over_tcp_loses_no_ack() {
    let thin = "loss = { kind = \"periodic\", every = 50 }";
    let carrier = "carrier = { mss = \"536 B\", initial_window = 4, ack_every = 1, rto = { min = \"1 s\" } }";
    let summary = run(&compaction(carrier), thin, "receive_buffer = \"60 KiB\", rto = { min = \"3 s\" }");
    let middlebox = &summary.middleboxes[0];
    assert_eq!(count(middlebox, "tunnel_losses"), 0.0);
    let (compacted, expanded) = (count(middlebox, "compacted_acks"), count(middlebox, "expanded_acks"));
    assert!((expanded / compacted - 1.0).abs() < 0.02, "{compacted} in, {expanded} out");
    let end = middlebox.long_hop.iter().find(|end| end.from == "edge").unwrap();
    assert!(end.metrics.get("retransmitted_packets").unwrap() >= 5.0);
    assert!(kilobytes(&summary) > 30.0, "{}", kilobytes(&summary));
}

/// The thesis's design 8.2: a throttle of 96 kB/s in payload, so 96 x 1500/1460 with headers, keeps the download there although line
/// and window allow more, and its own queue stays within a window.
#[test]
fn a_throttle_limits_a_client() {
    let rate = 96.0 * 1024.0 * 8.0 * 1500.0 / 1460.0;
    let throttle = format!(
        "[[middlebox]]\nkind = \"throttle\"\nat = \"hub\"\nrate = \"{rate:.0} bit/s\"\nburst = \"3000 B\"\n\
         queue = {{ kind = \"droptail\", limit = \"40 packets\" }}\n"
    );
    let filter = "[[middlebox]]\nkind = \"ack_filter\"\nat = \"edge\"\nevery = 2\nhold = \"1 s\"\n";
    let summary = run(&format!("{throttle}{filter}"), "", "receive_buffer = \"40 KiB\"");
    assert!((kilobytes(&summary) / 96.0 - 1.0).abs() < 0.01, "{} kB/s", kilobytes(&summary));
    let of = &summary.middleboxes[0];
    assert!(count(of, "delayed_packets") > 1000.0);
    assert_eq!(count(of, "throttle_drops"), 0.0);
    assert!(
        count(of, "buffer_max_packets") <= 28.0,
        "a window of 40 kB: {}",
        count(of, "buffer_max_packets")
    );
}

/// Duplicate ACKs and SACK blocks cross: a lost segment is found by them, without a timeout.
#[test]
fn losses_are_found_through_compacted_acks() {
    let tcp = "receive_buffer = \"60 KiB\", rto = { min = \"3 s\" }";
    let loss = "loss = { kind = \"periodic\", every = 997 }";
    let lossy = run_with(RunOptions::default(), &compaction(""), [loss, ""], tcp);
    let flow = &lossy.flows[0];
    assert!(flow.metrics.get("fast_retransmits").unwrap() >= 3.0);
    assert_eq!(flow.metrics.get("timeouts"), Some(0.0));
}

/// Section 5.3.1: N in the limit N MSS / att grows with k; one of two delayed ACKs is one for four segments.
#[test]
fn filtered_acks_raise_the_limit() {
    let filter = "[[middlebox]]\nkind = \"ack_filter\"\nat = \"edge\"\nevery = 2\nhold = \"1 s\"\n";
    let summary = run(filter, "", "receive_buffer = \"60 KiB\"");
    let rate = kilobytes(&summary);
    assert!((rate / (2.0 * 65.2) - 1.0).abs() < 0.05, "{rate} kB/s");
    assert!(count(&summary.middleboxes[0], "suppressed_acks") > 100.0);
}

/// Section 5.4: announced from a serial interface with an MTU of 576, the MSS is 536 and the download 23.9 kB/s; raised to what the
/// way to the client carries, it is 65.2 kB/s.
#[test]
fn a_clamped_mss_changes_the_limit() {
    let clamp = |mss: u32, raise: bool| {
        format!("[[middlebox]]\nkind = \"mss_clamp\"\nat = \"hub\"\nmss = \"{mss} B\"\nraise = {raise}\n")
    };
    let small = run(&clamp(536, false), "", "receive_buffer = \"20 KiB\"");
    assert!((kilobytes(&small) / 23.9 - 1.0).abs() < 0.02, "{}", kilobytes(&small));
    assert_eq!(count(&small.middleboxes[0], "changed_options"), 0.0, "the SYNs pass before the warm-up ends");
    let same = run(&clamp(1460, true), "", "receive_buffer = \"60 KiB\"");
    assert!((kilobytes(&same) / 65.2 - 1.0).abs() < 0.02, "{}", kilobytes(&same));
}

#[test]
fn results_do_not_depend_on_how_far_ahead_packets_are_served() {
    let middlebox = compaction("form = \"exact\"");
    let flows = |serve_ahead| {
        let options = RunOptions { serve_ahead, ..RunOptions::default() };
        serde_json::to_string(&run_with(options, &middlebox, ["", ""], "receive_buffer = \"60 KiB\"").flows)
            .unwrap()
    };
    assert_eq!(flows(true), flows(false));
}
