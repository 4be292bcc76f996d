//! The connection: under construction, the signatures are final.

use crate::limits::LimitClock;
use crate::{Config, Event, Limit, LimitedTime, Ports, Stats, Transmit};
use longhaul_cc::CongestionControl;
use longhaul_segment::{Ecn, Segment, SeqNumber};
use longhaul_units::{Duration, Instant};

/// States of RFC 9293 section 3.3.2.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum State {
    /// No connection.
    Closed,
    /// Waiting for a SYN.
    Listen,
    /// SYN sent.
    SynSent,
    /// SYN received and sent.
    SynReceived,
    /// Open.
    Established,
    /// FIN sent.
    FinWait1,
    /// FIN sent and acknowledged.
    FinWait2,
    /// FIN received.
    CloseWait,
    /// FINs crossed.
    Closing,
    /// FIN received, then sent.
    LastAck,
    /// Both FINs acknowledged; old segments die out.
    TimeWait,
}

/// One end of a connection: sender, receiver and state machine.
pub struct Connection {
    config: Config,
    cc: Box<dyn CongestionControl>,
    stats: Stats,
    limits: LimitClock,
}

impl Connection {
    /// Active open: the SYN goes out at the first `poll_transmit`.
    pub fn connect(config: Config, cc: Box<dyn CongestionControl>, _isn: SeqNumber, _ports: Ports) -> Self {
        Connection { config, cc, stats: Stats::default(), limits: LimitClock::new() }
    }
    /// Passive open: waits for a SYN.
    pub fn listen(config: Config, cc: Box<dyn CongestionControl>, isn: SeqNumber, ports: Ports) -> Self {
        Self::connect(config, cc, isn, ports)
    }
    /// Established from the start, as if a handshake with a peer of the same configuration had taken place.
    pub fn established(config: Config, cc: Box<dyn CongestionControl>, ports: Ports) -> Self {
        Self::connect(config, cc, SeqNumber(0), ports)
    }
    /// The same with a peer whose configuration differs.
    pub fn established_with(
        config: Config,
        _peer: &Config,
        cc: Box<dyn CongestionControl>,
        ports: Ports,
    ) -> Self {
        Self::connect(config, cc, SeqNumber(0), ports)
    }
    /// A segment has arrived.
    pub fn handle_segment(&mut self, _now: Instant, _segment: &Segment, _ecn: Ecn) {}
    /// Time has come; harmless when nothing is due.
    pub fn handle_timeout(&mut self, _now: Instant) {}
    /// The next segment to send, if any.
    pub fn poll_transmit(&mut self, _now: Instant) -> Option<Transmit> {
        None
    }
    /// When `handle_timeout` is wanted next.
    pub fn poll_timeout(&self) -> Option<Instant> {
        None
    }
    /// The next event, if any.
    pub fn poll_event(&mut self) -> Option<Event> {
        None
    }
    /// The application adds bytes to the send buffer.
    pub fn write(&mut self, _bytes: u64) {}
    /// From now on there is always data to send.
    pub fn write_unlimited(&mut self) {}
    /// Ends an unlimited source: what was sent so far is all there is.
    pub fn stop_writing(&mut self) {}
    /// FIN after all written data; receiving goes on.
    pub fn close(&mut self) {}
    /// Resets the connection: RST goes out at the next `poll_transmit`.
    pub fn abort(&mut self) {}
    /// The application reads up to `max` bytes; returns how many it got.
    pub fn read(&mut self, _now: Instant, _max: u64) -> u64 {
        0
    }
    /// Bytes in order and not read yet.
    pub fn readable(&self) -> u64 {
        0
    }
    /// State of the connection.
    pub fn state(&self) -> State {
        State::Closed
    }
    /// Congestion window in bytes.
    pub fn cwnd(&self) -> u64 {
        self.cc.window()
    }
    /// Slow start threshold in bytes; `u64::MAX` while there is none.
    pub fn ssthresh(&self) -> u64 {
        self.cc.ssthresh()
    }
    /// FlightSize: bytes sent and not cumulatively acknowledged.
    pub fn flight_size(&self) -> u64 {
        0
    }
    /// Estimate of the bytes in the network (RFC 6675's pipe).
    pub fn pipe(&self) -> u64 {
        0
    }
    /// Smoothed round trip time; zero before the first sample.
    pub fn srtt(&self) -> Duration {
        Duration::ZERO
    }
    /// Round trip time variation.
    pub fn rttvar(&self) -> Duration {
        Duration::ZERO
    }
    /// Retransmission timeout, back-off included.
    pub fn rto(&self) -> Duration {
        Duration::ZERO
    }
    /// The latest round trip measured; zero before the first.
    pub fn latest_rtt(&self) -> Duration {
        Duration::ZERO
    }
    /// The smallest round trip measured; `Duration::MAX` before the first.
    pub fn min_rtt(&self) -> Duration {
        Duration::MAX
    }
    /// Bytes that the peer's window allows beyond the acknowledged ones.
    pub fn peer_window(&self) -> u64 {
        0
    }
    /// Bytes written and never sent; `u64::MAX` for an unlimited source.
    pub fn unsent(&self) -> u64 {
        0
    }
    /// Payload bytes cumulatively acknowledged by the peer.
    pub fn acked_bytes(&self) -> u64 {
        0
    }
    /// Payload bytes received in order.
    pub fn received_bytes(&self) -> u64 {
        0
    }
    /// Payload bytes that the application has read.
    pub fn read_bytes(&self) -> u64 {
        0
    }
    /// True during loss recovery, fast or after a timeout.
    pub fn in_recovery(&self) -> bool {
        false
    }
    /// Largest payload of a segment without SACK blocks, as negotiated.
    pub fn effective_mss(&self) -> u32 {
        self.config.mss
    }
    /// The congestion control.
    pub fn congestion_control(&self) -> &dyn CongestionControl {
        &*self.cc
    }
    /// The configuration.
    pub fn config(&self) -> &Config {
        &self.config
    }
    /// Counters.
    pub fn stats(&self) -> &Stats {
        &self.stats
    }
    /// What limits the sender now.
    pub fn limit(&self) -> Limit {
        self.limits.current()
    }
    /// Time spent under each limit up to now.
    pub fn limited_time(&self, now: Instant) -> LimitedTime {
        self.limits.total(now)
    }
}

/// The RST that answers a segment to a closed port (RFC 9293 section 3.10.7.1); `None` for a RST.
pub fn reset_for(_segment: &Segment) -> Option<Segment> {
    None
}
