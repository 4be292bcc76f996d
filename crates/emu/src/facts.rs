//! Counters of kernels and links, as the facts of which `longhaul_results` makes a summary; docs/emulator.md lists where a kernel's
//! figure stands for what the simulator measures.

use crate::finished::{Finished, Measured};
use crate::kernel;
use crate::tcp_info::TcpInfo;
use longhaul_results::{
    AppFacts, Emulation, FlowFacts, FlowFailure, LinkFacts, Metrics, ReductionTimes, RunFacts, SenderFacts,
    Summary, Warning, metric, summarise,
};
use longhaul_tcp::{Limit, LimitedTime};
use longhaul_traffic::Side;
use longhaul_units::{DeclaredId, Duration, FlowId, Instant};
use std::sync::atomic::Ordering;

/// The summary of a run that has come to its end.
pub(crate) fn summary(run: &mut Finished<'_>) -> Summary {
    let emulation = emulation(run);
    let facts = RunFacts {
        scenario: run.scenario,
        network: run.network,
        end: run.driven.ended,
        flows: run.network.flows.ids().map(|flow| flow_facts(run, flow)).collect(),
        links: run.driven.watcher.declared.ids().map(|place| link_facts(run, place)).collect(),
        middleboxes: run.driven.world.middleboxes(),
        data_packets_delivered: run.driven.world.flows.iter().map(|flow| flow.arrived.packets).sum(),
        drops_left_out: run.driven.watcher.drops_left_out(),
        warnings: warnings(run, &emulation),
    };
    Summary { emulation: Some(emulation), ..summarise(&facts) }
}

fn flow_facts(run: &Finished<'_>, flow: FlowId) -> FlowFacts {
    let measured = &run.measured[flow];
    let progress = &run.progress[flow];
    let shared = progress.shared();
    let counted = run.driven.world.flows[flow].since(&run.driven.watcher.flows_before[flow]);
    let state = match (progress.over.load(Ordering::Relaxed), shared.connected) {
        (true, _) => "Closed",
        (false, true) => "Established",
        (false, false) => "SynSent",
    };
    let quic = shared.quic.map(|quic| quic.done.since(&measured.quic_before.unwrap_or_default()));
    let instance = &run.network.flows[flow];
    let app = &run.scenario.group(instance.group).app;
    let warmup = Instant::ZERO + run.scenario.run.warmup;
    let until = shared.finished.or(instance.stop).unwrap_or(run.driven.ended).min(run.driven.ended);
    FlowFacts {
        datagrams: shared.udp.as_ref().map(|udp| udp.reception.clone()),
        app: AppFacts {
            kind: app.name(),
            has_end: app.has_end(),
            finished: shared.finished,
            responses: app.asks().then(|| shared.responses.clone()),
            pages: (app.connections() > 1).then(|| (shared.pages.clone(), shared.failed)),
            qoe: shared.qoe.clone(),
        },
        server_sends: app.data_sender() == Side::Server,
        stack: (shared.quic.is_none() && shared.udp.is_none()).then_some("linux"),
        state: match (&shared.quic, &shared.udp) {
            (Some(quic), _) => quic.state,
            (None, Some(udp)) => udp.state(),
            (None, None) => state,
        }
        .to_string(),
        failure: shared.error.is_some().then_some(FlowFailure::Other),
        sender: match (quic, &shared.udp) {
            (Some(done), _) => SenderFacts::from(&done.sender),
            (None, Some(udp)) => udp.sender_since(&measured.info_before),
            (None, None) => sender_facts(measured, &shared.last),
        },
        delivered: progress.delivered.load(Ordering::Relaxed) - measured.delivered_before,
        arrived: counted.arrived,
        lost: counted.lost,
        made: counted.made,
        whole_run: None,
        limited: match (quic, &shared.udp) {
            (Some(done), _) => done.limited,
            (None, Some(udp)) => udp.limited(instance.start.max(warmup), run.driven.ended),
            (None, None) => {
                limited(&measured.info_before, &shared.last, until.since(instance.start.max(warmup)))
            }
        },
        path_use: None,
        cwnd: measured.cwnd,
        goodput_max_bps: None,
        reductions: ReductionTimes::default(),
        probes: false,
        failed_starts: 0,
    }
}

