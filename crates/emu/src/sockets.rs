//! A flow's connections as real sockets, as its application has them ([`Streams`]). Sockets never block: one thread serves both
//! ends of all of them.

use longhaul_traffic::{ENDLESS, End, Side, Stream, Streams};
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::socket::{setsockopt, sockopt};
use nix::sys::time::TimeSpec;
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::fd::AsFd;

/// Bytes written and read at a time.
const CHUNK: usize = 256 * 1024;

/// Never reached: nothing is waited for.
const NO_GOAL: u64 = u64::MAX;

/// An event at an end of a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum News {
    /// The client's connection is made.
    Connected,
    /// The server has taken it.
    Accepted,
    /// So many bytes have come.
    Received(u64),
    /// The other end has closed, or has reset the connection.
    PeerClosed,
}

/// One end of a connection.
struct Local {
    socket: Option<TcpStream>,
    connecting: bool,
    /// The socket is not full, or has been found to have room since. Room is a third of its buffer: one that is written to whenever a
    /// segment fits gets PSH in every segment, which the receiver then acknowledges at once.
    has_room: bool,
    /// Bytes that are still to be written, or [`ENDLESS`].
    unsent: u64,
    closing: bool,
    /// This end has closed, the other end has.
    closed: bool,
    peer_closed: bool,
    aborted: bool,
    received: u64,
    goal: u64,
}

impl Default for Local {
    fn default() -> Self {
        Local {
            socket: None,
            connecting: false,
            has_room: true,
            unsent: 0,
            closing: false,
            closed: false,
            peer_closed: false,
            aborted: false,
            received: 0,
            goal: NO_GOAL,
        }
    }
}

impl Stream for Local {
    fn write(&mut self, bytes: u64) {
        self.unsent = self.unsent.saturating_add(bytes);
    }
    fn close(&mut self) {
        self.closing = true;
        if self.unsent == ENDLESS {
            self.unsent = 0;
        }
    }
    fn abort(&mut self) {
        self.aborted = true;
    }
    fn received(&self) -> u64 {
        self.received
    }
}

impl Local {
    /// Neither end has anything to send any more.
    fn is_over(&self) -> bool {
        self.aborted || self.closed && self.peer_closed
    }

    fn fail(&mut self) {
        (self.closed, self.peer_closed, self.unsent) = (true, true, 0);
        self.socket = None;
    }

    /// Writes until the socket is full, as programs do (EAGAIN), and closes what is to be closed.
    fn transmit(&mut self, buffer: &[u8]) -> io::Result<()> {
        let Some(socket) = &mut self.socket else { return Ok(()) };
        if self.aborted {
            let at_once = libc::linger { l_onoff: 1, l_linger: 0 };
            setsockopt(&*socket, sockopt::Linger, &at_once)?;
            self.fail();
            return Ok(());
        }
        if self.connecting || self.closed {
            return Ok(());
        }
        while self.unsent > 0 && self.has_room {
            let most = buffer.len().min(usize::try_from(self.unsent).unwrap_or(usize::MAX));
            let written = match socket.write(&buffer[..most]) {
                Ok(len) => len,
                Err(why) if why.kind() == io::ErrorKind::WouldBlock => 0,
                Err(why) => return Err(why),
            };
            if self.unsent != ENDLESS {
                self.unsent -= written as u64;
            }
            self.has_room = written == most;
        }
        if self.unsent == 0 && self.closing {
            socket.shutdown(Shutdown::Write)?;
            self.closed = true;
        }
        Ok(())
    }

    /// What this end waits for, as poll(2) has it.
    fn interest(&self) -> PollFlags {
        let reads = if self.peer_closed { PollFlags::empty() } else { PollFlags::POLLIN };
        let writes = self.connecting || self.unsent > 0 && !self.closed;
        if self.connecting {
            PollFlags::POLLOUT
        } else if writes {
            reads | PollFlags::POLLOUT
        } else {
            reads
        }
    }

    /// Takes what has come.
    fn receive(&mut self, buffer: &mut [u8]) -> io::Result<Option<News>> {
        let Some(socket) = &mut self.socket else { return Ok(None) };
        if self.connecting {
            if let Some(why) = socket.take_error()? {
                return Err(why);
            }
            self.connecting = false;
            return Ok(Some(News::Connected));
        }
        if self.peer_closed {
            return Ok(None);
        }
        match socket.read(buffer) {
            Ok(0) => {
                self.peer_closed = true;
                Ok(Some(News::PeerClosed))
            }
            Ok(len) => {
                self.received += len as u64;
                Ok(Some(News::Received(len as u64)))
            }
            Err(why) if why.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Err(why) => Err(why),
        }
    }
}

