//! The part of a host that a script uses: sockets, the clock, and TCP's connections under them.

use crate::call::{Call, Value};
use crate::options::Settings;
use crate::packet::{Packet, PacketOptions};
use longhaul_scenario::BufferSpec;
use longhaul_segment::{Ecn, Flags, Options, SackBlocks, Segment, SeqNumber, Timestamps};
use longhaul_tcp::{Connection, Event, Ports, State, reset_for};
use longhaul_units::{Duration, Instant, Limit, Size};
use std::collections::{BTreeMap, VecDeque};

/// Ports mean nothing here: a script has one connection at a time.
const PORTS: Ports = Ports { local: 8080, remote: 40_000 };
/// More timers than this at one instant never end.
const MOST_TURNS: u32 = 100_000;

/// A segment that left.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    pub at: Instant,
    /// Number of the connection.
    pub peer: usize,
    pub segment: Segment,
    pub ecn: Ecn,
}

/// A connection and what the application has done with it.
pub struct Peer {
    pub connection: Connection,
    accepted: bool,
    closed: bool,
    read_shut: bool,
    write_shut: bool,
    /// What ended it before its time.
    error: Option<&'static str>,
    /// The initial sequence numbers that the script gives.
    pub local_isn: Option<u32>,
    pub remote_isn: u32,
    /// Timestamps: the script's value and ours.
    stamps: Vec<(u32, u32)>,
    /// When data (or the SYN) arrived last.
    pub data_at: Instant,
    /// Time with data to send or unacknowledged, up to `busy_until`.
    busy: Duration,
    busy_until: Instant,
    /// Zero-window and keepalive probes sent before the last answer.
    pub answered_probes: u64,
}

impl Peer {
    fn new(connection: Connection, remote_isn: u32, now: Instant) -> Self {
        Peer {
            connection,
            accepted: false,
            closed: false,
            read_shut: false,
            write_shut: false,
            error: None,
            local_isn: None,
            remote_isn,
            stamps: Vec::new(),
            data_at: now,
            busy: Duration::ZERO,
            busy_until: now,
            answered_probes: 0,
        }
    }
    /// Time with data to send or unacknowledged.
    pub fn busy_time(&self, now: Instant) -> Duration {
        let works = self.connection.unsent() > 0 || self.connection.flight_size() > 0;
        if works { self.busy + now.since(self.busy_until) } else { self.busy }
    }
    /// Something is about to change.
    fn account(&mut self, now: Instant) {
        self.busy = self.busy_time(now);
        self.busy_until = now;
    }
    /// What the script writes for a segment that left. Numbers count from the initial ones, but in a SYN.
    pub fn script_packet(&mut self, segment: &Segment, ecn: Ecn) -> Packet {
        let syn = segment.flags.contains(Flags::SYN);
        let local = self.local_isn.unwrap_or(0);
        Packet {
            ecn: Some(ecn),
            flags: segment.flags,
            seq: if syn { segment.seq.0.wrapping_add(local) } else { segment.seq.0 },
            len: segment.payload_len,
            ack: segment
                .flags
                .contains(Flags::ACK)
                .then(|| if syn { segment.ack.0 } else { segment.ack.0.wrapping_sub(self.remote_isn) }),
            window: Some(segment.window),
            options: Some(PacketOptions::of_segment(segment, self.remote_isn)),
            ace: false,
        }
    }
    /// The script writes this timestamp for ours.
    pub fn match_stamp(&mut self, script: u32, ours: u32) {
        if !self.stamps.contains(&(script, ours)) {
            self.stamps.push((script, ours));
        }
    }
    /// The first timestamp, as the script writes it and as it was.
    pub fn first_stamp(&self) -> Option<(u32, u32)> {
        self.stamps.first().copied()
    }
    /// The segment that a script's packet is.
    fn segment(&self, packet: &Packet) -> Result<Segment, String> {
        let syn = packet.flags.contains(Flags::SYN);
        let local = self.local_isn.unwrap_or(0);
        let (seq, ack) = if syn { (0, local) } else { (self.remote_isn, 0) };
        let mut options = Options::default();
        if let Some(given) = &packet.options {
            options.mss = given.mss;
            options.window_scale = given.window_scale;
            options.ecn_counters = given.ecn;
            options.sack_permitted = given.sack_permitted;
            if let Some((value, echo)) = given.timestamps {
                // The last value that the script wrote so; one that never left is meant as it stands.
                let ours =
                    self.stamps.iter().rev().find(|(script, _)| *script == echo).map(|(_, ours)| *ours);
                options.timestamps = Some(Timestamps { value, echo: ours.unwrap_or(echo) });
            }
            let mut blocks = SackBlocks::default();
            for (start, end) in &given.sack {
                if !blocks.push(SeqNumber(*start), SeqNumber(*end)) {
                    return Err(format!("more than {} SACK blocks", SackBlocks::MAX));
                }
            }
            options.sack = blocks;
        }
        Ok(Segment {
            src_port: PORTS.remote,
            dst_port: PORTS.local,
            seq: SeqNumber(packet.seq.wrapping_add(seq)),
            ack: SeqNumber(packet.ack.map_or(0, |number| number.wrapping_sub(ack))),
            window: packet.window.unwrap_or(0),
            flags: packet.flags,
            payload_len: packet.len,
            options,
        })
    }
}

