//! From facts to a summary, with facts made by hand: what a kernel does not report stays unknown, everything else is computed as
//! for any other world.

use longhaul_path::LinkStats;
use longhaul_results::{
    AppFacts, Arrived, FlowFacts, FlowFailure, LinkFacts, ReductionTimes, RunFacts, SenderFacts, Summary,
    metric, summarise,
};
use longhaul_scenario::{Network, Scenario, load};
use longhaul_tcp::{Limit, LimitedTime};
use longhaul_units::{Duration, Histogram, IdVec, Instant};

const SCENARIO: &str = r#"
name = "two transfers"
[run]
duration = "100 s"
warmup = "20 s"
[[link]]
name = "satellite"
ends = ["a", "b"]
rate = "10 Mbit/s"
delay = "250 ms"
queue = { kind = "droptail", limit = "100 packets" }
[[flow]]
name = "files"
count = 2
from = "a"
to = "b"
app = { kind = "bulk", size = "10 MB" }
tcp = { mss = "1460 B", receive_buffer = "64 KiB" }
"#;

fn flow(fast_retransmits: Option<u64>, finished: Option<Instant>) -> FlowFacts {
    let seconds = Duration::from_secs;
    FlowFacts {
        datagrams: None,
        app: AppFacts { kind: "bulk", has_end: true, finished, responses: None, pages: None, qoe: None },
        server_sends: false,
        stack: None,
        state: "Established".to_string(),
        failure: None,
        sender: SenderFacts {
            data_segments_sent: 1000,
            data_bytes_sent: 1_460_000,
            retransmitted_segments: 20,
            fast_retransmits,
            reductions_undone: Some(0),
            timeouts: Some(3),
            ecn_reductions: Some(0),
            ack_congestion_events: 0,
            largest_ack_ratio: 0,
            rtt_samples: 10,
            rtt_sum: seconds(6),
            rtt_range: Some((Duration::from_millis(500), Duration::from_millis(900))),
        },
        delivered: 1_000_000,
        arrived: Arrived { packets: 980, wire_bytes: 1_470_000, marked: 0 },
        lost: 20,
        made: 0,
        whole_run: None,
        path_use: None,
        limited: LimitedTime::from_iter([
            (Limit::ReceiverWindow, seconds(60)),
            (Limit::Application, seconds(20)),
            (Limit::Closed, seconds(500)),
        ]),
        cwnd: (500_000.0, 5),
        goodput_max_bps: None,
        reductions: ReductionTimes::default(),
        probes: false,
        failed_starts: 0,
    }
}

fn link(bits: f64) -> LinkFacts {
    LinkFacts {
        new: LinkStats {
            arrivals: 2000,
            transmitted: 1960,
            dropped: [30, 0, 0, 10, 0, 0],
            ..LinkStats::default()
        },
        whole_run: LinkStats {
            arrivals: 3000,
            transmitted: 2900,
            dropped: [60, 0, 0, 10, 0, 0],
            ..LinkStats::default()
        },
        waits: Histogram::default(),
        waited_s: 160.0,
        bits,
        capacity_bits: 8e8,
        peak: 90,
        line: None,
        monitored: vec![],
    }
}

fn summary(flows: Vec<FlowFacts>) -> Summary {
    let scenario: Scenario = load(SCENARIO, "by hand", &[]).unwrap();
    let network = Network::new(&scenario);
    summarise(&RunFacts {
        scenario: &scenario,
        network: &network,
        end: Instant::ZERO + Duration::from_secs(100),
        flows: flows.into(),
        links: vec![link(4e8), link(1e7)].into(),
        middleboxes: IdVec::new(),
        data_packets_delivered: 1960,
        drops_left_out: false,
        warnings: vec![],
    })
}