/// Makes a client's socket whose connection is under way.
pub(crate) type Connect<'a> = dyn Fn() -> io::Result<TcpStream> + 'a;

/// All connections of a flow.
pub(crate) struct Sockets<'a> {
    /// Client and server of each pair.
    ends: Vec<Local>,
    listener: &'a TcpListener,
    connect: &'a Connect<'a>,
    buffer: Vec<u8>,
    /// Pairs whose connection could not be made since the last call.
    refused: Vec<(usize, io::Error)>,
}

fn place(end: End) -> usize {
    2 * end.pair + end.side as usize
}

fn end_at(place: usize) -> End {
    if place % 2 == 0 { End::client(place / 2) } else { End::server(place / 2) }
}

impl Streams for Sockets<'_> {
    fn end(&mut self, end: End) -> &mut dyn Stream {
        &mut self.ends[place(end)]
    }
    fn look(&self, end: End) -> &dyn Stream {
        &self.ends[place(end)]
    }
    fn want(&mut self, end: End, total: u64) {
        self.ends[place(end)].goal = total;
    }
    fn open(&mut self, pair: usize) {
        for side in [Side::Client, Side::Server] {
            self.ends[place(End { pair, side })] = Local::default();
        }
        match (self.connect)() {
            Ok(socket) => {
                let client = &mut self.ends[place(End::client(pair))];
                (client.socket, client.connecting) = (Some(socket), true);
            }
            Err(why) => self.refused.push((pair, why)),
        }
    }
}

impl<'a> Sockets<'a> {
    /// So many pairs, none of them connected.
    pub fn new(pairs: usize, listener: &'a TcpListener, connect: &'a Connect<'a>) -> io::Result<Self> {
        listener.set_nonblocking(true)?;
        Ok(Sockets {
            ends: (0..2 * pairs).map(|_| Local::default()).collect(),
            listener,
            connect,
            buffer: vec![0; CHUNK],
            refused: vec![],
        })
    }

    /// The socket of an end, while it has one.
    pub fn socket(&self, end: End) -> Option<&TcpStream> {
        self.ends[place(end)].socket.as_ref()
    }

    /// An end that has received what it waits for; it waits for nothing then.
    pub fn take_goal(&mut self) -> Option<End> {
        let place = self.ends.iter().position(|end| end.received >= end.goal)?;
        self.ends[place].goal = NO_GOAL;
        Some(end_at(place))
    }

    /// True if both ends of a pair that was opened are done.
    pub fn is_over(&self, pair: usize) -> bool {
        let [client, server] = [End::client(pair), End::server(pair)].map(|end| &self.ends[place(end)]);
        // A client may give up before its server has taken the connection.
        client.is_over() && (server.is_over() || server.socket.is_none())
    }

    /// Forgets a pair that is over.
    pub fn clear(&mut self, pair: usize) {
        for end in [End::client(pair), End::server(pair)] {
            self.ends[place(end)] = Local::default();
        }
    }

    /// True if there is no connection.
    pub fn are_idle(&self) -> bool {
        self.ends.iter().all(|end| end.socket.is_none() && !end.is_over())
    }

    /// How many pairs there are.
    pub fn pairs(&self) -> usize {
        self.ends.len() / 2
    }

    /// A connection that could not be made.
    pub fn take_refused(&mut self) -> Option<(usize, io::Error)> {
        let (pair, why) = self.refused.pop()?;
        self.give_up(pair);
        Some((pair, why))
    }

    /// A connection is over for both ends, whatever they had to send.
    pub fn give_up(&mut self, pair: usize) {
        [End::client(pair), End::server(pair)].map(place).iter().for_each(|place| self.ends[*place].fail());
    }

