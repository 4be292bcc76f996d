//! The document's table for a connection's settings, and how it becomes a connection.

use crate::CarefulResumeSpec;
use longhaul_cc::{Algorithm, CongestionControl, Pacing, Reduces, Setup, SlowStartKind};
use longhaul_tcp::{
    Autotuning, Config, InitialWindow, Keepalive, Reading, Recovery, ReductionBound, RttSampling,
    SpuriousDetection,
};
use longhaul_units::{Duration, Limit, Rate, Size};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How losses are found and repaired.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Variant {
    /// Fast retransmit, then slow start (Jacobson 1988).
    Tahoe,
    /// Fast recovery that the first new ACK ends (RFC 5681).
    Reno,
    /// Fast recovery through partial ACKs (RFC 6582).
    Newreno,
    /// Conservative loss recovery by selective acknowledgment (RFC 6675).
    #[default]
    Sack,
    /// Selective acknowledgment with the counted pipe of 1996 (Fall and Floyd), as ns-2's Sack1.
    Sack1,
    /// Forward acknowledgment (Mathis and Mahdavi 1996).
    Fack,
    /// Selective acknowledgment with losses found by time, lost retransmissions too (RFC 8985).
    Rack,
    /// RACK with what Linux 6.18 does by default and RFCs describe: sets the defaults of other keys too.
    Linux,
}

impl Variant {
    /// True if it uses selective acknowledgments.
    pub fn is_selective(self) -> bool {
        self.recovery().uses_sack()
    }
    /// The name in scenario files.
    pub fn name(self) -> &'static str {
        match self {
            Variant::Tahoe => "tahoe",
            Variant::Reno => "reno",
            Variant::Newreno => "newreno",
            Variant::Sack => "sack",
            Variant::Sack1 => "sack1",
            Variant::Fack => "fack",
            Variant::Rack => "rack",
            Variant::Linux => "linux",
        }
    }
    fn recovery(self) -> Recovery {
        match self {
            Variant::Tahoe => Recovery::Tahoe,
            Variant::Reno => Recovery::Reno,
            Variant::Newreno => Recovery::NewReno,
            Variant::Sack => Recovery::Sack,
            Variant::Sack1 => Recovery::Sack1,
            Variant::Fack => Recovery::Fack,
            Variant::Rack | Variant::Linux => Recovery::Rack,
        }
    }
}

/// How a sender detects that a reduction of the window was unnecessary; it then undoes it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SpuriousDetectionSpec {
    /// The timestamp of the original transmission comes back (Eifel, RFC 3522); needs `timestamps`.
    pub eifel: bool,
    /// After a timeout, new data before further retransmissions: F-RTO (RFC 5682).
    pub f_rto: bool,
    /// The receiver reports all retransmissions as duplicates (RFC 3708); needs `dsack` and SACK.
    pub dsack: bool,
}

/// Sizes of a receive buffer that grows with what is read in a round trip, and how much of it is window.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct AutotuningSpec {
    /// Buffer at first: the second number of `tcp_rmem`.
    pub initial: Size,
    /// Largest buffer, from which the window scale follows: the third number of `tcp_rmem`.
    pub max: Size,
    /// Share of the buffer that is window: 0.625 in Linux 6.18 for segments of an Ethernet, 0.5 in Linux 6.1
    /// (`tcp_adv_win_scale = 1`), where `max` is 6291456 B. The first window is at most half of `initial`.
    #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 1, "x-unit" = "share of the buffer"))]
    pub window_share: f64,
}

impl Default for AutotuningSpec {
    fn default() -> Self {
        let Autotuning { initial, max, window_share, .. } = Autotuning::LINUX;
        AutotuningSpec { initial: Size::from_bytes(initial), max: Size::from_bytes(max), window_share }
    }
}

impl AutotuningSpec {
    pub(crate) fn sizes(self) -> Autotuning {
        Autotuning {
            initial: self.initial.as_bytes(),
            max: self.max.as_bytes(),
            window_share: self.window_share,
            locked: false,
        }
    }
}

/// How the window comes down in fast recovery.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RateReduction {
    /// Nothing is sent until the pipe has sunk to the new window (RFC 6675).
    #[default]
    Off,
    /// In proportion to what is delivered; once below the new window, no more than is delivered (RFC 6937, PRR-CRB).
    Conservative,
    /// The same, but as slow start once below the new window (RFC 6937, PRR-SSRB).
    SlowStart,
    /// The same, but as slow start only on ACKs that advance and report no further loss (RFC 9937, Linux).
    SafeAck,
}

