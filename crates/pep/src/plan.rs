//! What is done to this machine's network so that connections come in: one nftables table, a rule and a route for each
//! family. Pure text: [`crate::system`] runs it, `longhaul-pep plan` prints it.
//!
//! Only the opening of a connection (SYN) is taken to the listener, so connections that exist already pass on. Packets of
//! intercepted connections are found by their socket, and so are ICMP's reports about them ("packet too big", "host
//! unreachable"), whose addressee is the client or the server. Without a listener the rule does not match (nf_tproxy), and
//! everything passes untouched.
//!
//! An opening that was taken in and not answered passes untouched when the client repeats it, a second later: the table keeps its
//! addresses and ports from the one to the other ("asked"), and counts both. So whatever keeps openings from the listener costs a
//! client a second, and the daemon sees it (`passage`).

use crate::config::{Intercept, Limits};
use crate::prefix::{Ports, Prefix};
use crate::room::{FIRST, Grant};
use serde::{Deserialize, Serialize};
use std::fmt::Display;

/// Number of the routing table of an installation that configures none.
const USUAL_TABLE: u32 = 7713;
/// Counters of openings that were taken in, and of those that were answered.
pub(crate) const TAKEN: &str = "taken";
pub(crate) const ANSWERED: &str = "answered";

/// Before connection tracking (-200), after the reassembly of fragments (-400).
const BEFORE_TRACKING: i32 = -310;
/// After the translation of addresses (-100): what servers send to a translated address is found by its true one.
const BEHIND_NAT: i32 = -90;
/// After every filter.
const LAST: i32 = i32::MAX;
/// A client that repeats an opening does so after 1, 3 and 7 s (RFC 6298, tcp_syn_retries).
const REPEATS: &str = "10s";
/// A client whose opening was not answered passes untouched for so long.
const UNANSWERED_ALONE: &str = "60s";

/// Which new connections are taken in.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Gate {
    /// Those of the configuration.
    Open,
    /// One of them, to see whether it is answered; the others pass untouched.
    Trial,
    /// None: all pass untouched.
    Shut,
}

/// What a terminal leaves alone since it is not behind its hub. Empty: nothing for this reason.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Around {
    /// Interfaces by which this machine reaches its hubs; servers that are routed by others are left alone.
    pub towards_hubs: Vec<String>,
    /// Networks of this machine's own interfaces.
    pub connected: Vec<Prefix>,
}

/// Name of the nftables table, of the family inet; no other is ever touched. Each routing table has one of its own, so that a second
/// daemon with ports, marks and a table of its own does not replace the first one's.
pub fn name(intercept: &Intercept) -> String {
    match intercept.table {
        USUAL_TABLE => "longhaul_pep".into(),
        other => format!("longhaul_pep_{other}"),
    }
}

