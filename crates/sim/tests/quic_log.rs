//! Logs of QUIC connections: each record against the schema that its header names, and the numbers against those of the run.

use longhaul_results::{FlowSummary, Summary};
use longhaul_sim::{Outcome, RunOptions, load, simulate};
use serde_json::Value;

/// A field of a record: name, whether it is required, and its type.
type Field = (&'static str, bool, Type);

#[derive(Clone, Copy, Debug)]
enum Type {
    Unsigned,
    Number,
    Text,
    Hex,
    Address,
    True,
    /// One of these words.
    Word(&'static [&'static str]),
    Ranges,
    Frames,
    Object(&'static [Field]),
}
use Type::{Address, Frames, Hex, Number, Object, Ranges, Text, True, Unsigned, Word};

const fn must(name: &'static str, kind: Type) -> Field {
    (name, true, kind)
}
const fn may(name: &'static str, kind: Type) -> Field {
    (name, false, kind)
}

const PACKET_TYPES: Type = Word(&["initial", "handshake", "0RTT", "1RTT"]);
const HEADER: Type = Object(&[must("packet_type", PACKET_TYPES), must("packet_number", Unsigned)]);
const RAW: Type = Object(&[must("length", Unsigned), may("payload_length", Unsigned)]);
const PACKET: &[Field] = &[must("header", HEADER), must("frames", Frames), must("raw", RAW)];
const STREAM_TYPE: Type = Word(&["unidirectional", "bidirectional"]);

/// The events of draft-ietf-quic-qlog-quic-events-02, sections 3 to 6, as far as they are written: what else is in a record is wrong.
const EVENTS: &[(&str, &[Field])] = &[
    (
        "connectivity:connection_started",
        &[may("ip_version", Word(&["v4", "v6"])), must("src_ip", Address), must("dst_ip", Address)],
    ),
    ("connectivity:connection_closed", &[may("reason", Text)]),
    ("transport:packet_sent", PACKET),
    ("transport:packet_received", PACKET),
    (
        "recovery:metrics_updated",
        &[
            may("min_rtt", Number),
            may("smoothed_rtt", Number),
            may("congestion_window", Unsigned),
            may("bytes_in_flight", Unsigned),
            may("ssthresh", Unsigned),
        ],
    ),
    ("recovery:packet_lost", &[must("header", HEADER)]),
    // draft-ietf-tsvwg-careful-resume-qlog
    (
        "recovery:careful_resume_phase_updated",
        &[must("new", Word(&["reconnaissance", "unvalidated", "validating", "safe_retreat", "normal"]))],
    ),
];

/// Its frames, appendix A.13.
const FRAMES: &[(&str, &[Field])] = &[
    ("padding", &[may("length", Unsigned), must("payload_length", Unsigned)]),
    ("ping", &[]),
    ("ack", &[may("ack_delay", Number), must("acked_ranges", Ranges)]),
    (
        "reset_stream",
        &[must("stream_id", Unsigned), must("error_code", Unsigned), must("final_size", Unsigned)],
    ),
    ("stop_sending", &[must("stream_id", Unsigned), must("error_code", Unsigned)]),
    ("crypto", &[must("offset", Unsigned), must("length", Unsigned)]),
    ("new_token", &[must("token", Object(&[may("length", Unsigned)]))]),
    (
        "stream",
        &[must("stream_id", Unsigned), must("offset", Unsigned), must("length", Unsigned), may("fin", True)],
    ),
    ("max_data", &[must("maximum", Unsigned)]),
    ("max_stream_data", &[must("stream_id", Unsigned), must("maximum", Unsigned)]),
    ("max_streams", &[must("stream_type", STREAM_TYPE), must("maximum", Unsigned)]),
    ("data_blocked", &[must("limit", Unsigned)]),
    ("stream_data_blocked", &[must("stream_id", Unsigned), must("limit", Unsigned)]),
    ("streams_blocked", &[must("stream_type", STREAM_TYPE), must("limit", Unsigned)]),
    (
        "new_connection_id",
        &[must("sequence_number", Unsigned), must("retire_prior_to", Unsigned), must("connection_id", Hex)],
    ),
    ("retire_connection_id", &[must("sequence_number", Unsigned)]),
    ("path_challenge", &[]),
    ("path_response", &[]),
    (
        "connection_close",
        &[may("error_space", Word(&["transport", "application"])), may("error_code", Unsigned)],
    ),
    ("handshake_done", &[]),
    ("unknown", &[must("raw_frame_type", Unsigned)]),
];

fn is_a(value: &Value, kind: Type) -> Result<(), String> {
    let ok = match kind {
        Unsigned => value.is_u64(),
        Number => value.as_f64().is_some_and(|number| number >= 0.0),
        Text => value.is_string(),
        Hex => value.as_str().is_some_and(|text| {
            text.len() % 2 == 0 && text.chars().all(|c| c.is_ascii_digit() || ('a'..='f').contains(&c))
        }),
        Address => value.as_str().is_some_and(|text| text.parse::<std::net::IpAddr>().is_ok()),
        True => *value == Value::Bool(true),
        Word(words) => value.as_str().is_some_and(|word| words.contains(&word)),
        Ranges => value.as_array().is_some_and(|ranges| {
            let is_range = |range: &Value| {
                let ends: Vec<u64> =
                    range.as_array().into_iter().flatten().filter_map(Value::as_u64).collect();
                ends.len() == 2 && ends[0] <= ends[1]
            };
            !ranges.is_empty() && ranges.iter().all(is_range)
        }),
        Frames => {
            let frames = value.as_array().filter(|frames| !frames.is_empty()).ok_or("no frames")?;
            frames.iter().try_for_each(is_a_frame)?;
            true
        }
        Object(fields) => return has(value, fields, ""),
    };
    ok.then_some(()).ok_or_else(|| format!("{value} is no {kind:?}"))
}

fn is_a_frame(frame: &Value) -> Result<(), String> {
    let name = frame["frame_type"].as_str().ok_or("a frame without a type")?;
    let (_, fields) = FRAMES.iter().find(|(known, _)| *known == name).ok_or(format!("frame {name}"))?;
    has(frame, fields, "frame_type")
}

/// It has all required fields, and none besides these and `own`.
fn has(value: &Value, fields: &[Field], own: &str) -> Result<(), String> {
    let object = value.as_object().ok_or_else(|| format!("{value} is no object"))?;
    for (name, required, kind) in fields {
        match object.get(*name) {
            Some(value) => is_a(value, *kind).map_err(|why| format!("{name}: {why}"))?,
            None if *required => return Err(format!("{value} has no {name}")),
            None => {}
        }
    }
    let known = |name: &str| name == own || fields.iter().any(|(field, ..)| *field == name);
    match object.keys().find(|name| !known(name)) {
        Some(name) => Err(format!("{value} has {name}, which the schema does not know")),
        None => Ok(()),
    }
}

/// A log's header and events, each against its schema: JSON text sequences (RFC 7464) of qlog 0.3
/// (draft-ietf-quic-qlog-main-schema-02).
fn read(log: &[u8], vantage: &str) -> Vec<Value> {
    let log = std::str::from_utf8(log).expect("UTF-8");
    assert!(log.starts_with('\u{1e}') && log.ends_with('\n'));
    let mut records = log.split('\u{1e}').skip(1).map(|record| {
        assert!(record.ends_with('\n') && record.matches('\n').count() == 1);
        serde_json::from_str::<Value>(record).expect("JSON")
    });
    let header = records.next().expect("a header");
    assert_eq!((&header["qlog_version"], &header["qlog_format"]), (&"0.3".into(), &"JSON-SEQ".into()));
    let trace = &header["trace"];
    assert_eq!(trace["vantage_point"]["type"], vantage);
    let common = &trace["common_fields"];
    assert_eq!((&common["time_format"], &common["reference_time"]), (&"relative".into(), &0.into()));
    assert_eq!(common["protocol_type"][0], "QUIC");
    let mut last = 0.0;
    let event = |event: Value| {
        let time = event["time"].as_f64().expect("a time");
        assert!(time >= last, "{event} after {last} ms");
        last = time;
        let name = event["name"].as_str().expect("a name");
        let (_, fields) = EVENTS.iter().find(|(known, _)| *known == name).expect(name);
        if let Err(why) = has(&event["data"], fields, "") {
            panic!("{name}: {why}");
        }
        assert_eq!(event.as_object().map(serde_json::Map::len), Some(3), "{event}");
        event
    };
    records.map(event).collect()
}

fn run(link: &str, flows: &str) -> Outcome {
    let text = format!(
        "[run]\nduration = \"60 s\"\nqlog = true\n[[link]]\nname = \"link\"\nends = [\"a\", \"b\"]\nrate = \"10 Mbit/s\"\ndelay = \"50 ms\"\n{link}\n{}",
        flows.replace("[[flow]]", "[[flow]]\nfrom = \"a\"\nto = \"b\"\ntransport = \"quic\"")
    );
    let scenario = load(&text, "test", &[]).unwrap_or_else(|error| panic!("{error}"));
    simulate(&scenario, RunOptions::default()).unwrap()
}

fn metric(flow: &FlowSummary, name: &str) -> f64 {
    flow.metrics.get(name).unwrap_or_else(|| panic!("no {name}"))
}

fn flow(summary: &Summary) -> &FlowSummary {
    &summary.flows[0]
}

/// Of a packet that was sent or received: its type, its number and its frames of a type.
fn packets<'a>(log: &'a [Value], name: &str) -> Vec<(&'a str, u64, &'a Vec<Value>)> {
    let of = log.iter().filter(|event| event["name"] == name).map(|event| &event["data"]);
    of.map(|data| {
        let header = &data["header"];
        (
            header["packet_type"].as_str().unwrap(),
            header["packet_number"].as_u64().unwrap(),
            data["frames"].as_array().unwrap(),
        )
    })
    .collect()
}

