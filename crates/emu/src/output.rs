//! The directory of a result, by the rules of the laboratory (`longhaul run`): a result of something else is not replaced unless that is
//! requested, what is not Longhaul's is never replaced or removed, and a result is there whole or not at all.

use crate::Error;
use crate::inventory::{self, Entry, Files, NAMES};
use nix::fcntl::{Flock, FlockArg};
use serde_json::json;
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// A result's last file: without it, there is no result.
const LAST: &str = "summary.json";
/// The note in a directory that is being written: which process it is, and where the result will be.
const OWNER: &str = "owner.json";
/// What is made from a result, and stays when the same run is made again.
const MADE_FROM_RESULTS: [&str; 2] = ["report.html", "plots/"];
/// What a file system has in its topmost folder.
const EMPTY_DISK: &str = "lost+found";

/// A hidden directory that the result is written into: beside its place, or in it if there is a directory. Dropped before the result is
/// complete, it is gone.
pub(crate) struct Output {
    partial: PathBuf,
    place: PathBuf,
    run_id: String,
    force: bool,
}

impl Output {
    /// Checks that a result of the run may be written to `place`, and makes a directory to write it into. With `force`, any result of
    /// Longhaul's is replaced; without, only the same run's by the emulator.
    ///
    /// # Errors
    /// If the place is taken, or cannot be written to.
    pub fn new(place: &Path, run_id: &str, force: bool) -> Result<Output, Error> {
        let failed = |what: &Path, why: io::Error| {
            Error::system(format!("make the directory {}", what.display()), why)
        };
        let real = target_of(place).map_err(|why| failed(place, why))?;
        check_free(&real, run_id, force)?;
        let inside = real.is_dir();
        let name = real.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let parent = if inside { real.as_path() } else { real.parent().unwrap_or(Path::new("/")) };
        fs::create_dir_all(parent).map_err(|why| failed(parent, why))?;
        let short: String = name.chars().take(50).collect();
        let partial = parent.join(format!(".{short}.{:08x}.partial", std::process::id()));
        fs::create_dir(&partial).map_err(|why| failed(&partial, why))?;
        let output = Output { partial, place: real.clone(), run_id: run_id.to_string(), force };
        let owner = format!("{:#}\n", owner(if inside { "." } else { &name }));
        fs::write(output.partial.join(OWNER), owner).map_err(|why| failed(&output.partial, why))?;
        Ok(output)
    }

    /// Where to write.
    pub fn directory(&self) -> &Path {
        &self.partial
    }

    /// The result is complete: its files take their place. What is not Longhaul's there stays.
    ///
    /// # Errors
    /// What the system refuses; what came into the way meanwhile, with the directory where the result is kept.
    pub fn complete(self) -> Result<(), Error> {
        let failed =
            |why: io::Error| Error::system(format!("write the result to {}", self.place.display()), why);
        let is_there = fs::symlink_metadata(&self.place).is_ok();
        // With the note, by which the directory of this result is known not to be in the way.
        let in_the_way = is_there.then(|| check_free(&self.place, &self.run_id, self.force).err()).flatten();
        fs::remove_file(self.partial.join(OWNER)).map_err(failed)?;
        let new = inventory::of(&self.partial).map_err(failed)?;
        inventory::write(&self.partial, &new).map_err(failed)?;
        if !is_there && self.partial.parent() == self.place.parent() {
            fs::rename(&self.partial, &self.place).map_err(failed)?;
            inventory::sync(self.place.parent().unwrap_or(Path::new("/")));
            return Ok(());
        }
        if let Some(error) = in_the_way {
            let kept = self.partial.with_file_name(format!(
                "{}-{:08x}",
                self.place.file_name().unwrap_or_default().to_string_lossy(),
                std::process::id()
            ));
            fs::rename(&self.partial, &kept).map_err(failed)?;
            let text = format!("{error}; the result that was made meanwhile is kept in {}", kept.display());
            return Err(Error::Output(text));
        }
        self.take_places(&new).map_err(failed)
    }

