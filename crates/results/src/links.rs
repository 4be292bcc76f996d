//! From a link's counters to its metrics and time series, the same in every world. What each metric means is defined in
//! [`crate::DEFINITIONS`].

use crate::context::Context;
use crate::metric::*;
use crate::{LinkRow, LinkSummary, Metrics, MonitoredFlow};
use longhaul_path::{DropCause, Link, LinkStats, Packet};
use longhaul_segment::LineStats;
use longhaul_units::{DeclaredId, Duration, FlowId, Histogram, Instant, counters};

/// A link's counters at one time, for differences.
#[derive(Clone, Copy, Default, Debug)]
pub struct LinkSnapshot {
    stats: LinkStats,
    /// Lost on the wire by now: not those whose loss is known, but still to come.
    lost: u64,
    bits: f64,
    at: Instant,
}

/// What a link did while measured.
pub struct LinkFacts {
    /// Growth of its counters.
    pub new: LinkStats,
    /// Its counters from the start of the run on.
    pub whole_run: LinkStats,
    /// How long packets waited in its queue.
    pub waits: Histogram,
    /// Seconds that packets have waited in all; the one in transmission does not wait.
    pub waited_s: f64,
    /// Bits transmitted.
    pub bits: f64,
    /// Bits that could have been transmitted, by its schedule of rates.
    pub capacity_bits: f64,
    /// The most packets that were in the queue.
    pub peak: u64,
    /// What header compression on it did, if there is any.
    pub line: Option<LineStats>,
    /// What each flow offered to it, where that is monitored.
    pub monitored: Vec<(FlowId, Offered)>,
}

counters! {
    /// What a flow has offered to a link, and what of it the queue has dropped: all packets, acknowledgments and probes too.
    pub struct Offered {
        /// Packets offered.
        sum pub packets: u64,
        /// Their bytes.
        sum pub bytes: u64,
        /// Packets dropped by the queue.
        sum pub dropped_packets: u64,
        /// Their bytes.
        sum pub dropped_bytes: u64,
    }
}

impl LinkSnapshot {
    /// The counters of a link now.
    pub fn of<P: Packet + Send + 'static>(link: &mut Link<P>, now: Instant) -> Self {
        let stats = link.stats(now);
        let lost = stats.total_dropped() - stats.dropped_by_queue() - link.lost_to_come(now);
        LinkSnapshot { stats, lost, bits: link.transmitted_bits(now), at: now }
    }

    /// A row of the time series, about the time since this snapshot.
    /// `None` if no time has passed. `peak` is the most packets that were in the queue.
    pub fn row<P: Packet + Send + 'static>(
        &self,
        link: &mut Link<P>,
        now: Instant,
        place: DeclaredId,
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
            link: place.0,
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

    /// What the link did since this snapshot. `peak` is the most packets that were in the queue before the last look at it.
    pub fn facts<P: Packet + Send + 'static>(
        &self,
        link: &mut Link<P>,
        now: Instant,
        peak: u64,
    ) -> LinkFacts {
        let peak = peak.max(link.take_peak(now));
        let after = LinkSnapshot::of(link, now);
        LinkFacts {
            new: after.stats.since(&self.stats),
            whole_run: after.stats,
            waited_s: link.waited_secs(now),
            waits: link.waits().cloned().unwrap_or_default(),
            bits: after.bits - self.bits,
            capacity_bits: link.schedule().capacity_bits(self.at, now),
            peak,
            line: None,
            monitored: vec![],
        }
    }
}

pub(crate) fn link_summary(context: &Context<'_>, place: DeclaredId) -> LinkSummary {
    let network = context.run.network;
    let (link, facts) = (context.declared[place], &context.run.links[place]);
    let spec = &network.links[link];
    let mut metrics = link_metrics(facts, context.measured_s);
    if spec.config.corruption.is_some() {
        metrics.set(CORRUPTED_PACKETS, facts.new.corrupted as f64);
    }
    if spec.config.duplication.get() > 0.0 {
        metrics.set(DUPLICATED_PACKETS, facts.new.duplicated as f64);
    }
    if spec.config.arq.is_some() {
        metrics.set(REPEATED_PACKETS, facts.new.repeated as f64);
    }
    if let Some(line) = &facts.line {
        let compression = spec.config.serial.and_then(|serial| serial.compression()).unwrap_or("vj");
        set_line_metrics(compression, line, &mut metrics);
    }
    if !facts.monitored.is_empty() {
        let mut all = Offered::default();
        facts.monitored.iter().for_each(|(_, offered)| all.merge(offered));
        set_offered(&all, &mut metrics);
    }
    let monitored = |(flow, offered): &(FlowId, Offered)| {
        let mut metrics = Metrics::default();
        set_offered(offered, &mut metrics);
        MonitoredFlow { flow: *flow, metrics }
    };
    LinkSummary {
        name: spec.name.clone(),
        from: network.nodes[spec.from].clone(),
        to: network.nodes[spec.to].clone(),
        rate_bps: spec.config.rate.as_bps() as f64,
        delay_s: spec.config.delay.as_secs_f64(),
        queue: format!("{} {}", spec.config.queue.name(), spec.config.queue.limit()),
        flows: network.flows.ids().filter(|flow| network.crosses(*flow, link)).count(),
        active_flows: context.sharing[link],
        metrics,
        whole_run: context.has_warmup().then(|| {
            let mut counts = Metrics::default();
            set_counts(&facts.whole_run, &mut counts);
            counts
        }),
        monitor: facts.monitored.iter().map(monitored).collect(),
    }
}

