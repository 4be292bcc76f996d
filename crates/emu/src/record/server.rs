//! The far end of recordings, as a machine of states: it has no socket and no clock.
//!
//! Who lacks the secret gets no answer at all. Who replays what was sent before gets a cookie for the address that it states, and nothing
//! else: a session begins with the cookie of its own address, flows run only while probes that were not seen before come from there,
//! and no answer is longer than its question.

use super::bins::{Bins, Pace};
use super::wire::{BLOCK, Count, Key, Message, Refusal, Sealed, Session};
use longhaul_units::{Duration, Instant, Rate};
use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;

/// Sessions at a time.
pub const MOST_SESSIONS: usize = 8;
/// Probes of a session: 22 hours of one each 20 ms. A bit each is kept.
pub const MOST_PROBES: u32 = 4_000_000;
/// The longest flow. Four bytes are kept for each 10 ms of one that comes.
pub const LONGEST_FLOW: Duration = Duration::from_secs(3600);
/// Datagrams of flows have at most so many bytes: with headers no more than Ethernet carries.
pub const LARGEST_DATA: u16 = 1452;
/// The least, so that a flow is not more work than data.
pub const SMALLEST_DATA: u16 = 200;
/// A cookie is good for this time at least, and at most twice as long.
const COOKIE_LIFE: Duration = Duration::from_secs(15);
/// Without a new probe for this time a flow ends: nobody may be there who wants it. Longer than the outages of satellites.
const FLOW_SILENCE: Duration = Duration::from_secs(20);
/// Without anything for this time a session ends.
const SESSION_SILENCE: Duration = Duration::from_secs(120);
/// Ended sessions that are remembered, so that none is begun again by what was sent before.
const MOST_ENDED: usize = 1000;

/// What a server permits.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The fastest flow; `None` for no flow.
    pub rate: Option<Rate>,
    /// Bytes of the flows of a session, both ways together.
    pub data: u64,
}

/// See above.
pub struct Server {
    key: Key,
    cookies: Key,
    limits: Limits,
    sessions: BTreeMap<Session, Open>,
    ended: VecDeque<(Session, Instant)>,
    /// Datagrams without the secret.
    pub strangers: u64,
    /// Sessions that have begun.
    pub begun: u64,
    /// Bytes that flows have sent.
    pub sent: u64,
}

/// A session.
struct Open {
    key: Key,
    /// The address that the cookie has proven.
    peer: SocketAddr,
    /// Its latest new probe came from there.
    is_there: bool,
    /// Time of day when the clock stood at zero, as of the session's begin: if it is set later, no delay changes by that.
    zero: u64,
    /// When something new came.
    heard: Instant,
    came: Vec<u64>,
    probes: u32,
    flow: u8,
    flow_permitted: bool,
    down: Option<(Pace, u16)>,
    up: Bins,
    /// Bytes of all its flows.
    data: u64,
}

/// What came, and when.
#[derive(Clone, Copy)]
pub struct Datagram<'a> {
    pub from: SocketAddr,
    pub bytes: &'a [u8],
    /// When the kernel received it.
    pub at: Instant,
    /// That as time of day, in ns since 1970.
    pub of_day: u64,
}

impl Server {
    /// With the secret, and 32 bytes that nobody knows.
    pub fn new(secret: &[u8], random: [u8; 32], limits: Limits) -> Server {
        Server {
            key: Key::of_secret(secret),
            cookies: Key::of_bytes(random),
            limits,
            sessions: BTreeMap::new(),
            ended: VecDeque::new(),
            strangers: 0,
            begun: 0,
            sent: 0,
        }
    }

    /// How many sessions there are.
    pub fn open(&self) -> usize {
        self.sessions.len()
    }

