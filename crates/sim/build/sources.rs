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
    /// Names of the crates.
    names: BTreeSet<String>,
    /// Names of the crates from elsewhere that these depend on directly.
    libraries: BTreeSet<String>,
}

/// What a manifest depends on, without what only its tests depend on.
enum Dependency {
    /// A crate of the workspace, by its directory.
    Inside(PathBuf),
    /// A crate from elsewhere, by its name.
    Outside(String),
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
    let mut sources =
        Sources { root, crates: BTreeSet::new(), names: BTreeSet::new(), libraries: BTreeSet::new() };
    let mut open = vec![directory.canonicalize()?];
    while let Some(next) = open.pop() {
        if !sources.crates.insert(next.clone()) {
            continue;
        }
        let manifest = read(&next)?;
        let name = manifest.get("package").and_then(|package| package.get("name")).and_then(Value::as_str);
        sources.names.extend(name.map(String::from));
        for dependency in dependencies(&manifest, &next, &shared, &sources.root) {
            match dependency {
                Dependency::Inside(path) => open.push(path.canonicalize()?),
                Dependency::Outside(name) => drop(sources.libraries.insert(name)),
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

/// The dependencies that a manifest names, itself or through the workspace.
fn dependencies(manifest: &Table, here: &Path, shared: &Table, root: &Path) -> Vec<Dependency> {
    let targets = manifest.get("target").and_then(Value::as_table);
    let tables = targets.into_iter().flat_map(Table::values).filter_map(Value::as_table).chain([manifest]);
    let named = |name: &String, value: &Value, base: &Path| match value.get("path").and_then(Value::as_str) {
        Some(path) => Dependency::Inside(base.join(path)),
        None => Dependency::Outside(value.get("package").and_then(Value::as_str).unwrap_or(name).to_string()),
    };
    let mut found = vec![];
    for table in tables {
        for kind in ["dependencies", "build-dependencies"] {
            for (name, value) in table.get(kind).and_then(Value::as_table).into_iter().flatten() {
                let inherited = value.get("workspace").and_then(Value::as_bool) == Some(true);
                found.push(match shared.get(name).filter(|_| inherited) {
                    Some(value) => named(name, value, root),
                    None => named(name, value, here),
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

    /// SHA-256 over names, lengths and contents of all sources, and over the versions of the libraries that they use, as 16
    /// hexadecimal digits. Libraries of other programs of the workspace do not count: an archive of the sources may lack those.
    pub fn digest(&self) -> io::Result<String> {
        let mut files = vec![];
        for path in &self.crates {
            collect(&path.join("src"), &mut files)?;
        }
        files.sort();
        let mut sum = Sha256::new();
        for file in files {
            let content = fs::read(&file)?;
            let name = file.strip_prefix(&self.root).unwrap_or(&file).to_string_lossy().replace('\\', "/");
            sum.update(format!("{name} {}\n", content.len()));
            sum.update(content);
        }
        for version in self.versions()? {
            sum.update(version + "\n");
        }
        Ok(sum.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect())
    }

    /// Name, version and checksum of each library that the crates depend on themselves, as `Cargo.lock` has them. Those further
    /// below are left out: cargo lists them by the features that all programs of the workspace want together, so that an archive
    /// of the sources, which lacks some of these programs, has fewer.
    fn versions(&self) -> io::Result<BTreeSet<String>> {
        let file = self.root.join("Cargo.lock");
        if !file.exists() {
            return Ok(BTreeSet::new());
        }
        let lock: Table = fs::read_to_string(&file)?
            .parse()
            .map_err(|error| io::Error::other(format!("{}: {error}", file.display())))?;
        let packages = lock.get("package").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let text = |package: &Value, key: &str| {
            package.get(key).and_then(Value::as_str).unwrap_or_default().to_string()
        };
        let mut versions = BTreeSet::new();
        for own in packages.iter().filter(|package| self.names.contains(&text(package, "name"))) {
            let wanted = own.get("dependencies").and_then(Value::as_array).into_iter().flatten();
            for wanted in wanted.filter_map(Value::as_str) {
                // "name", or "name version" where there are several.
                let mut parts = wanted.split(' ');
                let (name, version) = (parts.next().unwrap_or_default(), parts.next());
                if !self.libraries.contains(name) {
                    continue;
                }
                for package in packages {
                    let is_wanted = text(package, "name") == name
                        && version.is_none_or(|version| text(package, "version") == version);
                    if is_wanted {
                        versions
                            .insert(["name", "version", "checksum"].map(|key| text(package, key)).join(" "));
                    }
                }
            }
        }
        Ok(versions)
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
