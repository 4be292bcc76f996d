//! Rules for the firewall of the machine, which survive its reload.
//!
//! Intercepted packets come to its INPUT chain, addressed to the servers, and by default most firewalls drop them there: a recipe lets in
//! what bears the node's mark, which only the node's own table sets. To a hub come its terminals, at the port of `hop.listen`.

use crate::config::{Carrier, Config, Intercept, Mode};
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

/// Protocols of the tunnel's carriers.
fn protocols(carrier: Carrier) -> &'static [&'static str] {
    match carrier {
        Carrier::Auto => &["udp", "tcp"],
        Carrier::Quic => &["udp"],
        Carrier::Tcp => &["tcp"],
    }
}

impl Firewall {
    /// A shell script that makes the rules that a node with this configuration needs, with what takes them back.
    pub fn recipe(self, config: &Config) -> String {
        if config.mode != Mode::Hub {
            return self.of_intercepted(&config.rules().unwrap_or_default());
        }
        let mut text = String::new();
        if let Some((port, carrier)) =
            config.hop.as_ref().and_then(|hop| Some((hop.listen?.port(), hop.carrier)))
        {
            text += "# for the terminals; a firewall in front of this machine has to let in the same\n";
            text += &self.of_port(port, protocols(carrier));
        }
        // Servers' answers to the clients' addresses come in by the mark.
        if let Some(rules) = config.rules() {
            text += "\n# for what servers send to the addresses of `sources`\n";
            text += &self.of_intercepted(&rules);
        }
        text
    }

    /// Lets in a port of this machine.
    fn of_port(self, port: u16, protocols: &[&str]) -> String {
        let each =
            |line: &dyn Fn(&str) -> String| protocols.iter().map(|name| line(name)).collect::<String>();
        let accept = |name: &str| format!("{name} dport {port} accept");
        match self {
            Firewall::Ufw => {
                let taken_back = each(&|name| format!(" `ufw delete allow {port}/{name}`"));
                format!("# taken back by{taken_back}\n") + &each(&|name| format!("ufw allow {port}/{name}\n"))
            }
            Firewall::Firewalld => {
                format!(
                    "# taken back by --remove-port in the place of --add-port; in another than the default zone with --zone=NAME\n{}\
                     firewall-cmd --reload\n",
                    each(&|name| format!("firewall-cmd --permanent --add-port={port}/{name}\n"))
                )
            }
            Firewall::Fw4 => {
                let lines: Vec<String> = protocols.iter().map(|name| accept(name)).collect();
                fw4("longhaul-pep-hub", &lines)
            }
            Firewall::Nftables => nftables(&protocols.iter().map(|name| accept(name)).collect::<Vec<_>>()),
        }
    }

    /// Lets in what is intercepted.
    fn of_intercepted(self, intercept: &Intercept) -> String {
        let mark = format!("{0:#x}/{0:#x}", intercept.divert_mark);
        let accept = format!("meta mark & {0:#x} == {0:#x} accept", intercept.divert_mark);
        match self {
            Firewall::Ufw => ufw(&mark),
            Firewall::Firewalld => firewalld(&intercept.interfaces),
            Firewall::Fw4 => fw4("longhaul-pep", &[accept]),
            Firewall::Nftables => nftables(&[accept]),
        }
    }
}

/// A file of one's own is changed by hand, the chain at once.
fn nftables(rules: &[String]) -> String {
    let mut text =
        String::from("# in the chain of hook input, before what drops (as in /etc/nftables.conf):\n");
    rules.iter().for_each(|rule| text += &format!("#   {rule}\n"));
    text += "# at once, for a chain `inet filter input`:\n";
    rules.iter().for_each(|rule| text += &format!("nft insert rule inet filter input '{rule}'\n"));
    text
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
fn fw4(name: &str, rules: &[String]) -> String {
    let folder = "/usr/share/nftables.d/chain-pre/input";
    let rules: Vec<String> = rules.iter().map(|rule| format!("{rule} comment \"longhaul-pep\"")).collect();
    format!(
        "# taken back by deleting the file and its line in /etc/sysupgrade.conf, and `fw4 reload`\n\
         mkdir -p {folder}\n\
         echo '{}' > {folder}/{name}.nft\n\
         grep -q {name}.nft /etc/sysupgrade.conf || echo {folder}/{name}.nft >> /etc/sysupgrade.conf\n\
         fw4 reload\n",
        rules.join("\n")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_recipe_has_the_mark_of_the_configuration() {
        let file = "mode = \"split\"\n[intercept]\ndivert_mark = 0x20\ninterfaces = [\"lan0\"]\n";
        let config = crate::load::parse(file, "a file").unwrap();
        for (name, firewall) in ALL {
            let text = firewall.recipe(&config);
            assert_eq!(name.parse(), Ok(firewall));
            assert_eq!(firewall.to_string(), name);
            assert!(text.contains("0x20") || text.contains("zone-of-interface=lan0"), "{text}");
        }
        assert_eq!("iptables".parse::<Firewall>(), Err("a firewall is ufw, firewalld, fw4, nftables".into()));
    }
    fn hub(carrier: &str, sources: &str) -> Config {
        let key = "ab".repeat(32);
        let file = format!(
            "mode = \"hub\"\n[hop]\nlisten = \"0.0.0.0:7800\"\nkey = \"/nowhere\"\ncarrier = \"{carrier}\"\n\
             [[terminal]]\nname = \"ship\"\nkey = \"{key}\"\nsources = [{sources}]\n"
        );
        crate::load::parse(&file, "a file").unwrap()
    }

    #[test]
    fn at_a_hub_each_recipe_opens_the_port_for_its_carriers() {
        for (name, [udp, tcp]) in [
            ("ufw", ["ufw allow 7800/udp\n", "ufw allow 7800/tcp\n"]),
            ("firewalld", ["--add-port=7800/udp\n", "--add-port=7800/tcp\n"]),
            ("fw4", ["udp dport 7800 accept comment", "tcp dport 7800 accept comment"]),
            ("nftables", ["input 'udp dport 7800 accept'\n", "input 'tcp dport 7800 accept'\n"]),
        ] {
            let firewall: Firewall = name.parse().unwrap();
            for (carrier, wanted) in [("auto", [true, true]), ("quic", [true, false]), ("tcp", [false, true])]
            {
                let text = firewall.recipe(&hub(carrier, ""));
                assert_eq!([text.contains(udp), text.contains(tcp)], wanted, "{name}, {carrier}: {text}");
                assert!(
                    !text.contains("0x10000") && !text.contains("ipset"),
                    "nothing is intercepted: {text}"
                );
            }
            let both = firewall.recipe(&hub("auto", "\"10.81.0.0/24\""));
            assert!(both.contains(udp) && (both.contains("0x10000") || both.contains("ipset")), "{both}");
        }
    }
}
