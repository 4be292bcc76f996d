//! Counters of one connection.

use longhaul_units::Duration;

/// What a connection has done so far. Bytes are payload bytes unless said otherwise.
#[derive(Clone, Debug, PartialEq, Eq)]
#[repr(C)] // what every segment touches comes first
pub struct Stats {
    /// Segments received, of any kind.
    pub segments_received: u64,
    /// Segments with payload received.
    pub data_segments_received: u64,
    /// Segments without payload sent to acknowledge, to update the window or to probe.
    pub pure_acks_sent: u64,
    /// Segments with payload sent, retransmissions included.
    pub data_segments_sent: u64,
    /// Payload bytes sent, retransmissions included.
    pub data_bytes_sent: u64,
    /// Round trips measured.
    pub rtt_samples: u64,
    /// Their sum: the mean is `rtt_sum / rtt_samples`.
    pub rtt_sum: Duration,
    /// The smallest; [`Duration::MAX`] before the first.
    pub rtt_min: Duration,
    /// The largest.
    pub rtt_max: Duration,
    /// Segments with payload sent again.
    pub retransmitted_segments: u64,
    /// Payload bytes sent again.
    pub retransmitted_bytes: u64,
    /// Times that loss recovery was entered on duplicate ACKs or SACK.
    pub fast_retransmits: u64,
    /// Expirations of the retransmission timer, back-offs included.
    pub timeouts: u64,
    /// SYN and SYN-ACK segments sent again.
    pub syn_retransmissions: u64,
    /// Window reductions that answered an ECN echo.
    pub ecn_reductions: u64,
    /// ACKs that carried an ECN echo.
    pub ecn_echoes_received: u64,
    /// Segments that arrived with congestion experienced.
    pub ce_received: u64,
    /// Zero-window and keepalive probes sent.
    pub probes_sent: u64,
    /// Duplicate ACKs received (RFC 5681 section 2; with SACK, those that report new data: RFC 6675 section 2).
    pub duplicate_acks_received: u64,
    /// Segments that arrived above a gap.
    pub out_of_order_received: u64,
    /// Payload bytes received more than once.
    pub duplicate_bytes_received: u64,
    /// Payload bytes thrown away since they lay beyond the window.
    pub beyond_window_bytes: u64,
    /// Payload bytes thrown away since they lay too far above a gap ([`Config::reassembly_limit`](crate::Config)).
    pub not_reassembled_bytes: u64,
    /// Segments refused by PAWS (RFC 7323 section 5).
    pub paws_rejected: u64,
    /// Windows of data of which a pure ACK was lost or marked: the ACK Ratio doubled as far as it could (RFC 5690).
    pub ack_congestion_events: u64,
    /// The largest ACK Ratio that the peer has used (RFC 5690); 0 without ACK congestion control.
    pub largest_ack_ratio: u64,
    /// D-SACK blocks received: duplicates that the peer reports (RFC 2883).
    pub dsacks_received: u64,
    /// Times that the receiver seems to have thrown away what it had SACKed (RFC 2018 section 8).
    pub reneging: u64,
    /// Reductions of the window that proved to be for nothing.
    pub reductions_undone: u64,
    /// Tail loss probes sent (RFC 8985).
    pub tail_loss_probes: u64,
}

impl Default for Stats {
    fn default() -> Self {
        Stats {
            data_segments_sent: 0,
            data_bytes_sent: 0,
            retransmitted_segments: 0,
            retransmitted_bytes: 0,
            fast_retransmits: 0,
            timeouts: 0,
            syn_retransmissions: 0,
            ecn_reductions: 0,
            ecn_echoes_received: 0,
            ce_received: 0,
            pure_acks_sent: 0,
            probes_sent: 0,
            segments_received: 0,
            duplicate_acks_received: 0,
            data_segments_received: 0,
            out_of_order_received: 0,
            duplicate_bytes_received: 0,
            beyond_window_bytes: 0,
            not_reassembled_bytes: 0,
            paws_rejected: 0,
            ack_congestion_events: 0,
            largest_ack_ratio: 0,
            dsacks_received: 0,
            reneging: 0,
            reductions_undone: 0,
            tail_loss_probes: 0,
            rtt_samples: 0,
            rtt_sum: Duration::ZERO,
            rtt_min: Duration::MAX,
            rtt_max: Duration::ZERO,
        }
    }
}

impl Stats {
    pub(crate) fn rtt_sample(&mut self, rtt: Duration) {
        self.rtt_samples += 1;
        self.rtt_sum += rtt;
        self.rtt_min = self.rtt_min.min(rtt);
        self.rtt_max = self.rtt_max.max(rtt);
    }
}
