//! `longhaul-pep doctor`: what in this machine's settings keeps the accelerator from working well, and what helps.

use crate::config::{Config, Intercept, LegConfig, Mode};
use crate::control::{self, Command};
use crate::diagnosis::{self, Kind};
use crate::plan::{self, Gate};
use crate::{Error, class, probe, sys, system};
use serde::Serialize;
use std::net::SocketAddr;
use std::path::Path;

/// Clients whose way back is checked.
const CLIENTS_ASKED: usize = 20;

/// One thing that was looked at.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Finding {
    /// What was looked at.
    pub what: &'static str,
    /// How bad it is.
    pub verdict: Verdict,
    /// What was found, and what helps.
    pub text: String,
}

/// How bad something is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// As it should be.
    Good,
    /// It works, but not as well as it could.
    Poor,
    /// It does not work.
    Bad,
}

pub(crate) fn finding(what: &'static str, problem: Option<(Verdict, String)>, good: &str) -> Finding {
    let (verdict, text) = problem.unwrap_or((Verdict::Good, good.to_string()));
    Finding { what, verdict, text }
}

/// Looks at everything that the configuration makes use of.
pub fn examine(config: &Config) -> Vec<Finding> {
    let mut all = vec![];
    let status = control::ask(&config.control, Command::Status);
    let intercept = config.intercept.clone().filter(|_| config.mode != Mode::Hub);
    let binds = config.terminal.iter().any(|terminal| !terminal.sources.is_empty());
    if intercept.is_some() || binds {
        let intercept = config.intercept.clone().unwrap_or_default();
        let rules = system::tool(
            "nft",
            "nftables",
            &["-c", "-f", "-"],
            &plan::install(Gate::Open, &intercept, &config.limits, &plan::Around::default()),
        );
        let problem = rules.err().map(|why| (Verdict::Bad, why.to_string()));
        all.push(finding("rules", problem, "nftables takes the rules"));
        all.push(forwarding());
        all.extend(reverse_paths(&intercept.interfaces));
        all.push(marks(&intercept));
        all.extend(way_in(&intercept, status.as_ref().ok()));
        all.extend(behind_hub(config));
    }
    all.extend(buffers("client_leg", &config.client_leg));
    all.extend(buffers("server_leg", &config.server_leg));
    all.extend(config.hop.as_ref().map(|hop| key(&hop.key)));
    all.push(clock());
    all.extend(probe::way(config));
    all.extend(ways_back(config, status.as_ref().ok()));
    all.extend(divided(config, status.as_ref().ok()));
    all.push(daemon(config, status));
    all
}

/// Whether what a running node takes in arrives, and why not.
fn way_in(intercept: &Intercept, status: Option<&serde_json::Value>) -> Vec<Finding> {
    let Some(status) = status else { return vec![] };
    let facts = diagnosis::gather(intercept);
    let causes = diagnosis::causes(intercept, &facts);
    // A chain that drops is a fault once something was dropped.
    let lost = status["astray"] == true || status["trial"] == true;
    let one = |(kind, good): &(Kind, &str)| {
        let cause = causes.iter().find(|cause| cause.kind == *kind);
        let problem = match (kind, cause) {
            (Kind::Firewall, Some(cause)) if lost => Some((Verdict::Bad, cause.text.clone())),
            (Kind::Firewall, Some(_)) => unproven(&diagnosis::closed_chains(intercept, &facts)),
            (_, Some(cause)) => Some((Verdict::Bad, cause.text.clone())),
            (_, None) => None,
        };
        finding(kind.name(), problem, good)
    };
    Kind::ALL.iter().map(one).chain([repairs(status)]).collect()
}

/// What the daemon has put back since its start.
fn repairs(status: &serde_json::Value) -> Finding {
    let names = control::texts(status, "repairs").join(", ");
    let problem = (!names.is_empty()).then(|| {
        let text = format!(
            "another program removes what the node needs; put back {} times: {names} (network managers and scripts do that to \
             rules and routes that are not theirs, and `nft flush ruleset` to tables)",
            status["repaired"]
        );
        (Verdict::Poor, text)
    });
    finding("repairs", problem, "nothing had to be put back")
}

