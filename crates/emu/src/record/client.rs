//! The measuring end: probes all the time, then a flow each way, then what the far end has counted.

use super::bins::{BIN, Bins, Pace};
use super::probes::Probe;
use super::server::{LONGEST_FLOW, MOST_PROBES};
use super::socket::Socket;
use super::wire::{BLOCK, Count, Key, Message, QUESTION, Refusal, Sealed, Session};
use super::{DATA, on_the_path};
use crate::Error;
use crate::clock::Clock;
use crate::signals::Signals;
use longhaul_units::{Duration, Instant, Rate};
use std::net::{SocketAddr, ToSocketAddrs, UdpSocket};
use std::sync::atomic::Ordering;

/// A question is repeated after this time, or after a round trip if that is longer.
const REPEAT: Duration = Duration::from_millis(500);
/// Nobody answers within this time: nobody is there.
const PATIENCE: Duration = Duration::from_secs(15);
/// How long it sleeps at most, so that a signal is noticed.
const LONGEST_SLEEP: Duration = Duration::from_millis(50);
/// Questions about what the far end has counted that are under way at once.
const AT_ONCE: usize = 16;
/// A late echo is waited for so long, and no longer: a queue of 10 s.
const LATEST: Duration = Duration::from_secs(10);
/// Without any echo for so long it is said that nothing comes back.
const SILENCE: Duration = Duration::from_secs(20);

/// What to measure.
pub struct Options {
    /// The far end, with its port.
    pub server: String,
    /// The shared secret.
    pub secret: Vec<u8>,
    /// How long probes are sent alone, and each flow.
    pub duration: Duration,
    /// Between two probes.
    pub interval: Duration,
    /// Bytes of a probe.
    pub size: usize,
    /// Of the flows, if there are any.
    pub rate: Option<Rate>,
    /// What is done, how much of it is over, and how long it takes.
    pub progress: Option<fn(&Progress)>,
    /// Warnings.
    pub notice: fn(&str),
}

/// How far it is.
pub struct Progress {
    /// What is done.
    pub stage: &'static str,
    /// Time until the end.
    pub left: Duration,
    /// The latest round trip.
    pub rtt: Option<Duration>,
    /// Probes that were sent and those that were answered.
    pub sent: usize,
    /// See above.
    pub answered: usize,
}

/// A flow that came.
#[derive(Clone, Debug, Default)]
pub struct Flow {
    /// Bytes in each 10 ms since its first packet, with headers.
    pub bytes: Vec<u32>,
    /// Packets that were sent, and those that came; not there where this is not known.
    pub packets: Option<[u64; 2]>,
    /// How long its sender was held up.
    pub held_up: Duration,
}

/// What was measured.
#[derive(Clone, Debug, Default)]
pub struct Recorded {
    /// The far end.
    pub peer: Option<SocketAddr>,
    /// All probes in the order of sending.
    pub probes: Vec<Probe>,
    /// Echoes that came twice.
    pub twice: usize,
    /// Echoes that came after one of a later probe.
    pub overtaken: usize,
    /// Probes that were not sent, since this process stood still.
    pub skipped: u64,
    /// From the far end, and to it.
    pub down: Option<Flow>,
    /// See above.
    pub up: Option<Flow>,
    /// Datagrams that this machine lost itself.
    pub overflown: u32,
    /// Time of day at the begin, in ns since 1970.
    pub began: u64,
    /// A signal has ended it before its time.
    pub is_cut: bool,
    /// What there is to know about it.
    pub notes: Vec<String>,
}

