//! The surrogate sender at the hub: the hosts' data leave as datagrams, at the satellite's pace; the pseudo proxy's messages come in
//! messages.

use super::datagram::Item;
use super::half::{Control, HUB, Half};
use super::message::{Inbox, Message};
use super::sender::{self, Sender};
use super::{Counts, Settings};
use crate::nodes::{Account, Directory, Node, Note};
use crate::split::Plans;
use crate::{
    Base, Data, Departure, Direction, Middlebox, OwnConnection, Passing, Payload, QueueState, Verdict,
};
use longhaul_segment::{Ecn, Flags, IPV4_HEADER, Segment, SeqNumber, TCP_HEADER};
use longhaul_units::{ConnectionId, Duration, Instant, Random};

/// The stream of the message that begins a new session: it is none.
const NO_STREAM: u32 = u32::MAX;

/// The node that sends datagrams.
pub struct Surrogate<P: Payload> {
    half: Half<P>,
    sender: Sender<P::Data>,
    /// Of the session's datagrams.
    key: [u8; 16],
    /// Number of the datagrams' tunnel among the connections.
    tunnel: ConnectionId,
    /// It ends a session whose pseudo proxy has been silent for so long.
    silence: Option<Duration>,
    /// Bytes on the control connection that were read.
    line_read: u64,
    inbox: Inbox,
    /// The session that the pseudo proxy's messages belong to.
    heard_session: u16,
    last_heard: Instant,
    kept: u64,
    tossed_messages: u64,
    sessions_ended: u64,
}

impl<P: Payload> Surrogate<P> {
    /// `key` is the other node's too; `random` is for initial sequence numbers.
    pub fn new(
        plans: Plans,
        settings: &Settings,
        key: [u8; 16],
        directory: Box<dyn Directory>,
        random: Random,
    ) -> Self {
        let Settings { sender, receiver, control, silence, first_number } = settings;
        let (sender, control): (&sender::Settings, &Control) = (sender, control);
        Surrogate {
            half: Half::new(HUB, plans, control, first_number.after(1), receiver.buffer, directory, random),
            sender: Sender::new(*sender, 0),
            key,
            tunnel: *first_number,
            silence: *silence,
            line_read: 0,
            inbox: Inbox::default(),
            heard_session: 0,
            last_heard: Instant::ZERO,
            kept: 0,
            tossed_messages: 0,
            sessions_ended: 0,
        }
    }

    /// Sends the records for the other node.
    fn tell(&mut self) {
        while let Some(item) = self.half.outgoing.pop_front() {
            self.sender.push(item);
        }
    }

    /// Reads the messages that have come.
    fn read_line(&mut self, now: Instant) {
        let received = self.half.control.received_bytes();
        let fresh = received - self.line_read;
        if fresh == 0 {
            return;
        }
        self.line_read = received;
        self.last_heard = now;
        self.inbox.push(&self.half.control.take(fresh).to_bytes());
        while let Ok(Some(message)) = self.inbox.next_message() {
            if !self.on_message(now, message) {
                self.tossed_messages += 1;
            }
            self.tell();
        }
    }

    /// False if the message makes no sense.
    fn on_message(&mut self, now: Instant, message: Message) -> bool {
        if let Message::Session(session) = message {
            self.heard_session = session;
            return true;
        }
        if self.heard_session != self.sender.session() {
            // Of a session that is over.
            return true;
        }
        match message {
            Message::Report(report) => self.sender.on_report(now, &report),
            Message::Credit { stream, limit } => self.half.on_credit(stream, limit),
            Message::Open { stream, key } => {
                self.half.on_open(stream, &key);
                true
            }
            Message::Data { stream, bytes } => {
                self.half.on_data(stream, &P::Data::of(bytes.len() as u32, &bytes))
            }
            Message::Close { stream } => self.half.on_close(stream),
            Message::Reset { stream } => self.half.on_reset(stream),
            Message::Alive | Message::Session(_) => true,
        }
    }

    /// The pseudo proxy is silent: all connections end, and a new session begins.
    fn end_session(&mut self, now: Instant) {
        self.last_heard = now;
        self.half.notes.push_back(Note::Abandoned);
        self.half.break_all();
        self.sessions_ended += 1;
        self.sender.restart();
        self.sender.push(Item::Reset { stream: NO_STREAM });
    }
    fn silent_at(&self) -> Option<Instant> {
        let waits = self.sender.unconfirmed() > 0 || self.half.is_in_use();
        self.silence.filter(|_| waits).map(|silence| self.last_heard + silence)
    }

