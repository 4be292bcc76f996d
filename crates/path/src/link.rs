//! One direction of a link: a queue, a [transmitter](crate::transmitter) and a wire.
//!
//! Behind a discipline that decides on arrival, a packet's departure is known the moment it comes in, so a link costs
//! one event per packet: the arrival at the far end. Other disciplines cost a second one, the end of transmission.

use crate::arq::Arq;
use crate::backlog::Backlog;
use crate::grants::Grants;
use crate::media::{Media, Shared};
use crate::queue::{Admission, Discipline, Found, Occupancy, Report, Verdict};
use crate::schedule::Schedule;
use crate::serial::{LineCoder, Plain};
use crate::transmitter::{Marks, Pace, Transmitter};
use crate::wire::Wire;
use crate::{
    DropCause, Histogram, Hosts, LinkConfig, LossModel, LossPlace, OverheadSpec, Packet, Random, SerialSpec,
};
use longhaul_units::{Duration, Instant, Rate};
pub use readings::Scripted;
use readings::Waited;
use std::collections::VecDeque;

mod readings;
mod service;

/// What becomes of an offered packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fate {
    /// It reaches the far end then: pass it to [`Link::carry`], or take it there by other means.
    Arrives(Instant),
    /// It is gone.
    Dropped(DropCause),
    /// It is let in and transmitted, and lost at the end of its transmission, at this time.
    Lost(DropCause, Instant),
    /// The discipline requires the packet itself: pass it to [`Link::enqueue`].
    Queue,
}

/// One direction of a link. Here stands what every packet touches, and it is small and in order of use: thousands of
/// links fit a cache, and a packet that finds a plain link idle touches the first line of it alone.
#[repr(C)]
pub struct Link<P> {
    transmitter: Transmitter,
    /// Packets that the queue has let in.
    accepted_packets: u64,
    /// The propagation delay at the start.
    delay: Duration,
    /// Bytes that the queue has let in; apart from the packets, as the compiler makes more of two sums side by side than two additions.
    accepted_bytes: u64,
    /// Departures are known on arrival, the order of packets never changes, and none arrives twice.
    fifo: bool,
    /// Neither changes nor grants, loss, fades, corruption, duplication, jitter, reordering, slots or framing.
    plain: bool,
    /// Packets on the wire in order of arrival.
    flight: VecDeque<(Instant, P)>,
    /// Packets that have come out; not counted on a plain FIFO link, where it follows.
    delivered: u64,
    peak: u64,
    discipline: Discipline<P>,
    waits: Option<Box<Histogram>>,
    /// What waits or is being transmitted (disciplines that decide on arrival).
    backlog: Backlog,
    rest: Box<Rest<P>>,
}

/// What few packets touch.
struct Rest<P> {
    pace: Pace,
    before_queue: Option<LossModel>,
    wire: Wire,
    serial: Option<SerialSpec>,
    overhead: Option<OverheadSpec>,
    dropped: [u64; 6],
    /// When the packets leave that are counted as lost but are still in the backlog.
    to_be_lost: VecDeque<Instant>,
    /// How long packets have waited since [`Link::measure_waits`].
    waited: Waited,
    /// Packet in transmission and its arrival in the queue (other disciplines).
    in_service: Option<(Instant, P)>,
    /// When the discipline, which holds its packets back, is to be asked again (other disciplines).
    ready_at: Instant,
    /// The rate that the discipline was last notified of (other disciplines).
    rate: Rate,
    /// When its transmission began.
    started: Instant,
    /// What was lost at the end of its transmission, and when (other disciplines).
    lost: Vec<(Instant, P, DropCause)>,
    /// No packet takes less from the end of its transmission to the far end; zero where that is of no use.
    least_delay: Duration,
    /// Transmissions need not be ended in time, only before what comes next: the discipline does nothing then.
    ends_later: bool,
    /// What it transmits on, if it shares that with other links.
    shared: Option<OnShared>,
    /// What it repeats, if it does.
    arq: Option<Arq<P>>,
    /// What the discipline has done to packets that it had taken in, and all marks.
    report: Report<P>,
    /// Packets and bytes transmitted (other disciplines).
    transmitted: Occupancy,
}

