//! The directory of a result, by the rules of the laboratory (`longhaul run`): a result of something else is not replaced unless that is
//! requested, what is not Longhaul's is never replaced, and a result is there whole or not at all.

use crate::Error;
use std::fs;
use std::path::{Path, PathBuf};

/// What Longhaul writes into the directories of results, by name and by ending.
const NAMES: [&str; 3] = ["report.html", "plots", "runs"];
const ENDINGS: [&str; 4] = ["json", "toml", "parquet", "pcapng"];

/// A directory beside that of the result, which takes its place when the result is complete. Dropped before, it is gone.
pub(crate) struct Output {
    partial: PathBuf,
    place: PathBuf,
}

impl Output {
    /// Checks that a result of the run may be written to `place`, and makes a directory to write it into. With `force`, any result of
    /// Longhaul's is replaced; without, only the same run's by the emulator.
    ///
    /// # Errors
    /// If the place is taken, or cannot be written to.
    pub fn new(place: &Path, run_id: &str, force: bool) -> Result<Output, Error> {
        check_free(place, run_id, force)?;
        let failed = |what: &Path, why: std::io::Error| {
            Error::system(format!("make the directory {}", what.display()), why)
        };
        let absolute = std::path::absolute(place).map_err(|why| failed(place, why))?;
        let name = absolute.file_name().ok_or_else(|| taken(place, "is no directory for a result"))?;
        let parent = absolute.parent().unwrap_or(Path::new("/"));
        fs::create_dir_all(parent).map_err(|why| failed(parent, why))?;
        let partial = parent.join(format!(".{}.{}.partial", name.to_string_lossy(), std::process::id()));
        fs::create_dir(&partial).map_err(|why| failed(&partial, why))?;
        Ok(Output { partial, place: absolute })
    }

    /// Where to write.
    pub fn directory(&self) -> &Path {
        &self.partial
    }

    /// The result is complete: it takes its place. Of what was there, what is not Longhaul's stays.
    ///
    /// # Errors
    /// What the system refuses.
    pub fn complete(self) -> Result<(), Error> {
        let Output { partial, place } = &self;
        let failed =
            |why: std::io::Error| Error::system(format!("write the result to {}", place.display()), why);
        if !place.exists() {
            return fs::rename(partial, place).map_err(failed);
        }
        for entry in fs::read_dir(place).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            if !is_ours(&entry.path()) {
                fs::rename(entry.path(), partial.join(entry.file_name())).map_err(failed)?;
            }
        }
        let old = partial.with_extension("old");
        fs::rename(place, &old).map_err(failed)?;
        let result = fs::rename(partial, place);
        if result.is_err() {
            let _ = fs::rename(&old, place);
        }
        result.map_err(failed)?;
        fs::remove_dir_all(&old).map_err(failed)
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.partial);
    }
}

fn is_ours(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let ending = path.extension().unwrap_or_default().to_string_lossy();
    name.starts_with('.') || NAMES.contains(&&*name) || ENDINGS.contains(&&*ending)
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
    if fs::read_dir(place).map_err(reading)?.next().is_none() {
        return Ok(());
    }
    let found = match identity(place) {
        // The same run, and it was emulated: it may be made again.
        Some((id, true)) if id == run_id => return Ok(()),
        Some((id, false)) if id == run_id => "a result of the simulator",
        Some((_, true)) => "another result of the emulator",
        Some((_, false)) => "another result",
        None if is_damaged(place) => "a result that is damaged",
        None => {
            return Err(taken(
                place,
                "is not empty and not a Longhaul result; choose another directory with --out",
            ));
        }
    };
    if force {
        return Ok(());
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

/// Whether it counts as a result of Longhaul's although its summary cannot be read: by what stands beside.
fn is_damaged(place: &Path) -> bool {
    let holds = |name: &str| place.join(name).exists();
    holds("scenario.toml") && (holds("flows.parquet") || holds("timing.json"))
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
    fn a_complete_result_takes_the_place_of_the_old_one_but_not_of_notes_beside_it() {
        let files = [
            ("summary.json", r#"{"longhaul": "0.1.0", "run_id": "a"}"#),
            ("packets.pcapng", "old"),
            ("report.html", "old"),
            ("notes.txt", "mine"),
        ];
        let place = place("stale", &files);
        let out = place.0.join("out");
        let output = Output::new(&out, "a", true).unwrap();
        fs::write(output.directory().join("summary.json"), "new").unwrap();
        assert_eq!(names(&out).len(), 4, "as it was until it is complete");
        output.complete().unwrap();
        assert_eq!(names(&out), ["notes.txt", "summary.json"]);
        assert_eq!(fs::read_to_string(out.join("summary.json")).unwrap(), "new");
        assert_eq!(names(&place.0), ["out"], "and nothing beside it");
        drop(Output::new(&place.0.join("another"), "a", false).unwrap());
        assert_eq!(names(&place.0), ["out"], "nor of one that was not completed");
    }
}
