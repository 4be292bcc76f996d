//! CAKE (Høiland-Jørgensen, Täht and Morton, "Piece of CAKE", LANMAN 2018; tc-cake(8)): a shaper without bursts, tins by DSCP, fairness
//! between hosts and between the flows of each, and COBALT in every flow's queue. Numbers and order of steps are those of Linux
//! (`net/sched/sch_cake.c`). Hosts are told apart exactly, where Linux hashes them.

use super::cobalt::{Cobalt, CobaltSettings};
use super::flows::{FlowQueues, of_pair};
use super::{Discipline, Occupancy, Parameters, Queue, Report, Setup};
use crate::settings::{Deserialize, JsonSchema, Serialize};
use crate::{DropCause, Hosts, OverheadSpec, Packet, Random};
use longhaul_units::{Dscp, Duration, Instant, Limit, QueueLimit, Rate, Size};
use std::collections::{HashMap, VecDeque};

/// Queues of a tin.
const QUEUES: usize = 1024;
/// A full Ethernet frame, by which quanta and times are reckoned.
const FRAME: u64 = 1514;

/// Classes of service: how packets are sorted into tins by their DSCP, and up to which share of the rate each has priority.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Diffserv {
    /// Bulk (LE, CS1; 1/16), best effort, voice (VA, EF, CS6, CS7, TOS4; 1/4).
    #[default]
    Diffserv3,
    /// Bulk (LE, CS1; 1/16), best effort, video (AF2x to AF4x, CS2, CS3, TOS4; 1/2), voice (CS4 to CS7, VA, EF; 1/4).
    Diffserv4,
    /// Eight tins, from LE to CS6 and CS7; each has 7/8 of the share of the one below it.
    Diffserv8,
    /// Eight tins by the three high bits of the DSCP, shares as for `diffserv8`.
    Precedence,
    /// One tin.
    Besteffort,
}

/// Between what bandwidth is shared.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Isolation {
    /// Nothing: all packets of a tin have one queue.
    Flowblind,
    /// Hosts that packets come from.
    Srchost,
    /// Hosts that packets go to.
    Dsthost,
    /// Pairs of hosts.
    Hosts,
    /// Flows.
    Flows,
    /// Hosts that packets come from, then flows.
    DualSrchost,
    /// Hosts that packets go to, then flows.
    DualDsthost,
    /// Flows, each in the proportion of whichever of its two hosts has more of them.
    #[default]
    TripleIsolate,
}

/// Parameters of CAKE. Defaults are Linux's.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CakeSpec {
    /// Most packets or bytes in the system; when it is exceeded, the longest queue loses its oldest packets. Without it four times the
    /// bytes that `bandwidth` sends in `rtt`, between 4 MiB and 10,240 full frames; without a `bandwidth` the latter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<QueueLimit>,
    /// The rate to which it shapes, `overhead` included; without it the link's own rate is the limit, and tins take turns by their shares.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-minimum" = "1 kbit/s"))]
    pub bandwidth: Option<Rate>,
    /// The round trip time of the connections that matter: COBALT's interval; its target is a twentieth. On a slow line both are longer.
    #[serde(default = "super::codel::hundred_ms")]
    #[schemars(extend("x-minimum" = "20 us", "x-maximum" = "1 h"))]
    pub rtt: Duration,
    /// How packets are sorted into tins by their DSCP.
    #[serde(default)]
    pub diffserv: Diffserv,
    /// Between what bandwidth is shared.
    #[serde(default)]
    pub isolation: Isolation,
    /// Bytes that each packet takes on the line beside itself: they count for the shaper and for the shares of flows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overhead: Option<OverheadSpec>,
}

impl CakeSpec {
    /// CAKE with all values at their defaults, for this bandwidth if one is given.
    pub fn linux(bandwidth: Option<Rate>) -> Self {
        CakeSpec {
            limit: None,
            bandwidth,
            rtt: super::codel::hundred_ms(),
            diffserv: Diffserv::default(),
            isolation: Isolation::default(),
            overhead: None,
        }
    }
}

impl Parameters for CakeSpec {
    fn limit(&self) -> QueueLimit {
        let most = 10_240 * FRAME;
        let bytes = match self.bandwidth {
            None => most,
            Some(rate) => rate.bytes_in(self.rtt).as_bytes().saturating_mul(4).clamp(4 << 20, most),
        };
        self.limit.unwrap_or(Limit::Bytes(Size::from_bytes(bytes)).into())
    }
    fn limits_mut(&mut self) -> Vec<&mut QueueLimit> {
        self.limit.as_mut().into_iter().collect()
    }
    fn holds_back(&self) -> bool {
        self.bandwidth.is_some()
    }
    fn build<P: Packet + Send + 'static>(&self, setup: &Setup<'_>) -> Discipline<P> {
        Discipline::queue(Cake::new(self, setup.hosts, setup.random("hash"), setup.random("drops")))
    }
}

