//! The accelerator on routers as people have them: with NAT and firewalls of their own. Needs root and Linux; ignored unless asked for.

mod bed;

use bed::router::{Router, tracked};
use bed::{Bed, CLIENT, CLIENT_V6, SERVER, SERVER_V6, address, can_run};
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::time::Duration;

/// A server that answers each connection with what it got, and its address as the server sees it.
fn exchange(bed: &Bed, server: &str) -> Result<String, std::io::Error> {
    let listener = bed.within("s", || TcpListener::bind(address(server, 0)).unwrap());
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
            let _ = bed.within("s", || TcpStream::connect(address(server, port)));
        }
        answer
    })
}

#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn connections_work_behind_each_translation_in_each_mode() {
    if !can_run() {
        return;
    }
    for router in Router::ALL {
        let bed = Bed::new();
        router.set_up(&bed);
        for setting in ["", "untracked = false", "keep_source = false"] {
            let daemon = bed.start(
                "p",
                "pep",
                &format!(
                    "mode = \"split\"\ncontrol = \"{}\"\n[intercept]\ninterfaces = [\"lan\"]\n{setting}\n",
                    bed.folder.join("control.sock").display()
                ),
            );
            for (client, server, own) in [(CLIENT, SERVER, "10.82.0.1"), (CLIENT_V6, SERVER_V6, "fd82::1")] {
                let seen =
                    if router.translates() || setting.starts_with("keep_source") { own } else { client };
                for _ in 0..3 {
                    let answer = exchange(&bed, server);
                    assert_eq!(
                        answer.unwrap(),
                        format!("{seen} 100000"),
                        "{router:?}, {setting:?}, {server}"
                    );
                }
            }
            assert_eq!(
                daemon.status()["ended"]["complete"],
                6,
                "{router:?}, {setting:?}: they went through it"
            );
            daemon.stop();
        }
    }
}

/// A finished connection's entry lasts for two minutes (TIME_WAIT) at most; one of a direction that tracking has not seen end, for
/// five minutes or five days.
#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn no_entry_of_connection_tracking_outlives_its_connection() {
    if !can_run() {
        return;
    }
    for router in Router::ALL {
        let bed = Bed::new();
        router.set_up(&bed);
        let daemon = bed.daemon("");
        for server in [SERVER, SERVER_V6] {
            for _ in 0..5 {
                exchange(&bed, server).unwrap();
            }
        }
        daemon.stop();
        for entry in tracked(&bed) {
            let seconds: u32 = entry.split_whitespace().nth(4).unwrap().parse().unwrap();
            assert!(seconds <= 120, "{router:?}: {entry}");
        }
    }
}
