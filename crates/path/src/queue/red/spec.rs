//! The parameters of RED, their ranges, and what "automatic" makes of them: Floyd, Gummadi and Shenker, "Adaptive RED"
//! (2001), in the form of ns-2.35.

use crate::settings::{Deserialize, JsonSchema, Serialize};
use longhaul_units::{Duration, Limit, Probability, QueueLimit, Rate, Size};

/// In what the average queue and its thresholds are measured.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Measure {
    /// Packets, whatever their size.
    #[default]
    Packets,
    /// Bytes.
    Bytes,
}

/// Which packet goes when one arrives at a full queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Overflow {
    /// The one that arrives.
    #[default]
    Arriving,
    /// The one that has waited longest.
    Oldest,
    /// Any one of those waiting and the one that arrives, with equal chances.
    Random,
}

/// Where the sources of RED differ.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RedForm {
    /// As published: the gentle part rises from the max_p in force, which adaptation may have moved.
    #[default]
    Floyd,
    /// ns-2.35: the gentle part always rises from the initial max_p, so that the probability jumps at the maximum threshold
    /// once max_p has been adapted.
    Ns2,
}

/// Parameters of RED. Thresholds and weight that are not given follow from the link's rate, `target_delay` and
/// `mean_packet`.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RedSpec {
    /// Most packets or bytes in the system.
    #[schemars(extend("x-exclusiveMinimum" = "0 packets"))]
    pub limit: QueueLimit,
    /// Average queue from which packets are marked or dropped; if not given half of what drains in `target_delay`, at
    /// least 5 packets of the mean size.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_threshold: Option<Limit>,
    /// Average queue at which the probability has risen to max_p; if not given three times `min_threshold`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_threshold: Option<Limit>,
    /// Weight of an arriving packet's queue in the moving average; if not given 1 - exp(-1/C), where
    /// C is the link's rate in packets of the mean size per second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 1))]
    pub queue_weight: Option<f64>,
    /// Queueing delay that automatic thresholds aim at.
    #[serde(default = "five_ms")]
    #[schemars(extend("x-exclusiveMinimum" = "0 s"))]
    pub target_delay: Duration,
    /// Mean size of packets: for automatic values, for idle times, and to convert between packets and bytes.
    #[serde(default = "mean_packet")]
    #[schemars(extend("x-exclusiveMinimum" = "0 B", "x-maximum" = "65535 B"))]
    pub mean_packet: Size,
    /// Probability at the maximum threshold; with `adaptive` only at the start.
    #[serde(default = "one_tenth")]
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub max_p: Probability,
    /// Above the maximum threshold the probability rises from max_p to 1 at twice that threshold; otherwise it is 1.
    #[serde(default = "crate::queue::yes")]
    pub gentle: bool,
    /// Adapt max_p so that the average queue stays in the middle between the thresholds.
    #[serde(default = "crate::queue::yes")]
    pub adaptive: bool,
    /// max_p is not made smaller below this; if not given 0.01, or the inverse of the bandwidth-delay product in packets of
    /// 1000 B at 100 ms if that is less.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bottom: Option<Probability>,
    /// max_p is not made larger above this.
    #[serde(default = "one_half")]
    pub top: Probability,
    /// What is added to max_p when the average queue is too long, but at most max_p / 4.
    #[serde(default = "one_hundredth")]
    pub alpha: Probability,
    /// What max_p is multiplied by when the average queue is too short.
    #[serde(default = "nine_tenths")]
    pub beta: Probability,
    /// Time between two adaptations of max_p.
    #[serde(default = "half_a_second")]
    pub interval: Duration,
    /// Spread marks and drops: after one, wait 1/p packets before the next becomes possible. Without it the gap is
    /// uniform between 1 and 1/p packets.
    #[serde(default = "crate::queue::yes")]
    pub wait: bool,
    /// In what the average queue is measured.
    #[serde(default)]
    pub measure: Measure,
    /// Make a packet's probability proportional to its size (byte mode; RFC 7141 advises against it).
    #[serde(default)]
    pub size_dependent: bool,
    /// Mark ECN-capable packets instead of dropping them.
    #[serde(default = "crate::queue::yes")]
    pub ecn: bool,
    /// From this probability on ECN-capable packets are dropped too (RFC 3168 section 7). It is compared before marks
    /// are spread.
    #[serde(default = "one_tenth")]
    pub mark_limit: Probability,
    /// Which packet goes when one arrives at a full queue.
    #[serde(default)]
    pub overflow: Overflow,
    /// Whose form of the gentle part.
    #[serde(default)]
    pub form: RedForm,
}

