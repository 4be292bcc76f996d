//! What the owner of a node does with flows: open, write, read, end.

use super::{Context, Peer, REFUSED, State, number};
use crate::credit::FLOOR;
use crate::flow::{Flow, Phase};
use crate::types::{Event, FlowId, Open, Refusal, ResetCode};
use crate::wire::{self, Record};
use bytes::Bytes;
use longhaul_units::{Duration, Instant};
use quinn_proto::VarInt;

/// What was read is reported at the latest after this time.
const REPORTS: Duration = Duration::from_millis(50);

impl Peer {
    /// Opens a flow.
    pub fn open(&mut self, open: Open, context: &mut Context<'_>) -> Result<FlowId, Refusal> {
        if !wire::is_possible(&open) {
            return Err(Refusal::Malformed);
        }
        if !matches!(self.state, State::Up | State::Connected) {
            return Err(Refusal::Down);
        }
        let (id, waits) = self.open_stream().ok_or(Refusal::TooMany)?;
        let key = number(id);
        let mut flow = Flow::new(context.new_flow(key), id, false, Some(open));
        let mut head = vec![];
        wire::write_open(&open, &mut head);
        flow.out.head = head.len() as u64;
        flow.out.queued = head.len() as u64;
        self.budget.add(flow.out.head);
        self.backlog.add(flow.out.head);
        flow.out.queue.push_back(Bytes::from(head));
        let id = flow.id;
        flow.out.waits = waits;
        if !waits {
            self.scheduler.wake(context.now, key, &mut flow.out.turn);
        }
        self.flows.insert(key, flow);
        self.dirty = true;
        Ok(id)
    }

    /// Answers a flow that the peer has opened.
    pub fn accept(&mut self, key: u64) {
        let confirms = self
            .flows
            .get(&key)
            .is_some_and(|flow| flow.remote && flow.open.is_some_and(|open| open.confirm));
        if confirms {
            Record::Accepted { stream: key }.write(&mut self.records);
            self.dirty = true;
        }
    }

    /// Gives up a flow at the owner's request.
    pub fn reset(&mut self, key: u64, code: ResetCode, refused: bool, context: &mut Context<'_>) {
        let Some(flow) = self.remove(key, context) else { return };
        let code = code.number().min(REFUSED - 1) + if refused { REFUSED } else { 0 };
        self.abort(flow.stream, code);
        Record::Reset { stream: key, code: code.into() }.write(&mut self.records);
        self.wake_blocked(context);
    }

    /// Gives up a flow at the owner's request; what was written is delivered first. A peer that cannot do that is reset at once.
    pub fn reset_behind(&mut self, key: u64, code: ResetCode, context: &mut Context<'_>) {
        let Some(flow) = self.flows.get_mut(&key) else { return };
        if self.version < wire::RESETS_BEHIND || flow.out.outstanding() == 0 {
            return self.reset(key, code, false, context);
        }
        flow.leaving = Some(code);
        flow.into.phase = Phase::Over;
        if flow.out.phase == Phase::Open {
            flow.out.phase = Phase::Leaving;
        }
        let (size, stream) = (flow.out.fed + flow.out.queued, flow.stream);
        self.give_up_incoming(key);
        let _ = self.connection.recv_stream(stream).stop(VarInt::from_u32(wire::UNREAD));
        Record::ResetAt { stream: key, code: code.number().into(), size }.write(&mut self.records);
        self.dirty = true;
    }

    /// Bytes that were written, and that the peer has not reported as read.
    pub fn undelivered(&self, key: u64) -> u64 {
        self.flows.get(&key).map_or(0, |flow| flow.out.undelivered())
    }

    /// Bytes that a flow takes now.
    pub fn writable(&self, key: u64) -> usize {
        self.flows.get(&key).filter(|flow| flow.out.phase == Phase::Open).map_or(0, |flow| {
            let room = self.budget.room(flow.out.outstanding()).min(self.room_to_wait(flow.out.queued));
            usize::try_from(room).unwrap_or(usize::MAX)
        })
    }

    /// Bytes that a flow of which so many wait may add to them.
    fn room_to_wait(&self, queued: u64) -> u64 {
        self.backlog.room(self.scheduler.len() + usize::from(queued == 0), queued)
    }

