//! The handshake: SYN, SYN-ACK, simultaneous open (RFC 9293 sections 3.5 and 3.10.7.2 to 3.10.7.4).

use super::{Connection, reset_for};
use crate::handshake::Offer;
use crate::{Event, State};
use longhaul_segment::{Flags, Segment};
use longhaul_units::{Duration, Instant};

impl Connection {
    #[cold]
    pub(super) fn on_segment_in_listen(&mut self, now: Instant, segment: &Segment) {
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
        // An ECN-setup SYN has both bits (RFC 3168 section 6.1.1).
        self.ecn = self.config.ecn && segment.flags.contains(Flags::ECE | Flags::CWR);
        self.state = State::SynReceived;
        self.syn_due = true;
    }

    #[cold]
    pub(super) fn on_segment_in_syn_sent(&mut self, now: Instant, segment: &Segment) {
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
            // An ECN-setup SYN-ACK has ECE without CWR.
            self.ecn =
                self.config.ecn && segment.flags.contains(Flags::ECE) && !segment.flags.contains(Flags::CWR);
            if self.probing.is_some() {
                return self.on_echo(now, segment);
            }
            self.establish(now, u64::from(segment.window), 0);
            self.receiver.ack_now = true;
        } else {
            // Simultaneous open.
            self.ecn = self.config.ecn && segment.flags.contains(Flags::ECE | Flags::CWR);
            self.state = State::SynReceived;
            self.syn_due = true;
            self.syn_sent_at = None;
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

    /// The ACK of our SYN-ACK, in SYN-RECEIVED. False: the segment is of no use.
    #[cold]
    pub(super) fn complete_passive_open(&mut self, now: Instant, segment: &Segment, ack: u64) -> bool {
        if ack != 1 || self.syn_sent_at.is_none() {
            self.reply = reset_for(segment).map(Box::new);
            return false;
        }
        // The window of a SYN-ACK is not scaled (RFC 7323 section 2.2).
        let shift = if segment.flags.contains(Flags::SYN) { 0 } else { self.agreed.send_shift };
        self.establish(now, u64::from(segment.window) << shift, 0);
        true
    }

    /// The round trip of the SYN, if there was only one (Karn's rule).
    fn handshake_rtt(&self, now: Instant) -> Option<Duration> {
        self.syn_sent_at.filter(|_| self.syn_retransmissions == 0).map(|sent_at| now.since(sent_at))
    }

    /// A probe's echo, in SYN-SENT: the last one opens the connection.
    #[cold]
    fn on_echo(&mut self, now: Instant, segment: &Segment) {
        let tick = self.config.timestamp_tick;
        if self.probing.as_mut().is_some_and(|probing| probing.echo(now, segment, tick)) {
            self.establish_as_probed(now);
        }
    }

    /// Opens the connection with what the probes have told, if congestion control can begin with that.
    fn establish_as_probed(&mut self, now: Instant) {
        let Some(probing) = self.probing.take() else { return };
        if !self.sender.probed(&probing.report(now)) {
            return self.fail(Event::StartFailed);
        }
        self.open(now, probing.window, 0);
        // The RTO estimator does not hear of this round trip: that of a packet of full length may be ten times as long.
        if self.syn_retransmissions > 0 {
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
            self.syn_retransmissions += 1;
            self.stats.syn_retransmissions += 1;
            self.sender.rto_deadline = Instant::FAR_FUTURE;
            self.syn_due = true;
        } else if probing.heard() && !probing.is_strict() {
            self.establish_as_probed(now);
        } else {
            self.fail(Event::StartFailed);
        }
    }

    /// The handshake is complete; its SYN's round trip, if there was only one SYN, is the first sample.
    pub(super) fn establish(&mut self, now: Instant, window: u64, seq: u64) {
        self.open(now, window, seq);
        match self.handshake_rtt(now) {
            Some(rtt) => {
                self.sender.rtt.observe(rtt);
                self.sender.rtt.sample(rtt);
                self.stats.rtt_sample(rtt);
                self.sender.after_handshake(now, Some(rtt));
            }
            None => {
                self.sender.after_syn_loss();
                self.sender.after_handshake(now, None);
            }
        }
        self.opened(now);
    }

    fn open(&mut self, now: Instant, window: u64, seq: u64) {
        self.state = State::Established;
        self.syn_due = false;
        self.probing = None;
        self.sender.rto_deadline = Instant::FAR_FUTURE;
        self.sender.begin(now, self.agreed.mss, self.agreed.sack, window);
        self.begin_ack_congestion_control();
        self.window_seq = seq;
        self.window_ack = 1;
    }

    fn opened(&mut self, now: Instant) {
        self.events.push(Event::Connected);
        self.start_keepalive(now);
    }
}
