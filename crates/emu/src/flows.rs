//! The scenario's flows as real connections: a thread for each, which serves the sockets at both ends of its connections; each
//! socket belongs to the namespace of its host. What they do is what the simulator's applications do (`longhaul_traffic`); the
//! kernels do the rest.

use crate::clock::Clock;
use crate::quic_info::QuicInfo;
use crate::sockets::{News, Sockets};
use crate::tcp_info::TcpInfo;
use crate::udp::UdpInfo;
use crate::world::FIRST_PORT;
use crate::{Error, kernel, namespace, sys};
use longhaul_quic::Incidents;
use longhaul_scenario::{BufferSpec, Ending, FlowInstance, FlowSpec, Transport};
use longhaul_traffic::{App, End, Qoe, Side, Streams};
use longhaul_units::{Duration, FlowId, Histogram, Instant};
use nix::errno::Errno;
use nix::sys::socket::{AddressFamily, Backlog, SockFlag, SockType, SockaddrIn, setsockopt, sockopt};
use nix::sys::socket::{bind, connect, listen, socket};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::net::{Ipv4Addr, SocketAddrV4, TcpListener, TcpStream};
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// How often a flow looks whether all is over.
const NAP: Duration = Duration::from_millis(50);
/// A connection that waits to be taken by its server, of each flow.
const BACKLOG: i32 = 64;

/// The state of a flow, shared by its thread and its observers.
#[derive(Default)]
pub struct Progress {
    /// Bytes delivered to the application at the end that receives the bulk of the data.
    pub delivered: AtomicU64,
    /// It is over.
    pub over: AtomicBool,
    /// Times of answers and pages are measured anew.
    pub begin_measuring: AtomicBool,
    shared: Mutex<Shared>,
}

/// See [`Progress`].
#[derive(Default)]
pub struct Shared {
    /// The sockets of the data's senders, while they are open, by connection.
    senders: BTreeMap<usize, TcpStream>,
    /// Counters of senders that are gone.
    ended: TcpInfo,
    /// When the last byte of all was delivered.
    pub finished: Option<Instant>,
    /// A connection was made.
    pub connected: bool,
    /// Times of answers.
    pub responses: Histogram,
    /// Times of pages.
    pub pages: Histogram,
    /// Answers that never came.
    pub failed: u64,
    /// What people have noticed.
    pub qoe: Option<Qoe>,
    /// The senders' last words.
    pub last: TcpInfo,
    /// What is known of a QUIC flow.
    pub quic: Option<QuicInfo>,
    /// What is known of a flow over UDP.
    pub udp: Option<UdpInfo>,
    /// Limits of quinn-proto that its QUIC connection has met.
    pub incidents: Incidents,
    /// Logs of its QUIC connection: name of the file, content.
    pub logs: Vec<(String, Vec<u8>)>,
    /// What went wrong.
    pub error: Option<String>,
}

