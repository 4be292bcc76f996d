//! Probing a path before the first data: a few small packets leave back to back, and the gaps between their echoes show the
//! rate of the bottleneck (packet pair). S. Keshav: A Control-Theoretic Approach to Flow Control, SIGCOMM 1991; trains and
//! measurement at the receiver: V. Paxson, End-to-End Internet Packet Dynamics, SIGCOMM 1997 (packet bunch modes).

use crate::settings::{Deserialize, JsonSchema, Serialize};
use longhaul_units::{Duration, Instant, Rate, Size};

/// What a policy requires to be sent as its connection opens. The probes are the connection request itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Probe {
    /// Probes that leave back to back; at least 1, and 2 for a gap.
    pub count: u32,
    /// Length of each on the wire, if a connection request is not longer by itself.
    pub size: Size,
    /// A probe that has no echo after so long is lost; doubled with each attempt.
    pub timeout: Duration,
    /// How often all probes are sent again. With 0 a lost probe ends the connection.
    pub retries: u32,
    /// Where gaps are measured.
    pub side: ProbeSide,
}

/// Where the gaps between probes are measured.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ProbeSide {
    /// Between echoes that return: the way back may widen or narrow them.
    #[default]
    Sender,
    /// Between arriving probes, by the timestamps of the echoes (RFC 7323), as exactly as their clock ticks.
    /// Where there are none, the sender measures.
    Receiver,
}

/// Which gap of a train counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ProbeFilter {
    /// The median, of two in the middle the larger.
    #[default]
    Median,
    /// The mean: the whole train's dispersion.
    Mean,
    /// The smallest: the pair that nothing came between.
    Least,
}

impl ProbeFilter {
    /// The gap that counts; `None` without any.
    pub fn gap(self, gaps: &[Duration]) -> Option<Duration> {
        let mut sorted = gaps.to_vec();
        sorted.sort_unstable();
        let count = u64::try_from(sorted.len()).ok().filter(|count| *count > 0)?;
        match self {
            ProbeFilter::Median => sorted.get(sorted.len() / 2).copied(),
            ProbeFilter::Mean => {
                let sum: u64 = sorted.iter().map(|gap| gap.as_nanos()).sum();
                Some(Duration::from_nanos(sum / count))
            }
            ProbeFilter::Least => sorted.first().copied(),
        }
    }
}

/// What the probes have measured.
#[derive(Clone, Copy, Debug)]
pub struct Probed<'a> {
    /// When the last echo came.
    pub now: Instant,
    /// From the departure of the first probe to the arrival of its echo.
    pub rtt: Duration,
    /// Length of a probe on the wire.
    pub size: Size,
    /// Gaps between one probe and the next: one less than probes, fewer if echoes are missing.
    pub gaps: &'a [Duration],
}

impl Probed<'_> {
    /// C = S / gap: the rate at which the bottleneck sent probe after probe. `None` without a gap.
    ///
    /// ```
    /// use longhaul_cc::{Probed, ProbeFilter};
    /// use longhaul_units::{Duration, Instant, Rate, Size};
    /// // 40 bytes every 5 ms.
    /// let gaps = [Duration::from_millis(5)];
    /// let probed = Probed { now: Instant::ZERO, rtt: Duration::ZERO, size: Size::from_bytes(40), gaps: &gaps };
    /// assert_eq!(probed.bottleneck(ProbeFilter::Median), Some(Rate::from_bps(64_000)));
    /// ```
    pub fn bottleneck(&self, filter: ProbeFilter) -> Option<Rate> {
        let gap = filter.gap(self.gaps).filter(|gap| !gap.is_zero())?;
        Some(Rate::from_bps_f64(self.size.as_bits() as f64 / gap.as_secs_f64()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gaps(millis: &[u64]) -> Vec<Duration> {
        millis.iter().map(|ms| Duration::from_millis(*ms)).collect()
    }

    #[test]
    fn a_filter_picks_one_gap_of_a_train() {
        let train = gaps(&[8, 1, 2, 30, 4]);
        assert_eq!(ProbeFilter::Median.gap(&train), Some(Duration::from_millis(4)));
        assert_eq!(ProbeFilter::Mean.gap(&train), Some(Duration::from_millis(9)));
        assert_eq!(ProbeFilter::Least.gap(&train), Some(Duration::from_millis(1)));
        assert_eq!(ProbeFilter::Median.gap(&[]), None);
        assert_eq!(ProbeFilter::Mean.gap(&[]), None);
    }

    #[test]
    fn a_pair_has_one_gap_whatever_the_filter() {
        for filter in [ProbeFilter::Median, ProbeFilter::Mean, ProbeFilter::Least] {
            assert_eq!(filter.gap(&gaps(&[7])), Some(Duration::from_millis(7)));
        }
    }

    /// With k packets of L bytes between the probes C_est = C S / (S + k L); for S = 40 and
    /// L = 1000 that is C, C/26 and C/51.
    #[test]
    fn packets_between_the_probes_divide_the_estimate() {
        let bottleneck = Rate::from_bps(2_000_000);
        let estimates: Vec<u64> = [0, 1, 2]
            .map(|k| {
                let gap = [bottleneck.transmission_time(Size::from_bytes(40 + k * 1000))];
                let size = Size::from_bytes(40);
                let probed = Probed { now: Instant::ZERO, rtt: Duration::ZERO, size, gaps: &gap };
                probed.bottleneck(ProbeFilter::Median).unwrap().as_bps()
            })
            .to_vec();
        assert_eq!(estimates, [2_000_000, 76_923, 39_216]); // 2 Mbit/s / 26 and / 51
    }

    #[test]
    fn echoes_at_the_same_instant_say_nothing() {
        let gaps = [Duration::ZERO];
        let probed =
            Probed { now: Instant::ZERO, rtt: Duration::ZERO, size: Size::from_bytes(40), gaps: &gaps };
        assert_eq!(probed.bottleneck(ProbeFilter::Median), None);
    }
}
