//! The TCP connections of the tunnel's second carrier: sockets and TLS under [`longhaul_hop::Pool`], one task for each connection.

use crate::sys;
use crate::timer::std_time;
use crate::tunnel::Tunnel;
use longhaul_hop::places::Places;
use longhaul_hop::tls;
use longhaul_units::{Duration, Rate};
use rustls::pki_types::ServerName;
use rustls::{ClientConnection, Connection, ServerConnection};
use socket2::{Domain, Protocol, SockRef, Socket, TcpKeepalive, Type};
use std::io::{self, ErrorKind, Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use tokio::io::Interest;
use tokio::net::{TcpListener, TcpSocket, TcpStream};

/// ALPN of the hop over TCP (RFC 7301).
const ALPN: &[u8] = b"longhaul-hop-tcp";
/// Connections of a terminal: one carries most and stays warm, the others let small transfers pass large ones.
pub(crate) const LANES: usize = 4;
/// Bytes given to TLS at once: what is given waits for its turn no more.
const AT_ONCE: usize = 32 << 10;
/// Bytes in the kernel that have not been sent: enough for two wake-ups at a Gbit/s.
const UNSENT: i32 = 256 << 10;
/// A handshake takes no longer, nor does a connection's opening.
const HANDSHAKE: std::time::Duration = std::time::Duration::from_secs(15);
/// Handshakes of strangers at a time: of a network, and in all.
const STRANGERS: (usize, usize) = (64, 512);
/// A stranger's first byte comes within this time: it needs no round trip.
const FIRST_BYTE: std::time::Duration = std::time::Duration::from_secs(5);
/// Socket buffers at most, and where the link's rates are not stated: the kernel halves them for its own needs. Otherwise four
/// bandwidth-delay products, two of which BBR may have under way.
const BUFFER: u64 = 64 << 20;
const LEAST_BUFFER: u64 = 4 << 20;
/// The longest pause between two attempts to send after an outage (`TCP_RTO_MAX_MS`, Linux 6.15).
const TCP_RTO_MAX_MS: i32 = 44;
const RETRY: i32 = 2000;

/// The rate that no connection exceeds, in bytes a second; it may change while they are open.
#[derive(Clone)]
pub(crate) struct LaneRate(Arc<AtomicUsize>);

impl LaneRate {
    fn new(rate: Option<Rate>) -> LaneRate {
        let lane = LaneRate(Arc::default());
        lane.set(rate);
        lane
    }

    /// Another rate, or none.
    pub fn set(&self, rate: Option<Rate>) {
        let bytes = rate.and_then(|rate| usize::try_from(rate.as_bps() / 8).ok());
        self.0.store(bytes.unwrap_or(usize::MAX), Ordering::Relaxed);
    }

    /// Bytes in a second.
    fn get(&self) -> u64 {
        match self.0.load(Ordering::Relaxed) {
            // The kernel's value for no limit.
            usize::MAX => u64::MAX,
            bytes => bytes as u64,
        }
    }
}

/// What all connections of a node have in common.
#[derive(Clone)]
pub(crate) struct Common {
    client: Arc<rustls::ClientConfig>,
    server: Arc<rustls::ServerConfig>,
    /// Rate of this node's sender.
    pub rate: LaneRate,
    keep_alive: Duration,
    idle_timeout: Duration,
    mark: u32,
    /// Bytes of a socket's buffers.
    buffer: i32,
}

impl Common {
    /// # Errors
    /// If TLS cannot be set up.
    pub fn new(
        identity: &tls::Identity,
        peers: &tls::Trusted,
        hop: &crate::config::Hop,
        mark: u32,
    ) -> Result<Common, rustls::Error> {
        let tls::Streams { client, server } = tls::streams(identity, peers, ALPN)?;
        Ok(Common {
            client: Arc::new(client),
            server: Arc::new(server),
            rate: LaneRate::new(hop.send_rate),
            keep_alive: hop.keep_alive(),
            idle_timeout: hop.idle_timeout,
            mark,
            buffer: buffer(hop.product()),
        })
    }

    /// What makes TCP fit for a long path; what a kernel lacks is left out, for the connection works without it.
    fn prepare(&self, socket: &SockRef) -> io::Result<()> {
        socket.set_tcp_nodelay(true)?;
        let _ = socket.set_tcp_congestion(b"bbr");
        let set = |option, value| drop(sys::set_option(socket.as_fd(), libc::IPPROTO_TCP, option, value));
        set(libc::TCP_NOTSENT_LOWAT, UNSENT);
        set(TCP_RTO_MAX_MS, RETRY);
        // As long as the other carrier waits in an outage.
        set(
            libc::TCP_USER_TIMEOUT,
            i32::try_from(self.idle_timeout.as_nanos() / 1_000_000).unwrap_or(i32::MAX),
        );
        let ask = std_time(self.keep_alive).max(std::time::Duration::from_secs(1));
        socket.set_tcp_keepalive(&TcpKeepalive::new().with_time(ask).with_interval(ask))
    }
}

/// Listens for terminals; called while this process may set large buffers, which connections inherit.
pub(crate) fn listener(at: SocketAddr, hop: &crate::config::Hop) -> Result<Socket, crate::Error> {
    let socket = crate::listen::bind(at, false, 0)?;
    large(&SockRef::from(&socket), buffer(hop.product()));
    Ok(socket)
}

/// Large buffers where that is allowed; else the kernel sizes them, which is better than a small fixed size.
fn large(socket: &SockRef, bytes: i32) {
    for option in [libc::SO_RCVBUFFORCE, libc::SO_SNDBUFFORCE] {
        let _ = sys::set_option(socket.as_fd(), libc::SOL_SOCKET, option, bytes);
    }
}

/// Bytes of a socket's buffer for a link with this bandwidth-delay product, 0 if it is not stated.
fn buffer(product: u64) -> i32 {
    let bytes = if product == 0 { BUFFER } else { (4 * product).clamp(LEAST_BUFFER, BUFFER) };
    i32::try_from(bytes).unwrap_or(i32::MAX)
}

/// Places for strangers, shared by the tasks that serve them.
#[derive(Clone)]
struct Strangers(Arc<Mutex<Places>>);

/// One of them. Dropped, it is free.
struct Place {
    all: Strangers,
    from: IpAddr,
}

impl Strangers {
    fn lock(&self) -> MutexGuard<'_, Places> {
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn enter(&self, from: IpAddr) -> Option<Place> {
        self.lock().enter(from).then(|| Place { all: self.clone(), from })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.all.lock().leave(self.from);
    }
}

/// Takes connections of terminals, for ever. Strangers for whom there is no place are reset.
pub(crate) async fn accept(tunnel: Arc<Tunnel>, common: Common, listener: TcpListener) {
    let strangers = Strangers(Arc::new(Mutex::new(Places::new(STRANGERS.0, STRANGERS.1))));
    loop {
        let (stream, address) = match listener.accept().await {
            Ok(accepted) => accepted,
            Err(_) => {
                tokio::time::sleep(std::time::Duration::from_millis(50)).await;
                continue;
            }
        };
        let Some(place) = strangers.enter(address.ip()) else {
            let _ = SockRef::from(&stream).set_linger(Some(std::time::Duration::ZERO));
            tunnel.count_stranger(&format!("{address}: as many strangers as there may be are served"));
            continue;
        };
        let (tunnel, common) = (tunnel.clone(), common.clone());
        tokio::spawn(async move {
            let secured = async {
                common.prepare(&SockRef::from(&stream))?;
                tokio::time::timeout(FIRST_BYTE, stream.readable()).await??;
                let tls = ServerConnection::new(common.server).map_err(io::Error::other)?;
                handshake(stream, tls.into(), common.rate).await
            };
            let secured = tokio::time::timeout(HANDSHAKE, secured).await;
            match secured.unwrap_or_else(|_| Err(ErrorKind::TimedOut.into())) {
                Ok(lane) => {
                    place.all.lock().know(place.from);
                    drop(place);
                    lane.run(&tunnel, address, false).await;
                }
                Err(why) => tunnel.count_stranger(&format!("{address}: over TCP: {why}")),
            }
        });
    }
}

/// Opens a connection to the hub, and carries it until it ends. `opening` counts those that are not open yet.
///
/// # Errors
/// If it does not come about.
pub(crate) async fn connect(
    tunnel: Arc<Tunnel>,
    common: Common,
    hub: SocketAddr,
    opening: &AtomicUsize,
) -> io::Result<()> {
    let connecting = async {
        let socket =
            Socket::new(Domain::for_address(hub), Type::STREAM.nonblocking().cloexec(), Some(Protocol::TCP))?;
        if common.mark != 0 {
            socket.set_mark(common.mark)?;
        }
        large(&SockRef::from(&socket), common.buffer);
        common.prepare(&SockRef::from(&socket))?;
        let stream = TcpSocket::from_std_stream(socket.into()).connect(hub).await?;
        // Keys take the place of names; none is sent.
        let name = ServerName::from(std::net::IpAddr::from(Ipv4Addr::UNSPECIFIED));
        let tls = ClientConnection::new(common.client, name).map_err(io::Error::other)?;
        handshake(stream, tls.into(), common.rate).await
    };
    let lane =
        tokio::time::timeout(HANDSHAKE, connecting).await.unwrap_or_else(|_| Err(ErrorKind::TimedOut.into()));
    opening.fetch_sub(1, Ordering::Relaxed);
    let lane = lane?;
    lane.run(&tunnel, hub, true).await;
    Ok(())
}

/// A socket in the form that rustls needs.
struct Io<'a>(&'a TcpStream);

