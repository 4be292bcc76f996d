//! Loss: how much of it is random, how long its bursts are, and whether it is overload.

use crate::config::Remembered;
use longhaul_units::{Duration, Instant, Rate};

/// Loss that is assumed before enough packets were sent, and for how many packets this counts.
const PRIOR: (f64, f64) = (0.008, 150.0);
/// Measurements fade out over so many packets.
const MEMORY: f64 = 20_000.0;
/// Loss beyond twice the random one and this share leads to a test.
const SUSPICION: f64 = 0.06;
/// Packets lost in a round without which there is no test.
const LEAST_LOST: u64 = 12;
/// More than this is taken for random only after a test.
const UNTESTED: f64 = 0.05;
/// The rate during a test, as a part of the one before: what was delivered, within these bounds. A link that is overloaded then
/// loses next to nothing, however much it was overloaded.
const TEST: (f64, f64) = (0.1, 0.8);

/// What a round has shown.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Verdict {
    Nothing,
    /// Send at this rate to find out.
    Test(Rate),
    /// The loss does not depend on the rate: go on with this one.
    Restore(Rate),
    /// The loss goes with the rate.
    Overload,
}

#[derive(Clone, Copy, Debug)]
struct Test {
    rate: Rate,
    loss: f64,
    /// Part of that rate at which is sent now.
    part: f64,
    /// Packets sent from then on count.
    from: Instant,
}

#[derive(Clone, Copy, Debug)]
pub struct LossMeter {
    /// Packets, weighted.
    packets: f64,
    lost: f64,
    /// Reports of losses, packets lost in them, and packets that an ACK is for on average.
    groups: f64,
    grouped: f64,
    per_ack: f64,
    acked: u64,
    began: Instant,
    round_acked: u64,
    round_lost: u64,
    test: Option<Test>,
    /// A test has shown that so much is random.
    tolerated: f64,
}

impl LossMeter {
    pub fn new(remembered: Option<Remembered>) -> Self {
        let (loss, weight) =
            remembered.map_or(PRIOR, |remembered| (f64::from(remembered.loss_ppm) / 1e6, 25.0 * PRIOR.1));
        let burst = remembered.map_or(1.0, |remembered| f64::from(remembered.burst_permille) / 1e3).max(1.0);
        LossMeter {
            packets: weight,
            lost: loss * weight,
            groups: 4.0,
            grouped: 4.0 * burst,
            per_ack: 2.0,
            acked: 0,
            began: Instant::ZERO,
            round_acked: 0,
            round_lost: 0,
            test: None,
            tolerated: 0.0,
        }
    }

    /// Share of packets lost without overload.
    pub fn random(&self) -> f64 {
        let (acked, lost) = (self.round_acked as f64, self.round_lost as f64);
        let present = lost / (acked + lost).max(1.0);
        if self.test.is_some() || present > self.suspicious() {
            return self.lost / self.packets;
        }
        (self.lost + lost) / (self.packets + acked + lost)
    }

    /// The same without the present round.
    pub fn known(&self) -> f64 {
        self.lost / self.packets
    }

    /// Loss that leads to a test. What was not tested must not raise it without bound: loss would permit more of it.
    fn suspicious(&self) -> f64 {
        let untested = 2.0 * (self.lost / self.packets).min(UNTESTED);
        untested.max(1.25 * self.tolerated) + SUSPICION
    }

    /// Mean number of packets lost in a row, about: what is lost together, beyond what is lost among as many packets by chance.
    pub fn burst(&self) -> f64 {
        let loss = self.random().clamp(1e-6, 0.5);
        let by_chance = self.per_ack * loss / (1.0 - (1.0 - loss).powf(self.per_ack));
        (self.grouped / self.groups / by_chance.max(1.0)).clamp(1.0, 50.0)
    }

    /// All of an ACK was reported.
    pub fn end_ack(&mut self) {
        self.per_ack += (self.acked as f64 - self.per_ack) / 32.0;
        self.per_ack = self.per_ack.max(1.0);
        self.acked = 0;
    }

    pub fn is_testing(&self) -> bool {
        self.test.is_some()
    }

    /// Whether a share is more than what is known to be random.
    fn is_above_random(&self, share: f64) -> bool {
        share > self.suspicious()
    }

