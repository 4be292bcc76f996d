//! Middleboxes as stages for real packets: the objects that are nodes of the simulation, with the bytes of the payload for a
//! body. What they cannot read (fragments, wrong checksums, anything but TCP) passes untouched and is counted.

use crate::Error;
use crate::connections::FIRST_OWN;
use crate::rewrite::Read;
use longhaul_fabric::Port;
use longhaul_middlebox::{Passing, Verdict};
use longhaul_scenario::middlebox::{RealPackets, Site};
use longhaul_scenario::{MiddleboxSpec, Network, Scenario};
use longhaul_units::{FlowId, GroupId, Instant, MiddleboxId};

/// The payload of a packet.
pub(crate) type Payload = bytes::Bytes;

/// A middlebox at work, and the packets that it reads.
pub(crate) struct Stage {
    pub work: longhaul_fabric::Stage<Payload>,
    /// Packets that it acts on; others bypass it.
    real: RealPackets,
}

impl Stage {
    /// A middlebox as in the scenario.
    ///
    /// # Errors
    /// Settings that are not for real packets.
    pub fn new(scenario: &Scenario, network: &Network, id: MiddleboxId) -> Result<Stage, Error> {
        let spec = scenario.middlebox(id);
        of_whole_hosts(scenario, network, id)?;
        // Own connections have numbers of their own here, behind all that hosts can have.
        let site = Site::addressed(scenario, network, id, FIRST_OWN);
        one_setting_for_all(scenario, spec, &site)?;
        let real = spec
            .real_packets()
            .map_err(|why| Error::Unsupported(format!("middlebox \"{}\": {why}", spec.name())))?;
        let work = longhaul_fabric::Stage::new(spec, &network.middleboxes[id], &site);
        Ok(Stage { work, real })
    }

    /// True if it can do what it does with this packet.
    pub fn reads(&self, read: &Read) -> bool {
        (read.is_all || !self.real.whole_headers) && (read.ip.dst.is_ipv4() || !self.real.only_ipv4)
    }

    /// A packet passes it.
    pub fn handle(&mut self, now: Instant, port: Port, passing: Passing<'_, Payload>) -> Verdict {
        self.work.inner.handle_packet(now, port.node(), passing)
    }
}

/// Packets have addresses and belong to no flow: a middlebox acts on all flows of two hosts or on none.
fn of_whole_hosts(scenario: &Scenario, network: &Network, id: MiddleboxId) -> Result<(), Error> {
    let instance = &network.middleboxes[id];
    if scenario.middlebox(id).common().flows.is_empty() {
        return Ok(());
    }
    let name = |flow: FlowId| &scenario.group(network.flows[flow].group).name;
    let ends = |flow: FlowId| {
        let flow = &network.flows[flow];
        [flow.from.min(flow.to), flow.from.max(flow.to)]
    };
    let others = network.flows.ids().filter(|flow| instance.flows.binary_search(flow).is_err());
    for other in others {
        if let Some(flow) = instance.flows.iter().find(|flow| ends(**flow) == ends(other)) {
            return Err(Error::Unsupported(format!(
                "middlebox \"{}\": with real packets it acts on all flows between two hosts or on none: give \"{}\" and \"{}\" \
                 hosts of their own",
                instance.name,
                name(*flow),
                name(other)
            )));
        }
    }
    Ok(())
}

/// Connections have no flow either: a proxy makes all of them in the same way.
fn one_setting_for_all(scenario: &Scenario, spec: &MiddleboxSpec, site: &Site<'_>) -> Result<(), Error> {
    let tcp = |group: GroupId| spec.host_tcp(&scenario.group(group).tcp);
    let groups = site.groups();
    let Some(first) = groups.first() else { return Ok(()) };
    let Some(other) = groups.iter().find(|group| tcp(**group) != tcp(*first)) else { return Ok(()) };
    let [first, other] = [first, other].map(|group| &scenario.group(*group).name);
    Err(Error::Unsupported(format!(
        "middlebox \"{}\": with real packets a proxy has one setting for all flows, and \"{first}\" and \"{other}\" have \
         different `tcp`: give them the same, or set `near` and `far` of the middlebox",
        spec.name()
    )))
}
