//! The scenario's flows as real connections: for each a thread at either end, in the namespaces of its hosts. What they do is
//! what the simulator's applications do; the kernels do the rest.

use crate::clock::Clock;
use crate::tcp_info::TcpInfo;
use crate::world::FIRST_PORT;
use crate::{Error, kernel, namespace, sys};
use longhaul_path::Histogram;
use longhaul_scenario::{AppSpec, BufferSpec, Ending, FlowInstance, FlowSpec};
use longhaul_units::{Duration, Instant};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{AddressFamily, Backlog, SockFlag, SockType, SockaddrIn, setsockopt, sockopt};
use nix::sys::socket::{bind, connect, listen, socket};
use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddrV4, TcpListener, TcpStream};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Bytes written and read at a time.
const CHUNK: usize = 256 * 1024;
/// How often a sleeping thread looks whether all is over.
const NAP: Duration = Duration::from_millis(50);

/// What a flow does: its application, reduced to what the two threads need.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Work {
    /// The client sends so many bytes, or without end.
    Bulk(Option<u64>),
    /// The client sends messages of so many bytes at this interval.
    Cbr(usize, Duration),
    /// The client asks for answers, again and again.
    Request {
        /// Bytes of a request.
        request: u64,
        /// Bytes of an answer.
        response: u64,
        /// Time between an answer and the next request.
        think: Duration,
        /// Number of requests; without it there is no end.
        requests: Option<u64>,
    },
}

impl Work {
    /// The work of an application; `size` is the transfer's, where it has one.
    ///
    /// # Errors
    /// What the emulator does not run.
    pub fn new(spec: &FlowSpec, size: Option<u64>) -> Result<Work, Error> {
        match &spec.app {
            AppSpec::Bulk { .. } => Ok(Work::Bulk(size)),
            AppSpec::Cbr { rate, message } => {
                let length = message.as_bytes();
                Ok(Work::Cbr(length as usize, rate.transmission_time(*message)))
            }
            AppSpec::Request { request, response, think, requests } => Ok(Work::Request {
                request: request.as_bytes(),
                response: response.as_bytes(),
                think: *think,
                requests: *requests,
            }),
            AppSpec::OnOff { .. }
            | AppSpec::Web { .. }
            | AppSpec::Keystrokes { .. }
            | AppSpec::Messages { .. }
            | AppSpec::Trace(_)
            | AppSpec::Video(_) => Err(Error::Unsupported(format!(
                "flow \"{}\": the emulator runs bulk, cbr and request applications itself; for web pages run a browser in \
                 `longhaul-emu shell`",
                spec.name
            ))),
        }
    }

    /// True if most of the data goes from the passive opener to the active one.
    pub fn server_sends(&self) -> bool {
        matches!(self, Work::Request { .. })
    }

    /// True for work that ends by itself.
    pub fn has_end(&self) -> bool {
        matches!(self, Work::Bulk(Some(_)) | Work::Request { requests: Some(_), .. })
    }
}

/// What happens to a flow, as both of its threads and those who watch see it.
#[derive(Default)]
pub struct Progress {
    /// Bytes delivered to the application at the end that receives the bulk of the data.
    pub delivered: AtomicU64,
    /// It is over.
    pub over: AtomicBool,
    shared: Mutex<Shared>,
}

/// See [`Progress`].
#[derive(Default)]
pub struct Shared {
    /// The sockets of both ends, while they are open; the first is the data sender's.
    sockets: [Option<TcpStream>; 2],
    /// When the last byte of all was delivered.
    pub finished: Option<Instant>,
    /// The connection was made.
    pub connected: bool,
    /// Times of answers.
    pub responses: Histogram,
    /// The sender's last words.
    pub last: TcpInfo,
    /// What went wrong.
    pub error: Option<String>,
}

