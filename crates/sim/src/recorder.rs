//! What a run writes down while it goes: drops, events, time series, traces, captures.

use crate::datagram;
use crate::monitor::FlowMonitor;
use crate::packet::{Hosts, Packet, Segments};
use longhaul_fabric::Observer;
use longhaul_path::DropCause;
use longhaul_results::{EventRow, ListedDrops, SegmentKind, SegmentRow, Tables, drop_kind};
use longhaul_segment::pcapng::{self, LinkType, SIMULATED_TIMES};
use longhaul_segment::{Flags, Segment, SeqNumber};
use longhaul_tcp::Event;
use longhaul_units::{ConnectionId, DeclaredId, EndpointId, FlowId, Id, IdVec, Instant, LinkId};

/// A captured packet.
pub(crate) struct Captured {
    pub time: Instant,
    pub link: LinkId,
    pub packet: Packet,
    content: Content,
}

/// What is kept of a captured packet.
enum Content {
    Tcp(Segment),
    /// The first bytes of a UDP datagram's payload, and the port of its flow's passive end.
    Udp(u16, Box<[u8]>),
}

/// What became of a capture.
#[derive(Default)]
pub(crate) struct Capture {
    /// The pcapng file.
    pub file: Vec<u8>,
    /// How many packets are missing in it, since the wire format has no place for them, and why the first.
    pub left_out: Option<(usize, String)>,
}

/// Collects what happens.
pub(crate) struct Recorder {
    /// Time series are recorded.
    pub recording: bool,
    pub tables: Tables,
    /// Data packets of each flow that were dropped anywhere.
    pub lost: IdVec<FlowId, u64>,
    /// Data packets that middleboxes have sent for each flow.
    pub made: IdVec<FlowId, u64>,
    /// The flow of each connection.
    flow_of: IdVec<ConnectionId, FlowId>,
    /// The place in the summary's list, for links of the scenario file.
    pub places: IdVec<LinkId, Option<DeclaredId>>,
    /// Links whose packets are captured.
    pub taps: IdVec<LinkId, bool>,
    /// The monitors of links, where they were requested.
    pub monitors: IdVec<LinkId, Option<FlowMonitor>>,
    captured: Vec<Captured>,
    drops: ListedDrops,
    /// For each flow, where the traces' 64-bit sequence numbers stand: data and ISN seen first.
    traces: IdVec<FlowId, TraceState>,
}

#[derive(Clone, Copy, Default)]
struct TraceState {
    isn: Option<SeqNumber>,
    near: u64,
    window_shift: u8,
}

impl Recorder {
    /// `flow_of` names the flow of each connection, in ascending order.
    pub fn new(
        recording: bool,
        flow_of: IdVec<ConnectionId, FlowId>,
        places: IdVec<LinkId, Option<DeclaredId>>,
    ) -> Self {
        let flows = flow_of.last().map_or(0, |last| last.index() + 1);
        let links = places.len();
        Recorder {
            recording,
            tables: Tables::default(),
            lost: IdVec::filled(0, flows),
            made: IdVec::filled(0, flows),
            flow_of,
            places,
            taps: IdVec::filled(false, links),
            monitors: (0..links).map(|_| None).collect(),
            captured: vec![],
            drops: ListedDrops::default(),
            traces: IdVec::filled(TraceState::default(), flows),
        }
    }

    /// Takes the time series out. What endpoints did ahead of time comes into its place.
    /// What is lost after the `end` is not in it.
    pub fn finish(&mut self, end: Instant) -> Tables {
        let mut tables = std::mem::take(&mut self.tables);
        let end_s = end.as_secs_f64();
        tables.events.retain(|event| event.kind != "loss" || event.time_s <= end_s);
        tables.events.sort_by(|a, b| {
            a.time_s.total_cmp(&b.time_s).then(a.flow.cmp(&b.flow)).then(a.link.cmp(&b.link))
        });
        tables.segments.sort_by_key(|row| (row.time_ns, row.flow));
        self.captured.sort_by_key(|captured| (captured.time, captured.link));
        tables
    }

    /// True if some single drops are missing in the list of events.
    pub fn drops_left_out(&self) -> bool {
        self.drops.left_out()
    }

    /// Notes something rare.
    pub fn event(
        &mut self,
        now: Instant,
        kind: &'static str,
        flow: Option<FlowId>,
        link: Option<DeclaredId>,
        value: f64,
    ) {
        if self.recording {
            self.tables.events.push(EventRow::new(now, kind, flow, link, value));
        }
    }

