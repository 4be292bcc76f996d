//! Tables of nftables, by its program.

use crate::{Error, namespace};

/// Has `nft` do something in the network namespace of the thread.
pub(crate) fn nft(commands: &str) -> Result<(), Error> {
    namespace::tool("nft", "nftables", &["-f", "-"], commands, &|_| String::new()).map(drop)
}

/// Removes the table of an emulator that has ended, if it is there, from the network stack of the thread.
pub(crate) fn remove_table(name: &str) {
    // Without nftables there is none, and without the table nothing to remove.
    let _ = nft(&format!("delete table ip {name}\n"));
}
