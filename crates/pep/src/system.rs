//! Runs the commands of [`crate::plan`]: `nft` and `ip`, each with a message that helps if it fails. In the daemon this is the
//! work of [`crate::helper`].

use crate::config::{Intercept, Limits};
use crate::diagnosis::{self, Cause};
use crate::netlink::{Packet, Way};
use crate::passage::Look;
use crate::plan::{self, Around, Gate};
use crate::prefix::Prefix;
use crate::room::Grant;
use crate::{Error, claim, netlink};
use std::net::IpAddr;

/// Installs table, rules and routes; dropped, it removes them.
pub(crate) struct Rules {
    intercept: Intercept,
    limits: Limits,
    hubs: Vec<IpAddr>,
    /// What is around this machine, as the table has it.
    around: Around,
    gate: Gate,
}

/// What a terminal with these hubs leaves alone; without hubs, nothing for this reason.
pub fn around(hubs: &[IpAddr], mark: u32) -> Around {
    let way = |hub: &IpAddr| match netlink::route(Packet { to: *hub, from: None, mark }) {
        Ok(Way::Out(interface)) => nix::net::if_::if_indextoname(interface).ok()?.into_string().ok(),
        _ => None,
    };
    let mut towards_hubs: Vec<String> = hubs.iter().filter_map(way).collect();
    towards_hubs.sort();
    towards_hubs.dedup();
    if towards_hubs.is_empty() {
        // There is no way to a hub, or it is this machine.
        return Around::default();
    }
    let mut connected: Vec<Prefix> = netlink::own_networks()
        .into_iter()
        .filter(|(_, address, network)| {
            !address.is_loopback() && !network.is_host() && !netlink::is_of_link(*address)
        })
        .map(|(_, _, network)| network)
        .collect();
    connected.sort();
    connected.dedup();
    Around { towards_hubs, connected }
}

/// Another program that uses the node's routing table, or routes by one of these marks.
pub(crate) fn conflict(intercept: &Intercept, marks: &[u32]) -> Option<String> {
    let printed = |arguments: String| ip(&arguments).unwrap_or_default();
    diagnosis::families().iter().find_map(|(family, _)| {
        let rules = printed(format!("{family} rule"));
        let routes = |table: &str| printed(format!("{family} route show table {table}"));
        diagnosis::conflict(intercept, marks, &rules, routes, claim::holder)
    })
}

impl Rules {
    /// Installs everything, in the place of what a killed daemon has left behind.
    pub fn install(
        gate: Gate,
        intercept: &Intercept,
        limits: &Limits,
        hubs: Vec<IpAddr>,
    ) -> Result<Rules, Error> {
        if let Some(why) = conflict(intercept, &[intercept.divert_mark]) {
            return Err(Error::system("take connections in", why));
        }
        let around = around(&hubs, intercept.own_mark);
        let installed = Rules { intercept: intercept.clone(), limits: *limits, hubs, around, gate };
        for (family, _) in diagnosis::families() {
            for command in plan::unroutes(intercept, family) {
                let _ = ip(&command);
            }
            for command in plan::routes(intercept, family) {
                ip(&command)?;
            }
        }
        installed.install_table()?;
        Ok(installed)
    }

    fn install_table(&self) -> Result<(), Error> {
        nft(&plan::install(self.gate, &self.intercept, &self.limits, &self.around)).map_err(explained)
    }

    /// Lets new connections come in, or pass untouched.
    pub fn set_gate(&mut self, gate: Gate) -> Result<(), Error> {
        self.gate = gate;
        match self.has_table() {
            true => nft(&plan::gate(gate, &self.intercept, &self.limits, &self.around)),
            false => self.install_table(),
        }
    }

    /// Other hubs, which the next look takes up.
    pub fn set_hubs(&mut self, hubs: Vec<IpAddr>) {
        self.hubs = hubs;
    }

    fn has_table(&self) -> bool {
        matches!(netlink::counter(&plan::name(&self.intercept), plan::TAKEN), Ok(Some(_)))
    }