impl Progress {
    /// What both ends write down.
    pub fn shared(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The data sender as its kernel sees it; `None` before it is connected.
    pub fn sample(&self) -> Option<TcpInfo> {
        let mut shared = self.shared();
        let now = shared.sockets[0].as_ref().and_then(|socket| TcpInfo::of(socket).ok());
        if let Some(now) = now {
            shared.last = now;
        }
        shared.connected.then_some(shared.last)
    }

    /// Ends both connections at once.
    pub fn abort(&self) {
        for socket in self.shared().sockets.iter().flatten() {
            let _ = socket.shutdown(Shutdown::Both);
        }
    }

    fn open(&self, end: usize, socket: &TcpStream) -> io::Result<()> {
        let copy = socket.try_clone()?;
        let mut shared = self.shared();
        shared.sockets[end] = Some(copy);
        shared.connected |= end == 0;
        Ok(())
    }

    fn close(&self, end: usize) {
        if end == 0 {
            self.sample();
        }
        self.shared().sockets[end] = None;
    }
}

/// One flow, and where it runs.
pub struct Flow<'a> {
    /// Its number.
    pub number: usize,
    /// The scenario's words.
    pub spec: &'a FlowSpec,
    /// When it starts and stops.
    pub instance: &'a FlowInstance,
    /// What it does.
    pub work: Work,
    /// Namespaces of client and server.
    pub namespaces: [&'a str; 2],
    /// The server's address.
    pub server: Ipv4Addr,
    /// What happens to it.
    pub progress: &'a Progress,
}

/// All that a thread needs to know of the run.
#[derive(Clone, Copy)]
pub struct Run<'a> {
    /// The run's clock.
    pub clock: Clock,
    /// Everything is to end.
    pub stop: &'a AtomicBool,
}

