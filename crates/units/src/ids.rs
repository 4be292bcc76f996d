//! Numbers of things, each kind with a type of its own: the number of a link is no number of a flow. [`IdVec`] is a list that
//! only numbers of its kind look up.

use crate::settings::Serialize;
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Index, IndexMut};

/// The number of a thing among those of its kind, from 0.
pub trait Id: Copy + Ord + fmt::Debug {
    /// The thing with this number, which is below 2^32.
    fn new(index: usize) -> Self;
    /// Its number.
    fn index(self) -> usize;
}

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize)]
        pub struct $name(pub u32);

        impl Id for $name {
            #[inline]
            fn new(index: usize) -> Self {
                debug_assert!(u32::try_from(index).is_ok(), "there are fewer than 2^32 of them");
                $name(index as u32)
            }
            #[inline]
            fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    )*};
}

ids! {
    /// A node of a network.
    NodeId
    /// One direction of a link, private access links among them.
    LinkId
    /// One direction of a link of the scenario file, by its place in the summary's list.
    DeclaredId
    /// A `[[flow]]` table of the scenario file.
    GroupId
    /// A flow.
    FlowId
    /// A `[[middlebox]]` table of the scenario file.
    MiddleboxId
    /// A connection: a flow's, or a middlebox's own.
    ConnectionId
    /// One end of a connection.
    EndpointId
    /// A host whose real packets the emulator takes.
    HostId
}

/// Which end of a flow or of a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Side {
    /// The active opener.
    Client,
    /// The passive opener.
    Server,
}

impl Side {
    /// Both, the active opener first.
    pub const BOTH: [Side; 2] = [Side::Client, Side::Server];

    /// The other one.
    #[inline]
    pub const fn other(self) -> Side {
        match self {
            Side::Client => Side::Server,
            Side::Server => Side::Client,
        }
    }
}

impl ConnectionId {
    /// One of its ends.
    #[inline]
    pub const fn end(self, side: Side) -> EndpointId {
        EndpointId(2 * self.0 + side as u32)
    }

    /// The connection `count` places behind.
    #[inline]
    pub fn after(self, count: usize) -> ConnectionId {
        ConnectionId::new(self.index() + count)
    }
}

impl EndpointId {
    /// Its connection.
    #[inline]
    pub const fn connection(self) -> ConnectionId {
        ConnectionId(self.0 / 2)
    }
    /// Which end of it.
    #[inline]
    pub const fn side(self) -> Side {
        if self.0 % 2 == 0 { Side::Client } else { Side::Server }
    }
    /// The other end of its connection.
    #[inline]
    pub const fn peer(self) -> EndpointId {
        EndpointId(self.0 ^ 1)
    }
}

/// All numbers below `count`.
#[inline]
pub fn ids<I: Id>(count: usize) -> impl DoubleEndedIterator<Item = I> + ExactSizeIterator + Clone {
    (0..count).map(I::new)
}

/// A list whose places are numbers of one kind.
pub struct IdVec<I, T> {
    items: Vec<T>,
    kind: PhantomData<fn(I)>,
}

impl<I: Id, T> IdVec<I, T> {
    /// An empty list.
    pub const fn new() -> Self {
        IdVec { items: vec![], kind: PhantomData }
    }
    /// An empty list with room for `count` items.
    pub fn with_capacity(count: usize) -> Self {
        Vec::with_capacity(count).into()
    }
    /// `count` times the same item.
    pub fn filled(item: T, count: usize) -> Self
    where
        T: Clone,
    {
        vec![item; count].into()
    }

    /// Adds an item, and returns its number.
    pub fn push(&mut self, item: T) -> I {
        self.items.push(item);
        I::new(self.items.len() - 1)
    }
    /// Makes it `count` items long, with copies of `item` at the end.
    pub fn resize(&mut self, count: usize, item: T)
    where
        T: Clone,
    {
        self.items.resize(count, item);
    }

    /// The same, with what `make` makes at the end.
    pub fn resize_with(&mut self, count: usize, make: impl FnMut() -> T) {
        self.items.resize_with(count, make);
    }
    /// Removes all items.
    pub fn clear(&mut self) {
        self.items.clear();
    }