    fn transmit_datagram(&mut self, now: Instant, segment: &mut Segment) -> Option<Departure<P>> {
        loop {
            if let Some(datagram) = self.sender.poll_transmit(now) {
                let payload_len = datagram.wire_len() - IPV4_HEADER - TCP_HEADER;
                *segment = Segment {
                    seq: SeqNumber(datagram.serial as u32),
                    flags: Flags::NONE,
                    payload_len,
                    ..Segment::default()
                };
                let body = P::of(datagram.payload_len(), || {
                    let mut bytes = vec![];
                    datagram.encode(&self.key, &mut bytes);
                    bytes
                });
                self.note_kept();
                let (connection, direction, ecn) = (self.tunnel, Direction::Forward, Ecn::NotEct);
                return Some(Departure { port: 0, connection, direction, ecn, body });
            }
            let may = self.sender.has_room() && self.sender.ready_at() <= now;
            if !may || !self.half.send_next(now, self.sender.most_data()) {
                return None;
            }
            self.tell();
        }
    }

    fn note_kept(&mut self) {
        self.kept = self.sender.unconfirmed() as u64;
    }
}

impl<P: Payload> Middlebox<P> for Surrogate<P> {
    fn handle_packet(&mut self, now: Instant, _port: usize, packet: Passing<'_, P>) -> Verdict {
        match (self.half.base.failed, packet.connection.0.checked_sub(self.tunnel.0)) {
            (true, None) => {
                self.half.base.refuse(0, packet.connection, packet.direction, packet.segment);
            }
            (false, None) => {
                self.half.on_host_packet(now, packet);
                self.tell();
            }
            (false, Some(1)) => {
                self.half.on_control_packet(now, &packet);
                let held_up = self.half.control.out_of_order_bytes() > 0;
                self.sender.hold_up(held_up);
                self.read_line(now);
                self.note_kept();
            }
            (_, Some(_)) => {}
        }
        Verdict::Taken
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.half.begin();
        while let Some(owner) = self.half.base.timers.expired(now) {
            self.half.on_timer(now, owner);
            self.tell();
        }
        if self.silent_at().is_some_and(|due| due <= now) {
            self.end_session(now);
        }
    }

    fn poll_timeout(&self) -> Option<Instant> {
        if self.half.base.failed {
            return None;
        }
        let data = !self.half.ready.is_empty() && self.sender.has_room();
        let fresh = data.then(|| self.sender.ready_at());
        [fresh, self.silent_at(), self.sender.poll_timeout(), self.half.next_timer()]
            .into_iter()
            .flatten()
            .min()
    }

    fn transmit_into(&mut self, now: Instant, segment: &mut Segment) -> Option<Departure<P>> {
        if let Some(departure) = self.half.base.outbox.pop_into(segment) {
            return Some(departure);
        }
        if self.half.base.failed {
            return None;
        }
        if let Some(departure) = self.half.transmit_control(now, segment) {
            return Some(departure);
        }
        self.half.leave_control();
        self.half
            .transmit_local(now, segment)
            .or_else(|| self.transmit_datagram(now, segment))
            // Reading for the other node may have opened a host's window.
            .or_else(|| self.half.transmit_local(now, segment))
    }

    fn watches_queue(&self) -> bool {
        !self.half.base.failed
    }
    fn handle_queue(&mut self, now: Instant, state: QueueState) {
        self.sender.on_queue(now, state);
    }
    fn lose_all(&mut self, _now: Instant) {
        self.half.forget_all();
        self.kept = 0;
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        let sent = self.sender.counts();
        let counts = Counts {
            paced_items: sent.items,
            paced_lost: sent.reported_lost,
            paced_expired: sent.expired,
            paced_parities: sent.parities,
            paced_probes: sent.probes,
            paced_tossed: sent.tossed + self.tossed_messages,
            sessions_ended: self.sessions_ended,
            ..Counts::default()
        };
        [self.half.counters(), counts.list()].concat()
    }
    fn base(&self) -> &Base<P> {
        &self.half.base
    }
    fn base_mut(&mut self) -> &mut Base<P> {
        &mut self.half.base
    }
    fn own_connections(&self) -> Vec<OwnConnection> {
        self.half.own_connections()
    }
}

impl<P: Payload> Node<P> for Surrogate<P> {
    fn account(&self, connection: ConnectionId) -> Option<Account> {
        self.half.account(connection)
    }
    fn poll_note(&mut self) -> Option<Note> {
        self.half.notes.pop_front()
    }
    fn held_packets(&self) -> u64 {
        self.kept
    }
}
