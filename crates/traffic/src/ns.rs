//! ns-2's binary trace format (ns-2 manual, "Traffic trace"; `trace/traffictrace.cc` reads it): records of two 32-bit numbers
//! in network byte order, the time since the record before in microseconds and the size in bytes.

use crate::{Record, Trace, TraceError};
use longhaul_units::Duration;

const RECORD: usize = 8;

pub(crate) fn read(content: &[u8]) -> Result<Trace, TraceError> {
    if let Some(what) = what_else(content) {
        return Err(TraceError::whole(format!(
            "it is {what}, not a binary trace of ns-2; name its format: format = \"csv\", \"parquet\" or \"access_log\""
        )));
    }
    let over = content.len() % RECORD;
    if over != 0 {
        let number = content.len() / RECORD + 1;
        let message = format!(
            "the file ends after {over} of its {RECORD} bytes; a file in ns-2's format has {RECORD} for each record"
        );
        return Err(TraceError::at("record", number as u64, message));
    }
    let number = |bytes: &[u8]| bytes.iter().fold(0u64, |number, byte| number << 8 | u64::from(*byte));
    let record =
        |bytes: &[u8]| Record { gap: Duration::from_micros(number(&bytes[..4])), bytes: number(&bytes[4..]) };
    Trace::new(content.chunks_exact(RECORD).map(record).collect())
}

/// What a file seems to be that begins as no trace does: as gaps in microseconds, four letters are minutes.
fn what_else(content: &[u8]) -> Option<&'static str> {
    let beginning = &content[..content.len().min(64)];
    let text = |byte: &u8| byte.is_ascii_graphic() || byte.is_ascii_whitespace();
    if beginning.starts_with(&[0x1f, 0x8b]) {
        Some("a file compressed by gzip (unpack it first)")
    } else if beginning.starts_with(b"PAR1") {
        Some("a Parquet file")
    } else if beginning.len() >= 2 * RECORD && beginning.iter().all(text) {
        Some("text")
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_the_most_significant_byte_first() {
        // 41,666 us (one frame of 24 in a second) and 1000 B; the largest of both.
        let content = [0, 0, 0xa2, 0xc2, 0, 0, 0x03, 0xe8, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff];
        let trace = read(&content).unwrap();
        let [first, second] = trace.records() else { panic!("two records") };
        assert_eq!(*first, Record { gap: Duration::from_micros(41_666), bytes: 1000 });
        assert_eq!(*second, Record { gap: Duration::from_micros(4_294_967_295), bytes: 4_294_967_295 });
    }

    #[test]
    fn other_files_are_told_from_traces() {
        for (content, what) in [
            (&b"10.0.0.1 - - [10/Oct/2000:13:55:36 -0700]"[..], "it is text, not a binary trace"),
            (&b"gap_s,bytes\n1,2\n3,4\n"[..], "it is text, not a binary trace"),
            (&[0x1f, 0x8b, 8, 0, 0, 0, 0, 0][..], "it is a file compressed by gzip (unpack it first)"),
            (&b"PAR1\x15\x04\x15\x10"[..], "it is a Parquet file"),
        ] {
            let message = read(content).unwrap_err().to_string();
            assert!(message.starts_with(what), "{message}");
        }
    }

    #[test]
    fn a_file_that_ends_within_a_record_is_refused() {
        let message = read(&[0; 21]).unwrap_err().to_string();
        assert!(message.starts_with("record 3: the file ends after 5 of its 8 bytes"), "{message}");
    }
}
