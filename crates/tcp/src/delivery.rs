//! Delivery rate samples, for congestion controls that need them (draft-ietf-ccwg-bbr-04 section 4.1;
//! draft-cheng-iccrg-delivery-rate-estimation sections 3 and 4).

use crate::transmissions::{Run, Snapshot};
use longhaul_cc::Delivery;
use longhaul_units::{Duration, Instant, Rate};

/// The connection's state for rate samples.
#[derive(Clone, Debug, Default)]
pub(crate) struct DeliveryRate {
    /// C.first_send_time: start of the send interval that the next sample covers.
    first_sent_at: Instant,
    /// C.delivered_time.
    delivered_at: Instant,
    /// C.app_limited: samples are limited by the application until so much is delivered; 0 if they are not.
    app_limited_until: u64,
    /// The most recently sent of what this ACK delivers.
    newest: Option<Run>,
}

impl DeliveryRate {
    /// What is recorded with a segment that leaves now; `idle` when nothing was in flight.
    pub fn snapshot(
        &mut self,
        now: Instant,
        delivered: u64,
        lost: u64,
        in_flight: u64,
        idle: bool,
    ) -> Snapshot {
        if idle {
            self.first_sent_at = now;
            self.delivered_at = now;
        }
        Snapshot {
            first_sent_at: self.first_sent_at,
            delivered,
            delivered_at: self.delivered_at,
            lost,
            in_flight,
            app_limited: self.app_limited_until != 0,
        }
    }

    /// Nothing is left to send although the window has room: what is in flight and what follows until it is delivered
    /// measures the application (section 4.1.2.4).
    pub fn limited_by_application(&mut self, delivered: u64, in_flight: u64) {
        self.app_limited_until = (delivered + in_flight).max(1);
    }

    /// `run` is among what the ACK under way delivers. The most recently sent counts, of several the last in the stream.
    pub fn delivers(&mut self, run: &Run) {
        let newer = self.newest.is_none_or(|newest| (run.sent_at, run.end) > (newest.sent_at, newest.end));
        if newer {
            self.newest = Some(*run);
        }
    }

    /// The round trip of what this ACK delivers, unless it was sent twice.
    pub fn round_trip(&self, now: Instant) -> Option<Duration> {
        self.newest.filter(|newest| !newest.retransmitted).map(|newest| now.since(newest.sent_at))
    }

