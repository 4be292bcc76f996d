//! Pipes of the kernel, in which bytes pass from one socket to another without being copied (splice(2)).
//!
//! A pipe is filled only when it is empty. So if it takes nothing, the reason is the socket and never the pipe.

use crate::pool::LARGE;
use crate::sys;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::sys::resource::{Resource, getrlimit};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

/// A pipe and the bytes in it.
#[derive(Debug)]
pub(crate) struct Pipe {
    out: OwnedFd,
    into: OwnedFd,
    held: usize,
}

impl Pipe {
    /// An empty pipe for as many bytes as a large buffer; half of the descriptors that may be open are left to connections.
    ///
    /// # Errors
    /// Lack of descriptors, or of memory for pipes (pipe(7)).
    pub fn open() -> io::Result<Pipe> {
        let (out, into) = nix::unistd::pipe2(OFlag::O_CLOEXEC | OFlag::O_NONBLOCK)?;
        let (bound, _) = getrlimit(Resource::RLIMIT_NOFILE)?;
        let number = out.as_raw_fd().max(into.as_raw_fd());
        if u64::try_from(number).unwrap_or(0) >= bound / 2 {
            return Err(io::Error::from_raw_os_error(libc::EMFILE));
        }
        fcntl(&into, FcntlArg::F_SETPIPE_SZ(LARGE as i32))?;
        Ok(Pipe { out, into, held: 0 })
    }

    /// Bytes in it.
    pub fn held(&self) -> usize {
        self.held
    }

    /// Takes bytes of a socket into the empty pipe, without waiting. 0 shows nothing: the end of the stream, or bytes that only
    /// reading takes.
    pub fn fill(&mut self, socket: BorrowedFd) -> io::Result<usize> {
        assert_eq!(self.held, 0, "only an empty pipe is filled");
        self.held = sys::splice(socket, self.into.as_fd(), LARGE)?;
        Ok(self.held)
    }

    /// Hands bytes to a socket, without waiting.
    pub fn drain(&mut self, socket: BorrowedFd) -> io::Result<usize> {
        match sys::splice(self.out.as_fd(), socket, self.held)? {
            0 => Err(io::ErrorKind::WriteZero.into()),
            n => {
                self.held = self.held.checked_sub(n).expect("more bytes sent than there were");
                Ok(n)
            }
        }
    }
}
