//! The connection: state machine and segment processing of RFC 9293 section 3.10, around a sender and a receiver.

mod inspection;
mod opening;
mod output;
mod prediction;
mod timers;

use crate::accurate_ecn::{Marks, Report, Reported, ace};
use crate::ack_congestion::INITIAL_RATIO;
use crate::challenge::Challenges;
use crate::event::Events;
use crate::handshake::{Agreement, Offer};
use crate::limits::LimitClock;
use crate::probing::Probing;
use crate::receiver::Receiver;
use crate::sender::{Acknowledgment, EcnFeedback, Sender};
use crate::{Config, Event, Ports, State, Stats};
use longhaul_cc::{CongestionControl, EcnUse};
use longhaul_segment::{Ecn, Flags, Segment, SeqNumber, Timestamps};
use longhaul_units::{Duration, Instant};
use prediction::Expected;

/// RFC 7323 section 5.5: TS.Recent is not to be trusted after so long.
const TIMESTAMP_VALIDITY: Duration = Duration::from_secs(24 * 24 * 3600);

/// One end of a connection: sender, receiver and state machine.
///
/// Positions inside are 64 bits wide: the SYN is 0, the first byte is 1, the FIN follows the last byte.
///
/// The order of the fields, here and in the sender and the receiver, is that of use: a simulation has thousands of
/// connections, and what counts then is how many cache lines a segment touches.
#[repr(C)]
pub struct Connection {
    state: State,
    /// ECN has been negotiated (RFC 3168 section 6.1.1), with that RFC's feedback.
    ecn: bool,
    /// Congestion control goes by how much was marked: this end echoes each mark as it arrived (RFC 8257 section 3.2).
    exact_echo: bool,
    /// The ECN field of what RFC 3168 leaves incapable: pure ACKs, retransmissions, probes.
    control_ecn: Ecn,
    /// As receiver: the bits that every segment carries. ECE if congestion was experienced, until CWR comes; the ACE field where
    /// feedback is accurate.
    echo: Flags,
    all_acked_reported: bool,
    /// This end has sent the first SYN, or both ends have at once.
    active: bool,
    /// The peer reports that this end's SYN-ACK met congestion.
    syn_ack_marked: bool,
    /// A SYN or SYN-ACK is to be sent.
    syn_due: bool,
    /// The SYN or the SYN-ACK has been sent more than once.
    syn_repeated: bool,
    /// A keepalive probe is to be sent.
    keepalive_due: bool,
    /// The application has closed and reads no more.
    reading_stopped: bool,
    ports: Ports,
    isn: SeqNumber,
    peer_isn: SeqNumber,
    agreed: Agreement,
    /// A segment outside the connection's own flow: RST.
    reply: Option<Box<Segment>>,
    last_received: Instant,
    /// TIME-WAIT or keepalive.
    idle_deadline: Instant,
    /// SND.WL1 and SND.WL2: the segment that updated the window last.
    window_seq: u64,
    window_ack: u64,
    events: Events,
    /// What has arrived with which ECN field, where feedback is accurate (RFC 9768).
    accurate: Option<Box<Report>>,
    receiver: Receiver,
    sender: Sender,
    limits: LimitClock,
    stats: Stats,

    // What follows is looked at rarely.
    /// TS.Recent (RFC 7323 section 4.3) and when it was set.
    recent_timestamp: u32,
    recent_timestamp_at: Instant,
    /// When the first SYN left, or the first SYN-ACK of a passive open.
    syn_sent_at: Option<Instant>,
    /// SYN-ACKs sent, or SYNs where none was.
    syns_sent: u32,
    /// Expirations of the timer for the SYN or SYN-ACK.
    syn_timeouts: u32,
    /// A SYN with text or FIN that waits for the end of a simultaneous open.
    early_syn: Option<Box<Segment>>,
    keepalive_probes: u32,
    last_keepalive: Instant,
    peer_offer: Option<Offer>,
    /// Before the connection is established: the probes with which it begins.
    probing: Option<Box<Probing>>,
    challenges: Challenges,
    config: Box<Config>,
}

