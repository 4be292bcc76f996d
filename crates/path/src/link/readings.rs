//! What can be read off a link: counters, what waits and for how long, bits transmitted.

use super::Link;
use crate::arq::Arq;
use crate::queue::{Discipline, Occupancy};
use crate::{DropCause, Histogram, LinkStats, Packet};
use longhaul_units::{Duration, Instant, Probability, Rate};

/// The time integral of the packets that wait, without the one in transmission, in nanoseconds.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Waited {
    /// Up to `until`, for other disciplines.
    sum: u128,
    until: Instant,
    /// What was still to come at the beginning, for disciplines that decide on arrival: they record a wait when it begins.
    open_at_start: u128,
}

/// What holds on a link at some time.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Scripted {
    /// The rate; zero while the transmitter is stopped.
    pub rate: Rate,
    /// The propagation delay of what leaves then.
    pub delay: Duration,
    /// The probability of loss, if a script gives it.
    pub loss: Option<Probability>,
    /// False in an outage that drops packets.
    pub up: bool,
}

impl<P: Packet + Send + 'static> Link<P> {
    /// Starts measuring how long packets wait, from now on.
    pub fn measure_waits(&mut self, now: Instant) {
        self.clear_backlog(now);
        let open_at_start = self.backlog.waiting_to_come(now);
        self.rest.waited = Waited { sum: 0, until: now, open_at_start };
        self.waits = Some(Box::default());
        self.transmitter.marks.measured = true;
    }

    /// The time in seconds that packets have waited from [`Link::measure_waits`] to `now`, summed over them: the integral of the
    /// number that wait, without the one in transmission.
    pub fn waited_secs(&mut self, now: Instant) -> f64 {
        self.clear_backlog(now);
        if matches!(self.discipline, Discipline::Queue(_)) {
            self.integrate_waiting(now);
            return self.rest.waited.sum as f64 / 1e9;
        }
        let recorded = self.waits.as_ref().map_or(0, |waits| waits.sum_nanos());
        (recorded + self.rest.waited.open_at_start - self.backlog.waiting_to_come(now)) as f64 / 1e9
    }

    /// Adds the time since the last change of what waits; to be called before each change.
    pub(super) fn integrate_waiting(&mut self, now: Instant) {
        let Discipline::Queue(queue) = &self.discipline else { return };
        let waited = &mut self.rest.waited;
        if now > waited.until {
            waited.sum +=
                u128::from(now.since(waited.until).as_nanos()) * u128::from(queue.waiting().packets);
            waited.until = now;
        }
    }

    /// Waiting times before transmission, since [`Link::measure_waits`].
    pub fn waits(&self) -> Option<&Histogram> {
        self.waits.as_deref()
    }

    /// Counters at `now`.
    pub fn stats(&mut self, now: Instant) -> LinkStats {
        self.clear_backlog(now);
        let queueing = matches!(self.discipline, Discipline::Queue(_));
        let refused = if queueing {
            0
        } else {
            DropCause::OF_QUEUES.iter().map(|cause| self.rest.dropped[*cause as usize]).sum()
        };
        let lost_before =
            self.rest.before_queue.as_ref().map_or(0, |_| self.rest.dropped[DropCause::Loss as usize]);
        let transmitted = if queueing {
            self.rest.transmitted
        } else {
            let present = self.backlog.occupancy();
            Occupancy {
                packets: self.accepted_packets - present.packets,
                bytes: self.accepted_bytes - present.bytes,
            }
        };
        LinkStats {
            arrivals: self.accepted_packets + refused + lost_before,
            dropped: self.rest.dropped,
            marked: self.rest.report.marked,
            transmitted: transmitted.packets,
            transmitted_bytes: transmitted.bytes,
            delivered: if self.is_plain() {
                self.accepted_packets - self.in_flight()
            } else {
                self.delivered
            },
            corrupted: self.rest.wire.corrupted,
            duplicated: self.rest.wire.duplicated,
            repeated: self.rest.arq.as_ref().map_or(0, |arq| arq.repeated),
        }
    }

    /// Packets that [`Link::stats`] counts as lost already, since what becomes of them is known, but whose transmission has not
    /// ended by `now`.
    pub fn lost_to_come(&mut self, now: Instant) -> u64 {
        let to_be_lost = &mut self.rest.to_be_lost;
        while to_be_lost.front().is_some_and(|departure| *departure <= now) {
            to_be_lost.pop_front();
        }
        to_be_lost.len() as u64
    }

    /// Bits transmitted by `now`, the begun part of the packet in transmission included.
    pub fn transmitted_bits(&mut self, now: Instant) -> f64 {
        let complete = self.stats(now).transmitted_bytes as f64 * 8.0;
        let under_way = match (&self.discipline, &self.rest.in_service) {
            (Discipline::Queue(_), service) => service
                .as_ref()
                .map(|(_, packet)| (self.transmitter.free_at, self.line_len(packet.wire_len()))),
            _ => self.backlog.in_transmission(),
        };
        let Some((end, len)) = under_way else { return complete };
        let bits = f64::from(len) * 8.0;
        let to_come = match &self.rest.shared {
            None => self.rest.pace.schedule.capacity_bits(now, end),
            Some(shared) => {
                // What is assigned is sent without a pause, up to its end.
                let left = if shared.assigned { end.since(now) } else { shared.left };
                bits * (left.as_secs_f64() / shared.whole.as_secs_f64()).min(1.0)
            }
        };
        complete + (bits - to_come).max(0.0)
    }

    /// What holds at `now` by the link's script. Looks never go back in time.
    pub fn script_at(&mut self, now: Instant) -> Scripted {
        let schedule = &mut self.rest.pace.schedule;
        Scripted {
            rate: schedule.rate_at(now),
            delay: schedule.delay_at(now),
            loss: schedule.loss_at(now),
            up: !schedule.in_fade(now),
        }
    }

    /// What waits or is being transmitted at `now`.
    pub fn occupancy(&mut self, now: Instant) -> Occupancy {
        self.clear_backlog(now);
        match (&self.discipline, self.of_queue_in_service()) {
            (Discipline::Queue(queue), Some(packet)) => {
                let mut all = queue.waiting();
                all.add(packet.wire_len());
                all
            }
            // It may hold packets back.
            (Discipline::Queue(queue), None) => queue.waiting(),
            _ => self.backlog.occupancy(),
        }
    }

    /// The average queue that the discipline goes by, in packets, as of the last arrival; `None` if it goes by none.
    pub fn average_queue(&self) -> Option<f64> {
        self.discipline.average()
    }

    /// The largest number of packets in the system since the last call.
    pub fn take_peak(&mut self, now: Instant) -> u64 {
        let present = self.occupancy(now).packets;
        std::mem::replace(&mut self.peak, present)
    }

    /// Packets on the wire whose transmission is over or under way, in [`Link::carry`]'s hands; and those that the link is to repeat, or
    /// that wait at its far end for those before them.
    pub fn in_flight(&self) -> u64 {
        let repeated = self.rest.in_service.is_some() && self.rest.arq.as_ref().is_some_and(Arq::repeats);
        self.flight.len() as u64 + u64::from(repeated) + self.rest.arq.as_ref().map_or(0, Arq::inside)
    }
}
