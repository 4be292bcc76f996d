//! Whose account the commands of a shell run under: that of whoever has started the emulator, with `sudo` sudo's caller, or the one that
//! is named. Programs that refuse to be root's (browsers), and those that look for a user's files, displays and keys, then work.

use crate::{Error, own_run, sys};
use nix::unistd::{Gid, Uid, User, geteuid, getgrouplist, getppid};
use std::ffi::{CString, OsString};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What `sudo` sets to those of root, or removes, although it belongs to the user.
const REPLACED: [&str; 6] = ["HOME", "LOGNAME", "MAIL", "PATH", "SHELL", "USER"];
/// How many processes may be between the emulator and `sudo`.
const MOST_ANCESTORS: usize = 64;

/// An account, and the environment of its user.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Account {
    /// Its name; its number if it has none.
    pub name: String,
    /// The user's shell.
    pub shell: PathBuf,
    uid: Uid,
    gid: Gid,
    groups: Vec<Gid>,
    /// What is set for the user's commands beside what the emulator itself has.
    environment: Vec<(OsString, OsString)>,
}

impl Account {
    /// The account that is `wanted`, by name or number; without, that of sudo's caller. `None` if it is the emulator's own.
    ///
    /// # Errors
    /// If there is no such account.
    pub fn find(wanted: Option<&str>) -> Result<Option<Account>, Error> {
        if let Some((own, _)) = own_run::caller() {
            let wanted = wanted.filter(|name| {
                let named = User::from_name(name).ok().flatten().map(|user| user.uid);
                named.or_else(|| name.parse().ok().map(Uid::from_raw)) != Some(own)
            });
            return match wanted {
                None => Ok(None),
                Some(name) => Err(Error::Unsupported(format!(
                    "--user {name}: only root may run commands as somebody else (sudo)"
                ))),
            };
        }
        let reading = |why| Error::system("read the accounts of this machine", why);
        let caller = caller_of_sudo();
        let (user, uid) = match (wanted, caller) {
            (Some(name), _) => {
                let number = name.parse().ok().map(Uid::from_raw);
                let named = User::from_name(name).map_err(reading)?;
                let user = match (named, number) {
                    (None, Some(number)) => User::from_uid(number).map_err(reading)?,
                    (named, _) => named,
                };
                let uid = user.as_ref().map(|user| user.uid).or(number);
                let uid = uid.ok_or_else(|| {
                    Error::Unsupported(format!("--user {name}: this machine has no such user"))
                })?;
                (user, uid)
            }
            (None, Some(uid)) => (User::from_uid(uid).map_err(reading)?, uid),
            (None, None) => return Ok(None),
        };
        if uid == geteuid() {
            return Ok(None);
        }
        let before_sudo = if caller == Some(uid) { environment_before_sudo() } else { vec![] };
        Ok(Some(Account::new(uid, user, before_sudo)))
    }

    fn new(uid: Uid, user: Option<User>, before_sudo: Vec<(OsString, OsString)>) -> Account {
        let mut environment = vec![];
        let mut set = |name: &str, value: OsString| environment.push((name.into(), value));
        let runtime = PathBuf::from(format!("/run/user/{uid}"));
        if runtime.is_dir() {
            set("XDG_RUNTIME_DIR", runtime.into());
        }
        let Some(user) = user else {
            environment.extend(before_sudo);
            return Account {
                name: uid.to_string(),
                shell: "/bin/sh".into(),
                uid,
                gid: Gid::from_raw(uid.as_raw()),
                groups: vec![],
                environment,
            };
        };
        set("HOME", user.dir.clone().into());
        set("SHELL", user.shell.clone().into());
        set("USER", user.name.clone().into());
        set("LOGNAME", user.name.clone().into());
        environment.extend(before_sudo);
        let groups = CString::new(user.name.clone()).ok().and_then(|name| getgrouplist(&name, user.gid).ok());
        Account {
            name: user.name,
            shell: user.shell,
            uid,
            gid: user.gid,
            groups: groups.unwrap_or_default(),
            environment,
        }
    }

    /// Has a command run under this account.
    pub fn apply(&self, command: &mut Command) {
        for (name, value) in &self.environment {
            let replaced = REPLACED.iter().any(|known| name == known);
            if replaced || std::env::var_os(name).is_none() {
                command.env(name, value);
            }
        }
        sys::run_as(command, self.uid, self.gid, self.groups.clone());
    }
}

/// Who has started the emulator by `sudo` from another account, if this can be had here: not in a user namespace without it.
fn caller_of_sudo() -> Option<Uid> {
    let uid: u32 = std::env::var("SUDO_UID").ok()?.parse().ok()?;
    let map = std::fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
    (geteuid().is_root() && is_mapped(&map, uid)).then(|| Uid::from_raw(uid))
}

/// Whether a user namespace has a user of this number: user_namespaces(7).
fn is_mapped(map: &str, uid: u32) -> bool {
    map.lines().any(|line| {
        let numbers: Vec<u64> = line.split_whitespace().filter_map(|number| number.parse().ok()).collect();
        matches!(numbers[..], [first, _, count] if (first..first + count).contains(&u64::from(uid)))
    })
}

/// The environment in which `sudo` was called, which it itself still has.
fn environment_before_sudo() -> Vec<(OsString, OsString)> {
    let mut process = getppid().as_raw();
    for _ in 0..MOST_ANCESTORS {
        let directory = PathBuf::from(format!("/proc/{process}"));
        let read = |name: &str| std::fs::read_to_string(directory.join(name)).unwrap_or_default();
        if read("comm").trim() == "sudo" {
            return variables(&directory.join("environ"));
        }
        let parent = read("status").lines().find_map(|line| line.strip_prefix("PPid:")?.trim().parse().ok());
        match parent {
            Some(parent) if parent > 0 => process = parent,
            _ => break,
        }
    }
    vec![]
}

fn variables(environ: &Path) -> Vec<(OsString, OsString)> {
    let bytes = std::fs::read(environ).unwrap_or_default();
    let variable = |line: &[u8]| {
        let equals = line.iter().position(|byte| *byte == b'=')?;
        let text = |part: &[u8]| OsString::from_vec(part.to_vec());
        Some((text(&line[..equals]), text(&line[equals + 1..])))
    };
    bytes.split(|byte| *byte == 0).filter_map(variable).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_namespace_has_the_users_of_its_map() {
        let all = "         0          0 4294967295\n";
        assert!(is_mapped(all, 0) && is_mapped(all, 1000));
        let one = "         0       1000          1\n";
        assert!(is_mapped(one, 0) && !is_mapped(one, 1000));
        assert!(!is_mapped("", 0));
    }

    #[test]
    fn an_account_that_does_not_exist_is_refused() {
        let refused = Account::find(Some("nobody-of-this-name")).unwrap_err().to_string();
        assert_eq!(refused, "--user nobody-of-this-name: this machine has no such user");
        let own = geteuid().to_string();
        assert_eq!(Account::find(Some(&own)).unwrap(), None, "the emulator's own");
    }
}