impl Connection {
    fn new(
        config: Config,
        cc: Box<dyn CongestionControl>,
        isn: SeqNumber,
        ports: Ports,
        state: State,
    ) -> Self {
        let probing = cc.probe().map(|probe| Box::new(Probing::new(probe)));
        Connection {
            probing,
            sender: Sender::new(&config, cc),
            receiver: Receiver::new(&config),
            state,
            isn,
            peer_isn: SeqNumber(0),
            ports,
            agreed: Agreement { mss: config.mss, ..Agreement::default() },
            ecn: false,
            exact_echo: false,
            control_ecn: Ecn::NotEct,
            echo: Flags::NONE,
            accurate: None,
            active: state == State::SynSent,
            all_acked_reported: true,
            window_seq: 0,
            window_ack: 0,
            stats: Stats::default(),
            limits: LimitClock::new(),
            events: Events::default(),
            last_received: Instant::ZERO,
            idle_deadline: Instant::FAR_FUTURE,
            recent_timestamp: 0,
            recent_timestamp_at: Instant::ZERO,
            syn_due: false,
            syn_ack_marked: false,
            syn_repeated: false,
            syn_sent_at: None,
            syns_sent: 0,
            syn_timeouts: 0,
            early_syn: None,
            keepalive_due: false,
            reading_stopped: false,
            keepalive_probes: 0,
            last_keepalive: Instant::ZERO,
            reply: None,
            peer_offer: None,
            challenges: Challenges::default(),
            config: Box::new(config),
        }
    }

    /// Active open: the SYN goes out at the first `poll_transmit`.
    pub fn connect(config: Config, cc: Box<dyn CongestionControl>, isn: SeqNumber, ports: Ports) -> Self {
        let mut connection = Self::new(config, cc, isn, ports, State::SynSent);
        connection.syn_due = true;
        connection
    }
    /// Passive open: waits for a SYN.
    pub fn listen(config: Config, cc: Box<dyn CongestionControl>, isn: SeqNumber, ports: Ports) -> Self {
        Self::new(config, cc, isn, ports, State::Listen)
    }
    /// Established from the start, as if a handshake with a peer of the same configuration had taken place. Both ends
    /// have initial sequence number 0, so the first byte is number 1.
    pub fn established(config: Config, cc: Box<dyn CongestionControl>, ports: Ports) -> Self {
        let peer = config.clone();
        Self::established_with(config, &peer, cc, ports)
    }
    /// The same with a peer whose configuration differs and which takes this end to be of its own: it scales windows, and has
    /// options, as two ends of its configuration do.
    pub fn established_with(
        config: Config,
        peer: &Config,
        cc: Box<dyn CongestionControl>,
        ports: Ports,
    ) -> Self {
        let mut connection = Self::new(config, cc, SeqNumber(0), ports, State::Established);
        let offer = Offer::of_config(peer);
        let mss = Offer::of_config(&connection.config).agree(&offer).mss;
        connection.agreed = offer.agree(&offer);
        connection.agreed.mss = connection.agreed.mss.min(mss);
        connection.agreed.ack_congestion_control &= connection.config.ack_congestion_control;
        connection.agree_on_ecn_with(peer);
        let agreed = connection.agreed;
        connection.receiver.synchronize(agreed.receive_shift, agreed.sack);
        connection.receiver.open_window();
        connection.begin_ack_congestion_control();
        let window = peer.first_window().min(u64::from(u16::MAX) << agreed.send_shift);
        connection.sender.begin(Instant::ZERO, agreed.mss, agreed.sack, window);
        connection.events.push(Event::Connected);
        connection.start_keepalive(Instant::ZERO);
        connection
    }

    /// RFC 5690, if both ends have offered it.
    fn begin_ack_congestion_control(&mut self) {
        if self.agreed.ack_congestion_control {
            self.receiver.set_ack_ratio(INITIAL_RATIO);
            self.sender.control_acks();
        }
    }

