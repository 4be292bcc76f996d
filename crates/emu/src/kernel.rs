//! How the kernel of each host is set up, so that it is as close to the scenario's TCP as kernels get: sysctls of its
//! namespace (ip-sysctl in the kernel's documentation) and attributes of its route (ip-route(8)).

use crate::{Error, namespace, own_run};
use longhaul_scenario::{DelayedAck, TcpSpec, Variant};
use longhaul_units::Duration;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::OnceLock;

/// Most bytes of a socket's buffers: more than any window of scenarios that a kernel can carry.
const LARGEST_BUFFER: u64 = 1_073_741_823;

/// MTU in bytes of a host whose segments are those of `tcp`.
pub fn mtu(tcp: &TcpSpec) -> u64 {
    (tcp.mss.as_bytes() + HEADERS).max(LEAST_MTU)
}

/// Whose TCP the hosts have.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum TcpOf {
    /// This machine's: the settings of the network namespace in which the emulator was started, whatever a new one has.
    #[default]
    Machine,
    /// The scenario's, as close as kernels get.
    Scenario,
}

/// Settings of one host's kernel.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Settings {
    /// Sysctls below `/proc/sys/net`, and their values.
    pub sysctls: Vec<(String, String)>,
    /// Attributes of the route.
    pub route: String,
    /// MTU of the device.
    pub mtu: u64,
    /// The sysctls are the machine's: those that a namespace of its own does not have (`tcp_low_latency`) are the same for all.
    of_machine: bool,
}

/// IP and TCP header without options.
const HEADERS: u64 = 40;
/// Memory that a kernel takes for a piece of a send buffer beside its payload: 2304 bytes in all for one of 1448, as it reckons in
/// `tcp_sndbuf_expand`.
const PIECE: u64 = 856;
/// The MTU of Ethernet: less would shrink the packets of programs in a shell.
const LEAST_MTU: u64 = 1500;
/// RTO_MIN of the kernel.
const KERNEL_MIN_RTO: Duration = Duration::from_millis(200);

impl Settings {
    /// The settings for a host whose connections are like `tcp`, and which makes at most `at_once` segments at once.
    pub fn new(tcp: &TcpSpec, at_once: u64) -> Settings {
        let yes = |on: bool| if on { "1" } else { "0" }.to_string();
        // The scenario's buffers, else no limit.
        let most = |bytes: Option<u64>| bytes.unwrap_or(LARGEST_BUFFER).min(LARGEST_BUFFER);
        let (initial, largest) = match &tcp.receive_autotuning {
            Some(sizes) => (sizes.initial.as_bytes(), Some(sizes.max.as_bytes())),
            None => (131_072, None),
        };
        let receive = format!("4096 {initial} {}", most(largest));
        // What kernels count in a send buffer is memory: with few segments in each piece, less payload fits in.
        let payload = tcp.mss.as_bytes().max(1) * at_once.max(1);
        let memory = |bytes: u64| bytes + bytes * PIECE / payload;
        let send = format!("4096 16384 {}", most(tcp.send_buffer.bytes(tcp.mss).map(memory)));
        let selective = tcp.variant.is_selective();
        let probes = tcp.tail_loss_probe && matches!(tcp.variant, Variant::Rack | Variant::Linux);
        let sysctls = [
            // A duplicate ACK for each packet, as every TCP but Linux since 4.18 sends them.
            ("ipv4/tcp_comp_sack_nr", "0".to_string()),
            // Nothing learnt from one connection is carried over to the next.
            ("ipv4/tcp_no_metrics_save", "1".to_string()),
            ("ipv4/tcp_rmem", receive),
            ("ipv4/tcp_wmem", send),
            ("ipv4/tcp_timestamps", yes(tcp.timestamps)),
            ("ipv4/tcp_window_scaling", yes(tcp.window_scaling)),
            ("ipv4/tcp_sack", yes(selective)),
            ("ipv4/tcp_dsack", yes(selective && tcp.dsack)),
            // Accurate feedback is the kernel's own choice: few kernels have it.
            ("ipv4/tcp_ecn", yes(tcp.ecn.is_on())),
            ("ipv4/tcp_slow_start_after_idle", yes(tcp.restart_after_idle)),
            // Tail loss probes and F-RTO as the scenario has them; both are on in kernels.
            ("ipv4/tcp_early_retrans", if probes { "3" } else { "0" }.to_string()),
            ("ipv4/tcp_frto", if tcp.spurious_detection.f_rto { "2" } else { "0" }.to_string()),
        ];
        let sysctls = sysctls.into_iter().map(|(name, value)| (name.to_string(), value));
        let mss = tcp.mss.as_bytes();
        let window = tcp.config().initial_window.bytes(mss);
        let mut route = format!("initcwnd {}", window.div_ceil(mss).max(1));
        if tcp.rto.min > KERNEL_MIN_RTO {
            route += &format!(" rto_min {}ms", tcp.rto.min.as_nanos() / 1_000_000);
        }
        if tcp.delayed_ack == DelayedAck::Off || tcp.ack_every == 1 {
            route += " quickack 1";
        }
        // By sysctl, namespaces may only choose what every user of the machine may.
        if let Some(name) = congestion(tcp) {
            route += &format!(" congctl {name}");
        }
        Settings { sysctls: sysctls.chain(routing()).collect(), route, mtu: mtu(tcp), of_machine: false }
    }

