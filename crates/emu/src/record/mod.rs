//! Measures a real path into files that links of scenarios follow: probes each few milliseconds for delay and losses, and, if this is agreed
//! to, a flow each way that is faster than the path, for its rate. One end serves, the other measures and writes.
//!
//! Times of differences are of clocks that are never set (CLOCK_MONOTONIC), one at each end. One-way delays need both clocks in step, which
//! the user states; else they are the half of round trips, and the files state that this is an assumption.

pub mod bins;
pub mod client;
pub mod command;
pub mod files;
pub mod probes;
pub mod serve;
mod server;
mod socket;
mod wire;

use longhaul_units::{Duration, Rate};
use std::net::SocketAddr;
use std::path::Path;

/// The port of the far end.
pub const PORT: u16 = 8471;
/// A secret has so many bytes at least.
const SHORTEST_SECRET: usize = 16;
/// Bytes of the datagrams of a flow: what any path carries in one piece.
pub const DATA: u16 = 1200;
/// Bytes of headers before a datagram: UDP, and IPv4 or IPv6.
const HEADERS: [usize; 2] = [28, 48];

/// Bytes of the IP packet of a datagram of so many bytes.
fn on_the_path(peer: SocketAddr, datagram: usize) -> u32 {
    (datagram + HEADERS[usize::from(peer.ip().to_canonical().is_ipv6())]) as u32
}

/// The most bytes that a recording takes, both ways and with headers: probes with their echoes, and flows.
pub fn most_data(probes: u64, size: usize, flow: Option<(Rate, Duration)>) -> u64 {
    let flows =
        flow.map_or(0.0, |(rate, duration)| rate.as_bps() as f64 / 8.0 * duration.as_secs_f64() * 2.0);
    probes * 2 * (size + HEADERS[1]) as u64 + flows as u64
}

/// The secret in a file, without the white space around it; and a warning if others may read it.
///
/// # Errors
/// In words: it cannot be read, or is too short.
pub fn secret(file: &Path) -> Result<(Vec<u8>, Option<String>), String> {
    use std::os::unix::fs::MetadataExt;
    let shown = file.display();
    let text = longhaul_program::text_file::read(file).map_err(|why| format!("the secret {shown}: {why}"))?;
    let secret = text.trim().as_bytes().to_vec();
    if secret.len() < SHORTEST_SECRET {
        return Err(format!(
            "the secret in {shown} has {} characters, and {SHORTEST_SECRET} are needed; make one, and copy it to the other end: \
             (umask 077; head -c 24 /dev/urandom | base64 > {shown})",
            secret.len()
        ));
    }
    let open = std::fs::metadata(file).is_ok_and(|of| of.mode() & 0o077 != 0);
    Ok((secret, open.then(|| format!("other users may read the secret in {shown} (chmod 600 {shown})"))))
}

/// Random bytes of the system.
fn random<const N: usize>() -> Result<[u8; N], crate::Error> {
    use std::io::Read;
    let mut bytes = [0; N];
    std::fs::File::open("/dev/urandom")
        .and_then(|mut file| file.read_exact(&mut bytes))
        .map_err(|why| crate::Error::system("read /dev/urandom", why))?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_recording_takes_at_most_is_known_before() {
        assert_eq!(most_data(3000, 64, None), 3000 * 2 * 112);
        let flow = (Rate::from_bps(50_000_000), Duration::from_secs(60));
        assert_eq!(most_data(0, 64, Some(flow)), 750_000_000);
    }

    /// Both ends over this machine's own loopback, which loses nothing: every probe comes back, and both flows come as they were sent.
    #[test]
    fn both_ends_over_the_loopback() {
        use std::sync::atomic::{AtomicBool, Ordering};
        let free = std::net::UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let secret = b"the secret of both ends".to_vec();
        let rate = Rate::from_bps(4_000_000);
        let far = serve::Options {
            listen: Some(free),
            port: PORT,
            secret: secret.clone(),
            rate: Some(rate),
            data: 10_000_000,
            note: None,
        };
        let near = client::Options {
            server: free.to_string(),
            secret,
            duration: Duration::from_millis(500),
            interval: Duration::from_millis(5),
            size: 64,
            rate: Some(rate),
            progress: None,
            notice: |_| {},
        };
        let stop = AtomicBool::new(false);
        let recorded = std::thread::scope(|scope| {
            let far = scope.spawn(|| serve::serve(&far, &stop));
            let recorded = client::record(&near, &crate::signals::Signals::default());
            stop.store(true, Ordering::Relaxed);
            far.join().unwrap().unwrap();
            recorded.unwrap()
        });
        assert!(recorded.probes.len() > 100, "{}", recorded.probes.len());
        assert!(recorded.probes.iter().all(|probe| probe.rtt.is_some() && probe.arrived == Some(true)));
        assert_eq!(
            (recorded.twice, recorded.is_cut, recorded.notes.len()),
            (0, false, 0),
            "{:?}",
            recorded.notes
        );
        // 203 packets of 1228 bytes, or less where a busy machine has held up their sender.
        for flow in [recorded.down.unwrap(), recorded.up.unwrap()] {
            let [sent, came] = flow.packets.unwrap();
            assert!((50..=204).contains(&sent) && came == sent, "{came} of {sent}");
            assert_eq!(flow.bytes.iter().map(|bytes| u64::from(*bytes)).sum::<u64>(), came * 1228);
        }
    }

    #[test]
    fn a_secret_is_long_and_nobody_else_s() {
        use std::os::unix::fs::PermissionsExt;
        let file = std::env::temp_dir().join(format!("longhaul-secret-{}", std::process::id()));
        std::fs::write(&file, "too short\n").unwrap();
        assert!(secret(&file).unwrap_err().contains("has 9 characters, and 16 are needed"));
        std::fs::write(&file, "  0123456789abcdef \n").unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
        assert_eq!(secret(&file), Ok((b"0123456789abcdef".to_vec(), None)));
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o640)).unwrap();
        assert!(secret(&file).unwrap().1.unwrap().contains("other users may read"));
        std::fs::remove_file(&file).unwrap();
        assert!(secret(&file).unwrap_err().contains("No such file"));
    }
}
