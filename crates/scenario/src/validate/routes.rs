//! Checks of routes: links that are a way, flows that have it, middleboxes that they do not leave.

use super::{Checker, listed};
use crate::error::nearest;
use crate::network::{FlowInstance, Network};
use crate::routes::{Broken, Chain, Looping, Moves, Routed, Tables};
use crate::{RouteSpec, Scenario};
use longhaul_units::{Id, Instant, LinkId, MiddleboxId, ids};

impl Checker {
    /// Each table by itself.
    pub(super) fn routes(&mut self, scenario: &Scenario) {
        if scenario.route.is_empty() {
            return;
        }
        let (network, names) = (Network::graph(scenario), Network::declared_links(scenario));
        for (index, route) in scenario.route.iter().enumerate() {
            self.within("route", Some(index), |check| {
                check.via(&network, &names, route);
                for (place, name) in route.flows.iter().enumerate() {
                    if !scenario.flow.iter().any(|flow| flow.name == *name) {
                        let help = nearest(name, scenario.flow.iter().map(|flow| flow.name.as_str()));
                        check.within("flows", Some(place), |check| {
                            check.problem_with_help(&[], format!("there is no flow \"{name}\""), help);
                        });
                    }
                }
                if let Err((field, message)) = route.check(check.end) {
                    check.problem(&[field], message);
                }
            });
        }
    }

    fn via(&mut self, network: &Network, names: &[String], route: &RouteSpec) {
        let Err(broken) = Chain::new(&network.links, &route.via) else { return };
        let ends = |name: &str| {
            let link = network.links.iter().find(|link| link.name == format!("{name}.forward"));
            link.map_or(String::new(), |link| {
                format!("\"{}\" and \"{}\"", network.nodes[link.from], network.nodes[link.to])
            })
        };
        let (place, message, help) = match broken {
            Broken::Empty => {
                return self
                    .problem(&["via"], "names no link: write the links of the way, as in [\"satellite\"]");
            }
            Broken::Unknown(place) => {
                let name = &route.via[place];
                let help = nearest(name, names.iter().map(String::as_str))
                    .or_else(|| Some(format!("there are: {}", listed(names))));
                (place, format!("there is no link \"{name}\""), help)
            }
            Broken::Apart(place) => {
                let (before, name) = (&route.via[place - 1], &route.via[place]);
                let message =
                    format!("is no way: \"{before}\" joins {}, and \"{name}\" {}", ends(before), ends(name));
                (place, message, Some("each link begins where the one before it ends".to_string()))
            }
            Broken::Loop(place) => {
                let name = &route.via[place];
                let message = format!("is no way: with \"{name}\" ({}) it comes to a node again", ends(name));
                (
                    place,
                    message,
                    Some(
                        "one route is one way; for another link at another time write a [[route]] of its own"
                            .to_string(),
                    ),
                )
            }
        };
        self.within("via", Some(place), |check| check.problem_with_help(&[], message, help));
    }

    /// What routes make of ways.
    pub(super) fn routed(&mut self, scenario: &Scenario) {
        if scenario.route.is_empty() {
            return;
        }
        let network = Network::new(scenario);
        let tables = Tables::new(&network.links, &scenario.route, self.end, scenario.run.seed);
        let ways = network.routed();
        let takes = |spec: &RouteSpec, way| network.takes(scenario, spec, way);
        let moves = match tables.moves(&network.links, &ways, takes) {
            Ok(moves) => moves,
            Err(found) => return self.goes_round(scenario, &network, &found),
        };
        for (index, route) in scenario.route.iter().enumerate() {
            let all = ways.iter().map(|(way, links)| (*way, links)).chain(
                moves.lists.iter().flat_map(|list| list.ways.iter().map(|(way, links)| (*way, links))),
            );
            let over: Vec<Routed> = all
                .filter(|(way, links)| takes(route, *way) && tables.leads_over(&network.links, index, links))
                .map(|(way, _)| way)
                .collect();
            let has = |name: &String| {
                over.iter().any(|way| matches!(way, Routed::Flow(flow, _) if scenario.group(network.flows[*flow].group).name == *name))
            };
            let missing = route.flows.iter().find(|name| !has(name));
            if missing.is_some() || over.is_empty() {
                let [from, to] = tables.ends(index).map(|node| &network.nodes[node]);
                let whose = missing.map_or("no flow".to_string(), |name| format!("not the flow \"{name}\""));
                let message = format!(
                    "has no effect: {whose} goes over \"{from}\" and \"{to}\", the ends of these links"
                );
                let help = "a route has all links between two nodes of a way".to_string();
                self.within("route", Some(index), |check| {
                    check.problem_with_help(&["via"], message, Some(help))
                });
            }
        }
        if self.problems.is_empty() {
            self.stay_at_middleboxes(scenario, &network, &moves);
        }
        if self.problems.is_empty() {
            self.one_way_for_quic(scenario, &network);
        }
    }