/// Commands for `nft -f -` that install the table in one transaction, in the place of an older one.
pub fn install(begin: Gate, intercept: &Intercept, limits: &Limits, around: &Around) -> String {
    let Intercept { divert_mark: divert, client_mark: client, confirm_mark: confirm, .. } = intercept;
    let (apart, table) = (apart(intercept), name(intercept));
    let mut text = format!(
        "table inet {table}\n\
         delete table inet {table}\n\
         table inet {table} {{\n\
         \tcounter {TAKEN} {{ }}\n\
         \tcounter {ANSWERED} {{ }}\n"
    );
    for (name, kind, list) in sets(intercept, around) {
        text += &format!("\tset {name} {{ type {kind}; flags interval; elements = {{ {list} }}; }}\n");
    }
    for (suffix, kind) in [("4", "ipv4_addr"), ("6", "ipv6_addr")] {
        text += &format!(
            "\tset alone{suffix} {{ type {kind}; flags dynamic,timeout; size 65536; }}\n\
             \tset asked{suffix} {{ type {kind} . inet_service . {kind} . inet_service; flags dynamic,timeout; \
             timeout {REPEATS}; size 65536; }}\n"
        );
    }
    text += "\tchain take {\n";
    for rule in taking(intercept) {
        text += &format!("\t\t{rule}\n");
    }
    text += &format!("\t}}\n\tchain room {{\n\t\t{}\n\t}}\n", granted(limits.flows.min(FIRST)));
    text += "\tchain admit {\n";
    text += &admission(begin, intercept, limits, around, "\t\t");
    text += "\t}\n";
    // Packets to a client's side of a connection. A socket that is still being opened, or has ended, has no mark to be found by:
    // `socket mark` matches no value of it, so what is left after the second rule belongs to one.
    text += &format!(
        "\tchain clients {{\n\t\tsocket mark & {client:#x} != 0 {apart} return\n\t\tsocket mark != 0xffffffff return\n"
    );
    for rule in selection(intercept, around).into_iter().chain([apart.to_string()]) {
        text += &format!("\t\t{rule}\n");
    }
    text += "\t}\n";
    text += &format!(
        "\tchain openings {{\n\t\ttype filter hook prerouting priority {BEFORE_TRACKING}; policy accept;\n\
         \t\tmeta l4proto 6 socket transparent 1 jump clients\n"
    );
    if !intercept.confirm.is_empty() {
        // What the daemon sends again once the server has accepted.
        let again = format!("meta iif lo meta mark & {client:#x} != 0 tcp flags & (syn | ack) == syn ");
        for family in FAMILIES {
            let rule = to_listener(intercept, family, &again, (intercept.port, *divert), "counter");
            text += &format!("\t\t{rule}\n");
        }
    }
    // TCP, ICMP and ICMPv6 as numbers: nft looks the last one's name up in /etc/protocols, which a minimal Debian lacks.
    text += &format!(
        "\t\tmeta l4proto 6 tcp flags & (fin | syn | rst | ack) == syn jump admit\n\
         \t}}\n\
         \tchain divert {{\n\
         \t\ttype filter hook prerouting priority {BEHIND_NAT}; policy accept;\n\
         \t\tmeta l4proto {{ 6, 1, 58 }} socket transparent 1 meta mark set meta mark | {divert:#x}\n\
         \t}}\n\
         \tchain output {{\n\
         \t\ttype filter hook output priority {BEFORE_TRACKING}; policy accept;\n\
         \t\tmeta mark & {client:#x} != 0 {apart}\n\
         \t}}\n"
    );
    text += &answers(*confirm);
    text + "}\n"
}

/// Chains that see what becomes of an opening: this machine's answer, or, at ports to confirm, that it has come to its socket.
/// What refuses an unanswered one is no answer of a server (a firewall's reject): without it the client repeats the opening,
/// which then passes.
fn answers(confirm: u32) -> String {
    let mut text = format!(
        "\tchain arrivals {{\n\
         \t\ttype filter hook input priority {LAST}; policy accept;\n\
         \t\tmeta mark & {confirm:#x} != 0 tcp flags & (fin | syn | rst | ack) == syn counter name \"{ANSWERED}\"\n\
         \t}}\n\
         \tchain answers {{\n\
         \t\ttype filter hook output priority {LAST}; policy accept;\n"
    );
    for (family, suffix) in [("ip", "4"), ("ip6", "6")] {
        let asked = format!("{family} daddr . tcp dport . {family} saddr . tcp sport");
        text += &format!(
            "\t\ttcp flags & (fin | syn | rst | ack) == (syn | ack) {asked} @asked{suffix} counter name \"{ANSWERED}\" \
             delete @asked{suffix} {{ {asked} }}\n\
             \t\ttcp flags & rst == rst {asked} @asked{suffix} drop\n"
        );
    }
    text + "\t}\n"
}

/// Commands that open or shut the gate.
pub fn gate(gate: Gate, intercept: &Intercept, limits: &Limits, around: &Around) -> String {
    let table = name(intercept);
    let mut text = format!("flush chain inet {table} admit\n");
    // An opening that was lost and is repeated on trial passes; with the gate open again, it is taken in.
    let forgotten: &[&str] = match gate {
        Gate::Open => &["alone4", "alone6", "asked4", "asked6"],
        Gate::Trial => &["alone4", "alone6"],
        Gate::Shut => &[],
    };
    for set in forgotten {
        text += &format!("flush set inet {table} {set}\n");
    }
    text + &admission(gate, intercept, limits, around, &format!("add rule inet {table} admit "))
}

