//! What split connections and snoop do to a path, seen from the ends: costs of records, flow control with and without drops,
//! what is lost with a proxy, what a last hop's losses no longer cost.

use longhaul_results::Summary;
use longhaul_sim::{RunOptions, load, simulate};

fn run(text: &str) -> Summary {
    let scenario = load(text, "test", &[]).unwrap_or_else(|error| panic!("{error}"));
    simulate(&scenario, RunOptions::default()).unwrap().summary
}

/// Four hosts on either side of a satellite link of 20 Mbit/s, with access links of 100 Mbit/s.
fn satellite(app: &str, middlebox: &str) -> Summary {
    measured_from(20, app, middlebox)
}

fn measured_from(seconds: u32, app: &str, middlebox: &str) -> Summary {
    run(&format!(
        "[run]\nduration = \"60 s\"\nwarmup = \"{seconds} s\"\n\
         [[link]]\nname = \"satellite\"\nends = [\"hub\", \"terminal\"]\nrate = \"20 Mbit/s\"\ndelay = \"250 ms\"\n\
         queue = {{ kind = \"droptail\", limit = \"500 packets\" }}\n\
         [[flow]]\ncount = 4\nfrom = \"hub\"\nto = \"terminal\"\napp = {app}\n\
         access = {{ rate = \"100 Mbit/s\", delay = \"5 ms\" }}\n\
         tcp = {{ variant = \"sack\", congestion = \"cubic\", mss = \"1000 B\", timestamps = false, established = true }}\n\
         {middlebox}\n"
    ))
}

fn pep(settings: &str) -> String {
    format!(
        "[[middlebox]]\nname = \"pep\"\nkind = \"split\"\nat = \"hub\"\npeer = \"terminal\"\n\
         long = {{ congestion = \"cubic\", timestamps = false }}\n{settings}\n"
    )
}

fn of_pep(summary: &Summary, metric: &str) -> f64 {
    summary.middleboxes[0].metrics.get(metric).unwrap()
}

/// Four transfers of 1,000,000 bytes. A field in the packet costs nothing for data, and 8 bytes for the end of each flow; headers
/// cost 8 bytes for each record, which with its header fills a segment of 1000 bytes at most.
#[test]
fn records_cost_what_the_documentation_says() {
    let bytes = |framing: &str| {
        let text = pep(&format!("framing = \"{framing}\""));
        let summary = measured_from(0, "{ kind = \"bulk\", size = \"1 MB\" }", &text);
        let forward = &summary.middleboxes[0].long_hop[0];
        (forward.metrics.get("throughput_bps").unwrap() * 60.0 / 8.0).round()
    };
    assert_eq!(bytes("pepid"), 4.0 * 1_000_000.0 + 4.0 * 8.0);
    // 1009 records of up to 992 bytes each, and some more where less was there to be read.
    // Each flow is announced by 20 bytes and ended by 8; the connection begins with 8.
    let least = 4.0 * (1_000_000.0 + 1009.0 * 8.0) + 4.0 * (20.0 + 8.0) + 8.0;
    assert!((least..=least + 20.0 * 8.0).contains(&bytes("header")), "{}", bytes("header"));
}

/// Windows hold hosts back without a loss; a local queue drops. Both fill the link, and flows share it.
#[test]
fn flow_control_by_windows_drops_nothing() {
    let windows = satellite("{ kind = \"bulk\" }", &pep("buffer = \"80 kB\""));
    let queue = satellite(
        "{ kind = \"bulk\" }",
        &pep("local_queue = { queue = { kind = \"droptail\", limit = \"100 packets\" } }"),
    );
    let total = |summary: &Summary, metric: &str| -> f64 {
        summary.flows.iter().map(|flow| flow.metrics.get(metric).unwrap()).sum()
    };
    assert_eq!(total(&windows, "retransmitted_packets"), 0.0);
    assert_eq!(of_pep(&windows, "local_queue_drops"), 0.0);
    assert!(of_pep(&queue, "local_queue_drops") > 10.0);
    assert!(total(&queue, "retransmitted_packets") > 10.0);
    // 20 Mbit/s less headers of 40 in 1040 bytes, and of records, 8 in 1008: 19.08 Mbit/s.
    for summary in [&windows, &queue] {
        let goodput = total(summary, "goodput_bps");
        assert!((12e6..19.08e6 * 1.001).contains(&goodput), "{goodput}");
        let shares = summary.flows.iter().map(|flow| flow.metrics.get("goodput_bps").unwrap());
        assert!(
            shares.clone().fold(f64::MAX, f64::min) > 0.6 * goodput / 4.0,
            "{:?}",
            shares.collect::<Vec<_>>()
        );
    }
}

