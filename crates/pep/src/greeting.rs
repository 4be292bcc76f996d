//! Clients of the proxies that have not yet named a server: they are in no table, so they are counted here. Without a bound, one client
//! with many connections on which nothing comes would take all descriptors.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard};

/// Connections whose greeting is under way, by client.
#[derive(Debug, Default)]
pub(crate) struct Greetings(Mutex<HashMap<IpAddr, usize>>);

/// One of them. Dropped, it is over.
#[derive(Debug)]
pub(crate) struct Guest<'a> {
    all: &'a Greetings,
    client: IpAddr,
}

impl Greetings {
    fn lock(&self) -> MutexGuard<'_, HashMap<IpAddr, usize>> {
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Counts a connection; `None` if the client has `each` already, or all clients together have `most`.
    pub fn enter(&self, client: IpAddr, each: usize, most: usize) -> Option<Guest<'_>> {
        let client = client.to_canonical();
        let mut counts = self.lock();
        if counts.values().sum::<usize>() >= most || counts.get(&client).is_some_and(|count| *count >= each) {
            return None;
        }
        *counts.entry(client).or_default() += 1;
        Some(Guest { all: self, client })
    }
}

impl Drop for Guest<'_> {
    fn drop(&mut self) {
        let mut counts = self.all.lock();
        if let Some(count) = counts.get_mut(&self.client) {
            *count -= 1;
            if *count == 0 {
                counts.remove(&self.client);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_client_and_all_together_are_bounded() {
        let greetings = Greetings::default();
        let client = |last: u8| IpAddr::from([10, 0, 0, last]);
        let first: Vec<Guest<'_>> = (0..2).filter_map(|_| greetings.enter(client(1), 2, 3)).collect();
        assert_eq!(first.len(), 2);
        let mapped = std::net::Ipv4Addr::new(10, 0, 0, 1).to_ipv6_mapped();
        assert!(greetings.enter(mapped.into(), 2, 3).is_none(), "the same client by another name");
        let other = greetings.enter(client(2), 2, 3);
        assert!(other.is_some() && greetings.enter(client(3), 2, 3).is_none(), "all together");
        drop(first);
        assert!(greetings.enter(client(1), 2, 3).is_some());
        drop(other);
        assert!(greetings.lock().is_empty());
    }
}
