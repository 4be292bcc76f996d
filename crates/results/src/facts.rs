//! What a world has counted at the end of a run, as plain values. Worlds fill these in and compute nothing: [`crate::summarise`] alone
//! makes metrics, groups, warnings and predictions of them, the same way whatever the world was.
//!
//! Counters and times are those of the measured time (after the warm-up), smallest and largest values of the whole run.

use crate::{LinkFacts, MiddleboxFacts, PathUse, Warning};
use longhaul_scenario::{Network, Scenario};
use longhaul_tcp::{LimitedTime, Stats};
use longhaul_traffic::{Qoe, Reception};
use longhaul_units::{DeclaredId, Duration, FlowId, Histogram, IdVec, Instant, MiddleboxId, counters};

/// A run.
pub struct RunFacts<'a> {
    /// What was run.
    pub scenario: &'a Scenario,
    /// What it was expanded to.
    pub network: &'a Network,
    /// When it ended.
    pub end: Instant,
    /// One for each of the network's flows, in order.
    pub flows: IdVec<FlowId, FlowFacts>,
    /// One for each of the network's links that the scenario declares, in order.
    pub links: IdVec<DeclaredId, LinkFacts>,
    /// One for each of the network's middleboxes, in order.
    pub middleboxes: IdVec<MiddleboxId, MiddleboxFacts>,
    /// Data packets that reached a host, over the whole run.
    pub data_packets_delivered: u64,
    /// Single drops are missing in the list of events.
    pub drops_left_out: bool,
    /// What the world itself has to warn of; it comes first.
    pub warnings: Vec<Warning>,
}

/// A flow.
pub struct FlowFacts {
    /// What its application did.
    pub app: AppFacts,
    /// Its data go from the passive opener to the active one.
    pub server_sends: bool,
    /// What its endpoints are, if not those of this project: it stands for variant and slow start.
    pub stack: Option<&'static str>,
    /// State of the sender's connection at the end.
    pub state: String,
    /// How it stands if it did not do what the scenario states.
    pub failure: Option<FlowFailure>,
    /// Counters of its sender.
    pub sender: SenderFacts,
    /// Payload bytes delivered in order.
    pub delivered: u64,
    /// Data packets at the receiver's host.
    pub arrived: Arrived,
    /// Data packets dropped anywhere.
    pub lost: u64,
    /// Data packets that middleboxes have sent for it.
    pub made: u64,
    /// The same counters with those of the warm-up, where they are kept.
    pub whole_run: Option<WholeRun>,
    /// How long each limit kept its sender from sending.
    pub limited: LimitedTime,
    /// How far its path was in use, and what limited its sender when it was not; `None` where links and limits are not compared.
    pub path_use: Option<PathUse>,
    /// Sum of the samples of the congestion window in bytes, and how many there were.
    pub cwnd: (f64, u64),
    /// The largest goodput of one interval in bit/s, where it is measured.
    pub goodput_max_bps: Option<f64>,
    /// When its window was reduced for the first and for the last time.
    pub reductions: ReductionTimes,
    /// It begins with probes.
    pub probes: bool,
    /// Connections that never opened since their probes failed.
    pub failed_starts: u64,
    /// What its receiver has measured of datagrams, if it is a flow over UDP.
    pub datagrams: Option<Reception>,
}

/// What a flow has counted from its start on.
pub struct WholeRun {
    /// Counters of its sender.
    pub sender: SenderFacts,
    /// Payload bytes delivered in order.
    pub delivered: u64,
    /// Data packets at the receiver's host.
    pub arrived: Arrived,
    /// Data packets dropped anywhere.
    pub lost: u64,
}

/// Why a flow did not do what the scenario states.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FlowFailure {
    /// Its connection was given up after too many retransmissions without an answer.
    GaveUp,
    /// Something else, of which the world warns.
    Other,
}

