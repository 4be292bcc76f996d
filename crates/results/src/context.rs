//! What several parts of a summary need: times, paths, and how many flows share each link.

use crate::links::ratio;
use crate::{FlowFacts, RunFacts};
use longhaul_cc::Algorithm;
use longhaul_path::schedule::Schedule;
use longhaul_scenario::{
    Epoch, FlowInstance, FlowSpec, QuicCongestion, QuicSpec, SpuriousDetectionSpec, TcpSpec, Transport,
    UdpSpec,
};
use longhaul_tcp::Limit;
use longhaul_units::{DeclaredId, Duration, FlowId, GroupId, IdVec, Instant, LinkId, Size, ids};
use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};

/// Bytes of IPv4 and TCP headers without options.
const HEADERS: u64 = (longhaul_segment::IPV4_HEADER + longhaul_segment::TCP_HEADER) as u64;

/// Bytes of IPv4 and UDP headers.
const UDP_HEADERS: u64 = longhaul_segment::IPV4_HEADER as u64 + 8;

/// Bytes of a 1-RTT packet besides data: first byte, connection ID, packet number of two bytes, type, stream and offset of four
/// bytes of a STREAM frame, tag (RFC 9000 sections 17.3 and 19.8).
fn quic_overhead(quic: &QuicSpec) -> u64 {
    1 + u64::from(quic.connection_id) + 2 + 1 + 1 + 4 + 16
}

/// A run, and what follows from it at once.
pub(crate) struct Context<'a> {
    pub run: &'a RunFacts<'a>,
    /// End of the warm-up.
    pub begin: Instant,
    pub measured_s: f64,
    /// Links of the scenario file, in order.
    pub declared: IdVec<DeclaredId, LinkId>,
    /// The place of each link in the summary's list.
    pub places: IdVec<LinkId, Option<DeclaredId>>,
    /// For each link, how many flows have data to send over it: the mean number at a time, at least 1.
    pub sharing: IdVec<LinkId, f64>,
    /// Each link over time, and its mean rate: made when the first flow needs them, for a script may have a million changes.
    scripts: IdVec<LinkId, OnceCell<Script>>,
    /// The ways of flows that have several.
    ways: BTreeMap<FlowId, Vec<Epoch<'a>>>,
}

/// A link over time.
struct Script {
    schedule: Schedule,
    /// While the run is measured, in bit/s.
    mean_rate_bps: f64,
}

impl<'a> Context<'a> {
    pub fn new(run: &'a RunFacts<'a>) -> Self {
        let begin = Instant::ZERO + run.scenario.run.warmup;
        let measured_s = run.end.since(begin).as_secs_f64();
        let (declared, places) = (run.network.declared(), run.network.places());
        let scripts = run.network.links.ids().map(|_| OnceCell::new()).collect();
        let routed = if run.network.routes.changes.is_empty() { 0 } else { run.network.flows.len() };
        let ways =
            ids(routed).map(|flow| (flow, run.network.epochs(flow))).filter(|(_, ways)| ways.len() > 1);
        let mut context = Context {
            run,
            begin,
            measured_s,
            declared,
            places,
            sharing: IdVec::new(),
            scripts,
            ways: ways.collect(),
        };
        context.sharing = context.flows_on_links();
        context
    }

    fn script(&self, link: LinkId) -> &Script {
        self.scripts[link].get_or_init(|| {
            let config = &self.run.network.links[link].config;
            let schedule = config.schedule();
            // Repetitions take their part: of a full packet 1 / (1 - p) transmissions.
            let repeated = config
                .loss
                .as_ref()
                .filter(|_| config.arq.is_some())
                .map_or(0.0, |loss| loss.mean_loss(1500));
            let mean_rate_bps = schedule.mean_rate_bps(self.begin, self.run.end) * (1.0 - repeated);
            Script { schedule, mean_rate_bps }
        })
    }
    /// Rate, delay and outages of a link over time.
    pub fn schedule(&self, link: LinkId) -> &Schedule {
        &self.script(link).schedule
    }
    /// The mean rate at which packets could get through a link while the run is measured, in bit/s.
    pub fn mean_rate_bps(&self, link: LinkId) -> f64 {
        self.script(link).mean_rate_bps
    }

