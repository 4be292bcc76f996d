//! `longhaul-pep bench`: what the link between the two nodes carries, measured through the tunnel that is up. A terminal opens
//! flows to a service inside the hub, which has the unspecified address as its own and needs no connection of anybody else.

use crate::config::Mode;
use crate::leg::Leg;
use crate::node::Node;
use crate::report::{self, PeerStatus};
use crate::tunnel::HopLeg;
use longhaul_hop::{Open, PeerId};
use longhaul_units::{Duration, Rate};
use serde::{Deserialize, Serialize};
use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

/// Bytes of one call.
const BLOCK: usize = 64 << 10;
/// Bytes of IPv4 and UDP headers before each payload.
const HEADERS: f64 = 28.0;
/// How often round trips are looked at.
const LOOK: std::time::Duration = std::time::Duration::from_millis(50);
/// The longest measurement of one direction, in seconds.
pub const LONGEST: u32 = 600;
/// A direction is measured in parts, as many as these at least and at most: a tunnel that was idle searches for its rate at first.
const PARTS: (u32, u32) = (3, 12);
/// The rate still rises if a part has so much more than the one before.
const RISES: f64 = 1.1;

/// Parts of the service, by port.
#[derive(Clone, Copy)]
#[repr(u16)]
enum Service {
    /// Sends for as long as the first bytes request.
    Generate = 1,
    /// Takes everything, and answers with how much in which time.
    Discard = 2,
    /// Answers with the hub's measurements of the tunnel.
    Report = 3,
}

/// One direction.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Way {
    /// Bytes of connections that came in a second, in bit/s.
    pub goodput_bps: f64,
    /// What that took of the link, with headers, parities and repeats, in bit/s.
    pub link_bps: f64,
    /// Part of packets that the sender declared lost.
    pub loss: f64,
    /// Longest round trip meanwhile, in ms.
    pub loaded_rtt_ms: f64,
    /// The sender's own bound on its rate, if the measurement reached it: the link may carry more.
    pub bound_bps: Option<f64>,
    /// The rate still rose at the end: another measurement may find more.
    #[serde(default)]
    pub rising: bool,
}

/// Both.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Measured {
    /// Least round trip in ms.
    pub rtt_ms: f64,
    /// From hub to terminal.
    pub down: Way,
    /// From terminal to hub.
    pub up: Way,
}

pub(crate) async fn read(leg: &mut HopLeg, room: &mut [u8]) -> io::Result<usize> {
    poll_fn(|cx| leg.poll_read(cx, room)).await
}

pub(crate) async fn write_all(leg: &mut HopLeg, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        let n = poll_fn(|cx| leg.poll_write(cx, bytes)).await?;
        bytes = &bytes[n..];
    }
    Ok(())
}

async fn rest(leg: &mut HopLeg, most: usize) -> io::Result<Vec<u8>> {
    let (mut all, mut room) = (vec![], vec![0; 4096]);
    loop {
        match read(leg, &mut room).await? {
            0 => return Ok(all),
            n if all.len() + n <= most => all.extend(&room[..n]),
            _ => return Err(io::ErrorKind::InvalidData.into()),
        }
    }
}

/// Takes everything; returns how much after the first block, and the seconds that it took.
async fn discard(leg: &mut HopLeg) -> io::Result<(u64, u64, f64)> {
    let mut room = vec![0; BLOCK];
    let mut all = read(leg, &mut room).await? as u64;
    let (first, begin) = (all, Instant::now());
    let mut seconds = 0.0;
    loop {
        match read(leg, &mut room).await? {
            0 => return Ok((all, all - first, seconds)),
            n => (all, seconds) = (all + n as u64, begin.elapsed().as_secs_f64()),
        }
    }
}

async fn generate(leg: &mut HopLeg, time: std::time::Duration) -> io::Result<u64> {
    let (block, begin, mut sent) = (vec![0; BLOCK], Instant::now(), 0);
    while begin.elapsed() < time {
        sent += poll_fn(|cx| leg.poll_write(cx, &block)).await? as u64;
    }
    leg.finish()?;
    Ok(sent)
}

/// True if a flow is for the service and not for a server.
pub(crate) fn is_for(open: &Open) -> bool {
    open.destination.ip().is_unspecified()
}

