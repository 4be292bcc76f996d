//! A way out for a shell behind a path: the host at the far end hands on what is for none of the scenario's hosts, through a
//! pair of devices and twice with its address changed (NAT; for IPv6 too, whose routers know nothing of the hosts), to the network in
//! which the emulator was started.
//!
//! Made here and removed at the end: a device and tables of nftables, both named after the emulator's process, and permission
//! to forward packets (`net.ipv4.ip_forward`, `net.ipv6.conf.all.forwarding`) if it was not there, with all that changes with it.

use crate::nft::nft;
use crate::testbed::{DEVICE, Host, Testbed};
use crate::{Error, addresses, firewall, namespace, sysctl};
use ipnet::IpNet;
use std::net::IpAddr;

/// The far host's device towards the machine.
pub(crate) const INNER: &str = "lh1";

/// What is reached through a way out.
pub struct Opened {
    /// Addresses of IPv6.
    pub v6: bool,
    /// This machine's address on the way out.
    pub machine: IpAddr,
    /// Notices for the user.
    pub warnings: Vec<String>,
}

/// Opens the way out of the host with this number; the others stay where they are, behind the path. It is closed when the registration
/// ends.
///
/// # Errors
/// What the system refuses; a machine without nftables.
pub fn open(testbed: &mut Testbed, far: usize) -> Result<Opened, Error> {
    let Testbed { hosts, registration, ranges, used, .. } = testbed;
    let ends = addresses::pair(std::process::id(), &used.clone().with(ranges))?;
    let outer = format!("{}{}", namespace::PREFIX, std::process::id());
    let machine = ends[0].0.addr().into();
    let mut opened = Opened { v6: machine_has_ipv6()?, machine, warnings: vec![] };
    let mut settings = sysctl::before_forwarding(false);
    if opened.v6 {
        settings.extend(sysctl::before_forwarding(true));
    }
    registration.add_changes(&outer, &settings)?;
    let host = &hosts[far];
    let others: Vec<&Host> = hosts.iter().filter(|other| other.node != host.node).collect();
    let [outside, inside] = ends;
    let pair = Pair { outer: &outer, host, others: &others };
    namespace::outside(&format!(
        "link add {outer} type veth peer name {INNER} netns {}\n\
         link set dev {outer} addrgenmode none\n\
         link set dev {outer} up\n",
        host.namespace
    ))?;
    namespace::configure(
        &host.namespace,
        &format!("link set dev {INNER} addrgenmode none\nlink set dev {INNER} up\n"),
    )?;
    pair.connect(outside.0.into(), inside.0.into())?;
    if opened.v6 {
        if let Err(why) = pair.connect(outside.1.into(), inside.1.into()) {
            opened.v6 = false;
            opened.warnings.push(format!("IPv6 goes no further than the hosts: {why}"));
        }
    }
    let probed = [Some(IpNet::from(inside.0)), opened.v6.then_some(inside.1.into())];
    for inside in probed.into_iter().flatten() {
        opened.warnings.extend(firewall::check(&outer, &host.namespace, inside.addr()));
    }
    Ok(opened)
}

/// The pair of devices.
struct Pair<'a> {
    outer: &'a str,
    host: &'a Host,
    others: &'a [&'a Host],
}

impl Pair<'_> {
    /// Gives both ends addresses of an IP version, and has both sides forward it.
    fn connect(&self, outside: IpNet, inside: IpNet) -> Result<(), Error> {
        let Pair { outer, host, others } = *self;
        let Host { namespace: name, v4, v6, route, .. } = host;
        let is_v6 = matches!(outside, IpNet::V6(_));
        let (family, nodad) = if is_v6 { ("ip6", "nodad") } else { ("ip", "") };
        namespace::outside(&format!("address add {outside} dev {outer} {nodad}\n"))?;
        // What is behind the path is still reached through it.
        let behind = |other: &&Host| match is_v6 {
            false => format!("route add {}/32 dev {DEVICE} src {v4} {route}\n", other.v4),
            true => format!("route add {}/128 dev {DEVICE} src {v6} {route}\n", other.v6),
        };
        let hosts: String = others.iter().map(behind).collect();
        // In IPv6 a second route to the same destination would stand beside the first.
        let instead = if is_v6 { format!("route delete ::/0 dev {DEVICE}\n") } else { String::new() };
        let commands = format!(
            "address add {inside} dev {INNER} {nodad}\n{hosts}{instead}route replace {} via {} dev {INNER}\n",
            if is_v6 { "::/0" } else { "default" },
            outside.addr()
        );
        namespace::configure(name, &commands)?;
        namespace::within(name, || {
            sysctl::forward(is_v6)?;
            // Whoever is behind the path is known to the machine as the far host, and to the Internet as the machine.
            nft(&masquerade(family, "longhaul", &format!("oifname \"{INNER}\"")))
        })?;
        sysctl::forward(is_v6)?;
        nft(&masquerade(family, outer, &format!("{family} saddr {}", inside.addr())))
    }
}

/// Whether this machine reaches anything over IPv6 beyond its own links.
fn machine_has_ipv6() -> Result<bool, Error> {
    Ok(has_ipv6(&namespace::show(&["-6", "-json", "route", "show"])?))
}

/// True if a route leads to more than the addresses of one link, which are not forwarded (RFC 4291 section 2.5.6).
fn has_ipv6(routes: &str) -> bool {
    let routes: Vec<serde_json::Value> = serde_json::from_str(routes).unwrap_or_default();
    routes.iter().any(|route| {
        let to = route["dst"].as_str().unwrap_or_default();
        let leads = route["type"].as_str().is_none_or(|kind| kind == "unicast");
        let device = route["dev"].as_str().unwrap_or_default();
        leads
            && device != "lo"
            && !device.starts_with(namespace::PREFIX)
            && !to.starts_with("fe80:")
            && !to.starts_with("ff")
    })
}

fn masquerade(family: &str, table: &str, of: &str) -> String {
    format!(
        "table {family} {table} {{\n  chain out {{\n    type nat hook postrouting priority 100;\n    {of} masquerade\n  }}\n}}\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_with_link_local_addresses_only_has_no_ipv6() {
        let routes = |list: &[(&str, &str)]| {
            let list: Vec<_> =
                list.iter().map(|(dst, dev)| serde_json::json!({ "dst": dst, "dev": dev })).collect();
            serde_json::json!(list).to_string()
        };
        assert!(!has_ipv6(&routes(&[("fe80::/64", "eth0"), ("::1", "lo"), ("ff00::/8", "eth0")])));
        assert!(!has_ipv6("[]") && !has_ipv6(""));
        assert!(
            !has_ipv6(&routes(&[("fd6c:6f6e:6768:1::/126", "lh-12")])),
            "another emulator's is no way out"
        );
        assert!(has_ipv6(&routes(&[("default", "eth0")])));
        assert!(has_ipv6(&routes(&[("2001:db8::/64", "eth0")])));
        assert!(!has_ipv6("[{\"type\":\"unreachable\",\"dst\":\"default\",\"dev\":\"eth0\"}]"));
    }
}
