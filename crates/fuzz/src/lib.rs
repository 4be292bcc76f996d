//! Fuzz targets: every parser of outside bytes. A target must return for any input; a panic or a hang is a defect.
//!
//! The same functions run under libFuzzer (`fuzz/`, nightly compiler) and under the driver of this crate (`main.rs`, any compiler).

mod hop;
mod mutate;
mod quic;
mod seeds;

pub use mutate::Mutator;

use longhaul_hop::pool::frame::Frame;
use longhaul_hop::pool::null_tls::NullTls;
use longhaul_hop::{Event, FlowId, LaneId, Open, PeerId, Pool, PoolConfig, ResetCode, wire};
use longhaul_middlebox::Length;
use longhaul_middlebox::paced::datagram::{Datagram, Item};
use longhaul_middlebox::paced::message::Inbox;
use longhaul_middlebox::split::record::Record;
use longhaul_quic::Side;
use longhaul_segment::compaction::{ExactBatch, TraditionalBatch};
use longhaul_segment::{ip, rohc, vj};
use longhaul_traffic::{Format, Trace};

/// A parser under test.
pub struct Target {
    /// Its name, and that of the folder of its corpus.
    pub name: &'static str,
    /// Parses the input; the result is of no interest.
    pub run: fn(&[u8]),
    /// Well-formed inputs to begin from.
    pub seeds: fn() -> Vec<Vec<u8>>,
}

impl Target {
    /// Inputs that take as long as one of the quickest targets, about: runs of all targets divide their number by it.
    pub fn cost(&self) -> u32 {
        match self.name {
            "scenario" => 33,
            "hop_hub" | "hop_terminal" | "hop_peer" | "pep_rates" => 20,
            _ => 1,
        }
    }
}

/// Every target.
pub const TARGETS: &[Target] = &[
    Target { name: "packet", run: packet, seeds: seeds::packets },
    Target { name: "vj", run: vj_frames, seeds: seeds::vj_frames },
    Target { name: "rohc", run: rohc_frames, seeds: seeds::rohc_frames },
    Target { name: "compaction", run: compaction, seeds: seeds::compacted },
    Target { name: "paced_message", run: paced_message, seeds: seeds::paced_messages },
    Target { name: "paced_datagram", run: paced_datagram, seeds: seeds::paced_datagrams },
    Target { name: "split_record", run: split_record, seeds: seeds::nothing },
    Target { name: "hop_record", run: hop_record, seeds: seeds::hop_records },
    Target { name: "hop_open", run: hop_open, seeds: seeds::hop_opens },
    Target { name: "hop_parity", run: hop_parity, seeds: seeds::nothing },
    Target { name: "hop_frame", run: hop_frame, seeds: seeds::pool_streams },
    Target { name: "hop_pool", run: hop_pool, seeds: seeds::pool_streams },
    Target { name: "hop_pool_opener", run: hop_pool_opener, seeds: seeds::pool_answers },
    Target { name: "hop_hub", run: hop_hub, seeds: seeds::hop_to_hub },
    Target { name: "hop_terminal", run: hop_terminal, seeds: seeds::hop_to_terminal },
    Target { name: "hop_peer", run: hop_peer, seeds: hop::peer_seeds },
    Target { name: "null_tls", run: null_tls, seeds: seeds::null_tls },
    Target { name: "quic_server", run: quic_server, seeds: seeds::quic_to_server },
    Target { name: "quic_client", run: quic_client, seeds: seeds::quic_to_client },
    Target { name: "emu_packet", run: emu_packet, seeds: seeds::packets },
    Target { name: "packet_class", run: packet_class, seeds: seeds::packets },
    Target { name: "trace_ns", run: trace_ns, seeds: seeds::ns_traces },
    Target { name: "trace_csv", run: trace_csv, seeds: seeds::csv_traces },
    Target { name: "trace_parquet", run: trace_parquet, seeds: seeds::parquet_traces },
    Target { name: "elements", run: elements, seeds: seeds::elements },
    Target { name: "access_log", run: access_log, seeds: seeds::access_logs },
    Target { name: "scenario", run: scenario, seeds: seeds::scenarios },
    Target { name: "socks", run: socks, seeds: seeds::socks },
    Target { name: "http_connect", run: http_connect, seeds: seeds::http_connects },
    Target { name: "pep_page", run: pep_page, seeds: seeds::page_requests },
    Target { name: "pep_config", run: pep_config, seeds: seeds::pep_configs },
    Target { name: "pep_opening", run: pep_opening, seeds: seeds::packets },
    Target { name: "pep_control", run: pep_control, seeds: seeds::pep_commands },
    Target { name: "pep_helper", run: pep_helper, seeds: seeds::pep_tasks },
    Target { name: "pep_rates", run: pep_rates, seeds: seeds::pep_rates },
    Target { name: "pep_key", run: pep_key, seeds: seeds::pep_keys },
    Target { name: "packetdrill", run: packetdrill, seeds: seeds::packetdrill_scripts },
];

