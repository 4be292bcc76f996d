//! Names of servers that clients of the proxies give: looked up at this node, or at the hub, which saves a round trip over the link and
//! finds the server that is near the hub. The hub is given the name in front of the flow's bytes ([`longhaul_hop::wire`], version 3).

use crate::bench::{read, write_all};
use crate::config::{Config, Names};
use crate::eyeballs;
use crate::node::Node;
use crate::tunnel::{HopLeg, PeerInfo, Tunnel};
use longhaul_hop::{Open, ResetCode, wire};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

/// A look-up, or a name that is to come, is waited for as long.
const PATIENCE: Duration = Duration::from_secs(10);
const NOBODY: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::UNSPECIFIED), 0);

/// Addresses of a server in the order in which they are tried.
pub(crate) async fn look_up(name: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
    let found = tokio::time::timeout(PATIENCE, tokio::net::lookup_host((name, port))).await??;
    let found = eyeballs::in_turn(found);
    if found.is_empty() { Err(io::ErrorKind::NotFound.into()) } else { Ok(found) }
}

/// The tunnel and the hub that look names up for this terminal, if there is one.
pub(crate) fn server(node: &Node) -> Option<(&Arc<Tunnel>, PeerInfo)> {
    let at_hub = node.config(|config| config.hop.as_ref().is_some_and(|hop| hop.names == Names::Hub));
    let tunnel = node.tunnel().filter(|_| at_hub && !*node.without_tunnel.borrow())?;
    tunnel.peer().filter(|peer| peer.looks_up).map(|peer| (tunnel, peer))
}

/// Opens a flow to a server by name; the hub has not answered yet.
pub(crate) async fn open(
    tunnel: &Arc<Tunnel>,
    peer: PeerInfo,
    (name, port): (&str, u16),
    dscp: u8,
) -> io::Result<HopLeg> {
    let destination = SocketAddr::new(NOBODY.ip(), wire::NAMED);
    let open = Open { source: NOBODY, destination, dscp, priority: 0, confirm: true };
    let mut leg = tunnel.open(peer.id, open).map_err(io::Error::other)?;
    let mut head = vec![];
    wire::write_name(name, port, &mut head);
    write_all(&mut leg, &head).await?;
    Ok(leg)
}

/// True if a terminal's flow is for a server by name.
pub(crate) fn is_for(open: &Open) -> bool {
    open.destination == SocketAddr::new(NOBODY.ip(), wire::NAMED)
}

/// Whether this hub looks names up for its terminals.
fn is_offered(config: &Config) -> bool {
    config.hop.as_ref().is_some_and(|hop| hop.names == Names::Hub)
}

/// At a hub: the server that a flow is for, by name and by its addresses.
pub(crate) async fn asked(node: &Node, leg: &mut HopLeg) -> Result<(String, Vec<SocketAddr>), ResetCode> {
    if !node.config(is_offered) {
        return Err(ResetCode::NotOffered);
    }
    let head = tokio::time::timeout(PATIENCE, head(leg)).await;
    let head = head.map_err(|_| ResetCode::TimedOut)?.map_err(|_| ResetCode::Reset)?;
    let request = wire::read_name(&head).and_then(|(name, port)| Some((crate::http::host_name(name)?, port)));
    let (name, port) = request.filter(|(_, port)| *port > 0).ok_or(ResetCode::Denied)?;
    let addresses = look_up(&name, port).await.map_err(|_| ResetCode::Unreachable)?;
    Ok((format!("{name}:{port}"), addresses))
}

/// The bytes in front of the flow's own, and no more.
async fn head(leg: &mut HopLeg) -> io::Result<Vec<u8>> {
    let mut head = vec![0];
    let mut had = 0;
    while had < head.len() {
        let n = read(leg, &mut head[had..]).await?;
        if n == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        had += n;
        if had == 1 {
            head.resize(wire::name_length(head[0]), 0);
        }
    }
    Ok(head)
}
