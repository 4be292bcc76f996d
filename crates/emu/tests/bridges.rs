//! Bridges between interfaces: VLANs, checksums that are left to devices, interfaces that are down or the same, and those that vanish.
//! Needs root and Linux; ignored by default (`bed::can_run`).

use crate::bed::{EMULATOR, PATH, can_run, scenario, text, wait_for};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};

fn ip(arguments: &str) -> String {
    let output = Command::new("ip").args(arguments.split_whitespace()).output().unwrap();
    assert!(output.status.success(), "ip {arguments}: {}", text(&output.stderr));
    text(&output.stdout)
}

/// Two hosts and what is between them: namespaces, removed at the end.
struct Bed {
    left: String,
    middle: String,
    right: String,
    file: PathBuf,
}

impl Drop for Bed {
    fn drop(&mut self) {
        for name in [&self.left, &self.middle, &self.right] {
            let _ = Command::new("ip").args(["netns", "delete", name]).output();
        }
        let _ = std::fs::remove_file(&self.file);
    }
}

impl Bed {
    /// 192.0.2.1 = in0, in1 = 192.0.2.2.
    fn new(name: &str, scenario_text: &str) -> Bed {
        let namespace = |what: &str| format!("lhtest-{}-{name}-{what}", std::process::id());
        let file = scenario(name, scenario_text);
        let bed = Bed { left: namespace("l"), middle: namespace("m"), right: namespace("r"), file };
        [&bed.left, &bed.middle, &bed.right].iter().for_each(|name| drop(ip(&format!("netns add {name}"))));
        for (end, inner, address) in [(&bed.left, "in0", "192.0.2.1"), (&bed.right, "in1", "192.0.2.2")] {
            ip(&format!("-n {} link add {inner} type veth peer name out netns {end}", bed.middle));
            ip(&format!("-n {} link set {inner} up", bed.middle));
            ip(&format!("-n {end} address add {address}/24 dev out"));
            ip(&format!("-n {end} link set out up"));
        }
        bed
    }

    fn bridge(&self, options: &[&str], interfaces: [&str; 2]) -> Child {
        let mut bridge = Command::new("ip");
        bridge.args(["netns", "exec", &self.middle, EMULATOR, "bridge"]).arg(&self.file).args(options);
        let bounds = ["--max-lateness", "10 s", "--max-standstill", "100 s"];
        bridge.args(bounds).args(interfaces).stderr(Stdio::piped()).spawn().unwrap()
    }

    /// A bridge at work.
    fn bridged(&self, options: &[&str]) -> Child {
        let child = self.bridge(options, ["in0", "in1"]);
        // Taking in frames for whomever is the last thing that it does to an interface.
        let open = || ip(&format!("-n {} -d link show in1", self.middle)).contains("promiscuity 1");
        wait_for("both interfaces are open", open);
        child
    }

    fn at(&self, host: &str, command: &str) -> Output {
        Command::new("ip").args(["netns", "exec", host, "sh", "-c", command]).output().unwrap()
    }
}

fn end(bridge: Child) -> Output {
    kill(Pid::from_raw(bridge.id() as i32), Signal::SIGINT).unwrap();
    bridge.wait_with_output().unwrap()
}

/// Frames by hand, so that no kernel with VLANs is needed: 10.1.0.1 to 10.1.0.2, a SYN from port 4000 to 80 or an UDP packet. What a
/// packet socket receives has its outermost tag beside it (packet(7), PACKET_AUXDATA).
const FRAMES: &str = "import socket,struct,sys\n\
    def sum16(b):\n\
    \x20 s=sum(struct.unpack('>%dH'%(len(b)//2),b))\n\
    \x20 while s>>16: s=(s&0xffff)+(s>>16)\n\
    \x20 return 0xffff-s\n\
    a,b=socket.inet_aton('10.1.0.1'),socket.inet_aton('10.1.0.2')\n\
    def ip(protocol,inside):\n\
    \x20 h=struct.pack('>BBHHHBBH4s4s',0x45,0,20+len(inside),1,0,64,protocol,0,a,b)\n\
    \x20 return h[:10]+struct.pack('>H',sum16(h))+h[12:]+inside\n\
    udp=ip(17,struct.pack('>HHHH',4000,80,12,0)+b'mark')\n\
    t=struct.pack('>HHIIBBHHH',4000,80,1,0,0x50,2,65535,0,0)\n\
    t=t[:16]+struct.pack('>H',sum16(a+b+struct.pack('>HH',6,20)+t))+t[18:]\n\
    syn=ip(6,t)\n\
    ends=bytes.fromhex('020000000002020000000001')\n\
    def frame(tags,packet): return ends+bytes.fromhex(tags)+b'\\x08\\0'+packet\n\
    s=socket.socket(socket.AF_PACKET,socket.SOCK_RAW,socket.htons(3))\n\
    s.bind(('out',0)); s.setsockopt(263,8,1); s.settimeout(30)\n\
    def received(mark):\n\
    \x20 while True:\n\
    \x20  f,aux,_,where=s.recvmsg(2000,100)\n\
    \x20  if mark not in f or where[2]==4: continue\n\
    \x20  status,_,_,_,_,tci,tpid=struct.unpack('IIIHHHH',aux[0][2][:20])\n\
    \x20  print('%04x %04x %s'%(tpid,tci,f[12:f.index(b'\\x08\\0\\x45')].hex()) if status&16 else 'no tag',flush=True)\n\
    \x20  return\n";

