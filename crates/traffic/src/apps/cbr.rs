//! Messages at a constant rate.

use crate::app::Parts;
use crate::call::{self, Call, RTP_HEADER};
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
    /// The messages are speech: how late each comes is measured, and `mos` estimates a listener's opinion of the call. `true`, or a table
    /// with its codec and its playout. Over UDP each message has an RTP header of 12 bytes more.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "call::read",
        serialize_with = "call::write"
    )]
    #[schemars(schema_with = "call::schema")]
    pub voice: Option<Call>,
}

pub(super) fn one_kilobyte() -> Size {
    Size::from_bytes(1000)
}

impl Parameters for Cbr {
    fn build(&self, setup: &Setup<'_>) -> Box<dyn Application> {
        let interval = self.rate.transmission_time(self.message);
        // Who listens to datagrams is at their receiver.
        let call = self.voice.filter(|_| !setup.datagrams);
        let call = call.map(|call| (Parts::default(), Listener::new(interval, call.codec)));
        let message = self.datagram().filter(|_| setup.datagrams).unwrap_or(self.message);
        Box::new(Writer { message, interval, next: setup.start, call })
    }
    fn only_writes(&self) -> bool {
        true
    }
    fn datagram(&self) -> Option<Size> {
        let header = if self.voice.is_some() { RTP_HEADER } else { 0 };
        Some(Size::from_bytes(self.message.as_bytes() + header))
    }
    fn call(&self) -> Option<(Call, Duration)> {
        self.voice.map(|call| (call, self.rate.transmission_time(self.message)))
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
