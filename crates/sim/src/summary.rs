//! From counters to metrics. What each metric means is defined in `longhaul_results::DEFINITIONS`.

use crate::app::App;
use crate::monitor::FlowMonitor;
use crate::totals::{HEADERS, ReductionTimes, Totals};
use crate::warnings;
use crate::world::World;
use longhaul_cc::{Algorithm, Counting, closed_form};
use longhaul_path::Histogram;
use longhaul_results::{
    DEFINITIONS, FlowSummary, GroupSummary, LinkSummary, Metrics, NodeSummary, Summary, Work,
    flow_utilisation, jain_index, link_metrics, ratio,
};
use longhaul_scenario::{FlowInstance, Network, TcpSpec, VERSION, run_id};
use longhaul_segment::LineStats;
use longhaul_tcp::{Limit, LimitedTime, State};
use longhaul_units::{Duration, Instant, Size};

/// What a flow did while measured.
struct Measured {
    /// Active time in seconds.
    active_s: f64,
    /// Time in which there was something to send, in seconds; of several connections the sum.
    sending_s: f64,
    totals: Totals,
    /// Share of the slowest link on its way that its data packets took.
    utilisation: Option<f64>,
    /// Data packets that arrived in a base RTT.
    packets_per_rtt: Option<f64>,
}

/// Turns the world at the end of its run into a summary.
pub(crate) fn summarise(world: &mut World<'_>) -> Summary {
    let scenario = world.scenario;
    let end = Instant::ZERO + scenario.run.duration;
    let measured_s = (scenario.run.duration - scenario.run.warmup).as_secs_f64();
    let measured: Vec<Measured> = (0..world.apps.len()).map(|flow| measure(world, flow, end)).collect();
    let sharing = flows_on_links(world, &measured, measured_s);
    let flows: Vec<FlowSummary> =
        (0..world.apps.len()).map(|flow| flow_summary(world, flow, &measured[flow], &sharing)).collect();
    let links: Vec<LinkSummary> = (0..world.declared.len())
        .map(|position| link_summary(world, position, measured_s, sharing[world.declared[position]]))
        .collect();
    let groups = scenario
        .flow
        .iter()
        .enumerate()
        .map(|(group, spec)| {
            let members: Vec<usize> =
                (0..flows.len()).filter(|flow| world.network.flows[*flow].group == group).collect();
            let mut metrics = group_metrics(world, &members, &flows, &measured, measured_s);
            let sum = |value: fn(&Measured) -> Option<f64>| -> f64 {
                members.iter().filter_map(|flow| value(&measured[*flow])).sum()
            };
            metrics.set("utilisation", sum(|m| m.utilisation));
            metrics.set("packets_per_rtt", sum(|m| m.packets_per_rtt));
            GroupSummary { name: spec.name.clone(), count: members.len(), metrics }
        })
        .collect();
    let everything: Vec<usize> = (0..flows.len()).collect();
    let mut run = group_metrics(world, &everything, &flows, &measured, measured_s);
    let busiest = links.iter().filter_map(|link| link.metrics.get("utilisation")).fold(f64::NAN, f64::max);
    run.set("utilisation", busiest);
    let warnings = warnings::collect(world, &flows, &links);
    Summary {
        longhaul: VERSION,
        run_id: run_id(scenario),
        name: scenario.name.clone(),
        description: scenario.description.clone(),
        seed: scenario.run.seed,
        duration_s: scenario.run.duration.as_secs_f64(),
        warmup_s: scenario.run.warmup.as_secs_f64(),
        measured_s,
        run,
        links,
        groups,
        flows,
        middleboxes: (0..world.middleboxes.len()).map(|index| world.middlebox_summary(index)).collect(),
        nodes: core_nodes(world.network),
        warnings,
        work: work(world),
        emulation: None,
        definitions: DEFINITIONS,
    }
}

