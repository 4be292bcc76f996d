//! The document's tables for the run and the network.

use crate::script::{self, ChangeSpec, OutageSpec};
use crate::{FlowSpec, LinkTraceSpec, MiddleboxSpec, ProfileSpec, RouteSpec, measured};
use longhaul_path::{
    AcmSpec, ArqSpec, CarrierSpec, CorruptionSpec, GrantSettings, HalfDuplexSpec, JitterSpec, LeoSpec,
    LinkConfig, LossSpec, Membership, OutageMode, OverheadSpec, QueueSpec, Reordering, SerialSpec, SlotsSpec,
    TerminalSpec, TracedRate, WanderSpec,
};
use longhaul_path::{least_delay, stopped, wandering_delay, wandering_rate};
use longhaul_units::{Duration, GroupId, Id, Limit, MiddleboxId, Probability, Random, Rate, Size};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A network, its traffic, and what to measure.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "Longhaul scenario")]
pub struct Scenario {
    /// A short name for titles.
    #[serde(default = "unnamed")]
    pub name: String,
    /// What this scenario is about.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// How long to run and what to record.
    pub run: RunSpec,
    /// Two routers with one bottleneck between them: nodes `left` and `right`, link `bottleneck`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dumbbell: Option<DumbbellSpec>,
    /// Nodes. Those that a link names need not be listed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub node: Vec<NodeSpec>,
    /// Links.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub link: Vec<LinkSpec>,
    /// Carriers that several links share, as the return link of DVB-RCS2.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub carrier: Vec<CarrierSpec>,
    /// Ways that packets take between two nodes from a time on. Without one, packets take the links of least propagation delay.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub route: Vec<RouteSpec>,
    /// Flows.
    #[serde(default)]
    pub flow: Vec<FlowSpec>,
    /// Middleboxes. Several at one node stand in a row: forward packets meet them in the order of the document.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub middlebox: Vec<MiddleboxSpec>,
}

impl Scenario {
    /// A group of flows.
    #[inline]
    pub fn group(&self, id: GroupId) -> &FlowSpec {
        &self.flow[id.index()]
    }
    /// The settings of a middlebox.
    pub fn middlebox(&self, id: MiddleboxId) -> &MiddleboxSpec {
        &self.middlebox[id.index()]
    }
}

fn unnamed() -> String {
    "scenario".to_string()
}

/// How long to run and what to record.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RunSpec {
    /// Simulated time.
    #[schemars(extend("x-exclusiveMinimum" = "0 s", "x-maximum" = "87600 h"))]
    pub duration: Duration,
    /// Time at the beginning that is left out of averages, percentiles and rates.
    #[serde(default)]
    pub warmup: Duration,
    /// Seed of all random streams.
    #[serde(default = "first_seed")]
    pub seed: u64,
    /// Interval of the time series.
    #[serde(default = "one_second")]
    #[schemars(extend("x-exclusiveMinimum" = "0 s"))]
    pub sample: Duration,
    /// The order of events that happen in the same nanosecond.
    #[serde(default, skip_serializing_if = "Ties::is_default")]
    pub ties: Ties,
    /// Record the largest goodput of each flow in one sampling interval.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub peak_goodput: bool,
    /// Write the state of each flow's congestion control (W_max, BBR's phase, a bandwidth estimate ...) to `cc.parquet` at each sample.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub inspect: bool,
    /// Links whose packets are captured to `packets.pcapng` as they enter the queue.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub capture: Vec<String>,
    /// Log both ends of each QUIC connection to `qlog/FLOW-client.sqlog` and `qlog/FLOW-server.sqlog` in the format
    /// that qvis reads: packets with their frames, losses, windows. Some 400 B a packet.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub qlog: bool,
    /// Links at whose entrance packets and bytes of each flow are counted, those offered and those that the queue dropped.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub monitor: Vec<String>,
}

