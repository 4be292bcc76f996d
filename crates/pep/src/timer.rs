//! A timer with the kernel's resolution; the runtime's own is a millisecond, too coarse for pacing.

use nix::sys::time::TimeSpec;
use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};

/// A time as the runtime and the sockets take it.
pub(crate) fn std_time(time: longhaul_units::Duration) -> std::time::Duration {
    std::time::Duration::from_nanos(time.as_nanos())
}

/// A timer that the runtime can wait for; its resolution is the kernel's, not the runtime's millisecond.
pub(crate) struct Timer(TimerFd);

impl AsRawFd for Timer {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_fd().as_raw_fd()
    }
}

impl AsFd for Timer {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl Timer {
    pub fn new() -> nix::Result<Timer> {
        let flags = TimerFlags::TFD_NONBLOCK | TimerFlags::TFD_CLOEXEC;
        Ok(Timer(TimerFd::new(ClockId::CLOCK_MONOTONIC, flags)?))
    }

    /// Fires once, so many nanoseconds from now; never for `None`.
    pub fn set(&self, nanos: Option<u64>) -> nix::Result<()> {
        match nanos {
            None => self.0.unset(),
            Some(nanos) => {
                let time = TimeSpec::from_duration(std::time::Duration::from_nanos(nanos.max(1)));
                self.0.set(Expiration::OneShot(time), TimerSetTimeFlags::empty())
            }
        }
    }
}
