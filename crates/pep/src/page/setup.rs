//! From an operator's answers to a configuration file. Pure.

use crate::Error;
use crate::config::{Config, Keys, Mode};
use crate::load;
use crate::prefix::Prefix;
use longhaul_units::{Rate, Size};
use serde::{Deserialize, Serialize};
use std::fmt::Write;
use std::path::Path;

/// The rate of the tunnel's packets, of the link's: their headers, and what the link itself adds, need the rest.
const OF_THE_LINK: f64 = 0.99;
/// Two round trips of a geostationary satellite, in seconds.
const TWO_ROUND_TRIPS: f64 = 1.3;
/// In bytes.
const LEAST_BUFFER: u64 = 1_000_000;

/// What an operator has answered.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Answers {
    /// What this node is.
    pub mode: Mode,
    /// At a terminal: the hub, by name or address with its port.
    #[serde(default)]
    pub hub: String,
    /// At a terminal: the hub's public key.
    #[serde(default)]
    pub hub_key: String,
    /// At a hub: its UDP and TCP port.
    #[serde(default = "usual_port")]
    pub port: u16,
    /// At a hub: the terminal's name.
    #[serde(default)]
    pub terminal: String,
    /// At a hub: the terminal's public key.
    #[serde(default)]
    pub terminal_key: String,
    /// At a hub: networks of clients whose addresses servers see.
    #[serde(default)]
    pub sources: Vec<String>,
    /// At a hub: private networks behind it that terminals may reach.
    #[serde(default)]
    pub private: Vec<String>,
    /// The link's rates, as in `50 Mbit/s`; empty if they are to be measured.
    #[serde(default)]
    pub down: String,
    /// See `down`.
    #[serde(default)]
    pub up: String,
    /// Where the clients come in.
    #[serde(default)]
    pub interfaces: Vec<String>,
    /// A SOCKS5 proxy on loopback, by which this machine itself can load a page.
    #[serde(default)]
    pub socks: bool,
}

fn usual_port() -> u16 {
    7714
}

/// A value as TOML has it.
fn quoted(text: &str) -> String {
    toml::Value::String(text.trim().to_string()).to_string()
}

fn list(values: &[String]) -> String {
    values.iter().map(|value| quoted(value)).collect::<Vec<_>>().join(", ")
}

/// A link's rate; `None` for one that is still to be measured.
fn rate(name: &str, text: &str) -> Result<Option<Rate>, Error> {
    let text = text.trim();
    if text.is_empty() {
        return Ok(None);
    }
    let rate: Rate = text.parse().map_err(|why| Error::Config(format!("the rate {name}: {why}")))?;
    Ok(Some(Rate::from_bps((rate.as_bps() as f64 * OF_THE_LINK) as u64)))
}

/// The answers that lead to a file like this one, as far as there are questions. Rates of files by hand that no answer has are rounded.
pub fn answers(config: &Config) -> Answers {
    let of_link = |rate: Option<Rate>| {
        let link = |rate: Rate| Rate::from_bps((rate.as_bps() as f64 / OF_THE_LINK).round() as u64);
        rate.map_or(String::new(), |rate| link(rate).to_string())
    };
    // A buffer of the least size has no rate.
    let of_buffer = |size: Size| {
        let bps = size.as_bytes() as f64 * 8.0 / TWO_ROUND_TRIPS;
        (size.as_bytes() > LEAST_BUFFER).then(|| Rate::from_bps((bps / 1000.0).round() as u64 * 1000))
    };
    let hop = config.hop.as_ref();
    let sent = hop.and_then(|hop| hop.most_rate.or(hop.send_rate));
    let (down, up) = match config.mode {
        Mode::Terminal => (hop.and_then(|hop| hop.receive_rate), sent),
        Mode::Hub => (sent, None),
        Mode::Split => (config.server_leg.receive_buffer.and_then(of_buffer), config.server_leg.pacing_rate),
    };
    let key = |keys: &Keys| keys.0.first().map_or(String::new(), ToString::to_string);
    let networks = |list: &[Prefix]| list.iter().map(ToString::to_string).collect::<Vec<_>>();
    let terminal = config.terminal.first();
    Answers {
        mode: config.mode,
        hub: hop.and_then(|hop| hop.hubs().first().map(ToString::to_string)).unwrap_or_default(),
        hub_key: hop.and_then(|hop| hop.hub_key.as_ref()).map_or(String::new(), key),
        port: hop.and_then(|hop| hop.listen).map_or_else(usual_port, |listen| listen.port()),
        terminal: terminal.map_or(String::new(), |one| one.name.clone()),
        terminal_key: terminal.map_or(String::new(), |one| key(&one.key)),
        sources: terminal.map_or(vec![], |one| networks(&one.sources)),
        private: config.destinations.private.as_deref().map_or(vec![], networks),
        down: of_link(down),
        up: of_link(up),
        interfaces: config.intercept.as_ref().map_or(vec![], |intercept| intercept.interfaces.clone()),
        socks: config.socks.is_some(),
    }
}

