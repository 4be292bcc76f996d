//! CAKE and TBF beside Linux's: the same trains of packets through both. `linux/queues.txt` has what User-Mode Linux let out, recorded
//! by `benches/kernel_queues.py`.

use longhaul_path::link::Fate;
use longhaul_path::queue::{CakeSpec, Diffserv, Isolation, TbfSpec};
use longhaul_path::{Link, LinkConfig, OverheadSpec, Packet, QueueSpec};
use longhaul_units::{Dscp, Duration, Ecn, Instant, Limit, Rate, Size};

const RECORDED: &str = include_str!("linux/queues.txt");
/// A packet was written each 75 us.
const WRITING: Duration = Duration::from_micros(75);

#[derive(Clone, Copy)]
struct Sent {
    flow: usize,
    number: usize,
    hosts: [u64; 2],
    dscp: u8,
    len: u32,
}

impl Packet for Sent {
    fn wire_len(&self) -> u32 {
        self.len
    }
    fn ecn(&self) -> Ecn {
        Ecn::NotEct
    }
    fn set_ecn(&mut self, _ecn: Ecn) {}
    fn flow(&self) -> u64 {
        self.flow as u64
    }
    fn dscp(&self) -> Dscp {
        Dscp::new(self.dscp).unwrap()
    }
    fn hosts(&self) -> [u64; 2] {
        self.hosts
    }
}

/// A train: arguments of `tc`, its flows, each as its first packet with the number of packets, and what left: flow, number, milliseconds.
struct Train {
    tc: &'static str,
    flows: Vec<(Sent, usize)>,
    left: Vec<(usize, usize, f64)>,
}

fn train(name: &str) -> Train {
    let mut lines = RECORDED.lines().skip_while(|line| !line.starts_with(&format!("tc {name} | ")));
    let tc = lines.next().and_then(|line| line.split(" | ").nth(1)).unwrap();
    let mut flows = vec![];
    for line in lines {
        if let Some(flow) = line.strip_prefix("flow ") {
            let numbers: Vec<u64> = flow.split(' ').map(|number| number.parse().unwrap()).collect();
            let first = Sent {
                flow: flows.len(),
                number: 0,
                hosts: [numbers[0], numbers[1]],
                dscp: numbers[2] as u8,
                len: numbers[3] as u32,
            };
            flows.push((first, numbers[4] as usize));
            continue;
        }
        let left = line.strip_prefix("left ").unwrap().split(' ').map(|packet| {
            let (flow, rest) = packet.split_once('.').unwrap();
            let (number, at) = rest.split_once('@').unwrap();
            (flow.parse().unwrap(), number.parse().unwrap(), at.parse().unwrap())
        });
        return Train { tc, flows, left: left.collect() };
    }
    panic!("{name} was not recorded");
}

/// What leaves a discipline here of the same train, on a link that takes no time.
fn leaves(flows: &[(Sent, usize)], queue: QueueSpec) -> Vec<(usize, usize, f64)> {
    let config = LinkConfig::plain(Rate::from_bps(100_000_000_000), Duration::ZERO, queue);
    let mut link: Link<Sent> = Link::new(&config, 1, "link");
    let mut left = vec![];
    let mut poll = |link: &mut Link<Sent>, until: Instant| {
        while link.next_event() <= until && link.next_event() < Instant::FAR_FUTURE {
            let at = link.next_event();
            left.extend(link.poll(at).map(|packet| (packet.flow, packet.number, at.as_secs_f64() * 1e3)));
        }
    };
    let mut now = Instant::ZERO;
    for number in 0..flows.iter().map(|(_, count)| *count).max().unwrap() {
        for (first, _) in flows.iter().filter(|(_, count)| number < *count) {
            poll(&mut link, now);
            let mut packet = Sent { number, ..*first };
            assert_eq!(link.offer(now, &mut packet), Fate::Queue);
            link.enqueue(now, packet);
            now += WRITING;
        }
    }
    poll(&mut link, Instant::FAR_FUTURE);
    left
}

fn cake(change: impl FnOnce(&mut CakeSpec)) -> QueueSpec {
    let mut spec = CakeSpec {
        rtt: Duration::from_secs(100),
        diffserv: Diffserv::Besteffort,
        isolation: Isolation::Flows,
        ..CakeSpec::linux(Some(Rate::from_bps(400_000)))
    };
    change(&mut spec);
    QueueSpec::Cake(spec)
}

/// Same packets in the same order, each at the same time but for `within` ms.
fn same(name: &str, arguments: &str, queue: QueueSpec, within: f64) {
    let Train { tc, flows, left } = train(name);
    assert_eq!(tc, arguments, "{name}");
    let ours = leaves(&flows, queue);
    let order = |left: &[(usize, usize, f64)]| -> Vec<(usize, usize)> {
        left.iter().map(|(flow, number, _)| (*flow, *number)).collect()
    };
    assert_eq!(order(&ours), order(&left), "{name}");
    for ((.., one), (.., other)) in ours.iter().zip(&left) {
        assert!((one - other).abs() <= within, "{name}: {one} ms here, {other} ms in Linux");
    }
}

