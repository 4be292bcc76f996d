//! What has crossed a line with header compression, of whatever kind.

use longhaul_units::counters;

counters! {
    /// Counters of one direction of a line.
    pub struct LineStats {
        /// Packets whose headers were compressed.
        sum pub compressed: u64,
        /// Packets that were sent with a header in full.
        sum pub uncompressed: u64,
        /// Packets that passed as they were.
        sum pub unchanged: u64,
        /// Bytes of the compressed headers.
        sum pub header_bytes: u64,
        /// Frames that the far end could not read.
        sum pub tossed: u64,
        /// Requests of the far end for a header in full that have come back.
        sum pub requests: u64,
    }
}
