//! The emulator under the names of Mahimahi's commands (Netravali et al., USENIX ATC 2015; mm-delay(1), mm-loss(1), mm-link(1)), with
//! their arguments and their meaning: a path of one or more links between a command and this machine's network.
//!
//! A command that is one of these again is a further link of the same path: what Mahimahi does with a shell in a shell.

pub mod log;

use log::LogSpec;
use longhaul_path::Opportunities;
use serde_json::json;
use std::path::Path;

/// The node where the command runs, and the one that leads to this machine's network.
pub const INSIDE: &str = "inside";
/// See above.
pub const OUTSIDE: &str = "outside";
/// Names of the directions in Mahimahi's logs.
const UPLINK: &str = "Uplink";
const DOWNLINK: &str = "Downlink";
/// A rate at which nothing takes time, and a queue that is never full.
const AT_ONCE: &str = "1000 Tbit/s";
const ENDLESS: u64 = 1_000_000_000;

/// What was asked for.
#[derive(Debug)]
pub struct Request {
    /// The scenario, as a document.
    pub scenario: String,
    /// Logs of links.
    pub logs: Vec<LogSpec>,
    /// What the prompt begins with: `[delay 20 ms] [link] `.
    pub prefix: String,
    /// The command and its arguments; empty for a shell.
    pub command: Vec<String>,
}

/// One link of the path.
#[derive(Clone, PartialEq, Debug)]
enum Stage {
    Delay { ms: u64 },
    Loss { up: bool, text: String, probability: f64 },
    Link(Box<[Direction; 2]>, bool),
}

/// One direction of a link with a schedule.
#[derive(Clone, PartialEq, Debug, Default)]
struct Direction {
    trace: String,
    kind: String,
    arguments: String,
    log: Option<String>,
}

/// True if this is the name of one of the commands, with or without a directory.
pub fn is_name(program: &str) -> bool {
    ["mm-delay", "mm-loss", "mm-link"].contains(&base(program))
}

