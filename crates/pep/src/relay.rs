//! Carries bytes between the two legs of a connection until both directions have ended, or one leg fails.

use crate::config::{Limits, Timeouts};
use crate::flow::{End, Flow, Waiting, Way};
use crate::leg::Leg;
use crate::neighbours::Neighbours;
use crate::pipe::Pipe;
use crate::pool::{Chunk, LARGE, Pool};
use crate::table::{Entry, State, Table};
use std::future::poll_fn;
use std::io::ErrorKind;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::{Instant, sleep};

/// How often a connection is looked at while something moves or is held, and at most this seldom while nothing happens: ten
/// thousand idle connections then take little of a processor.
const TICK: (Duration, Duration) = (Duration::from_secs(2), Duration::from_secs(30));
/// How soon, at first and at most, an acknowledgement of the end is looked for.
const FLUSH: (Duration, Duration) = (Duration::from_millis(5), Duration::from_secs(1));
/// A direction that has carried so many bytes, and brings many at a time, passes through pipes of the kernel.
const LONG: u64 = 1 << 20;

/// What all connections share.
pub(crate) struct Shared {
    pub pool: Pool,
    pub table: Table,
    pub neighbours: Neighbours,
    timeouts: Mutex<Timeouts>,
}

impl Shared {
    pub fn new(limits: Limits, timeouts: Timeouts) -> Shared {
        let pool = Pool::new(limits.memory.as_bytes() as usize, limits.flows);
        Shared {
            pool,
            table: Table::new(limits),
            neighbours: Neighbours::new(),
            timeouts: Mutex::new(timeouts),
        }
    }

    pub fn timeouts(&self) -> Timeouts {
        *self.timeouts.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    pub fn set_timeouts(&self, timeouts: Timeouts) {
        *self.timeouts.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = timeouts;
    }
}

/// One direction on its way: the bytes that it holds.
#[derive(Default)]
struct Carried {
    chunk: Option<Chunk>,
    /// A pipe that is not empty; then there is no chunk.
    pipe: Option<Pipe>,
    /// The last read filled its buffer: the next is worth a large one.
    busy: bool,
}

/// A connection with both legs open.
pub(crate) struct Relay<C: Leg, S: Leg> {
    pub client: C,
    pub server: S,
    pub entry: Arc<Entry>,
    pub shared: Arc<Shared>,
    up: Carried,
    down: Carried,
    answered: bool,
    /// The direction that is looked at first: the runtime limits what a task does at a time, and none is to take it all.
    first: Way,
}

impl<C: Leg, S: Leg> Relay<C, S> {
    pub fn new(client: C, server: S, entry: Arc<Entry>, shared: Arc<Shared>) -> Relay<C, S> {
        let (up, down) = (Carried::default(), Carried::default());
        Relay { client, server, entry, shared, up, down, answered: false, first: Way::Up }
    }

    /// Bytes of the client that have come already.
    pub fn with_bytes(mut self, bytes: &[u8]) -> Relay<C, S> {
        if !bytes.is_empty() {
            let mut chunk = self.shared.pool.take(false);
            chunk.room()[..bytes.len()].copy_from_slice(bytes);
            chunk.add(bytes.len());
            self.entry.flow().up.received(bytes.len());
            self.up.chunk = Some(chunk);
        }
        self
    }

    /// Carries everything. `stop` turns true when this node stops for good.
    pub async fn run(mut self, mut stop: watch::Receiver<bool>) -> End {
        self.entry.set_state(State::Open);
        let end = tokio::select! {
            end = self.carry() => end,
            _ = stop.wait_for(|stop| *stop) => End::Stopped,
        };
        self.finish(end);
        end
    }