/// A last hop of 1 Mbit/s behind a long hop of 20 Mbit/s and 500 ms: what the far node keeps is bounded by credit, and the server is
/// held back. Without it, all that the long hop carries piles up there: 337 MB in 150 s.
#[test]
fn a_slow_last_hop_holds_back_the_long_hop() {
    let held = |settings: &str| {
        let summary = run(&format!(
            "[run]\nduration = \"150 s\"\nwarmup = \"50 s\"\nseed = 1\n\
             [[link]]\nname = \"internet\"\nends = [\"server\", \"hub\"]\nrate = \"1 Gbit/s\"\ndelay = \"5 ms\"\n\
             [[link]]\nname = \"satellite\"\nends = [\"hub\", \"terminal\"]\nrate = \"20 Mbit/s\"\n\
             delay = \"250 ms\"\nqueue = \"1000 packets\"\n\
             [[link]]\nname = \"lan\"\nends = [\"terminal\", \"client\"]\nrate = \"1 Mbit/s\"\ndelay = \"1 ms\"\n\
             [[flow]]\nfrom = \"server\"\nto = \"client\"\n\
             [[middlebox]]\nname = \"pep\"\nkind = \"split\"\nat = \"hub\"\npeer = \"terminal\"\n{settings}\n"
        ));
        let goodput = summary.flows[0].metrics.get("goodput_bps").unwrap();
        // 1460 bytes of data in a packet of 1500, or of 1448 with timestamps.
        assert!((0.94e6..0.98e6).contains(&goodput), "{settings}: {goodput}");
        of_pep(&summary, "undelivered_max_bytes")
    };
    // Two buffers of 1 MB (one at each node), and what the long hop carries until the far node is heard: 2.5 MB in 1 s.
    let bytes = held("");
    assert!(bytes < 4.5e6, "{bytes}");
    let small = held("buffer = \"200 kB\"");
    assert!(small < 3.0e6, "{small}");
    // With the paper's queue in front of it the first node drops what the server sends beyond.
    let dropped = held("local_queue = { queue = { kind = \"droptail\", limit = \"100 packets\" } }");
    assert!(dropped < 4.5e6, "{dropped}");
}

/// Credit does not limit what the last hop carries: the same transfer takes as long as with all the credit that there is.
#[test]
fn credit_costs_no_throughput() {
    let rate = |buffer: &str, last: &str| {
        let summary = run(&format!(
            "[run]\nduration = \"100 s\"\nwarmup = \"40 s\"\nseed = 1\n\
             [[link]]\nname = \"satellite\"\nends = [\"hub\", \"terminal\"]\nrate = \"20 Mbit/s\"\n\
             delay = \"250 ms\"\nqueue = \"1000 packets\"\n\
             [[link]]\nname = \"lan\"\nends = [\"terminal\", \"client\"]\nrate = \"{last}\"\ndelay = \"1 ms\"\n\
             queue = \"100 packets\"\n\
             [[flow]]\nfrom = \"hub\"\nto = \"client\"\naccess = {{ rate = \"1 Gbit/s\", delay = \"1 ms\" }}\n\
             [[middlebox]]\nname = \"pep\"\nkind = \"split\"\nat = \"hub\"\npeer = \"terminal\"\nbuffer = \"{buffer}\"\n\
             long = {{ congestion = \"cubic\" }}"
        ));
        summary.flows[0].metrics.get("goodput_bps").unwrap()
    };
    // 15 Mbit/s over 500 ms are 940 kB: far more than the first window of credit.
    let narrow = rate("100 kB", "15 Mbit/s");
    assert!(narrow > 0.9 * rate("10 MB", "15 Mbit/s"), "{narrow}");
}

/// A local queue hands over each packet as it comes, so that credit is used up to the last byte: the next packet reports it, and the
/// window doubles. One flow over 100 Mbit/s and 500 ms stayed at a window of 1 MB and 23 Mbit/s.
#[test]
fn credit_of_a_local_queue_costs_no_throughput() {
    let summary = run("[run]\nduration = \"150 s\"\nwarmup = \"50 s\"\nseed = 1\n\
         [[link]]\nname = \"satellite\"\nends = [\"hub\", \"terminal\"]\nrate = \"100 Mbit/s\"\n\
         delay = \"250 ms\"\nqueue = \"500 packets\"\n\
         [[flow]]\nfrom = \"hub\"\nto = \"terminal\"\n\
         access = { rate = \"100 Mbit/s\", delay = \"5 ms\", queue = \"100 packets\" }\n\
         tcp = { congestion = { kind = \"reno\", counting = \"acks\" }, slow_start = { kind = \"standard\", counting = \"acks\" },\n\
         mss = \"1000 B\", receive_buffer = \"unlimited\", delayed_ack = \"off\", established = true }\n\
         [[middlebox]]\nname = \"pep\"\nkind = \"split\"\nat = \"hub\"\npeer = \"terminal\"\n\
         local_queue = { queue = { kind = \"droptail\", limit = \"300 packets\" }, buffer_start = \"832000 B\" }\n\
         long = { congestion = { kind = \"cubic\", beta = 0.8 }, slow_start = { kind = \"standard\", counting = \"acks\" },\n\
         receive_buffer = \"unlimited\" }");
    let goodput = summary.flows[0].metrics.get("goodput_bps").unwrap();
    assert!(goodput > 80e6, "{goodput}");
}

