//! Metrics of flows and of groups of flows. What each means is defined in [`crate::DEFINITIONS`].

use crate::context::Context;
use crate::links::ratio;
use crate::metric::*;
use crate::opinion::{self, Call};
use crate::predictions::predictions;
use crate::{
    FlowFacts, FlowSummary, Metrics, PathUseSummary, ReductionTimes, SenderFacts, WaySummary, WholeRun,
};
use longhaul_scenario::{Epoch, Transport};
use longhaul_tcp::{Limit, LimitedTime};
use longhaul_traffic::{Qoe, Reception, Viewing};
use longhaul_units::{Duration, FlowId, Histogram, IdVec, Instant, LinkId};

/// What a flow over UDP has for a congestion control.
const NONE: &str = "none";

pub(crate) fn flow_summary(context: &Context<'_>, flow: FlowId) -> FlowSummary {
    let (scenario, network) = (context.run.scenario, context.run.network);
    let (instance, facts) = (&network.flows[flow], context.facts(flow));
    let spec = scenario.group(instance.group);
    let positions = |path: &[LinkId]| path.iter().filter_map(|link| context.places[*link]).collect();
    let private = context.data_path(flow).iter().map(|link| &network.links[*link]);
    let access_rates = private.filter(|link| !link.declared).map(|link| link.config.rate.as_bps());
    FlowSummary {
        id: flow,
        name: instance.name.clone(),
        group: spec.name.clone(),
        from: network.nodes[instance.from].clone(),
        to: network.nodes[instance.to].clone(),
        app: facts.app.kind,
        variant: facts.stack.unwrap_or(match spec.transport {
            Transport::Tcp => spec.tcp.variant.name(),
            Transport::Quic => "quic",
            Transport::Udp => "udp",
        }),
        congestion: match (spec.transport, spec.quic()) {
            (Transport::Udp, _) => NONE,
            (_, Some(quic)) => quic.congestion.name(),
            (_, None) => spec.tcp.congestion.name(),
        },
        slow_start: facts.stack.unwrap_or(match (spec.transport, spec.quic()) {
            (Transport::Udp, _) => NONE,
            (_, Some(quic)) if context.congestion(flow).is_some() => quic.slow_start.name(),
            (_, Some(_)) => "quinn",
            (_, None) => spec.tcp.slow_start.name(),
        }),
        mss_bytes: context.mss(flow),
        start_s: instance.start.as_secs_f64(),
        data_path: positions(context.data_path(flow)),
        // Datagrams are not acknowledged.
        ack_path: if context.udp(flow).is_some() { vec![] } else { positions(context.ack_path(flow)) },
        access_rate_bps: access_rates.min().map(|rate| rate as f64),
        base_rtt_s: context.base_rtt(flow).as_secs_f64(),
        ways: ways(context, flow),
        state: facts.state.clone(),
        metrics: flow_metrics(context, flow),
        whole_run: facts.whole_run.as_ref().filter(|_| context.has_warmup()).map(counts),
        limited: limited_shares(&facts.limited),
        path_use: path_use(context, facts),
        predicted: predictions(context, flow),
    }
}

/// All ways of a flow, if there are several.
fn ways(context: &Context<'_>, flow: FlowId) -> Vec<WaySummary> {
    let (ways, _) = context.run.network.distinct_ways(flow);
    if ways.len() < 2 {
        return vec![];
    }
    let server_sends = context.facts(flow).server_sends;
    let positions = |path: &[LinkId]| path.iter().filter_map(|link| context.places[*link]).collect();
    let had = context.ways(flow);
    let of_way = |way: &Epoch<'_>| {
        let same = had.iter().filter(|(_, _, one)| (one.forward, one.reverse) == (way.forward, way.reverse));
        let seconds: f64 = same.map(|(from, to, _)| to.since(*from).as_secs_f64()).sum();
        WaySummary {
            data_path: positions(way.data(server_sends)),
            ack_path: if context.udp(flow).is_some() { vec![] } else { positions(way.acks(server_sends)) },
            base_rtt_s: context.base_rtt_on(flow, way).as_secs_f64(),
            share: ratio(seconds, context.active_s(flow)).unwrap_or(0.0),
        }
    };
    ways.iter().map(of_way).collect()
}

fn path_use(context: &Context<'_>, facts: &FlowFacts) -> Option<PathUseSummary> {
    let begin = context.begin.since(Instant::ZERO).as_secs_f64();
    facts.path_use.as_ref()?.summary(begin, context.measured_s)
}

