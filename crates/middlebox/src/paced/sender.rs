//! The surrogate's sender: items as numbered datagrams over the satellite, paced, and kept until they are reported (Coetzee 1999,
//! section 8.7 and figure F8.5).
//!
//! * **Pacing**: the allotted rate, or that of the satellite link if it is lower; and nothing while more than `queue` waits there.
//! * **Delay loop**: what was sent comes out of it after 2 RTT. What a report has confirmed by then is gone; what has not is sent again,
//!   before anything new. During a fade the same items go round, nothing new is sent, and once it is over the full rate is of use at once.
//! * **Reports** name lost datagrams, each once. The item in it is sent again at once, unless parities that are still on their way may
//!   restore it. Each datagram has a serial of its own, so that a lost retransmission is found like any other loss.
//! * **Probes** follow when there is nothing more to send: without a later datagram the loss of the last one would not show.

use super::datagram::{Content, Data, Datagram, Item, expand, most_data};
use super::erasure::{self, Code};
use super::message::Report;
use crate::QueueState;
use longhaul_units::{Duration, Instant, Rate, Size};
use std::collections::{BTreeSet, VecDeque};

/// Everything that can be set.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Settings {
    /// What the client is allotted; without it, all that the satellite link has.
    pub rate: Option<Rate>,
    /// Nothing is sent while so much time's worth of packets waits at the satellite link.
    pub queue: Duration,
    /// Bytes of the longest IP packet.
    pub mtu: u32,
    /// Round trips that a datagram spends in the delay loop.
    pub loop_rtts: f64,
    /// The round trip time before there is a report.
    pub initial_rtt: Duration,
    /// Bytes that may be in the delay loop; nothing new is sent beyond.
    pub most_kept: u64,
    /// The longest time between reports while data arrive.
    pub report_interval: Duration,
    /// The erasure code, if any.
    pub code: Option<Code>,
}

/// What a sender counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    /// Datagrams with an item.
    pub items: u64,
    /// Items that were sent again since a report named them.
    pub reported_lost: u64,
    /// Items that were sent again since they came out of the delay loop without a report.
    pub expired: u64,
    /// Parities.
    pub parities: u64,
    /// Probes.
    pub probes: u64,
    /// Reports that cannot be true.
    pub tossed: u64,
}

/// Silence after the last datagram before the first probe; each further one waits twice as long, up to a round trip.
const QUIET: Duration = Duration::from_millis(20);
/// A pacer that was woken late catches up by so much.
const SLACK: Duration = Duration::from_millis(1);
/// How soon a link that carries nothing is looked at again.
const LOOK_AGAIN: Duration = Duration::from_millis(10);
/// What an item takes in the loop beside its data.
const OVERHEAD: u64 = 40;

/// An item that is not confirmed.
#[derive(Clone, Debug)]
struct Kept<D> {
    item: Item<D>,
    /// The last datagram with it, and when it was sent; `None` if there was none yet.
    sent: Option<(u64, Instant)>,
}

impl<D> Kept<D> {
    fn is_last(&self, serial: u64) -> bool {
        self.sent.is_some_and(|(last, _)| last == serial)
    }
}

/// A datagram that was not reported on.
#[derive(Clone, Copy, Debug)]
struct Sent {
    at: Instant,
    /// The item in it, if any.
    number: Option<u64>,
    /// The block of the erasure code that it is part of.
    block: Option<u64>,
}

/// Items and their parities, until all were reported on.
#[derive(Clone, Debug, Default)]
struct Block {
    items: u16,
    /// All of its datagrams, once the last item is in it.
    all: Option<u16>,
    come: u16,
    reported: u16,
    /// Items that did not come, and the serials that they had.
    lost: Vec<(u64, u64)>,
}

/// Datagrams that may be out of sight of reports: those before count as lost.
const MOST_UNREPORTED: usize = 1 << 20;

