//! What was sent and acknowledged lately, and what follows about the link.

use longhaul_units::{Duration, Instant, Rate};
use std::collections::VecDeque;

/// The smallest round trip of this time counts as that without queues.
const BASE_WINDOW: Duration = Duration::from_secs(60);
/// Entries of what was sent are so far apart.
const STEP: Duration = Duration::from_millis(4);
/// What is older is forgotten.
const KEPT: Duration = Duration::from_secs(12);

/// An ACK: when it came, when its newest packet left, bytes acknowledged before and with it.
#[derive(Clone, Copy, Debug)]
struct Mark {
    at: Instant,
    sent: Instant,
    delivered: u64,
}

impl Mark {
    fn rtt(&self) -> Duration {
        self.at.since(self.sent)
    }
}

#[derive(Clone, Debug, Default)]
pub struct History {
    sent: VecDeque<(Instant, u64)>,
    sent_bytes: u64,
    acks: VecDeque<Mark>,
    delivered: u64,
    /// The smallest round trips of the present and the previous half of the window, and when the present one began.
    base: [Option<Duration>; 2],
    half_began: Instant,
    /// Of all ACKs: the sum of their round trips, and how many there were.
    rtts: (Duration, u64),
}

fn rate(bytes: u64, time: Duration) -> Rate {
    let bits = u128::from(bytes) * 8_000_000_000 / u128::from(time.as_nanos().max(1));
    Rate::from_bps(u64::try_from(bits).unwrap_or(u64::MAX))
}

fn before(now: Instant, time: Duration) -> Instant {
    Instant::from_nanos(now.as_nanos().saturating_sub(time.as_nanos()))
}

impl History {
    pub fn latest_rtt(&self) -> Option<Duration> {
        self.acks.back().map(Mark::rtt)
    }

    pub fn rtts(&self) -> (Duration, u64) {
        self.rtts
    }

    /// For how long the newest acknowledged packet has waited in the link's queue.
    pub fn waiting(&self) -> Option<Duration> {
        self.acks.back().map(|mark| self.queue(mark))
    }

    pub fn base_rtt(&self) -> Option<Duration> {
        self.base.iter().flatten().min().copied()
    }

    pub fn sent(&mut self, now: Instant, bytes: u64) {
        self.sent_bytes += bytes;
        match self.sent.back_mut().filter(|(at, _)| now.since(*at) < STEP) {
            Some((_, sum)) => *sum = self.sent_bytes,
            None => self.sent.push_back((now, self.sent_bytes)),
        }
        let old = before(now, KEPT);
        while self.sent.front().is_some_and(|(at, _)| *at < old) {
            self.sent.pop_front();
        }
    }

    pub fn acked(&mut self, bytes: u64) {
        self.delivered += bytes;
    }

    pub fn end_ack(&mut self, now: Instant, sent: Instant) {
        self.acks.push_back(Mark { at: now, sent, delivered: self.delivered });
        let old = before(now, KEPT);
        while self.acks.front().is_some_and(|mark| mark.at < old) {
            self.acks.pop_front();
        }
        if now.since(self.half_began) > BASE_WINDOW {
            self.base = [None, self.base[0]];
            self.half_began = now;
        }
        let rtt = now.since(sent);
        self.rtts = (self.rtts.0 + rtt, self.rtts.1 + 1);
        self.base[0] = Some(self.base[0].map_or(rtt, |base| base.min(rtt)));
    }

    /// Bytes sent before `time`, as far as they are known.
    fn sent_until(&self, time: Instant) -> u64 {
        let at = self.sent.partition_point(|(at, _)| *at <= time);
        at.checked_sub(1).map_or_else(|| self.sent.front().map_or(0, |(_, sum)| *sum), |at| self.sent[at].1)
    }

    /// Rate at which was sent during `time` before `at`.
    pub fn sending_rate(&self, at: Instant, time: Duration) -> Rate {
        rate(self.sent_until(at) - self.sent_until(before(at, time)), time)
    }

    fn queue(&self, mark: &Mark) -> Duration {
        mark.rtt().saturating_sub(self.base_rtt().unwrap_or(Duration::MAX))
    }

