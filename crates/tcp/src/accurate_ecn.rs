//! Accurate ECN feedback (RFC 9768): its handshake, what the receiver of packets counts and reports ([`Report`]), and what the
//! sender of data makes of the peer's reports ([`Marks`]).

use longhaul_segment::{Ecn, EcnCounters, EcnOrder, Flags, SackBlocks, Segment, SeqNumber};

/// The three bits of the ACE field (section 3.2.2): AE, CWR, ECE.
const ACE: Flags = Flags(0x1c0);
/// Both packet counters begin here (section 3.2.1), so that a field of zero shows a path that clears it.
const FIRST_COUNT: u64 = 5;
/// So many packets with CE are reported at once, whatever came between them (section 3.2.2.5.1, the number n for data).
const MARKS_TO_REPORT: u32 = 2;
/// The same where they carry no data: more, so that two ends do not answer each other's ACKs without end.
const BARE_MARKS_TO_REPORT: u32 = 3;
/// An ACK is taken to cover few packets by its nature, and not since others were lost, up to this mean of packets for an ACK.
/// Above it the ACE field is taken as it stands, as in Linux: ACKs are thinned out, and what they hide is not more congestion.
const THINNED_OUT: f64 = 4.0;
/// Weight of an ACK in that mean.
const MEAN_GAIN: f64 = 1.0 / 64.0;

/// A counter in the bits of the ACE field.
const fn ace_flags(counter: u64) -> Flags {
    Flags(((counter & 7) as u16) << 6)
}
/// The ACE field of a segment.
pub(crate) const fn ace(flags: Flags) -> u64 {
    (flags.0 & ACE.0) as u64 >> 6
}
/// The ACE field that reports with which ECN field a SYN or SYN-ACK arrived (tables 2 and 3).
fn reflection(ecn: Ecn) -> Flags {
    ace_flags(match ecn {
        Ecn::NotEct => 0b010,
        Ecn::Ect1 => 0b011,
        Ecn::Ect0 => 0b100,
        Ecn::Ce => 0b110,
    })
}
/// The ECN field that such an ACE field reports, if it reports one.
fn reflected(flags: Flags) -> Option<Ecn> {
    match ace(flags) {
        0b010 => Some(Ecn::NotEct),
        0b011 => Some(Ecn::Ect1),
        0b100 => Some(Ecn::Ect0),
        0b110 => Some(Ecn::Ce),
        _ => None,
    }
}

/// Which feedback two ends use.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Feedback {
    None,
    /// RFC 3168.
    Classic,
    /// RFC 9768.
    Accurate,
}

impl Feedback {
    /// What a SYN-ACK grants to a client that has asked for accurate feedback (table 2). One with all bits is from a server that
    /// copies the SYN's bits. The reserved 0b101 is accurate, for future use.
    pub fn granted(syn_ack: Flags) -> Feedback {
        match ace(syn_ack) {
            0b000 | 0b111 => Feedback::None,
            0b001 => Feedback::Classic,
            _ => Feedback::Accurate,
        }
    }
}

/// The bits of a SYN that asks for accurate feedback.
pub(crate) const ASKED: Flags = ACE;

/// A SYN asks for accurate feedback: each but one without bits and that of RFC 3168, for what may come (section 3.1.3).
pub(crate) fn is_asked(syn: Flags) -> bool {
    !matches!(ace(syn), 0b000 | 0b011)
}

/// The receiver's half: what has arrived, and how it is reported.
#[derive(Clone, Debug)]
pub(crate) struct Report {
    /// r.cep: packets of any kind that arrived with CE.
    ce_packets: u64,
    /// r.e1b, r.ceb and r.e0b: payload bytes by ECN field.
    ect1: u32,
    ce: u32,
    ect0: u32,
    /// So many counters an option must have to hold all that have moved.
    needed: usize,
    /// The ECN field of the last packet.
    last: Ecn,
    /// Packets with CE since the last segment left.
    unreported: u32,
    /// This end may send the option.
    option: bool,
    /// The peer has sent the option; as in Linux, none leaves before.
    option_passes: bool,
    /// An option left together with a report of this duplicate (its first number).
    beside_duplicate: Option<SeqNumber>,
    /// The ECN field of the last SYN that arrived, for SYN-ACKs.
    syn: Ecn,
    /// The next ACK without data reports this field of a SYN-ACK.
    reflects: Option<Ecn>,
    /// No segment without SYN has arrived.
    awaits_first: bool,
    /// Nothing so far forbids ECN-capable packets.
    capable: bool,
    /// The timestamp of the segment at hand is later than those before.
    pub timestamp_advanced: bool,
}

