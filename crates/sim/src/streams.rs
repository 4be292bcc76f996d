//! The connections of flows as their applications have them: calls into applications, and what they do to endpoints.

use crate::endpoint::{self, Endpoint};
use crate::reused::{NO_GOAL, Reused};
use crate::world::World;
use longhaul_scenario::TcpSpec;
use longhaul_segment::SeqNumber;
use longhaul_tcp::{Event, Ports, State};
use longhaul_traffic::{App, ENDLESS, End, Side, Stream, Streams};
use longhaul_units::{ConnectionId, EndpointId, FlowId, Id, IdVec};

impl Stream for Endpoint {
    fn write(&mut self, bytes: u64) {
        match bytes {
            ENDLESS => self.connection.write_unlimited(),
            bytes => self.connection.write(bytes),
        }
    }
    fn close(&mut self) {
        self.connection.close();
    }
    fn abort(&mut self) {
        self.connection.abort();
    }
    fn received(&self) -> u64 {
        self.connection.received_bytes()
    }
}

/// The connections of one flow.
struct FlowStreams<'w> {
    /// Its first connection.
    first: ConnectionId,
    /// Those of all flows.
    endpoints: &'w mut IdVec<EndpointId, Endpoint>,
    reused: Option<&'w mut Reused>,
    tcp: &'w TcpSpec,
    /// Endpoints that were acted on, in order.
    touched: Vec<EndpointId>,
}

impl FlowStreams<'_> {
    fn id(&self, end: End) -> EndpointId {
        self.first.after(end.pair).end(end.side)
    }
}

impl Streams for FlowStreams<'_> {
    fn end(&mut self, end: End) -> &mut dyn Stream {
        let id = self.id(end);
        if self.touched.last() != Some(&id) {
            self.touched.push(id);
        }
        &mut self.endpoints[id]
    }
    fn look(&self, end: End) -> &dyn Stream {
        &self.endpoints[self.id(end)]
    }
    fn want(&mut self, end: End, total: u64) {
        let id = self.id(end);
        self.endpoints[id].goal = total;
    }
    fn open(&mut self, pair: usize) {
        let connection = self.first.after(pair);
        let Some(reused) = &mut self.reused else { return };
        reused.open[pair] = true;
        let port = 1024 + (reused.opened % 60_000) as u16;
        reused.opened += 1;
        for side in Side::BOTH {
            let isn = SeqNumber(reused.numbers.bits() as u32);
            let (local, remote) = if side == Side::Client { (port, 80) } else { (80, port) };
            let ports = Ports { local, remote };
            let renewed = endpoint::connection(self.tcp, side, isn, ports, reused.draws.bits());
            self.endpoints[connection.end(side)].renew(renewed);
        }
    }
}