/// Counts that make sense from the start of a run on.
fn counts(whole: &WholeRun) -> Metrics {
    let WholeRun { sender, delivered, arrived, lost } = whole;
    let count = |value: Option<u64>| value.map(|value| value as f64);
    let mut metrics = Metrics::default();
    metrics.set(DELIVERED_BYTES, *delivered as f64);
    metrics.set(SENT_PACKETS, sender.data_segments_sent as f64);
    metrics.set(RETRANSMITTED_PACKETS, sender.retransmitted_segments as f64);
    metrics.set(RECEIVED_PACKETS, arrived.packets as f64);
    metrics.set(LOST_PACKETS, *lost as f64);
    metrics.set(MARKED_PACKETS, arrived.marked as f64);
    metrics.set(ECN_REDUCTIONS, count(sender.ecn_reductions));
    metrics.set(FAST_RETRANSMITS, count(sender.fast_retransmits));
    metrics.set(TIMEOUTS, count(sender.timeouts));
    metrics.set(CONGESTION_EVENTS, count(sender.congestion_events()));
    metrics
}

fn flow_metrics(context: &Context<'_>, flow: FlowId) -> Metrics {
    let facts = context.facts(flow);
    let FlowFacts { app, sender, arrived, .. } = facts;
    let sent = sender.data_segments_sent as f64;
    let active_s = context.active_s(flow);
    let count = |value: Option<u64>| value.map(|value| value as f64);
    let mut metrics = Metrics::default();
    metrics.set(GOODPUT_BPS, context.goodput_bps(flow));
    if context.run.scenario.run.peak_goodput {
        metrics.set(GOODPUT_MAX_BPS, facts.goodput_max_bps);
    }
    metrics.set(THROUGHPUT_BPS, ratio(sender.data_bytes_sent as f64 * 8.0, active_s));
    metrics.set(DELIVERED_BYTES, facts.delivered as f64);
    let took = app.finished.filter(|_| app.has_end).map(|at| at.since(context.run.network.flows[flow].start));
    metrics.set(COMPLETION_TIME_S, took.map(Duration::as_secs_f64));
    set_response_metrics(&mut metrics, &[facts]);
    set_felt_metrics(&mut metrics, &[facts]);
    set_datagram_metrics(&mut metrics, &[facts]);
    metrics.set(RTT_MEAN_S, sender.mean_rtt().map(Duration::as_secs_f64));
    metrics.set(RTT_MIN_S, sender.rtt_range.map(|(least, _)| least.as_secs_f64()));
    metrics.set(RTT_MAX_S, sender.rtt_range.map(|(_, most)| most.as_secs_f64()));
    metrics.set(CWND_MEAN_BYTES, ratio(facts.cwnd.0, facts.cwnd.1 as f64));
    metrics.set(SENT_PACKETS, sent);
    metrics.set(RETRANSMITTED_PACKETS, sender.retransmitted_segments as f64);
    metrics.set(RETRANSMISSION_RATE, ratio(sender.retransmitted_segments as f64, sent));
    metrics.set(RECEIVED_PACKETS, arrived.packets as f64);
    metrics.set(LOST_PACKETS, facts.lost as f64);
    metrics.set(LOSS_RATE, ratio(facts.lost as f64, facts.offered() as f64));
    metrics.set(MARKED_PACKETS, arrived.marked as f64);
    metrics.set(ECN_REDUCTIONS, count(sender.ecn_reductions));
    set_ack_congestion(&mut metrics, context, &[flow]);
    metrics.set(FAST_RETRANSMITS, count(sender.fast_retransmits));
    if context.undoes(flow) {
        metrics.set(REDUCTIONS_UNDONE, count(sender.reductions_undone));
    }
    metrics.set(TIMEOUTS, count(sender.timeouts));
    metrics.set(CONGESTION_EVENTS, count(sender.congestion_events()));
    metrics.set(CONGESTION_EVENT_RATE, context.congestion_event_rate(flow));
    set_failed_starts(&mut metrics, &[facts]);
    metrics.set(FIRST_CONGESTION_EVENT_S, facts.reductions.first.map(Instant::as_secs_f64));
    metrics.set(LAST_CONGESTION_EVENT_S, facts.reductions.last.map(Instant::as_secs_f64));
    let signals = facts.congestion_signals() as f64;
    metrics.set(CONGESTION_SIGNALS, signals);
    metrics.set(CONGESTION_SIGNAL_RATE, ratio(signals, arrived.packets as f64));
    metrics.set(UTILISATION, context.utilisation(flow));
    metrics.set(PACKETS_PER_RTT, context.packets_per_rtt(flow));
    metrics
}

