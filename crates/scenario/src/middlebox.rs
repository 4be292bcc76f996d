//! The document's tables for middleboxes: where they stand and what they do.

use crate::tcp::text_setting;
use crate::{BufferSpec, KeepaliveSpec, TcpChanges, TcpSpec, Variant};
use longhaul_middlebox::split::LocalQueueSettings;
use longhaul_middlebox::split::record::Framing;
use longhaul_middlebox::{
    Direction, LocalRecovery, ack_compaction, ack_filter, mss_clamp, paced, premature_ack, snoop, throttle,
};
use longhaul_path::QueueSpec;
use longhaul_units::{Duration, Limit, Rate, Size};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A middlebox at a node. It handles the packets of the flows that pass the node; those of flows that begin or end at the node
/// itself do not pass it.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum MiddleboxSpec {
    /// Keeps copies of data packets and acknowledges the oldest of them to the source, on behalf of the destination
    /// (Okayama, 2005).
    #[serde(alias = "premature-ack")]
    PrematureAck(PrematureAckSpec),
    /// Ends the connections of the hosts and has connections of its own beyond: at one node, or at two with a long hop between
    /// them.
    Split(Box<SplitSpec>),
    /// Keeps copies of data packets for a lossy last hop and retransmits lost ones, which hides the loss from the sender (Balakrishnan et
    /// al. 1995).
    Snoop(SnoopSpec),
    /// Sends the ACKs of a while over a thin link as one packet, and takes them apart behind it (Coetzee 1999).
    #[serde(alias = "ack-compaction")]
    AckCompaction(Box<AckCompactionSpec>),
    /// Lets one of several pure ACKs pass (RFC 3449).
    #[serde(alias = "ack-filter")]
    AckFilter(AckFilterSpec),
    /// Rewrites the MSS that connections announce.
    #[serde(alias = "mss-clamp")]
    MssClamp(MssClampSpec),
    /// Lets packets one way pass at a rate, with bursts, and keeps the others in a queue (token bucket).
    Throttle(ThrottleSpec),
    /// Ends the connections of the hosts, and sends datagrams of its own over the satellite at the rate that it has (Coetzee 1999).
    Paced(Box<PacedSpec>),
}

impl MiddleboxSpec {
    /// What is wrong with a table of this kind, without its `kind`, if anything.
    pub(crate) fn error_in_table(
        kind: &str,
        table: toml::de::ValueDeserializer<'_>,
    ) -> Option<toml::de::Error> {
        match kind {
            "premature_ack" | "premature-ack" => PrematureAckSpec::deserialize(table).err(),
            "split" => SplitSpec::deserialize(table).err(),
            "snoop" => SnoopSpec::deserialize(table).err(),
            "ack_compaction" | "ack-compaction" => AckCompactionSpec::deserialize(table).err(),
            "ack_filter" | "ack-filter" => AckFilterSpec::deserialize(table).err(),
            "mss_clamp" | "mss-clamp" => MssClampSpec::deserialize(table).err(),
            "throttle" => ThrottleSpec::deserialize(table).err(),
            "paced" => PacedSpec::deserialize(table).err(),
            _ => None,
        }
    }
    /// What all kinds have in common.
    pub fn common(&self) -> Common<'_> {
        match self {
            MiddleboxSpec::PrematureAck(spec) => spec.common(),
            MiddleboxSpec::Split(spec) => spec.common(),
            MiddleboxSpec::Snoop(spec) => spec.common(),
            MiddleboxSpec::AckCompaction(spec) => spec.common(),
            MiddleboxSpec::AckFilter(spec) => spec.common(),
            MiddleboxSpec::MssClamp(spec) => spec.common(),
            MiddleboxSpec::Throttle(spec) => spec.common(),
            MiddleboxSpec::Paced(spec) => spec.common(),
        }
    }
    /// Its name, or that of its kind.
    pub fn name(&self) -> &str {
        let name = self.common().name;
        if name.is_empty() { self.kind() } else { name }
    }
    /// Names of the nodes where it stands, one or two, each with its key.
    pub(crate) fn node_fields(&self) -> Vec<(&'static str, &str)> {
        let mut fields = vec![("at", self.common().at)];
        if let MiddleboxSpec::Split(spec) = self {
            fields.extend(spec.peer.as_deref().map(|peer| ("peer", peer)));
        }
        match self {
            MiddleboxSpec::AckCompaction(spec) => fields.push(("peer", spec.peer.as_str())),
            MiddleboxSpec::Paced(spec) => fields.push(("peer", spec.peer.as_str())),
            _ => {}
        }
        fields
    }
    /// Names of the nodes where it stands: one or two.
    pub fn nodes(&self) -> Vec<&str> {
        self.node_fields().into_iter().map(|(_, name)| name).collect()
    }
    /// Connections of its own between its two nodes, where it acts on so many flows.
    pub(crate) fn own_connections(&self, connections: usize) -> u32 {
        match self {
            MiddleboxSpec::Split(spec) if spec.peer.is_some() => match (&spec.long, spec.connections) {
                (LongSpec::Hop(hop), _) => hop.own_connections(),
                (LongSpec::Tcp(_), ConnectionsSpec::Shared(count)) => {
                    u32::try_from(count).unwrap_or(u32::MAX)
                }
                (LongSpec::Tcp(_), ConnectionsSpec::PerFlow) => connections as u32,
            },
            MiddleboxSpec::AckCompaction(_) => 1,
            // Datagrams, and the control connection.
            MiddleboxSpec::Paced(_) => 2,
            _ => 0,
        }
    }
    /// True if only packets from its first node to its second meet it, and others go by.
    pub fn is_one_way(&self) -> bool {
        matches!(self, MiddleboxSpec::AckCompaction(_))
    }
    /// The kind's name in scenario files.
    pub fn kind(&self) -> &'static str {
        match self {
            MiddleboxSpec::PrematureAck(_) => "premature_ack",
            MiddleboxSpec::Split(_) => "split",
            MiddleboxSpec::Snoop(_) => "snoop",
            MiddleboxSpec::AckCompaction(_) => "ack_compaction",
            MiddleboxSpec::AckFilter(_) => "ack_filter",
            MiddleboxSpec::MssClamp(_) => "mss_clamp",
            MiddleboxSpec::Throttle(_) => "throttle",
            MiddleboxSpec::Paced(_) => "paced",
        }
    }
}

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
            pub fail_at: Option<Duration>,
            $($fields)*
        }

        impl $name {
            fn common(&self) -> Common<'_> {
                Common { name: &self.name, at: &self.at, flows: &self.flows, fail_at: self.fail_at }
            }
        }
    };
}

