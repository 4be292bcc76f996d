//! Settings of QUIC: what each does to packets, times and limits; and the trace of a stream.

use longhaul_results::{FlowSummary, SegmentKind, Summary};
use longhaul_sim::{Outcome, RunOptions, load, simulate};

const LINK: &str = "rate = \"10 Mbit/s\"\ndelay = \"50 ms\"\nqueue = \"200 packets\"";
const BULK: &str = "app = { kind = \"bulk\", size = \"1 MB\" }";

fn outcome(link: &str, flow: &str, quic: &str) -> Outcome {
    let text = format!(
        "[run]\nduration = \"100 s\"\n[[link]]\nname = \"link\"\nends = [\"a\", \"b\"]\n{link}\n[[flow]]\nfrom = \"a\"\nto = \"b\"\n\
         transport = \"quic\"\n{flow}\nquic = {{ {quic} }}\n"
    );
    let scenario = load(&text, "test", &[]).unwrap_or_else(|error| panic!("{error}"));
    simulate(&scenario, RunOptions::default()).unwrap()
}

fn run(link: &str, flow: &str, quic: &str) -> Summary {
    outcome(link, flow, quic).summary
}

fn metric(summary: &Summary, name: &str) -> f64 {
    let flow: &FlowSummary = &summary.flows[0];
    flow.metrics.get(name).unwrap_or_else(|| panic!("no {name}"))
}

fn share(summary: &Summary, limit: &str) -> f64 {
    let limited = summary.flows[0].limited.iter();
    limited.filter(|(name, _)| *name == limit).map(|(_, share)| *share).sum()
}

/// Packets on the way back.
fn returned(summary: &Summary) -> f64 {
    let reverse = summary.links.iter().find(|link| link.name == "link.reverse").expect("a link back");
    reverse.metrics.get("arrivals").expect("arrivals")
}

/// An ACK for every second packet, or for every tenth where the sender asks for it (draft-ietf-quic-ack-frequency).
#[test]
fn acks_come_as_often_as_asked() {
    let acks = |quic: &str| {
        let summary = run(LINK, BULK, quic);
        (returned(&summary), metric(&summary, "sent_packets"))
    };
    let (usual, sent) = acks("");
    assert!((0.45..0.6).contains(&(usual / sent)), "{usual} ACKs for {sent} packets");
    let (rare, sent) = acks("ack_every = 10");
    assert!((0.09..0.2).contains(&(rare / sent)), "{rare} ACKs for {sent} packets");
}

/// A receiver that may wait for 1000 packets acknowledges after its delay: that is part of what the sender of a film measures.
/// quinn-proto asks for no more than a round trip.
#[test]
fn acks_are_delayed_as_long_as_asked() {
    let film = "app = { kind = \"video\", rate = \"200 kbit/s\" }";
    let rtt = |quic: &str| metric(&run(LINK, film, quic), "rtt_mean_s");
    let short = rtt("ack_every = 1000, ack_delay = \"5 ms\"");
    let long = rtt("ack_every = 1000, ack_delay = \"80 ms\"");
    assert!((0.03..0.08).contains(&(long - short)), "{short} s and {long} s");
}

/// Some 40 packets overtake one: three are enough for a loss by default, 100 are not (RFC 9002 section 6.1.1).
#[test]
fn packets_that_are_overtaken_are_lost_by_the_packet_threshold() {
    let link = "rate = \"100 Mbit/s\"\ndelay = \"20 ms\"\nqueue = \"1000 packets\"\n\
                forward = { reordering = { probability = \"1 %\", delay = \"5 ms\" } }";
    let again = |quic: &str| {
        let summary = run(
            link,
            "app = { kind = \"bulk\", size = \"10 MB\" }",
            &format!("congestion = \"bbr\", {quic}"),
        );
        assert_eq!(metric(&summary, "lost_packets"), 0.0);
        metric(&summary, "retransmitted_packets")
    };
    let (usual, patient) = (again("packet_threshold = 3"), again("packet_threshold = 100"));
    assert!(usual > 40.0 && patient < 0.1 * usual, "{usual} and {patient}");
}

