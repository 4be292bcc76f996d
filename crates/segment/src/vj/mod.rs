//! Van Jacobson's TCP/IP header compression for serial lines (RFC 1144): 40 bytes of header become 3 to 19.
//!
//! A compressor and a decompressor at the two ends of a line each keep the last header of up to 255 connections, in numbered
//! slots, and only differences cross the line. A lost difference makes all that follow wrong, and nothing but the TCP checksum
//! shows it; a header sent in full ends the error, and that is what a compressor sends when TCP retransmits.

mod compressor;
mod decompressor;
mod delta;
mod line;

pub use compressor::{Compressed, Compressor};
pub use decompressor::{Decompressor, Tossed};
pub use line::Line;

/// Slots that RFC 1144 section 4 suggests for each direction of a line.
pub const DEFAULT_SLOTS: u8 = 16;

/// What stands on the line (RFC 1144 section 3.2.2). The framing has the type.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum FrameType {
    /// `TYPE_IP`: an IP packet as it is. It does not change the decompressor's state.
    Ip,
    /// `UNCOMPRESSED_TCP`: a whole packet, with the slot's number in place of the IP protocol.
    Uncompressed,
    /// `COMPRESSED_TCP`: a change mask, the TCP checksum, differences, and the data.
    Compressed,
}

impl FrameType {
    /// Marks the first byte of a frame as SLIP needs it, which has no place for a type (RFC 1144 appendix B.1): the upper
    /// half is 4, 7, or 8 and more.
    pub fn mark_slip(self, frame: &mut [u8]) {
        let Some(first) = frame.first_mut() else { return };
        *first |= match self {
            FrameType::Ip => 0x40,
            FrameType::Uncompressed => 0x70,
            FrameType::Compressed => 0x80,
        };
    }

    /// Reads and takes away SLIP's mark; `None` for what is none of the three. IPv6 passes as [`FrameType::Ip`].
    pub fn unmark_slip(frame: &mut [u8]) -> Option<FrameType> {
        let first = frame.first_mut()?;
        match *first >> 4 {
            4 | 6 => Some(FrameType::Ip),
            7 => {
                *first &= 0x4f;
                Some(FrameType::Uncompressed)
            }
            8.. => {
                *first &= 0x7f;
                Some(FrameType::Compressed)
            }
            _ => None,
        }
    }

    /// PPP's protocol number (RFC 1332 section 4): 0x21, 0x2f, 0x2d.
    pub const fn ppp_protocol(self) -> u16 {
        match self {
            FrameType::Ip => 0x0021,
            FrameType::Uncompressed => 0x002f,
            FrameType::Compressed => 0x002d,
        }
    }
}

/// Bits of the change mask (RFC 1144 figure 3). The uppermost bit is the framing's.
pub(crate) mod mask {
    /// The slot's number follows.
    pub const C: u8 = 0x40;
    /// The IP identification has not grown by 1.
    pub const I: u8 = 0x20;
    /// TCP's PSH itself.
    pub const P: u8 = 0x10;
    /// The sequence number has grown.
    pub const S: u8 = 0x08;
    /// The acknowledgment number has grown.
    pub const A: u8 = 0x04;
    /// The window has changed.
    pub const W: u8 = 0x02;
    /// URG is set; the urgent pointer follows.
    pub const U: u8 = 0x01;

    /// Echoed terminal traffic: sequence and acknowledgment numbers have grown by the data of the last packet.
    pub const SPECIAL_I: u8 = S | W | U;
    /// Data in one direction: the sequence number has grown by the data of the last packet.
    pub const SPECIAL_D: u8 = S | A | W | U;
    /// Where the special cases stand.
    pub const SPECIALS: u8 = S | A | W | U;
}

#[cfg(test)]
pub(crate) mod tests;
