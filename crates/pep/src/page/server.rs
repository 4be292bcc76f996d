//! The sockets of the page: bounded in connections, bytes and time.

use super::app::{App, Desk};
use super::request::{Response, Step, head};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, UnixListener};
use tokio::sync::Semaphore;
use tokio::time::timeout;

/// Connections at a time; more are refused (503).
pub const MOST: usize = 32;
/// A client has this long for its request, and for the answer.
pub const PATIENCE: Duration = Duration::from_secs(5);

/// What comes after the answer is read for so long.
const LINGER: Duration = Duration::from_millis(500);
/// A client that is refused gets so much of this server's time.
const AT_ONCE: Duration = Duration::from_millis(100);

/// Where the page is.
#[derive(Debug)]
pub enum Listener {
    /// On loopback.
    Tcp(TcpListener),
    /// A file.
    Unix(UnixListener),
}

/// Answers requests, for ever.
pub async fn serve<D: Desk + 'static>(listener: Listener, app: Arc<App<D>>) {
    let room = Arc::new(Semaphore::new(MOST));
    loop {
        let accepted = match &listener {
            Listener::Tcp(listener) => {
                listener.accept().await.map(|(stream, _)| tokio::spawn(guarded(stream, &app, &room)))
            }
            Listener::Unix(listener) => {
                listener.accept().await.map(|(stream, _)| tokio::spawn(guarded(stream, &app, &room)))
            }
        };
        if accepted.is_err() {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }
}

/// Serves a client if there is room.
fn guarded<D: Desk + 'static, S: AsyncRead + AsyncWrite + Unpin + Send + 'static>(
    mut stream: S,
    app: &Arc<App<D>>,
    room: &Arc<Semaphore>,
) -> impl Future<Output = ()> + Send + use<D, S> {
    let (place, app) = (room.clone().try_acquire_owned(), app.clone());
    async move {
        let Ok(_place) = place else {
            let refusal = Response::error(503, "as many clients as there may be");
            // What does not fit a buffer of the kernel is not waited for.
            return give(&mut stream, &refusal, AT_ONCE, AT_ONCE).await;
        };
        let response = match timeout(PATIENCE, request(&mut stream)).await {
            Err(_) => Response::error(408, "the request is not complete"),
            Ok(None) => return,
            Ok(Some(Err(status))) => Response::error(status, "this is no request of the page"),
            Ok(Some(Ok((request, body)))) => {
                let work = tokio::task::spawn_blocking(move || app.answer(&request, &body));
                work.await.unwrap_or_else(|why| Response::error(500, &why.to_string()))
            }
        };
        give(&mut stream, &response, PATIENCE, LINGER).await;
    }
}

/// Writes an answer, and reads what still comes, which would make the kernel reset the connection before the answer is read.
async fn give(
    stream: &mut (impl AsyncRead + AsyncWrite + Unpin),
    response: &Response,
    time: Duration,
    linger: Duration,
) {
    let bytes = response.bytes();
    let written =
        timeout(time, async { stream.write_all(&bytes).await.is_ok() && stream.shutdown().await.is_ok() });
    if written.await == Ok(true) {
        let mut rest = [0; 4096];
        let _ = timeout(linger, async { while stream.read(&mut rest).await.is_ok_and(|n| n > 0) {} }).await;
    }
}

type Read = (super::request::Request, Vec<u8>);

