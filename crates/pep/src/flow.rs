//! A connection as a state machine without IO: what each direction has taken in and handed on, when it has ended, and how the
//! whole ends. The rule of all rules: an end (FIN) is handed on only behind every byte; whatever falls short is a reset.

use serde::Serialize;

/// From whom to whom bytes go.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Way {
    /// From the client to the server.
    Up,
    /// From the server to the client.
    Down,
}

impl Way {
    /// The opposite one.
    pub fn other(self) -> Way {
        match self {
            Way::Up => Way::Down,
            Way::Down => Way::Up,
        }
    }
}

/// Bytes of a direction: `received = sent + held + lost`, at any time.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Ledger {
    /// Taken from the sender.
    pub received: u64,
    /// Handed to the receiver's side.
    pub sent: u64,
    /// In this node's memory.
    pub held: u64,
    /// Taken and never handed on; the connection was reset.
    pub lost: u64,
    /// Part of `sent` that the receiver had not acknowledged at a reset: it may be lost too.
    pub unacknowledged: u64,
}

impl Ledger {
    /// True if no byte is missing.
    pub fn balances(&self) -> bool {
        self.received == self.sent + self.held + self.lost
    }

    /// Adds another.
    pub fn add(&mut self, other: &Ledger) {
        self.received += other.received;
        self.sent += other.sent;
        self.held += other.held;
        self.lost += other.lost;
        self.unacknowledged += other.unacknowledged;
    }
}

/// How far a direction has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Stage {
    /// Bytes may still come.
    #[default]
    Open,
    /// The sender has ended; bytes are still held.
    Ended,
    /// The end has been handed on.
    Finished,
}

/// One direction.
#[derive(Clone, Copy, Debug, Default)]
pub struct Direction {
    stage: Stage,
    ledger: Ledger,
}

impl Direction {
    /// `n` bytes have been taken from the sender and are held.
    pub fn received(&mut self, n: usize) {
        debug_assert_eq!(self.stage, Stage::Open);
        self.ledger.received += n as u64;
        self.ledger.held += n as u64;
    }

    /// `n` of the held bytes have been handed on.
    pub fn sent(&mut self, n: usize) {
        self.ledger.sent += n as u64;
        self.ledger.held -= n as u64;
    }

    /// The sender has ended.
    pub fn ended(&mut self) {
        if self.stage == Stage::Open {
            self.stage = Stage::Ended;
        }
    }

    /// True if bytes may still come.
    pub fn is_open(&self) -> bool {
        self.stage == Stage::Open
    }

    /// True once: the end is to be handed on now, for nothing is held any more.
    pub fn must_finish(&self) -> bool {
        self.stage == Stage::Ended && self.ledger.held == 0
    }

    /// The end has been handed on.
    pub fn finished(&mut self) {
        debug_assert!(self.must_finish());
        self.stage = Stage::Finished;
    }

    /// True if the end has been handed on.
    pub fn is_finished(&self) -> bool {
        self.stage == Stage::Finished
    }

    /// The connection is reset: what is held is lost, and `unacknowledged` bytes of the receiver's socket may be.
    pub fn abandoned(&mut self, unacknowledged: usize) {
        self.ledger.lost += self.ledger.held;
        self.ledger.held = 0;
        self.ledger.unacknowledged = unacknowledged as u64;
    }

    /// Its bytes.
    pub fn ledger(&self) -> Ledger {
        self.ledger
    }
}

/// How a connection ended.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum End {
    /// Both directions ended, and every byte was acknowledged.
    Complete,
    /// The client reset it.
    ClientReset,
    /// The server reset it.
    ServerReset,
    /// The server refused it.
    Refused,
    /// There was no way to the server, or no answer.
    Unreachable,
    /// It is not allowed to go there.
    Forbidden,
    /// Nothing happened for too long.
    Idle,
    /// The last bytes were not acknowledged in time.
    Unacknowledged,
    /// This node was full.
    Full,
    /// This node stopped.
    Stopped,
    /// The other node or the way to it failed.
    Tunnel,
}

/// What is left to wait for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Waiting {
    /// For bytes in either direction.
    Open,
    /// For bytes in one direction.
    HalfClosed,
    /// For acknowledgements only.
    Closing,
}

/// Both directions.
#[derive(Clone, Copy, Debug, Default)]
pub struct Flow {
    /// From the client to the server.
    pub up: Direction,
    /// From the server to the client.
    pub down: Direction,
}

impl Flow {
    /// One of them.
    pub fn direction(&mut self, way: Way) -> &mut Direction {
        match way {
            Way::Up => &mut self.up,
            Way::Down => &mut self.down,
        }
    }

    /// What there is to wait for.
    pub fn waiting(&self) -> Waiting {
        match (self.up.is_finished(), self.down.is_finished()) {
            (true, true) => Waiting::Closing,
            (false, false) => Waiting::Open,
            _ => Waiting::HalfClosed,
        }
    }

    /// Bytes of both directions.
    pub fn ledger(&self) -> Ledger {
        let mut sum = self.up.ledger();
        sum.add(&self.down.ledger());
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_waits_for_every_byte() {
        let mut direction = Direction::default();
        direction.received(10);
        direction.ended();
        assert!(!direction.must_finish(), "10 bytes are held");
        direction.sent(9);
        assert!(!direction.must_finish(), "one byte is held");
        direction.sent(1);
        assert!(direction.must_finish());
        direction.finished();
        assert!(direction.is_finished() && !direction.must_finish());
    }

    #[test]
    fn a_reset_reports_what_is_lost() {
        let mut direction = Direction::default();
        direction.received(10);
        direction.sent(4);
        direction.abandoned(3);
        let expected = Ledger { received: 10, sent: 4, held: 0, lost: 6, unacknowledged: 3 };
        assert_eq!(direction.ledger(), expected);
        assert!(direction.ledger().balances());
    }

    #[test]
    fn halves_close_by_themselves() {
        let mut flow = Flow::default();
        assert_eq!(flow.waiting(), Waiting::Open);
        flow.up.ended();
        flow.up.finished();
        assert_eq!(flow.waiting(), Waiting::HalfClosed);
        flow.down.received(5);
        assert_eq!(flow.ledger().held, 5);
        flow.down.sent(5);
        flow.down.ended();
        flow.down.finished();
        assert_eq!(flow.waiting(), Waiting::Closing);
    }
}
