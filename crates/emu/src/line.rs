//! Van Jacobson header compression (RFC 1144) of real packets on a serial line: each packet that leaves the queue is
//! compressed, and restored at the far end. What is restored is what was sent, or is tossed for its TCP checksum, so that the
//! packet itself goes on; only its length on the line and its fate are the line's.

use crate::frame::Frame;
use longhaul_path::{LineCoder, VjSpec};
use longhaul_segment::vj::{Compressor, Decompressor, FrameType};

/// Both ends of one direction of a line.
pub(crate) struct VjLine {
    compressor: Compressor,
    decompressor: Decompressor,
    /// Every compressed header counts as so many bytes.
    fixed: Option<u32>,
    frame_type: FrameType,
    /// What is on the line.
    frame: Vec<u8>,
    sent: Vec<u8>,
    restored: Vec<u8>,
}

impl VjLine {
    pub fn new(spec: &VjSpec) -> Self {
        VjLine {
            compressor: Compressor::new(spec.slots),
            decompressor: Decompressor::new(spec.slots),
            fixed: spec.header.map(|header| header.as_bytes() as u32),
            frame_type: FrameType::Ip,
            frame: vec![],
            sent: vec![],
            restored: vec![],
        }
    }
}

impl LineCoder<Frame> for VjLine {
    fn encode(&mut self, frame: &Frame) -> u32 {
        self.sent.clear();
        self.sent.extend_from_slice(frame.packet());
        self.frame.clear();
        let compressed = self.compressor.compress(&self.sent, &mut self.frame);
        self.frame_type = compressed.frame_type;
        let length = self.frame.len() as u32;
        match (compressed.frame_type, self.fixed) {
            (FrameType::Compressed, Some(fixed)) => length - compressed.header_out as u32 + fixed,
            _ => length,
        }
    }

    fn decode(&mut self) -> bool {
        self.restored.clear();
        let read = self.decompressor.decompress(self.frame_type, &self.frame, &mut self.restored);
        // Bytes behind the end of an IP packet are not compressed, nor restored.
        read.is_ok() && self.sent.starts_with(&self.restored)
    }

    fn lost(&mut self, noticed: bool) {
        if noticed {
            self.decompressor.line_error();
        }
    }
}