    /// ECN between two ends that have had no handshake.
    fn agree_on_ecn_with(&mut self, peer: &Config) {
        let both = self.config.ecn && peer.ecn;
        let accurate = both && self.config.accurate_ecn && peer.accurate_ecn;
        self.ecn = both && !accurate;
        if accurate {
            self.accurate = Some(Box::new(Report::established(self.config.accurate_ecn_option)));
        }
        self.begin_ecn(false);
    }

    /// What the two ends have agreed on begins to hold. `marked`: the peer reports that this end's SYN-ACK met congestion.
    fn begin_ecn(&mut self, marked: bool) {
        let asked = self.sender.cc().ecn();
        if self.accurate.is_some() {
            self.sender.begin_accurate_ecn(Marks::new(marked));
        }
        self.exact_echo = self.ecn && asked == EcnUse::Fraction;
        self.agreed.plain &= self.accurate.is_none() && !self.exact_echo;
        self.refresh_ecn();
    }
    /// The bits of what leaves from now on, where feedback is accurate.
    fn refresh_ecn(&mut self) {
        let Some(report) = &self.accurate else { return };
        self.echo = report.flags();
        self.control_ecn = match (report.is_capable(), self.sender.cc().ecn()) {
            (false, _) => Ecn::NotEct,
            (true, EcnUse::L4s) => Ecn::Ect1,
            (true, EcnUse::Classic | EcnUse::Fraction) => Ecn::Ect0,
        };
    }
    /// Send the option of accurate ECN feedback from now on, or not.
    pub fn set_accurate_ecn_option(&mut self, on: bool) {
        self.config.accurate_ecn_option = on;
        if let Some(report) = &mut self.accurate {
            report.set_option(on);
        }
    }

    // Segments that arrive.

    /// A segment has arrived. Poll for what is to be sent after each one: duplicate ACKs count.
    pub fn handle_segment(&mut self, now: Instant, segment: &Segment, ecn: Ecn) {
        if self.handle_expected(now, segment, ecn) == Expected::No {
            self.handle_unexpected(now, segment, ecn);
        }
    }

    /// [`Connection::handle_segment`] without header prediction: the same, slower. For tests that compare the two.
    #[doc(hidden)]
    pub fn handle_segment_in_full(&mut self, now: Instant, segment: &Segment, ecn: Ecn) {
        self.note_arrival(now);
        self.handle_unexpected(now, segment, ecn);
    }

    #[inline(always)]
    fn note_arrival(&mut self, now: Instant) {
        self.stats.segments_received += 1;
        self.last_received = now;
    }

    #[inline(never)]
    fn handle_unexpected(&mut self, now: Instant, segment: &Segment, ecn: Ecn) {
        match self.state {
            State::Closed => {}
            State::Listen => self.on_segment_in_listen(now, segment, ecn),
            State::SynSent => self.on_segment_in_syn_sent(now, segment, ecn),
            _ => self.on_segment(now, segment, ecn),
        }
    }

    /// RFC 9293 section 3.10.7.4, from SYN-RECEIVED on.
    fn on_segment(&mut self, now: Instant, segment: &Segment, ecn: Ecn) {
        let Some(seq) = segment.seq.expand(self.peer_isn, self.receiver.next) else {
            return self.refuse(now, segment);
        };
        let payload = u64::from(segment.payload_len);
        let fin = segment.flags.contains(Flags::FIN);
        let end = seq + payload;
        // RFC 7323 section 5.3: PAWS (R1), the window (R2), and only then TS.Recent (R3).
        if self.agreed.timestamps && !self.passes_paws(now, segment) {
            return;
        }
        // First, the sequence number.
        if !self.is_acceptable(seq, end + u64::from(fin), segment) {
            return self.on_unacceptable(now, segment, ecn, (seq, end), fin);
        }
        if self.accurate.is_some() {
            self.count_for_accurate_ecn(segment, ecn);
        }
        if self.agreed.timestamps && (self.config.answer_unsent_acks || !self.acknowledges_unsent(segment)) {
            self.record_timestamp(now, segment, seq);
        }
        // Second to fourth: RST and SYN.
        if segment.flags.intersects(Flags::RST | Flags::SYN) {
            return self.on_rst_or_syn(now, segment, ecn, seq);
        }
        // Fifth, the ACK.
        if !segment.flags.contains(Flags::ACK) || !self.on_ack_field(now, segment, ecn, seq) {
            return;
        }
        // Seventh, the payload, and eighth, the FIN.
        if payload > 0 || fin {
            self.on_payload(now, segment, ecn, seq, end, fin);
        }
    }

