//! The custom paced protocol over a satellite of 54 Mbit/s down and a line of 9600 baud up (Coetzee 1999, section 8.7): what it carries,
//! what it costs on the line, what losses and fades do, who is held back by whom.

use longhaul_results::Summary;
use longhaul_sim::{RunOptions, load, simulate};

/// server - hub = satellite and line = edge - client. RTT 600 ms but for transmission.
struct Lab {
    forward: &'static str,
    line: &'static str,
    hop: &'static str,
    flow: &'static str,
    lan: &'static str,
    seconds: (u32, u32),
}

const LAB: Lab = Lab {
    forward: "",
    line: "",
    hop: "",
    flow: "from = \"server\"\nto = \"client\"",
    lan: "rate = \"1 Gbit/s\"",
    seconds: (20, 5),
};

impl Lab {
    fn with(&self, options: RunOptions) -> Summary {
        let Lab { forward, line, hop, flow, lan, seconds: (duration, warmup) } = self;
        let text = format!(
            "[run]\nduration = \"{duration} s\"\nwarmup = \"{warmup} s\"\n\
             [[link]]\nname = \"net\"\nends = [\"server\", \"hub\"]\nrate = \"1 Gbit/s\"\ndelay = \"1 ms\"\n\
             [[link]]\nname = \"satellite\"\nends = [\"hub\", \"edge\"]\n\
             forward = {{ rate = \"54 Mbit/s\", delay = \"270 ms\", {forward} }}\n\
             reverse = {{ rate = \"9600 bit/s\", delay = \"330 ms\", serial = {{}}, \
             queue = {{ kind = \"droptail\", limit = \"10 packets\" }}, {line} }}\n\
             [[link]]\nname = \"lan\"\nends = [\"edge\", \"client\"]\ndelay = \"0 s\"\n{lan}\n\
             [[middlebox]]\nkind = \"paced\"\nat = \"hub\"\npeer = \"edge\"\n{hop}\n\
             [[flow]]\n{flow}\n"
        );
        let scenario = load(&text, "test", &[]).unwrap_or_else(|error| panic!("{error}"));
        simulate(&scenario, options).unwrap().summary
    }
    fn run(&self) -> Summary {
        self.with(RunOptions::default())
    }
}

fn of_flow(summary: &Summary, name: &str) -> f64 {
    summary.flows[0].metrics.get(name).unwrap_or_else(|| panic!("no {name}"))
}
fn of_hop(summary: &Summary, name: &str) -> f64 {
    summary.middleboxes[0].metrics.get(name).unwrap_or_else(|| panic!("no {name}"))
}
fn of_link(summary: &Summary, link: &str, name: &str) -> f64 {
    let link = summary.links.iter().find(|entry| entry.name == link).unwrap();
    link.metrics.get(name).unwrap_or_else(|| panic!("no {name}"))
}

/// 54 Mbit/s, of which 1448 of 1500 bytes are data: 52.1 Mbit/s, 60 times what plain ACKs let through; and a queue within its bound.
#[test]
fn a_download_has_the_whole_satellite() {
    let summary = LAB.run();
    let goodput = of_flow(&summary, "goodput_bps");
    assert!((51.8e6..=52.13e6).contains(&goodput), "{goodput}");
    assert_eq!((of_hop(&summary, "paced_lost"), of_hop(&summary, "paced_expired")), (0.0, 0.0));
    // Reports take a quarter of the line, credits next to nothing.
    let used = of_link(&summary, "satellite.reverse", "utilisation");
    assert!(used < 0.4, "{used}");
    let waited = of_link(&summary, "satellite.forward", "queue_delay_p99_s");
    assert!(waited < 0.022, "{waited}");
}

/// An allotted rate is what the datagrams take, headers included.
#[test]
fn an_allotted_rate_is_kept() {
    let summary = Lab { hop: "rate = \"10 Mbit/s\"", ..LAB }.run();
    let goodput = of_flow(&summary, "goodput_bps");
    assert!((9.6e6..=10e6 * 1448.0 / 1500.0 * 1.001).contains(&goodput), "{goodput}");
}

/// Without a handshake both nodes know the connection from its first packet on.
#[test]
fn established_connections_pass() {
    let flow = "from = \"client\"\nto = \"server\"\ntcp = { established = true }\n\
                app = { kind = \"request\", request = \"200 B\", response = \"10 kB\", requests = 3 }";
    let summary = Lab { flow, seconds: (20, 0), ..LAB }.run();
    assert_eq!(of_flow(&summary, "responses"), 3.0);
}

/// A client that asks: requests over the line, answers over the satellite. The first byte of an answer of 100 kB is there after a
/// request's way, 330 ms and its transmission, and the way down.
#[test]
fn answers_come_at_the_satellites_rate() {
    let flow = "from = \"client\"\nto = \"server\"\n\
                app = { kind = \"request\", request = \"200 B\", response = \"100 kB\", think = \"1 s\", requests = 5 }";
    let summary = Lab { flow, seconds: (20, 0), ..LAB }.run();
    assert_eq!(of_flow(&summary, "responses"), 5.0);
    // 600 ms of propagation, 250 bytes on the line 260 ms, 100 kB at 54 Mbit/s 15 ms, slow start between server and hub 10 ms.
    let time = of_flow(&summary, "response_time_mean_s");
    assert!((0.87..1.25).contains(&time), "{time}");
}

