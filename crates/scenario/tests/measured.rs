//! Links that follow measurements: each format is read as its program writes it, and what is wrong is named with its place.

use crate::common::Directory;
use longhaul_path::TracedRate;
use longhaul_scenario::{Network, NumberTable, Scenario, load, load_with, resolved_toml, run_id};
use longhaul_units::{Duration, Instant, LinkId, Rate};

const MBIT: u64 = 1_000_000;

fn text(trace: &str) -> String {
    with("", trace)
}

fn with(link: &str, trace: &str) -> String {
    format!(
        "[run]\nduration = \"9 s\"\n[[link]]\nname = \"l\"\nends = [\"a\", \"b\"]\n{link}\n\
         forward = {{ {trace} }}\nreverse = {{ rate = \"1 Mbit/s\", delay = \"1 ms\" }}\n\
         [[flow]]\nfrom = \"a\"\nto = \"b\"\n"
    )
}

fn read(directory: &Directory, trace: &str) -> Result<Scenario, String> {
    let source = directory.file("scenario.toml", "");
    load(&text(trace), source.to_str().unwrap(), &[]).map_err(|error| error.to_string())
}

fn refused(directory: &Directory, trace: &str) -> String {
    read(directory, trace).unwrap_err()
}

/// The measurement of a link that a scenario follows.
fn trace_of(scenario: &Scenario) -> longhaul_path::LinkTrace {
    let network = Network::new(scenario);
    network.links[LinkId(0)].config.trace.clone()
}

fn at(ms: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(ms)
}

/// The rates of a link in Mbit/s at these times in ms.
fn rates(scenario: &Scenario, times: &[u64]) -> Vec<u64> {
    let rate = trace_of(scenario).rate.expect("a rate");
    times.iter().map(|ms| rate.rate_at(at(*ms)).as_bps() / MBIT).collect()
}

fn delays(scenario: &Scenario, times: &[u64]) -> Vec<u64> {
    let delay = trace_of(scenario).delay.expect("a delay");
    times.iter().map(|ms| delay.at(at(*ms)).as_nanos() / 1_000_000).collect()
}

/// The content counts, not how it is stored: the run is the same.
#[test]
fn a_compressed_file_is_what_is_in_it() {
    let directory = Directory::new("compressed");
    let content = "time_s,rate_mbps\n0,1\n1,3\n2,2\n";
    let mut gzip = flate2::write::GzEncoder::new(vec![], flate2::Compression::default());
    std::io::Write::write_all(&mut gzip, content.as_bytes()).unwrap();
    directory.file("plain.csv", content);
    directory.file("packed.csv.gz", gzip.finish().unwrap());
    directory.file("packed.csv.zst", zstd::encode_all(content.as_bytes(), 3).unwrap());
    let of = |name: &str| {
        read(&directory, &format!("delay = \"5 ms\", trace = {{ rate = \"{name}\" }}"))
            .unwrap_or_else(|error| panic!("{error}"))
    };
    let plain = of("plain.csv");
    assert_eq!(rates(&plain, &[0, 1000, 2000]), [1, 3, 2]);
    for name in ["packed.csv.gz", "packed.csv.zst"] {
        assert_eq!(run_id(&of(name)), run_id(&plain), "{name}");
    }
}

#[test]
fn a_line_of_mahimahi_is_a_packet_of_1500_bytes() {
    let directory = Directory::new("mahimahi");
    directory.file("rate.txt", "0\n1\n1\n100\n200\n");
    let scenario = read(&directory, "delay = \"5 ms\", trace = { rate = \"rate.txt\" }").unwrap();
    let Some(TracedRate::Opportunities(mut list)) = trace_of(&scenario).rate else { panic!("opportunities") };
    let left: Vec<Instant> = (0..6).map(|_| list.transmission_end(at(0), 1500)).collect();
    assert_eq!(left, [0, 1, 1, 100, 200, 200].map(at));
    // Five packets in 200 ms: 300 kbit/s.
    assert_eq!(Network::new(&scenario).links[LinkId(0)].config.rate, Rate::from_bps(300_000));
    // The same as rates of 100 ms: three packets, then two.
    let trace = "delay = \"5 ms\", trace = { rate = \"rate.txt\", opportunities = \"rate\" }";
    let as_rate = trace_of(&read(&directory, trace).unwrap()).rate.unwrap();
    assert_eq!([50, 150, 250].map(|ms| as_rate.rate_at(at(ms)).as_bps()), [360_000, 120_000, 360_000]);
}

