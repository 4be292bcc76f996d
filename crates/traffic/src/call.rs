//! Calls: what encodes the speech, how long messages wait until they are played, and who listens to them over datagrams.

use crate::qoe::{Hearing, Played};
use longhaul_units::{Duration, Histogram, Instant};
use schemars::JsonSchema;
use serde::de::{Deserializer, Error, MapAccess, Visitor, value::MapAccessDeserializer};
use serde::{Deserialize, Serialize, Serializer};
use std::collections::VecDeque;
use std::fmt;

/// Bytes of an RTP header (RFC 3550 section 5.1), which each message of a call over datagrams has.
pub(crate) const RTP_HEADER: u64 = 12;

/// What a call is heard by.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Call {
    /// What encodes the speech. It changes the opinion alone: `message` and `rate` are what is sent.
    pub codec: Codec,
    /// How long messages wait at the receiver until they are played; those that come later are lost to the listener. Other than
    /// `"best"` over UDP only.
    pub playout: Playout,
}

/// Speech codecs with equipment impairment and robustness to lost packets (ITU-T G.113 Appendix I).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub enum Codec {
    /// G.711 with concealment of losses (its Appendix I).
    #[default]
    #[serde(rename = "g711")]
    G711,
    /// G.711, losses are silence.
    #[serde(rename = "g711_bare")]
    G711Bare,
    /// G.729A with voice activity detection.
    #[serde(rename = "g729a")]
    G729a,
    /// G.723.1 at 6.3 kbit/s with voice activity detection.
    #[serde(rename = "g723_1")]
    G7231,
    /// GSM enhanced full rate.
    #[serde(rename = "gsm_efr")]
    GsmEfr,
}

impl Codec {
    /// Equipment impairment factor Ie without loss, and packet-loss robustness factor Bpl in percent, for losses at random.
    pub fn impairment(self) -> (f64, f64) {
        match self {
            Codec::G711 => (0.0, 25.1),
            Codec::G711Bare => (0.0, 4.3),
            Codec::G729a => (11.0, 19.0),
            Codec::G7231 => (15.0, 16.1),
            Codec::GsmEfr => (5.0, 10.0),
        }
    }
}

/// When messages are played.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Playout {
    /// With the fixed delay that is best for the whole call, as it turned out.
    #[default]
    Best,
    /// So long after the first message came, and each further one as much later as it was spoken later.
    Fixed(Duration),
    /// With a delay that follows what was measured.
    Adaptive,
}

impl TryFrom<String> for Playout {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        match text.as_str() {
            "best" => Ok(Playout::Best),
            "adaptive" => Ok(Playout::Adaptive),
            time => time.parse().map(Playout::Fixed).map_err(|error: longhaul_units::UnitError| {
                format!("{error}; it is \"best\", \"adaptive\" or a time as in \"60 ms\"")
            }),
        }
    }
}

impl From<Playout> for String {
    fn from(playout: Playout) -> String {
        match playout {
            Playout::Best => "best".to_string(),
            Playout::Adaptive => "adaptive".to_string(),
            Playout::Fixed(time) => time.to_string(),
        }
    }
}

impl JsonSchema for Playout {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Playout".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": "string",
            "description": "\"best\" (the fixed delay that turned out best), a time as in \"60 ms\" that the first message waits, or \
                            \"adaptive\": the delay of each message is d + 4 v, d and v the averages of delay and variation so far \
                            (Ramjee et al. 1994, algorithm 1).",
            "examples": ["best", "60 ms", "adaptive"],
        })
    }
}

/// Reads `true`, `false`, or the table of a call.
pub(crate) fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Call>, D::Error> {
    struct Voice;
    impl<'de> Visitor<'de> for Voice {
        type Value = Option<Call>;
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("true, false, or a table, as in { codec = \"g711\", playout = \"60 ms\" }")
        }
        fn visit_bool<E: Error>(self, is_call: bool) -> Result<Option<Call>, E> {
            Ok(is_call.then(Call::default))
        }
        fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Option<Call>, A::Error> {
            Call::deserialize(MapAccessDeserializer::new(map)).map(Some)
        }
    }
    deserializer.deserialize_any(Voice)
}