impl Progress {
    /// What is written down.
    pub fn shared(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The state of the data's senders in their kernel; `None` before one is connected.
    pub fn sample(&self) -> Option<TcpInfo> {
        let mut shared = self.shared();
        if let Some(quic) = &shared.quic {
            return shared.connected.then(|| quic.as_tcp());
        }
        if let Some(udp) = &shared.udp {
            return shared.connected.then(|| udp.as_tcp());
        }
        let mut now = shared.ended;
        let open = shared.senders.values().filter_map(|socket| TcpInfo::of(socket).ok());
        open.for_each(|info| now.merge(&info));
        // The counters of a flow's last sender stay.
        if !shared.senders.is_empty() {
            shared.last = now;
        }
        shared.connected.then_some(shared.last)
    }

    fn open(&self, pair: usize, socket: &TcpStream) -> io::Result<()> {
        let copy = socket.try_clone()?;
        let mut shared = self.shared();
        shared.connected = true;
        shared.senders.insert(pair, copy);
        Ok(())
    }

    fn close(&self, pair: usize) {
        self.sample();
        let mut shared = self.shared();
        if let Some(info) = shared.senders.remove(&pair).and_then(|socket| TcpInfo::of(&socket).ok()) {
            shared.ended.merge(&TcpInfo { cwnd: 0, flight: 0, peer_window: 0, ..info });
        }
    }
}

/// One flow, and where it runs.
pub struct Flow<'a> {
    /// Its number.
    pub id: FlowId,
    /// The scenario's words.
    pub spec: &'a FlowSpec,
    /// When it starts and stops.
    pub instance: &'a FlowInstance,
    /// The run's seed.
    pub seed: u64,
    /// Namespaces of client and server.
    pub namespaces: [&'a str; 2],
    /// The server's address.
    pub server: Ipv4Addr,
    /// What happens to it.
    pub progress: &'a Progress,
}

/// All that a thread needs of the run.
#[derive(Clone, Copy)]
pub struct Run<'a> {
    /// The run's clock.
    pub clock: Clock,
    /// Everything is to end.
    pub stop: &'a AtomicBool,
}

