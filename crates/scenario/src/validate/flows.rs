//! Checks of flows: their ends and times, applications, transports.

use super::{Checker, listed};
use crate::middlebox::OnOthers;
use crate::{
    AppSpec, Draw, Ending, FlowSpec, Network, QuicSpec, Scenario, TcpSpec, TimesSpec, Transport, UdpSpec,
    Volume,
};
use longhaul_traffic::{Bulk, Playout};
use longhaul_units::Limit;

const MOST_FLOWS: u32 = 1_000_000;

impl Checker {
    pub(super) fn flow(&mut self, scenario: &Scenario, flow: &FlowSpec) {
        self.ends(scenario, flow);
        if let Some(access) = &flow.access {
            self.within("access", None, |check| check.access(access));
        }
        if u64::from(flow.count) * u64::from(flow.streams) > u64::from(MOST_FLOWS) {
            self.problem(&["streams"], "a group has at most 1,000,000 streams in all");
        }
        match &flow.app {
            AppSpec::Bulk(Bulk { size: Some(Draw::Constant(Volume(Limit::Bytes(size)))) })
                if (1..u64::from(flow.streams)).contains(&size.as_bytes()) =>
            {
                self.problem(&["streams"], format!("{size} cannot be split over {} streams", flow.streams));
            }
            AppSpec::Bulk(_) => {}
            _ if flow.streams > 1 => {
                self.problem(&["streams"], "only a bulk transfer can be split over streams");
            }
            _ => {}
        }
        let private = flow.access.is_some()
            || scenario.dumbbell.as_ref().is_some_and(|dumbbell| dumbbell.access.is_some());
        if !flow.send_overhead.is_zero() && !scenario.carrier.is_empty() && !private {
            let message = "where links share a carrier, such a host needs access links of its own (`access`)";
            self.problem(&["send_overhead"], message);
        }
        self.life(scenario, flow);
        self.app(flow);
        self.within("tcp", None, |check| check.tcp(&flow.tcp));
        self.transport(scenario, flow);
    }

