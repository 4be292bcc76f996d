use super::*;
use crate::Delivery;
use crate::testing::{MSS, ack_at, event, setup};

const RTT_MS: u64 = 100;

/// BBR on a path of 100 ms and 10 Mbit/s, so 125 segments of 1000 bytes, one ACK for each round trip.
struct Path {
    bbr: Bbr3,
    now_ms: u64,
    delivered: u64,
}

impl Path {
    fn new() -> Self {
        let mut bbr = Bbr3::new(Bbr3Params::default(), &setup(10 * MSS, None));
        bbr.on_established(at(0), Some(Duration::from_millis(RTT_MS)));
        Path { bbr, now_ms: 0, delivered: 0 }
    }
    /// An ACK of what the path has delivered of a window in a round trip; `change` may change it.
    fn round_with(&mut self, rate_mbit: f64, change: impl FnOnce(&mut Ack)) {
        let window = self.bbr.window();
        self.now_ms += RTT_MS;
        let sample = Delivery {
            rate: Some(Rate::from_bps_f64(rate_mbit * 1e6)),
            rtt: Some(Duration::from_millis(RTT_MS)),
            delivered: window,
            prior_delivered: self.delivered,
            app_limited: false,
            newly_lost: 0,
            lost: 0,
            in_flight_when_sent: window,
        };
        let acked = window.min((rate_mbit * 1e6 / 8.0 * RTT_MS as f64 / 1e3) as u64);
        self.delivered += acked;
        let mut ack = Ack {
            acked,
            delivery: Some(sample),
            delivered: self.delivered,
            in_flight: window,
            prior_in_flight: window,
            ..ack_at(self.now_ms, window)
        };
        change(&mut ack);
        self.bbr.on_ack(&ack);
    }
    fn round(&mut self, rate_mbit: f64) {
        self.round_with(rate_mbit, |_| ());
    }
    fn lose(&mut self, start: u64, in_flight: u64, lost: u64) {
        self.bbr.on_lost(&Lost {
            now: at(self.now_ms),
            start,
            bytes: MSS,
            lost,
            in_flight_when_sent: in_flight,
            app_limited: false,
            delivered: self.delivered,
        });
    }
    fn pacing_mbit(&self) -> f64 {
        self.bbr.pacing_rate().unwrap().as_bps() as f64 / 1e6
    }
    /// In Drain with 10 Mbit/s, a bandwidth-delay product of 125,000 bytes.
    fn drain() -> Self {
        let mut path = Path::new();
        for _ in 0..4 {
            path.round_with(10.0, |ack| ack.in_flight = 300_000);
        }
        assert_eq!(path.bbr.state, State::Drain);
        path
    }
    /// In ProbeBW_DOWN, since Drain took too long.
    fn down() -> Self {
        let mut path = Path::drain();
        for _ in 0..4 {
            path.round_with(10.0, |ack| ack.in_flight = 300_000);
        }
        assert_eq!(path.bbr.state, State::Down);
        path
    }
    fn cruise() -> Self {
        let mut path = Path::down();
        path.round_with(10.0, |ack| ack.in_flight = 100_000);
        assert_eq!(path.bbr.state, State::Cruise);
        path
    }
    /// In ProbeBW_UP, with samples of its own.
    fn up() -> Self {
        let mut path = Path::cruise();
        while path.bbr.state != State::Up {
            path.round(10.0);
        }
        path
    }
}

fn at(ms: u64) -> Instant {
    Instant::from_nanos(ms * 1_000_000)
}

#[test]
fn each_state_has_its_gains() {
    // The table of section 5.6.1.
    let mut path = Path::down();
    for (state, pacing, cwnd) in [
        (State::Startup, 2.77, 2.0),
        (State::Drain, 0.5, 2.0),
        (State::Down, 0.9, 2.0),
        (State::Cruise, 1.0, 2.0),
        (State::Refill, 1.0, 2.0),
        (State::Up, 1.25, 2.25),
        (State::ProbeRtt, 1.0, 0.5),
    ] {
        path.bbr.state = state;
        assert_eq!((path.bbr.pacing_gain(), path.bbr.cwnd_gain()), (pacing, cwnd), "{state:?}");
    }
}

