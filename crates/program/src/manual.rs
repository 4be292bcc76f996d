//! The man page and the completions of a program, from the definition of its command line: they cannot state anything else.

use clap::{Arg, ArgMatches, Command};
use clap_complete::Shell;
use clap_mangen::Man;
use std::io::Write;

/// The command line with two commands more: `man` and `completion SHELL`.
#[must_use]
pub fn with_commands(command: Command) -> Command {
    command.subcommand(Command::new("man").about("Print the manual page")).subcommand(
        Command::new("completion").about("Print what completes this command with the TAB key").arg(
            Arg::new("shell")
                .help("The shell that reads it")
                .required(true)
                .value_parser(clap::value_parser!(Shell)),
        ),
    )
}

/// The text that one of the two commands asks for; nothing if it is another command.
#[must_use]
pub fn asked_for(mut command: Command, matches: &ArgMatches) -> Option<Vec<u8>> {
    let mut text = Vec::new();
    match matches.subcommand()? {
        ("man", _) => page(command, &mut text).expect("memory takes everything"),
        ("completion", arguments) => {
            let shell = *arguments.get_one::<Shell>("shell")?;
            let name = command.get_name().to_owned();
            clap_complete::generate(shell, &mut command, name, &mut text);
        }
        _ => return None,
    }
    Some(text)
}

/// One page (man(7)): the program, then each of its commands in a section of its own.
fn page(mut command: Command, page: &mut Vec<u8>) -> std::io::Result<()> {
    command.build();
    let whole = Man::new(command.clone());
    whole.render_title(page)?;
    whole.render_name_section(page)?;
    whole.render_synopsis_section(page)?;
    whole.render_description_section(page)?;
    whole.render_options_section(page)?;
    writeln!(page, ".SH COMMANDS")?;
    for part in command.get_subcommands().filter(|part| part.get_name() != "help") {
        let (man, mut sections) = (Man::new(part.clone()), Vec::new());
        man.render_synopsis_section(&mut sections)?;
        writeln!(sections, ".PP")?;
        man.render_description_section(&mut sections)?;
        man.render_options_section(&mut sections)?;
        writeln!(page, ".SS {}", part.get_name())?;
        // The headings of a page would end this section.
        for line in String::from_utf8_lossy(&sections).lines().filter(|line| !line.starts_with(".SH")) {
            writeln!(page, "{line}")?;
        }
    }
    Ok(())
}
