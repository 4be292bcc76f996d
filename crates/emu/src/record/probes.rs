//! What became of probes: round trips, one-way delays, losses by direction and in which bursts.

use longhaul_units::{Duration, Instant};

/// A probe.
#[derive(Clone, Copy, Debug, Default)]
pub struct Probe {
    /// When it was sent.
    pub sent: Instant,
    /// From sending to the echo, without the time that the far end had it.
    pub rtt: Option<Duration>,
    /// One-way delays there and back by both ends' times of day, in ns; they may be below zero.
    pub one_way: Option<[i64; 2]>,
    /// Whether it came to the far end; not there where that is not known.
    pub arrived: Option<bool>,
    /// A flow was on the path meanwhile.
    pub loaded: bool,
}

/// What became of several probes.
#[derive(Clone, Debug, Default)]
pub struct Fates {
    /// How many there were.
    pub probes: usize,
    /// How many had no answer.
    pub lost: usize,
    /// Lost on the way there and on the way back, where that is known.
    pub lost_there: usize,
    /// See above.
    pub lost_back: usize,
    /// How many times some were lost in a row.
    pub bursts: usize,
    /// Round trips in order.
    pub rtts: Vec<Duration>,
}

impl Fates {
    /// Of probes in the order of sending.
    pub fn of<'a>(probes: impl Iterator<Item = &'a Probe>) -> Fates {
        let mut fates = Fates::default();
        let mut before = false;
        for probe in probes {
            fates.probes += 1;
            let lost = probe.rtt.is_none();
            fates.lost += usize::from(lost);
            fates.bursts += usize::from(lost && !before);
            fates.lost_there += usize::from(lost && probe.arrived == Some(false));
            fates.lost_back += usize::from(lost && probe.arrived == Some(true));
            fates.rtts.extend(probe.rtt);
            before = lost;
        }
        fates.rtts.sort();
        fates
    }

    /// The share of probes that were lost.
    pub fn share(&self) -> f64 {
        self.lost as f64 / self.probes.max(1) as f64
    }

    /// How many were lost in a row on average.
    pub fn burst(&self) -> f64 {
        self.lost as f64 / self.bursts.max(1) as f64
    }

    /// The round trip below which this share of all lies.
    pub fn quantile(&self, share: f64) -> Option<Duration> {
        let last = self.rtts.len().checked_sub(1)?;
        self.rtts.get((share * last as f64).round() as usize).copied()
    }
}

/// Shares of probes that were lost there and back in each `window` of time: its begin in s, and both shares. Losses whose direction is not
/// known count as halves of both.
pub fn losses_over_time<'a>(
    probes: impl Iterator<Item = &'a Probe>,
    begin: Instant,
    window: Duration,
) -> Vec<(f64, [f64; 2])> {
    let mut counts: Vec<(f64, [f64; 2])> = vec![];
    for probe in probes {
        let place = (probe.sent.since(begin).as_nanos() / window.as_nanos().max(1)) as usize;
        if counts.len() <= place {
            counts.resize(place + 1, (0.0, [0.0; 2]));
        }
        let (sent, lost) = &mut counts[place];
        *sent += 1.0;
        if probe.rtt.is_none() {
            match probe.arrived {
                Some(arrived) => lost[usize::from(arrived)] += 1.0,
                None => lost.iter_mut().for_each(|lost| *lost += 0.5),
            }
        }
    }
    let shares = counts.into_iter().enumerate().filter(|(_, (sent, _))| *sent > 0.0);
    shares
        .map(|(place, (sent, [there, back]))| {
            // What is lost there does not set out on the way back.
            let set_out = (sent - there).max(1.0);
            (place as f64 * window.as_secs_f64(), [there / sent, (back / set_out).min(1.0)])
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn probes(fates: &str) -> Vec<Probe> {
        let one = |(number, fate): (usize, char)| Probe {
            sent: Instant::from_nanos(number as u64 * 100_000_000),
            rtt: (fate == '.').then_some(Duration::from_millis(50 + number as u64)),
            arrived: match fate {
                't' => Some(false),
                '?' => None,
                _ => Some(true),
            },
            ..Probe::default()
        };
        fates.chars().enumerate().map(one).collect()
    }

    #[test]
    fn losses_are_counted_by_direction_and_in_bursts() {
        let probes = probes("..ttb..b.?");
        let fates = Fates::of(probes.iter());
        assert_eq!((fates.probes, fates.lost, fates.lost_there, fates.lost_back), (10, 5, 2, 2));
        assert_eq!((fates.bursts, fates.share()), (3, 0.5));
        assert!((fates.burst() - 5.0 / 3.0).abs() < 1e-9);
        assert_eq!(fates.quantile(0.0), Some(Duration::from_millis(50)));
        assert_eq!(fates.quantile(1.0), Some(Duration::from_millis(58)));
        assert_eq!(Fates::of(probes[2..5].iter()).quantile(0.5), None);
    }

    #[test]
    fn what_is_lost_there_does_not_count_on_the_way_back() {
        let probes = probes("tttttbbb..tt........");
        let found = losses_over_time(probes.iter(), Instant::ZERO, Duration::from_secs(1));
        assert_eq!(found, [(0.0, [0.5, 0.6]), (1.0, [0.2, 0.0])]);
        let unknown = self::probes("?.");
        let found = losses_over_time(unknown.iter(), Instant::ZERO, Duration::from_secs(1));
        // Half of a loss each way; of two probes one and a half set out on the way back.
        assert_eq!(found, [(0.0, [0.25, 0.5 / 1.5])]);
    }
}
