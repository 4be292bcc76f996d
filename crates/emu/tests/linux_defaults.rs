//! `variant = "linux"` has the defaults of a kernel version: where this machine runs that version, each is compared with what a new
//! network namespace has (ip-sysctl in the kernel's documentation).

use longhaul_scenario::{TcpSpec, load};
use longhaul_units::Duration;
use nix::sched::{CloneFlags, unshare};
use std::collections::BTreeMap;
use std::fs;

/// The version whose defaults they are.
const VERSION: &str = "6.18.";
/// With less memory the largest buffers are smaller (`tcp_init`: 1/128 of it).
const ENOUGH_MEMORY_KIB: u64 = 8 << 20;

fn linux() -> TcpSpec {
    let text = "[run]\nduration = \"1 s\"\n[[link]]\nname = \"l\"\nends = [\"a\", \"b\"]\nrate = \"1 Mbit/s\"\ndelay = \"1 ms\"\n\
                [[flow]]\nfrom = \"a\"\nto = \"b\"\ntcp = { variant = \"linux\" }\n";
    load(text, "test", &[]).unwrap().flow.remove(0).tcp
}

/// What the variant has, by the name of the sysctl below `net/ipv4`.
fn expected() -> Vec<(&'static str, String)> {
    let tcp = linux();
    let config = tcp.config();
    let sizes = tcp.receive_autotuning.expect("an autotuned buffer");
    let yes = |on: bool| u8::from(on).to_string();
    let ms = |time: Duration| (time.as_nanos() / 1_000_000).to_string();
    let us = |time: Duration| (time.as_nanos() / 1_000).to_string();
    let send_buffer = tcp.send_buffer.bytes(tcp.mss).expect("a limited buffer");
    let ways = tcp.spurious_detection;
    vec![
        ("tcp_rmem", format!("4096 {} {}", sizes.initial.as_bytes(), sizes.max.as_bytes())),
        ("tcp_wmem", format!("4096 16384 {send_buffer}")),
        ("tcp_moderate_rcvbuf", "1".to_string()),
        ("tcp_window_scaling", yes(tcp.window_scaling)),
        ("tcp_timestamps", yes(tcp.timestamps)),
        ("tcp_sack", yes(tcp.variant.is_selective())),
        ("tcp_dsack", yes(tcp.dsack && ways.dsack)),
        // 2: only where the peer asks for it.
        ("tcp_ecn", if tcp.ecn.is_on() { "1" } else { "2" }.to_string()),
        ("tcp_recovery", "1".to_string()), // RACK
        ("tcp_early_retrans", if tcp.tail_loss_probe { "3" } else { "0" }.to_string()),
        ("tcp_frto", if ways.f_rto { "2" } else { "0" }.to_string()),
        ("tcp_reordering", tcp.duplicate_threshold.to_string()),
        ("tcp_slow_start_after_idle", yes(tcp.restart_after_idle)),
        ("tcp_syn_retries", config.max_syn_retransmissions.to_string()),
        ("tcp_syn_linear_timeouts", tcp.syn_linear_timeouts.to_string()),
        ("tcp_retries2", tcp.max_retransmissions.to_string()),
        ("tcp_rto_min_us", us(tcp.rto.min)),
        ("tcp_rto_max_ms", ms(tcp.rto.max)),
    ]
}

fn of_a_new_namespace(names: &[&'static str]) -> BTreeMap<&'static str, String> {
    let names = names.to_vec();
    let read = move || {
        unshare(CloneFlags::CLONE_NEWNET).expect("a network namespace of its own needs root");
        let value = |name| fs::read_to_string(format!("/proc/sys/net/ipv4/{name}")).unwrap_or_default();
        names
            .into_iter()
            .map(|name| (name, value(name).split_whitespace().collect::<Vec<_>>().join(" ")))
            .collect()
    };
    std::thread::spawn(read).join().unwrap()
}

#[test]
#[ignore = "reads the settings of this machine's kernel: root and `make test-all`"]
fn they_are_those_of_the_running_kernel() {
    let release = longhaul_emu::kernel::release();
    let memory = fs::read_to_string("/proc/meminfo").unwrap();
    let memory: u64 = memory.split_whitespace().nth(1).unwrap().parse().unwrap();
    if !release.starts_with(VERSION) || memory < ENOUGH_MEMORY_KIB {
        eprintln!("skipped: Linux {release} with {memory} KiB, not {VERSION}x with {ENOUGH_MEMORY_KIB}");
        return;
    }
    let expected = expected();
    let names: Vec<&str> = expected.iter().map(|(name, _)| *name).collect();
    let found = of_a_new_namespace(&names);
    let differing: Vec<String> = expected
        .iter()
        .filter(|(name, value)| found[name] != *value)
        .map(|(name, value)| format!("{name}: {} in Linux {release}, {value} here", found[name]))
        .collect();
    assert!(differing.is_empty(), "{}", differing.join("\n"));
}