/// Commands that change how many openings the kernel takes in; others pass untouched.
pub(crate) fn room(intercept: &Intercept, grant: Grant) -> String {
    let table = name(intercept);
    let (mut text, openings) = match grant {
        Grant::Anew(openings) => (format!("flush chain inet {table} room\n"), openings),
        Grant::More(openings) => (String::new(), openings),
    };
    if openings > 0 {
        text += &format!("add rule inet {table} room {}\n", granted(openings));
    }
    text
}

/// The rule for so many openings. Some are given back with time, since not all that are taken in become connections.
fn granted(openings: usize) -> String {
    format!("limit rate {}/second burst {openings} packets goto take", openings.div_ceil(64))
}

/// Commands that let new connections of one client pass untouched for some seconds.
pub fn leave_alone(intercept: &Intercept, client: std::net::IpAddr, seconds: u64) -> String {
    let set = if client.is_ipv4() { "alone4" } else { "alone6" };
    format!("add element inet {} {set} {{ {client} timeout {seconds}s }}\n", name(intercept))
}

/// Commands that remove the table.
pub fn remove(intercept: &Intercept) -> String {
    format!("delete table inet {}\n", name(intercept))
}

/// Routing rules that deliver marked packets to sockets of this machine, of either family, as `ip rule add` and `ip rule
/// del` take them. With `src_valid_mark = 1`, and in firewalld's `IPv6_rpfilter`, the way back to a packet's sender is
/// looked up by the packet's mark, and by the second rule it would be this machine (a martian). That lookup alone has loopback as
/// its interface, so the first rule leads it on to the third; what this node itself sends by its mark again has the clients' bit
/// too.
pub fn rules(intercept: &Intercept) -> [String; 3] {
    let Intercept { divert_mark: mark, client_mark: client, table, priority, .. } = intercept;
    let behind = priority + 2;
    [
        format!("pref {behind} nop"),
        format!("pref {} fwmark {mark:#x}/{mark:#x} lookup {table}", priority + 1),
        format!("pref {priority} iif lo fwmark {mark:#x}/{:#x} goto {behind}", mark | client),
    ]
}

/// Arguments of `ip` that install [`rules`] and their route. Both have the protocol that network managers leave alone:
/// systemd-networkd removes every other rule that is not its own (systemd/systemd#19106).
pub fn routes(intercept: &Intercept, family: &str) -> Vec<String> {
    let all = if family == "-4" { "0.0.0.0/0" } else { "::/0" };
    let mut commands =
        vec![format!("{family} route replace local {all} dev lo table {} proto kernel", intercept.table)];
    let add = |rule| format!("{family} rule add {rule} protocol kernel");
    commands.extend(rules(intercept).map(add));
    commands
}

/// Arguments of `ip` that take [`routes`] back. The rule for the table is removed whatever its number is: an earlier
/// configuration, or version, may have left it.
pub fn unroutes(intercept: &Intercept, family: &str) -> Vec<String> {
    let del = |rule: String| {
        let what =
            rule.find("fwmark").filter(|_| rule.contains(" lookup ")).map_or(rule.as_str(), |at| &rule[at..]);
        format!("{family} rule del {what}")
    };
    let mut commands: Vec<String> = rules(intercept).into_iter().rev().map(del).collect();
    commands.push(format!("{family} route flush table {}", intercept.table));
    commands
}

/// Everything, as one would type it.
pub fn printed(intercept: &Intercept, limits: &Limits, around: &Around) -> String {
    let ip = |lines: Vec<String>| lines.iter().map(|line| format!("ip {line}\n")).collect::<String>();
    let mut text = String::from("# at the start, with the listener open\n");
    text += &ip(routes(intercept, "-4"));
    text += &ip(routes(intercept, "-6"));
    text += &format!("nft -f - <<'END'\n{}END\n", install(Gate::Open, intercept, limits, around));
    text += "\n# while full or in bypass\n";
    text += &format!("nft -f - <<'END'\n{}END\n", gate(Gate::Shut, intercept, limits, around));
    text += "\n# after openings were not answered: one, to see whether it is\n";
    text += &format!("nft -f - <<'END'\n{}END\n", gate(Gate::Trial, intercept, limits, around));
    text += "\n# for ten seconds, if one client has all the connections that it may have\n";
    let example = std::net::IpAddr::from([192, 0, 2, 1]);
    text += &format!("nft -f - <<'END'\n{}END\n", leave_alone(intercept, example, 10));
    text += "\n# at the stop\n";
    text += &format!("nft {}", remove(intercept));
    text += &ip(unroutes(intercept, "-4"));
    text += &ip(unroutes(intercept, "-6"));
    text
}

