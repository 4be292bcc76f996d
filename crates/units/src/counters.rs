//! Counters: what has happened since the start. [`macro@crate::counters`] makes a struct of them together with the difference of two
//! readings and the sum of two sources, so that no field can be left out of either.

use crate::Duration;

/// A value that is counted.
pub trait Count: Copy {
    /// Before anything was counted.
    const NONE: Self;
    /// What was added since an earlier reading of the same counter.
    #[must_use]
    fn since(self, before: Self) -> Self;
    /// Both together.
    #[must_use]
    fn with(self, other: Self) -> Self;
}

/// A value of which the smallest or the largest is kept.
pub trait Extreme: Copy + Ord {
    /// No value is smaller.
    const LEAST: Self;
    /// No value is larger.
    const MOST: Self;
}

impl Count for u64 {
    const NONE: u64 = 0;
    fn since(self, before: u64) -> u64 {
        self - before
    }
    fn with(self, other: u64) -> u64 {
        self + other
    }
}

impl Extreme for u64 {
    const LEAST: u64 = 0;
    const MOST: u64 = u64::MAX;
}

impl Count for Duration {
    const NONE: Duration = Duration::ZERO;
    fn since(self, before: Duration) -> Duration {
        self - before
    }
    fn with(self, other: Duration) -> Duration {
        self + other
    }
}

impl Extreme for Duration {
    const LEAST: Duration = Duration::ZERO;
    const MOST: Duration = Duration::MAX;
}

impl<T: Count, const N: usize> Count for [T; N] {
    const NONE: [T; N] = [T::NONE; N];
    fn since(self, before: [T; N]) -> [T; N] {
        std::array::from_fn(|index| self[index].since(before[index]))
    }
    fn with(self, other: [T; N]) -> [T; N] {
        std::array::from_fn(|index| self[index].with(other[index]))
    }
}

/// A struct of counters. Each field has a kind before its name:
///
/// | kind | starts at | difference of two readings | two sources together |
/// |---|---|---|---|
/// | `sum` | nothing | later minus earlier | sum |
/// | `least` | the largest value there is | the later one: it is of the whole time | the smaller |
/// | `most` | the smallest value there is | the later one | the larger |
///
/// Types of sums implement [`Count`] (numbers, durations, arrays, and structs made by this macro), others [`Extreme`]. A struct
/// has a `Default` (nothing counted yet), `since` and `merge`.
///
/// ```
/// longhaul_units::counters! {
///     /// What a link has carried.
///     pub struct Carried {
///         /// Packets.
///         sum pub packets: u64,
///         /// The largest of them in bytes.
///         most pub largest: u64,
///     }
/// }
/// let (before, now) = (Carried { packets: 3, largest: 1500 }, Carried { packets: 10, largest: 1500 });
/// assert_eq!(now.since(&before), Carried { packets: 7, largest: 1500 });
/// ```
#[macro_export]
macro_rules! counters {
    (
        $(#[$doc:meta])*
        $vis:vis struct $name:ident {
            $($(#[$about:meta])* $kind:ident $field_vis:vis $field:ident: $type:ty),* $(,)?
        }
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        $vis struct $name {
            $($(#[$about])* $field_vis $field: $type,)*
        }

        impl $name {
            /// What was added since `before`; a smallest or largest value is of the whole time.
            #[must_use]
            $vis fn since(&self, before: &$name) -> $name {
                $name { $($field: $crate::counters!(@since $kind, self.$field, before.$field),)* }
            }

            /// Adds what another source has counted.
            $vis fn merge(&mut self, other: &$name) {
                $(self.$field = $crate::counters!(@with $kind, self.$field, other.$field);)*
            }
        }

        impl Default for $name {
            fn default() -> Self {
                <$name as $crate::Count>::NONE
            }
        }

        impl $crate::Count for $name {
            const NONE: $name = $name { $($field: $crate::counters!(@none $kind, $type),)* };
            fn since(self, before: $name) -> $name {
                $name::since(&self, &before)
            }
            fn with(mut self, other: $name) -> $name {
                self.merge(&other);
                self
            }
        }
    };
    (@none sum, $type:ty) => { <$type as $crate::Count>::NONE };
    (@none least, $type:ty) => { <$type as $crate::Extreme>::MOST };
    (@none most, $type:ty) => { <$type as $crate::Extreme>::LEAST };
    (@since sum, $now:expr, $before:expr) => { $crate::Count::since($now, $before) };
    (@since $kind:ident, $now:expr, $before:expr) => { $now };
    (@with sum, $one:expr, $other:expr) => { $crate::Count::with($one, $other) };
    (@with least, $one:expr, $other:expr) => { ::std::cmp::Ord::min($one, $other) };
    (@with most, $one:expr, $other:expr) => { ::std::cmp::Ord::max($one, $other) };
}

#[cfg(test)]
mod tests {
    use crate::Duration;

    counters! {
        struct Inner {
            sum packets: u64,
        }
    }
    counters! {
        struct Reading {
            sum bytes: u64,
            sum by_cause: [u64; 2],
            sum inner: Inner,
            least rtt_min: Duration,
            most rtt_max: Duration,
        }
    }

    fn reading(bytes: u64, by_cause: [u64; 2], packets: u64, rtts: [u64; 2]) -> Reading {
        let [rtt_min, rtt_max] = rtts.map(Duration::from_millis);
        Reading { bytes, by_cause, inner: Inner { packets }, rtt_min, rtt_max }
    }

    #[test]
    fn sums_are_differences_and_extremes_are_of_the_whole_time() {
        let (before, now) = (reading(100, [1, 2], 3, [20, 80]), reading(250, [5, 2], 10, [10, 90]));
        assert_eq!(now.since(&before), reading(150, [4, 0], 7, [10, 90]));
        assert_eq!(now.since(&Reading::default()), now);
    }

    #[test]
    fn two_sources_add_up() {
        let mut both = reading(100, [1, 2], 3, [20, 80]);
        both.merge(&reading(250, [5, 2], 10, [30, 70]));
        assert_eq!(both, reading(350, [6, 4], 13, [20, 80]));
        let mut from_nothing = Reading::default();
        from_nothing.merge(&both);
        assert_eq!(from_nothing, both);
    }
}
