//! QUIC flows with real packets: quinn-proto's endpoints of crate `quic`, with TLS, over UDP sockets of the two hosts. One thread
//! serves both ends of a connection and the applications of all its flows; each socket belongs to the namespace of its host.

use crate::flows::{Flow, Run};
use crate::quic_info::QuicInfo;
use crate::{Error, namespace};
use bytes::BytesMut;
use longhaul_quic::{
    Bundle, Datagram, Ecn, Member, Observer, Settings, explained, rehearse, seed_of, tls_lab,
};
use longhaul_scenario::{HandshakeSpec, QuicSpec};
use longhaul_traffic::{App, End, Side};
use longhaul_units::{Duration, FlowId, IdVec, Instant};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::socket::{setsockopt, sockopt};
use nix::sys::time::TimeSpec;
use quinn_udp::{BATCH_SIZE, EcnCodepoint, RecvMeta, UdpSockRef, UdpSocketState};
use std::io::{self, ErrorKind, IoSliceMut};
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, UdpSocket};
use std::os::fd::AsFd;
use std::sync::atomic::Ordering;

/// How often a connection looks whether all is over.
const NAP: Duration = Duration::from_millis(50);
/// Bytes of a socket's buffers.
const BUFFER: usize = 8 << 20;
/// Bytes of a batch of datagrams that the kernel has joined.
const JOINED: usize = 1 << 16;
/// Datagrams that leave before the thread looks what has come.
const AT_ONCE: usize = 32;

/// A connection and its flows.
pub struct QuicFlows<'a> {
    flows: Vec<&'a Flow<'a>>,
    spec: &'a QuicSpec,
    /// Its ends are logged.
    qlog: bool,
}

/// A UDP socket of one end.
pub struct Wire {
    socket: UdpSocket,
    state: UdpSocketState,
    /// A datagram for which there was no room.
    waiting: Option<Datagram>,
    space: Vec<Vec<u8>>,
}

impl Wire {
    fn open(namespace: &str, port: u16) -> Result<Self, Error> {
        namespace::within(namespace, || {
            let make = || -> io::Result<Self> {
                let socket = UdpSocket::bind(SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, port))?;
                socket.set_nonblocking(true)?;
                setsockopt(&socket, sockopt::RcvBufForce, &BUFFER)?;
                setsockopt(&socket, sockopt::SndBufForce, &BUFFER)?;
                let state = UdpSocketState::new(UdpSockRef::from(&socket))?;
                let space = (0..BATCH_SIZE).map(|_| vec![0; JOINED]).collect();
                Ok(Wire { socket, state, waiting: None, space })
            };
            make().map_err(|why| Error::system(format!("open UDP port {port}"), why))
        })
    }

    /// Sends a datagram; it waits here if there is no room.
    fn send(&mut self, datagram: Datagram) -> io::Result<()> {
        let ecn = match datagram.ecn {
            Ecn::NotEct => None,
            Ecn::Ect0 => Some(EcnCodepoint::Ect0),
            Ecn::Ect1 => Some(EcnCodepoint::Ect1),
            Ecn::Ce => Some(EcnCodepoint::Ce),
        };
        let message = quinn_udp::Transmit {
            destination: datagram.to,
            ecn,
            contents: &datagram.bytes,
            segment_size: None,
            src_ip: None,
        };
        match self.state.try_send(UdpSockRef::from(&self.socket), &message) {
            Err(why) if why.kind() == ErrorKind::WouldBlock => self.waiting = Some(datagram),
            // What looks for the largest packet finds that this one is too large.
            Err(why) if why.raw_os_error() == Some(libc::EMSGSIZE) => {}
            Err(why) => return Err(why),
            Ok(()) => {}
        }
        Ok(())
    }

    /// Takes what has come.
    fn receive(&mut self, mut each: impl FnMut(SocketAddr, Ecn, &[u8])) -> io::Result<()> {
        loop {
            let mut metas = [RecvMeta::default(); BATCH_SIZE];
            let mut slices: Vec<IoSliceMut<'_>> =
                self.space.iter_mut().map(|bytes| IoSliceMut::new(bytes)).collect();
            let count = match self.state.recv(UdpSockRef::from(&self.socket), &mut slices, &mut metas) {
                Ok(count) => count,
                Err(why) if why.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(why) => return Err(why),
            };
            for (meta, bytes) in metas[..count].iter().zip(&self.space) {
                let ecn = match meta.ecn {
                    None => Ecn::NotEct,
                    Some(EcnCodepoint::Ect0) => Ecn::Ect0,
                    Some(EcnCodepoint::Ect1) => Ecn::Ect1,
                    Some(EcnCodepoint::Ce) => Ecn::Ce,
                };
                let stride = meta.stride.max(1);
                bytes[..meta.len].chunks(stride).for_each(|datagram| each(meta.addr, ecn, datagram));
            }
        }
    }
}