/// A transfer with losses: both logs follow the schema, and what they list is what the run counted.
#[test]
fn logs_follow_their_schema_and_agree_with_the_run() {
    let flows =
        "[[flow]]\nname = \"get\"\napp = { kind = \"bulk\", size = \"2 MB\" }\nquic = { unordered = true }\n";
    let outcome = run("queue = \"40 packets\"", flows);
    let names: Vec<&str> = outcome.logs.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["get-client.sqlog", "get-server.sqlog"]);
    let [client, server] = [0, 1].map(|end| read(&outcome.logs[end].1, ["client", "server"][end]));
    let summary = flow(&outcome.summary);
    let sent = packets(&client, "transport:packet_sent");
    let data: u64 = sent
        .iter()
        .flat_map(|(.., frames)| *frames)
        .filter(|frame| frame["frame_type"] == "stream")
        .filter_map(|frame| frame["length"].as_u64())
        .sum();
    let again = metric(summary, "retransmitted_packets") * 1452.0;
    assert!((2e6..=2e6 + again).contains(&(data as f64)), "{data} B of the stream, {again} B again");
    let numbers: Vec<u64> =
        sent.iter().filter(|(kind, ..)| *kind == "1RTT").map(|(_, number, _)| *number).collect();
    assert!(numbers.windows(2).all(|pair| pair[0] < pair[1]), "packet numbers grow");
    // All that the server has received was sent, and the first packet is among it.
    let received = packets(&server, "transport:packet_received");
    assert_eq!((received[0].0, received[0].1), ("initial", 0));
    let known = |(kind, number, _): &(&str, u64, &Vec<Value>)| {
        sent.iter().any(|(own, other, _)| (own, other) == (kind, number))
    };
    assert!(received.iter().all(known));
    let lost = client.iter().filter(|event| event["name"] == "recovery:packet_lost").count();
    // Drops on the link, but for probes of MTU discovery; and the loss of the last ones may not have been noticed.
    let dropped = metric(summary, "lost_packets");
    assert!(lost > 20 && (lost as f64 - dropped).abs() <= 2.0, "{lost} in the log, {dropped} dropped");
    let windows = client.iter().filter(|event| event["data"]["congestion_window"].is_u64()).count();
    assert!(windows > 100);
}

