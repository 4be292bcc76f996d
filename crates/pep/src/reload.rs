//! What a running node takes on from its file when it is read again, and what it names as needing a restart.

use crate::config::{Config, Hop, Intercept};
use serde_json::Value;

/// The configuration of a node that goes on, with all that can change while it runs. `confirms`: it has the sockets for openings to
/// confirm.
pub(crate) fn adopted(running: &Config, wanted: &Config, confirms: bool) -> Config {
    let mut next = running.clone();
    next.limits = wanted.limits;
    // The pool of buffers is made at the start.
    next.limits.memory = running.limits.memory;
    next.timeouts = wanted.timeouts;
    next.client_leg = wanted.client_leg.clone();
    next.server_leg = wanted.server_leg.clone();
    next.destinations = wanted.destinations.clone();
    next.terminal = wanted.terminal.clone();
    next.class = wanted.class.clone();
    next.dscp = wanted.dscp;
    if let (Some(now), Some(wanted)) = (&mut next.hop, &wanted.hop) {
        let Hop { hub_key, send_rate, most_rate, total_rate, pass_after, fail_back, .. } = wanted.clone();
        *now = Hop { hub_key, send_rate, most_rate, total_rate, pass_after, fail_back, ..now.clone() };
    }
    if let (Some(now), Some(wanted)) = (&mut next.intercept, &wanted.intercept) {
        let Intercept {
            port,
            confirm_port,
            divert_mark,
            own_mark,
            client_mark,
            confirm_mark,
            table,
            priority,
            ..
        } = *now;
        // Without the sockets of the start, nobody would answer.
        let confirm = if confirms { wanted.confirm.clone() } else { vec![] };
        *now = Intercept {
            port,
            confirm_port,
            divert_mark,
            own_mark,
            client_mark,
            confirm_mark,
            table,
            priority,
            confirm,
            ..wanted.clone()
        };
    }
    next
}

/// Names of settings in the file that the node runs without: whatever differs, so that none can be forgotten.
pub(crate) fn left(running: &Config, wanted: &Config) -> Vec<String> {
    let shown = |config| serde_json::to_value(config).unwrap_or_default();
    let mut names = vec![];
    differences("", &shown(running), &shown(wanted), &mut names);
    names
}

fn differences(name: &str, a: &Value, b: &Value, names: &mut Vec<String>) {
    match (a, b) {
        (Value::Object(a), Value::Object(b)) => {
            for (key, value) in a {
                let inner = if name.is_empty() { key.clone() } else { format!("{name}.{key}") };
                differences(&inner, value, b.get(key).unwrap_or(&Value::Null), names);
            }
        }
        _ if a == b => {}
        _ => names.push(name.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::parse;

    fn hub(hop: &str, rest: &str, key: &str) -> Config {
        let text = format!(
            "mode = \"hub\"\n{rest}\n[hop]\nlisten = \"0.0.0.0:7714\"\nkey = \"k\"\n{hop}\n\
             [[terminal]]\nname = \"ship\"\nkey = \"{}\"\n",
            key.repeat(32)
        );
        parse(&text, "hub.toml").unwrap()
    }

    fn after(running: &Config, wanted: &Config) -> (Config, Vec<String>) {
        let next = adopted(running, wanted, false);
        let names = left(&next, wanted);
        (next, names)
    }

    #[test]
    fn keys_of_terminals_and_rates_change_at_once() {
        let (next, names) =
            after(&hub("", "", "ab"), &hub("send_rate = \"9 Mbit/s\"\nmost_rate = \"9 Mbit/s\"", "", "cd"));
        assert_eq!(names, Vec::<String>::new());
        assert_eq!(next.terminal[0].key.0, [crate::config::Key([0xcd; 32])]);
        assert_eq!(next.hop.unwrap().most_rate.unwrap().as_bps(), 9_000_000);
    }

    #[test]
    fn whatever_needs_a_restart_is_named() {
        let running = hub("", "", "ab");
        for (hop, rest, name) in [
            ("mtu = 1300", "", "hop.mtu"),
            ("keep_alive = \"3 s\"", "", "hop.keep_alive"),
            ("carrier = \"tcp\"", "", "hop.carrier"),
            ("terminals = 5", "", "hop.terminals"),
            ("", "log = \"json\"", "log"),
            ("", "[sandbox]\nfiles = false", "sandbox.files"),
            ("", "[limits]\nmemory = \"600 MB\"", "limits.memory"),
            ("", "control = \"/run/other.sock\"", "control"),
            ("", "[intercept]\ntable = 8000", "intercept"),
        ] {
            assert_eq!(after(&running, &hub(hop, rest, "ab")).1, [name]);
        }
    }
}
