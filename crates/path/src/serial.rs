//! A serial line: bytes in start and stop bits, packets in frames, a maximum transmission unit of its own.
//! RFC 1055 (SLIP), RFC 1662 (PPP); the asymmetric satellite thesis (Coetzee 1999), section 5.2 and equation 5.5:
//! a packet takes D (framing + length) / (efficiency x baud).

use crate::Change;
use crate::settings::{Deserialize, JsonSchema, Serialize};
use longhaul_units::{Duration, Instant, Rate, Size};

/// What a packet is wrapped in. Bytes that are escaped are not counted: it depends on the data.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Framing {
    /// Nothing.
    None,
    /// SLIP with an END before and after each packet, as RFC 1055 recommends: 2 bytes.
    #[default]
    Slip,
    /// SLIP with an END after each packet only: 1 byte.
    SlipSingle,
    /// PPP (RFC 1662): flag, address, control, protocol of two bytes, frame check sequence of two: 7 bytes.
    Ppp,
    /// PPP without address and control and with a protocol of one byte, as it is usually agreed on: 4 bytes.
    PppCompressed,
}

impl Framing {
    /// Bytes that each frame adds.
    pub const fn bytes(self) -> u32 {
        match self {
            Framing::None => 0,
            Framing::Slip => 2,
            Framing::SlipSingle => 1,
            Framing::Ppp => 7,
            Framing::PppCompressed => 4,
        }
    }

    /// True if damage to a frame is noticed at the far end: PPP has a check sequence, SLIP has not.
    pub const fn notices_damage(self) -> bool {
        matches!(self, Framing::Ppp | Framing::PppCompressed)
    }
}

/// Van Jacobson header compression on a line (RFC 1144). It compresses what leaves the queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct VjSpec {
    /// Connections that both ends remember.
    #[schemars(range(min = 3, max = 254))]
    pub slots: u8,
    /// A compressed header counts as so long, as closed formulas have it; without it, as long as it is: 3 to 19 bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-minimum" = "3 B", "x-maximum" = "40 B"))]
    pub header: Option<Size>,
}

impl Default for VjSpec {
    fn default() -> Self {
        VjSpec { slots: 16, header: None }
    }
}

/// Robust header compression on a line (in the manner of RFC 6846). It compresses what leaves the queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RohcSpec {
    /// Connections that both ends remember.
    #[schemars(range(min = 1, max = 16))]
    pub contexts: u8,
    /// A header can be made out from any of so many before it: one less may be lost in a row without harm.
    #[schemars(range(min = 1, max = 14))]
    pub window: u32,
    /// Headers in full with which a connection begins, at most `window`.
    #[schemars(range(min = 1))]
    pub repeat: u32,
    /// A header in full is sent unasked after so many packets of a connection, 2 or more; 0 for never.
    pub refresh: u32,
    /// A request of the far end for a header in full comes back so long after the transmission of the frame that it could not make
    /// out: both propagation delays and what the other direction takes. Without it there are no requests.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub feedback: Option<Duration>,
}

impl Default for RohcSpec {
    fn default() -> Self {
        RohcSpec { contexts: 16, window: 8, repeat: 3, refresh: 256, feedback: None }
    }
}

impl RohcSpec {
    fn check(&self) -> Result<(), String> {
        if self.repeat > self.window {
            return Err(format!(
                "{} headers in full to begin with: at most the window, {}",
                self.repeat, self.window
            ));
        }
        if self.refresh == 1 {
            return Err("a header in full after each packet: 2 packets or more, or 0 for never".into());
        }
        Ok(())
    }
}

/// A serial line. The link's rate is then its speed in bits per second, start and stop bits included.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SerialSpec {
    /// What a packet is wrapped in.
    pub framing: Framing,
    /// Bits that a byte takes: 10 with a start and a stop bit (8N1), 8 on a synchronous line.
    #[schemars(range(min = 8, max = 16))]
    pub bits_per_byte: u32,
    /// Share of the line that can be used; over 1 where modems compress.
    #[schemars(extend("minimum" = 0.01, "maximum" = 100))]
    pub efficiency: f64,
    /// Longest packet, IP header included; a longer one crosses in fragments and is put together at the far end.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-minimum" = "68 B", "x-maximum" = "65535 B"))]
    pub mtu: Option<Size>,
    /// Van Jacobson header compression; without it, none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vj: Option<VjSpec>,
    /// Robust header compression, in place of Van Jacobson's; without it, none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rohc: Option<RohcSpec>,
}

