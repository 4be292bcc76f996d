//! What is sent next and when: NextSeg() of RFC 6675 section 4, the windows, Nagle and silly window avoidance
//! (RFC 9293 sections 3.7.4 and 3.8.6.2.1), restart after idle (RFC 5681 section 4.1).

use super::{Chunk, Phase, Sender};
use crate::send_buffer::Held;
use crate::{Limit, Stats};
use longhaul_cc::Sent;
use longhaul_units::{Duration, Instant, Rate};

impl Sender {
    /// The next data segment, or what stands in the way. `option_bytes` of options take room from the payload.
    #[inline]
    pub fn next_segment(
        &mut self,
        now: Instant,
        option_bytes: u64,
        stats: &mut Stats,
    ) -> Result<Chunk, Limit> {
        if self.is_idle() {
            self.note_idle();
            return Err(Limit::Application);
        }
        let segment_size = self.mss.saturating_sub(option_bytes).max(1);
        let mut chosen = self.choose(now, segment_size);
        if chosen.is_err() && self.buffered.is_some() && self.refill_send_buffer(now, segment_size) {
            chosen = self.choose(now, segment_size);
        }
        match chosen {
            Ok(chunk) => {
                self.record(now, &chunk, segment_size, stats);
                Ok(chunk)
            }
            Err(limit) => {
                if self.measured.is_some() {
                    if matches!(limit, Limit::Application | Limit::SendBuffer | Limit::Recovery) {
                        self.mark_application_limited();
                    }
                    let forced = self
                        .take_tail_probe(limit, segment_size, stats)
                        .or_else(|| self.take_new_segment_after_timeout(segment_size));
                    if let Some(chunk) = forced {
                        self.record_forced(now, &chunk, stats);
                        return Ok(chunk);
                    }
                }
                Err(self.note_limit(limit))
            }
        }
    }

    /// What could be sent has been: a program that waits may write. True if it has.
    #[cold]
    #[inline(never)]
    fn refill_send_buffer(&mut self, now: Instant, segment_size: u64) -> bool {
        let pipe = self.pipe();
        let held = Held { una: self.una, max: self.max, sacked: self.board.sacked() };
        let Some(buffered) = &mut self.buffered else { return false };
        let room = pipe + segment_size <= self.cwnd;
        let ran_out = buffered.end < held.max + segment_size;
        let has_written = buffered.refill(now, held, self.data_end, self.cwnd, self.mss);
        // What is written into an empty buffer while the window has room comes late: rates measured until what is in flight is
        // delivered may be the application's (tcp_rate_check_app_limited).
        if has_written && ran_out && room && self.next_lost().is_none() {
            if let Some(measured) = &mut self.measured {
                measured.rate.limited_by_application(self.delivered, pipe);
            }
        }
        has_written
    }

    /// There is nothing to send.
    #[inline]
    pub fn note_idle(&mut self) {
        if self.measured.is_some() {
            self.mark_application_limited();
        }
    }

    /// Takes note of what keeps the next segment from leaving; returns what that counts as.
    #[inline]
    pub(super) fn note_limit(&mut self, mut limit: Limit) -> Limit {
        let full = !matches!(limit, Limit::Application | Limit::SendBuffer | Limit::ReceiverWindow)
            || self.pipe() + self.mss > self.cwnd;
        // Linux takes note where something leaves or the window is full, not while a program waits for room in the send buffer.
        let waits = !full && self.buffered.as_ref().is_some_and(|buffered| buffered.is_waiting());
        if let Some(usage) = self.usage.as_mut().filter(|_| !waits) {
            usage.note(self.una, self.max, full);
        }
        if full {
            self.cwnd_limited_below = self.max;
            if matches!(limit, Limit::ReceiverWindow | Limit::SendBuffer) && self.max > self.una {
                // cwnd is full as well: a larger window or buffer would let nothing go.
                limit = Limit::Cwnd;
            }
        } else if limit == Limit::ReceiverWindow {
            self.receiver_limited_below = self.max;
        }
        if limit == Limit::Cwnd && self.in_slow_start { Limit::SlowStart } else { limit }
    }

