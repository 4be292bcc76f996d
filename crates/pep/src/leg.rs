//! One side of a connection: TCP towards a client or a server, with its settings made and read back.
//!
//! Every socket is set to end with a reset (`SO_LINGER` 0) from the beginning. So if this process dies, the kernel resets its
//! connections: a peer never takes the death of a proxy for the end of a stream. Only [`TcpLeg::close`] changes that, after
//! the last byte is acknowledged.

use crate::config::{LegConfig, Timeouts};
use crate::pipe::Pipe;
use crate::sys;
use crate::timer::std_time;
use socket2::{SockRef, TcpKeepalive};
use std::io;
use std::os::fd::AsFd;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncWrite, Interest};
use tokio::net::TcpStream;

/// A side of a connection, as [`crate::relay`] drives it.
pub(crate) trait Leg {
    /// Takes bytes into `room`; 0 is the end of the stream.
    fn poll_read(&mut self, cx: &mut Context, room: &mut [u8]) -> Poll<io::Result<usize>>;
    /// Hands bytes on; returns how many were taken.
    fn poll_write(&mut self, cx: &mut Context, bytes: &[u8]) -> Poll<io::Result<usize>>;
    /// True for a socket whose bytes can pass through a pipe of the kernel.
    fn has_pipes(&self) -> bool;
    /// Takes bytes into an empty pipe; 0 if only [`Leg::poll_read`] shows what there is.
    fn poll_fill(&mut self, cx: &mut Context, pipe: &mut Pipe) -> Poll<io::Result<usize>>;
    /// Hands on bytes of a pipe that is not empty; returns how many were taken.
    fn poll_drain(&mut self, cx: &mut Context, pipe: &mut Pipe) -> Poll<io::Result<usize>>;
    /// Ends the stream towards this side, behind all bytes.
    fn finish(&mut self) -> io::Result<()>;
    /// Bytes handed on that this side has not acknowledged.
    fn unacknowledged(&self) -> usize;
    /// Bytes that this side has sent, which are acknowledged to its kernel and not read yet.
    fn unread(&self) -> usize;
    /// True once everything handed on, and the end, is acknowledged.
    fn is_flushed(&self) -> bool;
    /// Announces a reset behind what was handed on, where this side has a way to carry it there.
    fn reset_behind(&mut self);
    /// True once everything handed on has arrived, or nothing more can.
    fn is_delivered(&self) -> bool;
    /// Bytes handed on that may be lost with a reset.
    fn undelivered(&self) -> usize {
        self.unacknowledged()
    }
    /// An error that neither reading nor writing has shown yet.
    fn error(&self) -> Option<io::Error>;
    /// Ends it without a reset.
    fn close(self)
    where
        Self: Sized;
    /// Ends it with a reset.
    fn reset(self)
    where
        Self: Sized;
}

/// TCP of the kernel.
pub(crate) struct TcpLeg(TcpStream);

impl TcpLeg {
    /// Takes a connected socket.
    ///
    /// # Errors
    /// A socket that is gone.
    pub fn new(stream: TcpStream, timeouts: &Timeouts) -> io::Result<TcpLeg> {
        let socket = SockRef::from(&stream);
        socket.set_linger(Some(Duration::ZERO))?;
        socket.set_tcp_nodelay(true)?;
        let keepalive = std_time(timeouts.keepalive).max(Duration::from_secs(1));
        let ask = TcpKeepalive::new()
            .with_time(keepalive)
            .with_interval(keepalive / 4 + Duration::from_secs(1))
            .with_retries(4);
        socket.set_tcp_keepalive(&ask)?;
        // Urgent data is handed on where it stands in the stream.
        socket.set_out_of_band_inline(true)?;
        Ok(TcpLeg(stream))
    }

    /// This node's address and port of it.
    pub fn local(&self) -> Option<std::net::SocketAddr> {
        self.0.local_addr().ok()
    }

    /// What the kernel reports of it.
    fn info(&self) -> sys::TcpInfo {
        sys::tcp_info(self.0.as_fd()).unwrap_or_default()
    }
}

