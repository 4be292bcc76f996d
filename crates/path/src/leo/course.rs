//! What a link over satellites does over the time of a run: its delay, and when nothing gets through.

use super::LeoSpec;
use super::routes::{Chooser, Route};
use super::sky::{Point, Sky, Walker};
use crate::jitter::Draws;
use crate::{Outage, Random, Series};
use longhaul_units::Duration;

/// What a link over satellites does in the time of a run.
#[derive(Clone, PartialEq, Debug)]
pub struct Course {
    /// The delay over time, in steps of 0.1 s while a satellite carries the link; `None` if none is ever in sight.
    pub delay: Option<Series<Duration>>,
    /// Handovers, and times without a satellite.
    pub outages: Vec<Outage>,
    /// The highest elevation of any satellite in a slot without a way, above the terminal and above the gateway, in degrees.
    pub highest: [f64; 2],
}

/// A delay is that in the middle of so long: a satellite at 550 km moves by 0.8 km, which is 3 us.
const STEP: Duration = Duration::from_millis(100);
/// Satellites of all slots: some seconds to compute.
const MOST_POSITIONS: u64 = 100_000_000;
/// km/s.
pub(super) const LIGHT: f64 = 299_792.458;

impl LeoSpec {
    /// What the link does in the first `length` of a run, under satellites of its constellation.
    ///
    /// # Errors
    /// If that is too much to compute: the field, and the reason.
    pub fn course(&self, length: Duration) -> Result<Course, (&'static str, String)> {
        self.course_under(&Walker::new(self.orbits()), length)
    }

    /// The same under other satellites.
    ///
    /// # Errors
    /// If that is too much to compute: the field, and the reason.
    pub fn course_under(&self, sky: &dyn Sky, length: Duration) -> Result<Course, (&'static str, String)> {
        let slots = length.as_nanos() / self.slot_ns() + 1;
        if slots.saturating_mul(sky.count() as u64) > MOST_POSITIONS {
            let message = format!(
                "{slots} slots with {} satellites are more than {MOST_POSITIONS} positions: longer slots, a shorter run or fewer satellites",
                sky.count()
            );
            return Err(("slot", message));
        }
        let [terminal, gateway] = [self.terminal, self.gateway]
            .map(|place| Point::on_ground(place.latitude, place.longitude, self.elevation(place)));
        let mut chooser = Chooser::new(sky, terminal, gateway, self.choice, self.relay);
        let mut scheduling = self.scheduling.as_ref().map(|scheduling| {
            scheduling.draws(self.scheduling_correlation, Random::stream(0, "scheduling of slots"))
        });
        let (mut delays, mut outages, mut highest) = (vec![], vec![], [-90f64; 2]);
        let mut before: Option<Route> = None;
        let mut begin = Duration::ZERO;
        while begin < length {
            let end = self.slot_after(begin).min(length);
            let added = scheduling.as_mut().map_or(Duration::ZERO, Draws::next);
            let outage = |duration| Outage { start: begin, duration, mode: self.handover_mode };
            match chooser.route(self.seconds(begin)) {
                Err(seen) => {
                    outages.push(outage(end.saturating_sub(begin)));
                    highest = [0, 1].map(|side| highest[side].max(seen[side]));
                }
                Ok(route) => {
                    let is_other = before.is_some_and(|before| !before.has_ends_of(&route));
                    if is_other && !self.handover.is_zero() {
                        outages.push(outage(self.handover));
                    }
                    let constant = self.processing + added;
                    let mut at = begin;
                    while at < end {
                        let middle =
                            at + Duration::from_nanos(STEP.min(end.saturating_sub(at)).as_nanos() / 2);
                        let km = route.length_km(sky, &terminal, &gateway, self.seconds(middle));
                        delays.push((at, constant + Duration::from_secs_f64(km / LIGHT)));
                        at += STEP;
                    }
                    before = Some(route);
                }
            }
            begin = end;
        }
        let delay = (!delays.is_empty()).then(|| Series::new(&delays, length, Duration::ZERO));
        Ok(Course { delay, outages, highest })
    }

    /// Seconds of the constellation's time.
    fn seconds(&self, run: Duration) -> f64 {
        (self.begin + run).as_secs_f64()
    }

    /// When the next slot begins after `time`.
    pub(super) fn slot_after(&self, time: Duration) -> Duration {
        let slot = self.slot_ns();
        let first = self.phase.as_nanos() % slot;
        let next = if time.as_nanos() < first {
            first
        } else {
            first + ((time.as_nanos() - first) / slot + 1) * slot
        };
        Duration::from_nanos(next)
    }
}
