//! In the place of the filter of system calls, on processors for which the library in use makes none (32 bits).

use crate::Error;

/// Why there is no filter.
pub(crate) const NONE: &str = "there is no filter for this processor";

/// Restricts nothing.
pub(crate) fn restrict() -> Result<Option<usize>, Error> {
    Ok(None)
}
