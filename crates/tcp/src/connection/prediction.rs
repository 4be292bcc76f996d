//! Header prediction (Jacobson, "4BSD header prediction", 1990): in the middle of a bulk transfer the next segment can be
//! predicted. A few compares recognise it, and the steps of RFC 9293 section 3.10.7.4 that would find nothing are left out.
//! The effect is the same as that of the full procedure.

use super::Connection;
use crate::State;
use crate::sender::Acknowledgment;
use longhaul_segment::{Ecn, Flags, Segment, SeqNumber};
use longhaul_units::Instant;

impl Connection {
    /// Handles the segment if it is as expected: the next in order on an established connection, without options, and
    /// either data that acknowledges nothing new or an ACK of new data, without signs of congestion. False: nothing was done.
    #[inline]
    pub(super) fn handle_expected(&mut self, now: Instant, segment: &Segment, ecn: Ecn) -> bool {
        let usual = self.state == State::Established
            && !self.agreed.timestamps
            && ecn != Ecn::Ce
            && segment.flags | Flags::PSH == Flags::ACK | Flags::PSH
            && segment.options.sack.is_empty()
            && segment.options.ack_ratio.is_none()
            && segment.seq == SeqNumber::wrap(self.peer_isn, self.receiver.next);
        let advanced = segment.ack.distance_from(SeqNumber::wrap(self.isn, self.sender.una));
        if !usual || advanced < 0 {
            return false;
        }
        let seq = self.receiver.next;
        let ack = self.sender.una + advanced as u64;
        let window_edge = ack + (u64::from(segment.window) << self.agreed.send_shift);
        let payload = u64::from(segment.payload_len);
        let fresh = self.window_seq < seq || (self.window_seq == seq && self.window_ack <= ack);
        let handled = if payload > 0 {
            advanced == 0
                && self.sender.expects_nothing(window_edge)
                && self.receiver.fin.is_none()
                && !self.reading_stopped
                && seq <= self.receiver.right_edge()
        } else {
            advanced > 0 && ack <= self.sender.max
        };
        if !fresh || !handled {
            return false;
        }
        self.window_seq = seq;
        self.window_ack = ack;
        self.sender.allow_burst();
        if payload > 0 {
            self.receiver.on_data(now, seq, seq + payload, false, &mut self.stats);
            return true;
        }
        let acknowledgment = Acknowledgment {
            now,
            ack,
            window_edge: Some(window_edge),
            sack: &segment.options.sack,
            isn: self.isn,
            bare: true,
            ecn_echo: false,
            marked: false,
            timestamp_rtt: None,
        };
        self.sender.on_ack(&acknowledgment, &mut self.stats, &mut self.events);
        if self.sender.una == self.sender.max {
            self.on_nothing_in_flight(now);
        }
        true
    }
}
