//! The page's questions to the daemon, and the look at the machine.

use super::app::Desk;
use crate::control::{self, Command};
use crate::{Error, doctor, load};
use serde_json::Value;
use std::path::PathBuf;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// A look at the machine takes commands and packets to the hub: so long, the last one is given again.
const FRESH: Duration = Duration::from_secs(10);

/// The daemon with a configuration file.
pub(super) struct Daemon {
    path: PathBuf,
    control: PathBuf,
    /// The last findings; held while they are looked for, so that one look at a time is under way.
    found: Mutex<Option<(Instant, Value)>>,
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
        if let Some((_, value)) = found.as_ref().filter(|(at, _)| at.elapsed() < FRESH) {
            return Ok(value.clone());
        }
        let value = serde_json::json!(doctor::examine(&load::load(&self.path)?));
        *found = Some((Instant::now(), value.clone()));
        Ok(value)
    }

    fn set_bypass(&self, on: bool) -> Result<Value, Error> {
        *self.found.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = None;
        control::ask(&self.control, Command::Bypass { on })
    }
}