    /// The settings of TCP in the network namespace of the thread, for hosts that are to be as this machine is, on a device that takes
    /// segments of `tcp`.
    pub fn of_machine(tcp: &TcpSpec) -> Settings {
        Settings {
            sysctls: of_start().into_iter().chain(routing()).collect(),
            route: String::new(),
            mtu: mtu(tcp),
            of_machine: true,
        }
    }

    /// Sets the sysctls of the network namespace that the thread is in.
    ///
    /// # Errors
    /// A setting that this kernel has and refuses. One that it does not have, or does not let namespaces change (congestion
    /// controls that are not for everyone; `/proc/sys` of a container), is returned with the reason.
    pub fn apply(&self) -> Result<Vec<String>, Error> {
        let mut missing: Vec<(String, Vec<String>)> = vec![];
        for (name, value) in &self.sysctls {
            let path = Path::new(SYSCTLS).join(name);
            // What is so already need not be permitted.
            if read(&path).is_some_and(|now| now == *value) {
                continue;
            }
            let Err(why) = fs::write(&path, value) else { continue };
            match why.kind() {
                ErrorKind::NotFound if self.of_machine => {}
                ErrorKind::NotFound | ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
                    let (why, setting) = (why.to_string(), format!("{name} = {value}"));
                    match missing.iter_mut().find(|(known, _)| *known == why) {
                        Some((_, settings)) => settings.push(setting),
                        None => missing.push((why, vec![setting])),
                    }
                }
                _ => return Err(Error::system(format!("set {} to {value}", path.display()), why)),
            }
        }
        let warning = |(why, settings): (String, Vec<String>)| {
            format!("not set in the hosts' namespaces ({why}): {}", settings.join(", "))
        };
        Ok(missing.into_iter().map(warning).collect())
    }

    /// What of TCP was set in this network namespace, and is not so in the thread's.
    pub fn differences(&self, namespace: &str) -> Vec<String> {
        let here = of_start();
        let there = namespace::within(namespace, || Ok(machine())).unwrap_or_default();
        let is_at = |settings: &[(String, String)], wanted: &(String, String)| {
            settings.iter().any(|known| known == wanted)
        };
        let differs = |wanted: &&(String, String)| is_at(&there, wanted) && !is_at(&here, wanted);
        let plain = |name: &str| name.trim_start_matches("ipv4/").to_string();
        let sysctls = self.sysctls.iter().filter(differs);
        let sysctls = sysctls.map(|(name, value)| format!("{} {value}", plain(name)));
        let route = Some(format!("route {}", self.route)).filter(|_| !self.route.is_empty());
        sysctls.chain(route).collect()
    }
}

/// Where settings are, and those of TCP (for IPv6 too).
const SYSCTLS: &str = "/proc/sys/net";
const OF_TCP: &str = "ipv4/tcp_";
/// Keys for cookies of TCP Fast Open, which each namespace makes for itself; no setting.
const SECRET: &str = "ipv4/tcp_fastopen_key";

/// A setting's value: numbers have one space between them.
fn read(path: &Path) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    Some(text.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// Settings of TCP in the network namespace of the thread that may be set, with their values.
fn machine() -> Vec<(String, String)> {
    let (directory, begin) = OF_TCP.split_once('/').expect("there is one");
    let entries = fs::read_dir(Path::new(SYSCTLS).join(directory)).into_iter().flatten().flatten();
    let settable =
        entries.filter(|entry| entry.metadata().is_ok_and(|of| of.permissions().mode() & 0o200 != 0));
    let named = settable.filter_map(|entry| {
        let name = entry.file_name().to_str().filter(|name| name.starts_with(begin))?.to_string();
        let value = read(&entry.path()).filter(|value| !value.is_empty())?;
        Some((format!("{directory}/{name}"), value))
    });
    let mut found: Vec<_> =
        named.filter(|(name, _)| name != SECRET && !OF_ALL_NAMESPACES.contains(&&name[..])).collect();
    found.sort();
    found
}

/// The groups whose users may ping without privileges; new namespaces have none.
const PINGS: &str = "/proc/sys/net/ipv4/ping_group_range";

/// Who may ping where the thread is; in a user namespace that the emulator has made, where other groups have no number, its caller.
pub(crate) fn who_may_ping() -> String {
    own_run::caller().map_or_else(|| read(Path::new(PINGS)).unwrap_or_default(), |_| "0 0".to_string())
}

/// Lets these ping in the network namespace that the thread is in. Where it is not permitted, `ping` needs what it has needed.
pub(crate) fn let_ping(groups: &str) {
    let _ = fs::write(PINGS, groups);
}

/// Settings of where the emulator was started, if it has gone elsewhere since.
static OF_START: OnceLock<Vec<(String, String)>> = OnceLock::new();

/// The network namespace that the process is in is left: its settings stay this machine's.
pub(crate) fn remember() {
    let _ = OF_START.set(machine());
}

fn of_start() -> Vec<(String, String)> {
    OF_START.get().cloned().unwrap_or_else(machine)
}

/// Limits of the whole machine, which namespaces share.
const OF_ALL_NAMESPACES: [&str; 2] = ["ipv4/tcp_mem", "ipv4/tcp_max_orphans"];

/// Packets may come from any address on the path.
fn routing() -> impl Iterator<Item = (String, String)> {
    let names = ["ipv4/conf/all/rp_filter", "ipv4/conf/default/rp_filter"];
    names.into_iter().map(|name| (name.to_string(), "0".to_string()))
}

/// The scenario's congestion control, if this kernel has it.
pub fn congestion(tcp: &TcpSpec) -> Option<&'static str> {
    let name = tcp.congestion.name();
    available().iter().any(|known| known == name).then_some(name)
}

