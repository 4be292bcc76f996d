//! Reads a configuration file strictly: an unknown key is an error with its line and the nearest name.

use crate::Error;
use crate::config::{Config, Intercept, Mode};
use crate::error::nearest;
use crate::pool::{LARGE, SMALL};
use std::path::Path;

/// Longest name of an interface (IFNAMSIZ without the closing zero).
const LONGEST_INTERFACE: usize = 15;

/// Reads and checks a file.
///
/// # Errors
/// A file that cannot be read, and whatever [`parse`] finds.
pub fn load(path: &Path) -> Result<Config, Error> {
    let text = longhaul_emu::text_file::read(path)
        .map_err(|why| Error::Config(format!("{}: {why}", path.display())))?;
    parse(&text, &path.display().to_string())
}

/// Reads and checks the text of a file; `name` is for messages.
///
/// # Errors
/// The first thing that is wrong: where, what, and what would be right.
pub fn parse(text: &str, name: &str) -> Result<Config, Error> {
    let config: Config = toml::from_str(text).map_err(|error| Error::Config(syntax(&error, text, name)))?;
    match check(&config) {
        None => Ok(config),
        Some((key, what)) => Err(Error::Config(format!("{}: {what}", place_of(key, text, name)))),
    }
}

fn syntax(error: &toml::de::Error, text: &str, name: &str) -> String {
    let line = error.span().map(|span| text[..span.start.min(text.len())].matches('\n').count() + 1);
    let place = line.map_or(name.to_string(), |line| format!("{name}:{line}"));
    let message = error.message().trim();
    let help = suggestion(message).map_or(String::new(), |help| format!("; {help}"));
    format!("{place}: {message}{help}")
}

/// For "unknown field `a`, expected one of `b`, `c`" the nearest of the names.
fn suggestion(message: &str) -> Option<String> {
    let (found, expected) = message.split_once(", expected")?;
    let given = found.split('`').nth(1)?;
    nearest(given, expected.split('`').skip(1).step_by(2))
}

/// File and line of a key: the last part of `table.key` within the table.
fn place_of(key: &str, text: &str, name: &str) -> String {
    let (table, last) = key.rsplit_once('.').map_or((None, key), |(table, last)| (Some(table), last));
    let mut inside = table.is_none();
    for (number, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.starts_with('[') {
            inside = table == Some(line.trim_matches(['[', ']']).trim());
        }
        let names = |word: &str| line.split(['=', '#']).next().is_some_and(|left| left.trim() == word);
        if (inside && names(last)) || names(key) {
            return format!("{name}:{}: {key}", number + 1);
        }
    }
    format!("{name}: {key}")
}

