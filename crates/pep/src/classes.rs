//! Classes of connections and shares of terminals at work: which connection belongs to which, what they have carried, who is over a
//! quota. Once a second, and when the file is read again, the hop is notified of what has changed.

use crate::allotment::Allotment;
use crate::class::{self, Class, MOST, Period, Quota, Share};
use crate::config::{Config, Key, Mode};
use crate::node::Node;
use crate::table::{Entry, InTunnel};
use crate::volumes::Volumes;
use longhaul_hop::wire::CLASSES;
use longhaul_hop::{Bounds, PeerId, Portion};
use longhaul_units::{Rate, Size};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// How often flows of terminals are looked at while nothing happens, and at most.
const LOOK: Duration = Duration::from_secs(1);
const PAUSE: Duration = Duration::from_millis(20);
/// Addresses over their quotas that `status` lists.
const LISTED: usize = 20;

/// A class or a terminal, as `status` shows it.
#[derive(Debug, Serialize)]
pub(crate) struct ShareStatus {
    pub name: String,
    /// Both directions together, over the last second.
    pub rate_bps: u64,
    pub bytes_today: u64,
    pub bytes_month: u64,
    /// Of each address of a class, or of the terminal; 0 without a quota.
    pub quota_bytes: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub period: Option<Period>,
    /// The terminal, or an address of the class, is beyond the quota.
    pub over: bool,
    /// Addresses of the class that are, the first twenty.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub over_hosts: Vec<String>,
    pub over_count: usize,
    /// Addresses of a class with a quota and what they have used of it, those with the most bytes first, twenty of them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<HostUse>,
    /// New connections go over TCP, or the terminal is reached over it: volumes are counted, and nothing is divided.
    pub over_tcp: bool,
}

/// What an address has used of its quota.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub(crate) struct HostUse {
    pub address: String,
    /// Bytes of the present period, both directions.
    pub bytes: u64,
    /// It is beyond its quota.
    pub over: bool,
}

/// What is known of them.
pub(crate) struct Classes {
    inside: Mutex<Inside>,
}

struct Inside {
    volumes: Volumes,
    /// Bytes by name since the last second, and rates of that second.
    news: BTreeMap<String, u64>,
    rates: BTreeMap<String, u64>,
    looked: Instant,
    /// Numbers in the hop of addresses beyond their quotas, by class and address.
    over: BTreeMap<(String, String), u16>,
    /// Terminals beyond theirs.
    over_terminals: BTreeSet<String>,
    /// What the hop was notified of.
    defined: BTreeMap<u16, Portion>,
    /// At a hub: flows that each terminal may have, by its key, and what each carrier was notified of.
    allotment: Allotment<[u8; 32]>,
    bounds: HashMap<u64, Bounds>,
    /// Bytes of connections to terminals by their numbers, as far as they were counted.
    counted: HashMap<u64, u64>,
    /// At a terminal: the rate that the hub has set for it.
    hub_rate: Option<Rate>,
    /// Names of terminals with a share that are reached over TCP; at a terminal with classes, one without a name while new
    /// connections go over TCP.
    over_tcp: BTreeSet<String>,
}

/// The class of a connection: its place in the file.
fn class_of(config: &Config, (client, server, dscp): (IpAddr, SocketAddr, u8)) -> Option<(usize, &Class)> {
    let client = client.to_canonical();
    config.class.iter().enumerate().find(|(_, class)| class.matches(client, server, dscp))
}

/// The class of a connection in the tunnel, with its place in the file.
fn class_in<'a>(config: &'a Config, entry: &Entry, carried: &InTunnel) -> Option<(usize, &'a Class)> {
    class_of(config, (entry.ends.client.ip(), entry.ends.server, carried.dscp))
}

/// Its number in the hop. 0 is for connections without a class.
fn number_of(index: usize) -> u16 {
    u16::try_from(index + 1).unwrap_or(0)
}

/// A number for one more address beyond its quota; as many as the hop has have one each, further ones share the last.
fn free_number(taken: &BTreeMap<(String, String), u16>) -> u16 {
    let first = number_of(MOST);
    let used: BTreeSet<u16> = taken.values().copied().collect();
    (first..CLASSES - 1).find(|number| !used.contains(number)).unwrap_or(CLASSES - 1)
}