/// Frames that a bulk transfer has none of: windows that close, ACK frequency, streams that come and go, early data, resumption.
#[test]
fn rare_frames_follow_the_schema_too() {
    let quic = "stream_window = \"20 kB\", connection_window = \"60 kB\", ack_every = 10, handshake = \"early_data\", \
                keep_alive = \"2 s\", careful_resume = { window = \"100 kB\", rtt = \"100 ms\" }";
    let flows = format!(
        "[[flow]]\napp = {{ kind = \"web\", pages = 3, think = \"5 s\", document = \"50 kB\", objects = 8, object = \"60 kB\" }}\n\
         quic = {{ {quic} }}\n"
    );
    let outcome = run("loss = \"1 %\"", &flows);
    let logs: Vec<Vec<Value>> = outcome
        .logs
        .iter()
        .map(|(name, log)| read(log, if name.contains("client") { "client" } else { "server" }))
        .collect();
    let has_frame = |name: &str, test: &dyn Fn(&Value) -> bool| {
        logs.iter().flatten().any(|event| {
            let frames = event["data"]["frames"].as_array();
            frames.into_iter().flatten().any(|frame| frame["frame_type"] == name && test(frame))
        })
    };
    for name in
        ["max_data", "max_stream_data", "stream_data_blocked", "max_streams", "new_connection_id", "ping"]
    {
        assert!(has_frame(name, &|_| true), "no {name}");
    }
    // ACK_FREQUENCY (draft-ietf-quic-ack-frequency-04) has no name in this schema.
    assert!(has_frame("unknown", &|frame| frame["raw_frame_type"] == 0xaf));
    assert!(has_frame("stream", &|frame| frame["fin"] == true));
    let early = |event: &Value| event["data"]["header"]["packet_type"] == "0RTT";
    assert!(logs.iter().flatten().any(early));
    assert!(logs.iter().flatten().any(|event| event["name"] == "recovery:careful_resume_phase_updated"));
}

