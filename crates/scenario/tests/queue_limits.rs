//! Limits of queues in time and in bandwidth-delay products, as links have them.

use longhaul_scenario::{Network, load};
use longhaul_units::{Limit, QueueLimit, Size};

const RUN: &str = "[run]\nduration = \"1 s\"\n";

/// The limit of the link's queue in each direction, in bytes.
fn limits(rest: &str) -> Vec<u64> {
    let scenario = load(&format!("{RUN}{rest}"), "test", &[]).unwrap_or_else(|error| panic!("{error}"));
    let network = Network::new(&scenario);
    let bytes = |limit| match limit {
        QueueLimit::Fixed(Limit::Bytes(size)) => Size::as_bytes(size),
        other => panic!("{other} is not in bytes"),
    };
    network.links.iter().filter(|link| link.declared).map(|link| bytes(link.config.queue.limit())).collect()
}

fn geo(queue: &str) -> String {
    format!(
        "[[link]]\nname = \"geo\"\nends = [\"hub\", \"remote\"]\nrate = \"50 Mbit/s\"\ndelay = \"250 ms\"\n\
         reverse.rate = \"5 Mbit/s\"\nqueue = {queue}\n"
    )
}

const FLOW: &str = "[[flow]]\nfrom = \"hub\"\nto = \"remote\"\n";

/// 50 Mbit/s carry 625 kB in 100 ms, 5 Mbit/s a tenth of it.
#[test]
fn a_time_is_what_leaves_in_it_at_the_rate_of_its_direction() {
    assert_eq!(limits(&(geo("\"100 ms\"") + FLOW)), [625_000, 62_500]);
}

/// 50 Mbit/s x 500 ms = 3.125 MB; the other disciplines read the same limit.
#[test]
fn a_product_is_that_of_rate_and_round_trip() {
    for queue in
        ["\"1 bdp\"", "{ kind = \"fq_codel\", limit = \"1 bdp\" }", "{ kind = \"red\", limit = \"1 bdp\" }"]
    {
        assert_eq!(limits(&(geo(queue) + FLOW)), [3_125_000, 312_500], "{queue}");
    }
    assert_eq!(limits(&(geo("\"0.25 bdp\"") + FLOW)), [781_250, 78_125]);
}

/// Base round trips of 20 and 100 ms: 10 Mbit/s x 60 ms = 75 kB.
#[test]
fn of_several_flows_the_mean_round_trip_counts() {
    let access = |delay| {
        format!(
            "[[flow]]\nname = \"at{delay}\"\naccess = {{ rate = \"1 Gbit/s\", delay = \"0 ms\", from = {{ delay = \"{delay} ms\" }} }}\n"
        )
    };
    let bottleneck = "[dumbbell.bottleneck]\nrate = \"10 Mbit/s\"\ndelay = \"10 ms\"\nqueue = \"1 bdp\"\n";
    let text = format!("{bottleneck}{}{}", access(0), access(40));
    assert_eq!(limits(&text), [75_000, 75_000]);
}

#[test]
fn a_link_that_no_flow_crosses_goes_by_its_own_delay() {
    let other = "[[link]]\nname = \"idle\"\nends = [\"hub\", \"third\"]\nrate = \"8 Mbit/s\"\ndelay = \"50 ms\"\n\
                 queue = \"2 bdp\"\n";
    assert_eq!(limits(&(geo("\"1 MB\"") + other + FLOW))[2..], [200_000, 200_000]);
}

/// A measured link, and one with a script, have the limit of their mean and of their first rate, all the time.
#[test]
fn a_script_does_not_move_the_limit() {
    let script = geo("\"100 ms\"") + "changes = [{ at = \"0.5 s\", rate = \"5 Mbit/s\" }]\n";
    assert_eq!(limits(&(script + FLOW)), [625_000, 62_500]);
}

#[test]
fn a_throttle_has_a_time_but_no_product() {
    let throttle = |limit| {
        format!(
            "[[node]]\nname = \"site\"\n[[link]]\nname = \"a\"\nends = [\"hub\", \"site\"]\nrate = \"50 Mbit/s\"\n\
             delay = \"1 ms\"\n[[link]]\nname = \"b\"\nends = [\"site\", \"remote\"]\nrate = \"50 Mbit/s\"\n\
             delay = \"1 ms\"\n{FLOW}[[middlebox]]\nkind = \"throttle\"\nname = \"limiter\"\nat = \"site\"\n\
             rate = \"1 Mbit/s\"\nqueue = {{ kind = \"droptail\", limit = \"{limit}\" }}\n"
        )
    };
    let read = |limit| load(&format!("{RUN}{}", throttle(limit)), "test", &[]);
    assert!(read("100 ms").is_ok());
    let message = read("1 bdp").unwrap_err().to_string();
    assert!(message.contains("those of a link's paths") && message.contains("test:"), "{message}");
}
