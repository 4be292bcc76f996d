//! The handshake: SYN, SYN-ACK, simultaneous open (RFC 9293 sections 3.5 and 3.10.7.2 to 3.10.7.4).

use super::{Connection, reset_for};
use crate::accurate_ecn::{Feedback, Report, is_asked};
use crate::handshake::Offer;
use crate::{Event, State};
use longhaul_segment::{Ecn, Flags, Segment};
use longhaul_units::{Duration, Instant};

impl Connection {
    #[cold]
    pub(super) fn on_segment_in_listen(&mut self, now: Instant, segment: &Segment, ecn: Ecn) {
        if segment.flags.contains(Flags::RST) {
            return;
        }
        if segment.flags.contains(Flags::ACK) {
            self.reply = reset_for(segment).map(Box::new);
            return;
        }
        if !segment.flags.contains(Flags::SYN) {
            return;
        }
        if self.ports.remote == 0 {
            self.ports.remote = segment.src_port;
        }
        self.accept_syn(now, segment);
        self.answer_ecn(segment, ecn);
        self.state = State::SynReceived;
        self.syn_due = true;
    }

    #[cold]
    pub(super) fn on_segment_in_syn_sent(&mut self, now: Instant, segment: &Segment, ecn: Ecn) {
        let acknowledged = segment.flags.contains(Flags::ACK);
        let sent = self.syn_sent_at.is_some();
        if acknowledged && (!sent || segment.ack != self.isn + 1) {
            self.reply = reset_for(segment).map(Box::new);
            return;
        }
        if segment.flags.contains(Flags::RST) {
            if acknowledged {
                self.fail(Event::Reset);
            }
            return;
        }
        if !segment.flags.contains(Flags::SYN) {
            return;
        }
        self.accept_syn(now, segment);
        if acknowledged {
            self.agree_on_ecn(segment, ecn);
            if self.probing.is_some() {
                return self.on_echo(now, segment);
            }
            self.establish(now, u64::from(segment.window), segment);
            self.receiver.ack_now = true;
            self.on_syn_text(now, segment, ecn);
        } else {
            // Simultaneous open.
            self.answer_ecn(segment, ecn);
            self.state = State::SynReceived;
            self.syn_due = true;
            self.syns_sent = 0;
            // Where an open begins with probes, text in a SYN is padding.
            let waits = self.probing.is_none() && segment.seq_len() > 1;
            self.early_syn = waits.then(|| Box::new(*segment));
        }
    }

    /// What the peer's SYN asks for.
    fn answer_ecn(&mut self, syn: &Segment, ecn: Ecn) {
        if self.config.ecn && self.config.accurate_ecn && is_asked(syn.flags) {
            self.accurate = Some(Box::new(Report::new(self.config.accurate_ecn_option, ecn)));
            return;
        }
        // An ECN-setup SYN has both bits (RFC 3168 section 6.1.1).
        self.ecn = self.config.ecn && syn.flags.contains(Flags::ECE | Flags::CWR);
    }
    /// What the peer's SYN-ACK grants.
    fn agree_on_ecn(&mut self, syn_ack: &Segment, ecn: Ecn) {
        if !self.config.accurate_ecn {
            // An ECN-setup SYN-ACK has ECE without CWR.
            self.ecn =
                self.config.ecn && syn_ack.flags.contains(Flags::ECE) && !syn_ack.flags.contains(Flags::CWR);
            return;
        }
        let granted = if self.config.ecn { Feedback::granted(syn_ack.flags) } else { Feedback::None };
        self.ecn = granted == Feedback::Classic;
        if granted == Feedback::Accurate && self.accurate.is_none() {
            let mut report = Report::new(self.config.accurate_ecn_option, Ecn::NotEct);
            report.syn_ack_arrived(syn_ack, ecn);
            report.peer_reflects(syn_ack.flags, self.config.accurate_ecn_check);
            self.accurate = Some(Box::new(report));
        }
    }

    /// Text and FIN of a SYN, once the connection is established: they stand behind the SYN's own number (RFC 9293 section
    /// 3.10.7.3).
    #[cold]
    pub(super) fn on_syn_text(&mut self, now: Instant, segment: &Segment, ecn: Ecn) {
        let payload = u64::from(segment.payload_len);
        let fin = segment.flags.contains(Flags::FIN);
        if payload > 0 || fin {
            self.on_payload(now, segment, ecn, 1, 1 + payload, fin);
            self.receiver.ack_now = true;
        }
    }

    pub(super) fn accept_syn(&mut self, now: Instant, segment: &Segment) {
        self.peer_isn = segment.seq;
        let offer = if self.config.assumed_options {
            Offer::assumed(&self.config, segment)
        } else {
            Offer::of_segment(segment)
        };
        self.agreed = Offer::of_config(&self.config).agree(&offer);
        self.receiver.synchronize(self.agreed.receive_shift, self.agreed.sack);
        if let Some(value) = offer.timestamps {
            self.recent_timestamp = value;
            self.recent_timestamp_at = now;
        }
        self.peer_offer = Some(offer);
    }