/// Without the proxy's acknowledgements nothing is at stake; with them, what it holds when it breaks down is lost and counted.
#[test]
fn what_a_broken_proxy_loses_is_reported() {
    let whole = satellite("{ kind = \"bulk\" }", &pep("buffer = \"80 kB\""));
    assert_eq!(of_pep(&whole, "lost_acknowledged_bytes"), 0.0);
    let broken = satellite("{ kind = \"bulk\" }", &pep("buffer = \"80 kB\"\nfail_at = \"40 s\""));
    // A bandwidth-delay product one way at least: 20 Mbit/s in 250 ms.
    assert!(of_pep(&broken, "lost_acknowledged_bytes") > 625_000.0);
    assert!(of_pep(&broken, "lost_acknowledged_bytes") <= of_pep(&broken, "undelivered_max_bytes"));
}

/// A last hop of 2 Mbit/s that loses one packet in 30, behind 60 ms of wire.
#[test]
fn snoop_hides_the_losses_of_the_last_hop() {
    let summary = |middlebox: &str| {
        run(&format!(
            "[run]\nduration = \"120 s\"\nwarmup = \"20 s\"\n\
             [[link]]\nname = \"wire\"\nends = [\"server\", \"base\"]\nrate = \"10 Mbit/s\"\ndelay = \"30 ms\"\n\
             [[link]]\nname = \"radio\"\nends = [\"base\", \"mobile\"]\nrate = \"2 Mbit/s\"\ndelay = \"2 ms\"\n\
             queue = {{ kind = \"droptail\", limit = \"50 packets\" }}\n\
             forward = {{ loss = {{ kind = \"random\", probability = \"3.3 %\" }} }}\n\
             [[flow]]\nfrom = \"server\"\nto = \"mobile\"\n\
             tcp = {{ variant = \"sack\", congestion = \"reno\", mss = \"1000 B\" }}\n{middlebox}"
        ))
    };
    let plain = summary("");
    let snoop = summary("[[middlebox]]\nkind = \"snoop\"\nat = \"base\"\n");
    let goodput = |summary: &Summary| summary.flows[0].metrics.get("goodput_bps").unwrap();
    assert!(goodput(&snoop) > 2.0 * goodput(&plain), "{} and {}", goodput(&snoop), goodput(&plain));
    let retransmitted = |summary: &Summary| summary.flows[0].metrics.get("retransmission_rate").unwrap();
    assert!(
        retransmitted(&snoop) < 0.2 * retransmitted(&plain),
        "{} and {}",
        retransmitted(&snoop),
        retransmitted(&plain)
    );
    assert!(of_pep(&snoop, "local_retransmissions") > 100.0);
}

/// 30 % of the packets are lost behind the agent or the PEP, which send most of them again: losses are counted on what was offered to
/// the path, whoever has sent it.
#[test]
fn the_loss_rate_is_that_of_the_path_whoever_sends() {
    for middlebox in ["kind = \"snoop\"", "kind = \"premature_ack\"\nbuffer = \"20 packets\""] {
        let summary = run(&format!(
            "[run]\nduration = \"200 s\"\n\
             [[link]]\nname = \"wire\"\nends = [\"server\", \"base\"]\nrate = \"10 Mbit/s\"\ndelay = \"30 ms\"\n\
             [[link]]\nname = \"radio\"\nends = [\"base\", \"mobile\"]\nrate = \"2 Mbit/s\"\ndelay = \"2 ms\"\n\
             forward = {{ loss = {{ kind = \"random\", probability = \"30 %\" }} }}\n\
             [[flow]]\nfrom = \"server\"\nto = \"mobile\"\ntcp = {{ receive_buffer = \"15 packets\" }}\n\
             [[middlebox]]\nat = \"base\"\n{middlebox}\n"
        ));
        let flow = &summary.flows[0].metrics;
        let resent = of_pep(&summary, "local_retransmissions");
        assert!(resent > 200.0, "{resent}");
        let lost = flow.get("lost_packets").unwrap();
        let offered = flow.get("sent_packets").unwrap() + resent;
        for rate in [flow.get("loss_rate"), summary.run.get("loss_rate")] {
            assert_eq!(rate, Some(lost / offered), "{middlebox}");
        }
        assert!((0.25..0.35).contains(&(lost / offered)), "{} of {offered}", lost);
    }
}

