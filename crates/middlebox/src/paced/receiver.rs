//! The pseudo proxy's receiver: each item once, each stream in order, and reports of what is missing.
//!
//! A gap in the serials shows that something was lost. Once as many datagrams have followed as may have overtaken it, and as the erasure
//! code needs to restore it, a report is due. While data arrive there is one now and then anyway. Each serial is reported on once, so that
//! the size of reports follows the loss and not the time that repairs take; and reports are rare enough to take only a share of the line.

use super::datagram::{Content, Data, Datagram, Item, Key, expand};
use super::erasure::{self, Code};
use super::losses::Stretch;
use super::message::{MOST_LOST, MOST_REPORTED, Message, Report};
use longhaul_units::{Duration, Instant, Rate, Size};
use std::collections::{BTreeMap, VecDeque};

/// Everything that can be set.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Settings {
    /// The longest time between reports while data arrive.
    pub report_interval: Duration,
    /// Datagrams that may overtake one before it is lost.
    pub reordering: u64,
    /// Rate of the thin line at 8 bits a byte: reports take no more than `share` of it.
    pub line: Option<Rate>,
    /// Bytes that the line adds to each packet, IP and TCP headers among them.
    pub headers: u32,
    /// Share of the line that reports may take while something else crosses it; with nothing else they take up to half of it.
    pub share: f64,
    /// Bytes of each stream that may be here and not with their host yet.
    pub buffer: u64,
    /// The erasure code, if any.
    pub code: Option<Code>,
}

/// What a receiver counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    /// Datagrams with an item that had come before.
    pub duplicates: u64,
    /// Items that parities gave.
    pub restored: u64,
    /// Datagrams that are damaged, forged, or contradict themselves.
    pub tossed: u64,
    /// Reports.
    pub reports: u64,
}

/// What comes out, for the hosts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Delivery<D> {
    /// A host has opened a connection.
    Open {
        /// Its stream.
        stream: u32,
        /// Which connection.
        key: Key,
    },
    /// The next bytes of a stream.
    Data {
        /// Its stream.
        stream: u32,
        /// The bytes.
        data: D,
    },
    /// The end of a stream.
    Close {
        /// Its stream.
        stream: u32,
    },
    /// A connection has ended before its time.
    Reset {
        /// Its stream.
        stream: u32,
    },
    /// So much may be sent the other way.
    Credit {
        /// Its stream.
        stream: u32,
        /// The lower half of the position.
        limit: u64,
    },
    /// The surrogate has begun anew: all streams of before are over.
    NewSession(u16),
}

/// Share of the line that reports may take which nothing else uses. Not all: whatever comes next does not wait for several of them.
const SHARE_ALONE: f64 = 0.5;
/// Numbers that may be above the first missing one.
const MOST_AHEAD: u64 = 1 << 20;
/// Streams at a time.
const MOST_STREAMS: usize = 1 << 16;
/// Blocks of an erasure code that may wait for their items.
const MOST_BLOCKS: u64 = 64;

/// A piece of a stream that waits for those before it.
#[derive(Clone, Debug)]
enum Piece<D> {
    Open(Key),
    Data(D),
    Close,
}

impl<D: Data> Piece<D> {
    fn len(&self) -> u64 {
        match self {
            Piece::Data(data) => u64::from(data.len()),
            Piece::Open(_) | Piece::Close => 1,
        }
    }
}

/// A stream from the hub.
#[derive(Debug)]
struct Stream<D> {
    /// The position that is to come next.
    next: u64,
    /// Nothing at or above this position may come: the credit that its sender was given.
    limit: u64,
    pieces: BTreeMap<u64, Piece<D>>,
    /// It was reset by the item of this number.
    reset: Option<u64>,
}

#[derive(Debug)]
struct Block {
    items: u8,
    parities: u8,
    symbols: BTreeMap<u8, Vec<u8>>,
}

