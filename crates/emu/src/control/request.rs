//! Requests to a running emulator: what they look like, who sends them, and what is set on links in words.

use super::{LONGEST, PATIENCE, place};
use crate::Error;
use longhaul_scenario::LinkSetting;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::str::FromStr;

/// The answer may come after it holds.
const ANSWER: u32 = 5;

/// What is requested.
#[derive(Debug)]
pub(super) enum Request {
    /// To set something on a link: the link, and what.
    Set(Vec<String>),
    Status,
}

impl Request {
    pub fn of(line: &str) -> Result<Request, String> {
        let json: Value = serde_json::from_str(line).map_err(|why| format!("this is no request: {why}"))?;
        if let Some(words) = json["set"].as_array() {
            let words =
                words.iter().map(|word| word.as_str().map(str::to_string)).collect::<Option<Vec<_>>>();
            return words
                .map(Request::Set)
                .ok_or_else(|| "this is no request: `set` takes texts".to_string());
        }
        match json["status"].as_bool() {
            Some(true) => Ok(Request::Status),
            _ => Err("this is no request: it has neither `set` nor `status`".to_string()),
        }
    }
}

/// What is set on links: the link's name, its directions (forward, reverse), and the setting; `words` are the link and what follows.
/// `known` are the links that there are.
pub(super) fn setting(
    words: &[String],
    known: &[String],
) -> Result<(String, [bool; 2], LinkSetting), String> {
    let (first, rest) = words.split_first().ok_or("which link?")?;
    let (name, sides) = match first.rsplit_once('.') {
        Some((name, "forward")) => (name, [true, false]),
        Some((name, "reverse")) => (name, [false, true]),
        _ => (&first[..], [true, true]),
    };
    if !known.iter().any(|link| link == name) {
        let all: Vec<String> =
            known.iter().map(|link| format!("{link} ({link}.forward, {link}.reverse)")).collect();
        let all = if all.is_empty() { "none that can be set".to_string() } else { all.join(", ") };
        return Err(format!("there is no link \"{first}\"; there are: {all}"));
    }
    let mut setting = LinkSetting::default();
    for word in rest {
        let twice = match (&word[..], word.split_once('=')) {
            ("up" | "down", _) => setting.up.replace(word == "up").is_some(),
            (_, Some(("rate", value))) => replace("rate", &mut setting.rate, value)?,
            (_, Some(("delay", value))) => replace("delay", &mut setting.delay, value)?,
            (_, Some(("loss", value))) => replace("loss", &mut setting.loss, value)?,
            _ => {
                return Err(format!(
                    "\"{word}\" cannot be set while it runs; rate=10Mbit/s, delay=300ms, loss=1%, down and up can"
                ));
            }
        };
        if twice {
            let what = word.split('=').next().unwrap_or(word);
            let what = if ["up", "down"].contains(&what) { "`up` or `down`" } else { what };
            return Err(format!("{what} is given twice"));
        }
    }
    if setting == LinkSetting::default() {
        return Err(format!(
            "nothing to be set on {first}; for instance rate=10Mbit/s, delay=300ms, loss=1%, down, up"
        ));
    }
    Ok((name.to_string(), sides, setting))
}

/// Reads a value; true if there was one already.
fn replace<T: FromStr<Err: std::fmt::Display>>(
    key: &str,
    place: &mut Option<T>,
    text: &str,
) -> Result<bool, String> {
    let value = text.parse().map_err(|why| format!("{key}: {why}"))?;
    Ok(place.replace(value).is_some())
}

/// Names of the user's emulators that run.
pub fn running() -> Vec<String> {
    place::all().into_iter().map(|(name, _)| name).collect()
}

/// Sends a request to the emulator of this name, or to the one that runs, and returns its answer.
///
/// # Errors
/// If there is none, or several; the emulator's message.
pub fn ask(name: Option<&str>, request: &Value) -> Result<Value, Error> {
    let (name, stream) = match name {
        Some(wanted) => (wanted.to_string(), place::one(wanted).ok_or_else(|| nobody(wanted))?),
        None => only()?,
    };
    let failed = |why: std::io::Error| Error::system(format!("ask the emulator {name}"), why);
    exchange(&stream, request).map_err(failed).and_then(|answer| match answer["error"].as_str() {
        Some(why) => Err(Error::Unsupported(why.to_string())),
        None => Ok(answer),
    })
}

