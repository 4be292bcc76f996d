//! The state of the data in flight (RFC 6675 section 4), as sums over SACKed intervals.
//! Since IsLost() is monotone, one offset, `lost_edge`, separates the lost from the rest; an ACK costs O(log holes).

use crate::intervals::IntervalSet;
use longhaul_segment::SackBlocks;

/// All SACKed data lies in `[floor, ..)`, where `floor` is SND.UNA.
#[derive(Clone, Debug, Default)]
#[repr(C)]
pub(crate) struct Scoreboard {
    floor: u64,
    /// Un-SACKed data below this offset is lost. Moves down only when nothing was lost after all.
    lost_edge: u64,
    /// HighRxt: un-SACKed data below this offset has been retransmitted in this recovery.
    high_rxt: u64,
    sacked_total: u64,
    /// Bytes ever marked lost.
    lost: u64,
    sacked: IntervalSet,
    sacked_below_lost: u64,
    sacked_below_rxt: u64,
    /// The blocks of the last ACK: most of the next one's are the same.
    last_blocks: SackBlocks,
    /// Where losses are found by time, any data may be lost, a retransmission too: what is, and has not been sent again.
    awaiting: IntervalSet,
    awaiting_total: u64,
    /// What has been marked lost since the last `take_journal`, once `keep_journal` was called.
    journal: Option<Vec<(u64, u64)>>,
    /// What was SACKed when all SACKs were discarded, and has not been reported again: it counts as delivered once.
    discarded: Option<Box<Discarded>>,
}

/// SACKed data of which the sender knows nothing any more.
#[derive(Clone, Debug, Default)]
struct Discarded {
    data: IntervalSet,
    /// Bytes of it that were reported again since the last [`Scoreboard::take_reported_again`].
    again: u64,
}

/// Length of the part of `[start, end)` below `edge`.
#[inline]
fn below(edge: u64, start: u64, end: u64) -> u64 {
    end.min(edge).saturating_sub(start)
}

