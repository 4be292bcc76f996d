//! What congestion control is notified of about the rate of delivery (draft-ietf-ccwg-bbr-04 section 4.1).

use crate::common::{End, Fixed, MSS, World, at_ms, ms};
use longhaul_cc::{Ack, Congestion, CongestionControl, Delivery};
use longhaul_tcp::Config;
use longhaul_units::Rate;
use std::sync::{Arc, Mutex};

/// A constant window that writes down what it is told: time in ms, and the sample.
struct Listener {
    window: Fixed,
    heard: Arc<Mutex<Vec<(u64, Delivery)>>>,
}

impl CongestionControl for Listener {
    fn on_ack(&mut self, ack: &Ack) {
        let sample = ack.delivery.expect("every ACK of new data is a sample");
        self.heard.lock().unwrap().push((ack.now.as_nanos() / 1_000_000, sample));
    }
    fn on_congestion(&mut self, _: &Congestion) {}
    fn window(&self) -> u64 {
        self.window.window()
    }
    fn ssthresh(&self) -> u64 {
        0
    }
    fn needs_delivery_rate(&self) -> bool {
        true
    }
}

/// Ten segments a round trip of 100 ms, each acknowledged; the samples up to one second.
fn samples(lost: &[u32], bytes: u64) -> Vec<(u64, Delivery)> {
    let heard = Arc::default();
    let listener = Listener { window: Fixed(u64::from(10 * MSS)), heard: Arc::clone(&heard) };
    let config = Config { mss: MSS, delayed_ack: None, ..Config::default() };
    let mut world = World::established(config, Box::new(listener), ms(50)).dropping_once(lost);
    world.a.write(bytes);
    world.run_until(at_ms(1000));
    heard.lock().unwrap().clone()
}

#[test]
fn a_window_per_round_trip_is_the_rate() {
    // 10 x 1000 bytes in 100 ms.
    for (_, sample) in samples(&[], 1_000_000).split_off(20) {
        assert_eq!(sample.rate, Some(Rate::from_bps(800_000)));
        assert_eq!((sample.rtt, sample.app_limited, sample.lost), (Some(ms(100)), false, 0));
        assert_eq!(sample.delivered, 10_000);
    }
}

#[test]
fn round_trips_are_measured_in_recovery_too() {
    // Segment 15 is lost; 16 to 18 tell of it at 200 ms, its retransmission arrives at 250 ms.
    let samples = samples(&[14_001], 1_000_000);
    let lost: u64 = samples.iter().map(|(_, sample)| sample.newly_lost).sum();
    assert_eq!(lost, 1000);
    let in_recovery: Vec<_> = samples.iter().filter(|(at, _)| (200..300).contains(at)).collect();
    assert!(in_recovery.len() >= 9);
    assert!(in_recovery.iter().all(|(_, sample)| sample.rtt == Some(ms(100))));
    let mut repaired = samples.iter().filter(|(at, sample)| *at == 300 && sample.rtt.is_none());
    let sample = repaired.next().expect("the retransmission is no measure of the round trip").1;
    // Sent at 200 ms, when the first 14 and 16 to 18 were delivered; since then nothing was found lost.
    assert_eq!((sample.prior_delivered, sample.lost), (17_000, 0));
}

#[test]
fn the_end_of_the_data_is_marked_as_the_applications_limit() {
    // 25 segments: the last five leave at 200 ms, and then there is nothing left to send.
    let samples = samples(&[], 25_000);
    assert_eq!(samples.len(), 25);
    let marked: Vec<bool> = samples.iter().map(|(_, sample)| sample.app_limited).collect();
    assert!(marked[..20].iter().all(|mark| !mark), "{marked:?}");
    // More of it follows later.
    let rates: Vec<_> = samples[20..].iter().map(|(_, sample)| sample.rate.unwrap()).collect();
    assert!(rates.iter().all(|rate| *rate <= Rate::from_bps(800_000)), "{rates:?}");
}

#[test]
fn what_is_written_after_a_silence_is_marked_until_a_flight_is_delivered() {
    let heard = Arc::default();
    let listener = Listener { window: Fixed(u64::from(10 * MSS)), heard: Arc::clone(&heard) };
    let config = Config { mss: MSS, delayed_ack: None, ..Config::default() };
    let mut world = World::established(config, Box::new(listener), ms(50));
    // Two segments each 20 ms: the window of ten is never full.
    for step in 0..20 {
        world.a.write(2000);
        world.run_until(at_ms(20 * (step + 1)));
    }
    world.run_until(at_ms(1000));
    let heard = heard.lock().unwrap();
    assert!(heard[10..].iter().all(|(_, sample)| sample.app_limited), "{heard:?}");
}

/// Nine of ten segments are SACKed when the retransmission of the first is lost too. Where a timeout discards SACKs, the ACK of the
/// next retransmission reports them once more, and they were delivered long before.
#[test]
fn what_is_reported_again_after_sacks_were_discarded_is_delivered_once() {
    for clear_sack_on_timeout in [false, true] {
        let heard = Arc::default();
        let listener = Listener { window: Fixed(u64::from(10 * MSS)), heard: Arc::clone(&heard) };
        let config = Config { mss: MSS, delayed_ack: None, clear_sack_on_timeout, ..Config::default() };
        let mut world = World::established(config, Box::new(listener), ms(50))
            .dropping(|sent| sent.from == End::A && sent.at < at_ms(500) && sent.seq() == 20_001);
        world.a.write(200_000);
        world.run_until(at_ms(10_000));
        assert_eq!((world.b.received_bytes(), world.a.stats().timeouts), (200_000, 1));
        let last = heard.lock().unwrap().last().unwrap().1;
        assert_eq!(last.prior_delivered + last.delivered, 200_000, "{clear_sack_on_timeout}");
        assert!(heard.lock().unwrap().iter().all(|(_, sample)| sample.delivered <= 30_000));
    }
}
