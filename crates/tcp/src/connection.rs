//! The connection: state machine and segment processing of RFC 9293 section 3.10, around a sender and a receiver.

use crate::event::Events;
use crate::handshake::{Agreement, Offer};
use crate::limits::LimitClock;
use crate::receiver::Receiver;
use crate::sender::{Acknowledgment, Chunk, Phase, Sender};
use crate::{Config, Event, Limit, LimitedTime, Ports, State, Stats, Transmit};
use longhaul_cc::CongestionControl;
use longhaul_segment::{Ecn, Flags, Options, SackBlocks, Segment, SeqNumber, Timestamps};
use longhaul_units::{Duration, Instant};

/// RFC 7323 section 5.5: TS.Recent is not to be trusted after so long.
const TIMESTAMP_VALIDITY: Duration = Duration::from_secs(24 * 24 * 3600);

/// One end of a connection: sender, receiver and state machine.
///
/// Positions inside are 64 bits wide: the SYN is 0, the first byte is 1, the FIN follows the last byte.
pub struct Connection {
    sender: Sender,
    receiver: Receiver,
    state: State,
    isn: SeqNumber,
    peer_isn: SeqNumber,
    ports: Ports,
    agreed: Agreement,
    /// ECN has been negotiated (RFC 3168 section 6.1.1).
    ecn: bool,
    /// As receiver: congestion was experienced, echo it until CWR comes.
    ecn_echo: bool,
    all_acked_told: bool,
    /// SND.WL1 and SND.WL2: the segment that updated the window last.
    window_seq: u64,
    window_ack: u64,
    stats: Stats,
    limits: LimitClock,
    events: Events,
    last_received: Instant,
    /// TIME-WAIT or keepalive.
    idle_deadline: Instant,
    /// TS.Recent (RFC 7323 section 4.3) and when it was set.
    recent_timestamp: u32,
    recent_timestamp_at: Instant,

