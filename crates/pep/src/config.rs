//! The configuration file: what there is to set, with defaults and meaning. [`crate::load`] reads and checks it.

pub use crate::class::{Class, Period};
pub use crate::destinations::Destinations;
pub use crate::hub_name::HubName;
use crate::prefix::{Ports, Prefix};
use longhaul_units::{Duration, Rate, Size};
use serde::{Deserialize, Serialize};
use std::net::SocketAddr;
use std::path::PathBuf;

/// What a node does.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// One node: connections of clients end here, and others to the servers begin here.
    Split,
    /// The node at the clients, of two.
    Terminal,
    /// The node at the servers, of two.
    Hub,
}

/// The whole file.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// What this node does.
    pub mode: Mode,
    /// Which connections are taken from the routed traffic; without this table, none.
    pub intercept: Option<Intercept>,
    /// Address of a SOCKS5 proxy for those who do not route through this node.
    pub socks: Option<SocketAddr>,
    /// Address of an HTTP proxy (CONNECT only).
    pub http_connect: Option<SocketAddr>,
    /// Fixed forwards: what comes in at one address goes to another.
    #[serde(default)]
    pub forward: Vec<Forward>,
    /// Bounds on what this node takes on.
    #[serde(default)]
    pub limits: Limits,
    /// When connections are given up.
    #[serde(default)]
    pub timeouts: Timeouts,
    /// TCP towards the clients.
    #[serde(default)]
    pub client_leg: LegConfig,
    /// TCP towards the servers.
    #[serde(default)]
    pub server_leg: LegConfig,
    /// Where this node may connect to.
    #[serde(default)]
    pub destinations: Destinations,
    /// The tunnel between the two nodes, with `mode = "terminal"` or `"hub"`.
    pub hop: Option<Hop>,
    /// The terminals that a hub serves.
    #[serde(default)]
    pub terminal: Vec<Terminal>,
    /// Classes of connections, at a terminal: shares of the tunnel, and volumes.
    #[serde(default)]
    pub class: Vec<Class>,
    /// The class of a client's packets (DSCP, of its first one) is given to those to the server, and to the answers.
    #[serde(default = "yes")]
    pub dscp: bool,
    /// Control socket.
    #[serde(default = "control_path")]
    pub control: PathBuf,
    /// Address of the metrics, on loopback only; without it there are none.
    pub metrics: Option<SocketAddr>,
    /// A web page for this machine's operator; without this table there is none.
    pub page: Option<Page>,
    /// Form of the log.
    #[serde(default)]
    pub log: Log,
    /// What the daemon gives up after its start.
    #[serde(default)]
    pub sandbox: Sandbox,
}

/// What the daemon gives up after its start, so that whoever takes it over gains little. All is on; switch a part off if it
/// gets in the way, and please report that.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Sandbox {
    /// All capabilities but those for addresses of others, low ports and the settings of the legs.
    pub capabilities: bool,
    /// All system calls but those for connections, memory, threads and time (seccomp).
    pub calls: bool,
    /// All files but its own (landlock, where the kernel has it).
    pub files: bool,
}

impl Default for Sandbox {
    fn default() -> Sandbox {
        Sandbox { capabilities: true, calls: true, files: true }
    }
}

/// The page for operators.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Page {
    /// Where it is: an address on loopback with its port, or the path of a socket (`/run/longhaul-pep/page.sock`), which only root can open.
    pub listen: PageAddress,
}

/// Where the page is.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize, Serialize)]
#[serde(try_from = "String", into = "String")]
pub enum PageAddress {
    /// An address on loopback.
    Loopback(SocketAddr),
    /// A Unix socket.
    Socket(PathBuf),
}

impl PageAddress {
    /// The port, unless another is chosen.
    pub const PORT: u16 = 7716;
    /// The port of the set-up, beside which a daemon has its page.
    pub const SETUP_PORT: u16 = 7717;
}

impl Default for PageAddress {
    fn default() -> PageAddress {
        PageAddress::Loopback(([127, 0, 0, 1], PageAddress::PORT).into())
    }
}

impl TryFrom<String> for PageAddress {
    type Error = String;

    fn try_from(text: String) -> Result<PageAddress, String> {
        if text.starts_with('/') {
            return Ok(PageAddress::Socket(text.into()));
        }
        match text.parse::<SocketAddr>() {
            Ok(at) if at.ip().is_loopback() && at.port() > 0 => Ok(PageAddress::Loopback(at)),
            Ok(at) => Err(format!(
                "{at} is not on loopback; the page changes this machine, write \"127.0.0.1:7716\" and reach it by `ssh -L`"
            )),
            Err(_) => Err(format!(
                "\"{text}\" is neither an address on loopback, as in \"127.0.0.1:7716\", nor the path of a socket, as in \
                 \"/run/longhaul-pep/page.sock\""
            )),
        }
    }
}