#[derive(Clone)]
struct Socket {
    settings: Settings,
    state: SocketState,
    blocking: bool,
    send_buffer: Option<i64>,
    receive_buffer: Option<i64>,
    corked: bool,
    lingers_not: bool,
    wants_backlog: bool,
}

#[derive(Clone, Copy, PartialEq)]
enum SocketState {
    Fresh,
    Listening,
    Connected(usize),
}

/// What a system call gives.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// This value.
    Value(i64),
    /// -1 with this errno.
    Error(&'static str),
    /// It would wait, as a blocking socket does.
    Blocks,
    /// Not modelled.
    Beyond(String),
    /// What it gives back is not what the script states: expected and actual.
    Differs(String, String),
}

/// Sockets and connections in virtual time.
pub struct Host {
    pub now: Instant,
    settings: Settings,
    /// See [`Options`](crate::options::Options).
    received_mss: Option<u32>,
    sockets: BTreeMap<i64, Socket>,
    pub peers: Vec<Peer>,
    /// Segments that left and have not been compared.
    pub sent: VecDeque<Sent>,
    /// Timers went round and round.
    pub stuck: bool,
}

impl Host {
    pub fn new(settings: Settings, received_mss: Option<u32>) -> Self {
        Host {
            now: Instant::ZERO,
            settings,
            received_mss,
            sockets: BTreeMap::new(),
            peers: Vec::new(),
            sent: VecDeque::new(),
            stuck: false,
        }
    }

    /// Sysctls that change in the middle bear on what is opened after.
    pub fn set_defaults(&mut self, settings: Settings) {
        self.settings = settings;
    }
    /// The settings of what is opened now.
    pub fn defaults(&self) -> &Settings {
        &self.settings
    }

    // Time.

    /// When the next timer is due.
    pub fn next_timer(&self) -> Option<Instant> {
        self.peers.iter().filter_map(|peer| peer.connection.poll_timeout()).min()
    }
    /// Lets time pass up to and including `until`.
    pub fn advance(&mut self, until: Instant) {
        let mut turns = 0;
        while let Some(due) = self.next_timer().filter(|due| *due <= until) {
            turns = if due > self.now { 0 } else { turns + 1 };
            if turns > MOST_TURNS {
                self.stuck = true;
                return;
            }
            self.now = self.now.max(due);
            let now = self.now;
            for peer in &mut self.peers {
                peer.account(now);
                if peer.connection.poll_timeout().is_some_and(|due| due <= now) {
                    peer.connection.handle_timeout(now);
                }
            }
            self.flush();
        }
        self.now = self.now.max(until);
    }
    /// Takes what the connections have to send.
    pub fn flush(&mut self) {
        let now = self.now;
        for (number, peer) in self.peers.iter_mut().enumerate() {
            while let Some(out) = peer.connection.poll_transmit(now) {
                self.sent.push_back(Sent { at: now, peer: number, segment: out.segment, ecn: out.ecn });
            }
            while let Some(event) = peer.connection.poll_event() {
                match event {
                    Event::Reset => peer.error = Some("ECONNRESET"),
                    Event::TimedOut => peer.error = Some("ETIMEDOUT"),
                    _ => {}
                }
            }
        }
    }

