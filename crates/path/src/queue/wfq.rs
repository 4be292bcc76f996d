//! Weighted fair queueing in its self-clocked form (Golestani 1994): each packet gets the virtual time at which it would finish
//! if flows were served bit by bit in proportion to their weights; the least goes first. The virtual time of the system is
//! that of the packet in service, so that nothing needs to be simulated beside it.

use super::flows::FlowQueues;
use super::{Discipline, Occupancy, Parameters, Queue, Report, Setup};
use crate::settings::{Deserialize, JsonSchema, Serialize};
use crate::{DropCause, Packet, Random};
use longhaul_units::{Instant, Limit, QueueLimit};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// Parameters of weighted fair queueing.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WfqSpec {
    /// Most packets or bytes in the system. When it is exceeded, the longest queue loses its newest packet.
    #[schemars(extend("x-exclusiveMinimum" = "0 packets"))]
    pub limit: QueueLimit,
    /// Spread flows by a hash over so many queues; without it each flow has a queue of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 65536))]
    pub queues: Option<u32>,
}

impl Parameters for WfqSpec {
    fn limit(&self) -> QueueLimit {
        self.limit
    }
    fn limits_mut(&mut self) -> Vec<&mut QueueLimit> {
        vec![&mut self.limit]
    }
    fn build<P: Packet + Send + 'static>(&self, setup: &Setup<'_>) -> Discipline<P> {
        Discipline::queue(Wfq::new(self, setup.random("queue")))
    }
}

/// Virtual time in 2^-32 bytes at weight 1.
type Tag = u128;

const BYTE: Tag = 1 << 32;

/// Finishing tags of a flow's packets.
#[derive(Debug, Default)]
struct Tags {
    waiting: VecDeque<Tag>,
    /// Of the last packet that was served; later ones are in `waiting`.
    served: Tag,
}

impl Tags {
    fn last(&self) -> Tag {
        self.waiting.back().copied().unwrap_or(self.served)
    }
}

/// Weighted fair queueing at work.
pub struct Wfq<P> {
    limit: Limit,
    flows: FlowQueues<P, Tags>,
    /// Tags of the oldest packet of each flow; of equal ones the older comes first. Those of packets that were dropped
    /// remain, and are passed over.
    heads: BinaryHeap<Reverse<(Tag, u64, usize)>>,
    /// Heads that have been put in so far.
    order: u64,
    /// Tag of the packet in service.
    virtual_time: Tag,
}

impl<P: Packet> Wfq<P> {
    /// Empty queues; `random` keys the hash.
    pub fn new(spec: &WfqSpec, random: Random) -> Self {
        Wfq {
            limit: spec.limit.fixed(),
            flows: FlowQueues::new(spec.queues, random),
            heads: BinaryHeap::new(),
            order: 0,
            virtual_time: 0,
        }
    }

    fn put_head(&mut self, tag: Tag, queue: usize) {
        self.heads.push(Reverse((tag, self.order, queue)));
        self.order += 1;
    }
}

impl<P: Packet + Send> Queue<P> for Wfq<P> {
    fn enqueue(&mut self, now: Instant, packet: P, in_service: u32, report: &mut Report<P>) {
        let queue = self.flows.classify(&packet);
        let service = Tag::from(packet.wire_len()) * BYTE / Tag::from(packet.weight());
        let tags = self.flows.state(queue);
        let tag = tags.last().max(self.virtual_time) + service;
        let first = tags.waiting.is_empty();
        tags.waiting.push_back(tag);
        self.flows.push(queue, now, packet);
        if first {
            self.put_head(tag, queue);
        }
        while !self.flows.within(self.limit, in_service) {
            let Some(longest) = self.flows.longest() else { return };
            self.flows.state(longest).waiting.pop_back();
            report
                .dropped
                .extend(self.flows.pop_newest(longest).map(|packet| (packet, DropCause::QueueFull)));
        }
    }

    fn dequeue(&mut self, _now: Instant, _report: &mut Report<P>) -> Option<(Instant, P)> {
        while let Some(Reverse((tag, _, queue))) = self.heads.pop() {
            let tags = self.flows.state(queue);
            if tags.waiting.front() != Some(&tag) {
                continue;
            }
            tags.waiting.pop_front();
            tags.served = tag;
            if let Some(next) = tags.waiting.front().copied() {
                self.put_head(next, queue);
            }
            self.virtual_time = tag;
            return self.flows.pop(queue);
        }
        None
    }

    fn waiting(&self) -> Occupancy {
        self.flows.total()
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Numbered, of_flow};
    use super::*;