impl Leg for TcpLeg {
    fn poll_read(&mut self, cx: &mut Context, room: &mut [u8]) -> Poll<io::Result<usize>> {
        // A read may end in front of urgent bytes with more behind them, so what it leaves of the room shows nothing: only
        // "would block" makes the runtime wait for news.
        loop {
            ready!(self.0.poll_read_ready(cx))?;
            match self.0.try_read(room) {
                Err(why) if why.kind() == io::ErrorKind::WouldBlock => {}
                result => return Poll::Ready(result),
            }
        }
    }

    fn poll_write(&mut self, cx: &mut Context, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, bytes)
    }

    fn has_pipes(&self) -> bool {
        true
    }

    /// "Would block" of this call does not make the runtime wait: in front of urgent bytes it stands although there are more.
    fn poll_fill(&mut self, cx: &mut Context, pipe: &mut Pipe) -> Poll<io::Result<usize>> {
        ready!(self.0.poll_read_ready(cx))?;
        match pipe.fill(self.0.as_fd()) {
            Err(why) if why.kind() == io::ErrorKind::WouldBlock => Poll::Ready(Ok(0)),
            result => Poll::Ready(result),
        }
    }

    fn poll_drain(&mut self, cx: &mut Context, pipe: &mut Pipe) -> Poll<io::Result<usize>> {
        loop {
            ready!(self.0.poll_write_ready(cx))?;
            // The pipe is not empty, so it is this socket that has no room.
            match self.0.try_io(Interest::WRITABLE, || pipe.drain(self.0.as_fd())) {
                Err(why) if why.kind() == io::ErrorKind::WouldBlock => {}
                result => return Poll::Ready(result),
            }
        }
    }

    fn finish(&mut self) -> io::Result<()> {
        SockRef::from(&self.0).shutdown(std::net::Shutdown::Write)
    }

    fn unacknowledged(&self) -> usize {
        sys::unacknowledged(self.0.as_fd()).unwrap_or(0)
    }

    fn unread(&self) -> usize {
        sys::unread(self.0.as_fd()).unwrap_or(0)
    }

    fn is_flushed(&self) -> bool {
        self.unacknowledged() == 0 && self.info().fin_is_acknowledged()
    }

    /// The kernel discards what it has not sent with a reset, so nothing is announced: [`Leg::reset`] follows [`Leg::is_delivered`].
    fn reset_behind(&mut self) {}

    fn is_delivered(&self) -> bool {
        self.unacknowledged() == 0 || self.info().is_closed()
    }

    fn error(&self) -> Option<io::Error> {
        self.0.take_error().ok().flatten()
    }

    fn close(self) {
        let _ = SockRef::from(&self.0).set_linger(None);
    }

    fn reset(self) {
        // SO_LINGER is 0 from the beginning.
    }
}