/// The target of this name.
pub fn target(name: &str) -> Option<&'static Target> {
    TARGETS.iter().find(|target| target.name == name)
}

/// An IP packet with TCP: what is read is written and read again as the same.
pub fn packet(input: &[u8]) {
    let _ = ip::decode(input);
    use longhaul_segment::wire::{decode, encode};
    let Ok(packet) = decode(input) else { return };
    let mut again = vec![];
    if encode(&packet.ip, &packet.segment, packet.payload, &mut again).is_ok() {
        let read = decode(&again).expect("what was encoded is a packet");
        assert_eq!((read.segment, read.payload), (packet.segment, packet.payload));
    }
}

/// Frames of one line: each has a length and a type before it.
fn frames(mut input: &[u8]) -> impl Iterator<Item = (u8, &[u8])> {
    std::iter::from_fn(move || {
        let [length, kind, rest @ ..] = input else { return None };
        let (frame, rest) = rest.split_at(usize::from(*length).min(rest.len()));
        input = rest;
        Some((*kind, frame))
    })
}

/// Van Jacobson's header compression (RFC 1144): what comes out of compressed frames is intact.
pub fn vj_frames(input: &[u8]) {
    let mut line = vj::Decompressor::new(4);
    for (kind, frame) in frames(input) {
        let mut slip = frame.to_vec();
        let unmarked = vj::FrameType::unmark_slip(&mut slip);
        let kind = match kind % 4 {
            0 => vj::FrameType::Compressed,
            1 => vj::FrameType::Uncompressed,
            2 => unmarked.unwrap_or(vj::FrameType::Ip),
            _ => {
                line.line_error();
                continue;
            }
        };
        let mut out = vec![];
        let read = line.decompress(kind, frame, &mut out);
        assert!(read.is_ok() || out.is_empty(), "a frame that was tossed left bytes");
    }
}

/// Robust header compression in the manner of RFC 6846.
pub fn rohc_frames(input: &[u8]) {
    let mut line = rohc::Decompressor::new(4);
    for (_, frame) in frames(input) {
        let mut out = vec![];
        let read = line.decompress(frame, &mut out);
        assert!(read.is_ok() || out.is_empty(), "a frame that was tossed left bytes");
        let _ = line.poll_feedback();
    }
}

/// Many ACKs in one packet, in both forms.
pub fn compaction(input: &[u8]) {
    let _ = ExactBatch::decode(input);
    let _ = TraditionalBatch::decode(input);
}

/// The paced protocol's control stream, cut anywhere.
pub fn paced_message(input: &[u8]) {
    let cut = input.first().map_or(0, |first| usize::from(*first).min(input.len()));
    let mut inbox = Inbox::default();
    for piece in [&input[..cut], &input[cut..]] {
        inbox.push(piece);
        while let Ok(Some(_)) = inbox.next_message() {}
    }
}

/// The key under which the seeds are tagged.
pub(crate) const KEY: [u8; 16] = *b"a key for tests.";

/// The paced protocol's datagrams, with a right tag or not, and its coded symbols.
pub fn paced_datagram(input: &[u8]) {
    let _ = Datagram::<Length>::decode(&KEY, input);
    let _ = Item::<Length>::from_symbol(input);
}

/// Records between the two nodes of a split connection.
pub fn split_record(input: &[u8]) {
    for bytes in input.chunks_exact(8) {
        let _ = Record::decode(bytes.try_into().expect("chunks are exact"));
    }
}

/// The control stream of a hop: what is read is written and read again as the same.
pub fn hop_record(mut input: &[u8]) {
    while let Ok(Some((record, length))) = wire::Record::read(input) {
        assert!((1..=input.len()).contains(&length));
        input = &input[length..];
        let mut again = vec![];
        record.write(&mut again);
        if record != wire::Record::Unknown {
            assert_eq!(wire::Record::read(&again), Ok(Some((record, again.len()))));
        }
    }
}

