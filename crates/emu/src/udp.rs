//! Flows over UDP with real packets: what an application writes leaves at once as datagrams, and what arrives is counted, by the same
//! numbering and measurement as in the simulator (`longhaul_traffic::Datagrams`). One thread serves both ends of a flow; each socket
//! belongs to the namespace of its host.
//!
//! A datagram begins with its number (32 bits, network order). When each was written is kept here, in the process of both ends: no clock
//! is compared with another.

use crate::flows::{Flow, Run};
use crate::tcp_info::TcpInfo;
use crate::{Error, namespace};
use longhaul_results::SenderFacts;
use longhaul_scenario::{FlowSpec, UdpSpec};
use longhaul_segment::Ecn;
use longhaul_tcp::{Limit, LimitedTime, Stats};
use longhaul_traffic::{App, Datagrams, Qoe, Reception, Written};
use longhaul_units::{Duration, Instant};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::socket::{ControlMessageOwned, MsgFlags, recvmsg, setsockopt, sockopt};
use nix::sys::time::TimeSpec;
use std::collections::VecDeque;
use std::io::{self, ErrorKind, IoSliceMut};
use std::net::{Ipv4Addr, SocketAddrV4, UdpSocket};
use std::os::fd::{AsFd, AsRawFd};
use std::sync::atomic::Ordering;
use std::time::SystemTime;

/// How often a flow looks whether all is over, and how often it reports how far it is.
const NAP: Duration = Duration::from_millis(50);
const REPORTS: Duration = Duration::from_millis(5);
/// Bytes of a socket's buffers.
const BUFFER: usize = 8 << 20;
/// Bytes of a number.
const NUMBER: usize = 4;
/// Datagrams whose time of writing is kept. One that comes later than so many others has no delay, and is not counted.
const KEPT: usize = 1 << 20;
/// Headers of IPv4 without options, and of UDP (RFC 791, 768).
const HEADERS: u64 = 28;
/// Largest datagram.
const LONGEST: usize = 65_507;

/// What is known of a flow over UDP.
#[derive(Clone, Debug, Default)]
pub struct UdpInfo {
    /// Datagrams and bytes of payload sent since the start.
    pub sent: (u64, u64),
    /// What was measured at its receiver.
    pub reception: Reception,
    /// When its application stopped.
    pub stopped: Option<Instant>,
}

impl UdpInfo {
    /// The same in the form of a kernel's TCP_INFO, for the time series.
    pub fn as_tcp(&self) -> TcpInfo {
        TcpInfo { data_segments_sent: self.sent.0, bytes_sent: self.sent.1, ..TcpInfo::default() }
    }

    /// What was sent since `before`.
    pub fn sender_since(&self, before: &TcpInfo) -> SenderFacts {
        SenderFacts::from(&Stats {
            data_segments_sent: self.sent.0.saturating_sub(before.data_segments_sent),
            data_bytes_sent: self.sent.1.saturating_sub(before.bytes_sent),
            ..Stats::default()
        })
    }

    /// Its state, in the words of the simulator.
    pub fn state(&self) -> &'static str {
        if self.stopped.is_some() { "Closed" } else { "Open" }
    }

    /// Time from `start` to `end` in which the application decided what was sent, and after its end.
    pub fn limited(&self, start: Instant, end: Instant) -> LimitedTime {
        let stopped = self.stopped.unwrap_or(end).min(end);
        let times =
            [(Limit::Application, stopped.since(start.min(stopped))), (Limit::Closed, end.since(stopped))];
        times.into_iter().collect()
    }
}

/// Refuses what datagrams of real packets cannot be: longer than their host's MTU, or too short for a number.
///
/// # Errors
/// The first such flow, and what would do.
pub fn check<'a>(
    flows: impl IntoIterator<Item = &'a FlowSpec>,
    mtu: impl Fn(&FlowSpec) -> u64,
) -> Result<(), Error> {
    for flow in flows {
        let Some(udp) = flow.udp() else { continue };
        let (payload, most) = (udp.payload.as_bytes(), mtu(flow) - HEADERS);
        if payload > most {
            return Err(Error::Unsupported(format!(
                "flow \"{}\": its host's MTU is {} bytes, which leaves {most} for a datagram, and kernels fragment what is longer: \
                 set udp.payload to \"{most} B\" or less",
                flow.name,
                most + HEADERS,
            )));
        }
        let message = flow.app.datagram().map_or(payload, |size| size.as_bytes());
        if payload.min(message) < NUMBER as u64 {
            return Err(Error::Unsupported(format!(
                "flow \"{}\": with real packets a datagram carries its number, which takes {NUMBER} bytes: make `payload` and messages \
                 as long as that",
                flow.name
            )));
        }
    }
    Ok(())
}

