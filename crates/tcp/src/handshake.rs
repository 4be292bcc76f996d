//! What the two SYNs agree on: MSS (RFC 6691), window scale and timestamps (RFC 7323), SACK (RFC 2018), ACK congestion control
//! (RFC 5690).

use crate::Config;
use longhaul_segment::{Options, Segment, Timestamps};

/// MSS of a peer whose SYN has no MSS option (RFC 9293 section 3.7.1).
const DEFAULT_MSS: u16 = 536;
/// The timestamps option with its padding.
pub(crate) const TIMESTAMPS_LEN: u32 = 12;

/// What one end offers in its SYN.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Offer {
    pub mss: u32,
    pub window_scale: Option<u8>,
    pub sack: bool,
    pub timestamps: Option<u32>,
    pub ack_congestion_control: bool,
}

impl Offer {
    pub fn of_config(config: &Config) -> Self {
        Offer {
            mss: config.mss.clamp(1, u32::from(u16::MAX)),
            window_scale: config.window_scaling.then(|| config.window_shift()),
            sack: config.sack_offered(),
            timestamps: config.timestamps.then_some(0),
            ack_congestion_control: config.ack_congestion_control,
        }
    }
    pub fn of_segment(syn: &Segment) -> Self {
        Offer {
            mss: u32::from(syn.options.mss.unwrap_or(DEFAULT_MSS)).max(1),
            // RFC 7323 section 2.3: a shift above 14 counts as 14.
            window_scale: syn.options.window_scale.map(|shift| shift.min(14)),
            sack: syn.options.sack_permitted,
            timestamps: syn.options.timestamps.map(|timestamps| timestamps.value),
            ack_congestion_control: syn.options.ack_congestion_control_permitted,
        }
    }
    /// Assumes a peer of our configuration; of its SYN only the timestamp counts.
    pub fn assumed(config: &Config, syn: &Segment) -> Self {
        let timestamps = syn.options.timestamps.map(|timestamps| timestamps.value);
        Offer { timestamps, ..Offer::of_config(config) }
    }
    /// As options of a SYN whose other options are assumed.
    pub fn timestamps_only(&self, timestamp: u32, echo: u32) -> Options {
        let timestamps = self.timestamps.map(|_| Timestamps { value: timestamp, echo });
        Options { timestamps, ..Options::default() }
    }
    /// As options of our SYN.
    pub fn options(&self, timestamp: u32, echo: u32) -> Options {
        Options {
            mss: Some(self.mss as u16),
            window_scale: self.window_scale,
            sack_permitted: self.sack,
            timestamps: self.timestamps.map(|_| Timestamps { value: timestamp, echo }),
            ack_congestion_control_permitted: self.ack_congestion_control,
            ..Options::default()
        }
    }
    /// What both support; used for a SYN-ACK and from then on.
    pub fn agree(&self, peer: &Offer) -> Agreement {
        let scaling = self.window_scale.zip(peer.window_scale);
        let timestamps = self.timestamps.is_some() && peer.timestamps.is_some();
        let options = if timestamps { TIMESTAMPS_LEN } else { 0 };
        Agreement {
            mss: self.mss.min(peer.mss).saturating_sub(options).max(1),
            receive_shift: scaling.map_or(0, |shifts| shifts.0),
            send_shift: scaling.map_or(0, |shifts| shifts.1),
            sack: self.sack && peer.sack,
            timestamps,
            plain: !timestamps,
            ack_congestion_control: self.ack_congestion_control && peer.ack_congestion_control,
        }
    }
}

/// What holds for the connection.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Agreement {
    /// Payload of a full-sized segment.
    pub mss: u32,
    /// Scale of the windows that we announce.
    pub receive_shift: u8,
    /// Scale of the peer's windows.
    pub send_shift: u8,
    pub sack: bool,
    pub timestamps: bool,
    /// Headers are those of RFC 9293: no timestamps, no accurate ECN feedback, no exact echo of marks.
    pub plain: bool,
    pub ack_congestion_control: bool,
}
