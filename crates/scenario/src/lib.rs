//! Scenario files: one TOML document that describes a network, its traffic and what to measure.
//!
//! [`load`] reads a file strictly, and [`Network::new`] expands its shorthands into nodes, directed links and
//! single flows. Worlds (the simulator, the emulator) start from there.

mod at_work;
mod careful_resume;
mod error;
mod inherit;
mod linux;
mod load;
mod meant;
mod measured;
pub mod middlebox;
mod network;
mod profiles;
mod quic;
mod routes;
mod satellites;
mod script;
mod shorthand;
mod spec;
mod tcp;
mod tcp_changes;
mod times;
mod traces;
mod traffic;
mod udp;
mod validate;

pub use at_work::LinkSetting;
pub use careful_resume::CarefulResumeSpec;
pub use error::ScenarioError;
pub use load::{
    load, load_or_all_errors, load_with, resolved_json, resolved_toml, resolved_tomls, run_id, run_ids,
    schema_json,
};
pub use longhaul_traffic::{AppSpec, Draw, Ending, NumberTable, TraceBegin, TraceSpec, Volume};
pub use measured::{
    LinkTraceSpec, Measured, MeasuredFormat, MeasuredSpec, OpportunitiesSpec, read_measurement, read_outcomes,
};
pub use middlebox::{
    AckCompactionSpec, AckFilterSpec, AckRatioSpec, Between, CarrierSpec, CodingSpec, Common,
    CompactionFormSpec, ConnectionsSpec, ErasureSpec, FramingSpec, GuardSpec, HopSpec, LocalQueueSpec,
    LocalRecoverySpec, LongSpec, MiddleboxSpec, MssClampSpec, PacedSpec, PrematureAckSpec, ShareSpec,
    SnoopSpec, SpacingSpec, SplitSpec, ThrottleSpec, TowardsSpec, TransportOfHop, WatermarkSpec,
};
pub use network::{DirectedLink, Epoch, FlowInstance, MiddleboxInstance, Network, Step, Way};
pub use profiles::{Profile, ProfileSpec, all as profiles};
pub use quic::{HandshakeSpec, QuicCongestion, QuicSpec, QuinnCongestion, TimeLimit, Transport};
pub use routes::{HostRoutes, InFlight, MovedWays, Moves, RouteChange, RouteSpec, RouteWay, Routed};
pub use satellites::count_satellites;
pub use script::{ChangeSpec, OutageSpec};
pub use spec::{
    AccessSpec, BottleneckSpec, DirectionSpec, DumbbellSpec, LinkSpec, NodeSpec, RunSpec, Scenario, Ties,
    TooBig,
};
pub use tcp::{
    AutotuningSpec, BufferSpec, DelayedAck, EcnSpec, InitialWindowSpec, KeepaliveSpec, RateReduction,
    RtoSpec, SocketBuffer, SpuriousDetectionSpec, TcpSpec, Variant,
};
pub use tcp_changes::TcpChanges;
pub use times::TimesSpec;
pub use traces::ReadTable;
pub use traffic::FlowSpec;
pub use udp::UdpSpec;

/// Version of the software, part of a run's identity.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