fn base(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

/// Reads a command line that begins with one of the names.
///
/// # Errors
/// What is wrong with it, in words.
pub fn read(line: &[String]) -> Result<Request, String> {
    let (mut stages, mut rest) = (vec![], line);
    while let Some((program, arguments)) = rest.split_first().filter(|(program, _)| is_name(program)) {
        let (stage, command) = match base(program) {
            "mm-delay" => delay(arguments)?,
            "mm-loss" => loss(arguments)?,
            _ => link(arguments)?,
        };
        stages.push(stage);
        rest = command.strip_prefix(&["--".to_string()]).unwrap_or(command);
    }
    let prefix = stages.iter().map(Stage::prefix).collect::<String>();
    let command_line: Vec<String> =
        line.iter().map(|word| format!("'{}'", word.replace('\'', "'\\''"))).collect();
    let mut links = vec![];
    let mut logs = vec![];
    let count = stages.len();
    // What is named last is nearest to the command.
    for (number, stage) in stages.iter().rev().enumerate() {
        let node = |number: usize| match number {
            0 => INSIDE.to_string(),
            number if number == count => OUTSIDE.to_string(),
            number => format!("between-{number}"),
        };
        let name = format!("{}-{number}", stage.name());
        links.push(format!(
            "[[link]]\nname = {}\nends = [{}, {}]\n{}",
            json!(name),
            json!(node(number)),
            json!(node(number + 1)),
            stage.settings()?
        ));
        logs.extend(stage.logs(&name, &command_line.join(" "), &prefix)?);
    }
    // Long enough for any shell; it ends with its command.
    let head = format!("name = {}\n[run]\nduration = \"2000 h\"\n", json!(prefix.trim()));
    let flow = format!("[[flow]]\nfrom = \"{OUTSIDE}\"\nto = \"{INSIDE}\"\n");
    Ok(Request { scenario: format!("{head}{}{flow}", links.concat()), logs, prefix, command: rest.to_vec() })
}

fn delay(arguments: &[String]) -> Result<(Stage, &[String]), String> {
    let usage = "usage: mm-delay delay-milliseconds [command...]";
    let (ms, command) = arguments.split_first().ok_or(usage)?;
    let ms = ms.parse().map_err(|_| format!("{ms} is no whole number of milliseconds; {usage}"))?;
    Ok((Stage::Delay { ms }, command))
}

fn loss(arguments: &[String]) -> Result<(Stage, &[String]), String> {
    let usage = "usage: mm-loss uplink|downlink RATE [command...]";
    let [direction, rate, command @ ..] = arguments else { return Err(usage.to_string()) };
    let up = match &direction[..] {
        "uplink" => true,
        "downlink" => false,
        other => return Err(format!("{other} is neither uplink nor downlink; {usage}")),
    };
    let probability = rate.parse().ok().filter(|rate| (0.0..=1.0).contains(rate));
    let probability =
        probability.ok_or_else(|| format!("the loss rate is between 0 and 1, not {rate}; {usage}"))?;
    Ok((Stage::Loss { up, text: rate.clone(), probability }, command))
}

/// Options may stand before, between and behind the two files, up to `--` or the command, as getopt_long(3) has it in Mahimahi but that
/// what follows the command's name is the command's.
fn link(arguments: &[String]) -> Result<(Stage, &[String]), String> {
    let usage = "usage: mm-link UPLINK-TRACE DOWNLINK-TRACE [--once] [--uplink-log=FILE] [--downlink-log=FILE] \
                 [--uplink-queue=infinite|droptail|drophead|codel|pie] [--uplink-queue-args=NAME=NUMBER,...] \
                 [--downlink-queue=...] [--downlink-queue-args=...] [command...]";
    let (mut sides, mut once, mut files) = ([Direction::default(), Direction::default()], false, 0);
    let mut rest = arguments;
    while let Some((word, behind)) = rest.split_first() {
        if word == "--" {
            break;
        }
        let Some(option) = word.strip_prefix('-').filter(|option| !option.is_empty()) else {
            if files == 2 {
                break;
            }
            sides[files].trace.clone_from(word);
            files += 1;
            rest = behind;
            continue;
        };
        rest = behind;
        let (name, inline) = match option.strip_prefix('-') {
            Some(long) => match long.split_once('=') {
                Some((name, value)) => (name, Some(value.to_string())),
                None => (long, None),
            },
            // -uFILE or -u FILE.
            None => (
                &option[..option.chars().next().map_or(0, char::len_utf8)],
                Some(option.chars().skip(1).collect()),
            ),
        };
        let inline = inline.filter(|value| option.starts_with('-') || !value.is_empty());
        if name == "once" {
            once = true;
            continue;
        }
        if name.starts_with("meter-") {
            return Err(format!(
                "{word}: there are no windows with graphs; `longhaul-emu status --live` shows links"
            ));
        }
        if !VALUED.contains(&name) {
            return Err(format!("{word}: there is no such option; {usage}"));
        }
        let value = match inline {
            Some(value) => value,
            None => {
                let (value, behind) =
                    rest.split_first().ok_or_else(|| format!("{word} takes a value; {usage}"))?;
                rest = behind;
                value.clone()
            }
        };
        let side = &mut sides[usize::from(name.starts_with('d'))];
        match name.rsplit('-').next() {
            Some("queue") => side.kind = value,
            Some("args") => side.arguments = value,
            _ => side.log = Some(value),
        }
    }
    if files < 2 {
        return Err(usage.to_string());
    }
    Ok((Stage::Link(Box::new(sides), once), rest))
}

/// Options that take a value; `u` and `d` are short for the logs.
const VALUED: [&str; 8] = [
    "u",
    "d",
    "uplink-log",
    "downlink-log",
    "uplink-queue",
    "downlink-queue",
    "uplink-queue-args",
    "downlink-queue-args",
];

impl Stage {
    fn name(&self) -> &'static str {
        match self {
            Stage::Delay { .. } => "delay",
            Stage::Loss { .. } => "loss",
            Stage::Link(..) => "link",
        }
    }

    fn prefix(&self) -> String {
        match self {
            Stage::Delay { ms } => format!("[delay {ms} ms] "),
            Stage::Loss { up, text, .. } => format!("[loss {}={text}] ", if *up { "up" } else { "down" }),
            Stage::Link(..) => "[link] ".to_string(),
        }
    }

    /// Settings of the link in a scenario: forward is from the command to the network.
    fn settings(&self) -> Result<String, String> {
        let plain = |delay: u64| {
            format!("rate = \"{AT_ONCE}\"\ndelay = \"{delay} ms\"\nqueue = \"{ENDLESS} packets\"\n")
        };
        Ok(match self {
            Stage::Delay { ms } => plain(*ms),
            Stage::Loss { up, probability, .. } => {
                let side = if *up { "forward" } else { "reverse" };
                format!("{}{side} = {{ loss = {probability:?} }}\n", plain(0))
            }
            Stage::Link(sides, once) => {
                let [up, down] = &**sides;
                let (up, down) = (up.settings(*once)?, down.settings(*once)?);
                format!("delay = \"0 ms\"\nforward = {{ {up} }}\nreverse = {{ {down} }}\n")
            }
        })
    }

    fn logs(&self, link: &str, command_line: &str, prefix: &str) -> Result<Vec<LogSpec>, String> {
        let Stage::Link(sides, once) = self else { return Ok(vec![]) };
        let mut logs = vec![];
        for (direction, (side, name)) in sides.iter().zip([("forward", UPLINK), ("reverse", DOWNLINK)]) {
            let Some(file) = &direction.log else { continue };
            logs.push(LogSpec {
                link: format!("{link}.{side}"),
                file: file.into(),
                head: format!(
                    "# mahimahi mm-link ({name}) [{}] > {file}\n# command line: {command_line}\n# queue: {}\n",
                    direction.trace,
                    direction.queue_in_words()
                ),
                config: prefix.to_string(),
                at: opportunities(&direction.trace)?,
                once: *once,
                leaves_at_front: ["drophead", "codel"].contains(&&direction.kind[..]),
            });
        }
        Ok(logs)
    }
}

