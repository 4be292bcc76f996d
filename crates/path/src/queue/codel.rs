//! CoDel: controlled delay (RFC 8289). Packets are dropped or marked as they leave, once none has waited less than `target`
//! for a whole `interval`, and then the faster the longer that lasts.

use super::fifo::Fifo;
use super::{Discipline, Occupancy, Parameters, Queue, Report, Setup};
use crate::settings::{Deserialize, JsonSchema, Serialize};
use crate::{DropCause, Packet};
use longhaul_units::{Duration, Instant, Limit, QueueLimit, Rate};

/// Parameters of CoDel.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CodelSpec {
    /// Most packets or bytes in the system; RFC 8289 states none, Linux has 1000 packets.
    #[serde(default = "thousand_packets")]
    #[schemars(extend("x-exclusiveMinimum" = "0 packets"))]
    pub limit: QueueLimit,
    /// Queueing delay that may stand; RFC 8289 recommends 5 % to 10 % of `interval`.
    #[serde(default = "five_ms")]
    #[schemars(extend("x-exclusiveMinimum" = "0 s"))]
    pub target: Duration,
    /// How long the delay must stay above `target` before the first packet is dropped: about the largest RTT of the
    /// connections that matter.
    #[serde(default = "hundred_ms")]
    pub interval: Duration,
    /// Mark ECN-capable packets instead of dropping them.
    #[serde(default = "super::yes")]
    pub ecn: bool,
    /// ECN-capable packets that have waited longer than this are marked in any case (as in RFC 8290 section 5.2.7,
    /// for data centres).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ce_threshold: Option<Duration>,
}

impl Parameters for CodelSpec {
    fn limit(&self) -> QueueLimit {
        self.limit
    }
    fn limits_mut(&mut self) -> Vec<&mut QueueLimit> {
        vec![&mut self.limit]
    }
    fn check(&self, _rate: Rate) -> Result<(), (&'static str, String)> {
        CodelSettings::from(self).check()
    }
    fn build<P: Packet + Send + 'static>(&self, _setup: &Setup<'_>) -> Discipline<P> {
        Discipline::queue(CodelQueue::new(self))
    }
}

fn thousand_packets() -> QueueLimit {
    Limit::Packets(1000).into()
}
pub(crate) fn five_ms() -> Duration {
    Duration::from_millis(5)
}
pub(crate) fn hundred_ms() -> Duration {
    Duration::from_millis(100)
}

/// What a control loop needs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CodelSettings {
    pub target: Duration,
    pub interval: Duration,
    pub ecn: bool,
    pub ce_threshold: Option<Duration>,
}

impl CodelSettings {
    pub fn check(&self) -> Result<(), (&'static str, String)> {
        if self.interval < self.target {
            let message =
                format!("the interval ({}) is not shorter than the target ({})", self.interval, self.target);
            return Err(("interval", message));
        }
        Ok(())
    }
}

impl From<&CodelSpec> for CodelSettings {
    fn from(spec: &CodelSpec) -> Self {
        let CodelSpec { target, interval, ecn, ce_threshold, .. } = *spec;
        CodelSettings { target, interval, ecn, ce_threshold }
    }
}

/// The control loop of one queue (RFC 8289 section 5).
#[derive(Clone, Debug, Default)]
pub(crate) struct Codel {
    /// When the delay will have been above `target` for an `interval`; `None` while it is below.
    first_above: Option<Instant>,
    dropping: bool,
    drop_next: Instant,
    /// Packets dropped in this dropping state, and at the beginning of the last one.
    count: u32,
    last_count: u32,
}

impl Codel {
    /// Takes the next packet out of `fifo`. `largest` is the size of the largest packet so far: no more than that is never
    /// a standing queue.
    pub fn dequeue<P: Packet>(
        &mut self,
        settings: &CodelSettings,
        now: Instant,
        fifo: &mut Fifo<P>,
        largest: u32,
        report: &mut Report<P>,
    ) -> Option<(Instant, P)> {
        let marks = report.marked;
        let mut next = self.take(settings, now, fifo, largest);
        if self.dropping {
            self.dropping = next.too_late;
            while self.dropping && now >= self.drop_next {
                self.count += 1;
                let marked = strike(settings, next.packet.take(), report);
                let done = marked.is_some();
                if done {
                    next.packet = marked;
                } else {
                    next = self.take(settings, now, fifo, largest);
                    self.dropping = next.too_late;
                }
                if self.dropping {
                    self.drop_next = control_law(settings, self.drop_next, self.count);
                }
                if done {
                    break;
                }
            }
        } else if next.too_late {
            next.packet = strike(settings, next.packet.take(), report)
                .or_else(|| self.take(settings, now, fifo, largest).packet);
            self.dropping = true;
            // If the last dropping state was not long ago, its rate is a good start for this one.
            let recent = now.since(self.drop_next) < settings.interval * 16;
            let delta = self.count.saturating_sub(self.last_count);
            self.count = if delta > 1 && recent { delta } else { 1 };
            self.last_count = self.count;
            self.drop_next = control_law(settings, now, self.count);
        }
        let (arrived, mut packet) = next.packet?;
        let late = settings.ce_threshold.is_some_and(|threshold| now.since(arrived) > threshold);
        if late && report.marked == marks && packet.mark_congestion() {
            report.marked += 1;
        }
        Some((arrived, packet))
    }

