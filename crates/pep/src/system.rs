//! Runs the commands of [`crate::plan`]: `nft` and `ip`, each with a message that helps if it fails. In the daemon this is the
//! work of [`crate::helper`].

use crate::Error;
use crate::config::{Intercept, Limits};
use crate::plan::{self, Gate};
use longhaul_emu::namespace;

/// Installs table, rules and routes; dropped, it removes them.
pub(crate) struct Rules {
    intercept: Intercept,
    limits: Limits,
    families: Vec<&'static str>,
}

impl Rules {
    /// Installs everything, in the place of what a killed daemon has left behind.
    pub fn install(gate: Gate, intercept: &Intercept, limits: &Limits) -> Result<Rules, Error> {
        let mut families = vec!["-4"];
        if std::path::Path::new("/proc/sys/net/ipv6").exists() {
            families.push("-6");
        }
        let installed = Rules { intercept: intercept.clone(), limits: *limits, families };
        for family in &installed.families {
            for command in plan::unroutes(intercept, family) {
                let _ = ip(&command);
            }
            for command in plan::routes(intercept, family) {
                ip(&command)?;
            }
        }
        nft(&plan::install(gate, intercept, limits)).map_err(explained)?;
        Ok(installed)
    }

    /// Lets new connections come in, or pass untouched.
    pub fn set_gate(&self, gate: Gate) -> Result<(), Error> {
        nft(&plan::gate(gate, &self.intercept, &self.limits))
    }

    /// Lets the kernel take in so many openings from now on.
    pub fn set_room(&self, openings: usize) -> Result<(), Error> {
        nft(&plan::room(openings))
    }

    /// Installs the table of a changed configuration in the place of the present one.
    pub fn replace(&mut self, gate: Gate, intercept: &Intercept, limits: &Limits) -> Result<(), Error> {
        nft(&plan::install(gate, intercept, limits))?;
        (self.intercept, self.limits) = (intercept.clone(), *limits);
        Ok(())
    }

    /// Lets new connections of one client pass untouched for some seconds.
    pub fn leave_alone(&self, client: std::net::IpAddr, seconds: u64) -> Result<(), Error> {
        nft(&plan::leave_alone(client, seconds))
    }

    /// Goes without removing anything.
    pub fn leave(self) {
        std::mem::forget(self);
    }
}

impl Drop for Rules {
    fn drop(&mut self) {
        if let Err(why) = nft(&plan::remove()) {
            tracing::warn!("{why}");
        }
        for family in &self.families {
            for command in plan::unroutes(&self.intercept, family) {
                if let Err(why) = ip(&command) {
                    tracing::warn!("{why}");
                }
            }
        }
    }
}

/// Removes what a killed daemon has left behind: table, rules and routes.
pub fn clean(intercept: &Intercept) {
    let _ = nft(&plan::remove());
    for family in ["-4", "-6"] {
        for command in plan::unroutes(intercept, family) {
            let _ = ip(&command);
        }
    }
}

/// What helps, for the usual causes.
fn explained(error: Error) -> Error {
    let Error::Command { command, why } = error else { return error };
    let hint = if why.contains("Operation not permitted") {
        "; it needs root or CAP_NET_ADMIN"
    } else if why.contains("No such file or directory") {
        "; this kernel lacks nf_tables, nft_tproxy, nft_socket or nft_fib_inet: load the modules"
    } else {
        ""
    };
    Error::Command { command, why: format!("{why}{hint}") }
}

/// Runs nftables commands as one transaction.
pub(crate) fn nft(commands: &str) -> Result<(), Error> {
    tool("nft", "nftables", &["-f", "-"], commands).map(drop)
}

/// Runs `ip` with these arguments.
pub(crate) fn ip(arguments: &str) -> Result<String, Error> {
    tool("ip", "iproute2", &arguments.split_whitespace().collect::<Vec<_>>(), "")
}

/// Runs a program of Debian's `package` with `input`; returns what it prints.
pub(crate) fn tool(program: &str, package: &str, arguments: &[&str], input: &str) -> Result<String, Error> {
    namespace::tool(program, package, arguments, input, &|_| String::new()).map_err(|error| match error {
        longhaul_emu::Error::Command { command, why } => Error::Command { command, why },
        other => Error::system(format!("run {program}"), other),
    })
}
