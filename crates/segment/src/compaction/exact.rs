//! The thesis's own form: every ACK is kept (appendix A.2).

use super::{Ack, CompactionError, close, go_together, is_compactable, merge_sack, open};
use crate::{EncodeError, SackBlocks, Segment};

/// The bit of a record that is set if the window changes.
const WINDOW_CHANGES: u16 = 0x8000;

/// ACKs of one connection that are to travel together.
#[derive(Clone, Debug)]
pub struct ExactBatch {
    first: Ack,
    last: Segment,
    sack: SackBlocks,
    records: Vec<u8>,
    acks: u32,
}

impl ExactBatch {
    /// A batch with its first ACK; `None` if that is not to be compacted.
    pub fn begin(ack: Ack) -> Option<Self> {
        is_compactable(&ack.0, &ack.1).then(|| ExactBatch {
            first: ack,
            last: ack.1,
            sack: ack.1.options.sack,
            records: vec![],
            acks: 1,
        })
    }

    /// Adds an ACK. False, and nothing is changed, if a record cannot express it: another connection, no pure ACK, a step
    /// back, or one over 32,767 bytes. It then begins a batch of its own, behind this one.
    pub fn push(&mut self, ack: &Ack) -> bool {
        let (header, segment) = ack;
        let step = segment.ack.distance_from(self.last.ack);
        let Ok(step) = u16::try_from(step) else { return false };
        if step >= WINDOW_CHANGES || !is_compactable(header, segment) || !go_together(&self.first, ack) {
            return false;
        }
        let window = segment.window.wrapping_sub(self.last.window);
        if window == 0 {
            self.records.extend_from_slice(&step.to_be_bytes());
        } else {
            self.records.extend_from_slice(&(step | WINDOW_CHANGES).to_be_bytes());
            self.records.extend_from_slice(&window.to_be_bytes());
        }
        self.sack = merge_sack(segment, &self.sack);
        self.last = *segment;
        self.acks += 1;
        true
    }

    /// ACKs in it.
    pub fn acks(&self) -> u32 {
        self.acks
    }

    /// Bytes of the packet, tunnel header not included.
    pub fn wire_len(&self) -> u32 {
        let mut segment = self.first.1;
        segment.options.sack = self.sack;
        segment.ipv4_len() + self.records.len() as u32
    }

    /// Appends the packet.
    ///
    /// # Errors
    /// If it would be longer than 65,535 bytes.
    pub fn encode(&self, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        let mut first = self.first;
        first.1.options.sack = self.sack;
        close(&first, &self.records, out)
    }

    /// The ACKs of a packet, in order. IP identifications count on from the first one's.
    ///
    /// # Errors
    /// If it is no such packet.
    pub fn decode(packet: &[u8]) -> Result<Vec<Ack>, CompactionError> {
        let (mut ack, mut records) = open(packet)?;
        let mut acks = vec![ack];
        while !records.is_empty() {
            let cut = CompactionError::Records(records.len(), "the last record is cut");
            let step = take(&mut records).ok_or(cut)?;
            let (header, segment) = &mut ack;
            header.id = header.id.wrapping_add(1);
            segment.ack = segment.ack + u32::from(step & !WINDOW_CHANGES);
            if step & WINDOW_CHANGES != 0 {
                segment.window = segment.window.wrapping_add(take(&mut records).ok_or(cut)?);
            }
            acks.push(ack);
        }
        Ok(acks)
    }
}

fn take(bytes: &mut &[u8]) -> Option<u16> {
    let (word, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(u16::from_be_bytes(*word))
}
