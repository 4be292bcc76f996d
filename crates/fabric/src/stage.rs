//! A middlebox at work, in whatever world: woken when its time comes, broken down when the scenario says so, watched for the result.

use crate::fabric::Fabric;
use crate::freight::Freight;
use longhaul_middlebox::{Middlebox, Payload};
use longhaul_results::{MiddleboxFacts, MiddleboxWatch, Tables};
use longhaul_scenario::middlebox::Site;
use longhaul_scenario::{MiddleboxInstance, MiddleboxSpec};
use longhaul_units::{Duration, Instant, LinkId, MiddleboxId};

/// See above.
pub struct Stage<B> {
    /// The middlebox itself.
    pub inner: Box<dyn Middlebox<B>>,
    /// When it breaks down; [`Instant::FAR_FUTURE`] for never, and afterwards.
    fails_at: Instant,
    /// The link whose queue it observes.
    watched: Option<LinkId>,
    watch: MiddleboxWatch,
}

impl<B: Payload> Stage<B> {
    /// A middlebox of a scenario.
    pub fn new(spec: &MiddleboxSpec, instance: &MiddleboxInstance, site: &Site<'_>) -> Self {
        let inner: Box<dyn Middlebox<B>> = spec.build(site);
        let fails_at = spec.common().fail_at.map_or(Instant::FAR_FUTURE, |after| Instant::ZERO + after);
        let watched = instance.between[0].first().copied().filter(|_| inner.watches_queue());
        let watch = MiddleboxWatch::new(&*inner);
        Stage { inner, fails_at, watched, watch }
    }

    /// When it is to be called next; [`Instant::FAR_FUTURE`] for never.
    pub fn due(&self) -> Instant {
        self.inner.poll_timeout().unwrap_or(Instant::FAR_FUTURE).min(self.fails_at)
    }

    /// Its time may have come. If it breaks down now: the bytes that it holds and has acknowledged.
    pub fn wake(&mut self, now: Instant) -> Option<u64> {
        let mut at_stake = None;
        if self.fails_at <= now {
            self.fails_at = Instant::FAR_FUTURE;
            at_stake = Some(self.inner.levels().undelivered.level());
            self.inner.fail(now);
        }
        if self.inner.poll_timeout().is_some_and(|due| due <= now) {
            self.inner.handle_timeout(now);
        }
        at_stake
    }

    /// Shows it the queue that it observes, before it is asked what to send.
    pub fn observe<F: Freight>(&mut self, fabric: &mut Fabric<F>, now: Instant) {
        if let Some(link) = self.watched {
            self.inner.handle_queue(now, fabric.queue_state(link, now));
        }
    }

    /// Averages are of the time from now on.
    pub fn begin_measuring(&mut self, now: Instant) {
        self.watch.begin_measuring(&mut *self.inner, now);
    }

    /// Looks at it, the scenario's one of this number, `span` after the last look, and writes rows if there are tables.
    pub fn sample(
        &mut self,
        id: MiddleboxId,
        now: Instant,
        span: Duration,
        measuring: bool,
        tables: Option<&mut Tables>,
    ) {
        let (row, long_hops) = self.watch.sample(&*self.inner, id, now, span, measuring);
        if let Some(tables) = tables {
            tables.middleboxes.push(row);
            tables.long_hops.extend(long_hops);
        }
    }

    /// What it has done.
    pub fn facts(&self) -> MiddleboxFacts {
        self.watch.facts(&*self.inner)
    }
}
