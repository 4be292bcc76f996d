//! `variant = "linux"` sets the defaults of other keys, and nothing that is given.

use longhaul_cc::algorithms::cubic::CubicParams;
use longhaul_cc::{Algorithm, Counting, Reduces};
use longhaul_scenario::{
    BufferSpec, DelayedAck, RateReduction, Scenario, TcpSpec, Variant, load, resolved_toml,
};
use longhaul_units::Duration;

fn flow(tcp: &str) -> String {
    format!(
        "[run]\nduration = \"10 s\"\n[[link]]\nname = \"satellite\"\nends = [\"hub\", \"remote\"]\nrate = \"50 Mbit/s\"\n\
         delay = \"250 ms\"\n[[flow]]\nname = \"download\"\nfrom = \"hub\"\nto = \"remote\"\n{tcp}\n"
    )
}
fn scenario(tcp: &str) -> Scenario {
    load(&flow(tcp), "geo.toml", &[]).unwrap()
}
fn settings(tcp: &str) -> TcpSpec {
    scenario(tcp).flow[0].tcp.clone()
}
fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// The numbers of Linux 6.18: TCP_ATO_MIN, TCP_MAX_QUICKACKS, TCP_RTO_MIN, TCP_RTO_MAX, tcp_rmem, tcp_wmem, TCP_INIT_CWND.
#[test]
fn it_is_what_linux_does() {
    let tcp = settings(r#"tcp = { variant = "linux" }"#);
    assert_eq!(tcp.peer_ack_delay, Some(longhaul_units::Duration::from_millis(200)));
    assert!(tcp.minshall);
    assert_eq!(tcp.variant, Variant::Linux);
    assert_eq!((tcp.delayed_ack, tcp.quick_acks), (DelayedAck::After(ms(40)), 16));
    assert_eq!((tcp.rto.min, tcp.rto.granularity), (ms(200), ms(200)));
    assert_eq!((tcp.rto.initial, tcp.rto.max), (ms(1_000), Duration::from_secs(120)));
    assert_eq!(tcp.rate_reduction, RateReduction::SafeAck);
    assert!(tcp.rate_reduction_on_ecn && tcp.sack_of_old_acks && tcp.empty_probes && !tcp.credit_sacked);
    assert!(tcp.sack_whole_segments && !tcp.timestamps_required && !tcp.answer_unsent_acks);
    assert!(tcp.timestamps && tcp.dsack && tcp.tail_loss_probe);
    let undo = tcp.spurious_detection;
    assert!(undo.eifel && undo.f_rto && undo.dsack);
    let sizes = tcp.receive_autotuning.unwrap();
    assert_eq!((sizes.initial.as_bytes(), sizes.max.as_bytes()), (131_072, 33_554_432));
    assert_eq!((sizes.window_share, tcp.largest_window()), (0.625, Some(20_971_520)));
    assert_eq!((tcp.syn_linear_timeouts, tcp.tolerated_syn_losses), (4, 1));
    assert_eq!((tcp.send_buffer.bytes(tcp.mss), tcp.send_buffer_windows), (Some(4_194_304), 2));
    assert!(!tcp.undone_recoveries_count && tcp.head_restarts_timer);
    assert_eq!((tcp.pacing_burst, tcp.unpaced_segments), (1.5, 10));
    assert_eq!(tcp.config().initial_window.bytes(1448), 14_480);
    assert_eq!((tcp.congestion.name(), tcp.slow_start.name()), ("cubic", "hystart"));
}

/// bictcp_update, tcp_is_cwnd_limited, cubictcp_recalc_ssthresh: also for a CUBIC that is named or has some settings of its own.
#[test]
fn its_cubic_is_linuxs() {
    let linux = CubicParams::linux();
    for (congestion, expected) in [
        ("", linux.clone()),
        (r#", congestion = "cubic""#, linux.clone()),
        (r#", congestion = { kind = "cubic", beta = 0.5 }"#, CubicParams { beta: 0.5, ..linux.clone() }),
        (
            r#", congestion = { kind = "cubic", counting = "acks" }"#,
            CubicParams { counting: Counting::Acks, ..linux },
        ),
    ] {
        let tcp = settings(&format!(r#"tcp = {{ variant = "linux"{congestion} }}"#));
        assert_eq!(tcp.congestion, Algorithm::Cubic(expected), "{congestion}");
        assert!(tcp.slow_start_to_twice_flight);
        assert_eq!(tcp.reduction_from, Reduces::Cwnd);
    }
    assert_eq!(settings("").congestion, Algorithm::Cubic(CubicParams::default()));
}

/// HyStart is a part of CUBIC there.
#[test]
fn other_congestion_controls_have_the_usual_slow_start() {
    let tcp = settings(r#"tcp = { variant = "linux", congestion = "reno" }"#);
    assert_eq!(tcp.slow_start.name(), "standard");
    let tcp = settings(r#"tcp = { variant = "linux", congestion = "cubic", slow_start = "hystart++" }"#);
    assert_eq!(tcp.slow_start.name(), "hystart++");
}

#[test]
fn what_is_given_stays() {
    let tcp = settings(
        r#"tcp = { variant = "linux", delayed_ack = "off", timestamps = true, rto = { min = "1 s" }, receive_autotuning = { max = "8 MiB" } }"#,
    );
    assert_eq!(tcp.delayed_ack, DelayedAck::Off);
    assert_eq!((tcp.rto.min, tcp.rto.max), (ms(1_000), Duration::from_secs(120)));
    let sizes = tcp.receive_autotuning.unwrap();
    assert_eq!((sizes.initial.as_bytes(), sizes.max.as_bytes()), (131_072, 8 << 20));
}

/// `tcp_adv_win_scale = 1`: half of 6,291,456 bytes.
#[test]
fn linux_6_1_is_chosen_by_its_buffer_and_its_share_of_window() {
    let tcp = settings(
        r#"tcp = { variant = "linux", receive_autotuning = { max = "6291456 B", window_share = 0.5 } }"#,
    );
    assert_eq!(tcp.largest_window(), Some(3_145_728));
}

#[test]
fn a_share_of_window_is_above_0_and_at_most_1() {
    for share in ["0", "1.01", "-0.5", "nan"] {
        let text = flow(&format!(
            r#"tcp = {{ variant = "linux", receive_autotuning = {{ window_share = {share} }} }}"#
        ));
        assert!(load(&text, "geo.toml", &[]).is_err(), "{share}");
    }
}

#[test]
fn an_override_can_ask_for_it() {
    let overrides = [("flow.download.tcp.variant".to_string(), "linux".to_string())];
    let tcp = load(&flow(""), "geo.toml", &overrides).unwrap().flow[0].tcp.clone();
    assert_eq!(tcp, settings(r#"tcp = { variant = "linux" }"#));
}

/// A resolved scenario is read back to the same, also where a setting has been put back to what it is without the preset.
#[test]
fn the_resolved_scenario_is_the_same() {
    let scenario = scenario(r#"tcp = { variant = "linux", quick_acks = 0 }"#);
    let again = load(&resolved_toml(&scenario), "resolved.toml", &[]).unwrap();
    assert_eq!(again.flow[0].tcp, scenario.flow[0].tcp);
    assert_eq!(scenario.flow[0].tcp.quick_acks, 0);
}

/// The other variants are as they were.
#[test]
fn nothing_of_it_is_a_default() {
    let tcp = settings("");
    assert_eq!((tcp.receive_autotuning, tcp.send_buffer, tcp.quick_acks), (None, BufferSpec::Unlimited, 0));
    assert_eq!(tcp.slow_start.name(), "standard");
}

#[test]
fn a_buffer_is_either_fixed_or_autotuned() {
    let refusal = |tcp: &str| load(&flow(tcp), "geo.toml", &[]).unwrap_err().to_string();
    let both = refusal(r#"tcp = { variant = "linux", receive_buffer = "64 KiB" }"#);
    assert!(both.contains("geo.toml:12") && both.contains("receive_autotuning"), "{both}");
    assert!(both.contains("so_rcvbuf"), "{both}");
    let small = refusal(r#"tcp = { receive_autotuning = { initial = "2 kB", max = "1 MB" } }"#);
    assert!(small.contains("at least two segments"), "{small}");
    let none = refusal(r#"tcp = { send_buffer = "100 B" }"#);
    assert!(none.contains("holds at least one segment"), "{none}");
}

/// socket(7): the kernel doubles the argument; 5/8 of a receive buffer is window in Linux 6.18, and nothing is autotuned.
#[test]
fn a_socket_s_buffers_are_doubled_and_fixed() {
    let text = r#"tcp = { variant = "linux", so_rcvbuf = "212992 B", so_sndbuf = "64 KiB" }"#;
    let tcp = settings(text);
    let sizes = tcp.receive_sizes().unwrap();
    // Half of the buffer, 212,992 B, is a window of 18 bits: a scale of 2, which expresses 262,140 B of 266,240.
    assert_eq!((sizes.initial, sizes.max, tcp.largest_window()), (425_984, 425_984, Some(262_140)));
    // tcp_select_initial_window(): 64,000 B need no scale, 65,536 B one of 1; 5/8 of their buffers are 80,000 and 81,920 B.
    for (asked, window) in [("64 kB", 65_535), ("64 KiB", 81_920)] {
        let text = format!(r#"tcp = {{ variant = "linux", so_rcvbuf = "{asked}" }}"#);
        assert_eq!(settings(&text).largest_window(), Some(window), "{asked}");
    }
    assert_eq!((tcp.send_room(), tcp.config().send_buffer), (Some(131_072), Some(131_072)));
    let half =
        r#"tcp = { variant = "linux", so_rcvbuf = "212992 B", receive_autotuning = { window_share = 0.5 } }"#;
    assert_eq!(settings(half).largest_window(), Some(212_992));
    // The resolved scenario is read back to the same; without them nothing is written.
    assert_eq!(load(&resolved_toml(&scenario(text)), "resolved.toml", &[]).unwrap().flow[0].tcp, tcp);
    assert!(!resolved_toml(&scenario(r#"tcp = { variant = "linux" }"#)).contains("so_rcvbuf"));
    assert_eq!(
        settings(r#"tcp = { variant = "linux", so_rcvbuf = "off" }"#),
        settings(r#"tcp = { variant = "linux" }"#)
    );
}

#[test]
fn a_socket_s_buffers_are_those_of_linux() {
    let refusal = |tcp: &str| load(&flow(tcp), "geo.toml", &[]).unwrap_err().to_string();
    let other = refusal(r#"tcp = { variant = "sack", so_rcvbuf = "64 KiB" }"#);
    assert!(
        other.contains("geo.toml:12") && other.contains("receive_buffer is the window itself"),
        "{other}"
    );
    let small = refusal(r#"tcp = { variant = "linux", so_sndbuf = "1 kB" }"#);
    assert!(small.contains("holds at least one segment"), "{small}");
    let unit = refusal(r#"tcp = { variant = "linux", so_rcvbuf = "20 packets" }"#);
    assert!(unit.contains("so_rcvbuf") && unit.contains("expected \"off\" or a size"), "{unit}");
}
