//! The digest of the program covers every crate that a result can depend on.

#[path = "../build/sources.rs"]
mod sources;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn names(of: &Path) -> BTreeSet<String> {
    let sources = sources::of(of).unwrap();
    sources.crates.iter().map(|path| path.file_name().unwrap().to_string_lossy().into_owned()).collect()
}

#[test]
fn the_digest_covers_all_crates_of_the_simulator_and_none_of_those_around_it() {
    let names = names(Path::new(env!("CARGO_MANIFEST_DIR")));
    for name in
        ["cc", "middlebox", "path", "results", "scenario", "segment", "sim", "tcp", "traffic", "units"]
    {
        assert!(names.contains(name), "{name} is missing in {names:?}");
    }
    for name in ["emu", "py"] {
        assert!(!names.contains(name), "{name} is in {names:?}");
    }
    assert!(
        sources::of(Path::new(env!("CARGO_MANIFEST_DIR")))
            .unwrap()
            .watched()
            .iter()
            .all(|path| path.exists())
    );
}

/// `top` needs `libm`, of which there are two, and that `below`; `other` belongs to another program of the workspace.
const LOCK: &str = r#"
[[package]]
name = "top"
version = "0.1.0"
dependencies = ["libm 0.2.1", "middle", "proptest"]
[[package]]
name = "libm"
version = "0.2.1"
checksum = "l"
dependencies = ["below 1.0.0"]
[[package]]
name = "libm"
version = "0.1.0"
checksum = "older"
[[package]]
name = "below"
version = "1.0.0"
checksum = "b"
[[package]]
name = "below"
version = "2.0.0"
checksum = "another"
[[package]]
name = "other"
version = "0.1.0"
checksum = "o"
"#;

/// A workspace in which `top` depends on `middle`, by the workspace's table, and that on `bottom`, by its path.
fn workspace(name: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let files = [
        (
            "Cargo.toml",
            "[workspace]\nmembers = [\"c/*\"]\n[workspace.dependencies]\nmiddle = { path = \"c/middle\" }\nlibm = \"0.2\"\n",
        ),
        ("Cargo.lock", LOCK),
        (
            "c/top/Cargo.toml",
            "[package]\nname = \"top\"\n[dependencies]\nlibm.workspace = true\n[target.'cfg(unix)'.dependencies]\nmiddle.workspace = true\n[dev-dependencies]\naside = { path = \"../aside\" }\n",
        ),
        ("c/middle/Cargo.toml", "[dependencies.other-name]\npackage = \"bottom\"\npath = \"../bottom\"\n"),
        ("c/bottom/Cargo.toml", "[package]\nname = \"bottom\"\n"),
        ("c/aside/Cargo.toml", "[package]\nname = \"aside\"\n"),
        ("c/top/src/lib.rs", "// top\n"),
        ("c/middle/src/lib.rs", "// middle\n"),
        ("c/bottom/src/deep/mod.rs", "// bottom\n"),
        ("c/aside/src/lib.rs", "// aside\n"),
    ];
    for (file, content) in files {
        let file = root.join(file);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, content).unwrap();
    }
    root
}

#[test]
fn dependencies_are_followed_by_path_and_through_the_workspace_and_those_of_tests_are_not() {
    let root = workspace("followed");
    assert_eq!(names(&root.join("c/top")), ["bottom", "middle", "top"].map(String::from).into());
}

#[test]
fn a_changed_line_anywhere_below_changes_the_digest() {
    let root = workspace("changed");
    let digest = || sources::of(&root.join("c/top")).unwrap().digest().unwrap();
    let before = digest();
    fs::write(root.join("c/aside/src/lib.rs"), "// only tests depend on it\n").unwrap();
    assert_eq!(digest(), before);
    for file in ["c/bottom/src/deep/mod.rs", "c/top/src/lib.rs"] {
        let before = digest();
        fs::write(root.join(file), "# changed\n").unwrap();
        assert_ne!(digest(), before, "{file}");
    }
}

/// An archive of the sources lacks other programs of the workspace. Cargo removes their libraries from `Cargo.lock`, and those that
/// only the features have which they ask for: a sweep that was begun by a wheel refused to continue with a program built from the
/// archive.
#[test]
fn the_digest_covers_the_libraries_in_use_and_none_that_other_programs_bring() {
    let root = workspace("libraries");
    let digest = |lock: &str| {
        fs::write(root.join("Cargo.lock"), lock).unwrap();
        sources::of(&root.join("c/top")).unwrap().digest().unwrap()
    };
    let before = digest(LOCK);
    assert_eq!(digest(&LOCK[..LOCK.rfind("[[package]]").unwrap()]), before);
    assert_eq!(digest(&LOCK.replace("another", "again another")), before);
    assert_eq!(digest(&LOCK.replace("dependencies = [\"below 1.0.0\"]", "dependencies = []")), before);
    assert_eq!(digest(&LOCK.replace("\"older\"", "\"oldest\"")), before);
    for (from, to) in [("0.2.1", "0.2.2"), ("\"l\"", "\"m\"")] {
        assert_ne!(digest(&LOCK.replace(from, to)), before, "{from}");
    }
}
