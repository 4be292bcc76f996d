//! Token bucket: a packet leaves against a token. The bucket holds up to sigma tokens, the largest burst; tokens come at the
//! rate rho, by a timer (the sigma-rho model), or only as acknowledgments return what was spent. Shaped Token Transport
//! Protocol, R. J. Wade, PhD thesis, University of Leeds 2000, section 3.4.3: its second and its first implementation.

use crate::settings::{Deserialize, JsonSchema, Serialize};
use longhaul_units::{Duration, Instant};

/// Where tokens come from.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TokenSource {
    /// A timer adds one every 1/rho, whatever ACKs do (variant B).
    #[default]
    Timer,
    /// Each packet acknowledged puts one into a leaky bucket, which a timer empties into the token bucket at rho: if ACKs
    /// stop, sending stops (variant A). The tokens in circulation act like a window.
    Acks,
}

/// A bucket of tokens, in packets and seconds.
#[derive(Clone, Debug)]
pub(crate) struct TokenBucket {
    source: TokenSource,
    /// Depth of the bucket.
    sigma: f64,
    /// Tokens per second.
    rho: f64,
    /// Tokens that go round between this end and the network, where ACKs bring them.
    circulating: f64,
    tokens: f64,
    /// Tokens in the leaky bucket; without end if a timer makes them.
    leaky: f64,
    /// When `tokens` and `leaky` were reckoned.
    at: Instant,
}

/// Tokens are fractions reckoned from times: so close to a whole one is a whole one.
const ROUNDING: f64 = 1e-6;

impl TokenBucket {
    /// A bucket that is full at `now`; `sigma` and `rho` are above 0. Of `circulating` tokens the rest is in the leaky bucket.
    pub fn full(source: TokenSource, sigma: f64, rho: f64, circulating: f64, now: Instant) -> Self {
        let mut bucket = TokenBucket { source, sigma, rho, circulating, tokens: 0.0, leaky: 0.0, at: now };
        bucket.tokens = bucket.depth();
        bucket.leaky = match source {
            TokenSource::Timer => f64::INFINITY,
            TokenSource::Acks => (circulating - bucket.tokens).max(0.0),
        };
        bucket
    }

    pub fn sigma(&self) -> f64 {
        self.sigma
    }
    pub fn rho(&self) -> f64 {
        self.rho
    }
    #[cfg(test)]
    pub fn tokens(&self) -> f64 {
        self.tokens
    }

    /// Whole tokens that fit: sigma and rho are real numbers, and floored only where they are compared.
    fn depth(&self) -> f64 {
        self.sigma.floor().max(1.0)
    }

    /// Tokens that have come by `now`.
    fn advance(&mut self, now: Instant) {
        let come = (self.rho * now.since(self.at).as_secs_f64()).min(self.leaky);
        self.at = self.at.max(now);
        // What finds the token bucket full stays in the leaky bucket; a timer's tokens are lost.
        let come = come.min((self.depth() - self.tokens).max(0.0));
        self.tokens += come;
        self.leaky -= come;
    }

    /// When there will be `cost` tokens: `now` if they are here, never if only an ACK can bring them. A cost beyond the depth is
    /// that of a full bucket.
    pub fn ready(&mut self, now: Instant, cost: f64) -> Instant {
        self.advance(now);
        let missing = cost.min(self.depth()) - self.tokens;
        if missing <= ROUNDING {
            return now;
        }
        if self.leaky + ROUNDING < missing {
            return Instant::FAR_FUTURE;
        }
        let wait = (missing / self.rho * 1e9).ceil();
        if wait < 1e18 { now + Duration::from_nanos(wait as u64) } else { Instant::FAR_FUTURE }
    }

    /// A packet that costs so much leaves. More than there is makes a debt.
    pub fn spend(&mut self, now: Instant, cost: f64) {
        self.advance(now);
        self.tokens -= cost;
    }

    /// Changes rate and depth. Tokens that no longer fit are lost; with `scale_tokens` those that are here change as sigma does.
    pub fn set(&mut self, now: Instant, sigma: f64, rho: f64, scale_tokens: bool) {
        self.advance(now);
        if scale_tokens && self.tokens > 0.0 {
            self.tokens *= sigma / self.sigma;
        }
        self.circulating *= sigma / self.sigma;
        (self.sigma, self.rho) = (sigma, rho);
        self.tokens = self.tokens.min(self.depth());
    }

    /// An ACK: `in_network` packets are in flight after it. What circulates and is neither in the network nor in the token
    /// bucket is in the leaky bucket; one token always circulates.
    pub fn acknowledge(&mut self, now: Instant, in_network: f64) {
        if self.source == TokenSource::Acks {
            self.advance(now);
            self.leaky = (self.circulating.max(1.0) - in_network - self.tokens.max(0.0)).max(0.0);
        }
    }