/// At a terminal, ordinary servers are routed towards the hub: else all connections are left alone.
fn behind_hub(config: &Config) -> Option<Finding> {
    let intercept =
        config.intercept.as_ref().filter(|intercept| config.mode == Mode::Terminal && !intercept.local)?;
    // Who takes no new connections changes nothing at present.
    let hub = config.hop.as_ref()?.hubs().first()?.look_up().ok()?.first()?.ip();
    let around = system::around(&[hub], intercept.own_mark);
    let towards = around.towards_hubs.first()?;
    let route = system::ip(&format!("route get {}", diagnosis::EXAMPLES[usize::from(hub.is_ipv6())]))
        .unwrap_or_default();
    let by = route.split_whitespace().skip_while(|word| *word != "dev").nth(1);
    let problem = (by != Some(towards)).then(|| {
        let text = format!(
            "the hub is reached by {towards} and servers by {}, so that their connections are left alone; set intercept.local = \
             true to take them all, or route them by {towards}",
            by.unwrap_or("no route")
        );
        (Verdict::Poor, text)
    });
    Some(finding("way to servers", problem, "they are routed towards the hub"))
}

fn unproven(chains: &[String]) -> Option<(Verdict, String)> {
    (!chains.is_empty()).then(|| {
        let text = format!(
            "{} may drop what is intercepted; `longhaul-pep plan --firewall NAME` prints the rule that lets it in, and until \
             then connections pass untouched",
            chains.join(", ")
        );
        (Verdict::Poor, text)
    })
}

/// This node's key, without which it does not start.
fn key(path: &Path) -> Finding {
    let problem = crate::keys::load(path).err().map(|why| (Verdict::Bad, why.to_string()));
    finding("key", problem, "only its owner can read it")
}

/// The clock of the logs, and the one that packets are sent by.
fn clock() -> Finding {
    let source = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    let source = std::fs::read_to_string(source).unwrap_or_default();
    let slow = ["hpet", "acpi_pm", "jiffies", "refined-jiffies"].contains(&source.trim());
    let problem = if slow {
        let text = "reading the time is slow, which costs throughput and makes packets uneven; boot with another clocksource";
        Some((Verdict::Poor, format!("clocksource {}: {text}", source.trim())))
    } else if !sys::clock_is_kept() {
        let text = "nothing keeps this machine's clock (NTP): the logs of both nodes cannot be compared; connections do not \
                    depend on it";
        Some((Verdict::Poor, text.to_string()))
    } else {
        None
    };
    finding("clocks", problem, "kept, and fast to read")
}

/// Answers must come back through this node: to the clients, and from the servers where these get the clients' addresses.
fn ways_back(config: &Config, status: Option<&serde_json::Value>) -> Vec<Finding> {
    let mut all = vec![];
    let interfaces = config.intercept.as_ref().map_or(&[][..], |intercept| &intercept.interfaces);
    let flows = control::ask(&config.control, Command::Flows).unwrap_or_default();
    if !interfaces.is_empty() && config.mode != Mode::Hub {
        let astray = flows.as_array().into_iter().flatten().take(CLIENTS_ASKED).find_map(|flow| {
            let client: SocketAddr = flow["client"].as_str()?.parse().ok()?;
            let route = system::ip(&format!("route get {}", client.ip())).ok()?;
            let device = route.split_whitespace().skip_while(|word| *word != "dev").nth(1)?.to_string();
            (flow["entrance"] == "intercepted" && !interfaces.contains(&device))
                .then_some((client.ip(), device))
        });
        let problem = astray.map(|(client, device)| {
            let text = format!(
                "answers to {client} leave by {device}, which is not in intercept.interfaces: packets of a connection take \
                 two ways, and a filter for reverse paths may drop them"
            );
            (Verdict::Poor, text)
        });
        all.push(finding("way to clients", problem, "answers leave where the clients come in"));
    }
    let keeps = config.intercept.as_ref().is_some_and(|intercept| intercept.keep_source)
        || config.terminal.iter().any(|terminal| !terminal.sources.is_empty());
    if let (true, Some(status), true) = (keeps, status, config.mode != Mode::Terminal) {
        all.push(finding("way from servers", unanswered(status), "servers answer through this machine"));
    }
    all
}

