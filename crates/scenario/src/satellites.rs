//! Real satellites: two-line elements in a file, and where they are (SGP4; Vallado et al. 2006).

use crate::load::in_hex;
use chrono::{DateTime, NaiveDateTime, Utc};
use longhaul_path::leo::{ElementsSpec, Sky, Vector};
use sgp4::{Constants, Elements, MinutesSinceEpoch};
use sha2::{Digest, Sha256};
use std::path::Path;

/// Elements are no good for longer.
const VALID_DAYS: f64 = 30.0;

/// Satellites by their elements.
pub(crate) struct Catalogue {
    satellites: Vec<Satellite>,
    /// At the start of the constellation's time.
    begin: NaiveDateTime,
}

struct Satellite {
    constants: Constants,
    /// Minutes from the elements' epoch to the start.
    age: f64,
}

impl Catalogue {
    /// Reads a file, and its digest.
    pub fn read(place: &Path, spec: &ElementsSpec) -> Result<(Self, String), (&'static str, String)> {
        let cannot = |reason: &str| ("file", format!("{} cannot be read: {reason}", place.display()));
        let bytes = crate::traces::content(place).map_err(|why| cannot(&crate::traces::reason(&why)))?;
        let text = String::from_utf8(bytes).map_err(|_| cannot("it is no text"))?;
        let begin = DateTime::parse_from_rfc3339(&spec.time).map_err(|_| {
            let message =
                format!("{:?} is no universal time; write for instance \"2026-11-29T12:00:00Z\"", spec.time);
            ("time", message)
        })?;
        let begin = begin.with_timezone(&Utc).naive_utc();
        let satellites = parse(&text, begin)
            .map_err(|(line, message)| ("file", format!("{}, line {line}: {message}", place.display())))?;
        if satellites.is_empty() {
            return Err((
                "file",
                format!("{} has no satellite: no line begins with \"1 \"", place.display()),
            ));
        }
        let hash = Sha256::digest(text.lines().map(str::trim_end).collect::<Vec<_>>().join("\n"));
        Ok((Catalogue { satellites, begin }, in_hex(&hash[..16])))
    }
}

/// How many satellites a text of two-line elements has, for a run that starts at noon of 29 November 2026.
///
/// # Errors
/// The line, and what is wrong with it.
pub fn count_satellites(text: &str) -> Result<usize, (usize, String)> {
    let noon = DateTime::from_timestamp(1_795_953_600, 0).unwrap_or_default().naive_utc();
    let satellites = parse(text, noon)?;
    let begin = noon;
    let sky = Catalogue { satellites, begin };
    // Where they are follows from any elements that are read.
    Ok(sky.positions(3600.0).len())
}

/// The satellites of a text; an error with its line.
fn parse(text: &str, begin: NaiveDateTime) -> Result<Vec<Satellite>, (usize, String)> {
    let mut satellites = vec![];
    let mut lines = text.lines().map(str::trim_end).enumerate().map(|(index, line)| (index + 1, line));
    while let Some((number, first)) = lines.next() {
        if !first.starts_with("1 ") {
            continue; // a name
        }
        let Some((_, second)) = lines.next().filter(|(_, line)| line.starts_with("2 ")) else {
            return Err((number, "its second line, which begins with \"2 \", must follow it".to_string()));
        };
        let elements = Elements::from_tle(None, first.as_bytes(), second.as_bytes())
            .map_err(|why| (number, format!("these are no two-line elements: {why}")))?;
        let age = (begin - elements.datetime).num_milliseconds() as f64 / 60_000.0;
        let days = age / 1440.0;
        if days.abs() > VALID_DAYS {
            let message = format!(
                "these elements are of {}, {:.0} days from the start of the run; they are good for {VALID_DAYS} days",
                elements.datetime.format("%Y-%m-%d"),
                days.abs()
            );
            return Err((number, message));
        }
        let constants = Constants::from_elements(&elements)
            .map_err(|why| (number, format!("no orbit follows from these elements: {why}")))?;
        satellites.push(Satellite { constants, age });
    }
    Ok(satellites)
}

impl Sky for Catalogue {
    fn count(&self) -> usize {
        self.satellites.len()
    }

    /// In a frame that turns with the Earth. One that has come down is nowhere.
    fn position(&self, number: usize, time: f64) -> Vector {
        let satellite = &self.satellites[number];
        let minutes = MinutesSinceEpoch(satellite.age + time / 60.0);
        let Ok(found) = satellite.constants.propagate(minutes) else { return [f64::NAN; 3] };
        let [x, y, z] = found.position;
        let (sin, cos) = (sidereal_angle(&self.begin) + TURN * time).sin_cos();
        [x * cos + y * sin, y * cos - x * sin, z]
    }
}