/// See the module.
#[derive(Debug)]
pub struct Sender<D> {
    settings: Settings,
    session: u16,
    /// Items from number `base` on; confirmed ones are gone.
    kept: VecDeque<Option<Kept<D>>>,
    base: u64,
    kept_bytes: u64,
    /// The first item that has not been sent.
    fresh: u64,
    /// Items to be sent again, the oldest first.
    again: BTreeSet<u64>,
    /// Datagrams from serial `loop_base` on, which were not reported on. Those from `loop_end` on are in the delay loop.
    delay_loop: VecDeque<Sent>,
    loop_base: u64,
    loop_end: u64,
    /// Blocks from number `first_block` on, the last of which is being filled; and items that parities will have restored.
    blocks: VecDeque<Block>,
    first_block: u64,
    restored: BTreeSet<u64>,
    /// The block whose parities go out next.
    parity_block: u64,
    /// Symbols of the block that is being filled, and parities that are to be sent.
    block: Vec<Vec<u8>>,
    /// Length of the longest of them on the wire.
    block_len: u32,
    parities: VecDeque<Content<D>>,
    next_send: Instant,
    /// The satellite's queue is full until then.
    queue_until: Instant,
    link_rate: Option<Rate>,
    last_sent: Instant,
    quiet: Duration,
    rtt: Option<Smoothed>,
    /// From sending a datagram to the report on it.
    until_reported: Option<Smoothed>,
    /// Reports are known to be held up on their way.
    held_up: bool,
    counts: Counts,
}

impl<D: Data> Sender<D> {
    /// A sender of a session.
    pub fn new(settings: Settings, session: u16) -> Self {
        Sender {
            settings,
            session,
            kept: VecDeque::new(),
            base: 0,
            kept_bytes: 0,
            fresh: 0,
            again: BTreeSet::new(),
            delay_loop: VecDeque::new(),
            loop_base: 0,
            loop_end: 0,
            blocks: VecDeque::new(),
            first_block: 0,
            restored: BTreeSet::new(),
            parity_block: 0,
            block: vec![],
            block_len: 0,
            parities: VecDeque::new(),
            next_send: Instant::ZERO,
            queue_until: Instant::ZERO,
            link_rate: None,
            last_sent: Instant::ZERO,
            quiet: QUIET,
            rtt: None,
            until_reported: None,
            held_up: false,
            counts: Counts::default(),
        }
    }

    /// Forgets all items, and goes on under a new session. Serials go on.
    pub fn restart(&mut self) {
        let session = self.session.wrapping_add(1);
        let loop_base = self.next_serial();
        let Sender { next_send, queue_until, link_rate, rtt, until_reported, counts, .. } = *self;
        let fresh = Sender::new(self.settings, session);
        let loop_end = loop_base;
        *self = Sender {
            next_send,
            queue_until,
            link_rate,
            rtt,
            until_reported,
            counts,
            loop_base,
            loop_end,
            ..fresh
        };
    }

    /// The session.
    pub fn session(&self) -> u16 {
        self.session
    }
    /// What was counted.
    pub fn counts(&self) -> Counts {
        self.counts
    }
    /// Items that were sent, or are to be, and are not confirmed.
    pub fn unconfirmed(&self) -> usize {
        self.kept.len()
    }
    /// Data bytes of items that are not confirmed, with what each item takes beside.
    pub fn kept_bytes(&self) -> u64 {
        self.kept_bytes
    }
    /// The most data that an item can have.
    pub fn most_data(&self) -> u32 {
        most_data(self.settings.mtu, self.settings.code.is_some())
    }
    /// The smoothed round trip time.
    pub fn rtt(&self) -> Duration {
        self.rtt.map_or(self.settings.initial_rtt, |rtt| rtt.mean)
    }
    /// How long a datagram stays in the delay loop: 2 RTT, and never less than reports need. Those of a thin line that names many losses
    /// are far apart.
    pub fn loop_time(&self) -> Duration {
        let slowest = match self.until_reported {
            Some(Smoothed { mean, deviation }) => mean + deviation * 4,
            None => self.rtt() + self.settings.report_interval * 2,
        };
        self.rtt().mul_f64(self.settings.loop_rtts).max(slowest)
    }

    /// An item is to be sent. Data only while there is [`Sender::has_room`].
    pub fn push(&mut self, item: Item<D>) {
        self.kept_bytes += OVERHEAD + u64::from(item.payload());
        self.kept.push_back(Some(Kept { item, sent: None }));
    }
    /// True if data should be pushed: nothing else is to be sent before it, and there is room in the loop.
    pub fn has_room(&self) -> bool {
        !self.has_work() && self.kept_bytes < self.settings.most_kept
    }
    /// When the pace and the satellite's queue let the next datagram go.
    pub fn ready_at(&self) -> Instant {
        self.next_send.max(self.queue_until)
    }

