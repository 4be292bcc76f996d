//! The log of a connection in the format qlog, which qvis draws: draft-ietf-quic-qlog-main-schema-02 (version 0.3) as JSON text
//! sequence (RFC 7464), events of draft-ietf-quic-qlog-quic-events-02.

use crate::congestion::Measured;
use crate::frames::{self, Frame};
use crate::observe::{Kind, Packet};
use longhaul_units::Instant;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::net::IpAddr;

/// Delays of ACKs are written in units of 2^3 us (RFC 9000 section 18.2): quinn-proto's choice is the default.
const ACK_DELAY_UNIT_MS: f64 = 0.008;

/// The log of one end of a connection.
pub(crate) struct Log {
    text: String,
    /// 1-RTT packets that are neither acknowledged nor lost, and their size.
    open: BTreeMap<u64, usize>,
    /// Packets that were lost, as quinn-proto counts them.
    lost: u64,
    last: Option<(Measured, u64, Option<u64>)>,
}

impl Log {
    /// A log that begins with the description of its trace.
    pub fn new(now: Instant, client: bool, own: IpAddr, peer: IpAddr) -> Self {
        let vantage = if client { "client" } else { "server" };
        let mut log = Log { text: String::new(), open: BTreeMap::new(), lost: 0, last: None };
        log.record(&format!(
            "{{\"qlog_version\":\"0.3\",\"qlog_format\":\"JSON-SEQ\",\"title\":\"longhaul\",\"trace\":{{\"vantage_point\":\
             {{\"name\":\"longhaul\",\"type\":\"{vantage}\"}},\"common_fields\":{{\"time_format\":\"relative\",\
             \"reference_time\":0,\"protocol_type\":[\"QUIC\"]}}}}}}"
        ));
        let addresses = format!("\"ip_version\":\"v4\",\"src_ip\":\"{own}\",\"dst_ip\":\"{peer}\"");
        log.event(now, "connectivity:connection_started", &addresses);
        log
    }

    /// The text up to now.
    pub fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.text).into_bytes()
    }

    fn record(&mut self, json: &str) {
        // RFC 7464 section 2.2.
        self.text.push('\u{1e}');
        self.text.push_str(json);
        self.text.push('\n');
    }

    fn event(&mut self, now: Instant, name: &str, data: &str) {
        let time = now.as_nanos() as f64 / 1e6;
        self.record(&format!("{{\"time\":{time},\"name\":\"{name}\",\"data\":{{{data}}}}}"));
    }

    /// A packet has left.
    pub fn sent(&mut self, now: Instant, packet: &Packet, payload: &[u8]) {
        let (frames, in_flight) = described(payload, |_, _| {});
        if packet.kind == Kind::OneRtt && in_flight {
            self.open.insert(packet.number, packet.length);
        }
        self.event(now, "transport:packet_sent", &format!("{},\"frames\":[{frames}]", header(packet)));
    }

    /// A packet has arrived.
    pub fn received(&mut self, now: Instant, packet: &Packet, payload: &[u8]) {
        let open = &mut self.open;
        let of_data = packet.kind == Kind::OneRtt;
        let (frames, _) = described(payload, |first, last| {
            while let Some(number) =
                open.range(first..=last).next().map(|(number, _)| *number).filter(|_| of_data)
            {
                open.remove(&number);
            }
        });
        self.event(now, "transport:packet_received", &format!("{},\"frames\":[{frames}]", header(packet)));
    }

    /// quinn-proto has counted so many lost packets: those with the lowest numbers, as both of its thresholds go by order
    /// (RFC 9002 section 6.1). A datagram that is larger than `mtu` was a probe, whose loss is no congestion.
    pub fn lost(&mut self, now: Instant, count: u64, mtu: usize) {
        while self.lost < count {
            self.lost += 1;
            let Some(number) =
                self.open.iter().find(|(_, length)| **length <= mtu).map(|(number, _)| *number)
            else {
                continue;
            };
            self.open.remove(&number);
            let header = format!("\"header\":{{\"packet_type\":\"1RTT\",\"packet_number\":{number}}}");
            self.event(now, "recovery:packet_lost", &header);
        }
    }

    /// What the sender has measured, if it has changed.
    pub fn measured(&mut self, now: Instant, measured: &Measured, window: u64, ssthresh: Option<u64>) {
        let before = self.last.replace((*measured, window, ssthresh));
        let mut data = String::new();
        let mut add = |name: &str, value: f64, old: Option<f64>| {
            if old != Some(value) {
                let comma = if data.is_empty() { "" } else { "," };
                // Writing to a text cannot fail.
                let _ = write!(data, "{comma}\"{name}\":{value}");
            }
        };
        let was = |get: fn(&(Measured, u64, Option<u64>)) -> f64| before.as_ref().map(get);
        if measured.rtt_samples > 0 {
            let had = before.as_ref().is_some_and(|(before, ..)| before.rtt_samples > 0);
            let ms = |get: fn(&(Measured, u64, Option<u64>)) -> f64| was(get).filter(|_| had);
            add("smoothed_rtt", measured.srtt.as_secs_f64() * 1e3, ms(|m| m.0.srtt.as_secs_f64() * 1e3));
            add("min_rtt", measured.rtt_min.as_secs_f64() * 1e3, ms(|m| m.0.rtt_min.as_secs_f64() * 1e3));
        }
        add("congestion_window", window as f64, was(|m| m.1 as f64));
        add("bytes_in_flight", measured.in_flight as f64, was(|m| m.0.in_flight as f64));
        if let Some(ssthresh) = ssthresh {
            add(
                "ssthresh",
                ssthresh as f64,
                before.and_then(|(.., ssthresh)| ssthresh).map(|bytes| bytes as f64),
            );
        }
        if !data.is_empty() {
            self.event(now, "recovery:metrics_updated", &data);
        }
    }

    /// Careful resume has come to a phase (draft-ietf-tsvwg-careful-resume-qlog-02).
    pub fn resumed(&mut self, now: Instant, phase: &str) {
        self.event(now, "recovery:careful_resume_phase_updated", &format!("\"new\":\"{phase}\""));
    }

    /// The connection is over.
    pub fn closed(&mut self, now: Instant, reason: &str) {
        let reason: String = reason.chars().filter(|c| !c.is_control() && !matches!(c, '"' | '\\')).collect();
        self.event(now, "connectivity:connection_closed", &format!("\"reason\":\"{reason}\""));
    }
}

