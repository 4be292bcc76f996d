//! The digest of everything that can change a result: the sources of this crate and of those that it depends on, and the
//! versions of the others. A result is tied to it, since the version number stays while the program is worked on.

mod sources;

use std::path::PathBuf;
use std::{env, io};

fn main() -> io::Result<()> {
    let here = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let sources = sources::of(&here)?;
    for watched in sources.watched() {
        println!("cargo:rerun-if-changed={}", watched.display());
    }
    println!("cargo:rustc-env=LONGHAUL_PROGRAM={}", sources.digest()?);
    Ok(())
}