    /// The four cases of RFC 9293 section 3.10.7.4. A segment without payload may also stand at the window's right
    /// edge, where the peer's ACKs are when it has filled the window, or where the last ACK sent was, so that an ACK
    /// that was overtaken is of use.
    #[inline]
    fn is_acceptable(&self, seq: u64, end: u64, segment: &Segment) -> bool {
        let edge = self.receiver.right_edge();
        if segment.flags.contains(Flags::SYN) {
            return self.state == State::SynReceived && seq == 0;
        }
        if end == seq {
            return (self.receiver.last_acked <= seq || self.receiver.next == seq)
                && seq <= edge.max(self.receiver.next);
        }
        end > self.receiver.next && (seq < edge || (seq == edge && seq == self.receiver.next))
    }

    /// What lies outside the window is answered by an ACK; duplicates are reported.
    #[cold]
    fn on_unacceptable(
        &mut self,
        now: Instant,
        segment: &Segment,
        ecn: Ecn,
        (seq, end): (u64, u64),
        fin: bool,
    ) {
        if segment.flags.contains(Flags::RST) {
            return;
        }
        if segment.flags.contains(Flags::SYN) {
            if let Some(report) = self.accurate.as_mut().filter(|_| segment.flags.contains(Flags::ACK)) {
                // The peer's SYN-ACK again, and perhaps with another ECN field (RFC 9768 section 3.2.2.1).
                report.reflect(ecn);
            }
            // RFC 5961 section 4.
            return self.challenge(now);
        }
        if end + u64::from(fin) == seq {
            return self.challenge(now);
        }
        // No loop can come of data and FINs, which a timer sends again.
        self.receiver.ack_now = true;
        if end + u64::from(fin) <= self.receiver.next && end > seq {
            if let Some(report) = &mut self.accurate {
                report.duplicate_arrived(segment);
                self.count_for_accurate_ecn(segment, ecn);
            }
            self.receiver.on_data(now, seq, end, fin, &mut self.stats);
        } else if end > seq {
            self.stats.beyond_window_bytes += end - seq;
        }
        if self.state == State::TimeWait && fin {
            self.enter_time_wait(now);
        }
    }
    /// A number that no stream of ours can have.
    #[cold]
    fn refuse(&mut self, now: Instant, segment: &Segment) {
        if !segment.flags.contains(Flags::RST) {
            self.challenge(now);
        }
    }
    /// Answers a segment from outside the stream, unless that has been done too often.
    #[cold]
    fn challenge(&mut self, now: Instant) {
        self.receiver.ack_now |= self.challenges.allow(now);
    }

    #[cold]
    fn on_rst_or_syn(&mut self, now: Instant, segment: &Segment, ecn: Ecn, seq: u64) {
        if segment.flags.contains(Flags::RST) {
            // RFC 5961 section 3.2: only the exact number resets; another in the window is challenged, and one outside,
            // where an ACK would still be of use, is dropped.
            if seq == self.receiver.next {
                self.fail(Event::Reset);
            } else if seq > self.receiver.next && seq < self.receiver.right_edge() {
                self.challenge(now);
            }
        } else if !segment.flags.contains(Flags::ACK) {
            // SYN-RECEIVED, and the peer's SYN again: our SYN-ACK was lost.
            self.syn_due = true;
            if let Some(report) = &mut self.accurate {
                report.syn_repeated(segment.flags, ecn);
            }
        } else if self.complete_handshake(now, segment, ecn) {
            // Simultaneous open (RFC 9293 figure 8): the peer's SYN-ACK.
            self.receiver.ack_now = true;
            self.on_syn_text(now, segment, ecn);
        }
    }