impl Read for Io<'_> {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        self.0.try_read(room)
    }
}

impl Write for Io<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.try_write(bytes)
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// True if there is nothing more at present, false if something was done.
fn waits(done: io::Result<usize>) -> io::Result<bool> {
    match done {
        Ok(0) => Err(ErrorKind::UnexpectedEof.into()),
        Ok(_) => Ok(false),
        Err(why) if why.kind() == ErrorKind::WouldBlock => Ok(true),
        Err(why) => Err(why),
    }
}

async fn handshake(stream: TcpStream, mut tls: Connection, rate: LaneRate) -> io::Result<Lane> {
    loop {
        while tls.wants_write() {
            if waits(tls.write_tls(&mut Io(&stream)))? {
                stream.writable().await?;
            }
        }
        if !tls.is_handshaking() {
            let stream = Arc::new(stream);
            return Ok(Lane { stream, tls, plain: vec![0; 64 << 10], out: vec![], rate, paced: u64::MAX });
        }
        stream.readable().await?;
        if !waits(tls.read_tls(&mut Io(&stream)))? {
            tls.process_new_packets().map_err(io::Error::other)?;
        }
    }
}

/// A connection whose other end has shown its key.
struct Lane {
    stream: Arc<TcpStream>,
    tls: Connection,
    plain: Vec<u8>,
    out: Vec<u8>,
    rate: LaneRate,
    /// What the kernel paces at.
    paced: u64,
}

