//! What can be set at an endpoint, and its translation to quinn-proto's configuration.

use crate::clock::{Clock, to_std};
use crate::congestion::{Factory, Maker};
use crate::null::{Credentials, NullClient, NullServer, NullSigner, Ticket};
use crate::observe::Observer;
use longhaul_cc::CongestionControl;
use longhaul_units::Duration;
use quinn_proto::congestion::{BbrConfig, CubicConfig, NewRenoConfig};
use quinn_proto::crypto;
use quinn_proto::{
    AckFrequencyConfig, ClientConfig, ConnectionId, ConnectionIdGenerator, EndpointConfig, IdleTimeout,
    MtuDiscoveryConfig, NoneTokenStore, ServerConfig, TransportConfig, VarInt,
};
use std::sync::{Arc, Mutex};
use std::time::SystemTime;

/// Makes a policy of crate `cc` for each connection from the seed of its random numbers.
pub type MakePolicy = Arc<dyn Fn(u64) -> Box<dyn CongestionControl> + Send + Sync>;

/// Who controls congestion.
#[derive(Clone)]
pub enum CongestionChoice {
    /// A policy of crate `cc`.
    Policy(MakePolicy),
    /// quinn-proto's CUBIC (RFC 8312) with its pacing at 1.25 windows per round trip.
    QuinnCubic,
    /// quinn-proto's BBR, an early version 1; quinn calls it experimental.
    QuinnBbr,
    /// quinn-proto's NewReno (RFC 9002 section 7).
    QuinnNewReno,
}

/// Who secures packets.
#[derive(Clone, Default)]
pub enum Session {
    /// Nobody: sizes as with TLS, but nothing is encrypted. For virtual time.
    #[default]
    Null,
    /// TLS, for real packets.
    Real {
        /// For connections that this endpoint opens.
        client: Option<Arc<dyn crypto::ClientConfig>>,
        /// For those that it accepts.
        server: Option<Arc<dyn crypto::ServerConfig>>,
    },
}

/// How rarely the peer has to acknowledge (draft-ietf-quic-ack-frequency-04).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AckFrequency {
    /// Packets that may arrive without an ACK, 0 to 2^30; RFC 9000 section 13.2.2 recommends 1.
    pub threshold: u32,
    /// The longest delay of an ACK, at most 16 s; `None` for that of the peer's own choice, 25 ms.
    pub max_delay: Option<Duration>,
    /// How far out of order a packet must be to be acknowledged at once; 0 for never.
    pub reordering: u32,
}

/// Settings of an endpoint, for all of its connections. The defaults are quinn-proto's.
#[derive(Clone)]
pub struct Settings {
    /// Congestion control of what this endpoint sends.
    pub congestion: CongestionChoice,
    /// Datagrams that may leave back to back after a pause where a policy sets a rate, at least 1; 10 is the initial window
    /// (RFC 9002 section 7.7).
    pub pacing_burst: u32,
    /// The round trip that is assumed before one is measured: 333 ms (RFC 9002 section 6.2.2).
    pub initial_rtt: Duration,
    /// Bytes that a peer may send on one stream before they are read.
    pub stream_window: u64,
    /// Bytes that a peer may send on all streams before they are read; `None` for no limit.
    pub connection_window: Option<u64>,
    /// Bytes of all streams that are kept for retransmission; `None` for no limit, 64 MiB with real packets.
    pub send_window: Option<u64>,
    /// Data are read as they come and put in order outside of quinn-proto, which else gives a connection up once more than 1024
    /// pieces of a stream wait for what is missing between them.
    pub unordered: bool,
    /// Streams that a peer may have open at a time.
    pub max_streams: u32,
    /// Asks the peer to acknowledge more rarely; `None` for the usual two packets or 25 ms.
    pub ack_frequency: Option<AckFrequency>,
    /// Packets sent later that must be acknowledged before one is lost, at least 3 (RFC 9002 section 6.1.1).
    pub packet_threshold: u32,
    /// The same in round trips: 9/8 (RFC 9002 section 6.1.2).
    pub time_threshold: f32,
    /// A PING is sent when nothing else was for so long; `None` for never.
    pub keep_alive: Option<Duration>,
    /// A connection on which nothing arrives for so long ends silently; `None` for never.
    pub idle_timeout: Option<Duration>,
    /// Bytes of UDP payload in the first packets, 1200 to 65,527.
    pub mtu: u16,
    /// Largest UDP payload that is looked for (RFC 8899); `None` to keep to [`Settings::mtu`].
    pub mtu_discovery: Option<u16>,
    /// Whether packets are sent as ECN-capable (RFC 9000 section 13.4).
    pub ecn: bool,
    /// Bytes of the connection IDs that the peer puts on its packets, 0 to 20.
    pub cid_length: u8,
    /// Who secures packets.
    pub session: Session,
    /// What a server of the null session shows of itself.
    pub credentials: Credentials,
    /// Whether a server of the null session takes 0-RTT data of clients with a ticket.
    pub early_data: bool,
    /// Sees packets before they are sealed and after they were opened: for the counters of sessions with TLS, and for logs.
    pub observer: Option<Observer>,
    /// Each connection keeps a log (qlog) for [`crate::Endpoint::take_logs`].
    pub qlog: bool,
    /// Each connection traces what it sends on its streams, for [`crate::Endpoint::take_trace`]. Both ends have the same windows then.
    pub trace: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            congestion: CongestionChoice::QuinnCubic,
            pacing_burst: 10,
            initial_rtt: Duration::from_millis(333),
            stream_window: 1_250_000,
            connection_window: None,
            send_window: None,
            unordered: false,
            max_streams: 100,
            ack_frequency: None,
            packet_threshold: 3,
            time_threshold: 9.0 / 8.0,
            keep_alive: None,
            idle_timeout: Some(Duration::from_secs(30)),
            mtu: 1200,
            mtu_discovery: Some(1452),
            ecn: true,
            cid_length: 8,
            session: Session::Null,
            credentials: Credentials::default(),
            early_data: false,
            observer: None,
            qlog: false,
            trace: false,
        }
    }
}