/// Metrics of several flows: of a group, or of all. `flows` are the summaries of all flows of the run.
pub(crate) fn group_metrics(
    context: &Context<'_>,
    members: &[FlowId],
    flows: &IdVec<FlowId, FlowSummary>,
) -> Metrics {
    let facts: Vec<&FlowFacts> = members.iter().map(|flow| context.facts(*flow)).collect();
    let sum = |value: &dyn Fn(&FlowFacts) -> u64| facts.iter().map(|facts| value(facts)).sum::<u64>() as f64;
    // Unknown as soon as it is unknown of one.
    let known = |value: &dyn Fn(&SenderFacts) -> Option<u64>| -> Option<f64> {
        facts.iter().map(|facts| value(&facts.sender)).sum::<Option<u64>>().map(|sum| sum as f64)
    };
    let sent = sum(&|facts| facts.sender.data_segments_sent);
    let retransmitted = sum(&|facts| facts.sender.retransmitted_segments);
    let (arrived, signals) = (sum(&|facts| facts.arrived.packets), sum(&FlowFacts::congestion_signals));
    let goodputs: Vec<f64> = members.iter().filter_map(|flow| context.goodput_bps(*flow)).collect();
    let samples = sum(&|facts| facts.sender.rtt_samples);
    let rtt_sum = facts.iter().fold(0.0, |sum, facts| sum + facts.sender.rtt_sum.as_secs_f64());
    let metric_of = |metric| members.iter().filter_map(move |flow| flows[*flow].metrics.get(metric));
    let cwnds: Vec<f64> = metric_of(CWND_MEAN_BYTES).collect();
    let events = known(&SenderFacts::congestion_events);
    let mut metrics = Metrics::default();
    metrics.set(GOODPUT_BPS, ratio(sum(&|facts| facts.delivered) * 8.0, context.measured_s));
    if context.run.scenario.run.peak_goodput {
        metrics.set(GOODPUT_MAX_BPS, facts.iter().filter_map(|f| f.goodput_max_bps).reduce(f64::max));
    }
    metrics.set(DELIVERED_BYTES, sum(&|facts| facts.delivered));
    metrics.set(JAIN_INDEX, jain_index(&goodputs));
    metrics.set(RTT_MEAN_S, ratio(rtt_sum, samples));
    metrics.set(CWND_MEAN_BYTES, ratio(cwnds.iter().sum(), cwnds.len() as f64));
    metrics.set(SENT_PACKETS, sent);
    metrics.set(RETRANSMITTED_PACKETS, retransmitted);
    metrics.set(RETRANSMISSION_RATE, ratio(retransmitted, sent));
    metrics.set(RECEIVED_PACKETS, arrived);
    metrics.set(LOST_PACKETS, sum(&|facts| facts.lost));
    metrics.set(LOSS_RATE, ratio(sum(&|facts| facts.lost), sum(&FlowFacts::offered)));
    metrics.set(MARKED_PACKETS, sum(&|facts| facts.arrived.marked));
    metrics.set(ECN_REDUCTIONS, known(&|sender| sender.ecn_reductions));
    set_ack_congestion(&mut metrics, context, members);
    metrics.set(FAST_RETRANSMITS, known(&|sender| sender.fast_retransmits));
    if members.iter().any(|flow| context.undoes(*flow)) {
        metrics.set(REDUCTIONS_UNDONE, known(&|sender| sender.reductions_undone));
    }
    metrics.set(TIMEOUTS, known(&|sender| sender.timeouts));
    metrics.set(CONGESTION_EVENTS, events);
    metrics.set(CONGESTION_EVENT_RATE, events.and_then(|events| ratio(events, sent)));
    set_failed_starts(&mut metrics, &facts);
    let reductions = |time: fn(&ReductionTimes) -> Option<Instant>| {
        facts.iter().filter_map(move |facts| time(&facts.reductions)).map(Instant::as_secs_f64)
    };
    metrics.set(FIRST_CONGESTION_EVENT_S, reductions(|times| times.first).reduce(f64::min));
    metrics.set(LAST_CONGESTION_EVENT_S, reductions(|times| times.last).reduce(f64::max));
    metrics.set(CONGESTION_SIGNALS, signals);
    metrics.set(CONGESTION_SIGNAL_RATE, ratio(signals, arrived));
    set_response_metrics(&mut metrics, &facts);
    set_felt_metrics(&mut metrics, &facts);
    set_datagram_metrics(&mut metrics, &facts);
    if facts.iter().any(|facts| facts.app.has_end) {
        let times = completion_times(context, members, flows);
        metrics.set(COMPLETED_FLOWS, times.len() as f64);
        metrics.set(COMPLETION_TIME_MEAN_S, ratio(times.iter().sum(), times.len() as f64));
        let rank = (times.len() as f64 * 0.95).ceil() as usize;
        metrics.set(COMPLETION_TIME_P95_S, times.get(rank.max(1) - 1).copied());
    }
    metrics
}

