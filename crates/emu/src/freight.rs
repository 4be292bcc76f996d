//! Real packets as the freight of a world's links.

use crate::frame::Frame;
use crate::line::CompressedLine;
use longhaul_fabric::Freight;
use longhaul_path::Link;
use longhaul_path::link::Fate;
use longhaul_units::Instant;

/// All that belongs to a packet is in it, so that this is empty.
#[derive(Default)]
pub(crate) struct Frames;

impl Freight for Frames {
    type Packet = Frame;
    type Line = CompressedLine;

    fn row(frame: &Frame) -> usize {
        frame.way as usize
    }
    fn copy(&mut self, frame: &mut Frame) -> Option<Frame> {
        std::mem::take(&mut frame.twice).then(|| frame.clone())
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
