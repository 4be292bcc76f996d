//! Which carrier takes new connections: QUIC where UDP passes, unless TCP is much faster there, else TCP connections. A choice by
//! measuring, made again and again.

use crate::config::Carrier;
use crate::faster::{Change, Faster, Known};
use crate::lanes::{self, Common, LANES};
use crate::tunnel::Tunnel;
use longhaul_units::Rate;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::Notify;

/// How often it is looked at.
const LOOK: Duration = Duration::from_millis(250);
/// A tunnel that is not up after this time is tried over TCP.
const PATIENCE: Duration = Duration::from_secs(3);
/// Pause between attempts over TCP, at first and at most.
const RETRY: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(15));
/// UDP that is silent for so long, while TCP passes, is blocked: this is no outage of the link.
const BLOCKED: Duration = Duration::from_secs(30);
/// After so long with UDP the connections of the other carrier close, once they carry nothing.
const SETTLED: Duration = Duration::from_secs(60);

/// A terminal's choice, for ever, unless only QUIC is configured.
pub(crate) async fn choose(
    tunnel: Arc<Tunnel>,
    common: Common,
    carrier: Carrier,
    known: Known,
    changed: Arc<Notify>,
) {
    let mut faster = Faster::new(Instant::now());
    let mut well = Instant::now();
    let mut ill: Option<Instant> = Some(well);
    let (opening, mut pause, mut not_before) = (Arc::new(AtomicUsize::new(0)), RETRY.0, Instant::now());
    loop {
        tokio::time::sleep(LOOK).await;
        let now = Instant::now();
        let Some(hub) = tunnel.hub() else {
            // There is to be no tunnel at present.
            (ill, pause) = (Some(now), RETRY.0);
            continue;
        };
        let answers = carrier == Carrier::Auto && tunnel.quic_answers();
        if answers {
            let [quic, tcp] = tunnel.counts();
            if let Some(change) = faster.look(now, quic, tcp, known) {
                report(change, hub);
                tunnel.prefer_tcp(faster.prefers_tcp());
                well = now;
                changed.notify_one();
            }
        }
        if answers && !faster.prefers_tcp() {
            if ill.take().is_some() {
                well = now;
                changed.notify_one();
            }
            if now - well > SETTLED {
                tunnel.close_idle_lanes();
            }
            continue;
        }
        let since = if answers { now } else { *ill.get_or_insert(now) };
        let lanes = tunnel.lanes();
        if lanes > 0 {
            pause = RETRY.0;
        }
        let missing = LANES.saturating_sub(lanes + opening.load(Ordering::Relaxed));
        let wanted = carrier == Carrier::Tcp || answers || now - since >= PATIENCE;
        if !wanted || missing == 0 || now < not_before {
            continue;
        }
        not_before = now + pause;
        pause = (pause * 2).min(RETRY.1);
        // The first shows whether TCP passes.
        let count = if lanes == 0 { 1 } else { missing };
        for _ in 0..count {
            let (tunnel, common, opening) = (tunnel.clone(), common.clone(), opening.clone());
            opening.fetch_add(1, Ordering::Relaxed);
            tokio::spawn(async move {
                if let Err(why) = lanes::connect(tunnel, common, hub, &opening).await {
                    tracing::debug!(%hub, "no TCP connection: {why}");
                }
            });
        }
    }
}

fn report(change: Change, hub: SocketAddr) {
    let shown = |bps: f64| Rate::from_bps((bps / 1e4).round() as u64 * 10_000);
    match change {
        Change::Slow { quic, known } => tracing::warn!(
            %hub, "UDP carries {} of {}: new connections try TCP", shown(quic), shown(known)
        ),
        Change::Faster { tcp, quic } => tracing::warn!(
            %hub, "TCP carries {}, UDP {}: TCP takes new connections (UDP is policed?)", shown(tcp), shown(quic)
        ),
        Change::NotFaster => tracing::info!(%hub, "TCP is not faster: UDP takes new connections"),
        Change::Again => tracing::info!(%hub, "new connections try UDP again"),
    }
}

/// Gives up QUIC connections that are silent while TCP passes, at both nodes, for ever.
pub(crate) async fn give_up_blocked(tunnel: Arc<Tunnel>) {
    loop {
        tokio::time::sleep(LOOK * 4).await;
        tunnel.give_up_blocked(BLOCKED);
    }
}
