//! What a link counts, and why packets are dropped.

use longhaul_units::counters;

/// Why a packet was dropped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum DropCause {
    /// The queue was full.
    QueueFull = 0,
    /// Active queue management chose it.
    Early = 1,
    /// Active queue management let nothing in.
    Forced = 2,
    /// A loss model hit it.
    Loss = 3,
    /// It was transmitted during an outage.
    Outage = 4,
    /// The far end of a line could not make out its compressed header.
    Unreadable = 5,
}

impl DropCause {
    /// All causes, in the order of [`LinkStats::dropped`].
    pub const ALL: [DropCause; 6] = [
        DropCause::QueueFull,
        DropCause::Early,
        DropCause::Forced,
        DropCause::Loss,
        DropCause::Outage,
        DropCause::Unreadable,
    ];

    /// The causes that lie with a queue.
    pub const OF_QUEUES: [DropCause; 3] = [DropCause::QueueFull, DropCause::Early, DropCause::Forced];

    /// The cause's name in results.
    pub fn name(self) -> &'static str {
        match self {
            DropCause::QueueFull => "queue_full",
            DropCause::Early => "early",
            DropCause::Forced => "forced",
            DropCause::Loss => "loss",
            DropCause::Outage => "outage",
            DropCause::Unreadable => "unreadable",
        }
    }
}

counters! {
    /// What happened on a link since it was made. `arrivals` is the sum of all drops, `delivered`, and what is inside.
    pub struct LinkStats {
        /// Packets offered to the link.
        sum pub arrivals: u64,
        /// Packets dropped, by [`DropCause`].
        sum pub dropped: [u64; 6],
        /// Packets marked with congestion experienced.
        sum pub marked: u64,
        /// Transmissions that have ended, those of lost packets included.
        sum pub transmitted: u64,
        /// Their bytes; on a serial line, as they are there.
        sum pub transmitted_bytes: u64,
        /// Packets handed over at the far end, damaged ones included, copies not.
        sum pub delivered: u64,
        /// Packets damaged on the wire, which arrive all the same; the host at the end of their way drops them.
        sum pub corrupted: u64,
        /// Packets that arrive twice: so many copies come out of the link beside what is delivered.
        sum pub duplicated: u64,
        /// Transmissions that repeated what the link had lost.
        sum pub repeated: u64,
    }
}

impl LinkStats {
    /// All drops.
    pub fn total_dropped(&self) -> u64 {
        self.dropped.iter().sum()
    }

    /// Drops for one cause.
    pub fn dropped_for(&self, cause: DropCause) -> u64 {
        self.dropped[cause as usize]
    }

    /// Packets that the queue has dropped, for whatever cause.
    pub fn dropped_by_queue(&self) -> u64 {
        DropCause::OF_QUEUES.iter().map(|cause| self.dropped_for(*cause)).sum()
    }
}
