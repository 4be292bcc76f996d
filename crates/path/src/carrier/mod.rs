//! A carrier that several terminals share, as on the return link of DVB-RCS2 (ETSI EN 301 545-2): time is cut into superframes, and at the
//! begin of each the hub divides the next one among the terminals by what they have, and by what they have requested so long before.
//!
//! Capacity is time of the carrier, in whole nanoseconds: assignments of a superframe follow one another and never overlap. Categories are
//! those of the standard: constant rate (CRA), rate based (RBDC), volume based (VBDC), and free capacity (FCA).

mod contention;
mod share;

use crate::Random;
use crate::media::Turn;
use crate::settings::{Deserialize, JsonSchema, Serialize};
pub use contention::{Access, ContentionSpec};
use longhaul_units::{Duration, Instant, Rate, Size};
use share::fill;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A carrier that several terminals share.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "SharedCarrier")]
pub struct CarrierSpec {
    /// The carrier's name: letters, digits, `-` and `_`.
    pub name: String,
    /// What all of its terminals can send together.
    #[schemars(extend("x-minimum" = "1 bit/s", "x-maximum" = "1000 Tbit/s"))]
    pub rate: Rate,
    /// Length of a superframe: requests go out and assignments begin at its boundaries.
    #[serde(default = "superframe")]
    #[schemars(extend("x-minimum" = "100 us", "x-maximum" = "10 s"))]
    pub superframe: Duration,
    /// Time from a request to the earliest superframe that is divided by it: a round trip to the hub, and its scheduling.
    #[schemars(extend("x-maximum" = "1 h"))]
    pub delay: Duration,
    /// What nobody has requested is divided among all terminals by their weights (free capacity, FCA).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub free: bool,
    /// Terminals without an assignment send their requests in slots where those of others may collide with them; without it, requests
    /// always get through.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contention: Option<ContentionSpec>,
}

fn superframe() -> Duration {
    Duration::from_micros(26_500)
}

/// One terminal of a carrier: what it has, and what it may request.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TerminalSpec {
    /// The carrier's name.
    pub name: String,
    /// Rate that it has without a request (constant rate assignment, CRA).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-exclusiveMinimum" = "0 bit/s"))]
    pub cra: Option<Rate>,
    /// It requests a rate (rate based dynamic capacity, RBDC).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rbdc: Option<RbdcSpec>,
    /// It requests the volume that waits (volume based dynamic capacity, VBDC).
    #[serde(default = "yes")]
    pub vbdc: bool,
    /// Its part where not all can have what they request, and of free capacity.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    #[schemars(range(min = 0.001, max = 1000.0))]
    pub weight: f64,
}

/// How a terminal requests a rate.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RbdcSpec {
    /// The most that it requests.
    #[schemars(extend("x-exclusiveMinimum" = "0 bit/s"))]
    pub max: Rate,
    /// It requests the rate at which data comes, smoothed over so long.
    #[serde(default = "smoothing")]
    #[schemars(extend("x-maximum" = "1 h"))]
    pub smoothing: Duration,
    /// The hub forgets a requested rate after so long, unless the terminal repeats it.
    #[serde(default = "timeout")]
    #[schemars(extend("x-exclusiveMinimum" = "0 s", "x-maximum" = "1 h"))]
    pub timeout: Duration,
}

fn yes() -> bool {
    true
}
fn one() -> f64 {
    1.0
}
#[allow(clippy::trivially_copy_pass_by_ref, clippy::float_cmp)] // serde's signature, and a default is written as it is
fn is_one(weight: &f64) -> bool {
    *weight == 1.0
}
fn smoothing() -> Duration {
    Duration::from_millis(200)
}
fn timeout() -> Duration {
    Duration::from_secs(1)
}

