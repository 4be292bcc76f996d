//! What a node reports: to `status` and `flows`, and to Prometheus.

use crate::classes::ShareStatus;
use crate::flow::Ledger;
use crate::hubs::Way;
use crate::node::Node;
use crate::passage::Passage;
use crate::plan::Gate;
use crate::table::{BUCKETS, Histogram, Onward, STATES, State, Totals};
use longhaul_hop::PeerId;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::net::SocketAddr;
use std::sync::atomic::Ordering;

/// Numbers of a node.
#[derive(Debug, Serialize)]
pub(crate) struct Status {
    version: &'static str,
    mode: crate::config::Mode,
    seconds: f64,
    /// What becomes of new connections, in words.
    new_connections: &'static str,
    /// `true`: they pass untouched, but one if there is a trial.
    passing: bool,
    /// Why, in words.
    reasons: Vec<&'static str>,
    bypass: bool,
    full: bool,
    draining: bool,
    starved: bool,
    no_tunnel: bool,
    /// What is taken in does not arrive, for these causes.
    astray: bool,
    causes: Vec<String>,
    /// One connection is taken in, to see whether it arrives.
    trial: bool,
    /// Rules, routes and tables that others had removed and that were put back.
    repaired: u64,
    repairs: Vec<String>,
    silent: bool,
    flows: usize,
    states: BTreeMap<String, u64>,
    accepted: u64,
    refused: BTreeMap<String, u64>,
    ended: BTreeMap<String, u64>,
    up: Ledger,
    down: Ledger,
    ledger_balances: bool,
    /// Bytes that senders take for delivered and receivers have not acknowledged: here, in the kernel's buffers (every two
    /// seconds), and under way in the tunnel. They are lost if this node dies now.
    at_risk: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    tunnel: Option<TunnelStatus>,
    /// Classes of connections, at a terminal, and terminals of a hub, in the order of the file.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    classes: Vec<ShareStatus>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    terminals: Vec<ShareStatus>,
    buffers: usize,
    memory: u64,
    descriptors: usize,
}

/// The tunnels to other nodes.
#[derive(Debug, Serialize)]
pub(crate) struct TunnelStatus {
    /// The hub that takes new connections, by its name in the configuration; at a terminal.
    #[serde(skip_serializing_if = "Option::is_none")]
    hub: Option<String>,
    /// A terminal's hubs, in the order of the configuration.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    hubs: Vec<HubStatus>,
    peers: Vec<PeerStatus>,
    /// Bytes of this node's connections: taken, delivered to the other node's side, under way, given up.
    written: u64,
    delivered: u64,
    under_way: u64,
    given_up: u64,
}

/// A hub of a terminal.
#[derive(Debug, Serialize)]
pub(crate) struct HubStatus {
    name: String,
    /// Where it is, while there is to be a tunnel to it.
    #[serde(skip_serializing_if = "Option::is_none")]
    address: Option<String>,
    /// There is a tunnel.
    up: bool,
    /// It has given an answer within `hop.pass_after`.
    answers: bool,
    in_use: bool,
}

/// Another node, and what was measured on the way to it.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct PeerStatus {
    name: String,
    /// Of the tunnel that takes new connections.
    #[serde(skip)]
    pub in_use: bool,
    address: String,
    flows: u32,
    pub rtt_ms: f64,
    pub base_rtt_ms: f64,
    rate_mbps: f64,
    pub loss_percent: f64,
    queued: u64,
    in_flight: u64,
    pub sent_bytes: u64,
    pub received_bytes: u64,
    pub lost_packets: u64,
    parity_bytes: u64,
    restored_bytes: u64,
    overloads: u64,
    /// The sender's own bound.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub most_mbps: Option<f64>,
    /// UDP payload of a full packet in bytes: of those that arrive, which are smaller than `hop.mtu` behind a black hole.
    pub mtu: u16,
}

