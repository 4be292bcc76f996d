//! The rate controller: a value of its own, without clock and socket.

use crate::config::{LEAST_RATE, MOST_RATE, Remembered, Share};
use longhaul_units::{Duration, Instant, Rate, Size};

/// What a controller begins with.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Rate of the first packet.
    pub start: Rate,
    /// Never faster.
    pub most: Rate,
    /// To whom the link belongs.
    pub share: Share,
    /// UDP payload of a full packet.
    pub mtu: u16,
    /// IP and UDP headers of a packet.
    pub headers: u16,
    /// Round trip before one is measured.
    pub rtt: Duration,
    /// From an earlier connection.
    pub remembered: Option<Remembered>,
}

/// What may leave.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Allowance {
    /// So many packets, at least one.
    Packets(usize),
    /// Nothing before this time.
    Until(Instant),
}

/// Time that passed unused counts for that much: a timer that is late must not cost rate.
const LATE: Duration = Duration::from_millis(2);
/// Packets leave together that would leave within this time.
const TOGETHER: Duration = Duration::from_micros(1000);

/// The controller.
#[derive(Clone, Debug)]
pub struct RateController {
    settings: Settings,
    rate: Rate,
    next: Instant,
    rtt: Duration,
    base: Duration,
    in_flight: u64,
}

impl RateController {
    /// A controller that has sent nothing.
    pub fn new(settings: Settings) -> Self {
        let rate = clamp(settings.start, settings.most);
        RateController {
            settings,
            rate,
            next: Instant::ZERO,
            rtt: settings.rtt,
            base: Duration::MAX,
            in_flight: 0,
        }
    }

    /// The peer asks for a rate to begin with.
    pub fn restart(&mut self, start: Rate) {
        self.rate = clamp(start, self.settings.most);
    }

    /// Present rate.
    pub fn rate(&self) -> Rate {
        self.rate
    }

    /// Round trip of the newest acknowledged packet.
    pub fn rtt(&self) -> Duration {
        self.rtt
    }

    /// Round trip without queues.
    pub fn base_rtt(&self) -> Duration {
        if self.base == Duration::MAX { self.settings.rtt } else { self.base }
    }

    /// What to keep for the next connection.
    pub fn remembered(&self) -> Option<Remembered> {
        let measured = self.base < Duration::MAX;
        measured.then_some(Remembered { rate: self.rate, rtt: self.base, loss_ppm: 0, burst_permille: 1000 })
    }

    /// Bytes in flight.
    pub fn in_flight(&self) -> u64 {
        self.in_flight
    }

    /// What may leave now, at most `most` packets.
    pub fn allowance(&self, now: Instant, most: usize) -> Allowance {
        if self.next > now {
            return Allowance::Until(self.next);
        }
        let packet = u64::from(self.settings.mtu) + u64::from(self.settings.headers);
        let together = self.rate.bytes_in(TOGETHER).as_bytes() / packet;
        Allowance::Packets((together as usize).clamp(1, most.max(1)))
    }

    /// Packets left, with so much UDP payload in all.
    pub fn on_sent(&mut self, now: Instant, bytes: u64, packets: u64) {
        let wire = bytes + packets * u64::from(self.settings.headers);
        let earliest = Instant::from_nanos(now.as_nanos().saturating_sub(LATE.as_nanos()));
        self.next = self.next.max(earliest) + self.rate.transmission_time(Size::from_bytes(wire));
    }

    /// A packet was acknowledged.
    pub fn on_ack(&mut self, now: Instant, sent: Instant, _bytes: u64) {
        self.rtt = now.since(sent);
        self.base = self.base.min(self.rtt);
    }

    /// All that one ACK acknowledges was reported.
    pub fn on_end_acks(&mut self, _now: Instant, in_flight: u64) {
        self.in_flight = in_flight;
    }

    /// Packets were declared lost, the newest of them sent at `sent`.
    pub fn on_loss(&mut self, _now: Instant, _sent: Instant, _bytes: u64) {}
}

fn clamp(rate: Rate, most: Rate) -> Rate {
    Rate::from_bps(rate.as_bps().clamp(LEAST_RATE, most.as_bps().clamp(LEAST_RATE, MOST_RATE)))
}