impl Diffserv {
    /// The tin of a packet. Of two tins that may send, the one with the greater number does.
    fn tin(self, dscp: Dscp) -> usize {
        match (self, dscp.get()) {
            (Diffserv::Besteffort, _) => 0,
            (Diffserv::Precedence, code) => usize::from(code >> 3),
            (Diffserv::Diffserv3 | Diffserv::Diffserv4, 1 | 8) => 1,
            (Diffserv::Diffserv3, 4 | 44 | 46 | 48 | 56) => 2,
            (Diffserv::Diffserv4, 32 | 40 | 44 | 46 | 48 | 56) => 3,
            (Diffserv::Diffserv4, 4 | 16 | 18 | 20 | 22 | 24 | 26 | 28 | 30 | 34 | 36 | 38) => 2,
            (Diffserv::Diffserv3 | Diffserv::Diffserv4, _) => 0,
            (Diffserv::Diffserv8, 1) => 0,
            (Diffserv::Diffserv8, 2 | 8 | 10 | 12 | 14) => 1,
            (Diffserv::Diffserv8, 24 | 26 | 28 | 30 | 34 | 36 | 38) => 3,
            (Diffserv::Diffserv8, 4 | 18 | 20 | 22) => 4,
            (Diffserv::Diffserv8, 16) => 5,
            (Diffserv::Diffserv8, 32 | 40 | 44 | 46) => 6,
            (Diffserv::Diffserv8, 48 | 56) => 7,
            (Diffserv::Diffserv8, _) => 2,
        }
    }

    /// Of each tin the rate up to which it has priority, and what it may send at a turn where there is no rate.
    fn shares(self, rate: Rate) -> Vec<(Rate, i64)> {
        let part = |parts: u64| (Rate::from_bps(rate.as_bps() / parts), 1024 / parts as i64);
        match self {
            Diffserv::Besteffort => vec![(rate, 65_535)],
            Diffserv::Diffserv3 => [1, 16, 4].map(part).to_vec(),
            Diffserv::Diffserv4 => [1, 16, 2, 4].map(part).to_vec(),
            Diffserv::Diffserv8 | Diffserv::Precedence => {
                let below = |(rate, turn): &(Rate, i64)| {
                    let seven = u128::from(rate.as_bps()) * 7 / 8;
                    Some((Rate::from_bps(seven as u64), turn * 7 / 8))
                };
                std::iter::successors(Some((rate, 256)), below).take(8).collect()
            }
        }
    }
}

impl Isolation {
    /// What has a queue of its own, by number.
    fn owner(self, flow: u64, [from, to]: [u64; 2]) -> u64 {
        match self {
            Isolation::Flowblind => 0,
            Isolation::Srchost => from,
            Isolation::Dsthost => to,
            Isolation::Hosts => of_pair([from, to]),
            _ => flow,
        }
    }
    fn counts_sources(self) -> bool {
        matches!(self, Isolation::DualSrchost | Isolation::TripleIsolate)
    }
    fn counts_destinations(self) -> bool {
        matches!(self, Isolation::DualDsthost | Isolation::TripleIsolate)
    }
}

/// Where a flow stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum State {
    /// It has no packets, and nothing is left of past ones.
    #[default]
    Free,
    /// It has used up no turn yet.
    Sparse,
    /// It has used up a turn, and had no packets then: it waits behind the others, but does not count as one of them.
    SparseWaiting,
    /// It takes its turns.
    Bulk,
    /// It has no packets; COBALT comes to rest.
    Decaying,
}

#[derive(Debug, Default)]
struct Flow {
    state: State,
    deficit: i64,
    hosts: [u64; 2],
    cobalt: Cobalt,
}

/// How many bulk flows each host has.
#[derive(Debug)]
struct HostLoads {
    isolation: Isolation,
    sources: HashMap<u64, u32>,
    destinations: HashMap<u64, u32>,
}

impl HostLoads {
    fn change(&mut self, [from, to]: [u64; 2], by: i32) {
        let counted = [
            (self.isolation.counts_sources(), &mut self.sources, from),
            (self.isolation.counts_destinations(), &mut self.destinations, to),
        ];
        for (_, loads, host) in counted.into_iter().filter(|(counts, ..)| *counts) {
            let load = loads.entry(host).or_default();
            *load = load.saturating_add_signed(by);
            if *load == 0 {
                loads.remove(&host);
            }
        }
    }
    /// By how many flows a flow between these hosts shares what one alone would have.
    fn of(&self, [from, to]: [u64; 2]) -> u32 {
        let load = |loads: &HashMap<u64, u32>, host| loads.get(&host).copied().unwrap_or(0);
        load(&self.sources, from).max(load(&self.destinations, to)).max(1)
    }
}

/// Whose turn it is in a tin.
#[derive(Debug, Default)]
struct Lists {
    new: VecDeque<usize>,
    old: VecDeque<usize>,
    decaying: VecDeque<usize>,
}

impl Lists {
    /// The list to serve: new flows come before old ones, and those that decay last, but for one of them if it is to be looked at.
    fn current(&mut self, look: bool) -> &mut VecDeque<usize> {
        if look && !self.decaying.is_empty() {
            &mut self.decaying
        } else if !self.new.is_empty() {
            &mut self.new
        } else if !self.old.is_empty() {
            &mut self.old
        } else {
            &mut self.decaying
        }
    }
}

