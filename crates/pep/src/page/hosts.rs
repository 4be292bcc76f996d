//! What each client has carried, in bounded memory.

use serde::Serialize;
use std::collections::HashMap;
use std::net::IpAddr;

/// Clients that are counted by themselves; later ones are counted together.
pub const MOST: usize = 256;

/// Numbers of a client.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Carried {
    /// Connections alive.
    pub open: u64,
    /// Connections that have ended.
    pub ended: u64,
    /// Bytes to the client.
    pub down: u64,
    /// Bytes of the client.
    pub up: u64,
}

impl Carried {
    fn add(&mut self, other: &Carried) {
        self.open += other.open;
        self.ended += other.ended;
        self.down += other.down;
        self.up += other.up;
    }
}

/// A client with its numbers.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Host {
    /// Its address; none for all others together.
    pub address: Option<IpAddr>,
    /// The numbers.
    #[serde(flatten)]
    pub carried: Carried,
}

/// Clients since the start of the node.
#[derive(Clone, Debug, Default)]
pub struct Hosts {
    known: HashMap<IpAddr, Carried>,
    others: Carried,
}

impl Hosts {
    /// Adds to what a client has carried.
    pub fn add(&mut self, client: IpAddr, carried: &Carried) {
        let has_room = self.known.len() < MOST;
        match self.known.get_mut(&client) {
            Some(known) => known.add(carried),
            None if has_room => {
                self.known.insert(client, *carried);
            }
            None => self.others.add(carried),
        }
    }

    /// Those with the most bytes first, `most` of them and all others together.
    pub fn listed(&self, most: usize) -> Vec<Host> {
        let mut all: Vec<(IpAddr, Carried)> =
            self.known.iter().map(|(ip, carried)| (*ip, *carried)).collect();
        all.sort_by_key(|(ip, carried)| (std::cmp::Reverse(carried.down + carried.up), *ip));
        let mut others = self.others;
        all.iter().skip(most).for_each(|(_, carried)| others.add(carried));
        let mut listed: Vec<Host> = all
            .iter()
            .take(most)
            .map(|(ip, carried)| Host { address: Some(*ip), carried: *carried })
            .collect();
        if others != Carried::default() {
            listed.push(Host { address: None, carried: others });
        }
        listed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_beyond_the_bound_are_counted_together() {
        let mut hosts = Hosts::default();
        let one = Carried { open: 0, ended: 1, down: 10, up: 1 };
        for last in 0..1000u32 {
            hosts.add(IpAddr::V4((0x0a00_0000 + last).into()), &one);
        }
        hosts.add("10.0.0.5".parse().unwrap(), &one);
        let listed = hosts.listed(20);
        assert_eq!(listed.len(), 21);
        assert_eq!(
            listed[0],
            Host {
                address: "10.0.0.5".parse().ok(),
                carried: Carried { open: 0, ended: 2, down: 20, up: 2 }
            }
        );
        assert_eq!((listed[20].address, listed[20].carried.ended), (None, 1001 - 21));
    }
}
