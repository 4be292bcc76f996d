//! TCP options: MSS, window scale, SACK-permitted, SACK blocks, timestamps, ACK congestion control, AccECN's byte counters.

use crate::SeqNumber;
use std::num::NonZeroU8;

/// Timestamps option (RFC 7323 section 3).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Timestamps {
    /// The sender's clock (TSval).
    pub value: u32,
    /// The peer's clock as it was last seen (TSecr).
    pub echo: u32,
}

/// Up to four SACK blocks, each `[start, end)` (RFC 2018 section 3).
#[derive(Clone, Copy, Default)]
#[repr(C)]
pub struct SackBlocks {
    len: u8,
    /// What lies beyond `len` is of no meaning.
    blocks: [(SeqNumber, SeqNumber); Self::MAX],
}

impl PartialEq for SackBlocks {
    fn eq(&self, other: &Self) -> bool {
        self.as_slice() == other.as_slice()
    }
}
impl Eq for SackBlocks {}

impl SackBlocks {
    /// As many blocks as 40 bytes of options can hold.
    pub const MAX: usize = 4;

    /// Adds a block; returns false, and changes nothing, when four are there already.
    pub fn push(&mut self, start: SeqNumber, end: SeqNumber) -> bool {
        let Some(slot) = self.blocks.get_mut(usize::from(self.len)) else { return false };
        *slot = (start, end);
        self.len += 1;
        true
    }
    /// Removes all.
    pub fn clear(&mut self) {
        self.len = 0;
    }
    /// The blocks in the order of the wire: the most recently received first.
    pub fn as_slice(&self) -> &[(SeqNumber, SeqNumber)] {
        &self.blocks[..usize::from(self.len)]
    }
    /// True when there is none.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }
    /// How many there are: 0 to 4.
    pub const fn len(&self) -> usize {
        self.len as usize
    }
    /// Bytes on the wire of so many, padded to a multiple of four.
    pub const fn wire_len_of(count: usize) -> u32 {
        if count == 0 { 0 } else { 4 + 8 * count as u32 }
    }
}

impl std::fmt::Debug for SackBlocks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.as_slice()).finish()
    }
}

/// Which counter comes first in an AccECN option; that of CE is always the second (RFC 9768 section 3.2.3).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EcnOrder {
    /// Order 0, kind 172: ECT(0), CE, ECT(1).
    Ect0First,
    /// Order 1, kind 174: ECT(1), CE, ECT(0).
    Ect1First,
}

/// AccECN option (RFC 9768 section 3.2.3): the lowest 24 bits of up to three counters of payload bytes, by the ECN field with
/// which they arrived. Counters at the end may be left out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EcnCounters {
    order: EcnOrder,
    len: u8,
    /// In the order of the wire; zero beyond `len`.
    fields: [[u8; 3]; Self::MAX],
}

impl EcnCounters {
    /// As many counters as the option can hold.
    pub const MAX: usize = 3;

    /// The first counters in this order, at most three; what is above their 24 bits is left out.
    pub fn new(order: EcnOrder, counters: &[u32]) -> Self {
        let mut option = EcnCounters { order, len: 0, fields: [[0; 3]; Self::MAX] };
        for (field, counter) in option.fields.iter_mut().zip(counters) {
            let [_, a, b, c] = counter.to_be_bytes();
            *field = [a, b, c];
            option.len += 1;
        }
        option
    }
    /// Which counter comes first.
    pub const fn order(&self) -> EcnOrder {
        self.order
    }
    /// How many there are: 0 to 3.
    pub const fn len(&self) -> usize {
        self.len as usize
    }
    /// True when there is none: then the option states only that it passes.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }
    /// The counters in the order of the wire, 24 bits each.
    pub fn counters(&self) -> impl Iterator<Item = u32> + '_ {
        self.fields[..self.len()].iter().map(|[a, b, c]| u32::from_be_bytes([0, *a, *b, *c]))
    }
    /// Payload bytes that arrived with ECT(0), if the option has room for it.
    pub fn ect0(&self) -> Option<u32> {
        self.counters().nth(if self.order == EcnOrder::Ect0First { 0 } else { 2 })
    }
    /// Payload bytes that arrived with CE.
    pub fn ce(&self) -> Option<u32> {
        self.counters().nth(1)
    }
    /// Payload bytes that arrived with ECT(1).
    pub fn ect1(&self) -> Option<u32> {
        self.counters().nth(if self.order == EcnOrder::Ect0First { 2 } else { 0 })
    }
    /// Bytes on the wire of an option with so many counters, padded to a multiple of four.
    pub const fn wire_len_of(counters: usize) -> u32 {
        (2 + 3 * counters as u32).next_multiple_of(4)
    }
}

/// The options that Longhaul understands. Others are skipped on reading.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(C)] // SACK blocks, which are long and rare, come last: most segments of a simulation touch one cache line
pub struct Options {
    /// Timestamps (kind 8).
    pub timestamps: Option<Timestamps>,
    /// Maximum segment size in bytes (kind 2; SYN only).
    pub mss: Option<u16>,
    /// Window scale, 0 to 14 (kind 3, RFC 7323 section 2; SYN only).
    pub window_scale: Option<u8>,
    /// SACK permitted (kind 4; SYN only).
    pub sack_permitted: bool,
    /// ACK Congestion Control Permitted (RFC 5690 section 4.1; SYN only).
    pub ack_congestion_control_permitted: bool,
    /// ACK Ratio: acknowledge one of so many segments (RFC 5690 section 4.2; data only).
    pub ack_ratio: Option<NonZeroU8>,
    /// AccECN's byte counters (kinds 172 and 174).
    pub ecn_counters: Option<EcnCounters>,
    /// SACK blocks (kind 5).
    pub sack: SackBlocks,
}

impl Options {
    /// No option at all.
    pub const NONE: Options = Options {
        timestamps: None,
        sack: SackBlocks { len: 0, blocks: [(SeqNumber(0), SeqNumber(0)); SackBlocks::MAX] },
        mss: None,
        window_scale: None,
        sack_permitted: false,
        ack_congestion_control_permitted: false,
        ack_ratio: None,
        ecn_counters: None,
    };

    /// Removes all; what SACK blocks were there is not written over.
    #[inline(always)]
    pub fn clear(&mut self) {
        self.timestamps = None;
        self.mss = None;
        self.window_scale = None;
        self.sack_permitted = false;
        self.ack_congestion_control_permitted = false;
        self.ack_ratio = None;
        self.ecn_counters = None;
        self.sack.clear();
    }

    /// Bytes that the ACK Ratio option takes, with its padding.
    pub const ACK_RATIO_LEN: u32 = 8;

    /// Bytes on the wire, padded to a multiple of four as usual: timestamps take 12 bytes, n SACK blocks 4 + 8n.
    pub fn wire_len(&self) -> u32 {
        let mut len = 0;
        if self.timestamps.is_some() {
            len += 12;
        }
        len += SackBlocks::wire_len_of(self.sack.len());
        if self.mss.is_some() {
            len += 4;
        }
        if self.window_scale.is_some() {
            len += 4;
        }
        // On a SYN with timestamps SACK-permitted takes the place of the two bytes of padding.
        if self.sack_permitted && self.timestamps.is_none() {
            len += 4;
        }
        if self.ack_congestion_control_permitted {
            len += 4;
        }
        if self.ack_ratio.is_some() {
            len += Self::ACK_RATIO_LEN;
        }
        if let Some(counters) = &self.ecn_counters {
            len += EcnCounters::wire_len_of(counters.len());
        }
        len
    }
}
