//! The TCP header as a plain value, the same for simulated and for real packets, its wire form, and files of packets.
//!
//! In a simulation a segment's payload is only a length. IP addresses live in [`ip::Header`], since they are what
//! differs between IP versions and a simulation's hot path never reads them.

pub mod checksum;
pub mod compaction;
pub mod error;
pub mod flags;
mod header;
pub mod ip;
mod line;
pub mod options;
pub mod pcapng;
pub mod rohc;
pub mod seq;
pub mod vj;
pub mod wire;

pub use error::{DecodeError, EncodeError, Field};
pub use flags::Flags;
pub use line::LineStats;
pub use longhaul_units::Ecn;
pub use options::{EcnCounters, EcnOrder, Options, SackBlocks, Timestamps};
pub use seq::SeqNumber;

/// Bytes of an IPv4 header without options (RFC 791).
pub const IPV4_HEADER: u32 = 20;
/// Bytes of a TCP header without options (RFC 9293).
pub const TCP_HEADER: u32 = 20;
/// Bytes of a UDP header (RFC 768).
pub const UDP_HEADER: u32 = 8;

/// One TCP segment (RFC 9293 section 3.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(C)]
pub struct Segment {
    /// Source port.
    pub src_port: u16,
    /// Destination port.
    pub dst_port: u16,
    /// Sequence number of the first payload byte (of the SYN or FIN, where there is no payload).
    pub seq: SeqNumber,
    /// Next sequence number expected by the sender of this segment; meaningful with [`Flags::ACK`].
    pub ack: SeqNumber,
    /// The window field as it stands on the wire, before scaling.
    pub window: u16,
    /// Control bits.
    pub flags: Flags,
    /// Payload bytes, 0 to 65,535.
    pub payload_len: u32,
    /// Options.
    pub options: Options,
}

impl Segment {
    /// Bytes of TCP header with options and padding: 20 to 60.
    pub fn header_len(&self) -> u32 {
        TCP_HEADER + self.options.wire_len()
    }
    /// Bytes of the whole IPv4 packet.
    pub fn ipv4_len(&self) -> u32 {
        IPV4_HEADER + self.header_len() + self.payload_len
    }
    /// Sequence numbers that the segment takes: payload plus one each for SYN and FIN.
    pub fn seq_len(&self) -> u32 {
        self.payload_len
            + u32::from(self.flags.contains(Flags::SYN))
            + u32::from(self.flags.contains(Flags::FIN))
    }
}

// Simulations hold millions of them.
const _: () = assert!(size_of::<Segment>() <= 88);
