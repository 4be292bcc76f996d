//! The QUIC connection of one flow, or of several that share it: what their applications request of streams, and what happens to
//! these, for any world that moves datagrams between the two endpoints.
//!
//! What is a connection of its own to an application (one of a web session's pairs of ends) is a stream here, and closing it is
//! that stream's end. The connection closes when each of its flows has one stream and that is complete.

use crate::endpoint::{ConnectionKey, Endpoint, StreamCounts};
use crate::null::Ticket;
use crate::settings::{Settings, SettingsError};
use crate::trace::TraceRow;
use crate::warnings::Incidents;
use longhaul_cc::Inspection;
use longhaul_tcp::{LimitedTime, Stats};
use longhaul_traffic::Side;
use longhaul_units::{Instant, Random, counters};
use std::collections::BTreeMap;
use std::net::SocketAddr;

mod events;
mod known;
mod streams;

pub use events::Told;
pub use known::{Known, rehearse};
pub use streams::FlowStreams;
use streams::Lane;

/// The server name in a client's handshake.
pub const SERVER_NAME: &str = "server.example";

counters! {
    /// What an end's connections, or a flow's streams, did up to now.
    pub struct Done {
        /// The sender's counters.
        sum pub sender: Stats,
        /// Bytes that the peer's application has received.
        sum pub received: u64,
        /// Times under each limit.
        sum pub limited: LimitedTime,
    }
}

/// One end of the connection.
struct BundleEnd {
    endpoint: Endpoint,
    key: Option<ConnectionKey>,
    lanes: Vec<Lane>,
    /// Connections that are no more.
    past: Done,
    incidents: Incidents,
}

/// A flow on the connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Member {
    /// Streams that its application has at a time.
    pub pairs: usize,
    /// Streams of a higher priority are sent first.
    pub priority: i32,
}

/// The same with its state.
struct Flow {
    /// Its first lane.
    first: usize,
    member: Member,
    /// It has requested something.
    asked: bool,
    /// It was notified that the connection is established.
    told: bool,
    /// Its one stream is complete.
    gone: bool,
    /// Its connection ended before it.
    dead: bool,
    failure: Option<String>,
    /// Streams that are no more, by the end that sent.
    past: [StreamCounts; 2],
    /// What was received on them, by the end that received.
    past_received: [u64; 2],
}

impl Flow {
    /// It has several streams, which come and go.
    fn several(&self) -> bool {
        self.member.pairs > 1
    }

    fn lanes(&self) -> std::ops::Range<usize> {
        self.first..self.first + self.member.pairs
    }
}

/// The connection of one or several flows, with both of its ends.
pub struct Bundle {
    ends: [BundleEnd; 2],
    flows: Vec<Flow>,
    addresses: [SocketAddr; 2],
    ticket: Option<Ticket>,
    /// Early data may be sent.
    early: bool,
    /// Which lane each stream belongs to.
    lane_of: BTreeMap<u64, usize>,
    /// The client is to close the connection.
    closing: bool,
    now: Instant,
}

/// What a world needs of the connection that an end has at present.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Sample {
    /// Congestion window in bytes.
    pub window: u64,
    /// Slow start threshold in bytes; `None` while there is none.
    pub ssthresh: Option<u64>,
    /// Bytes in flight.
    pub in_flight: u64,
    /// Smoothed RTT; `None` before the first sample.
    pub srtt: Option<longhaul_units::Duration>,
}

/// The seed of everything random at an end of a flow's connection.
pub fn seed_of(seed: u64, name: &str, what: &str) -> [u8; 32] {
    let mut random = Random::stream(seed, &format!("{name} quic {what}"));
    let words: [[u8; 8]; 4] = std::array::from_fn(|_| random.bits().to_le_bytes());
    let mut key = [0; 32];
    key.chunks_exact_mut(8).zip(words).for_each(|(part, word)| part.copy_from_slice(&word));
    key
}

