//! What an acknowledgment counts for when the window grows: one step, or the bytes it covers (RFC 3465).

use crate::settings::{Deserialize, JsonSchema, Serialize};
use crate::{Ack, Bytes, Window};

/// How the growth per ACK is reckoned. It matters when ACKs are delayed, thinned out or lost on the way.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Counting {
    /// Each ACK of new data counts as one segment, however much it covers (RFC 2581; ns-2).
    Acks,
    /// Each ACK counts for the bytes that it newly acknowledges (RFC 3465, recommended by RFC 5681 section 3.1).
    Bytes,
}

impl Counting {
    /// The bytes that `ack` counts for.
    pub(crate) fn credit(self, ack: &Ack, mss: f64) -> f64 {
        match self {
            Counting::Acks => mss,
            Counting::Bytes => ack.acked as Bytes as f64,
        }
    }

    /// Bytes that the window gains upon `ack` if it is to gain `segments` per round trip: `segments` * SMSS per window
    /// acknowledged, spread over its ACKs (RFC 5681 section 3.1, equation (3)).
    pub(crate) fn additive_increase(self, segments: f64, window: &Window, ack: &Ack) -> f64 {
        // An ACK of more than a window is still one round trip.
        segments * window.mss * (self.credit(ack, window.mss) / window.cwnd).min(1.0)
    }
}