/// See the module.
#[derive(Debug)]
pub struct Receiver<D> {
    settings: Settings,
    session: u16,
    /// All items below have come; of those from here on, which.
    floor: u64,
    come: VecDeque<bool>,
    /// The highest serial, and when it came.
    latest: Option<(u64, Instant)>,
    /// A loss that was not reported yet is certain once this serial has come.
    lost_at: Option<u64>,
    /// Serials from here on were not reported on; which of them have come.
    unreported: u64,
    arrived: VecDeque<bool>,
    /// Below this serial nothing is on its way any more: a probe has come, which follows after a silence.
    quiet_below: u64,
    /// The floor in the last report.
    reported_floor: u64,
    streams: BTreeMap<u32, Stream<D>>,
    /// Symbols of the items that came last, and blocks of which parities have come.
    symbols: BTreeMap<u64, Vec<u8>>,
    blocks: BTreeMap<u64, Block>,
    deliveries: VecDeque<Delivery<D>>,
    /// A report is due then.
    report_at: Option<Instant>,
    /// No report before this.
    line_free_at: Instant,
    counts: Counts,
}

impl<D: Data> Receiver<D> {
    /// Of the first session.
    pub fn new(settings: Settings, session: u16) -> Self {
        Receiver {
            settings,
            session,
            floor: 0,
            come: VecDeque::new(),
            latest: None,
            lost_at: None,
            unreported: 0,
            arrived: VecDeque::new(),
            quiet_below: 0,
            reported_floor: 0,
            streams: BTreeMap::new(),
            symbols: BTreeMap::new(),
            blocks: BTreeMap::new(),
            deliveries: VecDeque::new(),
            report_at: None,
            line_free_at: Instant::ZERO,
            counts: Counts::default(),
        }
    }

    /// The session.
    pub fn session(&self) -> u16 {
        self.session
    }
    /// What was counted.
    pub fn counts(&self) -> Counts {
        self.counts
    }
    /// What has come for the hosts, one by one.
    pub fn poll_delivery(&mut self) -> Option<Delivery<D>> {
        self.deliveries.pop_front()
    }
    /// A host on this side has opened a stream: what comes back begins with data.
    pub fn begin(&mut self, stream: u32) {
        let limit = 1 + self.settings.buffer;
        self.streams.entry(stream).or_insert_with(|| Stream { next: 1, ..Stream::new(limit) });
    }
    /// A stream may come up to this position.
    pub fn grant(&mut self, stream: u32, limit: u64) {
        if let Some(stream) = self.streams.get_mut(&stream) {
            stream.limit = stream.limit.max(limit);
        }
    }
    /// Both ends of a stream are done with it.
    pub fn forget(&mut self, stream: u32) {
        self.streams.remove(&stream);
    }

    /// The payload of a UDP packet has come. What is no datagram of the key is tossed.
    pub fn handle_payload(&mut self, now: Instant, key: &[u8; 16], payload: &D) {
        match Datagram::decode_front(key, payload.len(), payload.bytes()) {
            Ok(datagram) => self.handle(now, datagram),
            Err(_) => self.counts.tossed += 1,
        }
    }

    /// A datagram has come. Of its serial, number and positions only the lower halves count.
    pub fn handle(&mut self, now: Instant, datagram: Datagram<D>) {
        let Datagram { session, serial, content } = datagram;
        match session.wrapping_sub(self.session) {
            0 => {}
            1..0x8000 => self.begin_session(session),
            _ => return self.counts.tossed += 1,
        }
        // The first of a session may have any serial.
        let Some(serial) = expand(serial, self.latest.map_or(serial, |(latest, _)| latest)) else {
            return self.counts.tossed += 1;
        };
        let says_more = !matches!(content, Content::Probe { .. } | Content::Parity { .. });
        let probes = matches!(content, Content::Probe { .. });
        let known = match content {
            Content::Item { number, item } => self.on_numbered(number, item),
            Content::Parity { first, items, parities, index, symbol, .. } => {
                self.on_parity(first, items, parities, index, symbol)
            }
            Content::Probe { next } => self.on_probe(next),
        };
        if known {
            self.on_serial(now, serial);
            if probes {
                self.quiet_below = self.quiet_below.max(serial);
            }
            if says_more || self.has_holes() || self.floor > self.reported_floor {
                self.report_at.get_or_insert(now + self.settings.report_interval);
            }
        } else {
            self.counts.tossed += 1;
        }
    }

