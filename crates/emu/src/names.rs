//! Names behind a path: name servers that can be reached from there, and no way around the path. A lookup over a socket in the file
//! system (of nscd, of systemd's resolver) would be done by this machine, outside.

use std::fs;
use std::net::IpAddr;
use std::path::{Path, PathBuf};

/// Where programs look for name servers (resolv.conf(5)).
const RESOLV_CONF: &str = "/etc/resolv.conf";
/// Where local resolvers keep the servers that they ask: systemd's, NetworkManager's, dnsmasq.
const UPSTREAM: [&str; 3] = [
    "/run/systemd/resolve/resolv.conf",
    "/run/NetworkManager/no-stub-resolv.conf",
    "/run/dnsmasq/resolv.conf",
];
/// Where programs look for ways to look up names (nsswitch.conf(5)).
const NSSWITCH: &str = "/etc/nsswitch.conf";
/// The way over systemd's resolver (nss-resolve(8)): older versions ask it over D-Bus, which has other uses.
const RESOLVE: &str = "resolve";
/// Sockets of services that look up names for others: nscd, systemd's resolver, Avahi.
const SOCKETS: [&str; 7] = [
    "/run/nscd/socket",
    "/run/.nscd_socket",
    "/var/run/nscd/socket",
    "/var/run/.nscd_socket",
    "/run/systemd/resolve/io.systemd.Resolve",
    "/run/avahi-daemon/socket",
    "/var/run/avahi-daemon/socket",
];

/// What programs behind a path are shown in the place of this machine's files.
#[derive(Clone, Default, Debug)]
pub struct View {
    /// Files, and what they contain there.
    pub files: Vec<(PathBuf, String)>,
    /// Files that are nothing there.
    pub hidden: Vec<PathBuf>,
    /// Names would not be looked up without it.
    pub is_needed: bool,
}

/// What is reached from behind the path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reach {
    /// The scenario's hosts.
    Hosts,
    /// What this machine reaches, over IPv6 if `v6`.
    Internet {
        /// See above.
        v6: bool,
    },
}

/// The view, and a notice if no name server of this machine will be reached although the Internet is.
pub fn view(reach: Reach) -> (View, Option<String>) {
    let read = |file: &str| fs::read_to_string(file).unwrap_or_default();
    let mut view = View::default();
    let (mut notice, mut is_needed) = (None, false);
    let mut show = |file: &str, text: Option<String>| {
        // Nothing can be shown in the place of a file that does not exist.
        view.files.extend(text.filter(|_| Path::new(file).exists()).map(|text| (file.into(), text)));
    };
    match reach {
        Reach::Hosts => show(RESOLV_CONF, only(&read(RESOLV_CONF), |server| server.is_loopback())),
        Reach::Internet { v6 } => {
            let files: Vec<(&str, String)> =
                [RESOLV_CONF].into_iter().chain(UPSTREAM).map(|file| (file, read(file))).collect();
            match reached(&files, v6) {
                Ok(text) => {
                    is_needed = text.is_some();
                    show(RESOLV_CONF, text);
                }
                Err(why) => notice = Some(why),
            }
        }
    }
    show(NSSWITCH, without_resolve(&read(NSSWITCH)));
    // One socket may have two paths (/var/run is a link), and then it is hidden once.
    let mut hidden: Vec<PathBuf> = SOCKETS.iter().filter_map(|path| fs::canonicalize(path).ok()).collect();
    hidden.sort();
    hidden.dedup();
    view.hidden = hidden;
    view.is_needed = is_needed;
    (view, notice)
}

/// Name servers of this machine, each with the file that lists it, those on the machine itself apart.
pub fn servers_of_machine() -> Vec<(IpAddr, &'static str)> {
    let files = [RESOLV_CONF].into_iter().chain(UPSTREAM);
    let listed = files.flat_map(|file| {
        let text = fs::read_to_string(file).unwrap_or_default();
        servers(&text).into_iter().map(move |server| (server, file))
    });
    listed.filter(|(server, _)| !is_here(*server)).collect()
}

