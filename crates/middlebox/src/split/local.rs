//! A connection between the split and a host: to the host it is the other host.

use super::Side;
use crate::nodes::Account;
use crate::{Carrier, Direction, Payload};
use longhaul_segment::{Segment, SeqNumber};
use longhaul_tcp::{Config, Connection, Event, Ports, State};
use longhaul_units::Instant;

/// Why a connection to a host has ended before its time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Broken {
    /// The host reset it.
    Reset,
    /// The host does not answer.
    TimedOut,
    /// What leads to the other node does not work any more.
    Hop,
}

pub(crate) struct Local<P: Payload> {
    pub connection: Carrier<P>,
    /// Where its packets go.
    pub direction: Direction,
    /// The host has sent all that it will.
    pub finished: bool,
    /// The other host has been notified.
    pub end_passed: bool,
    /// The other host has sent all that it will; a connection that is being opened cannot be closed yet.
    close_due: bool,
    /// It has ended before its time.
    pub broken: bool,
    /// The SYN that opened it, if a host did.
    pub syn: Option<SeqNumber>,
    /// It waits for its turn on the long hop.
    pub ready: bool,
    /// It may have packets to send.
    pub dirty: bool,
}

impl<P: Payload> Local<P> {
    fn new(connection: Connection, direction: Direction) -> Self {
        Local {
            connection: Carrier::new(connection),
            direction,
            finished: false,
            end_passed: false,
            close_due: false,
            broken: false,
            syn: None,
            ready: false,
            dirty: false,
        }
    }
    /// Waits for the SYN of a host; its packets go in `direction`.
    pub fn accept(side: &Side, isn: SeqNumber, ports: Ports, direction: Direction) -> Self {
        Self::new(Connection::listen(side.config.clone(), (side.congestion)(), isn, ports), direction)
    }
    /// Opens a connection to a host.
    pub fn connect(side: &Side, isn: SeqNumber, ports: Ports, direction: Direction) -> Self {
        Self::new(Connection::connect(side.config.clone(), (side.congestion)(), isn, ports), direction)
    }
    /// To a host whose connection is established from the start.
    pub fn established(side: &Side, host: &Config, ports: Ports, direction: Direction) -> Self {
        let connection = Connection::established_with(side.config.clone(), host, (side.congestion)(), ports);
        Self::new(connection, direction)
    }

    /// Takes note of what has happened; true if the host has ended the connection before its time.
    pub fn take_events(&mut self) -> Option<Broken> {
        while let Some(event) = self.connection.poll_event() {
            match event {
                Event::Connected if self.close_due => self.connection.close(),
                Event::PeerClosed => self.finished = true,
                Event::Reset | Event::TimedOut | Event::StartFailed if !self.broken => {
                    self.broken = true;
                    return Some(if event == Event::Reset { Broken::Reset } else { Broken::TimedOut });
                }
                _ => {}
            }
        }
        None
    }
    /// The other host has sent all that it will.
    pub fn close(&mut self) {
        if matches!(self.connection.state(), State::SynSent | State::Listen) {
            self.close_due = true;
        } else {
            self.connection.close();
        }
    }
    /// The other host's connection has ended before its time, and so does this one.
    pub fn break_off(&mut self) {
        self.broken = true;
        self.connection.abort();
    }
    /// Bytes that were written and that the host has not acknowledged.
    pub fn backlog(&self) -> u64 {
        self.connection.unsent().saturating_add(self.connection.flight_size())
    }
    /// True if its host's data has all been read and no more will come, of which the other host is still to be notified.
    pub fn has_end_to_pass(&self) -> bool {
        self.finished && !self.end_passed && self.connection.readable() == 0
    }
    /// What it has done, for one who observes both ends.
    pub fn account(&self, stream: u32) -> Account {
        Account {
            stream,
            received: self.connection.received_bytes(),
            acked: self.connection.acked_bytes(),
            broken: self.broken,
            over: self.is_over(),
        }
    }
    pub fn is_closed(&self) -> bool {
        self.connection.state() == State::Closed
    }
    /// True if a new connection may take its place.
    pub fn is_over(&self) -> bool {
        matches!(self.connection.state(), State::Closed | State::TimeWait)
    }
    /// True if a new connection, which `syn` opens, may take its place: a late copy of the SYN that opened this one opens none.
    pub fn gives_way_to(&self, syn: &Segment) -> bool {
        self.is_over() && self.syn != Some(syn.seq)
    }
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.connection.poll_timeout()
    }
}
