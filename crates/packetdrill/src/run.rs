//! Runs a script: events in order, in virtual time.

use crate::call::{Call, Value};
use crate::host::{self, Answer, Host, Sent};
use crate::options::{Options, Settings};
use crate::packet::Packet;
use crate::parser;
use crate::python::{self, Problem};
use crate::script::{Action, Event, Script, When};
use crate::shell::Machine;
use crate::tcp_info;
use longhaul_segment::{Flags, Segment};
use longhaul_units::Instant;
use std::path::Path;

/// How a script went.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// All that it states came to pass.
    Passed,
    /// Something did not: line and message, with expected and actual.
    Failed(u32, String),
    /// It states what a TCP connection without kernel and network does not have: line and reason.
    OutOfScope(u32, String),
    /// It is no script: line and message.
    Unreadable(u32, String),
}

/// A script's file and how it went.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// The file, as it was named.
    pub name: String,
    /// How it went.
    pub verdict: Verdict,
}

impl Outcome {
    /// One line: file, line, message.
    pub fn message(&self) -> String {
        match &self.verdict {
            Verdict::Passed => format!("{}: passed", self.name),
            Verdict::Failed(line, message) => format!("{}:{line}: {message}", self.name),
            Verdict::OutOfScope(line, reason) => format!("{}:{line}: out of scope: {reason}", self.name),
            Verdict::Unreadable(line, message) => format!("{}:{line}: {message}", self.name),
        }
    }
}

/// Runs the script in this file. `tolerance_usecs` is the tolerance of times in place of packetdrill's 4 ms.
pub fn run_file(path: &Path, tolerance_usecs: Option<i64>) -> Outcome {
    let name = path.display().to_string();
    let folder = path.parent().unwrap_or(Path::new("."));
    let verdict = match std::fs::read_to_string(path) {
        Ok(text) => run_text(&text, folder, tolerance_usecs),
        Err(error) => Verdict::Unreadable(0, format!("the file cannot be read: {error}")),
    };
    Outcome { name, verdict }
}

/// Runs a script; the files that its preamble names are looked for from `folder`.
pub fn run_text(text: &str, folder: &Path, tolerance_usecs: Option<i64>) -> Verdict {
    let script = match parser::parse(text) {
        Ok(script) => script,
        Err(error) => return Verdict::Unreadable(error.line, error.message),
    };
    match prepare(&script, folder, tolerance_usecs).and_then(|mut run| run.events(&script.events)) {
        Ok(()) => Verdict::Passed,
        Err(verdict) => verdict,
    }
}

type Step = Result<(), Verdict>;

/// Whether the script is within scope, and what it begins with.
fn prepare(script: &Script, folder: &Path, tolerance_usecs: Option<i64>) -> Result<Run, Verdict> {
    let mut machine = Machine::default();
    for (line, commands) in &script.setup {
        machine.execute(commands, folder).map_err(|reason| Verdict::OutOfScope(*line, reason))?;
    }
    let line = script.setup.first().map_or(1, |(line, _)| *line);
    let settings = Settings::of_machine(&machine).map_err(|reason| Verdict::OutOfScope(line, reason))?;
    let options =
        Options::of_script(script, tolerance_usecs).map_err(|reason| Verdict::OutOfScope(1, reason))?;
    for event in &script.events {
        let reason = match &event.action {
            Action::Beyond(reason) => Some(reason.clone()),
            Action::Call(call) => host::beyond(call),
            Action::Inbound(packet) if packet.flags.contains(Flags::SYN) && packet.len > 0 => {
                Some("TCP Fast Open (data with a SYN)".to_string())
            }
            Action::Shell(command) => machine.clone().execute(command, folder).err(),
            _ => None,
        };
        if let Some(reason) = reason {
            return Err(Verdict::OutOfScope(event.line, reason));
        }
    }
    let folder = folder.to_path_buf();
    Ok(Run {
        host: Host::new(settings, options.received_mss),
        options,
        machine,
        folder,
        origin: 0,
        last: None,
        pending: None,
        variables: python::Variables::new(),
        line: 0,
    })
}

/// A system call that blocks.
struct Pending {
    line: u32,
    call: Call,
    due: i64,
    started: i64,
}

struct Run {
    host: Host,
    options: Options,
    machine: Machine,
    folder: std::path::PathBuf,
    /// What relative times of the current event count from.
    origin: i64,
    /// The event before, and its time.
    last: Option<(When, i64)>,
    pending: Option<Pending>,
    variables: python::Variables,
    line: u32,
}