/// The order of events that happen in the same nanosecond. Packets of one size over links of one rate are on one grid of times,
/// so that the order decides which of them finds a queue full.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Ties {
    /// By a hash of time and component: no flow is favoured.
    #[default]
    Hash,
    /// As they were scheduled, as in ns-2 and most simulators: flows keep their order, and their losses come together (the phase
    /// effects of Floyd and Jacobson 1991). Runs take longer, since nothing is computed ahead of time. Simulator only.
    Scheduled,
}

impl Ties {
    fn is_default(&self) -> bool {
        *self == Ties::default()
    }
}

fn first_seed() -> u64 {
    1
}
fn one_second() -> Duration {
    RunSpec::DEFAULT_SAMPLE
}

impl RunSpec {
    /// Interval of the time series where none is given.
    pub(crate) const DEFAULT_SAMPLE: Duration = Duration::from_secs(1);
}

/// A node that is only named.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NodeSpec {
    /// The node's name: letters, digits, `-` and `_`.
    pub name: String,
}

/// Calls a macro with all settings of a link after its own arguments: this is the one list of them, and kinds of granted links follow.
macro_rules! with_link_settings {
    ($macro:ident! { $($given:tt)* }) => {
        longhaul_path::with_grants! { $macro! { { $($given)* }
            /// Rate of the transmitter.
            #[schemars(extend("x-minimum" = "1 bit/s", "x-maximum" = "1000 Tbit/s"))]
            rate: Rate,
            /// Propagation delay, one way.
            #[schemars(extend("x-maximum" = "1 h"))]
            delay: Duration,
            /// Queue in front of the transmitter; DropTail with 1000 packets if not given.
            /// A text is such a queue's limit.
            #[serde(deserialize_with = "crate::shorthand::queue")]
            #[schemars(schema_with = "crate::shorthand::queue_schema")]
            queue: QueueSpec,
            /// Loss without congestion; a probability alone is that of random loss.
            #[serde(deserialize_with = "crate::shorthand::loss")]
            #[schemars(schema_with = "crate::shorthand::loss_schema")]
            loss: LossSpec,
            /// Extra delay at random; a duration alone: uniform between zero and this, with packets in order.
            #[serde(deserialize_with = "crate::shorthand::jitter")]
            #[schemars(schema_with = "crate::shorthand::jitter_schema")]
            jitter: JitterSpec,
            /// Random overtaking.
            reordering: Reordering,
            /// Packets that have crossed the link wait for a slot, and those of a slot arrive at once: bursts as of WiFi, cable and LTE
            /// (`slot` of netem). They keep their order.
            slots: SlotsSpec,
            /// Probability that a packet arrives twice: the copy follows directly. It takes no capacity of this link.
            duplication: Probability,
            /// Damage behind the IP header that the link does not notice: the packet goes on over all links that follow, and the
            /// host at the end drops it for its checksum. A probability alone is that of each packet.
            #[serde(deserialize_with = "crate::shorthand::corruption")]
            #[schemars(schema_with = "crate::shorthand::corruption_schema")]
            corruption: CorruptionSpec,
            /// Outages, by a script or at random.
            outages: Vec<OutageSpec>,
            /// Scripted changes of rate, delay and loss.
            changes: Vec<ChangeSpec>,
            /// Rate and delay that wander at random, in steps; several tables act together. Rates of both directions wander each by
            /// itself; their delays by the same draws, since both take one way.
            wander: Vec<WanderSpec>,
            /// Measurements, in files, that rate, delay or loss follow.
            trace: LinkTraceSpec,
            /// Satellites that move, in the place of `delay`: a constellation, the places of the terminal and of the gateway, handovers.
            leo: LeoSpec,
            /// Adaptive coding and modulation (DVB-S2, DVB-S2X), in the place of `rate`: the rate follows the signal over time.
            acm: AcmSpec,
            /// Automatic repeat request: what the wire loses is sent again after the link's round trip, a limited number of times or until it
            /// arrives.
            arq: ArqSpec,
            /// Its part of a carrier that several links share, in the place of `rate`: what the terminal has there, and what it requests.
            carrier: TerminalSpec,
            /// A serial line: framing, start and stop bits, an MTU of its own, header compression. `rate` is then its speed,
            /// start and stop bits included.
            serial: SerialSpec,
            /// Bytes that each packet takes on the line beside itself, `rate` being the line's; a text is one of CAKE's keywords
            /// (tc-cake(8)), as in "pppoe-ptm", "docsis", "ethernet".
            #[serde(deserialize_with = "crate::shorthand::overhead")]
            #[schemars(schema_with = "crate::shorthand::overhead_schema")]
            overhead: OverheadSpec,
            /// Longest IP packet that the link carries, headers included. With real packets the router before it reports a longer one to its
            /// sender, or cuts it into fragments; the simulator carries it all the same, and warns.
            #[schemars(extend("x-minimum" = "68 B", "x-maximum" = "65535 B"))]
            mtu: Size,
            /// What becomes of packets that are longer than `mtu`; `reported` if not given.
            too_big: TooBig,
        } }
    };
}

