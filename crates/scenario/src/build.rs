//! Middleboxes as a scenario describes them, the same for every world; worlds differ in how they number connections.

use crate::{
    BufferSpec, CarrierSpec, HopSpec, LongSpec, MiddleboxInstance, MiddleboxSpec, Network, PacedSpec,
    Scenario, SplitSpec, TcpSpec,
};
use longhaul_middlebox::ack_compaction::ack_compaction;
use longhaul_middlebox::hop;
use longhaul_middlebox::paced::{self, Control};
use longhaul_middlebox::split::{self, FlowControl, LongHop, MakeCongestionControl, Plan, Plans, Side};
use longhaul_middlebox::{
    AckFilter, Established, Middlebox, MssClamp, Payload, PrematureAck, SingleSplit, Snoop, Throttle,
    TwoNodes,
};
use longhaul_tcp::{Config, Reading};
use longhaul_units::{ConnectionId, FlowId, GroupId, LinkId, MiddleboxId, Random, Rate, Size};
use std::sync::{Arc, Mutex, PoisonError};

/// A middlebox that passes packets on as hosts have made them; `None` for a proxy, which makes its own. `own` is the number of its
/// first own connection, if it has any.
pub fn packet_middlebox<B: Payload>(
    scenario: &Scenario,
    network: &Network,
    id: MiddleboxId,
    own: ConnectionId,
    established: Established,
) -> Option<Box<dyn Middlebox<B>>> {
    let instance = &network.middleboxes[id];
    Some(match scenario.middlebox(id) {
        MiddleboxSpec::PrematureAck(spec) => Box::new(PrematureAck::new(spec.settings(), established)),
        MiddleboxSpec::Snoop(spec) => Box::new(Snoop::new(spec.settings())),
        MiddleboxSpec::AckCompaction(spec) => {
            let (rate, framing) = thin_line(network, &instance.between[0]);
            let settings = spec.settings(rate, framing);
            let carrier = spec
                .carrier_tcp()
                .map(|tcp| side(&tcp, Reading::Immediate, draws(scenario, instance, "carrier")));
            Box::new(ack_compaction(settings, own.0, carrier.as_ref()))
        }
        MiddleboxSpec::AckFilter(spec) => Box::new(AckFilter::new(spec.settings())),
        MiddleboxSpec::MssClamp(spec) => Box::new(MssClamp::new(spec.settings())),
        MiddleboxSpec::Throttle(spec) => {
            let name = format!("middlebox {} queue", instance.name);
            Box::new(Throttle::new(spec.settings(), scenario.run.seed, &name))
        }
        MiddleboxSpec::Split(_) | MiddleboxSpec::Paced(_) => return None,
    })
}

/// Rate of the slowest link of a way, and what it adds to a packet.
fn thin_line(network: &Network, way: &[LinkId]) -> (Rate, u32) {
    let thin = way.iter().map(|link| &network.links[*link].config).min_by_key(|config| config.rate);
    let framing = thin.and_then(|config| config.serial).map_or(0, |serial| serial.framing.bytes());
    (thin.map_or(Rate::ZERO, |config| config.rate), framing)
}

/// Settings of the connections that a proxy has with the hosts of this group's flows: towards the active opener and the passive one.
/// `None` for a middlebox that is no proxy.
pub fn proxy_tcp(scenario: &Scenario, middlebox: &MiddleboxSpec, group: GroupId) -> Option<[TcpSpec; 2]> {
    let flow = &scenario.group(group).tcp;
    match middlebox {
        MiddleboxSpec::Split(spec) => Some([spec.near_tcp(flow), spec.far_tcp(flow)]),
        MiddleboxSpec::Paced(spec) => Some([spec.near_tcp(flow), spec.far_tcp(flow)]),
        _ => None,
    }
}

/// How a proxy makes the connections of flows of this group.
///
/// # Panics
/// For a middlebox that is no proxy.
pub fn proxy_plan(scenario: &Scenario, instance: &MiddleboxInstance, group: GroupId) -> Plan {
    let flow = scenario.group(group);
    let middlebox = scenario.middlebox(instance.id);
    let [near, far] = proxy_tcp(scenario, middlebox, group).expect("only proxies have plans");
    let draws = |what| draws(scenario, instance, &format!("{} {what}", flow.name));
    let flow = &flow.tcp;
    Plan {
        near: side(&near, Reading::Manual, draws("near")),
        far: side(&far, Reading::Manual, draws("far")),
        established: flow.established.then(|| flow.config()),
    }
}

/// The stream of seeds for the congestion controls of a middlebox's connections.
fn draws(scenario: &Scenario, instance: &MiddleboxInstance, what: &str) -> Random {
    Random::stream(scenario.run.seed, &format!("middlebox {} congestion {what}", instance.name))
}