#[test]
fn cake_shapes_as_linux_does() {
    same("cake: one flow", "cake bandwidth 400kbit besteffort flows rtt 100s overhead 0", cake(|_| {}), 2.0);
    same(
        "cake: ATM cells",
        "cake bandwidth 400kbit besteffort flows rtt 100s pppoe-llcsnap",
        cake(|spec| spec.overhead = OverheadSpec::named("pppoe-llcsnap")),
        2.0,
    );
}

#[test]
fn cake_serves_flows_as_linux_does() {
    same(
        "cake: unequal packets",
        "cake bandwidth 400kbit besteffort flows rtt 100s overhead 0",
        cake(|_| {}),
        2.0,
    );
    same(
        "cake: hosts",
        "cake bandwidth 400kbit besteffort dual-dsthost rtt 100s overhead 0",
        cake(|spec| spec.isolation = Isolation::DualDsthost),
        2.0,
    );
    same(
        "cake: triple isolation",
        "cake bandwidth 400kbit besteffort triple-isolate rtt 100s overhead 0",
        cake(|spec| spec.isolation = Isolation::TripleIsolate),
        2.0,
    );
}

/// Two tins are due at the same time again and again, and a timer that is 0.1 ms late decides which is first: after each packet the
/// number from each tin is Linux's but for one.
#[test]
fn cake_shares_between_tins_as_linux_does() {
    for (name, diffserv) in
        [("cake: diffserv3", Diffserv::Diffserv3), ("cake: diffserv4", Diffserv::Diffserv4)]
    {
        let Train { flows, left, .. } = train(name);
        let ours = leaves(&flows, cake(|spec| spec.diffserv = diffserv));
        assert_eq!(ours.len(), left.len());
        let mut ahead = [0i32; 4];
        for ((one, ..), (other, ..)) in ours.iter().zip(&left) {
            ahead[*one] += 1;
            ahead[*other] -= 1;
            assert!(ahead.iter().all(|packets| packets.abs() <= 1), "{name}: {ahead:?}");
        }
    }
}

/// Interval 2 s, and late is what waits for more than four frames of 1514 B, 121 ms: the eighth packet, at 140 ms. Linux drops the next
/// one, and not only after an interval, since its variables begin at zero; then one 2 s / sqrt(2) later. Here nothing goes before
/// 2.1 s, and the train ends at 2 s.
#[test]
fn linux_gives_its_first_signal_at_once() {
    let Train { flows, left, .. } = train("cake: first signals");
    let gone: Vec<usize> =
        (0..100).filter(|number| !left.iter().any(|(_, other, _)| other == number)).collect();
    assert_eq!(gone, [8, 79]);
    let ours = leaves(&flows, cake(|spec| spec.rtt = Duration::from_secs(2)));
    assert_eq!(ours.len(), 100);
}

/// A queue whose signals have expired: Linux's and ours drop the same packets. Late from 140 ms on, with an interval of 520 ms: at 660 ms, then 520 / sqrt(2), 520 / sqrt(3), .. ms after each other.
#[test]
fn cobalt_signals_as_linux_does() {
    let Train { flows, left, .. } = train("cake: signals of a used queue");
    let gone = |left: &[(usize, usize, f64)]| -> Vec<usize> {
        (0..100).filter(|number| !left.iter().any(|(_, other, _)| other == number)).collect()
    };
    let linux = gone(&left);
    let ours = gone(&leaves(&flows, cake(|spec| spec.rtt = Duration::from_millis(500))));
    assert_eq!(linux, [34, 53, 69, 83, 96]);
    assert_eq!(ours, linux);
}

#[test]
fn tbf_leaves_as_linux_does() {
    let spec = TbfSpec {
        rate: Rate::from_bps(400_000),
        burst: Size::from_bytes(10_000),
        limit: Some(Limit::Bytes(Size::from_bytes(200_000)).into()),
        latency: None,
        peakrate: None,
    };
    // Linux counts the 14 bytes of the Ethernet header: 40 packets of 1014 B less a burst of 10 kB, at 50 B a millisecond.
    let Train { flows, left, .. } = train("tbf");
    let with_headers: Vec<(Sent, usize)> =
        flows.iter().map(|(first, count)| (Sent { len: first.len + 14, ..*first }, *count)).collect();
    let ours = leaves(&with_headers, QueueSpec::Tbf(spec));
    assert_eq!(ours.len(), left.len());
    for ((_, number, one), (.., other)) in ours.iter().zip(&left) {
        assert!((one - other).abs() <= 3.0, "packet {number}: {one} ms here, {other} ms in Linux");
    }
}
