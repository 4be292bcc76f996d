//! What happens to links over time: again and again, or at random.

use longhaul_path::{Change, Outage};
use longhaul_scenario::{Network, load, run_id};
use longhaul_units::{Duration, LinkId, Rate};

/// Both directions of a link with these settings, in a run of 100 s.
fn link(settings: &str, seed: u64) -> [(Vec<Change>, Vec<Outage>); 2] {
    let network =
        Network::new(&load(&text(settings, seed), "test", &[]).unwrap_or_else(|error| panic!("{error}")));
    [0, 1].map(|index| {
        let config = &network.links[LinkId(index)].config;
        (config.changes.clone(), config.outages.clone())
    })
}

fn text(settings: &str, seed: u64) -> String {
    format!(
        "[run]\nduration = \"100 s\"\nseed = {seed}\n[[link]]\nname = \"sat\"\nends = [\"a\", \"b\"]\n\
         rate = \"50 Mbit/s\"\ndelay = \"20 ms\"\n{settings}\n[[flow]]\nfrom = \"a\"\nto = \"b\"\n"
    )
}

fn seconds(times: impl IntoIterator<Item = Duration>) -> Vec<f64> {
    times.into_iter().map(Duration::as_secs_f64).collect()
}

/// Two tables with one period make a wave: 20 ms from 0, 45 ms from 5 s, 20 ms from 15 s, ...
#[test]
fn changes_come_again_until_the_run_ends() {
    let [(changes, _), (other, _)] = link(
        "changes = [{ at = \"5 s\", every = \"30 s\", delay = \"45 ms\" }, { at = \"15 s\", every = \"30 s\", delay = \"20 ms\" }]",
        1,
    );
    assert_eq!(seconds(changes.iter().map(|change| change.at)), [5.0, 35.0, 65.0, 95.0, 15.0, 45.0, 75.0]);
    assert_eq!(changes, other);
}

#[test]
fn an_outage_comes_again_at_its_phase() {
    let [(_, outages), _] =
        link("outages = [{ start = \"14.9 s\", every = \"15 s\", duration = \"200 ms\" }]", 1);
    assert_eq!(seconds(outages.iter().map(|outage| outage.start)), [14.9, 29.9, 44.9, 59.9, 74.9, 89.9]);
    assert!(outages.iter().all(|outage| outage.duration == Duration::from_millis(200)));
}

/// What happens once has the time that it had, with the run's end or without.
#[test]
fn what_happens_once_is_as_before() {
    let [(changes, outages), _] = link(
        "changes = [{ at = \"300 s\", rate = \"1 Mbit/s\" }]\noutages = [{ start = \"3 s\", duration = \"1 s\" }]",
        1,
    );
    assert_eq!(
        changes,
        [Change {
            at: Duration::from_secs(300),
            rate: Some(Rate::from_bps(1_000_000)),
            delay: None,
            loss: None
        }]
    );
    assert_eq!(seconds(outages.iter().map(|outage| outage.start)), [3.0]);
}

/// An outage of the whole link is one of both directions at the same times; what one direction has is its own.
#[test]
fn random_times_follow_from_the_seed_and_from_where_they_stand() {
    let common = "outages = [{ up = \"10 s\", down = \"1 s\" }]";
    let each = "forward = { outages = [{ up = \"10 s\", down = \"1 s\" }] }\nreverse = { outages = [{ up = \"10 s\", down = \"1 s\" }] }";
    let [there, back] = link(common, 1);
    assert_eq!(there, back);
    assert_eq!(link(common, 1)[0], there);
    assert_ne!(link(common, 2)[0], there);
    let [there, back] = link(each, 1);
    assert_ne!(there, back);
}

/// What a scenario without them has in its identity does not change.
#[test]
fn the_identity_of_scripts_that_happen_once_is_what_it_was() {
    let settings = "changes = [{ at = \"3 s\", rate = \"1 Mbit/s\" }]\noutages = [{ start = \"3 s\", duration = \"1 s\" }]";
    let scenario = load(&text(settings, 1), "test", &[]).unwrap();
    let whole = longhaul_scenario::resolved_toml(&scenario);
    let written = whole.split("[[flow]]").next().unwrap();
    for part in ["every", "jitter", "drift", "up", "down"] {
        assert!(!written.contains(&format!("\n{part} = ")), "{written}");
    }
    assert_eq!(run_id(&scenario).len(), 32);
}

#[test]
fn scripts_that_make_no_sense_are_refused_at_their_line() {
    for (settings, parts) in [
        (
            "changes = [{ at = \"0 s\", every = \"0 s\", delay = \"1 ms\" }]",
            &["changes.0.every", "above 0 s"][..],
        ),
        (
            "changes = [{ at = \"0 s\", every = \"10 us\", delay = \"1 ms\" }]",
            &["every", "10000000 times", "at most 100000"],
        ),
        ("changes = [{ at = \"0 s\", drift = \"1 s\", delay = \"1 ms\" }]", &["drift", "goes with `every`"]),
        (
            "changes = [{ at = \"0 s\", every = \"15 s\", jitter = \"20 s\", delay = \"1 ms\" }]",
            &["jitter", "at most `every`, 15 s"],
        ),
        ("outages = [{ duration = \"1 s\" }]", &["outages.0.start", "a start and a duration"]),
        ("outages = [{ start = \"1 s\" }]", &["outages.0.duration", "a start and a duration"]),
        ("outages = [{ up = \"1 s\" }]", &["outages.0.up", "give `down` too"]),
        (
            "outages = [{ up = \"1 s\", down = \"1 s\", every = \"3 s\" }]",
            &["outages.0.every", "leave it out"],
        ),
        ("outages = [{ up = \"1 us\", down = \"1 us\" }]", &["outages.0.up", "at most 100000"]),
        ("overhead = \"pppoe\"", &["test:9", "no keyword", "pppoe-ptm"]),
        ("overhead = \"docsis\"\nserial = { framing = \"ppp\" }", &["overhead", "serial.framing"]),
        ("overhead = { bytes = \"2 kB\" }", &["overhead.bytes", "at most 1000 B"]),
    ] {
        let message = load(&text(settings, 1), "test", &[]).unwrap_err().to_string();
        for part in parts {
            assert!(message.contains(part), "{part:?} is missing in:\n{message}");
        }
        assert!(message.contains("test:9") || message.contains("test:10"), "{message}");
    }
}
