//! A web session: pages of objects, each fetched over a connection that is opened for it or kept from before. The model is that
//! of ns-2's PagePool/WebTraf (A. Feldmann et al., Dynamics of IP traffic, SIGCOMM 1999), with real connections: a handshake,
//! a request, an answer, a close. A session's endpoints are used again and again. With a `document`, as browsers do, the other
//! objects of a page are asked for once it has come.

use crate::app::{NO_GOAL, Side};
use crate::endpoint;
use crate::totals::Totals;
use crate::world::World;
use longhaul_path::{Histogram, Random};
use longhaul_scenario::{AppSpec, Ending, FlowSpec};
use longhaul_segment::SeqNumber;
use longhaul_tcp::{Event, Ports, State};
use longhaul_units::Instant;
use std::collections::VecDeque;

/// What a pair of endpoints is doing.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Slot {
    /// There is no connection.
    Free,
    /// An object is being fetched.
    Busy(Object),
    /// Open, and nothing to do (persistent connections only).
    Idle,
    /// The object has come, the connection ends.
    Closing,
}

/// An object of a page.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Object {
    bytes: u64,
    wanted: Instant,
}

struct Page {
    began: Instant,
    objects: u64,
    requested: u64,
    done: u64,
}

/// The state of a session.
pub(crate) struct Session {
    slots: Vec<Slot>,
    page: Option<Page>,
    /// Objects that wait for a connection.
    waiting: VecDeque<Object>,
    /// Set once nothing more is asked for.
    over: bool,
    random: Random,
    numbers: Random,
    /// Seeds of congestion controls.
    draws: Random,
    /// Connections so far: each has a port of its own.
    opened: u64,
    /// What connections did that are no more.
    pub ended: Totals,
    /// Data segments that such connections received, at both ends.
    pub ended_received: u64,
    /// Times from the beginning of a page to its last byte.
    pub pages: Histogram,
    pages_done: u64,
    /// Objects that did not come: their connection was reset or given up.
    pub failed: u64,
}

impl Session {
    pub fn new(spec: &FlowSpec, name: &str, seed: u64) -> Self {
        Session {
            slots: vec![Slot::Free; spec.app.connections()],
            page: None,
            waiting: VecDeque::new(),
            over: false,
            random: Random::stream(seed, &format!("{name} pages")),
            numbers: Random::stream(seed, &format!("{name} isn")),
            draws: Random::stream(seed, &format!("{name} congestion")),
            opened: 0,
            ended: Totals::default(),
            ended_received: 0,
            pages: Histogram::default(),
            pages_done: 0,
            failed: 0,
        }
    }

    /// The pairs, counted from the session's first, that have a connection whose counters are not in `ended`.
    pub fn open(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.slots.len()).filter(|slot| self.slots[*slot] != Slot::Free)
    }

    fn busy(&self) -> usize {
        self.slots.iter().filter(|slot| matches!(slot, Slot::Busy(_))).count()
    }

    /// The pair for one more object: an open connection that is idle, or one that is free for a new connection.
    fn place(&self, parallel: u32) -> Option<usize> {
        if self.busy() >= parallel as usize {
            return None;
        }
        let find = |wanted: Slot| self.slots.iter().position(|slot| *slot == wanted);
        find(Slot::Idle).or_else(|| find(Slot::Free))
    }
}

