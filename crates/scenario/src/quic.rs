//! The document's table for a QUIC connection's settings, and how it becomes an endpoint's.

use crate::tcp::text_setting;
use crate::{BufferSpec, CarefulResumeSpec, InitialWindowSpec};
use longhaul_cc::{Algorithm, EcnUse, Pacing, Setup, SlowStartKind, build, build_checked};
use longhaul_quic::{AckFrequency, CongestionChoice, Credentials, Settings};
use longhaul_units::{Duration, Limit, Size};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// What carries a flow's data.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Transport {
    /// TCP, set by `tcp`.
    #[default]
    Tcp,
    /// QUIC (RFC 9000), set by `quic`: quinn-proto in virtual time.
    Quic,
    /// UDP (RFC 768), set by `udp`: each message of an application travels as datagrams, at the application's pace. Nothing is
    /// acknowledged or sent again, and nothing gives way to other traffic.
    Udp,
}

impl Transport {
    /// Its name as messages have it.
    pub fn title(self) -> &'static str {
        match self {
            Transport::Tcp => "TCP",
            Transport::Quic => "QUIC",
            Transport::Udp => "UDP",
        }
    }
}

/// Who controls congestion on a QUIC connection: a congestion control of this list, or one of quinn-proto's own.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[serde(untagged)]
pub enum QuicCongestion {
    /// As for TCP.
    Ours(Box<Algorithm>),
    /// quinn-proto's own.
    Quinns(QuinnCongestion),
}

/// Congestion controls of quinn-proto, for comparison.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum QuinnCongestion {
    /// CUBIC (RFC 8312).
    QuinnCubic,
    /// An early BBR, which quinn calls experimental.
    QuinnBbr,
    /// NewReno (RFC 9002 section 7).
    QuinnNewReno,
}

impl QuinnCongestion {
    const NAMES: [(&'static str, QuinnCongestion); 3] = [
        ("quinn_cubic", QuinnCongestion::QuinnCubic),
        ("quinn_bbr", QuinnCongestion::QuinnBbr),
        ("quinn_new_reno", QuinnCongestion::QuinnNewReno),
    ];

    fn name(self) -> &'static str {
        Self::NAMES.into_iter().find(|(_, congestion)| *congestion == self).map_or("", |(name, _)| name)
    }
}

impl QuicCongestion {
    /// Its name in scenario files.
    pub fn name(&self) -> &'static str {
        match self {
            QuicCongestion::Ours(algorithm) => algorithm.name(),
            QuicCongestion::Quinns(own) => own.name(),
        }
    }
}

impl Default for QuicCongestion {
    fn default() -> Self {
        QuicCongestion::Ours(Box::default())
    }
}

impl<'de> Deserialize<'de> for QuicCongestion {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = serde_json::Value::deserialize(deserializer)?;
        let own = QuinnCongestion::NAMES.into_iter().find(|(name, _)| value.as_str() == Some(name));
        if let Some((_, own)) = own {
            return Ok(QuicCongestion::Quinns(own));
        }
        Algorithm::deserialize(value).map(|ours| QuicCongestion::Ours(Box::new(ours))).map_err(|error| {
            let quinns = QuinnCongestion::NAMES.map(|(name, _)| name).join(", ");
            let known = error.to_string().replace("known are: ", &format!("known are: {quinns}, "));
            serde::de::Error::custom(known)
        })
    }
}

impl JsonSchema for QuicCongestion {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "QuicCongestion".into()
    }
    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "description": "A congestion control as for TCP, or one of quinn-proto's own.",
            "anyOf": [
                generator.subschema_for::<Algorithm>(),
                { "type": "string", "enum": QuinnCongestion::NAMES.map(|(name, _)| name) },
            ],
        })
    }
}

/// What a client has stored of its server when it connects.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HandshakeSpec {
    /// Nothing: a full handshake with certificates.
    #[default]
    Full,
    /// It has been there before: no certificates (RFC 8446 section 2.2).
    Resumed,
    /// The same, and the client's first data travel with its first flight (0-RTT, RFC 9001 section 4.6).
    EarlyData,
}

