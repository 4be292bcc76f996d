//! Well-formed inputs, made by the encoders themselves.

use crate::KEY;
use longhaul_middlebox::Length;
use longhaul_middlebox::paced::datagram::{Content, Datagram};
use longhaul_middlebox::paced::message::Message;
use longhaul_segment::compaction::{ExactBatch, TraditionalBatch};
use longhaul_segment::{Flags, Options, SackBlocks, Segment, SeqNumber, Timestamps, ip, rohc, vj, wire};

/// For formats of fixed size, where anything is well-formed.
pub fn nothing() -> Vec<Vec<u8>> {
    vec![vec![0; 32]]
}

fn header(number: u16) -> ip::Header {
    let mut header = ip::Header::new([10, 0, 0, 1].into(), [10, 0, 0, 2].into());
    header.id = number;
    header
}

/// A short conversation: SYN with options, data, ACKs with SACK blocks, FIN.
fn conversation() -> Vec<(Segment, &'static [u8])> {
    let base =
        Segment { src_port: 40_000, dst_port: 80, window: 512, flags: Flags::ACK, ..Segment::default() };
    let stamped = Options { timestamps: Some(Timestamps { value: 7, echo: 9 }), ..Options::NONE };
    let mut sacked = stamped;
    sacked.sack = SackBlocks::default();
    sacked.sack.push(SeqNumber(3000), SeqNumber(4460));
    let syn = Options { mss: Some(1460), window_scale: Some(7), sack_permitted: true, ..stamped };
    vec![
        (Segment { flags: Flags::SYN, options: syn, ..base }, b""),
        (
            Segment { seq: SeqNumber(1), ack: SeqNumber(1), options: stamped, payload_len: 5, ..base },
            b"hello",
        ),
        (Segment { seq: SeqNumber(6), ack: SeqNumber(1), payload_len: 5, ..base }, b"world"),
        (Segment { seq: SeqNumber(11), ack: SeqNumber(1461), options: sacked, ..base }, b""),
        (Segment { seq: SeqNumber(11), ack: SeqNumber(2921), ..base }, b""),
        (Segment { seq: SeqNumber(11), ack: SeqNumber(4381), flags: Flags::ACK | Flags::FIN, ..base }, b""),
    ]
}

/// The conversation's packets over IPv4 and IPv6.
pub fn packets() -> Vec<Vec<u8>> {
    let mut packets = vec![];
    for (number, (segment, payload)) in conversation().into_iter().enumerate() {
        for ip in [header(number as u16), ip::Header::new([1; 16].into(), [2; 16].into())] {
            let mut packet = vec![];
            wire::encode(&ip, &segment, payload, &mut packet).expect("it is well-formed");
            packets.push(packet);
        }
    }
    packets
}

fn packets_over_ipv4() -> impl Iterator<Item = Vec<u8>> {
    packets().into_iter().step_by(2)
}

/// The frames of a line in the form of [`crate::frames`].
fn line(frames: impl Iterator<Item = (u8, Vec<u8>)>) -> Vec<u8> {
    frames.flat_map(|(kind, frame)| [vec![frame.len() as u8, kind], frame].concat()).collect()
}

/// The conversation over a line with Van Jacobson's compression.
pub fn vj_frames() -> Vec<Vec<u8>> {
    let mut compressor = vj::Compressor::new(4);
    let frames = packets_over_ipv4().map(|packet| {
        let mut frame = vec![];
        let kind = match compressor.compress(&packet, &mut frame).frame_type {
            vj::FrameType::Compressed => 0,
            vj::FrameType::Uncompressed => 1,
            vj::FrameType::Ip => 2,
        };
        (kind, frame)
    });
    vec![line(frames)]
}

/// The conversation over a line with robust header compression.
pub fn rohc_frames() -> Vec<Vec<u8>> {
    let mut compressor =
        rohc::Compressor::new(rohc::Settings { contexts: 4, repeat: 1, ..rohc::Settings::default() });
    let frames = packets_over_ipv4().map(|packet| {
        let mut frame = vec![];
        compressor.compress(&packet, &mut frame);
        (0, frame)
    });
    vec![line(frames)]
}