    /// Delivery of a link that was busy without a break: all packets waited longer than `low`, and longer than `high` in ACKs that
    /// came for `busy` at least, and they were sent faster than they were delivered, so that the sender is the reason. Silence is no
    /// evidence: after a stall of a node's machine all ACKs come at once, and the wait is over as soon.
    pub fn busy_capacity(&self, now: Instant, low: Duration, high: Duration, busy: Duration) -> Option<Rate> {
        let last = self.acks.back()?;
        let recent = self.acks.iter().rev().take_while(|mark| now.since(mark.at) <= busy + busy + busy);
        let long = recent.clone().take_while(|mark| self.queue(mark) >= high).last()?;
        let first = recent.take_while(|mark| self.queue(mark) >= low).last()?;
        let time = last.at.since(first.at);
        // The newest ACK may be of a packet that others have overtaken: it shows no rate.
        if last.at.since(long.at) < busy || last.sent <= first.sent {
            return None;
        }
        let delivered = rate(last.delivered - first.delivered, time);
        let sent = rate(
            self.sent_until(last.sent) - self.sent_until(first.sent),
            last.sent.since(first.sent).max(Duration::from_nanos(1)),
        );
        // An ACK that is held back for want of packets looks like waiting.
        (sent.as_bps() * 100 >= delivered.as_bps() * 98).then_some(delivered)
    }

    /// Delivery during the last `time`.
    pub fn delivery_rate(&self, now: Instant, time: Duration) -> Option<Rate> {
        let last = self.acks.back()?;
        let first = self.acks.iter().rev().take_while(|mark| now.since(mark.at) <= time).last()?;
        let time = last.at.since(first.at);
        (!time.is_zero()).then(|| rate(last.delivered - first.delivered, time))
    }

    /// The capacity that a train has shown which left from `begin` to `end`, `gain` percent faster than `pace`; the packets sent during
    /// `earlier` before it show how long they waited then. `None` if nothing can be measured.
    pub fn train_rate(
        &self,
        (begin, end): (Instant, Instant),
        pace: Rate,
        gain: u64,
        earlier: Duration,
    ) -> Option<Rate> {
        let quarter = Duration::from_nanos(end.since(begin).as_nanos() / 4);
        let last =
            self.acks.iter().rev().find(|mark| mark.sent <= end && mark.sent >= begin + quarter + quarter)?;
        let before = self
            .acks
            .iter()
            .rev()
            .skip_while(|mark| mark.sent > begin)
            .take_while(|mark| mark.sent + earlier >= begin);
        let waited_before = before.map(|mark| self.queue(mark)).min()?;
        let grown = self.queue(last).saturating_sub(waited_before).as_nanos();
        let lasted = last.sent.since(begin).as_nanos();
        let expected = lasted * gain / 100;
        let faster = pace.as_bps() * (100 + gain) / 100;
        // What left in `lasted` took `lasted + grown` to be transmitted.
        let capacity = u128::from(faster) * u128::from(lasted) / u128::from(lasted + grown);
        if grown * 6 < expected {
            Some(Rate::from_bps(faster))
        } else {
            Some(Rate::from_bps(u64::try_from(capacity).unwrap_or(u64::MAX) / 100 * 98))
        }
    }

    /// Share of what was sent between `since` and the newest acknowledged packet that was not delivered. Only of use while all
    /// is sent at one rate.
    pub fn lost_share(&self, since: Instant) -> f64 {
        let Some(last) = self.acks.back() else { return 0.0 };
        let Some(first) = self.acks.iter().find(|mark| mark.sent >= since) else { return 0.0 };
        let sent = self.sent_until(last.sent).saturating_sub(self.sent_until(first.sent));
        let delivered = last.delivered - first.delivered;
        if sent == 0 { 0.0 } else { 1.0 - (delivered as f64 / sent as f64).min(1.0) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The ACK of a packet that was overtaken on the way, behind those of packets sent later.
    #[test]
    fn an_overtaken_packet_shows_no_capacity() {
        let at = |ms: u64| Instant::from_nanos(ms * 1_000_000);
        let ms = Duration::from_millis;
        let mut history = History::default();
        for now in (0..400).step_by(5) {
            history.sent(at(now), 1500);
        }
        let mut ack = |now, sent| {
            history.acked(1500);
            history.end_ack(at(now), at(sent));
        };
        ack(100, 0);
        (0..20).for_each(|n| ack(400 + 10 * n, 100 + 5 * n));
        assert!(history.busy_capacity(at(590), ms(20), ms(30), ms(100)).is_some());
        history.acked(1500);
        history.end_ack(at(600), at(50));
        assert_eq!(history.busy_capacity(at(600), ms(20), ms(30), ms(100)), None);
    }
}