/// A class of service.
struct Tin<P> {
    flows: FlowQueues<P, Flow>,
    loads: HostLoads,
    lists: Lists,
    control: CobaltSettings,
    /// What a flow may send at a turn.
    quantum: u64,
    /// Flows that are sparse, and that take turns.
    sparse: usize,
    bulk: usize,
    /// The rate up to which it has priority, and from when on it may send at it.
    rate: Rate,
    next: Instant,
    /// Where there is no rate: what the tin may send at a turn, and what is left of that.
    turn: i64,
    deficit: i64,
}

/// Target and interval are those of the round trip time; on a slow line at least one and a half packets, and two targets.
fn control(rate: Rate, rtt: Duration, frame: u64) -> CobaltSettings {
    let packet_time =
        if rate.is_zero() { Duration::ZERO } else { rate.transmission_time(Size::from_bytes(frame)) };
    let usual = Duration::from_nanos(rtt.as_nanos() / 20);
    let target = usual.max(Duration::from_nanos(packet_time.as_nanos() / 2 * 3));
    let interval = (rtt + target.saturating_sub(usual)).max(target * 2);
    CobaltSettings { target, interval, packet_time }
}

impl<P: Packet> Tin<P> {
    fn new(spec: &CakeSpec, (rate, turn): (Rate, i64), hash: Random) -> Self {
        Tin {
            flows: FlowQueues::in_sets(QUEUES, hash),
            loads: HostLoads {
                isolation: spec.isolation,
                sources: HashMap::new(),
                destinations: HashMap::new(),
            },
            lists: Lists::default(),
            control: control(rate, spec.rtt, FRAME),
            quantum: if rate.is_zero() { FRAME } else { (rate.as_bps() / (8 * 4096)).clamp(300, FRAME) },
            sparse: 0,
            bulk: 0,
            rate,
            next: Instant::ZERO,
            turn,
            deficit: 0,
        }
    }

    fn is_active(&self) -> bool {
        self.sparse + self.bulk > 0
    }

    /// Takes in a packet between these hosts.
    fn push(&mut self, now: Instant, owner: u64, hosts: [u64; 2], packet: P) {
        let queue = self.flows.place(owner, |flow| flow.state == State::Free);
        let flow = self.flows.state(queue);
        if flow.hosts != hosts {
            // A flow that is new, or that shares the queue of another one.
            if flow.state == State::Bulk {
                self.loads.change(flow.hosts, -1);
                self.loads.change(hosts, 1);
            }
            flow.hosts = hosts;
        }
        match flow.state {
            State::Free | State::Decaying => {
                if flow.state == State::Decaying {
                    self.lists.decaying.retain(|other| *other != queue);
                }
                flow.state = State::Sparse;
                flow.deficit = (self.quantum / u64::from(self.loads.of(hosts))) as i64;
                self.lists.new.push_back(queue);
                self.sparse += 1;
            }
            State::SparseWaiting => {
                flow.state = State::Bulk;
                self.loads.change(hosts, 1);
                self.sparse -= 1;
                self.bulk += 1;
            }
            State::Sparse | State::Bulk => {}
        }
        self.flows.push(queue, now, packet);
    }

    /// The next packet and the number of its queue. None: the queue whose turn it was had none; ask again. `first`: a flow that decays
    /// has a look first, once.
    fn pop(
        &mut self,
        now: Instant,
        first: &mut bool,
        random: &mut Random,
        report: &mut Report<P>,
    ) -> Option<(usize, Instant, P)> {
        loop {
            let look = std::mem::take(first);
            let queue = *self.lists.current(look).front()?;
            if self.flows.state(queue).deficit > 0 {
                if let Some((came, packet)) = self.take(queue, now, random, report) {
                    return Some((queue, came, packet));
                }
                self.lists.current(look).pop_front();
                self.rest(queue, now);
                return None;
            }
            self.lists.current(look).pop_front();
            self.lists.old.push_back(queue);
            let is_empty = self.flows.fifo(queue).is_empty();
            let flow = self.flows.state(queue);
            if flow.state == State::Sparse && is_empty {
                flow.state = State::SparseWaiting;
            } else if flow.state == State::Sparse {
                flow.state = State::Bulk;
                self.sparse -= 1;
                self.bulk += 1;
                self.loads.change(flow.hosts, 1);
            }
            let load = u64::from(self.loads.of(flow.hosts));
            // What is left of the division is given by chance, so that shares are right on average.
            let rest = self.quantum % load;
            let more = rest > 0 && random.up_to(load - 1) < rest;
            flow.deficit += (self.quantum / load + u64::from(more)) as i64;
        }
    }

    /// The next packet of a queue. The last one is never dropped.
    fn take(
        &mut self,
        queue: usize,
        now: Instant,
        random: &mut Random,
        report: &mut Report<P>,
    ) -> Option<(Instant, P)> {
        let control = self.control;
        self.flows.with(queue, |fifo, flow| {
            while let Some((came, mut packet)) = fifo.pop() {
                let drop = flow.cobalt.judge(&control, now, came, &mut packet, &mut report.marked, random);
                if !drop || fifo.is_empty() {
                    return Some((came, packet));
                }
                report.drop(packet, DropCause::Early);
            }
            None
        })
    }

