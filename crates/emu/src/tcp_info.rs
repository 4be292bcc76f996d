//! The kernel's counters of a TCP socket (TCP_INFO). The layout is that of `struct tcp_info` in the kernel's uapi/linux/tcp.h,
//! to which fields are only ever added at the end.

use crate::sys;
use longhaul_units::Duration;
use std::io;
use std::os::fd::AsRawFd;

/// Bytes of `struct tcp_info` up to the fields of Linux 6.7.
const LEN: usize = 248;
/// Where the count of timeouts is (`tcpi_total_rto`), since Linux 6.7.
const TIMEOUTS: usize = 240;
/// TCP_INFINITE_SSTHRESH.
const NO_SSTHRESH: u32 = 0x7fff_ffff;

/// A sender's state in its kernel.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TcpInfo {
    /// Congestion window in bytes.
    pub cwnd: u64,
    /// Slow start threshold in bytes; `None` while there is none.
    pub ssthresh: Option<u64>,
    /// Bytes that count as in flight.
    pub flight: u64,
    /// Smoothed round trip time; zero before the first sample.
    pub srtt: Duration,
    /// Smallest round trip time.
    pub min_rtt: Duration,
    /// Retransmission timeout.
    pub rto: Duration,
    /// The peer's window in bytes.
    pub peer_window: u64,
    /// Payload of a full segment.
    pub mss: u64,
    /// Segments with payload sent, retransmissions included.
    pub data_segments_sent: u64,
    /// Their payload.
    pub bytes_sent: u64,
    /// Segments sent again.
    pub retransmitted: u64,
    /// Timeouts; `None` before Linux 6.7, which has no such field.
    pub timeouts: Option<u64>,
    /// Time with data to send or to be acknowledged.
    pub busy: Duration,
    /// Part of it limited by the peer's window.
    pub window_limited: Duration,
    /// Part of it limited by the send buffer.
    pub buffer_limited: Duration,
}

impl TcpInfo {
    /// Adds another connection of the same flow: counters and windows add up, of times the largest counts, of smallest
    /// RTTs the smallest.
    pub fn merge(&mut self, other: &TcpInfo) {
        let least = [self.min_rtt, other.min_rtt].into_iter().filter(|rtt| !rtt.is_zero()).min();
        let is_first = self.mss == 0;
        *self = TcpInfo {
            cwnd: self.cwnd + other.cwnd,
            ssthresh: if is_first { other.ssthresh } else { self.ssthresh },
            flight: self.flight + other.flight,
            srtt: self.srtt.max(other.srtt),
            min_rtt: least.unwrap_or(Duration::ZERO),
            rto: self.rto.max(other.rto),
            peer_window: self.peer_window + other.peer_window,
            mss: self.mss.max(other.mss),
            data_segments_sent: self.data_segments_sent + other.data_segments_sent,
            bytes_sent: self.bytes_sent + other.bytes_sent,
            retransmitted: self.retransmitted + other.retransmitted,
            timeouts: if is_first {
                other.timeouts
            } else {
                self.timeouts.zip(other.timeouts).map(|(a, b)| a + b)
            },
            busy: self.busy + other.busy,
            window_limited: self.window_limited + other.window_limited,
            buffer_limited: self.buffer_limited + other.buffer_limited,
        };
    }

    /// Asks the kernel.
    ///
    /// # Errors
    /// If it is no TCP socket.
    pub fn of(socket: &impl AsRawFd) -> io::Result<TcpInfo> {
        let mut bytes = [0; LEN];
        let known = sys::tcp_info(socket, &mut bytes)?;
        Ok(TcpInfo::read(&bytes, known))
    }

    /// From the bytes of a kernel whose struct has `known` bytes.
    fn read(bytes: &[u8; LEN], known: usize) -> TcpInfo {
        let u32_at = |at: usize| u32::from_ne_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        let u64_at = |at: usize| {
            let mut word = [0; 8];
            word.copy_from_slice(&bytes[at..at + 8]);
            u64::from_ne_bytes(word)
        };
        let count = |at: usize| u64::from(u32_at(at));
        let micros = |at: usize| Duration::from_micros(count(at));
        let mss = count(16);
        let [unacked, sacked, lost, retransmitted] = [24, 28, 32, 36].map(count);
        let ssthresh = u32_at(76);
        TcpInfo {
            cwnd: count(80) * mss,
            ssthresh: (ssthresh < NO_SSTHRESH).then(|| u64::from(ssthresh) * mss),
            // tcp_packets_in_flight in the kernel's include/net/tcp.h.
            flight: (unacked + retransmitted).saturating_sub(sacked + lost) * mss,
            srtt: micros(68),
            min_rtt: if u32_at(148) == u32::MAX { Duration::ZERO } else { micros(148) },
            rto: micros(8),
            peer_window: count(228),
            mss,
            data_segments_sent: count(156),
            bytes_sent: u64_at(200),
            retransmitted: count(100),
            timeouts: (known >= TIMEOUTS + 2).then(|| u64::from(u32_at(TIMEOUTS) & 0xffff)),
            busy: Duration::from_micros(u64_at(168)),
            window_limited: Duration::from_micros(u64_at(176)),
            buffer_limited: Duration::from_micros(u64_at(184)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};

    #[test]
    fn a_connection_over_the_loopback_says_what_it_did() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut sender = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut receiver, _) = listener.accept().unwrap();
        sender.write_all(&[0; 5000]).unwrap();
        receiver.read_exact(&mut [0; 5000]).unwrap();
        let info = TcpInfo::of(&sender).unwrap();
        assert_eq!(info.bytes_sent, 5000);
        assert!(info.data_segments_sent >= 1 && info.mss > 500 && info.cwnd >= 2 * info.mss, "{info:?}");
        assert!(info.srtt > Duration::ZERO && info.rto >= Duration::from_millis(1), "{info:?}");
        assert_eq!((info.retransmitted, info.ssthresh), (0, None));
    }

    /// Linux 6.1 writes 232 bytes, 6.18 all that there are here.
    #[test]
    fn kernels_that_do_not_count_timeouts_are_not_taken_for_having_had_none() {
        let mut bytes = [0; LEN];
        bytes[TIMEOUTS] = 3;
        assert_eq!(TcpInfo::read(&bytes, LEN).timeouts, Some(3));
        assert_eq!(TcpInfo::read(&bytes, 232).timeouts, None);
    }
}
