//! Reads a configuration file strictly: an unknown key is an error with its line and the nearest name.

use crate::Error;
use crate::class;
use crate::config::{Config, FailBack, Hop, Intercept, Key, Mode, Names, Profile};
use crate::error::nearest;
use crate::pool::{LARGE, SMALL};
use longhaul_hop::ConfigError;
use longhaul_units::{Duration, Rate, Size};
use std::net::IpAddr;
use std::path::Path;

/// Longest name of an interface (IFNAMSIZ without the closing zero).
const LONGEST_INTERFACE: usize = 15;

/// Hubs of a terminal: each has sockets and buffers of its own.
const MOST_HUBS: usize = 8;
/// The longest `fail_back`.
const MOST_FAIL_BACK: Duration = Duration::from_secs(86_400);

/// What `longhaul pep-config` writes in the place of a key that is not known yet.
const UNFILLED: Key = Key([0; 32]);

/// Reads and checks a file.
///
/// # Errors
/// A file that cannot be read, and whatever [`parse`] finds.
pub fn load(path: &Path) -> Result<Config, Error> {
    let text = longhaul_program::text_file::read(path)
        .map_err(|why| Error::Config(format!("{}: {why}", path.display())))?;
    parse(&text, &path.display().to_string())
}

/// Reads and checks the text of a file; `name` is for messages.
///
/// # Errors
/// The first thing that is wrong: where, what, and what would be right.
pub fn parse(text: &str, name: &str) -> Result<Config, Error> {
    let config: Config = toml::from_str(text).map_err(|error| Error::Config(syntax(&error, text, name)))?;
    if let Some((key, what)) = check(&config) {
        return Err(Error::Config(format!("{}: {what}", place_of(key, text, name))));
    }
    if let Some(found) = class::check(&config) {
        return Err(Error::Config(format!("{}: {}", place_in_list(&found, text, name), found.what)));
    }
    Ok(config)
}

/// File and line of a key in one of several tables of a list, or of the table where the key is not written.
fn place_in_list(found: &class::Complaint, text: &str, name: &str) -> String {
    let head = format!("[[{}]]", found.table);
    let lines = || text.lines().map(str::trim).enumerate();
    let begins = lines().filter(|(_, line)| line.split('#').next().is_some_and(|line| line.trim() == head));
    let Some((begin, _)) = begins.into_iter().nth(found.index) else {
        return format!("{name}: {}", found.table);
    };
    let own = lines().skip(begin + 1).take_while(|(_, line)| !line.starts_with('['));
    let names = |line: &str| line.split(['=', '#']).next().is_some_and(|left| left.trim() == found.key);
    let at = own.into_iter().find(|(_, line)| names(line)).map_or(begin, |(at, _)| at);
    let key = if found.key.is_empty() { String::new() } else { format!(".{}", found.key) };
    format!("{name}:{}: {}{key}", at + 1, found.table)
}

/// A key that is still to be filled in: a tunnel with it never comes up.
pub fn unfilled(config: &Config) -> Option<String> {
    let hub_keys = config.hop.as_ref().and_then(|hop| hop.hub_key.as_ref());
    if hub_keys.is_some_and(|keys| keys.contains(&UNFILLED)) {
        return Some("hop.hub_key is zeros: fill in what `longhaul-pep keygen` prints at the hub".into());
    }
    let terminal = config.terminal.iter().find(|terminal| terminal.key.contains(&UNFILLED))?;
    let name = &terminal.name;
    Some(format!("the key of terminal \"{name}\" is zeros: fill in what `longhaul-pep keygen` prints there"))
}

fn syntax(error: &toml::de::Error, text: &str, name: &str) -> String {
    let line = error.span().map(|span| text[..span.start.min(text.len())].matches('\n').count() + 1);
    let place = line.map_or(name.to_string(), |line| format!("{name}:{line}"));
    let message = error.message().trim();
    if let Some(plain) = error.span().and_then(|span| text.get(span)).and_then(|value| plain(message, value))
    {
        return format!("{place}: {plain}");
    }
    let help = suggestion(message).map_or(String::new(), |help| format!("; {help}"));
    format!("{place}: {message}{help}")
}

