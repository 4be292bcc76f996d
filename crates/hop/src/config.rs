//! What can be set at a node, and what is refused.

use longhaul_units::{Duration, Rate};
use std::collections::BTreeMap;
use std::net::SocketAddr;
#[cfg(feature = "tls")]
use std::sync::Arc;

/// Which end of the hop a node is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// Holds one connection to a hub, and opens it again when it was lost.
    Terminal {
        /// UDP address of the hub; unspecified while none is known ([`crate::Node::set_hub`]).
        hub: SocketAddr,
    },
    /// Waits for terminals.
    Hub,
}

/// Who secures the hop.
#[derive(Clone, Default)]
pub enum Session {
    /// Nobody: the sizes of TLS, but nothing is encrypted. For virtual time.
    #[default]
    Null,
    /// TLS 1.3 with raw public keys on both sides (RFC 7250): nobody else can be a peer.
    #[cfg(feature = "tls")]
    Tls {
        /// This node's own key pair.
        identity: Arc<longhaul_quic::tls::Identity>,
        /// Keys of the peers that are let in.
        peers: longhaul_quic::tls::Trusted,
    },
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Session::Null => f.write_str("Null"),
            #[cfg(feature = "tls")]
            Session::Tls { .. } => f.write_str("Tls"),
        }
    }
}

/// To whom the link between the nodes belongs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Share {
    /// To the hop alone: it takes all that the link carries, and loss alone does not slow it down.
    #[default]
    Exclusive,
    /// To others too: where the link is overloaded, it takes a part as one flow of CUBIC would.
    Fair,
}

/// Rates of the hop, in bits per second of UDP datagrams with their IP headers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Rates {
    /// Rate at which this node begins to send; `None` for what was remembered, else what the peer requests, else 1 Mbit/s.
    pub send: Option<Rate>,
    /// Rate that this node requests from the peer for the beginning.
    pub receive: Option<Rate>,
    /// This node never sends faster; `None` for no limit.
    pub most: Option<Rate>,
}

impl Rates {
    /// Part of a link's rate, in thousandths, that a sender takes: a little less, so that the link's queue stays empty.
    pub const PART_OF_LINK: u64 = 997;

    /// The rate for a link that belongs to the hop.
    #[must_use]
    pub fn of_link(rate: Rate) -> Rate {
        Rate::from_bps((u128::from(rate.as_bps()) * u128::from(Self::PART_OF_LINK) / 1000) as u64)
    }
}

/// Whether parities are sent that spare a round trip where packets are lost.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Coding {
    /// None.
    Off,
    /// As many as measured loss and bursts require, for the beginning and the end of transfers.
    #[default]
    Adaptive,
}

/// What an earlier connection over the same path has measured (careful resume, RFC 9959).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Remembered {
    /// Rate of this node's sender.
    pub rate: Rate,
    /// Round trip without queues.
    pub rtt: Duration,
    /// Packets lost without overload, in millionths.
    pub loss_ppm: u32,
    /// Mean number of packets lost in a row, in thousandths.
    pub burst_permille: u32,
}

/// Settings of a node.
#[derive(Clone, Debug)]
pub struct Config {
    /// Which end it is.
    pub role: Role,
    /// Who secures the hop.
    pub session: Session,
    /// To whom the link belongs.
    pub share: Share,
    /// Rates to begin with.
    pub rates: Rates,
    /// What is known from an earlier connection.
    pub remembered: Option<Remembered>,
    /// The same of peers with these public keys, which reach a hub only after it has begun to send.
    pub remembered_of: BTreeMap<[u8; 32], Remembered>,
    /// Parities.
    pub coding: Coding,
    /// Bytes of one flow and direction that may be under way or unread, 16 KiB to 1 GiB. Less than a bandwidth-delay product
    /// limits a flow's rate; two or three are good.
    pub credit: u64,
    /// Bytes of all flows of a peer and direction that may be under way or unread, at least nine times [`Config::credit`], at
    /// most 64 GiB. Each flow may exceed it by [`crate::FLOOR`].
    pub memory: u64,
    /// Bytes that wait here to be sent, of all flows of a peer; each flow has its part of that, [`crate::FLOOR`] at least. No limit by
    /// default but `credit` and `memory`. The end of a transfer is in sight of parities as far as it waits here.
    pub unsent: u64,
    /// The pause after which a node that has sent nothing to acknowledge sends a PING; it keeps the connection alive and finds out
    /// when an outage starts and ends. 1 ms to half of [`Config::idle_timeout`].
    pub keep_alive: Duration,
    /// This node alone does that, and requests that the peer does not; peers of the protocol's versions 1 and 2 do.
    pub alone: bool,
    /// A connection on which nothing arrives for so long is over, 1 s to 1 h.
    pub idle_timeout: Duration,
    /// The round trip that is assumed before one is measured, 1 ms to 60 s.
    pub initial_rtt: Duration,
    /// Bytes of UDP payload in a full packet, 1200 to 16,384: 1472 fills an Ethernet frame over IPv4, 1452 over IPv6.
    pub mtu: u16,
    /// Flows of a peer at a time, 1 to 65,536.
    pub max_flows: u32,
    /// Flows that a peer may open before it has used any, 1 and more; `max_flows` by default. Fewer save some 60 bytes each while a peer is
    /// idle. A burst beyond them waits for a round trip.
    pub first_flows: u32,
    /// Terminals of a hub at a time, 1 to 65,536.
    pub max_peers: u32,
    /// Most packets in one batch of [`crate::Transmit`], 1 to 64.
    pub batch: usize,
    /// Key of the tokens with which a restarted node informs its peers that it has lost their state (stateless reset, RFC 9000
    /// section 10.3); the same before and after. `None` to derive it from the seed.
    pub reset_key: Option<[u8; 16]>,
}

