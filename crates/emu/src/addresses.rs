//! Addresses of a scenario's nodes: of a range that holds nothing of what this machine uses (its routes, interfaces and name servers),
//! so that no host of the scenario stands in the place of somebody whom the machine can reach.

use crate::{Error, names, namespace};
use ipnet::{IpNet, Ipv4Net, Ipv6Net};
use longhaul_units::NodeId;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// What is preferred, if the machine has nothing in all of 10.0.0.0/8 (RFC 1918) but perhaps name servers.
const PREFERRED: Ipv4Net = net4([10, 0, 0, 0], 8);
/// Where else ranges come from, in this order: benchmarks (RFC 2544), private networks (RFC 1918), shared address space (RFC 6598).
const POOLS: [Ipv4Net; 5] = [
    net4([198, 18, 0, 0], 15),
    net4([172, 16, 0, 0], 12),
    PREFERRED,
    net4([192, 168, 0, 0], 16),
    net4([100, 64, 0, 0], 10),
];
/// The longest prefix of a range for nodes.
const LONGEST_V4: u8 = 24;
const PREFIX_V6: u8 = 96;
/// The first IPv6 range; the next ones follow in the third group (unique local addresses, RFC 4193).
const FIRST_V6: [u16; 3] = [0xfd6c, 0x6f6e, 0x6768];

/// Routes with shorter prefixes are ways to everything else (0.0.0.0/1 and 128.0.0.0/1 in the place of 0.0.0.0/0), and claim nothing.
const WIDEST_CLAIM_V4: u8 = 8;
const WIDEST_CLAIM_V6: u8 = 7;

const fn net4(octets: [u8; 4], prefix: u8) -> Ipv4Net {
    let [a, b, c, d] = octets;
    Ipv4Net::new_assert(Ipv4Addr::new(a, b, c, d), prefix)
}

/// The ranges that addresses of nodes come from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ranges {
    v4: Ipv4Net,
    v6: Ipv6Net,
}

/// 10.0.0.0/8 and the first IPv6 range, whatever the machine uses.
impl Default for Ranges {
    fn default() -> Self {
        Ranges { v4: PREFERRED, v6: nth_v6(0) }
    }
}

impl Ranges {
    /// Ranges for so many nodes: those that are `wanted`, else free ones.
    ///
    /// # Errors
    /// Wanted ones that are too small, not for hosts, two of one IP version, or in use; no free ones.
    pub fn choose(nodes: usize, wanted: &[IpNet], used: &Used) -> Result<Ranges, Error> {
        let (mut v4, mut v6) = (None, None);
        for range in wanted {
            check(*range, nodes, used).map_err(|why| refused(*range, &why))?;
            let twice = match range {
                IpNet::V4(range) => v4.replace(*range).is_some(),
                IpNet::V6(range) => v6.replace(*range).is_some(),
            };
            if twice {
                return Err(refused(*range, "there is another range of the same IP version"));
            }
        }
        let none = || {
            Error::Unsupported("no range of addresses is free for hosts; give one: --addresses".to_string())
        };
        let prefix = prefix_for(nodes).ok_or_else(none)?;
        let free_v6 = || (0..=u16::MAX).map(nth_v6).find(|range| used.by((*range).into()).is_none());
        Ok(Ranges {
            v4: v4.or_else(|| free_v4(prefix, used)).ok_or_else(none)?,
            v6: v6.or_else(free_v6).ok_or_else(none)?,
        })
    }

    /// Addresses of a node: the second of the ranges for the first node, and so on.
    pub fn of(&self, node: NodeId) -> (Ipv4Addr, Ipv6Addr) {
        let number = node.0 + 1;
        let v4 = u32::from(self.v4.network()).wrapping_add(number);
        let v6 = u128::from(self.v6.network()).wrapping_add(number.into());
        (v4.into(), v6.into())
    }

    /// Both of them.
    pub fn both(&self) -> [IpNet; 2] {
        [self.v4.into(), self.v6.into()]
    }
}

