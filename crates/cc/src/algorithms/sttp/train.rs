//! Probing again, with data: every so often a few packets leave back to back, and the spacing of their ACKs shows the rate of
//! the bottleneck (a packet train). The packets are borrowed from the bucket, so that the mean rate stays what it is.
//! B. Ahlgren, M. Björkman, B. Melander 1999 found 10 to 15 packets enough; future work in Wade's thesis (section 6.3).

use crate::{Ack, Bytes, Sent};
use longhaul_units::{Duration, Instant};

/// Fewer packets make no train: two ACKs and a gap.
const LEAST: u32 = 3;

#[derive(Clone, Copy, PartialEq, Debug)]
enum State {
    /// Until the next is due.
    Waiting,
    /// Packets leave: those sent before the train in bytes, when it left, packets so far.
    Leaving { from: Bytes, at: Instant, sent: u32 },
    /// All have left; of their ACKs the first came then, with so much delivered in all.
    Flying { from: Bytes, to: Bytes, first: Option<(Instant, Bytes)> },
}

/// Trains of `packets` packets.
#[derive(Clone, Debug)]
pub(super) struct Train {
    packets: u32,
    /// Time from one to the next; zero for a single one.
    interval: Duration,
    due: Instant,
    state: State,
    /// Bytes of new data sent in all.
    sent: Bytes,
}

impl Train {
    /// The first is due at `due`.
    pub fn new(packets: u32, interval: Duration, due: Instant) -> Self {
        Train { packets, interval, due, state: State::Waiting, sent: 0 }
    }

    /// True if the next packet belongs to a train and is to leave at once. One begins when it is due.
    pub fn hurries(&mut self, now: Instant, packet_is_due: bool) -> bool {
        match self.state {
            State::Waiting if packet_is_due && now >= self.due && self.packets >= LEAST => {
                self.state = State::Leaving { from: self.sent, at: now, sent: 0 };
                true
            }
            State::Leaving { at, .. } => at == now,
            _ => false,
        }
    }

    pub fn on_sent(&mut self, sent: &Sent) {
        if sent.retransmission {
            self.give_up(sent.now);
            return;
        }
        let before = self.sent;
        self.sent += sent.bytes;
        let State::Leaving { from, at, sent: count } = self.state else { return };
        if at != sent.now {
            // The source ran dry: what has left by then is the train.
            return self.close(from, before, count, sent.now);
        }
        self.state = State::Leaving { from, at, sent: count + 1 };
        if count + 1 >= self.packets {
            self.close(from, self.sent, count + 1, sent.now);
        }
    }
    fn close(&mut self, from: Bytes, to: Bytes, count: u32, now: Instant) {
        if count >= LEAST {
            self.state = State::Flying { from, to, first: None };
        } else {
            self.give_up(now);
        }
    }

    /// Loss, or anything else that makes the train useless.
    pub fn give_up(&mut self, now: Instant) {
        if self.state != State::Waiting {
            self.state = State::Waiting;
            self.due = self.next(now);
        }
    }
    fn next(&self, now: Instant) -> Instant {
        if self.interval.is_zero() { Instant::FAR_FUTURE } else { now + self.interval }
    }

    /// Bytes of payload per second, once the last of a train is acknowledged.
    pub fn on_ack(&mut self, ack: &Ack) -> Option<f64> {
        if let State::Leaving { from, at, sent } = self.state {
            if at < ack.now {
                self.close(from, self.sent, sent, ack.now);
            }
        }
        let State::Flying { from, to, first } = self.state else { return None };
        if ack.in_recovery {
            self.give_up(ack.now);
            return None;
        }
        if ack.delivered <= from {
            return None;
        }
        let Some((began, delivered)) = first else {
            self.state = State::Flying { from, to, first: Some((ack.now, ack.delivered)) };
            return None;
        };
        if ack.delivered < to {
            return None;
        }
        self.give_up(ack.now);
        let (bytes, seconds) = (ack.delivered - delivered, ack.now.since(began).as_secs_f64());
        (bytes > 0 && seconds > 0.0).then(|| bytes as f64 / seconds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{MSS, ack_at};

    fn ms(millis: u64) -> Instant {
        Instant::from_nanos(millis * 1_000_000)
    }
    fn send(train: &mut Train, now: u64) {
        train.on_sent(&Sent { now: ms(now), bytes: MSS, in_flight: 0, retransmission: false });
    }
    fn ack(train: &mut Train, now: u64, packets: u64) -> Option<f64> {
        train.on_ack(&Ack { delivered: packets * MSS, ..ack_at(now, MSS) })
    }

    #[test]
    fn a_train_leaves_at_once_and_its_acks_tell_the_rate() {
        let mut train = Train::new(4, Duration::from_secs(1), ms(0));
        assert!(train.hurries(ms(0), true));
        for _ in 0..4 {
            send(&mut train, 0);
        }
        assert!(!train.hurries(ms(0), true));
        // 1000 bytes each 10 ms.
        let told: Vec<_> = (1..=4).map(|n| ack(&mut train, 90 + 10 * n, n)).collect();
        assert_eq!(told, [None, None, None, Some(100_000.0)]);
        // The next a second later.
        assert!(!train.hurries(ms(1129), true));
        assert!(train.hurries(ms(1130), true));
    }

    #[test]
    fn a_train_that_runs_dry_is_shorter_or_none() {
        let mut train = Train::new(10, Duration::ZERO, ms(0));
        assert!(train.hurries(ms(0), true));
        for _ in 0..3 {
            send(&mut train, 0);
        }
        send(&mut train, 50);
        assert_eq!(ack(&mut train, 100, 1), None);
        assert_eq!(ack(&mut train, 120, 3), Some(100_000.0));
        assert!(!train.hurries(ms(500), true)); // a single one
        let mut short = Train::new(10, Duration::from_secs(1), ms(0));
        assert!(short.hurries(ms(0), true));
        send(&mut short, 0);
        assert_eq!(ack(&mut short, 100, 1), None);
        assert!(!short.hurries(ms(200), true));
        assert!(short.hurries(ms(1100), true));
    }

    #[test]
    fn a_loss_spoils_a_train() {
        let mut train = Train::new(4, Duration::from_secs(1), ms(0));
        assert!(train.hurries(ms(0), true));
        for _ in 0..4 {
            send(&mut train, 0);
        }
        ack(&mut train, 100, 1);
        train.on_ack(&Ack { in_recovery: true, delivered: 2 * MSS, ..ack_at(110, MSS) });
        assert_eq!(ack(&mut train, 130, 4), None);
    }

    #[test]
    fn acks_that_measure_no_time_or_no_data_give_no_rate() {
        for (first, second) in [((100, 1), (100, 4)), ((100, 4), (110, 4))] {
            let mut train = Train::new(4, Duration::from_secs(1), ms(0));
            assert!(train.hurries(ms(0), true));
            (0..4).for_each(|_| send(&mut train, 0));
            assert_eq!(ack(&mut train, first.0, first.1), None);
            assert_eq!(ack(&mut train, second.0, second.1), None);
        }
    }
}
