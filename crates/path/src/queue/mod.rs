//! Queue disciplines, of two kinds. A discipline that decides on arrival and serves in order is an [`Admission`]: the
//! link then computes every packet's departure the moment it arrives. All others are a [`Queue`].
//!
//! A new one is a file here, with its parameters ([`Parameters`]), and its lines in this one: the module, and an entry in the list
//! of `disciplines!`.

mod bucket;
mod cake;
mod cobalt;
mod codel;
mod drop_tail;
mod drr;
mod dualpi2;
mod fifo;
mod flows;
mod fq_codel;
mod fq_pie;
mod head_drop;
mod held;
mod holding;
mod pie;
pub mod red;
mod rounds;
mod tbf;
#[cfg(test)]
pub(crate) mod testing;
mod wfq;

pub use bucket::Bucket;
pub use cake::{Cake, CakeSpec, Diffserv, Isolation};
pub use codel::{CodelQueue, CodelSpec};
pub use drop_tail::{DropTail, DropTailSpec};
pub use drr::{Drr, DrrSpec};
pub use dualpi2::{DualPi2, DualPi2Spec, Scheduler};
pub use fq_codel::{FqCodel, FqCodelSpec};
pub use fq_pie::{FqPie, FqPieSpec};
pub use head_drop::{HeadDrop, HeadDropSpec};
pub use held::HeldQueue;
pub use pie::{Pie, PieSpec};
pub use red::{Red, RedSpec};
pub use tbf::{Tbf, TbfSpec};
pub use wfq::{Wfq, WfqSpec};

use crate::settings::{Deserialize, JsonSchema, Serialize};
use crate::{DropCause, Hosts, Packet, Random};
use longhaul_units::{Duration, Instant, Limit, QueueLimit, Rate};

/// What is in the system: waiting packets and the one in transmission.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Occupancy {
    /// Packets.
    pub packets: u64,
    /// Bytes on the wire.
    pub bytes: u64,
}

impl Occupancy {
    /// True if a further packet of `len` bytes stays within `limit`. A packet always fits into an empty queue.
    #[inline]
    pub fn has_room(&self, limit: Limit, len: u32) -> bool {
        match limit {
            Limit::Packets(most) => self.packets < most,
            Limit::Bytes(most) => self.packets == 0 || self.bytes + u64::from(len) <= most.as_bytes(),
        }
    }
    /// True if it is within `limit`. A single packet always is.
    #[inline]
    pub(crate) fn is_within(&self, limit: Limit) -> bool {
        match limit {
            Limit::Packets(most) => self.packets <= most,
            Limit::Bytes(most) => self.packets <= 1 || self.bytes <= most.as_bytes(),
        }
    }
    /// With the packet in transmission, if there is one (its bytes, else 0).
    pub(crate) fn with(mut self, in_service: u32) -> Self {
        if in_service > 0 {
            self.add(in_service);
        }
        self
    }
    #[inline]
    pub(crate) fn add(&mut self, len: u32) {
        self.packets += 1;
        self.bytes += u64::from(len);
    }
    #[inline]
    pub(crate) fn remove(&mut self, len: u32) {
        self.packets -= 1;
        self.bytes -= u64::from(len);
    }
}

/// What an arriving packet finds.
#[derive(Clone, Copy, Debug)]
pub struct Found {
    /// All that is in the system.
    pub system: Occupancy,
    /// Bytes of the packet in transmission, 0 if there is none.
    pub in_service: u32,
    /// When the transmitter will have sent all of it, or has, if it is idle. Only where departures are known on arrival.
    pub free_at: Instant,
}

impl Found {
    /// What waits, without the packet in transmission.
    #[inline]
    pub fn waiting(&self) -> Occupancy {
        Occupancy {
            packets: self.system.packets - u64::from(self.in_service > 0),
            bytes: self.system.bytes - u64::from(self.in_service),
        }
    }
}

/// What to do with an arriving packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// Let it in.
    Accept,
    /// Let it in with a congestion mark; drop it if it is not ECN-capable.
    Mark,
    /// Drop it.
    Drop(DropCause),
}

/// A first-in, first-out discipline that decides on arrival.
pub trait Admission: Send {
    /// Decides on a packet of `len` bytes that arrives at `now` and finds `found`.
    fn admit(&mut self, now: Instant, found: &Found, len: u32) -> Verdict;
    /// The average queue that the discipline goes by, in packets, as of the last arrival; `None` if it goes by none.
    fn average(&self) -> Option<f64> {
        None
    }
}

/// What a [`Queue`] does to packets besides holding them.
pub struct Report<P> {
    /// Dropped packets, until they are taken.
    pub dropped: Vec<(P, DropCause)>,
    /// Packets marked since the start.
    pub marked: u64,
}

impl<P> Default for Report<P> {
    fn default() -> Self {
        Report { dropped: vec![], marked: 0 }
    }
}