fn list<T: Display>(items: impl IntoIterator<Item = T>) -> String {
    items.into_iter().map(|item| item.to_string()).collect::<Vec<_>>().join(", ")
}

/// Ranges as nftables takes them: sorted and without overlap.
fn merged(ports: &[Ports]) -> Vec<Ports> {
    let mut ports = ports.to_vec();
    ports.sort();
    let mut merged: Vec<Ports> = vec![];
    for range in ports {
        match merged.last_mut() {
            Some(last) if u32::from(range.first) <= u32::from(last.last) + 1 => {
                last.last = last.last.max(range.last)
            }
            _ => merged.push(range),
        }
    }
    merged
}

/// Networks without those inside others.
fn outermost(prefixes: &[Prefix], v4: bool) -> Vec<Prefix> {
    let mut sorted: Vec<Prefix> = prefixes.iter().filter(|prefix| prefix.is_v4() == v4).copied().collect();
    sorted.sort();
    let mut kept: Vec<Prefix> = vec![];
    for prefix in sorted {
        if !kept.iter().any(|other| other.overlaps(&prefix)) {
            kept.push(prefix);
        }
    }
    kept
}

/// Named sets: name, type and elements.
fn sets(intercept: &Intercept, around: &Around) -> Vec<(String, &'static str, String)> {
    let mut sets = vec![];
    let lists = [
        ("sources", &intercept.sources),
        ("except_sources", &intercept.except_sources),
        ("destinations", &intercept.destinations),
        ("except_destinations", &intercept.except_destinations),
        ("connected", &around.connected),
    ];
    for (name, prefixes) in lists {
        for (suffix, kind, v4) in [("4", "ipv4_addr", true), ("6", "ipv6_addr", false)] {
            let inside = outermost(prefixes, v4);
            if !inside.is_empty() {
                sets.push((format!("{name}{suffix}"), kind, list(inside)));
            }
        }
    }
    sets
}

/// What keeps the client's side of a connection apart from the server's in connection tracking. Both have the same addresses and ports
/// if the client's are kept; as one entry, the server's side would leave without the translation that this machine may have for it.
fn apart(intercept: &Intercept) -> String {
    if intercept.untracked { "notrack".into() } else { format!("ct zone set {}", intercept.table & 0xffff) }
}

/// IPv4 and IPv6: the protocol, its word in rules, the listeners' address, and the end of the sets' names.
const FAMILIES: [(&str, &str, &str, &str); 2] =
    [("ipv4", "ip", "127.0.0.1", "4"), ("ipv6", "ip6", "[::1]", "6")];

/// A rule that takes what matches to a listener on loopback, with these bits in the mark.
fn to_listener(
    intercept: &Intercept,
    (protocol, family, address, _): (&str, &str, &str, &str),
    what: &str,
    (port, mark): (u16, u32),
    count: &str,
) -> String {
    let apart = apart(intercept);
    format!(
        "meta nfproto {protocol} {what}tproxy {family} to {address}:{port} {apart} \
         meta mark set meta mark | {mark:#x} {count} accept"
    )
}

