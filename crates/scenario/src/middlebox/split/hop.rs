//! The accelerator's own transport between the two nodes of a split.

use super::SplitSpec;
use crate::middlebox::Site;
use crate::validate::Checker;
use crate::{BufferSpec, KeepaliveSpec, TcpChanges, TcpSpec, Variant};
use longhaul_middlebox::{Payload, TwoNodes, hop};
use longhaul_tcp::Reading;
use longhaul_units::{Duration, Limit, Rate, Size};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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
    #[schemars(extend("x-minimum" = "1 ms", "x-maximum" = "2 h"))]
    pub initial_rtt: Option<Duration>,
    /// The least pause after which a PING keeps the hop alive; below half of `idle_timeout`.
    #[serde(default = "five_seconds")]
    #[schemars(extend("x-minimum" = "1 ms"))]
    pub keep_alive: Duration,
    /// The hop is over when nothing arrives for so long: all connections are reset, and it is opened again.
    #[serde(default = "five_minutes")]
    #[schemars(extend("x-minimum" = "1 s", "x-maximum" = "720 h"))]
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
    /// To others too: where the link is overloaded, it takes a part as one flow of CUBIC would.
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
    pub(super) fn own_connections(&self) -> u32 {
        match self.carrier {
            CarrierSpec::Quic => 1,
            CarrierSpec::Tcp => self.connections.unwrap_or(4),
        }
    }

    /// Settings of the TCP connections between the nodes, for flows of which the largest has this MSS.
    pub(super) fn tcp(&self, mss: Size) -> TcpSpec {
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
    fn pool(config: &longhaul_hop::Config) -> longhaul_hop::PoolConfig {
        let longhaul_hop::Config { credit, memory, unsent, max_flows, .. } = *config;
        longhaul_hop::PoolConfig { credit, memory, unsent, max_flows }
    }

    /// Settings of the two nodes of the hop.
    fn nodes(&self, between: Between) -> [longhaul_hop::Config; 2] {
        let (least, most) = (Rate::from_bps(10_000), Rate::from_bps(100_000_000_000));
        let of_links = between.rates.map(longhaul_hop::Rates::of_link);
        let rates = [self.forward_rate.unwrap_or(of_links[0]), self.reverse_rate.unwrap_or(of_links[1])];
        let rates = rates.map(|rate| rate.clamp(least, most));
        let rtt = between.rtt.clamp(Duration::from_millis(1), Duration::from_secs(7200));
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

    pub(super) fn check(&self, check: &mut Checker) {
        self.check_carrier(check);
        if self.keep_alive > self.idle_timeout / 2 {
            let message = format!("must be at most half of idle_timeout ({})", self.idle_timeout);
            check.problem(&["keep_alive"], message);
        }
        let least = self.credit.map_or(0, |credit| 9 * credit.as_bytes());
        if self.memory.is_some_and(|memory| memory.as_bytes() < least) {
            let message = format!("must be at least nine times `credit`, {}", Size::from_bytes(least));
            check.problem(&["memory"], message);
        }
    }

    /// Settings of one carrier are refused with the other.
    fn check_carrier(&self, check: &mut Checker) {
        let of_tcp = [("connections", self.connections.is_some()), ("tcp", !self.tcp.is_empty())];
        let of_quic = [
            ("share", self.share != ShareSpec::default()),
            ("coding", self.coding != CodingSpec::default()),
            ("initial_rtt", self.initial_rtt.is_some()),
            ("mtu", self.mtu != ethernet_datagram()),
        ];
        let (others, carrier): (&[_], _) = match self.carrier {
            CarrierSpec::Quic => (&of_tcp, "tcp"),
            CarrierSpec::Tcp => (&of_quic, "quic"),
        };
        for (field, given) in others {
            if *given {
                check.problem(&[field], format!("is for `carrier = \"{carrier}\"`"));
            }
        }
        if self.connections.is_some_and(|count| !(1..=64).contains(&count)) {
            check.problem(&["connections"], "from 1 to 64 connections");
        }
        if self.tcp.established.is_some() {
            check.problem(&["tcp", "established"], "these connections are opened when the run begins");
        }
    }

    /// Both nodes of this split.
    pub(super) fn build<B: Payload>(&self, split: &SplitSpec, site: &Site<'_>) -> TwoNodes<B> {
        let nodes = self.nodes(site.network.between(site.instance));
        let carrier = |node: &Site<'_>| match self.carrier {
            CarrierSpec::Quic => hop::CarrierSettings::Quic(nodes.clone().into()),
            CarrierSpec::Tcp => hop::CarrierSettings::Tcp(Box::new(hop::TcpCarrier {
                side: node.side(&self.tcp(site.largest_mss()), Reading::Manual, "long hop"),
                connections: site.instance.own_connections.1,
                rates: nodes.each_ref().map(|node| node.rates.send),
                pool: HopSpec::pool(&nodes[0]),
            })),
        };
        let settings = |node: &Site<'_>| hop::Settings {
            carrier: carrier(node),
            buffer: split.buffer.as_bytes(),
            first_number: site.own,
        };
        let both = site.for_both(|node| (node.plans(split), settings(&node)));
        hop::hop(both, site.for_both(|node| node.random("hop"))).expect("settings were checked")
    }
}
