//! The tunnels of a node: a hub has one, a terminal one to each hub of its list. [`crate::failover`] decides which of those takes new
//! connections; here it is carried out, with the names that are looked up.

use crate::config::{FailBack, Hop};
use crate::failover::{Failover, Policy, Seen};
use crate::hub_name::HubName;
use crate::node::Node;
use crate::silence::Silence;
use crate::timer::std_time;
use crate::tunnel::Tunnel;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::Notify;

/// How often it is looked at whether tunnels answer.
const LOOK: Duration = Duration::from_millis(500);
/// A tunnel that takes no new connections any more closes after so long without any.
const SETTLED: Duration = Duration::from_secs(60);
/// A name that was not found is looked up again after this time.
const NOT_FOUND: Duration = Duration::from_secs(5);
/// An address of a hub has this time, and four round trips, to answer before the next one is tried: what [`crate::choice`] needs to try
/// both carriers.
const ANSWER: Duration = Duration::from_secs(4);

/// A tunnel, with the name of the hub at its other end if this is a terminal.
pub(crate) struct Way {
    pub hub: Option<HubName>,
    pub tunnel: Arc<Tunnel>,
}

/// All of them.
pub(crate) struct Hubs {
    ways: Vec<Way>,
    in_use: AtomicUsize,
}

impl Hubs {
    /// The tunnels in the order of the hubs' list, of which there is at least one.
    pub fn new(tunnels: Vec<Arc<Tunnel>>, mut names: Vec<HubName>) -> Hubs {
        names.reverse();
        let ways = tunnels.into_iter().map(|tunnel| Way { hub: names.pop(), tunnel }).collect();
        Hubs { ways, in_use: AtomicUsize::new(0) }
    }

    /// The one that takes new connections.
    pub fn in_use(&self) -> &Way {
        &self.ways[self.in_use.load(Ordering::Relaxed)]
    }

    /// All, in the order of the list.
    pub fn all(&self) -> &[Way] {
        &self.ways
    }
}

/// A terminal's tunnel to one hub: when it is opened, and to which of the hub's addresses.
struct Keeper {
    /// Addresses that are still to be tried, the next one last.
    left: Vec<SocketAddr>,
    /// When the present address has had its time, or the name is looked up again.
    until: Instant,
    looking: Option<tokio::task::JoinHandle<std::io::Result<Vec<SocketAddr>>>>,
    /// The last look-up failed.
    unknown: bool,
    /// Since when it has not been wanted.
    rests: Option<Instant>,
}

impl Keeper {
    fn new(now: Instant) -> Keeper {
        Keeper { left: vec![], until: now, looking: None, unknown: false, rests: Some(now) }
    }

    /// Keeps the tunnel up, or lets it go. `answer`: what an address has before the next one is tried.
    async fn look(&mut self, way: &Way, wanted: bool, now: Instant, answer: Duration) {
        let (tunnel, Some(hub)) = (&way.tunnel, &way.hub) else { return };
        if !wanted {
            let since = *self.rests.get_or_insert(now);
            if tunnel.hub().is_some() {
                tunnel.set_hub(None);
            }
            if now.duration_since(since) >= SETTLED && tunnel.is_up() {
                tunnel.close_idle("another hub takes new connections");
            }
            return;
        }
        if self.rests.take().is_some() {
            (self.left, self.until) = (vec![], now);
        }
        if tunnel.is_up() {
            // After a loss the name is looked up at once.
            (self.left, self.until) = (vec![], now);
            return;
        }
        if let Some(looking) = self.looking.take_if(|looking| looking.is_finished()) {
            match looking.await.unwrap_or_else(|why| Err(std::io::Error::other(why))) {
                Ok(mut found) => {
                    self.unknown = false;
                    found.reverse();
                    self.left = found;
                }
                Err(why) => {
                    if !std::mem::replace(&mut self.unknown, true) {
                        tracing::warn!("the hub's name {hub} is not found: {why}");
                    }
                    self.until = now + NOT_FOUND;
                }
            }
        }
        if let Some(next) = self.left.pop() {
            self.until = now + answer;
            if tunnel.hub() != Some(next) {
                tracing::debug!(%hub, address = %next, "the tunnel is opened");
                tunnel.set_hub(Some(next));
            }
        } else if self.looking.is_none() && now >= self.until {
            match hub.literal() {
                // There is nothing to look up.
                Some(address) if tunnel.hub() == Some(address) => {}
                Some(address) => tunnel.set_hub(Some(address)),
                None => {
                    let hub = hub.clone();
                    self.looking = Some(tokio::task::spawn_blocking(move || hub.look_up()));
                }
            }
        }
    }
}

