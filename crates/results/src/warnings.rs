//! Warnings that qualify the numbers: settings that silently limit a flow, results that are far
//! from their formula, flows that did not do what the scenario states.

use crate::context::Context;
use crate::metric::*;
use crate::{FlowFailure, FlowSummary, LinkSummary, Metric, MiddleboxSummary, Warning};
use longhaul_cc::{Algorithm, Pacing, SlowStartKind};
use longhaul_scenario::middlebox::OnOthers;
use longhaul_scenario::{
    CarrierSpec, DirectedLink, EcnSpec, MiddleboxInstance, MiddleboxSpec, ShareSpec, Transport,
};
use longhaul_units::{
    DeclaredId, Duration, Figure, FlowId, GroupId, IdVec, Limit, LinkId, MiddleboxId, QueueLimit, apart, ids,
    readable,
};

mod handshake;
mod probe_rtt;
mod spans;

/// A limit is worth a warning when it held the flow for so much of its time.
const NOTICEABLE: f64 = 0.05;
/// A measured rate this many times off its formula is far from it.
const FAR: f64 = 2.0;
/// A link with this utilisation is called full, as in the lab's explanations.
const FULL: f64 = 0.95;
/// Fewer timeouts may be chance.
const ENOUGH_TIMEOUTS: f64 = 5.0;
/// The timeout of data after a lost SYN (RFC 6298 section 5.7).
const RTO_AFTER_SYN_LOSS: Duration = Duration::from_secs(3);
/// Fewer congestion events do not determine a rate.
const ENOUGH_EVENTS: f64 = 10.0;

/// Codes of warnings that follow from the settings alone: they are the same before a run and after it.
pub const OF_SETTINGS: [&str; 9] = [
    "missing_companions",
    "unused_slow_start",
    "average_window",
    "probe_rtt",
    "unused_link",
    "queue_below_a_packet",
    "packets_above_the_mtu",
    "untouched_by_middlebox",
    "exclusive_hops",
];

