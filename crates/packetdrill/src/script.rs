//! A script as it was read.

use crate::call::Call;
use crate::packet::Packet;

/// Times in nanoseconds of the script's clock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum When {
    /// `1.5`
    At(i64),
    /// `+0.5`: after the event before.
    After(i64),
    /// `1.0~2.0`
    Between(i64, i64),
    /// `+1.0~+2.0`
    AfterBetween(i64, i64),
    /// `*`
    Any,
}

impl When {
    /// True if it is one point of the script's clock: what follows counts from there, not from when it came to pass.
    pub fn is_anchored(self) -> bool {
        matches!(self, When::At(_) | When::After(_))
    }
}

/// One line of a script, or a few.
#[derive(Clone, Debug)]
pub struct Event {
    pub line: u32,
    pub when: When,
    /// `+0...0.2`: the system call blocks, and returns at this time (as absolute or relative as `when`).
    pub returns: Option<i64>,
    pub action: Action,
}

#[derive(Clone, Debug)]
pub enum Action {
    /// It arrives.
    Inbound(Packet),
    /// It must leave.
    Outbound(Packet),
    Call(Call),
    Shell(String),
    /// Statements of Python.
    Code(String),
    /// Something that no sans-IO TCP connection models, with its name.
    Beyond(String),
}

/// A whole script.
#[derive(Clone, Debug, Default)]
pub struct Script {
    /// `--name=value`, with the line.
    pub options: Vec<(u32, String, String)>,
    /// Commands of the shell before the first event.
    pub setup: Vec<(u32, String)>,
    pub events: Vec<Event>,
}
