//! Settings of a connection as sysctls, socket options and the script's own options give them.

use crate::script::Script;
use crate::shell::Machine;
use longhaul_cc::CongestionControl;
use longhaul_scenario::{Scenario, TcpSpec};
use longhaul_tcp::Config;
use longhaul_units::{Duration, Size};

/// packetdrill's tolerance of times: this much, or this share of the time since the last event.
const TOLERANCE: i64 = 4_000_000;
const TOLERANCE_SHARE: f64 = 0.125;

/// Options of a script, or of the command line, that bear on how it is run.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// In nanoseconds.
    pub tolerance: i64,
    pub tolerance_share: f64,
    /// Timestamps must be right to so many nanoseconds a tick; otherwise their values are not compared.
    pub timestamp_tick: Option<i64>,
    /// A packet of the script is one segment.
    pub strict_segments: bool,
    /// A longer packet that arrives is several segments of this payload which the interface has joined (receive offload).
    pub received_mss: Option<u32>,
}

impl Options {
    /// Those that the script gives, after those given to this program.
    ///
    /// # Errors
    /// The option which requests what is not modelled.
    pub fn of_script(script: &Script, tolerance_usecs: Option<i64>) -> Result<Self, String> {
        let mut options = Options {
            tolerance: tolerance_usecs.map_or(TOLERANCE, |usecs| usecs * 1000),
            tolerance_share: TOLERANCE_SHARE,
            timestamp_tick: None,
            strict_segments: false,
            received_mss: None,
        };
        for (_, name, value) in &script.options {
            let usecs = || value.parse::<i64>().map_err(|_| format!("the option --{name}={value}"));
            match name.as_str() {
                "tolerance_usecs" => options.tolerance = options.tolerance.max(usecs()? * 1000),
                "tolerance_percent" => options.tolerance_share = usecs()? as f64 / 100.0,
                "tcp_ts_tick_usecs" => {
                    options.timestamp_tick = Some(usecs()? * 1000).filter(|tick| *tick > 0)
                }
                "strict_segments" => options.strict_segments = true,
                "ip_version" if value == "ipv4" => {}
                // Addresses and the sizes that they allow.
                "mss" => options.received_mss = u32::try_from(usecs()?).ok().filter(|mss| *mss > 0),
                "mtu" | "local_ip" | "remote_ip" | "gateway_ip" | "netmask_ip" | "bind_port" => {}
                "send_omit_free" | "non_fatal" | "persistent_tun_dev" | "init_scripts" => {}
                _ if value.is_empty() => return Err(format!("the option --{name}")),
                _ => return Err(format!("the option --{name}={value}")),
            }
        }
        Ok(options)
    }
}

/// How a side of a connection is set: what a scenario's table can express, and what only the connection has.
#[derive(Clone, Debug)]
pub struct Settings {
    pub tcp: TcpSpec,
    /// Retransmissions of a SYN, and of a SYN-ACK.
    pub syn_retries: [u32; 2],
    /// ECN is requested, and accepted; by accurate feedback too.
    pub ecn: [bool; 2],
    pub accurate_ecn: [bool; 2],
    pub accurate_ecn_option: bool,
    pub accurate_ecn_check: bool,
    pub clamp: Option<u32>,
}

