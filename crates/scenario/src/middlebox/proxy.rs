//! What proxies have in common: they end the connections of hosts.

use super::Parameters;
use crate::validate::Checker;
use crate::{BufferSpec, FlowSpec, Scenario, TcpChanges, TcpSpec};
use longhaul_units::Size;

/// Settings of a proxy's connection to a host of a flow with these settings.
pub(super) fn host_tcp(changes: &TcpChanges, flow: &TcpSpec, receive_buffer: BufferSpec) -> TcpSpec {
    // A proxy sends at once what has arrived: waiting for more would add a round trip.
    let own = TcpSpec {
        receive_buffer,
        receive_autotuning: None,
        reading_rate: None,
        nagle: false,
        ..flow.clone()
    };
    TcpSpec { receive_autotuning: None, ..changes.over(&own) }
}

/// Receive buffer of a connection to a host, unless another is given.
pub(super) fn one_megabyte() -> Size {
    Size::from_bytes(1_000_000)
}

/// The flows that a proxy acts on.
pub(super) fn groups<'a>(scenario: &'a Scenario, flows: &'a [String]) -> impl Iterator<Item = &'a FlowSpec> {
    scenario.flow.iter().filter(move |flow| flows.is_empty() || flows.contains(&flow.name))
}

impl Checker {
    /// Changes to the connections to hosts: `near` and `far`.
    pub(super) fn host_changes(&mut self, near: &TcpChanges, far: &TcpChanges) {
        for (field, changes) in [("near", near), ("far", far)] {
            if changes.established.is_some() {
                let message = "connections to hosts are opened as the hosts open theirs";
                self.problem(&[field, "established"], message);
            }
        }
    }

    /// Whether a flow can be ended by a proxy that has this receive buffer for its hosts, if it is limited.
    pub(super) fn proxied(&mut self, flow: &FlowSpec, proxy: &impl Parameters, buffer: Option<Size>) -> bool {
        let Some([near, far]) = &proxy.host_tcp(&flow.tcp) else { return false };
        if flow.tcp.established && flow.app.connections() > 1 {
            let message = format!(
                "\"{}\" opens connections during the run without a handshake (`established`), which nobody on the way \
                 can see",
                flow.name
            );
            self.problem(&["flows"], message);
        }
        if let Some(buffer) = buffer.map(Size::as_bytes) {
            if buffer < near.mss.as_bytes() {
                self.problem(&["buffer"], "a receive buffer holds at least one segment");
                return false;
            }
            let step = 1 << flow.tcp.config().window_shift();
            if flow.tcp.established && buffer < 2 * step {
                let message = format!(
                    "without a handshake (`established`) \"{}\" scales windows as for its own receive buffer, in steps of {step} B: the \
                     buffer holds at least two of them; or leave out `established`",
                    flow.name
                );
                self.problem(&["buffer"], message);
                return false;
            }
        }
        self.within("near", None, |check| check.tcp(near));
        self.within("far", None, |check| check.tcp(far));
        true
    }
}
