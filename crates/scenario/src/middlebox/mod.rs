//! The document's tables for middleboxes: where they stand and what they do, one kind a file.
//!
//! A new one is a file here, with its table (`middlebox!`) and what is made of it ([`Parameters`]), and its lines in this one: the
//! module, and an entry in the list of `middleboxes!`.

mod ack_compaction;
mod ack_filter;
mod mss_clamp;
mod paced;
mod premature_ack;
mod proxy;
mod recovery;
mod site;
mod snoop;
mod split;
mod throttle;

pub use ack_compaction::{AckCompactionSpec, CompactionFormSpec, SpacingSpec};
pub use ack_filter::{AckFilterSpec, AckRatioSpec};
pub use mss_clamp::MssClampSpec;
pub use paced::{ErasureSpec, PacedSpec};
pub use premature_ack::{GuardSpec, PrematureAckSpec, WatermarkSpec};
pub use recovery::LocalRecoverySpec;
pub use site::Site;
pub use snoop::SnoopSpec;
pub use split::{
    Between, CarrierSpec, CodingSpec, ConnectionsSpec, FramingSpec, HopSpec, LocalQueueSpec, LongSpec,
    ShareSpec, SplitSpec, TransportOfHop,
};
pub use throttle::ThrottleSpec;

use crate::validate::Checker;
use crate::{MiddleboxInstance, Network, Scenario, TcpSpec};
use longhaul_middlebox::{Direction, Middlebox, Payload};
use longhaul_units::Duration;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use toml::Spanned;
use toml::de::{DeValue, ValueDeserializer};

/// The settings that every middlebox has.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Common<'a> {
    /// Its name; empty if it has none of its own.
    pub name: &'a str,
    /// Its node.
    pub at: &'a str,
    /// Names of the groups of flows that it acts on; empty for all that pass.
    pub flows: &'a [String],
    /// When it breaks down.
    pub fail_at: Option<Duration>,
}

/// A table with the settings that every middlebox has. `middlebox!` implements it.
pub trait Placed {
    /// What all kinds have in common.
    fn common(&self) -> Common<'_>;
}

/// What a middlebox that acts on TCP does with flows of QUIC, which shows it neither sequence numbers nor ACKs, and of UDP, which has
/// none.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OnOthers {
    /// It forwards their packets unchanged; results warn of that, with this text at the end.
    Unchanged(&'static str),
    /// It forwards their packets unchanged, and they lack nothing for it.
    NotConcerned,
    /// The scenario is refused, with this reason behind the middlebox's name.
    Refused(&'static str),
}

/// Which real packets a middlebox can act on; others pass untouched.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RealPackets {
    /// It sends what it takes in as a header struct: only packets that such a struct fully contains.
    pub whole_headers: bool,
    /// It is made for IPv4 only.
    pub only_ipv4: bool,
}

/// The table of a middlebox of one kind, and what is made of it. The range of each setting is in the schema: see
/// [`longhaul_units::ranges`].
pub trait Parameters: Placed {
    /// Name of its second node, if it stands at two.
    fn peer(&self) -> Option<&str> {
        None
    }

    /// Reports settings that do not go together, with each other or with the flows.
    fn check(&self, _scenario: &Scenario, _check: &mut Checker) {}

    /// The same for settings that depend on where it stands in the network.
    fn check_placed(&self, _network: &Network, _instance: &MiddleboxInstance, _check: &mut Checker) {}

    /// Connections of its own between its two nodes, where it acts on so many connections of flows.
    fn own_connections(&self, _connections: usize) -> u32 {
        0
    }

    /// True if only packets from its first node to its second meet it, and others go by.
    fn is_one_way(&self) -> bool {
        false
    }

    /// Of a proxy: settings of its connections to the hosts of a flow with these settings, towards the active opener and the passive
    /// one. `None` if it ends no connections.
    fn host_tcp(&self, _flow: &TcpSpec) -> Option<[TcpSpec; 2]> {
        None
    }

    /// What it does with flows of QUIC and UDP.
    fn on_others(&self) -> OnOthers {
        OnOthers::Unchanged("")
    }