    /// Whether packets that were sent faster by a part were lost for that: a busy link loses all that exceeds its capacity.
    pub fn is_from_gain(&self, share: f64, gain: f64) -> bool {
        let random = self.random();
        self.is_above_random(share) || share > random + 0.75 * (1.0 - random) * gain / (1.0 + gain)
    }

    /// Discards the present round: after overload or an outage it shows nothing.
    pub fn restart(&mut self, now: Instant) {
        (self.round_acked, self.round_lost, self.began, self.test) = (0, 0, now, None);
    }

    pub fn on_ack(&mut self, sent: Instant) {
        self.acked += 1;
        if self.test.is_none_or(|test| sent >= test.from) {
            self.round_acked += 1;
        }
    }

    /// `lost` packets were found to be lost together.
    pub fn on_loss(&mut self, sent: Instant, lost: u64) {
        if self.test.is_none_or(|test| sent >= test.from) {
            self.round_lost += lost;
            self.groups += 1.0;
            self.grouped += lost as f64;
            if self.groups > 200.0 {
                self.groups /= 2.0;
                self.grouped /= 2.0;
            }
        }
    }

    /// Looks at the round if it is over. Only a round in which packets left at the `full` rate shows overload.
    pub fn round(&mut self, now: Instant, length: Duration, rate: Rate, full: bool) -> Verdict {
        if let Some(test) = self.test {
            // Where much less may be in flight than before, the first packets wait for that.
            return match now.since(test.from) >= length + length + length + length {
                _ if full => self.test_round(now, length, test),
                false => Verdict::Nothing,
                true => {
                    self.restart(now);
                    Verdict::Restore(test.rate)
                }
            };
        }
        if now.since(self.began) < length {
            return Verdict::Nothing;
        }
        let packets = self.round_acked + self.round_lost;
        let loss = self.round_lost as f64 / packets.max(1) as f64;
        let lost = self.round_lost;
        let verdict = if full && self.is_above_random(loss) && lost >= LEAST_LOST {
            // Its packets leave now, and are acknowledged a round trip later.
            let part = (1.0 - loss).clamp(TEST.0, TEST.1);
            self.test = Some(Test { rate, loss, part, from: now });
            Verdict::Test(Rate::from_bps_f64(rate.as_bps() as f64 * part))
        } else {
            self.learn(packets, lost);
            Verdict::Nothing
        };
        (self.round_acked, self.round_lost, self.began) = (0, 0, now);
        verdict
    }

    /// Learns from the round, if it is over, without a test: what is overload is known by other means.
    pub fn calm(&mut self, now: Instant, length: Duration) {
        if now.since(self.began) >= length {
            self.learn(self.round_acked + self.round_lost, self.round_lost);
            self.restart(now);
        }
    }

    fn test_round(&mut self, now: Instant, length: Duration, test: Test) -> Verdict {
        let packets = self.round_acked + self.round_lost;
        if now.since(test.from) < length + length
            || packets < 100 && now.since(test.from) < Duration::from_secs(10)
        {
            return Verdict::Nothing;
        }
        let loss = self.round_lost as f64 / packets.max(1) as f64;
        self.restart(now);
        // Of random loss, the same share arrives as before. Of overload, all does that the link carries; half of the way there is
        // overload, and much less where the rate was many times too high, for then a queue of few packets loses bursts too.
        let arrives = (1.0 - test.loss) * (0.5 + 0.5 / test.part).min(1.5);
        // What is known to be random may have been overload too.
        let random = self.random().min(UNTESTED.max(test.loss / 2.0));
        if loss < (1.0 - arrives).max((test.loss + random) / 2.0) {
            self.tolerated = self.tolerated.min(loss);
            return Verdict::Overload;
        }
        self.tolerated = loss.min(test.loss);
        Verdict::Restore(test.rate)
    }

    fn learn(&mut self, packets: u64, lost: u64) {
        let packets = packets as f64;
        // More is not known to be random.
        let lost = (lost as f64).min(packets * self.suspicious());
        self.packets += packets;
        self.lost += lost;
        let fade = (MEMORY / self.packets).min(1.0);
        self.packets *= fade;
        self.lost *= fade;
        self.tolerated *= 0.99;
    }
}