#[test]
fn a_list_has_a_value_each_so_often() {
    let directory = Directory::new("list");
    directory.file("delay.txt", "7\n68\n\n11\n");
    let trace =
        "rate = \"1 Mbit/s\", trace = { delay = { file = \"delay.txt\", every = \"10 ms\", unit = \"ms\" } }";
    let scenario = read(&directory, trace).unwrap();
    assert_eq!(delays(&scenario, &[0, 9, 10, 25, 30, 41]), [7, 7, 68, 11, 7, 68]);
    // The delay of the link as it is known without looking at a time is the least.
    assert_eq!(Network::new(&scenario).links[LinkId(0)].config.delay, Duration::from_millis(7));
    let offset = trace.replace("trace = {", "trace = { offset = \"12 ms\",");
    assert_eq!(delays(&read(&directory, &offset).unwrap(), &[0, 8, 18]), [68, 11, 7]);
}

#[test]
fn a_table_has_columns_with_units() {
    let directory = Directory::new("csv");
    directory
        .file("link.csv", "time_s,rate_mbps,owd_ms,loss\n100,50,20,0\n101.5,10,\"40\",0.5\n103,0,20,0\n");
    let trace = "trace = { rate = { file = \"link.csv\", column = \"rate_mbps\" }, \
                 delay = { file = \"link.csv\", column = \"owd_ms\" }, \
                 loss = { file = \"link.csv\", column = \"loss\", unit = \"share\" } }";
    let scenario = read(&directory, trace).unwrap();
    // The last step is as long as the others: the table begins again after 4.5 s.
    assert_eq!(rates(&scenario, &[0, 1499, 1500, 3000, 4499, 4500]), [50, 50, 10, 0, 0, 50]);
    assert_eq!(delays(&scenario, &[0, 1500, 3000]), [20, 40, 20]);
    let loss = trace_of(&scenario).loss.unwrap();
    assert_eq!([0, 1500, 3000].map(|ms| loss.at(at(ms))), [0.0, 0.5, 0.0]);
    let half = trace.replace("column = \"rate_mbps\"", "column = \"rate_mbps\", scale = 0.5");
    assert_eq!(rates(&read(&directory, &half).unwrap(), &[0, 1500]), [25, 5]);
}

#[test]
fn a_table_in_parquet_is_read_by_its_columns() {
    let directory = Directory::new("parquet");
    let file = directory.file("dish.parquet", "PAR1");
    let table = |_: Vec<u8>| -> Result<NumberTable, String> {
        Ok(vec![
            ("time".to_string(), Ok(vec![Some(0.0), Some(1.0), Some(2.0)])),
            ("pop_ping_latency_ms".to_string(), Ok(vec![Some(30.0), Some(60.0), Some(30.0)])),
            ("gap_ms".to_string(), Ok(vec![Some(30.0), None, Some(30.0)])),
            ("state".to_string(), Err("text".to_string())),
        ])
    };
    let read = |column: &str| {
        let trace = format!(
            "rate = \"1 Mbit/s\", trace = {{ delay = {{ file = {file:?}, column = \"{column}\", unit = \"ms\", scale = 0.5 }} }}"
        );
        load_with(&text(&trace), "test", &[], None, &table).map_err(|error| error.to_string())
    };
    assert_eq!(delays(&read("pop_ping_latency_ms").unwrap(), &[0, 1000, 2000, 4000]), [15, 30, 15, 30]);
    // Where nothing was measured the value before holds.
    assert_eq!(delays(&read("gap_ms").unwrap(), &[0, 1000, 1999]), [15, 15, 15]);
    for (column, part) in [
        ("state", "column \"state\": text instead of numbers"),
        ("rtt", "there is no column \"rtt\"; there are: time, pop_ping_latency_ms, gap_ms, state"),
    ] {
        let message = read(column).unwrap_err();
        assert!(message.contains(part), "{message}");
    }
}

