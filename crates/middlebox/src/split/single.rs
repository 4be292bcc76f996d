//! A split at one node: for each flow a connection to either host, and data handed from one to the other.
//!
//! Flow control needs no more than TCP has: data stays in the receive buffer of the connection where it came in until the
//! other one can send it, so that the window which the sending host sees closes as the buffer fills.

use super::local::{Broken, Local};
use super::{Counts, Plans, READY_SEGMENTS};
use crate::levels::Levels;
use crate::{Base, Data, Departure, Direction, Middlebox, Passing, Payload, Verdict};
use longhaul_path::Random;
use longhaul_segment::{Ecn, Flags, Segment, SeqNumber};
use longhaul_tcp::{Ports, reset_for};
use longhaul_units::Instant;
use std::collections::VecDeque;

/// A split connection proxy at one node.
pub struct SingleSplit<P: Payload = ()> {
    plans: Plans,
    pairs: Vec<Option<Box<Pair<P>>>>,
    /// Pairs that are to be asked for packets.
    dirty: VecDeque<u32>,
    base: Base<P>,
    counts: Counts,
    /// For initial sequence numbers.
    random: Random,
}

/// The two connections of a flow: to the active opener and to the passive one.
struct Pair<P: Payload> {
    ends: [Local<P>; 2],
    dirty: bool,
    /// Bytes acknowledged to one host and not by the other.
    undelivered: u64,
}

impl<P: Payload> Pair<P> {
    /// Bytes that one end's host has sent and the other has not acknowledged.
    fn undelivered_from(&self, end: usize) -> u64 {
        self.ends[end].connection.received_bytes().saturating_sub(self.ends[1 - end].connection.acked_bytes())
    }

