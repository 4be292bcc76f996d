//! Where sockets are: in a directory that only its user can enter.

use crate::{Error, own_run};
use nix::unistd::geteuid;
use std::fs::{self, DirBuilder};
use std::io::ErrorKind;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

/// Longest name of an emulator: a socket's path has 108 bytes.
const LONGEST_NAME: usize = 40;
const SUFFIX: &str = ".sock";

/// The directories that may be the user's, the first ones rather.
fn candidates() -> Vec<PathBuf> {
    let uid = own_run::caller().map_or_else(geteuid, |(uid, _)| uid);
    // Root of a user namespace may have a `/run` that nobody else sees.
    if uid.is_root() && !own_run::in_user_namespace() {
        return vec!["/run/longhaul-emu-control".into()];
    }
    let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|place| place.is_absolute());
    let runtime = runtime.map(|place| place.join("longhaul-emu"));
    runtime.into_iter().chain([format!("/tmp/longhaul-emu-{uid}").into()]).collect()
}

/// Whether a directory is the user's alone.
fn is_own(place: &Path) -> Result<(), String> {
    let found = fs::symlink_metadata(place).map_err(|why| why.to_string())?;
    if !found.is_dir() || found.uid() != geteuid().as_raw() || found.mode() & 0o077 != 0 {
        return Err("it is not a directory of this user's alone (mode 0700)".to_string());
    }
    Ok(())
}

fn make(place: &Path) -> Result<(), String> {
    match DirBuilder::new().mode(0o700).create(place) {
        Err(why) if why.kind() != ErrorKind::AlreadyExists => Err(why.to_string()),
        _ => is_own(place),
    }
}

/// The directory of the user's sockets, made if it is missing.
fn directory() -> Result<PathBuf, Error> {
    let mut last = None;
    for place in candidates() {
        match make(&place) {
            Ok(()) => return Ok(place),
            Err(why) => last = Some(Error::system(format!("make {}", place.display()), why)),
        }
    }
    Err(last.expect("there is a candidate"))
}

/// An emulator's socket; dropped, it is gone.
pub(super) struct Socket {
    listener: UnixListener,
    path: PathBuf,
}

impl Socket {
    /// Under a name.
    ///
    /// # Errors
    /// A name that is none or another emulator's; what the system refuses.
    pub fn open(name: &str) -> Result<Socket, Error> {
        if !is_name(name) {
            let text = format!("--name {name}: a name has letters, digits, - and _, at most {LONGEST_NAME}");
            return Err(Error::Unsupported(text));
        }
        let path = directory()?.join(format!("{name}{SUFFIX}"));
        let failed = |why| Error::system(format!("make the socket {}", path.display()), why);
        // One that was killed has left its own.
        if path.exists() {
            if UnixStream::connect(&path).is_ok() {
                return Err(Error::Unsupported(format!(
                    "--name {name}: an emulator of this name is running"
                )));
            }
            fs::remove_file(&path).map_err(failed)?;
        }
        // Whoever looks for emulators meets it only when it listens.
        let hidden = path.with_file_name(format!(".{name}"));
        let _ = fs::remove_file(&hidden);
        let listener = UnixListener::bind(&hidden).map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        fs::rename(&hidden, &path).map_err(failed)?;
        Ok(Socket { listener, path })
    }

    /// Whoever has connected, if anybody has.
    pub fn accept(&self) -> Option<UnixStream> {
        self.listener.accept().ok().map(|(stream, _)| stream)
    }

    /// A file beside it.
    pub fn note(&self) -> PathBuf {
        self.path.with_extension("as-it-was.toml")
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

fn is_name(name: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
    !name.is_empty() && name.len() <= LONGEST_NAME && name.chars().all(fits)
}

/// The connection to the user's emulator of this name, if it runs. Others are left alone: a connection keeps an emulator from serving
/// other requests until it is used.
pub(super) fn one(name: &str) -> Option<UnixStream> {
    let places = candidates().into_iter().filter(|place| is_name(name) && is_own(place).is_ok());
    places.filter_map(|place| UnixStream::connect(place.join(format!("{name}{SUFFIX}"))).ok()).next()
}

/// The user's emulators that run: names and connections, by name.
pub(super) fn all() -> Vec<(String, UnixStream)> {
    let mut found = vec![];
    for place in candidates().into_iter().filter(|place| is_own(place).is_ok()) {
        for entry in fs::read_dir(place).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let Some(name) = name.strip_suffix(SUFFIX) else { continue };
            match UnixStream::connect(entry.path()) {
                Ok(stream) => found.push((name.to_string(), stream)),
                // Of one that was killed.
                Err(why) if why.kind() == ErrorKind::ConnectionRefused => drop(fs::remove_file(entry.path())),
                Err(_) => {}
            }
        }
    }
    found.sort_by(|(one, _), (other, _)| one.cmp(other));
    found
}
