//! Segments that leave: data with the ACK on it, pure ACKs, probes, SYN and RST.

use super::Connection;
use crate::accurate_ecn;
use crate::handshake::{Offer, TIMESTAMPS_LEN};
use crate::sender::Chunk;
use crate::{Departure, Event, Limit, State, Transmit};
use longhaul_segment::{
    Ecn, EcnCounters, Flags, IPV4_HEADER, Options, SackBlocks, Segment, SeqNumber, TCP_HEADER, Timestamps,
    wire,
};
use longhaul_units::Instant;
use std::num::NonZeroU8;

/// So many SYNs ask for accurate ECN; those that the timer sends after them have no ECN at all, in case that the path drops the
/// others (RFC 9768 section 3.1.4.1).
const ACCURATE_SYNS: u32 = 2;

impl Connection {
    /// The next segment to send, if any.
    pub fn poll_transmit(&mut self, now: Instant) -> Option<Transmit> {
        let mut segment = Segment::default();
        let Departure { ecn, retransmission, .. } = self.transmit_into(now, &mut segment)?;
        Some(Transmit { segment, ecn, retransmission })
    }

    /// The same for owners who keep segments in a place of their own: writes the next segment there, if there is one.
    pub fn transmit_into(&mut self, now: Instant, segment: &mut Segment) -> Option<Departure> {
        if !self.state.is_synchronized() || self.reply.is_some() {
            let transmit = self.poll_unsynchronized(now)?;
            *segment = transmit.segment;
            return Some(Departure {
                ecn: transmit.ecn,
                retransmission: transmit.retransmission,
                wire_len: transmit.segment.ipv4_len(),
                last: false,
            });
        }
        let mut option_bytes = self.sender.ack_ratio_len();
        if let Some(report) = self.accurate.as_ref().filter(|_| self.receiver.ack_now) {
            if report.awaits_bare_ack() {
                self.stats.pure_acks_sent += 1;
                return Some(self.bare_ack(now, self.sender.max, segment));
            }
        }
        if self.receiver.has_sack_blocks() || self.accurate.is_some() {
            let (blocks, counters) = self.shared_options(option_bytes > 0);
            let counters = counters.map_or(0, |counters| EcnCounters::wire_len_of(counters.len()));
            option_bytes += u64::from(SackBlocks::wire_len_of(blocks) + counters);
        }
        match self.sender.next_segment(now, option_bytes, &mut self.stats) {
            Ok(chunk) => {
                let departure = self.data_segment(now, chunk, segment);
                return Some(Departure { last: option_bytes == 0 && self.nothing_follows(now), ..departure });
            }
            Err(limit) => self.limits.set(now, limit),
        }
        if self.receiver.ack_now {
            self.stats.pure_acks_sent += 1;
            let last = self.sender.is_idle() && !self.sender.probe_is_due() && !self.keepalive_due;
            return Some(Departure { last, ..self.bare_ack(now, self.sender.max, segment) });
        }
        if self.sender.probe_is_due() || self.keepalive_due {
            return self.probe(now, segment);
        }
        None
    }

