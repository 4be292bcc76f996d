//! From an operator's answers to a configuration file. Pure.

use crate::Error;
use crate::config::{Config, Mode};
use crate::load;
use longhaul_units::{Rate, Size};
use serde::{Deserialize, Serialize};
use std::fmt::Write;
use std::path::Path;

/// The rate of the tunnel's packets, of the link's: their headers, and what the link itself adds, need the rest.
const OF_THE_LINK: f64 = 0.99;
/// Two round trips of a geostationary satellite, in seconds.
const TWO_ROUND_TRIPS: f64 = 1.3;

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
    let wrong = |why: String| Error::Config(format!("the rate {name}: {why}"));
    let rate: Rate = text.parse().map_err(|why| wrong(format!("{why}")))?;
    Ok(Some(Rate::from_bps((rate.as_bps() as f64 * OF_THE_LINK) as u64)))
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
                    Size::from_bytes((rate.as_bps() as f64 / 8.0 * TWO_ROUND_TRIPS).max(1e6) as u64)
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
    fn what_is_wrong_is_named_and_no_answer_becomes_another_setting() {
        let why = |text: &str| drafted(text).unwrap_err().to_string();
        assert!(why(r#"{"mode":"split","up":"fast","interfaces":["eth1"]}"#).contains("the rate up: "));
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
