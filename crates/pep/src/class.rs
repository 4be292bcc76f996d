//! Classes of connections at a terminal, and shares of terminals at a hub, as an operator writes them.

use crate::config::{Carrier, Config, Mode};
use crate::prefix::{Ports, Prefix};
use longhaul_hop::Portion;
use longhaul_units::{Rate, Size};
use serde::{Deserialize, Serialize};
use std::net::{IpAddr, SocketAddr};

/// Classes of a file at most.
pub(crate) const MOST: usize = 64;
/// Rates of the hop, in bit/s.
const RATES: (u64, u64) = (10_000, 100_000_000_000);

/// When a volume begins again, in UTC.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Period {
    /// At midnight.
    #[default]
    Day,
    /// On the first of a month.
    Month,
}

/// A class of connections, at a terminal. The first one of the file that matches holds; a list that is empty matches all.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Class {
    /// Its name in logs, metrics and `status`: letters, digits, spaces and `._-`.
    pub name: String,
    /// Networks of clients.
    #[serde(default)]
    pub sources: Vec<Prefix>,
    /// Networks of servers; a server that the hub looks up by name is in none.
    #[serde(default)]
    pub destinations: Vec<Prefix>,
    /// Ports of servers.
    #[serde(default)]
    pub ports: Vec<Ports>,
    /// Code points (DSCP) of the client's first packet, 0 to 63.
    #[serde(default)]
    pub dscp: Vec<u8>,
    /// Parts of the tunnel's rate, among the classes that have something to send, 1 to 1000. Connections without a class have one part.
    #[serde(default = "one")]
    pub weight: u32,
    /// Up to this rate the class goes before all others, in each direction; floors together have at most seven eighths of the tunnel.
    pub floor: Option<Rate>,
    /// The class never gets more, in each direction.
    pub ceiling: Option<Rate>,
    /// Bytes of each client address in a period, both directions together.
    pub quota: Option<Size>,
    /// When they begin to count anew (UTC).
    #[serde(default)]
    pub period: Period,
    /// What a client address beyond its quota gets in each direction, until the period ends.
    pub over: Option<Rate>,
}

fn one() -> u32 {
    1
}

/// A volume, and what is left beyond it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Quota {
    pub bytes: u64,
    pub period: Period,
    pub over: Rate,
}

fn quota((quota, period, over): (Option<Size>, Period, Option<Rate>)) -> Option<Quota> {
    Some(Quota { bytes: quota?.as_bytes(), period, over: over? })
}

impl Class {
    /// Whether a connection belongs to it, if it belongs to none before.
    pub fn matches(&self, client: IpAddr, server: SocketAddr, dscp: u8) -> bool {
        let within =
            |list: &[Prefix], address| list.is_empty() || list.iter().any(|one| one.contains(address));
        let port = server.port();
        within(&self.sources, client)
            && within(&self.destinations, server.ip())
            && (self.ports.is_empty() || self.ports.iter().any(|ports| ports.contains(port)))
            && (self.dscp.is_empty() || self.dscp.contains(&dscp))
    }

    pub(crate) fn portion(&self) -> Portion {
        Portion { weight: self.weight, floor: self.floor, ceiling: self.ceiling }
    }

    pub(crate) fn quota(&self) -> Option<Quota> {
        quota((self.quota, self.period, self.over))
    }
}

/// A terminal's part of what its hub sends, and its volume: fields of `[[terminal]]`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Share {
    pub portion: Portion,
    pub quota: Option<Quota>,
}

impl Share {
    /// Something follows from it where total_rate is not divided.
    pub fn bounds(&self) -> bool {
        self.portion != Portion::default() || self.quota.is_some()
    }
}

/// What becomes of them over TCP.
pub(crate) const NOT_OVER_TCP: &str =
    "classes, shares and quotas do not hold there (the kernel decides what leaves)";

/// True if the file divides what the tunnel carries.
pub(crate) fn divides(config: &Config) -> bool {
    match config.mode {
        Mode::Split => false,
        Mode::Terminal => !config.class.is_empty(),
        Mode::Hub => {
            config.hop.as_ref().is_some_and(|hop| hop.total_rate.is_some())
                || config.terminal.iter().any(|terminal| terminal.share().bounds())
        }
    }
}

