//! A link over satellites that move: which satellite carries it in each time slot, and with that its delay over time and its handovers.
//!
//! Orbits are circles whose planes turn slowly (the term J2 of the Earth's flattening); places are on a sphere of the Earth's mean
//! radius. Against an ellipsoid, distances are wrong by at most 21 km, which is 0.07 ms.

mod course;
mod routes;
mod sky;

use crate::OutageMode;
use crate::jitter::Distribution;
use crate::settings::{Deserialize, JsonSchema, Serialize};
pub use course::Course;
use longhaul_units::{Duration, Probability};
use sky::Orbits;
pub use sky::{Sky, Vector};
use std::sync::Arc;

/// Constellations whose figures are public. Operators do not publish how satellites of neighbouring planes are shifted: `phasing` is 1.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Constellation {
    /// Starlink's first shell (FCC, SAT-MOD-20190830-00087): 72 planes of 22 at 550 km and 53 degrees.
    #[default]
    Starlink,
    /// OneWeb's first generation (FCC, SAT-LOI-20160428-00041, as launched): 12 planes of 49 at 1200 km and 87.9 degrees.
    Oneweb,
    /// Kuiper's first shell (FCC, SAT-LOA-20190704-00057): 34 planes of 34 at 630 km and 51.9 degrees.
    Kuiper,
    /// Iridium: 6 planes of 11 at 780 km and 86.4 degrees.
    Iridium,
    /// O3b, in medium orbits above the equator: 20 satellites at 8062 km.
    O3b,
    /// One geostationary satellite, above the equator at `longitude`.
    Geo,
}

/// Which satellite of a bent pipe carries a link in a slot, of those that both ends see.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Choice {
    /// The one that stands highest above the terminal, chosen anew in each slot.
    #[default]
    Highest,
    /// The one of the slot before while it is in sight; then the highest.
    Stay,
    /// Any of them, chosen anew in each slot; the same in every run.
    Random,
}

/// How satellites pass packets on.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Relay {
    /// One satellite, which both ends see (bent pipe).
    #[default]
    BentPipe,
    /// From satellite to satellite by laser, each to two neighbours in its plane and one in each plane beside it, on the shortest way of
    /// all that begin above the terminal and end above the gateway.
    Lasers,
}

/// A place on the ground.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Place {
    /// Degrees to the north of the equator; to the south negative.
    #[schemars(range(min = -90.0, max = 90.0))]
    pub latitude: f64,
    /// Degrees to the east of Greenwich; to the west negative.
    #[schemars(range(min = -180.0, max = 180.0))]
    pub longitude: f64,
    /// Least elevation of a satellite above the horizon, in degrees. If it is not given: 8.2 for Iridium, 35 for Kuiper, 5 for O3b and a
    /// geostationary satellite, 25 otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("minimum" = 0, "exclusiveMaximum" = 90))]
    pub elevation: Option<f64>,
}

/// Orbits of real satellites, from a file.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ElementsSpec {
    /// A file of two-line elements (TLE), with or without lines of names; a relative path begins at the scenario file.
    pub file: String,
    /// Universal time at the start of the run, as in `"2026-11-29T12:00:00Z"`: at most 30 days from that of the elements.
    pub time: String,
    /// The digest of what was read, which is written into the resolved scenario: with it, another content of the file is refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
}

