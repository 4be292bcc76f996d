//! One of the two nodes of a distributed split: connections to the hosts on its side, and its ends of those over the long hop.

use super::local::Local;
use super::local_queue::LocalQueue;
use crate::base::Table;
use crate::timers::Timers;
use crate::{Carrier, Payload};
use longhaul_tcp::{Connection, Event};
use std::collections::VecDeque;

/// A connection of this node, as one whose turn has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Owner {
    /// Over the long hop.
    Long(usize),
    /// To a host, by the number of the flow.
    Local(u32),
}

/// This node's end of a connection over the long hop.
pub(super) struct LongEnd<P: Payload> {
    pub connection: Carrier<P>,
    /// Flows that wait to send over it, in turn.
    pub ready: VecDeque<u32>,
    /// The next record that has arrived cannot be taken, since its host is slow.
    pub blocked: bool,
    pub dirty: bool,
    /// It has ended before its time.
    pub broken: bool,
}

impl<P: Payload> LongEnd<P> {
    pub fn new(connection: Connection) -> Self {
        let connection = Carrier::new(connection);
        LongEnd { connection, ready: VecDeque::new(), blocked: false, dirty: false, broken: false }
    }
    /// Takes note of what has happened; true if it has just broken.
    pub fn take_events(&mut self) -> bool {
        let mut broke = false;
        while let Some(event) = self.connection.poll_event() {
            broke |= matches!(event, Event::Reset | Event::TimedOut) && !self.broken;
        }
        self.broken |= broke;
        broke
    }
}

pub(super) struct Half<P: Payload> {
    pub locals: Table<Local<P>>,
    pub longs: Vec<Option<Box<LongEnd<P>>>>,
    pub queue: Option<LocalQueue<P>>,
    /// Connections that are to be asked for packets.
    pub dirty: VecDeque<Owner>,
    pub timers: Timers,
}

impl<P: Payload> Half<P> {
    pub fn new(longs: usize, queue: Option<LocalQueue<P>>) -> Self {
        Half {
            locals: Table::default(),
            longs: (0..longs).map(|_| None).collect(),
            queue,
            dirty: VecDeque::new(),
            timers: Timers::default(),
        }
    }

    pub fn local(&mut self, flow: u32) -> Option<&mut Local<P>> {
        self.locals.get_mut(flow as usize)
    }
    pub fn long(&mut self, index: usize) -> Option<&mut LongEnd<P>> {
        self.longs[index].as_deref_mut()
    }

    /// A connection is to be asked for packets.
    pub fn touch(&mut self, owner: Owner) {
        let flag = match owner {
            Owner::Long(index) => self.longs[index].as_deref_mut().map(|long| &mut long.dirty),
            Owner::Local(flow) => self.local(flow).map(|local| &mut local.dirty),
        };
        // Borrowed fields end here.
        let fresh = flag.is_some_and(|dirty| !std::mem::replace(dirty, true));
        if fresh {
            self.dirty.push_back(owner);
        }
    }

    /// Its number among the timers.
    pub fn timer_of(&self, owner: Owner) -> usize {
        match owner {
            Owner::Long(index) => index,
            Owner::Local(flow) => self.longs.len() + flow as usize,
        }
    }
    pub fn owner_of(&self, timer: usize) -> Owner {
        match timer.checked_sub(self.longs.len()) {
            None => Owner::Long(timer),
            Some(flow) => Owner::Local(flow as u32),
        }
    }
    pub fn connection(&mut self, owner: Owner) -> Option<&mut Carrier<P>> {
        match owner {
            Owner::Long(index) => self.long(index).map(|long| &mut long.connection),
            Owner::Local(flow) => self.local(flow).map(|local| &mut local.connection),
        }
    }

    /// Bytes let in and not sent yet over a long connection.
    pub fn unsent(&self, long: usize) -> u64 {
        self.longs[long].as_ref().map_or(0, |end| end.connection.unsent())
    }
}