#[test]
fn without_a_wish_there_is_no_log_and_with_it_nothing_else_changes() {
    let text = "[run]\nduration = \"60 s\"\n[[link]]\nname = \"link\"\nends = [\"a\", \"b\"]\nrate = \"10 Mbit/s\"\ndelay = \"50 ms\"\n\
                queue = \"40 packets\"\n[[flow]]\nfrom = \"a\"\nto = \"b\"\ntransport = \"quic\"\napp = { kind = \"bulk\", size = \"1 MB\" }\n";
    let outcome = |text: &str| simulate(&load(text, "test", &[]).unwrap(), RunOptions::default()).unwrap();
    let plain = outcome(text);
    let metrics = |summary: &Summary| serde_json::to_string(&flow(summary).metrics).unwrap();
    for (wish, told) in [("[run]\nqlog = true", true), ("[run]", false)] {
        let watched = outcome(&text.replace("[run]", wish).replace("[[flow]]", "[[flow]]\ntrace = true"));
        assert_eq!(metrics(&plain.summary), metrics(&watched.summary));
        assert_eq!(!watched.logs.is_empty(), told);
        assert!(!watched.tables.segments.is_empty());
    }
    assert!(plain.logs.is_empty() && plain.tables.segments.is_empty());
    let tcp = text.replace("[run]", "[run]\nqlog = true").replace("transport = \"quic\"", "");
    let refused = load(&tcp, "test", &[]).unwrap_err().to_string();
    assert!(refused.contains("no flow uses QUIC"), "{refused}");
}