/// Five ACKs in one packet, in both forms.
pub fn compacted() -> Vec<Vec<u8>> {
    let ack = |number: u16| {
        let ack = SeqNumber(1000 * u32::from(number));
        let segment = Segment {
            src_port: 40_000,
            dst_port: 80,
            ack,
            window: 512,
            flags: Flags::ACK,
            ..Segment::default()
        };
        (header(number), segment)
    };
    let mut exact = ExactBatch::begin(ack(0)).expect("a pure ACK");
    let mut traditional = TraditionalBatch::begin(ack(0)).expect("a pure ACK");
    for number in 1..5 {
        exact.push(&ack(number));
        traditional.push(&ack(number));
    }
    let (mut first, mut second) = (vec![], vec![]);
    exact.encode(&mut first).expect("it is short");
    traditional.encode(&mut second).expect("it is short");
    vec![first, second]
}

/// A control stream of the paced protocol.
pub fn paced_messages() -> Vec<Vec<u8>> {
    let messages = [
        Message::Session(3),
        Message::Open { stream: 1, key: [7; 12] },
        Message::Data { stream: 1, bytes: b"GET / HTTP/1.1".to_vec() },
        Message::Credit { stream: 1, limit: 65_536 },
        Message::Report(Default::default()),
        Message::Alive,
        Message::Close { stream: 1 },
        Message::Reset { stream: 2 },
    ];
    let mut stream = vec![0];
    messages.iter().for_each(|message| message.encode(&mut stream));
    vec![stream]
}

/// A probe of the paced protocol, rightly tagged.
pub fn paced_datagrams() -> Vec<Vec<u8>> {
    let datagram = Datagram::<Length> { session: 3, serial: 5, content: Content::Probe { next: 9 } };
    let mut bytes = vec![];
    datagram.encode(&KEY, &mut bytes);
    vec![bytes]
}

/// ns-2's binary traces.
pub fn ns_traces() -> Vec<Vec<u8>> {
    vec![[1000u32, 200, 0, 300, 5_000_000, 1].iter().flat_map(|number| number.to_be_bytes()).collect()]
}

/// Traces as text, with gaps and with times.
pub fn csv_traces() -> Vec<Vec<u8>> {
    vec![
        b"gap_s,bytes\n0.5,300\n1e-3,1500\n".to_vec(),
        b"# a\nhost, time_s ,bytes\n\"x\",1,2\ny,2.5,3\n".to_vec(),
    ]
}

/// A satellite by its elements, with its name (the example of Vallado et al. 2006).
pub fn elements() -> Vec<Vec<u8>> {
    let lines = "VANGUARD 1\n1 00005U 58002B   00179.78495062  .00000023  00000-0  28098-4 0  4753\n\
                 2 00005  34.2682 348.7242 1859667 331.7664  19.3264 10.82419157413667\n";
    // The same in 2026; its checksum happens to be the same.
    let recent = lines.replace("00179.78495062", "26333.78495062");
    vec![lines.as_bytes().to_vec(), recent.into_bytes()]
}

/// Access logs in both formats.
pub fn access_logs() -> Vec<Vec<u8>> {
    let common = "h - - [10/Oct/2000:13:55:36 -0700] \"GET /a.gif HTTP/1.0\" 200 2326\n";
    let combined =
        "h - u [10/Oct/2000:13:55:38 -0700] \"GET / HTTP/1.1\" 304 - \"http://a/\" \"Browser (x; y)\"\n";
    vec![common.repeat(3).into_bytes(), format!("{common}{combined}{common}").into_bytes()]
}

/// The examples of the project.
pub fn scenarios() -> Vec<Vec<u8>> {
    macro_rules! examples {
        ($($name:literal),*) => {
            vec![$(include_bytes!(concat!("../../../python/longhaul/examples/", $name, ".toml")).to_vec()),*]
        };
    }
    examples!(
        "geo-one-flow",
        "dumbbell-50-flows",
        "satellite-pep",
        "rain-fade",
        "mixed-traffic",
        "paced-protocol"
    )
}

/// What a node shows of itself.
pub fn hop_hello() -> longhaul_hop::wire::Hello {
    let versions = longhaul_hop::wire::VERSIONS;
    longhaul_hop::wire::Hello {
        versions,
        credit: 1 << 24,
        memory: 1 << 28,
        max_flows: 4096,
        receive: 50_000_000,
        alone: false,
    }
}

/// A control stream of a hop.
pub fn hop_records() -> Vec<Vec<u8>> {
    use longhaul_hop::wire::Record;
    let mut stream = vec![];
    Record::Hello(hop_hello()).write(&mut stream);
    Record::Accepted { stream: 4 }.write(&mut stream);
    Record::Consumed { stream: 4, offset: 70_000 }.write(&mut stream);
    vec![stream]
}

