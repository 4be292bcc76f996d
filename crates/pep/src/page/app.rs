//! What the page answers to whom. Pure but for what is behind [`Desk`].
//!
//! The page itself has nothing that is secret, and is given to whoever asks by a local name. Everything else needs the token, in a
//! field that a browser sends for no other site: so no other page can read or change anything through the browser of an operator.

use super::request::{Method, Request, Response};
use crate::Error;
use serde::Deserialize;
use serde_json::Value;

/// Names by which a browser on this machine, or behind a tunnel to it, reaches the page. Any other name is one that an attacker's
/// name server has given this machine's address (DNS rebinding).
const NAMES: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

/// Paths of the steps of the set-up.
const SETUP: &str = "/api/setup/";

/// Where answers come from.
pub trait Desk: Send + Sync {
    /// Everything that the page shows, with the history after `since` (seconds since 1970).
    ///
    /// # Errors
    /// If the daemon gives no answer.
    fn now(&self, since: u64) -> Result<Value, Error>;

    /// What is wrong on this machine, with remedies, and when it was looked at.
    ///
    /// # Errors
    /// A configuration that cannot be read.
    fn doctor(&self) -> Result<Value, Error>;

    /// Lets new connections pass untouched, or accelerates them again.
    ///
    /// # Errors
    /// If the daemon gives no answer.
    fn set_bypass(&self, on: bool) -> Result<Value, Error>;

    /// A step of the set-up; `None` if there is no such step here.
    ///
    /// # Errors
    /// What is wrong with the answers, or with the machine.
    fn set_up(&self, _step: &str, _body: &Value) -> Option<Result<Value, Error>> {
        None
    }
}

/// The page.
pub struct App<D> {
    token: String,
    desk: D,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Bypass {
    on: bool,
}

/// The files of the page: path, media type, content.
const FILES: [(&str, &str, &str); 7] = [
    ("/", "text/html", include_str!("files/index.html")),
    ("/page.js", "text/javascript", include_str!("files/page.js")),
    ("/setup.js", "text/javascript", include_str!("files/setup.js")),
    ("/page.css", "text/css", include_str!("files/page.css")),
    // The lab's reports have these two beside their own.
    (
        "/figures.js",
        "text/javascript",
        include_str!("../../../../python/longhaul/report/templates/figures.js"),
    ),
    (
        "/uplot.js",
        "text/javascript",
        include_str!("../../../../python/longhaul/report/vendor/uPlot.iife.min.js"),
    ),
    ("/uplot.css", "text/css", include_str!("../../../../python/longhaul/report/vendor/uPlot.min.css")),
];

impl<D: Desk> App<D> {
    /// A page that takes this token.
    pub fn new(token: String, desk: D) -> App<D> {
        App { token, desk }
    }

    /// The answer to a request.
    pub fn answer(&self, request: &Request, body: &[u8]) -> Response {
        if !is_local(&request.host) {
            return Response::error(421, "open this page as 127.0.0.1, [::1] or localhost");
        }
        if let Some((_, kind, text)) = FILES.iter().find(|(path, ..)| *path == request.path) {
            return match request.method {
                Method::Get => Response::file(kind, text),
                _ => Response::error(405, "this is only to be read (GET)"),
            };
        }
        if !self.has_token(request) {
            return Response::error(
                401,
                "open the address that `longhaul-pep page` prints: it has the token",
            );
        }
        if request.method == Method::Post {
            if let Some(refusal) = foreign(request) {
                return refusal;
            }
        }
        let wanted = match request.path.as_str() {
            "/api/now" | "/api/doctor" => Method::Get,
            "/api/bypass" => Method::Post,
            path if path.starts_with(SETUP) => Method::Post,
            _ => return Response::error(404, "there is no such address"),
        };
        if request.method != wanted {
            return Response::error(405, if wanted == Method::Get { "only GET" } else { "only POST" });
        }
        let found = match request.path.as_str() {
            "/api/now" => self.desk.now(request.number("since").unwrap_or(0)),
            "/api/doctor" => self.desk.doctor(),
            path if path.starts_with(SETUP) => return self.set_up(&path[SETUP.len()..], body),
            _ => match serde_json::from_slice::<Bypass>(body) {
                Ok(Bypass { on }) => self.desk.set_bypass(on),
                Err(why) => return Response::error(400, &format!("not understood: {why}")),
            },
        };
        match found {
            Ok(value) => Response::json(&value),
            Err(Error::Control(why)) => Response::error(503, &why),
            Err(why) => Response::failed(&why),
        }
    }

