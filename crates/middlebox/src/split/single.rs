//! A split at one node: for each flow a connection to either host, and data handed from one to the other.
//!
//! Flow control needs no more than TCP has: data stays in the receive buffer of the connection where it came in until the
//! other one can send it, so that the window offered to the sending host closes as the buffer fills.

use super::hosts::{self, Hosts, Undelivered};
use super::local::{Broken, Local};
use super::{Plans, READY_SEGMENTS};
use crate::base::Table;
use crate::levels::Levels;
use crate::{Base, Data, Departure, Direction, Middlebox, Passing, Payload, Verdict};
use longhaul_segment::Segment;
use longhaul_units::{ConnectionId, Id, Instant, Random};
use std::collections::VecDeque;

/// A split connection proxy at one node.
pub struct SingleSplit<P: Payload = crate::Sparse> {
    hosts: Hosts,
    pairs: Table<Pair<P>>,
    /// Pairs that may have packets to send.
    dirty: VecDeque<ConnectionId>,
    undelivered: Undelivered,
    lost_acknowledged_bytes: u64,
    base: Base<P>,
}

/// The two connections of a flow: to the active opener and to the passive one.
struct Pair<P: Payload> {
    ends: [Local<P>; 2],
    dirty: bool,
}

impl<P: Payload> Pair<P> {
    fn new(near: Local<P>, far: Local<P>) -> Self {
        Pair { ends: [near, far], dirty: false }
    }

    /// Does what the two connections make possible for each other. True if anything was moved. Adds to `lost` the acknowledged
    /// bytes that will not be delivered.
    fn settle(&mut self, now: Instant, lost: &mut u64) -> bool {
        let mut any = false;
        loop {
            let mut moved = false;
            for end in [0, 1] {
                if let Some(broken) = self.ends[end].take_events() {
                    *lost += self.break_off(end, broken);
                }
                moved |= self.relay(now, end);
            }
            if !moved {
                return any;
            }
            any = true;
        }
    }

    /// Hands data, and its end, from one connection to the other.
    fn relay(&mut self, now: Instant, from: usize) -> bool {
        let [near, far] = &mut self.ends;
        let (from, to) = if from == 0 { (near, far) } else { (far, near) };
        if from.broken || to.broken {
            return false;
        }
        let ready = READY_SEGMENTS * u64::from(to.connection.effective_mss());
        let room = ready.saturating_sub(to.connection.unsent());
        let taken = from.connection.read(now, room);
        if !taken.is_empty() {
            to.connection.write(&taken);
        }
        let ends = from.has_end_to_pass();
        if ends {
            from.end_passed = true;
            to.close();
        }
        !taken.is_empty() || ends
    }

    /// One host's connection has ended before its time; so does the other's. Tells how many acknowledged bytes are lost.
    fn break_off(&mut self, end: usize, why: Broken) -> u64 {
        if self.ends[1 - end].broken {
            return 0;
        }
        let lost = hosts::lost(why, [end, 1 - end].map(|end| Some(self.ends[end].account(0))));
        self.ends[1 - end].break_off();
        lost
    }

    fn undelivered(&self) -> u64 {
        hosts::undelivered(self.ends.each_ref().map(|end| Some(end.account(0))))
    }
}

impl<P: Payload> SingleSplit<P> {
    /// A split.
    pub fn new(plans: Plans, random: Random) -> Self {
        SingleSplit {
            hosts: Hosts::new(plans, random),
            pairs: Table::default(),
            dirty: VecDeque::new(),
            undelivered: Undelivered::default(),
            lost_acknowledged_bytes: 0,
            base: Base::new(Levels::default()),
        }
    }

    fn pair_for(
        &mut self,
        number: ConnectionId,
        direction: Direction,
        segment: &Segment,
    ) -> Option<&mut Pair<P>> {
        let there = self.pairs.get(number);
        let gone = there.is_none_or(|pair| pair.ends[0].gives_way_to(segment) && pair.ends[1].is_over());
        if gone && direction == Direction::Forward && hosts::opens(segment) {
            self.retire(number);
            let near = self.hosts.accept(number, Direction::Reverse, segment);
            let to_server = hosts::ports_to_sender(segment).swapped();
            let far = self.hosts.connect(number, Direction::Forward, to_server);
            self.pairs.put(number, Pair::new(near, far));
        } else if there.is_none() {
            let pair = self.established(number, direction, segment)?;
            self.pairs.put(number, pair);
        }
        self.pairs.get_mut(number)
    }