/// The work of one recording.
struct Client<'a> {
    options: &'a Options,
    signals: &'a Signals,
    socket: Socket,
    clock: Clock,
    /// Time of day when the clock stood at zero, in ns since 1970: if it is set later, no delay changes by that.
    zero: u64,
    peer: SocketAddr,
    session: Session,
    key: Key,
    buffer: Vec<u8>,
    recorded: Recorded,
    /// The greatest number of a probe that was answered.
    latest: Option<usize>,
    answered: usize,
    rtt: Option<Duration>,
    longest: Duration,
    last_echo: Instant,
    is_silent: bool,
    next_probe: Instant,
    /// A flow is on the path.
    loaded: bool,
    /// The flow that comes, and its number.
    coming: Option<(u8, Bins)>,
    last_data: Instant,
    /// Other answers that have come.
    answers: Vec<Message>,
    stage: &'static str,
    /// When all is over, as far as it is known.
    end: Instant,
    next_progress: Instant,
}

/// Measures. What was measured until a signal is kept; a second one ends the questions about what the far end has counted.
///
/// # Errors
/// Nobody answers, the far end refuses, or what the system refuses.
pub fn record(options: &Options, signals: &Signals) -> Result<Recorded, Error> {
    let probes = options.duration.as_nanos().div_ceil(options.interval.as_nanos().max(1));
    let all = if options.rate.is_some() { probes.saturating_mul(4) } else { probes };
    // Those while something is waited for, too.
    let all = u32::try_from(all.saturating_add(100_000)).unwrap_or(u32::MAX);
    if all > MOST_PROBES || options.duration > LONGEST_FLOW && options.rate.is_some() {
        return Err(Error::Unsupported(
            "that is too long for one recording: at most 3,900,000 probes, and an hour with --rate"
                .to_string(),
        ));
    }
    let (peer, socket) = reached(&options.server)?;
    let clock = Clock::start();
    let mut client = Client {
        options,
        signals,
        socket: Socket::new(socket, clock)?,
        clock,
        zero: clock.time_of_day().as_nanos(),
        peer,
        session: super::random()?,
        key: Key::of_secret(&options.secret),
        buffer: vec![0; 2048],
        recorded: Recorded { peer: Some(peer), ..Recorded::default() },
        latest: None,
        answered: 0,
        rtt: None,
        longest: Duration::ZERO,
        last_echo: Instant::ZERO,
        is_silent: false,
        next_probe: Instant::ZERO,
        loaded: false,
        coming: None,
        last_data: Instant::ZERO,
        answers: vec![],
        stage: "asks the far end",
        end: Instant::FAR_FUTURE,
        next_progress: Instant::ZERO,
    };
    client.open(all)?;
    client.measure();
    client.ask_for_counts();
    let mut recorded = client.recorded;
    recorded.overflown = client.socket.overflown;
    Ok(recorded)
}

fn reached(server: &str) -> Result<(SocketAddr, UdpSocket), Error> {
    let failed = |why: String| Error::system(format!("reach {server}"), why);
    let mut last = "it has no address".to_string();
    for peer in server.to_socket_addrs().map_err(|why| failed(why.to_string()))? {
        let any: SocketAddr = if peer.is_ipv4() { ([0, 0, 0, 0], 0).into() } else { ([0u16; 8], 0).into() };
        // Connected, so that nobody else's datagrams come; and a way is looked for now.
        match UdpSocket::bind(any).and_then(|socket| socket.connect(peer).map(|()| socket)) {
            Ok(socket) => return Ok((peer, socket)),
            Err(why) => last = why.to_string(),
        }
    }
    Err(failed(last))
}