/// Heads of flows of a hop.
pub fn hop_opens() -> Vec<Vec<u8>> {
    let of = |address: &str| {
        let address = address.parse().expect("an address");
        let open = longhaul_hop::Open {
            source: address,
            destination: address,
            dscp: 46,
            priority: 1,
            confirm: true,
        };
        let mut head = vec![];
        longhaul_hop::wire::write_open(&open, &mut head);
        head
    };
    vec![of("192.0.2.1:80"), of("[2001:db8::1]:80")]
}

/// What a hop's pool of TCP connections receives: a hello, flows that are opened, used and given up.
pub fn pool_streams() -> Vec<Vec<u8>> {
    use longhaul_hop::pool::frame::Frame;
    use longhaul_hop::wire::Record;
    let [v4, v6] = ["192.0.2.1:80", "[2001:db8::1]:80"].map(|address| {
        let address = address.parse().expect("an address");
        longhaul_hop::Open { source: address, destination: address, dscp: 46, priority: 1, confirm: true }
    });
    let mut stream = vec![];
    Record::Hello(hop_hello()).write(&mut stream);
    for frame in [
        Frame::Open { flow: 0, open: v4 },
        Frame::Data { flow: 0, bytes: b"GET / HTTP/1.1\r\n\r\n" },
        Frame::End { flow: 0 },
        Frame::Open { flow: 2, open: v6 },
        Frame::Data { flow: 2, bytes: &[7; 300] },
        Frame::Record(Record::Consumed { stream: 0, offset: 0 }),
        Frame::Reset { flow: 2, code: 3 },
        Frame::Refused { flow: 0, code: 1 },
    ] {
        frame.write(&mut stream);
    }
    vec![stream]
}

/// What the opener's side of a pool receives: a hello, credit and answers to its flows; two bytes in front choose pieces and calls.
pub fn pool_answers() -> Vec<Vec<u8>> {
    use longhaul_hop::pool::frame::Frame;
    use longhaul_hop::wire::Record;
    [0b1010_0100, 0b0001_0000]
        .map(|owner: u8| {
            let mut stream = vec![30, owner];
            Record::Hello(hop_hello()).write(&mut stream);
            for frame in [
                Frame::Record(Record::Accepted { stream: 0 }),
                Frame::Record(Record::Consumed { stream: 0, offset: 300 }),
                Frame::Data { flow: 0, bytes: b"HTTP/1.1 200 OK\r\n\r\n" },
                Frame::Data { flow: 2, bytes: &[7; 300] },
                Frame::Refused { flow: 2, code: 1 },
                Frame::Record(Record::Consumed { stream: 0, offset: 500 }),
                Frame::Read { flow: 0 },
                Frame::End { flow: 0 },
                Frame::Reset { flow: 4, code: 3 },
            ] {
                frame.write(&mut stream);
            }
            stream
        })
        .to_vec()
}

/// What both ends of a connection receive in the place of TLS: flights, then records.
pub fn null_tls() -> Vec<Vec<u8>> {
    use longhaul_hop::pool::null_tls::{FLIGHTS, NullTls};
    [(0u8, FLIGHTS[1]), (1, FLIGHTS[0] + FLIGHTS[2])]
        .map(|(side, flights)| {
            let mut stream = [vec![200, side], vec![0; flights]].concat();
            NullTls::seal(b"a request", &mut stream);
            NullTls::seal(&[5; 500], &mut stream);
            stream
        })
        .to_vec()
}

/// What a hub receives of a terminal that opens a flow.
pub fn hop_to_hub() -> Vec<Vec<u8>> {
    vec![crate::hop::recorded(true)]
}

/// What that terminal receives.
pub fn hop_to_terminal() -> Vec<Vec<u8>> {
    vec![crate::hop::recorded(false)]
}

/// Commands of the control socket.
pub fn pep_commands() -> Vec<Vec<u8>> {
    use longhaul_pep::control::Command;
    let commands = [
        Command::Status,
        Command::Flows,
        Command::Page { since: 12 },
        Command::Drain,
        Command::Bypass { on: true },
        Command::Bench { seconds: 5 },
    ];
    commands.iter().filter_map(|command| serde_json::to_vec(command).ok()).collect()
}