fn link_metrics(facts: &LinkFacts, measured_s: f64) -> Metrics {
    let LinkFacts { new, waits, .. } = facts;
    let delay = |q| waits.quantile(q).map(Duration::as_secs_f64);
    let mut metrics = Metrics::default();
    metrics.set(UTILISATION, ratio(facts.bits, facts.capacity_bits));
    metrics.set(THROUGHPUT_BPS, ratio(facts.bits, measured_s));
    set_counts(new, &mut metrics);
    metrics.set(QUEUE_MEAN_PACKETS, ratio(facts.waited_s, measured_s));
    metrics.set(QUEUE_MAX_PACKETS, facts.peak as f64);
    metrics.set(QUEUE_DELAY_MEAN_S, waits.mean().map(Duration::as_secs_f64));
    metrics.set(QUEUE_DELAY_P50_S, delay(0.5));
    metrics.set(QUEUE_DELAY_P95_S, delay(0.95));
    metrics.set(QUEUE_DELAY_P99_S, delay(0.99));
    metrics
}

/// What has passed and what has not.
fn set_counts(new: &LinkStats, metrics: &mut Metrics) {
    let (arrivals, transmitted) = (new.arrivals as f64, new.transmitted as f64);
    let (dropped, marks) = (new.total_dropped() as f64, new.marked as f64);
    metrics.set(ARRIVALS, arrivals);
    metrics.set(TRANSMITTED_PACKETS, transmitted);
    metrics.set(DROPS_QUEUE, new.dropped_by_queue() as f64);
    metrics.set(DROPS_OVERFLOW, new.dropped_for(DropCause::QueueFull) as f64);
    metrics.set(DROPS_EARLY, new.dropped_for(DropCause::Early) as f64);
    metrics.set(DROPS_FORCED, new.dropped_for(DropCause::Forced) as f64);
    metrics.set(DROPS_LOSS, dropped - new.dropped_by_queue() as f64);
    metrics.set(DROP_RATE, ratio(dropped, arrivals));
    metrics.set(MARKS, marks);
    metrics.set(MARK_RATE, ratio(marks, arrivals));
    metrics.set(CONGESTION_SIGNALS, dropped + marks);
    metrics.set(CONGESTION_SIGNAL_RATE, ratio(dropped + marks, transmitted));
}

/// Metrics of header compression, by its key in the scenario.
fn set_line_metrics(compression: &str, line: &LineStats, metrics: &mut Metrics) {
    let compressed = line.compressed as f64;
    let in_full = (line.uncompressed + line.unchanged) as f64;
    let mean = ratio(line.header_bytes as f64, compressed);
    if compression == "vj" {
        metrics.set(VJ_COMPRESSED_PACKETS, compressed);
        metrics.set(VJ_UNCOMPRESSED_PACKETS, in_full);
        metrics.set(VJ_TOSSED_PACKETS, line.tossed as f64);
        metrics.set(VJ_HEADER_MEAN_BYTES, mean);
    } else {
        metrics.set(ROHC_COMPRESSED_PACKETS, compressed);
        metrics.set(ROHC_UNCOMPRESSED_PACKETS, in_full);
        metrics.set(ROHC_TOSSED_PACKETS, line.tossed as f64);
        metrics.set(ROHC_HEADER_MEAN_BYTES, mean);
        metrics.set(ROHC_REQUESTS, line.requests as f64);
    }
}

fn set_offered(offered: &Offered, metrics: &mut Metrics) {
    metrics.set(OFFERED_PACKETS, offered.packets as f64);
    metrics.set(OFFERED_BYTES, offered.bytes as f64);
    metrics.set(DROPPED_PACKETS, offered.dropped_packets as f64);
    metrics.set(DROPPED_BYTES, offered.dropped_bytes as f64);
}

/// A quotient; `None` where there is nothing to divide by.
pub(crate) fn ratio(numerator: f64, denominator: f64) -> Option<f64> {
    (denominator > 0.0).then(|| numerator / denominator)
}
