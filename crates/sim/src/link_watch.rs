//! What went over the links of the scenario file, interval by interval.

use crate::packet::Segments;
use longhaul_fabric::Fabric;
use longhaul_results::LinkUse;
use longhaul_scenario::Network;
use longhaul_units::{DeclaredId, FlowId, IdVec, Instant, LinkId};

/// The links of the scenario file, by interval.
pub(crate) struct LinkWatch {
    /// Bits transmitted by the last interval.
    bits: IdVec<DeclaredId, f64>,
    /// The last interval.
    pub new: IdVec<DeclaredId, LinkUse>,
    /// When it ended.
    pub at: Instant,
    /// Links that share a carrier, and whether each could have all of it: what one carries, those cannot.
    carriers: Vec<Vec<(DeclaredId, bool)>>,
    /// Flows that had ended by then.
    pub over: IdVec<FlowId, bool>,
}

impl LinkWatch {
    pub fn new(network: &Network, links: usize) -> Self {
        let places = network.places();
        let whole = |link: LinkId| network.links[link].config.may_have_whole_carrier();
        let placed = |links: Vec<LinkId>| {
            links.into_iter().filter_map(|link| Some((places[link]?, whole(link)))).collect()
        };
        LinkWatch {
            carriers: network.carriers().into_iter().map(placed).collect(),
            bits: IdVec::filled(0.0, links),
            new: IdVec::filled(LinkUse::default(), links),
            at: Instant::ZERO,
            over: IdVec::filled(false, network.flows.len()),
        }
    }

    /// Begins a new interval.
    pub fn measure(
        &mut self,
        now: Instant,
        fabric: &mut Fabric<Segments>,
        declared: &IdVec<DeclaredId, LinkId>,
    ) {
        for (place, link) in declared.enumerated() {
            let link = fabric.link(*link);
            let bits = link.transmitted_bits(now);
            let capacity = link.schedule().mean_rate_bps(self.at, now) * now.since(self.at).as_secs_f64();
            self.new[place] = LinkUse { bits: bits - self.bits[place], capacity };
            self.bits[place] = bits;
        }
        for members in &self.carriers {
            let bits = members.iter().map(|(place, _)| self.new[*place].bits).sum();
            members.iter().filter(|(_, whole)| *whole).for_each(|(place, _)| self.new[*place].bits = bits);
        }
        self.at = now;
    }
}
