//! One node with the applications beside it: clients at the terminal, servers at the hub. It has neither links nor a clock, so that
//! the same jobs run in virtual time and over sockets.

use bytes::{Bytes, BytesMut};
use longhaul_hop::{Config, Event, FlowId, Node, Open, PeerId, ResetCode, Role};
use longhaul_units::Instant;
use std::collections::BTreeMap;
use std::net::{Ipv6Addr, SocketAddr};

/// A request and its answer over one flow. The server answers once it has the request as a whole.
#[derive(Clone, Copy, Debug)]
pub struct Job {
    pub at: Instant,
    pub request: u64,
    pub response: u64,
    /// Class of the flow, 0 for none.
    pub class: u16,
    /// The client begins to read only then, and never if this is [`Instant::FAR_FUTURE`].
    pub reads_from: Instant,
}

impl Job {
    pub fn new(at: Instant, request: u64, response: u64) -> Self {
        Job { at, request, response, class: 0, reads_from: Instant::ZERO }
    }

    /// An address that carries both lengths: the server may be in another process.
    fn destination(&self) -> SocketAddr {
        let lengths = u128::from(self.request) << 64 | u128::from(self.response);
        (Ipv6Addr::from_bits(lengths), 80).into()
    }

    fn of_destination(destination: SocketAddr) -> Self {
        let SocketAddr::V6(address) = destination else { panic!("no job opened {destination}") };
        let lengths = address.ip().to_bits();
        Job::new(Instant::ZERO, (lengths >> 64) as u64, lengths as u64)
    }
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Outcome {
    Pending,
    /// Seconds from the request to the last byte.
    Done(f64),
    Failed(ResetCode),
}

/// What an application at this end writes and reads on a flow.
#[derive(Clone, Copy, Debug)]
struct Stream {
    /// Its number among [`End::jobs`] (clients only).
    client_of: Option<usize>,
    to_write: u64,
    to_read: u64,
    written: u64,
    read: u64,
    /// A server's answer, written once the request is read.
    response: u64,
    reads_from: Instant,
}

pub struct End {
    pub node: Node,
    terminal: bool,
    /// Set as soon as flows can be opened.
    pub peer: Option<PeerId>,
    pub jobs: Vec<Job>,
    pub outcomes: Vec<Outcome>,
    pub events: Vec<(Instant, Event)>,
    /// UDP datagrams that the node sent, and their payload in bytes.
    pub sent: (u64, u64),
    streams: BTreeMap<FlowId, Stream>,
    content: Bytes,
    buffer: Vec<u8>,
}

/// Content by offset, so that a byte in the wrong place is detected.
fn content() -> Bytes {
    (0..1u32 << 20).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect::<Vec<_>>().into()
}

impl End {
    pub fn new(config: Config, seed: [u8; 32], now: Instant) -> Self {
        End {
            terminal: matches!(config.role, Role::Terminal { .. }),
            node: Node::new(config, seed, now).unwrap(),
            peer: None,
            jobs: vec![],
            outcomes: vec![],
            events: vec![],
            sent: (0, 0),
            streams: BTreeMap::new(),
            content: content(),
            buffer: vec![],
        }
    }

    /// The number of a job that [`Self::begin`] starts later.
    pub fn add(&mut self, job: Job) -> usize {
        self.jobs.push(job);
        self.outcomes.push(Outcome::Pending);
        self.jobs.len() - 1
    }

    pub fn begin(&mut self, now: Instant, job: usize) {
        let Some(peer) = self.peer else { panic!("the hop is not up") };
        let Job { request, response, reads_from, .. } = self.jobs[job];
        let open = Open {
            source: (Ipv6Addr::LOCALHOST, 1024 + (job % 60_000) as u16).into(),
            destination: self.jobs[job].destination(),
            dscp: 0,
            priority: 0,
            confirm: false,
        };
        let flow = self.node.open(now, peer, open).unwrap();
        self.node.classify(flow, self.jobs[job].class);
        let stream = Stream {
            client_of: Some(job),
            to_write: request,
            to_read: response,
            written: 0,
            read: 0,
            response: 0,
            reads_from,
        };
        self.streams.insert(flow, stream);
        self.write(now, flow);
    }

    pub fn handle_datagram(&mut self, now: Instant, from: SocketAddr, bytes: &[u8]) {
        self.node.handle_datagram(now, from, None, 0, BytesMut::from(bytes));
    }

    pub fn handle_timeout(&mut self, now: Instant) {
        if self.node.poll_timeout().is_some_and(|due| due <= now) {
            self.node.handle_timeout(now);
        }
    }