    fn begin_session(&mut self, session: u16) {
        let Receiver { settings, line_free_at, counts, .. } = *self;
        let mut deliveries = std::mem::take(&mut self.deliveries);
        deliveries.push_back(Delivery::NewSession(session));
        *self = Receiver { line_free_at, counts, deliveries, ..Receiver::new(settings, session) };
    }

    /// Watches for gaps: a loss that is certain is reported at once.
    fn on_serial(&mut self, now: Instant, serial: u64) {
        if self.latest.is_none() {
            // What was sent before it in this session has not come, or comes late and is sent again.
            self.unreported = serial;
        }
        let next = self.latest.map_or(serial, |(latest, _)| latest + 1);
        if serial >= next {
            let gap = serial > next || (self.latest.is_none() && self.has_holes());
            if gap && self.lost_at.is_none() {
                self.lost_at = Some(serial + self.patience() - 1);
            }
            self.latest = Some((serial, now));
        }
        self.note_serial(serial);
        let latest = self.latest.map_or(0, |(latest, _)| latest);
        if self.lost_at.is_some_and(|serial| serial <= latest) {
            self.lost_at = None;
            if self.has_holes() {
                self.report_at = Some(now);
            }
        }
    }
    fn note_serial(&mut self, serial: u64) {
        // One that comes after the report of its loss is on its way again already.
        let Some(mut place) = serial.checked_sub(self.unreported) else { return };
        if let Some(beyond) = (place + 1).checked_sub(MOST_AHEAD) {
            // More has gone by than can be reported on: what is left out counts as lost.
            self.arrived.drain(..(beyond as usize).min(self.arrived.len()));
            self.unreported += beyond;
            place -= beyond;
        }
        let place = place as usize;
        if place >= self.arrived.len() {
            self.arrived.resize(place + 1, false);
        }
        self.arrived[place] = true;
    }
    /// Datagrams after a gap before what is missing counts as lost.
    fn patience(&self) -> u64 {
        let code = self.settings.code.map_or(0, |code| u64::from(code.items) + u64::from(code.parities));
        self.settings.reordering + code
    }
    fn has_holes(&self) -> bool {
        !self.come.is_empty()
    }

    /// An item with its number. False if it cannot be.
    fn on_numbered(&mut self, number: u64, item: Item<D>) -> bool {
        let Some(number) = expand(number, self.floor) else { return false };
        if number >= self.floor + MOST_AHEAD {
            return false;
        }
        if self.has(number) {
            self.counts.duplicates += 1;
            return true;
        }
        let symbol = self.settings.code.map(|_| item.symbol());
        if !self.on_item(number, item) {
            return false;
        }
        self.note(number);
        if let Some(symbol) = symbol {
            self.on_symbol(number, symbol);
        }
        true
    }

    fn has(&self, number: u64) -> bool {
        let place = number.checked_sub(self.floor);
        place.is_none_or(|place| self.come.get(place as usize) == Some(&true))
    }
    fn note(&mut self, number: u64) {
        let place = (number - self.floor) as usize;
        if place >= self.come.len() {
            self.come.resize(place + 1, false);
        }
        self.come[place] = true;
        while self.come.front() == Some(&true) {
            self.come.pop_front();
            self.floor += 1;
        }
        if self.come.is_empty() {
            // What a reset stream still waited for has come.
            self.streams.retain(|_, stream| stream.reset.is_none());
        }
    }

    fn on_probe(&mut self, next: u64) -> bool {
        let Some(next) = expand(next, self.floor) else { return false };
        if next > self.floor + MOST_AHEAD {
            return false;
        }
        let len = next.saturating_sub(self.floor) as usize;
        if len > self.come.len() {
            self.come.resize(len, false);
            self.lost_at = Some(0);
        }
        // A probe is sent when all is quiet: what is missing now is lost.
        self.lost_at = self.lost_at.map(|_| 0);
        true
    }

