//! The connections of flows as their applications have them: calls into applications, and what they do to endpoints.

use crate::endpoint::{self, Endpoint};
use crate::totals::Totals;
use crate::world::World;
use longhaul_scenario::TcpSpec;
use longhaul_segment::SeqNumber;
use longhaul_tcp::{Event, Ports, State};
use longhaul_traffic::{App, ENDLESS, End, Side, Stream, Streams};
use longhaul_units::{Instant, Random};

/// Never reached: the application does not wait for data.
pub(crate) const NO_GOAL: u64 = u64::MAX;

/// Endpoints that have one connection after the other.
pub(crate) struct Reused {
    /// The pairs that have a connection whose counters are not in `ended`.
    open: Vec<bool>,
    numbers: Random,
    /// Seeds of congestion controls.
    draws: Random,
    /// Connections so far: each has a port of its own.
    opened: u64,
    /// What connections did that are no more.
    pub ended: Totals,
    /// Data segments that such connections received, at both ends.
    pub ended_received: u64,
}

impl Reused {
    pub fn new(pairs: usize, name: &str, seed: u64) -> Self {
        Reused {
            open: vec![false; pairs],
            numbers: Random::stream(seed, &format!("{name} isn")),
            draws: Random::stream(seed, &format!("{name} congestion")),
            opened: 0,
            ended: Totals::default(),
            ended_received: 0,
        }
    }

    /// The pairs, counted from the flow's first, that have a connection whose counters are not in `ended`.
    pub fn open(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.open.len()).filter(|pair| self.open[*pair])
    }
}

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
    /// Its endpoints: client and server of each pair.
    endpoints: &'w mut [Endpoint],
    reused: Option<&'w mut Reused>,
    tcp: &'w TcpSpec,
    /// Endpoints that were acted on, in order.
    touched: Vec<usize>,
}

fn place(end: End) -> usize {
    2 * end.pair + end.side as usize
}

impl Streams for FlowStreams<'_> {
    fn end(&mut self, end: End) -> &mut dyn Stream {
        let place = place(end);
        if self.touched.last() != Some(&place) {
            self.touched.push(place);
        }
        &mut self.endpoints[place]
    }
    fn look(&self, end: End) -> &dyn Stream {
        &self.endpoints[place(end)]
    }
    fn want(&mut self, end: End, total: u64) {
        self.endpoints[place(end)].goal = total;
    }
    fn open(&mut self, pair: usize) {
        let Some(reused) = &mut self.reused else { return };
        reused.open[pair] = true;
        let port = 1024 + (reused.opened % 60_000) as u16;
        reused.opened += 1;
        for side in [Side::Client, Side::Server] {
            let isn = SeqNumber(reused.numbers.bits() as u32);
            let (local, remote) = if side == Side::Client { (port, 80) } else { (80, port) };
            let ports = Ports { local, remote };
            let connection = endpoint::connection(self.tcp, side, isn, ports, reused.draws.bits());
            self.endpoints[place(End { pair, side })].renew(connection);
        }
    }
}

impl World<'_> {
    /// Calls a flow's application, takes note of what it has done, and serves the endpoints that it acted on: `first` before them, and
    /// not the one that is being served.
    pub fn call(
        &mut self,
        flow: usize,
        first: Option<usize>,
        serving: Option<usize>,
        action: impl FnOnce(&mut App, &mut dyn Streams),
    ) {
        let instance = &self.network.flows[flow];
        let before = (self.apps[flow].finished().is_some(), self.apps[flow].stopped());
        if self.quic.has(flow) {
            self.call_over_quic(flow, serving, action);
            return self.take_note(flow, before);
        }
        let base = 2 * instance.first_connection;
        let mut touched = std::mem::take(&mut self.touched);
        touched.extend(first.map(|endpoint| endpoint - base));
        let mut streams = FlowStreams {
            endpoints: &mut self.endpoints[base..base + 2 * instance.connections],
            reused: self.reused[flow].as_deref_mut(),
            tcp: &self.scenario.flow[instance.group].tcp,
            touched,
        };
        action(&mut self.apps[flow], &mut streams);
        let mut touched = streams.touched;
        self.take_note(flow, before);
        for endpoint in touched.drain(..).map(|place| base + place) {
            if Some(endpoint) != serving {
                self.serve(endpoint, true);
            }
        }
        self.touched = touched;
    }

    /// Takes note of what an application has done: before, it was finished, it was stopped.
    fn take_note(&mut self, flow: usize, (was_finished, was_stopped): (bool, bool)) {
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
    pub fn act(&mut self, flow: usize) {
        let now = self.now;
        let client = 2 * self.first_connection(flow);
        if !self.apps[flow].started() {
            self.recorder.event(now, "start", Some(flow), None, 0.0);
            if self.scenario.flow[self.network.flows[flow].group].app.is_endless() {
                let sample = self.scenario.run.sample.as_nanos();
                self.endpoints[client].next_sample =
                    Instant::from_nanos((now.as_nanos() / sample + 1) * sample);
            }
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
    pub fn tell_application(&mut self, index: usize, event: Option<Event>, reached: bool) {
        let flow = self.network.flow_of(index);
        let several = self.reused[flow].is_some();
        if let Some(event) = event {
            self.note_event(flow, index, event, several);
        }
        let pair = index / 2 - self.first_connection(flow);
        let end = if index % 2 == 0 { End::client(pair) } else { End::server(pair) };
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
                self.endpoints[index ^ 1].connection.abort();
                self.connection_over(flow, index, Some(index ^ 1));
            }
            _ => {}
        }
        if !several && reached {
            self.reached(flow, index, end, serving);
        }
    }

    fn reached(&mut self, flow: usize, index: usize, end: End, serving: Option<usize>) {
        let now = self.now;
        self.endpoints[index].goal = NO_GOAL;
        self.call(flow, None, serving, |app, streams| app.reached(now, end, streams));
    }

    /// One end of a connection is done. The pair is free once neither end has anything to do: TIME-WAIT at one end when the
    /// other is closed has nobody left to wait for. `other` is an endpoint that is to be served in any case.
    fn connection_over(&mut self, flow: usize, index: usize, other: Option<usize>) {
        let (client, now) = (index & !1, self.now);
        let done = |endpoint: usize| {
            matches!(self.endpoints[endpoint].connection.state(), State::Closed | State::TimeWait)
        };
        let pair = client / 2 - self.first_connection(flow);
        let both = done(client) && done(client + 1);
        let sender = client + self.data_side(flow) as usize;
        let counters = Totals::of_connection(self, sender, sender ^ 1);
        let received = [client, client + 1]
            .map(|endpoint| self.endpoints[endpoint].connection.stats().data_segments_received);
        let Some(reused) = &mut self.reused[flow] else { return };
        if !reused.open[pair] || !both {
            return other.into_iter().for_each(|endpoint| self.serve(endpoint, true));
        }
        reused.open[pair] = false;
        reused.ended.merge(&counters);
        reused.ended_received += received.iter().sum::<u64>();
        self.endpoints[client].goal = NO_GOAL;
        self.endpoints[client + 1].goal = NO_GOAL;
        self.call(flow, other, None, |app, streams| app.gone(now, pair, streams));
    }
}
