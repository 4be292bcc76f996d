//! ACK congestion control at the sender of data (RFC 5690 sections 4.4 and 4.5): it finds out that pure ACKs are lost or marked,
//! and sets the ACK Ratio R, the number of segments for which the peer is to send one ACK.

use std::num::NonZeroU8;

/// The ACK Ratio of both ends before any option was sent, and the least (RFC 5690 sections 4.1 and 4.5).
pub(crate) const INITIAL_RATIO: u32 = 2;
/// K of section 4.5: so many ACKs for a window of data at the least.
const ACKS_PER_WINDOW: u64 = 2;
/// A missing ACK is lost once so many later ones have come: "a parallel mechanism to the DupACK threshold" (section 5.4).
const REORDERING: u32 = 3;

/// What an ACK looks like to the control.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen {
    /// The acknowledgment number, as an offset in the stream.
    pub ack: u64,
    /// Bytes that it newly acknowledges, without a FIN.
    pub advanced: u64,
    /// A pure ACK, with no loss of data before it or after: the number of ACKs sent follows from what it acknowledges.
    pub regular: bool,
    /// A pure ACK that arrived with congestion experienced (RFC 3168).
    pub marked: bool,
    /// Bytes that can be in flight.
    pub window: u64,
    /// Payload of a full segment.
    pub mss: u64,
}

/// A ratio that the peer does not use yet.
#[derive(Clone, Copy, Debug)]
struct Change {
    ratio: u32,
    /// Offset of the first byte of the data that carry it; none while it waits for data to be sent.
    carried_by: Option<u64>,
}

/// A pure ACK that did not come.
#[derive(Clone, Copy, Debug)]
struct Missing {
    /// It had a number between these two.
    after: u64,
    before: u64,
    later_acks: u32,
}

#[derive(Clone, Debug)]
pub(crate) struct AckCongestion {
    /// R of the peer, as far as its ACKs show.
    ratio: u32,
    change: Option<Change>,
    missing: Option<Missing>,
    /// Congestion was found while an earlier change was under way.
    doubling_due: bool,
    /// Bytes that are to be acknowledged without congestion of ACKs before R falls by one.
    until_decrease: u64,
}

impl AckCongestion {
    pub fn new() -> Self {
        AckCongestion {
            ratio: INITIAL_RATIO,
            change: None,
            missing: None,
            doubling_due: false,
            until_decrease: u64::MAX,
        }
    }

    /// R that the peer uses.
    pub fn ratio(&self) -> u32 {
        self.ratio
    }
    /// The option that the next new data carry.
    pub fn due(&self) -> Option<NonZeroU8> {
        self.change.filter(|change| change.carried_by.is_none()).and_then(Change::option)
    }
    /// New data from `start` on carry the option.
    pub fn sent(&mut self, start: u64) {
        if let Some(change) = &mut self.change {
            change.carried_by.get_or_insert(start);
        }
    }
    /// The option that a retransmission of `[start, end)` carries again.
    pub fn repeated(&self, start: u64, end: u64) -> Option<NonZeroU8> {
        let carried = |change: &Change| change.carried_by.is_some_and(|at| start <= at && at < end);
        self.change.filter(carried).and_then(Change::option)
    }
    /// An option has been sent, and not acknowledged.
    pub fn is_under_way(&self) -> bool {
        self.change.is_some_and(|change| change.carried_by.is_some())
    }

    /// An ACK that advances, or one that is marked. True if ACKs met congestion: once for all of one window.
    pub fn on_ack(&mut self, seen: &Seen) -> bool {
        let most = self.most_segments(seen.ack);
        let raising = self.change.is_some_and(|change| change.ratio > self.ratio);
        self.take_effect(seen);
        let lost = self.look_for_loss(seen, most, raising);
        let congested = (lost || seen.marked) && !raising && !self.doubling_due;
        if congested {
            self.doubling_due = true;
        } else if !lost && !seen.marked {
            self.until_decrease = self.until_decrease.saturating_sub(seen.advanced);
        }
        if self.change.is_none_or(|change| change.carried_by.is_none()) {
            self.decide(seen);
        }
        congested
    }