fn policy(hop: &Hop) -> Policy {
    Policy {
        take_over: std_time(hop.pass_after()),
        settle: std_time(hop.initial_rtt),
        fail_back: match hop.fail_back() {
            FailBack::Never => None,
            FailBack::After(time) => Some(std_time(time)),
        },
    }
}

/// Keeps a terminal's tunnels, for ever: to the hub that takes new connections, and to others as far as they are wanted. New connections
/// pass while the one in use is down, or gives no answer.
pub(crate) async fn follow(node: Arc<Node>, changed: Arc<Notify>) {
    let Some(hubs) = node.hubs.get() else { return };
    let (mut silence, mut last) = (Silence::default(), None);
    let mut failover = Failover::new(hubs.all().len());
    let mut keepers: Vec<Keeper> = hubs.all().iter().map(|_| Keeper::new(Instant::now())).collect();
    let mut addresses: Vec<IpAddr> = vec![];
    loop {
        let Some((policy, after, answer)) = node.config(|config| {
            let hop = config.hop.as_ref()?;
            let answer = ANSWER + std_time(hop.initial_rtt.saturating_mul(4));
            Some((policy(hop), hop.pass_after(), answer))
        }) else {
            return;
        };
        let now = Instant::now();
        let seen = hubs.all().iter().map(|way| match way.tunnel.peer() {
            None => Seen::Down,
            Some(_) if way.tunnel.is_silent(after) => Seen::Silent,
            Some(_) => Seen::Answers,
        });
        let seen: Vec<Seen> = seen.collect();
        let before = failover.in_use();
        failover.look(now, &seen, policy);
        let in_use = failover.in_use();
        if in_use != before {
            report_change(hubs, before, in_use, seen[before]);
            hubs.in_use.store(in_use, Ordering::Relaxed);
            silence = Silence::default();
        }
        for (at, (keeper, way)) in keepers.iter_mut().zip(hubs.all()).enumerate() {
            keeper.look(way, failover.is_wanted(at), now, answer).await;
        }
        publish(&node, hubs, &mut addresses).await;
        // A tunnel that is up again is a new one.
        let up = seen[in_use] != Seen::Down;
        let silent = silence.look(now, seen[in_use] == Seen::Silent, policy.take_over);
        if last.replace((up, silent)) != Some((up, silent)) {
            node.without_tunnel.send_replace(!up || silent);
            let changing = node.clone();
            let change = move || changing.set_shut(|shut| (shut.no_tunnel, shut.silent) = (!up, silent));
            if let Ok(Err(why)) = tokio::task::spawn_blocking(change).await {
                tracing::warn!("{why}");
            }
        }
        if tokio::time::timeout(LOOK, changed.notified()).await.is_ok() {
            // A hub has set another bound, or a terminal has come.
            node.granting.notify_one();
            node.allotting.notify_one();
        }
    }
}

fn report_change(hubs: &Hubs, before: usize, in_use: usize, seen: Seen) {
    let name = |at: usize| hubs.all()[at].hub.as_ref().map(ToString::to_string).unwrap_or_default();
    let (before, now) = (name(before), name(in_use));
    match seen {
        Seen::Answers => tracing::info!(hub = now, "takes new connections again, which {before} took"),
        Seen::Down => tracing::warn!(hub = now, "takes new connections: there is no tunnel to {before}"),
        Seen::Silent => tracing::warn!(hub = now, "takes new connections: {before} gives no answer"),
    }
}

/// Lets the rules know where hubs with names are, as soon as that changes: servers by the same way are intercepted.
async fn publish(node: &Arc<Node>, hubs: &Hubs, known: &mut Vec<IpAddr>) {
    let known_of = |way: &Way| way.tunnel.hub().or_else(|| way.hub.as_ref()?.literal());
    let mut now: Vec<IpAddr> = hubs.all().iter().filter_map(known_of).map(|hub| hub.ip()).collect();
    now.sort();
    now.dedup();
    if now.is_empty() || now == *known {
        return;
    }
    let (node, found) = (node.clone(), now.clone());
    let done = tokio::task::spawn_blocking(move || {
        *node.hub_addresses.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = now;
        let Some((.., hubs)) = node.intercepted() else { return Ok(true) };
        let interception = node.interception.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        // Rules that are being installed may not have them yet.
        interception.as_ref().map_or(Ok(false), |interception| interception.set_hubs(&hubs).map(|()| true))
    });
    match done.await {
        Ok(Ok(false)) | Err(_) => {}
        Ok(Ok(true)) => *known = found,
        Ok(Err(why)) => {
            tracing::warn!("{why}");
            *known = found;
        }
    }
}
