//! Checks beyond the types: values that make no sense, names that do not resolve, networks that do not connect.

use crate::error::nearest;
use crate::middlebox::OnQuic;
use crate::{
    AccessSpec, AppSpec, BufferSpec, DelayedAck, DirectionSpec, Draw, DumbbellSpec, Ending, FlowSpec,
    MiddleboxSpec, Network, QuicSpec, RateReduction, RunSpec, Scenario, SpuriousDetectionSpec, TcpSpec,
    TimesSpec, Variant, Volume,
};
use longhaul_path::SerialSpec;
use longhaul_traffic::Bulk;
use longhaul_units::ranges::{Key, out_of_range};
use longhaul_units::{Id, Limit};
use std::collections::{BTreeMap, BTreeSet};

/// Something wrong, and where.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Problem {
    pub path: Vec<Key>,
    pub message: String,
    pub help: Option<String>,
}

const MOST_SAMPLES: u64 = 10_000_000;
const MOST_FLOWS: u32 = 1_000_000;

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
    let mut check = Checker { problems: vec![], path: vec![], nodes, known };
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
    if scenario.flow.is_empty() {
        check.problem(&[], "there is no [[flow]]: nothing would be sent");
    }
    if check.problems.is_empty() {
        check.connected(scenario);
    }
    if check.problems.is_empty() && !scenario.middlebox.is_empty() {
        check.middleboxes_are_passed(scenario);
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
            self.problem(&["run", "sample"], "the sampling interval must give at most 10,000,000 samples");
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

    fn network(&mut self, scenario: &Scenario) {
        if let Some(dumbbell) = &scenario.dumbbell {
            self.within("dumbbell", None, |check| {
                let link = &dumbbell.bottleneck;
                check.within("bottleneck", None, |check| {
                    check.directions(
                        &link.directions(),
                        [&link.forward, &link.reverse],
                        ["forward", "reverse"],
                    );
                    check.hidden(&link.common(), [&link.forward, &link.reverse], ["forward", "reverse"]);
                });
                if let Some(access) = &dumbbell.access {
                    check.within("access", None, |check| check.access(access));
                }
            });
        }
        for (index, link) in scenario.link.iter().enumerate() {
            self.within("link", Some(index), |check| {
                check.directions(&link.directions(), [&link.forward, &link.reverse], ["forward", "reverse"]);
                check.hidden(&link.common(), [&link.forward, &link.reverse], ["forward", "reverse"]);
                if link.ends[0] == link.ends[1] {
                    check.problem(
                        &["ends"],
                        format!("both ends are \"{}\"; a link joins two nodes", link.ends[0]),
                    );
                }
                for name in &link.ends {
                    check.name(&["ends"], name);
                }
            });
        }
        self.names("link", scenario.link.iter().map(|link| link.name.as_str()));
        self.names("node", scenario.node.iter().map(|node| node.name.as_str()));
        if scenario.dumbbell.is_some() {
            for (index, link) in scenario.link.iter().enumerate() {
                if link.name == DumbbellSpec::LINK {
                    self.within("link", Some(index), |check| {
                        check.problem(&["name"], "the dumbbell's link has this name already");
                    });
                }
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

    /// Both directions of a link, as they are in force, and what each has `own` under its name.
    fn directions(
        &mut self,
        directions: &[DirectionSpec; 2],
        own: [&Option<DirectionSpec>; 2],
        names: [&'static str; 2],
    ) {
        for side in 0..2 {
            if side == 1 && (directions[0] == directions[1] || !self.problems.is_empty()) {
                return;
            }
            let (depth, known) = (self.path.len(), self.problems.len());
            self.direction(&directions[side]);
            // The place of a setting is where it was given.
            for problem in &mut self.problems[known..] {
                if let (Some(Key::Field(field)), Some(own)) = (problem.path.get(depth), own[side]) {
                    if own.gives(field) {
                        problem.path.insert(depth, Key::Field(names[side]));
                    }
                }
            }
        }
    }

    fn access(&mut self, access: &AccessSpec) {
        self.directions(&access.directions(), [&access.from, &access.to], ["from", "to"]);
        self.hidden(&access.common(), [&access.from, &access.to], ["from", "to"]);
    }

    /// What is given for a link and again for both of its directions would have no effect at all.
    fn hidden(&mut self, common: &DirectionSpec, own: [&Option<DirectionSpec>; 2], names: [&'static str; 2]) {
        let [Some(first), Some(second)] = own else { return };
        for field in common.given().filter(|field| first.gives(field) && second.gives(field)) {
            let message =
                format!("has no effect: `{0}.{field}` and `{1}.{field}` are given too", names[0], names[1]);
            let help = format!("set {0}.{field} or {1}.{field} instead", names[0], names[1]);
            self.problem_with_help(&[field], message, Some(help));
        }
    }

    fn direction(&mut self, link: &DirectionSpec) {
        if link.rate.is_none() {
            self.problem(&[], "there is no rate; write for instance rate = \"50 Mbit/s\"");
        }
        if link.delay.is_none() {
            self.problem(&[], "there is no delay; write for instance delay = \"250 ms\"");
        }
        if let Some(Err(message)) = link.corruption.map(|corruption| corruption.check()) {
            self.problem(&["corruption"], message);
        }
        if let (Some(queue), Some(rate)) = (link.queue, link.rate) {
            if let Err((field, message)) = queue.check(rate) {
                self.problem(&["queue", field], message);
            }
        }
        if let Some(serial) = &link.serial {
            self.serial(link, serial);
        }
        if let [first, second, ..] = link.grants().given()[..] {
            self.problem(
                &[second],
                format!("`{first}` grants this link its capacity already: leave out one"),
            );
        }
        for (index, change) in link.changes.iter().flatten().enumerate() {
            self.within("changes", Some(index), |check| {
                if change.rate.is_none() && change.delay.is_none() {
                    check.problem(&[], "a change needs a new rate, a new delay, or both");
                }
            });
        }
    }

    fn serial(&mut self, link: &DirectionSpec, serial: &SerialSpec) {
        if let Err((field, message)) = serial.check() {
            self.problem(&["serial", field], message);
        }
        if link.corruption.is_some() && serial.framing.notices_damage() {
            let message =
                "PPP drops damaged frames by its check sequence: write `loss` in place of `corruption`";
            self.problem(&["serial", "framing"], message);
        }
        let Some(compression) = serial.compression() else { return };
        if link.corruption.is_some() {
            let message = "damage to compressed headers is not modelled, and there is `corruption`: write `loss` instead";
            self.problem(&["serial", compression], message);
        }
        if link.reordering.is_some() {
            self.problem(
                &["serial", compression],
                "compressed headers must arrive in order, and there is `reordering`",
            );
        }
        if link.queue.is_some_and(|queue| !queue.decides_on_arrival()) {
            let message =
                "header compression needs a queue that is first in, first out: droptail, red or pie";
            self.problem(&["serial", compression], message);
        }
    }

    fn flow(&mut self, scenario: &Scenario, flow: &FlowSpec) {
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

    /// What is named must be a node; else the nearest is proposed, or all that there are.
    fn is_node(&mut self, field: &'static str, name: &str) {
        if !self.known.contains(name) {
            let help = nearest(name, self.nodes.iter().map(String::as_str))
                .or_else(|| Some(known_nodes(&self.nodes)));
            self.problem_with_help(&[field], format!("there is no node \"{name}\""), help);
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

    pub(crate) fn tcp(&mut self, tcp: &TcpSpec) {
        let mss = tcp.mss.as_bytes();
        if let BufferSpec::Limited(limit) = tcp.receive_buffer {
            if BufferSpec::Limited(limit).bytes(tcp.mss).is_some_and(|bytes| bytes < mss) {
                self.problem(&["receive_buffer"], "a receive buffer holds at least one segment");
            }
        }
        if let Some(sizes) = tcp.receive_autotuning {
            if sizes.sizes().initial_window() < mss || sizes.initial > sizes.max {
                self.problem(
                    &["receive_autotuning"],
                    "at most half of the first buffer is window: that is a segment, so initial is at least two segments, and not above max",
                );
            }
            if tcp.receive_buffer != BufferSpec::Unlimited {
                self.problem(
                    &["receive_buffer"],
                    "the buffer is autotuned (receive_autotuning): give its max instead",
                );
            }
        }
        if tcp.send_buffer.bytes(tcp.mss).is_some_and(|bytes| bytes < mss) {
            self.problem(&["send_buffer"], "a send buffer holds at least one segment");
        }
        if tcp.initial_window.window().bytes(tcp.mss.as_bytes()) > 1 << 30 {
            self.problem(
                &["initial_window"],
                "an initial window is at most 1 GiB, the largest window that TCP can have (RFC 7323 section 2.3)",
            );
        }
        if tcp.ack_congestion_control && tcp.delayed_ack == DelayedAck::Off {
            self.problem(
                &["ack_congestion_control"],
                "holding ACKs back needs a timer: give delayed_ack a time, as in \"200 ms\"",
            );
        }
        if tcp.ack_congestion_control && tcp.ack_every != 2 {
            self.problem(
                &["ack_every"],
                "with ack_congestion_control the sender sets it, from 2 on (RFC 5690 section 4.1)",
            );
        }
        self.spurious_detection(tcp);
        let rto = tcp.rto;
        if rto.min > rto.max || rto.initial > rto.max {
            self.problem(&["rto"], "min and initial must not exceed max");
        }
        if let Err(message) = tcp.congestion.check() {
            self.problem(&["congestion"], message);
        }
        if let Err(message) = tcp.slow_start.check() {
            self.problem(&["slow_start"], message);
        }
        if self.problems.is_empty() {
            if let Err(message) = tcp.check_congestion_control() {
                self.problem(&["congestion"], message);
            }
        }
    }

    /// Settings that would silently do nothing.
    fn spurious_detection(&mut self, tcp: &TcpSpec) {
        let SpuriousDetectionSpec { eifel, dsack, .. } = tcp.spurious_detection;
        if eifel && !tcp.timestamps {
            self.problem(
                &["spurious_detection", "eifel"],
                "Eifel detection needs timestamps = true (RFC 3522)",
            );
        }
        let selective = tcp.variant.is_selective();
        if dsack && !(tcp.dsack && selective) {
            self.problem(
                &["spurious_detection", "dsack"],
                "detection by D-SACK needs dsack = true and variant \"sack\", \"fack\" or \"rack\" (RFC 3708)",
            );
        }
        if tcp.rate_reduction != RateReduction::Off && !selective {
            self.problem(
                &["rate_reduction"],
                "proportional rate reduction needs variant \"sack\", \"fack\" or \"rack\" (RFC 9937)",
            );
        }
        if tcp.rate_reduction != RateReduction::Off && tcp.variant == Variant::Sack1 {
            self.problem(
                &["rate_reduction"],
                "variant \"sack1\" counts ACKs itself: proportional rate reduction needs \"sack\", \"fack\" or \"rack\"",
            );
        }
        // Variant "linux" has them in any case.
        let asked = tcp.variant != Variant::Linux;
        if asked && tcp.rate_reduction_on_ecn && !(tcp.ecn && tcp.rate_reduction != RateReduction::Off) {
            self.problem(&["rate_reduction_on_ecn"], "it needs ecn = true and rate_reduction");
        }
        if asked && tcp.sack_of_old_acks && !selective {
            self.problem(&["sack_of_old_acks"], "it needs variant \"sack\", \"fack\" or \"rack\"");
        }
        if asked && tcp.sack_whole_segments && tcp.variant != Variant::Rack {
            self.problem(&["sack_whole_segments"], "it needs variant \"rack\"");
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
