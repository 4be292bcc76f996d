//! Receive-buffer autotuning: dynamic right-sizing (Fisk and Feng, "Dynamic right-sizing in TCP", LACSI 2001), with the numbers
//! of Linux 6.18 (`tcp_rcv_space_adjust`, `tcp_rcvbuf_grow`). What the application reads in a round trip is the sender's window; the
//! buffer leaves room for twice as much, for more where it grows, and for what waits above a gap.

use longhaul_units::{Duration, Instant};

/// Sizes of an autotuned receive buffer in bytes, as in `tcp_rmem`, and how much of a buffer is window.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Autotuning {
    /// At first; at least two segments, and not so little of `max` that the scaled window field cannot express it.
    pub initial: u64,
    /// At most; the window scale follows from it.
    pub max: u64,
    /// Share of a buffer that is window; the rest is for the kernel's own bookkeeping. Above 0, at most 1.
    pub window_share: f64,
    /// An application has set the size (`SO_RCVBUF`): it stays, and the window scale follows from the window at first.
    pub locked: bool,
}

impl Autotuning {
    /// Linux 6.18: 128 KiB at first, 32 MiB at most, 5/8 of it window for segments of an Ethernet (6.1: 6 MiB, half of it).
    pub const LINUX: Autotuning =
        Autotuning { initial: 131_072, max: 33_554_432, window_share: 0.625, locked: false };

    /// The window at first.
    pub fn initial_window(&self) -> u64 {
        self.window_of(self.initial.min(self.max), self.window_share.min(FIRST_SHARE))
    }
    /// The window that the first buffer has room for once data arrive.
    fn first_room(&self) -> u64 {
        self.window_of(self.initial.min(self.max), self.window_share)
    }
    /// The largest window.
    pub fn largest_window(&self) -> u64 {
        self.window_of(self.max, self.window_share)
    }
    fn window_of(&self, buffer: u64, share: f64) -> u64 {
        ((buffer as f64 * share) as u64).max(1)
    }
}

/// The share that is window before a segment shows how much memory one takes (Linux: `TCP_DEFAULT_SCALING_RATIO`).
const FIRST_SHARE: f64 = 0.5;
/// What counts as read in the round trip before the first, in segments.
const FIRST_SPACE: u64 = 10;
/// The round trip is smoothed with this divisor, as SRTT is.
const SMOOTHING: u64 = 8;

/// What is known of the sender's window.
#[derive(Clone, Debug)]
pub(crate) struct RightSizing {
    largest: u64,
    /// The window that the buffer has room for.
    room: u64,
    /// The window that is offered: it opens by no more than twice what arrives.
    pub offered: u64,
    /// The round trip, the least or smoothed from echoed timestamps, or the least time in which a window has arrived.
    rtt: Option<Duration>,
    /// The timestamp echoed last: one sample of each.
    last_echo: Option<u32>,
    /// What was read in the round trip before.
    space: u64,
    /// The round trip under way: since when, and how far had been read.
    since: Instant,
    read_before: u64,
    /// The window under way: since when, and where it ends. Nothing has been received before.
    window: Option<(Instant, u64)>,
}

impl RightSizing {
    pub fn new(sizes: Autotuning, mss: u64) -> Self {
        let window = sizes.initial_window();
        RightSizing {
            largest: sizes.largest_window(),
            room: sizes.first_room(),
            offered: window,
            rtt: None,
            last_echo: None,
            space: (FIRST_SPACE * mss).min(window),
            since: Instant::ZERO,
            read_before: 1,
            window: None,
        }
    }

    /// A segment of data echoes this timestamp, which is so old (`tcp_rcv_rtt_update`): a smaller sample counts at once.
    pub fn hear_echo(&mut self, echo: u32, age: Duration) {
        if self.last_echo.replace(echo) == Some(echo) {
            return;
        }
        let smoothed = |rtt: Duration| {
            Duration::from_nanos((rtt.as_nanos() * (SMOOTHING - 1) + age.as_nanos()) / SMOOTHING)
        };
        self.rtt = Some(self.rtt.filter(|rtt| *rtt < age).map_or(age, smoothed));
    }

    /// RCV.NXT has come to `next`, the right edge of the window being at `edge`: a window takes a round trip at least.
    fn measure_window(&mut self, now: Instant, next: u64, edge: u64) {
        match self.window {
            Some((_, end)) if next < end => return,
            Some((since, _)) => {
                let took = now.since(since);
                self.rtt = Some(self.rtt.map_or(took, |rtt| rtt.min(took)));
            }
            None => self.since = now,
        }
        self.window = Some((now, edge));
    }

