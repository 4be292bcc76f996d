//! Disciplines that hold packets: one after the other is taken out of the queue and transmitted.

use super::{Fate, Link};
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
        let Discipline::Queue(queue) = &mut self.discipline else {
            unreachable!("only a queueing discipline asks for the packet");
        };
        let in_service = self.rest.in_service.as_ref().map_or(0, |(_, packet)| packet.wire_len());
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

    /// Packets that the discipline has dropped after taking them in, with the cause.
    pub fn take_dropped(&mut self) -> std::vec::Drain<'_, (P, DropCause)> {
        self.rest.report.dropped.drain(..)
    }

    #[cold]
    pub(super) fn end_services(&mut self, now: Instant) {
        loop {
            if self.rest.in_service.is_none() {
                let ready_at = self.rest.ready_at;
                if ready_at > now || ready_at == Instant::FAR_FUTURE {
                    return;
                }
                self.serve_next(ready_at);
            } else if self.transmitter.free_at <= now {
                self.end_service();
            } else {
                return;
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

    fn count_discarded(&mut self, from: usize) {
        for (_, cause) in &self.rest.report.dropped[from..] {
            self.rest.dropped[*cause as usize] += 1;
        }
    }

    fn serve_next(&mut self, now: Instant) {
        self.integrate_waiting(now);
        self.notify_of_rate(now);
        let Discipline::Queue(queue) = &mut self.discipline else { return };
        let before = self.rest.report.dropped.len();
        let next = queue.dequeue(now, &mut self.rest.report);
        // Not before it is a nanosecond later: a discipline that is ready would have handed out a packet.
        let again = queue.ready_at().filter(|_| next.is_none());
        self.rest.ready_at = again.map_or(Instant::FAR_FUTURE, |at| at.max(now + Duration::from_nanos(1)));
        self.count_discarded(before);
        if let Some((arrived, packet)) = next {
            // A host with a random delay before each transmission offers its packets ahead of time.
            let len = self.line_len(packet.wire_len());
            let start = self.rest.pace.granted(arrived, now.max(arrived), len);
            self.record_wait(start - arrived);
            self.transmitter.send(&mut self.rest.pace, start, len);
            self.rest.started = start;
            self.rest.in_service = Some((arrived, packet));
        }
    }

    fn end_service(&mut self) {
        let Some((_, mut packet)) = self.rest.in_service.take() else { return };
        let (departure, len) = (self.transmitter.free_at, self.line_len(packet.wire_len()));
        self.rest.transmitted.add(len);
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
