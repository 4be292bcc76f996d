//! The time series as columns, and their Parquet files.

use arrow_array::{
    ArrayRef, Float64Array, Int32Array, RecordBatch, StringArray, UInt8Array, UInt32Array, UInt64Array,
};
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use std::io::Write;
use std::sync::Arc;

/// State of one flow at a sampling time; rates and counts are over the interval before it.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct FlowRow {
    /// Time in seconds.
    pub time_s: f64,
    /// Number of the flow.
    pub flow: u32,
    /// Congestion window in bytes.
    pub cwnd_bytes: f64,
    /// Slow start threshold in bytes; `None` while there is none.
    pub ssthresh_bytes: Option<f64>,
    /// Bytes sent and not acknowledged.
    pub flight_bytes: f64,
    /// Smoothed round trip time in seconds; `None` before the first sample.
    pub srtt_s: Option<f64>,
    /// Retransmission timeout in seconds.
    pub rto_s: f64,
    /// Window offered by the receiver, in bytes.
    pub peer_window_bytes: f64,
    /// Payload sent, in bit/s.
    pub throughput_bps: f64,
    /// Payload delivered in order, in bit/s.
    pub goodput_bps: f64,
    /// Segments sent again.
    pub retransmits: u32,
}

/// State of one direction of a link at a sampling time; rates and counts are over the interval before it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct LinkRow {
    /// Time in seconds.
    pub time_s: f64,
    /// Position in the summary's list of links.
    pub link: u32,
    /// Packets in the queue, the one in transmission included.
    pub queue_packets: u32,
    /// Bytes in the queue.
    pub queue_bytes: u64,
    /// Most packets in the queue.
    pub queue_max_packets: u32,
    /// The average that the discipline goes by (RED), in packets, as of the last arrival; `None` if it goes by none.
    pub queue_average_packets: Option<f64>,
    /// Share of the capacity that was used.
    pub utilisation: f64,
    /// Bits transmitted, in bit/s.
    pub throughput_bps: f64,
    /// Packets offered.
    pub arrivals: u32,
    /// Packets dropped by the queue.
    pub drops_queue: u32,
    /// Packets lost on the link.
    pub drops_loss: u32,
    /// Packets marked.
    pub marks: u32,
}

/// What a flow offered to a monitored link in the interval before a sampling time.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct MonitorRow {
    /// Time in seconds.
    pub time_s: f64,
    /// Position in the summary's list of links.
    pub link: u32,
    /// Number of the flow.
    pub flow: u32,
    /// Packets that arrived at the queue.
    pub offered_packets: u32,
    /// Their bytes, headers included.
    pub offered_bytes: u64,
    /// Packets that the queue dropped.
    pub dropped_packets: u32,
    /// Their bytes.
    pub dropped_bytes: u64,
}

/// What a middlebox holds at a sampling time.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct MiddleboxRow {
    /// Time in seconds.
    pub time_s: f64,
    /// Position in the summary's list of middleboxes.
    pub middlebox: u32,
    /// Data packets in its buffer; `None` where it holds no packets.
    pub buffer_packets: Option<f64>,
    /// Payload bytes in its buffer.
    pub buffer_bytes: u64,
    /// Payload bytes acknowledged to their senders and not by their receivers.
    pub undelivered_bytes: u64,
}

/// State of one end of a connection over a long hop at a sampling time; rates and counts are over the interval before it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct LongHopRow {
    /// Time in seconds.
    pub time_s: f64,
    /// Position in the summary's list of middleboxes.
    pub middlebox: u32,
    /// Which of its connections, from 0.
    pub connection: u32,
    /// The node that sends: 0 for the middlebox's first, 1 for its second.
    pub port: u32,
    /// Congestion window in bytes.
    pub cwnd_bytes: f64,
    /// Slow start threshold in bytes; `None` while there is none.
    pub ssthresh_bytes: Option<f64>,
    /// Bytes sent and not acknowledged.
    pub flight_bytes: f64,
    /// Bytes that wait to be sent.
    pub unsent_bytes: f64,
    /// Smoothed round trip time in seconds; `None` before the first sample.
    pub srtt_s: Option<f64>,
    /// Payload sent, in bit/s.
    pub throughput_bps: f64,
    /// Segments sent again.
    pub retransmits: u32,
}

/// Something that happened.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct EventRow {
    /// Time in seconds.
    pub time_s: f64,
    /// What.
    pub kind: &'static str,
    /// Number of the flow, -1 for none.
    pub flow: i32,
    /// Position in the summary's list of links, -1 for none.
    pub link: i32,
    /// A number that goes with it; its meaning depends on the kind.
    pub value: f64,
}

/// Kinds of rows of a segment trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum SegmentKind {
    /// New data sent.
    Data = 0,
    /// Data sent again.
    Retransmission = 1,
    /// An acknowledgment received: `start` is its number, `end` the right edge of the window.
    Ack = 2,
    /// A SACK block received.
    Sack = 3,
}

/// One segment as the data's sender saw it. Sequence numbers count from 0 and do not wrap.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SegmentRow {
    /// Time in nanoseconds.
    pub time_ns: u64,
    /// Number of the flow.
    pub flow: u32,
    /// What it was.
    pub kind: SegmentKind,
    /// First sequence number.
    pub start: u64,
    /// Sequence number after the last.
    pub end: u64,
}

/// All time series of a run.
#[derive(Clone, Debug, Default)]
pub struct Tables {
    /// Flows.
    pub flows: Vec<FlowRow>,
    /// Links.
    pub links: Vec<LinkRow>,
    /// Flows at monitored links.
    pub monitors: Vec<MonitorRow>,
    /// Middleboxes.
    pub middleboxes: Vec<MiddleboxRow>,
    /// Connections over long hops.
    pub long_hops: Vec<LongHopRow>,
    /// Events.
    pub events: Vec<EventRow>,
    /// Traced segments.
    pub segments: Vec<SegmentRow>,
}

