//! The receiving half: reassembly, the advertised window, when to acknowledge (RFC 9293 section 3.8.6, RFC 5681
//! section 4.2), and which SACK blocks to report (RFC 2018, RFC 2883).

use crate::intervals::IntervalSet;
use crate::right_sizing::RightSizing;
use crate::{Config, Reading, Stats};
use longhaul_segment::{SackBlocks, SeqNumber};
use longhaul_units::{Duration, Instant, Rate, Size};

/// As many duplicate ACKs as a sender needs to detect a loss are not held back (RFC 5690 section 4.6).
const EARLY_DUPLICATES: u8 = 3;

/// Smaller segments do not open an autotuned window (Linux: `tcp_event_data_recv`).
const LEAST_TO_GROW: u64 = 128;

/// A block of the reassembly queue that has changed.
#[derive(Clone, Copy, Debug)]
struct Recent {
    /// An offset in it. It stays when the block is in order and gone; none at all is the greatest number.
    offset: u64,
    block: (u64, u64),
}

impl Recent {
    const NONE: Recent = Recent { offset: u64::MAX, block: (u64::MAX, u64::MAX) };

    #[inline]
    fn is_within(&self, (low, high): (u64, u64)) -> bool {
        low <= self.offset && self.offset < high
    }
}

/// What is needed only where data are missing, come twice, or end. It stands apart: a segment in order touches none of it.
#[derive(Clone, Debug)]
struct Reassembly {
    /// Where the peer's FIN stands, once it is known.
    fin: Option<u64>,
    /// A duplicate that the next ACK reports.
    duplicate: Option<(u64, u64)>,
    /// Data above a gap, and how much that is.
    queue: IntervalSet,
    held: u64,
    /// Data so far above RCV.NXT and beyond is forgotten.
    limit: u64,
    /// The recently changed blocks of `queue`, the latest first.
    recent: [Recent; SackBlocks::MAX],
}

#[derive(Clone, Debug)]
#[repr(C)]
pub(crate) struct Receiver {
    /// RCV.NXT.
    pub next: u64,
    /// RCV.NXT as the last ACK reported it.
    pub last_acked: u64,
    /// When the delayed ACK is due.
    pub ack_deadline: Instant,
    /// When reading at a rate will have opened the window enough for a window update.
    pub read_deadline: Instant,
    /// Receive buffer, at most what the window can express; if it is autotuned, as much of it as is offered now.
    largest_window: u64,
    /// What of it is not taken by data above a gap.
    free_window: u64,
    /// The application has read up to here.
    read: u64,
    /// The largest payload seen: the peer's full-sized segment.
    full_size: u64,
    /// An ACK is to be sent now.
    pub ack_now: bool,
    /// Nothing is above a gap, no duplicate is to be reported, and no FIN has come: `parts` need no look.
    regular: bool,
    /// The peer understands SACK blocks.
    pub sack: bool,
    unlimited: bool,
    shift: u8,
    dsack: bool,
    /// ACK congestion control: `ack_every` is the ACK Ratio, and counts segments of any size (RFC 5690 section 4.3).
    by_segments: bool,
    /// Duplicate ACKs sent at once since data above a gap began to arrive.
    early_duplicates: u8,
    ack_every: u32,
    /// Segments with data since the last ACK; counted where `by_segments`.
    unacknowledged: u32,
    /// So many segments more are acknowledged at once.
    quick_acks: u32,
    /// So many are, when data begin to arrive, after a long silence, and after a duplicate.
    most_quick_acks: u32,
    /// A silence is long that exceeds this, the retransmission timeout of this end.
    long_silence: Duration,
    last_data: Instant,
    /// There is something to adapt to what arrives: `right_sizing`, `quick_acks`.
    adapts: bool,
    reading: Reading,
    delayed_ack: Option<Duration>,
    /// The receive buffer grows with what is read.
    right_sizing: Option<Box<RightSizing>>,