/// One datagram in 500 is lost, again and again, and a tenth of what goes back. What the losses of the line hold back comes in one piece
/// once they are repaired, perhaps within the measured time: over a short one goodput may be above the link's.
#[test]
fn losses_cost_no_more_than_what_is_lost() {
    let forward = "loss = { kind = \"random\", probability = \"0.2 %\" }";
    let line = "loss = { kind = \"random\", probability = \"2 %\" }";
    let summary = Lab { forward, line, seconds: (60, 5), ..LAB }.run();
    let goodput = of_flow(&summary, "goodput_bps");
    assert!((49e6..=52.13e6 * 60.0 / 55.0).contains(&goodput), "{goodput}");
    assert!(of_hop(&summary, "paced_lost") > 20.0);
}

/// Where 1 % is lost, 0.97 of what the rest can carry, and at 5 % 0.93: reports name each loss once, in few bits. They listed all that was
/// missing, with 4 bytes for each hole: 0.86 and 0.53, and 34,020 datagrams that had come before.
#[test]
fn a_thin_line_reports_all_losses_of_a_lossy_satellite() {
    for (percent, least) in [(1.0, 0.97), (5.0, 0.93)] {
        let forward = format!("loss = {{ kind = \"random\", probability = \"{percent} %\" }}");
        let summary = Lab { forward: Box::leak(forward.into_boxed_str()), seconds: (40, 10), ..LAB }.run();
        let ideal = 54e6 * (1.0 - percent / 100.0) * 1448.0 / 1500.0;
        let share = of_flow(&summary, "goodput_bps") / ideal;
        assert!(share >= least, "{percent} %: {share}");
        let (sent, twice) = (of_hop(&summary, "paced_items"), of_hop(&summary, "paced_duplicates"));
        assert!(twice < 0.001 * sent, "{twice} of {sent}");
    }
}

/// With parities for one datagram in ten, most losses are restored without a round trip.
#[test]
fn parities_restore_losses() {
    let forward = "loss = { kind = \"random\", probability = \"0.2 %\" }";
    let summary = Lab { forward, hop: "erasure = { items = 20, parities = 2 }", ..LAB }.run();
    let (restored, lost) = (of_hop(&summary, "paced_restored"), of_hop(&summary, "paced_lost"));
    assert!(restored > 50.0 && lost < 0.1 * restored, "{restored} and {lost}");
    // 20 datagrams of 1495 bytes, 1443 of them data, for each two parities of 1500: 28,860 of 32,900 bytes.
    let goodput = of_flow(&summary, "goodput_bps");
    assert!((46.5e6..=47.38e6).contains(&goodput), "{goodput}");
}

/// Rain: 54 Mbit/s become 5 for ten seconds, with three of them dark. After it the rate is back at once, without a timeout of anyone.
#[test]
fn a_fade_costs_what_it_takes() {
    let forward = "changes = [{ at = \"10 s\", rate = \"5 Mbit/s\" }, { at = \"20 s\", rate = \"54 Mbit/s\" }], \
                   outages = [{ start = \"14 s\", duration = \"3 s\" }]";
    let summary = Lab { forward, seconds: (30, 5), ..LAB }.run();
    // 15 s at 54 Mbit/s and 7 s at 5, less what is sent again after the dark, and its round trips.
    let most = (15.0 * 54.0 + 7.0 * 5.0) * 1448.0 / 1500.0 / 25.0;
    let goodput = of_flow(&summary, "goodput_bps") / 1e6;
    assert!((most * 0.9..=most).contains(&goodput), "{goodput} of {most} Mbit/s");
    assert_eq!(of_hop(&summary, "local_timeouts"), 0.0);
    let waited = of_link(&summary, "satellite.forward", "queue_delay_p99_s");
    assert!(waited < 0.25, "{waited}");
}

/// A client behind 2 Mbit/s holds the server back: credit, then the window. Nothing is lost, and little is at stake.
#[test]
fn a_slow_client_holds_the_server_back() {
    let summary =
        Lab { lan: "rate = \"2 Mbit/s\"", hop: "credit = \"500 kB\"\nbuffer = \"100 kB\"", ..LAB }.run();
    let goodput = of_flow(&summary, "goodput_bps");
    assert!((1.85e6..=1.95e6).contains(&goodput), "{goodput}");
    let at_stake = of_hop(&summary, "undelivered_max_bytes");
    assert!(at_stake <= 600_000.0, "{at_stake}");
}

/// The pseudo proxy is silent for longer than allowed: connections end, and when it is back new ones go on.
#[test]
fn a_silent_proxy_ends_the_session() {
    let line = "outages = [{ start = \"10 s\", duration = \"15 s\" }]";
    let summary = Lab { line, hop: "silence = \"5 s\"", seconds: (60, 5), ..LAB }.run();
    assert!(of_hop(&summary, "sessions_ended") >= 1.0);
    assert!(of_hop(&summary, "lost_acknowledged_bytes") > 0.0);
}

#[test]
fn results_do_not_depend_on_how_far_ahead_packets_are_served() {
    let forward = "loss = { kind = \"random\", probability = \"0.2 %\" }";
    let lab = Lab { forward, ..LAB };
    let flows = |serve_ahead| {
        let options = RunOptions { serve_ahead, ..RunOptions::default() };
        serde_json::to_string(&lab.with(options).flows).unwrap()
    };
    assert_eq!(flows(true), flows(false));
}