    fn set_up(&self, step: &str, body: &[u8]) -> Response {
        let body = match serde_json::from_slice(body) {
            Ok(body) => body,
            Err(why) => return Response::error(400, &format!("not understood: {why}")),
        };
        match self.desk.set_up(step, &body) {
            None => Response::error(404, "there is no such step"),
            Some(Ok(value)) => Response::json(&value),
            // What an operator can mend by other answers.
            Some(Err(why)) => Response::error(422, &why.to_string()),
        }
    }

    /// The time that this takes does not depend on how much of the token is right.
    fn has_token(&self, request: &Request) -> bool {
        let given = request.authorization.as_deref().and_then(|field| field.strip_prefix("Bearer "));
        given.is_some_and(|given| {
            let differs = given.bytes().zip(self.token.bytes()).fold(0, |all, (a, b)| all | (a ^ b));
            given.len() == self.token.len() && differs == 0
        })
    }
}

fn is_local(host: &str) -> bool {
    let after = |name: &&str| host.get(..name.len()).filter(|start| start.eq_ignore_ascii_case(name));
    NAMES.iter().any(|name| {
        after(name).is_some_and(|start| match &host[start.len()..] {
            "" => true,
            rest => rest.strip_prefix(':').is_some_and(|port| port.parse::<u16>().is_ok()),
        })
    })
}

/// The refusal of a request with effects that another page has made, as far as a browser tells.
fn foreign(request: &Request) -> Option<Response> {
    let own = format!("http://{}", request.host);
    if request.origin.as_ref().is_some_and(|origin| *origin != own) {
        return Some(Response::error(403, "the request comes from another page"));
    }
    let kind = request.content_type.as_deref().and_then(|kind| kind.split(';').next()).map(str::trim);
    (kind != Some("application/json")).then(|| Response::error(415, "the body is to be application/json"))
}

#[cfg(test)]
mod tests {
    use super::super::request::{Step, head};
    use super::*;
    use std::sync::Mutex;

    #[derive(Default)]
    struct Fake {
        set: Mutex<Vec<bool>>,
    }

    impl Desk for Fake {
        fn now(&self, since: u64) -> Result<Value, Error> {
            Ok(serde_json::json!({ "since": since }))
        }
        fn doctor(&self) -> Result<Value, Error> {
            Err(Error::Control("no daemon answers".into()))
        }
        fn set_bypass(&self, on: bool) -> Result<Value, Error> {
            self.set.lock().unwrap().push(on);
            Ok(serde_json::json!({ "done": "it is" }))
        }
    }

    fn app() -> App<Fake> {
        App::new("0123abcd".into(), Fake::default())
    }

    fn ask(app: &App<Fake>, line: &str, fields: &str, body: &str) -> (u16, String) {
        let text = format!("{line} HTTP/1.1\r\n{fields}Content-Length: {}\r\n\r\n", body.len());
        let Step::Done(request, _) = head(text.as_bytes()) else { panic!("{text}") };
        let response = app.answer(&request, body.as_bytes());
        (response.status, String::from_utf8(response.body).unwrap())
    }

    const HOST: &str = "Host: 127.0.0.1:7716\r\n";
    const KEY: &str = "Authorization: Bearer 0123abcd\r\n";
    const JSON: &str = "Content-Type: application/json\r\n";