    /// Takes as many bytes as there is room for, and leaves the rest.
    pub fn write(&mut self, now: Instant, key: u64, bytes: &mut Bytes) -> usize {
        let room = self.writable(key).min(bytes.len());
        let queued = self.flows.get(&key).map_or(0, |flow| flow.out.queued);
        let full = self.room_to_wait(queued) <= room as u64;
        let Some(flow) = self.flows.get_mut(&key) else { return 0 };
        if room < bytes.len() && flow.out.phase == Phase::Open {
            if full {
                flow.out.full = true;
            } else if !flow.out.blocked {
                flow.out.blocked = true;
                self.blocked.push_back(key);
            }
        }
        if room == 0 {
            return 0;
        }
        flow.out.queue.push_back(bytes.split_to(room));
        flow.out.queued += room as u64;
        self.budget.add(room as u64);
        self.backlog.add(room as u64);
        self.ledger.written += room as u64;
        if !flow.out.waits {
            self.scheduler.wake(now, key, &mut flow.out.turn);
        }
        self.dirty = true;
        room
    }

    /// Nothing more follows.
    pub fn finish(&mut self, now: Instant, key: u64) {
        let Some(flow) = self.flows.get_mut(&key) else { return };
        if flow.out.phase == Phase::Open {
            flow.out.phase = Phase::Ending;
            if !flow.out.waits {
                self.scheduler.wake(now, key, &mut flow.out.turn);
            }
            self.dirty = true;
        }
    }

    /// Gives out bytes in order.
    pub fn read(&mut self, key: u64, most: usize, context: &mut Context<'_>) -> Option<Bytes> {
        let flow = self.flows.get_mut(&key)?;
        let Some(bytes) = flow.into.reassembly.take(most) else {
            flow.into.told = false;
            return None;
        };
        self.was_read(key, bytes.len() as u64, context);
        Some(bytes)
    }

    /// Copies bytes in order, as many as there are and fit; returns how many.
    pub fn read_into(&mut self, key: u64, room: &mut [u8], context: &mut Context<'_>) -> usize {
        let Some(flow) = self.flows.get_mut(&key) else { return 0 };
        let filled = flow.into.reassembly.take_into(room);
        if filled < room.len() {
            flow.into.told = false;
        }
        if filled > 0 {
            self.was_read(key, filled as u64, context);
        }
        filled
    }

    fn was_read(&mut self, key: u64, length: u64, context: &mut Context<'_>) {
        let Some(flow) = self.flows.get_mut(&key) else { return };
        self.held -= length;
        self.ledger.read += length;
        self.unreported_bytes += length;
        if self.unreported.insert(key) {
            // The head was not counted when it was taken.
            self.unreported_bytes += flow.into.reassembly.taken() - length - flow.into.reported;
        }
        if flow.into.reassembly.taken() - flow.into.reported >= self.config.credit / 16 {
            self.report(key);
        } else if self.unreported_bytes >= self.config.memory / 16 {
            self.report_all();
        } else if flow.into.reassembly.taken() - flow.into.reported >= FLOOR / 2 {
            // A peer that is short of memory waits for it.
            self.report_at = self.report_at.or(Some(context.now + REPORTS));
        }
        self.tell_reader(key, context);
    }

    /// Reports to the peer how much of a flow was read.
    pub(super) fn report(&mut self, key: u64) {
        let Some(flow) = self.flows.get_mut(&key) else { return };
        let offset = flow.into.reassembly.taken();
        if self.unreported.remove(&key) {
            self.unreported_bytes -= offset - flow.into.reported;
        }
        flow.into.reported = offset;
        Record::Consumed { stream: key, offset }.write(&mut self.records);
        self.dirty = true;
    }

    pub(super) fn report_all(&mut self) {
        for key in std::mem::take(&mut self.unreported) {
            self.unreported.insert(key);
            self.report(key);
        }
    }

    /// Notifies flows of which enough has left.
    pub fn wake_drained(&mut self, context: &mut Context<'_>) {
        for key in std::mem::take(&mut self.drained) {
            let Some(flow) = self.flows.get_mut(&key) else { continue };
            if std::mem::take(&mut flow.out.full) {
                context.events.push_back(Event::Writable { flow: flow.id });
            }
        }
    }

    /// Notifies flows that wait for room, each in its turn.
    pub(super) fn wake_blocked(&mut self, context: &mut Context<'_>) {
        for _ in 0..self.blocked.len() {
            let Some(key) = self.blocked.pop_front() else { return };
            let Some(flow) = self.flows.get_mut(&key) else { continue };
            if self.budget.room(flow.out.outstanding()) >= self.budget.worth_waking() {
                flow.out.blocked = false;
                context.events.push_back(Event::Writable { flow: flow.id });
            } else {
                self.blocked.push_back(key);
            }
        }
    }
}
