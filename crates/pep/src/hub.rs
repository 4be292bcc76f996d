//! The part of a node that opens connections for a terminal: who may go where, and from which address.

use crate::bench;
use crate::config::{Config, Key, Terminal};
use crate::flow::End;
use crate::node::Node;
use crate::outward::Outward;
use crate::relay::Relay;
use crate::table::{Ends, Entrance};
use crate::tunnel::Incoming;
use longhaul_hop::ResetCode;
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::sync::mpsc;

/// What a terminal's flow may do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Verdict {
    /// Connect, from this address if there is one.
    Go(Option<SocketAddr>),
    /// Nothing.
    Denied,
}

/// Checks a flow against the lists of the hub and of the terminal with this key.
pub(crate) fn judge(
    config: &Config,
    key: Option<[u8; 32]>,
    source: SocketAddr,
    server: SocketAddr,
) -> Verdict {
    let terminal: Option<&Terminal> =
        config.terminal.iter().find(|terminal| key.is_some_and(|key| terminal.key == Key(key)));
    let Some(terminal) = terminal else { return Verdict::Denied };
    if server.port() == 0 || !config.destinations.permit(server) || !terminal.destinations.permit(server) {
        return Verdict::Denied;
    }
    if source.ip().is_unspecified() || terminal.sources.is_empty() {
        return Verdict::Go(None);
    }
    let bindable = terminal.sources.iter().any(|prefix| prefix.contains(source.ip()));
    if bindable { Verdict::Go(Some(source)) } else { Verdict::Denied }
}

/// Serves flows of terminals, for ever.
pub(crate) async fn serve(node: Arc<Node>, mut incoming: mpsc::UnboundedReceiver<Incoming>) {
    while let Some(flow) = incoming.recv().await {
        tokio::spawn(carry(node.clone(), flow));
    }
}

async fn carry(node: Arc<Node>, incoming: Incoming) {
    let Incoming { leg, open, key, peer } = incoming;
    if bench::is_for(&open) {
        return bench::serve(&node, leg, &open, Some(peer)).await;
    }
    let ends = Ends { entrance: Entrance::Tunnel, client: open.source, server: open.destination };
    let Ok(entry) = node.shared.table.enter(ends) else { return leg.refuse(ResetCode::NoResources) };
    let (verdict, outward) = node.config(|config| {
        let mark = config.intercept.clone().unwrap_or_default().own_mark;
        let outward = Outward {
            leg: config.server_leg.clone(),
            timeouts: config.timeouts,
            mark,
            dscp: if config.dscp { open.dscp } else { 0 },
        };
        (judge(config, key, open.source, open.destination), outward)
    });
    let own = || crate::node::is_own(open.destination.ip());
    let source = match verdict {
        Verdict::Go(source) if node.lists_destinations() || !own() => source,
        _ => {
            leg.refuse(ResetCode::Denied);
            return node.ended(&entry, End::Forbidden);
        }
    };
    let end = match outward.open(source, open.destination, &node.shared.neighbours).await {
        Ok(server) => {
            node.shared.table.connected(entry.since.elapsed());
            leg.accept();
            server.local().map(|own| entry.outward.set(own));
            let relay = Relay::new(leg, server, entry.clone(), node.shared.clone());
            relay.run(node.stop.subscribe()).await
        }
        Err((end, why)) => {
            tracing::debug!(flow = entry.id, server = %open.destination, "not opened: {why}");
            leg.refuse(match (end, why.kind()) {
                (End::Refused, _) => ResetCode::ConnectionRefused,
                (_, std::io::ErrorKind::TimedOut) => ResetCode::TimedOut,
                _ => ResetCode::Unreachable,
            });
            end
        }
    };
    node.ended(&entry, end);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_goes_where_both_lists_allow_from_its_own_addresses() {
        let key = "ab".repeat(32);
        let text = format!(
            "mode = \"hub\"\n[destinations]\ndeny = [\"192.168.0.0/16\"]\n[hop]\nlisten = \"0.0.0.0:7714\"\nkey = \"k\"\n\
             [[terminal]]\nname = \"ship\"\nkey = \"{key}\"\nsources = [\"10.1.0.0/16\"]\n\
             destinations = {{ ports = [\"443\"] }}\n"
        );
        let config = crate::load::parse(&text, "hub.toml").unwrap();
        let judged = |key: u8, source: &str, server: &str| {
            judge(&config, Some([key; 32]), source.parse().unwrap(), server.parse().unwrap())
        };
        let source = "10.1.2.3:4000";
        assert_eq!(judged(0xab, source, "203.0.113.1:443"), Verdict::Go(source.parse().ok()));
        assert_eq!(judged(0xab, "0.0.0.0:0", "203.0.113.1:443"), Verdict::Go(None));
        assert_eq!(judged(0xab, "10.2.2.3:4000", "203.0.113.1:443"), Verdict::Denied, "another's address");
        assert_eq!(judged(0xab, source, "203.0.113.1:80"), Verdict::Denied, "another port");
        assert_eq!(judged(0xab, source, "192.168.1.1:443"), Verdict::Denied, "denied to all");
        assert_eq!(judged(0xac, source, "203.0.113.1:443"), Verdict::Denied, "a stranger");
        assert_eq!(
            judge(&config, None, source.parse().unwrap(), "203.0.113.1:443".parse().unwrap()),
            Verdict::Denied
        );
    }
}