fn five_ms() -> Duration {
    Duration::from_millis(5)
}
fn half_a_second() -> Duration {
    Duration::from_millis(500)
}
fn mean_packet() -> Size {
    Size::from_bytes(500)
}
fn probability(value: f64) -> Probability {
    Probability::new(value).expect("a constant between 0 and 1")
}
fn one_hundredth() -> Probability {
    probability(0.01)
}
fn one_tenth() -> Probability {
    probability(0.1)
}
fn one_half() -> Probability {
    probability(0.5)
}
fn nine_tenths() -> Probability {
    probability(0.9)
}

/// What is in force: thresholds and queue in packets or bytes, by [`RedSpec::measure`].
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct RedSettings {
    /// Minimum threshold.
    pub min_threshold: f64,
    /// Maximum threshold.
    pub max_threshold: f64,
    /// Weight of the moving average.
    pub weight: f64,
    /// Packets of the mean size per second.
    pub packet_rate: f64,
    /// Least max_p of the adaptation.
    pub bottom: f64,
}

impl RedSpec {
    /// RED with everything automatic.
    pub fn automatic(limit: impl Into<QueueLimit>) -> Self {
        RedSpec {
            limit: limit.into(),
            min_threshold: None,
            max_threshold: None,
            queue_weight: None,
            target_delay: five_ms(),
            mean_packet: mean_packet(),
            max_p: one_tenth(),
            gentle: true,
            adaptive: true,
            bottom: None,
            top: one_half(),
            alpha: one_hundredth(),
            beta: nine_tenths(),
            interval: half_a_second(),
            wait: true,
            measure: Measure::Packets,
            size_dependent: false,
            ecn: true,
            mark_limit: one_tenth(),
            overflow: Overflow::Arriving,
            form: RedForm::Floyd,
        }
    }

    /// The thresholds and the weight on a link of this rate.
    pub fn settings(&self, rate: Rate) -> RedSettings {
        let mean = self.mean_packet.as_bytes() as f64;
        let packet_rate = rate.as_bps() as f64 / (8.0 * mean);
        let in_packets = |threshold: Limit| match threshold {
            Limit::Packets(packets) => packets as f64,
            Limit::Bytes(size) => size.as_bytes() as f64 / mean,
        };
        let half_of_target = 0.5 * self.target_delay.as_secs_f64() * packet_rate;
        let min = self.min_threshold.map_or_else(|| half_of_target.max(5.0), in_packets);
        let max = self.max_threshold.map_or(3.0 * min, in_packets);
        let unit = match self.measure {
            Measure::Packets => 1.0,
            Measure::Bytes => mean,
        };
        let inverse_of_bdp = 80_000.0 / rate.as_bps() as f64;
        RedSettings {
            min_threshold: min * unit,
            max_threshold: max * unit,
            weight: self.queue_weight.unwrap_or_else(|| -libm::expm1(-1.0 / packet_rate)),
            packet_rate,
            bottom: self.bottom.map_or_else(|| inverse_of_bdp.min(0.01), Probability::get),
        }
    }

