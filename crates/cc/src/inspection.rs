//! What a policy reports of itself: numbers that explain its window.

use longhaul_units::{Duration, Rate};

/// A number inside a policy.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Reading {
    /// Its name, as its source has it.
    pub name: &'static str,
    /// Its unit: `B`, `bit/s`, `s`, `packets`; empty for a ratio or the number of a state.
    pub unit: &'static str,
    /// Its value; infinite where there is no bound.
    pub value: f64,
}

/// What a policy reports of itself.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Inspection(Vec<Reading>);

impl Inspection {
    /// All, in order.
    pub fn readings(&self) -> &[Reading] {
        &self.0
    }
    fn put(&mut self, name: &'static str, unit: &'static str, value: f64) {
        self.0.push(Reading { name, unit, value });
    }
    /// A ratio, a count of its own, or the number of a state.
    pub fn number(&mut self, name: &'static str, value: f64) {
        self.put(name, "", value);
    }
    /// A window in segments of `mss` bytes; reported in bytes.
    pub fn segments(&mut self, name: &'static str, segments: f64, mss: f64) {
        self.put(name, "B", segments * mss);
    }
    /// So many bytes.
    pub fn bytes(&mut self, name: &'static str, bytes: f64) {
        self.put(name, "B", bytes);
    }
    /// A rate in bytes per second; reported in bit/s.
    pub fn byte_rate(&mut self, name: &'static str, bytes_per_second: f64) {
        self.put(name, "bit/s", 8.0 * bytes_per_second);
    }
    /// A rate, if there is one.
    pub fn rate(&mut self, name: &'static str, rate: Option<Rate>) {
        if let Some(rate) = rate {
            self.put(name, "bit/s", rate.as_bps() as f64);
        }
    }
    /// So many seconds.
    pub fn seconds(&mut self, name: &'static str, seconds: f64) {
        self.put(name, "s", seconds);
    }
    /// A time; left out before there is one.
    pub fn time(&mut self, name: &'static str, time: Option<Duration>) {
        if let Some(time) = time.filter(|time| *time < Duration::MAX) {
            self.put(name, "s", time.as_secs_f64());
        }
    }
}
