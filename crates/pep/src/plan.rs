//! What is done to this machine's network so that connections come in: one nftables table, a rule and a route for each
//! family. Pure text: [`crate::system`] runs it, `longhaul-pep plan` prints it.
//!
//! Only the opening of a connection (SYN) is taken to the listener, so connections that exist already pass on. Packets of
//! intercepted connections are found by their socket, and so are ICMP's reports about them ("packet too big", "host
//! unreachable"), whose addressee is the client or the server. Without a listener the rule does not match (nf_tproxy), and
//! everything passes untouched.

use crate::config::{Intercept, Limits};
use crate::prefix::{Ports, Prefix};
use crate::room::FIRST;
use serde::{Deserialize, Serialize};
use std::fmt::Display;

/// Name of the table; no other is ever touched.
pub const TABLE: &str = "longhaul_pep";

/// Before connection tracking (-200), after the reassembly of fragments (-400).
const BEFORE_TRACKING: i32 = -310;
/// After the translation of addresses (-100): what servers send to a translated address is found by its true one.
const BEHIND_NAT: i32 = -90;

/// Which new connections are taken in.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Gate {
    /// Those of the configuration.
    Open,
    /// None: all pass untouched.
    Shut,
}

/// Commands for `nft -f -` that install the table in one transaction, in the place of an older one.
pub fn install(begin: Gate, intercept: &Intercept, limits: &Limits) -> String {
    let Intercept { divert_mark: divert, client_mark: client, .. } = intercept;
    let apart = apart(intercept);
    let mut text = format!(
        "table inet {TABLE}\n\
         delete table inet {TABLE}\n\
         table inet {TABLE} {{\n"
    );
    for (name, kind, list) in sets(intercept) {
        text += &format!("\tset {name} {{ type {kind}; flags interval; elements = {{ {list} }}; }}\n");
    }
    text += "\tset full4 { type ipv4_addr; flags timeout; size 65536; }\n\
             \tset full6 { type ipv6_addr; flags timeout; size 65536; }\n";
    text += "\tchain take {\n";
    for rule in taking(intercept) {
        text += &format!("\t\t{rule}\n");
    }
    text += &format!("\t}}\n\tchain room {{\n\t\t{}\n\t}}\n", granted(limits.flows.min(FIRST)));
    text += "\tchain admit {\n";
    if begin == Gate::Open {
        text += &admission(intercept, limits, "\t\t");
    }
    text += "\t}\n";
    // Packets to a client's side of a connection. A socket that is still being opened, or has ended, has no mark to be found by:
    // `socket mark` matches no value of it, so what is left after the second rule belongs to one.
    text += &format!(
        "\tchain clients {{\n\t\tsocket mark & {client:#x} != 0 {apart} return\n\t\tsocket mark != 0xffffffff return\n"
    );
    for rule in selection(intercept).into_iter().chain([apart.to_string()]) {
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
        for rule in to_listener(intercept, &again, intercept.port, *divert) {
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
    text + "}\n"
}

/// Commands that open or shut the gate.
pub fn gate(gate: Gate, intercept: &Intercept, limits: &Limits) -> String {
    let mut text = format!("flush chain inet {TABLE} admit\n");
    if gate == Gate::Open {
        text += &admission(intercept, limits, &format!("add rule inet {TABLE} admit "));
    }
    text
}

/// Commands that let the kernel take in so many openings from now on; others pass untouched.
pub fn room(openings: usize) -> String {
    let mut text = format!("flush chain inet {TABLE} room\n");
    if openings > 0 {
        text += &format!("add rule inet {TABLE} room {}\n", granted(openings));
    }
    text
}

/// The rule for so many openings. Some are given back with time, since not all that are taken in become connections.
fn granted(openings: usize) -> String {
    format!("limit rate {}/second burst {openings} packets goto take", openings.div_ceil(64))
}

/// Commands that let new connections of one client pass untouched for some seconds.
pub fn leave_alone(client: std::net::IpAddr, seconds: u64) -> String {
    let set = if client.is_ipv4() { "full4" } else { "full6" };
    format!("add element inet {TABLE} {set} {{ {client} timeout {seconds}s }}\n")
}

/// Commands that remove the table.
pub fn remove() -> String {
    format!("delete table inet {TABLE}\n")
}

/// Arguments of `ip` that deliver marked packets to sockets of this machine, for a family (`-4` or `-6`).
pub fn routes(intercept: &Intercept, family: &str) -> [String; 2] {
    let Intercept { divert_mark: mark, table, .. } = intercept;
    let all = if family == "-4" { "0.0.0.0/0" } else { "::/0" };
    [
        format!("{family} rule add pref {table} fwmark {mark:#x}/{mark:#x} lookup {table}"),
        format!("{family} route replace local {all} dev lo table {table}"),
    ]
}

/// Arguments of `ip` that take [`routes`] back.
pub fn unroutes(intercept: &Intercept, family: &str) -> [String; 2] {
    let Intercept { divert_mark: mark, table, .. } = intercept;
    [
        format!("{family} rule del pref {table} fwmark {mark:#x}/{mark:#x} lookup {table}"),
        format!("{family} route flush table {table}"),
    ]
}

/// Everything, as one would type it.
pub fn printed(intercept: &Intercept, limits: &Limits) -> String {
    let ip = |lines: [String; 2]| lines.map(|line| format!("ip {line}\n")).concat();
    let mut text = String::from("# at the start, with the listener open\n");
    text += &ip(routes(intercept, "-4"));
    text += &ip(routes(intercept, "-6"));
    text += &format!("nft -f - <<'END'\n{}END\n", install(Gate::Open, intercept, limits));
    text += "\n# while full or in bypass\n";
    text += &format!("nft -f - <<'END'\n{}END\n", gate(Gate::Shut, intercept, limits));
    text += "\n# for ten seconds, if one client has all the connections that it may have\n";
    let example = std::net::IpAddr::from([192, 0, 2, 1]);
    text += &format!("nft -f - <<'END'\n{}END\n", leave_alone(example, 10));
    text += "\n# at the stop\n";
    text += &format!("nft {}", remove());
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
fn sets(intercept: &Intercept) -> Vec<(String, &'static str, String)> {
    let mut sets = vec![];
    let lists = [
        ("sources", &intercept.sources),
        ("except_sources", &intercept.except_sources),
        ("destinations", &intercept.destinations),
        ("except_destinations", &intercept.except_destinations),
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

/// A rule for each family that takes what matches to a listener on loopback, with these bits in the mark.
fn to_listener(intercept: &Intercept, what: &str, port: u16, mark: u32) -> [String; 2] {
    let apart = apart(intercept);
    [("ipv4", "ip", "127.0.0.1"), ("ipv6", "ip6", "[::1]")].map(|(family, proto, address)| {
        format!(
            "meta nfproto {family} {what}tproxy {proto} to {address}:{port} {apart} \
             meta mark set meta mark | {mark:#x} counter accept"
        )
    })
}

/// Rules that leave the chain with packets of clients that are not selected.
fn selection(intercept: &Intercept) -> Vec<String> {
    let mut rules = vec!["fib daddr type { local, broadcast, multicast } return".to_string()];
    if intercept.interfaces.is_empty() {
        rules.push("meta iif lo return".into());
    } else {
        let names = intercept.interfaces.iter().map(|name| format!("\"{name}\""));
        rules.push(format!("meta iifname != {{ {} }} return", list(names)));
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
fn admission(intercept: &Intercept, limits: &Limits, begin: &str) -> String {
    let mut rules = selection(intercept);
    rules.push("ip saddr @full4 return".into());
    rules.push("ip6 saddr @full6 return".into());
    let rate = limits.new_per_second;
    rules.push(format!("limit rate over {rate}/second burst {} packets return", rate.max(5)));
    rules.push("goto room".into());
    rules.iter().map(|rule| format!("{begin}{rule}\n")).collect()
}

/// Rules that take openings to the listeners.
fn taking(intercept: &Intercept) -> Vec<String> {
    let mut rules = vec![];
    if !intercept.confirm.is_empty() {
        let ports = format!("tcp dport {{ {} }} ", list(merged(&intercept.confirm)));
        let mark = intercept.divert_mark | intercept.confirm_mark;
        rules.extend(to_listener(intercept, &ports, intercept.confirm_port, mark));
    }
    rules.extend(to_listener(intercept, "meta l4proto 6 ", intercept.port, intercept.divert_mark));
    rules
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_openings_reach_the_listener() {
        let text = install(Gate::Open, &Intercept::default(), &Limits::default());
        assert!(text.contains("tcp flags & (fin | syn | rst | ack) == syn jump admit"));
        assert!(text.contains("fib daddr type { local, broadcast, multicast } return"));
        assert!(text.contains("tcp dport { 22 } return"));
        assert_eq!(text.matches("tproxy").count(), 2, "one for each family");
    }

    #[test]
    fn a_shut_gate_has_no_rule() {
        let text = gate(Gate::Shut, &Intercept::default(), &Limits::default());
        assert_eq!(text, "flush chain inet longhaul_pep admit\n");
        assert!(
            gate(Gate::Open, &Intercept::default(), &Limits::default())
                .ends_with("add rule inet longhaul_pep admit goto room\n")
        );
    }

    /// The only protocol that nft's grammar knows by the name that /etc/protocols has, and that is used here.
    #[test]
    fn no_name_of_a_protocol_has_to_be_looked_up() {
        let text = printed(&Intercept { untracked: true, ..Default::default() }, &Limits::default());
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
        let text = printed(&Intercept::default(), &Limits::default());
        for line in text.lines().filter(|line| line.contains("table inet")) {
            assert!(line.contains("inet longhaul_pep"), "{line}");
        }
        assert!(!text.contains("flush ruleset"));
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
        let text = install(Gate::Open, &intercept, &Limits::default());
        assert!(text.contains("ip saddr != @sources4 return") && text.contains("meta nfproto ipv6 return"));
    }
}