/// What is wrong with a value, where the libraries' words are those of programmers, and what would be right.
fn plain(message: &str, value: &str) -> Option<String> {
    if message == "invalid socket address syntax" {
        let bare = value.trim_matches(['"', '\'']);
        let host = bare.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(bare);
        return Some(match (host.parse::<IpAddr>(), bare.rsplit_once(':')) {
            (Ok(IpAddr::V6(address)), _) => {
                format!("{value} has no port; write for instance \"[{address}]:7714\"")
            }
            (Ok(address), _) => format!("{value} has no port; write for instance \"{address}:7714\""),
            (_, Some((host, _))) if host.parse::<IpAddr>().is_ok() || host.ends_with(']') => {
                format!("{value} is no address with a port (1 to 65535), as in \"198.51.100.10:7714\"")
            }
            _ => format!(
                "{value} is no address with a port, as in \"198.51.100.10:7714\"; names are not looked up"
            ),
        });
    }
    if message.ends_with("expected a sequence") {
        return Some(format!("{value} is one value where a list belongs; write [{value}]"));
    }
    let number = message.starts_with("invalid type: integer") && message.ends_with("expected a string");
    number.then(|| format!("{value} belongs in quotes; write \"{value}\""))
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
        (Mode::Terminal, Some(hop)) => {
            if let Some(complaint) = hubs(hop) {
                return Some(complaint);
            }
        }
        (Mode::Hub, Some(hop)) if hop.listen.is_none() => {
            return Some(("hop", "a hub needs `listen`, as in listen = \"0.0.0.0:7714\"".into()));
        }
        (Mode::Hub, _) if config.terminal.is_empty() => {
            return Some(("mode", "a hub serves no one without [[terminal]], with name and key".into()));
        }
        (Mode::Hub, Some(hop)) if config.terminal.len() > hop.terminals as usize => {
            let what = format!(
                "{} at a time, and there are {listed} [[terminal]] tables; raise it to {listed} or more",
                hop.terminals,
                listed = config.terminal.len()
            );
            return Some(("hop.terminals", what));
        }
        _ => {}
    }
    let twice = |this: &crate::config::Terminal| {
        let shares = |other: &&crate::config::Terminal| other.key.0.iter().any(|key| this.key.contains(key));
        config.terminal.iter().filter(shares).count() > 1
    };
    if let Some(terminal) = config.terminal.iter().find(|terminal| twice(terminal)) {
        return Some(("terminal.key", format!("two terminals have the key of \"{}\"", terminal.name)));
    }
    // All settings but the keys are checked by the hop itself.
    let settings = crate::start::hop_settings(config)?;
    if let Err(why) = settings.check() {
        return Some(refused(&why));
    }
    let hop = config.hop.as_ref()?;
    if config.mode == Mode::Hub && hop.profile != Profile::Usual {
        let what = "it belongs into the terminal's file: what the link costs is known there, and a hub serves several";
        return Some(("hop.profile", what.into()));
    }
    let lists = &config.destinations;
    let listed = !lists.allow.is_empty() || !lists.deny.is_empty() || lists.private.is_some();
    if config.mode == Mode::Terminal && hop.names == Names::Hub && listed {
        let what = "what the hub looks up is not compared with this file's `destinations`, which has networks; list them in the \
                    hub's file";
        return Some(("hop.names", what.into()));
    }
    let least = hop.least_pass_after();
    if let Some(given) = hop.pass_after.filter(|given| *given < least || *given > hop.idle_timeout) {
        let what = format!(
            "{given} is not from {least} (two round trips of `initial_rtt`) to {} (`idle_timeout`)",
            hop.idle_timeout
        );
        return Some(("hop.pass_after", what));
    }
    let Some(FailBack::After(given)) = hop.fail_back else { return None };
    let several = hop.hubs.len() > 1;
    (several && !(hop.pass_after()..=MOST_FAIL_BACK).contains(&given)).then(|| {
        let least = hop.pass_after();
        let what = format!("{given} is not from {least} (`pass_after`) to {MOST_FAIL_BACK}, nor \"never\"");
        ("hop.fail_back", what)
    })
}

