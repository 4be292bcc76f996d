//! A person who types into a remote shell.

use crate::{Application, Base, Draw, End, Parameters, Setup, Side, Streams};
use longhaul_units::{Duration, Instant, Random, Size};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// See [`AppSpec::Keystrokes`](crate::AppSpec::Keystrokes).
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Keystrokes {
    /// Time between two keystrokes; the mean of 238 ms is that of 136 million keystrokes (Dhakal et al., CHI 2018).
    #[serde(default = "typing")]
    #[schemars(extend("x-exclusiveMinimum" = "0 s"))]
    pub gap: Draw<Duration>,
    /// Bytes of a keystroke.
    #[serde(default = "one_byte")]
    #[schemars(extend("x-exclusiveMinimum" = "0 B"))]
    pub keystroke: Size,
    /// Bytes of an echo.
    #[serde(default = "one_byte")]
    #[schemars(extend("x-exclusiveMinimum" = "0 B"))]
    pub echo: Size,
    /// Number of keystrokes, then the connection closes; without it there is no end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub count: Option<u64>,
}

fn typing() -> Draw<Duration> {
    Draw::Exponential(Duration::from_millis(238))
}
fn one_byte() -> Size {
    Size::from_bytes(1)
}

impl Parameters for Keystrokes {
    fn build(&self, setup: &Setup<'_>) -> Box<dyn Application> {
        Box::new(Typist {
            parameters: self.clone(),
            random: setup.random("keystrokes"),
            started: false,
            next: setup.start,
            unechoed: VecDeque::new(),
            typed: 0,
            received: 0,
            echoed: 0,
        })
    }
    fn has_end(&self) -> bool {
        self.count.is_some()
    }
    fn asks(&self) -> bool {
        true
    }
}

struct Typist {
    parameters: Keystrokes,
    random: Random,
    started: bool,
    next: Instant,
    /// Keystrokes that have not been echoed, by when they were made.
    unechoed: VecDeque<Instant>,
    /// Keystrokes made, those that have reached the other end, and echoes that have come back.
    typed: u64,
    received: u64,
    echoed: u64,
}

impl Application for Typist {
    /// Makes a keystroke, but for the first time, and decides when the next one is made.
    fn act(&mut self, now: Instant, base: &mut Base, streams: &mut dyn Streams) {
        let Keystrokes { gap, keystroke, echo, count } = &self.parameters;
        if std::mem::replace(&mut self.started, true) {
            streams.end(End::CLIENT).write(keystroke.as_bytes());
            self.unechoed.push_back(now);
            self.typed += 1;
        } else {
            streams.want(End::CLIENT, echo.as_bytes());
            streams.want(End::SERVER, keystroke.as_bytes());
        }
        let done = count.is_some_and(|count| self.typed >= count);
        self.next = if done { Instant::FAR_FUTURE } else { now + gap.next(&mut self.random) };
        base.wake_at(self.next);
    }
    fn reached(&mut self, now: Instant, end: End, base: &mut Base, streams: &mut dyn Streams) {
        let Keystrokes { keystroke, echo, count, .. } = &self.parameters;
        if end.side == Side::Server {
            streams.end(end).write(echo.as_bytes());
            self.received += 1;
            return streams.want(end, (self.received + 1) * keystroke.as_bytes());
        }
        self.echoed += 1;
        streams.want(end, (self.echoed + 1) * echo.as_bytes());
        if let Some(typed) = self.unechoed.pop_front() {
            base.answered(now - typed);
        }
        if count.is_some_and(|count| self.echoed >= count) {
            base.finish(now);
            streams.end(end).close();
        }
    }
}
