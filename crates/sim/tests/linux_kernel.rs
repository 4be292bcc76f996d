//! `variant = "linux"` on paths where a running kernel did otherwise once. Expected is what Linux 6.18.44 did through the emulator, in
//! the same scenario with the same seed (`longhaul-emu run FILE --until-done --json`); what a scenario stands for is above it.

use longhaul_results::Summary;
use longhaul_sim::{RunOptions, load, simulate};

fn run(text: &str) -> Summary {
    let scenario = load(text, "test", &[]).unwrap_or_else(|error| panic!("{error}"));
    simulate(&scenario, RunOptions::default()).unwrap().summary
}
fn metric(summary: &Summary, name: &str) -> f64 {
    summary.flows[0].metrics.get(name).unwrap_or_else(|| panic!("no {name}"))
}
fn warning<'a>(summary: &'a Summary, code: &str) -> Option<&'a str> {
    let mut warnings = summary.warnings.iter();
    warnings.find(|warning| warning.code == code).map(|warning| warning.message.as_str())
}

/// 3 MB over 10 Mbit/s and 120 ms, through a queue of this kind.
fn through(queue: &str, congestion: &str) -> Summary {
    run(&format!(
        "[run]\nduration = \"60 s\"\nseed = 1\n[[link]]\nname = \"l\"\nends = [\"a\", \"b\"]\ndelay = \"60 ms\"\n\
         forward = {{ rate = \"10 Mbit/s\", {queue} }}\nreverse = {{ rate = \"10 Mbit/s\" }}\n\
         [[flow]]\nname = \"f\"\nfrom = \"a\"\nto = \"b\"\napp = {{ kind = \"bulk\", size = \"3 MB\" }}\n\
         tcp = {{ variant = \"linux\", congestion = \"{congestion}\" }}\n"
    ))
}

/// Nothing is reordered on these paths: each loss is a real one, and no reduction was for nothing. What one recovery sends again
/// may be acknowledged in the next (RFC 3522 section 3.2 compares with the retransmission that is acknowledged).
#[test]
fn no_reduction_for_a_real_loss_is_undone() {
    let managed =
        |kind: &str| format!("queue = {{ kind = \"{kind}\", limit = \"1000 packets\", ecn = false }}");
    let random = "queue = \"1000 packets\", loss = { kind = \"random\", probability = \"2 %\" }".to_string();
    let mut recoveries = 0.0;
    for queue in [managed("codel"), managed("fq_codel"), managed("pie"), managed("red"), random] {
        for congestion in ["reno", "cubic", "bbr", "hybla"] {
            let summary = through(&queue, congestion);
            recoveries += metric(&summary, "fast_retransmits");
            assert_eq!(metric(&summary, "reductions_undone"), 0.0, "{queue} {congestion}");
        }
    }
    assert!(recoveries > 60.0, "{recoveries}");
}

/// CoDel and Reno: 14 packets lost and sent again in 3 recoveries, 5.02 s.
#[test]
fn codel_loses_what_it_loses_with_a_kernel() {
    let summary = through("queue = { kind = \"codel\", limit = \"1000 packets\", ecn = false }", "reno");
    let again = metric(&summary, "retransmitted_packets");
    assert!((11.0..=17.0).contains(&again), "{again}");
    let took = metric(&summary, "completion_time_s");
    assert!((took / 5.02 - 1.0).abs() < 0.06, "{took}");
}

/// Quick ACKs are renewed while the receive window opens (`tcp_grow_window`): HyStart gets its ACKs as they are, and leaves slow start
/// before the queue overflows. 10 packets are sent again; with an ACK for each second segment it is 200.
#[test]
fn a_growing_window_is_acknowledged_quickly() {
    let summary = run(
        "[run]\nduration = \"120 s\"\nseed = 11\n[[link]]\nname = \"l\"\nends = [\"a\", \"b\"]\ndelay = \"50 ms\"\n\
         forward = { rate = \"10 Mbit/s\", queue = { kind = \"droptail\", limit = \"100 packets\" } }\n\
         reverse = { rate = \"10 Mbit/s\" }\n[[flow]]\nname = \"f\"\nfrom = \"a\"\nto = \"b\"\n\
         app = { kind = \"bulk\", size = \"4 MB\" }\ntcp = { variant = \"linux\", congestion = \"cubic\" }\n",
    );
    let again = metric(&summary, "retransmitted_packets");
    assert!((7.0..=13.0).contains(&again), "{again}");
    let took = metric(&summary, "completion_time_s");
    assert!((took / 3.703 - 1.0).abs() < 0.06, "{took}");
}

