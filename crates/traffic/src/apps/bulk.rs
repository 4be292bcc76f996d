//! A file, or data without end: the greedy source of every study of congestion control.

use crate::{Application, Base, Draw, ENDLESS, End, Parameters, Setup, Streams, Timing, Volume};
use longhaul_units::Instant;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// See [`AppSpec::Bulk`](crate::AppSpec::Bulk).
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Bulk {
    /// Bytes to send, then the connection closes; without it the transfer has no end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<Draw<Volume>>,
}

impl Parameters for Bulk {
    fn build(&self, setup: &Setup<'_>) -> Box<dyn Application> {
        let part = |size: &Draw<Volume>| {
            let all = size.next(&mut setup.random("size")).bytes(setup.mss);
            let (stream, streams) = (u64::from(setup.stream.0), u64::from(setup.stream.1));
            // The first streams take one more where bytes cannot be divided.
            all / streams + u64::from(stream < all % streams)
        };
        Box::new(Transfer { size: self.size.as_ref().map(part) })
    }
    fn check(&self) -> Vec<(&'static str, &'static str)> {
        match &self.size {
            Some(size) if size.is_zero() => {
                vec![("size", "a transfer has at least 1 B; leave the size out to send without end")]
            }
            _ => vec![],
        }
    }
    fn has_end(&self) -> bool {
        self.size.is_some()
    }
    fn timing(&self) -> Timing {
        Timing::None
    }
}

/// Bytes of the transfer, or of its part; without end if there is no number.
struct Transfer {
    size: Option<u64>,
}

impl Application for Transfer {
    fn act(&mut self, _now: Instant, base: &mut Base, streams: &mut dyn Streams) {
        streams.end(End::CLIENT).write(self.size.unwrap_or(ENDLESS));
        if let Some(size) = self.size {
            streams.want(End::SERVER, size);
        }
        base.wake_at(Instant::FAR_FUTURE);
    }
    fn connected(&mut self, streams: &mut dyn Streams) {
        if self.size.is_some() {
            streams.end(End::CLIENT).close();
        }
    }
    fn reached(&mut self, now: Instant, _end: End, base: &mut Base, _streams: &mut dyn Streams) {
        base.finish(now);
    }
}