fn until(period: Period) -> &'static str {
    match period {
        Period::Day => "midnight (UTC)",
        Period::Month => "the end of the month (UTC)",
    }
}

fn log_over(who: &str, quota: &Quota) {
    let Quota { bytes, period, over } = quota;
    let bytes = Size::from_bytes(*bytes);
    tracing::warn!(target: "quota", "{who} has used its quota of {bytes}: it has {over} in each direction until {}", until(*period));
}

impl Classes {
    /// Reads what was counted before this start.
    pub fn new(directory: Option<PathBuf>) -> Classes {
        let inside = Inside {
            volumes: Volumes::load(directory),
            news: BTreeMap::new(),
            rates: BTreeMap::new(),
            looked: Instant::now(),
            over: BTreeMap::new(),
            over_terminals: BTreeSet::new(),
            defined: BTreeMap::new(),
            allotment: Allotment::default(),
            bounds: HashMap::new(),
            counted: HashMap::new(),
            hub_rate: None,
            over_tcp: BTreeSet::new(),
        };
        Classes { inside: Mutex::new(inside) }
    }

    fn lock(&self) -> MutexGuard<'_, Inside> {
        self.inside.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Number in the hop of a connection that is opened.
    pub fn number(&self, config: &Config, client: IpAddr, server: SocketAddr, dscp: u8) -> u16 {
        match class_of(config, (client, server, dscp)) {
            None => 0,
            Some((index, class)) => self.lock().number(index, class, client),
        }
    }

    /// Counts what a connection has carried since the last time.
    pub fn count(&self, config: &Config, entry: &Entry) {
        let Some(carried) = entry.carried.get() else { return };
        let Some((_, class)) = class_in(config, entry, carried) else { return };
        let bytes = {
            let flow = entry.flow();
            flow.up.ledger().received + flow.down.ledger().received
        };
        let news = bytes.saturating_sub(entry.counted.swap(bytes, Ordering::Relaxed));
        self.lock().count(&class.name, &entry.ends.client.ip().to_canonical().to_string(), news);
    }

    /// True if a ceiling or a used-up quota slows a connection down. What others of its class do then decides how long it takes.
    pub fn slows(&self, config: &Config, entry: &Entry) -> bool {
        let Some(carried) = entry.carried.get().filter(|carried| !carried.flow.is_pooled()) else {
            return false;
        };
        let class = class_in(config, entry, carried);
        class.is_some_and(|(index, class)| self.lock().slows(index, class, entry.ends.client.ip()))
    }

    /// The rate that the hub has set for this terminal.
    pub fn hub_rate(&self) -> Option<Rate> {
        self.lock().hub_rate
    }

    /// Writes what was counted.
    pub fn save(&self) -> std::io::Result<()> {
        self.lock().volumes.save()
    }

    /// Classes and terminals of the file, with what they have carried.
    pub fn status(&self, config: &Config) -> (Vec<ShareStatus>, Vec<ShareStatus>) {
        let inside = self.lock();
        let shown =
            |name: &str, quota: Option<Quota>, over_hosts: Vec<String>, over: bool, over_tcp: bool| {
                let volume = inside.volumes.total(name);
                ShareStatus {
                    name: name.to_string(),
                    rate_bps: inside.rates.get(name).copied().unwrap_or(0),
                    bytes_today: volume.today,
                    bytes_month: volume.month,
                    quota_bytes: quota.map_or(0, |quota| quota.bytes),
                    period: quota.map(|quota| quota.period),
                    over,
                    over_count: over_hosts.len(),
                    over_hosts: over_hosts.into_iter().take(LISTED).collect(),
                    hosts: quota.map_or(vec![], |quota| inside.most_used(name, &quota)),
                    over_tcp,
                }
            };
        let class = |class: &Class| {
            let hosts = inside.over.keys().filter(|(name, _)| *name == class.name);
            let hosts: Vec<String> = hosts.map(|(_, host)| host.clone()).collect();
            let over = !hosts.is_empty();
            shown(&class.name, class.quota(), hosts, over, inside.over_tcp.contains(""))
        };
        let terminals = if config.mode == Mode::Hub { &config.terminal[..] } else { &[] };
        let terminal = |terminal: &crate::config::Terminal| {
            let over = inside.over_terminals.contains(&terminal.name);
            let over_tcp = inside.over_tcp.contains(&terminal.name);
            shown(&terminal.name, terminal.share().quota, vec![], over, over_tcp)
        };
        (config.class.iter().map(class).collect(), terminals.iter().map(terminal).collect())
    }
}

