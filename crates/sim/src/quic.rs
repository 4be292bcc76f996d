//! QUIC connections of a run: endpoints of crate `quic` in the place of TCP connections.

use crate::datagram::PORTS;
use crate::totals::Totals;
use longhaul_cc::Inspection;
use longhaul_quic::{Bundle, Incidents, Member, Settings, rehearse, seed_of};
use longhaul_results::{Arrived, FlowRow};
use longhaul_scenario::{HandshakeSpec, Network, QuicSpec, Scenario};
use longhaul_traffic::Side;
use longhaul_units::{FlowId, IdVec, Instant};
use std::net::{Ipv4Addr, SocketAddr};

/// A QUIC connection and the flows that it carries.
pub(crate) struct Carried {
    pub bundle: Bundle,
    /// The flows, by their number in the run.
    pub flows: Vec<FlowId>,
    /// What has reached client and server of each.
    pub arrived: Vec<[Arrived; 2]>,
    /// Which flows are traced, by the end that sends their data.
    pub traced: Vec<Option<Side>>,
}

/// The connections of a run, and the place of each flow on them.
#[derive(Default)]
pub(crate) struct Connections {
    pub carried: Vec<Option<Box<Carried>>>,
    pub place: IdVec<FlowId, Option<(usize, usize)>>,
}

impl Connections {
    /// Those of a scenario. The run's seed and the name of its first flow give a connection's random numbers.
    pub fn new(scenario: &Scenario, network: &Network, base: std::time::Instant) -> Self {
        let mut connections =
            Connections { carried: vec![], place: IdVec::filled(None, network.flows.len()) };
        for flows in network.quic_connections(scenario) {
            let specs = flows.iter().map(|flow| scenario.group(network.flows[*flow].group));
            let member = |spec: &longhaul_scenario::FlowSpec| Member {
                pairs: spec.app.connections(),
                priority: spec.quic().map_or(0, |quic| quic.priority),
            };
            let members: Vec<Member> = specs.clone().map(member).collect();
            let Some(quic) = specs.clone().find_map(|spec| spec.quic()) else { continue };
            let name = &network.flows[flows[0]].name;
            for (place, flow) in flows.iter().enumerate() {
                connections.place[*flow] = Some((connections.carried.len(), place));
            }
            let traced: Vec<Option<Side>> =
                specs.clone().map(|spec| spec.trace.then(|| spec.app.data_sender())).collect();
            connections.carried.push(Some(Box::new(Carried {
                bundle: bundle(quic, &members, &traced, scenario, name, base),
                traced,
                arrived: vec![<[Arrived; 2]>::default(); flows.len()],
                flows,
            })));
        }
        connections
    }

    /// A flow's connection, and its place there; `None` if it uses TCP.
    #[inline]
    pub fn of(&self, flow: FlowId) -> Option<(&Carried, usize)> {
        let (connection, place) = (*self.place.get(flow)?)?;
        Some((self.carried[connection].as_deref()?, place))
    }

    pub fn of_mut(&mut self, flow: FlowId) -> Option<(&mut Carried, usize)> {
        let (connection, place) = (*self.place.get(flow)?)?;
        Some((self.carried[connection].as_deref_mut()?, place))
    }

    /// Whether a flow uses QUIC.
    #[inline]
    pub fn has(&self, flow: FlowId) -> bool {
        self.place.get(flow).is_some_and(Option::is_some)
    }

    /// Logs of the connections, each by the name of its first flow.
    pub fn take_logs(&mut self, network: &Network) -> Vec<(String, Vec<u8>)> {
        let carried = self.carried.iter_mut().flatten();
        carried.flat_map(|carried| carried.bundle.take_logs(&network.flows[carried.flows[0]].name)).collect()
    }

    /// Limits of quinn-proto that each connection has met, by its first flow.
    pub fn incidents(&self) -> impl Iterator<Item = (FlowId, Incidents)> + '_ {
        self.carried.iter().flatten().map(|carried| (carried.flows[0], carried.bundle.incidents()))
    }

    /// Packets with stream data that have reached a host.
    pub fn data_packets(&self) -> u64 {
        let arrived = self.carried.iter().flatten().flat_map(|carried| &carried.arrived);
        arrived.flatten().map(|arrived| arrived.packets).sum()
    }
}

fn bundle(
    spec: &QuicSpec,
    members: &[Member],
    traced: &[Option<Side>],
    scenario: &Scenario,
    name: &str,
    base: std::time::Instant,
) -> Bundle {
    let seed = scenario.run.seed;
    // The earlier connection is not one of the run.
    let settings = || [spec.settings(), spec.settings()];
    let watched =
        |side| Settings { qlog: scenario.run.qlog, trace: traced.contains(&Some(side)), ..spec.settings() };
    let addresses = [address(Side::Client), address(Side::Server)];
    let earlier = |early| rehearse(settings(), seed_of(seed, name, "earlier"), base, addresses, early);
    let known = match spec.handshake {
        HandshakeSpec::Full => None,
        HandshakeSpec::Resumed => earlier(false),
        HandshakeSpec::EarlyData => earlier(true),
    };
    let seeds = ["Client", "Server"].map(|what| seed_of(seed, name, what));
    Bundle::new(
        [watched(Side::Client), watched(Side::Server)],
        seeds,
        base,
        addresses,
        known.unwrap_or_default(),
        members,
    )
    .expect("the scenario was checked")
}

impl Carried {
    /// A flow's state, in the words of RFC 9000 section 10.
    pub fn state(&self, place: usize) -> &'static str {
        self.bundle.state(place)
    }

    /// Why a flow's last connection ended, unless it was closed.
    pub fn failure(&self, place: usize) -> Option<&str> {
        self.bundle.failure(place)
    }

    /// Congestion window of one end, in bytes.
    pub fn window(&self, side: Side) -> u64 {
        self.bundle.sample(side).window
    }

    /// Counters of a flow from the start to now; the data come from `side`.
    pub fn totals(&self, now: Instant, place: usize, side: Side) -> Totals {
        let done = self.bundle.done(now, place, side);
        Totals {
            sender: done.sender,
            delivered: done.received,
            arrived: self.arrived[place][side.other() as usize],
            lost: 0,
            made: 0,
            limited: done.limited,
        }
    }

    /// What goes on inside the congestion control of one end.
    pub fn inspect(&self, side: Side, inspection: &mut Inspection) {
        self.bundle.inspect(side, inspection);
    }

    /// State of the sender of the flow's data, for the time series.
    pub fn row(&self, side: Side) -> FlowRow {
        let sample = self.bundle.sample(side);
        FlowRow {
            cwnd_bytes: sample.window as f64,
            ssthresh_bytes: sample.ssthresh.map(|bytes| bytes as f64),
            flight_bytes: sample.in_flight as f64,
            srtt_s: sample.srtt.map(longhaul_units::Duration::as_secs_f64),
            ..FlowRow::default()
        }
    }
}

pub(crate) fn address(side: Side) -> SocketAddr {
    SocketAddr::from((Ipv4Addr::new(10, 0, 0, 1 + side as u8), PORTS[side as usize]))
}