impl RateReduction {
    fn bound(self) -> Option<ReductionBound> {
        match self {
            RateReduction::Off => None,
            RateReduction::Conservative => Some(ReductionBound::Conservative),
            RateReduction::SlowStart => Some(ReductionBound::SlowStart),
            RateReduction::SafeAck => Some(ReductionBound::SafeAck),
        }
    }
}

/// Settings that are a word or a quantity, as text.
macro_rules! text_setting {
    ($type:ident, $expecting:literal, $schema_doc:literal, $examples:expr) => {
        impl Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }
        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Visitor;
                impl serde::de::Visitor<'_> for Visitor {
                    type Value = $type;
                    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        f.write_str($expecting)
                    }
                    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<$type, E> {
                        $type::read(text).map_err(|why| E::custom(format!("{why}; expected {}", $expecting)))
                    }
                    fn visit_i64<E: serde::de::Error>(self, number: i64) -> Result<$type, E> {
                        $type::from_count(number)
                            .ok_or_else(|| E::invalid_value(serde::de::Unexpected::Signed(number), &self))
                    }
                }
                deserializer.deserialize_any(Visitor)
            }
        }
        impl JsonSchema for $type {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($type).into()
            }
            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({
                    "description": $schema_doc,
                    "type": ["string", "integer"],
                    "examples": $examples,
                })
            }
        }
    };
}
pub(crate) use text_setting;

/// The timer of delayed ACKs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DelayedAck {
    /// Every segment is acknowledged at once.
    Off,
    /// An ACK waits at most so long.
    After(Duration),
}

impl DelayedAck {
    fn read(text: &str) -> Result<Self, String> {
        if text == "off" {
            return Ok(DelayedAck::Off);
        }
        text.parse().map(DelayedAck::After).map_err(|error: longhaul_units::UnitError| error.to_string())
    }
    fn from_count(_: i64) -> Option<Self> {
        None
    }
}
impl std::fmt::Display for DelayedAck {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            DelayedAck::Off => f.write_str("off"),
            DelayedAck::After(time) => time.fmt(f),
        }
    }
}
text_setting!(
    DelayedAck,
    "\"off\" or a time as in \"200 ms\"",
    "Longest delay of an ACK, or \"off\".",
    ["200 ms", "off"]
);

/// Explicit congestion notification: `false`, `true` or `"accurate"`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum EcnSpec {
    /// None.
    #[default]
    Off,
    /// With the feedback of RFC 3168.
    Classic,
    /// With accurate feedback (AccECN, RFC 9768), where both ends have it.
    Accurate,
}

impl EcnSpec {
    /// It is offered, with whatever feedback.
    pub fn is_on(self) -> bool {
        self != EcnSpec::Off
    }
    /// `true` or `false`.
    pub fn classic(on: bool) -> Self {
        if on { EcnSpec::Classic } else { EcnSpec::Off }
    }
}

impl Serialize for EcnSpec {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            EcnSpec::Accurate => serializer.serialize_str("accurate"),
            EcnSpec::Off | EcnSpec::Classic => serializer.serialize_bool(self.is_on()),
        }
    }
}
impl<'de> Deserialize<'de> for EcnSpec {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl serde::de::Visitor<'_> for Visitor {
            type Value = EcnSpec;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("true, false or \"accurate\"")
            }
            fn visit_bool<E: serde::de::Error>(self, on: bool) -> Result<EcnSpec, E> {
                Ok(EcnSpec::classic(on))
            }
            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<EcnSpec, E> {
                match text {
                    "accurate" => Ok(EcnSpec::Accurate),
                    _ => Err(E::invalid_value(serde::de::Unexpected::Str(text), &self)),
                }
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}
impl JsonSchema for EcnSpec {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "EcnSpec".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "anyOf": [{ "type": "boolean" }, { "type": "string", "enum": ["accurate"] }],
        })
    }
}

/// The initial window.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum InitialWindowSpec {
    /// Segments (`10`), segments (`"10 packets"`) or bytes (`"4380 B"`).
    Fixed(Limit),
    /// `"rfc3390"`: min(4 MSS, max(2 MSS, 4380 bytes)).
    Rfc3390,
}

