//! `longhaul-emu enter`: a further terminal at a host of a shell that runs.

use crate::account::Account;
use crate::command::{Known, Task, addresses};
use crate::names::{self, Reach};
use crate::prompt::Prompt;
use crate::shell::{shell_of, show_host};
use crate::signals::Signals;
use crate::{Error, control, namespace, own_run};
use serde_json::Value;
use std::process::ExitStatus;
use std::time::Duration;

/// What to enter, and with what.
pub struct Options {
    /// The command and its arguments; without it, the user's shell.
    pub command: Vec<String>,
    /// The user that is named.
    pub user: Option<String>,
    /// How long the command has from a request to end until it is killed.
    pub grace: Duration,
}

/// A host of a shell that runs, by what that shell states of itself.
pub struct Place {
    here: Known,
    all: Vec<Known>,
    namespace: String,
    reach: Reach,
}

impl Place {
    /// Looks a node up in the shell of this name, or in the one that runs, and enters its user namespace if it has one. The process must
    /// not have started any thread.
    ///
    /// # Errors
    /// No such shell or node; what the system refuses.
    pub fn find(name: Option<&str>, node: &str) -> Result<Place, Error> {
        let mut answer = control::ask(name, &serde_json::json!({ "status": true }))?;
        let status = answer["status"].take();
        let all: Vec<(Known, String)> = hosts(&status["hosts"]).ok_or_else(|| {
            let name = status["name"].as_str().unwrap_or_default();
            Error::Unsupported(format!("the emulator {name} has no hosts to enter: only a `shell` has"))
        })?;
        let found = all.iter().position(|(host, _)| host.name == node).ok_or_else(|| {
            let names: Vec<&str> = all.iter().map(|(host, _)| &host.name[..]).collect();
            Error::Unsupported(format!("no host has the name \"{node}\"; there are {}", names.join(", ")))
        })?;
        if status["user_namespace"] == true {
            let pid = status["pid"].as_i64().unwrap_or_default();
            own_run::join(pid)?;
        }
        let reach = match status["internet"]["v6"].as_bool() {
            Some(v6) => Reach::Internet { v6 },
            None => Reach::Hosts,
        };
        let (here, namespace) = all[found].clone();
        Ok(Place { here, namespace, all: all.into_iter().map(|(host, _)| host).collect(), reach })
    }
}

fn hosts(list: &Value) -> Option<Vec<(Known, String)>> {
    let one = |host: &Value| {
        let text = |key: &str| Some(host[key].as_str()?.to_string());
        let known =
            Known { name: text("name")?, v4: text("v4")?.parse().ok()?, v6: text("v6")?.parse().ok()? };
        Some((known, text("namespace")?))
    };
    list.as_array()?.iter().map(one).collect()
}

/// Runs a command at a host until it ends. It ends with the shell, too.
///
/// # Errors
/// What the system refuses.
pub fn run(place: &Place, options: &Options, signals: &Signals) -> Result<ExitStatus, Error> {
    let account = Account::find(options.user.as_deref())?;
    let is_shell = options.command.is_empty();
    let Prompt { arguments, environment } = match is_shell {
        true => Prompt::of(&shell_of(account.as_ref()), &format!("(longhaul {}) ", place.here.name)),
        false => Prompt { arguments: options.command.clone(), environment: vec![] },
    };
    let mut all = addresses(&place.all, &place.here);
    all.extend(environment.into_iter().map(|(name, value)| (name.to_string(), value)));
    let (account, grace) = (account.as_ref(), options.grace);
    let task = Task { namespace: &place.namespace, arguments, environment: all, account, grace };
    let (view, _) = names::view(place.reach);
    namespace::within(&place.namespace, || {
        show_host(&view)?;
        task.run(signals, is_shell)
    })
}