impl Report {
    /// At the arrival of a SYN. `option`: it may be sent.
    pub fn new(option: bool, syn: Ecn) -> Self {
        Report {
            ce_packets: FIRST_COUNT,
            ect1: 1,
            ce: 0,
            ect0: 1,
            needed: 1,
            last: Ecn::NotEct,
            unreported: 0,
            option,
            option_passes: false,
            beside_duplicate: None,
            syn,
            reflects: None,
            awaits_first: true,
            capable: true,
            timestamp_advanced: false,
        }
    }
    /// Between two ends that have had no handshake.
    pub fn established(option: bool) -> Self {
        Report { option_passes: true, awaits_first: false, ..Report::new(option, Ecn::NotEct) }
    }

    /// Nothing so far forbids ECN-capable packets.
    pub fn is_capable(&self) -> bool {
        self.capable
    }
    /// The option is sent, or not any more.
    pub fn set_option(&mut self, on: bool) {
        self.option = on;
    }

    // The handshake.

    /// The same SYN, or one that no longer asks, again. A client that has sent both kinds has met a path that may drop the one:
    /// nothing is ECN-capable (section 3.1.5).
    pub fn syn_repeated(&mut self, flags: Flags, ecn: Ecn) {
        self.syn = ecn;
        self.capable &= is_asked(flags);
    }
    /// The bits of the SYN-ACK that leaves after so many others. The third has none, in case that a path drops them; nothing is
    /// ECN-capable from then on (section 3.1.5).
    pub fn syn_ack_flags(&mut self, before: u32) -> Flags {
        self.capable &= before < 2;
        if before < 2 { reflection(self.syn) } else { Flags::NONE }
    }
    /// The option of that SYN-ACK; a second one leaves without (section 3.2.3.2.2).
    pub fn syn_ack_option(&self, before: u32) -> Option<EcnCounters> {
        (self.option && before == 0).then(|| self.counters(EcnCounters::MAX))
    }
    /// A SYN-ACK has arrived with this field; the next ACK reports it (table 3).
    pub fn reflect(&mut self, ecn: Ecn) {
        self.reflects = Some(ecn);
    }
    /// The next segment is to be an ACK without data, which reports the field of a SYN-ACK (section 3.2.2.1).
    pub fn awaits_bare_ack(&self) -> bool {
        self.reflects.is_some()
    }
    /// The same for the SYN-ACK that opens the connection: its mark counts (section 3.2.2.2).
    pub fn syn_ack_arrived(&mut self, segment: &Segment, ecn: Ecn) {
        self.reflect(ecn);
        self.ce_packets += u64::from(ecn == Ecn::Ce);
        self.note_option(segment);
    }
    /// The peer reports with which field the SYN or SYN-ACK of this end arrived, which left without (tables 2 and 4). One that a
    /// path has changed forbids ECN-capable packets where that is checked (section 3.2.2.3). Returns whether it met congestion.
    pub fn peer_reflects(&mut self, flags: Flags, checked: bool) -> bool {
        let ecn = reflected(flags);
        self.capable &= !checked || matches!(ecn, None | Some(Ecn::NotEct));
        ecn == Some(Ecn::Ce)
    }

    // What arrives.

    fn note_option(&mut self, segment: &Segment) {
        self.option_passes |= segment.options.ecn_counters.is_some();
    }
    /// A segment has arrived in the window, or a duplicate. True if it is to be reported at once (section 3.2.2.5.1; where
    /// the option reports it, any change of the field in data, as in Linux).
    pub fn arrived(&mut self, segment: &Segment, ecn: Ecn) -> bool {
        self.note_option(segment);
        if std::mem::take(&mut self.awaits_first) && ace(segment.flags) == 0 {
            // Section 3.2.2.4: the path clears the field, so marks would go unseen.
            self.capable = false;
        }
        let payload = segment.payload_len;
        let counter = match ecn {
            Ecn::NotEct => None,
            Ecn::Ect1 => Some((1, &mut self.ect1)),
            Ecn::Ce => Some((2, &mut self.ce)),
            Ecn::Ect0 => Some((3, &mut self.ect0)),
        };
        if let Some((place, counter)) = counter.filter(|_| payload > 0) {
            *counter = counter.wrapping_add(payload);
            self.needed = self.needed.max(place);
        }
        if ecn == Ecn::Ce {
            self.ce_packets += 1;
            self.unreported += 1;
        }
        let before = std::mem::replace(&mut self.last, ecn);
        if payload == 0 {
            return ecn == Ecn::Ce && self.unreported >= BARE_MARKS_TO_REPORT;
        }
        let begins = if self.sends_option() { ecn != before } else { ecn == Ecn::Ce && before != Ecn::Ce };
        begins || self.unreported >= MARKS_TO_REPORT
    }
    /// Data that had arrived before came again. If their last report had an option, options may be what the path drops: they are
    /// given up (section 3.2.3.2.2).
    pub fn duplicate_arrived(&mut self, segment: &Segment) {
        if self.beside_duplicate == Some(segment.seq) {
            self.option = false;
        }
    }