#[test]
fn startup_ends_on_a_plateau_of_three_rounds() {
    // Section 5.3.1.2 and the first test case of the appendix.
    let mut path = Path::new();
    assert!((path.pacing_mbit() - 2.77 * 0.8).abs() < 1e-6); // ten segments in 100 ms
    for rate in [1.0, 2.0, 4.0, 8.0, 10.0] {
        path.round(rate);
        assert!((path.pacing_mbit() - 2.77 * 0.99 * rate).abs() < 1e-3, "{}", path.pacing_mbit());
    }
    for rate in [12.4, 12.4] {
        path.round(rate);
        assert_eq!((path.bbr.state, path.bbr.full_bw_reached), (State::Startup, false));
    }
    path.round_with(12.4, |ack| ack.in_flight = 400_000);
    assert_eq!((path.bbr.state, path.bbr.full_bw_now, path.bbr.full_bw_count), (State::Drain, true, 3));
    assert!((path.pacing_mbit() - 12.4 * 0.5 * 0.99).abs() < 1e-3);
}

#[test]
fn startup_goes_on_while_the_application_limits_it() {
    // Section 5.3.1.2 and the appendix: indefinitely, if nothing is lost.
    let mut path = Path::new();
    for _ in 0..30 {
        path.round_with(1.0, |ack| ack.delivery.as_mut().unwrap().app_limited = true);
    }
    assert_eq!(path.bbr.state, State::Startup);
}

#[test]
fn startup_ends_on_six_lost_ranges_above_the_threshold() {
    // Section 5.3.1.3: 2 %, 6 ranges, a round trip of fast recovery.
    for (ranges, lost, state) in
        [(6, 3000, State::Drain), (5, 3000, State::Startup), (6, 1000, State::Startup)]
    {
        let mut path = Path::new();
        for rate in [2.0, 4.0, 8.0] {
            path.round(rate);
        }
        path.bbr.on_congestion(&event(CongestionKind::Loss, 80_000));
        for range in 0..ranges {
            path.lose(10_000 * range, 80_000, lost);
        }
        path.round_with(16.0, |ack| {
            let sample = ack.delivery.as_mut().unwrap();
            (sample.lost, sample.in_flight_when_sent, sample.delivered) = (lost, 80_000, 70_000);
            ack.in_flight = 400_000;
        });
        assert_eq!(path.bbr.state, state, "{ranges} ranges, {lost} bytes");
        if state == State::Drain {
            // max(bdp, inflight_latest): 8 Mbit/s * 100 ms = 100,000.
            assert_eq!(path.bbr.inflight_longterm, 100_000.0);
        }
    }
}

#[test]
fn drain_ends_when_the_queue_is_gone_or_after_three_rounds() {
    // Section 5.3.2; 10 Mbit/s * 100 ms = 125,000 bytes. With the queue the reason for DOWN is gone, too.
    let mut path = Path::drain();
    path.round_with(10.0, |ack| ack.in_flight = 126_000);
    assert_eq!(path.bbr.state, State::Drain);
    path.round_with(10.0, |ack| ack.in_flight = 125_000);
    assert_eq!(path.bbr.state, State::Cruise);

    let mut path = Path::drain();
    for _ in 0..3 {
        path.round_with(9.0, |ack| ack.in_flight = 300_000);
        assert_eq!(path.bbr.state, State::Drain);
    }
    path.round_with(9.0, |ack| ack.in_flight = 300_000);
    assert_eq!(path.bbr.state, State::Down);
}

/// Two flows whose ACKs come at the same times must not probe at the same times.
#[test]
fn draws_differ_between_connections_whose_acks_tie() {
    let waits = |seed: u64| {
        let mut path = Path::new();
        path.bbr.draws = Draws::new(seed);
        let mut waits = vec![];
        for _ in 0..8 {
            path.bbr.pick_probe_wait();
            let wait = path.bbr.bw_probe_wait;
            assert!((2_000..3_000).contains(&(wait.as_nanos() / 1_000_000)), "{wait:?}");
            waits.push(wait);
        }
        waits
    };
    assert_eq!(waits(7), waits(7));
    assert!(waits(7).iter().zip(&waits(8)).all(|(one, other)| one != other));
}

