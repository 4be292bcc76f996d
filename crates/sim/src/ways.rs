//! What comes before and after each link, as the packets of a network pass it.

use crate::packet::Packet;
use longhaul_path::Link;
use longhaul_scenario::{Network, Step};
use longhaul_units::{EndpointId, Id, IdVec, LinkId, Side};

/// What comes before and after each link on the ways of all packets, and after each middlebox.
pub(crate) struct Ways {
    /// For each link, the endpoints that packets on it go to, each with the next step (`None`: it has arrived).
    pub successors: IdVec<LinkId, Vec<(EndpointId, Option<Step>)>>,
    /// The same for each port of a middlebox.
    pub after_ports: Vec<Vec<(EndpointId, Option<Step>)>>,
    /// For each link that is used, the only link before it; `None` inside if there are several, or if hosts or middleboxes
    /// send there.
    pub predecessor: IdVec<LinkId, Option<Option<LinkId>>>,
}

impl Ways {
    pub fn new(network: &Network) -> Self {
        let count = network.links.len();
        let mut ways = Ways {
            successors: IdVec::filled(vec![], count),
            after_ports: vec![vec![]; 2 * network.middleboxes.len()],
            predecessor: IdVec::filled(None, count),
        };
        for way in network.ways() {
            for (position, step) in way.steps.iter().enumerate() {
                let after = (way.to, way.steps.get(position + 1).copied());
                let link = match *step {
                    Step::Middlebox { middlebox, port } => {
                        // Where a way ends at a middlebox, nothing goes on from there.
                        ways.after_ports[2 * middlebox.index() + port].extend(after.1.map(|_| after));
                        continue;
                    }
                    Step::Link(link) => link,
                };
                ways.successors[link].push(after);
                let before = match position.checked_sub(1).map(|position| way.steps[position]) {
                    Some(Step::Link(before)) => Some(before),
                    _ => None,
                };
                let known = ways.predecessor[link].get_or_insert(before);
                if *known != before {
                    *known = None;
                }
            }
        }
        ways
    }

    /// True if an endpoint has a link to itself on which to send.
    pub fn sends_alone(
        &self,
        endpoint: EndpointId,
        network: &Network,
        links: &IdVec<LinkId, Link<Packet>>,
    ) -> bool {
        let flow = &network.flows[network.flow_of(endpoint)];
        let first = match endpoint.side() {
            Side::Client => flow.forward[0],
            Side::Server => flow.reverse[0],
        };
        self.successors[first].len() == 1 && links[first].is_fifo()
    }
}