fn core_nodes(network: &Network) -> Vec<NodeSummary> {
    let hosts =
        network.links.iter().filter(|link| !link.declared).map(|link| link.from.min(link.to).max(link.from));
    let first_host = hosts.min().unwrap_or(network.nodes.len());
    let mut is_end_of_declared = vec![false; network.nodes.len()];
    for link in network.links.iter().filter(|link| link.declared) {
        is_end_of_declared[link.from] = true;
        is_end_of_declared[link.to] = true;
    }
    (0..network.nodes.len())
        .filter(|node| *node < first_host || is_end_of_declared[*node])
        .map(|node| NodeSummary { name: network.nodes[node].clone() })
        .collect()
}

fn work(world: &World<'_>) -> Work {
    let sessions = world.apps.iter().filter_map(|app| app.web.as_ref()).map(|session| session.ended_received);
    // What is in `ended_received` may still stand in an endpoint that waits for its next connection.
    let counted = (0..world.apps.len()).flat_map(|flow| open_endpoints(world, flow));
    let received =
        counted.map(|endpoint| world.endpoints[endpoint].connection.stats().data_segments_received);
    Work { data_packets_delivered: received.sum::<u64>() + sessions.sum::<u64>() }
}

/// The endpoints of a flow that have a connection.
fn open_endpoints(world: &World<'_>, flow: usize) -> Vec<usize> {
    let first = 2 * world.first_connection(flow);
    match &world.apps[flow].web {
        None => vec![first, first + 1],
        Some(session) => session.open().flat_map(|pair| [first + 2 * pair, first + 2 * pair + 1]).collect(),
    }
}

fn measure(world: &mut World<'_>, flow: usize, end: Instant) -> Measured {
    let app = &world.apps[flow];
    let begin = world.network.flows[flow].start.max(Instant::ZERO + world.scenario.run.warmup);
    let until = app.finished.or(world.network.flows[flow].stop).unwrap_or(end).min(end);
    let active_s = until.since(begin).as_secs_f64();
    let totals = Totals::of(world, flow).since(&world.flow_baseline[flow]);
    let before = world.flow_baseline[flow].limited;
    let idle = |limit| matches!(limit, Limit::Application | Limit::Closed | Limit::Handshake);
    let sending = totals.limited.iter().filter(|(limit, _)| !idle(*limit));
    let sending_s = sending.map(|(limit, time)| (time - before.get(limit)).as_secs_f64()).sum();
    let rtt = base_rtt(world, flow).as_secs_f64();
    Measured {
        active_s,
        sending_s,
        utilisation: utilisation(world, flow, totals.arrived.wire_bytes),
        packets_per_rtt: ratio(totals.arrived.packets as f64 * rtt, active_s),
        totals,
    }
}

/// Utilisation of a flow's bottleneck in the measured time.
fn utilisation(world: &mut World<'_>, flow: usize, arrived_bytes: u64) -> Option<f64> {
    let (warmup, now) = (Instant::ZERO + world.scenario.run.warmup, world.now);
    let bottleneck = world.network.slowest_link(world.data_path(flow))?;
    flow_utilisation(arrived_bytes, world.fabric.link(bottleneck), warmup, now)
}

/// Round trip time of a full segment and its ACK without queues.
fn base_rtt(world: &World<'_>, flow: usize) -> Duration {
    let instance = &world.network.flows[flow];
    let mss = world.scenario.flow[instance.group].tcp.mss.as_bytes();
    world.network.base_rtt(instance, Size::from_bytes(mss + HEADERS), Size::from_bytes(HEADERS))
}

impl Measured {
    fn congestion_event_rate(&self) -> Option<f64> {
        ratio(self.totals.congestion_events() as f64, self.totals.sender.data_segments_sent as f64)
    }
    fn goodput_bps(&self) -> Option<f64> {
        ratio(self.totals.delivered as f64 * 8.0, self.active_s)
    }
}