    /// Moves the files of the result to where older ones, and those of others, may be; whatever is there in between is listed.
    fn take_places(&self, new: &Files) -> io::Result<()> {
        let Output { partial, place, run_id, .. } = self;
        let known = known(place).map_err(io::Error::other)?;
        let kept = kept(place, &known, run_id);
        let mut both = known.clone();
        for (name, entry) in new {
            both.insert(
                name.clone(),
                Entry { before: inventory::digest(&place.join(name))?, ..entry.clone() },
            );
        }
        inventory::write(place, &both)?;
        remove(place, LAST)?;
        for name in
            new.keys().filter(|name| *name != LAST).chain(new.contains_key(LAST).then_some(&LAST.to_string()))
        {
            if let Some(folder) = place.join(name).parent() {
                fs::create_dir_all(folder)?;
            }
            fs::rename(partial.join(name), place.join(name))?;
        }
        for name in known.keys().filter(|name| !new.contains_key(*name) && !kept.contains(name.as_str())) {
            remove(place, name)?;
        }
        inventory::sync(place);
        let mut listed: Files = known
            .iter()
            .filter(|(name, _)| kept.contains(name.as_str()))
            .map(|(n, e)| (n.clone(), e.clone()))
            .collect();
        listed.extend(new.clone());
        inventory::write(place, &listed)
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.partial);
    }
}

/// Removes a file, and the folder in the result's directory that is empty then.
fn remove(place: &Path, name: &str) -> io::Result<()> {
    match fs::remove_file(place.join(name)) {
        Err(why) if why.kind() != ErrorKind::NotFound => return Err(why),
        _ => {}
    }
    if let Some(folder) = Path::new(name).parent().filter(|folder| !folder.as_os_str().is_empty()) {
        let _ = fs::remove_dir(place.join(folder));
    }
    Ok(())
}

/// What links point to, also if nothing is there yet.
fn target_of(place: &Path) -> io::Result<PathBuf> {
    match fs::canonicalize(place) {
        Err(why) if why.kind() == ErrorKind::NotFound => {
            let absolute = std::path::absolute(place)?;
            if let Ok(link) = fs::read_link(&absolute) {
                return target_of(&absolute.parent().unwrap_or(Path::new("/")).join(link));
            }
            let (Some(parent), Some(name)) = (absolute.parent(), absolute.file_name()) else {
                return Ok(absolute);
            };
            Ok(target_of(parent)?.join(name))
        }
        other => other,
    }
}

/// Which process this is, so that another one can find out whether it lives: as the laboratory's `staging` has it.
fn owner(place: &str) -> serde_json::Value {
    let text = |path: &str| fs::read_to_string(path).unwrap_or_default().trim().to_string();
    let stat = text("/proc/self/stat");
    let started =
        stat.rsplit(')').next().and_then(|rest| rest.split_whitespace().nth(19)?.parse::<u64>().ok());
    let namespace = std::os::unix::fs::MetadataExt::ino;
    json!({
        "place": place,
        "host": text("/proc/sys/kernel/hostname"),
        "boot": text("/proc/sys/kernel/random/boot_id"),
        "pid_namespace": fs::metadata("/proc/self/ns/pid").map_or(0, |found| namespace(&found)),
        "pid": std::process::id(),
        "started": started,
    })
}

fn taken(place: &Path, why: &str) -> Error {
    Error::Output(format!("{} {why}", place.display()))
}

