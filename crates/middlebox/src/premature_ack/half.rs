//! One direction of a connection through a premature-ACK PEP: steps and B-1 to B-5 of the paper, named in the
//! code. Positions in the buffer are counted from the oldest copy, which is number 0 here (the paper's right end).

use super::watermark::WatermarkControl;
use super::{Counts, Guard, Settings};
use crate::cache::{Cache, Copy, later, number, position};
use crate::{Body, Direction, Verdict};
use longhaul_segment::{Ecn, Flags, Options, Segment, Timestamps};
use longhaul_units::Instant;
use std::collections::VecDeque;

/// An ACK that is to be sent to the source, or a copy to the destination.
pub(super) type Send<'a, B> = &'a mut dyn FnMut(Direction, Segment, Ecn, B);

/// Data for a host that was promised all below `promised` of its own data keeps that promise in its ACK number. Hosts discard
/// segments, data included, whose ACK number is older by more than a window (RFC 5961 section 5.2): with data both ways, each
/// direction would then wait for the other's for ever.
pub(super) fn keep_promise(segment: &mut Segment, promised: u64) {
    if promised > 0 && segment.seq_len() > 0 && position(segment.ack, Some(promised)) < promised {
        segment.ack = number(promised);
        segment.options.sack = Default::default();
    }
}

/// What is known of the destination's end, for ACKs in its name.
#[derive(Clone, Copy, Debug, Default)]
struct Destination {
    /// Its window field as last seen.
    window: Option<u16>,
    /// The scale of its windows.
    shift: u8,
    /// Its next sequence number.
    next: Option<u64>,
    /// Its latest timestamp.
    timestamp: Option<u32>,
    /// Flags by which its last segment reports marks (RFC 3168, RFC 9768).
    echo: Flags,
    /// It has sent AE outside a SYN, which only accurate feedback (RFC 9768) does; its first count sets it.
    accurate: bool,
    /// Last window field sent to the source.
    offered: u16,
    /// End of what the source may send.
    edge: u64,
}

impl Destination {
    /// Its window in bytes, if it is known.
    fn window_bytes(&self) -> Option<u64> {
        self.window.map(|field| u64::from(field) << self.shift)
    }
}

/// Data in one direction: from the source over S-Net to here and over D-Net to the destination.
pub(super) struct Half<B> {
    /// Where the data goes.
    direction: Direction,
    pub cache: Cache<B>,
    /// Packets that were forwarded without a copy, and are not acknowledged.
    through: VecDeque<(u64, u64)>,
    /// All below was acknowledged to the source.
    promised: u64,
    /// Copies at the beginning of the buffer for which an ACK was sent from here.
    acknowledged: usize,
    /// The watermark in force, w.
    w: usize,
    control: WatermarkControl,
    destination: Destination,
    timeouts_in_a_row: u32,
}

impl<B: Body> Half<B> {
    pub fn new(direction: Direction, settings: &Settings) -> Self {
        let control = WatermarkControl::new(settings);
        Half {
            direction,
            cache: Cache::new(settings.recovery),
            through: VecDeque::new(),
            promised: 0,
            acknowledged: 0,
            w: control.watermark(),
            control,
            destination: Destination::default(),
            timeouts_in_a_row: 0,
        }
    }
    /// The source's first byte stands at `start`.
    pub fn begin(&mut self, start: u64) {
        self.cache.begin(start);
        self.promised = start;
    }
    /// What the handshake set for the destination: its window field and the scale of its later windows.
    pub fn set_window(&mut self, field: u16, shift: u8) {
        self.destination.shift = shift;
        self.destination.window = Some(field);
        self.destination.offered = field;
    }
    /// All below was acknowledged to the source, by whomever.
    pub fn promised(&self) -> u64 {
        self.promised
    }
    /// Payload that was acknowledged from here and not by the destination.
    pub fn undelivered(&self) -> u64 {
        self.cache.acked.map_or(0, |acked| self.promised.saturating_sub(acked))
    }
    #[cfg(test)]
    pub fn w(&self) -> usize {
        self.w
    }

