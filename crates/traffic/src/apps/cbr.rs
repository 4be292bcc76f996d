//! Messages at a constant rate.

use super::on_off::check_messages;
use crate::{Application, Base, End, Parameters, Setup, Streams};
use longhaul_units::{Duration, Instant, Rate, Size};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// See [`AppSpec::Cbr`](crate::AppSpec::Cbr).
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Cbr {
    /// Mean rate of the application's data.
    pub rate: Rate,
    /// Bytes written at a time.
    #[serde(default = "one_kilobyte")]
    pub message: Size,
}

pub(super) fn one_kilobyte() -> Size {
    Size::from_bytes(1000)
}

impl Parameters for Cbr {
    fn build(&self, setup: &Setup<'_>) -> Box<dyn Application> {
        let interval = self.rate.transmission_time(self.message);
        Box::new(Writer { message: self.message, interval, next: setup.start })
    }
    fn check(&self) -> Vec<(&'static str, &'static str)> {
        check_messages(self.rate, self.message)
    }
}

struct Writer {
    message: Size,
    interval: Duration,
    next: Instant,
}

impl Application for Writer {
    fn act(&mut self, _now: Instant, base: &mut Base, streams: &mut dyn Streams) {
        streams.end(End::CLIENT).write(self.message.as_bytes());
        self.next += self.interval;
        base.wake_at(self.next);
    }
}
