//! Reads the script language.

use crate::call::{Call, Value};
use crate::packet::{LETTERS, Packet, PacketOptions, ecn_names};
use crate::script::{Action, Event, Script, When};
use longhaul_segment::{Ecn, EcnCounters, EcnOrder, Flags};

/// What is wrong with a script, and in which line.
#[derive(Clone, Debug, PartialEq)]
pub struct SyntaxError {
    pub line: u32,
    pub message: String,
}

type Read<T> = Result<T, SyntaxError>;

/// Reads a script.
///
/// # Errors
/// The first thing that is not of the language, with its line.
pub fn parse(text: &str) -> Read<Script> {
    let mut parser = Parser { text, at: 0, line: 1 };
    let mut script = Script::default();
    loop {
        parser.skip_space(true);
        if !parser.rest().starts_with("--") {
            break;
        }
        let line = parser.line;
        let word = parser.take_while(|c| !c.is_whitespace()).trim_start_matches('-');
        let (name, value) = word.split_once('=').unwrap_or((word, ""));
        script.options.push((line, name.to_string(), value.to_string()));
    }
    loop {
        parser.skip_space(true);
        if parser.rest().is_empty() {
            return Ok(script);
        }
        let line = parser.line;
        if parser.rest().starts_with('`') {
            let command = parser.shell()?;
            // What follows the last event puts things back in order.
            if script.events.is_empty() {
                script.setup.push((line, command));
            }
            continue;
        }
        script.events.push(parser.event()?);
    }
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    line: u32,
}

