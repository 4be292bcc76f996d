//! What closed forms say a flow could do, at the RTT and congestion event rate that it met.

use crate::Metrics;
use crate::context::Context;
use crate::metric::*;
use longhaul_cc::{Algorithm, Counting, closed_form};
use longhaul_units::Size;

pub(crate) fn predictions(context: &Context<'_>, flow: usize) -> Metrics {
    let sender = &context.facts(flow).sender;
    let mut predicted = Metrics::default();
    predicted.set(FAIR_SHARE_BPS, fair_share(context, flow));
    let Some(rtt) = sender.mean_rtt() else { return predicted };
    let window = context.largest_window(flow);
    let limit = window.map(|bytes| closed_form::window_limit(Size::from_bytes(bytes), rtt).as_bps() as f64);
    predicted.set(WINDOW_LIMIT_BPS, limit);
    let Some(p) = context.congestion_event_rate(flow).filter(|p| *p > 0.0) else { return predicted };
    let mss = context.mss(flow);
    let Some(congestion) = context.congestion(flow) else { return predicted };
    let rate = |segments| closed_form::rate_of_window(segments, mss, rtt).as_bps() as f64;
    let reno = closed_form::mathis_window(p, 1.0);
    match congestion {
        Algorithm::Reno(params) if params.a == 1.0 && params.b == 0.5 => {
            let per_ack =
                if params.counting == Counting::Bytes { 1.0 } else { f64::from(context.ack_every(flow)) };
            predicted.set(MATHIS_BPS, rate(closed_form::mathis_window(p, per_ack)));
        }
        Algorithm::Cubic(params) => {
            predicted.set(CUBIC_BPS, rate(closed_form::cubic_response(params.c, params.beta, rtt, p)));
        }
        Algorithm::HighSpeed(params) => predicted.set(HIGHSPEED_BPS, rate(params.response().window(p))),
        Algorithm::Scalable(params) => {
            let window = closed_form::scalable_window(params.a, params.b, p);
            predicted.set(SCALABLE_BPS, rate(if window > params.legacy_window { window } else { reno }));
        }
        Algorithm::Hybla(params) => {
            // rho goes by the least RTT.
            let least = sender.rtt_range.map(|(least, _)| least);
            let window = least.map(|least| closed_form::hybla_window(least, params.rtt0, p));
            predicted.set(HYBLA_BPS, window.map(rate));
        }
        Algorithm::Compound(params) => {
            let window = closed_form::compound_response(params.alpha, params.beta, params.k, p);
            predicted.set(COMPOUND_BPS, rate(window));
        }
        _ => {}
    }
    predicted
}

/// The least share of any link on the way of the data, in bits of payload per second.
fn fair_share(context: &Context<'_>, flow: usize) -> Option<f64> {
    let payload = context.mss(flow) as f64;
    let share = payload / (payload + context.headers(flow) as f64);
    let links = &context.run.network.links;
    let rate = |link: usize| links[link].config.schedule().mean_rate_bps(context.begin, context.run.end);
    let through = |link: &usize| rate(*link) * share / context.sharing[*link];
    context.data_path(flow).iter().map(through).min_by(f64::total_cmp)
}
