//! What the emulator has made on this machine, written down before it is made: a file for each emulator that runs, locked
//! (flock) while it does. A file without a lock belongs to one that was killed, and the next start removes what it lists.

use crate::{Error, namespace};
use nix::fcntl::{Flock, FlockArg};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

/// Where the files are.
const DIRECTORY: &str = "/run/longhaul-emu";

/// An emulator's entry; dropped, it removes what it lists.
pub struct Registration {
    path: PathBuf,
    /// Names of namespaces.
    names: Vec<String>,
    /// Holds the lock.
    _file: Flock<File>,
}

impl Registration {
    /// Registers names of namespaces that are going to be made.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn new(id: &str, names: Vec<String>) -> Result<Registration, Error> {
        let writing = |why: &dyn std::fmt::Display| Error::system(format!("write to {DIRECTORY}"), why);
        fs::create_dir_all(DIRECTORY).map_err(|why| writing(&why))?;
        // Locked before it has its name: nobody sees it without a lock, and what begins with a dot nobody looks at.
        let partial = Path::new(DIRECTORY).join(format!(".{id}"));
        let path = Path::new(DIRECTORY).join(id);
        let mut file = File::create(&partial).map_err(|why| writing(&why))?;
        file.write_all(names.join("\n").as_bytes()).map_err(|why| writing(&why))?;
        let file = Flock::lock(file, FlockArg::LockExclusiveNonblock).map_err(|(_, why)| writing(&why))?;
        fs::rename(&partial, &path).map_err(|why| writing(&why))?;
        Ok(Registration { path, names, _file: file })
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        remove(&self.names);
        let _ = fs::remove_file(&self.path);
    }
}

/// Removes what emulators have left behind that were killed. Returns the names of the namespaces.
pub fn clean_up() -> Vec<String> {
    let Ok(entries) = fs::read_dir(DIRECTORY) else { return vec![] };
    let mut removed = vec![];
    for entry in entries.flatten() {
        if entry.file_name().to_string_lossy().starts_with('.') {
            continue;
        }
        let Ok(file) = File::open(entry.path()) else { continue };
        // Whoever holds the lock is alive.
        let Ok(mut file) = Flock::lock(file, FlockArg::LockExclusiveNonblock) else { continue };
        let mut text = String::new();
        if file.read_to_string(&mut text).is_err() {
            continue;
        }
        let names: Vec<String> = text.lines().map(str::to_string).collect();
        removed.extend(remove(&names));
        let _ = fs::remove_file(entry.path());
    }
    removed
}

/// Removes namespaces and ends the processes that are still in them. Returns the names of those that there were.
fn remove(names: &[String]) -> Vec<String> {
    let mut removed = vec![];
    for name in names.iter().filter(|name| name.starts_with(namespace::PREFIX) && namespace::exists(name)) {
        for process in namespace::processes(name).unwrap_or_default() {
            // The emulator itself may have threads there; they are about to end.
            if process != std::process::id() as i32 {
                let _ = kill(Pid::from_raw(process), Signal::SIGKILL);
            }
        }
        if namespace::delete(name).is_ok() {
            removed.push(name.clone());
        }
    }
    removed
}
