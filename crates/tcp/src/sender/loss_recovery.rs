//! Loss recovery as a value: how losses are found, the estimate of what is in flight, what is retransmitted, what a timeout means, and when
//! recovery ends. Only [`LossRecovery::of`] matches the variants by name; each method is one decision of the sender.

use crate::Recovery;
use crate::scoreboard::Scoreboard;

/// How losses are found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Detection {
    /// By duplicate ACKs (RFC 5681 section 3.2).
    Duplicates,
    /// By what is SACKed above (RFC 6675 section 4, IsLost()).
    Sacked,
    /// By duplicate ACKs; then all below the highest SACK is (Fall and Floyd 1996).
    Counted,
    /// By distance from the highest SACK (Mathis and Mahdavi 1996).
    Forward,
    /// By time, of retransmissions too (RFC 8985).
    Time,
}

/// What follows the first retransmission.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Repair {
    /// Slow start from one segment (Jacobson 1988).
    SlowStart,
    /// Fast recovery that the first new ACK ends (RFC 5681 section 3.2).
    ToFirstAck,
    /// Fast recovery until what was in flight at its beginning is acknowledged (RFC 6582, RFC 6675).
    ToRecoveryPoint,
}

/// How a connection finds and repairs losses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct LossRecovery {
    detection: Detection,
    repair: Repair,
}

impl LossRecovery {
    /// The value for a variant.
    pub fn of(recovery: Recovery) -> Self {
        let (detection, repair) = match recovery {
            Recovery::Tahoe => (Detection::Duplicates, Repair::SlowStart),
            Recovery::Reno => (Detection::Duplicates, Repair::ToFirstAck),
            Recovery::NewReno => (Detection::Duplicates, Repair::ToRecoveryPoint),
            Recovery::Sack => (Detection::Sacked, Repair::ToRecoveryPoint),
            Recovery::Sack1 => (Detection::Counted, Repair::ToRecoveryPoint),
            Recovery::Fack => (Detection::Forward, Repair::ToRecoveryPoint),
            Recovery::Rack => (Detection::Time, Repair::ToRecoveryPoint),
        };
        LossRecovery { detection, repair }
    }
    /// What is left of it where the peer sends no SACK blocks.
    pub fn without_sack(self) -> Self {
        if self.uses_sack() { Self::of(Recovery::NewReno) } else { self }
    }

    /// It uses SACK blocks.
    #[inline]
    pub fn uses_sack(self) -> bool {
        self.detection != Detection::Duplicates
    }
    /// It has a timer of its own, and needs the time at which each segment left.
    #[inline]
    pub fn goes_by_time(self) -> bool {
        self.detection == Detection::Time
    }
    /// A loss begins slow start from one segment.
    #[inline]
    pub fn restarts(self) -> bool {
        self.repair == Repair::SlowStart
    }
    /// The first new ACK ends recovery.
    #[inline]
    pub fn ends_with_first_ack(self) -> bool {
        self.repair == Repair::ToFirstAck
    }
    /// In fast recovery ACKs are counted to find out how much has left the network: one segment for each, and one more for a
    /// partial ACK.
    #[inline]
    pub fn counts_acks(self) -> bool {
        self.detection == Detection::Counted
    }
    /// A timeout discards the scoreboard (RFC 2018 section 8), and SACK blocks count again with the next ACK of new data.
    #[inline]
    pub fn forgets_on_timeout(self) -> bool {
        self.detection == Detection::Counted
    }
    /// Without a loss to repair and new data to send, holes that are not lost are filled too (RFC 6675 section 4, rules 3 and 4 of
    /// NextSeg()).
    #[inline]
    pub fn fills_holes(self) -> bool {
        matches!(self.detection, Detection::Sacked | Detection::Forward)
    }

    // What it does on an ACK.

    /// More is SACKed. Losses by time are found once the ACK is taken up.
    #[inline]
    pub fn on_sacked(self, board: &mut Scoreboard, duplicate_threshold: u32, mss: u64) {
        match self.detection {
            Detection::Sacked => board.detect_losses(duplicate_threshold, mss),
            Detection::Forward => {
                let tolerated = u64::from(duplicate_threshold) * mss;
                board.mark_lost_below(board.highest_sacked().saturating_sub(tolerated));
            }
            Detection::Time | Detection::Duplicates | Detection::Counted => {}
        }
    }
    /// True if so many duplicate ACKs mean that a segment is lost.
    #[inline]
    pub fn is_loss(self, duplicate_acks: u32, duplicate_threshold: u32) -> bool {
        duplicate_acks >= duplicate_threshold && !self.goes_by_time()
    }
    /// Fast recovery begins: what the first retransmission is for, whose end would be `end`, is lost.
    pub fn on_recovery(self, board: &mut Scoreboard, end: u64) {
        if !self.goes_by_time() {
            board.mark_lost_below(end);
        }
    }