/// True if a file has settings that its own answers would not bring back.
pub fn has_more(config: &Config, key: &Path, control: Option<&Path>) -> bool {
    let text = |config: &Config| serde_json::to_value(config).ok();
    draft(&answers(config), key, control).map_or(true, |(_, again)| text(&again) != text(config))
}

/// The file's text for these answers.
///
/// # Errors
/// An answer that cannot be understood, and whatever `check` finds in the file.
pub fn draft(answers: &Answers, key: &Path, control: Option<&Path>) -> Result<(String, Config), Error> {
    let (down, up) = (rate("down", &answers.down)?, rate("up", &answers.up)?);
    let mut text = match answers.mode {
        Mode::Terminal => "# The node at the clients: takes their connections, and carries them to the hub.\nmode = \"terminal\"\n",
        Mode::Hub => "# The node at the servers: opens the connections of its terminals.\nmode = \"hub\"\n",
        Mode::Split => "# One node in front of the link.\nmode = \"split\"\n",
    }
    .to_string();
    // Writing to a string never fails.
    if answers.socks && answers.mode != Mode::Hub {
        text += "socks = \"127.0.0.1:1080\"                 # for programs on this machine\n";
    }
    if let Some(control) = control {
        let _ = writeln!(text, "control = {}", quoted(&control.display().to_string()));
    }
    text += "\n[page]                                   # `longhaul-pep page` prints its address\n";
    match answers.mode {
        Mode::Terminal => {
            let _ = write!(
                text,
                "\n[hop]\nhub = {}\nkey = {}\nhub_key = {}\n",
                quoted(&answers.hub),
                quoted(&key.display().to_string()),
                quoted(&answers.hub_key)
            );
            if let Some(up) = up {
                let _ = write!(text, "send_rate = \"{up}\"\nmost_rate = \"{up}\"\n");
            }
            if let Some(down) = down {
                let _ = writeln!(text, "receive_rate = \"{down}\"");
            }
        }
        Mode::Hub => {
            let _ = write!(
                text,
                "\n[hop]\nlisten = \"0.0.0.0:{}\"\nkey = {}\n",
                answers.port,
                quoted(&key.display().to_string())
            );
            if let Some(down) = down {
                let _ = write!(text, "send_rate = \"{down}\"\nmost_rate = \"{down}\"\n");
            }
            let _ = write!(
                text,
                "\n[destinations]\n# Private networks behind this hub that terminals may reach.\nprivate = [{}]\n\
                 \n[[terminal]]\nname = {}\nkey = {}\n",
                list(&answers.private),
                quoted(&answers.terminal),
                quoted(&answers.terminal_key)
            );
            if !answers.sources.is_empty() {
                let _ = writeln!(text, "sources = [{}]", list(&answers.sources));
            }
        }
        Mode::Split => {
            if let Some(up) = up {
                let buffer = |rate: Rate| {
                    Size::from_bytes(
                        ((rate.as_bps() as f64 / 8.0 * TWO_ROUND_TRIPS) as u64).max(LEAST_BUFFER),
                    )
                };
                let _ = write!(
                    text,
                    "\n[server_leg]\npacing_rate = \"{up}\"\nsend_buffer = \"{}\"\n",
                    buffer(up)
                );
                if let Some(down) = down {
                    let _ = writeln!(text, "receive_buffer = \"{}\"", buffer(down));
                }
            }
        }
    }
    if answers.mode != Mode::Hub {
        if answers.interfaces.is_empty() {
            return Err(Error::Config("choose the interface at which the clients come in".into()));
        }
        let _ = write!(
            text,
            "\n[intercept]\ninterfaces = [{}]\nexcept_ports = [\"22\"]\n",
            list(&answers.interfaces)
        );
    }
    let config = load::parse(&text, "the new file")?;
    let pasted = || crate::start::own_key_as_peer(&config, &crate::keys::load(key).ok()?);
    match load::unfilled(&config).or_else(pasted) {
        Some(what) => Err(Error::Config(what)),
        None => Ok((text, config)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answers(text: &str) -> Answers {
        serde_json::from_str(text).unwrap()
    }

    fn drafted(text: &str) -> Result<(String, Config), Error> {
        draft(&answers(text), Path::new("/etc/longhaul/pep.key"), None)
    }

    /// The likeliest mistake of pasting.
    #[test]
    fn this_node_s_own_key_is_refused_as_the_other_one_s() {
        let folder = std::env::temp_dir().join(format!("longhaul-pep-own-key-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        let file = folder.join("pep.key");
        let own = crate::keys::generate(&file).unwrap();
        let of = |key: &str| {
            let text = format!(
                r#"{{"mode":"terminal","hub":"192.0.2.1:7714","hub_key":"{key}","interfaces":["eth1"]}}"#
            );
            draft(&answers(&text), &file, None)
        };
        assert!(of(KEY).is_ok());
        let why = of(&own.to_string()).err().unwrap().to_string();
        std::fs::remove_dir_all(&folder).unwrap();
        assert!(
            why.ends_with("pep.key: the other node's key is this node's own; each has a key of its own"),
            "{why}"
        );
    }

    const KEY: &str = "abababababababababababababababababababababababababababababababab";

    #[test]
    fn answers_become_a_file_that_passes_the_check() {
        let (text, config) = drafted(&format!(
            r#"{{"mode":"terminal","hub":"hub.example.org:7714","hub_key":"{KEY}","down":"50 Mbit/s","up":"10 Mbit/s","interfaces":["eth1"],"socks":true}}"#
        ))
        .unwrap();
        let hop = config.hop.unwrap();
        assert_eq!(hop.most_rate.unwrap().as_bps(), 9_900_000);
        assert_eq!(hop.receive_rate.unwrap().as_bps(), 49_500_000);
        assert_eq!(config.intercept.unwrap().interfaces, ["eth1"]);
        assert!(config.page.is_some() && config.socks.is_some() && text.contains("[page]"), "{text}");
        let (_, config) = drafted(&format!(
            r#"{{"mode":"hub","port":7800,"terminal":"ship \"1\"","terminal_key":"{KEY}","sources":["192.168.1.0/24"],"down":"50 Mbit/s"}}"#
        ))
        .unwrap();
        assert_eq!(config.terminal[0].name, "ship \"1\"");
        assert_eq!(config.hop.unwrap().listen.unwrap().port(), 7800);
        let (_, config) =
            drafted(r#"{"mode":"split","up":"10 Mbit/s","down":"50 Mbit/s","interfaces":["eth1"]}"#).unwrap();
        assert_eq!(config.server_leg.pacing_rate.unwrap().as_bps(), 9_900_000);
        assert_eq!(config.server_leg.receive_buffer.unwrap().as_bytes(), 8_043_750);
    }

    #[test]
    fn a_file_has_its_answers_back() {
        for text in [
            format!(
                r#"{{"mode":"terminal","hub":"hub.example.org:7714","hub_key":"{KEY}","port":7714,"down":"50 Mbit/s","up":"10 Mbit/s","interfaces":["eth1"],"socks":true}}"#
            ),
            format!(
                r#"{{"mode":"hub","port":7800,"terminal":"ship-1","terminal_key":"{KEY}","sources":["192.168.1.0/24"],"private":["10.20.0.0/16"],"down":"50 Mbit/s"}}"#
            ),
            r#"{"mode":"split","up":"10 Mbit/s","down":"50 Mbit/s","interfaces":["eth1"]}"#.into(),
        ] {
            let (file, config) = drafted(&text).unwrap();
            let given = serde_json::to_value(answers(&text)).unwrap();
            assert_eq!(serde_json::to_value(super::answers(&config)).unwrap(), given);
            let key = Path::new("/etc/longhaul/pep.key");
            assert!(!has_more(&config, key, None), "{file}");
            let by_hand = load::parse(&format!("limits = {{ flows = 77 }}\n{file}"), "a file").unwrap();
            assert!(has_more(&by_hand, key, None));
        }
    }

    #[test]
    fn what_is_wrong_is_named_and_no_answer_becomes_another_setting() {
        let why = |text: &str| drafted(text).unwrap_err().to_string();
        assert!(why(r#"{"mode":"split","up":"fast","interfaces":["eth1"]}"#).contains("the rate up: "));
        let bare = why(r#"{"mode":"split","up":"50","interfaces":["eth1"]}"#);
        assert_eq!(bare.matches("50 Mbit/s").count(), 1, "the correct form is there once: {bare}");
        assert!(why(r#"{"mode":"split"}"#).contains("choose the interface"));
        assert!(
            why(r#"{"mode":"split","interfaces":["eth1\"]\nport = 1 #"]}"#)
                .contains("is no name of an interface")
        );
        assert!(
            why(r#"{"mode":"terminal","hub":"h:1","hub_key":"x","interfaces":["eth1"]}"#)
                .contains("64 hexadecimal digits")
        );
        let zeros = "0".repeat(64);
        assert!(
            why(&format!(r#"{{"mode":"terminal","hub":"h:1","hub_key":"{zeros}","interfaces":["a"]}}"#))
                .contains("zeros")
        );
    }
}