    /// Does what the two connections make possible for each other. True if anything was moved.
    fn settle(&mut self, now: Instant, counts: &mut Counts) -> bool {
        let mut any = false;
        loop {
            let mut moved = false;
            for end in [0, 1] {
                if let Some(broken) = self.ends[end].take_events() {
                    self.break_off(end, broken, counts);
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

    /// One host's connection has ended before its time; so does the other's.
    fn break_off(&mut self, end: usize, broken: Broken, counts: &mut Counts) {
        if self.ends[1 - end].broken {
            return;
        }
        counts.lost_acknowledged_bytes += self.undelivered_from(1 - end);
        if broken == Broken::TimedOut {
            // A host that resets gives up what it had sent; one that is silent does not.
            counts.lost_acknowledged_bytes += self.undelivered_from(end);
        }
        self.ends[1 - end].break_off();
    }

    fn measure(&self) -> u64 {
        if self.ends.iter().any(|end| end.broken) {
            return 0;
        }
        self.undelivered_from(0) + self.undelivered_from(1)
    }
}

impl<P: Payload> SingleSplit<P> {
    /// A split.
    pub fn new(plans: Plans, random: Random) -> Self {
        SingleSplit {
            plans,
            pairs: vec![],
            dirty: VecDeque::new(),
            base: Base::new(Levels::default()),
            counts: Counts::default(),
            random,
        }
    }

    fn pair_for(&mut self, number: u32, direction: Direction, segment: &Segment) -> Option<&mut Pair<P>> {
        let index = number as usize;
        if index >= self.pairs.len() {
            self.pairs.resize_with(index + 1, || None);
        }
        let opens = segment.flags.contains(Flags::SYN) && !segment.flags.contains(Flags::ACK);
        // A late copy of the SYN that opened the last connection opens none.
        let gone = self.pairs[index].as_ref().is_none_or(|pair| {
            pair.ends.iter().all(|end| end.is_over()) && pair.ends[0].syn != Some(segment.seq)
        });
        if gone && direction == Direction::Forward && opens {
            self.retire(index);
            self.pairs[index] = Some(self.open(number, segment));
        } else if self.pairs[index].is_none() {
            self.pairs[index] = self.established(number, direction, segment);
        }
        self.pairs[index].as_deref_mut()
    }

    fn open(&mut self, number: u32, syn: &Segment) -> Box<Pair<P>> {
        let plan = self.plans.of(number);
        let mut isn = || SeqNumber(self.random.bits() as u32);
        let to_client = Ports { local: syn.dst_port, remote: syn.src_port };
        let to_server = Ports { local: syn.src_port, remote: syn.dst_port };
        let mut near = Local::accept(&plan.near, isn(), to_client, Direction::Reverse);
        near.syn = Some(syn.seq);
        let far = Local::connect(&plan.far, isn(), to_server, Direction::Forward);
        Box::new(Pair { ends: [near, far], dirty: false, undelivered: 0 })
    }

    /// The pair of a flow without handshake, at its first packet.
    fn established(&self, number: u32, direction: Direction, segment: &Segment) -> Option<Box<Pair<P>>> {
        let plan = self.plans.of(number);
        let host = plan.established.as_ref()?;
        let (client, server) = match direction {
            Direction::Forward => (segment.src_port, segment.dst_port),
            Direction::Reverse => (segment.dst_port, segment.src_port),
        };
        let to_client = Ports { local: server, remote: client };
        let to_server = Ports { local: client, remote: server };
        let near = Local::established(&plan.near, host, to_client, Direction::Reverse);
        let far = Local::established(&plan.far, host, to_server, Direction::Forward);
        Some(Box::new(Pair { ends: [near, far], dirty: false, undelivered: 0 }))
    }

    /// Forgets a pair, whose connections are closed.
    fn retire(&mut self, index: usize) {
        if let Some(pair) = self.pairs[index].take() {
            for end in &pair.ends {
                self.counts.local_retransmissions += end.connection.stats().retransmitted_segments;
                self.counts.local_timeouts += end.connection.stats().timeouts;
            }
        }
    }

    fn refuse(&mut self, number: u32, direction: Direction, segment: &Segment) {
        if let Some(reset) = reset_for(segment) {
            self.base.outbox.push(number, direction.opposite(), reset, Ecn::NotEct, P::default());
        }
    }

    fn touch(&mut self, now: Instant, number: u32) {
        let SingleSplit { pairs, dirty, counts, .. } = self;
        let Some(Some(pair)) = pairs.get_mut(number as usize) else { return };
        pair.settle(now, counts);
        if !std::mem::replace(&mut pair.dirty, true) {
            dirty.push_back(number);
        }
    }

    fn account(&mut self, now: Instant, index: usize) {
        let Some(pair) = self.pairs[index].as_deref_mut() else { return };
        let undelivered = pair.measure();
        let before = std::mem::replace(&mut pair.undelivered, undelivered);
        self.base.levels.shift(now, [0, before, before], [0, undelivered, undelivered]);
    }
}

impl<P: Payload> Middlebox<P> for SingleSplit<P> {
    fn handle_packet(&mut self, now: Instant, _port: usize, packet: Passing<'_, P>) -> Verdict {
        let Passing { connection: number, direction, ecn, segment, body } = packet;
        if self.base.failed {
            self.refuse(number, direction, segment);
            return Verdict::Taken;
        }
        let Some(pair) = self.pair_for(number, direction, segment) else {
            self.refuse(number, direction, segment);
            return Verdict::Taken;
        };
        let end = &mut pair.ends[direction as usize];
        if end.is_closed() {
            self.refuse(number, direction, segment);
            return Verdict::Taken;
        }
        end.connection.handle_segment(now, segment, *ecn, body);
        self.touch(now, number);
        Verdict::Taken
    }

    fn on_timer(&mut self, now: Instant, owner: usize) {
        let (number, end) = (owner / 2, owner % 2);
        let Some(Some(pair)) = self.pairs.get_mut(number) else { return };
        let local = &mut pair.ends[end];
        match local.poll_timeout() {
            Some(due) if due <= now => {
                local.connection.handle_timeout(now);
                self.touch(now, number as u32);
            }
            due => self.base.timers.set(owner, due),
        }
    }

    fn transmit_into(&mut self, now: Instant, segment: &mut Segment) -> Option<Departure<P>> {
        if let Some(departure) = self.base.outbox.pop_into(segment) {
            return Some(departure);
        }
        while let Some(&number) = self.dirty.front() {
            let index = number as usize;
            if let Some(pair) = self.pairs[index].as_deref_mut() {
                loop {
                    for end in &mut pair.ends {
                        if let Some((ecn, body)) = end.connection.transmit_into(now, segment) {
                            let direction = end.direction;
                            return Some(Departure { port: 0, connection: number, direction, ecn, body });
                        }
                    }
                    if !pair.settle(now, &mut self.counts) {
                        break;
                    }
                }
                pair.dirty = false;
                for (end, local) in pair.ends.iter().enumerate() {
                    self.base.timers.set(2 * index + end, local.poll_timeout());
                }
            }
            self.account(now, index);
            self.dirty.pop_front();
        }
        None
    }

    fn lose_all(&mut self, now: Instant) {
        let lost: u64 = self.pairs.iter().flatten().map(|pair| pair.measure()).sum();
        self.counts.lost_acknowledged_bytes += lost;
        for index in 0..self.pairs.len() {
            self.retire(index);
        }
        self.dirty.clear();
        self.base.levels.undelivered.set(now, 0);
        self.base.levels.bytes.set(now, 0);
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        let ends =
            || self.pairs.iter().flatten().flat_map(|pair| &pair.ends).map(|end| end.connection.stats());
        let retransmissions: u64 = ends().map(|stats| stats.retransmitted_segments).sum();
        let timeouts: u64 = ends().map(|stats| stats.timeouts).sum();
        vec![
            ("local_retransmissions", self.counts.local_retransmissions + retransmissions),
            ("local_timeouts", self.counts.local_timeouts + timeouts),
            ("lost_acknowledged_bytes", self.counts.lost_acknowledged_bytes),
        ]
    }
    fn base(&self) -> &Base<P> {
        &self.base
    }
    fn base_mut(&mut self) -> &mut Base<P> {
        &mut self.base
    }
}