#[test]
fn programs_that_measure_are_understood() {
    let directory = Directory::new("programs");
    directory.file(
        "irtt.json",
        r#"{"round_trips": [
            {"seqno": 0, "lost": "false", "timestamps": {"client": {"send": {"monotonic": 5000000000}}}, "delay": {"rtt": 60000000, "send": 20000000}},
            {"seqno": 1, "lost": "true", "timestamps": {"client": {"send": {"monotonic": 5500000000}}}, "delay": {}},
            {"seqno": 2, "lost": "false", "timestamps": {"client": {"send": {"monotonic": 6000000000}}}, "delay": {"rtt": 80000000}}
        ]}"#,
    );
    let both =
        read(&directory, "rate = \"1 Mbit/s\", trace = { delay = \"irtt.json\", loss = \"irtt.json\" }")
            .unwrap();
    // One way as it was measured, else half of the round trip.
    assert_eq!(delays(&both, &[0, 999, 1000]), [20, 20, 40]);
    assert_eq!([0, 1000].map(|ms| trace_of(&both).loss.unwrap().at(at(ms))), [0.5, 0.0]);
    directory.file(
        "iperf3.json",
        r#"{"intervals": [{"sum": {"start": 0, "end": 1, "bits_per_second": 50e6}}, {"sum": {"start": 1, "end": 2, "bits_per_second": 8e6}}]}"#,
    );
    let rate = read(&directory, "delay = \"5 ms\", trace = { rate = \"iperf3.json\" }").unwrap();
    assert_eq!(rates(&rate, &[500, 1500, 2500]), [50, 8, 50]);
    directory.file(
        "ping.txt",
        "PING 192.0.2.1 (192.0.2.1) 56(84) bytes of data.\n\
         [1700000000.5] 64 bytes from 192.0.2.1: icmp_seq=1 ttl=58 time=40.0 ms\n\
         [1700000003.5] 64 bytes from 192.0.2.1: icmp_seq=4 ttl=58 time=60.0 ms\n",
    );
    let trace = "rate = \"1 Mbit/s\", trace = { delay = \"ping.txt\", loss = \"ping.txt\" }";
    let pinged = read(&directory, trace).unwrap();
    assert_eq!(delays(&pinged, &[0, 2999, 3000]), [20, 20, 30]);
    let lost = trace_of(&pinged).loss.unwrap();
    assert_eq!([0, 1000, 2000, 3000].map(|ms| lost.at(at(ms))), [0.0, 1.0, 1.0, 0.0]);
}

#[test]
fn a_table_of_probes_has_their_losses_one_by_one() {
    let directory = Directory::new("probes-csv");
    let outcomes = |table: &str| {
        let file = directory.file("probes.csv", table);
        longhaul_scenario::read_outcomes(&format!("file = {:?}\ncolumn = \"rtt_ms\"", file.to_str().unwrap()))
    };
    let found = outcomes("time_s,rtt_ms,lost\n0,50,0\n0.02,,1\n0.04,,1\n0.06,51,0\n").unwrap().unwrap();
    assert_eq!(found.iter().map(|(_, lost)| *lost).collect::<Vec<_>>(), [false, true, true, false]);
    assert!((found[3].0 - 0.06).abs() < 1e-9);
    assert_eq!(outcomes("time_s,rtt_ms\n0,50\n1,50\n").unwrap(), None, "a table without that column");
    assert!(outcomes("time_s,rtt_ms,lost\n0,50,0\n1,50,2\n").unwrap_err().contains("2 is out of range"));
}

/// Probes are counted by their numbers, as ping does: answers out of order were taken for thousands of lost probes.
#[test]
fn pings_that_come_late_or_twice_are_no_losses() {
    let directory = Directory::new("late-pings");
    let lost = |lines: &str| {
        directory.file("ping.txt", format!("PING 192.0.2.1 (192.0.2.1) 56(84) bytes of data.\n{lines}"));
        let found = longhaul_scenario::read_outcomes(&format!(
            "file = {:?}",
            directory.file("unused", "").with_file_name("ping.txt").to_str().unwrap()
        ));
        let probes = found.unwrap().unwrap();
        (probes.iter().filter(|(_, lost)| *lost).count(), probes.len())
    };
    let answer =
        |number: u32, ms: &str| format!("64 bytes from 192.0.2.1: icmp_seq={number} ttl=58 time={ms} ms\n");
    let order = |numbers: &[u32]| numbers.iter().map(|number| answer(*number, "30.0")).collect::<String>();
    assert_eq!(lost(&order(&[1, 2, 4, 3, 5])), (0, 5));
    assert_eq!(lost(&order(&[1, 2, 9, 3, 4, 5, 6, 8, 10])), (1, 10));
    // Twice, and after the numbers have begun again.
    assert_eq!(lost(&order(&[1, 2, 2, 3])), (0, 3));
    assert_eq!(lost(&order(&[65_534, 0, 65_535, 1])), (0, 4));
    // Another run of ping in the same file, and numbers that no run has.
    assert_eq!(lost(&format!("{}PING again\n{}", order(&[1, 3]), order(&[1, 2]))), (1, 5));
    assert_eq!(lost(&order(&[1, 2, 5_000_000, 5_000_001])), (0, 4));
    // A clock that was set back while a probe was under way.
    assert_eq!(lost(&format!("{}{}{}", answer(1, "30.0"), answer(2, "-3500"), answer(3, "30.0"))), (0, 3));
}