    /// Writes and closes what can be, waits until something comes, but not beyond `until`, and takes it: the events of each end,
    /// or why its connection is no more.
    pub fn wait(&mut self, until: std::time::Duration) -> io::Result<Vec<(End, io::Result<News>)>> {
        let mut news = vec![];
        for place in 0..self.ends.len() {
            if let Err(why) = self.ends[place].transmit(&self.buffer) {
                news.push((end_at(place), Err(why)));
            }
        }
        if !news.is_empty() {
            return Ok(news);
        }
        let mut watched = vec![];
        let mut have_room = vec![];
        let ready: Vec<usize> = {
            let awaited = (0..self.pairs()).any(|pair| self.awaits_server(pair));
            let mut polled = vec![];
            if awaited {
                polled.push(PollFd::new(self.listener.as_fd(), PollFlags::POLLIN));
                watched.push(usize::MAX);
            }
            for (place, end) in self.ends.iter().enumerate() {
                let interest = end.interest();
                if let Some(socket) = end.socket.as_ref().filter(|_| !interest.is_empty()) {
                    polled.push(PollFd::new(socket.as_fd(), interest));
                    watched.push(place);
                }
            }
            match ppoll(&mut polled, Some(TimeSpec::from_duration(until)), None) {
                Ok(_) | Err(nix::errno::Errno::EINTR) => {}
                Err(why) => return Err(why.into()),
            }
            let has_news = |fd: &PollFd<'_>| fd.revents().is_some_and(|flags| !flags.is_empty());
            let writable =
                |fd: &PollFd<'_>| fd.revents().is_some_and(|flags| flags.contains(PollFlags::POLLOUT));
            have_room
                .extend(polled.iter().zip(&watched).filter(|(fd, _)| writable(fd)).map(|(_, place)| *place));
            polled.iter().zip(&watched).filter(|(fd, _)| has_news(fd)).map(|(_, place)| *place).collect()
        };
        for place in have_room {
            self.ends[place].has_room = true;
        }
        for place in ready {
            if place == usize::MAX {
                news.extend(self.accept()?.map(|end| (end, Ok(News::Accepted))));
                continue;
            }
            match self.ends[place].receive(&mut self.buffer) {
                Ok(None) => {}
                Ok(Some(what)) => news.push((end_at(place), Ok(what))),
                Err(why) => news.push((end_at(place), Err(why))),
            }
        }
        Ok(news)
    }

    /// A client has a socket, and its server has none yet.
    fn awaits_server(&self, pair: usize) -> bool {
        let [client, server] = [End::client(pair), End::server(pair)].map(|end| &self.ends[place(end)]);
        client.socket.is_some() && server.socket.is_none() && !server.is_over()
    }

