//! Messages at a constant rate.

use crate::app::Parts;
use crate::qoe::Listener;
use crate::{Application, Base, End, Parameters, Qoe, Setup, Streams, Timing};
use longhaul_units::{Duration, Instant, Rate, Size};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// See [`AppSpec::Cbr`](crate::AppSpec::Cbr).
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Cbr {
    /// Mean rate of the application's data.
    #[schemars(extend("x-exclusiveMinimum" = "0 bit/s", "x-maximum" = "1000 Tbit/s"))]
    pub rate: Rate,
    /// Bytes written at a time.
    #[serde(default = "one_kilobyte")]
    #[schemars(extend("x-exclusiveMinimum" = "0 B"))]
    pub message: Size,
    /// The messages are speech: how late each comes is measured, and `mos` estimates a listener's opinion of the call.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub voice: bool,
}

pub(super) fn one_kilobyte() -> Size {
    Size::from_bytes(1000)
}

impl Parameters for Cbr {
    fn build(&self, setup: &Setup<'_>) -> Box<dyn Application> {
        let interval = self.rate.transmission_time(self.message);
        let call = self.voice.then(|| (Parts::default(), Listener::new(interval)));
        Box::new(Writer { message: self.message, interval, next: setup.start, call })
    }
    fn timing(&self) -> Timing {
        Timing::Client
    }
}

struct Writer {
    message: Size,
    interval: Duration,
    next: Instant,
    /// Of a call, the messages on their way and who receives them.
    call: Option<(Parts, Listener)>,
}

impl Application for Writer {
    fn act(&mut self, now: Instant, base: &mut Base, streams: &mut dyn Streams) {
        streams.end(End::CLIENT).write(self.message.as_bytes());
        if let Some((messages, listener)) = &mut self.call {
            messages.add(self.message.as_bytes(), streams);
            listener.message_written(now);
        }
        self.next += self.interval;
        base.wake_at(self.next);
    }
    fn connected(&mut self, _streams: &mut dyn Streams) {
        if let Some((_, listener)) = &mut self.call {
            listener.call_begins();
        }
    }
    fn reached(&mut self, now: Instant, _end: End, _base: &mut Base, streams: &mut dyn Streams) {
        if let Some((messages, listener)) = &mut self.call {
            listener.message_arrived(now);
            messages.next(streams);
        }
    }
    fn qoe(&self, now: Instant) -> Option<Qoe> {
        self.call.as_ref().map(|(_, listener)| Qoe::Call(listener.hearing(now)))
    }
    fn measure_from(&mut self, _now: Instant) {
        if let Some((_, listener)) = &mut self.call {
            listener.measure_anew();
        }
    }
}
