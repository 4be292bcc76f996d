//! Which files a crate is made from: its own, and those of every crate of the workspace that it depends on, directly or not.

use sha2::{Digest, Sha256};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::{fs, io};
use toml::{Table, Value};

/// A crate with all crates of the same workspace below it.
pub struct Sources {
    /// The workspace's directory.
    root: PathBuf,
    /// Directories of the crates, in order.
    pub crates: BTreeSet<PathBuf>,
}

/// The crate in this directory and those that it depends on, as the `Cargo.toml` files have it. What only its tests depend on
/// is left out.
pub fn of(directory: &Path) -> io::Result<Sources> {
    let root = workspace_of(directory)?;
    let shared = match read(&root)?.remove("workspace") {
        Some(Value::Table(mut workspace)) => workspace.remove("dependencies"),
        _ => None,
    };
    let shared = shared.and_then(|shared| shared.try_into::<Table>().ok()).unwrap_or_default();
    let mut sources = Sources { root, crates: BTreeSet::new() };
    let mut open = vec![directory.canonicalize()?];
    while let Some(next) = open.pop() {
        if sources.crates.insert(next.clone()) {
            for path in dependencies(&read(&next)?, &next, &shared, &sources.root) {
                open.push(path.canonicalize()?);
            }
        }
    }
    Ok(sources)
}

/// The nearest directory upwards whose manifest has a `[workspace]`.
fn workspace_of(directory: &Path) -> io::Result<PathBuf> {
    for candidate in directory.canonicalize()?.ancestors() {
        if candidate.join("Cargo.toml").exists() && read(candidate)?.contains_key("workspace") {
            return Ok(candidate.to_path_buf());
        }
    }
    Err(io::Error::other(format!("{} is in no workspace", directory.display())))
}

fn read(directory: &Path) -> io::Result<Table> {
    let file = directory.join("Cargo.toml");
    fs::read_to_string(&file)?
        .parse()
        .map_err(|error| io::Error::other(format!("{}: {error}", file.display())))
}

/// Directories of the crates that a manifest names by path, itself or through the workspace.
fn dependencies(manifest: &Table, here: &Path, shared: &Table, root: &Path) -> Vec<PathBuf> {
    let targets = manifest.get("target").and_then(Value::as_table);
    let tables = targets.into_iter().flat_map(Table::values).filter_map(Value::as_table).chain([manifest]);
    let path_in = |value: &Value, base: &Path| Some(base.join(value.get("path")?.as_str()?));
    let mut found = vec![];
    for table in tables {
        for kind in ["dependencies", "build-dependencies"] {
            for (name, value) in table.get(kind).and_then(Value::as_table).into_iter().flatten() {
                let inherited = value.get("workspace").and_then(Value::as_bool) == Some(true);
                found.extend(match shared.get(name).filter(|_| inherited) {
                    Some(value) => path_in(value, root),
                    None => path_in(value, here),
                });
            }
        }
    }
    found
}

impl Sources {
    /// What the digest depends on: cargo looks at directories with all that is in them.
    pub fn watched(&self) -> Vec<PathBuf> {
        let manifests = self.crates.iter().chain([&self.root]).map(|path| path.join("Cargo.toml"));
        let sources = self.crates.iter().map(|path| path.join("src"));
        manifests.chain(sources).chain([self.root.join("Cargo.lock")]).collect()
    }

    /// SHA-256 over names, lengths and contents of all sources, as 16 hexadecimal digits.
    pub fn digest(&self) -> io::Result<String> {
        let mut files = vec![];
        for path in &self.crates {
            collect(&path.join("src"), &mut files)?;
        }
        files.extend(Some(self.root.join("Cargo.lock")).filter(|lock| lock.exists()));
        files.sort();
        let mut sum = Sha256::new();
        for file in files {
            let content = fs::read(&file)?;
            let name = file.strip_prefix(&self.root).unwrap_or(&file).to_string_lossy().replace('\\', "/");
            sum.update(format!("{name} {}\n", content.len()));
            sum.update(content);
        }
        Ok(sum.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect())
    }
}

/// Adds the Rust sources under `directory`, if there is one.
fn collect(directory: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    if !directory.exists() {
        return Ok(());
    }
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    Ok(())
}
