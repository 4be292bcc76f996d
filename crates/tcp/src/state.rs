//! Connection states (RFC 9293 section 3.3.2, figure 5).

/// Where a connection stands.
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

/// Where a sender stands with loss and congestion, as hosts report it (Linux: `tcpi_ca_state`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CongestionState {
    /// Nothing is amiss.
    Open,
    /// Duplicate ACKs or SACKs arrive, which may become a loss.
    Disorder,
    /// The window was reduced on an ECN echo, within the round trip before.
    Reduced,
    /// Fast recovery.
    Recovery,
    /// Recovery after a timeout.
    Loss,
}

impl State {
    /// True from ESTABLISHED on: both sequence numbers are known.
    #[inline]
    pub const fn is_synchronized(self) -> bool {
        !matches!(self, State::Closed | State::Listen | State::SynSent | State::SynReceived)
    }
}
