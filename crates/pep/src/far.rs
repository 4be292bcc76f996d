//! The side of a client's connection that leads to the server: a socket of this node, or a flow of the tunnel.

use crate::leg::{Leg, TcpLeg};
use crate::pipe::Pipe;
use crate::tunnel::HopLeg;
use std::io;
use std::task::{Context, Poll};

/// Either of them.
pub(crate) enum Far {
    Tcp(TcpLeg),
    Hop(HopLeg),
}

impl Far {
    fn leg(&self) -> &dyn Leg {
        match self {
            Far::Tcp(leg) => leg,
            Far::Hop(leg) => leg,
        }
    }

    fn leg_mut(&mut self) -> &mut dyn Leg {
        match self {
            Far::Tcp(leg) => leg,
            Far::Hop(leg) => leg,
        }
    }
}

impl Leg for Far {
    fn poll_read(&mut self, cx: &mut Context, room: &mut [u8]) -> Poll<io::Result<usize>> {
        self.leg_mut().poll_read(cx, room)
    }
    fn poll_write(&mut self, cx: &mut Context, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.leg_mut().poll_write(cx, bytes)
    }
    fn has_pipes(&self) -> bool {
        self.leg().has_pipes()
    }
    fn poll_fill(&mut self, cx: &mut Context, pipe: &mut Pipe) -> Poll<io::Result<usize>> {
        self.leg_mut().poll_fill(cx, pipe)
    }
    fn poll_drain(&mut self, cx: &mut Context, pipe: &mut Pipe) -> Poll<io::Result<usize>> {
        self.leg_mut().poll_drain(cx, pipe)
    }
    fn finish(&mut self) -> io::Result<()> {
        self.leg_mut().finish()
    }
    fn unacknowledged(&self) -> usize {
        self.leg().unacknowledged()
    }
    fn unread(&self) -> usize {
        self.leg().unread()
    }
    fn is_flushed(&self) -> bool {
        self.leg().is_flushed()
    }
    fn reset_behind(&mut self) {
        self.leg_mut().reset_behind();
    }
    fn is_delivered(&self) -> bool {
        self.leg().is_delivered()
    }
    fn undelivered(&self) -> usize {
        self.leg().undelivered()
    }
    fn error(&self) -> Option<io::Error> {
        self.leg().error()
    }
    fn close(self) {
        match self {
            Far::Tcp(leg) => leg.close(),
            Far::Hop(leg) => leg.close(),
        }
    }
    fn reset(self) {
        match self {
            Far::Tcp(leg) => leg.reset(),
            Far::Hop(leg) => leg.reset(),
        }
    }
}