pub(crate) fn collect(
    context: &Context<'_>,
    flows: &IdVec<FlowId, FlowSummary>,
    links: &IdVec<DeclaredId, LinkSummary>,
    middleboxes: &IdVec<MiddleboxId, MiddleboxSummary>,
) -> Vec<Warning> {
    let mut warnings = context.run.warnings.clone();
    for (group, spec) in ids::<GroupId>(context.run.scenario.flow.len()).zip(&context.run.scenario.flow) {
        let members: Vec<&FlowSummary> =
            flows.iter().filter(|flow| context.group(flow.id) == group).collect();
        let name = &spec.name;
        let mut warn = |code, affected: Vec<&&FlowSummary>, message: &dyn Fn(&FlowSummary) -> String| {
            if let Some(first) = affected.first() {
                let who = match affected.len() {
                    1 => first.name.clone(),
                    n => format!("{n} of {} flows of {name}, for instance {}", members.len(), first.name),
                };
                warnings.push(Warning {
                    code,
                    object: name.clone(),
                    message: format!("{who}: {}", message(first)),
                });
            }
        };
        let having = |condition: &dyn Fn(&FlowSummary) -> bool| -> Vec<&&FlowSummary> {
            members.iter().filter(|flow| condition(flow)).collect()
        };
        warn(
            "receive_buffer",
            having(&|flow| {
                is_window_limited(context, flow) && full_return_link(context, flow, links).is_none()
            }),
            &|flow| receive_buffer_message(context, flow),
        );
        warn("peer_window", having(&|flow| peer_window(context, flow).is_some()), &|flow| {
            peer_window(context, flow)
                .map(|window| peer_window_message(context, flow, window))
                .unwrap_or_default()
        });
        warn("full_return_link", having(&|flow| full_return_link(context, flow, links).is_some()), &|flow| {
            full_return_link(context, flow, links).map(return_link_message).unwrap_or_default()
        });
        let missing = missing_companions(&spec.tcp);
        let without_ecn = missing_ecn(&spec.tcp);
        // Kernels have these settings, whatever the scenario's.
        let is_ours = |flow: &FlowSummary| context.facts(flow.id).stack.is_none();
        warn("missing_companions", having(&|flow| is_ours(flow) && without_ecn.is_some()), &|_| {
            without_ecn.unwrap_or_default().to_string()
        });
        warn("missing_companions", having(&|flow| is_ours(flow) && !missing.is_empty()), &|_| {
            format!(
                "hybla without {}: its authors ask for SACK, timestamps, paced segments and an estimated ssthresh (Caini and \
                 Firrincieli 2004); over a long round trip slow start overshoots without end otherwise",
                missing.join(", ")
            )
        });
        let unused_start = has_unused_slow_start(&spec.tcp);
        warn("unused_slow_start", having(&|flow| unused_start && is_ours(flow)), &|_| {
            let own = spec.tcp.congestion.name();
            format!(
                "slow_start = \"{}\" has no effect: {own} has a start of its own",
                spec.tcp.slow_start.name()
            )
        });
        let unreduced = matches!(&spec.tcp.congestion, Algorithm::RenoAverage(own) if own.on_fast_retransmit);
        warn("average_window", having(&|flow| unreduced && is_ours(flow)), &|_| {
            "reno_average with on_fast_retransmit = true: the average of past windows replaces the half of the last one, so that \
             a loss may leave the window as it is, and losses go on; it is for comparison with its source alone"
                .to_string()
        });
        warn("start_failed", having(&|flow| context.facts(flow.id).failed_starts > 0), &|_| {
            "the connection never opened: a probe was lost, or measured too low a rate".to_string()
        });
        let no_handshake = |flow: &FlowSummary| handshake::impossible(context, flow);
        warn("handshake", having(&|flow| no_handshake(flow).is_some()), &|flow| {
            no_handshake(flow).unwrap_or_default()
        });
        let gave_up = |flow: &FlowSummary| {
            let otherwise = context.facts(flow.id).failed_starts > 0 || no_handshake(flow).is_some();
            gave_up(context, flow) && !otherwise
        };
        warn("gave_up", having(&gave_up), &|_| {
            "the connection was given up after too many retransmissions without an answer".to_string()
        });
        let probes = |flow: &FlowSummary| probe_rtt::takes_all_time(context, flow);
        warn("probe_rtt", having(&|flow| is_ours(flow) && probes(flow).is_some()), &|flow| {
            probes(flow).unwrap_or_default()
        });
        warn("not_finished", having(&|flow| not_finished(context, flow)), &|_| {
            "the transfer did not finish before the end of the run".to_string()
        });
        warn("first_rto", having(&|flow| is_ours(flow) && first_rto(context, flow).is_some()), &|flow| {
            first_rto(context, flow).unwrap_or_default()
        });
        warn("min_rto", having(&|flow| early_timeouts(context, flow).is_some()), &|flow| {
            early_timeouts(context, flow).unwrap_or_default()
        });
        warn("far_from_formula", having(&|flow| far_from_formula(flow).is_some()), &|flow| {
            far_from_formula(flow).unwrap_or_default()
        });
    }
    if context.run.drops_left_out {
        warnings.push(Warning {
            code: "drops_left_out",
            object: "events.parquet".to_string(),
            message: "only the first 200,000 drops are listed one by one; all counters have all of them"
                .to_string(),
        });
    }
    warnings.extend(queues_below_a_packet(context, links));
    warnings.extend(packets_above_the_mtu(context));
    warnings.extend(held_beyond_the_path(context, flows, middleboxes));
    warnings.extend(untouched_by_middleboxes(context));
    warnings.extend(hops_on_one_link(context));
    let idle: Vec<&str> =
        links.iter().filter(|link| link.flows == 0).map(|link| link.name.as_str()).collect();
    if !idle.is_empty() {
        warnings.push(Warning {
            code: "unused_link",
            object: idle.join(", "),
            message: format!("no flow crosses {}", if idle.len() == 1 { "it" } else { "them" }),
        });
    }
    warnings
}

/// A slow start was chosen for an algorithm that begins in its own way.
fn has_unused_slow_start(tcp: &longhaul_scenario::TcpSpec) -> bool {
    // A standard one is the default, with other limits in `variant = "linux"`.
    let is_chosen = !matches!(tcp.slow_start, SlowStartKind::Standard(_));
    is_chosen && !longhaul_cc::begins_with(&tcp.congestion, &tcp.slow_start)
}