fn header(packet: &Packet) -> String {
    let kind = match packet.kind {
        Kind::Initial => "initial",
        Kind::ZeroRtt => "0RTT",
        Kind::Handshake => "handshake",
        Kind::OneRtt => "1RTT",
    };
    format!(
        "\"header\":{{\"packet_type\":\"{kind}\",\"packet_number\":{}}},\"raw\":{{\"length\":{}}}",
        packet.number, packet.length
    )
}

/// The frames of a packet, and whether it counts as in flight. `acked` is called with each range of packet numbers.
fn described(payload: &[u8], mut acked: impl FnMut(u64, u64)) -> (String, bool) {
    let (mut text, mut in_flight) = (String::new(), false);
    frames::each(payload, |frame| {
        in_flight |= !matches!(frame, Frame::Ack(_) | Frame::ConnectionClose { .. });
        let comma = if text.is_empty() { "" } else { "," };
        let _ = write!(text, "{comma}{{\"frame_type\":{}}}", fields(&frame, &mut acked));
    });
    (text, in_flight)
}

/// Type and fields of a frame (draft-ietf-quic-qlog-quic-events-02 appendix A.13).
fn fields(frame: &Frame<'_>, acked: &mut impl FnMut(u64, u64)) -> String {
    let way = |bidirectional: bool| if bidirectional { "bidirectional" } else { "unidirectional" };
    match frame {
        Frame::Padding(length) => format!("\"padding\",\"length\":{length},\"payload_length\":{length}"),
        Frame::Ping => "\"ping\"".to_string(),
        Frame::Ack(ack) => {
            let mut ranges = String::new();
            ack.ranges(|first, last| {
                let comma = if ranges.is_empty() { "" } else { "," };
                let _ = write!(ranges, "{comma}[{first},{last}]");
                acked(first, last);
            });
            let delay = ack.delay as f64 * ACK_DELAY_UNIT_MS;
            format!("\"ack\",\"ack_delay\":{delay},\"acked_ranges\":[{ranges}]")
        }
        Frame::ResetStream { stream, code, size } => {
            format!("\"reset_stream\",\"stream_id\":{stream},\"error_code\":{code},\"final_size\":{size}")
        }
        Frame::StopSending { stream, code } => {
            format!("\"stop_sending\",\"stream_id\":{stream},\"error_code\":{code}")
        }
        Frame::Crypto { offset, length } => format!("\"crypto\",\"offset\":{offset},\"length\":{length}"),
        Frame::NewToken(length) => format!("\"new_token\",\"token\":{{\"length\":{length}}}"),
        Frame::Stream { stream, offset, length, fin } => {
            let fin = if *fin { ",\"fin\":true" } else { "" };
            format!("\"stream\",\"stream_id\":{stream},\"offset\":{offset},\"length\":{length}{fin}")
        }
        Frame::MaxData(limit) => format!("\"max_data\",\"maximum\":{limit}"),
        Frame::MaxStreamData { stream, limit } => {
            format!("\"max_stream_data\",\"stream_id\":{stream},\"maximum\":{limit}")
        }
        Frame::MaxStreams { bidirectional, limit } => {
            format!("\"max_streams\",\"stream_type\":\"{}\",\"maximum\":{limit}", way(*bidirectional))
        }
        Frame::DataBlocked(limit) => format!("\"data_blocked\",\"limit\":{limit}"),
        Frame::StreamDataBlocked { stream, limit } => {
            format!("\"stream_data_blocked\",\"stream_id\":{stream},\"limit\":{limit}")
        }
        Frame::StreamsBlocked { bidirectional, limit } => {
            format!("\"streams_blocked\",\"stream_type\":\"{}\",\"limit\":{limit}", way(*bidirectional))
        }
        Frame::NewConnectionId { sequence, retire, id } => {
            let id: String = id.iter().map(|byte| format!("{byte:02x}")).collect();
            format!(
                "\"new_connection_id\",\"sequence_number\":{sequence},\"retire_prior_to\":{retire},\"connection_id\":\"{id}\""
            )
        }
        Frame::RetireConnectionId(sequence) => {
            format!("\"retire_connection_id\",\"sequence_number\":{sequence}")
        }
        Frame::PathChallenge => "\"path_challenge\"".to_string(),
        Frame::PathResponse => "\"path_response\"".to_string(),
        Frame::ConnectionClose { application, code } => {
            let space = if *application { "application" } else { "transport" };
            format!("\"connection_close\",\"error_space\":\"{space}\",\"error_code\":{code}")
        }
        Frame::HandshakeDone => "\"handshake_done\"".to_string(),
        // The draft has no names for these.
        Frame::Extension(kind) => format!("\"unknown\",\"raw_frame_type\":{kind}"),
    }
}