    /// The answer to a datagram, if it gets one.
    pub fn handle(&mut self, now: Instant, datagram: Datagram<'_>) -> Option<Vec<u8>> {
        let Some(sealed) = Sealed::of(datagram.bytes) else {
            self.strangers += 1;
            return None;
        };
        let session = sealed.session;
        let len = datagram.bytes.len();
        if sealed.is_opening() {
            let Some(message) = sealed.open(&self.key) else {
                self.strangers += 1;
                return None;
            };
            let answer = match message {
                Message::Hello => Message::Cookie { cookie: self.cookie(now, &datagram.from, &session) },
                Message::Start { cookie, probes } => self.start(now, datagram, session, cookie, probes)?,
                _ => return None,
            };
            return Some(answer.sealed(&session, &self.key, 0)).filter(|answer| answer.len() <= len);
        }
        let Some((open, message)) = self.sessions.get_mut(&session).and_then(|open| {
            let message = sealed.open(&open.key)?;
            Some((open, message))
        }) else {
            self.strangers += 1;
            return None;
        };
        let (answer, filled) = match message {
            Message::Probe { number } => {
                if open.mark(number) {
                    (open.heard, open.is_there) = (now, datagram.from == open.peer);
                }
                let held = now.since(datagram.at).as_nanos();
                (Message::Echo { number, came_at: open.zero.wrapping_add(datagram.at.as_nanos()), held }, len)
            }
            Message::Flow { number, down, rate, size, nanos } => {
                let flow = Asked { number, down, rate, size, nanos };
                (open.flow(now, &self.limits, flow, datagram.from), 0)
            }
            Message::Data { flow, number } => {
                if flow == open.flow && open.flow_permitted && open.down.is_none() {
                    open.up.count(datagram.at, super::on_the_path(datagram.from, len), number);
                    open.heard = now;
                }
                return None;
            }
            Message::Ask { what, block } => {
                open.heard = now;
                (Message::Block { what, block, bytes: open.block(what, block) }, 0)
            }
            Message::End => {
                let key = open.key;
                self.end(now, &session);
                return Some(Message::Ended.sealed(&session, &key, 0));
            }
            _ => return None,
        };
        Some(answer.sealed(&session, &open.key, filled)).filter(|answer| answer.len() <= len)
    }

    fn cookie(&self, now: Instant, of: &SocketAddr, session: &Session) -> [u8; 16] {
        self.cookie_of(now.as_nanos() / COOKIE_LIFE.as_nanos(), of, session)
    }

    fn cookie_of(&self, time: u64, of: &SocketAddr, session: &Session) -> [u8; 16] {
        let port = of.port().to_be_bytes();
        let address = of.ip().to_canonical().to_string();
        self.cookies.tag(&[&time.to_be_bytes(), session, &port, address.as_bytes()])
    }

    fn start(
        &mut self,
        now: Instant,
        datagram: Datagram<'_>,
        session: Session,
        cookie: [u8; 16],
        probes: u32,
    ) -> Option<Message> {
        let from = datagram.from;
        let time = now.as_nanos() / COOKIE_LIFE.as_nanos();
        let is_good = [time, time.wrapping_sub(1)]
            .iter()
            .any(|time| super::wire::is_same(&cookie, &self.cookie_of(*time, &from, &session)));
        if !is_good {
            self.strangers += 1;
            return None;
        }
        let accepted =
            Message::Accepted { rate: self.limits.rate.map_or(0, Rate::as_bps), data: self.limits.data };
        if self.sessions.contains_key(&session) {
            return Some(accepted);
        }
        let silent: Vec<Session> = self
            .sessions
            .iter()
            .filter(|(_, open)| now.since(open.heard) > SESSION_SILENCE)
            .map(|(session, _)| *session)
            .collect();
        silent.iter().for_each(|session| self.end(now, session));
        while self.ended.front().is_some_and(|(_, at)| now.since(*at) > COOKIE_LIFE * 2) {
            self.ended.pop_front();
        }
        if self.ended.iter().any(|(ended, _)| *ended == session) {
            return None;
        }
        if self.sessions.len() >= MOST_SESSIONS || self.ended.len() >= MOST_ENDED {
            return Some(Message::Refused(Refusal::Busy));
        }
        if probes > MOST_PROBES {
            return Some(Message::Refused(Refusal::TooLong));
        }
        let key = self.key.derived(&[b"session", &session, &cookie]);
        self.sessions.insert(
            session,
            Open {
                key,
                peer: from,
                is_there: true,
                zero: datagram.of_day.wrapping_sub(datagram.at.as_nanos()),
                heard: now,
                came: vec![0; probes.div_ceil(64) as usize],
                probes,
                flow: 0,
                flow_permitted: false,
                down: None,
                up: Bins::default(),
                data: 0,
            },
        );
        self.begun += 1;
        Some(accepted)
    }

