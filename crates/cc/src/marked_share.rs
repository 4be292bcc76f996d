//! The share of bytes that met congestion and were marked, as DCTCP and Prague estimate it.

use crate::{Ack, Bytes, Cut, Inspection, Window};

/// alpha, a moving average over windows of data (RFC 8257 section 3.3).
#[derive(Clone, Debug)]
pub(crate) struct MarkedShare {
    gain: f64,
    alpha: f64,
    /// Bytes acknowledged in this window, and bytes of them that were marked.
    acked: Bytes,
    marked: Bytes,
    /// [`Ack::marked`] of the last ACK, and what it added.
    known: Bytes,
    news: Bytes,
}

impl MarkedShare {
    /// `gain` is g.
    pub fn new(gain: f64, alpha: f64) -> Self {
        MarkedShare { gain, alpha, acked: 0, marked: 0, known: 0, news: 0 }
    }
    /// An ACK, whatever the window does with it.
    pub fn count(&mut self, ack: &Ack) {
        self.news = ack.marked.saturating_sub(self.known);
        self.known = ack.marked;
        self.acked = self.acked.saturating_add(ack.acked);
        self.marked = self.marked.saturating_add(self.news);
    }
    /// Steps 5 to 8: alpha takes up this window, and the next begins. Marks that were seen late are at most all of it.
    pub fn end_of_window(&mut self) {
        if self.acked > 0 {
            let share = (self.marked as f64 / self.acked as f64).min(1.0);
            self.alpha += self.gain * (share - self.alpha);
        }
        (self.acked, self.marked) = (0, 0);
    }
    /// Something was marked since the beginning.
    pub fn has_marks(&self) -> bool {
        self.known > 0
    }
    /// Of so many bytes that the last ACK covers, those that were not marked.
    pub fn unmarked(&self, acked: Bytes) -> Bytes {
        acked.saturating_sub(self.news)
    }
    /// Half of alpha less, at least two segments.
    pub fn cut(&self, window: &Window) -> Cut {
        let left = (window.cwnd * (1.0 - self.alpha / 2.0)).max(2.0 * window.mss);
        Cut { ssthresh: left, cwnd: left }
    }
    pub fn inspect(&self, inspection: &mut Inspection) {
        inspection.number("alpha", self.alpha);
    }
}
