//! What a connection hands to its policy when it begins.

use crate::Bytes;
use crate::params::Spec;
#[cfg(feature = "serde")]
use crate::schema::{self, name_or_table};
use crate::settings::{Deserialize, JsonSchema, Serialize};
use longhaul_units::{Duration, Limit, Rate};

/// The initial window (and restart window), in segments or bytes: what it is in bytes follows from the MSS that the two ends
/// agree on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum InitialWindow {
    /// A number of full-sized segments: 10 is RFC 6928's, 2 that of RFC 2581.
    Segments(u32),
    /// A number of bytes.
    Bytes(Bytes),
    /// min(4 MSS, max(2 MSS, 4380 bytes)) (RFC 3390).
    Rfc3390,
}

impl InitialWindow {
    /// In bytes for this MSS; never less than one segment.
    pub fn bytes(self, mss: Bytes) -> Bytes {
        let mss = mss.max(1);
        let window = match self {
            InitialWindow::Segments(segments) => Bytes::from(segments) * mss,
            InitialWindow::Bytes(bytes) => bytes,
            InitialWindow::Rfc3390 => (4 * mss).min((2 * mss).max(4380)),
        };
        window.max(mss)
    }
}

/// What a policy needs of its connection.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Setup {
    /// Sender maximum segment size (SMSS) in bytes of payload, as far as it is known before the handshake; at least 1.
    /// [`crate::CongestionControl::on_mss`] corrects it.
    pub mss: Bytes,
    /// Initial window.
    pub initial_window: InitialWindow,
    /// Initial slow start threshold; `None` for "arbitrarily high" (RFC 5681 section 3.1).
    pub initial_ssthresh: Option<Limit>,
    /// Whether a window policy requires pacing.
    pub pacing: Pacing,
    /// What congestion takes its share of.
    pub reduces: Reduces,
    /// Seed of the policy's own stream of random numbers: it is to differ from one connection to the next.
    pub seed: u64,
}

impl Default for Setup {
    /// MSS 1460 bytes, initial window of 10 segments (RFC 6928), no threshold, no pacing.
    fn default() -> Self {
        Setup {
            mss: 1460,
            initial_window: InitialWindow::Segments(10),
            initial_ssthresh: None,
            pacing: Pacing::Off,
            reduces: Reduces::FlightSize,
            seed: 0,
        }
    }
}

/// Pacing of a policy that sets only a window. A policy with a rate of its own (BBR) ignores it.
///
/// Read from `"off"`, `"window"` or `{ kind = "window", gain_ss = 2.0, gain_ca = 1.2 }`.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Pacing {
    /// Segments leave as ACKs allow.
    #[default]
    Off,
    /// Segments are spaced at `gain * cwnd / srtt`.
    Window {
        /// Gain while cwnd is under half of ssthresh; at least 1.
        gain_ss: f64,
        /// Gain from there on; at least 1.
        gain_ca: f64,
    },
}

/// Parameters of [`Pacing::Window`].
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct Gains {
    /// Gain while cwnd is under half of ssthresh. Below 1 the window would no longer be the limit.
    #[schemars(extend("minimum" = 1, "maximum" = 1000, "x-unit" = "windows per RTT"))]
    gain_ss: f64,
    /// Gain from there on.
    #[schemars(extend("minimum" = 1, "maximum" = 1000, "x-unit" = "windows per RTT"))]
    gain_ca: f64,
}

impl Default for Gains {
    /// Linux: sysctl `tcp_pacing_ss_ratio` 200 %, `tcp_pacing_ca_ratio` 120 %.
    fn default() -> Self {
        Gains { gain_ss: 2.0, gain_ca: 1.2 }
    }
}

impl Spec for Gains {
    const NAME: &'static str = "window";
    const SOURCE: &'static str = "Linux";
    const SUMMARY: &'static str = "spaces segments at gain * cwnd / srtt";
}

#[cfg(feature = "serde")]
impl<'de> Deserialize<'de> for Pacing {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        use serde::de::Error;
        let (kind, table) = name_or_table(deserializer, "pacing")?;
        match (kind.as_str(), table.keys().next()) {
            ("off", None) => Ok(Pacing::Off),
            ("off", Some(key)) => {
                Err(Error::custom(format!("off: unknown field `{key}`, there are no fields")))
            }
            ("window", _) => {
                let Gains { gain_ss, gain_ca } = schema::read(table).map_err(Error::custom)?;
                Ok(Pacing::Window { gain_ss, gain_ca })
            }
            _ => Err(Error::custom(format!("unknown pacing \"{kind}\"; known are: off, window"))),
        }
    }
}

#[cfg(feature = "serde")]
impl JsonSchema for Pacing {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Pacing".into()
    }
    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "description": "Pacing of window policies: its name, or a table with its name as `kind` and parameters.",
            "anyOf": [
                { "type": "string", "enum": ["off", "window"] },
                {
                    "type": "object",
                    "properties": { "kind": { "const": "off" } },
                    "required": ["kind"],
                    "additionalProperties": false,
                },
                schema::table_schema::<Gains>(generator),
            ],
        })
    }
}

