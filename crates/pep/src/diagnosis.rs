//! What on this machine keeps openings that the table takes in from the listener. One place for the daemon's log and for
//! `doctor`: facts are gathered here, and [`causes`] draws the conclusions from them alone.

use crate::config::Intercept;
use crate::netlink::{self, Packet, Way};
use crate::{plan, system};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::Path;

/// Servers that are asked for where the configuration names none (RFC 5737, RFC 3849).
pub(crate) const EXAMPLES: [IpAddr; 2] =
    [IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1)), IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1))];
/// Addresses of a network that are tried until one is not this machine's.
const TRIED: u128 = 64;
/// Chains that are named at most.
const NAMED: usize = 3;

/// What is wrong.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Kind {
    Table,
    Rule,
    Route,
    InFront,
    Source,
    Bridge,
    Firewall,
}

impl Kind {
    /// All, each with what `doctor` reports if nothing is wrong.
    pub const ALL: [(Kind, &str); 7] = [
        (Kind::Table, "it is there"),
        (Kind::Rule, "they are there"),
        (Kind::Route, "it is there"),
        (Kind::InFront, "none takes intercepted packets away"),
        (Kind::Source, "the kernel takes clients' addresses"),
        (Kind::Bridge, "no bridge filters what is intercepted"),
        (Kind::Firewall, "no chain drops all that no rule names"),
    ];

    /// What was looked at.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Table => "table",
            Kind::Rule => "routing rules",
            Kind::Route => "local route",
            Kind::InFront => "rules in front",
            Kind::Source => "source addresses",
            Kind::Bridge => "bridge filter",
            Kind::Firewall => "firewall",
        }
    }
}

/// One cause, with what helps.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Cause {
    pub kind: Kind,
    pub text: String,
}

/// A family of addresses of the machine.
#[derive(Clone, Debug, Default)]
pub(crate) struct Family {
    /// `IPv4` or `IPv6`.
    pub name: &'static str,
    /// What `ip rule` prints.
    pub rules: String,
    /// What `ip route show table` prints of the node's table.
    pub routes: String,
    /// Marked packets that this machine sends do not come to itself: rule or route is missing.
    pub lost: bool,
    /// Interfaces at which marked packets of clients are not delivered.
    pub astray: Vec<String>,
}

/// Facts of this machine.
#[derive(Clone, Debug, Default)]
pub(crate) struct Facts {
    pub table: bool,
    pub families: Vec<Family>,
    /// Interfaces with `src_valid_mark`, and with a strict `rp_filter`.
    pub marks_sources: bool,
    pub strict: Vec<String>,
    /// Bridges whose packets come to the tables of IP.
    pub bridges: Vec<String>,
    /// What `nft -j list ruleset` prints.
    pub ruleset: Value,
    /// The older iptables has a table `filter` besides.
    pub legacy: bool,
}

/// True if table, rules and routes lead marked packets to the listener, as far as the kernel can be asked.
pub(crate) fn is_whole(intercept: &Intercept) -> bool {
    families().iter().all(|family| {
        let way = ways(intercept, family.0);
        !way.0 && way.1.is_empty()
    })
}

/// Families of addresses that this kernel has: argument of `ip`, and name.
pub(crate) fn families() -> &'static [(&'static str, &'static str)] {
    match Path::new("/proc/sys/net/ipv6").exists() {
        true => &[("-4", "IPv4"), ("-6", "IPv6")],
        false => &[("-4", "IPv4")],
    }
}