fn flow_summary(world: &World<'_>, flow: usize, measured: &Measured, sharing: &[f64]) -> FlowSummary {
    let instance = &world.network.flows[flow];
    let spec = &world.scenario.flow[instance.group];
    FlowSummary {
        id: flow,
        name: instance.name.clone(),
        group: spec.name.clone(),
        from: world.network.nodes[instance.from].clone(),
        to: world.network.nodes[instance.to].clone(),
        app: world.apps[flow].name(),
        variant: spec.tcp.variant.name(),
        congestion: spec.tcp.congestion.name(),
        slow_start: spec.tcp.slow_start.name(),
        mss_bytes: spec.tcp.mss.as_bytes(),
        start_s: instance.start.as_secs_f64(),
        data_path: declared_links(world, world.data_path(flow)),
        ack_path: declared_links(world, world.ack_path(flow)),
        access_rate_bps: access_rate(world, flow),
        base_rtt_s: base_rtt(world, flow).as_secs_f64(),
        state: format!("{:?}", flow_state(world, flow)),
        metrics: flow_metrics(world, flow, measured),
        limited: limited_shares(&measured.totals.limited, &world.flow_baseline[flow].limited),
        predicted: predictions(world, flow, &spec.tcp, measured, sharing),
    }
}

fn flow_metrics(world: &World<'_>, flow: usize, measured: &Measured) -> Metrics {
    let app = &world.apps[flow];
    let totals = &measured.totals;
    let stats = &totals.sender;
    let sent = stats.data_segments_sent as f64;
    let seen = stats.rtt_min < Duration::MAX;
    let cwnd = world.cwnd_mean[flow];
    let mut metrics = Metrics::default();
    metrics.set("goodput_bps", measured.goodput_bps());
    if world.scenario.run.peak_goodput {
        metrics.set("goodput_max_bps", world.goodput_max[flow]);
    }
    metrics.set("throughput_bps", ratio(stats.data_bytes_sent as f64 * 8.0, measured.active_s));
    metrics.set("delivered_bytes", totals.delivered as f64);
    let took = app.finished.filter(|_| app.has_end()).map(|at| at - world.network.flows[flow].start);
    metrics.set("completion_time_s", took.map(Duration::as_secs_f64));
    set_response_metrics(&mut metrics, std::slice::from_ref(app));
    metrics.set("rtt_mean_s", measured.totals.mean_rtt().map(Duration::as_secs_f64));
    metrics.set("rtt_min_s", seen.then(|| stats.rtt_min.as_secs_f64()));
    metrics.set("rtt_max_s", seen.then(|| stats.rtt_max.as_secs_f64()));
    metrics.set("cwnd_mean_bytes", ratio(cwnd.sum, cwnd.samples as f64));
    metrics.set("sent_packets", sent);
    metrics.set("retransmitted_packets", stats.retransmitted_segments as f64);
    metrics.set("retransmission_rate", ratio(stats.retransmitted_segments as f64, sent));
    metrics.set("received_packets", totals.arrived.packets as f64);
    metrics.set("lost_packets", totals.lost as f64);
    metrics.set("loss_rate", ratio(totals.lost as f64, totals.offered() as f64));
    metrics.set("marked_packets", totals.arrived.marked as f64);
    metrics.set("ecn_reductions", stats.ecn_reductions as f64);
    set_ack_congestion(&mut metrics, world, &[flow], &|_| totals);
    metrics.set("fast_retransmits", stats.fast_retransmits as f64);
    metrics.set("timeouts", stats.timeouts as f64);
    metrics.set("congestion_events", totals.congestion_events() as f64);
    metrics.set("congestion_event_rate", measured.congestion_event_rate());
    set_failed_starts(&mut metrics, world, &[flow]);
    let reductions = world.reductions[flow];
    metrics.set("first_congestion_event_s", reductions.first.map(Instant::as_secs_f64));
    metrics.set("last_congestion_event_s", reductions.last.map(Instant::as_secs_f64));
    let (signals, arrived) = (totals.congestion_signals() as f64, totals.arrived.packets as f64);
    metrics.set("congestion_signals", signals);
    metrics.set("congestion_signal_rate", ratio(signals, arrived));
    metrics.set("utilisation", measured.utilisation);
    metrics.set("packets_per_rtt", measured.packets_per_rtt);
    metrics
}

