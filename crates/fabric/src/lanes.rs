//! Packets on private links of one kind that lead to the same link, as one list in order of arrival.
//!
//! A thousand access links before a bottleneck are a thousand components of the timeline, each with an event for every packet.
//! But what leaves them arrives almost in the order in which it was sent, for they have one delay. So such links share a
//! lane: a packet is added at its end, or a few places before it, and only the first of a lane is an event. The order
//! is that of the timeline, ties included. What would go too far ahead in a lane takes the way of other packets, by its own
//! link's event.

use crate::timeline::Timeline;
use longhaul_units::{Id, Instant, LinkId};
use std::collections::VecDeque;

/// Most lanes: each is looked at when a packet leaves one.
pub(crate) const MOST_LANES: usize = 4;

/// Most places by which a packet goes before those that are in a lane.
const MOST_OVERTAKEN: usize = 16;

/// One of the [`Lanes`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct LaneId(pub u8);

impl LaneId {
    #[inline]
    fn index(self) -> usize {
        usize::from(self.0) % MOST_LANES
    }
}

/// When a packet arrives at the far end of its link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Turn {
    pub at: Instant,
    pub link: LinkId,
}

impl Turn {
    const NEVER: Turn = Turn { at: Instant::FAR_FUTURE, link: LinkId(u32::MAX) };

    /// True if this is before the other on the timeline. Of two on one link at one time, neither is.
    #[inline]
    fn is_before(self, other: Turn) -> bool {
        self.at < other.at || (self.at == other.at && self.wins_tie(other))
    }
    #[cold]
    fn wins_tie(self, other: Turn) -> bool {
        Timeline::wins(self.link.index(), other.link.index(), self.at)
    }
}

#[repr(align(64))]
struct Lane<P> {
    /// Where it leads.
    next: LinkId,
    /// The last packet's turn; of a lane that is empty, any that has passed.
    back: Turn,
    packets: VecDeque<(Turn, P)>,
}

/// All lanes.
pub(crate) struct Lanes<P> {
    lanes: [Lane<P>; MOST_LANES],
    /// The first packet's turn of each lane, beside each other.
    fronts: [Turn; MOST_LANES],
    /// The first packet of all, and its lane.
    first: (Turn, LaneId),
    /// The first packet of all in other lanes, and its lane.
    second: (Turn, LaneId),
}

impl<P> Lanes<P> {
    /// A lane to each of these links.
    pub fn new(next: &[LinkId]) -> Self {
        assert!(next.len() <= MOST_LANES, "{} lanes are more than {MOST_LANES}", next.len());
        let back = Turn { at: Instant::ZERO, link: LinkId(0) };
        let lane = |number: usize| Lane {
            next: next.get(number).copied().unwrap_or(LinkId(u32::MAX)),
            back,
            packets: VecDeque::new(),
        };
        Lanes {
            lanes: std::array::from_fn(lane),
            fronts: [Turn::NEVER; MOST_LANES],
            first: (Turn::NEVER, LaneId(0)),
            second: (Turn::NEVER, LaneId(1)),
        }
    }

    /// Where a lane leads.
    pub fn next(&self, lane: LaneId) -> LinkId {
        self.lanes[lane.index()].next
    }

    /// The turn of the first packet of all; at [`Instant::FAR_FUTURE`] if there is none.
    #[inline]
    pub fn first(&self) -> Turn {
        self.first.0
    }

    /// Takes the first packet of all out of its lane, and where it goes.
    #[inline]
    pub fn pop(&mut self) -> Option<(LinkId, P)> {
        let lane = self.first.1;
        let own = &mut self.lanes[lane.index()];
        let (_, packet) = own.packets.pop_front()?;
        let next = own.next;
        let front = own.packets.front().map_or(Turn::NEVER, |(turn, _)| *turn);
        self.fronts[lane.index()] = front;
        if front.is_before(self.second.0) {
            self.first.0 = front;
        } else {
            self.first = self.second;
            self.second = self.first_beside(self.first.1);
        }
        Some((next, packet))
    }