    /// Passes on the datagrams that may leave now.
    pub fn transmit(&mut self, now: Instant, mut send: impl FnMut(SocketAddr, &[u8])) {
        while let Some(transmit) = self.node.poll_transmit(now, &mut self.buffer) {
            assert_eq!(transmit.len, self.buffer.len());
            for bytes in self.buffer.chunks(transmit.segment_size.unwrap_or(transmit.len)) {
                self.sent.0 += 1;
                self.sent.1 += bytes.len() as u64;
                send(transmit.to, bytes);
            }
        }
    }

    /// Hands the node's events to the applications. False if there was none.
    pub fn serve(&mut self, now: Instant) -> bool {
        let mut any = false;
        while let Some(event) = self.node.poll_event() {
            any = true;
            self.take(now, event);
        }
        any
    }

    fn take(&mut self, now: Instant, event: Event) {
        match &event {
            Event::Connected { peer } if self.terminal => self.peer = Some(*peer),
            Event::Up { peer, .. } => self.peer = Some(*peer),
            Event::Down { .. } => self.peer = None,
            Event::Opened { flow, open, .. } => self.answer(*flow, Job::of_destination(open.destination)),
            Event::Readable { flow } => self.read(now, *flow),
            Event::Writable { flow } => self.write(now, *flow),
            Event::Finished { flow } => self.finished(now, *flow),
            Event::Reset { flow, code, .. } | Event::Refused { flow, reason: code } => {
                if let Some(job) = self.streams.get(flow).and_then(|stream| stream.client_of) {
                    self.outcomes[job] = Outcome::Failed(*code);
                }
            }
            _ => {}
        }
        self.events.push((now, event));
    }

    fn answer(&mut self, flow: FlowId, job: Job) {
        let stream = Stream {
            client_of: None,
            to_write: 0,
            to_read: job.request,
            written: 0,
            read: 0,
            response: job.response,
            reads_from: Instant::ZERO,
        };
        self.streams.insert(flow, stream);
    }

    fn write(&mut self, now: Instant, flow: FlowId) {
        let Some(stream) = self.streams.get_mut(&flow) else { return };
        while stream.written < stream.to_write {
            let at = (stream.written % (1 << 20)) as usize;
            let length = ((1 << 20) - at).min((stream.to_write - stream.written) as usize);
            let mut bytes = self.content.slice(at..at + length);
            let taken = self.node.write(now, flow, &mut bytes);
            stream.written += taken as u64;
            if taken < length {
                return;
            }
        }
        self.node.finish(now, flow);
    }

    fn read(&mut self, now: Instant, flow: FlowId) {
        let Some(stream) = self.streams.get_mut(&flow).filter(|stream| stream.reads_from <= now) else {
            return;
        };
        while let Some(bytes) = self.node.read(now, flow, 1 << 16) {
            let at = (stream.read % (1 << 20)) as usize;
            let first = bytes.len().min((1 << 20) - at);
            assert!(bytes[..first] == self.content[at..at + first], "a wrong byte");
            assert!(bytes[first..] == self.content[..bytes.len() - first], "a wrong byte");
            stream.read += bytes.len() as u64;
        }
        if stream.client_of.is_none()
            && stream.read >= stream.to_read
            && stream.to_write == 0
            && stream.response > 0
        {
            stream.to_write = stream.response;
            self.write(now, flow);
        }
    }

    fn finished(&mut self, now: Instant, flow: FlowId) {
        let stream = self.streams[&flow];
        assert_eq!(stream.read, stream.to_read, "the end stands for missing bytes");
        match stream.client_of {
            Some(job) => self.outcomes[job] = Outcome::Done(now.since(self.jobs[job].at).as_secs_f64()),
            None if stream.response == 0 => self.write(now, flow),
            None => {}
        }
    }

    pub fn pending(&self) -> bool {
        self.outcomes.contains(&Outcome::Pending)
    }

    /// Bytes that a job's client has read.
    pub fn read_by(&self, job: usize) -> u64 {
        self.streams.values().find(|stream| stream.client_of == Some(job)).map_or(0, |stream| stream.read)
    }

    /// The flow of a job that has begun.
    pub fn flow_of(&self, job: usize) -> FlowId {
        *self.streams.iter().find(|(_, stream)| stream.client_of == Some(job)).expect("it has begun").0
    }

    pub fn seconds(&self, job: usize) -> f64 {
        match self.outcomes[job] {
            Outcome::Done(seconds) => seconds,
            other => panic!("job {job}: {other:?}"),
        }
    }
}
