//! Settings of the machine's network stack (ip-sysctl) that the emulator changes, as they were before: written down before they are
//! changed, and restored from what was written down.

use crate::{Error, namespace};
use std::fs;
use std::path::Path;

/// Where they are.
const DIRECTORY: &str = "/proc/sys/net";

/// Settings of an IP version.
struct Version {
    /// Whether a network stack forwards packets that are not for it.
    forwarding: &'static str,
    /// Settings of each device, in the directory of those for all.
    devices: &'static str,
    /// What is changed for each device, and for those to come, when forwarding is turned on or off for all: by the kernel, or so that it
    /// goes on to listen to its routers.
    of_devices: [&'static str; 2],
}

const V4: Version = Version {
    forwarding: "ipv4/ip_forward",
    devices: "ipv4/conf",
    of_devices: ["forwarding", "accept_redirects"],
};
const V6: Version = Version {
    forwarding: "ipv6/conf/all/forwarding",
    devices: "ipv6/conf",
    of_devices: ["forwarding", ACCEPT_RA],
};
/// Whether routes are taken from router advertisements (RFC 4861): not by a router (1), or by one, too (2).
const ACCEPT_RA: &str = "accept_ra";

impl Version {
    fn is(v6: bool) -> &'static Version {
        if v6 { &V6 } else { &V4 }
    }

    fn owns(&self, name: &str) -> bool {
        let of_device = || {
            let (device, setting) = name.strip_prefix(self.devices)?.strip_prefix('/')?.split_once('/')?;
            (device != ".." && self.of_devices.contains(&setting)).then_some(())
        };
        name == self.forwarding || of_device().is_some()
    }
}

/// A setting and its value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Setting {
    name: String,
    value: String,
}

impl Setting {
    fn now(name: String) -> Option<Setting> {
        let value = fs::read_to_string(Path::new(DIRECTORY).join(&name)).ok()?.trim().to_string();
        Some(Setting { name, value })
    }

    /// Which setting it is.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// As it is written down.
    pub fn line(&self) -> String {
        format!("{} {}", self.name, self.value)
    }

    /// From what was written down; `None` if it is none, or not among those that the emulator changes.
    pub fn of_line(line: &str) -> Option<Setting> {
        let (name, value) = line.split_once(' ')?;
        [V4, V6]
            .iter()
            .any(|version| version.owns(name))
            .then(|| Setting { name: name.to_string(), value: value.to_string() })
    }

    fn write(&self) -> Result<(), Error> {
        let path = Path::new(DIRECTORY).join(&self.name);
        fs::write(&path, &self.value)
            .map_err(|why| Error::system(format!("set {} to {}", path.display(), self.value), why))
    }
}

/// All that changes when forwarding of an IP version is turned on, as it is; first whether it is on. Empty if it is.
pub(crate) fn before_forwarding(v6: bool) -> Vec<Setting> {
    let version = Version::is(v6);
    let Some(forwarding) = Setting::now(version.forwarding.to_string()).filter(|now| now.value == "0") else {
        return vec![];
    };
    let devices = fs::read_dir(Path::new(DIRECTORY).join(version.devices)).into_iter().flatten().flatten();
    // Those of emulators come and go with them, and are theirs to set.
    let names = devices.map(|device| device.file_name().to_string_lossy().into_owned());
    let names = names.filter(|device| !device.starts_with(namespace::PREFIX));
    let of_devices = names.flat_map(|device| {
        version.of_devices.map(|setting| Setting::now(format!("{}/{device}/{setting}", version.devices)))
    });
    let all = format!("{}/all/forwarding", version.devices);
    // The same setting by another name.
    let of_devices = of_devices.flatten().filter(|setting| setting.name != all);
    std::iter::once(forwarding).chain(of_devices).collect()
}

/// Turns forwarding of an IP version on in the network stack of the thread.
///
/// # Errors
/// If that is not permitted.
pub(crate) fn forward(v6: bool) -> Result<(), Error> {
    let forwarding = Setting { name: Version::is(v6).forwarding.to_string(), value: "1".to_string() };
    // What is so already need not be permitted.
    if Setting::now(forwarding.name.clone()).as_ref() == Some(&forwarding) {
        return Ok(());
    }
    // Else the kernel would forget at once the routes that it has from routers, and learn no more of them.
    let listens = |setting: &&Setting| setting.name.ends_with(ACCEPT_RA) && setting.value == "1";
    for setting in before_forwarding(v6).iter().filter(listens) {
        Setting { value: "2".to_string(), ..setting.clone() }.write()?;
    }
    forwarding.write()
}

/// Restores settings in the network stack of the thread, in the order in which they were written down: turning forwarding off
/// changes the others. Those of devices that are gone are gone.
///
/// # Errors
/// The first that cannot be restored.
pub(crate) fn restore(settings: &[Setting]) -> Result<(), Error> {
    for setting in settings {
        match Setting::now(setting.name.clone()) {
            Some(now) if now != *setting => setting.write()?,
            _ => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_the_emulator_changes_is_ever_restored() {
        let known = |line| Setting::of_line(line).is_some();
        assert!(known("ipv4/ip_forward 0") && known("ipv4/conf/eth0/forwarding 1"));
        assert!(known("ipv4/conf/all/accept_redirects 0"));
        assert!(known("ipv6/conf/all/forwarding 0") && known("ipv6/conf/eth0/accept_ra 1"));
        assert!(!known("ipv6/conf/eth0/disable_ipv6 1") && !known("ipv6/conf/../forwarding 1"));
        assert!(
            !known("ipv4/tcp_sack 0") && !known("../kernel/panic 1") && !known("ipv4/conf/../forwarding 1")
        );
        assert!(!known("ipv4/conf/a/b/forwarding 1") && !known("ipv4/ip_forward"));
        let line = "ipv4/conf/eth0.5/forwarding 1";
        assert_eq!(Setting::of_line(line).unwrap().line(), line);
    }
}
