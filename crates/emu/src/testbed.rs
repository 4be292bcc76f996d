//! Hosts as network namespaces: each has a TUN device named [`DEVICE`] whose other end the emulator holds, an IPv4 and an IPv6
//! address, and a default route into it. Nothing else is in the namespace, so nothing gets out but through the emulator.

use crate::addresses::{Ranges, Used};
use crate::kernel::{self, Settings, TcpOf};
use crate::losses::{self, Loss};
use crate::registry::{Cleaned, Registration};
use crate::{Error, namespace, priority, registry, sys};
use ipnet::IpNet;
use longhaul_scenario::{Network, Scenario, TcpSpec, Transport};
use longhaul_units::{Duration, GroupId, Id, NodeId};
use std::fs::{File, OpenOptions};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::unix::fs::OpenOptionsExt;
use std::sync::atomic::{AtomicBool, Ordering};

/// The interface of each host.
pub const DEVICE: &str = "lh0";

/// Packets that the kernel keeps for the emulator on a device; what comes when they are full is lost and counted.
const DEVICE_QUEUE: u32 = 20_000;

/// Devices with a smaller MTU have no IPv6 (RFC 8200 section 5).
const LEAST_V6_MTU: u64 = 1280;
/// Bursts of hosts last so long on the slowest link at most, if they have more than one segment.
const AT_ONCE: Duration = Duration::from_micros(200);
/// Hosts that are listed in words.
const MOST_IN_WORDS: usize = 6;
/// A segment on Ethernet, in bytes with headers, and the most bytes that kernels hand over at once.
const SEGMENT: u64 = 1500;
const MOST_AT_ONCE: u64 = 65_535;

/// A host.
pub struct Host {
    /// Its node in the network.
    pub node: NodeId,
    /// The node's name.
    pub name: String,
    /// Its network namespace.
    pub namespace: String,
    /// Its IPv4 address.
    pub v4: Ipv4Addr,
    /// Its IPv6 address.
    pub v6: Ipv6Addr,
    /// Attributes of its routes through the path, as `ip route` takes them.
    pub route: String,
    /// The emulator's end of its device.
    pub tun: File,
}

impl Host {
    /// All of its addresses.
    pub fn addresses(&self) -> Vec<IpAddr> {
        vec![self.v4.into(), self.v6.into()]
    }

    /// Packets that its device has dropped, in either direction: what the emulator did not take or could not give in time.
    pub fn device_drops(&self) -> u64 {
        let count = || -> Result<u64, Error> {
            let text = std::fs::read_to_string("/proc/thread-self/net/dev")
                .map_err(|why| Error::system("read the counters of a device", why))?;
            Ok(drops_in(&text))
        };
        namespace::within(&self.namespace, count).unwrap_or(0)
    }
}

/// Receive and transmit drops of [`DEVICE`] in `/proc/net/dev`: the fourth of eight receive and of eight transmit columns.
fn drops_in(table: &str) -> u64 {
    let line = table.lines().find_map(|line| line.trim().strip_prefix(DEVICE)?.strip_prefix(':'));
    let columns: Vec<u64> =
        line.unwrap_or("").split_whitespace().filter_map(|column| column.parse().ok()).collect();
    [3, 11].iter().filter_map(|column| columns.get(*column)).sum()
}

/// All hosts. Dropped, it removes everything.
pub struct Testbed {
    /// The hosts, in the order in which they were requested.
    pub hosts: Vec<Host>,
    /// Where addresses come from.
    pub ranges: Ranges,
    /// What addresses the machine uses.
    pub used: Used,
    /// Notices for the user.
    pub warnings: Vec<String>,
    /// One line: whose TCP the hosts have, and what was set for it.
    pub tcp: String,
    /// What there is to be removed.
    pub registration: Registration,
}

