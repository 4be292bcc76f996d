//! The digest of everything that can change a result: the sources of this crate and those below it, and the versions
//! of their dependencies. A result is tied to it, since the version number stays while the program is worked on.

use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// Crates that a result depends on; those of bindings and of the wall-clock world are not among them.
const CRATES: [&str; 9] =
    ["cc", "middlebox", "path", "results", "scenario", "segment", "sim", "tcp", "units"];

fn main() -> io::Result<()> {
    let here = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let crates = here.parent().expect("the crate stands beside the others");
    let mut files = Vec::new();
    for name in CRATES {
        let sources = crates.join(name).join("src");
        println!("cargo:rerun-if-changed={}", sources.display());
        collect(&sources, &mut files)?;
    }
    let lock = crates.join("../Cargo.lock");
    println!("cargo:rerun-if-changed={}", lock.display());
    files.extend(lock.exists().then_some(lock));
    files.sort();
    println!("cargo:rustc-env=LONGHAUL_PROGRAM={}", digest(crates, &files)?);
    Ok(())
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

/// SHA-256 over names, lengths and contents, as 16 hexadecimal digits.
fn digest(root: &Path, files: &[PathBuf]) -> io::Result<String> {
    let mut sum = Sha256::new();
    for file in files {
        let content = fs::read(file)?;
        let name = file.strip_prefix(root).unwrap_or(file).to_string_lossy().replace('\\', "/");
        sum.update(format!("{name} {}\n", content.len()));
        sum.update(content);
    }
    Ok(sum.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect())
}