impl std::fmt::Display for Ranges {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} and {}", self.v4, self.v6)
    }
}

fn refused(range: impl Into<IpNet>, why: &str) -> Error {
    Error::Unsupported(format!("--addresses {}: {why}", range.into()))
}

/// Why a range will not do.
fn check(range: IpNet, nodes: usize, used: &Used) -> Result<(), String> {
    if range.addr() != range.network() {
        return Err(format!(
            "it has bits after the first {}; the range is {}",
            range.prefix_len(),
            range.trunc()
        ));
    }
    let bits = u32::from(range.max_prefix_len() - range.prefix_len());
    // Neither the first nor the last address is a host's.
    if 1u128.checked_shl(bits).is_some_and(|size| size < nodes as u128 + 2) {
        return Err(format!("it is too small for {nodes} nodes"));
    }
    let unfit: &[&str] = if matches!(range, IpNet::V4(_)) {
        &["0.0.0.0/8", "127.0.0.0/8", "169.254.0.0/16", "224.0.0.0/3"]
    } else {
        &["::/127", "fe80::/10", "ff00::/8", "::ffff:0:0/96"]
    };
    let unfit = unfit.iter().filter_map(|text| text.parse::<IpNet>().ok()).find(|net| overlap(*net, range));
    if let Some(unfit) = unfit {
        return Err(format!("addresses of {unfit} are none of hosts"));
    }
    used.by(range).map_or(Ok(()), |what| Err(format!("it is in use on this machine: {what}")))
}

/// The longest prefix with room for so many nodes; `None` if there are too many.
fn prefix_for(nodes: usize) -> Option<u8> {
    let bits = u32::try_from(nodes + 2).ok()?.checked_next_power_of_two()?.trailing_zeros();
    let prefix = u8::try_from(32 - bits).ok()?.min(LONGEST_V4);
    (prefix > PREFERRED.prefix_len()).then_some(prefix)
}

fn free_v4(prefix: u8, used: &Used) -> Option<Ipv4Net> {
    let first = Ipv4Net::new(PREFERRED.addr(), prefix).ok()?;
    // A machine with an address in a private network has more there than its routes show: the rest of a company, of a cloud.
    if used.lives_in(PREFERRED.into()).is_none() && used.by(first.into()).is_none() {
        return Some(first);
    }
    free_block(POOLS, prefix, 0, used)
}

/// A free block: of the first pool in which nothing is in use, else of any. In a pool the search begins at this number.
fn free_block(pools: [Ipv4Net; 5], prefix: u8, from: usize, used: &Used) -> Option<Ipv4Net> {
    let (untouched, touched): (Vec<_>, Vec<_>) =
        pools.into_iter().partition(|pool| used.by_others((*pool).into()).is_none());
    untouched.into_iter().chain(touched).find_map(|pool| {
        let blocks = || pool.subnets(prefix).into_iter().flatten();
        let number = 1usize << prefix.checked_sub(pool.prefix_len())?;
        let order = blocks().skip(from % number).chain(blocks().take(from % number));
        // All of a pool may be in use.
        let mut order = order.take_while(|_| used.covering(pool.into()).is_none());
        order.find(|block| used.by((*block).into()).is_none())
    })
}

fn nth_v6(number: u16) -> Ipv6Net {
    let [a, b, c] = FIRST_V6;
    Ipv6Net::new_assert(Ipv6Addr::new(a, b, c.wrapping_add(number), 0, 0, 0, 0, 0), PREFIX_V6)
}

