//! The document's table for flows over UDP.

use longhaul_units::Size;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a datagram carries at most on links with an MTU of 1500 bytes: 20 bytes are the IPv4 header, 8 that of UDP.
const DEFAULT_PAYLOAD: Size = Size::from_bytes(1472);

/// Settings of a flow over UDP (RFC 768).
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct UdpSpec {
    /// Largest payload of a datagram: a longer message is sent as several. A datagram is one packet: links do not fragment it.
    #[schemars(extend("x-minimum" = "1 B", "x-maximum" = "65507 B"))]
    pub payload: Size,
    /// Datagrams are ECN-capable, ECT(0): queues that mark do so instead of dropping them. Nothing reacts to marks; they are counted.
    pub ecn: bool,
}

impl Default for UdpSpec {
    fn default() -> Self {
        UdpSpec { payload: DEFAULT_PAYLOAD, ecn: false }
    }
}
