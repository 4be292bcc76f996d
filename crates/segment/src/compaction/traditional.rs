//! The traditional form: the last ACK, how many it stands for, and how much each of them acknowledges on average
//! (Samaraweera 1999, as the thesis restates it in appendix A.1).

use super::{Ack, CompactionError, close, go_together, is_compactable, merge_sack, open};
use crate::{EncodeError, SeqNumber};

/// ACKs of one connection that one of them will stand for.
#[derive(Clone, Debug)]
pub struct TraditionalBatch {
    first: SeqNumber,
    last: Ack,
    left_out: u8,
}

/// Bytes that it adds to an ACK.
const TRAILER: usize = 3;

impl TraditionalBatch {
    /// A batch with its first ACK; `None` if that is not to be compacted.
    pub fn begin(ack: Ack) -> Option<Self> {
        is_compactable(&ack.0, &ack.1).then_some(TraditionalBatch {
            first: ack.1.ack,
            last: ack,
            left_out: 0,
        })
    }

    /// Adds an ACK, which takes the place of those before. False, and nothing is changed, if it is another connection's, no pure
    /// ACK, a step back, or if mean or count would not fit.
    pub fn push(&mut self, ack: &Ack) -> bool {
        let (header, segment) = ack;
        let whole = segment.ack.distance_from(self.first);
        let Some(left_out) = self.left_out.checked_add(1) else { return false };
        let fits = whole >= 0 && segment.ack.distance_from(self.last.1.ack) >= 0;
        let mean = whole / i32::from(left_out);
        if !fits
            || mean > i32::from(u16::MAX)
            || !is_compactable(header, segment)
            || !go_together(&self.last, ack)
        {
            return false;
        }
        let sack = merge_sack(segment, &self.last.1.options.sack);
        self.last = *ack;
        self.last.1.options.sack = sack;
        self.left_out = left_out;
        true
    }

    /// ACKs in it.
    pub fn acks(&self) -> u32 {
        u32::from(self.left_out) + 1
    }

    /// Bytes of the packet, tunnel header not included.
    pub fn wire_len(&self) -> u32 {
        self.last.1.ipv4_len() + TRAILER as u32
    }

    /// Appends the packet.
    ///
    /// # Errors
    /// If the ACK cannot be written.
    pub fn encode(&self, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        let whole = self.last.1.ack.distance_from(self.first) as u32;
        // The mean of the steps from one ACK to the next; where nothing was left out there is none.
        let mean = whole / u32::from(self.left_out).max(1);
        let [high, low] = (mean as u16).to_be_bytes();
        close(&self.last, &[self.left_out, high, low], out)
    }

    /// The approximate series of ACKs that a packet stands for, in order; the last one is exact.
    ///
    /// # Errors
    /// If it is no such packet.
    pub fn decode(packet: &[u8]) -> Result<Vec<Ack>, CompactionError> {
        let (last, records) = open(packet)?;
        let trailer: [u8; TRAILER] = records
            .try_into()
            .map_err(|_| CompactionError::Records(records.len(), "the trailer of this form has 3"))?;
        let [left_out, high, low] = trailer;
        let mean = u32::from(u16::from_be_bytes([high, low]));
        let ack = |before: u32| {
            let (mut header, mut segment) = last;
            header.id = header.id.wrapping_sub(before as u16);
            segment.ack = SeqNumber(segment.ack.0.wrapping_sub(before * mean));
            (header, segment)
        };
        Ok((0..=u32::from(left_out)).rev().map(ack).collect())
    }
}
