//! Requests of the page (HTTP/1.1, RFC 9112), read strictly: what is not needed is refused. Pure: the caller brings the bytes that
//! have come so far.

use crate::error::Error;
use serde::Serialize;

/// Longest head, in bytes.
pub const LONGEST_HEAD: usize = 8192;
/// Longest body, in bytes.
pub const LONGEST_BODY: usize = 64 << 10;
/// Most header fields.
const MOST_FIELDS: usize = 64;

/// What a client wants to do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Method {
    /// To read.
    Get,
    /// To have an effect.
    Post,
    /// Something else.
    Other,
}

/// The head of a request, as far as the page looks at it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Request {
    /// The method.
    pub method: Method,
    /// The path, without the query.
    pub path: String,
    /// The query, without `?`; empty if there is none.
    pub query: String,
    /// Field `Host`.
    pub host: String,
    /// Field `Origin`.
    pub origin: Option<String>,
    /// Field `Authorization`.
    pub authorization: Option<String>,
    /// Field `Content-Type`.
    pub content_type: Option<String>,
    /// Bytes of the body.
    pub length: usize,
}

/// What came of the bytes so far.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Step {
    /// The head is not complete.
    More,
    /// The head, and its length in bytes.
    Done(Box<Request>, usize),
    /// The status code that refuses it.
    Refused(u16),
}

/// Reads the head of a request.
pub fn head(bytes: &[u8]) -> Step {
    let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") else {
        return if bytes.len() < LONGEST_HEAD { Step::More } else { Step::Refused(431) };
    };
    if end + 4 > LONGEST_HEAD {
        return Step::Refused(431);
    }
    match fields(&bytes[..end]) {
        Ok(request) => Step::Done(Box::new(request), end + 4),
        Err(status) => Step::Refused(status),
    }
}

fn fields(head: &[u8]) -> Result<Request, u16> {
    let text = std::str::from_utf8(head).map_err(|_| 400u16)?;
    if text.bytes().any(|c| c.is_ascii_control() && !b"\r\n\t".contains(&c)) {
        return Err(400);
    }
    let mut lines = text.split("\r\n");
    let mut request = first_line(lines.next().unwrap_or_default())?;
    let (mut host, mut length) = (None, None);
    for (count, line) in lines.enumerate() {
        if count >= MOST_FIELDS {
            return Err(431);
        }
        // A line that begins with a space would go on with the one before (obs-fold), which RFC 9112 lets a server refuse.
        let (name, value) = line.split_once(':').ok_or(400u16)?;
        let is_token = |c: u8| c.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&c);
        if name.is_empty() || !name.bytes().all(is_token) || value.contains(['\r', '\n']) {
            return Err(400);
        }
        let value = value.trim_matches([' ', '\t']).to_string();
        let twice = match name.to_ascii_lowercase().as_str() {
            "host" => host.replace(value).is_some(),
            "origin" => request.origin.replace(value).is_some(),
            "authorization" => request.authorization.replace(value).is_some(),
            "content-type" => request.content_type.replace(value).is_some(),
            "content-length" => length.replace(value).is_some(),
            "transfer-encoding" => return Err(501),
            _ => false,
        };
        if twice {
            return Err(400);
        }
    }
    request.host = host.filter(|host| !host.is_empty()).ok_or(400u16)?;
    if let Some(text) = length {
        if text.is_empty() || !text.bytes().all(|c| c.is_ascii_digit()) {
            return Err(400);
        }
        request.length = text.parse().ok().filter(|length| *length <= LONGEST_BODY).ok_or(413u16)?;
    }
    Ok(request)
}

fn first_line(line: &str) -> Result<Request, u16> {
    let mut words = line.split(' ');
    let (Some(method), Some(target), Some(version), None) =
        (words.next(), words.next(), words.next(), words.next())
    else {
        return Err(400);
    };
    if !["HTTP/1.1", "HTTP/1.0"].contains(&version) {
        return Err(if version.starts_with("HTTP/") { 505 } else { 400 });
    }
    let method = match method {
        "GET" => Method::Get,
        "POST" => Method::Post,
        name if !name.is_empty() && name.bytes().all(|c| c.is_ascii_uppercase()) => Method::Other,
        _ => return Err(400),
    };
    if !target.starts_with('/') || !target.bytes().all(|c| c.is_ascii_graphic()) {
        return Err(400);
    }
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    Ok(Request {
        method,
        path: path.to_string(),
        query: query.to_string(),
        host: String::new(),
        origin: None,
        authorization: None,
        content_type: None,
        length: 0,
    })
}

impl Request {
    /// A number of the query, as in `since=12`.
    pub fn number(&self, name: &str) -> Option<u64> {
        let pairs = self.query.split('&').filter_map(|pair| pair.split_once('='));
        pairs.filter(|(key, _)| *key == name).find_map(|(_, value)| value.parse().ok())
    }
}

/// An answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Response {
    /// Status code.
    pub status: u16,
    /// Media type of the body.
    pub kind: &'static str,
    /// The body.
    pub body: Vec<u8>,
}

