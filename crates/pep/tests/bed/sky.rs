//! An emulated link between the terminal and the hub.

use super::{Bed, enter, ip};
use longhaul_emu::bridge;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

/// Moves packets between two namespaces until it is dropped.
pub struct Sky {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<Vec<String>>>,
}

/// A link as a scenario, from the terminal to the hub: what is particular to the ways up and down, and what both share.
pub fn scenario(up: &str, down: &str, rtt_ms: u32, more: &str) -> String {
    let side = |own: &str| format!("{{ queue = {{ kind = \"droptail\", limit = \"500 kB\" }}, {own} }}");
    format!(
        "[run]\nduration = \"24 h\"\n[[link]]\nname = \"satellite\"\nends = [\"terminal\", \"hub\"]\ndelay = \"{} us\"\n\
         forward = {}\nreverse = {}\n{more}\n[[flow]]\nfrom = \"terminal\"\nto = \"hub\"\n",
        rtt_ms * 500,
        side(up),
        side(down)
    )
}

impl Sky {
    /// Puts the link between the nodes of a bed with a hub, in the place of the cable there.
    pub fn between(bed: &Bed, scenario: &str) -> Sky {
        let [pep, hub, sky] = ["p", "h", "k"].map(|host| bed.name(host));
        let _ = std::process::Command::new("ip").args(["netns", "delete", &sky]).output();
        ip(&format!("netns add {sky}"));
        let _ = std::process::Command::new("ip").args(["-n", &pep, "link", "delete", "sat"]).output();
        for (host, inside, near) in [(&pep, "in0", 1), (&hub, "in1", 2)] {
            ip(&format!("-n {sky} link add {inside} type veth peer name sat netns {host}"));
            ip(&format!("-n {host} address add 10.83.0.{near}/24 dev sat"));
            // A link carries packets, not what a kernel joins for its devices.
            for (name, device) in [(&sky, inside), (host, "sat")] {
                ip(&format!("-n {name} link set {device} gso_max_segs 1"));
                ip(&format!("-n {name} link set {device} txqueuelen 10000 up"));
            }
        }
        ip(&format!("-n {pep} route replace default via 10.83.0.2"));
        ip(&format!("-n {hub} route replace 10.81.0.0/24 via 10.83.0.1"));
        let scenario = longhaul_scenario::load(scenario, "the test's link", &[]).unwrap();
        let stop = Arc::new(AtomicBool::new(false));
        let over = Arc::clone(&stop);
        let thread = std::thread::spawn(move || {
            enter(&sky);
            let bridged = bridge::run(&scenario, ["in0", "in1"], &bridge::Options::default(), &over);
            bridged.unwrap().moved.invalid
        });
        Sky { stop, thread: Some(thread) }
    }

    /// Ends it: why its times are not to be believed. Bytes are right or wrong in any case.
    pub fn end(mut self) -> Vec<String> {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.take().map_or(vec![], |thread| thread.join().unwrap())
    }
}

impl Drop for Sky {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
