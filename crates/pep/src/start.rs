//! From the configuration to a tunnel.

use crate::config::{Carrier, Config, Mode};
use crate::lanes::{self, Common};
use crate::state::State;
use crate::tunnel::Tunnel;
use crate::udp::Udp;
use crate::{Error, keys};
use longhaul_hop::tls::{PublicKey, Trusted};
use longhaul_hop::{Coding, Pool, PoolConfig, Rates, Role, Session, Share};
use sha2::{Digest, Sha256};
use socket2::Socket;
use std::io::Read;
use std::net::SocketAddr;
use std::sync::Arc;

/// Bytes of UDP payload in an IPv6 packet of the largest size.
const LARGEST: usize = 65_487;

/// Settings of the hop, without the keys; `None` for one node.
pub(crate) fn hop_settings(config: &Config) -> Option<longhaul_hop::Config> {
    let hop = config.hop.as_ref()?;
    let role = match (config.mode, hop.hub) {
        (Mode::Terminal, Some(hub)) => Role::Terminal { hub },
        (Mode::Hub, _) => Role::Hub,
        _ => return None,
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
        keep_alive: hop.keep_alive,
        idle_timeout: hop.idle_timeout,
        initial_rtt: hop.initial_rtt,
        mtu: hop.mtu,
        max_flows: flows,
        max_peers: hop.terminals,
        batch,
        ..longhaul_hop::Config::new(role)
    })
}

/// Keys of those who may be at the other end of the tunnel.
pub(crate) fn keys(config: &Config) -> Vec<PublicKey> {
    let hub = config.hop.as_ref().and_then(|hop| hop.hub_key);
    let terminals = config.terminal.iter().map(|terminal| terminal.key);
    terminals.chain(hub).map(|key| PublicKey(key.0)).collect()
}

/// Opens the tunnel's socket, if there is to be a tunnel.
pub(crate) fn socket(config: &Config) -> Result<Option<Socket>, Error> {
    let Some(hop) = &config.hop else { return Ok(None) };
    let any = match hop.hub {
        Some(SocketAddr::V6(_)) => SocketAddr::from(([0; 16], 0)),
        _ => SocketAddr::from(([0; 4], 0)),
    };
    let mark = config.intercept.as_ref().map_or(0, |intercept| intercept.own_mark);
    Udp::bind(hop.listen.unwrap_or(any), mark).map(Some)
}

/// Opens a hub's socket for TCP connections of terminals, at the same address and port.
pub(crate) fn lane_socket(config: &Config) -> Result<Option<Socket>, Error> {
    let hop = config.hop.as_ref().filter(|hop| config.mode == Mode::Hub && hop.carrier != Carrier::Quic);
    hop.and_then(|hop| hop.listen).map(lanes::listener).transpose()
}

/// Starts the hop on its socket, if there is to be one.
pub(crate) fn tunnel(
    config: &Config,
    socket: Option<Socket>,
    state: &State,
) -> Result<Option<(Arc<Tunnel>, Common)>, Error> {
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
    if peers.contains(&identity.public_key()) {
        let what = format!(
            "{}: the other node's key is this node's own; each has a key of its own",
            hop.key.display()
        );
        return Err(Error::Config(what));
    }
    settings.remembered_of = state.remembered();
    settings.remembered = hop.hub_key.and_then(|key| settings.remembered_of.get(&key.0).copied());
    let mark = config.intercept.as_ref().map_or(0, |intercept| intercept.own_mark);
    let common = Common::new(&identity, &peers, hop, mark).map_err(|why| Error::system("set up TLS", why))?;
    let pool = Pool::new(PoolConfig {
        credit: settings.credit,
        memory: settings.memory,
        max_flows: settings.max_flows,
    });
    settings.session = Session::Tls { identity: Arc::new(identity), peers: peers.clone() };
    let mut seed = [0; 32];
    std::fs::File::open("/dev/urandom")
        .and_then(|mut file| file.read_exact(&mut seed))
        .map_err(|why| Error::system("read random numbers", why))?;
    let epoch = std::time::Instant::now();
    let choice = (config.mode == Mode::Hub, hop.carrier, hop.keep_alive);
    let mut node = longhaul_hop::Node::new(settings, seed, longhaul_units::Instant::ZERO)
        .map_err(|why| Error::Config(format!("[hop]: {why}")))?;
    if hop.carrier == Carrier::Tcp {
        node.close(longhaul_units::Instant::ZERO);
    }
    let Some(socket) = socket else { return Ok(None) };
    let tunnel = Tunnel::new(node, pool, choice, Udp::new(socket)?, epoch, (peers, common.rate.clone()));
    Ok(Some((tunnel, common)))
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
        let why = tunnel(&config, None, &state).err().unwrap().to_string();
        assert!(why.starts_with("hop.hub_key is zeros: fill in what `longhaul-pep keygen` prints"), "{why}");
    }
}