    /// The pair of a flow without handshake, at its first packet.
    fn established(&self, number: ConnectionId, direction: Direction, segment: &Segment) -> Option<Pair<P>> {
        let to_sender = hosts::ports_to_sender(segment);
        let to_client = match direction {
            Direction::Forward => to_sender,
            Direction::Reverse => to_sender.swapped(),
        };
        let near = self.hosts.established(number, Direction::Reverse, to_client)?;
        let far = self.hosts.established(number, Direction::Forward, to_client.swapped())?;
        Some(Pair::new(near, far))
    }

    /// Forgets a pair, whose connections are closed.
    fn retire(&mut self, number: ConnectionId) {
        if let Some(pair) = self.pairs.take(number) {
            pair.ends.iter().for_each(|end| self.hosts.retire(end));
        }
    }

    fn touch(&mut self, now: Instant, number: ConnectionId) {
        let Some(pair) = self.pairs.get_mut(number) else { return };
        pair.settle(now, &mut self.lost_acknowledged_bytes);
        if !std::mem::replace(&mut pair.dirty, true) {
            self.dirty.push_back(number);
        }
    }

    fn account(&mut self, now: Instant, number: ConnectionId) {
        if let Some(pair) = self.pairs.get(number) {
            self.undelivered.set(now, &mut self.base.levels, number, pair.undelivered());
        }
    }
}

impl<P: Payload> Middlebox<P> for SingleSplit<P> {
    fn handle_packet(&mut self, now: Instant, _port: usize, packet: Passing<'_, P>) -> Verdict {
        let Passing { connection: number, direction, ecn, segment, body } = packet;
        let pair = if self.base.failed { None } else { self.pair_for(number, direction, segment) };
        let end = pair.map(|pair| &mut pair.ends[direction as usize]).filter(|end| !end.is_closed());
        let Some(end) = end else {
            self.base.refuse(0, number, direction, segment);
            return Verdict::Taken;
        };
        end.connection.handle_segment(now, segment, *ecn, body);
        self.touch(now, number);
        Verdict::Taken
    }

    fn on_timer(&mut self, now: Instant, owner: usize) {
        let (number, end) = (ConnectionId::new(owner / 2), owner % 2);
        let Some(pair) = self.pairs.get_mut(number) else { return };
        let local = &mut pair.ends[end];
        match local.poll_timeout() {
            Some(due) if due <= now => {
                local.connection.handle_timeout(now);
                self.touch(now, number);
            }
            due => self.base.timers.set(owner, due),
        }
    }

    fn transmit_into(&mut self, now: Instant, segment: &mut Segment) -> Option<Departure<P>> {
        if let Some(departure) = self.base.outbox.pop_into(segment) {
            return Some(departure);
        }
        while let Some(&number) = self.dirty.front() {
            if let Some(pair) = self.pairs.get_mut(number) {
                loop {
                    for end in &mut pair.ends {
                        if let Some((ecn, body)) = end.connection.transmit_into(now, segment) {
                            let direction = end.direction;
                            return Some(Departure { port: 0, connection: number, direction, ecn, body });
                        }
                    }
                    if !pair.settle(now, &mut self.lost_acknowledged_bytes) {
                        break;
                    }
                }
                pair.dirty = false;
                for (end, local) in pair.ends.iter().enumerate() {
                    self.base.timers.set(2 * number.index() + end, local.poll_timeout());
                }
            }
            self.account(now, number);
            self.dirty.pop_front();
        }
        None
    }

    fn lose_all(&mut self, now: Instant) {
        self.lost_acknowledged_bytes += self.undelivered.lose_all(now, &mut self.base.levels);
        self.pairs.ids().for_each(|number| self.retire(number));
        self.dirty.clear();
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        let mut all = self.hosts.counters(self.pairs.iter().flat_map(|pair| &pair.ends));
        all.push(("lost_acknowledged_bytes", self.lost_acknowledged_bytes));
        all
    }
    fn base(&self) -> &Base<P> {
        &self.base
    }
    fn base_mut(&mut self) -> &mut Base<P> {
        &mut self.base
    }
}