    /// The next packet, and whether it may be dropped (RFC 8289 section 5).
    fn take<P: Packet>(
        &mut self,
        settings: &CodelSettings,
        now: Instant,
        fifo: &mut Fifo<P>,
        largest: u32,
    ) -> Taken<P> {
        let packet = fifo.pop();
        let Some((arrived, _)) = &packet else {
            self.first_above = None;
            return Taken { packet: None, too_late: false };
        };
        let mut too_late = false;
        if now.since(*arrived) < settings.target || fifo.occupancy().bytes <= u64::from(largest) {
            self.first_above = None;
        } else {
            match self.first_above {
                None => self.first_above = Some(now + settings.interval),
                Some(time) => too_late = now >= time,
            }
        }
        Taken { packet, too_late }
    }
}

struct Taken<P> {
    packet: Option<(Instant, P)>,
    too_late: bool,
}

/// Marks a packet and gives it back, or drops it.
fn strike<P: Packet>(
    settings: &CodelSettings,
    packet: Option<(Instant, P)>,
    report: &mut Report<P>,
) -> Option<(Instant, P)> {
    let (arrived, packet) = packet?;
    if settings.ecn {
        return report.mark_or_drop(packet).map(|packet| (arrived, packet));
    }
    report.drop(packet, DropCause::Early);
    None
}

/// The time of the next drop: interval / sqrt(count) later (RFC 8289 section 5).
fn control_law(settings: &CodelSettings, time: Instant, count: u32) -> Instant {
    time + settings.interval.mul_f64(1.0 / libm::sqrt(f64::from(count)))
}

/// One queue under CoDel.
pub struct CodelQueue<P> {
    settings: CodelSettings,
    limit: Limit,
    codel: Codel,
    fifo: Fifo<P>,
    largest: u32,
}

impl<P: Packet> CodelQueue<P> {
    /// An empty queue.
    pub fn new(spec: &CodelSpec) -> Self {
        CodelQueue {
            settings: spec.into(),
            limit: spec.limit.fixed(),
            codel: Codel::default(),
            fifo: Fifo::default(),
            largest: 0,
        }
    }
}

impl<P: Packet + Send> Queue<P> for CodelQueue<P> {
    fn enqueue(&mut self, now: Instant, packet: P, in_service: u32, report: &mut Report<P>) {
        if !self.fifo.occupancy().with(in_service).has_room(self.limit, packet.wire_len()) {
            return report.drop(packet, DropCause::QueueFull);
        }
        self.largest = self.largest.max(packet.wire_len());
        self.fifo.push(now, packet);
    }

    fn dequeue(&mut self, now: Instant, report: &mut Report<P>) -> Option<(Instant, P)> {
        self.codel.dequeue(&self.settings, now, &mut self.fifo, self.largest, report)
    }

    fn waiting(&self) -> Occupancy {
        self.fifo.occupancy()
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Numbered, at_ms, packet};
    use super::*;

    fn spec() -> CodelSpec {
        CodelSpec {
            limit: Limit::Packets(10_000).into(),
            target: five_ms(),
            interval: hundred_ms(),
            ecn: true,
            ce_threshold: None,
        }
    }

    /// Section 5 with interval 100 ms: 100 ms, 70.7 ms, 57.7 ms, 50 ms after the drop before.
    #[test]
    fn control_law_is_interval_over_root_of_count() {
        for (count, ms) in [(1, 100.0), (2, 70.710_678), (3, 57.735_027), (4, 50.0), (100, 10.0)] {
            let gap = control_law(&(&spec()).into(), at_ms(1000.0), count) - at_ms(1000.0);
            assert!((gap.as_secs_f64() * 1e3 - ms).abs() < 1e-5, "count {count}: {gap}");
        }
    }

    /// A queue that stands at 20 ms: a packet of 1000 B arrives and one leaves each millisecond.
    struct Standing {
        queue: CodelQueue<Numbered>,
        report: Report<Numbered>,
        ms: u64,
    }

    impl Standing {
        fn new(spec: CodelSpec, ecn_capable: bool) -> Self {
            let mut queue = CodelQueue::new(&spec);
            let mut report = Report::default();
            for id in 0..20u32 {
                queue.enqueue(at_ms(f64::from(id)), packet(id, 1000, ecn_capable), 0, &mut report);
            }
            Standing { queue, report, ms: 20 }
        }
        /// Goes on until `ms`; whatever is dropped is replaced, so that the delay stays. Times of drops or marks in ms.
        fn struck_until(&mut self, ms: u64, ecn_capable: bool) -> Vec<u64> {
            let mut struck = vec![];
            while self.ms < ms {
                let now = at_ms(self.ms as f64);
                let before = self.report.dropped.len() as u64 + self.report.marked;
                self.queue.dequeue(now, &mut self.report);
                let count = self.report.dropped.len() as u64 + self.report.marked - before;
                (0..count).for_each(|_| struck.push(self.ms));
                while self.queue.waiting().packets < 20 {
                    // It takes its place at the end, with the age of the others.
                    let id = self.ms as u32;
                    self.queue.fifo.push(now, packet(id, 1000, ecn_capable));
                }
                self.ms += 1;
            }
            struck
        }
    }

