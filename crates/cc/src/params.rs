//! Parameters of an algorithm: a plain struct whose JSON Schema is the one place for names, defaults, units, ranges
//! and descriptions. Reading, checking and listing all go by that schema.

use crate::{Setup, SlowStart};
use longhaul_units::Duration;

/// What is derived for parameters (`crate::settings`).
#[cfg(feature = "serde")]
pub(crate) trait Settings:
    serde::Serialize + serde::de::DeserializeOwned + schemars::JsonSchema
{
}
#[cfg(feature = "serde")]
impl<T: serde::Serialize + serde::de::DeserializeOwned + schemars::JsonSchema> Settings for T {}

/// Nothing is derived.
#[cfg(not(feature = "serde"))]
pub(crate) trait Settings {}
#[cfg(not(feature = "serde"))]
impl<T> Settings for T {}

/// What the registry needs of an algorithm; implemented by its parameter struct.
pub(crate) trait Spec: Default + Settings + 'static {
    /// Name in scenario files.
    const NAME: &'static str;
    /// Where it is defined.
    const SOURCE: &'static str;
    /// One line on what it does.
    const SUMMARY: &'static str;

    /// The response function of a congestion control with these parameters, if one is known.
    fn response_function(&self, _met: &Conditions) -> Option<Formula> {
        None
    }

    /// Checks what a range in the schema cannot express.
    fn check(&self) -> Result<(), String> {
        Ok(())
    }
}

/// A fact sheet on one parameter.
#[derive(Clone, PartialEq, Debug)]
pub struct Parameter {
    /// Key in scenario files.
    pub name: String,
    /// Value if it is not given, as one would write it.
    pub default: String,
    /// Unit of a bare number, or the words to choose from; empty if the value carries its unit.
    pub unit: String,
    /// Range of a number, in words; empty if there is none.
    pub range: String,
    /// What it does.
    pub description: String,
}

/// The input of a response function: what a flow met.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Conditions {
    /// Mean RTT.
    pub rtt: Duration,
    /// Least RTT.
    pub rtt_min: Duration,
    /// Congestion events for each data packet sent, above 0.
    pub p: f64,
    /// Segments that the receiver acknowledges at a time.
    pub segments_per_ack: f64,
}

/// The result of a response function.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Formula {
    /// Its name; `NAME_bps` is its metric.
    pub name: &'static str,
    /// Mean window in segments.
    pub window: f64,
}

/// Parameters of a slow start policy.
pub(crate) trait SlowStartSpec: Spec {
    /// What they are the parameters of.
    type Policy: SlowStart;
    /// The policy at the start of a connection.
    fn start(&self, setup: &Setup) -> Self::Policy;
}
