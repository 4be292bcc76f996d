//! Checks beyond the types: values that make no sense, names that do not resolve, networks that do not connect.

mod flows;
mod links;
mod routes;
mod tcp;

use crate::error::nearest;
use crate::{MiddleboxSpec, Network, RunSpec, Scenario};
use longhaul_path::CarrierSpec;
use longhaul_units::ranges::{Key, out_of_range};
use longhaul_units::{Duration, Id};
use std::collections::{BTreeMap, BTreeSet};

/// Something wrong, and where.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Problem {
    pub path: Vec<Key>,
    pub message: String,
    pub help: Option<String>,
}

const MOST_SAMPLES: u64 = 10_000_000;

/// All problems. Values outside of their ranges, which the schema has, come first: what else is checked assumes that they are
/// inside.
pub(crate) fn validate(scenario: &Scenario) -> Vec<Problem> {
    let problems: Vec<Problem> = out_of_range(scenario)
        .into_iter()
        .map(|found| Problem { path: found.place, message: found.message, help: None })
        .collect();
    if !problems.is_empty() {
        return problems;
    }
    let nodes = Network::declared_nodes(scenario);
    let known = nodes.iter().cloned().collect();
    let (carriers, end) = (scenario.carrier.clone(), scenario.run.duration);
    let mut check = Checker { problems: vec![], path: vec![], nodes, known, carriers, end };
    check.run(scenario);
    check.network(scenario);
    for (index, flow) in scenario.flow.iter().enumerate() {
        check.within("flow", Some(index), |check| check.flow(scenario, flow));
    }
    check.names("flow", scenario.flow.iter().map(|flow| flow.name.as_str()));
    for (index, middlebox) in scenario.middlebox.iter().enumerate() {
        check.within("middlebox", Some(index), |check| check.middlebox(scenario, middlebox));
    }
    check.names("middlebox", scenario.middlebox.iter().map(MiddleboxSpec::name));
    check.routes(scenario);
    if scenario.flow.is_empty() {
        check.problem(&[], "there is no [[flow]]: nothing would be sent");
    }
    if check.problems.is_empty() {
        check.connected(scenario);
    }
    if check.problems.is_empty() && !scenario.middlebox.is_empty() {
        check.middleboxes_are_passed(scenario);
    }
    if check.problems.is_empty() {
        check.routed(scenario);
    }
    check.problems
}

/// Collects what is wrong with a scenario. A place is a path of keys from the table that is looked at.
pub struct Checker {
    problems: Vec<Problem>,
    path: Vec<Key>,
    /// Names of the nodes, in the order of the document.
    nodes: Vec<String>,
    /// The same, to look one up.
    known: BTreeSet<String>,
    /// Carriers that links may share.
    carriers: Vec<CarrierSpec>,
    /// The length of the run.
    end: Duration,
}