/// The Earth's turn in rad/s.
const TURN: f64 = 7.292_115_146_7e-5;

/// The angle of Greenwich to the vernal equinox at a time, in radians (IAU 1982).
fn sidereal_angle(time: &NaiveDateTime) -> f64 {
    sgp4::iau_epoch_to_sidereal_time(sgp4::julian_years_since_j2000(time))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two lines with their checksums; angles in degrees, revolutions in a day.
    fn lines(inclination: f64, node: f64, perigee: f64, anomaly: f64, motion: f64) -> String {
        let sum = |line: &str| {
            let digits = line.chars().map(|c| c.to_digit(10).unwrap_or(u32::from(c == '-')));
            format!("{line}{}", digits.sum::<u32>() % 10)
        };
        let first = sum("1 99999U 26001A   26333.50000000  .00000000  00000-0  00000-0 0  999");
        let second = sum(&format!(
            "2 99999 {inclination:8.4} {node:8.4} 0001000 {perigee:8.4} {anomaly:8.4} {motion:11.8}    1"
        ));
        format!("A SATELLITE\n{first}\n{second}\n")
    }

    fn time(text: &str) -> NaiveDateTime {
        DateTime::parse_from_rfc3339(text).unwrap().naive_utc()
    }

    fn catalogue(text: &str, begin: &str) -> Catalogue {
        let begin = time(begin);
        Catalogue { satellites: parse(text, begin).unwrap(), begin }
    }

    /// At noon of 1 January 2000 (UT1), 280.46062 degrees.
    #[test]
    fn the_angle_of_greenwich_is_that_of_2000() {
        let angle = sidereal_angle(&time("2000-01-01T12:00:00Z")).to_degrees().rem_euclid(360.0);
        assert!((angle - 280.460_62).abs() < 1e-3, "{angle}");
    }

    /// A satellite above the equator that turns with the Earth stays where node, perigee and anomaly put it: 1.00273791 revolutions a day.
    #[test]
    fn a_geostationary_satellite_stays_at_its_longitude() {
        let begin = "2026-11-29T12:00:00Z";
        let greenwich = sidereal_angle(&time(begin)).to_degrees().rem_euclid(360.0);
        let anomaly = (greenwich + 19.2).rem_euclid(360.0);
        let sky = catalogue(&lines(0.0, 0.0, 0.0, anomaly, 1.002_737_91), begin);
        for hours in [0.0, 6.0, 12.0, 24.0] {
            let [x, y, z] = sky.position(0, 3600.0 * hours);
            let longitude = y.atan2(x).to_degrees();
            assert!((longitude - 19.2).abs() < 0.15 && z.abs() < 50.0, "{hours}: {longitude} {z}");
            assert!((x.hypot(y) - 42_164.0).abs() < 30.0);
        }
    }

    /// Satellites on their way up or down are in files of real constellations. An implementation of SGP4 without the equations for a perigee
    /// below 220 km ended there with "Satellite crashed" (Shadab442/dqn-leo-handover-python #1, #2).
    #[test]
    fn a_satellite_with_a_perigee_below_220_km_has_a_place() {
        let begin = "2026-11-29T12:00:00Z";
        let sky = catalogue(&lines(53.0, 10.0, 0.0, 0.0, 16.4), begin);
        let [x, y, z] = sky.position(0, 600.0);
        // The half axis of 16.4 revolutions a day is (398,600 km^3/s^2 / (16.4 x 2 pi / 86,400 s)^2)^(1/3) = 6,544 km.
        assert!((x.hypot(y).hypot(z) - 6_544.0).abs() < 20.0, "{x} {y} {z}");
    }

    /// Elements of another month are refused, and what is damaged is named with its line.
    #[test]
    fn bad_elements_are_named_with_their_line() {
        let good = lines(53.0, 10.0, 0.0, 0.0, 15.06);
        let refused = |text: &str, begin: &str| parse(text, time(begin)).err().unwrap();
        let (line, message) = refused(&good, "2027-02-01T00:00:00Z");
        assert_eq!(line, 2);
        assert!(message.contains("2026-11-29") && message.contains("64 days"), "{message}");
        let damaged = good.replace("53.0000", "63.0000");
        assert_eq!(refused(&damaged, "2026-11-29T00:00:00Z").0, 2);
        let cut = good.lines().take(2).collect::<Vec<_>>().join("\n");
        assert_eq!(refused(&cut, "2026-11-29T00:00:00Z").0, 2);
    }
}
