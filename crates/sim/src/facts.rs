//! What the world has counted at the end of its run; `longhaul_results` makes a summary of it.

use crate::monitor::FlowMonitor;
use crate::recorder::Capture;
use crate::udp::UdpFlow;
use crate::world::World;
use longhaul_quic::explained;
use longhaul_results::{
    AppFacts, FlowFacts, FlowFailure, LinkFacts, RunFacts, SenderFacts, Warning, WholeRun,
};
use longhaul_tcp::State;
use longhaul_traffic::Side;
use longhaul_units::{ConnectionId, DeclaredId, EndpointId, FlowId, GroupId};

/// The facts of a run that has come to its end.
pub(crate) fn collect<'a>(world: &mut World<'a>) -> RunFacts<'a> {
    RunFacts {
        scenario: world.scenario,
        network: world.network,
        end: world.now,
        flows: world.apps.ids().map(|flow| flow_facts(world, flow)).collect(),
        links: world.declared.ids().map(|place| link_facts(world, place)).collect(),
        middleboxes: world.middlebox_facts(),
        data_packets_delivered: data_packets_delivered(world),
        drops_left_out: world.recorder.drops_left_out(),
        warnings: quic_warnings(world),
    }
}

fn flow_facts(world: &World<'_>, flow: FlowId) -> FlowFacts {
    let (app, spec) = (&world.apps[flow], &world.scenario.group(world.network.flows[flow].group).app);
    let whole = world.totals(flow);
    let totals = whole.since(&world.flow_baseline[flow]);
    let first = &world.endpoints[world.first_connection(flow).end(Side::Client)];
    let (state, cwnd) = (flow_state(world, flow), world.cwnd_mean[flow]);
    let several = spec.connections() > 1;
    let quic = world.quic.of(flow);
    let udp = world.udp[flow].as_deref();
    let gave_up = !several && udp.is_none() && unfinished(world, flow) && state == State::Closed;
    let failure = quic.and_then(|(quic, place)| quic.failure(place)).filter(|_| unfinished(world, flow));
    FlowFacts {
        app: AppFacts {
            kind: spec.name(),
            has_end: spec.has_end(),
            finished: app.finished(),
            responses: spec.asks().then(|| app.responses().clone()),
            pages: several.then(|| (app.pages().clone(), app.failed())),
            qoe: app
                .started()
                .then(|| match udp {
                    Some(udp) => udp.qoe(world.now),
                    None => app.qoe(world.now),
                })
                .flatten(),
        },
        server_sends: spec.data_sender() == Side::Server,
        stack: None,
        state: match (quic, udp) {
            (Some((quic, place)), _) => quic.state(place).to_string(),
            (None, Some(udp)) => udp.state().to_string(),
            (None, None) => format!("{state:?}"),
        },
        failure: match failure {
            Some(_) => Some(FlowFailure::Other),
            None => gave_up.then_some(FlowFailure::GaveUp),
        },
        sender: SenderFacts::from(&totals.sender),
        delivered: totals.delivered,
        arrived: totals.arrived,
        lost: totals.lost,
        made: totals.made,
        whole_run: Some(WholeRun {
            sender: SenderFacts::from(&whole.sender),
            delivered: whole.delivered,
            arrived: whole.arrived,
            lost: whole.lost,
        }),
        limited: totals.limited,
        path_use: Some(world.path_use[flow].clone()),
        cwnd: (cwnd.sum, cwnd.samples),
        goodput_max_bps: world.goodput_max[flow],
        reductions: world.reductions[flow],
        probes: first.connection.congestion_control().probe().is_some(),
        failed_starts: world.failed_starts[flow],
        datagrams: udp.map(UdpFlow::reception),
    }
}

