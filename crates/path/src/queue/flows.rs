//! A queue for each flow: which one a packet belongs to, and which one has most.

use super::Occupancy;
use super::fifo::Fifo;
use crate::{Packet, Random};
use longhaul_units::{Instant, Limit};
use std::collections::HashMap;

/// Finds the queue of a packet.
#[derive(Debug)]
enum Classifier {
    /// One queue for each flow, in order of first packets.
    Exact(HashMap<u64, usize>),
    /// So many queues; flows are spread over them by a hash with a random key.
    Hashed { queues: usize, key: u64 },
    /// The same with the flow that each queue belongs to: where that of the hash is taken, one beside it does as well.
    Sets { owners: Vec<Option<u64>>, key: u64 },
}

/// Queues beside each other of which a flow may have any.
const WAYS: usize = 8;

/// Queues of flows, each with a state of its own, and how much all of them hold.
pub(crate) struct FlowQueues<P, S> {
    classifier: Classifier,
    queues: Vec<FlowQueue<P, S>>,
    total: Occupancy,
}

pub(crate) struct FlowQueue<P, S> {
    fifo: Fifo<P>,
    pub state: S,
}

impl<P, S: Default> Default for FlowQueue<P, S> {
    fn default() -> Self {
        FlowQueue { fifo: Fifo::default(), state: S::default() }
    }
}

impl<P: Packet, S: Default> FlowQueues<P, S> {
    /// `queues` queues over which flows are spread by a hash, or one for each flow.
    pub fn new(queues: Option<u32>, mut random: Random) -> Self {
        let classifier = match queues {
            None => Classifier::Exact(HashMap::new()),
            Some(queues) => Classifier::Hashed { queues: queues as usize, key: random.bits() },
        };
        let queues = queues.map_or(0, |count| count as usize);
        FlowQueues {
            classifier,
            queues: (0..queues).map(|_| FlowQueue::default()).collect(),
            total: Occupancy::default(),
        }
    }

    /// `queues` queues, a multiple of eight, in sets of eight: see [`FlowQueues::place`].
    pub fn in_sets(queues: usize, mut random: Random) -> Self {
        FlowQueues {
            classifier: Classifier::Sets { owners: vec![None; queues], key: random.bits() },
            queues: (0..queues).map(|_| FlowQueue::default()).collect(),
            total: Occupancy::default(),
        }
    }

    /// The number of a flow's queue among sets: the one that it has had, or one that is free; if none is, the one of its hash,
    /// beside another flow's packets.
    pub fn place(&mut self, flow: u64, is_free: impl Fn(&S) -> bool) -> usize {
        let FlowQueues { classifier: Classifier::Sets { owners, key }, queues, .. } = self else {
            unreachable!("only sets have places");
        };
        let hash = mix(flow ^ *key);
        let first = spread(hash, queues.len());
        let set = first - first % WAYS;
        let mut ways = (0..WAYS).map(|step| set + (first + step) % WAYS);
        if let Some(own) = ways.clone().find(|way| owners[*way] == Some(hash)) {
            return own;
        }
        let taken = ways.find(|way| is_free(&queues[*way].state)).unwrap_or(first);
        owners[taken] = Some(hash);
        taken
    }

    /// The number of the packet's queue.
    pub fn classify(&mut self, packet: &P) -> usize {
        match &mut self.classifier {
            Classifier::Sets { .. } => unreachable!("a flow is placed in a set"),
            Classifier::Hashed { queues, key } => spread(mix(packet.flow() ^ *key), *queues),
            Classifier::Exact(known) => {
                let next = known.len();
                let number = *known.entry(packet.flow()).or_insert(next);
                if number == self.queues.len() {
                    self.queues.push(FlowQueue::default());
                }
                number
            }
        }
    }

    pub fn push(&mut self, queue: usize, now: Instant, packet: P) {
        self.total.add(packet.wire_len());
        self.queues[queue].fifo.push(now, packet);
    }
    pub fn pop(&mut self, queue: usize) -> Option<(Instant, P)> {
        let taken = self.queues[queue].fifo.pop()?;
        self.total.remove(taken.1.wire_len());
        Some(taken)
    }
    pub fn pop_newest(&mut self, queue: usize) -> Option<P> {
        let (_, taken) = self.queues[queue].fifo.pop_newest()?;
        self.total.remove(taken.wire_len());
        Some(taken)
    }
    /// Works on one queue's packets and state.
    pub fn with<R>(&mut self, queue: usize, work: impl FnOnce(&mut Fifo<P>, &mut S) -> R) -> R {
        let FlowQueue { fifo, state } = &mut self.queues[queue];
        let before = fifo.occupancy();
        let result = work(fifo, state);
        let after = fifo.occupancy();
        self.total.packets = self.total.packets + after.packets - before.packets;
        self.total.bytes = self.total.bytes + after.bytes - before.bytes;
        result
    }
    pub fn state(&mut self, queue: usize) -> &mut S {
        &mut self.queues[queue].state
    }
    pub fn fifo(&self, queue: usize) -> &Fifo<P> {
        &self.queues[queue].fifo
    }
    /// The queue with the most bytes, if there is any packet.
    pub fn longest(&self) -> Option<usize> {
        let bytes = |queue: &usize| self.queues[*queue].fifo.occupancy().bytes;
        (0..self.queues.len()).max_by_key(bytes).filter(|queue| bytes(queue) > 0)
    }
    pub fn total(&self) -> Occupancy {
        self.total
    }
    /// True if what waits, with the packet in transmission, is within the limit.
    pub fn within(&self, limit: Limit, in_service: u32) -> bool {
        self.total.with(in_service).is_within(limit)
    }
}

