//! A congestion window (RFC 5681) composed of an avoidance rule and a slow start policy.
//! What holds for every pair is here: when growth is held, the loss window, restart after idle, undo, pacing.

use crate::{Ack, Avoidance, Bytes, Congestion, CongestionControl, CongestionKind, Pacing, Setup, SlowStart};
use longhaul_units::{Duration, Rate};

/// The window and its threshold, as the rules see them. Fractions of a byte count: small steps must not be lost.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Window {
    /// Congestion window in bytes; never below one MSS.
    pub cwnd: f64,
    /// Slow start threshold in bytes; infinite while there is none.
    pub ssthresh: f64,
    /// Maximum segment size in bytes.
    pub mss: f64,
    /// How many times congestion has cut the window so far.
    pub cuts: u32,
    /// What the last cut was for.
    pub last_cut: Option<CongestionKind>,
}

impl Window {
    /// The window in segments, for formulas that count packets.
    pub fn segments(&self) -> f64 {
        self.cwnd / self.mss
    }
    /// RFC 5681 section 3.1: slow start while cwnd < ssthresh.
    pub fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }
    fn grow(&mut self, bytes: f64) {
        self.cwnd = (self.cwnd + bytes).max(self.mss);
    }
}

/// A window policy made of an avoidance rule `A` and a slow start policy `S`.
#[derive(Clone, Debug)]
pub struct WindowBased<A, S> {
    window: Window,
    avoidance: A,
    slow_start: S,
    pacing: Pacing,
    srtt: Duration,
    /// The timer has expired and nothing was acknowledged since: the next timeout is of the same segment.
    backed_off: bool,
    /// The state before the last cut.
    before_cut: Option<(Window, A, S)>,
}

impl<A: Avoidance, S: SlowStart> WindowBased<A, S> {
    /// A window at its initial size.
    pub fn new(avoidance: A, slow_start: S, setup: &Setup) -> Self {
        let mss = setup.mss.max(1) as f64;
        let given = setup.initial_ssthresh.map_or(f64::INFINITY, |bytes| (bytes as f64).max(2.0 * mss));
        let window = Window {
            cwnd: (setup.initial_window as f64).max(mss),
            ssthresh: slow_start.initial_ssthresh(given),
            mss,
            cuts: 0,
            last_cut: None,
        };
        WindowBased {
            window,
            avoidance,
            slow_start,
            pacing: setup.pacing,
            srtt: Duration::ZERO,
            backed_off: false,
            before_cut: None,
        }
    }

    fn step_of_slow_start(&mut self, ack: &Ack) {
        let step = self.slow_start.increase(&self.window, ack);
        let step = self.avoidance.shape_slow_start(&self.window, ack, step);
        self.window.grow(step.bytes);
        if step.exit {
            self.window.ssthresh = self.window.cwnd;
        }
    }

    fn step_of_avoidance(&mut self, ack: &Ack) {
        let step = self.avoidance.increase(&self.window, ack);
        let least = self.slow_start.beyond_ssthresh(&self.window, ack);
        self.window.grow(if least > 0.0 { step.max(least) } else { step });
    }

    /// Loss or ECN echo.
    fn cut(&mut self, event: &Congestion) {
        self.remember();
        let cut = self.avoidance.decrease(&self.window, event);
        self.slow_start.congestion(event);
        self.window.ssthresh = cut.ssthresh;
        // FlightSize can exceed cwnd (two events in a row): congestion never raises the window.
        self.window.cwnd = cut.cwnd.min(self.window.cwnd).max(self.window.mss);
    }

    /// RFC 5681 section 3.1: cwnd becomes the loss window of one segment; ssthresh is held when the timer expires again
    /// for the same segment.
    fn timeout(&mut self, event: &Congestion) {
        if !self.backed_off {
            self.remember();
            self.window.ssthresh = self.avoidance.timeout(&self.window, event);
            self.slow_start.congestion(event);
        }
        self.backed_off = true;
        self.window.cwnd = self.window.mss;
    }

    fn remember(&mut self) {
        self.before_cut = Some((self.window, self.avoidance.clone(), self.slow_start.clone()));
    }

    /// RFC 9438 section 4.9.2: everything as before the cut, unless the window has already outgrown it.
    fn undo(&mut self) {
        if let Some((window, avoidance, slow_start)) = self.before_cut.take() {
            if self.window.cwnd < window.cwnd {
                (self.window, self.avoidance, self.slow_start) = (window, avoidance, slow_start);
            }
        }
    }
}

impl<A: Avoidance, S: SlowStart> CongestionControl for WindowBased<A, S> {
    fn on_ack(&mut self, ack: &Ack) {
        self.srtt = ack.srtt;
        self.backed_off = false;
        self.avoidance.observe(&self.window, ack);
        self.slow_start.observe(&self.window, ack);
        // The window stands still in recovery (RFC 6675 section 5) and while it is not what limits the sender
        // (RFC 9293 section 3.8.2 by way of RFC 5681; RFC 7661 section 4.1).
        if ack.in_recovery || ack.app_limited {
            return;
        }
        if self.window.in_slow_start() {
            self.step_of_slow_start(ack);
        } else {
            self.step_of_avoidance(ack);
        }
    }

    fn on_congestion(&mut self, event: &Congestion) {
        match event.kind {
            CongestionKind::Spurious => return self.undo(),
            CongestionKind::Loss | CongestionKind::EcnEcho => self.cut(event),
            CongestionKind::Timeout => self.timeout(event),
        }
        self.window.cuts = self.window.cuts.saturating_add(1);
        self.window.last_cut = Some(event.kind);
    }

    /// RFC 5681 section 4.1: RW = min(IW, cwnd); ssthresh stays.
    fn on_idle(&mut self, restart_window: Bytes) {
        self.window.cwnd = self.window.cwnd.min(restart_window as f64).max(self.window.mss);
        self.avoidance.idle();
        self.slow_start.idle();
    }

    fn window(&self) -> Bytes {
        self.window.cwnd as Bytes
    }

    fn ssthresh(&self) -> Bytes {
        self.window.ssthresh as Bytes
    }

    fn in_slow_start(&self) -> bool {
        self.window.in_slow_start()
    }

    fn pacing_rate(&self) -> Option<Rate> {
        self.pacing.rate(self.window.cwnd, self.window.ssthresh, self.srtt)
    }
}
