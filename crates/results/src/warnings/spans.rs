//! A path over the time in which a flow was active: spans in which neither a rate nor a delay changes.

use crate::FlowSummary;
use crate::context::Context;
use longhaul_path::schedule::Schedule;
use longhaul_units::{Instant, LinkId};

/// A span of time with one base RTT and one rate.
pub(super) struct Span {
    seconds: f64,
    rtt_s: f64,
    /// Payload of the slowest link, in bit/s.
    rate_bps: f64,
}

/// What a window does to a flow whose path changes.
pub(super) struct Allowed {
    /// The mean rate that window and links allow, in bit/s of payload.
    pub rate_bps: f64,
    /// The same without the window.
    pub without_bps: f64,
    /// What fills the path at most, in bytes of payload.
    pub most: f64,
}

/// The spans of a flow; an empty list if nothing on its path changes.
pub(super) fn spans(context: &Context<'_>, flow: &FlowSummary) -> Vec<Span> {
    let links = &context.run.network.links;
    let is_changing = |link: &LinkId| !links[*link].config.changes.is_empty();
    let (data, acks) = (context.data_path(flow.id), context.ack_path(flow.id));
    if !data.iter().chain(acks).any(is_changing) {
        return vec![];
    }
    let scheduled = |path: &[LinkId]| -> Vec<(&Schedule, f64)> {
        path.iter().map(|link| (context.schedule(*link), links[*link].config.delay.as_secs_f64())).collect()
    };
    let (data, acks) = (scheduled(data), scheduled(acks));
    let (begin, end) = context.active(flow.id);
    let mut times: Vec<Instant> =
        data.iter().chain(&acks).flat_map(|(schedule, _)| schedule.changes()).chain([begin, end]).collect();
    times.retain(|time| (begin..=end).contains(time));
    times.sort();
    times.dedup();
    let mss = context.mss(flow.id) as f64;
    let payload = mss / (mss + context.headers(flow.id) as f64);
    let span = |from: Instant, to: Instant| {
        let longer = |(schedule, first): &(&Schedule, f64)| schedule.from(from).1.as_secs_f64() - first;
        let slowest = data.iter().map(|(schedule, _)| schedule.from(from).0.as_bps()).min().unwrap_or(0);
        Span {
            seconds: to.since(from).as_secs_f64(),
            rtt_s: flow.base_rtt_s + data.iter().chain(&acks).map(longer).sum::<f64>(),
            rate_bps: slowest as f64 * payload,
        }
    };
    times.windows(2).map(|pair| span(pair[0], pair[1])).collect()
}

/// What a window of so many bytes allows; `None` without spans.
pub(super) fn allowed(spans: &[Span], window: f64) -> Option<Allowed> {
    let total: f64 = spans.iter().map(|span| span.seconds).sum();
    let mean =
        |rate: &dyn Fn(&Span) -> f64| spans.iter().map(|span| rate(span) * span.seconds).sum::<f64>() / total;
    (total > 0.0).then(|| Allowed {
        rate_bps: mean(&|span| span.rate_bps.min(window * 8.0 / span.rtt_s.max(1e-9))),
        without_bps: mean(&|span| span.rate_bps),
        most: spans.iter().map(|span| span.rate_bps * span.rtt_s / 8.0).fold(0.0, f64::max),
    })
}