/// An application.
pub struct AppFacts {
    /// Its kind.
    pub kind: &'static str,
    /// It is a transfer that ends by itself.
    pub has_end: bool,
    /// When its last byte was delivered.
    pub finished: Option<Instant>,
    /// Times of answers; `None` for an application without requests.
    pub responses: Option<Histogram>,
    /// Times of pages, and how many objects never came; `None` for an application that reads none.
    pub pages: Option<(Histogram, u64)>,
    /// What people noticed of it, if it is a film or a call that has begun.
    pub qoe: Option<Qoe>,
}

/// What a sender counts. What a kernel does not report is `None`.
#[derive(Clone, Copy, Debug)]
pub struct SenderFacts {
    /// Segments with payload sent, retransmissions included.
    pub data_segments_sent: u64,
    /// Their payload.
    pub data_bytes_sent: u64,
    /// Segments with payload sent again.
    pub retransmitted_segments: u64,
    /// Times that loss recovery was entered on duplicate ACKs or SACK.
    pub fast_retransmits: Option<u64>,
    /// Reductions of the window that were taken back since they had been for nothing.
    pub reductions_undone: Option<u64>,
    /// Expirations of the retransmission timer.
    pub timeouts: Option<u64>,
    /// Reductions of the window that answered an ECN echo.
    pub ecn_reductions: Option<u64>,
    /// Times that the ACK Ratio doubled (RFC 5690).
    pub ack_congestion_events: u64,
    /// The largest ACK Ratio that the peer has used (RFC 5690).
    pub largest_ack_ratio: u64,
    /// Samples of the RTT.
    pub rtt_samples: u64,
    /// Their sum.
    pub rtt_sum: Duration,
    /// The smallest and the largest RTT, if there was any.
    pub rtt_range: Option<(Duration, Duration)>,
}

impl From<&Stats> for SenderFacts {
    fn from(stats: &Stats) -> Self {
        SenderFacts {
            data_segments_sent: stats.data_segments_sent,
            data_bytes_sent: stats.data_bytes_sent,
            retransmitted_segments: stats.retransmitted_segments,
            fast_retransmits: Some(stats.fast_retransmits),
            reductions_undone: Some(stats.reductions_undone),
            timeouts: Some(stats.timeouts),
            ecn_reductions: Some(stats.ecn_reductions),
            ack_congestion_events: stats.ack_congestion_events,
            largest_ack_ratio: stats.largest_ack_ratio,
            rtt_samples: stats.rtt_samples,
            rtt_sum: stats.rtt_sum,
            rtt_range: (stats.rtt_min < Duration::MAX).then_some((stats.rtt_min, stats.rtt_max)),
        }
    }
}

impl SenderFacts {
    /// Reductions of the congestion window, where all kinds of them are known.
    pub fn congestion_events(&self) -> Option<u64> {
        Some(self.fast_retransmits? + self.timeouts? + self.ecn_reductions?)
    }
    /// The mean RTT.
    pub fn mean_rtt(&self) -> Option<Duration> {
        (self.rtt_samples > 0).then(|| self.rtt_sum / self.rtt_samples)
    }
}

counters! {
    /// Data packets that have arrived at the receiver's host, duplicates included.
    pub struct Arrived {
        /// All of them.
        sum pub packets: u64,
        /// Their bytes, headers included.
        sum pub wire_bytes: u64,
        /// Those with congestion experienced (RFC 3168).
        sum pub marked: u64,
    }
}

/// When a flow's window was reduced for the first and for the last time while measured.
#[derive(Clone, Copy, Default, Debug)]
pub struct ReductionTimes {
    /// The first time.
    pub first: Option<Instant>,
    /// The last time.
    pub last: Option<Instant>,
}

impl FlowFacts {
    /// Data packets that were offered to the path, whoever has sent them.
    pub fn offered(&self) -> u64 {
        self.sender.data_segments_sent + self.made
    }
    /// Packets lost or marked: what the network signals of congestion, packet by packet.
    pub fn congestion_signals(&self) -> u64 {
        self.lost + self.arrived.marked
    }
}
