//! Sender and receiver against each other, with bytes, over a satellite and a thin line that lose, double, reorder, and go dark.

use super::datagram::{Datagram, Item, Key};
use super::erasure::Code;
use super::message::{Inbox, Message};
use super::receiver::{self, Delivery, Receiver};
use super::sender::{self, Sender};
use crate::QueueState;
use bytes::Bytes;
use longhaul_units::{Duration, Instant, Rate};
use proptest::prelude::*;
use std::collections::BTreeMap;

const KEY: [u8; 16] = *b"sixteen bytes ok";
const BUFFER: u64 = 20_000;

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}
fn at(millis: u64) -> Instant {
    Instant::ZERO + ms(millis)
}

/// 8 Mbit/s: a byte a microsecond.
fn sending(code: Option<Code>) -> sender::Settings {
    sender::Settings {
        rate: Some(Rate::from_bps(8_000_000)),
        queue: ms(5),
        mtu: 500,
        loop_rtts: 2.0,
        initial_rtt: ms(600),
        most_kept: 1_000_000,
        report_interval: ms(100),
        code,
    }
}
fn receiving(code: Option<Code>) -> receiver::Settings {
    receiver::Settings {
        report_interval: ms(100),
        reordering: 3,
        line: None,
        headers: 42,
        share: 0.25,
        buffer: BUFFER,
        code,
    }
}

/// SplitMix64.
struct Dice(u64);
impl Dice {
    fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }
    fn percent(&mut self, chance: u64) -> bool {
        self.roll() % 100 < chance
    }
}

#[derive(Clone, Copy, Debug)]
struct Sky {
    loss: u64,
    double: u64,
    late: u64,
    damage: u64,
    dark: (u64, u64),
}

/// The two machines, a satellite of 250 ms between them, and a line of 300 ms back, on which TCP delays but loses nothing.
struct Pair {
    now: Instant,
    sender: Sender<Bytes>,
    receiver: Receiver<Bytes>,
    sky: Sky,
    dice: Dice,
    flying: BTreeMap<(Instant, u64), Vec<u8>>,
    /// Messages in order; nothing arrives while the line is dark.
    line: BTreeMap<(Instant, u64), Vec<u8>>,
    line_dark: (u64, u64),
    line_last: Instant,
    inbox: Inbox,
    counter: u64,
    got: Vec<Delivery<Bytes>>,
    sent_bytes: u64,
}

impl Pair {
    fn new(code: Option<Code>, sky: Sky, line_dark: (u64, u64), seed: u64) -> Self {
        Pair {
            now: Instant::ZERO,
            sender: Sender::new(sending(code), 0),
            receiver: Receiver::new(receiving(code), 0),
            sky,
            dice: Dice(seed),
            flying: BTreeMap::new(),
            line: BTreeMap::new(),
            line_dark,
            line_last: Instant::ZERO,
            inbox: Inbox::default(),
            counter: 0,
            got: vec![],
            sent_bytes: 0,
        }
    }

    fn launch(&mut self, datagram: &Datagram<Bytes>) {
        let mut bytes = vec![];
        datagram.encode(&KEY, &mut bytes);
        assert!(datagram.wire_len() <= 500, "no longer than the MTU");
        self.sent_bytes += u64::from(datagram.wire_len());
        let Sky { loss, double, late, damage, dark } = self.sky;
        if at(dark.0) <= self.now && self.now < at(dark.1) {
            return;
        }
        for _ in 0..1 + u64::from(self.dice.percent(double)) {
            if self.dice.percent(loss) {
                continue;
            }
            let mut copy = bytes.clone();
            if self.dice.percent(damage) {
                let place = self.dice.roll() as usize % copy.len();
                copy[place] ^= 1 << (self.dice.roll() % 8);
                copy.truncate(copy.len() - self.dice.roll() as usize % 3);
            }
            let more = if self.dice.percent(late) { self.dice.roll() % 100 } else { 0 };
            self.counter += 1;
            self.flying.insert((self.now + ms(250 + more), self.counter), copy);
        }
    }

    fn serve(&mut self) {
        while let Some(datagram) = self.sender.poll_transmit(self.now) {
            self.launch(&datagram);
        }
        while let Some(delivery) = self.receiver.poll_delivery() {
            self.got.push(delivery);
        }
        if let Some(report) = self.receiver.poll_report(self.now, false) {
            let mut bytes = vec![];
            Message::Report(report).encode(&mut bytes);
            let due = self.now + ms(300);
            let dark = at(self.line_dark.0) <= due && due < at(self.line_dark.1);
            let due = if dark { at(self.line_dark.1) } else { due };
            self.line_last = due.max(self.line_last);
            self.counter += 1;
            self.line.insert((self.line_last, self.counter), bytes);
        }
    }

