//! The wire of a link: what happens to a packet between the end of its transmission and the far end. Loss, outages,
//! corruption, duplication, propagation, jitter, reordering, slots, in this order.

use crate::corruption::Corruption;
use crate::jitter::Jitter;
use crate::loss::{Model, Parameters, RandomLoss};
use crate::schedule::Schedule;
use crate::serial::LineCoder;
use crate::slots::Slots;
use crate::trace::Series;
use crate::{DropCause, LinkConfig, LossModel, LossPlace, Packet, Random, Reordering};
use longhaul_units::{Duration, Instant};

/// See above.
pub(crate) struct Wire {
    loss: Option<LossModel>,
    /// Decides on losses while a script gives their probability.
    scripted: Option<Box<Random>>,
    /// Probabilities of loss over time that were measured.
    measured: Option<(Series<f64>, Random)>,
    /// The far end detects that a frame was damaged.
    notices_damage: bool,
    jitter: Option<Jitter>,
    /// Who is overtaken, and by a random stream of its own.
    reordering: Option<(Reordering, Random)>,
    slots: Option<Box<Slots>>,
    /// No packet arrives before this without overtaking another.
    last_arrival: Instant,
    corruption: Option<Corruption>,
    /// Decides which packets arrive twice.
    duplication: Option<<RandomLoss as Parameters>::Model>,
    /// Packets damaged, and packets that arrive twice.
    pub corrupted: u64,
    pub duplicated: u64,
}

impl Wire {
    /// The wire of a link, with its model of loss if that is on the wire. What happens there may change later.
    pub fn new(
        config: &LinkConfig,
        may_change: bool,
        loss: Option<LossModel>,
        seed: u64,
        name: &str,
    ) -> Self {
        let probability = config.duplication;
        let twice = RandomLoss { probability, place: LossPlace::Wire };
        let stream = || Random::stream(seed, &format!("{name} duplication"));
        Wire {
            loss,
            scripted: (may_change || config.changes.iter().any(|change| change.loss.is_some()))
                .then(|| Box::new(Random::stream(seed, &format!("{name} scripted loss")))),
            measured: (config.trace.loss.clone())
                .map(|series| (series, Random::stream(seed, &format!("{name} measured loss")))),
            notices_damage: config.serial.is_some_and(|serial| serial.framing.notices_damage()),
            jitter: config
                .jitter
                .as_ref()
                .and_then(|spec| Jitter::new(spec, Random::stream(seed, &format!("{name} delay")))),
            reordering: config.reordering.map(|spec| (spec, Random::stream(seed, &format!("{name} jitter")))),
            slots: (config.slots.as_ref())
                .map(|spec| Box::new(Slots::new(spec, Random::stream(seed, &format!("{name} slots"))))),
            last_arrival: Instant::ZERO,
            corruption: config.corruption.map(|spec| Corruption::new(&spec, seed, name)),
            duplication: (probability.get() > 0.0).then(|| twice.start(stream())),
            corrupted: 0,
            duplicated: 0,
        }
    }

    /// What happens to a packet of `len` bytes that leaves at `now` and is not lost.
    pub fn mark(&mut self, now: Instant, len: u32, packet: &mut impl Packet) {
        if let Some(draw) = self.corruption.as_mut().and_then(|corruption| corruption.hit(now, len)) {
            self.corrupted += u64::from(packet.damage(draw));
        }
        if self.duplication.as_mut().is_some_and(|model| model.is_lost(now, len)) {
            self.duplicated += u64::from(packet.duplicate());
        }
    }

    /// When a packet of `len` bytes whose transmission ends at `departure` is at the far end, or why it will never be.
    pub fn cross<P>(
        &mut self,
        schedule: &mut Schedule,
        departure: Instant,
        len: u32,
        coder: &mut impl LineCoder<P>,
    ) -> Result<Instant, DropCause> {
        let measured = |(series, random): &mut (Series<f64>, Random)| random.uniform() < series.at(departure);
        let is_lost = match schedule.loss_at(departure) {
            Some(probability) => {
                self.scripted.as_mut().is_some_and(|random| random.uniform() < probability.get())
            }
            None => {
                self.loss.as_mut().is_some_and(|model| model.is_lost(departure, len))
                    || self.measured.as_mut().is_some_and(measured)
            }
        };
        if is_lost {
            coder.lost(self.notices_damage);
            return Err(DropCause::Loss);
        }
        if schedule.in_fade(departure) {
            coder.lost(false);
            return Err(DropCause::Outage);
        }
        if !coder.decode(departure) {
            return Err(DropCause::Unreadable);
        }
        let arrival = self.arrival(departure, schedule.delay_at(departure));
        let Some(slots) = &mut self.slots else { return Ok(arrival) };
        let Some(released) = slots.release(departure, arrival, len) else {
            coder.lost(false);
            return Err(DropCause::Loss);
        };
        self.last_arrival = released;
        Ok(released)
    }

    /// When a packet arrives that leaves at `departure` and takes `delay` without jitter.
    fn arrival(&mut self, departure: Instant, delay: Duration) -> Instant {
        let (kept, overtakes) = match &mut self.jitter {
            None => (Duration::ZERO, Duration::ZERO),
            Some(jitter @ Jitter::Moving(_)) => (jitter.delay(departure), Duration::ZERO),
            Some(jitter @ Jitter::Each(_)) => (Duration::ZERO, jitter.delay(departure)),
        };
        // A delay that shrinks does not reorder: a wire is first in, first out.
        let in_order = self.last_arrival.max(departure + delay + kept);
        if let Some((reordering, random)) = &mut self.reordering {
            if random.uniform() < reordering.probability.get() {
                return in_order + overtakes + reordering.delay;
            }
        }
        self.last_arrival = in_order;
        in_order + overtakes
    }
}
