//! What is at the other end of an interface: of a pair of virtual devices (veth(4)) the second, in whatever network namespace it is.

use crate::{namespace, stack};
use longhaul_program::tool;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// The second of a pair of devices.
#[derive(Clone, PartialEq, Eq, Debug)]
struct OtherEnd {
    name: String,
    /// Its network namespace, if it is another one than the thread's.
    namespace: Option<PathBuf>,
}

impl OtherEnd {
    /// How to change a setting of it.
    fn command(&self, setting: &str) -> String {
        let command = format!("ethtool -K {} {setting}", self.name);
        match &self.namespace {
            None => command,
            Some(place) => match place.strip_prefix(namespace::DIRECTORY) {
                Ok(name) => format!("ip netns exec {} {command}", name.display()),
                Err(_) => format!("nsenter --net={} {command}", place.display()),
            },
        }
    }
}

/// How to have frames come in at an interface of the thread's network namespace as they were sent, none joined to another.
pub fn remedy(interface: &str) -> String {
    let own = format!("ethtool -K {interface} gro off lro off");
    let others: Vec<String> = find(interface).iter().map(|end| end.command("tso off gso off")).collect();
    if others.is_empty() {
        format!("{own} (and at the host behind it: tso off gso off)")
    } else {
        format!("{own}; {}", others.join("; "))
    }
}

/// None if it is no virtual device of a pair; more than one if their numbers do not distinguish them.
fn find(interface: &str) -> Vec<OtherEnd> {
    let Some((own, Some(other))) = devices().get(interface).copied() else { return vec![] };
    let is = |(number, link): &(u64, Option<u64>)| *number == other && *link == Some(own);
    let here = stack::own();
    let within = |(number, place): (u64, PathBuf)| {
        let found = stack::within(number, || Ok(devices()))?.ok()?;
        let named =
            found.into_iter().filter(|(name, device)| is(device) && (number != here || name != interface));
        let namespace = (number != here).then_some(place);
        Some(named.map(|(name, _)| OtherEnd { name, namespace: namespace.clone() }).collect::<Vec<_>>())
    };
    stack::all().into_iter().filter_map(within).flatten().collect()
}

/// Devices of the thread's network namespace: their numbers, and of pairs those of the others.
fn devices() -> BTreeMap<String, (u64, Option<u64>)> {
    let arguments = ["-details", "-json", "link", "show"];
    let said = tool::run("ip", "iproute2", &arguments, "", &|_| String::new()).unwrap_or_default();
    let parsed: serde_json::Value = serde_json::from_str(&said).unwrap_or_default();
    devices_in(&parsed)
}

fn devices_in(links: &serde_json::Value) -> BTreeMap<String, (u64, Option<u64>)> {
    let device = |link: &serde_json::Value| {
        let is_of_pair = link["linkinfo"]["info_kind"] == "veth";
        // One in the same namespace is named, not numbered.
        let numbered = |name: &str| {
            links.as_array()?.iter().find(|one| one["ifname"] == name).and_then(|one| one["ifindex"].as_u64())
        };
        let other = link["link_index"].as_u64().or_else(|| numbered(link["link"].as_str()?));
        let name = link["ifname"].as_str()?.to_string();
        Some((name, (link["ifindex"].as_u64()?, other.filter(|_| is_of_pair))))
    };
    links.as_array().into_iter().flatten().filter_map(device).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_recognised_within_a_namespace_and_across() {
        let links = serde_json::json!([
            { "ifindex": 1, "ifname": "lo" },
            { "ifindex": 5, "ifname": "a", "link": "b", "linkinfo": { "info_kind": "veth" } },
            { "ifindex": 6, "ifname": "b", "link": "a", "linkinfo": { "info_kind": "veth" } },
            { "ifindex": 7, "ifname": "in0", "link_index": 2, "linkinfo": { "info_kind": "veth" } },
            { "ifindex": 8, "ifname": "v", "link_index": 2, "linkinfo": { "info_kind": "vlan" } },
        ]);
        let found = devices_in(&links);
        assert_eq!(found["a"], (5, Some(6)));
        assert_eq!(found["in0"], (7, Some(2)));
        assert_eq!((found["lo"], found["v"]), ((1, None), (8, None)));
    }

    #[test]
    fn the_command_reaches_the_device_wherever_it_is() {
        let command = |namespace: Option<&str>| {
            let end = OtherEnd { name: "eth0".to_string(), namespace: namespace.map(PathBuf::from) };
            end.command("gso off")
        };
        assert_eq!(command(None), "ethtool -K eth0 gso off");
        assert_eq!(command(Some("/run/netns/near")), "ip netns exec near ethtool -K eth0 gso off");
        assert_eq!(command(Some("/proc/42/ns/net")), "nsenter --net=/proc/42/ns/net ethtool -K eth0 gso off");
    }
}
