//! Packets that are lost without congestion, one model a file.
//!
//! A new one is a file here, with its parameters ([`Parameters`]) and the [`Model`] that they make, and its lines in this one: the
//! module, and an entry in the list of `losses!`.

mod bit_error;
mod four_states;
mod gilbert_elliott;
mod gilbert_elliott_time;
mod periodic;
mod random;

pub use bit_error::BitErrors;
pub use four_states::FourStates;
pub use gilbert_elliott::GilbertElliott;
pub use gilbert_elliott_time::GilbertElliottTime;
pub use periodic::PeriodicLoss;
pub use random::RandomLoss;

use crate::Random;
use crate::settings::{Deserialize, JsonSchema, Serialize};
use longhaul_units::Instant;

/// Where on a link a loss model acts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LossPlace {
    /// After transmission: a lost packet has used the link's capacity.
    #[default]
    Wire,
    /// Before the queue: a lost packet leaves no trace on the link (as ns-2's `lossmodel` does).
    BeforeQueue,
}

/// Parameters of a loss model as a scenario has them. The range of each is in the schema: see [`longhaul_units::ranges`].
pub trait Parameters {
    /// What they make.
    type Model: Model;
    /// Where on the link packets are lost.
    fn place(&self) -> LossPlace;
    /// The share of packets of `len` bytes that are lost in the long run.
    fn mean_loss(&self, len: u32) -> f64;
    /// Starts the model, with a random stream of its own.
    fn start(&self, random: Random) -> Self::Model;
}

/// Decides which packets are lost.
pub trait Model: Send {
    /// Decides on the next packet, of `len` bytes, which comes at `now`: never before the one decided on last.
    fn is_lost(&mut self, now: Instant, len: u32) -> bool;
}

macro_rules! losses {
    ($($(#[$doc:meta])* $variant:ident($parameters:ty),)*) => {
        /// A loss model and its parameters.
        #[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
        #[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
        pub enum LossSpec {
            $($(#[$doc])* $variant($parameters),)*
        }

        impl LossSpec {
            /// See [`Parameters::place`].
            pub fn place(&self) -> LossPlace {
                match self {
                    $(LossSpec::$variant(parameters) => parameters.place(),)*
                }
            }

            /// See [`Parameters::mean_loss`].
            pub fn mean_loss(&self, len: u32) -> f64 {
                match self {
                    $(LossSpec::$variant(parameters) => parameters.mean_loss(len),)*
                }
            }

            /// See [`Parameters::start`].
            pub fn start(&self, random: Random) -> LossModel {
                match self {
                    $(LossSpec::$variant(parameters) => LossModel::$variant(parameters.start(random)),)*
                }
            }
        }

        $(
            impl From<$parameters> for LossSpec {
                fn from(parameters: $parameters) -> Self {
                    LossSpec::$variant(parameters)
                }
            }
        )*

        /// A loss model at work.
        #[derive(Clone, Debug)]
        pub enum LossModel {
            $($(#[$doc])* $variant(<$parameters as Parameters>::Model),)*
        }

        impl LossModel {
            /// See [`Model::is_lost`].
            pub fn is_lost(&mut self, now: Instant, len: u32) -> bool {
                match self {
                    $(LossModel::$variant(model) => model.is_lost(now, len),)*
                }
            }
        }
    };
}

losses! {
    /// Every packet is lost with the same probability, independently.
    Random(RandomLoss),
    /// Every n-th packet is lost, as closed forms suppose it.
    Periodic(PeriodicLoss),
    /// Bits are flipped independently; a packet with a wrong bit is lost.
    BitError(BitErrors),
    /// Two states, good and bad; one transition is drawn after each packet. For losses whose number is known, as of a damaged block or
    /// a burst in a queue further on: while a sender is silent, a bad state lasts.
    GilbertElliott(GilbertElliott),
    /// Two states, good and bad, each for a random time. For fades and shadows, which pass whether anything is sent or not.
    GilbertElliottTime(GilbertElliottTime),
    /// Four states: bursts with pauses, and single losses between them, as `loss state` of netem.
    FourStates(FourStates),
}

#[cfg(feature = "serde")]
fn certain() -> longhaul_units::Probability {
    longhaul_units::Probability::new(1.0).expect("1 is a probability")
}

/// Trials before the next loss; never for probability zero.
fn distance(random: &mut Random, p: f64) -> u64 {
    if p > 0.0 { random.geometric(p) } else { u64::MAX }
}

#[cfg(test)]
mod testing {
    use super::{LossSpec, Random};
    use longhaul_units::{Instant, Probability};

    pub fn probability(value: f64) -> Probability {
        Probability::new(value).unwrap()
    }

    /// The share of lost packets.
    pub fn measured(spec: impl Into<LossSpec>, len: u32, packets: u32) -> f64 {
        let mut model = spec.into().start(Random::stream(1, "loss"));
        f64::from((0..packets).filter(|_| model.is_lost(Instant::ZERO, len)).count() as u32)
            / f64::from(packets)
    }
}
