//! A link whose two directions have one transmitter: only one of them sends at a time, and changing between them takes time.

use crate::media::Turn;
use crate::settings::{Deserialize, JsonSchema, Serialize};
use longhaul_units::{Duration, Instant};
use std::sync::{Arc, Mutex, PoisonError};

/// Both directions of a link share one transmitter.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HalfDuplexSpec {
    /// Time from the end of a transmission to the beginning of one in the other direction.
    #[serde(default)]
    #[schemars(extend("x-maximum" = "10 s"))]
    pub turnaround: Duration,
}

/// One direction of such a link.
#[derive(Clone, Debug)]
pub struct HalfDuplex {
    /// The link's name, which both directions have.
    pub name: String,
    /// 0 for forward, 1 for reverse.
    pub side: usize,
    /// What they share.
    pub spec: HalfDuplexSpec,
}

/// What both directions share.
pub(crate) struct Medium {
    turnaround: Duration,
    busy_until: Instant,
    /// The direction that has sent last.
    last: Option<usize>,
    /// Directions that have asked in vain.
    waiting: [bool; 2],
}

impl Medium {
    pub fn new(spec: &HalfDuplexSpec) -> Self {
        Medium { turnaround: spec.turnaround, busy_until: Instant::ZERO, last: None, waiting: [false; 2] }
    }

    /// A direction wants to send for a time from `now` on. Where both wait, they send in turns, a packet each.
    fn serve(&mut self, now: Instant, side: usize, left: &mut Duration) -> Turn {
        if self.busy_until > now {
            self.waiting[side] = true;
            return Turn::Later(self.busy_until);
        }
        if self.last == Some(side) && self.waiting[1 - side] {
            // It is the other's turn, which asks again at this very time.
            self.waiting[side] = true;
            return Turn::Later(now + Duration::from_nanos(1));
        }
        let turned = self.last.is_some_and(|last| last != side);
        let begin = if turned { now + self.turnaround } else { now };
        self.busy_until = begin + std::mem::take(left);
        (self.last, self.waiting[side]) = (Some(side), false);
        Turn::Ends(self.busy_until)
    }
}

/// A direction's access to the medium.
pub(crate) struct Access {
    pub medium: Arc<Mutex<Medium>>,
    pub side: usize,
}

impl Access {
    /// Sends for a time, if the medium is free.
    pub fn serve(&self, now: Instant, left: &mut Duration) -> Turn {
        self.medium.lock().unwrap_or_else(PoisonError::into_inner).serve(now, self.side, left)
    }
}
