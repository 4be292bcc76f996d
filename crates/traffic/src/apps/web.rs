//! A web session: pages of objects, each fetched over a connection that is opened for it or kept from before. The model is that
//! of ns-2's PagePool/WebTraf (A. Feldmann et al., Dynamics of IP traffic, SIGCOMM 1999), with real connections: a handshake,
//! a request, an answer, a close. A session's pairs of ends are used again and again. With a `document`, as browsers do, the other
//! objects of a page are requested once it has come.

use super::request::small_request;
use crate::{Application, Base, Count, Draw, End, Ending, Parameters, Setup, Side, Streams, Volume};
use longhaul_units::{Duration, Instant, Random, Size};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// See [`AppSpec::Web`](crate::AppSpec::Web).
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Web {
    /// Number of pages; without it there is no end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub pages: Option<u64>,
    /// Time from the end of a page to the beginning of the next.
    pub think: Draw<Duration>,
    /// The page's text, which lists the objects: they are requested once it has come. Without it all are requested at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub document: Option<Draw<Volume>>,
    /// Objects on a page, without its document.
    pub objects: Draw<Count>,
    /// Time between the requests for two objects of a page.
    #[serde(default = "at_once")]
    pub spacing: Draw<Duration>,
    /// Size of an object: `"packets"` are full-sized segments.
    pub object: Draw<Volume>,
    /// Bytes of a request.
    #[serde(default = "small_request")]
    #[schemars(extend("x-exclusiveMinimum" = "0 B"))]
    pub request: Size,
    /// Most connections at a time; objects that wait are requested as soon as one is free.
    #[serde(default = "six")]
    #[schemars(range(min = 1, max = 1000))]
    pub parallel: u32,
    /// Connections stay open and fetch one object after the other (HTTP/1.1); without it each object has its own (HTTP/1.0).
    #[serde(default)]
    pub persistent: bool,
}

fn at_once() -> Draw<Duration> {
    Draw::Constant(Duration::ZERO)
}
fn six() -> u32 {
    6
}

impl Parameters for Web {
    fn build(&self, setup: &Setup<'_>) -> Box<dyn Application> {
        Box::new(Session {
            parameters: self.clone(),
            mss: setup.mss,
            slots: vec![Slot::Free; self.connections()],
            page: None,
            waiting: VecDeque::new(),
            over: false,
            random: setup.random("pages"),
            pages_done: 0,
        })
    }
    fn check(&self) -> Vec<(&'static str, &'static str)> {
        let wrong = [
            (self.objects.is_zero(), ("objects", "a page has at least 1 object")),
            (
                self.document.is_some_and(|document| document.is_zero()),
                ("document", "a document has at least 1 B"),
            ),
            (self.object.is_zero(), ("object", "an object has at least 1 B")),
            (
                self.pages.is_none() && self.think == Draw::Constant(Duration::ZERO),
                ("think", "pages without end need some time between them"),
            ),
        ];
        wrong.into_iter().filter(|(is_wrong, _)| *is_wrong).map(|(_, what)| what).collect()
    }
    fn data_sender(&self) -> Side {
        Side::Server
    }
    fn has_end(&self) -> bool {
        self.pages.is_some()
    }
    fn asks(&self) -> bool {
        true
    }
    /// Twice as many as may be busy, so that connections that are closing do not keep others waiting.
    fn connections(&self) -> usize {
        2 * self.parallel as usize
    }
}

/// What a pair of ends is doing.
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
struct Session {
    parameters: Web,
    mss: Size,
    slots: Vec<Slot>,
    page: Option<Page>,
    /// Objects that wait for a connection.
    waiting: VecDeque<Object>,
    /// Set once nothing more is requested.
    over: bool,
    random: Random,
    pages_done: u64,
}

impl Session {
    /// The pair for one more object: an open connection that is idle, or one that is free for a new connection.
    fn place(&self) -> Option<usize> {
        let busy = self.slots.iter().filter(|slot| matches!(slot, Slot::Busy(_))).count();
        if busy >= self.parameters.parallel as usize {
            return None;
        }
        let find = |wanted: Slot| self.slots.iter().position(|slot| *slot == wanted);
        find(Slot::Idle).or_else(|| find(Slot::Free))
    }

