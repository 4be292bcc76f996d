//! A pipe of the kernel, through which bytes go from one socket to another without being copied (splice(2)).
//!
//! Only progress is taken from [`Pipe::fill`]. At urgent data and at the end of a stream, splice(2) returns the same as for an
//! empty socket, so an ordinary read follows and finds out which of them it is.

use crate::sys;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::unistd::pipe2;
use std::io::{self, ErrorKind};
use std::os::fd::{AsFd, OwnedFd};
use std::task::{Context, Poll, ready};
use tokio::io::Interest;
use tokio::net::TcpStream;

/// Bytes of a pipe, and the most that it holds: what an unprivileged process may request (fs.pipe-max-size).
pub(crate) const PIPE: usize = 1 << 20;

/// A pipe, and how many bytes are in it.
pub(crate) struct Pipe {
    reader: OwnedFd,
    writer: OwnedFd,
    held: usize,
}

impl Pipe {
    /// A pipe of [`PIPE`] bytes, if the kernel gives one.
    pub fn new() -> Option<Pipe> {
        let (reader, writer) = pipe2(OFlag::O_NONBLOCK | OFlag::O_CLOEXEC).ok()?;
        fcntl(&writer, FcntlArg::F_SETPIPE_SZ(PIPE as i32)).ok()?;
        Some(Pipe { reader, writer, held: 0 })
    }

    /// Bytes in it.
    pub fn held(&self) -> usize {
        self.held
    }

    /// Takes what a socket has; 0 if an ordinary read has to find out what comes next. The pipe is empty.
    pub fn fill(&mut self, from: &TcpStream) -> usize {
        let n = sys::splice(from.as_fd(), self.writer.as_fd(), PIPE).unwrap_or(0);
        self.held += n;
        n
    }

    /// Gives what it holds to a socket, as far as there is room.
    pub fn poll_drain(&mut self, cx: &mut Context, to: &TcpStream) -> Poll<io::Result<usize>> {
        loop {
            ready!(to.poll_write_ready(cx))?;
            let splice = || sys::splice(self.reader.as_fd(), to.as_fd(), self.held);
            match to.try_io(Interest::WRITABLE, splice) {
                Err(why) if matches!(why.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
                Ok(0) => return Poll::Ready(Err(ErrorKind::WriteZero.into())),
                Ok(n) => {
                    self.held -= n;
                    return Poll::Ready(Ok(n));
                }
                Err(why) => return Poll::Ready(Err(why)),
            }
        }
    }
}
