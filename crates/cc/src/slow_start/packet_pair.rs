//! Packet pair: the connection request is two packets (or a train of more) back to back, whose echoes show the rate of the
//! bottleneck. A rate policy begins at that rate; a window grows by standard slow start up to ssthresh = rate * RTT, as
//! J. Hoe: Improving the Start-up Behavior of a Congestion Control Scheme for TCP, SIGCOMM 1996, section 3.1.

use super::standard::{Standard, StandardParams};
use crate::params::{SlowStartSpec, Spec};
use crate::probe::{Probe, ProbeFilter, ProbeSide, Probed};
use crate::settings::{Deserialize, JsonSchema, Serialize};
use crate::{Ack, Congestion, Growth, Setup, SlowStart, Window};
use longhaul_units::{Duration, Size};

/// Parameters of [`PacketPair`].
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PacketPairParams {
    /// Probes that leave back to back: 2 for a pair, 10 to 15 for a train.
    #[schemars(extend("minimum" = 2, "maximum" = 64, "x-unit" = "probes"))]
    pub probes: u32,
    /// Length of each probe on the wire, up to 1000 bytes; one that carries options may be longer.
    pub size: Size,
    /// A probe without an echo is lost after so long; doubled with each retry.
    pub timeout: Duration,
    /// How often the probes are sent again. 0 is the strict mode of the thesis: after a lost probe, or with a rate below
    /// STTP's rho_fail, the connection is given up.
    #[schemars(extend("minimum" = 0, "maximum" = 20, "x-unit" = "retries"))]
    pub retries: u32,
    /// Where gaps are measured. For the receiver `timestamps` are needed; a `timestamp_tick` above the gap adds nothing
    /// to what the sender measures.
    #[schemars(extend("x-unit" = "sender or receiver"))]
    pub side: ProbeSide,
    /// Which gap of a train counts: the median, the mean, or the least.
    #[schemars(extend("x-unit" = "median, mean or least"))]
    pub filter: ProbeFilter,
}

impl Default for PacketPairParams {
    /// Two probes of 40 bytes, measured at the sender, not repeated (Wade 2000, sections 3.4.1 and 5.1.2).
    fn default() -> Self {
        PacketPairParams {
            probes: 2,
            size: Size::from_bytes(40),
            timeout: Duration::from_secs(1),
            retries: 0,
            side: ProbeSide::Sender,
            filter: ProbeFilter::Median,
        }
    }
}

/// The longest probe: one that no path has to fragment.
const LONGEST_PROBE: u64 = 1000;

impl Spec for PacketPairParams {
    const NAME: &'static str = "packet_pair";
    const SOURCE: &'static str = "Keshav 1991, Hoe 1996";
    const SUMMARY: &'static str =
        "probes the bottleneck's rate with packets back to back; ssthresh = rate * RTT";

    fn check(&self) -> Result<(), String> {
        if !(1..=LONGEST_PROBE).contains(&self.size.as_bytes()) {
            return Err(format!("size must be 1 B to {LONGEST_PROBE} B, not {}", self.size));
        }
        if self.timeout.is_zero() {
            return Err("timeout must be above 0 s".to_string());
        }
        Ok(())
    }
}

impl PacketPairParams {
    /// What the connection is to send.
    pub(crate) fn probe(&self) -> Probe {
        Probe {
            count: self.probes,
            size: self.size,
            timeout: self.timeout,
            retries: self.retries,
            side: self.side,
        }
    }
    /// A lost probe, or too low a rate, ends the connection.
    pub(crate) fn is_strict(&self) -> bool {
        self.retries == 0
    }
}

impl SlowStartSpec for PacketPairParams {
    type Policy = PacketPair;
    fn start(&self, setup: &Setup) -> PacketPair {
        PacketPair { params: self.clone(), growth: StandardParams::default().start(setup) }
    }
}

/// Standard slow start up to the bandwidth-delay product that the probes have measured.
#[derive(Clone, Debug)]
pub struct PacketPair {
    params: PacketPairParams,
    growth: Standard,
}

impl SlowStart for PacketPair {
    fn probe(&self) -> Option<Probe> {
        Some(self.params.probe())
    }
    /// Bytes of payload, from a rate that counts headers too: ssthresh is not that exact.
    fn ssthresh_probed(&self, probed: &Probed<'_>) -> Option<f64> {
        let rate = probed.bottleneck(self.params.filter)?;
        Some(rate.as_bps() as f64 / 8.0 * probed.rtt.as_secs_f64())
    }
    fn increase(&mut self, window: &Window, ack: &Ack) -> Growth {
        self.growth.increase(window, ack)
    }
    fn congestion(&mut self, event: &Congestion) {
        self.growth.congestion(event);
    }
    fn idle(&mut self) {
        self.growth.idle();
    }
}

#[cfg(test)]
mod tests {
    use crate::SlowStartKind;
    use crate::probe::Probed;
    use crate::testing::{MSS, policy, setup};
    use longhaul_units::{Duration, Instant, Size};

    #[test]
    fn asks_for_two_probes_of_40_bytes() {
        let reno = policy(r#""reno""#, r#""packet_pair""#, &setup(2 * MSS, None));
        let probe = reno.probe().unwrap();
        assert_eq!((probe.count, probe.size, probe.retries), (2, Size::from_bytes(40), 0));
        assert_eq!(policy(r#""reno""#, r#""standard""#, &setup(2 * MSS, None)).probe(), None);
    }

    #[test]
    fn ssthresh_becomes_the_bandwidth_delay_product() {
        // 40 bytes in 32 us are 10 Mbit/s; times 100 ms are 125,000 bytes.
        let gaps = [Duration::from_micros(32)];
        let size = Size::from_bytes(40);
        let rtt = Duration::from_millis(100);
        let mut reno = policy(r#""reno""#, r#""packet_pair""#, &setup(2 * MSS, None));
        assert!(reno.on_probed(&Probed { now: Instant::ZERO, rtt, size, gaps: &gaps }));
        assert_eq!((reno.window(), reno.ssthresh()), (2000, 125_000));
        // Without an estimate slow start is as ever.
        let mut reno = policy(r#""reno""#, r#""packet_pair""#, &setup(2 * MSS, None));
        assert!(reno.on_probed(&Probed { now: Instant::ZERO, rtt, size, gaps: &[] }));
        assert_eq!(reno.ssthresh(), u64::MAX);
    }

    #[test]
    fn refuses_probes_that_are_none() {
        for (json, message) in [
            (r#"{"kind": "packet_pair", "size": "0 B"}"#, "packet_pair: size must be 1 B to 1000 B, not 0 B"),
            (
                r#"{"kind": "packet_pair", "probes": 1}"#,
                "packet_pair: probes must be at least 2 and at most 64, not 1",
            ),
            (r#"{"kind": "packet_pair", "timeout": "0 s"}"#, "packet_pair: timeout must be above 0 s"),
        ] {
            let error = serde_json::from_str::<SlowStartKind>(json).unwrap_err().to_string();
            assert!(error.starts_with(message), "{error}");
        }
    }
}