/// Bytes of all tunnels' flows.
fn ledger(node: &Node) -> longhaul_hop::Ledger {
    node.tunnels().fold(longhaul_hop::Ledger::default(), |all, tunnel| all + tunnel.ledger())
}

fn tunnel(node: &Node) -> Option<TunnelStatus> {
    let hubs = node.hubs.get()?;
    let ledger = ledger(node);
    let in_use = hubs.in_use();
    let pass_after = node.config(|config| Some(config.hop.as_ref()?.pass_after()));
    let status = |way: &Way| {
        let address = way.tunnel.hub().map(|hub| hub.to_string());
        let up = way.tunnel.is_up();
        let answers = up && !pass_after.is_some_and(|after| way.tunnel.is_silent(after));
        let in_use = std::ptr::eq(way, in_use);
        Some(HubStatus { name: way.hub.as_ref()?.to_string(), address, up, answers, in_use })
    };
    Some(TunnelStatus {
        hub: in_use.hub.as_ref().map(ToString::to_string),
        hubs: hubs.all().iter().filter_map(status).collect(),
        peers: peers(node).into_iter().map(|(_, status)| status).collect(),
        written: ledger.written,
        delivered: ledger.delivered,
        under_way: ledger.held,
        given_up: ledger.lost,
    })
}

/// All nodes to which a tunnel is up.
pub(crate) fn peers(node: &Node) -> Vec<(PeerId, PeerStatus)> {
    let Some(hubs) = node.hubs.get() else { return vec![] };
    let single = hubs.all().len() == 1;
    let name = |info: &crate::tunnel::PeerInfo, way: &Way| {
        let key = crate::config::Key(info.key.unwrap_or_default());
        let hub = way.hub.as_ref().filter(|_| !single).map_or("hub".to_string(), ToString::to_string);
        node.config(|config| {
            let known = config.terminal.iter().find(|terminal| terminal.key.contains(&key));
            let name = known.map_or(hub, |terminal| terminal.name.clone());
            if info.id.is_pooled() { format!("{name} over TCP") } else { name }
        })
    };
    let ms = |time: longhaul_units::Duration| time.as_nanos() as f64 / 1e6;
    let (most, mtu) =
        node.config(|config| config.hop.as_ref().map_or((None, 0), |hop| (hop.most_rate, hop.mtu)));
    let peer = |(info, stats): &(crate::tunnel::PeerInfo, longhaul_hop::PeerStats), way: &Way| PeerStatus {
        name: name(info, way),
        in_use: std::ptr::eq(way, hubs.in_use()),
        address: stats.address.unwrap_or(info.address).to_string(),
        flows: stats.flows,
        rtt_ms: ms(stats.rtt),
        base_rtt_ms: ms(stats.base_rtt),
        rate_mbps: stats.rate.as_bps() as f64 / 1e6,
        // Before a packet was lost, it is what the controller assumes of a path that it has not seen.
        loss_percent: if stats.lost_packets > 0 { stats.loss * 100.0 } else { 0.0 },
        queued: stats.queued,
        in_flight: stats.in_flight,
        sent_bytes: stats.sent_bytes,
        received_bytes: stats.received_bytes,
        lost_packets: stats.lost_packets,
        parity_bytes: stats.parity_bytes,
        restored_bytes: stats.restored_bytes,
        overloads: stats.overloads,
        most_mbps: most.map(|rate| rate.as_bps() as f64 / 1e6),
        // What the other carrier has for packets is the kernel's affair.
        mtu: if stats.mtu > 0 { stats.mtu } else { mtu },
    };
    let of = |way: &Way| -> Vec<(PeerId, PeerStatus)> {
        way.tunnel.peers().iter().map(|both| (both.0.id, peer(both, way))).collect()
    };
    hubs.all().iter().flat_map(of).collect()
}

/// One connection.
#[derive(Debug, Serialize)]
pub(crate) struct FlowLine {
    id: u64,
    entrance: crate::table::Entrance,
    client: String,
    server: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    proxy: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    outward: Option<String>,
    /// How it goes on from this node.
    #[serde(skip_serializing_if = "Option::is_none")]
    onward: Option<Onward>,
    state: State,
    seconds: f64,
    up: Ledger,
    down: Ledger,
}

