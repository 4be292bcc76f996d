//! The result directory: what a run writes, whatever world it ran in.
//!
//! `scenario.toml` (resolved), `summary.json` (written last: a directory without it is no result), the time series
//! `flows.parquet`, `links.parquet`, `events.parquet`, with monitors `monitors.parquet`, with middleboxes `middleboxes.parquet` and `long_hops.parquet`, and on request `cc.parquet`, `segments.parquet` and `packets.pcapng`.
//!
//! Worlds fill in what they have counted ([`RunFacts`]); [`summarise`] makes metrics, groups, warnings and predictions of it.

mod context;
mod definitions;
mod directory;
mod events;
mod facts;
mod flows;
mod links;
mod metrics;
mod middleboxes;
mod opinion;
mod path_use;
mod predictions;
mod summarise;
mod summary;
mod tables;
mod warnings;

pub use definitions::{DEFINITIONS, metric};
pub use directory::{ResultFiles, WriteError, WriteTable};
pub use events::{ListedDrops, drop_kind};
pub use facts::{AppFacts, Arrived, FlowFacts, FlowFailure, ReductionTimes, RunFacts, SenderFacts, WholeRun};
pub use links::{LinkFacts, LinkSnapshot, Offered};
pub use metrics::{Definition, Metric};
pub use middleboxes::{LongHopFacts, MiddleboxFacts, MiddleboxWatch};
pub use path_use::{LinkUse, PathUse, PathUseSummary, Shares};
pub use summarise::summarise;
pub use summary::{
    Emulation, FlowSummary, GroupSummary, LinkSummary, LongHopSummary, Metrics, MiddleboxSummary,
    MonitoredFlow, NodeSummary, Summary, Warning, WaySummary, Work,
};
pub use tables::{
    CcRow, EventRow, FlowRow, LinkRow, LongHopRow, MiddleboxRow, MonitorRow, SegmentKind, SegmentRow, Table,
    Tables, Values,
};
pub use warnings::OF_SETTINGS;
