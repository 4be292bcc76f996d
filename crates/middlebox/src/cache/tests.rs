//! What the last transmission of a copy is known of, and when the timer expires. Packet k stands for the bytes 1000 k to 1000 k + 999.

use super::*;
use longhaul_segment::{Options, Timestamps};

const SIZE: u64 = 1000;

struct Bench {
    cache: Cache<()>,
    now: Instant,
}

impl Bench {
    fn new() -> Self {
        let mut cache = Cache::new(LocalRecovery::default());
        cache.begin(10 * SIZE);
        Bench { cache, now: Instant::ZERO }
    }
    fn wait(&mut self, millis: u64) {
        self.now += Duration::from_millis(millis);
    }
    fn packet(number: u64, timestamp: Option<u32>) -> Segment {
        let timestamps = timestamp.map(|value| Timestamps { value, echo: 0 });
        Segment {
            seq: super::number(number * SIZE),
            payload_len: SIZE as u32,
            options: Options { timestamps, ..Options::NONE },
            ..Segment::default()
        }
    }
    /// These packets go by.
    fn data(&mut self, numbers: std::ops::RangeInclusive<u64>, timestamp: Option<u32>) {
        for number in numbers {
            let segment = Self::packet(number, timestamp);
            self.cache.note_sender(&segment);
            let range = number * SIZE..(number + 1) * SIZE;
            self.cache.highest = self.cache.highest.max(range.end);
            self.cache.insert(self.now, Copy::new(self.now, range, &segment, Ecn::NotEct, (), false));
        }
    }
    /// An ACK for all up to packet `number`. What is sent again.
    fn ack(&mut self, number: u64, echo: Option<u32>) -> Vec<u64> {
        let _sample = self.cache.acknowledge(self.now, (number + 1) * SIZE, echo, |_| {});
        self.resent()
    }
    fn resent(&mut self) -> Vec<u64> {
        let now = self.now;
        std::iter::from_fn(|| self.cache.poll_resend(now).map(|copy| copy.start / SIZE)).collect()
    }
    /// In how many milliseconds the timer expires.
    fn due_in(&self) -> u64 {
        self.cache.deadline().unwrap().since(self.now).as_nanos() / 1_000_000
    }
    /// The timer expires. Whether that is a timeout, and what is sent again.
    fn expire(&mut self) -> (bool, Vec<u64>) {
        self.now = self.cache.deadline().unwrap();
        (self.cache.on_timeout(self.now), self.resent())
    }
}

/// The only round trip was measured behind a queue, 1 s where 50 ms are the truth. The queue has gone, and 11 to 16 with it.
fn behind_a_queue_that_has_gone(timestamp: Option<u32>) -> Bench {
    let mut bench = Bench::new();
    bench.data(10..=16, timestamp);
    bench.wait(1000);
    bench.ack(10, timestamp);
    // The source's clock goes on.
    bench.data(17..=17, timestamp.map(|value| value + 1000));
    // SRTT = 1 s, RTTVAR = 0.5 s.
    assert_eq!(bench.due_in(), 3000);
    assert_eq!(bench.expire(), (true, vec![11]));
    bench.wait(50);
    bench
}

/// An ACK that comes sooner than the smallest round trip is taken for that of an earlier transmission (RFC 8985 section 6.2): then
/// others follow. If none does, it was for the last one.
#[test]
fn a_smallest_round_trip_that_is_none_does_not_stall_recovery() {
    let mut bench = behind_a_queue_that_has_gone(None);
    assert_eq!(bench.ack(11, None), [0; 0], "in doubt");
    assert_eq!(bench.due_in(), 3000, "without back-off");
    assert_eq!(bench.expire(), (false, vec![12]), "no other ACK has come");
    // After the timeout all that was sent before is missing; it goes out twice as fast as it is acknowledged.
    bench.wait(50);
    assert_eq!(bench.ack(12, None), [13, 14]);
    bench.wait(50);
    assert_eq!(bench.ack(14, None), [15, 16, 17]);
}

