//! Profiles of real networks: `profile = "starlink"` on a link stands for ordinary settings, each of which may be given beside it.
//!
//! One file for each, with the source of every number. A profile is written into the document before it is read as a scenario: the
//! resolved scenario has the settings, and a run is identified by them.

use crate::Scenario;
use crate::error::nearest;
use schemars::JsonSchema;
use serde::de::{Deserializer, Error, IntoDeserializer, MapAccess, Visitor, value::MapAccessDeserializer};
use serde::{Deserialize, Serialize};
use std::fmt;
use toml::{Table, Value};

/// The name of each, and its file.
const FILES: [(&str, &str); 9] = [
    ("starlink", include_str!("starlink.toml")),
    ("oneweb", include_str!("oneweb.toml")),
    ("meo", include_str!("meo.toml")),
    ("geo-ka", include_str!("geo-ka.toml")),
    ("geo-ku", include_str!("geo-ku.toml")),
    ("maritime-vsat", include_str!("maritime-vsat.toml")),
    ("inflight", include_str!("inflight.toml")),
    ("lte", include_str!("lte.toml")),
    ("5g", include_str!("5g.toml")),
];

/// What people call them too.
const SYNONYMS: [(&str, &str); 16] = [
    ("leo", "starlink"),
    ("dish", "starlink"),
    ("spacex", "starlink"),
    ("eutelsat", "oneweb"),
    ("geo", "geo-ka"),
    ("gso", "geo-ka"),
    ("satellite", "geo-ka"),
    ("viasat", "geo-ka"),
    ("o3b", "meo"),
    ("vsat", "maritime-vsat"),
    ("ship", "maritime-vsat"),
    ("4g", "lte"),
    ("mobile", "lte"),
    ("cellular", "lte"),
    ("nr", "5g"),
    ("aircraft", "inflight"),
];

/// A real network that a link is like.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProfileSpec {
    /// Its name: see `longhaul list profiles`.
    #[serde(deserialize_with = "known")]
    #[schemars(schema_with = "name_schema")]
    pub name: String,
    /// The node at which the dish or the modem is, one of the link's two; the second, if it is not given. Down is towards it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub terminal: Option<String>,
}

/// Where a number of a profile is from.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Source {
    /// The settings.
    pub setting: String,
    /// What the source has.
    pub says: String,
    /// The source, or that it is an assumption.
    pub from: String,
}

/// What a profile's file has.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// Its name.
    #[serde(default)]
    pub name: String,
    /// One line.
    pub summary: String,
    /// What the network does that the profile does not have.
    pub leaves_out: String,
    /// Settings of the link in both directions.
    #[serde(default)]
    pub both: Table,
    /// Settings towards the terminal.
    pub down: Table,
    /// Settings from the terminal.
    pub up: Table,
    /// Where they are from.
    pub source: Vec<Source>,
}

/// All profiles.
pub fn all() -> Vec<Profile> {
    names().filter_map(read).collect()
}

/// The profile of a name.
fn read(name: &str) -> Option<Profile> {
    let (_, text) = FILES.iter().find(|(ours, _)| *ours == name)?;
    let profile: Profile = toml::from_str(text).expect("a profile is written in its form");
    Some(Profile { name: name.to_string(), ..profile })
}

fn names() -> impl Iterator<Item = &'static str> {
    FILES.iter().map(|(name, _)| *name)
}

/// The message for a name that is none.
fn unknown(name: &str) -> String {
    let lower = name.to_lowercase().replace(['_', ' '], "-");
    let other = SYNONYMS.iter().find(|(word, _)| *word == lower).map(|(_, ours)| *ours);
    let same = names().find(|ours| *ours == lower || ours.replace('-', "") == lower.replace('-', ""));
    let help = match other.or(same) {
        Some(ours) => format!(", did you mean \"{ours}\"?"),
        None => nearest(name, names()).map_or_else(String::new, |help| format!(", {help}")),
    };
    format!(
        "\"{name}\" is no profile of a network{help}; there are {}",
        names().collect::<Vec<_>>().join(", ")
    )
}

fn known<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let name = String::deserialize(deserializer)?;
    if names().any(|ours| ours == name) { Ok(name) } else { Err(D::Error::custom(unknown(&name))) }
}

/// Reads a profile, or its name.
pub(crate) fn given<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<ProfileSpec>, D::Error> {
    struct Given;
    impl<'de> Visitor<'de> for Given {
        type Value = ProfileSpec;
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str(
                "a name, as in \"starlink\", or a table, as in { name = \"starlink\", terminal = \"dish\" }",
            )
        }
        fn visit_str<E: Error>(self, text: &str) -> Result<ProfileSpec, E> {
            Ok(ProfileSpec { name: known(text.into_deserializer())?, terminal: None })
        }
        fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<ProfileSpec, A::Error> {
            ProfileSpec::deserialize(MapAccessDeserializer::new(map))
        }
    }
    deserializer.deserialize_any(Given).map(Some)
}

