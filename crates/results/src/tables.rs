//! The time series: rows as worlds record them, and columns as files have them.

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

/// A number inside a flow's congestion control at a sampling time.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct CcRow {
    /// Time in seconds.
    pub time_s: f64,
    /// Number of the flow.
    pub flow: u32,
    /// What, as the policy's source calls it.
    pub name: &'static str,
    /// Its unit; empty for a ratio or the number of a state.
    pub unit: &'static str,
    /// Its value.
    pub value: f64,
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

/// One segment at the sender of the data. Sequence numbers count from 0 and do not wrap.
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
    /// The inside of congestion control.
    pub cc: Vec<CcRow>,
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

/// The values of a column, one a row.
#[derive(Clone, PartialEq, Debug)]
pub enum Values {
    /// Numbers.
    F64(Vec<f64>),
    /// Numbers, some of which are missing.
    Optional(Vec<Option<f64>>),
    /// Small numbers.
    U8(Vec<u8>),
    /// Counts and positions.
    U32(Vec<u32>),
    /// Bytes and large counts.
    U64(Vec<u64>),
    /// Positions, -1 for none.
    I32(Vec<i32>),
    /// Words.
    Text(Vec<&'static str>),
}

/// A time series as named columns of one length: the form in which a world's library for Parquet takes it.
#[derive(Clone, PartialEq, Debug)]
pub struct Table {
    /// Its name, and that of its file without `.parquet`.
    pub name: &'static str,
    /// Its columns in their order.
    pub columns: Vec<(&'static str, Values)>,
}

macro_rules! table {
    ($name:literal, $rows:expr, { $($column:ident: $kind:ident),* $(,)? }) => {
        Table {
            name: $name,
            columns: vec![$((
                stringify!($column),
                Values::$kind($rows.iter().map(|row| row.$column).collect()),
            )),*],
        }
    };
}

impl Tables {
    /// The tables that a result directory has: flows, links and events always, the others if they have rows.
    pub fn present(&self) -> Vec<Table> {
        let mut tables = vec![self.flows_table(), self.links_table(), self.events_table()];
        let others = [
            self.cc_table(),
            self.monitors_table(),
            self.middleboxes_table(),
            self.long_hops_table(),
            self.segments_table(),
        ];
        tables.extend(others.into_iter().filter(|table| table.rows() > 0));
        tables
    }

    fn flows_table(&self) -> Table {
        table!("flows", self.flows, {
            time_s: F64, flow: U32, cwnd_bytes: F64, ssthresh_bytes: Optional, flight_bytes: F64, srtt_s: Optional,
            rto_s: F64, peer_window_bytes: F64, throughput_bps: F64, goodput_bps: F64, retransmits: U32,
        })
    }

    fn links_table(&self) -> Table {
        table!("links", self.links, {
            time_s: F64, link: U32, queue_packets: U32, queue_bytes: U64, queue_max_packets: U32,
            queue_average_packets: Optional, utilisation: F64, throughput_bps: F64, arrivals: U32, drops_queue: U32,
            drops_loss: U32, marks: U32,
        })
    }

    fn cc_table(&self) -> Table {
        table!("cc", self.cc, { time_s: F64, flow: U32, name: Text, unit: Text, value: F64 })
    }

    fn monitors_table(&self) -> Table {
        table!("monitors", self.monitors, {
            time_s: F64, link: U32, flow: U32, offered_packets: U32, offered_bytes: U64, dropped_packets: U32,
            dropped_bytes: U64,
        })
    }

    fn middleboxes_table(&self) -> Table {
        table!("middleboxes", self.middleboxes, {
            time_s: F64, middlebox: U32, buffer_packets: Optional, buffer_bytes: U64, undelivered_bytes: U64,
        })
    }

    fn long_hops_table(&self) -> Table {
        table!("long_hops", self.long_hops, {
            time_s: F64, middlebox: U32, connection: U32, port: U32, cwnd_bytes: F64, ssthresh_bytes: Optional,
            flight_bytes: F64, unsent_bytes: F64, srtt_s: Optional, throughput_bps: F64, retransmits: U32,
        })
    }

    fn events_table(&self) -> Table {
        table!("events", self.events, { time_s: F64, kind: Text, flow: I32, link: I32, value: F64 })
    }

    /// `kind`: 0 data, 1 retransmission, 2 acknowledgment, 3 SACK block.
    fn segments_table(&self) -> Table {
        struct Row {
            time_s: f64,
            flow: u32,
            kind: u8,
            start: u64,
            end: u64,
        }
        let row = |row: &SegmentRow| Row {
            time_s: row.time_ns as f64 / 1e9,
            flow: row.flow,
            kind: row.kind as u8,
            start: row.start,
            end: row.end,
        };
        let rows: Vec<Row> = self.segments.iter().map(row).collect();
        table!("segments", rows, { time_s: F64, flow: U32, kind: U8, start: U64, end: U64 })
    }
}

impl Table {
    /// Number of rows.
    pub fn rows(&self) -> usize {
        match self.columns.first().map(|(_, values)| values) {
            None => 0,
            Some(Values::F64(values)) => values.len(),
            Some(Values::Optional(values)) => values.len(),
            Some(Values::U8(values)) => values.len(),
            Some(Values::U32(values)) => values.len(),
            Some(Values::U64(values)) => values.len(),
            Some(Values::I32(values)) => values.len(),
            Some(Values::Text(values)) => values.len(),
        }
    }
}