middlebox! {
    /// A PEP that acknowledges prematurely, with a watermark.
    PrematureAckSpec {
        /// N: data packets of each direction of each connection that it may keep a copy of.
        #[serde(default = "fifty_packets")]
        pub buffer: Limit,
        /// W: how many of the oldest copies may be acknowledged prematurely, from 0 (never) to N; or `"auto"`.
        #[serde(default)]
        pub watermark: WatermarkSpec,
        /// The window that the source is offered, where it is larger than the destination's. Without it, the destination's.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(extend("x-exclusiveMinimum" = "0 B"))]
        pub window: Option<Size>,
        /// What keeps a premature ACK from covering packets of which there is no copy.
        #[serde(default)]
        pub guard: GuardSpec,
        /// Retransmission of what is lost between here and the destination.
        #[serde(default)]
        pub recovery: LocalRecoverySpec,
    }
}

fn fifty_packets() -> Limit {
    Limit::Packets(50)
}

impl PrematureAckSpec {
    /// N in packets; 0 where it is not given in packets.
    pub(crate) fn buffer_packets(&self) -> usize {
        match self.buffer {
            Limit::Packets(packets) => usize::try_from(packets).unwrap_or(usize::MAX),
            Limit::Bytes(_) => 0,
        }
    }
    /// In the PEP's units.
    pub fn settings(&self) -> premature_ack::Settings {
        premature_ack::Settings {
            buffer: self.buffer_packets(),
            watermark: match self.watermark {
                WatermarkSpec::Packets(packets) => {
                    premature_ack::Watermark::Fixed(usize::try_from(packets).unwrap_or(usize::MAX))
                }
                WatermarkSpec::Auto => premature_ack::Watermark::Automatic,
            },
            window: self.window.map(Size::as_bytes),
            guard: match self.guard {
                GuardSpec::Strict => premature_ack::Guard::Strict,
                GuardSpec::AsPrinted => premature_ack::Guard::AsPrinted,
            },
            recovery: self.recovery.settings(),
        }
    }
}

/// The watermark of premature ACKs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum WatermarkSpec {
    /// So many packets.
    Packets(u64),
    /// Found while running.
    #[default]
    Auto,
}

impl WatermarkSpec {
    fn read(text: &str) -> Result<Self, String> {
        if text == "auto" {
            return Ok(WatermarkSpec::Auto);
        }
        match text.parse() {
            Ok(Limit::Packets(packets)) => Ok(WatermarkSpec::Packets(packets)),
            Ok(Limit::Bytes(_)) => Err(format!("\"{text}\" is not a number of packets")),
            Err(error) => Err(longhaul_units::UnitError::to_string(&error)),
        }
    }
    fn from_count(count: i64) -> Option<Self> {
        u64::try_from(count).ok().map(WatermarkSpec::Packets)
    }
}
impl std::fmt::Display for WatermarkSpec {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            WatermarkSpec::Packets(packets) => Limit::Packets(*packets).fmt(f),
            WatermarkSpec::Auto => f.write_str("auto"),
        }
    }
}
text_setting!(
    WatermarkSpec,
    "a number of packets as in 25, or \"auto\"",
    "Watermark: packets, or \"auto\".",
    ["25 packets", "auto"]
);

/// What keeps a premature ACK from covering packets of which there is no copy.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum GuardSpec {
    /// A premature ACK never covers one.
    #[default]
    Strict,
    /// The paper's step B-3 to the letter, which leaves a case open.
    AsPrinted,
}

/// Retransmission from a middlebox.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct LocalRecoverySpec {
    /// Whether lost packets are sent again from here.
    pub enabled: bool,
    /// Duplicate ACKs, or SACKed packets above a hole, that mean a loss.
    #[schemars(range(min = 1))]
    pub duplicate_threshold: u32,
    /// Retransmission timeout before the first round trip was measured.
    #[schemars(extend("x-exclusiveMinimum" = "0 s"))]
    pub initial_rto: Duration,
    /// Smallest timeout.
    #[schemars(extend("x-exclusiveMinimum" = "0 s"))]
    pub min_rto: Duration,
    /// Largest timeout.
    pub max_rto: Duration,
}

