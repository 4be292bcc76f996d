//! Tables of nftables, by its program.

use crate::Error;
use longhaul_program::tool;

/// Families of tables, by their names: IPv4, IPv6.
pub(crate) const FAMILIES: [&str; 2] = ["ip", "ip6"];

/// Has `nft` do something in the network namespace of the thread.
pub(crate) fn nft(commands: &str) -> Result<(), Error> {
    run(&["-f", "-"], commands).map(drop)
}

/// What `nft` lists in the network namespace of the thread.
pub(crate) fn list(what: &[&str]) -> Result<serde_json::Value, Error> {
    let text = run(&[&["-j", "list"], what].concat(), "")?;
    serde_json::from_str(&text).map_err(|why| Error::system("read what nft lists", why))
}

fn run(arguments: &[&str], commands: &str) -> Result<String, Error> {
    Ok(tool::run("nft", "nftables", arguments, commands, &|_| String::new())?)
}

/// Removes the tables of an emulator that has ended, if they are there, from the network stack of the thread.
pub(crate) fn remove_tables(name: &str) {
    for family in FAMILIES {
        // Without nftables there is none, and without the table nothing to remove.
        let _ = nft(&format!("delete table {family} {name}\n"));
    }
}