/// A time, or never.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TimeLimit {
    /// Never.
    Off,
    /// After so long.
    After(Duration),
}

impl TimeLimit {
    fn read(text: &str) -> Result<Self, String> {
        if text == "off" {
            return Ok(TimeLimit::Off);
        }
        text.parse().map(TimeLimit::After).map_err(|error: longhaul_units::UnitError| error.to_string())
    }
    fn from_count(_: i64) -> Option<Self> {
        None
    }
    fn time(self) -> Option<Duration> {
        match self {
            TimeLimit::Off => None,
            TimeLimit::After(time) => Some(time),
        }
    }
}
impl std::fmt::Display for TimeLimit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            TimeLimit::Off => f.write_str("off"),
            TimeLimit::After(time) => time.fmt(f),
        }
    }
}
text_setting!(
    TimeLimit,
    "\"off\" or a time as in \"30 s\"",
    "A time, or \"off\" for never.",
    ["30 s", "off"]
);

/// A QUIC connection's settings, at both ends. Bytes of windows are bytes of UDP payload where congestion is controlled, and
/// bytes of streams where the receiver limits.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct QuicSpec {
    /// Congestion control: as for TCP, but for those that open a connection with probes, or quinn-proto's own (`quinn_cubic`,
    /// `quinn_bbr`, `quinn_new_reno`), which slow start, initial window and pacing do not concern.
    pub congestion: QuicCongestion,
    /// Slow start.
    pub slow_start: SlowStartKind,
    /// Initial window, in datagrams of `mtu` or in bytes.
    #[schemars(extend("x-exclusiveMinimum" = "0 packets"))]
    pub initial_window: InitialWindowSpec,
    /// Slow start threshold at the start; none means arbitrarily high.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub initial_ssthresh: Option<Limit>,
    /// Pacing for congestion controls that set only a window; RFC 9002 section 7.7 requires it.
    pub pacing: Pacing,
    /// Datagrams that may leave back to back after a pause when datagrams are paced.
    #[schemars(range(min = 1))]
    pub pacing_burst: u32,
    /// Round trip that is assumed before one is measured: the first probe leaves after three of them
    /// (RFC 9002 section 6.2.2).
    #[schemars(extend("x-minimum" = "1 ms", "x-maximum" = "2 h"))]
    pub initial_rtt: Duration,
    /// Bytes that may arrive on a stream before they are read; packets are of one `mtu`. quinn's default is 1.25 MB.
    pub stream_window: BufferSpec,
    /// Bytes that may arrive on all streams of a connection before they are read.
    pub connection_window: BufferSpec,
    /// Bytes of all streams that a sender keeps until they are acknowledged. quinn's default is 10 MB.
    pub send_buffer: BufferSpec,
    /// The receiver takes data as they come and puts them in order itself. Otherwise quinn-proto does, and ends the connection once
    /// more than 1024 pieces of a stream wait for what is missing between them: slow start's overshoot can do that.
    pub unordered: bool,
    /// Acknowledge at least every so many packets; other than 2 takes the ACK frequency extension, by which the sender sets it at the receiver.
    #[schemars(range(min = 1))]
    pub ack_every: u32,
    /// Longest delay of an ACK; other than 25 ms takes the same extension.
    #[schemars(extend("x-minimum" = "1 ms", "x-maximum" = "16 s"))]
    pub ack_delay: Duration,
    /// Packets sent later that must be acknowledged before one is lost (RFC 9002 section 6.1.1).
    #[schemars(range(min = 3))]
    pub packet_threshold: u32,
    /// A silent connection is kept alive by a packet after so long.
    #[schemars(extend("x-minimum" = "1 ms"))]
    pub keep_alive: TimeLimit,
    /// A connection on which nothing arrives for so long is given up.
    #[schemars(extend("x-minimum" = "1 ms"))]
    pub idle_timeout: TimeLimit,
    /// UDP payload of the first datagrams.
    #[schemars(extend("x-minimum" = "1200 B", "x-maximum" = "65507 B"))]
    pub mtu: Size,
    /// Largest UDP payload that is looked for by probes (RFC 8899); `mtu` itself for none.
    #[schemars(extend("x-minimum" = "1200 B", "x-maximum" = "65507 B"))]
    pub mtu_discovery: Size,
    /// Packets are ECN-capable (RFC 9000 section 13.4).
    pub ecn: bool,
    /// Bytes of the connection IDs.
    #[schemars(range(min = 0, max = 20))]
    pub connection_id: u8,
    /// What the client has stored of the server.
    pub handshake: HandshakeSpec,
    /// Bytes of the server's certificates, which a full handshake carries; until the client's address is validated, a server sends at most three
    /// times what it has received (RFC 9000 section 8.1).
    #[schemars(extend("x-minimum" = "100 B", "x-maximum" = "64 kB"))]
    pub certificates: Size,
    /// What both ends have stored of an earlier connection over the same path, with which they resume carefully (RFC 9959): once the
    /// initial window is acknowledged, the window jumps to half of the remembered one, and back if that leads to losses. The phases
    /// are events, `resume_unvalidated` for instance. Without it a connection begins as all do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub careful_resume: Option<CarefulResumeSpec>,
    /// Flows between the same two hosts whose settings have the same name here share one connection, `"shared"` for instance; then
    /// all other settings but `priority` must be equal. Without a name each flow has a connection of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connection: Option<String>,
    /// Data of the flow are sent before those of flows with a lower priority on the same connection; flows of equal priority take
    /// turns.
    #[serde(skip_serializing_if = "is_zero")]
    pub priority: i32,
}

