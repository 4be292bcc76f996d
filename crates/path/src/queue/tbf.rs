//! A token bucket filter (Linux's `tbf`, tc-tbf(8)): first in, first out, at a rate below the link's. What was not used of it may follow
//! at once, up to a burst.

use super::bucket::Bucket;
use super::fifo::Fifo;
use super::{Discipline, Occupancy, Parameters, Queue, Report, Setup};
use crate::settings::{Deserialize, JsonSchema, Serialize};
use crate::{DropCause, Packet};
use longhaul_units::{Duration, Instant, Limit, QueueLimit, Rate, Size};

/// Parameters of a token bucket filter. It has a `limit` or a `latency`.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TbfSpec {
    /// The rate in the long run, in bytes of packets.
    #[schemars(extend("x-minimum" = "1 kbit/s"))]
    pub rate: Rate,
    /// What may leave at once, at the link's rate; longer packets are dropped.
    #[schemars(extend("x-minimum" = "1500 B", "x-maximum" = "1 GB"))]
    pub burst: Size,
    /// Most packets or bytes in the system.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<QueueLimit>,
    /// How long a packet waits at most: the limit is what `rate` sends in this time, and a burst.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-exclusiveMinimum" = "0 s", "x-maximum" = "1 h"))]
    pub latency: Option<Duration>,
    /// The rate of a burst, which is else the link's: a second bucket that holds a packet of 1500 B.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-minimum" = "1 kbit/s"))]
    pub peakrate: Option<Rate>,
}

/// What the bucket of the peak rate holds.
const PEAK: Size = Size::from_bytes(1500);

impl Parameters for TbfSpec {
    fn limit(&self) -> QueueLimit {
        let latency = self.latency.unwrap_or(Duration::ZERO);
        let bytes = self.rate.bytes_in(latency).as_bytes().saturating_add(self.burst.as_bytes());
        // With a peak rate, what leaves at that in the time, if that is less (tc-tbf(8)).
        let peak = self
            .peakrate
            .map(|peak| peak.bytes_in(latency).as_bytes().saturating_add(PEAK.as_bytes()))
            .map_or(bytes, |peak| peak.min(bytes));
        self.limit.unwrap_or(Limit::Bytes(Size::from_bytes(peak)).into())
    }
    fn limits_mut(&mut self) -> Vec<&mut QueueLimit> {
        self.limit.as_mut().into_iter().collect()
    }
    fn check(&self, _rate: Rate) -> Result<(), (&'static str, String)> {
        if self.limit.is_some() == self.latency.is_some() {
            let message = "write one of limit, as in \"100 packets\", and latency, as in \"50 ms\"";
            return Err(("limit", message.to_string()));
        }
        match self.peakrate {
            Some(peak) if peak <= self.rate => {
                Err(("peakrate", format!("it ({peak}) is not above the rate ({})", self.rate)))
            }
            _ => Ok(()),
        }
    }
    fn holds_back(&self) -> bool {
        true
    }
    fn build<P: Packet + Send + 'static>(&self, _setup: &Setup<'_>) -> Discipline<P> {
        Discipline::queue(Tbf::new(self))
    }
}

/// A token bucket filter at work.
pub struct Tbf<P> {
    limit: Limit,
    longest: u64,
    bucket: Bucket,
    peak: Option<Bucket>,
    fifo: Fifo<P>,
}

impl<P: Packet> Tbf<P> {
    /// An empty queue with full buckets.
    pub fn new(spec: &TbfSpec) -> Self {
        let longest = if spec.peakrate.is_some() { spec.burst.min(PEAK) } else { spec.burst };
        Tbf {
            limit: spec.limit().fixed(),
            longest: longest.as_bytes(),
            bucket: Bucket::new(spec.rate, spec.burst),
            peak: spec.peakrate.map(|rate| Bucket::new(rate, PEAK)),
            fifo: Fifo::default(),
        }
    }

    /// When the oldest packet may leave.
    fn due(&self) -> Option<Instant> {
        let len = self.fifo.head(Packet::wire_len)?;
        let peak = self.peak.map_or(Instant::ZERO, |peak| peak.due(len));
        Some(self.bucket.due(len).max(peak))
    }
}

impl<P: Packet + Send> Queue<P> for Tbf<P> {
    fn enqueue(&mut self, now: Instant, packet: P, in_service: u32, report: &mut Report<P>) {
        let len = packet.wire_len();
        if u64::from(len) > self.longest || !self.waiting().with(in_service).has_room(self.limit, len) {
            return report.drop(packet, DropCause::QueueFull);
        }
        self.fifo.push(now, packet);
    }

    fn dequeue(&mut self, now: Instant, _report: &mut Report<P>) -> Option<(Instant, P)> {
        if self.due()? > now {
            return None;
        }
        let (came, packet) = self.fifo.pop()?;
        let len = packet.wire_len();
        self.bucket.take(now, len);
        if let Some(peak) = &mut self.peak {
            peak.take(now, len);
        }
        Some((came, packet))
    }

    fn waiting(&self) -> Occupancy {
        self.fifo.occupancy()
    }

    fn ready_at(&self) -> Option<Instant> {
        self.due()
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Numbered, at_ms, packet};
    use super::*;
    use crate::{Fate, Link, LinkConfig, QueueSpec};

    /// 1000 bytes take 1 ms at the rate.
    fn spec(burst: u64) -> TbfSpec {
        TbfSpec {
            rate: Rate::from_bps(8_000_000),
            burst: Size::from_bytes(burst),
            limit: Some(Limit::Packets(100_000).into()),
            latency: None,
            peakrate: None,
        }
    }

