//! The paper's flow control at the split start: every data packet of the hosts waits in a queue, with any discipline, before
//! TCP sees it. A packet is let in as the long hop takes data away; its drops slow down the hosts.
//!
//! The paper keeps a credit, `buffer`: it begins at `buffer_start`, what is sent over the long hop is added, what is let in
//! is taken away, and a packet is let in when the credit is at least its size. That is `buffer_start` less what was let in
//! and not sent yet, and so it is computed here: duplicates, and packets that wait for a hole to be filled, cannot wear it out.

use crate::Payload;
use crate::waiting::Waiting;
use longhaul_path::queue::{HeldQueue, Occupancy};
use longhaul_path::{Packet, QueueSpec};
use longhaul_units::{Duration, Instant, Rate};

/// The settings of a local queue.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct LocalQueueSettings {
    /// Its discipline.
    pub queue: QueueSpec,
    /// The rate for which automatic parameters of the discipline are made: a local queue has no link.
    pub rate: Rate,
    /// Bytes, headers included, that may be let in ahead of what the long hop has sent.
    pub buffer_start: u64,
    /// Headers that count for each segment's worth of data that waits behind the queue.
    pub header_size: u32,
    /// Time between two checks whether a packet can be let in; `None`: checked after every change.
    pub check_interval: Option<Duration>,
}

/// A local queue at work.
pub(super) struct LocalQueue<P: Payload> {
    pub packets: HeldQueue<Waiting<P>>,
    pub settings: LocalQueueSettings,
    /// When the timer looks next.
    next_check: Instant,
}

impl<P: Payload> LocalQueue<P> {
    pub fn new(settings: LocalQueueSettings, seed: u64, name: &str) -> Self {
        LocalQueue {
            packets: HeldQueue::new(&settings.queue, settings.rate, seed, name),
            settings,
            next_check: Instant::FAR_FUTURE,
        }
    }

    /// A packet comes in.
    pub fn enqueue(&mut self, now: Instant, packet: Waiting<P>) {
        self.packets.enqueue(now, packet);
        self.set_timer(now);
    }
    pub fn is_event_driven(&self) -> bool {
        self.settings.check_interval.is_none()
    }
    pub fn occupancy(&self) -> Occupancy {
        self.packets.occupancy()
    }
    /// When the timer looks next.
    pub fn next_check(&self) -> Option<Instant> {
        (self.next_check < Instant::FAR_FUTURE).then_some(self.next_check)
    }
    /// True if the timer has expired; it goes on if packets are left.
    pub fn is_checked(&mut self, now: Instant) -> bool {
        let due = self.next_check <= now;
        if due {
            self.next_check = Instant::FAR_FUTURE;
        }
        due
    }
    /// The timer ticks at multiples of its interval; while the queue is empty a tick would do nothing.
    pub fn set_timer(&mut self, now: Instant) {
        let Some(interval) = self.settings.check_interval else { return };
        if self.next_check == Instant::FAR_FUTURE && self.packets.head().is_some() {
            let ticks = now.as_nanos() / interval.as_nanos().max(1) + 1;
            self.next_check = Instant::ZERO + interval * ticks;
        }
    }

    /// The head, if `unsent` bytes of data in segments of `mss` bytes, which were let in and are not sent yet, leave credit
    /// for it. Into nothing a packet always fits.
    pub fn let_in(&mut self, now: Instant, unsent: u64, mss: u64) -> Option<Waiting<P>> {
        let head = self.packets.head()?;
        let headers = unsent.div_ceil(mss.max(1)) * u64::from(self.settings.header_size);
        let fits = unsent + headers + u64::from(head.wire_len()) <= self.settings.buffer_start;
        if unsent > 0 && !fits {
            return None;
        }
        self.packets.dequeue(now)
    }
}