    /// A data packet, or a FIN, from the source.
    pub fn on_data(
        &mut self,
        now: Instant,
        packet: (&Segment, Ecn, &B),
        settings: &Settings,
        counts: &mut Counts,
        send: Send<'_, B>,
    ) -> Verdict {
        let (segment, ecn, body) = packet;
        let near = if self.cache.highest > 0 { Some(self.cache.highest) } else { None };
        let start = position(segment.seq, near);
        let end = start + u64::from(segment.seq_len());
        let next = position(segment.ack, self.destination.next);
        self.destination.next = self.destination.next.max(Some(next));
        if self.cache.acked.is_some() && end <= self.promised {
            // The ACK has not reached the source.
            if let Some(ack) = self.ack_for(segment, settings) {
                send(self.direction.opposite(), ack, Ecn::NotEct, B::default());
            }
            return Verdict::Taken;
        }
        let again = start < self.cache.highest;
        if let Some(copy) = self.cache.find(start, end) {
            Cache::note_resent(now, copy, segment);
            return Verdict::Forward;
        }
        self.cache.highest = self.cache.highest.max(end);
        self.control.on_data(now, end);
        if let Some(window) = self.destination.window_bytes() {
            if self.control.begin(window, segment.payload_len) {
                self.w = self.control.watermark();
            }
        }
        let n = self.cache.len();
        if n >= settings.buffer || self.cache.overlaps(start, end) {
            // n = N. (A packet that is cut otherwise than the copies is not kept either.)
            counts.through_packets += 1;
            self.control.on_overflow();
            self.note_through(start, end);
            return Verdict::Forward;
        }
        // a copy.
        self.through.retain(|other| *other != (start, end));
        self.cache.insert(now, Copy::new(now, start..end, segment, ecn, body.clone(), again));
        // n < w. (The paper prints w < n, against its step A-2 and its text.) In order, there is then one copy below w
        // that has had no ACK; after a gap was filled there may be more, whatever n is.
        self.acknowledge(now, settings, counts, send);
        self.control.observe(self.cache.len(), self.acknowledged);
        Verdict::Forward
    }

    fn note_through(&mut self, start: u64, end: u64) {
        if self.through.contains(&(start, end)) {
            return;
        }
        let index = self.through.partition_point(|other| other.0 < start);
        self.through.insert(index, (start, end));
    }

    /// Premature ACKs for the copies below w that have had none.
    fn acknowledge(&mut self, now: Instant, settings: &Settings, counts: &mut Counts, send: Send<'_, B>) {
        while self.acknowledged < self.w {
            let Some(copy) = self.cache.get(self.acknowledged) else { return };
            if self.cache.acked.is_none()
                || self.destination.window.is_none()
                || !self.may_acknowledge(copy, settings)
            {
                return;
            }
            let (segment, end) = (copy.segment, copy.end);
            self.promised = self.promised.max(end);
            let Some(ack) = self.ack_for(&segment, settings) else { return };
            if let Some(copy) = self.cache.get_mut(self.acknowledged) {
                copy.acknowledged = true;
            }
            self.acknowledged += 1;
            counts.premature_acks += 1;
            self.permit(now, self.promised);
            send(self.direction.opposite(), ack, Ecn::NotEct, B::default());
        }
    }

    /// The source may send a window beyond `ack`.
    fn permit(&mut self, now: Instant, ack: u64) {
        let edge = ack + (u64::from(self.destination.offered) << self.destination.shift);
        if self.destination.edge > 0 {
            self.control.on_permission(now, self.destination.edge);
        }
        self.destination.edge = self.destination.edge.max(edge);
    }

    /// An ACK is cumulative: it must not cover what is neither here nor acknowledged by the destination. A FIN is the
    /// destination's to acknowledge.
    fn may_acknowledge(&self, copy: &Copy<B>, settings: &Settings) -> bool {
        if copy.segment.flags.contains(Flags::FIN) {
            return false;
        }
        let covered = match settings.guard {
            Guard::Strict => self.promised,
            Guard::AsPrinted => {
                let promised = self.promised;
                let through = self.through.iter().filter(|packet| packet.0 >= promised);
                through.fold(promised, |end, packet| if packet.0 <= end { end.max(packet.1) } else { end })
            }
        };
        copy.start <= covered
    }

    /// The ACK that the destination would send if all below `promised` had arrived, in answer to `data`.
    fn ack_for(&mut self, data: &Segment, settings: &Settings) -> Option<Segment> {
        let destination = &mut self.destination;
        let window = settings.window_field(destination.window?, destination.shift);
        destination.offered = window;
        let timestamps = data
            .options
            .timestamps
            .map(|sent| Timestamps { value: destination.timestamp.unwrap_or(sent.echo), echo: sent.value });
        Some(Segment {
            src_port: data.dst_port,
            dst_port: data.src_port,
            seq: number(destination.next?),
            ack: number(self.promised),
            window,
            flags: Flags::ACK | destination.echo,
            payload_len: 0,
            options: Options { timestamps, ..Options::NONE },
        })
    }

