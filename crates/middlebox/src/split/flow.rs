//! A connection to a host at a node of a distributed split: its stream, and the credit of both directions.
//!
//! Credit is a position of the stream: bytes before it may be sent. It is what the other host has acknowledged and a window beyond. The
//! window begins large, so that no credit limits a flow as long as its last hop is the faster one, and few are sent. A host that falls
//! behind by more than `buffer` gets a window of `buffer`: then no more than that waits for it, and what was under way when it fell
//! behind. A sender that has used up its credit reports that, behind its last byte: if by then the host has acknowledged most of the window,
//! the window is too small for the long hop, and doubles.

use super::local::Local;
use crate::Payload;

/// Bytes of a stream that may be sent before there was a credit, and the largest window.
pub const FIRST_CREDIT: u64 = 64 << 20;

/// A connection to a host, as a stream of the long hop.
pub(super) struct Flow<P: Payload> {
    pub local: Local<P>,
    pub stream: u32,
    /// Which connection over the long hop has it.
    pub long: usize,
    /// The other node is still to be notified of it.
    pub unannounced: bool,
    /// Bytes sent to the other node, and how many may be.
    sent: u64,
    limit: u64,
    /// Bytes that came from the other node, and how many were allowed.
    given: u64,
    granted: u64,
    /// The most that was ever allowed.
    most_granted: u64,
    window: u64,
    /// The other node was notified that credit is used up.
    says_blocked: bool,
}

impl<P: Payload> Flow<P> {
    pub fn new(local: Local<P>, stream: u32, long: usize, unannounced: bool) -> Self {
        Flow {
            local,
            stream,
            long,
            unannounced,
            sent: 0,
            limit: FIRST_CREDIT,
            given: 0,
            granted: FIRST_CREDIT,
            most_granted: FIRST_CREDIT,
            window: FIRST_CREDIT,
            says_blocked: false,
        }
    }

    /// Bytes that may be sent to the other node.
    pub fn credit(&self) -> u64 {
        self.limit.saturating_sub(self.sent)
    }
    pub fn note_sent(&mut self, bytes: u32) {
        self.sent += u64::from(bytes);
    }
    /// The other node allows more, or, since its host is slow, less.
    pub fn set_limit(&mut self, limit: u64) {
        self.limit = limit;
        self.says_blocked = false;
    }
    /// True if there is more to send than credit allows, and the other node was not notified yet.
    pub fn is_newly_blocked(&mut self) -> bool {
        let blocked = self.credit() == 0 && self.local.connection.readable() > 0;
        blocked && !std::mem::replace(&mut self.says_blocked, true)
    }
    /// The other node has used up its credit.
    pub fn on_blocked(&mut self) {
        if self.window < FIRST_CREDIT && self.local.backlog() < self.window / 2 {
            self.window *= 2;
        }
    }
    /// It has something for the other node, and may send it.
    pub fn has_turn(&self) -> bool {
        let waits = self.local.connection.readable() > 0 && self.credit() > 0;
        (waits || self.local.has_end_to_pass()) && !self.local.broken
    }

    /// Data for the host. False if there are more than were allowed.
    pub fn give(&mut self, data: &P::Data) -> bool {
        use crate::Data;
        self.given += u64::from(data.len());
        if self.given > self.most_granted {
            return false;
        }
        self.local.connection.write(data);
        true
    }

    /// The credit to be announced, if it is time for one. `buffer`: how far a host may fall behind, if that is limited.
    pub fn next_credit(&mut self, buffer: Option<u64>) -> Option<u64> {
        let backlog = self.local.backlog();
        let delivered = self.given.saturating_sub(backlog);
        let falls_behind = self.window == FIRST_CREDIT && buffer.is_some_and(|buffer| backlog > buffer);
        if falls_behind {
            self.window = buffer.unwrap_or(FIRST_CREDIT).clamp(1, FIRST_CREDIT / 2);
        }
        let limit = delivered + self.window;
        if !falls_behind && limit < self.granted + self.window.div_ceil(2) {
            return None;
        }
        self.granted = limit;
        self.most_granted = self.most_granted.max(limit);
        Some(limit)
    }
}
