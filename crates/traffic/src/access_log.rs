//! Web servers' access logs in the common log format of NCSA's and CERN's servers, or the "combined" one of Apache and nginx, which
//! appends fields to it:
//!
//! ```text
//! 192.0.2.7 - - [10/Oct/2000:13:55:36 -0700] "GET /index.html HTTP/1.0" 200 2326
//! ```
//!
//! A line is a response of so many bytes (its body: the format does not count headers), at the time of its request. Lines without
//! a body (`-` or 0 bytes: a redirection, a page that had not changed) are left out. Servers write a line when its response has
//! ended, so that times may fall from one line to the next: responses are sorted by time. Logs have whole seconds only: the
//! responses of one second are spread over it evenly, in the order of their lines.

use crate::trace::{LARGEST, LONGEST_GAP, Record, Trace, TraceError};
use chrono::DateTime;
use longhaul_units::Duration;

/// The form of a time, as `chrono` writes it.
const TIME: &str = "%d/%b/%Y:%H:%M:%S %z";
/// What a line looks like, for messages.
const EXAMPLE: &str = "host - user [10/Oct/2000:13:55:36 -0700] \"GET / HTTP/1.0\" 200 2326";
const NANOS: u64 = 1_000_000_000;

/// A response: the second of its request since 1970, and the bytes of its body.
type Response = (i64, u64);

pub(crate) fn read(content: &[u8]) -> Result<Trace, TraceError> {
    let mut responses = vec![];
    for (number, line) in (1..).zip(content.split(|byte| *byte == b'\n')) {
        // Requests may hold any bytes; what is read of a line is ASCII.
        let line = line.trim_ascii();
        if !line.is_empty() {
            responses.extend(response(line).map_err(|message| TraceError::at("line", number, message))?);
        }
    }
    if responses.is_empty() {
        return Err(TraceError::whole("there is no response with a body; a trace has at least one"));
    }
    responses.sort_by_key(|(second, _)| *second);
    let mut records = vec![];
    let mut last = None;
    for same in responses.chunk_by(|one, next| one.0 == next.0) {
        let second = same[0].0;
        for (k, (_, bytes)) in same.iter().enumerate() {
            let offset = k as u64 * NANOS / same.len() as u64;
            let (last_second, last_offset) = last.unwrap_or((second, offset));
            let seconds = second.abs_diff(last_second);
            if seconds > LONGEST_GAP.as_secs_f64() as u64 {
                let message = format!("a gap of {seconds} s; the longest is {LONGEST_GAP}");
                return Err(TraceError::whole(message));
            }
            let gap = Duration::from_nanos(seconds * NANOS + offset - last_offset);
            records.push(Record { gap, bytes: *bytes });
            last = Some((second, offset));
        }
    }
    Trace::of_moments(records)
}

/// The response that a line records, if it has a body.
fn response(line: &[u8]) -> Result<Option<Response>, String> {
    let (time, rest) = between_brackets(line)
        .ok_or_else(|| format!("there is no time in brackets; a line looks like {EXAMPLE}"))?;
    let second = DateTime::parse_from_str(&time, TIME)
        .map_err(|_| format!("\"{time}\" is no time like 10/Oct/2000:13:55:36 -0700"))?
        .timestamp();
    let bytes = status_and_bytes(rest).ok_or_else(|| {
        format!("there is no request in quotes with status and bytes behind it; a line looks like {EXAMPLE}")
    })?;
    match bytes {
        "-" => Ok(None),
        _ => match bytes.parse::<u64>() {
            Ok(0) => Ok(None),
            Ok(bytes) if bytes <= LARGEST => Ok(Some((second, bytes))),
            _ => Err(format!("a body of {bytes} bytes; the largest has {LARGEST}")),
        },
    }
}

/// The time, without its brackets, and what comes behind it.
fn between_brackets(line: &[u8]) -> Option<(String, &[u8])> {
    let begin = line.iter().position(|byte| *byte == b'[')? + 1;
    let length = line[begin..].iter().position(|byte| *byte == b']')?;
    let (time, rest) = line[begin..].split_at(length);
    Some((String::from_utf8_lossy(time).into_owned(), &rest[1..]))
}