/// Excel in most of Europe writes semicolons and decimal commas; loggers write dates.
#[test]
fn tables_with_semicolons_and_dates_are_read() {
    let directory = Directory::new("other-tables");
    let rate = |file: &str| {
        read(&directory, &format!("delay = \"1 ms\", trace = {{ rate = \"{file}\" }}"))
            .map(|found| rates(&found, &[500, 1500, 2500]))
    };
    directory.file("semicolon.csv", "time_s;rate_mbps\n0;5,0\n1,5;6\n");
    assert_eq!(rate("semicolon.csv").unwrap(), [5, 6, 6]);
    for (name, [first, second]) in [
        ("zulu.csv", ["2026-03-01T00:00:00Z", "2026-03-01T00:00:01.5Z"]),
        ("space.csv", ["2024-02-29 23:59:59", "2024-03-01 00:00:00,5"]),
        ("offset.csv", ["2026-03-29T01:59:59+01:00", "2026-03-29T03:00:00.5+02:00"]),
        ("year.csv", ["2025-12-31T23:59:59-0500", "2026-01-01T00:00:00.5-05"]),
    ] {
        let separator = if second.contains(',') { ';' } else { ',' };
        directory.file(
            name,
            format!("timestamp{separator}rate_mbps\n{first}{separator}5\n{second}{separator}6\n"),
        );
        assert_eq!(rate(name).unwrap(), [5, 6, 6], "{name}");
    }
    for (content, expected) in [
        ("timestamp,rate_mbps\n2026-13-01T00:00:00Z,5\n", "is no number (line 2)"),
        ("timestamp,rate_mbps\n01.03.2026 00:00:00,5\n", "is no number (line 2)"),
        (
            "time_ms,rate_mbps\n2026-03-01T00:00:00Z,5\n",
            "is a date, and the column's name has a unit (line 2)",
        ),
        ("time_s;rate_mbps\n0;1.234,5\n", "\"1.234,5\" is no number (line 2)"),
        ("timestamp,rate_mbps\n2026-03-01T00:00:01Z,5\n2026-03-01T00:00:00Z,5\n", "is before the row above"),
    ] {
        directory.file("wrong.csv", content);
        let message = rate("wrong.csv").unwrap_err();
        assert!(message.contains(expected), "{message}");
    }
}