fn instant(nanos: i64) -> Instant {
    Instant::from_nanos(nanos.max(0) as u64)
}
fn nanos(at: Instant) -> i64 {
    at.as_nanos().min(i64::MAX as u64) as i64
}
fn seconds(nanos: i64) -> String {
    format!("{:.6}", nanos as f64 / 1e9)
}

impl Run {
    fn fail<T>(&self, message: String) -> Result<T, Verdict> {
        Err(Verdict::Failed(self.line, message))
    }

    fn events(&mut self, events: &[Event]) -> Step {
        for event in events {
            self.line = event.line;
            let (from, to) = self.times(event);
            self.carry_out(event, from, to)?;
            if self.host.stuck {
                return self
                    .fail("a timer of the connection goes off again and again at the same time".to_string());
            }
            self.last = Some((event.when, from));
        }
        match self.pending.as_ref().map(|pending| pending.due) {
            Some(_) => self.finish_call(),
            None => Ok(()),
        }
    }

    /// When the event is to happen, on the script's clock.
    fn times(&mut self, event: &Event) -> (i64, i64) {
        let now = nanos(self.host.now);
        self.origin = match (self.last, event.when) {
            (_, When::At(_) | When::Between(..)) => 0,
            (Some((last, at)), when) if last.is_anchored() && when.is_anchored() => at,
            _ => now,
        };
        match event.when {
            When::At(at) => (at, at),
            When::After(wait) => (self.origin + wait, self.origin + wait),
            When::Between(from, to) => (from, to),
            When::AfterBetween(from, to) => (self.origin + from, self.origin + to),
            When::Any => (self.origin, i64::MAX / 4),
        }
    }
    /// How far from its time an event may be.
    fn tolerance(&self, from: i64) -> i64 {
        let since = from - self.last.map_or(0, |(_, at)| at);
        self.options.tolerance.max((since as f64 * self.options.tolerance_share) as i64)
    }

    fn carry_out(&mut self, event: &Event, from: i64, to: i64) -> Step {
        match &event.action {
            Action::Outbound(packet) => return self.expect_packet(packet, from, to),
            Action::Beyond(reason) => return Err(Verdict::OutOfScope(event.line, reason.clone())),
            Action::Inbound(_) | Action::Call(_) | Action::Shell(_) | Action::Code(_) => {}
        }
        if event.when != When::Any {
            self.wait_until(from)?;
        }
        match &event.action {
            Action::Inbound(packet) => {
                self.host.arrive(packet).map_err(|reason| Verdict::OutOfScope(event.line, reason))?;
                self.try_pending()
            }
            Action::Call(call) => {
                let due = event
                    .returns
                    .map(|end| if let When::After(_) = event.when { self.origin + end } else { end });
                self.call(call, due)
            }
            Action::Shell(command) => {
                let beyond = |reason| Verdict::OutOfScope(event.line, reason);
                self.machine.execute(command, &self.folder).map_err(beyond)?;
                self.host.set_defaults(Settings::of_machine(&self.machine).map_err(beyond)?);
                // This one is looked up for each segment that leaves.
                let option = self.host.defaults().accurate_ecn_option;
                for peer in &mut self.host.peers {
                    peer.connection.set_accurate_ecn_option(option);
                }
                Ok(())
            }
            Action::Code(code) => self.code(code),
            Action::Outbound(_) | Action::Beyond(_) => Ok(()),
        }
    }

    /// Lets time pass; a blocked call may return meanwhile.
    fn wait_until(&mut self, at: i64) -> Step {
        while self.pending.is_some() {
            let Some(next) = self.host.next_timer().filter(|next| nanos(*next) <= at) else { break };
            self.host.advance(next);
            self.try_pending()?;
            if self.host.stuck {
                return Ok(());
            }
        }
        self.host.advance(instant(at));
        Ok(())
    }

    // System calls.