impl TerminalSpec {
    /// What is wrong with it on this carrier, and the setting.
    ///
    /// # Errors
    /// If it can never send, or has more than there is.
    pub fn check(&self, carrier: &CarrierSpec) -> Result<(), (&'static str, String)> {
        if self.cra.is_none() && self.rbdc.is_none() && !self.vbdc && !carrier.free {
            return Err((
                "vbdc",
                "the terminal can never send: give `cra` or `rbdc`, or leave vbdc = true".to_string(),
            ));
        }
        if self.cra.is_some_and(|cra| cra > carrier.rate) {
            return Err(("cra", format!("it is more than the carrier has, {}", carrier.rate)));
        }
        Ok(())
    }

    /// The highest rate that it can have while all others are silent.
    pub fn most(&self, carrier: &CarrierSpec) -> Rate {
        if self.vbdc || carrier.free {
            return carrier.rate;
        }
        let own = self.cra.map_or(0, Rate::as_bps) + self.rbdc.map_or(0, |rbdc| rbdc.max.as_bps());
        Rate::from_bps(own.min(carrier.rate.as_bps()))
    }
}

/// A link's place on a carrier.
#[derive(Clone, Debug)]
pub struct Membership {
    /// The carrier.
    pub carrier: Arc<CarrierSpec>,
    /// What the link's terminal has of it.
    pub terminal: TerminalSpec,
}

fn lock(carrier: &Mutex<Carrier>) -> MutexGuard<'_, Carrier> {
    carrier.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A link on a carrier.
pub(crate) struct Member {
    carrier: Arc<Mutex<Carrier>>,
    place: usize,
}

impl Member {
    /// A link joins a carrier.
    pub fn join(carrier: Arc<Mutex<Carrier>>, terminal: &TerminalSpec) -> Self {
        let place = lock(&carrier).add(terminal);
        Member { carrier, place }
    }
    /// Time of the carrier that a packet of `len` bytes takes.
    pub fn time_of(&self, len: u32) -> Duration {
        lock(&self.carrier).time_of(len)
    }
    /// A packet of `len` bytes has come into the queue at `now`.
    pub fn came(&self, now: Instant, len: u32) {
        lock(&self.carrier).came(now, self.place, len);
    }
    /// A packet of `len` bytes has gone from the queue without being sent.
    pub fn gone(&self, len: u32) {
        lock(&self.carrier).gone(self.place, len);
    }
    /// Sends what is left of a packet from `now` on, as far as there is capacity.
    pub fn serve(&self, now: Instant, left: &mut Duration) -> Turn {
        lock(&self.carrier).serve(now, self.place, left)
    }
}

/// What a terminal requests: time in each superframe, and time in all.
#[derive(Clone, Copy, Debug)]
struct Request {
    due: u64,
    place: usize,
    rate: Option<u64>,
    volume: u64,
}

/// A terminal, and what the hub has noted of it. All capacity is time of the carrier in nanoseconds.
struct Terminal {
    weight: f64,
    vbdc: bool,
    /// In each superframe.
    constant: u64,
    /// The most that it requests for each superframe, the part of the last superframe in the smoothed rate, and how many superframes a
    /// request holds.
    rbdc: Option<(u64, f64, u64)>,
    /// What waits, and what has come since the last boundary.
    backlog: u64,
    came: u64,
    smoothed: f64,
    /// Volume that it has requested and that was not assigned yet; the rate that it has requested last.
    outstanding: u64,
    requested_rate: u64,
    /// Before this superframe it does not try again in the contention slots.
    silent_until: u64,
    /// What the hub is to assign: time in each superframe until one, and time in all.
    rate: (u64, u64),
    volume: u64,
    /// Its assignment in the present superframe, what it has used taken away.
    block: (Instant, Instant),
}

/// A carrier at work.
pub(crate) struct Carrier {
    rate: Rate,
    /// In nanoseconds.
    superframe: u64,
    /// Superframes from a request to its assignment.
    delay: u64,
    free: bool,
    contention: Option<(ContentionSpec, Random)>,
    terminals: Vec<Terminal>,
    requests: VecDeque<Request>,
    /// The first superframe that is not divided yet.
    next: u64,
}

