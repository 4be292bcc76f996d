//! The document's tables for flows: where, when, what.

use crate::{AccessSpec, FlowInstance, QuicSpec, TcpSpec, TimesSpec, Transport, UdpSpec};
use longhaul_traffic::{App, AppSpec, Ending, Setup};
use longhaul_units::{Dscp, Duration};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One flow, or `count` flows of the same kind.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FlowSpec {
    /// Name of the flow or group: letters, digits, `-` and `_`. A group's members are `name[0]`, `name[1]`, ...
    #[serde(default = "flow_name")]
    pub name: String,
    /// How many such flows.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 1_000_000))]
    pub count: u32,
    /// Node of the active opener; `left` on a dumbbell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// Node of the passive opener; `right` on a dumbbell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// Private links that join one host for each flow to `from` and `to`. Without it the nodes themselves are the hosts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub access: Option<AccessSpec>,
    /// When the flow starts.
    #[serde(default)]
    pub start: TimesSpec,
    /// When the application stops, counted from the start of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop: Option<TimesSpec>,
    /// How long after its start the application stops; not together with `stop`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-exclusiveMinimum" = "0 s"))]
    pub duration: Option<Duration>,
    /// What becomes of the connection when the application stops.
    #[serde(default, skip_serializing_if = "is_default")]
    pub ending: Ending,
    /// Parallel connections that each flow's transfer is split over; they start together and share its hosts. Results
    /// are for each connection, `name.stream[2]`, and for the group.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    #[schemars(range(min = 1, max = 1_000_000))]
    pub streams: u32,
    /// Its share in queues that serve flows by weight (`drr`, `wfq`).
    #[serde(default = "unit_weight", skip_serializing_if = "is_unit_weight")]
    #[schemars(range(min = 1, max = 255))]
    pub weight: u8,
    /// The DSCP of its packets, both ways (RFC 2474): the service that they ask of queues. Captures, compressed headers and real packets
    /// of TCP have it.
    #[serde(default, skip_serializing_if = "Dscp::is_default")]
    pub dscp: Dscp,
    /// Each transmission of the sending host is delayed by a random time, uniform between zero and this: breaks the
    /// phase effects of deterministic traffic (ns-2's `overhead_`).
    #[serde(default, skip_serializing_if = "is_zero")]
    pub send_overhead: Duration,
    /// Record every segment at the sender, for time-sequence graphs; of QUIC, every piece of its stream.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub trace: bool,
    /// What the application does.
    #[serde(default)]
    pub app: AppSpec,
    /// What carries the flow's data.
    #[serde(default, skip_serializing_if = "is_default")]
    pub transport: Transport,
    /// The connection's settings, at both ends.
    #[serde(default)]
    pub tcp: TcpSpec,
    /// The QUIC connection's settings, at both ends; only with `transport = "quic"`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quic: Option<QuicSpec>,
    /// Settings of the flow's datagrams; only with `transport = "udp"`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub udp: Option<UdpSpec>,
}

impl FlowSpec {
    /// The settings of its QUIC connections; `None` if it uses another transport.
    pub fn quic(&self) -> Option<&QuicSpec> {
        self.quic.as_ref().filter(|_| self.transport == Transport::Quic)
    }

    /// The settings of its datagrams; `None` if it uses another transport than UDP.
    pub fn udp(&self) -> Option<&UdpSpec> {
        self.udp.as_ref().filter(|_| self.transport == Transport::Udp)
    }

    /// The application of one of its flows in a run with `seed`.
    pub fn application(&self, flow: &FlowInstance, seed: u64) -> App {
        self.app.start(&Setup {
            start: flow.start,
            stop: flow.stop,
            ending: self.ending,
            mss: self.udp().map_or(self.tcp.mss, |udp| udp.payload),
            stream: (flow.stream, self.streams),
            datagrams: self.udp().is_some(),
            seed,
            name: flow.transfer_name(),
        })
    }
}

fn unit_weight() -> u8 {
    1
}
fn is_unit_weight(weight: &u8) -> bool {
    *weight == 1
}

fn is_zero(time: &Duration) -> bool {
    time.is_zero()
}
fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
fn is_one(number: &u32) -> bool {
    *number == 1
}
fn flow_name() -> String {
    "flow".to_string()
}
fn one() -> u32 {
    1
}
