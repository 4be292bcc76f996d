//! Header prediction (Jacobson, "4BSD header prediction", 1990): in the middle of a bulk transfer the next segment can be
//! predicted. A few compares recognise it, and the steps of RFC 9293 section 3.10.7.4 that would find nothing are left out.
//! The effect is the same as that of the full procedure.

use super::Connection;
use crate::sender::{Acknowledgment, Bulk, EcnFeedback};
use crate::{Departure, Limit, State};
use longhaul_segment::{Ecn, Flags, IPV4_HEADER, Segment, SeqNumber, TCP_HEADER};
use longhaul_units::Instant;

/// What a segment was.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Expected {
    /// Something else, and nothing was done.
    No,
    /// The next data in order.
    Data,
    /// An ACK of new data.
    Ack,
    /// The same in the middle of a bulk transfer, with nothing missing and nothing to measure beside the round trip.
    BulkAck,
}

impl Connection {
    /// A segment has arrived ([`Connection::handle_segment`]), and the first segment to send then takes its place, if there is one
    /// ([`Connection::transmit_into`]; go on with that). Both in one call, since most segments are data answered by an ACK and
    /// ACKs answered by data.
    #[inline]
    pub fn exchange(&mut self, now: Instant, segment: &mut Segment, ecn: Ecn) -> Option<Departure> {
        match self.handle_expected(now, segment, ecn) {
            Expected::Data if self.only_acknowledges() => return Some(self.pure_ack(now, segment)),
            Expected::BulkAck => match self.continue_bulk(now) {
                Bulk::Segment(seq, limit) => return Some(self.bulk_segment(now, seq, limit, segment)),
                Bulk::Nothing(limit) => {
                    self.limits.set(now, limit);
                    return None;
                }
                Bulk::Unclear => {}
            },
            Expected::Data | Expected::Ack => {}
            Expected::No => self.handle_unexpected(now, segment, ecn),
        }
        self.transmit_into(now, segment)
    }

    /// An ACK is due, and there is nothing else to send.
    #[inline(always)]
    fn only_acknowledges(&self) -> bool {
        self.receiver.ack_now && self.sender.is_idle() && !self.has_extras()
    }

    /// There is something to send that is neither data nor an ACK of what has come.
    #[inline(always)]
    fn has_extras(&self) -> bool {
        self.sender.probe_is_due() || self.keepalive_due || self.reply.is_some()
    }

    /// What [`Connection::transmit_into`] finds then.
    #[inline(always)]
    fn pure_ack(&mut self, now: Instant, segment: &mut Segment) -> Departure {
        self.sender.note_idle();
        self.limits.set(now, Limit::Application);
        self.stats.pure_acks_sent += 1;
        Departure { last: true, ..self.bare_ack(now, self.sender.max, segment) }
    }

    #[inline(always)]
    fn continue_bulk(&mut self, now: Instant) -> Bulk {
        if self.receiver.ack_now || self.receiver.has_sack_blocks() || self.has_extras() {
            return Bulk::Unclear;
        }
        self.sender.next_in_bulk(now, &mut self.stats)
    }

    /// A full segment of new data without options.
    #[inline(always)]
    fn bulk_segment(
        &mut self,
        now: Instant,
        start: u64,
        limit: Option<Limit>,
        segment: &mut Segment,
    ) -> Departure {
        let payload = self.sender.mss;
        let (mut flags, mut ecn) = (Flags::ACK, Ecn::NotEct);
        if self.ecn {
            ecn = Ecn::Ect0;
            if self.sender.take_cwr(start + payload) {
                flags |= Flags::CWR;
            }
        }
        self.write_plain_segment(now, start, payload as u32, flags, segment);
        self.receiver.ack_sent();
        if let Some(limit) = limit {
            self.limits.set(now, limit);
        }
        let wire_len = IPV4_HEADER + TCP_HEADER + payload as u32;
        Departure { ecn, retransmission: false, wire_len, last: limit.is_some() }
    }

    /// Handles the segment if it is as expected on an established connection: data without options that acknowledge nothing new and
    /// are not below RCV.NXT, or a pure ACK with or without SACK blocks, both without signs of congestion.
    #[inline(always)]
    pub(super) fn handle_expected(&mut self, now: Instant, segment: &Segment, ecn: Ecn) -> Expected {
        self.note_arrival(now);
        let usual = self.state == State::Established
            && self.agreed.plain
            && ecn != Ecn::Ce
            && segment.flags | Flags::PSH == Flags::ACK | Flags::PSH
            && segment.options.ack_ratio.is_none();
        let ahead = segment.seq.distance_from(SeqNumber::wrap(self.peer_isn, self.receiver.next));
        let advanced = segment.ack.distance_from(SeqNumber::wrap(self.isn, self.sender.una));
        if !usual || ahead < 0 || advanced < 0 {
            return Expected::No;
        }
        let seq = self.receiver.next + ahead as u64;
        let ack = self.sender.una + advanced as u64;
        let window_edge = ack + (u64::from(segment.window) << self.agreed.send_shift);
        let payload = u64::from(segment.payload_len);
        let fresh = self.window_seq < seq || (self.window_seq == seq && self.window_ack <= ack);
        let regular = segment.options.sack.is_empty();
        if payload > 0 {
            let edge = self.receiver.right_edge();
            let handled = advanced == 0
                && regular
                && self.sender.expects_nothing(if fresh { window_edge } else { self.sender.window_edge() })
                && self.receiver.is_open()
                && !self.reading_stopped
                && (seq < edge || (seq == edge && ahead == 0));
            if !handled {
                return Expected::No;
            }
            if fresh {
                self.window_seq = seq;
                self.window_ack = ack;
            }
            self.sender.allow_burst();
            if self.receiver.adapts() {
                self.receiver.note_times(self.sender.rtt.rto(), None);
            }
            self.receiver.on_data(now, seq, seq + payload, false, &mut self.stats);
            return Expected::Data;
        }
        if ahead > 0 || !fresh || ack > self.sender.max {
            return Expected::No;
        }
        self.window_seq = seq;
        self.window_ack = ack;
        self.sender.allow_burst();
        let undisturbed = advanced > 0 && regular && self.sender.is_undisturbed();
        if undisturbed {
            self.sender.move_on(now, ack, window_edge, &mut self.stats);
        } else {
            self.handle_disturbed_ack(now, segment, ack, window_edge);
        }
        if self.sender.una == self.sender.max {
            self.on_nothing_in_flight(now);
        }
        if undisturbed { Expected::BulkAck } else { Expected::Ack }
    }

    #[inline(never)]
    fn handle_disturbed_ack(&mut self, now: Instant, segment: &Segment, ack: u64, window_edge: u64) {
        let acknowledgment = Acknowledgment {
            now,
            ack,
            window_edge: Some(window_edge),
            sack: &segment.options.sack,
            isn: self.isn,
            bare: true,
            ecn: EcnFeedback::None,
            marked: false,
            timestamp_rtt: None,
        };
        self.sender.on_ack(&acknowledgment, &mut self.stats, &mut self.events);
    }
}
