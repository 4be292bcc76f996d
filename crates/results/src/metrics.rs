//! Metrics as constants: what has no definition cannot be set.

use serde::Serialize;

/// What a metric means.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Definition {
    /// Name in `summary.json`.
    pub name: &'static str,
    /// Unit of its value; empty for ratios and counts.
    pub unit: &'static str,
    /// A short title for tables and axes.
    pub title: &'static str,
    /// How it is computed, and where that comes from.
    pub definition: &'static str,
}

/// The name of a metric that is defined. All of them are constants of [`crate::metric`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Metric(pub(crate) &'static str);

impl Metric {
    /// Its name in `summary.json`.
    pub const fn name(self) -> &'static str {
        self.0
    }
    /// The metric of this name, if there is one.
    pub fn named(name: &str) -> Option<Metric> {
        crate::DEFINITIONS.iter().find(|known| known.name == name).map(|known| Metric(known.name))
    }
}

impl AsRef<str> for Metric {
    fn as_ref(&self) -> &str {
        self.0
    }
}

/// A constant for each metric, and the list of their definitions in this order.
macro_rules! metrics {
    ($($constant:ident: $name:literal, $unit:literal, $title:literal, $definition:literal;)*) => {
        /// The metrics, by name.
        pub mod metric {
            use crate::Metric;
            $(#[doc = $definition] pub const $constant: Metric = Metric($name);)*
        }

        /// All metrics. "Measured" means from the end of the warm-up to the end of the run.
        pub const DEFINITIONS: &[crate::Definition] = &[
            $(crate::Definition { name: $name, unit: $unit, title: $title, definition: $definition },)*
        ];

        #[cfg(test)]
        const CONSTANTS: &[(&str, &str)] = &[$((stringify!($constant), $name)),*];
    };
}
pub(crate) use metrics;