/// Kernels do not count of each socket how often it entered fast recovery and what was undone, and not at all how often they reduced
/// for a mark.
fn sender_facts(measured: &Measured, last: &TcpInfo) -> SenderFacts {
    let before = &measured.info_before;
    let syns = measured.netstat.map_or(0, |counted| counted.syns);
    let least = Some(last.min_rtt).filter(|least| !least.is_zero());
    SenderFacts {
        data_segments_sent: last.data_segments_sent.saturating_sub(before.data_segments_sent),
        data_bytes_sent: last.bytes_sent.saturating_sub(before.bytes_sent),
        retransmitted_segments: last.retransmitted.saturating_sub(before.retransmitted + syns),
        fast_retransmits: measured.netstat.map(|counted| counted.recoveries),
        reductions_undone: measured.netstat.map(|counted| counted.undone),
        timeouts: last.timeouts.map(|count| count.saturating_sub(before.timeouts.unwrap_or(0) + syns)),
        ecn_reductions: None,
        ack_congestion_events: 0,
        largest_ack_ratio: 0,
        rtt_samples: measured.rtt_samples,
        rtt_sum: measured.rtt_sum,
        rtt_range: least.map(|least| (least, measured.rtt_max.max(least))),
    }
}

/// Times under the limits that a kernel distinguishes, in the time in which the flow was active.
fn limited(before: &TcpInfo, last: &TcpInfo, active: Duration) -> LimitedTime {
    let busy = last.busy.saturating_sub(before.busy);
    let window = last.window_limited.saturating_sub(before.window_limited).min(busy);
    let buffer = last.buffer_limited.saturating_sub(before.buffer_limited).min(busy.saturating_sub(window));
    let times = [
        (Limit::Cwnd, busy.saturating_sub(window + buffer)),
        (Limit::ReceiverWindow, window),
        (Limit::SendBuffer, buffer),
        (Limit::Application, active.saturating_sub(busy)),
    ];
    times.into_iter().collect()
}

fn link_facts(run: &mut Finished<'_>, place: DeclaredId) -> LinkFacts {
    let recorder = &run.driven.watcher;
    let (link, peak) = (recorder.declared[place], recorder.peaks[place]);
    recorder.links_before[place].facts(run.driven.world.link(link), run.driven.ended, peak)
}

fn emulation(run: &Finished<'_>) -> Emulation {
    let figures = run.driven.lateness.figures();
    let counters = run.driven.world.counters;
    let mut metrics = Metrics::default();
    figures.metrics().into_iter().for_each(|(metric, value)| metrics.set(metric, value));
    metrics.set(metric::DEVICE_DROPS, run.device_drops as f64);
    metrics.set(metric::UNREADABLE_PACKETS, counters.unreadable as f64);
    metrics.set(metric::UNROUTED_PACKETS, counters.no_route as f64);
    let invalid = run.bounds.verdict(&figures, run.device_drops, &run.driven.faults);
    Emulation { kernel: kernel::release(), real_time: run.real_time, invalid, metrics }
}

/// What the emulator itself has to warn of.
fn warnings(run: &Finished<'_>, emulation: &Emulation) -> Vec<Warning> {
    let about = |code, object: &str, message: String| Warning { code, object: object.to_string(), message };
    let mut warnings: Vec<Warning> = emulation
        .invalid
        .iter()
        .map(|why| about("emulation_invalid", "emulator", format!("INVALID: {why}")))
        .collect();
    warnings.extend(run.warnings.iter().map(|text| about("emulator", "emulator", text.clone())));
    for (progress, instance) in run.progress.iter().zip(&run.network.flows) {
        for (code, text) in progress.shared().incidents.warnings(&instance.name) {
            warnings.push(about(code, &instance.name, text));
        }
        if let Some(why) = &progress.shared().error {
            warnings.push(about("flow_failed", &instance.name, format!("{}: {why}", instance.name)));
        }
    }
    warnings.extend(run.not_captured.iter().map(|text| about("capture", "capture", text.clone())));
    warnings
}
