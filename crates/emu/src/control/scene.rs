//! The scenario of what happens: as it was at the start, with all that was set since.

use super::request;
use crate::driver::LinkChange;
use longhaul_scenario::{DirectedLink, Network, Scenario};
use longhaul_units::Duration;
use std::collections::BTreeSet;

pub(super) struct Scene {
    /// The scenario, whose script has what was set.
    pub scenario: Scenario,
    /// What was set, in words.
    pub set: Vec<String>,
    /// Names of the links that can be set.
    links: Vec<String>,
    /// Links that cannot be set while they run.
    fixed: BTreeSet<String>,
}

impl Scene {
    pub fn new(scenario: &Scenario, network: &Network) -> Scene {
        let fixed = |link: &&DirectedLink| !longhaul_fabric::changeable(&link.config);
        Scene {
            scenario: scenario.clone(),
            set: vec![],
            links: scenario.link_names(),
            fixed: network.links.iter().filter(fixed).map(|link| link.name.clone()).collect(),
        }
    }

    /// Sets something at a time. Returns what it was, and what it makes of links.
    pub fn set(&mut self, words: &[String], at: Duration) -> Result<(String, Vec<LinkChange>), String> {
        let (link, sides, setting) = request::setting(words, &self.links)?;
        let chosen: Vec<String> = ["forward", "reverse"]
            .into_iter()
            .zip(sides)
            .filter(|(_, chosen)| *chosen)
            .map(|(side, _)| format!("{link}.{side}"))
            .collect();
        if let Some(name) = chosen.iter().find(|name| self.fixed.contains(*name)) {
            let message = "it compresses headers (`serial`), shares its transmitter or repeats losses, so it cannot be set while it runs";
            return Err(format!("{name}: {message}"));
        }
        let scenario = self.scenario.with_setting(&link, sides, at, &setting)?;
        let network = Network::new(&scenario);
        let changes = network
            .links
            .enumerated()
            .filter(|(_, link)| chosen.contains(&link.name))
            .map(|(id, link)| LinkChange { link: id, schedule: link.config.schedule() });
        let changes = changes.collect();
        self.scenario = scenario;
        let done = format!("{} from {:.3} s on", words.join(" "), at.as_secs_f64());
        self.set.push(done.clone());
        Ok((done, changes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use longhaul_scenario::{load, resolved_toml};
    use longhaul_units::Rate;

    fn scene(link: &str) -> Scene {
        let text = format!(
            "[run]\nduration = \"60 s\"\n[[link]]\nname = \"sat\"\nends = [\"a\", \"b\"]\nrate = \"50 Mbit/s\"\ndelay = \"20 ms\"\n{link}\n\
             [[flow]]\nfrom = \"a\"\nto = \"b\"\n"
        );
        let scenario = load(&text, "test", &[]).unwrap();
        Scene::new(&scenario, &Network::new(&scenario))
    }

    fn words(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_string).collect()
    }

    #[test]
    fn links_become_what_the_scenario_as_it_was_makes_of_them() {
        let mut scene = scene("");
        let second = Duration::from_secs(1);
        assert_eq!(scene.set(&words("sat rate=1Mbit/s"), second).unwrap().1.len(), 2);
        let (done, changes) = scene.set(&words("sat.reverse rate=3Mbit/s down"), second * 2).unwrap();
        assert_eq!(done, "sat.reverse rate=3Mbit/s down from 2.000 s on");
        let [LinkChange { schedule, .. }] = &changes[..] else { panic!("one direction") };
        let again = load(&resolved_toml(&scene.scenario), "again", &[]).unwrap();
        let link = Network::new(&again)
            .links
            .iter()
            .find(|link| link.name == "sat.reverse")
            .unwrap()
            .config
            .schedule();
        for tenths in 0..40 {
            let time = longhaul_units::Instant::ZERO + Duration::from_millis(100 * tenths);
            assert_eq!(schedule.from(time), link.from(time));
            assert_eq!((schedule.in_fade(time), link.in_fade(time)), (tenths >= 20, tenths >= 20));
        }
        assert_eq!(link.from(longhaul_units::Instant::ZERO + second).0, Rate::from_bps(1_000_000));
    }

    /// A refusal changes nothing.
    #[test]
    fn a_line_with_compressed_headers_is_refused() {
        let mut scene = scene("forward = { serial = { framing = \"ppp\", vj = {} } }");
        let refused = scene.set(&words("sat rate=1Mbit/s"), Duration::from_secs(1)).unwrap_err();
        assert!(refused.starts_with("sat.forward: it compresses headers (`serial`)"), "{refused}");
        assert!(scene.set.is_empty());
        scene.set(&words("sat.reverse rate=1Mbit/s"), Duration::from_secs(1)).unwrap();
    }
}
