//! What is written down while packets move: time series of links, drops, what was on the links when the warm-up ended, and
//! captured packets.

use crate::capture::Taps;
use crate::clock::Clock;
use crate::driver::Watcher;
use crate::frame::Frame;
use crate::lateness::Lateness;
use crate::world::{FlowCounters, Observer, World};
use longhaul_path::DropCause;
use longhaul_results::{EventRow, LinkSnapshot, ListedDrops, Tables, drop_kind};
use longhaul_scenario::{Network, Scenario};
use longhaul_units::{DeclaredId, Duration, FlowId, IdVec, Instant, LinkId, MiddleboxId};

/// See above.
pub struct Recorder {
    /// Time series.
    pub tables: Tables,
    /// Links of the document.
    pub declared: IdVec<DeclaredId, LinkId>,
    /// Counters of the links at the end of the warm-up.
    pub links_before: IdVec<DeclaredId, LinkSnapshot>,
    /// Counters of the flows at the end of the warm-up.
    pub flows_before: IdVec<FlowId, FlowCounters>,
    /// Most packets in the queue of each link while measured.
    pub peaks: IdVec<DeclaredId, u64>,
    /// Captured packets.
    pub taps: Taps,
    places: IdVec<LinkId, Option<DeclaredId>>,
    samples: IdVec<DeclaredId, LinkSnapshot>,
    interval: Duration,
    next_sample: Instant,
    last_sample: Instant,
    /// `None` once it is over.
    warmup_end: Option<Instant>,
    drops: ListedDrops,
}

impl Recorder {
    /// A recorder for a run of the scenario.
    pub fn new(scenario: &Scenario, network: &Network, taps: Taps) -> Self {
        let declared = network.declared();
        Recorder {
            tables: Tables::default(),
            links_before: IdVec::filled(LinkSnapshot::default(), declared.len()),
            flows_before: IdVec::filled(FlowCounters::default(), network.flows.len()),
            peaks: IdVec::filled(0, declared.len()),
            samples: IdVec::filled(LinkSnapshot::default(), declared.len()),
            declared,
            places: network.places(),
            taps,
            interval: scenario.run.sample,
            next_sample: Instant::ZERO + scenario.run.sample,
            last_sample: Instant::ZERO,
            warmup_end: Some(Instant::ZERO + scenario.run.warmup),
            drops: ListedDrops::default(),
        }
    }

    fn end_warmup(&mut self, now: Instant, world: &mut World) {
        self.warmup_end = None;
        world.begin_measuring(now);
        self.flows_before.clone_from(&world.flows);
        for (place, link) in self.declared.enumerated() {
            let link = world.link(*link);
            link.measure_waits(now);
            self.peaks[place] = 0;
            self.links_before[place] = LinkSnapshot::of(link, now);
        }
    }

    /// True if some single drops are missing in the list of events.
    pub fn drops_left_out(&self) -> bool {
        self.drops.left_out()
    }

    /// Takes a sample of all links and middleboxes.
    pub fn sample(&mut self, now: Instant, world: &mut World) {
        for (place, link) in self.declared.enumerated() {
            let link = world.link(*link);
            let peak = link.take_peak(now);
            self.peaks[place] = self.peaks[place].max(peak);
            self.tables.links.extend(self.samples[place].row(link, now, place, peak));
            self.samples[place] = LinkSnapshot::of(link, now);
        }
        let span = now.since(std::mem::replace(&mut self.last_sample, now));
        if !span.is_zero() {
            world.sample_middleboxes(now, span, self.warmup_end.is_none(), &mut self.tables);
        }
    }
}

impl Recorder {
    fn note_drop(&mut self, now: Instant, kind: &'static str, link: Option<DeclaredId>, frame: &Frame) {
        if !self.drops.count() {
            return;
        }
        let flow = Some(frame.flow).filter(|flow| *flow != Frame::NO_FLOW);
        self.tables.events.push(EventRow::new(now, kind, flow, link, frame.packet().len() as f64));
    }
}

impl Observer for Recorder {
    fn offered(&mut self, now: Instant, link: LinkId, frame: &Frame) {
        self.taps.offered(now, link, frame);
    }
    fn delivered(&mut self, now: Instant, link: LinkId, frame: &Frame) {
        self.taps.delivered(now, link, frame);
    }
    fn entered(&mut self, now: Instant, middlebox: MiddleboxId, frame: &Frame) {
        self.taps.entered(now, middlebox, frame);
    }
    fn left(&mut self, now: Instant, middlebox: MiddleboxId, frame: &Frame) {
        self.taps.left(now, middlebox, frame);
    }

    fn refused(&mut self, now: Instant, frame: &Frame) {
        self.note_drop(now, "checksum", None, frame);
    }

    fn left_behind(&mut self, now: Instant, link: LinkId, frame: &Frame) {
        self.note_drop(now, "left_behind", self.places[link], frame);
    }

    fn dropped(&mut self, now: Instant, link: LinkId, frame: &Frame, cause: DropCause) {
        self.note_drop(now, drop_kind(cause), self.places[link], frame);
    }
}

impl Watcher for Recorder {
    fn begin(&mut self, clock: Clock) {
        self.taps.begin(clock);
    }

    fn next(&self) -> Instant {
        self.warmup_end.map_or(self.next_sample, |end| end.min(self.next_sample))
    }

    fn look(&mut self, now: Instant, world: &mut World, _lateness: &Lateness) {
        if self.warmup_end.is_some_and(|end| end <= now) {
            self.end_warmup(now, world);
        }
        if self.next_sample <= now {
            self.sample(now, world);
            // A sample that was missed is not made up for.
            while self.next_sample <= now {
                self.next_sample += self.interval;
            }
        }
    }
}