impl<'a> Parser<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }
    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }
    fn advance(&mut self, bytes: usize) -> &'a str {
        let taken = &self.rest()[..bytes];
        self.line += taken.matches('\n').count() as u32;
        self.at += bytes;
        taken
    }
    fn take_while(&mut self, wanted: impl Fn(char) -> bool) -> &'a str {
        let len = self.rest().find(|c| !wanted(c)).unwrap_or(self.rest().len());
        self.advance(len)
    }
    fn error<T>(&self, message: impl Into<String>) -> Read<T> {
        Err(SyntaxError { line: self.line, message: message.into() })
    }
    /// What stands here, for messages.
    fn here(&self) -> String {
        let line = self.rest().lines().next().unwrap_or("").trim();
        if line.is_empty() { "the end of the line".to_string() } else { format!("`{line}`") }
    }
    /// Blanks and comments; line ends too if `lines`.
    fn skip_space(&mut self, lines: bool) {
        loop {
            self.take_while(|c| c.is_whitespace() && (lines || c != '\n'));
            let rest = self.rest();
            if rest.starts_with("//") {
                self.take_while(|c| c != '\n');
            } else if let Some(comment) = rest.strip_prefix("/*") {
                self.advance(comment.find("*/").map_or(rest.len(), |end| end + 4));
            } else {
                return;
            }
        }
    }
    fn accept(&mut self, token: &str) -> bool {
        let there = self.rest().starts_with(token);
        if there {
            self.advance(token.len());
        }
        there
    }
    fn expect(&mut self, token: &str) -> Read<()> {
        if self.accept(token) {
            return Ok(());
        }
        self.error(format!("`{token}` is expected, not {}", self.here()))
    }

    fn event(&mut self) -> Read<Event> {
        let line = self.line;
        let (when, returns) = self.when()?;
        self.skip_space(false);
        let action = match self.peek() {
            Some('<' | '>') => self.packet()?,
            Some('`') => Action::Shell(self.shell()?),
            Some('%') => Action::Code(self.code()?),
            Some(c) if c.is_ascii_alphabetic() || c == '_' => Action::Call(self.call()?),
            _ => return self.error(format!("an event is expected, not {}", self.here())),
        };
        Ok(Event { line, when, returns, action })
    }

    fn when(&mut self) -> Read<(When, Option<i64>)> {
        if self.accept("*") {
            return Ok((When::Any, None));
        }
        let relative = self.accept("+");
        let start = self.seconds()?;
        let blanks = self.rest().len() - self.rest().trim_start_matches([' ', '\t']).len();
        if self.rest()[blanks..].starts_with("...") {
            self.advance(blanks + 3);
            self.skip_space(false);
            self.accept("+");
            let end = self.seconds()?;
            let when = if relative { When::After(start) } else { When::At(start) };
            return Ok((when, Some(end)));
        }
        let is_range = self.rest()[blanks..].starts_with('~');
        if is_range {
            self.advance(blanks + 1);
            self.skip_space(false);
            self.accept("+");
            let end = self.seconds()?;
            let when = if relative { When::AfterBetween(start, end) } else { When::Between(start, end) };
            return Ok((when, None));
        }
        Ok((if relative { When::After(start) } else { When::At(start) }, None))
    }
    fn seconds(&mut self) -> Read<i64> {
        let rest = self.rest();
        let digits = |text: &str| text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
        let whole = digits(rest);
        let mut len = whole;
        if rest[whole..].starts_with('.') && !rest[whole..].starts_with("..") {
            len += 1 + digits(&rest[whole + 1..]);
        }
        let text = &rest[..len];
        let written = if text.starts_with('.') { format!("0{text}") } else { text.to_string() };
        let Ok(seconds) = written.parse::<f64>() else {
            return self.error(format!("a time in seconds is expected, not {}", self.here()));
        };
        self.advance(len);
        Ok((seconds * 1e9).round() as i64)
    }
    fn shell(&mut self) -> Read<String> {
        self.enclosed("`", "`")
    }
    fn code(&mut self) -> Read<String> {
        self.enclosed("%{", "}%")
    }
    fn enclosed(&mut self, open: &str, close: &str) -> Read<String> {
        self.expect(open)?;
        let Some(len) = self.rest().find(close) else {
            return self.error(format!("`{open}` is never closed by `{close}`"));
        };
        let text = self.advance(len).to_string();
        self.advance(close.len());
        Ok(text)
    }

    // Packets.

    fn packet(&mut self) -> Read<Action> {
        let outbound = self.accept(">");
        if !outbound {
            self.expect("<")?;
        }
        self.skip_space(false);
        let mut packet = Packet::default();
        for (name, ecn) in [
            ("noecn", Ecn::NotEct),
            ("ect01", Ecn::Ect0),
            ("ect0", Ecn::Ect0),
            ("ect1", Ecn::Ect1),
            ("ce", Ecn::Ce),
        ] {
            if self.accept(&format!("[{name}]")) {
                packet.ecn = Some(ecn);
                self.skip_space(false);
            }
        }
        let word = self.rest().split(|c: char| c.is_whitespace()).next().unwrap_or("");
        let others = ["icmp", "icmpv6", "udp", "ipv4", "ipv6", "gre:", "mpls", "psp", "sctp", "(flowlabel"];
        if let Some(other) =
            others.iter().find(|other| word == **other || word.starts_with(&format!("{other}(")))
        {
            let name = other.trim_matches(|c| c == ':' || c == '(');
            self.take_while(|c| c != '\n');
            return Ok(Action::Beyond(format!("{name} packets")));
        }
        if self.peek() == Some('[') {
            let bracket = self.enclosed("[", "]")?;
            self.take_while(|c| c != '\n');
            return Ok(Action::Beyond(format!("packets with [{bracket}]")));
        }
        let flags = self.take_while(|c| !c.is_whitespace());
        for letter in flags.chars().filter(|letter| *letter != '-') {
            match LETTERS.iter().find(|(known, _)| *known == letter) {
                Some((_, bit)) => packet.flags |= *bit,
                // The ACE field as a number (RFC 9768 section 3.2.2).
                None if ('0'..='7').contains(&letter) => {
                    packet.flags |= Flags((letter as u16 - '0' as u16) << 6);
                    packet.ace = true;
                }
                None => return self.error(format!("`{flags}` are no TCP flags")),
            }
        }
        self.skip_space(false);
        packet.seq = self.unsigned("a sequence number")?;
        if self.accept(":") {
            let end = self.unsigned("the end of the segment")?;
            self.expect("(")?;
            packet.len = self.unsigned("the length of the payload")?;
            if end.wrapping_sub(packet.seq) != packet.len {
                return self.error(format!(
                    "{}:{end} is {} bytes long, not {}",
                    packet.seq,
                    end.wrapping_sub(packet.seq),
                    packet.len
                ));
            }
        } else {
            self.expect("(")?;
            packet.len = self.unsigned("the length of the payload")?;
        }
        self.expect(")")?;
        self.skip_space(false);
        if self.accept("ack ") {
            self.skip_space(false);
            packet.ack = Some(self.unsigned("an acknowledgment number")?);
            self.skip_space(false);
        }
        if self.accept("win ") {
            self.skip_space(false);
            let window = self.unsigned("a window")?;
            let Ok(window) = u16::try_from(window) else {
                return self.error(format!("a window field is at most 65535, not {window}"));
            };
            packet.window = Some(window);
            self.skip_space(false);
        }
        if self.accept("urg ") {
            self.take_while(|c| c != '\n');
            return Ok(Action::Beyond("urgent data".to_string()));
        }
        if packet.flags.contains(Flags::URG) {
            self.take_while(|c| c != '\n');
            return Ok(Action::Beyond("urgent data".to_string()));
        }
        let mut options = Some(PacketOptions::default());
        if self.peek() == Some('<') {
            let line = self.line;
            let text = self.enclosed("<", ">")?;
            options = if text.trim() == "..." {
                None
            } else {
                match tcp_options(&text).map_err(|message| SyntaxError { line, message })? {
                    Ok(options) => Some(options),
                    Err(beyond) => {
                        self.take_while(|c| c != '\n');
                        return Ok(Action::Beyond(beyond));
                    }
                }
            };
        }
        packet.options = options;
        self.skip_space(false);
        if self.peek().is_some_and(|c| c != '\n') {
            if self.rest().starts_with("sock(") {
                self.take_while(|c| c != '\n');
                return Ok(Action::Beyond("packets of a named socket".to_string()));
            }
            return self.error(format!("the packet ends before {}", self.here()));
        }
        Ok(if outbound { Action::Outbound(packet) } else { Action::Inbound(packet) })
    }
    fn unsigned(&mut self, what: &str) -> Read<u32> {
        let before = self.here();
        let digits = self.take_while(|c| c.is_ascii_digit());
        match digits.parse() {
            Ok(number) => Ok(number),
            Err(_) => self.error(format!("{what} is expected, not {before}")),
        }
    }

    // System calls.

    fn call(&mut self) -> Read<Call> {
        let name = self.name();
        self.skip_space(false);
        self.expect("(")?;
        let arguments = self.values(")")?;
        self.skip_space(true);
        self.expect("=")?;
        self.skip_space(true);
        let result = self.value()?;
        self.skip_space(false);
        let mut errno = None;
        if self.peek().is_some_and(|c| c.is_ascii_uppercase()) {
            errno = Some(self.name());
            self.skip_space(false);
        }
        if self.peek() == Some('(') {
            self.enclosed("(", ")")?;
        }
        self.skip_space(false);
        if self.peek().is_some_and(|c| c != '\n') {
            return self.error(format!("the system call ends before {}", self.here()));
        }
        Ok(Call { name, arguments, result, errno })
    }
    fn name(&mut self) -> String {
        self.take_while(|c| c.is_ascii_alphanumeric() || c == '_').to_string()
    }
    fn values(&mut self, close: &str) -> Read<Vec<Value>> {
        let mut values = Vec::new();
        loop {
            self.skip_space(true);
            if self.accept(close) {
                return Ok(values);
            }
            values.push(self.value()?);
            self.skip_space(true);
            if !self.accept(",") {
                self.expect(close)?;
                return Ok(values);
            }
        }
    }
    fn value(&mut self) -> Read<Value> {
        self.skip_space(true);
        if self.accept("...") {
            return Ok(Value::Any);
        }
        if self.accept("[") {
            return Ok(Value::List(self.values("]")?));
        }
        if self.accept("{") {
            return Ok(Value::Record(self.values("}")?));
        }
        if self.peek() == Some('"') {
            return Ok(Value::Text(self.enclosed("\"", "\"")?));
        }
        if self.peek().is_some_and(|c| c.is_ascii_digit() || c == '-') {
            let negative = self.accept("-");
            let digits = self.name();
            let number = match digits.strip_prefix("0x") {
                Some(hex) => i64::from_str_radix(hex, 16),
                None => digits.parse(),
            };
            let Ok(number) = number else { return self.error(format!("`{digits}` is no number")) };
            return Ok(Value::Number(if negative { -number } else { number }));
        }
        let mut word = self.name();
        if word.is_empty() {
            return self.error(format!("a value is expected, not {}", self.here()));
        }
        loop {
            self.skip_space(false);
            if self.accept("|") {
                self.skip_space(true);
                word = format!("{word}|{}", self.name());
            } else if self.peek() == Some('(') {
                self.enclosed("(", ")")?;
            } else if self.accept("=") {
                return Ok(Value::Named(word, Box::new(self.value()?)));
            } else {
                return Ok(Value::Word(word));
            }
        }
    }
}

