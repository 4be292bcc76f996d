//! Both ends of a line for simulated packets: how long a header is on the line, and whether the far end can read it.
//! It is the compressor and the decompressor themselves, on headers as they would be on the wire (RFC 1144).

use super::{Compressor, Decompressor, FrameType};
use crate::line::LineStats;
use crate::{EncodeError, Segment, ip, wire};

/// One direction of a line. What is sent is received, lost or reported as an error before the next is sent.
pub struct Line {
    compressor: Compressor,
    decompressor: Decompressor,
    /// Every compressed header counts as so many bytes.
    fixed: Option<u32>,
    stats: LineStats,
    packet: Vec<u8>,
    frame: Vec<u8>,
    frame_type: FrameType,
    data_len: u32,
}

impl Line {
    /// With so many slots at both ends. With `fixed`, a compressed header counts as so many bytes whatever it really has,
    /// as closed formulas have it.
    pub fn new(slots: u8, fixed: Option<u32>) -> Self {
        Line {
            compressor: Compressor::new(slots),
            decompressor: Decompressor::new(slots),
            fixed,
            stats: LineStats::default(),
            packet: vec![],
            frame: vec![],
            frame_type: FrameType::Ip,
            data_len: 0,
        }
    }

    /// A packet is sent: its bytes on the line, data included, framing not.
    ///
    /// # Errors
    /// As [`wire::encode_headers`].
    pub fn send(&mut self, ip: &ip::Header, segment: &Segment) -> Result<u32, EncodeError> {
        self.packet.clear();
        self.frame.clear();
        wire::encode_headers(ip, segment, &mut self.packet)?;
        let compressed = self.compressor.compress_headers(&self.packet, &mut self.frame);
        (self.frame_type, self.data_len) = (compressed.frame_type, segment.payload_len);
        let header = match (compressed.frame_type, self.fixed) {
            (FrameType::Compressed, Some(fixed)) => fixed,
            _ => self.frame.len() as u32,
        };
        match compressed.frame_type {
            FrameType::Compressed => {
                self.stats.compressed += 1;
                self.stats.header_bytes += u64::from(header);
            }
            FrameType::Uncompressed => self.stats.uncompressed += 1,
            FrameType::Ip => self.stats.unchanged += 1,
        }
        Ok(header + segment.payload_len)
    }

    /// What was sent last has crossed the line: true if the far end can make a packet of it. One that it cannot read it
    /// tosses.
    pub fn receive(&mut self) -> bool {
        self.packet.clear();
        let data_len = self.data_len as usize;
        let read =
            self.decompressor.decompress_headers(self.frame_type, &self.frame, data_len, &mut self.packet);
        self.stats.tossed += u64::from(read.is_err());
        read.is_ok()
    }

    /// What was sent last was damaged, and the framing at the far end has noticed.
    pub fn line_error(&mut self) {
        self.decompressor.line_error();
    }

    /// What has crossed it since it was made.
    pub fn stats(&self) -> LineStats {
        self.stats
    }
}
