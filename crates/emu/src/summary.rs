//! From what kernels and links say to the metrics of a result, by the same names as the simulator's. What each metric means is
//! defined in `longhaul_results::DEFINITIONS`; docs/emulator.md says where a kernel's figure stands for it.

use crate::kernel;
use crate::run::{Finished, Measured};
use crate::tcp_info::TcpInfo;
use crate::world::FlowCounters;
use longhaul_path::Histogram;
use longhaul_results::{
    DEFINITIONS, Emulation, FlowSummary, GroupSummary, LinkSummary, Metrics, NodeSummary, Summary, Warning,
    Work, flow_utilisation, jain_index, ratio,
};
use longhaul_scenario::{VERSION, run_id};
use longhaul_units::{Duration, Instant, Size};
use std::sync::atomic::Ordering;

/// IP and TCP header without options.
const HEADERS: u64 = 40;

/// A flow in numbers, while measured.
struct Flow {
    active_s: f64,
    info: TcpInfo,
    before: TcpInfo,
    delivered: u64,
    links: FlowCounters,
    finished: Option<Instant>,
    start: Instant,
    responses: Histogram,
    has_end: bool,
    asks: bool,
    rtt: Option<f64>,
    rtt_max: Option<f64>,
    cwnd: Option<f64>,
    error: Option<String>,
    connected: bool,
    over: bool,
}

fn mean(values: &[f64]) -> Option<f64> {
    ratio(values.iter().sum(), values.len() as f64)
}

pub(crate) fn summarise(run: &mut Finished<'_>) -> Summary {
    let (scenario, network) = (run.scenario, run.network);
    let end = run.driven.ended;
    let warmup = Instant::ZERO + scenario.run.warmup;
    let measured_s = end.since(warmup).as_secs_f64();
    let flows: Vec<Flow> = (0..network.flows.len()).map(|number| flow(run, number, warmup, end)).collect();
    let links = (0..run.driven.watcher.declared.len()).map(|position| link(run, position, end)).collect();
    let flow_summaries: Vec<FlowSummary> =
        flows.iter().enumerate().map(|(number, flow)| flow_summary(run, number, flow, end)).collect();
    let groups = scenario.flow.iter().enumerate().map(|(group, spec)| {
        let members: Vec<&Flow> = flows
            .iter()
            .zip(&network.flows)
            .filter(|(_, i)| i.group == group)
            .map(|(flow, _)| flow)
            .collect();
        GroupSummary {
            name: spec.name.clone(),
            count: members.len(),
            metrics: group_metrics(&members, measured_s),
        }
    });
    let groups = groups.collect();
    let links: Vec<LinkSummary> = links;
    let mut whole = group_metrics(&flows.iter().collect::<Vec<_>>(), measured_s);
    let busiest = links.iter().filter_map(|link| link.metrics.get("utilisation")).fold(f64::NAN, f64::max);
    whole.set("utilisation", busiest);
    let emulation = emulation(run);
    let warnings = warnings(run, &flows, &emulation);
    Summary {
        longhaul: VERSION,
        run_id: run_id(scenario),
        name: scenario.name.clone(),
        description: scenario.description.clone(),
        seed: scenario.run.seed,
        duration_s: end.as_secs_f64(),
        warmup_s: scenario.run.warmup.as_secs_f64(),
        measured_s,
        run: whole,
        links,
        groups,
        flows: flow_summaries,
        middleboxes: run.driven.world.middleboxes(scenario, network, end),
        nodes: network.nodes.iter().map(|name| NodeSummary { name: name.clone() }).collect(),
        warnings,
        work: Work { data_packets_delivered: run.driven.world.flows.iter().map(|flow| flow.arrived).sum() },
        emulation: Some(emulation),
        definitions: DEFINITIONS,
    }
}

