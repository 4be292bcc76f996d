//! Checks of the network: links, and the settings of their directions.

use super::Checker;
use crate::error::nearest;
use crate::measured::Quantity;
use crate::{
    AccessSpec, ChangeSpec, DirectionSpec, DumbbellSpec, LinkSpec, LinkTraceSpec, OutageSpec, Scenario,
};
use longhaul_path::{
    AcmSpec, JitterSpec, LeoSpec, OutageMode, SerialSpec, SlotsSpec, TerminalSpec, WanderSpec,
};
use longhaul_units::Rate;
use longhaul_units::ranges::Key;

impl Checker {
    pub(super) fn network(&mut self, scenario: &Scenario) {
        if let Some(dumbbell) = &scenario.dumbbell {
            self.within("dumbbell", None, |check| {
                let link = &dumbbell.bottleneck;
                check.within("bottleneck", None, |check| {
                    check.directions(
                        &link.directions(),
                        [&link.forward, &link.reverse],
                        ["forward", "reverse"],
                    );
                    if link.half_duplex.is_some() {
                        check.half_duplex(&link.directions());
                    }
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
                if link.half_duplex.is_some() {
                    check.half_duplex(&link.directions());
                }
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
        self.carriers(scenario);
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

    pub(super) fn access(&mut self, access: &AccessSpec) {
        self.directions(&access.directions(), [&access.from, &access.to], ["from", "to"]);
        self.hidden(&access.common(), [&access.from, &access.to], ["from", "to"]);
        if access.directions().iter().any(|side| side.carrier.is_some()) {
            let message = "private links are on no carrier: write a [[link]] for each terminal";
            self.problem(&["carrier"], message);
        }
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
        let follows = |quantity| {
            link.trace.as_ref().is_some_and(|trace| trace.given().any(|(given, _)| given == quantity))
        };
        if link.rate.is_none() && link.moving_rate().is_none() && link.carrier.is_none() {
            self.problem(&[], "there is no rate; write for instance rate = \"50 Mbit/s\"");
        }
        if link.delay.is_none() && !follows(Quantity::Delay) && link.leo.is_none() {
            self.problem(&[], "there is no delay; write for instance delay = \"250 ms\"");
        }
        if let Some(trace) = &link.trace {
            self.trace(link, trace);
        }
        if let Some(leo) = &link.leo {
            self.leo(link, leo, follows);
        }
        if let Some(acm) = &link.acm {
            self.acm(link, acm, follows);
        } else if follows(Quantity::Signal) {
            let message = "it has no effect without `acm`, which makes a rate of the signal";
            self.problem(&["trace", "signal"], message);
        }
        if let Some(source) = link.moving_rate() {
            self.moving_rate(link, source);
        }
        if let Some(terminal) = &link.carrier {
            self.terminal(link, terminal);
        }
        if link.arq.is_some() {
            self.arq(link);
        }
        if link.too_big.is_some() && link.mtu.is_none() {
            self.problem(&["too_big"], "it has no effect without `mtu`, the longest packet of the link");
        }
        if let Some(Err(message)) = link.corruption.map(|corruption| corruption.check()) {
            self.problem(&["corruption"], message);
        }
        if let (Some(queue), Some(rate)) = (link.queue, link.rate) {
            if let Err((field, message)) = queue.check(rate) {
                self.problem(&["queue", field], message);
            }
        }
        if let Some(Err((field, message))) = link.jitter.as_ref().map(JitterSpec::check) {
            self.problem(&["jitter", field], message);
        }
        if let Some(slots) = &link.slots {
            self.slots(link, slots);
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
                if change.rate.is_none() && change.delay.is_none() && change.loss.is_none() {
                    check.problem(&[], "a change needs a new rate, a new delay or a new loss");
                }
                if let Err((field, message)) = change.check(check.end) {
                    check.problem(&[field], message);
                }
            });
        }
        self.wander(link, follows);
        for (index, outage) in link.outages.iter().flatten().enumerate() {
            self.within("outages", Some(index), |check| {
                if let Err((field, message)) = outage.check(check.end) {
                    check.problem(&[field], message);
                }
            });
        }
    }

    /// Satellites give the delay alone.
    fn leo(&mut self, link: &DirectionSpec, leo: &LeoSpec, follows: impl Fn(Quantity) -> bool) {
        if let Err((field, message)) = leo.check() {
            self.problem(&["leo", field], message);
        }
        if link.delay.is_some() {
            let message = "the satellites of `leo` give the delay: leave it out, or write leo.processing for what is added";
            self.problem(&["delay"], message);
        }
        if follows(Quantity::Delay) {
            self.problem(
                &["trace", "delay"],
                "the satellites of `leo` give the delay: leave out one of both",
            );
        }
        if link.changes.iter().flatten().any(|change| change.delay.is_some()) {
            let message = "the delay follows the satellites of `leo`, so no script can change it";
            self.problem(&["changes"], message);
        }
        if let (OutageMode::Hold, Some(source)) = (leo.handover_mode, link.moving_rate()) {
            let message = format!(
                "the transmitter follows `{source}`, so it cannot be held: write handover_mode = \"drop\""
            );
            self.problem(&["leo", "handover_mode"], message);
        }
    }

    /// The signal gives the rate.
    fn acm(&mut self, link: &DirectionSpec, acm: &AcmSpec, follows: impl Fn(Quantity) -> bool) {
        if let Err((field, message)) = acm.check(follows(Quantity::Signal)) {
            self.problem(&["acm", field], message);
        }
        if link.rate.is_some() {
            let message = "the signal of `acm` gives the rate: leave it out";
            self.problem(&["rate"], message);
        }
        if follows(Quantity::Rate) {
            let message = "the signal of `acm` gives the rate: leave out one of both";
            self.problem(&["trace", "rate"], message);
        }
        if link.changes.iter().flatten().any(|change| change.rate.is_some()) {
            let message =
                "the rate follows the signal of `acm`, so no script can change it; write acm.signal";
            self.problem(&["changes"], message);
        }
    }

    /// A link on a carrier has the carrier's rate, when it is assigned to it.
    fn terminal(&mut self, link: &DirectionSpec, terminal: &TerminalSpec) {
        let Some(carrier) = self.carriers.iter().find(|carrier| carrier.name == terminal.name).cloned()
        else {
            let help = nearest(&terminal.name, self.carriers.iter().map(|carrier| carrier.name.as_str()));
            let message = format!("there is no carrier \"{}\"; give it a table [[carrier]]", terminal.name);
            return self.problem_with_help(&["carrier", "name"], message, help);
        };
        if let Err((field, message)) = terminal.check(&carrier) {
            self.problem(&["carrier", field], message);
        }
        if let Err((field, message)) = link.queue.map_or(Ok(()), |queue| queue.check(terminal.most(&carrier)))
        {
            self.problem(&["queue", field], message);
        }
        let given = link.rate.map(|_| "rate").or_else(|| own_pace(link));
        if let Some(name) = given {
            let message =
                format!("the link has its part of the carrier \"{}\": leave out its own rate", carrier.name);
            self.problem(&[name], message);
        }
        if let Some(name) = holding(link) {
            let message = "the hub divides the carrier all the same: write mode = \"drop\"";
            self.problem(&[name], message);
        }
    }

    /// Both directions of a half duplex link have constant rates, and one transmitter.
    fn half_duplex(&mut self, directions: &[DirectionSpec; 2]) {
        for link in directions {
            let other = [("carrier", link.carrier.is_some()), ("arq", link.arq.is_some())];
            let other = other.into_iter().find_map(|(name, given)| given.then_some(name));
            if let Some(name) = other.or_else(|| own_pace(link)).or_else(|| holding(link)) {
                let message = format!(
                    "both directions have one transmitter of a constant rate, and there is `{name}`: leave out one of both"
                );
                return self.problem(&["half_duplex"], message);
            }
        }
    }

    /// Repetitions need a transmitter of the link's own.
    fn arq(&mut self, link: &DirectionSpec) {
        let given = [("serial", link.serial.is_some()), ("carrier", link.carrier.is_some())];
        let granted = link.grants().given().first().copied();
        let given = given.into_iter().find_map(|(name, given)| given.then_some(name)).or(granted);
        if let Some(name) = given {
            let message =
                format!("the link has `{name}`, whose transmitter repeats nothing: leave out one of both");
            self.problem(&["arq"], message);
        }
    }

    /// Carriers, and the links on each.
    fn carriers(&mut self, scenario: &Scenario) {
        self.names("carrier", scenario.carrier.iter().map(|carrier| carrier.name.as_str()));
        let bottleneck = scenario.dumbbell.iter().map(|dumbbell| dumbbell.bottleneck.directions());
        let directions: Vec<DirectionSpec> =
            bottleneck.chain(scenario.link.iter().map(LinkSpec::directions)).flatten().collect();
        for (index, carrier) in scenario.carrier.iter().enumerate() {
            let on_it =
                |link: &&DirectionSpec| link.carrier.as_ref().is_some_and(|one| one.name == carrier.name);
            let constant = |link: &DirectionSpec| Some(u128::from(link.carrier.as_ref()?.cra?.as_bps()));
            let links = || directions.iter().filter(on_it);
            let sum: u128 = links().filter_map(constant).sum();
            self.within("carrier", Some(index), |check| {
                if links().next().is_none() {
                    let message = format!(
                        "no link is on it; write for instance carrier = {{ name = \"{}\" }}",
                        carrier.name
                    );
                    check.problem(&["name"], message);
                } else if sum > u128::from(carrier.rate.as_bps()) {
                    let sum = Rate::from_bps(u64::try_from(sum).unwrap_or(u64::MAX));
                    let message =
                        format!("its links have {sum} without a request (cra), more than all of it");
                    check.problem(&["rate"], message);
                }
            });
        }
    }

    /// What does not go with a rate that `source` gives over time.
    fn moving_rate(&mut self, link: &DirectionSpec, source: &str) {
        if link.serial.is_some() {
            let message = format!("a serial line has a rate of its own, and `{source}` is given");
            self.problem(&["serial"], message);
        }
        if let Some(granted) = link.grants().given().first() {
            let message = format!("`{granted}` grants the link its rate, and `{source}` is given");
            self.problem(&[granted], message);
        }
        let holds = |outage: &&OutageSpec| outage.mode == OutageMode::Hold;
        if link.outages.iter().flatten().find(holds).is_some() {
            let instead = if source == "acm" { "" } else { ", or a rate of 0 in the file" };
            let message = format!("the transmitter follows `{source}`: write mode = \"drop\"{instead}");
            self.problem(&["outages"], message);
        }
    }

    /// What wanders follows nothing else.
    fn wander(&mut self, link: &DirectionSpec, follows: impl Fn(Quantity) -> bool) {
        let tables = || link.wander.iter().flatten();
        for (index, table) in tables().enumerate() {
            if let Err((field, message)) = table.check() {
                self.within("wander", Some(index), |check| check.problem(&[field], message));
            }
        }
        let scripted = |given: fn(&ChangeSpec) -> bool| link.changes.iter().flatten().any(given);
        let granted = link.grants();
        let of_rate = [
            ("trace.rate", follows(Quantity::Rate)),
            ("acm", link.acm.is_some()),
            ("changes", scripted(|change| change.rate.is_some())),
            ("serial", link.serial.is_some()),
            (granted.given().first().copied().unwrap_or_default(), !granted.given().is_empty()),
        ];
        let of_delay = [
            ("trace.delay", follows(Quantity::Delay)),
            ("leo", link.leo.is_some()),
            ("changes", scripted(|change| change.delay.is_some())),
        ];
        let both = [
            ("rate", tables().any(WanderSpec::moves_rate), &of_rate[..]),
            ("delay", tables().any(|table| table.delay.is_some()), &of_delay[..]),
        ];
        for (what, wanders, others) in both {
            let other = others.iter().find(|(_, given)| wanders && *given).map(|(name, _)| *name);
            if let Some(name) = other {
                let message = format!("the {what} wanders, and `{name}` is given too: leave out one of both");
                self.problem(&["wander"], message);
            }
        }
    }

    /// What a measurement gives is given once.
    fn trace(&mut self, link: &DirectionSpec, trace: &LinkTraceSpec) {
        if trace.given().next().is_none() {
            self.problem(&["trace"], "it follows nothing: give rate, delay, loss or signal");
        }
        for (quantity, spec) in trace.given() {
            if spec.file.is_empty() {
                self.problem(&["trace", quantity.name(), "file"], "the name of the file is empty");
            }
            let again = match quantity {
                Quantity::Rate => link.rate.is_some(),
                Quantity::Delay => link.delay.is_some(),
                Quantity::Loss => link.loss.is_some(),
                Quantity::Signal => false,
            };
            let name = quantity.name();
            if again {
                let message = format!(
                    "`trace.{name}` has the link's {name}: leave out one of both, or write them under `forward` and `reverse`"
                );
                self.problem(&[name], message);
            }
            let changed = link.changes.iter().flatten().any(|change| match quantity {
                Quantity::Rate => change.rate.is_some(),
                Quantity::Delay => change.delay.is_some(),
                Quantity::Loss => change.loss.is_some(),
                Quantity::Signal => false,
            });
            if changed {
                let message = format!("the {name} follows `trace.{name}`, so no script can change it");
                self.problem(&["changes"], message);
            }
        }
    }

    fn serial(&mut self, link: &DirectionSpec, serial: &SerialSpec) {
        if let Err((field, message)) = serial.check() {
            self.problem(&["serial", field], message);
        }
        if link.overhead.is_some() {
            self.problem(
                &["overhead"],
                "a serial line has its own (`serial.framing`): leave out one of both",
            );
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
        let overtaking = link.jitter.as_ref().is_some_and(|jitter| jitter.overtaking);
        for (reorders, setting) in
            [(link.reordering.is_some(), "reordering"), (overtaking, "jitter.overtaking")]
        {
            if reorders {
                let message = format!("compressed headers must arrive in order, and there is `{setting}`");
                self.problem(&["serial", compression], message);
            }
        }
        if link.queue.is_some_and(|queue| !queue.decides_on_arrival()) {
            let message =
                "header compression needs a queue that is first in, first out: droptail, red or pie";
            self.problem(&["serial", compression], message);
        }
    }
}

impl Checker {
    /// Slots, behind which packets come in the order in which they were sent.
    fn slots(&mut self, link: &DirectionSpec, slots: &SlotsSpec) {
        if let Err((field, message)) = slots.check() {
            self.problem(&["slots", field], message);
        }
        let overtaking = link.jitter.as_ref().is_some_and(|jitter| jitter.overtaking);
        let given = [(link.reordering.is_some(), "reordering"), (overtaking, "jitter.overtaking")];
        if let Some((_, setting)) = given.into_iter().find(|(given, _)| *given) {
            self.problem(
                &["slots"],
                format!("packets keep their order there, and there is `{setting}`: leave out one of both"),
            );
        }
    }
}

/// A setting that gives a link another pace than its constant rate.
fn own_pace(link: &DirectionSpec) -> Option<&'static str> {
    let given = [
        ("acm", link.acm.is_some()),
        ("wander", link.wander.is_some()),
        ("serial", link.serial.is_some()),
        ("trace", link.trace.as_ref().is_some_and(|trace| trace.rate.is_some())),
        ("changes", link.changes.iter().flatten().any(|change| change.rate.is_some())),
    ];
    let granted = link.grants().given().first().copied();
    given.into_iter().find_map(|(name, given)| given.then_some(name)).or(granted)
}

/// A setting that stops the transmitter for a time.
fn holding(link: &DirectionSpec) -> Option<&'static str> {
    let holds = |outage: &&OutageSpec| outage.mode == OutageMode::Hold;
    let held = link.leo.as_ref().is_some_and(|leo| leo.handover_mode == OutageMode::Hold);
    link.outages.iter().flatten().find(holds).map(|_| "outages").or(held.then_some("leo"))
}