    /// A queue, which is in no list now, had no packet at its turn.
    fn rest(&mut self, queue: usize, now: Instant) {
        let flow = self.flows.state(queue);
        flow.cobalt.was_empty(&self.control, now);
        match flow.state {
            State::Sparse | State::SparseWaiting => self.sparse -= 1,
            State::Bulk => {
                self.bulk -= 1;
                self.loads.change(flow.hosts, -1);
            }
            State::Free | State::Decaying => {}
        }
        flow.state = State::Free;
        if flow.cobalt.is_awake(now) {
            flow.state = State::Decaying;
            self.lists.decaying.push_back(queue);
        }
    }

    /// The longest queue, and its bytes. Only those in the lists of the others have packets.
    fn longest(&self) -> Option<(u64, usize)> {
        let listed = self.lists.new.iter().chain(&self.lists.old);
        listed
            .map(|queue| (self.flows.fifo(*queue).occupancy().bytes, *queue))
            .max()
            .filter(|(bytes, _)| *bytes > 0)
    }

    /// A packet of so many bytes was sent at its own expense: from when on the tin has priority again. One that has sent more than its
    /// share does not pay for it later.
    fn spend(&mut self, now: Instant, len: u32) {
        let time = self.rate.transmission_time(Size::from_bytes(u64::from(len)));
        if self.next < now {
            self.next += time;
        } else {
            self.next = self.next.max(now + time);
        }
    }
}

/// CAKE at work.
pub struct Cake<P> {
    limit: Limit,
    bandwidth: Option<Rate>,
    /// From when on the next packet may leave.
    next: Instant,
    diffserv: Diffserv,
    isolation: Isolation,
    overhead: Option<OverheadSpec>,
    hosts: Hosts,
    tins: Vec<Tin<P>>,
    /// The tin whose turn it is, where there is no bandwidth.
    current: usize,
    random: Random,
}

impl<P: Packet> Cake<P> {
    /// Empty queues; `hash` keys the hash, and BLUE draws from `random`.
    pub fn new(spec: &CakeSpec, hosts: &Hosts, mut hash: Random, random: Random) -> Self {
        let shares = spec.diffserv.shares(spec.bandwidth.unwrap_or(Rate::ZERO));
        Cake {
            limit: spec.limit().fixed(),
            bandwidth: spec.bandwidth,
            next: Instant::ZERO,
            diffserv: spec.diffserv,
            isolation: spec.isolation,
            overhead: spec.overhead,
            hosts: hosts.clone(),
            tins: shares
                .into_iter()
                .map(|share| Tin::new(spec, share, Random::stream(hash.bits(), "tin")))
                .collect(),
            current: 0,
            random,
        }
    }

    fn total(&self) -> Occupancy {
        let mut total = Occupancy::default();
        for tin in &self.tins {
            let own = tin.flows.total();
            total.packets += own.packets;
            total.bytes += own.bytes;
        }
        total
    }

    /// The longest queue of all tins loses its oldest packet.
    fn shorten(&mut self, now: Instant, report: &mut Report<P>) -> Option<()> {
        let longest = |tin: &Tin<P>| tin.longest();
        let tin = self.tins.iter_mut().max_by_key(|tin| longest(tin))?;
        let (_, queue) = tin.longest()?;
        let (_, packet) = tin.flows.pop(queue)?;
        tin.flows.state(queue).cobalt.overflowed(&tin.control, now);
        report.drop(packet, DropCause::QueueFull);
        Some(())
    }

    /// The tin whose turn it is; at least one has flows.
    fn choose(&mut self, now: Instant) -> usize {
        if self.bandwidth.is_some() {
            // The highest that keeps to its share; if none does, the one that comes next.
            let active = (0..self.tins.len()).filter(|tin| self.tins[*tin].is_active());
            return active.min_by_key(|tin| (self.tins[*tin].next.max(now), usize::MAX - tin)).unwrap_or(0);
        }
        loop {
            let tin = &mut self.tins[self.current];
            if tin.deficit >= 0 && tin.is_active() {
                return self.current;
            }
            if tin.deficit <= 0 {
                tin.deficit += tin.turn;
            }
            self.current = (self.current + 1) % self.tins.len();
        }
    }

    fn line_len(&self, len: u32) -> u32 {
        self.overhead.map_or(len, |overhead| overhead.line_len(len))
    }
}

impl<P: Packet + Send> Queue<P> for Cake<P> {
    fn enqueue(&mut self, now: Instant, packet: P, in_service: u32, report: &mut Report<P>) {
        let hosts = self.hosts.of(&packet);
        let owner = self.isolation.owner(packet.flow(), hosts);
        let number = self.diffserv.tin(packet.dscp());
        if self.tins[number].flows.total().packets == 0 {
            self.tins[number].next = self.tins[number].next.max(now);
            if self.total().packets == 0 {
                self.next = self.next.max(now);
            }
        }
        self.tins[number].push(now, owner, hosts, packet);
        while !self.total().with(in_service).is_within(self.limit) {
            if self.shorten(now, report).is_none() {
                return;
            }
        }
    }

