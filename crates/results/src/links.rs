//! From a link's counters to its metrics and time series, the same in every world. What each metric means is defined in
//! [`crate::DEFINITIONS`].

use crate::{LinkRow, Metrics};
use longhaul_path::{DropCause, Histogram, Link, LinkStats, Packet};
use longhaul_units::{Duration, Instant};

/// A link's counters at one time, for differences.
#[derive(Clone, Copy, Default, Debug)]
pub struct LinkSnapshot {
    stats: LinkStats,
    /// Lost on the wire by now: not those whose loss is known, but still to come.
    lost: u64,
    bits: f64,
    at: Instant,
}

impl LinkSnapshot {
    /// The counters of a link now.
    pub fn of<P: Packet + Send + 'static>(link: &mut Link<P>, now: Instant) -> Self {
        let stats = link.stats(now);
        let lost = stats.total_dropped() - stats.dropped_by_queue() - link.lost_to_come(now);
        LinkSnapshot { stats, lost, bits: link.transmitted_bits(now), at: now }
    }

    /// A row of the time series, about the time since this snapshot; `position` is the link's in the summary's list.
    /// `None` if no time has passed. `peak` is the most packets that were in the queue.
    pub fn row<P: Packet + Send + 'static>(
        &self,
        link: &mut Link<P>,
        now: Instant,
        position: usize,
        peak: u64,
    ) -> Option<LinkRow> {
        let span = now.since(self.at).as_secs_f64();
        if span <= 0.0 {
            return None;
        }
        let after = LinkSnapshot::of(link, now);
        let (new, bits) = (after.stats.since(&self.stats), after.bits - self.bits);
        let occupancy = link.occupancy(now);
        let capacity = link.schedule().capacity_bits(self.at, now);
        Some(LinkRow {
            time_s: now.as_secs_f64(),
            link: position as u32,
            queue_packets: occupancy.packets as u32,
            queue_bytes: occupancy.bytes,
            queue_max_packets: peak as u32,
            utilisation: if capacity > 0.0 { bits / capacity } else { 0.0 },
            throughput_bps: bits / span,
            queue_average_packets: link.average_queue(),
            arrivals: new.arrivals as u32,
            drops_queue: new.dropped_by_queue() as u32,
            drops_loss: (after.lost - self.lost) as u32,
            marks: new.marked as u32,
        })
    }

    /// A link's metrics over the time since this snapshot. `peak` is the most packets that were in the queue.
    pub fn metrics<P: Packet + Send + 'static>(
        &self,
        link: &mut Link<P>,
        now: Instant,
        peak: u64,
    ) -> Metrics {
        let after = LinkSnapshot::of(link, now);
        let capacity = link.schedule().capacity_bits(self.at, now);
        let waited_s = link.waited_secs(now);
        let empty = Histogram::default();
        let waits = link.waits().unwrap_or(&empty);
        let new = after.stats.since(&self.stats);
        link_metrics(
            &new,
            waits,
            waited_s,
            after.bits - self.bits,
            capacity,
            peak,
            now.since(self.at).as_secs_f64(),
        )
    }
}

/// Utilisation of a flow's bottleneck, the same in every world: bytes that have arrived at the receiver, headers included, over what `bottleneck`
/// (the slowest link on the way of its data) could carry from `begin` to `end` by its schedule of rates. `None` if it could carry nothing.
pub fn flow_utilisation<P: Packet + Send + 'static>(
    arrived_bytes: u64,
    bottleneck: &Link<P>,
    begin: Instant,
    end: Instant,
) -> Option<f64> {
    ratio(arrived_bytes as f64 * 8.0, bottleneck.schedule().capacity_bits(begin, end))
}

/// Metrics of a link whose counters have grown by `new`, where packets waited for `waited_s` seconds in all, which has transmitted `bits` where `capacity` were possible.
pub fn link_metrics(
    new: &LinkStats,
    waits: &Histogram,
    waited_s: f64,
    bits: f64,
    capacity: f64,
    peak: u64,
    measured_s: f64,
) -> Metrics {
    let (arrivals, transmitted) = (new.arrivals as f64, new.transmitted as f64);
    let (dropped, marks) = (new.total_dropped() as f64, new.marked as f64);
    let delay = |q| waits.quantile(q).map(Duration::as_secs_f64);
    let mut metrics = Metrics::default();
    metrics.set("utilisation", ratio(bits, capacity));
    metrics.set("throughput_bps", ratio(bits, measured_s));
    metrics.set("arrivals", arrivals);
    metrics.set("transmitted_packets", transmitted);
    metrics.set("drops_queue", new.dropped_by_queue() as f64);
    metrics.set("drops_overflow", new.dropped_for(DropCause::QueueFull) as f64);
    metrics.set("drops_early", new.dropped_for(DropCause::Early) as f64);
    metrics.set("drops_forced", new.dropped_for(DropCause::Forced) as f64);
    metrics.set("drops_loss", dropped - new.dropped_by_queue() as f64);
    metrics.set("drop_rate", ratio(dropped, arrivals));
    metrics.set("marks", marks);
    metrics.set("mark_rate", ratio(marks, arrivals));
    metrics.set("congestion_signals", dropped + marks);
    metrics.set("congestion_signal_rate", ratio(dropped + marks, transmitted));
    metrics.set("queue_mean_packets", ratio(waited_s, measured_s));
    metrics.set("queue_max_packets", peak as f64);
    metrics.set("queue_delay_mean_s", waits.mean().map(Duration::as_secs_f64));
    metrics.set("queue_delay_p50_s", delay(0.5));
    metrics.set("queue_delay_p95_s", delay(0.95));
    metrics.set("queue_delay_p99_s", delay(0.99));
    metrics
}

/// A quotient; `None` where there is nothing to divide by.
pub fn ratio(numerator: f64, denominator: f64) -> Option<f64> {
    (denominator > 0.0).then(|| numerator / denominator)
}

/// (sum x)^2 / (n sum x^2) (Jain, Chiu, Hawe 1984); `None` if nothing was delivered.
pub fn jain_index(goodputs: &[f64]) -> Option<f64> {
    let sum: f64 = goodputs.iter().sum();
    let squares: f64 = goodputs.iter().map(|x| x * x).sum();
    ratio(sum * sum, goodputs.len() as f64 * squares)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jain_index_is_one_for_equals_and_one_over_n_for_one() {
        assert_eq!(jain_index(&[3.0, 3.0, 3.0, 3.0]), Some(1.0));
        assert_eq!(jain_index(&[5.0, 0.0, 0.0, 0.0]), Some(0.25));
        assert_eq!(jain_index(&[0.0, 0.0]), None);
    }
}