    fn end(&mut self, now: Instant, session: &Session) {
        if self.sessions.remove(session).is_some() {
            self.ended.push_back((*session, now));
        }
    }

    /// When a packet of a flow is due next.
    pub fn due(&self) -> Option<Instant> {
        self.sessions.values().filter_map(|open| open.down.as_ref()?.0.due()).min()
    }

    /// A packet of a flow that is due now, and to whom.
    pub fn departing(&mut self, now: Instant) -> Option<(SocketAddr, Vec<u8>)> {
        for (session, open) in &mut self.sessions {
            let wanted = open.is_there && now.since(open.heard) <= FLOW_SILENCE;
            let Some((pace, size)) = &mut open.down else { continue };
            if !wanted || pace.due().is_none() {
                open.down = None;
                continue;
            }
            let Some(number) = pace.take(now) else { continue };
            self.sent += u64::from(*size);
            let data = Message::Data { flow: open.flow, number };
            return Some((open.peer, data.sealed(session, &open.key, usize::from(*size))));
        }
        None
    }
}

/// A flow that is asked for.
struct Asked {
    number: u8,
    down: bool,
    rate: u64,
    size: u16,
    nanos: u64,
}

impl Open {
    /// Notes a probe; false if it came before, or is none of this session.
    fn mark(&mut self, number: u32) -> bool {
        if number >= self.probes {
            return false;
        }
        let (word, bit) = ((number / 64) as usize, 1 << (number % 64));
        let is_new = self.came[word] & bit == 0;
        self.came[word] |= bit;
        is_new
    }

    fn flow(&mut self, now: Instant, limits: &Limits, asked: Asked, from: SocketAddr) -> Message {
        let Asked { number, down, rate, size, nanos } = asked;
        let no = |why| Message::NoFlow { number, why };
        let yes = Message::Flowing { number };
        // Asked again, since the answer was lost.
        if number == self.flow {
            return if self.flow_permitted { yes } else { no(Refusal::TooMuch) };
        }
        let duration = Duration::from_nanos(nanos);
        if limits.rate.is_none_or(|most| rate > most.as_bps()) || rate == 0 {
            return no(Refusal::TooFast);
        }
        let sizes = SMALLEST_DATA..=LARGEST_DATA;
        if number != self.flow + 1 || duration > LONGEST_FLOW || !sizes.contains(&size) || from != self.peer {
            return no(Refusal::TooLong);
        }
        let data = (u128::from(rate) * u128::from(nanos) / 8_000_000_000) as u64;
        if self.data.saturating_add(data) > limits.data {
            return no(Refusal::TooMuch);
        }
        (self.flow, self.flow_permitted) = (number, true);
        self.data += data;
        self.heard = now;
        self.down = None;
        if down {
            let len = super::on_the_path(from, usize::from(size));
            self.down = Some((Pace::of(Rate::from_bps(rate), len, now, duration), size));
        } else {
            self.up = Bins::of(duration);
        }
        yes
    }