    parts: Box<Reassembly>,
    mss: u64,
    /// Right edge promised to the peer (finite buffer only). Never moves back.
    edge: u64,
    /// Until when reading at a rate has been accounted for.
    read_clock: Instant,
}

impl Receiver {
    pub fn new(config: &Config) -> Self {
        Receiver {
            next: 0,
            last_acked: 0,
            ack_now: false,
            ack_deadline: Instant::FAR_FUTURE,
            regular: true,
            parts: Box::new(Reassembly {
                fin: None,
                duplicate: None,
                queue: IntervalSet::default(),
                held: 0,
                limit: config.reassembly_limit.unwrap_or(u64::MAX),
                recent: [Recent::NONE; SackBlocks::MAX],
            }),
            ack_every: config.ack_every.max(1),
            unacknowledged: 0,
            by_segments: false,
            early_duplicates: 0,
            delayed_ack: config.delayed_ack,
            quick_acks: config.quick_acks,
            most_quick_acks: config.quick_acks,
            long_silence: Duration::MAX,
            last_data: Instant::FAR_FUTURE,
            adapts: config.quick_acks > 0 || config.autotuning.is_some(),
            right_sizing: config
                .autotuning
                .map(|sizes| Box::new(RightSizing::new(sizes, u64::from(config.mss.max(1))))),
            full_size: 1,
            sack: false,
            dsack: config.dsack,
            largest_window: config.first_window(),
            free_window: u64::MAX,
            unlimited: config.receive_buffer.is_none() && config.autotuning.is_none(),
            shift: 0,
            mss: u64::from(config.mss.max(1)),
            edge: 0,
            read: 0,
            reading: config.reading,
            read_clock: Instant::ZERO,
            read_deadline: Instant::FAR_FUTURE,
        }
    }

    /// The peer's SYN was accepted: data begins at offset 1. `shift` is our window scale, 0 if not agreed.
    pub fn synchronize(&mut self, shift: u8, sack: bool) {
        self.next = 1;
        self.last_acked = 1;
        self.read = 1;
        self.shift = shift;
        self.sack = sack;
        self.largest_window = self.largest_window.min(u64::from(u16::MAX) << shift);
        self.edge = 1 + self.largest_window.min(u64::from(u16::MAX));
    }
    /// The same without a SYN that offered a window: the whole of it is open from the start.
    pub fn open_window(&mut self) {
        self.edge = 1 + self.largest_window;
    }

    /// ACK congestion control is agreed on: one ACK for so many segments.
    pub fn set_ack_ratio(&mut self, ratio: u32) {
        self.by_segments = true;
        self.ack_every = ratio.max(1);
    }

    /// Right edge of the window: what lies beyond is refused.
    #[inline]
    pub fn right_edge(&self) -> u64 {
        if self.unlimited { self.next + self.largest_window } else { self.edge }
    }
    /// The peer's FIN and all before it have arrived.
    #[inline]
    pub fn finished(&self) -> bool {
        !self.regular && self.parts.fin.is_some_and(|fin| self.next > fin)
    }
    /// The peer's FIN has not come.
    #[inline]
    pub fn is_open(&self) -> bool {
        self.regular || self.parts.fin.is_none()
    }
    /// To be called after each change of `parts`.
    fn note_irregularity(&mut self) {
        let Reassembly { fin, duplicate, queue, .. } = &*self.parts;
        self.regular = queue.is_empty() && duplicate.is_none() && fin.is_none();
    }
    /// Payload bytes received in order.
    pub fn received(&self) -> u64 {
        self.next.saturating_sub(1) - u64::from(self.finished())
    }
    /// Payload bytes above a gap.
    pub fn out_of_order(&self) -> u64 {
        let fin = self.parts.fin.filter(|fin| self.parts.queue.containing(*fin).is_some());
        self.parts.queue.covered(0, u64::MAX) - u64::from(fin.is_some())
    }
    /// The largest payload so far.
    pub fn largest_payload(&self) -> u64 {
        self.full_size
    }
    pub fn readable(&self) -> u64 {
        self.received().saturating_sub(self.read_bytes())
    }
    pub fn read_bytes(&self) -> u64 {
        self.read.saturating_sub(1).min(self.received())
    }

