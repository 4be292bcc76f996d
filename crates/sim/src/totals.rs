//! What a flow has done: its connections' counters, summed from the start, and the difference over the measured time.

use crate::world::World;
use longhaul_tcp::{Connection, Event, LimitedTime, Stats};
use longhaul_units::{Duration, Instant};

/// Bytes of IPv4 and TCP headers without options, and of the timestamps option with its padding.
pub(crate) const HEADERS: u64 = (longhaul_segment::IPV4_HEADER + longhaul_segment::TCP_HEADER) as u64;
const TIMESTAMPS: u64 = 12;

/// Data packets that have arrived at the receiver's host, duplicates included.
#[derive(Clone, Copy, Default)]
pub(crate) struct Arrived {
    pub packets: u64,
    /// With headers.
    pub wire_bytes: u64,
    /// Those with congestion experienced (RFC 3168).
    pub marked: u64,
}

/// A flow's counters.
#[derive(Clone, Default)]
pub(crate) struct Totals {
    pub sender: Stats,
    /// Payload bytes delivered in order.
    pub delivered: u64,
    pub arrived: Arrived,
    /// Data packets dropped anywhere.
    pub lost: u64,
    /// Data packets that middleboxes have sent for it.
    pub made: u64,
    pub limited: LimitedTime,
}

impl Totals {
    /// Counters of a flow from its start to now.
    pub fn of(world: &World<'_>, flow: usize) -> Totals {
        let first = 2 * world.first_connection(flow);
        let mut totals = match &world.apps[flow].web {
            None => {
                let sender = world.apps[flow].data_sender() as usize;
                Totals::of_connection(world, first + sender, first + 1 - sender)
            }
            Some(session) => {
                let open = session.open().map(|pair| first + 2 * pair);
                open.fold(session.ended.clone(), |mut sum, client| {
                    sum.add(&Totals::of_connection(world, client + 1, client));
                    sum
                })
            }
        };
        totals.lost = world.recorder.lost[flow];
        totals.made = world.recorder.made[flow];
        totals
    }

    /// Counters of one connection, without what was lost.
    pub fn of_connection(world: &World<'_>, sender: usize, receiver: usize) -> Totals {
        let (sender, receiver) = (&world.endpoints[sender].connection, &world.endpoints[receiver].connection);
        Totals {
            sender: sender.stats().clone(),
            delivered: receiver.received_bytes(),
            arrived: Arrived::at(receiver),
            lost: 0,
            made: 0,
            limited: sender.limited_time(world.now),
        }
    }

    /// Adds the counters of another connection.
    pub fn add(&mut self, other: &Totals) {
        let (sum, sender) = (&mut self.sender, &other.sender);
        sum.data_segments_sent += sender.data_segments_sent;
        sum.data_bytes_sent += sender.data_bytes_sent;
        sum.retransmitted_segments += sender.retransmitted_segments;
        sum.fast_retransmits += sender.fast_retransmits;
        sum.timeouts += sender.timeouts;
        sum.ecn_reductions += sender.ecn_reductions;
        sum.ack_congestion_events += sender.ack_congestion_events;
        sum.largest_ack_ratio = sum.largest_ack_ratio.max(sender.largest_ack_ratio);
        sum.rtt_samples += sender.rtt_samples;
        sum.rtt_sum += sender.rtt_sum;
        sum.rtt_min = sum.rtt_min.min(sender.rtt_min);
        sum.rtt_max = sum.rtt_max.max(sender.rtt_max);
        self.delivered += other.delivered;
        self.arrived.packets += other.arrived.packets;
        self.arrived.wire_bytes += other.arrived.wire_bytes;
        self.arrived.marked += other.arrived.marked;
        self.limited += other.limited;
    }

    /// What was added since `then`. Smallest and largest RTT, the largest ACK ratio and times under limits are of the whole run.
    pub fn since(&self, then: &Totals) -> Totals {
        let (sender, before) = (&self.sender, &then.sender);
        Totals {
            sender: Stats {
                data_segments_sent: sender.data_segments_sent - before.data_segments_sent,
                data_bytes_sent: sender.data_bytes_sent - before.data_bytes_sent,
                retransmitted_segments: sender.retransmitted_segments - before.retransmitted_segments,
                fast_retransmits: sender.fast_retransmits - before.fast_retransmits,
                timeouts: sender.timeouts - before.timeouts,
                ecn_reductions: sender.ecn_reductions - before.ecn_reductions,
                ack_congestion_events: sender.ack_congestion_events - before.ack_congestion_events,
                rtt_samples: sender.rtt_samples - before.rtt_samples,
                rtt_sum: sender.rtt_sum - before.rtt_sum,
                ..sender.clone()
            },
            delivered: self.delivered - then.delivered,
            arrived: Arrived {
                packets: self.arrived.packets - then.arrived.packets,
                wire_bytes: self.arrived.wire_bytes - then.arrived.wire_bytes,
                marked: self.arrived.marked - then.arrived.marked,
            },
            lost: self.lost - then.lost,
            made: self.made - then.made,
            limited: self.limited,
        }
    }

    /// Data packets that were offered to the path, whoever has sent them.
    pub fn offered(&self) -> u64 {
        self.sender.data_segments_sent + self.made
    }
    /// Reductions of the congestion window.
    pub fn congestion_events(&self) -> u64 {
        self.sender.fast_retransmits + self.sender.timeouts + self.sender.ecn_reductions
    }
    /// Packets lost or marked: what the network says of congestion, packet by packet.
    pub fn congestion_signals(&self) -> u64 {
        self.lost + self.arrived.marked
    }
    pub fn mean_rtt(&self) -> Option<Duration> {
        (self.sender.rtt_samples > 0).then(|| self.sender.rtt_sum / self.sender.rtt_samples)
    }
}

impl Arrived {
    /// Every payload byte that arrives is in order, above a gap, too far above one, a duplicate, or beyond the window.
    fn at(receiver: &Connection) -> Arrived {
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
}

/// When a flow's window was reduced for the first and for the last time while measured.
#[derive(Clone, Copy, Default)]
pub(crate) struct ReductionTimes {
    pub first: Option<Instant>,
    pub last: Option<Instant>,
}

impl ReductionTimes {
    /// Takes note of what a sender reports.
    pub fn note(&mut self, now: Instant, event: Event) {
        if matches!(event, Event::FastRetransmit { .. } | Event::Timeout { .. } | Event::EcnReduction) {
            self.first.get_or_insert(now);
            self.last = Some(now);
        }
    }
}
