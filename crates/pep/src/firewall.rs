//! Rules for the firewall of the machine: intercepted packets come to its INPUT chain, addressed to the servers, and by default
//! most firewalls drop them there. Each recipe lets in what bears the node's mark, which only the node's own table sets, and
//! survives the firewall's reload.

use crate::config::Intercept;
use std::fmt::Display;
use std::str::FromStr;

/// A firewall that people have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Firewall {
    /// Ubuntu's and Debian's `ufw`.
    Ufw,
    /// `firewalld`, with nftables.
    Firewalld,
    /// OpenWrt's.
    Fw4,
    /// A file of one's own.
    Nftables,
}

/// All, by name.
pub const ALL: [(&str, Firewall); 4] = [
    ("ufw", Firewall::Ufw),
    ("firewalld", Firewall::Firewalld),
    ("fw4", Firewall::Fw4),
    ("nftables", Firewall::Nftables),
];

impl FromStr for Firewall {
    type Err = String;

    fn from_str(text: &str) -> Result<Firewall, String> {
        let found = ALL.iter().find(|(name, _)| *name == text).map(|(_, firewall)| *firewall);
        found.ok_or_else(|| format!("a firewall is {}", ALL.map(|(name, _)| name).join(", ")))
    }
}

impl Display for Firewall {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(ALL.iter().find(|(_, one)| one == self).map_or("", |(name, _)| name))
    }
}

impl Firewall {
    /// A shell script that makes the rules, with what takes them back.
    pub fn recipe(self, intercept: &Intercept) -> String {
        let mark = format!("{0:#x}/{0:#x}", intercept.divert_mark);
        let accept = format!("meta mark & {0:#x} == {0:#x} accept", intercept.divert_mark);
        match self {
            Firewall::Ufw => ufw(&mark),
            Firewall::Firewalld => firewalld(&intercept.interfaces),
            Firewall::Fw4 => fw4(&accept),
            Firewall::Nftables => format!(
                "# in the chain of hook input, before what drops (as in /etc/nftables.conf):\n\
                 #   {accept}\n\
                 # at once, for a chain `inet filter input`:\n\
                 nft insert rule inet filter input '{accept}'\n"
            ),
        }
    }
}

/// ufw keeps rules of its own in two files, which it reads again at each reload.
fn ufw(mark: &str) -> String {
    let mut text = String::from("# taken back by deleting these lines, and `ufw reload`\n");
    for (file, chain) in [("before.rules", "ufw-before-input"), ("before6.rules", "ufw6-before-input")] {
        text += &format!(
            "grep -q longhaul-pep /etc/ufw/{file} || sed -i '/^# End required lines/a \\\n\
             -A {chain} -m mark --mark {mark} -j ACCEPT -m comment --comment longhaul-pep' /etc/ufw/{file}\n"
        );
    }
    text + "ufw reload\n"
}

/// firewalld's rules match no mark. But what comes to this machine and is addressed to another was intercepted: TCP to any address that is
/// none of its own.
fn firewalld(interfaces: &[String]) -> String {
    let mut text = String::from(
        "# taken back by --remove-rich-rule and --delete-ipset in the place of --add-rich-rule and --new-ipset.\n\
         # The sets hold the addresses of this machine: when they change, give these commands again.\n",
    );
    for (family, inet) in [(4, "inet"), (6, "inet6")] {
        let set = format!("longhaul-own{family}");
        text += &format!(
            "firewall-cmd --permanent --new-ipset={set} --type=hash:ip --option=family={inet}\n\
             for address in $(ip -{family} -o address show scope global | awk '{{ split($4, a, \"/\"); print a[1] }}'); do\n\
             \x20   firewall-cmd --permanent --ipset={set} --add-entry=$address\n\
             done\n"
        );
    }
    let usual = "firewall-cmd --get-default-zone";
    let zone = |name| format!("$(firewall-cmd --get-zone-of-interface={name} 2>/dev/null || {usual})");
    let zones: Vec<String> = match interfaces {
        [] => vec![format!("$({usual})")],
        named => named.iter().map(zone).collect(),
    };
    for zone in zones {
        for family in [4, 6] {
            text += &format!(
                "firewall-cmd --permanent --zone={zone} --add-rich-rule='rule family=\"ipv{family}\" \
                 destination NOT ipset=\"longhaul-own{family}\" protocol value=\"tcp\" accept'\n"
            );
        }
    }
    text + "firewall-cmd --reload\n"
}

/// fw4 includes files of this folder in its chain `input`, before what counts openings (`syn_flood`) and the zones
/// (openwrt/openwrt#9981, openwrt/firewall4#55). A sysupgrade keeps what its list names.
fn fw4(accept: &str) -> String {
    let folder = "/usr/share/nftables.d/chain-pre/input";
    format!(
        "# taken back by deleting the file and its line in /etc/sysupgrade.conf, and `fw4 reload`\n\
         mkdir -p {folder}\n\
         echo '{accept} comment \"longhaul-pep\"' > {folder}/longhaul-pep.nft\n\
         grep -q longhaul-pep.nft /etc/sysupgrade.conf || echo {folder}/longhaul-pep.nft >> /etc/sysupgrade.conf\n\
         fw4 reload\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_recipe_has_the_mark_of_the_configuration() {
        let intercept =
            Intercept { divert_mark: 0x20, interfaces: vec!["lan0".into()], ..Intercept::default() };
        for (name, firewall) in ALL {
            let text = firewall.recipe(&intercept);
            assert_eq!(name.parse(), Ok(firewall));
            assert_eq!(firewall.to_string(), name);
            assert!(text.contains("0x20") || text.contains("zone-of-interface=lan0"), "{text}");
        }
        assert_eq!("iptables".parse::<Firewall>(), Err("a firewall is ufw, firewalld, fw4, nftables".into()));
    }
}
