//! A way out for a shell behind a path: the host at the far end hands on what is for none of the scenario's hosts, through a
//! pair of devices and twice with its address changed (NAT), to the network in which the emulator was started.
//!
//! Made here and removed at the end: a device and a table of nftables, both named after the emulator's process, and permission
//! to forward packets (`net.ipv4.ip_forward`) if it was not there, with all that changes with it. IPv4 only.

use crate::nft::nft;
use crate::registry::Registration;
use crate::testbed::{DEVICE, Host};
use crate::{Error, namespace, sysctl};
use std::fs;
use std::net::Ipv4Addr;
use std::path::Path;

/// The far host's device towards the machine.
const INNER: &str = "lh1";
/// Where programs look for name servers, and where systemd's resolver keeps the real ones.
const RESOLVERS: [&str; 2] = ["/etc/resolv.conf", "/run/systemd/resolve/resolv.conf"];

/// Opens the way out of `host`; `others` stay where they are, behind the path. It is closed when the registration ends.
///
/// # Errors
/// What the system refuses; a machine without nftables.
pub fn open(registration: &mut Registration, host: &Host, others: &[&Host]) -> Result<(), Error> {
    let id = std::process::id();
    let outer = format!("{}{id}", namespace::PREFIX);
    let [outside, inside] = addresses(id);
    registration.add_changes(&outer, &sysctl::before_forwarding())?;

    let name = &host.namespace;
    namespace::outside(&format!(
        "link add {outer} type veth peer name {INNER} netns {name}\n\
         address add {outside}/30 dev {outer}\n\
         link set dev {outer} up\n"
    ))?;
    // What is behind the path is still reached through it.
    let Host { v4, route, .. } = host;
    let behind = |other: &&Host| format!("route add {}/32 dev {DEVICE} src {v4} {route}\n", other.v4);
    let hosts: String = others.iter().map(behind).collect();
    namespace::configure(
        name,
        &format!(
            "address add {inside}/30 dev {INNER}\n\
             link set dev {INNER} up\n\
             {hosts}\
             route replace default via {outside} dev {INNER}\n"
        ),
    )?;
    namespace::within(name, || {
        sysctl::forward()?;
        // Whoever is behind the path is known to the machine as the far host, and to the Internet as the machine.
        nft(&masquerade("longhaul", &format!("oifname \"{INNER}\"")))
    })?;
    sysctl::forward()?;
    nft(&masquerade(&outer, &format!("ip saddr {inside}")))
}

/// Lines for `resolv.conf` behind the path, if those of the machine name a server on the machine itself, which cannot be reached
/// from there; `None` if they will do.
///
/// # Errors
/// If no other servers are known.
pub fn resolvers() -> Result<Option<&'static Path>, Error> {
    for (number, file) in RESOLVERS.iter().enumerate() {
        let text = fs::read_to_string(file).unwrap_or_default();
        if names_others(&text) {
            return Ok((number > 0).then_some(Path::new(*file)));
        }
    }
    Err(Error::Unsupported(
        "this machine's name servers (/etc/resolv.conf) are on the machine itself, and cannot be reached from behind the path; \
         use addresses instead of names"
            .to_string(),
    ))
}

/// True if a name server that is not the machine itself is among them.
fn names_others(text: &str) -> bool {
    let servers = text.lines().filter_map(|line| line.trim().strip_prefix("nameserver"));
    servers.filter_map(|server| server.trim().parse::<Ipv4Addr>().ok()).any(|server| !server.is_loopback())
}

/// The two ends of the pair of devices, of 100.64.0.0/10 (shared address space, RFC 6598), which private networks do not use: four
/// addresses for each process.
fn addresses(id: u32) -> [Ipv4Addr; 2] {
    let base = u32::from(Ipv4Addr::new(100, 64, 0, 0)) + (id & 0xf_ffff) * 4;
    [Ipv4Addr::from(base + 1), Ipv4Addr::from(base + 2)]
}

fn masquerade(table: &str, of: &str) -> String {
    format!(
        "table ip {table} {{\n  chain out {{\n    type nat hook postrouting priority srcnat;\n    {of} masquerade\n  }}\n}}\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_process_has_addresses_of_its_own() {
        assert_eq!(addresses(1).map(|a| a.to_string()), ["100.64.0.5", "100.64.0.6"]);
        assert_eq!(addresses(0xf_ffff).map(|a| a.to_string()), ["100.127.255.253", "100.127.255.254"]);
        assert_ne!(DEVICE, INNER);
    }

    #[test]
    fn name_servers_on_the_machine_itself_will_not_do() {
        assert!(names_others("search x\nnameserver 127.0.0.53\nnameserver 192.0.2.1\n"));
        assert!(!names_others("nameserver 127.0.0.53\n# nameserver 192.0.2.1\n"));
        assert!(!names_others(""));
    }
}