    fn call(&mut self, call: &Call, due: Option<i64>) -> Step {
        if self.pending.is_some() {
            self.finish_call()?;
        }
        let result = self.host.call(call, false);
        match (result, due) {
            (Answer::Blocks, Some(due)) => {
                let started = nanos(self.host.now);
                self.pending = Some(Pending { line: self.line, call: call.clone(), due, started });
                Ok(())
            }
            (Answer::Blocks, None) => self.fail(format!("{} blocks; expected {}", call.name, stated(call))),
            (result, due) => {
                self.check_result(call, &result)?;
                self.check_return(call, due, nanos(self.host.now), nanos(self.host.now))
            }
        }
    }
    fn try_pending(&mut self) -> Step {
        let Some(pending) = self.pending.take() else { return Ok(()) };
        let result = self.host.call(&pending.call, true);
        if result == Answer::Blocks {
            self.pending = Some(pending);
            return Ok(());
        }
        let line = std::mem::replace(&mut self.line, pending.line);
        self.check_result(&pending.call, &result)?;
        self.check_return(&pending.call, Some(pending.due), nanos(self.host.now), pending.started)?;
        self.line = line;
        Ok(())
    }
    /// No event is left that could end the blocked call but timers.
    fn finish_call(&mut self) -> Step {
        while let Some(pending) = &self.pending {
            let line = pending.line;
            let latest = pending.due + self.options.tolerance;
            match self.host.next_timer().filter(|next| nanos(*next) <= latest) {
                Some(next) => self.host.advance(next),
                None => {
                    let text = format!(
                        "{} does not return; expected {} at {} s",
                        pending.call.name,
                        stated(&pending.call),
                        seconds(pending.due)
                    );
                    return Err(Verdict::Failed(line, text));
                }
            }
            self.try_pending()?;
        }
        Ok(())
    }
    fn check_return(&self, call: &Call, due: Option<i64>, now: i64, started: i64) -> Step {
        let Some(due) = due else { return Ok(()) };
        let share = ((due - started) as f64 * self.options.tolerance_share) as i64;
        if (now - due).abs() <= self.options.tolerance.max(share) {
            return Ok(());
        }
        self.fail(format!("{} returns at {} s; expected at {} s", call.name, seconds(now), seconds(due)))
    }
    fn check_result(&self, call: &Call, result: &Answer) -> Step {
        let text = match result {
            Answer::Beyond(reason) => return Err(Verdict::OutOfScope(self.line, reason.clone())),
            Answer::Differs(expected, actual) => {
                return self.fail(format!("{} gives {actual}; expected {expected}", call.name));
            }
            Answer::Value(value) => {
                if call.result == Value::Any || call.result.number() == Some(*value) {
                    return Ok(());
                }
                value.to_string()
            }
            Answer::Error(errno) => {
                let right = call.result.number() == Some(-1)
                    && call.errno.as_deref().is_none_or(|name| name == *errno);
                if right {
                    return Ok(());
                }
                format!("-1 {errno}")
            }
            Answer::Blocks => "nothing: it blocks".to_string(),
        };
        self.fail(format!("{} returns {text}; expected {}", call.name, stated(call)))
    }

    // Assertions.

    fn code(&mut self, code: &str) -> Step {
        let now = self.host.now;
        let Some(peer) = self.host.peers.last() else {
            return Err(Verdict::OutOfScope(
                self.line,
                "assertions before there is a connection".to_string(),
            ));
        };
        python::execute(code, &mut self.variables, &mut |name| tcp_info::value(peer, now, name)).map_err(
            |problem| match problem {
                Problem::Wrong(message) => Verdict::Failed(self.line, message),
                Problem::Beyond(reason) => Verdict::OutOfScope(self.line, reason),
            },
        )
    }

    // Packets that leave.

    /// The next packet must be this one. Several segments in a row count as one packet of their common length, as
    /// segmentation offload makes them.
    fn expect_packet(&mut self, expected: &Packet, from: i64, to: i64) -> Step {
        let tolerance = self.tolerance(from);
        let first = self.next_sent(expected, from, to, to.saturating_add(tolerance))?;
        let mut whole = first.segment;
        let mut count = 1;
        while whole.payload_len < expected.len && whole.payload_len > 0 && !self.options.strict_segments {
            let missing = expected.len - whole.payload_len;
            let next = self.next_sent(expected, from, to, to.saturating_add(tolerance))?;
            if next.segment.payload_len == 0 || next.segment.seq != whole.seq + whole.payload_len {
                let actual = self.shown(&next);
                let beginning = self.shown(&Sent { segment: whole, ..first });
                return self.fail(format!("expected > {expected}; actual > {beginning}, then > {actual}"));
            }
            if next.segment.payload_len > missing {
                let actual = self.shown(&next);
                return self.fail(format!("expected > {expected}; actual: its last segment is > {actual}"));
            }
            whole.payload_len += next.segment.payload_len;
            whole.flags |= next.segment.flags;
            count += 1;
        }
        let peer = &mut self.host.peers[first.peer];
        if expected.flags.contains(Flags::SYN) && peer.local_isn.is_none() {
            peer.local_isn = Some(expected.seq);
        }
        let actual = peer.script_packet(&whole, first.ecn);
        if let (Some(Some((script, _))), Some(ours)) =
            (expected.options.as_ref().map(|options| options.timestamps), whole.options.timestamps)
        {
            peer.match_stamp(script, ours.value);
        }
        let at = nanos(first.at);
        if let Some(difference) = self.difference(expected, &actual, count, &whole, at) {
            return self.fail(format!(
                "{difference}: expected > {expected}; actual > {actual} at {} s",
                seconds(at)
            ));
        }
        if at < from - tolerance || at > to.saturating_add(tolerance) {
            let when =
                if from == to { seconds(from) } else { format!("{} to {}", seconds(from), seconds(to)) };
            return self
                .fail(format!("> {expected} is expected at {when} s and leaves at {} s", seconds(at)));
        }
        Ok(())
    }