    /// One event; false if there is none before `until`.
    fn step(&mut self, until: Instant) -> bool {
        self.serve();
        let next = [
            self.flying.keys().next().map(|key| key.0),
            self.line.keys().next().map(|key| key.0),
            self.sender.poll_timeout(),
            self.receiver.next_report(),
        ];
        let Some(next) = next.into_iter().flatten().min().filter(|next| *next <= until) else { return false };
        self.now = self.now.max(next);
        while let Some(entry) = self.flying.first_entry().filter(|entry| entry.key().0 <= self.now) {
            let bytes = entry.remove();
            self.receiver.handle_payload(self.now, &KEY, &bytes.into());
        }
        while let Some(entry) = self.line.first_entry().filter(|entry| entry.key().0 <= self.now) {
            self.inbox.push(&entry.remove());
            while let Some(Message::Report(report)) = self.inbox.next_message().unwrap() {
                assert!(self.sender.on_report(self.now, &report), "{report:?}");
            }
        }
        self.serve();
        true
    }

    fn run(&mut self, until: Instant) {
        while self.step(until) {}
        self.now = self.now.max(until);
    }

    /// Until all is confirmed; when that was.
    fn finish(&mut self, until: Instant) -> Instant {
        while self.sender.unconfirmed() > 0 {
            assert!(self.step(until), "not all is confirmed at {:?}: {:?}", self.now, self.sender.counts());
        }
        self.now
    }

    fn stream(&self, id: u32) -> Bytes {
        let of = |delivery: &Delivery<Bytes>| match delivery {
            Delivery::Data { stream, data } if *stream == id => data.clone(),
            _ => Bytes::new(),
        };
        self.got.iter().flat_map(of).collect()
    }
}

const CLEAR: Sky = Sky { loss: 0, double: 0, late: 0, damage: 0, dark: (0, 0) };

fn bytes(stream: u32, from: u64, count: u64) -> Bytes {
    (from..from + count).map(|n| (n * 7 + n / 251 + u64::from(stream)) as u8).collect()
}
fn data(stream: u32, from: u64, count: u64) -> Item<Bytes> {
    Item::Data { stream, position: 1 + from, data: bytes(stream, from, count) }
}

/// Chapter 8.7: datagrams leave at the allotted rate. 400 bytes of data are 452 bytes, at 8 Mbit/s every 452 us.
#[test]
fn datagrams_are_paced_at_the_allotted_rate() {
    let mut sender: Sender<Bytes> = Sender::new(sending(None), 0);
    (0..5).for_each(|n| sender.push(data(2, 400 * n, 400)));
    let mut times = vec![];
    let mut now = at(10);
    while times.len() < 5 {
        while sender.poll_transmit(now).is_some() {
            times.push(now.as_nanos() / 1000);
        }
        now = sender.poll_timeout().unwrap();
    }
    // The pacer may be 1 ms behind: the first two make up for it.
    assert_eq!(times, [10_000, 10_000, 10_000, 10_356, 10_808]);
}

/// Chapter 8.7, "queue room at the satellite router": 5 ms at 1 Mbit/s are 625 bytes. With 1625 there, 8 ms pass until it is so.
#[test]
fn a_full_queue_at_the_satellite_holds_the_sender_back() {
    let mut sender: Sender<Bytes> = Sender::new(sending(None), 0);
    sender.push(data(2, 0, 400));
    sender.push(data(2, 400, 400));
    let rate = Rate::from_bps(1_000_000);
    sender.on_queue(at(100), QueueState { bytes: 1625, rate });
    assert!(sender.poll_transmit(at(100)).is_none());
    assert_eq!(sender.poll_timeout(), Some(at(108)));
    sender.on_queue(at(108), QueueState { bytes: 625, rate });
    assert!(sender.poll_transmit(at(108)).is_some());
    // A fade took the link's rate: the next one waits as long as this one takes there.
    assert!(sender.ready_at() >= at(110), "{:?}", sender.ready_at());
    sender.on_queue(at(120), QueueState { bytes: 0, rate: Rate::ZERO });
    assert!(sender.poll_transmit(at(120)).is_none(), "a link that carries nothing");
}

