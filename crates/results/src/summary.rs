//! `summary.json`: one number per metric and object.

use crate::{Metric, PathUseSummary};
use longhaul_units::{DeclaredId, FlowId};
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

/// Metrics of one object in a fixed order; a value that does not exist is `null`.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Metrics(Vec<(&'static str, Option<f64>)>);

impl Metrics {
    /// Adds a metric. Infinite values and NaN are stored as missing.
    pub fn set(&mut self, metric: Metric, value: impl Into<Option<f64>>) {
        self.0.push((metric.name(), value.into().filter(|value| value.is_finite())));
    }
    /// Names and values of the metrics that have one, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, f64)> + '_ {
        self.0.iter().filter_map(|(name, value)| Some((*name, (*value)?)))
    }
    /// The value of a metric, if there is one.
    pub fn get(&self, name: impl AsRef<str>) -> Option<f64> {
        let name = name.as_ref();
        self.0.iter().find(|(known, _)| *known == name).and_then(|(_, value)| *value)
    }
}

impl Serialize for Metrics {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, value) in &self.0 {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

/// Everything that a run found out, in numbers.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Summary {
    /// Version of the software.
    pub longhaul: &'static str,
    /// Identity: hash of the resolved scenario, seed and version.
    pub run_id: String,
    /// The scenario's name.
    pub name: String,
    /// The scenario's description.
    pub description: String,
    /// Seed of the random streams.
    pub seed: u64,
    /// Length of the run in seconds.
    pub duration_s: f64,
    /// Time left out at the beginning, in seconds.
    pub warmup_s: f64,
    /// Time that metrics are about, in seconds.
    pub measured_s: f64,
    /// Metrics of the run as a whole.
    pub run: Metrics,
    /// Links of the scenario file, one entry for each direction.
    pub links: Vec<LinkSummary>,
    /// Groups of flows.
    pub groups: Vec<GroupSummary>,
    /// Flows.
    pub flows: Vec<FlowSummary>,
    /// Middleboxes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub middleboxes: Vec<MiddleboxSummary>,
    /// Nodes of the scenario file.
    pub nodes: Vec<NodeSummary>,
    /// Warnings that qualify the numbers.
    pub warnings: Vec<Warning>,
    /// How much was computed.
    pub work: Work,
    /// How well it was emulated, if real packets were moved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub emulation: Option<Emulation>,
    /// Unit, title and definition of every metric that the run may have.
    #[serde(serialize_with = "as_map", skip_serializing_if = "Vec::is_empty")]
    pub definitions: Vec<crate::Definition>,
}

/// The definitions of metrics alone.
#[derive(Serialize)]
struct Definitions(#[serde(serialize_with = "as_map")] Vec<crate::Definition>);

impl Summary {
    /// The summary without its definitions, and these, each as compact JSON: runs of one scenario have the definitions in common.
    pub fn in_two_parts(mut self) -> (String, String) {
        let definitions = Definitions(std::mem::take(&mut self.definitions));
        let json = "a summary is representable in JSON";
        (serde_json::to_string(&self).expect(json), serde_json::to_string(&definitions).expect(json))
    }
}

fn as_map<S: Serializer>(definitions: &[crate::Definition], serializer: S) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(Some(definitions.len()))?;
    for definition in definitions {
        map.serialize_entry(definition.name, definition)?;
    }
    map.end()
}

/// One direction of a link.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct LinkSummary {
    /// `bottleneck.forward`.
    pub name: String,
    /// Node at its beginning.
    pub from: String,
    /// Node at its end.
    pub to: String,
    /// Rate at the start of the run in bit/s.
    pub rate_bps: f64,
    /// Propagation delay at the start of the run in seconds.
    pub delay_s: f64,
    /// Queue discipline and limit, as text.
    pub queue: String,
    /// Flows whose packets (data or ACKs) cross it.
    pub flows: usize,
    /// Flows whose data cross it: the mean number that are active at a time while measured, at least 1.
    pub active_flows: f64,
    /// Its metrics.
    pub metrics: Metrics,
    /// Its counts with those of the warm-up, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub whole_run: Option<Metrics>,
    /// What each flow offered to it, where `run.monitor` requests that.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub monitor: Vec<MonitoredFlow>,
}