/// What a congestion control for marks is without the feedback that it needs.
fn missing_ecn(tcp: &longhaul_scenario::TcpSpec) -> Option<&'static str> {
    match (&tcp.congestion, tcp.ecn) {
        (Algorithm::Dctcp(_), EcnSpec::Off) => {
            Some("dctcp without ecn = true (or \"accurate\"): nothing is marked, and upon losses it is Reno")
        }
        (Algorithm::Prague(_), EcnSpec::Off | EcnSpec::Classic) => Some(
            "prague without ecn = \"accurate\": it sends no ECT(1), and a mark is to it what a loss is (RFC 9331 section 4.3)",
        ),
        _ => None,
    }
}

/// What Hybla's authors require and a flow has not, as settings.
fn missing_companions(tcp: &longhaul_scenario::TcpSpec) -> Vec<&'static str> {
    if !matches!(tcp.congestion, Algorithm::Hybla(_)) {
        return vec![];
    }
    let estimated = tcp.initial_ssthresh.is_some() || matches!(tcp.slow_start, SlowStartKind::PacketPair(_));
    let needed = [
        (tcp.variant.is_selective(), "variant = \"sack\""),
        (tcp.timestamps, "timestamps = true"),
        (tcp.pacing != Pacing::Off, "pacing = \"window\""),
        (estimated, "slow_start = \"packet_pair\" (or initial_ssthresh)"),
    ];
    needed.into_iter().filter(|(has, _)| !has).map(|(_, setting)| setting).collect()
}

/// The round trip that a sender's window has to fill, in seconds: without queues that of the path, unless a middlebox
/// answers before the receiver does.
fn round_trip(context: &Context<'_>, flow: &FlowSummary) -> f64 {
    let answers = context
        .run
        .network
        .middleboxes
        .iter()
        .any(|middlebox| middlebox.flows.binary_search(&flow.id).is_ok());
    let measured = flow.metrics.get(RTT_MEAN_S).filter(|_| answers);
    measured.unwrap_or(flow.base_rtt_s)
}

/// What fills the path, in bytes of payload: windows count payload, links carry headers too.
fn bandwidth_delay_product(context: &Context<'_>, flow: &FlowSummary) -> Option<f64> {
    let rate = context.run.network.bottleneck_rate(context.data_path(flow.id))?;
    let mss = context.mss(flow.id) as f64;
    let headers = context.headers(flow.id) as f64;
    Some(rate.as_bps() as f64 * round_trip(context, flow) / 8.0 * mss / (mss + headers))
}

fn is_window_limited(context: &Context<'_>, flow: &FlowSummary) -> bool {
    let limited =
        flow.limited.iter().find(|(name, _)| *name == "receiver_window").map_or(0.0, |(_, share)| *share);
    let Some(buffer) = window_bytes(context, flow) else { return false };
    if limited <= NOTICEABLE {
        return false;
    }
    match spans::allowed(&spans::spans(context, flow), buffer) {
        Some(allowed) => allowed.rate_bps < (1.0 - NOTICEABLE) * allowed.without_bps,
        None => bandwidth_delay_product(context, flow).is_some_and(|product| buffer < product),
    }
}

/// A round trip above the first retransmission timeout, if nothing shows that the SYN was sent again for nothing: by the letter of the
/// RFCs the connection then begins with one segment, and above RFC 6298's next timeout it never gets on.
fn first_rto(context: &Context<'_>, flow: &FlowSummary) -> Option<String> {
    let (tcp, rtt_s) = (context.tcp(flow.id), round_trip(context, flow));
    let rtt = Duration::from_secs_f64(rtt_s);
    let detects = tcp.timestamps && tcp.spurious_detection.eifel;
    if !context.is_tcp(flow.id) || tcp.established || detects || rtt <= tcp.rto.initial {
        return None;
    }
    let never = rtt > RTO_AFTER_SYN_LOSS.max(tcp.rto.initial) && !tcp.timestamps;
    let then = if never {
        format!(
            ", and data with a timeout of {RTO_AFTER_SYN_LOSS} (RFC 6298 section 5.7), which is shorter too: what is sent again gives no \
             round trip (Karn's rule), so that timeouts go on and the window stays small"
        )
    } else {
        String::new()
    };
    let [trip, first] = apart([rtt_s, tcp.rto.initial.as_secs_f64()], Figure::Time);
    Some(format!(
        "the round trip of {trip} is longer than the first retransmission timeout, {first} (rto.initial): the SYN is taken for lost, \
         and the connection begins with one segment (RFC 5681 section 3.1){then}. rto = {{ initial = \"{:.0} s\" }} avoids it, or \
         timestamps = true with spurious_detection = {{ eifel = true }}, as variant = \"linux\" has",
        (2.0 * rtt_s).ceil(),
    ))
}

