//! Adaptive coding and modulation: a signal over time, and with it the rate of the link. The modem takes the modulation and code that carries
//! most at the signal that it was last told of; what leaves while the signal is too weak for it is lost.

mod fades;
mod modcods;

use crate::settings::{Deserialize, JsonSchema, Serialize};
use crate::{Outage, OutageMode, Random, Series};
pub use fades::{FadesSpec, RainSpec};
use longhaul_units::{Duration, Instant, Rate};
pub use modcods::{Modcod, ModcodTable};

/// The signal at a time.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SignalPoint {
    /// When, counted from the start of the run.
    pub at: Duration,
    /// Es/N0 in dB.
    #[schemars(range(min = -50.0, max = 100.0))]
    pub es_n0: f64,
}

/// A link whose rate follows its signal.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AcmSpec {
    /// Symbols in a second.
    #[schemars(range(min = 100.0, max = 1e11))]
    pub symbol_rate: f64,
    /// Es/N0 in dB under a clear sky. One of `es_n0`, `signal` and the link's `trace.signal` is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = -50.0, max = 100.0))]
    pub es_n0: Option<f64>,
    /// Es/N0 at given times, in order, with straight lines between them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<Vec<SignalPoint>>,
    /// Rain that weakens the signal at random.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rain: Option<RainSpec>,
    /// Fades of one depth that weaken the signal at random.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fades: Option<FadesSpec>,
    /// Modulations and codes that the modem has.
    #[serde(default)]
    pub table: ModcodTable,
    /// Frames have pilots, which take 2.4 % of the symbols.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub pilots: bool,
    /// The modem takes only what needs so many dB less than the signal has.
    #[serde(default = "margin")]
    #[schemars(range(min = 0.0, max = 20.0))]
    pub margin: f64,
    /// And to carry more than now, so many dB less again.
    #[serde(default = "hysteresis")]
    #[schemars(range(min = 0.0, max = 20.0))]
    pub hysteresis: f64,
    /// How long it takes from a change of the signal to another modulation and code: measuring, the way of the report, the modem.
    #[serde(default = "reaction")]
    #[schemars(extend("x-maximum" = "1 h"))]
    pub reaction: Duration,
}

fn margin() -> f64 {
    1.0
}
fn hysteresis() -> f64 {
    0.3
}
fn reaction() -> Duration {
    Duration::from_millis(500)
}

/// What a link does while its signal changes.
#[derive(Clone, PartialEq, Debug)]
pub struct Adapted {
    /// The rate over time.
    pub rate: Series<Rate>,
    /// When the signal is too weak for what the modem sends.
    pub outages: Vec<Outage>,
}

/// The signal is looked at so often; in runs of more than a day less often.
const STEP: Duration = Duration::from_millis(100);
const MOST_STEPS: u64 = 864_000;

impl AcmSpec {
    /// What is wrong with it beside a signal that the link follows or not, and the setting.
    ///
    /// # Errors
    /// If two settings do not go together.
    pub fn check(&self, follows_signal: bool) -> Result<(), (&'static str, String)> {
        let given = [("es_n0", self.es_n0.is_some()), ("signal", self.signal.is_some())];
        let mut given = given.into_iter().filter_map(|(name, given)| given.then_some(name));
        match (given.next(), given.next()) {
            (None, _) if !follows_signal => {
                let message =
                    "there is no signal: write es_n0 = 12, or give `signal` or the link's `trace.signal`";
                return Err(("es_n0", message.to_string()));
            }
            (Some(name), _) if follows_signal => {
                return Err((name, "the signal follows `trace.signal`: leave out one of both".to_string()));
            }
            (Some(first), Some(second)) => {
                return Err((second, format!("`{first}` gives the signal already: leave out one of both")));
            }
            _ => {}
        }
        let Some(points) = &self.signal else { return Ok(()) };
        if points.is_empty() {
            return Err((
                "signal",
                "it has no point; write for instance [{ at = \"0 s\", es_n0 = 12 }]".to_string(),
            ));
        }
        match points.windows(2).find(|pair| pair[1].at <= pair[0].at) {
            Some(pair) => {
                let message = format!("the point at {} must be after that at {}", pair[1].at, pair[0].at);
                Err(("signal", message))
            }
            None => Ok(()),
        }
    }

