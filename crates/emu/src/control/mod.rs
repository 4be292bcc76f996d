//! A running emulator takes requests by a socket in a directory of its user's own: what holds on a link from now on, and how links are.
//! What was set is kept as a scenario whose script has it.
//!
//! A request and its answer are one line of JSON each; the answer has `done` (a text), `status`, or `error`.

mod place;
mod request;
mod scene;
pub mod show;

pub use request::{ask, running};

use crate::clock::Clock;
use crate::driver::Live;
use crate::names::Reach;
use crate::testbed::{Host, Testbed};
use crate::{Error, own_run};
use longhaul_scenario::{Network, Scenario, resolved_toml};
use longhaul_units::{Duration, Instant};
use place::Socket;
use request::Request;
use scene::Scene;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time;

/// Who serves looks so often whether a request has come.
const TICK: time::Duration = time::Duration::from_millis(20);
/// Whoever has connected sends within this time, and takes the answer.
const PATIENCE: time::Duration = time::Duration::from_secs(1);
/// The longest request in bytes.
const LONGEST: u64 = 64 << 10;
/// What is set holds so long after it has arrived. A busy thread has taken it up by then; one that sleeps does so before its next
/// packet.
const LEAD: Duration = Duration::from_millis(20);

/// An emulator that can be controlled.
pub struct Control<'a> {
    name: String,
    socket: Result<Socket, Error>,
    network: &'a Network,
    scene: Mutex<Scene>,
    /// Hosts that may be entered, in JSON.
    hosts: OnceLock<Value>,
}

impl<'a> Control<'a> {
    /// Of an emulator with this scenario, under a name, else its process id. Without a name that was given, an emulator that cannot have
    /// a socket runs without: see [`Control::warning`].
    ///
    /// # Errors
    /// A name that is no name, or another emulator's; what the system refuses, if a name was given.
    pub fn open(name: Option<&str>, scenario: &Scenario, network: &'a Network) -> Result<Control<'a>, Error> {
        let own = name.map_or_else(|| std::process::id().to_string(), str::to_string);
        let socket = Socket::open(&own);
        if name.is_some() {
            if let Err(error) = socket {
                return Err(error);
            }
        }
        let scene = Mutex::new(Scene::new(scenario, network));
        Ok(Control { name: own, socket, network, scene, hosts: OnceLock::new() })
    }

    /// The network whose links are controlled.
    pub fn network(&self) -> &'a Network {
        self.network
    }

    /// Its hosts may be entered from now on.
    pub fn has_hosts(&self, testbed: &Testbed, reach: Reach) {
        let host = |host: &Host| json!({ "name": host.name, "namespace": host.namespace, "v4": host.v4, "v6": host.v6 });
        let hosts: Value = testbed.hosts.iter().map(host).collect();
        let internet = match reach {
            Reach::Internet { v6 } => json!({ "v6": v6 }),
            Reach::Hosts => Value::Null,
        };
        let user_namespace = own_run::caller().is_some();
        let _ =
            self.hosts.set(json!({ "hosts": hosts, "internet": internet, "user_namespace": user_namespace }));
    }

    /// Why it cannot be controlled.
    pub fn warning(&self) -> Option<String> {
        let why = self.socket.as_ref().err()?;
        Some(format!("`longhaul-emu set` and `status` do not reach this emulator: {why}"))
    }

    /// Serves requests until `over` is true.
    pub fn serve(&self, clock: Clock, live: &Live, over: impl Fn() -> bool) {
        let Ok(socket) = &self.socket else { return };
        while !over() {
            match socket.accept() {
                // Whoever has gone away gets no answer.
                Some(stream) => drop(self.answer(&stream, clock, live)),
                None => std::thread::sleep(TICK),
            }
        }
    }