/// Chapter 8.7: "packets that come out of the delay were not acknowledged: re-enter with top priority"; 2 RTT.
#[test]
fn what_comes_out_of_the_delay_loop_goes_first() {
    let mut sender: Sender<Bytes> = Sender::new(sending(None), 0);
    sender.push(data(2, 0, 400));
    assert!(sender.poll_transmit(at(1)).is_some());
    // Twice the initial 600 ms later it goes again, before what is new. Probes requested a report meanwhile.
    let mut probes = 0;
    while sender.poll_timeout().unwrap() < at(1201) {
        probes += usize::from(sender.poll_transmit(sender.poll_timeout().unwrap()).is_some());
    }
    assert_eq!((probes, sender.counts().probes), (5, 5), "20, 40, 80, 160, 320 ms after the one before");
    sender.push(data(2, 400, 400));
    let again = sender.poll_transmit(at(1201)).unwrap();
    assert!(matches!(again.content, super::datagram::Content::Item { number: 0, .. }));
    assert_eq!(sender.counts().expired, 1);
}

#[test]
fn a_clear_sky_needs_each_datagram_once_and_few_reports() {
    let mut pair = Pair::new(None, CLEAR, (0, 0), 1);
    pair.sender.push(Item::Open { stream: 2, key: [9; 12] });
    (0..40).for_each(|n| pair.sender.push(data(2, 400 * n, 400)));
    pair.sender.push(Item::Close { stream: 2, position: 16_001 });
    let end = pair.finish(at(10_000));
    assert_eq!(pair.stream(2), bytes(2, 0, 16_000));
    assert_eq!(pair.got.first(), Some(&Delivery::Open { stream: 2, key: [9; 12] }));
    assert_eq!(pair.got.last(), Some(&Delivery::Close { stream: 2 }));
    assert_eq!((pair.sender.counts().items, pair.receiver.counts().reports), (42, 1));
    // The first report leaves 100 ms after the first datagram has come, when all have: 250 + 100 + 300 ms.
    assert!(end > at(649) && end < at(653), "{end:?}");
    // The last datagram came 18 ms after the first; its age is in the report, in whole ms.
    let rtt = pair.sender.rtt();
    assert!(rtt >= ms(550) && rtt <= ms(551), "{rtt}");
}

/// A lost datagram in the middle is reported when three have overtaken it, and comes a round trip later.
#[test]
fn a_loss_is_repaired_in_a_round_trip() {
    let mut pair = Pair::new(None, CLEAR, (0, 0), 1);
    pair.sender.push(Item::Open { stream: 2, key: [9; 12] });
    (0..20).for_each(|n| pair.sender.push(data(2, 400 * n, 400)));
    // The opening takes 64 us, the first data 452: the second data leave at 516 us, and are lost.
    pair.run(Instant::from_nanos(400_000));
    pair.sky.loss = 100;
    pair.run(Instant::from_nanos(600_000));
    pair.sky.loss = 0;
    // Three datagrams later it is known, 300 ms later the hub has the report, 250 ms later the data are there.
    pair.run(at(804));
    assert_eq!(pair.stream(2), bytes(2, 0, 8000));
    let counts = pair.sender.counts();
    assert!(counts.reported_lost == 1 && counts.expired == 0, "{counts:?}");
}

/// The last datagrams are lost: probes show it, the delay loop need not expire.
#[test]
fn a_loss_at_the_end_is_found_by_probes() {
    let mut pair = Pair::new(None, CLEAR, (0, 0), 1);
    pair.sender.push(Item::Open { stream: 2, key: [9; 12] });
    pair.run(at(5));
    pair.sky.dark = (0, 10);
    pair.sender.push(data(2, 0, 400));
    let end = pair.finish(at(10_000));
    assert_eq!(pair.stream(2), bytes(2, 0, 400));
    // A probe 20 ms later, the report, the data, and the last report: two round trips of 550 ms and a wait of 100 ms.
    assert!(end < at(1300), "{end:?}");
    assert_eq!(pair.sender.counts().expired, 0);
}