/// Timeouts that no loss explains, where the RTT varies by more than the smallest timeout: after quick round trips the timer expires
/// before a slow one is over.
fn early_timeouts(context: &Context<'_>, flow: &FlowSummary) -> Option<String> {
    let metric = |metric: Metric| flow.metrics.get(metric);
    if !context.is_tcp(flow.id) {
        return None;
    }
    let (timeouts, lost) = (metric(TIMEOUTS)?, metric(LOST_PACKETS)?);
    let (least, most) = (metric(RTT_MIN_S)?, metric(RTT_MAX_S)?);
    let min_rto = context.tcp(flow.id).config().min_rto;
    // A timeout needs a packet that is lost; one that is sent again may be lost again.
    let unexplained = timeouts >= ENOUGH_TIMEOUTS && timeouts > 2.0 * lost;
    (unexplained && most - least > min_rto.as_secs_f64()).then(|| {
        let [least, most] = apart([least, most], Figure::Time);
        format!(
            "{timeouts} timeouts beside {lost} lost packets: the RTT varies from {least} to {most}, by more than the smallest \
             timeout, {min_rto} (rto.min); what is sent again has mostly arrived",
        )
    })
}

/// A path that is full, and as much again in a buffer before it, keep a link in use.
const FILLED_TWICE: f64 = 2.0;

/// Middleboxes that hold much more than fills the paths of their flows of what they have acknowledged and no receiver has.
fn held_beyond_the_path(
    context: &Context<'_>,
    flows: &IdVec<FlowId, FlowSummary>,
    middleboxes: &IdVec<MiddleboxId, MiddleboxSummary>,
) -> Vec<Warning> {
    let fills = |flow: &FlowId| {
        let rate = context.run.network.bottleneck_rate(context.data_path(*flow))?;
        Some(rate.as_bps() as f64 * flows[*flow].base_rtt_s / 8.0)
    };
    let warning = |middlebox: &MiddleboxInstance| {
        let product = middlebox.flows.iter().filter_map(fills).fold(0.0, f64::max);
        let metrics = &middleboxes[middlebox.id].metrics;
        let (mean, most) = (metrics.get(UNDELIVERED_MEAN_BYTES)?, metrics.get(UNDELIVERED_MAX_BYTES)?);
        let [mean_text, most_text, product_text] = apart([mean, most, product], Figure::Data);
        // What it acknowledges it has forwarded: nothing but its buffer keeps the source from sending more than the link behind takes.
        let floods = matches!(context.run.scenario.middlebox(middlebox.id), MiddleboxSpec::PrematureAck(_));
        let message = if floods && most > FILLED_TWICE * product {
            format!(
                "it had acknowledged up to {most_text} that no receiver had, more than twice the {product_text} that fill the path \
                 (bandwidth-delay product). It forwards at once what it acknowledges, and nothing but its buffer slows the source: the \
                 queue behind it overflows. A `buffer` somewhat below that product does not",
            )
        } else if mean > FILLED_TWICE * product {
            format!(
                "it held {mean_text} on average, {most_text} at most, that it had acknowledged and no receiver had: more than twice \
                 the {product_text} that fill the path (bandwidth-delay product). What is more than these waits in its buffer, in \
                 the window of its long hop, or at the receiver behind a loss, and is lost if it breaks down: `buffer`, \
                 `receive_buffer` of the long hop and the `credit` of `transport = \"hop\"` limit it",
            )
        } else {
            return None;
        };
        (product > 0.0).then(|| Warning {
            code: "held_by_middlebox",
            object: middlebox.name.clone(),
            message,
        })
    };
    context.run.network.middleboxes.iter().filter_map(warning).collect()
}

