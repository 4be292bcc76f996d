//! The document's tables for flows: where, when, what.

use crate::{AccessSpec, Count, Draw, FlowInstance, TcpSpec, TimesSpec, Volume};
use longhaul_path::Random;
use longhaul_traffic::{Format, Trace, VideoModel};
use longhaul_units::{Duration, Rate, Size};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// One flow, or `count` flows of the same kind.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FlowSpec {
    /// Name of the flow or group: letters, digits, `-` and `_`. A group's members are `name[0]`, `name[1]`, ...
    #[serde(default = "flow_name")]
    pub name: String,
    /// How many such flows, 1 to 1,000,000.
    #[serde(default = "one")]
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
    pub duration: Option<Duration>,
    /// What becomes of the connection when the application stops.
    #[serde(default, skip_serializing_if = "is_default")]
    pub ending: Ending,
    /// Parallel connections that each flow's transfer is split over; they start together and share its hosts. Results
    /// are for each connection, `name.stream[2]`, and for the group.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub streams: u32,
    /// Its share in queues that serve flows by weight (`drr`, `wfq`), 1 to 255.
    #[serde(default = "unit_weight", skip_serializing_if = "is_unit_weight")]
    pub weight: u8,
    /// Each transmission of the sending host is delayed by a random time, uniform between zero and this: breaks the
    /// phase effects of deterministic traffic (ns-2's `overhead_`).
    #[serde(default, skip_serializing_if = "is_zero")]
    pub send_overhead: Duration,
    /// Record every segment at the sender, for time-sequence graphs.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub trace: bool,
    /// What the application does.
    #[serde(default)]
    pub app: AppSpec,
    /// The connection's settings, at both ends.
    #[serde(default)]
    pub tcp: TcpSpec,
}

impl FlowSpec {
    /// Bytes that one of its flows sends in a run with `seed`: of a transfer of given size, split over streams, its part;
    /// `None` for whatever has no given size.
    pub fn transfer_bytes(&self, flow: &FlowInstance, seed: u64) -> Option<u64> {
        let AppSpec::Bulk { size: Some(size) } = &self.app else { return None };
        let mut random = Random::stream(seed, &format!("{} size", flow.transfer_name()));
        let all = size.next(&mut random).bytes(self.tcp.mss);
        let streams = u64::from(self.streams);
        // The first streams take one more where bytes cannot be divided.
        Some(all / streams + u64::from(u64::from(flow.stream) < all % streams))
    }
}

fn unit_weight() -> u8 {
    1
}
fn is_unit_weight(weight: &u8) -> bool {
    *weight == 1
}

/// How a connection ends whose application stops before all data is delivered.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// What was sent is delivered, then the connection closes.
    #[default]
    Close,
    /// The connection is reset at once (RFC 9293 section 3.10.5, ABORT): what is on its way may be lost.
    Reset,
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

