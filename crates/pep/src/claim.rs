//! One daemon for each routing table of a network: a name among the kernel's abstract Unix sockets, which are those of the
//! network namespace and end with the process that has them.

use crate::Error;
use crate::config::Intercept;
use nix::sys::socket::{getsockopt, sockopt::PeerCredentials};
use std::io::ErrorKind;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};

/// Held by a daemon as long as it has rules in the network.
pub(crate) struct Claim {
    _name: Option<UnixListener>,
}

fn name(table: u32) -> std::io::Result<SocketAddr> {
    SocketAddr::from_abstract_name(format!("longhaul-pep/{table}"))
}

/// The process that holds the claim to a routing table. What others than root and this user hold is none.
pub(crate) fn holder(table: u32) -> Option<i32> {
    let stream = UnixStream::connect_addr(&name(table).ok()?).ok()?;
    let peer = getsockopt(&stream, PeerCredentials).ok()?;
    (peer.uid() == 0 || peer.uid() == nix::unistd::geteuid().as_raw()).then(|| peer.pid())
}

/// Claims the routing table of a configuration.
///
/// # Errors
/// If a daemon runs that has it.
pub(crate) fn claim(intercept: &Intercept) -> Result<Claim, Error> {
    let table = intercept.table;
    let bound = name(table).and_then(|name| UnixListener::bind_addr(&name));
    match bound {
        Ok(listener) => Ok(Claim { _name: Some(listener) }),
        Err(why) if why.kind() == ErrorKind::AddrInUse => match holder(table) {
            Some(process) => Err(Error::system(
                "take connections in",
                format!(
                    "process {process} has intercept.table = {table} in this network; stop it, or give this node table, \
                     divert_mark, own_mark, client_mark, confirm_mark, port and confirm_port of its own"
                ),
            )),
            None => Ok(Claim { _name: None }),
        },
        Err(why) => Err(Error::system("claim the routing table", why)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_routing_table_has_one_daemon() {
        let intercept = Intercept { table: 4_000_000 + std::process::id(), ..Intercept::default() };
        assert_eq!(holder(intercept.table), None);
        let first = claim(&intercept).unwrap();
        assert_eq!(holder(intercept.table), Some(std::process::id() as i32));
        let why = claim(&intercept).err().unwrap().to_string();
        assert!(why.contains("has intercept.table = ") && why.contains("of its own"), "{why}");
        drop(first);
        claim(&intercept).unwrap();
    }
}
