//! Two nodes of a proxy in two processes: all that joins them is UDP datagrams over the loopback interface, of which some are lost. Each has
//! its own numbers for connections, and a host of its own beside it. A file goes from the first's host to the second's.

use crate::common;
use crate::common::{Bytes, Dice, ms, paced_sender, patient, plans, side};

use longhaul_middlebox::paced::{self, Control, PseudoProxy, Surrogate};
use longhaul_middlebox::split::record::Framing;
use longhaul_middlebox::split::{FlowControl, LongHop, SplitNode};
use longhaul_middlebox::{Carrier, Direction, Directory, Ends, Node, Passing};
use longhaul_segment::{Ecn, Flags, Segment, SeqNumber, ip, wire};
use longhaul_tcp::{Config, Connection, Event, Reading, State};
use longhaul_units::{ConnectionId, Duration, IdVec, Instant, Random};
use std::net::{Ipv4Addr, UdpSocket};
use std::process::Command;

const FILE: usize = 300_000;
/// The nodes' own connections, and that of the hosts: other numbers in each process.
const FIRST_OWN: [ConnectionId; 2] = [ConnectionId(100), ConnectionId(700)];
const HOSTS: [ConnectionId; 2] = [ConnectionId(7), ConnectionId(3)];

fn ends() -> Ends {
    Ends { active: "192.0.2.1:5000".parse().unwrap(), passive: "198.51.100.1:80".parse().unwrap() }
}

/// Knows the one connection that there is.
struct One(ConnectionId);

impl Directory for One {
    fn ends(&self, connection: ConnectionId, ports: [u16; 2]) -> Ends {
        assert_eq!((connection, ports), (self.0, [5000, 80]));
        ends()
    }
    fn number(&mut self, hosts: &Ends) -> Option<ConnectionId> {
        (*hosts == ends()).then_some(self.0)
    }
}

fn file() -> Vec<u8> {
    let mut dice = Dice(16);
    (0..FILE).map(|_| (dice.roll() >> 56) as u8).collect()
}

fn node(kind: &str, side_of: usize) -> Box<dyn Node<Bytes>> {
    let (plans, directory, first_number) =
        (plans(&patient(), Some(50_000)), Box::new(One(HOSTS[side_of])), FIRST_OWN[side_of]);
    let long = Config { nagle: false, ..patient() };
    if kind == "split" {
        let long = Config { reading: Reading::Immediate, receive_buffer: None, ..long };
        let long_hop = LongHop {
            side: side(&long),
            established: false,
            connections: 1,
            framing: Framing::Header,
            buffer: 50_000,
            first_number,
            positions: IdVec::new(),
        };
        return Box::new(SplitNode::new(
            side_of,
            plans,
            long_hop,
            FlowControl::Window(None),
            directory,
            1,
            "split",
        ));
    }
    let receiver = paced::receiver::Settings {
        report_interval: ms(20),
        reordering: 3,
        line: None,
        headers: 42,
        share: 0.5,
        buffer: 50_000,
        code: None,
    };
    let settings = paced::Settings {
        sender: paced_sender(50_000_000, None),
        receiver,
        control: Control { side: side(&long), established: false },
        silence: None,
        first_number,
    };
    let random = Random::stream(1, &format!("isn {side_of}"));
    match side_of {
        0 => Box::new(Surrogate::new(plans, &settings, [7; 16], directory, random)),
        _ => Box::new(PseudoProxy::new(plans, &settings, [7; 16], directory, random)),
    }
}

/// A packet of a node for the other: which of its own connections, and an IP packet, or the number and payload of a datagram.
fn encode(own: u32, segment: &Segment, body: &[u8]) -> Vec<u8> {
    let mut bytes = vec![own as u8];
    if segment.flags == Flags::NONE {
        bytes.push(1);
        bytes.extend(segment.seq.0.to_be_bytes());
        bytes.extend(body);
    } else {
        bytes.push(0);
        let header = ip::Header::new(Ipv4Addr::LOCALHOST.into(), Ipv4Addr::LOCALHOST.into());
        wire::encode(&header, segment, body, &mut bytes).unwrap();
    }
    bytes
}

fn decode(bytes: &[u8]) -> (u32, Segment, Bytes) {
    let (head, rest) = bytes.split_at(2);
    if head[1] == 1 {
        let (number, body) = rest.split_first_chunk().unwrap();
        let segment =
            Segment { seq: SeqNumber(u32::from_be_bytes(*number)), flags: Flags::NONE, ..Segment::default() };
        return (head[0].into(), segment, Bytes::copy_from_slice(body));
    }
    let read = wire::decode(rest).unwrap();
    (head[0].into(), read.segment, Bytes::copy_from_slice(read.payload))
}

/// A process: a node, the host beside it, and a socket to the other node.
struct Process {
    side: usize,
    node: Box<dyn Node<Bytes>>,
    host: Carrier<Bytes>,
    socket: UdpSocket,
    begun: std::time::Instant,
    sent: u64,
}

