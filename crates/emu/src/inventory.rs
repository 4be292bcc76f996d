//! The files of a directory that are Longhaul's: `longhaul-files.json` lists each with its size and digest, in the format of
//! docs/guide.md, which the laboratory (`longhaul.inventory`) writes as well. Only what is listed is ever replaced or removed.

use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::path::{Component, Path};

/// The list's name.
pub(crate) const FILE: &str = "longhaul-files.json";
/// The format of the list.
const FORMAT: u64 = 1;
/// What a run may write.
pub(crate) const NAMES: [&str; 13] = [
    "summary.json",
    "scenario.toml",
    "scenario-as-it-was.toml",
    "timing.json",
    "packets.pcapng",
    "flows.parquet",
    "links.parquet",
    "events.parquet",
    "monitors.parquet",
    "middleboxes.parquet",
    "long_hops.parquet",
    "cc.parquet",
    "segments.parquet",
];
/// What a run cost differs each time: it is listed by its name alone.
const COST: &str = "timing.json";

/// A file; without a digest it is known by its name alone.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Entry {
    pub bytes: Option<u64>,
    pub sha256: Option<String>,
    /// The digest that it has until it is replaced by what is listed.
    pub before: Option<String>,
}

/// Files by their names, with `/` between the parts.
pub(crate) type Files = BTreeMap<String, Entry>;

/// The files of a directory that are Longhaul's: what its list states, or what an older version is known to have written. `ours` is
/// whether its summary is Longhaul's.
pub(crate) fn known(directory: &Path, ours: bool) -> Result<Files, String> {
    match fs::read_to_string(directory.join(FILE)) {
        Ok(text) => {
            let list = serde_json::from_str(&text).ok();
            list.as_ref()
                .and_then(files_of)
                .ok_or_else(|| format!("{FILE} in it is damaged: not a list of Longhaul's files"))
        }
        Err(why) if why.kind() == ErrorKind::NotFound => {
            let there = NAMES.iter().filter(|name| ours && directory.join(name).is_file());
            Ok(there.map(|name| ((*name).to_string(), Entry::default())).collect())
        }
        Err(why) => Err(format!("{FILE} in it cannot be read ({why})")),
    }
}

fn files_of(list: &Value) -> Option<Files> {
    if list.get("kind")?.as_str()? != "files" || list.get("format")?.as_u64()? > FORMAT {
        return None;
    }
    list.get("files")?.as_object()?.iter().map(|(name, value)| Some((inside(name)?, entry(value)?))).collect()
}

/// The name, if it is that of a file in the directory: a list may come from anywhere.
fn inside(name: &str) -> Option<String> {
    let mut parts = Path::new(name).components().peekable();
    parts.peek()?;
    parts.all(|part| matches!(part, Component::Normal(_))).then(|| name.to_string())
}

fn entry(value: &Value) -> Option<Entry> {
    let text = |key: &str| match value.get(key) {
        None => Some(None),
        Some(found) => found.as_str().map(|text| Some(text.to_string())),
    };
    let bytes = match value.get("bytes") {
        None => None,
        Some(found) => Some(found.as_u64()?),
    };
    value.as_object()?;
    Some(Entry { bytes, sha256: text("sha256")?, before: text("before")? })
}

/// All files of a directory as they are, on the disk before they are listed.
pub(crate) fn of(directory: &Path) -> io::Result<Files> {
    let mut files = Files::new();
    collect(directory, "", &mut files)?;
    Ok(files)
}

fn collect(directory: &Path, prefix: &str, files: &mut Files) -> io::Result<()> {
    for found in fs::read_dir(directory)? {
        let found = found?;
        let name = format!("{prefix}{}", found.file_name().to_string_lossy());
        if found.file_type()?.is_dir() {
            collect(&found.path(), &format!("{name}/"), files)?;
            continue;
        }
        File::open(found.path())?.sync_all()?;
        let entry = if name == COST {
            Entry::default()
        } else {
            let digest = digest(&found.path())?;
            Entry { bytes: Some(found.metadata()?.len()), sha256: digest, before: None }
        };
        files.insert(name, entry);
    }
    sync(directory);
    Ok(())
}

/// Has the names in a folder on the disk; some file systems cannot do that.
pub(crate) fn sync(folder: &Path) {
    let _ = File::open(folder).and_then(|folder| folder.sync_all());
}

/// The SHA-256 of a file; `None` if there is none.
pub(crate) fn digest(path: &Path) -> io::Result<Option<String>> {
    let mut file = match File::open(path) {
        Ok(file) => file,
        Err(why) if why.kind() == ErrorKind::NotFound => return Ok(None),
        Err(why) => return Err(why),
    };
    let mut digest = Sha256::new();
    io::copy(&mut file, &mut digest)?;
    Ok(Some(digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect()))
}

/// Writes the list, whole.
pub(crate) fn write(directory: &Path, files: &Files) -> io::Result<()> {
    let mut listed = Map::new();
    for (name, entry) in files {
        let mut fields = Map::new();
        for (key, value) in [
            ("bytes", entry.bytes.map(Value::from)),
            ("sha256", entry.sha256.clone().map(Value::from)),
            ("before", entry.before.clone().map(Value::from)),
        ] {
            fields.extend(value.map(|value| (key.to_string(), value)));
        }
        listed.insert(name.clone(), Value::Object(fields));
    }
    let content = json!({
        "longhaul": longhaul_scenario::VERSION, "kind": "files", "format": FORMAT, "files": listed,
    });
    let partial = directory.join(format!(".{FILE}.{}", std::process::id()));
    fs::write(&partial, format!("{content:#}\n"))?;
    File::open(&partial)?.sync_all()?;
    fs::rename(&partial, directory.join(FILE))
}

/// Why one of these files may not be replaced or removed, by what is known to be Longhaul's; `None` if all may.
pub(crate) fn obstacle<'a>(
    directory: &Path,
    names: impl IntoIterator<Item = &'a str>,
    known: &Files,
    force: bool,
) -> Option<String> {
    names.into_iter().find_map(|name| {
        let path = directory.join(name);
        let found = fs::symlink_metadata(&path).ok()?;
        let shown = path.display();
        let Some(entry) = known.get(name).filter(|_| !found.is_dir()) else {
            return Some(format!(
                "{shown} is not Longhaul's ({FILE} does not list it), and stays as it is: move it away, or choose another directory \
                 with --out"
            ));
        };
        let same = |digest: &str| [&entry.sha256, &entry.before].iter().any(|one| one.as_deref() == Some(digest));
        let changed =
            entry.sha256.is_some() && !digest(&path).ok().flatten().is_some_and(|digest| same(&digest));
        (changed && !force).then(|| {
            format!("{shown} was changed since Longhaul wrote it; --force replaces it, --out chooses another directory")
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_that_names_files_elsewhere_is_none() {
        let list = |name: &str| json!({ "kind": "files", "format": 1, "files": { name: {} } });
        assert!(files_of(&list("qlog/a.sqlog")).is_some());
        for name in ["../thesis.txt", "/etc/passwd", "a/../../b", ""] {
            assert!(files_of(&list(name)).is_none(), "{name}");
        }
        assert!(
            files_of(&json!({ "kind": "files", "format": 2, "files": {} })).is_none(),
            "a newer version's"
        );
        assert!(files_of(&json!({ "name": "an app", "files": ["a.js"] })).is_none(), "another program's");
    }
}
