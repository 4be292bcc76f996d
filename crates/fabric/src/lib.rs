//! The frame that worlds share: links, the middleboxes between them, and the way of each packet through them.
//!
//! The simulator and the emulator are built on it. A world brings the kind of its packets ([`Freight`]), its clock, and what stands
//! at the ends of the paths: endpoints of the simulation, or devices of hosts. [`Fabric`] takes the packets from link to link,
//! [`Stage`] is a middlebox at work, and [`Timeline`] holds the next event of each part of the world.

mod fabric;
mod freight;
mod lanes;
mod stage;
mod timeline;
mod topology;
mod ways;

pub use fabric::{Ahead, Arrival, Fabric, Source, changeable};
pub use freight::{Freight, Observer, Port};
pub use stage::Stage;
pub use timeline::{Key, Timeline};
pub use topology::{Topology, Way, WaysMoved};