    // What leaves.

    /// The ACE field of every segment.
    pub fn flags(&self) -> Flags {
        ace_flags(self.ce_packets)
    }
    fn sends_option(&self) -> bool {
        self.option && self.option_passes
    }
    fn counters(&self, count: usize) -> EcnCounters {
        EcnCounters::new(EcnOrder::Ect1First, &[self.ect1, self.ce, self.ect0][..count])
    }
    /// How many SACK blocks, of so many that fit, and which option share so many bytes of options. Up to two blocks come before the option; of what is
    /// left the counters that have moved, then further blocks, then the other counters.
    pub fn share(&self, room: u32, blocks: usize) -> (usize, Option<EcnCounters>) {
        let sack_len = SackBlocks::wire_len_of;
        let least = EcnCounters::wire_len_of(self.needed);
        let fitting = (0..=blocks).rev().find(|blocks| least + sack_len(*blocks) <= room);
        match fitting.filter(|fitting| self.sends_option() && *fitting >= blocks.min(2)) {
            Some(blocks) => {
                let left = room - sack_len(blocks);
                let count = (self.needed..=EcnCounters::MAX)
                    .rev()
                    .find(|count| EcnCounters::wire_len_of(*count) <= left)
                    .unwrap_or(self.needed);
                (blocks, Some(self.counters(count)))
            }
            None => (blocks, None),
        }
    }
    /// A segment leaves.
    pub fn sent(&mut self, segment: &mut Segment) {
        self.unreported = 0;
        // Only an ACK without data and SACK blocks is read so (section 3.2.2.1); what comes later is a counter.
        let is_bare = segment.payload_len == 0 && segment.options.sack.is_empty();
        if let Some(ecn) = self.reflects.take().filter(|_| is_bare) {
            segment.flags = Flags(segment.flags.0 & !ACE.0) | reflection(ecn);
        }
        let first = segment.options.sack.as_slice().first();
        let duplicate = first.map(|block| block.0).filter(|start| start.distance_from(segment.ack) < 0);
        if segment.options.ecn_counters.is_some() && duplicate.is_some() {
            self.beside_duplicate = duplicate;
        }
    }
}

/// What an ACK reports.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reported {
    /// ACE field.
    pub ace: u64,
    pub counters: Option<EcnCounters>,
    /// Its timestamp is later than those before, so that it was not overtaken.
    pub advanced: bool,
}

/// The sender's half: what the peer has reported.
#[derive(Clone, Debug)]
pub(crate) struct Marks {
    /// s.cep.
    ce_packets: u64,
    /// s.e0b, s.ceb and s.e1b as the last option had them.
    ect0: u32,
    ce: u32,
    ect1: u32,
    /// Bytes with CE that were estimated without an option, and that the next one will report.
    estimated: u64,
    /// Mean of packets for an ACK; 0 before the first.
    packets_per_ack: f64,
    totals: EcnDelivered,
}

/// What of the packets sent has arrived with which ECN field, as the peer reports by AccECN.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct EcnDelivered {
    /// Packets with congestion experienced, of any kind.
    pub ce_packets: u64,
    /// Payload bytes with congestion experienced, where the peer sends the option.
    pub ce_bytes: u64,
    /// Payload bytes with ECT(0), likewise.
    pub ect0_bytes: u64,
    /// Payload bytes with ECT(1), likewise.
    pub ect1_bytes: u64,
}

impl Marks {
    /// At the end of the handshake, whose SYN-ACK may have met congestion.
    pub fn new(syn_ack_marked: bool) -> Self {
        let marked = u64::from(syn_ack_marked);
        Marks {
            ce_packets: FIRST_COUNT + marked,
            ect0: 1,
            ce: 0,
            ect1: 1,
            estimated: 0,
            packets_per_ack: 0.0,
            totals: EcnDelivered { ce_packets: marked, ..EcnDelivered::default() },
        }
    }
    pub fn totals(&self) -> EcnDelivered {
        self.totals
    }