impl<P: Packet> Report<P> {
    /// Drops a packet.
    pub fn drop(&mut self, packet: P, cause: DropCause) {
        self.dropped.push((packet, cause));
    }
    /// Marks a packet and gives it back, or drops it if it is not ECN-capable.
    pub fn mark_or_drop(&mut self, mut packet: P) -> Option<P> {
        if packet.mark_congestion() {
            self.marked += 1;
            return Some(packet);
        }
        self.drop(packet, DropCause::Early);
        None
    }
}

/// A discipline that may reorder, or drop packets that it has accepted.
pub trait Queue<P>: Send {
    /// Takes a packet in. `in_service` bytes (0 if the transmitter is idle) belong to the packet on the wire, which
    /// counts against the limit.
    fn enqueue(&mut self, now: Instant, packet: P, in_service: u32, report: &mut Report<P>);
    /// Hands out the next packet and the time when it came in. It is called whenever a transmission has ended, and when
    /// a packet comes in while there is none.
    fn dequeue(&mut self, now: Instant, report: &mut Report<P>) -> Option<(Instant, P)>;
    /// What waits, without the packet in transmission.
    fn waiting(&self) -> Occupancy;
    /// When to ask again, of a discipline that holds packets back: after [`Queue::dequeue`] has handed out nothing although packets wait.
    fn ready_at(&self) -> Option<Instant> {
        None
    }
    /// The link's rate is another one from now on: zero while the transmitter stands still. It is called before the next packet goes in or
    /// out, not at the time of the change.
    fn rate_changed(&mut self, _rate: Rate) {}
    /// The average queue that the discipline goes by, in packets, as of the last arrival; `None` if it goes by none.
    fn average(&self) -> Option<f64> {
        None
    }
}

/// Where a discipline works: what its parameters are made into it with.
#[derive(Clone, Copy, Debug)]
pub struct Setup<'a> {
    /// The transmitter's rate.
    pub rate: Rate,
    /// Which hosts packets come from and go to.
    pub hosts: &'a Hosts,
    seed: u64,
    name: &'a str,
}

impl Setup<'_> {
    /// A random stream of the discipline's own, by what it is for.
    pub fn random(&self, what: &str) -> Random {
        Random::stream(self.seed, &format!("{} {what}", self.name))
    }
}

/// Parameters of a discipline as a scenario has them. The range of each is in the schema: see [`longhaul_units::ranges`].
pub trait Parameters {
    /// The limit on what is in the system.
    fn limit(&self) -> QueueLimit;

    /// It, and all others that a queue may have in time or in bandwidth-delay products.
    fn limits_mut(&mut self) -> Vec<&mut QueueLimit>;

    /// What is wrong with them on a link of this rate, and the parameter's name.
    ///
    /// # Errors
    /// If two of them do not go together.
    fn check(&self, _rate: Rate) -> Result<(), (&'static str, String)> {
        Ok(())
    }

    /// True if the fate of a packet is decided when it arrives, and packets leave in the order in which they came: for
    /// what is built as [`Discipline::admission`].
    fn decides_on_arrival(&self) -> bool {
        false
    }

    /// True if it may hold packets back while the transmitter is idle: where nothing asks [`Queue::ready_at`], it cannot work.
    fn holds_back(&self) -> bool {
        false
    }

    /// Builds the discipline.
    fn build<P: Packet + Send + 'static>(&self, setup: &Setup<'_>) -> Discipline<P>;
}

