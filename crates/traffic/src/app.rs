//! Applications as state machines without clock and sockets (sans-IO): what is written to connections, and when. One object for
//! each flow; it has both ends, and a world (virtual time, or the wall clock and real sockets) owns the connections.
//!
//! An [`Application`] is called when it is time ([`App::act`]), when an end has received what it waits for ([`App::reached`]) and
//! when connections open and end. It acts on [`Streams`] and sets in its [`Base`] when it acts again.

use crate::{Call, Qoe};
use longhaul_units::{Duration, Histogram, Instant, Random, Side, Size};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// One end of one of a flow's connections.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct End {
    /// Which of its connections; most flows have one.
    pub pair: usize,
    /// Which end of it.
    pub side: Side,
}

impl End {
    /// The active opener of a flow with one connection.
    pub const CLIENT: End = End::client(0);
    /// The passive opener of a flow with one connection.
    pub const SERVER: End = End::server(0);

    /// The active opener of this connection.
    pub const fn client(pair: usize) -> End {
        End { pair, side: Side::Client }
    }
    /// Its passive opener.
    pub const fn server(pair: usize) -> End {
        End { pair, side: Side::Server }
    }
}

/// As many bytes as the connection takes, without end.
pub const ENDLESS: u64 = u64::MAX;

/// One end of a connection.
pub trait Stream {
    /// There is more to send: so many bytes, or [`ENDLESS`].
    fn write(&mut self, bytes: u64);
    /// There is no more to send after what was written.
    fn close(&mut self);
    /// The connection ends at once.
    fn abort(&mut self);
    /// Bytes that have arrived in order, from the start of the connection.
    fn received(&self) -> u64;
}

/// The connections of a flow.
pub trait Streams {
    /// An end to act on.
    fn end(&mut self, end: End) -> &mut dyn Stream;
    /// An end to look at.
    fn look(&self, end: End) -> &dyn Stream;
    /// [`App::reached`] is to be called once this end has received `total` bytes in all. It takes the place of what the end waited
    /// for before.
    fn want(&mut self, end: End, total: u64);
    /// A new connection in the place of one that is over; its ends may be acted on at once.
    fn open(&mut self, pair: usize);
}

/// What an application holds of its flow.
pub struct Setup<'a> {
    /// When it starts, and when it stops at the latest.
    pub start: Instant,
    /// See `start`.
    pub stop: Option<Instant>,
    /// What becomes of its connections then.
    pub ending: Ending,
    /// Payload of a full segment, or of a full datagram.
    pub mss: Size,
    /// Which of how many streams of a transfer it is.
    pub stream: (u32, u32),
    /// Its messages travel as datagrams, each for itself, and not over a connection.
    pub datagrams: bool,
    /// The run's seed.
    pub seed: u64,
    /// Name of its transfer.
    pub name: &'a str,
}

impl Setup<'_> {
    /// A random stream of this application.
    pub fn random(&self, what: &str) -> Random {
        Random::stream(self.seed, &format!("{} {what}", self.name))
    }
}

/// How a connection ends whose application stops before all data is delivered.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// What was sent is delivered, then the connection closes.
    #[default]
    Close,
    /// The connection is reset at once (RFC 9293 section 3.10.5, ABORT): what is on its way may be lost.
    Reset,
}

/// Which ends of a flow act at times that are not those of arriving packets; a world may serve the others ahead of time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Timing {
    /// Once started, none.
    None,
    /// The client's.
    Client,
    /// Both.
    Both,
}

/// Parameters of an application, as a scenario has them.
pub trait Parameters {
    /// The application of a flow.
    fn build(&self, setup: &Setup<'_>) -> Box<dyn Application>;
    /// What is wrong with them: the setting, and what would be right.
    fn check(&self) -> Vec<(&'static str, &'static str)> {
        vec![]
    }
    /// The end that sends the bulk of the data.
    fn data_sender(&self) -> Side {
        Side::Client
    }
    /// True for a transfer that ends by itself.
    fn has_end(&self) -> bool {
        false
    }
    /// True if times of answers are measured.
    fn asks(&self) -> bool {
        false
    }
    /// True if it writes messages, at times of its own, and needs nothing to arrive: datagrams can carry it.
    fn only_writes(&self) -> bool {
        false
    }
    /// Bytes of its messages as datagrams carry them, if they are all the same.
    fn datagram(&self) -> Option<Size> {
        None
    }
    /// Settings of the call that it is, if it is one, and what a message takes to be spoken.
    fn call(&self) -> Option<(Call, Duration)> {
        None
    }
    /// Pairs of ends that one flow takes. A flow of several opens its connections itself ([`Streams::open`]), one after the
    /// other in the same pair; otherwise its one connection opens when it starts.
    fn connections(&self) -> usize {
        1
    }
    /// Which ends act by themselves. Fewer than both is a promise that makes the simulator faster: of an end that is left out, nothing
    /// is done but in its own [`Application::reached`].
    fn timing(&self) -> Timing {
        Timing::Both
    }
}

/// What an application does when it is called.
pub trait Application: Send {
    /// It is time: the first time at the flow's start. Says in `base` when it is time again.
    fn act(&mut self, now: Instant, base: &mut Base, streams: &mut dyn Streams);
    /// The flow's one connection is established at its client. Closing it earlier would give it up (RFC 9293 section 3.10.4,
    /// CLOSE in SYN-SENT).
    fn connected(&mut self, _streams: &mut dyn Streams) {}
    /// An end has received what it waited for.
    fn reached(&mut self, _now: Instant, _end: End, _base: &mut Base, _streams: &mut dyn Streams) {}
    /// Both ends of a connection are done.
    fn gone(&mut self, _now: Instant, _pair: usize, _base: &mut Base, _streams: &mut dyn Streams) {}
    /// What its people notice beside times of answers, until now.
    fn qoe(&self, _now: Instant) -> Option<Qoe> {
        None
    }
    /// What they notice is measured from now on.
    fn measure_from(&mut self, _now: Instant) {}
    /// It has to stop before it is done.
    fn stop(&mut self, base: &mut Base, streams: &mut dyn Streams) {
        end_client(base, streams);
    }
}

/// The flow's one connection ends as its flow requires.
pub(crate) fn end_client(base: &Base, streams: &mut dyn Streams) {
    match base.ending {
        Ending::Close => streams.end(End::CLIENT).close(),
        Ending::Reset => streams.end(End::CLIENT).abort(),
    }
}

/// What of a stream is to be looked for at the receiving end: the ends of its parts, in bytes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Parts {
    written: u64,
    ends: VecDeque<u64>,
}