    /// An ACK has delivered so many bytes, in segments of up to `mss`. Returns packets and payload bytes that it newly reports
    /// as marked; nothing of an ACK that delivers nothing and may have been overtaken (sections 3.2.2.2 and A.1).
    pub fn take(&mut self, reported: &Reported, delivered: u64, mss: u64) -> (u64, u64) {
        if delivered == 0 && !reported.advanced {
            return (0, 0);
        }
        let packets = delivered.div_ceil(mss);
        let thinned_out = self.count_ack(packets);
        let bytes = reported.counters.map(|counters| self.take_counters(&counters));
        let packets = self.packets(reported.ace, packets, bytes, mss, thinned_out);
        self.ce_packets += packets;
        self.totals.ce_packets += packets;
        let marked = match bytes {
            Some(bytes) => bytes - bytes.min(std::mem::take(&mut self.estimated)),
            None => {
                let estimate = (packets * mss).min(delivered);
                self.estimated += estimate;
                estimate
            }
        };
        (packets, marked)
    }

    /// True if ACKs cover many packets by their nature.
    fn count_ack(&mut self, packets: u64) -> bool {
        let packets = packets as f64;
        if self.packets_per_ack == 0.0 {
            self.packets_per_ack = packets;
        } else {
            self.packets_per_ack += MEAN_GAIN * (packets - self.packets_per_ack);
        }
        self.packets_per_ack > THINNED_OUT
    }

    /// Takes in an option; returns the bytes with CE that are news. A counter that is behind was overtaken.
    fn take_counters(&mut self, counters: &EcnCounters) -> u64 {
        fn news(counter: &mut u32, now: Option<u32>) -> u64 {
            let grown = now.map_or(0, |now| now.wrapping_sub(*counter) & 0xff_ffff);
            if grown >= 1 << 23 {
                return 0;
            }
            *counter = counter.wrapping_add(grown);
            u64::from(grown)
        }
        let ce = news(&mut self.ce, counters.ce());
        self.totals.ce_bytes += ce;
        self.totals.ect0_bytes += news(&mut self.ect0, counters.ect0());
        self.totals.ect1_bytes += news(&mut self.ect1, counters.ect1());
        ce
    }