fn is_zero(priority: &i32) -> bool {
    *priority == 0
}

impl Default for QuicSpec {
    fn default() -> Self {
        let settings = Settings::default();
        let certificates = settings.credentials.certificates.iter().copied().map(u64::from).sum();
        QuicSpec {
            congestion: QuicCongestion::default(),
            slow_start: SlowStartKind::default(),
            initial_window: InitialWindowSpec::Fixed(Limit::Packets(10)),
            initial_ssthresh: None,
            pacing: Pacing::LINUX,
            pacing_burst: settings.pacing_burst,
            initial_rtt: settings.initial_rtt,
            stream_window: BufferSpec::Unlimited,
            connection_window: BufferSpec::Unlimited,
            send_buffer: BufferSpec::Unlimited,
            unordered: false,
            ack_every: 2,
            ack_delay: DEFAULT_ACK_DELAY,
            packet_threshold: settings.packet_threshold,
            keep_alive: TimeLimit::Off,
            idle_timeout: settings.idle_timeout.map_or(TimeLimit::Off, TimeLimit::After),
            mtu: Size::from_bytes(u64::from(settings.mtu)),
            mtu_discovery: Size::from_bytes(settings.mtu_discovery.map_or(0, u64::from)),
            ecn: settings.ecn,
            connection_id: settings.cid_length,
            handshake: HandshakeSpec::Full,
            certificates: Size::from_bytes(certificates),
            careful_resume: None,
            connection: None,
            priority: 0,
        }
    }
}

/// RFC 9000 section 18.2, max_ack_delay.
const DEFAULT_ACK_DELAY: Duration = Duration::from_millis(25);

impl QuicSpec {
    /// The largest window that a receiver offers a stream in bytes; `None` if it is unlimited.
    pub fn largest_window(&self) -> Option<u64> {
        let windows = [self.stream_window, self.connection_window].map(|window| window.bytes(self.mtu));
        windows.into_iter().flatten().min()
    }