impl<'a> QuicFlows<'a> {
    /// The connections of a run.
    pub fn of(flows: &'a IdVec<FlowId, Flow<'a>>, connections: &[Vec<FlowId>], qlog: bool) -> Vec<Self> {
        let connection = |ids: &Vec<FlowId>| {
            let flows: Vec<&Flow<'_>> = ids.iter().map(|id| &flows[*id]).collect();
            let spec = flows.first()?.spec.quic()?;
            Some(QuicFlows { flows, spec, qlog })
        };
        connections.iter().filter_map(connection).collect()
    }

    /// The namespace of its client.
    pub fn namespace(&self) -> &'a str {
        self.flows[0].namespaces[0]
    }

    /// The sockets of client and server.
    ///
    /// # Errors
    /// What the kernel refuses.
    pub fn open(&self) -> Result<[Wire; 2], Error> {
        let [client, server] = self.flows[0].namespaces;
        Ok([Wire::open(client, 0)?, Wire::open(server, self.flows[0].port())?])
    }

    /// The connection's thread: from the first application's start to the end of the last flow.
    pub fn play(&self, wires: [Wire; 2], run: Run<'_>) {
        let result = self.connection(wires, run);
        for flow in &self.flows {
            if let (Err(why), false) = (&result, run.is_over()) {
                flow.progress.shared().error.get_or_insert(why.clone());
            }
            flow.progress.over.store(true, Ordering::Relaxed);
        }
    }

    fn settings(&self) -> Result<Settings, String> {
        let settings = self.spec.settings();
        let credentials = &settings.credentials;
        let bytes = credentials.certificates.iter().sum::<u32>() + credentials.signature;
        let session = tls_lab::session(bytes as usize, settings.early_data).map_err(|why| why.to_string())?;
        Ok(Settings { session, observer: Some(Observer::default()), ..settings })
    }

    fn bundle(&self, run: Run<'_>) -> Result<Bundle, String> {
        let first = self.flows[0];
        let settings = self.settings()?;
        let both = || [settings.clone(), settings.clone()];
        let logged = || Settings { qlog: self.qlog, ..settings.clone() };
        let server = SocketAddr::from((first.server, first.port()));
        let addresses = [SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0)), server];
        let (name, seed, base) = (&first.instance.name, first.seed, run.clock.base());
        let known = match self.spec.handshake {
            HandshakeSpec::Full => None,
            handshake => {
                // Both ends of the rehearsal are in this process.
                let any = [SocketAddr::from((Ipv4Addr::LOCALHOST, 1)), server];
                let early = handshake == HandshakeSpec::EarlyData;
                let known = rehearse(both(), seed_of(seed, name, "earlier"), base, any, early);
                Some(known.ok_or("an earlier connection, which is to be resumed, could not be made")?)
            }
        };
        let member = |flow: &&Flow<'_>| Member {
            pairs: flow.spec.app.connections(),
            priority: flow.spec.quic().map_or(0, |quic| quic.priority),
        };
        let members: Vec<Member> = self.flows.iter().map(member).collect();
        let seeds = ["Client", "Server"].map(|what| seed_of(seed, name, what));
        Bundle::new([logged(), logged()], seeds, base, addresses, known.unwrap_or_default(), &members)
            .map_err(|why| why.to_string())
    }

    fn connection(&self, wires: [Wire; 2], run: Run<'_>) -> Result<(), String> {
        let apps = self.flows.iter().map(|flow| flow.spec.application(flow.instance, flow.seed)).collect();
        let mut playing = Playing { flows: &self.flows, bundle: self.bundle(run)?, apps, wires, run };
        // Ordinary threads are woken up to 50 us late, on purpose.
        let _ = nix::sys::prctl::set_timerslack(1);
        let result = playing.until_over().map_err(|why| why.to_string());
        playing.note();
        let first = self.flows[0];
        first.progress.shared().incidents = playing.bundle.incidents();
        first.progress.shared().logs = playing.bundle.take_logs(&first.instance.name);
        result
    }
}

/// A connection while it is played.
struct Playing<'a, 'r> {
    flows: &'a [&'a Flow<'a>],
    bundle: Bundle,
    apps: Vec<App>,
    wires: [Wire; 2],
    run: Run<'r>,
}

impl Playing<'_, '_> {
    fn now(&mut self) -> Instant {
        let now = self.run.clock.now();
        self.bundle.set_time(now);
        now
    }

    fn until_over(&mut self) -> io::Result<()> {
        while !self.run.is_over() {
            self.act();
            for side in [Side::Client, Side::Server] {
                let now = self.now();
                let endpoint = self.bundle.endpoint(side);
                if endpoint.poll_timeout().is_some_and(|due| due <= now) {
                    endpoint.handle_timeout(now);
                }
            }
            let sent_all = self.settle()?;
            self.note();
            if sent_all && (0..self.flows.len()).all(|place| self.is_over(place)) {
                return Ok(());
            }
            self.wait(if sent_all { NAP } else { Duration::ZERO })?;
        }
        Ok(())
    }

