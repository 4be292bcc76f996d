//! Is the queue ours? Beside the slope of the round trip its level, against the smallest seen: while no queue stands there is
//! room to grow; one that stands is drained; one that stands although we give way belongs to flows that fill queues until
//! they lose, and giving way to them is starving (the test of V. Arun and H. Balakrishnan: Copa, NSDI 2018, section 5).

use crate::Ack;
use crate::settings::{Deserialize, JsonSchema, Serialize};
use longhaul_units::Duration;

/// Whose window sets the rate while others keep the queue full.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Rival {
    /// Nobody's: STTP gives way.
    #[default]
    None,
    /// A Reno window (RFC 5681).
    Reno,
    /// A CUBIC window (RFC 9438).
    Cubic,
}

/// What a round trip has shown.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Round {
    /// The queue was empty at some time: for so many rounds now.
    Free(u32),
    /// It never was: for so many rounds now, and this was the least delay in it.
    Standing(u32, Duration),
}

/// Looks at the least round trip of each round.
#[derive(Clone, Debug, Default)]
pub(super) struct Level {
    least: Option<Duration>,
    samples: u32,
    /// Standing until the queue is down to a quarter of what counts as standing.
    draining: bool,
    rounds: u32,
}

/// One round trip alone may be that of a delayed ACK.
const LEAST_SAMPLES: u32 = 2;
/// Share of the standing queue at which it counts as drained.
const DRAINED: f64 = 0.25;

impl Level {
    /// True while a queue stands, as far as is known.
    pub fn stands(&self) -> bool {
        self.draining
    }
    /// `standing` is the delay that counts as a standing queue. Tells of the round that this ACK ends, if it does.
    pub fn observe(&mut self, ack: &Ack, standing: Duration) -> Option<Round> {
        let mut over = None;
        if ack.round_start {
            let samples = std::mem::take(&mut self.samples);
            over = self.least.take().filter(|_| samples >= LEAST_SAMPLES);
        }
        if let Some(rtt) = ack.rtt {
            self.least = Some(self.least.map_or(rtt, |least| least.min(rtt)));
            self.samples += 1;
        }
        let queue = over?.saturating_sub(ack.min_rtt);
        let limit = if self.draining { standing.mul_f64(DRAINED) } else { standing };
        let stands = queue > limit;
        self.rounds = if stands == self.draining { self.rounds.saturating_add(1) } else { 1 };
        self.draining = stands;
        Some(if stands { Round::Standing(self.rounds, queue) } else { Round::Free(self.rounds) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{MSS, ack_at};

    /// A round whose round trips are these; the base is 100 ms, and 20 ms count as standing.
    fn round(level: &mut Level, rtts: &[u64]) -> Option<Round> {
        let mut told = None;
        for (index, rtt) in rtts.iter().enumerate() {
            let ack = Ack {
                rtt: Some(Duration::from_millis(*rtt)),
                min_rtt: Duration::from_millis(100),
                round_start: index == 0,
                ..ack_at(0, MSS)
            };
            told = told.or(level.observe(&ack, Duration::from_millis(20)));
        }
        told
    }

    #[test]
    fn the_least_round_trip_of_a_round_tells_whether_a_queue_stands() {
        let mut level = Level::default();
        // Each call reports the round before.
        let rounds: [&[u64]; 8] = [
            &[100, 150],
            &[125, 130],
            &[140, 122],
            &[115, 130],
            &[104, 130],
            &[118, 119],
            &[121, 121],
            &[100],
        ];
        let told: Vec<_> = rounds.iter().map(|rtts| round(&mut level, rtts)).collect();
        assert_eq!(
            told,
            [
                None,
                Some(Round::Free(1)),
                Some(Round::Standing(1, Duration::from_millis(25))),
                Some(Round::Standing(2, Duration::from_millis(22))),
                Some(Round::Standing(3, Duration::from_millis(15))), // 115 ms are still more than a quarter of 20 ms
                Some(Round::Free(1)),                                // 104 ms
                Some(Round::Free(2)),                                // 118 ms do not count as standing yet
                Some(Round::Standing(1, Duration::from_millis(21))), // 121 ms do
            ]
        );
    }
}