    fn end(&self) -> u64 {
        self.base + self.kept.len() as u64
    }
    fn has_work(&self) -> bool {
        !self.again.is_empty() || !self.parities.is_empty() || self.fresh < self.end()
    }
    fn place(&self, number: u64) -> Option<usize> {
        usize::try_from(number.checked_sub(self.base)?).ok()
    }
    fn kept_at(&self, number: u64) -> Option<&Kept<D>> {
        self.kept.get(self.place(number)?)?.as_ref()
    }
    fn item(&mut self, number: u64) -> Option<&mut Kept<D>> {
        let place = self.place(number)?;
        self.kept.get_mut(place)?.as_mut()
    }

    /// Reports are on their way but held up, since the line back has lost something before them: nothing comes out of the delay loop
    /// for want of a report.
    pub fn hold_up(&mut self, held_up: bool) {
        self.held_up = held_up;
    }

    /// What the satellite link's queue is like, as often as it is known.
    pub fn on_queue(&mut self, now: Instant, state: QueueState) {
        self.link_rate = Some(state.rate);
        let fits = state.rate.bytes_in(self.settings.queue).as_bytes();
        self.queue_until = if state.rate.is_zero() {
            now + LOOK_AGAIN
        } else if state.bytes > fits {
            now + state.rate.transmission_time(Size::from_bytes(state.bytes - fits))
        } else {
            now
        };
    }

    /// When [`Sender::poll_transmit`] next has something to send, as far as is known.
    pub fn poll_timeout(&self) -> Option<Instant> {
        let work = self.has_work().then(|| self.ready_at());
        let place = (self.loop_end - self.loop_base) as usize;
        let first = self.delay_loop.get(place).filter(|_| !self.held_up);
        let expiry = first.map(|sent| sent.at + self.loop_time());
        [work, expiry, self.quiet_at()].into_iter().flatten().min()
    }
    fn quiet_at(&self) -> Option<Instant> {
        let waiting = !self.kept.is_empty() || !self.block.is_empty();
        (waiting && !self.has_work()).then(|| (self.last_sent + self.quiet).max(self.ready_at()))
    }

    /// The next datagram, if it is time for one.
    pub fn poll_transmit(&mut self, now: Instant) -> Option<Datagram<D>> {
        self.expire(now);
        if now < self.ready_at() {
            return None;
        }
        if self.quiet_at().is_some_and(|due| due <= now) {
            self.on_quiet();
        }
        let (content, block) = self.next_content(now)?;
        let datagram = Datagram { session: self.session, serial: self.next_serial(), content };
        let number = match &datagram.content {
            Content::Item { number, .. } => Some(*number),
            Content::Parity { .. } | Content::Probe { .. } => None,
        };
        if number.is_some() {
            self.quiet = QUIET;
        }
        if self.delay_loop.len() >= MOST_UNREPORTED {
            self.take_fate(false);
        }
        self.delay_loop.push_back(Sent { at: now, number, block });
        self.last_sent = now;
        self.pace(now, datagram.wire_len());
        Some(datagram)
    }

    fn next_serial(&self) -> u64 {
        self.loop_base + self.delay_loop.len() as u64
    }

    fn pace(&mut self, now: Instant, wire_len: u32) {
        let rate = match (self.settings.rate, self.link_rate) {
            (Some(allotted), Some(link)) => allotted.min(link),
            (allotted, link) => allotted.or(link).unwrap_or(Rate::ZERO),
        };
        let earliest = Instant::from_nanos(now.as_nanos().saturating_sub(SLACK.as_nanos()));
        let time = match rate.is_zero() {
            true => LOOK_AGAIN,
            false => rate.transmission_time(Size::from_bytes(u64::from(wire_len))),
        };
        self.next_send = self.next_send.max(earliest) + time;
    }

    /// There is nothing to send, and it has been so for a while.
    fn on_quiet(&mut self) {
        if !self.block.is_empty() {
            return self.close_block();
        }
        self.parities.push_back(Content::Probe { next: self.end() });
        self.quiet = (self.quiet * 2).min(self.rtt().max(QUIET));
    }

