//! Signals that end a program, and those of a terminal (Ctrl-C, Ctrl-\), which belong to the command that was started there.

use crate::Error;
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::iterator::SignalsInfo;
use signal_hook::iterator::exfiltrator::WithRawSiginfo;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicUsize, Ordering};

/// What has come so far.
#[derive(Default, Debug)]
pub struct Signals {
    /// Set by the first signal that is to end the program.
    pub stop: AtomicBool,
    /// The latest of these.
    number: AtomicI32,
    /// How many of these.
    requests: AtomicUsize,
    /// Ctrl-C pressed while a command had the terminal.
    interrupts: AtomicUsize,
    /// A process has asked for the end, and not only a key of the terminal.
    by_process: AtomicBool,
    /// A command has the terminal: what is pressed there is for it.
    lent: AtomicBool,
}

impl Signals {
    /// Takes the signals that end programs, from now on and for good. One that this process was started with ignored (`nohup`) stays
    /// so, if it is SIGHUP.
    ///
    /// # Errors
    /// What the system refuses.
    pub fn watch() -> Result<Arc<Signals>, Error> {
        let failed = |why| Error::system("watch for signals", why);
        let wanted = [SIGINT, SIGQUIT, SIGTERM, SIGHUP];
        let watched = wanted.into_iter().filter(|signal| *signal != SIGHUP || !is_ignored(SIGHUP));
        let mut arriving = SignalsInfo::<WithRawSiginfo>::new(watched).map_err(failed)?;
        let signals = Arc::<Signals>::default();
        let noted = signals.clone();
        std::thread::Builder::new()
            .name("signals".to_string())
            .spawn(move || {
                for arrived in &mut arriving {
                    // The kernel itself sends those of a terminal's keys; others come from processes.
                    noted.arrived(arrived.si_signo, arrived.si_code == libc::SI_KERNEL);
                }
            })
            .map_err(failed)?;
        Ok(signals)
    }

    fn arrived(&self, signal: i32, from_kernel: bool) {
        let of_keys = from_kernel && [SIGINT, SIGQUIT].contains(&signal);
        if of_keys && self.lent.load(Ordering::Relaxed) {
            self.interrupts.fetch_add(usize::from(signal == SIGINT), Ordering::Relaxed);
            return;
        }
        self.by_process.fetch_or(!of_keys, Ordering::Relaxed);
        self.number.store(signal, Ordering::Relaxed);
        self.requests.fetch_add(1, Ordering::Relaxed);
        self.stop.store(true, Ordering::Relaxed);
    }

    /// The latest signal that is to end the program, and how many there were.
    pub fn requests(&self) -> (i32, usize) {
        (self.number.load(Ordering::Relaxed), self.requests.load(Ordering::Relaxed))
    }

    /// Whether a process has asked for the end, and not only a key of the terminal.
    pub fn by_process(&self) -> bool {
        self.by_process.load(Ordering::Relaxed)
    }

    /// How often Ctrl-C was pressed while a command had the terminal.
    pub fn interrupts(&self) -> usize {
        self.interrupts.load(Ordering::Relaxed)
    }

    /// Leaves the keys of the terminal to a command, until the result is dropped.
    pub fn lend_keys(&self) -> Lent<'_> {
        self.lent.store(true, Ordering::Relaxed);
        Lent(self)
    }
}

/// While this is there, the keys of the terminal are a command's.
pub struct Lent<'a>(&'a Signals);

impl Drop for Lent<'_> {
    fn drop(&mut self) {
        self.0.lent.store(false, Ordering::Relaxed);
    }
}

/// Whether this process was started with a signal ignored.
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let set = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    set.and_then(|set| u64::from_str_radix(set.trim(), 16).ok())
        .is_some_and(|set| set >> (signal - 1) & 1 == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_the_command_s_while_it_has_the_terminal_and_nothing_else_is() {
        let signals = Signals::default();
        let lent = signals.lend_keys();
        signals.arrived(SIGINT, true);
        signals.arrived(SIGQUIT, true);
        assert_eq!((signals.interrupts(), signals.requests().1), (1, 0));
        assert!(!signals.stop.load(Ordering::Relaxed));
        // The terminal has gone away: nobody has it any more.
        signals.arrived(SIGHUP, true);
        assert_eq!(signals.requests(), (SIGHUP, 1));
        signals.arrived(SIGINT, false);
        assert_eq!(signals.requests(), (SIGINT, 2));
        drop(lent);
        signals.arrived(SIGINT, true);
        assert_eq!((signals.interrupts(), signals.requests().1), (1, 3));
    }
}
