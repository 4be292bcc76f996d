//! Bursts with pauses, and losses between them: the chain of four states of `loss state` in Linux's netem (Salsano, Ludovici and
//! Ordine 2009, "GI" model; tc-netem(8)).

use super::{LossPlace, Model, Parameters};
use crate::Random;
use crate::settings::{Deserialize, JsonSchema, Serialize};
use longhaul_units::{Instant, Probability};

/// Parameters of a chain of four states, drawn before each packet. Packets arrive in the first state and in pauses of a burst; they are
/// lost in a burst, and one at a time outside of it.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct FourStates {
    /// Probability that a burst begins (p13).
    pub begin: Probability,
    /// Probability that it ends, packet by packet (p31).
    pub end: Probability,
    /// Probability that it pauses (p32).
    #[serde(default)]
    pub pause: Probability,
    /// Probability that it goes on after a pause (p23).
    #[serde(default = "super::certain")]
    pub resume: Probability,
    /// Probability that a packet is lost outside of bursts (p14); the one behind it is not.
    #[serde(default)]
    pub isolated: Probability,
    /// Where on the link.
    #[serde(default)]
    pub place: LossPlace,
}

impl Parameters for FourStates {
    type Model = Chain;
    fn place(&self) -> LossPlace {
        self.place
    }
    /// By balance: as often into each pair of states as out of it.
    fn mean_loss(&self, _len: u32) -> f64 {
        let [begin, end, pause, resume, isolated] = self.values();
        let paused = if pause == 0.0 { 0.0 } else { pause / resume };
        if begin > 0.0 && end == 0.0 {
            return 1.0 / (1.0 + paused);
        }
        let burst = if begin == 0.0 { 0.0 } else { begin / end };
        // Without a way back, a pause lasts for ever.
        if paused.is_infinite() && burst > 0.0 {
            0.0
        } else {
            let pauses = if burst == 0.0 { 0.0 } else { burst * paused };
            (burst + isolated) / (1.0 + burst + pauses + isolated)
        }
    }
    fn start(&self, random: Random) -> Chain {
        Chain { parameters: *self, state: State::Arrives, random }
    }
}

impl FourStates {
    fn values(&self) -> [f64; 5] {
        [self.begin, self.end, self.pause, self.resume, self.isolated].map(Probability::get)
    }
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum State {
    Arrives,
    Pause,
    Burst,
    Isolated,
}

/// The chain at work.
#[derive(Clone, Debug)]
pub struct Chain {
    parameters: FourStates,
    state: State,
    random: Random,
}

impl Model for Chain {
    fn is_lost(&mut self, _now: Instant, _len: u32) -> bool {
        let [begin, end, pause, resume, isolated] = self.parameters.values();
        let draw = self.random.uniform();
        self.state = match self.state {
            State::Arrives if draw < isolated => State::Isolated,
            State::Arrives if draw < isolated + begin => State::Burst,
            State::Arrives | State::Isolated => State::Arrives,
            State::Pause if draw < resume => State::Burst,
            State::Pause => State::Pause,
            State::Burst if draw < pause => State::Pause,
            State::Burst if draw < pause + end => State::Arrives,
            State::Burst => State::Burst,
        };
        matches!(self.state, State::Burst | State::Isolated)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{measured, probability};
    use super::*;

    fn states([begin, end, pause, resume, isolated]: [f64; 5]) -> FourStates {
        let [begin, end, pause, resume, isolated] = [begin, end, pause, resume, isolated].map(probability);
        FourStates { begin, end, pause, resume, isolated, place: LossPlace::Wire }
    }

    /// Without pauses and single losses it is a chain of two states: p / (p + r). With all: p13/p31 = 0.05 in bursts, 0.05 p32/p23 = 0.03
    /// in pauses and 0.02 alone for each packet of the first state: 0.07 / 1.10.
    #[test]
    fn the_share_of_lost_packets_follows_from_balance() {
        for (values, expected) in [
            ([0.01, 0.2, 0.0, 1.0, 0.0], 0.01 / 0.21),
            ([0.01, 0.2, 0.3, 0.5, 0.02], 0.07 / 1.10),
            ([0.0, 0.0, 0.0, 1.0, 0.1], 0.1 / 1.1),
            ([1.0, 0.0, 0.2, 0.2, 0.0], 0.5),
        ] {
            let spec = states(values);
            assert!((spec.mean_loss(1500) - expected).abs() < 1e-12, "{values:?}");
            let found = measured(spec, 1500, 1_000_000);
            assert!((found - expected).abs() < 0.02 * expected + 1e-4, "{values:?}: {found}, not {expected}");
        }
    }

    /// The packet behind a single loss arrives; so does the one behind a burst, which has 1/p31 packets on average.
    #[test]
    fn single_losses_are_single_and_bursts_have_their_length() {
        let runs = |values| {
            let mut model = states(values).start(Random::stream(1, "states"));
            let lost: Vec<bool> = (0..400_000).map(|_| model.is_lost(Instant::ZERO, 1500)).collect();
            let begins = lost.windows(2).filter(|pair| !pair[0] && pair[1]).count() as f64;
            lost.iter().filter(|lost| **lost).count() as f64 / begins
        };
        assert!((runs([0.0, 1.0, 0.0, 1.0, 0.3]) - 1.0).abs() < 1e-4);
        assert!((runs([0.02, 0.25, 0.0, 1.0, 0.0]) - 4.0).abs() < 0.1);
    }
}
