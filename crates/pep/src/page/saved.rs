//! Time that was saved: what downloads took through the node, beside what a connection of the kernel would have taken at least.

use serde::Serialize;
use std::time::Duration;

/// Bytes that a sender may have under way at first (RFC 6928: ten segments, of 1448 bytes with timestamps over Ethernet).
const FIRST_WINDOW: f64 = 14_480.0;
/// A connection that brings nothing for so long waits for its client: of each gap no more is counted.
pub const PAUSE: Duration = Duration::from_secs(3);

/// The least time in seconds from a client's first packet to the last byte of `bytes` on a connection of its own without loss: a round
/// trip for the handshake, one for the request, and slow start, which doubles ten segments each round trip (RFC 6928, RFC 5681)
/// until the window fills `rate` in bit/s; `None` for a link without a bound. Losses, queues and HyStart make it longer.
pub fn without(bytes: u64, rtt: f64, rate: Option<f64>) -> f64 {
    let rate = rate.map_or(f64::INFINITY, |rate| rate / 8.0);
    let (mut left, mut window, mut time) = (bytes as f64, FIRST_WINDOW, 2.0 * rtt);
    while left > window && window < rate * rtt {
        left -= window;
        window *= 2.0;
        time += rtt;
    }
    time + left / rate
}

/// Sums over downloads: connections that ended complete and brought more than they took.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
pub struct Saved {
    /// Downloads.
    pub transfers: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Seconds that they took, measured: from the acceptance of the client to its last byte, of each pause 3 s at most.
    pub with_seconds: f64,
    /// Seconds that they would have taken at least: see [`without`].
    pub without_seconds: f64,
    /// Further downloads, which a ceiling or a used-up quota slows down: they would have had it without the node too, and are not
    /// compared.
    pub bounded: u64,
}

/// A connection that has ended complete.
#[derive(Clone, Copy, Debug)]
pub struct Transfer {
    /// Bytes to the client.
    pub down: u64,
    /// Bytes to the server.
    pub up: u64,
    /// How long it was at work.
    pub busy: Duration,
    /// Round trip of the link.
    pub rtt: Duration,
    /// Rate of the link down in bit/s, as far as it is configured.
    pub rate: Option<f64>,
    /// A ceiling or a used-up quota slows it down.
    pub bounded: bool,
}

impl Saved {
    /// Counts a connection, if it is a download.
    pub fn add(&mut self, transfer: &Transfer) {
        if transfer.down == 0 || transfer.down < transfer.up || transfer.rtt.is_zero() {
            return;
        }
        if transfer.bounded {
            self.bounded += 1;
            return;
        }
        self.transfers += 1;
        self.bytes += transfer.down;
        self.with_seconds += transfer.busy.as_secs_f64();
        self.without_seconds += without(transfer.down, transfer.rtt.as_secs_f64(), transfer.rate);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slow_start_takes_two_round_trips_and_one_for_each_doubling() {
        let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-9, "{a} {b}");
        near(without(14_480, 0.65, None), 1.3);
        near(without(14_481, 0.65, None), 1.95);
        // 14,480 + 28,960 + 57,920 = 101,360 bytes.
        near(without(101_360, 0.65, None), 2.6);
        // At 8 Mbit/s and 10 ms the path holds 10,000 bytes: less than the first window.
        near(without(1_000_000, 0.01, Some(8e6)), 1.02);
    }

    /// Measured without the accelerator in docs/accelerator.md, the median of ten downloads without loss.
    #[test]
    fn it_is_less_than_what_the_kernel_was_measured_to_take() {
        for (bytes, mbit, measured) in
            [(2e6, 50.0, 6.17), (10e6, 50.0, 8.45), (2e6, 250.0, 6.17), (10e6, 10.0, 15.57)]
        {
            let least = without(bytes as u64, 0.65, Some(mbit * 1e6));
            assert!(least < measured && least > 0.75 * measured, "{bytes} B at {mbit} Mbit/s: {least}");
        }
    }

    #[test]
    fn only_downloads_are_counted() {
        let mut saved = Saved::default();
        let busy = Duration::from_millis(700);
        let rtt = Duration::from_millis(650);
        let one = Transfer { down: 14_480, up: 200, busy, rtt, rate: None, bounded: false };
        saved.add(&one);
        saved.add(&Transfer { up: 20_000, ..one });
        saved.add(&Transfer { down: 0, up: 0, ..one });
        saved.add(&Transfer { rtt: Duration::ZERO, ..one });
        let compared =
            Saved { transfers: 1, bytes: 14_480, with_seconds: 0.7, without_seconds: 1.3, bounded: 0 };
        assert_eq!(saved, compared);
        // 20 s at a ceiling: neither won nor lost by the node.
        saved.add(&Transfer { busy: Duration::from_secs(20), bounded: true, ..one });
        saved.add(&Transfer { up: 20_000, bounded: true, ..one });
        assert_eq!(saved, Saved { bounded: 1, ..compared });
    }
}