    /// After a retransmission timeout one token is left, for the retransmission: min(tokens, 1), and 1 if ACKs alone bring
    /// tokens, which they no longer do.
    pub fn after_timeout(&mut self, now: Instant) {
        self.advance(now);
        self.tokens = if self.source == TokenSource::Acks { 1.0 } else { self.tokens.min(1.0) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ms(millis: u64) -> Instant {
        Instant::from_nanos(millis * 1_000_000)
    }

    /// Departures in milliseconds of packets that are always there to be sent.
    fn departures(bucket: &mut TokenBucket, packets: usize) -> Vec<u64> {
        let mut now = ms(0);
        (0..packets)
            .map(|_| {
                now = bucket.ready(now, 1.0);
                bucket.spend(now, 1.0);
                now.as_nanos() / 1_000_000
            })
            .collect()
    }

    #[test]
    fn a_full_bucket_is_a_burst_and_then_the_rate() {
        let mut bucket = TokenBucket::full(TokenSource::Timer, 3.0, 10.0, 0.0, ms(0));
        assert_eq!(departures(&mut bucket, 6), [0, 0, 0, 100, 200, 300]);
    }

    #[test]
    fn an_idle_source_saves_up_no_more_than_the_depth() {
        let mut bucket = TokenBucket::full(TokenSource::Timer, 2.9, 10.0, 0.0, ms(0));
        departures(&mut bucket, 2);
        assert_eq!(bucket.ready(ms(60_000), 1.0), ms(60_000));
        assert_eq!(bucket.tokens(), 2.0); // floor(2.9)
    }

    #[test]
    fn less_depth_loses_tokens_and_more_depth_gives_none() {
        let mut bucket = TokenBucket::full(TokenSource::Timer, 8.0, 10.0, 0.0, ms(0));
        bucket.set(ms(0), 4.0, 5.0, false);
        assert_eq!(bucket.tokens(), 4.0);
        bucket.set(ms(0), 8.0, 5.0, false);
        assert_eq!(bucket.tokens(), 4.0);
        bucket.set(ms(0), 4.0, 5.0, true);
        assert_eq!(bucket.tokens(), 2.0);
    }

    #[test]
    fn tokens_of_acks_are_conserved() {
        // Four tokens: four packets leave, and then none, however long it takes.
        let mut bucket = TokenBucket::full(TokenSource::Acks, 4.0, 10.0, 4.0, ms(0));
        assert_eq!(departures(&mut bucket, 4), [0, 0, 0, 0]);
        assert_eq!(bucket.ready(ms(60_000), 1.0), Instant::FAR_FUTURE);
        // Two come back at once: they leave the leaky bucket at ten a second.
        bucket.acknowledge(ms(60_000), 2.0);
        assert_eq!(bucket.ready(ms(60_000), 1.0), ms(60_100));
        assert_eq!(bucket.ready(ms(60_250), 1.0), ms(60_250));
        assert_eq!(bucket.tokens(), 2.0);
    }

    #[test]
    fn fewer_tokens_in_circulation_are_withheld_from_acks() {
        let mut bucket = TokenBucket::full(TokenSource::Acks, 4.0, 10.0, 4.0, ms(0));
        departures(&mut bucket, 4);
        bucket.set(ms(0), 2.0, 10.0, false);
        bucket.acknowledge(ms(100), 3.0);
        assert_eq!(bucket.ready(ms(60_000), 1.0), Instant::FAR_FUTURE);
        bucket.acknowledge(ms(60_000), 1.0);
        assert_eq!(bucket.ready(ms(60_000), 1.0), ms(60_100));
    }

    #[test]
    fn a_timeout_leaves_one_token() {
        let mut timer = TokenBucket::full(TokenSource::Timer, 4.0, 10.0, 0.0, ms(0));
        timer.after_timeout(ms(0));
        assert_eq!(timer.tokens(), 1.0);
        let mut acks = TokenBucket::full(TokenSource::Acks, 4.0, 10.0, 4.0, ms(0));
        departures(&mut acks, 4);
        acks.after_timeout(ms(0));
        assert_eq!(acks.ready(ms(0), 1.0), ms(0));
    }

    proptest! {
        /// The sigma-rho envelope: in any interval t no more than sigma + rho t packets leave.
        #[test]
        fn departures_stay_under_the_envelope(sigma in 1.0..50.0f64, rho in 0.5..5000.0f64, pauses in proptest::collection::vec(0..2000u64, 1..40)) {
            let mut bucket = TokenBucket::full(TokenSource::Timer, sigma, rho, 0.0, ms(0));
            let mut left: Vec<Instant> = vec![];
            let mut now = ms(0);
            for pause in pauses {
                now += Duration::from_millis(pause);
                for _ in 0..20 {
                    now = bucket.ready(now, 1.0);
                    bucket.spend(now, 1.0);
                    left.push(now);
                }
            }
            for (first, from) in left.iter().enumerate() {
                let last = left.len() - 1;
                for (count, to) in [(last - first + 1, left[last]), (left.len().min(first + 7) - first, left[left.len().min(first + 7) - 1])] {
                    let most = sigma.floor() + rho * to.since(*from).as_secs_f64();
                    prop_assert!(count as f64 <= most + 1e-3, "{count} packets, {most} allowed");
                }
            }
        }
    }
}