    /// The ACK is taken up: `delivered` and `lost` bytes in all, `newly_lost` by this ACK. The rate is that over the longer
    /// of the interval of sending and the interval of acknowledging; none over less than the smallest round trip.
    pub fn sample(
        &mut self,
        now: Instant,
        delivered: u64,
        lost: u64,
        newly_lost: u64,
        min_rtt: Duration,
    ) -> Option<Delivery> {
        if self.app_limited_until != 0 && delivered > self.app_limited_until {
            self.app_limited_until = 0;
        }
        self.delivered_at = now;
        let Run { sent_at, retransmitted, then, .. } = self.newest.take()?;
        self.first_sent_at = sent_at;
        let sending = sent_at.since(then.first_sent_at);
        let acknowledging = now.since(then.delivered_at);
        let interval = sending.max(acknowledging);
        let measured = delivered - then.delivered;
        let rate = (interval >= min_rtt && !interval.is_zero()).then(|| {
            let bps = u128::from(measured) * 8 * 1_000_000_000 / u128::from(interval.as_nanos());
            Rate::from_bps(u64::try_from(bps).unwrap_or(u64::MAX))
        });
        Some(Delivery {
            rate,
            rtt: (!retransmitted).then(|| now.since(sent_at)),
            delivered: measured,
            prior_delivered: then.delivered,
            app_limited: then.app_limited,
            newly_lost,
            lost: lost - then.lost,
            in_flight_when_sent: then.in_flight,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transmissions::Transmissions;

    const RTT: Duration = Duration::from_millis(101);

    fn ms(millis: u64) -> Instant {
        Instant::from_nanos(millis * 1_000_000)
    }

    /// A sender of segments of 1000 bytes.
    struct Sender {
        rate: DeliveryRate,
        log: Transmissions,
        delivered: u64,
        una: u64,
        end: u64,
    }

    impl Sender {
        fn new() -> Self {
            let log = Transmissions::new(0);
            Sender { rate: DeliveryRate::default(), log, delivered: 0, una: 0, end: 0 }
        }
        fn send(&mut self, now: Instant, segments: u64) {
            for _ in 0..segments {
                let idle = self.end == self.una;
                self.end += 1000;
                let then = self.rate.snapshot(now, self.delivered, 0, self.end - self.una, idle);
                self.log.sent(Run { end: self.end, sent_at: now, order: 0, retransmitted: false, then });
            }
        }
        fn acknowledge(&mut self, now: Instant) -> Option<Delivery> {
            for (_, _, run) in self.log.within(self.una, self.una + 1000) {
                self.rate.delivers(run);
            }
            self.una += 1000;
            self.delivered += 1000;
            self.log.acknowledge(self.una);
            self.rate.sample(now, self.delivered, 0, 0, RTT)
        }
    }

    /// Ten segments of 1000 bytes leave together at 0 ms; their ACKs come from 101 to 110 ms and release one segment
    /// each; the ACK of the 20th comes at 211 ms. Section 3.1.3 of the older draft: the 10,000 bytes delivered since the
    /// 20th left took max(110 - 0, 211 - 110) ms.
    #[test]
    fn the_slower_of_sending_and_acknowledging_counts() {
        let mut sender = Sender::new();
        sender.send(ms(0), 10);
        for packet in 1..=10 {
            sender.acknowledge(ms(100 + packet));
            sender.send(ms(100 + packet), 1);
        }
        let mut measured = None;
        for packet in 11..=20 {
            measured = sender.acknowledge(ms(191 + packet));
        }
        let measured = measured.unwrap();
        assert_eq!(measured.rate, Some(Rate::from_bps(727_272)));
        assert_eq!((measured.delivered, measured.prior_delivered), (10_000, 10_000));
        assert_eq!(measured.rtt, Some(Duration::from_millis(101)));
    }

    /// The first of ten ACKs is a sample too: 1000 bytes in 101 ms.
    #[test]
    fn each_ack_of_a_flight_is_a_sample() {
        let mut sender = Sender::new();
        sender.send(ms(0), 10);
        let rates: Vec<_> = (1..=10)
            .map(|packet| sender.acknowledge(ms(100 + packet)).unwrap().rate.unwrap().as_bps())
            .collect();
        // 8000 bits / 101 ms; 80,000 bits / 110 ms.
        assert_eq!((rates[0], rates[9]), (79_207, 727_272));
    }

    /// What is in flight when the application falls silent, and no more, is marked.
    #[test]
    fn samples_are_marked_until_what_was_in_flight_is_delivered() {
        let mut sender = Sender::new();
        sender.send(ms(0), 2);
        sender.rate.limited_by_application(0, 2000);
        sender.send(ms(50), 1);
        let marks: Vec<_> =
            (1..=3).map(|n| sender.acknowledge(ms(100 + 50 * n)).unwrap().app_limited).collect();
        // The first two left before the application fell silent; the third while it counted as silent.
        assert_eq!(marks, [false, false, true]);
        sender.send(ms(300), 1);
        assert!(!sender.acknowledge(ms(401)).unwrap().app_limited);
    }

    #[test]
    fn a_retransmission_measures_a_rate_but_no_round_trip() {
        let mut sender = Sender::new();
        sender.send(ms(0), 2);
        let then = sender.rate.snapshot(ms(150), 0, 0, 1000, false);
        sender.log.resent(0, Run { end: 1000, sent_at: ms(150), order: 0, retransmitted: true, then });
        let sample = sender.acknowledge(ms(260)).unwrap();
        assert_eq!(sample.rtt, None);
        assert_eq!(sample.rate, Some(Rate::from_bps(8000 * 1000 / 260)));
    }
}
