//! From the configuration to tunnels: a hub has one, which its terminals share, a terminal one to each of its hubs.

use crate::config::{Carrier, Config, Mode, Profile};
use crate::lanes::{self, Common};
use crate::state::State;
use crate::tunnel::Tunnel;
use crate::udp::Udp;
use crate::{Error, keys};
use longhaul_hop::tls::{Identity, PublicKey, Trusted};
use longhaul_hop::{Coding, Pool, PoolConfig, Rates, Role, Session, Share};
use sha2::{Digest, Sha256};
use socket2::Socket;
use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;

/// Bytes of UDP payload in an IPv6 packet of the largest size.
const LARGEST: usize = 65_487;

/// Flows that a peer may open before it has used any. quinn-proto's tables for as many streams take two times 512 places.
const FIRST_FLOWS: u32 = 448;

/// The place of a hub's address while none is known.
pub(crate) const UNKNOWN: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0);

/// Settings of the hop, without the keys; `None` for one node.
pub(crate) fn hop_settings(config: &Config) -> Option<longhaul_hop::Config> {
    let hop = config.hop.as_ref()?;
    let role = match config.mode {
        // Where the hub is becomes known when a tunnel is wanted.
        Mode::Terminal => Role::Terminal { hub: UNKNOWN },
        Mode::Hub => Role::Hub,
        Mode::Split => return None,
    };
    // As many as one call takes to the kernel (GSO), which limits their bytes.
    let batch = (LARGEST / usize::from(hop.mtu).max(1)).clamp(1, 64);
    let flows = u32::try_from(config.limits.flows).unwrap_or(u32::MAX).clamp(1, 65_536);
    Some(longhaul_hop::Config {
        share: if hop.shared { Share::Fair } else { Share::Exclusive },
        rates: Rates { send: hop.send_rate, receive: hop.receive_rate, most: hop.most_rate },
        coding: if hop.coding { Coding::Adaptive } else { Coding::Off },
        credit: hop.credit(),
        memory: hop.memory(),
        unsent: hop.unsent(),
        keep_alive: hop.keep_alive(),
        alone: config.mode == Mode::Terminal && hop.profile == Profile::PaidByTheByte,
        idle_timeout: hop.idle_timeout,
        initial_rtt: hop.initial_rtt,
        mtu: hop.mtu,
        max_flows: flows,
        first_flows: FIRST_FLOWS,
        max_peers: hop.terminals,
        batch,
        ..longhaul_hop::Config::new(role)
    })
}

/// Keys of those who may be at the other end of the tunnel.
pub(crate) fn keys(config: &Config) -> Vec<PublicKey> {
    let hubs = config.hop.iter().filter_map(|hop| hop.hub_key.as_ref());
    let all = config.terminal.iter().map(|terminal| &terminal.key).chain(hubs);
    all.flat_map(|keys| &keys.0).map(|key| PublicKey(key.0)).collect()
}

/// What is wrong if a key of the file for the other node is this node's own, as after pasting the wrong one.
pub fn own_key_as_peer(config: &Config, identity: &Identity) -> Option<String> {
    let hop = config.hop.as_ref()?;
    keys(config).contains(&identity.public_key()).then(|| {
        format!("{}: the other node's key is this node's own; each has a key of its own", hop.key.display())
    })
}

/// The terminals' names by their keys.
fn names(config: &Config) -> HashMap<[u8; 32], String> {
    let terminals = config.terminal.iter();
    terminals.flat_map(|one| one.key.0.iter().map(|key| (key.0, one.name.clone()))).collect()
}

/// Takes over keys and names of a file that was read again.
pub(crate) fn trust(tunnel: &Tunnel, config: &Config) {
    // The names of those who are turned away are still needed.
    tunnel.trust(keys(config));
    tunnel.set_names(names(config));
}

/// Opens the sockets of each tunnel that there is to be.
pub(crate) fn sockets(config: &Config) -> Result<Vec<Vec<Socket>>, Error> {
    let Some(hop) = &config.hop else { return Ok(vec![]) };
    let mark = config.intercept.as_ref().map_or(0, |intercept| intercept.own_mark);
    match hop.listen {
        Some(at) => Ok(vec![vec![Udp::bind(at, mark)?]]),
        None => hop.hubs().iter().map(|_| Udp::bind_both(mark)).collect(),
    }
}

