//! Packets on private links of one kind that lead to the same link, as one list in order of arrival.
//!
//! A thousand access links before a bottleneck are a thousand components of the timeline, each with an event for every packet.
//! But what leaves them arrives almost in the order in which it was sent, for they have one delay. So such links share a
//! lane: a packet is added at its end, or a few places before it, and only the first of a lane is an event. The order
//! is that of the timeline, ties included. What would go too far ahead in a lane takes the way of other packets, by its own
//! link's event.

use crate::packet::Packet;
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

struct Lane {
    /// Where it leads.
    next: LinkId,
    packets: VecDeque<(Turn, Packet)>,
}

impl Lane {
    #[inline]
    fn front(&self) -> Turn {
        self.packets.front().map_or(Turn::NEVER, |(turn, _)| *turn)
    }
}

/// All lanes.
pub(crate) struct Lanes {
    lanes: Vec<Lane>,
    /// The first packet of all, and its lane.
    first: (Turn, LaneId),
}

impl Lanes {
    /// A lane to each of these links.
    pub fn new(next: &[LinkId]) -> Self {
        let lane = |next: &LinkId| Lane { next: *next, packets: VecDeque::new() };
        Lanes { lanes: next.iter().map(lane).collect(), first: (Turn::NEVER, LaneId(0)) }
    }

    /// Where a lane leads.
    pub fn next(&self, lane: LaneId) -> LinkId {
        self.lanes[usize::from(lane.0)].next
    }

    /// The first packet of all: its turn, and its lane; at [`Instant::FAR_FUTURE`] if there is none.
    #[inline]
    pub fn first(&self) -> (Turn, LaneId) {
        self.first
    }

    /// Takes the first packet out of a lane, and where it goes.
    #[inline]
    pub fn pop(&mut self, lane: LaneId) -> Option<(LinkId, Packet)> {
        let lane = &mut self.lanes[usize::from(lane.0)];
        let (_, packet) = lane.packets.pop_front()?;
        let next = lane.next;
        let mut first = (Turn::NEVER, LaneId(0));
        for (lane, number) in self.lanes.iter().zip(0..) {
            let front = lane.front();
            if front.is_before(first.0) {
                first = (front, LaneId(number));
            }
        }
        self.first = first;
        Some((next, packet))
    }

    /// Adds a packet. False, and nothing done, if too many are to come after it.
    #[inline(always)]
    pub fn push(&mut self, lane: LaneId, turn: Turn, packet: Packet) -> bool {
        let packets = &mut self.lanes[usize::from(lane.0)].packets;
        if packets.back().is_some_and(|(last, _)| turn.is_before(*last)) {
            return self.insert(lane, turn, packet);
        }
        packets.push_back((turn, packet));
        // In a lane that is not empty it is not the first.
        if turn.is_before(self.first.0) {
            self.first = (turn, lane);
        }
        true
    }

    /// The same as a call: most packets are added where they leave their endpoint.
    #[inline(never)]
    pub fn join(&mut self, lane: LaneId, turn: Turn, packet: Packet) -> bool {
        self.push(lane, turn, packet)
    }

    #[cold]
    #[inline(never)]
    fn insert(&mut self, lane: LaneId, turn: Turn, packet: Packet) -> bool {
        let packets = &mut self.lanes[usize::from(lane.0)].packets;
        let last = packets.iter().rev().take(MOST_OVERTAKEN + 1);
        let later = last.take_while(|(other, _)| turn.is_before(*other)).count();
        if later > MOST_OVERTAKEN {
            return false;
        }
        packets.insert(packets.len() - later, (turn, packet));
        if turn.is_before(self.first.0) {
            self.first = (turn, lane);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Segments;
    use longhaul_segment::Ecn;
    use longhaul_units::EndpointId;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn lanes_are_in_order_and_refuse_what_goes_far_ahead(
            steps in proptest::collection::vec((0u64..60, 0u32..4, 0u8..3, any::<bool>()), 0..300),
        ) {
            let mut segments = Segments::default();
            let mut packet = |to: usize| {
                segments.packet(EndpointId::new(to), 1, |_| Some((Ecn::NotEct, 40))).unwrap()
            };
            let leads = [LinkId(7), LinkId(9), LinkId(8)];
            let mut lanes = Lanes::new(&leads);
            let mut models: [Vec<(Turn, u32)>; 3] = [vec![], vec![], vec![]];
            for (step, (time, link, lane, pop)) in steps.into_iter().enumerate() {
                let fronts = models.iter().zip(0..).filter_map(|(model, lane)| Some((model.first()?.0, LaneId(lane))));
                let first = fronts.reduce(|first, next| if next.0.is_before(first.0) { next } else { first });
                if pop {
                    prop_assert_eq!(first.map_or(Instant::FAR_FUTURE, |first| first.0.at), lanes.first().0.at);
                    let Some((turn, lane)) = first else { continue };
                    prop_assert_eq!(lanes.first(), (turn, lane));
                    let (_, to) = models[usize::from(lane.0)].remove(0);
                    let (next, packet) = lanes.pop(lane).unwrap();
                    prop_assert_eq!((next, packet.to.0), (leads[usize::from(lane.0)], to));
                    continue;
                }
                // A link has one lane.
                let turn = Turn { at: Instant::from_nanos(time), link: LinkId(3 * link + u32::from(lane)) };
                let model = &mut models[usize::from(lane)];
                let place = model.partition_point(|(other, _)| !turn.is_before(*other));
                let added = lanes.push(LaneId(lane), turn, packet(step));
                prop_assert_eq!(added, model.len() - place <= MOST_OVERTAKEN);
                if added {
                    model.insert(place, (turn, step as u32));
                }
            }
        }
    }
}