    /// Takes an item into its stream. False if it cannot be one of it.
    fn on_item(&mut self, number: u64, item: Item<D>) -> bool {
        let (id, position, piece) = match item {
            Item::Open { stream, key } => (stream, 0, Piece::Open(key)),
            Item::Data { stream, position, data } => (stream, position, Piece::Data(data)),
            Item::Close { stream, position } => (stream, position, Piece::Close),
            Item::Credit { stream, limit } => {
                self.deliveries.push_back(Delivery::Credit { stream, limit });
                return true;
            }
            Item::Reset { stream } => return self.on_reset(number, stream),
        };
        if !self.streams.contains_key(&id) && self.streams.len() >= MOST_STREAMS {
            return false;
        }
        let limit = 1 + self.settings.buffer;
        let stream = self.streams.entry(id).or_insert_with(|| Stream::new(limit));
        let begun = matches!(piece, Piece::Open(_)) && stream.next > 0;
        if stream.reset.is_some() || begun {
            return true;
        }
        if !stream.insert(position, piece) {
            return false;
        }
        while let Some(piece) = stream.pieces.remove(&stream.next) {
            stream.next += piece.len();
            self.deliveries.push_back(match piece {
                Piece::Open(key) => Delivery::Open { stream: id, key },
                Piece::Data(data) => Delivery::Data { stream: id, data },
                Piece::Close => Delivery::Close { stream: id },
            });
        }
        true
    }

    fn on_reset(&mut self, number: u64, id: u32) -> bool {
        let limit = self.settings.buffer;
        let stream = self.streams.entry(id).or_insert_with(|| Stream::new(limit));
        let opened = stream.next > 0;
        stream.reset = Some(number);
        stream.pieces.clear();
        if opened {
            self.deliveries.push_back(Delivery::Reset { stream: id });
        }
        true
    }

    // Erasure coding.

    /// A symbol of a block may make it whole.
    fn on_symbol(&mut self, number: u64, symbol: Vec<u8>) {
        self.symbols.insert(number, symbol);
        let span = self.settings.code.map_or(0, |code| u64::from(code.items)) * MOST_BLOCKS;
        while self.symbols.first_key_value().is_some_and(|(first, _)| first + span < number) {
            self.symbols.pop_first();
        }
        let holds =
            |(first, block): (&u64, &Block)| (number < first + u64::from(block.items)).then_some(*first);
        if let Some(first) = self.blocks.range(..=number).next_back().and_then(holds) {
            self.restore(first);
        }
    }

    fn on_parity(&mut self, first: u64, items: u8, parities: u8, index: u8, symbol: Vec<u8>) -> bool {
        let Some(first) = expand(first, self.floor) else { return false };
        let end = first + u64::from(items);
        if self.settings.code.is_none() || items == 0 || index >= parities || end > self.floor + MOST_AHEAD {
            return false;
        }
        if end <= self.floor {
            return true;
        }
        let block =
            self.blocks.entry(first).or_insert_with(|| Block { items, parities, symbols: BTreeMap::new() });
        let len = block.symbols.first_key_value().map_or(symbol.len(), |(_, other)| other.len());
        if (block.items, block.parities, len) != (items, parities, symbol.len()) {
            return false;
        }
        block.symbols.insert(index, symbol);
        // All of the block's items were sent.
        let len = (end.saturating_sub(self.floor)) as usize;
        if len > self.come.len() {
            self.come.resize(len, false);
        }
        self.restore(first);
        let floor = self.floor;
        self.blocks.retain(|first, block| first + u64::from(block.items) > floor);
        while self.blocks.len() as u64 > MOST_BLOCKS {
            self.blocks.pop_first();
        }
        true
    }

    /// Restores what is missing of a block, if there is enough of it.
    fn restore(&mut self, first: u64) {
        let Some(block) = self.blocks.get(&first) else { return };
        let numbers = first..first + u64::from(block.items);
        let missing = numbers.clone().filter(|number| !self.has(*number)).count();
        if missing == 0 {
            self.blocks.remove(&first);
            return;
        }
        if missing > block.symbols.len() {
            return;
        }
        let place = |number: u64| (number - first) as u8;
        let at_hand: Vec<_> =
            self.symbols.range(numbers).map(|(n, symbol)| (place(*n), symbol.clone())).collect();
        let parity: Vec<_> = block.symbols.iter().map(|(index, symbol)| (*index, symbol.clone())).collect();
        let restored = erasure::restore(block.items, block.parities, &at_hand, &parity);
        self.blocks.remove(&first);
        for (place, symbol) in restored.unwrap_or_default() {
            let number = first + u64::from(place);
            let Some(item) = Item::from_symbol(&symbol).filter(|_| !self.has(number)) else { continue };
            if self.on_item(number, item) {
                self.counts.restored += 1;
                self.note(number);
            }
        }
    }