impl InitialWindowSpec {
    fn read(text: &str) -> Result<Self, String> {
        if text == "rfc3390" {
            return Ok(InitialWindowSpec::Rfc3390);
        }
        text.parse()
            .map(InitialWindowSpec::Fixed)
            .map_err(|error: longhaul_units::UnitError| error.to_string())
    }
    fn from_count(count: i64) -> Option<Self> {
        u64::try_from(count).ok().map(|count| InitialWindowSpec::Fixed(Limit::Packets(count)))
    }
    pub(crate) fn window(self) -> InitialWindow {
        match self {
            InitialWindowSpec::Fixed(Limit::Packets(packets)) => {
                InitialWindow::Segments(packets.min(u64::from(u32::MAX)) as u32)
            }
            InitialWindowSpec::Fixed(Limit::Bytes(size)) => InitialWindow::Bytes(size.as_bytes()),
            InitialWindowSpec::Rfc3390 => InitialWindow::Rfc3390,
        }
    }
}
impl std::fmt::Display for InitialWindowSpec {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            InitialWindowSpec::Fixed(limit) => limit.fmt(f),
            InitialWindowSpec::Rfc3390 => f.write_str("rfc3390"),
        }
    }
}
text_setting!(
    InitialWindowSpec,
    "a number of segments as in 10, a size as in \"4380 B\", or \"rfc3390\"",
    "Initial window: segments, bytes, or \"rfc3390\".",
    ["10 packets", "4380 B", "rfc3390"]
);

/// A receive buffer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BufferSpec {
    /// The largest window that TCP can express, 1 GiB.
    Unlimited,
    /// Bytes, or packets of one MSS.
    Limited(Limit),
}

impl BufferSpec {
    fn read(text: &str) -> Result<Self, String> {
        if text == "unlimited" {
            return Ok(BufferSpec::Unlimited);
        }
        text.parse().map(BufferSpec::Limited).map_err(|error: longhaul_units::UnitError| error.to_string())
    }
    fn from_count(_: i64) -> Option<Self> {
        None
    }
    /// In bytes for this MSS; `None` is unlimited.
    pub fn bytes(self, mss: Size) -> Option<u64> {
        match self {
            BufferSpec::Unlimited => None,
            BufferSpec::Limited(limit) => Some(in_bytes(limit, mss)),
        }
    }
}
impl std::fmt::Display for BufferSpec {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            BufferSpec::Unlimited => f.write_str("unlimited"),
            BufferSpec::Limited(limit) => limit.fmt(f),
        }
    }
}
text_setting!(
    BufferSpec,
    "\"unlimited\", a size as in \"64 KiB\", or packets of one MSS as in \"20 packets\"",
    "Receive buffer: bytes, packets of one MSS, or \"unlimited\".",
    ["unlimited", "64 KiB", "20 packets"]
);

/// The argument of `SO_RCVBUF` or `SO_SNDBUF`, which an application may set on its socket.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum SocketBuffer {
    /// The application sets none: the kernel autotunes the buffer.
    #[default]
    Off,
    /// The argument as the kernel accepts it, which is at most `net.core.rmem_max` or `net.core.wmem_max`.
    Asked(Size),
}

impl SocketBuffer {
    fn read(text: &str) -> Result<Self, String> {
        if text == "off" {
            return Ok(SocketBuffer::Off);
        }
        text.parse().map(SocketBuffer::Asked).map_err(|error: longhaul_units::UnitError| error.to_string())
    }
    fn from_count(_: i64) -> Option<Self> {
        None
    }
    /// True if the application sets none.
    pub fn is_off(&self) -> bool {
        *self == SocketBuffer::Off
    }
    /// The argument in bytes, if one is set.
    pub fn asked(self) -> Option<u64> {
        match self {
            SocketBuffer::Off => None,
            SocketBuffer::Asked(size) => Some(size.as_bytes()),
        }
    }
    /// The buffer in bytes: Linux doubles the argument, for its own bookkeeping (socket(7)).
    pub fn kept(self) -> Option<u64> {
        self.asked().map(|bytes| bytes.saturating_mul(2))
    }
}
impl std::fmt::Display for SocketBuffer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            SocketBuffer::Off => f.write_str("off"),
            SocketBuffer::Asked(size) => size.fmt(f),
        }
    }
}
text_setting!(
    SocketBuffer,
    "\"off\" or a size as in \"208 KiB\"",
    "Argument of SO_RCVBUF or SO_SNDBUF, or \"off\".",
    ["208 KiB", "off"]
);

fn in_bytes(limit: Limit, mss: Size) -> u64 {
    match limit {
        Limit::Packets(packets) => packets.saturating_mul(mss.as_bytes()),
        Limit::Bytes(size) => size.as_bytes(),
    }
}

