//! Congestion controls by delay, and starts, beside what their papers derive and report.

use longhaul_results::Summary;
use longhaul_sim::{RunOptions, load, simulate};

/// Flows, as the settings of their TCP and when each begins, over a link; the last `measured` seconds count.
fn flows_over(link: &str, seconds: u32, measured: u32, flows: &[(&str, f64)]) -> Summary {
    let mut text = format!(
        "[run]\nduration = \"{seconds} s\"\nwarmup = \"{} s\"\nseed = 1\n[[link]]\nname = \"l\"\nends = [\"a\", \"b\"]\n{link}\n",
        seconds - measured
    );
    for (index, (tcp, start)) in flows.iter().enumerate() {
        text += &format!(
            "[[flow]]\nname = \"f{index}\"\nfrom = \"a\"\nto = \"b\"\nstart = \"{start} s\"\ntcp = {{ {tcp} }}\n"
        );
    }
    let scenario = load(&text, "test", &[]).unwrap_or_else(|error| panic!("{error}\n{text}"));
    simulate(&scenario, RunOptions::default()).unwrap().summary
}
/// The same over 100 Mbit/s with a base round trip of 100 ms and a queue of 2000 packets.
fn flows(seconds: u32, measured: u32, flows: &[(&str, f64)]) -> Summary {
    let link =
        "rate = \"100 Mbit/s\"\ndelay = \"50 ms\"\nqueue = { kind = \"droptail\", limit = \"2000 packets\" }";
    flows_over(link, seconds, measured, flows)
}
/// The same over 10 Mbit/s with a queue of 400 packets.
fn thin(seconds: u32, measured: u32, flows: &[(&str, f64)]) -> Summary {
    let link =
        "rate = \"10 Mbit/s\"\ndelay = \"50 ms\"\nqueue = { kind = \"droptail\", limit = \"400 packets\" }";
    flows_over(link, seconds, measured, flows)
}
fn of_flow(summary: &Summary, index: usize, metric: &str) -> f64 {
    summary.flows[index].metrics.get(metric).unwrap_or_else(|| panic!("{metric}"))
}
fn of_link(summary: &Summary, metric: &str) -> f64 {
    summary.links[0].metrics.get(metric).unwrap_or_else(|| panic!("{metric}"))
}
/// The share of the goodput that a flow of two has.
fn share(summary: &Summary, index: usize) -> f64 {
    let goodput = |index| of_flow(summary, index, "goodput_bps");
    goodput(index) / (goodput(0) + goodput(1))
}
/// Prints what a target is measured by, with `--nocapture`.
fn measured(what: &str, summary: &Summary) {
    let (queue, busy) = (of_link(summary, "queue_mean_packets"), of_link(summary, "utilisation"));
    let delay = 1e3 * of_link(summary, "queue_delay_mean_s");
    let goodputs: Vec<f64> =
        (0..summary.flows.len()).map(|index| of_flow(summary, index, "goodput_bps") / 1e6).collect();
    let lost = of_flow(summary, 0, "retransmitted_packets");
    println!(
        "{what}: {queue:.2} packets, {delay:.2} ms, {:.2} %, {goodputs:.2?} Mbit/s, {lost} again",
        100.0 * busy
    );
}

/// Jin, Wei and Low 2004, section II: in equilibrium alpha packets of each flow wait.
#[test]
fn alpha_packets_of_fast_wait_and_the_link_is_busy() {
    for alpha in [20.0, 100.0] {
        let tcp = format!("congestion = {{ kind = \"fast\", alpha = {alpha} }}");
        let summary = flows(40, 20, &[(tcp.as_str(), 0.0)]);
        measured("fast", &summary);
        assert!((of_link(&summary, "queue_mean_packets") / alpha - 1.0).abs() < 0.01);
        assert!(of_link(&summary, "utilisation") > 0.999);
    }
}

/// The same section: rates are in proportion to alpha.
#[test]
fn fast_shares_by_alpha() {
    let tcp = |alpha| format!("congestion = {{ kind = \"fast\", alpha = {alpha} }}");
    let (one, three) = (tcp(20), tcp(60));
    let summary = flows(60, 30, &[(one.as_str(), 0.0), (three.as_str(), 0.0)]);
    measured("fast 20, 60", &summary);
    assert!((share(&summary, 1) - 0.75).abs() < 0.01, "{}", share(&summary, 1));
}

/// A flow that begins in the queue of another one takes that for part of the way: its baseRTT is too long by alpha / C. With
/// z = q C / alpha, 1 / z + 1 / (z - 1) = 1, so z = 2.618 and the shares are 0.382 and 0.618. It begins without slow start, whose queue
/// makes the first flow give way, so that both see a shorter round trip.
#[test]
fn a_late_flow_of_fast_has_the_golden_share() {
    let tcp = "congestion = { kind = \"fast\", alpha = 100 }";
    let calm = format!("{tcp}, initial_ssthresh = \"10 packets\"");
    let summary = flows(80, 30, &[(tcp, 0.0), (calm.as_str(), 20.0)]);
    measured("fast late", &summary);
    assert!((share(&summary, 1) - 0.618).abs() < 0.01, "{}", share(&summary, 1));
    assert!((of_link(&summary, "queue_mean_packets") / 100.0 - 2.618).abs() < 0.05);
}