fn named<K: Serialize, V: Copy>(counts: impl IntoIterator<Item = (K, V)>) -> BTreeMap<String, V> {
    let name = |key: K| serde_json::to_value(key).ok().and_then(|name| name.as_str().map(str::to_string));
    counts.into_iter().filter_map(|(key, count)| Some((name(key)?, count))).collect()
}

pub(crate) fn status(node: &Node) -> Status {
    let totals = node.shared.table.totals();
    let shut = *node.shut.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let (classes, terminals) = node.config(|config| node.classes.status(config));
    Status {
        version: env!("CARGO_PKG_VERSION"),
        mode: node.config(|config| config.mode),
        seconds: node.since.elapsed().as_secs_f64(),
        new_connections: if shut.hub { "come from terminals" } else { shut.becomes() },
        passing: shut.gate() != Gate::Open,
        reasons: shut.reasons().filter(|_| !shut.hub).collect(),
        bypass: shut.bypass,
        full: shut.full,
        draining: shut.draining,
        starved: shut.starved,
        no_tunnel: shut.no_tunnel,
        astray: shut.passage == Passage::Shut,
        causes: node.findings.causes().clone(),
        trial: shut.passage == Passage::Trial,
        repaired: node.findings.repaired.load(Ordering::Relaxed) as u64,
        repairs: node.findings.repairs().iter().cloned().collect(),
        silent: shut.silent,
        flows: node.shared.table.len(),
        at_risk: totals.up.held + totals.down.held + totals.in_kernel + ledger(node).held,
        ledger_balances: totals.up.balances() && totals.down.balances(),
        states: named(totals.states),
        accepted: totals.accepted,
        refused: named(totals.refused),
        ended: named(totals.ended),
        up: totals.up,
        down: totals.down,
        tunnel: tunnel(node),
        classes,
        terminals,
        buffers: node.shared.pool.in_use(),
        memory: resident(),
        descriptors: std::fs::read_dir("/proc/self/fd").map_or(0, Iterator::count),
    }
}

pub(crate) fn flows(node: &Node) -> Vec<FlowLine> {
    let line = |entry: &std::sync::Arc<crate::table::Entry>| {
        let flow = *entry.flow();
        FlowLine {
            id: entry.id,
            entrance: entry.ends.entrance,
            client: entry.ends.client.to_string(),
            server: entry.server(),
            proxy: entry.proxy.get().map(SocketAddr::to_string),
            outward: entry.outward.get().map(SocketAddr::to_string),
            onward: entry.onward.get().copied(),
            state: entry.state(),
            seconds: entry.since.elapsed().as_secs_f64(),
            up: flow.up.ledger(),
            down: flow.down.ledger(),
        }
    };
    node.shared.table.alive().iter().map(line).collect()
}

/// Resident memory of this process in bytes (proc(5), status).
fn resident() -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib: u64 = line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0);
    kib << 10
}