/// 2 % of the packets are late by 15 ms: the first undo shows that the path reorders (`tcp_check_sack_reordering`), and RACK waits from
/// then on, HyStart sees the ACKs that report SACKs, and what CUBIC gets back is its window: the kernel sends one packet again. It was
/// 130, and 11 while HyStart's train ended with each late packet, so that slow start went on until the queue overflowed.
#[test]
fn an_undo_teaches_that_the_path_reorders() {
    let summary = run(
        "[run]\nduration = \"120 s\"\nseed = 11\n[[link]]\nname = \"l\"\nends = [\"a\", \"b\"]\ndelay = \"20 ms\"\n\
         forward = { rate = \"20 Mbit/s\", queue = { kind = \"droptail\", limit = \"100 packets\" }, \
         reordering = { probability = \"2 %\", delay = \"15 ms\" } }\nreverse = { rate = \"20 Mbit/s\" }\n\
         [[flow]]\nname = \"f\"\nfrom = \"a\"\nto = \"b\"\napp = { kind = \"bulk\", size = \"8 MB\" }\n\
         tcp = { variant = \"linux\", congestion = \"cubic\" }\n",
    );
    let again = metric(&summary, "retransmitted_packets");
    assert!((1.0..=3.0).contains(&again), "{again}");
    assert!(metric(&summary, "reductions_undone") >= 1.0);
    let took = metric(&summary, "completion_time_s");
    assert!((took / 3.481 - 1.0).abs() < 0.06, "{took}");
}

/// Reno over 20 Mbit/s without losses, at round trips above the first RTO: the kernel keeps its initial window, since the echo of the
/// first SYN shows that the others were for nothing, and takes the round trip from it. Goodput in 60 s; the numbers are those of Linux
/// 6.18 through the emulator, whose send buffer has room for two windows and is filled when a third of it is free.
#[test]
fn a_round_trip_above_the_first_rto_costs_nothing() {
    for (delay, goodput) in [(650, 14.26), (1_000, 8.31), (1_700, 3.649), (2_500, 1.654)] {
        let summary = run(&format!(
            "[run]\nduration = \"60 s\"\n[[link]]\nname = \"inj\"\nends = [\"a\", \"b\"]\nrate = \"20 Mbit/s\"\n\
             delay = \"{delay} ms\"\nqueue = \"12.5 MB\"\n[[flow]]\nname = \"f\"\nfrom = \"a\"\nto = \"b\"\n\
             tcp = {{ variant = \"linux\", congestion = \"reno\" }}\n"
        ));
        let found = metric(&summary, "goodput_bps") / 1e6;
        assert!((found / goodput - 1.0).abs() < 0.06, "{delay} ms: {found} Mbit/s");
        assert_eq!(metric(&summary, "retransmitted_packets"), 0.0, "{delay} ms");
        assert_eq!(warning(&summary, "first_rto"), None);
    }
}

/// By the letter of the RFCs nothing is ever measured at 5 s: a SYN of 1 s, data of 3 s (RFC 6298 section 5.7), and Karn's rule. The
/// warning names the cliff, and the keys that it names work.
#[test]
fn the_cliff_of_the_rfcs_is_named() {
    let over = |more: &str| {
        run(&format!(
            "[run]\nduration = \"300 s\"\nwarmup = \"100 s\"\n[[link]]\nname = \"inj\"\nends = [\"a\", \"b\"]\n\
             rate = \"20 Mbit/s\"\ndelay = \"2500 ms\"\nqueue = \"12.5 MB\"\n[[flow]]\nname = \"f\"\nfrom = \"a\"\nto = \"b\"\n\
             tcp = {{ variant = \"sack\", congestion = \"reno\"{more} }}\n"
        ))
    };
    let literal = over("");
    assert!(metric(&literal, "goodput_bps") < 0.5e6);
    let message = warning(&literal, "first_rto").expect("a warning");
    for part in ["the round trip of 5 s", "rto.initial", "11 s", "timestamps = true", "eifel = true"] {
        assert!(message.contains(part), "{part}: {message}");
    }
    for more in
        [", rto = { initial = \"11 s\" }", ", timestamps = true, spurious_detection = { eifel = true }"]
    {
        let summary = over(more);
        assert!(metric(&summary, "goodput_bps") > 18e6, "{more}: {}", metric(&summary, "goodput_bps"));
        assert_eq!(warning(&summary, "first_rto"), None, "{more}");
    }
}