/// A place among `count` by the high bits of a hash.
fn spread(hash: u64, count: usize) -> usize {
    ((u128::from(hash) * count as u128) >> 64) as usize
}

/// A number of its own for each pair of numbers, as good as surely.
pub(super) fn of_pair([one, other]: [u64; 2]) -> u64 {
    mix(mix(one) ^ other)
}

/// Spreads the bits of a number (the last step of SplitMix64, Steele, Lea and Flood 2014).
fn mix(mut bits: u64) -> u64 {
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Numbered, of_flow};
    use super::*;

    #[test]
    fn each_flow_has_its_own_queue() {
        let mut flows: FlowQueues<Numbered, ()> = FlowQueues::new(None, Random::stream(1, "flows"));
        let numbers: Vec<usize> = [7, 3, 7, 900].map(|flow| flows.classify(&of_flow(flow, 0, 100))).to_vec();
        assert_eq!(numbers, [0, 1, 0, 2]);
    }

    /// 10,000 flows over 100 queues: about 100 each, standard deviation 10.
    #[test]
    fn a_hash_spreads_flows_evenly_and_depends_on_its_key() {
        let spread = |seed| {
            let mut flows: FlowQueues<Numbered, ()> =
                FlowQueues::new(Some(100), Random::stream(seed, "flows"));
            (0..10_000).map(|flow| flows.classify(&of_flow(flow, 0, 100))).collect::<Vec<_>>()
        };
        let mut counts = [0i32; 100];
        spread(1).iter().for_each(|queue| counts[*queue] += 1);
        assert!(counts.iter().all(|count| (count - 100).abs() < 45), "{counts:?}");
        assert_ne!(spread(1), spread(2));
        assert_eq!(spread(1), spread(1));
    }

    /// 100 flows at once over 1024 queues share none, where a plain hash has 100 * 99 / 2 / 1024 = 4.8 pairs on average that do.
    #[test]
    fn flows_in_sets_keep_apart() {
        for seed in 0..200 {
            let mut flows: FlowQueues<Numbered, bool> =
                FlowQueues::in_sets(1024, Random::stream(seed, "flows"));
            let mut places = std::collections::BTreeSet::new();
            for flow in 0..100 {
                let place = flows.place(flow, |taken| !taken);
                *flows.state(place) = true;
                places.insert(place);
            }
            assert_eq!(places.len(), 100, "seed {seed}");
        }
    }

    /// Eight flows of a set have its queues, the ninth shares one; a flow finds its queue again until another one has taken it.
    #[test]
    fn a_full_set_is_shared() {
        let mut flows: FlowQueues<Numbered, bool> = FlowQueues::in_sets(8, Random::stream(1, "flows"));
        let places: Vec<usize> = (0..8)
            .map(|flow| {
                let place = flows.place(flow, |taken| !taken);
                *flows.state(place) = true;
                place
            })
            .collect();
        let mut sorted = places.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, (0..8).collect::<Vec<_>>());
        assert_eq!((0..8).map(|flow| flows.place(flow, |taken| !taken)).collect::<Vec<_>>(), places);
        let shared = flows.place(8, |taken| !taken);
        assert_eq!(flows.place(8, |taken| !taken), shared);
        *flows.state(places[3]) = false;
        assert_eq!(flows.place(3, |taken| !taken), places[3], "it is still its own");
    }

    #[test]
    fn the_longest_queue_is_found_by_bytes() {
        let mut flows: FlowQueues<Numbered, ()> = FlowQueues::new(None, Random::stream(1, "flows"));
        assert_eq!(flows.longest(), None);
        for (flow, len) in [(1, 100), (1, 100), (2, 1500), (3, 1000)] {
            let packet = of_flow(flow, 0, len);
            let queue = flows.classify(&packet);
            flows.push(queue, Instant::ZERO, packet);
        }
        assert_eq!(flows.longest(), Some(1));
        flows.pop(1);
        assert_eq!(flows.longest(), Some(2));
        assert_eq!((flows.total().packets, flows.total().bytes), (3, 1200));
    }
}