impl Testbed {
    /// Makes a namespace for each of the nodes, with addresses of the `wanted` ranges or else of free ones. What killed emulators have
    /// left behind is removed first.
    ///
    /// # Errors
    /// What the system refuses; a range that will not do; `stop` is set.
    pub fn new(
        scenario: &Scenario,
        network: &Network,
        nodes: &[NodeId],
        whose: TcpOf,
        wanted: &[IpNet],
        stop: &AtomicBool,
    ) -> Result<Testbed, Error> {
        let mut warnings = vec![];
        let Cleaned { removed, left, .. } = registry::clean_up();
        if !removed.is_empty() {
            warnings.push(format!("removed what an earlier run has left behind: {}", removed.join(", ")));
        }
        warnings.extend(left.iter().map(|why| format!("an earlier run has left something behind: {why}")));
        let used = Used::of_machine()?;
        let ranges = Ranges::choose(network.nodes.len(), wanted, &used)?;
        let id = std::process::id().to_string();
        let name = |node: &NodeId| {
            let plain: String = network.nodes[*node]
                .chars()
                .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
                .collect();
            format!("{}{id}-{node}-{plain}", namespace::PREFIX)
        };
        let names: Vec<String> = nodes.iter().map(name).collect();
        let registration = Registration::new(&id, names.clone())?;
        let mut hosts: Vec<Host> = vec![];
        let mut set: Vec<(Vec<String>, Vec<String>)> = vec![];
        for (node, namespace) in nodes.iter().zip(names) {
            if stop.load(Ordering::Relaxed) {
                return Err(Error::Interrupted);
            }
            let tcp = tcp_of(scenario, network, *node);
            let burst = segments_at_once(network, *node, nodes);
            let (settings, burst) = match whose {
                // What kernels send at once by themselves: else less would fit in their send buffers.
                TcpOf::Machine => (Settings::of_machine(&tcp), None),
                TcpOf::Scenario => (Settings::new(&tcp, burst), Some(burst)),
            };
            let mtu = own_mtu(network, *node, nodes).map_or(settings.mtu, |own| settings.mtu.min(own));
            let place = Place { node: *node, addresses: ranges.of(*node), mtu };
            let (host, missing) = make_host(network, place, namespace, &settings, burst)?;
            warnings.extend(missing.into_iter().filter(|_| hosts.is_empty()));
            if mtu < LEAST_V6_MTU && ipv6_is_there() {
                let name = &host.name;
                warnings.push(format!("{name} has no IPv6: its link carries {mtu} B, and IPv6 needs 1280"));
            }
            if whose == TcpOf::Machine {
                hosts.push(host);
                continue;
            }
            let differences = settings.differences(&host.namespace);
            match set.iter_mut().find(|(known, _)| *known == differences) {
                Some((_, names)) => names.push(host.name.clone()),
                None => set.push((differences, vec![host.name.clone()])),
            }
            hosts.push(host);
            if kernel::congestion(&tcp).is_none() {
                let asked = tcp.congestion.name();
                let warning =
                    format!("this kernel has no congestion control \"{asked}\": hosts use its default");
                warnings.extend((!warnings.contains(&warning)).then_some(warning));
            }
            if tcp.ack_congestion_control && hosts.len() == 1 {
                warnings
                    .push("kernels have no ACK congestion control (RFC 5690): they do without".to_string());
            }
        }
        let tcp = match whose {
            TcpOf::Machine => "TCP is this machine's (the scenario's: --tcp scenario)".to_string(),
            TcpOf::Scenario => {
                let of = |(settings, names): &(Vec<String>, Vec<String>)| {
                    format!("at {}: {}", names.join(", "), settings.join(", "))
                };
                let set: Vec<String> = set.iter().map(of).collect();
                format!("TCP is the scenario's; other than on this machine is set {}", set.join("; "))
            }
        };
        Ok(Testbed { hosts, ranges, used, warnings, tcp, registration })
    }

    /// Nodes and addresses of the hosts, as [`crate::world::World`] takes them.
    pub fn addresses(&self) -> Vec<(NodeId, Vec<IpAddr>)> {
        self.hosts.iter().map(|host| (host.node, host.addresses())).collect()
    }

    /// What hosts have lost by themselves: of each its name, and counters that are not 0.
    pub fn losses(&self) -> Vec<(String, Vec<Loss>)> {
        let of = |host: &Host| {
            let lost = namespace::within(&host.namespace, || Ok(losses::of_stack())).unwrap_or_default();
            (!lost.is_empty()).then(|| (host.name.clone(), lost))
        };
        self.hosts.iter().filter_map(of).collect()
    }