/// One line in the log when the carrier of what a file divides becomes TCP, and one when that is over.
fn log_carrier(of: &str, over_tcp: bool) {
    if over_tcp {
        tracing::warn!("{of} over TCP: volumes are counted, {}", class::NOT_OVER_TCP);
    } else {
        tracing::info!("{of} over UDP again: classes, shares and quotas hold");
    }
}

impl Inside {
    fn slows(&self, index: usize, class: &Class, client: IpAddr) -> bool {
        class.ceiling.is_some() || self.number(index, class, client) >= number_of(MOST)
    }

    /// Addresses of a class that have used most of their quotas; one that is counted with others is not known by itself.
    fn most_used(&self, name: &str, quota: &Quota) -> Vec<HostUse> {
        let mut all: Vec<(&str, u64)> =
            self.volumes.hosts(name).map(|(host, volume)| (host, volume.of(quota.period))).collect();
        all.retain(|(_, bytes)| *bytes > 0);
        all.sort_by_key(|(host, bytes)| (std::cmp::Reverse(*bytes), *host));
        let shown = |(host, bytes): (&str, u64)| HostUse {
            address: host.to_string(),
            bytes,
            over: self.over.contains_key(&(name.to_string(), host.to_string())),
        };
        all.into_iter().take(LISTED).map(shown).collect()
    }

    /// Which of them go over TCP now; returns those that have changed.
    fn follow_carriers(&mut self, over_tcp: BTreeSet<String>) -> Vec<(String, bool)> {
        let before = std::mem::replace(&mut self.over_tcp, over_tcp);
        self.over_tcp
            .symmetric_difference(&before)
            .map(|name| (name.clone(), !before.contains(name)))
            .collect()
    }

    fn number(&self, index: usize, class: &Class, client: IpAddr) -> u16 {
        if self.over.is_empty() {
            return number_of(index);
        }
        let key = (class.name.clone(), client.to_canonical().to_string());
        self.over.get(&key).copied().unwrap_or(number_of(index))
    }

    fn count(&mut self, name: &str, host: &str, bytes: u64) {
        if bytes > 0 {
            self.volumes.add(name, host, bytes);
            *self.news.entry(name.to_string()).or_default() += bytes;
        }
    }

    /// A look at the clock: periods end, and rates are those since the last look.
    fn look(&mut self, now: Instant) {
        let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        self.volumes.set_time(seconds);
        let time = now.duration_since(self.looked).as_secs_f64();
        // One after a change of the file leaves the rates to the next.
        if time > 0.5 {
            self.looked = now;
            let news = std::mem::take(&mut self.news);
            self.rates =
                news.into_iter().map(|(name, bytes)| (name, (bytes as f64 * 8.0 / time) as u64)).collect();
        }
    }

    /// Finds out which addresses of the classes are beyond their quotas.
    fn judge_hosts(&mut self, classes: &[Class]) {
        let mut over: BTreeMap<(String, String), u16> = BTreeMap::new();
        let mut new = vec![];
        for class in classes {
            let Some(quota) = class.quota() else { continue };
            let beyond =
                self.volumes.hosts(&class.name).filter(|(_, bytes)| bytes.of(quota.period) >= quota.bytes);
            for (host, _) in beyond {
                let key = (class.name.clone(), host.to_string());
                match self.over.get(&key) {
                    Some(number) => _ = over.insert(key, *number),
                    None => new.push((key, quota)),
                }
            }
        }
        for (key, quota) in new {
            log_over(&format!("{} of class \"{}\"", key.1, key.0), &quota);
            let number = free_number(&over);
            over.insert(key, number);
        }
        self.over = over;
    }

    /// All classes that the hop is to have.
    fn definitions(&self, classes: &[Class]) -> BTreeMap<u16, Portion> {
        let mut all: BTreeMap<u16, Portion> =
            classes.iter().enumerate().map(|(index, class)| (number_of(index), class.portion())).collect();
        for ((name, _), number) in &self.over {
            let class = classes.iter().find(|class| class.name == *name);
            if let Some((class, quota)) = class.and_then(|class| Some((class, class.quota()?))) {
                let ceiling = Some(quota.over);
                all.insert(*number, Portion { weight: class.weight, floor: None, ceiling });
            }
        }
        all
    }

