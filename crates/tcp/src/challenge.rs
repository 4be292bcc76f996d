//! Challenge ACKs and their throttle (RFC 5961 section 7): an ACK that answers a segment outside the stream may itself be
//! outside the stream of its receiver, which answers in turn. Two ends whose streams do not match (a proxy between them has lost
//! what it had acknowledged) would go on for ever, and each copy that the network makes would double the storm.

use longhaul_units::{Duration, Instant};

/// "In any 5 second window, no more than 10 challenge ACKs".
const MOST: u8 = 10;
const WINDOW: Duration = Duration::from_secs(5);

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Challenges {
    /// When the window began, and the ACKs sent in it.
    since: Option<Instant>,
    sent: u8,
}

impl Challenges {
    /// True if one more may be sent; it counts as sent then.
    pub fn allow(&mut self, now: Instant) -> bool {
        if self.since.is_none_or(|since| now.since(since) >= WINDOW) {
            *self = Challenges { since: Some(now), sent: 0 };
        }
        let allowed = self.sent < MOST;
        self.sent += u8::from(allowed);
        allowed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_in_five_seconds() {
        let mut challenges = Challenges::default();
        let mut at = |millis| challenges.allow(Instant::ZERO + Duration::from_millis(millis));
        assert_eq!((0..12).filter(|count| at(1000 + 10 * count)).count(), 10);
        assert!(!at(5999));
        assert!(at(6000));
    }
}