impl Run<'_> {
    /// Sleeps until then; false if the run ended meanwhile.
    fn sleep_until(&self, then: Instant) -> bool {
        while self.clock.now() < then && !self.is_over() {
            let left = then.since(self.clock.now()).min(NAP);
            std::thread::sleep(std::time::Duration::from_nanos(left.as_nanos()));
        }
        !self.is_over()
    }
    fn is_over(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

impl Flow<'_> {
    fn port(&self) -> u16 {
        FIRST_PORT + self.number as u16
    }

    /// Number of the end's socket in [`Shared`]: 0 for the data's sender.
    fn slot(&self, server: bool) -> usize {
        usize::from(self.work.server_sends() != server)
    }

    /// The server's socket, listening.
    ///
    /// # Errors
    /// What the kernel refuses.
    pub fn listen(&self) -> Result<TcpListener, Error> {
        namespace::within(self.namespaces[1], || {
            let make = || -> io::Result<TcpListener> {
                let socket = self.socket()?;
                setsockopt(&socket, sockopt::ReuseAddr, &true)?;
                let address = SockaddrIn::from(SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, self.port()));
                bind(socket.as_raw_fd(), &address)?;
                listen(&socket, Backlog::new(1)?)?;
                Ok(TcpListener::from(socket))
            };
            make().map_err(|why| self.refused("listen", &why))
        })
    }

    fn refused(&self, what: &str, why: &io::Error) -> Error {
        Error::system(format!("{what} for flow \"{}\"", self.instance.name), why)
    }

    /// A socket with the scenario's settings.
    fn socket(&self) -> io::Result<OwnedFd> {
        let tcp = &self.spec.tcp;
        let socket = socket(AddressFamily::Inet, SockType::Stream, SockFlag::SOCK_CLOEXEC, None)?;
        sys::set_tcp_option(&socket, libc::TCP_MAXSEG, tcp.mss.as_bytes() as i32)?;
        setsockopt(&socket, sockopt::TcpCongestion, &OsString::from(tcp.congestion.name()))?;
        setsockopt(&socket, sockopt::TcpNoDelay, &!tcp.nagle)?;
        if let Some(bytes) = self.largest_window() {
            // The kernel keeps room for its own overhead; the clamp is what is offered.
            setsockopt(&socket, sockopt::RcvBufForce, &(bytes as usize * 2))?;
        }
        self.clamp_window(&socket)?;
        Ok(socket)
    }

    /// The scenario's receive buffer in bytes, if there is a limit.
    fn largest_window(&self) -> Option<i32> {
        let tcp = &self.spec.tcp;
        let BufferSpec::Limited(_) = tcp.receive_buffer else { return None };
        let bytes = tcp.receive_buffer.bytes(tcp.mss).unwrap_or(u64::MAX);
        Some(i32::try_from(bytes).unwrap_or(i32::MAX / 4))
    }

    /// Sets the largest window that is offered. Kernels forget it when they see how large packets are (tcp_measure_rcv_mss): it
    /// is set again and again.
    fn clamp_window(&self, socket: &impl AsRawFd) -> io::Result<()> {
        match self.largest_window() {
            Some(bytes) => sys::set_tcp_option(socket, libc::TCP_WINDOW_CLAMP, bytes),
            None => Ok(()),
        }
    }

    /// The server's thread: one connection.
    pub fn serve(&self, listener: &TcpListener, run: Run<'_>) {
        let result = self.accept(listener, run).and_then(|socket| match socket {
            None => Ok(()),
            Some(socket) => {
                self.progress.open(self.slot(true), &socket)?;
                self.at_server(socket, run)
            }
        });
        self.end(result, self.slot(true), run);
    }

    fn accept(&self, listener: &TcpListener, run: Run<'_>) -> io::Result<Option<TcpStream>> {
        listener.set_nonblocking(true)?;
        while !run.is_over() {
            match listener.accept() {
                Ok((socket, _)) => {
                    socket.set_nonblocking(false)?;
                    return Ok(Some(socket));
                }
                Err(why) if why.kind() == io::ErrorKind::WouldBlock => {
                    std::thread::sleep(std::time::Duration::from_millis(1));
                }
                Err(why) => return Err(why),
            }
        }
        Ok(None)
    }

    fn at_server(&self, mut socket: TcpStream, run: Run<'_>) -> io::Result<()> {
        let Work::Request { request, response, .. } = self.work else { return self.receive(socket, run) };
        let mut buffer = vec![0; CHUNK];
        while read_bytes(&mut socket, request, &mut buffer, |_| {})? {
            write_bytes(&mut socket, response, &buffer)?;
        }
        Ok(())
    }

    /// Reads until the other end closes.
    fn receive(&self, mut socket: TcpStream, run: Run<'_>) -> io::Result<()> {
        let mut buffer = vec![0; CHUNK];
        let mut left = match self.work {
            Work::Bulk(size) => size,
            _ => None,
        };
        loop {
            let len = socket.read(&mut buffer)?;
            let now = run.clock.now();
            if len == 0 {
                return Ok(());
            }
            self.clamp_window(&socket)?;
            self.progress.delivered.fetch_add(len as u64, Ordering::Relaxed);
            if let Some(left) = &mut left {
                *left = left.saturating_sub(len as u64);
                if *left == 0 {
                    self.progress.shared().finished.get_or_insert(now);
                }
            }
        }
    }

    /// The client's thread.
    pub fn ask(&self, run: Run<'_>) {
        if !run.sleep_until(self.instance.start) {
            return;
        }
        let result = self.connect(run).and_then(|socket| match socket {
            None => Ok(()),
            Some(socket) => {
                self.progress.open(self.slot(false), &socket)?;
                self.at_client(socket, run)
            }
        });
        self.end(result, self.slot(false), run);
    }

    /// The client's socket, connected; `None` if the run ends before.
    fn connect(&self, run: Run<'_>) -> io::Result<Option<TcpStream>> {
        let socket = TcpStream::from(self.socket()?);
        socket.set_nonblocking(true)?;
        match connect(socket.as_raw_fd(), &SockaddrIn::from(SocketAddrV4::new(self.server, self.port()))) {
            Ok(()) | Err(Errno::EINPROGRESS) => {}
            Err(why) => return Err(why.into()),
        }
        let nap = PollTimeout::try_from(NAP.as_nanos() / 1_000_000).unwrap_or(PollTimeout::ZERO);
        while !run.is_over() {
            let mut polled = [PollFd::new(socket.as_fd(), PollFlags::POLLOUT)];
            match poll(&mut polled, nap) {
                Ok(0) | Err(Errno::EINTR) => continue,
                Ok(_) => {}
                Err(why) => return Err(why.into()),
            }
            if let Some(why) = socket.take_error()? {
                return Err(why);
            }
            socket.set_nonblocking(false)?;
            return Ok(Some(socket));
        }
        Ok(None)
    }

    fn at_client(&self, mut socket: TcpStream, run: Run<'_>) -> io::Result<()> {
        let stop = self.instance.stop.unwrap_or(Instant::FAR_FUTURE);
        let stopped = || run.clock.now() >= stop || run.is_over();
        let mut buffer = vec![0; CHUNK];
        match self.work {
            Work::Bulk(size) => {
                // Without an end it writes so many bytes at a time that it notices when it is to stop.
                let mut left = size.unwrap_or(u64::MAX);
                let chunk = if stop < Instant::FAR_FUTURE { 16 * 1024 } else { CHUNK };
                while left > 0 && !stopped() {
                    let len = socket.write(&buffer[..chunk.min(usize::try_from(left).unwrap_or(chunk))])?;
                    left -= len as u64;
                }
            }
            Work::Cbr(length, interval) => {
                let mut next = run.clock.now();
                let message = vec![0; length];
                while !stopped() && run.sleep_until(next.min(stop)) && !stopped() {
                    socket.write_all(&message)?;
                    next += interval;
                }
            }
            Work::Request { request, response, think, requests } => {
                let mut count = 0;
                while requests.is_none_or(|most| count < most) && !stopped() {
                    let asked = run.clock.now();
                    write_bytes(&mut socket, request, &buffer)?;
                    let delivered = &self.progress.delivered;
                    let note = |len| {
                        delivered.fetch_add(len, Ordering::Relaxed);
                    };
                    self.clamp_window(&socket)?;
                    if !read_bytes(&mut socket, response, &mut buffer, note)? {
                        return Err(io::ErrorKind::UnexpectedEof.into());
                    }
                    let now = run.clock.now();
                    self.progress.shared().responses.record(now - asked);
                    count += 1;
                    if requests == Some(count) {
                        self.progress.shared().finished = Some(now);
                    } else {
                        run.sleep_until((now + think).min(stop));
                    }
                }
            }
        }
        self.finish(socket, run)
    }

    /// Closes the connection as the scenario says, and waits until all is delivered.
    fn finish(&self, mut socket: TcpStream, run: Run<'_>) -> io::Result<()> {
        let unfinished = !self.work.has_end() || self.progress.shared().finished.is_none();
        let stopped = self.instance.stop.is_some_and(|stop| run.clock.now() >= stop);
        if stopped && unfinished && self.spec.ending == Ending::Reset {
            let at_once = libc::linger { l_onoff: 1, l_linger: 0 };
            setsockopt(&socket, sockopt::Linger, &at_once)?;
            return Ok(());
        }
        socket.shutdown(Shutdown::Write)?;
        // The other end closes when it has read everything.
        while socket.read(&mut [0; 4096])? > 0 {}
        Ok(())
    }

    fn end(&self, result: io::Result<()>, slot: usize, run: Run<'_>) {
        // What breaks because the run is over is no error, nor is a reset that the scenario asks for.
        let expected = run.is_over() || self.spec.ending == Ending::Reset;
        if let Err(why) = result {
            if !expected {
                self.progress.shared().error.get_or_insert(why.to_string());
            }
        }
        self.progress.close(slot);
        if slot == self.slot(false) {
            self.progress.over.store(true, Ordering::Relaxed);
        }
    }
}

