//! Nodes of other versions: their bytes, kept in a file, mean today what they meant, and what is written today is what they read.

use longhaul_hop::Open;
use longhaul_hop::wire::{self, Hello, ParityHead, Record};

/// The bytes of this name in the file.
fn bytes(name: &str) -> Vec<u8> {
    let text = include_str!("data/protocol.txt");
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    let digits = line.unwrap_or_else(|| panic!("{name} is not in the file"));
    (0..digits.len() / 2).map(|at| u8::from_str_radix(&digits[2 * at..2 * at + 2], 16).unwrap()).collect()
}

fn hello(versions: (u16, u16)) -> Hello {
    Hello {
        versions,
        credit: 16_000_000,
        memory: 64_000_000,
        max_flows: 1000,
        receive: 50_000_000,
        alone: false,
    }
}

fn read(name: &str) -> Record {
    let bytes = bytes(name);
    let (record, length) = Record::read(&bytes).unwrap().unwrap();
    assert_eq!(length, bytes.len(), "{name}");
    record
}

#[test]
fn records_are_those_of_the_first_release() {
    for (name, record) in [
        ("hello", Record::Hello(hello((1, 2)))),
        ("consumed", Record::Consumed { stream: 4, offset: 1_000_000 }),
        ("accepted", Record::Accepted { stream: 8 }),
        ("reset", Record::Reset { stream: 12, code: 3 }),
        ("reset-at", Record::ResetAt { stream: 16, code: 1, size: 9038 }),
    ] {
        assert_eq!(read(name), record, "{name}");
        let mut written = vec![];
        record.write(&mut written);
        assert_eq!(written, bytes(name), "{name}");
    }
}

#[test]
fn heads_of_flows_and_parities_are_those_of_the_first_release() {
    let open = |source: &str, destination: &str, dscp, priority, confirm| Open {
        source: source.parse().unwrap(),
        destination: destination.parse().unwrap(),
        dscp,
        priority,
        confirm,
    };
    for (name, open) in [
        ("open-ipv4", open("10.0.0.7:50000", "192.0.2.1:443", 46, 5, true)),
        ("open-ipv6", open("[2001:db8::7]:50000", "[2001:db8::1]:443", 0, 0, false)),
    ] {
        let kept = bytes(name);
        assert_eq!(wire::read_open(&kept), Ok(Some((open, kept.len()))), "{name}");
        let mut written = vec![];
        wire::write_open(&open, &mut written);
        assert_eq!(written, kept, "{name}");
    }
    let head = ParityHead {
        stream: 4,
        start: 65_536,
        length: 1_000_000,
        symbol: 1200,
        parities: 20,
        first: 3,
        last: false,
    };
    let mut written = vec![];
    head.write(&mut written);
    assert_eq!(written, bytes("parity-head"));
    written.resize(written.len() + 1200, 7);
    assert_eq!(ParityHead::read(&written).unwrap().0, head);
}

/// Nodes of the first release have no records of these types, and skip each by its length.
#[test]
fn records_of_classes_and_bounds_are_skipped_by_the_first_release() {
    for (name, record) in [
        ("class", Record::Class { class: 3, weight: 5, floor: 1_000_000, ceiling: 0 }),
        ("classify", Record::Classify { stream: 4, class: 3 }),
        ("bounds", Record::Bounds { flows: 1000, rate: 10_000_000 }),
        ("waited", Record::Waited { millis: 1000 }),
    ] {
        assert_eq!(read(name), record, "{name}");
        let (mut written, kept) = (vec![], bytes(name));
        record.write(&mut written);
        assert_eq!(written, kept, "{name}");
        // The types of the first release are 0 to 4, its frames over TCP 8 to 13; the second byte is the length.
        assert!([5, 6, 7, 14].contains(&kept[0]) && usize::from(kept[1]) == kept.len() - 2, "{name}");
    }
}

/// From version 3 on: nodes of an older version never see it.
#[test]
fn heads_with_names_are_those_of_their_first_release() {
    let kept = bytes("open-name");
    let mut written = vec![];
    wire::write_name("server.example", 443, &mut written);
    assert_eq!(written, kept);
    assert_eq!(
        (wire::name_length(kept[0]), wire::read_name(&kept)),
        (kept.len(), Some((&b"server.example"[..], 443)))
    );
    assert_eq!(wire::read_name(&kept[..kept.len() - 1]), None);
    // In front of it stands the head of a flow that all versions read, to the unspecified address and this port.
    let head = bytes("open-named");
    let (open, _) = wire::read_open(&head).unwrap().unwrap();
    assert_eq!((open.destination.to_string().as_str(), wire::NAMED, wire::NAMES), ("0.0.0.0:4", 4, 3));
}

/// A node that cannot talk to the other says so; the reason is in the log of both (`no common version of the hop`).
#[test]
fn other_versions_talk_or_are_refused() {
    let agreed = |name: &str, expected: (u16, u16)| {
        // What follows the known fields of a later version's hello has a meaning there only.
        let Record::Hello(read) = read(name) else { panic!("{name}") };
        assert_eq!(Hello { alone: false, ..read }, hello(expected), "{name}");
        wire::agreed(wire::VERSIONS, expected)
    };
    assert_eq!(agreed("hello-of-version-1", (1, 1)), Some(1));
    assert_eq!(agreed("hello", (1, 2)), Some(2));
    assert_eq!(agreed("hello-of-version-3", (1, 3)), Some(3));
    assert_eq!(agreed("hello-of-a-later-version", (3, 4)), Some(4));
    assert_eq!(agreed("hello-of-a-much-later-version", (7, 9)), None);
    assert_eq!(read("record-of-a-later-version"), Record::Unknown);
    // A field that older nodes do not read: theirs are the same bytes without it.
    let alone = Record::Hello(Hello { alone: true, ..hello((1, 3)) });
    assert_eq!(read("hello-of-one-that-keeps-alive-alone"), alone);
    let mut written = vec![];
    alone.write(&mut written);
    assert_eq!(written, bytes("hello-of-one-that-keeps-alive-alone"));
}