/// The retransmission timer (RFC 6298).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RtoSpec {
    /// RTO before the first round trip was measured.
    #[schemars(extend("x-exclusiveMinimum" = "0 s"))]
    pub initial: Duration,
    /// Smallest RTO.
    #[schemars(extend("x-exclusiveMinimum" = "0 s"))]
    pub min: Duration,
    /// Largest RTO.
    pub max: Duration,
    /// Granularity of the clock.
    #[schemars(extend("x-exclusiveMinimum" = "0 s"))]
    pub granularity: Duration,
    /// Take at most one sample in a round trip, as implementations with one timed segment do.
    pub one_sample_per_round: bool,
    /// RTTVAR follows once a round trip, and falls by at most a quarter in it (Linux); otherwise each sample moves it (RFC 6298).
    pub variation_by_round: bool,
    /// Round trips and the RTO are whole ticks of `granularity`, and SRTT and RTTVAR integers (in eighths and quarters of a tick), as in BSD and
    /// ns-2: steady round trips leave an RTO three ticks above SRTT. With one sample a round trip (`one_sample_per_round`) a sample is the number
    /// of ticks that the clock shows, otherwise it is rounded.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub ticks: bool,
}

impl Default for RtoSpec {
    fn default() -> Self {
        let config = Config::default();
        RtoSpec {
            initial: config.initial_rto,
            min: config.min_rto,
            max: config.max_rto,
            granularity: config.clock_granularity,
            one_sample_per_round: config.rtt_sampling == RttSampling::OncePerRound,
            variation_by_round: config.variation_by_round,
            ticks: config.rto_in_ticks,
        }
    }
}

/// Probing of an idle peer (RFC 9293 section 3.8.4).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KeepaliveSpec {
    /// Silence after which the first probe goes out.
    #[schemars(extend("x-exclusiveMinimum" = "0 s"))]
    pub idle: Duration,
    /// Time between probes.
    #[schemars(extend("x-exclusiveMinimum" = "0 s"))]
    pub interval: Duration,
    /// Probes without an answer after which the connection is given up.
    #[schemars(range(min = 1))]
    pub probes: u32,
}