/// Settings that cannot be.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum SettingsError {
    /// A number is out of its range.
    #[error("{what} must be at least {least} and at most {most}, not {given}")]
    Range {
        /// Which.
        what: &'static str,
        /// Its least value.
        least: u64,
        /// Its largest value.
        most: u64,
        /// What was given.
        given: u64,
    },
    /// A policy would open the connection with probes of its own.
    #[error(
        "a congestion control or slow start that opens a connection with probes has no place in QUIC's handshake"
    )]
    Probes,
    /// MTU discovery would look below where it begins.
    #[error("MTU discovery up to {most} bytes needs an MTU of at most that to begin with, not {given}")]
    Discovery {
        /// The largest payload looked for.
        most: u16,
        /// The MTU.
        given: u16,
    },
}

/// Send window of real packets where none is set.
const REAL_SEND_WINDOW: u64 = 64 << 20;
/// Largest number in QUIC's encoding (RFC 9000 section 16).
const VARINT_MAX: u64 = (1 << 62) - 1;
/// Bytes of UDP payload that every QUIC path carries (RFC 9000 section 14), and the largest there are.
const MTU: (u64, u64) = (1200, 65_527);

impl Settings {
    /// Whether an endpoint can have these settings.
    ///
    /// # Errors
    /// What is wrong, and what would be right.
    pub fn check(&self) -> Result<(), SettingsError> {
        let range = |what, given: u64, (least, most): (u64, u64)| {
            let ok = (least..=most).contains(&given);
            ok.then_some(()).ok_or(SettingsError::Range { what, least, most, given })
        };
        range("the MTU", u64::from(self.mtu), MTU)?;
        range("the window of a stream", self.stream_window, (1, VARINT_MAX))?;
        range("the window of a connection", self.connection_window.unwrap_or(1), (1, VARINT_MAX))?;
        range("the send window", self.send_window.unwrap_or(1), (1, u64::MAX))?;
        range("the number of streams", u64::from(self.max_streams), (1, 1 << 20))?;
        range("the packet threshold", u64::from(self.packet_threshold), (3, 1 << 20))?;
        range("the length of a connection ID", u64::from(self.cid_length), (0, 20))?;
        range("the pacing burst", u64::from(self.pacing_burst), (1, 1 << 20))?;
        range("the initial RTT in ns", self.initial_rtt.as_nanos(), (1_000_000, 7_200_000_000_000))?;
        if let Some(frequency) = self.ack_frequency {
            range("the ACK threshold", u64::from(frequency.threshold), (0, 1 << 30))?;
            let delay = frequency.max_delay.map_or(1_000_000, Duration::as_nanos);
            range("the ACK delay in ns", delay, (1_000_000, 16_000_000_000))?;
        }
        if let Some(most) = self.mtu_discovery {
            range("the MTU looked for", u64::from(most), MTU)?;
            if most < self.mtu {
                return Err(SettingsError::Discovery { most, given: self.mtu });
            }
        }
        match &self.congestion {
            CongestionChoice::Policy(make) if make(0).probe().is_some() => Err(SettingsError::Probes),
            _ => Ok(()),
        }
    }