/// Everything in Prometheus' text format.
pub(crate) fn metrics(node: &Node) -> String {
    let (status, totals) = (status(node), node.shared.table.totals());
    let mut text = String::new();
    let mut states = named(STATES.map(|state| (state, 0)));
    states.extend(status.states.clone());
    gauge(&mut text, "flows", "Connections alive, by state.", "state", &states);
    counter(&mut text, "flows_ended_total", "Connections ended, by how.", "end", &status.ended);
    counter(
        &mut text,
        "flows_refused_total",
        "Connections not taken on, by reason.",
        "reason",
        &status.refused,
    );
    let one = |value: u64| BTreeMap::from([(String::new(), value)]);
    counter(&mut text, "flows_accepted_total", "Connections taken on.", "", &one(status.accepted));
    for (field, help) in [
        ("received", "Bytes taken from senders."),
        ("sent", "Bytes handed to receivers."),
        ("lost", "Bytes of connections that were reset before they were handed on."),
        ("unacknowledged", "Bytes handed on and not acknowledged at a reset."),
    ] {
        counter(&mut text, &format!("{field}_bytes_total"), help, "direction", &by_direction(&totals, field));
    }
    gauge(
        &mut text,
        "held_bytes",
        "Bytes acknowledged to senders and not handed on.",
        "direction",
        &by_direction(&totals, "held"),
    );
    gauge(
        &mut text,
        "ledger_balances",
        "1 if no byte is missing.",
        "",
        &one(u64::from(status.ledger_balances)),
    );
    gauge(
        &mut text,
        "passing",
        "1 while new connections pass untouched.",
        "",
        &one(u64::from(status.passing)),
    );
    let astray = "1 while what is taken in does not arrive, so that new connections pass untouched.";
    gauge(&mut text, "astray", astray, "", &one(u64::from(status.astray)));
    let times = node.findings.shut.load(Ordering::Relaxed) as u64;
    counter(&mut text, "astray_total", "Times that what was taken in did not arrive.", "", &one(times));
    let repaired = "Rules, routes and tables that others had removed and that were put back.";
    counter(&mut text, "repaired_total", repaired, "", &one(status.repaired));
    gauge(
        &mut text,
        "at_risk_bytes",
        "Bytes that senders take for delivered and receivers have not acknowledged.",
        "",
        &one(status.at_risk),
    );
    gauge(&mut text, "buffer_bytes", "Bytes of buffers in use.", "", &one(status.buffers as u64));
    gauge(&mut text, "resident_bytes", "Resident memory.", "", &one(status.memory));
    gauge(&mut text, "descriptors", "Open files.", "", &one(status.descriptors as u64));
    if let Some(tunnel) = &status.tunnel {
        tunnel_metrics(&mut text, tunnel);
    }
    share_metrics(&mut text, "class", &status.classes);
    share_metrics(&mut text, "terminal", &status.terminals);
    histogram(
        &mut text,
        "connect_seconds",
        "Time to open the connection to the server.",
        &totals.connect_time,
    );
    histogram(&mut text, "first_byte_seconds", "Time to the server's first byte.", &totals.first_byte);
    text
}

/// Classes or terminals.
fn share_metrics(text: &mut String, kind: &str, shares: &[ShareStatus]) {
    if shares.is_empty() {
        return;
    }
    type Value = fn(&ShareStatus) -> u64;
    let each = |value: Value| -> BTreeMap<String, u64> {
        shares.iter().map(|share| (share.name.clone(), value(share))).collect()
    };
    let gauges: [(&str, &str, Value); 5] = [
        ("rate_bps", "Rate of the last second, both directions.", |share| share.rate_bps),
        ("today_bytes", "Bytes of this day (UTC).", |share| share.bytes_today),
        ("month_bytes", "Bytes of this month (UTC).", |share| share.bytes_month),
        ("quota_bytes", "Bytes that there may be in a period; 0 without a quota.", |share| share.quota_bytes),
        ("over_quota", "Client addresses beyond their quotas, or 1 for a terminal.", |share| {
            if share.over_count > 0 { share.over_count as u64 } else { u64::from(share.over) }
        }),
    ];
    for (name, help, value) in gauges {
        gauge(text, &format!("{kind}_{name}"), help, kind, &each(value));
    }
}

