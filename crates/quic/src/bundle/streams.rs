//! What applications want of streams: orders, which are carried out as soon as there is a connection for them.

use super::{Bundle, BundleEnd, SERVER_NAME};
use crate::endpoint::{ConnectionKey, number};
use longhaul_traffic::{ENDLESS, End, Side, Stream, Streams};
use quinn_proto::StreamId;
use std::collections::VecDeque;

/// The operations of an application on a stream.
#[derive(Clone, Copy)]
pub(super) enum Order {
    Write(u64),
    Close,
    Abort,
}

/// One end of a stream.
#[derive(Default)]
pub(super) struct Lane {
    pub stream: Option<StreamId>,
    pub orders: VecDeque<Order>,
    pub received: u64,
    /// Received bytes at which the application is notified.
    pub goal: Option<u64>,
    /// Nothing more is written.
    pub closed: bool,
    /// All that was written is acknowledged, and the end too.
    pub acknowledged: bool,
    /// The peer's end was read, or the peer has given up.
    pub complete: bool,
}

impl Lane {
    pub fn is_done(&self) -> bool {
        self.acknowledged && self.complete
    }
}

impl Stream for Lane {
    fn write(&mut self, bytes: u64) {
        self.orders.push_back(Order::Write(bytes));
    }
    fn close(&mut self) {
        self.orders.push_back(Order::Close);
    }
    fn abort(&mut self) {
        self.orders.push_back(Order::Abort);
    }
    fn received(&self) -> u64 {
        self.received
    }
}

impl Bundle {
    /// Which ends have something to do for their applications.
    pub fn waiting(&self) -> [bool; 2] {
        let waits = |end: &BundleEnd| end.lanes.iter().any(|lane| !lane.orders.is_empty());
        [waits(&self.ends[0]), waits(&self.ends[1])]
    }

    /// The client's connection, if it has one.
    pub fn client_connection(&self) -> Option<ConnectionKey> {
        self.ends[0].key
    }

    /// Carries out the pending operations of both ends, as far as there is a connection for them.
    pub fn carry_out(&mut self) {
        for side in [Side::Client, Side::Server] {
            for flow in 0..self.flows.len() {
                for lane in self.flows[flow].lanes() {
                    if !self.ends[side as usize].lanes[lane].orders.is_empty() {
                        self.flows[flow].asked = true;
                        self.carry_out_on(side, flow, lane);
                    }
                }
            }
        }
        if std::mem::take(&mut self.closing) {
            if let Some(key) = self.ends[0].key {
                self.ends[0].endpoint.close(self.now, key, 0);
            }
        }
    }

    /// The client's connection, which is opened if there is none.
    fn connection(&mut self, flow: usize) -> Option<ConnectionKey> {
        let client = &mut self.ends[0];
        if client.key.is_none() && !self.flows[flow].dead {
            let (server, ticket) = (self.addresses[1], self.ticket.clone());
            // The address is one of a server, and there is a connection ID: there is no other connection.
            client.key = client.endpoint.connect(self.now, server, SERVER_NAME, ticket).ok();
        }
        client.key
    }

    fn carry_out_on(&mut self, side: Side, flow: usize, lane: usize) {
        let key = if side == Side::Client { self.connection(flow) } else { self.ends[1].key };
        let alone = !self.is_shared() && !self.flows[flow].several();
        let priority = self.flows[flow].member.priority;
        let number_of = lane;
        let BundleEnd { endpoint, lanes, .. } = &mut self.ends[side as usize];
        let lane = &mut lanes[lane];
        let Some(key) = key else { return };
        while let Some(order) = lane.orders.front().copied() {
            if matches!(order, Order::Abort) && alone {
                endpoint.close(self.now, key, 1);
                lane.orders.clear();
                return;
            }
            if lane.stream.is_none() && side == Side::Client && (self.early || endpoint.is_connected(key)) {
                lane.stream = endpoint.open(key);
                if let Some(stream) = lane.stream {
                    self.lane_of.insert(number(stream), number_of);
                    endpoint.set_priority(key, stream, priority);
                }
            }
            // A server writes on its client's streams.
            let Some(stream) = lane.stream else { return };
            match order {
                Order::Write(bytes) => {
                    endpoint.write(key, stream, if bytes == ENDLESS { u64::MAX } else { bytes });
                }
                Order::Close if lane.closed => {}
                Order::Close => {
                    endpoint.finish(key, stream);
                    lane.closed = true;
                }
                Order::Abort => {
                    endpoint.reset(key, stream, 1);
                    endpoint.stop(key, stream, 1);
                    (lane.closed, lane.acknowledged, lane.complete) = (true, true, true);
                }
            }
            lane.orders.pop_front();
        }
    }
}

/// The streams of a flow.
pub struct FlowStreams<'a> {
    pub(super) bundle: &'a mut Bundle,
    pub(super) flow: usize,
}

impl FlowStreams<'_> {
    fn lane(&self, end: End) -> usize {
        self.bundle.flows[self.flow].first + end.pair
    }
}

impl Streams for FlowStreams<'_> {
    fn end(&mut self, end: End) -> &mut dyn Stream {
        let lane = self.lane(end);
        &mut self.bundle.ends[end.side as usize].lanes[lane]
    }
    fn look(&self, end: End) -> &dyn Stream {
        &self.bundle.ends[end.side as usize].lanes[self.lane(end)]
    }
    fn want(&mut self, end: End, total: u64) {
        let lane = self.lane(end);
        self.bundle.ends[end.side as usize].lanes[lane].goal = Some(total).filter(|total| *total != u64::MAX);
    }
    fn open(&mut self, pair: usize) {
        self.bundle.renew(self.flow, pair);
    }
}