    /// Takes a connection in; its client's port identifies it.
    fn accept(&mut self) -> io::Result<Option<End>> {
        let (socket, from) = match self.listener.accept() {
            Ok(accepted) => accepted,
            Err(why) if why.kind() == io::ErrorKind::WouldBlock => return Ok(None),
            Err(why) => return Err(why),
        };
        let port = |pair: &usize| {
            let client = self.ends[place(End::client(*pair))].socket.as_ref()?;
            Some(client.local_addr().ok()?.port())
        };
        let found =
            (0..self.pairs()).find(|pair| self.awaits_server(*pair) && port(pair) == Some(from.port()));
        // A connection that its client has given up meanwhile is nobody's.
        let Some(pair) = found else { return Ok(None) };
        socket.set_nonblocking(true)?;
        self.ends[place(End::server(pair))].socket = Some(socket);
        Ok(Some(End::server(pair)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use longhaul_scenario::load;
    use longhaul_traffic::App;
    use longhaul_units::{Duration, Instant};

    /// Runs the application of a flow over the loopback device until its connections are over.
    fn play(app: &str) -> (App, u64) {
        let text = format!(
            "[run]\nduration = \"10 s\"\n[[link]]\nname = \"l\"\nends = [\"a\", \"b\"]\nrate = \"1 Mbit/s\"\n\
             delay = \"1 ms\"\n[[flow]]\nfrom = \"a\"\nto = \"b\"\napp = {app}\n"
        );
        let scenario = load(&text, "loopback", &[]).unwrap();
        let network = longhaul_scenario::Network::new(&scenario);
        let (spec, instance) = (&scenario.flow[0], &network.flows[longhaul_units::FlowId(0)]);
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let connect = || {
            let socket = TcpStream::connect(address)?;
            socket.set_nonblocking(true)?;
            Ok(socket)
        };
        let pairs = spec.app.connections();
        let mut sockets = Sockets::new(pairs, &listener, &connect).unwrap();
        let mut app = spec.application(instance, 1);
        let clock = crate::clock::Clock::start();
        let mut received = 0;
        if pairs == 1 {
            sockets.open(0);
        }
        let mut over = 0;
        while clock.now() < Instant::ZERO + Duration::from_secs(10) {
            let now = clock.now();
            if app.wake() <= now {
                app.act(now, &mut sockets);
            }
            let until = app.wake().since(now).min(Duration::from_millis(5));
            for (end, what) in sockets.wait(std::time::Duration::from_nanos(until.as_nanos())).unwrap() {
                match what.unwrap() {
                    News::Connected if pairs == 1 => app.connected(&mut sockets),
                    News::Received(bytes) => received += bytes,
                    News::PeerClosed => sockets.end(end).close(),
                    News::Connected | News::Accepted => {}
                }
            }
            while let Some(end) = sockets.take_goal() {
                app.reached(clock.now(), end, &mut sockets);
            }
            for pair in 0..pairs {
                if sockets.is_over(pair) {
                    sockets.clear(pair);
                    over += 1;
                    if pairs > 1 {
                        app.gone(clock.now(), pair, &mut sockets);
                    }
                }
            }
            if over > 0 && app.finished().is_some() && sockets.are_idle() {
                break;
            }
        }
        (app, received)
    }

    #[test]
    fn a_file_arrives_and_both_ends_close() {
        let (app, received) = play("{ kind = \"bulk\", size = \"3 MB\" }");
        assert_eq!(received, 3_000_000);
        assert!(app.finished().is_some());
    }

    /// A program waits until its socket is writable, which it is with a third of its buffer free. Writing whatever fits sets PSH in
    /// nearly every segment.
    #[test]
    fn a_full_socket_is_written_to_when_it_has_room() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let writer = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut reader, _) = listener.accept().unwrap();
        writer.set_nonblocking(true).unwrap();
        setsockopt(&writer, sockopt::SndBuf, &1_000_000).unwrap();
        let mut end = Local { socket: Some(writer), unsent: ENDLESS - 1, ..Local::default() };
        let buffer = [0; 16 * 1024];
        end.transmit(&buffer).unwrap();
        let left = end.unsent;
        // The peer reads what it has, so that there is room for a few pieces again.
        reader.read_exact(&mut [0; 8 * 16 * 1024]).unwrap();
        std::thread::sleep(std::time::Duration::from_millis(20));
        end.transmit(&buffer).unwrap();
        assert_eq!(end.unsent, left);
    }

    /// Programs write until EAGAIN, however little they write at a time: nothing more fits in afterwards.
    #[test]
    fn a_socket_is_filled_at_one_turn() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let writer = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let _reader = listener.accept().unwrap();
        writer.set_nonblocking(true).unwrap();
        setsockopt(&writer, sockopt::SndBuf, &1_000_000).unwrap();
        let mut end = Local { socket: Some(writer), unsent: ENDLESS - 1, ..Local::default() };
        end.transmit(&[0; 16 * 1024]).unwrap();
        assert!(!end.has_room);
        let more = end.socket.as_mut().unwrap().write(&[0; 16 * 1024]);
        assert_eq!(more.unwrap_err().kind(), io::ErrorKind::WouldBlock);
    }

    #[test]
    fn every_request_is_answered() {
        let (app, received) =
            play("{ kind = \"request\", request = \"100 B\", response = \"50 kB\", requests = 7 }");
        assert_eq!((received, app.responses().count()), (7 * 50_100, 7));
    }

    #[test]
    fn keystrokes_are_echoed() {
        let (app, received) = play("{ kind = \"keystrokes\", gap = \"1 ms\", echo = \"3 B\", count = 20 }");
        assert_eq!((received, app.responses().count()), (20 * 4, 20));
    }

    /// Connections of their own for each object, and connections that are kept.
    #[test]
    fn pages_are_fetched_over_several_connections() {
        for persistent in [false, true] {
            let (app, received) = play(&format!(
                "{{ kind = \"web\", pages = 3, think = \"1 ms\", document = \"10 kB\", objects = 4, object = \"2 kB\", \
                 request = \"100 B\", parallel = 2, persistent = {persistent} }}"
            ));
            assert_eq!(received, 3 * (10_000 + 4 * 2_000 + 5 * 100));
            assert_eq!((app.pages().count(), app.responses().count(), app.failed()), (3, 15, 0));
        }
    }
}