    // Reports.

    /// When the next report is due; `None` if there is nothing to report.
    pub fn next_report(&self) -> Option<Instant> {
        self.report_at.map(|due| due.max(self.line_free_at))
    }
    /// A report is due at once, since something else goes the same way.
    pub fn report_soon(&mut self, now: Instant) {
        if self.latest.is_some() {
            self.report_at = Some(self.report_at.map_or(now, |due| due.min(now)));
        }
    }
    /// The report that is due. `alone` if nothing else has crossed the line since the one before.
    pub fn poll_report(&mut self, now: Instant, alone: bool) -> Option<Report> {
        self.next_report().filter(|due| *due <= now)?;
        let (serial, at) = self.latest?;
        let (count, lost, more) = self.certain(serial);
        self.arrived.drain(..count);
        self.unreported += count as u64;
        self.reported_floor = self.floor;
        self.report_at = more.then_some(now);
        self.counts.reports += 1;
        let age_ms = u16::try_from(now.since(at).as_nanos() / 1_000_000).unwrap_or(u16::MAX);
        let open = serial + 1 - self.unreported;
        let report = Report { serial, age_ms, floor: self.floor, open, count: count as u64, lost };
        if let Some(line) = self.settings.line {
            let bytes = u64::from(self.settings.headers) + Message::Report(report.clone()).wire_len();
            let time = line.transmission_time(Size::from_bytes(bytes));
            let share = if alone { self.settings.share.max(SHARE_ALONE) } else { self.settings.share };
            self.line_free_at = now + time.mul_f64(1.0 / share);
        }
        Some(report)
    }

    /// How many of the serials that were not reported on have certainly come or are certainly lost, those that are lost, and whether
    /// more is certain than fits into a report. `latest` is the highest that has come.
    fn certain(&self, latest: u64) -> (usize, Vec<Stretch>, bool) {
        let overtaken = (latest + 1).saturating_sub(self.settings.reordering);
        let lost_below = overtaken.max(self.quiet_below);
        let mut lost: Vec<Stretch> = vec![];
        let mut count = 0;
        for (serial, come) in (self.unreported..).zip(&self.arrived) {
            let place = count as u64;
            if !come {
                if serial >= lost_below {
                    break;
                }
                let found = lost.len();
                match lost.last_mut() {
                    Some((_, below)) if *below == place => *below = place + 1,
                    _ if found == MOST_LOST => return (count, lost, true),
                    _ => lost.push((place, place + 1)),
                }
            }
            if place == MOST_REPORTED {
                return (count, lost, true);
            }
            count += 1;
        }
        (count, lost, false)
    }
}

impl<D: Data> Stream<D> {
    fn new(limit: u64) -> Self {
        Stream { next: 0, limit, pieces: BTreeMap::new(), reset: None }
    }

    /// A piece at a position of which only the lower half counts. False if it cannot be there.
    fn insert(&mut self, position: u64, piece: Piece<D>) -> bool {
        let Some(position) = expand(position, self.next) else { return false };
        let end = position + piece.len();
        // The end of a stream needs no credit.
        let limit = self.limit + u64::from(matches!(piece, Piece::Close));
        let opens = matches!(piece, Piece::Open(_));
        if position < self.next || end > limit || opens != (position == 0) {
            return false;
        }
        let before = self.pieces.range(..=position).next_back();
        let overlaps = before.is_some_and(|(start, piece)| start + piece.len() > position);
        let after = self.pieces.range(position..).next();
        if overlaps || after.is_some_and(|(start, _)| *start < end) {
            return false;
        }
        self.pieces.insert(position, piece);
        true
    }
}
