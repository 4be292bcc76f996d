//! Whether this machine's firewall drops what it is to forward for a host: found with a packet, whatever the firewall is made by
//! (nftables, iptables, firewalld, Docker), since a rule for others may let it pass or not. The packet does not leave the machine.

use crate::nft::{self, nft};
use crate::{Error, namespace};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream};
use std::time::Duration;

/// To whom the packet is: a root name server (a.root-servers.net), which firewalls have no rule for.
const TARGETS: [IpAddr; 2] = [
    IpAddr::V4(Ipv4Addr::new(198, 41, 0, 4)),
    IpAddr::V6(Ipv6Addr::new(0x2001, 0x503, 0xba3e, 0, 0, 0, 2, 0x30)),
];
const PORT: u16 = 443;
/// The packet takes microseconds; a busy machine may need so many times this long.
const PATIENCE: (u32, Duration) = (10, Duration::from_millis(10));
/// Names in the table: counters before and after the firewall's chains, which stand between these priorities.
const BEFORE: &str = "probe_before";
const AFTER: &str = "probe_after";

/// A notice if the firewall drops what comes from `inside`, the address of a host's device, in the `table` of the emulator in the
/// network stack of the thread; `None` if not, or if nothing is forwarded since
/// no route leads to anywhere.
pub(crate) fn check(table: &str, host: &str, inside: IpAddr) -> Option<String> {
    let (family, version, target) = match inside {
        IpAddr::V4(_) => ("ip", "IPv4", TARGETS[0]),
        IpAddr::V6(_) => ("ip6", "IPv6", TARGETS[1]),
    };
    match probe(family, table, host, inside, target) {
        Ok(false) => return None,
        Ok(true) => {}
        Err(why) => {
            return Some(format!(
                "whether this machine's firewall drops forwarded packets is not known: {why}"
            ));
        }
    }
    let (what, remedy) = culprits(family, table);
    Some(format!(
        "this machine's firewall drops forwarded packets ({version}; {what}): nothing outside is reached over {version}; \
             let them pass: {remedy}"
    ))
}

/// Sends a packet from the host, and finds out whether it is dropped between the beginning and the end of forwarding.
fn probe(family: &str, table: &str, host: &str, inside: IpAddr, target: IpAddr) -> Result<bool, Error> {
    let packet = format!("{family} saddr {inside} {family} daddr {target} tcp dport {PORT}");
    // Behind all filters, and before the address changes.
    nft(&format!(
        "table {family} {table} {{\n\
         counter {BEFORE} {{\n}}\ncounter {AFTER} {{\n}}\n\
         chain {BEFORE} {{\ntype filter hook forward priority -500\n{packet} counter name {BEFORE}\n}}\n\
         chain {AFTER} {{\ntype filter hook postrouting priority 99\n{packet} counter name {AFTER} drop\n}}\n}}\n"
    ))?;
    let result = namespace::within(host, || {
        // Nobody answers.
        let _ = TcpStream::connect_timeout(&SocketAddr::new(target, PORT), Duration::from_millis(1));
        Ok(())
    })
    .and_then(|()| counted(family, table));
    nft(&format!(
        "delete chain {family} {table} {BEFORE}\ndelete chain {family} {table} {AFTER}\n\
         delete counter {family} {table} {BEFORE}\ndelete counter {family} {table} {AFTER}\n"
    ))?;
    let [before, after] = result?;
    Ok(before > 0 && after == 0)
}

/// What the counters have come to, once one of them has counted something.
fn counted(family: &str, table: &str) -> Result<[u64; 2], Error> {
    let mut found = [0, 0];
    for _ in 0..PATIENCE.0 {
        let listed = nft::list(&["counters", "table", family, table])?;
        let count = |name: &str| {
            let counters = listed["nftables"].as_array().into_iter().flatten().map(|item| &item["counter"]);
            counters
                .filter(|counter| counter["name"] == name)
                .filter_map(|counter| counter["packets"].as_u64())
                .sum()
        };
        found = [count(BEFORE), count(AFTER)];
        if found[0] > 0 {
            break;
        }
        std::thread::sleep(PATIENCE.1);
    }
    Ok(found)
}

/// Which chains may have dropped a forwarded packet, in words, and how to let packets pass them.
fn culprits(family: &str, own: &str) -> (String, String) {
    let listed = nft::list(&["chains"]).unwrap_or_default();
    let found = forward_chains(&listed, family, own);
    let device = format!("{}*", namespace::PREFIX);
    if found.is_empty() {
        // Rules of the older iptables are no tables of nftables.
        let program = if family == "ip" { "iptables-legacy" } else { "ip6tables-legacy" };
        let device = format!("{}+", namespace::PREFIX);
        return (
            format!("{program}'s chain FORWARD"),
            format!("{program} -I FORWARD -i {device} -j ACCEPT; {program} -I FORWARD -o {device} -j ACCEPT"),
        );
    }
    let names =
        found.iter().map(|(table, chain, policy)| format!("chain {chain} of table {table}, policy {policy}"));
    let rules = found.iter().flat_map(|(table, chain, _)| {
        ["iifname", "oifname"]
            .map(|way| format!("nft insert rule {table} {chain} {way} '\"{device}\"' accept"))
    });
    (names.collect::<Vec<_>>().join("; "), rules.collect::<Vec<_>>().join("; "))
}

/// Chains that see forwarded packets, with table and policy: those that drop by default, if there are any.
fn forward_chains(listed: &serde_json::Value, family: &str, own: &str) -> Vec<(String, String, String)> {
    let text = |chain: &serde_json::Value, key: &str| chain[key].as_str().unwrap_or_default().to_string();
    let chains = listed["nftables"].as_array().into_iter().flatten().map(|item| &item["chain"]);
    let all: Vec<_> = chains
        .filter(|chain| chain["hook"] == "forward" && chain["table"] != own)
        .filter(|chain| chain["family"] == family || chain["family"] == "inet")
        .map(|chain| {
            let table = format!("{} {}", text(chain, "family"), text(chain, "table"));
            (table, text(chain, "name"), text(chain, "policy"))
        })
        .collect();
    let dropping: Vec<_> = all.iter().filter(|(.., policy)| policy == "drop").cloned().collect();
    if dropping.is_empty() { all } else { dropping }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_chains_that_may_have_dropped_it_are_named() {
        let chain = |family: &str, table: &str, name: &str, hook: &str, policy: &str| serde_json::json!({ "chain": { "family": family, "table": table, "name": name, "hook": hook, "policy": policy } });
        let docker = [
            serde_json::json!({ "metainfo": { "version": "1.0.6" } }),
            chain("ip", "filter", "FORWARD", "forward", "drop"),
            chain("ip", "filter", "INPUT", "input", "accept"),
            chain("ip6", "filter", "FORWARD", "forward", "accept"),
            chain("inet", "mine", "count", "forward", "accept"),
            chain("ip", "lh-7", "probe_before", "forward", "accept"),
        ];
        let found = |family| forward_chains(&serde_json::json!({ "nftables": docker }), family, "lh-7");
        let named = |table: &str, chain: &str, policy: &str| {
            (table.to_string(), chain.to_string(), policy.to_string())
        };
        assert_eq!(found("ip"), [named("ip filter", "FORWARD", "drop")]);
        // Without a chain that drops by default it is a rule of one of these.
        assert_eq!(
            found("ip6"),
            [named("ip6 filter", "FORWARD", "accept"), named("inet mine", "count", "accept")]
        );
    }
}