impl Default for LocalRecoverySpec {
    fn default() -> Self {
        let LocalRecovery { enabled, duplicate_threshold, initial_rto, min_rto, max_rto } =
            LocalRecovery::default();
        LocalRecoverySpec { enabled, duplicate_threshold, initial_rto, min_rto, max_rto }
    }
}

impl LocalRecoverySpec {
    /// In the units of middleboxes.
    pub fn settings(&self) -> LocalRecovery {
        LocalRecovery {
            enabled: self.enabled,
            duplicate_threshold: self.duplicate_threshold,
            initial_rto: self.initial_rto,
            min_rto: self.min_rto,
            max_rto: self.max_rto,
        }
    }
}

middlebox! {
    /// A split connection proxy. Without `peer` it stands at one node; with it, at two, with a long hop between them.
    SplitSpec {
        /// Name of the second node. The first is the one of `at`; it makes no difference which is which.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub peer: Option<String>,
        /// What differs from the flow's own settings in the connection to the active opener.
        #[serde(default, skip_serializing_if = "TcpChanges::is_empty")]
        pub near: TcpChanges,
        /// What differs from the flow's own settings in the connection to the passive opener.
        #[serde(default, skip_serializing_if = "TcpChanges::is_empty")]
        pub far: TcpChanges,
        /// What crosses the long hop. TCP: what differs from its default settings; connections are `established` from the start
        /// and without Nagle's algorithm unless set otherwise; their MSS is the largest of the flows. Or, with
        /// `transport = "hop"`, the accelerator's own transport.
        #[serde(default, skip_serializing_if = "LongSpec::is_default")]
        pub long: LongSpec,
        /// Receive buffer of each connection to a host: its window closes as it fills. With a local queue it is not limited.
        #[serde(default = "one_megabyte")]
        pub buffer: Size,
        /// Connections over the long hop: a number that the flows share, or `"per_flow"`.
        #[serde(default)]
        pub connections: ConnectionsSpec,
        /// How the flows' data are distinguished on the long hop.
        #[serde(default)]
        pub framing: FramingSpec,
        /// A queue before the split that drops; without it windows keep the hosts back.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub local_queue: Option<LocalQueueSpec>,
    }
}

fn one_megabyte() -> Size {
    Size::from_bytes(1_000_000)
}

impl SplitSpec {
    /// The accelerator's transport, if the long hop has it.
    pub fn hop(&self) -> Option<&HopSpec> {
        match &self.long {
            LongSpec::Hop(spec) if self.peer.is_some() => Some(spec),
            _ => None,
        }
    }
    /// Settings of the connections to the active opener of a flow with these settings.
    pub fn near_tcp(&self, flow: &TcpSpec) -> TcpSpec {
        self.host_tcp(&self.near, flow)
    }
    /// Settings of the connections to its passive opener.
    pub fn far_tcp(&self, flow: &TcpSpec) -> TcpSpec {
        self.host_tcp(&self.far, flow)
    }
    fn host_tcp(&self, changes: &TcpChanges, flow: &TcpSpec) -> TcpSpec {
        let receive_buffer = match self.local_queue {
            None => BufferSpec::Limited(Limit::Bytes(self.buffer)),
            Some(_) => BufferSpec::Unlimited,
        };
        host_tcp(changes, flow, receive_buffer)
    }
    /// Settings of TCP connections over the long hop with these changes, for flows of which the largest has this MSS.
    pub fn long_tcp(long: &TcpChanges, mss: Size) -> TcpSpec {
        let base = TcpSpec {
            mss,
            established: true,
            nagle: false,
            // A connection that all flows share is not given up.
            max_retransmissions: u32::MAX,
            ..TcpSpec::default()
        };
        TcpSpec { receive_autotuning: None, ..long.over(&base) }
    }
}

/// What crosses the long hop of a split at two nodes.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[serde(untagged)]
pub enum LongSpec {
    /// TCP connections, with these changes to the default settings.
    Tcp(Box<TcpChanges>),
    /// The accelerator's own transport.
    Hop(Box<HopSpec>),
}

impl Default for LongSpec {
    fn default() -> Self {
        LongSpec::Tcp(Box::default())
    }
}

impl LongSpec {
    /// True for TCP with its default settings.
    pub(crate) fn is_default(&self) -> bool {
        *self == LongSpec::default()
    }
    /// What is wrong with such a table, if anything, with its place.
    pub(crate) fn error_in(table: toml::de::ValueDeserializer<'_>, is_tcp: bool) -> Option<toml::de::Error> {
        if is_tcp { TcpChanges::deserialize(table).err() } else { HopSpec::deserialize(table).err() }
    }
}

impl<'de> Deserialize<'de> for LongSpec {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let table = toml::Table::deserialize(deserializer)?;
        let read = if table.contains_key("transport") {
            Box::deserialize(table).map(LongSpec::Hop)
        } else {
            Box::deserialize(table).map(LongSpec::Tcp)
        };
        read.map_err(|error| serde::de::Error::custom(error.message()))
    }
}