/// RFC 6817: the queue is the target. LEDBAT++ holds its own, but for the slowdowns, which take a tenth of the time.
#[test]
fn ledbat_holds_its_target() {
    let summary = thin(200, 100, &[("congestion = \"ledbat\"", 0.0)]);
    measured("ledbat", &summary);
    assert!((of_link(&summary, "queue_delay_mean_s") - 0.1).abs() < 0.002);
    assert!(of_link(&summary, "utilisation") > 0.999);
    let summary = flows(200, 100, &[("congestion = { kind = \"ledbat++\", interval = 0 }", 0.0)]);
    measured("ledbat++ without slowdowns", &summary);
    assert!((of_link(&summary, "queue_delay_mean_s") - 0.06).abs() < 0.002);
    let summary = thin(400, 300, &[("congestion = \"ledbat++\"", 0.0)]);
    measured("ledbat++", &summary);
    assert!(of_link(&summary, "queue_delay_mean_s") < 0.06);
    assert!((0.9..0.97).contains(&of_link(&summary, "utilisation")));
}

/// What LEDBAT++ is for: a flow of LEDBAT that comes late takes the queue of the first for part of the way, and all of the link; of
/// LEDBAT++ both have a half.
#[test]
fn a_late_flow_of_ledbat_pp_has_no_advantage() {
    let late = |kind: &str| {
        let tcp = format!("congestion = \"{kind}\"");
        let summary = thin(600, 300, &[(tcp.as_str(), 0.0), (tcp.as_str(), 60.0)]);
        measured(kind, &summary);
        share(&summary, 1)
    };
    let (old, new) = (late("ledbat"), late("ledbat++"));
    assert!(old > 0.95, "{old}");
    assert!((0.47..0.53).contains(&new), "{new}");
}

/// Both give way to CUBIC.
#[test]
fn ledbat_gives_way() {
    for kind in ["ledbat", "ledbat++"] {
        let tcp = format!("congestion = \"{kind}\"");
        let summary = thin(240, 180, &[(tcp.as_str(), 0.0), ("congestion = \"cubic\"", 30.0)]);
        measured(kind, &summary);
        assert!(share(&summary, 0) < 0.02, "{kind}: {}", share(&summary, 0));
    }
}

/// At most ten packets of NV wait while its least round trip is that of the path. It is renewed every five seconds, with NV's own queue
/// in it: then the queue creeps up.
#[test]
fn nv_keeps_ten_packets_at_most() {
    let queue = |tcp: &str| {
        let summary = flows(120, 60, &[(tcp, 0.0)]);
        measured(tcp, &summary);
        assert!(of_link(&summary, "utilisation") > 0.95);
        of_link(&summary, "queue_mean_packets")
    };
    let kept = queue("congestion = { kind = \"nv\", reset_period = \"1 h\" }");
    assert!((4.0..10.0).contains(&kept), "{kept}");
    assert!(queue("congestion = \"nv\"") > kept);
}

/// DUAL gives way at half of the queue, before anything is lost; Reno fills it.
#[test]
fn dual_stays_at_half_of_the_queue() {
    let link =
        "rate = \"10 Mbit/s\"\ndelay = \"20 ms\"\nqueue = { kind = \"droptail\", limit = \"60 packets\" }";
    let run = |kind: &str| {
        let summary = flows_over(link, 120, 90, &[(format!("congestion = \"{kind}\"").as_str(), 0.0)]);
        measured(kind, &summary);
        assert!(of_link(&summary, "utilisation") > 0.999);
        (of_link(&summary, "queue_mean_packets"), of_flow(&summary, 0, "retransmitted_packets"))
    };
    let ((dual, lost), (reno, lost_of_reno)) = (run("dual"), run("reno"));
    assert!((dual - 30.0).abs() < 4.0 && reno > dual + 5.0, "{dual} {reno}");
    assert!(lost == 0.0 && lost_of_reno > 0.0, "{lost} {lost_of_reno}");
}

/// Careful resume over a geostationary path: with what the path holds remembered, 10 MB come seconds earlier; with ten times that, the jump
/// leads to losses and is taken back; another path begins as all do.
#[test]
fn careful_resume_saves_round_trips() {
    let took = |more: &str| {
        let text = format!(
            "[run]\nduration = \"60 s\"\n[[link]]\nname = \"l\"\nends = [\"a\", \"b\"]\nrate = \"20 Mbit/s\"\ndelay = \"300 ms\"\n\
             queue = \"1.5 MB\"\n[[flow]]\nname = \"f\"\nfrom = \"a\"\nto = \"b\"\napp = {{ kind = \"bulk\", size = \"10 MB\" }}\n\
             tcp = {{ variant = \"rack\", timestamps = true, congestion = \"cubic\"{more} }}\n"
        );
        let scenario = load(&text, "test", &[]).unwrap_or_else(|error| panic!("{error}"));
        let summary = simulate(&scenario, RunOptions::default()).unwrap().summary;
        let time = of_flow(&summary, 0, "completion_time_s");
        println!("resume {more}: {time:.2} s, {} again", of_flow(&summary, 0, "retransmitted_packets"));
        time
    };
    let without = took("");
    let remembered = |window: &str, rtt: &str| {
        took(&format!(", careful_resume = {{ window = \"{window}\", rtt = \"{rtt}\" }}"))
    };
    let with = remembered("2.8 MB", "600 ms");
    // A handshake, the initial window, then all at the rate of the link.
    let least = 0.6 + 0.6 + 10e6 * 8.0 / 20e6;
    assert!((least..least + 1.6).contains(&with), "{with} s");
    assert!(with + 1.0 < without, "{with} s and {without} s");
    assert_eq!(remembered("2.8 MB", "20 ms"), without);
    assert!(remembered("30 MB", "600 ms") < 30.0);
}
