//! What the emulator has made on this machine, and what it has changed there, written down before it is made or changed: a file for
//! each emulator that runs, locked (flock) while it does. A file without a lock belongs to one that was killed, and the next start
//! removes and restores what it lists.
//!
//! A line is the name of a namespace, `table STACK NAME` (a table of nftables), or `sysctl STACK NAME VALUE` (a setting as it
//! was before); STACK is the number of the network stack that it is in.

use crate::sysctl::Setting;
use crate::{Error, namespace, nft, stack, sysctl};
use longhaul_program::print;
use nix::fcntl::{Flock, FlockArg};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

/// Where the files are.
pub(crate) const DIRECTORY: &str = "/run/longhaul-emu";
/// Held while settings that emulators share are written down or restored. What begins with a dot is no emulator's entry.
const LOCK: &str = ".lock";

/// How entries begin that are not namespaces.
const TABLE: &str = "table ";
const SYSCTL: &str = "sysctl ";

/// An emulator's entry; dropped, it removes what it lists.
pub struct Registration {
    path: PathBuf,
    /// What is written in the file.
    entries: Vec<String>,
    /// Holds the lock.
    file: Flock<File>,
}

fn writing(why: impl std::fmt::Display) -> Error {
    let why = why.to_string();
    Error::system(format!("write to {DIRECTORY}, where the emulator writes down what it makes"), why)
}

impl Registration {
    /// Registers names of namespaces that are going to be made.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn new(id: &str, names: Vec<String>) -> Result<Registration, Error> {
        fs::create_dir_all(DIRECTORY).map_err(writing)?;
        // Locked before it has its name: it is never visible without a lock.
        let partial = Path::new(DIRECTORY).join(format!(".{id}"));
        let path = Path::new(DIRECTORY).join(id);
        let mut file = File::create(&partial).map_err(writing)?;
        file.write_all(names.join("\n").as_bytes()).map_err(writing)?;
        let file = Flock::lock(file, FlockArg::LockExclusiveNonblock).map_err(|(_, why)| writing(why))?;
        fs::rename(&partial, &path).map_err(writing)?;
        Ok(Registration { path, entries: names, file })
    }

    /// Registers what is going to be made and changed in the network stack of the thread: a table of nftables, and settings as
    /// they are. Where another emulator that is running has changed these, they are as it has found them: who ends last restores
    /// them.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub(crate) fn add_changes(&mut self, table: &str, settings: &[Setting]) -> Result<(), Error> {
        let _lock = lock().map_err(writing)?;
        let stack = stack::own();
        let begin = format!("{SYSCTL}{stack} ");
        let mut found: Vec<String> =
            others(&self.path).into_iter().filter(|line| line.starts_with(&begin)).collect();
        let known: Vec<String> = found.iter().filter_map(|line| name_of(line, &begin)).collect();
        let others = settings.iter().filter(|setting| !known.iter().any(|name| name == setting.name()));
        found.extend(others.map(|setting| format!("{begin}{}", setting.line())));
        let mut entries = vec![format!("{TABLE}{stack} {table}")];
        entries.append(&mut found);
        let text: String = entries.iter().map(|entry| format!("\n{entry}")).collect();
        (&*self.file).write_all(text.as_bytes()).map_err(writing)?;
        self.entries.append(&mut entries);
        Ok(())
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        // What cannot be undone stays written down, for the next start.
        if let Err(why) = undo(&self.path, &self.entries) {
            print::note(format_args!(
                "warning: not everything is as it was before: {why}; `longhaul-emu clean` tries again"
            ));
        }
    }
}

fn lock() -> Result<Flock<File>, String> {
    let file = File::create(Path::new(DIRECTORY).join(LOCK)).map_err(|why| why.to_string())?;
    Flock::lock(file, FlockArg::LockExclusive).map_err(|(_, why)| why.to_string())
}

/// Lines of all other files: of emulators that are running, once what is left of others has been removed.
fn others(than: &Path) -> Vec<String> {
    let files = entries().into_iter().filter(|path| path != than);
    let texts = files.filter_map(|path| fs::read_to_string(path).ok());
    texts.flat_map(|text| text.lines().map(str::to_string).collect::<Vec<_>>()).collect()
}

