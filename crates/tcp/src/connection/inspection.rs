//! What can be seen of a connection from outside.

use super::Connection;
use crate::sender::Phase;
use crate::{Config, CongestionState, EcnDelivered, Limit, LimitedTime, Ports, State, Stats};
use longhaul_cc::CongestionControl;
use longhaul_segment::SeqNumber;
use longhaul_units::{Duration, Instant};

impl Connection {
    /// Bytes in order and not read yet.
    pub fn readable(&self) -> u64 {
        self.receiver.readable()
    }
    /// Both ports.
    pub fn ports(&self) -> Ports {
        self.ports
    }
    /// State of the connection.
    pub fn state(&self) -> State {
        self.state
    }
    /// Congestion window in bytes.
    pub fn cwnd(&self) -> u64 {
        self.sender.cwnd()
    }
    /// Slow start threshold in bytes; `u64::MAX` while there is none.
    pub fn ssthresh(&self) -> u64 {
        self.sender.cc().ssthresh()
    }
    /// FlightSize: bytes sent and not cumulatively acknowledged.
    pub fn flight_size(&self) -> u64 {
        self.sender.flight_size()
    }
    /// Estimate of the bytes in the network (RFC 6675's pipe).
    pub fn pipe(&self) -> u64 {
        self.sender.pipe()
    }
    /// Smoothed round trip time; zero before the first sample.
    pub fn srtt(&self) -> Duration {
        self.sender.rtt.srtt
    }
    /// Round trip time variation.
    pub fn rttvar(&self) -> Duration {
        self.sender.rtt.rttvar
    }
    /// Retransmission timeout, back-off included.
    pub fn rto(&self) -> Duration {
        self.sender.rtt.rto()
    }
    /// The latest round trip measured; zero before the first.
    pub fn latest_rtt(&self) -> Duration {
        self.sender.rtt.latest
    }
    /// The smallest round trip measured; `Duration::MAX` before the first.
    pub fn min_rtt(&self) -> Duration {
        self.sender.rtt.min
    }
    /// Bytes that the peer's window allows beyond the acknowledged ones.
    pub fn peer_window(&self) -> u64 {
        self.sender.peer_window()
    }
    /// Bytes written and never sent; `u64::MAX` for an unlimited source.
    pub fn unsent(&self) -> u64 {
        self.sender.unsent()
    }
    /// Payload bytes cumulatively acknowledged by the peer.
    pub fn acked_bytes(&self) -> u64 {
        self.sender.acked_bytes()
    }
    /// Payload bytes received in order.
    pub fn received_bytes(&self) -> u64 {
        self.receiver.received()
    }
    /// Where a byte with this number stands in the peer's stream, counted from its first; `None` for what is before that.
    pub fn received_place(&self, number: SeqNumber) -> Option<u64> {
        number.expand(self.peer_isn, self.receiver.next)?.checked_sub(1)
    }
    /// Where the right edge of the receive window stands in the peer's stream.
    pub fn receive_edge(&self) -> u64 {
        self.receiver.right_edge().saturating_sub(1)
    }
    /// Where a byte with this number, which was sent, stands in this end's stream.
    pub fn sent_place(&self, number: SeqNumber) -> u64 {
        number.expand(self.isn, self.sender.una).unwrap_or(0).saturating_sub(1)
    }
    /// Payload bytes received above a gap, waiting for what is missing.
    pub fn out_of_order_bytes(&self) -> u64 {
        self.receiver.out_of_order()
    }
    /// Payload bytes that the application has read.
    pub fn read_bytes(&self) -> u64 {
        self.receiver.read_bytes()
    }
    /// True during loss recovery, fast or after a timeout.
    pub fn in_recovery(&self) -> bool {
        self.sender.phase != Phase::Open
    }
    /// Where the sender stands with loss and congestion.
    pub fn congestion_state(&self) -> CongestionState {
        self.sender.congestion_state()
    }
    /// Bytes in flight that the peer has SACKed.
    pub fn sacked_bytes(&self) -> u64 {
        self.sender.sacked_bytes()
    }
    /// Bytes in flight that were found lost, whether they have been sent again or not. With `Recovery::Rack` only.
    pub fn lost_bytes(&self) -> u64 {
        self.sender.lost_bytes()
    }
    /// Bytes in flight that were sent again. With `Recovery::Rack` only.
    pub fn resent_bytes(&self) -> u64 {
        self.sender.resent_bytes()
    }
    /// How far below the highest delivered byte data have arrived that were never sent again, at most: the extent of the path's
    /// reordering in bytes. With `Recovery::Rack` only; 0 before the first.
    pub fn reordering_extent(&self) -> u64 {
        self.sender.reordering_extent()
    }
    /// Expirations of the retransmission timer since the last progress.
    pub fn back_offs(&self) -> u32 {
        self.sender.timeouts_in_a_row()
    }
    /// What the peer reports of the packets sent, where feedback is accurate (RFC 9768).
    pub fn ecn_delivered(&self) -> Option<EcnDelivered> {
        self.sender.ecn_delivered()
    }
    /// The timestamps option is agreed on.
    pub fn uses_timestamps(&self) -> bool {
        self.agreed.timestamps
    }
    /// The largest payload of a segment received so far, in bytes.
    pub fn largest_received_payload(&self) -> u64 {
        self.receiver.largest_payload()
    }
    /// Largest payload of a segment without SACK blocks, as negotiated.
    pub fn effective_mss(&self) -> u32 {
        self.agreed.mss
    }
    /// The ACK Ratio that the peer uses, if ACK congestion control is agreed on (RFC 5690).
    pub fn ack_ratio(&self) -> Option<u32> {
        self.sender.ack_ratio()
    }
    /// The congestion control.
    pub fn congestion_control(&self) -> &dyn CongestionControl {
        self.sender.cc()
    }
    /// The configuration.
    pub fn config(&self) -> &Config {
        &self.config
    }
    /// Counters.
    pub fn stats(&self) -> &Stats {
        &self.stats
    }
    /// What limits the sender now.
    pub fn limit(&self) -> Limit {
        self.limits.current()
    }
    /// Time spent under each limit, from the first `poll_transmit` up to now.
    pub fn limited_time(&self, now: Instant) -> LimitedTime {
        self.limits.total(now)
    }
}