/// Connections that never opened, where there are some that begin with probes.
fn set_failed_starts(metrics: &mut Metrics, world: &World<'_>, flows: &[usize]) {
    let probes = |flow: &usize| {
        let first = 2 * world.first_connection(*flow);
        world.endpoints[first].connection.congestion_control().probe().is_some()
    };
    let failed = |flow: &usize| world.failed_starts[*flow];
    if flows.iter().any(probes) {
        metrics.set("failed_starts", flows.iter().map(failed).sum::<u64>() as f64);
    }
}

/// State of the sender's connection; of a web session, whether any is open.
fn flow_state(world: &World<'_>, flow: usize) -> State {
    match &world.apps[flow].web {
        None => world.data_sender(flow).connection.state(),
        Some(session) if session.open().next().is_none() => State::Closed,
        Some(_) => State::Established,
    }
}

/// Times of answers, objects and pages, where there are applications that ask.
fn set_response_metrics<'a>(metrics: &mut Metrics, apps: impl IntoIterator<Item = &'a App>) {
    let (mut responses, mut pages, mut failed) = (Histogram::default(), Histogram::default(), 0);
    let (mut asks, mut reads) = (false, false);
    for app in apps {
        asks |= matches!(app.name(), "request" | "web" | "keystrokes");
        responses.merge(&app.responses);
        if let Some(session) = &app.web {
            reads = true;
            pages.merge(&session.pages);
            failed += session.failed;
        }
    }
    let seconds = |time: Option<Duration>| time.map(Duration::as_secs_f64);
    if asks {
        metrics.set("responses", responses.count() as f64);
        metrics.set("response_time_mean_s", seconds(responses.mean()));
        metrics.set("response_time_p50_s", seconds(responses.quantile(0.5)));
        metrics.set("response_time_p95_s", seconds(responses.quantile(0.95)));
        metrics.set("response_time_p99_s", seconds(responses.quantile(0.99)));
        metrics.set("response_time_max_s", seconds(responses.max()));
    }
    if reads {
        metrics.set("pages", pages.count() as f64);
        metrics.set("page_time_mean_s", seconds(pages.mean()));
        metrics.set("page_time_p50_s", seconds(pages.quantile(0.5)));
        metrics.set("page_time_p95_s", seconds(pages.quantile(0.95)));
        metrics.set("page_time_max_s", seconds(pages.max()));
        metrics.set("failed_responses", failed as f64);
    }
}

/// Shares of the time in which the connection was open, by what limited its sender.
fn limited_shares(now: &LimitedTime, then: &LimitedTime) -> Vec<(&'static str, f64)> {
    let times: Vec<(Limit, f64)> = now
        .iter()
        .filter(|(limit, _)| *limit != Limit::Closed)
        .map(|(limit, time)| (limit, (time - then.get(limit)).as_secs_f64()))
        .collect();
    let total: f64 = times.iter().map(|(_, time)| time).sum();
    times
        .into_iter()
        .map(|(limit, time)| (limit_name(limit), if total > 0.0 { time / total } else { 0.0 }))
        .collect()
}

fn limit_name(limit: Limit) -> &'static str {
    match limit {
        Limit::SlowStart => "slow_start",
        Limit::Cwnd => "cwnd",
        Limit::ReceiverWindow => "receiver_window",
        Limit::Application => "application",
        Limit::Pacing => "pacing",
        Limit::Recovery => "recovery",
        Limit::Handshake => "handshake",
        Limit::Closed => "closed",
    }
}

