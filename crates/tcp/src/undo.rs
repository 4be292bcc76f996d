//! Detects that the last reduction of the window was spurious, in three ways: the timestamp of the original transmission comes
//! back (Eifel, RFC 3522), new data are acknowledged although only one segment was sent again (F-RTO, RFC 5682), or the
//! receiver reports all retransmissions as duplicates (D-SACK, RFC 3708).

use longhaul_units::{Duration, Instant};

/// Which ways are used.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SpuriousDetection {
    /// By timestamps (RFC 3522); needs the timestamps option.
    pub eifel: bool,
    /// Forward RTO recovery (RFC 5682): after a timeout new data before more retransmissions.
    pub f_rto: bool,
    /// By D-SACK (RFC 3708).
    pub dsack: bool,
}

impl SpuriousDetection {
    pub(crate) fn any(self) -> bool {
        self.eifel || self.f_rto || self.dsack
    }
}

/// Where F-RTO stands (RFC 5682 section 2.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ForwardRto {
    Off,
    /// Step 2: the first segment has been sent again, nothing else is done before an ACK.
    FirstAck,
    /// Step 3: it advanced, and up to two new segments may go; so many are left.
    SecondAck {
        new_segments: u32,
    },
}

/// A reduction of the window that may prove to be for nothing.
#[derive(Clone, Debug)]
pub(crate) struct Episode {
    /// SND.UNA and SND.MAX when it began.
    pub start: u64,
    pub end: u64,
    /// Retransmitted bytes that have not been reported as duplicates.
    unreported: u64,
    /// What has been retransmitted, neighbours in one.
    resent: Vec<(u64, u64)>,
    pub forward: ForwardRto,
}

/// The evidence in one ACK.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Evidence {
    pub now: Instant,
    /// The ACK advances SND.UNA while losses are repaired; it acknowledges all that is outstanding.
    pub advances: bool,
    pub acknowledges_all: bool,
    /// Age of the timestamp that it echoes.
    pub echo_age: Option<Duration>,
    /// What it reports as received twice.
    pub duplicate: Option<(u64, u64)>,
}

/// What an ACK proves about a reduction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Verdict {
    /// Nothing.
    Nothing,
    /// All that was sent again has arrived twice.
    AllDuplicates,
    /// What it acknowledges has arrived as it was sent first, and what was sent again of it was not lost but late.
    OriginalArrived,
}

#[derive(Clone, Debug)]
pub(crate) struct Undo {
    pub ways: SpuriousDetection,
    timestamp_tick: Duration,
    /// A D-SACK has been received on this connection: the receiver would send one.
    dsack_seen: bool,
    /// Bytes retransmitted, and bytes reported as received twice, on this connection: where more was received twice than was sent
    /// twice, the network makes copies.
    sent_again: u64,
    reported: u64,
    /// RetransmitTS of RFC 3522: when the first of the retransmissions left that may be in the network. It outlives an episode: what
    /// one has sent again may be acknowledged in the next.
    first_retransmission: Option<Instant>,
    pub episode: Option<Episode>,
}

impl Undo {
    pub fn new(ways: SpuriousDetection, timestamp_tick: Duration) -> Self {
        Undo {
            ways,
            timestamp_tick,
            dsack_seen: false,
            sent_again: 0,
            reported: 0,
            first_retransmission: None,
            episode: None,
        }
    }

    /// The window is reduced; retransmissions follow. `resent_before`: some of an earlier episode are outstanding.
    pub fn begin(&mut self, start: u64, end: u64, resent_before: bool, forward: ForwardRto) {
        self.first_retransmission = self.first_retransmission.filter(|_| resent_before);
        self.episode = Some(Episode { start, end, unreported: 0, resent: vec![], forward });
    }

    /// `bytes` from `start` on are sent again.
    pub fn retransmitted(&mut self, now: Instant, start: u64, bytes: u64) {
        self.sent_again += bytes;
        self.first_retransmission.get_or_insert(now);
        let Some(episode) = &mut self.episode else { return };
        episode.unreported += bytes;
        match episode.resent.last_mut().filter(|(_, end)| *end == start) {
            Some((_, end)) => *end += bytes,
            None => episode.resent.push((start, start + bytes)),
        }
    }

    /// What an ACK proves about the last reduction, by D-SACK or by timestamps.
    pub fn judge(&mut self, evidence: &Evidence) -> Verdict {
        self.dsack_seen |= evidence.duplicate.is_some();
        self.reported += evidence.duplicate.map_or(0, |(start, end)| end - start);
        if self.all_were_duplicates(evidence) {
            Verdict::AllDuplicates
        } else if self.original_is_acknowledged(evidence) {
            Verdict::OriginalArrived
        } else {
            Verdict::Nothing
        }
    }

    /// RFC 3522 section 3.2 steps 4 and 5: the echo is from before all retransmissions that were under way, so that what is
    /// acknowledged has arrived as it was sent first. An ACK of all that is outstanding may be one whose predecessors were lost,
    /// for then the retransmission was needed: only a receiver known to send D-SACK, which has not sent one, rules that out.
    fn original_is_acknowledged(&self, evidence: &Evidence) -> bool {
        if !self.ways.eifel || !evidence.advances || self.episode.is_none() {
            return false;
        }
        let (Some(sent_at), Some(echo_age)) = (self.first_retransmission, evidence.echo_age) else {
            return false;
        };
        let tick = self.timestamp_tick.as_nanos().max(1);
        let age = echo_age.as_nanos() / tick;
        let since = evidence.now.as_nanos() / tick - sent_at.as_nanos() / tick;
        // An age of one tick stands for less, too.
        let older = age > since.max(1);
        older && evidence.duplicate.is_none() && (self.dsack_seen || !evidence.acknowledges_all)
    }

