//! What the scenarios of several tests begin with.

/// A run and one link, whose table is still open.
pub const HEAD: &str = r#"[run]
duration = "10 s"
[[link]]
name = "satellite"
ends = ["hub", "remote"]
rate = "50 Mbit/s"
delay = "250 ms"
"#;
