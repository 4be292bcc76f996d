//! What congestion controls tell of their inside (`run.inspect`).

use longhaul_results::{CcRow, Tables};
use longhaul_sim::{RunOptions, load, simulate};

fn tables(inspect: bool, congestion: &str) -> Tables {
    let text = format!(
        "[run]\nduration = \"20 s\"\nsample = \"100 ms\"\ninspect = {inspect}\n\
         [[link]]\nname = \"path\"\nends = [\"a\", \"b\"]\nrate = \"20 Mbit/s\"\ndelay = \"20 ms\"\nqueue = \"100 packets\"\n\
         [[flow]]\nfrom = \"a\"\nto = \"b\"\ntcp = {{ congestion = \"{congestion}\", mss = \"1000 B\" }}\n"
    );
    let scenario = load(&text, "test", &[]).unwrap_or_else(|error| panic!("{error}"));
    simulate(&scenario, RunOptions::default()).unwrap().tables
}

fn last<'a>(tables: &'a Tables, name: &str) -> &'a CcRow {
    tables.cc.iter().rfind(|row| row.name == name).unwrap_or_else(|| panic!("no {name}"))
}

/// BBR's model is the path: 20 Mbit/s, of which 1000 of 1040 bytes are payload, and 40 ms and the transmission of a packet.
#[test]
fn bbr_shows_its_model() {
    let tables = tables(true, "bbr");
    let bandwidth = last(&tables, "BtlBw");
    assert_eq!(bandwidth.unit, "bit/s");
    let payload = 20e6 * 1000.0 / 1040.0;
    assert!((0.97 * payload..1.03 * payload).contains(&bandwidth.value), "{}", bandwidth.value);
    let rtt = last(&tables, "RTprop").value;
    assert!((0.040..0.042).contains(&rtt), "{rtt}");
    let states: Vec<f64> = tables.cc.iter().filter(|row| row.name == "state").map(|row| row.value).collect();
    assert_eq!(states[1], 0.0, "Startup first");
    assert!(states.contains(&2.0) && states.contains(&3.0), "ProbeBW, and ProbeRTT after ten seconds");
}

/// W_max of CUBIC is the largest window before the last loss, in bytes: the bandwidth-delay product and the queue, 200 packets.
#[test]
fn cubic_shows_where_it_lost() {
    let tables = tables(true, "cubic");
    let lost = last(&tables, "W_max");
    assert_eq!((lost.flow, lost.unit), (0, "B"));
    assert!((150e3..220e3).contains(&lost.value), "{}", lost.value);
}

#[test]
fn nothing_is_told_unasked_and_nothing_else_changes() {
    let (asked, unasked) = (tables(true, "cubic"), tables(false, "cubic"));
    assert!(unasked.cc.is_empty() && !asked.cc.is_empty());
    assert_eq!((asked.flows, asked.links, asked.events), (unasked.flows, unasked.links, unasked.events));
}
