//! The control socket: one line of JSON with a command, one line of JSON with the answer. Only root and the daemon's user may
//! open it (mode 0600).

use crate::Error;
use crate::node::{Node, Shut};
use crate::report;
use nix::sys::stat::{Mode, umask};
use serde::{Deserialize, Serialize};
use std::io::{BufRead, BufReader, ErrorKind, Write};
use std::os::unix::net::{UnixListener as Plainly, UnixStream as Plain};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt};
use tokio::net::{UnixListener, UnixStream};

/// The daemon has this long for an answer, besides what the command itself takes.
const PATIENCE: Duration = Duration::from_secs(30);

/// The commands of the daemon's control socket.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "command")]
pub enum Command {
    /// Numbers of the node.
    Status,
    /// All connections.
    Flows,
    /// What the page shows.
    Page {
        /// The history after this time, in seconds since 1970.
        since: u64,
    },
    /// Lets connections end, then stops.
    Drain,
    /// Whether new connections pass untouched.
    Bypass {
        /// They do.
        on: bool,
    },
    /// Measures the link to the hub.
    Bench {
        /// Time for each direction.
        seconds: u32,
    },
}

impl Command {
    /// How long the daemon needs for it at least.
    fn lasts(self) -> Duration {
        match self {
            Command::Bench { seconds } => crate::bench::longest(seconds),
            _ => Duration::ZERO,
        }
    }
}

/// The daemon's end. Dropped, it removes the socket.
pub(crate) struct Socket {
    path: PathBuf,
    listener: Plainly,
}

impl Drop for Socket {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

impl Socket {
    /// Opens the socket. One that a killed daemon has left behind is replaced; one of a running daemon is an error.
    pub fn bind(path: &Path) -> Result<Socket, Error> {
        let listener = bind(path, "control socket", "control")?;
        Ok(Socket { path: path.to_path_buf(), listener })
    }

    /// Answers, for ever.
    pub fn serve(self, node: Arc<Node>) -> Result<impl Future<Output = ()> + Send, Error> {
        let failed = |why| Error::system("listen for commands", why);
        self.listener.set_nonblocking(true).map_err(failed)?;
        let listener = UnixListener::from_std(self.listener.try_clone().map_err(failed)?).map_err(failed)?;
        Ok(async move {
            let _own = self;
            loop {
                match listener.accept().await {
                    Ok((stream, _)) => {
                        tokio::spawn(answer(node.clone(), stream));
                    }
                    Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
                }
            }
        })
    }
}

/// Opens a socket for root and this user alone: `what` it is, and the `setting` of its path. One that nobody answers is replaced.
pub(crate) fn bind(path: &Path, what: &str, setting: &str) -> Result<Plainly, Error> {
    let open = || format!("open the {what} {}", path.display());
    if Plain::connect(path).is_ok() {
        let why = format!("a daemon answers there already; stop it, or choose another `{setting}`");
        return Err(Error::system(open(), why));
    }
    let failed = |why: std::io::Error| {
        let hint = if why.kind() == ErrorKind::PermissionDenied {
            format!("; it needs root, or another `{setting}`")
        } else {
            String::new()
        };
        Error::system(open(), format!("{why}{hint}"))
    };
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(failed)?;
    }
    let _ = std::fs::remove_file(path);
    let before = umask(Mode::S_IRWXG | Mode::S_IRWXO | Mode::S_IXUSR);
    let listener = Plainly::bind(path);
    umask(before);
    listener.map_err(failed)
}

async fn answer(node: Arc<Node>, stream: UnixStream) {
    let (read, mut write) = stream.into_split();
    let mut lines = tokio::io::BufReader::new(read).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        let mut answer = match serde_json::from_str::<Command>(&line) {
            Err(why) => serde_json::json!({ "error": format!("not understood: {why}") }),
            Ok(command) => obey(&node, command).await,
        }
        .to_string();
        answer.push('\n');
        if write.write_all(answer.as_bytes()).await.is_err() {
            return;
        }
    }
}

async fn obey(node: &Arc<Node>, command: Command) -> serde_json::Value {
    match command {
        Command::Status => serde_json::json!(report::status(node)),
        Command::Flows => serde_json::json!(report::flows(node)),
        Command::Page { since } => crate::page::reading::of_node(node, since),
        Command::Bench { seconds } => match crate::bench::measure(node, seconds).await {
            Ok(measured) => serde_json::json!(measured),
            Err(why) => serde_json::json!({ "error": why }),
        },
        Command::Drain => {
            let node = node.clone();
            tokio::spawn(async move {
                crate::daemon::drain(&node).await;
                node.stop.send_replace(true);
            });
            serde_json::json!({ "done": "no new connections; the daemon stops when those alive have ended" })
        }
        Command::Bypass { on } => {
            let shutting = node.clone();
            match tokio::task::spawn_blocking(move || shutting.set_shut(|shut| shut.bypass = on)).await {
                Ok(Ok(())) => {
                    let shut = *node.shut.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
                    serde_json::json!({ "done": after_bypass(shut) })
                }
                Ok(Err(why)) => serde_json::json!({ "error": why.to_string() }),
                Err(why) => serde_json::json!({ "error": why.to_string() }),
            }
        }
    }
}