impl JsonSchema for LongSpec {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "LongSpec".into()
    }
    fn inline_schema() -> bool {
        true
    }
    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let (tcp, hop) = (generator.subschema_for::<TcpChanges>(), generator.subschema_for::<HopSpec>());
        schemars::json_schema!({ "anyOf": [tcp, hop] })
    }
}

/// The accelerator's own transport between the two nodes of a split, as `longhaul-pep` deploys it: QUIC with a flow for each TCP connection,
/// one rate controller for all, and parities; or, for paths on which UDP does not pass, several TCP connections that share the flows. The
/// first node opens it when the run begins.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HopSpec {
    /// `"hop"`.
    pub transport: TransportOfHop,
    /// What carries the flows.
    #[serde(default, skip_serializing_if = "CarrierSpec::is_default")]
    pub carrier: CarrierSpec,
    /// For `carrier = "tcp"`: how many connections there are; without it 4. A flow stays on one, which had least under way when the flow
    /// began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("minimum" = 1, "maximum" = 64))]
    pub connections: Option<u32>,
    /// For `carrier = "tcp"`: changes to the settings of these connections. Without them: `variant = "linux"`, congestion control `"bbr"`,
    /// buffers of 64 MiB, a retransmission timeout of at most 2 s, and as many retransmissions as fit into `idle_timeout`.
    #[serde(default, skip_serializing_if = "TcpChanges::is_empty")]
    pub tcp: TcpChanges,
    /// To whom the links between the nodes belong.
    #[serde(default)]
    pub share: ShareSpec,
    /// Parities, which spare a round trip where packets are lost.
    #[serde(default)]
    pub coding: CodingSpec,
    /// Rate at which the node `at` begins to send, IP headers included; with `carrier = "tcp"`, the most that each connection sends.
    /// Without it, 99.7 % of the slowest link's to `peer`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-minimum" = "10 kbit/s", "x-maximum" = "100 Gbit/s"))]
    pub forward_rate: Option<Rate>,
    /// The same of the node `peer`. Without it, 99.7 % of the slowest link's to `at`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-minimum" = "10 kbit/s", "x-maximum" = "100 Gbit/s"))]
    pub reverse_rate: Option<Rate>,
    /// Bytes of each flow and direction that may be under way or unread. Without it, five bandwidth-delay products of the
    /// faster direction, at least 16 MiB, at most 1 GiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-minimum" = "16 KiB", "x-maximum" = "1 GiB"))]
    pub credit: Option<Size>,
    /// Bytes of all flows and each direction that may be under way or unread: at least nine times `credit`; without it, sixteen
    /// times.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-minimum" = "144 KiB", "x-maximum" = "64 GiB"))]
    pub memory: Option<Size>,
    /// The round trip that is assumed before one is measured. Without it, twice the delay of the links between the nodes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-minimum" = "1 ms", "x-maximum" = "60 s"))]
    pub initial_rtt: Option<Duration>,
    /// The least pause after which a PING keeps the hop alive; below half of `idle_timeout`.
    #[serde(default = "five_seconds")]
    #[schemars(extend("x-minimum" = "1 ms"))]
    pub keep_alive: Duration,
    /// The hop is over when nothing arrives for so long: all connections are reset, and it is opened again.
    #[serde(default = "five_minutes")]
    #[schemars(extend("x-minimum" = "1 s", "x-maximum" = "1 h"))]
    pub idle_timeout: Duration,
    /// UDP payload of a full packet.
    #[serde(default = "ethernet_datagram")]
    #[schemars(extend("x-minimum" = "1200 B", "x-maximum" = "16384 B"))]
    pub mtu: Size,
}

fn five_seconds() -> Duration {
    Duration::from_secs(5)
}
fn five_minutes() -> Duration {
    Duration::from_secs(300)
}
fn ethernet_datagram() -> Size {
    Size::from_bytes(1472)
}

/// The name of the accelerator's transport.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TransportOfHop {
    /// The accelerator's own.
    #[default]
    Hop,
}

/// What carries the flows of the accelerator's transport.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CarrierSpec {
    /// One QUIC connection.
    #[default]
    Quic,
    /// TCP connections with TLS, each with a congestion control of its own: no parities, no common rate.
    Tcp,
}

impl CarrierSpec {
    fn is_default(&self) -> bool {
        *self == CarrierSpec::Quic
    }
}

/// To whom the links between the nodes belong.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ShareSpec {
    /// To the hop alone: it takes all that the link carries, and loss alone does not slow it down.
    #[default]
    Exclusive,
    /// To others too: where the link is overloaded, it gives way by 30 %.
    Fair,
}

/// Parities on the hop.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CodingSpec {
    /// None.
    Off,
    /// As many as measured loss and bursts require, for the beginning and the end of transfers.
    #[default]
    Adaptive,
}

/// What a hop is made for: the slowest rate of each way between its nodes, and the delay there and back.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Between {
    /// From the first node to the second, and back.
    pub rates: [Rate; 2],
    /// There and back.
    pub rtt: Duration,
}

/// The buffers of sockets between the nodes.
const HOP_SOCKET: BufferSpec = BufferSpec::Limited(Limit::Bytes(Size::from_bytes(64 << 20)));

