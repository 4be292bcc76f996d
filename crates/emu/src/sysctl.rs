//! Settings of the machine's network stack (ip-sysctl) that the emulator changes, as they were before: written down before they are
//! changed, and restored from what was written down.

use crate::Error;
use std::fs;
use std::path::Path;

/// Where they are.
const DIRECTORY: &str = "/proc/sys/net";
/// Whether a network stack forwards packets that are not for it.
const FORWARDING: &str = "ipv4/ip_forward";
/// Settings of each device, in the directory of those for all.
const DEVICES: &str = "ipv4/conf";
/// What changes for each device, and for those to come, when forwarding is turned on or off for all.
const OF_DEVICES: [&str; 2] = ["forwarding", "accept_redirects"];

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

    /// As it is written down.
    pub fn line(&self) -> String {
        format!("{} {}", self.name, self.value)
    }

    /// From what was written down; `None` if it is none, or not among those that the emulator changes.
    pub fn of_line(line: &str) -> Option<Setting> {
        let (name, value) = line.split_once(' ')?;
        let of_device = || {
            let (device, setting) = name.strip_prefix(DEVICES)?.strip_prefix('/')?.split_once('/')?;
            (device != ".." && OF_DEVICES.contains(&setting)).then_some(())
        };
        (name == FORWARDING || of_device().is_some())
            .then(|| Setting { name: name.to_string(), value: value.to_string() })
    }

    fn write(&self) -> Result<(), Error> {
        let path = Path::new(DIRECTORY).join(&self.name);
        fs::write(&path, &self.value)
            .map_err(|why| Error::system(format!("set {} to {}", path.display(), self.value), why))
    }
}

/// All that changes when forwarding is turned on, as it is; first whether it is on. Empty if it is.
pub(crate) fn before_forwarding() -> Vec<Setting> {
    let Some(forwarding) = Setting::now(FORWARDING.to_string()).filter(|now| now.value == "0") else {
        return vec![];
    };
    let devices = fs::read_dir(Path::new(DIRECTORY).join(DEVICES)).into_iter().flatten().flatten();
    let of_devices = devices.flat_map(|device| {
        let device = device.file_name().to_string_lossy().into_owned();
        OF_DEVICES.map(|setting| Setting::now(format!("{DEVICES}/{device}/{setting}")))
    });
    let all = format!("{DEVICES}/all/forwarding");
    // The same setting by another name.
    let of_devices = of_devices.flatten().filter(|setting| setting.name != all);
    std::iter::once(forwarding).chain(of_devices).collect()
}

/// Turns forwarding on in the network stack of the thread.
///
/// # Errors
/// If that is not permitted.
pub(crate) fn forward() -> Result<(), Error> {
    let forwarding = Setting { name: FORWARDING.to_string(), value: "1".to_string() };
    // What is so already need not be permitted.
    if Setting::now(FORWARDING.to_string()).as_ref() == Some(&forwarding) {
        Ok(())
    } else {
        forwarding.write()
    }
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
        assert!(
            !known("ipv4/tcp_sack 0") && !known("../kernel/panic 1") && !known("ipv4/conf/../forwarding 1")
        );
        assert!(!known("ipv4/conf/a/b/forwarding 1") && !known("ipv4/ip_forward"));
        let line = "ipv4/conf/eth0.5/forwarding 1";
        assert_eq!(Setting::of_line(line).unwrap().line(), line);
    }
}