impl Default for SerialSpec {
    fn default() -> Self {
        SerialSpec {
            framing: Framing::default(),
            bits_per_byte: 10,
            efficiency: 1.0,
            mtu: None,
            vj: None,
            rohc: None,
        }
    }
}

/// Bytes of the IPv4 header that each further fragment repeats.
const IP_HEADER: u32 = 20;
/// Headers of IP and TCP, and the size that the thesis takes for them when compressed (section 5.3.2).
const HEADERS: u32 = 40;
const COMPRESSED: u32 = 7;
/// An ACK of robust header compression: number and CRC, 16 bits of its number, checksum.
const ROBUST: u32 = 5;

impl SerialSpec {
    /// What is wrong with it, if anything, and in which field.
    pub fn check(&self) -> Result<(), (&'static str, String)> {
        if let Some(rohc) = self.rohc {
            if self.vj.is_some() {
                return Err(("rohc", "a line compresses headers in one way: `vj` or `rohc`".into()));
            }
            rohc.check().map_err(|message| ("rohc", message))?;
        }
        Ok(())
    }

    /// The rate at which a line of this speed carries bytes, at 8 bits each: `eta baud 8 / D`, at least 1 bit/s.
    pub fn data_rate(&self, speed: Rate) -> Rate {
        if speed.is_zero() {
            return speed;
        }
        let rate = speed.as_bps() as f64 * self.efficiency * 8.0 / f64::from(self.bits_per_byte);
        Rate::from_bps((rate.round() as u64).max(1))
    }

    /// The same of each of a link's changes.
    pub fn data_changes(&self, changes: &[Change]) -> Vec<Change> {
        let change =
            |change: &Change| Change { rate: change.rate.map(|rate| self.data_rate(rate)), ..*change };
        changes.iter().map(change).collect()
    }

    /// Bytes on the line of a packet of `len` bytes, compressed or not: with the headers of its fragments, and framing.
    pub fn line_len(&self, len: u32) -> u32 {
        let mtu = self.mtu.map_or(u32::MAX, |mtu| mtu.as_bytes() as u32);
        if len <= mtu {
            return len + self.framing.bytes();
        }
        // Fragments other than the last carry a multiple of 8 bytes (RFC 791).
        let (data, most) = (len - IP_HEADER, (mtu - IP_HEADER) / 8 * 8);
        let fragments = data.div_ceil(most);
        data + fragments * (IP_HEADER + self.framing.bytes())
    }

    /// The key of the header compression that it has, if it has one.
    pub fn compression(&self) -> Option<&'static str> {
        self.vj.map(|_| "vj").or(self.rohc.map(|_| "rohc"))
    }

    /// Bytes on the line of a packet of `len` bytes where nothing is lost and everything is compressed that can be.
    pub fn usual_len(&self, len: u32) -> u32 {
        let of_vj = |vj: VjSpec| vj.header.map_or(COMPRESSED, |header| header.as_bytes() as u32);
        match self.vj.map(of_vj).or(self.rohc.map(|_| ROBUST)) {
            Some(header) if len >= HEADERS => self.line_len(len - HEADERS + header),
            _ => self.line_len(len),
        }
    }
}

/// Compresses what leaves a queue. It gets each packet when its transmission is due, in order, and is notified of what became of it before it gets
/// the next.
pub trait LineCoder<P> {
    /// Bytes of the packet on the line, framing not included. Its transmission begins at `start`.
    fn encode(&mut self, start: Instant, packet: &P) -> u32;
    /// The packet has crossed the line, its transmission has ended at `departure`: false if the far end cannot read it.
    fn decode(&mut self, departure: Instant) -> bool;
    /// The packet was lost on the line. `noticed`: the framing at the far end has seen that there was one.
    fn lost(&mut self, noticed: bool);
}

/// Leaves packets as they are.
pub(crate) struct Plain;