/// What is wrong with a terminal's hubs.
fn hubs(hop: &Hop) -> Complaint {
    if hop.hub.is_some() && !hop.hubs.is_empty() {
        return Some(("hop.hubs", "`hub` is a list of one: write one of `hub` and `hubs`, not both".into()));
    }
    let all = hop.hubs();
    if all.is_empty() || hop.hub_key.is_none() {
        return Some((
            "hop",
            "a terminal needs `hub` (its name or address, with the port) and `hub_key`".into(),
        ));
    }
    if all.len() > MOST_HUBS {
        return Some(("hop.hubs", format!("{} hubs; there are at most {MOST_HUBS}", all.len())));
    }
    let twice = all.iter().enumerate().find(|(at, one)| all[..*at].contains(one));
    if let Some((_, one)) = twice {
        return Some(("hop.hubs", format!("\"{one}\" is listed twice")));
    }
    // Each tunnel has a socket of its own.
    (all.len() > 1 && hop.listen.is_some()).then(|| {
        (
            "hop.listen",
            "with several hubs a terminal has a port for each, which the kernel chooses; leave it out".into(),
        )
    })
}

/// Bytes as a person writes them.
pub(crate) fn bytes(value: u64) -> String {
    let units = [(30, "GiB"), (20, "MiB"), (10, "KiB")];
    let whole = units.into_iter().find(|(power, _)| value > 0 && value % (1 << power) == 0);
    whole.map_or_else(
        || Size::from_bytes(value).to_string(),
        |(power, unit)| format!("{} {unit}", value >> power),
    )
}