impl HopSpec {
    /// Connections between the nodes.
    pub(crate) fn own_connections(&self) -> u32 {
        match self.carrier {
            CarrierSpec::Quic => 1,
            CarrierSpec::Tcp => self.connections.unwrap_or(4),
        }
    }

    /// Settings of the TCP connections between the nodes, for flows of which the largest has this MSS.
    pub fn tcp(&self, mss: Size) -> TcpSpec {
        let mut changes = self.tcp.clone();
        changes.variant.get_or_insert(Variant::Linux);
        changes.congestion.get_or_insert_with(|| "bbr".parse().expect("a registered algorithm"));
        changes.receive_buffer.get_or_insert(HOP_SOCKET);
        // TCP_RTO_MAX_MS: an outage ends for both carriers at the same time.
        changes.rto.get_or_insert(crate::linux::rto(Duration::from_secs(2)));
        let base = TcpSpec {
            mss,
            nagle: false,
            max_retransmissions: u32::MAX,
            user_timeout: Some(self.idle_timeout),
            keepalive: Some(KeepaliveSpec {
                idle: self.keep_alive,
                interval: self.keep_alive,
                probes: u32::try_from(self.idle_timeout.as_nanos() / self.keep_alive.as_nanos().max(1))
                    .unwrap_or(u32::MAX),
            }),
            ..TcpSpec::default()
        };
        TcpSpec {
            receive_autotuning: None,
            send_buffer: HOP_SOCKET,
            established: false,
            ..changes.over(&base)
        }
    }

    /// Credits of a node.
    pub fn pool(config: &longhaul_hop::Config) -> longhaul_hop::PoolConfig {
        let longhaul_hop::Config { credit, memory, max_flows, .. } = *config;
        longhaul_hop::PoolConfig { credit, memory, max_flows }
    }

    /// Settings of the two nodes of the hop.
    pub fn nodes(&self, between: Between) -> [longhaul_hop::Config; 2] {
        let (least, most) = (Rate::from_bps(10_000), Rate::from_bps(100_000_000_000));
        let of_links = between.rates.map(longhaul_hop::Rates::of_link);
        let rates = [self.forward_rate.unwrap_or(of_links[0]), self.reverse_rate.unwrap_or(of_links[1])];
        let rates = rates.map(|rate| rate.clamp(least, most));
        let rtt = between.rtt.clamp(Duration::from_millis(1), Duration::from_secs(60));
        let product = rates[0].max(rates[1]).bytes_in(rtt).as_bytes();
        // A memory that was given holds nine of them.
        let most = self.memory.map_or(1 << 30, |memory| memory.as_bytes() / 9);
        let credit = (5 * product).clamp(16 << 20, 1 << 30).min(most);
        let credit = self.credit.map_or(credit, Size::as_bytes);
        let node = |side: usize, role| longhaul_hop::Config {
            share: match self.share {
                ShareSpec::Exclusive => longhaul_hop::Share::Exclusive,
                ShareSpec::Fair => longhaul_hop::Share::Fair,
            },
            coding: match self.coding {
                CodingSpec::Off => longhaul_hop::Coding::Off,
                CodingSpec::Adaptive => longhaul_hop::Coding::Adaptive,
            },
            rates: longhaul_hop::Rates { send: Some(rates[side]), ..longhaul_hop::Rates::default() },
            credit,
            memory: self.memory.map_or((16 * credit).min(64 << 30), Size::as_bytes),
            initial_rtt: self.initial_rtt.unwrap_or(rtt),
            keep_alive: self.keep_alive,
            idle_timeout: self.idle_timeout,
            mtu: u16::try_from(self.mtu.as_bytes()).unwrap_or(u16::MAX),
            max_flows: 65_536,
            ..longhaul_hop::Config::new(role)
        };
        [node(0, longhaul_middlebox::hop::terminal()), node(1, longhaul_hop::Role::Hub)]
    }
}

/// Settings of a proxy's connection to a host of a flow with these settings.
fn host_tcp(changes: &TcpChanges, flow: &TcpSpec, receive_buffer: BufferSpec) -> TcpSpec {
    // A proxy sends at once what has arrived: waiting for more would add a round trip.
    let own = TcpSpec {
        receive_buffer,
        receive_autotuning: None,
        reading_rate: None,
        nagle: false,
        ..flow.clone()
    };
    TcpSpec { receive_autotuning: None, ..changes.over(&own) }
}

/// How many connections cross the long hop.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ConnectionsSpec {
    /// So many, which the flows share.
    Shared(u64),
    /// One for each connection of a host.
    PerFlow,
}

impl Default for ConnectionsSpec {
    fn default() -> Self {
        ConnectionsSpec::Shared(1)
    }
}

impl ConnectionsSpec {
    fn read(text: &str) -> Result<Self, String> {
        match text {
            "per_flow" => Ok(ConnectionsSpec::PerFlow),
            _ => match text.parse() {
                Ok(count) => Ok(ConnectionsSpec::Shared(count)),
                Err(_) => Err(format!("\"{text}\" is not a number of connections")),
            },
        }
    }
    fn from_count(count: i64) -> Option<Self> {
        u64::try_from(count).ok().map(ConnectionsSpec::Shared)
    }
}
impl std::fmt::Display for ConnectionsSpec {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ConnectionsSpec::Shared(count) => count.fmt(f),
            ConnectionsSpec::PerFlow => f.write_str("per_flow"),
        }
    }
}
text_setting!(
    ConnectionsSpec,
    "a number of connections as in 1, or \"per_flow\"",
    "Connections over the long hop: a number, or \"per_flow\".",
    ["1", "per_flow"]
);