/// Why what a file divides cannot hold: its carrier is TCP alone.
pub fn without_effect(config: &Config) -> Option<String> {
    let tcp_alone = config.hop.as_ref().is_some_and(|hop| hop.carrier == Carrier::Tcp);
    (tcp_alone && divides(config))
        .then(|| format!("hop.carrier is \"tcp\": volumes are counted, {NOT_OVER_TCP}"))
}

impl crate::config::Terminal {
    pub(crate) fn share(&self) -> Share {
        Share {
            portion: Portion { weight: self.weight.unwrap_or(1), floor: self.floor, ceiling: self.ceiling },
            quota: quota((self.quota, self.period, self.over)),
        }
    }
}

/// What is wrong with an entry of a list of tables: which list, which entry, the key, and what would be right.
pub(crate) struct Complaint {
    pub table: &'static str,
    pub index: usize,
    pub key: &'static str,
    pub what: String,
}

/// Classes of a terminal's connections, or shares of a hub's terminals, a line each, as comments of a plan; nothing if there are none.
pub fn described(config: &Config) -> String {
    let mut text = String::new();
    for class in &config.class {
        let mut matched: Vec<String> = vec![];
        let mut list = |what: &str, all: Vec<String>| {
            if !all.is_empty() {
                matched.push(format!("{what} {}", all.join(", ")));
            }
        };
        let words = |all: &[Prefix]| all.iter().map(Prefix::to_string).collect();
        list("clients of", words(&class.sources));
        list("servers of", words(&class.destinations));
        list("ports", class.ports.iter().map(Ports::to_string).collect());
        list("DSCP", class.dscp.iter().map(u8::to_string).collect());
        let matched = if matched.is_empty() { "all connections".to_string() } else { matched.join("; ") };
        let has = of_share(class.portion(), class.quota(), " of each client address");
        text += &format!("# class \"{}\": {matched}: {has}\n", class.name);
    }
    if !text.is_empty() {
        text += "# the first class that matches holds; connections without one share 1 part\n";
    }
    for terminal in &config.terminal {
        let share = terminal.share();
        if share.bounds() {
            let Share { portion, quota } = share;
            text += &format!("# terminal \"{}\": {}\n", terminal.name, of_share(portion, quota, ""));
        }
    }
    text
}

fn of_share(Portion { weight, floor, ceiling }: Portion, quota: Option<Quota>, whose: &str) -> String {
    let mut words = vec![if weight == 1 { "1 part".to_string() } else { format!("{weight} parts") }];
    words.extend(floor.map(|rate| format!("before the others up to {rate}")));
    words.extend(ceiling.map(|rate| format!("never more than {rate}")));
    words.extend(quota.map(|Quota { bytes, period, over }| {
        let period = if period == Period::Day { "day" } else { "month" };
        format!("{over} beyond {}{whose} a {period}", Size::from_bytes(bytes))
    }));
    words.join(", ")
}

/// What is wrong with classes and shares.
pub(crate) fn check(config: &Config) -> Option<Complaint> {
    let complaint = |table, index, key, what| Some(Complaint { table, index, key, what });
    if config.mode != Mode::Terminal && !config.class.is_empty() {
        let what = match config.mode {
            Mode::Hub => {
                "classes belong into the terminal's file, and hold in both directions; a hub's [[terminal]] has weight, floor, \
                          ceiling and quota"
            }
            _ => "classes share the tunnel of two nodes (mode = \"terminal\"); one node has none",
        };
        return complaint("class", 0, "", what.into());
    }
    if config.class.len() > MOST {
        let what = format!("{} classes; there are at most {MOST}", config.class.len());
        return complaint("class", MOST, "", what);
    }
    for (index, class) in config.class.iter().enumerate() {
        let plain = |c: char| c.is_alphanumeric() || " ._-".contains(c);
        if class.name.is_empty() || class.name.len() > 64 || !class.name.chars().all(plain) {
            let what = format!("{:?} is no name: 1 to 64 letters, digits, spaces and \"._-\"", class.name);
            return complaint("class", index, "name", what);
        }
        if config.class[..index].iter().any(|other| other.name == class.name) {
            return complaint("class", index, "name", format!("two classes are named \"{}\"", class.name));
        }
        if let Some(dscp) = class.dscp.iter().find(|dscp| **dscp > 63) {
            return complaint("class", index, "dscp", format!("{dscp} is not from 0 to 63"));
        }
        let quota = (class.quota, class.over);
        if let Some((key, what)) = portion(&class.portion(), quota) {
            return complaint("class", index, key, what);
        }
    }
    let total = config.hop.as_ref().and_then(|hop| hop.total_rate);
    let mut floors = 0;
    for (index, terminal) in config.terminal.iter().enumerate() {
        let (share, quota) = (terminal.share(), (terminal.quota, terminal.over));
        if let Some((key, what)) = portion(&share.portion, quota) {
            return complaint("terminal", index, key, what);
        }
        let shares = [("weight", terminal.weight.is_some()), ("floor", terminal.floor.is_some())];
        if let (None, Some((key, _))) = (total, shares.iter().find(|(_, given)| *given)) {
            let what =
                "it divides hop.total_rate, what the hub sends to all terminals together; state that too";
            return complaint("terminal", index, key, what.into());
        }
        floors += terminal.floor.map_or(0, Rate::as_bps);
        if let Some(total) = total.filter(|total| floors > total.as_bps() / 8 * 7) {
            let floors = Rate::from_bps(floors);
            let what = format!(
                "with this one floors are {floors}, more than seven eighths of hop.total_rate, {total}"
            );
            return complaint("terminal", index, "floor", what);
        }
    }
    None
}