impl From<PageAddress> for String {
    fn from(at: PageAddress) -> String {
        at.to_string()
    }
}

impl std::fmt::Display for PageAddress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            PageAddress::Loopback(at) => write!(f, "{at}"),
            PageAddress::Socket(path) => write!(f, "{}", path.display()),
        }
    }
}

pub(crate) fn control_path() -> PathBuf {
    "/run/longhaul-pep/control.sock".into()
}

/// Interception of routed connections (TPROXY).
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Intercept {
    /// Interfaces at which clients come in; empty: any but loopback.
    pub interfaces: Vec<String>,
    /// Ports of servers whose connections are accelerated.
    pub ports: Vec<Ports>,
    /// Ports to leave alone.
    pub except_ports: Vec<Ports>,
    /// Networks of clients; empty: all.
    pub sources: Vec<Prefix>,
    /// Clients to leave alone.
    pub except_sources: Vec<Prefix>,
    /// Networks of servers; empty: all.
    pub destinations: Vec<Prefix>,
    /// Servers to leave alone.
    pub except_destinations: Vec<Prefix>,
    /// Take connections to directly connected networks too, and to servers that are routed by another interface than the hub's; at a
    /// terminal these are left alone.
    pub local: bool,
    /// Ports at which a client is answered after the server has answered, one round trip later: refusals are then true.
    pub confirm: Vec<Ports>,
    /// Connect to servers from the client's own address and port.
    pub keep_source: bool,
    /// Port of the transparent listener, on loopback.
    pub port: u16,
    /// Port of the listener that takes openings at those ports, on loopback.
    pub confirm_port: u16,
    /// Bit of the packet mark for packets that belong to sockets of this machine.
    pub divert_mark: u32,
    /// Bit of the packet mark on what this node sends to servers.
    pub own_mark: u32,
    /// Bit of the packet mark on what this node sends to intercepted clients.
    pub client_mark: u32,
    /// Bit of the packet mark on openings at ports to confirm.
    pub confirm_mark: u32,
    /// Number of the routing table that delivers marked packets locally.
    pub table: u32,
    /// Number of the first of three routing rules for marked packets, which stand in front of ordinary ones; 1 to 32763.
    pub priority: u32,
    /// Packets of intercepted clients bypass connection tracking on their side. If not, they are tracked in a zone of their own (with
    /// the number of `table`), for firewalls that admit what is tracked only. Either way NAT works on the servers' side.
    pub untracked: bool,
}

impl Config {
    /// The rules of this node, if it has some. A hub takes nothing in, but finds what servers send to its clients' addresses where a
    /// terminal has `sources`.
    pub(crate) fn rules(&self) -> Option<Intercept> {
        if self.mode != Mode::Hub {
            return self.intercept.clone();
        }
        let binds = self.terminal.iter().any(|terminal| !terminal.sources.is_empty());
        binds.then(|| self.intercept.clone().unwrap_or_default())
    }
}

impl Default for Intercept {
    fn default() -> Intercept {
        Intercept {
            interfaces: vec![],
            ports: vec![Ports { first: 1, last: 65535 }],
            except_ports: vec![Ports { first: 22, last: 22 }],
            sources: vec![],
            except_sources: vec![],
            destinations: vec![],
            except_destinations: vec![],
            local: false,
            confirm: vec![],
            keep_source: true,
            port: 7713,
            confirm_port: 7715,
            divert_mark: 0x1_0000,
            own_mark: 0x2_0000,
            client_mark: 0x4_0000,
            confirm_mark: 0x8_0000,
            table: 7713,
            priority: 1,
            untracked: true,
        }
    }
}

/// A fixed forward.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Forward {
    /// Where clients connect to.
    pub listen: SocketAddr,
    /// Where their connections go.
    pub to: SocketAddr,
}

/// Bounds.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// Connections at a time. More pass untouched.
    pub flows: usize,
    /// Connections at a time of one client address.
    pub flows_per_source: usize,
    /// New intercepted connections a second, in the long run. More pass untouched.
    pub new_per_second: u32,
    /// Bytes that this process holds for connections, besides the kernel's socket buffers.
    pub memory: Size,
}