/// Rules that leave the chain with packets of clients that are not selected.
fn selection(intercept: &Intercept, around: &Around) -> Vec<String> {
    let mut rules = vec!["fib daddr type { local, broadcast, multicast } return".to_string()];
    if intercept.interfaces.is_empty() {
        rules.push("meta iif lo return".into());
    } else {
        let names = intercept.interfaces.iter().map(|name| format!("\"{name}\""));
        rules.push(format!("meta iifname != {{ {} }} return", list(names)));
    }
    if !around.towards_hubs.is_empty() {
        let names = around.towards_hubs.iter().map(|name| format!("\"{name}\""));
        rules.push(format!("fib daddr oif != {{ {} }} return", list(names)));
    }
    rules.push(format!("tcp dport != {{ {} }} return", list(merged(&intercept.ports))));
    if !intercept.except_ports.is_empty() {
        rules.push(format!("tcp dport {{ {} }} return", list(merged(&intercept.except_ports))));
    }
    let lists = [
        (&intercept.sources, "saddr", "!= ", "sources"),
        (&intercept.except_sources, "saddr", "", "except_sources"),
        (&intercept.destinations, "daddr", "!= ", "destinations"),
        (&intercept.except_destinations, "daddr", "", "except_destinations"),
        (&around.connected, "daddr", "", "connected"),
    ];
    for (prefixes, side, negated, name) in lists {
        for (family, suffix, v4) in [("ip", "4", true), ("ip6", "6", false)] {
            if prefixes.iter().any(|prefix| prefix.is_v4() == v4) {
                rules.push(format!("{family} {side} {negated}@{name}{suffix} return"));
            } else if !negated.is_empty() && !prefixes.is_empty() {
                // Only the other family is listed.
                rules.push(format!("meta nfproto {} return", if v4 { "ipv4" } else { "ipv6" }));
            }
        }
    }
    rules
}

/// Rules for the opening of a connection, each after `begin`.
fn admission(gate: Gate, intercept: &Intercept, limits: &Limits, around: &Around, begin: &str) -> String {
    if gate == Gate::Shut {
        return String::new();
    }
    let mut rules = selection(intercept, around);
    let asked = |family: &str| format!("{family} saddr . tcp sport . {family} daddr . tcp dport");
    for (_, family, _, suffix) in FAMILIES {
        rules.push(format!("{family} saddr @alone{suffix} return"));
        // The first one was not answered.
        rules.push(format!(
            "{} @asked{suffix} update @alone{suffix} {{ {family} saddr timeout {UNANSWERED_ALONE} }} return",
            asked(family)
        ));
    }
    let rate = limits.new_per_second;
    rules.push(format!("limit rate over {rate}/second burst {} packets return", rate.max(5)));
    if gate == Gate::Trial {
        rules.push("limit rate over 1/hour burst 1 packets return".into());
    }
    rules.push("goto room".into());
    rules.iter().map(|rule| format!("{begin}{rule}\n")).collect()
}

