//! Checks of the settings of TCP.

use super::Checker;
use crate::{BufferSpec, DelayedAck, RateReduction, SocketBuffer, SpuriousDetectionSpec, TcpSpec, Variant};

impl Checker {
    pub(crate) fn tcp(&mut self, tcp: &TcpSpec) {
        let mss = tcp.mss.as_bytes();
        if let BufferSpec::Limited(limit) = tcp.receive_buffer {
            if BufferSpec::Limited(limit).bytes(tcp.mss).is_some_and(|bytes| bytes < mss) {
                self.problem(&["receive_buffer"], "a receive buffer holds at least one segment");
            }
        }
        if let Some(sizes) = tcp.receive_autotuning {
            if sizes.sizes().initial_window() < mss || sizes.initial > sizes.max {
                self.problem(
                    &["receive_autotuning"],
                    "at most half of the first buffer is window: that is a segment, so initial is at least two segments, and not above max",
                );
            }
            if tcp.receive_buffer != BufferSpec::Unlimited {
                self.problem(
                    &["receive_buffer"],
                    "the buffer is autotuned (receive_autotuning): give its max instead, or so_rcvbuf for a fixed SO_RCVBUF",
                );
            }
        }
        if tcp.send_buffer.bytes(tcp.mss).is_some_and(|bytes| bytes < mss) {
            self.problem(&["send_buffer"], "a send buffer holds at least one segment");
        }
        self.socket_buffer(tcp, "so_rcvbuf", tcp.so_rcvbuf, "receive_buffer is the window itself");
        self.socket_buffer(tcp, "so_sndbuf", tcp.so_sndbuf, "send_buffer is the payload itself");
        if tcp.initial_window.window().bytes(tcp.mss.as_bytes()) > 1 << 30 {
            self.problem(
                &["initial_window"],
                "an initial window is at most 1 GiB, the largest window that TCP can have (RFC 7323 section 2.3)",
            );
        }
        if tcp.ack_congestion_control && tcp.delayed_ack == DelayedAck::Off {
            self.problem(
                &["ack_congestion_control"],
                "holding ACKs back needs a timer: give delayed_ack a time, as in \"200 ms\"",
            );
        }
        if tcp.ack_congestion_control && tcp.ack_every != 2 {
            self.problem(
                &["ack_every"],
                "with ack_congestion_control the sender sets it, from 2 on (RFC 5690 section 4.1)",
            );
        }
        self.spurious_detection(tcp);
        let rto = tcp.rto;
        if rto.min > rto.max || rto.initial > rto.max {
            self.problem(&["rto"], "min and initial must not exceed max");
        }
        if rto.ticks && rto.variation_by_round {
            self.problem(
                &["rto", "ticks"],
                "ticks are BSD's estimate, variation_by_round is Linux's; give one of them",
            );
        }
        if let Err(message) = tcp.congestion.check() {
            self.problem(&["congestion"], message);
        }
        if let Err(message) = tcp.slow_start.check() {
            self.problem(&["slow_start"], message);
        }
        if self.problems.is_empty() {
            if let Err(message) = tcp.check_congestion_control() {
                self.problem(&["congestion"], message);
            }
        }
    }

    /// A buffer that an application sets on its socket, as Linux has it.
    fn socket_buffer(&mut self, tcp: &TcpSpec, key: &'static str, buffer: SocketBuffer, otherwise: &str) {
        let Some(asked) = buffer.asked() else { return };
        if tcp.variant != Variant::Linux {
            let variant = tcp.variant.name();
            self.problem(
                &[key],
                format!(
                    "it needs variant = \"linux\", whose kernel doubles it; with \"{variant}\" {otherwise}"
                ),
            );
        } else if asked < tcp.mss.as_bytes() {
            self.problem(&[key], "a socket's buffer holds at least one segment");
        }
    }

    /// Settings that would silently do nothing.
    fn spurious_detection(&mut self, tcp: &TcpSpec) {
        let SpuriousDetectionSpec { eifel, dsack, .. } = tcp.spurious_detection;
        if eifel && !tcp.timestamps {
            self.problem(
                &["spurious_detection", "eifel"],
                "Eifel detection needs timestamps = true (RFC 3522)",
            );
        }
        let selective = tcp.variant.is_selective();
        if dsack && !(tcp.dsack && selective) {
            self.problem(
                &["spurious_detection", "dsack"],
                "detection by D-SACK needs dsack = true and variant \"sack\", \"fack\" or \"rack\" (RFC 3708)",
            );
        }
        if tcp.rate_reduction != RateReduction::Off && !selective {
            self.problem(
                &["rate_reduction"],
                "proportional rate reduction needs variant \"sack\", \"fack\" or \"rack\" (RFC 9937)",
            );
        }
        if tcp.rate_reduction != RateReduction::Off && tcp.variant == Variant::Sack1 {
            self.problem(
                &["rate_reduction"],
                "variant \"sack1\" counts ACKs itself: proportional rate reduction needs \"sack\", \"fack\" or \"rack\"",
            );
        }
        // Variant "linux" has them in any case.
        let asked = tcp.variant != Variant::Linux;
        if asked
            && tcp.rate_reduction_on_ecn
            && !(tcp.ecn.is_on() && tcp.rate_reduction != RateReduction::Off)
        {
            self.problem(&["rate_reduction_on_ecn"], "it needs ecn = true and rate_reduction");
        }
        if asked && tcp.halve_after_idle && !tcp.restart_after_idle {
            self.problem(&["halve_after_idle"], "it needs restart_after_idle = true");
        }
        if asked && tcp.sack_of_old_acks && !selective {
            self.problem(&["sack_of_old_acks"], "it needs variant \"sack\", \"fack\" or \"rack\"");
        }
        if asked && tcp.sack_whole_segments && tcp.variant != Variant::Rack {
            self.problem(&["sack_whole_segments"], "it needs variant \"rack\"");
        }
    }
}
