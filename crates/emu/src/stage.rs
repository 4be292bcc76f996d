//! Middleboxes as stages for real packets: the objects that are nodes of the simulation, with the bytes of the payload for a
//! body. What they cannot read (fragments, wrong checksums, anything but TCP) passes untouched and is counted.

use crate::Error;
use crate::connections::FIRST_OWN;
use crate::rewrite::Read;
use longhaul_middlebox::split::Plans;
use longhaul_middlebox::{Established, Middlebox};
use longhaul_results::{MiddleboxFacts, MiddleboxWatch, Tables};
use longhaul_scenario::{
    FramingSpec, MiddleboxSpec, Network, Scenario, distributed_split, paced_hop, packet_middlebox,
    proxy_plan, proxy_tcp, single_split,
};
use longhaul_units::{ConnectionId, Duration, FlowId, GroupId, Id, Instant, LinkId, MiddleboxId};

/// The payload of a packet.
pub(crate) type Payload = bytes::Bytes;

/// A middlebox at work.
pub(crate) struct Stage {
    pub inner: Box<dyn Middlebox<Payload>>,
    /// When it breaks down; [`Instant::FAR_FUTURE`] for never, and afterwards.
    pub fails_at: Instant,
    /// It sends what it takes in as a header struct: packets that such a struct does not fully contain bypass it.
    makes_anew: bool,
    /// It is made for IPv4 only.
    v4_only: bool,
    /// The link whose queue it observes.
    pub watched: Option<LinkId>,
    watch: MiddleboxWatch,
}

impl Stage {
    /// A middlebox as in the scenario.
    ///
    /// # Errors
    /// Settings that are not for real packets.
    pub fn new(scenario: &Scenario, network: &Network, id: MiddleboxId) -> Result<Stage, Error> {
        let instance = &network.middleboxes[id];
        let spec = scenario.middlebox(id);
        of_whole_hosts(scenario, network, id)?;
        // Own connections have numbers of their own here, behind all that hosts can have.
        let own = instance.own_connections.0.index() - network.connection_flows.len();
        let own = ConnectionId(FIRST_OWN).after(own);
        let inner = match spec {
            MiddleboxSpec::Split(_) | MiddleboxSpec::Paced(_) => proxy(scenario, network, id, own)?,
            _ => packet_middlebox(scenario, network, id, own, Established::default())
                .expect("all but proxies are made there"),
        };
        let fails_at = spec.common().fail_at.map_or(Instant::FAR_FUTURE, |after| Instant::ZERO + after);
        let watch = MiddleboxWatch::new(&*inner);
        let compacts = matches!(spec, MiddleboxSpec::AckCompaction(_));
        let makes_anew = compacts || matches!(spec, MiddleboxSpec::AckFilter(_));
        let watched = instance.between[0].first().copied().filter(|_| inner.watches_queue());
        Ok(Stage { inner, fails_at, makes_anew, v4_only: compacts, watched, watch })
    }

    /// True if it can do what it does with this packet.
    pub fn reads(&self, read: &Read) -> bool {
        (read.is_all || !self.makes_anew) && (read.ip.dst.is_ipv4() || !self.v4_only)
    }

    /// When it is to be called next.
    pub fn due(&self) -> Instant {
        self.inner.poll_timeout().unwrap_or(Instant::FAR_FUTURE).min(self.fails_at)
    }

    /// It is time.
    pub fn wake(&mut self, now: Instant) {
        if self.fails_at <= now {
            self.fails_at = Instant::FAR_FUTURE;
            self.inner.fail(now);
        }
        if self.inner.poll_timeout().is_some_and(|due| due <= now) {
            self.inner.handle_timeout(now);
        }
    }

    pub fn begin_measuring(&mut self, now: Instant) {
        self.watch.begin_measuring(&mut *self.inner, now);
    }

    /// Looks at it, the scenario's one of this number, `span` after the last look.
    pub fn sample(
        &mut self,
        id: MiddleboxId,
        now: Instant,
        span: Duration,
        measuring: bool,
        tables: &mut Tables,
    ) {
        let (row, long_hops) = self.watch.sample(&*self.inner, id, now, span, measuring);
        tables.middleboxes.push(row);
        tables.long_hops.extend(long_hops);
    }

    pub fn facts(&self) -> MiddleboxFacts {
        self.watch.facts(&*self.inner)
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

/// A proxy.
fn proxy(
    scenario: &Scenario,
    network: &Network,
    id: MiddleboxId,
    own: ConnectionId,
) -> Result<Box<dyn Middlebox<Payload>>, Error> {
    let instance = &network.middleboxes[id];
    let spec = scenario.middlebox(id);
    let mut groups: Vec<GroupId> = instance.flows.iter().map(|flow| network.flows[*flow].group).collect();
    groups.dedup();
    let first = groups.first().copied().unwrap_or(GroupId(0));
    let tcp = |group: GroupId| proxy_tcp(scenario, spec, group);
    if let Some(other) = groups.iter().find(|group| tcp(**group) != tcp(first)) {
        let [first, other] = [first, *other].map(|group| &scenario.group(group).name);
        return Err(Error::Unsupported(format!(
            "middlebox \"{}\": with real packets a proxy has one setting for all flows, and \"{first}\" and \"{other}\" have \
             different `tcp`: give them the same, or set `near` and `far` of the middlebox",
            instance.name
        )));
    }
    let plans = Plans { plans: vec![proxy_plan(scenario, instance, first)], of: vec![] };
    if matches!(spec, MiddleboxSpec::Split(spec) if spec.framing == FramingSpec::Pepid) {
        return Err(Error::Unsupported(format!(
            "middlebox \"{}\": `framing = \"pepid\"` is a field that takes no room, which real packets do not have: use \
             `framing = \"header\"`",
            instance.name
        )));
    }
    Ok(match spec {
        MiddleboxSpec::Paced(spec) => Box::new(paced_hop(scenario, network, instance, spec, &plans, own)),
        MiddleboxSpec::Split(spec) if instance.nodes.len() == 2 => {
            Box::new(distributed_split(scenario, network, instance, spec, &plans, own, vec![]))
        }
        _ => Box::new(single_split(scenario, instance, plans)),
    })
}