    /// `len` bytes have arrived, and `held` bytes take room in the buffer: the window opens by no more than twice what arrives, and not
    /// into what is taken. True if it has opened (`tcp_grow_window`).
    pub fn open(&mut self, len: u64, held: u64) -> bool {
        let before = self.offered;
        self.offered = before.max((before + 2 * len).min(self.room_beside(held)));
        self.offered > before
    }
    /// The window that the buffer has room for beside what it holds (`tcp_space`).
    pub fn room_beside(&self, held: u64) -> u64 {
        self.room.saturating_sub(held)
    }

    /// RCV.NXT has come to `next`, the window's right edge being at `edge`; the application has read up to `read`, the last `filled`
    /// bytes of what is in order having waited above a gap until now. Data wait above a gap, the highest `above` bytes from RCV.NXT.
    pub fn on_data(&mut self, now: Instant, next: u64, edge: u64, read: u64, filled: u64, above: u64) {
        self.measure_window(now, next, edge);
        if let Some(rtt) = self.rtt {
            if now.since(self.since) >= rtt {
                // The first segment to be read ends the round trip: what is in order behind it, or is not read, counts against this
                // round trip, and towards the next (`inq` of tcp_rcv_space_adjust).
                let first_read = read.min(next - filled);
                let copied = first_read.saturating_sub(self.read_before).saturating_sub(next - first_read);
                if copied > self.space {
                    self.adjust(copied, above);
                }
                (self.since, self.read_before) = (now, first_read);
            }
        }
        if above > 0 {
            self.adjust(self.space, above);
        }
    }