/// The times of a schedule in ms.
fn opportunities(file: &str) -> Result<Vec<u64>, String> {
    let text = std::fs::read_to_string(file).map_err(|why| format!("{file}: {why}"))?;
    let mut at = vec![];
    for (number, line) in text.lines().enumerate() {
        let ms = line
            .trim()
            .parse::<u64>()
            .map_err(|_| format!("{file}, line {}: no whole number of ms: {line:?}", number + 1))?;
        if at.last().is_some_and(|last| *last > ms) {
            return Err(format!("{file}, line {}: times must not fall", number + 1));
        }
        at.push(ms);
    }
    match at.last() {
        None => Err(format!("{file}: there is no time in it")),
        Some(0) => Err(format!("{file}: it must last for more than 0 ms")),
        Some(_) => Ok(at),
    }
}

impl Direction {
    fn settings(&self, once: bool) -> Result<String, String> {
        let at = opportunities(&self.trace)?;
        let file =
            std::path::absolute(Path::new(&self.trace)).map_err(|why| format!("{}: {why}", self.trace))?;
        let file = json!(file.to_str().ok_or_else(|| format!("{}: its name is no text", self.trace))?);
        let length = at.last().copied().unwrap_or_default();
        // Behind its end nothing leaves any more.
        let over = if once {
            format!(", outages = [{{ start = \"{length}.000001 ms\", duration = \"800000 h\" }}]")
        } else {
            String::new()
        };
        Ok(format!(
            "queue = {}, trace = {{ rate = {{ file = {file}, format = \"mahimahi\" }} }}{over}",
            self.queue()?
        ))
    }

    /// The arguments of a queue by their names.
    fn argument(&self, name: &str) -> Result<Option<u64>, String> {
        for pair in self.arguments.split(',').map(str::trim).filter(|pair| !pair.is_empty()) {
            let (key, value) =
                pair.split_once('=').ok_or_else(|| format!("{pair}: a queue takes NAME=NUMBER"))?;
            let number = value.trim().parse().map_err(|_| format!("{pair}: {value} is no whole number"))?;
            if key.trim() == name {
                return Ok(Some(number));
            }
        }
        Ok(None)
    }

    fn queue(&self) -> Result<String, String> {
        let limit = || {
            Ok::<String, String>(match (self.argument("packets")?, self.argument("bytes")?) {
                (Some(packets), None) => format!("{packets} packets"),
                (None, Some(bytes)) => format!("{bytes} B"),
                (None, None) => {
                    return Err(format!("a {} queue takes packets=NUMBER or bytes=NUMBER", self.kind));
                }
                (Some(_), Some(_)) => {
                    return Err(format!("a {} queue has one limit here: packets or bytes", self.kind));
                }
            })
        };
        let time = |name: &str| {
            self.argument(name)?
                .map(|ms| format!("{ms} ms"))
                .ok_or_else(|| format!("a {} queue takes {name}=MILLISECONDS", self.kind))
        };
        Ok(match &self.kind[..] {
            "" | "infinite" => format!("{{ kind = \"droptail\", limit = \"{ENDLESS} packets\" }}"),
            "droptail" => format!("{{ kind = \"droptail\", limit = \"{}\" }}", limit()?),
            "drophead" => format!("{{ kind = \"head_drop\", limit = \"{}\" }}", limit()?),
            "codel" => format!(
                "{{ kind = \"codel\", limit = \"{}\", target = \"{}\", interval = \"{}\" }}",
                limit()?,
                time("target")?,
                time("interval")?
            ),
            "pie" => format!(
                "{{ kind = \"pie\", limit = \"{}\", target = \"{}\", max_burst = \"{}\" }}",
                limit()?,
                time("qdelay_ref")?,
                time("max_burst")?
            ),
            other => return Err(format!("{other} is no queue: infinite, droptail, drophead, codel, pie")),
        })
    }