    /// When packets of 1000 B leave that all came at 0, on a link so many times as fast.
    fn leave(spec: TbfSpec, times: u64, count: u32) -> Vec<f64> {
        let rate = Rate::from_bps(spec.rate.as_bps() * times);
        let mut link: Link<Numbered> =
            Link::new(&LinkConfig::plain(rate, Duration::ZERO, QueueSpec::Tbf(spec)), 1, "link");
        for id in 0..count {
            let mut one = packet(id, 1000, false);
            assert_eq!(link.offer(at_ms(0.0), &mut one), Fate::Queue);
            link.enqueue(at_ms(0.0), one);
        }
        let mut times = vec![];
        while link.next_event() < Instant::FAR_FUTURE {
            let at = link.next_event();
            if link.poll(at).is_some() {
                times.push(at.as_secs_f64() * 1e3);
            }
        }
        times
    }

    /// On a link of rate C the bucket of b bytes lasts for a burst of b / (1 - r / C): with C = 4 r and 30 kB for 40 kB, 10 ms. Then
    /// packets follow at the rate, and what has left by t is never more than b + r t.
    #[test]
    fn a_full_bucket_lasts_for_its_burst() {
        for (times, burst, packets) in [(4, 30_000, 40), (2, 30_000, 60), (10, 90_000, 100)] {
            let left = leave(spec(burst), times, 200);
            let gap = 1.0 / times as f64;
            let at_once = left.windows(2).take_while(|pair| pair[1] - pair[0] < gap + 1e-6).count() + 1;
            assert!(at_once.abs_diff(packets) <= 1, "{at_once} packets, not {packets}");
            let last = &left[packets + 2..];
            assert!(last.windows(2).all(|pair| (pair[1] - pair[0] - 1.0).abs() < 1e-5));
            // The bucket was full of `burst`; the last packet's own time is the link's.
            let end = 200.0 - burst as f64 / 1000.0 + gap;
            assert!((left[199] - end).abs() < 1e-3, "{} ms, not {end}", left[199]);
        }
    }

    /// With a peak rate a burst leaves at that: a packet of 1000 B each 0.5 ms at twice the rate, beyond the first 1500 B.
    #[test]
    fn a_peak_rate_spreads_the_burst() {
        let spec = TbfSpec { peakrate: Some(Rate::from_bps(16_000_000)), ..spec(30_000) };
        let left = leave(spec, 100, 200);
        let gaps: Vec<f64> = left.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert!(gaps[1..57].iter().all(|gap| (gap - 0.5).abs() < 1e-5), "{gaps:?}");
        assert!(gaps[62..].iter().all(|gap| (gap - 1.0).abs() < 1e-5));
    }

    /// A pause fills the bucket again, and no further than full.
    #[test]
    fn a_pause_earns_a_burst_at_most() {
        let mut tbf = Tbf::new(&spec(3000));
        let mut report = Report::default();
        for start in [0.0, 2.0, 1000.0] {
            (0..5).for_each(|id| tbf.enqueue(at_ms(start), packet(id, 1000, false), 0, &mut report));
            let at_once = (0..5).filter(|_| tbf.dequeue(at_ms(start), &mut report).is_some()).count();
            assert_eq!(at_once, if start == 2.0 { 2 } else { 3 });
            while tbf.fifo.pop().is_some() {}
        }
    }

    /// tc-tbf(8): the limit is rate * latency + burst; of a peak rate what that sends in the time, and its bucket, if it is less.
    #[test]
    fn a_latency_is_a_limit() {
        let of = |peakrate| {
            let spec =
                TbfSpec { latency: Some(Duration::from_millis(50)), limit: None, peakrate, ..spec(60_000) };
            assert_eq!(spec.check(Rate::ZERO), Ok(()));
            spec.limit().fixed()
        };
        assert_eq!(of(None), Limit::Bytes(Size::from_bytes(110_000)));
        assert_eq!(of(Some(Rate::from_bps(16_000_000))), Limit::Bytes(Size::from_bytes(101_500)));
        assert!(spec(3000).check(Rate::ZERO).is_ok());
        assert!(TbfSpec { limit: None, ..spec(3000) }.check(Rate::ZERO).is_err());
        assert!(TbfSpec { peakrate: Some(spec(3000).rate), ..spec(3000) }.check(Rate::ZERO).is_err());
    }

    /// A queue that nothing asks again, as that of a throttle, cannot be one that holds packets back.
    #[test]
    fn a_shaper_belongs_on_a_link() {
        let refused = |queue: QueueSpec| queue.check_without_path(Rate::from_bps(8_000_000)).is_err();
        let cake = |bandwidth| QueueSpec::Cake(crate::queue::CakeSpec::linux(bandwidth));
        assert!(refused(QueueSpec::Tbf(spec(3000))));
        assert!(refused(cake(Some(spec(3000).rate))));
        assert!(!refused(cake(None)));
    }

    /// What could never leave is dropped when it comes, and holds up nothing (Linux does the same).
    #[test]
    fn packets_longer_than_the_burst_are_dropped() {
        let mut tbf = Tbf::new(&spec(1500));
        let mut report = Report::default();
        [1501, 1500]
            .into_iter()
            .for_each(|len| tbf.enqueue(at_ms(0.0), packet(len, len, false), 0, &mut report));
        assert_eq!(report.dropped.len(), 1);
        assert_eq!(tbf.dequeue(at_ms(0.0), &mut report).map(|(_, packet)| packet.len), Some(1500));
    }
}