/// A connection's settings, at both ends.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TcpSpec {
    /// Loss recovery.
    pub variant: Variant,
    /// Payload of a full segment without options. Options may take 40 bytes of it.
    #[schemars(extend("x-minimum" = "48 B", "x-maximum" = "65495 B"))]
    pub mss: Size,
    /// Initial window.
    #[schemars(extend("x-exclusiveMinimum" = "0 packets"))]
    pub initial_window: InitialWindowSpec,
    /// Slow start threshold at the start; none means arbitrarily high.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub initial_ssthresh: Option<Limit>,
    /// Receive buffer.
    pub receive_buffer: BufferSpec,
    /// Receive buffer that grows with what the application reads in a round trip (dynamic right-sizing, as Linux); `receive_buffer`
    /// does not count then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receive_autotuning: Option<AutotuningSpec>,
    /// `SO_RCVBUF`, as an application sets it on its socket (`iperf3 -w`): Linux doubles it, takes `receive_autotuning.window_share` of
    /// that as window, and autotunes no more (socket(7), tcp(7)). It is the argument that the kernel accepts: more than
    /// `net.core.rmem_max` becomes that. With variant "linux"; in other variants `receive_buffer` is the window itself.
    #[serde(skip_serializing_if = "SocketBuffer::is_off")]
    pub so_rcvbuf: SocketBuffer,
    /// Send buffer: no more than this is unacknowledged, whatever the windows.
    pub send_buffer: BufferSpec,
    /// The send buffer has room for so many congestion windows, and `send_buffer` is its largest size: it grows with the window, and an
    /// application that waits for room writes again once a third of it is free. 0: it has its full size from the start, and is filled
    /// as soon as there is room. Linux: 2, with BBR 3 (`tcp_sndbuf_expand`).
    pub send_buffer_windows: u32,
    /// `SO_SNDBUF`, as an application sets it on its socket: Linux doubles it, and `send_buffer` does not count then (socket(7)). It is
    /// the argument that the kernel accepts: more than `net.core.wmem_max` becomes that. With variant "linux".
    #[serde(skip_serializing_if = "SocketBuffer::is_off")]
    pub so_sndbuf: SocketBuffer,
    /// How far above the first missing byte the receiver keeps and SACKs data, in packets of one MSS or in bytes; what
    /// is beyond it is discarded although the window was offered. `"unlimited"` means up to the window. `"1023
    /// packets"` is the fault of ns-2 before 2.1b9a: losses in larger windows end in a timeout, a second cut.
    #[schemars(extend("x-exclusiveMinimum" = "0 packets"))]
    pub reassembly_limit: BufferSpec,
    /// Rate at which the application reads; without it, at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-exclusiveMinimum" = "0 bit/s"))]
    pub reading_rate: Option<Rate>,
    /// Longest delay of an ACK.
    #[schemars(extend("x-exclusiveMinimum" = "0 s", "x-maximum" = "10 s"))]
    pub delayed_ack: DelayedAck,
    /// Acknowledge at least every so many full-sized segments.
    #[schemars(range(min = 1))]
    pub ack_every: u32,
    /// ACK congestion control (RFC 5690): the sender detects that ACKs are lost or marked, and requests that the receiver
    /// acknowledge one of R segments, R being 2 at first, and paces segments while R is above 2.
    pub ack_congestion_control: bool,
    /// So many segments are acknowledged at once when data begin to arrive, after a silence of an RTO and after a duplicate; where
    /// the receive buffer is autotuned, each that opens the window as well. 16 in Linux.
    pub quick_acks: u32,
    /// So many times the timeout of the SYN is repeated before it is doubled, and these do not count towards giving up. 4 in Linux
    /// (`tcp_syn_linear_timeouts`).
    pub syn_linear_timeouts: u32,
    /// So many retransmissions of the SYN or SYN-ACK leave the initial window as it is; otherwise it is one segment after a lost SYN
    /// (RFC 5681 section 3.1). 1 in Linux.
    pub tolerated_syn_losses: u32,
    /// Skip the handshake, as one-way agents do: both ends are connected from the start. Where a connection begins with probes
    /// (slow start packet_pair) they are sent all the same, as SYNs without options.
    pub established: bool,
    /// Timestamps option (RFC 7323).
    pub timestamps: bool,
    /// Window scaling (RFC 7323).
    pub window_scaling: bool,
    /// Explicit congestion notification (RFC 3168); with "accurate" its feedback counts every mark where the peer can do so too
    /// (AccECN, RFC 9768), and all packets but SYNs are ECN-capable.
    pub ecn: EcnSpec,
    /// Report duplicates to the sender (RFC 2883).
    pub dsack: bool,
    /// Send new data on the first duplicate ACKs (RFC 3042).
    pub limited_transmit: bool,
    /// Duplicate ACKs that mean a loss.
    #[schemars(range(min = 1))]
    pub duplicate_threshold: u32,
    /// Proportional rate reduction in fast recovery (RFC 9937). Needs SACK; congestion controls that set a rate (BBR) do without.
    pub rate_reduction: RateReduction,
    /// The same upon an ECN echo, as in Linux; otherwise the window is reduced at once (RFC 3168). Needs
    /// `rate_reduction` and `ecn`.
    pub rate_reduction_on_ecn: bool,
    /// Take up SACK blocks of ACKs that later ones have overtaken, as in Linux. Needs SACK.
    pub sack_of_old_acks: bool,
    /// With variant "rack", the reordering window that D-SACKs have widened is as in the beginning after sixteen recoveries, those that
    /// were undone included (RFC 8985); in Linux they do not count.
    pub undone_recoveries_count: bool,
    /// Where the window grows, an ACK counts for all that it acknowledges (RFC 5681); without it, for what it delivers
    /// itself and not for what was SACKed before, as in Linux.
    pub credit_sacked: bool,
    /// A segment counts as SACKed once all of it is, as in Linux; otherwise each octet does (RFC 6675). Needs variant "rack".
    pub sack_whole_segments: bool,
    /// With variant "rack", probe for losses at the tail after two round trips without an ACK (RFC 8985 section 7).
    pub tail_loss_probe: bool,
    /// The longest time for which the peer may hold back an ACK; a tail loss probe for a single segment waits for it
    /// besides (RFC 8985 section 7.2). If not given, it is taken to be `delayed_ack`. 200 ms in Linux.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peer_ack_delay: Option<Duration>,
    /// How a sender detects that a reduction of the window was unnecessary; it then undoes it.
    pub spurious_detection: SpuriousDetectionSpec,
    /// Discard what was SACKed when the retransmission timer expires (RFC 2018 section 8).
    pub clear_sack_on_timeout: bool,
    /// Entering loss recovery restarts the retransmission timer, as 4.4BSD, Linux and ns-2 do; RFC 6298 is silent.
    /// Without it recoveries that go well end in a timeout where two round trips are more than the minimum RTO.
    pub restart_timer_on_fast_retransmit: bool,
    /// With variant "rack", each retransmission of the first segment in flight restarts the retransmission timer, and so do SACKs of data
    /// that left before it did, as in Linux: what is lost twice needs no timeout.
    pub head_restarts_timer: bool,
    /// Once timestamps are agreed on, drop segments without the option (RFC 7323 section 3.2); Linux takes them.
    pub timestamps_required: bool,
    /// An ACK of what was never sent is answered by an ACK, and its timestamp recorded (RFC 9293 section 3.10.7.4); Linux 6.1 does
    /// neither.
    pub answer_unsent_acks: bool,
    /// Probes of a closed window carry nothing, as in Linux; otherwise the next byte (RFC 9293 section 3.8.6.1).
    pub empty_probes: bool,
    /// Nagle's algorithm.
    pub nagle: bool,
    /// Nagle's algorithm in Minshall's form: a small segment waits only for an earlier small one, so the end of a long
    /// message leaves at once (draft-minshall-nagle-01; Linux).
    pub minshall: bool,
    /// In slow start the window grows up to twice the most that was in flight, where the application or the receiver's
    /// window is the limit (Linux). Otherwise it does not grow then (RFC 7661, RFC 9438 section 4.2).
    pub slow_start_to_twice_flight: bool,
    /// What congestion takes its share of: what is in flight ("flight_size", RFC 5681) or the window ("cwnd", Linux).
    pub reduction_from: Reduces,
    /// After an idle RTO go back to the initial window (RFC 5681 section 4.1).
    pub restart_after_idle: bool,
    /// With `restart_after_idle` the window is halved for each RTO of idleness, down to the initial window, and ssthresh
    /// is at least 3/4 of it (RFC 2861 section 3.1; Linux).
    pub halve_after_idle: bool,
    /// After an idle RTO keep this share of the window, and pace it over a round trip until the first ACK comes back
    /// (rate-based pacing, Visweswaraiah and Heidemann 1997). Goes before `restart_after_idle`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 1))]
    pub pace_after_idle: Option<f64>,
    /// At most so many segments leave in answer to one arriving segment.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub max_burst: Option<u32>,
    /// When segments are paced: how many may leave back to back after a pause. With 1.5 the second follows after half its time.
    #[schemars(range(min = 1))]
    pub pacing_burst: f64,
    /// When segments are paced: so many of the connection leave before it begins.
    pub unpaced_segments: u32,
    /// No faster than this, headers not counted (Linux: `SO_MAX_PACING_RATE`). Segments are paced then, whatever the congestion control.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-minimum" = "1 kbit/s"))]
    pub max_pacing_rate: Option<Rate>,
    /// Give up after so many retransmissions of one segment.
    #[schemars(range(min = 1))]
    pub max_retransmissions: u32,
    /// Give up after so many retransmissions of a SYN (Linux: `tcp_syn_retries`).
    pub max_syn_retransmissions: u32,
    /// Give up when data stays unacknowledged for longer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_timeout: Option<Duration>,
    /// Probing of an idle peer; without it, none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keepalive: Option<KeepaliveSpec>,
    /// Time in TIME-WAIT, 2 MSL.
    pub time_wait: Duration,
    /// Tick of the timestamps option's clock.
    #[schemars(extend("x-exclusiveMinimum" = "0 s", "x-maximum" = "1 s"))]
    pub timestamp_tick: Duration,
    /// NewReno restarts its retransmission timer on every partial ACK, not only on the first (RFC 6582 section 4).
    pub slow_but_steady: bool,
    /// Congestion control.
    pub congestion: Algorithm,
    /// Slow start.
    pub slow_start: SlowStartKind,
    /// Pacing for congestion controls that set only a window.
    pub pacing: Pacing,
    /// What both ends have stored of an earlier connection over the same path, with which they resume carefully (RFC 9959): once the
    /// initial window is acknowledged, the window jumps to half of the remembered one, and back if that leads to losses.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub careful_resume: Option<CarefulResumeSpec>,
    /// Retransmission timer.
    pub rto: RtoSpec,
}