/// Sockets of a flow: its client's and its server's.
pub struct Pair {
    client: UdpSocket,
    server: UdpSocket,
}

impl Pair {
    /// Opens both, each in the namespace of its host.
    ///
    /// # Errors
    /// What the kernel refuses.
    pub fn open(flow: &Flow<'_>, udp: &UdpSpec) -> Result<Self, Error> {
        let [client, server] = flow.namespaces;
        let open = |namespace: &str, port: u16| {
            namespace::within(namespace, || {
                let make = || -> io::Result<UdpSocket> {
                    let socket = UdpSocket::bind(SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, port))?;
                    socket.set_nonblocking(true)?;
                    setsockopt(&socket, sockopt::RcvBufForce, &BUFFER)?;
                    setsockopt(&socket, sockopt::SndBufForce, &BUFFER)?;
                    setsockopt(&socket, sockopt::ReceiveTimestampns, &true)?;
                    let ecn = if udp.ecn { Ecn::Ect0 } else { Ecn::NotEct };
                    let byte = flow.spec.dscp.byte() | ecn as u8;
                    setsockopt(&socket, sockopt::Ipv4Tos, &i32::from(byte))?;
                    Ok(socket)
                };
                make().map_err(|why| Error::system(format!("open UDP port {port}"), why))
            })
        };
        Ok(Pair { client: open(client, 0)?, server: open(server, flow.port())? })
    }
}

impl Flow<'_> {
    /// The thread of a flow over UDP: from its application's start to the end of the run.
    pub fn play_datagrams(&self, udp: &UdpSpec, sockets: &Pair, run: Run<'_>) {
        // Ordinary threads are woken up to 50 us late, on purpose.
        let _ = nix::sys::prctl::set_timerslack(1);
        let mut playing = Playing {
            flow: self,
            sockets,
            run,
            app: self.spec.application(self.instance, self.seed),
            datagrams: Datagrams::new(udp.payload.as_bytes(), self.spec.app.call()),
            written: VecDeque::new(),
            first: 0,
            stopped: None,
            next_note: Instant::ZERO,
            space: vec![0; LONGEST],
        };
        if let (Err(why), false) = (playing.until_over(), run.is_over()) {
            self.progress.shared().error.get_or_insert(why.to_string());
        }
        playing.note();
        self.progress.over.store(true, Ordering::Relaxed);
    }
}

/// A flow while it is played.
struct Playing<'a> {
    flow: &'a Flow<'a>,
    sockets: &'a Pair,
    run: Run<'a>,
    app: App,
    datagrams: Datagrams,
    /// When each datagram was written, from that with the number `first` on.
    written: VecDeque<Instant>,
    first: u64,
    stopped: Option<Instant>,
    next_note: Instant,
    space: Vec<u8>,
}

