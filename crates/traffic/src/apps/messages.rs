//! Messages of random sizes at random times.

use crate::app::filled;
use crate::{Application, Base, Draw, End, Parameters, Setup, Streams, Timing, Volume};
use longhaul_units::{Duration, Instant, Limit, Random, Size};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// See [`AppSpec::Messages`](crate::AppSpec::Messages).
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Messages {
    /// Time between two messages, and before the first.
    #[schemars(extend("x-exclusiveMinimum" = "0 s"))]
    pub gap: Draw<Duration>,
    /// Bytes of a message: `"packets"` are full-sized segments.
    pub size: Draw<Volume>,
    /// Each message is filled up to whole segments, as with ns-2's one-way TCP.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub whole_packets: bool,
}

impl Parameters for Messages {
    fn build(&self, setup: &Setup<'_>) -> Box<dyn Application> {
        Box::new(Writer {
            parameters: self.clone(),
            random: setup.random("messages"),
            mss: setup.mss,
            started: false,
            next: setup.start,
        })
    }
    fn check(&self) -> Vec<(&'static str, &'static str)> {
        if self.size.is_zero() { vec![("size", "a message has at least 1 B")] } else { vec![] }
    }
    fn only_writes(&self) -> bool {
        true
    }
    fn datagram(&self) -> Option<Size> {
        match self.size {
            Draw::Constant(Volume(Limit::Bytes(size))) if !self.whole_packets => Some(size),
            _ => None,
        }
    }
    fn timing(&self) -> Timing {
        Timing::Client
    }
}

struct Writer {
    parameters: Messages,
    random: Random,
    mss: Size,
    started: bool,
    next: Instant,
}

impl Application for Writer {
    /// Writes a message, but for the first time, and waits for the next one.
    fn act(&mut self, _now: Instant, base: &mut Base, streams: &mut dyn Streams) {
        let Messages { gap, size, whole_packets } = &self.parameters;
        if std::mem::replace(&mut self.started, true) {
            let bytes = size.next(&mut self.random).bytes(self.mss);
            streams.end(End::CLIENT).write(filled(bytes, *whole_packets, self.mss));
        }
        self.next += gap.next(&mut self.random);
        base.wake_at(self.next);
    }
}
