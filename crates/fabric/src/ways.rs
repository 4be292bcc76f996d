//! What comes before and after each link, as the packets of a topology pass it.
//!
//! A way that changes does so as in a network of routers: each node has a table with the next step of each row, and at the time of the
//! change the nodes of the new way get theirs. Packets follow the tables node by node, so one that is on a link by then goes on from
//! the end of that link as the table there is; where the new way does not lead, the table stays as it was. So a packet never
//! goes in a circle: of the nodes of a circle, those whose tables are youngest are all on one way, which has none.

use crate::topology::{Topology, Way};
use longhaul_scenario::Step;
use longhaul_units::{Id, IdVec, LinkId};
use std::collections::{BTreeMap, BTreeSet};

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
    /// Links that packets pass whose ways change: what comes after them may be another thing at each time.
    pub moving: IdVec<LinkId, bool>,
    /// What is written into the tables, for each of [`Topology::moves`].
    pub writes: Vec<Vec<Write>>,
}

/// What is written into a table when ways change.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Write {
    /// For packets of this row.
    pub row: usize,
    /// Where they come from.
    pub place: Place,
    /// Where they go.
    pub to: To,
}

/// Where packets are before they go on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Place {
    /// At the host that sends them.
    Start,
    /// At the end of a link.
    Link(LinkId),
    /// Behind the port of a middlebox.
    Port(usize),
}

/// Where packets go.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum To {
    /// One step on.
    Step(Step),
    /// Nowhere: they have arrived.
    Arrived,
    /// Nowhere: nobody is there who would receive them.
    Lost,
}

fn port_index(step: Step) -> Option<usize> {
    match step {
        Step::Middlebox { middlebox, port } => Some(2 * middlebox.index() + port),
        Step::Link(_) => None,
    }
}

impl Ways {
    pub fn new(topology: &Topology<'_>) -> Self {
        let count = topology.links.len();
        let mut ways = Ways {
            successors: IdVec::filled(vec![], count),
            after_ports: vec![vec![]; 2 * topology.middleboxes],
            predecessor: IdVec::filled(None, count),
            first_links: vec![None; topology.rows],
            moving: IdVec::filled(false, count),
            writes: vec![],
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
        if !topology.moves.is_empty() {
            ways.add_moves(topology);
        }
        ways
    }

    fn add_moves(&mut self, topology: &Topology<'_>) {
        let rows: BTreeSet<usize> =
            topology.moves.iter().flat_map(|moved| moved.ways.iter().map(|way| way.row)).collect();
        // All links on which packets of a row ever are.
        let mut links: BTreeMap<usize, BTreeSet<LinkId>> = BTreeMap::new();
        let first = topology.ways.iter().filter(|way| rows.contains(&way.row));
        for way in first.chain(topology.moves.iter().flat_map(|moved| &moved.ways)) {
            let links = links.entry(way.row).or_default();
            links.extend(way.steps.iter().filter_map(|step| match step {
                Step::Link(link) => Some(*link),
                Step::Middlebox { .. } => None,
            }));
        }
        for (row, links) in &links {
            for link in links {
                self.moving[*link] = true;
                // Before the row's packets are there, nothing is looked up for them.
                if !self.successors[*link].iter().any(|(known, _)| known == row) {
                    self.successors[*link].push((*row, None));
                }
            }
        }
        for moved in &topology.moves {
            let mut by_row: BTreeMap<usize, Vec<&Way>> = BTreeMap::new();
            moved.ways.iter().for_each(|way| by_row.entry(way.row).or_default().push(way));
            let mut writes = vec![];
            for (row, ways) in by_row {
                write_tables(topology, row, &ways, &links[&row], moved.lost, &mut writes);
            }
            self.writes.push(writes);
        }
    }
}

/// The tables of the nodes on a row's new ways, which are one way and its pieces at middleboxes.
fn write_tables(
    topology: &Topology<'_>,
    row: usize,
    ways: &[&Way],
    links: &BTreeSet<LinkId>,
    lost: bool,
    writes: &mut Vec<Write>,
) {
    let to = |step: Option<&Step>| step.map_or(To::Arrived, |step| To::Step(*step));
    let (mut by_node, mut on_it) = (BTreeMap::new(), BTreeSet::new());
    for way in ways {
        if let Some(first @ Step::Link(_)) = way.steps.first() {
            writes.push(Write { row, place: Place::Start, to: To::Step(*first) });
        }
        for (position, step) in way.steps.iter().enumerate() {
            let after = way.steps.get(position + 1);
            match (*step, port_index(*step)) {
                (Step::Link(link), _) => {
                    on_it.insert(link);
                    by_node.insert(topology.links[link].to, to(after));
                }
                (_, Some(port)) if after.is_some() => {
                    writes.push(Write { row, place: Place::Port(port), to: to(after) });
                }
                _ => {}
            }
        }
    }
    for link in links {
        let next = match by_node.get(&topology.links[*link].to) {
            _ if lost && !on_it.contains(link) => Some(To::Lost),
            known => known.copied(),
        };
        writes.extend(next.map(|to| Write { row, place: Place::Link(*link), to }));
    }
}
