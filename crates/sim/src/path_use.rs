//! What the flows left of their paths in each interval of `run.sample`, and what limited their senders meanwhile.

use crate::world::World;
use longhaul_tcp::LimitedTime;
use longhaul_units::{Duration, FlowId, Instant};

impl World<'_> {
    /// What comes later is measured.
    pub(crate) fn begin_path_use(&mut self) {
        self.link_watch.measure(self.now, &mut self.fabric, &self.declared);
        for flow in self.apps.ids() {
            let (limited, timeouts) = self.limits_of(flow);
            self.path_use[flow].begin(limited, timeouts);
        }
    }

    /// Adds the time since the last call, or since [`World::begin_path_use`].
    pub(crate) fn add_path_use(&mut self) {
        let span = self.now.since(self.link_watch.at);
        if span.is_zero() {
            return;
        }
        self.link_watch.measure(self.now, &mut self.fabric, &self.declared);
        let run = &self.scenario.run;
        let begin = Instant::ZERO + run.warmup;
        let whole = (Instant::ZERO + run.duration).since(begin).as_secs_f64();
        let progress = self.now.since(begin).as_secs_f64() / whole;
        for flow in self.apps.ids() {
            if !self.apps[flow].started() || self.link_watch.over[flow] {
                continue;
            }
            let limits = self.limits_of(flow);
            let places = self.data_way(flow).iter().filter_map(|link| self.recorder.places[*link]);
            let links = places.map(|place| self.link_watch.new[place]);
            let app = &self.apps[flow];
            let over = app.finished().map_or(Duration::ZERO, |at| self.now.since(at));
            self.path_use[flow].add(span, over, progress, limits, links);
            self.link_watch.over[flow] = app.stopped() || app.finished().is_some_and(|at| at <= self.now);
        }
    }

    /// Time under each limit of a flow's sender, and its timeouts, from the start to now.
    fn limits_of(&self, flow: FlowId) -> (LimitedTime, u64) {
        if let Some(udp) = &self.udp[flow] {
            return (udp.limited(self.now), 0);
        }
        if self.reused[flow].is_none() && self.quic.of(flow).is_none() {
            let sender = &self.data_sender(flow).connection;
            return (sender.limited_time(self.now), sender.stats().timeouts);
        }
        let totals = self.totals(flow);
        (totals.limited, totals.sender.timeouts)
    }
}
