//! What was measured on the way to other nodes, kept over a restart of this one: a file in the state directory.

use crate::config::{Hop, Key};
use longhaul_hop::Remembered;
use longhaul_units::{Duration, Rate};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// Name of the file in the directory.
const FILE: &str = "rates.json";

/// Measurements of the way to one node.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    /// When they were made, in seconds since 1970.
    at: u64,
    rate_bps: u64,
    rtt_ns: u64,
    loss_ppm: u32,
    burst_permille: u32,
}

/// The file, by public keys of other nodes.
#[derive(Clone, Debug, Default)]
pub(crate) struct State {
    path: Option<PathBuf>,
    entries: BTreeMap<String, Entry>,
}

fn seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// The directory: configured, else systemd's.
pub(crate) fn directory(hop: &Hop) -> Option<PathBuf> {
    hop.state.clone().or_else(|| std::env::var_os("STATE_DIRECTORY").map(PathBuf::from))
}

/// The entries of a file's text that are not older than `lifetime` at `now`, in seconds since 1970.
fn read(text: &str, now: u64, lifetime: Duration) -> BTreeMap<String, Entry> {
    let mut entries: BTreeMap<String, Entry> = serde_json::from_str(text).unwrap_or_else(|why| {
        tracing::warn!("the rates of earlier tunnels are forgotten: {why}");
        BTreeMap::new()
    });
    // A clock that went back makes an entry look as if it were from the future.
    entries.retain(|_, entry| entry.at <= now && now - entry.at < lifetime.as_nanos() / 1_000_000_000);
    entries
}

/// What a file with this text states, at 1000 s since 1970: for the fuzz target.
#[doc(hidden)]
pub fn stated(text: &str) -> Vec<Remembered> {
    let entries = read(text, 1000, Duration::from_secs(1000));
    State { path: None, entries }.remembered().into_values().collect()
}

impl State {
    /// Reads the file. What is older than `lifetime`, or cannot be read, is forgotten: nothing depends on it but the first seconds.
    pub fn load(directory: Option<PathBuf>, lifetime: Duration) -> State {
        let path = directory.map(|directory| directory.join(FILE));
        let entries = match path.as_deref().map(std::fs::read_to_string) {
            Some(Ok(text)) => read(&text, seconds(), lifetime),
            _ => BTreeMap::new(),
        };
        State { path, entries }
    }

    /// What is known, by node.
    pub fn remembered(&self) -> BTreeMap<[u8; 32], Remembered> {
        let one = |(key, entry): (&String, &Entry)| {
            let remembered = Remembered {
                // Within what the hop takes, whatever the file states.
                rate: Rate::from_bps(entry.rate_bps.clamp(10_000, 100_000_000_000)),
                rtt: Duration::from_nanos(entry.rtt_ns),
                loss_ppm: entry.loss_ppm.min(500_000),
                burst_permille: entry.burst_permille.clamp(1000, 1_000_000),
            };
            Some((key.parse::<Key>().ok()?.0, remembered))
        };
        self.entries.iter().filter_map(one).collect()
    }

    /// Writes what is known now. The file is replaced as a whole.
    pub fn save(&mut self, news: &[([u8; 32], Remembered)]) -> io::Result<()> {
        let Some(path) = &self.path else { return Ok(()) };
        if news.is_empty() {
            return Ok(());
        }
        for (key, remembered) in news {
            let entry = Entry {
                at: seconds(),
                rate_bps: remembered.rate.as_bps(),
                rtt_ns: remembered.rtt.as_nanos(),
                loss_ppm: remembered.loss_ppm,
                burst_permille: remembered.burst_permille,
            };
            self.entries.insert(Key(*key).to_string(), entry);
        }
        replace(path, &serde_json::to_vec_pretty(&self.entries)?)
    }
}

/// Replaces a file as a whole.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let new = path.with_extension("new");
    std::fs::write(&new, bytes)?;
    std::fs::rename(&new, path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_kept_until_they_expire() {
        let folder = std::env::temp_dir().join(format!("longhaul-pep-state-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let day = Duration::from_secs(86_400);
        let load = |lifetime| State::load(Some(folder.clone()), lifetime);
        let mut state = load(day);
        assert!(state.remembered().is_empty());
        let measured = Remembered {
            rate: Rate::from_bps(48_000_000),
            rtt: Duration::from_millis(640),
            loss_ppm: 9000,
            burst_permille: 1500,
        };
        state.save(&[([7; 32], measured)]).unwrap();
        assert_eq!(load(day).remembered(), BTreeMap::from([([7; 32], measured)]));
        assert!(load(Duration::from_nanos(1)).remembered().is_empty(), "expired");
        // From the future, after the clock was set back.
        let text = std::fs::read_to_string(folder.join(FILE)).unwrap();
        let later = text.replace("\"at\": ", "\"at\": 9");
        std::fs::write(folder.join(FILE), later).unwrap();
        assert!(load(day).remembered().is_empty());
        std::fs::write(folder.join(FILE), "half a fi").unwrap();
        assert!(load(day).remembered().is_empty());
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
