//! BBR on paths that are longer than it measures them.

use crate::FlowSummary;
use crate::context::Context;
use longhaul_cc::Algorithm;
use longhaul_scenario::QuicCongestion;
use longhaul_units::{Duration, Figure, apart};

/// The flow's BBR looks for a shorter round trip so often that it does little else: its keys, and the times that help.
pub(super) fn takes_all_time(context: &Context<'_>, flow: &FlowSummary) -> Option<String> {
    let algorithm = match context.quic(flow.id).map(|quic| &quic.congestion) {
        None => &context.tcp(flow.id).congestion,
        Some(QuicCongestion::Ours(algorithm)) => algorithm,
        Some(QuicCongestion::Quinns(_)) => return None,
    };
    let rtt = context.base_rtt(flow.id);
    let (interval, keys) = match algorithm {
        Algorithm::Bbr(params) => (params.min_rtt_window, "min_rtt_window"),
        Algorithm::Bbr3(params) => (params.probe_rtt_interval, "probe_rtt_interval and min_rtt_window"),
        _ => return None,
    };
    (interval <= rtt).then(|| {
        let [every, trip] = apart([interval.as_secs_f64(), rtt.as_secs_f64()], Figure::Time);
        let better = Duration::from_secs(10 * (rtt.as_secs_f64().ceil() as u64));
        format!(
            "{} looks for a shorter round trip every {every}, and the round trip is {trip}: it spends its time with a small window \
             (ProbeRTT); set {keys} of its congestion to {better}",
            algorithm.name(),
        )
    })
}
