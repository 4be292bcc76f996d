//! Deficit round robin (Shreedhar and Varghese 1995): flows take turns, and at each turn may send a quantum of bytes; what a
//! packet is too large for is kept for the next turn.

use super::flows::FlowQueues;
use super::{Discipline, Occupancy, Parameters, Queue, Report, Setup};
use crate::settings::{Deserialize, JsonSchema, Serialize};
use crate::{DropCause, Packet, Random};
use longhaul_units::{Instant, Limit, QueueLimit, Size};
use std::collections::VecDeque;

/// Parameters of deficit round robin.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DrrSpec {
    /// Most packets or bytes in the system. When it is exceeded, the longest queue loses its newest packet.
    #[schemars(extend("x-exclusiveMinimum" = "0 packets"))]
    pub limit: QueueLimit,
    /// What a flow of weight 1 may send at each turn.
    #[serde(default = "full_packet")]
    #[schemars(extend("x-exclusiveMinimum" = "0 B", "x-maximum" = "1 GB"))]
    pub quantum: Size,
    /// Spread flows by a hash over so many queues; without it each flow has a queue of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 65536))]
    pub queues: Option<u32>,
}

impl Parameters for DrrSpec {
    fn limit(&self) -> QueueLimit {
        self.limit
    }
    fn limits_mut(&mut self) -> Vec<&mut QueueLimit> {
        vec![&mut self.limit]
    }
    fn build<P: Packet + Send + 'static>(&self, setup: &Setup<'_>) -> Discipline<P> {
        Discipline::queue(Drr::new(self, setup.random("queue")))
    }
}

fn full_packet() -> Size {
    Size::from_bytes(1500)
}

/// A flow's turn.
#[derive(Debug, Default)]
struct Turn {
    active: bool,
    /// It has been given its quantum and is still sending.
    under_way: bool,
    deficit: u64,
}

/// Deficit round robin at work.
pub struct Drr<P> {
    limit: Limit,
    quantum: u64,
    flows: FlowQueues<P, Turn>,
    /// Flows with packets, the one whose turn it is first.
    active: VecDeque<usize>,
}

impl<P: Packet> Drr<P> {
    /// Empty queues; `random` keys the hash.
    pub fn new(spec: &DrrSpec, random: Random) -> Self {
        Drr {
            limit: spec.limit.fixed(),
            quantum: spec.quantum.as_bytes(),
            flows: FlowQueues::new(spec.queues, random),
            active: VecDeque::new(),
        }
    }

    /// The flow whose turn it is has nothing to send, and loses what it was allowed.
    fn end_turns(&mut self, queue: usize) {
        *self.flows.state(queue) = Turn::default();
        self.active.pop_front();
    }
}

impl<P: Packet + Send> Queue<P> for Drr<P> {
    fn enqueue(&mut self, now: Instant, packet: P, in_service: u32, report: &mut Report<P>) {
        let queue = self.flows.classify(&packet);
        self.flows.push(queue, now, packet);
        let turn = self.flows.state(queue);
        if !turn.active {
            *turn = Turn { active: true, ..Turn::default() };
            self.active.push_back(queue);
        }
        while !self.flows.within(self.limit, in_service) {
            let Some(longest) = self.flows.longest() else { return };
            report
                .dropped
                .extend(self.flows.pop_newest(longest).map(|packet| (packet, DropCause::QueueFull)));
        }
    }

    fn dequeue(&mut self, _now: Instant, _report: &mut Report<P>) -> Option<(Instant, P)> {
        loop {
            let queue = *self.active.front()?;
            let head = self.flows.fifo(queue).head(|packet| (packet.wire_len(), packet.weight()));
            let Some((len, weight)) = head else {
                // Its packets were dropped.
                self.end_turns(queue);
                continue;
            };
            let turn = self.flows.state(queue);
            if !turn.under_way {
                turn.under_way = true;
                turn.deficit += self.quantum * u64::from(weight);
            }
            if turn.deficit < u64::from(len) {
                turn.under_way = false;
                self.active.rotate_left(1);
                continue;
            }
            turn.deficit -= u64::from(len);
            let next = self.flows.pop(queue);
            if self.flows.fifo(queue).is_empty() {
                self.end_turns(queue);
            }
            return next;
        }
    }

    fn waiting(&self) -> Occupancy {
        self.flows.total()
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Numbered, of_flow};
    use super::*;