/// A link over satellites, from a terminal to a gateway.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LeoSpec {
    /// Where the terminal is.
    pub terminal: Place,
    /// Where the gateway is.
    pub gateway: Place,
    /// The constellation; what is given beside it differs from it.
    #[serde(default)]
    pub constellation: Constellation,
    /// Altitude of the orbits in km.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 160.0, max = 40000.0))]
    pub altitude_km: Option<f64>,
    /// Inclination of the orbits in degrees.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0, max = 180.0))]
    pub inclination: Option<f64>,
    /// Number of orbital planes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 200))]
    pub planes: Option<u32>,
    /// Satellites of each plane.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 200))]
    pub satellites: Option<u32>,
    /// How far a satellite is ahead of its neighbour in the plane before, in parts of 360 degrees by the number of all satellites
    /// (Walker's F).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 199))]
    pub phasing: Option<u32>,
    /// Degrees over which the planes are spread: 360 (Walker's delta) or 180 (star, for polar orbits).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 360))]
    pub spread: Option<f64>,
    /// Degrees east of Greenwich of the first plane where it crosses the equator to the north, without `begin`; of a geostationary
    /// satellite its place.
    #[serde(default, skip_serializing_if = "is_greenwich")]
    #[schemars(range(min = -180.0, max = 180.0))]
    pub longitude: f64,
    /// Satellites by their orbital elements, in the place of a constellation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub elements: Option<ElementsSpec>,
    /// Which satellite carries the link.
    #[serde(default)]
    pub choice: Choice,
    /// How satellites pass packets on.
    #[serde(default)]
    pub relay: Relay,
    /// How long a choice holds.
    #[serde(default = "slot")]
    #[schemars(extend("x-minimum" = "1 s", "x-maximum" = "1 h"))]
    pub slot: Duration,
    /// When the first slot after the start of the run begins.
    #[serde(default, skip_serializing_if = "is_zero")]
    #[schemars(extend("x-maximum" = "1 h"))]
    pub phase: Duration,
    /// At the start of the run, satellites are where they are so long after the first of each plane has passed the equator to the north
    /// (the first plane at Greenwich).
    #[serde(default, skip_serializing_if = "is_zero")]
    #[schemars(extend("x-maximum" = "8760 h"))]
    pub begin: Duration,
    /// What is added to the propagation, one way: processing, frames, the way from the gateway on.
    #[serde(default, skip_serializing_if = "is_zero")]
    #[schemars(extend("x-maximum" = "1 s"))]
    pub processing: Duration,
    /// What scheduling adds in each slot beside that, one way; drawn for each slot, the same in every run.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "crate::jitter::short::given"
    )]
    #[schemars(schema_with = "crate::jitter::short::distribution_schema")]
    pub scheduling: Option<Distribution>,
    /// How much what scheduling adds resembles that of the slot before (autocorrelation of the normal numbers behind the draws).
    #[serde(default, skip_serializing_if = "is_never")]
    pub scheduling_correlation: Probability,
    /// How long nothing gets through when another satellite takes over. Where no satellite is in sight, nothing does until the next slot.
    #[serde(default, skip_serializing_if = "is_zero")]
    #[schemars(extend("x-maximum" = "1 s"))]
    pub handover: Duration,
    /// What happens to packets meanwhile.
    #[serde(default)]
    pub handover_mode: OutageMode,
    /// What follows from all that, over the time of a run.
    #[serde(skip)]
    pub course: Option<Arc<Course>>,
}

fn slot() -> Duration {
    Duration::from_secs(15)
}
#[allow(clippy::trivially_copy_pass_by_ref)] // serde's signature
fn is_zero(duration: &Duration) -> bool {
    duration.is_zero()
}

#[allow(clippy::trivially_copy_pass_by_ref, clippy::float_cmp)] // serde's signature, and a default is written as it is
fn is_greenwich(longitude: &f64) -> bool {
    *longitude == 0.0
}
#[allow(clippy::trivially_copy_pass_by_ref)] // serde's signature
fn is_never(probability: &Probability) -> bool {
    probability.get() == 0.0
}

