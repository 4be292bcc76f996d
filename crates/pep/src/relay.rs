//! Carries bytes between the two legs of a connection until both directions have ended, or one leg fails.

use crate::config::{Limits, Timeouts};
use crate::flow::{End, Flow, Waiting, Way};
use crate::leg::Leg;
use crate::pipe::Pipe;
use crate::pool::{Chunk, Pool};
use crate::table::{Entry, State, Table};
use std::future::poll_fn;
use std::io::{self, ErrorKind};
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

/// What all connections share.
pub(crate) struct Shared {
    pub pool: Pool,
    pub table: Table,
    timeouts: Mutex<Timeouts>,
}

impl Shared {
    pub fn new(limits: Limits, timeouts: Timeouts) -> Shared {
        let pool = Pool::new(limits.memory.as_bytes() as usize, limits.flows);
        Shared { pool, table: Table::new(limits), timeouts: Mutex::new(timeouts) }
    }

    pub fn timeouts(&self) -> Timeouts {
        *self.timeouts.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    pub fn set_timeouts(&self, timeouts: Timeouts) {
        *self.timeouts.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = timeouts;
    }
}

/// A direction goes through a pipe as long as it moves so much at a time. Smaller pieces would keep whole pages of the kernel
/// each.
const WORTH_A_PIPE: usize = 32 << 10;

/// What a direction holds.
enum Held {
    Copied(Chunk),
    Piped(Pipe),
}

/// One direction on its way: the bytes that it holds.
#[derive(Default)]
struct Carried {
    held: Option<Held>,
    /// The last read filled its buffer: the next is worth a large one.
    busy: bool,
    /// It filled a large one: the next is worth a pipe.
    bulk: bool,
}

impl Carried {
    /// Gives what is held to a leg, until nothing is left.
    fn poll_hand_on(
        &mut self,
        cx: &mut Context,
        to: &mut dyn Leg,
        pool: &Pool,
        mut handed: impl FnMut(usize),
    ) -> Poll<io::Result<()>> {
        while let Some(held) = &mut self.held {
            let (n, left) = match held {
                Held::Copied(chunk) => {
                    let n = ready!(to.poll_write(cx, chunk.filled()))?;
                    chunk.remove(n);
                    (n, chunk.filled().len())
                }
                Held::Piped(pipe) => {
                    let Some(socket) = to.socket() else { unreachable!("pipes lead to sockets") };
                    let n = ready!(pipe.poll_drain(cx, socket))?;
                    (n, pipe.held())
                }
            };
            handed(n);
            if left == 0 {
                self.give_back(pool);
            }
        }
        Poll::Ready(Ok(()))
    }

    /// Gives the memory back.
    fn give_back(&mut self, pool: &Pool) {
        match self.held.take() {
            Some(Held::Copied(chunk)) => pool.give(chunk),
            Some(Held::Piped(pipe)) => pool.give_pipe(pipe),
            None => {}
        }
    }

    /// Takes what is there through a pipe, if that is worth it; `None` if an ordinary read is to follow.
    fn take_by_pipe(&mut self, from: &dyn Leg, to: &dyn Leg, pool: &Pool) -> Option<usize> {
        let (true, Some(socket), Some(_)) = (self.bulk, from.socket(), to.socket()) else { return None };
        let mut pipe = pool.take_pipe()?;
        let n = pipe.fill(socket);
        if n == 0 {
            pool.give_pipe(pipe);
            return None;
        }
        self.bulk = n >= WORTH_A_PIPE;
        self.held = Some(Held::Piped(pipe));
        Some(n)
    }