fn name_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({ "type": "string", "enum": names().collect::<Vec<_>>() })
}

/// Schema of a profile and of its name.
pub(crate) fn given_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({
        "anyOf": [
            generator.subschema_for::<ProfileSpec>(),
            { "type": "string", "enum": names().collect::<Vec<_>>() },
            { "type": "null" },
        ],
    })
}

/// True if a link of the scenario has one.
pub(crate) fn are_wanted(scenario: &Scenario) -> bool {
    scenario.link.iter().any(|link| link.profile.is_some())
        || scenario.dumbbell.as_ref().is_some_and(|dumbbell| dumbbell.bottleneck.profile.is_some())
}

/// Writes the settings of profiles into the links of a document. What is given stays.
///
/// # Errors
/// A terminal that is at no end of its link: the place of the link, and the message.
pub(crate) fn fill_in(document: &mut Table) -> Result<(), (String, String)> {
    if let Some(link) = document.get_mut("dumbbell").and_then(|dumbbell| dumbbell.get_mut("bottleneck")) {
        let ends = [crate::DumbbellSpec::LEFT, crate::DumbbellSpec::RIGHT].map(String::from);
        expand(link, &ends)
            .map_err(|message| ("dumbbell.bottleneck.profile.terminal".to_string(), message))?;
    }
    for link in document.get_mut("link").and_then(Value::as_array_mut).into_iter().flatten() {
        let text = |value: Option<&Value>| value.and_then(Value::as_str).unwrap_or_default().to_string();
        let ends = [0, 1].map(|end| text(link.get("ends").and_then(|ends| ends.get(end))));
        let name = text(link.get("name"));
        expand(link, &ends).map_err(|message| (format!("link.{name}.profile.terminal"), message))?;
    }
    Ok(())
}

/// One link.
fn expand(link: &mut Value, ends: &[String; 2]) -> Result<(), String> {
    let Some(link) = link.as_table_mut() else { return Ok(()) };
    let Some(spec) = link.remove("profile").and_then(|value| given(value).ok().flatten()) else {
        return Ok(());
    };
    let Some(profile) = read(&spec.name) else { return Ok(()) };
    let at_second = match &spec.terminal {
        Some(terminal) if *terminal == ends[0] => false,
        Some(terminal) if *terminal != ends[1] => {
            return Err(format!(
                "the link's nodes are \"{}\" and \"{}\", not \"{terminal}\"",
                ends[0], ends[1]
            ));
        }
        _ => true,
    };
    let [forward, reverse] = if at_second { [profile.down, profile.up] } else { [profile.up, profile.down] };
    let own = ["forward", "reverse"]
        .map(|name| link.get(name).and_then(Value::as_table).cloned().unwrap_or_default());
    let common = link.clone();
    let directions = [("forward", forward, &own[0]), ("reverse", reverse, &own[1])];
    // What a direction's own settings leave of the profile in that direction; where both are alike, it is the link's.
    let mut left = directions.map(|(name, wanted, own)| {
        let mut all = profile.both.clone();
        all.extend(wanted);
        let given: Table =
            common.iter().chain(own).map(|(key, value)| (key.clone(), value.clone())).collect();
        (name, remaining(all, &given))
    });
    let [(_, there), (_, back)] = &mut left;
    for key in profile.both.keys() {
        if let (Some(one), Some(other)) = (there.get(key), back.get(key)) {
            if one == other {
                link.insert(key.clone(), one.clone());
                there.remove(key);
                back.remove(key);
            }
        }
    }
    for (name, settings) in left {
        if settings.is_empty() {
            continue;
        }
        let table = link.entry(name).or_insert_with(|| Value::Table(Table::new()));
        if let Some(table) = table.as_table_mut() {
            table.extend(settings);
        }
    }
    Ok(())
}

