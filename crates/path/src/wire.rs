//! The wire of a link: what happens to a packet between the end of its transmission and the far end. Loss, outages,
//! corruption, duplication, propagation, jitter, reordering, in this order.

use crate::corruption::Corruption;
use crate::loss::{Model, Parameters, RandomLoss};
use crate::schedule::Schedule;
use crate::serial::LineCoder;
use crate::{DropCause, LinkConfig, LossModel, LossPlace, Packet, Random, Reordering};
use longhaul_units::{Duration, Instant};

/// See above.
pub(crate) struct Wire {
    loss: Option<LossModel>,
    /// The far end detects that a frame was damaged.
    notices_damage: bool,
    jitter: Duration,
    reordering: Option<Reordering>,
    /// For jitter and reordering.
    random: Option<Random>,
    last_arrival: Instant,
    corruption: Option<Corruption>,
    /// Decides which packets arrive twice.
    duplication: Option<<RandomLoss as Parameters>::Model>,
    /// Packets damaged, and packets that arrive twice.
    pub corrupted: u64,
    pub duplicated: u64,
}

impl Wire {
    /// The wire of a link, with its model of loss if that is on the wire.
    pub fn new(config: &LinkConfig, loss: Option<LossModel>, seed: u64, name: &str) -> Self {
        let probability = config.duplication;
        let twice = RandomLoss { probability, place: LossPlace::Wire };
        let stream = || Random::stream(seed, &format!("{name} duplication"));
        let draws = !config.jitter.is_zero() || config.reordering.is_some();
        Wire {
            loss,
            notices_damage: config.serial.is_some_and(|serial| serial.framing.notices_damage()),
            jitter: config.jitter,
            reordering: config.reordering,
            random: draws.then(|| Random::stream(seed, &format!("{name} jitter"))),
            last_arrival: Instant::ZERO,
            corruption: config.corruption.map(|spec| Corruption::new(&spec, seed, name)),
            duplication: (probability.get() > 0.0).then(|| twice.start(stream())),
            corrupted: 0,
            duplicated: 0,
        }
    }

    /// What happens to a packet of `len` bytes that is not lost.
    pub fn mark(&mut self, len: u32, packet: &mut impl Packet) {
        if let Some(draw) = self.corruption.as_mut().and_then(|corruption| corruption.hit(len)) {
            self.corrupted += u64::from(packet.damage(draw));
        }
        if self.duplication.as_mut().is_some_and(|model| model.is_lost(len)) {
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
        if self.loss.as_mut().is_some_and(|model| model.is_lost(len)) {
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
        Ok(self.arrival(departure + schedule.delay_at(departure)))
    }

    /// When a packet arrives that takes until `soonest` without jitter.
    fn arrival(&mut self, soonest: Instant) -> Instant {
        let mut arrival = soonest;
        if let Some(random) = self.random.as_mut().filter(|_| !self.jitter.is_zero()) {
            arrival += Duration::from_nanos(random.up_to(self.jitter.as_nanos()));
        }
        // Jitter and a delay that shrinks do not reorder: a wire is first in, first out.
        arrival = arrival.max(self.last_arrival);
        if let (Some(reordering), Some(random)) = (self.reordering, &mut self.random) {
            if random.uniform() < reordering.probability.get() {
                return arrival + reordering.delay;
            }
        }
        self.last_arrival = arrival;
        arrival
    }
}
