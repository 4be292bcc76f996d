//! Which carrier takes new connections: QUIC where UDP passes, else TCP connections. A choice by measuring, made again and again.

use crate::config::Carrier;
use crate::lanes::{self, Common, LANES};
use crate::tunnel::Tunnel;
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
    changed: Arc<Notify>,
) {
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
        if carrier == Carrier::Auto && tunnel.quic_answers() {
            if ill.take().is_some() {
                well = now;
                changed.notify_one();
            }
            if now - well > SETTLED {
                tunnel.close_idle_lanes();
            }
            continue;
        }
        let since = *ill.get_or_insert(now);
        let lanes = tunnel.lanes();
        if lanes > 0 {
            pause = RETRY.0;
        }
        let missing = LANES.saturating_sub(lanes + opening.load(Ordering::Relaxed));
        let wanted = carrier == Carrier::Tcp || now - since >= PATIENCE;
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

/// Gives up QUIC connections that are silent while TCP passes, at both nodes, for ever.
pub(crate) async fn give_up_blocked(tunnel: Arc<Tunnel>) {
    loop {
        tokio::time::sleep(LOOK * 4).await;
        tunnel.give_up_blocked(BLOCKED);
    }
}