    fn dequeue(&mut self, now: Instant, report: &mut Report<P>) -> Option<(Instant, P)> {
        let mut first = true;
        loop {
            if self.total().packets == 0 || self.bandwidth.is_some() && self.next > now {
                return None;
            }
            let number = self.choose(now);
            let tin = &mut self.tins[number];
            let Some((queue, came, packet)) = tin.pop(now, &mut first, &mut self.random, report) else {
                continue;
            };
            let len = self.line_len(packet.wire_len());
            let tin = &mut self.tins[number];
            if let Some(rate) = self.bandwidth {
                tin.spend(now, len);
                self.next += rate.transmission_time(Size::from_bytes(u64::from(len)));
            }
            tin.flows.state(queue).deficit -= i64::from(len);
            tin.deficit -= i64::from(len);
            return Some((came, packet));
        }
    }

    fn waiting(&self) -> Occupancy {
        self.total()
    }

    fn ready_at(&self) -> Option<Instant> {
        (self.bandwidth.is_some() && self.total().packets > 0).then_some(self.next)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Numbered, at_ms, of_flow};
    use super::*;
    use crate::Cells;

    const MBIT: u64 = 1_000_000;

    fn spec(mbit: Option<u64>) -> CakeSpec {
        CakeSpec::linux(mbit.map(|mbit| Rate::from_bps(mbit * MBIT)))
    }
    fn queue(spec: CakeSpec) -> Cake<Numbered> {
        Cake::new(&spec, &Hosts::default(), Random::stream(1, "hash"), Random::stream(1, "drops"))
    }
    fn dscp(code: u8) -> Dscp {
        Dscp::new(code).unwrap()
    }
    fn put(cake: &mut Cake<Numbered>, now: Instant, packet: Numbered) {
        cake.enqueue(now, packet, 0, &mut Report::default());
    }
    /// Packets that come whenever one of them has left, so that each of `sources` always has `ahead` in the queue; what leaves in
    /// `seconds`, with the times. The link itself takes no time.
    fn saturated(
        cake: &mut Cake<Numbered>,
        sources: &[Numbered],
        ahead: u32,
        seconds: u64,
    ) -> Vec<(Instant, Numbered)> {
        let mut report = Report::default();
        for source in sources {
            (0..ahead).for_each(|_| cake.enqueue(Instant::ZERO, *source, 0, &mut report));
        }
        let (mut now, end) = (Instant::ZERO, Instant::ZERO + Duration::from_secs(seconds));
        let mut sent = vec![];
        while now < end {
            match cake.dequeue(now, &mut report) {
                Some((_, packet)) => {
                    cake.enqueue(now, packet, 0, &mut report);
                    sent.push((now, packet));
                }
                None => now = cake.ready_at().unwrap(),
            }
            for (packet, _) in report.dropped.drain(..).collect::<Vec<_>>() {
                cake.enqueue(now, packet, 0, &mut Report::default());
            }
        }
        sent
    }
    fn bytes(sent: &[(Instant, Numbered)], of: impl Fn(&Numbered) -> bool) -> f64 {
        sent.iter().filter(|(_, packet)| of(packet)).map(|(_, packet)| f64::from(packet.len)).sum()
    }

    /// The n-th packet leaves at (n - 1) times its time at the bandwidth, without a burst: with overhead 1538 B of 1500, in ATM cells 33
    /// of 53 B (PPPoE over LLC), and an ACK of 40 B two of them.
    #[test]
    fn the_shaper_keeps_its_rate_with_overheads() {
        let of = |name: &str| OverheadSpec::named(name);
        for (overhead, len, on_line) in [
            (None, 1500, 1500),
            (of("ethernet"), 1500, 1538),
            (of("ethernet"), 40, 84),
            (of("pppoe-llcsnap"), 1500, 33 * 53),
            (of("pppoe-llcsnap"), 40, 2 * 53),
            (of("docsis"), 40, 64),
            (Some(OverheadSpec { cells: Cells::Ptm, ..OverheadSpec::default() }), 64, 65),
        ] {
            let mut cake = queue(CakeSpec { overhead, ..spec(Some(8)) });
            let sent = saturated(&mut cake, &[of_flow(1, 0, len)], 20, 1);
            // A byte takes a microsecond.
            for (number, (at, _)) in sent.iter().enumerate() {
                assert_eq!(at.as_nanos(), number as u64 * on_line * 1000, "{overhead:?} {len}");
            }
            assert_eq!(sent.len() as u64, 1_000_000_u64.div_ceil(on_line));
        }
    }

    /// After a pause nothing is made up for: there is no burst (the shaper works by deficit).
    #[test]
    fn a_pause_earns_no_burst() {
        let mut cake = queue(spec(Some(8)));
        saturated(&mut cake, &[of_flow(1, 0, 1000)], 2, 1);
        let mut report = Report::default();
        while cake.total().packets > 0 {
            let at = cake.ready_at().unwrap();
            cake.dequeue(at, &mut report);
        }
        (0..2).for_each(|id| put(&mut cake, at_ms(5000.0), of_flow(1, id, 1000)));
        assert!(cake.dequeue(at_ms(5000.0), &mut report).is_some());
        assert!(cake.dequeue(at_ms(5000.5), &mut report).is_none());
        assert_eq!(cake.ready_at(), Some(at_ms(5001.0)));
    }