    /// Payload `[start, end)`, perhaps with a FIN after it, arrives; `start` is not beyond the window.
    #[inline]
    pub fn on_data(&mut self, now: Instant, start: u64, end: u64, fin: bool, stats: &mut Stats) {
        if self.adapts {
            self.on_data_to_adapt_to(now, start, end, fin, stats);
        } else {
            self.take_data(now, start, end, fin, stats);
        }
    }

    /// The same where the buffer is autotuned, or ACKs are quick at times (Linux: `tcp_event_data_recv`, `tcp_rcv_space_adjust`).
    #[inline(never)]
    fn on_data_to_adapt_to(&mut self, now: Instant, start: u64, end: u64, fin: bool, stats: &mut Stats) {
        if now.since(self.last_data) > self.long_silence {
            self.acknowledge_quickly();
        }
        self.last_data = now;
        self.open_window_for(start, end);
        let before = self.next;
        self.take_data(now, start, end, fin, stats);
        let edge = self.right_edge();
        let filled = if self.next > before { self.next.saturating_sub(end.max(before)) } else { 0 };
        let above = if self.regular { None } else { self.parts.queue.descending().next() };
        if let Some(sizing) = &mut self.right_sizing {
            let above = above.map_or(0, |(_, end)| end - self.next);
            sizing.on_data(now, self.next, edge, self.read, filled, above);
            self.free_window = sizing.room_beside(self.parts.held);
        }
    }
    fn acknowledge_quickly(&mut self) {
        self.quick_acks = self.quick_acks.max(self.most_quick_acks);
    }
    /// The autotuned window opens by what its buffer has room for, and the sender gets to know at once (`tcp_grow_window`).
    fn open_window_for(&mut self, start: u64, end: u64) {
        let len = end - start;
        let Some(sizing) = self.right_sizing.as_mut().filter(|_| len >= LEAST_TO_GROW) else { return };
        // What is in order waits to be read while the window is set; what is above a gap is not taken in yet.
        let held = self.parts.held + if start <= self.next { len } else { 0 };
        if sizing.open(len, held) {
            let representable = u64::from(u16::MAX) << self.shift;
            self.largest_window = self.largest_window.max(sizing.offered.min(representable));
            self.quick_acks |= u32::from(self.most_quick_acks > 0);
        }
    }

    #[inline(always)]
    fn take_data(&mut self, now: Instant, start: u64, end: u64, fin: bool, stats: &mut Stats) {
        let len = end - start;
        stats.data_segments_received += u64::from(len > 0);
        self.full_size = self.full_size.max(len);
        self.unacknowledged += u32::from(len > 0);
        if start == self.next
            && (self.regular || self.parts.queue.is_empty())
            && !fin
            && end <= self.right_edge()
        {
            self.next = end;
            self.schedule_ack(now);
        } else {
            self.on_irregular_data(now, start, end, fin, stats);
        }
        match self.reading {
            Reading::Immediate => self.read = self.next,
            Reading::Rate(rate) => self.read_at_rate(now, rate),
            Reading::Manual => {}
        }
    }

    /// True if something adapts to what arrives, which needs what the connection knows of time.
    #[inline]
    pub fn adapts(&self) -> bool {
        self.adapts
    }
    /// The retransmission timeout of this end, and the timestamp of ours that the peer echoes with its age.
    pub fn note_times(&mut self, rto: Duration, echo: Option<(u32, Duration)>) {
        self.long_silence = rto;
        if let (Some(sizing), Some((echo, age))) = (&mut self.right_sizing, echo) {
            sizing.hear_echo(echo, age);
        }
    }