    async fn carry(&mut self) -> End {
        let limit = |time: longhaul_units::Duration| Duration::from_nanos(time.as_nanos());
        let (mut seen, mut active) = (0, Instant::now());
        let mut pause = TICK.0;
        loop {
            let tick = sleep(pause);
            tokio::pin!(tick);
            let step = poll_fn(|cx| match self.poll(cx) {
                Poll::Ready(result) => Poll::Ready(Some(result)),
                Poll::Pending => tick.as_mut().poll(cx).map(|()| None),
            });
            match step.await {
                Some(Err(end)) => return end,
                Some(Ok(())) => return self.flush().await,
                None => {}
            }
            if let Some(end) = self.failed() {
                return end;
            }
            let flow = *self.entry.flow();
            let ledger = flow.ledger();
            let moved = ledger.received + ledger.sent != seen;
            if moved || self.entry.in_kernel.load(Ordering::Relaxed) > 0 {
                let bytes = self.client.unread()
                    + self.client.unacknowledged()
                    + self.server.unread()
                    + self.server.unacknowledged();
                self.entry.in_kernel.store(bytes as u64, Ordering::Relaxed);
            }
            if moved {
                (seen, active) = (ledger.received + ledger.sent, Instant::now());
            }
            let half = flow.waiting() == Waiting::HalfClosed;
            let timeouts = self.shared.timeouts();
            let patience = limit(if half { timeouts.half_closed } else { timeouts.idle });
            if active.elapsed() > patience {
                return End::Idle;
            }
            let quiet = !moved && ledger.held == 0 && self.entry.in_kernel.load(Ordering::Relaxed) == 0;
            // A reset is seen at once where nothing is held, for then both sides are read.
            pause = if quiet { (pause * 2).min(TICK.1).min(patience / 2).max(TICK.0) } else { TICK.0 };
        }
    }

    /// Ready when both directions have ended, or one leg failed.
    fn poll(&mut self, cx: &mut Context) -> Poll<Result<(), End>> {
        let first = self.first;
        self.first = first.other();
        let one = self.poll_way(cx, first);
        if let Poll::Ready(Err(end)) = one {
            return Poll::Ready(Err(end));
        }
        let other = self.poll_way(cx, first.other());
        match (one, other) {
            (_, Poll::Ready(Err(end))) => Poll::Ready(Err(end)),
            (Poll::Ready(_), Poll::Ready(_)) => Poll::Ready(Ok(())),
            (Poll::Pending, Poll::Pending) => Poll::Pending,
            _ => {
                self.entry.set_state(State::HalfClosed);
                Poll::Pending
            }
        }
    }

