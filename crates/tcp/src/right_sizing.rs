//! Receive-buffer autotuning: dynamic right-sizing (Fisk and Feng, "Dynamic right-sizing in TCP", LACSI 2001), with the numbers
//! of Linux 6.1 (`tcp_rcv_space_adjust`). What the application reads in a round trip is the sender's window; the buffer leaves room
//! for twice as much, and for more where it grows.

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
}

impl Autotuning {
    /// Linux: 128 KiB at first, 6 MiB at most, 5/8 of it window as 6.18 for segments of an Ethernet (6.1: half).
    pub const LINUX: Autotuning = Autotuning { initial: 131_072, max: 6_291_456, window_share: 0.625 };

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
/// Room for small variations, in segments.
const CUSHION: u64 = 16;
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
    /// The round trip, smoothed from echoed timestamps, or the least time in which a window has arrived.
    rtt: Option<Duration>,
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
            space: (FIRST_SPACE * mss).min(window),
            since: Instant::ZERO,
            read_before: 1,
            window: None,
        }
    }

    /// A segment of data echoes a timestamp that is so old.
    pub fn hear_echo(&mut self, age: Duration) {
        let smoothed = self.rtt.map_or(age, |rtt| {
            Duration::from_nanos((rtt.as_nanos() * (SMOOTHING - 1) + age.as_nanos()) / SMOOTHING)
        });
        self.rtt = Some(smoothed);
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

    /// `len` bytes have arrived, the application has read up to `read`.
    pub fn on_data(&mut self, now: Instant, len: u64, next: u64, edge: u64, read: u64, mss: u64) {
        self.measure_window(now, next, edge);
        if let Some(rtt) = self.rtt {
            if now.since(self.since) >= rtt {
                self.adjust(read - self.read_before, mss);
                (self.since, self.read_before) = (now, read);
            }
        }
        self.offered = self.offered.max((self.offered + 2 * len).min(self.room));
    }

    /// So much was read in a round trip.
    fn adjust(&mut self, copied: u64, mss: u64) {
        if copied <= self.space {
            return;
        }
        // Twice for losses, and in slow start for the next round trip, which the ACKs of this one let go.
        let window = u128::from(2 * copied + CUSHION * mss);
        let growth = window * u128::from(copied - self.space) / u128::from(self.space.max(1));
        let window = u64::try_from(window + 2 * growth).unwrap_or(u64::MAX);
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
        // tcp_rmem = 4096 131072 6291456: 5/8 in Linux 6.18; half in 6.1 (tcp_adv_win_scale = 1). Both offer half at first.
        let old = Autotuning { window_share: 0.5, ..Autotuning::LINUX };
        assert_eq!((old.initial_window(), old.largest_window()), (65_536, 3_145_728));
        assert_eq!(
            (Autotuning::LINUX.initial_window(), Autotuning::LINUX.largest_window()),
            (65_536, 3_932_160)
        );
        let quarter = Autotuning { window_share: 0.25, ..Autotuning::LINUX };
        assert_eq!((quarter.initial_window(), quarter.largest_window()), (32_768, 1_572_864));
    }

    #[test]
    fn the_first_buffer_has_room_for_its_share_once_data_arrive() {
        let mut sizing = RightSizing::new(Autotuning::LINUX, MSS);
        for _ in 0..3 {
            sizing.on_data(at(0), 4_000, 1, 65_537, 1, MSS);
        }
        assert_eq!(sizing.offered, 81_920); // 5/8 of 131,072
    }

    #[test]
    fn the_window_follows_what_is_read_in_a_round_trip() {
        // 10 segments before, 20 now: 2 * 20 + 16 = 56; grown by 100 %, so 56 + 2 * 56 = 168.
        let mut sizing = RightSizing::new(Autotuning::LINUX, MSS);
        sizing.adjust(20_000, MSS);
        assert_eq!((sizing.room, sizing.space), (168_000, 20_000));
        // As much as before changes nothing; a quarter more: 2 * 25 + 16 = 66, 66 + 2 * 16.5 = 99: less than there is.
        sizing.adjust(20_000, MSS);
        sizing.adjust(25_000, MSS);
        assert_eq!((sizing.room, sizing.space), (168_000, 25_000));
        sizing.adjust(50_000, MSS); // 116 + 232
        assert_eq!(sizing.room, 348_000);
        sizing.adjust(5_000_000, MSS);
        assert_eq!(sizing.room, 3_932_160);
    }

    #[test]
    fn the_offered_window_opens_by_twice_what_arrives() {
        let mut sizing = RightSizing::new(Autotuning::LINUX, MSS);
        sizing.hear_echo(Duration::from_millis(100));
        let mut next = 1;
        for ms in [0, 0, 100] {
            next += 10_000;
            sizing.on_data(at(ms), 10_000, next, next + 65_536, next, MSS);
        }
        // 30 in the first round trip: (60 + 16) + 2 * 76 * 2 = 380. Room for 81,920 before, then 20,000 more.
        assert_eq!((sizing.room, sizing.offered), (380_000, 101_920));
        for _ in 0..100 {
            sizing.on_data(at(101), 10_000, next, next + 65_536, next, MSS);
        }
        assert_eq!(sizing.offered, 380_000);
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
