//! A send buffer that grows with the congestion window, and a program that waits until a third of it is free: what the numbers of Linux
//! make of it (`tcp_sndbuf_expand`, `tcp_check_space`, `sk_stream_min_wspace`).

/// The buffer is reckoned for at least so many segments (`TCP_INIT_CWND`).
const LEAST_SEGMENTS: u64 = 10;
/// Memory in bytes that a segment of an Ethernet is reckoned to take (`tcp_sndbuf_expand`), and what it takes (seen in 6.18): a buffer for
/// 100 segments has room for 101.
const RECKONED: u64 = 2304;
const TAKEN: u64 = 2280;

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
}

impl SendBuffer {
    pub fn new(windows: u32, largest: u64) -> Self {
        SendBuffer { windows: u64::from(windows), size: largest, largest, end: 1, is_waiting: false }
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
    fn fill(&mut self, una: u64, written: u64) {
        self.end = una.saturating_add(self.size).min(written).max(self.end.min(written));
        self.is_waiting = self.end < written;
    }
    /// True if a program waits for room.
    pub fn is_waiting(&self) -> bool {
        self.is_waiting
    }
    /// What could be sent has been, and the congestion window is of so many bytes. While a program waits the buffer grows; the program
    /// writes once a third of it is free. True if it has written. (Linux does not let it grow while the window is full, but then a
    /// segment is on its way through the host.)
    pub fn refill(&mut self, una: u64, max: u64, written: u64, cwnd: u64, mss: u64) -> bool {
        if !self.is_waiting {
            return false;
        }
        if self.windows > 0 {
            self.size = self.size.max(self.wanted(cwnd.max(LEAST_SEGMENTS * mss)));
        }
        // With nothing in flight, what is less than a segment would wait for ever.
        if self.end - una > self.size - self.size / 3 && max > una {
            return false;
        }
        let before = self.end;
        self.fill(una, written);
        self.end > before
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1000;

    #[test]
    fn it_has_room_for_so_many_windows() {
        let mut buffer = SendBuffer::new(2, 100_000);
        buffer.begin(MSS);
        buffer.write(1, 1_000_000);
        // 20 segments, reckoned as 20 * 2304 / 2280.
        assert_eq!((buffer.size, buffer.end), (20_210, 20_211));
        // 12 segments of window: room for 24, of which 19 are taken.
        assert!(!buffer.refill(1_001, 20_211, 1_000_000, 12_000, MSS));
        assert_eq!((buffer.size, buffer.end), (24_252, 20_211));
        assert!(buffer.refill(6_001, 20_211, 1_000_000, 16_000, MSS));
        assert_eq!((buffer.size, buffer.end), (32_336, 38_337));
        // It never shrinks, and has a largest size.
        assert!(buffer.refill(38_337, 38_337, 1_000_000, 12_000, MSS));
        assert_eq!((buffer.size, buffer.end), (32_336, 70_673));
        assert!(buffer.refill(70_673, 70_673, 1_000_000, 80_000, MSS));
        assert_eq!((buffer.size, buffer.end), (100_000, 170_673));
    }

    #[test]
    fn a_program_that_waits_writes_when_a_third_is_free() {
        let mut buffer = SendBuffer::new(0, 30_000);
        buffer.begin(MSS);
        buffer.write(1, 1_000_000);
        assert_eq!(buffer.end, 30_001);
        assert!(!buffer.refill(10_000, 30_001, 1_000_000, 50_000, MSS));
        assert!(buffer.refill(10_001, 30_001, 1_000_000, 50_000, MSS));
        assert_eq!(buffer.end, 40_001);
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
}