fn python(host: &str, script: &str) -> Child {
    let mut python = Command::new("ip");
    python.args(["netns", "exec", host, "python3", "-c", &format!("{FRAMES}{script}")]);
    python.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

fn printed(child: Child) -> String {
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    text(&output.stdout)
}

#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn packets_wait_for_a_bridge_that_is_kept_from_its_processor() {
    if !can_run(&["python3"]) {
        return;
    }
    let bed = Bed::new("burst", PATH);
    let bridge = bed.bridged(&[]);
    let pid = Pid::from_raw(bridge.id() as i32);
    let burst = "import socket\n\
        s=socket.socket(socket.AF_PACKET,socket.SOCK_RAW); s.bind(('out',0))\n\
        for _ in range(2000): s.send(bytes.fromhex('02000000000202000000000188b5')+bytes(1400))\n";
    kill(pid, Signal::SIGSTOP).unwrap();
    let sent = bed.at(&bed.left, &format!("python3 -c \"{burst}\""));
    kill(pid, Signal::SIGCONT).unwrap();
    assert!(sent.status.success(), "{}", text(&sent.stderr));
    std::thread::sleep(std::time::Duration::from_millis(500));
    let errors = text(&end(bridge).stderr);
    assert!(!errors.contains("lost or refused"), "{errors}");
}

#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn frames_of_a_vlan_cross_with_their_tags() {
    if !can_run(&["python3"]) {
        return;
    }
    let bed = Bed::new("vlan", PATH);
    let bridge = bed.bridged(&[]);
    // IEEE 802.1Q: type 8100, priority 3, VLAN 5; 802.1ad: type 88a8, VLAN 7, and a tag within.
    for (tags, seen) in [("81006005", "8100 6005 "), ("88a8000781000005", "88a8 0007 81000005")] {
        let receiver = python(&bed.right, "print('ready',flush=True)\nreceived(b'mark')\n");
        let listens = || text(&bed.at(&bed.right, "cat /proc/net/packet").stdout).lines().count() == 2;
        wait_for("the receiver listens", listens);
        let script = format!("s.send(frame('{tags}',udp))\n");
        assert_eq!(printed(python(&bed.left, &script)), "");
        assert_eq!(printed(receiver), format!("ready\n{seen}\n"));
    }
    let output = end(bridge);
    assert!(output.status.success(), "{}", text(&output.stderr));
}

/// A split answers by itself: its packets go into the VLAN of the connection.
const SPLIT: &str = "[run]\nduration = \"60 s\"\n[[link]]\nname = \"one\"\nends = [\"near\", \"r\"]\nrate = \"20 Mbit/s\"\ndelay = \"5 ms\"\n\
    [[link]]\nname = \"two\"\nends = [\"r\", \"far\"]\nrate = \"20 Mbit/s\"\ndelay = \"5 ms\"\n\
    [[middlebox]]\nkind = \"split\"\nat = \"r\"\n[[flow]]\nfrom = \"near\"\nto = \"far\"\n";

#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn a_middlebox_on_a_bridge_answers_into_the_vlan() {
    if !can_run(&["python3"]) {
        return;
    }
    let bed = Bed::new("splitvlan", SPLIT);
    let bridge = bed.bridged(&[]);
    // The SYN-ACK comes from 10.1.0.2.
    let said = printed(python(&bed.left, "s.send(frame('81006005',syn))\nreceived(b+a)\n"));
    let output = end(bridge);
    assert_eq!(said, "8100 6005 \n", "{}", text(&output.stderr));
}

/// 50 kB over TCP to an address, by a server there.
const SERVE: &str = "import socket,sys\n\
    s=socket.create_server((sys.argv[1],8000))\n\
    print('ready',flush=True)\n\
    c=s.accept()[0]\n\
    n=0\n\
    while d:=c.recv(65536): n+=len(d)\n\
    print(n,flush=True)\n";
