//! What the scenarios of several tests begin with.

/// A run and one link, whose table is still open; a literal, so that more can be put behind it.
macro_rules! head {
    () => {
        r#"[run]
duration = "10 s"
[[link]]
name = "satellite"
ends = ["hub", "remote"]
rate = "50 Mbit/s"
delay = "250 ms"
"#
    };
}

pub(crate) use head;
