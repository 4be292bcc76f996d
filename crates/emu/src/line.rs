//! Header compression of real packets on a serial line, Van Jacobson's (RFC 1144) or the robust one: each packet that leaves the
//! queue is compressed, and restored at the far end. What is restored is what was sent, or is tossed for its checksum, so that the
//! packet itself goes on; only its length on the line and its fate are the line's.

use crate::frame::Frame;
use longhaul_path::{LineCoder, RohcSpec, SerialSpec, VjSpec};
use longhaul_segment::{rohc, vj};
use longhaul_units::{Duration, Instant};
use std::collections::VecDeque;

/// What compresses and what restores.
enum Ends {
    Vj {
        compressor: vj::Compressor,
        decompressor: vj::Decompressor,
        /// Every compressed header counts as so many bytes.
        fixed: Option<u32>,
        frame_type: vj::FrameType,
    },
    Robust {
        compressor: rohc::Compressor,
        decompressor: rohc::Decompressor,
        /// How long requests of the far end take.
        feedback: Option<Duration>,
        on_their_way: VecDeque<(Instant, rohc::Feedback)>,
    },
}

impl Ends {
    fn vj(spec: &VjSpec) -> Ends {
        Ends::Vj {
            compressor: vj::Compressor::new(spec.slots),
            decompressor: vj::Decompressor::new(spec.slots),
            fixed: spec.header.map(|header| header.as_bytes() as u32),
            frame_type: vj::FrameType::Ip,
        }
    }
    fn robust(spec: &RohcSpec) -> Ends {
        let RohcSpec { contexts, window, repeat, refresh, feedback } = *spec;
        let settings = rohc::Settings { contexts, window, repeat, refresh: (refresh > 0).then_some(refresh) };
        Ends::Robust {
            compressor: rohc::Compressor::new(settings),
            decompressor: rohc::Decompressor::new(contexts),
            feedback,
            on_their_way: VecDeque::new(),
        }
    }
}

/// Both ends of one direction of a line.
pub(crate) struct CompressedLine {
    ends: Ends,
    /// What is on the line.
    frame: Vec<u8>,
    sent: Vec<u8>,
    restored: Vec<u8>,
}

impl CompressedLine {
    /// `None` on a line without header compression.
    pub fn new(spec: &SerialSpec) -> Option<Self> {
        let ends = spec.vj.as_ref().map(Ends::vj).or(spec.rohc.as_ref().map(Ends::robust))?;
        Some(CompressedLine { ends, frame: vec![], sent: vec![], restored: vec![] })
    }
}

impl LineCoder<Frame> for CompressedLine {
    fn encode(&mut self, start: Instant, frame: &Frame) -> u32 {
        self.sent.clear();
        self.sent.extend_from_slice(frame.packet());
        self.frame.clear();
        match &mut self.ends {
            Ends::Vj { compressor, fixed, frame_type, .. } => {
                let compressed = compressor.compress(&self.sent, &mut self.frame);
                *frame_type = compressed.frame_type;
                let length = self.frame.len() as u32;
                match (compressed.frame_type, *fixed) {
                    (vj::FrameType::Compressed, Some(fixed)) => length - compressed.header_out as u32 + fixed,
                    _ => length,
                }
            }
            Ends::Robust { compressor, on_their_way, .. } => {
                while on_their_way.front().is_some_and(|(at, _)| *at <= start) {
                    on_their_way.pop_front().into_iter().for_each(|(_, ask)| compressor.handle_feedback(ask));
                }
                compressor.compress(&self.sent, &mut self.frame);
                self.frame.len() as u32
            }
        }
    }

    fn decode(&mut self, departure: Instant) -> bool {
        self.restored.clear();
        let read = match &mut self.ends {
            Ends::Vj { decompressor, frame_type, .. } => {
                decompressor.decompress(*frame_type, &self.frame, &mut self.restored).is_ok()
            }
            Ends::Robust { decompressor, feedback, on_their_way, .. } => {
                let read = decompressor.decompress(&self.frame, &mut self.restored).is_ok();
                if let (Some(after), Some(ask)) = (*feedback, decompressor.poll_feedback()) {
                    on_their_way.push_back((departure + after, ask));
                }
                read
            }
        };
        // Bytes behind the end of an IP packet are not compressed, nor restored.
        read && self.sent.starts_with(&self.restored)
    }

    fn lost(&mut self, noticed: bool) {
        match &mut self.ends {
            Ends::Vj { decompressor, .. } if noticed => decompressor.line_error(),
            Ends::Vj { .. } | Ends::Robust { .. } => {}
        }
    }
}
