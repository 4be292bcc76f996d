//! All tests of the emulator, in one program: each program of its own would be linked with the whole library, and Cargo runs them one after the other.

mod bed;
mod bridges;
mod captures;
mod endings;
mod faults;
mod linux_defaults;
mod manual;
mod middleboxes;
mod outside;
mod quic;
mod real;
mod surroundings;
mod world;

/// What is no module here would never run.
#[test]
fn every_file_of_tests_is_run() {
    // One looks at the files and threads of its own process.
    let alone = ["main", "leaks"];
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let listed = include_str!("main.rs");
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap();
        if path.extension().is_some_and(|kind| kind == "rs") && !alone.contains(&name) {
            assert!(listed.contains(&format!("\nmod {name};\n")), "tests/{name}.rs is not in tests/main.rs");
        }
    }
}