    /// Packets that ACE reports as marked. It may have wrapped where an ACK covers more packets than it can count; then it is
    /// taken to have, unless bytes in the option contradict (section 3.2.2.5.2, appendix A.2).
    fn packets(&self, ace: u64, covered: u64, bytes: Option<u64>, mss: u64, thinned_out: bool) -> u64 {
        let least = ace.wrapping_sub(self.ce_packets) & 7;
        if covered <= 7 {
            return least;
        }
        let most = covered - ((covered - least) & 7);
        match bytes {
            // The fewest of this remainder that can hold so many bytes.
            Some(bytes) => most.min(least + bytes.div_ceil(mss).saturating_sub(least).next_multiple_of(8)),
            None if thinned_out => least,
            None => most,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reported(ace: u64) -> Reported {
        Reported { ace, counters: None, advanced: false }
    }
    fn with_ce(ace: u64, ce: u32) -> Reported {
        Reported { counters: Some(EcnCounters::new(EcnOrder::Ect0First, &[1, ce])), ..reported(ace) }
    }

    /// Tables 2 and 3: what is reported is understood as such, and no such field is all zeros or all ones.
    #[test]
    fn a_reflection_is_its_own_field() {
        for (ecn, field) in [(Ecn::NotEct, 2), (Ecn::Ect1, 3), (Ecn::Ect0, 4), (Ecn::Ce, 6)] {
            assert_eq!((ace(reflection(ecn)), reflected(reflection(ecn))), (field, Some(ecn)));
            assert_eq!(Feedback::granted(reflection(ecn)), Feedback::Accurate);
        }
        let granted = |field| Feedback::granted(ace_flags(field));
        assert_eq!(
            [0, 1, 5, 7].map(granted),
            [Feedback::None, Feedback::Classic, Feedback::Accurate, Feedback::None]
        );
    }

    /// All ACKs of a connection without marks have ACE 5, which has the bit ECE set (github.com/L4STeam/linux issue 21): no congestion.
    #[test]
    fn the_first_count_is_no_mark() {
        let mut marks = Marks::new(false);
        for _ in 0..10 {
            assert_eq!(marks.take(&reported(5), 1000, 1000), (0, 0));
        }
    }

    /// The field counts on beyond 7.
    #[test]
    fn the_field_wraps() {
        let mut marks = Marks::new(false);
        for mark in 1..=20 {
            assert_eq!(marks.take(&reported((5 + mark) & 7), 2000, 1000), (1, 1000));
        }
        assert_eq!(marks.totals().ce_packets, 20);
    }

    /// Appendix A.2.1: the number of packets covered that leaves the same remainder (FreeBSD D37281: an ACK of many segments).
    #[test]
    fn an_ack_of_many_packets_is_taken_at_its_worst() {
        for (covered, ace, marked) in [(7, 5, 0), (8, 5, 8), (10, 6, 9), (10, 5, 8), (17, 4, 15), (17, 6, 17)]
        {
            let mut marks = Marks::new(false);
            // One ACK for one packet, so that such an ACK is rare.
            marks.take(&reported(5), 1000, 1000);
            assert_eq!(
                marks.take(&reported(ace), covered * 1000, 1000).0,
                marked,
                "{covered} packets, {ace}"
            );
        }
        // Where each ACK is of that kind, it is taken as it stands.
        assert_eq!(Marks::new(false).take(&reported(6), 10_000, 1000), (1, 1000));
    }

    /// Appendix A.2.2: bytes with CE show whether the field has wrapped.
    #[test]
    fn bytes_tell_whether_the_field_has_wrapped() {
        for (ce, marked) in [(0, 1), (1000, 1), (9000, 9), (1001, 9), (4499, 9), (4500, 9)] {
            let mut marks = Marks::new(false);
            marks.take(&reported(5), 1000, 1000);
            assert_eq!(marks.take(&with_ce(6, ce), 10_000, 1000), (marked, u64::from(ce)), "{ce}");
        }
    }

    /// What was estimated without an option is not counted twice.
    #[test]
    fn an_option_corrects_the_estimate() {
        let mut marks = Marks::new(false);
        assert_eq!(marks.take(&reported(6), 3000, 1000), (1, 1000));
        assert_eq!(marks.take(&with_ce(7, 1700), 3000, 1000), (1, 700));
        // A counter of 24 bits goes on beyond its end, and one that is behind is old.
        let mut marks = Marks { ce: 0xff_fff0, ..Marks::new(false) };
        assert_eq!(marks.take(&with_ce(6, 0x10), 3000, 1000), (1, 0x20));
        assert_eq!(marks.take(&with_ce(6, 0xff_fff0), 3000, 1000), (0, 0));
    }

    /// Section 3.2.2.5.1: the first mark, and each second one, are reported at once; a change where the option reports it.
    #[test]
    fn when_a_packet_is_reported_at_once() {
        let data = Segment { flags: ace_flags(5), payload_len: 1000, ..Segment::default() };
        let mut report = Report::new(false, Ecn::NotEct);
        let fields = [Ecn::Ect0, Ecn::Ce, Ecn::Ect0, Ecn::Ect0, Ecn::Ce, Ecn::Ce, Ecn::Ce, Ecn::Ect0];
        let at_once = fields.map(|ecn| {
            let due = report.arrived(&data, ecn);
            if due {
                report.sent(&mut Segment { payload_len: 0, ..data });
            }
            due
        });
        assert_eq!(at_once, [false, true, false, false, true, false, true, false]);
        let bare = Segment { payload_len: 0, ..data };
        let mut report = Report::new(false, Ecn::NotEct);
        assert_eq!([Ecn::Ce; 4].map(|ecn| report.arrived(&bare, ecn)), [false, false, true, true]);
        let mut report = Report::established(true);
        assert_eq!(
            [Ecn::Ect1, Ecn::Ect1, Ecn::Ect0].map(|ecn| report.arrived(&data, ecn)),
            [true, false, true]
        );
    }

    /// Bytes for options go to two SACK blocks, then to the counters that have moved, then to others.
    #[test]
    fn options_share_their_bytes() {
        let mut report = Report::established(true);
        let data = Segment { flags: ace_flags(5), payload_len: 1000, ..Segment::default() };
        let mut of = |room, blocks, ecn| {
            report.arrived(&data, ecn);
            let (blocks, option) = report.share(room, blocks);
            (blocks, option.map(|option| option.len()))
        };
        assert_eq!(of(28, 1, Ecn::Ect1), (1, Some(3)));
        assert_eq!(of(28, 2, Ecn::Ect1), (2, Some(2)));
        assert_eq!(of(28, 3, Ecn::Ce), (2, Some(2)));
        assert_eq!(of(40, 3, Ecn::Ect0), (3, Some(3)));
        assert_eq!(of(40, 4, Ecn::Ect0), (3, Some(3)));
        assert_eq!(of(28, 3, Ecn::Ect0), (3, None));
        assert_eq!(of(28, 0, Ecn::Ect0), (0, Some(3)));
    }
}
