//! What the daemon gives up after its start: capabilities, the way back to them, files and system calls. Whoever takes it over
//! from the network can then carry connections, and little else. Each of the three parts can be switched off (`[sandbox]`).

use crate::Error;
use crate::config::{Config, Hop, LegConfig, Names};
use caps::{CapSet, Capability, CapsHashSet};
use landlock::{
    ABI, Access, AccessFs, CompatLevel, Compatible, Ruleset, RulesetAttr, RulesetCreatedAttr, RulesetStatus,
    path_beneath_rules,
};
use std::path::{Path, PathBuf};

/// Since this version of Linux CAP_NET_RAW suffices to mark packets.
const MARKS_WITHOUT_ADMIN: (u32, u32) = (5, 17);

/// Gives up what a node does not need. Called before other threads exist, which all inherit it.
///
/// # Errors
/// A kernel that has the means and refuses them.
pub(crate) fn enter(config: &Config, path: &Path) -> Result<(), Error> {
    let sandbox = &config.sandbox;
    if sandbox.capabilities {
        let kept = keep(&needed(config));
        tracing::info!("sandbox: capabilities {}", names(&kept));
    } else {
        tracing::warn!("sandbox: all capabilities are kept (sandbox.capabilities = false)");
    }
    nix::sys::prctl::set_no_new_privs().map_err(|why| Error::system("refuse new privileges", why))?;
    if sandbox.files {
        tracing::info!("sandbox: {}", restrict_files(config, path)?);
    } else {
        tracing::warn!("sandbox: all files can be reached (sandbox.files = false)");
    }
    if sandbox.calls {
        match crate::calls::restrict()? {
            Some(count) => tracing::info!("sandbox: {count} system calls are left"),
            None => tracing::warn!("sandbox: all system calls are allowed: {}", crate::calls::NONE),
        }
    } else {
        tracing::warn!("sandbox: all system calls are allowed (sandbox.calls = false)");
    }
    Ok(())
}

/// What the helper keeps: the right to change the network, also in the programs that it starts.
pub(crate) fn keep_for_helper() {
    keep(&CapsHashSet::from([Capability::CAP_NET_ADMIN]));
    let _ = nix::sys::prctl::set_no_new_privs();
}

/// Addresses of others, low ports, and settings of a leg that only CAP_NET_ADMIN may make.
fn needed(config: &Config) -> CapsHashSet {
    let mut needed = CapsHashSet::from([Capability::CAP_NET_RAW, Capability::CAP_NET_BIND_SERVICE]);
    let privileged = |leg: &LegConfig| {
        leg.congestion.is_some() || leg.send_buffer.is_some() || leg.receive_buffer.is_some()
    };
    let marks = config.intercept.is_some() && kernel().is_none_or(|version| version < MARKS_WITHOUT_ADMIN);
    if privileged(&config.client_leg) || privileged(&config.server_leg) || marks {
        needed.insert(Capability::CAP_NET_ADMIN);
    }
    needed
}

/// Version of the running kernel.
fn kernel() -> Option<(u32, u32)> {
    let text = std::fs::read_to_string("/proc/sys/kernel/osrelease").ok()?;
    let mut parts = text.split(|c: char| !c.is_ascii_digit()).map(str::parse::<u32>);
    Some((parts.next()?.ok()?, parts.next()?.ok()?))
}

/// Drops all capabilities but these, as far as they are there; returns what is left.
fn keep(wanted: &CapsHashSet) -> CapsHashSet {
    let held = caps::read(None, CapSet::Permitted).unwrap_or_default();
    let left: CapsHashSet = held.intersection(wanted).copied().collect();
    // The bounding set needs CAP_SETPCAP, which a service may lack; then it is as the service has it.
    for gone in caps::all().difference(&left) {
        let _ = caps::drop(None, CapSet::Bounding, *gone);
    }
    let _ = caps::clear(None, CapSet::Ambient);
    for set in [CapSet::Effective, CapSet::Permitted, CapSet::Inheritable] {
        if let Err(why) = caps::set(None, set, &left) {
            tracing::warn!("sandbox: {why}");
        }
    }
    // What a program that is started gets, if this is not root.
    if left.contains(&Capability::CAP_NET_ADMIN) && left.len() == 1 {
        let _ = caps::set(None, CapSet::Ambient, &left);
    }
    left
}

