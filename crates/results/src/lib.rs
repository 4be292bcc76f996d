//! The result directory: what a run writes, whatever world it ran in.
//!
//! `scenario.toml` (resolved), `summary.json` (written last: a directory without it is no result), the time series
//! `flows.parquet`, `links.parquet`, `events.parquet`, with monitors `monitors.parquet`, with middleboxes `middleboxes.parquet` and `long_hops.parquet`, and on request `segments.parquet` and `packets.pcapng`.

mod definitions;
mod directory;
mod links;
pub mod pcapng;
mod summary;
mod tables;

pub use definitions::{DEFINITIONS, Definition};
pub use directory::{ResultFiles, WriteError, WriteTable};
pub use links::{LinkSnapshot, flow_utilisation, jain_index, link_metrics, ratio};
pub use summary::{
    Emulation, FlowSummary, GroupSummary, LinkSummary, LongHopSummary, Metrics, MiddleboxSummary,
    MonitoredFlow, NodeSummary, Summary, Warning, Work,
};
pub use tables::{
    EventRow, FlowRow, LinkRow, LongHopRow, MiddleboxRow, MonitorRow, SegmentKind, SegmentRow, Table, Tables,
    Values,
};