/// Writes what [`read`] reads, `true` for a call without settings of its own.
pub(crate) fn write<S: Serializer>(call: &Option<Call>, serializer: S) -> Result<S::Ok, S::Error> {
    match call {
        None => serializer.serialize_bool(false),
        Some(call) if *call == Call::default() => serializer.serialize_bool(true),
        Some(call) => call.serialize(serializer),
    }
}

/// Schema of what [`read`] reads.
pub(crate) fn schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({ "anyOf": [{ "type": "boolean" }, generator.subschema_for::<Call>()] })
}

/// Weight of what is known in the averages of the adaptive playout (Ramjee et al. 1994, section 4).
const KEPT: f64 = 0.998_002;
/// Variations that its delay is above the mean.
const VARIATIONS: f64 = 4.0;

/// Someone who listens to a call over datagrams: each message is played or lost for itself.
#[derive(Clone, Debug)]
pub(crate) struct Ear {
    call: Call,
    /// What a message takes to be spoken.
    message: Duration,
    /// When the messages were written of which none with a higher number has come.
    underway: VecDeque<Instant>,
    delays: Histogram,
    player: Player,
    played: Played,
}

/// What decides when messages are played, by their delays in s so far.
#[derive(Clone, Debug)]
enum Player {
    Best,
    Fixed { wait: f64, deadline: Option<f64> },
    Adaptive { averages: Option<(f64, f64)> },
}

impl Player {
    fn new(playout: Playout) -> Self {
        match playout {
            Playout::Best => Player::Best,
            Playout::Fixed(wait) => Player::Fixed { wait: wait.as_secs_f64(), deadline: None },
            Playout::Adaptive => Player::Adaptive { averages: None },
        }
    }

    /// The delay with which the next message is played; `None` before the first has come, and where it is chosen afterwards.
    fn delay(&self) -> Option<f64> {
        match self {
            Player::Best => None,
            Player::Fixed { deadline, .. } => *deadline,
            Player::Adaptive { averages } => averages.map(|(mean, variation)| mean + VARIATIONS * variation),
        }
    }

    /// A message has come after `delay`. The first variation, which the source leaves open, is the time of a message.
    fn learn(&mut self, delay: f64, message: f64) {
        match self {
            Player::Best => {}
            Player::Fixed { wait, deadline } => {
                deadline.get_or_insert(delay + *wait);
            }
            Player::Adaptive { averages } => {
                let (mean, variation) = averages.unwrap_or((delay, message));
                let mean = KEPT * mean + (1.0 - KEPT) * delay;
                let variation = KEPT * variation + (1.0 - KEPT) * (mean - delay).abs();
                *averages = Some((mean, variation));
            }
        }
    }
}

impl Ear {
    pub fn new(call: Call, message: Duration) -> Self {
        Ear {
            call,
            message,
            underway: VecDeque::new(),
            delays: Histogram::default(),
            player: Player::new(call.playout),
            played: Played::default(),
        }
    }

    pub fn message_written(&mut self, now: Instant) {
        self.underway.push_back(now);
    }

    /// The next so many messages are no more on their way, or one that is later has come.
    pub fn passed(&mut self, messages: u64) {
        let known = self.underway.len().min(messages as usize);
        self.underway.drain(..known);
    }

    /// A message has come for the first time.
    pub fn message_arrived(&mut self, delay: Duration) {
        self.delays.record(delay);
        let (delay, message) = (delay.as_secs_f64(), self.message.as_secs_f64());
        let played_at = self.player.delay();
        self.player.learn(delay, message);
        if let Some(playout) = played_at.or_else(|| self.player.delay()) {
            self.played.messages += 1;
            self.played.delay_s += playout;
            self.played.late += u64::from(delay > playout);
        }
    }

    /// What comes later is measured.
    pub fn measure_anew(&mut self) {
        self.delays.clear();
        self.played = Played::default();
    }