    // What arrives.

    /// A packet arrives at the last connection, or opens one.
    pub fn arrive(&mut self, packet: &Packet) -> Result<(), String> {
        let listening = self.sockets.values().find(|socket| socket.state == SocketState::Listening).cloned();
        let opens = packet.flags.contains(Flags::SYN) && !packet.flags.contains(Flags::ACK);
        let unused = match self.peers.last() {
            None => true,
            Some(peer) => peer.connection.state() == State::Closed,
        };
        if let Some(listening) = listening.filter(|_| opens && unused) {
            let settings = &listening.settings;
            let policy = settings.congestion_control();
            let connection = Connection::listen(settings.config(false), policy, SeqNumber(0), PORTS);
            self.peers.push(Peer::new(connection, packet.seq, self.now));
        }
        let now = self.now;
        let number = self.peers.len().checked_sub(1);
        let Some((number, peer)) = number.and_then(|number| Some((number, self.peers.get_mut(number)?)))
        else {
            return Err("a packet arrives before there is a connection".to_string());
        };
        if packet.flags.contains(Flags::SYN) {
            peer.remote_isn = packet.seq;
        }
        let segment = peer.segment(packet)?;
        if peer.connection.state() == State::Closed {
            if let Some(reset) = reset_for(&segment) {
                self.sent.push_back(Sent { at: now, peer: number, segment: reset, ecn: Ecn::NotEct });
            }
            return Ok(());
        }
        if segment.payload_len > 0 || packet.flags.contains(Flags::SYN) {
            peer.data_at = now;
        }
        peer.account(now);
        peer.answered_probes = peer.connection.stats().probes_sent;
        // What was joined is answered once.
        for part in in_parts(segment, self.received_mss) {
            peer.connection.handle_segment(now, &part, packet.ecn.unwrap_or(Ecn::NotEct));
        }
        self.flush();
        Ok(())
    }

    // System calls.

    /// Carries out a call. One that blocks can be tried again.
    pub fn call(&mut self, call: &Call, retry: bool) -> Answer {
        let now = self.now;
        self.peers.iter_mut().for_each(|peer| peer.account(now));
        let result = self.dispatch(call, retry);
        self.flush();
        result
    }