/// What formulas say this flow could do, at the RTT and congestion event rate that it met.
fn predictions(
    world: &World<'_>,
    flow: usize,
    tcp: &TcpSpec,
    measured: &Measured,
    sharing: &[f64],
) -> Metrics {
    let mut predicted = Metrics::default();
    predicted.set("fair_share_bps", fair_share(world, flow, tcp, sharing));
    let Some(rtt) = measured.totals.mean_rtt() else { return predicted };
    let window = tcp.largest_window();
    let limit = window.map(|bytes| closed_form::window_limit(Size::from_bytes(bytes), rtt).as_bps() as f64);
    predicted.set("window_limit_bps", limit);
    let Some(p) = measured.congestion_event_rate().filter(|p| *p > 0.0) else { return predicted };
    let mss = tcp.mss.as_bytes();
    let rate = |segments| closed_form::rate_of_window(segments, mss, rtt).as_bps() as f64;
    let reno = closed_form::mathis_window(p, 1.0);
    match &tcp.congestion {
        Algorithm::Reno(params) if params.a == 1.0 && params.b == 0.5 => {
            let per_ack = if params.counting == Counting::Bytes { 1.0 } else { f64::from(tcp.ack_every) };
            predicted.set("mathis_bps", rate(closed_form::mathis_window(p, per_ack)));
        }
        Algorithm::Cubic(params) => {
            predicted.set("cubic_bps", rate(closed_form::cubic_response(params.c, params.beta, rtt, p)));
        }
        Algorithm::HighSpeed(params) => predicted.set("highspeed_bps", rate(params.response().window(p))),
        Algorithm::Scalable(params) => {
            let window = closed_form::scalable_window(params.a, params.b, p);
            predicted.set("scalable_bps", rate(if window > params.legacy_window { window } else { reno }));
        }
        Algorithm::Hybla(params) => {
            // rho goes by the least RTT.
            let rtt_min = measured.totals.sender.rtt_min;
            predicted.set("hybla_bps", rate(closed_form::hybla_window(rtt_min, params.rtt0, p)));
        }
        Algorithm::Compound(params) => {
            predicted.set(
                "compound_bps",
                rate(closed_form::compound_response(params.alpha, params.beta, params.k, p)),
            );
        }
        _ => {}
    }
    predicted
}

/// For each link, how many flows want to send their data over it: the mean number at a time, at least 1.
fn flows_on_links(world: &World<'_>, measured: &[Measured], measured_s: f64) -> Vec<f64> {
    let mut counts = vec![0.0; world.network.links.len()];
    for (flow, measured) in measured.iter().enumerate() {
        let presence = ratio(measured.sending_s, measured_s).map_or(0.0, |share| share.min(1.0));
        world.data_path(flow).iter().for_each(|link| counts[*link] += presence);
    }
    counts.into_iter().map(|count| f64::max(count, 1.0)).collect()
}

/// The least share of any link on the way of the data, in bits of payload per second; `sharing` flows use each link.
fn fair_share(world: &World<'_>, flow: usize, tcp: &TcpSpec, sharing: &[f64]) -> Option<f64> {
    let payload = tcp.mss.as_bytes() as f64;
    let share = payload / (payload + HEADERS as f64);
    let (begin, end) = (Instant::ZERO + world.scenario.run.warmup, world.now);
    let rate = |link: usize| world.fabric.schedule(link).mean_rate_bps(begin, end);
    let through = |link: &usize| rate(*link) * share / sharing[*link];
    world.data_path(flow).iter().map(through).min_by(f64::total_cmp)
}

/// The least rate of the private links on the way of a flow's data, in bit/s.
fn access_rate(world: &World<'_>, flow: usize) -> Option<f64> {
    let private = world.data_path(flow).iter().map(|link| &world.network.links[*link]);
    let rates = private.filter(|link| !link.declared).map(|link| link.config.rate.as_bps());
    rates.min().map(|rate| rate as f64)
}

/// Positions in the summary's list of links.
fn declared_links(world: &World<'_>, path: &[usize]) -> Vec<u32> {
    path.iter().filter_map(|link| world.recorder.declared[*link]).collect()
}