impl Config {
    /// The defaults: exclusive link, coding, a round trip of 650 ms.
    pub fn new(role: Role) -> Self {
        Config {
            role,
            session: Session::Null,
            share: Share::Exclusive,
            rates: Rates::default(),
            remembered: None,
            remembered_of: BTreeMap::new(),
            coding: Coding::Adaptive,
            credit: 16 << 20,
            memory: 256 << 20,
            unsent: u64::MAX,
            keep_alive: Duration::from_secs(5),
            alone: false,
            idle_timeout: Duration::from_secs(300),
            initial_rtt: Duration::from_millis(650),
            mtu: 1472,
            max_flows: 4096,
            first_flows: u32::MAX,
            max_peers: 64,
            batch: 16,
            reset_key: None,
        }
    }

    /// Whether a node can have these settings.
    ///
    /// # Errors
    /// What is wrong, and what would be right.
    pub fn check(&self) -> Result<(), ConfigError> {
        let range = |what, given: u64, least: u64, most: u64| {
            let ok = (least..=most).contains(&given);
            ok.then_some(()).ok_or(ConfigError::Range { what, least, most, given })
        };
        range("credit in bytes", self.credit, 16 << 10, 1 << 30)?;
        range("memory in bytes", self.memory, 9 * self.credit, 64 << 30)?;
        range("mtu", u64::from(self.mtu), 1200, 16_384)?;
        range("max_flows", u64::from(self.max_flows), 1, 65_536)?;
        range("max_peers", u64::from(self.max_peers), 1, 65_536)?;
        range("batch", self.batch as u64, 1, 64)?;
        range("initial_rtt in ns", self.initial_rtt.as_nanos(), 1_000_000, 7_200_000_000_000)?;
        range("idle_timeout in ns", self.idle_timeout.as_nanos(), 1_000_000_000, 2_592_000_000_000_000)?;
        range("keep_alive in ns", self.keep_alive.as_nanos(), 1_000_000, self.idle_timeout.as_nanos() / 2)?;
        for (what, rate) in [
            ("rates.send in bit/s", self.rates.send),
            ("rates.receive in bit/s", self.rates.receive),
            ("rates.most in bit/s", self.rates.most),
            ("the remembered rate in bit/s", self.remembered.map(|remembered| remembered.rate)),
        ] {
            range(what, rate.map_or(LEAST_RATE, Rate::as_bps), LEAST_RATE, MOST_RATE)?;
        }
        match (self.rates.send, self.rates.most) {
            (Some(send), Some(most)) if send > most => Err(ConfigError::AboveMost { send, most }),
            _ => Ok(()),
        }
    }
}

/// 10 kbit/s.
pub(crate) const LEAST_RATE: u64 = 10_000;
/// 100 Gbit/s.
pub(crate) const MOST_RATE: u64 = 100_000_000_000;

/// Settings that cannot be.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ConfigError {
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
    /// The rate to begin with is above the largest.
    #[error("rates.send must be at most rates.most ({most}), not {send}")]
    AboveMost {
        /// The rate to begin with.
        send: Rate,
        /// The largest.
        most: Rate,
    },
    /// A key or the operating system's cryptography does not do.
    #[error("{0}")]
    Session(String),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_that_cannot_be_are_named() {
        let refused = |change: fn(&mut Config)| {
            let mut config = Config::new(Role::Hub);
            change(&mut config);
            config.check().unwrap_err().to_string()
        };
        assert_eq!(Config::new(Role::Hub).check(), Ok(()));
        assert_eq!(
            refused(|config| config.mtu = 1199),
            "mtu must be at least 1200 and at most 16384, not 1199"
        );
        assert_eq!(
            refused(|config| config.memory = 4 * config.credit),
            "memory in bytes must be at least 150994944 and at most 68719476736, not 67108864"
        );
        assert_eq!(
            refused(|config| config.keep_alive = Duration::from_secs(151)),
            "keep_alive in ns must be at least 1000000 and at most 150000000000, not 151000000000"
        );
        assert_eq!(
            refused(|config| config.rates = Rates {
                send: Some(Rate::from_bps(20_000_000)),
                most: Some(Rate::from_bps(10_000_000)),
                ..Rates::default()
            }),
            "rates.send must be at most rates.most (10 Mbit/s), not 20 Mbit/s"
        );
    }
}
