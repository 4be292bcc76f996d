//! The terminal that the emulator was started at, while a command has it.

use crate::sys;
use nix::sys::signal::{SigSet, Signal};
use nix::sys::termios::{LocalFlags, SetArg, Termios, tcgetattr, tcsetattr};
use nix::unistd::{Pid, getpgrp, tcgetpgrp, tcsetpgrp};
use std::fs::{File, OpenOptions};
use std::io::IsTerminal;
use std::os::fd::AsRawFd;

/// Columns of a terminal; `None` if it is none.
pub fn columns(terminal: impl IsTerminal + AsRawFd) -> Option<usize> {
    if terminal.is_terminal() { sys::columns(&terminal) } else { None }
}

/// The terminal, and how it was.
pub(crate) struct Terminal {
    device: File,
    modes: Termios,
    /// The processes that had its keys: the emulator among them.
    foreground: Pid,
}

impl Terminal {
    /// The terminal of this process, if it has one and its keys reach this process.
    pub fn open() -> Option<Terminal> {
        let device = OpenOptions::new().read(true).write(true).open("/dev/tty").ok()?;
        let foreground = tcgetpgrp(&device).ok().filter(|group| *group == getpgrp())?;
        let modes = tcgetattr(&device).ok()?;
        Some(Terminal { device, modes, foreground })
    }

    /// A program edits a line there, as shells do at their prompt: it is not the terminal that gives it whole lines.
    pub fn is_at_prompt(&self) -> bool {
        tcgetattr(&self.device).is_ok_and(|modes| !modes.local_flags.contains(LocalFlags::ICANON))
    }

    /// Gives its keys back to whoever had them before, and, if a signal has ended the command that had it, its modes: programs that
    /// draw leave it as it was only when they end by themselves.
    pub fn restore(&self, killed: bool) {
        // Who is in the background may write to a terminal's settings only with this signal blocked.
        let mut of_background = SigSet::empty();
        of_background.add(Signal::SIGTTOU);
        let blocked = of_background.thread_block();
        let _ = tcsetpgrp(&self.device, self.foreground);
        if killed {
            let _ = tcsetattr(&self.device, SetArg::TCSADRAIN, &self.modes);
        }
        if blocked.is_ok() {
            let _ = of_background.thread_unblock();
        }
    }
}