/// Flows that middleboxes for TCP forward unchanged, since QUIC shows them neither sequence numbers nor ACKs, and UDP has none.
fn untouched_by_middleboxes(context: &Context<'_>) -> Vec<Warning> {
    let (scenario, network) = (context.run.scenario, context.run.network);
    let warning = |middlebox: &MiddleboxInstance, transport: Transport| {
        let spec = scenario.middlebox(middlebox.id);
        let OnOthers::Unchanged(also) = spec.on_others() else { return None };
        let mut groups: Vec<GroupId> =
            middlebox.flows.iter().map(|flow| network.flows[*flow].group).collect();
        groups.dedup();
        let carried = groups.into_iter().map(|group| scenario.group(group));
        let names: Vec<&str> =
            carried.filter(|spec| spec.transport == transport).map(|spec| spec.name.as_str()).collect();
        let why = match transport {
            Transport::Udp => format!("UDP has nothing that a {} works with", spec.kind()),
            Transport::Quic | Transport::Tcp => format!("QUIC encrypts what a {} works with", spec.kind()),
        };
        (!names.is_empty()).then(|| Warning {
            code: "untouched_by_middlebox",
            object: middlebox.name.clone(),
            message: format!("it forwards {} unchanged: {why}{also}", names.join(", ")),
        })
    };
    let others = |middlebox| {
        [Transport::Quic, Transport::Udp].into_iter().filter_map(move |of| warning(middlebox, of))
    };
    network.middleboxes.iter().flat_map(others).collect()
}

/// Hops of which each takes a link for its own.
fn hops_on_one_link(context: &Context<'_>) -> Vec<Warning> {
    let (scenario, network) = (context.run.scenario, context.run.network);
    let is_exclusive = |middlebox: &&MiddleboxInstance| match scenario.middlebox(middlebox.id) {
        MiddleboxSpec::Split(spec) => spec
            .hop()
            .is_some_and(|hop| hop.carrier == CarrierSpec::Quic && hop.share == ShareSpec::Exclusive),
        _ => false,
    };
    let hops: Vec<&MiddleboxInstance> = network.middleboxes.iter().filter(is_exclusive).collect();
    let shared = |first: &MiddleboxInstance, second: &MiddleboxInstance| {
        first
            .between
            .iter()
            .flatten()
            .copied()
            .find(|link| second.between.iter().flatten().any(|other| other == link))
    };
    let mut warnings = vec![];
    for (index, first) in hops.iter().enumerate() {
        for second in &hops[index + 1..] {
            if let Some(link) = shared(first, second) {
                warnings.push(Warning {
                    code: "exclusive_hops",
                    object: second.name.clone(),
                    message: format!(
                        "its hop shares {} with that of {}, and each starts at the rate of the whole link (share = \"exclusive\"); with \
                         share = \"fair\" they give way to each other",
                        network.links[link].name, first.name
                    ),
                });
            }
        }
    }
    warnings
}

/// The window that STTP takes its peer to have, in bytes, if that is what keeps it from filling the path.
fn peer_window(context: &Context<'_>, flow: &FlowSummary) -> Option<f64> {
    let tcp = context.tcp(flow.id);
    let Algorithm::Sttp(params) = &tcp.congestion else { return None };
    let window = f64::from(params.peer_window) * tcp.mss.as_bytes() as f64;
    let limited = flow.limited.iter().find(|(name, _)| *name == "cwnd").map_or(0.0, |(_, share)| *share);
    let is_least = params.peer_window > 0 && window_bytes(context, flow).is_none_or(|buffer| window < buffer);
    let product = bandwidth_delay_product(context, flow)?;
    (is_least && limited > NOTICEABLE && window < product).then_some(window)
}

fn peer_window_message(context: &Context<'_>, flow: &FlowSummary, window: f64) -> String {
    let product = bandwidth_delay_product(context, flow).unwrap_or_default();
    let [small, large] = apart([window, product], Figure::Data);
    format!(
        "STTP's peer_window of {small} is smaller than the {large} of payload that fill the path (bandwidth-delay product) and limits \
         the flow to {} (window/RTT); peer_window = 0 is no such limit",
        readable(window * 8.0 / round_trip(context, flow), Figure::Rate),
    )
}