/// How the flows' data are distinguished on the long hop.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FramingSpec {
    /// A header of 8 bytes before each piece of data.
    #[default]
    Header,
    /// The paper's field in the packet, which takes no room; only openings, ends and resets take 8 bytes.
    Pepid,
}

impl FramingSpec {
    /// In the split's units.
    pub fn framing(self) -> Framing {
        match self {
            FramingSpec::Header => Framing::Header,
            FramingSpec::Pepid => Framing::Field,
        }
    }
}

/// The paper's flow control: a queue before the split start.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LocalQueueSpec {
    /// Its discipline.
    pub queue: QueueSpec,
    /// Bytes, headers included, that may be let in ahead of what the long hop has sent, for each connection over it.
    #[serde(default = "two_hundred_packets")]
    pub buffer_start: Size,
    /// Headers of each segment's worth of data that counts against it.
    #[serde(default = "forty_bytes")]
    #[schemars(extend("x-maximum" = "1000 B"))]
    pub header_size: Size,
    /// Time between two checks whether a packet can be let in; without it, checked after every change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-exclusiveMinimum" = "0 s"))]
    pub send_check_interval: Option<Duration>,
    /// The rate for which automatic parameters of the discipline are made; without it, that of the slowest link between the
    /// two nodes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-exclusiveMinimum" = "0 bit/s"))]
    pub rate: Option<Rate>,
}

fn two_hundred_packets() -> Size {
    Size::from_bytes(200 * 1040)
}
fn forty_bytes() -> Size {
    Size::from_bytes(40)
}

impl LocalQueueSpec {
    /// In the split's units, where the slowest link between its nodes has this rate.
    pub fn settings(&self, rate: Rate) -> LocalQueueSettings {
        LocalQueueSettings {
            queue: self.queue,
            rate: self.rate.unwrap_or(rate),
            buffer_start: self.buffer_start.as_bytes(),
            header_size: self.header_size.as_bytes() as u32,
            check_interval: self.send_check_interval,
        }
    }
}

middlebox! {
    /// A snoop agent before a lossy last hop.
    SnoopSpec {
        /// Data packets of each connection that it may keep a copy of.
        #[serde(default = "hundred_packets")]
        pub cache: Limit,
        /// The side of the lossy hop: that of the flows' `to` or of their `from`.
        #[serde(default)]
        pub towards: TowardsSpec,
        /// Retransmission over the lossy hop.
        #[serde(default = "snoop_recovery")]
        pub recovery: LocalRecoverySpec,
    }
}

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

fn hundred_packets() -> Limit {
    Limit::Packets(100)
}
fn snoop_recovery() -> LocalRecoverySpec {
    let LocalRecovery { enabled, duplicate_threshold, initial_rto, min_rto, max_rto } =
        snoop::Settings::recovery();
    LocalRecoverySpec { enabled, duplicate_threshold, initial_rto, min_rto, max_rto }
}

impl SnoopSpec {
    /// The cache in packets; 0 where it is not given in packets.
    pub(crate) fn cache_packets(&self) -> usize {
        match self.cache {
            Limit::Packets(packets) => usize::try_from(packets).unwrap_or(usize::MAX),
            Limit::Bytes(_) => 0,
        }
    }
    /// In the agent's units.
    pub fn settings(&self) -> snoop::Settings {
        snoop::Settings {
            cache: self.cache_packets(),
            towards: self.towards.direction(),
            recovery: self.recovery.settings(),
        }
    }
}

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
    pub fn carrier_tcp(&self) -> Option<TcpSpec> {
        let base =
            TcpSpec { established: true, nagle: false, max_retransmissions: u32::MAX, ..TcpSpec::default() };
        self.carrier.as_ref().map(|changes| TcpSpec { receive_autotuning: None, ..changes.over(&base) })
    }
    /// In the compactor's units, where the thin link carries bytes at this rate and adds so many to a packet.
    pub fn settings(&self, rate: Rate, framing: u32) -> ack_compaction::Settings {
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

middlebox! {
    /// An ACK filter.
    AckFilterSpec {
        /// One of so many pure ACKs that only advance goes on; 1 lets all pass.
        #[serde(default = "two")]
        #[schemars(range(min = 1, max = 1000))]
        pub every: u32,
        /// How long an omitted ACK waits for one that acknowledges more before it is forwarded itself.
        #[serde(default = "filter_hold")]
        #[schemars(extend("x-exclusiveMinimum" = "0 s"))]
        pub hold: Duration,
        /// ACK congestion control: the number doubles after a round in which the thin line had too much to send, and
        /// falls by one, not below `every`, after a round in which it had not (in the spirit of RFC 5690). Without it,
        /// it stays.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub adapt: Option<AckRatioSpec>,
    }
}

/// How an ACK filter follows the thin line behind it.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AckRatioSpec {
    /// Rate of the line at 8 bits a byte: 7680 bit/s at 9600 baud with start and stop bits.
    #[schemars(extend("x-exclusiveMinimum" = "0 bit/s", "x-maximum" = "1000 Tbit/s"))]
    pub rate: Rate,
    /// Bytes that the line adds to each packet.
    #[serde(default = "two_bytes")]
    #[schemars(extend("x-maximum" = "1000 B"))]
    pub framing: Size,
    /// Which way packets go there: to the flows' `to` or to their `from`, where the ACKs of what `from` sends go.
    #[serde(default = "from")]
    pub towards: TowardsSpec,
    /// More than this to send is congestion.
    #[serde(default = "ratio_backlog")]
    pub backlog: Duration,
    /// Length of a round.
    #[serde(default = "ratio_interval")]
    #[schemars(extend("x-exclusiveMinimum" = "0 s"))]
    pub interval: Duration,
    /// The most ACKs of which one passes.
    #[serde(default = "sixteen")]
    #[schemars(range(min = 1, max = 1000))]
    pub most: u32,
}

