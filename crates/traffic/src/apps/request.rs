//! Questions and answers on one connection.

use crate::{Application, Base, End, Parameters, Setup, Side, Streams, Timing};
use longhaul_units::{Duration, Instant, Size};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// See [`AppSpec::Request`](crate::AppSpec::Request).
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// Bytes of a request.
    #[serde(default = "small_request")]
    #[schemars(extend("x-exclusiveMinimum" = "0 B"))]
    pub request: Size,
    /// Bytes of an answer.
    #[schemars(extend("x-exclusiveMinimum" = "0 B"))]
    pub response: Size,
    /// Time between an answer's end and the next request.
    #[serde(default)]
    pub think: Duration,
    /// Number of requests, then the connection closes; without it there is no end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub requests: Option<u64>,
}

pub(super) fn small_request() -> Size {
    Size::from_bytes(300)
}

impl Parameters for Request {
    fn build(&self, setup: &Setup<'_>) -> Box<dyn Application> {
        Box::new(Dialogue { parameters: self.clone(), asked_at: setup.start, answered: 0 })
    }
    fn data_sender(&self) -> Side {
        Side::Server
    }
    fn has_end(&self) -> bool {
        self.requests.is_some()
    }
    fn asks(&self) -> bool {
        true
    }
    fn timing(&self) -> Timing {
        Timing::Client
    }
}

struct Dialogue {
    parameters: Request,
    asked_at: Instant,
    answered: u64,
}

impl Application for Dialogue {
    fn act(&mut self, now: Instant, base: &mut Base, streams: &mut dyn Streams) {
        let Request { request, response, .. } = &self.parameters;
        streams.end(End::CLIENT).write(request.as_bytes());
        self.asked_at = now;
        let asked = self.answered + 1;
        streams.want(End::SERVER, asked * request.as_bytes());
        streams.want(End::CLIENT, asked * response.as_bytes());
        base.wake_at(Instant::FAR_FUTURE);
    }
    fn reached(&mut self, now: Instant, end: End, base: &mut Base, streams: &mut dyn Streams) {
        let Request { response, think, requests, .. } = &self.parameters;
        if end.side == Side::Server {
            return streams.end(end).write(response.as_bytes());
        }
        self.answered += 1;
        base.answered(now - self.asked_at);
        if requests.is_some_and(|requests| self.answered >= requests) {
            base.finish(now);
            streams.end(end).close();
        } else {
            base.wake_at(now + *think);
        }
    }
}
