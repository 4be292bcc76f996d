//! The interpreter on scripts of its own.

use longhaul_packetdrill::{Verdict, report, run_file, run_text};
use std::path::Path;

/// Opens a connection; its lines are 1 to 7.
const OPEN: &str = "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
+0 bind(3, ..., ...) = 0
+0 listen(3, 1) = 0
+0 < S 0:0(0) win 30000 <mss 1000,sackOK,nop,nop,nop,wscale 7>
+0 > S. 0:0(0) ack 1 <...>
+.1 < . 1:1(0) ack 1 win 500
+0 accept(3, ..., ...) = 4
";

fn run(script: &str) -> Verdict {
    run_text(script, Path::new("."), None)
}
/// What follows an open connection.
fn after_open(rest: &str) -> Verdict {
    run(&format!("{OPEN}{rest}"))
}
fn failed(line: u32, message: &str) -> Verdict {
    Verdict::Failed(line, message.to_string())
}

#[test]
fn own_scripts_pass() {
    for name in ["transfer.pkt", "client.pkt", "accurate_ecn.pkt"] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scripts").join(name);
        let outcome = run_file(&path, None);
        assert_eq!(outcome.verdict, Verdict::Passed, "{}", outcome.message());
    }
}

#[test]
fn a_packet_that_differs_fails_with_line_expected_and_actual() {
    let verdict = after_open("+0 write(4, ..., 1000) = 1000\n+0 > P. 1:501(500) ack 1\n");
    let text = "the length differs: expected > P. 1:501(500) ack 1; \
                actual > [noecn] P. 1:1001(1000) ack 1 win 63 at 0.100000 s";
    assert_eq!(verdict, failed(9, text));
    let verdict = after_open("+0 write(4, ..., 1000) = 1000\n+0 > P. 1:1001(1000) ack 1 <sack 1:2>\n");
    let text = "the SACK blocks differ: expected > P. 1:1001(1000) ack 1 <sack 1:2>; \
                actual > [noecn] P. 1:1001(1000) ack 1 win 63 at 0.100000 s";
    assert_eq!(verdict, failed(9, text));
}

#[test]
fn a_packet_that_never_leaves_fails() {
    let verdict = after_open("+.1 > P. 1:1001(1000) ack 1\n");
    let text = "> P. 1:1001(1000) ack 1 is expected at 0.200000 s; nothing leaves, and no timer runs";
    assert_eq!(verdict, failed(8, text));
}

#[test]
fn times_are_held_to_packetdrills_tolerance() {
    let retransmission = |when: &str| {
        after_open(&format!(
            "+0 write(4, ..., 1000) = 1000\n+0 > P. 1:1001(1000) ack 1\n{when} > P. 1:1001(1000) ack 1\n"
        ))
    };
    // The probe goes out 2 SRTT + 200 ms after the segment, but no later than the RTO: 300 ms.
    assert_eq!(retransmission("+.3"), Verdict::Passed);
    // 12.5 % of the time since the last event.
    assert_eq!(retransmission("+.27"), Verdict::Passed);
    let early = "> P. 1:1001(1000) ack 1 is expected at 0.360000 s; nothing leaves, and the next timer is due at 0.400000 s";
    assert_eq!(retransmission("+.26"), failed(10, early));
    assert_eq!(retransmission("+.25~+.31"), Verdict::Passed);
    assert_eq!(retransmission("*"), Verdict::Passed);
}

#[test]
fn a_system_call_that_gives_something_else_fails() {
    assert_eq!(after_open("+0 read(4, ..., 10) = 10\n"), failed(8, "read blocks; expected 10"));
    let nonblocking = "+0 fcntl(4, F_SETFL, O_RDWR|O_NONBLOCK) = 0\n+0 read(4, ..., 10) = 10\n";
    assert_eq!(after_open(nonblocking), failed(9, "read returns -1 EAGAIN; expected 10"));
    let ioctl = "+0 ioctl(4, SIOCINQ, [5]) = 0\n";
    assert_eq!(after_open(ioctl), failed(8, "ioctl gives 0; expected 5"));
}

#[test]
fn a_call_that_blocks_returns_in_time() {
    let read = |end: &str| {
        after_open(&format!(
            "+0...{end} read(4, ..., 10) = 10\n+.1 < P. 1:11(10) ack 1 win 500\n+0 > . 1:1(0) ack 11\n"
        ))
    };
    assert_eq!(read("0.1"), Verdict::Passed);
    assert_eq!(read("0.2"), failed(8, "read returns at 0.200000 s; expected at 0.300000 s"));
    let never = after_open("+0...0.1 read(4, ..., 10) = 10\n");
    assert_eq!(never, failed(8, "read does not return; expected 10 at 0.200000 s"));
}

#[test]
fn an_assertion_that_does_not_hold_fails_with_its_value() {
    let verdict = after_open("+0 %{ assert tcpi_snd_cwnd == 11, tcpi_snd_cwnd }%\n");
    assert_eq!(verdict, failed(8, "expected tcpi_snd_cwnd == 11; tcpi_snd_cwnd is 10"));
}