/// The address in a line of resolv.conf, without the interface of a link-local one.
fn server_of(line: &str) -> Option<IpAddr> {
    let server = line.trim_start().strip_prefix("nameserver")?;
    let server = server.starts_with([' ', '\t']).then(|| server.split_whitespace().next())??;
    server.split('%').next()?.parse().ok()
}

fn servers(text: &str) -> Vec<IpAddr> {
    text.lines().filter_map(server_of).collect()
}

/// It is on the machine itself: 0.0.0.0 is, too (resolv.conf(5) does not forbid it, and libraries use it).
fn is_here(server: IpAddr) -> bool {
    server.is_loopback() || server.is_unspecified()
}

/// The text without the name servers that are not `wanted`; `None` if all are.
fn only(text: &str, wanted: impl Fn(IpAddr) -> bool) -> Option<String> {
    let stays = |line: &&str| server_of(line).is_none_or(&wanted);
    let kept: String = text.lines().filter(stays).map(|line| format!("{line}\n")).collect();
    (kept.lines().count() < text.lines().count()).then_some(kept)
}

/// What the first of the files that names a server which is reached contains of such ones; `None` if it is the first of all, and has
/// no others: programs would try these in vain, for seconds each.
///
/// # Errors
/// Why none is reached.
fn reached(files: &[(&str, String)], v6: bool) -> Result<Option<String>, String> {
    let link_local = |server: IpAddr| matches!(server, IpAddr::V6(v6) if v6.is_unicast_link_local());
    let is_reached = |server: IpAddr| !is_here(server) && (server.is_ipv4() || v6 && !link_local(server));
    for (number, (_, text)) in files.iter().enumerate() {
        if servers(text).into_iter().any(is_reached) {
            let kept = only(text, is_reached);
            return Ok(if number == 0 { kept } else { kept.or_else(|| Some(text.clone())) });
        }
    }
    let (file, text) = &files[0];
    let listed = servers(text);
    let list = listed.iter().map(IpAddr::to_string).collect::<Vec<_>>().join(", ");
    let cause = if listed.is_empty() {
        format!("this machine has no name server ({file})")
    } else if listed.iter().all(|server| is_here(*server)) {
        format!("this machine's name servers ({list} in {file}) are on the machine itself")
    } else if listed.iter().all(|server| is_here(*server) || link_local(*server)) {
        format!("this machine's name servers ({list} in {file}) are reached from its own link only")
    } else {
        format!(
            "this machine's name servers ({list} in {file}) have IPv6 addresses only, and this machine has no route for IPv6"
        )
    };
    Err(format!("names cannot be looked up behind the path: {cause}; use addresses in the place of names"))
}