fn flow(run: &Finished<'_>, number: usize, warmup: Instant, end: Instant) -> Flow {
    let instance = &run.network.flows[number];
    let Measured { work, info_before, delivered_before, cwnds, rtts } = &run.measured[number];
    let progress = &run.progress[number];
    let shared = progress.shared();
    let (now, before) = (run.driven.world.flows[number], run.driven.watcher.flows_before[number]);
    let until = shared.finished.or(instance.stop).unwrap_or(end).min(end);
    Flow {
        active_s: until.since(instance.start.max(warmup)).as_secs_f64(),
        info: shared.last,
        before: *info_before,
        delivered: progress.delivered.load(Ordering::Relaxed) - delivered_before,
        links: FlowCounters {
            arrived: now.arrived - before.arrived,
            arrived_bytes: now.arrived_bytes - before.arrived_bytes,
            marked: now.marked - before.marked,
            lost: now.lost - before.lost,
            made: now.made - before.made,
        },
        finished: shared.finished,
        start: instance.start,
        responses: shared.responses.clone(),
        has_end: work.has_end(),
        asks: work.server_sends(),
        rtt: mean(rtts),
        rtt_max: rtts.iter().copied().reduce(f64::max),
        cwnd: mean(cwnds),
        error: shared.error.clone(),
        connected: shared.connected,
        over: progress.over.load(Ordering::Relaxed),
    }
}

impl Flow {
    fn sent(&self) -> u64 {
        self.info.data_segments_sent.saturating_sub(self.before.data_segments_sent)
    }
    /// Data packets offered to the path, whoever has sent them.
    fn offered(&self) -> u64 {
        self.sent() + self.links.made
    }
    fn retransmitted(&self) -> u64 {
        self.info.retransmitted.saturating_sub(self.before.retransmitted)
    }
    fn timeouts(&self) -> Option<u64> {
        Some(self.info.timeouts?.saturating_sub(self.before.timeouts.unwrap_or(0)))
    }
    fn goodput_bps(&self) -> Option<f64> {
        ratio(self.delivered as f64 * 8.0, self.active_s)
    }
    fn completion_s(&self) -> Option<f64> {
        self.finished.filter(|_| self.has_end).map(|at| at.since(self.start).as_secs_f64())
    }
    fn signals(&self) -> u64 {
        self.links.lost + self.links.marked
    }

    /// Shares of the time in which there was something to send, and the rest.
    fn limited(&self) -> Vec<(&'static str, f64)> {
        let busy = self.info.busy.saturating_sub(self.before.busy).as_secs_f64();
        let window = self.info.window_limited.saturating_sub(self.before.window_limited).as_secs_f64();
        let all = self.active_s.max(busy);
        let share = |time: f64| ratio(time, all).unwrap_or(0.0);
        vec![
            ("slow_start", 0.0),
            ("cwnd", share((busy - window).max(0.0))),
            ("receiver_window", share(window)),
            ("application", share(all - busy)),
            ("pacing", 0.0),
            ("recovery", 0.0),
            ("handshake", 0.0),
        ]
    }
}

fn flow_summary(run: &Finished<'_>, number: usize, flow: &Flow, end: Instant) -> FlowSummary {
    let (scenario, network) = (run.scenario, run.network);
    let instance = &network.flows[number];
    let spec = &scenario.flow[instance.group];
    let server_sends = run.measured[number].work.server_sends();
    let (data, acks) = match server_sends {
        false => (&instance.forward, &instance.reverse),
        true => (&instance.reverse, &instance.forward),
    };
    let positions = |path: &[usize]| {
        let declared = &run.driven.watcher.declared;
        path.iter().filter_map(|link| declared.iter().position(|d| d == link)).map(|p| p as u32).collect()
    };
    let private = data.iter().map(|link| &network.links[*link]).filter(|link| !link.declared);
    let mss = spec.tcp.mss.as_bytes();
    let base_rtt =
        network.base_rtt(instance, Size::from_bytes(mss + HEADERS), Size::from_bytes(HEADERS)).as_secs_f64();
    let warmup = Instant::ZERO + scenario.run.warmup;
    let utilisation = network.slowest_link(data).and_then(|link| {
        flow_utilisation(flow.links.arrived_bytes, run.driven.world.link_at(link), warmup, end)
    });
    let mut metrics = flow_metrics(flow);
    metrics.set("utilisation", utilisation);
    metrics.set("packets_per_rtt", ratio(flow.links.arrived as f64 * base_rtt, flow.active_s));
    FlowSummary {
        id: number,
        name: instance.name.clone(),
        group: spec.name.clone(),
        from: network.nodes[instance.from].clone(),
        to: network.nodes[instance.to].clone(),
        app: app_name(run, number),
        variant: "linux",
        congestion: spec.tcp.congestion.name(),
        slow_start: "linux",
        mss_bytes: mss,
        start_s: instance.start.as_secs_f64(),
        data_path: positions(data),
        ack_path: positions(acks),
        access_rate_bps: private.map(|link| link.config.rate.as_bps() as f64).reduce(f64::min),
        base_rtt_s: base_rtt,
        state: if flow.over {
            "Closed"
        } else if flow.connected {
            "Established"
        } else {
            "SynSent"
        }
        .to_string(),
        metrics,
        limited: flow.limited(),
        predicted: Metrics::default(),
    }
}