    /// What goes out next, and the block that it is part of.
    fn next_content(&mut self, now: Instant) -> Option<(Content<D>, Option<u64>)> {
        while let Some(number) = self.again.pop_first() {
            if let Some(content) = self.send_item(now, number) {
                return Some((content, None));
            }
        }
        if let Some(content) = self.parities.pop_front() {
            let Content::Parity { index, parities, .. } = content else {
                self.counts.probes += 1;
                return Some((content, None));
            };
            self.counts.parities += 1;
            let block = self.parity_block;
            self.parity_block += u64::from(index + 1 == parities);
            return Some((content, Some(block)));
        }
        if self.fresh == self.end() {
            return None;
        }
        let number = self.fresh;
        self.fresh += 1;
        let content = self.send_item(now, number)?;
        let block = self.fill_block(&content);
        Some((content, block))
    }

    fn send_item(&mut self, now: Instant, number: u64) -> Option<Content<D>> {
        let serial = self.next_serial();
        let kept = self.item(number)?;
        kept.sent = Some((serial, now));
        let item = kept.item.clone();
        self.counts.items += 1;
        Some(Content::Item { number, item })
    }

    /// Takes a new item into the block that is being filled; its number.
    fn fill_block(&mut self, content: &Content<D>) -> Option<u64> {
        let (Some(code), Content::Item { item, .. }) = (self.settings.code, content) else { return None };
        if self.block.is_empty() {
            self.blocks.push_back(Block::default());
        }
        let block = self.first_block + self.blocks.len() as u64 - 1;
        self.block.push(item.symbol());
        self.block_len = self.block_len.max(item.symbol_len());
        if self.block.len() == usize::from(code.items) {
            self.close_block();
        }
        Some(block)
    }

    /// Parities for the items sent last.
    fn close_block(&mut self) {
        let Some(code) = self.settings.code else { return };
        let symbols = std::mem::take(&mut self.block);
        let items = symbols.len() as u8;
        let first = self.fresh - u64::from(items);
        if let Some(block) = self.blocks.back_mut() {
            block.items = u16::from(items);
            block.all = Some(u16::from(items) + u16::from(code.parities));
        }
        for (index, symbol) in (0..).zip(erasure::parities(&symbols, code.parities)) {
            let parities = code.parities;
            let beyond = self.block_len.next_multiple_of(2) - symbol.len() as u32;
            self.parities.push_back(Content::Parity { first, items, parities, index, symbol, beyond });
        }
        self.block_len = 0;
    }

    /// What comes out of the delay loop and is not confirmed is to be sent again.
    fn expire(&mut self, now: Instant) {
        if self.held_up {
            return;
        }
        let time = self.loop_time();
        let out = |sent: &&Sent| sent.at + time <= now;
        while let Some(sent) = self.delay_loop.get((self.loop_end - self.loop_base) as usize).filter(out) {
            let (serial, number) = (self.loop_end, sent.number);
            self.loop_end += 1;
            if number.is_some_and(|number| self.send_again(number, serial)) {
                self.counts.expired += 1;
            }
        }
    }

    /// The item that a datagram had is to be sent again; false if it is confirmed, or a later datagram has it too.
    fn send_again(&mut self, number: u64, serial: u64) -> bool {
        self.kept_at(number).is_some_and(|kept| kept.is_last(serial)) && self.again.insert(number)
    }

    /// A report has come as it was decoded, with lower halves. False if it cannot be true: it is tossed.
    pub fn on_report(&mut self, now: Instant, report: &Report) -> bool {
        let serial = expand(report.serial, self.next_serial()).filter(|serial| *serial < self.next_serial());
        let floor = expand(report.floor, self.base).filter(|floor| *floor <= self.fresh);
        let first = serial.and_then(|serial| (serial + 1).checked_sub(report.open + report.count));
        let Some(((serial, floor), first)) = serial.zip(floor).zip(first) else {
            self.counts.tossed += 1;
            return false;
        };
        self.measure(now, serial, first, Duration::from_millis(u64::from(report.age_ms)));
        (self.base..floor).for_each(|number| self.confirm(number));
        // What lies before it was not reported, and will not be.
        while self.loop_base < first {
            self.take_fate(false);
        }
        for (from, below) in &report.lost {
            self.take_fates(first + from, true);
            self.take_fates(first + below, false);
        }
        self.take_fates(first + report.count, true);
        // With all that was reported, the receiver would have restored it.
        if self.restored.remove(&floor) && self.kept_at(floor).is_some() && self.again.insert(floor) {
            self.counts.reported_lost += 1;
        }
        while self.kept.front().is_some_and(Option::is_none) {
            self.kept.pop_front();
            self.base += 1;
        }
        self.restored = self.restored.split_off(&self.base);
        true
    }