    fn queue_in_words(&self) -> String {
        let kind = if self.kind.is_empty() { "infinite" } else { &self.kind };
        if self.arguments.is_empty() { kind.to_string() } else { format!("{kind} [{}]", self.arguments) }
    }
}

/// Bytes of an opportunity.
pub(crate) const OPPORTUNITY: u32 = Opportunities::MAHIMAHI;

#[cfg(test)]
mod tests {
    use super::*;
    use longhaul_path::{Outage, QueueSpec};
    use longhaul_scenario::{Network, Scenario};
    use longhaul_units::{Duration, Limit};
    use std::path::PathBuf;

    /// A schedule of 12 Mbit/s; removed at the end.
    struct Schedule(PathBuf);

    impl Schedule {
        fn new(name: &str) -> Schedule {
            let place = std::env::temp_dir().join(format!("longhaul-mm-{}-{name}", std::process::id()));
            std::fs::write(&place, "1\n2\n3\n").unwrap();
            Schedule(place)
        }
    }

    impl Drop for Schedule {
        fn drop(&mut self) {
            let _ = std::fs::remove_file(&self.0);
        }
    }

    fn words(line: &str) -> Vec<String> {
        line.split_whitespace().map(str::to_string).collect()
    }

    fn scenario(request: &Request) -> Scenario {
        longhaul_scenario::load(&request.scenario, "mm", &[])
            .unwrap_or_else(|error| panic!("{error}\n{}", request.scenario))
    }

    #[test]
    fn names_are_known_by_their_last_part() {
        assert!(is_name("mm-delay") && is_name("/usr/local/bin/mm-link") && is_name("./mm-loss"));
        assert!(!is_name("mm-onoff") && !is_name("longhaul-emu") && !is_name(""));
    }

    #[test]
    fn a_delay_is_one_way_and_in_both_directions() {
        let request = read(&words("mm-delay 20 ping -c 1 host")).unwrap();
        assert_eq!(
            (&request.command[..], &request.prefix[..]),
            (&words("ping -c 1 host")[..], "[delay 20 ms] ")
        );
        let network = Network::new(&scenario(&request));
        assert!(network.links.iter().all(|link| link.config.delay == Duration::from_millis(20)));
        // A thousand packets at once wait nowhere, as reports about netem's limit would have it.
        assert!(
            network
                .links
                .iter()
                .all(|link| link.config.queue == QueueSpec::droptail(Limit::Packets(ENDLESS)))
        );
    }

    /// What is named first is the outermost.
    #[test]
    fn a_path_behind_a_path_is_one_path_from_the_command_outwards() {
        let trace = Schedule::new("nested");
        let file = trace.0.display();
        let request = read(&words(&format!(
            "mm-delay 20 mm-loss downlink 0.1 mm-link --once {file} {file} --uplink-queue=droptail --uplink-queue-args=packets=7 \
             --downlink-log /tmp/log -- sh -c x"
        )))
        .unwrap();
        assert_eq!(request.command, words("sh -c x"));
        assert_eq!(request.prefix, "[delay 20 ms] [loss down=0.1] [link] ");
        let network = Network::new(&scenario(&request));
        let way: Vec<&str> = network
            .links
            .iter()
            .map(|link| &link.name[..])
            .filter(|name| name.ends_with("forward"))
            .collect();
        assert_eq!(way, ["link-0.forward", "loss-1.forward", "delay-2.forward"]);
        let link = |name: &str| &network.links.iter().find(|link| link.name == name).unwrap().config;
        assert_eq!(link("link-0.forward").queue, QueueSpec::droptail(Limit::Packets(7)));
        assert_eq!(link("loss-1.reverse").loss.map(|loss| loss.mean_loss(1500)), Some(0.1));
        assert!(link("loss-1.forward").loss.is_none());
        let [Outage { start, .. }] = link("link-0.forward").outages[..] else { panic!("it ends once") };
        assert_eq!(start, Duration::from_nanos(3_000_001));
        assert_eq!(request.logs.len(), 1);
        assert_eq!((&request.logs[0].link[..], &request.logs[0].at[..]), ("link-0.reverse", &[1, 2, 3][..]));
    }

