//! The applications, one file each: parameters as a scenario has them, and the state machine that they make. A new one is a file
//! and a line in this list.

mod bulk;
mod cbr;
mod keystrokes;
mod messages;
mod on_off;
mod request;
mod trace;
mod video;
mod web;

pub use bulk::Bulk;
pub use cbr::Cbr;
pub use keystrokes::Keystrokes;
pub use messages::Messages;
pub use on_off::OnOff;
pub use request::Request;
pub use trace::{TraceBegin, TraceSpec};
pub use web::Web;

use crate::{App, Parameters, Setup, VideoModel};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

macro_rules! applications {
    ($($(#[$doc:meta])* $variant:ident($parameters:ty) = $name:literal,)*) => {
        /// What an application does.
        #[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
        #[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
        pub enum AppSpec {
            $($(#[$doc])* $variant($parameters),)*
        }

        impl AppSpec {
            /// Its kind, as scenarios and results have it.
            pub fn name(&self) -> &'static str {
                match self {
                    $(AppSpec::$variant(_) => $name,)*
                }
            }
        }

        impl std::ops::Deref for AppSpec {
            type Target = dyn Parameters;
            fn deref(&self) -> &(dyn Parameters + 'static) {
                match self {
                    $(AppSpec::$variant(parameters) => parameters,)*
                }
            }
        }
    };
}

applications! {
    /// Sends as fast as the connection allows.
    Bulk(Bulk) = "bulk",
    /// Writes messages at a constant rate.
    Cbr(Cbr) = "cbr",
    /// Bursts at a constant rate with silence between them, beginning with a silence. As in ns-2 a burst is a whole number of
    /// messages, at least one.
    OnOff(OnOff) = "on_off",
    /// A person who reads pages: each page is a number of objects, each fetched by the active side from the passive side over a
    /// connection; then time to read it.
    Web(Web) = "web",
    /// The active side sends requests and the passive side answers, one after the other on one connection.
    Request(Request) = "request",
    /// A person who types: the active side sends keystrokes, whether or not the ones before have been echoed, and the passive side
    /// echoes each of them. The time from a keystroke to its echo is measured. Remote shells turn Nagle's algorithm
    /// off: set `tcp.nagle = false`, or keystrokes wait for the echo of those before.
    Keystrokes(Keystrokes) = "keystrokes",
    /// Writes messages of random sizes at random times: for instance the requests that arrive at a server.
    Messages(Messages) = "messages",
    /// Plays a trace of gaps and sizes again and again, as ns-2's `Application/Traffic/Trace` does: a film, or the requests that a
    /// server has seen.
    Trace(TraceSpec) = "trace",
    /// A synthetic film: frames of random sizes at a constant frame rate, from a random frame on.
    Video(VideoModel) = "video",
}

impl AppSpec {
    /// The application of one flow.
    pub fn start(&self, setup: &Setup<'_>) -> App {
        App::new(&**self, setup)
    }
}

impl Default for AppSpec {
    fn default() -> Self {
        AppSpec::Bulk(Bulk::default())
    }
}