/// Where marked packets go: whether those of this machine are lost, and the interfaces of clients at which they are.
fn ways(intercept: &Intercept, family: &str) -> (bool, Vec<String>) {
    let v4 = family == "-4";
    let to = EXAMPLES[usize::from(!v4)];
    let here = |from, mark| netlink::route(Packet { to, from, mark }).is_ok_and(|way| way == Way::Here);
    if !here(None, intercept.divert_mark | intercept.client_mark) {
        return (true, vec![]);
    }
    let own = netlink::own_networks();
    let astray = |name: &&String| {
        let client = own
            .iter()
            .filter(|(interface, address, _)| {
                interface == *name && address.is_ipv4() == v4 && !netlink::is_of_link(*address)
            })
            .find_map(|(_, address, network)| {
                let candidates = (1..TRIED).map(|bits| changed(*address, bits));
                candidates
                    .filter(|other| {
                        network.contains(*other) && *other != network.first() && *other != network.last()
                    })
                    .find(|other| own.iter().all(|(_, address, _)| address != other))
            });
        let number = nix::net::if_::if_nametoindex(name.as_str()).ok();
        match (client, number, is_up(name)) {
            (Some(client), Some(number), true) => !here(Some((client, number)), intercept.divert_mark),
            _ => false,
        }
    };
    (false, intercept.interfaces.iter().filter(astray).cloned().collect())
}

fn changed(address: IpAddr, bits: u128) -> IpAddr {
    match address {
        IpAddr::V4(address) => IpAddr::V4((address.to_bits() ^ bits as u32).into()),
        IpAddr::V6(address) => IpAddr::V6((address.to_bits() ^ bits).into()),
    }
}

fn is_up(interface: &str) -> bool {
    read(&format!("/sys/class/net/{interface}/operstate")).is_some_and(|state| state != "down")
}

fn read(path: &str) -> Option<String> {
    std::fs::read_to_string(path).ok().map(|text| text.trim().to_string())
}

fn setting(path: &str) -> Option<String> {
    read(&format!("/proc/sys/net/{path}"))
}

/// Looks at the machine. It takes CAP_NET_ADMIN.
pub(crate) fn gather(intercept: &Intercept) -> Facts {
    let family = |(family, name): &(&str, &'static str)| {
        let (lost, astray) = ways(intercept, family);
        let printed = |arguments: String| system::ip(&arguments).unwrap_or_default();
        let rules = printed(format!("{family} rule"));
        let routes = printed(format!("{family} route show table {}", intercept.table));
        Family { name, rules, routes, lost, astray }
    };
    let on = |setting: Option<String>| setting.is_some_and(|value| value == "1");
    let of = |name: &str, what: &str| on(setting(&format!("ipv4/conf/{name}/{what}")));
    let named = || intercept.interfaces.iter();
    let filtered = ["bridge/bridge-nf-call-iptables", "bridge/bridge-nf-call-ip6tables"].map(setting).map(on);
    let ruleset = system::tool("nft", "nftables", &["-j", "list", "ruleset"], "").unwrap_or_default();
    Facts {
        table: matches!(netlink::counter(&plan::name(intercept), plan::TAKEN), Ok(Some(_))),
        families: families().iter().map(family).collect(),
        marks_sources: of("all", "src_valid_mark") || named().any(|name| of(name, "src_valid_mark")),
        strict: named().filter(|name| of("all", "rp_filter") || of(name, "rp_filter")).cloned().collect(),
        bridges: if filtered.contains(&true) { bridges(intercept) } else { vec![] },
        ruleset: serde_json::from_str(&ruleset).unwrap_or_default(),
        legacy: read("/proc/net/ip_tables_names")
            .is_some_and(|names| names.lines().any(|name| name == "filter")),
    }
}

/// Bridges at which clients come in.
fn bridges(intercept: &Intercept) -> Vec<String> {
    let folders = std::fs::read_dir("/sys/class/net").into_iter().flatten().flatten();
    let names = folders.filter_map(|folder| folder.file_name().into_string().ok());
    names
        .filter(|name| Path::new("/sys/class/net").join(name).join("bridge").exists())
        .filter(|name| intercept.interfaces.is_empty() || intercept.interfaces.contains(name))
        .collect()
}