/// Reads exactly so many bytes, and says how many there were each time; false if the other end has closed before the first.
fn read_bytes(socket: &mut TcpStream, count: u64, buffer: &mut [u8], note: impl Fn(u64)) -> io::Result<bool> {
    let mut left = count;
    while left > 0 {
        let most = buffer.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        match socket.read(&mut buffer[..most])? {
            0 if left == count => return Ok(false),
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            len => {
                left -= len as u64;
                note(len as u64);
            }
        }
    }
    Ok(true)
}

fn write_bytes(socket: &mut TcpStream, count: u64, buffer: &[u8]) -> io::Result<()> {
    let mut left = count;
    while left > 0 {
        let most = buffer.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        left -= socket.write(&buffer[..most])? as u64;
    }
    Ok(())
}

/// Checks that the kernel has the congestion controls of the scenario.
///
/// # Errors
/// The first that it has not.
pub fn check_congestion<'a>(flows: impl IntoIterator<Item = &'a FlowSpec>) -> Result<(), Error> {
    for flow in flows {
        if kernel::congestion(&flow.tcp).is_none() {
            return Err(Error::Unsupported(format!(
                "flow \"{}\": this kernel ({}) has no congestion control \"{}\"; it has {}: try \
                 --set flow.{}.tcp.congestion=\"...\"",
                flow.name,
                kernel::release(),
                flow.tcp.congestion.name(),
                kernel::available().join(", "),
                flow.name,
            )));
        }
    }
    Ok(())
}