    /// Counts a tunnel's bytes for its terminal, and returns what the terminal may have now.
    fn serve(&mut self, peer: u64, bytes: u64, name: &str, share: &Share) -> (Portion, Bounds) {
        let counted = self.counted.insert(peer, bytes).unwrap_or(0);
        self.count(name, "", bytes.saturating_sub(counted));
        let beyond = |quota: &Quota| self.volumes.total(name).of(quota.period) >= quota.bytes;
        let over = share.quota.filter(beyond);
        match over {
            Some(quota) if self.over_terminals.insert(name.to_string()) => {
                log_over(&format!("terminal \"{name}\""), &quota);
            }
            Some(_) => {}
            None => _ = self.over_terminals.remove(name),
        }
        let ceiling: Option<Rate> =
            share.portion.ceiling.into_iter().chain(over.map(|quota| quota.over)).min();
        let floor = share.portion.floor.filter(|_| over.is_none());
        let bounds = self.bounds.entry(peer).or_default();
        bounds.rate = ceiling;
        (Portion { ceiling, floor, ..share.portion }, *bounds)
    }
}

/// Counts, judges and notifies the hop of what has changed.
pub(crate) fn apply(node: &Node) {
    let (mode, config) = node.config(|config| (config.mode, config.clone()));
    match mode {
        Mode::Terminal => apply_at_terminal(node, &config),
        Mode::Hub => apply_at_hub(node, &config),
        Mode::Split => {}
    }
}

fn apply_at_terminal(node: &Node, config: &Config) {
    follow_hub(node);
    follow_carrier(node, config);
    if config.class.is_empty() && node.classes.lock().defined.is_empty() {
        return;
    }
    let alive = node.shared.table.alive();
    alive.iter().for_each(|entry| node.classes.count(config, entry));
    let mut inside = node.classes.lock();
    inside.look(Instant::now());
    inside.judge_hosts(&config.class);
    let definitions = inside.definitions(&config.class);
    if definitions != inside.defined {
        node.tunnels().for_each(|tunnel| tunnel.set_classes(definitions.clone()));
        inside.defined = definitions;
    }
    for entry in alive {
        let Some(carried) = entry.carried.get() else { continue };
        let client = entry.ends.client.ip();
        let class = class_in(config, &entry, carried);
        let number = class.map_or(0, |(index, class)| inside.number(index, class, client));
        if carried.class.swap(number, Ordering::Relaxed) != number {
            carried.tunnel.classify(carried.flow, number);
        }
        let slowed = class.is_some_and(|(index, class)| inside.slows(index, class, client));
        if slowed && !carried.flow.is_pooled() {
            entry.bounded.store(true, Ordering::Relaxed);
        }
    }
}

/// The rate that the hub sets counts as the link's; connections during which it changes had two links.
fn follow_hub(node: &Node) {
    let hub_rate = node.tunnel().and_then(|tunnel| tunnel.bound_rate());
    if std::mem::replace(&mut node.classes.lock().hub_rate, hub_rate) != hub_rate {
        node.shared.table.alive().iter().for_each(|entry| entry.bounded.store(true, Ordering::Relaxed));
    }
}

/// Over TCP nothing is divided, which the operator of a file with classes has to know.
fn follow_carrier(node: &Node, config: &Config) {
    let peer = node.tunnel().and_then(|tunnel| tunnel.peer()).filter(|_| class::divides(config));
    let Some(over_tcp) = peer.map(|peer| peer.id.is_pooled()) else {
        // Without a tunnel or classes there is no carrier; the next one is a new one.
        node.classes.lock().over_tcp.clear();
        return;
    };
    let now = over_tcp.then(String::new).into_iter().collect();
    let changes = node.classes.lock().follow_carriers(now);
    changes.iter().for_each(|(_, over_tcp)| log_carrier("new connections go", *over_tcp));
}

