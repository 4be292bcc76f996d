//! What has crossed a line with header compression, of whatever kind.

/// Counters of one direction of a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LineStats {
    /// Packets whose headers were compressed.
    pub compressed: u64,
    /// Packets that were sent with a header in full.
    pub uncompressed: u64,
    /// Packets that passed as they were.
    pub unchanged: u64,
    /// Bytes of the compressed headers.
    pub header_bytes: u64,
    /// Frames that the far end could not read.
    pub tossed: u64,
    /// Requests of the far end for a header in full that have come back.
    pub requests: u64,
}

impl LineStats {
    /// What has crossed since `before`.
    pub fn since(&self, before: &LineStats) -> LineStats {
        LineStats {
            compressed: self.compressed - before.compressed,
            uncompressed: self.uncompressed - before.uncompressed,
            unchanged: self.unchanged - before.unchanged,
            header_bytes: self.header_bytes - before.header_bytes,
            tossed: self.tossed - before.tossed,
            requests: self.requests - before.requests,
        }
    }
}