    /// What can be seen of the way of packets that are taken in.
    pub fn look(&mut self) -> Look {
        let around = around(&self.hubs, self.intercept.own_mark);
        // Without a way to the hub nothing is taken in; it may come back by the same interface.
        if around != self.around && !around.towards_hubs.is_empty() {
            self.around = around;
            // What fails is found broken below.
            let _ = self.install_table();
        }
        let table = plan::name(&self.intercept);
        let count = |name| netlink::counter(&table, name).ok().flatten();
        let (taken, answered) = (count(plan::TAKEN), count(plan::ANSWERED));
        Look {
            whole: taken.is_some() && diagnosis::is_whole(&self.intercept),
            taken: taken.unwrap_or(0),
            answered: answered.unwrap_or(0),
            generation: netlink::generation().unwrap_or(0),
        }
    }

    /// Puts back what others have removed; returns what that was. A routing table that has routes of others stays as it is.
    pub fn repair(&self) -> Result<Vec<String>, Error> {
        let mut repaired = vec![];
        for (family, name) in diagnosis::families() {
            let present =
                ip(&format!("{family} route show table {}", self.intercept.table)).unwrap_or_default();
            for command in plan::routes(&self.intercept, family) {
                let is_route = command.contains(" route ");
                if is_route && !present.is_empty() {
                    continue;
                }
                match ip(&command) {
                    Ok(_) if is_route => repaired.push(format!("the local route of {name}")),
                    Ok(_) => repaired.push(format!("a routing rule of {name}")),
                    Err(Error::Command { why, .. }) if why.contains("File exists") => {}
                    Err(why) => return Err(why),
                }
            }
        }
        if !self.has_table() {
            self.install_table()?;
            repaired.push(format!("nftables' table inet {}", plan::name(&self.intercept)));
        } else if !repaired.is_empty() {
            // Clients whose openings were lost are not left alone any longer.
            nft(&plan::gate(self.gate, &self.intercept, &self.limits, &self.around))?;
        }
        Ok(repaired)
    }

    /// Why what is taken in does not arrive.
    pub fn causes(&self) -> Vec<Cause> {
        diagnosis::causes(&self.intercept, &diagnosis::gather(&self.intercept))
    }

    /// Changes how many openings the kernel takes in.
    pub fn set_room(&self, grant: Grant) -> Result<(), Error> {
        nft(&plan::room(&self.intercept, grant))
    }

    /// Installs the table of a changed configuration in the place of the present one.
    pub fn replace(
        &mut self,
        gate: Gate,
        intercept: &Intercept,
        limits: &Limits,
        hubs: Vec<IpAddr>,
    ) -> Result<(), Error> {
        let around = around(&hubs, intercept.own_mark);
        nft(&plan::install(gate, intercept, limits, &around)).map_err(explained)?;
        (self.intercept, self.limits, self.hubs) = (intercept.clone(), *limits, hubs);
        (self.around, self.gate) = (around, gate);
        Ok(())
    }

    /// Lets new connections of one client pass untouched for some seconds.
    pub fn leave_alone(&self, client: std::net::IpAddr, seconds: u64) -> Result<(), Error> {
        nft(&plan::leave_alone(&self.intercept, client, seconds))
    }

    /// Goes without removing anything.
    pub fn leave(self) {
        std::mem::forget(self);
    }
}

impl Drop for Rules {
    fn drop(&mut self) {
        if let Err(why) = nft(&plan::remove(&self.intercept)) {
            tracing::warn!("{why}");
        }
        for (family, _) in diagnosis::families() {
            for command in plan::unroutes(&self.intercept, family) {
                if let Err(why) = ip(&command) {
                    tracing::warn!("{why}");
                }
            }
        }
    }
}

/// Removes what a killed daemon has left behind: table, rules and routes.
///
/// # Errors
/// If the daemon runs.
pub fn clean(intercept: &Intercept) -> Result<(), Error> {
    if let Some(process) = claim::holder(intercept.table) {
        let why = format!("the daemon runs (process {process}); stop it, which removes its rules");
        return Err(Error::system("clean", why));
    }
    let _ = nft(&plan::remove(intercept));
    for family in ["-4", "-6"] {
        for command in plan::unroutes(intercept, family) {
            let _ = ip(&command);
        }
    }
    Ok(())
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
    Ok(longhaul_program::tool::run(program, package, arguments, input, &|_| String::new())?)
}