    /// Datagrams below this serial have come, or are lost.
    fn take_fates(&mut self, below: u64, come: bool) {
        while self.loop_base < below {
            self.take_fate(come);
        }
    }

    /// The first datagram that was not reported on has come, or is lost.
    fn take_fate(&mut self, come: bool) {
        let Some(sent) = self.delay_loop.pop_front() else { return };
        let serial = self.loop_base;
        self.loop_base += 1;
        self.loop_end = self.loop_end.max(self.loop_base);
        if let Some(number) = sent.number.filter(|_| come) {
            self.confirm(number);
        }
        match (sent.block, sent.number.filter(|_| !come)) {
            (Some(block), lost) => self.on_member(block, come, lost.map(|number| (number, serial))),
            (None, Some(number)) => self.on_lost(number, serial),
            (None, None) => {}
        }
    }

    fn on_lost(&mut self, number: u64, serial: u64) {
        if self.send_again(number, serial) {
            self.counts.reported_lost += 1;
        }
    }

    /// A datagram of a block has come, or is lost, perhaps an item with it.
    fn on_member(&mut self, number: u64, come: bool, lost: Option<(u64, u64)>) {
        let Some(place) = number.checked_sub(self.first_block) else { return };
        let Some(block) = self.blocks.get_mut(place as usize) else { return };
        block.reported += 1;
        block.come += u16::from(come);
        block.lost.extend(lost);
        if block.all != Some(block.reported) {
            return;
        }
        let Block { items, come, lost, .. } = std::mem::take(block);
        for (number, serial) in lost {
            if come < items {
                self.on_lost(number, serial);
            } else if self.kept_at(number).is_some() {
                self.restored.insert(number);
            }
        }
        // Those before are over too, since datagrams are reported on in the order in which they were sent.
        self.blocks.drain(..=place as usize);
        self.first_block = number + 1;
    }

    /// An item has arrived.
    fn confirm(&mut self, number: u64) {
        let Some(place) = self.place(number) else { return };
        if let Some(kept) = self.kept.get_mut(place).and_then(Option::take) {
            self.kept_bytes -= OVERHEAD + u64::from(kept.item.payload());
            self.again.remove(&number);
        }
    }

    /// When a datagram was sent, while nothing has reported on it.
    fn sent_at(&self, serial: u64) -> Option<Instant> {
        let place = usize::try_from(serial.checked_sub(self.loop_base)?).ok()?;
        self.delay_loop.get(place).map(|sent| sent.at)
    }

    /// `serial` is the latest that came, `first` the first that is reported on.
    fn measure(&mut self, now: Instant, serial: u64, first: u64, age: Duration) {
        if let Some(sent_at) = self.sent_at(serial) {
            Smoothed::take(&mut self.rtt, now.since(sent_at).saturating_sub(age));
        }
        // As Karn's rule has it: what was sent again meanwhile had waited for a fade.
        if let Some(sent_at) = self.sent_at(first).filter(|_| first >= self.loop_end && first <= serial) {
            Smoothed::take(&mut self.until_reported, now.since(sent_at));
        }
    }
}

/// RFC 6298's estimator.
#[derive(Clone, Copy, Debug)]
struct Smoothed {
    mean: Duration,
    deviation: Duration,
}

impl Smoothed {
    fn take(estimate: &mut Option<Smoothed>, sample: Duration) {
        *estimate = Some(match *estimate {
            None => Smoothed { mean: sample, deviation: sample / 2 },
            Some(Smoothed { mean, deviation }) => {
                let off = sample.saturating_sub(mean).max(mean.saturating_sub(sample));
                Smoothed { mean: (mean * 7 + sample) / 8, deviation: (deviation * 3 + off) / 4 }
            }
        });
    }
}