type Column = (&'static str, ArrayRef);

macro_rules! column {
    ($rows:expr, $array:ident, $name:ident) => {
        (stringify!($name), Arc::new($array::from_iter_values($rows.iter().map(|row| row.$name))) as ArrayRef)
    };
    ($rows:expr, optional $name:ident) => {
        (stringify!($name), Arc::new(Float64Array::from_iter($rows.iter().map(|row| row.$name))) as ArrayRef)
    };
}

impl Tables {
    /// Writes `flows.parquet`.
    pub fn write_flows(&self, to: impl Write + Send) -> Result<(), ParquetError> {
        let rows = &self.flows;
        write(
            to,
            vec![
                column!(rows, Float64Array, time_s),
                column!(rows, UInt32Array, flow),
                column!(rows, Float64Array, cwnd_bytes),
                column!(rows, optional ssthresh_bytes),
                column!(rows, Float64Array, flight_bytes),
                column!(rows, optional srtt_s),
                column!(rows, Float64Array, rto_s),
                column!(rows, Float64Array, peer_window_bytes),
                column!(rows, Float64Array, throughput_bps),
                column!(rows, Float64Array, goodput_bps),
                column!(rows, UInt32Array, retransmits),
            ],
        )
    }

    /// Writes `links.parquet`.
    pub fn write_links(&self, to: impl Write + Send) -> Result<(), ParquetError> {
        let rows = &self.links;
        write(
            to,
            vec![
                column!(rows, Float64Array, time_s),
                column!(rows, UInt32Array, link),
                column!(rows, UInt32Array, queue_packets),
                column!(rows, UInt64Array, queue_bytes),
                column!(rows, UInt32Array, queue_max_packets),
                column!(rows, optional queue_average_packets),
                column!(rows, Float64Array, utilisation),
                column!(rows, Float64Array, throughput_bps),
                column!(rows, UInt32Array, arrivals),
                column!(rows, UInt32Array, drops_queue),
                column!(rows, UInt32Array, drops_loss),
                column!(rows, UInt32Array, marks),
            ],
        )
    }

    /// Writes `monitors.parquet`.
    pub fn write_monitors(&self, to: impl Write + Send) -> Result<(), ParquetError> {
        let rows = &self.monitors;
        write(
            to,
            vec![
                column!(rows, Float64Array, time_s),
                column!(rows, UInt32Array, link),
                column!(rows, UInt32Array, flow),
                column!(rows, UInt32Array, offered_packets),
                column!(rows, UInt64Array, offered_bytes),
                column!(rows, UInt32Array, dropped_packets),
                column!(rows, UInt64Array, dropped_bytes),
            ],
        )
    }

    /// Writes `middleboxes.parquet`.
    pub fn write_middleboxes(&self, to: impl Write + Send) -> Result<(), ParquetError> {
        let rows = &self.middleboxes;
        write(
            to,
            vec![
                column!(rows, Float64Array, time_s),
                column!(rows, UInt32Array, middlebox),
                column!(rows, optional buffer_packets),
                column!(rows, UInt64Array, buffer_bytes),
                column!(rows, UInt64Array, undelivered_bytes),
            ],
        )
    }

    /// Writes `long_hops.parquet`.
    pub fn write_long_hops(&self, to: impl Write + Send) -> Result<(), ParquetError> {
        let rows = &self.long_hops;
        write(
            to,
            vec![
                column!(rows, Float64Array, time_s),
                column!(rows, UInt32Array, middlebox),
                column!(rows, UInt32Array, connection),
                column!(rows, UInt32Array, port),
                column!(rows, Float64Array, cwnd_bytes),
                column!(rows, optional ssthresh_bytes),
                column!(rows, Float64Array, flight_bytes),
                column!(rows, Float64Array, unsent_bytes),
                column!(rows, optional srtt_s),
                column!(rows, Float64Array, throughput_bps),
                column!(rows, UInt32Array, retransmits),
            ],
        )
    }

    /// Writes `events.parquet`.
    pub fn write_events(&self, to: impl Write + Send) -> Result<(), ParquetError> {
        let rows = &self.events;
        write(
            to,
            vec![
                column!(rows, Float64Array, time_s),
                column!(rows, StringArray, kind),
                column!(rows, Int32Array, flow),
                column!(rows, Int32Array, link),
                column!(rows, Float64Array, value),
            ],
        )
    }

    /// Writes `segments.parquet`. `kind`: 0 data, 1 retransmission, 2 acknowledgment, 3 SACK block.
    pub fn write_segments(&self, to: impl Write + Send) -> Result<(), ParquetError> {
        let rows = &self.segments;
        let time = Float64Array::from_iter_values(rows.iter().map(|row| row.time_ns as f64 / 1e9));
        let kind = UInt8Array::from_iter_values(rows.iter().map(|row| row.kind as u8));
        write(
            to,
            vec![
                ("time_s", Arc::new(time) as ArrayRef),
                column!(rows, UInt32Array, flow),
                ("kind", Arc::new(kind)),
                column!(rows, UInt64Array, start),
                column!(rows, UInt64Array, end),
            ],
        )
    }
}

fn write(to: impl Write + Send, columns: Vec<Column>) -> Result<(), ParquetError> {
    let batch = RecordBatch::try_from_iter(columns)?;
    let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
    let mut writer = ArrowWriter::try_new(to, batch.schema(), Some(properties))?;
    writer.write(&batch)?;
    writer.close()?;
    Ok(())
}
