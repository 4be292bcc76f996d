//! What a flow has done: its connections' counters, summed from the start, and the difference over the measured time.

use longhaul_results::{Arrived, ReductionTimes};
use longhaul_tcp::{Connection, Event, LimitedTime, Stats};
use longhaul_units::{Instant, counters};

/// Bytes of IPv4 and TCP headers without options, and of the timestamps option with its padding.
const HEADERS: u64 = (longhaul_segment::IPV4_HEADER + longhaul_segment::TCP_HEADER) as u64;
const TIMESTAMPS: u64 = 12;

counters! {
    /// A flow's counters.
    pub(crate) struct Totals {
        sum pub sender: Stats,
        /// Payload bytes delivered in order.
        sum pub delivered: u64,
        sum pub arrived: Arrived,
        /// Data packets dropped anywhere.
        sum pub lost: u64,
        /// Data packets that middleboxes have sent for it.
        sum pub made: u64,
        sum pub limited: LimitedTime,
    }
}

impl Totals {
    /// Counters of one TCP connection from its start to now, without what was lost.
    pub fn of(sender: &Connection, receiver: &Connection, now: Instant) -> Totals {
        Totals {
            sender: *sender.stats(),
            delivered: receiver.received_bytes(),
            arrived: arrived_at(receiver),
            lost: 0,
            made: 0,
            limited: sender.limited_time(now),
        }
    }
}

/// Every payload byte that arrives is in order, above a gap, too far above one, a duplicate, or beyond the window.
fn arrived_at(receiver: &Connection) -> Arrived {
    let stats = receiver.stats();
    let payload = receiver.received_bytes()
        + receiver.out_of_order_bytes()
        + stats.duplicate_bytes_received
        + stats.beyond_window_bytes
        + stats.not_reassembled_bytes;
    let headers = if receiver.config().timestamps { HEADERS + TIMESTAMPS } else { HEADERS };
    Arrived {
        packets: stats.data_segments_received,
        wire_bytes: payload + stats.data_segments_received * headers,
        marked: stats.ce_received,
    }
}

/// Takes note of what a sender reports.
pub(crate) fn note_reduction(times: &mut ReductionTimes, now: Instant, event: Event) {
    if matches!(event, Event::FastRetransmit { .. } | Event::Timeout { .. } | Event::EcnReduction) {
        times.first.get_or_insert(now);
        times.last = Some(now);
    }
}