impl World<'_> {
    /// Calls a flow's application, takes note of what it has done, and serves the endpoints that it acted on: `first` before them, and
    /// not the one that is being served.
    pub fn call(
        &mut self,
        flow: FlowId,
        first: Option<EndpointId>,
        serving: Option<EndpointId>,
        action: impl FnOnce(&mut App, &mut dyn Streams),
    ) {
        let instance = &self.network.flows[flow];
        let before = (self.apps[flow].finished().is_some(), self.apps[flow].stopped());
        if self.quic.has(flow) {
            self.call_over_quic(flow, serving, action);
            return self.take_note(flow, before);
        }
        if self.udp[flow].is_some() {
            self.call_over_udp(flow, action);
            return self.take_note(flow, before);
        }
        let mut touched = std::mem::take(&mut self.touched);
        touched.extend(first);
        let mut streams = FlowStreams {
            first: instance.first_connection,
            endpoints: &mut self.endpoints,
            reused: self.reused[flow].as_deref_mut(),
            tcp: &self.scenario.group(instance.group).tcp,
            touched,
        };
        action(&mut self.apps[flow], &mut streams);
        let mut touched = streams.touched;
        self.take_note(flow, before);
        for endpoint in touched.drain(..) {
            if Some(endpoint) != serving {
                self.serve(endpoint, true);
            }
        }
        self.touched = touched;
    }

    /// Takes note of what an application has done: before, it was finished, it was stopped.
    fn take_note(&mut self, flow: FlowId, (was_finished, was_stopped): (bool, bool)) {
        let (app, instance) = (&mut self.apps[flow], &self.network.flows[flow]);
        if let Some(took) = app.take_page() {
            self.recorder.event(self.now, "page", Some(flow), None, took.as_secs_f64());
        }
        if !was_finished && app.finished().is_some() {
            let took = self.now - instance.start;
            self.recorder.event(self.now, "finish", Some(flow), None, took.as_secs_f64());
        }
        if !was_stopped && app.stopped() {
            self.recorder.event(self.now, "stop", Some(flow), None, 0.0);
        }
        let wake = app.wake();
        self.fabric.timeline.set(self.app_component(flow), wake);
    }

    /// It is time for an application to start, to go on, or to stop.
    pub fn act(&mut self, flow: FlowId) {
        let now = self.now;
        let client = self.first_connection(flow).end(Side::Client);
        if !self.apps[flow].started() {
            self.recorder.event(now, "start", Some(flow), None, 0.0);
        }
        // A flow's one connection opens when it is served first.
        let only = self.reused[flow].is_none().then_some(client);
        self.call(flow, None, only, |app, streams| app.act(now, streams));
        if only.is_some() {
            self.serve(client, true);
        }
    }

    /// A connection reports an event, or an endpoint has received what it waited for.
    #[cold]
    pub fn tell_application(&mut self, index: EndpointId, event: Option<Event>, reached: bool) {
        let flow = self.network.flow_of(index);
        let several = self.reused[flow].is_some();
        if let Some(event) = event {
            self.note_event(flow, index, event, several);
        }
        let end = End { pair: self.pair_of(flow, index), side: index.side() };
        // Its caller serves this endpoint. Of several, all are served in the order in which they were acted on.
        let serving = (!several).then_some(index);
        if several && reached {
            self.reached(flow, index, end, serving);
        }
        match event {
            Some(Event::Connected) if !several && end == End::CLIENT => {
                self.call(flow, None, serving, |app, streams| app.connected(streams));
            }
            // The application closes its side too once there is no more to come.
            Some(Event::PeerClosed) => self.endpoints[index].connection.close(),
            Some(Event::Closed) if several => self.connection_over(flow, index, None),
            Some(Event::Reset | Event::TimedOut | Event::StartFailed) if several => {
                // Whoever is left would wait for ever.
                self.endpoints[index.peer()].connection.abort();
                self.connection_over(flow, index, Some(index.peer()));
            }
            _ => {}
        }
        if !several && reached {
            self.reached(flow, index, end, serving);
        }
    }

    /// Which of its flow's connections an endpoint is at.
    fn pair_of(&self, flow: FlowId, index: EndpointId) -> usize {
        index.connection().index() - self.first_connection(flow).index()
    }

    fn reached(&mut self, flow: FlowId, index: EndpointId, end: End, serving: Option<EndpointId>) {
        let now = self.now;
        self.endpoints[index].goal = NO_GOAL;
        self.call(flow, None, serving, |app, streams| app.reached(now, end, streams));
    }

    /// One end of a connection is done. The pair is free once neither end has anything to do: TIME-WAIT at one end when the
    /// other is closed has nobody left to wait for. `other` is an endpoint that is to be served in any case.
    fn connection_over(&mut self, flow: FlowId, index: EndpointId, other: Option<EndpointId>) {
        let (connection, now) = (index.connection(), self.now);
        let ends = Side::BOTH.map(|side| connection.end(side));
        let done = |endpoint: EndpointId| {
            matches!(self.endpoints[endpoint].connection.state(), State::Closed | State::TimeWait)
        };
        let pair = self.pair_of(flow, index);
        let both = ends.into_iter().all(done);
        let counters = self.totals_of_connection(connection.end(self.data_side(flow)));
        let received =
            ends.map(|endpoint| self.endpoints[endpoint].connection.stats().data_segments_received);
        let Some(reused) = &mut self.reused[flow] else { return };
        if !reused.open[pair] || !both {
            return other.into_iter().for_each(|endpoint| self.serve(endpoint, true));
        }
        reused.open[pair] = false;
        reused.ended.merge(&counters);
        reused.ended_received += received.iter().sum::<u64>();
        ends.into_iter().for_each(|endpoint| self.endpoints[endpoint].goal = NO_GOAL);
        self.call(flow, other, None, |app, streams| app.gone(now, pair, streams));
    }
}