    /// Notes what a connection reports.
    pub fn connection_event(&mut self, now: Instant, flow: FlowId, event: Event) {
        let (kind, value) = match event {
            Event::Connected => ("connected", 0.0),
            Event::FastRetransmit { flight_size, .. } => ("fast_retransmit", flight_size as f64),
            Event::Timeout { backoff, .. } => ("timeout", f64::from(backoff)),
            Event::RecoveryEnd => ("recovery_end", 0.0),
            Event::EcnReduction => ("ecn_reduction", 0.0),
            Event::ReductionUndone => ("reduction_undone", 0.0),
            Event::Closed => ("closed", 0.0),
            Event::Reset => ("reset", 0.0),
            Event::TimedOut => ("gave_up", 0.0),
            Event::Probed { rate } => ("probed", rate.as_bps() as f64),
            Event::StartFailed => ("start_failed", 0.0),
            Event::PeerClosed | Event::AllAcked => return,
        };
        self.event(now, kind, Some(flow), None, value);
    }

    /// Notes that a packet was dropped. A connection that is none of a flow is a middlebox's own.
    pub fn drop(
        &mut self,
        now: Instant,
        kind: &'static str,
        connection: ConnectionId,
        payload_len: u32,
        link: Option<DeclaredId>,
        wire_len: u32,
    ) {
        let flow = self.flow_of.get(connection).copied();
        if let Some(flow) = flow {
            self.lost[flow] += u64::from(payload_len > 0);
        }
        if self.recording && self.drops.count() {
            self.event(now, kind, flow, link, f64::from(wire_len));
        }
    }

    /// Tells the link's monitor, if it has one, of a flow's packet.
    fn monitored(
        &mut self,
        link: LinkId,
        packet: &Packet,
        count: impl FnOnce(&mut FlowMonitor, FlowId, &Packet),
    ) {
        let flow = self.flow_of.get(packet.to.connection());
        if let (Some(monitor), Some(flow)) = (&mut self.monitors[link], flow) {
            count(monitor, *flow, packet);
        }
    }

    /// Traces a segment that the data's sender sends.
    pub fn trace_sent(&mut self, now: Instant, flow: FlowId, segment: &Segment, retransmission: bool) {
        if !self.recording || segment.seq_len() == 0 {
            return;
        }
        let trace = &mut self.traces[flow];
        let isn = *trace.isn.get_or_insert(segment.seq);
        let Some(start) = segment.seq.expand(isn, trace.near) else { return };
        trace.near = start;
        let kind = if retransmission { SegmentKind::Retransmission } else { SegmentKind::Data };
        self.segment(now, flow, kind, start, start + u64::from(segment.seq_len()));
    }

    /// Traces a segment that the data's sender receives.
    pub fn trace_received(&mut self, now: Instant, flow: FlowId, segment: &Segment) {
        let trace = &mut self.traces[flow];
        if segment.flags.contains(Flags::SYN) {
            trace.window_shift = segment.options.window_scale.unwrap_or(0);
        }
        let Some(isn) = trace.isn.filter(|_| self.recording && segment.flags.contains(Flags::ACK)) else {
            return;
        };
        let (near, shift) =
            (trace.near, if segment.flags.contains(Flags::SYN) { 0 } else { trace.window_shift });
        let Some(ack) = segment.ack.expand(isn, near) else { return };
        self.segment(now, flow, SegmentKind::Ack, ack, ack + (u64::from(segment.window) << shift));
        for (start, end) in segment.options.sack.as_slice() {
            if let (Some(start), Some(end)) = (start.expand(isn, near), end.expand(isn, near)) {
                self.segment(now, flow, SegmentKind::Sack, start, end);
            }
        }
    }

    /// The window scale of a trace whose handshake was skipped.
    pub fn assume_window_shift(&mut self, flow: FlowId, shift: u8) {
        self.traces[flow].window_shift = shift;
    }

    /// Writes down a row of a trace.
    pub fn segment(&mut self, now: Instant, flow: FlowId, kind: SegmentKind, start: u64, end: u64) {
        if !self.recording {
            return;
        }
        let row = SegmentRow { time_ns: now.as_nanos(), flow: flow.0, kind, start, end };
        self.tables.segments.push(row);
    }