    /// RFC 3708 section 2: each retransmission has been reported as received twice. Where the network duplicates packets, a report
    /// is no evidence about a retransmission (Linux ignores it too: `tcp_dsack_seen`).
    fn all_were_duplicates(&mut self, evidence: &Evidence) -> bool {
        let Some((start, end)) = evidence.duplicate.filter(|_| self.ways.dsack) else { return false };
        let Some(episode) = &mut self.episode else { return false };
        if end <= episode.start || start >= episode.end || self.reported > self.sent_again {
            return false;
        }
        if !episode.resent.iter().any(|(from, to)| start < *to && *from < end) {
            return false;
        }
        episode.unreported = episode.unreported.saturating_sub(end - start);
        episode.unreported == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: SpuriousDetection = SpuriousDetection { eifel: true, f_rto: true, dsack: true };

    fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }
    fn at(millis: u64) -> Instant {
        Instant::ZERO + ms(millis)
    }
    /// A segment of 1000 bytes is sent again at 1000 ms.
    fn undo() -> Undo {
        let mut undo = Undo::new(ALL, ms(1));
        undo.begin(1, 10_001, false, ForwardRto::Off);
        undo.retransmitted(at(1000), 1, 1000);
        undo
    }
    impl Undo {
        fn is_disproved(&mut self, evidence: &Evidence) -> bool {
            self.judge(evidence) != Verdict::Nothing
        }
    }
    fn ack(now: u64, echo_age: u64) -> Evidence {
        Evidence {
            now: at(now),
            advances: true,
            acknowledges_all: false,
            echo_age: Some(ms(echo_age)),
            duplicate: None,
        }
    }

    /// RFC 3522 section 3.2 step 4: the echo is smaller than RetransmitTS.
    #[test]
    fn an_echo_from_before_the_retransmission_disproves_it() {
        assert!(undo().is_disproved(&ack(1020, 120)));
        assert!(undo().is_disproved(&ack(1020, 21)));
        assert!(!undo().is_disproved(&ack(1100, 100)));
        // Only an ACK that advances counts.
        let mut second = undo();
        assert!(!second.is_disproved(&Evidence { advances: false, ..ack(1010, 120) }));
        assert_eq!(second.judge(&ack(1015, 120)), Verdict::OriginalArrived);
    }

    /// What one episode has sent again at 1000 ms is acknowledged in the next, which has sent something again at 1080 ms: the echo of
    /// 1000 ms is from before the second retransmission, and that of a retransmission all the same.
    #[test]
    fn a_retransmission_of_the_episode_before_is_no_original() {
        for (outstanding, disproved) in [(true, false), (false, true)] {
            let mut undo = undo();
            undo.begin(1, 20_001, outstanding, ForwardRto::Off);
            undo.retransmitted(at(1080), 12_001, 1000);
            assert_eq!(undo.is_disproved(&ack(1100, 100)), disproved);
        }
    }

    /// Step 5: an ACK of everything may follow others that were lost.
    #[test]
    fn an_ack_of_everything_says_nothing_of_a_receiver_without_dsack() {
        let all = Evidence { acknowledges_all: true, ..ack(1020, 120) };
        assert!(!undo().is_disproved(&all));
        let mut known = Undo { dsack_seen: true, ..undo() };
        assert!(known.is_disproved(&all));
        let mut lost_acks =
            Undo { dsack_seen: true, ways: SpuriousDetection { dsack: false, ..ALL }, ..undo() };
        assert!(!lost_acks.is_disproved(&Evidence { duplicate: Some((1, 1001)), ..all }));
    }

    #[test]
    fn retransmissions_that_are_all_duplicates_were_for_nothing() {
        let mut undo = undo();
        undo.retransmitted(at(1001), 1001, 1000);
        undo.sent_again += 1000; // before this reduction
        let report = |start| Evidence { duplicate: Some((start, start + 1000)), ..ack(1100, 100) };
        assert!(!undo.is_disproved(&report(1)));
        assert!(!undo.is_disproved(&report(20_001))); // of another time
        assert!(undo.is_disproved(&report(1001)));
    }

    #[test]
    fn copies_that_the_network_makes_prove_nothing() {
        let report = |start| Evidence { duplicate: Some((start, start + 1000)), ..ack(1100, 100) };
        // Of what was not sent again.
        assert!(!undo().is_disproved(&report(5001)));
        // More was received twice than was sent twice.
        let mut copies = undo();
        assert!(!copies.is_disproved(&report(5001)));
        assert!(!copies.is_disproved(&report(1)));
        assert!(undo().is_disproved(&report(1)));
    }

    #[test]
    fn ways_that_are_off_prove_nothing() {
        let off = SpuriousDetection::default();
        assert!(!off.any());
        let mut undo = Undo { ways: off, ..undo() };
        assert!(!undo.is_disproved(&ack(1020, 120)));
        assert!(!undo.is_disproved(&Evidence { duplicate: Some((1, 1001)), ..ack(1100, 100) }));
    }
}
