//! Carries bytes between the two legs of a connection until both directions have ended, or one leg fails.

use crate::config::{Limits, Timeouts};
use crate::flow::{End, Flow, Waiting, Way};
use crate::leg::Leg;
use crate::neighbours::Neighbours;
use crate::pipe::Pipe;
use crate::pool::{Chunk, LARGE, Pool};
use crate::table::{Entry, State, Table};
use crate::timer::std_time;
use std::future::poll_fn;
use std::io::ErrorKind;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout};

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
        let memory = usize::try_from(limits.memory.as_bytes()).unwrap_or(usize::MAX);
        let pool = Pool::new(memory, limits.flows);
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
        let end = match self.exchange().await {
            Ok(()) => self.flush().await,
            Err(failure) => Err(failure),
        };
        let Err(Failure { end, gone }) = end else { return End::Complete };
        if let Some(way) = gone {
            self.deliver(way).await;
        }
        end
    }

    /// Carries bytes until both directions have ended.
    async fn exchange(&mut self) -> Result<(), Failure> {
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
                Some(result) => return result,
                None => self.failed()?,
            }
            let flow = *self.entry.flow();
            let ledger = flow.ledger();
            let moved = ledger.received + ledger.sent != seen;
            if moved || self.entry.in_kernel.load(Ordering::Relaxed) > 0 {
                let bytes = self.client.unread()
                    + self.client.unacknowledged()
                    + self.server.unread()
                    + self.server.unacknowledged();
                self.entry.in_kernel.store(bytes, Ordering::Relaxed);
            }
            if moved {
                (seen, active) = (ledger.received + ledger.sent, Instant::now());
            }
            let half = flow.waiting() == Waiting::HalfClosed;
            let timeouts = self.shared.timeouts();
            let patience = std_time(if half { timeouts.half_closed } else { timeouts.idle });
            if active.elapsed() > patience {
                return Err(Failure { end: End::Idle, gone: None });
            }
            let quiet = !moved && ledger.held == 0 && self.entry.in_kernel.load(Ordering::Relaxed) == 0;
            // A reset is seen at once where nothing is held, for then both sides are read.
            pause = if quiet { (pause * 2).min(TICK.1).min(patience / 2).max(TICK.0) } else { TICK.0 };
        }
    }

    /// Ready when both directions have ended, or one leg failed.
    fn poll(&mut self, cx: &mut Context) -> Poll<Result<(), Failure>> {
        let first = self.first;
        self.first = first.other();
        let one = self.poll_way(cx, first);
        if let Poll::Ready(Err(failure)) = one {
            return Poll::Ready(Err(failure));
        }
        let other = self.poll_way(cx, first.other());
        match (one, other) {
            (_, Poll::Ready(Err(failure))) => Poll::Ready(Err(failure)),
            (Poll::Ready(_), Poll::Ready(_)) => Poll::Ready(Ok(())),
            (Poll::Pending, Poll::Pending) => Poll::Pending,
            _ => {
                self.entry.set_state(State::HalfClosed);
                Poll::Pending
            }
        }
    }

    fn poll_way(&mut self, cx: &mut Context, way: Way) -> Poll<Result<(), Failure>> {
        loop {
            ready!(self.poll_hand_on(cx, way)).map_err(|why| Failure::of(&why, way.other()))?;
            if !self.entry.flow().direction(way).is_open() {
                return Poll::Ready(Ok(()));
            }
            if ready!(self.poll_take(cx, way)).map_err(|why| Failure::of(&why, way))? == 0 {
                self.entry.flow().direction(way).ended();
            }
        }
    }

    /// Hands on what a direction holds, and its end.
    fn poll_hand_on(&mut self, cx: &mut Context, way: Way) -> Poll<std::io::Result<()>> {
        let (carried, to): (_, &mut dyn Leg) = match way {
            Way::Up => (&mut self.up, &mut self.server),
            Way::Down => (&mut self.down, &mut self.client),
        };
        while let Some(chunk) = &mut carried.chunk {
            let n = ready!(to.poll_write(cx, chunk.filled()))?;
            chunk.remove(n);
            self.entry.flow().direction(way).sent(n);
            if way == Way::Down {
                self.entry.deliver();
            }
            if chunk.filled().is_empty() {
                carried.chunk.take().into_iter().for_each(|chunk| self.shared.pool.give(chunk));
            }
        }
        while let Some(pipe) = &mut carried.pipe {
            let n = ready!(to.poll_drain(cx, pipe))?;
            self.entry.flow().direction(way).sent(n);
            if way == Way::Down {
                self.entry.deliver();
            }
            if pipe.held() == 0 {
                carried.pipe.take().into_iter().for_each(|pipe| self.shared.pool.give_pipe(pipe));
            }
        }
        if self.entry.flow().direction(way).must_finish() {
            to.finish()?;
            self.entry.flow().direction(way).finished();
        }
        Poll::Ready(Ok(()))
    }

    /// Takes bytes into a direction that holds none; returns how many, 0 at the end.
    fn poll_take(&mut self, cx: &mut Context, way: Way) -> Poll<std::io::Result<usize>> {
        let (carried, from, to): (_, &mut dyn Leg, &dyn Leg) = match way {
            Way::Up => (&mut self.up, &mut self.client, &self.server),
            Way::Down => (&mut self.down, &mut self.server, &self.client),
        };
        let received = self.entry.flow().direction(way).ledger().received;
        let pipes = carried.busy && received >= LONG && from.has_pipes() && to.has_pipes();
        if let Some(mut pipe) = pipes.then(|| self.shared.pool.take_pipe()).flatten() {
            let filled = from.poll_fill(cx, &mut pipe);
            if let Poll::Ready(Ok(n @ 1..)) = filled {
                carried.busy = n > LARGE / 8;
                carried.pipe = Some(pipe);
                self.entry.flow().direction(way).received(n);
                return Poll::Ready(Ok(n));
            }
            self.shared.pool.give_pipe(pipe);
            // Nothing came, which shows neither an end nor that there is nothing: reading does.
            ready!(filled)?;
            carried.busy = false;
        }
        let mut chunk = self.shared.pool.take(carried.busy);
        let room = chunk.room().len();
        let read = from.poll_read(cx, chunk.room());
        let Poll::Ready(Ok(n @ 1..)) = read else {
            self.shared.pool.give(chunk);
            return read;
        };
        carried.busy = n == room || (carried.busy && n > room / 8);
        chunk.add(n);
        carried.chunk = Some(chunk);
        self.entry.flow().direction(way).received(n);
        if way == Way::Down && !std::mem::replace(&mut self.answered, true) {
            self.shared.table.first_byte(self.entry.since.elapsed());
        }
        Poll::Ready(Ok(n))
    }

    /// A leg that has failed without anybody reading or writing there.
    fn failed(&self) -> Result<(), Failure> {
        for (error, gone) in [(self.client.error(), Way::Up), (self.server.error(), Way::Down)] {
            if let Some(why) = error {
                return Err(Failure::of(&why, gone));
            }
        }
        Ok(())
    }

    /// Waits until both sides have acknowledged everything.
    async fn flush(&mut self) -> Result<(), Failure> {
        self.entry.set_state(State::Closing);
        let begin = Instant::now();
        let mut pause = FLUSH.0;
        loop {
            if self.client.is_flushed() && self.server.is_flushed() {
                let lost = self.client.unacknowledged() + self.server.unacknowledged();
                return if lost > 0 { self.failed() } else { Ok(()) };
            }
            self.failed()?;
            if begin.elapsed() > self.patience() {
                return Err(Failure { end: End::Unacknowledged, gone: None });
            }
            sleep(pause).await;
            pause = (pause * 2).min(FLUSH.1);
        }
    }

    /// How long the last bytes may take.
    fn patience(&self) -> Duration {
        std_time(self.shared.timeouts().closing)
    }

    /// The side that sends in this direction is gone. What it had sent reaches the other side, and the reset behind it.
    async fn deliver(&mut self, way: Way) {
        self.entry.set_state(State::Closing);
        let patience = self.patience();
        let rest = async {
            poll_fn(|cx| self.poll_rest(cx, way)).await;
            match way {
                Way::Up => self.server.reset_behind(),
                Way::Down => self.client.reset_behind(),
            }
            let mut pause = FLUSH.0;
            while !self.is_delivered(way) {
                sleep(pause).await;
                pause = (pause * 2).min(FLUSH.1);
            }
        };
        let _ = timeout(patience, rest).await;
    }

    fn is_delivered(&self, way: Way) -> bool {
        match way {
            Way::Up => self.server.is_delivered(),
            Way::Down => self.client.is_delivered(),
        }
    }

    /// Hands on what a side that is gone had sent, as far as that can be. Such a socket may show an end, which is none.
    fn poll_rest(&mut self, cx: &mut Context, way: Way) -> Poll<()> {
        loop {
            let handed_on = ready!(self.poll_hand_on(cx, way));
            if handed_on.is_err() || !self.entry.flow().direction(way).is_open() {
                return Poll::Ready(());
            }
            if !matches!(ready!(self.poll_take(cx, way)), Ok(1..)) {
                return Poll::Ready(());
            }
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
        let (to_client, to_server) = (self.client.undelivered(), self.server.undelivered());
        let mut flow: Flow = *self.entry.flow();
        flow.up.abandoned(to_server);
        flow.down.abandoned(to_client);
        *self.entry.flow() = flow;
        self.client.reset();
        self.server.reset();
    }
}