fn tunnel_metrics(text: &mut String, tunnel: &TunnelStatus) {
    let one = |value: u64| BTreeMap::from([(String::new(), value)]);
    gauge(text, "tunnel_under_way_bytes", "Bytes under way in the tunnel.", "", &one(tunnel.under_way));
    counter(text, "tunnel_given_up_bytes_total", "Bytes given up in the tunnel.", "", &one(tunnel.given_up));
    let hubs = |value: fn(&HubStatus) -> bool| -> BTreeMap<String, u64> {
        tunnel.hubs.iter().map(|hub| (hub.name.clone(), u64::from(value(hub)))).collect()
    };
    if !tunnel.hubs.is_empty() {
        gauge(
            text,
            "hub_in_use",
            "1 for the hub that takes new connections.",
            "hub",
            &hubs(|hub| hub.in_use),
        );
        gauge(text, "hub_up", "1 while there is a tunnel to the hub.", "hub", &hubs(|hub| hub.up));
    }
    type Value = fn(&PeerStatus) -> f64;
    let each = |value: Value| -> BTreeMap<String, u64> {
        tunnel.peers.iter().map(|peer| (peer.name.clone(), value(peer) as u64)).collect()
    };
    let gauges: [(&str, &str, Value); 4] = [
        ("tunnel_rtt_microseconds", "Round trip of the newest packet.", |peer| peer.rtt_ms * 1000.0),
        ("tunnel_rate_bps", "Rate of this node's sender.", |peer| peer.rate_mbps * 1e6),
        ("tunnel_loss_ppm", "Packets lost without overload.", |peer| peer.loss_percent * 1e4),
        ("tunnel_queue_bytes", "Bytes that wait in this node.", |peer| peer.queued as f64),
    ];
    for (name, help, value) in gauges {
        gauge(text, name, help, "peer", &each(value));
    }
    let counters: [(&str, &str, Value); 4] = [
        ("tunnel_sent_bytes_total", "UDP payload sent.", |peer| peer.sent_bytes as f64),
        ("tunnel_received_bytes_total", "UDP payload received.", |peer| peer.received_bytes as f64),
        ("tunnel_parity_bytes_total", "Bytes of parities sent.", |peer| peer.parity_bytes as f64),
        ("tunnel_lost_packets_total", "Packets declared lost.", |peer| peer.lost_packets as f64),
    ];
    for (name, help, value) in counters {
        counter(text, name, help, "peer", &each(value));
    }
}

fn by_direction(totals: &Totals, field: &str) -> BTreeMap<String, u64> {
    let value = |ledger: &Ledger| match field {
        "received" => ledger.received,
        "sent" => ledger.sent,
        "lost" => ledger.lost,
        "held" => ledger.held,
        _ => ledger.unacknowledged,
    };
    BTreeMap::from([("up".to_string(), value(&totals.up)), ("down".to_string(), value(&totals.down))])
}

fn gauge(text: &mut String, name: &str, help: &str, label: &str, values: &BTreeMap<String, u64>) {
    family(text, name, help, "gauge", label, values);
}

fn counter(text: &mut String, name: &str, help: &str, label: &str, values: &BTreeMap<String, u64>) {
    family(text, name, help, "counter", label, values);
}

fn family(
    text: &mut String,
    name: &str,
    help: &str,
    kind: &str,
    label: &str,
    values: &BTreeMap<String, u64>,
) {
    // Writing to a string never fails.
    let _ = writeln!(text, "# HELP longhaul_pep_{name} {help}\n# TYPE longhaul_pep_{name} {kind}");
    for (key, value) in values {
        let label = if label.is_empty() { String::new() } else { format!("{{{label}=\"{key}\"}}") };
        let _ = writeln!(text, "longhaul_pep_{name}{label} {value}");
    }
}

fn histogram(text: &mut String, name: &str, help: &str, histogram: &Histogram) {
    let _ = writeln!(text, "# HELP longhaul_pep_{name} {help}\n# TYPE longhaul_pep_{name} histogram");
    let mut sum = 0;
    for (at, count) in histogram.counts.iter().enumerate() {
        sum += count;
        let bound = BUCKETS.get(at).map_or("+Inf".to_string(), f64::to_string);
        let _ = writeln!(text, "longhaul_pep_{name}_bucket{{le=\"{bound}\"}} {sum}");
    }
    let _ = writeln!(text, "longhaul_pep_{name}_sum {}\nlonghaul_pep_{name}_count {sum}", histogram.sum);
}