impl Default for TcpSpec {
    fn default() -> Self {
        let config = Config::default();
        TcpSpec {
            variant: Variant::default(),
            mss: Size::from_bytes(u64::from(config.mss)),
            initial_window: InitialWindowSpec::Fixed(Limit::Packets(10)),
            initial_ssthresh: None,
            receive_buffer: BufferSpec::Unlimited,
            receive_autotuning: None,
            so_rcvbuf: SocketBuffer::Off,
            send_buffer: BufferSpec::Unlimited,
            send_buffer_windows: 0,
            so_sndbuf: SocketBuffer::Off,
            reassembly_limit: BufferSpec::Unlimited,
            reading_rate: None,
            delayed_ack: config.delayed_ack.map_or(DelayedAck::Off, DelayedAck::After),
            ack_every: config.ack_every,
            ack_congestion_control: config.ack_congestion_control,
            quick_acks: config.quick_acks,
            syn_linear_timeouts: config.syn_linear_timeouts,
            tolerated_syn_losses: config.tolerated_syn_losses,
            established: false,
            timestamps: config.timestamps,
            window_scaling: config.window_scaling,
            ecn: EcnSpec::default(),
            dsack: config.dsack,
            limited_transmit: config.limited_transmit,
            duplicate_threshold: config.duplicate_threshold,
            rate_reduction: RateReduction::default(),
            rate_reduction_on_ecn: config.rate_reduction_on_ecn,
            sack_of_old_acks: config.sack_of_old_acks,
            undone_recoveries_count: config.undone_recoveries_count,
            credit_sacked: config.credit_sacked,
            sack_whole_segments: config.sack_whole_segments,
            tail_loss_probe: config.tail_loss_probe,
            peer_ack_delay: config.peer_ack_delay,
            spurious_detection: SpuriousDetectionSpec::default(),
            clear_sack_on_timeout: config.clear_sack_on_timeout,
            restart_timer_on_fast_retransmit: config.restart_timer_on_fast_retransmit,
            head_restarts_timer: config.head_restarts_timer,
            timestamps_required: config.timestamps_required,
            answer_unsent_acks: config.answer_unsent_acks,
            empty_probes: config.empty_probes,
            nagle: config.nagle,
            minshall: config.minshall,
            slow_start_to_twice_flight: config.slow_start_to_twice_flight,
            reduction_from: Reduces::default(),
            restart_after_idle: config.restart_after_idle,
            halve_after_idle: config.halve_after_idle,
            pace_after_idle: config.pace_after_idle,
            max_burst: config.max_burst,
            pacing_burst: config.pacing_burst,
            unpaced_segments: config.unpaced_segments,
            max_pacing_rate: config.max_pacing_rate,
            max_retransmissions: config.max_retransmissions,
            max_syn_retransmissions: config.max_syn_retransmissions,
            user_timeout: config.user_timeout,
            keepalive: None,
            time_wait: config.time_wait,
            timestamp_tick: config.timestamp_tick,
            slow_but_steady: config.slow_but_steady,
            congestion: Algorithm::default(),
            slow_start: SlowStartKind::default(),
            pacing: Pacing::default(),
            careful_resume: None,
            rto: RtoSpec::default(),
        }
    }
}