    /// A flow has nothing more to do.
    fn is_over(&self, place: usize) -> bool {
        let ended = self.apps[place].finished().is_some() || self.apps[place].stopped();
        let several = self.flows[place].spec.app.connections() > 1;
        self.bundle.is_over(place) || (several && ended)
    }

    /// Applications whose time has come.
    fn act(&mut self) {
        let now = self.now();
        for (place, app) in self.apps.iter_mut().enumerate() {
            if app.wake() <= now {
                app.act(now, &mut self.bundle.streams(place));
            }
        }
        self.bundle.carry_out();
    }

    /// Sends what may be sent and takes up what has happened. False if there is more to send at once.
    fn settle(&mut self) -> io::Result<bool> {
        let mut sent_all = true;
        for side in [Side::Client, Side::Server] {
            loop {
                let complete = self.transmit(side)?;
                self.now();
                let Some(told) = self.bundle.poll_event(side) else {
                    sent_all &= complete;
                    break;
                };
                if let Some((place, pair)) = told.stream {
                    self.reach(side, place, pair);
                }
                while let Some((place, pair)) = told.lost.then(|| self.bundle.take_broken()).flatten() {
                    let now = self.now();
                    self.apps[place].gone(now, pair, &mut self.bundle.streams(place));
                }
                while let Some(place) = self.bundle.take_connected() {
                    self.flows[place].progress.shared().connected = true;
                    self.apps[place].connected(&mut self.bundle.streams(place));
                }
                self.bundle.carry_out();
            }
        }
        // What applications have done at one end may concern the other.
        self.transmit(Side::Client).map(|complete| complete && sent_all)
    }

    /// Tells an application what has come or ended.
    fn reach(&mut self, side: Side, place: usize, pair: usize) {
        while self.bundle.take_goal(side, place, pair) {
            let now = self.now();
            self.apps[place].reached(now, End { pair, side }, &mut self.bundle.streams(place));
        }
        if self.bundle.take_gone(place, pair) && self.flows[place].spec.app.connections() > 1 {
            let now = self.now();
            self.apps[place].gone(now, pair, &mut self.bundle.streams(place));
        }
    }

    /// Sends some datagrams; false if there are more.
    fn transmit(&mut self, side: Side) -> io::Result<bool> {
        for _ in 0..AT_ONCE {
            let now = self.run.clock.now();
            let wire = &mut self.wires[side as usize];
            let datagram = wire.waiting.take().or_else(|| self.bundle.endpoint(side).poll_transmit(now));
            let Some(datagram) = datagram else { return Ok(true) };
            wire.send(datagram)?;
            if wire.waiting.is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Waits until something comes or is due, but not longer than `most`, and takes it.
    fn wait(&mut self, most: Duration) -> io::Result<()> {
        let now = self.now();
        let due = [Side::Client, Side::Server].map(|side| self.bundle.endpoint(side).poll_timeout());
        let wakes = self.apps.iter().map(App::wake);
        let next = due.into_iter().flatten().chain(wakes).min().unwrap_or(Instant::FAR_FUTURE);
        let until = next.since(now.min(next)).min(most);
        {
            let interest = |wire: &Wire| {
                let more = if wire.waiting.is_some() { PollFlags::POLLOUT } else { PollFlags::empty() };
                PollFlags::POLLIN | more
            };
            let [client, server] = &self.wires;
            let mut polled = [client, server].map(|wire| PollFd::new(wire.socket.as_fd(), interest(wire)));
            let until = TimeSpec::from_duration(std::time::Duration::from_nanos(until.as_nanos()));
            match ppoll(&mut polled, Some(until), None) {
                Ok(_) | Err(Errno::EINTR) => {}
                Err(why) => return Err(why.into()),
            }
        }
        let now = self.now();
        for side in [Side::Client, Side::Server] {
            let endpoint = self.bundle.endpoint(side);
            self.wires[side as usize].receive(|from, ecn, bytes| {
                endpoint.handle_datagram(now, from, ecn, BytesMut::from(bytes));
            })?;
        }
        Ok(())
    }

    /// Says how far all is.
    fn note(&mut self) {
        let now = self.now();
        for (place, flow) in self.flows.iter().enumerate() {
            let side = flow.spec.app.data_sender();
            let (done, sample) = (self.bundle.done(now, place, side), self.bundle.sample(side));
            flow.progress.delivered.store(done.received, Ordering::Relaxed);
            if flow.progress.begin_measuring.swap(false, Ordering::Relaxed) {
                self.apps[place].clear_times(now);
            }
            let state = self.bundle.state(place);
            {
                let mut shared = flow.progress.shared();
                shared.connected |= done.sender.rtt_samples > 0;
                shared.quic = Some(QuicInfo { done, sample, state });
                if let Some(why) =
                    self.bundle.failure(place).filter(|_| self.apps[place].finished().is_none())
                {
                    shared.error.get_or_insert_with(|| {
                        format!("the QUIC connection ended early: {}", explained(why))
                    });
                }
            }
            flow.note(&self.apps[place], now);
            if self.is_over(place) {
                flow.progress.over.store(true, Ordering::Relaxed);
            }
        }
    }
}