    /// True if the payload is to be processed.
    #[inline]
    fn on_ack_field(&mut self, now: Instant, segment: &Segment, ecn: Ecn, seq: u64) -> bool {
        let opens = self.state == State::SynReceived;
        if opens && !self.complete_handshake(now, segment, ecn) {
            return false;
        }
        let Some(ack) = segment.ack.expand(self.isn, self.sender.una) else {
            // A number from before the stream.
            return self.on_old_ack(now, segment);
        };
        if ack > self.sender.acceptable_ack() {
            if self.config.answer_unsent_acks {
                self.challenge(now);
            }
            return false;
        }
        if ack < self.sender.una {
            self.sender.hear_overtaken_ack(ack);
            let sensible = self.on_old_ack(now, segment);
            if sensible && !segment.options.sack.is_empty() && self.sender.takes_old_sacks() {
                self.take_old_sack(now, segment, ack);
            }
            return sensible;
        }
        let fresh = self.window_seq < seq || (self.window_seq == seq && self.window_ack <= ack);
        let window_edge = if fresh {
            self.window_seq = seq;
            self.window_ack = ack;
            Some(ack + (u64::from(segment.window) << self.agreed.send_shift))
        } else {
            None
        };
        let timestamp_rtt = if self.agreed.timestamps { self.timestamp_rtt(now, segment) } else { None };
        self.sender.allow_burst();
        let acknowledgment = Acknowledgment {
            now,
            ack,
            window_edge,
            sack: &segment.options.sack,
            isn: self.isn,
            bare: segment.payload_len == 0 && !segment.flags.intersects(Flags::FIN | Flags::SYN),
            ecn: self.ecn_feedback(segment, opens),
            marked: ecn == Ecn::Ce,
            timestamp_rtt,
        };
        if self.sender.is_old_news(&acknowledgment) {
            return true;
        }
        self.sender.on_ack(&acknowledgment, &mut self.stats, &mut self.events);
        if self.sender.una == self.sender.max {
            self.on_nothing_in_flight(now);
        }
        self.state != State::Closed
    }

    /// What an ACK reports of marks. The ACE field of the one that opens the connection is no counter, and one that a path may have
    /// cleared is none either: then its feedback is not used.
    #[inline]
    fn ecn_feedback(&self, segment: &Segment, opens: bool) -> EcnFeedback {
        if self.ecn && segment.flags.contains(Flags::ECE) {
            return EcnFeedback::Echo;
        }
        match &self.accurate {
            Some(report) if !opens && report.is_capable() => EcnFeedback::Accurate(Reported {
                ace: ace(segment.flags),
                counters: segment.options.ecn_counters,
                advanced: report.timestamp_advanced,
            }),
            _ => EcnFeedback::None,
        }
    }

    fn acknowledges_unsent(&self, segment: &Segment) -> bool {
        let ack = segment.ack.expand(self.isn, self.sender.una);
        segment.flags.contains(Flags::ACK) && ack.is_some_and(|ack| ack > self.sender.acceptable_ack())
    }

    /// An ACK below SND.UNA. RFC 5961 section 5.2: one that is further below than the largest window ever offered discards
    /// its segment and is answered. True if the payload is to be processed.
    fn on_old_ack(&mut self, now: Instant, segment: &Segment) -> bool {
        let behind = SeqNumber::wrap(self.isn, self.sender.una).0.wrapping_sub(segment.ack.0);
        let sensible = self.sender.may_have_been_acked(u64::from(behind));
        if !sensible {
            self.challenge(now);
        }
        sensible
    }

