//! What the packets between the two nodes of a proxy carry, byte for byte: records with the hosts' data, datagrams and messages, ACKs.

use crate::common::*;

use longhaul_middlebox::ack_compaction::{Form, Settings, Spacing, ack_compaction};
use longhaul_middlebox::paced::datagram::{COMMON, ITEM_HEADER};
use longhaul_middlebox::paced::message::{Inbox, Message};
use longhaul_middlebox::paced::{self, Control, paced_hop};
use longhaul_middlebox::split::record::{Framing, HEADER, HELLO, Record, RecordKind};
use longhaul_middlebox::split::{FlowControl, LongHop, distributed_split};
use longhaul_middlebox::{ByNumber, Direction, Directory, Ends, Middlebox};
use longhaul_segment::compaction::ExactBatch;
use longhaul_segment::{Flags, wire};
use longhaul_tcp::{Config, Reading};
use longhaul_units::{ConnectionId, Random};
use std::collections::BTreeMap;

/// The first connection that is no flow's.
const TUNNEL: ConnectionId = ConnectionId(2);

/// Two flows over a middlebox at two nodes, one packet in twenty lost between them; what each client writes and each server.
fn played(middlebox: Box<dyn Middlebox<Bytes>>, bytes: [u64; 2]) -> Path {
    let config = patient();
    let between = Hop { loss_percent: 5, ..Hop::CLEAN };
    let flows = (0..2).map(|number| hosts(number, &config)).collect();
    let mut path =
        Path::new(flows, vec![middlebox], vec![(0, 0), (0, 1)], vec![Hop::CLEAN, between, Hop::CLEAN], 3);
    path.run_until(at_ms(2000));
    for flow in 0..2 {
        path.write(flow, true, bytes[0]);
        path.write(flow, false, bytes[1]);
    }
    path.run_until(at_ms(60_000));
    for hosts in &mut path.hosts {
        hosts.client.close();
        hosts.server.close();
    }
    assert!(path.run_until_closed(at_ms(2_000_000)));
    for hosts in &path.hosts {
        assert_eq!([hosts.server.received_bytes(), hosts.client.received_bytes()], hosts.written);
    }
    path.check_content();
    path
}

/// The stream of a TCP connection, of its packets, in one direction; two packets that hold the same byte must agree on it.
fn stream(path: &Path, connection: ConnectionId, direction: Direction) -> Vec<u8> {
    let packets = || path.own.iter().filter(|p| (p.connection, p.direction) == (connection, direction));
    let syn = packets().find(|packet| packet.segment.flags.contains(Flags::SYN)).expect("a handshake");
    let mut bytes = BTreeMap::new();
    for packet in packets() {
        assert_eq!(packet.body.len() as u32, packet.segment.payload_len);
        let place = packet.segment.seq.distance_from(syn.segment.seq + 1);
        for (at, byte) in (place..).zip(packet.body.iter()) {
            assert_eq!(*bytes.entry(at).or_insert(*byte), *byte, "at {at}");
        }
    }
    assert!(bytes.keys().copied().eq(0..bytes.len() as i32), "no gap");
    bytes.into_values().collect()
}

fn long_side() -> Config {
    Config { reading: Reading::Manual, receive_buffer: Some(50_000), nagle: false, ..patient() }
}

/// One connection for two flows, with headers before records.
fn split() -> Box<dyn Middlebox<Bytes>> {
    let long_hop = LongHop {
        side: side(&long_side()),
        established: false,
        connections: 1,
        framing: Framing::Header,
        buffer: 100_000,
        first_number: TUNNEL,
        positions: vec![0, 1].into(),
    };
    let control = FlowControl::Window(Some(10_000));
    let plans = plans(&patient(), Some(20_000));
    Box::new(distributed_split(both((plans, long_hop)), control, 1, "split"))
}

