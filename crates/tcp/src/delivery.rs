//! Delivery rate samples, for congestion controls that ask for them
//! (draft-cheng-iccrg-delivery-rate-estimation sections 3 and 4).

use longhaul_units::{Duration, Instant, Rate};
use std::collections::VecDeque;

/// State of the connection when a run of data left.
#[derive(Clone, Copy, Debug)]
struct Departure {
    end: u64,
    sent_at: Instant,
    /// P.first_sent_time: start of the send interval.
    first_sent_at: Instant,
    /// P.delivered.
    delivered: u64,
    /// P.delivered_time.
    delivered_at: Instant,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct DeliveryRate {
    departures: VecDeque<Departure>,
    first_sent_at: Instant,
    delivered_at: Instant,
}

impl DeliveryRate {
    /// New data up to `end` leaves; `idle` when nothing was in flight.
    pub fn on_sent(&mut self, now: Instant, end: u64, delivered: u64, idle: bool) {
        if idle {
            self.first_sent_at = now;
            self.delivered_at = now;
        }
        match self.departures.back_mut() {
            Some(run) if run.sent_at == now && run.delivered == delivered => run.end = end,
            _ => self.departures.push_back(Departure {
                end,
                sent_at: now,
                first_sent_at: self.first_sent_at,
                delivered,
                delivered_at: self.delivered_at,
            }),
        }
    }

    /// Data up to `highest` has been delivered, `delivered` bytes in all. The rate is that over the longer of the
    /// interval of sending and the interval of acknowledging; none over less than the smallest round trip.
    pub fn on_ack(&mut self, now: Instant, highest: u64, delivered: u64, min_rtt: Duration) -> Option<Rate> {
        let mut latest = None;
        while let Some(&run) = self.departures.front() {
            if run.end > highest {
                break;
            }
            latest = Some(run);
            self.departures.pop_front();
        }
        self.delivered_at = now;
        let latest = latest?;
        self.first_sent_at = latest.sent_at;
        let sending = latest.sent_at.since(latest.first_sent_at);
        let acknowledging = now.since(latest.delivered_at);
        let interval = sending.max(acknowledging);
        if interval < min_rtt || interval.is_zero() {
            return None;
        }
        let bits = u128::from(delivered - latest.delivered) * 8;
        let bps = bits * 1_000_000_000 / u128::from(interval.as_nanos());
        Some(Rate::from_bps(u64::try_from(bps).unwrap_or(u64::MAX)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ten segments of 1000 bytes leave together at 0 ms; their ACKs come from 101 to 110 ms and release one segment
    /// each; the ACK of the 20th comes at 211 ms. Section 3.1.3: the 10,000 bytes delivered since the 20th left took
    /// max(110 - 0, 211 - 110) ms.
    #[test]
    fn the_slower_of_sending_and_acknowledging_counts() {
        let ms = |millis: u64| Instant::from_nanos(millis * 1_000_000);
        let mut rate = DeliveryRate::default();
        rate.on_sent(ms(0), 10_000, 0, true);
        let mut measured = None;
        for packet in 1..=10 {
            let now = ms(100 + packet);
            rate.on_ack(now, packet * 1000, packet * 1000, Duration::from_millis(101));
            rate.on_sent(now, 10_000 + packet * 1000, packet * 1000, false);
        }
        for packet in 11..=20 {
            let now = ms(191 + packet);
            measured = rate.on_ack(now, packet * 1000, packet * 1000, Duration::from_millis(101));
        }
        assert_eq!(measured, Some(Rate::from_bps(727_272)));
    }
}