impl Process {
    fn new(kind: &str, side: usize, host: Connection, socket: UdpSocket) -> Self {
        socket.set_read_timeout(Some(std::time::Duration::from_millis(1))).unwrap();
        let (node, host) = (node(kind, side), Carrier::new(host));
        Process { side, node, host, socket, begun: std::time::Instant::now(), sent: 0 }
    }

    fn now(&self) -> Instant {
        Instant::ZERO + Duration::from_nanos(self.begun.elapsed().as_nanos() as u64)
    }
    /// Which way the packets of this process's host go.
    fn outward(&self) -> Direction {
        Direction::BOTH[self.side]
    }

    fn hand_to_node(
        &mut self,
        connection: ConnectionId,
        direction: Direction,
        mut segment: Segment,
        body: &Bytes,
    ) {
        let (now, mut ecn) = (self.now(), Ecn::NotEct);
        let packet = Passing { connection, direction, ecn: &mut ecn, segment: &mut segment, body };
        let _ = self.node.handle_packet(now, 0, packet);
    }

    /// What the node and its host have to send now.
    fn flush(&mut self) {
        let (now, mut segment) = (self.now(), Segment::default());
        loop {
            let mut any = false;
            while let Some((_, body)) = self.host.transmit_into(now, &mut segment) {
                self.hand_to_node(HOSTS[self.side], self.outward(), segment, &body);
                any = true;
            }
            while let Some(departure) = self.node.transmit_into(now, &mut segment) {
                any = true;
                if departure.connection == HOSTS[self.side] {
                    self.host.handle_segment(now, &segment, Ecn::NotEct, &departure.body);
                    continue;
                }
                self.sent += 1;
                if self.sent % 23 != 0 {
                    let own = departure.connection.0 - FIRST_OWN[self.side].0;
                    // A socket whose peer has gone refuses.
                    let _ = self.socket.send(&encode(own, &segment, &departure.body));
                }
            }
            if !any {
                return;
            }
        }
    }

    /// One round: what has come, and what is due.
    fn step(&mut self) {
        let mut bytes = [0; 4096];
        if let Ok(len) = self.socket.recv(&mut bytes) {
            let (own, segment, body) = decode(&bytes[..len]);
            self.hand_to_node(
                FIRST_OWN[self.side].after(own as usize),
                Direction::BOTH[1 - self.side],
                segment,
                &body,
            );
        }
        let now = self.now();
        if self.node.poll_timeout().is_some_and(|due| due <= now) {
            self.node.handle_timeout(now);
        }
        if self.host.poll_timeout().is_some_and(|due| due <= now) {
            self.host.handle_timeout(now);
        }
        self.flush();
        assert!(self.begun.elapsed().as_secs() < 60, "a file takes less than a minute");
    }
}

/// The second process: run by the test below.
#[test]
fn the_other_process() {
    let Ok(task) = std::env::var("LONGHAUL_TEST_NODE") else { return };
    let [kind, peer, out] = task.split(' ').collect::<Vec<_>>()[..] else { panic!("{task}") };
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.connect(peer).unwrap();
    // The peer learns the address from this.
    socket.send(&[]).unwrap();
    let ports = ends().ports(Direction::Reverse);
    let host = Connection::listen(patient(), common::reno(), SeqNumber(77), ports);
    let mut process = Process::new(kind, 1, host, socket);
    let mut finished = false;
    while !(finished && process.host.state() == State::Closed) {
        process.step();
        while let Some(event) = process.host.poll_event() {
            if event == Event::PeerClosed {
                finished = true;
                let len = process.host.received_bytes();
                std::fs::write(out, process.host.take(len)).unwrap();
                process.host.close();
            }
        }
    }
}

fn a_file_crosses(kind: &str) {
    let out = std::path::Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join(format!("over-udp-{kind}-{}", std::process::id()));
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let task = format!("{kind} {} {}", socket.local_addr().unwrap(), out.display());
    let mut other = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "over_udp::the_other_process"])
        .env("LONGHAUL_TEST_NODE", task)
        .spawn()
        .unwrap();
    socket.set_read_timeout(Some(std::time::Duration::from_secs(60))).unwrap();
    let (_, peer) = socket.recv_from(&mut [0; 16]).expect("the other process sends its first packet");
    socket.connect(peer).unwrap();
    let host = Connection::connect(patient(), common::reno(), SeqNumber(5), ends().ports(Direction::Forward));
    let mut process = Process::new(kind, 0, host, socket);
    process.host.write(&file().into());
    process.flush();
    let status = loop {
        process.step();
        while let Some(event) = process.host.poll_event() {
            if event == Event::Connected {
                process.host.close();
            }
        }
        if let Some(status) = other.try_wait().unwrap() {
            break status;
        }
    };
    assert!(status.success());
    let came = std::fs::read(&out).unwrap();
    std::fs::remove_file(&out).unwrap();
    assert_eq!(came.len(), FILE);
    assert!(came == file(), "byte for byte");
}

#[test]
fn a_file_crosses_a_split_between_two_processes() {
    a_file_crosses("split");
}

#[test]
fn a_file_crosses_a_paced_hop_between_two_processes() {
    a_file_crosses("paced");
}