fn names(kept: &CapsHashSet) -> String {
    let mut names: Vec<String> =
        kept.iter().map(|one| one.to_string().to_lowercase().replace("cap_", "")).collect();
    names.sort();
    if names.is_empty() { "none".into() } else { names.join(", ") }
}

/// Where the daemon reads and writes: its own file and folder, the kernel's counters, and the system's files for names where
/// clients name servers by host name, here or at a terminal, or the configuration a hub.
fn restrict_files(config: &Config, path: &Path) -> Result<String, Error> {
    let failed = |why: landlock::RulesetError| Error::system("restrict files (landlock)", why);
    let folder = |of: &Path| match of.parent() {
        Some(folder) if folder != Path::new("") => folder.to_path_buf(),
        _ => PathBuf::from("."),
    };
    let mut readable: Vec<PathBuf> = vec!["/proc".into(), "/dev/urandom".into(), folder(path)];
    readable.extend(config.hop.iter().map(|hop| hop.key.clone()));
    let hub_is_named = config.hop.iter().flat_map(Hop::hubs).any(|hub| hub.literal().is_none());
    let for_terminals = config.hop.iter().any(|hop| hop.names == Names::Hub);
    if config.socks.is_some() || config.http_connect.is_some() || hub_is_named || for_terminals {
        readable.extend(["/etc", "/lib", "/lib64", "/usr/lib", "/run/systemd/resolve"].map(PathBuf::from));
    }
    let abi = ABI::V5;
    let status = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(abi))
        .and_then(Ruleset::create)
        .and_then(|rules| {
            rules.add_rules(path_beneath_rules(readable, AccessFs::ReadFile | AccessFs::ReadDir))
        })
        .and_then(|rules| {
            let own = AccessFs::from_all(abi) & !AccessFs::Execute;
            let state = config.hop.as_ref().and_then(crate::state::directory);
            rules.add_rules(path_beneath_rules(state.into_iter().chain([folder(&config.control)]), own))
        })
        .and_then(landlock::RulesetCreated::restrict_self)
        .map_err(failed)?;
    Ok(match status.ruleset {
        RulesetStatus::FullyEnforced => "files are restricted to the daemon's own (landlock)",
        RulesetStatus::PartiallyEnforced => "files are restricted as far as this kernel can (landlock)",
        _ => "this kernel cannot restrict files (no landlock)",
    }
    .into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn needed_by(text: &str) -> String {
        names(&needed(&crate::load::parse(text, "pep.toml").unwrap()))
    }

    /// A thread of its own, since nothing takes the restriction back.
    #[test]
    fn only_its_own_files_can_be_reached() {
        let folder = std::env::temp_dir().join(format!("longhaul-pep-files-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join("pep.toml");
        let text = format!(
            "mode = \"split\"\ncontrol = \"{}/control.sock\"\n[[forward]]\nlisten = \"127.0.0.1:1\"\nto = \"192.0.2.1:1\"\n",
            folder.display()
        );
        std::fs::write(&path, &text).unwrap();
        let config = crate::load::parse(&text, "pep.toml").unwrap();
        let (own, inside) = (path.clone(), folder.clone());
        let checked = std::thread::spawn(move || {
            let found = restrict_files(&config, &own).unwrap();
            if found.contains("no landlock") {
                eprintln!("skipped: {found}");
                return;
            }
            assert_eq!(std::fs::read_to_string(&own).unwrap(), text, "the file is read again");
            std::fs::write(inside.join("new"), "x").expect("its own folder");
            let refused = std::fs::read_to_string("/etc/passwd").unwrap_err();
            assert_eq!(refused.kind(), std::io::ErrorKind::PermissionDenied);
            assert!(std::fs::write(std::env::temp_dir().join("longhaul-pep-outside"), "x").is_err());
        });
        checked.join().unwrap();
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn the_right_to_change_the_network_is_kept_for_settings_that_need_it() {
        let plain = "mode = \"split\"\nsocks = \"127.0.0.1:1080\"\n";
        assert_eq!(needed_by(plain), "net_bind_service, net_raw");
        let buffers = format!("{plain}[server_leg]\nsend_buffer = \"8 MB\"\n");
        assert_eq!(needed_by(&buffers), "net_admin, net_bind_service, net_raw");
        let paced = format!("{plain}[server_leg]\npacing_rate = \"8 Mbit/s\"\n");
        assert_eq!(needed_by(&paced), "net_bind_service, net_raw");
    }
}