    /// Gives waiting objects to connections as far as there are any.
    fn fetch_waiting(&mut self, streams: &mut dyn Streams) {
        let request = self.parameters.request.as_bytes();
        while let Some(object) = self.waiting.front().copied() {
            let Some(pair) = self.place() else { return };
            self.waiting.pop_front();
            if self.slots[pair] == Slot::Free {
                streams.open(pair);
            }
            self.slots[pair] = Slot::Busy(object);
            let [asked, answered] =
                [End::server(pair), End::client(pair)].map(|end| streams.look(end).received());
            streams.end(End::client(pair)).write(request);
            streams.want(End::client(pair), answered + object.bytes);
            streams.want(End::server(pair), asked + request);
        }
    }

    /// An object has come, or will not come any more.
    fn object_done(&mut self, now: Instant, base: &mut Base, streams: &mut dyn Streams) {
        if self.over {
            return;
        }
        let Some(page) = &mut self.page else { return };
        page.done += 1;
        if page.done < page.objects {
            if self.parameters.document.is_some() && page.requested == 1 {
                base.wake_at(now + self.parameters.spacing.next(&mut self.random));
            }
            return self.fetch_waiting(streams);
        }
        base.page_done(now - page.began);
        self.page = None;
        self.pages_done += 1;
        if self.parameters.pages.is_some_and(|pages| self.pages_done >= pages) {
            base.finish(now);
            return self.end(false, streams);
        }
        base.wake_at(now + self.parameters.think.next(&mut self.random));
    }

    /// Nothing more is requested: idle connections close; with `reset` those at work are reset.
    fn end(&mut self, reset: bool, streams: &mut dyn Streams) {
        self.over = true;
        self.waiting.clear();
        for (pair, slot) in self.slots.iter_mut().enumerate() {
            match slot {
                Slot::Busy(_) | Slot::Idle if reset => streams.end(End::client(pair)).abort(),
                Slot::Idle => streams.end(End::client(pair)).close(),
                _ => continue,
            }
            if *slot == Slot::Idle {
                *slot = Slot::Closing;
            }
        }
    }
}

impl Application for Session {
    /// Requests the next object, the first of a page or a further one, and decides when the next request leaves.
    fn act(&mut self, now: Instant, base: &mut Base, streams: &mut dyn Streams) {
        let Web { document, objects, spacing, object, .. } = &self.parameters;
        let random = &mut self.random;
        let page = self.page.get_or_insert_with(|| Page {
            began: now,
            objects: objects.next(random).0 + u64::from(document.is_some()),
            requested: 0,
            done: 0,
        });
        let document = document.as_ref().filter(|_| page.requested == 0);
        let wanted = Object { bytes: document.unwrap_or(object).next(random).bytes(self.mss), wanted: now };
        page.requested += 1;
        let more = page.requested < page.objects && document.is_none();
        base.wake_at(if more { now + spacing.next(random) } else { Instant::FAR_FUTURE });
        self.waiting.push_back(wanted);
        self.fetch_waiting(streams);
    }

    /// The server has the request, or the client has the object.
    fn reached(&mut self, now: Instant, end: End, base: &mut Base, streams: &mut dyn Streams) {
        let Slot::Busy(object) = self.slots[end.pair] else { return };
        let persistent = self.parameters.persistent;
        if end.side == Side::Server {
            let server = streams.end(end);
            server.write(object.bytes);
            if !persistent {
                server.close();
            }
            return;
        }
        self.slots[end.pair] = if persistent { Slot::Idle } else { Slot::Closing };
        if persistent && self.over {
            streams.end(end).close();
            self.slots[end.pair] = Slot::Closing;
        }
        base.answered(now - object.wanted);
        self.object_done(now, base, streams);
    }

    fn gone(&mut self, now: Instant, pair: usize, base: &mut Base, streams: &mut dyn Streams) {
        let before = std::mem::replace(&mut self.slots[pair], Slot::Free);
        if matches!(before, Slot::Busy(_)) {
            base.answer_failed();
            self.object_done(now, base, streams);
        }
        self.fetch_waiting(streams);
    }

    fn stop(&mut self, base: &mut Base, streams: &mut dyn Streams) {
        self.end(base.ending == Ending::Reset, streams);
    }
}