impl Bundle {
    /// The connection of these flows. `addresses` are those of client and server.
    ///
    /// # Errors
    /// If there can be no endpoint with these settings.
    pub fn new(
        settings: [Settings; 2],
        seeds: [[u8; 32]; 2],
        base: std::time::Instant,
        addresses: [SocketAddr; 2],
        known: Known,
        members: &[Member],
    ) -> Result<Self, SettingsError> {
        let [client, server] = settings;
        let mut ends = [Endpoint::client(client, seeds[0], base)?, Endpoint::server(server, seeds[1], base)?];
        if members.len() > 1 {
            ends.iter_mut().for_each(Endpoint::count_streams);
        }
        let mut first = 0;
        let mut flows = vec![];
        for member in members {
            flows.push(Flow {
                first,
                member: *member,
                asked: false,
                told: false,
                gone: false,
                dead: false,
                failure: None,
                past: [StreamCounts::default(); 2],
                past_received: [0; 2],
            });
            first += member.pairs;
        }
        Ok(Bundle {
            ends: ends.map(|endpoint| BundleEnd {
                endpoint,
                key: None,
                lanes: (0..first).map(|_| Lane::default()).collect(),
                past: Done::default(),
                incidents: Incidents::default(),
            }),
            flows,
            addresses,
            ticket: known.ticket,
            early: known.early_data,
            lane_of: BTreeMap::new(),
            closing: false,
            now: Instant::ZERO,
        })
    }

    /// It is that late now.
    pub fn set_time(&mut self, now: Instant) {
        self.now = now;
    }

    /// An endpoint.
    pub fn endpoint(&mut self, side: Side) -> &mut Endpoint {
        &mut self.ends[side as usize].endpoint
    }

    /// The address of an end.
    pub fn address(&self, side: Side) -> SocketAddr {
        self.addresses[side as usize]
    }

    /// How many flows there are.
    pub fn len(&self) -> usize {
        self.flows.len()
    }

    /// Never: a connection has at least one flow.
    pub fn is_empty(&self) -> bool {
        self.flows.is_empty()
    }

    fn is_shared(&self) -> bool {
        self.flows.len() > 1
    }