impl Limits {
    /// Connections at a time, in any case. A hub takes an eighth more: those that have ended at the terminal may still close here.
    pub fn most(&self, at_hub: bool) -> usize {
        self.flows + if at_hub { self.flows / 8 } else { 0 }
    }
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            flows: 10_000,
            flows_per_source: 2_000,
            new_per_second: 2_000,
            memory: Size::from_bytes(512 << 20),
        }
    }
}

/// When connections are given up.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Timeouts {
    /// To open a connection to a server.
    pub connect: Duration,
    /// Without a byte in either direction, both directions open.
    pub idle: Duration,
    /// The same after one direction has ended.
    pub half_closed: Duration,
    /// For the last bytes to be acknowledged after both directions have ended.
    pub closing: Duration,
    /// Silence after which the kernel sends keepalive probes.
    pub keepalive: Duration,
    /// `drain` and a stop wait for connections as long as this.
    pub drain: Duration,
}

impl Default for Timeouts {
    fn default() -> Timeouts {
        Timeouts {
            connect: Duration::from_secs(30),
            idle: Duration::from_secs(2 * 3600 + 240),
            half_closed: Duration::from_secs(600),
            closing: Duration::from_secs(120),
            keepalive: Duration::from_secs(120),
            drain: Duration::from_secs(30),
        }
    }
}

/// TCP of one leg. What is not set is left to the kernel.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct LegConfig {
    /// Congestion control, by the kernel's name.
    pub congestion: Option<String>,
    /// Most that one connection sends in a second (`SO_MAX_PACING_RATE`).
    pub pacing_rate: Option<Rate>,
    /// Fixed send buffer. Two bandwidth-delay products fill a path.
    pub send_buffer: Option<Size>,
    /// Fixed receive buffer.
    pub receive_buffer: Option<Size>,
    /// Unsent bytes that the kernel takes from this node (`TCP_NOTSENT_LOWAT`).
    pub unsent: Option<Size>,
}

/// What carries the tunnel's bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Carrier {
    /// QUIC where UDP passes, else TCP connections to the same port.
    #[default]
    Auto,
    /// QUIC over UDP only.
    Quic,
    /// TCP connections only.
    Tcp,
}

impl std::str::FromStr for Carrier {
    type Err = String;

    fn from_str(text: &str) -> Result<Carrier, String> {
        match text {
            "auto" => Ok(Carrier::Auto),
            "quic" => Ok(Carrier::Quic),
            "tcp" => Ok(Carrier::Tcp),
            _ => Err("a carrier is auto, quic or tcp".into()),
        }
    }
}

impl std::fmt::Display for Carrier {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Carrier::Auto => "auto",
            Carrier::Quic => "quic",
            Carrier::Tcp => "tcp",
        })
    }
}

/// A kind of link.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Profile {
    /// Packets cost nothing.
    #[default]
    Usual,
    /// Each byte is paid for: an idle tunnel costs no more than 0.5 MB a day, both directions with all headers. At a terminal; the hub
    /// leaves it to the terminal to keep the tunnel alive.
    PaidByTheByte,
}