    /// A segment with an ACK, in SYN-RECEIVED. False: it does not acknowledge our SYN, and is of no use.
    #[cold]
    pub(super) fn complete_handshake(&mut self, now: Instant, segment: &Segment, ecn: Ecn) -> bool {
        if segment.ack != self.isn + 1 || self.syn_sent_at.is_none() {
            if let Some(reset) = reset_for(segment) {
                self.send_reset(reset);
            }
            return false;
        }
        // The window of a SYN-ACK is not scaled (RFC 7323 section 2.2).
        let syn = segment.flags.contains(Flags::SYN);
        let shift = if syn { 0 } else { self.agreed.send_shift };
        let checked = self.config.accurate_ecn_check;
        self.syn_ack_marked = match &mut self.accurate {
            Some(report) if syn => {
                report.syn_ack_arrived(segment, ecn);
                report.peer_reflects(segment.flags, checked);
                false
            }
            // Data carry a counter, also first ones.
            Some(report) if segment.payload_len == 0 => report.peer_reflects(segment.flags, checked),
            _ => false,
        };
        self.establish(now, u64::from(segment.window) << shift, segment);
        if let Some(syn) = self.early_syn.take() {
            self.on_syn_text(now, &syn, Ecn::NotEct);
        }
        true
    }

    /// The round trip of the SYN, or of the SYN-ACK of a passive open, if it is known which segment `answer` answers (Karn's rule:
    /// RFC 6298 section 3). In a simultaneous open this end's SYN goes out again within its SYN-ACK: only the peer's SYN-ACK
    /// shows that the SYN has arrived.
    fn handshake_rtt(&self, now: Instant, answer: &Segment) -> Option<Duration> {
        let crossed = self.active && self.state == State::SynReceived;
        let ambiguous = self.syn_repeated || (crossed && !answer.flags.contains(Flags::SYN));
        self.syn_sent_at.filter(|_| !ambiguous).map(|sent_at| now.since(sent_at))
    }

    /// A probe's echo, in SYN-SENT: the last one opens the connection.
    #[cold]
    fn on_echo(&mut self, now: Instant, segment: &Segment) {
        let tick = self.config.timestamp_tick;
        if self.probing.as_mut().is_some_and(|probing| probing.echo(now, segment, tick)) {
            self.establish_as_probed(now);
        }
    }

    /// Opens the connection with what the probes have measured, if congestion control can begin with that.
    fn establish_as_probed(&mut self, now: Instant) {
        let Some(probing) = self.probing.take() else { return };
        self.sender.agree_on_mss(self.agreed.mss);
        if !self.sender.probed(&probing.report(now)) {
            return self.fail(Event::StartFailed);
        }
        self.open(now, probing.window);
        // The RTO estimator does not receive this round trip: that of a packet of full length may be ten times as long.
        if self.syn_repeated {
            self.sender.rtt.after_syn_loss();
            self.sender.after_syn_loss();
        }
        self.sender.after_handshake(now, probing.rtt_sample());
        self.opened(now);
        self.receiver.ack_now = true;
        if let Some(rate) = self.sender.cc().pacing_rate() {
            self.events.push(Event::Probed { rate });
        }
    }

    /// Echoes are overdue.
    #[cold]
    pub(super) fn on_probe_timeout(&mut self, now: Instant) {
        let Some(probing) = &mut self.probing else { return };
        if probing.makes_do() {
            self.establish_as_probed(now);
        } else if probing.retries() {
            self.syn_repeated = true;
            self.stats.syn_retransmissions += 1;
            self.sender.rto_deadline = Instant::FAR_FUTURE;
            self.syn_due = true;
        } else if probing.answered() && !probing.is_strict() {
            self.establish_as_probed(now);
        } else {
            self.fail(Event::StartFailed);
        }
    }

    /// `answer` completes the handshake; its round trip, if it is known, is the first sample. If it does not follow from the only
    /// SYN, the timestamp may show it (RFC 7323 section 4.1); the SYN or the SYN-ACK is presumed lost then (RFC 5681 section 3.1).
    fn establish(&mut self, now: Instant, window: u64, answer: &Segment) {
        let round_trip = self.handshake_rtt(now, answer);
        let lost = round_trip.is_none() && self.syn_was_lost(answer);
        let round_trip =
            round_trip.or_else(|| self.timestamp_rtt(now, answer).filter(|_| self.agreed.timestamps));
        self.open(now, window);
        if let Some(rtt) = round_trip {
            self.sender.rtt.observe(rtt);
            let (una, max) = (self.sender.una, self.sender.max);
            self.sender.rtt.sample_by_round(rtt, una, max);
            self.stats.rtt_sample(rtt);
        } else {
            self.sender.rtt.after_syn_loss();
        }
        if lost {
            self.sender.after_syn_loss();
        }
        self.sender.after_handshake(now, round_trip);
        self.opened(now);
    }

    /// What was sent more than once was lost, unless `answer` echoes the first (Eifel detection; Linux: `tcp_try_undo_spurious_syn`).
    fn syn_was_lost(&self, answer: &Segment) -> bool {
        let first = self.syn_sent_at.map(|sent_at| self.timestamp(sent_at));
        let echo = answer.options.timestamps.map(|timestamps| timestamps.echo);
        let detects = self.config.spurious_detection.eifel && self.agreed.timestamps;
        let tolerated = u64::from(self.config.tolerated_syn_losses);
        !(detects && first == echo) && (tolerated == 0 || self.stats.syn_retransmissions > tolerated)
    }

    fn open(&mut self, now: Instant, window: u64) {
        self.state = State::Established;
        self.syn_due = false;
        self.probing = None;
        self.sender.rto_deadline = Instant::FAR_FUTURE;
        self.sender.begin(now, self.agreed.mss, self.agreed.sack, window);
        self.begin_ack_congestion_control();
        self.begin_ecn(self.syn_ack_marked);
        self.window_seq = 0;
        self.window_ack = 1;
    }

    fn opened(&mut self, now: Instant) {
        self.events.push(Event::Connected);
        self.start_keepalive(now);
    }
}
