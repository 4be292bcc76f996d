//! What all middleboxes have: packets that wait to leave, timers, events, levels, and whether they have broken down. Beside it,
//! for those that need them, a record for each connection, and counters by name.

use crate::levels::Levels;
use crate::outbox::Outbox;
use crate::timers::Timers;
use crate::{Body, Direction, Event};
use longhaul_segment::{Ecn, Segment};
use longhaul_tcp::reset_for;
use longhaul_units::{ConnectionId, Id, IdVec, ids};
use std::collections::VecDeque;

/// The part that is the same in all middleboxes; [`Middlebox`](crate::Middlebox) does most of its work with it.
#[derive(Debug)]
pub struct Base<B> {
    /// Packets that are to leave.
    pub(crate) outbox: Outbox<B>,
    /// When to look after which connection, or whatever has timers.
    pub(crate) timers: Timers,
    /// What has happened and was not polled yet.
    pub(crate) events: VecDeque<Event>,
    /// How full it is.
    pub(crate) levels: Levels,
    /// It has broken down.
    pub failed: bool,
}

impl<B: Body> Base<B> {
    /// Of a middlebox that holds nothing yet.
    pub fn new(levels: Levels) -> Self {
        Base {
            outbox: Outbox::default(),
            timers: Timers::default(),
            events: VecDeque::new(),
            levels,
            failed: false,
        }
    }
    /// Answers a host's packet, which is for no connection that there is, with a reset.
    pub(crate) fn refuse(
        &mut self,
        port: usize,
        connection: ConnectionId,
        direction: Direction,
        segment: &Segment,
    ) {
        if let Some(reset) = reset_for(segment) {
            self.outbox.push_at(port, connection, direction.opposite(), reset, Ecn::NotEct, B::default());
        }
    }
    /// Nothing leaves any more that waits here, and no timer expires.
    pub(crate) fn break_down(&mut self) {
        self.outbox.clear();
        self.timers.clear();
        self.failed = true;
    }
}

/// Records of connections, or of their ends, by number.
#[derive(Debug)]
pub(crate) struct Table<S, I = ConnectionId>(IdVec<I, Option<Box<S>>>);

impl<S, I> Default for Table<S, I> {
    fn default() -> Self {
        Table(IdVec::default())
    }
}

impl<S, I: Id> Table<S, I> {
    pub fn get(&self, number: I) -> Option<&S> {
        self.0.get(number)?.as_deref()
    }
    fn slot(&mut self, number: I) -> &mut Option<Box<S>> {
        if number.index() >= self.0.len() {
            self.0.resize_with(number.index() + 1, || None);
        }
        &mut self.0[number]
    }
    pub fn get_mut(&mut self, number: I) -> Option<&mut S> {
        self.0.get_mut(number)?.as_deref_mut()
    }
    /// A record, which is made if there is none.
    pub fn get_or_insert_with(&mut self, number: I, make: impl FnOnce() -> S) -> &mut S {
        self.slot(number).get_or_insert_with(|| Box::new(make()))
    }
    /// A record takes the place of the one that was there.
    pub fn put(&mut self, number: I, record: S) {
        *self.slot(number) = Some(Box::new(record));
    }
    pub fn iter(&self) -> impl Iterator<Item = &S> {
        self.0.iter().flatten().map(Box::as_ref)
    }
    pub fn take(&mut self, number: I) -> Option<Box<S>> {
        self.0.get_mut(number).and_then(Option::take)
    }
    /// The numbers of all records, and of places where there is none.
    pub fn ids(&self) -> impl Iterator<Item = I> + use<S, I> {
        ids(self.0.len())
    }
    pub fn clear(&mut self) {
        self.0.clear();
    }
}

/// Counters that are named as the metrics that they become.
macro_rules! counters {
    ($(#[$doc:meta])* $vis:vis struct $name:ident { $($(#[$about:meta])* $field:ident),* $(,)? }) => {
        longhaul_units::counters! {
            $(#[$doc])*
            $vis struct $name {
                $($(#[$about])* sum $vis $field: u64),*
            }
        }
        impl $name {
            /// All, by name.
            $vis fn list(&self) -> Vec<(&'static str, u64)> {
                vec![$((stringify!($field), self.$field)),*]
            }
        }
    };
}
pub(crate) use counters;
