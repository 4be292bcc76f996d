//! What leaves when: quinn-proto is given just as much as may leave now, so that this node decides whose turn it is until the
//! last moment.

use super::{Peer, State};
use crate::config::Role;
use crate::controller::Allowance;
use crate::flow::Phase;
use crate::types::Transmit;
use crate::wire::Record;
use bytes::Buf;
use longhaul_units::Instant;
use quinn_proto::FrameStats;

/// Bytes of a packet that are neither data nor headers of IP and UDP: QUIC's header, tag and the head of a frame.
const OVERHEAD: u64 = 36;

impl Peer {
    /// The next batch to send. `buffer` is empty. Until `hold`, others have the rate that all peers share.
    pub fn poll_transmit(
        &mut self,
        now: Instant,
        hold: Option<Instant>,
        buffer: &mut Vec<u8>,
    ) -> Option<Transmit> {
        let at = self.clock.to_std(now);
        // What waits for a queue to be drained does not hold up a class below its floor.
        let floor = self.scheduler.floor_at().filter(|_| hold.is_none());
        let (allowance, first) = {
            let mut core = self.shared.lock();
            self.unsent += std::mem::take(&mut core.lost);
            let allowance =
                hold.map_or_else(|| core.controller.allowance(now, self.config.batch), Allowance::Until);
            let full =
                matches!(allowance, Allowance::Until(_)) && floor.is_some() && core.controller.is_full(now);
            let first = full && floor.is_some_and(|floor| floor <= now);
            let allowance = match (allowance, floor) {
                _ if first => Allowance::Packets(1),
                (Allowance::Until(release), Some(floor)) if full => Allowance::Until(release.min(floor)),
                _ => allowance,
            };
            core.open = matches!(allowance, Allowance::Packets(_));
            core.asked = false;
            (allowance, first)
        };
        let packets = match allowance {
            Allowance::Packets(packets) => packets,
            Allowance::Until(_) => 1,
        };
        let open = matches!(allowance, Allowance::Packets(_));
        if open {
            self.report_waiting(now);
            // Not before: quinn-proto holds back an ACK together with what it may not send yet.
            self.flush_records();
        }
        let left = if first { self.unsent } else { 0 };
        let full = left + packets as u64 * u64::from(self.config.mtu);
        for _ in 0..2 {
            if open {
                self.feed(now, full);
            }
            if let Some(transmit) = self.connection.poll_transmit(at, packets, buffer) {
                self.mark(buffer);
                return Some(self.sent(now, &transmit, packets));
            }
            if !open {
                let waits = !self.scheduler.is_empty() || !self.parity.is_empty() || !self.records.is_empty();
                let (asked, bounded) = {
                    let core = self.shared.lock();
                    (core.asked || waits, core.controller.is_at_most())
                };
                match allowance {
                    Allowance::Until(_) if hold.is_some() => {
                        self.queues |= asked;
                        self.waiting.set(now, false);
                        // What is not sent shows nothing about the path.
                        self.shared.lock().controller.on_app_limited(now);
                    }
                    Allowance::Until(release) if asked => {
                        self.release = Some(release);
                        self.waiting.set(now, !bounded);
                    }
                    _ => self.waiting.set(now, false),
                }
                return None;
            }
            self.unsent = 0;
            let release = self.scheduler.release(now);
            if (self.scheduler.is_empty() || release.is_some()) && self.parity.is_empty() {
                self.release = release.or(self.release);
                self.waiting.set(now, false);
                self.shared.lock().controller.on_app_limited(now);
                return None;
            }
        }
        None
    }

    fn sent(&mut self, now: Instant, transmit: &quinn_proto::Transmit, packets: usize) -> Transmit {
        let length = transmit.size as u64;
        let segment = transmit.segment_size.unwrap_or(transmit.size).max(1);
        let count = transmit.size.div_ceil(segment);
        let last = transmit.size - (count - 1) * segment;
        // What has nothing but an ACK is not in flight: nobody acknowledges it. With many gaps it is long.
        let eliciting = eliciting(&self.connection.stats().frame_tx);
        let bare = eliciting == std::mem::replace(&mut self.eliciting, eliciting);
        if !bare {
            self.asked = now;
        }
        self.shared.lock().controller.on_sent(now, length, count as u64, !bare);
        self.unsent = if count <= packets && last + 32 < usize::from(self.config.mtu) {
            0 // The last packet had room: nothing is left.
        } else {
            self.unsent.saturating_sub(length.saturating_sub(OVERHEAD * count as u64))
        };
        Transmit {
            to: transmit.destination,
            from: transmit.src_ip,
            len: transmit.size,
            segment_size: transmit.segment_size,
            ecn: if transmit.ecn.is_some() { 2 } else { 0 },
        }
    }