/// Connections that never opened, where there are some that begin with probes.
fn set_failed_starts(metrics: &mut Metrics, flows: &[&FlowFacts]) {
    if flows.iter().any(|facts| facts.probes) {
        metrics.set(FAILED_STARTS, flows.iter().map(|facts| facts.failed_starts).sum::<u64>() as f64);
    }
}

/// Times of answers, objects and pages, where there are applications with requests.
fn set_response_metrics(metrics: &mut Metrics, flows: &[&FlowFacts]) {
    let (mut responses, mut pages, mut failed) = (Histogram::default(), Histogram::default(), 0);
    let (mut asks, mut reads) = (false, false);
    for app in flows.iter().map(|facts| &facts.app) {
        if let Some(times) = &app.responses {
            asks = true;
            responses.merge(times);
        }
        if let Some((times, missing)) = &app.pages {
            reads = true;
            pages.merge(times);
            failed += missing;
        }
    }
    let seconds = |time: Option<Duration>| time.map(Duration::as_secs_f64);
    if asks {
        metrics.set(RESPONSES, responses.count() as f64);
        metrics.set(RESPONSE_TIME_MEAN_S, seconds(responses.mean()));
        metrics.set(RESPONSE_TIME_P50_S, seconds(responses.quantile(0.5)));
        metrics.set(RESPONSE_TIME_P95_S, seconds(responses.quantile(0.95)));
        metrics.set(RESPONSE_TIME_P99_S, seconds(responses.quantile(0.99)));
        metrics.set(RESPONSE_TIME_MAX_S, seconds(responses.max()));
    }
    if reads {
        metrics.set(PAGES, pages.count() as f64);
        metrics.set(PAGE_TIME_MEAN_S, seconds(pages.mean()));
        metrics.set(PAGE_TIME_P50_S, seconds(pages.quantile(0.5)));
        metrics.set(PAGE_TIME_P95_S, seconds(pages.quantile(0.95)));
        metrics.set(PAGE_TIME_MAX_S, seconds(pages.max()));
        metrics.set(FAILED_RESPONSES, failed as f64);
    }
}

/// What people notice of pages, films and calls.
fn set_felt_metrics(metrics: &mut Metrics, flows: &[&FlowFacts]) {
    // Sum of opinions, and how many there are.
    let mut opinions = (0.0, 0.0);
    let mut add = |mos: f64, count: f64| opinions = (opinions.0 + mos * count, opinions.1 + count);
    let (mut films, mut calls): (Vec<Viewing>, Vec<Call>) = (vec![], vec![]);
    for app in flows.iter().map(|facts| &facts.app) {
        for (time, count) in app.pages.iter().flat_map(|(times, _)| times.values()) {
            add(opinion::of_page(time.as_secs_f64()), count as f64);
        }
        match &app.qoe {
            Some(Qoe::Film(viewing)) => {
                opinion::of_film(viewing).into_iter().for_each(|mos| add(mos, 1.0));
                films.push(*viewing);
            }
            Some(Qoe::Call(hearing)) => {
                let call = opinion::of_call(hearing);
                call.iter().for_each(|call| add(call.mos, 1.0));
                calls.extend(call);
            }
            None => {}
        }
    }
    if flows.iter().any(|facts| facts.app.pages.is_some() || facts.app.qoe.is_some()) {
        metrics.set(MOS, ratio(opinions.0, opinions.1));
    }
    let mean = |values: Vec<f64>| ratio(values.iter().sum(), values.len() as f64);
    if !films.is_empty() {
        let seconds =
            |time: fn(&Viewing) -> Duration| films.iter().map(|film| time(film).as_secs_f64()).sum::<f64>();
        let stalled = seconds(|film| film.stalled);
        metrics.set(STALLS, films.iter().map(|film| film.stalls).sum::<u64>() as f64);
        metrics.set(STALL_TIME_S, stalled);
        metrics.set(STALL_SHARE, ratio(stalled, seconds(|film| film.watched)));
        let startups = films.iter().filter_map(|film| film.startup).map(Duration::as_secs_f64);
        metrics.set(STARTUP_TIME_S, mean(startups.collect()));
    }
    if flows.iter().any(|facts| matches!(facts.app.qoe, Some(Qoe::Call(_)))) {
        metrics.set(CALL_DELAY_S, mean(calls.iter().map(|call| call.delay_s).collect()));
        metrics.set(LATE_MESSAGES, mean(calls.iter().map(|call| call.late).collect()));
    }
}