pub(crate) type Complaint = Option<(&'static str, String)>;

/// What is wrong with values that are well-formed: the key, and what would be right.
fn check(config: &Config) -> Complaint {
    ways_in(config)
        .or_else(|| two_nodes(config))
        .or_else(|| config.intercept.as_ref().and_then(interception))
        .or_else(|| limits(config))
        .or_else(|| legs(config))
}

fn ways_in(config: &Config) -> Complaint {
    let none = config.intercept.is_none()
        && config.socks.is_none()
        && config.http_connect.is_none()
        && config.forward.is_empty();
    if none && config.mode != Mode::Hub {
        let what = "no connection would ever come in; add [intercept], socks, http_connect or [[forward]]";
        return Some(("mode", what.into()));
    }
    let metrics = config.metrics.filter(|address| !address.ip().is_loopback());
    metrics.map(|address| {
        ("metrics", format!("{address} is not on loopback; metrics name clients, write \"127.0.0.1:9713\""))
    })
}

fn two_nodes(config: &Config) -> Complaint {
    let hop = config.hop.as_ref();
    match (config.mode, hop) {
        (Mode::Split, None) => return None,
        (Mode::Split, Some(_)) => {
            return Some((
                "hop",
                "one node (mode = \"split\") has no tunnel; use \"terminal\" or \"hub\"".into(),
            ));
        }
        (_, None) => return Some(("mode", "two nodes need [hop], the tunnel between them".into())),
        (Mode::Terminal, Some(hop)) if hop.hub.is_none() || hop.hub_key.is_none() => {
            return Some(("hop", "a terminal needs `hub` (its UDP address) and `hub_key`".into()));
        }
        (Mode::Hub, Some(hop)) if hop.listen.is_none() => {
            return Some(("hop", "a hub needs `listen`, as in listen = \"0.0.0.0:7714\"".into()));
        }
        (Mode::Hub, _) if config.terminal.is_empty() => {
            return Some(("mode", "a hub serves no one without [[terminal]], with name and key".into()));
        }
        _ => {}
    }
    let twice = |this: &crate::config::Terminal| {
        config.terminal.iter().filter(|other| other.key == this.key).count() > 1
    };
    if let Some(terminal) = config.terminal.iter().find(|terminal| twice(terminal)) {
        return Some(("terminal.key", format!("two terminals have the key of \"{}\"", terminal.name)));
    }
    // All settings but the keys are checked by the hop itself.
    let settings = crate::start::hop_settings(config)?;
    settings.check().err().map(|why| ("hop", why.to_string()))
}

/// What is wrong with the settings from which commands are made. The helper checks them too.
pub(crate) fn interception(intercept: &Intercept) -> Complaint {
    let marks = [intercept.divert_mark, intercept.own_mark, intercept.client_mark, intercept.confirm_mark];
    if marks.iter().any(|mark| mark.count_ones() != 1)
        || marks.iter().fold(0, |all, mark| all | mark).count_ones() != 4
    {
        let [divert, own, client, confirm] = marks;
        let what = format!(
            "{divert:#x}, own_mark {own:#x}, client_mark {client:#x} and confirm_mark {confirm:#x}: each is one bit, and \
             no two are the same"
        );
        return Some(("intercept.divert_mark", what));
    }
    if intercept.ports.is_empty() {
        return Some(("intercept.ports", "empty; \"1-65535\" is every port".into()));
    }
    if intercept.port == 0 || intercept.confirm_port == 0 || intercept.port == intercept.confirm_port {
        let what = "port and confirm_port are two ports of their own; the defaults are 7713 and 7715";
        return Some(("intercept.port", what.into()));
    }
    // 253 to 255 are the kernel's tables.
    if intercept.table == 0 || (253..=255).contains(&intercept.table) {
        return Some((
            "intercept.table",
            "0 and 253 to 255 are the system's own; the default is 7713".into(),
        ));
    }
    let bad = |name: &&String| {
        name.is_empty()
            || name.len() > LONGEST_INTERFACE
            || !name.chars().all(|c| c.is_ascii_alphanumeric() || "._-@".contains(c))
    };
    let name = intercept.interfaces.iter().find(bad)?;
    Some(("intercept.interfaces", format!("\"{name}\" is no name of an interface")))
}

fn limits(config: &Config) -> Complaint {
    let limits = &config.limits;
    if limits.flows == 0 || limits.flows_per_source == 0 || limits.new_per_second == 0 {
        return Some(("limits.flows", "flows, flows_per_source and new_per_second are at least 1".into()));
    }
    let needed = (limits.flows * 2 * SMALL + 2 * LARGE) as u64;
    if limits.memory.as_bytes() < needed {
        let what = format!(
            "{} is too little for {} connections, which need {} MiB; lower limits.flows or raise it",
            limits.memory,
            limits.flows,
            needed.div_ceil(1 << 20)
        );
        return Some(("limits.memory", what));
    }
    None
}

fn legs(config: &Config) -> Complaint {
    for (key, leg) in [("client_leg", &config.client_leg), ("server_leg", &config.server_leg)] {
        let small = |size: Option<longhaul_units::Size>| size.is_some_and(|size| size.as_bytes() < 4096);
        let large = |size: Option<longhaul_units::Size>| size.is_some_and(|size| size.as_bytes() > 1 << 30);
        if small(leg.send_buffer) || small(leg.receive_buffer) {
            return Some((key, "a buffer holds at least \"4096 B\"".into()));
        }
        if large(leg.send_buffer) || large(leg.receive_buffer) || large(leg.unsent) {
            return Some((key, "the kernel's largest buffer is \"1 GiB\"".into()));
        }
        if leg.pacing_rate.is_some_and(|rate| rate.as_bps() < 8000) {
            return Some((key, "a pacing_rate is at least \"8 kbit/s\"".into()));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> String {
        parse(text, "pep.toml").unwrap_err().to_string()
    }

    #[test]
    fn the_examples_are_correct() {
        let examples = [
            ("split", include_str!("../packaging/split.toml")),
            ("terminal", include_str!("../packaging/terminal.toml")),
            ("hub", include_str!("../packaging/hub.toml")),
        ];
        for (name, text) in examples {
            parse(text, name).unwrap();
        }
    }

    #[test]
    fn the_smallest_file_is_complete() {
        let config = parse("mode = \"split\"\n[intercept]\n", "pep.toml").unwrap();
        assert_eq!(config.limits.flows, 10_000);
        assert!(config.intercept.unwrap().keep_source);
    }

    #[test]
    fn an_unknown_key_is_refused_with_line_and_nearest_name() {
        let text = "mode = \"split\"\n\n[intercept]\nport = 7713\nexept_ports = [\"22\"]\n";
        let found = error(text);
        assert!(found.starts_with("pep.toml:5: unknown field `exept_ports`"), "{found}");
        assert!(found.ends_with("did you mean \"except_ports\"?"), "{found}");
        assert!(error("mod = \"split\"").contains("did you mean \"mode\"?"));
        assert!(error("mode = \"spilt\"").contains("did you mean \"split\"?"));
    }

    #[test]
    fn wrong_values_are_named_with_line_and_remedy() {
        let found = error("mode = \"split\"\n[intercept]\n[limits]\nmemory = \"1 MB\"\n");
        assert!(found.starts_with("pep.toml:4: limits.memory: 1 MB is too little for 10000"), "{found}");
        let found = error("mode = \"split\"\n");
        assert!(found.starts_with("pep.toml:1: mode: no connection would ever come in"), "{found}");
        let found = error("mode = \"split\"\nmetrics = \"0.0.0.0:9713\"\nsocks = \"127.0.0.1:1080\"\n");
        assert!(found.starts_with("pep.toml:2: metrics: 0.0.0.0:9713 is not on loopback"), "{found}");
        let found = error("mode = \"split\"\n[intercept]\ninterfaces = [\"eth0; reboot\"]\n");
        assert!(found.contains("pep.toml:3: intercept.interfaces"), "{found}");
        let found = error("mode = \"split\"\n[intercept]\nown_mark = 0x10000\n");
        assert!(found.contains("each is one bit"), "{found}");
        let found = error("mode = \"split\"\n[intercept]\nsources = [\"10.0.0.1/8\"]\n");
        assert!(
            found.starts_with("pep.toml:3: ") && found.contains("the network is \"10.0.0.0/8\""),
            "{found}"
        );
    }
}