    /// What an ACK below SND.UNA has SACKed.
    #[cold]
    fn take_old_sack(&mut self, now: Instant, segment: &Segment, ack: u64) {
        let timestamp_rtt = if self.agreed.timestamps { self.timestamp_rtt(now, segment) } else { None };
        self.sender.allow_burst();
        let acknowledgment = Acknowledgment {
            now,
            ack,
            window_edge: None,
            sack: &segment.options.sack,
            isn: self.isn,
            bare: false,
            ecn: EcnFeedback::None,
            marked: false,
            timestamp_rtt,
        };
        self.sender.on_ack(&acknowledgment, &mut self.stats, &mut self.events);
    }

    fn on_nothing_in_flight(&mut self, now: Instant) {
        if !self.all_acked_reported && self.sender.all_acked() {
            self.all_acked_reported = true;
            self.events.push(Event::AllAcked);
        }
        if self.sender.fin_acked() {
            match self.state {
                State::FinWait1 => self.state = State::FinWait2,
                State::Closing => self.enter_time_wait(now),
                State::LastAck => self.finish(),
                _ => {}
            }
        }
    }

    /// A segment in the window counts, whatever it carries (RFC 9768 section 3.2).
    #[inline(never)]
    fn count_for_accurate_ecn(&mut self, segment: &Segment, ecn: Ecn) {
        let Some(report) = &mut self.accurate else { return };
        let stamp = segment.options.timestamps.filter(|_| self.agreed.timestamps);
        report.timestamp_advanced =
            stamp.is_some_and(|stamp| (stamp.value.wrapping_sub(self.recent_timestamp) as i32) > 0);
        if segment.flags.contains(Flags::SYN) {
            return;
        }
        self.receiver.ack_now |= report.arrived(segment, ecn);
        self.stats.ce_received += u64::from(ecn == Ecn::Ce);
        self.refresh_ecn();
    }

    /// RFC 8257 section 3.2: the echo is that of the last packet. Where it changes, what was held back is acknowledged with the old
    /// one first.
    fn echo_exactly(&mut self, now: Instant, ecn: Ecn) {
        let echo = if ecn == Ecn::Ce { Flags::ECE } else { Flags::NONE };
        if echo != self.echo && self.receiver.next > self.receiver.last_acked && !self.receiver.ack_now {
            let mut ack = Segment::default();
            self.bare_ack(now, self.sender.max, &mut ack);
            self.stats.pure_acks_sent += 1;
            self.reply = Some(Box::new(ack));
        }
        self.echo = echo;
    }

    #[inline]
    fn on_payload(&mut self, now: Instant, segment: &Segment, ecn: Ecn, seq: u64, end: u64, fin: bool) {
        if self.ecn {
            self.stats.ce_received += u64::from(ecn == Ecn::Ce);
            // RFC 3168 section 6.1.3: echo until the sender reports (CWR) that it has reduced its window.
            if self.exact_echo {
                self.echo_exactly(now, ecn);
            } else if ecn == Ecn::Ce {
                self.echo = Flags::ECE;
            } else if segment.flags.contains(Flags::CWR) {
                self.echo = Flags::NONE;
            }
        }
        if matches!(self.state, State::CloseWait | State::Closing | State::LastAck | State::TimeWait) {
            // Nothing can follow the FIN.
            return;
        }
        if self.reading_stopped && end > self.receiver.next {
            self.reply = reset_for(segment).map(Box::new);
            return self.fail(Event::Reset);
        }
        if let Some(ratio) = segment.options.ack_ratio.filter(|_| self.agreed.ack_congestion_control) {
            self.receiver.set_ack_ratio(u32::from(ratio.get()));
        }
        if self.receiver.adapts() {
            let age = if self.agreed.timestamps { self.timestamp_rtt(now, segment) } else { None };
            let echo = segment.options.timestamps.map(|timestamps| timestamps.echo);
            self.receiver.note_times(self.sender.rtt.rto(), echo.zip(age));
        }
        self.receiver.on_data(now, seq, end, fin, &mut self.stats);
        if self.receiver.finished() {
            self.on_peer_closed(now);
        }
    }