/// The tunnel between two nodes.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Hop {
    /// UDP address of this node: of a hub, where terminals reach it.
    pub listen: Option<SocketAddr>,
    /// The hub as terminals reach it, a name or an address with its port; at a terminal. It stands for a list of one.
    pub hub: Option<HubName>,
    /// Several hubs, in the order in which they are preferred; at a terminal, in the place of `hub`. Names are looked up again
    /// whenever a tunnel is opened.
    #[serde(default)]
    pub hubs: Vec<HubName>,
    /// File with this node's secret key (`longhaul-pep keygen`).
    pub key: PathBuf,
    /// The hub's public key, or a list: of each hub one, and two while a hub's key changes; at a terminal.
    pub hub_key: Option<Keys>,
    /// Where names that clients of the proxies give are looked up: at this terminal, or at the hub, whose file has `names = "hub"` too.
    #[serde(default)]
    pub names: Names,
    /// Rate at which this node begins to send.
    pub send_rate: Option<Rate>,
    /// Rate that is requested from the other node for the beginning.
    pub receive_rate: Option<Rate>,
    /// This node never sends faster.
    pub most_rate: Option<Rate>,
    /// What a hub sends to all terminals together at most; they share it by `weight` and `floor` of `[[terminal]]`.
    pub total_rate: Option<Rate>,
    /// Others use the link too: where it is overloaded, the tunnel takes a part as one flow of CUBIC would.
    #[serde(default)]
    pub shared: bool,
    /// Terminals that a hub serves at a time, 1 to 65,536.
    #[serde(default = "a_fleet")]
    pub terminals: u32,
    /// What carries the tunnel's bytes.
    #[serde(default)]
    pub carrier: Carrier,
    /// Parities where packets are lost.
    #[serde(default = "yes")]
    pub coding: bool,
    /// UDP payload of a full packet in bytes: 1472 fills an Ethernet frame over IPv4, 1452 over IPv6.
    #[serde(default = "full_packet")]
    pub mtu: u16,
    /// Round trip that is assumed before one is measured.
    #[serde(default = "satellite_rtt")]
    pub initial_rtt: Duration,
    /// A tunnel on which nothing arrives for so long is given up, with all its connections.
    #[serde(default = "patience")]
    pub idle_timeout: Duration,
    /// A terminal's new connections pass untouched once the tunnel has given no answer for so long, and are accelerated again once it has
    /// answered for as long; from two round trips (`initial_rtt`) to `idle_timeout`, by default 5 s as far as these allow it.
    pub pass_after: Option<Duration>,
    /// A hub that stands earlier in the list takes new connections again once it has answered for so long, `pass_after` to 24 h, by
    /// default 60 s or `pass_after` if that is longer; or `"never"`: then the one in use stays until it gives no answer.
    pub fail_back: Option<FailBack>,
    /// Defaults for a kind of link.
    #[serde(default)]
    pub profile: Profile,
    /// The pause after which a packet keeps a tunnel alive that carries nothing, by default 2 s, or 30 s with `profile =
    /// "paid_by_the_byte"`.
    pub keep_alive: Option<Duration>,
    /// Bytes of one connection and direction under way in the tunnel or unread. By default five bandwidth-delay products of the
    /// larger of the two rates above, 16 MiB at least; the other node's value counts too, the smaller one holds.
    pub credit: Option<Size>,
    /// The same of all connections with one node, at least nine times `credit`, by default sixteen times.
    pub memory: Option<Size>,
    /// Directory in which measured rates are kept over a restart; by default systemd's `STATE_DIRECTORY`, and without that none.
    pub state: Option<PathBuf>,
    /// They are forgotten after this time.
    #[serde(default = "a_day")]
    pub remember: Duration,
}

fn yes() -> bool {
    true
}
fn full_packet() -> u16 {
    1472
}
fn satellite_rtt() -> Duration {
    Duration::from_millis(650)
}
fn patience() -> Duration {
    Duration::from_secs(180)
}
fn a_fleet() -> u32 {
    1000
}
fn a_day() -> Duration {
    Duration::from_secs(86_400)
}

/// More than this waits only where the link itself holds as much.
const SEEN: u64 = 48 << 20;
/// Some milliseconds at the rates that a processor carries: a sender is woken up in time.
const LEAST_UNSENT: u64 = 4 << 20;

impl Hop {
    /// All hubs, the preferred one first.
    pub fn hubs(&self) -> Vec<HubName> {
        self.hub.iter().chain(&self.hubs).cloned().collect()
    }

    /// See [`Hop::keep_alive`].
    pub fn keep_alive(&self) -> Duration {
        self.keep_alive.unwrap_or(match self.profile {
            Profile::Usual => Duration::from_secs(2),
            // Rarer packets do not keep the state of most middleboxes (RFC 9000, section 10.1.2).
            Profile::PaidByTheByte => Duration::from_secs(30),
        })
    }

    /// See [`Hop::credit`].
    pub fn credit(&self) -> u64 {
        self.credit.map_or((5 * self.product()).clamp(16 << 20, 1 << 30), Size::as_bytes)
    }

    /// Bytes that the link holds at the larger of the rates that are stated; 0 if none is.
    pub fn product(&self) -> u64 {
        let fastest = self.send_rate.max(self.receive_rate).map_or(0, Rate::as_bps);
        (fastest as f64 / 8.0 * self.initial_rtt.as_secs_f64()) as u64
    }

    /// Bytes of all connections with a node that wait here to be sent. Two and a half products are what parities see of the end of a
    /// transfer; where that is much, one does.
    pub fn unsent(&self) -> u64 {
        let product = self.product();
        (product / 2 * 5).min(product.max(SEEN)).max(LEAST_UNSENT)
    }

    /// See [`Hop::pass_after`].
    pub fn pass_after(&self) -> Duration {
        let usual = self.least_pass_after().max(Duration::from_secs(5)).min(self.idle_timeout);
        self.pass_after.unwrap_or(usual)
    }

