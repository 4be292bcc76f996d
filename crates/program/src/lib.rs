//! What the programs `longhaul-emu` and `longhaul-pep` have in common, and nothing of what they do: arguments and printing, manual
//! pages and completions, files that people write, other programs that are run.

mod error;
mod manual;
pub mod print;
pub mod text_file;
pub mod tool;

pub use error::{Error, explained};