/// Opens a hub's socket for TCP connections of terminals, at the same address and port.
pub(crate) fn lane_socket(config: &Config) -> Result<Option<Socket>, Error> {
    let hop = config.hop.as_ref().filter(|hop| config.mode == Mode::Hub && hop.carrier != Carrier::Quic);
    hop.and_then(|hop| Some(lanes::listener(hop.listen?, hop))).transpose()
}

/// Tunnels, and what their TCP connections have in common.
pub(crate) type Tunnels = (Vec<Arc<Tunnel>>, Common);

/// The tunnels on their sockets, as many as these are; `None` for none.
pub(crate) fn tunnels(
    config: &Config,
    sockets: Vec<Vec<Socket>>,
    state: &State,
) -> Result<Option<Tunnels>, Error> {
    let (Some(hop), Some(mut settings)) = (&config.hop, hop_settings(config)) else { return Ok(None) };
    if let Some(what) = crate::load::unfilled(config) {
        return Err(Error::Config(what));
    }
    let identity = keys::load(&hop.key)?;
    // A peer recognises by this key that a restarted node has forgotten it; it must survive the restart.
    let secret = std::fs::read(&hop.key).map_err(|why| Error::system("read the key", why))?;
    let digest = Sha256::new().chain_update(b"longhaul-pep stateless reset").chain_update(&secret).finalize();
    settings.reset_key = digest.first_chunk::<16>().copied();
    let peers: Trusted = keys(config).into_iter().collect();
    if let Some(what) = own_key_as_peer(config, &identity) {
        return Err(Error::Config(what));
    }
    settings.remembered_of = state.remembered();
    // Which of several keys the hub has is known only after the handshake.
    let only = hop.hub_key.as_ref().filter(|keys| keys.0.len() == 1).and_then(|keys| keys.0.first());
    settings.remembered = only.and_then(|key| settings.remembered_of.get(&key.0).copied());
    let mark = config.intercept.as_ref().map_or(0, |intercept| intercept.own_mark);
    let common = Common::new(&identity, &peers, hop, mark).map_err(|why| Error::system("set up TLS", why))?;
    settings.session = Session::Tls { identity: Arc::new(identity), peers: peers.clone() };
    let epoch = std::time::Instant::now();
    let mut all = vec![];
    for sockets in sockets {
        let pool = Pool::new(PoolConfig {
            credit: settings.credit,
            memory: settings.memory,
            unsent: settings.unsent,
            max_flows: settings.max_flows,
        });
        let mut seed = [0; 32];
        keys::random(&mut seed)?;
        let mut node = longhaul_hop::Node::new(settings.clone(), seed, longhaul_units::Instant::ZERO)
            .map_err(|why| Error::Config(format!("[hop]: {why}")))?;
        if hop.carrier == Carrier::Tcp {
            node.close(longhaul_units::Instant::ZERO);
        }
        let choice = (config.mode == Mode::Hub, hop.carrier, hop.keep_alive());
        let keys = (peers.clone(), common.rate.clone());
        let tunnel = Tunnel::new(node, pool, choice, Udp::new(sockets)?, epoch, keys);
        tunnel.set_names(names(config));
        all.push(tunnel);
    }
    Ok((!all.is_empty()).then_some((all, common)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load;
    use longhaul_units::Duration;

    #[test]
    fn a_key_that_is_to_be_filled_in_ends_the_start() {
        let config = load::parse(include_str!("../packaging/terminal.toml"), "terminal").unwrap();
        let state = State::load(None, Duration::from_secs(1));
        let why = tunnels(&config, vec![], &state).err().unwrap().to_string();
        assert!(why.starts_with("hop.hub_key is zeros: fill in what `longhaul-pep keygen` prints"), "{why}");
    }

    /// Two and a half pipes, one where that is large, and some milliseconds of a fast link in any case.
    #[test]
    fn what_waits_to_be_sent_follows_the_pipe() {
        let unsent = |rate: &str| {
            let text = include_str!("../packaging/terminal.toml").replace("49.8 Mbit/s", rate);
            hop_settings(&load::parse(&text, "terminal").unwrap()).unwrap().unsent
        };
        assert_eq!(unsent("50 Mbit/s"), 10_156_250);
        assert_eq!(unsent("1.2 Gbit/s"), 97_500_000);
        assert_eq!(unsent("10 Mbit/s"), 4 << 20);
    }
}
