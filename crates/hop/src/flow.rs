//! One flow: what waits to be sent, what was received and not yet read.

use crate::coding::{Decoder, Encoder};
use crate::reassembly::Reassembly;
use crate::scheduler::Turn;
use crate::types::{FlowId, Open, Piece, ResetCode};
use bytes::Bytes;
use longhaul_units::Instant;
use quinn_proto::StreamId;
use std::collections::VecDeque;

/// How far a direction has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Phase {
    /// More may follow.
    Open,
    /// The end was given, and is not confirmed.
    Ending,
    /// Nothing more is written, and no end follows: a reset does, or the peer reads no more.
    Leaving,
    /// Nothing more is to be done.
    Over,
}

/// Bytes on their way to the peer's owner. Offsets are those of the stream, its head included.
#[derive(Debug)]
pub struct Outgoing {
    pub queue: VecDeque<Bytes>,
    pub queued: u64,
    /// Handed to quinn-proto.
    pub fed: u64,
    /// Read by the peer's owner.
    pub consumed: u64,
    pub phase: Phase,
    /// Its stream waits for the peer's permission.
    pub waits: bool,
    /// quinn-proto has been notified of the end.
    pub ended: bool,
    /// The peer has acknowledged all bytes and the end.
    pub acknowledged: bool,
    /// The owner waits for room.
    pub blocked: bool,
    /// The owner waits until less is queued.
    pub full: bool,
    /// Bytes given up because the peer reads no more; then nothing else happens.
    pub given_up: Option<u64>,
    pub turn: Turn,
    /// Bytes of the head, which the owner did not write.
    pub head: u64,
    pub encoder: Encoder,
    /// When a block that is not full gets its parities.
    pub flush_at: Option<Instant>,
}

/// Bytes from the peer.
#[derive(Debug)]
pub struct Incoming {
    pub reassembly: Reassembly,
    /// Offset at which the stream ends, once it is known.
    pub end: Option<u64>,
    /// quinn-proto has nothing more for this direction.
    pub drained: bool,
    /// Offset up to which bytes were reported to the peer as read.
    pub reported: u64,
    /// The owner was notified that there is something to read.
    pub told: bool,
    /// The peer resets the flow behind so many bytes.
    pub reset: Option<(u64, ResetCode)>,
    pub phase: Phase,
    pub decoder: Decoder,
}

/// A flow.
#[derive(Debug)]
pub struct Flow {
    pub id: FlowId,
    pub stream: StreamId,
    /// The other node opened it.
    pub remote: bool,
    /// `None` while the head of a flow of the peer is incomplete.
    pub open: Option<Open>,
    pub accepted: bool,
    /// This node's owner has reset the flow behind what was written, which is still on its way.
    pub leaving: Option<ResetCode>,
    pub out: Outgoing,
    pub into: Incoming,
}

impl Outgoing {
    /// Bytes under way or unread.
    pub fn outstanding(&self) -> u64 {
        self.fed + self.queued - self.consumed
    }

    /// Bytes of the owner that the peer has not reported as read.
    pub fn undelivered(&self) -> u64 {
        self.given_up.unwrap_or(0)
            + self.outstanding().saturating_sub(self.head.saturating_sub(self.consumed))
    }

    /// Takes at most `most` bytes from the front of the queue, a piece at a time and without copying.
    pub fn take(&mut self, most: u64) -> Option<Bytes> {
        let first = self.queue.front_mut()?;
        let taken =
            if first.len() as u64 <= most { self.queue.pop_front()? } else { first.split_to(most as usize) };
        self.queued -= taken.len() as u64;
        self.fed += taken.len() as u64;
        Some(taken)
    }

    /// Something has to be handed to quinn-proto.
    pub fn has_work(&self) -> bool {
        self.queued > 0 || (self.phase == Phase::Ending && !self.ended)
    }

    pub fn is_over(&self) -> bool {
        self.phase == Phase::Over
            || (self.given_up.is_none() && self.acknowledged && self.consumed == self.fed)
    }
}

impl Incoming {
    /// All bytes are there and were read, and the end is known.
    pub fn is_complete(&self) -> bool {
        self.end.is_some_and(|end| self.reassembly.taken() >= end)
    }

    pub fn is_over(&self) -> bool {
        self.drained && self.phase == Phase::Over
    }

    /// Nothing is left in front of the peer's reset.
    pub fn must_reset(&self) -> Option<ResetCode> {
        let (size, code) = self.reset?;
        (self.reassembly.taken() >= size || self.phase == Phase::Over).then_some(code)
    }

    /// There are bytes behind the end, or the stream's own end is another one than that which parities have stated.
    pub fn end_is_wrong(&self) -> bool {
        let highest = self.reassembly.highest();
        self.end.is_some_and(|end| highest > end || (self.drained && highest < end))
    }

    /// A piece has come. Returns the new bytes.
    pub fn insert(&mut self, piece: Piece) -> u64 {
        self.reassembly.insert(piece)
    }
}

impl Flow {
    pub fn new(id: FlowId, stream: StreamId, remote: bool, open: Option<Open>) -> Self {
        Flow {
            id,
            stream,
            remote,
            open,
            accepted: remote,
            leaving: None,
            out: Outgoing {
                queue: VecDeque::new(),
                queued: 0,
                fed: 0,
                consumed: 0,
                phase: Phase::Open,
                waits: false,
                ended: false,
                acknowledged: false,
                blocked: false,
                full: false,
                given_up: None,
                turn: Turn::default(),
                head: 0,
                encoder: Encoder::default(),
                flush_at: None,
            },
            into: Incoming {
                reassembly: Reassembly::default(),
                end: None,
                drained: false,
                reported: 0,
                told: false,
                reset: None,
                phase: Phase::Open,
                decoder: Decoder::default(),
            },
        }
    }

    pub fn is_over(&self) -> bool {
        self.out.is_over() && self.into.is_over()
    }

    /// The owner has been notified of both ends; nothing can be missing. QUIC may still wait for the end of the stream, which parities
    /// have brought before.
    pub fn is_complete(&self) -> bool {
        self.out.phase == Phase::Over && self.into.phase == Phase::Over
    }
}
