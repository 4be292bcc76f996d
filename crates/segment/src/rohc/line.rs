//! Both ends of a line for simulated packets, and the far end's requests on the way back.

use super::{Compressor, Decompressor, Feedback, Form, Settings};
use crate::line::LineStats;
use crate::{EncodeError, Segment, ip, wire};
use longhaul_units::{Duration, Instant};
use std::collections::VecDeque;

/// One direction of a line. What is sent is received, lost or reported as an error before the next is sent.
pub struct Line {
    compressor: Compressor,
    decompressor: Decompressor,
    /// How long after the end of a frame's transmission a request reaches the compressor; without it, never.
    feedback: Option<Duration>,
    on_its_way: VecDeque<(Instant, Feedback)>,
    stats: LineStats,
    packet: Vec<u8>,
    frame: Vec<u8>,
    data_len: usize,
}

impl Line {
    /// With these settings. With `feedback`, a request of the far end comes back so long after the transmission of the frame that
    /// caused it: both propagation delays, and what the other direction takes.
    pub fn new(settings: Settings, feedback: Option<Duration>) -> Self {
        Line {
            decompressor: Decompressor::new(settings.contexts()),
            compressor: Compressor::new(settings),
            feedback,
            on_its_way: VecDeque::new(),
            stats: LineStats::default(),
            packet: vec![],
            frame: vec![],
            data_len: 0,
        }
    }

    /// The transmission of a packet begins: its bytes on the line, data included, framing not.
    ///
    /// # Errors
    /// As [`wire::encode_headers`].
    pub fn send(&mut self, start: Instant, ip: &ip::Header, segment: &Segment) -> Result<u32, EncodeError> {
        while self.on_its_way.front().is_some_and(|(at, _)| *at <= start) {
            if let Some((_, feedback)) = self.on_its_way.pop_front() {
                self.stats.requests += 1;
                self.compressor.handle_feedback(feedback);
            }
        }
        self.packet.clear();
        self.frame.clear();
        wire::encode_headers(ip, segment, &mut self.packet)?;
        let compressed = self.compressor.compress_headers(&self.packet, &mut self.frame);
        self.data_len = segment.payload_len as usize;
        match compressed.form {
            Form::Compressed => {
                self.stats.compressed += 1;
                self.stats.header_bytes += compressed.header_out as u64;
            }
            Form::Dynamic | Form::Whole => self.stats.uncompressed += 1,
            Form::Unchanged => self.stats.unchanged += 1,
        }
        Ok(self.frame.len() as u32 + segment.payload_len)
    }

    /// What was sent last has crossed the line, its transmission ended at `departure`: true if the far end can make a packet of it.
    pub fn receive(&mut self, departure: Instant) -> bool {
        self.packet.clear();
        let read = self.decompressor.decompress_headers(&self.frame, self.data_len, &mut self.packet);
        self.stats.tossed += u64::from(read.is_err());
        if let (Some(after), Some(feedback)) = (self.feedback, self.decompressor.poll_feedback()) {
            self.on_its_way.push_back((departure + after, feedback));
        }
        read.is_ok()
    }

    /// What has crossed it since it was made.
    pub fn stats(&self) -> LineStats {
        self.stats
    }
}
