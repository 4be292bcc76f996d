//! The part of a node that opens connections for a terminal: who may go where, and from which address.

use crate::bench;
use crate::config::{Config, Key, Terminal};
use crate::destinations::is_guarded;
use crate::eyeballs;
use crate::flow::End;
use crate::names;
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
        config.terminal.iter().find(|terminal| key.is_some_and(|key| terminal.key.contains(&Key(key))));
    let Some(terminal) = terminal else { return Verdict::Denied };
    if server.port() == 0 || !config.destinations.permit(server) || !terminal.destinations.permit(server) {
        return Verdict::Denied;
    }
    let named = config.destinations.names(server.ip()) || terminal.destinations.names(server.ip());
    if !named && is_guarded(server.ip()) {
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
        node.allotting.notify_one();
        tokio::spawn(carry(node.clone(), flow));
    }
}

async fn carry(node: Arc<Node>, incoming: Incoming) {
    let Incoming { mut leg, open, key, peer } = incoming;
    // A mapped address (`::ffff:127.0.0.1`) is the IPv4 address for the kernel, so it is for every list too.
    let canonical = |end: SocketAddr| SocketAddr::new(end.ip().to_canonical(), end.port());
    let (name, servers) = if names::is_for(&open) {
        match names::asked(&node, &mut leg).await {
            Ok((name, servers)) => (Some(name), servers),
            Err(code) => return leg.refuse(code),
        }
    } else if bench::is_for(&open) {
        return bench::serve(&node, leg, &open, Some(peer)).await;
    } else {
        (None, vec![canonical(open.destination)])
    };
    let client = canonical(open.source);
    let server = servers.first().copied().unwrap_or(open.destination);
    let ends = Ends { entrance: Entrance::Tunnel, client, server };
    let Ok(entry) = node.shared.table.enter(ends) else { return leg.refuse(ResetCode::NoResources) };
    let (ways, outward) = node.config(|config| {
        // Without rules nobody looks at the mark, which takes a capability.
        let mark = config.rules().map_or(0, |rules| rules.own_mark);
        let outward = Outward {
            leg: config.server_leg.clone(),
            timeouts: config.timeouts,
            mark,
            dscp: if config.dscp { open.dscp } else { 0 },
        };
        let way = |server: &SocketAddr| match judge(config, key, client, *server) {
            Verdict::Go(source) => Some((*server, source)),
            Verdict::Denied => None,
        };
        (servers.iter().filter_map(way).collect::<Vec<_>>(), outward)
    });
    let Some(source) = ways.first().map(|(_, source)| *source) else {
        leg.refuse(ResetCode::Denied);
        return node.ended(&entry, End::Forbidden);
    };
    let addresses = ways.into_iter().map(|(server, _)| server).collect();
    let attempt = |server: SocketAddr| {
        let (outward, node) = (outward.clone(), node.clone());
        async move { outward.open(source, server, &node.shared.neighbours).await }
    };
    let opened = tokio::select! {
        opened = eyeballs::first(addresses, eyeballs::DELAY, attempt) => opened,
        // The terminal has another address of the same server, or its client is gone.
        () = leg.given_up() => return node.ended(&entry, End::ClientReset),
    };
    let end = match opened {
        Ok((reached, server)) => {
            if let Some(name) = name {
                let _ = entry.reached.set(format!("{name} ({})", reached.ip()));
            }
            node.shared.table.connected(entry.since.elapsed());
            leg.accept();
            server.local().map(|own| entry.outward.set(own));
            let relay = Relay::new(leg, server, entry.clone(), node.shared.clone());
            relay.run(node.stop.subscribe()).await
        }
        Err((end, why)) => {
            tracing::debug!(flow = entry.id, %server, "not opened: {why}");
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
        for guarded in
            ["127.0.0.1:443", "[::ffff:127.0.0.1]:443", "169.254.169.254:443", "[::1]:443", "[fe80::1]:443"]
        {
            assert_eq!(judged(0xab, source, guarded), Verdict::Denied, "no list names {guarded}");
        }
        assert_eq!(
            judge(&config, None, source.parse().unwrap(), "203.0.113.1:443".parse().unwrap()),
            Verdict::Denied
        );
    }

    /// While a terminal's key changes, the old one and the new one are its own.
    #[test]
    fn a_terminal_with_two_keys_is_the_same_with_either() {
        let (old, new) = ("ab".repeat(32), "cd".repeat(32));
        let text = format!(
            "mode = \"hub\"\n[hop]\nlisten = \"0.0.0.0:7714\"\nkey = \"k\"\n\
             [[terminal]]\nname = \"ship\"\nkey = [\"{old}\", \"{new}\"]\n"
        );
        let config = crate::load::parse(&text, "hub.toml").unwrap();
        let server = "203.0.113.1:443".parse().unwrap();
        let judged = |key: u8| judge(&config, Some([key; 32]), "0.0.0.0:0".parse().unwrap(), server);
        assert_eq!((judged(0xab), judged(0xcd)), (Verdict::Go(None), Verdict::Go(None)));
        assert_eq!(judged(0xee), Verdict::Denied);
        let both = crate::start::keys(&config);
        assert_eq!(both.iter().map(|key| key.0[0]).collect::<Vec<_>>(), [0xab, 0xcd]);
    }

    #[test]
    fn the_documented_hub_reaches_no_private_network() {
        let text = include_str!("../packaging/hub.toml").replace(&"0".repeat(64), &"ab".repeat(32));
        let config = crate::load::parse(&text, "hub.toml").unwrap();
        let judged = |server: &str| {
            let source = "192.168.1.7:4000".parse().unwrap();
            judge(&config, Some([0xab; 32]), source, server.parse().unwrap())
        };
        assert!(matches!(judged("203.0.113.1:443"), Verdict::Go(Some(_))));
        for private in
            ["10.0.0.5:443", "[::ffff:10.0.0.5]:443", "172.16.0.1:443", "192.168.7.1:443", "[fd00::1]:443"]
        {
            assert_eq!(judged(private), Verdict::Denied, "{private}");
        }
    }
}