impl Settings {
    /// `variant = "linux"`, changed by sysctls.
    ///
    /// # Errors
    /// The sysctl which has no counterpart.
    pub fn of_machine(machine: &Machine) -> Result<Self, String> {
        let mut keys = Vec::new();
        let mut syn_retries = [6, 5];
        let mut ecn = [false, true];
        let mut accurate_ecn = [false; 2];
        let (mut accurate_ecn_option, mut accurate_ecn_check) = (true, true);
        let mut congestion = "cubic".to_string();
        let mut paced_together = MIN_TSO_SEGMENTS;
        for (name, value) in &machine.sysctls {
            let beyond = || format!("the setting {name} = {value}");
            let number = || value.parse::<u64>().map_err(|_| beyond());
            let switch = || number().map(|number| (number != 0).to_string());
            match name.trim_start_matches("tcp_") {
                "rmem" => {
                    let sizes: Vec<&str> = value.split_whitespace().collect();
                    let [_, initial, max] = sizes[..] else { return Err(beyond()) };
                    keys.push(("receive_autotuning.initial", format!("\"{initial} B\"")));
                    keys.push(("receive_autotuning.max", format!("\"{max} B\"")));
                }
                "timestamps" => {
                    keys.push(("timestamps", switch()?));
                    // Eifel detection reads them.
                    keys.push(("spurious_detection.eifel", switch()?));
                }
                "window_scaling" => keys.push(("window_scaling", switch()?)),
                "dsack" => keys.push(("dsack", switch()?)),
                "sack" | "recovery" if number()? > 0 => {}
                "frto" => keys.push(("spurious_detection.f_rto", switch()?)),
                "reordering" => keys.push(("duplicate_threshold", number()?.to_string())),
                "slow_start_after_idle" => keys.push(("restart_after_idle", switch()?)),
                "early_retrans" => keys.push(("tail_loss_probe", (number()? >= 3).to_string())),
                "retries2" => keys.push(("max_retransmissions", number()?.to_string())),
                "syn_retries" => syn_retries[0] = number()? as u32,
                "synack_retries" => syn_retries[1] = number()? as u32,
                "ecn" => {
                    let mode = number()?;
                    if mode > 5 {
                        return Err(beyond());
                    }
                    // Requested and accepted: 3 both by accurate feedback, 4 and 5 only accepted so (ip-sysctl.rst).
                    ecn = [matches!(mode, 1 | 3 | 4), mode >= 1];
                    accurate_ecn = [mode == 3, mode >= 3];
                }
                // 1 sends as few as RFC 9768 demands, 2 as many as there is room for.
                "ecn_option" => accurate_ecn_option = number()? > 0,
                "ecn_fallback" => accurate_ecn_check = number()? > 0,
                "ecn_option_beacon" => {}
                "congestion_control" => congestion = value.clone(),
                "mtu_probing" if number()? != 0 => return Err(beyond()),
                "fack" if number()? == 0 => {}
                "rto_min_us" => keys.push(("rto.min", format!("\"{} us\"", number()?))),
                // Sizes of offloaded packets, pacing's gains (which fq needs), Fast Open (which no packet without the option
                // meets), memory, and what concerns several connections.
                // What is paced leaves in packets of so many segments.
                "min_tso_segs" => paced_together = number()?.max(1),
                "tso_win_divisor" | "pacing_ss_ratio" | "pacing_ca_ratio" | "wmem" => {}
                "fastopen" | "fastopen_key" | "syncookies" | "no_metrics_save" | "base_mss"
                | "mtu_probing" => {}
                "notsent_lowat" | "moderate_rcvbuf" | "limit_output_bytes" | "invalid_ratelimit" => {}
                _ => return Err(beyond()),
            }
        }
        if machine.paced {
            keys.push(("pacing", "\"window\"".to_string()));
            keys.push(("pacing_burst", paced_together.to_string()));
        }
        keys.push(("congestion", format!("\"{congestion}\"")));
        let overrides: Vec<(String, String)> =
            keys.into_iter().map(|(key, value)| (format!("flow.f.tcp.{key}"), value)).collect();
        let scenario: Scenario = longhaul_scenario::load(SCENARIO, "variant = \"linux\"", &overrides)
            .map_err(|error| {
                format!("sysctls without a counterpart: {}", error.to_string().replace('\n', " "))
            })?;
        let tcp = scenario.flow[0].tcp.clone();
        Ok(Settings {
            tcp,
            syn_retries,
            ecn,
            accurate_ecn,
            accurate_ecn_option,
            accurate_ecn_check,
            clamp: None,
        })
    }

    /// The settings of the end that opens (or answers).
    pub fn config(&self, active: bool) -> Config {
        let side = usize::from(!active);
        Config {
            reading: longhaul_tcp::Reading::Manual,
            mss: self.mss(),
            max_syn_retransmissions: self.syn_retries[side],
            ecn: self.ecn[side],
            accurate_ecn: self.accurate_ecn[side],
            accurate_ecn_option: self.accurate_ecn_option,
            accurate_ecn_check: self.accurate_ecn_check,
            time_wait: Duration::from_secs(60),
            ..self.tcp.config()
        }
    }
    /// Payload of the largest segment, which the SYN announces.
    fn mss(&self) -> u32 {
        let mss = self.tcp.mss.as_bytes() as u32;
        self.clamp.map_or(mss, |clamp| mss.min(clamp))
    }
    /// The congestion control. The connection reports the MSS that the SYNs agree on.
    pub fn congestion_control(&self) -> Box<dyn CongestionControl> {
        TcpSpec { mss: Size::from_bytes(u64::from(self.mss())), ..self.tcp.clone() }.congestion_control(0)
    }
}

/// Linux's default of `tcp_min_tso_segs`.
const MIN_TSO_SEGMENTS: u64 = 2;

/// A scenario with nothing but the connection's settings.
const SCENARIO: &str = r#"
run = { duration = "1 s" }
[[link]]
name = "l"
ends = ["a", "b"]
rate = "1 Gbit/s"
delay = "1 ms"
[[flow]]
name = "f"
from = "a"
to = "b"
tcp = { variant = "linux" }
"#;
