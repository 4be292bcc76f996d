//! Links whose capacity is granted: somebody else decides when a packet may be sent.
//!
//! A new kind is a file here, with its settings ([`Parameters`]) and the [`Grants`] that they make, and its lines in this one: the
//! module, and an entry in the list of [`with_grants`](crate::with_grants).

mod demand;

pub use demand::DemandSpec;

use longhaul_units::Instant;

/// Capacity that is assigned from outside: a terminal of a satellite network, a cable modem, a radio cell.
///
/// A packet's turn must be known when it comes: it may depend on what has come before it, not on what comes later.
pub trait Grants: Send {
    /// A packet of `len` bytes came at `arrival`, and all before it will have been sent at `free_at`, which is not before `arrival`: the
    /// earliest time at which its transmission may begin, not before `free_at`. Packets are taken in the order of their
    /// transmission.
    fn begin(&mut self, arrival: Instant, free_at: Instant, len: u32) -> Instant;
}

/// Settings of a kind of granted link as a scenario has them. The range of each is in the schema: see [`longhaul_units::ranges`].
pub trait Parameters {
    /// What grants the capacity of one direction of a link.
    fn build(&self) -> Box<dyn Grants>;
}

/// Calls a macro with its own arguments and all kinds of granted links after them, each with the key that a link has for it: this is the
/// one list of them.
#[macro_export]
macro_rules! with_grants {
    ($macro:ident! { $($given:tt)* }) => {
        $macro! { $($given)*
            /// Capacity is assigned on request, as on the return link of a satellite network (DVB-RCS2): packets wait until what was
            /// requested for them is assigned, then they are sent at `rate`.
            demand: $crate::grants::DemandSpec,
        }
    };
}

macro_rules! settings {
    ({} $($(#[$doc:meta])* $key:ident: $parameters:ty,)*) => {
        /// What grants a link its capacity: at most one of them.
        #[derive(Clone, Copy, PartialEq, Debug, Default)]
        pub struct GrantSettings {
            $($(#[$doc])* pub $key: Option<$parameters>,)*
        }

        impl GrantSettings {
            /// Names of the kinds that are given.
            pub fn given(&self) -> Vec<&'static str> {
                let all = [$((stringify!($key), self.$key.is_some()),)*];
                all.into_iter().filter_map(|(key, given)| given.then_some(key)).collect()
            }

            /// See [`Parameters::build`]; `None` for a link that needs no grants.
            pub fn build(&self) -> Option<Box<dyn Grants>> {
                $(
                    if let Some(parameters) = &self.$key {
                        return Some(parameters.build());
                    }
                )*
                None
            }
        }
    };
}

with_grants! { settings! { {} } }
