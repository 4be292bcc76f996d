//! What people at the receiving end notice beside times of answers: how a film plays, and how late a call's messages come.

use crate::Codec;
use longhaul_units::{Duration, Histogram, Instant};
use std::collections::VecDeque;

/// What the people of an application have noticed while measured.
#[derive(Clone, Debug)]
pub enum Qoe {
    /// A film that is shown.
    Film(Viewing),
    /// A call.
    Call(Hearing),
}

/// How a film has played.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Viewing {
    /// From the flow's start to the first frame shown, if that came while measured.
    pub startup: Option<Duration>,
    /// Times that it stood still, one that lasts until the end included.
    pub stalls: u64,
    /// How long it stood still. Before the first frame it waits, and that counts only if it never began.
    pub stalled: Duration,
    /// Time from the first frame shown, still or moving.
    pub watched: Duration,
}

/// How late the messages of a call came.
#[derive(Clone, Debug)]
pub struct Hearing {
    /// From the writing of each message to its delivery. One that is still on its way counts with the time so far, if that is
    /// above the mean. The call begins with its connection: messages written before do not count.
    pub delays: Histogram,
    /// What a message takes to be spoken.
    pub message: Duration,
    /// What encoded the speech.
    pub codec: Codec,
    /// Messages that never came, each for itself: over a connection none.
    pub missing: u64,
    /// How they were played, where that does not follow from all delays.
    pub played: Option<Played>,
}

/// How the messages of a call were played while measured.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Played {
    /// Messages that came, or are later than they were to be played.
    pub messages: u64,
    /// Those that came too late.
    pub late: u64,
    /// Sum of the times in s from the writing of each until it was to be played.
    pub delay_s: f64,
}

/// A player with a buffer: it shows frames at their rate once `needed` of them are there, stands still when the next one is missing,
/// and goes on once as many are there again.
#[derive(Clone, Debug)]
pub(crate) struct Player {
    interval: Duration,
    needed: u64,
    start: Instant,
    /// Times before this are not measured.
    from: Instant,
    begun: Option<Instant>,
    /// It shows frames, or waits for them, since then, from this frame on.
    since: Instant,
    first: u64,
    plays: bool,
    written: u64,
    arrived: u64,
    /// No more is written.
    complete: bool,
    stalls: u64,
    stalled: Duration,
}

impl Player {
    pub fn new(start: Instant, interval: Duration, buffer: Duration) -> Self {
        let needed = buffer.as_nanos().div_ceil(interval.as_nanos().max(1)).max(1);
        Player {
            interval,
            needed,
            start,
            from: start,
            begun: None,
            since: start,
            first: 0,
            plays: false,
            written: 0,
            arrived: 0,
            complete: false,
            stalls: 0,
            stalled: Duration::ZERO,
        }
    }

    /// A frame was written.
    pub fn frame_written(&mut self) {
        self.written += 1;
    }

    /// No more frames are written.
    pub fn film_is_complete(&mut self) {
        self.complete = true;
    }

    /// What comes later is measured.
    pub fn measure_from(&mut self, now: Instant) {
        self.from = now.max(self.start);
        (self.stalls, self.stalled) = (0, Duration::ZERO);
    }

    /// When the next frame that has not arrived is to be shown.
    fn due(&self) -> Instant {
        self.since + self.interval * (self.arrived - self.first)
    }

    /// The next frame is there.
    pub fn frame_arrived(&mut self, now: Instant) {
        if self.plays && now > self.due() {
            (self.since, self.first, self.plays) = (self.due(), self.arrived, false);
        }
        self.arrived += 1;
        let all = self.complete && self.arrived == self.written;
        if self.plays || self.arrived - self.first < self.needed && !all {
            return;
        }
        match self.begun {
            None => self.begun = Some(now),
            Some(_) => {
                self.stalls += 1;
                self.stalled += now.since(self.since.max(self.from));
            }
        }
        (self.since, self.plays) = (now, true);
    }

    /// How it has played until now.
    pub fn viewing(&self, now: Instant) -> Viewing {
        let Some(begun) = self.begun else {
            let waited = now.since(self.from.min(now));
            return Viewing { stalled: waited, watched: waited, ..Viewing::default() };
        };
        let mut viewing = Viewing {
            startup: (begun >= self.from).then(|| begun - self.start),
            stalls: self.stalls,
            stalled: self.stalled,
            watched: Duration::ZERO,
        };
        let over = self.complete && self.arrived == self.written;
        let still = if self.plays { self.due() } else { self.since };
        let end = if over { now.min(still) } else { now };
        if !over && now > still {
            viewing.stalls += 1;
            viewing.stalled += now.since(still.max(self.from));
        }
        viewing.watched = end.since(begun.max(self.from).min(end));
        viewing
    }
}

