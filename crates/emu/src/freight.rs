//! Real packets as the freight of a world's links.

use crate::frame::{Frame, count_down};
use crate::line::CompressedLine;
use longhaul_fabric::Freight;
use longhaul_path::Link;
use longhaul_path::link::Fate;
use longhaul_units::Instant;

/// All that belongs to a packet is in it.
#[derive(Default)]
pub(crate) struct Frames {
    /// Nodes are no routers: the path is a wire.
    pub is_wire: bool,
}

impl Freight for Frames {
    type Packet = Frame;
    type Line = CompressedLine;

    fn row(frame: &Frame) -> usize {
        frame.way as usize
    }
    fn copy(&mut self, frame: &mut Frame) -> Option<Frame> {
        std::mem::take(&mut frame.twice).then(|| frame.clone())
    }
    fn pass(&mut self, frame: &mut Frame) {
        // Between the nodes of a middlebox its packets are in a tunnel.
        if !self.is_wire && frame.own.is_none() {
            count_down(frame.packet_mut());
        }
    }
    fn release(&mut self, _frame: Frame) {}
    fn offer_coded(
        &self,
        now: Instant,
        link: &mut Link<Frame>,
        line: &mut CompressedLine,
        frame: &mut Frame,
    ) -> Fate {
        link.offer_coded(now, frame, line)
    }
}