impl<'a> World<'a> {
    fn web_spec(&self, flow: usize) -> &'a FlowSpec {
        &self.scenario.flow[self.network.flows[flow].group]
    }

    /// Takes a session out of its application, lets `action` work with it, and serves the endpoints that it touched.
    fn with_session(&mut self, flow: usize, action: impl FnOnce(&mut Self, &mut Session, &mut Vec<usize>)) {
        let Some(mut session) = self.apps[flow].web.take() else { return };
        let mut touched = vec![];
        action(self, &mut session, &mut touched);
        self.apps[flow].web = Some(session);
        let wake = self.apps[flow].wake;
        self.set_wake(flow, wake);
        touched.into_iter().for_each(|endpoint| self.serve(endpoint, true));
    }

    /// It is time for the next object or the next page, or to stop.
    pub fn act_web(&mut self, flow: usize) {
        self.with_session(flow, |world, session, touched| {
            let now = world.now;
            let app = &mut world.apps[flow];
            app.started = true;
            if app.is_due_to_stop(now) {
                app.wake = Instant::FAR_FUTURE;
                if app.finished.is_none() {
                    app.stopped = true;
                    world.end_session(flow, session, touched);
                }
                return;
            }
            world.next_object(flow, session, touched);
        });
    }

    /// Asks for the next object, the first of a page or a further one, and decides when to ask again.
    fn next_object(&mut self, flow: usize, session: &mut Session, touched: &mut Vec<usize>) {
        let now = self.now;
        let spec = self.web_spec(flow);
        let mss = spec.tcp.mss;
        let AppSpec::Web { document, objects, spacing, object, .. } = &spec.app else { return };
        let random = &mut session.random;
        let page = session.page.get_or_insert_with(|| Page {
            began: now,
            objects: objects.next(random).0 + u64::from(document.is_some()),
            requested: 0,
            done: 0,
        });
        let document = document.as_ref().filter(|_| page.requested == 0);
        let wanted = Object { bytes: document.unwrap_or(object).next(random).bytes(mss), wanted: now };
        page.requested += 1;
        let more = page.requested < page.objects && document.is_none();
        let next = if more { now + spacing.next(random) } else { Instant::FAR_FUTURE };
        self.apps[flow].wake_at(next);
        session.waiting.push_back(wanted);
        self.fetch_waiting(flow, session, touched);
    }

    /// Gives waiting objects to connections as far as there are any.
    fn fetch_waiting(&mut self, flow: usize, session: &mut Session, touched: &mut Vec<usize>) {
        let AppSpec::Web { parallel, request, .. } = self.web_spec(flow).app else { return };
        while let Some(object) = session.waiting.front().copied() {
            let Some(slot) = session.place(parallel) else { return };
            session.waiting.pop_front();
            let client = 2 * (self.first_connection(flow) + slot);
            if session.slots[slot] == Slot::Free {
                self.open_connection(flow, session, client);
            }
            session.slots[slot] = Slot::Busy(object);
            let received = |endpoint: usize| self.endpoints[endpoint].connection.received_bytes();
            let (asked, answered) = (received(client + 1), received(client));
            self.endpoints[client].connection.write(request.as_bytes());
            self.endpoints[client].goal = answered + object.bytes;
            self.endpoints[client + 1].goal = asked + request.as_bytes();
            touched.push(client);
        }
    }

    /// Puts a new connection into a pair of endpoints.
    fn open_connection(&mut self, flow: usize, session: &mut Session, client: usize) {
        let spec = self.web_spec(flow);
        let port = 1024 + (session.opened % 60_000) as u16;
        session.opened += 1;
        for side in [Side::Client, Side::Server] {
            let isn = SeqNumber(session.numbers.bits() as u32);
            let (local, remote) = if side == Side::Client { (port, 80) } else { (80, port) };
            let ports = Ports { local, remote };
            let connection = endpoint::connection(&spec.tcp, side, isn, ports, session.draws.bits());
            self.endpoints[client + side as usize].renew(connection);
        }
    }

    /// A connection reports an event, or an endpoint has received what it waited for.
    pub fn tell_session(&mut self, index: usize, event: Option<Event>, reached: bool) {
        let flow = self.network.flow_of(index);
        self.with_session(flow, |world, session, touched| {
            if reached {
                world.web_goal(flow, index, session, touched);
            }
            match event {
                Some(Event::PeerClosed) => world.endpoints[index].connection.close(),
                Some(Event::Closed) => world.connection_over(flow, index, session, touched),
                Some(Event::Reset | Event::TimedOut | Event::StartFailed) => {
                    // Whoever is left would wait for ever.
                    world.endpoints[index ^ 1].connection.abort();
                    touched.push(index ^ 1);
                    world.connection_over(flow, index, session, touched);
                }
                _ => {}
            }
        });
    }

    /// The server has the request, or the client has the object.
    fn web_goal(&mut self, flow: usize, index: usize, session: &mut Session, touched: &mut Vec<usize>) {
        self.endpoints[index].goal = NO_GOAL;
        let slot = index / 2 - self.first_connection(flow);
        let Slot::Busy(object) = session.slots[slot] else { return };
        let AppSpec::Web { persistent, .. } = self.web_spec(flow).app else { return };
        let connection = &mut self.endpoints[index].connection;
        if index % 2 == Side::Server as usize {
            connection.write(object.bytes);
            if !persistent {
                connection.close();
            }
            return;
        }
        session.slots[slot] = if persistent { Slot::Idle } else { Slot::Closing };
        if persistent && session.over {
            connection.close();
            session.slots[slot] = Slot::Closing;
        }
        self.apps[flow].responses.record(self.now - object.wanted);
        self.object_done(flow, session, touched);
    }

    /// An object has come, or will not come any more.
    fn object_done(&mut self, flow: usize, session: &mut Session, touched: &mut Vec<usize>) {
        if session.over {
            return;
        }
        let Some(page) = &mut session.page else { return };
        page.done += 1;
        if page.done < page.objects {
            if let AppSpec::Web { document: Some(_), spacing, .. } = &self.web_spec(flow).app {
                if page.requested == 1 {
                    let next = self.now + spacing.next(&mut session.random);
                    self.apps[flow].wake_at(next);
                }
            }
            return self.fetch_waiting(flow, session, touched);
        }
        let took = self.now - page.began;
        session.page = None;
        session.pages.record(took);
        session.pages_done += 1;
        self.recorder.event(self.now, "page", Some(flow), None, took.as_secs_f64());
        let AppSpec::Web { pages, think, .. } = &self.web_spec(flow).app else { return };
        if pages.is_some_and(|pages| session.pages_done >= pages) {
            self.apps[flow].finished = Some(self.now);
            let took = self.now - self.network.flows[flow].start;
            self.recorder.event(self.now, "finish", Some(flow), None, took.as_secs_f64());
            return self.end_session(flow, session, touched);
        }
        let next = self.now + think.next(&mut session.random);
        self.apps[flow].wake_at(next);
    }

    /// Nothing more is asked for: idle connections close; with `ending = "reset"` those at work are reset.
    fn end_session(&mut self, flow: usize, session: &mut Session, touched: &mut Vec<usize>) {
        session.over = true;
        session.waiting.clear();
        let reset = self.web_spec(flow).ending == Ending::Reset && self.apps[flow].stopped;
        for slot in 0..session.slots.len() {
            let client = 2 * (self.first_connection(flow) + slot);
            let connection = &mut self.endpoints[client].connection;
            match session.slots[slot] {
                Slot::Busy(_) | Slot::Idle if reset => connection.abort(),
                Slot::Idle => connection.close(),
                _ => continue,
            }
            if session.slots[slot] == Slot::Idle {
                session.slots[slot] = Slot::Closing;
            }
            touched.push(client);
        }
    }

    /// One end of a connection is done. The pair is free once neither end has anything to do: TIME-WAIT at one end when the
    /// other is closed has nobody left to wait for.
    fn connection_over(
        &mut self,
        flow: usize,
        index: usize,
        session: &mut Session,
        touched: &mut Vec<usize>,
    ) {
        let client = index & !1;
        let done = |endpoint: usize| {
            matches!(self.endpoints[endpoint].connection.state(), State::Closed | State::TimeWait)
        };
        let slot = client / 2 - self.first_connection(flow);
        if session.slots[slot] == Slot::Free || !done(client) || !done(client + 1) {
            return;
        }
        let failed = matches!(session.slots[slot], Slot::Busy(_));
        session.ended.merge(&Totals::of_connection(self, client + 1, client));
        session.ended_received += [client, client + 1]
            .map(|endpoint| self.endpoints[endpoint].connection.stats().data_segments_received)
            .iter()
            .sum::<u64>();
        session.slots[slot] = Slot::Free;
        self.endpoints[client].goal = NO_GOAL;
        self.endpoints[client + 1].goal = NO_GOAL;
        if failed {
            session.failed += 1;
            self.object_done(flow, session, touched);
        }
        self.fetch_waiting(flow, session, touched);
    }
}