    /// How many items there are.
    #[inline]
    pub fn len(&self) -> usize {
        self.items.len()
    }
    /// True if there is none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }
    /// The numbers of all items.
    pub fn ids(&self) -> impl DoubleEndedIterator<Item = I> + ExactSizeIterator + Clone + use<I, T> {
        ids(self.items.len())
    }
    /// The item of this number, if there is one.
    #[inline]
    pub fn get(&self, id: I) -> Option<&T> {
        self.items.get(id.index())
    }
    /// The same, to be changed.
    #[inline]
    pub fn get_mut(&mut self, id: I) -> Option<&mut T> {
        self.items.get_mut(id.index())
    }
    /// The first item.
    pub fn first(&self) -> Option<&T> {
        self.items.first()
    }
    /// The last item.
    pub fn last(&self) -> Option<&T> {
        self.items.last()
    }
    /// All items, in order.
    pub fn iter(&self) -> std::slice::Iter<'_, T> {
        self.items.iter()
    }
    /// The same, to be changed.
    pub fn iter_mut(&mut self) -> std::slice::IterMut<'_, T> {
        self.items.iter_mut()
    }
    /// All items with their numbers.
    pub fn enumerated(&self) -> impl DoubleEndedIterator<Item = (I, &T)> + ExactSizeIterator + Clone {
        self.ids().zip(&self.items)
    }
    /// The number of the first item for which `found` is true.
    pub fn position(&self, found: impl FnMut(&T) -> bool) -> Option<I> {
        self.items.iter().position(found).map(I::new)
    }
    /// The items, as a list that any number looks up.
    pub fn into_vec(self) -> Vec<T> {
        self.items
    }
    /// The items.
    pub fn as_slice(&self) -> &[T] {
        &self.items
    }
}

impl<I: Id, T> Index<I> for IdVec<I, T> {
    type Output = T;
    #[inline]
    fn index(&self, id: I) -> &T {
        &self.items[id.index()]
    }
}

impl<I: Id, T> IndexMut<I> for IdVec<I, T> {
    #[inline]
    fn index_mut(&mut self, id: I) -> &mut T {
        &mut self.items[id.index()]
    }
}

impl<I, T> From<Vec<T>> for IdVec<I, T> {
    fn from(items: Vec<T>) -> Self {
        IdVec { items, kind: PhantomData }
    }
}

impl<I, T> FromIterator<T> for IdVec<I, T> {
    fn from_iter<S: IntoIterator<Item = T>>(items: S) -> Self {
        Vec::from_iter(items).into()
    }
}

impl<I, T> IntoIterator for IdVec<I, T> {
    type Item = T;
    type IntoIter = std::vec::IntoIter<T>;
    fn into_iter(self) -> Self::IntoIter {
        self.items.into_iter()
    }
}

impl<'a, I, T> IntoIterator for &'a IdVec<I, T> {
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;
    fn into_iter(self) -> Self::IntoIter {
        self.items.iter()
    }
}

impl<'a, I, T> IntoIterator for &'a mut IdVec<I, T> {
    type Item = &'a mut T;
    type IntoIter = std::slice::IterMut<'a, T>;
    fn into_iter(self) -> Self::IntoIter {
        self.items.iter_mut()
    }
}

impl<I, T> Default for IdVec<I, T> {
    fn default() -> Self {
        vec![].into()
    }
}

impl<I, T: Clone> Clone for IdVec<I, T> {
    fn clone(&self) -> Self {
        self.items.clone().into()
    }
    fn clone_from(&mut self, source: &Self) {
        self.items.clone_from(&source.items);
    }
}

impl<I, T: PartialEq> PartialEq for IdVec<I, T> {
    fn eq(&self, other: &Self) -> bool {
        self.items == other.items
    }
}

impl<I, T: fmt::Debug> fmt::Debug for IdVec<I, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.items.fmt(f)
    }
}

/// A list takes numbers of its own kind only:
///
/// ```compile_fail,E0308
/// use longhaul_units::{FlowId, IdVec, LinkId};
/// let rates: IdVec<LinkId, u64> = vec![1].into();
/// let _ = rates[FlowId(0)];
/// ```
#[cfg(doctest)]
struct NumbersOfAnotherKindDoNotCompile;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_of_connections_have_two_numbers_each() {
        let connection = ConnectionId(7);
        assert_eq!(Side::BOTH.map(|side| connection.end(side)), [EndpointId(14), EndpointId(15)]);
        for side in Side::BOTH {
            let end = connection.end(side);
            assert_eq!((end.connection(), end.side()), (connection, side));
            assert_eq!(end.peer(), connection.end(side.other()));
        }
    }

    #[test]
    fn a_list_gives_its_items_their_numbers() {
        let mut list = IdVec::<NodeId, &str>::new();
        let ids = [list.push("a"), list.push("b")];
        assert_eq!(ids, [NodeId(0), NodeId(1)]);
        assert_eq!(list.ids().collect::<Vec<_>>(), ids);
        assert_eq!((list[ids[1]], list.get(NodeId(2))), ("b", None));
        assert_eq!(list.position(|name| *name == "b"), Some(ids[1]));
        assert_eq!(
            list.enumerated().map(|(id, name)| format!("{id}{name}")).collect::<Vec<_>>(),
            ["0a", "1b"]
        );
    }
}