/// A flow at the entrance of a link.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct MonitoredFlow {
    /// Number of the flow.
    pub flow: FlowId,
    /// What was counted there.
    pub metrics: Metrics,
}

/// One `[[flow]]` table.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct GroupSummary {
    /// Its name.
    pub name: String,
    /// Number of flows.
    pub count: usize,
    /// Its metrics.
    pub metrics: Metrics,
}

/// One flow.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct FlowSummary {
    /// Number, from 0.
    pub id: FlowId,
    /// Its name.
    pub name: String,
    /// Name of its group.
    pub group: String,
    /// Host of the active opener.
    pub from: String,
    /// Host of the passive opener.
    pub to: String,
    /// Application.
    pub app: &'static str,
    /// Loss recovery variant.
    pub variant: &'static str,
    /// Congestion control.
    pub congestion: &'static str,
    /// Slow start.
    pub slow_start: &'static str,
    /// Payload of a full segment without options, in bytes.
    pub mss_bytes: u64,
    /// Start in seconds.
    pub start_s: f64,
    /// Links that its data cross, by their position in the list of links.
    pub data_path: Vec<DeclaredId>,
    /// Links that its ACKs cross.
    pub ack_path: Vec<DeclaredId>,
    /// The least rate of its private access links in bit/s, if it has any.
    pub access_rate_bps: Option<f64>,
    /// Round trip time without queues, for a full segment and its ACK, in seconds.
    pub base_rtt_s: f64,
    /// All of its ways, if they change: the first is that of the start of the run. `data_path`, `ack_path` and `base_rtt_s` are of the
    /// one that it had when it became active and measured.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ways: Vec<WaySummary>,
    /// State of the sender's connection at the end.
    pub state: String,
    /// Its metrics.
    pub metrics: Metrics,
    /// Its counts with those of the warm-up, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub whole_run: Option<Metrics>,
    /// Shares of the active measured time, by what limited the sender; they add up to 1.
    #[serde(serialize_with = "shares")]
    pub limited: Vec<(&'static str, f64)>,
    /// How far its path was in use, and what limited the sender when it was not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path_use: Option<PathUseSummary>,
    /// What formulas predict.
    pub predicted: Metrics,
}

fn shares<S: Serializer>(shares: &[(&'static str, f64)], serializer: S) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(Some(shares.len()))?;
    for (name, share) in shares {
        map.serialize_entry(name, share)?;
    }
    map.end()
}

/// One of several ways of a flow.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct WaySummary {
    /// Links that its data cross, by their position in the list of links.
    pub data_path: Vec<DeclaredId>,
    /// Links that its ACKs cross.
    pub ack_path: Vec<DeclaredId>,
    /// Round trip time without queues, for a full segment and its ACK, in seconds.
    pub base_rtt_s: f64,
    /// Share of the flow's active measured time in which it had this way.
    pub share: f64,
}

/// One middlebox.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct MiddleboxSummary {
    /// Its name.
    pub name: String,
    /// Its kind.
    pub kind: &'static str,
    /// Names of the nodes where it stands: one or two.
    pub at: Vec<String>,
    /// Flows that it acts on.
    pub flows: usize,
    /// Its metrics.
    pub metrics: Metrics,
    /// Its connections between its two nodes, those ends that have sent data.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub long_hop: Vec<LongHopSummary>,
}

/// One end of a connection over a long hop.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct LongHopSummary {
    /// Which of the middlebox's connections, from 0.
    pub connection: usize,
    /// Node that sends.
    pub from: String,
    /// Node that receives.
    pub to: String,
    /// Its metrics.
    pub metrics: Metrics,
}

/// How well an emulation was done.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Emulation {
    /// Version of the kernel whose TCP it was.
    pub kernel: String,
    /// Packets were moved with real-time priority.
    pub real_time: bool,
    /// Why the run is not to be believed; nothing if it is.
    pub invalid: Vec<String>,
    /// Its metrics.
    pub metrics: Metrics,
}

/// A node.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct NodeSummary {
    /// Its name.
    pub name: String,
}

/// Something that qualifies the numbers.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Warning {
    /// A short constant name.
    pub code: &'static str,
    /// What it is about.
    pub object: String,
    /// The warning.
    pub message: String,
}

/// How much was computed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Work {
    /// Segments with payload that reached a host, over the whole run.
    pub data_packets_delivered: u64,
}