    /// The settings of an endpoint; those that `check` accepts.
    pub fn settings(&self) -> Settings {
        let congestion = match &self.congestion {
            QuicCongestion::Ours(algorithm) => {
                let (algorithm, slow_start) = (Algorithm::clone(algorithm), self.slow_start.clone());
                let setup = self.setup();
                let build = move |setup: &Setup| build_checked(&algorithm, &slow_start, setup);
                match &self.careful_resume {
                    None => CongestionChoice::Policy(Arc::new(move |seed| build(&Setup { seed, ..setup }))),
                    Some(resume) => {
                        let resume = resume.clone();
                        CongestionChoice::Policy(Arc::new(move |seed| {
                            resume.around(Setup { seed, ..setup }, build.clone())
                        }))
                    }
                }
            }
            QuicCongestion::Quinns(QuinnCongestion::QuinnCubic) => CongestionChoice::QuinnCubic,
            QuicCongestion::Quinns(QuinnCongestion::QuinnBbr) => CongestionChoice::QuinnBbr,
            QuicCongestion::Quinns(QuinnCongestion::QuinnNewReno) => CongestionChoice::QuinnNewReno,
        };
        let usual = self.ack_every == 2 && self.ack_delay == DEFAULT_ACK_DELAY;
        let certificates = vec![self.certificates.as_bytes() as u32];
        let bytes = |size: Size| size.as_bytes() as u16;
        Settings {
            congestion,
            pacing_burst: self.pacing_burst,
            initial_rtt: self.initial_rtt,
            stream_window: self.stream_window.bytes(self.mtu).unwrap_or(UNLIMITED),
            connection_window: self.connection_window.bytes(self.mtu),
            send_window: self.send_buffer.bytes(self.mtu),
            unordered: self.unordered,
            ack_frequency: (!usual).then(|| AckFrequency {
                threshold: self.ack_every.saturating_sub(1),
                max_delay: Some(self.ack_delay),
                reordering: self.packet_threshold.saturating_sub(1),
            }),
            packet_threshold: self.packet_threshold,
            keep_alive: self.keep_alive.time(),
            idle_timeout: self.idle_timeout.time(),
            mtu: bytes(self.mtu),
            mtu_discovery: (self.mtu_discovery != self.mtu).then(|| bytes(self.mtu_discovery)),
            ecn: self.ecn,
            cid_length: self.connection_id,
            credentials: Credentials { certificates, ..Credentials::default() },
            early_data: self.handshake == HandshakeSpec::EarlyData,
            ..Settings::default()
        }
    }

    fn setup(&self) -> Setup {
        Setup {
            mss: self.mtu.as_bytes(),
            initial_window: self.initial_window.window(),
            initial_ssthresh: self.initial_ssthresh,
            pacing: self.pacing,
            ..Setup::default()
        }
    }

    /// What is wrong with these settings: the key, and what would be right.
    pub(crate) fn check(&self) -> Result<(), (&'static str, String)> {
        if self.mtu_discovery < self.mtu {
            let message = "MTU discovery looks above mtu; give mtu itself for no discovery";
            return Err(("mtu_discovery", message.to_string()));
        }
        let windows = [
            ("stream_window", self.stream_window),
            ("connection_window", self.connection_window),
            ("send_buffer", self.send_buffer),
        ];
        for (key, window) in windows {
            if window.bytes(self.mtu).is_some_and(|bytes| bytes < self.mtu.as_bytes()) {
                return Err((key, "a window or buffer holds at least one datagram of mtu".to_string()));
            }
        }
        if let (Some(_), QuicCongestion::Quinns(own)) = (&self.careful_resume, &self.congestion) {
            let message =
                format!("quinn-proto's {} does not resume; take a congestion control of ours", own.name());
            return Err(("careful_resume", message));
        }
        if self.connection.as_deref() == Some("") {
            return Err(("connection", "give a name, \"shared\" for instance".to_string()));
        }
        if self.connection.is_none() && self.priority != 0 {
            let message = "a priority is one among the flows of a connection: add connection = \"shared\"";
            return Err(("priority", message.to_string()));
        }
        if let QuicCongestion::Ours(algorithm) = &self.congestion {
            algorithm.check().map_err(|message| ("congestion", message))?;
            self.slow_start.check().map_err(|message| ("slow_start", message))?;
            let policy =
                build(algorithm, &self.slow_start, &self.setup()).map_err(|message| ("pacing", message))?;
            if policy.ecn() != EcnUse::Classic {
                let message = format!(
                    "{} answers to how much was marked, and QUIC reports only that something was: it needs transport = \"tcp\" \
                     and ecn = \"accurate\"",
                    algorithm.name()
                );
                return Err(("congestion", message));
            }
            if policy.probe().is_some() {
                let (key, name) = match &**algorithm {
                    Algorithm::Sttp(_) | Algorithm::SttpPractical(_) => ("congestion", algorithm.name()),
                    _ => ("slow_start", self.slow_start.name()),
                };
                let message = format!(
                    "{name} opens a connection with probes of its own: there is no place for them in QUIC's handshake"
                );
                return Err((key, message));
            }
        }
        self.settings().check().map_err(|error| ("", error.to_string()))
    }
}