fn link_summary(world: &mut World<'_>, position: usize, measured_s: f64, active_flows: f64) -> LinkSummary {
    let index = world.declared[position];
    let (now, warmup) = (world.now, Instant::ZERO + world.scenario.run.warmup);
    let (before, bits_before) = world.link_baseline[position];
    let peak = world.queue_peak[position].max(world.fabric.link(index).take_peak(now));
    let network = world.network;
    let spec = &network.links[index];
    let link = world.fabric.link(index);
    let stats = link.stats(now);
    let capacity = link.schedule().capacity_bits(warmup, now);
    let bits = link.transmitted_bits(now) - bits_before;
    let empty = Histogram::default();
    let waited_s = link.waited_secs(now);
    let waits = link.waits().unwrap_or(&empty);
    let mut metrics = link_metrics(&stats.since(&before), waits, waited_s, bits, capacity, peak, measured_s);
    if let Some(line) = world.fabric.line_stats(index) {
        let compression = spec.config.serial.and_then(|serial| serial.compression()).unwrap_or("vj");
        set_line_metrics(compression, &line.since(&world.line_baseline[position]), &mut metrics);
    }
    let crossing = |flow: &&FlowInstance| flow.forward.contains(&index) || flow.reverse.contains(&index);
    let monitor = world.recorder.monitors[index].as_ref().map_or(vec![], FlowMonitor::summary);
    if !monitor.is_empty() {
        for name in ["offered_packets", "offered_bytes", "dropped_packets", "dropped_bytes"] {
            metrics.set(name, monitor.iter().filter_map(|flow| flow.metrics.get(name)).sum::<f64>());
        }
    }
    LinkSummary {
        name: spec.name.clone(),
        from: network.nodes[spec.from].clone(),
        to: network.nodes[spec.to].clone(),
        rate_bps: spec.config.rate.as_bps() as f64,
        delay_s: spec.config.delay.as_secs_f64(),
        queue: format!("{} {}", spec.config.queue.name(), spec.config.queue.limit()),
        flows: network.flows.iter().filter(crossing).count(),
        active_flows,
        metrics,
        monitor,
    }
}

/// Metrics of header compression, by its key in the scenario.
fn set_line_metrics(compression: &str, line: &LineStats, metrics: &mut Metrics) {
    let compressed = line.compressed as f64;
    let in_full = (line.uncompressed + line.unchanged) as f64;
    let mean = ratio(line.header_bytes as f64, compressed);
    if compression == "vj" {
        metrics.set("vj_compressed_packets", compressed);
        metrics.set("vj_uncompressed_packets", in_full);
        metrics.set("vj_tossed_packets", line.tossed as f64);
        metrics.set("vj_header_mean_bytes", mean);
    } else {
        metrics.set("rohc_compressed_packets", compressed);
        metrics.set("rohc_uncompressed_packets", in_full);
        metrics.set("rohc_tossed_packets", line.tossed as f64);
        metrics.set("rohc_header_mean_bytes", mean);
        metrics.set("rohc_requests", line.requests as f64);
    }
}

/// What ACK congestion control did for these flows, where one of them has it.
fn set_ack_congestion<'m>(
    metrics: &mut Metrics,
    world: &World<'_>,
    members: &[usize],
    totals: &dyn Fn(usize) -> &'m Totals,
) {
    let has_it = |flow: &&usize| {
        let group = world.network.flows[**flow].group;
        world.scenario.flow[group].tcp.ack_congestion_control
    };
    let senders = || members.iter().filter(has_it).map(|flow| &totals(*flow).sender);
    let Some(largest) = senders().map(|sender| sender.largest_ack_ratio).max() else { return };
    let events: u64 = senders().map(|sender| sender.ack_congestion_events).sum();
    metrics.set("ack_congestion_events", events as f64);
    metrics.set("ack_ratio_max", largest as f64);
}