    /// Whether a part of the run is not measured.
    pub fn has_warmup(&self) -> bool {
        self.begin > Instant::ZERO
    }
    pub fn facts(&self, flow: FlowId) -> &'a FlowFacts {
        &self.run.flows[flow]
    }
    pub fn group(&self, flow: FlowId) -> GroupId {
        self.run.network.flows[flow].group
    }
    pub fn spec(&self, flow: FlowId) -> &'a FlowSpec {
        self.run.scenario.group(self.group(flow))
    }
    pub fn tcp(&self, flow: FlowId) -> &'a TcpSpec {
        &self.spec(flow).tcp
    }
    /// The settings of a flow's QUIC connection; `None` if it uses another transport.
    pub fn quic(&self, flow: FlowId) -> Option<&'a QuicSpec> {
        self.spec(flow).quic()
    }
    /// The settings of a flow's datagrams; `None` if it uses another transport than UDP.
    pub fn udp(&self, flow: FlowId) -> Option<&'a UdpSpec> {
        self.spec(flow).udp()
    }
    /// Whether a flow uses TCP.
    pub fn is_tcp(&self, flow: FlowId) -> bool {
        self.spec(flow).transport == Transport::Tcp
    }
    /// Bytes of data in a full packet. Messages that fit into a datagram are all that a flow over UDP sends.
    pub fn mss(&self, flow: FlowId) -> u64 {
        if let Some(udp) = self.udp(flow) {
            let message = self.spec(flow).app.datagram().unwrap_or(udp.payload);
            return message.min(udp.payload).as_bytes();
        }
        match self.quic(flow) {
            None => self.tcp(flow).mss.as_bytes(),
            Some(quic) => quic.mtu_discovery.as_bytes() - quic_overhead(quic),
        }
    }
    /// What a full packet has besides, from the IP header on.
    pub fn headers(&self, flow: FlowId) -> u64 {
        match self.quic(flow) {
            Some(quic) => UDP_HEADERS + quic_overhead(quic),
            None if self.is_tcp(flow) => HEADERS,
            None => UDP_HEADERS,
        }
    }
    /// The congestion control of a flow, unless it is quinn-proto's own or there is none.
    pub fn congestion(&self, flow: FlowId) -> Option<&'a Algorithm> {
        match self.quic(flow).map(|quic| &quic.congestion) {
            None => self.is_tcp(flow).then(|| &self.tcp(flow).congestion),
            Some(QuicCongestion::Ours(algorithm)) => Some(algorithm),
            Some(QuicCongestion::Quinns(_)) => None,
        }
    }
    /// Packets that one ACK is for.
    pub fn ack_every(&self, flow: FlowId) -> u32 {
        self.quic(flow).map_or(self.tcp(flow).ack_every, |quic| quic.ack_every)
    }
    /// Whether a flow's sender detects reductions of its window that were for nothing.
    pub fn undoes(&self, flow: FlowId) -> bool {
        self.is_tcp(flow) && self.tcp(flow).spurious_detection != SpuriousDetectionSpec::default()
    }
    /// The largest window that a flow's receiver can offer; `None` if it is unlimited.
    pub fn largest_window(&self, flow: FlowId) -> Option<u64> {
        let tcp = self.tcp(flow);
        match self.quic(flow) {
            None => tcp.largest_window(),
            Some(quic) => quic.largest_window(),
        }
    }

    /// The ways of a flow: those that it had when it became active and measured.
    pub fn way(&self, flow: FlowId) -> Epoch<'a> {
        let FlowInstance { forward, reverse, .. } = &self.run.network.flows[flow];
        let begin = self.active(flow).0;
        let several = self.ways.get(&flow).and_then(|ways| ways.iter().rev().find(|way| way.from <= begin));
        several.copied().unwrap_or(Epoch { from: Instant::ZERO, forward, reverse })
    }
    /// Links on the way of a flow's data.
    pub fn data_path(&self, flow: FlowId) -> &'a [LinkId] {
        self.way(flow).data(self.facts(flow).server_sends)
    }
    /// Links on the way of its ACKs.
    pub fn ack_path(&self, flow: FlowId) -> &'a [LinkId] {
        self.way(flow).acks(self.facts(flow).server_sends)
    }
    /// All ways of a flow while it was active and measured, one after the other: from when to when it had each.
    pub fn ways(&self, flow: FlowId) -> Vec<(Instant, Instant, Epoch<'a>)> {
        let (begin, until) = self.active(flow);
        let Some(ways) = self.ways.get(&flow) else { return vec![(begin, until, self.way(flow))] };
        let ends = ways[1..].iter().map(|next| next.from).chain([Instant::FAR_FUTURE]);
        let spans = ways.iter().zip(ends).map(|(way, end)| (way.from.max(begin), end.min(until), *way));
        spans.filter(|(from, to, _)| from < to).collect()
    }

    /// From when to when a flow was active while measured.
    pub fn active(&self, flow: FlowId) -> (Instant, Instant) {
        let (instance, end) = (&self.run.network.flows[flow], self.run.end);
        let until = self.facts(flow).app.finished.or(instance.stop).unwrap_or(end).min(end);
        (instance.start.max(self.begin), until)
    }

    /// Time in which a flow was active while measured, in seconds.
    pub fn active_s(&self, flow: FlowId) -> f64 {
        let (begin, until) = self.active(flow);
        until.since(begin).as_secs_f64()
    }

    /// Round trip time of a full segment and its ACK without queues.
    pub fn base_rtt(&self, flow: FlowId) -> Duration {
        self.base_rtt_on(flow, &self.way(flow))
    }
    /// The same on one of its ways.
    pub fn base_rtt_on(&self, flow: FlowId, way: &Epoch<'_>) -> Duration {
        let (network, headers) = (self.run.network, self.headers(flow));
        let packet = Size::from_bytes(self.mss(flow) + headers);
        network.base_rtt(way, packet, Size::from_bytes(headers))
    }

    pub fn goodput_bps(&self, flow: FlowId) -> Option<f64> {
        ratio(self.facts(flow).delivered as f64 * 8.0, self.active_s(flow))
    }

    /// Reductions of the window for each data packet sent.
    pub fn congestion_event_rate(&self, flow: FlowId) -> Option<f64> {
        let sender = &self.facts(flow).sender;
        ratio(sender.congestion_events()? as f64, sender.data_segments_sent as f64)
    }

    /// Share of the slowest link on the way of a flow's data that its packets took, headers included; `None` if that link could
    /// carry nothing.
    pub fn utilisation(&self, flow: FlowId) -> Option<f64> {
        let (network, server_sends) = (self.run.network, self.facts(flow).server_sends);
        let capacity_of = |from, to, links: &[LinkId]| {
            let bottleneck = network.slowest_link(links)?;
            Some(self.schedule(bottleneck).capacity_bits(from, to))
        };
        let capacity = match self.ways.get(&flow) {
            None => capacity_of(self.begin, self.run.end, self.data_path(flow))?,
            Some(ways) => {
                let ends = ways[1..].iter().map(|next| next.from).chain([self.run.end]);
                let spans = ways.iter().zip(ends).map(|(way, end)| {
                    (way.from.max(self.begin), end.min(self.run.end), way.data(server_sends))
                });
                spans
                    .filter(|(from, to, _)| from < to)
                    .map(|(from, to, links)| capacity_of(from, to, links))
                    .sum::<Option<f64>>()?
            }
        };
        ratio(self.facts(flow).arrived.wire_bytes as f64 * 8.0, capacity)
    }

    pub fn packets_per_rtt(&self, flow: FlowId) -> Option<f64> {
        let rtt = self.base_rtt(flow).as_secs_f64();
        ratio(self.facts(flow).arrived.packets as f64 * rtt, self.active_s(flow))
    }

    /// Links on a carrier share it with the flows of its other links, by the weights of their terminals.
    fn share_carriers(&self, counts: &mut IdVec<LinkId, f64>) {
        let network = self.run.network;
        let weight = |link: LinkId| {
            network.links[link].config.carrier.as_ref().map_or(1.0, |place| place.terminal.weight)
        };
        // A terminal with a constant rate alone has that, whatever others do.
        let shares = |link: &LinkId| network.links[*link].config.may_have_whole_carrier();
        for mut members in network.carriers() {
            members.retain(shares);
            let all: f64 = members.iter().map(|link| weight(*link) * f64::min(counts[*link], 1.0)).sum();
            for link in members {
                // A terminal has its part for all of its flows.
                let own = f64::max(counts[link], 1.0);
                let others = all - weight(link) * f64::min(counts[link], 1.0);
                counts[link] = own * (weight(link) + others) / weight(link);
            }
        }
    }

    fn flows_on_links(&self) -> IdVec<LinkId, f64> {
        let mut counts = IdVec::filled(0.0, self.run.network.links.len());
        for flow in self.run.flows.ids() {
            // Of several connections the sum.
            let idle = |limit| matches!(limit, Limit::Application | Limit::Closed | Limit::Handshake);
            let sending = self.facts(flow).limited.iter().filter(|(limit, _)| !idle(*limit));
            let sending_s: f64 = sending.map(|(_, time)| time.as_secs_f64()).sum();
            let presence = ratio(sending_s, self.measured_s).map_or(0.0, |share| share.min(1.0));
            // Of several ways each counts whole: a flow shares a link with those that it meets there.
            let ways = self.ways(flow);
            let links = ways.iter().flat_map(|(_, _, way)| way.data(self.facts(flow).server_sends));
            let links: BTreeSet<LinkId> = links.copied().collect();
            links.into_iter().for_each(|link| counts[link] += presence);
        }
        self.share_carriers(&mut counts);
        counts.into_iter().map(|count| f64::max(count, 1.0)).collect()
    }
}