impl Pacing {
    /// Linux's gains (sysctl `tcp_pacing_ss_ratio` 200 %, `tcp_pacing_ca_ratio` 120 %).
    pub const LINUX: Pacing = Pacing::Window { gain_ss: 2.0, gain_ca: 1.2 };

    /// `gain * cwnd / srtt`; windows in bytes. As Linux does (`tcp_update_pacing_rate`), the larger gain only while a
    /// doubling stays below ssthresh. `None` if off, and before the first round trip is measured.
    pub fn rate(self, cwnd: f64, ssthresh: f64, srtt: Duration) -> Option<Rate> {
        let Pacing::Window { gain_ss, gain_ca } = self else { return None };
        let gain = if cwnd < ssthresh / 2.0 { gain_ss } else { gain_ca };
        (!srtt.is_zero()).then(|| Rate::from_bps_f64(gain * cwnd * 8.0 / srtt.as_secs_f64()))
    }
}

/// What a window policy takes its share of upon loss, ECN echo or timeout. They differ where the application or the receiver's
/// window had left cwnd unused.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Reduces {
    /// What is in flight (RFC 5681 equation (4)).
    #[default]
    FlightSize,
    /// The window (Linux: `tcp_reno_ssthresh`, `cubictcp_recalc_ssthresh`).
    Cwnd,
}

/// A limit in bytes for this MSS.
pub(crate) fn in_bytes(limit: Limit, mss: Bytes) -> Bytes {
    match limit {
        Limit::Packets(packets) => packets.saturating_mul(mss),
        Limit::Bytes(size) => size.as_bytes(),
    }
}

impl Setup {
    /// Refuses what no policy could work with.
    #[cfg(feature = "serde")]
    pub(crate) fn check(&self) -> Result<(), String> {
        if self.mss == 0 {
            return Err("the MSS is 0 bytes; it must be at least 1 byte".to_string());
        }
        match self.pacing {
            Pacing::Window { gain_ss, gain_ca } => {
                schema::check(&Gains { gain_ss, gain_ca }).map_err(|error| format!("pacing: {error}"))
            }
            Pacing::Off => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str) -> Result<Pacing, String> {
        serde_json::from_str(json).map_err(|error| error.to_string())
    }

    #[test]
    fn pacing_reads_from_a_name_or_a_table() {
        assert_eq!(read(r#""off""#), Ok(Pacing::Off));
        assert_eq!(read(r#"{"kind": "off"}"#), Ok(Pacing::Off));
        assert_eq!(read(r#""window""#), Ok(Pacing::LINUX));
        let gentle = Pacing::Window { gain_ss: 2.0, gain_ca: 1.0 };
        assert_eq!(read(r#"{"kind": "window", "gain_ca": 1}"#), Ok(gentle));
        let text = serde_json::to_string(&gentle).unwrap();
        assert_eq!(text, r#"{"kind":"window","gain_ss":2.0,"gain_ca":1.0}"#);
        assert_eq!(read(&text), Ok(gentle));
    }

    #[test]
    fn pacing_refuses_what_it_does_not_know() {
        let refused = |json, message: &str| {
            let error = read(json).unwrap_err();
            assert!(error.starts_with(message), "{error}");
        };
        refused(r#""fq""#, "unknown pacing \"fq\"; known are: off, window");
        refused(r#"{"kind": "off", "gain": 1}"#, "off: unknown field `gain`, there are no fields");
        refused(
            r#"{"kind": "window", "gain_ca": 0.9}"#,
            "window: gain_ca must be at least 1 and at most 1000, not 0.9",
        );
        refused(r#"{"gain_ca": 1.2}"#, "a pacing given as a table needs its name as `kind`");
    }

    #[test]
    fn a_setup_without_sense_is_refused() {
        let no_mss = Setup { mss: 0, ..Setup::default() };
        assert_eq!(no_mss.check(), Err("the MSS is 0 bytes; it must be at least 1 byte".to_string()));
        let pacing = Pacing::Window { gain_ss: f64::NAN, gain_ca: 1.2 };
        let error = Setup { pacing, ..Setup::default() }.check();
        let expected = "pacing: window: gain_ss must be at least 1 and at most 1000, not NaN or infinite";
        assert_eq!(error, Err(expected.to_string()));
    }

    #[test]
    fn the_rate_is_gain_times_window_per_round_trip() {
        let srtt = Duration::from_millis(100);
        // 125,000 bytes per 100 ms is 10 Mbit/s.
        let rate = |ssthresh| Pacing::LINUX.rate(125_000.0, ssthresh, srtt);
        assert_eq!(rate(f64::INFINITY), Some(Rate::from_bps(20_000_000)));
        assert_eq!(rate(200_000.0), Some(Rate::from_bps(12_000_000)));
        assert_eq!(rate(125_000.0), Some(Rate::from_bps(12_000_000)));
        assert_eq!(Pacing::LINUX.rate(125_000.0, 0.0, Duration::ZERO), None);
        assert_eq!(Pacing::Off.rate(125_000.0, 0.0, srtt), None);
    }
}