/// A table with the settings of a link, and with fields of its own before and after them.
macro_rules! settings_table {
    ({ $(#[$doc:meta])* $name:ident { $($before:tt)* } { $($after:tt)* } }
     $($(#[$setting_doc:meta])* $setting:ident: $type:ty,)*) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub struct $name {
            $($before)*
            $(
                $(#[$setting_doc])*
                #[serde(default, skip_serializing_if = "Option::is_none")]
                pub $setting: Option<$type>,
            )*
            $($after)*
        }

        impl $name {
            /// The settings of the link that are given here, without those for one direction.
            pub fn common(&self) -> DirectionSpec {
                DirectionSpec { $($setting: Option::clone(&self.$setting),)* }
            }
        }
    };
}

with_link_settings! {
    settings_table! {
        /// What may differ between the two directions of a link.
        DirectionSpec {} {}
    }
}

macro_rules! direction_settings {
    ({} $($(#[$doc:meta])* $setting:ident: $type:ty,)*) => {
        impl DirectionSpec {
            /// These settings, with `common` where they are silent.
            pub fn or(&self, common: &DirectionSpec) -> DirectionSpec {
                let (own, common) = (self.clone(), common.clone());
                DirectionSpec { $($setting: own.$setting.or(common.$setting),)* }
            }

            /// Names of the settings that are given here.
            pub(crate) fn given(&self) -> impl Iterator<Item = &'static str> {
                [$((stringify!($setting), self.$setting.is_some()),)*]
                    .into_iter()
                    .filter_map(|(name, given)| given.then_some(name))
            }
        }
    };
}

with_link_settings! { direction_settings! {} }

/// What a router does with packets that the next link does not carry, since they are longer than its `mtu`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TooBig {
    /// It sends ICMP to their sender, with the MTU of the link (RFC 1191, RFC 4443); IPv4 packets that may be fragmented are.
    #[default]
    Reported,
    /// It drops them without a word: a black hole for path MTU discovery.
    Dropped,
}

impl DirectionSpec {
    /// The longest packet in bytes, and what becomes of longer ones.
    pub(crate) fn longest(&self) -> Option<(u16, TooBig)> {
        let bytes = u16::try_from(self.mtu?.as_bytes()).unwrap_or(u16::MAX);
        Some((bytes, self.too_big.unwrap_or_default()))
    }

    /// True if a setting is given here.
    pub(crate) fn gives(&self, setting: &str) -> bool {
        self.given().any(|given| given == setting)
    }

    /// What gives the rate over time in the place of `rate`, if anything does.
    pub(crate) fn moving_rate(&self) -> Option<&'static str> {
        let measured = self.trace.as_ref().is_some_and(|trace| trace.rate.is_some());
        self.acm.is_some().then_some("acm").or(measured.then_some("trace.rate"))
    }

    /// The queue of a link that has none given.
    pub(crate) fn default_queue() -> QueueSpec {
        QueueSpec::droptail(Limit::Packets(1000))
    }

    /// The link that these settings describe in a run; `None` if rate or delay is missing. Random times come from the streams that
    /// `stream` names for a setting; what wanders has those of the link and the direction.
    fn config(
        &self,
        run: &RunSpec,
        carriers: &[CarrierSpec],
        stream: impl Fn(&str) -> String,
        [link, direction]: [&str; 2],
    ) -> Option<LinkConfig> {
        let changes = self.changes.as_deref().unwrap_or_default();
        let changes = script::changes(changes, run.duration, run.seed, &stream("changes"));
        let outages = self.outages.as_deref().unwrap_or_default();
        let mut outages = script::outages(outages, run.duration, run.seed, &stream("outages"));
        let mut trace = self.trace.as_ref().map(LinkTraceSpec::build).unwrap_or_default();
        if let Some(course) = self.leo.as_ref().and_then(|leo| leo.course.as_ref()) {
            trace.delay = course.delay.clone();
            outages.extend_from_slice(&course.outages);
        }
        if let Some(acm) = &self.acm {
            let signal = self.trace.as_ref().and_then(LinkTraceSpec::signal);
            let adapted = acm.adapted(run.duration, signal.as_ref(), run.seed, &stream("acm"));
            trace.rate = Some(TracedRate::Steps(adapted.rate));
            outages.extend(adapted.outages);
        }
        let wander = self.wander.as_deref().unwrap_or_default();
        if let Some(rate) = self.rate {
            let random = |table| Random::stream(run.seed, &format!("{link}.{direction} wander rate {table}"));
            let holds: Vec<_> = (outages.iter().filter(|outage| outage.mode == OutageMode::Hold))
                .map(|outage| (outage.start, outage.start + outage.duration))
                .collect();
            let found = wandering_rate(wander, rate, run.duration, random);
            trace.rate = trace.rate.or(found.map(|rate| TracedRate::Steps(stopped(&rate, &holds))));
        }
        if let Some(delay) = self.delay {
            let random = |table| Random::stream(run.seed, &format!("{link} wander delay {table}"));
            trace.delay = trace.delay.or(wandering_delay(wander, delay, run.duration, random));
        }
        let carrier = self.carrier.clone().and_then(|terminal| {
            let carrier = carriers.iter().find(|carrier| carrier.name == terminal.name)?;
            Some(Membership { carrier: Arc::new(carrier.clone()), terminal })
        });
        let shared = carrier.as_ref().map(|place| place.terminal.most(&place.carrier));
        let rate = self.rate.or(shared).or_else(|| Some(trace.rate.as_ref()?.mean()))?;
        Some(LinkConfig {
            rate: self.serial.map_or(rate, |serial| serial.data_rate(rate)),
            delay: match self.delay {
                Some(delay) => least_delay(wander, delay),
                None => measured::least_delay(&trace)?,
            },
            queue: self.queue.unwrap_or_else(DirectionSpec::default_queue),
            loss: self.loss,
            changes: match self.serial {
                Some(serial) => serial.data_changes(&changes),
                None => changes,
            },
            outages,
            trace,
            jitter: self.jitter.clone(),
            reordering: self.reordering,
            slots: self.slots.clone(),
            duplication: self.duplication.unwrap_or_default(),
            corruption: self.corruption,
            serial: self.serial,
            overhead: self.overhead,
            grants: self.grants(),
            carrier,
            arq: self.arq,
            half_duplex: None,
        })
    }
}

macro_rules! grant_settings {
    ({} $($(#[$doc:meta])* $key:ident: $parameters:ty,)*) => {
        impl DirectionSpec {
            /// What grants the link its capacity.
            pub(crate) fn grants(&self) -> GrantSettings {
                GrantSettings { $($key: self.$key,)* }
            }
        }
    };
}

longhaul_path::with_grants! { grant_settings! { {} } }

/// Both directions of a link: what is common, and what differs.
macro_rules! with_directions {
    ($(#[$doc:meta])* $name:ident { $($(#[$field_doc:meta])* $field:ident: $type:ty),* $(,)? }
     $(#[$forward_doc:meta])* $forward:ident, $(#[$reverse_doc:meta])* $reverse:ident) => {
        with_link_settings! {
            settings_table! {
                $(#[$doc])*
                $name { $($(#[$field_doc])* pub $field: $type,)* } {
                    $(#[$forward_doc])*
                    #[serde(default, skip_serializing_if = "Option::is_none")]
                    pub $forward: Option<DirectionSpec>,
                    $(#[$reverse_doc])*
                    #[serde(default, skip_serializing_if = "Option::is_none")]
                    pub $reverse: Option<DirectionSpec>,
                }
            }
        }

        impl $name {
            /// The settings in force: forward or `from` side first, reverse or `to` side second.
            pub fn directions(&self) -> [DirectionSpec; 2] {
                let common = self.common();
                [&self.$forward, &self.$reverse]
                    .map(|own| own.as_ref().map_or_else(|| common.clone(), |own| own.or(&common)))
            }

            /// The links of this name in a run. What is given for both happens to both at the same times.
            pub(crate) fn configs(
                &self,
                name: &str,
                run: &RunSpec,
                carriers: &[CarrierSpec],
            ) -> [Option<LinkConfig>; 2] {
                let own = [&self.$forward, &self.$reverse];
                let names = [stringify!($forward), stringify!($reverse)];
                let directions = self.directions();
                [0, 1].map(|side| {
                    let stream = |setting: &str| match own[side] {
                        Some(own) if own.gives(setting) => format!("{name}.{} {setting}", names[side]),
                        _ => format!("{name} {setting}"),
                    };
                    directions[side].config(run, carriers, stream, [name, names[side]])
                })
            }
        }
    };
}

with_directions! {
    /// A link between two nodes; duplex, each direction with its own queue.
    LinkSpec {
        /// The link's name: letters, digits, `-` and `_`.
        name: String,
        /// Names of the two nodes. Forward is from the first to the second.
        ends: [String; 2],
        /// A real network whose rates, delays, losses and queue the link has where none are given; a text is its name.
        /// The terminal is the second node, unless `terminal` names the first. The resolved scenario has the settings in its place.
        #[serde(default, skip_serializing, deserialize_with = "crate::profiles::given")]
        #[schemars(schema_with = "crate::profiles::given_schema")]
        profile: Option<ProfileSpec>,
        /// Both directions share one transmitter: they send in turns where both have packets.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        half_duplex: Option<HalfDuplexSpec>,
    }
    /// What differs from the first node to the second.
    forward,
    /// What differs from the second node to the first.
    reverse
}

with_directions! {
    /// The link between the routers of a dumbbell, from `left` to `right`.
    BottleneckSpec {
        /// A real network whose rates, delays, losses and queue the link has where none are given; a text is its name. The terminal
        /// is `right`, unless `terminal` is `left`. The resolved scenario has the settings in its place.
        #[serde(default, skip_serializing, deserialize_with = "crate::profiles::given")]
        #[schemars(schema_with = "crate::profiles::given_schema")]
        profile: Option<ProfileSpec>,
        /// Both directions share one transmitter: they send in turns where both have packets.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        half_duplex: Option<HalfDuplexSpec>,
    }
    /// What differs from left to right.
    forward,
    /// What differs from right to left.
    reverse
}

with_directions! {
    /// Private links that join one host for each flow to the network, at both sides.
    AccessSpec {}
    /// What differs for the links of the sending side, both directions.
    from,
    /// What differs for the links of the receiving side, both directions.
    to
}

/// Two routers with one bottleneck between them.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DumbbellSpec {
    /// The link between the routers.
    pub bottleneck: BottleneckSpec,
    /// Access links of flows that give none of their own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub access: Option<AccessSpec>,
}

impl DumbbellSpec {
    /// The router where senders are.
    pub const LEFT: &'static str = "left";
    /// The router where receivers are.
    pub const RIGHT: &'static str = "right";
    /// The link between them.
    pub const LINK: &'static str = "bottleneck";
}
