//! Where satellites are: circular orbits of a Walker constellation (Walker 1984) above a turning Earth.

use core::f64::consts::TAU;
use libm::{cos, sin, sqrt};

/// The Earth's mean radius in km (IUGG).
pub(super) const EARTH: f64 = 6_371.0;
/// The Earth's gravity in km^3/s^2, and its turn in rad/s (WGS 84).
const GRAVITY: f64 = 398_600.441_8;
const TURN: f64 = 7.292_115e-5;
/// Its flattening in orbits (WGS 84), with the radius at the equator in km.
const J2: f64 = 1.082_63e-3;
const EQUATOR: f64 = 6_378.137;

/// A point in km, in a frame that turns with the Earth.
pub type Vector = [f64; 3];

pub(super) fn distance(a: Vector, b: Vector) -> f64 {
    sqrt((0..3).map(|axis| (a[axis] - b[axis]) * (a[axis] - b[axis])).sum())
}

/// A place on the ground that sees what is high enough.
#[derive(Clone, Copy, Debug)]
pub(super) struct Point {
    pub at: Vector,
    /// The sine of the least elevation.
    least: f64,
}

impl Point {
    /// All in degrees.
    pub fn on_ground(latitude: f64, longitude: f64, elevation: f64) -> Self {
        let [latitude, longitude, elevation] = [latitude, longitude, elevation].map(f64::to_radians);
        let axis = EARTH * cos(latitude);
        let at = [axis * cos(longitude), axis * sin(longitude), EARTH * sin(latitude)];
        Point { at, least: sin(elevation) }
    }

    /// The sine of the elevation of something above the horizon.
    pub fn height(&self, other: Vector) -> f64 {
        let up: f64 = (0..3).map(|axis| self.at[axis] * (other[axis] - self.at[axis])).sum();
        up / (EARTH * distance(self.at, other))
    }

    /// The elevation of the highest of these, in degrees; -90 without any.
    pub fn highest(&self, all: &[Vector]) -> f64 {
        let most = all.iter().map(|at| self.height(*at)).fold(-1.0, f64::max);
        libm::asin(most).to_degrees()
    }

    pub fn sees(&self, other: Vector) -> bool {
        self.height(other) >= self.least
    }
}

/// A Walker constellation; angles in radians.
#[derive(Clone, Copy, Debug)]
pub(super) struct Orbits {
    pub altitude_km: f64,
    pub inclination: f64,
    pub planes: u32,
    /// Of each plane.
    pub satellites: u32,
    pub phasing: u32,
    pub spread: f64,
    /// Of the first plane.
    pub longitude: f64,
}

impl Orbits {
    pub fn radius(&self) -> f64 {
        EARTH + self.altitude_km
    }

    /// Radians that a satellite moves in a second (Kepler's third law).
    fn motion(&self) -> f64 {
        sqrt(GRAVITY / (self.radius() * self.radius() * self.radius()))
    }

    /// Radians that a plane turns in a second, by the Earth's flattening.
    fn precession(&self) -> f64 {
        let ratio = EQUATOR / self.radius();
        -1.5 * self.motion() * J2 * ratio * ratio * cos(self.inclination)
    }
}

/// Satellites, by their numbers.
pub trait Sky {
    /// How many there are.
    fn count(&self) -> usize;

    /// Where a satellite is at a time in seconds since the start of the constellation's time.
    fn position(&self, number: usize, time: f64) -> Vector;

    /// All positions at such a time.
    fn positions(&self, time: f64) -> Vec<Vector> {
        (0..self.count()).map(|number| self.position(number, time)).collect()
    }

    /// Those that a satellite's lasers reach.
    fn neighbours(&self, _number: usize) -> Vec<usize> {
        vec![]
    }
}

/// The satellites of a Walker constellation, plane by plane.
#[derive(Clone, Debug)]
pub(super) struct Walker {
    orbits: Orbits,
    motion: f64,
    precession: f64,
    /// Sine and cosine of the inclination.
    tilt: (f64, f64),
}

impl Walker {
    pub fn new(orbits: Orbits) -> Self {
        let tilt = (sin(orbits.inclination), cos(orbits.inclination));
        Walker { orbits, motion: orbits.motion(), precession: orbits.precession(), tilt }
    }
}

impl Sky for Walker {
    fn count(&self) -> usize {
        self.orbits.planes as usize * self.orbits.satellites as usize
    }

    fn position(&self, number: usize, time: f64) -> Vector {
        let orbits = &self.orbits;
        let (plane, place) = (number / orbits.satellites as usize, number % orbits.satellites as usize);
        let (planes, places) = (f64::from(orbits.planes), f64::from(orbits.satellites));
        let shift = f64::from(orbits.phasing) * plane as f64 / (planes * places);
        let angle = TAU * (place as f64 / places + shift) + self.motion * time;
        let node = orbits.longitude + orbits.spread * plane as f64 / planes + (self.precession - TURN) * time;
        let (ahead, along) = (sin(angle), cos(angle));
        let across = ahead * self.tilt.1;
        let (turned, straight) = (sin(node), cos(node));
        let radius = orbits.radius();
        [
            radius * (along * straight - across * turned),
            radius * (along * turned + across * straight),
            radius * ahead * self.tilt.0,
        ]
    }

