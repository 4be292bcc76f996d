//! Packet captures that Wireshark, tcpdump and tcptrace read: the pcapng format (draft-ietf-opsawg-pcapng), little-endian,
//! one interface for each tap, times in nanoseconds.

use longhaul_units::Instant;
use std::io::{self, Write};

/// Draft section 4.1; the code is a palindrome, so that it reads the same in both byte orders.
const SECTION_HEADER: u32 = 0x0a0d_0d0a;
/// Draft section 4.2.
const INTERFACE_DESCRIPTION: u32 = 1;
/// Draft section 4.3.
const ENHANCED_PACKET: u32 = 6;

const BYTE_ORDER_MAGIC: u32 = 0x1a2b_3c4d;
/// Version of the format.
const MAJOR: u16 = 1;
const MINOR: u16 = 0;
/// The length of the section is not known beforehand.
const SECTION_LENGTH_UNKNOWN: u64 = u64::MAX;
/// No limit; each packet records how much of it was kept.
const SNAP_LEN: u32 = 0;

const OPTION_END: u16 = 0;
const COMMENT: u16 = 1;
const IF_NAME: u16 = 2;
const IF_TSRESOL: u16 = 9;
/// if_tsresol: 10^-9 s.
const NANOSECONDS: u8 = 9;

/// What each packet of a capture begins with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LinkType {
    /// The header of IPv4 or IPv6, by its version field.
    ///
    /// Written as 12, libpcap's own number (DLT_RAW) on all systems but OpenBSD. The registered one, LINKTYPE_RAW (101), is turned
    /// into that by libpcap for the first interface only; it then compares those of all others with 12, and refuses the file.
    Ip,
    /// An Ethernet header (LINKTYPE_ETHERNET).
    Ethernet,
}

impl LinkType {
    fn number(self) -> u16 {
        match self {
            LinkType::Ip => 12,
            LinkType::Ethernet => 1,
        }
    }
}

/// The comment of a capture whose times are the simulator's.
pub const SIMULATED_TIMES: &str = "Simulated time: second 0 of the run is 1970-01-01 00:00:00 UTC.";
/// The comment of a capture whose times are a machine's.
pub const WALL_CLOCK_TIMES: &str = "Times of the machine's clock (UTC).";

/// Writes a capture. Times count from 1970-01-01 00:00:00 UTC.
///
/// Each packet is written at once; give it a buffered `W`. What was written is a readable file at any moment.
///
/// ```
/// use longhaul_segment::pcapng::{LinkType, SIMULATED_TIMES, Writer};
/// use longhaul_units::Instant;
/// let mut capture = Writer::new(Vec::new(), &["sender", "satellite"], LinkType::Ip, SIMULATED_TIMES)?;
/// let header = [0x45; 40];
/// capture.packet(1, Instant::from_nanos(1_500_000_000), &header, 1040)?;
/// let file = capture.finish()?;
/// assert_eq!(file.len() % 4, 0);
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct Writer<W: Write> {
    output: W,
    taps: usize,
    link: LinkType,
    /// One block at a time is put together here.
    block: Vec<u8>,
}

impl<W: Write> Writer<W> {
    /// Starts a capture with one interface for each tap, numbered from 0 in the order given. Programs show the `comment` with the
    /// file's properties.
    ///
    /// # Errors
    /// Those of `output`; [`io::ErrorKind::InvalidInput`] for a name or a comment over 65,535 bytes.
    pub fn new(output: W, taps: &[impl AsRef<str>], link: LinkType, comment: &str) -> io::Result<Self> {
        let mut writer = Writer { output, taps: taps.len(), link, block: Vec::new() };
        writer.section_header(comment)?;
        for tap in taps {
            writer.interface(tap.as_ref())?;
        }
        Ok(writer)
    }

    /// Adds a packet of `original_len` bytes on the wire that passed tap number `tap` at `at`; `bytes` are its first ones, and both
    /// count from the header that the link type names: all of it, or the headers only.
    ///
    /// # Errors
    /// Those of the output; [`io::ErrorKind::InvalidInput`] for a tap that does not exist, or for more bytes than the
    /// packet had.
    pub fn packet(&mut self, tap: usize, at: Instant, bytes: &[u8], original_len: u32) -> io::Result<()> {
        if tap >= self.taps {
            return Err(invalid(format!("there is no tap {tap}: the capture has {}", self.taps)));
        }
        let captured_len = match u32::try_from(bytes.len()) {
            Ok(len) if len <= original_len => len,
            _ => {
                let given = bytes.len();
                return Err(invalid(format!("{given} bytes captured of a packet of {original_len}")));
            }
        };
        let nanos = at.as_nanos();
        self.begin(ENHANCED_PACKET);
        self.put(&(tap as u32).to_le_bytes());
        self.put(&((nanos >> 32) as u32).to_le_bytes());
        self.put(&(nanos as u32).to_le_bytes());
        self.put(&captured_len.to_le_bytes());
        self.put(&original_len.to_le_bytes());
        self.put(bytes);
        self.end()
    }

    /// Flushes and gives the output back.
    ///
    /// # Errors
    /// Those of the output. A writer that is dropped instead loses only what `W` itself still holds.
    pub fn finish(mut self) -> io::Result<W> {
        self.output.flush()?;
        Ok(self.output)
    }

