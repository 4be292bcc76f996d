//! A discipline that decides on arrival, as one that holds its packets: each departure is known when it happens, and not before. For
//! transmitters whose rate may change at any time, and for queues without one.

use super::fifo::Fifo;
use super::{Admission, Discipline, Found, Occupancy, Queue, Report, Verdict};
use crate::{DropCause, Packet};
use longhaul_units::{Instant, Rate, Size};

/// First in, first out; the discipline decides which packets come in.
pub(crate) struct Holding<P> {
    discipline: Discipline<P>,
    waiting: Fifo<P>,
    /// By which the discipline reckons when all that is here will have left.
    rate: Rate,
    /// A packet is being transmitted.
    busy: bool,
    idle_since: Instant,
}

impl<P: Packet + Send + 'static> Discipline<P> {
    /// The same, or one that holds its packets if this decides on arrival.
    pub(crate) fn holding(self, rate: Rate) -> Box<dyn Queue<P>> {
        match self {
            Discipline::Queue(queue) => queue,
            discipline => Box::new(Holding {
                discipline,
                waiting: Fifo::default(),
                rate,
                busy: false,
                idle_since: Instant::ZERO,
            }),
        }
    }
}

impl<P: Packet> Holding<P> {
    /// What a packet finds. When all of it will have left is not known; at the rate that holds now it would be then.
    fn found(&self, now: Instant, in_service: u32) -> Found {
        let system = self.waiting.occupancy().with(in_service);
        let free_at = match system.packets {
            0 => self.idle_since,
            _ => now + self.rate.transmission_time(Size::from_bytes(system.bytes)),
        };
        Found { system, in_service, free_at }
    }
}

impl<P: Packet + Send + 'static> Queue<P> for Holding<P> {
    fn enqueue(&mut self, now: Instant, mut packet: P, in_service: u32, report: &mut Report<P>) {
        let (found, len) = (self.found(now, in_service), packet.wire_len());
        let verdict = match &mut self.discipline {
            Discipline::DropTail(queue) => queue.admit(now, &found, len),
            Discipline::Red(queue) => queue.admit(now, &found, len),
            Discipline::Admission(queue) => queue.admit(now, &found, len),
            Discipline::Queue(_) => unreachable!("what holds packets needs no help"),
        };
        match verdict {
            Verdict::Accept => {}
            Verdict::Mark if packet.mark_congestion() => report.marked += 1,
            Verdict::Mark => return report.drop(packet, DropCause::Early),
            Verdict::Drop(cause) => return report.drop(packet, cause),
        }
        self.waiting.push(now, packet);
    }

    fn dequeue(&mut self, now: Instant, _report: &mut Report<P>) -> Option<(Instant, P)> {
        let next = self.waiting.pop();
        if next.is_none() && self.busy {
            self.idle_since = now;
        }
        self.busy = next.is_some();
        next
    }

    fn waiting(&self) -> Occupancy {
        self.waiting.occupancy()
    }

    fn average(&self) -> Option<f64> {
        self.discipline.average()
    }

    fn rate_changed(&mut self, rate: Rate) {
        self.rate = rate;
    }
}