#[test]
fn a_cycle_cruises_two_to_three_seconds_refills_a_round_and_probes() {
    // Sections 5.3.3.2 to 5.3.3.6; a bandwidth-delay product of 125 segments leaves the 63 round trips out.
    let mut path = Path::cruise();
    let begun = path.now_ms;
    while path.bbr.state == State::Cruise {
        path.round(10.0);
    }
    assert_eq!(path.bbr.state, State::Refill);
    let waited = path.now_ms - begun;
    assert!((1800..=3100).contains(&waited), "{waited}");
    path.round(10.0);
    assert_eq!(path.bbr.state, State::Up);
    assert!((path.pacing_mbit() - 12.5 * 0.99).abs() < 1e-3);
    // A plateau of three rounds ends it.
    for _ in 0..2 {
        path.round(10.0);
        assert_eq!(path.bbr.state, State::Up);
    }
    path.round(10.0);
    assert_eq!(path.bbr.state, State::Down);
    assert!((path.pacing_mbit() - 9.0 * 0.99).abs() < 1e-3);
}

#[test]
fn a_small_window_probes_as_often_as_reno_grows_by_itself() {
    // Section 5.3.3.6.3: after as many round trips as segments are in flight, here 15 (1.2 Mbit/s).
    let mut path = Path::new();
    for _ in 0..8 {
        path.round_with(1.2, |ack| ack.in_flight = 10_000);
    }
    assert_eq!(path.bbr.state, State::Cruise);
    path.bbr.bw_probe_wait = Duration::from_secs(100);
    let since_down = path.bbr.rounds_since_probe_up;
    let mut rounds = 0;
    while path.bbr.state == State::Cruise {
        path.round_with(1.2, |ack| ack.in_flight = 10_000);
        rounds += 1;
    }
    assert_eq!(since_down + rounds, 15);
}

#[test]
fn the_window_is_two_bandwidth_delay_products_and_what_is_aggregated() {
    // Section 5.6.4.2: 2 * 125,000, and extra_acked: an ACK of a whole window every 100 ms is aggregation of that much
    // beyond what 10 Mbit/s deliver.
    let mut path = Path::cruise();
    path.bbr.extra_acked_filter = MaxFilter::new(10);
    path.bbr.extra_acked_filter.update(path.bbr.round_count, 30_000.0);
    path.bbr.rs.newly_acked = 1e9;
    path.bbr.set_cwnd();
    assert_eq!(path.bbr.window(), 280_000);
}

#[test]
fn a_round_with_loss_takes_off_three_tenths_at_most() {
    // Section 5.5.10.3: bw_shortterm = max(bw_latest, 0.7 bw_shortterm), while cruising.
    for (latest, expected) in [(5.0, 7.0), (8.0, 8.0)] {
        let mut path = Path::cruise();
        let cwnd = path.bbr.cwnd;
        path.bbr.rs.delivery_rate = latest * 1e6 / 8.0;
        path.round(latest); // the latest of the round before is gone
        path.lose(0, 100_000, 1000);
        path.round_with(latest, |ack| ack.delivery.as_mut().unwrap().delivered = 1000);
        assert!((path.bbr.bw_shortterm - expected * 1e6 / 8.0).abs() < 1.0, "{}", path.bbr.bw_shortterm);
        assert!(path.bbr.inflight_shortterm >= 0.7 * cwnd - 1.0);
        assert!((path.pacing_mbit() - expected * 0.99).abs() < 1e-3);
        // The next probe forgets it.
        while path.bbr.state != State::Refill {
            path.round(latest);
        }
        assert!(path.bbr.bw_shortterm.is_infinite() && path.bbr.inflight_shortterm.is_infinite());
    }
}