    // What follows is looked at rarely.
    /// A SYN or SYN-ACK is to be sent.
    syn_due: bool,
    syn_sent_at: Option<Instant>,
    syn_retransmissions: u32,
    /// A keepalive probe is to be sent.
    keepalive_due: bool,
    keepalive_probes: u32,
    last_keepalive: Instant,
    /// A segment outside the connection's own flow: RST.
    reply: Option<Box<Segment>>,
    peer_offer: Option<Offer>,
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
        Connection {
            sender: Sender::new(&config, cc),
            receiver: Receiver::new(&config),
            state,
            isn,
            peer_isn: SeqNumber(0),
            ports,
            agreed: Agreement { mss: config.mss, ..Agreement::default() },
            ecn: false,
            ecn_echo: false,
            all_acked_told: true,
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
            syn_sent_at: None,
            syn_retransmissions: 0,
            keepalive_due: false,
            keepalive_probes: 0,
            last_keepalive: Instant::ZERO,
            reply: None,
            peer_offer: None,
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
    /// The same with a peer whose configuration differs.
    pub fn established_with(
        config: Config,
        peer: &Config,
        cc: Box<dyn CongestionControl>,
        ports: Ports,
    ) -> Self {
        let mut connection = Self::new(config, cc, SeqNumber(0), ports, State::Established);
        let offer = Offer::of_config(peer);
        connection.ecn = connection.config.ecn && peer.ecn;
        connection.agreed = Offer::of_config(&connection.config).agree(&offer);
        let agreed = connection.agreed;
        connection.receiver.synchronize(agreed.receive_shift, agreed.sack);
        connection.receiver.open_window();
        let window = peer.largest_window().min(u64::from(u16::MAX) << agreed.send_shift);
        connection.sender.begin(Instant::ZERO, agreed.mss, agreed.sack, window);
        connection.events.push(Event::Connected);
        connection.start_keepalive(Instant::ZERO);
        connection
    }

    // Segments that arrive.

    /// A segment has arrived. Poll for what is to be sent after each one: duplicate ACKs count.
    #[inline]
    pub fn handle_segment(&mut self, now: Instant, segment: &Segment, ecn: Ecn) {
        self.stats.segments_received += 1;
        self.last_received = now;
        match self.state {
            State::Closed => {}
            State::Listen => self.on_segment_in_listen(now, segment),
            State::SynSent => self.on_segment_in_syn_sent(now, segment),
            _ => self.on_segment(now, segment, ecn),
        }
    }

    /// RFC 9293 section 3.10.7.4, from SYN-RECEIVED on.
    #[inline]
    fn on_segment(&mut self, now: Instant, segment: &Segment, ecn: Ecn) {
        let Some(seq) = segment.seq.unwrap(self.peer_isn, self.receiver.next) else {
            return self.refuse(segment);
        };
        let payload = u64::from(segment.payload_len);
        let fin = segment.flags.contains(Flags::FIN);
        let end = seq + payload;
        if self.agreed.timestamps && !self.check_timestamps(now, segment, seq) {
            return;
        }
        // First, the sequence number.
        if !self.is_acceptable(seq, end + u64::from(fin), segment) {
            return self.on_unacceptable(now, segment, seq, end, fin);
        }
        // Second to fourth: RST and SYN.
        if segment.flags.intersects(Flags::RST | Flags::SYN) && !self.passes_rst_and_syn(now, segment, seq) {
            return;
        }
        // Fifth, the ACK.
        if !segment.flags.contains(Flags::ACK) || !self.on_ack_field(now, segment, seq) {
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
    fn on_unacceptable(&mut self, now: Instant, segment: &Segment, seq: u64, end: u64, fin: bool) {
        if segment.flags.contains(Flags::RST) {
            return;
        }
        if segment.flags.contains(Flags::SYN) {
            // RFC 5961 section 4: a challenge ACK.
            self.receiver.ack_now = true;
            return;
        }
        self.receiver.ack_now = true;
        if end + u64::from(fin) <= self.receiver.next && end > seq {
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
    fn refuse(&mut self, segment: &Segment) {
        if !segment.flags.contains(Flags::RST) {
            self.receiver.ack_now = true;
        }
    }

    /// True if the segment is to be processed further.
    #[cold]
    fn passes_rst_and_syn(&mut self, now: Instant, segment: &Segment, seq: u64) -> bool {
        if segment.flags.contains(Flags::RST) {
            // RFC 5961 section 3.2: only the exact number resets; another in the window is challenged.
            if seq == self.receiver.next {
                self.fail(Event::Reset);
            } else {
                self.receiver.ack_now = true;
            }
            return false;
        }
        // SYN-RECEIVED, and a SYN with the peer's initial number.
        if !segment.flags.contains(Flags::ACK) {
            // Our SYN-ACK was lost.
            self.syn_due = true;
            return false;
        }
        // Simultaneous open (RFC 9293 figure 8): the peer's SYN-ACK.
        if self.on_ack_field(now, segment, seq) {
            self.receiver.ack_now = true;
        }
        false
    }

    /// True if the payload is to be processed.
    #[inline]
    fn on_ack_field(&mut self, now: Instant, segment: &Segment, seq: u64) -> bool {
        let Some(ack) = segment.ack.unwrap(self.isn, self.sender.una) else { return true };
        if self.state == State::SynReceived && !self.complete_passive_open(now, segment, ack) {
            return false;
        }
        if ack > self.sender.acceptable_ack() {
            self.receiver.ack_now = true;
            return false;
        }
        if ack < self.sender.una {
            return true;
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
            ecn_echo: self.ecn && segment.flags.contains(Flags::ECE),
            timestamp_rtt,
        };
        self.sender.on_ack(&acknowledgment, &mut self.stats, &mut self.events);
        if self.sender.una == self.sender.max {
            self.on_nothing_in_flight(now);
        }
        self.state != State::Closed
    }

    fn on_nothing_in_flight(&mut self, now: Instant) {
        if !self.all_acked_told && self.sender.all_acked() {
            self.all_acked_told = true;
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

    #[inline]
    fn on_payload(&mut self, now: Instant, segment: &Segment, ecn: Ecn, seq: u64, end: u64, fin: bool) {
        if self.ecn {
            // RFC 3168 section 6.1.3: echo until the sender says that it has reduced its window.
            if segment.flags.contains(Flags::CWR) {
                self.ecn_echo = false;
            }
            if ecn == Ecn::Ce {
                self.stats.ce_received += 1;
                self.ecn_echo = true;
            }
        }
        if matches!(self.state, State::CloseWait | State::Closing | State::LastAck | State::TimeWait) {
            // Nothing can follow the FIN.
            return;
        }
        self.receiver.on_data(now, seq, end, fin, &mut self.stats);
        if self.receiver.fin.is_some() && self.receiver.finished() {
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
    /// PAWS (section 5.3) and the update of TS.Recent (section 4.3). False: drop.
    fn check_timestamps(&mut self, now: Instant, segment: &Segment, seq: u64) -> bool {
        if segment.flags.contains(Flags::RST) {
            return true;
        }
        // Section 3.2: once agreed the option is in every segment.
        let Some(Timestamps { value, .. }) = segment.options.timestamps else { return false };
        let older = (value.wrapping_sub(self.recent_timestamp) as i32) < 0;
        if older && now.since(self.recent_timestamp_at) < TIMESTAMP_VALIDITY {
            self.stats.paws_rejected += 1;
            self.receiver.ack_now = true;
            return false;
        }
        if seq <= self.receiver.last_acked {
            self.recent_timestamp = value;
            self.recent_timestamp_at = now;
        }
        true
    }

    // Opening.

    #[cold]
    fn on_segment_in_listen(&mut self, now: Instant, segment: &Segment) {
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
    fn on_segment_in_syn_sent(&mut self, now: Instant, segment: &Segment) {
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

    fn accept_syn(&mut self, now: Instant, segment: &Segment) {
        self.peer_isn = segment.seq;
        let offer = Offer::of_segment(segment);
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
    fn complete_passive_open(&mut self, now: Instant, segment: &Segment, ack: u64) -> bool {
        if ack != 1 || self.syn_sent_at.is_none() {
            self.reply = reset_for(segment).map(Box::new);
            return false;
        }
        // The window of a SYN-ACK is not scaled (RFC 7323 section 2.2).
        let shift = if segment.flags.contains(Flags::SYN) { 0 } else { self.agreed.send_shift };
        self.establish(now, u64::from(segment.window) << shift, 0);
        true
    }

    fn establish(&mut self, now: Instant, window: u64, seq: u64) {
        self.state = State::Established;
        self.syn_due = false;
        self.sender.rto_deadline = Instant::FAR_FUTURE;
        self.sender.begin(now, self.agreed.mss, self.agreed.sack, window);
        self.window_seq = seq;
        self.window_ack = 1;
        match self.syn_sent_at {
            Some(sent_at) if self.syn_retransmissions == 0 => {
                let rtt = now.since(sent_at);
                self.sender.rtt.observe(rtt);
                self.sender.rtt.sample(rtt);
                self.stats.rtt_sample(rtt);
            }
            _ => self.sender.after_syn_loss(),
        }
        self.events.push(Event::Connected);
        self.start_keepalive(now);
    }

    // Timers.

    /// When `handle_timeout` is wanted next.
    #[inline]
    pub fn poll_timeout(&self) -> Option<Instant> {
        let earliest = self
            .sender
            .rto_deadline
            .min(self.receiver.ack_deadline)
            .min(self.sender.pacing_deadline)
            .min(self.sender.persist_deadline)
            .min(self.receiver.read_deadline)
            .min(self.idle_deadline);
        (earliest != Instant::FAR_FUTURE).then_some(earliest)
    }

    /// Time has come; harmless when nothing is due.
    pub fn handle_timeout(&mut self, now: Instant) {
        if self.sender.pacing_deadline <= now {
            self.sender.pacing_deadline = Instant::FAR_FUTURE;
        }
        self.sender.allow_burst();
        if self.receiver.ack_deadline.min(self.receiver.read_deadline) <= now {
            self.receiver.on_timeout(now);
        }
        if self.sender.rto_deadline <= now {
            self.on_retransmission_timeout(now);
        }
        if self.sender.persist_deadline <= now && !self.sender.on_persist_timeout(now) {
            self.fail(Event::TimedOut);
        }
        if self.idle_deadline <= now {
            self.on_idle_timeout(now);
        }
    }

    fn on_retransmission_timeout(&mut self, now: Instant) {
        match self.state {
            State::SynSent | State::SynReceived => {
                if self.syn_retransmissions >= self.config.max_syn_retransmissions {
                    return self.fail(Event::TimedOut);
                }
                self.syn_retransmissions += 1;
                self.sender.rtt.back_off();
                self.sender.rto_deadline = Instant::FAR_FUTURE;
                self.syn_due = true;
            }
            _ => {
                if !self.sender.on_retransmission_timeout(now, &mut self.stats, &mut self.events) {
                    self.fail(Event::TimedOut);
                }
            }
        }
    }

    fn start_keepalive(&mut self, now: Instant) {
        if let Some(keepalive) = self.config.keepalive {
            self.last_received = now;
            self.idle_deadline = now + keepalive.idle;
        }
    }
    /// TIME-WAIT is over, or the peer has been silent (RFC 9293 section 3.8.4).
    #[cold]
    fn on_idle_timeout(&mut self, now: Instant) {
        self.idle_deadline = Instant::FAR_FUTURE;
        if self.state == State::TimeWait {
            return self.finish();
        }
        let Some(keepalive) = self.config.keepalive else { return };
        let heard_since_probe = self.keepalive_probes == 0 || self.last_received > self.last_keepalive;
        if heard_since_probe {
            self.keepalive_probes = 0;
            let due = self.last_received + keepalive.idle;
            if due > now {
                self.idle_deadline = due;
                return;
            }
        }
        if self.keepalive_probes >= keepalive.probes {
            return self.fail(Event::TimedOut);
        }
        self.keepalive_probes += 1;
        self.last_keepalive = now;
        // With data in flight the retransmission timer does the probing.
        self.keepalive_due = self.sender.flight_size() == 0;
        self.idle_deadline = now + keepalive.interval.max(Duration::from_nanos(1));
    }

    // Segments that leave.

    /// The next segment to send, if any.
    #[inline]
    pub fn poll_transmit(&mut self, now: Instant) -> Option<Transmit> {
        if !self.state.is_synchronized() || self.reply.is_some() {
            return self.poll_unsynchronized(now);
        }
        let option_bytes = if self.receiver.has_sack_blocks() {
            self.sack_option_len(self.receiver.sack_block_count())
        } else {
            0
        };
        match self.sender.next_segment(now, option_bytes, &mut self.stats) {
            Ok(chunk) => return self.data_segment(now, chunk),
            Err(limit) => self.limits.set(now, limit),
        }
        if self.receiver.ack_now {
            self.stats.pure_acks_sent += 1;
            return self.bare_ack(now, self.sender.max);
        }
        if self.sender.probe_is_due() || self.keepalive_due {
            return self.probe(now);
        }
        None
    }

    #[inline(always)]
    fn data_segment(&mut self, now: Instant, chunk: Chunk) -> Option<Transmit> {
        let mut flags = Flags::ACK;
        if chunk.push {
            flags |= Flags::PSH;
        }
        if chunk.fin {
            flags |= Flags::FIN;
            self.on_fin_sent();
        }
        let mut ecn = Ecn::NotEct;
        // RFC 3168 sections 6.1.2 and 6.1.5: new data only.
        if self.ecn && !chunk.retransmission && chunk.payload > 0 {
            ecn = Ecn::Ect0;
            if self.sender.take_cwr(chunk.start + chunk.payload) {
                flags |= Flags::CWR;
            }
        }
        self.transmit(now, chunk.start, chunk.payload as u32, flags, ecn, chunk.retransmission)
    }
    fn bare_ack(&mut self, now: Instant, seq: u64) -> Option<Transmit> {
        self.transmit(now, seq, 0, Flags::ACK, Ecn::NotEct, false)
    }
    /// A segment of the synchronized states; it acknowledges what has arrived.
    fn transmit(
        &mut self,
        now: Instant,
        seq: u64,
        payload_len: u32,
        flags: Flags,
        ecn: Ecn,
        retransmission: bool,
    ) -> Option<Transmit> {
        // Two calls, so that the usual empty options are a constant and the segment is built where it is wanted.
        if self.agreed.timestamps || self.receiver.has_sack_blocks() {
            let options = self.options(now);
            self.assemble(now, seq, payload_len, flags, ecn, retransmission, options)
        } else {
            self.assemble(now, seq, payload_len, flags, ecn, retransmission, Options::NONE)
        }
    }
    #[inline(always)]
    #[allow(clippy::too_many_arguments)]
    fn assemble(
        &mut self,
        now: Instant,
        seq: u64,
        payload_len: u32,
        flags: Flags,
        ecn: Ecn,
        retransmission: bool,
        options: Options,
    ) -> Option<Transmit> {
        let flags = if self.ecn_echo { flags | Flags::ECE } else { flags };
        let window = self.receiver.window_field(now);
        self.receiver.ack_sent();
        let segment = Segment {
            src_port: self.ports.local,
            dst_port: self.ports.remote,
            seq: SeqNumber::wrap(self.isn, seq),
            ack: SeqNumber::wrap(self.peer_isn, self.receiver.next),
            window,
            flags,
            payload_len,
            options,
        };
        Some(Transmit { segment, ecn, retransmission })
    }
    #[inline(never)]
    fn options(&mut self, now: Instant) -> Options {
        let mut options = Options::default();
        if self.agreed.timestamps {
            options.timestamps = Some(Timestamps { value: self.timestamp(now), echo: self.recent_timestamp });
        }
        if self.receiver.has_sack_blocks() {
            options.sack = self.receiver.sack_blocks(self.sack_room(), self.peer_isn);
        }
        options
    }
    /// SACK blocks that fit into 40 bytes of options.
    fn sack_room(&self) -> usize {
        if self.agreed.timestamps { SackBlocks::MAX - 1 } else { SackBlocks::MAX }
    }
    fn sack_option_len(&self, blocks: usize) -> u64 {
        4 + 8 * blocks.min(self.sack_room()) as u64
    }

    #[cold]
    fn on_fin_sent(&mut self) {
        match self.state {
            State::Established => self.state = State::FinWait1,
            State::CloseWait => self.state = State::LastAck,
            _ => {}
        }
    }

    /// Zero-window probe: one byte of new data. Keepalive: a number just below the window.
    #[cold]
    fn probe(&mut self, now: Instant) -> Option<Transmit> {
        if let Some(seq) = self.sender.take_probe() {
            self.stats.probes_sent += 1;
            return self.transmit(now, seq, 1, Flags::ACK, Ecn::NotEct, false);
        }
        if std::mem::take(&mut self.keepalive_due) {
            self.stats.probes_sent += 1;
            return self.bare_ack(now, self.sender.una - 1);
        }
        None
    }

    #[cold]
    fn poll_unsynchronized(&mut self, now: Instant) -> Option<Transmit> {
        if let Some(segment) = self.reply.take() {
            return Some(Transmit { segment: *segment, ecn: Ecn::NotEct, retransmission: false });
        }
        self.limits.set(now, if self.state == State::Closed { Limit::Closed } else { Limit::Handshake });
        if std::mem::take(&mut self.syn_due) {
            return Some(self.syn_segment(now));
        }
        if self.state == State::Closed && self.receiver.ack_now {
            // The last ACK of a connection that ended with it.
            self.stats.pure_acks_sent += 1;
            return self.bare_ack(now, self.sender.max);
        }
        None
    }

    fn syn_segment(&mut self, now: Instant) -> Transmit {
        let answer = self.state == State::SynReceived;
        let retransmission = self.syn_sent_at.is_some();
        if retransmission {
            self.stats.syn_retransmissions += 1;
        } else {
            self.syn_sent_at = Some(now);
        }
        self.sender.max = 1;
        self.sender.rto_deadline = now + self.sender.rtt.rto();
        let mut offer = Offer::of_config(&self.config);
        let mut flags = Flags::SYN;
        let mut ack = SeqNumber(0);
        if answer {
            flags |= Flags::ACK;
            ack = SeqNumber::wrap(self.peer_isn, self.receiver.next);
            if self.ecn {
                flags |= Flags::ECE;
            }
            // Only what the peer has offered is offered in return.
            if let Some(peer) = self.peer_offer {
                offer.window_scale = offer.window_scale.filter(|_| peer.window_scale.is_some());
                offer.sack &= peer.sack;
                offer.timestamps = offer.timestamps.filter(|_| peer.timestamps.is_some());
            }
        } else if self.config.ecn {
            flags |= Flags::ECE | Flags::CWR;
        }
        let segment = Segment {
            src_port: self.ports.local,
            dst_port: self.ports.remote,
            seq: self.isn,
            ack,
            window: self.receiver.syn_window_field(),
            flags,
            payload_len: 0,
            options: offer.options(self.timestamp(now), if answer { self.recent_timestamp } else { 0 }),
        };
        Transmit { segment, ecn: Ecn::NotEct, retransmission }
    }

    /// The next event, if any. Events are rare; notices of congestion are dropped when 256 wait.
    #[inline]
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop()
    }

    // The application.

    /// The application adds bytes to the send buffer. After `close` it does nothing.
    pub fn write(&mut self, bytes: u64) {
        self.sender.write(bytes);
        self.sender.allow_burst();
        self.all_acked_told = self.sender.all_acked();
    }
    /// From now on there is always data to send.
    pub fn write_unlimited(&mut self) {
        self.sender.write_unlimited();
        self.sender.allow_burst();
        self.all_acked_told = false;
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
        self.all_acked_told = self.sender.all_acked();
    }
    /// Resets the connection: RST goes out at the next `poll_transmit`.
    pub fn abort(&mut self) {
        if self.state == State::SynReceived || (self.state.is_synchronized() && self.state != State::TimeWait)
        {
            self.reply = Some(Box::new(Segment {
                src_port: self.ports.local,
                dst_port: self.ports.remote,
                seq: SeqNumber::wrap(self.isn, self.sender.max),
                ack: SeqNumber::wrap(self.peer_isn, self.receiver.next),
                flags: Flags::RST | Flags::ACK,
                ..Segment::default()
            }));
        }
        if self.state != State::Closed {
            self.fail(Event::Reset);
        }
    }
    /// The application reads up to `max` bytes; returns how many it got.
    pub fn read(&mut self, now: Instant, max: u64) -> u64 {
        self.receiver.read(now, max)
    }

    // What can be seen from outside.

    /// Bytes in order and not read yet.
    pub fn readable(&self) -> u64 {
        self.receiver.readable()
    }
    /// State of the connection.
    pub fn state(&self) -> State {
        self.state
    }
    /// Congestion window in bytes.
    pub fn cwnd(&self) -> u64 {
        self.sender.cwnd()
    }
    /// Slow start threshold in bytes; `u64::MAX` while there is none.
    pub fn ssthresh(&self) -> u64 {
        self.sender.cc().ssthresh()
    }
    /// FlightSize: bytes sent and not cumulatively acknowledged.
    pub fn flight_size(&self) -> u64 {
        self.sender.flight_size()
    }
    /// Estimate of the bytes in the network (RFC 6675's pipe).
    pub fn pipe(&self) -> u64 {
        self.sender.pipe()
    }
    /// Smoothed round trip time; zero before the first sample.
    pub fn srtt(&self) -> Duration {
        self.sender.rtt.srtt
    }
    /// Round trip time variation.
    pub fn rttvar(&self) -> Duration {
        self.sender.rtt.rttvar
    }
    /// Retransmission timeout, back-off included.
    pub fn rto(&self) -> Duration {
        self.sender.rtt.rto()
    }
    /// The latest round trip measured; zero before the first.
    pub fn latest_rtt(&self) -> Duration {
        self.sender.rtt.latest
    }
    /// The smallest round trip measured; `Duration::MAX` before the first.
    pub fn min_rtt(&self) -> Duration {
        self.sender.rtt.min
    }
    /// Bytes that the peer's window allows beyond the acknowledged ones.
    pub fn peer_window(&self) -> u64 {
        self.sender.peer_window()
    }
    /// Bytes written and never sent; `u64::MAX` for an unlimited source.
    pub fn unsent(&self) -> u64 {
        self.sender.unsent()
    }
    /// Payload bytes cumulatively acknowledged by the peer.
    pub fn acked_bytes(&self) -> u64 {
        self.sender.acked_bytes()
    }
    /// Payload bytes received in order.
    pub fn received_bytes(&self) -> u64 {
        self.receiver.received()
    }
    /// Payload bytes that the application has read.
    pub fn read_bytes(&self) -> u64 {
        self.receiver.read_bytes()
    }
    /// True during loss recovery, fast or after a timeout.
    pub fn in_recovery(&self) -> bool {
        self.sender.phase != Phase::Open
    }
    /// Blocks that the peer has SACKed.
    pub fn sacked_blocks(&self) -> usize {
        self.sender.holes()
    }
    /// Largest payload of a segment without SACK blocks, as negotiated.
    pub fn effective_mss(&self) -> u32 {
        self.agreed.mss
    }
    /// The congestion control.
    pub fn congestion_control(&self) -> &dyn CongestionControl {
        self.sender.cc()
    }
    /// The configuration.
    pub fn config(&self) -> &Config {
        &self.config
    }
    /// Counters.
    pub fn stats(&self) -> &Stats {
        &self.stats
    }
    /// What limits the sender now.
    pub fn limit(&self) -> Limit {
        self.limits.current()
    }
    /// Time spent under each limit, from the first `poll_transmit` up to now.
    pub fn limited_time(&self, now: Instant) -> LimitedTime {
        self.limits.total(now)
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