#[test]
fn what_a_connection_does_not_model_is_out_of_scope_wherever_it_stands() {
    for (rest, reason) in [
        ("+0 read(4, ..., 1) = 5\n+0 epoll_create(1) = 5\n", "the system call epoll_create"),
        ("+0 send(4, ..., 10, MSG_OOB) = 10\n", "MSG_OOB"),
        ("+0 write(4, ..., 60000) = 58000\n", "the kernel's accounting of a full send buffer"),
        ("+0 setsockopt(4, SOL_TCP, TCP_MD5SIG, ..., 4) = 0\n", "the socket option TCP_MD5SIG"),
        ("+0 < icmp unreachable frag_needed mtu 1400 [1:1(0)]\n", "icmp packets"),
        ("+0 > P. 1:2(1) ack 1 <FO abcd1234,nop,nop>\n", "TCP Fast Open"),
        ("+0 `ip link set tun0 down`\n", "the shell command `ip link set tun0 down`"),
        ("+0 %{ assert tcpi_pmtu == 1500 }%\n", "the name tcpi_pmtu in Python"),
    ] {
        match after_open(rest) {
            Verdict::OutOfScope(_, actual) => assert_eq!(actual, reason),
            other => panic!("{rest}: {other:?}"),
        }
    }
    let ipv6 = Verdict::OutOfScope(1, "the option --ip_version=ipv6".to_string());
    assert_eq!(run(&format!("--ip_version=ipv6\n{OPEN}")), ipv6);
}

#[test]
fn what_is_no_script_is_refused_with_the_line() {
    for (script, line, message) in [
        ("0 socket(..., SOCK_STREAM = 3", 1, "`)` is expected, not the end of the line"),
        ("0 frobnicate", 1, "`(` is expected, not the end of the line"),
        ("\n\n+0 < X 1:1(0)", 3, "`X` are no TCP flags"),
        ("+0 > . 1:11(9) ack 1", 1, "1:11 is 10 bytes long, not 9"),
        ("+0 < . 1:1(0) ack 1 win 70000", 1, "a window field is at most 65535, not 70000"),
        ("+0 < . 1:1(0) ack 1 <mss many>", 1, "`mss many`: `many` is no number"),
        ("+0 `never closed", 1, "``` is never closed by ```"),
        ("hello", 1, "a time in seconds is expected, not `hello`"),
    ] {
        assert_eq!(run(script), Verdict::Unreadable(line, message.to_string()), "{script}");
    }
}

#[test]
fn the_report_counts_by_folder() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scripts/transfer.pkt");
    let mut outcome = run_file(&path, None);
    outcome.name = "a/transfer.pkt".to_string();
    let mut other = outcome.clone();
    (other.name, other.verdict) = ("b/other.pkt".to_string(), failed(3, "it fails"));
    let outcomes = [outcome, other];
    let table = "folder  passed  failed  out of scope  unreadable
a           1       0             0           0
b           0       1             0           0
total       1       1             0           0

1 of 2 scripts within scope pass
b/other.pkt:3: it fails
";
    assert_eq!(report::table(&outcomes, false), table);
    let json = report::json(&outcomes);
    assert_eq!((&json["passed"], &json["failed"]), (&1.into(), &1.into()));
    assert_eq!(json["scripts"][1]["message"], "it fails");
}

#[test]
fn the_end_of_a_record_ends_a_segment() {
    let rest = "+0 write(4, ..., 1400) = 1400\n+0 send(4, ..., 100, MSG_EOR) = 100\n+0 write(4, ..., 1000) = 1000\n\
                +0 > . 1:1001(1000) ack 1\n+0 > P. 1001:1501(500) ack 1\n+0 > P. 1501:2501(1000) ack 1\n";
    assert_eq!(after_open(rest), Verdict::Passed);
}

/// Three segments that an interface has joined are acknowledged once; three by themselves twice.
#[test]
fn segments_that_the_interface_joined_are_answered_once() {
    let joined = format!("--mss=1000\n{OPEN}+0 < P. 1:3001(3000) ack 1 win 500\n+0 > . 1:1(0) ack 3001\n");
    assert_eq!(run(&joined), Verdict::Passed);
    let apart = "+0 < . 1:1001(1000) ack 1 win 500\n+0 > . 1:1(0) ack 1001\n+0 < . 1001:2001(1000) ack 1 win 500\n+0 > . 1:1(0) ack 2001\n";
    assert_eq!(after_open(apart), Verdict::Passed);
}

/// A receive buffer of 20,000 bytes is twice that for the kernel, and the window half of it.
#[test]
fn a_receive_buffer_is_offered_as_window() {
    let opened = OPEN.replacen(
        "+0 bind",
        "+0 setsockopt(3, SOL_SOCKET, SO_RCVBUF, [20000], 4) = 0\n+0 getsockopt(3, SOL_SOCKET, SO_RCVBUF, [40000], [4]) = 0\n+0 bind",
        1,
    );
    let script = opened.replacen("> S. 0:0(0) ack 1 <...>", "> S. 0:0(0) ack 1 win 20000 <...>", 1);
    assert_eq!(run(&script), Verdict::Passed);
    let changed = after_open("+0 setsockopt(4, SOL_SOCKET, SO_RCVBUF, [20000], 4) = 0\n");
    assert!(matches!(changed, Verdict::OutOfScope(..)), "{changed:?}");
}