impl TcpSpec {
    /// The largest window that the receiver can offer in bytes; `None` if it is unlimited.
    pub fn largest_window(&self) -> Option<u64> {
        let autotuned = self.receive_sizes().map(|_| self.config().largest_window());
        autotuned.or(self.receive_buffer.bytes(self.mss))
    }
    /// Sizes of a receive buffer of which a share is window: an autotuned one, or the one of `so_rcvbuf`, which stays as it is.
    pub fn receive_sizes(&self) -> Option<Autotuning> {
        let sizes = self.receive_autotuning?.sizes();
        Some(match self.so_rcvbuf.kept() {
            Some(kept) => Autotuning { initial: kept, max: kept, locked: true, ..sizes },
            None => sizes,
        })
    }
    /// The send buffer in bytes, that of `so_sndbuf` before that of `send_buffer`; `None` is unlimited.
    pub fn send_room(&self) -> Option<u64> {
        self.so_sndbuf.kept().or(self.send_buffer.bytes(self.mss))
    }
    /// The settings of an endpoint.
    pub fn config(&self) -> Config {
        Config {
            mss: self.mss.as_bytes() as u32,
            recovery: self.variant.recovery(),
            duplicate_threshold: self.duplicate_threshold,
            limited_transmit: self.limited_transmit,
            rate_reduction: self.rate_reduction.bound(),
            rate_reduction_on_ecn: self.rate_reduction_on_ecn,
            sack_of_old_acks: self.sack_of_old_acks,
            undone_recoveries_count: self.undone_recoveries_count,
            credit_sacked: self.credit_sacked,
            sack_whole_segments: self.sack_whole_segments,
            tail_loss_probe: self.tail_loss_probe,
            peer_ack_delay: self.peer_ack_delay,
            spurious_detection: SpuriousDetection {
                eifel: self.spurious_detection.eifel,
                f_rto: self.spurious_detection.f_rto,
                dsack: self.spurious_detection.dsack,
            },
            clear_sack_on_timeout: self.clear_sack_on_timeout,
            restart_timer_on_fast_retransmit: self.restart_timer_on_fast_retransmit,
            head_restarts_timer: self.head_restarts_timer,
            dsack: self.dsack,
            timestamps: self.timestamps,
            window_scaling: self.window_scaling,
            ecn: self.ecn.is_on(),
            accurate_ecn: self.ecn == EcnSpec::Accurate,
            receive_buffer: self.receive_buffer.bytes(self.mss),
            autotuning: self.receive_sizes(),
            send_buffer: self.send_room(),
            // SO_SNDBUF keeps it from growing.
            send_buffer_windows: match (self.send_buffer_windows, self.so_sndbuf.kept()) {
                (0, _) => None,
                (_, Some(_)) => Some(0),
                (windows, None) => Some(windows),
            },
            reassembly_limit: self.reassembly_limit.bytes(self.mss),
            reading: self.reading_rate.map_or(Reading::Immediate, Reading::Rate),
            ack_every: self.ack_every,
            ack_congestion_control: self.ack_congestion_control,
            quick_acks: self.quick_acks,
            syn_linear_timeouts: self.syn_linear_timeouts,
            tolerated_syn_losses: self.tolerated_syn_losses,
            delayed_ack: match self.delayed_ack {
                DelayedAck::Off => None,
                DelayedAck::After(time) => Some(time),
            },
            initial_rto: self.rto.initial,
            min_rto: self.rto.min,
            max_rto: self.rto.max,
            clock_granularity: self.rto.granularity,
            variation_by_round: self.rto.variation_by_round,
            rto_in_ticks: self.rto.ticks,
            rtt_sampling: if self.rto.one_sample_per_round {
                RttSampling::OncePerRound
            } else {
                RttSampling::EveryAck
            },
            max_retransmissions: self.max_retransmissions,
            max_syn_retransmissions: self.max_syn_retransmissions,
            user_timeout: self.user_timeout,
            keepalive: self.keepalive.map(|k| Keepalive {
                idle: k.idle,
                interval: k.interval,
                probes: k.probes,
            }),
            assumed_options: self.established,
            time_wait: self.time_wait,
            timestamp_tick: self.timestamp_tick,
            slow_but_steady: self.slow_but_steady,
            timestamps_required: self.timestamps_required,
            answer_unsent_acks: self.answer_unsent_acks,
            empty_probes: self.empty_probes,
            nagle: self.nagle,
            minshall: self.minshall,
            initial_window: self.initial_window.window(),
            slow_start_to_twice_flight: self.slow_start_to_twice_flight,
            restart_after_idle: self.restart_after_idle,
            halve_after_idle: self.halve_after_idle,
            pace_after_idle: self.pace_after_idle,
            max_burst: self.max_burst,
            pacing_burst: self.pacing_burst,
            unpaced_segments: self.unpaced_segments,
            max_pacing_rate: self.max_pacing_rate,
            ..Config::default()
        }
    }