fn portion(portion: &Portion, (quota, over): (Option<Size>, Option<Rate>)) -> Option<(&'static str, String)> {
    if !(1..=1000).contains(&portion.weight) {
        return Some(("weight", format!("{} is not from 1 to 1000", portion.weight)));
    }
    for (key, rate) in [("floor", portion.floor), ("ceiling", portion.ceiling), ("over", over)] {
        if let Some(rate) = rate.filter(|rate| !(RATES.0..=RATES.1).contains(&rate.as_bps())) {
            let (least, most) = (Rate::from_bps(RATES.0), Rate::from_bps(RATES.1));
            return Some((key, format!("{rate} is not from {least} to {most}")));
        }
    }
    if let (Some(floor), Some(ceiling)) = (portion.floor, portion.ceiling) {
        if floor > ceiling {
            return Some(("floor", format!("{floor} is more than the ceiling, {ceiling}")));
        }
    }
    match (quota, over) {
        (Some(_), None) => {
            Some(("quota", "state `over` too: the rate beyond the quota, as in \"256 kbit/s\"".into()))
        }
        (None, Some(_)) => {
            Some(("over", "it is the rate beyond a `quota`; state that too, as in \"5 GB\"".into()))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use crate::class::described;
    use crate::load::parse;

    fn terminal(classes: &str) -> String {
        format!(
            "mode = \"terminal\"\n[intercept]\n[hop]\nhub = \"a:1\"\nkey = \"k\"\nhub_key = \"{}\"\n{classes}",
            "d8".repeat(32)
        )
    }

    #[test]
    fn the_first_class_that_matches_holds() {
        let text = terminal(
            "[[class]]\nname = \"voice\"\ndscp = [46]\n[[class]]\nname = \"shell\"\nports = [\"22\"]\n\
             [[class]]\nname = \"crew\"\nsources = [\"10.1.0.0/16\"]\ndestinations = [\"203.0.113.0/24\"]\n",
        );
        let config = parse(&text, "pep.toml").unwrap();
        let of = |client: &str, server: &str, dscp| {
            let (client, server) = (client.parse().unwrap(), server.parse().unwrap());
            config
                .class
                .iter()
                .find(|class| class.matches(client, server, dscp))
                .map(|class| class.name.as_str())
        };
        assert_eq!(of("10.1.0.9", "203.0.113.7:22", 46), Some("voice"));
        assert_eq!(of("10.1.0.9", "203.0.113.7:22", 0), Some("shell"));
        assert_eq!(of("10.1.0.9", "203.0.113.7:443", 0), Some("crew"));
        assert_eq!(of("::ffff:10.1.0.9", "203.0.113.7:443", 0), Some("crew"));
        assert_eq!(of("10.1.0.9", "198.51.100.7:443", 0), None);
        assert_eq!(of("10.2.0.9", "203.0.113.7:443", 0), None);
    }

    #[test]
    fn wrong_classes_are_named_with_their_line() {
        for (class, expected) in [
            (
                "floor = \"2 Mbit/s\"\nceiling = \"1 Mbit/s\"",
                "pep.toml:11: class.floor: 2 Mbit/s is more than the ceiling, 1",
            ),
            ("weight = 0", "pep.toml:11: class.weight: 0 is not from 1 to 1000"),
            ("dscp = [64]", "pep.toml:11: class.dscp: 64 is not from 0 to 63"),
            ("quota = \"5 GB\"", "pep.toml:11: class.quota: state `over` too"),
            ("over = \"1 Mbit/s\"", "pep.toml:11: class.over: it is the rate beyond a `quota`"),
            (
                "ceiling = \"1 kbit/s\"",
                "pep.toml:11: class.ceiling: 1 kbit/s is not from 10 kbit/s to 100 Gbit/s",
            ),
            ("period = \"week\"", "pep.toml:11: unknown variant `week`"),
            ("wieght = 2", "pep.toml:11: unknown field `wieght`"),
        ] {
            let text = terminal(&format!("[[class]]\nname = \"a\"\n[[class]]\nname = \"b\"\n{class}\n"));
            let found = parse(&text, "pep.toml").unwrap_err().to_string();
            assert!(found.contains(expected), "{found}");
        }
        let text = terminal("[[class]]\nname = \"a\"\n[[class]]\nname = \"a\"\n");
        let found = parse(&text, "pep.toml").unwrap_err().to_string();
        assert!(found.starts_with("pep.toml:10: class.name: two classes are named \"a\""), "{found}");
        let found =
            parse("mode = \"split\"\n[intercept]\n[[class]]\nname = \"a\"\n", "pep.toml").unwrap_err();
        assert!(
            found.to_string().starts_with("pep.toml:3: class: classes share the tunnel of two"),
            "{found}"
        );
    }

    #[test]
    fn a_plan_has_classes_and_shares_in_words() {
        let text = terminal(
            "[[class]]\nname = \"shell\"\nports = [\"22\"]\nfloor = \"500 kbit/s\"\n\
             [[class]]\nname = \"crew\"\nsources = [\"10.1.0.0/16\"]\ndscp = [8, 10]\nweight = 2\nceiling = \"20 Mbit/s\"\n\
             quota = \"5 GB\"\nperiod = \"month\"\nover = \"256 kbit/s\"\n[[class]]\nname = \"rest\"\n",
        );
        assert_eq!(
            described(&parse(&text, "pep.toml").unwrap()),
            "# class \"shell\": ports 22: 1 part, before the others up to 500 kbit/s\n\
             # class \"crew\": clients of 10.1.0.0/16; DSCP 8, 10: 2 parts, never more than 20 Mbit/s, 256 kbit/s beyond 5 GB of each \
             client address a month\n\
             # class \"rest\": all connections: 1 part\n\
             # the first class that matches holds; connections without one share 1 part\n"
        );
        assert_eq!(described(&parse(&terminal(""), "pep.toml").unwrap()), "");
    }

    #[test]
    fn wrong_shares_of_terminals_are_named_with_their_line() {
        let hub = |hop: &str, first: &str, second: &str| {
            let (one, two) = ("d8".repeat(32), "d9".repeat(32));
            let text = format!(
                "mode = \"hub\"\n[hop]\nlisten = \"0.0.0.0:1\"\nkey = \"k\"\n{hop}\n[[terminal]]\nname = \"a\"\nkey = \"{one}\"\n\
                 {first}\n[[terminal]]\nname = \"b\"\nkey = \"{two}\"\n{second}\n"
            );
            parse(&text, "hub.toml")
        };
        let total = "total_rate = \"16 Mbit/s\"";
        let found = hub("", "weight = 2", "").unwrap_err().to_string();
        assert!(found.starts_with("hub.toml:9: terminal.weight: it divides hop.total_rate"), "{found}");
        let floors = hub(total, "floor = \"10 Mbit/s\"", "floor = \"5 Mbit/s\"").unwrap_err().to_string();
        assert!(
            floors.starts_with("hub.toml:13: terminal.floor: with this one floors are 15 Mbit/s"),
            "{floors}"
        );
        let config =
            hub(total, "floor = \"10 Mbit/s\"\nweight = 3", "quota = \"9 GB\"\nover = \"1 Mbit/s\"").unwrap();
        assert_eq!(config.terminal[0].share().portion.weight, 3);
        assert_eq!(config.terminal[1].share().quota.unwrap().bytes, 9_000_000_000);
        assert!(hub("", "ceiling = \"1 Mbit/s\"", "").is_ok(), "a ceiling needs no rate of all");
    }
}