/// What an application does.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum AppSpec {
    /// Sends as fast as the connection allows.
    Bulk {
        /// What is to be sent, then the connection closes; without it there is always more.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        size: Option<Draw<Volume>>,
    },
    /// Writes messages at a constant rate.
    Cbr {
        /// Mean rate of the application's data.
        rate: Rate,
        /// Bytes written at a time.
        #[serde(default = "one_kilobyte")]
        message: Size,
    },
    /// Bursts at a constant rate with silence between them, beginning with a silence. As in ns-2 a burst is a whole number of
    /// messages, at least one.
    OnOff {
        /// Rate of the application's data within a burst.
        rate: Rate,
        /// Bytes written at a time.
        #[serde(default = "one_kilobyte")]
        message: Size,
        /// Length of a burst.
        on: Draw<Duration>,
        /// Length of a silence.
        off: Draw<Duration>,
    },
    /// A person who reads pages: each page is a number of objects, each fetched by the active side from the passive side over a
    /// connection; then time to read it.
    Web {
        /// Number of pages; without it there is no end.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pages: Option<u64>,
        /// Time from the end of a page to the beginning of the next.
        think: Draw<Duration>,
        /// The page's text, which lists the objects: they are asked for once it has come. Without it all are known at once.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        document: Option<Draw<Volume>>,
        /// Objects on a page, without its document.
        objects: Draw<Count>,
        /// Time between the requests for two objects of a page.
        #[serde(default = "at_once")]
        spacing: Draw<Duration>,
        /// Size of an object: `"packets"` are full-sized segments.
        object: Draw<Volume>,
        /// Bytes of a request.
        #[serde(default = "small_request")]
        request: Size,
        /// Most connections at a time, 1 to 1000; what has to wait is asked for as soon as one is free.
        #[serde(default = "six")]
        parallel: u32,
        /// Connections stay open and fetch one object after the other (HTTP/1.1); without it each object has its own (HTTP/1.0).
        #[serde(default)]
        persistent: bool,
    },
    /// The active side asks, the passive side answers, again and again on one connection.
    Request {
        /// Bytes of a request.
        #[serde(default = "small_request")]
        request: Size,
        /// Bytes of an answer.
        response: Size,
        /// Time between an answer's end and the next request.
        #[serde(default)]
        think: Duration,
        /// Number of requests, then the connection closes; without it there is no end.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        requests: Option<u64>,
    },
    /// A person who types: the active side sends keystrokes, whether or not the ones before have been echoed, and the passive side
    /// echoes each of them. The time from a keystroke to its echo is measured. Remote shells turn Nagle's algorithm
    /// off: set `tcp.nagle = false`, or keystrokes wait for the echo of those before.
    Keystrokes {
        /// Time between two keystrokes; the mean of 238 ms is that of 136 million keystrokes (Dhakal et al., CHI 2018).
        #[serde(default = "typing")]
        gap: Draw<Duration>,
        /// Bytes of a keystroke.
        #[serde(default = "one_byte")]
        keystroke: Size,
        /// Bytes of an echo.
        #[serde(default = "one_byte")]
        echo: Size,
        /// Number of keystrokes, then the connection closes; without it there is no end.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        count: Option<u64>,
    },
    /// Writes messages of random sizes at random times: for instance the requests that arrive at a server.
    Messages {
        /// Time between two messages, and before the first.
        gap: Draw<Duration>,
        /// Bytes of a message: `"packets"` are full-sized segments.
        size: Draw<Volume>,
        /// Each message is filled up to whole segments, as with ns-2's one-way TCP.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        whole_packets: bool,
    },
    /// Plays a trace of gaps and sizes again and again, as ns-2's `Application/Traffic/Trace` does: a film, or the requests that a
    /// server has seen.
    Trace(TraceSpec),
    /// A synthetic film: frames of random sizes at a constant frame rate, from a random frame on.
    Video(VideoModel),
}

/// A trace that is played.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TraceSpec {
    /// The trace's file; a relative path begins at the scenario file.
    pub file: String,
    /// Its format; by its name `.csv`, `.parquet`, `.log` and `access_log` (a web server's access log), and ns-2's
    /// binary format for all others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<Format>,
    /// Where a flow begins.
    #[serde(default)]
    pub begin: TraceBegin,
    /// Each write is filled up to whole segments, as with ns-2's one-way TCP.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub whole_packets: bool,
    /// The trace's digest, which is written into the resolved scenario: with it, another trace in the file is refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// What is in the file, once it was read.
    #[serde(skip)]
    pub content: Option<Arc<Trace>>,
}

/// The record of a trace that a flow begins with.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TraceBegin {
    /// A random one, so that flows differ.
    #[default]
    Random,
    /// The first of the file.
    First,
}

impl AppSpec {
    /// Pairs of endpoints that one flow takes: those of the web are used again and again, and twice as many as may be busy, so
    /// that connections that are closing do not keep others waiting.
    pub fn connections(&self) -> usize {
        match self {
            AppSpec::Web { parallel, .. } => 2 * *parallel as usize,
            _ => 1,
        }
    }
}

impl Default for AppSpec {
    fn default() -> Self {
        AppSpec::Bulk { size: None }
    }
}

fn typing() -> Draw<Duration> {
    Draw::Exponential(Duration::from_millis(238))
}
fn one_byte() -> Size {
    Size::from_bytes(1)
}
fn one_kilobyte() -> Size {
    Size::from_bytes(1000)
}
fn at_once() -> Draw<Duration> {
    Draw::Constant(Duration::ZERO)
}
fn six() -> u32 {
    6
}
fn small_request() -> Size {
    Size::from_bytes(300)
}
