//! Counters of the world, looked at: when the warm-up ends, at each sample, and at the end.

use crate::line::CompressedLine;
use crate::monitor::FlowMonitor;
use crate::recorder::Recorder;
use crate::reused::Reused;
use crate::totals::Totals;
use crate::world::{FlowSample, World};
use longhaul_cc::Inspection;
use longhaul_results::{CcRow, FlowRow, LinkSnapshot, ReductionTimes};
use longhaul_units::{DeclaredId, Duration, EndpointId, FlowId};

impl World<'_> {
    /// Counters of a flow from its start to now.
    pub fn totals(&self, flow: FlowId) -> Totals {
        let (first, side) = (self.first_connection(flow), self.data_side(flow));
        let over_quic = self.quic.of(flow);
        let over_quic = over_quic.map(|(quic, place)| quic.totals(self.now, place, side));
        let over_udp = self.udp[flow].as_deref().map(|udp| udp.totals(self.now));
        let mut totals = match &self.reused[flow] {
            _ if over_quic.is_some() => over_quic.unwrap_or_default(),
            _ if over_udp.is_some() => over_udp.unwrap_or_default(),
            None => self.totals_of_connection(first.end(side)),
            Some(reused) => {
                let open = reused.open_pairs().map(|pair| first.after(pair).end(side));
                open.fold(reused.ended, |mut sum, sender| {
                    sum.merge(&self.totals_of_connection(sender));
                    sum
                })
            }
        };
        totals.lost = self.recorder.lost[flow];
        totals.made = self.recorder.made[flow];
        totals
    }

    /// Counters of one connection, without what was lost.
    pub fn totals_of_connection(&self, sender: EndpointId) -> Totals {
        let [sender, receiver] = [sender, sender.peer()].map(|endpoint| &self.endpoints[endpoint].connection);
        Totals::of(sender, receiver, self.now)
    }

    /// Takes note of all counters: what comes later is measured.
    pub fn end_warmup(&mut self) {
        for flow in self.apps.ids() {
            self.flow_baseline[flow] = self.totals(flow);
            self.reductions[flow] = ReductionTimes::default();
            self.apps[flow].clear_times(self.now);
            self.udp[flow].iter_mut().for_each(|udp| udp.measure_anew());
        }
        for (place, link) in self.declared.enumerated() {
            self.link_baseline[place] = LinkSnapshot::of(self.fabric.link(*link), self.now);
            self.line_baseline[place] =
                self.fabric.line(*link).map(CompressedLine::stats).unwrap_or_default();
            self.fabric.link(*link).measure_waits(self.now);
            self.fabric.link(*link).take_peak(self.now);
            self.queue_peak[place] = 0;
        }
        self.recorder.monitors.iter_mut().flatten().for_each(FlowMonitor::end_warmup);
        self.begin_measuring_middleboxes();
        self.begin_path_use();
    }

    /// Writes a row for each flow and each link, and adds to the means. `measuring` is false during the warm-up.
    pub fn sample(&mut self, measuring: bool) {
        let span = self.now.since(self.last_sample);
        self.last_sample = self.now;
        for place in self.declared.ids() {
            self.sample_link(place);
        }
        for flow in self.apps.ids() {
            self.sample_flow(flow, span, measuring);
        }
        self.sample_middleboxes(span, measuring);
        if measuring {
            self.add_path_use();
        }
        if self.recorder.recording && !span.is_zero() {
            let Recorder { monitors, tables, .. } = &mut self.recorder;
            monitors.iter_mut().flatten().for_each(|monitor| monitor.sample(self.now, &mut tables.monitors));
        }
    }

    fn sample_link(&mut self, place: DeclaredId) {
        let now = self.now;
        let link = self.fabric.link(self.declared[place]);
        let peak = link.take_peak(now);
        self.queue_peak[place] = self.queue_peak[place].max(peak);
        if !self.recorder.recording {
            return;
        }
        if let Some(row) = self.link_samples[place].row(link, now, place, peak) {
            self.link_samples[place] = LinkSnapshot::of(link, now);
            self.recorder.tables.links.push(row);
        }
    }

    fn sample_flow(&mut self, flow: FlowId, span: Duration, measuring: bool) {
        let app = &self.apps[flow];
        if !app.started() {
            return;
        }
        // A receiver that was served ahead may have finished at a time that is still to come.
        let ended = app.stopped() || app.finished().is_some_and(|at| at < self.now);
        let (sample, state) = match &self.reused[flow] {
            None => self.connection_sample(flow),
            Some(reused) => self.sample_of_several(flow, reused),
        };
        if measuring && !ended && self.udp[flow].is_none() {
            self.cwnd_mean[flow].add(state.cwnd_bytes);
        }
        if !(self.recorder.recording || self.scenario.run.peak_goodput) || span.is_zero() {
            return;
        }
        let before = std::mem::replace(&mut self.flow_samples[flow], sample);
        let per_second = |bytes: u64| bytes as f64 * 8.0 / span.as_secs_f64();
        let goodput_bps = per_second(sample.received - before.received);
        if self.scenario.run.peak_goodput && measuring && span == self.scenario.run.sample {
            let largest = &mut self.goodput_max[flow];
            *largest = Some(largest.map_or(goodput_bps, |most| most.max(goodput_bps)));
        }
        if !self.recorder.recording {
            return;
        }
        if self.scenario.run.inspect && !ended {
            self.inspect(flow);
        }
        let row = FlowRow {
            time_s: self.now.as_secs_f64(),
            flow: flow.0,
            throughput_bps: per_second(sample.sent_bytes - before.sent_bytes),
            goodput_bps,
            retransmits: (sample.retransmitted - before.retransmitted) as u32,
            ..state
        };
        self.recorder.tables.flows.push(row);
    }

    /// Records what goes on inside the congestion control of a flow that is one connection.
    fn inspect(&mut self, flow: FlowId) {
        let mut inspection = Inspection::default();
        match self.quic.of(flow) {
            Some((quic, _)) => quic.inspect(self.data_side(flow), &mut inspection),
            None if self.reused[flow].is_some() || self.udp[flow].is_some() => return,
            None => self.data_sender(flow).connection.congestion_control().inspect(&mut inspection),
        }
        let (time_s, flow) = (self.now.as_secs_f64(), flow.0);
        let rows = inspection.readings().iter().map(|reading| CcRow {
            time_s,
            flow,
            name: reading.name,
            unit: reading.unit,
            value: reading.value,
        });
        self.recorder.tables.cc.extend(rows);
    }

    /// Counters and state of a flow that is one connection.
    fn connection_sample(&self, flow: FlowId) -> (FlowSample, FlowRow) {
        if let Some((quic, _)) = self.quic.of(flow) {
            let (totals, side) = (self.totals(flow), self.data_side(flow));
            let sample = FlowSample {
                sent_bytes: totals.sender.data_bytes_sent,
                received: totals.delivered,
                retransmitted: totals.sender.retransmitted_segments,
            };
            return (sample, quic.row(side));
        }
        if self.udp[flow].is_some() {
            let totals = self.totals(flow);
            let sample = FlowSample {
                sent_bytes: totals.sender.data_bytes_sent,
                received: totals.delivered,
                retransmitted: 0,
            };
            return (sample, FlowRow::default());
        }
        let sender = &self.data_sender(flow).connection;
        let stats = sender.stats();
        let sample = FlowSample {
            sent_bytes: stats.data_bytes_sent,
            received: self.data_receiver(flow).connection.received_bytes(),
            retransmitted: stats.retransmitted_segments,
        };
        let ssthresh = Some(sender.ssthresh()).filter(|bytes| *bytes < u64::MAX);
        let state = FlowRow {
            cwnd_bytes: sender.cwnd() as f64,
            ssthresh_bytes: ssthresh.map(|bytes| bytes as f64),
            flight_bytes: sender.flight_size() as f64,
            srtt_s: (stats.rtt_samples > 0).then(|| sender.srtt().as_secs_f64()),
            rto_s: sender.rto().as_secs_f64(),
            peer_window_bytes: sender.peer_window() as f64,
            ..FlowRow::default()
        };
        (sample, state)
    }

    /// The same of a flow with several connections: windows and flights are sums over the open ones.
    fn sample_of_several(&self, flow: FlowId, reused: &Reused) -> (FlowSample, FlowRow) {
        let totals = self.totals(flow);
        let sample = FlowSample {
            sent_bytes: totals.sender.data_bytes_sent,
            received: totals.delivered,
            retransmitted: totals.sender.retransmitted_segments,
        };
        let mut state = FlowRow::default();
        for pair in reused.open_pairs() {
            let sender = self.first_connection(flow).after(pair).end(self.data_side(flow));
            let sender = &self.endpoints[sender].connection;
            state.cwnd_bytes += sender.cwnd() as f64;
            state.flight_bytes += sender.flight_size() as f64;
            state.peer_window_bytes += sender.peer_window() as f64;
            state.rto_s = state.rto_s.max(sender.rto().as_secs_f64());
        }
        (sample, state)
    }
}
