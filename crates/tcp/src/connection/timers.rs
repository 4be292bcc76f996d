//! The timers of a connection, and what their expiry does (RFC 9293 section 3.8.3 and 3.8.4).

use super::Connection;
use crate::{Event, State};
use longhaul_units::{Duration, Instant};

impl Connection {
    /// When `handle_timeout` is due next.
    #[inline]
    pub fn poll_timeout(&self) -> Option<Instant> {
        let earliest = self
            .sender
            .rto_deadline
            .min(self.sender.recovery_deadline)
            .min(self.receiver.ack_deadline)
            .min(self.sender.pacing_deadline)
            .min(self.sender.persist_deadline)
            .min(self.receiver.read_deadline)
            .min(self.idle_deadline);
        (earliest != Instant::FAR_FUTURE).then_some(earliest)
    }

    /// Time has come; harmless when nothing is due.
    pub fn handle_timeout(&mut self, now: Instant) {
        if self.sender.pacing_deadline <= now {
            self.sender.pacing_deadline = Instant::FAR_FUTURE;
        }
        self.sender.allow_burst();
        if self.receiver.ack_deadline.min(self.receiver.read_deadline) <= now {
            self.receiver.on_timeout(now);
        }
        if self.sender.recovery_deadline <= now {
            self.sender.on_recovery_timer(now, &mut self.stats, &mut self.events);
        }
        if self.sender.rto_deadline <= now {
            self.on_retransmission_timeout(now);
        }
        if self.sender.persist_deadline <= now && !self.sender.on_persist_timeout(now) {
            self.fail(Event::TimedOut);
        }
        if self.idle_deadline <= now {
            self.on_idle_timeout(now);
        }
    }

    pub(super) fn on_retransmission_timeout(&mut self, now: Instant) {
        match self.state {
            State::SynSent if self.probing.is_some() => self.on_probe_timeout(now),
            State::SynSent | State::SynReceived => {
                let linear = if self.state == State::SynSent { self.config.syn_linear_timeouts } else { 0 };
                if self.syn_timeouts >= self.config.max_syn_retransmissions.saturating_add(linear) {
                    return self.fail(Event::TimedOut);
                }
                self.syn_timeouts += 1;
                if self.syn_timeouts > linear {
                    self.sender.rtt.back_off();
                }
                self.sender.rto_deadline = Instant::FAR_FUTURE;
                self.syn_due = true;
            }
            _ => {
                if !self.sender.on_retransmission_timeout(now, &mut self.stats, &mut self.events) {
                    self.fail(Event::TimedOut);
                }
            }
        }
    }

    pub(super) fn start_keepalive(&mut self, now: Instant) {
        if let Some(keepalive) = self.config.keepalive {
            self.last_received = now;
            self.idle_deadline = now + keepalive.idle;
        }
    }
    /// TIME-WAIT is over, or the peer has been silent (RFC 9293 section 3.8.4).
    #[cold]
    pub(super) fn on_idle_timeout(&mut self, now: Instant) {
        self.idle_deadline = Instant::FAR_FUTURE;
        if self.state == State::TimeWait {
            return self.finish();
        }
        let Some(keepalive) = self.config.keepalive else { return };
        let heard_since_probe = self.keepalive_probes == 0 || self.last_received > self.last_keepalive;
        if heard_since_probe {
            self.keepalive_probes = 0;
            let due = self.last_received + keepalive.idle;
            if due > now {
                self.idle_deadline = due;
                return;
            }
        }
        if self.keepalive_probes >= keepalive.probes {
            return self.fail(Event::TimedOut);
        }
        self.keepalive_probes += 1;
        self.last_keepalive = now;
        // With data in flight the retransmission timer does the probing.
        self.keepalive_due = self.sender.flight_size() == 0;
        self.idle_deadline = now + keepalive.interval.max(Duration::from_nanos(1));
    }
}