/// The head of a flow of a hop: what is read is written as the same bytes.
pub fn hop_open(input: &[u8]) {
    let Ok(Some((open, length))) = wire::read_open(input) else { return };
    let mut again = vec![];
    wire::write_open(&open, &mut again);
    assert_eq!(again, input[..length]);
}

/// The head of a hop's parities.
pub fn hop_parity(input: &[u8]) {
    let Some((head, symbols)) = wire::ParityHead::read(input) else { return };
    assert!(!symbols.is_empty() && symbols.len() % usize::from(head.symbol) == 0);
    assert!(head.symbols() as u64 * u64::from(head.symbol) >= head.length);
    let mut again = vec![];
    head.write(&mut again);
    again.extend_from_slice(symbols);
    assert_eq!(wire::ParityHead::read(&again).map(|(head, _)| head), Some(head));
}

/// What a hop's TCP connection carries, frame by frame: what is read is written and read again as the same.
pub fn hop_frame(mut input: &[u8]) {
    while let Ok(Some((frame, length))) = Frame::read(input) {
        assert!((1..=input.len()).contains(&length));
        input = &input[length..];
        let mut again = vec![];
        frame.write(&mut again);
        if frame != Frame::Record(wire::Record::Unknown) {
            assert_eq!(Frame::read(&again), Ok(Some((frame, again.len()))));
        }
    }
}

/// Limits of the pools under test.
pub(crate) const POOL: PoolConfig =
    PoolConfig { credit: 64 << 10, memory: 9 * (64 << 10), unsent: 32 << 10, max_flows: 100 };

/// A hop's TCP connection, cut anywhere, as its receiver takes it: memory stays within its limit, and the ledger balances.
pub fn hop_pool(input: &[u8]) {
    let mut pool = Pool::new(POOL);
    let lane = pool.connected(Some([1; 32]), ([192, 0, 2, 1], 1).into(), false);
    let piece = input.first().map_or(1, |first| usize::from(*first) + 1);
    for bytes in input.chunks(piece) {
        let taken = pool.received(lane, bytes);
        answer(&mut pool, lane);
        if let Err(why) = taken {
            pool.disconnected(lane, why);
            break;
        }
    }
    pool.close();
    answer(&mut pool, lane);
}

/// Accepts every flow, reads what there is of it, and sends what is to be sent.
fn answer(pool: &mut Pool, lane: LaneId) {
    while let Some(event) = pool.poll_event() {
        match event {
            Event::Opened { flow, .. } => pool.accept(flow),
            Event::Readable { flow } => while pool.read(flow, 1000).is_some() {},
            _ => {}
        }
    }
    let mut out = vec![];
    pool.to_send(longhaul_units::Instant::ZERO, lane, 1 << 16, &mut out);
    let ledger = pool.ledger();
    assert!(ledger.unread <= POOL.memory);
    assert_eq!(ledger.written, ledger.delivered + ledger.held + ledger.lost);
}

/// The opener's side of a pool: a hub answers the hello and the flows that this side has opened, or pretends to. The first byte is the
/// length of a piece, the second what the owner does between two pieces, bit by bit. Bytes of a connection that is over, or never
/// was, are ignored.
pub fn hop_pool_opener(input: &[u8]) {
    let [piece, owner, bytes @ ..] = input else { return };
    let (mut pool, hub) = (Pool::new(POOL), ([192, 0, 2, 1], 1).into());
    let lanes = [0, 1].map(|_| pool.connected(Some([1; 32]), hub, true));
    let gone = pool.connected(None, hub, true);
    pool.disconnected(gone, "it was closed");
    let mut work = Opener::default();
    // The second connection stays good, with a flow of its own.
    let mut hello = vec![];
    wire::Record::Hello(seeds::hop_hello()).write(&mut hello);
    assert_eq!(pool.received(lanes[1], &hello), Ok(()));
    work.act(&mut pool, 0);
    for (number, bytes) in bytes.chunks(usize::from(*piece) + 1).enumerate() {
        assert_eq!(pool.received(gone, bytes), Ok(()));
        let taken = pool.received(lanes[0], bytes);
        work.act(&mut pool, owner >> (number % 8));
        answer(&mut pool, lanes[0]);
        if let Err(why) = taken {
            pool.disconnected(lanes[0], why);
            break;
        }
    }
    work.act(&mut pool, 0);
    pool.close();
    answer(&mut pool, lanes[0]);
    answer(&mut pool, lanes[1]);
    pool.disconnected(lanes[0], "closed");
    pool.disconnected(lanes[1], "closed");
    let ledger = pool.ledger();
    assert_eq!((ledger.held, ledger.unread), (0, 0), "{ledger:?}");
}

