//! Slotted release: what has crossed a link waits until a slot opens, and all that has come by then arrives at once. A crude model of
//! media that gather packets (WiFi, cable, LTE), as `slot` of Linux's netem has it (`netem_dequeue` in `net/sched/sch_netem.c`).

use crate::Random;
use crate::jitter::{Distribution, Draws};
use crate::settings::{Deserialize, JsonSchema, Serialize};
use longhaul_units::{Duration, Instant, Probability, Size};
use std::collections::VecDeque;

/// When slots open, and what is released in one.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SlotsSpec {
    /// The shortest time to the next slot: from the last one, or from the first packet that waits.
    #[serde(default)]
    #[schemars(extend("x-maximum" = "1 h"))]
    pub least: Duration,
    /// How much longer it takes, at random; a duration alone is the `most` of a uniform one.
    #[serde(default = "none")]
    #[serde(deserialize_with = "crate::jitter::short::distribution")]
    #[schemars(schema_with = "crate::jitter::short::distribution_schema")]
    pub distribution: Distribution,
    /// Most packets that a slot releases; none: all that have come.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub packets: Option<u32>,
    /// Bytes after which a slot is full; the packet that reaches them is the last one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-exclusiveMinimum" = "0 B", "x-maximum" = "1 GB"))]
    pub bytes: Option<Size>,
    /// Most packets that wait; one more is lost.
    #[serde(default = "netems_limit")]
    #[schemars(range(min = 1, max = 1_000_000))]
    pub limit: u32,
}

fn none() -> Distribution {
    Distribution::Uniform { most: Duration::ZERO }
}

fn netems_limit() -> u32 {
    1000
}

impl SlotsSpec {
    /// What types do not check.
    ///
    /// # Errors
    /// The field, and what is wrong with it.
    pub fn check(&self) -> Result<(), (&'static str, String)> {
        self.distribution.check("least").map_err(|message| ("distribution", message))?;
        if self.least == Duration::ZERO && self.distribution == none() {
            let message = "slots that open at once are none: write for instance least = \"800 us\" and distribution = \"4.2 ms\" for 0.8 to 5 ms";
            return Err(("least", message.to_string()));
        }
        Ok(())
    }
}

/// Slots at work.
pub(crate) struct Slots {
    least: Duration,
    draws: Draws,
    packets: u32,
    bytes: u64,
    limit: usize,
    /// When the slot opens, and what is left of it.
    opens: Instant,
    packets_left: u32,
    bytes_left: u64,
    /// When the packets arrive that wait, in order.
    waiting: VecDeque<Instant>,
    last: Instant,
}

impl Slots {
    pub fn new(spec: &SlotsSpec, random: Random) -> Self {
        let packets = spec.packets.unwrap_or(u32::MAX);
        let bytes = spec.bytes.map_or(u64::MAX, Size::as_bytes);
        Slots {
            least: spec.least,
            draws: spec.distribution.draws(Probability::default(), random),
            packets,
            bytes,
            limit: spec.limit as usize,
            opens: Instant::ZERO,
            packets_left: packets,
            bytes_left: bytes,
            waiting: VecDeque::new(),
            last: Instant::ZERO,
        }
    }

    /// When a packet of `len` bytes arrives that began to cross the link at `came` and is over it at `ready`; `None` where too many
    /// wait. Packets are asked about in their order.
    pub fn release(&mut self, came: Instant, ready: Instant, len: u32) -> Option<Instant> {
        while self.waiting.front().is_some_and(|arrives| *arrives <= came) {
            self.waiting.pop_front();
        }
        if self.waiting.len() >= self.limit {
            return None;
        }
        if self.opens < ready {
            // The last slot was over, and the time to the next one began with this packet. One that opens too early is empty.
            self.open_after(came.max(self.last));
            if self.opens < ready {
                self.open_after(ready);
            }
        }
        self.last = self.opens;
        self.waiting.push_back(self.last);
        self.packets_left -= 1;
        self.bytes_left = self.bytes_left.saturating_sub(u64::from(len));
        if self.packets_left == 0 || self.bytes_left == 0 {
            self.open_after(self.last);
        }
        Some(self.last)
    }

