//! The pseudo proxy at the client's side: datagrams come in, and reports go out in messages on the thin line, as little as
//! possible at a time.

use super::datagram::Item;
use super::half::{CLIENT, Half};
use super::message::Message;
use super::receiver::{Delivery, Receiver};
use super::{Counts, Settings};
use crate::nodes::{Account, Directory, Node, Note};
use crate::split::Plans;
use crate::{Base, Data, Departure, Middlebox, OwnConnection, Passing, Payload, Verdict};
use longhaul_segment::Segment;
use longhaul_units::{ConnectionId, Duration, Instant, Random};

/// Bytes of a data message before the data.
const DATA_HEADER: u32 = 7;

/// The node that receives datagrams.
pub struct PseudoProxy<P: Payload> {
    half: Half<P>,
    receiver: Receiver<P::Data>,
    /// Of the session's datagrams.
    key: [u8; 16],
    /// Number of the datagrams' tunnel among the connections.
    tunnel: ConnectionId,
    /// After a third of it in silence, it sends a message of life.
    silence: Option<Duration>,
    last_said: Instant,
    control_bytes: u64,
    /// Nothing of the hosts has crossed the line since the last report.
    line_is_idle: bool,
}

impl<P: Payload> PseudoProxy<P> {
    /// `key` is the other node's too; `random` is for initial sequence numbers.
    pub fn new(
        plans: Plans,
        settings: &Settings,
        key: [u8; 16],
        directory: Box<dyn Directory>,
        random: Random,
    ) -> Self {
        let Settings { receiver, control, silence, first_number, .. } = settings;
        PseudoProxy {
            half: Half::new(
                CLIENT,
                plans,
                control,
                first_number.after(1),
                receiver.buffer,
                directory,
                random,
            ),
            receiver: Receiver::new(*receiver, 0),
            key,
            tunnel: *first_number,
            silence: *silence,
            last_said: Instant::ZERO,
            control_bytes: 0,
            line_is_idle: true,
        }
    }

    /// Sends the records for the other node.
    fn tell(&mut self, now: Instant) {
        for stream in self.half.forgotten.drain(..) {
            self.receiver.forget(stream);
        }
        while let Some(item) = self.half.outgoing.pop_front() {
            match item {
                Item::Open { stream, key } => {
                    self.line_is_idle = false;
                    self.receiver.begin(stream);
                    self.say(&Message::Open { stream, key });
                }
                Item::Close { stream, .. } => self.say(&Message::Close { stream }),
                Item::Reset { stream } => self.say(&Message::Reset { stream }),
                Item::Credit { stream, limit } => {
                    self.receiver.grant(stream, limit);
                    self.receiver.report_soon(now);
                    self.say(&Message::Credit { stream, limit });
                }
                Item::Data { stream, data, .. } => {
                    self.line_is_idle = false;
                    self.say(&Message::Data { stream, bytes: data.to_bytes() })
                }
            }
        }
    }

    /// A message goes out on the control connection.
    fn say(&mut self, message: &Message) {
        let mut bytes = vec![];
        message.encode(&mut bytes);
        self.control_bytes += bytes.len() as u64;
        self.half.control.write(&P::Data::of(bytes.len() as u32, &bytes));
    }

    /// A datagram has crossed the satellite.
    fn on_datagram(&mut self, now: Instant, payload: &P) {
        self.receiver.handle_payload(now, &self.key, payload.data());
        while let Some(delivery) = self.receiver.poll_delivery() {
            match delivery {
                Delivery::Open { stream, key } => self.half.on_open(stream, &key),
                Delivery::Data { stream, data } => {
                    self.half.on_data(stream, &data);
                }
                Delivery::Close { stream } => {
                    self.half.on_close(stream);
                }
                Delivery::Reset { stream } => {
                    self.half.on_reset(stream);
                }
                Delivery::Credit { stream, limit } => {
                    self.half.on_credit(stream, limit);
                }
                Delivery::NewSession(session) => {
                    self.half.break_all();
                    self.say(&Message::Session(session));
                }
            }
            self.tell(now);
        }
    }

    fn alive_at(&self) -> Option<Instant> {
        self.silence.map(|silence| self.last_said + silence / 3)
    }

    /// What it has to send: a report that is due, then data of the hosts, and else a message of life. As little as possible waits unsent, so
    /// that a report is what it is when it leaves.
    fn say_next(&mut self, now: Instant) -> bool {
        if self.half.control.unsent() > 0 {
            return false;
        }
        let before = self.control_bytes;
        if let Some(report) = self.receiver.poll_report(now, self.line_is_idle) {
            self.line_is_idle = true;
            self.say(&Message::Report(report));
        } else {
            let most = self.half.control.effective_mss().saturating_sub(DATA_HEADER).max(1);
            while self.control_bytes == before && self.half.send_next(now, most) {
                self.tell(now);
            }
            if self.control_bytes == before && self.alive_at().is_some_and(|due| due <= now) {
                self.say(&Message::Alive);
            }
        }
        let said = self.control_bytes > before;
        if said {
            self.last_said = now;
        }
        said
    }

    fn transmit_control(&mut self, now: Instant, segment: &mut Segment) -> Option<Departure<P>> {
        loop {
            if let Some(departure) = self.half.transmit_control(now, segment) {
                return Some(departure);
            }
            if !self.say_next(now) {
                self.half.leave_control();
                return None;
            }
        }
    }
}

impl<P: Payload> Middlebox<P> for PseudoProxy<P> {
    fn handle_packet(&mut self, now: Instant, _port: usize, packet: Passing<'_, P>) -> Verdict {
        match (self.half.base.failed, packet.connection.0.checked_sub(self.tunnel.0)) {
            (true, None) => {
                self.half.base.refuse(0, packet.connection, packet.direction, packet.segment);
            }
            (true, Some(_)) => {}
            (false, None) => {
                self.half.on_host_packet(now, packet);
                self.tell(now);
            }
            (false, Some(0)) => self.on_datagram(now, packet.body),
            (false, Some(_)) => self.half.on_control_packet(now, &packet),
        }
        Verdict::Taken
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.half.begin();
        while let Some(owner) = self.half.base.timers.expired(now) {
            self.half.on_timer(now, owner);
            self.tell(now);
        }
    }

    fn poll_timeout(&self) -> Option<Instant> {
        if self.half.base.failed {
            return None;
        }
        // What waits for the control connection is looked at when that has sent.
        let can_say = self.half.control.unsent() == 0;
        let report = self.receiver.next_report().filter(|_| can_say);
        let alive = self.alive_at().filter(|_| can_say);
        [report, alive, self.half.next_timer()].into_iter().flatten().min()
    }

    fn transmit_into(&mut self, now: Instant, segment: &mut Segment) -> Option<Departure<P>> {
        if let Some(departure) = self.half.base.outbox.pop_into(segment) {
            return Some(departure);
        }
        if self.half.base.failed {
            return None;
        }
        self.transmit_control(now, segment).or_else(|| self.half.transmit_local(now, segment))
    }

    fn lose_all(&mut self, _now: Instant) {
        self.half.forget_all();
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        let received = self.receiver.counts();
        let counts = Counts {
            paced_restored: received.restored,
            paced_duplicates: received.duplicates,
            paced_tossed: received.tossed,
            reports: received.reports,
            control_bytes: self.control_bytes,
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

impl<P: Payload> Node<P> for PseudoProxy<P> {
    fn account(&self, connection: ConnectionId) -> Option<Account> {
        self.half.account(connection)
    }
    fn poll_note(&mut self) -> Option<Note> {
        self.half.notes.pop_front()
    }
}
