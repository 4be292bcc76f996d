//! Opinions of users, as a mean opinion score (MOS) from 1, bad, to 5, excellent (ITU-T P.800): three models, one
//! each for pages, films and calls.

use longhaul_traffic::{Codec, Hearing, Played, Viewing};

/// The time in s for a page beyond which people give up, for a network of medium speed (ITU-T G.1030 Annex A).
const PAGE_MAX_S: f64 = 15.0;
/// Length of the films that people were shown in s (Hossfeld et al. 2011).
const FILM_S: f64 = 30.0;
/// Of a call's messages, the most that a playout delay is tried for which lets them come too late.
const MOST_LATE: f64 = 0.25;

/// Of a page that took so many seconds (ITU-T G.1030 Annex A): logarithmic from instantaneous to given up.
pub(crate) fn of_page(seconds: f64) -> f64 {
    let least = 0.003 * PAGE_MAX_S + 0.12;
    let part = libm::log(seconds.max(1e-9) / least) / libm::log(PAGE_MAX_S / least);
    (5.0 - 4.0 * part).clamp(1.0, 5.0)
}

/// Of a film (Hossfeld et al. 2011): by the stalls in 30 s of it and their mean length; `None` if nobody has watched yet.
pub(crate) fn of_film(viewing: &Viewing) -> Option<f64> {
    let watched = viewing.watched.as_secs_f64();
    if watched <= 0.0 {
        return None;
    }
    // A film that has not begun stands still from its request on.
    let stalls = if viewing.stalled == viewing.watched { 1.0 } else { viewing.stalls as f64 };
    if stalls == 0.0 {
        return Some(5.0);
    }
    let mean = viewing.stalled.as_secs_f64() / stalls;
    Some(3.5 * libm::exp(-(0.15 * mean + 0.19) * stalls * FILM_S / watched.max(FILM_S)) + 1.5)
}

/// How a call is heard.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Call {
    pub mos: f64,
    /// From mouth to ear in s: a message is spoken, sent, and waits until it is played.
    pub delay_s: f64,
    /// Share of messages that come too late to be played.
    pub late: f64,
}

/// Of a call as it was played, or with the best of all fixed playout delays; `None` if no message came. What is missing counts as what
/// comes too late: it is not heard.
pub(crate) fn of_call(hearing: &Hearing) -> Option<Call> {
    let spoken = hearing.message.as_secs_f64();
    let count = hearing.delays.count();
    let all = (count + hearing.missing) as f64;
    if let Some(played) = hearing.played {
        return played_call(hearing, played);
    }
    let mut late = count;
    let choices = hearing.delays.values().filter_map(|(delay, messages)| {
        late -= messages;
        // The last one is known exactly.
        let delay = if late == 0 { hearing.delays.max()? } else { delay };
        let unheard = (late + hearing.missing) as f64 / all;
        let (delay_s, late) = (spoken + delay.as_secs_f64(), late as f64 / all);
        let rated = rating(delay_s * 1e3, unheard * 100.0, hearing.codec);
        (late <= MOST_LATE).then_some(Call { mos: mos_of_rating(rated), delay_s, late })
    });
    choices.max_by(|a, b| a.mos.total_cmp(&b.mos))
}

/// Of a call whose messages were played at known times.
fn played_call(hearing: &Hearing, played: Played) -> Option<Call> {
    let Played { messages, late, delay_s } = played;
    if messages == 0 {
        return None;
    }
    let all = (messages + hearing.missing) as f64;
    let delay_s = hearing.message.as_secs_f64() + delay_s / messages as f64;
    let unheard = (late + hearing.missing) as f64 / all;
    let rated = rating(delay_s * 1e3, unheard * 100.0, hearing.codec);
    Some(Call { mos: mos_of_rating(rated), delay_s, late: late as f64 / all })
}

/// R of the E-model (ITU-T G.107) with its default values, for a delay in ms, a loss at random in percent, and a codec: the effective
/// equipment impairment is Ie + (95 - Ie) Ppl / (Ppl + Bpl). The part of the delay is the
/// approximation of R. Cole and J. Rosenbluth (Voice over IP performance monitoring, CCR 31(2), 2001).
fn rating(delay_ms: f64, loss: f64, codec: Codec) -> f64 {
    let (impairment, robustness) = codec.impairment();
    let delay = 0.024 * delay_ms + 0.11 * (delay_ms - 177.3).max(0.0);
    93.2 - delay - (impairment + (95.0 - impairment) * loss / (loss + robustness))
}

