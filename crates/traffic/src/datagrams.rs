//! A flow of datagrams, from the numbering of each to what its receiver measures: what came twice or out of order, how long each took,
//! and by how much that varied. There is no clock and no packet in it: a world carries number, length and time of writing.

use crate::call::Ear;
use crate::{Call, End, Qoe, Stream, Streams};
use longhaul_units::{Duration, Histogram, Instant};
use std::collections::VecDeque;

/// Numbers whose arrival is remembered, in words of 64: a datagram that comes later than this many others counts as new.
const MOST_WORDS: usize = 1 << 20;
/// Gain of the interarrival jitter's average (RFC 3550 section 6.4.1).
const JITTER_GAIN: f64 = 1.0 / 16.0;

/// What a receiver has measured of the datagrams that came while measured.
#[derive(Clone, Debug, Default)]
pub struct Reception {
    /// Those that came for the first time.
    pub datagrams: u64,
    /// Those that had come before.
    pub duplicates: u64,
    /// Those that came after one with a higher number (RFC 4737 section 3.3); duplicates are not counted.
    pub reordered: u64,
    /// From the writing of each to its arrival; duplicates are not counted.
    pub delays: Histogram,
    /// Sum of the interarrival jitter J after each in s, and how often there was one.
    pub jitter: (f64, u64),
}

impl Reception {
    /// Adds what another receiver has measured.
    pub fn merge(&mut self, other: &Reception) {
        self.datagrams += other.datagrams;
        self.duplicates += other.duplicates;
        self.reordered += other.reordered;
        self.delays.merge(&other.delays);
        self.jitter = (self.jitter.0 + other.jitter.0, self.jitter.1 + other.jitter.1);
    }
}

/// Both ends of a flow of datagrams.
#[derive(Clone, Debug)]
pub struct Datagrams {
    /// Largest payload in bytes.
    payload: u64,
    /// Datagrams sent: the number of the next one.
    sent: u64,
    /// Their payload in bytes.
    sent_bytes: u64,
    /// Payload that has arrived in bytes, that of each datagram once.
    received_bytes: u64,
    /// The number after the highest that has come.
    next: u64,
    seen: Seen,
    /// Transit time of the last datagram, and the jitter after it, in s.
    transit: Option<f64>,
    jitter: f64,
    reception: Reception,
    /// Datagrams that have arrived, each once.
    received: u64,
    /// Datagrams below `next` that had not come when measuring began.
    missing_before: u64,
    /// Who listens, if it is a call.
    ear: Option<Ear>,
}

impl Datagrams {
    /// A flow whose datagrams have a payload of `payload` bytes at most. Of a call, settings and time of a message are given.
    pub fn new(payload: u64, call: Option<(Call, Duration)>) -> Self {
        Datagrams {
            payload: payload.max(1),
            sent: 0,
            sent_bytes: 0,
            received_bytes: 0,
            next: 0,
            seen: Seen::default(),
            transit: None,
            jitter: 0.0,
            reception: Reception::default(),
            received: 0,
            missing_before: 0,
            ear: call.map(|(call, message)| Ear::new(call, message)),
        }
    }

    /// Takes the next datagram of what is `left` to send of a message that is written now, if anything: its number and its payload in
    /// bytes. All but the last of a message are full.
    pub fn take(&mut self, now: Instant, left: &mut u64) -> Option<(u64, u32)> {
        let bytes = (*left).min(self.payload);
        let number = self.sent;
        if bytes == 0 {
            return None;
        }
        *left -= bytes;
        self.sent += 1;
        self.sent_bytes += bytes;
        if let Some(ear) = &mut self.ear {
            ear.message_written(now);
        }
        Some((number, bytes as u32))
    }

    /// The datagram `number`, which was written at `written`, arrives.
    pub fn arrive(&mut self, now: Instant, number: u64, written: Instant, payload: u32) {
        if !self.seen.insert(number) {
            self.reception.duplicates += 1;
            return;
        }
        self.received += 1;
        self.received_bytes += u64::from(payload);
        let delay = now.since(written);
        self.reception.datagrams += 1;
        self.reception.delays.record(delay);
        let transit = delay.as_secs_f64();
        if let Some(before) = self.transit.replace(transit) {
            self.jitter += JITTER_GAIN * ((transit - before).abs() - self.jitter);
            self.reception.jitter.0 += self.jitter;
            self.reception.jitter.1 += 1;
        }
        if let Some(ear) = &mut self.ear {
            ear.passed((number + 1).saturating_sub(self.next));
            ear.message_arrived(delay);
        }
        if number < self.next {
            self.reception.reordered += 1;
        } else {
            self.next = number + 1;
        }
    }

    /// What comes later is measured.
    pub fn measure_anew(&mut self) {
        self.reception = Reception::default();
        self.missing_before = self.missing();
        self.ear.iter_mut().for_each(Ear::measure_anew);
    }

    /// Datagrams that had not come when one with a higher number came.
    fn missing(&self) -> u64 {
        self.next.saturating_sub(self.received)
    }

    /// How the call was heard while measured; `None` if it is none.
    pub fn qoe(&self, now: Instant) -> Option<Qoe> {
        let missing = self.missing().saturating_sub(self.missing_before);
        self.ear.as_ref().map(|ear| Qoe::Call(ear.hearing(now, missing)))
    }

    /// What was measured.
    pub fn reception(&self) -> &Reception {
        &self.reception
    }
    /// Datagrams and bytes of payload sent since the start.
    pub fn sent(&self) -> (u64, u64) {
        (self.sent, self.sent_bytes)
    }
    /// Bytes of payload that have arrived since the start, those of each datagram once.
    pub fn received_bytes(&self) -> u64 {
        self.received_bytes
    }
    /// The number that a datagram has whose lowest 32 bits are `low`: the one closest to what has come last.
    pub fn number(&self, low: u32) -> u64 {
        let ahead = low.wrapping_sub(self.next as u32) as i32;
        self.next.saturating_add_signed(i64::from(ahead))
    }
}