fn group_metrics(
    world: &World<'_>,
    members: &[usize],
    flows: &[FlowSummary],
    measured: &[Measured],
    measured_s: f64,
) -> Metrics {
    let sum = |value: &dyn Fn(&Totals) -> u64| {
        members.iter().map(|flow| value(&measured[*flow].totals)).sum::<u64>() as f64
    };
    let sent = sum(&|t| t.sender.data_segments_sent);
    let retransmitted = sum(&|t| t.sender.retransmitted_segments);
    let (arrived, signals) = (sum(&|t| t.arrived.packets), sum(&Totals::congestion_signals));
    let goodputs: Vec<f64> = members.iter().filter_map(|flow| measured[*flow].goodput_bps()).collect();
    let samples = sum(&|t| t.sender.rtt_samples);
    let rtt_sum =
        members.iter().fold(0.0, |sum, flow| sum + measured[*flow].totals.sender.rtt_sum.as_secs_f64());
    let cwnds: Vec<f64> =
        members.iter().filter_map(|flow| flows[*flow].metrics.get("cwnd_mean_bytes")).collect();
    let times = completion_times(world, members, flows);
    let mut metrics = Metrics::default();
    metrics.set("goodput_bps", ratio(sum(&|t| t.delivered) * 8.0, measured_s));
    if world.scenario.run.peak_goodput {
        let largest = members
            .iter()
            .filter_map(|flow| world.goodput_max[*flow])
            .fold(None, |most: Option<f64>, value| Some(most.map_or(value, |most| most.max(value))));
        metrics.set("goodput_max_bps", largest);
    }
    metrics.set("delivered_bytes", sum(&|t| t.delivered));
    metrics.set("jain_index", jain_index(&goodputs));
    metrics.set("rtt_mean_s", ratio(rtt_sum, samples));
    metrics.set("cwnd_mean_bytes", ratio(cwnds.iter().sum(), cwnds.len() as f64));
    metrics.set("sent_packets", sent);
    metrics.set("retransmitted_packets", retransmitted);
    metrics.set("retransmission_rate", ratio(retransmitted, sent));
    metrics.set("received_packets", arrived);
    metrics.set("lost_packets", sum(&|t| t.lost));
    metrics.set("loss_rate", ratio(sum(&|t| t.lost), sum(&Totals::offered)));
    metrics.set("marked_packets", sum(&|t| t.arrived.marked));
    metrics.set("ecn_reductions", sum(&|t| t.sender.ecn_reductions));
    set_ack_congestion(&mut metrics, world, members, &|flow| &measured[flow].totals);
    metrics.set("fast_retransmits", sum(&|t| t.sender.fast_retransmits));
    metrics.set("timeouts", sum(&|t| t.sender.timeouts));
    metrics.set("congestion_events", sum(&Totals::congestion_events));
    metrics.set("congestion_event_rate", ratio(sum(&Totals::congestion_events), sent));
    set_failed_starts(&mut metrics, world, members);
    let reductions = |time: fn(&ReductionTimes) -> Option<Instant>| {
        members.iter().filter_map(move |flow| time(&world.reductions[*flow])).map(Instant::as_secs_f64)
    };
    metrics.set("first_congestion_event_s", reductions(|t| t.first).reduce(f64::min));
    metrics.set("last_congestion_event_s", reductions(|t| t.last).reduce(f64::max));
    metrics.set("congestion_signals", signals);
    metrics.set("congestion_signal_rate", ratio(signals, arrived));
    set_response_metrics(&mut metrics, members.iter().map(|flow| &world.apps[*flow]));
    if members.iter().any(|flow| world.apps[*flow].has_end()) {
        metrics.set("completed_flows", times.len() as f64);
        metrics.set("completion_time_mean_s", ratio(times.iter().sum(), times.len() as f64));
        let rank = (times.len() as f64 * 0.95).ceil() as usize;
        metrics.set("completion_time_p95_s", times.get(rank.max(1) - 1).copied());
    }
    metrics
}

/// Completion times of the transfers that are done, sorted: of several streams the last one counts.
fn completion_times(world: &World<'_>, members: &[usize], flows: &[FlowSummary]) -> Vec<f64> {
    let transfer = |flow: &usize| world.network.flows[*flow].transfer;
    let streams = members.chunk_by(|a, b| transfer(a) == transfer(b));
    let time = |streams: &[usize]| -> Option<f64> {
        let mut each = streams.iter().map(|flow| flows[*flow].metrics.get("completion_time_s"));
        each.try_fold(0.0, |last, time| Some(f64::max(last, time?)))
    };
    let mut times: Vec<f64> = streams.filter_map(time).collect();
    times.sort_by(f64::total_cmp);
    times
}
