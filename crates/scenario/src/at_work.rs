//! What is set on links while a run goes on, written into the scenario's script: the scenario of what happened.

use crate::load::name_of_setting;
use crate::script::{self, ChangeSpec, OutageSpec};
use crate::spec::{DirectionSpec, DumbbellSpec, RunSpec, Scenario};
use crate::validate::validate;
use longhaul_path::{Change, OutageMode};
use longhaul_units::{Duration, Probability, Rate};

/// What can be set on a direction of a link.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct LinkSetting {
    /// The rate of the transmitter.
    pub rate: Option<Rate>,
    /// The propagation delay.
    pub delay: Option<Duration>,
    /// The probability that a packet is lost.
    pub loss: Option<Probability>,
    /// False: nothing gets through from now on; true: that is over.
    pub up: Option<bool>,
}

/// The length of an outage whose end nobody knows yet: a hundred years.
const OPEN: Duration = Duration::from_secs(100 * 365 * 86_400);

impl Scenario {
    /// Names of the links that can be set.
    pub fn link_names(&self) -> Vec<String> {
        let bottleneck = self.dumbbell.iter().map(|_| DumbbellSpec::LINK.to_string());
        bottleneck.chain(self.link.iter().map(|link| link.name.clone())).collect()
    }

    /// The scenario in which `setting` holds from `at` on for these directions (forward, reverse) of a link.
    ///
    /// # Errors
    /// What is wrong with the setting, in words: no such link, a value out of its range, a link that follows a measurement.
    pub fn with_setting(
        &self,
        link: &str,
        sides: [bool; 2],
        at: Duration,
        setting: &LinkSetting,
    ) -> Result<Scenario, String> {
        let mut changed = self.clone();
        changed.edit(link, |script| script.set(sides, at, setting))??;
        match validate(&changed).into_iter().next() {
            None => Ok(changed),
            Some(problem) => Err(match name_of_setting(&problem.path) {
                Some(name) if name != "changes" => format!("{name}: {}", problem.message),
                _ => problem.message,
            }),
        }
    }

    /// Ends outages that nobody has ended by then.
    pub fn end_outages(&mut self, end: Duration) {
        for link in self.link_names() {
            let _ = self.edit(&link, |script| script.end_outages(end));
        }
    }

    fn edit<T>(&mut self, link: &str, edit: impl FnOnce(&mut Script<'_>) -> T) -> Result<T, String> {
        let Scenario { run, dumbbell, link: links, .. } = self;
        macro_rules! script {
            ($table:expr) => {
                Script {
                    name: link,
                    run,
                    common: (&mut $table.changes, &mut $table.outages),
                    own: [&mut $table.forward, &mut $table.reverse],
                }
            };
        }
        if let Some(dumbbell) = dumbbell.as_mut().filter(|_| link == DumbbellSpec::LINK) {
            return Ok(edit(&mut script!(dumbbell.bottleneck)));
        }
        match links.iter_mut().find(|known| known.name == link) {
            Some(found) => Ok(edit(&mut script!(found))),
            None => Err(format!("there is no link \"{link}\"")),
        }
    }
}

/// The script of a link.
struct Script<'a> {
    name: &'a str,
    run: &'a RunSpec,
    common: (&'a mut Option<Vec<ChangeSpec>>, &'a mut Option<Vec<OutageSpec>>),
    own: [&'a mut Option<DirectionSpec>; 2],
}

const SIDES: [&str; 2] = ["forward", "reverse"];

impl Script<'_> {
    fn set(&mut self, sides: [bool; 2], at: Duration, setting: &LinkSetting) -> Result<(), String> {
        let LinkSetting { rate, delay, loss, up } = *setting;
        let chosen = || (0..2).filter(|side| sides[*side]);
        if rate.is_some() || delay.is_some() || loss.is_some() {
            for side in chosen() {
                self.changes(side).push(Change { at, rate, delay, loss }.into());
            }
        }
        let Some(up) = up else { return Ok(()) };
        let mut any = false;
        for side in chosen() {
            let outages = self.outages(side);
            let open = outages.iter_mut().find(|outage| outage.duration == Some(OPEN));
            match (up, open) {
                (true, Some(outage)) => {
                    outage.duration = Some(length(outage, at));
                    any = true;
                }
                (false, None) => {
                    outages.push(once(at, OPEN, OutageMode::Drop));
                    any = true;
                }
                _ => {}
            }
        }
        match (any, up) {
            (true, _) => Ok(()),
            (false, true) => Err(format!("\"{}\" was not set down: it is up but for its script", self.name)),
            (false, false) => Err(format!("\"{}\" is down already", self.name)),
        }
    }

