//! TCP options: MSS, window scale, SACK-permitted, SACK blocks, timestamps, ACK congestion control.

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
}

impl std::fmt::Debug for SackBlocks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.as_slice()).finish()
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
        if !self.sack.is_empty() {
            len += 4 + 8 * self.sack.len() as u32;
        }
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
        len
    }
}