    /// True if it is plain that nothing follows data which have left without options: most often, cwnd is full again.
    #[inline]
    fn nothing_follows(&mut self, now: Instant) -> bool {
        let others = self.receiver.ack_now || self.sender.probe_is_due() || self.keepalive_due;
        if others || self.sender.ack_ratio_len() > 0 {
            return false;
        }
        let limit = self.sender.blocked_by_cwnd();
        limit.into_iter().for_each(|limit| self.limits.set(now, limit));
        limit.is_some()
    }
    #[inline]
    fn data_segment(&mut self, now: Instant, chunk: Chunk, segment: &mut Segment) -> Departure {
        let mut flags = Flags::ACK;
        if chunk.push {
            flags |= Flags::PSH;
        }
        if chunk.fin {
            flags |= Flags::FIN;
            self.on_fin_sent();
        }
        let mut ecn = self.control_ecn;
        // RFC 3168 sections 6.1.2 and 6.1.5: new data only.
        if self.ecn && !chunk.retransmission && chunk.payload > 0 {
            ecn = Ecn::Ect0;
            if self.sender.take_cwr(chunk.start + chunk.payload) {
                flags |= Flags::CWR;
            }
        }
        let ack_ratio = self.sender.take_ack_ratio(&chunk);
        let wire_len = self.write_segment(now, chunk.start, chunk.payload as u32, flags, ack_ratio, segment);
        Departure { ecn, retransmission: chunk.retransmission, wire_len, last: false }
    }
    #[inline]
    pub(super) fn bare_ack(&mut self, now: Instant, seq: u64, segment: &mut Segment) -> Departure {
        let wire_len = self.write_segment(now, seq, 0, Flags::ACK, None, segment);
        // RFC 3168 section 6.1.4 forbids it only as long as nobody controls the congestion of ACKs (RFC 5690 section 4.1).
        let capable = self.ecn && self.agreed.ack_congestion_control;
        let ecn = if capable { Ecn::Ect0 } else { self.control_ecn };
        Departure { ecn, retransmission: false, wire_len, last: false }
    }
    /// A segment of the synchronized states; it acknowledges what has arrived. Returns the length of its packet.
    #[inline]
    fn write_segment(
        &mut self,
        now: Instant,
        seq: u64,
        payload_len: u32,
        flags: Flags,
        ack_ratio: Option<NonZeroU8>,
        segment: &mut Segment,
    ) -> u32 {
        self.write_plain_segment(now, seq, payload_len, flags, segment);
        let mut wire_len = IPV4_HEADER + TCP_HEADER + payload_len;
        if !self.agreed.plain || self.receiver.has_sack_blocks() || ack_ratio.is_some() {
            segment.options = self.options(now, ack_ratio);
            wire_len = segment.ipv4_len();
            if let Some(report) = &mut self.accurate {
                report.sent(segment);
            }
        }
        self.receiver.ack_sent();
        wire_len
    }
    /// The same without options; the ACK that it carries is not noted yet.
    #[inline(always)]
    pub(super) fn write_plain_segment(
        &mut self,
        now: Instant,
        seq: u64,
        payload_len: u32,
        flags: Flags,
        segment: &mut Segment,
    ) {
        segment.src_port = self.ports.local;
        segment.dst_port = self.ports.remote;
        segment.seq = SeqNumber::wrap(self.isn, seq);
        segment.ack = SeqNumber::wrap(self.peer_isn, self.receiver.next);
        segment.window = self.receiver.window_field(now);
        segment.flags = flags | self.echo;
        segment.payload_len = payload_len;
        segment.options.clear();
    }
    #[inline(never)]
    pub(super) fn options(&mut self, now: Instant, ack_ratio: Option<NonZeroU8>) -> Options {
        let mut options = Options { ack_ratio, ..Options::default() };
        if self.agreed.timestamps {
            options.timestamps = Some(Timestamps { value: self.timestamp(now), echo: self.recent_timestamp });
        }
        let blocks;
        (blocks, options.ecn_counters) = self.shared_options(ack_ratio.is_some());
        if self.receiver.has_sack_blocks() {
            options.sack = self.receiver.sack_blocks(blocks, self.peer_isn);
        }
        options
    }
    /// How many SACK blocks and which counters share the bytes of options that are left.
    fn shared_options(&self, beside_ack_ratio: bool) -> (usize, Option<EcnCounters>) {
        let blocks = if self.receiver.has_sack_blocks() { self.receiver.sack_block_count() } else { 0 };
        let blocks = blocks.min(self.sack_room(beside_ack_ratio));
        let Some(report) = &self.accurate else { return (blocks, None) };
        let timestamps = if self.agreed.timestamps { TIMESTAMPS_LEN } else { 0 };
        let ack_ratio = if beside_ack_ratio { Options::ACK_RATIO_LEN } else { 0 };
        let room = wire::MAX_OPTIONS - timestamps - ack_ratio;
        report.share(room, blocks)
    }
    /// SACK blocks that fit into 40 bytes of options.
    pub(super) fn sack_room(&self, beside_ack_ratio: bool) -> usize {
        SackBlocks::MAX - usize::from(self.agreed.timestamps) - usize::from(beside_ack_ratio)
    }

    #[cold]
    pub(super) fn on_fin_sent(&mut self) {
        match self.state {
            State::Established => self.state = State::FinWait1,
            State::CloseWait => self.state = State::LastAck,
            _ => {}
        }
    }

    /// Zero-window probe: one byte of new data, or none. Keepalive, and a probe without payload: a number just below the window.
    #[cold]
    fn probe(&mut self, now: Instant, segment: &mut Segment) -> Option<Departure> {
        let (seq, payload_len) = if let Some(probe) = self.sender.take_probe() {
            probe
        } else if std::mem::take(&mut self.keepalive_due) {
            (self.sender.una - 1, 0)
        } else {
            return None;
        };
        self.stats.probes_sent += 1;
        let wire_len = self.write_segment(now, seq, payload_len, Flags::ACK, None, segment);
        Some(Departure { ecn: self.control_ecn, retransmission: false, wire_len, last: false })
    }