/// Serves a terminal.
pub(crate) async fn serve(node: &Arc<Node>, mut leg: HopLeg, open: &Open, peer: Option<PeerId>) {
    leg.accept();
    let done = async {
        match open.destination.port() {
            port if port == Service::Generate as u16 => {
                let mut asked = [0; 4];
                let n = read(&mut leg, &mut asked).await?;
                let seconds = if n == 4 { u32::from_be_bytes(asked).min(LONGEST) } else { 0 };
                generate(&mut leg, std::time::Duration::from_secs(seconds.into())).await?;
            }
            port if port == Service::Discard as u16 => {
                let (_, bytes, seconds) = discard(&mut leg).await?;
                write_all(&mut leg, serde_json::json!([bytes, seconds]).to_string().as_bytes()).await?;
                leg.finish()?;
            }
            _ => {
                let own = report::peers(node).into_iter().find(|(id, _)| Some(*id) == peer);
                let text = serde_json::to_string(&own.map(|(_, status)| status)).unwrap_or_default();
                write_all(&mut leg, text.as_bytes()).await?;
                leg.finish()?;
            }
        }
        while !leg.is_flushed() {
            if let Some(why) = leg.error() {
                return Err(why);
            }
            tokio::time::sleep(LOOK).await;
        }
        Ok::<_, io::Error>(())
    };
    match done.await {
        Ok(()) => leg.close(),
        Err(why) => tracing::debug!("a measurement ended: {why}"),
    }
}

/// Measures from a terminal: down, then up.
pub(crate) async fn measure(node: &Arc<Node>, seconds: u32) -> Result<Measured, String> {
    if node.config(|config| config.mode) != Mode::Terminal {
        return Err("only a terminal measures the link to its hub: give the command there".into());
    }
    if !(1..=LONGEST).contains(&seconds) {
        return Err(format!("{seconds} s: from 1 to {LONGEST} seconds can be measured"));
    }
    let failed =
        |why: io::Error| format!("the measurement ended early: {why}; does the hub have this version?");
    let part = seconds.div_ceil(PARTS.0);
    let mut ways = [Way::default(); 2];
    for (way, up) in ways.iter_mut().zip([false, true]) {
        *way = settled(node, part, up).await.map_err(failed)?;
    }
    let rtt_ms = own(node).map_err(failed)?.base_rtt_ms;
    let [down, up] = ways;
    Ok(Measured { rtt_ms, down, up })
}

/// Measures a direction in parts of so many seconds until its rate does not rise any more; the last part counts.
async fn settled(node: &Arc<Node>, seconds: u32, up: bool) -> io::Result<Way> {
    let mut before = Way::default();
    for part in 1.. {
        let next = if up { measure_up(node, seconds).await? } else { measure_down(node, seconds).await? };
        let rising = next.goodput_bps > before.goodput_bps * RISES;
        before = Way { rising, ..next };
        if part >= PARTS.1 || (part >= PARTS.0 && !rising) {
            break;
        }
    }
    Ok(before)
}

/// How long [`measure`] may take.
pub(crate) fn longest(seconds: u32) -> std::time::Duration {
    // Each part begins and ends with questions to the hub.
    std::time::Duration::from_secs(2 * u64::from(PARTS.1) * (u64::from(seconds.div_ceil(PARTS.0)) + 5))
}

async fn measure_down(node: &Arc<Node>, seconds: u32) -> io::Result<Way> {
    let before = theirs(node).await?;
    let mut leg = open(node, Service::Generate).await?;
    write_all(&mut leg, &seconds.to_be_bytes()).await?;
    let (taken, loaded_rtt_ms) = watched(node, discard(&mut leg)).await;
    let (all, bytes, time) = taken?;
    leg.close();
    let after = theirs(node).await?;
    Ok(way((all, bytes, time), &before, &after, loaded_rtt_ms, after.most_mbps))
}

async fn measure_up(node: &Arc<Node>, seconds: u32) -> io::Result<Way> {
    let bound = node.config(|config| config.hop.as_ref().and_then(|hop| hop.most_rate));
    let before = own(node)?;
    let mut leg = open(node, Service::Discard).await?;
    let work = async {
        let sent = generate(&mut leg, std::time::Duration::from_secs(seconds.into())).await?;
        Ok::<_, io::Error>((sent, rest(&mut leg, 1000).await?))
    };
    let (done, loaded_rtt_ms) = watched(node, work).await;
    let (sent, answer) = done?;
    leg.close();
    let after = own(node)?;
    let (bytes, time): (u64, f64) = serde_json::from_slice(&answer).map_err(io::Error::other)?;
    let bound = bound.map(|rate| rate.as_bps() as f64 / 1e6);
    Ok(way((sent, bytes, time), &before, &after, loaded_rtt_ms, bound))
}