/// Tasks of the accelerator's helper.
pub fn pep_tasks() -> Vec<Vec<u8>> {
    let install = longhaul_pep::helper::example();
    let named = install.replace("\"interfaces\":[]", "\"interfaces\":[\"eth0\",\"eth1.7\"]");
    assert_ne!(named, install);
    vec![
        install.clone().into_bytes(),
        named.into_bytes(),
        install.replace("install", "replace").into_bytes(),
        br#"{"task":"leave_alone","client":"192.0.2.1","seconds":10}"#.to_vec(),
        br#"{"task":"gate","gate":"shut"}"#.to_vec(),
        br#"{"task":"remove"}"#.to_vec(),
    ]
}

/// Rates of an earlier tunnel, plausible and not.
pub fn pep_rates() -> Vec<Vec<u8>> {
    let of = |rate: u64, rtt: u64, loss: u32, burst: u32| {
        format!(
            "{{\"{}\": {{\"at\": 990, \"rate_bps\": {rate}, \"rtt_ns\": {rtt}, \"loss_ppm\": {loss}, \"burst_permille\": {burst}}}}}",
            "0a".repeat(32)
        )
        .into_bytes()
    };
    vec![of(48_000_000, 640_000_000, 9000, 1500), of(0, 0, 0, 0), of(u64::MAX, u64::MAX, u32::MAX, u32::MAX)]
}

/// A public key.
pub fn pep_keys() -> Vec<Vec<u8>> {
    vec!["0a".repeat(32).into_bytes(), "0F".repeat(32).into_bytes()]
}

/// What a QUIC server receives of a client that opens a stream.
pub fn quic_to_server() -> Vec<Vec<u8>> {
    vec![crate::quic::recorded(longhaul_quic::Side::Server)]
}

/// What that client receives.
pub fn quic_to_client() -> Vec<Vec<u8>> {
    vec![crate::quic::recorded(longhaul_quic::Side::Client)]
}

/// A trace in Parquet.
pub fn parquet_traces() -> Vec<Vec<u8>> {
    use longhaul_results::{Table, Values};
    let columns =
        vec![("time_s", Values::F64(vec![0.5, 1.0, 2.5])), ("bytes", Values::U32(vec![300, 1500, 40]))];
    vec![longhaul_parquet::write(&Table { name: "trace", columns }).expect("it is written to memory")]
}

/// Scripts of packetdrill, from the tests of the interpreter.
pub fn packetdrill_scripts() -> Vec<Vec<u8>> {
    vec![
        include_bytes!("../../packetdrill/tests/scripts/transfer.pkt").to_vec(),
        include_bytes!("../../packetdrill/tests/scripts/client.pkt").to_vec(),
    ]
}

/// Greetings and requests of RFC 1928: an IPv4 address, a name, an IPv6 address.
pub fn socks() -> Vec<Vec<u8>> {
    vec![
        vec![5, 1, 0],
        vec![5, 1, 0, 1, 192, 0, 2, 1, 0, 80],
        [&[5, 1, 0, 3, 11][..], b"example.com", &[1, 187]].concat(),
        [&[5, 1, 0, 4][..], &[0; 15], &[1, 0, 80]].concat(),
    ]
}

/// Requests of the accelerator's page.
pub fn page_requests() -> Vec<Vec<u8>> {
    vec![
        b"GET /api/now?since=12 HTTP/1.1\r\nHost: 127.0.0.1:7716\r\nAuthorization: Bearer abc\r\n\r\n".to_vec(),
        b"POST /api/bypass HTTP/1.1\r\nHost: [::1]\r\nOrigin: http://[::1]\r\nContent-Type: application/json\r\n\
          Content-Length: 11\r\n\r\n{\"on\":true}"
            .to_vec(),
    ]
}

/// Openings of tunnels through an HTTP proxy.
pub fn http_connects() -> Vec<Vec<u8>> {
    vec![
        b"CONNECT example.com:443 HTTP/1.1\r\nHost: example.com\r\n\r\n".to_vec(),
        b"CONNECT [2001:db8::1]:22 HTTP/1.0\r\n\r\n".to_vec(),
    ]
}

/// The examples of the accelerator.
pub fn pep_configs() -> Vec<Vec<u8>> {
    vec![
        include_bytes!("../../pep/packaging/split.toml").to_vec(),
        include_bytes!("../../pep/packaging/terminal.toml").to_vec(),
        include_bytes!("../../pep/packaging/hub.toml").to_vec(),
    ]
}
