//! The process of the page, which the daemon starts beside itself and which ends with it.

use super::app::App;
use super::desk::Daemon;
use super::machine::Machine;
use super::server::{self, Listener};
use super::token;
use crate::config::{Config, PageAddress};
use crate::{Error, control, listen, load};
use std::io::Read;
use std::net::SocketAddr;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use tokio::net::UnixListener;

/// The name of the command that runs it.
pub const COMMAND: &str = "page-server";
/// Requests that are worked on at a time.
const AT_WORK: usize = 4;

/// The process of the page beside a daemon. Dropped, it ends.
pub(crate) struct Beside(Child);

impl Drop for Beside {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}

/// Starts the process of the page, if the configuration has one.
pub(crate) fn start(config: &Config, path: &Path) -> Result<Option<Beside>, Error> {
    if config.page.is_none() {
        return Ok(None);
    }
    let failed = |why: std::io::Error| Error::system("start the page", why);
    let child = Command::new(std::env::current_exe().map_err(failed)?)
        .arg(COMMAND)
        .arg("--config")
        .arg(path)
        // Ctrl-C is for the daemon.
        .process_group(0)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .map_err(failed)?;
    Ok(Some(Beside(child)))
}

/// Serves the page of a configuration file until standard input ends.
///
/// # Errors
/// An address that cannot be had, and whatever keeps it from starting.
pub fn serve(path: &Path) -> Result<(), Error> {
    crate::sandbox::keep_for_helper();
    let config = load::load(path)?;
    let Some(page) = &config.page else {
        return Err(Error::Config(format!("{}: there is no [page]", path.display())));
    };
    let key = token::make(&token::file(&config.control))?;
    let app = Arc::new(App::new(key, Daemon::new(path.to_path_buf(), config.control.clone())));
    let at = page.listen.clone();
    runtime()?.block_on(async {
        let listener = open(&at)?;
        tracing::info!("the page is at {at}; `longhaul-pep page` prints its address with the token");
        std::thread::spawn(move || {
            // Whatever comes, and its end.
            let mut rest = std::io::stdin().lock();
            while rest.read(&mut [0; 64]).is_ok_and(|n| n > 0) {}
            if let PageAddress::Socket(path) = &at {
                let _ = std::fs::remove_file(path);
            }
            std::process::exit(0);
        });
        server::serve(listener, app).await;
        Ok(())
    })
}

fn runtime() -> Result<tokio::runtime::Runtime, Error> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(AT_WORK)
        .build()
        .map_err(|why| Error::system("start threads", why))
}

/// Serves the page with the set-up of this machine, whose file is to be `path`, until it is ended. `control` is the control socket of the
/// daemon that is set up, if it is not to be the usual one; `announce` gets the address with the token.
///
/// # Errors
/// An address that cannot be had.
pub fn set_up(
    path: &Path,
    at: SocketAddr,
    control: Option<PathBuf>,
    announce: impl FnOnce(&str) -> Result<(), Error>,
) -> Result<(), Error> {
    if !at.ip().is_loopback() {
        return Err(Error::Config(format!(
            "{at} is not on loopback; the set-up changes this machine, reach it by `ssh -L 7717:127.0.0.1:7717`"
        )));
    }
    let key = token::random()?;
    let app = Arc::new(App::new(key.clone(), Machine::new(path.to_path_buf(), control)));
    runtime()?.block_on(async {
        let listener = open(&PageAddress::Loopback(at))?;
        announce(&format!("http://{at}/#{key}"))?;
        server::serve(listener, app).await;
        Ok(())
    })
}

/// Opens the page's socket.
pub(super) fn open(at: &PageAddress) -> Result<Listener, Error> {
    match at {
        PageAddress::Loopback(at) => listen::listen(*at, false, 0).map(Listener::Tcp),
        PageAddress::Socket(path) => {
            let failed = |why| Error::system(format!("open {}", path.display()), why);
            let listener = control::bind(path, "socket of the page", "page.listen")?;
            listener.set_nonblocking(true).map_err(failed)?;
            UnixListener::from_std(listener).map(Listener::Unix).map_err(failed)
        }
    }
}

/// What an operator opens, with the token.
///
/// # Errors
/// A configuration without `[page]`, and a token that is not there.
pub fn address(path: &Path) -> Result<String, Error> {
    let config = load::load(path)?;
    let Some(page) = &config.page else {
        let what = "the page is off; write a line `[page]` into the file and restart the daemon";
        return Err(Error::Config(format!("{}: {what}", path.display())));
    };
    let token = token::read(&token::file(&config.control))?;
    Ok(match &page.listen {
        PageAddress::Loopback(at) => format!("http://{at}/#{token}"),
        PageAddress::Socket(path) => {
            let port = PageAddress::PORT;
            format!(
                "ssh -L 127.0.0.1:{port}:{} THIS-MACHINE, and then http://127.0.0.1:{port}/#{token}",
                path.display()
            )
        }
    })
}