    /// So much was read in a round trip.
    fn adjust(&mut self, copied: u64, above: u64) {
        // Twice for losses, and in slow start for the next round trip, which the ACKs of this one let go.
        let window = u128::from(2 * copied);
        let growth = window * u128::from(copied - self.space) / u128::from(self.space.max(1));
        let window = u64::try_from(window + 2 * growth).unwrap_or(u64::MAX).saturating_add(above);
        self.room = self.room.max(window.min(self.largest));
        self.space = copied;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1000;

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    #[test]
    fn the_window_is_a_share_of_the_buffer() {
        // tcp_rmem = 4096 131072 33554432: 5/8 in Linux 6.18; half of 6291456 in 6.1 (tcp_adv_win_scale = 1). Both offer half at first.
        let old = Autotuning { window_share: 0.5, max: 6_291_456, ..Autotuning::LINUX };
        assert_eq!((old.initial_window(), old.largest_window()), (65_536, 3_145_728));
        assert_eq!(
            (Autotuning::LINUX.initial_window(), Autotuning::LINUX.largest_window()),
            (65_536, 20_971_520)
        );
        let quarter = Autotuning { window_share: 0.25, ..Autotuning::LINUX };
        assert_eq!((quarter.initial_window(), quarter.largest_window()), (32_768, 8_388_608));
    }

    #[test]
    fn the_first_buffer_has_room_for_its_share_once_data_arrive() {
        let mut sizing = RightSizing::new(Autotuning::LINUX, MSS);
        for _ in 0..3 {
            assert!(sizing.open(4_000, 0));
        }
        assert_eq!(sizing.offered, 81_920); // 5/8 of 131,072
    }

    #[test]
    fn the_window_follows_what_is_read_in_a_round_trip() {
        // 10 segments before, 20 now: 2 * 20 = 40; grown by 100 %, so 40 + 2 * 40 = 120.
        let mut sizing = RightSizing::new(Autotuning::LINUX, MSS);
        sizing.adjust(20_000, 0);
        assert_eq!((sizing.room, sizing.space), (120_000, 20_000));
        // A quarter more: 50 + 2 * 12.5 = 75: less than there is.
        sizing.adjust(25_000, 0);
        assert_eq!((sizing.room, sizing.space), (120_000, 25_000));
        sizing.adjust(50_000, 0); // 100 + 200
        assert_eq!(sizing.room, 300_000);
        // No more is read, but 250 kB wait above a gap: 100 + 250.
        sizing.adjust(50_000, 250_000);
        assert_eq!((sizing.room, sizing.space), (350_000, 50_000));
        sizing.adjust(5_000_000, 0);
        assert_eq!(sizing.room, 20_971_520);
    }

    /// What Linux 6.18.44 offered in slow start over 100 ms: 11 segments of 1448 bytes read until the second round trip had begun, then
    /// 20, then 40; room for 152.7 and 347.5 kB (its windows, 1440 bytes of the segment that is not read yet added).
    #[test]
    fn the_room_is_the_kernels() {
        let mut sizing = RightSizing::new(Autotuning::LINUX, 1460);
        let rooms = [11, 20, 40].map(|segments| {
            sizing.adjust(segments * 1448, 0);
            sizing.room
        });
        assert_eq!(rooms, [81_920, 152_698, 347_520]);
    }

    #[test]
    fn a_timestamp_is_one_sample_and_the_least_counts_at_once() {
        let mut sizing = RightSizing::new(Autotuning::LINUX, MSS);
        let heard = [(7, 100), (7, 120), (8, 180), (9, 90)].map(|(echo, age)| {
            sizing.hear_echo(echo, Duration::from_millis(age));
            sizing.rtt.unwrap()
        });
        assert_eq!(heard, [100, 100, 110, 90].map(Duration::from_millis));
    }

    #[test]
    fn the_offered_window_opens_by_twice_what_arrives() {
        let mut sizing = RightSizing::new(Autotuning::LINUX, MSS);
        sizing.hear_echo(1, Duration::from_millis(100));
        let mut next = 1;
        for ms in [0, 0, 100] {
            next += 10_000;
            sizing.open(10_000, 0);
            sizing.on_data(at(ms), next, next + 65_536, next, 0, 0);
        }
        // 30 in the first round trip: 60 + 2 * 60 * 2 = 300. Room for 81,920 before, then 20,000 more with each.
        assert_eq!((sizing.room, sizing.offered), (300_000, 81_920));
        assert!(sizing.open(10_000, 0));
        assert_eq!(sizing.offered, 101_920);
        let opened = (0..100).filter(|_| sizing.open(10_000, 0)).count();
        assert_eq!((opened, sizing.offered), (10, 300_000));
    }

    /// 100 segments waited above a gap of one, which the second round trip fills: the first read finds them unread, so that they count in
    /// the third, with the 20 that arrive in it. 121 - 1 = 120 read, after 10: 240 + 2 * 240 * 11 = 5,520.
    #[test]
    fn what_waited_above_a_gap_counts_in_the_round_trip_after() {
        let mut sizing = RightSizing::new(Autotuning::LINUX, MSS);
        sizing.hear_echo(1, Duration::from_millis(100));
        sizing.on_data(at(0), 10_001, 75_537, 10_001, 0, 0);
        sizing.on_data(at(100), 111_001, 176_537, 111_001, 100_000, 0);
        assert_eq!((sizing.space, sizing.read_before), (10_000, 11_001));
        sizing.on_data(at(200), 131_001, 196_537, 131_001, 0, 0);
        assert_eq!((sizing.space, sizing.room), (120_000, 5_520_000));
    }

    /// Room for 81,920, of which 10,000 wait above a gap.
    #[test]
    fn what_the_buffer_holds_is_no_window() {
        let mut sizing = RightSizing::new(Autotuning::LINUX, MSS);
        for _ in 0..3 {
            sizing.open(4_000, 10_000);
        }
        assert_eq!((sizing.offered, sizing.room_beside(10_000)), (71_920, 71_920));
        assert!(!sizing.open(4_000, 12_000));
        assert_eq!(sizing.offered, 71_920);
    }

    #[test]
    fn without_timestamps_a_window_takes_a_round_trip_at_least() {
        let mut sizing = RightSizing::new(Autotuning::LINUX, MSS);
        sizing.measure_window(at(50), 1_001, 65_537);
        sizing.measure_window(at(150), 50_000, 115_000);
        assert_eq!(sizing.rtt, None);
        sizing.measure_window(at(250), 65_537, 131_000);
        assert_eq!(sizing.rtt, Some(Duration::from_millis(200)));
        sizing.measure_window(at(350), 131_001, 200_000);
        assert_eq!(sizing.rtt, Some(Duration::from_millis(100)));
        sizing.measure_window(at(950), 200_001, 300_000);
        assert_eq!(sizing.rtt, Some(Duration::from_millis(100)));
    }
}
