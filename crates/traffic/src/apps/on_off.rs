//! Bursts and silences, as ns-2's `Application/Traffic/Exponential` and `Pareto`.

use super::cbr::one_kilobyte;
use crate::{Application, Base, Draw, End, Parameters, Setup, Streams, Timing};
use longhaul_units::{Duration, Instant, Random, Rate, Size};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// See [`AppSpec::OnOff`](crate::AppSpec::OnOff).
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OnOff {
    /// Rate of the application's data within a burst.
    #[schemars(extend("x-exclusiveMinimum" = "0 bit/s", "x-maximum" = "1000 Tbit/s"))]
    pub rate: Rate,
    /// Bytes written at a time.
    #[serde(default = "one_kilobyte")]
    #[schemars(extend("x-exclusiveMinimum" = "0 B"))]
    pub message: Size,
    /// Length of a burst.
    pub on: Draw<Duration>,
    /// Length of a silence.
    pub off: Draw<Duration>,
}

impl Parameters for OnOff {
    fn build(&self, setup: &Setup<'_>) -> Box<dyn Application> {
        let random = setup.random("bursts");
        Box::new(Bursts { parameters: self.clone(), random, started: false, next: setup.start, left: 0 })
    }
    fn only_writes(&self) -> bool {
        true
    }
    fn datagram(&self) -> Option<Size> {
        Some(self.message)
    }
    fn timing(&self) -> Timing {
        Timing::Client
    }
}

struct Bursts {
    parameters: OnOff,
    random: Random,
    started: bool,
    next: Instant,
    /// Messages of the present burst that are still to come.
    left: u64,
}

impl Application for Bursts {
    fn act(&mut self, _now: Instant, base: &mut Base, streams: &mut dyn Streams) {
        let OnOff { rate, message, on, off } = &self.parameters;
        if std::mem::replace(&mut self.started, true) {
            streams.end(End::CLIENT).write(message.as_bytes());
        }
        let interval = rate.transmission_time(*message);
        self.next += interval;
        if self.left == 0 {
            self.left = messages_in(on.next(&mut self.random), interval);
            self.next += off.next(&mut self.random);
        }
        self.left -= 1;
        base.wake_at(self.next);
    }
}

/// Messages of a burst of this length: rounded to the nearest whole number, at least 1, as ns-2 does.
fn messages_in(burst: Duration, interval: Duration) -> u64 {
    let interval = interval.as_nanos().max(1);
    (burst.as_nanos().saturating_add(interval / 2) / interval).max(1)
}
