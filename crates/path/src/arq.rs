//! Automatic repeat request on a link: what the wire loses is sent again, after the link's own round trip and before what waits. The
//! repetitions are selective: what was not lost is not repeated.

use crate::settings::{Deserialize, JsonSchema, Serialize};
use longhaul_units::{Duration, Instant};
use std::collections::{BTreeMap, VecDeque};

/// How a link repeats what it loses.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ArqSpec {
    /// Times that a packet is transmitted at most; then it is lost. Without it, until it arrives.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1000))]
    pub attempts: Option<u32>,
    /// From the end of a transmission that was lost to the earliest repetition; twice the link's delay if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-maximum" = "1 h"))]
    pub feedback: Option<Duration>,
    /// The far end keeps packets behind a lost one until that has arrived or was given up. Without it, they overtake it.
    #[serde(default = "yes")]
    pub in_order: bool,
}

fn yes() -> bool {
    true
}

/// A packet on its way over a link that repeats what it loses.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Attempt {
    /// Its place in the order of first transmissions.
    number: u64,
    /// Transmissions so far, the present one included.
    tries: u32,
}

/// A packet that is to be sent again.
struct Repeat<P> {
    due: Instant,
    attempt: Attempt,
    arrived: Instant,
    packet: P,
}

/// The state of a link that repeats what it loses.
pub(crate) struct Arq<P> {
    attempts: u32,
    feedback: Duration,
    /// In order of time, as the transmissions that were lost.
    repeats: VecDeque<Repeat<P>>,
    order: Option<Order<P>>,
    /// First transmissions, and repetitions.
    sent: u64,
    pub repeated: u64,
    /// The packet in transmission.
    current: Attempt,
}

impl<P> Arq<P> {
    pub fn new(spec: &ArqSpec, delay: Duration) -> Self {
        Arq {
            attempts: spec.attempts.unwrap_or(u32::MAX),
            feedback: spec.feedback.unwrap_or(delay * 2),
            repeats: VecDeque::new(),
            order: spec.in_order.then(Order::default),
            sent: 0,
            repeated: 0,
            current: Attempt { number: 0, tries: 0 },
        }
    }

    /// When a packet is due to be sent again next.
    pub fn due(&self) -> Instant {
        self.repeats.front().map_or(Instant::FAR_FUTURE, |repeat| repeat.due)
    }

    /// The packet that is to be sent again at `now`, if one is, and when it came to the link.
    pub fn repeat(&mut self, now: Instant) -> Option<(Instant, P)> {
        if self.due() > now {
            return None;
        }
        let Repeat { attempt, arrived, packet, .. } = self.repeats.pop_front()?;
        self.current = Attempt { tries: attempt.tries + 1, ..attempt };
        self.repeated += 1;
        Some((arrived, packet))
    }

    /// The transmission of a new packet begins.
    pub fn begin(&mut self) {
        self.current = Attempt { number: self.sent, tries: 1 };
        self.sent += 1;
    }

    /// The present transmission has arrived: what is handed on now, and when.
    pub fn arrived(&mut self, at: Instant, packet: P) -> Vec<(Instant, P)> {
        match &mut self.order {
            None => vec![(at, packet)],
            Some(order) => order.settle(self.current.number, at, Some(packet)),
        }
    }

    /// The present transmission, of a packet that came to the link at `arrived`, was lost at `now`. The packet, if it is given up.
    pub fn lost(&mut self, now: Instant, arrived: Instant, packet: P) -> Option<P> {
        if self.current.tries >= self.attempts {
            return Some(packet);
        }
        self.repeats.push_back(Repeat { due: now + self.feedback, attempt: self.current, arrived, packet });
        None
    }

    /// The packet in transmission was given up, which the far end knows at `at`: what is handed on now, and when.
    pub fn given_up(&mut self, at: Instant) -> Vec<(Instant, P)> {
        self.order.as_mut().map_or(vec![], |order| order.settle(self.current.number, at, None))
    }

    /// The present transmission, if there is one, is a repetition.
    pub fn repeats(&self) -> bool {
        self.current.tries > 1
    }

    /// Packets that are to be sent again, or wait at the far end for those before them.
    pub fn inside(&self) -> u64 {
        let kept = self
            .order
            .as_ref()
            .map_or(0, |order| order.waiting.values().filter(|(_, one)| one.is_some()).count());
        (self.repeats.len() + kept) as u64
    }
}

/// The far end of a link that keeps packets in order.
struct Order<P> {
    next: u64,
    /// What has arrived or was given up, behind packets of which neither is known.
    waiting: BTreeMap<u64, (Instant, Option<P>)>,
    last: Instant,
}

impl<P> Default for Order<P> {
    fn default() -> Self {
        Order { next: 0, waiting: BTreeMap::new(), last: Instant::ZERO }
    }
}

impl<P> Order<P> {
    /// What becomes of a packet is known at `at`: what can be handed on, and when.
    fn settle(&mut self, number: u64, at: Instant, packet: Option<P>) -> Vec<(Instant, P)> {
        self.waiting.insert(number, (at, packet));
        let mut released = vec![];
        while let Some((at, packet)) = self.waiting.remove(&self.next) {
            self.next += 1;
            self.last = self.last.max(at);
            released.extend(packet.map(|packet| (self.last, packet)));
        }
        released
    }
}