/// Rules that take openings to the listeners.
fn taking(intercept: &Intercept) -> Vec<String> {
    let asked = |family: &str| format!("{family} saddr . tcp sport . {family} daddr . tcp dport");
    let taken = format!("counter name \"{TAKEN}\"");
    let mut rules = vec![];
    if !intercept.confirm.is_empty() {
        // The client's copies are taken in too: the answer comes when the server has answered.
        let ports = format!("tcp dport {{ {} }} ", list(merged(&intercept.confirm)));
        let to = (intercept.confirm_port, intercept.divert_mark | intercept.confirm_mark);
        rules.extend(FAMILIES.map(|family| to_listener(intercept, family, &ports, to, &taken)));
    }
    for family in FAMILIES {
        // Before the listener: a packet that has a socket and then leaves the rule would not be forwarded (ip_forward).
        let all = format!("meta l4proto 6 add @asked{} {{ {} }} ", family.3, asked(family.1));
        let to = (intercept.port, intercept.divert_mark);
        rules.push(to_listener(intercept, family, &all, to, &taken));
    }
    rules
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_openings_reach_the_listener() {
        let text = install(Gate::Open, &Intercept::default(), &Limits::default(), &Around::default());
        assert!(text.contains("tcp flags & (fin | syn | rst | ack) == syn jump admit"));
        assert!(text.contains("fib daddr type { local, broadcast, multicast } return"));
        assert!(text.contains("tcp dport { 22 } return"));
        assert_eq!(text.matches("tproxy").count(), 2, "one for each family");
    }

    #[test]
    fn a_shut_gate_has_no_rule() {
        let text = gate(Gate::Shut, &Intercept::default(), &Limits::default(), &Around::default());
        assert_eq!(text, "flush chain inet longhaul_pep admit\n");
        assert!(
            gate(Gate::Open, &Intercept::default(), &Limits::default(), &Around::default())
                .ends_with("add rule inet longhaul_pep admit goto room\n")
        );
    }

    /// The only protocol that nft's grammar knows by the name that /etc/protocols has, and that is used here.
    #[test]
    fn no_name_of_a_protocol_has_to_be_looked_up() {
        let text = printed(
            &Intercept { untracked: true, ..Default::default() },
            &Limits::default(),
            &Around::default(),
        );
        let after: Vec<_> = text.split("l4proto ").skip(1).collect();
        assert!(after.len() >= 3, "{text}");
        for rule in after {
            let protocol =
                rule.strip_prefix("{ ").map_or_else(|| rule.split(' ').next(), |set| set.split(" }").next());
            for one in protocol.unwrap().split(", ") {
                assert!(one == "tcp" || one.parse::<u8>().is_ok(), "{one} in {rule}");
            }
        }
    }

    #[test]
    fn no_table_but_the_own_is_named() {
        let text = printed(&Intercept::default(), &Limits::default(), &Around::default());
        for line in text.lines().filter(|line| line.contains("table inet")) {
            assert!(line.contains("inet longhaul_pep"), "{line}");
        }
        assert!(!text.contains("flush ruleset"));
    }

    #[test]
    fn each_routing_table_has_a_table_of_rules_of_its_own() {
        let other = Intercept { table: 8000, ..Default::default() };
        let text = printed(&other, &Limits::default(), &Around::default());
        assert!(text.contains("table inet longhaul_pep_8000 {"));
        assert!(!text.replace("longhaul_pep_8000", "").contains("longhaul_pep"), "no other is named");
    }

    /// Rules of network managers, of mwan3, netbird and Terway begin at 100 and more (`docs/accelerator.md`).
    #[test]
    fn rules_stand_before_those_of_others_and_are_the_kernels() {
        let text = routes(&Intercept::default(), "-4").join("\n");
        assert!(
            text.contains("rule add pref 2 fwmark 0x10000/0x10000 lookup 7713 protocol kernel"),
            "{text}"
        );
        assert!(text.contains("dev lo table 7713 proto kernel"), "{text}");
    }

    #[test]
    fn what_is_not_behind_the_hub_is_left_alone() {
        let around =
            Around { towards_hubs: vec!["sat".into()], connected: vec!["10.77.9.0/24".parse().unwrap()] };
        let text = install(Gate::Open, &Intercept::default(), &Limits::default(), &around);
        assert!(
            text.contains("set connected4 { type ipv4_addr; flags interval; elements = { 10.77.9.0/24 }; }"),
            "{text}"
        );
        assert!(
            text.contains("fib daddr oif != { \"sat\" } return")
                && text.contains("ip daddr @connected4 return")
        );
        let all = install(Gate::Open, &Intercept::default(), &Limits::default(), &Around::default());
        assert!(!all.contains("fib daddr oif") && !all.contains("connected"));
    }

    #[test]
    fn a_rule_of_another_number_is_taken_back_too() {
        let text = unroutes(&Intercept::default(), "-4").join("\n");
        assert!(text.contains("-4 rule del fwmark 0x10000/0x10000 lookup 7713"), "{text}");
        assert!(text.contains("-4 rule del pref 3 nop"), "{text}");
    }

    #[test]
    fn a_trial_takes_one_opening() {
        let (intercept, limits) = (Intercept::default(), Limits::default());
        let text = gate(Gate::Trial, &intercept, &limits, &Around::default());
        assert!(text.contains("limit rate over 1/hour burst 1 packets return"));
        assert!(!gate(Gate::Open, &intercept, &limits, &Around::default()).contains("1/hour"));
    }

    #[test]
    fn overlapping_lists_are_merged() {
        let ports = ["80-90", "443", "85-100", "101"].map(|text| text.parse().unwrap());
        assert_eq!(list(merged(&ports)), "80-101, 443");
        let nets = ["10.1.0.0/16", "10.0.0.0/8", "2001:db8::/32"].map(|text| text.parse().unwrap());
        assert_eq!(list(outermost(&nets, true)), "10.0.0.0/8");
    }

    #[test]
    fn a_list_of_one_family_excludes_the_other() {
        let intercept = Intercept { sources: vec!["10.0.0.0/8".parse().unwrap()], ..Default::default() };
        let text = install(Gate::Open, &intercept, &Limits::default(), &Around::default());
        assert!(text.contains("ip saddr != @sources4 return") && text.contains("meta nfproto ipv6 return"));
    }
}
