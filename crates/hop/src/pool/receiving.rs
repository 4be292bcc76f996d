//! What becomes of bytes that a connection of a pool receives.

use super::frame::Frame;
use super::lane::Stream;
use super::{LaneId, Pool};
use crate::credit::FLOOR;
use crate::flow::Phase;
use crate::types::{Bounds, Event, FlowId, Open, ResetCode};
use crate::wire::{self, Hello, Malformed, Record};
use bytes::Bytes;

impl Pool {
    /// Bytes of a connection, in their order, cut anywhere.
    ///
    /// # Errors
    /// What cannot be understood: the connection is to be closed, and [`Pool::disconnected`] to be called.
    pub fn received(&mut self, id: LaneId, bytes: &[u8]) -> Result<(), &'static str> {
        let Some(lane) = self.lanes.get_mut(&id) else { return Ok(()) };
        lane.received_bytes += bytes.len() as u64;
        let mut all = std::mem::take(&mut lane.partial);
        all.extend_from_slice(bytes);
        let mut at = 0;
        while let Some((frame, length)) = Frame::read(&all[at..]).map_err(|Malformed(why)| why)? {
            at += length;
            self.take_frame(id, frame)?;
        }
        all.drain(..at);
        if let Some(lane) = self.lanes.get_mut(&id) {
            lane.partial = all;
        }
        Ok(())
    }

    fn take_frame(&mut self, id: LaneId, frame: Frame) -> Result<(), &'static str> {
        let up = self.lanes.get(&id).is_some_and(|lane| lane.up);
        match (up, frame) {
            (false, Frame::Record(Record::Hello(hello))) => self.up(id, &hello),
            (false, _) => Err("a frame before the hello"),
            (true, Frame::Record(Record::Hello(_))) => Err("a second hello"),
            // A pool has a frame of its own for resets. The kernel decides what leaves when, and what waits.
            (
                true,
                Frame::Record(
                    Record::Unknown
                    | Record::Reset { .. }
                    | Record::Class { .. }
                    | Record::Classify { .. }
                    | Record::Waited { .. },
                ),
            ) => Ok(()),
            (true, Frame::Record(Record::Bounds { flows, rate })) => {
                self.bounded(id, Bounds::from_record(flows, rate));
                Ok(())
            }
            (true, Frame::Record(Record::Consumed { stream, offset })) => self.consumed(id, stream, offset),
            (true, Frame::Record(Record::Accepted { stream })) => {
                self.accepted(id, stream);
                Ok(())
            }
            (true, Frame::Record(Record::ResetAt { stream, code, size })) => {
                self.reset_by_peer_at(id, stream, code, size);
                Ok(())
            }
            (true, Frame::Open { flow, open }) => self.opened(id, flow, open),
            (true, Frame::Data { flow, bytes }) => self.data(id, flow, bytes),
            (true, Frame::End { flow }) => {
                self.with(id, flow, |stream| stream.into.ended = true);
                self.tell_reader(id, flow);
                Ok(())
            }
            (true, Frame::Read { flow }) => {
                let sent =
                    self.lanes.get(&id).and_then(|lane| lane.streams.get(&flow)).map(|stream| &stream.out);
                match sent {
                    None => Ok(()),
                    Some(out) if !out.ended => Err("an end was read that was not sent"),
                    Some(out) => {
                        let sent = out.sent;
                        self.consumed(id, flow, sent)?;
                        self.with(id, flow, |stream| stream.out.phase = Phase::Over);
                        self.delivered(id, flow);
                        Ok(())
                    }
                }
            }
            (true, Frame::Reset { flow, code }) => {
                self.reset_by_peer(id, flow, ResetCode::from_number(code));
                Ok(())
            }
            (true, Frame::Refused { flow, code }) => {
                if let Some(stream) = self.remove(id, flow) {
                    let reason = ResetCode::from_number(code);
                    self.events.push_back(Event::Refused { flow: stream.id, reason });
                }
                Ok(())
            }
        }
    }

    /// The hub has notified this terminal, which has opened the connection, of its bounds.
    fn bounded(&mut self, id: LaneId, bounds: Bounds) {
        let Some(lane) = self.lanes.get(&id).filter(|lane| lane.is_own) else { return };
        let peer = lane.peer;
        if let Some(group) = self.groups.get_mut(&peer) {
            group.bounds = bounds;
            self.events.push_back(Event::Bounded { peer });
        }
    }

    fn with(&mut self, id: LaneId, number: u64, change: impl FnOnce(&mut Stream)) {
        if let Some(stream) = self.lanes.get_mut(&id).and_then(|lane| lane.streams.get_mut(&number)) {
            change(stream);
        }
    }

    fn up(&mut self, id: LaneId, hello: &Hello) -> Result<(), &'static str> {
        let version = wire::agreed(wire::VERSIONS, hello.versions).ok_or("no common version of the hop")?;
        let Some(lane) = self.lanes.get_mut(&id) else { return Ok(()) };
        (lane.up, lane.max_flows, lane.version) = (true, hello.max_flows, version);
        let peer = lane.peer;
        let Some(group) = self.groups.get_mut(&peer) else { return Ok(()) };
        group.budget.set(self.config.credit.min(hello.credit), self.config.memory.min(hello.memory));
        group.lanes.push(id);
        if group.lanes.len() == 1 {
            let (key, address) = (group.key, group.address);
            self.events.push_back(Event::Up { peer, key, version, address });
        }
        Ok(())
    }

    fn opened(&mut self, id: LaneId, number: u64, open: Open) -> Result<(), &'static str> {
        let flow = FlowId(self.number());
        let Some(lane) = self.lanes.get_mut(&id) else { return Ok(()) };
        if number < lane.next_peer || (number ^ lane.next_peer) & 1 != 0 {
            return Err("a flow was opened twice");
        }
        lane.next_peer = number + 2;
        if lane.streams.len() >= self.config.max_flows as usize {
            let code = u64::from(ResetCode::NoResources.number());
            Frame::Refused { flow: number, code }.write(&mut lane.control);
            return Ok(());
        }
        lane.streams.insert(number, Stream::new(flow, open, true));
        self.flows.insert(flow, (id, number));
        self.events.push_back(Event::Opened { flow, peer: lane.peer, open });
        Ok(())
    }

    fn data(&mut self, id: LaneId, number: u64, bytes: &[u8]) -> Result<(), &'static str> {
        let Some(lane) = self.lanes.get_mut(&id) else { return Ok(()) };
        let length = bytes.len() as u64;
        let (next, peer) = (lane.next_peer.max(lane.next_own), lane.peer);
        let Some(stream) = lane.streams.get_mut(&number) else {
            // Of a flow that this node has reset.
            return if number < next { Ok(()) } else { Err("data of a flow that was not opened") };
        };
        let into = &mut stream.into;
        into.received += length;
        if stream.leaving {
            into.taken = into.received;
            self.ledger.discarded += length;
            return Ok(());
        }
        let Some(group) = self.groups.get_mut(&peer) else { return Ok(()) };
        group.held += length;
        let most = self.config.memory
            + 2 * (u64::from(self.config.max_flows) + 1) * FLOOR * group.lanes.len() as u64;
        if into.received - into.reported > self.config.credit.max(4 * FLOOR) || group.held > most {
            return Err("more was sent than the credit allows");
        }
        if into.ended {
            return Err("data behind the end of a flow");
        }
        if length > 0 {
            into.queue.push_back(Bytes::copy_from_slice(bytes));
        }
        self.accepted(id, number);
        self.tell_reader(id, number);
        Ok(())
    }

    fn consumed(&mut self, id: LaneId, number: u64, offset: u64) -> Result<(), &'static str> {
        let Some(lane) = self.lanes.get_mut(&id) else { return Ok(()) };
        let Some(stream) = lane.streams.get_mut(&number) else { return Ok(()) };
        if offset > stream.out.sent {
            return Err("more was read than was sent");
        }
        let more = offset.saturating_sub(stream.out.consumed);
        stream.out.consumed += more;
        self.ledger.delivered += more;
        let peer = lane.peer;
        let left = (stream.leaving && stream.out.outstanding() == 0).then_some(stream.id);
        if let Some(group) = self.groups.get_mut(&peer) {
            group.budget.give_back(more);
        }
        if let Some(flow) = left {
            self.events.push_back(Event::Delivered { flow });
            self.remove(id, number);
        }
        self.wake_blocked(peer);
        Ok(())
    }

    fn accepted(&mut self, id: LaneId, number: u64) {
        let Some(stream) = self.lanes.get_mut(&id).and_then(|lane| lane.streams.get_mut(&number)) else {
            return;
        };
        if !std::mem::replace(&mut stream.accepted, true) && stream.open.confirm {
            self.events.push_back(Event::Accepted { flow: stream.id });
        }
    }

    /// Notifies the owner that there is something to read, or that nothing more will come.
    pub(super) fn tell_reader(&mut self, id: LaneId, number: u64) {
        let Some(lane) = self.lanes.get_mut(&id) else { return };
        let Some(stream) = lane.streams.get_mut(&number) else { return };
        if stream.leaving {
            return;
        }
        let into = &mut stream.into;
        if !into.queue.is_empty() && !into.told {
            into.told = true;
            self.events.push_back(Event::Readable { flow: stream.id });
        }
        if into.ended && into.queue.is_empty() && !into.over {
            into.over = true;
            Frame::Read { flow: number }.write(&mut lane.control);
            self.events.push_back(Event::Finished { flow: stream.id });
        }
        // A flow that has ended in both directions is over: a reset that came before the last end has nothing left to reset.
        self.settle(id, number);
        self.reset_if_read(id, number);
    }

    /// Passes on a reset of the peer once all in front of it was read.
    fn reset_if_read(&mut self, id: LaneId, number: u64) {
        let Some(lane) = self.lanes.get_mut(&id) else { return };
        let Some(stream) = lane.streams.get(&number) else { return };
        let Some(code) = stream.into.must_reset() else { return };
        let offset = stream.into.taken;
        Frame::Record(Record::Consumed { stream: number, offset }).write(&mut lane.control);
        self.reset_by_peer(id, number, code);
    }

    fn reset_by_peer(&mut self, id: LaneId, number: u64, code: ResetCode) {
        if let Some(stream) = self.remove(id, number) {
            let undelivered = stream.out.undelivered();
            self.events.push_back(Event::Reset { flow: stream.id, code, undelivered });
        }
    }

    /// The peer has reset a flow behind its bytes.
    fn reset_by_peer_at(&mut self, id: LaneId, number: u64, code: u64, size: u64) {
        let code = ResetCode::from_number(code);
        let Some(lane) = self.lanes.get_mut(&id) else { return };
        let peer = lane.peer;
        let Some(stream) = lane.streams.get_mut(&number) else { return };
        if stream.leaving {
            return self.reset_by_peer(id, number, code);
        }
        stream.into.reset = Some((size, code));
        if stream.out.phase != Phase::Over {
            stream.out.phase = Phase::Leaving;
            self.give_up_outgoing(id, number);
            self.wake_blocked(peer);
        }
        self.reset_if_read(id, number);
    }

    /// Nobody reads what was written: it is lost as far as it was not read.
    fn give_up_outgoing(&mut self, id: LaneId, number: u64) {
        let Some(lane) = self.lanes.get_mut(&id) else { return };
        let Some(stream) = lane.streams.get_mut(&number) else { return };
        lane.scheduler.remove(number, &mut stream.out.turn);
        let (lost, out) = (stream.out.outstanding(), &mut stream.out);
        *out.given_up.get_or_insert(0) += lost;
        lane.backlog.remove(out.queued);
        (out.queued, out.consumed) = (0, out.sent);
        out.queue.clear();
        self.ledger.lost += lost;
        if let Some(group) = self.groups.get_mut(&lane.peer) {
            group.budget.give_back(lost);
            group.blocked.retain(|other| *other != stream.id);
        }
    }

    /// Nobody reads what has come.
    pub(super) fn discard_incoming(&mut self, id: LaneId, number: u64) {
        let Some(lane) = self.lanes.get_mut(&id) else { return };
        let Some(stream) = lane.streams.get_mut(&number) else { return };
        let into = &mut stream.into;
        let discarded = into.received - into.taken;
        into.taken = into.received;
        into.queue.clear();
        self.ledger.discarded += discarded;
        if let Some(group) = self.groups.get_mut(&lane.peer) {
            group.held -= discarded;
        }
    }

    fn delivered(&mut self, id: LaneId, number: u64) {
        let Some(stream) = self.lanes.get(&id).and_then(|lane| lane.streams.get(&number)) else { return };
        self.events.push_back(Event::Delivered { flow: stream.id });
        self.settle(id, number);
    }

    /// Removes a flow that is over in both directions.
    fn settle(&mut self, id: LaneId, number: u64) {
        let Some(stream) = self.lanes.get(&id).and_then(|lane| lane.streams.get(&number)) else { return };
        if stream.out.phase == Phase::Over && stream.into.over {
            self.remove(id, number);
        }
    }

    /// Takes a flow out of all lists. What was not delivered is lost.
    pub(super) fn remove(&mut self, id: LaneId, number: u64) -> Option<Stream> {
        self.give_up_outgoing(id, number);
        self.discard_incoming(id, number);
        let lane = self.lanes.get_mut(&id)?;
        let stream = lane.streams.remove(&number)?;
        let peer = lane.peer;
        self.flows.remove(&stream.id);
        self.wake_blocked(peer);
        Some(stream)
    }

    /// Notifies flows that wait for room, each in its turn.
    fn wake_blocked(&mut self, peer: crate::types::PeerId) {
        let Some(group) = self.groups.get_mut(&peer) else { return };
        for _ in 0..group.blocked.len() {
            let Some(flow) = group.blocked.pop_front() else { return };
            let Some((lane, number)) = self.flows.get(&flow) else { continue };
            let Some(stream) = self.lanes.get_mut(lane).and_then(|lane| lane.streams.get_mut(number)) else {
                continue;
            };
            if group.budget.room(stream.out.outstanding()) >= group.budget.worth_waking() {
                stream.out.blocked = false;
                self.events.push_back(Event::Writable { flow });
            } else {
                group.blocked.push_back(flow);
            }
        }
    }
}