/// Addresses of a pair of devices between a host and the machine, outside and inside. Emulators that run at the same time have pairs
/// of their own, by the process's `id`.
///
/// # Errors
/// If none is free.
pub(crate) fn pair(id: u32, used: &Used) -> Result<[(Ipv4Net, Ipv6Net); 2], Error> {
    let [benchmarks, private, tens, homes, shared] = POOLS;
    // Shared address space first, which private networks do not use.
    let pools = [shared, benchmarks, private, tens, homes];
    let v4 = free_block(pools, 30, id as usize, used)
        .ok_or_else(|| Error::Unsupported("no address is free for a device of this machine".to_string()))?;
    let [a, b, c] = FIRST_V6;
    // 64 bits for the number of a network: no range for nodes has one.
    let v6 = |number: u16| Ipv6Addr::new(a, b, c, 1, (id >> 16) as u16, id as u16, 0, number);
    let end = |number: u16| {
        let v4 = Ipv4Addr::from(u32::from(v4.network()) + u32::from(number));
        (Ipv4Net::new_assert(v4, 30), Ipv6Net::new_assert(v6(number), 126))
    };
    Ok([end(1), end(2)])
}

fn overlap(one: IpNet, other: IpNet) -> bool {
    one.contains(&other) || other.contains(&one)
}

/// What addresses this machine uses.
#[derive(Clone, Debug, Default)]
pub struct Used(Vec<Claim>);

/// One of them.
#[derive(Clone, Debug)]
struct Claim {
    net: IpNet,
    kind: Kind,
    /// What it is, in words.
    what: String,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    /// Of an interface, or a route.
    Network,
    /// A device of another emulator's.
    Emulator,
    /// One address that is far away.
    Server,
    /// The scenario's own.
    Scenario,
}

impl Used {
    /// Of the network stack of the thread: routes of all tables, addresses of interfaces, and name servers.
    ///
    /// # Errors
    /// The message of `ip`.
    pub fn of_machine() -> Result<Used, Error> {
        let mut used = Used::default();
        for version in ["-4", "-6"] {
            used.add_routes(&namespace::show(&[version, "-json", "route", "show", "table", "all"])?);
        }
        used.add_interfaces(&namespace::show(&["-json", "address", "show"])?);
        for (server, file) in names::servers_of_machine() {
            used.add(server.into(), Kind::Server, format!("the name server {server} ({file})"));
        }
        Ok(used)
    }

    /// With the scenario's own ranges among them.
    pub fn with(mut self, ranges: &Ranges) -> Used {
        for range in ranges.both() {
            self.add(range, Kind::Scenario, format!("the scenario's hosts ({range})"));
        }
        self
    }

    /// What in a range is in use, in words.
    pub fn by(&self, range: IpNet) -> Option<&str> {
        self.find(|claim| overlap(claim.net, range))
    }

    /// The same, other emulators apart.
    fn by_others(&self, range: IpNet) -> Option<&str> {
        self.find(|claim| claim.kind != Kind::Emulator && overlap(claim.net, range))
    }

    /// What uses all of a range.
    fn covering(&self, range: IpNet) -> Option<&str> {
        self.find(|claim| claim.net.contains(&range))
    }

    /// The same for networks, which single servers are none of.
    fn lives_in(&self, range: IpNet) -> Option<&str> {
        self.find(|claim| claim.kind == Kind::Network && overlap(claim.net, range))
    }

    fn find(&self, matches: impl Fn(&&Claim) -> bool) -> Option<&str> {
        self.0.iter().find(matches).map(|claim| &claim.what[..])
    }

    fn add(&mut self, net: IpNet, kind: Kind, what: String) {
        self.0.push(Claim { net, kind, what });
    }

    fn add_routes(&mut self, json: &str) {
        for route in list(json) {
            let Some(net) = route["dst"].as_str().and_then(network) else { continue };
            let widest = if matches!(net, IpNet::V4(_)) { WIDEST_CLAIM_V4 } else { WIDEST_CLAIM_V6 };
            let device = route["dev"].as_str().unwrap_or("no device");
            if net.prefix_len() >= widest {
                self.add(net, kind_of(device), format!("the route to {net} ({device})"));
            }
        }
    }