    /// The link in the first `length` of a run, and longer. `measured` is the signal that it follows, if it does; random fades draw from
    /// streams of this seed and name.
    pub fn adapted(
        &self,
        length: Duration,
        measured: Option<&Series<f64>>,
        seed: u64,
        name: &str,
    ) -> Adapted {
        let step = STEP.max(Duration::from_nanos(length.as_nanos().div_ceil(MOST_STEPS)));
        let count = length.as_nanos().div_ceil(step.as_nanos()).max(1);
        let stream = |what: &str| Random::stream(seed, &format!("{name} {what}"));
        let mut rain = self.rain.map(|rain| rain.attenuation(step.as_secs_f64(), stream("rain")));
        let mut fades = self.fades.map(|fades| fades.attenuation(step.as_secs_f64(), stream("fades")));
        let signal: Vec<f64> = (0..count)
            .map(|number| {
                let at = step * number;
                let clear = match measured {
                    Some(series) => series.at(Instant::ZERO + at),
                    None => self.given_at(at),
                };
                let lost = [rain.as_mut().and_then(Iterator::next), fades.as_mut().and_then(Iterator::next)];
                clear - lost.into_iter().flatten().sum::<f64>()
            })
            .collect();
        self.follow(&signal, step)
    }

    /// The signal that the settings give for a time.
    fn given_at(&self, time: Duration) -> f64 {
        let Some(points) = &self.signal else { return self.es_n0.unwrap_or_default() };
        let next = points.partition_point(|point| point.at <= time);
        match (next.checked_sub(1).and_then(|last| points.get(last)), points.get(next)) {
            (Some(last), Some(next)) => {
                let part = (time - last.at).as_secs_f64() / (next.at - last.at).as_secs_f64();
                last.es_n0 + part * (next.es_n0 - last.es_n0)
            }
            (Some(only), None) | (None, Some(only)) => only.es_n0,
            (None, None) => 0.0,
        }
    }

