//! MSS clamping: the MSS option of SYNs that pass is lowered to what fits the path (RFC 9293 section 3.7.1 has the option). Its reverse,
//! raising it, is the asymmetric satellite thesis's cure for an MSS announced from the wrong interface (Coetzee 1999, section 5.4).
//!
//! **Keeps:** everything else. **Breaks:** with `raise`, the receiver's word: only where the way to it really carries such packets.
//!
//! After [`fail`](Middlebox::fail) SYNs pass as they are.

use crate::levels::Levels;
use crate::{Body, Departure, Middlebox, Passing, Verdict};
use longhaul_segment::{Flags, Segment};
use longhaul_units::Instant;

/// What is done to the MSS option.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Settings {
    /// The MSS in bytes.
    pub mss: u16,
    /// A smaller one is raised to it as well.
    pub raise: bool,
}

/// Rewrites the MSS option.
pub struct MssClamp {
    settings: Settings,
    levels: Levels,
    changed: u64,
    failed: bool,
}

impl MssClamp {
    /// With these settings.
    pub fn new(settings: Settings) -> Self {
        MssClamp { settings, levels: Levels::default(), changed: 0, failed: false }
    }
}

impl<B: Body> Middlebox<B> for MssClamp {
    fn handle_packet(&mut self, _now: Instant, _port: usize, packet: Passing<'_, B>) -> Verdict {
        if packet.segment.flags.contains(Flags::SYN) && !self.failed {
            if let Some(mss) = &mut packet.segment.options.mss {
                let Settings { mss: wanted, raise } = self.settings;
                if *mss > wanted || (raise && *mss < wanted) {
                    *mss = wanted;
                    self.changed += 1;
                }
            }
        }
        Verdict::Forward
    }
    fn handle_timeout(&mut self, _now: Instant) {}
    fn poll_timeout(&self) -> Option<Instant> {
        None
    }
    fn transmit_into(&mut self, _now: Instant, _segment: &mut Segment) -> Option<Departure<B>> {
        None
    }
    fn fail(&mut self, _now: Instant) {
        self.failed = true;
    }
    fn counters(&self) -> Vec<(&'static str, u64)> {
        vec![("changed_options", self.changed)]
    }
    fn levels(&self) -> &Levels {
        &self.levels
    }
    fn begin_measuring(&mut self, now: Instant) {
        self.levels.restart(now);
    }
}
