//! The command `demo` of a small build, which has no emulator.

use longhaul_pep::Error;

#[derive(clap::Args)]
pub(crate) struct Options {
    /// What the demo of the full build takes.
    #[arg(hide = true, trailing_var_arg = true, allow_hyphen_values = true)]
    _ignored: Vec<String>,
}

pub(crate) fn act(_options: &Options) -> Result<(), Error> {
    Err(Error::Config(
        "this is a small build without the emulator; the demo is part of the full one: the Debian package, or `cargo build --release \
         -p longhaul-pep`"
            .into(),
    ))
}