/// Why bytes are carried no further.
#[derive(Clone, Copy)]
struct Failure {
    end: End,
    /// The direction in which nothing more comes, if a side is gone.
    gone: Option<Way>,
}

impl Failure {
    /// The leg from which a direction comes has failed.
    fn of(why: &std::io::Error, gone: Way) -> Failure {
        let reset = if gone == Way::Up { End::ClientReset } else { End::ServerReset };
        Failure { end: end_of(why, reset), gone: Some(gone) }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::leg::TcpLeg;
    use crate::table::{Ends, Entrance};
    use socket2::SockRef;
    use std::io::{Read, Write};
    use std::net::TcpStream;
    use tokio::net::TcpListener;

    /// A leg, and the socket at its other end.
    async fn pair() -> (TcpLeg, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        SockRef::from(&listener).set_send_buffer_size(64 << 10).unwrap();
        let far = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (near, _) = listener.accept().await.unwrap();
        (TcpLeg::new(near, &Timeouts::default()).unwrap(), far)
    }

    fn relay(client: TcpLeg, server: TcpLeg, timeouts: Timeouts) -> Relay<TcpLeg, TcpLeg> {
        let shared = Arc::new(Shared::new(Limits::default(), timeouts));
        let address = ([192, 0, 2, 1], 1).into();
        let ends = Ends { entrance: Entrance::Forward, client: address, server: address };
        let entry = shared.table.enter(ends).unwrap();
        Relay::new(client, server, entry, shared)
    }

    /// A server that answers and closes with bytes of the client unread ends with RST (RFC 1122 section 4.2.2.13). Whatever of the
    /// answer had come in front of it is read by the client, which then finds a reset and no end.
    #[tokio::test]
    async fn an_answer_in_front_of_a_reset_is_delivered() {
        for size in [400, 9_000, 200_000] {
            let ((client, mut browser), (server, mut origin)) = (pair().await, pair().await);
            let relay = relay(client, server, Timeouts::default());
            let entry = relay.entry.clone();
            let stop = watch::Sender::new(false);
            let running = tokio::spawn(relay.run(stop.subscribe()));
            browser.write_all(&[7; 30_000]).unwrap();
            let served = std::thread::spawn(move || {
                origin.read_exact(&mut [0; 4096]).unwrap();
                origin.write_all(&vec![9; size]).unwrap();
                // What its kernel has not sent, its own reset discards.
                std::thread::sleep(Duration::from_millis(300));
            });
            let got = tokio::task::spawn_blocking(move || {
                std::thread::sleep(Duration::from_millis(600));
                let (mut all, mut room) = (0, vec![0; 64 << 10]);
                loop {
                    match browser.read(&mut room) {
                        Ok(0) => return (all, None),
                        Ok(n) => all += n,
                        Err(why) => return (all, Some(why.kind())),
                    }
                }
            });
            assert_eq!(got.await.unwrap(), (size, Some(ErrorKind::ConnectionReset)));
            served.join().unwrap();
            assert_eq!(running.await.unwrap(), End::ServerReset);
            let down = entry.flow().down.ledger();
            assert_eq!((down.received, down.sent, down.lost), (size as u64, size as u64, 0));
            assert!(down.balances() && down.unacknowledged == 0, "{down:?}");
        }
    }

    /// The client reads nothing: the answer is waited for as long as the last bytes of a connection, and counted.
    #[tokio::test]
    async fn a_client_that_does_not_read_bounds_the_wait_before_a_reset() {
        let ((client, mut browser), (server, mut origin)) = (pair().await, pair().await);
        let closing = longhaul_units::Duration::from_millis(300);
        let relay = relay(client, server, Timeouts { closing, ..Timeouts::default() });
        let entry = relay.entry.clone();
        SockRef::from(&browser).set_recv_buffer_size(4096).unwrap();
        browser.write_all(&[7; 30_000]).unwrap();
        let served = std::thread::spawn(move || {
            origin.set_write_timeout(Some(Duration::from_millis(300))).unwrap();
            while origin.write(&[9; 64 << 10]).is_ok() {}
        });
        let stop = watch::Sender::new(false);
        let end = timeout(Duration::from_secs(10), relay.run(stop.subscribe())).await.unwrap();
        served.join().unwrap();
        assert_eq!(end, End::ServerReset);
        let down = entry.flow().down.ledger();
        assert!(down.balances() && down.lost + down.unacknowledged > 0, "{down:?}");
    }
}