    fn dispatch(&mut self, call: &Call, retry: bool) -> Answer {
        let beyond = || Answer::Beyond(format!("the system call {}", call.name));
        if call.name == "socket" {
            let stream = call.argument(1).is_some_and(|kind| kind.has_word("SOCK_STREAM"));
            if !stream || !call.argument(2).is_some_and(|protocol| protocol.has_word("IPPROTO_TCP")) {
                return Answer::Beyond("protocols other than TCP".to_string());
            }
            let Some(fd) = call.result.number() else { return beyond() };
            let socket = Socket {
                settings: self.settings.clone(),
                state: SocketState::Fresh,
                blocking: !call.argument(1).is_some_and(|kind| kind.has_word("SOCK_NONBLOCK")),
                send_buffer: None,
                receive_buffer: None,
                corked: false,
                lingers_not: false,
                wants_backlog: false,
            };
            self.sockets.insert(fd, socket);
            return Answer::Value(fd);
        }
        let Some(fd) = call.number(0).filter(|fd| self.sockets.contains_key(fd)) else { return beyond() };
        match call.name.as_str() {
            "bind" => Answer::Value(0),
            "listen" => {
                self.socket(fd).state = SocketState::Listening;
                Answer::Value(0)
            }
            "accept" | "accept4" => self.accept(call),
            "connect" => self.connect(fd, retry),
            "read" | "recv" | "recvfrom" | "readv" | "recvmsg" => self.receive(fd, call),
            "write" | "send" | "sendto" | "writev" | "sendmsg" => self.send(fd, call),
            "close" => self.close(fd),
            "shutdown" => self.shutdown(fd, call),
            "fcntl" => {
                if call.argument(1).is_some_and(|command| command.has_word("F_SETFL")) {
                    let nonblocking = call.argument(2).is_some_and(|flags| flags.has_word("O_NONBLOCK"));
                    self.socket(fd).blocking = !nonblocking;
                    return Answer::Value(0);
                }
                let blocking = self.socket(fd).blocking;
                Answer::Value(if blocking { 0x2 } else { 0x802 })
            }
            "setsockopt" => self.set_option(fd, call),
            "getsockopt" => self.get_option(fd, call),
            "ioctl" => {
                let Some(number) = self.connected(fd) else { return beyond() };
                let connection = &self.peers[number].connection;
                let actual = match call.argument(1) {
                    Some(name) if name.has_word("SIOCINQ") || name.has_word("FIONREAD") => {
                        connection.readable()
                    }
                    Some(name) if name.has_word("SIOCOUTQNSD") => connection.unsent(),
                    Some(name) if name.has_word("SIOCOUTQ") => connection.unsent() + connection.flight_size(),
                    _ => return Answer::Beyond("this ioctl".to_string()),
                };
                check(call.argument(2), actual as i64, Answer::Value(0))
            }
            _ => beyond(),
        }
    }

    fn socket(&mut self, fd: i64) -> &mut Socket {
        self.sockets.get_mut(&fd).expect("the call was checked to name a socket")
    }
    fn connected(&self, fd: i64) -> Option<usize> {
        match self.sockets.get(&fd)?.state {
            SocketState::Connected(number) => Some(number),
            _ => None,
        }
    }

    fn accept(&mut self, call: &Call) -> Answer {
        let listening = call.number(0).and_then(|fd| self.sockets.get(&fd).cloned());
        let Some(listening) = listening else { return Answer::Error("EINVAL") };
        let ready = self.peers.iter().position(|peer| {
            !peer.accepted && peer.connection.state().is_synchronized() && peer.local_isn.is_some()
        });
        let Some(number) = ready else {
            return if listening.blocking { Answer::Blocks } else { Answer::Error("EAGAIN") };
        };
        self.peers[number].accepted = true;
        let fd = call.result.number().filter(|fd| *fd >= 0).unwrap_or(-1);
        let socket = Socket {
            state: SocketState::Connected(number),
            blocking: !call.argument(3).is_some_and(|flags| flags.has_word("SOCK_NONBLOCK")),
            ..listening
        };
        self.sockets.insert(fd, socket);
        Answer::Value(fd)
    }

    fn connect(&mut self, fd: i64, retry: bool) -> Answer {
        if let Some(number) = self.connected(fd) {
            let peer = &mut self.peers[number];
            if let Some(error) = peer.error.take() {
                return Answer::Error(if error == "ECONNRESET" { "ECONNREFUSED" } else { error });
            }
            return match peer.connection.state() {
                State::SynSent | State::SynReceived if retry => Answer::Blocks,
                State::SynSent | State::SynReceived => Answer::Error("EALREADY"),
                _ => Answer::Value(0),
            };
        }
        let settings = self.socket(fd).settings.clone();
        let connection =
            Connection::connect(settings.config(true), settings.congestion_control(), SeqNumber(0), PORTS);
        let mut peer = Peer::new(connection, 0, self.now);
        peer.accepted = true;
        self.peers.push(peer);
        self.socket(fd).state = SocketState::Connected(self.peers.len() - 1);
        if self.socket(fd).blocking { Answer::Blocks } else { Answer::Error("EINPROGRESS") }
    }