    /// The hosts and their addresses, in words.
    pub fn hosts_in_words(&self) -> String {
        let list: Vec<String> =
            self.hosts.iter().take(MOST_IN_WORDS).map(|host| format!("{} {}", host.name, host.v4)).collect();
        let more = self.hosts.len().saturating_sub(list.len());
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        format!("hosts {}{more} (of {}; --addresses sets them)", list.join(", "), self.ranges)
    }

    /// The host at a node.
    pub fn host_at(&self, node: NodeId) -> Option<&Host> {
        self.hosts.iter().find(|host| host.node == node)
    }
}

/// The most segments that a host's kernel makes at once: as many as the slowest link on its ways carries in [`AT_ONCE`], so
/// that the burst hardly shows on the path; one below 120 Mbit/s. Kernels by themselves make up to 1 ms's worth. Each time costs a timer where
/// flows are paced, which in a virtual machine is dearer than all else that a packet costs.
fn segments_at_once(network: &Network, node: NodeId, hosts: &[NodeId]) -> u64 {
    let ways = hosts.iter().filter(|other| **other != node).filter_map(|other| network.path(node, *other));
    let slowest = ways.filter_map(|way| network.bottleneck_rate(&way)).min();
    let bytes = slowest.map_or(0.0, |rate| rate.as_bps() as f64 / 8.0 * AT_ONCE.as_secs_f64());
    (bytes as u64 / SEGMENT).clamp(1, MOST_AT_ONCE / SEGMENT)
}

/// The settings of the first flow that has an end at this node, of the scenario's first if none has.
fn tcp_of(scenario: &Scenario, network: &Network, node: NodeId) -> TcpSpec {
    let mut touching = network.flows.iter().filter(|flow| flow.from == node || flow.to == node).peekable();
    let first = touching.peek().map_or(GroupId(0), |flow| flow.group);
    // The settings of flows over another transport are the defaults.
    let over_tcp = touching.find(|flow| scenario.group(flow.group).transport == Transport::Tcp);
    let group = over_tcp.map_or(first, |flow| flow.group);
    scenario.flow.get(group.index()).map(|flow| flow.tcp.clone()).unwrap_or_default()
}

/// Nodes at which flows begin or end, in the order of the flows; those of the document without neighbours behind them, if
/// there is no flow.
pub fn hosts_of(network: &Network) -> Vec<NodeId> {
    let mut nodes = vec![];
    for node in network.flows.iter().flat_map(|flow| [flow.from, flow.to]) {
        if !nodes.contains(&node) {
            nodes.push(node);
        }
    }
    if nodes.is_empty() {
        let degree = |node: &NodeId| network.links.iter().filter(|link| link.from == *node).count();
        nodes = network.nodes.ids().filter(|node| degree(node) == 1).collect();
    }
    nodes
}

/// The MTU of a host's own link: the least of those that its packets may leave by. Behind a router it finds out by itself.
fn own_mtu(network: &Network, node: NodeId, hosts: &[NodeId]) -> Option<u64> {
    let ways = hosts.iter().filter(|other| **other != node).filter_map(|other| network.path(node, *other));
    let first = ways.filter_map(|way| network.links[*way.first()?].mtu);
    first.map(|(mtu, _)| u64::from(mtu)).min()
}

/// Where a host is to be.
struct Place {
    node: NodeId,
    addresses: (Ipv4Addr, Ipv6Addr),
    mtu: u64,
}