fn warned(summary: &Summary, code: &str) -> Option<String> {
    summary.warnings.iter().find(|warning| warning.code == code).map(|warning| warning.message.clone())
}

/// 20 Mbit/s and 520 ms: 1.3 MB fill the path. Four buffers of 2 MB hold more, four of 80 kB do not.
#[test]
fn a_proxy_that_holds_more_than_the_path_takes_is_named() {
    let with = |buffer: &str| satellite("{ kind = \"bulk\" }", &pep(&format!("buffer = \"{buffer}\"")));
    let message = warned(&with("2 MB"), "held_by_middlebox").expect("a warning");
    assert!(message.contains("more than twice the 1.3 MB that fill the path"), "{message}");
    assert_eq!(warned(&with("80 kB"), "held_by_middlebox"), None);
}

/// 100 MB through premature ACKs over 50 Mbit/s and 600 ms (3.75 MB, 2590 packets): with a buffer of 40,000 packets the source sends at
/// 1 Gbit/s until the queue of 2500 packets overflows, and the transfer takes a multiple of the time.
#[test]
fn premature_acks_from_a_buffer_beyond_the_path_are_named() {
    let with = |buffer: u32| {
        run(&format!(
            "[run]\nduration = \"30 s\"\n\
             [[link]]\nname = \"lan\"\nends = [\"server\", \"hub\"]\nrate = \"1 Gbit/s\"\ndelay = \"0 s\"\n\
             [[link]]\nname = \"satellite\"\nends = [\"hub\", \"ship\"]\nrate = \"50 Mbit/s\"\ndelay = \"300 ms\"\nqueue = \"2500 packets\"\n\
             [[middlebox]]\nkind = \"premature_ack\"\nat = \"hub\"\nbuffer = \"{buffer} packets\"\nwindow = \"40 MB\"\n\
             [[flow]]\nfrom = \"ship\"\nto = \"server\"\ntcp = {{ variant = \"linux\" }}\n\
             app = {{ kind = \"request\", requests = 1, request = \"300 B\", response = \"100 MB\" }}\n"
        ))
    };
    let lost = |summary: &Summary| summary.flows[0].metrics.get("lost_packets").unwrap();
    let (fits, floods) = (with(2000), with(40_000));
    assert_eq!((lost(&fits), warned(&fits, "held_by_middlebox")), (0.0, None));
    assert!(lost(&floods) > 10_000.0, "{}", lost(&floods));
    let message = warned(&floods, "held_by_middlebox").expect("a warning");
    assert!(message.contains("A `buffer` somewhat below that product does not"), "{message}");
}

/// Ten times the path becomes longer by 800 ms, for 5 s each time; nothing is lost.
#[test]
fn timeouts_without_losses_are_explained() {
    let delay = |second: u32, ms: u32| format!("{{ at = \"{second} s\", delay = \"{ms} ms\" }}");
    let changes: Vec<String> = (1..=10).flat_map(|n| [delay(10 * n, 420), delay(10 * n + 5, 20)]).collect();
    let summary = |min_rto: &str| {
        run(&format!(
            "[run]\nduration = \"120 s\"\n\
             [[link]]\nname = \"l\"\nends = [\"a\", \"b\"]\nrate = \"2 Mbit/s\"\ndelay = \"20 ms\"\nchanges = [{}]\n\
             [[flow]]\nfrom = \"a\"\nto = \"b\"\n\
             tcp = {{ rto = {{ min = \"{min_rto}\" }}, receive_buffer = \"4 packets\" }}\n",
            changes.join(", ")
        ))
    };
    let message = warned(&summary("10 ms"), "min_rto").expect("a warning");
    assert!(message.contains("10 ms (rto.min)"), "{message}");
    assert_eq!(warned(&summary("3 s"), "min_rto"), None);
}

/// A window of 10 packets of 1000 bytes over a round trip of 200 ms and its transmission: 50 packets a second, in any second.
#[test]
fn the_largest_goodput_of_an_interval_is_that_of_a_steady_flow() {
    let summary = run("[run]\nduration = \"20 s\"\nwarmup = \"5 s\"\npeak_goodput = true\n\
         [[link]]\nname = \"l\"\nends = [\"a\", \"b\"]\nrate = \"1 Gbit/s\"\ndelay = \"100 ms\"\n\
         [[flow]]\nfrom = \"a\"\nto = \"b\"\ntcp = { mss = \"1000 B\", receive_buffer = \"10 packets\", delayed_ack = \"off\" }\n");
    let largest = summary.flows[0].metrics.get("goodput_max_bps").unwrap();
    assert!((392_000.0..=408_000.0).contains(&largest), "{largest}");
}
