//! MSS clamping: the MSS option of SYNs that pass is lowered to what fits the path (RFC 9293 section 3.7.1 has the option). Its reverse,
//! raising it, is the asymmetric satellite thesis's cure for an MSS announced from the wrong interface (Coetzee 1999, section 5.4).
//!
//! **Keeps:** everything else. **Breaks:** with `raise`, the receiver's word: only where the way to it really carries such packets.
//!
//! After [`fail`](Middlebox::fail) SYNs pass as they are.

use crate::base::counters;
use crate::levels::Levels;
use crate::{Base, Body, Middlebox, Passing, Verdict};
use longhaul_segment::Flags;
use longhaul_units::Instant;

/// What is done to the MSS option.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Settings {
    /// The MSS in bytes.
    pub mss: u16,
    /// A smaller one is raised to it as well.
    pub raise: bool,
}

counters! {
    struct Counts { changed_options }
}

/// Rewrites the MSS option.
pub struct MssClamp<B> {
    settings: Settings,
    base: Base<B>,
    counts: Counts,
}

impl<B: Body> MssClamp<B> {
    /// With these settings.
    pub fn new(settings: Settings) -> Self {
        MssClamp { settings, base: Base::new(Levels::default()), counts: Counts::default() }
    }
}

impl<B: Body> Middlebox<B> for MssClamp<B> {
    fn handle_packet(&mut self, _now: Instant, _port: usize, packet: Passing<'_, B>) -> Verdict {
        if packet.segment.flags.contains(Flags::SYN) && !self.base.failed {
            if let Some(mss) = &mut packet.segment.options.mss {
                let Settings { mss: wanted, raise } = self.settings;
                if *mss > wanted || (raise && *mss < wanted) {
                    *mss = wanted;
                    self.counts.changed_options += 1;
                }
            }
        }
        Verdict::Forward
    }
    fn counters(&self) -> Vec<(&'static str, u64)> {
        self.counts.list()
    }
    fn base(&self) -> &Base<B> {
        &self.base
    }
    fn base_mut(&mut self) -> &mut Base<B> {
        &mut self.base
    }
}