/// Windows' ping has neither numbers nor times: a probe a second. PowerShell's `>` writes UTF-16.
#[test]
fn windows_pings_are_read_in_english_and_named_in_other_languages() {
    let directory = Directory::new("windows-ping");
    let english = "\nPinging 192.0.2.1 with 32 bytes of data:\r\nReply from 192.0.2.1: bytes=32 time=40ms TTL=117\r\n\
                   Request timed out.\r\nReply from 192.0.2.9: Destination host unreachable.\r\n\
                   Reply from 192.0.2.1: bytes=32 time<1ms TTL=117\r\n\r\nPing statistics for 192.0.2.1:\r\n\
                   Minimum = 0ms, Maximum = 40ms, Average = 20ms\r\n";
    let utf_16: Vec<u8> =
        "\u{feff}".encode_utf16().chain(english.encode_utf16()).flat_map(u16::to_le_bytes).collect();
    let trace = "rate = \"1 Mbit/s\", trace = { delay = \"ping.txt\", loss = \"ping.txt\" }";
    for content in [english.as_bytes().to_vec(), utf_16] {
        directory.file("ping.txt", content);
        let pinged = read(&directory, trace).unwrap();
        assert_eq!(delays(&pinged, &[0, 2999, 3000]), [20, 20, 0]);
        let lost = trace_of(&pinged).loss.unwrap();
        assert_eq!([0, 1000, 2000, 3000].map(|ms| lost.at(at(ms))), [0.0, 1.0, 1.0, 0.0]);
    }
    // Over IPv6 an answer has neither bytes nor TTL.
    directory.file(
        "ping.txt",
        "Pinging ::1 with 32 bytes of data:\nReply from ::1: time=12ms\nReply from ::1: time<1ms\n",
    );
    assert_eq!(delays(&read(&directory, trace).unwrap(), &[0, 1000]), [6, 0]);
    // Of danielzzz/node-ping 65, geerlingguy/Ping 30, Calinou/lagraph 1 and tailscale 19013: words and units are translated.
    for other in [
        "Respuesta desde 192.0.2.1: bytes=32 tiempo<1m TTL=128\n",
        "Ответ от 192.0.2.1: число байт=32 время=215мс TTL=57\n",
        "来自 192.0.2.1 的回复: 字节=32 时间<1ms TTL=128\n",
        "Ping wird ausgeführt für 192.0.2.1 mit 32 Bytes Daten:\nAntwort von 192.0.2.1: Bytes=32 Zeit=14ms TTL=117\n",
        "Réponse de 192.0.2.1 : octets=32 temps=14 ms TTL=117\n",
    ] {
        directory.file("ping.txt", other);
        let message = read(&directory, trace).unwrap_err();
        assert!(message.contains("Windows' ping in another language than English"), "{message}");
    }
}

#[test]
fn a_run_is_identified_by_what_was_measured() {
    let directory = Directory::new("measured-identity");
    directory.file("one.csv", "time_s,rate_mbps\n0,5\n1,6\n");
    directory.file("same.csv", "time_ms,rate_kbps\n0,5000\n1000,6000\n");
    directory.file("other.csv", "time_s,rate_mbps\n0,5\n1,7\n");
    let scenario =
        |file: &str| read(&directory, &format!("delay = \"1 ms\", trace = {{ rate = \"{file}\" }}")).unwrap();
    assert_eq!(run_id(&scenario("one.csv")), run_id(&scenario("same.csv")));
    assert_ne!(run_id(&scenario("one.csv")), run_id(&scenario("other.csv")));
    // The resolved form is read back from anywhere, as long as the file has the same content.
    let resolved = resolved_toml(&scenario("one.csv"));
    assert_eq!(load(&resolved, "elsewhere/scenario.toml", &[]).unwrap(), scenario("one.csv"));
    directory.file("one.csv", "time_s,rate_mbps\n0,5\n1,8\n");
    let message = load(&resolved, "elsewhere/scenario.toml", &[]).unwrap_err().to_string();
    assert!(message.contains("one.csv has another content: its digest is "), "{message}");
}

