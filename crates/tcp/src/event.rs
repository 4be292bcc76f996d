//! Events that a connection reports to its owner, all of them rare: see `Connection::poll_event`.

use longhaul_segment::{Ecn, Segment};
use longhaul_units::Rate;
use std::collections::VecDeque;

/// Something that happened.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Event {
    /// The handshake is complete.
    Connected,
    /// The peer's FIN arrived and all data before it.
    PeerClosed,
    /// Everything written has been acknowledged (the FIN too, if there was one).
    AllAcked,
    /// Both directions are closed, and TIME-WAIT is over.
    Closed,
    /// The peer reset the connection, or it was aborted here.
    Reset,
    /// The connection was given up: no answer for too long.
    TimedOut,
    /// The connection begins at the rate that its probes have measured.
    Probed {
        /// Of payload.
        rate: Rate,
    },
    /// The start by probes failed: one was lost, or what they measured does not do for a start.
    StartFailed,
    /// Loss recovery began on duplicate ACKs or SACK.
    FastRetransmit {
        /// Stream offset of the first byte presumed lost.
        lost: u64,
        /// FlightSize in bytes at that moment.
        flight_size: u64,
    },
    /// The retransmission timer expired.
    Timeout {
        /// Stream offset of the first byte not acknowledged.
        lost: u64,
        /// FlightSize in bytes at that moment.
        flight_size: u64,
        /// How many times in a row: 1 for the first.
        backoff: u32,
    },
    /// Loss recovery, fast or after a timeout, is complete.
    RecoveryEnd,
    /// The window was reduced on an ECN echo.
    EcnReduction,
    /// The last reduction of the window proved to be unnecessary and was undone.
    ReductionUndone,
}

/// A segment to be sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Transmit {
    /// The segment.
    pub segment: Segment,
    /// ECN field for its IP header.
    pub ecn: Ecn,
    /// True if any of its payload (or its SYN or FIN) was sent before.
    pub retransmission: bool,
}

/// What goes with a segment that is written in place: see [`Connection::transmit_into`](crate::Connection::transmit_into).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Departure {
    /// ECN field for its IP header.
    pub ecn: Ecn,
    /// True if any of its payload (or its SYN or FIN) was sent before.
    pub retransmission: bool,
    /// Bytes of the whole IPv4 packet.
    pub wire_len: u32,
    /// True if it is known that nothing follows it now: the next call would give nothing.
    pub last: bool,
}

/// The two ports of a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Ports {
    /// This end's port.
    pub local: u16,
    /// The peer's port; a passive open with port 0 accepts any.
    pub remote: u16,
}

impl Ports {
    /// Those of the peer.
    pub fn swapped(self) -> Self {
        Ports { local: self.remote, remote: self.local }
    }
}

/// Events wait here until the owner polls. Notices of congestion are dropped if it does not.
#[derive(Clone, Debug, Default)]
pub(crate) struct Events {
    /// Not there before the first.
    #[allow(clippy::box_collection)] // rarely there: 8 bytes of the connection, not 32
    queue: Option<Box<VecDeque<Event>>>,
    waiting: u32,
}

impl Events {
    const MOST_NOTICES: usize = 256;

    pub fn push(&mut self, event: Event) {
        let notice = matches!(
            event,
            Event::FastRetransmit { .. }
                | Event::Timeout { .. }
                | Event::RecoveryEnd
                | Event::EcnReduction
                | Event::ReductionUndone
        );
        let queue = self.queue.get_or_insert_default();
        if !notice || queue.len() < Self::MOST_NOTICES {
            queue.push_back(event);
            self.waiting += 1;
        }
    }
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.waiting == 0
    }
    pub fn pop(&mut self) -> Option<Event> {
        if self.is_empty() {
            return None;
        }
        self.waiting -= 1;
        self.queue.as_mut()?.pop_front()
    }
}