    /// RFC 5681 section 4.2: for every second full-sized segment, and within the delay.
    #[inline]
    fn schedule_ack(&mut self, now: Instant) {
        match self.delayed_ack {
            Some(delay) if self.quick_acks == 0 && self.may_wait() => {
                if self.ack_deadline == Instant::FAR_FUTURE {
                    self.ack_deadline = now + delay;
                }
            }
            _ => {
                self.ack_now = true;
                self.quick_acks = self.quick_acks.saturating_sub(1);
            }
        }
    }

    #[inline]
    fn may_wait(&self) -> bool {
        if self.by_segments {
            self.unacknowledged < self.ack_every
        } else {
            self.next - self.last_acked < u64::from(self.ack_every) * self.full_size
        }
    }

    /// Anything but the next data in order is acknowledged at once (RFC 5681 section 4.2), except what RFC 5690 section 4.6 holds
    /// back: with an ACK Ratio above two, the fourth segment above a gap and those after it.
    #[inline(never)]
    fn on_irregular_data(&mut self, now: Instant, start: u64, end: u64, fin: bool, stats: &mut Stats) {
        let above_a_gap = start > self.next && !fin;
        self.take_irregular_data(start, end, fin, stats);
        self.note_irregularity();
        if self.parts.queue.is_empty() {
            self.early_duplicates = 0;
        }
        if self.by_segments && self.ack_every > 2 && above_a_gap {
            if self.early_duplicates >= EARLY_DUPLICATES {
                return self.schedule_ack(now);
            }
            self.early_duplicates += 1;
        }
        self.ack_now = true;
        self.quick_acks = self.quick_acks.saturating_sub(1);
    }

    fn take_irregular_data(&mut self, start: u64, end: u64, fin: bool, stats: &mut Stats) {
        let edge = self.right_edge();
        let mut end = end;
        if end > edge {
            stats.beyond_window_bytes += end - edge.max(start);
            end = edge.max(start);
        } else if fin && self.parts.fin.is_none() {
            self.parts.fin = Some(end);
        }
        // The FIN takes one offset, so that it is reassembled like data.
        let taken = match self.parts.fin {
            Some(position) if end >= position => position + u64::from(fin),
            _ => end,
        };
        let payload_end = end.min(taken);
        if taken <= self.next {
            // The sender has lost an ACK, or its patience (Linux: `tcp_data_queue`).
            self.acknowledge_quickly();
            if start < payload_end {
                self.on_duplicate(start, payload_end, stats);
            }
        } else if start <= self.next {
            if start < self.next {
                self.on_duplicate(start, self.next.min(payload_end), stats);
            }
            self.fill_gap(taken, payload_end, stats);
            if self.parts.fin.is_some_and(|fin| self.next > fin) {
                // The stream is complete, and so is the report (Linux: tcp_fin).
                self.parts.duplicate = None;
            }
        } else if start < taken {
            if start - self.next >= self.parts.limit {
                stats.not_reassembled_bytes += payload_end.saturating_sub(start);
            } else {
                self.store(start, taken, payload_end, stats);
            }
        }
    }

    fn on_duplicate(&mut self, start: u64, end: u64, stats: &mut Stats) {
        stats.duplicate_bytes_received += end - start;
        if self.dsack && self.parts.duplicate.is_none() {
            self.parts.duplicate = Some((start, end));
        }
    }

    /// Data at RCV.NXT: it may join what was stored.
    fn fill_gap(&mut self, end: u64, payload_end: u64, stats: &mut Stats) {
        let before = self.next;
        let mut stored = 0;
        let mut taken_up = 0;
        let mut next = end;
        let joins = self.parts.queue.containing(end);
        if let Some((_, block_end)) = joins {
            next = block_end;
        }
        let mut first_overlap = None;
        self.parts.queue.remove_below(next.max(end), |a, b| {
            taken_up += b - a;
            let overlap = b.min(payload_end).saturating_sub(a);
            if overlap > 0 && first_overlap.is_none() {
                first_overlap = Some((a, a + overlap));
            }
            stored += overlap;
        });
        self.parts.held -= taken_up;
        self.next = next.max(end);
        debug_assert!(self.next > before);
        if let Some((a, b)) = first_overlap {
            self.on_duplicate(a, b, stats);
            stats.duplicate_bytes_received += stored - (b - a);
        }
    }