    fn end_outages(&mut self, end: Duration) {
        for own in &mut self.own {
            for outage in own.iter_mut().flat_map(|own| &mut own.outages).flatten() {
                if outage.duration == Some(OPEN) {
                    outage.duration = Some(length(outage, end));
                }
            }
        }
    }

    /// Changes of one direction alone, at the times that they have in this run.
    fn changes(&mut self, side: usize) -> &mut Vec<ChangeSpec> {
        let Script { name, run, common, own } = self;
        let given = own[side].as_ref().and_then(|own| own.changes.clone());
        let stream = stream(name, given.is_some().then_some(side), "changes");
        let tables = given.or_else(|| common.0.clone()).unwrap_or_default();
        let made = match tables.iter().all(ChangeSpec::is_certain) {
            true => tables,
            false => script::changes(&tables, run.duration, run.seed, &stream)
                .into_iter()
                .map(ChangeSpec::from)
                .collect(),
        };
        own[side].get_or_insert_default().changes = Some(made);
        // What is given for both has no place where each has its own.
        if own.iter().all(|own| own.as_ref().is_some_and(|own| own.changes.is_some())) {
            *common.0 = None;
        }
        own[side].as_mut().and_then(|own| own.changes.as_mut()).expect("it was made")
    }

    /// The same of its outages.
    fn outages(&mut self, side: usize) -> &mut Vec<OutageSpec> {
        let Script { name, run, common, own } = self;
        let given = own[side].as_ref().and_then(|own| own.outages.clone());
        let stream = stream(name, given.is_some().then_some(side), "outages");
        let tables = given.or_else(|| common.1.clone()).unwrap_or_default();
        let made = match tables.iter().all(OutageSpec::is_certain) {
            true => tables,
            false => {
                let all = script::outages(&tables, run.duration, run.seed, &stream);
                all.into_iter().map(|one| once(one.start, one.duration, one.mode)).collect()
            }
        };
        own[side].get_or_insert_default().outages = Some(made);
        if own.iter().all(|own| own.as_ref().is_some_and(|own| own.outages.is_some())) {
            *common.1 = None;
        }
        own[side].as_mut().and_then(|own| own.outages.as_mut()).expect("it was made")
    }
}

/// An outage lasts for some time.
const SHORTEST: Duration = Duration::from_nanos(1);

fn length(outage: &OutageSpec, end: Duration) -> Duration {
    end.saturating_sub(outage.start.unwrap_or_default()).max(SHORTEST)
}

/// The random stream that the times of a setting come from.
fn stream(link: &str, side: Option<usize>, setting: &str) -> String {
    side.map_or_else(|| format!("{link} {setting}"), |side| format!("{link}.{} {setting}", SIDES[side]))
}

