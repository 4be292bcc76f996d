//! The table of the custom paced protocol.

use super::{Parameters, Site, middlebox, proxy};
use crate::validate::Checker;
use crate::{BufferSpec, Scenario, TcpChanges, TcpSpec};
use longhaul_middlebox::paced::{self, Control};
use longhaul_middlebox::{Middlebox, Payload};
use longhaul_tcp::Reading;
use longhaul_units::{Duration, Limit, Rate, Size};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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
        /// Share of the line back that reports may take while hosts use it too; with nothing else on it they take up to half.
        #[serde(default = "quarter")]
        #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 1))]
        pub report_share: f64,
        /// Receive buffer of each connection to a host: its window closes as it fills.
        #[serde(default = "proxy::one_megabyte")]
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
    /// Settings of the control connection.
    fn control_tcp(&self) -> TcpSpec {
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
    fn sender(&self) -> paced::sender::Settings {
        paced::sender::Settings {
            rate: self.rate,
            queue: self.queue,
            mtu: u32::try_from(self.mtu.as_bytes()).unwrap_or(u32::MAX),
            loop_rtts: self.loop_rtts,
            initial_rtt: self.initial_rtt,
            most_kept: self.loop_buffer.as_bytes(),
            report_interval: self.report_interval,
            code: self.code(),
        }
    }
    /// In the pseudo proxy's units, where the line back has this rate at 8 bits a byte and adds so many bytes to a packet.
    fn receiver(&self, line: Rate, framing: u32) -> paced::receiver::Settings {
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
    fn silence(&self) -> Option<Duration> {
        (!self.silence.is_zero()).then_some(self.silence)
    }
}

impl Parameters for PacedSpec {
    fn peer(&self) -> Option<&str> {
        Some(&self.peer)
    }
    fn check(&self, scenario: &Scenario, check: &mut Checker) {
        if self.peer == self.at {
            check.problem(
                &["peer"],
                format!("both nodes are \"{}\"; a satellite link lies between two", self.at),
            );
        }
        for (field, size) in [("loop_buffer", self.loop_buffer), ("credit", self.credit)] {
            if size < self.mtu {
                check.problem(&[field], format!("holds at least one packet of `mtu`, {}", self.mtu));
            }
        }
        check.host_changes(&self.near, &self.far);
        for flow in proxy::groups(scenario, &self.flows) {
            if !check.proxied(flow, self, Some(self.buffer)) {
                return;
            }
        }
        check.within("control", None, |check| check.tcp(&self.control_tcp()));
    }
    fn own_connections(&self, _connections: usize) -> u32 {
        // Datagrams, and the control connection.
        2
    }
    fn host_tcp(&self, flow: &TcpSpec) -> Option<[TcpSpec; 2]> {
        let buffer = BufferSpec::Limited(Limit::Bytes(self.buffer));
        Some([&self.near, &self.far].map(|changes| proxy::host_tcp(changes, flow, buffer)))
    }
    fn build<B: Payload>(&self, site: &Site<'_>) -> Box<dyn Middlebox<B>> {
        let (line, framing) = site.thin_line(1);
        let control = self.control_tcp();
        let settings = |node: &Site<'_>| paced::Settings {
            sender: self.sender(),
            receiver: self.receiver(line, framing),
            control: Control {
                side: node.side(&control, Reading::Immediate, "control"),
                established: control.established,
            },
            silence: self.silence(),
            first_number: site.own,
        };
        let nodes = site.for_both(|node| (node.plans(self), settings(&node)));
        Box::new(paced::paced_hop(nodes, site.for_both(|node| node.random("isn"))))
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