    /// One host with a flow, another with nine: by host they get a half each, by flow a tenth and nine tenths.
    #[test]
    fn hosts_share_before_flows() {
        let flows: Vec<Numbered> = (0..10)
            .map(|flow| Numbered { hosts: [7, u64::from(flow > 0)], ..of_flow(flow, 0, 1500) })
            .collect();
        let share = |isolation, flows: &[Numbered]| {
            let mut cake = queue(CakeSpec { isolation, ..spec(Some(50)) });
            let sent = saturated(&mut cake, flows, 40, 5);
            bytes(&sent, |packet| packet.flow == 0) / bytes(&sent, |_| true)
        };
        let near =
            |share: f64, expected: f64| assert!((share - expected).abs() < 0.01, "{share}, not {expected}");
        for isolation in [Isolation::DualDsthost, Isolation::Dsthost, Isolation::Hosts] {
            near(share(isolation, &flows), 0.5);
        }
        for isolation in [Isolation::Flows, Isolation::DualSrchost] {
            near(share(isolation, &flows), 0.1);
        }
        // The other way round: hosts that send.
        let turned: Vec<Numbered> =
            flows.iter().map(|packet| Numbered { hosts: [packet.hosts[1], 7], ..*packet }).collect();
        for isolation in [Isolation::DualSrchost, Isolation::Srchost, Isolation::Hosts] {
            near(share(isolation, &turned), 0.5);
        }
    }

    /// Triple isolation divides a flow's quantum by the greater number of flows of its two hosts. With ten flows from one host to two
    /// others, it is ten for each of them: a flow alone at its receiver gains nothing. From hosts of their own it gains.
    #[test]
    fn triple_isolation_goes_by_the_busier_host() {
        let share = |from: fn(u64) -> u64| {
            let flows: Vec<Numbered> = (0..10)
                .map(|flow| Numbered {
                    hosts: [from(flow), 100 + u64::from(flow > 0)],
                    ..of_flow(flow, 0, 1500)
                })
                .collect();
            let mut cake = queue(spec(Some(50)));
            let sent = saturated(&mut cake, &flows, 40, 5);
            bytes(&sent, |packet| packet.flow == 0) / bytes(&sent, |_| true)
        };
        let (one, many) = (share(|_| 7), share(|flow| flow));
        assert!((one - 0.1).abs() < 0.01 && (many - 0.5).abs() < 0.01, "{one} {many}");
    }

    /// At saturation tins below their thresholds come first: voice has a quarter, bulk a sixteenth, the rest is best effort. Alone, or
    /// beside an idle tin, a tin has what is left.
    #[test]
    fn tins_have_their_shares_and_borrow() {
        let of = |flow: u64, code: u8| Numbered { dscp: dscp(code), ..of_flow(flow, 0, 1000) };
        let (normal, bulk, voice) = (of(1, 0), of(2, 8), of(3, 46));
        let shares = |mbit, sources: &[Numbered]| {
            let mut cake = queue(spec(mbit));
            let mut sent = if mbit.is_some() {
                saturated(&mut cake, sources, 40, 5)
            } else {
                // Without a bandwidth there is no pause: so many packets.
                let mut report = Report::default();
                sources
                    .iter()
                    .for_each(|source| (0..40).for_each(|_| put(&mut cake, Instant::ZERO, *source)));
                (0..20_000)
                    .map(|_| {
                        let (_, packet) = cake.dequeue(Instant::ZERO, &mut report).unwrap();
                        put(&mut cake, Instant::ZERO, packet);
                        (Instant::ZERO, packet)
                    })
                    .collect()
            };
            sent.retain(|(at, _)| mbit.is_none() || *at > at_ms(1000.0));
            [0, 8, 46].map(|code| bytes(&sent, |packet| packet.dscp.get() == code) / bytes(&sent, |_| true))
        };
        let near = |found: [f64; 3], expected: [f64; 3]| {
            let all = found.iter().zip(expected).all(|(found, expected)| (found - expected).abs() < 0.01);
            assert!(all, "{found:?}, not {expected:?}");
        };
        near(shares(Some(16), &[normal, bulk, voice]), [11.0 / 16.0, 1.0 / 16.0, 4.0 / 16.0]);
        near(shares(Some(16), &[normal, voice]), [0.75, 0.0, 0.25]);
        near(shares(Some(16), &[voice]), [0.0, 0.0, 1.0]);
        near(shares(Some(16), &[bulk]), [0.0, 1.0, 0.0]);
        // By turns of 1024, 64 and 256 bytes.
        near(shares(None, &[normal, bulk, voice]), [16.0 / 21.0, 1.0 / 21.0, 4.0 / 21.0]);
        near(shares(None, &[normal, bulk]), [16.0 / 17.0, 1.0 / 17.0, 0.0]);
    }