impl Playing<'_> {
    fn until_over(&mut self) -> io::Result<()> {
        while !self.run.is_over() {
            let now = self.run.clock.now();
            if self.app.wake() <= now {
                self.act(now)?;
            }
            self.receive()?;
            if self.flow.progress.begin_measuring.swap(false, Ordering::Relaxed) {
                self.datagrams.measure_anew();
            }
            let now = self.run.clock.now();
            if now >= self.next_note {
                self.note();
                self.next_note = now + REPORTS;
            }
            let nap = self.app.wake().since(now.min(self.app.wake())).min(NAP);
            self.wait(&self.sockets.server, PollFlags::POLLIN, nap)?;
        }
        Ok(())
    }

    /// Calls the application, and sends what it has written.
    fn act(&mut self, now: Instant) -> io::Result<()> {
        let mut streams = Written::default();
        self.app.act(now, &mut streams);
        let (messages, closed) = streams.take();
        for mut left in messages {
            while let Some((number, payload)) = self.datagrams.take(now, &mut left) {
                self.written.push_back(now);
                if self.written.len() > KEPT {
                    self.written.pop_front();
                    self.first += 1;
                }
                self.send(number, payload as usize)?;
            }
        }
        self.flow.progress.shared().connected = true;
        if closed {
            self.stopped.get_or_insert(now);
        }
        Ok(())
    }

    fn send(&mut self, number: u64, payload: usize) -> io::Result<()> {
        let payload = payload.max(NUMBER);
        self.space[..NUMBER].copy_from_slice(&(number as u32).to_be_bytes());
        self.space[NUMBER..payload].fill(0);
        let to = SocketAddrV4::new(self.flow.server, self.flow.port());
        loop {
            match self.sockets.client.send_to(&self.space[..payload], to) {
                Ok(_) => return Ok(()),
                Err(why) if why.kind() == ErrorKind::WouldBlock && !self.run.is_over() => {
                    self.wait(&self.sockets.client, PollFlags::POLLOUT, NAP)?;
                }
                // Nobody waits for what leaves when all is over.
                Err(why) if why.kind() == ErrorKind::WouldBlock => return Ok(()),
                // An earlier datagram was refused on its way (ICMP): this one was not sent.
                Err(why) if why.kind() == ErrorKind::ConnectionRefused => {}
                Err(why) => return Err(why),
            }
        }
    }

    /// Takes what has come, with the times at which the kernel received it.
    fn receive(&mut self) -> io::Result<()> {
        loop {
            let Some((bytes, age)) = received(&self.sockets.server, &mut self.space)? else { return Ok(()) };
            let now = self.run.clock.now();
            let Some(number) = self.space[..bytes].first_chunk::<NUMBER>() else { continue };
            let number = self.datagrams.number(u32::from_be_bytes(*number));
            let place = number.checked_sub(self.first).and_then(|place| usize::try_from(place).ok());
            let Some(written) = place.and_then(|place| self.written.get(place)).copied() else { continue };
            let arrived = Instant::from_nanos(now.as_nanos().saturating_sub(age.as_nanos())).max(written);
            self.datagrams.arrive(arrived, number, written, bytes as u32);
        }
    }

    fn wait(&self, socket: &UdpSocket, what: PollFlags, most: Duration) -> io::Result<()> {
        let most = TimeSpec::from_duration(std::time::Duration::from_nanos(most.as_nanos()));
        match ppoll(&mut [PollFd::new(socket.as_fd(), what)], Some(most), None) {
            Ok(_) | Err(Errno::EINTR) => Ok(()),
            Err(why) => Err(why.into()),
        }
    }

    /// Reports how far all is.
    fn note(&self) {
        let progress = self.flow.progress;
        progress.delivered.store(self.datagrams.received_bytes(), Ordering::Relaxed);
        progress.over.store(self.stopped.is_some(), Ordering::Relaxed);
        let now = self.run.clock.now();
        let qoe: Option<Qoe> = self.app.started().then(|| self.datagrams.qoe(now)).flatten();
        let mut shared = progress.shared();
        shared.finished = self.app.finished();
        shared.qoe = qoe;
        shared.udp = Some(UdpInfo {
            sent: self.datagrams.sent(),
            reception: self.datagrams.reception().clone(),
            stopped: self.stopped,
        });
    }
}

/// A datagram's length in bytes, and the time since the kernel received it; `None` if there is none.
fn received(socket: &UdpSocket, space: &mut [u8]) -> io::Result<Option<(usize, Duration)>> {
    let mut control = nix::cmsg_space!(nix::libc::timespec);
    let mut parts = [IoSliceMut::new(space)];
    let message = match recvmsg::<()>(socket.as_raw_fd(), &mut parts, Some(&mut control), MsgFlags::empty()) {
        Ok(message) => message,
        Err(Errno::EAGAIN | Errno::EINTR) => return Ok(None),
        Err(why) => return Err(why.into()),
    };
    let stamp = message.cmsgs()?.find_map(|one| match one {
        ControlMessageOwned::ScmTimestampns(time) => Some(std::time::Duration::from(time)),
        _ => None,
    });
    let day = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    // A clock that was set meanwhile has no part in it: what is read waits no longer than a nap.
    let age = stamp.and_then(|stamp| day.checked_sub(stamp)).unwrap_or_default();
    let age = Duration::from_nanos(age.as_nanos() as u64).min(NAP);
    Ok(Some((message.bytes, age)))
}