impl Checker {
    pub(crate) fn problem(&mut self, fields: &[&'static str], message: impl Into<String>) {
        self.problem_with_help(fields, message, None);
    }

    pub(crate) fn problem_with_help(
        &mut self,
        fields: &[&'static str],
        message: impl Into<String>,
        help: Option<String>,
    ) {
        let path = self.path.iter().copied().chain(fields.iter().map(|name| Key::Field(name))).collect();
        self.problems.push(Problem { path, message: message.into(), help });
    }

    pub(crate) fn within(
        &mut self,
        field: &'static str,
        index: Option<usize>,
        inner: impl FnOnce(&mut Self),
    ) {
        let depth = self.path.len();
        self.path.push(Key::Field(field));
        self.path.extend(index.map(Key::Index));
        inner(self);
        self.path.truncate(depth);
    }

    fn run(&mut self, scenario: &Scenario) {
        let run = &scenario.run;
        if run.warmup >= run.duration {
            self.problem(
                &["run", "warmup"],
                format!("the warm-up ({}) must be shorter than the run ({})", run.warmup, run.duration),
            );
        }
        if run.duration.as_nanos() / run.sample.as_nanos() > MOST_SAMPLES {
            let least = Duration::from_nanos(run.duration.as_nanos().div_ceil(MOST_SAMPLES));
            self.problem(
                &["run", "sample"],
                format!(
                    "the sampling interval must give at most 10,000,000 samples: in a run of {} it is {least} or more",
                    run.duration
                ),
            );
        }
        // The default is for everyone, also for runs that are shorter.
        if run.sample > run.duration && run.sample != RunSpec::DEFAULT_SAMPLE {
            let message =
                format!("the sampling interval ({}) is longer than the run ({})", run.sample, run.duration);
            self.problem(&["run", "sample"], message);
        }
        if run.qlog && scenario.flow.iter().all(|flow| flow.quic().is_none()) {
            self.problem(
                &["run", "qlog"],
                "has no effect: no flow uses QUIC; add transport = \"quic\" to one",
            );
        }
        let links = Network::declared_links(scenario);
        for (field, names) in [("capture", &run.capture), ("monitor", &run.monitor)] {
            for (index, name) in names.iter().enumerate().filter(|(_, name)| !links.contains(name)) {
                let help = nearest(name, links.iter().map(String::as_str));
                self.within("run", None, |check| {
                    check.within(field, Some(index), |check| {
                        check.problem_with_help(&[], format!("there is no link \"{name}\""), help);
                    });
                });
            }
        }
    }

    fn name(&mut self, fields: &[&'static str], name: &str) {
        let good = |c: char| c.is_alphanumeric() || c == '-' || c == '_';
        if name.is_empty() || !name.chars().all(good) {
            self.problem(fields, format!("\"{name}\" is not a name: use letters, digits, - and _"));
        }
    }

    fn names<'a>(&mut self, list: &'static str, names: impl Iterator<Item = &'a str>) {
        let mut seen = BTreeSet::new();
        for (index, name) in names.enumerate() {
            self.within(list, Some(index), |check| {
                check.name(&["name"], name);
                if !seen.insert(name.to_string()) {
                    check.problem(
                        &["name"],
                        format!("there are two of the name \"{name}\"; give each its own name"),
                    );
                }
            });
        }
    }

    /// What is named must be a node; else the nearest is proposed, or all that there are.
    fn is_node(&mut self, field: &'static str, name: &str) {
        if !self.known.contains(name) {
            let help = nearest(name, self.nodes.iter().map(String::as_str))
                .or_else(|| Some(known_nodes(&self.nodes)));
            self.problem_with_help(&[field], format!("there is no node \"{name}\""), help);
        }
    }

    fn middlebox(&mut self, scenario: &Scenario, middlebox: &MiddleboxSpec) {
        let common = middlebox.common();
        for (field, name) in middlebox.node_fields() {
            self.is_node(field, name);
        }
        for (index, name) in common.flows.iter().enumerate() {
            if !scenario.flow.iter().any(|flow| flow.name == *name) {
                let help = nearest(name, scenario.flow.iter().map(|flow| flow.name.as_str()));
                self.within("flows", Some(index), |check| {
                    check.problem_with_help(&[], format!("there is no flow \"{name}\""), help);
                });
            }
        }
        middlebox.check(scenario, self);
    }

    /// Every middlebox has flows that pass it, and every flow that it names does.
    fn middleboxes_are_passed(&mut self, scenario: &Scenario) {
        let network = Network::new(scenario);
        if let Some((hidden, other)) = network.hidden_middlebox() {
            let other = scenario.middlebox(other).name();
            self.within("middlebox", Some(hidden.index()), |check| {
                let message =
                    format!("it stands on the long hop of \"{other}\", where no packets of its flows pass");
                check.problem(&["at"], message);
            });
        }
        for (id, instance) in network.middleboxes.enumerated() {
            let spec = scenario.middlebox(id);
            let nodes = spec.nodes().join("\" and \"");
            let has = |group: &str| {
                instance.flows.iter().any(|flow| scenario.group(network.flows[*flow].group).name == group)
            };
            let missing = spec.common().flows.iter().find(|group| !has(group));
            self.within("middlebox", Some(id.index()), |check| {
                spec.check_placed(&network, instance, check);
                if let Some(group) = missing {
                    check.problem(
                        &["flows"],
                        format!("\"{group}\" does not pass \"{nodes}\" on its way there and back"),
                    );
                } else if instance.flows.is_empty() {
                    let help =
                        "flows that begin or end at the node itself do not pass it; give them access links"
                            .to_string();
                    check.problem_with_help(&["at"], format!("no flow passes \"{nodes}\""), Some(help));
                }
            });
        }
    }

    /// Every flow has a way there and back.
    fn connected(&mut self, scenario: &Scenario) {
        let network = Network::graph(scenario);
        let mut reached = BTreeMap::new();
        for (index, flow) in scenario.flow.iter().enumerate() {
            let [Some(from), Some(to)] = Network::ends_of(scenario, flow) else { continue };
            if !reached.entry(from.clone()).or_insert_with(|| network.reachable(&from)).contains(to.as_str())
            {
                self.within("flow", Some(index), |check| {
                    check.problem(&["to"], format!("no links lead from \"{from}\" to \"{to}\""));
                });
            }
        }
    }
}

/// What stands in a message about a node that there is not.
fn known_nodes(names: &[String]) -> String {
    match names {
        [] => "nodes are the ends of links: add a [[link]]".to_string(),
        _ => format!("known nodes: {}", listed(names)),
    }
}

/// Names as a message lists them: of very many the first ones.
fn listed(names: &[String]) -> String {
    const MOST: usize = 20;
    match names.get(..MOST) {
        Some(first) if names.len() > MOST => {
            format!("{} and {} more", first.join(", "), names.len() - MOST)
        }
        _ => names.join(", "),
    }
}