/// ITU-T G.107 Annex B.
fn mos_of_rating(r: f64) -> f64 {
    if r <= 0.0 {
        return 1.0;
    }
    let r = r.min(100.0);
    (1.0 + 0.035 * r + r * (r - 60.0) * (100.0 - r) * 7e-6).max(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use longhaul_traffic::Codec::{G711, G711Bare, G729a, G7231, GsmEfr};
    use longhaul_units::Duration;
    use longhaul_units::Histogram;

    fn close(found: f64, expected: f64) {
        assert!((found - expected).abs() < 0.005, "{found} is not {expected}");
    }

    /// A call over a connection, whose messages of 20 ms had these delays.
    fn heard(delays: Histogram) -> Hearing {
        Hearing { delays, message: Duration::from_millis(20), codec: G711, missing: 0, played: None }
    }

    /// 5 at 0.165 s, 1 at 15 s, half way at their geometric mean.
    #[test]
    fn pages_are_felt_by_the_logarithm_of_their_time() {
        close(of_page(0.1), 5.0);
        close(of_page(0.165), 5.0);
        close(of_page((0.165_f64 * 15.0).sqrt()), 3.0);
        close(of_page(15.0), 1.0);
        close(of_page(100.0), 1.0);
    }

    /// One stall of 1 s in 30 s: 3.5 exp(-0.34) + 1.5 = 3.991; two of 2 s in 60 s are one of 2 s in 30 s: 3.5 exp(-0.49) + 1.5 = 3.644.
    #[test]
    fn films_are_felt_by_their_stalls() {
        let film = |stalls, stalled, watched| {
            let (stalled, watched) = (Duration::from_secs(stalled), Duration::from_secs(watched));
            of_film(&Viewing { startup: None, stalls, stalled, watched })
        };
        assert_eq!(film(0, 0, 0), None);
        close(film(0, 0, 30).unwrap(), 5.0);
        close(film(1, 1, 30).unwrap(), 3.991);
        close(film(2, 4, 60).unwrap(), 3.644);
        close(film(0, 60, 60).unwrap(), 3.5 * (-9.19_f64 / 2.0).exp() + 1.5);
    }

    /// R = 93.2 without delay: MOS 4.41. 300 ms: Id = 7.2 + 13.497, R = 72.50, MOS 3.71 (G.107 Annex B).
    #[test]
    fn calls_are_felt_by_delay_and_loss() {
        close(mos_of_rating(rating(0.0, 0.0, G711)), 4.41);
        close(rating(300.0, 0.0, G711), 72.503);
        close(mos_of_rating(rating(300.0, 0.0, G711)), 3.71);
        close(mos_of_rating(-3.0), 1.0);
        // 1 % of loss: 95 / 26.1 = 3.64.
        close(rating(0.0, 1.0, G711), 93.2 - 3.640);
    }

    /// All messages take 380.2 ms: 400.2 ms from mouth to ear are R = 93.2 - 9.605 - 24.519 = 59.08, MOS 3.052.
    #[test]
    fn a_delay_that_is_always_the_same_is_taken_exactly() {
        let mut delays = Histogram::default();
        (0..3000).for_each(|_| delays.record(Duration::from_micros(380_200)));
        let call = of_call(&heard(delays)).unwrap();
        assert!((call.mos - 3.052).abs() < 5e-4 && (call.delay_s - 0.4002).abs() < 1e-9, "{call:?}");
    }

    #[test]
    fn few_late_messages_are_given_up_rather_than_waited_for() {
        let mut delays = Histogram::default();
        (0..990).for_each(|_| delays.record(Duration::from_millis(30)));
        (0..10).for_each(|_| delays.record(Duration::from_secs(1)));
        let call = of_call(&heard(delays)).unwrap();
        assert!((call.delay_s - 0.05).abs() < 0.001 && (call.late - 0.01).abs() < 1e-9, "{call:?}");
        close(call.mos, mos_of_rating(rating(50.0, 1.0, G711)));
        assert_eq!(of_call(&heard(Histogram::default())), None);
    }

    /// ITU-T G.107 Annex B, table B.1: the lower limits of R, and the opinions there. It has 4.03 where its formula gives 4.024.
    #[test]
    fn opinions_are_those_of_the_recommendation_s_table() {
        for (rating, mos) in [(90.0, 4.34), (80.0, 4.03), (70.0, 3.60), (60.0, 3.10), (50.0, 2.58)] {
            let found = mos_of_rating(rating);
            assert!((found - mos).abs() < 0.0065, "{found} is not {mos}");
        }
    }

    /// Ie,eff = Ie + (95 - Ie) Ppl / (Ppl + Bpl) at 2 %: 7.01, 30.16, 19.00, 23.84, 20.00 (ITU-T G.113 Appendix I).
    #[test]
    fn codecs_have_their_impairments() {
        let expected = [(G711, 7.011), (G711Bare, 30.159), (G729a, 19.0), (G7231, 23.840), (GsmEfr, 20.0)];
        for (codec, impairment) in expected {
            close(93.2 - rating(0.0, 2.0, codec), impairment);
        }
    }

    /// 950 of 1,000 messages came, all after 30 ms: 5 % are not heard whatever the playout delay is.
    #[test]
    fn missing_messages_are_lost_to_the_listener() {
        let mut delays = Histogram::default();
        (0..950).for_each(|_| delays.record(Duration::from_millis(30)));
        let call = of_call(&Hearing { missing: 50, ..heard(delays) }).unwrap();
        assert_eq!(call.late, 0.0);
        close(call.mos, mos_of_rating(rating(50.0, 5.0, G711)));
    }

    /// Of 1,000 messages 20 came too late for a playout 90 ms after their writing, and 30 never came.
    #[test]
    fn a_call_that_was_played_is_taken_as_it_was() {
        let mut delays = Histogram::default();
        (0..970).for_each(|_| delays.record(Duration::from_millis(30)));
        let played = Played { messages: 970, late: 20, delay_s: 970.0 * 0.09 };
        let call = of_call(&Hearing { missing: 30, played: Some(played), ..heard(delays) }).unwrap();
        assert!((call.late - 0.02).abs() < 1e-9 && (call.delay_s - 0.11).abs() < 1e-9, "{call:?}");
        close(call.mos, mos_of_rating(rating(110.0, 5.0, G711)));
    }
}
