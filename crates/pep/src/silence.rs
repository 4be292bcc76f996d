//! A tunnel that does not answer: new connections pass untouched from some seconds on, and are accelerated again once it has answered for
//! as long. Without a clock of its own.

use std::time::{Duration, Instant};

/// Whether new connections pass because the tunnel is silent.
#[derive(Debug, Default)]
pub(crate) struct Silence {
    passing: bool,
    answers_since: Option<Instant>,
}

impl Silence {
    /// The tunnel is silent now, or not. It has to answer for `hold` before it is trusted again, so that a link which falters does
    /// not change the rules with each packet. True while new connections are to pass.
    pub fn look(&mut self, now: Instant, silent: bool, hold: Duration) -> bool {
        if silent {
            (self.passing, self.answers_since) = (true, None);
        } else if self.passing {
            let since = *self.answers_since.get_or_insert(now);
            if now.duration_since(since) >= hold {
                *self = Silence::default();
            }
        }
        self.passing
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tunnel_that_answers_now_and_then_is_not_trusted() {
        let (begin, hold) = (Instant::now(), Duration::from_secs(5));
        let mut silence = Silence::default();
        let mut look = |second: u64, silent| silence.look(begin + Duration::from_secs(second), silent, hold);
        assert!(!look(0, false));
        assert!(look(1, true));
        assert!(look(2, false) && look(6, false), "it has answered for 4 s");
        assert!(look(7, true));
        assert!(look(8, false) && look(12, false));
        assert!(!look(13, false));
        assert!(!look(14, false));
    }
}
