//! What people run on the router that the accelerator is put on: NAT, firewalls.

use super::{Bed, address, text};
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::time::Duration;

/// Rules of a router before the accelerator came.
#[derive(Clone, Copy, Debug)]
pub enum Router {
    /// What leaves towards the servers gets the router's own address.
    Masquerade,
    /// The same by a fixed address.
    Snat,
    /// Only what the clients began is forwarded.
    StatefulForward,
}

impl Router {
    pub const ALL: [Router; 3] = [Router::Masquerade, Router::Snat, Router::StatefulForward];

    fn rules(self) -> String {
        let nat = |v4: &str, v6: &str| {
            format!(
                "table inet nat {{ chain post {{ type nat hook postrouting priority srcnat;\n\
                 oifname \"wan\" meta nfproto ipv4 {v4}\noifname \"wan\" meta nfproto ipv6 {v6}\n}}\n}}\n"
            )
        };
        match self {
            Router::Masquerade => nat("masquerade", "masquerade"),
            Router::Snat => nat("snat ip to 10.82.0.1", "snat ip6 to fd82::1"),
            Router::StatefulForward => {
                "table inet filter { chain forward { type filter hook forward priority filter; policy drop;\n\
                 ct state established,related accept\niifname \"lan\" accept\n}\n}\n"
                    .into()
            }
        }
    }

    /// Whether servers see the router's address.
    pub fn translates(self) -> bool {
        !matches!(self, Router::StatefulForward)
    }

    /// Puts the rules on the accelerator's machine. Behind a translation, servers have no way to the clients' own addresses.
    pub fn set_up(self, bed: &Bed) {
        let output = bed.at("p", &format!("nft -f - <<'END'\n{}END", self.rules()));
        assert!(output.status.success(), "{}", text(&output.stderr));
        if self.translates() {
            bed.at("s", "ip route del default; ip -6 route del default");
        }
    }
}

/// Entries of connection tracking at the accelerator's machine, of TCP connections.
pub fn tracked(bed: &Bed) -> Vec<String> {
    let all = text(&bed.at("p", "cat /proc/net/nf_conntrack").stdout);
    all.lines().filter(|line| line.contains(" tcp ")).map(str::to_string).collect()
}

/// A server that answers each connection with what it got, and its address as the server sees it.
pub fn exchange(bed: &Bed, server: &str) -> Result<String, std::io::Error> {
    exchange_with(bed, "s", server)
}

/// The same with another host.
pub fn exchange_with(bed: &Bed, host: &str, server: &str) -> Result<String, std::io::Error> {
    let listener = bed.within(host, || TcpListener::bind(address(server, 0)).unwrap());
    let port = listener.local_addr().unwrap().port();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let (mut stream, peer) = listener.accept().unwrap();
            stream.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
            let mut got = vec![];
            if stream.read_to_end(&mut got).is_ok() {
                let _ = stream.write_all(format!("{} {}", peer.ip(), got.len()).as_bytes());
            }
        });
        let talk = || -> Result<String, std::io::Error> {
            let mut stream = TcpStream::connect_timeout(&address(server, port), Duration::from_secs(5))?;
            stream.set_read_timeout(Some(Duration::from_secs(5)))?;
            stream.write_all(&[7; 100_000])?;
            stream.shutdown(Shutdown::Write)?;
            let mut answer = String::new();
            stream.read_to_string(&mut answer)?;
            Ok(answer)
        };
        let answer = bed.within("c", talk);
        if answer.is_err() {
            // The server waits for a connection that may never come.
            let _ = bed.within(host, || TcpStream::connect(address(server, port)));
        }
        answer
    })
}