/// Everything that is wrong. What only may be (a chain that could drop) comes last.
pub(crate) fn causes(intercept: &Intercept, facts: &Facts) -> Vec<Cause> {
    let mut all = vec![];
    let mut add = |kind, text: String| all.push(Cause { kind, text });
    if !facts.table {
        let text = format!(
            "nftables' table inet {} is gone: `nft flush ruleset` and a restart of nftables.service remove it",
            plan::name(intercept)
        );
        add(Kind::Table, text);
    }
    for family in &facts.families {
        misrouted(intercept, facts, family, &mut add);
    }
    if !facts.bridges.is_empty() {
        let text = format!(
            "packets of the bridge {} come to the tables of IP before they are routed, and lose the listener there; \
             sysctl -w net.bridge.bridge-nf-call-iptables=0 net.bridge.bridge-nf-call-ip6tables=0 (Docker sets both to 1)",
            facts.bridges.join(", ")
        );
        add(Kind::Bridge, text);
    }
    let chains = droppers(&facts.ruleset, &plan::name(intercept), intercept.divert_mark);
    let (sure, others): (Vec<_>, Vec<_>) = chains.into_iter().partition(|chain| chain.whole);
    let suspects: Vec<String> = sure.into_iter().chain(others).map(|chain| chain.name).take(NAMED).collect();
    let legacy = facts.legacy.then(|| "iptables-legacy's table filter".to_string());
    let suspects: Vec<String> = suspects.into_iter().chain(legacy).collect();
    if !suspects.is_empty() {
        let text = format!(
            "a firewall may drop them: {}; `longhaul-pep plan --firewall NAME` prints the rule that lets them in",
            suspects.join(", ")
        );
        add(Kind::Firewall, text);
    }
    all
}

/// Another program that uses the node's mark or routing table, from `ip rule` and `ip route show table`. A rule that only leads
/// marked packets to this machine has no other effect: a killed daemon with another table has left it. `holder` is the daemon
/// that has a table, `marks` are those that the node's packets have.
pub(crate) fn conflict(
    intercept: &Intercept,
    marks: &[u32],
    rules: &str,
    routes: impl Fn(&str) -> String,
    holder: impl Fn(u32) -> Option<i32>,
) -> Option<String> {
    let table = intercept.table;
    let local = |routes: &str| routes.lines().all(|route| route.starts_with("local default dev lo"));
    let foreign = routes(&table.to_string());
    if let Some(route) = foreign.lines().find(|route| !local(route)) {
        return Some(format!(
            "the routing table {table} has routes of another program (`{}`): set intercept.table to a number of its own",
            quoted(route)
        ));
    }
    let other = rules.lines().find_map(|rule| {
        let looked_up = rule.split("lookup ").nth(1)?.split_whitespace().next()?;
        let mark = marks.iter().find(|mark| matches_mark(rule, **mark))?;
        let living = looked_up.parse().ok().and_then(&holder).is_some();
        (looked_up != table.to_string() && (living || !local(&routes(looked_up)))).then_some((rule, mark))
    });
    let (rule, mark) = other?;
    Some(format!(
        "another program routes by the packet mark {mark:#x} (`{}`): set intercept.divert_mark, own_mark, client_mark and \
         confirm_mark to bits of their own",
        quoted(rule)
    ))
}