/// The largest number that QUIC can write (RFC 9000 section 16): no limit.
const UNLIMITED: u64 = (1 << 62) - 1;

#[cfg(test)]
mod tests {
    use super::*;
    use longhaul_units::ranges::Key;

    #[test]
    fn the_default_is_quinns_but_for_windows_and_congestion_control() {
        let settings = QuicSpec::default().settings();
        let quinns = Settings::default();
        assert_eq!(QuicSpec::default().check(), Ok(()));
        assert_eq!((settings.mtu, settings.mtu_discovery), (quinns.mtu, quinns.mtu_discovery));
        assert_eq!((settings.ack_frequency, settings.packet_threshold), (None, 3));
        assert_eq!(settings.stream_window, UNLIMITED);
    }

    #[test]
    fn congestion_reads_our_names_and_quinns() {
        let read = |text: &str| toml::from_str::<QuicSpec>(text).map_err(|error| error.message().to_string());
        let name = |text: &str| read(text).map(|quic| quic.congestion.name());
        assert_eq!(name("congestion = \"quinn_bbr\""), Ok("quinn_bbr"));
        assert_eq!(name("congestion = { kind = \"reno\", b = 0.3 }"), Ok("reno"));
        let unknown = name("congestion = \"quinn_bb\"").unwrap_err();
        assert!(
            unknown
                .starts_with("unknown congestion control \"quinn_bb\"; known are: quinn_cubic, quinn_bbr,")
        );
        let written = toml::to_string(&read("congestion = \"quinn_cubic\"").unwrap()).unwrap();
        assert!(written.contains("congestion = \"quinn_cubic\""), "{written}");
        assert_eq!(read(&written), read("congestion = \"quinn_cubic\""));
    }

    #[test]
    fn what_cannot_be_is_refused_with_its_key() {
        let read = |text: &str| toml::from_str::<QuicSpec>(text).unwrap();
        let outside = |text: &str| longhaul_units::ranges::out_of_range(&read(text)).remove(0).place;
        assert_eq!(outside("mtu = \"1000 B\""), [Key::Field("mtu")]);
        assert_eq!(outside("ack_every = 0"), [Key::Field("ack_every")]);
        assert_eq!(outside("packet_threshold = 2"), [Key::Field("packet_threshold")]);
        let refused = |text: &str| read(text).check().unwrap_err();
        assert_eq!(refused("mtu = \"1460 B\"").0, "mtu_discovery");
        assert_eq!(refused("stream_window = \"100 B\"").0, "stream_window");
        assert_eq!(refused("slow_start = \"packet_pair\"").0, "slow_start");
        let (key, message) = refused("congestion = \"sttp_practical\"");
        assert_eq!(key, "congestion");
        assert!(message.contains("probes of its own"), "{message}");
        for congestion in ["dctcp", "prague"] {
            let (key, message) = refused(&format!("congestion = \"{congestion}\""));
            assert_eq!(key, "congestion");
            assert!(message.contains("it needs transport = \"tcp\""), "{message}");
        }
    }
}