/// The owner of [`hop_pool_opener`].
#[derive(Default)]
struct Opener {
    peer: Option<PeerId>,
    flows: Vec<FlowId>,
    over: std::collections::BTreeSet<FlowId>,
    /// By its own wish: what the pool had reported before may still come.
    given_up: std::collections::BTreeSet<FlowId>,
}

impl Opener {
    fn act(&mut self, pool: &mut Pool, choice: u8) {
        let now = longhaul_units::Instant::ZERO;
        while let Some(event) = pool.poll_event() {
            match event {
                Event::Up { peer, .. } => self.peer = Some(peer),
                Event::Readable { flow } => while pool.read(flow, 1000).is_some() {},
                Event::Reset { flow, .. } | Event::Refused { flow, .. } => {
                    assert!(self.given_up.contains(&flow) || self.over.insert(flow), "a flow ended twice");
                }
                Event::Finished { flow } | Event::Accepted { flow } | Event::Delivered { flow } => {
                    assert!(!self.over.contains(&flow));
                }
                _ => {}
            }
        }
        let Some(peer) = self.peer else { return };
        let (source, destination) = (([10, 1, 0, 1], 1000).into(), ([10, 2, 0, 1], 80).into());
        let open = Open { source, destination, dscp: 0, priority: 1, confirm: true };
        if self.flows.len() < 3 {
            if let Ok(flow) = pool.open(peer, open) {
                pool.write(now, flow, &mut bytes::Bytes::from_static(&[3; 500]));
                self.flows.push(flow);
            }
        }
        match (choice & 3, self.flows.first().copied()) {
            (1, Some(flow)) => pool.finish(now, flow),
            (2, Some(flow)) => {
                pool.reset(flow, ResetCode::Reset);
                self.given_up.insert(flow);
            }
            _ => {}
        }
    }
}

/// A hub of a hop among hostile datagrams, ICMP errors and pauses.
pub fn hop_hub(input: &[u8]) {
    hop::node(true, input);
}

/// A terminal, which opens a connection, the same.
pub fn hop_terminal(input: &[u8]) {
    hop::node(false, input);
}

/// A peer that completes the handshake, and then writes anything on streams and in datagrams.
pub fn hop_peer(input: &[u8]) {
    hop::peer(input);
}

/// True if the seeds of the three targets of a whole node lead to a peer that is up.
pub fn hop_connects() -> bool {
    let up = [true, false].map(|hub| hop::node(hub, &hop::recorded(hub)));
    up == [true; 2] && hop::peer_seeds().iter().all(|seed| hop::peer(seed))
}

/// A connection's stand-in for TLS, both ends, cut anywhere: no more data than bytes came, and what is sealed is opened.
pub fn null_tls(input: &[u8]) {
    let [piece, side, bytes @ ..] = input else { return };
    let (mut plain, mut out) = (vec![], vec![]);
    let mut end = NullTls::new(side % 2 == 0, &mut out);
    for bytes in bytes.chunks(usize::from(*piece) + 1) {
        if end.received(bytes, &mut plain, &mut out).is_err() {
            break;
        }
    }
    assert!(plain.len() <= bytes.len());
    assert!(end.is_open() || plain.is_empty(), "data before the handshake was complete");
    assert!(out.len() <= longhaul_hop::pool::null_tls::FLIGHTS.iter().sum());
    let (mut sealed, mut opened) = (vec![0; longhaul_hop::pool::null_tls::FLIGHTS[1]], vec![]);
    NullTls::seal(bytes, &mut sealed);
    let mut other = NullTls::new(true, &mut out);
    assert_eq!(other.received(&sealed, &mut opened, &mut vec![]), Ok(()));
    assert_eq!(opened, bytes);
}