/// The options between `<` and `>`. The inner error names what is beyond the model.
fn tcp_options(text: &str) -> Result<Result<PacketOptions, String>, String> {
    let mut options = PacketOptions::default();
    for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        let words: Vec<&str> = part.split_whitespace().collect();
        let number = |index: usize| -> Result<u32, String> {
            let word: &str = words.get(index).ok_or(format!("`{part}`: a number is missing"))?;
            word.parse().map_err(|_| format!("`{part}`: `{word}` is no number"))
        };
        match words[0] {
            "nop" | "eol" => {}
            "mss" => options.mss = Some(number(1)?.min(65_535) as u16),
            "wscale" => options.window_scale = Some(number(1)?.min(255) as u8),
            "sackOK" => options.sack_permitted = true,
            "TS" if words.get(1) == Some(&"val") && words.get(3) == Some(&"ecr") => {
                options.timestamps = Some((number(2)?, number(4)?));
            }
            "sack" => {
                for block in &words[1..] {
                    let ends =
                        block.split_once(':').and_then(|(a, b)| Some((a.parse().ok()?, b.parse().ok()?)));
                    options.sack.push(ends.ok_or(format!("`{block}` is no SACK block"))?);
                }
            }
            "FO" | "FOEXP" => return Ok(Err("TCP Fast Open".to_string())),
            "ECN" => {
                let order = match words.get(1) {
                    Some(&"e1b") => EcnOrder::Ect1First,
                    _ => EcnOrder::Ect0First,
                };
                let mut counters = Vec::new();
                for (place, name) in ecn_names(order).iter().enumerate().take(words.len() / 2) {
                    if words.get(1 + 2 * place) != Some(name) {
                        return Err(format!("`{part}`: `{name}` is expected in place {}", place + 1));
                    }
                    counters.push(number(2 + 2 * place)?);
                }
                options.ecn = Some(EcnCounters::new(order, &counters));
            }
            "md5" | "ao" | "mp_capable" | "exp-fastopen" => {
                return Ok(Err(format!("the TCP option {}", words[0])));
            }
            other => return Ok(Err(format!("the TCP option {other}"))),
        }
    }
    Ok(Ok(options))
}