fn two_bytes() -> Size {
    Size::from_bytes(2)
}
fn from() -> TowardsSpec {
    TowardsSpec::From
}
fn ratio_backlog() -> Duration {
    Duration::from_millis(200)
}
fn ratio_interval() -> Duration {
    Duration::from_secs(1)
}
fn sixteen() -> u32 {
    16
}

impl AckRatioSpec {
    fn adapt(&self) -> ack_filter::Adapt {
        ack_filter::Adapt {
            rate: self.rate,
            framing: self.framing.as_bytes() as u32,
            towards: self.towards.direction(),
            backlog: self.backlog,
            interval: self.interval,
            most: self.most,
        }
    }
}

fn two() -> u32 {
    2
}
fn filter_hold() -> Duration {
    Duration::from_millis(100)
}

impl AckFilterSpec {
    /// In the filter's units.
    pub fn settings(&self) -> ack_filter::Settings {
        let adapt = self.adapt.map(|spec| spec.adapt());
        ack_filter::Settings { every: self.every, hold: self.hold, adapt }
    }
}

middlebox! {
    /// Rewrites the MSS option of SYNs, both ways.
    MssClampSpec {
        /// A larger MSS is lowered to this one.
        #[schemars(extend("x-minimum" = "1 B", "x-maximum" = "65495 B"))]
        pub mss: Size,
        /// A smaller one is raised to it, too: where it was announced for the wrong interface.
        #[serde(default)]
        pub raise: bool,
    }
}

impl MssClampSpec {
    /// In the middlebox's units.
    pub fn settings(&self) -> mss_clamp::Settings {
        let mss = u16::try_from(self.mss.as_bytes()).unwrap_or(u16::MAX);
        mss_clamp::Settings { mss, raise: self.raise }
    }
}

middlebox! {
    /// A throttle: a token bucket, and a queue for what comes too early.
    ThrottleSpec {
        /// How fast the bucket fills, counted in IP packets.
        #[schemars(extend("x-exclusiveMinimum" = "0 bit/s", "x-maximum" = "1000 Tbit/s"))]
        pub rate: Rate,
        /// Bytes that it holds: what may pass at once after a pause.
        #[serde(default = "two_packets")]
        #[schemars(extend("x-exclusiveMinimum" = "0 B"))]
        pub burst: Size,
        /// The queue for what must wait.
        #[serde(default = "fifty_packets_droptail")]
        pub queue: QueueSpec,
        /// Which packets it holds back: those to the flows' `to` or to their `from`.
        #[serde(default)]
        pub towards: TowardsSpec,
    }
}

fn two_packets() -> Size {
    Size::from_bytes(3000)
}
fn fifty_packets_droptail() -> QueueSpec {
    QueueSpec::droptail(Limit::Packets(50))
}

impl ThrottleSpec {
    /// In the throttle's units.
    pub fn settings(&self) -> throttle::Settings {
        throttle::Settings {
            rate: self.rate,
            burst: self.burst.as_bytes(),
            queue: self.queue,
            towards: self.towards.direction(),
        }
    }
}