/// During a fade what is unconfirmed goes round, nothing new is sent; after it the rate is there at once.
#[test]
fn after_a_fade_the_full_rate_is_back_at_once() {
    let mut pair = Pair::new(None, Sky { dark: (2000, 5000), ..CLEAR }, (0, 0), 1);
    pair.sender.push(Item::Open { stream: 2, key: [9; 12] });
    let mut sent = 0;
    let mut goodput = vec![];
    for second in 1..9 {
        let until = at(1000 * second);
        loop {
            // The host's connection always has more, as far as its credit goes.
            while pair.sender.has_room() && sent + 400 <= BUFFER + pair.stream(2).len() as u64 {
                pair.sender.push(data(2, sent, 400));
                sent += 400;
            }
            let limit = 1 + pair.stream(2).len() as u64 + BUFFER;
            pair.receiver.grant(2, limit);
            if !pair.step(until) {
                break;
            }
        }
        goodput.push(pair.stream(2).len());
    }
    let before = goodput[1] - goodput[0];
    let during = goodput[4] - goodput[2];
    let after = goodput[6] - goodput[5];
    assert!(during == 0 && after > before * 9 / 10, "{goodput:?}");
    assert_eq!(pair.stream(2), bytes(2, 0, pair.stream(2).len() as u64));
}

/// A parity for each ten items: one loss of ten is restored without a report of it.
#[test]
fn parities_restore_what_is_lost() {
    let code = Code { items: 10, parities: 1 };
    let mut pair = Pair::new(Some(code), CLEAR, (0, 0), 1);
    pair.sender.push(Item::Open { stream: 2, key: [9; 12] });
    (0..39).for_each(|n| pair.sender.push(data(2, 400 * n, 400)));
    pair.run(Instant::from_nanos(400_000));
    pair.sky.loss = 100;
    pair.run(Instant::from_nanos(600_000));
    pair.sky.loss = 0;
    // Before any report can have had an answer.
    pair.run(at(300));
    assert_eq!(pair.stream(2), bytes(2, 0, 39 * 400));
    assert_eq!((pair.receiver.counts().restored, pair.sender.counts().items), (1, 40));
}

/// At 5 % of loss and 10 % of retransmissions a thin line names each loss once: what is sent twice is what was lost, and next to nothing
/// comes twice. A report of everything that was missing named each loss again until its repair had come, ended where it was full, and the
/// loop sent blindly what it did not name.
#[test]
fn a_thin_line_has_room_for_many_losses() {
    let mut pair = Pair::new(None, Sky { loss: 5, ..CLEAR }, (0, 0), 7);
    pair.receiver = Receiver::new(
        receiver::Settings { line: Some(Rate::from_bps(7680)), buffer: 10_000_000, ..receiving(None) },
        0,
    );
    pair.sender.push(Item::Open { stream: 2, key: [9; 12] });
    (0..10_000).for_each(|n| pair.sender.push(data(2, 400 * n, 400)));
    pair.finish(at(60_000));
    assert_eq!(pair.stream(2).len(), 4_000_000);
    let (sent, received) = (pair.sender.counts(), pair.receiver.counts());
    assert!(sent.reported_lost > 450 && sent.reported_lost < 600, "{sent:?}");
    assert!(sent.expired == 0 && received.duplicates == 0, "{sent:?}, {received:?}");
}

/// More is lost of a block than its parities restore: it is sent again; what they restore is not.
#[test]
fn what_parities_cannot_restore_is_sent_again() {
    let code = Code { items: 10, parities: 1 };
    // The first of two that are sent again restores the other, which is on its way then.
    for (dark_us, lost, twice) in [(1_000, 2, 1), (600, 0, 0)] {
        let mut pair = Pair::new(Some(code), CLEAR, (0, 0), 1);
        pair.sender.push(Item::Open { stream: 2, key: [9; 12] });
        (0..39).for_each(|n| pair.sender.push(data(2, 400 * n, 400)));
        pair.run(Instant::from_nanos(400_000));
        pair.sky.loss = 100;
        pair.run(Instant::from_nanos(dark_us * 1000));
        pair.sky.loss = 0;
        pair.finish(at(10_000));
        assert_eq!(pair.stream(2), bytes(2, 0, 39 * 400));
        let (sent, received) = (pair.sender.counts(), pair.receiver.counts());
        assert_eq!((sent.reported_lost, sent.expired, received.duplicates), (lost, 0, twice), "{sent:?}");
    }
}

/// A new session ends all streams of the one before.
#[test]
fn a_new_session_forgets_the_old_one() {
    let mut pair = Pair::new(None, CLEAR, (0, 0), 1);
    pair.sender.push(Item::Open { stream: 2, key: [9; 12] });
    pair.sender.push(data(2, 0, 400));
    pair.run(at(300));
    pair.sender.restart();
    pair.sender.push(Item::Open { stream: 4, key: [8; 12] });
    pair.run(at(600));
    let tail = &pair.got[pair.got.len() - 2..];
    assert_eq!(tail, [Delivery::NewSession(1), Delivery::Open { stream: 4, key: [8; 12] }]);
    // What is late of the old one is tossed.
    let old: Datagram<Bytes> = Datagram {
        session: 0,
        serial: 9,
        content: super::datagram::Content::Item { number: 9, item: data(2, 400, 10) },
    };
    pair.receiver.handle(at(700), old);
    assert_eq!((pair.receiver.counts().tossed, pair.receiver.poll_delivery()), (1, None));
}