    fn answer(&self, stream: &UnixStream, clock: Clock, live: &Live) -> std::io::Result<()> {
        stream.set_nonblocking(false)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        let mut line = String::new();
        BufReader::new(stream.take(LONGEST)).read_line(&mut line)?;
        let answer = match Request::of(&line) {
            Ok(Request::Set(words)) => self.set(&words, clock, live).map(|done| json!({ "done": done })),
            Ok(Request::Status) => Ok(json!({ "status": self.status(clock, live) })),
            Err(why) => Err(why),
        };
        let answer = answer.unwrap_or_else(|why| json!({ "error": why }));
        (&*stream).write_all(format!("{answer}\n").as_bytes())
    }

    fn set(&self, words: &[String], clock: Clock, live: &Live) -> Result<String, String> {
        let mut scene = self.scene.lock().unwrap_or_else(PoisonError::into_inner);
        let at = clock.now() + LEAD;
        let (done, changes) = scene.set(words, at.since(Instant::ZERO))?;
        live.change(changes);
        drop(scene);
        // Answered once it holds.
        std::thread::sleep(clock.until(at));
        Ok(done)
    }

    fn status(&self, clock: Clock, live: &Live) -> Value {
        let scene = self.scene.lock().unwrap_or_else(PoisonError::into_inner);
        let (name, set) = (scene.scenario.name.clone(), scene.set.clone());
        drop(scene);
        let status = live.status(clock.now());
        let hosts = self.hosts.get().unwrap_or(&Value::Null);
        json!({
            "hosts": hosts["hosts"],
            "internet": hosts["internet"],
            "user_namespace": hosts["user_namespace"],
            "name": self.name,
            "pid": std::process::id(),
            "scenario": name,
            "running_s": status.now.as_secs_f64(),
            "moved_packets": status.moved,
            "dropped_packets": status.dropped,
            "lateness_max_s": status.latest.as_secs_f64(),
            "set": set,
            "links": show::links(self.network, &live.readings()),
        })
    }

    /// What was set, and a scenario that repeats it, after a run of `length`; `None` if nothing was set.
    pub fn as_it_was(&self, length: Duration) -> Option<AsItWas> {
        let mut scene = self.scene.lock().unwrap_or_else(PoisonError::into_inner);
        if scene.set.is_empty() {
            return None;
        }
        scene.scenario.end_outages(length);
        let list: String = scene.set.iter().map(|set| format!("# {set}\n")).collect();
        let head =
            "# The scenario of a run of `longhaul-emu` as it was, with all that was set while it ran:\n";
        Some(AsItWas {
            settings: scene.set.len(),
            text: format!("{head}{list}\n{}", resolved_toml(&scene.scenario)),
        })
    }

    /// Writes the scenario as it was after a run that `ended`, if something was set: to `place`, else beside the socket. Returns what
    /// there is to know of it.
    ///
    /// # Errors
    /// What the system refuses.
    pub fn keep(&self, ended: Instant, place: Option<&Path>) -> Result<Option<String>, Error> {
        let Some(was) = self.as_it_was(ended.since(Instant::ZERO)) else { return Ok(None) };
        let beside = || self.socket.as_ref().ok().map(Socket::note);
        let Some(place) = place.map(Path::to_path_buf).or_else(beside) else { return Ok(None) };
        was.write(&place)?;
        Ok(Some(was.in_words(&place.display().to_string())))
    }
}

/// A scenario that repeats what was set.
pub struct AsItWas {
    /// How much was set.
    pub settings: usize,
    /// The document.
    pub text: String,
}

impl AsItWas {
    /// The file's name in a result.
    pub const FILE: &str = "scenario-as-it-was.toml";

    /// Writes it.
    ///
    /// # Errors
    /// What the system refuses.
    pub fn write(&self, place: &Path) -> Result<(), Error> {
        std::fs::write(place, &self.text)
            .map_err(|why| Error::system(format!("write {}", place.display()), why))
    }

    /// What there is to know of it.
    pub fn in_words(&self, place: &str) -> String {
        let many = if self.settings == 1 { "one setting" } else { &format!("{} settings", self.settings) };
        format!("{many} while it ran; {place} has them with their times, as a scenario")
    }
}