/// The link on the way of its ACKs that is full, if no link on the way of its data is: then the window is not the limit, ACKs
/// wait until a window's worth of them stands in the queue there.
fn full_return_link<'a>(
    context: &Context<'_>,
    flow: &FlowSummary,
    links: &'a IdVec<DeclaredId, LinkSummary>,
) -> Option<&'a LinkSummary> {
    // Access links of hosts have no summary.
    let summary = |link: &LinkId| context.places[*link].map(|place| &links[place]);
    let use_of =
        |link: &LinkId| summary(link).and_then(|link| link.metrics.get(UTILISATION)).unwrap_or_default();
    let busiest = |path: &[LinkId]| path.iter().map(use_of).fold(0.0, f64::max);
    if !is_window_limited(context, flow) || busiest(context.data_path(flow.id)) >= FULL {
        return None;
    }
    context.ack_path(flow.id).iter().find(|link| use_of(link) >= FULL).and_then(summary)
}

fn return_link_message(link: &LinkSummary) -> String {
    format!(
        "the return link {} ({} to {}) is full, {} of it is in use, and limits the flow: ACKs wait there. A larger receive \
         buffer would only make their queue longer; fewer or shorter ACKs, or a faster return link, would help",
        link.name,
        link.from,
        link.to,
        readable(link.metrics.get(UTILISATION).unwrap_or_default(), Figure::Share),
    )
}

/// Groups of flows whose full-sized packets are longer than a link of their path carries: real ones would not get through as they are.
fn packets_above_the_mtu(context: &Context<'_>) -> Vec<Warning> {
    let network = context.run.network;
    let mut warned: Vec<(GroupId, LinkId)> = vec![];
    let mut warnings = vec![];
    for flow in network.flows.ids() {
        let clamped = network.middleboxes.iter().filter(|instance| instance.flows.contains(&flow));
        let clamped = clamped.filter_map(|instance| match context.run.scenario.middlebox(instance.id) {
            MiddleboxSpec::MssClamp(clamp) => Some(clamp.mss.as_bytes()),
            _ => None,
        });
        let mss = clamped.chain([context.mss(flow)]).min().unwrap_or_default();
        let packet = mss + context.headers(flow);
        let ways = context.ways(flow);
        let links = ways.iter().flat_map(|(_, _, way)| way.data(context.facts(flow).server_sends));
        for link in links {
            let DirectedLink { name, mtu: Some((mtu, _)), .. } = &network.links[*link] else { continue };
            let mtu = u64::from(*mtu);
            let key = (context.group(flow), *link);
            if packet <= mtu || warned.contains(&key) {
                continue;
            }
            warned.push(key);
            let setting = if context.is_tcp(flow) { "tcp.mss" } else { "the size of datagrams" };
            let most = mtu.saturating_sub(context.headers(flow));
            warnings.push(Warning {
                code: "packets_above_the_mtu",
                object: network.flows[flow].name.clone(),
                message: format!(
                    "its packets of {packet} B are longer than the {mtu} B that {name} carries: the simulator carries them all the same, \
                     real hosts find it out by ICMP, if that comes; make {setting} {most} B at most"
                ),
            });
        }
    }
    warnings
}

/// Queues with a limit in bytes that is less than a full-sized packet of a flow whose data cross them.
fn queues_below_a_packet(context: &Context<'_>, links: &IdVec<DeclaredId, LinkSummary>) -> Vec<Warning> {
    let network = context.run.network;
    let mut largest = IdVec::<LinkId, u64>::filled(0, network.links.len());
    for flow in network.flows.ids() {
        let packet = context.mss(flow) + context.headers(flow);
        for (_, _, way) in context.ways(flow) {
            for link in way.data(context.facts(flow).server_sends) {
                largest[*link] = packet.max(largest[*link]);
            }
        }
    }
    let too_small = context.declared.iter().zip(links).filter_map(|(id, link)| {
        let packet = largest[*id];
        match network.links[*id].config.queue.limit() {
            QueueLimit::Fixed(Limit::Bytes(most)) if most.as_bytes() < packet => Some(Warning {
                code: "queue_below_a_packet",
                object: link.name.clone(),
                message: format!(
                    "its queue of {most} is less than one packet of {packet} B: what finds the link busy is dropped"
                ),
            }),
            _ => None,
        }
    });
    too_small.collect()
}

