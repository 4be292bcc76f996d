//! FlowQueue-CoDel (RFC 8290): a queue with CoDel for each flow, served by deficit round robin; flows that have just begun,
//! or send little, come first.

use super::codel::{Codel, CodelSettings};
use super::flows::FlowQueues;
use super::rounds::Rounds;
use super::{Discipline, Occupancy, Parameters, Queue, Report, Setup};
use crate::settings::{Deserialize, JsonSchema, Serialize};
use crate::{DropCause, Packet, Random};
use longhaul_units::{Duration, Instant, Limit, QueueLimit, Rate, Size};

/// Parameters of FlowQueue-CoDel.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FqCodelSpec {
    /// Most packets or bytes in the system (RFC 8290 section 5.2.3). When it is exceeded, the longest queue loses its oldest packets.
    #[serde(default = "ten_thousand_packets")]
    #[schemars(extend("x-exclusiveMinimum" = "0 packets"))]
    pub limit: QueueLimit,
    /// Queueing delay that may stand in a flow's queue.
    #[serde(default = "super::codel::five_ms")]
    #[schemars(extend("x-exclusiveMinimum" = "0 s"))]
    pub target: Duration,
    /// How long the delay must stay above `target` before the first packet is dropped.
    #[serde(default = "super::codel::hundred_ms")]
    pub interval: Duration,
    /// What a flow may send at each turn.
    #[serde(default = "ethernet_frame")]
    #[schemars(extend("x-exclusiveMinimum" = "0 B", "x-maximum" = "1 GB"))]
    pub quantum: Size,
    /// Queues over which flows are spread by a hash.
    #[serde(default = "thousand_queues")]
    #[schemars(range(min = 1, max = 65536))]
    pub queues: u32,
    /// Most packets that the longest queue loses at a time, but not more than half of it.
    #[serde(default = "sixty_four")]
    #[schemars(range(min = 1))]
    pub drop_batch: u32,
    /// Mark ECN-capable packets instead of dropping them.
    #[serde(default = "super::yes")]
    pub ecn: bool,
    /// ECN-capable packets that have waited longer than this are marked in any case.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ce_threshold: Option<Duration>,
}

impl Parameters for FqCodelSpec {
    fn limit(&self) -> QueueLimit {
        self.limit
    }
    fn limits_mut(&mut self) -> Vec<&mut QueueLimit> {
        vec![&mut self.limit]
    }
    fn check(&self, _rate: Rate) -> Result<(), (&'static str, String)> {
        CodelSettings::from(self).check()
    }
    fn build<P: Packet + Send + 'static>(&self, setup: &Setup<'_>) -> Discipline<P> {
        Discipline::queue(FqCodel::new(self, setup.random("queue")))
    }
}

pub(super) fn ten_thousand_packets() -> QueueLimit {
    Limit::Packets(10_240).into()
}
pub(super) fn ethernet_frame() -> Size {
    Size::from_bytes(1514)
}
pub(super) fn thousand_queues() -> u32 {
    1024
}
fn sixty_four() -> u32 {
    64
}

impl From<&FqCodelSpec> for CodelSettings {
    fn from(spec: &FqCodelSpec) -> Self {
        let FqCodelSpec { target, interval, ecn, ce_threshold, .. } = *spec;
        CodelSettings { target, interval, ecn, ce_threshold }
    }
}

/// FlowQueue-CoDel at work.
pub struct FqCodel<P> {
    settings: CodelSettings,
    limit: Limit,
    drop_batch: u32,
    flows: FlowQueues<P, Codel>,
    rounds: Rounds,
    largest: u32,
}

impl<P: Packet> FqCodel<P> {
    /// Empty queues; `random` keys the hash.
    pub fn new(spec: &FqCodelSpec, random: Random) -> Self {
        FqCodel {
            settings: spec.into(),
            limit: spec.limit.fixed(),
            drop_batch: spec.drop_batch,
            flows: FlowQueues::new(Some(spec.queues), random),
            rounds: Rounds::new(spec.queues as usize, spec.quantum.as_bytes()),
            largest: 0,
        }
    }

    /// The longest queue loses half of its packets, at most a batch, from its head (RFC 8290 section 4.1).
    fn shorten(&mut self, report: &mut Report<P>) {
        let Some(longest) = self.flows.longest() else { return };
        let most = (self.flows.fifo(longest).len() as u64).div_ceil(2).min(u64::from(self.drop_batch));
        for _ in 0..most {
            report.dropped.extend(self.flows.pop(longest).map(|(_, packet)| (packet, DropCause::QueueFull)));
        }
    }
}

impl<P: Packet + Send> Queue<P> for FqCodel<P> {
    fn enqueue(&mut self, now: Instant, packet: P, in_service: u32, report: &mut Report<P>) {
        let queue = self.flows.classify(&packet);
        self.largest = self.largest.max(packet.wire_len());
        self.flows.push(queue, now, packet);
        self.rounds.filled(queue);
        while !self.flows.within(self.limit, in_service) {
            self.shorten(report);
        }
    }

    fn dequeue(&mut self, now: Instant, report: &mut Report<P>) -> Option<(Instant, P)> {
        loop {
            let queue = self.rounds.next()?;
            let (settings, largest) = (self.settings, self.largest);
            let next =
                self.flows.with(queue, |fifo, codel| codel.dequeue(&settings, now, fifo, largest, report));
            match next {
                Some((arrived, packet)) => {
                    self.rounds.sent(queue, packet.wire_len());
                    return Some((arrived, packet));
                }
                None => self.rounds.was_empty(queue),
            }
        }
    }