    /// What is wrong with the parameters, and the field's name, on a link of this rate.
    ///
    /// # Errors
    /// If two of them do not go together.
    pub fn check(&self, rate: Rate) -> Result<(), (&'static str, String)> {
        let RedSettings { min_threshold, max_threshold, bottom, .. } = self.settings(rate);
        if min_threshold == 0.0 || min_threshold >= max_threshold {
            let message = format!(
                "the minimum threshold is above 0 and below the maximum threshold; here they are {min_threshold} and \
                 {max_threshold} {}",
                if self.measure == Measure::Packets { "packets" } else { "B" },
            );
            let field = if self.min_threshold.is_some() { "min_threshold" } else { "max_threshold" };
            return Err((field, message));
        }
        if let Some(Limit::Packets(least)) = self.min_threshold {
            if matches!(self.limit, QueueLimit::Fixed(Limit::Packets(limit)) if least > limit) {
                let message = format!(
                    "RED would never act: its minimum threshold is at most the limit, {}",
                    self.limit
                );
                return Err(("min_threshold", message));
            }
        }
        if self.adaptive {
            if self.interval.is_zero() {
                return Err(("interval", "the time between two adaptations is more than 0 s".to_string()));
            }
            if bottom == 0.0 || bottom > self.top.get() {
                let message =
                    format!("bottom is above 0 and at most top; here they are {bottom} and {}", self.top);
                return Err((if self.bottom.is_some() { "bottom" } else { "top" }, message));
            }
            if self.alpha.get() == 0.0 {
                return Err(("alpha", "alpha is above 0".to_string()));
            }
            if self.beta.get() == 0.0 || self.beta.get() == 1.0 {
                return Err(("beta", "beta is above 0 and below 1".to_string()));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use longhaul_units::ranges::{Key, out_of_range};

    fn automatic() -> RedSpec {
        RedSpec::automatic(Limit::Packets(8333))
    }

    /// de Souza 2003 (LBNL-52549), with ns-2's mean packet size of 500 B: C = 250,000 packets/s, thresholds 625 and 1875
    /// packets, weight 4.0e-6.
    #[test]
    fn automatic_at_1_gbit_per_s() {
        let settings = automatic().settings(Rate::from_bps(1_000_000_000));
        assert_eq!((settings.min_threshold, settings.max_threshold), (625.0, 1875.0));
        assert_eq!(settings.packet_rate, 250_000.0);
        // 1 - exp(-4e-6) = 4e-6 - 8e-12 + ...
        assert!((settings.weight - 3.999_992e-6).abs() < 1e-13, "{}", settings.weight);
        // 80,000 / 1e9
        assert_eq!(settings.bottom, 0.00008);
    }

    /// The thresholds never fall below 5 and 15 packets; the bottom of max_p never rises above 0.01.
    #[test]
    fn automatic_on_a_slow_link() {
        let settings = automatic().settings(Rate::from_bps(1_000_000));
        assert_eq!((settings.min_threshold, settings.max_threshold), (5.0, 15.0));
        assert_eq!(settings.bottom, 0.01);
        let in_bytes = RedSpec { measure: Measure::Bytes, ..automatic() };
        let settings = in_bytes.settings(Rate::from_bps(1_000_000));
        assert_eq!((settings.min_threshold, settings.max_threshold), (2500.0, 7500.0));
    }

    #[test]
    fn thresholds_convert_with_the_mean_packet() {
        let spec = RedSpec {
            min_threshold: Some(Limit::Bytes(Size::from_bytes(10_000))),
            max_threshold: Some(Limit::Packets(60)),
            queue_weight: Some(0.002),
            ..automatic()
        };
        let rate = Rate::from_bps(45_000_000);
        let settings = spec.settings(rate);
        assert_eq!((settings.min_threshold, settings.max_threshold), (20.0, 60.0));
        assert_eq!(settings.weight, 0.002);
        let settings = RedSpec { measure: Measure::Bytes, ..spec }.settings(rate);
        assert_eq!((settings.min_threshold, settings.max_threshold), (10_000.0, 30_000.0));
    }

    #[test]
    fn values_out_of_range_are_named() {
        let rate = Rate::from_bps(10_000_000);
        // The key that is out of its range, or else what does not go together.
        let field = |spec: RedSpec| match out_of_range(&spec).first().map(|found| found.place[0]) {
            Some(Key::Field(field)) => field,
            _ => spec.check(rate).unwrap_err().0,
        };
        assert_eq!((out_of_range(&automatic()), automatic().check(rate)), (vec![], Ok(())));
        assert_eq!(field(RedSpec { queue_weight: Some(0.0), ..automatic() }), "queue_weight");
        assert_eq!(field(RedSpec { queue_weight: Some(f64::NAN), ..automatic() }), "queue_weight");
        assert_eq!(field(RedSpec { max_p: Probability::ZERO, ..automatic() }), "max_p");
        assert_eq!(field(RedSpec { mean_packet: Size::ZERO, ..automatic() }), "mean_packet");
        assert_eq!(field(RedSpec { max_threshold: Some(Limit::Packets(2)), ..automatic() }), "max_threshold");
        assert_eq!(field(RedSpec { min_threshold: Some(Limit::Packets(0)), ..automatic() }), "min_threshold");
        assert_eq!(field(RedSpec { bottom: Some(probability(0.6)), ..automatic() }), "bottom");
        assert_eq!(field(RedSpec { top: probability(0.001), ..automatic() }), "top");
        assert_eq!(field(RedSpec { beta: probability(1.0), ..automatic() }), "beta");
        assert_eq!(field(RedSpec { interval: Duration::ZERO, ..automatic() }), "interval");
        assert_eq!(field(RedSpec { target_delay: Duration::ZERO, ..automatic() }), "target_delay");
    }
}