/// What cannot be of its stream is tossed, and what is right comes through after it.
#[test]
fn impossible_items_are_tossed() {
    let mut receiver: Receiver<Bytes> = Receiver::new(receiving(None), 0);
    let mut serial = 0;
    let mut offer = |receiver: &mut Receiver<Bytes>, number: u64, item: Item<Bytes>| {
        let content = super::datagram::Content::Item { number, item };
        receiver.handle(at(1), Datagram { session: 0, serial, content });
        serial += 1;
    };
    offer(&mut receiver, 0, Item::Open { stream: 2, key: [0; 12] });
    let key: Key = [1; 12];
    for (number, item) in [
        (1, data(2, BUFFER, 1)),
        (1 << 21, data(2, 0, 10)),
        (1, Item::Data { stream: 2, position: 0, data: vec![1].into() }),
        (u64::from(u32::MAX), data(2, 0, 10)),
    ] {
        let before = receiver.counts().tossed;
        offer(&mut receiver, number, item.clone());
        let wrong = receiver.counts().tossed - before + receiver.counts().duplicates;
        assert!(wrong > 0, "{item:?}");
    }
    offer(&mut receiver, 2, data(2, 10, 10));
    let before = receiver.counts().tossed;
    offer(&mut receiver, 1, data(2, 5, 10));
    offer(&mut receiver, 1, data(2, 15, 10));
    assert_eq!(receiver.counts().tossed, before + 2, "they overlap");
    offer(&mut receiver, 1, data(2, 0, 10));
    let got: Vec<_> = std::iter::from_fn(|| receiver.poll_delivery()).collect();
    assert_eq!(got.len(), 3);
    assert_eq!(got[0], Delivery::Open { stream: 2, key: [0; 12] });
    assert_eq!(got[2], Delivery::Data { stream: 2, data: bytes(2, 10, 10) });
    assert_ne!(got[0], Delivery::Open { stream: 2, key });
}

/// Reports take a quarter of a line of 9600 baud at most: 14 + 42 bytes are 58 ms, so that one leaves every 233 ms. The first, about
/// fewer than 128 datagrams, has a byte less.
#[test]
fn reports_leave_room_on_the_line() {
    let settings = receiver::Settings { line: Some(Rate::from_bps(7680)), ..receiving(None) };
    let mut receiver: Receiver<Bytes> = Receiver::new(settings, 0);
    let mut times = vec![];
    for n in 0..2000u64 {
        let content = super::datagram::Content::Item { number: n, item: Item::Reset { stream: 8 } };
        receiver.handle(at(n), Datagram { session: 0, serial: n, content });
        if receiver.poll_report(at(n), false).is_some() {
            times.push(n);
        }
    }
    assert_eq!(times[..4], [100, 330, 564, 798]);
    // With nothing else on the line half of it: every 117 ms.
    while times.len() < 13 {
        let now = 2000 + times.len() as u64;
        let content = super::datagram::Content::Item { number: now, item: Item::Reset { stream: 8 } };
        receiver.handle(at(now), Datagram { session: 0, serial: now, content });
        let due = receiver.next_report().unwrap();
        assert!(receiver.poll_report(due, true).is_some());
        times.push(due.as_nanos() / 1_000_000);
    }
    assert!(matches!(times[11] - times[10], 116 | 117), "{times:?}");
}

