//! What a sender does on its streams, piece by piece: the trace of a TCP connection, with offsets of streams in the place of sequence
//! numbers. An ACK of QUIC is for packets (RFC 9000 section 13.2), so a trace remembers what was in each.

use crate::frames::{self, Frame};
use crate::observe::{Kind, Packet};
use crate::order::Order;
use crate::settings::Settings;
use longhaul_units::Instant;
use std::collections::BTreeMap;

/// The kind of a row of a trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TraceKind {
    /// New data were sent.
    Sent,
    /// Data were sent that had been sent before.
    Again,
    /// All below `start` is acknowledged; the peer takes data below `end`.
    Acknowledged,
    /// A piece above that was acknowledged.
    Piece,
}

/// A row of a trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TraceRow {
    /// When.
    pub time: Instant,
    /// The stream's number.
    pub stream: u64,
    /// What.
    pub kind: TraceKind,
    /// First offset in the stream, in bytes.
    pub start: u64,
    /// The offset after the last.
    pub end: u64,
}

/// A stream at its sender.
#[derive(Debug, Default)]
struct Lane {
    sent: u64,
    acked: Order,
    /// The peer takes data below this offset.
    limit: u64,
}

/// Traces one end of a connection.
pub(crate) struct Tracer {
    rows: Vec<TraceRow>,
    /// Packets that are not acknowledged: stream, offset and length of what is in them.
    packets: BTreeMap<u64, Vec<(u64, u64, u64)>>,
    lanes: BTreeMap<u64, Lane>,
    stream_window: u64,
    connection_limit: u64,
}

impl Tracer {
    /// Windows are those that the peer has too.
    pub fn new(settings: &Settings) -> Self {
        Tracer {
            rows: vec![],
            packets: BTreeMap::new(),
            lanes: BTreeMap::new(),
            stream_window: settings.stream_window,
            connection_limit: settings.connection_window.unwrap_or(u64::MAX),
        }
    }

    /// What was traced since the last call.
    pub fn take(&mut self) -> Vec<TraceRow> {
        std::mem::take(&mut self.rows)
    }

    fn lane(&mut self, stream: u64) -> &mut Lane {
        let limit = self.stream_window;
        self.lanes.entry(stream).or_insert_with(|| Lane { limit, ..Lane::default() })
    }

    fn add(&mut self, time: Instant, stream: u64, kind: TraceKind, start: u64, end: u64) {
        if start < end || kind == TraceKind::Acknowledged {
            self.rows.push(TraceRow { time, stream, kind, start, end });
        }
    }

    /// A packet has left.
    pub fn sent(&mut self, now: Instant, packet: &Packet, payload: &[u8]) {
        // Early data are of the same packet number space (RFC 9000 section 12.3).
        if !matches!(packet.kind, Kind::OneRtt | Kind::ZeroRtt) {
            return;
        }
        frames::each(payload, |frame| {
            let Frame::Stream { stream, offset, length, .. } = frame else { return };
            let end = offset + length;
            let before = std::mem::replace(&mut self.lane(stream).sent, 0);
            self.lane(stream).sent = before.max(end);
            self.add(now, stream, TraceKind::Again, offset, end.min(before));
            self.add(now, stream, TraceKind::Sent, offset.max(before), end);
            self.packets.entry(packet.number).or_default().push((stream, offset, length));
        });
    }

    /// A packet has come.
    pub fn received(&mut self, now: Instant, packet: &Packet, payload: &[u8]) {
        if packet.kind != Kind::OneRtt {
            return;
        }
        let mut acked = vec![];
        let mut touched = vec![];
        frames::each(payload, |frame| match frame {
            Frame::Ack(ack) => ack.ranges(|first, last| {
                while let Some((number, _)) = self.packets.range(first..=last).next() {
                    let number = *number;
                    acked.extend(self.packets.remove(&number).into_iter().flatten());
                }
            }),
            Frame::MaxData(limit) => {
                self.connection_limit = self.connection_limit.max(limit);
                touched.extend(self.lanes.keys().copied());
            }
            Frame::MaxStreamData { stream, limit } => {
                let lane = self.lane(stream);
                lane.limit = lane.limit.max(limit);
                touched.push(stream);
            }
            _ => {}
        });
        for (stream, offset, length) in &acked {
            self.lane(*stream).acked.take(*offset, *length);
            touched.push(*stream);
        }
        touched.sort_unstable();
        touched.dedup();
        for stream in touched {
            let (next, edge) = (self.lane(stream).acked.next, self.edge(stream));
            self.add(now, stream, TraceKind::Acknowledged, next, edge);
        }
        for (stream, offset, length) in acked {
            let next = self.lane(stream).acked.next;
            if offset >= next {
                self.add(now, stream, TraceKind::Piece, offset, offset + length);
            }
        }
    }

    /// The offset up to which the peer takes data, by the windows of stream and connection (RFC 9000 section 4.1).
    fn edge(&self, stream: u64) -> u64 {
        let others: u64 = self.lanes.iter().filter(|lane| *lane.0 != stream).map(|lane| lane.1.sent).sum();
        let limit = self.lanes.get(&stream).map_or(0, |lane| lane.limit);
        limit.min(self.connection_limit.saturating_sub(others))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A packet with one STREAM frame: stream 4, offset and length in two bytes each.
    fn stream(offset: u16, length: u16) -> Vec<u8> {
        let number = |value: u16| (0x4000 | value).to_be_bytes();
        let mut frame = vec![0x0e, 4];
        frame.extend(number(offset));
        frame.extend(number(length));
        frame.resize(frame.len() + usize::from(length), 0);
        frame
    }

    /// Three packets, of which the second is lost and sent again in the fourth: what TCP's trace would show.
    #[test]
    fn a_loss_is_traced_as_tcps() {
        let settings = Settings { stream_window: 1000, ..Settings::default() };
        let mut tracer = Tracer::new(&settings);
        let at = Instant::from_nanos;
        for (number, offset) in [(0, 0), (1, 100), (2, 200), (3, 100)] {
            tracer.sent(at(number), &Packet::of(Kind::OneRtt, number), &stream(offset, 100));
        }
        // ACKs: packet 0; then 2 and 0; then 3, 2 and 0. MAX_STREAM_DATA 1200 comes with the last.
        let acks: [&[u8]; 3] =
            [&[2, 0, 0, 0, 0], &[2, 2, 0, 1, 0, 0, 0], &[2, 3, 0, 1, 1, 0, 0, 0x11, 4, 0x44, 0xb0]];
        for (number, frames) in (10..).zip(acks) {
            tracer.received(at(number), &Packet::of(Kind::OneRtt, number), frames);
        }
        let rows: Vec<_> =
            tracer.take().iter().map(|row| (row.time.as_nanos(), row.kind, row.start, row.end)).collect();
        use TraceKind::{Acknowledged, Again, Piece, Sent};
        let expected = [
            (0, Sent, 0, 100),
            (1, Sent, 100, 200),
            (2, Sent, 200, 300),
            (3, Again, 100, 200),
            (10, Acknowledged, 100, 1000),
            (11, Acknowledged, 100, 1000),
            (11, Piece, 200, 300),
            (12, Acknowledged, 300, 1200),
        ];
        assert_eq!(rows, expected);
        // The lost one is never acknowledged.
        assert_eq!(tracer.packets.keys().collect::<Vec<_>>(), [&1]);
    }
}