    /// Right after a segment: what [`Sender::next_segment`] would return, if it is plain that cwnd alone holds back a full segment
    /// without options. `None` where it has to be called.
    #[inline]
    pub fn blocked_by_cwnd(&mut self) -> Option<Limit> {
        let pipe = self.pipe();
        if self.measured.is_some() || pipe == 0 || pipe + self.mss <= self.cwnd {
            return None;
        }
        let limit = match self.phase {
            Phase::Open => Limit::Cwnd,
            _ if self.retransmit_now || self.record_ends.is_some() => return None,
            _ => Limit::Recovery,
        };
        let full = match self.next_lost().filter(|_| self.phase != Phase::Open) {
            Some((start, end)) => end.min(self.data_end) >= start + self.mss,
            None => {
                self.within_record(self.max, self.data_end).saturating_sub(self.max) >= self.mss
                    && self.max + self.mss <= self.buffer_edge()
                    && self.window_edge.saturating_sub(self.max) >= self.mss
            }
        };
        full.then(|| self.note_limit(limit))
    }

    /// Everything written has been sent and acknowledged: so it is for good where data is only received.
    #[inline]
    pub fn is_idle(&self) -> bool {
        self.max == self.data_end && self.una == self.max && !self.fin_queued && self.phase == Phase::Open
    }

    /// NextSeg() of RFC 6675 section 4, which without SACK is go-back-N or RFC 6582's one segment.
    #[inline]
    pub(super) fn choose(&mut self, now: Instant, segment_size: u64) -> Result<Chunk, Limit> {
        if self.phase == Phase::Open {
            let chunk = self.choose_new_data(now, segment_size)?;
            return self.release(now, chunk);
        }
        let paced = if self.rate_based { Limit::Pacing } else { Limit::Recovery };
        let recovering = |limit| if limit == Limit::Pacing { paced } else { Limit::Recovery };
        // Rule 1.
        if let Some(hole) = self.next_lost() {
            let chunk = self.piece(hole.0, hole.1.min(hole.0 + segment_size));
            self.check_room(chunk).map_err(recovering)?;
            return self.release(now, chunk).map_err(recovering);
        }
        self.retransmit_now = false;
        // Rule 2.
        match self.choose_new_data(now, segment_size) {
            Ok(chunk) => return self.release(now, chunk).map_err(recovering),
            Err(Limit::Cwnd) => return Err(Limit::Recovery),
            Err(_) => {}
        }
        if self.phase == Phase::FastRecovery && self.recovery.fills_holes() {
            // Rule 3.
            if let Some(hole) = self.board.next_hole() {
                let chunk = self.piece(hole.0, hole.1.min(hole.0 + segment_size));
                self.check_room(chunk).map_err(recovering)?;
                return self.release(now, chunk).map_err(recovering);
            }
            // Rule 4, the rescue retransmission: once in a recovery.
            if self.una > self.rescue_rxt {
                if let Some(hole) = self.board.last_hole(self.max) {
                    let start = hole.0.max(hole.1.saturating_sub(segment_size));
                    let chunk = Chunk { rescue: true, ..self.piece(start, hole.1) };
                    self.check_room(chunk).map_err(recovering)?;
                    return self.release(now, chunk).map_err(recovering);
                }
            }
        }
        Err(Limit::Recovery)
    }

    /// A retransmission of `[start, end)`, of which the last offset may be the FIN.
    pub(super) fn piece(&self, start: u64, end: u64) -> Chunk {
        let end = self.within_record(start, end);
        let payload_end = end.min(self.data_end);
        let ends_record = self.within_record(start, payload_end + 1) == payload_end;
        let last = (payload_end == self.data_end && !self.unpushed) || ends_record;
        Chunk {
            start,
            payload: payload_end.saturating_sub(start),
            fin: self.fin_queued && end > self.data_end,
            retransmission: true,
            push: last && start < payload_end,
            rescue: false,
        }
    }

    #[inline]
    pub(super) fn check_room(&self, chunk: Chunk) -> Result<(), Limit> {
        let pipe = self.pipe();
        let forced = chunk.retransmission && self.retransmit_now;
        if pipe + chunk.payload <= self.cwnd || pipe == 0 || forced { Ok(()) } else { Err(Limit::Cwnd) }
    }

    #[inline]
    pub(super) fn release(&mut self, now: Instant, chunk: Chunk) -> Result<Chunk, Limit> {
        if self.burst_left == 0 {
            return Err(Limit::Pacing);
        }
        self.pacing_deadline = Instant::FAR_FUTURE;
        if self.pacer.rate.is_some() {
            if let Some(until) = self.held_until(now, chunk.payload) {
                self.pacing_deadline = until;
                return Err(Limit::Pacing);
            }
        }
        Ok(chunk)
    }

