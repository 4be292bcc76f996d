//! Logs under systemd: lines to standard error, each with its priority in front (sd-daemon(3)). The journal then filters and
//! colours them, without a protocol and a library of its own, and what is written before the log begins or by a crash is
//! there too.

use std::io::Write;
use std::os::fd::AsFd;
use tracing::{Level, Metadata};
use tracing_subscriber::fmt::MakeWriter;

/// True if standard error is the journal's: `JOURNAL_STREAM` has its device and inode (systemd.exec(5)).
pub fn is_there() -> bool {
    let Ok(named) = std::env::var("JOURNAL_STREAM") else { return false };
    let Ok(own) = nix::sys::stat::fstat(std::io::stderr().as_fd()) else { return false };
    named == format!("{}:{}", own.st_dev, own.st_ino)
}

/// Writes lines with their priority to standard error.
#[derive(Clone, Copy, Debug)]
pub struct Prefixed;

/// One line.
#[derive(Clone, Copy, Debug)]
pub struct Line(u8);

/// The journal's number for a level (syslog(3)).
fn priority(level: Level) -> u8 {
    match level {
        Level::ERROR => 3,
        Level::WARN => 4,
        Level::INFO => 6,
        _ => 7,
    }
}

impl<'a> MakeWriter<'a> for Prefixed {
    type Writer = Line;

    fn make_writer(&'a self) -> Line {
        Line(priority(Level::INFO))
    }

    fn make_writer_for(&'a self, meta: &Metadata<'_>) -> Line {
        Line(priority(*meta.level()))
    }
}

impl Write for Line {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        // One call, so that lines of threads do not mix.
        std::io::stderr().write_all(&prefixed(self.0, bytes))?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        std::io::stderr().flush()
    }
}

/// Every line of a message has the priority.
fn prefixed(priority: u8, bytes: &[u8]) -> Vec<u8> {
    let mut text = vec![];
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        text.extend(format!("<{priority}>").into_bytes());
        text.extend(line);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_has_its_priority() {
        assert_eq!(prefixed(priority(Level::WARN), b"one\ntwo\n"), b"<4>one\n<4>two\n");
        assert_eq!(priority(Level::TRACE), 7);
    }
}