middlebox! {
    /// The custom paced protocol: a surrogate sender at the hub, a pseudo proxy at the client's side of the satellite.
    PacedSpec {
        /// Name of the node of the pseudo proxy: the far end of the satellite, and where the thin line begins.
        pub peer: String,
        /// What the client is allotted of the satellite, headers included. Without it, all that the link has.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(extend("x-exclusiveMinimum" = "0 bit/s"))]
        pub rate: Option<Rate>,
        /// Nothing is sent while more waits for the satellite link than it sends in this time.
        #[serde(default = "paced_queue")]
        pub queue: Duration,
        /// The longest IP packet over the satellite.
        #[serde(default = "ethernet_mtu")]
        #[schemars(extend("x-minimum" = "128 B", "x-maximum" = "65535 B"))]
        pub mtu: Size,
        /// Round trips that datagrams spend in the delay loop, before they are sent again without having been reported.
        #[serde(default = "two_rounds")]
        #[schemars(extend("minimum" = 1, "maximum" = 100))]
        pub loop_rtts: f64,
        /// The round trip time as long as none was measured.
        #[serde(default = "one_second")]
        #[schemars(extend("x-exclusiveMinimum" = "0 s"))]
        pub initial_rtt: Duration,
        /// Most data in the delay loop; nothing new is sent beyond.
        #[serde(default = "thirty_two_megabytes")]
        #[schemars(extend("x-maximum" = "64 MB"))]
        pub loop_buffer: Size,
        /// Datagrams that may overtake one before it counts as lost.
        #[serde(default = "three")]
        #[schemars(range(min = 1, max = 1000))]
        pub reordering: u64,
        /// Longest time between two reports while data arrive.
        #[serde(default = "paced_report_interval")]
        #[schemars(extend("x-exclusiveMinimum" = "0 s"))]
        pub report_interval: Duration,
        /// Share of the line back that reports may take.
        #[serde(default = "quarter")]
        #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 1))]
        pub report_share: f64,
        /// Receive buffer of each connection to a host: its window closes as it fills.
        #[serde(default = "one_megabyte")]
        pub buffer: Size,
        /// Data of each connection that may be beyond the other node and not with their host yet.
        #[serde(default = "thirty_two_megabytes")]
        #[schemars(extend("x-maximum" = "1 GB"))]
        pub credit: Size,
        /// An erasure code across datagrams. Without it, none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub erasure: Option<ErasureSpec>,
        /// The hub ends all connections when nothing has arrived from the pseudo proxy for so long; `"0 s"`: never.
        #[serde(default = "two_minutes")]
        pub silence: Duration,
        /// What differs from the flow's own settings in the connection to the active opener.
        #[serde(default, skip_serializing_if = "TcpChanges::is_empty")]
        pub near: TcpChanges,
        /// What differs from the flow's own settings in the connection to the passive opener.
        #[serde(default, skip_serializing_if = "TcpChanges::is_empty")]
        pub far: TcpChanges,
        /// What differs from the default settings in the control connection, which is `established` from the start, without Nagle's
        /// algorithm, and has an MSS of 536 bytes unless set otherwise.
        #[serde(default, skip_serializing_if = "TcpChanges::is_empty")]
        pub control: TcpChanges,
    }
}

/// An erasure code: any `items` of the `items` + `parities` datagrams of a block are enough.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ErasureSpec {
    /// Datagrams with data in a block.
    #[schemars(range(min = 1))]
    pub items: u8,
    /// Datagrams with parities in a block.
    #[schemars(range(min = 1))]
    pub parities: u8,
}

fn paced_queue() -> Duration {
    Duration::from_millis(20)
}
fn ethernet_mtu() -> Size {
    Size::from_bytes(1500)
}
fn two_rounds() -> f64 {
    2.0
}
fn one_second() -> Duration {
    Duration::from_secs(1)
}
fn thirty_two_megabytes() -> Size {
    Size::from_bytes(32_000_000)
}
fn three() -> u64 {
    3
}
fn paced_report_interval() -> Duration {
    Duration::from_millis(250)
}
fn quarter() -> f64 {
    0.25
}
fn two_minutes() -> Duration {
    Duration::from_secs(120)
}

impl PacedSpec {
    /// Settings of the connections to the active opener of a flow with these settings.
    pub fn near_tcp(&self, flow: &TcpSpec) -> TcpSpec {
        host_tcp(&self.near, flow, BufferSpec::Limited(Limit::Bytes(self.buffer)))
    }
    /// Settings of the connections to its passive opener.
    pub fn far_tcp(&self, flow: &TcpSpec) -> TcpSpec {
        host_tcp(&self.far, flow, BufferSpec::Limited(Limit::Bytes(self.buffer)))
    }
    /// Settings of the control connection.
    pub fn control_tcp(&self) -> TcpSpec {
        let base = TcpSpec {
            mss: Size::from_bytes(536),
            established: true,
            nagle: false,
            // Fades may be long: the hub decides when it is over.
            max_retransmissions: u32::MAX,
            ..TcpSpec::default()
        };
        // Messages are read as they come.
        TcpSpec {
            receive_buffer: BufferSpec::Unlimited,
            receive_autotuning: None,
            ..self.control.over(&base)
        }
    }

    fn code(&self) -> Option<paced::erasure::Code> {
        self.erasure.map(|ErasureSpec { items, parities }| paced::erasure::Code { items, parities })
    }
    /// In the surrogate's units.
    pub fn sender(&self) -> paced::sender::Settings {
        paced::sender::Settings {
            rate: self.rate,
            queue: self.queue,
            mtu: u32::try_from(self.mtu.as_bytes()).unwrap_or(u32::MAX),
            loop_rtts: self.loop_rtts,
            initial_rtt: self.initial_rtt,
            most_kept: self.loop_buffer.as_bytes(),
            reordering: self.reordering,
            report_interval: self.report_interval,
            code: self.code(),
        }
    }
    /// In the pseudo proxy's units, where the line back has this rate at 8 bits a byte and adds so many bytes to a packet.
    pub fn receiver(&self, line: Rate, framing: u32) -> paced::receiver::Settings {
        paced::receiver::Settings {
            report_interval: self.report_interval,
            reordering: self.reordering,
            line: (!line.is_zero()).then_some(line),
            headers: 40 + framing,
            share: self.report_share,
            buffer: self.credit.as_bytes(),
            code: self.code(),
        }
    }
    /// When the hub gives up.
    pub fn silence(&self) -> Option<Duration> {
        (!self.silence.is_zero()).then_some(self.silence)
    }
}