fn app_name(run: &Finished<'_>, number: usize) -> &'static str {
    match run.measured[number].work {
        crate::flows::Work::Bulk(_) => "bulk",
        crate::flows::Work::Cbr(..) => "cbr",
        crate::flows::Work::Request { .. } => "request",
    }
}

fn flow_metrics(flow: &Flow) -> Metrics {
    let sent = flow.sent() as f64;
    let mut metrics = Metrics::default();
    let bytes = flow.info.bytes_sent.saturating_sub(flow.before.bytes_sent);
    metrics.set("goodput_bps", flow.goodput_bps());
    metrics.set("throughput_bps", ratio(bytes as f64 * 8.0, flow.active_s));
    metrics.set("delivered_bytes", flow.delivered as f64);
    metrics.set("completion_time_s", flow.completion_s());
    set_response_metrics(&mut metrics, &[flow]);
    metrics.set("rtt_mean_s", flow.rtt);
    let least = flow.info.min_rtt;
    metrics.set("rtt_min_s", (!least.is_zero()).then(|| least.as_secs_f64()));
    metrics.set("rtt_max_s", flow.rtt_max);
    metrics.set("cwnd_mean_bytes", flow.cwnd);
    metrics.set("sent_packets", sent);
    metrics.set("retransmitted_packets", flow.retransmitted() as f64);
    metrics.set("retransmission_rate", ratio(flow.retransmitted() as f64, sent));
    metrics.set("received_packets", flow.links.arrived as f64);
    metrics.set("lost_packets", flow.links.lost as f64);
    metrics.set("loss_rate", ratio(flow.links.lost as f64, flow.offered() as f64));
    metrics.set("marked_packets", flow.links.marked as f64);
    // Kernels do not say how often they entered fast recovery, or reduced for a mark.
    for unknown in ["ecn_reductions", "fast_retransmits"] {
        metrics.set(unknown, None);
    }
    metrics.set("timeouts", flow.timeouts().map(|count| count as f64));
    for unknown in
        ["congestion_events", "congestion_event_rate", "first_congestion_event_s", "last_congestion_event_s"]
    {
        metrics.set(unknown, None);
    }
    metrics.set("congestion_signals", flow.signals() as f64);
    metrics.set("congestion_signal_rate", ratio(flow.signals() as f64, flow.links.arrived as f64));
    metrics
}

fn set_response_metrics(metrics: &mut Metrics, flows: &[&Flow]) {
    if !flows.iter().any(|flow| flow.asks) {
        return;
    }
    let mut responses = Histogram::default();
    flows.iter().for_each(|flow| responses.merge(&flow.responses));
    let seconds = |time: Option<Duration>| time.map(Duration::as_secs_f64);
    metrics.set("responses", responses.count() as f64);
    metrics.set("response_time_mean_s", seconds(responses.mean()));
    metrics.set("response_time_p95_s", seconds(responses.quantile(0.95)));
    metrics.set("response_time_max_s", seconds(responses.max()));
}

fn group_metrics(flows: &[&Flow], measured_s: f64) -> Metrics {
    let sum = |value: &dyn Fn(&Flow) -> u64| flows.iter().map(|flow| value(flow)).sum::<u64>() as f64;
    let values = |value: fn(&Flow) -> Option<f64>| -> Vec<f64> {
        flows.iter().filter_map(|flow| value(flow)).collect()
    };
    let (sent, retransmitted) = (sum(&Flow::sent), sum(&Flow::retransmitted));
    let (lost, arrived) = (sum(&|flow| flow.links.lost), sum(&|flow| flow.links.arrived));
    let mut metrics = Metrics::default();
    metrics.set("goodput_bps", ratio(sum(&|flow| flow.delivered) * 8.0, measured_s));
    metrics.set("delivered_bytes", sum(&|flow| flow.delivered));
    metrics.set("jain_index", jain_index(&values(Flow::goodput_bps)));
    metrics.set("rtt_mean_s", mean(&values(|flow| flow.rtt)));
    metrics.set("cwnd_mean_bytes", mean(&values(|flow| flow.cwnd)));
    metrics.set("sent_packets", sent);
    metrics.set("retransmitted_packets", retransmitted);
    metrics.set("retransmission_rate", ratio(retransmitted, sent));
    metrics.set("received_packets", arrived);
    metrics.set("lost_packets", lost);
    metrics.set("loss_rate", ratio(lost, sum(&Flow::offered)));
    metrics.set("marked_packets", sum(&|flow| flow.links.marked));
    let timeouts: Option<u64> = flows.iter().map(|flow| flow.timeouts()).sum();
    metrics.set("timeouts", timeouts.map(|count| count as f64));
    let signals = sum(&Flow::signals);
    metrics.set("congestion_signals", signals);
    metrics.set("congestion_signal_rate", ratio(signals, arrived));
    set_response_metrics(&mut metrics, flows);
    if flows.iter().any(|flow| flow.has_end) {
        let mut times = values(Flow::completion_s);
        times.sort_by(f64::total_cmp);
        metrics.set("completed_flows", times.len() as f64);
        metrics.set("completion_time_mean_s", mean(&times));
        let rank = (times.len() as f64 * 0.95).ceil() as usize;
        metrics.set("completion_time_p95_s", times.get(rank.max(1) - 1).copied());
    }
    metrics
}

fn link(run: &mut Finished<'_>, position: usize, end: Instant) -> LinkSummary {
    let network = run.network;
    let recorder = &run.driven.watcher;
    let (index, peak) = (recorder.declared[position], recorder.peaks[position]);
    let link = run.driven.world.link(index);
    let peak = peak.max(link.take_peak(end));
    let spec = &network.links[index];
    let crossing = network.flows.iter().filter(|f| f.forward.contains(&index) || f.reverse.contains(&index));
    let carries = |(number, flow): &(usize, &longhaul_scenario::FlowInstance)| {
        let data = if run.measured[*number].work.server_sends() { &flow.reverse } else { &flow.forward };
        data.contains(&index)
    };
    LinkSummary {
        name: spec.name.clone(),
        from: network.nodes[spec.from].clone(),
        to: network.nodes[spec.to].clone(),
        rate_bps: spec.config.rate.as_bps() as f64,
        delay_s: spec.config.delay.as_secs_f64(),
        queue: format!("{} {}", spec.config.queue.name(), spec.config.queue.limit()),
        flows: crossing.count(),
        active_flows: network.flows.iter().enumerate().filter(carries).count().max(1) as f64,
        metrics: recorder.links_before[position].metrics(link, end, peak),
        monitor: vec![],
    }
}

fn emulation(run: &Finished<'_>) -> Emulation {
    let figures = run.driven.lateness.figures();
    let counters = run.driven.world.counters;
    let mut metrics = Metrics::default();
    figures.metrics().into_iter().for_each(|(name, value)| metrics.set(name, value));
    metrics.set("device_drops", run.device_drops as f64);
    metrics.set("unreadable_packets", counters.unreadable as f64);
    metrics.set("unrouted_packets", counters.no_route as f64);
    let invalid = run.bounds.verdict(&figures, run.device_drops, &run.driven.faults);
    Emulation { kernel: kernel::release(), real_time: run.real_time, invalid, metrics }
}

fn warnings(run: &Finished<'_>, flows: &[Flow], emulation: &Emulation) -> Vec<Warning> {
    let about = |code, object: &str, message: String| Warning { code, object: object.to_string(), message };
    let mut warnings: Vec<Warning> = emulation
        .invalid
        .iter()
        .map(|why| about("emulation_invalid", "emulator", format!("INVALID: {why}")))
        .collect();
    warnings.extend(run.warnings.iter().map(|text| about("emulator", "emulator", text.clone())));
    for (flow, instance) in flows.iter().zip(&run.network.flows) {
        if let Some(why) = &flow.error {
            warnings.push(about("flow_failed", &instance.name, format!("{}: {why}", instance.name)));
        }
    }
    warnings.extend(run.not_captured.iter().map(|text| about("capture", "capture", text.clone())));
    warnings
}