    fn waiting(&self) -> Occupancy {
        self.flows.total()
    }
}

#[cfg(test)]
mod tests {
    use super::super::codel;
    use super::super::testing::{Numbered, at_ms, of_flow};
    use super::*;

    fn spec(limit: u64) -> FqCodelSpec {
        FqCodelSpec {
            limit: Limit::Packets(limit).into(),
            target: codel::five_ms(),
            interval: codel::hundred_ms(),
            quantum: ethernet_frame(),
            queues: 1024,
            drop_batch: 64,
            ecn: true,
            ce_threshold: None,
        }
    }
    fn queue(limit: u64) -> FqCodel<Numbered> {
        FqCodel::new(&spec(limit), Random::stream(1, "fq_codel"))
    }
    fn put(
        fq: &mut FqCodel<Numbered>,
        ms: f64,
        flow: u64,
        ids: std::ops::Range<u32>,
        len: u32,
    ) -> Report<Numbered> {
        let mut report = Report::default();
        ids.for_each(|id| fq.enqueue(at_ms(ms), of_flow(flow, id, len), 0, &mut report));
        report
    }
    fn served(fq: &mut FqCodel<Numbered>, ms: f64, count: usize) -> Vec<u32> {
        let mut report = Report::default();
        let ids = (0..count).filter_map(|_| fq.dequeue(at_ms(ms), &mut report)).map(|(_, packet)| packet.id);
        ids.collect()
    }

    /// Section 4.2: a sparse flow's packet goes ahead of a standing queue; quantum 1514 and packets of 1500 B let a new flow
    /// send two packets (14 bytes of credit remain after the first) before it is an old one.
    #[test]
    fn new_flows_come_first() {
        let mut fq = queue(1000);
        put(&mut fq, 0.0, 1, 0..10, 1500);
        assert_eq!(served(&mut fq, 1.0, 3), [0, 1, 2], "alone");
        put(&mut fq, 1.0, 2, 100..104, 1500);
        // Flow 1 is old. Flow 2 sends two packets as a new one, then they take turns.
        assert_eq!(served(&mut fq, 1.0, 2), [100, 101]);
        let next = served(&mut fq, 1.0, 4);
        assert!(next.contains(&3) && next.contains(&102), "{next:?}");
    }

    /// Section 4.2: a new queue that runs empty is served as an old one before it can be new again.
    #[test]
    fn a_sparse_flow_cannot_starve_others() {
        let mut fq = queue(1000);
        put(&mut fq, 0.0, 1, 0..100, 1500);
        served(&mut fq, 0.0, 4);
        // Flow 2 has a packet whenever its last one has gone.
        let mut turns = [0; 2];
        for round in 100..140 {
            let sparse = fq.flows.classify(&of_flow(2, 0, 1500));
            if fq.flows.fifo(sparse).is_empty() {
                put(&mut fq, 0.0, 2, round..round + 1, 1500);
            }
            turns[usize::from(served(&mut fq, 0.0, 1)[0] >= 100)] += 1;
        }
        assert!(turns[0] >= 13 && turns[1] >= 13, "{turns:?}");
    }

    /// Bytes are shared equally, whatever the packets' sizes.
    #[test]
    fn unequal_packets_share_equally() {
        let mut fq = queue(100_000);
        put(&mut fq, 0.0, 1, 0..200, 1500);
        put(&mut fq, 0.0, 2, 1000..1750, 400);
        let mut bytes = [0u64; 2];
        for id in served(&mut fq, 1.0, 600) {
            bytes[usize::from(id >= 1000)] += if id >= 1000 { 400 } else { 1500 };
        }
        assert!(bytes[0].abs_diff(bytes[1]) <= 2 * 1514, "{bytes:?}");
    }

    /// Section 4.1: beyond the limit, half of the longest queue goes, from its head, at most 64 packets.
    #[test]
    fn the_longest_queue_loses_a_batch() {
        let mut fq = queue(20);
        put(&mut fq, 0.0, 2, 900..905, 1000);
        let report = put(&mut fq, 0.0, 1, 0..16, 1000);
        let lost: Vec<u32> = report.dropped.iter().map(|(packet, _)| packet.id).collect();
        assert_eq!(lost, [0, 1, 2, 3, 4, 5, 6, 7]);
        let mut fq = queue(300);
        let report = put(&mut fq, 0.0, 1, 0..301, 1000);
        assert_eq!(report.dropped.len(), 64);
    }

    /// Each flow has its own CoDel: the one with a standing queue loses packets, the other does not.
    #[test]
    fn codel_works_flow_by_flow() {
        let mut fq = queue(10_000);
        put(&mut fq, 0.0, 1, 0..1000, 1000);
        let mut report = Report::default();
        let mut lost = vec![];
        for ms in 0..400 {
            fq.enqueue(at_ms(f64::from(ms)), of_flow(2, 5000 + ms, 200), 0, &mut report);
            fq.dequeue(at_ms(f64::from(ms)), &mut report);
            fq.dequeue(at_ms(f64::from(ms)), &mut report);
            lost.extend(report.dropped.drain(..).map(|(packet, _)| packet.flow));
        }
        assert!(lost.len() >= 4 && lost.iter().all(|flow| *flow == 1), "{lost:?}");
    }
}
