//! Proportional rate reduction: during fast recovery the window comes down to its target with the data delivered, not in a
//! pause of half a round trip (RFC 9937, which obsoletes RFC 6937).

/// What bounds sending once less is in flight than the target.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReductionBound {
    /// PRR-CRB of RFC 6937: no more than was delivered.
    Conservative,
    /// PRR-SSRB of RFC 6937: a segment more with each ACK, as slow start.
    SlowStart,
    /// RFC 9937: as slow start on ACKs that advance and report no further loss, else conservative (Linux).
    SafeAck,
}

/// State of one recovery. Bytes throughout.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ProportionalRateReduction {
    bound: ReductionBound,
    /// RecoverFS: what was in flight when recovery began.
    recover_fs: u64,
    /// prr_delivered.
    delivered: u64,
    /// The sender's count of data sent when recovery began, from which prr_out follows.
    sent_before: u64,
    /// The window that congestion control has chosen.
    pub target: u64,
    /// The window until the next ACK or timer.
    window: u64,
}

/// An ACK during recovery, or a timer that found more lost.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Progress {
    /// DeliveredData: newly acknowledged or SACKed.
    pub delivered: u64,
    /// pipe of RFC 6675.
    pub pipe: u64,
    /// The sender's count of data sent so far.
    pub sent: u64,
    pub mss: u64,
    /// SND.UNA advanced and nothing more was found lost.
    pub safe: bool,
}

impl ProportionalRateReduction {
    pub fn new(bound: ReductionBound, recover_fs: u64, sent_before: u64, target: u64) -> Self {
        let recover_fs = recover_fs.max(1);
        ProportionalRateReduction { bound, recover_fs, delivered: 0, sent_before, target, window: 0 }
    }

    /// The window until the next ACK or timer.
    pub fn window(&self) -> u64 {
        self.window
    }
    /// Sets it to pipe + SndCnt (RFC 9937 section 6.2).
    pub fn advance(&mut self, progress: &Progress) {
        let Progress { delivered, pipe, sent, mss, safe } = *progress;
        let target = self.target;
        self.delivered += delivered;
        let out = sent - self.sent_before;
        let banked = self.delivered.saturating_sub(out);
        let allowed = if pipe > target {
            let share = u128::from(self.delivered) * u128::from(target);
            // The RFC rounds up to what can be sent: whole segments.
            let due = share.div_ceil(u128::from(self.recover_fs)).next_multiple_of(u128::from(mss.max(1)));
            u64::try_from(due).unwrap_or(u64::MAX).saturating_sub(out)
        } else {
            let limit = match self.bound {
                ReductionBound::Conservative => banked,
                // Nothing is delivered when a timer finds losses.
                ReductionBound::SlowStart => banked.max(delivered) + if delivered > 0 { mss } else { 0 },
                ReductionBound::SafeAck => banked.max(delivered) + if safe { mss } else { 0 },
            };
            limit.min(target - pipe)
        };
        // "Force a fast retransmit upon entering recovery".
        let forced = if out == 0 { mss } else { 0 };
        // Like any other window it is one segment at least: what is alone in the network keeps the connection alive.
        self.window = (pipe + allowed.max(forced)).max(mss);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many segments go out on each ACK of one segment, from the ACK that begins recovery; all in segments.
    fn sent(bound: ReductionBound, recover_fs: u64, first_pipe: u64, target: u64, acks: u64) -> Vec<u64> {
        let mut prr = ProportionalRateReduction::new(bound, recover_fs, 0, target);
        let (mut pipe, mut out, mut each) = (first_pipe, 0, vec![]);
        for ack in 0..acks {
            pipe -= u64::from(ack > 0);
            prr.advance(&Progress { delivered: 1, pipe, sent: out, mss: 1, safe: true });
            let now = prr.window() - pipe;
            out += now;
            pipe += now;
            each.push(now);
        }
        each
    }

    #[test]
    fn rfc_6937_example_1() {
        // Section 3.1: 20 segments, the first is lost, ssthresh 10. ACK 3 lets the retransmission go, then every other ACK up to
        // 15 a new segment. The figure ends with segments on ACKs 18 and 19, which no RecoverFS gives that gives the others;
        // by the formula there is one on ACK 17, and ten are in flight in the end, as there.
        let each = sent(ReductionBound::SlowStart, 20, 18, 10, 17);
        assert_eq!(each, [1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 0]);
        assert_eq!(18 - 16 + each.iter().sum::<u64>(), 10);
    }

    #[test]
    fn rfc_6937_example_2() {
        // Section 3.1: 15 of 20 segments are lost; ACKs 17 to 19 find 4 in flight.
        assert_eq!(sent(ReductionBound::Conservative, 22, 4, 10, 3), [1, 1, 1]);
        assert_eq!(sent(ReductionBound::SlowStart, 22, 4, 10, 3), [2, 2, 2]);
        assert_eq!(sent(ReductionBound::SafeAck, 22, 4, 10, 3), [2, 2, 2]);
    }

    #[test]
    fn an_ack_that_tells_of_more_losses_is_not_safe() {
        let mut prr = ProportionalRateReduction::new(ReductionBound::SafeAck, 20, 0, 10);
        prr.advance(&Progress { delivered: 1, pipe: 4, sent: 0, mss: 1, safe: false });
        assert_eq!(prr.window(), 5);
    }

    #[test]
    fn it_never_exceeds_the_target_from_below() {
        let mut prr = ProportionalRateReduction::new(ReductionBound::SlowStart, 20, 0, 10);
        prr.advance(&Progress { delivered: 10, pipe: 9, sent: 0, mss: 1, safe: true });
        assert_eq!(prr.window(), 10);
    }

    /// A timer delivers nothing: SndCnt is 0, and one segment is forced (RFC 9937 section 6.2); then nothing.
    #[test]
    fn a_timer_lets_one_segment_go() {
        for bound in [ReductionBound::Conservative, ReductionBound::SlowStart, ReductionBound::SafeAck] {
            for pipe in [0, 4, 15] {
                let mut prr = ProportionalRateReduction::new(bound, 20, 100, 10);
                prr.advance(&Progress { delivered: 0, pipe, sent: 100, mss: 1, safe: false });
                assert_eq!(prr.window(), pipe + 1, "{bound:?}");
                prr.advance(&Progress { delivered: 0, pipe, sent: 101, mss: 1, safe: false });
                assert_eq!(prr.window(), pipe.max(1), "{bound:?}");
            }
        }
    }
}
