//! Counters of one connection.

use longhaul_units::{Duration, counters};

counters! {
    /// What a connection has done so far. Bytes are payload bytes unless stated otherwise.
    #[repr(C)] // what every segment touches comes first
    pub struct Stats {
        /// Segments received, of any kind.
        sum pub segments_received: u64,
        /// Segments with payload received.
        sum pub data_segments_received: u64,
        /// Segments without payload sent to acknowledge, to update the window or to probe.
        sum pub pure_acks_sent: u64,
        /// Segments with payload sent, retransmissions included.
        sum pub data_segments_sent: u64,
        /// Payload bytes sent, retransmissions included.
        sum pub data_bytes_sent: u64,
        /// Round trips measured.
        sum pub rtt_samples: u64,
        /// Their sum: the mean is `rtt_sum / rtt_samples`.
        sum pub rtt_sum: Duration,
        /// The smallest; [`Duration::MAX`] before the first.
        least pub rtt_min: Duration,
        /// The largest.
        most pub rtt_max: Duration,
        /// Segments with payload sent again.
        sum pub retransmitted_segments: u64,
        /// Payload bytes sent again.
        sum pub retransmitted_bytes: u64,
        /// Times that loss recovery was entered on duplicate ACKs or SACK.
        sum pub fast_retransmits: u64,
        /// Expirations of the retransmission timer, back-offs included.
        sum pub timeouts: u64,
        /// SYN and SYN-ACK segments sent again.
        sum pub syn_retransmissions: u64,
        /// Window reductions that answered an ECN echo.
        sum pub ecn_reductions: u64,
        /// ACKs that carried an ECN echo.
        sum pub ecn_echoes_received: u64,
        /// Segments that arrived with congestion experienced.
        sum pub ce_received: u64,
        /// Zero-window and keepalive probes sent.
        sum pub probes_sent: u64,
        /// Duplicate ACKs received (RFC 5681 section 2; with SACK, those that report new data: RFC 6675 section 2).
        sum pub duplicate_acks_received: u64,
        /// Segments that arrived above a gap.
        sum pub out_of_order_received: u64,
        /// Payload bytes received more than once.
        sum pub duplicate_bytes_received: u64,
        /// Payload bytes thrown away since they lay beyond the window.
        sum pub beyond_window_bytes: u64,
        /// Payload bytes thrown away since they lay too far above a gap ([`Config::reassembly_limit`](crate::Config)).
        sum pub not_reassembled_bytes: u64,
        /// Segments refused by PAWS (RFC 7323 section 5).
        sum pub paws_rejected: u64,
        /// Windows of data of which a pure ACK was lost or marked: the ACK Ratio doubled as far as it could (RFC 5690).
        sum pub ack_congestion_events: u64,
        /// The largest ACK Ratio that the peer has used (RFC 5690); 0 without ACK congestion control.
        most pub largest_ack_ratio: u64,
        /// D-SACK blocks received: duplicates that the peer reports (RFC 2883).
        sum pub dsacks_received: u64,
        /// Times that the receiver seems to have thrown away what it had SACKed (RFC 2018 section 8).
        sum pub reneging: u64,
        /// Reductions of the window that proved to be for nothing.
        sum pub reductions_undone: u64,
        /// Tail loss probes sent (RFC 8985).
        sum pub tail_loss_probes: u64,
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