/// A silence of 40 s ends a connection whose idle timeout is 30 s, unless it is kept alive, or never ends by itself
/// (RFC 9000 section 10.1).
#[test]
fn silent_connections_end_or_are_kept() {
    let flow = "app = { kind = \"request\", response = \"1 kB\", requests = 2, think = \"40 s\" }";
    let responses = |quic: &str| metric(&run(LINK, flow, quic), "responses");
    assert_eq!(responses(""), 1.0);
    assert_eq!(responses("keep_alive = \"10 s\""), 2.0);
    assert_eq!(responses("idle_timeout = \"60 s\""), 2.0);
    assert_eq!(responses("idle_timeout = \"off\""), 2.0);
    let ended = run(LINK, flow, "idle_timeout = \"5 s\"");
    let warning = ended.warnings.iter().find(|warning| warning.code == "quic_ended").expect("a warning");
    assert!(warning.message.contains("idle_timeout"), "{}", warning.message);
}

/// Datagrams of 1200 bytes carry some 1170 of data; probes find 1452 (RFC 8899), and nothing above what a link lets pass.
#[test]
fn larger_datagrams_are_found() {
    let each = |quic: &str| {
        let summary = run(LINK, "app = { kind = \"bulk\", size = \"5 MB\" }", quic);
        metric(&summary, "delivered_bytes") / metric(&summary, "received_packets")
    };
    let (fixed, found) = (each("mtu_discovery = \"1200 B\""), each(""));
    assert!((1150.0..1175.0).contains(&fixed), "{fixed} B");
    assert!((1400.0..1430.0).contains(&found), "{found} B");
    let known = each("mtu = \"1452 B\"");
    assert!(known > found && known < 1430.0, "{known} B, {found} B");
}

/// With a certificate chain of 20 kB a server has to wait twice until the client's address is known to be real: it sends three
/// times what it has received (RFC 9000 section 8.1), 3.6 kB after one packet.
#[test]
fn long_certificates_take_round_trips() {
    let flow = "app = { kind = \"request\", response = \"1 kB\", requests = 1 }";
    let first = |quic: &str| metric(&run(LINK, flow, quic), "response_time_max_s");
    let (short, long) = (first("certificates = \"2 kB\""), first("certificates = \"20 kB\""));
    assert!((0.2..0.21).contains(&short), "{short} s");
    assert!((0.08..0.25).contains(&(long - short)), "{short} s and {long} s");
    // Who resumes needs none.
    let resumed = first("certificates = \"20 kB\", handshake = \"resumed\"");
    assert!((0.2..0.21).contains(&resumed), "{resumed} s");
}

/// Over a round trip of 2 s a client that expects 333 ms sends its first packet again, after three of them.
#[test]
fn the_first_probe_waits_for_the_initial_rtt() {
    let link = "rate = \"10 Mbit/s\"\ndelay = \"1 s\"\nqueue = \"200 packets\"";
    let flow = "app = { kind = \"request\", response = \"1 kB\", requests = 1 }";
    let packets = |quic: &str| {
        let summary = run(link, flow, quic);
        summary.links.iter().filter_map(|link| link.metrics.get("arrivals")).sum::<f64>()
    };
    let (usual, known) = (packets(""), packets("initial_rtt = \"2 s\""));
    assert!(usual >= known + 2.0, "{usual} and {known} packets");
}

