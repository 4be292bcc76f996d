//! All tests of whole runs, in one program: each program of its own would be linked with the whole library, and Cargo runs them one after the other.

mod accelerator;
mod closed_forms;
mod companions;
mod damaged_wire;
mod demand;
mod ecn;
mod fingerprints;
mod inspection;
mod invariants;
mod linux_kernel;
mod lossy_peps;
mod middleboxes;
mod monitors;
mod paced;
mod program_digest;
mod queues;
mod quic;
mod quic_log;
mod quic_settings;
mod serial;
mod situations;
mod sttp;
mod thin_return;
mod traffic;
mod udp;
mod web_sessions;
