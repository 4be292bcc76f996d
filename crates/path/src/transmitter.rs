//! The transmitter of a link: it sends one packet after the other, at a constant rate, by a schedule of rates, or when it is granted
//! capacity.

use crate::grants::Grants;
use crate::schedule::Schedule;
use longhaul_units::{Duration, Instant, Rate, Size};

/// What every packet touches.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Transmitter {
    /// When it has sent all that was handed to it: of a link that computes departures on arrival what was accepted, of others the
    /// packet under way.
    pub free_at: Instant,
    /// Transmission time of a packet of `last_len` bytes: most have the same length.
    pub last_time: Duration,
    /// No length where the rate changes.
    pub last_len: u32,
    /// They stand here for the room that is left beside `last_len`.
    pub marks: Marks,
}

/// What every packet requires to be known of the link around the transmitter.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Marks {
    /// Plain and FIFO: nothing happens to packets but queueing and propagation.
    pub orderly: bool,
    /// A plain DropTail link.
    pub express: bool,
    /// The backlog is the packet that was transmitted last, and not written down: most have left before it is read.
    pub implied: bool,
    /// Waits are recorded.
    pub measured: bool,
}

/// How fast it is.
pub(crate) struct Pace {
    pub schedule: Schedule,
    /// The rate at all times, if it never changes.
    constant: Option<Rate>,
    grants: Option<Box<dyn Grants>>,
}

impl Pace {
    pub fn new(schedule: Schedule, rate: Rate, grants: Option<Box<dyn Grants>>) -> Self {
        let constant = schedule.is_constant().then_some(rate);
        Pace { schedule, constant, grants }
    }
    /// Neither rate nor propagation delay ever change, and nothing has to be requested.
    pub fn is_constant(&self) -> bool {
        self.constant.is_some() && self.grants.is_none()
    }
    /// The rate at `now`: zero while the transmitter is stopped. Looks never go back in time.
    pub fn rate_at(&mut self, now: Instant) -> Rate {
        self.constant.unwrap_or_else(|| self.schedule.rate_at(now))
    }
    /// Goes on by another script, in which all that was before is the same. A measured rate goes on where it is.
    pub fn follow(&mut self, schedule: Schedule) {
        self.schedule.replace(schedule);
        self.constant = None;
    }
    /// When the transmission of a packet may begin that came at `arrival`, if not before `start`.
    #[cold]
    pub fn granted(&mut self, arrival: Instant, start: Instant, len: u32) -> Instant {
        match &mut self.grants {
            None => start,
            Some(grants) => grants.begin(arrival, start, len).max(start),
        }
    }
}

impl Transmitter {
    pub fn new(orderly: bool, express: bool) -> Self {
        let marks = Marks { orderly, express, ..Marks::default() };
        Transmitter { free_at: Instant::ZERO, last_time: Duration::ZERO, last_len: 0, marks }
    }

    /// The transmission time of a packet of `len` bytes, if it is at hand and the transmitter is idle.
    #[inline]
    pub fn idle_time(&self, now: Instant, len: u32) -> Option<Duration> {
        (self.free_at <= now && self.last_len == len).then_some(self.last_time)
    }

    /// Transmits a packet of `len` bytes from `start` on, and returns how long that takes.
    #[inline]
    pub fn send(&mut self, pace: &mut Pace, start: Instant, len: u32) -> Duration {
        if self.last_len != len {
            self.look_up(pace, start, len);
        }
        self.free_at = start + self.last_time;
        self.last_time
    }

    #[cold]
    fn look_up(&mut self, pace: &mut Pace, start: Instant, len: u32) {
        self.last_time = match pace.constant {
            Some(rate) => {
                self.last_len = len;
                rate.transmission_time(Size::from_bytes(u64::from(len)))
            }
            None => pace.schedule.transmission_end(start, len) - start,
        };
    }
}
