//! Sees to it that what is taken in arrives: looks twice a second, puts back what others have removed, and shuts the gate where
//! that does not help ([`crate::passage`] decides).

use crate::diagnosis::{Cause, Kind};
use crate::helper::Interception;
use crate::node::Node;
use crate::passage::{Judge, Look, Passage};
use crate::{Error, plan};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// Between two looks. An opening that is not answered is found by the second look after it.
const PERIOD: Duration = Duration::from_millis(500);

/// What was found since the start.
#[derive(Default)]
pub(crate) struct Findings {
    /// Times that the gate was shut because what is taken in does not arrive.
    pub shut: AtomicUsize,
    /// Things that were put back, and their names.
    pub repaired: AtomicUsize,
    repairs: Mutex<BTreeSet<String>>,
    /// Why the gate is shut now.
    causes: Mutex<Vec<String>>,
}

impl Findings {
    pub fn repairs(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.repairs.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    pub fn causes(&self) -> MutexGuard<'_, Vec<String>> {
        self.causes.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

/// Takes the first look, and goes on in a thread of its own.
pub(crate) fn start(node: &Arc<Node>) -> Result<(), Error> {
    let mut watch = Watch { judge: Judge::new(), begin: Instant::now(), named: String::new() };
    watch.step(node);
    let node = node.clone();
    let go_on = move || {
        while !*node.stop.borrow() {
            std::thread::sleep(PERIOD);
            watch.step(&node);
        }
    };
    let thread = std::thread::Builder::new().name("verify".into()).spawn(go_on);
    thread.map(drop).map_err(|why| Error::system("start a thread", why))
}

struct Watch {
    judge: Judge,
    begin: Instant,
    /// Causes that were reported while the gate is shut.
    named: String,
}

impl Watch {
    fn step(&mut self, node: &Arc<Node>) {
        let Some(look) = self.look(node) else { return };
        let before = self.judge.passage();
        let Some(after) = self.judge.look(self.begin.elapsed(), look) else { return };
        if let Err(why) = node.set_shut(|shut| shut.passage = after) {
            tracing::warn!("{why}");
        }
        if let Some(look) = helped(node, Interception::look) {
            self.judge.changed_by_gate(look.generation);
        }
        match after {
            Passage::Shut => self.shut(node, look, before),
            Passage::Trial => tracing::debug!("one opening is taken in on trial"),
            Passage::Open => {
                self.named.clear();
                node.findings.causes().clear();
                tracing::info!("what is taken in arrives again");
            }
        }
    }

    /// What there is now, after repairs.
    fn look(&mut self, node: &Arc<Node>) -> Option<Look> {
        let look = helped(node, Interception::look)?;
        if look.whole {
            return Some(look);
        }
        let repaired = helped(node, Interception::repair)?;
        node.findings.repaired.fetch_add(repaired.len(), Ordering::Relaxed);
        if !repaired.is_empty() {
            self.judge.repaired();
        }
        for what in repaired {
            if node.findings.repairs().insert(what.clone()) {
                tracing::warn!(
                    "{what} was gone and is back; another program removes it, see `longhaul-pep doctor`"
                );
            }
        }
        helped(node, Interception::look)
    }

    fn shut(&mut self, node: &Arc<Node>, look: Look, before: Passage) {
        if before == Passage::Open {
            node.findings.shut.fetch_add(1, Ordering::Relaxed);
        }
        let mut causes = helped(node, Interception::causes).unwrap_or_default();
        if look.whole {
            // Rules and routes are right: something between them and the listener drops packets.
            causes.retain(|cause| matches!(cause.kind, Kind::Firewall | Kind::Bridge));
        } else {
            causes.retain(|cause| cause.kind != Kind::Firewall);
        }
        let text = in_words(&causes, look.whole);
        *node.findings.causes() = causes.into_iter().map(|cause| cause.text).collect();
        if text != self.named {
            tracing::warn!("new connections pass untouched, since those taken in do not arrive: {text}");
            self.named = text;
        }
    }
}

fn in_words(causes: &[Cause], whole: bool) -> String {
    if causes.is_empty() {
        let whose = if whole {
            "a chain of hook prerouting, input or output drops them"
        } else {
            "they are routed elsewhere"
        };
        return format!("no cause was found; perhaps {whose}");
    }
    causes.iter().map(|cause| cause.text.as_str()).collect::<Vec<_>>().join("; ")
}

/// Gives the helper a task, if there is one: what fails is in the log.
fn helped<T>(node: &Node, task: impl FnOnce(&Interception) -> Result<T, Error>) -> Option<T> {
    let interception = node.interception.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    match task(interception.as_ref()?) {
        Ok(done) => Some(done),
        Err(why) => {
            tracing::debug!(
                "{}: {why}",
                node.config(|config| config.intercept.as_ref().map_or(String::new(), plan::name))
            );
            None
        }
    }
}