/// QUIC connections that met a limit of quinn-proto, or ended otherwise than their applications requested.
fn quic_warnings(world: &World<'_>) -> Vec<Warning> {
    let mut warnings: Vec<Warning> = vec![];
    for (flow, incidents) in world.quic.incidents() {
        let instance = &world.network.flows[flow];
        let group = &world.scenario.group(instance.group).name;
        for (code, message) in incidents.warnings(&instance.name) {
            if !warnings.iter().any(|warning| (warning.code, &warning.object) == (code, group)) {
                warnings.push(Warning { code, object: group.clone(), message });
            }
        }
    }
    let failures = world.apps.ids().filter_map(|flow| {
        let (quic, place) = world.quic.of(flow).filter(|_| unfinished(world, flow))?;
        Some((flow, quic.failure(place)?))
    });
    // Of one group, those that ended for one reason share a warning.
    let mut ended: Vec<(GroupId, &str, Vec<FlowId>)> = vec![];
    for (flow, reason) in failures {
        let group = world.network.flows[flow].group;
        match ended.iter_mut().find(|(of, why, _)| (*of, *why) == (group, reason)) {
            Some((.., flows)) => flows.push(flow),
            None => ended.push((group, reason, vec![flow])),
        }
    }
    warnings.extend(ended.into_iter().map(|(group, reason, flows)| {
        let (spec, first) = (world.scenario.group(group), &world.network.flows[flows[0]].name);
        let who = match flows.len() {
            1 => first.clone(),
            n => format!("{n} of {} flows of {}, for instance {first}", spec.count, spec.name),
        };
        let message = format!("{who}: the QUIC connection ended early: {}", explained(reason));
        Warning { code: "quic_ended", object: spec.name.clone(), message }
    }));
    warnings
}

fn unfinished(world: &World<'_>, flow: FlowId) -> bool {
    let app = &world.apps[flow];
    app.started() && !app.stopped() && app.finished().is_none()
}

/// State of the sender's connection; of several, whether any is open.
fn flow_state(world: &World<'_>, flow: FlowId) -> State {
    match &world.reused[flow] {
        None => world.data_sender(flow).connection.state(),
        Some(reused) if reused.open_pairs().next().is_none() => State::Closed,
        Some(_) => State::Established,
    }
}

fn link_facts(world: &mut World<'_>, place: DeclaredId) -> LinkFacts {
    let link = world.declared[place];
    let (now, peak) = (world.now, world.queue_peak[place]);
    let line = world.fabric.line(link).map(|line| line.stats().since(&world.line_baseline[place]));
    let monitored = world.recorder.monitors[link].as_ref().map_or(vec![], FlowMonitor::measured);
    let facts = world.link_baseline[place].facts(world.fabric.link(link), now, peak);
    LinkFacts { line, monitored, ..facts }
}

fn data_packets_delivered(world: &World<'_>) -> u64 {
    let ended = world.reused.iter().flatten().map(|reused| reused.ended_received);
    // What is in `ended_received` may still stand in an endpoint that waits for its next connection.
    let counted = world.apps.ids().flat_map(|flow| open_endpoints(world, flow));
    let received =
        counted.map(|endpoint| world.endpoints[endpoint].connection.stats().data_segments_received);
    let over_udp = world.udp.iter().flatten().map(|udp| udp.data_packets());
    received.sum::<u64>() + ended.sum::<u64>() + world.quic.data_packets() + over_udp.sum::<u64>()
}

/// The endpoints of a flow that have a connection.
fn open_endpoints(world: &World<'_>, flow: FlowId) -> Vec<EndpointId> {
    let first = world.first_connection(flow);
    let ends = |connection: ConnectionId| Side::BOTH.map(|side| connection.end(side));
    match &world.reused[flow] {
        None => ends(first).to_vec(),
        Some(reused) => reused.open_pairs().flat_map(|pair| ends(first.after(pair))).collect(),
    }
}

/// What a capture lacks.
pub(crate) fn left_out_of_capture(capture: &Capture) -> Option<Warning> {
    let (count, why) = capture.left_out.as_ref()?;
    Some(Warning {
        code: "left_out_of_capture",
        object: "packets.pcapng".to_string(),
        message: format!(
            "{count} packets are not in the capture, since they have no form on the wire; the first: {why}"
        ),
    })
}