/// How the accelerator and the emulator classify a packet: what both read of the IP header is the same.
pub fn packet_class(input: &[u8]) {
    use longhaul_emu::frame::{Shape, ecn};
    let class = longhaul_pep::dscp::of_packet(input);
    if let Some(class) = class {
        assert!(class < 64 && longhaul_pep::dscp::traffic_class(class) >> 2 == u32::from(class));
    }
    let Some(shape) = Shape::of(input) else { return };
    assert!(class.is_some(), "a packet with a shape has an IP header, and so a class");
    assert_eq!(Shape::of(input).map(|again| again.flow_hash()), Some(shape.flow_hash()));
    if let Ok(packet) = longhaul_segment::wire::decode(input) {
        assert_eq!(ecn(input), packet.ip.ecn);
    }
}

/// Datagrams that reach a QUIC server: a session without encryption, so that a changed frame is read and not refused as forged.
pub fn quic_server(input: &[u8]) {
    quic::take(Side::Server, input);
}

/// Datagrams that reach a QUIC client which opens a connection.
pub fn quic_client(input: &[u8]) {
    quic::take(Side::Client, input);
}

/// True if the seed for this side leads to a connection.
pub fn quic_connects(side: Side) -> bool {
    quic::take(side, &quic::recorded(side))
}

/// What the emulator reads and changes of a packet that came from a device.
pub fn emu_packet(input: &[u8]) {
    use longhaul_emu::frame::{Shape, complete_checksum, ecn, flip, set_ecn, without_padding};
    assert!(without_padding(input) <= input.len());
    let shape = Shape::of(input);
    let mut packet = input.to_vec();
    let completed = complete_checksum(&mut packet);
    assert!(packet == input || completed, "a packet that is not TCP or UDP was changed");
    assert_eq!(Shape::of(&packet), shape, "a checksum is no part of the shape");
    if shape.is_some() {
        set_ecn(&mut packet, longhaul_segment::Ecn::Ce);
        assert_eq!(ecn(&packet), longhaul_segment::Ecn::Ce);
    }
    let before = packet.clone();
    let flipped = flip(&mut packet, input.len() as u64 * 7919);
    let changed: u32 = before.iter().zip(&packet).map(|(old, new)| (old ^ new).count_ones()).sum();
    assert_eq!(changed, u32::from(flipped));
}

fn read_trace(input: &[u8], format: Format) {
    if let Ok(trace) = Trace::read(input, format) {
        assert!(!trace.records().is_empty());
    }
}

/// ns-2's binary traces.
pub fn trace_ns(input: &[u8]) {
    read_trace(input, Format::Ns);
}

/// Traces as text.
pub fn trace_csv(input: &[u8]) {
    read_trace(input, Format::Csv);
}

/// Traces in Parquet. The library's own panics are caught where it is called; the rest must not be reached by them.
pub fn trace_parquet(input: &[u8]) {
    let Ok(table) = longhaul_parquet::read(input.to_vec()) else { return };
    if let Ok(trace) = Trace::of_columns(&table) {
        assert!(!trace.records().is_empty());
    }
}

/// Two-line elements of satellites.
pub fn elements(input: &[u8]) {
    let _ = longhaul_scenario::count_satellites(&String::from_utf8_lossy(input));
}

/// Access logs of web servers.
pub fn access_log(input: &[u8]) {
    read_trace(input, Format::AccessLog);
}

/// Scenario files, without and with an override. What is accepted is written out in full and accepted again as the same.
pub fn scenario(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    // A trace and elements would be read from files of this machine.
    if text.contains("trace") || text.contains("elements") {
        return;
    }
    let _ = longhaul_scenario::load(&text, "fuzz", &[("run.seed".to_string(), "2".to_string())]);
    if let Ok(scenario) = longhaul_scenario::load(&text, "fuzz", &[]) {
        let resolved = longhaul_scenario::resolved_toml(&scenario);
        let again =
            longhaul_scenario::load(&resolved, "resolved", &[]).expect("a resolved scenario is a scenario");
        assert_eq!(resolved, longhaul_scenario::resolved_toml(&again));
    }
}

/// A SOCKS5 greeting and request: what is understood used no more bytes than there are, and all that it needs.
pub fn socks(input: &[u8]) {
    use longhaul_pep::socks::{Step, greeting, request};
    if let Step::Done((), used) = greeting(input) {
        assert_eq!(greeting(&input[..used]), Step::Done((), used));
    }
    if let Step::Done(found, used) = request(input) {
        assert_eq!(request(&input[..used]), Step::Done(found, used));
    }
}