    fn goes_round(&mut self, scenario: &Scenario, network: &Network, found: &Looping<Routed>) {
        let name = match found.way {
            Routed::Flow(flow, _) => &scenario.group(network.flows[flow].group).name,
            Routed::Between(id, _) => &network.middleboxes[id].name,
        };
        let message = format!("at {} packets of \"{name}\" would come to a node twice", found.at);
        let help = "give the links from the node where the ways part to the one where they meet".to_string();
        self.within("route", Some(found.table), |check| {
            check.problem_with_help(&["via"], message, Some(help))
        });
    }

    /// A middlebox has the state of its flows: their ways lead by it all the time, both ways, or never.
    fn stay_at_middleboxes(&mut self, scenario: &Scenario, network: &Network, moves: &Moves<Routed>) {
        let mut last = vec![None; scenario.middlebox.len()];
        for change in &moves.changes {
            for (which, _) in &moves.lists[change.list].ways {
                let Routed::Flow(id, _) = *which else { continue };
                let epochs = network.epochs(id);
                let Some(now) = epochs.iter().rev().find(|epoch| epoch.from <= change.at) else { continue };
                let flow = &network.flows[id];
                for (middlebox, instance) in network.middleboxes.enumerated() {
                    let acts = instance.flows.binary_search(&id).is_ok();
                    let before = [&flow.forward[..], &flow.reverse[..]];
                    let after = [now.forward, now.reverse];
                    let chosen = acts || self.is_chosen(scenario, middlebox, flow);
                    if chosen && network.order_of(instance, before) != network.order_of(instance, after) {
                        last[middlebox.index()].get_or_insert((change.table, change.at, id, acts));
                    }
                }
            }
        }
        for (id, found) in ids::<MiddleboxId>(last.len()).zip(last) {
            let Some((table, at, flow, acts)) = found else { continue };
            let (name, at) = (scenario.middlebox(id).name(), at.since(Instant::ZERO));
            let group = &scenario.group(network.flows[flow].group).name;
            let what = if acts {
                format!("leave the middlebox \"{name}\", which has the state of their connections")
            } else {
                format!("come to the middlebox \"{name}\", which has not seen how their connections began")
            };
            let help =
                "routes begin and end at its nodes, or it acts on other flows (its `flows`)".to_string();
            let message = format!("at {at} packets of \"{group}\" {what}");
            self.within("route", Some(table), |check| check.problem_with_help(&["via"], message, Some(help)));
        }
    }

    fn is_chosen(&self, scenario: &Scenario, middlebox: MiddleboxId, flow: &FlowInstance) -> bool {
        let names = scenario.middlebox(middlebox).common().flows;
        names.is_empty() || names.contains(&scenario.group(flow.group).name)
    }

    /// Flows that share a QUIC connection have its packets in common, and these one way.
    fn one_way_for_quic(&mut self, scenario: &Scenario, network: &Network) {
        for flows in network.quic_connections(scenario).iter().filter(|flows| flows.len() > 1) {
            let first = network.epochs(flows[0]);
            let Some(other) = flows.iter().find(|flow| network.epochs(**flow) != first) else { continue };
            let name = &scenario.group(network.flows[*other].group).name;
            let index = scenario.route.iter().position(|route| !route.flows.is_empty()).unwrap_or(0);
            let message =
                format!("\"{name}\" shares a QUIC connection with flows whose ways change otherwise");
            self.within("route", Some(index), |check| check.problem(&["flows"], message));
        }
    }
}

impl Network {
    /// How a way there and back meets the nodes of a middlebox: for each direction their places' order; `None` if it does not.
    fn order_of(&self, instance: &crate::MiddleboxInstance, ways: [&[LinkId]; 2]) -> Option<[Vec<usize>; 2]> {
        let order = |way: &[LinkId]| -> Option<Vec<usize>> {
            let (_, inner) = way.split_last()?;
            let place = |node| inner.iter().position(|link| self.links[*link].to == node);
            let mut places: Vec<(usize, usize)> = instance
                .nodes
                .iter()
                .enumerate()
                .map(|(number, node)| place(*node).map(|place| (place, number)))
                .collect::<Option<_>>()?;
            places.sort_unstable();
            Some(places.into_iter().map(|(_, number)| number).collect())
        };
        Some([order(ways[0])?, order(ways[1])?])
    }
}