    fn drr(quantum: u64) -> Drr<Numbered> {
        let limit = Limit::Packets(10_000).into();
        let spec = DrrSpec { limit, quantum: Size::from_bytes(quantum), queues: None };
        Drr::new(&spec, Random::stream(1, "drr"))
    }
    fn fill(drr: &mut Drr<Numbered>, packets: &[(u64, u32)], report: &mut Report<Numbered>) {
        for (id, (flow, len)) in packets.iter().enumerate() {
            drr.enqueue(Instant::ZERO, of_flow(*flow, id as u32, *len), 0, report);
        }
    }
    fn served(drr: &mut Drr<Numbered>, count: usize) -> Vec<(u64, u32)> {
        let mut report = Report::default();
        (0..count)
            .filter_map(|_| drr.dequeue(Instant::ZERO, &mut report))
            .map(|(_, p)| (p.flow, p.len))
            .collect()
    }

    /// In the manner of the paper's figures 2 and 3: with a quantum of 500, queue 1 sends 200 in the first turn and keeps 300;
    /// in the second turn it sends 750 and 20 of 800, and keeps 30.
    #[test]
    fn what_does_not_fit_is_kept_for_the_next_turn() {
        let mut drr = drr(500);
        let packets = [
            (1, 200),
            (1, 750),
            (1, 20),
            (1, 50),
            (2, 500),
            (2, 200),
            (3, 600),
            (3, 100),
            (4, 50),
            (4, 700),
            (4, 180),
        ];
        fill(&mut drr, &packets, &mut Report::default());
        // Turn 1: 200 (300 left); 500 (0 left); nothing (500 left); 50 (450 left).
        assert_eq!(served(&mut drr, 3), [(1, 200), (2, 500), (4, 50)]);
        // Turn 2: 750 and 20 of 800 (30 left); 200 (empty); 600 and 100 of 1000 (empty); 700 and 180 of 950 (empty).
        let second = [(1, 750), (1, 20), (2, 200), (3, 600), (3, 100), (4, 700), (4, 180)];
        assert_eq!(served(&mut drr, 7), second);
        assert_eq!(served(&mut drr, 2), [(1, 50)]);
    }

    /// Flows with packets of 1500, 700 and 40 B get the same bytes, to within a packet and a quantum.
    #[test]
    fn unequal_packets_share_equally() {
        let mut drr = drr(1500);
        let sizes = [1500u32, 700, 40];
        for (flow, len) in sizes.iter().enumerate() {
            let packets = vec![(flow as u64, *len); 300_000 / *len as usize];
            fill(&mut drr, &packets, &mut Report::default());
        }
        let mut bytes = [0u64; 3];
        while bytes.iter().sum::<u64>() < 600_000 {
            let (flow, len) = served(&mut drr, 1)[0];
            bytes[flow as usize] += u64::from(len);
        }
        assert!(bytes.iter().all(|sent| sent.abs_diff(200_000) <= 3000), "{bytes:?}");
    }

    /// A flow that comes back has no credit from before.
    #[test]
    fn an_empty_queue_keeps_no_deficit() {
        let mut drr = drr(1500);
        fill(&mut drr, &[(1, 100), (2, 1500), (2, 1500)], &mut Report::default());
        assert_eq!(served(&mut drr, 2), [(1, 100), (2, 1500)]);
        fill(&mut drr, &[(1, 1500), (1, 1500)], &mut Report::default());
        assert_eq!(served(&mut drr, 3), [(1, 1500), (2, 1500), (1, 1500)]);
    }

    #[test]
    fn weights_multiply_the_quantum() {
        let mut drr = drr(1000);
        let mut report = Report::default();
        for id in 0..60 {
            for (flow, weight) in [(1, 1), (2, 3)] {
                drr.enqueue(Instant::ZERO, Numbered { weight, ..of_flow(flow, id, 1000) }, 0, &mut report);
            }
        }
        let served = served(&mut drr, 40);
        assert_eq!(served.iter().filter(|(flow, _)| *flow == 2).count(), 30);
    }

    /// The flow that fills the buffer pays for it.
    #[test]
    fn the_longest_queue_loses_its_newest() {
        let spec = DrrSpec { limit: Limit::Packets(4).into(), quantum: full_packet(), queues: None };
        let mut drr = Drr::new(&spec, Random::stream(1, "drr"));
        let mut report = Report::default();
        fill(&mut drr, &[(1, 1000), (1, 1000), (1, 1000), (1, 1000), (2, 1000)], &mut report);
        let lost: Vec<_> =
            report.dropped.iter().map(|(packet, cause)| (packet.flow, packet.id, *cause)).collect();
        assert_eq!(lost, [(1, 3, DropCause::QueueFull)]);
    }
}
