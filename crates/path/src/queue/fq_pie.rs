//! FQ-PIE: a queue with PIE (RFC 8033) for each flow, served as FlowQueue-CoDel serves them (RFC 8290). Packets are dropped or marked
//! when they come. Each flow's delay is that of the packet which it has sent last, as in Linux (`sch_fq_pie`).

use super::flows::FlowQueues;
use super::pie::{Pie, PieSpec};
use super::rounds::Rounds;
use super::{Discipline, Occupancy, Parameters, Queue, Report, Setup, Verdict};
use crate::settings::{Deserialize, JsonSchema, Serialize};
use crate::{DropCause, Packet, Random};
use longhaul_units::{Duration, Instant, Probability, QueueLimit, Size};

/// Parameters of FQ-PIE.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FqPieSpec {
    /// Most packets or bytes in the system. A packet that finds no room is dropped, whosever it is.
    #[serde(default = "super::fq_codel::ten_thousand_packets")]
    #[schemars(extend("x-exclusiveMinimum" = "0 packets"))]
    pub limit: QueueLimit,
    /// QDELAY_REF: the queueing delay to keep in a flow's queue.
    #[serde(default = "super::pie::fifteen_ms")]
    #[schemars(extend("x-exclusiveMinimum" = "0 s"))]
    pub target: Duration,
    /// T_UPDATE: time between two adjustments of a flow's probability.
    #[serde(default = "super::pie::fifteen_ms")]
    #[schemars(extend("x-exclusiveMinimum" = "0 s"))]
    pub update: Duration,
    /// Weight of the delay's distance from `target`, per second.
    #[serde(default = "super::pie::one_eighth")]
    #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 1000))]
    pub alpha: f64,
    /// Weight of the delay's growth since the last adjustment, per second.
    #[serde(default = "super::pie::five_quarters")]
    #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 1000))]
    pub beta: f64,
    /// MAX_BURST: after a time without delay, nothing of a flow is dropped for this long.
    #[serde(default = "super::pie::burst")]
    pub max_burst: Duration,
    /// What a flow may send at each turn.
    #[serde(default = "super::fq_codel::ethernet_frame")]
    #[schemars(extend("x-exclusiveMinimum" = "0 B", "x-maximum" = "1 GB"))]
    pub quantum: Size,
    /// Queues over which flows are spread by a hash.
    #[serde(default = "super::fq_codel::thousand_queues")]
    #[schemars(range(min = 1, max = 65536))]
    pub queues: u32,
    /// Mark ECN-capable packets instead of dropping them.
    #[serde(default = "super::yes")]
    pub ecn: bool,
    /// MAX_ECNTH: from this probability on ECN-capable packets are dropped too.
    #[serde(default = "super::pie::one_tenth")]
    pub mark_limit: Probability,
}

impl Parameters for FqPieSpec {
    fn limit(&self) -> QueueLimit {
        self.limit
    }
    fn limits_mut(&mut self) -> Vec<&mut QueueLimit> {
        vec![&mut self.limit]
    }
    fn build<P: Packet + Send + 'static>(&self, setup: &Setup<'_>) -> Discipline<P> {
        Discipline::queue(FqPie::new(self, setup.random("queue"), setup.random("drops")))
    }
}

impl FqPieSpec {
    /// FQ-PIE with all values at their defaults.
    pub fn rfc(limit: impl Into<QueueLimit>) -> Self {
        let pie = PieSpec::rfc(limit);
        FqPieSpec {
            limit: pie.limit,
            target: pie.target,
            update: pie.update,
            alpha: pie.alpha,
            beta: pie.beta,
            max_burst: pie.max_burst,
            quantum: super::fq_codel::ethernet_frame(),
            queues: super::fq_codel::thousand_queues(),
            ecn: pie.ecn,
            mark_limit: pie.mark_limit,
        }
    }

    /// PIE as each flow has it.
    fn pie(&self) -> PieSpec {
        let FqPieSpec { limit, target, update, alpha, beta, max_burst, ecn, mark_limit, .. } = *self;
        PieSpec { target, update, alpha, beta, max_burst, ecn, mark_limit, ..PieSpec::rfc(limit) }
    }
}

/// A flow's controller, from its first packet on.
#[derive(Debug, Default)]
struct Flow {
    pie: Option<Pie>,
    /// How long the packet waited that it has sent last; nothing once its queue is empty.
    delay: Duration,
}

/// FQ-PIE at work.
pub struct FqPie<P> {
    spec: FqPieSpec,
    flows: FlowQueues<P, Flow>,
    rounds: Rounds,
    /// A stream for each flow that comes.
    seeds: Random,
}

impl<P: Packet> FqPie<P> {
    /// Empty queues; `hash` keys the hash, and what drops draw from follows from `seeds`.
    pub fn new(spec: &FqPieSpec, hash: Random, seeds: Random) -> Self {
        FqPie {
            spec: *spec,
            flows: FlowQueues::new(Some(spec.queues), hash),
            rounds: Rounds::new(spec.queues as usize, spec.quantum.as_bytes()),
            seeds,
        }
    }

    /// The controller of a queue, with all adjustments made up for.
    fn controller(&mut self, queue: usize, now: Instant) -> &mut Pie {
        let (spec, seeds) = (self.spec, &mut self.seeds);
        let Flow { pie, delay } = self.flows.state(queue);
        let pie = pie.get_or_insert_with(|| Pie::new(&spec.pie(), Random::stream(seeds.bits(), "flow")));
        let delay = *delay;
        pie.catch_up(now, |_| delay);
        pie
    }
}

