//! Bytes of classes and terminals in a day and a month (UTC), kept over a restart in the state directory.

use crate::class::Period;
use crate::state;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;

/// Name of the file in the directory.
const FILE: &str = "volumes.json";
/// Addresses that are counted one by one; further ones are counted together.
const HOSTS: usize = 10_000;

/// Bytes of the present periods.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Volume {
    pub today: u64,
    pub month: u64,
}

impl Volume {
    pub fn of(&self, period: Period) -> u64 {
        match period {
            Period::Day => self.today,
            Period::Month => self.month,
        }
    }
}

#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Kept {
    /// Days since 1970, and months since the year 0.
    day: u64,
    month: u64,
    /// By class or terminal, and in a class by client address.
    volumes: BTreeMap<String, BTreeMap<String, Volume>>,
}

/// All of them.
#[derive(Debug, Default)]
pub(crate) struct Volumes {
    path: Option<PathBuf>,
    kept: Kept,
    changed: bool,
}

/// Months since the year 0 of a day since 1970: H. Hinnant, "chrono-compatible low-level date algorithms", `civil_from_days`.
fn month_of(day: u64) -> u64 {
    let shifted = day + 719_468;
    let (era, of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * of_year + 2) / 153;
    let (month, later) = if shifted_month < 10 { (shifted_month + 3, 0) } else { (shifted_month - 9, 1) };
    (year_of_era + era * 400 + later) * 12 + month - 1
}

impl Volumes {
    /// Reads the file of a directory. One that cannot be read is named, and counting begins anew.
    pub fn load(directory: Option<PathBuf>) -> Volumes {
        let path = directory.map(|directory| directory.join(FILE));
        let kept = match path.as_deref().map(std::fs::read_to_string) {
            Some(Ok(text)) => serde_json::from_str(&text).unwrap_or_else(|why| {
                tracing::warn!("the volumes counted before are forgotten: {why}");
                Kept::default()
            }),
            _ => Kept::default(),
        };
        Volumes { path, kept, changed: false }
    }

    /// It is so many seconds since 1970: what belongs to an earlier day or month begins anew.
    pub fn set_time(&mut self, seconds: u64) {
        let day = seconds / 86_400;
        let month = month_of(day);
        if day == self.kept.day {
            return;
        }
        // A clock that was set back to another day begins anew too: which bytes were of that day is not known.
        let same_month = month == self.kept.month;
        (self.kept.day, self.kept.month, self.changed) = (day, month, true);
        for hosts in self.kept.volumes.values_mut() {
            for volume in hosts.values_mut() {
                *volume = Volume { today: 0, month: if same_month { volume.month } else { 0 } };
            }
            hosts.retain(|_, volume| volume.month > 0);
        }
        self.kept.volumes.retain(|_, hosts| !hosts.is_empty());
    }

    /// Adds bytes of a class or terminal, and of an address in it.
    pub fn add(&mut self, name: &str, host: &str, bytes: u64) {
        if bytes == 0 {
            return;
        }
        if !self.kept.volumes.contains_key(name) {
            self.kept.volumes.insert(name.to_string(), BTreeMap::new());
        }
        let Some(hosts) = self.kept.volumes.get_mut(name) else { return };
        let host = if hosts.contains_key(host) || hosts.len() < HOSTS { host } else { "" };
        let volume = match hosts.get_mut(host) {
            Some(volume) => volume,
            None => hosts.entry(host.to_string()).or_default(),
        };
        volume.today += bytes;
        volume.month += bytes;
        self.changed = true;
    }

    /// Bytes of a class or terminal.
    pub fn total(&self, name: &str) -> Volume {
        let hosts = self.kept.volumes.get(name).into_iter().flat_map(BTreeMap::values);
        hosts.fold(Volume::default(), |sum, volume| Volume {
            today: sum.today + volume.today,
            month: sum.month + volume.month,
        })
    }

    /// Addresses of a class with their bytes; those that are counted together are not among them.
    pub fn hosts(&self, name: &str) -> impl Iterator<Item = (&str, Volume)> {
        let hosts = self.kept.volumes.get(name).into_iter().flatten();
        hosts.filter(|(host, _)| !host.is_empty()).map(|(host, volume)| (host.as_str(), *volume))
    }

    /// Writes the file as a whole, if something has changed.
    pub fn save(&mut self) -> io::Result<()> {
        let Some(path) = self.path.as_ref().filter(|_| self.changed) else { return Ok(()) };
        state::replace(path, &serde_json::to_vec_pretty(&self.kept)?)?;
        self.changed = false;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Days since 1970 by `date -d 2026-11-28 +%s`.
    const DAY: u64 = 20_785;

    #[test]
    fn months_begin_on_their_first() {
        assert_eq!(month_of(0), 1970 * 12);
        assert_eq!(month_of(DAY), 2026 * 12 + 10, "28 November 2026");
        assert_eq!((month_of(DAY + 2), month_of(DAY + 3)), (2026 * 12 + 10, 2026 * 12 + 11));
        // 29 February and 1 March 2024.
        assert_eq!((month_of(19_782), month_of(19_783)), (2024 * 12 + 1, 2024 * 12 + 2));
    }

    #[test]
    fn days_and_months_begin_anew_and_a_restart_loses_nothing() {
        let folder = std::env::temp_dir().join(format!("longhaul-pep-volumes-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let load = || Volumes::load(Some(folder.clone()));
        let mut volumes = load();
        volumes.set_time(DAY * 86_400);
        volumes.add("crew", "10.0.0.7", 1000);
        volumes.add("crew", "10.0.0.8", 500);
        volumes.save().unwrap();
        let mut volumes = load();
        volumes.set_time(DAY * 86_400 + 86_399);
        assert_eq!(volumes.total("crew"), Volume { today: 1500, month: 1500 });
        volumes.set_time((DAY + 1) * 86_400);
        volumes.add("crew", "10.0.0.7", 1);
        assert_eq!(volumes.total("crew"), Volume { today: 1, month: 1501 });
        let seven = volumes.hosts("crew").find(|(host, _)| *host == "10.0.0.7").unwrap().1;
        assert_eq!((seven.of(Period::Day), seven.of(Period::Month)), (1, 1001));
        volumes.set_time((DAY + 3) * 86_400);
        assert_eq!(volumes.total("crew"), Volume::default(), "it is December");
        std::fs::write(folder.join(FILE), "half a fi").unwrap();
        assert_eq!(load().total("crew"), Volume::default());
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn addresses_beyond_a_bound_are_counted_together() {
        let mut volumes = Volumes::default();
        for host in 0..HOSTS + 500 {
            volumes.add("crew", &format!("fd00::{host:x}"), 1);
        }
        assert_eq!((volumes.hosts("crew").count(), volumes.total("crew").today), (HOSTS, HOSTS as u64 + 500));
    }
}
