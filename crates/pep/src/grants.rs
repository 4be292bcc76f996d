//! Grants the kernel openings, by what this node has room for: connections, descriptors, and flows that the hub takes.

use crate::config::Mode;
use crate::descriptors;
use crate::node::Node;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How often the room is looked at while nothing arrives.
const LOOK: Duration = Duration::from_secs(1);

/// The kernel's bound on connections that wait to be accepted.
pub(crate) fn waiting() -> usize {
    let text = std::fs::read_to_string("/proc/sys/net/core/somaxconn").unwrap_or_default();
    text.trim().parse().unwrap_or(128)
}

/// Grants openings, for ever.
pub(crate) async fn serve(node: Arc<Node>) {
    if node.config(|config| config.mode == Mode::Hub || config.intercept.is_none()) {
        return;
    }
    loop {
        let _ = tokio::time::timeout(LOOK, node.granting.notified()).await;
        // Nothing arrives between the two: what has arrived is either still to come in the grant or in the table.
        let (free, grant) = {
            let mut room = node.room();
            let free = free(&node);
            (free, room.next(Instant::now(), free))
        };
        let Some(grant) = grant else { continue };
        let begin = Instant::now();
        let changing = node.clone();
        let done = tokio::task::spawn_blocking(move || {
            let interception = changing.interception.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            interception.as_ref().map_or(Ok(()), |interception| interception.set_room(grant))
        });
        if let Ok(Err(why)) = done.await {
            tracing::warn!("{why}");
        }
        tracing::debug!(?grant, free, ms = begin.elapsed().as_millis(), "openings granted");
    }
}

/// Connections that can still be served.
pub(crate) fn free(node: &Node) -> usize {
    let (limits, alive) = (node.shared.table.limits(), node.shared.table.len());
    let own = *node.own_descriptors.get_or_init(|| descriptors::open().saturating_sub(2 * alive as u64));
    let descriptors = descriptors::free(own + 2 * alive as u64) / 2;
    let flows = node.tunnel().and_then(|tunnel| tunnel.room(alive)).unwrap_or(usize::MAX);
    limits.flows.saturating_sub(alive).min(usize::try_from(descriptors).unwrap_or(usize::MAX)).min(flows)
}