    #[cold]
    fn on_peer_closed(&mut self, now: Instant) {
        self.events.push(Event::PeerClosed);
        match self.state {
            State::SynReceived | State::Established => self.state = State::CloseWait,
            State::FinWait1 => self.state = State::Closing,
            State::FinWait2 => self.enter_time_wait(now),
            _ => {}
        }
    }

    fn enter_time_wait(&mut self, now: Instant) {
        self.state = State::TimeWait;
        self.idle_deadline = now + self.config.time_wait;
    }
    /// Both directions are done.
    fn finish(&mut self) {
        self.state = State::Closed;
        self.stop_timers();
        self.syn_due = false;
        self.events.push(Event::Closed);
    }
    /// The connection ends before its time.
    fn fail(&mut self, event: Event) {
        self.state = State::Closed;
        self.stop_timers();
        self.receiver.ack_now = false;
        self.syn_due = false;
        self.events.push(event);
    }
    fn stop_timers(&mut self) {
        self.sender.rto_deadline = Instant::FAR_FUTURE;
        self.sender.recovery_deadline = Instant::FAR_FUTURE;
        self.sender.persist_deadline = Instant::FAR_FUTURE;
        self.sender.pacing_deadline = Instant::FAR_FUTURE;
        self.receiver.ack_deadline = Instant::FAR_FUTURE;
        self.receiver.read_deadline = Instant::FAR_FUTURE;
        self.idle_deadline = Instant::FAR_FUTURE;
    }

    // Timestamps (RFC 7323).

    fn timestamp(&self, now: Instant) -> u32 {
        // Starts at 1: an echo of 0 is none.
        (now.as_nanos() / self.config.timestamp_tick.as_nanos().max(1)).wrapping_add(1) as u32
    }
    fn timestamp_rtt(&self, now: Instant, segment: &Segment) -> Option<Duration> {
        let echo = segment.options.timestamps?.echo;
        let ticks = self.timestamp(now).wrapping_sub(echo);
        let sane = echo != 0 && ticks < 1 << 31;
        sane.then(|| self.config.timestamp_tick.saturating_mul(u64::from(ticks.max(1))))
    }
    /// PAWS (section 5.3, R1). False: drop.
    fn passes_paws(&mut self, now: Instant, segment: &Segment) -> bool {
        // Section 5.2: a RST is not subject to it.
        if segment.flags.contains(Flags::RST) {
            return true;
        }
        // Section 3.2: once agreed the option is in every segment.
        let Some(Timestamps { value, .. }) = segment.options.timestamps else {
            return !self.config.timestamps_required;
        };
        let older = (value.wrapping_sub(self.recent_timestamp) as i32) < 0;
        if older && now.since(self.recent_timestamp_at) < TIMESTAMP_VALIDITY {
            self.stats.paws_rejected += 1;
            if segment.payload_len == 0 && !segment.flags.contains(Flags::FIN) {
                self.challenge(now);
            } else {
                self.receiver.ack_now = true;
            }
            return false;
        }
        true
    }
    /// The update of TS.Recent (sections 4.3 and 5.3, R3) by a segment that has passed PAWS and is acceptable.
    fn record_timestamp(&mut self, now: Instant, segment: &Segment, seq: u64) {
        if seq > self.receiver.last_acked || segment.flags.contains(Flags::RST) {
            return;
        }
        if let Some(Timestamps { value, .. }) = segment.options.timestamps {
            self.recent_timestamp = value;
            self.recent_timestamp_at = now;
        }
    }

    /// Section 3.2: a RST carries the option too, with an echo if it has an ACK. Its clock is read when it leaves.
    pub(super) fn send_reset(&mut self, mut reset: Segment) {
        if self.agreed.timestamps {
            let echo = if reset.flags.contains(Flags::ACK) { self.recent_timestamp } else { 0 };
            reset.options.timestamps = Some(Timestamps { value: 0, echo });
        }
        self.reply = Some(Box::new(reset));
    }

    // The application.