/// What the hop refuses, by the names and units of the file.
fn refused(why: &ConfigError) -> (&'static str, String) {
    let ConfigError::Range { what, least, most, given } = why else {
        let ConfigError::AboveMost { send, most } = why else { return ("hop", why.to_string()) };
        return (
            "hop.send_rate",
            format!("{send} is more than most_rate, {most}; this node never sends faster"),
        );
    };
    let (name, unit) = what.split_once(" in ").unwrap_or((what, ""));
    let shown = |value: u64| match unit {
        "bytes" => bytes(value),
        "ns" => Duration::from_nanos(value).to_string(),
        "bit/s" => Rate::from_bps(value).to_string(),
        _ => value.to_string(),
    };
    let key = match name {
        "credit" => "hop.credit",
        "memory" => "hop.memory",
        "mtu" => "hop.mtu",
        "initial_rtt" => "hop.initial_rtt",
        "idle_timeout" => "hop.idle_timeout",
        "keep_alive" => "hop.keep_alive",
        "max_peers" => "hop.terminals",
        "rates.send" => "hop.send_rate",
        "rates.receive" => "hop.receive_rate",
        "rates.most" => "hop.most_rate",
        _ => return ("hop", why.to_string()),
    };
    let of = match name {
        "memory" => " (nine times `credit` and more)",
        "keep_alive" => " (half of `idle_timeout`)",
        _ => "",
    };
    (key, format!("{} is not from {} to {}{of}", shown(*given), shown(*least), shown(*most)))
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
    // 0 is the kernel's rule for its own addresses, 32766 and 32767 are those for ordinary routes.
    if !(1..=32763).contains(&intercept.priority) {
        return Some(("intercept.priority", format!("{} is not from 1 to 32763", intercept.priority)));
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
    let needed = (limits.flows as u64).saturating_mul(2 * SMALL as u64) + 2 * LARGE as u64;
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

    fn terminal(line: &str) -> String {
        let key = "d8".repeat(32);
        let hub = if line.starts_with("hub =") || line.starts_with("hubs =") {
            ""
        } else {
            "hub = \"198.51.100.10:7714\"\n"
        };
        let text = format!(
            "mode = \"terminal\"\n[intercept]\n[hop]\n{line}\nkey = \"pep.key\"\nhub_key = \"{key}\"\n{hub}"
        );
        error(&text)
    }

    #[test]
    fn settings_of_the_tunnel_are_refused_by_their_names_in_the_file() {
        let found = terminal("most_rate = \"9.9 Mbit/s\"\nsend_rate = \"99 Mbit/s\"");
        assert!(
            found.starts_with("pep.toml:5: hop.send_rate: 99 Mbit/s is more than most_rate, 9.9"),
            "{found}"
        );
        for (line, expected) in [
            ("mtu = 500", "pep.toml:4: hop.mtu: 500 is not from 1200 to 16384"),
            ("pass_after = \"1 s\"", "pep.toml:4: hop.pass_after: 1 s is not from 1.3 s (two round trips of"),
            ("keep_alive = \"200 s\"", "pep.toml:4: hop.keep_alive: 200 s is not from 1 ms to 90 s (half of"),
            (
                "send_rate = \"1 kbit/s\"",
                "pep.toml:4: hop.send_rate: 1 kbit/s is not from 10 kbit/s to 100 Gbit/s",
            ),
            ("initial_rtt = \"9000 s\"", "pep.toml:4: hop.initial_rtt: 9000 s is not from 1 ms to 7200 s"),
            ("credit = \"8 kB\"", "pep.toml:4: hop.credit: 8 kB is not from 16 KiB to 1 GiB"),
        ] {
            let found = terminal(line);
            assert!(found.starts_with(expected), "{found}");
        }
    }

    #[test]
    fn a_hub_has_a_place_for_each_of_its_terminals() {
        let fleet = |places: &str, terminals: u8| {
            let tables = (1..=terminals).map(|n| {
                format!("[[terminal]]\nname = \"ship-{n}\"\nkey = \"{}\"\n", format!("{n:02x}").repeat(32))
            });
            let head =
                format!("mode = \"hub\"\n[hop]\nlisten = \"0.0.0.0:7714\"\nkey = \"pep.key\"\n{places}\n");
            parse(&(head + &tables.collect::<String>()), "hub.toml")
        };
        assert_eq!(fleet("", 200).unwrap().hop.unwrap().terminals, 1000);
        let found = fleet("terminals = 64", 70).unwrap_err().to_string();
        assert!(found.starts_with("hub.toml:5: hop.terminals: 64 at a time, and there are 70"), "{found}");
        assert!(found.ends_with("raise it to 70 or more"), "{found}");
        let found = fleet("terminals = 0", 0).unwrap_err().to_string();
        assert!(found.contains("[[terminal]]"), "{found}");
    }

    #[test]
    fn an_address_without_a_port_and_a_name_are_told_apart() {
        for (hub, expected) in [
            ("198.51.100.10", "has no port; write for instance \"198.51.100.10:7714\""),
            ("2001:db8::1", "has no port; write for instance \"[2001:db8::1]:7714\""),
            ("[2001:db8::1]", "has no port; write for instance \"[2001:db8::1]:7714\""),
            ("198.51.100.10:77140", "is no address with a port (1 to 65535), as in"),
            ("[2001:db8::1]:77140", "is no address with a port (1 to 65535), as in"),
            ("hub.example.org:77140", "no name with a port, as in \"hub.example.org:7714\""),
            ("hub", "has no port; write for instance \"hub:7714\""),
        ] {
            let found = terminal(&format!("hub = \"{hub}\""));
            assert!(
                found.starts_with(&format!("pep.toml:4: \"{hub}\" ")) && found.contains(expected),
                "{found}"
            );
        }
    }

    #[test]
    fn a_list_of_hubs_has_each_once_and_keys_of_all() {
        let (one, two) = ("d8".repeat(32), "d9".repeat(32));
        let text = |hop: &str| format!("mode = \"terminal\"\n[intercept]\n[hop]\nkey = \"pep.key\"\n{hop}\n");
        let list = format!(
            "hubs = [\"a.example.org:7714\", \"[2001:db8::1]:7714\"]\nhub_key = [\"{one}\", \"{two}\"]\nfail_back = \"never\""
        );
        let hop = parse(&text(&list), "pep.toml").unwrap().hop.unwrap();
        let names: Vec<String> = hop.hubs().iter().map(ToString::to_string).collect();
        assert_eq!(names, ["a.example.org:7714", "[2001:db8::1]:7714"]);
        assert_eq!(hop.hub_key.unwrap().0.len(), 2);
        let single = format!("hub = \"a.example.org:7714\"\nhub_key = \"{one}\"");
        let hop = parse(&text(&single), "pep.toml").unwrap().hop.unwrap();
        assert_eq!((hop.hubs().len(), hop.hub_key.unwrap().0.len()), (1, 1), "one is a list of one");
        let wrong = |hop: &str| error(&text(hop));
        for (hubs, expected) in [
            ("[\"a:1\", \"b:2\", \"a:1\"]", "pep.toml:5: hop.hubs: \"a:1\" is listed twice"),
            ("[\"a:1\"]\nhub = \"b:2\"", "pep.toml:5: hop.hubs: `hub` is a list of one: write one of"),
            ("[]", "pep.toml: hop: a terminal needs `hub`"),
            ("[\"a:1\", \"b:2\"]\nlisten = \"0.0.0.0:9\"", "pep.toml:6: hop.listen: with several hubs"),
            (
                "[\"a:1\", \"b:2\"]\nfail_back = \"1 s\"",
                "pep.toml:6: hop.fail_back: 1 s is not from 5 s (`pass_after`) to",
            ),
            (
                "[\"a:1\", \"b:2\"]\nfail_back = \"soon\"",
                "pep.toml:6: \"soon\" is neither a time, as in \"60 s\", nor",
            ),
            ("[\"a\"]", "pep.toml:5: \"a\" has no port; write for instance \"a:7714\""),
        ] {
            let found = wrong(&format!("hubs = {hubs}\nhub_key = \"{one}\""));
            assert!(found.starts_with(expected), "{found}");
        }
        let found = wrong("hub = \"a:1\"\nhub_key = []");
        assert!(found.contains("an empty list of keys lets nobody in"), "{found}");
    }

    #[test]
    fn networks_of_a_terminal_do_not_go_with_names_that_the_hub_looks_up() {
        let (key, lists) = ("d8".repeat(32), "[destinations]\ndeny = [\"10.0.0.0/8\"]\n");
        let text = |lists: &str| {
            format!(
                "mode = \"terminal\"\n[intercept]\n{lists}[hop]\nhub = \"a:1\"\nkey = \"k\"\nhub_key = \"{key}\"\nnames = \"hub\"\n"
            )
        };
        let found = error(&text(lists));
        assert!(found.starts_with("pep.toml:9: hop.names: what the hub looks up is not compared"), "{found}");
        parse(&text("[destinations]\nports = [\"443\"]\n"), "pep.toml").unwrap();
    }

    #[test]
    fn a_value_of_another_kind_is_shown_as_it_should_be() {
        let found = error("mode = \"split\"\n[intercept]\ninterfaces = \"eth1\"\n");
        assert!(
            found.ends_with("pep.toml:3: \"eth1\" is one value where a list belongs; write [\"eth1\"]"),
            "{found}"
        );
        let found = error("mode = \"split\"\n[intercept]\nports = [80]\n");
        assert!(found.ends_with("pep.toml:3: 80 belongs in quotes; write \"80\""), "{found}");
    }

    #[test]
    fn a_key_that_is_to_be_filled_in_is_named() {
        let terminal = parse(include_str!("../packaging/terminal.toml"), "terminal").unwrap();
        let found = unfilled(&terminal).unwrap();
        assert!(
            found.starts_with("hop.hub_key is zeros: fill in") && found.ends_with("at the hub"),
            "{found}"
        );
        let hub = parse(include_str!("../packaging/hub.toml"), "hub").unwrap();
        let found = unfilled(&hub).unwrap();
        assert!(found.starts_with("the key of terminal \"ship-1\" is zeros"), "{found}");
        let split = parse(include_str!("../packaging/split.toml"), "split").unwrap();
        assert_eq!(unfilled(&split), None);
    }
}