impl Client<'_> {
    fn send(&self, message: &Message, len: usize) -> bool {
        self.socket.send(self.peer, &message.sealed(&self.session, &self.key, len))
    }

    fn stopped(&self) -> bool {
        self.signals.stop.load(Ordering::Relaxed)
    }

    /// Asks until one of the answers is `wanted`. `None` if there is none in time, or a signal has come.
    fn ask<T>(&mut self, question: &Message, wanted: impl Fn(&Message) -> Option<T>) -> Option<T> {
        let give_up = self.clock.now() + PATIENCE;
        let mut again = Instant::ZERO;
        while self.clock.now() < give_up && !self.stopped() {
            if self.clock.now() >= again {
                self.send(question, QUESTION);
                again = self.clock.now() + REPEAT.max(self.rtt.unwrap_or_default() * 2);
            }
            self.turn(again, None);
            for answer in std::mem::take(&mut self.answers) {
                if let Some(found) = wanted(&answer) {
                    return Some(found);
                }
            }
        }
        None
    }

    /// Begins a session.
    fn open(&mut self, probes: u32) -> Result<(), Error> {
        let nobody = |client: &Client<'_>| {
            if client.stopped() {
                return Error::Interrupted;
            }
            let why = format!(
                "nobody answers there within {} s: `longhaul-emu record --serve` runs there with the same secret? UDP gets through?",
                PATIENCE.as_secs_f64()
            );
            Error::system(format!("record the path to {}", client.options.server), why)
        };
        let cookie = self
            .ask(&Message::Hello, |answer| match answer {
                Message::Cookie { cookie } => Some(*cookie),
                _ => None,
            })
            .ok_or_else(|| nobody(self))?;
        let begun = self
            .ask(&Message::Start { cookie, probes }, |answer| match answer {
                Message::Accepted { rate, data } => Some(Ok((*rate, *data))),
                Message::Refused(why) => Some(Err(*why)),
                _ => None,
            })
            .ok_or_else(|| nobody(self))?;
        let refused = |why: Refusal| Error::Unsupported(format!("the far end refuses: {}", in_words(why)));
        let (rate, _) = begun.map_err(refused)?;
        self.key = self.key.derived(&[b"session", &self.session, &cookie]);
        if let Some(wanted) = self.options.rate.filter(|wanted| wanted.as_bps() > rate) {
            let permits = match rate {
                0 => "no flow (start it with --rate-at-most)".to_string(),
                rate => format!("flows of up to {}", Rate::from_bps(rate)),
            };
            self.send(&Message::End, QUESTION);
            return Err(Error::Unsupported(format!("--rate {wanted}: the far end permits {permits}")));
        }
        Ok(())
    }

    fn measure(&mut self) {
        let duration = self.options.duration;
        let begin = self.clock.now();
        self.recorded.began = self.zero + begin.as_nanos();
        (self.next_probe, self.last_echo) = (begin, begin);
        let both = if self.options.rate.is_some() { duration * 2 } else { Duration::ZERO };
        self.end = begin + duration + both;
        self.stage = "probes";
        self.run_until(begin + duration, None);
        if let Some(rate) = self.options.rate {
            for (number, down) in [(1, true), (2, false)] {
                if self.stopped() {
                    break;
                }
                self.stage = if down { "a flow from there" } else { "a flow to there" };
                self.flow(number, down, rate);
            }
        }
        self.recorded.is_cut = self.stopped();
        // What is under way is not lost.
        self.next_probe = Instant::FAR_FUTURE;
        let wait = (self.longest * 2 + Duration::from_millis(200)).min(LATEST);
        let until = self.clock.now() + wait;
        let first = self.signals.requests().1;
        while self.clock.now() < until
            && self.answered < self.recorded.probes.len()
            && self.signals.requests().1 <= first.max(1)
        {
            self.turn(until, None);
        }
    }

    fn flow(&mut self, number: u8, down: bool, rate: Rate) {
        let duration = self.options.duration;
        let question =
            Message::Flow { number, down, rate: rate.as_bps(), size: DATA, nanos: duration.as_nanos() };
        self.loaded = true;
        if down {
            self.coming = Some((number, Bins::of(duration)));
        }
        let permitted = self.ask(&question, |answer| match answer {
            Message::Flowing { number: of } if *of == number => Some(Ok(())),
            Message::NoFlow { number: of, why } if *of == number => Some(Err(*why)),
            _ => None,
        });
        let way = if down { "from there" } else { "to there" };
        match permitted {
            Some(Ok(())) => {}
            Some(Err(why)) => {
                self.recorded.notes.push(format!("no flow {way}: {}", in_words(why)));
                self.loaded = false;
                return;
            }
            None => {
                if !self.stopped() {
                    self.recorded.notes.push(format!("no flow {way}: no answer to the request for it"));
                }
                self.loaded = false;
                return;
            }
        }
        let begin = self.clock.now();
        if down {
            self.last_data = begin;
            self.run_until(begin + duration, None);
            // Until the queue is empty.
            while !self.stopped()
                && self.clock.now() < begin + duration + LATEST
                && self.clock.now().since(self.last_data) < Duration::from_millis(500) + self.longest
            {
                self.turn(self.clock.now() + LONGEST_SLEEP, None);
            }
            let bins = self.coming.take().map(|(_, bins)| bins).unwrap_or_default();
            self.recorded.down = Some(Flow {
                bytes: bins.bytes().to_vec(),
                packets: Some([u64::from(bins.numbers), bins.packets]),
                held_up: Duration::ZERO,
            });
        } else {
            let len = on_the_path(self.peer, usize::from(DATA));
            let mut pace = Pace::of(rate, len, begin, duration);
            self.run_until(begin + duration, Some((&mut pace, number)));
            self.recorded.up = Some(Flow {
                bytes: vec![],
                packets: Some([u64::from(pace.number), 0]),
                held_up: pace.held_up,
            });
            // Until the queue is empty.
            let until = self.clock.now() + (self.longest + Duration::from_millis(500)).min(LATEST);
            self.run_until(until, None);
        }
        self.loaded = false;
    }

    fn run_until(&mut self, until: Instant, mut pace: Option<(&mut Pace, u8)>) {
        while self.clock.now() < until && !self.stopped() {
            self.turn(until, pace.as_mut().map(|(pace, number)| (&mut **pace, *number)));
        }
    }

    /// Sends what is due, takes what has come, and waits for more, at most until then.
    fn turn(&mut self, until: Instant, pace: Option<(&mut Pace, u8)>) {
        self.probe();
        let mut next = until.min(self.next_probe).min(self.clock.now() + LONGEST_SLEEP);
        if let Some((pace, flow)) = pace {
            // Probes are not to wait for more than a few.
            for _ in 0..64 {
                let Some(number) = pace.take(self.clock.now()) else { break };
                self.send(&Message::Data { flow, number }, usize::from(DATA));
            }
            next = next.min(pace.due().unwrap_or(Instant::FAR_FUTURE));
        }
        self.receive();
        self.report();
        if next > self.clock.now() {
            self.socket.wait(next);
            self.receive();
        }
    }

    fn probe(&mut self) {
        let now = self.clock.now();
        if self.next_probe == Instant::FAR_FUTURE || self.next_probe == Instant::ZERO || now < self.next_probe
        {
            return;
        }
        let interval = self.options.interval;
        let number = self.recorded.probes.len() as u32;
        let loaded = self.loaded;
        self.recorded.probes.push(Probe { sent: now, loaded, ..Probe::default() });
        let message = Message::Probe { number };
        let bytes = message.sealed(&self.session, &self.key, self.options.size);
        if let Some(probe) = self.recorded.probes.last_mut() {
            probe.sent = self.clock.now();
        }
        if !self.socket.send(self.peer, &bytes)
            && let Some(probe) = self.recorded.probes.last_mut()
        {
            probe.arrived = Some(false);
        }
        self.next_probe += interval;
        let behind = now.since(self.next_probe).as_nanos() / interval.as_nanos().max(1);
        if behind > 0 {
            self.recorded.skipped += behind;
            self.next_probe += interval * behind;
        }
        if now.since(self.last_echo) > SILENCE && !self.is_silent {
            self.is_silent = true;
            (self.options.notice)(
                "nothing has come back for 20 s; it goes on, and what is lost counts as lost",
            );
        }
    }

    fn receive(&mut self) {
        let mut buffer = std::mem::take(&mut self.buffer);
        while let Some(received) = self.socket.receive(&mut buffer) {
            let Some(sealed) =
                Sealed::of(&buffer[..received.len]).filter(|sealed| sealed.session == self.session)
            else {
                continue;
            };
            match sealed.open(&self.key) {
                Some(Message::Echo { number, came_at, held }) => {
                    self.echo(received.at, number, came_at, held)
                }
                Some(Message::Data { flow, number }) => {
                    let len = on_the_path(self.peer, received.len);
                    if let Some((_, bins)) = self.coming.as_mut().filter(|(number, _)| *number == flow) {
                        bins.count(received.at, len, number);
                        self.last_data = received.at;
                    }
                }
                Some(answer) => self.answers.push(answer),
                None => {}
            }
        }
        self.buffer = buffer;
    }

    fn echo(&mut self, at: Instant, number: u32, came_at: u64, held: u64) {
        let place = number as usize;
        let Some(probe) = self.recorded.probes.get_mut(place) else { return };
        if probe.rtt.is_some() {
            self.recorded.twice += 1;
            return;
        }
        let rtt = Duration::from_nanos(at.since(probe.sent).as_nanos().saturating_sub(held));
        probe.rtt = Some(rtt);
        probe.arrived = Some(true);
        let there = came_at as i64 - (self.zero + probe.sent.as_nanos()) as i64;
        probe.one_way = Some([there, rtt.as_nanos() as i64 - there]);
        self.answered += 1;
        self.rtt = Some(rtt);
        self.longest = self.longest.max(rtt);
        (self.last_echo, self.is_silent) = (at, false);
        match self.latest {
            Some(latest) if latest > place => self.recorded.overtaken += 1,
            _ => self.latest = Some(place),
        }
    }

    fn report(&mut self) {
        let now = self.clock.now();
        let Some(progress) = self.options.progress.filter(|_| now >= self.next_progress) else { return };
        self.next_progress = now + REPEAT;
        let left = if self.end == Instant::FAR_FUTURE { Duration::ZERO } else { self.end.since(now) };
        let (sent, answered, rtt, stage) = (self.recorded.probes.len(), self.answered, self.rtt, self.stage);
        progress(&Progress { stage, left, rtt, sent, answered });
    }

    /// Asks which probes have arrived there, where some were lost, and for the flow that was sent there.
    fn ask_for_counts(&mut self) {
        self.stage = "asks what was counted there";
        let in_block = BLOCK * 8;
        let mut blocks: Vec<(Count, u32)> = vec![];
        for (number, probe) in self.recorded.probes.iter().enumerate() {
            let block = (Count::Probes, (number / in_block) as u32);
            if probe.rtt.is_none() && blocks.last() != Some(&block) {
                blocks.push(block);
            }
        }
        if self.recorded.up.is_some() {
            let most = Bins::of(self.options.duration).most() / (BLOCK / 4) + 1;
            blocks.extend((0..most as u32).map(|block| (Count::Bins, block)));
        }
        let mut found: Vec<Option<Vec<u8>>> = vec![None; blocks.len()];
        let requests = self.signals.requests().1;
        let give_up = PATIENCE.max(self.longest * 10);
        let mut heard = self.clock.now();
        let mut again = Instant::ZERO;
        // The part that has less in it than would fit is the last one.
        let mut bins_until = u32::MAX;
        loop {
            let missing: Vec<(Count, u32)> = blocks
                .iter()
                .zip(&found)
                .filter(|((what, block), found)| {
                    found.is_none() && (*what == Count::Probes || *block <= bins_until)
                })
                .map(|(block, _)| *block)
                .take(AT_ONCE)
                .collect();
            let now = self.clock.now();
            if missing.is_empty() || now.since(heard) > give_up || self.signals.requests().1 > requests {
                if !missing.is_empty() {
                    self.recorded.notes.push(
                        "what the far end has counted is not known in full: it did not answer, or a second signal came".to_string(),
                    );
                }
                break;
            }
            if now >= again {
                for (what, block) in &missing {
                    self.send(&Message::Ask { what: *what, block: *block }, QUESTION);
                }
                again = now + REPEAT.max(self.rtt.unwrap_or_default() * 2);
            }
            self.turn(again, None);
            for answer in std::mem::take(&mut self.answers) {
                let Message::Block { what, block, bytes } = answer else { continue };
                let Some(place) = blocks.iter().position(|one| *one == (what, block)) else { continue };
                if what == Count::Bins && bytes.len() < BLOCK {
                    bins_until = bins_until.min(block);
                }
                found[place] = Some(bytes);
                heard = self.clock.now();
                // The next ones at once, when the last of these is there.
                if missing.iter().all(|one| {
                    blocks.iter().position(|block| block == one).is_some_and(|place| found[place].is_some())
                }) {
                    again = Instant::ZERO;
                }
            }
        }
        self.note_counts(&blocks, found);
        for _ in 0..2 {
            self.send(&Message::End, QUESTION);
        }
    }

    fn note_counts(&mut self, blocks: &[(Count, u32)], found: Vec<Option<Vec<u8>>>) {
        let mut bins: Vec<u32> = vec![];
        let mut are_whole = true;
        for ((what, block), bytes) in blocks.iter().zip(found) {
            match (what, bytes) {
                (Count::Probes, Some(bytes)) => {
                    let begin = *block as usize * BLOCK * 8;
                    let probes = self.recorded.probes.iter_mut().skip(begin).take(BLOCK * 8).enumerate();
                    for (place, probe) in probes.filter(|(_, probe)| probe.rtt.is_none()) {
                        // Words of 64 bits, the lowest bit first.
                        let byte = bytes.get(place / 64 * 8 + 7 - place % 64 / 8);
                        probe.arrived = byte.map(|byte| byte >> (place % 8) & 1 == 1);
                    }
                }
                (Count::Bins, Some(bytes)) if are_whole => {
                    let words = bytes
                        .chunks_exact(4)
                        .map(|word| u32::from_be_bytes([word[0], word[1], word[2], word[3]]));
                    bins.extend(words);
                    are_whole = bytes.len() == BLOCK;
                }
                (Count::Bins, _) => are_whole = false,
                (Count::Probes, None) => {}
            }
        }
        if let Some(up) = &mut self.recorded.up {
            let packet = u64::from(on_the_path(self.peer, usize::from(DATA)));
            let came = bins.iter().map(|bytes| u64::from(*bytes)).sum::<u64>() / packet.max(1);
            up.bytes = bins;
            if let Some(packets) = &mut up.packets {
                packets[1] = came;
            }
        }
    }
}

