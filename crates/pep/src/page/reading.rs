//! What the page needs of a node: a reading each second, and the report for the page.

use super::history::{Counters, Reading};
use crate::node::{Node, Shut};
use crate::report;
use serde_json::{Value, json};
use std::sync::atomic::Ordering;
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Clients that are listed one by one.
const HOSTS: usize = 50;

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Seconds since 1970.
pub(super) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// Why nothing is accelerated through no fault of an operator.
fn trouble(shut: Shut) -> Option<&'static str> {
    let blameless = Shut { bypass: false, full: false, draining: false, starved: false, hub: false, ..shut };
    blameless.reasons().next()
}

/// Takes down what a node has done in the last `elapsed`.
pub(crate) fn record(node: &Node, elapsed: Duration) {
    let totals = node.shared.table.totals();
    let peers = report::peers(node);
    let sum = |field: fn(&report::PeerStatus) -> u64| peers.iter().map(|(_, peer)| field(peer)).sum();
    // A hub has several terminals: the worst link stands for them.
    let worst = |field: fn(&report::PeerStatus) -> f64| {
        peers.iter().filter(|(_, peer)| peer.in_use).map(|(_, peer)| field(peer)).reduce(f64::max)
    };
    let base = peers.iter().filter(|(_, peer)| peer.in_use).map(|(_, peer)| peer.base_rtt_ms);
    let base = base.filter(|ms| *ms > 0.0).reduce(f64::min).unwrap_or(0.0);
    if base > 0.0 {
        node.link_rtt.store((base * 1000.0) as u64, Ordering::Relaxed);
    }
    let reading = Reading {
        at: now(),
        elapsed: elapsed.as_secs_f64(),
        counters: Counters {
            down: totals.down.sent,
            up: totals.up.sent,
            link_down: sum(|peer| peer.received_bytes),
            link_up: sum(|peer| peer.sent_bytes),
        },
        loss: worst(|peer| peer.loss_percent / 100.0),
        rtt_ms: worst(|peer| peer.rtt_ms),
        flows: node.shared.table.len(),
        trouble: trouble(*lock(&node.shut)),
    };
    lock(&node.history).add(&reading);
}

/// Everything that the page shows, with the history after `since`.
pub(crate) fn of_node(node: &Node, since: u64) -> Value {
    let rates = node.config(|config| {
        let hop = config.hop.as_ref()?;
        let bps = |rate: Option<longhaul_units::Rate>| rate.map(longhaul_units::Rate::as_bps);
        Some(json!({ "down": bps(hop.receive_rate), "up": bps(hop.most_rate.or(hop.send_rate)) }))
    });
    let history = lock(&node.history);
    json!({
        "at": now(),
        "status": report::status(node),
        "rates": rates,
        "history": history.after(since),
        "outages": history.outages(),
        "volume": history.volume(),
        "hosts": node.shared.table.hosts().listed(HOSTS),
        "saved": *lock(&node.saved),
        "link_rtt_ms": node.link_rtt.load(Ordering::Relaxed) as f64 / 1000.0,
    })
}