    fn block(&self, what: Count, block: u32) -> Vec<u8> {
        let begin = |each: usize| (block as usize).saturating_mul(BLOCK / each);
        match what {
            Count::Probes => {
                let part = self.came.get(begin(8)..).unwrap_or_default();
                part.iter().take(BLOCK / 8).flat_map(|word| word.to_be_bytes()).collect()
            }
            Count::Bins => {
                let part = self.up.bytes().get(begin(4)..).unwrap_or_default();
                part.iter().take(BLOCK / 4).flat_map(|bytes| bytes.to_be_bytes()).collect()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::wire::{LEAST_PROBE, QUESTION};

    const SECRET: &[u8] = b"a secret of the two";
    const LIMITS: Limits = Limits { rate: Some(Rate::from_bps(8_000_000)), data: 3_000_000 };

    fn address(text: &str) -> SocketAddr {
        text.parse().unwrap()
    }

    fn seconds(seconds: f64) -> Instant {
        Instant::from_nanos((seconds * 1e9) as u64)
    }

    struct Client {
        server: Server,
        session: Session,
        key: Key,
        from: SocketAddr,
        now: Instant,
        of_day: u64,
    }

    impl Client {
        fn new(limits: Limits) -> Client {
            let server = Server::new(SECRET, [3; 32], limits);
            let from = address("192.0.2.1:4000");
            Client {
                server,
                session: [1; 16],
                key: Key::of_secret(SECRET),
                from,
                now: seconds(100.0),
                of_day: 500,
            }
        }

        fn send(&mut self, bytes: &[u8]) -> Option<Vec<u8>> {
            let (from, at) = (self.from, self.now);
            let of_day = self.of_day;
            let answer = self.server.handle(self.now, Datagram { from, bytes, at, of_day });
            assert!(
                answer.as_ref().is_none_or(|answer| answer.len() <= bytes.len()),
                "longer than the question"
            );
            answer
        }

        fn ask(&mut self, message: &Message, len: usize) -> Option<Message> {
            let bytes = message.sealed(&self.session, &self.key, len);
            let answer = self.send(&bytes)?;
            Sealed::of(&answer).unwrap().open(&self.key)
        }

        fn cookie(&mut self) -> [u8; 16] {
            match self.ask(&Message::Hello, QUESTION) {
                Some(Message::Cookie { cookie }) => cookie,
                other => panic!("{other:?}"),
            }
        }

        /// A session of so many probes.
        fn begin(&mut self, probes: u32) -> Option<Message> {
            self.key = Key::of_secret(SECRET);
            let cookie = self.cookie();
            let answer = self.ask(&Message::Start { cookie, probes }, QUESTION);
            self.key = self.key.derived(&[b"session", &self.session, &cookie]);
            answer
        }

        fn flow(&mut self, number: u8, down: bool, rate: u64, seconds: u64) -> Option<Message> {
            let nanos = seconds * 1_000_000_000;
            self.ask(&Message::Flow { number, down, rate, size: 1000, nanos }, QUESTION)
        }

        fn probe(&mut self, number: u32) -> bool {
            self.ask(&Message::Probe { number }, LEAST_PROBE).is_some()
        }

        /// Packets of flows until then.
        fn departures(&mut self, until: f64) -> Vec<SocketAddr> {
            let mut all = vec![];
            while let Some(due) = self.server.due().filter(|due| *due <= seconds(until)) {
                self.now = self.now.max(due);
                while let Some((to, _)) = self.server.departing(self.now) {
                    all.push(to);
                }
            }
            self.now = seconds(until);
            all
        }
    }

    #[test]
    fn who_lacks_the_secret_gets_no_answer() {
        let mut client = Client::new(LIMITS);
        client.key = Key::of_secret(b"another secret");
        assert_eq!(client.ask(&Message::Hello, QUESTION), None);
        let cookie = [0; 16];
        assert_eq!(client.ask(&Message::Start { cookie, probes: 1 }, QUESTION), None);
        assert_eq!(client.ask(&Message::Probe { number: 0 }, QUESTION), None);
        assert_eq!(client.send(&[0; 1200]), None);
        assert_eq!((client.server.strangers, client.server.open()), (4, 0));
        // And who has it no session without a cookie.
        client.key = Key::of_secret(SECRET);
        assert_eq!(client.ask(&Message::Start { cookie, probes: 1 }, QUESTION), None);
        assert_eq!(client.server.open(), 0);
    }

    #[test]
    fn a_cookie_is_of_its_address_and_its_time() {
        for (from, later, is_good) in [
            ("192.0.2.1:4000", 0.0, true),
            ("192.0.2.1:4000", 14.9, true),
            ("192.0.2.1:4000", 31.0, false),
            ("192.0.2.1:4001", 0.0, false),
            ("192.0.2.2:4000", 0.0, false),
        ] {
            let mut client = Client::new(LIMITS);
            let cookie = client.cookie();
            client.from = address(from);
            client.now += Duration::from_secs_f64(later);
            let begun = client.ask(&Message::Start { cookie, probes: 10 }, QUESTION).is_some();
            assert_eq!(begun, is_good, "{from} after {later} s");
        }
    }

    #[test]
    fn a_question_that_is_too_short_gets_no_answer() {
        let mut client = Client::new(LIMITS);
        // The cookie would be longer than this.
        assert_eq!(client.ask(&Message::Hello, 0), None);
        client.begin(10).unwrap();
        assert_eq!(client.ask(&Message::Probe { number: 0 }, 0), None);
        assert!(client.probe(0));
    }

    #[test]
    fn probes_are_answered_with_their_number_and_counted() {
        let mut client = Client::new(LIMITS);
        assert_eq!(client.begin(130), Some(Message::Accepted { rate: 8_000_000, data: 3_000_000 }));
        for number in [0, 1, 64, 129, 129, 4000] {
            assert!(client.probe(number));
        }
        // 3 s later, though the time of day was set back meanwhile.
        (client.now, client.of_day) = (seconds(103.0), 7);
        let echo = client.ask(&Message::Probe { number: 5 }, LEAST_PROBE);
        assert_eq!(echo, Some(Message::Echo { number: 5, came_at: 3_000_000_500, held: 0 }));
        let Some(Message::Block { bytes, .. }) =
            client.ask(&Message::Ask { what: Count::Probes, block: 0 }, QUESTION)
        else {
            panic!()
        };
        let words: Vec<u64> =
            bytes.chunks(8).map(|word| u64::from_be_bytes(word.try_into().unwrap())).collect();
        assert_eq!(words, [1 << 0 | 1 << 1 | 1 << 5, 1, 2]);
        let far = client.ask(&Message::Ask { what: Count::Probes, block: u32::MAX }, QUESTION);
        assert_eq!(far, Some(Message::Block { what: Count::Probes, block: u32::MAX, bytes: vec![] }));
    }

    #[test]
    fn sessions_are_few_and_those_that_are_silent_make_room() {
        let mut client = Client::new(LIMITS);
        for number in 0..MOST_SESSIONS as u8 {
            client.session = [number; 16];
            assert!(matches!(client.begin(10), Some(Message::Accepted { .. })));
        }
        client.session = [99; 16];
        assert_eq!(client.begin(10), Some(Message::Refused(Refusal::Busy)));
        client.now += SESSION_SILENCE + Duration::from_secs(1);
        assert!(matches!(client.begin(10), Some(Message::Accepted { .. })));
        assert_eq!(client.server.open(), 1);
        client.session = [98; 16];
        assert_eq!(client.begin(MOST_PROBES + 1), Some(Message::Refused(Refusal::TooLong)));
    }

    #[test]
    fn a_session_that_has_ended_is_not_begun_by_what_was_sent_before() {
        let mut client = Client::new(LIMITS);
        let cookie = client.cookie();
        let start = Message::Start { cookie, probes: 10 }.sealed(&client.session, &client.key, QUESTION);
        assert!(client.send(&start).is_some());
        assert!(client.send(&start).is_some(), "its answer was lost");
        client.key = client.key.derived(&[b"session", &client.session, &cookie]);
        assert_eq!(client.ask(&Message::End, QUESTION), Some(Message::Ended));
        assert_eq!(client.send(&start), None);
        assert_eq!((client.server.open(), client.server.begun), (0, 1));
    }

    #[test]
    fn a_flow_keeps_to_the_limits() {
        let mut client = Client::new(LIMITS);
        client.begin(1000).unwrap();
        let no = |number, why| Some(Message::NoFlow { number, why });
        assert_eq!(client.flow(1, true, 8_000_001, 1), no(1, Refusal::TooFast));
        assert_eq!(client.flow(1, true, 0, 1), no(1, Refusal::TooFast));
        assert_eq!(client.flow(1, true, 8_000_000, 4), no(1, Refusal::TooMuch));
        assert_eq!(client.flow(1, true, 1000, 4000), no(1, Refusal::TooLong));
        assert_eq!(client.flow(2, true, 8_000_000, 1), no(2, Refusal::TooLong), "not the next one");
        assert_eq!(client.flow(1, true, 8_000_000, 1), Some(Message::Flowing { number: 1 }));
        assert_eq!(client.flow(1, true, 8_000_000, 1), Some(Message::Flowing { number: 1 }), "asked again");
        // 1 MB in packets of 1028 bytes.
        assert_eq!(client.departures(102.0).len(), 973);
        assert_eq!(client.flow(2, false, 8_000_000, 2), Some(Message::Flowing { number: 2 }));
        assert_eq!(client.flow(3, true, 8_000_000, 1), no(3, Refusal::TooMuch), "in sum");
        let mut without = Client::new(Limits { rate: None, data: 0 });
        without.begin(1000).unwrap();
        assert_eq!(without.flow(1, true, 1000, 1), no(1, Refusal::TooFast));
    }

    /// Whoever has seen the datagrams of a session, and sends them again from another address, gets no flow there.
    #[test]
    fn a_flow_goes_to_the_proven_address_and_ends_when_nobody_is_there() {
        let mut client = Client::new(LIMITS);
        client.begin(1000).unwrap();
        let own = client.from;
        assert!(client.probe(0));
        client.flow(1, true, 1_000_000, 20).unwrap();
        assert!(client.departures(101.0).iter().all(|to| *to == own));
        client.from = address("198.51.100.7:4000");
        assert!(client.probe(0), "seen before: answered with as many bytes");
        assert!(!client.departures(102.0).is_empty());
        assert!(client.probe(1), "new, from elsewhere");
        assert_eq!(client.departures(103.0), []);
        client.from = own;
        assert!(client.probe(2));
        assert_eq!(
            client.flow(2, true, 1_000_000, 3600),
            Some(Message::NoFlow { number: 2, why: Refusal::TooMuch })
        );
        let mut client = Client::new(Limits { data: 1 << 40, ..LIMITS });
        client.begin(1000).unwrap();
        client.flow(1, true, 80_000, 3600).unwrap();
        // 9.7 packets in a second, for the silence of 20 s.
        let sent = client.departures(3000.0).len();
        assert!((190..=200).contains(&sent), "{sent}");
    }

    #[test]
    fn a_flow_from_the_client_is_counted_in_parts_of_10_ms() {
        let mut client = Client::new(LIMITS);
        client.begin(10).unwrap();
        client.flow(1, false, 1_000_000, 1).unwrap();
        for (number, later) in [0.0, 0.004, 0.031].into_iter().enumerate() {
            client.now = seconds(101.0 + later);
            let data = Message::Data { flow: 1, number: number as u32 };
            assert_eq!(client.ask(&data, 1000), None);
        }
        client.ask(&Message::Data { flow: 2, number: 9 }, 1000);
        let Some(Message::Block { bytes, .. }) =
            client.ask(&Message::Ask { what: Count::Bins, block: 0 }, QUESTION)
        else {
            panic!()
        };
        let bins: Vec<u32> =
            bytes.chunks(4).map(|bytes| u32::from_be_bytes(bytes.try_into().unwrap())).collect();
        assert_eq!(bins, [2 * 1028, 0, 0, 1028]);
    }
}
