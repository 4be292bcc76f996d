//! A node's end of a connection over the long hop: records go in and come out.

use super::record::{Framing, HEADER, HELLO, Record, RecordKind};
use crate::{Carrier, Data, Payload};
use longhaul_tcp::{Connection, Event, Reading};
use longhaul_units::{ConnectionId, Instant};
use std::collections::VecDeque;

/// A connection of this node, as one whose turn has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Owner {
    /// Over the long hop.
    Long(usize),
    /// To a host, by the number of the flow.
    Local(ConnectionId),
}

/// A record that has come, or of which the header has.
#[derive(Clone, Debug)]
struct Coming {
    record: Record,
    /// Bytes that it takes in the stream.
    room: u64,
    /// What belongs to it, if that takes no room.
    field: Vec<u8>,
}

/// What has come is no stream of records, or of another version.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Malformed;

pub(super) struct LongEnd<P: Payload> {
    pub connection: Carrier<P>,
    framing: Framing,
    /// Flows that wait to send over it, in turn.
    pub ready: VecDeque<ConnectionId>,
    /// The next record that has arrived cannot be taken, since its host is slow.
    pub blocked: bool,
    pub dirty: bool,
    /// It has ended before its time.
    pub broken: bool,
    /// What goes into the field of what is written next.
    field: Vec<u8>,
    has_greeted: bool,
    was_greeted: bool,
    /// Bytes of the stream that were taken.
    taken: u64,
    coming: VecDeque<Coming>,
}

impl<P: Payload> LongEnd<P> {
    pub fn new(connection: Connection, framing: Framing) -> Self {
        LongEnd {
            connection: Carrier::new(connection),
            framing: if P::Data::HAS_FIELDS { framing } else { Framing::Header },
            ready: VecDeque::new(),
            blocked: false,
            dirty: false,
            broken: false,
            field: vec![],
            has_greeted: false,
            was_greeted: false,
            taken: 0,
            coming: VecDeque::new(),
        }
    }

    /// Takes note of what has happened; true if it has just broken.
    pub fn take_events(&mut self) -> bool {
        let mut broke = false;
        while let Some(event) = self.connection.poll_event() {
            broke |= matches!(event, Event::Reset | Event::TimedOut | Event::StartFailed) && !self.broken;
        }
        self.broken |= broke;
        broke
    }

    /// What belongs to a record takes no room but for data and, in all kinds but data, the header: with fields.
    fn is_field(&self, kind: RecordKind) -> bool {
        self.framing == Framing::Field && kind != RecordKind::Data
    }

    fn greet(&mut self) {
        if !std::mem::replace(&mut self.has_greeted, true) {
            let hello = Record { stream: HELLO, kind: RecordKind::Hello, len: 0 };
            match self.framing {
                Framing::Header => self.connection.write(&P::Data::of(HEADER, &hello.encode())),
                Framing::Field => self.field.extend(hello.encode()),
            }
        }
    }

    /// Writes a record that has no data.
    pub fn write(&mut self, stream: u32, kind: RecordKind, content: &[u8]) {
        self.greet();
        let record = Record { stream, kind, len: content.len() as u32 };
        let bytes = [&record.encode(), content].concat();
        let written = if self.is_field(kind) {
            self.field.extend(bytes);
            P::Data::of(HEADER, &record.encode()).with_field(std::mem::take(&mut self.field))
        } else {
            P::Data::of(bytes.len() as u32, &bytes)
        };
        self.connection.write(&written);
    }

    /// Says something that takes no room, if that is possible, since more follows at once.
    pub fn announce(&mut self, stream: u32, kind: RecordKind, content: &[u8]) {
        if self.framing == Framing::Header {
            return self.write(stream, kind, content);
        }
        self.greet();
        let record = Record { stream, kind, len: content.len() as u32 };
        self.field.extend(record.encode());
        self.field.extend(content);
    }

    /// Writes data, at least one byte.
    pub fn write_data(&mut self, stream: u32, data: P::Data) {
        self.greet();
        let header = Record { stream, kind: RecordKind::Data, len: data.len() }.encode();
        if self.framing == Framing::Header {
            self.connection.write(&P::Data::of(HEADER, &header));
            return self.connection.write(&data);
        }
        self.field.extend(header);
        let data = data.with_field(std::mem::take(&mut self.field));
        self.connection.write(&data);
    }

    /// Bytes that have come and were not taken.
    fn untaken(&self) -> u64 {
        self.connection.received_bytes() - self.taken
    }

    /// The next record, once all of it has come.
    pub fn next(&mut self) -> Result<Option<Record>, Malformed> {
        while self
            .coming
            .front()
            .is_some_and(|coming| coming.record.kind == RecordKind::Hello && coming.room == 0)
        {
            self.coming.pop_front();
        }
        if self.coming.is_empty() {
            match self.framing {
                Framing::Header => self.read_header()?,
                Framing::Field => self.read_field()?,
            }
        }
        let untaken = self.untaken();
        Ok(self.coming.front().filter(|coming| coming.room <= untaken).map(|coming| coming.record))
    }

    fn read_header(&mut self) -> Result<(), Malformed> {
        if self.untaken() < u64::from(HEADER) {
            return Ok(());
        }
        let header = self.connection.peek(u64::from(HEADER)).to_bytes();
        let record = header.first_chunk().and_then(|header| Record::decode(*header)).ok_or(Malformed)?;
        self.check(&record)?;
        let room = u64::from(HEADER) + u64::from(record.len);
        self.coming.push_back(Coming { record, room, field: vec![] });
        Ok(())
    }

    /// A field counts all that comes up to the next: of its records the last takes room.
    fn read_field(&mut self) -> Result<(), Malformed> {
        if self.untaken() == 0 {
            return Ok(());
        }
        let field = self.connection.peek(1).field().to_vec();
        let mut rest = &field[..];
        while let Some((header, behind)) = rest.split_first_chunk() {
            let record = Record::decode(*header).ok_or(Malformed)?;
            self.check(&record)?;
            let is_data = record.kind == RecordKind::Data;
            let (content, next) =
                behind.split_at_checked(if is_data { 0 } else { record.len as usize }).ok_or(Malformed)?;
            self.coming.push_back(Coming { record, room: 0, field: content.to_vec() });
            rest = next;
        }
        let last = self.coming.back_mut().ok_or(Malformed)?;
        let len = if last.record.kind == RecordKind::Data { last.record.len } else { HEADER };
        last.room = u64::from(len);
        Ok(())
    }

    /// A stream begins with a hello of this version, and has no other.
    fn check(&mut self, record: &Record) -> Result<(), Malformed> {
        let greets = record.kind == RecordKind::Hello && record.stream == HELLO && record.len == 0;
        let first = !std::mem::replace(&mut self.was_greeted, true);
        if greets == first { Ok(()) } else { Err(Malformed) }
    }

    /// Takes the record that [`LongEnd::next`] has given; what belongs to it.
    pub fn take(&mut self, now: Instant) -> P::Data {
        let Some(Coming { record, room, field }) = self.coming.pop_front() else {
            return P::Data::of(0, &[]);
        };
        if room == 0 {
            return P::Data::of(record.len, &field);
        }
        self.taken += room;
        let whole = match self.connection.config().reading {
            Reading::Manual => self.connection.read(now, room),
            Reading::Immediate | Reading::Rate(_) => self.connection.take(room),
        };
        if self.is_field(record.kind) {
            return P::Data::of(record.len, &field);
        }
        whole.without(self.framing.header_len(record.kind))
    }
}