/// A record fills a segment with its header, and what is ready at the same time shares segments.
#[test]
fn records_leave_no_small_packets_behind() {
    let path = played(split(), [100_000, 0]);
    let own = path.own.iter().filter(|packet| packet.connection == TUNNEL);
    let sizes: Vec<u32> = own.map(|packet| packet.segment.payload_len).filter(|len| *len > 0).collect();
    let small = sizes.iter().filter(|len| **len < 100).count();
    // Two hosts open and two close at each end; of these a twentieth is sent again.
    assert!(small <= 12, "{small} of {}: {sizes:?}", sizes.len());
}

/// Nothing waits for more: 100 bytes cross three hops of 10 ms in 30 ms, though others are under way.
#[test]
fn a_small_record_goes_at_once() {
    let config = Config { nagle: false, ..patient() };
    let flows = (0..2).map(|number| hosts(number, &config)).collect();
    let mut path = Path::new(flows, vec![split()], vec![(0, 0), (0, 1)], vec![Hop::CLEAN; 3], 3);
    path.run_until(at_ms(2000));
    for pause in [0, 5, 10, 1000] {
        path.run_until(path.now + ms(pause));
        path.write(1, true, 100);
        let (now, had) = (path.now, path.hosts[1].server.received_bytes());
        path.write(0, true, 100);
        path.run_until(now + ms(30));
        assert!(path.hosts[1].server.received_bytes() >= had + 100, "after a pause of {pause} ms");
    }
}

#[test]
fn the_long_hop_of_a_split_is_records_of_the_hosts_bytes() {
    let path = played(split(), [30_000, 20_000]);
    let mut streams = BTreeMap::new();
    for (from_client, direction) in [(true, Direction::Forward), (false, Direction::Reverse)] {
        let written = stream(&path, TUNNEL, direction);
        let (hello, mut rest) = written.split_at(HEADER as usize);
        assert_eq!(hello, Record { stream: HELLO, kind: RecordKind::Hello, len: 0 }.encode());
        let (mut data, mut kinds) = ([vec![], vec![]], vec![]);
        while let Some((header, behind)) = rest.split_first_chunk::<{ HEADER as usize }>() {
            let record = Record::decode(*header).expect("a record");
            let (bytes, next) = behind.split_at(record.len as usize);
            if record.kind == RecordKind::Open {
                let hosts = Ends::decode(bytes).expect("two hosts");
                let flow = ByNumber.number(&hosts).expect("a flow").0;
                assert_eq!((hosts.active.port(), hosts.passive.port()), (1000 + flow as u16, 80));
                streams.insert(record.stream, flow);
            }
            let flow = streams[&record.stream];
            if record.kind == RecordKind::Data {
                data[flow as usize].extend_from_slice(bytes);
            }
            kinds.push((flow, record.kind));
            rest = next;
        }
        assert!(rest.is_empty(), "the stream ends with a record");
        for (flow, data) in data.iter().enumerate() {
            let expected = path.hosts[flow].written[usize::from(!from_client)];
            assert_eq!(data.len() as u64, expected);
            assert!((0..).zip(data).all(|(place, got)| *got == byte(flow, from_client, place)));
            assert_eq!(kinds.contains(&(flow as u32, RecordKind::Open)), from_client);
            assert!(kinds.contains(&(flow as u32, RecordKind::Close)));
        }
    }
}