fn apply_at_hub(node: &Node, config: &Config) {
    let mut inside = node.classes.lock();
    inside.look(Instant::now());
    let total = config.hop.as_ref().and_then(|hop| hop.total_rate);
    let (mut present, mut over_tcp, mut over_udp) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    for tunnel in node.tunnels() {
        let mut granted = vec![];
        for (info, stats) in tunnel.peers() {
            let of = |terminal: &&crate::config::Terminal| {
                info.key.is_some_and(|key| terminal.key.contains(&Key(key)))
            };
            let Some(terminal) = config.terminal.iter().find(of) else { continue };
            let bytes = stats.sent_bytes + stats.received_bytes;
            let (portion, bounds) = inside.serve(info.id.number(), bytes, &terminal.name, &terminal.share());
            present.insert(info.id.number());
            let over = if info.id.is_pooled() { &mut over_tcp } else { &mut over_udp };
            over.extend((total.is_some() || terminal.share().bounds()).then(|| terminal.name.clone()));
            granted.push((info.id, portion, bounds));
        }
        tunnel.grant(total, &granted);
    }
    inside.counted.retain(|peer, _| present.contains(peer));
    inside.bounds.retain(|peer, _| present.contains(peer));
    let changes = inside.follow_carriers(over_tcp);
    drop(inside);
    for (name, over_tcp) in changes {
        // One that has gone comes over nothing.
        if over_tcp || over_udp.contains(&name) {
            log_carrier(&format!("terminal \"{name}\" comes"), over_tcp);
        }
    }
}

