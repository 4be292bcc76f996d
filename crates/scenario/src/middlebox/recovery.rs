//! Retransmission from a middlebox that keeps copies of packets.

use crate::validate::Checker;
use longhaul_middlebox::LocalRecovery;
use longhaul_units::{Duration, Limit};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Retransmission from a middlebox.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct LocalRecoverySpec {
    /// Whether lost packets are sent again from here.
    pub enabled: bool,
    /// Duplicate ACKs, or SACKed packets above a hole, that mean a loss.
    #[schemars(range(min = 1))]
    pub duplicate_threshold: u32,
    /// Retransmission timeout before the first round trip was measured.
    #[schemars(extend("x-exclusiveMinimum" = "0 s"))]
    pub initial_rto: Duration,
    /// Smallest timeout.
    #[schemars(extend("x-exclusiveMinimum" = "0 s"))]
    pub min_rto: Duration,
    /// Largest timeout.
    pub max_rto: Duration,
}

impl From<LocalRecovery> for LocalRecoverySpec {
    fn from(settings: LocalRecovery) -> Self {
        let LocalRecovery { enabled, duplicate_threshold, initial_rto, min_rto, max_rto } = settings;
        LocalRecoverySpec { enabled, duplicate_threshold, initial_rto, min_rto, max_rto }
    }
}

impl Default for LocalRecoverySpec {
    fn default() -> Self {
        LocalRecovery::default().into()
    }
}

impl LocalRecoverySpec {
    /// In the units of middleboxes.
    pub fn settings(&self) -> LocalRecovery {
        LocalRecovery {
            enabled: self.enabled,
            duplicate_threshold: self.duplicate_threshold,
            initial_rto: self.initial_rto,
            min_rto: self.min_rto,
            max_rto: self.max_rto,
        }
    }
}

/// Most copies that a middlebox keeps.
pub(super) const MOST_COPIES: usize = 1_000_000;

/// A limit in packets; 0 where it is not given in packets.
pub(super) fn packets(limit: Limit) -> usize {
    match limit {
        Limit::Packets(packets) => usize::try_from(packets).unwrap_or(usize::MAX),
        Limit::Bytes(_) => 0,
    }
}

impl Checker {
    pub(super) fn local_recovery(&mut self, spec: &LocalRecoverySpec) {
        self.within("recovery", None, |check| {
            if spec.min_rto > spec.max_rto || spec.initial_rto > spec.max_rto {
                check.problem(&["max_rto"], "min_rto and initial_rto must not exceed max_rto");
            }
        });
    }
}
