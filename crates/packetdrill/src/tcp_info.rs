//! `struct tcp_info` of Linux, as far as a connection has the values. Counts are segments, times microseconds.

use crate::host::Peer;
use longhaul_tcp::{CongestionState, EcnDelivered, Limit};
use longhaul_units::{Duration, Instant};

/// TCP_INFINITE_SSTHRESH.
const NO_THRESHOLD: i64 = 0x7fff_ffff;

/// The value of a field, or of a constant; `None` for what is not modelled.
pub fn value(peer: &Peer, now: Instant, name: &str) -> Option<i64> {
    let connection = &peer.connection;
    let mss = u64::from(connection.effective_mss());
    let segments = |bytes: u64| bytes.div_ceil(mss) as i64;
    let micros = |time: Duration| (time.as_nanos() / 1000) as i64;
    let delivered =
        |count: &dyn Fn(&EcnDelivered) -> u64| connection.ecn_delivered().map_or(0, |ecn| count(&ecn) as i64);
    let limited = |limit: Limit| connection.limited_time(now).get(limit);
    Some(match name {
        "TCP_CA_Open" => 0,
        "TCP_CA_Disorder" => 1,
        "TCP_CA_CWR" => 2,
        "TCP_CA_Recovery" => 3,
        "TCP_CA_Loss" => 4,
        "tcpi_ca_state" => match connection.congestion_state() {
            CongestionState::Open => 0,
            CongestionState::Disorder => 1,
            CongestionState::Reduced => 2,
            CongestionState::Recovery => 3,
            CongestionState::Loss => 4,
        },
        "tcpi_snd_cwnd" => (connection.cwnd() / mss) as i64,
        "tcpi_snd_ssthresh" => match connection.ssthresh() {
            threshold if threshold / mss >= NO_THRESHOLD as u64 => NO_THRESHOLD,
            threshold => (threshold / mss) as i64,
        },
        "tcpi_rtt" => micros(connection.srtt()),
        "tcpi_rttvar" => micros(connection.rttvar()),
        "tcpi_min_rtt" => micros(connection.min_rtt()),
        "tcpi_rto" => micros(connection.rto()),
        "tcpi_unacked" => segments(connection.flight_size()),
        "tcpi_sacked" => segments(connection.sacked_bytes()),
        "tcpi_lost" => segments(connection.lost_bytes()),
        "tcpi_retrans" => segments(connection.resent_bytes()),
        "tcpi_total_retrans" => connection.stats().retransmitted_segments as i64,
        "tcpi_snd_mss" => mss as i64,
        "tcpi_advmss" => {
            i64::from(connection.config().mss) - if connection.uses_timestamps() { 12 } else { 0 }
        }
        "tcpi_rcv_mss" => connection.largest_received_payload() as i64,
        "tcpi_last_data_recv" => micros(now.since(peer.data_at)) / 1000,
        "tcpi_probes" => (connection.stats().probes_sent - peer.answered_probes) as i64,
        "tcpi_backoff" => i64::from(connection.back_offs()),
        "tcpi_rwnd_limited" => micros(limited(Limit::ReceiverWindow)),
        "tcpi_reordering" => {
            segments(connection.reordering_extent()).max(i64::from(connection.config().duplicate_threshold))
        }
        "tcpi_delivered_ce" => delivered(&|ecn| ecn.ce_packets),
        "tcpi_delivered_ce_bytes" => delivered(&|ecn| ecn.ce_bytes),
        "tcpi_delivered_e0_bytes" => delivered(&|ecn| ecn.ect0_bytes),
        "tcpi_delivered_e1_bytes" => delivered(&|ecn| ecn.ect1_bytes),
        "tcpi_busy_time" => micros(peer.busy_time(now)),
        _ => return None,
    })
}
