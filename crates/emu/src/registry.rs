//! What the emulator has made on this machine, written down before it is made: a file for each emulator that runs, locked
//! (flock) while it does. A file without a lock belongs to one that was killed, and the next start removes what it lists.

use crate::{Error, internet, namespace};
use nix::fcntl::{Flock, FlockArg};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

/// Where the files are.
const DIRECTORY: &str = "/run/longhaul-emu";

/// How entries begin that are not namespaces.
const TABLE: &str = "table ";
const FORWARDING: &str = "forwarding ";

/// An emulator's entry; dropped, it removes what it lists.
pub struct Registration {
    path: PathBuf,
    /// Names of namespaces, and what [`undo`] knows besides.
    entries: Vec<String>,
    /// Holds the lock.
    file: Flock<File>,
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
        Ok(Registration { path, entries: names, file })
    }

    /// Registers what else is going to be changed: `table NAME` for a table of nftables, `forwarding STACK VALUE` for
    /// whether the machine forwarded packets before.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn add(&mut self, entries: &[String]) -> Result<(), Error> {
        let forwarding = |entry: &String| entry.starts_with(FORWARDING);
        let mut entries = entries.to_vec();
        // What another one that is running has found is how it was; who ends last restores it.
        if let Some(found) = others(&self.path).into_iter().find(forwarding) {
            entries.iter_mut().filter(|entry| forwarding(entry)).for_each(|entry| entry.clone_from(&found));
        }
        let text: String = entries.iter().map(|entry| format!("\n{entry}")).collect();
        (&*self.file)
            .write_all(text.as_bytes())
            .map_err(|why| Error::system(format!("write to {DIRECTORY}"), why))?;
        self.entries.append(&mut entries);
        Ok(())
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        remove(&self.entries);
        undo(&self.path, &self.entries);
        let _ = fs::remove_file(&self.path);
    }
}

/// Entries of all other files: of emulators that are running, once what is left of others has been removed.
fn others(than: &Path) -> Vec<String> {
    let files = fs::read_dir(DIRECTORY).into_iter().flatten().flatten().map(|entry| entry.path());
    let texts = files.filter(|path| path != than).filter_map(|path| fs::read_to_string(path).ok());
    texts.flat_map(|text| text.lines().map(str::to_string).collect::<Vec<_>>()).collect()
}

/// Undoes what entries say beside namespaces.
fn undo(path: &Path, entries: &[String]) {
    for entry in entries {
        if let Some(table) = entry.strip_prefix(TABLE).filter(|name| name.starts_with(namespace::PREFIX)) {
            internet::remove_table(table);
        }
        let needed = || others(path).iter().any(|other| other.starts_with(FORWARDING));
        if let Some(before) = entry.strip_prefix(FORWARDING).filter(|_| !needed()) {
            internet::restore_forwarding(before);
        }
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
        undo(&entry.path(), &names);
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