    /// Takes what is there into a buffer; 0 is the end of the stream.
    fn poll_take(&mut self, cx: &mut Context, from: &mut dyn Leg, pool: &Pool) -> Poll<io::Result<usize>> {
        let mut chunk = pool.take(self.busy);
        let room = chunk.room().len();
        let read = from.poll_read(cx, chunk.room());
        let Poll::Ready(Ok(n @ 1..)) = read else {
            pool.give(chunk);
            return read;
        };
        self.busy = n == room || (self.busy && n > room / 8);
        self.bulk = chunk.is_large() && (n == room || (self.bulk && n >= WORTH_A_PIPE));
        chunk.add(n);
        self.held = Some(Held::Copied(chunk));
        read
    }
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
}

impl<C: Leg, S: Leg> Relay<C, S> {
    pub fn new(client: C, server: S, entry: Arc<Entry>, shared: Arc<Shared>) -> Relay<C, S> {
        let (up, down) = (Carried::default(), Carried::default());
        Relay { client, server, entry, shared, up, down, answered: false }
    }

    /// Bytes of the client that have come already.
    pub fn with_bytes(mut self, bytes: &[u8]) -> Relay<C, S> {
        if !bytes.is_empty() {
            let mut chunk = self.shared.pool.take(false);
            chunk.room()[..bytes.len()].copy_from_slice(bytes);
            chunk.add(bytes.len());
            self.entry.flow().up.received(bytes.len());
            self.up.held = Some(Held::Copied(chunk));
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
        let up = self.poll_way(cx, Way::Up);
        if let Poll::Ready(Err(end)) = up {
            return Poll::Ready(Err(end));
        }
        let down = self.poll_way(cx, Way::Down);
        match (up, down) {
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
            let handed = |n| self.entry.flow().direction(way).sent(n);
            ready!(carried.poll_hand_on(cx, to, &self.shared.pool, handed))
                .map_err(|why| end_of(&why, to_failed))?;
            let direction = *self.entry.flow().direction(way);
            if direction.must_finish() {
                to.finish().map_err(|why| end_of(&why, to_failed))?;
                self.entry.flow().direction(way).finished();
                return Poll::Ready(Ok(()));
            }
            if direction.is_finished() {
                return Poll::Ready(Ok(()));
            }
            let n = match carried.take_by_pipe(from, to, &self.shared.pool) {
                Some(n) => n,
                None => ready!(carried.poll_take(cx, from, &self.shared.pool))
                    .map_err(|why| end_of(&why, from_failed))?,
            };
            if n == 0 {
                self.entry.flow().direction(way).ended();
                continue;
            }
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
    fn finish(mut self, end: End) {
        self.up.give_back(&self.shared.pool);
        self.down.give_back(&self.shared.pool);
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
pub(crate) fn end_of(why: &io::Error, reset: End) -> End {
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
    use std::net::{Shutdown, SocketAddr};
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::{TcpListener, TcpStream};

    const SIZE: usize = 24 << 20;

    fn noise(len: usize) -> Vec<u8> {
        let mut state = 7u64;
        let next = |_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 56) as u8
        };
        (0..len).map(next).collect()
    }

    /// The two ends of a connection over loopback.
    async fn pair() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let one = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        (one, listener.accept().await.unwrap().0)
    }

    /// A relay at work between a client and a server.
    async fn relayed(
        memory: &str,
    ) -> (TcpStream, TcpStream, Arc<Shared>, Arc<Entry>, tokio::task::JoinHandle<End>) {
        let text = format!(
            "mode = \"split\"\nsocks = \"127.0.0.1:1\"\n[limits]\nflows = 10\nmemory = \"{memory}\"\n"
        );
        let config = crate::load::parse(&text, "pep.toml").unwrap();
        let shared = Arc::new(Shared::new(config.limits, config.timeouts));
        let anywhere: SocketAddr = "192.0.2.1:1".parse().unwrap();
        let ends = Ends { entrance: Entrance::Forward, client: anywhere, server: anywhere };
        let entry = shared.table.enter(ends).unwrap_or_else(|_| unreachable!());
        let ((client, near), (far, server)) = (pair().await, pair().await);
        let leg = |stream| TcpLeg::new(stream, &config.timeouts).unwrap();
        let relay = Relay::new(leg(near), leg(far), entry.clone(), shared.clone());
        let (sender, stop) = watch::channel(false);
        let task = tokio::spawn(async move {
            let _alive = sender;
            relay.run(stop).await
        });
        (client, server, shared, entry, task)
    }

    /// Writes while a receiver reads with pauses, so that the kernel's buffers are full at times and empty at others.
    async fn carried(from: &mut TcpStream, to: &mut TcpStream, bytes: &[u8]) -> Vec<u8> {
        let reads = async {
            let (mut came, mut room) = (Vec::with_capacity(bytes.len()), vec![0; 1 << 20]);
            loop {
                let n = to.read(&mut room).await.unwrap();
                if n == 0 {
                    return came;
                }
                if came.len() / (4 << 20) != (came.len() + n) / (4 << 20) {
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
                came.extend_from_slice(&room[..n]);
            }
        };
        let writes = async {
            from.write_all(bytes).await.unwrap();
            SockRef::from(&*from).shutdown(Shutdown::Write).unwrap();
        };
        tokio::join!(reads, writes).0
    }

    #[tokio::test]
    async fn bulk_goes_through_pipes_and_every_byte_arrives() {
        for (memory, piped) in [("64 MB", true), ("1 MB", false)] {
            let (mut client, mut server, shared, entry, task) = relayed(memory).await;
            let bytes = noise(SIZE);
            assert!(carried(&mut client, &mut server, &bytes).await == bytes, "up, {memory}");
            assert!(carried(&mut server, &mut client, &bytes).await == bytes, "down, {memory}");
            assert_eq!(task.await.unwrap(), End::Complete);
            assert_eq!(shared.pool.kept_pipes() > 0, piped, "{memory}");
            assert_eq!(shared.pool.in_use(), 0);
            let flow = *entry.flow();
            let (up, down) = (flow.up.ledger(), flow.down.ledger());
            assert_eq!(
                (up.received, up.sent, down.received, down.sent),
                (SIZE as u64, SIZE as u64, SIZE as u64, SIZE as u64)
            );
        }
    }

    /// splice(2) stops in front of an urgent byte, and returns 0 there once the stream has ended: neither is the end.
    #[tokio::test]
    async fn urgent_bytes_among_piped_ones_keep_their_place() {
        let (client, mut server, shared, _, task) = relayed("64 MB").await;
        let bytes = noise(SIZE);
        let sent = bytes.clone();
        let client = client.into_std().unwrap();
        client.set_nonblocking(false).unwrap();
        let writer = std::thread::spawn(move || {
            let socket = SockRef::from(&client);
            for part in sent.chunks(sent.len() / 7 + 1) {
                let (urgent, before) = part.split_last().unwrap();
                std::io::Write::write_all(&mut &client, before).unwrap();
                assert_eq!(socket.send_out_of_band(&[*urgent]).unwrap(), 1);
            }
            socket.shutdown(Shutdown::Write).unwrap();
            client
        });
        let mut came = vec![];
        server.read_to_end(&mut came).await.unwrap();
        assert_eq!(came.len(), bytes.len());
        assert!(came == bytes);
        drop((server, writer.join().unwrap()));
        assert_eq!(task.await.unwrap(), End::Complete);
        assert!(shared.pool.kept_pipes() > 0);
    }

    #[tokio::test]
    async fn what_is_in_a_pipe_at_a_reset_counts_as_lost() {
        let (mut client, server, shared, entry, task) = relayed("64 MB").await;
        let bytes = noise(SIZE);
        let stuck = tokio::time::timeout(Duration::from_secs(2), client.write_all(&bytes)).await;
        assert!(stuck.is_err(), "nobody reads");
        assert!(shared.pool.in_use() > 0);
        SockRef::from(&client).set_linger(Some(Duration::ZERO)).unwrap();
        drop((client, server));
        assert_ne!(task.await.unwrap(), End::Complete);
        assert_eq!(shared.pool.in_use(), 0);
        let up = entry.flow().up.ledger();
        assert!(up.balances() && up.lost > 0 && up.held == 0, "{up:?}");
    }
}