    pub(crate) fn factory(&self, clock: Clock, seed: u64) -> Arc<Factory> {
        let maker = match &self.congestion {
            CongestionChoice::Policy(make) => Maker::Ours(Arc::clone(make)),
            CongestionChoice::QuinnCubic => Maker::Quinn(Arc::new(CubicConfig::default())),
            CongestionChoice::QuinnBbr => Maker::Quinn(Arc::new(BbrConfig::default())),
            CongestionChoice::QuinnNewReno => Maker::Quinn(Arc::new(NewRenoConfig::default())),
        };
        Arc::new(Factory { clock, maker, burst: self.pacing_burst, seed, made: Mutex::new(vec![]) })
    }

    pub(crate) fn transport(&self, factory: Arc<Factory>) -> TransportConfig {
        let varint = |value: u64| VarInt::from_u64(value).unwrap_or(VarInt::MAX);
        let discovery = self.mtu_discovery.map(|most| {
            let mut config = MtuDiscoveryConfig::default();
            config.upper_bound(most);
            config
        });
        let frequency = self.ack_frequency.map(|frequency| {
            let mut config = AckFrequencyConfig::default();
            config
                .ack_eliciting_threshold(VarInt::from_u32(frequency.threshold))
                .max_ack_delay(frequency.max_delay.map(to_std))
                .reordering_threshold(VarInt::from_u32(frequency.reordering));
            config
        });
        // Checked before: it is at most some 580 years, far below 2^62 ms.
        let idle = self.idle_timeout.and_then(|timeout| IdleTimeout::try_from(to_std(timeout)).ok());
        // What is without end must not be written at once.
        let known = self.observer.is_some() || matches!(self.session, Session::Null);
        let unlimited = if known { u64::MAX } else { REAL_SEND_WINDOW };
        let mut config = TransportConfig::default();
        config
            .max_concurrent_bidi_streams(VarInt::from_u32(self.max_streams))
            .max_concurrent_uni_streams(VarInt::from_u32(self.max_streams))
            .max_idle_timeout(idle)
            .stream_receive_window(varint(self.stream_window))
            .receive_window(self.connection_window.map_or(VarInt::MAX, varint))
            .send_window(self.send_window.unwrap_or(unlimited))
            .packet_threshold(self.packet_threshold)
            .time_threshold(self.time_threshold)
            .initial_rtt(to_std(self.initial_rtt))
            .initial_mtu(self.mtu)
            .mtu_discovery_config(discovery)
            .ack_frequency_config(frequency)
            .keep_alive_interval(self.keep_alive.map(to_std))
            // One datagram at a time: batches would hide them from pacing.
            .enable_segmentation_offload(false)
            .congestion_controller_factory(factory);
        config
    }

    /// quinn-proto's configuration of an endpoint: connection IDs, reset tokens and all else follow from `seed`.
    pub fn endpoint(&self, seed: [u8; 32]) -> EndpointConfig {
        let mut config = EndpointConfig::new(Arc::new(NullSigner { key: half(&seed) }));
        let length = self.cid_length;
        config.cid_generator(move || Box::new(Numbered::new(&seed, length))).rng_seed(Some(seed));
        let largest = self.mtu.max(self.mtu_discovery.unwrap_or(0)).max(1472);
        // In its range, since `check` has seen both.
        let _ = config.max_udp_payload_size(largest);
        config
    }

    /// Configuration of a client's connection `number`, with whatever transport configuration.
    pub fn client(
        &self,
        transport: Arc<TransportConfig>,
        seed: &[u8; 32],
        number: u64,
        ticket: Option<Ticket>,
    ) -> ClientConfig {
        let crypto: Arc<dyn crypto::ClientConfig> = match &self.session {
            Session::Real { client: Some(client), .. } => Arc::clone(client),
            _ => Arc::new(NullClient { ticket }),
        };
        let mut config = ClientConfig::new(match &self.observer {
            Some(observer) => observer.client(crypto),
            None => crypto,
        });
        // As long as quinn's: the first destination is 20 bytes of noise.
        let mut numbers = Numbered::new(seed, 20);
        // Another one for each connection: a server takes those with the same for one.
        numbers.state = numbers.state.rotate_left(32) ^ number;
        let numbers = Mutex::new(numbers);
        config.transport_config(transport).token_store(Arc::new(NoneTokenStore)).initial_dst_cid_provider(
            Arc::new(move || {
                numbers.lock().unwrap_or_else(std::sync::PoisonError::into_inner).generate_cid()
            }),
        );
        config
    }