impl Run<'_> {
    pub(crate) fn is_over(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

impl Flow<'_> {
    pub(crate) fn port(&self) -> u16 {
        FIRST_PORT + self.id.0 as u16
    }

    /// The namespace of the end that sends the bulk of the data.
    pub(crate) fn sender_namespace(&self) -> &str {
        match self.spec.app.data_sender() {
            Side::Client => self.namespaces[0],
            Side::Server => self.namespaces[1],
        }
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
                listen(&socket, Backlog::new(BACKLOG)?)?;
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
        if !self.spec.dscp.is_default() {
            // Connections that the listening socket accepts have it too.
            setsockopt(&socket, sockopt::Ipv4Tos, &i32::from(self.spec.dscp.byte()))?;
        }
        if let Some(bytes) = self.largest_window() {
            // The kernel keeps room for its own overhead; the clamp is what is offered.
            setsockopt(&socket, sockopt::RcvBufForce, &(bytes as usize * 2))?;
        }
        // What the scenario's application sets on its socket: the kernel doubles both.
        if let Some(bytes) = tcp.so_rcvbuf.asked() {
            setsockopt(&socket, sockopt::RcvBufForce, &(usize::try_from(bytes).unwrap_or(usize::MAX)))?;
        }
        if let Some(bytes) = tcp.so_sndbuf.asked() {
            setsockopt(&socket, sockopt::SndBufForce, &(usize::try_from(bytes).unwrap_or(usize::MAX)))?;
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

    /// Sets the largest window that is offered. Kernels reset it when they measure the size of packets (tcp_measure_rcv_mss): it
    /// is set again and again.
    fn clamp_window(&self, socket: &impl AsRawFd) -> io::Result<()> {
        match self.largest_window() {
            Some(bytes) => sys::set_tcp_option(socket, libc::TCP_WINDOW_CLAMP, bytes),
            None => Ok(()),
        }
    }

    /// The flow's thread, in its client's namespace: from the application's start to the end of its last connection.
    pub fn play(&self, listener: &TcpListener, run: Run<'_>) {
        let result = self.connections(listener, run);
        // What breaks because the run is over is no error, nor is a reset of the scenario.
        let expected = run.is_over() || self.spec.ending == Ending::Reset;
        if let Err(why) = result {
            if !expected {
                self.progress.shared().error.get_or_insert(why.to_string());
            }
        }
        self.progress.over.store(true, Ordering::Relaxed);
    }

    /// The client's socket; its connection is under way.
    fn connect(&self) -> io::Result<TcpStream> {
        let socket = TcpStream::from(self.socket()?);
        socket.set_nonblocking(true)?;
        match connect(socket.as_raw_fd(), &SockaddrIn::from(SocketAddrV4::new(self.server, self.port()))) {
            Ok(()) | Err(Errno::EINPROGRESS) => Ok(socket),
            Err(why) => Err(why.into()),
        }
    }

    fn connections(&self, listener: &TcpListener, run: Run<'_>) -> io::Result<()> {
        let connect = || self.connect();
        let pairs = self.spec.app.connections();
        let mut sockets = Sockets::new(pairs, listener, &connect)?;
        let mut app = self.spec.application(self.instance, self.seed);
        let result = self.until_over(&mut app, &mut sockets, run);
        (0..pairs).for_each(|pair| self.progress.close(pair));
        self.note(&app, run.clock.now());
        result
    }

    fn until_over(&self, app: &mut App, sockets: &mut Sockets<'_>, run: Run<'_>) -> io::Result<()> {
        let several = sockets.pairs() > 1;
        while !run.is_over() {
            let now = run.clock.now();
            if app.wake() <= now {
                if !several && !app.started() {
                    sockets.open(0);
                }
                app.act(now, sockets);
            }
            let nap = app.wake().since(run.clock.now()).min(NAP);
            for (end, news) in sockets.wait(std::time::Duration::from_nanos(nap.as_nanos()))? {
                match news {
                    Ok(news) => self.take(end, news, app, sockets)?,
                    // The other end of what an application has reset.
                    Err(_) if several || app.stopped() && self.spec.ending == Ending::Reset => {
                        sockets.give_up(end.pair);
                    }
                    Err(why) => return Err(why),
                }
            }
            while let Some((_, why)) = sockets.take_refused() {
                if !several {
                    return Err(why);
                }
            }
            while let Some(end) = sockets.take_goal() {
                app.reached(run.clock.now(), end, sockets);
            }
            for pair in 0..sockets.pairs() {
                if sockets.is_over(pair) {
                    self.progress.close(pair);
                    sockets.clear(pair);
                    if !several {
                        return Ok(());
                    }
                    app.gone(run.clock.now(), pair, sockets);
                }
            }
            if self.progress.begin_measuring.swap(false, Ordering::Relaxed) {
                app.clear_times(run.clock.now());
            }
            self.note(app, run.clock.now());
            let ended = app.finished().is_some() || app.stopped();
            if several && ended && sockets.are_idle() {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Takes an end's event.
    fn take(&self, end: End, news: News, app: &mut App, sockets: &mut Sockets<'_>) -> io::Result<()> {
        let data_sender = self.spec.app.data_sender();
        match news {
            News::Connected | News::Accepted => {
                if let Some(socket) = sockets.socket(end).filter(|_| end.side == data_sender) {
                    self.progress.open(end.pair, socket)?;
                }
                if news == News::Connected && sockets.pairs() == 1 {
                    app.connected(sockets);
                }
            }
            News::Received(bytes) => {
                if end.side != data_sender {
                    self.progress.delivered.fetch_add(bytes, Ordering::Relaxed);
                }
                if let Some(socket) = sockets.socket(end) {
                    self.clamp_window(socket)?;
                }
            }
            // The application closes its side too once there is no more to come.
            News::PeerClosed => sockets.end(end).close(),
        }
        Ok(())
    }

    /// Says how far the application is.
    pub(crate) fn note(&self, app: &App, now: Instant) {
        let mut shared = self.progress.shared();
        shared.finished = app.finished();
        if self.spec.app.asks() && app.responses().count() != shared.responses.count() {
            shared.responses.clone_from(app.responses());
            shared.pages.clone_from(app.pages());
        }
        shared.failed = app.failed();
        shared.qoe = app.qoe(now);
    }
}

/// Checks that the kernel has the congestion controls of the scenario.
///
/// # Errors
/// The first that it has not.
pub fn check_congestion<'a>(flows: impl IntoIterator<Item = &'a FlowSpec>) -> Result<(), Error> {
    for flow in flows.into_iter().filter(|flow| flow.transport == Transport::Tcp) {
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
