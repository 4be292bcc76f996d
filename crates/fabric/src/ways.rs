//! What comes before and after each link, as the packets of a topology pass it.

use crate::topology::Topology;
use longhaul_scenario::Step;
use longhaul_units::{Id, IdVec, LinkId};

/// What comes before and after each link on the ways of all packets, and after each middlebox.
pub(crate) struct Ways {
    /// For each link, the rows of packets on it, each with the next step (`None`: it has arrived).
    pub successors: IdVec<LinkId, Vec<(usize, Option<Step>)>>,
    /// The same for each port of a middlebox.
    pub after_ports: Vec<Vec<(usize, Option<Step>)>>,
    /// For each link that is used, the only link before it; `None` inside if there are several, or if hosts or middleboxes
    /// send there.
    pub predecessor: IdVec<LinkId, Option<Option<LinkId>>>,
    /// Where the ways of each row begin, those apart that begin at a middlebox.
    pub first_links: Vec<Option<LinkId>>,
}

impl Ways {
    pub fn new(topology: &Topology<'_>) -> Self {
        let count = topology.links.len();
        let mut ways = Ways {
            successors: IdVec::filled(vec![], count),
            after_ports: vec![vec![]; 2 * topology.middleboxes],
            predecessor: IdVec::filled(None, count),
            first_links: vec![None; topology.rows],
        };
        for way in &topology.ways {
            for (position, step) in way.steps.iter().enumerate() {
                let after = (way.row, way.steps.get(position + 1).copied());
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
                if position == 0 {
                    ways.first_links[way.row] = Some(link);
                }
                let known = ways.predecessor[link].get_or_insert(before);
                if *known != before {
                    *known = None;
                }
            }
        }
        ways
    }
}