    /// The captured packets as a pcapng file; one interface for each of `taps` (link and name).
    pub fn capture_file(&self, taps: &[(LinkId, String)], hosts: impl Fn(EndpointId) -> Hosts) -> Capture {
        let mut capture = Capture::default();
        let names: Vec<&str> = taps.iter().map(|(_, name)| name.as_str()).collect();
        let mut writer = match pcapng::Writer::new(&mut capture.file, &names, LinkType::Ip, SIMULATED_TIMES) {
            Ok(writer) => writer,
            Err(why) => return Capture { left_out: Some((self.captured.len(), why.to_string())), ..capture },
        };
        let mut header = vec![];
        for (number, captured) in self.captured.iter().enumerate() {
            let Some(tap) = taps.iter().position(|(link, _)| *link == captured.link) else { continue };
            let hosts = hosts(captured.packet.to);
            let ip = longhaul_segment::ip::Header {
                dscp: captured.packet.dscp().get(),
                ecn: captured.packet.ecn(),
                id: number as u16,
                ..longhaul_segment::ip::Header::new(hosts.src, hosts.dst)
            };
            header.clear();
            let encoded = match &captured.content {
                Content::Tcp(segment) => longhaul_segment::wire::encode_headers(&ip, segment, &mut header),
                Content::Udp(port, payload) => {
                    let (to, len) = (captured.packet.to, captured.packet.wire_len);
                    datagram::encode(&ip, to, *port, len, payload, &mut header)
                }
            };
            let written = encoded.map_err(|why| why.to_string()).and_then(|()| {
                writer
                    .packet(tap, captured.time, &header, captured.packet.wire_len)
                    .map_err(|why| why.to_string())
            });
            if let Err(why) = written {
                capture.left_out.get_or_insert((0, why)).0 += 1;
            }
        }
        drop(writer);
        capture
    }
}

impl Observer<Segments> for Recorder {
    #[inline(never)]
    fn dropped(
        &mut self,
        now: Instant,
        link: LinkId,
        packet: &Packet,
        segments: &Segments,
        cause: DropCause,
    ) {
        let kind = drop_kind(cause);
        if kind == "drop" {
            self.monitored(link, packet, FlowMonitor::dropped);
        }
        self.drop(
            now,
            kind,
            packet.to.connection(),
            segments.get(packet).payload_len,
            self.places[link],
            packet.wire_len,
        );
    }

    /// A loss of its flow and no drop of a link, as that of a damaged packet.
    #[inline(never)]
    fn left_behind(&mut self, now: Instant, link: LinkId, packet: &Packet, segments: &Segments) {
        let (connection, len) = (packet.to.connection(), segments.get(packet).payload_len);
        self.drop(now, "left_behind", connection, len, self.places[link], packet.wire_len);
    }

    #[inline(never)]
    fn offered(&mut self, now: Instant, link: LinkId, packet: &Packet, segments: &Segments) {
        self.monitored(link, packet, FlowMonitor::offered);
        if self.taps[link] {
            let content = match (segments.datagram(packet), segments.stamp(packet)) {
                (Some(datagram), _) => Content::Udp(datagram::PORTS[1], datagram::captured(datagram)),
                (None, Some(_)) => Content::Udp(datagram::PLAIN_PORT, Box::default()),
                (None, None) => Content::Tcp(*segments.get(packet)),
            };
            self.captured.push(Captured { time: now, link, packet: *packet, content });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Label;
    use longhaul_segment::Ecn;

    /// URG has a pointer that a segment does not keep, and an IPv4 packet has at most 65,535 bytes: such packets cannot
    /// be written, and are counted.
    #[test]
    fn packets_that_cannot_be_written_are_counted() {
        let mut recorder = Recorder::new(true, vec![FlowId(0)].into(), vec![Some(DeclaredId(0))].into());
        recorder.taps[LinkId(0)] = true;
        let mut segments = Segments::default();
        let mut capture = |flags, payload_len| {
            let packet = segments.packet(EndpointId(0), Label::default(), |segment| {
                *segment = Segment { flags, payload_len, ..Segment::default() };
                Some((Ecn::NotEct, segment.ipv4_len()))
            });
            let packet = packet.expect("it was written");
            recorder.offered(Instant::ZERO, LinkId(0), &packet, &segments);
        };
        capture(Flags::ACK, 1460);
        capture(Flags::URG, 1460);
        capture(Flags::ACK, 65_500);
        capture(Flags::ACK, 0);
        let hosts = |_| Hosts { src: [10, 0, 0, 1].into(), dst: [10, 0, 0, 2].into() };
        let whole = recorder.capture_file(&[(LinkId(0), "link".into())], hosts);
        let (count, why) = whole.left_out.expect("two cannot be written");
        assert_eq!(count, 2);
        assert!(why.contains("URG"), "{why}");
        // Section header 28 + comment and end, interface 20 + name 8 + resolution 8 + end 4, two packets of 32 + 40 bytes.
        let comment = 4 + SIMULATED_TIMES.len().next_multiple_of(4) + 4;
        assert_eq!(whole.file.len(), 28 + comment + 40 + 2 * (32 + 40));
    }
}