    /// `--` or the command's name ends the options: what follows is the command's.
    #[test]
    fn options_of_the_command_are_its_own() {
        let trace = Schedule::new("options");
        let file = trace.0.display();
        for line in
            [format!("mm-link {file} {file} ls --once"), format!("mm-link {file} {file} -- ls --once")]
        {
            let request = read(&words(&line)).unwrap();
            assert_eq!(request.command, words("ls --once"));
            assert!(!request.scenario.contains("outages"));
        }
        let request = read(&words(&format!("mm-link -u up.log {file} {file}"))).unwrap();
        assert!(request.command.is_empty() && request.logs[0].file == Path::new("up.log"));
    }

    #[test]
    fn queues_are_those_of_mahimahi() {
        let trace = Schedule::new("queues");
        let file = trace.0.display();
        let queue = |options: &str| {
            let request = read(&words(&format!("mm-link {file} {file} {options}")))?;
            Ok::<QueueSpec, String>(
                Network::new(&scenario(&request)).links[longhaul_units::LinkId(0)].config.queue,
            )
        };
        let with = |kind: &str, arguments: &str| {
            queue(&format!("--uplink-queue={kind} --uplink-queue-args={arguments}"))
        };
        assert_eq!(
            with("droptail", "bytes=15000"),
            Ok(QueueSpec::droptail(Limit::Bytes(longhaul_units::Size::from_bytes(15_000))))
        );
        assert_eq!(with("drophead", "packets=3").unwrap().name(), "head_drop");
        assert_eq!(with("codel", "packets=9,target=5,interval=100").unwrap().name(), "codel");
        assert_eq!(with("pie", "packets=9,qdelay_ref=20,max_burst=10").unwrap().name(), "pie");
        for (kind, arguments, why) in [
            ("droptail", "", "a droptail queue takes packets=NUMBER or bytes=NUMBER"),
            ("droptail", "packets=1,bytes=1", "a droptail queue has one limit here: packets or bytes"),
            ("codel", "packets=9", "a codel queue takes target=MILLISECONDS"),
            ("red", "", "red is no queue: infinite, droptail, drophead, codel, pie"),
            ("droptail", "packets=many", "packets=many: many is no whole number"),
        ] {
            assert_eq!(with(kind, arguments).unwrap_err(), why);
        }
    }

    #[test]
    fn what_is_wrong_is_one_message() {
        for (line, why) in [
            ("mm-delay", "usage: mm-delay delay-milliseconds [command...]"),
            ("mm-delay soon", "soon is no whole number of milliseconds"),
            ("mm-delay -5", "-5 is no whole number of milliseconds"),
            ("mm-loss uplink", "usage: mm-loss uplink|downlink RATE [command...]"),
            ("mm-loss up 0.1", "up is neither uplink nor downlink"),
            ("mm-loss uplink 1.5", "the loss rate is between 0 and 1, not 1.5"),
            ("mm-link one", "usage: mm-link UPLINK-TRACE DOWNLINK-TRACE"),
            ("mm-link /nowhere /nowhere", "/nowhere: No such file"),
            ("mm-link a b --meter-all", "--meter-all: there are no windows"),
            ("mm-link a b --upload-log=x", "--upload-log=x: there is no such option"),
            ("mm-delay 5 mm-loss uplink 2", "the loss rate is between 0 and 1, not 2"),
        ] {
            let said = read(&words(line)).unwrap_err();
            assert!(said.starts_with(why), "{line}: {said}");
        }
        let bad = Schedule::new("bad");
        for (text, why) in [
            ("", "there is no time"),
            ("0\n", "more than 0 ms"),
            ("3\n2\n", "line 2: times must not fall"),
            ("x\n", "line 1: no whole"),
        ] {
            std::fs::write(&bad.0, text).unwrap();
            let said = read(&words(&format!("mm-link {0} {0}", bad.0.display()))).unwrap_err();
            assert!(said.contains(why), "{text:?}: {said}");
        }
    }
}
