//! ns-2's binary trace format (ns-2 manual, "Traffic trace"; `trace/traffictrace.cc` reads it): records of two 32-bit numbers
//! in network byte order, the time since the record before in microseconds and the size in bytes.

use crate::{Record, Trace, TraceError};
use longhaul_units::Duration;

const RECORD: usize = 8;

pub(crate) fn read(content: &[u8]) -> Result<Trace, TraceError> {
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
    fn a_file_that_ends_within_a_record_is_refused() {
        let message = read(&[0; 21]).unwrap_err().to_string();
        assert!(message.starts_with("record 3: the file ends after 5 of its 8 bytes"), "{message}");
    }
}