    /// The first packet in lanes other than this.
    #[inline]
    fn first_beside(&self, lane: LaneId) -> (Turn, LaneId) {
        let mut first = (Turn::NEVER, lane);
        for (front, number) in self.fronts.iter().zip(0..) {
            if number != lane.0 && front.at < Instant::FAR_FUTURE && front.is_before(first.0) {
                first = (*front, LaneId(number));
            }
        }
        first
    }

    /// Adds a packet. False, and nothing done, if too many are to come after it.
    #[inline(always)]
    pub fn push(&mut self, lane: LaneId, turn: Turn, packet: P) -> bool {
        let own = &mut self.lanes[lane.index()];
        if turn.is_before(own.back) {
            return self.insert(lane, turn, packet);
        }
        own.back = turn;
        let alone = own.packets.is_empty();
        own.packets.push_back((turn, packet));
        // In a lane that is not empty it is not the first.
        if alone {
            self.begin(lane, turn);
        }
        true
    }

    /// A packet is the first of its lane now, before others of it.
    #[inline]
    fn begin(&mut self, lane: LaneId, turn: Turn) {
        self.fronts[lane.index()] = turn;
        if self.first.1 == lane {
            if turn.is_before(self.second.0) {
                self.first.0 = turn;
            } else {
                (self.first, self.second) = (self.second, (turn, lane));
            }
        } else if turn.is_before(self.first.0) {
            (self.first, self.second) = ((turn, lane), self.first);
        } else if self.second.1 == lane || turn.is_before(self.second.0) {
            self.second = (turn, lane);
        }
    }

    /// The same as a call: most packets are added where they leave their endpoint.
    #[inline(never)]
    pub fn join(&mut self, lane: LaneId, turn: Turn, packet: P) -> bool {
        self.push(lane, turn, packet)
    }

    #[cold]
    #[inline(never)]
    fn insert(&mut self, lane: LaneId, turn: Turn, packet: P) -> bool {
        let own = &mut self.lanes[lane.index()];
        let last = own.packets.iter().rev().take(MOST_OVERTAKEN + 1);
        let later = last.take_while(|(other, _)| turn.is_before(*other)).count();
        if later > MOST_OVERTAKEN {
            return false;
        }
        let place = own.packets.len() - later;
        own.packets.insert(place, (turn, packet));
        if later == 0 {
            own.back = turn;
        }
        if place == 0 {
            self.begin(lane, turn);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn lanes_are_in_order_and_refuse_what_goes_far_ahead(
            steps in proptest::collection::vec((0u64..60, 0u32..4, 0u8..3, any::<bool>()), 0..300),
        ) {
            let leads = [LinkId(7), LinkId(9), LinkId(8)];
            let mut lanes = Lanes::new(&leads);
            let mut models: [Vec<(Turn, u32)>; 3] = [vec![], vec![], vec![]];
            for (step, (time, link, lane, pop)) in steps.into_iter().enumerate() {
                let fronts = models.iter().enumerate().filter_map(|(lane, model)| Some((model.first()?.0, lane)));
                let first = fronts.reduce(|first, next| if next.0.is_before(first.0) { next } else { first });
                if pop {
                    prop_assert_eq!(first.map_or(Instant::FAR_FUTURE, |first| first.0.at), lanes.first().at);
                    let Some((turn, lane)) = first else { continue };
                    prop_assert_eq!(lanes.first(), turn);
                    let (_, to) = models[lane].remove(0);
                    let (next, packet) = lanes.pop().unwrap();
                    prop_assert_eq!((next, packet), (leads[lane], to));
                    continue;
                }
                // A link has one lane.
                let turn = Turn { at: Instant::from_nanos(time), link: LinkId(3 * link + u32::from(lane)) };
                let model = &mut models[usize::from(lane)];
                let place = model.partition_point(|(other, _)| !turn.is_before(*other));
                let added = lanes.push(LaneId(lane), turn, step as u32);
                prop_assert_eq!(added, model.len() - place <= MOST_OVERTAKEN);
                if added {
                    model.insert(place, (turn, step as u32));
                }
            }
        }
    }
}