/// Notifies terminals how many flows they may have whenever that changes, for ever.
pub(crate) async fn allot(node: Arc<Node>) {
    if node.config(|config| config.mode != Mode::Hub) {
        return;
    }
    loop {
        let _ = tokio::time::timeout(LOOK, node.allotting.notified()).await;
        let flows = node.shared.table.limits().flows;
        for tunnel in node.tunnels() {
            let peers = tunnel.peers();
            let own: Vec<([u8; 32], u32)> =
                peers.iter().filter_map(|(info, stats)| Some((info.key?, stats.flows))).collect();
            let mut inside = node.classes.lock();
            let divided = inside.allotment.divide(Instant::now(), flows, &own);
            let bounds: Vec<(PeerId, Bounds)> = peers
                .iter()
                .map(|(info, _)| {
                    let bounds = inside.bounds.entry(info.id.number()).or_default();
                    bounds.flows = info.key.and_then(|key| divided.get(&key).copied());
                    (info.id, *bounds)
                })
                .collect();
            drop(inside);
            tunnel.set_bounds(bounds.into_iter());
        }
        tokio::time::sleep(PAUSE).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::parse;

    fn classes(text: &str) -> Config {
        let head = format!(
            "mode = \"terminal\"\n[intercept]\n[hop]\nhub = \"a:1\"\nkey = \"k\"\nhub_key = \"{}\"\n",
            "d8".repeat(32)
        );
        parse(&(head + text), "pep.toml").unwrap()
    }

    #[test]
    fn an_address_beyond_its_quota_has_a_class_of_its_own_until_the_day_ends() {
        let config = classes(
            "[[class]]\nname = \"shell\"\nports = [\"22\"]\n[[class]]\nname = \"crew\"\nweight = 3\nfloor = \"1 Mbit/s\"\n\
             quota = \"1 MB\"\nover = \"64 kbit/s\"\n",
        );
        let (server, shell) = ("203.0.113.1:443".parse().unwrap(), "203.0.113.1:22".parse().unwrap());
        let (seven, eight) = ("10.0.0.7".parse().unwrap(), "10.0.0.8".parse().unwrap());
        let all = Classes::new(None);
        let numbers = || {
            [(seven, server), (eight, server), (seven, shell)]
                .map(|(client, to)| all.number(&config, client, to, 0))
        };
        assert_eq!(numbers(), [2, 2, 1]);
        let judge = |seconds: u64| {
            let mut inside = all.lock();
            inside.volumes.set_time(seconds);
            inside.judge_hosts(&config.class);
            inside.definitions(&config.class)
        };
        judge(86_400);
        all.lock().count("crew", "10.0.0.7", 999_999);
        assert_eq!(judge(86_400).len(), 2);
        all.lock().count("crew", "10.0.0.7", 1);
        let own = number_of(MOST);
        let definitions = judge(86_400);
        let expected = Portion { weight: 3, floor: None, ceiling: Some(Rate::from_bps(64_000)) };
        assert_eq!((definitions[&own], definitions.len()), (expected, 3));
        assert_eq!(numbers(), [own, 2, 1], "its other class has no quota");
        let (shown, _) = all.status(&config);
        assert_eq!(
            (shown[1].over, shown[1].over_hosts.as_slice()),
            (true, ["10.0.0.7".to_string()].as_slice())
        );
        assert_eq!(
            (shown[1].quota_bytes, shown[1].bytes_today, shown[0].over),
            (1_000_000, 1_000_000, false)
        );
        let used = |address: &str, bytes, over| HostUse { address: address.into(), bytes, over };
        assert_eq!(shown[1].hosts, [used("10.0.0.7", 1_000_000, true)]);
        all.lock().count("crew", "10.0.0.8", 400_000);
        let (shown, _) = all.status(&config);
        assert_eq!(shown[1].hosts, [used("10.0.0.7", 1_000_000, true), used("10.0.0.8", 400_000, false)]);
        assert_eq!(shown[0].hosts, [], "without a quota there is no use of it");
        judge(2 * 86_400);
        assert_eq!(numbers(), [2, 2, 1], "another day");
        assert_eq!(all.status(&config).0[1].hosts, []);
    }

    /// How long such a connection takes is the operator's doing, and no time that the node saves or costs.
    #[test]
    fn ceilings_and_used_up_quotas_slow_connections_down() {
        let config = classes(
            "[[class]]\nname = \"bulk\"\nports = [\"8001\"]\nceiling = \"2 Mbit/s\"\n\
             [[class]]\nname = \"crew\"\nquota = \"1 MB\"\nover = \"64 kbit/s\"\n",
        );
        let all = Classes::new(None);
        let slows = |client: &str, server: &str| {
            let client = client.parse().unwrap();
            let (index, class) = class_of(&config, (client, server.parse().unwrap(), 0)).unwrap();
            all.lock().slows(index, class, client)
        };
        let server = "203.0.113.1:443";
        assert!(slows("10.0.0.7", "203.0.113.1:8001") && !slows("10.0.0.7", server));
        let mut inside = all.lock();
        inside.volumes.set_time(86_400);
        inside.count("crew", "10.0.0.7", 1_000_000);
        inside.judge_hosts(&config.class);
        drop(inside);
        assert!(slows("10.0.0.7", server) && !slows("10.0.0.8", server));
    }

    #[test]
    fn a_change_of_the_carrier_is_one_line() {
        let all = Classes::new(None);
        let mut inside = all.lock();
        let names = |names: &[&str]| names.iter().map(ToString::to_string).collect::<BTreeSet<String>>();
        assert_eq!(inside.follow_carriers(names(&["b"])), [("b".to_string(), true)]);
        assert_eq!(inside.follow_carriers(names(&["b"])), []);
        assert_eq!(
            inside.follow_carriers(names(&["a"])),
            [("a".to_string(), true), ("b".to_string(), false)]
        );
        assert_eq!(inside.over_tcp, names(&["a"]));
    }

    #[test]
    fn a_terminal_beyond_its_quota_has_what_is_left_in_both_directions() {
        let all = Classes::new(None);
        let quota = Quota { bytes: 1000, period: Period::Month, over: Rate::from_bps(100_000) };
        let share = Share {
            portion: Portion {
                weight: 2,
                floor: Some(Rate::from_bps(1_000_000)),
                ceiling: Some(Rate::from_bps(5_000_000)),
            },
            quota: Some(quota),
        };
        let mut inside = all.lock();
        let peer = |bytes: u64, inside: &mut Inside| inside.serve(7, bytes, "ship", &share);
        let (portion, bounds) = peer(999, &mut inside);
        assert_eq!((portion, bounds.rate), (share.portion, share.portion.ceiling));
        let (portion, bounds) = peer(1000, &mut inside);
        assert_eq!((portion.floor, portion.ceiling, bounds.rate), (None, Some(quota.over), Some(quota.over)));
        assert!(inside.over_terminals.contains("ship"));
        // The connection is a new one, with counters from zero; what was counted stays.
        inside.counted.clear();
        peer(5, &mut inside);
        assert_eq!(inside.volumes.total("ship").month, 1005);
    }

    #[test]
    fn more_addresses_than_the_hop_has_numbers_share_the_last() {
        let taken = |count: u16| {
            (0..count).map(|n| (("crew".to_string(), n.to_string()), number_of(MOST) + n)).collect()
        };
        assert_eq!(free_number(&taken(0)), 65);
        assert_eq!(free_number(&taken(10)), 75);
        assert_eq!(free_number(&taken(CLASSES - 65)), CLASSES - 1);
    }
}
