//! What a flow could do by closed forms, at the RTT and congestion event rate that it met.

use crate::context::Context;
use crate::links::ratio;
use crate::metric::*;
use crate::{Metric, Metrics};
use longhaul_cc::{Conditions, Formula, closed_form};
use longhaul_units::{FlowId, LinkId, Size};

pub(crate) fn predictions(context: &Context<'_>, flow: FlowId) -> Metrics {
    let sender = &context.facts(flow).sender;
    let mut predicted = Metrics::default();
    if context.udp(flow).is_some() {
        return predicted;
    }
    predicted.set(FAIR_SHARE_BPS, fair_share(context, flow));
    let Some(rtt) = sender.mean_rtt() else { return predicted };
    let window = context.largest_window(flow);
    let limit = window.map(|bytes| closed_form::window_limit(Size::from_bytes(bytes), rtt).as_bps() as f64);
    predicted.set(WINDOW_LIMIT_BPS, limit);
    let Some(p) = context.congestion_event_rate(flow).filter(|p| *p > 0.0) else { return predicted };
    let Some(congestion) = context.congestion(flow) else { return predicted };
    let met = Conditions {
        rtt,
        rtt_min: sender.rtt_range.map_or(rtt, |(least, _)| least),
        p,
        segments_per_ack: f64::from(context.ack_every(flow)),
    };
    if let Some(Formula { name, window }) = congestion.response_function(&met) {
        let metric = Metric::named(&format!("{name}_bps"));
        debug_assert!(metric.is_some(), "the response function {name} has no metric");
        let rate = closed_form::rate_of_window(window, context.mss(flow), rtt).as_bps() as f64;
        metric.into_iter().for_each(|metric| predicted.set(metric, rate));
    }
    predicted
}

/// The least share of any link on the way of the data, in bits of payload per second: the mean over time, where ways change.
fn fair_share(context: &Context<'_>, flow: FlowId) -> Option<f64> {
    let payload = context.mss(flow) as f64;
    let share = payload / (payload + context.headers(flow) as f64);
    let through = |link: &LinkId| context.mean_rate_bps(*link) * share / context.sharing[*link];
    let least = |links: &[LinkId]| links.iter().map(through).min_by(f64::total_cmp);
    let ways = context.ways(flow);
    if ways.len() < 2 {
        return least(context.data_path(flow));
    }
    let server_sends = context.facts(flow).server_sends;
    let (mut bits, mut seconds) = (0.0, 0.0);
    for (from, to, way) in ways {
        let span = to.since(from).as_secs_f64();
        (bits, seconds) = (bits + least(way.data(server_sends))? * span, seconds + span);
    }
    ratio(bits, seconds)
}