    // What is sent again, and what is in flight.

    /// The first data that are lost and have not been sent again.
    #[inline]
    pub fn next_lost(self, board: &Scoreboard) -> Option<(u64, u64)> {
        match self.detection {
            Detection::Time => board.first_awaiting(),
            Detection::Counted => board.next_lost().or_else(|| board.next_hole()),
            Detection::Duplicates | Detection::Sacked | Detection::Forward => board.next_lost(),
        }
    }
    /// `[start, end)` was sent again.
    #[inline]
    pub fn on_sent_again(self, board: &mut Scoreboard, start: u64, end: u64) {
        if self.goes_by_time() {
            board.resent(start, end);
        } else {
            board.retransmitted_up_to(end);
        }
    }
    /// The estimate of what is in the network, of what was sent below `max`, according to the scoreboard.
    #[inline]
    pub fn pipe(self, board: &Scoreboard, max: u64) -> u64 {
        match self.detection {
            Detection::Duplicates | Detection::Sacked | Detection::Counted => board.pipe(max),
            Detection::Forward => board.fack_pipe(max),
            Detection::Time => board.pipe_of_rack(max),
        }
    }

    // What a timeout means.

    /// Only the first segment, which ends at `end`, is sent again for now (RFC 5682).
    pub fn on_doubtful_timeout(self, board: &mut Scoreboard, una: u64, end: u64) {
        if self.goes_by_time() {
            board.mark_lost(una, end);
        } else {
            self.on_timeout(board, end);
        }
    }
    /// All below `end` that is not SACKed is lost, sent again or not. Where losses are found by time, the timer decides instead.
    pub fn on_timeout(self, board: &mut Scoreboard, end: u64) {
        board.restart_retransmission();
        board.mark_lost_below(end);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 10 segments of 1000 bytes from 1 on; `sacked` of them.
    fn board(sacked: (u64, u64)) -> Scoreboard {
        let mut board = Scoreboard::new(1);
        board.sack(1 + 1000 * sacked.0, 1 + 1000 * sacked.1, |_, _| {});
        board
    }

    /// Three of the segments 2 to 9 are above the first by RFC 6675; FACK tolerates three below the highest.
    #[test]
    fn sacked_data_say_what_is_lost() {
        let found = |recovery: Recovery| {
            let (mut board, recovery) = (board((5, 10)), LossRecovery::of(recovery));
            recovery.on_sacked(&mut board, 3, 1000);
            (recovery.next_lost(&board), recovery.pipe(&board, 10_001))
        };
        // Five lost, five SACKed: nothing is in flight.
        assert_eq!(found(Recovery::Sack), (Some((1, 5001)), 0));
        assert_eq!(found(Recovery::Fack), (Some((1, 5001)), 0));
        // Time decides, not the ACK.
        assert_eq!(found(Recovery::Rack), (None, 5000));
    }

    #[test]
    fn variants_differ_in_what_their_sources_say() {
        let all = [
            Recovery::Tahoe,
            Recovery::Reno,
            Recovery::NewReno,
            Recovery::Sack,
            Recovery::Fack,
            Recovery::Rack,
        ];
        let of =
            |question: fn(LossRecovery) -> bool| all.map(|recovery| question(LossRecovery::of(recovery)));
        assert_eq!(of(LossRecovery::uses_sack), [false, false, false, true, true, true]);
        assert_eq!(of(LossRecovery::restarts), [true, false, false, false, false, false]);
        assert_eq!(of(LossRecovery::ends_with_first_ack), [false, true, false, false, false, false]);
        assert_eq!(of(LossRecovery::fills_holes), [false, false, false, true, true, false]);
        assert_eq!(of(|recovery| recovery.is_loss(3, 3)), [true, true, true, true, true, false]);
        for recovery in all {
            assert!(!LossRecovery::of(recovery).without_sack().uses_sack());
        }
        assert!(LossRecovery::of(Recovery::Tahoe).without_sack().restarts());
    }

    #[test]
    fn after_a_timeout_all_that_is_not_sacked_is_sent_again() {
        let (mut board, recovery) = (board((5, 10)), LossRecovery::of(Recovery::Sack));
        recovery.on_sacked(&mut board, 3, 1000);
        recovery.on_sent_again(&mut board, 1, 5001);
        assert_eq!((recovery.next_lost(&board), recovery.pipe(&board, 10_001)), (None, 5000));
        recovery.on_timeout(&mut board, 10_001);
        assert_eq!((recovery.next_lost(&board), recovery.pipe(&board, 10_001)), (Some((1, 5001)), 0));
    }
}