/// A line of `ip`, which has tabs, as a message has it.
fn quoted(line: &str) -> String {
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// True for a rule that takes packets with exactly this mark because of it.
fn matches_mark(rule: &str, mark: u32) -> bool {
    let Some(word) = rule.split("fwmark ").nth(1).and_then(|rest| rest.split_whitespace().next()) else {
        return false;
    };
    let number = |text: &str| u32::from_str_radix(text.trim_start_matches("0x"), 16).ok();
    let (value, mask) = word.split_once('/').unwrap_or((word, "0xffffffff"));
    match (number(value), number(mask)) {
        (Some(value), Some(mask)) => value != 0 && mark & mask == value,
        _ => false,
    }
}

/// Chains that drop whatever no rule names, and have no rule for the node's packets: for `doctor` before anything is lost.
pub(crate) fn closed_chains(intercept: &Intercept, facts: &Facts) -> Vec<String> {
    let chains = droppers(&facts.ruleset, &plan::name(intercept), intercept.divert_mark);
    chains.into_iter().filter(|chain| chain.whole).map(|chain| chain.name).collect()
}

fn misrouted(intercept: &Intercept, facts: &Facts, family: &Family, add: &mut impl FnMut(Kind, String)) {
    let Intercept { divert_mark: mark, table, .. } = intercept;
    let (name, mine) = (family.name, format!("fwmark {mark:#x} lookup {table}"));
    let masked = format!("fwmark {mark:#x}/{mark:#x} lookup {table}");
    let own = |line: &&str| line.trim_end().ends_with(&mine) || line.trim_end().ends_with(&masked);
    let ours = family.rules.lines().find(own);
    let local = |line: &&str| line.starts_with("local ");
    let foreign = family.routes.lines().find(|line| !line.starts_with("local default"));
    if !family.lost && family.astray.is_empty() {
        return;
    }
    let Some(ours) = ours else {
        let text = format!(
            "the routing rule of {name} is gone (`ip rule`): network managers and scripts remove rules that are not theirs"
        );
        return add(Kind::Rule, text);
    };
    if !family.routes.lines().any(|line| local(&line)) {
        let whose = foreign.map_or(String::new(), |route| {
            format!(
                "; another program uses the routing table {table} (`{}`): set intercept.table",
                quoted(route)
            )
        });
        return add(
            Kind::Route,
            format!("the local route of {name} is gone (`ip route show table {table}`){whose}"),
        );
    }
    let before = family.rules.lines().take_while(|line| *line != ours);
    let in_front: Vec<String> = before.filter(is_foreign).map(quoted).collect();
    let at =
        if family.astray.is_empty() { String::new() } else { format!(" at {}", family.astray.join(", ")) };
    if let Some(rule) = in_front.first() {
        let text = format!(
            "a routing rule in front of the node's takes intercepted packets of {name} away{at}: `{rule}`; give it a larger \
             number than {}",
            intercept.priority + 2
        );
        return add(Kind::InFront, text);
    }
    if facts.marks_sources && name == "IPv4" {
        let text = format!(
            "the kernel looks for the way back to clients by the packet's mark{at} (src_valid_mark = 1, which tailscale 1.98 and \
             wg-quick set) and finds this machine; sysctl -w net.ipv4.conf.all.src_valid_mark=0"
        );
        return add(Kind::Source, text);
    }
    let strict = if facts.strict.is_empty() { "" } else { "; rp_filter is strict there (rp_filter = 1)" };
    let text = format!(
        "the kernel does not deliver intercepted packets of {name}{at}: `ip route get` gives its reason{strict}"
    );
    add(Kind::Source, text);
}

/// True for a rule that is neither the kernel's for its own addresses nor one of the node's, which lead on only.
fn is_foreign(rule: &&str) -> bool {
    !(rule.ends_with("lookup local") || rule.trim_end().ends_with(" nop") || rule.contains(" goto "))
}

/// A base chain of another that can drop intercepted packets.
struct Dropper {
    /// As `nft list chain` takes it, with the reason.
    name: String,
    /// It drops whatever no rule names.
    whole: bool,
}

/// Chains at the hooks that intercepted packets pass, but the node's own, which drop or reject something and accept nothing by
/// the node's mark.
fn droppers(ruleset: &Value, own: &str, mark: u32) -> Vec<Dropper> {
    let items = || ruleset["nftables"].as_array().into_iter().flatten();
    let rules = |chain: &Value| -> Vec<&Value> {
        let same = |rule: &&Value| {
            ["family", "table"].iter().all(|key| rule[*key] == chain[*key]) && rule["chain"] == chain["name"]
        };
        items().filter_map(|item| item.get("rule")).filter(same).collect()
    };
    let chains = || items().filter_map(|item| item.get("chain"));
    let base = chains().filter(|chain| {
        ["input", "prerouting", "output"].iter().any(|hook| chain["hook"] == *hook)
            && ["ip", "ip6", "inet"].iter().any(|family| chain["family"] == *family)
            && chain["table"] != own
    });
    base.filter_map(|chain| {
        // With all chains that its rules lead to.
        let mut reached = vec![chain];
        let mut seen = 0;
        while let Some(next) = reached.get(seen).copied() {
            seen += 1;
            for target in rules(next).iter().flat_map(|rule| statements(rule)).filter_map(target) {
                let found = chains().find(|one| {
                    one["name"] == target
                        && one["table"] == chain["table"]
                        && one["family"] == chain["family"]
                });
                reached.extend(found.filter(|found| !reached.contains(found)));
            }
        }
        let all: Vec<&Value> = reached.iter().flat_map(|chain| rules(chain)).collect();
        if all.iter().any(|rule| accepts_mark(rule, mark)) {
            return None;
        }
        let closed = chain["policy"] == "drop";
        let last = all.iter().any(|rule| drops(rule) && !has_match(rule));
        let some = all.iter().any(|rule| drops(rule));
        let word = |key: &str| chain[key].as_str().unwrap_or("?").to_string();
        let reason = match (closed, last) {
            (true, _) => ", policy drop",
            (_, true) => ", which drops what no rule accepts",
            _ => "",
        };
        (closed || some).then(|| Dropper {
            name: format!("`nft list chain {} {} {}`{reason}", word("family"), word("table"), word("name")),
            whole: closed || last,
        })
    })
    .collect()
}

fn statements(rule: &Value) -> impl Iterator<Item = &Value> {
    rule["expr"].as_array().into_iter().flatten()
}

/// The chain that a statement leads to.
fn target(statement: &Value) -> Option<&str> {
    ["jump", "goto"].iter().find_map(|word| statement[*word]["target"].as_str())
}

fn drops(rule: &Value) -> bool {
    statements(rule).any(|one| one.get("drop").is_some() || one.get("reject").is_some())
}

fn has_match(rule: &Value) -> bool {
    statements(rule)
        .any(|one| ["match", "xt", "limit", "lookup", "vmap"].iter().any(|word| one.get(*word).is_some()))
}

/// True for a rule that accepts by a mark with one of these bits.
fn accepts_mark(rule: &Value, mark: u32) -> bool {
    let by_mark = |one: &Value| {
        let text = one["match"]["left"].to_string();
        let numbers = one["match"].to_string();
        (text.contains("\"mark\"") && numbers.contains(&mark.to_string())) || one["xt"]["name"] == "mark"
    };
    statements(rule).any(by_mark) && statements(rule).any(|one| one.get("accept").is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn healthy() -> Facts {
        let family = Family {
            name: "IPv4",
            rules: "0:\tfrom all lookup local\n1:\tfrom all fwmark 0x10000/0x50000 iif lo goto 3\n\
                    2:\tfrom all fwmark 0x10000/0x10000 lookup 7713\n3:\tfrom all nop\n32766:\tfrom all lookup main\n"
                .into(),
            routes: "local default dev lo proto kernel scope host\n".into(),
            ..Family::default()
        };
        Facts { table: true, families: vec![family], ..Facts::default() }
    }

    fn found(change: impl FnOnce(&mut Facts)) -> Vec<(Kind, String)> {
        let mut facts = healthy();
        change(&mut facts);
        causes(&Intercept::default(), &facts).into_iter().map(|cause| (cause.kind, cause.text)).collect()
    }

    #[test]
    fn a_healthy_machine_has_no_cause() {
        assert_eq!(found(|_| {}), []);
    }

    #[test]
    fn each_cause_is_named() {
        type Case = (Kind, &'static str, fn(&mut Facts));
        let cases: [Case; 7] = [
            (Kind::Table, "nft flush ruleset", |facts| facts.table = false),
            (Kind::Rule, "the routing rule of IPv4 is gone", |facts| {
                facts.families[0].lost = true;
                facts.families[0].rules = "0:\tfrom all lookup local\n32766:\tfrom all lookup main\n".into();
            }),
            (Kind::Route, "the local route of IPv4 is gone", |facts| {
                facts.families[0].lost = true;
                facts.families[0].routes.clear();
            }),
            (
                Kind::Route,
                "another program uses the routing table 7713 (`default via 10.0.0.1 dev wan`)",
                |facts| {
                    facts.families[0].lost = true;
                    facts.families[0].routes = "default via 10.0.0.1 dev wan\n".into();
                },
            ),
            (Kind::InFront, "at lan: `1: from 10.77.1.0/24 lookup 100`", |facts| {
                facts.families[0].astray = vec!["lan".into()];
                facts.families[0].rules = format!(
                    "0:\tfrom all lookup local\n1:\tfrom 10.77.1.0/24 lookup 100\n{}",
                    healthy().families[0].rules
                );
            }),
            (Kind::Source, "src_valid_mark = 1", |facts| {
                facts.families[0].astray = vec!["lan".into()];
                facts.marks_sources = true;
            }),
            (Kind::Bridge, "bridge br-lan", |facts| facts.bridges = vec!["br-lan".into()]),
        ];
        for (kind, words, change) in cases {
            let all = found(change);
            assert_eq!(all.len(), 1, "{kind:?}: {all:?}");
            assert!(all[0].0 == kind && all[0].1.contains(words), "{kind:?}: {all:?}");
        }
    }

    #[test]
    fn marks_and_tables_of_others_are_a_conflict() {
        let intercept = Intercept::default();
        let found = |rules: &str, routes: &'static str, living: bool| {
            conflict(
                &intercept,
                &[0x1_0000],
                rules,
                |table| if table == "7713" { String::new() } else { routes.into() },
                |_| living.then_some(7),
            )
        };
        let tailscale = "5210:\tfrom all fwmark 0x80000/0xff0000 lookup main\n";
        assert_eq!(found(tailscale, "default via 10.0.0.1 dev wan", false), None, "other bits");
        let vpn = "100:\tfrom all fwmark 0x10000/0xff0000 lookup vpn\n";
        assert!(
            found(vpn, "default dev wg0", false)
                .unwrap()
                .contains("`100: from all fwmark 0x10000/0xff0000 lookup vpn`")
        );
        let second = "2:\tfrom all fwmark 0x10000/0x10000 lookup 8000\n";
        assert!(found(second, "local default dev lo", true).is_some(), "another daemon");
        assert_eq!(found(second, "local default dev lo", false), None, "left by a killed one");
        let taken =
            conflict(&intercept, &[], "", |_| "default via 10.0.0.1 dev wan\n".into(), |_| None).unwrap();
        assert!(
            taken.contains("`default via 10.0.0.1 dev wan`") && taken.contains("intercept.table"),
            "{taken}"
        );
    }

    fn chain(policy: &str, rules: &[Value]) -> Value {
        let mut items =
            vec![serde_json::json!({ "chain": { "family": "inet", "table": "filter", "name": "input",
            "type": "filter", "hook": "input", "prio": 0, "policy": policy } })];
        items.extend(rules.iter().map(|expr| {
            serde_json::json!({ "rule": { "family": "inet", "table": "filter", "chain": "input", "expr": expr } })
        }));
        serde_json::json!({ "nftables": items })
    }

    #[test]
    fn chains_that_drop_are_found_unless_they_accept_the_mark() {
        let names = |ruleset: &Value| {
            droppers(ruleset, "longhaul_pep", 0x1_0000)
                .iter()
                .map(|one| (one.name.clone(), one.whole))
                .collect::<Vec<_>>()
        };
        let closed = chain("drop", &[]);
        assert_eq!(names(&closed), [("`nft list chain inet filter input`, policy drop".to_string(), true)]);
        let by_mark = serde_json::json!([
            { "match": { "op": "!=", "left": { "&": [{ "meta": { "key": "mark" } }, 65536] }, "right": 0 } },
            { "accept": null }
        ]);
        assert_eq!(names(&chain("drop", &[by_mark])), []);
        let telnet = serde_json::json!([
            { "match": { "op": "==", "left": { "payload": { "protocol": "tcp", "field": "dport" } }, "right": 23 } },
            { "drop": null }
        ]);
        assert!(!names(&chain("accept", std::slice::from_ref(&telnet)))[0].1, "it drops something only");
        let rest = serde_json::json!([{ "counter": null }, { "reject": null }]);
        assert!(names(&chain("accept", &[telnet, rest]))[0].1, "and now all that is left");
        assert_eq!(names(&chain("accept", &[])), []);
    }
}
