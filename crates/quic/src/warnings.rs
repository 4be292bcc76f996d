//! Warnings about a connection that met a limit of quinn-proto: the limit and the remedy.

use longhaul_units::counters;

counters! {
    /// Limits of quinn-proto that a connection has met.
    pub struct Incidents {
        /// Packets that came more than 128 behind the newest.
        sum pub late_packets: u64,
        /// Times that a sender reported the connection's window to be used up (DATA_BLOCKED).
        sum pub connection_blocked: u64,
    }
}

impl Incidents {
    /// Warnings: a code, and a text about the connection of `flow`.
    pub fn warnings(&self, flow: &str) -> Vec<(&'static str, String)> {
        let mut warnings = vec![];
        if self.late_packets > 0 {
            let text = format!(
                "{flow}: {} packets came more than 128 behind the newest; quinn-proto takes such packets for duplicates and drops \
                 them, so that they are lost and sent again; less reordering on the path avoids that",
                self.late_packets
            );
            warnings.push(("quic_late_packets", text));
        }
        if self.connection_blocked > 0 {
            let text = format!(
                "{flow}: the connection's window was used up {} times; data that wait in one stream, for a lost packet or for their \
                 reader, take it from all other streams; raise connection_window, or read data as they come (unordered = true)",
                self.connection_blocked
            );
            warnings.push(("quic_connection_window", text));
        }
        warnings
    }
}

/// A reason that quinn-proto gives for the end of a connection, with what lies behind it.
pub fn explained(reason: &str) -> String {
    if reason.contains("gaps") {
        "too many gaps in a stream; quinn-proto ends a connection that holds more than 1024 separate pieces of a stream, which the \
         overshoot of slow start over a long fat path causes; set unordered = true, or try a smaller queue or congestion control bbr3"
            .to_string()
    } else if reason.contains("timed out") {
        format!("{reason}; nothing arrived for its idle_timeout")
    } else {
        reason.to_string()
    }
}
