//! What several links share: carriers, and the transmitters of links that are half duplex. Whoever transmits there has it for a time, and
//! asks again when it may go on.

use crate::LinkConfig;
use crate::carrier::{Carrier, Member};
use crate::duplex::{Access, Medium};
use longhaul_units::{Duration, Instant, Rate, Size};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

/// What the links of a world share, by name.
pub struct Media {
    seed: u64,
    carriers: BTreeMap<String, Arc<Mutex<Carrier>>>,
    half_duplex: BTreeMap<String, Arc<Mutex<Medium>>>,
}

impl Media {
    /// Nothing yet. Random numbers follow from the seed.
    pub fn new(seed: u64) -> Self {
        Media { seed, carriers: BTreeMap::new(), half_duplex: BTreeMap::new() }
    }

    /// A link's part of what it shares, if it shares anything.
    pub(crate) fn join(&mut self, link: &LinkConfig) -> Option<Shared> {
        if let Some(place) = &link.carrier {
            let new = || Arc::new(Mutex::new(Carrier::new(&place.carrier, self.seed)));
            let carrier = self.carriers.entry(place.carrier.name.clone()).or_insert_with(new);
            return Some(Shared::Carrier(Member::join(carrier.clone(), &place.terminal)));
        }
        let half = link.half_duplex.as_ref()?;
        let new = || Arc::new(Mutex::new(Medium::new(&half.spec)));
        let medium = self.half_duplex.entry(half.name.clone()).or_insert_with(new).clone();
        Some(Shared::HalfDuplex(Access { medium, side: half.side }, link.rate))
    }
}

/// How far the transmission of a packet is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Turn {
    /// It ends then.
    Ends(Instant),
    /// It may go on then, if there is capacity for it.
    Later(Instant),
}

/// A link's part of something that it shares with others.
pub(crate) enum Shared {
    /// A carrier.
    Carrier(Member),
    /// A transmitter for both directions, and the rate of this one.
    HalfDuplex(Access, Rate),
}

impl Shared {
    /// How long a packet of `len` bytes takes.
    pub fn time_of(&self, len: u32) -> Duration {
        match self {
            Shared::Carrier(member) => member.time_of(len),
            Shared::HalfDuplex(_, rate) => rate.transmission_time(Size::from_bytes(u64::from(len))),
        }
    }
    /// A packet of `len` bytes has come into the queue at `now`.
    pub fn came(&self, now: Instant, len: u32) {
        if let Shared::Carrier(member) = self {
            member.came(now, len);
        }
    }
    /// A packet of `len` bytes has gone from the queue without being sent.
    pub fn gone(&self, len: u32) {
        if let Shared::Carrier(member) = self {
            member.gone(len);
        }
    }
    /// Sends what is left of a packet from `now` on, as far as that is possible.
    pub fn serve(&self, now: Instant, left: &mut Duration) -> Turn {
        match self {
            Shared::Carrier(member) => member.serve(now, left),
            Shared::HalfDuplex(access, _) => access.serve(now, left),
        }
    }
}