#[test]
fn the_ack_of_an_earlier_transmission_sends_nothing_again() {
    let mut bench = behind_a_queue_that_has_gone(None);
    for number in 11..=17 {
        assert_eq!(bench.ack(number, None), [0; 0], "all have arrived, late");
        bench.wait(10);
    }
    assert_eq!(bench.cache.deadline(), None);
}

/// RFC 7323 section 4.3: an ACK echoes the timestamp of the packet that has filled the hole.
#[test]
fn timestamps_tell_transmissions_apart() {
    let mut bench = behind_a_queue_that_has_gone(Some(0));
    assert_eq!(bench.ack(11, Some(1000)), [12, 13], "at once");
    // There is no ambiguity for Karn's rule. RTTVAR = 3/4 * 500 + 950/4 = 612.5 ms, SRTT = 7/8 * 1000 + 50/8 = 881.25 ms.
    assert_eq!(bench.due_in(), 3331);

    let mut late = behind_a_queue_that_has_gone(Some(0));
    late.wait(2000);
    assert_eq!(late.ack(11, Some(0)), [0; 0], "of the first transmission, though it took long");
}

/// RFC 8961 section 4. Part of what was under way at the timeout has arrived: the next loss waits for a timeout without back-off,
/// though no round trip was measured.
#[test]
fn progress_ends_a_back_off() {
    let mut bench = Bench::new();
    bench.data(10..=13, None);
    for wait in [1000, 2000, 4000] {
        assert_eq!(bench.due_in(), wait);
        assert_eq!(bench.expire(), (true, vec![10]));
    }
    bench.wait(50);
    assert_eq!(bench.ack(10, None), [11, 12]);
    assert_eq!(bench.due_in(), 1000, "RFC 6298 section 2.1");
}

/// A receiver discards data whose ACK is further back than its largest window (RFC 5961 section 5.2), and a timestamp older than the
/// last (RFC 7323 section 5).
#[test]
fn what_is_sent_again_acknowledges_what_its_sender_does_now() {
    let mut bench = Bench::new();
    bench.data(10..=10, Some(1));
    let (ack, window) = (SeqNumber(500_000), 99);
    let timestamps = Some(Timestamps { value: 7, echo: 0 });
    let options = Options { timestamps, ..Options::NONE };
    bench.cache.note_sender(&Segment { ack, window, flags: Flags::ACK, options, ..Segment::default() });
    bench.cache.note_sender(&Segment { ack: SeqNumber(1), flags: Flags::ACK, ..Segment::default() });
    let due = bench.cache.deadline().unwrap();
    assert!(bench.cache.on_timeout(due));
    let sent = bench.cache.poll_resend(due).unwrap().segment;
    assert_eq!((sent.ack, sent.window, sent.options.timestamps), (ack, window, timestamps));
}

/// Karn's rule: one packet at a time, each sent again, gives no round trip, and the back-off stays.
#[test]
fn a_back_off_stays_where_nothing_else_is_under_way() {
    let mut bench = Bench::new();
    bench.data(10..=10, None);
    bench.expire();
    bench.wait(50);
    bench.ack(10, None);
    bench.data(11..=11, None);
    assert_eq!(bench.due_in(), 2000);
}

/// What waited above a hole took longer than the round trip; what is reported above a hole took just that, once.
#[test]
fn round_trips_are_of_what_has_just_arrived() {
    let mut bench = Bench::new();
    bench.data(10..=14, None);
    let report = |bench: &mut Bench| {
        let mut blocks = SackBlocks::default();
        blocks.push(super::number(11 * SIZE), super::number(15 * SIZE));
        bench.cache.on_sack(bench.now, &blocks);
        bench.resent()
    };
    bench.wait(100);
    assert_eq!(report(&mut bench), [10]);
    // A timeout forgets what was reported (RFC 2018 section 8).
    bench.expire();
    report(&mut bench);
    bench.wait(5000);
    bench.ack(14, None);
    bench.data(15..=15, None);
    // SRTT = 100 ms, RTTVAR = 50 ms.
    assert_eq!(bench.due_in(), 300);
}