impl LeoSpec {
    /// What types and ranges do not check.
    ///
    /// # Errors
    /// The field, and what is wrong with it.
    pub fn check(&self) -> Result<(), (&'static str, String)> {
        let planes = self.orbits().planes;
        if self.elements.is_some() && self.relay == Relay::Lasers {
            let message =
                "elements do not name which satellites have lasers to which: write relay = \"bent_pipe\"";
            return Err(("relay", message.to_string()));
        }
        if self.phasing.is_some_and(|phasing| phasing >= planes) {
            return Err(("phasing", format!("it must be less than the number of planes, {planes}")));
        }
        if self.handover >= self.slot {
            return Err(("handover", format!("it must be shorter than a slot, {}", self.slot)));
        }
        let own = [
            ("altitude_km", self.altitude_km.is_some()),
            ("inclination", self.inclination.is_some()),
            ("planes", self.planes.is_some()),
            ("satellites", self.satellites.is_some()),
            ("phasing", self.phasing.is_some()),
            ("spread", self.spread.is_some()),
            ("longitude", self.longitude != 0.0),
        ];
        if let (Some(_), Some((field, _))) = (&self.elements, own.into_iter().find(|(_, given)| *given)) {
            return Err((
                field,
                "has no effect beside `elements`, which have orbits of their own".to_string(),
            ));
        }
        if self.scheduling.is_none() && self.scheduling_correlation.get() > 0.0 {
            return Err(("scheduling_correlation", "has no effect without `scheduling`".to_string()));
        }
        if self.relay == Relay::Lasers && self.choice != Choice::Highest {
            let message =
                "has no effect with lasers: the way is the shortest of all that begin above the terminal";
            return Err(("choice", message.to_string()));
        }
        if let Some(Err(message)) = self.scheduling.as_ref().map(|given| given.check("processing")) {
            return Err(("scheduling", message));
        }
        match &self.course {
            Some(course) if course.delay.is_none() => Err(self.why_dark(course)),
            _ => Ok(()),
        }
    }

    /// Why a link never has a satellite.
    fn why_dark(&self, course: &Course) -> (&'static str, String) {
        let ends = [("terminal", self.terminal), ("gateway", self.gateway)].into_iter().zip(course.highest);
        for ((name, place), highest) in ends {
            let least = self.elevation(place);
            if highest < least {
                let message = format!(
                    "no satellite stands higher than {highest:.1} degrees above it in this run, and its elevation must be {least} or more"
                );
                return (name, message);
            }
        }
        let message = match self.relay {
            Relay::BentPipe => {
                "each end sees satellites, but never the same one: a gateway that is nearer, or relay = \"lasers\""
            }
            Relay::Lasers => {
                "no lasers lead from the satellites above the terminal to those above the gateway"
            }
        };
        ("gateway", message.to_string())
    }

    /// The least elevation of satellites at a place, in degrees.
    fn elevation(&self, place: Place) -> f64 {
        place.elevation.unwrap_or(match self.constellation {
            Constellation::Iridium => 8.2,
            Constellation::Kuiper => 35.0,
            Constellation::O3b | Constellation::Geo => 5.0,
            Constellation::Starlink | Constellation::Oneweb => 25.0,
        })
    }

    /// How long a choice holds, in ns: a setting out of range is cut to it, as links are built before they are checked.
    fn slot_ns(&self) -> u64 {
        self.slot.as_nanos().max(1_000_000_000)
    }