/// The largest window that the receiver can offer; `None` if it is unlimited and, with TCP, scaled.
fn window_bytes(context: &Context<'_>, flow: &FlowSummary) -> Option<f64> {
    let scales = !context.is_tcp(flow.id) || context.tcp(flow.id).window_scaling;
    let unscaled = (!scales).then_some(f64::from(u16::MAX));
    let buffer = context.largest_window(flow.id).map(|bytes| bytes as f64);
    match (buffer, unscaled) {
        (Some(buffer), Some(unscaled)) => Some(buffer.min(unscaled)),
        (buffer, unscaled) => buffer.or(unscaled),
    }
}

fn receive_buffer_message(context: &Context<'_>, flow: &FlowSummary) -> String {
    let buffer = window_bytes(context, flow).unwrap_or_default();
    let key = window_key(context, flow);
    if let Some(allowed) = spans::allowed(&spans::spans(context, flow), buffer) {
        let [small, large] = apart([buffer, allowed.most], Figure::Data);
        return format!(
            "the receive window of {small} is smaller than the {large} of payload that fill the path at its longest \
             (bandwidth-delay product), and allows the flow {} on average while the path changes (window/RTT); raise {key}",
            readable(allowed.rate_bps, Figure::Rate),
        );
    }
    let product = bandwidth_delay_product(context, flow).unwrap_or_default();
    let [small, large] = apart([buffer, product], Figure::Data);
    format!(
        "the receive window of {small} is smaller than the {large} of payload that fill the path (bandwidth-delay product) and \
         limits the flow to {} (window/RTT); raise {key}",
        readable(buffer * 8.0 / round_trip(context, flow), Figure::Rate),
    )
}

/// The settings from which the window of a flow follows: those that its transport and its variant take.
fn window_key(context: &Context<'_>, flow: &FlowSummary) -> String {
    if context.quic(flow.id).is_some() {
        return "stream_window and connection_window".to_string();
    }
    let tcp = context.tcp(flow.id);
    let key = if !tcp.so_rcvbuf.is_off() {
        "so_rcvbuf, or leave it out so that the buffer is autotuned"
    } else if tcp.receive_autotuning.is_some() {
        "receive_autotuning.max"
    } else {
        "receive_buffer"
    };
    if tcp.window_scaling { key.to_string() } else { format!("{key} and turn window_scaling on") }
}

fn gave_up(context: &Context<'_>, flow: &FlowSummary) -> bool {
    context.facts(flow.id).failure == Some(FlowFailure::GaveUp)
}

fn not_finished(context: &Context<'_>, flow: &FlowSummary) -> bool {
    let facts = context.facts(flow.id);
    facts.app.has_end && facts.app.finished.is_none() && facts.failure.is_none()
}

/// A flow that only its congestion window limited should be near its response function.
fn far_from_formula(flow: &FlowSummary) -> Option<String> {
    let enough = flow.metrics.get(CONGESTION_EVENTS)? >= ENOUGH_EVENTS;
    let limited_otherwise: f64 = flow
        .limited
        .iter()
        .filter(|(name, _)| matches!(*name, "application" | "receiver_window" | "pacing"))
        .map(|(_, share)| share)
        .sum();
    if !enough || limited_otherwise > NOTICEABLE {
        return None;
    }
    let measured = flow.metrics.get(GOODPUT_BPS)?;
    let bounds = [FAIR_SHARE_BPS, WINDOW_LIMIT_BPS].map(Metric::name);
    let (name, formula) = flow.predicted.iter().find(|(name, _)| !bounds.contains(name))?;
    let name = name.trim_end_matches("_bps");
    let factor = measured / formula;
    (!(1.0 / FAR..=FAR).contains(&factor)).then(|| {
        format!(
            "the goodput of {} is {} times what the {name} formula gives for its RTT and congestion event rate ({}); timeouts and \
             short flows are outside the formula",
            readable(measured, Figure::Rate),
            readable(factor, Figure::Plain),
            readable(formula, Figure::Rate),
        )
    })
}