#[test]
fn metrics_of_flows_groups_and_links_follow_from_facts() {
    let at = Instant::ZERO + Duration::from_secs(60);
    let summary = summary(vec![flow(Some(7), Some(at)), flow(Some(1), None)]);
    let [first, second] = &summary.flows[..] else { panic!("two flows") };
    // Active from the end of the warm-up to 60 s, and to the end of the run.
    assert_eq!(first.metrics.get(metric::GOODPUT_BPS), Some(8e6 / 40.0));
    assert_eq!(second.metrics.get(metric::GOODPUT_BPS), Some(8e6 / 80.0));
    assert_eq!(first.metrics.get(metric::COMPLETION_TIME_S), Some(60.0));
    assert_eq!(first.metrics.get(metric::CONGESTION_EVENTS), Some(10.0));
    assert_eq!(first.metrics.get(metric::RTT_MEAN_S), Some(0.6));
    // Closed connections are limited by nothing.
    assert_eq!(first.limited.iter().find(|(name, _)| *name == "receiver_window").unwrap().1, 0.75);
    let group = &summary.groups[0].metrics;
    assert_eq!(group.get(metric::GOODPUT_BPS), Some(16e6 / 80.0));
    assert_eq!(group.get(metric::COMPLETED_FLOWS), Some(1.0));
    assert_eq!(group.get(metric::CONGESTION_EVENT_RATE), Some(14.0 / 2000.0));
    // 0.2^2 over 2 (0.2^2 + 0.1^2), of goodputs 0.2 and 0.1: 0.09 / 0.1.
    assert!((group.get(metric::JAIN_INDEX).unwrap() - 0.9).abs() < 1e-12);
    let link = &summary.links[0];
    assert_eq!(link.metrics.get(metric::UTILISATION), Some(0.5));
    assert_eq!(link.metrics.get(metric::DROPS_QUEUE), Some(30.0));
    assert_eq!(link.metrics.get(metric::DROPS_LOSS), Some(10.0));
    let whole = link.whole_run.as_ref().expect("the warm-up counts too");
    assert_eq!(whole.get(metric::DROPS_QUEUE), Some(60.0));
    assert_eq!(link.metrics.get(metric::QUEUE_MEAN_PACKETS), Some(2.0));
    // Each wants to send for 60 of 80 s.
    assert_eq!(link.active_flows, 1.5);
    assert_eq!(summary.run.get(metric::UTILISATION), Some(0.5));
}

#[test]
fn what_a_flow_does_not_tell_stays_unknown_and_makes_the_sum_unknown() {
    let summary = summary(vec![flow(None, None), flow(Some(1), None)]);
    let first = &summary.flows[0];
    assert_eq!(first.metrics.get(metric::CONGESTION_EVENTS), None);
    assert_eq!(first.metrics.get(metric::TIMEOUTS), Some(3.0));
    assert_eq!(summary.groups[0].metrics.get(metric::CONGESTION_EVENTS), None);
    assert_eq!(summary.groups[0].metrics.get(metric::TIMEOUTS), Some(6.0));
    // What needs no congestion event is predicted: 64 KiB in 600 ms, and half of the payload's share.
    assert_eq!(first.predicted.get(metric::WINDOW_LIMIT_BPS), Some((65536.0 * 8.0 / 0.6_f64).floor()));
    let share = first.predicted.get(metric::FAIR_SHARE_BPS).unwrap();
    assert!((share - 10e6 * 1460.0 / 1500.0 / 1.5).abs() < 1e-3, "{share}");
    assert_eq!(first.predicted.get(metric::CUBIC_BPS), None);
}

#[test]
fn warnings_follow_from_facts() {
    let codes = |summary: &Summary| -> Vec<&str> { summary.warnings.iter().map(|w| w.code).collect() };
    let failed = FlowFacts { failure: Some(FlowFailure::Other), ..flow(Some(1), None) };
    let summary_of_two = summary(vec![flow(Some(1), None), failed]);
    assert_eq!(codes(&summary_of_two), ["receive_buffer", "not_finished"]);
    let message = &summary_of_two.warnings[1].message;
    // The one that failed for another reason is not named.
    assert!(message.starts_with("files[0]: the transfer did not finish"), "{message}");
    let gone = || FlowFacts { failure: Some(FlowFailure::GaveUp), ..flow(Some(1), None) };
    assert_eq!(codes(&summary(vec![gone(), gone()])), ["receive_buffer", "gave_up"]);
}
