//! A machine of a test's own, with a network behind it: a name server and a web server.
#![allow(dead_code)]

use super::{EMULATOR, text, wait_for};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

/// Answers every name with the address that it is given for IPv4, and with that for IPv6 if there is one.
const NAME_SERVER: &str = r#"
import socket, struct, sys, threading
v4, v6 = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else None
def answer(query):
    end = 12
    while query[end]:
        end += query[end] + 1
    kind = struct.unpack(">H", query[end + 1:end + 3])[0]
    data = {1: socket.inet_aton(v4), 28: v6 and socket.inet_pton(socket.AF_INET6, v6)}.get(kind)
    head = query[:2] + b"\x81\x80\0\1\0" + (b"\1" if data else b"\0") + b"\0\0\0\0" + query[12:end + 5]
    return head + (b"\xc0\x0c" + struct.pack(">HHIH", kind, 1, 60, len(data)) + data if data else b"")
def serve(family, address):
    with socket.socket(family, socket.SOCK_DGRAM) as udp:
        udp.bind((address, 53))
        while True:
            query, whom = udp.recvfrom(2000)
            udp.sendto(answer(query), whom)
if v6:
    threading.Thread(target=serve, args=(socket.AF_INET6, v6), daemon=True).start()
serve(socket.AF_INET, v4)
"#;

/// See above; what it has made is removed with it.
pub struct Lan {
    /// Namespace of the machine.
    pub machine: String,
    /// Namespace of what is behind it.
    pub world: String,
    folder: PathBuf,
    servers: Vec<Child>,
}

/// Runs `ip` with these words.
pub fn ip(words: &str) -> String {
    let output = Command::new("ip").args(words.split_whitespace()).output().unwrap();
    assert!(output.status.success(), "ip {words}: {}", text(&output.stderr));
    text(&output.stdout)
}

impl Lan {
    /// A machine with these addresses and prefixes, and those of its router, which serves names and the page /x: each first for IPv4 and,
    /// if given, second for IPv6.
    pub fn new(name: &str, machine: &[&str], router: &[&str]) -> Lan {
        let of = |what: &str| format!("lhtest-{}-{name}-{what}", std::process::id());
        let folder = std::env::temp_dir().join(of("folder"));
        std::fs::create_dir_all(folder.join("www")).unwrap();
        std::fs::write(folder.join("www/x"), "hello\n").unwrap();
        let mut lan = Lan { machine: of("m"), world: of("w"), folder, servers: vec![] };
        ip(&format!("netns add {}", lan.machine));
        ip(&format!("netns add {}", lan.world));
        ip(&format!("-n {} link add wan type veth peer name out netns {}", lan.machine, lan.world));
        for (stack, device, addresses) in [(&lan.machine, "wan", machine), (&lan.world, "out", router)] {
            ip(&format!("-n {stack} link set lo up"));
            ip(&format!("-n {stack} link set {device} up"));
            for address in addresses {
                let nodad = if address.contains(':') { "nodad" } else { "" };
                ip(&format!("-n {stack} address add {address} dev {device} {nodad}"));
            }
        }
        let bare = |address: &&str| address.split('/').next().unwrap().to_string();
        let routers: Vec<String> = router.iter().map(bare).collect();
        for router in &routers {
            ip(&format!("-n {} route add default via {router}", lan.machine));
        }
        let python = |arguments: &[&str]| {
            let mut server = Command::new("nsenter");
            server.arg(format!("--net=/run/netns/{}", lan.world)).arg("python3").args(arguments);
            server.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
        };
        let names: Vec<&str> =
            ["-c", NAME_SERVER].into_iter().chain(routers.iter().map(|address| &address[..])).collect();
        let pages = lan.folder.join("www");
        let pages = ["-m", "http.server", "8000", "--bind", "::", "--directory", pages.to_str().unwrap()];
        let servers = vec![python(&names), python(&pages)];
        lan.servers = servers;
        let page = format!("http://{}:8000/x", routers[0]);
        wait_for("the page", || {
            let mut curl = Command::new("nsenter");
            curl.arg(format!("--net=/run/netns/{}", lan.machine)).args(["curl", "-sf", "-m", "2", &page]);
            curl.output().unwrap().stdout == b"hello\n"
        });
        lan
    }

    /// The emulator on this machine, with these words; `resolv_conf` is its list of name servers, and `setup` are commands of a shell that
    /// come before, in a mount namespace of their own.
    pub fn emulator(&self, resolv_conf: &str, setup: &str, words: &[&str]) -> Command {
        let file = self.folder.join("resolv.conf");
        std::fs::write(&file, resolv_conf).unwrap();
        let script = format!(
            "mount --bind {} /etc/resolv.conf && {setup}\nexec nsenter --net=/run/netns/{} \"$@\"",
            file.display(),
            self.machine
        );
        let mut command = Command::new("unshare");
        command.args(["--mount", "sh", "-c", &script, "sh", EMULATOR]).args(words);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Rules of nftables for the machine.
    pub fn firewall(&self, rules: &str) {
        let mut nft = Command::new("nsenter");
        nft.arg(format!("--net=/run/netns/{}", self.machine)).args(["nft", rules]);
        let output = nft.output().unwrap();
        assert!(output.status.success(), "{}", text(&output.stderr));
    }
}

impl Drop for Lan {
    fn drop(&mut self) {
        for server in &mut self.servers {
            let _ = server.kill();
            let _ = server.wait();
        }
        for stack in [&self.machine, &self.world] {
            let _ = Command::new("ip").args(["netns", "delete", stack]).output();
        }
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}