/// A request with its body, or the status that refuses it; `None` if the client has gone.
async fn request(stream: &mut (impl AsyncRead + Unpin)) -> Option<Result<Read, u16>> {
    let mut bytes = Vec::with_capacity(1024);
    let (request, used) = loop {
        match head(&bytes) {
            Step::Done(request, used) => break (*request, used),
            Step::Refused(status) => return Some(Err(status)),
            Step::More => {}
        }
        let mut more = [0; 2048];
        match stream.read(&mut more).await {
            Ok(n) if n > 0 => bytes.extend(&more[..n]),
            _ => return None,
        }
    };
    let mut body = bytes.split_off(used);
    if body.len() > request.length {
        // A second request, which would wait for the first.
        return Some(Err(400));
    }
    let missing = (request.length - body.len()) as u64;
    stream.take(missing).read_to_end(&mut body).await.ok()?;
    (body.len() == request.length).then_some(Ok((request, body)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Error;
    use serde_json::Value;
    use tokio::net::TcpStream;

    struct Nothing;

    impl Desk for Nothing {
        fn now(&self, _: u64) -> Result<Value, Error> {
            Ok(Value::from("now"))
        }
        fn doctor(&self) -> Result<Value, Error> {
            Ok(Value::Null)
        }
        fn set_bypass(&self, on: bool) -> Result<Value, Error> {
            Ok(Value::from(on))
        }
    }

    async fn page() -> std::net::SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let at = listener.local_addr().unwrap();
        tokio::spawn(serve(Listener::Tcp(listener), Arc::new(App::new("key".into(), Nothing))));
        at
    }

    async fn answer(stream: &mut TcpStream) -> String {
        let mut text = String::new();
        timeout(Duration::from_secs(20), stream.read_to_string(&mut text)).await.unwrap().unwrap();
        text
    }

    async fn asked(at: std::net::SocketAddr, text: &str) -> String {
        let mut stream = TcpStream::connect(at).await.unwrap();
        stream.write_all(text.as_bytes()).await.unwrap();
        answer(&mut stream).await
    }

    #[tokio::test]
    async fn answers_name_what_a_browser_may_do_with_them() {
        let at = page().await;
        let text = asked(at, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n").await;
        assert!(text.starts_with("HTTP/1.1 200 OK\r\n"), "{text}");
        for field in [
            "default-src 'none'; script-src 'self'",
            "frame-ancestors 'none'",
            "nosniff",
            "no-store",
            "Connection: close",
        ] {
            assert!(text.contains(field), "{field}: {text}");
        }
        assert!(!text.contains("Access-Control"), "no other site may read it");
        let text = asked(
            at,
            "POST /api/bypass HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer key\r\n\
                              Content-Type: application/json\r\nContent-Length: 11\r\n\r\n{\"on\":true}",
        )
        .await;
        assert!(text.starts_with("HTTP/1.1 200") && text.ends_with("true"), "{text}");
    }

    #[tokio::test]
    async fn an_oversized_head_is_refused() {
        let at = page().await;
        let text =
            asked(at, &format!("GET / HTTP/1.1\r\nHost: localhost\r\nX: {}", "a".repeat(20_000))).await;
        assert!(text.starts_with("HTTP/1.1 431"), "{text}");
        let text =
            asked(at, "POST /api/bypass HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999\r\n\r\n")
                .await;
        assert!(text.starts_with("HTTP/1.1 413"), "{text}");
        let text =
            asked(at, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\nGET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
                .await;
        assert!(text.starts_with("HTTP/1.1 400"), "{text}");
    }

    #[tokio::test]
    async fn slow_clients_are_ended_and_take_no_more_places_than_there_are() {
        let at = page().await;
        let mut slow = vec![];
        for _ in 0..MOST {
            let mut stream = TcpStream::connect(at).await.unwrap();
            stream.write_all(b"GET / HT").await.unwrap();
            slow.push(stream);
        }
        let mut refused = TcpStream::connect(at).await.unwrap();
        assert!(answer(&mut refused).await.starts_with("HTTP/1.1 503"));
        let begin = std::time::Instant::now();
        for stream in &mut slow {
            assert!(answer(stream).await.starts_with("HTTP/1.1 408"));
        }
        assert!(begin.elapsed() < PATIENCE * 3, "{:?}", begin.elapsed());
        drop(slow);
        tokio::time::sleep(LINGER * 2).await;
        let text = asked(at, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n").await;
        assert!(text.starts_with("HTTP/1.1 200"), "{text}");
    }
}