    #[cold]
    pub(super) fn poll_unsynchronized(&mut self, now: Instant) -> Option<Transmit> {
        if let Some(mut segment) = self.reply.take() {
            let clock = self.timestamp(now);
            if let Some(timestamps) = &mut segment.options.timestamps {
                timestamps.value = clock;
            }
            return Some(Transmit { segment: *segment, ecn: Ecn::NotEct, retransmission: false });
        }
        self.limits.set(now, if self.state == State::Closed { Limit::Closed } else { Limit::Handshake });
        if std::mem::take(&mut self.syn_due) {
            return Some(self.syn_segment(now));
        }
        if matches!(self.state, State::Closed | State::SynReceived) && self.receiver.ack_now {
            // The last ACK of a connection that ended with it, or the answer to what is not acceptable during the handshake.
            self.stats.pure_acks_sent += 1;
            let mut segment = Segment::default();
            let Departure { ecn, retransmission, .. } = self.bare_ack(now, self.sender.max, &mut segment);
            return Some(Transmit { segment, ecn, retransmission });
        }
        None
    }

    pub(super) fn syn_segment(&mut self, now: Instant) -> Transmit {
        let answer = self.state == State::SynReceived;
        // Where the open begins with probes, each of them has an answer; the probes themselves count their attempts.
        let expected = match &self.probing {
            None => 1,
            Some(probing) if answer => probing.count(),
            Some(_) => u32::MAX,
        };
        let retransmission = self.syns_sent >= expected;
        if retransmission {
            self.stats.syn_retransmissions += 1;
            self.syn_repeated = true;
        }
        // Answers to probes before the last are no repetitions.
        let before = self.syns_sent.saturating_sub(expected.saturating_sub(1));
        self.syns_sent += 1;
        self.syn_sent_at.get_or_insert(now);
        self.sender.max = 1;
        let stamp = self.config.timestamps.then(|| self.timestamp(now));
        self.sender.rto_deadline = match &mut self.probing {
            None => now + self.sender.rtt.rto(),
            Some(probing) if answer => {
                probing.answer_timeout().map_or(Instant::FAR_FUTURE, |wait| now + wait)
            }
            Some(probing) => {
                let overdue = probing.sent(now, stamp, self.config.max_rto);
                self.syn_due = probing.more();
                overdue
            }
        };
        let mut offer = Offer::of_config(&self.config);
        let mut flags = Flags::SYN;
        let mut ack = SeqNumber(0);
        if answer {
            flags |= Flags::ACK;
            ack = SeqNumber::wrap(self.peer_isn, self.receiver.next);
            if self.ecn {
                flags |= Flags::ECE;
            }
            if let Some(report) = &mut self.accurate {
                flags |= report.syn_ack_flags(before);
            }
            // Only what the peer has offered is offered in return.
            if let Some(peer) = self.peer_offer {
                offer.window_scale = offer.window_scale.filter(|_| peer.window_scale.is_some());
                offer.sack &= peer.sack;
                offer.timestamps = offer.timestamps.filter(|_| peer.timestamps.is_some());
                offer.ack_congestion_control &= peer.ack_congestion_control;
            }
        } else if self.config.ecn && !self.config.accurate_ecn {
            flags |= Flags::ECE | Flags::CWR;
        } else if self.config.ecn && self.syn_timeouts < ACCURATE_SYNS {
            flags |= accurate_ecn::ASKED;
        }
        let echo = if answer { self.recent_timestamp } else { 0 };
        let mut segment = Segment {
            src_port: self.ports.local,
            dst_port: self.ports.remote,
            seq: self.isn,
            ack,
            window: self.receiver.syn_window_field(),
            flags,
            payload_len: 0,
            options: if self.config.assumed_options {
                offer.timestamps_only(self.timestamp(now), echo)
            } else {
                offer.options(self.timestamp(now), echo)
            },
        };
        if let Some(report) = self.accurate.as_ref().filter(|_| answer && !self.config.assumed_options) {
            segment.options.ecn_counters = report.syn_ack_option(before);
        }
        if let Some(probing) = self.probing.as_mut().filter(|_| !answer) {
            // The first bytes of the stream, which a server without TCP Fast Open ignores in a SYN (RFC 7413 section 4.2).
            segment.payload_len = probing.padding(segment.ipv4_len());
            probing.measured_size(segment.ipv4_len());
        }
        Transmit { segment, ecn: Ecn::NotEct, retransmission }
    }

    /// True if [`Connection::poll_event`] has one.
    #[inline]
    pub fn has_events(&self) -> bool {
        !self.events.is_empty()
    }
    /// The next event, if any. Events are rare; notices of congestion are dropped when 256 wait.
    #[inline]
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop()
    }
}