    /// A sparse voice packet waits for what is being sent, and for nothing else, whatever best effort has (dtaht/sch_cake, issue 52).
    #[test]
    fn voice_does_not_wait_behind_best_effort() {
        let mut cake = queue(spec(Some(8)));
        let mut report = Report::default();
        (0..50).for_each(|id| put(&mut cake, at_ms(0.0), of_flow(1, id, 1000)));
        let mut now = at_ms(0.0);
        for round in 0..5 {
            (0..3).for_each(|_| {
                now = cake.ready_at().unwrap().max(now);
                cake.dequeue(now, &mut report).unwrap();
            });
            put(&mut cake, now, Numbered { dscp: dscp(46), ..of_flow(2, 1000 + round, 200) });
            now = cake.ready_at().unwrap();
            assert_eq!(cake.dequeue(now, &mut report).map(|(_, packet)| packet.flow), Some(2));
        }
    }

    /// A flow's first packet goes ahead of those that take turns, and one that comes again and again does not starve them.
    #[test]
    fn sparse_flows_come_first() {
        let mut cake = queue(spec(None));
        let mut report = Report::default();
        (0..20).for_each(|id| put(&mut cake, at_ms(0.0), of_flow(1, id, 1500)));
        let mut next =
            |cake: &mut Cake<Numbered>| cake.dequeue(at_ms(1.0), &mut report).map(|(_, packet)| packet.id);
        let first: Vec<_> = (0..4).filter_map(|_| next(&mut cake)).collect();
        assert_eq!(first, [0, 1, 2, 3]);
        put(&mut cake, at_ms(1.0), of_flow(2, 100, 1500));
        assert_eq!(next(&mut cake), Some(100));
        let mut turns = [0; 2];
        for id in 200..220 {
            if cake.total().packets < 16 {
                put(&mut cake, at_ms(1.0), of_flow(1, 50, 1500));
            }
            put(&mut cake, at_ms(1.0), of_flow(2, id, 1500));
            turns[usize::from(next(&mut cake).unwrap() >= 100)] += 1;
        }
        assert!(turns[0] >= 7 && turns[1] >= 7, "{turns:?}");
    }

    /// The tables of Linux: of 64 code points, by tin. Shares as listed in dtaht/sch_cake, issue 154.
    #[test]
    fn code_points_have_their_tins() {
        let codes = |diffserv: Diffserv, tin: usize| -> Vec<u8> {
            (0..64).filter(|code| diffserv.tin(dscp(*code)) == tin).collect()
        };
        assert_eq!(codes(Diffserv::Diffserv3, 1), [1, 8]);
        assert_eq!(codes(Diffserv::Diffserv3, 2), [4, 44, 46, 48, 56]);
        assert_eq!(codes(Diffserv::Diffserv4, 1), [1, 8]);
        assert_eq!(codes(Diffserv::Diffserv4, 2), [4, 16, 18, 20, 22, 24, 26, 28, 30, 34, 36, 38]);
        assert_eq!(codes(Diffserv::Diffserv4, 3), [32, 40, 44, 46, 48, 56]);
        let eight: Vec<Vec<u8>> = (0..8).map(|tin| codes(Diffserv::Diffserv8, tin)).collect();
        assert_eq!(eight[0], [1]);
        assert_eq!(eight[1], [2, 8, 10, 12, 14]);
        assert_eq!(
            eight[3..],
            [
                vec![24, 26, 28, 30, 34, 36, 38],
                vec![4, 18, 20, 22],
                vec![16],
                vec![32, 40, 44, 46],
                vec![48, 56]
            ]
        );
        assert_eq!(eight[2].len(), 64 - 24);
        assert_eq!(codes(Diffserv::Precedence, 5), (40..48).collect::<Vec<u8>>());
        assert_eq!(codes(Diffserv::Besteffort, 0).len(), 64);
        let percent = |diffserv: Diffserv| -> Vec<f64> {
            diffserv
                .shares(Rate::from_bps(100 * MBIT))
                .into_iter()
                .map(|(rate, _)| (rate.as_bps() as f64 / 1e4).round() / 100.0)
                .collect()
        };
        let eighths = [100.0, 87.5, 76.56, 66.99, 58.62, 51.29, 44.88, 39.27];
        assert_eq!(percent(Diffserv::Diffserv8), eighths);
        assert_eq!(percent(Diffserv::Diffserv4), [100.0, 6.25, 50.0, 25.0]);
        assert_eq!(percent(Diffserv::Diffserv3), [100.0, 6.25, 25.0]);
    }

    /// On a slow line target and interval are longer: as Linux showed them for the tins of 809 kbit/s, a round trip of 30 ms and frames
    /// of 1526 B (dtaht/sch_cake, issue 148); for 831 kbit/s and 100 ms the interval is that much longer than 100 ms as the target is
    /// than 5 ms (issue 142).
    #[test]
    fn slow_tins_have_longer_times() {
        let shown = |bps: u64, rtt: u64| {
            let found = control(Rate::from_bps(bps), Duration::from_millis(rtt), 1526);
            [found.target, found.interval].map(|time| (time.as_secs_f64() * 1e4).round() / 10.0)
        };
        assert_eq!(shown(809_000, 30), [22.6, 51.1]);
        assert_eq!(shown(202_248, 30), [90.5, 181.1]);
        assert_eq!(shown(50_560, 30), [362.2, 724.4]);
        let [target, interval] = shown(831_000, 100);
        assert!((interval - target - 95.0).abs() < 0.11, "{target} {interval}");
        assert_eq!(shown(100_000_000, 100), [5.0, 100.0]);
        assert_eq!(shown(0, 100), [5.0, 100.0]);
    }