fn side(tcp: &TcpSpec, reading: Reading, draws: Random) -> Side {
    let (maker, draws) = (Arc::new(tcp.clone()), Mutex::new(draws));
    let congestion: MakeCongestionControl = Arc::new(move || {
        let seed = draws.lock().unwrap_or_else(PoisonError::into_inner).bits();
        maker.congestion_control(seed)
    });
    Side { config: Config { reading, ..tcp.config() }, congestion }
}

/// A split at one node.
pub fn single_split<P: Payload>(
    scenario: &Scenario,
    instance: &MiddleboxInstance,
    plans: Plans,
) -> SingleSplit<P> {
    let random = Random::stream(scenario.run.seed, &format!("middlebox {} isn", instance.name));
    SingleSplit::new(plans, random)
}

/// A split at two nodes. `own` is the number of its first own connection; `positions` is, for each connection of a flow by its number,
/// which turn it has on the long hop's connections.
pub fn distributed_split<P: Payload>(
    scenario: &Scenario,
    network: &Network,
    instance: &MiddleboxInstance,
    spec: &SplitSpec,
    plans: &Plans,
    own: ConnectionId,
    positions: Vec<u32>,
) -> TwoNodes<P> {
    let mss = |flow: &FlowId| scenario.group(network.flows[*flow].group).tcp.mss;
    let largest = instance.flows.iter().map(mss).max().unwrap_or(Size::from_bytes(1460));
    let tcp = match &spec.long {
        LongSpec::Tcp(long) => SplitSpec::long_tcp(long, largest),
        LongSpec::Hop(long) => {
            return hop(scenario, network, instance, (long, largest), spec.buffer, plans, own);
        }
    };
    let limit = match tcp.receive_buffer {
        BufferSpec::Limited(_) => Some(spec.buffer.as_bytes()),
        BufferSpec::Unlimited => None,
    };
    let (control, reading) = match &spec.local_queue {
        Some(queue) => {
            (FlowControl::LocalQueue(queue.settings(network.rate_between(instance))), Reading::Immediate)
        }
        None if limit.is_some() => (FlowControl::Window(limit), Reading::Manual),
        None => (FlowControl::Window(None), Reading::Immediate),
    };
    let long_hop = LongHop {
        side: side(&tcp, reading, draws(scenario, instance, "long hop")),
        established: tcp.established,
        connections: instance.own_connections.1,
        framing: spec.framing.framing(),
        buffer: spec.buffer.as_bytes(),
        first_number: own.0,
        positions,
    };
    let name = format!("middlebox {}", instance.name);
    split::distributed_split(plans, &long_hop, control, scenario.run.seed, &name)
}

/// A split whose long hop is the accelerator's transport.
fn hop<P: Payload>(
    scenario: &Scenario,
    network: &Network,
    instance: &MiddleboxInstance,
    (long, mss): (&HopSpec, Size),
    buffer: Size,
    plans: &Plans,
    own: ConnectionId,
) -> TwoNodes<P> {
    let nodes = long.nodes(network.between(instance));
    let carrier = match long.carrier {
        CarrierSpec::Quic => hop::CarrierSettings::Quic(nodes.into()),
        CarrierSpec::Tcp => hop::CarrierSettings::Tcp(Box::new(hop::TcpCarrier {
            side: side(&long.tcp(mss), Reading::Manual, draws(scenario, instance, "long hop")),
            connections: instance.own_connections.1,
            rates: nodes.each_ref().map(|node| node.rates.send),
            pool: HopSpec::pool(&nodes[0]),
        })),
    };
    let settings = hop::Settings { carrier, buffer: buffer.as_bytes(), first_number: own.0 };
    let random = |node| Random::stream(scenario.run.seed, &format!("middlebox {} hop {node}", instance.name));
    hop::hop(plans, &settings, [random(0), random(1)]).expect("settings were checked")
}

/// A paced hop. `own` is the number of its first own connection.
pub fn paced_hop<P: Payload>(
    scenario: &Scenario,
    network: &Network,
    instance: &MiddleboxInstance,
    spec: &PacedSpec,
    plans: &Plans,
    own: ConnectionId,
) -> TwoNodes<P> {
    let (line, framing) = thin_line(network, &instance.between[1]);
    let control = spec.control_tcp();
    let settings = paced::Settings {
        sender: spec.sender(),
        receiver: spec.receiver(line, framing),
        control: Control {
            side: side(&control, Reading::Immediate, draws(scenario, instance, "control")),
            established: control.established,
        },
        silence: spec.silence(),
        first_number: own.0,
    };
    let random = |node| Random::stream(scenario.run.seed, &format!("middlebox {} isn {node}", instance.name));
    paced::paced_hop(plans, &settings, [random(0), random(1)])
}