/// Nothing but this server's own files and answers; no frame around the page, no form to another place.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'; \
                      form-action 'none'; frame-ancestors 'none'";

impl Response {
    /// A file of the program.
    pub fn file(kind: &'static str, body: &str) -> Response {
        Response { status: 200, kind, body: body.as_bytes().to_vec() }
    }

    /// JSON.
    pub fn json(value: &impl Serialize) -> Response {
        Response::json_with(200, value)
    }

    fn json_with(status: u16, value: &impl Serialize) -> Response {
        let body = serde_json::to_vec(value).unwrap_or_default();
        Response { status, kind: "application/json", body }
    }

    /// An error with a reason in words.
    pub fn error(status: u16, why: &str) -> Response {
        Response::json_with(status, &serde_json::json!({ "error": why }))
    }

    /// What failed while a request was served.
    pub fn failed(why: &Error) -> Response {
        Response::error(500, &why.to_string())
    }

    /// The answer on the wire. Each connection has one request.
    pub fn bytes(&self) -> Vec<u8> {
        let reason = match self.status {
            200 => "OK",
            400 => "Bad Request",
            401 => "Unauthorized",
            403 => "Forbidden",
            404 => "Not Found",
            405 => "Method Not Allowed",
            408 => "Request Timeout",
            409 => "Conflict",
            413 => "Content Too Large",
            415 => "Unsupported Media Type",
            421 => "Misdirected Request",
            422 => "Unprocessable Content",
            431 => "Request Header Fields Too Large",
            501 => "Not Implemented",
            503 => "Service Unavailable",
            505 => "HTTP Version Not Supported",
            _ => "Internal Server Error",
        };
        let more = match self.status {
            401 => "WWW-Authenticate: Bearer\r\n",
            405 => "Allow: GET, POST\r\n",
            _ => "",
        };
        let head = format!(
            "HTTP/1.1 {} {reason}\r\nContent-Type: {}; charset=utf-8\r\nContent-Length: {}\r\nConnection: close\r\n\
             Cache-Control: no-store\r\nContent-Security-Policy: {POLICY}\r\nX-Content-Type-Options: nosniff\r\n\
             X-Frame-Options: DENY\r\nReferrer-Policy: no-referrer\r\nCross-Origin-Resource-Policy: same-origin\r\n\
             Cross-Origin-Opener-Policy: same-origin\r\n{more}\r\n",
            self.status,
            self.kind,
            self.body.len()
        );
        [head.as_bytes(), &self.body].concat()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> u16 {
        match head(text.as_bytes()) {
            Step::Refused(status) => status,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_request_is_read_with_its_fields() {
        let text = "POST /api/bypass?x=1&since=12 HTTP/1.1\r\nHost: 127.0.0.1:7716\r\nContent-Length: 11\r\n\
                    content-TYPE:  application/json \r\nAuthorization: Bearer abc\r\n\r\n{\"on\":true}";
        let Step::Done(request, used) = head(text.as_bytes()) else { panic!() };
        assert_eq!(&text[used..], "{\"on\":true}");
        assert_eq!((request.method, request.path.as_str()), (Method::Post, "/api/bypass"));
        assert_eq!((request.number("since"), request.number("until")), (Some(12), None));
        assert_eq!((request.length, request.host.as_str()), (11, "127.0.0.1:7716"));
        assert_eq!(request.content_type.as_deref(), Some("application/json"));
        assert_eq!(request.authorization.as_deref(), Some("Bearer abc"));
        assert_eq!(head(&text.as_bytes()[..40]), Step::More);
    }

    #[test]
    fn what_is_ambiguous_or_too_large_is_refused() {
        let with = |fields: &str| format!("GET / HTTP/1.1\r\n{fields}\r\n\r\n");
        assert_eq!(refused(&with("Accept: */*")), 400, "no host");
        assert_eq!(refused(&with("Host: a\r\nHost: b")), 400);
        assert_eq!(refused(&with("Host: a\r\nContent-Length: 1\r\nContent-Length: 2")), 400);
        assert_eq!(refused(&with("Host: a\r\nContent-Length: +1")), 400);
        assert_eq!(refused(&with("Host: a\r\nContent-Length: 65537")), 413);
        assert_eq!(refused(&with("Host: a\r\nTransfer-Encoding: chunked")), 501);
        assert_eq!(refused(&with("Host: a\r\n folded: b")), 400);
        assert_eq!(refused(&with("Host: a\nX: b")), 400);
        assert_eq!(refused(&with(&format!("Host: a{}", "\r\nX: b".repeat(64)))), 431);
        assert_eq!(refused(&with(&format!("Host: {}", "a".repeat(LONGEST_HEAD)))), 431);
        assert_eq!(refused(&"a".repeat(LONGEST_HEAD)), 431);
        assert_eq!(refused("GET http://evil/ HTTP/1.1\r\nHost: a\r\n\r\n"), 400);
        assert_eq!(refused("GET / HTTP/2.0\r\nHost: a\r\n\r\n"), 505);
        assert_eq!(refused("GET /  HTTP/1.1\r\nHost: a\r\n\r\n"), 400);
        assert_eq!(refused("\r\n\r\n"), 400);
    }
}