impl Carrier {
    pub fn new(spec: &CarrierSpec, seed: u64) -> Self {
        let superframe = spec.superframe.as_nanos().max(1);
        let stream = || Random::stream(seed, &format!("carrier {} contention", spec.name));
        Carrier {
            rate: spec.rate,
            superframe,
            delay: spec.delay.as_nanos().div_ceil(superframe),
            free: spec.free,
            contention: spec.contention.map(|contention| (contention, stream())),
            terminals: vec![],
            requests: VecDeque::new(),
            next: 0,
        }
    }

    /// Time of a rate in each superframe.
    fn part(&self, rate: Rate) -> u64 {
        let part =
            u128::from(rate.as_bps()) * u128::from(self.superframe) / u128::from(self.rate.as_bps().max(1));
        part.min(u128::from(self.superframe)) as u64
    }

    fn add(&mut self, spec: &TerminalSpec) -> usize {
        let rbdc = spec.rbdc.map(|rbdc| {
            let kept = match rbdc.smoothing.as_nanos() {
                0 => 0.0,
                smoothing => libm::exp(-(self.superframe as f64) / smoothing as f64),
            };
            (self.part(rbdc.max), 1.0 - kept, rbdc.timeout.as_nanos().div_ceil(self.superframe))
        });
        self.terminals.push(Terminal {
            weight: spec.weight,
            vbdc: spec.vbdc,
            constant: spec.cra.map_or(0, |cra| self.part(cra)),
            rbdc,
            backlog: 0,
            came: 0,
            smoothed: 0.0,
            outstanding: 0,
            requested_rate: 0,
            silent_until: 0,
            rate: (0, 0),
            volume: 0,
            block: (Instant::ZERO, Instant::ZERO),
        });
        self.terminals.len() - 1
    }

    fn time_of(&self, len: u32) -> Duration {
        self.rate.transmission_time(Size::from_bytes(u64::from(len)))
    }

    fn boundary(&self, number: u64) -> Instant {
        Instant::from_nanos(number.saturating_mul(self.superframe))
    }

    fn came(&mut self, now: Instant, place: usize, len: u32) {
        self.advance(now);
        let time = self.time_of(len).as_nanos();
        let terminal = &mut self.terminals[place];
        terminal.backlog += time;
        terminal.came += time;
    }

    fn gone(&mut self, place: usize, len: u32) {
        let time = self.time_of(len).as_nanos();
        let terminal = &mut self.terminals[place];
        terminal.backlog = terminal.backlog.saturating_sub(time);
        terminal.came = terminal.came.saturating_sub(time);
    }

    fn serve(&mut self, now: Instant, place: usize, left: &mut Duration) -> Turn {
        self.advance(now);
        let later = self.boundary(self.next);
        let terminal = &mut self.terminals[place];
        let begin = terminal.block.0.max(now);
        let sent = terminal.block.1.since(begin).min(*left);
        *left = *left - sent;
        terminal.backlog = terminal.backlog.saturating_sub(sent.as_nanos());
        terminal.block.0 = begin + sent;
        if left.is_zero() { Turn::Ends(begin + sent) } else { Turn::Later(later) }
    }

    /// Divides all superframes that have begun by `now`, and sends the requests that go out at their boundaries.
    fn advance(&mut self, now: Instant) {
        while self.boundary(self.next) <= now {
            let number = self.next;
            self.next += 1;
            self.divide(number);
            self.request(number);
        }
    }