const SEND: &str = "import socket,sys\n\
    c=socket.create_connection((sys.argv[1],8000),timeout=30)\n\
    c.sendall(bytes(50000)); c.close()\n";

/// Bytes that the right host has received from the left one at this address.
fn transferred(bed: &Bed, address: &str) -> String {
    let mut server = Command::new("timeout");
    server.args(["60", "ip", "netns", "exec", &bed.right, "python3", "-c", SERVE, address]);
    let server = server.stdout(Stdio::piped()).spawn().unwrap();
    let listening =
        || text(&bed.at(&bed.right, "cat /proc/net/tcp").stdout).contains(":1F40 00000000:0000 0A");
    wait_for("the server listens", listening);
    let sent = Command::new("ip")
        .args(["netns", "exec", &bed.left, "python3", "-c", SEND, address])
        .output()
        .unwrap();
    assert!(sent.status.success(), "{}", text(&sent.stderr));
    text(&server.wait_with_output().unwrap().stdout)
}

#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn checksums_that_were_left_to_a_device_are_completed_and_counted() {
    if !can_run(&["python3", "timeout"]) {
        return;
    }
    let bed = Bed::new("open", PATH);
    // A pair of virtual devices has its checksums computed by none: they are left open, as everywhere by default.
    for end in [&bed.left, &bed.right] {
        ip(&format!("-n {end} link set out gso_max_segs 1"));
    }
    let stats = std::env::temp_dir().join(format!("longhaul-emu-bridges-{}.json", std::process::id()));
    let bridge = bed.bridged(&["--stats", stats.to_str().unwrap()]);
    let received = transferred(&bed, "192.0.2.2");
    let output = end(bridge);
    assert_eq!(received, "ready\n50000\n", "{}", text(&output.stderr));
    let said: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(&stats).unwrap()).unwrap();
    assert!(said["completed_checksums"].as_u64().unwrap() > 30, "{said:#}");
    std::fs::remove_file(stats).unwrap();
}

#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn interfaces_that_are_down_the_same_or_not_there_are_refused() {
    if !can_run(&[]) {
        return;
    }
    let bed = Bed::new("refused", PATH);
    let refused = |interfaces| {
        let output = bed.bridge(&[], interfaces).wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
        text(&output.stderr)
    };
    assert!(refused(["in0", "in0"]).contains("one interface"));
    assert!(refused(["in0", "in2"]).contains("in2"));
    ip(&format!("-n {} link set in1 down", bed.middle));
    assert!(refused(["in0", "in1"]).contains("ip link set in1 up"));
}

#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn an_interface_that_goes_down_meanwhile_is_noticed_and_works_again_when_it_is_up() {
    if !can_run(&["ping"]) {
        return;
    }
    let bed = Bed::new("down", PATH);
    let bridge = bed.bridged(&[]);
    let ping = || bed.at(&bed.left, "ping -q -c 1 -W 2 192.0.2.2").status.success();
    wait_for("a first answer", ping);
    ip(&format!("-n {} link set in1 down", bed.middle));
    assert!(!ping());
    ip(&format!("-n {} link set in1 up", bed.middle));
    wait_for("an answer again", ping);
    let output = end(bridge);
    let said = text(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert!(said.contains("in1 is down") && said.contains("in1 is up again"), "{said}");
    assert!(said.contains("INVALID: in1 went down"), "{said}");
}

/// The kernel reports that it is down, and nothing when it is removed later.
#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn an_interface_that_vanishes_after_it_went_down_ends_the_bridge() {
    if !can_run(&[]) {
        return;
    }
    let bed = Bed::new("later", PATH);
    let bridge = bed.bridged(&[]);
    ip(&format!("-n {} link set in1 down", bed.middle));
    std::thread::sleep(std::time::Duration::from_millis(500));
    ip(&format!("-n {} link delete in1", bed.middle));
    let output = bridge.wait_with_output().unwrap();
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("in1 is down") && said.contains("the interface in1 has vanished"), "{said}");
}

#[test]
#[ignore = "sends real packets: root and `make test-all`"]
fn an_interface_that_vanishes_ends_the_bridge() {
    if !can_run(&[]) {
        return;
    }
    let bed = Bed::new("gone", PATH);
    let bridge = bed.bridged(&[]);
    ip(&format!("-n {} link delete in1", bed.middle));
    let output = bridge.wait_with_output().unwrap();
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("the interface in1 has vanished"), "{said}");
    assert!(said.contains("longhaul-emu: "), "what has happened until then: {said}");
}
