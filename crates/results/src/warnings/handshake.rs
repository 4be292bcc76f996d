//! Handshakes that cannot succeed, since the answer takes longer than the client waits for it.

use crate::context::Context;
use crate::metric::RTT_MEAN_S;
use crate::{FlowFailure, FlowSummary};
use longhaul_scenario::{QuicSpec, TcpSpec};
use longhaul_units::{Duration, Figure, apart};

/// How long a client waits, and why; the keys that help.
struct Patience {
    time: Duration,
    reason: String,
    remedy: String,
}

impl Patience {
    /// RFC 9293 section 3.8.3, with the backoff of RFC 6298 section 5.5.
    fn of_tcp(tcp: &TcpSpec, rtt: Duration) -> Self {
        let config = tcp.config();
        let mut timeout = config.initial_rto;
        let mut time = timeout;
        for _ in 0..config.max_syn_retransmissions {
            timeout = timeout.saturating_mul(2).min(config.max_rto.max(config.min_rto));
            time += timeout;
        }
        Patience {
            time,
            reason: format!(
                "a SYN is sent again {} times, for the first time after rto.initial = {}",
                config.max_syn_retransmissions, config.initial_rto
            ),
            remedy: format!(
                "set rto.initial to {} and rto.max to {}, or raise max_syn_retransmissions",
                rounded(rtt, 1.5),
                rounded(rtt, 4.0)
            ),
        }
    }

    /// RFC 9000 section 10.1: at least three probe timeouts, each of three times `initial_rtt` at first (RFC 9002 section 6.2.2).
    fn of_quic(quic: &QuicSpec, rtt: Duration) -> Option<Self> {
        let idle = quic.settings().idle_timeout?;
        Some(Patience {
            time: idle.max(quic.initial_rtt * 9),
            reason: format!("a connection on which nothing arrives is given up after idle_timeout = {idle}"),
            remedy: format!(
                "set initial_rtt to {} and idle_timeout to {}",
                rounded(rtt, 1.5),
                rounded(rtt, 10.0)
            ),
        })
    }
}

/// So many round trips in a time that is easily read.
fn rounded(rtt: Duration, times: f64) -> Duration {
    let unit = if rtt.as_secs_f64() * times < 120.0 { 1.0 } else { 60.0 };
    Duration::from_secs((rtt.as_secs_f64() * times / unit).ceil().max(1.0) as u64 * unit as u64)
}

/// What makes the handshake of a flow impossible, if its connection failed by that.
pub(super) fn impossible(context: &Context<'_>, flow: &FlowSummary) -> Option<String> {
    let facts = context.facts(flow.id);
    let failed = matches!(facts.failure, Some(FlowFailure::GaveUp | FlowFailure::Other));
    if !failed || facts.delivered > 0 || flow.metrics.get(RTT_MEAN_S).is_some() {
        return None;
    }
    let rtt = context.base_rtt(flow.id);
    let patience = match context.quic(flow.id) {
        None => Patience::of_tcp(context.tcp(flow.id), rtt),
        Some(quic) => Patience::of_quic(quic, rtt)?,
    };
    (rtt > patience.time).then(|| {
        let [trip, time] = apart([rtt.as_secs_f64(), patience.time.as_secs_f64()], Figure::Time);
        format!(
            "the handshake cannot succeed: the answer takes a round trip of {trip}, and the client waits for {time}: {}; {}",
            patience.reason, patience.remedy
        )
    })
}