macro_rules! disciplines {
    ($($(#[$doc:meta])* $variant:ident($parameters:ty) = $name:literal,)*) => {
        /// A queue discipline and its parameters.
        #[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
        #[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
        pub enum QueueSpec {
            $($(#[$doc])* $variant($parameters),)*
        }

        impl QueueSpec {
            /// The discipline's name in scenario files.
            pub fn name(&self) -> &'static str {
                match self {
                    $(QueueSpec::$variant(_) => $name,)*
                }
            }

            /// See [`Parameters::limit`].
            pub fn limit(&self) -> QueueLimit {
                match self {
                    $(QueueSpec::$variant(parameters) => parameters.limit(),)*
                }
            }

            /// See [`Parameters::limits_mut`].
            fn limits_mut(&mut self) -> Vec<&mut QueueLimit> {
                match self {
                    $(QueueSpec::$variant(parameters) => parameters.limits_mut(),)*
                }
            }

            /// See [`Parameters::check`].
            ///
            /// # Errors
            /// If two parameters do not go together.
            pub fn check(&self, rate: Rate) -> Result<(), (&'static str, String)> {
                match self {
                    $(QueueSpec::$variant(parameters) => parameters.check(rate),)*
                }
            }

            /// See [`Parameters::decides_on_arrival`].
            pub fn decides_on_arrival(&self) -> bool {
                match self {
                    $(QueueSpec::$variant(parameters) => parameters.decides_on_arrival(),)*
                }
            }

            /// See [`Parameters::holds_back`].
            fn holds_back(&self) -> bool {
                match self {
                    $(QueueSpec::$variant(parameters) => parameters.holds_back(),)*
                }
            }

            /// Builds the discipline for the transmitter `name` of this rate.
            ///
            /// # Panics
            /// If a limit is in bandwidth-delay products: see [`QueueSpec::on_path`].
            pub fn build<P: Packet + Send + 'static>(
                &self,
                rate: Rate,
                hosts: &Hosts,
                seed: u64,
                name: &str,
            ) -> Discipline<P> {
                let setup = Setup { rate, hosts, seed, name };
                match &self.on_path(rate, None) {
                    $(QueueSpec::$variant(parameters) => parameters.build(&setup),)*
                }
            }
        }
    };
}

disciplines! {
    /// First in, first out; a packet that finds the queue full is dropped. The limit counts the packet in transmission.
    Droptail(DropTailSpec) = "droptail",
    /// First in, first out; a packet that finds the queue full pushes out the oldest waiting one.
    HeadDrop(HeadDropSpec) = "head_drop",
    /// Random early detection: as the average queue grows, packets are marked or dropped at random, before the queue is
    /// full (Floyd and Jacobson 1993; Floyd, Gummadi and Shenker 2001).
    Red(RedSpec) = "red",
    /// Controlled delay: drops or marks packets as they leave while the queueing delay stands above a target (RFC 8289).
    Codel(CodelSpec) = "codel",
    /// A queue with CoDel for each flow, served in turn; sparse flows first (RFC 8290).
    FqCodel(FqCodelSpec) = "fq_codel",
    /// Proportional integral controller enhanced: drops or marks arriving packets with a probability that steers the queueing
    /// delay to a target (RFC 8033).
    Pie(PieSpec) = "pie",
    /// A queue with PIE for each flow, served in turn; sparse flows first (RFC 8033, RFC 8290).
    FqPie(FqPieSpec) = "fq_pie",
    /// DualPI2: packets of L4S have a queue of their own, kept to a millisecond by marks, and others one under PI2, coupled so that their
    /// flows have similar windows (RFC 9332).
    Dualpi2(DualPi2Spec) = "dualpi2",
    /// CAKE: hosts share equally, and the flows of each; packets go by their DSCP into tins; it has its own rate if it is to (tc-cake(8),
    /// Høiland-Jørgensen, Täht and Morton 2018).
    Cake(CakeSpec) = "cake",
    /// Token bucket filter: first in, first out, at a rate below the link's; up to a burst of what was not used may follow at once.
    Tbf(TbfSpec) = "tbf",
    /// Deficit round robin: flows take turns, each with the same number of bytes (Shreedhar and Varghese 1995).
    Drr(DrrSpec) = "drr",
    /// Weighted fair queueing, self-clocked (Golestani 1994).
    Wfq(WfqSpec) = "wfq",
}

fn yes() -> bool {
    true
}

impl QueueSpec {
    /// DropTail with this limit.
    pub fn droptail(limit: impl Into<QueueLimit>) -> Self {
        QueueSpec::Droptail(DropTailSpec { limit: limit.into() })
    }

    /// The same with every limit in packets or bytes, behind a transmitter of this rate on paths of this round trip
    /// time. Without one, limits in bandwidth-delay products stay as they are.
    #[must_use]
    pub fn on_path(mut self, rate: Rate, rtt: Option<Duration>) -> Self {
        for limit in self.limits_mut() {
            *limit = limit.at(rate, rtt).map_or(*limit, QueueLimit::Fixed);
        }
        self
    }

    /// True if a limit is known on a path only.
    pub fn needs_path(mut self) -> bool {
        self.limits_mut().into_iter().any(|limit| matches!(limit, QueueLimit::Bdp(_)))
    }

    /// As [`QueueSpec::check`], for a queue that belongs to no link.
    ///
    /// # Errors
    /// If two parameters do not go together, or a limit is in bandwidth-delay products.
    pub fn check_without_path(&self, rate: Rate) -> Result<(), (&'static str, String)> {
        if self.needs_path() {
            let message =
                "bandwidth-delay products are those of a link's paths: write packets, bytes or a time";
            return Err(("limit", message.to_string()));
        }
        if self.holds_back() {
            let message =
                format!("a {} that shapes belongs on a link: what it is in here has a rate", self.name());
            return Err(("kind", message));
        }
        self.check(rate)
    }
}

/// A discipline at work. The two that long runs are made with need no virtual call.
pub enum Discipline<P> {
    /// DropTail.
    DropTail(DropTail),
    /// RED.
    Red(Box<Red>),
    /// Any other that decides on arrival.
    Admission(Box<dyn Admission>),
    /// Any that does not decide on arrival.
    Queue(Box<dyn Queue<P>>),
}

impl<P> Discipline<P> {
    /// One that decides on arrival.
    pub fn admission(admission: impl Admission + 'static) -> Self {
        Discipline::Admission(Box::new(admission))
    }
    /// One that does not.
    pub fn queue(queue: impl Queue<P> + 'static) -> Self {
        Discipline::Queue(Box::new(queue))
    }
    /// The average queue that it goes by, in packets, as of the last arrival; `None` if it goes by none.
    pub fn average(&self) -> Option<f64> {
        match self {
            Discipline::Red(queue) => Some(queue.average_packets()),
            Discipline::Queue(queue) => queue.average(),
            Discipline::Admission(queue) => queue.average(),
            Discipline::DropTail(_) => None,
        }
    }
}