/// What of a profile stands beside settings that are given: neither they themselves, nor what they are in the place of.
fn remaining(mut profile: Table, given: &Table) -> Table {
    let has = |table: &str, key: &str| given.get(table).and_then(|table| table.get(key)).is_some();
    let changes = |key: &str| {
        let list = given.get("changes").and_then(Value::as_array);
        list.into_iter().flatten().any(|change| change.get(key).is_some())
    };
    let grants = given.contains_key("demand") || given.contains_key("serial");
    let measured_rate = has("trace", "rate") || given.contains_key("acm");
    let measured_delay = has("trace", "delay") || given.contains_key("leo");
    if measured_rate {
        profile.remove("rate");
    }
    if measured_delay {
        profile.remove("delay");
    }
    if has("trace", "loss") {
        profile.remove("loss");
    }
    let still_rate = measured_rate || grants || changes("rate");
    let still_delay = measured_delay || changes("delay");
    if let Some(Value::Array(tables)) = profile.get_mut("wander") {
        for table in tables.iter_mut().filter_map(Value::as_table_mut) {
            if still_rate {
                table.remove("spread");
                table.remove("factors");
            }
            if still_delay {
                table.remove("delay");
            }
        }
        tables.retain(|table| ["spread", "factors", "delay"].iter().any(|key| table.get(key).is_some()));
        if tables.is_empty() {
            profile.remove("wander");
        }
    }
    profile.retain(|key, _| !given.contains_key(key));
    profile
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DirectionSpec, load, resolved_toml, run_id};
    use longhaul_path::LinkConfig;

    fn scenario(link: &str) -> String {
        format!(
            "[run]\nduration = \"60 s\"\n[[link]]\nname = \"l\"\nends = [\"ground\", \"dish\"]\n{link}\n[[flow]]\nfrom = \"ground\"\nto = \"dish\"\n"
        )
    }

    fn directions(link: &str, overrides: &[(&str, &str)]) -> [DirectionSpec; 2] {
        let overrides: Vec<_> =
            overrides.iter().map(|(path, value)| (path.to_string(), value.to_string())).collect();
        match load(&scenario(link), "test", &overrides) {
            Ok(read) => read.link[0].directions(),
            Err(error) => panic!("{error}"),
        }
    }

    fn configs(link: &str) -> [LinkConfig; 2] {
        let read = load(&scenario(link), "test", &[]).unwrap();
        let network = crate::Network::new(&read);
        let found: Vec<_> = network.links.iter().map(|link| link.config.clone()).collect();
        found.try_into().unwrap()
    }

    /// Each has every number's source, and is what a link can be.
    #[test]
    fn every_profile_is_a_link_and_names_its_sources() {
        for profile in all() {
            let [down, up] = directions(&format!("profile = \"{}\"", profile.name), &[]);
            assert!(down.rate > up.rate, "{}", profile.name);
            let written: Vec<&str> = profile.source.iter().map(|source| source.setting.as_str()).collect();
            let written = written.join(", ");
            let keys = profile.both.keys().chain(profile.down.keys()).chain(profile.up.keys());
            for key in keys {
                assert!(written.contains(key.as_str()), "{}: no source of {key}", profile.name);
            }
            assert!(!profile.leaves_out.is_empty() && !profile.summary.ends_with('.'));
            // netem's 1 ms of jitter lets packets overtake (Haivision/srt#735): none of these does.
            assert!(
                configs(&format!("profile = \"{}\"", profile.name)).iter().all(|config| !config.reorders())
            );
        }
    }

    /// What is given beside a profile holds, for one direction or for both, in the file or by an override.
    #[test]
    fn what_is_given_beside_a_profile_holds() {
        let [plain, back] = directions("profile = \"starlink\"", &[]);
        let [down, up] = directions("profile = \"starlink\"\nrate = \"50 Mbit/s\"", &[]);
        assert_eq!((down.rate, up.rate), ("50 Mbit/s".parse().ok(), "50 Mbit/s".parse().ok()));
        assert_eq!((down.wander.clone(), down.queue), (plain.wander.clone(), plain.queue));
        let [down, up] = directions(
            "profile = \"starlink\"\nreverse.delay = \"9 ms\"",
            &[("link.l.forward.rate", "1 Gbit/s")],
        );
        assert_eq!((down.rate, up.rate), ("1 Gbit/s".parse().ok(), back.rate));
        assert_eq!((down.delay, up.delay), (plain.delay, "9 ms".parse().ok()));
        let [down, _] = directions("profile = \"starlink\"\nwander = []\noutages = []", &[]);
        assert!(down.wander.unwrap().is_empty() && down.outages.unwrap().is_empty());
        let [down, _] = directions("rate = \"1 Mbit/s\"", &[("link.l.profile", "geo-ka")]);
        assert_eq!(down.delay, "280 ms".parse().ok());
    }

    /// Down is towards the terminal, wherever it is.
    #[test]
    fn the_terminal_may_be_the_first_node() {
        let [down, up] = directions("profile = \"lte\"", &[]);
        let turned = directions("profile = { name = \"lte\", terminal = \"ground\" }", &[]);
        assert_eq!(turned, [up, down]);
        let error =
            load(&scenario("profile = { name = \"lte\", terminal = \"moon\" }"), "test", &[]).unwrap_err();
        let error = error.to_string();
        assert!(
            error.contains("link.l.profile.terminal") && error.contains("\"ground\" and \"dish\""),
            "{error}"
        );
    }

    /// A measurement, satellites or a script of its own take the place of what the profile has.
    #[test]
    fn what_is_measured_takes_a_profiles_place() {
        let leo = "leo = { terminal = { latitude = 50, longitude = 8 }, gateway = { latitude = 50, longitude = 8 } }";
        let [down, _] = directions(&format!("profile = \"starlink\"\n{leo}"), &[]);
        assert!(down.delay.is_none() && down.rate.is_some());
        assert!(down.wander.unwrap().iter().all(|table| table.delay.is_none()));
        let [down, up] = directions(
            "profile = \"starlink\"\nforward.changes = [{ at = \"9 s\", rate = \"1 Mbit/s\" }]",
            &[],
        );
        assert!(down.wander.unwrap().iter().all(|table| !table.moves_rate()));
        assert!(up.wander.unwrap().iter().any(longhaul_path::WanderSpec::moves_rate));
        let [_, up] = directions("profile = \"geo-ka\"\nreverse.demand = { delay = \"600 ms\" }", &[]);
        assert!(up.wander.is_none() && up.demand.is_some());
    }

    /// The resolved scenario has settings, and no profile: it is read back as the same run.
    #[test]
    fn the_resolved_scenario_is_what_the_profile_became() {
        for profile in all() {
            let read = load(&scenario(&format!("profile = \"{}\"", profile.name)), "test", &[]).unwrap();
            let text = resolved_toml(&read);
            assert!(!text.contains("profile") && text.contains("rate"));
            assert_eq!(run_id(&load(&text, "test", &[]).unwrap()), run_id(&read), "{}", profile.name);
        }
    }

    /// Rates of both directions wander each for itself; the delay, which is one way's, is the same there and back.
    #[test]
    fn a_wandering_delay_is_shared_and_a_rate_is_not() {
        let [down, up] = configs("profile = \"starlink\"\njitter = \"0 ms\"");
        let at = |config: &LinkConfig, second: u64| {
            config.schedule().from(longhaul_units::Instant::from_nanos(second * 1_000_000_000))
        };
        let mut alike = 0;
        for second in 0..60 {
            let ((down_rate, down_delay), (up_rate, up_delay)) = (at(&down, second), at(&up, second));
            assert_eq!(down_delay, up_delay);
            let share = down_rate.as_bps() as f64 / 105e6 - up_rate.as_bps() as f64 / 15e6;
            alike += usize::from(share.abs() < 0.01);
        }
        assert!(alike < 12, "{alike}");
        assert_eq!(down.rate, "105 Mbit/s".parse().unwrap());
        assert_eq!(down.delay, "7.2 ms".parse().unwrap());
        // The same where each direction has a list of its own, and where one of them has no tables of the rate.
        let delay = "{ every = \"1 s\", delay = \"20 ms\" }";
        let [down, up] = configs(&format!(
            "rate = \"1 Mbit/s\"\ndelay = \"9 ms\"\nwander = [{delay}]\nforward.wander = [{{ every = \"1 s\", spread = 0.1 }}, {delay}]"
        ));
        assert!((0..60).all(|second| at(&down, second).1 == at(&up, second).1));
    }

    /// Rates stay above zero, and change: a trace with none in it stalls its reader (hongzimao/pensieve#39).
    #[test]
    fn rates_are_never_zero() {
        for config in configs("profile = \"inflight\"") {
            let rates: Vec<u64> = (0..60)
                .map(|second| {
                    config
                        .schedule()
                        .from(longhaul_units::Instant::from_nanos(second * 1_000_000_000))
                        .0
                        .as_bps()
                })
                .collect();
            assert!(rates.iter().all(|rate| *rate > 0) && rates.iter().any(|rate| *rate != rates[0]));
        }
    }

    #[test]
    fn a_name_that_is_none_leads_to_the_nearest() {
        for (given, meant) in [
            ("starlnk", "starlink"),
            ("5G", "5g"),
            ("GEO", "geo-ka"),
            ("4g", "lte"),
            ("maritime_vsat", "maritime-vsat"),
            ("geoku", "geo-ku"),
        ] {
            let error =
                load(&scenario(&format!("profile = \"{given}\"")), "test.toml", &[]).unwrap_err().to_string();
            assert!(
                error.contains(&format!("did you mean \"{meant}\"?")) && error.contains("test.toml:6"),
                "{error}"
            );
        }
        let error = load(&scenario("profile = { name = \"x\" }"), "test", &[]).unwrap_err().to_string();
        assert!(error.contains("there are starlink, oneweb"), "{error}");
    }
}
