//! The man page and the completions that the program writes.

use std::process::Command;

fn written(arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_longhaul-emu")).args(arguments).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn the_page_has_each_command_with_its_options_and_one_heading_of_each_kind() {
    let page = written(&["man"]);
    for part in
        [".TH longhaul-emu 1", ".SS shell\n", ".SS bridge\n", ".TP\n\\fB\\-\\-set\\fR \\fI<PATH=VALUE>\\fR\n"]
    {
        assert!(page.contains(part), "{part} is missing in\n{page}");
    }
    for heading in [".SH NAME", ".SH SYNOPSIS", ".SH DESCRIPTION", ".SH COMMANDS"] {
        assert_eq!(page.matches(heading).count(), 1, "{heading}");
    }
}

#[test]
fn completions_know_commands_and_options() {
    for shell in ["bash", "zsh", "fish"] {
        let text = written(&["completion", shell]);
        assert!(text.contains("bridge") && text.contains("internet"), "{shell}");
    }
}

#[test]
fn a_shell_that_nothing_is_known_of_is_refused_with_those_that_are() {
    let output =
        Command::new(env!("CARGO_BIN_EXE_longhaul-emu")).args(["completion", "abc"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("[possible values: bash, elvish, fish"));
}