fn sky() -> impl Strategy<Value = Sky> {
    (0u64..40, 0u64..20, 0u64..30, 0u64..20, 0u64..4000, 0u64..6000).prop_map(
        |(loss, double, late, damage, begin, length)| Sky {
            loss,
            double,
            late,
            damage,
            dark: (begin, begin + length),
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, max_shrink_iters: 200, ..ProptestConfig::default() })]

    /// Whatever the sky does: every byte of every stream once, in order, and its end after it.
    #[test]
    fn every_byte_arrives_once_and_in_order(
        sky in sky(),
        line_dark in (0u64..5000, 0u64..3000),
        code in prop::option::of((1u8..20, 1u8..4)),
        writes in prop::collection::vec((0u64..400, 1u32..4, 1u64..400), 1..150),
        reset in prop::option::of(1u32..4),
        seed: u64,
    ) {
        let code = code.map(|(items, parities)| Code { items, parities });
        let mut pair = Pair::new(code, sky, (line_dark.0, line_dark.0 + line_dark.1), seed);
        let mut written = [0; 4];
        for id in 1..4 {
            pair.sender.push(Item::Open { stream: id, key: [id as u8; 12] });
        }
        for (pause, id, count) in writes {
            let count = count.min(u64::from(pair.sender.most_data()));
            let from = written[id as usize];
            if from + count <= BUFFER {
                pair.sender.push(data(id, from, count));
                written[id as usize] += count;
            }
            pair.run(pair.now + ms(pause));
        }
        for id in 1..4 {
            if reset == Some(id) {
                pair.sender.push(Item::Reset { stream: id });
            } else {
                pair.sender.push(Item::Close { stream: id, position: 1 + written[id as usize] });
            }
        }
        pair.finish(at(10_000_000));
        pair.serve();
        for id in 1..4 {
            let got = pair.stream(id);
            let events: Vec<_> = pair.got.iter().filter(|delivery| match delivery {
                Delivery::Open { stream, .. } | Delivery::Close { stream } | Delivery::Reset { stream } => *stream == id,
                _ => false,
            }).cloned().collect();
            if reset == Some(id) {
                prop_assert_eq!(&got, &bytes(id, 0, got.len() as u64), "what came before the reset");
                prop_assert!(matches!(&events[..], [] | [Delivery::Open { .. }, Delivery::Reset { .. }]), "{:?}", events);
                continue;
            }
            prop_assert_eq!(&got, &bytes(id, 0, written[id as usize]), "stream {}", id);
            prop_assert_eq!(events, [Delivery::Open { stream: id, key: [id as u8; 12] }, Delivery::Close { stream: id }]);
        }
        prop_assert_eq!(pair.sender.kept_bytes(), 0);
    }

    /// Reports that cannot be true are tossed, and harm nothing.
    #[test]
    fn false_reports_are_tossed(
        reports in prop::collection::vec((0u64..60, any::<u16>(), 0u64..60, 0u64..20, prop::collection::vec((1u64..8, 1u64..8), 0..4)), 1..20),
        seed: u64,
    ) {
        let mut pair = Pair::new(None, Sky { loss: 10, ..CLEAR }, (0, 0), seed);
        pair.sender.push(Item::Open { stream: 1, key: [0; 12] });
        (0..20).for_each(|n| pair.sender.push(data(1, 100 * n, 100)));
        for (serial, age_ms, floor, open, steps) in reports {
            let mut count = 0;
            let lost: Vec<_> = steps.iter().map(|(gap, gone)| { let from = count + gap; count = from + gone; (from, count) }).collect();
            // Never what the sender cannot see through: that more has come than has.
            let report = super::message::Report { serial, age_ms, floor: 1000 + floor, open, count, lost };
            prop_assert!(!pair.sender.on_report(pair.now, &report));
            pair.run(pair.now + ms(50));
        }
        pair.finish(at(1_000_000));
        prop_assert_eq!(pair.stream(1), bytes(1, 0, 2000));
    }

    /// Any datagrams with a tag that fits: no panic, and bounded memory.
    #[test]
    fn a_receiver_survives_anything(
        datagrams in prop::collection::vec((0u8..9, prop::collection::vec(any::<u8>(), 0..40), any::<bool>()), 0..60),
        code: bool,
    ) {
        let code = code.then_some(Code { items: 4, parities: 2 });
        let mut receiver: Receiver<Bytes> = Receiver::new(receiving(code), 0);
        for (n, (kind, mut body, small)) in datagrams.into_iter().enumerate() {
            if small {
                // Numbers near each other, so that they meet.
                body.iter_mut().for_each(|byte| *byte %= 4);
                for place in [0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14].into_iter().filter(|place| *place < body.len()).collect::<Vec<_>>() {
                    body[place] = 0;
                }
            }
            let mut bytes = vec![kind, 0, 0, 0, 0, 0, 0, 0];
            bytes.extend(body);
            super::datagram::retag(&KEY, &mut bytes);
            receiver.handle_payload(at(n as u64), &KEY, &bytes.into());
            receiver.poll_report(at(n as u64), false);
        }
        while receiver.poll_delivery().is_some() {}
    }
}
