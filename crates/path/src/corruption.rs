//! Packets that are damaged on the wire and go on all the same: link layers without a check sequence, or errors that it misses
//! (in traces of Stone and Partridge 2000, one packet in 1100 to 32,000 fails TCP's checksum).
//!
//! Damage lies behind the IP header, where the checksum of TCP or UDP covers it: routers, whose only check is that of the IPv4
//! header, hand the packet on, it takes capacity of every link that is left, and the host at the end drops it. One bit is
//! flipped, and such damage never escapes the checksum (RFC 1071). Damage to an IP header, which the next router would drop, is a
//! loss: see [`crate::LossSpec`].

use crate::loss::{BitErrors, RandomLoss};
use crate::settings::{Deserialize, JsonSchema, Serialize};
use crate::{LossModel, LossPlace, LossSpec, Random};
use longhaul_units::{Instant, Probability};

/// How often packets are damaged: one of the two.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct CorruptionSpec {
    /// Probability that a packet is damaged, whatever its length.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub probability: Option<Probability>,
    /// Bit error rate: a packet with a wrong bit, headers included, is damaged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bit_error_rate: Option<Probability>,
}

impl CorruptionSpec {
    /// Every packet is damaged with this probability.
    pub fn random(probability: Probability) -> Self {
        CorruptionSpec { probability: Some(probability), bit_error_rate: None }
    }

    /// What is wrong with it, if anything.
    ///
    /// # Errors
    /// If both or none of the two are given.
    pub fn check(&self) -> Result<(), &'static str> {
        match (self.probability, self.bit_error_rate) {
            (Some(_), Some(_)) => Err("`probability` or `bit_error_rate`: one of the two"),
            (None, None) => Err("write for instance corruption = \"0.1 %\" or { bit_error_rate = 1e-7 }"),
            _ => Ok(()),
        }
    }

    /// The same as a model of losses, for its draws.
    fn as_loss(&self) -> LossSpec {
        let place = LossPlace::Wire;
        match (self.probability, self.bit_error_rate) {
            (_, Some(rate)) => BitErrors { rate, place }.into(),
            (probability, None) => RandomLoss { probability: probability.unwrap_or_default(), place }.into(),
        }
    }
}

/// Corruption at work.
pub(crate) struct Corruption {
    hits: LossModel,
    /// For where they hit.
    places: Random,
}

impl Corruption {
    pub fn new(spec: &CorruptionSpec, seed: u64, name: &str) -> Self {
        Corruption {
            hits: spec.as_loss().start(Random::stream(seed, &format!("{name} corruption"))),
            places: Random::stream(seed, &format!("{name} corrupted bit")),
        }
    }

    /// Decides on the next packet, of `len` bytes: what chooses the bit that is wrong, if one is.
    pub fn hit(&mut self, now: Instant, len: u32) -> Option<u64> {
        self.hits.is_lost(now, len).then(|| self.places.bits())
    }
}
