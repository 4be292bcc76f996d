//! Where the watermark W stands: fixed, or found while running. The paper leaves open how to choose it. The answer here:
//!
//! * W helps as long as D-Net runs dry because the source may not send. It no longer does when a queue stands there, which
//!   visible in the round trips that the PEP measures: all of the last loop took longer than the shortest.
//! * W harms when copies find the buffer full. The source may have its window R under way beyond what was acknowledged to
//!   it, all of which can arrive at once: W = N - R is safe whatever happens. What exceeds W in fact is less, since part
//!   of R is on S-Net; the PEP measures how full its buffer gets in a loop, and W may rise by half of what stayed free.
//!
//! So W begins at N - R (a source without a window limit: N/2) and is looked at once a loop, the time around S-Net and D-Net.
//! It rises while D-Net runs dry, p-ACKs wait for it, and room is left. If the buffer overflows it falls back, and does not
//! come as high again for a hundred loops.

use super::Settings;
use longhaul_units::{Duration, Instant};

/// The watermark W: how many of the oldest copies may be acknowledged prematurely.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Watermark {
    /// So many packets.
    Fixed(usize),
    /// Found while running: high enough to keep D-Net busy, low enough that the buffer does not overflow.
    Automatic,
}

/// Round trips of D-Net that are so much longer than the shortest, as a share of it, indicate a queue.
const QUEUE_SHOWS: f64 = 1.0 / 16.0;
/// Loops for which an overflow is remembered.
const MEMORY: u32 = 100;

/// The watermark of one direction of a connection.
#[derive(Clone, Debug)]
pub(super) struct WatermarkControl {
    /// N.
    buffer: usize,
    /// W.
    watermark: usize,
    automatic: Option<Box<Automatic>>,
}

#[derive(Clone, Debug, Default)]
struct Automatic {
    /// W has been set for the first time.
    begun: bool,
    /// W stays below this for some loops: the buffer has overflowed there.
    ceiling: Option<(usize, u32)>,
    /// Shortest time around S-Net seen: from an ACK to the source to the data that it lets go.
    around_s: Option<Duration>,
    /// An ACK sent to the source, and the end of what it may have sent before.
    permission: Option<(Instant, u64)>,
    /// This loop: when it ends, the most copies, the shortest round trip on D-Net, whether W held back an ACK.
    loop_end: Instant,
    peak: usize,
    shortest: Option<Duration>,
    held_back: bool,
    overflowed: bool,
}

impl WatermarkControl {
    pub fn new(settings: &Settings) -> Self {
        let (watermark, automatic) = match settings.watermark {
            Watermark::Fixed(packets) => (packets.min(settings.buffer), None),
            Watermark::Automatic => (0, Some(Box::default())),
        };
        WatermarkControl { buffer: settings.buffer, watermark, automatic }
    }
    /// W.
    pub fn watermark(&self) -> usize {
        self.watermark
    }

    /// The first data packet's size gives how many packets the source's window is. True if W was set.
    pub fn begin(&mut self, window_bytes: u64, payload_len: u32) -> bool {
        let Some(automatic) = self.automatic.as_deref_mut().filter(|automatic| !automatic.begun) else {
            return false;
        };
        automatic.begun = true;
        let window = window_bytes / u64::from(payload_len.max(1));
        let safe = (self.buffer as u64).saturating_sub(window) as usize;
        self.watermark = if safe > 0 { safe } else { self.buffer / 2 };
        true
    }

    /// An ACK goes to the source, which might have sent up to `edge` without it.
    pub fn on_permission(&mut self, now: Instant, edge: u64) {
        if let Some(automatic) = self.automatic.as_deref_mut() {
            automatic.permission.get_or_insert((now, edge));
        }
    }
    /// Data up to `end` has come from the source.
    pub fn on_data(&mut self, now: Instant, end: u64) {
        let Some(automatic) = self.automatic.as_deref_mut() else { return };
        if let Some((sent_at, edge)) = automatic.permission {
            if end > edge {
                let took = now.since(sent_at);
                automatic.around_s = Some(automatic.around_s.map_or(took, |least| least.min(took)));
                automatic.permission = None;
            }
        }
    }

    /// A data packet found the buffer full.
    pub fn on_overflow(&mut self) {
        if let Some(automatic) = self.automatic.as_deref_mut() {
            automatic.overflowed = true;
        }
    }
    /// The buffer holds `copies`, of which `acknowledged` were acknowledged prematurely.
    #[inline]
    pub fn observe(&mut self, copies: usize, acknowledged: usize) {
        if let Some(automatic) = self.automatic.as_deref_mut() {
            automatic.peak = automatic.peak.max(copies);
            automatic.held_back |= copies > acknowledged && acknowledged >= self.watermark;
        }
    }
    /// The destination has acknowledged data, perhaps with a round trip as a sample; the shortest ever is `least`.
    pub fn on_ack(&mut self, now: Instant, sample: Option<Duration>, least: Duration) {
        let Some(automatic) = self.automatic.as_deref_mut() else { return };
        if let Some(sample) = sample {
            automatic.shortest = Some(automatic.shortest.map_or(sample, |shortest| shortest.min(sample)));
        }
        let Some(shortest) = automatic.shortest.filter(|_| automatic.begun) else { return };
        if automatic.overflowed {
            // All the way back to what is safe would throw away what was learnt; a quarter ends the overflow soon.
            automatic.ceiling = Some((self.watermark, MEMORY));
            self.watermark -= self.watermark.div_ceil(4);
        } else if now < automatic.loop_end {
            return;
        } else {
            let queue_stands = shortest > least + least.mul_f64(QUEUE_SHOWS);
            let limit = automatic.next_ceiling().unwrap_or(self.buffer);
            if automatic.held_back && !queue_stands {
                let room = self.buffer.saturating_sub(automatic.peak + 1);
                self.watermark = (self.watermark + room.div_ceil(2)).min(limit).max(self.watermark);
            }
        }
        automatic.loop_end = now + shortest + automatic.around_s.unwrap_or(shortest);
        automatic.peak = 0;
        automatic.shortest = None;
        automatic.held_back = false;
        automatic.overflowed = false;
    }
}

impl Automatic {
    /// What W has to stay at or below in the next loop, if anything.
    fn next_ceiling(&mut self) -> Option<usize> {
        let (ceiling, loops) = self.ceiling?;
        self.ceiling = (loops > 1).then_some((ceiling, loops - 1));
        Some(ceiling.saturating_sub(1))
    }
}