    fn poll_way(&mut self, cx: &mut Context, way: Way) -> Poll<Result<(), End>> {
        let (carried, from, to): (_, &mut dyn Leg, &mut dyn Leg) = match way {
            Way::Up => (&mut self.up, &mut self.client, &mut self.server),
            Way::Down => (&mut self.down, &mut self.server, &mut self.client),
        };
        let (from_failed, to_failed) = match way {
            Way::Up => (End::ClientReset, End::ServerReset),
            Way::Down => (End::ServerReset, End::ClientReset),
        };
        loop {
            while let Some(chunk) = &mut carried.chunk {
                let n = ready!(to.poll_write(cx, chunk.filled())).map_err(|why| end_of(&why, to_failed))?;
                chunk.remove(n);
                self.entry.flow().direction(way).sent(n);
                if chunk.filled().is_empty() {
                    carried.chunk.take().into_iter().for_each(|chunk| self.shared.pool.give(chunk));
                }
            }
            while let Some(pipe) = &mut carried.pipe {
                let n = ready!(to.poll_drain(cx, pipe)).map_err(|why| end_of(&why, to_failed))?;
                self.entry.flow().direction(way).sent(n);
                if pipe.held() == 0 {
                    carried.pipe.take().into_iter().for_each(|pipe| self.shared.pool.give_pipe(pipe));
                }
            }
            let direction = *self.entry.flow().direction(way);
            if direction.must_finish() {
                to.finish().map_err(|why| end_of(&why, to_failed))?;
                self.entry.flow().direction(way).finished();
                return Poll::Ready(Ok(()));
            }
            if direction.is_finished() {
                return Poll::Ready(Ok(()));
            }
            let pipes =
                carried.busy && direction.ledger().received >= LONG && from.has_pipes() && to.has_pipes();
            if let Some(mut pipe) = pipes.then(|| self.shared.pool.take_pipe()).flatten() {
                let filled = from.poll_fill(cx, &mut pipe);
                if let Poll::Ready(Ok(n @ 1..)) = filled {
                    carried.busy = n > LARGE / 8;
                    carried.pipe = Some(pipe);
                    self.entry.flow().direction(way).received(n);
                    continue;
                }
                self.shared.pool.give_pipe(pipe);
                // Nothing came, which shows neither an end nor that there is nothing: reading does.
                ready!(filled).map_err(|why| end_of(&why, from_failed))?;
                carried.busy = false;
            }
            let mut chunk = self.shared.pool.take(carried.busy);
            let room = chunk.room().len();
            let read = from.poll_read(cx, chunk.room());
            let Poll::Ready(Ok(n)) = read else {
                self.shared.pool.give(chunk);
                ready!(read).map_err(|why| end_of(&why, from_failed))?;
                continue;
            };
            if n == 0 {
                self.shared.pool.give(chunk);
                self.entry.flow().direction(way).ended();
                continue;
            }
            carried.busy = n == room || (carried.busy && n > room / 8);
            chunk.add(n);
            carried.chunk = Some(chunk);
            let first = {
                let mut flow = self.entry.flow();
                flow.direction(way).received(n);
                way == Way::Down && !self.answered
            };
            if first {
                self.answered = true;
                self.shared.table.first_byte(self.entry.since.elapsed());
            }
        }
    }

    /// A leg that has failed without anybody reading or writing there.
    fn failed(&self) -> Option<End> {
        let client = self.client.error().map(|why| end_of(&why, End::ClientReset));
        client.or_else(|| self.server.error().map(|why| end_of(&why, End::ServerReset)))
    }

    /// Waits until both sides have acknowledged everything.
    async fn flush(&mut self) -> End {
        self.entry.set_state(State::Closing);
        let begin = Instant::now();
        let mut pause = FLUSH.0;
        loop {
            if self.client.is_flushed() && self.server.is_flushed() {
                let lost = self.client.unacknowledged() + self.server.unacknowledged();
                return self.failed().filter(|_| lost > 0).unwrap_or(End::Complete);
            }
            if let Some(end) = self.failed() {
                return end;
            }
            if begin.elapsed() > Duration::from_nanos(self.shared.timeouts().closing.as_nanos()) {
                return End::Unacknowledged;
            }
            sleep(pause).await;
            pause = (pause * 2).min(FLUSH.1);
        }
    }

    /// Ends both legs, and gives back what is held.
    fn finish(self, end: End) {
        for carried in [self.up, self.down] {
            carried.chunk.into_iter().for_each(|chunk| self.shared.pool.give(chunk));
            carried.pipe.into_iter().for_each(|pipe| self.shared.pool.give_pipe(pipe));
        }
        if end == End::Complete {
            self.client.close();
            self.server.close();
            return;
        }
        let (to_client, to_server) = (self.client.unacknowledged(), self.server.unacknowledged());
        let mut flow: Flow = *self.entry.flow();
        flow.up.abandoned(to_server);
        flow.down.abandoned(to_client);
        *self.entry.flow() = flow;
        self.client.reset();
        self.server.reset();
    }
}

/// The end that an error of a leg stands for: `reset` unless the tunnel gives another reason.
pub(crate) fn end_of(why: &std::io::Error, reset: End) -> End {
    match why.kind() {
        ErrorKind::ConnectionRefused => End::Refused,
        ErrorKind::HostUnreachable => End::Unreachable,
        ErrorKind::PermissionDenied => End::Forbidden,
        ErrorKind::NotConnected => End::Tunnel,
        _ => reset,
    }
}