    fn add_interfaces(&mut self, json: &str) {
        for interface in list(json) {
            let device = interface["ifname"].as_str().unwrap_or("?");
            for address in interface["addr_info"].as_array().into_iter().flatten() {
                let parts = (address["local"].as_str(), address["prefixlen"].as_u64());
                let (Some(local), Some(prefix)) = parts else { continue };
                let Some(net) = network(&format!("{local}/{prefix}")) else { continue };
                let what = format!("the address {local}/{prefix} of {device}");
                self.add(net, kind_of(device), what.clone());
                // The other end of a point-to-point link.
                if let Some(peer) = address["address"].as_str().and_then(network) {
                    self.add(peer, kind_of(device), what);
                }
            }
        }
    }
}

fn kind_of(device: &str) -> Kind {
    if device.starts_with(namespace::PREFIX) { Kind::Emulator } else { Kind::Network }
}

fn list(json: &str) -> Vec<serde_json::Value> {
    serde_json::from_str(json).unwrap_or_default()
}

/// A network or a single address, as `ip` prints it; `None` for `default`.
fn network(text: &str) -> Option<IpNet> {
    let single = || Some(IpNet::from(text.parse::<IpAddr>().ok()?));
    text.parse::<IpNet>().ok().or_else(single).map(|net| net.trunc())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn used(routes: &[&str], interfaces: &[(&str, &str)], servers: &[&str]) -> Used {
        let mut used = Used::default();
        let routes: Vec<_> =
            routes.iter().map(|to| serde_json::json!({ "dst": to, "dev": "eth0" })).collect();
        used.add_routes(&serde_json::json!(routes).to_string());
        for (device, address) in interfaces {
            let (local, prefix) = address.split_once('/').unwrap();
            let prefix: u64 = prefix.parse().unwrap();
            let address = serde_json::json!({ "local": local, "prefixlen": prefix });
            used.add_interfaces(
                &serde_json::json!([{ "ifname": device, "addr_info": [address] }]).to_string(),
            );
        }
        for server in servers {
            used.add(network(server).unwrap(), Kind::Server, format!("the name server {server}"));
        }
        used
    }

    fn first(nodes: usize, used: &Used) -> String {
        Ranges::choose(nodes, &[], used).unwrap().of(NodeId(0)).0.to_string()
    }

    #[test]
    fn addresses_count_from_one() {
        let ranges = Ranges::default();
        assert_eq!(ranges.of(NodeId(0)).0.to_string(), "10.0.0.1");
        assert_eq!(ranges.of(NodeId(299)).0.to_string(), "10.0.1.44");
        assert_eq!(ranges.of(NodeId(0)).1.to_string(), "fd6c:6f6e:6768::1");
        assert_eq!(ranges.of(NodeId(0x1_0000)).1.to_string(), "fd6c:6f6e:6768::1:1");
    }

    /// A name server at 10.255.255.53 alone does not make 10.0.0.1 anybody's.
    #[test]
    fn ten_is_preferred_where_the_machine_is_not_in_it() {
        assert_eq!(first(2, &used(&[], &[], &[])), "10.0.0.1");
        let home = used(&["default", "192.168.1.0/24"], &[("eth0", "192.168.1.7/24")], &["10.255.255.53"]);
        assert_eq!(first(2, &home), "10.0.0.1");
    }

    #[test]
    fn nothing_of_the_machine_s_is_in_the_range() {
        let machines = [
            // A home router and its name server, a VPC whose resolver is in a subnet of its own, its route to all of 10/8.
            used(&["10.0.0.0/24"], &[("eth0", "10.0.0.77/24")], &["10.0.0.1"]),
            used(&["10.3.0.0/20"], &[("eth0", "10.3.0.9/20")], &["10.0.0.2"]),
            used(&["10.0.0.0/8"], &[], &[]),
            used(&[], &[], &["10.0.0.2"]),
            // Everything private, Docker, Tailscale, and a proxy that takes 198.18.0.0/16.
            used(
                &["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "198.18.0.0/16"],
                &[("docker0", "172.17.0.1/16"), ("tailscale0", "100.101.2.3/32"), ("utun", "198.18.0.1/16")],
                &["100.100.100.100"],
            ),
        ];
        for machine in &machines {
            let ranges = Ranges::choose(3, &[], machine).unwrap();
            assert!(ranges.both().iter().all(|range| machine.by(*range).is_none()), "{ranges} {machine:?}");
            let [outside, inside] = pair(4711, &machine.clone().with(&ranges)).unwrap();
            assert!(machine.by(outside.0.into()).is_none() && !ranges.v4.contains(&outside.0.addr()));
            assert_ne!(outside.0.addr(), inside.0.addr());
        }
    }

    #[test]
    fn ways_to_everything_claim_nothing() {
        let vpn =
            used(&["default", "0.0.0.0/1", "128.0.0.0/1", "8.0.0.0/7"], &[("tun0", "172.27.1.6/24")], &[]);
        assert_eq!(first(2, &vpn), "10.0.0.1");
    }

    /// Within the shell of another emulator, whose host has an address of the preferred range.
    #[test]
    fn an_emulator_in_an_emulator_has_other_addresses() {
        let host = used(&["default"], &[("lh0", "10.0.0.2/32")], &[]);
        assert_eq!(first(2, &host), "198.18.0.1");
    }

    #[test]
    fn the_range_is_as_large_as_the_scenario() {
        assert_eq!([2, 254, 255, 1000, 65_534].map(|nodes| prefix_for(nodes).unwrap()), [24, 24, 23, 22, 16]);
        assert_eq!(prefix_for(1 << 24), None);
    }

    #[test]
    fn wanted_ranges_are_taken_or_refused_with_the_cause() {
        let machine = used(&["10.0.0.0/16"], &[], &["192.0.2.53"]);
        let choose = |texts: &[&str]| {
            let wanted: Vec<IpNet> = texts.iter().map(|text| text.parse().unwrap()).collect();
            Ranges::choose(3, &wanted, &machine).map_err(|why| why.to_string())
        };
        let ranges = choose(&["10.9.8.0/29", "fd12:3456::/64"]).unwrap();
        assert_eq!(ranges.of(NodeId(2)).0.to_string(), "10.9.8.3");
        assert_eq!(ranges.of(NodeId(2)).1.to_string(), "fd12:3456::3");
        for (wanted, why) in [
            (
                &["10.0.0.0/24"][..],
                "--addresses 10.0.0.0/24: it is in use on this machine: the route to 10.0.0.0/16 (eth0)",
            ),
            (&["192.0.2.0/24"], "the name server 192.0.2.53"),
            (&["10.9.8.0/30"], "it is too small for 3 nodes"),
            (&["10.9.8.1/24"], "the range is 10.9.8.0/24"),
            (&["127.0.0.0/24"], "127.0.0.0/8"),
            (&["224.0.0.0/4"], "none of hosts"),
            (&["fe80::/64"], "fe80::/10"),
            (&["10.9.8.0/24", "10.9.9.0/24"], "another range of the same IP version"),
        ] {
            let refused = choose(wanted).unwrap_err();
            assert!(refused.contains(why), "{refused}");
        }
    }

    #[test]
    fn emulators_at_the_same_time_have_pairs_of_their_own() {
        let none = used(&[], &[], &[]);
        assert_eq!(pair(1, &none).unwrap()[0].0.to_string(), "100.64.0.5/30");
        assert_eq!(pair(1, &none).unwrap()[1].1.to_string(), "fd6c:6f6e:6768:1:0:1:0:2/126");
        let other = used(&[], &[("lh-1", "100.64.0.5/30")], &[]);
        assert_eq!(pair(2, &other).unwrap()[0].0.to_string(), "100.64.0.9/30");
        // Numbers of processes repeat in a range of 2^20; what is taken is not taken again.
        assert_eq!(pair(0x10_0001, &other).unwrap()[0].0.to_string(), "100.64.0.9/30");
        // Tailscale has addresses, and rules for all of the shared space.
        let tailscale = used(&[], &[("tailscale0", "100.101.2.3/32")], &[]);
        assert_eq!(pair(1, &tailscale).unwrap()[0].0.to_string(), "198.18.0.5/30");
    }
}