impl Scoreboard {
    pub fn new(floor: u64) -> Self {
        Scoreboard { floor, lost_edge: floor, high_rxt: floor, ..Scoreboard::default() }
    }
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.sacked_total == 0
    }
    #[inline]
    pub fn lost_edge(&self) -> u64 {
        self.lost_edge
    }
    /// Bytes that are SACKed and not yet acknowledged.
    #[inline]
    pub fn sacked(&self) -> u64 {
        self.sacked_total
    }
    /// Bytes found lost so far.
    #[inline]
    pub fn lost(&self) -> u64 {
        self.lost
    }
    /// The parts of `[start, end)` that are not SACKed.
    pub fn gaps(&self, start: u64, end: u64) -> impl Iterator<Item = (u64, u64)> + '_ {
        let mut position = start;
        std::iter::from_fn(move || {
            let gap = self.sacked.first_gap(position, end)?;
            position = gap.1;
            Some(gap)
        })
    }
    /// End of the highest SACKed data, or the floor (FACK's snd.fack).
    #[inline]
    pub fn highest_sacked(&self) -> u64 {
        self.sacked.last().map_or(self.floor, |last| last.1)
    }
    #[inline]
    pub fn last_blocks(&self) -> &SackBlocks {
        &self.last_blocks
    }
    pub fn set_last_blocks(&mut self, blocks: SackBlocks) {
        self.last_blocks = blocks;
    }

    /// Update() of RFC 6675: `[start, end)` arrived. Returns how much of it was news, and calls `news` for each part.
    pub fn sack(&mut self, start: u64, end: u64, mut news: impl FnMut(u64, u64)) -> u64 {
        let (lost_edge, high_rxt) = (self.lost_edge, self.high_rxt);
        let (mut total, mut below_lost, mut below_rxt) = (0, 0, 0);
        let (awaiting, mut arrived) = (&mut self.awaiting, 0);
        self.sacked.insert(start.max(self.floor), end, |a, b| {
            news(a, b);
            if !awaiting.is_empty() {
                arrived += awaiting.remove(a, b);
            }
            total += b - a;
            below_lost += below(lost_edge, a, b);
            below_rxt += below(high_rxt, a, b);
        });
        self.sacked_total += total;
        self.sacked_below_lost += below_lost;
        self.sacked_below_rxt += below_rxt;
        self.awaiting_total -= arrived;
        if total != 0 {
            self.report_again(start, end);
        }
        total
    }

    /// `[start, end)` arrived; some of it may have been SACKed before SACKs were discarded.
    #[inline]
    fn report_again(&mut self, start: u64, end: u64) {
        if let Some(discarded) = &mut self.discarded {
            discarded.again += discarded.data.remove(start, end);
        }
    }
    /// Bytes that ACKs have reported a second time since the last call: they were delivered before.
    #[inline]
    pub fn take_reported_again(&mut self) -> u64 {
        let Some(discarded) = &mut self.discarded else { return 0 };
        let again = std::mem::take(&mut discarded.again);
        if discarded.data.is_empty() {
            self.discarded = None;
        }
        again
    }

    /// Recovery is over: nothing that was discarded is to come, or it was for nothing.
    pub fn forget_discarded(&mut self) {
        if let Some(discarded) = &mut self.discarded {
            discarded.data.clear();
        }
    }

    /// SND.UNA moves up to `una`. Returns how much of the acknowledged data had been SACKed before.
    #[inline]
    pub fn acknowledge(&mut self, una: u64) -> u64 {
        self.report_again(self.floor, una);
        self.floor = una;
        let before = self.sacked_total;
        if before != 0 {
            let (lost_edge, high_rxt) = (self.lost_edge, self.high_rxt);
            let (mut total, mut below_lost, mut below_rxt) = (0, 0, 0);
            self.sacked.remove_below(una, |a, b| {
                total += b - a;
                below_lost += below(lost_edge, a, b);
                below_rxt += below(high_rxt, a, b);
            });
            self.sacked_total -= total;
            self.sacked_below_lost -= below_lost;
            self.sacked_below_rxt -= below_rxt;
        }
        self.lost_edge = self.lost_edge.max(una);
        self.high_rxt = self.high_rxt.max(una);
        before - self.sacked_total
    }

    /// Everything not SACKed below `edge` is lost from now on.
    pub fn mark_lost_below(&mut self, edge: u64) {
        if edge > self.lost_edge {
            if let Some(journal) = &mut self.journal {
                journal.push((self.lost_edge, edge));
            }
            let unsacked = edge - self.lost_edge;
            self.lost += unsacked - self.raise_lost_edge(edge);
        }
    }
    /// Returns how much is SACKed between the old edge and the new.
    fn raise_lost_edge(&mut self, edge: u64) -> u64 {
        if edge <= self.lost_edge {
            return 0;
        }
        let sacked = self.sacked.covered(self.lost_edge, edge);
        self.sacked_below_lost += sacked;
        self.lost_edge = edge;
        sacked
    }

    /// Loss detection by time: what is not SACKed of `[start, end)` is lost, be it for the first time or again.
    pub fn mark_lost(&mut self, start: u64, end: u64) {
        let gaps: Vec<_> = self.gaps(start.max(self.floor), end).collect();
        for (a, b) in gaps {
            let mut marked = 0;
            self.awaiting.insert(a, b, |a, b| marked += b - a);
            self.awaiting_total += marked;
            self.lost += marked;
            self.raise_lost_edge(b);
            if let Some(journal) = self.journal.as_mut().filter(|_| marked > 0) {
                journal.push((a, b));
            }
        }
    }
    /// From now on `take_journal` returns what was marked lost.
    pub fn keep_journal(&mut self) {
        self.journal = Some(vec![]);
    }
    /// What has been marked lost since the last call; in part it may be SACKed.
    pub fn take_journal(&mut self) -> Vec<(u64, u64)> {
        self.journal.as_mut().map(std::mem::take).unwrap_or_default()
    }
    /// What is below `una` is not to be sent again.
    pub fn stop_awaiting_below(&mut self, una: u64) {
        let awaiting_total = &mut self.awaiting_total;
        self.awaiting.remove_below(una, |a, b| *awaiting_total -= b - a);
    }
    /// The first of what is lost and was not sent again.
    pub fn first_awaiting(&self) -> Option<(u64, u64)> {
        self.awaiting.first()
    }
    /// `[start, end)` has been sent again.
    pub fn resent(&mut self, start: u64, end: u64) {
        self.awaiting_total -= self.awaiting.remove(start, end);
    }
    /// All but what is SACKed or waits to be sent again.
    pub fn pipe_of_rack(&self, snd_max: u64) -> u64 {
        (snd_max - self.floor) - self.sacked_total - self.awaiting_total
    }

    /// IsLost() of RFC 6675: moves `lost_edge` up to the start of the block above which, itself included, there are
    /// DupThresh blocks or more than (DupThresh - 1) * SMSS bytes.
    pub fn detect_losses(&mut self, duplicate_threshold: u32, smss: u64) {
        let enough_bytes = u64::from(duplicate_threshold.saturating_sub(1)) * smss;
        let (mut bytes, mut blocks) = (0, 0);
        let mut edge = 0;
        for (start, end) in self.sacked.descending() {
            bytes += end - start;
            blocks += 1;
            if blocks >= duplicate_threshold || bytes > enough_bytes {
                edge = start;
                break;
            }
        }
        self.mark_lost_below(edge);
    }

    /// Nothing was lost after all.
    pub fn unmark_lost(&mut self) {
        self.lost_edge = self.floor;
        self.sacked_below_lost = 0;
        self.awaiting.clear();
        self.awaiting_total = 0;
        self.restart_retransmission();
    }
    /// A new recovery begins: nothing has been retransmitted in it.
    pub fn restart_retransmission(&mut self) {
        self.high_rxt = self.floor;
        self.sacked_below_rxt = 0;
    }
    /// Data up to `end` has been retransmitted.
    pub fn retransmitted_up_to(&mut self, end: u64) {
        if end > self.high_rxt {
            self.sacked_below_rxt += self.sacked.covered(self.high_rxt, end);
            self.high_rxt = end;
        }
    }
    /// Discards all SACKs: after a timeout on request (RFC 2018 section 8), or when the receiver reneged.
    pub fn clear(&mut self) {
        if !self.sacked.is_empty() {
            let data = &mut self.discarded.get_or_insert_default().data;
            let sacked: Vec<(u64, u64)> = self.sacked.ending_above(self.floor).collect();
            for (start, end) in sacked {
                data.insert(start, end, |_, _| {});
            }
        }
        self.sacked.clear();
        self.sacked_total = 0;
        self.sacked_below_lost = 0;
        self.sacked_below_rxt = 0;
        self.last_blocks = SackBlocks::default();
    }
    /// The first unacknowledged byte is SACKed: the receiver must have thrown it away (RFC 2018 section 8).
    pub fn reneged(&self) -> bool {
        self.sacked.first().is_some_and(|first| first.0 <= self.floor)
    }

    /// SetPipe() of RFC 6675: what is neither lost nor SACKed, plus what was retransmitted and is not SACKed.
    #[inline]
    pub fn pipe(&self, snd_max: u64) -> u64 {
        let above = (snd_max - self.lost_edge) - (self.sacked_total - self.sacked_below_lost);
        above + self.retransmitted_outstanding()
    }
    /// FACK's awnd = snd.nxt - snd.fack + retran_data: all below the highest SACK has left the network.
    #[inline]
    pub fn fack_pipe(&self, snd_max: u64) -> u64 {
        let edge = self.highest_sacked().max(self.lost_edge);
        snd_max.saturating_sub(edge) + self.retransmitted_outstanding()
    }
    #[inline]
    fn retransmitted_outstanding(&self) -> u64 {
        (self.high_rxt - self.floor) - self.sacked_below_rxt
    }

    /// Rule 1 of NextSeg(): the first lost data that has not been retransmitted.
    #[inline]
    pub fn next_lost(&self) -> Option<(u64, u64)> {
        if self.high_rxt >= self.lost_edge {
            return None;
        }
        self.sacked.first_gap(self.high_rxt, self.lost_edge)
    }
    /// Rule 3 of NextSeg(): the first hole below the highest SACK, whether lost or not.
    pub fn next_hole(&self) -> Option<(u64, u64)> {
        self.sacked.first_gap(self.high_rxt, self.highest_sacked())
    }
    /// Rule 4 of NextSeg(): the highest outstanding data that is not SACKed, unless it has been retransmitted in this
    /// recovery: then it is under way.
    pub fn last_hole(&self, snd_max: u64) -> Option<(u64, u64)> {
        self.sacked.last_gap(self.high_rxt, snd_max)
    }
    /// Number of SACKed blocks.
    pub fn blocks(&self) -> usize {
        self.sacked.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SMSS: u64 = 100;

    /// RFC 6675 sections 3 and 4 to the letter, octet by octet.
    struct Naive {
        sacked: Vec<bool>,
        una: u64,
        high_data: u64,
        high_rxt: u64,
    }

    impl Naive {
        fn is_sacked(&self, octet: u64) -> bool {
            self.sacked[octet as usize]
        }
        /// "DupThresh discontiguous SACKed sequences have arrived above SeqNum or more than (DupThresh - 1) * SMSS
        /// bytes with sequence numbers greater than SeqNum have been SACKed".
        fn is_lost(&self, octet: u64) -> bool {
            let (mut sequences, mut bytes, mut inside) = (0, 0, false);
            for other in octet + 1..self.high_data {
                let sacked = self.is_sacked(other);
                sequences += u64::from(sacked && !inside);
                bytes += u64::from(sacked);
                inside = sacked;
            }
            sequences >= 3 || bytes > 2 * SMSS
        }
        fn set_pipe(&self) -> u64 {
            let mut pipe = 0;
            for octet in self.una..self.high_data {
                if !self.is_sacked(octet) {
                    pipe += u64::from(!self.is_lost(octet));
                    pipe += u64::from(octet < self.high_rxt);
                }
            }
            pipe
        }
        fn highest_sacked(&self) -> u64 {
            (self.una..self.high_data).rev().find(|&octet| self.is_sacked(octet)).unwrap_or(0)
        }
        fn rule_1(&self) -> Option<u64> {
            let start = self.high_rxt.max(self.una);
            (start..self.highest_sacked()).find(|&octet| !self.is_sacked(octet) && self.is_lost(octet))
        }
        fn rule_3(&self) -> Option<u64> {
            let start = self.high_rxt.max(self.una);
            (start..self.highest_sacked()).find(|&octet| !self.is_sacked(octet))
        }
        fn rule_4(&self) -> Option<u64> {
            let highest = (self.una..self.high_data).rev().find(|&octet| !self.is_sacked(octet));
            highest.filter(|&octet| octet >= self.high_rxt)
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        /// Segments of one SMSS arrive in any order with any loss; retransmissions follow NextSeg().
        #[test]
        fn agrees_with_the_rfc_octet_by_octet(
            operations in prop::collection::vec((0u8..8, 0u64..24), 1..40),
        ) {
            let mut naive = Naive { sacked: vec![false; 10_000], una: 0, high_data: 24 * SMSS, high_rxt: 0 };
            let mut board = Scoreboard::new(0);
            for (operation, which) in operations {
                match operation {
                    // A segment arrives above the first hole.
                    0..=4 => {
                        let start = naive.una + SMSS * (1 + which % 23);
                        if start + SMSS > naive.high_data { continue; }
                        naive.sacked[start as usize..(start + SMSS) as usize].fill(true);
                        board.sack(start, start + SMSS, |_, _| ());
                        board.detect_losses(3, SMSS);
                    }
                    // The sender retransmits by rule 1.
                    5 => {
                        if let Some(start) = naive.rule_1() {
                            naive.high_rxt = start + SMSS;
                            let (ours, _) = board.next_lost().unwrap();
                            board.retransmitted_up_to(ours + SMSS);
                        }
                    }
                    // The first hole is filled.
                    6 => {
                        naive.sacked[naive.una as usize..(naive.una + SMSS) as usize].fill(true);
                        while naive.una < naive.high_data && naive.is_sacked(naive.una) {
                            naive.una += 1;
                        }
                        naive.high_rxt = naive.high_rxt.max(naive.una);
                        naive.high_data = naive.high_data.max(naive.una);
                        board.acknowledge(naive.una);
                    }
                    // New data.
                    _ => naive.high_data += SMSS,
                }
                prop_assert_eq!(board.pipe(naive.high_data), naive.set_pipe());
                prop_assert_eq!(board.next_lost().map(|hole| hole.0), naive.rule_1());
                prop_assert_eq!(board.next_hole().map(|hole| hole.0), naive.rule_3());
                prop_assert_eq!(board.last_hole(naive.high_data).map(|hole| hole.1 - 1), naive.rule_4());
            }
        }
    }

    /// IsLost() by bytes: three SMSS above in one block are more than 2 * SMSS; two are not.
    #[test]
    fn three_segments_in_one_block_make_a_loss() {
        let mut board = Scoreboard::new(0);
        board.sack(100, 300, |_, _| ());
        board.detect_losses(3, SMSS);
        assert_eq!(board.lost_edge(), 0);
        board.sack(300, 400, |_, _| ());
        board.detect_losses(3, SMSS);
        assert_eq!(board.lost_edge(), 100);
    }

    /// IsLost() by blocks: three discontiguous blocks, however small.
    #[test]
    fn three_small_blocks_make_a_loss() {
        let mut board = Scoreboard::new(0);
        for start in [100, 200, 300] {
            board.sack(start, start + 1, |_, _| ());
        }
        board.detect_losses(3, SMSS);
        assert_eq!(board.lost_edge(), 100);
        assert_eq!(board.next_lost(), Some((0, 100)));
    }

    /// After a timeout all that is not SACKed is lost, and the pipe is what has been sent since.
    #[test]
    fn after_a_timeout_only_retransmissions_are_in_the_pipe() {
        let mut board = Scoreboard::new(0);
        board.sack(200, 300, |_, _| ());
        board.mark_lost_below(1000);
        board.restart_retransmission();
        assert_eq!(board.pipe(1000), 0);
        board.retransmitted_up_to(100);
        assert_eq!(board.pipe(1000), 100);
        board.retransmitted_up_to(200);
        assert_eq!(board.next_lost(), Some((300, 1000)));
        board.retransmitted_up_to(400);
        assert_eq!(board.pipe(1000), 300);
        board.acknowledge(400);
        assert_eq!(board.pipe(1000), 0);
    }
}