    /// The application adds bytes to the send buffer. After `close` it does nothing.
    pub fn write(&mut self, bytes: u64) {
        self.sender.write(bytes);
        self.sender.allow_burst();
        self.all_acked_reported = self.sender.all_acked();
    }
    /// The same; with `more`, the application is about to write on, and what does not fill a segment waits for it, for an ACK, or
    /// for the retransmission timeout where nothing is in flight (Linux: `MSG_MORE`).
    pub fn write_more(&mut self, bytes: u64, more: bool) {
        self.sender.expect_more(more);
        self.write(bytes);
    }
    /// What has been written so far ends a record: no segment, sent again or not, carries bytes before and after its end (Linux:
    /// `MSG_EOR`). What is in flight stays as it is.
    pub fn end_record(&mut self) {
        self.sender.end_record();
    }
    /// What does not fill a segment waits until this is taken back, at most the retransmission timeout where nothing is in flight
    /// (Linux: `TCP_CORK`).
    pub fn set_corked(&mut self, corked: bool) {
        self.sender.set_corked(corked);
        self.sender.allow_burst();
    }
    /// Switches Nagle's algorithm on or off (`TCP_NODELAY`).
    pub fn set_nagle(&mut self, nagle: bool) {
        self.config.nagle = nagle;
        self.sender.set_nagle(nagle);
        self.sender.allow_burst();
    }
    /// The connection is given up when sent data stay unacknowledged for longer (RFC 5482).
    pub fn set_user_timeout(&mut self, limit: Option<Duration>) {
        self.config.user_timeout = limit;
        self.sender.set_user_timeout(limit);
    }
    /// From now on there is always data to send.
    pub fn write_unlimited(&mut self) {
        self.sender.write_unlimited();
        self.sender.allow_burst();
        self.all_acked_reported = false;
    }
    /// What was sent so far is all there is: ends an unlimited source, or throws away what was not sent yet.
    pub fn stop_writing(&mut self) {
        self.sender.stop_writing();
    }
    /// FIN after all written data; receiving goes on. Ends an unlimited source too.
    pub fn close(&mut self) {
        if matches!(self.state, State::Listen | State::SynSent) {
            return self.finish();
        }
        self.sender.close();
        self.sender.allow_burst();
        self.all_acked_reported = self.sender.all_acked();
    }
    /// Closes for reading too: data that have not been read, or that arrive from now on, are lost, and a RST is sent for it
    /// (RFC 9293 section 3.6.1, SHLD-3), as when a socket is closed.
    pub fn close_both(&mut self) {
        if self.receiver.readable() > 0 {
            return self.abort();
        }
        self.reading_stopped = true;
        self.close();
    }
    /// Resets the connection: RST goes out at the next `poll_transmit`.
    pub fn abort(&mut self) {
        if self.state == State::SynReceived || (self.state.is_synchronized() && self.state != State::TimeWait)
        {
            self.send_reset(Segment {
                src_port: self.ports.local,
                dst_port: self.ports.remote,
                seq: SeqNumber::wrap(self.isn, self.sender.max),
                ack: SeqNumber::wrap(self.peer_isn, self.receiver.next),
                flags: Flags::RST | Flags::ACK,
                ..Segment::default()
            });
        }
        if self.state != State::Closed {
            self.fail(Event::Reset);
        }
    }
    /// The application reads up to `max` bytes; returns how many it got.
    pub fn read(&mut self, now: Instant, max: u64) -> u64 {
        self.receiver.read(now, max)
    }
}

/// The RST that answers a segment to a closed port (RFC 9293 section 3.10.7.1); `None` for a RST.
pub fn reset_for(segment: &Segment) -> Option<Segment> {
    if segment.flags.contains(Flags::RST) {
        return None;
    }
    let reset = Segment { src_port: segment.dst_port, dst_port: segment.src_port, ..Segment::default() };
    Some(if segment.flags.contains(Flags::ACK) {
        Segment { seq: segment.ack, flags: Flags::RST, ..reset }
    } else {
        Segment { ack: segment.seq + segment.seq_len(), flags: Flags::RST | Flags::ACK, ..reset }
    })
}