/// A link that shares what it transmits on: packets are transmitted when it may, and in parts where that ends before they do.
struct OnShared {
    medium: Shared,
    /// Time that the packet in transmission takes, what of it is still to come, and whether all of that is assigned: then the
    /// transmission ends when the transmitter is free, else it goes on then.
    whole: Duration,
    left: Duration,
    assigned: bool,
}

impl OnShared {
    fn new(medium: Shared) -> Self {
        OnShared { medium, whole: Duration::ZERO, left: Duration::ZERO, assigned: false }
    }
}

impl<P: Packet + Send + 'static> Link<P> {
    /// A link with random streams derived from `seed` and `name`, for packets that state their hosts.
    pub fn new(config: &LinkConfig, seed: u64, name: &str) -> Self {
        Link::among(&Hosts::default(), config, seed, name)
    }

    /// The same for packets between these hosts. What it shares with other links, it has for itself: see [`Link::joined`].
    pub fn among(hosts: &Hosts, config: &LinkConfig, seed: u64, name: &str) -> Self {
        Link::joined(hosts, config, seed, name, &mut Media::new(seed))
    }

    /// The same beside the other links of a world.
    pub fn joined(hosts: &Hosts, config: &LinkConfig, seed: u64, name: &str, media: &mut Media) -> Self {
        Link::build(hosts, config, config.grants.build(), media.join(config), false, seed, name)
    }

    /// The same where capacity is assigned from outside.
    pub fn with_grants(
        hosts: &Hosts,
        config: &LinkConfig,
        grants: Option<Box<dyn Grants>>,
        seed: u64,
        name: &str,
    ) -> Self {
        Link::build(hosts, config, grants, None, false, seed, name)
    }

    /// A link whose script may change while it is at work: [`Link::follow`]. It decides nothing before its time, which costs an event
    /// for the end of each transmission. A line that compresses headers cannot be one.
    pub fn changeable(hosts: &Hosts, config: &LinkConfig, seed: u64, name: &str) -> Self {
        Link::build(hosts, config, config.grants.build(), None, true, seed, name)
    }

    fn build(
        hosts: &Hosts,
        config: &LinkConfig,
        grants: Option<Box<dyn Grants>>,
        medium: Option<Shared>,
        may_change: bool,
        seed: u64,
        name: &str,
    ) -> Self {
        let model = |place| {
            let spec = config.loss.as_ref().filter(|spec| spec.place() == place)?;
            Some(spec.start(Random::stream(seed, &format!("{name} loss"))))
        };
        let pace = Pace::new(config.schedule(), config.rate, grants);
        let mut discipline = config.queue.build(config.rate, hosts, seed, name);
        let ends_later = may_change && !matches!(discipline, Discipline::Queue(_));
        let least_delay = if ends_later { pace.schedule.least_delay() } else { Duration::ZERO };
        // When a packet has left is not known when it comes.
        let holds = may_change || medium.is_some() || config.arq.is_some();
        if holds {
            discipline = Discipline::Queue(discipline.holding(config.rate));
        }
        let plain = !holds
            && config.loss.is_none()
            && config.trace.loss.is_none()
            && config.outages.is_empty()
            && config.jitter.is_none()
            && config.reordering.is_none()
            && config.slots.is_none()
            && config.serial.is_none()
            && config.overhead.is_none()
            && config.duplication.get() == 0.0
            && config.corruption.is_none()
            && pace.is_constant();
        let fifo = !matches!(discipline, Discipline::Queue(_))
            && !config.reorders()
            && config.duplication.get() == 0.0;
        Link {
            transmitter: Transmitter::new(
                plain && fifo,
                plain && matches!(discipline, Discipline::DropTail(_)),
            ),
            delay: config.delay,
            fifo,
            plain,
            discipline,
            backlog: Backlog::default(),
            flight: VecDeque::new(),
            accepted_packets: 0,
            accepted_bytes: 0,
            delivered: 0,
            peak: 0,
            waits: None,
            rest: Box::new(Rest {
                pace,
                before_queue: model(LossPlace::BeforeQueue),
                wire: Wire::new(config, may_change, model(LossPlace::Wire), seed, name),
                serial: config.serial,
                overhead: config.overhead,
                dropped: [0; 6],
                to_be_lost: VecDeque::new(),
                waited: Waited::default(),
                in_service: None,
                ready_at: Instant::FAR_FUTURE,
                rate: config.rate,
                started: Instant::ZERO,
                lost: vec![],
                least_delay,
                ends_later,
                shared: medium.map(OnShared::new),
                arq: config.arq.map(|arq| Arq::new(&arq, config.delay)),
                report: Report::default(),
                transmitted: Occupancy::default(),
            }),
        }
    }

    /// True if departures are known on arrival and packets arrive in the order in which they are offered, each once.
    #[inline]
    pub fn is_fifo(&self) -> bool {
        self.fifo
    }

    /// True if nothing happens to packets on a FIFO link but queueing and propagation, both without a change.
    #[inline]
    pub fn is_plain(&self) -> bool {
        self.transmitter.marks.orderly
    }

    /// Offers a packet. Offers never go back in time.
    #[inline(always)]
    pub fn offer(&mut self, now: Instant, packet: &mut P) -> Fate {
        match self.pass(now, packet.wire_len()) {
            Some(arrival) => Fate::Arrives(arrival),
            None => self.offer_to_plain_queue(now, packet),
        }
    }

    /// The long way without header compression.
    #[inline(never)]
    fn offer_to_plain_queue(&mut self, now: Instant, packet: &mut P) -> Fate {
        self.offer_to_queue(now, packet, &mut Plain)
    }

    /// The short way through a plain link: when a packet of `len` bytes arrives at the far end. `None`: nothing was done, offer the
    /// packet. The long way gives the same.
    #[inline(always)]
    fn pass(&mut self, now: Instant, len: u32) -> Option<Instant> {
        match self.pass_idle(now, len) {
            None if self.transmitter.marks.express => self.pass_waiting(now, len),
            passed => passed,
        }
    }

    /// The same only while the transmitter is idle, as most are at most times, and has sent a packet of this length before.
    #[inline(always)]
    pub fn pass_idle(&mut self, now: Instant, len: u32) -> Option<Instant> {
        let Marks { orderly, express, .. } = self.transmitter.marks;
        if !orderly {
            return None;
        }
        let departure = now + self.transmitter.idle_time(now, len)?;
        if !express {
            let Discipline::Red(queue) = &mut self.discipline else { return None };
            if !queue.admit_to_idle(now, len) {
                return None;
            }
        }
        self.transmitter.free_at = departure;
        self.count_accepted(len);
        self.transmitter.marks.implied = true;
        if self.transmitter.marks.measured {
            self.record_wait(Duration::ZERO);
        }
        Some(departure + self.delay)
    }

    /// The same behind others of its length.
    #[inline(never)]
    fn pass_waiting(&mut self, now: Instant, len: u32) -> Option<Instant> {
        let Transmitter { free_at, last_time, last_len, .. } = self.transmitter;
        let Discipline::DropTail(queue) = &self.discipline else { return None };
        let queue = *queue;
        if free_at <= now || last_len != len {
            return None;
        }
        if self.transmitter.marks.implied {
            self.clear_backlog(now);
        } else {
            self.backlog.remove_until(now);
        }
        if !queue.has_room(self.backlog.occupancy(), len) {
            return None;
        }
        let departure = free_at + last_time;
        self.transmitter.free_at = departure;
        self.count_accepted(len);
        self.backlog.push(departure, last_time, len);
        self.peak = self.peak.max(self.backlog.occupancy().packets);
        if self.transmitter.marks.measured {
            self.record_wait(free_at - now);
        }
        Some(departure + self.delay)
    }

    /// The same on a line that compresses headers. Only for links without reordering that decide on arrival: packets are transmitted in the order in which they are
    /// let in, so that the coder, which compresses what leaves the queue, can be polled when they come.
    pub fn offer_coded(&mut self, now: Instant, packet: &mut P, coder: &mut impl LineCoder<P>) -> Fate {
        self.offer_to_queue(now, packet, coder)
    }

    fn offer_to_queue(&mut self, now: Instant, packet: &mut P, coder: &mut impl LineCoder<P>) -> Fate {
        let len = packet.wire_len();
        if !self.plain && self.is_lost_before_queue(now, len) {
            return self.drop_for(DropCause::Loss);
        }
        self.clear_backlog(now);
        let found = Found {
            system: self.backlog.occupancy(),
            in_service: self.backlog.in_transmission().map_or(0, |(_, len)| len),
            free_at: self.transmitter.free_at,
        };
        let verdict = match &mut self.discipline {
            Discipline::DropTail(queue) => queue.admit(now, &found, len),
            Discipline::Red(queue) => queue.admit(now, &found, len),
            Discipline::Admission(queue) => queue.admit(now, &found, len),
            Discipline::Queue(_) => return Fate::Queue,
        };
        match verdict {
            Verdict::Accept => {}
            Verdict::Mark if packet.mark_congestion() => self.rest.report.marked += 1,
            Verdict::Mark => return self.drop_for(DropCause::Early),
            Verdict::Drop(cause) => return self.drop_for(cause),
        }
        let free_at = self.transmitter.free_at;
        let mut start = if free_at > now { free_at } else { now };
        if !self.plain {
            start = self.rest.pace.granted(now, start, len);
        }
        let len = if self.plain { len } else { self.line_len(coder.encode(start, packet)) };
        let time = self.transmitter.send(&mut self.rest.pace, start, len);
        let departure = start + time;
        self.count_accepted(len);
        self.backlog.push(departure, time, len);
        self.peak = self.peak.max(self.backlog.occupancy().packets);
        if self.transmitter.marks.measured {
            self.record_wait(start - now);
        }
        if self.plain {
            Fate::Arrives(departure + self.delay)
        } else {
            self.leave(departure, len, packet, coder)
        }
    }

    fn is_lost_before_queue(&mut self, now: Instant, len: u32) -> bool {
        let Rest { before_queue: Some(model), pace, .. } = &mut *self.rest else { return false };
        pace.schedule.loss_at(now).is_none() && model.is_lost(now, len)
    }

    #[inline(always)]
    fn count_accepted(&mut self, len: u32) {
        self.accepted_packets += 1;
        self.accepted_bytes += u64::from(len);
    }

    #[inline]
    fn record_wait(&mut self, wait: Duration) {
        if let Some(waits) = &mut self.waits {
            waits.record(wait);
        }
    }

    fn line_len(&self, len: u32) -> u32 {
        if let Some(overhead) = &self.rest.overhead {
            return overhead.line_len(len);
        }
        self.rest.serial.map_or(len, |serial| serial.line_len(len))
    }

    /// Puts a packet on the wire, to arrive at `arrival` as [`Link::offer`] returned. True if it will be the next to arrive.
    #[inline]
    pub fn carry(&mut self, arrival: Instant, packet: P) -> bool {
        if self.plain {
            self.flight.push_back((arrival, packet));
            return self.flight.len() == 1;
        }
        self.carry_in_order_of_arrival(arrival, packet)
    }

    #[cold]
    fn carry_in_order_of_arrival(&mut self, arrival: Instant, packet: P) -> bool {
        let overtaken = self.flight.iter().rev().take_while(|(other, _)| *other > arrival).count();
        let position = self.flight.len() - overtaken;
        self.flight.insert(position, (arrival, packet));
        position == 0
    }

    /// When an idle link that holds its packets sends something by itself next: what its discipline has held back, or a repetition.
    fn idle_until(&self) -> Instant {
        let repetition = self.rest.arq.as_ref().map_or(Instant::FAR_FUTURE, Arq::due);
        self.rest.ready_at.min(repetition)
    }

    /// When the link next needs [`Link::poll`]; [`Instant::FAR_FUTURE`] when never.
    #[inline]
    pub fn next_event(&self) -> Instant {
        let arrival = self.flight.front().map_or(Instant::FAR_FUTURE, |(at, _)| *at);
        if self.fifo {
            arrival
        } else if self.rest.in_service.is_none() {
            arrival.min(self.idle_until())
        } else {
            arrival.min(self.transmitter.free_at + self.rest.least_delay)
        }
    }

    /// The next packet that has arrived at the far end by `now`, if any. One with the mark of [`Packet::duplicate`] stands for two.
    #[inline]
    pub fn poll(&mut self, now: Instant) -> Option<P> {
        if !self.fifo {
            self.end_services(now);
        }
        if self.flight.front()?.0 > now {
            return None;
        }
        self.count_delivered();
        self.flight.pop_front().map(|(_, packet)| packet)
    }

    /// Counts a packet that was taken to the far end without [`Link::carry`].
    #[inline]
    pub fn count_delivered(&mut self) {
        if !self.is_plain() {
            self.delivered += 1;
        }
    }

    /// The rate at `now`: zero while the transmitter is stopped. Looks never go back in time.
    pub fn rate_at(&mut self, now: Instant) -> Rate {
        self.rest.pace.rate_at(now)
    }

    /// Takes the first packet off the wire ahead of time, if it arrives before `limit`. Only for FIFO links.
    #[inline]
    pub fn take_ahead(&mut self, limit: Instant) -> Option<(Instant, P)> {
        if self.flight.front()?.0 >= limit {
            return None;
        }
        self.count_delivered();
        self.flight.pop_front()
    }

    /// Rate, delay and outages over time.
    pub fn schedule(&self) -> &Schedule {
        &self.rest.pace.schedule
    }

    #[inline]
    fn clear_backlog(&mut self, now: Instant) {
        if std::mem::take(&mut self.transmitter.marks.implied) {
            self.peak = self.peak.max(1);
            let Transmitter { free_at, last_time, last_len, .. } = self.transmitter;
            self.backlog.begin(free_at, last_time, last_len);
        }
        if self.transmitter.free_at <= now {
            if !self.fifo && self.rest.ends_later {
                self.end_services(now);
            }
            self.backlog.clear();
        } else {
            self.backlog.remove_until(now);
        }
    }

    #[cold]
    fn drop_for(&mut self, cause: DropCause) -> Fate {
        self.rest.dropped[cause as usize] += 1;
        Fate::Dropped(cause)
    }

    #[cold]
    fn lose_for(&mut self, cause: DropCause, departure: Instant) -> Fate {
        self.rest.dropped[cause as usize] += 1;
        if !matches!(self.discipline, Discipline::Queue(_)) {
            let to_be_lost = &mut self.rest.to_be_lost;
            to_be_lost.push_back(departure);
            // What is not in the backlog any more has left.
            while to_be_lost.len() as u64 > self.backlog.occupancy().packets {
                to_be_lost.pop_front();
            }
        }
        Fate::Lost(cause, departure)
    }

    /// What the wire does to a packet of `len` bytes whose transmission ends at `departure`.
    fn leave(&mut self, departure: Instant, len: u32, packet: &mut P, coder: &mut impl LineCoder<P>) -> Fate {
        let Rest { wire, pace, .. } = &mut *self.rest;
        match wire.cross(&mut pace.schedule, departure, len, coder) {
            Ok(arrival) => {
                wire.mark(departure, len, packet);
                Fate::Arrives(arrival)
            }
            Err(cause) => self.lose_for(cause, departure),
        }
    }
}

#[cfg(test)]
mod tests;