fn in_words(why: Refusal) -> &'static str {
    match why {
        Refusal::Busy => "it has no room for another recording now",
        Refusal::TooLong => "that is longer than it permits",
        Refusal::TooFast => "that is faster than it permits (--rate-at-most there)",
        Refusal::TooMuch => "that is more data than it permits (--data-at-most there)",
    }
}

/// Each so many parts of 10 ms as one: rates in bit/s. The last one is left out if it is not whole.
pub fn rates(bytes: &[u32], every: Duration) -> Vec<f64> {
    let many = (every.as_nanos() / BIN.as_nanos()).max(1) as usize;
    let seconds = BIN.as_secs_f64() * many as f64;
    bytes
        .chunks_exact(many)
        .map(|part| part.iter().map(|bytes| f64::from(*bytes)).sum::<f64>() * 8.0 / seconds)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_10_ms_become_rates() {
        let bytes: Vec<u32> = (0..25).map(|part| if part < 10 { 1250 } else { 2500 }).collect();
        assert_eq!(rates(&bytes, Duration::from_millis(100)), [1e6, 2e6]);
        assert_eq!(rates(&bytes[..2], Duration::from_millis(10)), [1e6, 1e6]);
        assert_eq!(rates(&[], Duration::from_millis(10)), [] as [f64; 0]);
    }
}
