//! What a run of a scenario's flows leaves, before a summary is made of it.

use crate::driver::Driven;
use crate::flows::Progress;
use crate::lateness::Bounds;
use crate::netstat::Netstat;
use crate::recorder::Recorder;
use crate::tcp_info::TcpInfo;
use longhaul_quic::Done;
use longhaul_scenario::{Network, Scenario};
use longhaul_units::{Duration, FlowId, IdVec};

/// What is known of a flow at the end.
pub(crate) struct Measured {
    /// At the end of the warm-up.
    pub info_before: TcpInfo,
    /// Counters of the sender's kernel at the end of the warm-up, then of the measured time, if the flow has the host for itself.
    pub netstat: Option<Netstat>,
    pub delivered_before: u64,
    pub quic_before: Option<Done>,
    /// Sum of the samples of cwnd while measured in bytes, and how many there were.
    pub cwnd: (f64, u64),
    /// Samples of the smoothed RTT while measured, their sum, and the largest.
    pub rtt_samples: u64,
    pub rtt_sum: Duration,
    pub rtt_max: Duration,
}

impl Measured {
    pub fn sample(&mut self, info: &TcpInfo) {
        self.cwnd.0 += info.cwnd as f64;
        self.cwnd.1 += 1;
        // There is none before the first round trip.
        if !info.srtt.is_zero() {
            self.rtt_samples += 1;
            self.rtt_sum += info.srtt;
            self.rtt_max = self.rtt_max.max(info.srtt);
        }
    }
}

/// Everything that a summary is made of.
pub(crate) struct Finished<'a> {
    pub scenario: &'a Scenario,
    pub network: &'a Network,
    pub driven: Driven<Recorder>,
    pub progress: &'a IdVec<FlowId, Progress>,
    pub measured: IdVec<FlowId, Measured>,
    pub device_drops: u64,
    pub real_time: bool,
    pub bounds: Bounds,
    /// What is missing in the capture.
    pub not_captured: Vec<String>,
    pub warnings: Vec<String>,
}