/// Both ends of a flow as an application has them that only writes: its messages are kept until it has acted. There is nothing to open,
/// and nothing to wait for.
#[derive(Debug, Default)]
pub struct Written {
    written: OfEnd,
    /// What such an application does not use.
    other: OfEnd,
}

impl Written {
    /// Sizes of the messages that were written in bytes, and whether there will be no more.
    pub fn take(self) -> (Vec<u64>, bool) {
        (self.written.messages, self.written.closed)
    }
}

/// What an end has written.
#[derive(Debug, Default)]
struct OfEnd {
    messages: Vec<u64>,
    closed: bool,
}

impl Stream for OfEnd {
    fn write(&mut self, bytes: u64) {
        self.messages.push(bytes);
    }
    fn close(&mut self) {
        self.closed = true;
    }
    fn abort(&mut self) {
        self.closed = true;
    }
    fn received(&self) -> u64 {
        0
    }
}

impl Streams for Written {
    fn end(&mut self, end: End) -> &mut dyn Stream {
        if end == End::CLIENT { &mut self.written } else { &mut self.other }
    }
    fn look(&self, end: End) -> &dyn Stream {
        if end == End::CLIENT { &self.written } else { &self.other }
    }
    fn want(&mut self, _end: End, _total: u64) {}
    fn open(&mut self, _pair: usize) {}
}

/// Numbers that have come, one bit each.
#[derive(Clone, Debug, Default)]
struct Seen {
    /// Words before the first of `words`, which are forgotten.
    forgotten: u64,
    words: VecDeque<u64>,
}

impl Seen {
    /// Takes note of a number; false if it was there before.
    fn insert(&mut self, number: u64) -> bool {
        let Some(place) = (number / 64).checked_sub(self.forgotten) else { return true };
        let place = place as usize;
        if place >= self.words.len() {
            self.words.resize(place + 1, 0);
        }
        let bit = 1 << (number % 64);
        let new = self.words[place] & bit == 0;
        self.words[place] |= bit;
        while self.words.len() > MOST_WORDS {
            self.words.pop_front();
            self.forgotten += 1;
        }
        new
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    /// 3,000 bytes in datagrams of 1,472: two full ones and one of 56.
    #[test]
    fn a_message_is_cut_into_full_datagrams_and_a_rest() {
        let mut flow = Datagrams::new(1472, None);
        let mut left = 3000;
        let mut taken = vec![];
        while let Some(datagram) = flow.take(at(0), &mut left) {
            taken.push(datagram);
        }
        assert_eq!(taken, [(0, 1472), (1, 1472), (2, 56)]);
        assert_eq!(flow.sent(), (3, 3000));
    }

    #[test]
    fn duplicates_and_reordered_datagrams_are_told_apart() {
        let mut flow = Datagrams::new(100, None);
        for (ms, number) in [(50, 0), (60, 2), (61, 2), (62, 1), (63, 1), (70, 3)] {
            flow.arrive(at(ms), number, at(0), 100);
        }
        let found = flow.reception();
        assert_eq!((found.datagrams, found.duplicates, found.reordered), (4, 2, 1));
        assert_eq!(flow.received_bytes(), 400);
        assert_eq!(found.delays.count(), 4);
    }

    /// Transit times of 50, 66, 50 ms: D is 16 ms twice; J = 16/16 = 1 ms, then 1 + (16 - 1)/16 = 1.9375 ms.
    #[test]
    fn jitter_is_that_of_rfc_3550() {
        let mut flow = Datagrams::new(100, None);
        for (number, transit) in [50, 66, 50].into_iter().enumerate() {
            let written = 20 * number as u64;
            flow.arrive(at(written + transit), number as u64, at(written), 100);
        }
        let (sum, count) = flow.reception().jitter;
        assert_eq!(count, 2);
        assert!((sum - (0.001 + 0.001_937_5)).abs() < 1e-12, "{sum}");
    }

    #[test]
    fn what_is_measured_begins_anew_and_numbers_go_on() {
        let mut flow = Datagrams::new(100, None);
        flow.arrive(at(10), 0, at(0), 100);
        flow.arrive(at(30), 2, at(20), 100);
        flow.measure_anew();
        flow.arrive(at(40), 1, at(10), 100);
        flow.arrive(at(41), 0, at(0), 100);
        let found = flow.reception();
        assert_eq!((found.datagrams, found.duplicates, found.reordered), (1, 1, 1));
        assert_eq!(flow.received_bytes(), 300);
    }

    #[test]
    fn numbers_of_32_bits_go_on_beyond_their_range() {
        let mut flow = Datagrams::new(1, None);
        let near = u64::from(u32::MAX) - 1;
        flow.next = near;
        for number in [near - 5, near, near + 1, near + 2, near + 1000] {
            assert_eq!(flow.number(number as u32), number);
        }
        assert_eq!(Datagrams::new(1, None).number(7), 7);
    }

    /// Memory is bounded: what came so long ago that it is forgotten counts as new.
    #[test]
    fn numbers_of_long_ago_are_forgotten() {
        let mut seen = Seen::default();
        assert!(seen.insert(1) && !seen.insert(1));
        assert!(seen.insert(64 * MOST_WORDS as u64 + 1));
        assert_eq!(seen.words.len(), MOST_WORDS);
        assert!(seen.insert(1));
        assert!(!seen.insert(64 * MOST_WORDS as u64 + 1));
    }
}
