//! A trace that is played, as ns-2's `Application/Traffic/Trace`.

use crate::app::filled;
use crate::{Application, Base, End, Format, Parameters, Setup, Streams, Timing, Trace};
use longhaul_units::{Instant, Size};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

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

impl Parameters for TraceSpec {
    fn build(&self, setup: &Setup<'_>) -> Box<dyn Application> {
        let first = |trace: &Trace| match self.begin {
            TraceBegin::First => 0,
            TraceBegin::Random => trace.draw_first(&mut setup.random("first record")),
        };
        let playback = self.content.clone().map(|trace| (first(&trace), trace));
        let (whole, mss) = (self.whole_packets, setup.mss);
        Box::new(Player { playback, whole, mss, started: false, played: 0, next: setup.start })
    }
    fn only_writes(&self) -> bool {
        true
    }
    fn timing(&self) -> Timing {
        Timing::Client
    }
}

struct Player {
    /// The record to begin with, and the trace, where it was read.
    playback: Option<(usize, Arc<Trace>)>,
    whole: bool,
    mss: Size,
    started: bool,
    /// Records played so far.
    played: u64,
    next: Instant,
}

impl Application for Player {
    /// Writes the next record, but for the first time, and waits for the time in the record after it.
    fn act(&mut self, _now: Instant, base: &mut Base, streams: &mut dyn Streams) {
        let Some((first, trace)) = &self.playback else { return base.wake_at(Instant::FAR_FUTURE) };
        if std::mem::replace(&mut self.started, true) {
            let bytes = trace.record(*first, self.played).bytes;
            self.played += 1;
            streams.end(End::CLIENT).write(filled(bytes, self.whole, self.mss));
        }
        self.next += trace.record(*first, self.played).gap;
        base.wake_at(self.next);
    }
}