    /// Rate and outages under a signal in steps.
    fn follow(&self, signal: &[f64], step: Duration) -> Adapted {
        let modcods = self.table.useful();
        // The most robust one is in use while the signal suffices for none.
        let best = |db: f64| modcods.partition_point(|one| one.es_n0 <= db).saturating_sub(1);
        let late = self.reaction.as_nanos().div_ceil(step.as_nanos()) as usize;
        let mut used = best(signal[0] - self.margin);
        let mut steps: Vec<(Duration, Rate)> = vec![];
        let mut outages: Vec<Outage> = vec![];
        let mut weak_since: Option<Duration> = None;
        let length = step * signal.len() as u64;
        for (number, now) in signal.iter().enumerate() {
            let at = step * number as u64;
            let reported = signal[number.saturating_sub(late)] - self.margin;
            used = best(reported).min(used.max(best(reported - self.hysteresis)));
            let rate = Rate::from_bps_f64(self.symbol_rate * modcods[used].efficiency(self.pilots));
            if steps.last().is_none_or(|(_, last)| *last != rate) {
                steps.push((at, rate));
            }
            match (*now < modcods[used].es_n0, weak_since) {
                (true, None) => weak_since = Some(at),
                (false, Some(start)) => {
                    outages.push(Outage { start, duration: at - start, mode: OutageMode::Drop });
                    weak_since = None;
                }
                _ => {}
            }
        }
        if let Some(start) = weak_since {
            outages.push(Outage { start, duration: length - start, mode: OutageMode::Drop });
        }
        Adapted { rate: Series::new(&steps, length, Duration::ZERO), outages }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn s(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }
    fn spec() -> AcmSpec {
        AcmSpec {
            symbol_rate: 1e6,
            es_n0: Some(12.0),
            signal: None,
            rain: None,
            fades: None,
            table: ModcodTable::S2,
            pilots: false,
            margin: 0.0,
            hysteresis: 0.0,
            reaction: Duration::ZERO,
        }
    }
    fn point(at: u64, es_n0: f64) -> SignalPoint {
        SignalPoint { at: s(at), es_n0 }
    }
    /// Falls from 12 to 2 dB within one step at 10 s, and rises again at 20 s.
    fn fade() -> AcmSpec {
        let ms = |ms| Duration::from_millis(ms);
        let points = [(0, 12.0), (9_950, 12.0), (9_960, 2.0), (19_950, 2.0), (19_960, 12.0)];
        let signal = points.map(|(at, es_n0)| SignalPoint { at: ms(at), es_n0 });
        AcmSpec { es_n0: None, signal: Some(signal.to_vec()), ..spec() }
    }
    fn kbps(adapted: &Adapted) -> Vec<(u64, u64)> {
        adapted.rate.steps().map(|(at, rate)| (at.as_nanos() / 1_000_000, rate.as_bps() / 1000)).collect()
    }

    /// At 12 dB 16APSK 5/6 (11.61 dB), 3.300184 bits in a symbol; with a margin of 1 dB 16APSK 3/4 (10.21 dB), 2.966728: 4/5 needs 11.03.
    #[test]
    fn the_rate_is_symbols_by_efficiency() {
        assert_eq!(kbps(&spec().adapted(s(10), None, 1, "l")), [(0, 3300)]);
        let careful = AcmSpec { margin: 1.0, ..spec() };
        assert_eq!(kbps(&careful.adapted(s(10), None, 1, "l")), [(0, 2966)]);
        assert_eq!(careful.adapted(s(10), None, 1, "l").outages, []);
    }

    /// A modem that reacts 2 s late loses what it sends for 2 s, and then sends QPSK 1/2 (1.00 dB), 0.988858 bits in a symbol.
    #[test]
    fn what_is_sent_before_the_modem_reacts_is_lost() {
        let late = AcmSpec { reaction: s(2), ..fade() };
        let adapted = late.adapted(s(30), None, 1, "l");
        assert_eq!(kbps(&adapted), [(0, 3300), (12_000, 988), (22_000, 3300)]);
        assert_eq!(adapted.outages, [Outage { start: s(10), duration: s(2), mode: OutageMode::Drop }]);
        let at_once = fade().adapted(s(30), None, 1, "l");
        assert_eq!(kbps(&at_once), [(0, 3300), (10_000, 988), (20_000, 3300)]);
        assert_eq!(at_once.outages, []);
    }

    /// Slower than the reaction: 1 dB of margin outlasts a reaction of 0.9 s where the signal falls by 1 dB/s, and not one of 3 s.
    #[test]
    fn a_margin_outlasts_a_slow_fade() {
        let signal = Some(vec![point(0, 12.0), point(10, 2.0), point(60, 2.0)]);
        let ramp = AcmSpec { es_n0: None, signal, margin: 1.0, ..spec() };
        let outages = |ms| {
            AcmSpec { reaction: Duration::from_millis(ms), ..ramp.clone() }
                .adapted(s(60), None, 1, "l")
                .outages
        };
        assert_eq!(outages(900), []);
        assert!(!outages(3_000).is_empty());
    }

    /// Reported of simulators: the throughput was the same whatever the signal (sns3-satellite, issue 19).
    #[test]
    fn each_step_of_the_signal_has_its_rate() {
        let rates: Vec<u64> = (-3..=20)
            .map(|db| {
                let adapted = AcmSpec { es_n0: Some(f64::from(db)), table: ModcodTable::S2x, ..spec() }
                    .adapted(s(1), None, 1, "l");
                adapted.rate.at(Instant::ZERO).as_bps()
            })
            .collect();
        assert!(rates[1..].windows(2).all(|pair| pair[0] < pair[1]), "{rates:?}");
    }

    /// Below the most robust code (QPSK 1/4 at -2.35 dB) it is sent all the same, and nothing gets through.
    #[test]
    fn too_weak_a_signal_is_an_outage() {
        let adapted = AcmSpec { es_n0: Some(-3.0), ..spec() }.adapted(s(5), None, 1, "l");
        assert_eq!(kbps(&adapted), [(0, 490)]);
        assert_eq!(adapted.outages, [Outage { start: s(0), duration: s(5), mode: OutageMode::Drop }]);
    }

    /// A signal that swings by 0.2 dB around a threshold (16APSK 3/4, 10.21 dB) changes the code each time, with hysteresis never.
    #[test]
    fn hysteresis_keeps_a_modem_from_changing_to_and_fro() {
        let signal: Vec<f64> = (0..100).map(|step| 10.21 + if step % 2 == 0 { 0.1 } else { -0.1 }).collect();
        let changes =
            |hysteresis| AcmSpec { hysteresis, ..spec() }.follow(&signal, STEP).rate.steps().count();
        assert_eq!((changes(0.0), changes(0.3)), (100, 2));
    }

    #[test]
    fn fades_follow_from_the_seed_and_the_name() {
        let rain = Some(RainSpec { median: 2.0, sigma: 1.0, share: 0.5, beta: 0.01 });
        let with = AcmSpec { rain, ..spec() };
        let of = |seed, name| with.adapted(s(600), None, seed, name);
        assert_eq!(of(1, "a"), of(1, "a"));
        assert_ne!(of(1, "a"), of(2, "a"));
        assert_ne!(of(1, "a"), of(1, "b"));
    }

    #[test]
    fn a_run_of_a_year_has_no_more_steps_than_one_of_a_day() {
        let rain = Some(RainSpec { median: 2.0, sigma: 1.0, share: 0.5, beta: 2e-4 });
        let adapted = AcmSpec { rain, ..spec() }.adapted(s(365 * 86_400), None, 1, "l");
        assert!(adapted.rate.steps().count() as u64 <= MOST_STEPS);
    }

    #[test]
    fn one_signal_is_given() {
        assert_eq!(spec().check(false), Ok(()));
        let wrong = |spec: AcmSpec, follows| spec.check(follows).unwrap_err();
        assert!(wrong(AcmSpec { es_n0: None, ..spec() }, false).1.contains("no signal"));
        assert!(wrong(spec(), true).1.contains("trace.signal"));
        assert_eq!(wrong(AcmSpec { signal: fade().signal, ..spec() }, false).0, "signal");
        let back = AcmSpec { es_n0: None, signal: Some(vec![point(5, 1.0), point(5, 2.0)]), ..spec() };
        assert!(wrong(back, false).1.contains("must be after"));
    }
}
