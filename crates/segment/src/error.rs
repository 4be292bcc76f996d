//! Why bytes are not a packet, and why a packet cannot be put into bytes.

use std::fmt;

/// A field of a packet that can be wrong.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Field {
    /// The IP header as a whole.
    IpHeader,
    /// IP version.
    Version,
    /// IPv4 header length (IHL), in 32-bit words.
    Ihl,
    /// IPv4 total length or IPv6 payload length.
    Length,
    /// IPv4 header checksum.
    HeaderChecksum,
    /// IPv4 fragment offset and more-fragments bit.
    Fragment,
    /// IPv4 protocol or IPv6 next header.
    Protocol,
    /// IPv6 next header that announces an extension header.
    ExtensionHeader,
    /// The TCP header as a whole.
    TcpHeader,
    /// TCP data offset, in 32-bit words.
    DataOffset,
    /// TCP checksum.
    TcpChecksum,
    /// The length byte of a TCP option of this kind.
    OptionLength(u8),
}

impl Field {
    fn rule(self) -> &'static str {
        match self {
            Field::Version => "it must be 4 or 6",
            Field::Ihl => "it must be 5 to 15",
            Field::Length => "it is less than the header length",
            Field::HeaderChecksum | Field::TcpChecksum => "it does not fit the bytes",
            Field::Fragment => "fragments are not reassembled here",
            Field::Protocol => "it must be 6, TCP",
            Field::ExtensionHeader => "IPv6 extension headers are not supported",
            Field::DataOffset => "it must be 5 or more and lie within the packet",
            Field::OptionLength(2) => "a maximum segment size has length 4",
            Field::OptionLength(3) => "a window scale has length 3",
            Field::OptionLength(4) => "a SACK-permitted has length 2",
            Field::OptionLength(5) => "one to four SACK blocks have length 10, 18, 26 or 34",
            Field::OptionLength(8) => "a timestamps option has length 10",
            Field::OptionLength(_) => "it must be 2 or more and lie within the header",
            Field::IpHeader | Field::TcpHeader => "it is too short",
        }
    }
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Field::IpHeader => "IP header",
            Field::Version => "IP version",
            Field::Ihl => "IPv4 header length",
            Field::Length => "IP length",
            Field::HeaderChecksum => "IPv4 header checksum",
            Field::Fragment => "IPv4 fragment field",
            Field::Protocol => "IP protocol",
            Field::ExtensionHeader => "IPv6 next header",
            Field::TcpHeader => "TCP header",
            Field::DataOffset => "TCP data offset",
            Field::TcpChecksum => "TCP checksum",
            Field::OptionLength(kind) => return write!(f, "length of TCP option {kind}"),
        })
    }
}

/// Why bytes are not a TCP/IP packet. Offsets are in bytes from the start of the IP header.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum DecodeError {
    /// The bytes end before the field, or before the end that the field announces.
    #[error("{field} at byte {offset} needs bytes up to {needed}; what is there ends at {available}")]
    Truncated {
        /// What is cut, or what announces more than there is.
        field: Field,
        /// Where it starts.
        offset: usize,
        /// Where it, or what it announces, would end.
        needed: usize,
        /// Where the bytes at hand end; for an option, where the TCP header ends.
        available: usize,
    },
    /// A field has a value that its definition forbids or that is not supported.
    #[error("{field} at byte {offset} is {value} (0x{value:x}): {}", .field.rule())]
    Invalid {
        /// The field.
        field: Field,
        /// Where it starts.
        offset: usize,
        /// What stands there, as an unsigned number.
        value: u32,
    },
}

impl DecodeError {
    /// The same error in a packet in which these bytes start `base` bytes further in.
    pub(crate) fn shifted(self, base: usize) -> Self {
        match self {
            DecodeError::Truncated { field, offset, needed, available } => DecodeError::Truncated {
                field,
                offset: offset + base,
                needed: needed + base,
                available: available + base,
            },
            DecodeError::Invalid { field, offset, value } => {
                DecodeError::Invalid { field, offset: offset + base, value }
            }
        }
    }
}

/// Why a header cannot be put into bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum EncodeError {
    /// One address is IPv4, the other IPv6.
    #[error("source and destination address are of different IP versions")]
    MixedVersions,
    /// A number is larger than its field.
    #[error("{field} is {value}; the largest possible is {max}")]
    TooLarge {
        /// The field by name.
        field: &'static str,
        /// Its value.
        value: u32,
        /// The largest that can be encoded.
        max: u32,
    },
    /// `Segment::payload_len` is not the length of the payload given.
    #[error("the segment states {stated} bytes of payload, {given} were given")]
    PayloadLength {
        /// The value in the segment.
        stated: u32,
        /// What came.
        given: usize,
    },
    /// URG is set, but a segment carries no urgent pointer (RFC 9293 section 3.1).
    #[error("URG is set, and a segment carries no urgent pointer")]
    Urgent,
}