/// Most connections to servers that found no answer: their answers to the clients' addresses go elsewhere.
fn unanswered(status: &serde_json::Value) -> Option<(Verdict, String)> {
    let count = |value: &serde_json::Value| value.as_u64().unwrap_or(0);
    let (missed, accepted) = (count(&status["ended"]["unreachable"]), count(&status["accepted"]));
    (missed >= 5 && missed * 2 > accepted).then(|| {
        let text = format!(
            "{missed} of {accepted} connections found no answer: servers get the clients' addresses, so the way back to \
             those must lead through this machine (asymmetric routing); else set intercept.keep_source = false, or leave \
             `sources` of [[terminal]] out"
        );
        (Verdict::Bad, text)
    })
}

fn setting(path: &str) -> Option<String> {
    std::fs::read_to_string(Path::new("/proc/sys").join(path)).ok().map(|text| text.trim().to_string())
}

fn forwarding() -> Finding {
    let off = setting("net/ipv4/ip_forward").is_none_or(|value| value == "0");
    let text = "this machine does not route (net.ipv4.ip_forward = 0): nothing passes when the accelerator does not \
                take it; sysctl -w net.ipv4.ip_forward=1";
    finding("forwarding", off.then(|| (Verdict::Bad, text.to_string())), "this machine routes")
}

/// Strict reverse-path filters drop packets of the way that this machine would not take itself.
fn reverse_paths(interfaces: &[String]) -> Vec<Finding> {
    let all = setting("net/ipv4/conf/all/rp_filter");
    let strict = |name: &String| {
        let own = setting(&format!("net/ipv4/conf/{name}/rp_filter"));
        own.max(all.clone()).is_some_and(|value| value == "1")
    };
    let problem = interfaces.iter().find(|name| strict(name)).map(|name| {
        let text = format!(
            "{name} filters reverse paths strictly (rp_filter = 1): with asymmetric routes packets are dropped; \
             sysctl -w net.ipv4.conf.{name}.rp_filter=2"
        );
        (Verdict::Poor, text)
    });
    let missing = interfaces.iter().find(|name| !Path::new("/sys/class/net").join(name).exists());
    let absent = missing.map(|name| (Verdict::Bad, format!("there is no interface {name} (ip link)")));
    vec![
        finding("reverse paths", problem, "no strict filter"),
        finding("interfaces", absent, "all are there"),
    ]
}

/// Other programs that use the node's marks or its routing table.
fn marks(intercept: &Intercept) -> Finding {
    let Intercept { divert_mark: divert, own_mark: own, client_mark: client, confirm_mark: confirm, .. } =
        intercept;
    let all = [*divert, divert | client, divert | confirm, *own, *client];
    let problem = system::conflict(intercept, &all).map(|why| (Verdict::Bad, why));
    finding("marks", problem, "no other program uses them, nor the routing table")
}