    fn receive(&mut self, fd: i64, call: &Call) -> Answer {
        let wanted = match call.name.as_str() {
            "recvmsg" | "readv" => iov_len(call.argument(1)),
            _ => call.number(2),
        };
        let Some(wanted) = wanted else { return Answer::Beyond("this form of reading".to_string()) };
        let Some(number) = self.connected(fd) else { return Answer::Error("ENOTCONN") };
        let blocking = self.socket(fd).blocking;
        let reports = self.socket(fd).wants_backlog;
        let (now, peer) = (self.now, &mut self.peers[number]);
        let available = peer.connection.readable() as i64;
        let ended = peer.read_shut || ended_by_peer(&peer.connection);
        if available == 0 && !ended && wanted > 0 {
            return match peer.error.take() {
                Some(error) => Answer::Error(error),
                None if peer.connection.state() == State::Closed => Answer::Value(0),
                None if blocking => Answer::Blocks,
                None => Answer::Error("EAGAIN"),
            };
        }
        let taken = peer.connection.read(now, wanted.max(0) as u64) as i64;
        let left = peer.connection.readable() as i64;
        let result = Answer::Value(taken);
        let control = call.argument(1).and_then(|message| message.field("msg_control"));
        let Some(Value::List(entries)) = control.filter(|_| reports) else { return result };
        // TCP_CM_INQ: what is left, and one for the end of the stream.
        let inq = if left == 0 && ended { 1 } else { left };
        let stated = entries.first().and_then(|entry| entry.field("cmsg_data"));
        check(stated, inq, result)
    }

    fn send(&mut self, fd: i64, call: &Call) -> Answer {
        let (wanted, flags) = match call.name.as_str() {
            "sendmsg" => (iov_len(call.argument(1)), call.argument(2)),
            "writev" => (iov_len(call.argument(1)), None),
            _ => (call.number(2), call.argument(3)),
        };
        let Some(wanted) = wanted else { return Answer::Beyond("this form of writing".to_string()) };
        let has = |name: &str| flags.is_some_and(|flags| flags.has_word(name));
        let more = has("MSG_MORE");
        let Some(number) = self.connected(fd) else { return Answer::Error("EPIPE") };
        let blocking = self.socket(fd).blocking;
        let limit = self.socket(fd).send_buffer;
        let peer = &mut self.peers[number];
        if let Some(error) = peer.error.take() {
            return Answer::Error(error);
        }
        if peer.write_shut || peer.connection.state() == State::Closed {
            return Answer::Error("EPIPE");
        }
        if matches!(peer.connection.state(), State::SynSent | State::SynReceived) {
            return if blocking { Answer::Blocks } else { Answer::Error("EAGAIN") };
        }
        let held = peer.connection.unsent() as i64 + peer.connection.flight_size() as i64;
        if limit.is_some_and(|limit| held + wanted > limit) {
            return Answer::Beyond("the kernel's accounting of a full send buffer".to_string());
        }
        peer.connection.write_more(wanted as u64, more);
        if has("MSG_EOR") {
            peer.connection.end_record();
        }
        Answer::Value(wanted)
    }

    fn close(&mut self, fd: i64) -> Answer {
        let resets = self.socket(fd).lingers_not;
        let connected = self.connected(fd);
        self.sockets.remove(&fd);
        let Some(number) = connected else { return Answer::Value(0) };
        let peer = &mut self.peers[number];
        peer.closed = true;
        if resets {
            peer.connection.abort();
        } else {
            peer.connection.close_both();
        }
        peer.write_shut = true;
        Answer::Value(0)
    }