    /// A terminal cannot see whether its hub has more for it.
    fn report_waiting(&mut self, now: Instant) {
        if self.state != State::Up || self.config.role != Role::Hub {
            return;
        }
        if let Some(millis) = self.waiting.report(now) {
            Record::Waited { millis }.write(&mut self.records);
        }
    }

    fn flush_records(&mut self) {
        let Some(control) = self.control_out.filter(|_| !self.records.is_empty()) else { return };
        match self.connection.send_stream(control).write(&self.records) {
            Ok(written) => {
                self.records.drain(..written);
                self.unsent += written as u64;
            }
            Err(_) => self.records.clear(),
        }
    }

    /// Hands quinn-proto what leaves next, so that it has `want` bytes to send.
    fn feed(&mut self, now: Instant, want: u64) {
        let plan = self.coding_plan();
        while self.unsent < want {
            if self.unsent > 0 && self.parity.waits_for_data() {
                return;
            }
            if let Some(length) = self.parity.send(&mut self.connection) {
                self.unsent += length;
                continue;
            }
            let Some(key) = self.scheduler.next(now) else { return };
            let Some(flow) = self.flows.get_mut(&key) else { continue };
            let quantum =
                u64::from(self.config.mtu) * (1 + flow.open.map_or(0, |open| u64::from(open.priority)));
            let out = &mut flow.out;
            let codes = plan.codes(out, self.scheduler.len());
            // Turns in a row are handed over in one piece, for quinn-proto searches all pieces in flight for each packet.
            let alone =
                self.scheduler.is_empty() && self.parity.is_empty() && self.scheduler.is_unbounded(&out.turn);
            let alike = if alone { plan.alike(out).min(want - self.unsent) } else { 0 };
            let turns = alike.div_ceil(quantum).max(1);
            let mut stream = self.connection.send_stream(flow.stream);
            if self.scheduler.has_floor(&out.turn) {
                // It goes before what was handed over already.
                let _ = stream.set_priority(1);
            }
            let mut fed = 0;
            while fed < turns * quantum {
                let Some(bytes) = out.take(turns * quantum - fed) else { break };
                let length = bytes.len() as u64;
                if codes {
                    out.encoder.push(out.fed - length, bytes.clone());
                }
                fed += length;
                // Windows are without end: all is taken, unless the stream was stopped, which is reported elsewhere.
                let mut chunks = [bytes];
                while chunks[0].has_remaining() && stream.write_chunks(&mut chunks).is_ok() {}
            }
            self.backlog.remove(fed);
            if out.full && self.backlog.has_drained(self.scheduler.len() + 1, out.queued) {
                self.drained.push(key);
            }
            if out.queued == 0 && out.phase == Phase::Ending && !out.ended {
                out.ended = true;
                let _ = stream.finish();
            }
            self.unsent += fed;
            let mut last = fed;
            while last > quantum {
                self.scheduler.sent(now, &mut out.turn, quantum);
                self.scheduler.put_back(key, &mut out.turn);
                self.scheduler.next(now);
                last -= quantum;
            }
            self.scheduler.sent(now, &mut out.turn, last);
            self.parity.after_feed(now, key, out, codes, &plan);
            if out.has_work() {
                self.scheduler.put_back(key, &mut out.turn);
            } else {
                self.scheduler.rest(now, &mut out.turn);
            }
        }
    }
}

/// Frames that the peer acknowledges, ACKs themselves and CONNECTION_CLOSE not among them (RFC 9000 section 13.2).
fn eliciting(frames: &FrameStats) -> u64 {
    frames.stream
        + frames.datagram
        + frames.crypto
        + frames.ping
        + frames.ack_frequency
        + frames.immediate_ack
        + u64::from(frames.handshake_done)
        + frames.reset_stream
        + frames.stop_sending
        + frames.max_data
        + frames.max_stream_data
        + frames.max_streams_bidi
        + frames.max_streams_uni
        + frames.data_blocked
        + frames.stream_data_blocked
        + frames.streams_blocked_bidi
        + frames.streams_blocked_uni
        + frames.new_connection_id
        + frames.retire_connection_id
        + frames.new_token
        + frames.path_challenge
        + frames.path_response
}
