//! What the world knows at the end of its run; `longhaul_results` makes a summary of it.

use crate::app::Side;
use crate::monitor::FlowMonitor;
use crate::recorder::Capture;
use crate::totals::Totals;
use crate::world::World;
use longhaul_results::{AppFacts, FlowFacts, FlowFailure, LinkFacts, RunFacts, SenderFacts, Warning};
use longhaul_tcp::State;

/// The facts of a run that has come to its end.
pub(crate) fn collect<'a>(world: &mut World<'a>) -> RunFacts<'a> {
    RunFacts {
        scenario: world.scenario,
        network: world.network,
        end: world.now,
        flows: (0..world.apps.len()).map(|flow| flow_facts(world, flow)).collect(),
        links: (0..world.declared.len()).map(|position| link_facts(world, position)).collect(),
        middleboxes: world.middlebox_facts(),
        data_packets_delivered: data_packets_delivered(world),
        drops_left_out: world.recorder.drops_left_out(),
        warnings: vec![],
    }
}

fn flow_facts(world: &World<'_>, flow: usize) -> FlowFacts {
    let app = &world.apps[flow];
    let totals = Totals::of(world, flow).since(&world.flow_baseline[flow]);
    let asks = matches!(app.name(), "request" | "web" | "keystrokes");
    let first = &world.endpoints[2 * world.first_connection(flow)];
    let (state, cwnd) = (flow_state(world, flow), world.cwnd_mean[flow]);
    let gave_up =
        app.web.is_none() && app.finished.is_none() && !app.stopped && app.started && state == State::Closed;
    FlowFacts {
        app: AppFacts {
            kind: app.name(),
            has_end: app.has_end(),
            finished: app.finished,
            responses: asks.then(|| app.responses.clone()),
            pages: app.web.as_ref().map(|session| (session.pages.clone(), session.failed)),
        },
        server_sends: app.data_sender() == Side::Server,
        stack: None,
        state: format!("{state:?}"),
        failure: gave_up.then_some(FlowFailure::GaveUp),
        sender: SenderFacts::from(&totals.sender),
        delivered: totals.delivered,
        arrived: totals.arrived,
        lost: totals.lost,
        made: totals.made,
        limited: totals.limited,
        cwnd: (cwnd.sum, cwnd.samples),
        goodput_max_bps: world.goodput_max[flow],
        reductions: world.reductions[flow],
        probes: first.connection.congestion_control().probe().is_some(),
        failed_starts: world.failed_starts[flow],
    }
}

/// State of the sender's connection; of a web session, whether any is open.
fn flow_state(world: &World<'_>, flow: usize) -> State {
    match &world.apps[flow].web {
        None => world.data_sender(flow).connection.state(),
        Some(session) if session.open().next().is_none() => State::Closed,
        Some(_) => State::Established,
    }
}

fn link_facts(world: &mut World<'_>, position: usize) -> LinkFacts {
    let index = world.declared[position];
    let (now, peak) = (world.now, world.queue_peak[position]);
    let line = world.fabric.line_stats(index).map(|line| line.since(&world.line_baseline[position]));
    let monitored = world.recorder.monitors[index].as_ref().map_or(vec![], FlowMonitor::measured);
    let facts = world.link_baseline[position].facts(world.fabric.link(index), now, peak);
    LinkFacts { line, monitored, ..facts }
}

fn data_packets_delivered(world: &World<'_>) -> u64 {
    let sessions = world.apps.iter().filter_map(|app| app.web.as_ref()).map(|session| session.ended_received);
    // What is in `ended_received` may still stand in an endpoint that waits for its next connection.
    let counted = (0..world.apps.len()).flat_map(|flow| open_endpoints(world, flow));
    let received =
        counted.map(|endpoint| world.endpoints[endpoint].connection.stats().data_segments_received);
    received.sum::<u64>() + sessions.sum::<u64>()
}

/// The endpoints of a flow that have a connection.
fn open_endpoints(world: &World<'_>, flow: usize) -> Vec<usize> {
    let first = 2 * world.first_connection(flow);
    match &world.apps[flow].web {
        None => vec![first, first + 1],
        Some(session) => session.open().flat_map(|pair| [first + 2 * pair, first + 2 * pair + 1]).collect(),
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