/// The bytes behind the request: digits or `-`. Old servers wrote quotes within a request as they came, so that its end is the
/// first quote with a status and bytes behind it.
fn status_and_bytes(rest: &[u8]) -> Option<&str> {
    let begin = rest.iter().position(|byte| *byte == b'"')? + 1;
    let quotes = (begin..rest.len()).filter(|&at| rest[at] == b'"');
    quotes.map(|at| &rest[at + 1..]).find_map(|behind| {
        let [b' ', a, b, c, b' ', bytes @ ..] = behind else { return None };
        let end = bytes.iter().position(u8::is_ascii_whitespace).unwrap_or(bytes.len());
        let bytes = std::str::from_utf8(&bytes[..end]).ok()?;
        let number = !bytes.is_empty() && bytes.bytes().all(|byte| byte.is_ascii_digit());
        ([a, b, c].iter().all(|digit| digit.is_ascii_digit()) && (number || bytes == "-")).then_some(bytes)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gaps in milliseconds, and bytes.
    fn trace(text: &[u8]) -> Result<Vec<(u64, u64)>, String> {
        let trace = read(text).map_err(|error| error.to_string())?;
        Ok(trace.records().iter().map(|record| (record.gap.as_nanos() / 1_000_000, record.bytes)).collect())
    }

    #[test]
    fn common_and_combined_lines_are_read() {
        // The first line is the example of Apache's documentation of the format.
        let log = b"127.0.0.1 - frank [10/Oct/2000:13:55:36 -0700] \"GET /apache_pb.gif HTTP/1.0\" 200 2326\n\
            127.0.0.1 - - [10/Oct/2000:13:55:38 -0700] \"GET /a HTTP/1.1\" 200 100 \"http://x/\" \"Mozilla/4.08 [en]\"\r\n\
            \n\
            ::1 - - [10/Oct/2000:22:55:42 +0200] \"POST /b HTTP/2.0\" 201 7\n";
        assert_eq!(trace(log), Ok(vec![(3000, 2326), (2000, 100), (4000, 7)]));
    }

    #[test]
    fn responses_without_a_body_are_left_out() {
        let log = b"a - - [01/Jan/2024:00:00:00 +0000] \"GET / HTTP/1.1\" 304 -\n\
            a - - [01/Jan/2024:00:00:01 +0000] \"GET / HTTP/1.1\" 200 10\n\
            a - - [01/Jan/2024:00:00:02 +0000] \"HEAD / HTTP/1.1\" 200 0\n\
            a - - [01/Jan/2024:00:00:05 +0000] \"GET / HTTP/1.1\" 200 20\n";
        assert_eq!(trace(log), Ok(vec![(4000, 10), (4000, 20)]));
    }

    #[test]
    fn responses_of_one_second_are_spread_over_it() {
        let line =
            |second, bytes| format!("a - - [01/Jan/2024:00:00:0{second} +0000] \"GET /\" 200 {bytes}\n");
        let log: String = [line(1, 1), line(1, 2), line(1, 3), line(1, 4), line(2, 5)].concat();
        assert_eq!(trace(log.as_bytes()), Ok(vec![(250, 1), (250, 2), (250, 3), (250, 4), (250, 5)]));
    }

    #[test]
    fn lines_are_in_the_order_of_their_requests() {
        // A long download, which was requested before and has ended after the other.
        let log = b"a - - [01/Jan/2024:00:00:09 +0000] \"GET /small\" 200 10\n\
            a - - [01/Jan/2024:00:00:01 +0000] \"GET /large\" 200 1000000\n";
        assert_eq!(trace(log), Ok(vec![(8000, 1_000_000), (8000, 10)]));
    }

    #[test]
    fn requests_may_hold_quotes_and_any_bytes() {
        let log = b"a - - [01/Jan/2024:00:00:00 +0000] \"GET /x\"y\" 12 HTTP/1.0\" 200 11\n\
            a - - [01/Jan/2024:00:00:01 +0000] \"\\x16\xff\xfe[\" 400 226\n";
        assert_eq!(trace(log), Ok(vec![(1000, 11), (1000, 226)]));
    }

    #[test]
    fn times_of_any_years_are_a_gap_that_is_too_long() {
        let line = |time: &str| format!("a - - [{time} +0000] \"GET /\" 200 1\n");
        let log =
            [line("01/Jan/2000:00:00:00"), line("01/Jan/+9999:00:00:00"), line("01/Jan/-9999:00:00:00")]
                .concat();
        assert!(
            trace(log.as_bytes()).unwrap_err().starts_with("a gap of 378"),
            "{:?}",
            trace(log.as_bytes())
        );
    }

    #[test]
    fn what_is_wrong_is_named_with_its_line() {
        let good = "a - - [01/Jan/2024:00:00:00 +0000] \"GET /\" 200 1\n";
        for (line, message) in [
            ("gap_s,bytes", "line 2: there is no time in brackets; a line looks like host"),
            ("a - - [1704067200] \"GET /\" 200 1", "line 2: \"1704067200\" is no time like 10/Oct/2000"),
            (
                "a - - [31/Feb/2024:00:00:00 +0000] \"GET /\" 200 1",
                "line 2: \"31/Feb/2024:00:00:00 +0000\" is no time",
            ),
            ("a - - [01/Jan/2024:00:00:00 +0000] GET / 200 1", "line 2: there is no request in quotes"),
            ("a - - [01/Jan/2024:00:00:00 +0000] \"GET /\" 200 x", "line 2: there is no request in quotes"),
            (
                "a - - [01/Jan/2024:00:00:00 +0000] \"GET /\" 200 99999999999999999999",
                "line 2: a body of 9999",
            ),
            ("a - - [01/Jan/2035:00:00:00 +0000] \"GET /\" 200 1", "a gap of "),
        ] {
            let found = trace(format!("{good}{line}\n").as_bytes()).unwrap_err();
            assert!(found.starts_with(message), "{line}: {found}");
        }
        assert_eq!(trace(b"\n").unwrap_err(), "there is no response with a body; a trace has at least one");
        assert!(trace(good.as_bytes()).unwrap_err().starts_with("all times are the same"));
    }
}