    fn open_after(&mut self, time: Instant) {
        self.opens = time + self.least + self.draws.next();
        (self.packets_left, self.bytes_left) = (self.packets, self.bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn us(us: u64) -> Duration {
        Duration::from_micros(us)
    }
    fn spec() -> SlotsSpec {
        SlotsSpec { least: us(5_000), distribution: none(), packets: None, bytes: None, limit: 1000 }
    }
    /// Arrivals in us of packets of 1500 B, one each `gap` us, that take `delay` us.
    fn arrivals(spec: &SlotsSpec, gap: u64, delay: u64, packets: u64) -> Vec<u64> {
        let mut slots = Slots::new(spec, Random::stream(1, "slots"));
        let came = (0..packets).map(|number| Instant::ZERO + us(number * gap));
        came.map(|came| slots.release(came, came + us(delay), 1500).map_or(0, |at| at.as_nanos() / 1000))
            .collect()
    }

    /// Every 5 ms, those that were over the link by then: the one that comes at 5 ms takes 200 us and waits for the next slot.
    #[test]
    fn packets_arrive_when_a_slot_opens() {
        assert_eq!(
            arrivals(&spec(), 1_000, 200, 11),
            [5_000, 5_000, 5_000, 5_000, 5_000, 10_000, 10_000, 10_000, 10_000, 10_000, 15_000]
        );
    }

    /// Two packets in 5 ms, or 3000 bytes, whatever comes.
    #[test]
    fn a_slot_is_full() {
        let expected = [5_000, 5_000, 10_000, 10_000, 15_000, 15_000];
        assert_eq!(arrivals(&SlotsSpec { packets: Some(2), ..spec() }, 100, 200, 6), expected);
        let bytes = |bytes| SlotsSpec { bytes: Some(Size::from_bytes(bytes)), ..spec() };
        assert_eq!(arrivals(&bytes(3000), 100, 200, 6), expected);
        // The packet that reaches the limit is the last one, as netem subtracts a length after the packet has gone.
        assert_eq!(arrivals(&bytes(1501), 100, 200, 6), expected);
    }

    /// A packet alone waits for the whole time, from when it came: no clock runs while nothing waits.
    #[test]
    fn a_slot_begins_with_the_first_packet_that_waits() {
        assert_eq!(arrivals(&spec(), 100_000, 200, 3), [5_000, 105_000, 205_000]);
        // A slot that opens before the packet is over the link is empty.
        assert_eq!(arrivals(&spec(), 100_000, 20_000, 2), [25_000, 125_000]);
    }

    #[test]
    fn what_finds_too_many_waiting_is_lost() {
        let few = SlotsSpec { packets: Some(1), limit: 3, ..spec() };
        assert_eq!(arrivals(&few, 1_000, 200, 9), [5_000, 10_000, 15_000, 0, 0, 20_000, 0, 0, 0]);
    }

    /// The time between slots is uniform from 0.8 to 5 ms: 2.9 ms on average, deviation 4.2 / sqrt(12) ms.
    #[test]
    fn slots_are_as_far_apart_as_asked_for() {
        let random =
            SlotsSpec { least: us(800), distribution: Distribution::Uniform { most: us(4_200) }, ..spec() };
        let mut found = arrivals(&random, 10, 0, 3_000_000);
        found.dedup();
        let gaps: Vec<f64> = found.windows(2).map(|pair| (pair[1] - pair[0]) as f64).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let deviation = (gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64).sqrt();
        // The packet that opens the next slot comes up to 10 us after the last one.
        assert!((mean - 2_905.0).abs() < 40.0, "{mean}");
        assert!((deviation - 1_212.4).abs() < 25.0, "{deviation}");
    }

    #[test]
    fn slots_that_are_none_are_named() {
        assert_eq!(spec().check(), Ok(()));
        assert_eq!(SlotsSpec { least: Duration::ZERO, ..spec() }.check().unwrap_err().0, "least");
    }
}