    /// A congestion controller for an endpoint, with parameters that [`TcpSpec::check_congestion_control`] has accepted. `seed`
    /// is that of its own random numbers.
    pub fn congestion_control(&self, seed: u64) -> Box<dyn CongestionControl> {
        let setup = self.congestion_setup(seed);
        let Some(resume) = &self.careful_resume else {
            return longhaul_cc::build_checked(&self.congestion, &self.slow_start, &setup);
        };
        let (algorithm, slow_start) = (self.congestion.clone(), self.slow_start.clone());
        resume.around(setup, move |setup| longhaul_cc::build_checked(&algorithm, &slow_start, setup))
    }

    /// Whether there can be a congestion controller with these parameters.
    ///
    /// # Errors
    /// A text that names the parameter which is out of its range.
    pub fn check_congestion_control(&self) -> Result<(), String> {
        longhaul_cc::build(&self.congestion, &self.slow_start, &self.congestion_setup(0)).map(drop)
    }

    fn congestion_setup(&self, seed: u64) -> Setup {
        Setup {
            mss: self.mss.as_bytes(),
            initial_window: self.initial_window.window(),
            initial_ssthresh: self.initial_ssthresh,
            pacing: self.pacing,
            reduces: self.reduction_from,
            seed,
        }
    }
}