#[test]
fn what_is_wrong_with_a_measurement_is_named_with_its_place() {
    let directory = Directory::new("measured-wrong");
    directory.file("back.txt", "1\n5\n4\n");
    directory.file("word.txt", "1\n5 ms\n");
    directory.file("none.txt", "0\n0\n");
    directory.file("zeros.csv", "time_s,rate_mbps\n0,0\n1,0\n");
    directory.file("link.csv", "time_s,rate,loss_percent\n0,5,1\n1,6,101\n");
    directory.file("back.csv", "time_s,rate_mbps\n3,5\n2,6\n");
    directory.file("nan.csv", "time_s,rate_mbps\nnan,5\n2,6\n");
    directory.file("short.csv", "time_s,rate_mbps\n3,5\n4\n");
    directory.file("bare.csv", "3,5\n4,6\n");
    directory.file("packed.csv", b"\x1f\x8b\x08\x00");
    directory.file("other.json", "{\"a\": 1}");
    directory.file("empty.txt", "");
    directory.file("cut.json", "{\"intervals\": [");
    directory.file("refused.json", "{\"intervals\": [], \"error\": \"unable to connect to server\"}");
    let interval = |start: u32| format!("{{\"sum\": {{\"start\": {start}, \"bits_per_second\": 5e6}}}}");
    directory.file("back.json", format!("{{\"intervals\": [{}, {}]}}", interval(5), interval(4)));
    let stamped = |second: u32, number: u32| format!("[{second}.5] 64 bytes: icmp_seq={number} time=30 ms\n");
    directory.file("clock.ping", format!("{}{}", stamped(5000, 1), stamped(1400, 2)));
    directory.file("lost.ping", "PING 192.0.2.1\n100 packets transmitted, 0 received\n");
    directory.file("epoch.csv", "timestamp,rate_mbps\n1764400000000,5\n1764400001000,6\n");
    directory.file("good.csv", "time_s,rate_mbps\n0,5\n1,6\n");
    directory.file("beacon.csv", "time_s,es_n0_db\n0,12.5\n1,-2.5\n");
    directory.file("far.csv", "time_s,es_n0_db\n0,12.5\n1,-200\n");
    let signal = |file: &str| {
        format!("delay = \"1 ms\", trace = {{ signal = \"{file}\" }}, acm = {{ symbol_rate = 1e6 }}")
    };
    let rate = |spec: &str| format!("delay = \"1 ms\", trace = {{ rate = {spec} }}");
    let file = |name: &str| rate(&format!("\"{name}\""));
    let cases = [
        (file("absent.txt"), "absent.txt cannot be read: No such file or directory"),
        (file("/dev/null"), "/dev/null cannot be read: it is a pipe or a device, which gives its content only once"),
        (file("back.txt"), "back.txt: line 3: 4 ms is before the line above, 5 ms"),
        (file("empty.txt"), "empty.txt is empty"),
        (file("cut.json"), "cut.json: it cannot be read as JSON"),
        (file("refused.json"), "iperf3 reports an error in it: unable to connect to server"),
        (file("back.json"), "interval 1 begins at 4 s, before the one above, 5 s"),
        (file("epoch.csv"), "row 1, column \"timestamp\": 1764400000000 s is after the year 5000: name the unit behind it, as in \"timestamp_ms\""),
        ("rate = \"1 Mbit/s\", trace = { delay = \"clock.ping\" }".to_string(), "line 2: 1400.5 s is before the line above, 5000.5 s"),
        ("rate = \"1 Mbit/s\", trace = { delay = \"lost.ping\" }".to_string(), "no line has an answer, with icmp_seq= and time="),
        (file("word.txt"), "word.txt: line 2: \"5 ms\" is no whole number of ms"),
        (file("none.txt"), "it needs a time above 0 ms"),
        (file("zeros.csv"), "all its rates are 0"),
        (file("link.csv"), "name the column of the rate; there are: time_s, rate, loss_percent"),
        (rate("{ file = \"link.csv\", column = \"rate\" }"), "the column \"rate\" has no unit; write for instance unit = \"Mbit/s\""),
        (rate("{ file = \"link.csv\", column = \"rate\", unit = \"ms\" }"), "\"ms\" is no unit of a rate"),
        (file("back.csv"), "row 2, column \"time_s\": 2 s is before the row above, 3 s"),
        (file("nan.csv"), "row 1, column \"time_s\": NaN is no time"),
        (file("short.csv"), "line 3: 1 cells, and 2 headings"),
        (file("bare.csv"), "\"3,5\" is no line of headings"),
        (file("packed.csv"), "packed.csv: it is compressed by gzip and cannot be unpacked"),
        (file("other.json"), "is JSON of neither irtt"),
        (
            "rate = \"1 Mbit/s\", delay = \"1 ms\", trace = { loss = { file = \"link.csv\", column = \"loss_percent\" } }".to_string(),
            "row 2, column \"loss_percent\": 1.01 is out of range: a share is from 0 to 1",
        ),
        ("rate = \"1 Mbit/s\", trace = { delay = \"back.txt\" }".to_string(), "it has no times; write for instance every = \"10 ms\""),
        ("rate = \"1 Mbit/s\", delay = \"1 ms\", trace = {}".to_string(), "it follows nothing: give rate, delay, loss or signal"),
        ("rate = \"1 Mbit/s\", delay = \"1 ms\", trace = { rate = \"good.csv\" }".to_string(), "`trace.rate` has the link's rate: leave out one of both"),
        (
            "delay = \"1 ms\", trace = { rate = \"good.csv\" }, changes = [{ at = \"1 s\", rate = \"2 Mbit/s\" }]".to_string(),
            "no script can change it",
        ),
        ("trace = { rate = \"good.csv\" }".to_string(), "there is no delay"),
        (signal("far.csv"), "-200 is out of range: a signal is from -50 to 100 dB"),
        (signal("good.csv"), "\"Mbit/s\" is no unit of a signal; write for instance unit = \"dB\""),
        ("rate = \"1 Mbit/s\", delay = \"1 ms\", trace = { signal = \"beacon.csv\" }".to_string(), "no effect without `acm`"),
        (signal("beacon.csv").replace("1e6", "1e6, es_n0 = 3"), "follows `trace.signal`: leave out one of both"),
    ];
    for (trace, part) in cases {
        let message = refused(&directory, &trace);
        assert!(message.contains(part), "{trace}: {message}");
        assert!(message.contains("scenario.toml:"), "{message}");
    }
    directory.file("brief.csv", "time_s,rate_mbps\n0,5\n1,6\n");
    let once = file("brief.csv").replace("trace = {", "trace = { repeat = false,");
    let message = refused(&directory, &once);
    assert!(message.contains("brief.csv ends after 2 s, and the run with its offset after 9 s"), "{message}");
}