    /// A flow's state, in the words of RFC 9000 section 10.
    pub fn state(&self, flow: usize) -> &'static str {
        let (client, flow) = (&self.ends[0], &self.flows[flow]);
        match client.key {
            _ if flow.dead || (flow.gone && self.is_shared()) => "Closed",
            Some(key) if client.endpoint.is_over(key) => "Closed",
            Some(key) if client.endpoint.is_connected(key) => "Established",
            Some(_) => "Handshake",
            None if flow.asked => "Closed",
            None => "Idle",
        }
    }

    /// Why the last connection of a flow ended, unless it was closed.
    pub fn failure(&self, flow: usize) -> Option<&str> {
        self.flows[flow].failure.as_deref()
    }

    /// Both ends of a flow's only stream are done, or its connection is no more.
    pub fn is_over(&self, flow: usize) -> bool {
        let flow = &self.flows[flow];
        flow.gone || flow.dead
    }

    /// The connection that an end has at present: zeros if there is none.
    pub fn sample(&self, side: Side) -> Sample {
        let end = &self.ends[side as usize];
        let Some(key) = end.key else { return Sample::default() };
        let measured = end.endpoint.measured(key);
        let sampled = measured.filter(|measured| measured.rtt_samples > 0);
        Sample {
            window: end.endpoint.window(key),
            ssthresh: end.endpoint.ssthresh(key),
            in_flight: measured.map_or(0, |measured| measured.in_flight),
            srtt: sampled.map(|measured| measured.srtt),
        }
    }

    /// What goes on inside the congestion control of an end, if it is one of ours.
    pub fn inspect(&self, side: Side, inspection: &mut Inspection) {
        let end = &self.ends[side as usize];
        if let Some(key) = end.key {
            end.endpoint.inspect(key, inspection);
        }
    }

    /// Counters of a flow from the start to now; its data come from `side`. Of several flows, bytes and packets are those of
    /// its streams; RTT, losses and limits are those of their connection.
    pub fn done(&self, now: Instant, flow: usize, side: Side) -> Done {
        let (sender, receiver) = (&self.ends[side as usize], &self.ends[1 - side as usize]);
        let mut done = sender.past;
        done.received = receiver.past.received;
        if let Some(key) = sender.key {
            done.merge(&Done {
                sender: sender.endpoint.stats(key),
                received: 0,
                limited: sender.endpoint.limited_time(now, key),
            });
        }
        if let Some(key) = receiver.key {
            done.received += receiver.endpoint.received_bytes(key);
        }
        if self.is_shared() {
            let counts = self.streams_sent(flow, side);
            done.sender.data_segments_sent = counts.packets;
            done.sender.data_bytes_sent = counts.bytes;
            done.sender.retransmitted_segments = counts.repeated_packets;
            done.sender.retransmitted_bytes = counts.repeated_bytes;
            let lanes = &receiver.lanes[self.flows[flow].lanes()];
            let present: u64 = lanes.iter().map(|lane| lane.received).sum();
            done.received = self.flows[flow].past_received[1 - side as usize] + present;
        }
        done
    }

    fn streams_sent(&self, flow: usize, side: Side) -> StreamCounts {
        let (end, flow) = (&self.ends[side as usize], &self.flows[flow]);
        let mut counts = flow.past[side as usize];
        let streams = end.lanes[flow.lanes()].iter().filter_map(|lane| lane.stream);
        for stream in streams {
            counts
                .merge(&end.key.map_or_else(StreamCounts::default, |key| end.endpoint.sent_on(key, stream)));
        }
        counts
    }

    /// Logs of both ends, and their names: those of `flow` with the end, and a number from the second connection on.
    pub fn take_logs(&mut self, flow: &str) -> Vec<(String, Vec<u8>)> {
        let mut named = vec![];
        for (end, name) in self.ends.iter_mut().zip(["client", "server"]) {
            for (number, log) in end.endpoint.take_logs().into_iter().enumerate() {
                let number = if number == 0 { String::new() } else { format!("-{}", number + 1) };
                named.push((format!("{flow}-{name}{number}.sqlog"), log));
            }
        }
        named
    }

    /// What an end has traced since the last call, with the flow of each row.
    pub fn take_trace(&mut self, side: Side) -> Vec<(usize, TraceRow)> {
        let rows = self.ends[side as usize].endpoint.take_trace();
        let flow = |row: TraceRow| Some((self.flow_of(row.stream)?, row));
        rows.into_iter().filter_map(flow).collect()
    }

    /// Limits of quinn-proto that it has met, at both ends.
    pub fn incidents(&self) -> Incidents {
        let mut all = Incidents::default();
        for end in &self.ends {
            all.merge(&end.incidents);
            all.merge(&end.key.map_or_else(Incidents::default, |key| end.endpoint.incidents(key)));
        }
        all
    }

    /// The flow of a stream of the present connection.
    pub fn flow_of(&self, stream: u64) -> Option<usize> {
        let lane = *self.lane_of.get(&stream)?;
        self.flows.iter().position(|flow| flow.lanes().contains(&lane))
    }

    /// The streams of a flow, as its application has them.
    pub fn streams(&mut self, flow: usize) -> FlowStreams<'_> {
        FlowStreams { bundle: self, flow }
    }

    /// A flow with one stream that was not notified yet that the connection is established.
    pub fn take_connected(&mut self) -> Option<usize> {
        let client = &self.ends[0];
        client.key.filter(|key| client.endpoint.is_connected(*key))?;
        let next = self.flows.iter().position(|flow| flow.asked && !flow.told && !flow.several())?;
        self.flows[next].told = true;
        Some(next)
    }

    /// An end of a flow's stream that has received what its application waits for; it waits for nothing then.
    pub fn take_goal(&mut self, side: Side, flow: usize, pair: usize) -> bool {
        let lane = &mut self.ends[side as usize].lanes[self.flows[flow].first + pair];
        let reached = lane.goal.is_some_and(|goal| lane.received >= goal);
        if reached {
            lane.goal = None;
        }
        reached
    }

    /// Whether both ends of a flow's stream are done. If it is the flow's only one, the flow is over, and with the last flow the
    /// connection closes: true then too, but for flows with several streams only once.
    pub fn take_gone(&mut self, flow: usize, pair: usize) -> bool {
        let lane = self.flows[flow].first + pair;
        if !self.ends.iter().all(|end| end.lanes[lane].stream.is_some() && end.lanes[lane].is_done()) {
            return false;
        }
        if self.flows[flow].several() {
            self.renew(flow, pair);
        } else {
            self.flows[flow].gone = true;
            self.closing = self.flows.iter().all(|flow| flow.gone);
            self.carry_out();
        }
        true
    }

    /// A pair of a flow with several streams that was open when the connection ended.
    pub fn take_broken(&mut self) -> Option<(usize, usize)> {
        for flow in 0..self.flows.len() {
            let Flow { first, member, .. } = self.flows[flow];
            if member.pairs == 1 {
                continue;
            }
            let lanes = &self.ends[0].lanes[first..first + member.pairs];
            if let Some(pair) = lanes.iter().position(|lane| lane.stream.is_some()) {
                self.renew(flow, pair);
                return Some((flow, pair));
            }
        }
        None
    }

    /// A new stream in the place of one that is over.
    fn renew(&mut self, flow: usize, pair: usize) {
        let lane = self.flows[flow].first + pair;
        for (side, end) in self.ends.iter_mut().enumerate() {
            let old = std::mem::take(&mut end.lanes[lane]);
            self.flows[flow].past_received[side] += old.received;
            if let (Some(key), Some(stream)) = (end.key, old.stream) {
                self.flows[flow].past[side].merge(&end.endpoint.sent_on(key, stream));
            }
        }
    }
}