    /// Which real packets it can act on.
    ///
    /// # Errors
    /// Settings that are not for real packets, and what to do.
    fn real_packets(&self) -> Result<RealPackets, &'static str> {
        Ok(RealPackets::default())
    }

    /// What is wrong with a table of this kind, without its `kind`, if anything. Tables that are distinguished by their `kind` lose the
    /// places of what is in them when they are read as one of several; read as what they are, they do not.
    fn error_in(table: Spanned<DeValue<'_>>) -> Option<toml::de::Error>
    where
        Self: Sized + DeserializeOwned,
    {
        Self::deserialize(ValueDeserializer::from(table)).err()
    }

    /// Builds it.
    fn build<B: Payload>(&self, site: &Site<'_>) -> Box<dyn Middlebox<B>>
    where
        Self: Sized;
}

macro_rules! middleboxes {
    ($($(#[$doc:meta])* $variant:ident($spec:ty) = $name:literal $(| $alias:literal)?,)*) => {
        /// A middlebox at a node. It handles the packets of the flows that pass the node; those of flows that begin or end at the node
        /// itself do not pass it.
        #[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
        #[serde(tag = "kind", rename_all = "snake_case")]
        pub enum MiddleboxSpec {
            $($(#[$doc])* $(#[serde(alias = $alias)])? $variant(Box<$spec>),)*
        }

        impl MiddleboxSpec {
            /// The kind's name in scenario files.
            pub fn kind(&self) -> &'static str {
                match self {
                    $(MiddleboxSpec::$variant(_) => $name,)*
                }
            }

            /// See [`Parameters::error_in`].
            pub(crate) fn error_in(kind: &str, table: Spanned<DeValue<'_>>) -> Option<toml::de::Error> {
                match kind {
                    $($name $(| $alias)? => <$spec as Parameters>::error_in(table),)*
                    _ => None,
                }
            }

            /// Builds the middlebox.
            pub fn build<B: Payload>(&self, site: &Site<'_>) -> Box<dyn Middlebox<B>> {
                match self {
                    $(MiddleboxSpec::$variant(spec) => spec.build(site),)*
                }
            }
        }

        impl std::ops::Deref for MiddleboxSpec {
            type Target = dyn Parameters;
            fn deref(&self) -> &(dyn Parameters + 'static) {
                match self {
                    $(MiddleboxSpec::$variant(spec) => &**spec,)*
                }
            }
        }
    };
}

middleboxes! {
    /// Keeps copies of data packets and acknowledges the oldest of them to the source, on behalf of the destination
    /// (Okayama, 2005).
    PrematureAck(PrematureAckSpec) = "premature_ack" | "premature-ack",
    /// Ends the connections of the hosts and has connections of its own beyond: at one node, or at two with a long hop between
    /// them.
    Split(SplitSpec) = "split",
    /// Keeps copies of data packets for a lossy last hop and retransmits lost ones, which hides the loss from the sender (Balakrishnan et
    /// al. 1995).
    Snoop(SnoopSpec) = "snoop",
    /// Sends the ACKs of a while over a thin link as one packet, and takes them apart behind it (Coetzee 1999).
    AckCompaction(AckCompactionSpec) = "ack_compaction" | "ack-compaction",
    /// Lets one of several pure ACKs pass (RFC 3449).
    AckFilter(AckFilterSpec) = "ack_filter" | "ack-filter",
    /// Rewrites the MSS that connections announce.
    MssClamp(MssClampSpec) = "mss_clamp" | "mss-clamp",
    /// Lets packets one way pass at a rate, with bursts, and keeps the others in a queue (token bucket).
    Throttle(ThrottleSpec) = "throttle",
    /// Ends the connections of the hosts, and sends datagrams of its own over the satellite at the rate that it has (Coetzee 1999).
    Paced(PacedSpec) = "paced",
}

impl MiddleboxSpec {
    /// Its name, or that of its kind.
    pub fn name(&self) -> &str {
        let name = self.common().name;
        if name.is_empty() { self.kind() } else { name }
    }
    /// Names of the nodes where it stands, one or two, each with its key.
    pub(crate) fn node_fields(&self) -> Vec<(&'static str, &str)> {
        let mut fields = vec![("at", self.common().at)];
        fields.extend(self.peer().map(|peer| ("peer", peer)));
        fields
    }
    /// Names of the nodes where it stands: one or two.
    pub fn nodes(&self) -> Vec<&str> {
        self.node_fields().into_iter().map(|(_, name)| name).collect()
    }
}

/// A table of a middlebox, with the settings that all have.
macro_rules! middlebox {
    ($(#[$doc:meta])* $name:ident { $($fields:tt)* }) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields)]
        #[schemars(inline)]
        pub struct $name {
            /// Its name: letters, digits, `-` and `_`. Without one it goes by its kind.
            #[serde(default, skip_serializing_if = "String::is_empty")]
            pub name: String,
            /// Name of the node where it stands.
            pub at: String,
            /// Names of the groups of flows that it acts on; without them, all that pass its node.
            #[serde(default, skip_serializing_if = "Vec::is_empty")]
            pub flows: Vec<String>,
            /// When it breaks down and loses what it holds; without it, never.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub fail_at: Option<longhaul_units::Duration>,
            $($fields)*
        }

        impl $crate::middlebox::Placed for $name {
            fn common(&self) -> $crate::middlebox::Common<'_> {
                let Self { name, at, flows, fail_at, .. } = self;
                $crate::middlebox::Common { name, at, flows, fail_at: *fail_at }
            }
        }
    };
}
use middlebox;

/// One of the two ends of a flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TowardsSpec {
    /// The passive opener's.
    #[default]
    To,
    /// The active opener's.
    From,
}

impl TowardsSpec {
    fn direction(self) -> Direction {
        match self {
            TowardsSpec::To => Direction::Forward,
            TowardsSpec::From => Direction::Reverse,
        }
    }
}