/// Without a fixed buffer the kernel's own grows up to its limit, which may be less than the path holds.
fn buffers(name: &'static str, leg: &LegConfig) -> Vec<Finding> {
    let largest = |path| setting(path).and_then(|text| text.split_whitespace().nth(2)?.parse::<u64>().ok());
    let (send, receive) = (largest("net/ipv4/tcp_wmem"), largest("net/ipv4/tcp_rmem"));
    let Some(rate) = leg.pacing_rate else { return vec![] };
    // Two round trips of a geostationary satellite.
    let needed = rate.as_bps() / 8 * 13 / 10;
    let small = |fixed: Option<longhaul_units::Size>, kernel: Option<u64>| {
        fixed.map(|size| size.as_bytes()).or(kernel).is_some_and(|most| most < needed)
    };
    let problem = (small(leg.send_buffer, send) || small(leg.receive_buffer, receive)).then(|| {
        let text = format!(
            "at {rate} a geostationary path needs buffers of {} kB; set {name}.send_buffer and receive_buffer, \
             or raise net.ipv4.tcp_wmem and tcp_rmem",
            needed / 1000
        );
        (Verdict::Poor, text)
    });
    vec![finding("buffers", problem, "they hold two round trips of a geostationary path")]
}

/// New connections go by another hub than the preferred one.
fn other_hub(config: &Config, status: &serde_json::Value) -> Option<(Verdict, String)> {
    let preferred = config.hop.as_ref().and_then(|hop| hop.hubs().first().map(ToString::to_string))?;
    let in_use = status["tunnel"]["hub"].as_str()?;
    (in_use != preferred).then(|| {
        let text = format!(
            "new connections go by the hub {in_use}: {preferred}, which is preferred, gave no answer"
        );
        (Verdict::Poor, text)
    })
}

/// Whether what the file divides (classes, shares, quotas) is divided: over TCP it is not.
fn divided(config: &Config, status: Option<&serde_json::Value>) -> Option<Finding> {
    if !class::divides(config) {
        return None;
    }
    let over_tcp = |list: &str| -> Vec<String> {
        let all = status.and_then(|status| status[list].as_array()).into_iter().flatten();
        all.filter(|one| one["over_tcp"] == true)
            .filter_map(|one| Some(one["name"].as_str()?.to_string()))
            .collect()
    };
    let terminals = over_tcp("terminals");
    let now = if !over_tcp("classes").is_empty() {
        Some("new connections go over TCP".to_string())
    } else if !terminals.is_empty() {
        Some(format!("these terminals come over TCP: {}", terminals.join(", ")))
    } else {
        None
    };
    let let_in = "let UDP pass between both nodes, at the port of hop.listen";
    let found = now.map(|now| format!("{now}: volumes are counted, {}; {let_in}", class::NOT_OVER_TCP));
    let problem = class::without_effect(config).or(found).map(|text| (Verdict::Poor, text));
    Some(finding("classes and quotas", problem, "they hold: nothing goes over TCP"))
}

/// Bad, unless an operator or a bound of the file has it so.
fn passing(status: &serde_json::Value) -> Verdict {
    let bad = ["no_tunnel", "silent", "astray", "trial"].iter().any(|fault| status[*fault] == true);
    if bad { Verdict::Bad } else { Verdict::Poor }
}

fn words(status: &serde_json::Value) -> &str {
    status["new_connections"].as_str().unwrap_or("pass untouched")
}

/// Why new connections pass, in one line.
fn causes(status: &serde_json::Value) -> String {
    let mut all = control::texts(status, "reasons");
    if status["astray"] == true || status["trial"] == true {
        let found = control::texts(status, "causes");
        all.extend(if found.is_empty() { vec!["no cause was found"] } else { found });
    }
    all.join("; ")
}

