//! Disciplines that hold packets: one after the other is taken out of the queue and transmitted.

use super::{Fate, Link, OnShared};
use crate::arq::Arq;
use crate::media::Turn;
use crate::queue::Discipline;
use crate::schedule::Schedule;
use crate::serial::Plain;
use crate::{DropCause, Packet};
use longhaul_units::{Duration, Instant};

impl<P: Packet + Send + 'static> Link<P> {
    /// Takes a packet for which [`Link::offer`] returned [`Fate::Queue`]. See [`Link::take_dropped`].
    pub fn enqueue(&mut self, now: Instant, packet: P) {
        self.integrate_waiting(now);
        self.notify_of_rate(now);
        self.count_accepted(packet.wire_len());
        let in_service = self.of_queue_in_service().map_or(0, Packet::wire_len);
        let Discipline::Queue(queue) = &mut self.discipline else {
            unreachable!("only a queueing discipline asks for the packet");
        };
        if let Some(OnShared { medium, .. }) = &self.rest.shared {
            let len = packet.wire_len();
            medium.came(now, self.rest.overhead.map_or(len, |overhead| overhead.line_len(len)));
        }
        let before = self.rest.report.dropped.len();
        queue.enqueue(now, packet, in_service, &mut self.rest.report);
        let waiting = queue.waiting().packets;
        self.count_discarded(before);
        self.peak = self.peak.max(waiting + u64::from(in_service > 0));
        if self.rest.in_service.is_none() {
            self.serve_next(now);
        }
    }

    /// Goes on by another script of rate, delay, loss and outages, in which all that was before now is the same. Only for links made by
    /// [`Link::changeable`]; a measurement that it follows goes on.
    pub fn follow(&mut self, schedule: Schedule) {
        self.rest.pace.follow(schedule);
        if self.rest.ends_later {
            self.rest.least_delay = self.rest.pace.schedule.least_delay();
        }
        self.transmitter.last_len = 0;
        if self.rest.pace.schedule.has_measured_rate() {
            return;
        }
        if let Some((_, packet)) = &self.rest.in_service {
            let (start, len) = (self.rest.started, self.line_len(packet.wire_len()));
            self.transmitter.free_at = self.rest.pace.schedule.transmission_end(start, len);
        }
    }

    /// Packets that were lost at the end of their transmission, which was then, with the cause; before those of
    /// [`Link::take_dropped`].
    pub fn take_lost(&mut self) -> std::vec::Drain<'_, (Instant, P, DropCause)> {
        self.rest.lost.drain(..)
    }

    /// The packet in transmission, if it comes from the queue: what is repeated does not.
    pub(super) fn of_queue_in_service(&self) -> Option<&P> {
        let (_, packet) = self.rest.in_service.as_ref()?;
        let repeated = self.rest.arq.as_ref().is_some_and(Arq::repeats);
        (!repeated).then_some(packet)
    }

    /// Packets that the discipline has dropped after taking them in, with the cause.
    pub fn take_dropped(&mut self) -> std::vec::Drain<'_, (P, DropCause)> {
        self.rest.report.dropped.drain(..)
    }

    #[cold]
    pub(super) fn end_services(&mut self, now: Instant) {
        loop {
            if self.rest.in_service.is_none() {
                let next = self.idle_until();
                if next > now || next == Instant::FAR_FUTURE {
                    return;
                }
                self.serve_next(next);
            } else if self.transmitter.free_at > now {
                return;
            } else if self.rest.shared.as_ref().is_none_or(|shared| shared.assigned) {
                self.end_service();
            } else {
                self.go_on_sending(self.transmitter.free_at);
            }
        }
    }

    /// Notifies the discipline if the rate has changed since it was notified last.
    fn notify_of_rate(&mut self, now: Instant) {
        let Discipline::Queue(queue) = &mut self.discipline else { return };
        if self.rest.pace.schedule.is_constant() {
            return;
        }
        let rate = self.rest.pace.rate_at(now);
        if rate != self.rest.rate {
            self.rest.rate = rate;
            queue.rate_changed(rate);
        }
    }

    /// What the discipline has just dropped.
    fn count_discarded(&mut self, from: usize) {
        let super::Rest { report, dropped, shared, overhead, .. } = &mut *self.rest;
        for (packet, cause) in &report.dropped[from..] {
            dropped[*cause as usize] += 1;
            if let Some(OnShared { medium, .. }) = shared {
                let len = packet.wire_len();
                medium.gone(overhead.map_or(len, |overhead| overhead.line_len(len)));
            }
        }
    }

    /// The packet in transmission goes on from `now`, as far as what the link shares with others allows.
    fn go_on_sending(&mut self, now: Instant) {
        let Some(OnShared { medium, whole, left, assigned }) = &mut self.rest.shared else { return };
        match medium.serve(now, left) {
            Turn::Later(at) => self.transmitter.free_at = at,
            Turn::Ends(at) => {
                (*assigned, self.transmitter.free_at) = (true, at);
                let arrived = self.rest.in_service.as_ref().map_or(at, |(arrived, _)| *arrived);
                let wait = at.since(arrived + *whole);
                self.record_wait(wait);
            }
        }
    }

    fn serve_next(&mut self, now: Instant) {
        self.integrate_waiting(now);
        self.notify_of_rate(now);
        if let Some((arrived, packet)) = self.rest.arq.as_mut().and_then(|arq| arq.repeat(now)) {
            let len = self.line_len(packet.wire_len());
            self.transmitter.send(&mut self.rest.pace, now, len);
            self.rest.in_service = Some((arrived, packet));
            return;
        }
        let Discipline::Queue(queue) = &mut self.discipline else { return };
        let before = self.rest.report.dropped.len();
        let next = queue.dequeue(now, &mut self.rest.report);
        // Not before it is a nanosecond later: a discipline that is ready would have handed out a packet.
        let again = queue.ready_at().filter(|_| next.is_none());
        self.rest.ready_at = again.map_or(Instant::FAR_FUTURE, |at| at.max(now + Duration::from_nanos(1)));
        self.count_discarded(before);
        if let Some((arrived, packet)) = next {
            if let Some(arq) = &mut self.rest.arq {
                arq.begin();
            }
            // A host with a random delay before each transmission offers its packets ahead of time.
            let len = self.line_len(packet.wire_len());
            if let Some(shared) = &mut self.rest.shared {
                let whole = shared.medium.time_of(len);
                (shared.whole, shared.left, shared.assigned) = (whole, whole, false);
                self.rest.in_service = Some((arrived, packet));
                return self.go_on_sending(now);
            }
            let start = self.rest.pace.granted(arrived, now.max(arrived), len);
            self.record_wait(start - arrived);
            self.transmitter.send(&mut self.rest.pace, start, len);
            self.rest.started = start;
            self.rest.in_service = Some((arrived, packet));
        }
    }

    /// A transmission has ended on a link that repeats what it loses.
    fn end_attempt(&mut self, departure: Instant, len: u32, arrived: Instant, mut packet: P) {
        let super::Rest { wire, pace, arq, lost, dropped, .. } = &mut *self.rest;
        let Some(arq) = arq else { return };
        let handed_on = match wire.cross::<P>(&mut pace.schedule, departure, len, &mut Plain) {
            Ok(arrival) => {
                wire.mark(departure, len, &mut packet);
                arq.arrived(arrival, packet)
            }
            Err(cause) => match arq.lost(departure, arrived, packet) {
                None => vec![],
                Some(packet) => {
                    dropped[cause as usize] += 1;
                    lost.push((departure, packet, cause));
                    arq.given_up(departure + pace.schedule.delay_at(departure))
                }
            },
        };
        for (arrival, packet) in handed_on {
            self.carry(arrival, packet);
        }
    }

    fn end_service(&mut self) {
        let Some((arrived, mut packet)) = self.rest.in_service.take() else { return };
        let (departure, len) = (self.transmitter.free_at, self.line_len(packet.wire_len()));
        self.rest.transmitted.add(len);
        if self.rest.arq.is_some() {
            self.end_attempt(departure, len, arrived, packet);
            return self.serve_next(departure);
        }
        match self.leave(departure, len, &mut packet, &mut Plain) {
            Fate::Arrives(arrival) => {
                self.carry(arrival, packet);
            }
            Fate::Dropped(cause) | Fate::Lost(cause, _) => self.rest.lost.push((departure, packet, cause)),
            Fate::Queue => unreachable!("the wire does not queue"),
        }
        self.serve_next(departure);
    }
}