/// Congestion controls that this kernel has.
pub fn available() -> Vec<String> {
    let text = fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control").unwrap_or_default();
    text.split_whitespace().map(str::to_string).collect()
}

/// The kernel's version.
pub fn release() -> String {
    fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default().trim().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tcp(text: &str) -> TcpSpec {
        let document = format!(
            "[run]\nduration = \"1 s\"\n[[link]]\nname = \"l\"\nends = [\"a\", \"b\"]\nrate = \"1 Mbit/s\"\ndelay = \"1 ms\"\n\
             [[flow]]\nfrom = \"a\"\nto = \"b\"\ntcp = {{ {text} }}\n"
        );
        longhaul_scenario::load(&document, "test", &[]).unwrap().flow.remove(0).tcp
    }

    #[test]
    fn the_scenario_s_tcp_becomes_route_and_sysctls() {
        let tcp = tcp(
            "initial_window = 3, delayed_ack = \"off\", timestamps = false, variant = \"newreno\", rto = { min = \"5 s\" }",
        );
        let settings = Settings::new(&tcp, 1);
        // What follows depends on the congestion controls that this kernel has.
        assert!(settings.route.starts_with("initcwnd 3 rto_min 5000ms quickack 1"), "{}", settings.route);
        assert_eq!(
            settings.route.ends_with(" congctl cubic"),
            available().iter().any(|name| name == "cubic")
        );
        assert_eq!(settings.mtu, 1500);
        let value =
            |name| settings.sysctls.iter().find(|(known, _)| known == name).map(|(_, value)| &value[..]);
        assert_eq!(value("ipv4/tcp_timestamps"), Some("0"));
        assert_eq!(value("ipv4/tcp_sack"), Some("0"));
        assert_eq!(value("ipv4/tcp_comp_sack_nr"), Some("0"));
        assert_eq!((value("ipv4/tcp_early_retrans"), value("ipv4/tcp_frto")), (Some("0"), Some("0")));
    }

    /// What kernels have by default (ip-sysctl: tcp_rmem, tcp_wmem) where the scenario's TCP is Linux's; else no limit.
    #[test]
    fn buffers_are_the_scenario_s() {
        let value = |settings: Settings, name| {
            settings.sysctls.into_iter().find(|(known, _)| known == name).map(|(_, value)| value).unwrap()
        };
        let linux = || Settings::new(&tcp("variant = \"linux\""), 1);
        assert_eq!(value(linux(), "ipv4/tcp_rmem"), "4096 131072 33554432");
        // 4 MiB of payload in pieces of 1460 bytes, and of eight times as many.
        assert_eq!(value(linux(), "ipv4/tcp_wmem"), "4096 16384 6653430");
        assert_eq!(
            value(Settings::new(&tcp("variant = \"linux\""), 8), "ipv4/tcp_wmem"),
            "4096 16384 4501694"
        );
        assert!(!linux().route.contains("rto_min"), "200 ms is the kernel's own");
        assert_eq!(value(linux(), "ipv4/tcp_early_retrans"), "3");
        assert_eq!(value(linux(), "ipv4/tcp_frto"), "2");
        assert_eq!(value(Settings::new(&tcp(""), 1), "ipv4/tcp_rmem"), "4096 131072 1073741823");
    }

    #[test]
    fn the_initial_window_is_counted_in_segments() {
        assert!(Settings::new(&tcp("initial_window = \"rfc3390\""), 1).route.starts_with("initcwnd 3"));
        assert!(Settings::new(&tcp("initial_window = 10"), 1).route.starts_with("initcwnd 10"));
        assert_eq!(Settings::new(&tcp("mss = \"8960 B\""), 1).mtu, 9000);
    }
}