    #[test]
    fn without_the_token_nothing_but_the_page_is_given() {
        let app = app();
        assert_eq!(ask(&app, "GET /", HOST, "").0, 200);
        assert!(FILES.iter().all(|(path, ..)| ask(&app, &format!("GET {path}"), HOST, "").0 == 200));
        for field in [
            "",
            "Authorization: Bearer 0123abce\r\n",
            "Authorization: Bearer 0123abcd0\r\n",
            "Authorization: 0123abcd\r\n",
        ] {
            for line in ["GET /api/now", "GET /api/doctor", "POST /api/bypass", "GET /api/nothing"] {
                assert_eq!(
                    ask(&app, line, &format!("{HOST}{field}{JSON}"), "{\"on\":true}").0,
                    401,
                    "{line} {field}"
                );
            }
        }
        assert_eq!(
            ask(&app, "GET /api/now?since=7", &format!("{HOST}{KEY}"), ""),
            (200, "{\"since\":7}".into())
        );
        assert!(app.desk.set.lock().unwrap().is_empty());
    }

    #[test]
    fn another_name_of_this_machine_is_refused() {
        let app = app();
        for name in [
            "evil.example",
            "127.0.0.1.evil.example",
            "localhost:x",
            "127.0.0.1:7716.evil",
            "192.0.2.1:7716",
            "[::2]",
            "ä",
        ] {
            assert_eq!(ask(&app, "GET /", &format!("Host: {name}\r\n"), "").0, 421, "{name}");
            assert_eq!(ask(&app, "GET /api/now", &format!("Host: {name}\r\n{KEY}"), "").0, 421, "{name}");
        }
        for name in ["localhost", "LocalHost:8080", "127.0.0.1", "[::1]:7716"] {
            assert_eq!(ask(&app, "GET /", &format!("Host: {name}\r\n"), "").0, 200, "{name}");
        }
    }

    #[test]
    fn effects_take_a_post_of_the_page_itself() {
        let app = app();
        let (all, body) = (format!("{HOST}{KEY}{JSON}"), "{\"on\":true}");
        assert_eq!(ask(&app, "GET /api/bypass?on=true", &all, body).0, 405);
        assert_eq!(ask(&app, "PUT /api/bypass", &all, body).0, 405);
        assert_eq!(ask(&app, "POST /api/now", &all, body).0, 405);
        assert_eq!(ask(&app, "POST /", &all, body).0, 405);
        // What a form of another page can send.
        assert_eq!(ask(&app, "POST /api/bypass", &format!("{HOST}{KEY}"), body).0, 415);
        assert_eq!(
            ask(&app, "POST /api/bypass", &format!("{HOST}{KEY}Content-Type: text/plain\r\n"), body).0,
            415
        );
        assert_eq!(
            ask(&app, "POST /api/bypass", &format!("{all}Origin: http://evil.example\r\n"), body).0,
            403
        );
        assert_eq!(ask(&app, "POST /api/bypass", &format!("{all}Origin: null\r\n"), body).0, 403);
        assert_eq!(ask(&app, "POST /api/bypass", &all, "{\"on\":1}").0, 400);
        assert!(app.desk.set.lock().unwrap().is_empty(), "none of these had an effect");
        assert_eq!(
            ask(&app, "POST /api/bypass", &format!("{all}Origin: http://127.0.0.1:7716\r\n"), body).0,
            200
        );
        assert_eq!(*app.desk.set.lock().unwrap(), [true]);
    }

    #[test]
    fn a_daemon_that_gives_no_answer_is_an_error_with_its_reason() {
        let (status, body) = ask(&app(), "GET /api/doctor", &format!("{HOST}{KEY}"), "");
        assert_eq!((status, body.as_str()), (503, "{\"error\":\"no daemon answers\"}"));
    }
}