/// A request of the page: it is the same without what follows, and within its bounds.
pub fn pep_page(input: &[u8]) {
    use longhaul_pep::page::request::{LONGEST_BODY, LONGEST_HEAD, Step, head};
    match head(input) {
        Step::More => assert!(input.len() < LONGEST_HEAD),
        Step::Refused(status) => assert!((400..600).contains(&status)),
        Step::Done(request, used) => {
            assert!(used <= input.len() && used <= LONGEST_HEAD && request.length <= LONGEST_BODY);
            assert!(request.path.starts_with('/') && !request.host.is_empty());
            let _ = request.number("since");
            assert_eq!(head(&input[..used]), Step::Done(request, used));
        }
    }
}

/// The head of an HTTP CONNECT: the same.
pub fn http_connect(input: &[u8]) {
    use longhaul_pep::{http::request, socks::Step};
    if let Step::Done(found, used) = request(input) {
        assert_eq!(request(&input[..used]), Step::Done(found, used));
    }
}

/// A configuration of the accelerator: what is read can be written as commands.
pub fn pep_config(input: &[u8]) {
    let Ok(config) = longhaul_pep::load::parse(&String::from_utf8_lossy(input), "fuzz") else { return };
    if let Some(intercept) = &config.intercept {
        let _ = longhaul_pep::plan::printed(intercept, &config.limits, &Default::default());
    }
}

/// The packet that opens a connection, as the accelerator takes it apart, and the packets that it makes of it.
pub fn pep_opening(input: &[u8]) {
    use longhaul_pep::opening::{Obstacle, Opening};
    assert!(longhaul_pep::dscp::of_packet(input).is_none_or(|class| class < 64));
    let v6 = |part: u8| std::net::IpAddr::from([part; 16]);
    let openings = [Opening::from_v4(input), Opening::from_segment(v6(1), v6(2), 0xb8, input)];
    for opening in openings.into_iter().flatten() {
        let reset = longhaul_emu::frame::Shape::of(&opening.reset()).expect("a reset is a packet");
        assert_eq!((reset.tcp_flags, reset.payload), (0x14, 0), "RST and ACK");
        let again = opening.packet();
        if opening.client.is_ipv4() {
            let read = Opening::from_v4(&again).expect("what was built is an opening");
            assert_eq!(read.packet(), again);
        }
        // RFC 1812, section 4.3.2.3, and RFC 4443, section 2.4.
        let most = if opening.client.is_ipv4() { 576 } else { 1280 };
        for why in [Obstacle::Unreachable, Obstacle::Prohibited] {
            assert!(opening.obstacle(why).len() <= most);
        }
    }
}

/// A line of the control socket: what is understood is written and read again as the same.
pub fn pep_control(input: &[u8]) {
    use longhaul_pep::control::Command;
    let Ok(command) = serde_json::from_slice::<Command>(input) else { return };
    let line = serde_json::to_string(&command).expect("a command is text");
    assert_eq!(serde_json::from_str::<Command>(&line).ok(), Some(command));
    assert!(!line.contains('\n'), "it is one line");
}

/// A task for the helper, which keeps the right to change the network: whatever is asked for, its commands name the accelerator's own
/// table, and no routes but its own.
pub fn pep_helper(input: &[u8]) {
    let Some(commands) = longhaul_pep::helper::commands(&String::from_utf8_lossy(input)) else { return };
    assert!(!commands.contains("flush ruleset"));
    for line in commands.lines() {
        let names_a_table = line.contains("table inet") || line.contains("chain inet");
        assert!(!names_a_table || line.contains("inet longhaul_pep"), "{line}");
        let systems = ["table 0", "table 253", "table 254", "table 255", "table main", "table local"];
        assert!(!systems.iter().any(|table| line.trim_end().ends_with(table)), "{line}");
    }
}

/// The file of rates of earlier tunnels: a node begins with whatever it states.
pub fn pep_rates(input: &[u8]) {
    for remembered in longhaul_pep::state::stated(&String::from_utf8_lossy(input)) {
        hop::begins_with(remembered);
    }
}

/// A public key as it is written in a configuration: what is read is written as the same.
pub fn pep_key(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    let Ok(key) = text.parse::<longhaul_pep::config::Key>() else { return };
    assert_eq!(key.to_string().parse(), Ok(key));
    assert!(key.to_string().eq_ignore_ascii_case(text.trim()));
}

/// A script of packetdrill: read, and run in virtual time.
pub fn packetdrill(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    let _ = longhaul_packetdrill::run_text(&text, std::path::Path::new("/nowhere"), None);
}