    fn shutdown(&mut self, fd: i64, call: &Call) -> Answer {
        let Some(number) = self.connected(fd) else { return Answer::Error("ENOTCONN") };
        let how = |name: &str| call.argument(1).is_some_and(|how| how.has_word(name));
        let peer = &mut self.peers[number];
        if how("SHUT_RD") || how("SHUT_RDWR") {
            peer.read_shut = true;
        }
        if how("SHUT_WR") || how("SHUT_RDWR") {
            peer.write_shut = true;
            peer.connection.close();
        }
        Answer::Value(0)
    }

    fn set_option(&mut self, fd: i64, call: &Call) -> Answer {
        let Some(Value::Word(name)) = call.argument(2) else {
            return Answer::Beyond("a socket option without a name".to_string());
        };
        let value = call.argument(3).and_then(Value::only_number);
        let connected = self.connected(fd);
        let on = value.is_some_and(|value| value != 0);
        match name.as_str() {
            "SO_REUSEADDR" | "SO_REUSEPORT" | "IP_TOS" | "IP_MTU_DISCOVER" | "IP_FREEBIND" => {}
            "SO_SNDBUF" => self.socket(fd).send_buffer = value.map(|value| 2 * value),
            // Half of what is counted is for the window (tcp_win_from_space, as it is at first).
            "SO_RCVBUF" if connected.is_none() => {
                let size = value.map(|value| Size::from_bytes(value.max(1152) as u64));
                let socket = self.socket(fd);
                socket.settings.tcp.receive_autotuning = None;
                socket.settings.tcp.receive_buffer =
                    size.map_or(BufferSpec::Unlimited, |size| BufferSpec::Limited(Limit::Bytes(size)));
                socket.receive_buffer = value.map(|value| 2 * value.max(1152));
            }
            "TCP_NODELAY" => {
                self.socket(fd).settings.tcp.nagle = !on;
                if let Some(number) = connected {
                    self.peers[number].connection.set_nagle(!on);
                }
            }
            "TCP_CORK" => {
                self.socket(fd).corked = on;
                if let Some(number) = connected {
                    self.peers[number].connection.set_corked(on);
                }
            }
            "TCP_MAXSEG" if connected.is_none() => {
                self.socket(fd).settings.clamp = value.map(|value| value as u32);
            }
            "TCP_USER_TIMEOUT" => {
                let limit = value.filter(|value| *value > 0).map(|value| Duration::from_millis(value as u64));
                self.socket(fd).settings.tcp.user_timeout = limit;
                if let Some(number) = connected {
                    self.peers[number].connection.set_user_timeout(limit);
                }
            }
            "TCP_INQ" => self.socket(fd).wants_backlog = on,
            "SO_LINGER" => {
                let linger =
                    |name| call.argument(3).and_then(|record| record.field(name)).and_then(Value::number);
                self.socket(fd).lingers_not = linger("onoff") == Some(1) && linger("linger") == Some(0);
            }
            _ => return Answer::Beyond(format!("the socket option {name}")),
        }
        Answer::Value(0)
    }

    fn get_option(&mut self, fd: i64, call: &Call) -> Answer {
        let Some(Value::Word(name)) = call.argument(2) else {
            return Answer::Beyond("a socket option without a name".to_string());
        };
        let connected = self.connected(fd);
        let socket = self.socket(fd);
        let actual = match name.as_str() {
            "SO_ERROR" => 0,
            "SO_SNDBUF" => match socket.send_buffer {
                Some(bytes) => bytes,
                None => return Answer::Beyond("the size of the send buffer".to_string()),
            },
            "SO_RCVBUF" => match socket.receive_buffer {
                Some(bytes) => bytes,
                None => return Answer::Beyond("the size of the receive buffer".to_string()),
            },
            "TCP_NODELAY" => i64::from(!socket.settings.tcp.nagle),
            "TCP_CORK" => i64::from(socket.corked),
            "TCP_MAXSEG" => match (connected, socket.settings.clamp) {
                (Some(number), _) => i64::from(self.peers[number].connection.effective_mss()),
                (None, Some(clamp)) => i64::from(clamp),
                (None, None) => 536,
            },
            _ => return Answer::Beyond(format!("the socket option {name}")),
        };
        check(call.argument(3), actual, Answer::Value(0))
    }
}