/// The files of all emulators.
fn entries() -> Vec<PathBuf> {
    let entries = fs::read_dir(DIRECTORY).into_iter().flatten().flatten();
    let files = entries.filter(|entry| !entry.file_name().to_string_lossy().starts_with('.'));
    files.map(|entry| entry.path()).collect()
}

/// Undoes all that a file lists, and removes the file. Returns the names of the namespaces that there were.
fn undo(path: &Path, lines: &[String]) -> Result<Vec<String>, Error> {
    let removed = remove(lines)?;
    for (stack, table) in lines.iter().filter_map(|line| of_stack(line, TABLE)) {
        if table.starts_with(namespace::PREFIX) {
            stack::within(stack, || {
                nft::remove_tables(table);
                Ok(())
            })
            .transpose()?;
        }
    }
    let _lock = lock().map_err(writing)?;
    let mut stacks: Vec<u64> =
        lines.iter().filter_map(|line| of_stack(line, SYSCTL)).map(|(stack, _)| stack).collect();
    stacks.dedup();
    for stack in stacks {
        let begin = format!("{SYSCTL}{stack} ");
        let needed: Vec<String> = others(path).iter().filter_map(|line| name_of(line, &begin)).collect();
        let settings = lines.iter().filter_map(|line| Setting::of_line(line.strip_prefix(&begin)?));
        let settings: Vec<Setting> =
            settings.filter(|setting| !needed.iter().any(|name| name == setting.name())).collect();
        stack::within(stack, || sysctl::restore(&settings)).transpose()?;
    }
    fs::remove_file(path).map_err(writing)?;
    Ok(removed)
}

/// The network stack of a line that begins like this, and the setting in that line.
fn of_stack<'a>(line: &'a str, begin: &str) -> Option<(u64, &'a str)> {
    let (stack, rest) = line.strip_prefix(begin)?.split_once(' ')?;
    Some((stack.parse().ok()?, rest))
}

/// The name of the setting in a line that begins like this.
fn name_of(line: &str, begin: &str) -> Option<String> {
    Some(Setting::of_line(line.strip_prefix(begin)?)?.name().to_string())
}

/// What was found of killed emulators.
#[derive(Debug, Default)]
pub struct Cleaned {
    /// Names of the namespaces that were removed.
    pub removed: Vec<String>,
    /// Emulators whose traces are gone, namespaces or not.
    pub emulators: usize,
    /// What could not be removed or restored, and why.
    pub left: Vec<Error>,
}

/// Removes what emulators have left behind that were killed, and restores what they had changed.
pub fn clean_up() -> Cleaned {
    let mut cleaned = Cleaned::default();
    for path in entries() {
        let Ok(file) = File::open(&path) else { continue };
        // Whoever holds the lock is alive.
        let Ok(mut file) = Flock::lock(file, FlockArg::LockExclusiveNonblock) else { continue };
        let mut text = String::new();
        if file.read_to_string(&mut text).is_err() {
            continue;
        }
        let lines: Vec<String> = text.lines().map(str::to_string).collect();
        match undo(&path, &lines) {
            Ok(mut removed) => {
                cleaned.emulators += 1;
                cleaned.removed.append(&mut removed);
            }
            Err(why) => cleaned.left.push(why),
        }
    }
    cleaned
}

/// Removes namespaces and ends the processes that are still in them. Returns the names of those that there were.
fn remove(names: &[String]) -> Result<Vec<String>, Error> {
    let there = |name: &&String| name.starts_with(namespace::PREFIX) && namespace::exists(name);
    let (mut removed, mut failed) = (vec![], None);
    for name in names.iter().filter(there) {
        for process in namespace::processes(name) {
            let _ = kill(Pid::from_raw(process), Signal::SIGKILL);
        }
        match namespace::delete(name) {
            Ok(()) => removed.push(name.clone()),
            Err(why) => failed = Some(why),
        }
    }
    match failed {
        // Somebody else may have removed one meanwhile.
        Some(why) if names.iter().any(|name| there(&name)) => Err(why),
        _ => Ok(removed),
    }
}