#[test]
fn a_paced_hop_carries_datagrams_down_and_messages_up() {
    let control = Config { reading: Reading::Immediate, receive_buffer: None, ..long_side() };
    let settings = paced::Settings {
        sender: paced_sender(1_000_000, None),
        receiver: paced::receiver::Settings {
            report_interval: ms(100),
            reordering: 3,
            line: None,
            headers: 42,
            share: 0.5,
            buffer: 50_000,
            code: None,
        },
        control: Control { side: side(&control), established: false },
        silence: None,
        first_number: TUNNEL,
    };
    let randoms = ["hub", "client"].map(|name| Random::stream(1, name));
    let hop = paced_hop(both((plans(&patient(), Some(20_000)), settings)), randoms);
    let path = played(Box::new(hop), [30_000, 20_000]);
    // Datagrams: kind 2 is data, behind stream and position, which counts from 1.
    let word = |bytes: &[u8], at: usize| u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap());
    let mut pieces: BTreeMap<u32, BTreeMap<u32, Vec<u8>>> = BTreeMap::new();
    for packet in path.own.iter().filter(|packet| packet.connection == TUNNEL) {
        assert_eq!(
            packet.body.len() as u32 + 28,
            packet.segment.ipv4_len(),
            "behind the headers of IP and UDP"
        );
        if packet.body[0] == 2 {
            let (head, data) = packet.body.split_at(ITEM_HEADER as usize);
            pieces.entry(word(head, COMMON)).or_default().insert(word(head, COMMON + 4) - 1, data.to_vec());
        }
    }
    // Flow 0 opened its stream first.
    assert_eq!(pieces.len(), 2);
    for (flow, pieces) in pieces.values().enumerate() {
        let mut data = vec![];
        for (place, piece) in pieces {
            assert_eq!(data.len() as u32, *place);
            data.extend_from_slice(piece);
        }
        assert_eq!(data.len() as u64, path.hosts[flow].written[0]);
        assert!((0..).zip(&data).all(|(place, got)| *got == byte(flow, true, place)));
    }
    // Messages.
    let mut inbox = Inbox::default();
    inbox.push(&stream(&path, TUNNEL.after(1), Direction::Reverse));
    let mut data: BTreeMap<u32, Vec<u8>> = BTreeMap::new();
    let mut reports = 0;
    while let Some(message) = inbox.next_message().expect("nothing but messages") {
        match message {
            Message::Data { stream, bytes } => data.entry(stream).or_default().extend(bytes),
            Message::Report(_) => reports += 1,
            _ => {}
        }
    }
    assert!(reports > 0);
    for (flow, data) in data.values().enumerate() {
        assert_eq!(data.len() as u64, path.hosts[flow].written[1]);
        assert!((0..).zip(data).all(|(place, got)| *got == byte(flow, false, place)));
    }
}

/// The clients' packets cross: their ACKs of what the servers write as few packets, all else as it is.
#[test]
fn compacted_acks_are_in_the_tunnel() {
    let settings = |rate| Settings {
        form: Form::Exact,
        wait: ms(30),
        rate,
        framing: 0,
        most: 8,
        spacing: Spacing::Immediate,
    };
    for over_tcp in [false, true] {
        let carrier = over_tcp.then(|| both(side(&long_side())));
        let compaction = ack_compaction(settings(None), TUNNEL, carrier);
        let counters = |path: &Path, name| {
            path.boxes[0].counters().into_iter().find(|(known, _)| *known == name).unwrap().1
        };
        let path = played(Box::new(OneWay(compaction, TUNNEL)), [0, 50_000]);
        let packets: Vec<Vec<u8>> = if over_tcp {
            let all: BTreeMap<u32, &[u8]> = path
                .own
                .iter()
                .filter(|packet| packet.direction == Direction::Forward && !packet.body.is_empty())
                .map(|packet| (packet.segment.seq.0, &packet.body[..]))
                .collect();
            let mut written: Vec<u8> = vec![];
            let first = *all.keys().next().unwrap();
            for (number, body) in all {
                let have = written.len() - (number - first) as usize;
                written.extend_from_slice(body.get(have..).unwrap_or_default());
            }
            let mut records = vec![];
            while written.len() >= 2 {
                let len = usize::from(u16::from_be_bytes([written[0], written[1]]));
                records.push(written[2..2 + len].to_vec());
                written.drain(..2 + len);
            }
            records
        } else {
            path.own.iter().map(|packet| packet.body.to_vec()).collect()
        };
        let (mut compacted, mut acks) = (0, 0);
        for packet in &packets {
            let read = wire::decode(packet).expect("an intact TCP/IP packet");
            assert_eq!((read.wire_len(), read.segment.dst_port), (packet.len(), 80));
            if let Ok(batch) = ExactBatch::decode(packet) {
                compacted += 1;
                acks += batch.len() as u64;
            }
        }
        assert!(acks > compacted);
        assert_eq!(counters(&path, "compacted_packets"), compacted);
        assert_eq!(counters(&path, "compacted_acks"), acks);
    }
}
