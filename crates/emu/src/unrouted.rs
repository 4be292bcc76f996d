//! Packets that lead nowhere: how many, to whom, and why.

use crate::icmp::is_for_many;
use std::net::IpAddr;

/// Addresses that are listed for each cause; packets to others are only counted.
const MOST_LISTED: usize = 8;
/// Protocol number of IGMP (RFC 3376), and types of ICMPv6 by which hosts find their neighbours and tell routers of their groups (RFC
/// 4861, RFC 2710, RFC 3810): what kernels send by themselves, whatever programs do.
const IGMP: u8 = 2;
const HOUSEKEEPING: [std::ops::RangeInclusive<u8>; 2] = [130..=137, 143..=143];

/// Why a packet leads nowhere.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Cause {
    /// It is for a group, or for everybody.
    Many,
    /// No host has the address, and there is no way out.
    NoHost,
    /// There is a way out, but this machine has no route for IPv6.
    NoIpv6,
}

impl Cause {
    /// A constant name.
    fn name(self) -> &'static str {
        match self {
            Cause::Many => "multicast",
            Cause::NoHost => "no host",
            Cause::NoIpv6 => "no IPv6",
        }
    }

    fn sentence(self) -> &'static str {
        match self {
            Cause::Many => "to multicast or broadcast addresses, which the path does not carry",
            Cause::NoHost => {
                "to addresses that no host of the scenario has, refused with ICMP (with --internet the far host hands them on)"
            }
            Cause::NoIpv6 => {
                "to IPv6 addresses outside, refused with ICMPv6, since this machine has no route for IPv6"
            }
        }
    }
}

/// See above.
#[derive(Clone, Default, Debug)]
pub struct Unrouted {
    listed: Vec<(Cause, IpAddr, u64)>,
    /// Packets to addresses that are not listed.
    others: Vec<(Cause, u64)>,
}

impl Unrouted {
    /// Counts a packet.
    pub fn count(&mut self, cause: Cause, to: IpAddr) {
        if let Some((.., count)) =
            self.listed.iter_mut().find(|(why, address, _)| (*why, *address) == (cause, to))
        {
            *count += 1;
        } else if self.of(cause).count() < MOST_LISTED {
            self.listed.push((cause, to, 1));
        } else if let Some((_, count)) = self.others.iter_mut().find(|(why, _)| *why == cause) {
            *count += 1;
        } else {
            self.others.push((cause, 1));
        }
    }

    fn of(&self, cause: Cause) -> impl Iterator<Item = &(Cause, IpAddr, u64)> {
        self.listed.iter().filter(move |(why, ..)| *why == cause)
    }

    fn not_listed(&self, cause: Cause) -> u64 {
        self.others.iter().find(|(why, _)| *why == cause).map_or(0, |(_, count)| *count)
    }

    /// A sentence for each cause.
    pub fn sentences(&self) -> Vec<String> {
        let mut sentences = vec![];
        for cause in [Cause::Many, Cause::NoHost, Cause::NoIpv6] {
            let others = self.not_listed(cause);
            let all = others + self.of(cause).map(|(.., count)| count).sum::<u64>();
            let mut list: Vec<String> =
                self.of(cause).map(|(_, to, count)| format!("{to}: {count}")).collect();
            if others > 0 {
                list.push(format!("others: {others}"));
            }
            if all > 0 {
                let packets = if all == 1 { "packet was" } else { "packets were" };
                sentences.push(format!(
                    "{all} {packets} {}; by address {}",
                    cause.sentence(),
                    list.join(", ")
                ));
            }
        }
        sentences
    }

    /// Objects with cause, address and count.
    pub fn to_json(&self) -> serde_json::Value {
        let object = |cause: Cause, to: Option<IpAddr>, count: u64| serde_json::json!({ "cause": cause.name(), "address": to.map(|to| to.to_string()), "packets": count });
        let listed = self.listed.iter().map(|(cause, to, count)| object(*cause, Some(*to), *count));
        let others = self.others.iter().map(|(cause, count)| object(*cause, None, *count));
        listed.chain(others).collect()
    }
}

/// True for what a kernel sends by itself to its neighbours: nobody misses it.
pub(crate) fn is_housekeeping(protocol: u8, to: IpAddr, payload: &[u8]) -> bool {
    let kind = payload.first().copied().unwrap_or(0);
    // A list of groups has an option for routers before it.
    let options_first = protocol == 0 && to.is_ipv6();
    is_for_many(to)
        && (protocol == IGMP
            || options_first
            || protocol == crate::icmp::ICMPV6 && HOUSEKEEPING.iter().any(|range| range.contains(&kind)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_and_addresses_are_given_for_each_cause() {
        let mut unrouted = Unrouted::default();
        assert_eq!(unrouted.sentences(), Vec::<String>::new());
        let address = |number: u8| IpAddr::from([192, 0, 2, number]);
        unrouted.count(Cause::NoHost, address(77));
        unrouted.count(Cause::NoHost, address(77));
        unrouted.count(Cause::Many, [224, 0, 0, 251].into());
        let sentences = unrouted.sentences();
        assert_eq!(sentences.len(), 2);
        assert!(sentences[0].starts_with("1 packet was to multicast"), "{sentences:?}");
        assert!(sentences[0].ends_with("by address 224.0.0.251: 1"), "{sentences:?}");
        assert!(sentences[1].starts_with("2 packets were to addresses that no host"), "{sentences:?}");
        assert!(sentences[1].ends_with("by address 192.0.2.77: 2"), "{sentences:?}");
        assert_eq!(
            unrouted.to_json()[0],
            serde_json::json!({ "cause": "no host", "address": "192.0.2.77", "packets": 2 })
        );
    }

    /// A scan of a network of any size takes no more memory than this.
    #[test]
    fn few_addresses_are_listed_and_all_packets_are_counted() {
        let mut unrouted = Unrouted::default();
        for number in 0..=255 {
            unrouted.count(Cause::NoHost, [198, 51, 100, number].into());
        }
        assert_eq!(unrouted.listed.len(), MOST_LISTED);
        assert!(unrouted.sentences()[0].starts_with("256 packets"));
        assert!(unrouted.sentences()[0].ends_with("others: 248"));
    }

    #[test]
    fn what_kernels_send_by_themselves_is_missed_by_nobody() {
        let group = |text: &str| text.parse::<IpAddr>().unwrap();
        assert!(is_housekeeping(2, group("224.0.0.22"), &[0x22]));
        assert!(is_housekeeping(58, group("ff02::2"), &[133]));
        assert!(is_housekeeping(0, group("ff02::16"), &[58]));
        assert!(!is_housekeeping(58, group("ff02::1"), &[128]), "a ping");
        assert!(!is_housekeeping(17, group("224.0.0.251"), &[0]), "a name in the neighbourhood");
        assert!(!is_housekeeping(58, group("2001:db8::1"), &[133]));
    }
}