fn make_host(
    network: &Network,
    Place { node, addresses: (v4, v6), mtu }: Place,
    namespace: String,
    settings: &Settings,
    burst: Option<u64>,
) -> Result<(Host, Vec<String>), Error> {
    namespace::add(&namespace)?;
    let pings = kernel::who_may_ping();
    let (tun, mut missing) = namespace::within(&namespace, || {
        let tun = open_tun()?;
        kernel::let_ping(&pings);
        Ok((tun, settings.apply()?))
    })?;
    let Settings { route, .. } = settings;
    // Few packets at a time go to the device (gso_max_segs) where TCP is the scenario's, one by one, and no IPv6 housekeeping disturbs the
    // path (addrgenmode).
    let burst = burst.map_or(String::new(), |segments| format!("gso_max_segs {segments}"));
    let commands = format!(
        "link set dev lo up\n\
         link set dev {DEVICE} mtu {mtu} txqueuelen {DEVICE_QUEUE} {burst}\n\
         -6 link set dev {DEVICE} addrgenmode none\n\
         link set dev {DEVICE} up\n\
         address add {v4}/32 dev {DEVICE}\n\
         route add default dev {DEVICE} src {v4} {route}\n\
         -6 address add {v6}/128 dev {DEVICE} nodad\n\
         -6 route add default dev {DEVICE} src {v6} {route}\n"
    );
    let commands: String = commands
        .lines()
        .filter(|line| !line.starts_with("-6") || ipv6_is_there() && mtu >= LEAST_V6_MTU)
        .map(|l| format!("{l}\n"))
        .collect();
    namespace::configure(&namespace, &commands.replace("-6 ", ""))?;
    let shown = namespace::within(&namespace, || {
        namespace::own_mounts()?;
        namespace::show_devices(false)
    });
    missing.extend(shown.err().map(|why| format!("/sys shows the machine's devices: {why}")));
    if let Some((_, others)) = priority::processors() {
        let steered = namespace::steer(&namespace, DEVICE, &others);
        missing.extend(steered.err().map(|why| format!("packets will be late when much is lost: {why}")));
    }
    Ok((
        Host { node, name: network.nodes[node].clone(), namespace, v4, v6, route: route.clone(), tun },
        missing,
    ))
}

pub(crate) fn ipv6_is_there() -> bool {
    std::path::Path::new("/proc/sys/net/ipv6").exists()
}

/// Makes the device in the namespace that the thread is in.
fn open_tun() -> Result<File, Error> {
    let opening = |why: std::io::Error| {
        let hint = match why.kind() {
            std::io::ErrorKind::NotFound => {
                "; load the kernel's module: modprobe tun; into a container it comes by --device=/dev/net/tun"
            }
            std::io::ErrorKind::PermissionDenied => {
                "; users may open it as udev sets it up (sudo chmod 666 /dev/net/tun), a container is given it by --device=/dev/net/tun"
            }
            _ => "",
        };
        Error::system("open /dev/net/tun", format!("{why}{hint}"))
    };
    let tun = OpenOptions::new()
        .read(true)
        .write(true)
        .custom_flags(libc::O_NONBLOCK)
        .open("/dev/net/tun")
        .map_err(opening)?;
    sys::make_tun(&tun, DEVICE).map_err(|why| Error::system("make a TUN device", why))?;
    Ok(tun)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drops_are_the_fourth_and_the_twelfth_column() {
        let table = "Inter-|   Receive  |  Transmit\n    lo: 1 1 0 9 0 0 0 0 1 1 0 9 0 0 0 0\n   lh0: 840 10 0 3 0 0 0 0 840 10 0 4 0 0 0 0\n";
        assert_eq!(drops_in(table), 7);
        assert_eq!(drops_in("nothing"), 0);
    }

    /// 200 us of 500 Mbit/s are 12,500 bytes; of 50 Mbit/s less than one segment.
    #[test]
    fn bursts_are_short_on_the_path() {
        let burst = |forward: &str, node: NodeId| {
            let text = format!(
                "[run]\nduration = \"1 s\"\n[[link]]\nname = \"l\"\nends = [\"a\", \"b\"]\ndelay = \"1 ms\"\n\
                 forward = {{ rate = \"{forward}\" }}\nreverse = {{ rate = \"1 Mbit/s\" }}\n[[flow]]\nfrom = \"a\"\nto = \"b\"\n"
            );
            let scenario = longhaul_scenario::load(&text, "test", &[]).unwrap();
            let network = Network::new(&scenario);
            segments_at_once(&network, node, &hosts_of(&network))
        };
        assert_eq!(
            ["50 Mbit/s", "500 Mbit/s", "1 Gbit/s", "10 Gbit/s"].map(|rate| burst(rate, NodeId(0))),
            [1, 8, 16, 43]
        );
        assert_eq!(burst("1 Gbit/s", NodeId(1)), 1, "ACKs have a slow link");
    }
}
