//! Robust TCP/IP header compression, in the manner of ROHC-TCP (RFC 6846, framework RFC 5795): unlike [`crate::vj`] it goes on
//! where frames are lost, since what crosses the line can be understood from any of the last packets, and a CRC shows if it
//! was not.
//!
//! **As in the RFCs:** contexts with small CIDs and Add-CID; a number for each packet (MSN) of which four bits cross; CRC-3 on ACKs,
//! CRC-7 on other compressed headers, CRC-8 on headers in full; window-based LSB encoding of sequence and acknowledgment numbers
//! and timestamps, in the RFC's sizes; the IP identification as an offset from the MSN; SACK blocks as distances from the
//! acknowledgment number; fields that hardly change in a header with a mask; the TCP checksum as it is; IR, IR-DYN and CO headers; the
//! optimistic approach with periodic refreshes (RFC 5795's unidirectional operation), or NACK and STATIC-NACK from the
//! decompressor (its bidirectional operation); repair by a number that has wrapped.
//!
//! **Not as in the RFCs:** the bit layout, which is this project's own (see the file `form.rs`), so that it does not interoperate;
//! IR carries the headers as they are and not in chains; no large CIDs, segmentation, context replication (IR-CR), lists of
//! options, scaled numbers, ECN chain, positive ACKs; IPv4 only, and no tunnels; timestamps of 7 and 14 bits may repeat the
//! reference. Other options than timestamps and SACK blocks (so all SYNs), urgent data and IP options go as IR. Feedback has no wire form.
//!
//! **Duplicate ACKs** take 5 bytes like other ACKs, **window updates** 9, an ACK with a **SACK block** within 32 kB 12.

mod compressor;
mod crc;
mod decompressor;
mod fields;
mod form;
mod line;
mod lsb;

pub use compressor::{Compressed, Compressor, Form};
pub use decompressor::{Decompressor, Tossed};
pub use line::Line;

/// How a compressor behaves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Settings {
    /// Connections that are remembered at a time, 1 to 16.
    pub contexts: u8,
    /// A header can be understood from any of so many packets before it: one less may be lost in a row. 1 to 14.
    pub window: u32,
    /// New contexts begin with so many whole headers, 1 or more.
    pub repeat: u32,
    /// After so many packets of a context without one, a whole header is sent unasked.
    pub refresh: Option<u32>,
}

impl Default for Settings {
    /// Seven losses in a row; three whole headers at the beginning, and one in 256 packets.
    fn default() -> Self {
        Settings { contexts: 16, window: 8, repeat: 3, refresh: Some(256) }
    }
}

impl Settings {
    fn contexts(&self) -> u8 {
        self.contexts.clamp(1, 16)
    }
    fn window(&self) -> u32 {
        self.window.clamp(1, 14)
    }
    fn repeat(&self) -> u32 {
        self.repeat.clamp(1, self.window())
    }
}

/// What a decompressor requests (RFC 6846 section 8.3's negative acknowledgments).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Request {
    /// NACK: all fields that change.
    Dynamic,
    /// STATIC-NACK: the whole header.
    Static,
}

/// The feedback of a decompressor to its compressor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Feedback {
    /// Number of the context.
    pub context: u8,
    /// What it needs.
    pub request: Request,
}

#[cfg(test)]
mod tests;