    /// When a segment of so much payload may leave by the policy's tokens or its rate, if not now.
    #[inline]
    fn held_until(&mut self, now: Instant, payload: u64) -> Option<Instant> {
        if self.holds_tokens {
            let at = self.cc.release(now, payload);
            return (at > now).then_some(at);
        }
        self.pacer.held_until(now)
    }

    #[inline(always)]
    pub(super) fn choose_new_data(&mut self, now: Instant, segment_size: u64) -> Result<Chunk, Limit> {
        let start = self.max;
        let available_end = self.within_record(start, self.data_end);
        let available = available_end.saturating_sub(start);
        if available == 0 {
            return self.choose_fin(start);
        }
        if start.saturating_add(segment_size.min(available)) > self.buffer_edge() {
            // The application waits for room in the send buffer.
            return Err(Limit::SendBuffer);
        }
        let usable = self.window_edge.saturating_sub(start);
        let payload = segment_size.min(available).min(usable);
        if payload < segment_size {
            if payload < available {
                // Silly window avoidance (RFC 9293 section 3.8.6.2.1).
                let small = payload < self.max_window / 2 || payload == 0;
                if small && !(self.send_small && payload > 0) {
                    if self.una == start {
                        self.start_persisting(now);
                    }
                    return Err(Limit::ReceiverWindow);
                }
            } else if available_end == self.data_end && self.waits_for_more(start) && !self.fin_queued {
                if self.una == start {
                    // Nothing will come back that could let it go.
                    self.start_persisting(now);
                }
                return Err(Limit::Application);
            }
        }
        if self.una == start {
            self.restart_if_idle(now);
        }
        let last = payload == available;
        let chunk = Chunk {
            start,
            payload,
            fin: last && available_end == self.data_end && self.fin_queued,
            retransmission: false,
            push: last && !self.unpushed,
            rescue: false,
        };
        self.check_room(chunk)?;
        Ok(chunk)
    }

    /// The last data written do not fill a segment: true if they wait for more, for Nagle's algorithm (RFC 9293 section 3.7.4) or
    /// because the application requests it.
    #[inline]
    fn waits_for_more(&self, start: u64) -> bool {
        let nagle = self.nagle && self.una < start && (!self.minshall || self.una < self.small_below);
        nagle || ((self.corked || self.more_follows) && !self.send_small)
    }

    /// As much of a new segment as there is data for, and room at the receiver.
    pub(super) fn new_payload(&self, segment_size: u64) -> u64 {
        let (unsent, room) = (
            self.within_record(self.max, self.data_end).saturating_sub(self.max),
            self.window_edge.saturating_sub(self.max),
        );
        segment_size.min(unsent).min(room).min(self.buffer_edge().saturating_sub(self.max))
    }
    /// A new segment of so much.
    pub(super) fn new_chunk(&self, payload: u64) -> Chunk {
        let last = self.max + payload == self.data_end;
        let fin = last && self.fin_queued;
        Chunk {
            start: self.max,
            payload,
            fin,
            retransmission: false,
            push: last && !self.unpushed,
            rescue: false,
        }
    }

    /// Nothing but the FIN is left, or not even that.
    pub(super) fn choose_fin(&self, start: u64) -> Result<Chunk, Limit> {
        if !self.fin_queued {
            Err(Limit::Application)
        } else if start > self.data_end {
            Err(if self.una > self.data_end { Limit::Closed } else { Limit::Application })
        } else {
            Ok(Chunk { start, payload: 0, fin: true, retransmission: false, push: false, rescue: false })
        }
    }

    /// RFC 5681 section 4.1: nothing was sent for longer than the RTO.
    #[inline]
    pub(super) fn restart_if_idle(&mut self, now: Instant) {
        if self.restart_window.is_none() && self.pace_after_idle.is_none() {
            return;
        }
        let idle = now.since(self.last_sent);
        if idle > self.rtt.rto() && self.max > 1 {
            self.last_sent = now;
            self.end_rate_reduction();
            let restart_window = self.restart_window.map(|window| match window.bytes(self.mss) {
                window if self.halve_after_idle => window.max(self.halved_window(idle)),
                window => window,
            });
            if let Some(window) = self.begin_restart_pacing().or(restart_window) {
                self.cc.on_idle(window);
            }
            self.refresh();
        }
    }