/// Makes the settings of a leg, before the connection is opened or right after it was accepted.
///
/// # Errors
/// A setting that the kernel refuses, or does not show when it is read back: with its name.
pub(crate) fn prepare(socket: &SockRef, config: &LegConfig) -> io::Result<()> {
    let named = |what: &str, why: io::Error| io::Error::new(why.kind(), format!("{what}: {why}"));
    if let Some(name) = &config.congestion {
        let what = format!("congestion \"{name}\"");
        socket.set_tcp_congestion(name.as_bytes()).map_err(|why| named(&what, why))?;
        let actual = socket.tcp_congestion().map_err(|why| named(&what, why))?;
        let actual = String::from_utf8_lossy(&actual).trim_end_matches('\0').to_string();
        if actual != *name {
            return Err(io::Error::other(format!("{what}: the kernel uses {actual}")));
        }
    }
    if let Some(rate) = config.pacing_rate {
        let bytes = rate.as_bps() / 8;
        sys::set_max_pacing_rate(socket.as_fd(), bytes).map_err(|why| named("pacing_rate", why))?;
        let actual = sys::max_pacing_rate(socket.as_fd()).map_err(|why| named("pacing_rate", why))?;
        if actual != bytes {
            return Err(io::Error::other(format!("pacing_rate: the kernel uses {} bit/s", actual * 8)));
        }
    }
    // The kernel doubles the value, for its own overhead; `FORCE` needs CAP_NET_ADMIN and ignores the system's limits.
    for (size, force, plain, name) in [
        (config.send_buffer, libc::SO_SNDBUFFORCE, libc::SO_SNDBUF, "send_buffer"),
        (config.receive_buffer, libc::SO_RCVBUFFORCE, libc::SO_RCVBUF, "receive_buffer"),
    ] {
        let Some(size) = size else { continue };
        let value = i32::try_from(size.as_bytes()).unwrap_or(i32::MAX);
        sys::set_option(socket.as_fd(), libc::SOL_SOCKET, force, value)
            .or_else(|_| sys::set_option(socket.as_fd(), libc::SOL_SOCKET, plain, value))
            .map_err(|why| named(name, why))?;
        let actual =
            if name == "send_buffer" { socket.send_buffer_size() } else { socket.recv_buffer_size() }?;
        if actual < value as usize {
            let what =
                format!("{name}: the kernel allows {actual} bytes; raise net.core.rmem_max and wmem_max");
            return Err(io::Error::other(what));
        }
    }
    if let Some(size) = config.unsent {
        let value = i32::try_from(size.as_bytes()).unwrap_or(i32::MAX);
        sys::set_option(socket.as_fd(), libc::IPPROTO_TCP, libc::TCP_NOTSENT_LOWAT, value)
            .map_err(|why| named("unsent", why))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pool::Pool;
    use std::future::poll_fn;
    use std::io::{Read, Write};
    use tokio::net::TcpListener;

    /// A leg, and the socket at its other end.
    async fn pair() -> (TcpLeg, std::net::TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let far = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (near, _) = listener.accept().await.unwrap();
        (TcpLeg::new(near, &Timeouts::default()).unwrap(), far)
    }

    /// What comes next, through a pipe if that takes something.
    async fn next(leg: &mut TcpLeg, piped: bool) -> Vec<u8> {
        let mut pipe = Pool::new(1 << 20, 1).take_pipe().unwrap();
        if piped && poll_fn(|cx| leg.poll_fill(cx, &mut pipe)).await.unwrap() > 0 {
            let (mut near, mut far) = pair().await;
            let mut bytes = vec![0; pipe.held()];
            poll_fn(|cx| near.poll_drain(cx, &mut pipe)).await.unwrap();
            far.read_exact(&mut bytes).unwrap();
            return bytes;
        }
        let mut room = [0; 4096];
        let n = poll_fn(|cx| leg.poll_read(cx, &mut room)).await.unwrap();
        room[..n].to_vec()
    }

    /// A read ends in front of urgent bytes although more is there, and a pipe takes nothing then: neither is a reason to wait for
    /// packets that will not come, and neither is an end.
    #[tokio::test]
    async fn bytes_behind_urgent_ones_need_no_further_packet() {
        for (piped, ends) in [(false, false), (true, false), (false, true), (true, true)] {
            let (mut leg, mut far) = pair().await;
            // The runtime has seen that the socket is readable, and nothing was read yet.
            far.write_all(b"before").unwrap();
            SockRef::from(&far).send_out_of_band(b"!").unwrap();
            far.write_all(b"behind").unwrap();
            if ends {
                far.shutdown(std::net::Shutdown::Write).unwrap();
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
            let (mut all, mut end) = (vec![], false);
            while !end && (all.len() < 13 || ends) {
                let part = tokio::time::timeout(Duration::from_secs(5), next(&mut leg, piped)).await;
                let part = part.unwrap_or_else(|_| panic!("{piped} {ends}: {all:?} and nothing more"));
                end = part.is_empty();
                all.extend(part);
            }
            assert_eq!(all, b"before!behind", "{piped} {ends}");
        }
    }
}