    /// An ACK below what is acknowledged: it was overtaken, and not lost.
    pub fn on_overtaken(&mut self, ack: u64) {
        self.missing = self.missing.filter(|missing| !(missing.after < ack && ack < missing.before));
    }

    /// How many segments one ACK can cover if none is missing: an ACK of what carried the option may still go by the old ratio.
    fn most_segments(&self, ack: u64) -> u32 {
        match self.change {
            Some(Change { ratio, carried_by: Some(at) }) if ack > at => self.ratio.max(ratio),
            _ => self.ratio,
        }
    }

    /// Data are delivered reliably, and so is the option that they carry.
    fn take_effect(&mut self, seen: &Seen) {
        if let Some(Change { ratio, carried_by: Some(at) }) = self.change {
            if seen.ack > at {
                self.ratio = ratio;
                self.change = None;
                self.count_anew(seen);
            }
        }
    }

    /// Section 4.4: more than R segments acknowledged at once. Not while R rises, when it is not known which R the peer goes by.
    fn look_for_loss(&mut self, seen: &Seen, most: u32, raising: bool) -> bool {
        if !seen.regular || raising {
            self.missing = None;
            return false;
        }
        if let Some(missing) = &mut self.missing {
            missing.later_acks += 1;
            let lost = missing.later_acks >= REORDERING;
            if lost {
                self.missing = None;
            }
            return lost;
        }
        if seen.advanced > u64::from(most) * seen.mss {
            self.missing = Some(Missing { after: seen.ack - seen.advanced, before: seen.ack, later_acks: 0 });
        }
        false
    }

    /// Section 4.5: doubled for congestion, within bounds, or less by one.
    fn decide(&mut self, seen: &Seen) {
        let most = largest_ratio(seen.window, seen.mss);
        let wanted = if std::mem::take(&mut self.doubling_due) {
            self.count_anew(seen);
            (2 * self.ratio).min(most)
        } else if self.ratio > INITIAL_RATIO && self.until_decrease == 0 {
            (self.ratio - 1).min(most)
        } else {
            // What waits to be sent stays, as far as the window still allows it.
            self.change.map_or(self.ratio, |change| change.ratio).min(most)
        };
        self.change = (wanted != self.ratio).then_some(Change { ratio: wanted, carried_by: None });
    }

    /// "cwnd/(MSS*(R^2 - R)) consecutive congestion windows of data" are to pass without congestion, reckoned now.
    fn count_anew(&mut self, seen: &Seen) {
        let r = u64::from(self.ratio);
        let segments = seen.window as f64 / seen.mss as f64;
        self.until_decrease = (segments * seen.window as f64 / (r * r - r) as f64) as u64;
    }
}

impl Change {
    fn option(self) -> Option<NonZeroU8> {
        NonZeroU8::new(self.ratio.min(u32::from(u8::MAX)) as u8)
    }
}

/// Section 4.5, constraint 2: max(2, cwnd/(K*MSS)), rounded up; and what fits the option.
fn largest_ratio(window: u64, mss: u64) -> u32 {
    let ratio = window.div_ceil(ACKS_PER_WINDOW * mss.max(1)).min(u64::from(u8::MAX)) as u32;
    ratio.max(INITIAL_RATIO)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A marked ACK of one segment more than the last, with a window of 100 segments.
    fn marked(ack: u64) -> Seen {
        Seen { ack, advanced: 1000, regular: true, marked: true, window: 100_000, mss: 1000 }
    }

    /// RFC 5690 section 4.5: one doubling for all ACKs that are marked before the peer goes by the new ratio.
    #[test]
    fn congestion_counts_once_while_a_raise_is_under_way() {
        let mut control = AckCongestion::new();
        assert!(control.on_ack(&marked(1000)));
        assert_eq!(control.due().map(NonZeroU8::get), Some(4));
        control.sent(5000);
        assert!(!control.on_ack(&marked(2000)));
        assert!(!control.on_ack(&marked(3000)));
        assert!(!control.on_ack(&marked(6000)));
        assert_eq!((control.ratio(), control.due()), (4, None));
        assert!(control.on_ack(&marked(7000)));
        assert_eq!(control.due().map(NonZeroU8::get), Some(8));
    }
}