    /// The next segment that leaves; time passes until then, but not beyond `latest`.
    fn next_sent(&mut self, expected: &Packet, from: i64, to: i64, latest: i64) -> Result<Sent, Verdict> {
        loop {
            if let Some(sent) = self.host.sent.pop_front() {
                return Ok(sent);
            }
            // Time may have passed this by already, when the event before came late.
            match self.host.next_timer().filter(|next| nanos(*next) <= latest) {
                Some(next) if !self.host.stuck => self.host.advance(next),
                _ => {
                    let when = if from == to {
                        seconds(from)
                    } else {
                        format!("{} to {}", seconds(from), seconds(to))
                    };
                    let next = self.host.next_timer().map_or("no timer runs".to_string(), |next| {
                        format!("the next timer is due at {} s", seconds(nanos(next)))
                    });
                    return self
                        .fail(format!("> {expected} is expected at {when} s; nothing leaves, and {next}"));
                }
            }
            self.try_pending()?;
        }
    }
    fn shown(&mut self, sent: &Sent) -> String {
        let packet = self.host.peers[sent.peer].script_packet(&sent.segment, sent.ecn);
        format!("{packet} at {} s", seconds(nanos(sent.at)))
    }

    /// What of the packet is not as expected, if anything.
    fn difference(
        &self,
        expected: &Packet,
        actual: &Packet,
        segments: u32,
        segment: &Segment,
        at: i64,
    ) -> Option<&'static str> {
        // Segmentation offload marks its packets with PSH, wherever in what was written they end; so the last of their segments
        // may have it. Here it stands at the end of what was written.
        let room = self.host.peers.last().map_or(u32::MAX, |peer| {
            // Beside timestamps, which the MSS leaves room for.
            let stamps = if segment.options.timestamps.is_some() { 12 } else { 0 };
            (peer.connection.effective_mss() + stamps).saturating_sub(segment.options.wire_len())
        });
        let full = expected.len >= room;
        let offload = segments > 1 || (full && !actual.flags.contains(Flags::PSH));
        let compared = if offload { Flags(!Flags::PSH.0) } else { Flags::ALL };
        if expected.flags.0 & compared.0 != actual.flags.0 & compared.0 {
            return Some("the flags differ");
        }
        if expected.seq != actual.seq {
            return Some("the sequence number differs");
        }
        if expected.len != actual.len {
            return Some("the length differs");
        }
        if expected.ack.unwrap_or(0) != actual.ack.unwrap_or(0) {
            return Some("the acknowledgment number differs");
        }
        if expected.window.is_some() && expected.window != actual.window {
            return Some("the window differs");
        }
        if expected.ecn.is_some() && expected.ecn != actual.ecn {
            return Some("the ECN field differs");
        }
        let (wanted, given) = (expected.options.as_ref()?, actual.options.as_ref()?);
        if wanted.mss != given.mss {
            return Some("the MSS option differs");
        }
        if wanted.window_scale != given.window_scale {
            return Some("the window scale differs");
        }
        if wanted.sack_permitted != given.sack_permitted {
            return Some("the SACK-permitted option differs");
        }
        if wanted.ecn != given.ecn {
            return Some("the AccECN option differs");
        }
        if wanted.sack != given.sack {
            return Some("the SACK blocks differ");
        }
        match (wanted.timestamps, segment.options.timestamps) {
            (None, None) => None,
            (Some((script, _)), Some(ours)) => {
                let tick = self.options.timestamp_tick?;
                let peer = self.host.peers.last()?;
                let (first_script, first_ours) = peer.first_stamp()?;
                let meant = script.wrapping_sub(first_script) as i32;
                let passed = ours.value.wrapping_sub(first_ours) as i32;
                let tolerance = self.options.tolerance.max((at as f64 * self.options.tolerance_share) as i64);
                let off = i64::from(meant.wrapping_sub(passed)).abs() * tick;
                (off > tolerance).then_some("the timestamp differs")
            }
            _ => Some("the timestamps option differs"),
        }
    }
}

/// The result that the script states.
fn stated(call: &Call) -> String {
    match &call.errno {
        Some(errno) => format!("{} {errno}", call.result),
        None => call.result.to_string(),
    }
}