/// Waits for something, and meanwhile looks for the longest round trip in ms.
async fn watched<T>(node: &Arc<Node>, work: impl Future<Output = T>) -> (T, f64) {
    let mut longest = 0f64;
    let mut work = std::pin::pin!(work);
    loop {
        tokio::select! {
            done = &mut work => return (done, longest),
            () = tokio::time::sleep(LOOK) => {
                longest = own(node).map_or(longest, |status| longest.max(status.rtt_ms));
            }
        }
    }
}

fn way(
    (all, bytes, seconds): (u64, u64, f64),
    before: &PeerStatus,
    after: &PeerStatus,
    loaded_rtt_ms: f64,
    bound_mbps: Option<f64>,
) -> Way {
    let goodput_bps = bytes as f64 * 8.0 / seconds.max(1e-9);
    let mtu = f64::from(after.mtu);
    let sent = after.sent_bytes.saturating_sub(before.sent_bytes) as f64;
    let lost = after.lost_packets.saturating_sub(before.lost_packets) as f64;
    let link_bps = goodput_bps * (sent / all.max(1) as f64).max(1.0) * (mtu + HEADERS) / mtu;
    // Within a twentieth of it, headers and rounding included.
    let bound_bps = bound_mbps.map(|bound| bound * 1e6).filter(|bound| link_bps > bound * 0.95);
    Way {
        goodput_bps,
        link_bps,
        loss: (lost * mtu / sent.max(1.0)).min(1.0),
        loaded_rtt_ms,
        bound_bps,
        rising: false,
    }
}

async fn open(node: &Arc<Node>, service: Service) -> io::Result<HopLeg> {
    let tunnel = node.tunnel().ok_or(io::ErrorKind::NotConnected)?;
    let peer = tunnel.peer().ok_or_else(|| io::Error::other("the tunnel is down"))?;
    let nobody = SocketAddr::from(([0; 4], 0));
    let destination = SocketAddr::from(([0; 4], service as u16));
    let open = Open { source: nobody, destination, dscp: 0, priority: 0, confirm: true };
    let leg = tunnel.open(peer.id, open).map_err(io::Error::other)?;
    leg.answered().await?;
    Ok(leg)
}

/// What the hub has measured of its way here.
async fn theirs(node: &Arc<Node>) -> io::Result<PeerStatus> {
    let mut leg = open(node, Service::Report).await?;
    let answer = rest(&mut leg, 10_000).await?;
    leg.finish()?;
    leg.close();
    let status: Option<PeerStatus> = serde_json::from_slice(&answer).map_err(io::Error::other)?;
    status.ok_or_else(|| io::Error::other("the hub has measured nothing"))
}

fn own(node: &Arc<Node>) -> io::Result<PeerStatus> {
    let taking = node.tunnel().and_then(|tunnel| tunnel.peer()).map(|peer| peer.id);
    let first = report::peers(node).into_iter().find(|(id, status)| Some(*id) == taking && status.in_use);
    first.map(|(_, status)| status).ok_or_else(|| io::Error::other("the tunnel is down"))
}

/// Three digits that count, and no more than one place after the point where there are many before it.
fn digits(ms: f64) -> String {
    match ms {
        0.0..1.0 => format!("{ms:.3}"),
        1.0..10.0 => format!("{ms:.2}"),
        _ => format!("{ms:.1}"),
    }
}

/// The measurements as a table.
pub fn table(measured: &Measured) -> String {
    let mut text = format!("round trip {} ms without load\n\n", digits(measured.rtt_ms));
    text += &format!(
        "{:<6} {:>16} {:>16} {:>8} {:>16}\n",
        "", "goodput Mbit/s", "link Mbit/s", "loss %", "loaded RTT ms"
    );
    for (name, way) in [("down", &measured.down), ("up", &measured.up)] {
        text += &format!(
            "{name:<6} {:>16.2} {:>16.2} {:>8.2} {:>16}\n",
            way.goodput_bps / 1e6,
            way.link_bps / 1e6,
            way.loss * 100.0,
            digits(way.loaded_rtt_ms)
        );
    }
    for (name, way) in [("down", &measured.down), ("up", &measured.up)] {
        if let Some(bound) = way.bound_bps {
            text += &format!(
                "{name}: the sender's most_rate ({:.2} Mbit/s) was reached; the link may carry more\n",
                bound / 1e6
            );
        }
        if way.rising {
            text += &format!("{name}: the rate still rose; measure again\n");
        }
    }
    text
}

