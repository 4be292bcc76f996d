//! Everything that makes a link.

use crate::carrier::Membership;
use crate::schedule::Schedule;
use crate::settings::{Deserialize, JsonSchema, Serialize};
use crate::{
    ArqSpec, Change, CorruptionSpec, GrantSettings, HalfDuplex, JitterSpec, LinkTrace, LossSpec, Outage,
    OverheadSpec, QueueSpec, SerialSpec, SlotsSpec,
};
use longhaul_units::{Duration, Probability, Rate};

/// Some packets take longer and are overtaken.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Reordering {
    /// Probability that a packet takes longer.
    pub probability: Probability,
    /// How much longer.
    #[schemars(extend("x-maximum" = "1 h"))]
    pub delay: Duration,
}

/// Everything that makes a link.
#[derive(Clone, Debug)]
pub struct LinkConfig {
    /// Rate of the transmitter; of a serial line, that at which it carries bytes of 8 bits, and the mean of a measured one.
    pub rate: Rate,
    /// Propagation delay; the least of a measured one.
    pub delay: Duration,
    /// Queue discipline.
    pub queue: QueueSpec,
    /// Loss without congestion.
    pub loss: Option<LossSpec>,
    /// Scripted changes of rate, delay and loss.
    pub changes: Vec<Change>,
    /// Scripted outages.
    pub outages: Vec<Outage>,
    /// A measurement that rate, delay or loss follow.
    pub trace: LinkTrace,
    /// Extra delay at random.
    pub jitter: Option<JitterSpec>,
    /// Random overtaking.
    pub reordering: Option<Reordering>,
    /// What comes out waits for a slot.
    pub slots: Option<SlotsSpec>,
    /// Probability that a packet arrives twice.
    pub duplication: Probability,
    /// Damage that only a checksum at the end of the way finds.
    pub corruption: Option<CorruptionSpec>,
    /// Framing and the like. With header compression, packets are offered by [`crate::Link::offer_coded`].
    pub serial: Option<SerialSpec>,
    /// Bytes that each packet takes beside itself; not on a serial line, which has its framing.
    pub overhead: Option<OverheadSpec>,
    /// What grants it its capacity, if anything does.
    pub grants: GrantSettings,
    /// The carrier whose capacity it shares with other links, and its part; `rate` is then the most that it can have.
    pub carrier: Option<Membership>,
    /// It repeats what the wire loses; neither on a serial line nor on a carrier.
    pub arq: Option<ArqSpec>,
    /// The transmitter that it shares with the other direction, if they have one.
    pub half_duplex: Option<HalfDuplex>,
}

impl LinkConfig {
    /// A link of which nothing else is known: a constant rate and delay, no loss, nothing over time.
    pub fn plain(rate: Rate, delay: Duration, queue: QueueSpec) -> Self {
        LinkConfig {
            rate,
            delay,
            queue,
            loss: None,
            changes: vec![],
            outages: vec![],
            trace: LinkTrace::default(),
            jitter: None,
            reordering: None,
            slots: None,
            duplication: Probability::default(),
            corruption: None,
            serial: None,
            overhead: None,
            grants: GrantSettings::default(),
            carrier: None,
            arq: None,
            half_duplex: None,
        }
    }

    /// It is on a carrier of which it may have all.
    pub fn may_have_whole_carrier(&self) -> bool {
        self.carrier.as_ref().is_some_and(|place| place.carrier.rate == self.rate)
    }

    /// Packets overtake one another.
    pub fn reorders(&self) -> bool {
        self.reordering.is_some() || self.jitter.as_ref().is_some_and(|jitter| jitter.overtaking)
    }

    /// Rate, delay and outages over time.
    pub fn schedule(&self) -> Schedule {
        Schedule::new(self.rate, self.delay, &self.changes, &self.outages).following(self.trace.clone())
    }

    /// Bytes that a packet of `len` bytes takes on the link where nothing is lost.
    pub fn usual_len(&self, len: u32) -> u32 {
        let line = self.serial.map(|serial| serial.usual_len(len));
        line.or_else(|| Some(self.overhead?.line_len(len))).unwrap_or(len)
    }
}
