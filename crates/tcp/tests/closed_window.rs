//! A window that shrinks over data in flight (RFC 9293 section 3.8.6: MUST-34, MUST-35, SHLD-17; section 3.8.6.1: MUST-37).

use crate::common::*;
use longhaul_segment::{Ecn, Segment, SeqNumber};
use longhaul_tcp::{Config, Connection, Event, Recovery, State};
use longhaul_units::{Duration, Instant};
use proptest::prelude::*;
use std::collections::VecDeque;

/// A peer that takes what is next in order and within its window, and answers each segment 50 ms after it left.
struct Peer {
    now: Instant,
    a: Connection,
    next: u32,
    window: u16,
    answers: VecDeque<(Instant, Segment)>,
    silent: bool,
    /// (time in ms, sequence number) of what `a` sent.
    sent: Vec<(u64, u32)>,
}

impl Peer {
    fn new(config: Config, segments: u64) -> Self {
        let a = Connection::established(config, Reno::new(segments), ports(End::A));
        let (answers, sent) = (VecDeque::new(), vec![]);
        Peer { now: Instant::ZERO, a, next: 1, window: 65_535, answers, silent: false, sent }
    }
    fn ack(&self) -> Segment {
        Segment { ack: SeqNumber(self.next), window: self.window, ..data(1, 1) }
    }
    /// Sends a window update at once.
    fn update(&mut self) {
        let update = self.ack();
        self.a.handle_segment(self.now, &update, Ecn::NotEct);
    }
    fn send(&mut self) {
        while let Some(sent) = self.a.poll_transmit(self.now) {
            let Segment { seq, .. } = sent.segment;
            self.sent.push((self.now.as_nanos() / 1_000_000, seq.0));
            if seq.0 <= self.next {
                let edge = self.next + u32::from(self.window);
                self.next = self.next.max((seq.0 + sent.segment.seq_len()).min(edge));
            }
            self.answers.push_back((self.now + ms(50), self.ack()));
        }
    }
    fn run_until(&mut self, until: Instant) {
        loop {
            self.send();
            let answer = self.answers.front().map(|answer| answer.0);
            let next = [answer, self.a.poll_timeout()].into_iter().flatten().min();
            let Some(next) = next.filter(|&next| next <= until) else { break };
            self.now = next;
            if answer == Some(next) {
                let (_, segment) = self.answers.pop_front().unwrap();
                if !self.silent {
                    self.a.handle_segment(self.now, &segment, Ecn::NotEct);
                }
            } else {
                self.a.handle_timeout(self.now);
            }
        }
        self.now = until;
    }
    fn events(&mut self) -> Vec<Event> {
        std::iter::from_fn(|| self.a.poll_event()).collect()
    }
}

/// Four segments leave, and the peer closes its window before they come.
fn closed_at_once(config: Config) -> Peer {
    let mut peer = Peer::new(config, 4);
    peer.a.write(4_000);
    peer.window = 0;
    peer
}

const EACH: [Recovery; 4] = [Recovery::Reno, Recovery::NewReno, Recovery::Sack, Recovery::Rack];

/// MUST-37: "As long as the receiving TCP peer continues to send acknowledgments in response to the probe segments, the sending TCP
/// peer MUST allow the connection to stay open." The retransmissions are the probes, at intervals that double up to the largest RTO.
#[test]
fn a_window_that_shrinks_to_zero_over_data_in_flight_is_probed() {
    let mut peer = closed_at_once(Config { tail_loss_probe: false, ..plain() });
    peer.run_until(at_ms(4_000_000));
    assert_eq!(peer.a.state(), State::Established);
    let probes: Vec<u64> = peer.sent[4..].iter().map(|sent| sent.0 / 1000).collect();
    assert_eq!(probes[..9], [1, 3, 7, 15, 31, 63, 123, 183, 243]);
    assert!(probes.len() > 60 && peer.sent[4..].iter().all(|sent| sent.1 == 1), "{probes:?}");
    // The window opens: what was refused leaves at once, and the rest with its ACKs.
    peer.window = 65_535;
    peer.update();
    peer.run_until(at_ms(4_000_200));
    assert_eq!(peer.a.acked_bytes(), 4_000);
    assert_eq!(peer.sent.last(), Some(&(4_000_100, 3001)));
}