    /// See [`Hop::fail_back`].
    pub fn fail_back(&self) -> FailBack {
        self.fail_back.unwrap_or(FailBack::After(self.pass_after().max(Duration::from_secs(60))))
    }

    /// Less would take a usual round trip for silence.
    pub fn least_pass_after(&self) -> Duration {
        self.initial_rtt.saturating_mul(2).max(Duration::from_secs(1))
    }

    /// See [`Hop::memory`].
    pub fn memory(&self) -> u64 {
        self.memory.map_or(16 * self.credit(), Size::as_bytes)
    }
}

/// A terminal, in a hub's file.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Terminal {
    /// Its name in logs and metrics.
    pub name: String,
    /// Its public key, or a list of two while it changes.
    pub key: Keys,
    /// Networks of clients whose addresses are used towards servers. With none, connections come from the hub's own address.
    #[serde(default)]
    pub sources: Vec<Prefix>,
    /// Where its clients may connect to, besides what `destinations` states for all.
    #[serde(default)]
    pub destinations: Destinations,
    /// Parts of `hop.total_rate` among terminals that are sent something, 1 to 1000, by default 1.
    pub weight: Option<u32>,
    /// Up to this rate it goes before the others.
    pub floor: Option<Rate>,
    /// It gets and sends no more, over QUIC.
    pub ceiling: Option<Rate>,
    /// Bytes in a period, both directions together, with what QUIC adds.
    pub quota: Option<Size>,
    /// When they begin to count anew (UTC).
    #[serde(default)]
    pub period: Period,
    /// What it gets and sends beyond its quota, until the period ends.
    pub over: Option<Rate>,
}

/// A public key: 32 bytes, written in 64 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Key(pub [u8; 32]);

impl std::str::FromStr for Key {
    type Err = String;

    fn from_str(text: &str) -> Result<Key, String> {
        let wrong = || "a key has 64 hexadecimal digits; `longhaul-pep keygen` prints it".to_string();
        let bytes = crate::keys::from_hex(text).ok_or_else(wrong)?;
        bytes.try_into().map(Key).map_err(|_| wrong())
    }
}

impl std::fmt::Display for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&crate::keys::to_hex(&self.0))
    }
}

crate::prefix::from_text!(Key);

/// One key, or a list of keys.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Keys(pub Vec<Key>);

impl Keys {
    /// True if this key is one of them.
    pub fn contains(&self, key: &Key) -> bool {
        self.0.contains(key)
    }
}

impl<'de> Deserialize<'de> for Keys {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Keys, D::Error> {
        struct Visitor;
        impl<'de> serde::de::Visitor<'de> for Visitor {
            type Value = Keys;

            fn expecting(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
                f.write_str("a key, or a list of keys")
            }
            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Keys, E> {
                text.parse().map(|key| Keys(vec![key])).map_err(E::custom)
            }
            fn visit_seq<A: serde::de::SeqAccess<'de>>(self, mut list: A) -> Result<Keys, A::Error> {
                let mut keys = vec![];
                while let Some(key) = list.next_element()? {
                    keys.push(key);
                }
                if keys.is_empty() {
                    return Err(serde::de::Error::custom(
                        "an empty list of keys lets nobody in; write at least one",
                    ));
                }
                Ok(Keys(keys))
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

impl Serialize for Keys {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0.as_slice() {
            [one] => one.serialize(serializer),
            all => all.serialize(serializer),
        }
    }
}

/// Where names of servers are looked up.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Names {
    /// At the node to which the clients connect.
    #[default]
    Terminal,
    /// At the hub.
    Hub,
}

/// When a hub that stands earlier in the list is taken again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FailBack {
    /// Not while the one in use answers.
    Never,
    /// Once it has answered for so long.
    After(Duration),
}

impl std::str::FromStr for FailBack {
    type Err = String;

    fn from_str(text: &str) -> Result<FailBack, String> {
        if text == "never" {
            return Ok(FailBack::Never);
        }
        let time = text
            .parse()
            .map_err(|_| format!("\"{text}\" is neither a time, as in \"60 s\", nor \"never\""))?;
        Ok(FailBack::After(time))
    }
}

impl std::fmt::Display for FailBack {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            FailBack::Never => f.write_str("never"),
            FailBack::After(time) => time.fmt(f),
        }
    }
}

crate::prefix::from_text!(FailBack);

/// Form of the log.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Log {
    /// A line of text for each event.
    #[default]
    Text,
    /// A line of JSON for each event.
    Json,
}