#[test]
fn losses_while_probing_bound_what_is_in_flight() {
    // Section 5.5.10.2: 100 segments in flight, three lost: the third passes 2 %. Before it, 99 were in flight and two lost:
    // (0.02 * 99 - 2) / 0.98 = -0.0204, so 98.98 segments.
    let mut path = Path::up();
    path.lose(0, 100_000, 1000);
    path.lose(1000, 100_000, 2000);
    assert_eq!(path.bbr.state, State::Up); // 2 of 100 are not more than 2 %
    path.lose(2000, 100_000, 3000);
    assert_eq!(path.bbr.state, State::Down);
    let at_loss = 98_979.6;
    // Not below 0.7 of the bandwidth-delay product, 87,500.
    assert!((path.bbr.inflight_longterm - at_loss).abs() < 0.1, "{}", path.bbr.inflight_longterm);
    // Once for each probe.
    path.lose(3000, 100_000, 50_000);
    assert!((path.bbr.inflight_longterm - at_loss).abs() < 0.1);
    // Cruising leaves 15 % to others.
    let calm = |ack: &mut Ack| {
        ack.in_flight = 80_000;
        ack.delivery.as_mut().unwrap().in_flight_when_sent = 80_000;
    };
    path.round_with(10.0, calm);
    assert_eq!(path.bbr.state, State::Cruise);
    path.round_with(10.0, calm);
    assert!((path.bbr.cwnd - 0.85 * at_loss).abs() < 1.0, "{}", path.bbr.cwnd);
}

#[test]
fn after_a_probe_that_went_too_high_the_next_is_cautious() {
    // Section 5.3.3.5.2: it ends at inflight_longterm; without more loss another follows at once.
    let mut path = Path::up();
    path.lose(0, 100_000, 3000);
    assert!(path.bbr.prev_probe_too_high);
    let in_flight = |bytes| {
        move |ack: &mut Ack| {
            ack.in_flight = bytes;
            ack.delivery.as_mut().unwrap().in_flight_when_sent = bytes;
        }
    };
    while path.bbr.state != State::Up {
        path.round_with(10.0, in_flight(60_000));
    }
    path.round_with(10.0, in_flight(99_000));
    assert_eq!((path.bbr.state, path.bbr.prev_probe_precautionary), (State::Down, true));
    path.round_with(10.0, in_flight(95_000));
    assert_eq!(path.bbr.state, State::Refill);
}

#[test]
fn inflight_longterm_grows_by_1_2_4_segments_a_round() {
    // Section 5.3.3.5.1, while the window is full and bound by it; by hand with what is left over of each round: steps of
    // 100,000, 50,000, 25,250 and 12,875 bytes, of which 1, 2, 3 and 9 are full.
    let mut path = Path::up();
    path.bbr.inflight_longterm = 100_000.0;
    path.bbr.bw_probe_up_rounds = 0;
    path.bbr.cwnd = 100_000.0;
    path.bbr.raise_inflight_longterm_slope();
    let mut bounds = vec![];
    for _ in 0..4 {
        path.bbr.cwnd_full = [true; 2];
        path.bbr.full_bw_count = 0;
        path.round_with(10.0, |ack| {
            ack.acked = 100_000;
            ack.delivery.as_mut().unwrap().in_flight_when_sent = 100_000;
        });
        bounds.push(path.bbr.inflight_longterm);
        path.bbr.cwnd = path.bbr.inflight_longterm;
    }
    assert_eq!(bounds, [101_000.0, 103_000.0, 106_000.0, 115_000.0]);
}

#[test]
fn probe_rtt_holds_half_a_bandwidth_delay_product_for_200_ms_every_five_seconds() {
    // Section 5.3.4.
    let mut path = Path::cruise();
    let slower = |ack: &mut Ack| {
        ack.delivery.as_mut().unwrap().rtt = Some(Duration::from_millis(RTT_MS + 20));
        ack.in_flight = ack.in_flight.min(100_000);
    };
    while path.bbr.state != State::ProbeRtt {
        path.round_with(10.0, slower);
    }
    // The handshake had the smallest round trip: five seconds from then.
    assert!((5_000..=5_200).contains(&path.now_ms), "{}", path.now_ms);
    assert_eq!(path.bbr.window(), 62_500); // half of 10 Mbit/s * 100 ms, which count for ten seconds
    let begun = path.now_ms;
    while path.bbr.state == State::ProbeRtt {
        path.round_with(5.0, |ack| ack.in_flight = 62_000);
    }
    assert!((200..=500).contains(&(path.now_ms - begun)), "{}", path.now_ms - begun);
    assert_eq!(path.bbr.state, State::Cruise);
    assert_eq!(path.bbr.min_rtt, Some(Duration::from_millis(RTT_MS)));
    // The low rates do not count.
    assert_eq!(path.bbr.max_bw_filter.max(), 1.25e6);
}

