//! What two nodes write to each other over a TCP connection: frames of type, length and body, as the records of the control stream
//! (which are frames too). Flows of the node that has opened the connection have even numbers, those of the other odd ones.

use crate::types::Open;
use crate::wire::{Malformed, Reader, Record, read_open, write_open, write_varint};

/// Most bytes of data in a frame.
pub const MOST_DATA: u64 = 16 << 10;

const DATA: u64 = 8;
const OPEN: u64 = 9;
const END: u64 = 10;
const READ: u64 = 11;
const RESET: u64 = 12;
const REFUSED: u64 = 13;

/// A frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Frame<'a> {
    /// As in the control stream of QUIC.
    Record(Record),
    /// The next bytes of a flow.
    Data { flow: u64, bytes: &'a [u8] },
    /// A new flow.
    Open { flow: u64, open: Open },
    /// All bytes of this direction were sent.
    End { flow: u64 },
    /// All bytes of this direction and its end were read.
    Read { flow: u64 },
    /// The flow is over in both directions.
    Reset { flow: u64, code: u64 },
    /// The flow is refused.
    Refused { flow: u64, code: u64 },
}

impl<'a> Frame<'a> {
    /// Appends the frame.
    pub fn write(&self, out: &mut Vec<u8>) {
        let mut body = vec![];
        let mut put = |values: &[u64]| values.iter().for_each(|value| write_varint(*value, &mut body));
        let kind = match self {
            Frame::Record(record) => return record.write(out),
            Frame::Data { flow, bytes } => {
                put(&[*flow]);
                write_varint(DATA, out);
                write_varint((body.len() + bytes.len()) as u64, out);
                out.extend_from_slice(&body);
                return out.extend_from_slice(bytes);
            }
            Frame::Open { flow, open } => {
                put(&[*flow]);
                write_open(open, &mut body);
                OPEN
            }
            Frame::End { flow } => {
                put(&[*flow]);
                END
            }
            Frame::Read { flow } => {
                put(&[*flow]);
                READ
            }
            Frame::Reset { flow, code } => {
                put(&[*flow, *code]);
                RESET
            }
            Frame::Refused { flow, code } => {
                put(&[*flow, *code]);
                REFUSED
            }
        };
        write_varint(kind, out);
        write_varint(body.len() as u64, out);
        out.extend_from_slice(&body);
    }

    /// The frame at the front of `bytes` and its length; `None` if it is not there as a whole.
    pub fn read(bytes: &'a [u8]) -> Result<Option<(Frame<'a>, usize)>, Malformed> {
        let mut reader = Reader(bytes);
        let (Some(kind), Some(length)) = (reader.varint(), reader.varint()) else { return Ok(None) };
        if !(DATA..=REFUSED).contains(&kind) {
            let record = Record::read(bytes)?;
            return Ok(record.map(|(record, length)| (Frame::Record(record), length)));
        }
        if length > MOST_DATA + 8 {
            return Err(Malformed("a frame is too long"));
        }
        let Some(body) = reader.take(length as usize) else { return Ok(None) };
        let frame = Frame::body(kind, body).ok_or(Malformed("a frame cannot be read"))?;
        Ok(Some((frame, bytes.len() - reader.0.len())))
    }

    /// What follows the known fields of other frames than data belongs to later versions.
    fn body(kind: u64, body: &'a [u8]) -> Option<Frame<'a>> {
        let mut reader = Reader(body);
        let flow = reader.varint()?;
        Some(match kind {
            DATA => Frame::Data { flow, bytes: reader.0 },
            OPEN => Frame::Open { flow, open: read_open(reader.0).ok()??.0 },
            END => Frame::End { flow },
            READ => Frame::Read { flow },
            RESET => Frame::Reset { flow, code: reader.varint()? },
            _ => Frame::Refused { flow, code: reader.varint()? },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn frames() -> impl Strategy<Value = (u64, u64, Vec<u8>, u8)> {
        (0u64..1 << 62, 0u64..1 << 32, prop::collection::vec(any::<u8>(), 0..300), 0u8..7)
    }

    fn frame<'a>((flow, code, bytes, kind): &'a (u64, u64, Vec<u8>, u8)) -> Frame<'a> {
        let (flow, code) = (*flow, *code);
        match kind {
            0 => Frame::Data { flow, bytes },
            1 => Frame::Open {
                flow,
                open: Open {
                    source: ([10, 0, 0, 1], 1).into(),
                    destination: ([10, 0, 0, 2], 2).into(),
                    dscp: 10,
                    priority: 3,
                    confirm: true,
                },
            },
            2 => Frame::End { flow },
            3 => Frame::Read { flow },
            4 => Frame::Reset { flow, code },
            5 => Frame::Refused { flow, code },
            _ => Frame::Record(Record::Consumed { stream: flow, offset: code }),
        }
    }

    proptest! {
        /// What was written is read again, at any cut of the stream.
        #[test]
        fn frames_survive(all in prop::collection::vec(frames(), 1..20), cut in any::<prop::sample::Index>()) {
            let mut bytes = vec![];
            all.iter().for_each(|one| frame(one).write(&mut bytes));
            let cut = cut.index(bytes.len() + 1);
            let (mut at, mut count) = (0, 0);
            for limit in [cut, bytes.len()] {
                while let Some((read, length)) = Frame::read(&bytes[at..limit]).unwrap() {
                    prop_assert_eq!(read, frame(&all[count]));
                    (at, count) = (at + length, count + 1);
                }
            }
            prop_assert_eq!((at, count), (bytes.len(), all.len()));
        }

        #[test]
        fn anything_can_be_read(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            if let Ok(Some((_, length))) = Frame::read(&bytes) {
                prop_assert!(length <= bytes.len() && length > 0);
            }
        }
    }
}