    /// Data above a gap.
    fn store(&mut self, start: u64, end: u64, payload_end: u64, stats: &mut Stats) {
        stats.out_of_order_received += 1;
        // What lies between the parts that are new has been received before. RFC 2883 section 4.2.3: of several such parts the
        // first is reported.
        let mut known_from = start;
        let mut known = 0;
        let mut first_known = None;
        let mut take = |from: u64, to: u64| {
            if from < to {
                known += to - from;
                first_known.get_or_insert((from, to));
            }
        };
        let mut news = 0;
        let block = self.parts.queue.insert(start, end, |a, b| {
            take(known_from, a.min(payload_end));
            known_from = b;
            news += b - a;
        });
        self.parts.held += news;
        take(known_from, payload_end);
        if let Some((from, to)) = first_known {
            self.on_duplicate(from, to, stats);
            stats.duplicate_bytes_received += known - (to - from);
        }
        self.note_recent(start, block);
    }

    /// RFC 2018 section 4: "the first SACK block MUST specify the contiguous block of data containing the segment
    /// which triggered this ACK", the others repeat the most recently reported.
    fn note_recent(&mut self, start: u64, block: (u64, u64)) {
        let mut carried = Recent { offset: start, block };
        for slot in &mut self.parts.recent {
            std::mem::swap(slot, &mut carried);
            // What it takes the place of is in the same block, or the list has ended.
            if carried.is_within(block) || carried.offset == u64::MAX {
                break;
            }
        }
        // It may have joined others.
        self.parts
            .recent
            .iter_mut()
            .filter(|recent| recent.is_within(block))
            .for_each(|recent| recent.block = block);
    }

    /// True if the next ACK carries SACK blocks.
    #[inline]
    pub fn has_sack_blocks(&self) -> bool {
        !self.regular && self.sack && (!self.parts.queue.is_empty() || self.parts.duplicate.is_some())
    }
    /// How many blocks the next ACK would carry if there was room for all.
    pub fn sack_block_count(&self) -> usize {
        self.parts.queue.len() + usize::from(self.parts.duplicate.is_some())
    }
    /// The blocks for the next ACK, at most `room`; the D-SACK block comes first and is reported once (RFC 2883
    /// section 4).
    pub fn sack_blocks(&mut self, room: usize, isn: SeqNumber) -> SackBlocks {
        let mut blocks = SackBlocks::default();
        if !self.sack {
            return blocks;
        }
        let push = |blocks: &mut SackBlocks, (start, end): (u64, u64)| {
            if blocks.len() < room {
                blocks.push(SeqNumber::wrap(isn, start), SeqNumber::wrap(isn, end));
            }
        };
        if let (1, None, Some(only)) =
            (self.parts.queue.len(), self.parts.duplicate, self.parts.queue.first())
        {
            push(&mut blocks, only);
            return blocks;
        }
        let mut enclosing = None;
        if let Some(duplicate) = self.parts.duplicate.take() {
            self.note_irregularity();
            push(&mut blocks, duplicate);
            // RFC 2883 section 4, rule 4: the block that holds the duplicate follows.
            enclosing = self.parts.queue.containing(duplicate.0);
        }
        let mut reported = [u64::MAX; SackBlocks::MAX];
        let mut count = 0;
        let in_order = self.next;
        let present = |recent: &&Recent| (in_order..u64::MAX).contains(&recent.offset);
        let recent = self.parts.recent.iter().filter(present).map(|recent| recent.block);
        // Where few are remembered, the highest blocks fill the room.
        let others = self.parts.queue.descending().take(SackBlocks::MAX);
        for block in enclosing.into_iter().chain(recent).chain(others) {
            if count == SackBlocks::MAX || blocks.len() >= room {
                break;
            }
            if !reported[..count].contains(&block.0) {
                reported[count] = block.0;
                count += 1;
                push(&mut blocks, block);
            }
        }
        blocks
    }