fn once(start: Duration, duration: Duration, mode: OutageMode) -> OutageSpec {
    OutageSpec {
        start: Some(start),
        duration: Some(duration),
        every: None,
        jitter: Duration::ZERO,
        drift: Duration::ZERO,
        up: None,
        down: None,
        mode,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Network, load, resolved_toml};
    use longhaul_units::{Id, LinkId};

    fn scenario(link: &str) -> Scenario {
        let text = format!(
            "[run]\nduration = \"60 s\"\n[[link]]\nname = \"sat\"\nends = [\"a\", \"b\"]\n{link}\n[[flow]]\nfrom = \"a\"\nto = \"b\"\n"
        );
        load(&text, "test", &[]).unwrap_or_else(|error| panic!("{error}"))
    }

    const PLAIN: &str = "rate = \"50 Mbit/s\"\ndelay = \"20 ms\"";

    fn rate(mbit: u64) -> LinkSetting {
        LinkSetting { rate: Some(Rate::from_bps(mbit * 1_000_000)), ..LinkSetting::default() }
    }
    fn up(up: bool) -> LinkSetting {
        LinkSetting { up: Some(up), ..LinkSetting::default() }
    }
    fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    /// Read again, it has the same links.
    fn script(scenario: &Scenario, side: usize) -> (Vec<longhaul_path::Change>, Vec<longhaul_path::Outage>) {
        let again = load(&resolved_toml(scenario), "again", &[]).unwrap_or_else(|error| panic!("{error}"));
        let [first, second] = [scenario, &again].map(|of| {
            let config = Network::new(of).links[LinkId::new(side)].config.clone();
            (config.changes, config.outages)
        });
        assert_eq!(first, second);
        first
    }

    #[test]
    fn what_is_set_is_in_the_script_of_both_directions_or_of_one() {
        let set = scenario(PLAIN).with_setting("sat", [true, true], seconds(3), &rate(10)).unwrap();
        let set = set.with_setting("sat", [false, true], seconds(4), &rate(1)).unwrap();
        assert_eq!([0, 1].map(|side| script(&set, side).0.len()), [1, 2]);
        assert_eq!(script(&set, 1).0[1].rate, Some(Rate::from_bps(1_000_000)));
    }

    #[test]
    fn an_outage_ends_when_it_is_ended_or_with_the_run() {
        let down = scenario(PLAIN).with_setting("sat", [true, true], seconds(3), &up(false)).unwrap();
        assert_eq!(
            down.with_setting("sat", [true, true], seconds(4), &up(false)).unwrap_err(),
            "\"sat\" is down already"
        );
        let mut set = down.with_setting("sat", [true, false], seconds(5), &up(true)).unwrap();
        set.end_outages(seconds(9));
        assert_eq!([0, 1].map(|side| script(&set, side).1[0].duration), [seconds(2), seconds(6)]);
        let refused = set.with_setting("sat", [true, true], seconds(9), &up(true)).unwrap_err();
        assert_eq!(refused, "\"sat\" was not set down: it is up but for its script");
    }

    /// Random times are those of this run, of both directions the same as before, although each has now a script of its own.
    #[test]
    fn what_the_script_had_stays_where_it_was() {
        let outages = "outages = [{ up = \"5 s\", down = \"1 s\" }]";
        let changes = "changes = [{ at = \"1 s\", every = \"9 s\", jitter = \"2 s\", delay = \"30 ms\" }]";
        let before = scenario(&format!("{PLAIN}\n{outages}\n{changes}"));
        let (changes, outages) = script(&before, 0);
        assert!(changes.len() > 3 && outages.len() > 3);
        for sides in [[true, true], [false, true]] {
            let set = before.with_setting("sat", sides, seconds(30), &rate(10)).unwrap();
            let set = set.with_setting("sat", sides, seconds(40), &up(false)).unwrap();
            for (side, is_set) in sides.into_iter().enumerate() {
                let (now, down) = script(&set, side);
                assert_eq!((&now[..changes.len()], &down[..outages.len()]), (&changes[..], &outages[..]));
                let added = usize::from(is_set);
                assert_eq!((now.len() - changes.len(), down.len() - outages.len()), (added, added));
            }
        }
    }

    #[test]
    fn what_cannot_be_set_is_one_message() {
        let refused = |link: &str, name: &str, setting: &LinkSetting| {
            scenario(link).with_setting(name, [true, true], seconds(1), setting).unwrap_err()
        };
        assert_eq!(refused(PLAIN, "moon", &rate(1)), "there is no link \"moon\"");
        let hours = LinkSetting { delay: Some(seconds(7200)), ..LinkSetting::default() };
        let message = refused(PLAIN, "sat", &hours);
        assert!(message.starts_with("delay: ") && message.contains("at most 1 h"), "{message}");
        let leo = "rate = \"50 Mbit/s\"\nleo = { terminal = { latitude = 50, longitude = 8 }, gateway = { latitude = 50, longitude = 9 } }";
        let moved = LinkSetting { delay: Some(seconds(1)), ..LinkSetting::default() };
        assert!(refused(leo, "sat", &moved).contains("no script can change it"));
    }
}