/// Someone who listens to messages that are spoken at a constant rate.
#[derive(Clone, Debug)]
pub(crate) struct Listener {
    delays: Histogram,
    message: Duration,
    codec: Codec,
    /// The connection stands.
    begun: bool,
    /// When the messages on their way were written, those of the call.
    underway: VecDeque<Option<Instant>>,
}

impl Listener {
    pub fn new(message: Duration, codec: Codec) -> Self {
        Listener { delays: Histogram::default(), message, codec, begun: false, underway: VecDeque::new() }
    }

    /// The connection stands, and the call begins.
    pub fn call_begins(&mut self) {
        self.begun = true;
    }

    /// A message was written.
    pub fn message_written(&mut self, now: Instant) {
        self.underway.push_back(self.begun.then_some(now));
    }

    /// The next message is there.
    pub fn message_arrived(&mut self, now: Instant) {
        if let Some(written) = self.underway.pop_front().flatten() {
            self.delays.record(now - written);
        }
    }

    /// What comes later is measured.
    pub fn measure_anew(&mut self) {
        self.delays.clear();
    }

    /// How late messages came until now.
    pub fn hearing(&self, now: Instant) -> Hearing {
        let mut delays = self.delays.clone();
        let mean = delays.mean().unwrap_or(Duration::ZERO);
        let so_far = self.underway.iter().flatten().map(|written| now.since((*written).min(now)));
        so_far.filter(|time| *time > mean).for_each(|time| delays.record(time));
        Hearing { delays, message: self.message, codec: self.codec, missing: 0, played: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    /// Ten frames a second and a buffer of half a second: five frames.
    fn player() -> Player {
        Player::new(at(0), Duration::from_millis(100), Duration::from_millis(500))
    }

    fn feed(player: &mut Player, times: impl IntoIterator<Item = u64>) {
        for ms in times {
            player.frame_written();
            player.frame_arrived(at(ms));
        }
    }

    #[test]
    fn a_film_that_comes_in_time_never_stands_still() {
        let mut player = player();
        feed(&mut player, (0..100).map(|frame| 300 + 100 * frame));
        let viewing = player.viewing(at(10_200));
        assert_eq!(viewing.startup, Some(Duration::from_millis(700)));
        assert_eq!((viewing.stalls, viewing.stalled), (0, Duration::ZERO));
        assert_eq!(viewing.watched, Duration::from_millis(9500));
    }

    /// Frames 0 to 9 by 900 ms, shown from 400 ms on: frame 10 is due at 1400 ms and comes at 3000 ms; five are there at 3400 ms.
    #[test]
    fn a_gap_longer_than_the_buffer_is_one_stall() {
        let mut player = player();
        feed(&mut player, (0..10).map(|frame| 100 * frame));
        feed(&mut player, (0..10).map(|frame| 3000 + 100 * frame));
        let viewing = player.viewing(at(4000));
        assert_eq!((viewing.stalls, viewing.stalled), (1, Duration::from_millis(2000)));
        assert_eq!(viewing.watched, Duration::from_millis(3600));
    }

    #[test]
    fn a_stall_that_lasts_counts_and_so_does_its_part_after_the_warmup() {
        let mut player = player();
        feed(&mut player, (0..10).map(|frame| 100 * frame));
        player.frame_written();
        assert_eq!(player.viewing(at(2400)).stalled, Duration::from_millis(1000));
        player.measure_from(at(2000));
        let viewing = player.viewing(at(2400));
        assert_eq!((viewing.startup, viewing.stalls), (None, 1));
        assert_eq!(
            (viewing.stalled, viewing.watched),
            (Duration::from_millis(400), Duration::from_millis(400))
        );
    }

    #[test]
    fn a_film_that_is_over_does_not_stall_and_one_that_never_began_does_nothing_else() {
        let mut player = player();
        feed(&mut player, (0..10).map(|frame| 100 * frame));
        player.film_is_complete();
        let viewing = player.viewing(at(60_000));
        assert_eq!((viewing.stalls, viewing.watched), (0, Duration::from_millis(1000)));
        let mut waits = self::player();
        feed(&mut waits, [100, 200]);
        assert_eq!(waits.viewing(at(5000)).stalled, Duration::from_secs(5));
    }

    #[test]
    fn messages_on_their_way_count_once_they_are_late() {
        let mut listener = Listener::new(Duration::from_millis(20), Codec::default());
        // Written during the handshake, and a second late for that.
        listener.message_written(at(0));
        listener.call_begins();
        listener.message_arrived(at(1000));
        for number in 0..10 {
            listener.message_written(at(20 * number));
            listener.message_arrived(at(20 * number + 50));
        }
        listener.message_written(at(200));
        assert_eq!(listener.hearing(at(210)).delays.count(), 10);
        let hearing = listener.hearing(at(1200));
        assert_eq!((hearing.delays.count(), hearing.delays.max()), (11, Some(Duration::from_secs(1))));
    }
}