    /// Half of the window, in whole segments, for each RTO of idleness; ssthresh keeps what it was (RFC 2861 section 3.1).
    #[cold]
    fn halved_window(&mut self, idle: Duration) -> u64 {
        self.cc.remember_window();
        // Of an idle time of two RTOs and a half Linux halves twice; of exactly two, once.
        let halvings = (idle.as_nanos() - 1) / self.rtt.rto().as_nanos().max(1);
        let segments = self.cwnd / self.mss;
        segments.checked_shr(u32::try_from(halvings).unwrap_or(u32::MAX)).unwrap_or(0) * self.mss
    }

    /// Rate-based pacing (Visweswaraiah and Heidemann 1997): there is no ACK clock, so a known window is sent at its rate. Returns
    /// the window; `None` if nothing is known.
    #[cold]
    fn begin_restart_pacing(&mut self) -> Option<u64> {
        let share = self.pace_after_idle.filter(|_| !self.rtt.srtt.is_zero())?;
        let window = ((self.cwnd as f64 * share) as u64).max(self.mss);
        let rate = Rate::from_bps_f64(window as f64 * 8.0 / self.rtt.srtt.as_secs_f64());
        self.restart_pacing = Some((rate, self.max));
        self.own_rate = true;
        Some(window)
    }

    #[cold]
    #[inline(never)]
    fn record_forced(&mut self, now: Instant, chunk: &Chunk, stats: &mut Stats) {
        self.record(now, chunk, self.mss, stats);
    }
    /// Nothing was in flight since the last progress.
    #[cold]
    #[inline(never)]
    fn begin_transmission(&mut self, now: Instant) {
        let idle = now.since(self.last_progress);
        if !idle.is_zero() {
            self.cc.on_transmission_start(now, idle);
        }
        self.last_progress = now;
    }
    /// The segment leaves.
    #[inline(always)]
    fn record(&mut self, now: Instant, chunk: &Chunk, segment_size: u64, stats: &mut Stats) {
        let end = chunk.start + chunk.payload + u64::from(chunk.fin);
        if chunk.payload > 0 {
            stats.data_segments_sent += 1;
            stats.data_bytes_sent += chunk.payload;
        }
        if chunk.retransmission {
            stats.retransmitted_segments += u64::from(chunk.payload > 0);
            stats.retransmitted_bytes += chunk.payload;
            self.retransmitted_below = self.retransmitted_below.max(end);
            if self.head_restarts_timer && chunk.start == self.una {
                self.rto_deadline = now + self.rtt.rto();
            }
            if chunk.rescue {
                self.rescue_rxt = self.recovery_point;
            } else {
                self.recovery.on_sent_again(&mut self.board, chunk.start, end);
                if self.recovery.counts_acks() && !self.retransmit_now {
                    self.inflation -= chunk.payload as i64;
                }
                if self.rescue_rxt == u64::MAX {
                    self.rescue_rxt = end;
                }
            }
            self.retransmit_now = false;
        } else {
            if self.una == self.max {
                self.begin_transmission(now);
            }
            if self.duplicate_acks > 0 && self.flight_size() + chunk.payload > self.cwnd {
                self.limited_transmitted += chunk.payload;
            }
            // A segment is full that an option of every segment has made smaller.
            if chunk.payload < self.mss && (self.marks.is_none() || chunk.payload < segment_size) {
                self.small_below = end;
            }
            self.max = end;
            self.log.sent(end, now);
            self.send_small = false;
            self.probe_outstanding = false;
            self.persist_deadline = Instant::FAR_FUTURE;
        }
        // RFC 6298 section 5.1.
        if self.rto_deadline == Instant::FAR_FUTURE {
            self.rto_deadline = now + self.rtt.rto();
        }
        self.last_sent = now;
        self.burst_left = self.burst_left.saturating_sub(1);
        self.pacer.sent(now, chunk.payload);
        if self.tells_of_sending || self.measured.is_some() {
            self.tell_of_sending(now, chunk, end);
        }
    }
    #[inline(never)]
    fn tell_of_sending(&mut self, now: Instant, chunk: &Chunk, end: u64) {
        let in_flight = self.pipe();
        self.cc.on_sent(&Sent { now, bytes: chunk.payload, in_flight, retransmission: chunk.retransmission });
        if self.measured.is_some() {
            self.remember(now, chunk, end, in_flight);
            if in_flight <= chunk.payload {
                // A policy with an estimate of the path's rate may pace a restart otherwise.
                self.refresh();
            }
        }
    }
}