    /// The transport, and what does not go together with it.
    fn transport(&mut self, scenario: &Scenario, flow: &FlowSpec) {
        let title = flow.transport.title();
        for (key, given, of) in [
            ("tcp", flow.tcp != TcpSpec::default(), Transport::Tcp),
            ("quic", flow.quic.is_some(), Transport::Quic),
            ("udp", flow.udp.is_some(), Transport::Udp),
        ] {
            if given && flow.transport != of {
                let remedy = match flow.transport {
                    Transport::Tcp => format!("add transport = \"{key}\""),
                    Transport::Quic => "its settings are in `quic`".to_string(),
                    Transport::Udp => "its settings are in `udp`".to_string(),
                };
                self.problem(&[key], format!("has no effect: the flow uses {title}; {remedy}"));
            }
        }
        if let Some(quic) = flow.quic() {
            if let Err((key, message)) = quic.check() {
                let place: &[&'static str] = if key.is_empty() { &[] } else { &[key] };
                self.within("quic", None, |check| check.problem(place, message));
            }
            self.quic_connection(scenario, flow, quic);
        }
        if let Some(udp) = flow.udp() {
            self.udp(flow, udp);
        }
        let played = flow.app.call().is_some_and(|(call, _)| call.playout != Playout::Best);
        if played && flow.transport != Transport::Udp {
            let message = format!(
                "the playout of a call is for datagrams: with {title} a late message holds up those behind it; leave it out, or set \
                 transport = \"udp\""
            );
            self.problem(&["app", "voice"], message);
        }
        if flow.transport != Transport::Tcp {
            self.passes(scenario, title);
        }
    }

    /// Applications and settings that datagrams have no place for.
    fn udp(&mut self, flow: &FlowSpec, udp: &UdpSpec) {
        if let AppSpec::Bulk(_) = &flow.app {
            self.problem(
                &["app"],
                "a bulk transfer takes its rate from its connection, and UDP has none: give a rate, as in \
                 app = { kind = \"cbr\", rate = \"10 Mbit/s\" }",
            );
        } else if !flow.app.only_writes() {
            let message = format!(
                "\"{}\" takes a connection, which UDP has not; over UDP are \"cbr\", \"on_off\", \"messages\" and \"trace\"",
                flow.app.name()
            );
            self.problem(&["app"], message);
        }
        let spoken = flow.app.call().and_then(|_| flow.app.datagram());
        if spoken.is_some_and(|message| message > udp.payload) {
            let message = format!(
                "a message of a call is one datagram: with its RTP header of 12 B at most {}",
                udp.payload
            );
            self.problem(&["app", "message"], message);
        }
        if flow.trace {
            self.problem(&["trace"], "a trace is of a connection's sequence numbers, which UDP has not; run.capture has its packets");
        }
        if flow.ending != Ending::Close {
            self.problem(&["ending"], "has no effect: there is no connection with UDP");
        }
    }

    /// Whether packets that are not of TCP can pass all that is in the network.
    fn passes(&mut self, scenario: &Scenario, title: &str) {
        for middlebox in &scenario.middlebox {
            if let OnOthers::Refused(why) = middlebox.on_others() {
                self.problem(&["transport"], format!("middlebox \"{}\" {why}", middlebox.name()));
            }
        }
        let compressed = scenario.link.iter().find(|link| {
            link.directions()
                .iter()
                .any(|direction| direction.serial.is_some_and(|line| line.compression().is_some()))
        });
        if let Some(link) = compressed {
            let message =
                format!("link \"{}\" compresses TCP headers, and has no form for {title} packets", link.name);
            self.problem(&["transport"], message);
        }
    }

    /// A connection that several flows share.
    fn quic_connection(&mut self, scenario: &Scenario, flow: &FlowSpec, quic: &QuicSpec) {
        let Some(name) = &quic.connection else { return };
        if flow.access.is_some()
            || scenario.dumbbell.as_ref().is_some_and(|dumbbell| dumbbell.access.is_some())
        {
            let message = "flows with access links have hosts of their own, and cannot share a connection; leave out `access`";
            self.within("quic", None, |check| check.problem(&["connection"], message));
        }
        if !flow.send_overhead.is_zero() {
            self.problem(
                &["send_overhead"],
                "packets of a shared connection are not one flow's; leave it out",
            );
        }
        let shares = |other: &&FlowSpec| {
            let same_name = other.quic().is_some_and(|quic| quic.connection.as_ref() == Some(name));
            same_name && (&other.from, &other.to) == (&flow.from, &flow.to)
        };
        let settings = |quic: &QuicSpec| QuicSpec { priority: 0, ..quic.clone() };
        let first = scenario.flow.iter().find(shares).filter(|first| first.name != flow.name);
        if let Some(first) = first.filter(|first| first.quic().map(settings) != Some(settings(quic))) {
            let message = format!(
                "flow \"{}\" uses the same connection with other settings: a connection has one set of them, `priority` excepted",
                first.name
            );
            self.within("quic", None, |check| check.problem(&["connection"], message));
        }
    }

    /// Starts, stops and durations.
    fn life(&mut self, scenario: &Scenario, flow: &FlowSpec) {
        self.times("start", &flow.start, flow.count);
        let (_, latest) = flow.start.range(flow.count);
        if latest >= scenario.run.duration {
            let message = format!(
                "a flow would start at {latest}, after the end of the run ({})",
                scenario.run.duration
            );
            self.problem(&["start"], message);
        }
        if let Some(stop) = &flow.stop {
            self.times("stop", stop, flow.count);
            if stop.range(flow.count).0 <= latest {
                self.problem(&["stop"], format!("a flow would stop before it starts (up to {latest})"));
            }
            if flow.duration.is_some() {
                self.problem(&["duration"], "`stop` is given too; give only one of the two");
            }
        }
        if flow.ending != Ending::Close && flow.stop.is_none() && flow.duration.is_none() {
            self.problem(
                &["ending"],
                "has no effect: nothing stops the flow; give it a `stop` or a `duration`",
            );
        }
    }

    fn times(&mut self, field: &'static str, times: &TimesSpec, count: u32) {
        if let TimesSpec::At(list) = times {
            if list.len() != count as usize {
                let message = format!("{} times for {count} flows; give one for each", list.len());
                self.problem(&[field], message);
            }
        }
    }

    fn ends(&mut self, scenario: &Scenario, flow: &FlowSpec) {
        let [from, to] = Network::ends_of(scenario, flow);
        for (field, end) in [("from", &from), ("to", &to)] {
            match end {
                None => self.problem(
                    &[],
                    format!("there is no `{field}`: name the node (known: {})", listed(&self.nodes)),
                ),
                Some(name) => self.is_node(field, name),
            }
        }
        if from.is_some() && from == to {
            self.problem(&["to"], "a flow needs two different nodes");
        }
    }

    fn app(&mut self, flow: &FlowSpec) {
        for (field, message) in flow.app.check() {
            self.problem(&["app", field], message);
        }
        if flow.trace && flow.app.connections() > 1 {
            self.problem(&["trace"], "a trace is of one connection; a web session has many");
        }
    }
}
