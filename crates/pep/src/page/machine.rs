//! The set-up of this machine from the page (`longhaul-pep setup`): what is found here, the key, the file, the start, a trial.

use super::app::Desk;
use super::desk::Daemon;
use super::setup::{Answers, answers, draft, has_more};
use super::trial;
use crate::config::Mode;
use crate::control::{self, Command};
use crate::firewall::{self, Firewall};
use crate::{Error, keys, load, netlink};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::fs::{File, Permissions};
use std::io::ErrorKind;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command as Program, Stdio};
use std::time::{Duration, Instant};

/// A daemon that starts is waited for so long.
const START: Duration = Duration::from_secs(20);
/// Seconds for each direction of a measurement.
const MEASURED: u32 = 5;
/// Where the system keeps that this machine routes.
const ROUTES: &str = "/etc/sysctl.d/60-longhaul-pep.conf";

/// This machine, while it is set up.
pub(super) struct Machine {
    daemon: Daemon,
    path: PathBuf,
    /// The control socket of the daemon that is set up.
    control: PathBuf,
    /// It is not the usual one, and so has to be in the file.
    named: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Write {
    answers: Answers,
    /// A file that is there may be replaced.
    overwrite: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Recipe {
    answers: Answers,
    firewall: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Trial {
    url: String,
}

fn understood<T: DeserializeOwned>(body: &Value) -> Result<T, Error> {
    serde_json::from_value(body.clone()).map_err(|why| Error::Config(format!("the answers: {why}")))
}

fn exists(program: &str) -> bool {
    ["/usr/sbin", "/usr/bin", "/sbin", "/bin"].iter().any(|folder| Path::new(folder).join(program).exists())
}

impl Machine {
    pub fn new(path: PathBuf, control: Option<PathBuf>) -> Machine {
        let in_file = load::load(&path).ok().map(|config| config.control);
        let named = control.is_some();
        let control = control.or(in_file).unwrap_or_else(crate::config::control_path);
        Machine { daemon: Daemon::new(path.clone(), control.clone()), path, control, named }
    }

    /// Beside the file.
    fn key(&self) -> PathBuf {
        self.path.with_extension("key")
    }

    fn draft(&self, answers: &Answers) -> Result<(String, crate::config::Config), Error> {
        draft(answers, &self.key(), self.named.then_some(self.control.as_path()))
    }

    fn found(&self) -> Value {
        let mut interfaces: Vec<Value> = vec![];
        for (name, address, network) in netlink::own_networks() {
            if address.is_loopback() || netlink::is_of_link(address) {
                continue;
            }
            let shown = format!("{address} in {network}");
            match interfaces.iter_mut().find(|one| one["name"] == name.as_str()) {
                Some(one) => {
                    one["addresses"].as_array_mut().into_iter().for_each(|all| all.push(json!(shown)))
                }
                None => interfaces.push(json!({ "name": name, "addresses": [shown] })),
            }
        }
        let default = crate::system::ip("route show default").unwrap_or_default();
        let outward = default.split_whitespace().skip_while(|word| *word != "dev").nth(1);
        let firewalls = [("ufw", "ufw"), ("firewalld", "firewall-cmd"), ("fw4", "fw4")];
        let there: Vec<&str> =
            firewalls.iter().filter(|(_, program)| exists(program)).map(|(name, _)| *name).collect();
        let missing: Vec<&str> = ["ip", "nft"].into_iter().filter(|program| !exists(program)).collect();
        // What an operator has answered before is not asked for again.
        let written = load::load(&self.path).ok();
        let control = self.named.then_some(self.control.as_path());
        json!({
            "file": self.path,
            "exists": self.path.exists(),
            "answers": written.as_ref().map(answers),
            "more": written.as_ref().is_some_and(|config| has_more(config, &self.key(), control)),
            "key_file": self.key(),
            "key": keys::load(&self.key()).ok().map(|key| crate::config::Key(key.public_key().0).to_string()),
            "interfaces": interfaces,
            "outward": outward,
            "firewalls": there,
            "all_firewalls": firewall::ALL.map(|(name, _)| name),
            "missing": missing,
            "routes": std::fs::read_to_string("/proc/sys/net/ipv4/ip_forward").is_ok_and(|text| text.trim() == "1"),
            "systemd": has_unit(),
        })
    }

    fn make_key(&self) -> Result<Value, Error> {
        let key = match keys::load(&self.key()) {
            Ok(known) => crate::config::Key(known.public_key().0),
            Err(why) if self.key().exists() => return Err(why),
            Err(_) => keys::generate(&self.key())?,
        };
        Ok(json!({ "key": key.to_string(), "file": self.key() }))
    }

    /// Writes the file after it has passed the check; what was there stays beside it.
    fn write(&self, body: &Value) -> Result<Value, Error> {
        let Write { answers, overwrite } = understood(body)?;
        let (text, _) = self.draft(&answers)?;
        let failed = |why: std::io::Error| Error::system(format!("write {}", self.path.display()), why);
        if let Some(folder) = self.path.parent() {
            std::fs::create_dir_all(folder).map_err(failed)?;
        }
        let new = self.path.with_extension("new");
        std::fs::write(&new, &text).map_err(failed)?;
        let before = self.path.with_extension("before");
        if overwrite && self.path.exists() {
            std::fs::copy(&self.path, &before).map_err(failed)?;
            std::fs::rename(&new, &self.path).map_err(failed)?;
            let done = format!("{} is written; the one before is {}", self.path.display(), before.display());
            return Ok(json!({ "done": done }));
        }
        // A link fails where there is a file, also one that came this moment.
        let linked = std::fs::hard_link(&new, &self.path);
        let _ = std::fs::remove_file(&new);
        match linked {
            Ok(()) => Ok(json!({ "done": format!("{} is written", self.path.display()) })),
            Err(why) if why.kind() == ErrorKind::AlreadyExists => Err(Error::Config(format!(
                "{} exists; it is replaced only if you allow that",
                self.path.display()
            ))),
            Err(why) => Err(failed(why)),
        }
    }

    fn recipe(&self, body: &Value) -> Result<Value, Error> {
        let Recipe { answers, firewall } = understood(body)?;
        let firewall: Firewall = firewall.parse().map_err(Error::Config)?;
        Ok(json!({ "recipe": firewall.recipe(&self.draft(&answers)?.1) }))
    }

    /// Has this machine route, now and after the next start.
    fn route() -> Result<Value, Error> {
        let failed = |what: &str| {
            let what = format!("write {what}");
            move |why| Error::system(what, why)
        };
        std::fs::write("/proc/sys/net/ipv4/ip_forward", "1").map_err(failed("net.ipv4.ip_forward"))?;
        std::fs::create_dir_all("/etc/sysctl.d").map_err(failed("/etc/sysctl.d"))?;
        std::fs::write(ROUTES, "net.ipv4.ip_forward = 1\n").map_err(failed(ROUTES))?;
        Ok(json!({ "done": format!("this machine routes (net.ipv4.ip_forward = 1, also in {ROUTES})") }))
    }

    /// Starts the daemon, or starts it again with the new file.
    fn start(&self) -> Result<Value, Error> {
        let config = load::load(&self.path)?;
        let log = config.control.with_file_name("longhaul-pep.log");
        let failed = |why: std::io::Error| Error::system("start the daemon", why);
        let by_systemd = has_unit() && self.path == Path::new("/etc/longhaul/pep.toml");
        if by_systemd {
            for arguments in [["enable", "longhaul-pep"], ["restart", "longhaul-pep"]] {
                crate::system::tool("systemctl", "systemd", &arguments, "")?;
            }
        } else {
            if control::ask(&config.control, Command::Drain).is_ok() {
                wait(|| control::ask(&config.control, Command::Status).is_err());
            }
            if let Some(folder) = log.parent() {
                std::fs::create_dir_all(folder).map_err(failed)?;
            }
            Program::new(std::env::current_exe().map_err(failed)?)
                .args(["run", "--config"])
                .arg(&self.path)
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(new_log(&log).map_err(failed)?)
                .process_group(0)
                .spawn()
                .map_err(failed)?;
        }
        let is_up = || {
            control::ask(&config.control, Command::Status)
                .ok()
                .filter(|status| config.mode != Mode::Terminal || status["no_tunnel"] == false)
        };
        let mut status = None;
        wait(|| {
            status = is_up();
            status.is_some()
        });
        let hint =
            if by_systemd { "journalctl -u longhaul-pep".to_string() } else { log.display().to_string() };
        match (status, control::ask(&config.control, Command::Status)) {
            (Some(_), _) => Ok(json!({ "done": "the daemon runs" })),
            (None, Ok(_)) => Err(Error::Control(format!(
                "the daemon runs, and there is no tunnel yet: compare the keys of both nodes and the hub's address, and start the hub ({hint})"
            ))),
            (None, Err(why)) => Err(Error::Control(format!("{why} ({hint})"))),
        }
    }
}

/// The log names clients and servers: it is for root and its group alone, also where an earlier version has left one for all.
fn new_log(path: &Path) -> std::io::Result<File> {
    let file = File::options().create(true).write(true).truncate(true).mode(0o640).open(path)?;
    file.set_permissions(Permissions::from_mode(0o640))?;
    Ok(file)
}

fn has_unit() -> bool {
    let files = ["/lib/systemd/system", "/usr/lib/systemd/system", "/etc/systemd/system"];
    Path::new("/run/systemd/system").exists()
        && files.iter().any(|folder| Path::new(folder).join("longhaul-pep.service").exists())
}

fn wait(mut done: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !done() && begin.elapsed() < START {
        std::thread::sleep(Duration::from_millis(200));
    }
}

impl Desk for Machine {
    /// Without a daemon, what there is to set up.
    fn now(&self, since: u64) -> Result<Value, Error> {
        let absent = |why: Error| match self.control.exists() {
            true => why.to_string(),
            false => "The accelerator does not run on this machine.".into(),
        };
        let mut now = self.daemon.now(since).unwrap_or_else(|why| json!({ "absent": absent(why) }));
        now["setup"] = true.into();
        Ok(now)
    }

    fn doctor(&self) -> Result<Value, Error> {
        self.daemon.doctor()
    }

    fn set_bypass(&self, on: bool) -> Result<Value, Error> {
        self.daemon.set_bypass(on)
    }

    fn set_up(&self, step: &str, body: &Value) -> Option<Result<Value, Error>> {
        Some(match step {
            "found" => Ok(self.found()),
            "key" => self.make_key(),
            "draft" => understood(body).and_then(|answers| {
                let (text, _) = self.draft(&answers)?;
                Ok(json!({ "text": text, "file": self.path, "exists": self.path.exists() }))
            }),
            "write" => self.write(body),
            "recipe" => self.recipe(body),
            "route" => Machine::route(),
            "start" => self.start(),
            "bench" => control::ask(&self.control, Command::Bench { seconds: MEASURED }),
            "trial" => {
                understood(body).and_then(|Trial { url }| trial::compare(&url, &load::load(&self.path)?))
            }
            _ => return None,
        })
    }
}