/// 100 kB that may be unacknowledged are 8 Mbit/s over 100 ms, whether the receiver's window or the sender's buffer is so small;
/// the results tell them apart, and so when both are there.
#[test]
fn a_full_send_buffer_is_not_the_receivers_window() {
    let link = LINK.replace("10 Mbit/s", "100 Mbit/s");
    let long = "app = { kind = \"bulk\" }\nstop = \"20 s\"";
    for (quic, limit, other) in [
        ("send_buffer = \"100 kB\"", "send_buffer", "receiver_window"),
        ("stream_window = \"100 kB\"", "receiver_window", "send_buffer"),
        ("send_buffer = \"100 kB\", stream_window = \"400 kB\"", "send_buffer", "receiver_window"),
        ("send_buffer = \"400 kB\", stream_window = \"100 kB\"", "receiver_window", "send_buffer"),
        ("send_buffer = \"400 kB\", connection_window = \"100 kB\"", "receiver_window", "send_buffer"),
    ] {
        let summary = run(&link, long, quic);
        let goodput = metric(&summary, "goodput_bps");
        assert!((6e6..8.1e6).contains(&goodput), "{quic}: {goodput} bit/s");
        assert!(share(&summary, limit) > 0.8, "{quic}: {:?}", summary.flows[0].limited);
        assert!(share(&summary, other) < 0.02, "{quic}: {:?}", summary.flows[0].limited);
    }
}

/// A trace has every byte of the stream once as new data, what was sent again as such, ACKs that grow to the end, and pieces
/// above them while something is missing.
#[test]
fn a_stream_is_traced_as_tcp_is() {
    let link = format!("{LINK}\nloss = \"1 %\"");
    let flow = format!("{BULK}\ntrace = true");
    let outcome = outcome(&link, &flow, "stream_window = \"500 kB\"");
    let rows = &outcome.tables.segments;
    let of = |kind: SegmentKind| rows.iter().filter(move |row| row.kind == kind);
    let new: u64 = of(SegmentKind::Data).map(|row| row.end - row.start).sum();
    assert_eq!(new, 1_000_000);
    let mut next = 0;
    for row in of(SegmentKind::Data) {
        assert_eq!(row.start, next);
        next = row.end;
    }
    // A packet may repeat two pieces.
    let again = of(SegmentKind::Retransmission).count() as f64;
    let packets = metric(&outcome.summary, "retransmitted_packets");
    assert!(
        packets > 3.0 && (packets..1.2 * packets).contains(&again),
        "{again} pieces in {packets} packets"
    );
    let (mut acked, mut edge) = (0, 500_000);
    for row in of(SegmentKind::Ack) {
        assert!(row.start >= acked && row.end >= edge && row.end <= row.start + 1_000_000, "{row:?}");
        (acked, edge) = (row.start, row.end);
    }
    assert_eq!(acked, 1_000_000);
    assert!(of(SegmentKind::Sack).count() > 10);
    // Nothing is sent beyond the window, or acknowledged before it was sent.
    let (mut edge, mut sent) = (500_000, 0);
    for row in rows {
        match row.kind {
            SegmentKind::Data => {
                assert!(row.end <= edge, "{row:?} beyond {edge}");
                sent = row.end;
            }
            SegmentKind::Ack => edge = row.end,
            _ => assert!(row.end <= sent, "{row:?} beyond {sent}"),
        }
    }
}

/// Of flows that share a connection each has a trace of its own stream.
#[test]
fn flows_on_one_connection_are_traced_apart() {
    let flow = |name: &str, trace: bool| {
        format!(
            "[[flow]]\nname = \"{name}\"\nfrom = \"a\"\nto = \"b\"\ntransport = \"quic\"\ntrace = {trace}\n\
             app = {{ kind = \"bulk\", size = \"200 kB\" }}\nquic = {{ connection = \"shared\" }}\n"
        )
    };
    let text = format!(
        "[run]\nduration = \"20 s\"\n[[link]]\nname = \"link\"\nends = [\"a\", \"b\"]\n{LINK}\n{}{}{}",
        flow("one", true),
        flow("two", false),
        flow("three", true)
    );
    let outcome = simulate(&load(&text, "test", &[]).unwrap(), RunOptions::default()).unwrap();
    for (flow, expected) in [(0, 200_000), (1, 0), (2, 200_000)] {
        let own =
            outcome.tables.segments.iter().filter(|row| row.flow == flow && row.kind == SegmentKind::Data);
        assert_eq!(own.map(|row| row.end - row.start).sum::<u64>(), expected);
    }
}
