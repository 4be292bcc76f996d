//! What a middlebox did while measured: watched from the outside, the same in every world.

use crate::context::Context;
use crate::links::ratio;
use crate::metric::*;
use crate::{LongHopRow, LongHopSummary, Metric, Metrics, MiddleboxRow, MiddleboxSummary};
use longhaul_middlebox::{Body, Levels, Middlebox, OwnConnection};
use longhaul_tcp::Stats;
use longhaul_units::{Duration, Instant, MiddleboxId};

/// What a middlebox did.
pub struct MiddleboxFacts {
    /// How full it was.
    pub levels: Levels,
    /// Growth of its counters, by name of the metric.
    pub counted: Vec<(&'static str, u64)>,
    /// Ends of its own connections that have sent data.
    pub long_hop: Vec<LongHopFacts>,
}

/// What one end of a connection over a long hop did.
pub struct LongHopFacts {
    /// Which of the middlebox's connections.
    pub connection: usize,
    /// At which of its nodes.
    pub port: usize,
    /// Growth of its counters.
    pub new: Stats,
    /// Sum of the samples of its congestion window in bytes, and how many there were.
    pub cwnd: (f64, u64),
}

/// Watches a middlebox.
pub struct MiddleboxWatch {
    /// Its counters at the end of the warm-up.
    baseline: Vec<(&'static str, u64)>,
    /// What was seen of the ends of its own connections before, at its first node and at its second.
    ends: Vec<[LongHopEnd; 2]>,
}

/// What was seen of one end of a connection over a long hop.
#[derive(Clone, Copy, Default)]
struct LongHopEnd {
    /// Its counters at the end of the warm-up.
    baseline: Stats,
    /// Bytes sent and segments sent again, at the last sample.
    sampled: (u64, u64),
    cwnd: (f64, u64),
}

impl MiddleboxWatch {
    /// Of this middlebox.
    pub fn new<B: Body>(middlebox: &dyn Middlebox<B>) -> Self {
        MiddleboxWatch { baseline: middlebox.counters(), ends: vec![] }
    }

    /// What was seen of an end. With real packets there may be more connections than the scenario's flows have.
    fn end(&mut self, own: &OwnConnection) -> &mut LongHopEnd {
        if own.index >= self.ends.len() {
            self.ends.resize_with(own.index + 1, Default::default);
        }
        &mut self.ends[own.index][own.port]
    }

    /// What comes later is measured.
    pub fn begin_measuring<B: Body>(&mut self, middlebox: &mut dyn Middlebox<B>, now: Instant) {
        self.baseline = middlebox.counters();
        middlebox.begin_measuring(now);
        for own in middlebox.own_connections() {
            self.end(&own).baseline = own.stats;
        }
    }

    /// Looks at the middlebox, the scenario's one of this number, `span` after the last look: a row for it, and one for each end of a
    /// connection over its long hop that has sent data. `measuring` is false during the warm-up.
    pub fn sample<B: Body>(
        &mut self,
        middlebox: &dyn Middlebox<B>,
        number: MiddleboxId,
        now: Instant,
        span: Duration,
        measuring: bool,
    ) -> (MiddleboxRow, Vec<LongHopRow>) {
        let levels = middlebox.levels();
        let row = MiddleboxRow {
            time_s: now.as_secs_f64(),
            middlebox: number.0,
            buffer_packets: levels.packets.map(|gauge| gauge.level() as f64),
            buffer_bytes: levels.bytes.level(),
            undelivered_bytes: levels.undelivered.level(),
        };
        let mut rows = vec![];
        for own in middlebox.own_connections() {
            rows.extend(self.end(&own).sample(now, span, measuring, number, &own));
        }
        (row, rows)
    }