    /// Two in its plane, one in each plane beside it. Where the planes of a star meet in opposite directions there is none.
    fn neighbours(&self, number: usize) -> Vec<usize> {
        let (planes, places) = (self.orbits.planes as usize, self.orbits.satellites as usize);
        let (plane, place) = (number / places, number % places);
        let whole = self.orbits.spread > 1.5 * core::f64::consts::PI && planes > 2;
        // From the last plane to the first one, the shifts of all planes add up.
        let seam = self.orbits.phasing as usize % places;
        let ahead = match plane + 1 {
            next if next < planes => Some((next, place)),
            _ => whole.then(|| (0, (place + seam) % places)),
        };
        let behind = match plane.checked_sub(1) {
            Some(before) => Some((before, place)),
            None => whole.then(|| (planes - 1, (place + places - seam) % places)),
        };
        let own = [(plane, (place + 1) % places), (plane, (place + places - 1) % places)];
        let all = own.into_iter().chain(ahead).chain(behind);
        all.map(|(plane, place)| plane * places + place).filter(|next| *next != number).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn starlink() -> Walker {
        Walker::new(Orbits {
            altitude_km: 550.0,
            inclination: 53f64.to_radians(),
            planes: 72,
            satellites: 22,
            phasing: 1,
            spread: TAU,
            longitude: 0.0,
        })
    }

    /// At 550 km an orbit takes 95.6 min; above the turning Earth a satellite at the equator returns to its longitude later.
    #[test]
    fn an_orbit_takes_as_long_as_keplers_law_has_it() {
        let sky = starlink();
        assert!((TAU / sky.motion / 60.0 - 95.5).abs() < 0.2, "{}", TAU / sky.motion / 60.0);
        let geostationary = Orbits { altitude_km: 42_164.0 - EARTH, inclination: 0.0, ..sky.orbits };
        let still = Walker::new(geostationary);
        let moved = distance(still.position(0, 0.0), still.position(0, 86_164.0));
        // The flattening moves it by 0.02 degrees a day.
        assert!(moved < 40.0, "{moved}");
    }

    /// A plane at 53 degrees and 550 km turns by 4.5 to 5 degrees to the west in a day; one at 97.6 degrees follows the sun, 0.9856
    /// degrees to the east.
    #[test]
    fn planes_turn_by_the_flattening() {
        let day = |inclination: f64, altitude_km: f64| {
            let orbits = Orbits { inclination: inclination.to_radians(), altitude_km, ..starlink().orbits };
            orbits.precession().to_degrees() * 86_400.0
        };
        assert!((-5.0..-4.3).contains(&day(53.0, 550.0)), "{}", day(53.0, 550.0));
        assert!((day(97.6, 550.0) - 0.9856).abs() < 0.03, "{}", day(97.6, 550.0));
    }

    /// No satellite goes further from the equator than its inclination.
    #[test]
    fn latitudes_end_at_the_inclination() {
        let sky = starlink();
        let most = (0..6000).step_by(7).flat_map(|time| sky.positions(f64::from(time)));
        let most = most.map(|at| libm::asin(at[2] / sky.orbits.radius()).to_degrees()).fold(0.0, f64::max);
        assert!((52.9..=53.0 + 1e-9).contains(&most), "{most}");
    }

    /// The distance to a satellite at an elevation e: sqrt(r^2 - R^2 cos^2 e) - R sin e.
    #[test]
    fn distance_follows_from_elevation() {
        let (sky, ground) = (starlink(), Point::on_ground(48.0, 11.0, 25.0));
        let mut seen = 0;
        for at in sky.positions(1234.0) {
            let height = ground.height(at);
            if height > 0.0 {
                let radius = sky.orbits.radius();
                let expected =
                    sqrt(radius * radius - EARTH * EARTH * (1.0 - height * height)) - EARTH * height;
                assert!((distance(ground.at, at) - expected).abs() < 1e-6);
                seen += usize::from(ground.sees(at));
            }
        }
        assert!(seen > 5, "{seen}");
    }

    /// Of orbits at an inclination i, the density at the latitude b is that on a sphere, times 2 / pi cos b / sqrt(sin^2 i - sin^2 b), by
    /// which a place on the equator sees so many satellites on average.
    #[test]
    fn as_many_are_in_sight_as_the_cap_of_the_sphere_holds() {
        let sky = starlink();
        let ground = Point::on_ground(0.0, 0.0, 25.0);
        let count =
            |time: u32| sky.positions(f64::from(time)).into_iter().filter(|at| ground.sees(*at)).count();
        let mean = (0..6000).step_by(5).map(count).sum::<usize>() as f64 / 1200.0;
        // The cap within an angle of 8.45 degrees (550 km, elevation 25) has 0.543 % of the sphere; at the equator orbits at 53 degrees
        // have 2 / (pi sin 53) = 0.797 of the mean density of a sphere.
        let expected = 1584.0 * 0.005_43 * 0.797;
        assert!((mean / expected - 1.0).abs() < 0.03, "{mean} {expected}");
    }
}
