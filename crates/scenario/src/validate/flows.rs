//! Checks of flows: their ends and times, applications, QUIC.

use super::{Checker, listed};
use crate::middlebox::OnQuic;
use crate::{AppSpec, Draw, Ending, FlowSpec, Network, QuicSpec, Scenario, TcpSpec, TimesSpec, Volume};
use longhaul_traffic::Bulk;
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
        self.life(scenario, flow);
        self.app(flow);
        self.within("tcp", None, |check| check.tcp(&flow.tcp));
        self.quic(scenario, flow);
    }

    /// QUIC, and what does not go together with it.
    fn quic(&mut self, scenario: &Scenario, flow: &FlowSpec) {
        let Some(quic) = flow.quic() else {
            if flow.quic.is_some() {
                self.problem(&["quic"], "has no effect: the flow uses TCP; add transport = \"quic\"");
            }
            return;
        };
        if flow.tcp != TcpSpec::default() {
            self.problem(&["tcp"], "has no effect: the flow uses QUIC; its settings are in `quic`");
        }
        if let Err((key, message)) = quic.check() {
            let place: &[&'static str] = if key.is_empty() { &[] } else { &[key] };
            self.within("quic", None, |check| check.problem(place, message));
        }
        self.quic_connection(scenario, flow, quic);
        for middlebox in &scenario.middlebox {
            if let OnQuic::Refused(why) = middlebox.on_quic() {
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
                format!("link \"{}\" compresses TCP headers, and has no form for QUIC packets", link.name);
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