    /// How it was heard until now, with so many messages `missing`.
    pub fn hearing(&self, now: Instant, missing: u64) -> Hearing {
        let (mut delays, mut played) = (self.delays.clone(), self.played);
        let mean = delays.mean().unwrap_or(Duration::ZERO);
        let so_far = self.underway.iter().map(|written| now.since((*written).min(now)));
        for time in so_far.filter(|time| *time > mean) {
            delays.record(time);
            if let Some(playout) = self.player.delay().filter(|playout| time.as_secs_f64() > *playout) {
                played.messages += 1;
                played.delay_s += playout;
                played.late += 1;
            }
        }
        let played = (self.call.playout != Playout::Best).then_some(played);
        Hearing { delays, message: self.message, codec: self.call.codec, missing, played }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn ear(playout: Playout) -> Ear {
        Ear::new(Call { playout, ..Call::default() }, ms(20))
    }

    fn played(ear: &Ear) -> Played {
        ear.hearing(Instant::ZERO, 0).played.unwrap()
    }

    /// The first message takes 50 ms and waits 60 ms more: what takes longer than 110 ms is too late.
    #[test]
    fn a_fixed_buffer_plays_what_comes_as_late_as_it_holds_the_first_message() {
        let mut ear = ear(Playout::Fixed(ms(60)));
        for delay in [50, 110, 111, 30] {
            ear.message_arrived(ms(delay));
        }
        let found = played(&ear);
        assert_eq!((found.messages, found.late), (4, 1));
        assert!((found.delay_s - 4.0 * 0.110).abs() < 1e-9);
    }

    /// Delays of 50 ms: the variation falls from 20 ms by 0.998002 for each message. After 3,000 the delay is 50 ms + 4 x 0.05 ms.
    #[test]
    fn an_adaptive_buffer_falls_to_a_constant_delay_and_rises_with_its_variation() {
        let mut ear = ear(Playout::Adaptive);
        (0..3000).for_each(|_| ear.message_arrived(ms(50)));
        assert_eq!(played(&ear).late, 0);
        let quiet = ear.player.delay().unwrap();
        let expected = 0.050 + 4.0 * 0.020 * KEPT.powi(3000);
        assert!((quiet - expected).abs() < 1e-9, "{quiet} is not {expected}");
        (0..3000).for_each(|number| ear.message_arrived(ms(if number % 2 == 0 { 50 } else { 90 })));
        // The mean goes to 70 ms, and each delay is 20 ms from it: 70 + 4 x 20 = 150 ms.
        let noisy = ear.player.delay().unwrap();
        assert!((noisy - 0.150).abs() < 0.001, "{noisy}");
    }

    #[test]
    fn messages_on_their_way_are_late_once_they_are() {
        let mut ear = ear(Playout::Fixed(ms(60)));
        ear.message_written(Instant::ZERO);
        ear.message_written(Instant::ZERO + ms(20));
        ear.passed(1);
        ear.message_arrived(ms(50));
        let at = |time: u64| ear.hearing(Instant::ZERO + ms(time), 0).played.unwrap();
        assert_eq!((at(100).messages, at(100).late), (1, 0));
        assert_eq!((at(131).messages, at(131).late), (2, 1));
    }

    #[test]
    fn voice_is_a_word_or_a_table() {
        #[derive(Serialize, Deserialize, Debug, PartialEq)]
        struct Document {
            #[serde(deserialize_with = "read", serialize_with = "write")]
            voice: Option<Call>,
        }
        let parsed = |text: &str| toml::from_str::<Document>(text).map_err(|error| error.to_string());
        let fixed = Call { codec: Codec::G729a, playout: Playout::Fixed(ms(60)) };
        for (text, voice) in [
            ("voice = true\n", Some(Call::default())),
            ("voice = false\n", None),
            ("voice = { codec = \"g729a\", playout = \"60 ms\" }\n", Some(fixed)),
            (
                "voice = { playout = \"adaptive\" }\n",
                Some(Call { playout: Playout::Adaptive, ..Call::default() }),
            ),
        ] {
            let document = parsed(text).unwrap();
            assert_eq!(document.voice, voice);
            assert_eq!(parsed(&toml::to_string(&document).unwrap()), Ok(document));
        }
        assert!(parsed("voice = { playout = \"soon\" }\n").unwrap_err().contains("\"adaptive\" or a time"));
        assert!(parsed("voice = { codec = \"opus\" }\n").unwrap_err().contains("g711"));
        assert!(parsed("voice = \"g711\"\n").unwrap_err().contains("true, false, or a table"));
    }
}
