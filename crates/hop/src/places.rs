//! Places for strangers: those who have opened a connection and not yet shown a key that is known. They are counted for each network and in
//! all, so that one of them locks nobody else out. Addresses from which somebody has shown such a key have places of their own.

use std::collections::{HashMap, HashSet, VecDeque};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Addresses that are remembered.
const KNOWN: usize = 4096;

/// Counts strangers.
#[derive(Debug)]
pub struct Places {
    each: usize,
    all: usize,
    taken: HashMap<IpAddr, usize>,
    total: usize,
    known: HashSet<IpAddr>,
    /// The same in the order in which they came.
    order: VecDeque<IpAddr>,
}

impl Places {
    /// So many places for each network (/24 of IPv4, /56 of IPv6), and in all. As many again in all are for known addresses.
    pub fn new(each: usize, all: usize) -> Self {
        let (taken, known) = (HashMap::new(), HashSet::new());
        Places { each, all, taken, total: 0, known, order: VecDeque::new() }
    }

    /// Strangers that have a place.
    pub fn total(&self) -> usize {
        self.total
    }

    /// True while so many are taken that addresses should be confirmed before anything is kept of them.
    pub fn are_short(&self) -> bool {
        self.total >= self.all / 8
    }

    /// Takes a place; false if there is none.
    pub fn enter(&mut self, from: IpAddr) -> bool {
        let network = network(from);
        let here = self.taken.get(&network).copied().unwrap_or(0);
        let free = if self.known.contains(&from.to_canonical()) {
            self.total < 2 * self.all
        } else {
            self.total < self.all && here < self.each
        };
        if free {
            self.taken.insert(network, here + 1);
            self.total += 1;
        }
        free
    }

    /// Gives it back.
    pub fn leave(&mut self, from: IpAddr) {
        let network = network(from);
        let Some(count) = self.taken.get_mut(&network) else { return };
        *count -= 1;
        self.total -= 1;
        if *count == 0 {
            self.taken.remove(&network);
        }
    }

    /// Somebody has shown a key from there.
    pub fn know(&mut self, from: IpAddr) {
        let from = from.to_canonical();
        if !self.known.insert(from) {
            return;
        }
        self.order.push_back(from);
        if self.order.len() > KNOWN {
            self.order.pop_front().map(|oldest| self.known.remove(&oldest));
        }
    }
}

/// The network that one customer has, mostly.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(v4) => Ipv4Addr::from(u32::from(v4) & !0xff).into(),
        IpAddr::V6(v6) => Ipv6Addr::from(u128::from(v6) >> 72 << 72).into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn one_network_locks_no_other_out() {
        let mut places = Places::new(2, 5);
        let enter = |places: &mut Places, from: &str| places.enter(address(from));
        assert!(enter(&mut places, "192.0.2.1") && enter(&mut places, "::ffff:192.0.2.2"));
        assert!(!enter(&mut places, "192.0.2.3"), "the same network");
        assert!(enter(&mut places, "2001:db8::1") && enter(&mut places, "2001:db8:0:ff::1"));
        assert!(!enter(&mut places, "2001:db8:0:1::1") && enter(&mut places, "2001:db8:0:100::1"));
        assert!(!enter(&mut places, "198.51.100.1"), "all are taken");
        places.leave(address("192.0.2.2"));
        assert!(enter(&mut places, "198.51.100.1"));
    }

    #[test]
    fn known_addresses_have_places_of_their_own() {
        let mut places = Places::new(2, 2);
        places.know(address("192.0.2.9"));
        assert!(places.enter(address("192.0.2.1")) && places.enter(address("192.0.2.2")));
        assert!(!places.enter(address("192.0.2.3")) && places.enter(address("192.0.2.9")));
        assert!(places.enter(address("192.0.2.9")) && !places.enter(address("192.0.2.9")), "bounded, too");
        (0..2 * KNOWN as u32).for_each(|number| places.know(Ipv4Addr::from(number).into()));
        assert_eq!((places.known.len(), places.order.len()), (KNOWN, KNOWN));
    }
}