/// What becomes of new connections now.
fn after_bypass(shut: Shut) -> String {
    let others = Shut { bypass: false, ..shut }.reasons().collect::<Vec<_>>().join(", ");
    match (shut.bypass, others.as_str()) {
        (true, _) | (false, "") => format!("new connections {}", shut.becomes()),
        (false, why) => format!("bypass is off, but new connections still {}: {why}", shut.becomes()),
    }
}

/// The texts in a list of a `status`; none where there is no such list.
pub(crate) fn texts<'a>(status: &'a serde_json::Value, list: &str) -> Vec<&'a str> {
    status[list].as_array().into_iter().flatten().filter_map(|one| one.as_str()).collect()
}

/// Whether bypass is on, and what becomes of new connections, from a node's `status`.
pub fn bypass_state(status: &serde_json::Value) -> String {
    let word = |name: &str| status[name].as_str().unwrap_or("?").to_string();
    match (status["bypass"] == true, texts(status, "reasons").join(", ").as_str()) {
        (true, _) => format!("bypass is on: new connections {}", word("new_connections")),
        (false, "") => format!("bypass is off: new connections {}", word("new_connections")),
        (false, why) => format!("bypass is off; new connections {}: {why}", word("new_connections")),
    }
}

/// Sends a command to a running daemon.
///
/// # Errors
/// If there is none, or it refuses.
pub fn ask(path: &Path, command: Command) -> Result<serde_json::Value, Error> {
    let at = path.display();
    let mut stream = Plain::connect(path).map_err(|why| {
        Error::Control(match why.kind() {
            ErrorKind::NotFound | ErrorKind::ConnectionRefused => {
                format!("no daemon answers at {at}: is it running?")
            }
            ErrorKind::PermissionDenied => format!("{at}: {why}; it needs root"),
            _ => format!("{at}: {why}"),
        })
    })?;
    let limit = PATIENCE + command.lasts();
    let failed = |why: std::io::Error| {
        Error::Control(match why.kind() {
            ErrorKind::WouldBlock | ErrorKind::TimedOut => format!(
                "{at}: the daemon takes no command within {} s; it may be stopped or overloaded (journalctl -u longhaul-pep)",
                limit.as_secs()
            ),
            _ => format!("{at}: {why}"),
        })
    };
    stream
        .set_read_timeout(Some(limit))
        .and_then(|()| stream.set_write_timeout(Some(limit)))
        .map_err(failed)?;
    let question = serde_json::to_string(&command).map_err(|why| Error::Control(why.to_string()))?;
    stream.write_all(format!("{question}\n").as_bytes()).map_err(failed)?;
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line).map_err(failed)?;
    let answer: serde_json::Value = serde_json::from_str(&line)
        .map_err(|why| Error::Control(format!("{at}: the answer is no JSON: {why}")))?;
    match answer.get("error").and_then(|error| error.as_str()) {
        Some(error) => Err(Error::Control(error.to_string())),
        None => Ok(answer),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_state_of_bypass_has_other_reasons_too() {
        let status = |bypass: bool, words: &str, reasons: &[&str]| serde_json::json!({ "bypass": bypass, "new_connections": words, "reasons": reasons });
        let on = status(true, "pass untouched", &["bypass is on"]);
        assert_eq!(bypass_state(&on), "bypass is on: new connections pass untouched");
        let off = status(false, "are accelerated", &[]);
        assert_eq!(bypass_state(&off), "bypass is off: new connections are accelerated");
        let down = status(false, "pass untouched", &["the tunnel is down"]);
        assert_eq!(bypass_state(&down), "bypass is off; new connections pass untouched: the tunnel is down");
    }

    /// Those of a trial are named as such, with their cause, and the tunnel's silence.
    #[test]
    fn what_becomes_of_new_connections_has_its_cause() {
        use crate::passage::Passage;
        use crate::plan::Gate;
        let trial = Shut { passage: Passage::Trial, ..Shut::default() };
        assert_eq!(trial.gate(), Gate::Trial);
        assert_eq!(trial.becomes(), "pass untouched but one, which is taken in on trial");
        assert_eq!(trial.reasons().collect::<Vec<_>>(), ["those taken in do not arrive"]);
        let silent = Shut { silent: true, ..trial };
        assert_eq!((silent.gate(), silent.becomes()), (Gate::Shut, "pass untouched"));
        assert!(silent.reasons().any(|why| why.contains("gives no answer")));
        assert_eq!(Shut::default().gate(), Gate::Open);
    }

    #[test]
    fn after_bypass_off_the_answer_is_what_becomes_of_new_connections() {
        assert_eq!(after_bypass(Shut::default()), "new connections are accelerated");
        assert_eq!(after_bypass(Shut { bypass: true, ..Shut::default() }), "new connections pass untouched");
        assert_eq!(
            after_bypass(Shut { draining: true, no_tunnel: true, ..Shut::default() }),
            "bypass is off, but new connections still pass untouched: the daemon drains, the tunnel is down"
        );
    }
}