impl<P: Packet + Send> Queue<P> for FqPie<P> {
    fn enqueue(&mut self, now: Instant, packet: P, in_service: u32, report: &mut Report<P>) {
        if !self.flows.total().with(in_service).has_room(self.spec.limit.fixed(), packet.wire_len()) {
            return report.drop(packet, DropCause::QueueFull);
        }
        let queue = self.flows.classify(&packet);
        let bytes = self.flows.fifo(queue).occupancy().bytes;
        let let_in = match self.controller(queue, now).judge(bytes) {
            Verdict::Accept => Some(packet),
            Verdict::Mark => report.mark_or_drop(packet),
            Verdict::Drop(cause) => {
                report.drop(packet, cause);
                None
            }
        };
        if let Some(packet) = let_in {
            self.flows.push(queue, now, packet);
            self.rounds.filled(queue);
        }
    }

    fn dequeue(&mut self, now: Instant, _report: &mut Report<P>) -> Option<(Instant, P)> {
        loop {
            let queue = self.rounds.next()?;
            let Some((came, packet)) = self.flows.pop(queue) else {
                self.rounds.was_empty(queue);
                continue;
            };
            self.controller(queue, now);
            let empty = self.flows.fifo(queue).is_empty();
            self.flows.state(queue).delay = if empty { Duration::ZERO } else { now.since(came) };
            self.rounds.sent(queue, packet.wire_len());
            return Some((came, packet));
        }
    }

    fn waiting(&self) -> Occupancy {
        self.flows.total()
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Numbered, at_ms, of_flow};
    use super::*;
    use longhaul_units::Limit;

    fn queue(spec: FqPieSpec) -> FqPie<Numbered> {
        FqPie::new(&spec, Random::stream(1, "hash"), Random::stream(1, "drops"))
    }
    fn spec(limit: u64) -> FqPieSpec {
        FqPieSpec::rfc(Limit::Packets(limit))
    }

    /// A controller goes by the delay of the packet that its flow has sent last: 0 until the first is sent at 20 ms, then its 20 ms, and
    /// 0 once the queue is empty.
    #[test]
    fn a_flow_s_delay_is_that_of_its_last_packet() {
        let mut fq = queue(spec(100));
        let mut report = Report::default();
        (0..2).for_each(|id| fq.enqueue(at_ms(0.0), of_flow(1, id, 1000), 0, &mut report));
        let place = fq.flows.classify(&of_flow(1, 0, 1000));
        let mut alone = Pie::new(&spec(100).pie(), Random::stream(9, "flow"));
        fq.dequeue(at_ms(20.0), &mut report);
        alone.catch_up(at_ms(20.0), |_| Duration::ZERO);
        assert_eq!(fq.flows.state(place).delay, Duration::from_millis(20));
        fq.dequeue(at_ms(50.0), &mut report);
        alone.catch_up(at_ms(50.0), |_| Duration::from_millis(20));
        let found = fq.flows.state(place).pie.as_ref().map(Pie::probability);
        assert_eq!(found, Some(alone.probability()));
        assert!(alone.probability() > 0.0);
        assert_eq!(fq.flows.state(place).delay, Duration::ZERO);
    }

    /// The flow with a standing queue loses packets, and the sparse one beside it none.
    #[test]
    fn pie_works_flow_by_flow() {
        let mut fq = queue(spec(100_000));
        let mut report = Report::default();
        let mut lost = vec![];
        for ms in 0..4000 {
            // 1.5 packets of flow 1 in a millisecond, and one of flow 2; the link takes two.
            let greedy = if ms % 2 == 0 { 2 } else { 1 };
            let now = at_ms(f64::from(ms));
            (0..greedy).for_each(|id| fq.enqueue(now, of_flow(1, id, 1000), 0, &mut report));
            fq.enqueue(now, of_flow(2, ms as u32, 200), 0, &mut report);
            for _ in 0..2 {
                fq.dequeue(now, &mut report);
            }
            lost.extend(report.dropped.drain(..).map(|(packet, cause)| (packet.flow, cause)));
        }
        assert!(lost.len() > 20 && lost.iter().all(|lost| *lost == (1, DropCause::Early)), "{}", lost.len());
    }

    /// As Linux: at the limit the packet that comes is dropped, whosever it is.
    #[test]
    fn a_full_queue_drops_what_arrives() {
        let mut fq = queue(spec(3));
        let mut report = Report::default();
        (0..3).for_each(|id| fq.enqueue(at_ms(0.0), of_flow(1, id, 1000), 0, &mut report));
        fq.enqueue(at_ms(0.0), of_flow(2, 9, 40), 0, &mut report);
        let dropped: Vec<_> = report.dropped.iter().map(|(packet, cause)| (packet.id, *cause)).collect();
        assert_eq!(dropped, [(9, DropCause::QueueFull)]);
    }

    /// RFC 8290 section 4.2: a new flow's packet goes ahead of a standing queue.
    #[test]
    fn new_flows_come_first() {
        let mut fq = queue(spec(1000));
        let mut report = Report::default();
        (0..10).for_each(|id| fq.enqueue(at_ms(0.0), of_flow(1, id, 1500), 0, &mut report));
        for _ in 0..3 {
            fq.dequeue(at_ms(1.0), &mut report);
        }
        fq.enqueue(at_ms(1.0), of_flow(2, 100, 1500), 0, &mut report);
        assert_eq!(fq.dequeue(at_ms(1.0), &mut report).map(|(_, packet)| packet.id), Some(100));
    }
}