impl Lane {
    async fn run(mut self, tunnel: &Arc<Tunnel>, address: SocketAddr, opener: bool) {
        let key = tls::key_of(self.tls.peer_certificates());
        let (id, wake) = tunnel.add_lane(key, address, opener, self.stream.clone());
        let why = loop {
            if let Err(why) = self.step(tunnel, id) {
                break why;
            }
            let interest = if self.tls.wants_write() {
                Interest::READABLE | Interest::WRITABLE
            } else {
                Interest::READABLE
            };
            tokio::select! {
                ready = self.stream.ready(interest) => if let Err(why) = ready { break why },
                stop = wake.wait() => if stop { break io::Error::other("closed") },
            }
        };
        // What is left goes as far as it goes without waiting: resets of flows, for instance.
        while self.tls.wants_write() && matches!(waits(self.tls.write_tls(&mut Io(&self.stream))), Ok(false))
        {
        }
        tunnel.remove_lane(id, &why.to_string());
    }

    /// Moves what can be moved in both directions.
    fn step(&mut self, tunnel: &Arc<Tunnel>, id: longhaul_hop::LaneId) -> io::Result<()> {
        let rate = self.rate.get();
        if rate != self.paced {
            self.paced = rate;
            let _ = sys::set_max_pacing_rate(self.stream.as_fd(), rate);
        }
        loop {
            // First of all: the peer's first bytes may have come with the last of the handshake.
            loop {
                match self.tls.reader().read(&mut self.plain) {
                    Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                    Ok(n) => tunnel.lane_received(id, &self.plain[..n]).map_err(io::Error::other)?,
                    Err(why) if why.kind() == ErrorKind::WouldBlock => break,
                    Err(why) => return Err(why),
                }
            }
            if waits(self.tls.read_tls(&mut Io(&self.stream)))? {
                break;
            }
            self.tls.process_new_packets().map_err(io::Error::other)?;
        }
        loop {
            while self.tls.wants_write() {
                if waits(self.tls.write_tls(&mut Io(&self.stream)))? {
                    return Ok(());
                }
            }
            self.out.clear();
            tunnel.lane_to_send(id, AT_ONCE, &mut self.out);
            if self.out.is_empty() {
                return Ok(());
            }
            self.tls.writer().write_all(&self.out)?;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::buffer;

    #[test]
    fn buffers_follow_the_pipe() {
        // 50 Mbit/s and 650 ms; a slow link; 10 Gbit/s and 650 ms; nothing stated.
        let found = [4_062_500, 1_000, 812_500_000, 0].map(buffer);
        assert_eq!(found, [16_250_000, 4 << 20, 64 << 20, 64 << 20]);
    }
}
