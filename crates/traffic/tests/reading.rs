//! Whatever is in a file, reading it ends in a trace or in one message; what was written in any format is read back.

use longhaul_traffic::{Format, NumberTable, Record, Trace};
use longhaul_units::Duration;
use proptest::prelude::*;

fn in_ns_format(records: &[(u32, u32)]) -> Vec<u8> {
    records.iter().flat_map(|(gap, bytes)| [gap.to_be_bytes(), bytes.to_be_bytes()].concat()).collect()
}

fn in_csv(records: &[(u32, u32)]) -> Vec<u8> {
    let rows = records.iter().map(|(gap, bytes)| format!("{:.6},{bytes}\n", f64::from(*gap) / 1e6));
    ("gap_s,bytes\n".to_string() + &rows.collect::<String>()).into_bytes()
}

/// As a web server writes it down, with its second as the shortest time.
fn in_access_log(records: &[(u32, u32)]) -> Vec<u8> {
    let line = |(gap, bytes): &(u32, u32)| {
        format!(
            "h - - [01/Jan/2024:00:{:02}:{:02} +0100] \"GET /{gap} HTTP/1.1\" 200 {bytes}\n",
            gap / 60 % 60,
            gap % 60
        )
    };
    records.iter().map(line).collect::<String>().into_bytes()
}

/// A trace in each format, damaged at one place or cut off.
fn damaged() -> impl Strategy<Value = (Format, Vec<u8>)> {
    let formats = prop_oneof![Just(Format::Ns), Just(Format::Csv), Just(Format::AccessLog)];
    let records = proptest::collection::vec((0u32..5_000_000, 1u32..100_000), 1..20);
    (formats, records, any::<prop::sample::Index>(), any::<u8>(), any::<bool>()).prop_map(
        |(format, records, place, value, cut)| {
            let mut content = match format {
                Format::Ns => in_ns_format(&records),
                Format::Csv => in_csv(&records),
                Format::AccessLog => in_access_log(&records),
                Format::Parquet => unreachable!("its reader is not in this crate"),
            };
            let place = place.index(content.len());
            if cut {
                content.truncate(place);
            } else {
                content[place] = value;
            }
            (format, content)
        },
    )
}

proptest! {
    #[test]
    fn any_bytes_end_in_a_trace_or_a_message(content in proptest::collection::vec(any::<u8>(), 0..300)) {
        for format in [Format::Ns, Format::Csv, Format::Parquet, Format::AccessLog] {
            match Trace::read(&content, format) {
                Ok(trace) => prop_assert!(!trace.records().is_empty()),
                Err(error) => prop_assert!(!error.to_string().is_empty()),
            }
        }
    }

    #[test]
    fn any_text_ends_in_a_trace_or_a_message(text in "(gap_s|time_s|bytes|[a-z]{0,3})(,(gap_s|bytes|x)){0,2}\n([0-9eE.,\"#\n -]{0,60})") {
        match Trace::read(text.as_bytes(), Format::Csv) {
            Ok(trace) => prop_assert!(trace.records().iter().all(|record| record.bytes > 0)),
            Err(error) => prop_assert!(!error.to_string().is_empty()),
        }
    }

    #[test]
    fn a_damaged_file_is_read_or_refused((format, content) in damaged()) {
        if let Err(error) = Trace::read(&content, format) {
            prop_assert!(!error.to_string().is_empty());
        }
    }

    #[test]
    fn all_formats_say_the_same(records in proptest::collection::vec((0u32..u32::MAX, 1u32..u32::MAX), 1..50)) {
        prop_assume!(records.iter().any(|(gap, _)| *gap > 0));
        let expected: Vec<Record> = records
            .iter()
            .map(|(gap, bytes)| Record { gap: Duration::from_micros((*gap).into()), bytes: (*bytes).into() })
            .collect();
        let ns = Trace::read(&in_ns_format(&records), Format::Ns).unwrap();
        prop_assert_eq!(ns.records(), &expected[..]);
        let table = vec![
            ("gap_s".to_string(), Ok(records.iter().map(|(gap, _)| Some(f64::from(*gap) / 1e6)).collect())),
            ("bytes".to_string(), Ok(records.iter().map(|(_, bytes)| Some(f64::from(*bytes))).collect())),
        ];
        for trace in [Trace::read(&in_csv(&records), Format::Csv), Trace::of_columns(&table)] {
            for (found, expected) in trace.unwrap().records().iter().zip(&expected) {
                prop_assert_eq!(found.bytes, expected.bytes);
                // A time in seconds as a 64-bit float is exact to far less than a microsecond here.
                let (found, expected) = (found.gap.as_nanos(), expected.gap.as_nanos());
                prop_assert!(found.abs_diff(expected) <= 1, "{} and {} ns", found, expected);
            }
        }
    }
}

#[test]
fn columns_without_numbers_and_missing_values_are_refused() {
    let numbers = |name: &str, values: &[f64]| {
        (name.to_string(), Ok(values.iter().map(|value| Some(*value)).collect::<Vec<_>>()))
    };
    let words = |name: &str| (name.to_string(), Err("Utf8".to_string()));
    let sizes = || numbers("bytes", &[100.0, 200.0, 300.0]);
    let times = || numbers("time_s", &[4.0, 5.0, 7.0]);
    let trace = Trace::of_columns(&vec![sizes(), times()]).unwrap();
    let gaps: Vec<f64> = trace.records().iter().map(|record| record.gap.as_secs_f64()).collect();
    assert_eq!(gaps, [1.5, 1.0, 2.0]);
    let message = |columns: NumberTable| Trace::of_columns(&columns).unwrap_err().to_string();
    let found = message(vec![numbers("gap_s", &[1.0]), words("bytes")]);
    assert_eq!(found, "column `bytes` is of type Utf8; it has numbers");
    let missing = ("gap_s".to_string(), Ok(vec![Some(1.0), None, Some(1.0)]));
    assert_eq!(message(vec![missing, sizes()]), "record 2: a value is missing");
    assert!(Trace::of_columns(&vec![sizes(), times(), words("host")]).is_ok(), "other columns are ignored");
}
