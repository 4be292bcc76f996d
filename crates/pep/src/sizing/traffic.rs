//! Clients and a server: transfers that never end, echoes, and connections one after the other.

use super::Spread;
use crate::Error;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::sync::oneshot;

/// Where the server is.
pub(super) const SERVER: Ipv4Addr = Ipv4Addr::new(10, 82, 0, 2);
/// Its ports: clients that open connections in a row use one each, so that none runs out of ports of its own.
const PORTS: std::ops::Range<u16> = 8000..8004;
/// Transfers at a time.
const TRANSFERS: usize = 4;
/// Until transfers have their rate.
const WARMING_UP: Duration = Duration::from_millis(700);
/// Bytes of a call.
const BLOCK: usize = 256 << 10;
/// Bytes of a question and of its answer.
const QUESTION: usize = 100;
/// Nobody waits longer for an answer.
const PATIENCE: Duration = Duration::from_secs(10);
/// The first byte of a connection: all else is echoed.
const SEND: u8 = b'>';
const ECHO: u8 = b'=';

fn failed(why: std::io::Error) -> Error {
    Error::system("measure", why)
}

/// The server; it ends when this is dropped. To be called inside its place.
///
/// # Errors
/// If nobody can listen there.
pub(super) fn serve() -> Result<oneshot::Sender<()>, Error> {
    let (stop, stopped) = oneshot::channel::<()>();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(failed)?;
    let mut listeners = vec![];
    for port in PORTS {
        let listener = std::net::TcpListener::bind((SERVER, port)).map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        listeners.push(listener);
    }
    std::thread::spawn(move || {
        runtime.block_on(async {
            for listener in listeners {
                let Ok(listener) = TcpListener::from_std(listener) else { return };
                tokio::spawn(accept(listener));
            }
            let _ = stopped.await;
        });
    });
    Ok(stop)
}

async fn accept(listener: TcpListener) {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => drop(tokio::spawn(answer(stream))),
            Err(_) => tokio::time::sleep(Duration::from_millis(10)).await,
        }
    }
}

async fn answer(mut stream: tokio::net::TcpStream) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    if stream.read_u8().await? == SEND {
        let block = vec![0; BLOCK];
        loop {
            stream.write_all(&block).await?;
        }
    }
    let mut room = [0; QUESTION];
    loop {
        match stream.read(&mut room).await? {
            0 => return Ok(()),
            n => stream.write_all(&room[..n]).await?,
        }
    }
}

fn connect(port: u16, kind: u8) -> std::io::Result<TcpStream> {
    let mut stream = TcpStream::connect_timeout(&SocketAddr::from((SERVER, port)), PATIENCE)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.write_all(&[kind])?;
    Ok(stream)
}

/// One question and its answer.
fn ask(stream: &mut TcpStream, bytes: &mut [u8]) -> std::io::Result<()> {
    stream.write_all(bytes)?;
    stream.read_exact(bytes)
}

/// Bytes a second of several downloads together; `during` is called at each step. To be called inside the clients' place, as all that
/// follows.
///
/// # Errors
/// A transfer that failed.
pub(super) fn download(time: Duration, mut during: impl FnMut(Step)) -> Result<f64, Error> {
    let started = Instant::now();
    let (begin, end) = (started + WARMING_UP, started + WARMING_UP + time);
    let transfers: Vec<_> = (0..TRANSFERS)
        .map(|number| {
            let port = PORTS.start + (number % PORTS.len()) as u16;
            std::thread::spawn(move || -> std::io::Result<u64> {
                let mut stream = connect(port, SEND)?;
                let (mut room, mut came) = (vec![0; BLOCK], 0);
                loop {
                    let n = stream.read(&mut room)?;
                    let now = Instant::now();
                    if n == 0 {
                        return Err(std::io::ErrorKind::UnexpectedEof.into());
                    }
                    if now >= end {
                        return Ok(came);
                    }
                    if now >= begin {
                        came += n as u64;
                    }
                }
            })
        })
        .collect();
    std::thread::sleep(begin - started);
    during(Step::Begin);
    while Instant::now() < end {
        std::thread::sleep(Duration::from_millis(50));
        during(Step::Meanwhile);
    }
    during(Step::End);
    let mut all = 0;
    for transfer in transfers {
        all += transfer.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)).map_err(failed)?;
    }
    Ok(all as f64 / time.as_secs_f64())
}

/// How far transfers are.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// They have their rate.
    Begin,
    /// They go on.
    Meanwhile,
    /// Their time is over.
    End,
}

/// Times of questions on one connection, in seconds.
///
/// # Errors
/// No answer.
pub(super) fn questions(time: Duration) -> Result<Spread, Error> {
    let mut stream = connect(PORTS.start, ECHO).map_err(failed)?;
    let (mut bytes, mut times) = ([7; QUESTION], vec![]);
    // The first ones make caches warm.
    for _ in 0..100 {
        ask(&mut stream, &mut bytes).map_err(failed)?;
    }
    let begin = Instant::now();
    while begin.elapsed() < time {
        let asked = Instant::now();
        ask(&mut stream, &mut bytes).map_err(failed)?;
        times.push(asked.elapsed().as_secs_f64());
    }
    Ok(Spread::of(times))
}

/// Connections a second that several clients open one after the other, each with one question, and the seconds until its answer.
///
/// # Errors
/// A connection that failed.
pub(super) fn openings(time: Duration) -> Result<(f64, Spread), Error> {
    let begin = Instant::now();
    let clients: Vec<_> = PORTS
        .map(|port| {
            std::thread::spawn(move || -> std::io::Result<Vec<f64>> {
                let mut times = vec![];
                while begin.elapsed() < time {
                    let opened = Instant::now();
                    let mut stream = connect(port, ECHO)?;
                    ask(&mut stream, &mut [7])?;
                    times.push(opened.elapsed().as_secs_f64());
                }
                Ok(times)
            })
        })
        .collect();
    let mut times = vec![];
    for client in clients {
        let found = client.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        times.extend(found.map_err(failed)?);
    }
    Ok((times.len() as f64 / begin.elapsed().as_secs_f64(), Spread::of(times)))
}

/// Connections on which one question was answered, and that stay open.
///
/// # Errors
/// One that failed.
pub(super) fn hold(count: usize) -> Result<Vec<TcpStream>, Error> {
    let one = |number| -> std::io::Result<TcpStream> {
        let mut stream = connect(PORTS.start + (number % PORTS.len()) as u16, ECHO)?;
        ask(&mut stream, &mut [7])?;
        Ok(stream)
    };
    (0..count).map(one).collect::<std::io::Result<_>>().map_err(failed)
}