    fn section_header(&mut self, comment: &str) -> io::Result<()> {
        self.begin(SECTION_HEADER);
        self.put(&BYTE_ORDER_MAGIC.to_le_bytes());
        self.put(&MAJOR.to_le_bytes());
        self.put(&MINOR.to_le_bytes());
        self.put(&SECTION_LENGTH_UNKNOWN.to_le_bytes());
        self.option(COMMENT, comment.as_bytes())?;
        self.option(OPTION_END, &[])?;
        self.end()
    }

    fn interface(&mut self, name: &str) -> io::Result<()> {
        self.begin(INTERFACE_DESCRIPTION);
        self.put(&self.link.number().to_le_bytes());
        self.put(&[0; 2]); // reserved
        self.put(&SNAP_LEN.to_le_bytes());
        self.option(IF_NAME, name.as_bytes())?;
        self.option(IF_TSRESOL, &[NANOSECONDS])?;
        self.option(OPTION_END, &[])?;
        self.end()
    }

    /// An option as in draft section 3.5: code, length, value, padding that the length does not count.
    fn option(&mut self, code: u16, value: &[u8]) -> io::Result<()> {
        let len = u16::try_from(value.len()).map_err(|_| {
            invalid(format!("a name or comment of {} bytes; the format takes 65535", value.len()))
        })?;
        self.put(&code.to_le_bytes());
        self.put(&len.to_le_bytes());
        self.put(value);
        self.pad();
        Ok(())
    }

    /// Every block: type, total length, body padded to 32 bits, total length again (draft section 3.1).
    fn begin(&mut self, block_type: u32) {
        self.block.clear();
        self.put(&block_type.to_le_bytes());
        self.put(&[0; 4]); // total length, known at the end
    }

    fn put(&mut self, bytes: &[u8]) {
        self.block.extend_from_slice(bytes);
    }

    fn pad(&mut self) {
        self.block.resize(self.block.len().next_multiple_of(4), 0);
    }

    fn end(&mut self) -> io::Result<()> {
        self.pad();
        let total_len = u32::try_from(self.block.len() + 4)
            .map_err(|_| invalid("a packet of 4 GiB does not fit a block".to_string()))?
            .to_le_bytes();
        self.block[4..8].copy_from_slice(&total_len);
        self.put(&total_len);
        self.output.write_all(&self.block)
    }
}

fn invalid(message: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two taps and one packet of 1,500 bytes, of which five are kept, at 2^32 + 1 ns.
    #[test]
    fn bytes_of_a_small_capture() {
        let mut capture = Writer::new(Vec::new(), &["a", "link"], LinkType::Ip, "note").unwrap();
        let at = Instant::from_nanos(4_294_967_297);
        capture.packet(1, at, &[0x45, 0x00, 0x05, 0xdc, 0xff], 1500).unwrap();
        #[rustfmt::skip]
        let expected = [
            0x0a, 0x0d, 0x0d, 0x0a, 40, 0, 0, 0, // section header, 40 bytes
            0x4d, 0x3c, 0x2b, 0x1a, // byte order magic
            1, 0, 0, 0, // version 1.0
            0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, // section length -1
            1, 0, 4, 0, b'n', b'o', b't', b'e', // opt_comment
            0, 0, 0, 0, // end of options
            40, 0, 0, 0,
            1, 0, 0, 0, 40, 0, 0, 0, // interface 0, 40 bytes
            12, 0, 0, 0, // IP
            0, 0, 0, 0, // no snap length
            2, 0, 1, 0, b'a', 0, 0, 0, // if_name
            9, 0, 1, 0, 9, 0, 0, 0, // if_tsresol
            0, 0, 0, 0, // end of options
            40, 0, 0, 0,
            1, 0, 0, 0, 40, 0, 0, 0, // interface 1
            12, 0, 0, 0,
            0, 0, 0, 0,
            2, 0, 4, 0, b'l', b'i', b'n', b'k',
            9, 0, 1, 0, 9, 0, 0, 0,
            0, 0, 0, 0,
            40, 0, 0, 0,
            6, 0, 0, 0, 40, 0, 0, 0, // enhanced packet, 40 bytes
            1, 0, 0, 0, // interface
            1, 0, 0, 0, 1, 0, 0, 0, // time, high word first
            5, 0, 0, 0, // captured
            0xdc, 5, 0, 0, // original
            0x45, 0x00, 0x05, 0xdc, 0xff, 0, 0, 0,
            40, 0, 0, 0,
        ];
        assert_eq!(capture.finish().unwrap(), expected);
    }

    #[test]
    fn a_refused_packet_leaves_no_trace() {
        let mut capture = Writer::new(Vec::new(), &["only"], LinkType::Ethernet, "").unwrap();
        let before = capture.output.clone();
        let refused = |result: io::Result<()>| result.unwrap_err().kind();
        assert_eq!(refused(capture.packet(1, Instant::ZERO, &[], 0)), io::ErrorKind::InvalidInput);
        assert_eq!(refused(capture.packet(0, Instant::ZERO, &[0; 41], 40)), io::ErrorKind::InvalidInput);
        assert_eq!(capture.finish().unwrap(), before);
    }

    #[test]
    fn a_name_too_long_is_refused() {
        let error = Writer::new(Vec::new(), &["x".repeat(65_536)], LinkType::Ip, "").unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
    }

    #[test]
    fn errors_of_the_output_come_through() {
        let mut room = [0; 100];
        let error = Writer::new(&mut room[..], &["a", "b"], LinkType::Ip, "").unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::WriteZero);
    }
}