/// The segments that an interface has joined to this one.
fn in_parts(segment: Segment, mss: Option<u32>) -> Vec<Segment> {
    let Some(mss) = mss.filter(|mss| segment.payload_len > *mss) else { return vec![segment] };
    let len = segment.payload_len;
    let part = |offset: u32| {
        let payload_len = mss.min(len - offset);
        let flags = if offset + payload_len < len { Flags::ACK } else { segment.flags };
        Segment { seq: segment.seq + offset, payload_len, flags, ..segment }
    };
    (0..len).step_by(mss as usize).map(part).collect()
}

/// `result`, if the script states this value.
fn check(stated: Option<&Value>, actual: i64, result: Answer) -> Answer {
    match stated.map(|stated| (stated, stated.only_number())) {
        Some((_, Some(number))) if number != actual => {
            Answer::Differs(number.to_string(), actual.to_string())
        }
        _ => result,
    }
}

/// The peer's FIN has arrived, and all before it.
fn ended_by_peer(connection: &Connection) -> bool {
    matches!(connection.state(), State::CloseWait | State::Closing | State::LastAck | State::TimeWait)
}

/// The bytes of an iovec, in a message or alone.
fn iov_len(value: Option<&Value>) -> Option<i64> {
    let vector = value?.field("msg_iov").or(value)?;
    let Value::List(entries) = vector else { return None };
    entries
        .iter()
        .map(|entry| match entry {
            Value::Record(parts) => parts.get(1).and_then(Value::number),
            _ => None,
        })
        .sum()
}

/// Why a call, as it is written, is beyond what is modelled; whatever comes before it in the script.
pub fn beyond(call: &Call) -> Option<String> {
    const CALLS: [&str; 20] = [
        "socket", "bind", "listen", "accept", "accept4", "connect", "read", "recv", "recvfrom", "readv",
        "recvmsg", "write", "send", "sendto", "writev", "sendmsg", "close", "shutdown", "fcntl", "ioctl",
    ];
    const OPTIONS: [&str; 13] = [
        "SO_REUSEADDR",
        "SO_REUSEPORT",
        "IP_TOS",
        "IP_MTU_DISCOVER",
        "IP_FREEBIND",
        "SO_SNDBUF",
        "SO_RCVBUF",
        "TCP_NODELAY",
        "TCP_CORK",
        "TCP_MAXSEG",
        "TCP_USER_TIMEOUT",
        "TCP_INQ",
        "SO_LINGER",
    ];
    const FLAGS: [&str; 3] = ["MSG_ZEROCOPY", "MSG_FASTOPEN", "MSG_OOB"];
    if call.name == "setsockopt" || call.name == "getsockopt" {
        let reads = call.name == "getsockopt";
        let Some(Value::Word(name)) = call.argument(2) else {
            return Some("unnamed socket options".to_string());
        };
        let known = OPTIONS.contains(&name.as_str()) || (reads && name == "SO_ERROR");
        return (!known).then(|| format!("the socket option {name}"));
    }
    if !CALLS.contains(&call.name.as_str()) {
        return Some(format!("the system call {}", call.name));
    }
    for argument in &call.arguments {
        if let Some(flag) = FLAGS.iter().find(|flag| argument.has_word(flag)) {
            return Some(flag.to_string());
        }
        if argument.has_word("NULL") || argument.has_word("MSG_ERRQUEUE") {
            return Some("pointers and queues of the system call's interface".to_string());
        }
    }
    let writes = matches!(call.name.as_str(), "write" | "send" | "sendto");
    match (call.number(2), call.result.number()) {
        (Some(wanted), Some(done)) if writes && done >= 0 && done < wanted => {
            Some("the kernel's accounting of a full send buffer".to_string())
        }
        _ => None,
    }
}