    /// The delay is first found above the target at 20 ms; after an interval of that, at 120 ms, the first packet goes, the
    /// next ones 100, 100 + 70.7, 100 + 70.7 + 57.7, .. ms later, at the millisecond when a packet leaves.
    #[test]
    fn drops_speed_up_while_the_delay_stands() {
        for ecn_capable in [false, true] {
            let mut standing = Standing::new(spec(), ecn_capable);
            let struck = standing.struck_until(460, ecn_capable);
            // 120; + 100 = 220; + 70.71 = 290.71; + 57.74 = 348.45; + 50 = 398.45; + 44.72 = 443.17
            assert_eq!(struck, [120, 220, 291, 349, 399, 444]);
            let marked = if ecn_capable { 6 } else { 0 };
            assert_eq!(
                (standing.report.marked, standing.report.dropped.len()),
                (marked, 6 - marked as usize)
            );
        }
    }

    #[test]
    fn without_ecn_capable_packets_are_dropped_too() {
        let mut standing = Standing::new(CodelSpec { ecn: false, ..spec() }, true);
        standing.struck_until(460, true);
        assert_eq!((standing.report.marked, standing.report.dropped.len()), (0, 6));
    }

    /// A dropping state that begins soon after the last one goes on at its rate: 6 drops before, so count = 5 (6 less the 1
    /// that it began with), and the second drop follows interval / sqrt(5) = 44.7 ms after the first.
    #[test]
    fn a_dropping_state_remembers_the_last_one() {
        let mut standing = Standing::new(spec(), false);
        standing.struck_until(460, false);
        // Three packets that wait for less than the target end the state.
        let now = at_ms(459.0);
        while standing.queue.fifo.pop().is_some() {}
        for id in 0..3 {
            standing.queue.enqueue(now, packet(id, 1000, false), 0, &mut standing.report);
        }
        standing.queue.dequeue(at_ms(460.0), &mut standing.report);
        assert!(!standing.queue.codel.dropping);
        // Now it stands again, from 480 ms on.
        while standing.queue.waiting().packets < 20 {
            standing.queue.fifo.push(at_ms(460.0), packet(0, 1000, false));
        }
        standing.ms = 480;
        let struck = standing.struck_until(640, false);
        assert_eq!(&struck[..2], [580, 625]);
    }

    /// Delay above the target that does not last an interval does no harm; nor does a queue of one packet, however slow the
    /// link.
    #[test]
    fn short_queues_are_left_alone() {
        let mut standing = Standing::new(spec(), false);
        assert!(standing.struck_until(119, false).is_empty());
        let mut queue = CodelQueue::new(&spec());
        let mut report = Report::default();
        queue.enqueue(at_ms(0.0), packet(0, 1500, false), 0, &mut report);
        for id in 1..50 {
            queue.enqueue(at_ms(f64::from(id) * 100.0), packet(id, 1500, false), 0, &mut report);
            assert!(queue.dequeue(at_ms(f64::from(id) * 100.0 + 90.0), &mut report).is_some());
        }
        assert!(report.dropped.is_empty());
    }

    #[test]
    fn ce_threshold_marks_whatever_the_state() {
        let spec = CodelSpec { ce_threshold: Some(Duration::from_millis(2)), ..spec() };
        let mut queue = CodelQueue::new(&spec);
        let mut report = Report::default();
        (0..3).for_each(|id| queue.enqueue(at_ms(0.0), packet(id, 1000, id != 2), 0, &mut report));
        queue.dequeue(at_ms(2.0), &mut report);
        assert_eq!(report.marked, 0);
        queue.dequeue(at_ms(2.1), &mut report);
        queue.dequeue(at_ms(2.2), &mut report);
        assert_eq!((report.marked, report.dropped.len()), (1, 0), "the last is not ECN-capable, and kept");
    }

    /// Threshold and control law may both mark a packet: that is one mark.
    #[test]
    fn a_packet_is_marked_once() {
        let spec = CodelSpec { ce_threshold: Some(Duration::from_millis(2)), ..spec() };
        let mut standing = Standing::new(spec, true);
        assert_eq!(standing.struck_until(460, true), (20..460).collect::<Vec<_>>());
    }

    #[test]
    fn overflow_drops_what_arrives() {
        let mut queue = CodelQueue::new(&CodelSpec { limit: Limit::Packets(2).into(), ..spec() });
        let mut report = Report::default();
        (0..3).for_each(|id| queue.enqueue(at_ms(0.0), packet(id, 1000, false), 1000, &mut report));
        assert_eq!(report.dropped.iter().map(|(packet, _)| packet.id).collect::<Vec<_>>(), [1, 2]);
    }
}
