//! The page's questions to the daemon, and the look at the machine.

use super::app::Desk;
use super::reading::now;
use crate::control::{self, Command};
use crate::{Error, doctor, load};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// A look at the machine takes commands and packets to the hub: for so long the last one is given again, unless the node's state has
/// changed since.
const FRESH: Duration = Duration::from_secs(10);

/// The daemon with a configuration file.
pub(super) struct Daemon {
    path: PathBuf,
    control: PathBuf,
    /// The last findings; held while they are looked for, so that one look at a time is under way.
    found: Mutex<Option<Found>>,
}

/// Findings, with the node's state before they were looked for.
struct Found {
    at: Instant,
    state: Value,
    findings: Value,
}

/// What makes earlier findings stale when it changes.
fn state(status: &Value) -> Value {
    json!([status["reasons"], status["causes"], status["repaired"], status["tunnel"]["hub"]])
}

impl Daemon {
    pub fn new(path: PathBuf, control: PathBuf) -> Daemon {
        Daemon { path, control, found: Mutex::default() }
    }
}

impl Desk for Daemon {
    fn now(&self, since: u64) -> Result<Value, Error> {
        control::ask(&self.control, Command::Page { since })
    }

    fn doctor(&self) -> Result<Value, Error> {
        let mut found = self.found.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let state = control::ask(&self.control, Command::Status).map_or(Value::Null, |status| state(&status));
        if let Some(last) = found.as_ref().filter(|last| last.at.elapsed() < FRESH && last.state == state) {
            return Ok(last.findings.clone());
        }
        let begin = Instant::now();
        let looked = json!({ "at": now(), "findings": doctor::examine(&load::load(&self.path)?) });
        *found = Some(Found { at: begin, state, findings: looked.clone() });
        Ok(looked)
    }

    fn set_bypass(&self, on: bool) -> Result<Value, Error> {
        control::ask(&self.control, Command::Bypass { on })
    }
}