    /// A flow may send a 4096th of a second at a turn, not less than 300 B nor more than a frame.
    #[test]
    fn quanta_follow_from_the_rate() {
        let quantum = |mbit| queue(spec(Some(mbit))).tins[0].quantum;
        assert_eq!([1, 10, 20, 40, 100].map(quantum), [300, 305, 610, 1220, 1514]);
    }

    /// Beyond the limit the longest queue loses its oldest packets, and BLUE of that flow rises by 1/256 in each target.
    #[test]
    fn the_longest_queue_loses_packets() {
        let mut cake = queue(CakeSpec { limit: Some(Limit::Packets(20).into()), ..spec(None) });
        let mut report = Report::default();
        (0..5).for_each(|id| cake.enqueue(at_ms(10.0), of_flow(2, 100 + id, 1000), 0, &mut report));
        (0..18).for_each(|id| cake.enqueue(at_ms(10.0), of_flow(1, id, 1000), 0, &mut report));
        let lost: Vec<_> = report.dropped.iter().map(|(packet, cause)| (packet.id, *cause)).collect();
        assert_eq!(lost, [0, 1, 2].map(|id| (id, DropCause::QueueFull)));
        assert_eq!(cake.waiting().packets, 20);
    }

    /// What Linux takes for the memory: 4 MiB, on a fast line four bandwidth-delay products, at most 10,240 frames.
    #[test]
    fn the_limit_follows_from_the_bandwidth() {
        let bytes = |mbit| match spec(mbit).limit().fixed() {
            Limit::Bytes(size) => size.as_bytes(),
            Limit::Packets(_) => 0,
        };
        assert_eq!(
            [Some(10), Some(100), Some(1000), None].map(bytes),
            [4 << 20, 5_000_000, 15_503_360, 15_503_360]
        );
    }

    /// A flow that does not slow down is kept apart: the other one's packets neither wait nor go.
    #[test]
    fn a_flood_costs_others_nothing() {
        let mut cake = queue(CakeSpec { limit: Some(Limit::Packets(200).into()), ..spec(Some(8)) });
        let mut report = Report::default();
        let (mut now, mut waits) = (at_ms(0.0), vec![]);
        for ms in 0..3000u32 {
            let at = at_ms(f64::from(ms));
            while now <= at {
                if let Some((came, packet)) = cake.dequeue(now, &mut report)
                    && packet.flow == 2
                {
                    waits.push(now.since(came).as_secs_f64() * 1e3);
                }
                now = cake.ready_at().unwrap_or(at + Duration::from_nanos(1)).max(now);
            }
            (0..3).for_each(|_| cake.enqueue(at, of_flow(1, ms, 1000), 0, &mut report));
            if ms % 10 == 0 {
                cake.enqueue(at, of_flow(2, ms, 200), 0, &mut report);
            }
        }
        assert!(report.dropped.iter().all(|(packet, _)| packet.flow == 1));
        assert!(waits.len() > 290 && waits.iter().all(|wait| *wait < 2.5), "{waits:?}");
    }

    /// Many flows that come and go leave nothing behind: counts and lists are as at the start once COBALT has come to rest.
    #[test]
    fn nothing_is_left_of_flows_that_went() {
        let mut cake = queue(CakeSpec { limit: Some(Limit::Packets(100).into()), ..spec(Some(8)) });
        let mut random = Random::stream(2, "arrivals");
        let mut report = Report::default();
        let mut now = at_ms(0.0);
        for id in 0..20_000u32 {
            now += Duration::from_micros(random.up_to(2000));
            let flow = random.up_to(30) * random.up_to(2);
            let packet = Numbered {
                hosts: [flow % 3, flow % 4],
                dscp: dscp((flow % 64) as u8),
                ..of_flow(flow, id, 1000)
            };
            cake.enqueue(now, packet, 0, &mut report);
            cake.dequeue(now, &mut report);
        }
        // One flow goes on, so that there is something to serve.
        for id in 0..200_000u32 {
            now += Duration::from_millis(1);
            for code in [0, 8, 46] {
                cake.enqueue(now, Numbered { dscp: dscp(code), ..of_flow(99, id, 100) }, 0, &mut report);
            }
            while cake.dequeue(now, &mut report).is_some() {}
        }
        for tin in &cake.tins {
            assert!(tin.lists.decaying.len() <= 1 && tin.sparse <= 1 && tin.bulk <= 1);
            assert!(tin.loads.sources.len() <= 1 && tin.loads.destinations.len() <= 1);
            assert_eq!(tin.sparse + tin.bulk, tin.lists.new.len() + tin.lists.old.len());
        }
    }
}