    /// Configuration of a server, with whatever transport configuration; addresses of clients must not change.
    pub fn server(&self, transport: Arc<TransportConfig>, seed: &[u8; 32]) -> ServerConfig {
        let null = || NullServer { credentials: self.credentials.clone(), early_data: self.early_data };
        let crypto: Arc<dyn crypto::ServerConfig> = match &self.session {
            Session::Real { server: Some(server), .. } => Arc::clone(server),
            _ => Arc::new(null()),
        };
        let crypto = match &self.observer {
            Some(observer) => observer.server(crypto),
            None => crypto,
        };
        let mut config = ServerConfig::new(crypto, Arc::new(NullSigner { key: half(seed) }));
        config.transport_config(transport).time_source(Arc::new(Epoch)).migration(false);
        config
    }
}

fn half(seed: &[u8; 32]) -> [u8; 16] {
    std::array::from_fn(|index| seed[index] ^ seed[index + 16])
}

/// Tokens are as old as the run.
struct Epoch;

impl quinn_proto::TimeSource for Epoch {
    fn now(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH
    }
}

/// Connection IDs drawn from a seed (SplitMix64: G. Steele, D. Lea, C. Flood, OOPSLA 2014).
struct Numbered {
    state: u64,
    length: u8,
}

impl Numbered {
    fn new(seed: &[u8; 32], length: u8) -> Self {
        let state = seed.chunks_exact(8).fold(0u64, |state, part| {
            let part = part.iter().fold(0u64, |number, byte| number << 8 | u64::from(*byte));
            state.rotate_left(17) ^ part
        });
        Numbered { state, length }
    }

    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}

impl ConnectionIdGenerator for Numbered {
    fn generate_cid(&mut self) -> ConnectionId {
        let words: [[u8; 8]; 3] = std::array::from_fn(|_| self.next().to_le_bytes());
        ConnectionId::new(&words.concat()[..usize::from(self.length)])
    }
    fn cid_len(&self) -> usize {
        usize::from(self.length)
    }
    fn cid_lifetime(&self) -> Option<std::time::Duration> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use longhaul_cc::{Algorithm, Setup, SlowStartKind, build_checked};

    fn with_policy(algorithm: &str, slow_start: &str) -> Settings {
        let (algorithm, slow_start): (Algorithm, SlowStartKind) =
            (algorithm.parse().unwrap(), slow_start.parse().unwrap());
        let make: MakePolicy =
            Arc::new(move |seed| build_checked(&algorithm, &slow_start, &Setup { seed, ..Setup::default() }));
        Settings { congestion: CongestionChoice::Policy(make), ..Settings::default() }
    }

    #[test]
    fn settings_out_of_range_are_named() {
        let refused = |settings: Settings| settings.check().unwrap_err().to_string();
        assert_eq!(Settings::default().check(), Ok(()));
        assert_eq!(
            refused(Settings { mtu: 1199, ..Settings::default() }),
            "the MTU must be at least 1200 and at most 65527, not 1199"
        );
        assert_eq!(
            refused(Settings { packet_threshold: 2, ..Settings::default() }),
            "the packet threshold must be at least 3 and at most 1048576, not 2"
        );
        assert_eq!(
            refused(Settings { mtu: 1472, ..Settings::default() }),
            "MTU discovery up to 1452 bytes needs an MTU of at most that to begin with, not 1472"
        );
    }

    #[test]
    fn only_policies_that_open_with_probes_are_refused() {
        for algorithm in Algorithm::NAMES {
            let refused = with_policy(algorithm, "standard").check() == Err(SettingsError::Probes);
            assert_eq!(refused, matches!(*algorithm, "sttp_practical" | "sttp"), "{algorithm}");
        }
        assert_eq!(with_policy("reno", "packet_pair").check(), Err(SettingsError::Probes));
    }

    #[test]
    fn connection_ids_follow_from_the_seed_and_differ() {
        let ids = |seed| {
            let mut numbers = Numbered::new(&[seed; 32], 8);
            (0..100).map(|_| numbers.generate_cid().to_vec()).collect::<Vec<_>>()
        };
        assert_eq!(ids(1), ids(1));
        assert_ne!(ids(1), ids(2));
        let mut distinct = ids(1);
        distinct.sort();
        distinct.dedup();
        assert_eq!((distinct.len(), distinct[0].len()), (100, 8));
    }
}
