//! What is known of a QUIC flow of real packets, in the form of a kernel's TCP_INFO too.

use crate::tcp_info::TcpInfo;
use longhaul_quic::{Done, Sample};
use longhaul_units::Duration;

/// What is known of a QUIC flow.
#[derive(Clone, Copy, Debug, Default)]
pub struct QuicInfo {
    /// Its counters.
    pub done: Done,
    /// Its connection at the end that sends the data.
    pub sample: Sample,
    /// Its state, in the words of RFC 9000 section 10.
    pub state: &'static str,
}

impl QuicInfo {
    /// The same in the form of a kernel's TCP_INFO, for the time series.
    pub fn as_tcp(&self) -> TcpInfo {
        let stats = &self.done.sender;
        let measured = stats.rtt_samples > 0;
        TcpInfo {
            cwnd: self.sample.window,
            ssthresh: self.sample.ssthresh,
            flight: self.sample.in_flight,
            srtt: self.sample.srtt.unwrap_or(Duration::ZERO),
            min_rtt: if measured { stats.rtt_min } else { Duration::ZERO },
            data_segments_sent: stats.data_segments_sent,
            bytes_sent: stats.data_bytes_sent,
            retransmitted: stats.retransmitted_segments,
            ..TcpInfo::default()
        }
    }
}