impl Parts {
    /// A part of so many bytes was written.
    pub fn add(&mut self, bytes: u64, streams: &mut dyn Streams) {
        self.written += bytes;
        self.ends.push_back(self.written);
        if self.ends.len() == 1 {
            streams.want(End::SERVER, self.written);
        }
    }
    /// The next part is there; looks for the one after it.
    pub fn next(&mut self, streams: &mut dyn Streams) {
        self.ends.pop_front();
        if let Some(end) = self.ends.front() {
            streams.want(End::SERVER, *end);
        }
    }
}

/// What all applications have.
pub struct Base {
    wake: Instant,
    stop: Instant,
    /// What becomes of connections when it stops.
    pub ending: Ending,
    started: bool,
    stopped: bool,
    finished: Option<Instant>,
    responses: Histogram,
    pages: Histogram,
    last_page: Option<Duration>,
    failed: u64,
}

impl Base {
    /// Wants to act again at `time`, or when it has to stop.
    pub fn wake_at(&mut self, time: Instant) {
        self.wake = time.min(self.stop);
    }
    /// All is done that was to be done.
    pub fn finish(&mut self, now: Instant) {
        self.finished = Some(now);
    }
    /// An answer took so long.
    pub fn answered(&mut self, took: Duration) {
        self.responses.record(took);
    }
    /// A page took so long.
    pub fn page_done(&mut self, took: Duration) {
        self.pages.record(took);
        self.last_page = Some(took);
    }
    /// An answer will not come.
    pub fn answer_failed(&mut self) {
        self.failed += 1;
    }
}

/// The application of one flow.
pub struct App {
    base: Base,
    inner: Box<dyn Application>,
}

impl App {
    /// The application with these parameters.
    pub fn new(parameters: &dyn Parameters, setup: &Setup<'_>) -> Self {
        let base = Base {
            wake: setup.start,
            stop: setup.stop.unwrap_or(Instant::FAR_FUTURE),
            ending: setup.ending,
            started: false,
            stopped: false,
            finished: None,
            responses: Histogram::default(),
            pages: Histogram::default(),
            last_page: None,
            failed: 0,
        };
        App { base, inner: parameters.build(setup) }
    }

    /// When it next acts by itself; [`Instant::FAR_FUTURE`] for never.
    pub fn wake(&self) -> Instant {
        self.base.wake
    }
    /// It has begun.
    pub fn started(&self) -> bool {
        self.base.started
    }
    /// It was stopped before it was done.
    pub fn stopped(&self) -> bool {
        self.base.stopped
    }
    /// When the last byte of a transfer that ends by itself was delivered.
    pub fn finished(&self) -> Option<Instant> {
        self.base.finished
    }
    /// Times of answers.
    pub fn responses(&self) -> &Histogram {
        &self.base.responses
    }
    /// Times of pages.
    pub fn pages(&self) -> &Histogram {
        &self.base.pages
    }
    /// Answers that never came.
    pub fn failed(&self) -> u64 {
        self.base.failed
    }
    /// The time of a page that is done, once.
    pub fn take_page(&mut self) -> Option<Duration> {
        self.base.last_page.take()
    }
    /// What its people notice beside times of answers, until now.
    pub fn qoe(&self, now: Instant) -> Option<Qoe> {
        self.inner.qoe(now)
    }
    /// Forgets the times of answers and pages, and what people have noticed.
    pub fn clear_times(&mut self, now: Instant) {
        self.inner.measure_from(now);
        self.base.responses.clear();
        self.base.pages.clear();
        self.base.failed = 0;
    }

    /// It is [`App::wake`]: starts, goes on, or stops.
    pub fn act(&mut self, now: Instant, streams: &mut dyn Streams) {
        let App { base, inner } = self;
        if now >= base.stop {
            base.wake = Instant::FAR_FUTURE;
            if base.finished.is_none() {
                base.stopped = true;
                inner.stop(base, streams);
            }
            return;
        }
        base.started = true;
        inner.act(now, base, streams);
    }
    /// The flow's one connection is established at its client.
    pub fn connected(&mut self, streams: &mut dyn Streams) {
        self.inner.connected(streams);
    }
    /// An end has received what it waited for; it waits for nothing now.
    pub fn reached(&mut self, now: Instant, end: End, streams: &mut dyn Streams) {
        self.inner.reached(now, end, &mut self.base, streams);
    }
    /// Both ends of a connection are done.
    pub fn gone(&mut self, now: Instant, pair: usize, streams: &mut dyn Streams) {
        self.inner.gone(now, pair, &mut self.base, streams);
    }
}

/// Bytes of a write that may have to be filled up to whole segments.
pub(crate) fn filled(bytes: u64, whole: bool, mss: Size) -> u64 {
    if whole { bytes.div_ceil(mss.as_bytes()) * mss.as_bytes() } else { bytes }
}
