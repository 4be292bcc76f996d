//! DualPI2 between senders: windows of both kinds, and the delays of their queues (RFC 9332 section 1.2 and appendix A).

use longhaul_path::link::Fate;
use longhaul_path::queue::DualPi2Spec;
use longhaul_path::{Link, LinkConfig, Packet, QueueSpec};
use longhaul_units::{Duration, Ecn, Instant, Limit, Rate};
use std::collections::BinaryHeap;

const BASE_RTT: Duration = Duration::from_millis(20);
const LEN: u32 = 1500;

struct Sent {
    sender: usize,
    ecn: Ecn,
    at: Instant,
}

impl Packet for Sent {
    fn wire_len(&self) -> u32 {
        LEN
    }
    fn ecn(&self) -> Ecn {
        self.ecn
    }
    fn set_ecn(&mut self, ecn: Ecn) {
        self.ecn = ecn;
    }
    fn flow(&self) -> u64 {
        self.sender as u64
    }
}

/// A sender with a window in packets: one packet more in a round trip; on a mark half a packet less (scalable, 2/p in the steady
/// state), or half the window, at most once in a round trip (Reno).
struct Sender {
    scalable: bool,
    window: f64,
    in_flight: u32,
    reduced: Instant,
    /// Sums from the middle of the run on.
    windows: f64,
    waits: f64,
    arrived: u32,
}

impl Sender {
    fn answered(&mut self, now: Instant, sent: Instant, struck: bool) {
        self.window += 1.0 / self.window;
        if struck && self.scalable {
            self.window -= 0.5;
        } else if struck && sent >= self.reduced {
            self.window /= 2.0;
            self.reduced = now;
        }
        self.window = self.window.max(2.0);
    }
}

/// Means of window, and of the time in the queue in milliseconds, of each sender in the second half of a minute.
fn run(kinds: &[bool], mbit: u64, spec: DualPi2Spec) -> Vec<(f64, f64)> {
    let config =
        LinkConfig::plain(Rate::from_bps(mbit * 1_000_000), Duration::ZERO, QueueSpec::Dualpi2(spec));
    let mut link: Link<Sent> = Link::new(&config, 1, "link");
    let mut senders: Vec<Sender> = kinds
        .iter()
        .map(|scalable| Sender {
            scalable: *scalable,
            window: 10.0,
            in_flight: 0,
            reduced: Instant::ZERO,
            windows: 0.0,
            waits: 0.0,
            arrived: 0,
        })
        .collect();
    // Answers on their way: time, sender, when its packet was sent, whether it was marked or lost. Earliest first.
    let mut answers: BinaryHeap<std::cmp::Reverse<(Instant, usize, Instant, bool)>> = BinaryHeap::new();
    let (half, end) = (Instant::ZERO + Duration::from_secs(30), Instant::ZERO + Duration::from_secs(60));
    let mut now = Instant::ZERO;
    while now < end {
        while let Some(packet) = link.poll(now) {
            let struck = packet.ecn == Ecn::Ce;
            answers.push(std::cmp::Reverse((now + BASE_RTT, packet.sender, packet.at, struck)));
            if now > half {
                let sender = &mut senders[packet.sender];
                sender.waits += now.since(packet.at).as_secs_f64() * 1e3;
                sender.windows += sender.window;
                sender.arrived += 1;
            }
        }
        while answers.peek().is_some_and(|std::cmp::Reverse((at, ..))| *at <= now) {
            let Some(std::cmp::Reverse((_, number, sent, struck))) = answers.pop() else { break };
            senders[number].in_flight -= 1;
            senders[number].answered(now, sent, struck);
        }
        for (number, sender) in senders.iter_mut().enumerate() {
            while sender.in_flight < sender.window as u32 {
                sender.in_flight += 1;
                let ecn = if sender.scalable { Ecn::Ect1 } else { Ecn::NotEct };
                let mut packet = Sent { sender: number, ecn, at: now };
                assert_eq!(link.offer(now, &mut packet), Fate::Queue);
                link.enqueue(now, packet);
            }
        }
        for (packet, _) in link.take_dropped() {
            answers.push(std::cmp::Reverse((now + BASE_RTT, packet.sender, packet.at, true)));
        }
        let answer = answers.peek().map_or(Instant::FAR_FUTURE, |std::cmp::Reverse((at, ..))| *at);
        now = link.next_event().min(answer).max(now + Duration::from_nanos(1));
    }
    let mean = |sum: f64, sender: &Sender| sum / f64::from(sender.arrived.max(1));
    senders.iter().map(|sender| (mean(sender.windows, sender), mean(sender.waits, sender))).collect()
}

/// With p_CL = 2 p' and p_C = p'^2 a scalable window is 2 / p_CL = 1 / p' and Reno's 1.22 / p': they balance without a queue for each
/// flow. Packets of L4S wait for a fraction of a millisecond to two, others for about the target of 15 ms. A packet takes 0.3 ms.
#[test]
fn windows_balance_and_only_the_classic_queue_is_long() {
    let kinds = [true, false];
    let [(scalable, low), (reno, classic)] = run(&kinds, 40, DualPi2Spec::rfc(Limit::Packets(10_000)))[..]
    else {
        panic!("two senders")
    };
    assert!((0.7..2.0).contains(&(reno / scalable)), "windows {reno} and {scalable}");
    assert!(low < 2.0, "{low} ms");
    assert!((8.0..22.0).contains(&classic), "{classic} ms");
}

/// A queue of L4S alone keeps its step: packets wait for at most about the threshold of 1 ms, and the mean window is greater than 3/4 of
/// the path, what one has that is halved whenever a queue begins. The link is not full: 1 ms are 3.3 packets, less than a seventh of the
/// path's 66.7 (RFC 8257 section 3.5).
#[test]
fn a_scalable_flow_alone_waits_for_a_millisecond() {
    let [(window, low)] = run(&[true], 40, DualPi2Spec::rfc(Limit::Packets(10_000)))[..] else {
        panic!("one sender")
    };
    assert!(window > 50.0 && low < 2.0, "{window} packets, {low} ms");
}