#[test]
fn probe_rtt_is_skipped_after_a_pause() {
    // The appendix: idleness is attempt enough to drain the queue.
    let mut path = Path::cruise();
    path.now_ms += 6_000;
    let sent = Sent { now: at(path.now_ms), bytes: MSS, in_flight: MSS, retransmission: false };
    path.bbr.on_sent(&sent);
    assert!(path.bbr.idle_restart);
    assert!((path.pacing_mbit() - 9.9).abs() < 1e-3);
    path.round(10.0);
    assert_ne!(path.bbr.state, State::ProbeRtt);
}

#[test]
fn from_probe_rtt_in_startup_back_to_startup() {
    let mut path = Path::new();
    path.round(1.0);
    path.now_ms += 6_000;
    let slower = |ack: &mut Ack| ack.delivery.as_mut().unwrap().rtt = Some(Duration::from_millis(150));
    path.round_with(1.0, slower);
    assert_eq!(path.bbr.state, State::ProbeRtt);
    while path.bbr.state == State::ProbeRtt {
        path.round_with(1.0, |ack| ack.in_flight = 2_000);
    }
    assert_eq!(path.bbr.state, State::Startup);
}

#[test]
fn a_spurious_loss_is_forgotten() {
    // Section 5.5.11.2 and the appendix: back to probing, with the bounds of before.
    let mut path = Path::up();
    let cwnd = path.bbr.cwnd;
    path.bbr.on_congestion(&event(CongestionKind::Loss, 100_000));
    path.lose(0, 100_000, 3000);
    assert_eq!(path.bbr.state, State::Down);
    path.bbr.on_congestion(&event(CongestionKind::Spurious, 100_000));
    assert_eq!(path.bbr.state, State::Refill);
    assert!(path.bbr.inflight_longterm.is_infinite());
    assert!(path.bbr.cwnd >= cwnd);
}

#[test]
fn a_timeout_leaves_one_segment_until_recovery_ends() {
    let mut path = Path::cruise();
    let window = path.bbr.window();
    path.bbr.on_congestion(&event(CongestionKind::Timeout, 100_000));
    assert_eq!(path.bbr.window(), 1000);
    path.bbr.on_recovery_end();
    assert_eq!(path.bbr.window(), window);
}

#[test]
fn four_segments_are_the_least() {
    // The appendix: a bandwidth-delay product below one segment.
    let mut path = Path::new();
    for _ in 0..30 {
        path.round_with(0.05, |ack| (ack.acked, ack.in_flight) = (1000, 1000));
    }
    assert!(path.bbr.window() >= 4000);
    assert!((path.pacing_mbit() / 0.05 - 1.0).abs() < 0.3, "{}", path.pacing_mbit());
}

#[test]
fn draws_differ_and_lie_within_a_second() {
    let mut path = Path::new();
    let mut waits = vec![];
    for _ in 0..100 {
        path.bbr.pick_probe_wait();
        waits.push(path.bbr.bw_probe_wait);
        assert!(path.bbr.rounds_since_probe_up <= 1);
    }
    assert!(waits.iter().all(|wait| (Duration::from_secs(2)..Duration::from_secs(3)).contains(wait)));
    let mean = waits.iter().map(|wait| wait.as_secs_f64()).sum::<f64>() / 100.0;
    assert!((mean - 2.5).abs() < 0.1, "{mean}");
}

#[test]
fn the_window_is_full_when_no_further_segment_fits() {
    for (in_flight, full) in [(8 * MSS, false), (9 * MSS, false), (9 * MSS + 1, true), (10 * MSS, true)] {
        let mut path = Path::new();
        assert_eq!(path.bbr.window(), 10 * MSS);
        path.bbr.on_sent(&Sent { now: at(0), bytes: MSS, in_flight, retransmission: false });
        assert_eq!(path.bbr.cwnd_full[0], full, "{in_flight} bytes in flight");
    }
}