    /// An ACK leaves; with it the window.
    #[inline]
    pub fn ack_sent(&mut self) {
        self.ack_now = false;
        self.ack_deadline = Instant::FAR_FUTURE;
        self.last_acked = self.next;
        self.unacknowledged = 0;
        if let Reading::Rate(rate) = self.reading {
            self.plan_window_update(rate);
        }
    }

    /// The window field of a segment without SYN.
    #[inline]
    pub fn window_field(&mut self, now: Instant) -> u16 {
        if self.unlimited {
            return (self.largest_window >> self.shift) as u16;
        }
        if let Reading::Rate(rate) = self.reading {
            self.read_at_rate(now, rate);
        }
        self.advance_edge();
        (self.edge.saturating_sub(self.next) >> self.shift).min(u64::from(u16::MAX)) as u16
    }
    /// The window field of a SYN, which is never scaled (RFC 7323 section 2.2).
    pub fn syn_window_field(&self) -> u16 {
        self.largest_window.min(u64::from(u16::MAX)) as u16
    }
    /// Where the window could end: data above a gap take room in a buffer that grows (Linux: `tcp_space`).
    #[inline]
    fn open_edge(&self) -> u64 {
        self.read + self.largest_window.min(self.free_window)
    }
    /// Receiver's silly window avoidance: the edge moves by a segment or half the buffer (RFC 9293 section
    /// 3.8.6.2.2).
    fn advance_edge(&mut self) {
        let open_edge = self.open_edge();
        if open_edge >= self.edge + self.mss.min(self.largest_window / 2) {
            self.edge = open_edge;
        }
    }

    /// The application reads.
    pub fn read(&mut self, now: Instant, max: u64) -> u64 {
        if let Reading::Rate(rate) = self.reading {
            self.read_at_rate(now, rate);
        }
        let taken = max.min(self.readable());
        self.read += taken;
        if taken > 0 {
            self.update_window_if_due();
        }
        taken
    }
    /// Reading at a rate may have opened the window.
    pub fn on_timeout(&mut self, now: Instant) {
        if self.ack_deadline <= now {
            self.ack_deadline = Instant::FAR_FUTURE;
            self.ack_now = true;
        }
        if self.read_deadline <= now {
            self.read_deadline = Instant::FAR_FUTURE;
            if let Reading::Rate(rate) = self.reading {
                self.read_at_rate(now, rate);
            }
            self.update_window_if_due();
        }
    }
    /// Where the open edge has to be for a window update: two segments or half the buffer further, and at least
    /// twice the window that the peer has left.
    fn update_edge(&self) -> u64 {
        let left = self.edge.saturating_sub(self.next);
        self.edge + (2 * self.mss).min(self.largest_window / 2).max(left)
    }
    fn update_window_if_due(&mut self) {
        if !self.unlimited && !self.finished() && self.open_edge() >= self.update_edge() {
            self.ack_now = true;
        }
    }
    fn read_at_rate(&mut self, now: Instant, rate: Rate) {
        let due = rate.bytes_in(now.since(self.read_clock)).as_bytes();
        if due >= self.readable() {
            self.read += self.readable();
            self.read_clock = self.read_clock.max(now);
        } else if due > 0 {
            self.read += due;
            self.read_clock += rate.transmission_time(Size::from_bytes(due));
        }
        self.plan_window_update(rate);
    }
    fn plan_window_update(&mut self, rate: Rate) {
        self.read_deadline = Instant::FAR_FUTURE;
        if self.unlimited || self.finished() {
            return;
        }
        let needed = self.update_edge().saturating_sub(self.open_edge());
        if needed > 0 && needed <= self.readable() {
            self.read_deadline = self.read_clock + rate.transmission_time(Size::from_bytes(needed));
        } else if needed == 0 {
            self.ack_now = true;
        }
    }
}
