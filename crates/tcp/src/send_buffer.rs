//! A send buffer that grows with the congestion window, and a program that waits until a third of it is free: what the numbers of Linux
//! make of it (`tcp_sndbuf_expand`, `tcp_check_space`, `sk_stream_min_wspace`).

use longhaul_units::{Duration, Instant};

/// The buffer is reckoned for at least so many segments (`TCP_INIT_CWND`).
const LEAST_SEGMENTS: u64 = 10;
/// Memory in bytes that a segment of an Ethernet is reckoned to take (`tcp_sndbuf_expand`), and what it takes (seen in 6.18): a buffer for
/// 100 segments has room for 101.
const RECKONED: u64 = 2304;
const TAKEN: u64 = 2280;
/// Of this, what the segment takes besides its payload. Those that SACK has reported are merged and need it no more (`tcp_shift_skb_data`).
const BESIDES: u64 = 832;
/// A program writes a byte in so many nanoseconds (Linux 6.18, single segments of 1448 bytes, an Intel Xeon: 1.0 to 1.3 GB/s). What is
/// acknowledged meanwhile is written too.
const NANOS_TO_WRITE: u64 = 1;

/// How much of what the application has to send the connection holds. Bytes of payload.
#[derive(Clone, Debug)]
pub(crate) struct SendBuffer {
    /// Room for so many congestion windows; 0 where the size does not change.
    windows: u64,
    /// The buffer as it is now, and at most.
    pub size: u64,
    largest: u64,
    /// End of what it holds; more was written and waits outside if `is_waiting`.
    pub end: u64,
    is_waiting: bool,
    /// Until then the program writes, and what becomes free is filled at once.
    writes_until: Instant,
}

/// What a connection has sent: from `una` to `max`, of which `sacked` bytes are reported to have arrived.
#[derive(Clone, Copy)]
pub(crate) struct Held {
    pub una: u64,
    pub max: u64,
    pub sacked: u64,
}