fn check_free(place: &Path, run_id: &str, force: bool) -> Result<(), Error> {
    if !place.exists() {
        return Ok(());
    }
    if !place.is_dir() {
        return Err(taken(place, "is a file; the output is a directory"));
    }
    let reading = |why: std::io::Error| Error::system(format!("use {}", place.display()), why);
    nix::unistd::access(place, nix::unistd::AccessFlags::W_OK)
        .map_err(|why| Error::system(format!("write to {}", place.display()), io::Error::from(why)))?;
    let is_empty = fs::read_dir(place).map_err(reading)?.flatten().all(|entry| {
        entry.file_name() == EMPTY_DISK
            || (entry.path().join(OWNER).is_file() && entry.file_name().to_string_lossy().starts_with('.'))
    });
    if is_empty {
        return Ok(());
    }
    let found = match identity(place) {
        // The same run, and it was emulated: it may be made again.
        Some((id, true)) if id == run_id => return require_replaceable(place, run_id, force),
        Some((id, false)) if id == run_id => "a result of the simulator",
        Some((_, true)) => "another result of the emulator",
        Some((_, false)) => "another result",
        None if known(place).is_ok_and(|files| files.contains_key(LAST)) => "a result that is damaged",
        None => {
            return Err(taken(
                place,
                "is not empty and not a Longhaul result; choose another directory with --out",
            ));
        }
    };
    if force {
        return require_replaceable(place, run_id, force);
    }
    Err(taken(
        place,
        &format!("holds {found}; choose another directory with --out, or replace it with --force"),
    ))
}

/// The identity of the run or sweep whose result this is, and whether it is the emulator's.
fn identity(place: &Path) -> Option<(String, bool)> {
    ["summary.json", "manifest.json"].iter().find_map(|name| {
        let text = fs::read_to_string(place.join(name)).ok()?;
        let content: serde_json::Value = serde_json::from_str(&text).ok()?;
        content.get("longhaul")?;
        let id = content.get("run_id").and_then(|id| id.as_str()).unwrap_or_default();
        Some((id.to_string(), content.get("emulation").is_some_and(|found| !found.is_null())))
    })
}

/// The files that are Longhaul's there.
fn known(place: &Path) -> Result<Files, String> {
    inventory::known(place, identity(place).is_some())
}

/// What stays when a run is made again: report and figures, if it is the same one.
fn kept<'a>(place: &Path, known: &'a Files, run_id: &str) -> BTreeSet<&'a str> {
    let same = identity(place).is_some_and(|(id, _)| id == run_id);
    let made = |name: &&str| same && MADE_FROM_RESULTS.iter().any(|one| name.starts_with(one));
    known.keys().map(String::as_str).filter(made).collect()
}

