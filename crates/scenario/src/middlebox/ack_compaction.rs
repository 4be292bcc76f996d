//! The table of a middlebox that compacts ACKs over a thin link.

use super::{Parameters, RealPackets, Site, middlebox};
use crate::validate::Checker;
use crate::{Scenario, TcpChanges, TcpSpec};
use longhaul_middlebox::{Middlebox, Payload, ack_compaction};
use longhaul_tcp::Reading;
use longhaul_units::{Duration, Rate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

middlebox! {
    /// ACK compaction over the thin link from `at` to `peer`. Other packets that way cross in the same tunnel, which adds 28 bytes.
    AckCompactionSpec {
        /// Name of the node behind the thin link.
        pub peer: String,
        /// What is kept of the ACKs of a packet.
        #[serde(default)]
        pub form: CompactionFormSpec,
        /// How long ACKs gather after the first.
        #[serde(default = "compaction_wait")]
        #[schemars(extend("x-maximum" = "10 s"))]
        pub wait: Duration,
        /// Gather at least until the thin link has sent what was sent last.
        #[serde(default = "yes")]
        pub pace: bool,
        /// Most ACKs of a packet.
        #[serde(default = "sixty")]
        #[schemars(range(min = 1, max = 1000))]
        pub most: u64,
        /// Traditional form: so many ACKs of a connection cross each by itself.
        #[serde(default = "four")]
        pub threshold: u64,
        /// When the ACKs of a packet leave.
        #[serde(default)]
        pub spacing: SpacingSpec,
        /// The tunnel is a TCP connection, with these settings where they differ from the defaults; without it, datagrams.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub carrier: Option<TcpChanges>,
    }
}

fn compaction_wait() -> Duration {
    Duration::from_millis(75)
}

fn yes() -> bool {
    true
}

fn sixty() -> u64 {
    60
}

fn four() -> u64 {
    4
}

impl AckCompactionSpec {
    /// Settings of the tunnel's connection, if it is one: established from the start, without Nagle's algorithm, never given up.
    fn carrier_tcp(&self) -> Option<TcpSpec> {
        let base =
            TcpSpec { established: true, nagle: false, max_retransmissions: u32::MAX, ..TcpSpec::default() };
        self.carrier.as_ref().map(|changes| TcpSpec { receive_autotuning: None, ..changes.over(&base) })
    }
    /// In the compactor's units, where the thin link carries bytes at this rate and adds so many to a packet.
    fn settings(&self, rate: Rate, framing: u32) -> ack_compaction::Settings {
        let count = |count: u64| usize::try_from(count).unwrap_or(usize::MAX);
        ack_compaction::Settings {
            form: match self.form {
                CompactionFormSpec::Exact => ack_compaction::Form::Exact,
                CompactionFormSpec::Traditional => {
                    ack_compaction::Form::Traditional { threshold: count(self.threshold) }
                }
            },
            wait: self.wait,
            rate: (self.pace && !rate.is_zero()).then_some(rate),
            framing,
            most: count(self.most),
            spacing: match self.spacing {
                SpacingSpec::Immediate => ack_compaction::Spacing::Immediate,
                SpacingSpec::Even => ack_compaction::Spacing::Even,
                SpacingSpec::PerSecond(rate) => ack_compaction::Spacing::PerSecond(rate),
            },
        }
    }
}

impl Parameters for AckCompactionSpec {
    fn peer(&self) -> Option<&str> {
        Some(&self.peer)
    }
    fn check(&self, _scenario: &Scenario, check: &mut Checker) {
        if self.peer == self.at {
            check.problem(&["peer"], format!("both nodes are \"{}\"; a thin link lies between two", self.at));
        }
        if let Some(tcp) = self.carrier_tcp() {
            check.within("carrier", None, |check| check.tcp(&tcp));
        }
    }
    fn own_connections(&self, _connections: usize) -> u32 {
        1
    }
    fn is_one_way(&self) -> bool {
        true
    }
    fn real_packets(&self) -> Result<RealPackets, &'static str> {
        Ok(RealPackets { whole_headers: true, only_ipv4: true })
    }
    fn build<B: Payload>(&self, site: &Site<'_>) -> Box<dyn Middlebox<B>> {
        let (rate, framing) = site.thin_line(0);
        let carrier = self
            .carrier_tcp()
            .map(|tcp| site.for_both(|node| node.side(&tcp, Reading::Immediate, "carrier")));
        Box::new(ack_compaction::ack_compaction(self.settings(rate, framing), site.own, carrier))
    }
}

/// What is kept of the ACKs of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CompactionFormSpec {
    /// All, in 2 bytes each, or 4 where the window changes (the thesis's appendix A.2).
    #[default]
    Exact,
    /// How many, and what they acknowledge on average, in 3 bytes (its appendix A.1).
    Traditional,
}

/// When the ACKs of a packet leave.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum SpacingSpec {
    /// At once.
    Immediate,
    /// Spread over the time since the packet before.
    #[default]
    Even,
    /// At most so many of a connection in a second.
    PerSecond(u32),
}

impl SpacingSpec {
    fn read(text: &str) -> Result<Self, String> {
        match text {
            "immediate" => Ok(SpacingSpec::Immediate),
            "even" => Ok(SpacingSpec::Even),
            _ => Err(format!("\"{text}\" is no spacing")),
        }
    }
    fn from_count(count: i64) -> Option<Self> {
        u32::try_from(count).ok().filter(|count| *count > 0).map(SpacingSpec::PerSecond)
    }
}

impl std::fmt::Display for SpacingSpec {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            SpacingSpec::Immediate => f.write_str("immediate"),
            SpacingSpec::Even => f.write_str("even"),
            SpacingSpec::PerSecond(count) => count.fmt(f),
        }
    }
}

impl Serialize for SpacingSpec {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            SpacingSpec::PerSecond(count) => serializer.serialize_u32(*count),
            word => serializer.collect_str(word),
        }
    }
}

impl<'de> Deserialize<'de> for SpacingSpec {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        const EXPECTED: &str = "\"even\", \"immediate\", or ACKs a second as in 100";
        impl serde::de::Visitor<'_> for Visitor {
            type Value = SpacingSpec;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(EXPECTED)
            }
            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<SpacingSpec, E> {
                SpacingSpec::read(text).map_err(|why| E::custom(format!("{why}; expected {EXPECTED}")))
            }
            fn visit_i64<E: serde::de::Error>(self, number: i64) -> Result<SpacingSpec, E> {
                SpacingSpec::from_count(number)
                    .ok_or_else(|| E::invalid_value(serde::de::Unexpected::Signed(number), &self))
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

impl JsonSchema for SpacingSpec {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "SpacingSpec".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "description": "When ACKs leave an expander: \"even\" (spread over the time since the packet before), \"immediate\", or so many a second.",
            "type": ["string", "integer"],
            "examples": ["even", "immediate", 100],
        })
    }
}
