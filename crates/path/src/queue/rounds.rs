//! Whose turn it is among queues of flows: deficit round robin in which new flows come first (RFC 8290 sections 4.1 and 4.2).

use std::collections::VecDeque;

/// Where a flow's queue is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum List {
    #[default]
    None,
    New,
    Old,
}

#[derive(Clone, Copy, Debug, Default)]
struct Turn {
    list: List,
    credits: i64,
}

/// The lists of new and old queues.
#[derive(Debug)]
pub(crate) struct Rounds {
    quantum: i64,
    turns: Vec<Turn>,
    new: VecDeque<usize>,
    old: VecDeque<usize>,
}

impl Rounds {
    /// For so many queues, each of which may send `quantum` bytes at each turn.
    pub fn new(queues: usize, quantum: u64) -> Self {
        let turns = vec![Turn::default(); queues];
        Rounds { quantum: quantum as i64, turns, new: VecDeque::new(), old: VecDeque::new() }
    }

    /// A packet has been put into a queue.
    pub fn filled(&mut self, queue: usize) {
        let turn = &mut self.turns[queue];
        if turn.list == List::None {
            *turn = Turn { list: List::New, credits: self.quantum };
            self.new.push_back(queue);
        }
    }

    /// The queue to serve: new ones first; those without credits get some and wait behind the old ones.
    pub fn next(&mut self) -> Option<usize> {
        loop {
            let queue = *self.new.front().or(self.old.front())?;
            let turn = &mut self.turns[queue];
            if turn.credits > 0 {
                return Some(queue);
            }
            turn.credits += self.quantum;
            self.move_behind(queue);
        }
    }

    /// The queue to serve has sent a packet of `len` bytes.
    pub fn sent(&mut self, queue: usize, len: u32) {
        self.turns[queue].credits -= i64::from(len);
    }

    /// The queue to serve had nothing to send. A new one passes through the old ones, or else it could come back as new at once and
    /// starve them.
    pub fn was_empty(&mut self, queue: usize) {
        match self.turns[queue].list {
            List::New => self.move_behind(queue),
            List::Old => {
                self.old.pop_front();
                self.turns[queue].list = List::None;
            }
            List::None => {}
        }
    }

    /// Puts the queue to serve behind the old ones.
    fn move_behind(&mut self, queue: usize) {
        let turn = &mut self.turns[queue];
        match turn.list {
            List::New => self.new.pop_front(),
            _ => self.old.pop_front(),
        };
        turn.list = List::Old;
        self.old.push_back(queue);
    }
}