    /// A segment of the destination's with an ACK. `Taken` is meant for pure ACKs.
    pub fn on_ack(
        &mut self,
        now: Instant,
        segment: &mut Segment,
        settings: &Settings,
        counts: &mut Counts,
        send: Send<'_, B>,
    ) -> Verdict {
        let pure = segment.seq_len() == 0;
        let window_before = self.note_destination(segment);
        let near = self.cache.acked.or((self.cache.highest > 0).then_some(self.cache.highest));
        let ack = position(segment.ack, near);
        let known = self.cache.acked;
        if known.is_some_and(|acked| ack < acked) {
            return Verdict::Forward;
        }
        self.cache.window = window_before.map(|field| u64::from(field) << self.destination.shift);
        let news = if known == Some(ack) {
            self.on_same_ack(now, segment, pure, window_before)
        } else {
            self.on_new_ack(now, ack, segment.options.timestamps.map(|sent| sent.echo), settings)
        };
        if !segment.options.sack.is_empty() {
            self.cache.on_sack(now, &segment.options.sack);
        }
        self.resend(now, counts, send);
        if pure && self.cache.holds_missing() && settings.recovery.enabled {
            // The hole is being filled from here: the source need not receive the ACK.
            segment.options.sack = Default::default();
        }
        let reopened = segment.window > self.destination.offered && self.promised > ack && pure;
        let verdict = if news || !pure {
            Verdict::Forward
        } else if reopened {
            segment.ack = number(self.promised);
            segment.options.sack = Default::default();
            Verdict::Forward
        } else {
            counts.suppressed_acks += 1;
            Verdict::Taken
        };
        if verdict == Verdict::Forward {
            segment.window = settings.window_field(segment.window, self.destination.shift);
            self.destination.offered = segment.window;
            self.permit(now, ack.max(self.promised));
        }
        // B-5: premature ACKs for the packets that have come below w.
        self.acknowledge(now, settings, counts, send);
        self.control.observe(self.cache.len(), self.acknowledged);
        verdict
    }

    /// Returns the window field seen before.
    fn note_destination(&mut self, segment: &Segment) -> Option<u16> {
        let destination = &mut self.destination;
        let next = position(segment.seq, destination.next) + u64::from(segment.seq_len());
        destination.next = destination.next.max(Some(next));
        destination.accurate |= segment.flags.contains(Flags::AE) && !segment.flags.contains(Flags::SYN);
        let reports = if destination.accurate { Flags::AE | Flags::CWR | Flags::ECE } else { Flags::ECE };
        destination.echo = Flags(segment.flags.0 & reports.0);
        if let Some(timestamps) = segment.options.timestamps {
            destination.timestamp = Some(later(destination.timestamp, timestamps.value));
        }
        destination.window.replace(segment.window)
    }

    /// The destination acknowledges more than before. True if the ACK must reach the source.
    fn on_new_ack(&mut self, now: Instant, ack: u64, echo: Option<u32>, settings: &Settings) -> bool {
        let first = self.cache.acked.is_none();
        let mut news = ack > self.promised;
        let mut acknowledged = self.acknowledged;
        // B-1 and B-2: the copies that it acknowledges go, the others move up.
        let sample = self.cache.acknowledge(now, ack, echo, |copy| {
            // B-4: it acknowledges a stored packet.
            news |= !copy.acknowledged;
            acknowledged -= usize::from(copy.acknowledged);
        });
        self.acknowledged = acknowledged;
        while self.through.front().is_some_and(|packet| packet.1 <= ack) {
            // B-4: it acknowledges a through packet.
            self.through.pop_front();
            news = true;
        }
        self.promised = self.promised.max(ack);
        self.timeouts_in_a_row = 0;
        self.control.on_ack(now, sample, self.cache.min_rtt());
        self.set_w(settings);
        news || first
    }

    /// B-3: while through packets are not acknowledged, no premature ACK may cover them.
    fn set_w(&mut self, settings: &Settings) {
        let watermark = self.control.watermark();
        self.w = watermark;
        let Some(&(n_min, _)) = self.through.front() else { return };
        let below = self.cache.count_below(n_min);
        let above_in_first = below < watermark && self.cache.len() > below;
        if above_in_first || settings.guard == Guard::Strict {
            self.w = watermark.min(below);
        }
    }

    /// An ACK that acknowledges nothing new. True if it must reach the source.
    fn on_same_ack(
        &mut self,
        now: Instant,
        segment: &Segment,
        pure: bool,
        window_before: Option<u16>,
    ) -> bool {
        let in_flight = self.cache.highest > self.cache.acked.unwrap_or(u64::MAX);
        let is_duplicate = pure && in_flight && window_before == Some(segment.window);
        if is_duplicate {
            return !self.cache.on_duplicate_ack(now);
        }
        self.promised <= self.cache.acked.unwrap_or(0)
    }

    /// Sends again what is lost on D-Net.
    pub fn resend(&mut self, now: Instant, counts: &mut Counts, send: Send<'_, B>) {
        while let Some(copy) = self.cache.poll_resend(now) {
            counts.local_retransmissions += 1;
            send(self.direction, copy.segment, copy.ecn, copy.body.clone());
        }
    }

    /// The timer of the copies has expired. False: the destination is given up.
    pub fn on_timeout(&mut self, now: Instant, counts: &mut Counts, send: Send<'_, B>) -> bool {
        if self.cache.on_timeout(now) {
            self.timeouts_in_a_row += 1;
            if self.timeouts_in_a_row > super::MAX_TIMEOUTS {
                return false;
            }
            counts.local_timeouts += 1;
        }
        self.resend(now, counts, send);
        true
    }
}