    /// The hub's work: constant rates first, then requested rates, volumes, and what is left if it is free.
    fn divide(&mut self, number: u64) {
        while let Some(request) = self.requests.front().filter(|request| request.due <= number).copied() {
            self.requests.pop_front();
            let terminal = &mut self.terminals[request.place];
            if let (Some(rate), Some((.., timeout))) = (request.rate, terminal.rbdc) {
                terminal.rate = (rate, number + timeout);
            }
            terminal.volume += request.volume;
        }
        let weights: Vec<f64> = self.terminals.iter().map(|one| one.weight).collect();
        let mut left = self.superframe;
        let mut given = vec![0; self.terminals.len()];
        for (terminal, given) in self.terminals.iter().zip(&mut given) {
            *given = terminal.constant.min(left);
            left -= *given;
        }
        let mut divide = |wants: Vec<u64>| {
            let found = fill(left, &wants, &weights);
            left -= found.iter().sum::<u64>();
            given.iter_mut().zip(&found).for_each(|(given, found)| *given += found);
            found
        };
        let rates = self.terminals.iter().map(|one| if number < one.rate.1 { one.rate.0 } else { 0 });
        divide(rates.collect());
        let volumes = divide(self.terminals.iter().map(|one| one.volume).collect());
        if self.free {
            divide(vec![u64::MAX; self.terminals.len()]);
        }
        let mut begin = self.boundary(number);
        for ((terminal, given), volume) in self.terminals.iter_mut().zip(given).zip(volumes) {
            terminal.volume -= volume;
            terminal.outstanding = terminal.outstanding.saturating_sub(volume);
            let end = begin + Duration::from_nanos(given);
            terminal.block = (begin, end);
            begin = end;
        }
    }

    /// The terminals' requests at the boundary where a superframe begins. A terminal that has an assignment in it sends its request there;
    /// others in the slots for all, if there are any.
    fn request(&mut self, number: u64) {
        let (due, ahead) = (number + self.delay, self.delay + 1);
        let mut contending = vec![];
        for (place, terminal) in self.terminals.iter_mut().enumerate() {
            let Some(request) = terminal.request(due, ahead, place) else { continue };
            let alone = terminal.block.0 < terminal.block.1 || self.contention.is_none();
            if alone {
                terminal.sent(&request);
                self.requests.push_back(request);
            } else if terminal.silent_until <= number {
                contending.push(request);
            }
        }
        let Some((spec, random)) = &mut self.contention else { return };
        for (request, received) in contending.iter().zip(spec.received(contending.len(), random)) {
            let terminal = &mut self.terminals[request.place];
            if received {
                terminal.sent(request);
                self.requests.push_back(*request);
            } else {
                // That nothing is assigned is known when it should have been.
                terminal.silent_until = due + 1 + random.up_to(u64::from(spec.backoff));
            }
        }
    }
}

impl Terminal {
    /// What it requests at a boundary, for a superframe; `ahead` is how many it must bridge until then.
    fn request(&mut self, due: u64, ahead: u64, place: usize) -> Option<Request> {
        let came = std::mem::take(&mut self.came);
        let coming = (self.constant + self.requested_rate).saturating_mul(ahead);
        let excess = self.backlog.saturating_sub(self.outstanding.saturating_add(coming));
        let rate = self.rbdc.map(|(most, fresh, _)| {
            self.smoothed += fresh * (came as f64 - self.smoothed);
            let drained = if self.vbdc { 0.0 } else { excess as f64 / ahead as f64 };
            let wanted = self.smoothed - self.constant as f64 + drained;
            // The smoothed rate never comes to zero by itself.
            if wanted < 1e-3 * most as f64 { 0 } else { (wanted.ceil() as u64).min(most) }
        });
        let volume = if self.vbdc { excess } else { 0 };
        let is_new = volume > 0 || rate.is_some_and(|rate| rate > 0 || self.requested_rate > 0);
        is_new.then_some(Request { due, place, rate, volume })
    }

    /// The hub will get a request.
    fn sent(&mut self, request: &Request) {
        self.outstanding += request.volume;
        self.requested_rate = request.rate.unwrap_or_default();
        self.silent_until = 0;
    }
}

#[cfg(test)]
mod tests;