/// What the running daemon reports.
fn daemon(config: &Config, status: Result<serde_json::Value, Error>) -> Finding {
    let hub_in_use =
        status.as_ref().ok().and_then(|status| Some(status["tunnel"]["hub"].as_str()?.to_string()));
    let problem = match status {
        Err(why) => Some((Verdict::Poor, why.to_string())),
        Ok(status) if status["no_tunnel"] == true => Some((
            Verdict::Bad,
            "the tunnel is down: compare the keys of both nodes, the hub's address, and whether UDP passes \
             (the log names the reason)"
                .to_string(),
        )),
        Ok(status) if status["ledger_balances"] == false => {
            Some((Verdict::Bad, "bytes are missing in the ledger: please report it".to_string()))
        }
        Ok(status) if status["passing"] == true && config.mode != Mode::Hub => {
            Some((passing(&status), format!("new connections {}: {}", words(&status), causes(&status))))
        }
        Ok(status) => other_hub(config, &status),
    };
    let good = match hub_in_use {
        Some(hub) => format!("it runs and takes connections, by the hub {hub}"),
        None => "it runs and takes connections".to_string(),
    };
    finding("daemon", problem, &good)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_key_is_named_with_its_remedy() {
        let found = key(Path::new("/nowhere/pep.key"));
        assert_eq!(found.verdict, Verdict::Bad);
        assert!(
            found.text.starts_with("/nowhere/pep.key: ") && found.text.contains("keygen"),
            "{}",
            found.text
        );
    }

    #[test]
    fn new_connections_that_pass_have_their_cause() {
        let config = crate::load::parse("mode = \"split\"\n[intercept]\n", "a file").unwrap();
        let found = |status: serde_json::Value| daemon(&config, Ok(status));
        let bypass = found(serde_json::json!({
            "passing": true, "bypass": true, "new_connections": "pass untouched", "reasons": ["bypass is on"]
        }));
        assert_eq!(bypass.text, "new connections pass untouched: bypass is on");
        assert_eq!(bypass.verdict, Verdict::Poor);
        let silent = found(serde_json::json!({
            "passing": true, "silent": true, "new_connections": "pass untouched", "reasons": ["the hub gives no answer"]
        }));
        assert!(
            silent.verdict == Verdict::Bad && silent.text.ends_with(": the hub gives no answer"),
            "{silent:?}"
        );
        let trial = found(serde_json::json!({
            "passing": true, "trial": true, "new_connections": "pass untouched but one", "reasons": ["none arrives"],
            "causes": ["a chain drops them"]
        }));
        assert_eq!(trial.text, "new connections pass untouched but one: none arrives; a chain drops them");
    }

    #[test]
    fn what_does_not_hold_over_tcp_is_a_finding() {
        let file = |carrier: &str, class: &str| {
            let key = "d8".repeat(32);
            let text = format!(
                "mode = \"terminal\"\n[intercept]\n[hop]\nhub = \"a:1\"\nkey = \"k\"\nhub_key = \"{key}\"\n\
                 carrier = \"{carrier}\"\n{class}"
            );
            crate::load::parse(&text, "a file").unwrap()
        };
        let crew = "[[class]]\nname = \"crew\"\nquota = \"1 GB\"\nover = \"64 kbit/s\"\n";
        let status =
            |over_tcp: bool| serde_json::json!({ "classes": [{ "name": "crew", "over_tcp": over_tcp }] });
        let found = |carrier, class, over_tcp| divided(&file(carrier, class), Some(&status(over_tcp)));
        assert_eq!(found("auto", "", true), None, "nothing is divided");
        let good = found("auto", crew, false).unwrap();
        assert_eq!(
            (good.verdict, divided(&file("auto", crew), None).unwrap().verdict),
            (Verdict::Good, Verdict::Good)
        );
        let became = found("auto", crew, true).unwrap();
        assert!(
            became.verdict == Verdict::Poor && became.text.starts_with("new connections go over TCP"),
            "{became:?}"
        );
        let always = found("tcp", crew, false).unwrap();
        assert!(
            always.verdict == Verdict::Poor && always.text.starts_with("hop.carrier is \"tcp\""),
            "{always:?}"
        );
        assert_eq!(class::without_effect(&file("tcp", "")), None);
    }

    #[test]
    fn servers_that_do_not_answer_are_a_finding() {
        let status = |missed: u64| serde_json::json!({ "accepted": 10, "ended": { "unreachable": missed } });
        assert_eq!(unanswered(&status(5)), None);
        let (verdict, text) = unanswered(&status(6)).unwrap();
        assert!(verdict == Verdict::Bad && text.contains("6 of 10"), "{text}");
    }
}