/// Two-line elements with their checksums: one satellite above the equator that turns with the Earth.
fn elements(anomaly: f64) -> String {
    let sum = |line: &str| {
        let digits = line.chars().map(|c| c.to_digit(10).unwrap_or(u32::from(c == '-')));
        format!("{line}{}", digits.sum::<u32>() % 10)
    };
    let first = sum("1 99999U 26001A   26333.50000000  .00000000  00000-0  00000-0 0  999");
    let second = sum(&format!("2 99999   0.0000   0.0000 0001000   0.0000 {anomaly:8.4}  1.00273791    1"));
    format!("A SATELLITE\n{first}\n{second}\n")
}

fn over_elements(time: &str, more: &str) -> String {
    format!(
        "[run]\nduration = \"9 s\"\n[[link]]\nname = \"l\"\nends = [\"a\", \"b\"]\nrate = \"1 Mbit/s\"\n[link.leo]\n\
         terminal = {{ latitude = 10, longitude = 15 }}\ngateway = {{ latitude = 10, longitude = 15 }}\n\
         elements = {{ file = \"geo.tle\", time = \"{time}\"{more} }}\n[[flow]]\nfrom = \"a\"\nto = \"b\"\n"
    )
}

/// The delay follows from the elements; the run's identity from what is in the file and not from its place.
#[test]
fn satellites_come_from_their_elements() {
    let (directory, other) = (Directory::new("elements"), Directory::new("elsewhere"));
    // Greenwich is at 248.4 degrees then, so that this one is above 16.6 degrees east.
    let read = |directory: &Directory, more: &str| {
        let source = directory.file("scenario.toml", "");
        load(&over_elements("2026-11-29T12:00:00Z", more), source.to_str().unwrap(), &[])
            .map_err(|error| error.to_string())
    };
    assert!(read(&directory, "").unwrap_err().contains("geo.tle cannot be read: No such file"));
    directory.file("geo.tle", elements(265.0));
    other.file("geo.tle", elements(265.0));
    let first = read(&directory, "").unwrap();
    let delay = Network::new(&first).links[LinkId(0)].config.delay;
    assert!((0.238..0.28).contains(&delay.as_secs_f64()), "{delay}");
    assert_eq!(run_id(&first), run_id(&read(&other, "").unwrap()));
    assert_eq!(load(&resolved_toml(&first), "resolved.toml", &[]).unwrap(), first);
    directory.file("geo.tle", elements(266.0));
    assert_ne!(run_id(&first), run_id(&read(&directory, "").unwrap()));
    assert!(
        load(&resolved_toml(&first), "resolved.toml", &[])
            .unwrap_err()
            .to_string()
            .contains("another content")
    );
    assert!(read(&directory, "").is_ok());
    let at = |time: &str| load(&over_elements(time, ""), other.file("s.toml", "").to_str().unwrap(), &[]);
    assert!(at("noon").unwrap_err().to_string().contains("is no universal time"));
    let late = at("2027-06-01T12:00:00Z").unwrap_err().to_string();
    assert!(
        late.contains("link.l.leo.elements.file")
            && late.contains("geo.tle, line 2: these elements are of 2026-11-29"),
        "{late}"
    );
}