/// An error if files of others have the names of a run's, or ours were changed.
fn require_replaceable(place: &Path, run_id: &str, force: bool) -> Result<(), Error> {
    // Other processes that change the list wait.
    let _lock = File::open(place).ok().and_then(|folder| Flock::lock(folder, FlockArg::LockExclusive).ok());
    let known = known(place).map_err(|why| taken(place, &format!("holds a result; {why}")))?;
    let kept = kept(place, &known, run_id);
    let names = known.keys().map(String::as_str).filter(|name| !kept.contains(name)).chain(NAMES);
    inventory::obstacle(place, names, &known, force).map_or(Ok(()), |text| Err(Error::Output(text)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A directory with files; removed at the end.
    struct Place(PathBuf);

    impl Drop for Place {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    fn place(name: &str, files: &[(&str, &str)]) -> Place {
        let root = std::env::temp_dir().join(format!("longhaul-emu-output-{}-{name}", std::process::id()));
        fs::create_dir_all(root.join("out")).unwrap();
        files.iter().for_each(|(file, text)| fs::write(root.join("out").join(file), text).unwrap());
        Place(root)
    }

    fn names(root: &Path) -> Vec<String> {
        let entries = fs::read_dir(root).unwrap().flatten();
        let mut names: Vec<String> = entries.map(|entry| entry.file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn only_the_same_run_of_the_emulator_is_replaced_without_being_asked_for() {
        let result = |name: &str, text: &str, force: bool| {
            let place = place(name, &[("summary.json", text)]);
            check_free(&place.0.join("out"), "a", force).map_err(|error| error.to_string())
        };
        let emulated = r#"{"longhaul": "0.1.0", "run_id": "a", "emulation": {}}"#;
        assert_eq!(result("same", emulated, false), Ok(()));
        for (name, text) in [
            ("simulated", r#"{"longhaul": "0.1.0", "run_id": "a"}"#),
            ("other", r#"{"longhaul": "0.1.0", "run_id": "b", "emulation": {}}"#),
        ] {
            assert!(result(name, text, false).unwrap_err().contains("--force"));
            assert_eq!(result(name, text, true), Ok(()));
        }
        assert!(result("foreign", "{}", true).unwrap_err().contains("not a Longhaul result"));
    }

    #[test]
    fn a_complete_result_takes_the_place_of_the_old_one_but_not_of_the_users_files() {
        let files = [
            ("summary.json", r#"{"longhaul": "0.1.0", "run_id": "a"}"#),
            ("packets.pcapng", "old"),
            ("notes.json", "mine"),
            ("fit.parquet", "mine"),
            (".gitignore", "mine"),
        ];
        let place = place("stale", &files);
        let out = place.0.join("out");
        let output = Output::new(&out, "a", true).unwrap();
        fs::write(output.directory().join("summary.json"), "new").unwrap();
        assert_eq!(names(&out).len(), 6, "as it was until it is complete, but for a hidden directory");
        output.complete().unwrap();
        assert_eq!(
            names(&out),
            [".gitignore", "fit.parquet", "longhaul-files.json", "notes.json", "summary.json"]
        );
        assert_eq!(fs::read_to_string(out.join("summary.json")).unwrap(), "new");
        assert_eq!(names(&place.0), ["out"], "and nothing beside it");
        drop(Output::new(&place.0.join("another"), "a", false).unwrap());
        assert_eq!(names(&place.0), ["out"], "nor of one that was not completed");
    }

    #[test]
    fn a_file_that_was_changed_is_replaced_by_force_alone_and_a_users_one_never() {
        let place = place("changed", &[]);
        let out = place.0.join("out");
        let run = |force: bool| -> Result<(), String> {
            let output = Output::new(&out, "a", force).map_err(|error| error.to_string())?;
            let summary = r#"{"longhaul": "0.1.0", "run_id": "a", "emulation": {}}"#;
            fs::write(output.directory().join("summary.json"), summary).unwrap();
            fs::write(output.directory().join("flows.parquet"), "table").unwrap();
            output.complete().map_err(|error| error.to_string())
        };
        assert_eq!(run(false), Ok(()), "into a directory that is there, and empty");
        assert_eq!(run(false), Ok(()), "the same run again");
        fs::write(out.join("flows.parquet"), "mine").unwrap();
        assert!(run(false).unwrap_err().contains("flows.parquet was changed since Longhaul wrote it"));
        assert_eq!(run(true), Ok(()));
        fs::write(out.join("packets.pcapng"), "mine").unwrap();
        assert!(run(true).unwrap_err().contains("packets.pcapng is not Longhaul's"));
        assert_eq!(fs::read_to_string(out.join("packets.pcapng")).unwrap(), "mine");
    }

    #[test]
    fn a_link_stays_a_link_and_the_result_is_where_it_points_to() {
        let place = place("link", &[]);
        for (link, target) in [("here", "out"), ("later", "missing/deep")] {
            let out = place.0.join(link);
            std::os::unix::fs::symlink(place.0.join(target), &out).unwrap();
            let output = Output::new(&out, "a", false).unwrap();
            fs::write(output.directory().join("summary.json"), "{}").unwrap();
            output.complete().unwrap();
            assert!(fs::symlink_metadata(&out).unwrap().is_symlink());
            assert!(place.0.join(target).join("summary.json").exists());
        }
    }
}