/// The measured link as a scenario for `longhaul run`: a download of 10 MB over it, with the hop between the nodes.
pub fn scenario(measured: &Measured) -> String {
    let of_bound = |bound: f64| bound * 1000.0 / longhaul_hop::Rates::PART_OF_LINK as f64;
    let rate = |way: &Way| Rate::from_bps(way.bound_bps.map_or(way.link_bps, of_bound) as u64);
    let queue = |way: &Way| {
        let bytes = rate(way).as_bps() as f64 / 8.0 * measured.rtt_ms / 1000.0;
        (bytes as u64).max(15_000)
    };
    let side = |way: &Way| {
        // One packet of a thousand is what a measurement of seconds can distinguish from none.
        let loss = match way.loss > 0.001 {
            true => format!(", loss = {{ kind = \"random\", probability = \"{:.2} %\" }}", way.loss * 100.0),
            false => String::new(),
        };
        let limit = queue(way);
        format!(
            "{{ rate = \"{} bit/s\", queue = {{ kind = \"droptail\", limit = \"{limit} B\" }}{loss} }}",
            rate(way).as_bps()
        )
    };
    let half = Duration::from_nanos((measured.rtt_ms * 1e6 / 2.0) as u64);
    format!(
        "# Measured by `longhaul-pep bench`: round trip, and for each direction what crossed the link with headers. The queues\n\
         # are assumed: one bandwidth-delay product each.\n\
         name = \"A measured link\"\n\n\
         [run]\nduration = \"120 s\"\n\n\
         [[link]]\nname = \"internet\"\nends = [\"server\", \"hub\"]\nrate = \"1 Gbit/s\"\ndelay = \"1 ms\"\n\n\
         [[link]]\nname = \"satellite\"\nends = [\"hub\", \"terminal\"]\ndelay = \"{} ns\"\nforward = {}\nreverse = {}\n\n\
         [[link]]\nname = \"lan\"\nends = [\"terminal\", \"client\"]\nrate = \"1 Gbit/s\"\ndelay = \"1 ms\"\n\n\
         [[flow]]\nname = \"download\"\nfrom = \"server\"\nto = \"client\"\n\
         app = {{ kind = \"bulk\", size = \"10 MB\" }}\ntcp = {{ congestion = \"cubic\" }}\n\n\
         [[middlebox]]\nname = \"accelerator\"\nkind = \"split\"\nat = \"hub\"\npeer = \"terminal\"\n\
         long = {{ transport = \"hop\" }}\n",
        half.as_nanos(),
        side(&measured.down),
        side(&measured.up)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured() -> Measured {
        let way = |rate: f64, loss: f64, bound_bps| Way {
            goodput_bps: rate * 0.95,
            link_bps: rate,
            loss,
            loaded_rtt_ms: 655.0,
            bound_bps,
            rising: false,
        };
        Measured { rtt_ms: 650.0, down: way(50e6, 0.011, None), up: way(9.95e6, 0.0002, Some(9.97e6)) }
    }

    #[test]
    fn short_round_trips_have_digits_that_count() {
        let text = table(&Measured { rtt_ms: 0.0437, ..measured() });
        assert!(text.starts_with("round trip 0.044 ms"), "{text}");
        assert_eq!([digits(7.254), digits(650.04)], ["7.25", "650.0"]);
    }

    #[test]
    fn a_bound_that_was_reached_is_named() {
        let text = table(&measured());
        assert!(text.contains("up: the sender's most_rate (9.97 Mbit/s) was reached"), "{text}");
        assert!(!text.contains("down: the sender"), "{text}");
    }

    #[test]
    fn the_link_becomes_a_scenario() {
        let text = scenario(&measured());
        assert!(text.contains("delay = \"325000000 ns\""), "{text}");
        assert!(
            text.contains("rate = \"50000000 bit/s\"") && text.contains("probability = \"1.10 %\""),
            "{text}"
        );
        assert!(text.contains("rate = \"10000000 bit/s\""), "the bound is a little below its link: {text}");
        assert_eq!(text.matches("probability").count(), 1, "0.02 % is none");
        longhaul_scenario::load(&text, "link.toml", &[]).unwrap();
    }
}
