//! Changes to a connection's settings, where one connection is to be like another but for a few things.

use crate::linux::like_linux;
use crate::{BufferSpec, DelayedAck, EcnSpec, InitialWindowSpec, RtoSpec, TcpSpec, Variant};
use longhaul_cc::{Algorithm, Pacing, SlowStartKind};
use longhaul_units::{Limit, Size};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

macro_rules! changes {
    ($($(#[$doc:meta])* $field:ident: $type:ty,)*) => {
        /// Settings of a connection that differ from those of another. What is not given is as there.
        #[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub struct TcpChanges {
            $(
                $(#[$doc])*
                #[serde(default, skip_serializing_if = "Option::is_none")]
                pub $field: Option<$type>,
            )*
            /// Slow start threshold at the start.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub initial_ssthresh: Option<Limit>,
            /// At most so many segments leave in answer to one arriving segment.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            #[schemars(range(min = 1))]
            pub max_burst: Option<u32>,
        }

        impl TcpChanges {
            /// True if nothing differs.
            pub fn is_empty(&self) -> bool {
                *self == TcpChanges::default()
            }
            /// The settings `base` with these changes.
            pub fn over(&self, base: &TcpSpec) -> TcpSpec {
                let mut tcp = base.clone();
                if self.variant == Some(Variant::Linux) {
                    tcp.congestion = self.congestion.clone().unwrap_or(tcp.congestion);
                    tcp = like_linux(&tcp);
                }
                let congestion = tcp.congestion.clone();
                $(
                    if let Some(value) = &self.$field {
                        tcp.$field = value.clone();
                    }
                )*
                if self.variant == Some(Variant::Linux) {
                    tcp.congestion = congestion;
                }
                tcp.initial_ssthresh = self.initial_ssthresh.or(tcp.initial_ssthresh);
                tcp.max_burst = self.max_burst.or(tcp.max_burst);
                tcp
            }
        }
    };
}

changes! {
    /// Loss recovery.
    variant: Variant,
    /// Payload of a full segment without options.
    #[schemars(extend("x-minimum" = "48 B", "x-maximum" = "65495 B"))]
    mss: Size,
    /// Congestion control.
    congestion: Algorithm,
    /// Slow start.
    slow_start: SlowStartKind,
    /// Pacing for congestion controls that set only a window.
    pacing: Pacing,
    /// Initial window.
    #[schemars(extend("x-exclusiveMinimum" = "0 packets"))]
    initial_window: InitialWindowSpec,
    /// Receive buffer.
    receive_buffer: BufferSpec,
    /// Longest delay of an ACK.
    #[schemars(extend("x-exclusiveMinimum" = "0 s", "x-maximum" = "10 s"))]
    delayed_ack: DelayedAck,
    /// Acknowledge at least every so many full-sized segments.
    #[schemars(range(min = 1))]
    ack_every: u32,
    /// ACK congestion control (RFC 5690).
    ack_congestion_control: bool,
    /// Skip the handshake: the connection is there from the start.
    established: bool,
    /// Timestamps option (RFC 7323).
    timestamps: bool,
    /// Explicit congestion notification (RFC 3168), or "accurate" (RFC 9768).
    ecn: EcnSpec,
    /// Nagle's algorithm.
    nagle: bool,
    /// After an idle RTO go back to the initial window (RFC 5681 section 4.1).
    restart_after_idle: bool,
    /// When segments are paced: how many may leave back to back after a pause.
    #[schemars(range(min = 1))]
    pacing_burst: f64,
    /// When segments are paced: so many of the connection leave before it begins.
    unpaced_segments: u32,
    /// Give up after so many retransmissions of one segment.
    #[schemars(range(min = 1))]
    max_retransmissions: u32,
    /// Give up after so many retransmissions of a SYN.
    max_syn_retransmissions: u32,
    /// Retransmission timer.
    rto: RtoSpec,
}