    fn wfq(limit: u64) -> Wfq<Numbered> {
        Wfq::new(&WfqSpec { limit: Limit::Packets(limit).into(), queues: None }, Random::stream(1, "wfq"))
    }
    fn put(wfq: &mut Wfq<Numbered>, packets: &[(u64, u32, u8)]) -> Report<Numbered> {
        let mut report = Report::default();
        for (id, (flow, len, weight)) in packets.iter().enumerate() {
            let packet = Numbered { weight: *weight, ..of_flow(*flow, id as u32, *len) };
            wfq.enqueue(Instant::ZERO, packet, 0, &mut report);
        }
        report
    }
    fn served(wfq: &mut Wfq<Numbered>, count: usize) -> Vec<u32> {
        let mut report = Report::default();
        (0..count)
            .filter_map(|_| wfq.dequeue(Instant::ZERO, &mut report))
            .map(|(_, packet)| packet.id)
            .collect()
    }

    /// Golestani 1994, equations (6) and (7): F = L / r + max(F before, v), v = F of the packet in service. Tags here: flow 1
    /// 1000, 2000, 3000; flow 2 400, 800, 1200; flow 3 (weight 2) 750.
    #[test]
    fn packets_leave_in_order_of_their_tags() {
        let mut wfq = wfq(100);
        let packets =
            [(1, 1000, 1), (1, 1000, 1), (1, 1000, 1), (2, 400, 1), (2, 400, 1), (2, 400, 1), (3, 1500, 2)];
        put(&mut wfq, &packets);
        assert_eq!(served(&mut wfq, 4), [3, 6, 4, 0]);
        // v = 1000 now: a packet of 100 B of the new flow 4 gets 1100, one of flow 1 follows its others (3000 + 100).
        let mut report = Report::default();
        wfq.enqueue(Instant::ZERO, of_flow(4, 10, 100), 0, &mut report);
        wfq.enqueue(Instant::ZERO, of_flow(1, 11, 100), 0, &mut report);
        assert_eq!(served(&mut wfq, 9), [10, 5, 1, 2, 11]);
    }

    /// Bytes are in proportion to the weights, whatever the packets' sizes.
    #[test]
    fn weights_share_the_link() {
        let mut wfq = wfq(100_000);
        let mut packets = vec![];
        for _ in 0..1000 {
            packets.extend([(1, 1500, 1), (2, 1000, 2), (2, 1000, 2), (2, 1000, 2), (3, 500, 5)]);
            packets.extend([(3, 500, 5); 14]);
        }
        put(&mut wfq, &packets);
        let mut bytes = [0u64; 4];
        for id in served(&mut wfq, 8000) {
            let (flow, len, _) = packets[id as usize];
            bytes[flow as usize] += u64::from(len);
        }
        let unit = bytes[1];
        assert!(unit > 500_000);
        assert!(bytes[2].abs_diff(2 * unit) <= 3000, "{bytes:?}");
        assert!(bytes[3].abs_diff(5 * unit) <= 7500, "{bytes:?}");
    }

    /// A flow that was away gets no credit for that time, and loses none.
    #[test]
    fn an_idle_flow_starts_at_the_present() {
        let mut wfq = wfq(100);
        put(&mut wfq, &[(1, 1000, 1); 4]);
        assert_eq!(served(&mut wfq, 2), [0, 1]);
        let mut report = Report::default();
        // v = 2000: flow 2 gets 3000 and 4000, like the two of flow 1 that wait since before.
        (10..12).for_each(|id| wfq.enqueue(Instant::ZERO, of_flow(2, id, 1000), 0, &mut report));
        assert_eq!(served(&mut wfq, 4), [2, 10, 3, 11]);
    }

    /// A dropped packet leaves no gap in its flow's tags.
    #[test]
    fn the_longest_queue_loses_its_newest() {
        let mut wfq = wfq(3);
        let report = put(&mut wfq, &[(1, 1000, 1), (1, 1000, 1), (1, 1000, 1), (2, 1000, 1), (2, 900, 1)]);
        let lost: Vec<u32> = report.dropped.iter().map(|(packet, _)| packet.id).collect();
        assert_eq!(lost, [2, 1]);
        let mut report = Report::default();
        assert_eq!(served(&mut wfq, 1), [0]);
        wfq.enqueue(Instant::ZERO, of_flow(1, 20, 800), 0, &mut report);
        assert_eq!(served(&mut wfq, 3), [3, 20, 4]);
    }
}
