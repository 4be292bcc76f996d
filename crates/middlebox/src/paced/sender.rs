//! The surrogate's sender: items as numbered datagrams over the satellite, paced, and kept until they are reported (Coetzee 1999,
//! section 8.7 and figure F8.5).
//!
//! * **Pacing**: the allotted rate, or that of the satellite link if it is lower; and nothing while more than `queue` waits there.
//! * **Delay loop**: what was sent comes out of it after 2 RTT. What a report has confirmed by then is gone; what has not is sent again,
//!   before anything new. During a fade the same items go round, nothing new is sent, and once it is over the full rate is of use at once.
//! * **Reports** name holes. An item that is missing, though later datagrams have come, is sent again at once. Serials show it: each
//!   datagram has one of its own, so that a lost retransmission is found like any other loss.
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
    /// Datagrams that may overtake one before it is lost.
    pub reordering: u64,
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

/// A datagram on its way round the delay loop.
#[derive(Clone, Copy, Debug)]
struct Sent {
    at: Instant,
    /// The item in it, if any.
    number: Option<u64>,
}

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
    /// Datagrams from serial `loop_base` on: the delay loop.
    delay_loop: VecDeque<Sent>,
    loop_base: u64,
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
    rtt: Option<(Duration, Duration)>,
    /// The highest serial that was reported.
    reported: Option<u64>,
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
            block: vec![],
            block_len: 0,
            parities: VecDeque::new(),
            next_send: Instant::ZERO,
            queue_until: Instant::ZERO,
            link_rate: None,
            last_sent: Instant::ZERO,
            quiet: QUIET,
            rtt: None,
            reported: None,
            held_up: false,
            counts: Counts::default(),
        }
    }

    /// Forgets all items, and goes on under a new session. Serials go on.
    pub fn restart(&mut self) {
        let session = self.session.wrapping_add(1);
        let loop_base = self.next_serial();
        let Sender { next_send, queue_until, link_rate, rtt, counts, .. } = *self;
        let fresh = Sender::new(self.settings, session);
        *self = Sender { next_send, queue_until, link_rate, rtt, counts, loop_base, ..fresh };
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
        self.rtt.map_or(self.settings.initial_rtt, |(srtt, _)| srtt)
    }
    /// How long a datagram stays in the delay loop: 2 RTT, and never less than reports need.
    pub fn loop_time(&self) -> Duration {
        let (srtt, var) = self.rtt.unwrap_or((self.settings.initial_rtt, Duration::ZERO));
        let slowest = srtt + var * 4 + self.settings.report_interval * 2;
        srtt.mul_f64(self.settings.loop_rtts).max(slowest)
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
        let first = self.delay_loop.front().filter(|_| !self.held_up);
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
        let content = self.next_content(now)?;
        let datagram = Datagram { session: self.session, serial: self.next_serial(), content };
        let number = match &datagram.content {
            Content::Item { number, .. } => Some(*number),
            Content::Parity { .. } | Content::Probe { .. } => None,
        };
        if number.is_some() {
            self.quiet = QUIET;
        }
        self.delay_loop.push_back(Sent { at: now, number });
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

    fn next_content(&mut self, now: Instant) -> Option<Content<D>> {
        while let Some(number) = self.again.pop_first() {
            if let Some(content) = self.send_item(now, number) {
                return Some(content);
            }
        }
        if let Some(content) = self.parities.pop_front() {
            match content {
                Content::Probe { .. } => self.counts.probes += 1,
                _ => self.counts.parities += 1,
            }
            return Some(content);
        }
        if self.fresh == self.end() {
            return None;
        }
        let number = self.fresh;
        self.fresh += 1;
        let content = self.send_item(now, number)?;
        self.fill_block(&content);
        Some(content)
    }

    fn send_item(&mut self, now: Instant, number: u64) -> Option<Content<D>> {
        let serial = self.next_serial();
        let kept = self.item(number)?;
        kept.sent = Some((serial, now));
        let item = kept.item.clone();
        self.counts.items += 1;
        Some(Content::Item { number, item })
    }

    fn fill_block(&mut self, content: &Content<D>) {
        let (Some(code), Content::Item { item, .. }) = (self.settings.code, content) else { return };
        self.block.push(item.symbol());
        self.block_len = self.block_len.max(item.symbol_len());
        if self.block.len() == usize::from(code.items) {
            self.close_block();
        }
    }

    /// Parities for the items sent last.
    fn close_block(&mut self) {
        let Some(code) = self.settings.code else { return };
        let symbols = std::mem::take(&mut self.block);
        let items = symbols.len() as u8;
        let first = self.fresh - u64::from(items);
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
        while let Some(sent) = self.delay_loop.front().copied().filter(|sent| sent.at + time <= now) {
            let serial = self.loop_base;
            self.delay_loop.pop_front();
            self.loop_base += 1;
            let Some(number) = sent.number else { continue };
            if self.kept_at(number).is_some_and(|kept| kept.is_last(serial)) && self.again.insert(number) {
                self.counts.expired += 1;
            }
        }
    }

    /// A report has come as it was decoded: lower halves, and from the floor on. False if it cannot be true: it is tossed.
    pub fn on_report(&mut self, now: Instant, report: &Report) -> bool {
        let serial = expand(report.serial, self.next_serial()).filter(|serial| *serial < self.next_serial());
        let floor = expand(report.floor, self.base).filter(|floor| floor + report.end <= self.fresh);
        let Some((serial, floor)) = serial.zip(floor) else {
            self.counts.tossed += 1;
            return false;
        };
        let reported_at = self.sent_at(serial);
        self.measure(now, serial, Duration::from_millis(u64::from(report.age_ms)));
        self.confirm(self.base, floor);
        let mut place = floor;
        for (from, below) in &report.holes {
            let (from, below) = (floor + from, floor + below);
            self.confirm(place, from);
            place = below;
            for number in from.max(self.base)..below {
                self.on_missing(number, serial, reported_at);
            }
        }
        self.confirm(place, floor + report.end);
        while self.kept.front().is_some_and(Option::is_none) {
            self.kept.pop_front();
            self.base += 1;
        }
        self.forget(serial);
        true
    }

    /// Datagrams at the end of the loop that were reported, and whose items need no more care, leave it early.
    fn forget(&mut self, reported: u64) {
        while self.loop_base <= reported {
            let Some(sent) = self.delay_loop.front() else { return };
            let serial = self.loop_base;
            let waits = |number: u64| self.kept_at(number).is_some_and(|kept| kept.is_last(serial));
            if sent.number.is_some_and(waits) {
                return;
            }
            self.delay_loop.pop_front();
            self.loop_base += 1;
        }
    }

    /// Items from a number to below another have arrived.
    fn confirm(&mut self, from: u64, below: u64) {
        for number in from.max(self.base)..below.min(self.end()) {
            let place = (number - self.base) as usize;
            if let Some(kept) = self.kept[place].take() {
                self.kept_bytes -= OVERHEAD + u64::from(kept.item.payload());
                self.again.remove(&number);
            }
        }
    }

    /// It is lost if so many datagrams have overtaken it, or one that left so much later (as in RFC 8985).
    fn on_missing(&mut self, number: u64, reported: u64, reported_at: Option<Instant>) {
        let Some((serial, at)) = self.kept_at(number).and_then(|kept| kept.sent) else { return };
        let overtaken = serial + self.settings.reordering <= reported;
        let late = serial < reported && reported_at.is_some_and(|then| at + QUIET <= then);
        if (overtaken || late) && self.again.insert(number) {
            self.counts.reported_lost += 1;
        }
    }

    /// When a datagram was sent, while it is in the delay loop.
    fn sent_at(&self, serial: u64) -> Option<Instant> {
        let place = usize::try_from(serial.checked_sub(self.loop_base)?).ok()?;
        self.delay_loop.get(place).map(|sent| sent.at)
    }

    /// RFC 6298's estimator.
    fn measure(&mut self, now: Instant, serial: u64, age: Duration) {
        if self.reported.is_some_and(|before| serial <= before) {
            return;
        }
        self.reported = Some(serial);
        let Some(sent_at) = self.sent_at(serial) else { return };
        let sample = now.since(sent_at).saturating_sub(age);
        self.rtt = Some(match self.rtt {
            None => (sample, sample / 2),
            Some((srtt, var)) => {
                let off = sample.saturating_sub(srtt).max(srtt.saturating_sub(sample));
                ((srtt * 7 + sample) / 8, (var * 3 + off) / 4)
            }
        });
    }
}