/// What receivers have measured of datagrams, where there are flows over UDP.
fn set_datagram_metrics(metrics: &mut Metrics, flows: &[&FlowFacts]) {
    let mut all: Option<Reception> = None;
    for reception in flows.iter().filter_map(|facts| facts.datagrams.as_ref()) {
        all.get_or_insert_default().merge(reception);
    }
    let Some(Reception { duplicates, reordered, delays, jitter, .. }) = all else { return };
    let seconds = |time: Option<Duration>| time.map(Duration::as_secs_f64);
    metrics.set(ONE_WAY_DELAY_MEAN_S, seconds(delays.mean()));
    metrics.set(ONE_WAY_DELAY_P50_S, seconds(delays.quantile(0.5)));
    metrics.set(ONE_WAY_DELAY_P95_S, seconds(delays.quantile(0.95)));
    metrics.set(ONE_WAY_DELAY_P99_S, seconds(delays.quantile(0.99)));
    metrics.set(ONE_WAY_DELAY_MAX_S, seconds(delays.max()));
    metrics.set(JITTER_S, ratio(jitter.0, jitter.1 as f64));
    metrics.set(REORDERED_PACKETS, reordered as f64);
    metrics.set(DUPLICATE_PACKETS, duplicates as f64);
}

/// What ACK congestion control did for these flows, where one of them has it.
fn set_ack_congestion(metrics: &mut Metrics, context: &Context<'_>, members: &[FlowId]) {
    let has_it = |flow: &&FlowId| context.tcp(**flow).ack_congestion_control;
    let senders = || members.iter().filter(has_it).map(|flow| &context.facts(*flow).sender);
    let Some(largest) = senders().map(|sender| sender.largest_ack_ratio).max() else { return };
    let events: u64 = senders().map(|sender| sender.ack_congestion_events).sum();
    metrics.set(ACK_CONGESTION_EVENTS, events as f64);
    metrics.set(ACK_RATIO_MAX, largest as f64);
}

/// Shares of the time in which the connection was open, by what limited its sender.
fn limited_shares(limited: &LimitedTime) -> Vec<(&'static str, f64)> {
    // A full send buffer is reported only where it was the limit.
    let told =
        |limit, time: Duration| limit != Limit::Closed && (limit != Limit::SendBuffer || !time.is_zero());
    let open = limited.iter().filter(|(limit, time)| told(*limit, *time));
    let times: Vec<(Limit, f64)> = open.map(|(limit, time)| (limit, time.as_secs_f64())).collect();
    let total: f64 = times.iter().map(|(_, time)| time).sum();
    let share = |(limit, time): (Limit, f64)| (limit.name(), ratio(time, total).unwrap_or(0.0));
    times.into_iter().map(share).collect()
}

/// Completion times of the transfers that are done, sorted: of several streams the last one counts.
fn completion_times(
    context: &Context<'_>,
    members: &[FlowId],
    flows: &IdVec<FlowId, FlowSummary>,
) -> Vec<f64> {
    let transfer = |flow: &FlowId| context.run.network.flows[*flow].transfer;
    let streams = members.chunk_by(|a, b| transfer(a) == transfer(b));
    let time = |streams: &[FlowId]| -> Option<f64> {
        let mut each = streams.iter().map(|flow| flows[*flow].metrics.get(COMPLETION_TIME_S));
        each.try_fold(0.0, |last, time| Some(f64::max(last, time?)))
    };
    let mut times: Vec<f64> = streams.filter_map(time).collect();
    times.sort_by(f64::total_cmp);
    times
}

/// (sum x)^2 / (n sum x^2) (Jain, Chiu, Hawe 1984); `None` if nothing was delivered.
fn jain_index(goodputs: &[f64]) -> Option<f64> {
    let sum: f64 = goodputs.iter().sum();
    let squares: f64 = goodputs.iter().map(|x| x * x).sum();
    ratio(sum * sum, goodputs.len() as f64 * squares)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jain_index_is_one_for_equals_and_one_over_n_for_one() {
        assert_eq!(jain_index(&[3.0, 3.0, 3.0, 3.0]), Some(1.0));
        assert_eq!(jain_index(&[5.0, 0.0, 0.0, 0.0]), Some(0.25));
        assert_eq!(jain_index(&[0.0, 0.0]), None);
    }
}