impl<P: crate::Packet> LineCoder<P> for Plain {
    #[inline]
    fn encode(&mut self, _start: Instant, packet: &P) -> u32 {
        packet.wire_len()
    }
    #[inline]
    fn decode(&mut self, _departure: Instant) -> bool {
        true
    }
    #[inline]
    fn lost(&mut self, _noticed: bool) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use longhaul_units::ranges::{Key, out_of_range};

    /// The thesis, section 5.3: an ACK of 40 bytes takes 43.75 ms at 9600 baud with 2 bytes of framing, 42.71 ms with 1;
    /// a ping of 84 bytes 89.58 and 88.54 ms (its text rounds to 43 and 89).
    #[test]
    fn transmission_times_of_the_thesis() {
        let micros = |framing, len| {
            let serial = SerialSpec { framing, ..SerialSpec::default() };
            let rate = serial.data_rate(Rate::from_bps(9600));
            rate.transmission_time(Size::from_bytes(u64::from(serial.line_len(len)))).as_nanos() / 1000
        };
        assert_eq!((micros(Framing::Slip, 40), micros(Framing::SlipSingle, 40)), (43_750, 42_708));
        assert_eq!((micros(Framing::Slip, 84), micros(Framing::SlipSingle, 84)), (89_583, 88_541));
    }

    /// RFC 791: 1500 bytes over an MTU of 576 are fragments with 552, 552 and 376 bytes of data.
    #[test]
    fn long_packets_cross_in_fragments() {
        let serial = SerialSpec { mtu: Some(Size::from_bytes(576)), ..SerialSpec::default() };
        assert_eq!([576, 577, 1500].map(|len| serial.line_len(len)), [578, 577 + 20 + 4, 1500 + 40 + 6]);
    }

    #[test]
    fn synchronous_lines_carry_their_whole_rate() {
        let serial = SerialSpec { bits_per_byte: 8, framing: Framing::None, ..SerialSpec::default() };
        assert_eq!(serial.data_rate(Rate::from_bps(64_000)), Rate::from_bps(64_000));
        assert_eq!(serial.line_len(40), 40);
        let half = SerialSpec { efficiency: 0.5, ..SerialSpec::default() };
        assert_eq!(half.data_rate(Rate::from_bps(9600)), Rate::from_bps(3840));
    }

    #[test]
    fn nonsense_is_refused() {
        let good = SerialSpec::default();
        // The key that is out of its range, or else what does not go together.
        let bad = |spec: SerialSpec| match out_of_range(&spec).first().map(|found| found.place[0]) {
            Some(Key::Field(field)) => field,
            _ => spec.check().unwrap_err().0,
        };
        assert_eq!((out_of_range(&good), good.check()), (vec![], Ok(())));
        assert_eq!(bad(SerialSpec { bits_per_byte: 7, ..good }), "bits_per_byte");
        assert_eq!(bad(SerialSpec { efficiency: 0.0, ..good }), "efficiency");
        assert_eq!(bad(SerialSpec { mtu: Some(Size::from_bytes(60)), ..good }), "mtu");
        assert_eq!(bad(SerialSpec { vj: Some(VjSpec { slots: 2, header: None }), ..good }), "vj");
        let header = |bytes| SerialSpec {
            vj: Some(VjSpec { header: Some(Size::from_bytes(bytes)), ..VjSpec::default() }),
            ..good
        };
        assert_eq!([3, 40].map(|bytes| out_of_range(&header(bytes))), [vec![], vec![]]);
        assert_eq!([2, 41].map(|bytes| bad(header(bytes))), ["vj", "vj"]);
        let rohc = |rohc| SerialSpec { rohc: Some(rohc), ..good };
        assert_eq!(rohc(RohcSpec::default()).check(), Ok(()));
        for spec in [
            RohcSpec { contexts: 17, ..RohcSpec::default() },
            RohcSpec { window: 15, ..RohcSpec::default() },
            RohcSpec { repeat: 9, ..RohcSpec::default() },
            RohcSpec { refresh: 1, ..RohcSpec::default() },
        ] {
            assert_eq!(bad(rohc(spec)), "rohc");
        }
        assert_eq!(bad(SerialSpec { vj: Some(VjSpec::default()), ..rohc(RohcSpec::default()) }), "rohc");
        let header = Some(Size::from_bytes(41));
        assert_eq!(bad(SerialSpec { vj: Some(VjSpec { slots: 16, header }), ..good }), "vj");
    }
}