/// The text without systemd's resolver among the ways to look up hosts, and what it says of its answers; `None` if it is not among them.
fn without_resolve(text: &str) -> Option<String> {
    let mut found = false;
    let mut of_line = |line: &str| {
        let Some(ways) = line.trim_start().strip_prefix("hosts:") else { return line.to_string() };
        // What an answer means stands in brackets behind its way.
        let (mut kept, mut skip, mut inside) = (vec![], false, false);
        for word in ways.split_whitespace() {
            let action = inside || word.starts_with('[');
            inside = action && !word.ends_with(']');
            skip = if action { skip } else { word == RESOLVE };
            found |= skip;
            if !skip {
                kept.push(word);
            }
        }
        // Without DNS there would be none at all.
        if found && !kept.contains(&"dns") {
            kept.push("dns");
        }
        format!("hosts: {}", kept.join(" "))
    };
    let lines: Vec<String> = text.lines().map(&mut of_line).collect();
    found.then(|| lines.join("\n") + "\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    const STUB: &str = "# made by systemd\nnameserver 127.0.0.53\noptions edns0\nsearch example.net\n";

    fn reached_of(texts: &[&str], v6: bool) -> Result<Option<String>, String> {
        let files: Vec<_> = texts.iter().map(|text| ("/etc/resolv.conf", text.to_string())).collect();
        reached(&files, v6)
    }

    #[test]
    fn servers_that_are_reached_stay_as_they_are() {
        assert_eq!(reached_of(&["nameserver 192.0.2.1\nnameserver 169.254.169.253\n"], false), Ok(None));
        assert_eq!(reached_of(&["nameserver 2001:db8::53\n"], true), Ok(None));
    }

    /// Each server that is asked in vain costs five seconds.
    #[test]
    fn servers_that_are_not_reached_are_left_out() {
        let mixed = "search x\nnameserver 127.0.1.1\nnameserver 2001:db8::53\nnameserver 192.0.2.1\n";
        assert_eq!(reached_of(&[mixed], false), Ok(Some("search x\nnameserver 192.0.2.1\n".to_string())));
        let both = "search x\nnameserver 2001:db8::53\nnameserver 192.0.2.1\n";
        assert_eq!(reached_of(&[mixed], true), Ok(Some(both.to_string())));
    }

    #[test]
    fn behind_a_stub_are_the_servers_that_it_asks() {
        let upstream = "nameserver 192.0.2.1\nnameserver fe80::1%eth0\n";
        assert_eq!(reached_of(&[STUB, upstream], true), Ok(Some("nameserver 192.0.2.1\n".to_string())));
        assert_eq!(
            reached_of(&[STUB, "", "nameserver 192.0.2.9\n"], false),
            Ok(Some("nameserver 192.0.2.9\n".to_string()))
        );
    }

    #[test]
    fn the_reason_why_none_is_reached_is_the_right_one() {
        for (text, v6, cause) in [
            (STUB, true, "127.0.0.53 in /etc/resolv.conf) are on the machine itself"),
            ("nameserver 0.0.0.0\n", true, "on the machine itself"),
            ("nameserver ::1\nnameserver 127.0.0.1\n", true, "on the machine itself"),
            ("", true, "no name server"),
            ("# nameserver 192.0.2.1\nnameserver192.0.2.1\n", true, "no name server"),
            ("nameserver fe80::1%eth0\n", true, "from its own link only"),
            ("nameserver 2001:db8::53\n", false, "IPv6 addresses only"),
            ("nameserver 127.0.0.53\nnameserver 2001:db8::53\n", false, "IPv6 addresses only"),
        ] {
            let why = reached_of(&[text], v6).unwrap_err();
            assert!(why.contains(cause), "{text}: {why}");
        }
    }

    /// A path without a way out has no name server, so that lookups fail at once; on a host itself there may be one.
    #[test]
    fn without_a_way_out_only_servers_of_the_host_itself_stay() {
        let text = "search x\nnameserver 192.0.2.1\nnameserver 127.0.0.1\n";
        assert_eq!(
            only(text, |server| server.is_loopback()),
            Some("search x\nnameserver 127.0.0.1\n".to_string())
        );
        assert_eq!(only(STUB, |server| server.is_loopback()), None);
    }

    #[test]
    fn lookups_do_not_go_over_systemd_s_resolver() {
        let of_hosts =
            |ways: &str| without_resolve(&format!("passwd: files\nhosts: {ways}\nnetworks: files\n"));
        let shown = |ways: &str| Some(format!("passwd: files\nhosts: {ways}\nnetworks: files\n"));
        assert_eq!(of_hosts("files resolve [!UNAVAIL=return] dns"), shown("files dns"));
        assert_eq!(
            of_hosts("mymachines resolve [!UNAVAIL=return NOTFOUND=continue] files"),
            shown("mymachines files dns")
        );
        assert_eq!(of_hosts("files mdns4_minimal [NOTFOUND=return] dns"), None);
        assert_eq!(without_resolve(""), None);
    }
}
