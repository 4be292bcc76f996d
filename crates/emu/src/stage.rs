//! Middleboxes as stages for real packets: the objects that are nodes of the simulation, with the bytes of the payload for a
//! body. What they cannot read (fragments, wrong checksums, anything but TCP) passes untouched and is counted.

use crate::Error;
use longhaul_middlebox::{Established, Middlebox, PrematureAck, Snoop};
use longhaul_results::{Metrics, MiddleboxSummary};
use longhaul_scenario::{MiddleboxInstance, MiddleboxSpec, Network, Scenario};
use longhaul_units::Instant;
use std::sync::Arc;

/// The payload of a packet.
pub(crate) type Payload = Arc<[u8]>;

/// A middlebox at work.
pub(crate) struct Stage {
    pub inner: Box<dyn Middlebox<Payload>>,
    /// When it breaks down; [`Instant::FAR_FUTURE`] for never, and afterwards.
    pub fails_at: Instant,
    /// Its counters at the end of the warm-up.
    baseline: Vec<(&'static str, u64)>,
}

impl Stage {
    /// A middlebox as the scenario says.
    ///
    /// # Errors
    /// A kind that is not for real packets.
    pub fn new(scenario: &Scenario, instance: &MiddleboxInstance) -> Result<Stage, Error> {
        let spec = &scenario.middlebox[instance.spec];
        let inner: Box<dyn Middlebox<Payload>> = match spec {
            MiddleboxSpec::PrematureAck(spec) => {
                Box::new(PrematureAck::new(spec.settings(), Established::default()))
            }
            MiddleboxSpec::Snoop(spec) => Box::new(Snoop::new(spec.settings())),
            _ => {
                return Err(Error::Unsupported(format!(
                    "middlebox \"{}\": the emulator has none of kind \"{}\"; the simulator has",
                    instance.name,
                    spec.kind()
                )));
            }
        };
        let fails_at = spec.common().fail_at.map_or(Instant::FAR_FUTURE, |after| Instant::ZERO + after);
        let baseline = inner.counters();
        Ok(Stage { inner, fails_at, baseline })
    }

    /// When it next wants to be woken.
    pub fn due(&self) -> Instant {
        self.inner.poll_timeout().unwrap_or(Instant::FAR_FUTURE).min(self.fails_at)
    }

    /// It is time.
    pub fn wake(&mut self, now: Instant) {
        if self.fails_at <= now {
            self.fails_at = Instant::FAR_FUTURE;
            self.inner.fail(now);
        }
        if self.inner.poll_timeout().is_some_and(|due| due <= now) {
            self.inner.handle_timeout(now);
        }
    }

    pub fn begin_measuring(&mut self, now: Instant) {
        self.baseline = self.inner.counters();
        self.inner.begin_measuring(now);
    }

    pub fn summary(
        &self,
        scenario: &Scenario,
        network: &Network,
        index: usize,
        now: Instant,
    ) -> MiddleboxSummary {
        let instance = &network.middleboxes[index];
        let mut metrics = Metrics::default();
        let levels = self.inner.levels();
        if let Some(packets) = &levels.packets {
            metrics.set("buffer_mean_packets", packets.mean(now));
            metrics.set("buffer_max_packets", packets.max() as f64);
        }
        metrics.set("buffer_mean_bytes", levels.bytes.mean(now));
        metrics.set("buffer_max_bytes", levels.bytes.max() as f64);
        metrics.set("undelivered_mean_bytes", levels.undelivered.mean(now));
        metrics.set("undelivered_max_bytes", levels.undelivered.max() as f64);
        for ((name, count), (_, before)) in self.inner.counters().into_iter().zip(&self.baseline) {
            metrics.set(name, (count - before) as f64);
        }
        MiddleboxSummary {
            name: instance.name.clone(),
            kind: scenario.middlebox[instance.spec].kind(),
            at: instance.nodes.iter().map(|node| network.nodes[*node].clone()).collect(),
            flows: instance.flows.len(),
            metrics,
            long_hop: vec![],
        }
    }
}