    /// What it did.
    pub fn facts<B: Body>(&self, middlebox: &dyn Middlebox<B>) -> MiddleboxFacts {
        let growth =
            |((name, now), (_, before)): ((&'static str, u64), &(&'static str, u64))| (name, now - before);
        let counted = middlebox.counters().into_iter().zip(&self.baseline).map(growth).collect();
        let mut own = middlebox.own_connections();
        own.retain(|own| own.stats.data_segments_sent > 0);
        own.sort_by_key(|own| (own.index, own.port));
        let end = |own: &OwnConnection| {
            let end = self.ends.get(own.index).map_or(LongHopEnd::default(), |ends| ends[own.port]);
            let new = own.stats.since(&end.baseline);
            LongHopFacts { connection: own.index, port: own.port, new, cwnd: end.cwnd }
        };
        MiddleboxFacts { levels: *middlebox.levels(), counted, long_hop: own.iter().map(end).collect() }
    }
}

impl LongHopEnd {
    /// Adds to the means; a row for an end that has sent data.
    fn sample(
        &mut self,
        now: Instant,
        span: Duration,
        measuring: bool,
        middlebox: MiddleboxId,
        own: &OwnConnection,
    ) -> Option<LongHopRow> {
        let stats = &own.stats;
        if stats.data_segments_sent == 0 {
            return None;
        }
        if measuring {
            self.cwnd.0 += own.cwnd as f64;
            self.cwnd.1 += 1;
        }
        let sampled = (stats.data_bytes_sent, stats.retransmitted_segments);
        let before = std::mem::replace(&mut self.sampled, sampled);
        Some(LongHopRow {
            time_s: now.as_secs_f64(),
            middlebox: middlebox.0,
            connection: own.index as u32,
            port: own.port as u32,
            cwnd_bytes: own.cwnd as f64,
            ssthresh_bytes: Some(own.ssthresh).filter(|bytes| *bytes < u64::MAX).map(|bytes| bytes as f64),
            flight_bytes: own.flight as f64,
            unsent_bytes: own.unsent as f64,
            srtt_s: (stats.rtt_samples > 0).then(|| own.srtt.as_secs_f64()),
            throughput_bps: (sampled.0 - before.0) as f64 * 8.0 / span.as_secs_f64(),
            retransmits: (sampled.1 - before.1) as u32,
        })
    }
}

pub(crate) fn middlebox_summary(context: &Context<'_>, id: MiddleboxId) -> MiddleboxSummary {
    let (network, facts) = (context.run.network, &context.run.middleboxes[id]);
    let instance = &network.middleboxes[id];
    let mut metrics = Metrics::default();
    set_levels(&facts.levels, context.run.end, &mut metrics);
    for (name, count) in &facts.counted {
        let metric = Metric::named(name);
        debug_assert!(metric.is_some(), "what middleboxes count as {name} has no definition");
        if let Some(metric) = metric {
            metrics.set(metric, *count as f64);
        }
    }
    let name = |port: usize| network.nodes[instance.nodes[port]].clone();
    let end = |facts: &LongHopFacts| LongHopSummary {
        connection: facts.connection,
        from: name(facts.port),
        to: name(1 - facts.port),
        metrics: long_hop_metrics(facts, context.measured_s),
    };
    MiddleboxSummary {
        name: instance.name.clone(),
        kind: context.run.scenario.middlebox(id).kind(),
        at: instance.nodes.iter().map(|node| network.nodes[*node].clone()).collect(),
        flows: instance.flows.len(),
        metrics,
        long_hop: facts.long_hop.iter().map(end).collect(),
    }
}

fn set_levels(levels: &Levels, now: Instant, metrics: &mut Metrics) {
    if let Some(packets) = &levels.packets {
        metrics.set(BUFFER_MEAN_PACKETS, packets.mean(now));
        metrics.set(BUFFER_MAX_PACKETS, packets.max() as f64);
    }
    metrics.set(BUFFER_MEAN_BYTES, levels.bytes.mean(now));
    metrics.set(BUFFER_MAX_BYTES, levels.bytes.max() as f64);
    metrics.set(UNDELIVERED_MEAN_BYTES, levels.undelivered.mean(now));
    metrics.set(UNDELIVERED_MAX_BYTES, levels.undelivered.max() as f64);
}

fn long_hop_metrics(LongHopFacts { new, cwnd, .. }: &LongHopFacts, measured_s: f64) -> Metrics {
    let (sent, retransmitted) = (new.data_segments_sent as f64, new.retransmitted_segments as f64);
    let rtt = (new.rtt_samples > 0).then(|| new.rtt_sum / new.rtt_samples);
    let mut metrics = Metrics::default();
    metrics.set(THROUGHPUT_BPS, ratio(new.data_bytes_sent as f64 * 8.0, measured_s));
    metrics.set(CWND_MEAN_BYTES, ratio(cwnd.0, cwnd.1 as f64));
    metrics.set(RTT_MEAN_S, rtt.map(Duration::as_secs_f64));
    metrics.set(SENT_PACKETS, sent);
    metrics.set(RETRANSMITTED_PACKETS, retransmitted);
    metrics.set(RETRANSMISSION_RATE, ratio(retransmitted, sent));
    metrics.set(FAST_RETRANSMITS, new.fast_retransmits as f64);
    metrics.set(TIMEOUTS, new.timeouts as f64);
    metrics
}