/// The update is lost: the next probe finds the window open. What was in flight then follows, and the RTO is that of the path again.
#[test]
fn a_probe_finds_the_window_open_again() {
    for recovery in EACH {
        let mut peer = closed_at_once(Config { recovery, ..plain() });
        peer.run_until(at_ms(1_000_000));
        peer.window = 65_535;
        peer.run_until(at_ms(1_061_000));
        assert_eq!(peer.a.acked_bytes(), 4_000, "{recovery:?}");
        assert!(peer.a.rto() <= Duration::from_secs(60));
        peer.a.write(1_000);
        peer.run_until(at_ms(1_062_000));
        assert_eq!(peer.a.rto(), Duration::from_secs(1), "{recovery:?}");
    }
}

/// A peer that no longer answers is given up: after as many retransmissions as with an open window, or after the user timeout.
#[test]
fn a_silent_peer_with_a_closed_window_is_given_up() {
    let seconds = Duration::from_secs;
    for (user_timeout, end) in [(None, 123 + 3 * 60), (Some(seconds(100)), 123 + 60)] {
        let config = Config { max_retransmissions: 3, user_timeout, tail_loss_probe: false, ..plain() };
        let mut peer = closed_at_once(config);
        // Probes at 63 and 123 s are answered, those at 183 and 243 s are not.
        peer.run_until(at_ms(124_000));
        assert!(!peer.events().contains(&Event::TimedOut));
        peer.silent = true;
        peer.run_until(at_ms(3_000_000));
        assert!(peer.events().contains(&Event::TimedOut));
        assert_eq!(peer.sent.last().unwrap().0 / 1000, end);
    }
}

/// The same for a window that is closed with nothing in flight: the user timeout runs from the last answer.
#[test]
fn the_user_timeout_of_a_closed_window_runs_from_the_last_answer() {
    let mut peer = Peer::new(Config { user_timeout: Some(Duration::from_secs(40)), ..plain() }, 4);
    peer.window = 0;
    peer.update();
    peer.run_until(at_ms(500_000));
    peer.a.write(4_000);
    // Probes after 1, 3, 7, 15, 31, 63, 123 and 183 s.
    peer.run_until(at_ms(500_000 + 184_000));
    assert_eq!((peer.sent.len(), peer.a.state()), (8, State::Established));
    peer.silent = true;
    peer.run_until(at_ms(2_000_000));
    assert_eq!((peer.sent.len(), peer.a.state()), (9, State::Closed));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]
    /// Whatever a peer that answers does with its window, the connection stays open, and once the window stays open all arrives.
    #[test]
    fn no_window_closes_the_connection_to_a_peer_that_answers(
        windows in prop::collection::vec((1u64..400_000, prop_oneof![Just(0u16), 0u16..6_000], any::<bool>()), 1..20),
        recovery in prop::sample::select(&EACH[..]),
        bytes in 1u64..60_000,
        impatient in any::<bool>(),
    ) {
        let user_timeout = impatient.then_some(Duration::from_secs(70));
        let mut peer = Peer::new(Config { recovery, max_retransmissions: 3, user_timeout, ..plain() }, 10);
        peer.a.write(bytes);
        peer.a.close();
        for (pause, window, announced) in windows {
            peer.window = window;
            if announced {
                peer.update();
            }
            let until = peer.now + ms(pause);
            peer.run_until(until);
            prop_assert!(!peer.events().contains(&Event::TimedOut));
        }
        peer.window = 65_535;
        let until = peer.now + ms(200_000);
        peer.run_until(until);
        prop_assert_eq!(peer.a.acked_bytes(), bytes);
    }
}
