//! One sample a round trip: one segment is timed from its departure to its ACK (RFC 6298 section 3).

use crate::common::*;
use longhaul_segment::{Ecn, Segment, SeqNumber};
use longhaul_tcp::{Config, Connection, RttSampling};

struct Timed(Connection);

impl Timed {
    fn new() -> Self {
        let config = Config { rtt_sampling: RttSampling::OncePerRound, ..plain() };
        Timed(Connection::established(config, Box::new(Fixed(10_000)), ports(End::A)))
    }
    /// A segment of 1000 bytes leaves.
    fn sends(&mut self, at: u64) {
        self.0.write(1_000);
        assert!(self.0.poll_transmit(at_ms(at)).is_some());
    }
    fn hears(&mut self, at: u64, ack: u32) {
        self.0.handle_segment(at_ms(at), &Segment { ack: SeqNumber(ack), ..data(1, 1) }, Ecn::NotEct);
    }
    fn estimate(&self) -> (u64, u64) {
        (self.0.srtt().as_nanos() / 1000, self.0.rttvar().as_nanos() / 1000)
    }
}

/// The ACKs of the third and the fourth segment are lost: their time is not a sample, that of the fifth, which was timed, is.
#[test]
fn the_timed_segment_is_the_sample_not_the_oldest_one_acknowledged() {
    let mut a = Timed::new();
    a.sends(0);
    a.hears(100, 1001);
    assert_eq!(a.estimate(), (100_000, 50_000));
    a.sends(100);
    a.sends(150);
    a.sends(160);
    a.hears(200, 2001);
    assert_eq!(a.estimate(), (100_000, 37_500));
    a.sends(240);
    a.hears(340, 5001);
    assert_eq!(a.estimate(), (100_000, 28_125));
    // Congestion control gets every round trip.
    assert_eq!(a.0.stats().rtt_samples, 3);
}

/// Segments that leave while another is timed are no samples.
#[test]
fn one_segment_is_timed_at_a_time() {
    let mut a = Timed::new();
    a.sends(0);
    a.sends(10);
    a.sends(20);
    a.hears(100, 1001);
    a.hears(150, 2001);
    a.hears(200, 3001);
    assert_eq!(a.estimate(), (100_000, 50_000));
}

/// Karn's rule: the timed segment was sent twice. What leaves after its ACK is timed next.
#[test]
fn a_timed_segment_that_is_sent_again_is_no_sample() {
    let mut a = Timed::new();
    a.sends(0);
    a.0.handle_timeout(at_ms(1_000));
    assert!(a.0.poll_transmit(at_ms(1_000)).is_some_and(|sent| sent.retransmission));
    a.hears(1_100, 1001);
    assert_eq!(a.estimate(), (0, 0));
    a.sends(1_200);
    a.hears(1_300, 2001);
    assert_eq!(a.estimate(), (100_000, 50_000));
}
