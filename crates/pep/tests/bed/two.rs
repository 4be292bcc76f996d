//! A terminal and a hub between a client and a server.

use super::{Bed, Daemon, PEP, address, text, wait_for};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

/// The terminal is the bed's node, the hub a fourth namespace behind it at 10.83.0.2, before the server.
pub struct Two {
    pub bed: Bed,
    pub terminal_key: String,
    pub hub_key: String,
    /// Settings of the tunnel at both nodes.
    pub rates: &'static str,
}

pub fn key(bed: &Bed, name: &str) -> String {
    let file = bed.folder.join(name);
    let output = Command::new(PEP).arg("keygen").arg(&file).output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    text(&output.stdout).trim().to_string()
}

impl Two {
    pub fn new() -> Two {
        let bed = Bed::with_hub();
        let (terminal_key, hub_key) = (key(&bed, "terminal.key"), key(&bed, "hub.key"));
        let rates = "send_rate = \"500 Mbit/s\"\ninitial_rtt = \"10 ms\"\n";
        Two { bed, terminal_key, hub_key, rates }
    }

    pub fn hub(&self, more: &str) -> Daemon {
        let folder = self.bed.folder.display();
        let config = format!(
            "mode = \"hub\"\ntimeouts = {{ drain = \"1 s\" }}\ncontrol = \"{folder}/hub.sock\"\n\
             [hop]\nlisten = \"10.83.0.2:7714\"\nkey = \"{folder}/hub.key\"\n{}\
             [[terminal]]\nname = \"ship\"\nkey = \"{}\"\nsources = [\"10.81.0.0/24\", \"fd81::/64\"]\n{more}\n",
            self.rates, self.terminal_key
        );
        self.bed.start("h", "hub", &config)
    }

    pub fn terminal(&self, hub_key: &str) -> Daemon {
        self.bed.start("p", "terminal", &self.terminal_config(hub_key))
    }

    pub fn terminal_config(&self, hub_key: &str) -> String {
        let (folder, rates) = (self.bed.folder.display(), self.rates);
        format!(
            "mode = \"terminal\"\ncontrol = \"{folder}/terminal.sock\"\nsocks = \"10.81.0.1:1080\"\n\
             [hop]\nhub = \"10.83.0.2:7714\"\nkey = \"{folder}/terminal.key\"\nhub_key = \"{hub_key}\"\n\
             {rates}[intercept]\ninterfaces = [\"lan\"]\n"
        )
    }

    /// Both, with the tunnel up.
    pub fn up(&self) -> (Daemon, Daemon) {
        let hub = self.hub("");
        let terminal = self.terminal(&self.hub_key);
        wait_for("the tunnel is up", 10, || terminal.status()["passing"] == false);
        (terminal, hub)
    }

    pub fn connect(&self, host: &str, port: u16) -> TcpStream {
        self.bed.within("c", || {
            let stream = TcpStream::connect_timeout(&address(host, port), Duration::from_secs(10)).unwrap();
            stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
            stream
        })
    }

    pub fn listener(&self, host: &str) -> TcpListener {
        self.bed.within("s", || TcpListener::bind(address(host, 8000)).unwrap())
    }
}

/// Names as a host finds them (`ip netns exec` puts this file in the place of /etc/hosts).
pub struct Names(PathBuf);

impl Names {
    pub fn new(two: &Two, host: &str, lines: &str) -> Names {
        let folder = PathBuf::from("/etc/netns").join(two.bed.name(host));
        std::fs::create_dir_all(&folder).unwrap();
        let names = Names(folder);
        names.set(lines);
        names
    }

    pub fn set(&self, lines: &str) {
        std::fs::write(self.0.join("hosts"), format!("127.0.0.1 localhost\n{lines}\n")).unwrap();
    }
}

impl Drop for Names {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
