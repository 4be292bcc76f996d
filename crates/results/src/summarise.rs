//! From the facts of a run to its summary.

use crate::context::Context;
use crate::flows::{flow_summary, group_metrics};
use crate::links::link_summary;
use crate::metric::*;
use crate::middleboxes::middlebox_summary;
use crate::{
    DEFINITIONS, Definition, FlowSummary, GroupSummary, LinkSummary, Metric, MiddleboxSummary, NodeSummary,
    RunFacts, Summary, Work, warnings,
};
use longhaul_scenario::{Network, VERSION, run_id};
use longhaul_units::{DeclaredId, FlowId, GroupId, Id, IdVec, MiddleboxId, NodeId, ids};

/// Metrics, groups, predictions and warnings of a run.
pub fn summarise(run: &RunFacts<'_>) -> Summary {
    let context = Context::new(run);
    let (scenario, network) = (run.scenario, run.network);
    let flows: IdVec<FlowId, FlowSummary> =
        run.flows.ids().map(|flow| flow_summary(&context, flow)).collect();
    let links: IdVec<DeclaredId, LinkSummary> =
        run.links.ids().map(|place| link_summary(&context, place)).collect();
    let known = definitions(&links);
    let middleboxes: IdVec<MiddleboxId, MiddleboxSummary> =
        run.middleboxes.ids().map(|id| middlebox_summary(&context, id)).collect();
    let groups = ids(scenario.flow.len()).map(|group| group_summary(&context, group, &flows)).collect();
    let everything: Vec<FlowId> = flows.ids().collect();
    let mut whole = group_metrics(&context, &everything, &flows);
    let busiest = links.iter().filter_map(|link| link.metrics.get(UTILISATION)).fold(f64::NAN, f64::max);
    whole.set(UTILISATION, busiest);
    let warnings = warnings::collect(&context, &flows, &links, &middleboxes);
    Summary {
        longhaul: VERSION,
        run_id: run_id(scenario),
        name: scenario.name.clone(),
        description: scenario.description.clone(),
        seed: scenario.run.seed,
        duration_s: run.end.as_secs_f64(),
        warmup_s: scenario.run.warmup.as_secs_f64(),
        measured_s: context.measured_s,
        run: whole,
        links: links.into_vec(),
        groups,
        flows: flows.into_vec(),
        middleboxes: middleboxes.into_vec(),
        nodes: core_nodes(network),
        warnings,
        work: Work { data_packets_delivered: run.data_packets_delivered },
        emulation: None,
        definitions: known,
    }
}

/// All definitions, but those of a wire that damages or duplicates only where there is one.
fn definitions(links: &IdVec<DeclaredId, LinkSummary>) -> Vec<Definition> {
    let of_wires = [CORRUPTED_PACKETS, DUPLICATED_PACKETS];
    let absent = |metric: &Metric| links.iter().all(|link| link.metrics.get(*metric).is_none());
    let left_out: Vec<Metric> = of_wires.into_iter().filter(absent).collect();
    let known = |definition: &Definition| left_out.iter().all(|metric| metric.name() != definition.name);
    DEFINITIONS.iter().copied().filter(known).collect()
}

fn group_summary(context: &Context<'_>, group: GroupId, flows: &IdVec<FlowId, FlowSummary>) -> GroupSummary {
    let members: Vec<FlowId> = flows.ids().filter(|flow| context.group(*flow) == group).collect();
    let mut metrics = group_metrics(context, &members, flows);
    for metric in [UTILISATION, PACKETS_PER_RTT] {
        metrics.set(metric, members.iter().filter_map(|flow| flows[*flow].metrics.get(metric)).sum::<f64>());
    }
    GroupSummary { name: context.run.scenario.group(group).name.clone(), count: members.len(), metrics }
}

/// The nodes of the scenario file, without hosts that stand for one flow each.
fn core_nodes(network: &Network) -> Vec<NodeSummary> {
    let hosts = network.links.iter().filter(|link| !link.declared).map(|link| link.from);
    let first_host = hosts.min().unwrap_or(NodeId::new(network.nodes.len()));
    let mut is_end_of_declared = IdVec::<NodeId, bool>::filled(false, network.nodes.len());
    for link in network.links.iter().filter(|link| link.declared) {
        is_end_of_declared[link.from] = true;
        is_end_of_declared[link.to] = true;
    }
    (network.nodes.enumerated())
        .filter(|(node, _)| *node < first_host || is_end_of_declared[*node])
        .map(|(_, name)| NodeSummary { name: name.clone() })
        .collect()
}