fn nobody(wanted: &str) -> Error {
    let names = running();
    let names = if names.is_empty() { "none".to_string() } else { names.join(", ") };
    Error::Unsupported(format!(
        "--name {wanted}: no emulator of this name and user is running; there are: {names}"
    ))
}

/// The emulator that runs, if it is one.
fn only() -> Result<(String, UnixStream), Error> {
    let mut all = place::all();
    match all.len() {
        0 => Err(Error::Unsupported("no emulator of this user is running".to_string())),
        1 => Ok(all.remove(0)),
        _ => {
            let names: Vec<String> = all.into_iter().map(|(name, _)| name).collect();
            let text = format!("several emulators are running: choose one with --name: {}", names.join(", "));
            Err(Error::Unsupported(text))
        }
    }
}

fn exchange(stream: &UnixStream, request: &Value) -> std::io::Result<Value> {
    stream.set_write_timeout(Some(PATIENCE))?;
    stream.set_read_timeout(Some(PATIENCE * ANSWER))?;
    (&*stream).write_all(format!("{request}\n").as_bytes())?;
    let mut line = String::new();
    BufReader::new(stream.take(LONGEST * 64)).read_line(&mut line)?;
    if line.is_empty() {
        return Ok(json!({ "error": "it has ended without an answer" }));
    }
    Ok(serde_json::from_str(&line)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use longhaul_units::{Duration, Probability, Rate};

    fn read(words: &str) -> Result<(String, [bool; 2], LinkSetting), String> {
        let words: Vec<String> = words.split_whitespace().map(str::to_string).collect();
        setting(&words, &["sat".to_string(), "lan".to_string()])
    }

    #[test]
    fn what_is_set_is_read_with_and_without_a_direction() {
        let (name, sides, setting) = read("sat rate=10Mbit/s delay=300ms loss=1% down").unwrap();
        assert_eq!((&name[..], sides), ("sat", [true, true]));
        assert_eq!(
            setting,
            LinkSetting {
                rate: Some(Rate::from_bps(10_000_000)),
                delay: Some(Duration::from_millis(300)),
                loss: Probability::new(0.01),
                up: Some(false),
            }
        );
        assert_eq!(read("lan.reverse up").unwrap().1, [false, true]);
        assert_eq!(read("lan.forward rate=0bit/s").unwrap().2.rate, Some(Rate::ZERO));
    }

    #[test]
    fn each_bad_input_has_one_message() {
        for (words, message) in [
            ("", "which link?"),
            (
                "moon up",
                "there is no link \"moon\"; there are: sat (sat.forward, sat.reverse), lan (lan.forward, lan.reverse)",
            ),
            (
                "sat.up up",
                "there is no link \"sat.up\"; there are: sat (sat.forward, sat.reverse), lan (lan.forward, lan.reverse)",
            ),
            ("sat", "nothing to be set on sat; for instance rate=10Mbit/s, delay=300ms, loss=1%, down, up"),
            (
                "sat jitter=3ms",
                "\"jitter=3ms\" cannot be set while it runs; rate=10Mbit/s, delay=300ms, loss=1%, down and up can",
            ),
            ("sat rate=1Mbit/s rate=2Mbit/s", "rate is given twice"),
            ("sat up down", "`up` or `down` is given twice"),
            (
                "sat loss=200%",
                "loss: \"200%\" cannot be represented: a probability lies between 0 and 1 (0 % and 100 %)",
            ),
        ] {
            assert_eq!(read(words).unwrap_err(), message, "{words}");
        }
        assert!(read("sat rate=10").unwrap_err().starts_with("rate: \"10\" has no unit"));
        assert!(read("sat delay=-3ms").unwrap_err().contains("not negative"));
        for line in ["", "{}", "[1]", "{\"set\": [1]}", "{\"status\": false}"] {
            assert!(Request::of(line).unwrap_err().starts_with("this is no request"), "{line}");
        }
    }
}