impl SendBuffer {
    pub fn new(windows: u32, largest: u64) -> Self {
        SendBuffer {
            windows: u64::from(windows),
            size: largest,
            largest,
            end: 1,
            is_waiting: false,
            writes_until: Instant::ZERO,
        }
    }
    /// The connection is established, with this MSS.
    pub fn begin(&mut self, mss: u64) {
        if self.windows > 0 {
            self.size = self.wanted(LEAST_SEGMENTS * mss);
        }
    }
    /// The size for a congestion window.
    fn wanted(&self, cwnd: u64) -> u64 {
        let windows = u128::from(self.windows) * u128::from(cwnd) * u128::from(RECKONED) / u128::from(TAKEN);
        u64::try_from(windows).unwrap_or(u64::MAX).min(self.largest)
    }
    /// There is something to send up to `written`, and what is below `una` needs no room any more. A program that does not wait yet
    /// writes as much as there is room for.
    pub fn write(&mut self, una: u64, written: u64) {
        if !self.is_waiting {
            self.fill(una, written);
        }
    }
    /// What is below `freed` needs no room: `una`, and what merged segments have left.
    fn fill(&mut self, freed: u64, written: u64) {
        self.end = freed.saturating_add(self.size).min(written).max(self.end.min(written));
        self.is_waiting = self.end < written;
    }
    /// True if a program waits for room.
    pub fn is_waiting(&self) -> bool {
        self.is_waiting
    }
    /// What could be sent has been; `sacked` bytes above `una` have arrived. While a program waits the buffer grows; the program
    /// writes once a third of it is free, for as long as copying takes. True if it has written. (Linux does not let it grow while the
    /// window is full, but then a segment is on its way through the host.)
    pub fn refill(&mut self, now: Instant, held: Held, written: u64, cwnd: u64, mss: u64) -> bool {
        if !self.is_waiting {
            return false;
        }
        if self.windows > 0 {
            self.size = self.size.max(self.wanted(cwnd.max(LEAST_SEGMENTS * mss)));
        }
        // With nothing in flight, what is less than a segment would wait for ever.
        let freed = held.una + held.sacked / TAKEN * BESIDES;
        if self.end.saturating_sub(freed) > self.size - self.size / 3
            && held.max > held.una
            && now >= self.writes_until
        {
            return false;
        }
        let before = self.end;
        self.fill(freed, written);
        let time = Duration::from_nanos(self.end.saturating_sub(before) * NANOS_TO_WRITE);
        self.writes_until = self.writes_until.max(now) + time;
        self.end > before
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1000;

    fn sent(una: u64, max: u64) -> Held {
        Held { una, max, sacked: 0 }
    }
    fn at(seconds: u64) -> Instant {
        Instant::from_nanos(seconds * 1_000_000_000)
    }

    #[test]
    fn it_has_room_for_so_many_windows() {
        let mut buffer = SendBuffer::new(2, 100_000);
        buffer.begin(MSS);
        buffer.write(1, 1_000_000);
        // 20 segments, reckoned as 20 * 2304 / 2280.
        assert_eq!((buffer.size, buffer.end), (20_210, 20_211));
        // 12 segments of window: room for 24, of which 19 are taken.
        assert!(!buffer.refill(at(1), sent(1_001, 20_211), 1_000_000, 12_000, MSS));
        assert_eq!((buffer.size, buffer.end), (24_252, 20_211));
        assert!(buffer.refill(at(2), sent(6_001, 20_211), 1_000_000, 16_000, MSS));
        assert_eq!((buffer.size, buffer.end), (32_336, 38_337));
        // It never shrinks, and has a largest size.
        assert!(buffer.refill(at(3), sent(38_337, 38_337), 1_000_000, 12_000, MSS));
        assert_eq!((buffer.size, buffer.end), (32_336, 70_673));
        assert!(buffer.refill(at(4), sent(70_673, 70_673), 1_000_000, 80_000, MSS));
        assert_eq!((buffer.size, buffer.end), (100_000, 170_673));
    }

    #[test]
    fn a_program_that_waits_writes_when_a_third_is_free() {
        let mut buffer = SendBuffer::new(0, 30_000);
        buffer.begin(MSS);
        buffer.write(1, 1_000_000);
        assert_eq!(buffer.end, 30_001);
        assert!(!buffer.refill(at(5), sent(10_000, 30_001), 1_000_000, 50_000, MSS));
        assert!(buffer.refill(at(6), sent(10_001, 30_001), 1_000_000, 50_000, MSS));
        assert_eq!(buffer.end, 40_001);
        // Meanwhile it writes for ten microseconds, and takes what becomes free.
        let just_then = at(6) + Duration::from_nanos(9_000);
        assert!(buffer.refill(just_then, sent(13_001, 40_001), 1_000_000, 50_000, MSS));
        assert_eq!(buffer.end, 43_001);
        let then = just_then + Duration::from_nanos(4_000);
        assert!(!buffer.refill(then, sent(14_001, 43_001), 1_000_000, 50_000, MSS));
        // One that does not wait writes what there is room for.
        let mut buffer = SendBuffer::new(0, 30_000);
        buffer.write(1, 20_001);
        buffer.write(1, 25_001);
        assert_eq!((buffer.end, buffer.is_waiting()), (25_001, false));
        buffer.write(1, 45_001);
        assert_eq!((buffer.end, buffer.is_waiting()), (30_001, true));
        buffer.write(5_001, 50_001);
        assert_eq!(buffer.end, 30_001);
    }

    #[test]
    fn segments_that_sack_has_reported_take_less() {
        let mut buffer = SendBuffer::new(0, 30_000);
        buffer.write(1, 1_000_000);
        // Of 28 segments, 12 leave ten times 832 bytes.
        assert!(!buffer.refill(at(1), Held { una: 1, max: 30_001, sacked: 22_799 }, 1_000_000, 50_000, MSS));
        assert!(!buffer.refill(
            at(2),
            Held { una: 2_501, max: 30_001, sacked: 20_520 },
            1_000_000,
            50_000,
            MSS
        ));
        assert!(buffer.refill(
            at(3),
            Held { una: 2_513, max: 30_001, sacked: 20_520 },
            1_000_000,
            50_000,
            MSS
        ));
        assert_eq!(buffer.end, 2_513 + 9 * 832 + 30_000);
    }
}