    /// The orbits: those of the constellation, and what differs. Numbers out of range are cut to it, as links are built before they are
    /// checked.
    fn orbits(&self) -> Orbits {
        let (altitude, inclination, planes, satellites, spread) = match self.constellation {
            Constellation::Starlink => (550.0, 53.0, 72, 22, 360.0),
            Constellation::Oneweb => (1200.0, 87.9, 12, 49, 180.0),
            Constellation::Kuiper => (630.0, 51.9, 34, 34, 360.0),
            Constellation::Iridium => (780.0, 86.4, 6, 11, 180.0),
            Constellation::O3b => (8062.0, 0.0, 1, 20, 360.0),
            // The radius at which Kepler's law has a sidereal day.
            Constellation::Geo => (42_164.17 - sky::EARTH, 0.0, 1, 1, 360.0),
        };
        let planes = self.planes.unwrap_or(planes).clamp(1, 200);
        Orbits {
            altitude_km: self.altitude_km.unwrap_or(altitude).clamp(160.0, 40_000.0),
            inclination: self.inclination.unwrap_or(inclination).to_radians(),
            planes,
            satellites: self.satellites.unwrap_or(satellites).clamp(1, 200),
            phasing: self.phasing.unwrap_or(u32::from(planes > 1)),
            spread: self.spread.unwrap_or(spread).to_radians(),
            longitude: self.longitude.to_radians(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::course::LIGHT;
    use super::*;

    const KIEL: Place = Place { latitude: 54.3, longitude: 10.2, elevation: None };
    const NEAR: Place = Place { latitude: 52.0, longitude: 8.0, elevation: None };

    fn spec(terminal: Place, gateway: Place) -> LeoSpec {
        LeoSpec {
            terminal,
            gateway,
            constellation: Constellation::Starlink,
            altitude_km: None,
            inclination: None,
            planes: None,
            satellites: None,
            phasing: None,
            spread: None,
            longitude: 0.0,
            elements: None,
            choice: Choice::Highest,
            relay: Relay::BentPipe,
            slot: slot(),
            phase: Duration::ZERO,
            begin: Duration::ZERO,
            processing: Duration::ZERO,
            scheduling: None,
            scheduling_correlation: Probability::default(),
            handover: Duration::ZERO,
            handover_mode: OutageMode::Drop,
            course: None,
        }
    }

    fn delays(course: &Course) -> Vec<(Duration, Duration)> {
        course.delay.iter().flat_map(crate::Series::steps).collect()
    }

    fn delays_ms(course: &Course) -> Vec<f64> {
        delays(course).iter().map(|(_, delay)| delay.as_secs_f64() * 1e3).collect()
    }

    /// Up and down at 550 km: never less than twice the altitude, never more than twice the distance at the least elevation (1123 km).
    #[test]
    fn delays_are_between_the_zenith_and_the_least_elevation() {
        let course = spec(KIEL, NEAR).course(Duration::from_secs(3600)).unwrap();
        let delays = delays_ms(&course);
        let (least, most) = (2.0 * 550.0 / LIGHT * 1e3, 2.0 * 1123.4 / LIGHT * 1e3);
        assert!(delays.iter().all(|delay| (least..most + 0.1).contains(delay)), "{least} {most}");
        assert!(course.outages.is_empty(), "{:?}", course.outages);
        assert_eq!(delays.len(), 36_000);
    }

    /// Within a slot the distance changes by at most the speed of the satellite on its way up and on its way down.
    #[test]
    fn a_delay_jumps_between_slots_alone() {
        let course = spec(KIEL, NEAR).course(Duration::from_secs(600)).unwrap();
        for pair in delays(&course).windows(2) {
            let change = (pair[1].1.as_secs_f64() - pair[0].1.as_secs_f64()).abs();
            let bound = 2.0 * 7.6 * 0.1 / LIGHT;
            let jumps = change > bound;
            assert!(!jumps || pair[1].0.as_nanos() % 15_000_000_000 == 0, "{:?}: {change}", pair[1].0);
        }
    }

    #[test]
    fn slots_begin_at_their_phase() {
        let spec = LeoSpec { phase: Duration::from_secs(12), ..spec(KIEL, NEAR) };
        assert_eq!(spec.slot_after(Duration::ZERO), Duration::from_secs(12));
        assert_eq!(spec.slot_after(Duration::from_secs(12)), Duration::from_secs(27));
        assert_eq!(spec.slot_after(Duration::from_millis(26_999)), Duration::from_secs(27));
    }

    /// A satellite that stays is left less often than one that is chosen anew.
    #[test]
    fn who_stays_changes_less_often() {
        let handover = Duration::from_millis(50);
        let count = |choice| {
            LeoSpec { choice, handover, ..spec(KIEL, NEAR) }
                .course(Duration::from_secs(3600))
                .unwrap()
                .outages
                .len()
        };
        let (highest, stay, random) = (count(Choice::Highest), count(Choice::Stay), count(Choice::Random));
        assert!(stay < highest && highest < random && random <= 239, "{stay} {highest} {random}");
    }

    /// A geostationary satellite at 19.2 degrees east stands 27.5 degrees above the horizon of Kiel, 38,843 km away (look angles by
    /// spherical geometry), and stays there: the delay of a day changes by less than 0.1 ms.
    #[test]
    fn a_geostationary_satellite_stands_still() {
        let spec = LeoSpec { constellation: Constellation::Geo, longitude: 19.2, ..spec(KIEL, KIEL) };
        let delays = delays_ms(&spec.course(Duration::from_secs(86_400)).unwrap());
        let angle = libm::acos(libm::cos(54.3f64.to_radians()) * libm::cos(9f64.to_radians()));
        let (earth, radius) = (sky::EARTH, 42_164.17);
        let distance = libm::sqrt(earth * earth + radius * radius - 2.0 * earth * radius * libm::cos(angle));
        assert!((delays[0] - 2.0 * distance / LIGHT * 1e3).abs() < 0.01, "{} {distance}", delays[0]);
        let (least, most) =
            delays.iter().fold((f64::MAX, 0f64), |(least, most), one| (least.min(*one), most.max(*one)));
        assert!(most - least < 0.1, "{least} {most}");
    }

    /// A second for each slot of a day, with 40,000 satellites, would take minutes.
    #[test]
    fn what_takes_too_long_is_refused_at_once() {
        let many = LeoSpec {
            planes: Some(200),
            satellites: Some(200),
            slot: Duration::from_secs(1),
            ..spec(KIEL, NEAR)
        };
        let (field, message) = many.course(Duration::from_secs(86_400)).unwrap_err();
        assert!(field == "slot" && message.contains("86401 slots with 40000 satellites"), "{message}");
    }

    /// From the pole no satellite of an orbit at 53 degrees is in sight.
    #[test]
    fn a_place_without_satellites_is_named() {
        let pole = Place { latitude: 90.0, longitude: 0.0, elevation: None };
        let mut spec = spec(pole, NEAR);
        let course = spec.course(Duration::from_secs(60)).unwrap();
        assert_eq!((delays(&course).len(), course.outages.len()), (0, 4));
        spec.course = Some(Arc::new(course));
        let (field, message) = spec.check().unwrap_err();
        assert!(field == "terminal" && message.contains("and its elevation must be 25 or more"), "{message}");
    }

    /// Over lasers, Frankfurt to New York (6,200 km) takes longer than light along the ground and less than fibre, which is 1.47 times as slow
    /// and goes around by a fifth.
    #[test]
    fn lasers_over_the_atlantic_are_faster_than_fibre() {
        let frankfurt = Place { latitude: 50.1, longitude: 8.7, elevation: None };
        let new_york = Place { latitude: 40.7, longitude: -74.0, elevation: None };
        let spec = LeoSpec { relay: Relay::Lasers, ..spec(frankfurt, new_york) };
        let over_lasers = delays_ms(&spec.course(Duration::from_secs(300)).unwrap());
        let ground = 6_200.0 / LIGHT * 1e3;
        let fibre = 1.47 * 1.2 * ground;
        assert!(over_lasers.iter().all(|delay| (ground..fibre).contains(delay)), "{over_lasers:?}");
        assert!(spec.course(Duration::from_secs(300)).unwrap().outages.is_empty());
        let bent_pipe = LeoSpec { relay: Relay::BentPipe, ..spec };
        assert!(delays(&bent_pipe.course(Duration::from_secs(60)).unwrap()).is_empty());
    }

    /// What scheduling adds is the same within a slot, and distributed as given.
    #[test]
    fn scheduling_adds_a_time_for_each_slot() {
        let plain = spec(KIEL, NEAR);
        let values = [0, 10, 20].map(Duration::from_millis).to_vec();
        let spec = LeoSpec { scheduling: Some(Distribution::Table { values }), ..plain.clone() };
        let length = Duration::from_secs(15_000);
        let (plain, slots) =
            (delays_ms(&plain.course(length).unwrap()), delays_ms(&spec.course(length).unwrap()));
        let added: Vec<f64> = slots.iter().zip(&plain).map(|(slot, plain)| slot - plain).collect();
        assert!(added.chunks(150).all(|slot| slot.iter().all(|one| (one - slot[0]).abs() < 1e-5)));
        let mean = added.iter().sum::<f64>() / added.len() as f64;
        // 1,000 draws between 0 and 20 ms: the mean has a deviation of 0.18 ms.
        assert!((mean - 10.0).abs() < 0.6, "{mean}");
        let alike = LeoSpec { scheduling_correlation: Probability::new(0.9).unwrap(), ..spec.clone() };
        let steps = |spec: &LeoSpec| {
            let each: Vec<f64> =
                delays_ms(&spec.course(length).unwrap()).chunks(150).map(|slot| slot[0]).collect();
            each.windows(2).map(|pair| (pair[1] - pair[0]).abs()).sum::<f64>() / each.len() as f64
        };
        assert!(steps(&alike) < 0.6 * steps(&spec), "{} {}", steps(&alike), steps(&spec));
    }
}
