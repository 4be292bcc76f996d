//! Reads measurements in the formats of the programs that wrote them. Every error names the line, the column or the row.

use super::packed::unpacked;
use super::{Measured, MeasuredFormat, MeasuredSpec, Quantity};
use crate::ReadTable;
use longhaul_units::{Duration, Rate};
use serde_json::Value;
use std::path::Path;
use std::sync::Arc;

/// Larger files are refused: a measurement of a day has some 100 MB.
const LARGEST: u64 = 1_000_000_000;
/// Times and values beyond these are no measurements.
const LONGEST_S: f64 = 3.2e7;
/// Names of columns of times, in the order in which they are looked for.
const TIMES: [&str; 8] = ["time", "timestamp", "time_s", "time_ms", "t", "seconds", "elapsed", "timestamp_s"];
/// Probes are counted as lost in each of these.
const WINDOW: Duration = Duration::from_secs(1);

/// What is wrong with a file, and the setting that it is about.
pub(super) struct Wrong {
    pub field: Option<&'static str>,
    pub message: String,
}

type Read<T> = Result<T, Wrong>;

fn wrong<T>(field: &'static str, message: impl Into<String>) -> Read<T> {
    Err(Wrong { field: Some(field), message: message.into() })
}

/// What is in a file, unpacked, and its format.
fn content(path: &Path, spec: &MeasuredSpec, quantity: Quantity) -> Read<(Vec<u8>, MeasuredFormat)> {
    let shown = path.display();
    let cannot = |why: &std::io::Error| Wrong {
        field: Some("file"),
        message: format!("the measurement {shown} cannot be read: {}", crate::traces::reason(why)),
    };
    let size = std::fs::metadata(path).map_err(|why| cannot(&why))?.len();
    if size > LARGEST {
        return wrong("file", format!("{shown} has {:.1} GB; at most 1 GB is read", size as f64 / 1e9));
    }
    let bytes = crate::traces::content(path).map_err(|why| cannot(&why))?;
    let bytes = unpacked(bytes, LARGEST).or_else(|why| wrong("file", format!("{shown}: {why}")))?;
    let bytes = in_utf_8(bytes);
    if bytes.is_empty() {
        return wrong("file", format!("{shown} is empty"));
    }
    let format = spec.format.map_or_else(|| format_of(path, &bytes, quantity), Ok)?;
    Ok((bytes, format))
}

/// A text as PowerShell's `>` writes it (UTF-16 with its mark) in UTF-8; anything else as it is, without UTF-8's own mark.
fn in_utf_8(bytes: Vec<u8>) -> Vec<u8> {
    if let Some(rest) = bytes.strip_prefix(b"\xff\xfe") {
        let units: Vec<u16> =
            rest.chunks_exact(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]])).collect();
        return String::from_utf16_lossy(&units).into_bytes();
    }
    match bytes.strip_prefix(b"\xef\xbb\xbf") {
        Some(rest) => rest.to_vec(),
        None => bytes,
    }
}

/// Each probe of a file of a program that sends some: time in s, and whether it was lost; `None` of other files.
pub(super) fn outcomes(path: &Path, spec: &MeasuredSpec) -> Read<Option<Vec<(f64, bool)>>> {
    let (bytes, format) = content(path, spec, Quantity::Loss)?;
    let text = String::from_utf8_lossy(&bytes);
    let mut probes = match format {
        MeasuredFormat::Irtt => irtt_probes(&json(&text)?)?,
        MeasuredFormat::Ping => ping_probes(&text, spec)?,
        MeasuredFormat::Csv => match csv_outcomes(&text, spec) {
            Some(probes) => probes?,
            None => return Ok(None),
        },
        _ => return Ok(None),
    };
    probes.sort_by(|one, other| one.0.total_cmp(&other.0));
    Ok(Some(probes.into_iter().map(|(time, lost, _)| (time, lost)).collect()))
}

/// Reads a file.
pub(super) fn read(
    path: &Path,
    spec: &MeasuredSpec,
    quantity: Quantity,
    read_table: ReadTable<'_>,
) -> Read<Measured> {
    let shown = path.display();
    let (bytes, format) = content(path, spec, quantity)?;
    if let (true, Some(column)) = (is_list(format), spec.column.as_ref().or(spec.time.as_ref())) {
        return wrong("column", format!("the format of {shown} has no columns, and {column:?} is given"));
    }
    let at = |mut error: Wrong| {
        error.message = format!("{shown}: {}", error.message);
        error
    };
    if format == MeasuredFormat::Parquet {
        let table = read_table(bytes)
            .or_else(|why| wrong("file", format!("{shown}: it cannot be read as Parquet: {why}")))?;
        let rows = table.iter().find_map(|(_, column)| column.as_ref().ok().map(Vec::len)).unwrap_or(0);
        let names: Vec<&str> = table.iter().map(|(name, _)| name.as_str()).collect();
        let column = |name: &str| table.iter().find(|(one, _)| one == name).map(|(_, column)| column);
        return columns(&names, rows, spec, quantity, "row", 1, &|name, row| match column(name) {
            Some(Ok(values)) => Ok(values[row]),
            Some(Err(kind)) => Err(format!("{kind} instead of numbers")),
            None => Err("no such column".to_string()),
        })
        .map_err(at);
    }
    let Ok(text) = String::from_utf8(bytes) else {
        return wrong("file", format!("{shown} is no text; name its format"));
    };
    match format {
        MeasuredFormat::Mahimahi => mahimahi(&text, quantity),
        MeasuredFormat::List => list(&text, spec, quantity),
        MeasuredFormat::Csv => csv(&text, spec, quantity),
        MeasuredFormat::Irtt => json(&text).and_then(|file| irtt(&file, quantity)),
        MeasuredFormat::Iperf3 => json(&text).and_then(|file| iperf3(&file, quantity)),
        MeasuredFormat::Ping => ping(&text, spec, quantity),
        MeasuredFormat::Parquet => unreachable!("it was read above"),
    }
    .map_err(at)
}

fn is_list(format: MeasuredFormat) -> bool {
    !matches!(format, MeasuredFormat::Csv | MeasuredFormat::Parquet)
}

fn json(text: &str) -> Read<Value> {
    serde_json::from_str(text).or_else(|why| wrong("file", format!("it cannot be read as JSON: {why}")))
}

/// The format of a file, by its name and its begin.
fn format_of(path: &Path, bytes: &[u8], quantity: Quantity) -> Read<MeasuredFormat> {
    let name = path.file_name().map(|name| name.to_string_lossy().to_lowercase()).unwrap_or_default();
    let begin = String::from_utf8_lossy(&bytes[..bytes.len().min(4096)]).into_owned();
    if name.contains(".parquet") || bytes.starts_with(b"PAR1") {
        return Ok(MeasuredFormat::Parquet);
    }
    if begin.trim_start().starts_with('{') {
        let all = String::from_utf8_lossy(bytes);
        return if all.contains("\"round_trips\"") {
            Ok(MeasuredFormat::Irtt)
        } else if all.contains("\"intervals\"") {
            Ok(MeasuredFormat::Iperf3)
        } else {
            wrong(
                "file",
                format!("{} is JSON of neither irtt (round_trips) nor iperf3 (intervals)", path.display()),
            )
        };
    }
    if begin.contains("icmp_seq") || begin.starts_with("PING ") || begin.lines().any(is_of_windows) {
        return Ok(MeasuredFormat::Ping);
    }
    let first = begin.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    if name.trim_end_matches(".gz").trim_end_matches(".zst").ends_with(".csv") || first.contains([',', ';']) {
        return Ok(MeasuredFormat::Csv);
    }
    Ok(if quantity == Quantity::Rate { MeasuredFormat::Mahimahi } else { MeasuredFormat::List })
}

/// What one of a unit is in bit/s, s or shares.
fn factor(unit: &str, quantity: Quantity) -> Option<f64> {
    let one = format!("1 {unit}");
    match quantity {
        Quantity::Rate => one.parse::<Rate>().ok().map(|rate| rate.as_bps() as f64),
        Quantity::Delay => one.parse::<Duration>().ok().map(Duration::as_secs_f64),
        Quantity::Loss => match unit {
            "%" => Some(0.01),
            "" | "share" => Some(1.0),
            _ => None,
        },
        Quantity::Signal => (unit == "dB").then_some(1.0),
    }
}

/// The unit that the end of a column's name stands for.
fn unit_in(name: &str) -> Option<&'static str> {
    let lower = name.to_lowercase();
    let ends = [
        ("_gbps", "Gbit/s"),
        ("_mbps", "Mbit/s"),
        ("_kbps", "kbit/s"),
        ("_bps", "bit/s"),
        ("_bit_s", "bit/s"),
        ("_ms", "ms"),
        ("_us", "us"),
        ("_ns", "ns"),
        ("_sec", "s"),
        ("_s", "s"),
        ("_percent", "%"),
        ("_share", "share"),
        ("_db", "dB"),
    ]; // as longer names end too
    ends.iter().find(|(end, _)| lower.ends_with(end)).map(|(_, unit)| *unit)
}

/// The factor of the values of a column of this name.
fn scale(name: &str, spec: &MeasuredSpec, quantity: Quantity) -> Read<f64> {
    let examples = match quantity {
        Quantity::Rate => "unit = \"Mbit/s\"",
        Quantity::Delay => "unit = \"ms\"",
        Quantity::Loss => "unit = \"%\", or \"share\"",
        Quantity::Signal => "unit = \"dB\"",
    };
    let Some(unit) = spec.unit.as_deref().or_else(|| unit_in(name)) else {
        let which =
            if name.is_empty() { "its values have".to_string() } else { format!("the column {name:?} has") };
        return wrong("unit", format!("{which} no unit; write for instance {examples}"));
    };
    match factor(unit, quantity) {
        Some(factor) => Ok(factor),
        None => wrong(
            "unit",
            format!("{unit:?} is no unit of a {}; write for instance {examples}", quantity.name()),
        ),
    }
}

/// A value that a measurement can have.
fn value(number: f64, quantity: Quantity) -> Result<f64, String> {
    let (least, most) = match quantity {
        Quantity::Rate => (0.0, 1e15),
        Quantity::Delay => (0.0, 3600.0),
        Quantity::Loss => (0.0, 1.0),
        Quantity::Signal => (-50.0, 100.0),
    };
    if (least..=most).contains(&number) {
        return Ok(number);
    }
    let range = match quantity {
        Quantity::Rate => "a rate is from 0 to 1000 Tbit/s",
        Quantity::Delay => "a delay is from 0 s to 1 h",
        Quantity::Loss => "a share is from 0 to 1",
        Quantity::Signal => "a signal is from -50 to 100 dB",
    };
    Err(format!("{number} is out of range: {range}"))
}

/// Steps of times in s and values, in order; the last one is as long as those before it on average.
fn steps(rows: &[(f64, f64)], quantity: Quantity) -> Read<Measured> {
    let Some((first, last)) = rows.first().zip(rows.last()) else {
        return wrong("file", "there is no value in it");
    };
    let span = last.0 - first.0;
    if rows.len() < 2 || span <= 0.0 {
        return wrong("file", "there are less than two times in it");
    }
    if quantity == Quantity::Rate && rows.iter().all(|(_, rate)| *rate < 1.0) {
        return wrong("file", "all its rates are 0");
    }
    let mut made: Vec<(Duration, f64)> = vec![];
    for (time, value) in rows {
        let at = Duration::from_secs_f64(time - first.0);
        match made.last_mut() {
            // Of several values at one time the last one holds.
            Some(last) if last.0 == at => last.1 = *value,
            _ => made.push((at, *value)),
        }
    }
    let usual = span / (rows.len() - 1) as f64;
    let period = made.last().map_or(Duration::ZERO, |(at, _)| *at) + Duration::from_secs_f64(usual.max(1e-9));
    Ok(Measured::Steps(made, period))
}

fn mahimahi(text: &str, quantity: Quantity) -> Read<Measured> {
    if quantity != Quantity::Rate {
        return wrong("format", "Mahimahi's format has a rate, and nothing else");
    }
    let mut at: Vec<Duration> = vec![];
    let mut last = 0;
    for (number, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() {
            continue;
        }
        let Ok(ms) = line.parse::<u64>() else {
            return wrong("file", format!("line {}: {line:?} is no whole number of ms", number + 1));
        };
        if ms < last {
            return wrong(
                "file",
                format!("line {}: {ms} ms is before the line above, {last} ms", number + 1),
            );
        }
        if ms as f64 > LONGEST_S * 1e3 {
            return wrong("file", format!("line {}: {ms} ms is more than a year", number + 1));
        }
        last = ms;
        at.push(Duration::from_millis(ms));
    }
    if last == 0 {
        return wrong("file", "it needs a time above 0 ms, at which it ends");
    }
    Ok(Measured::Opportunities(Arc::from(at), Duration::from_millis(last)))
}

fn list(text: &str, spec: &MeasuredSpec, quantity: Quantity) -> Read<Measured> {
    let Some(every) = spec.every else {
        return wrong("every", "it has no times; write for instance every = \"10 ms\"");
    };
    let scale = scale("", spec, quantity)?;
    let mut rows = vec![];
    for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let read = line.trim().parse::<f64>().map_err(|_| format!("{:?} is no number", line.trim()));
        match read.and_then(|number| value(number * scale, quantity)) {
            Ok(value) => rows.push((rows.len() as f64 * every.as_secs_f64(), value)),
            Err(why) => return wrong("file", format!("line {}: {why}", number + 1)),
        }
    }
    steps(&rows, quantity)
}

/// Whether a column's name is that of times, or that with a unit of time behind it.
fn is_time(name: &str, wanted: &str) -> bool {
    let lower = name.to_lowercase();
    let unit =
        lower.strip_prefix(wanted).filter(|rest| matches!(*rest, "_ms" | "_us" | "_ns" | "_s" | "_sec"));
    lower == wanted || unit.is_some()
}

/// A number in a column and a row, nothing where nothing was measured, or what is wrong.
type Cell<'a> = &'a dyn Fn(&str, usize) -> Result<Option<f64>, String>;

/// Values of a table by columns. Where nothing was measured, the value before holds.
fn columns(
    names: &[&str],
    rows: usize,
    spec: &MeasuredSpec,
    quantity: Quantity,
    row_is: &str,
    first_row: usize,
    cell: Cell<'_>,
) -> Read<Measured> {
    let there = || {
        let shown: Vec<&str> = names.iter().take(12).copied().collect();
        let more = if names.len() > 12 { format!(" and {} more", names.len() - 12) } else { String::new() };
        format!("there are: {}{more}", shown.join(", "))
    };
    let time = match &spec.time {
        Some(name) if names.contains(&name.as_str()) => Some(name.as_str()),
        Some(name) => return wrong("time", format!("there is no column {name:?}; {}", there())),
        // Whoever gives the time between values does not look at a column of times.
        None if spec.every.is_some() => None,
        None => TIMES.iter().find_map(|wanted| names.iter().find(|name| is_time(name, wanted))).copied(),
    };
    let column = match &spec.column {
        Some(name) if names.contains(&name.as_str()) => name.as_str(),
        Some(name) => return wrong("column", format!("there is no column {name:?}; {}", there())),
        None => {
            let others: Vec<&str> = names.iter().filter(|name| Some(**name) != time).copied().collect();
            match others[..] {
                [only] => only,
                _ => {
                    return wrong(
                        "column",
                        format!("name the column of the {}; {}", quantity.name(), there()),
                    );
                }
            }
        }
    };
    let scale = scale(column, spec, quantity)?;
    let per_time = match time {
        // Times without a unit are in seconds.
        Some(name) => unit_in(name).and_then(|unit| factor(unit, Quantity::Delay)),
        None => None,
    };
    let every = spec.every.map(Duration::as_secs_f64);
    if time.is_none() && every.is_none() {
        return wrong(
            "time",
            format!("no column has times; name it (time), or write every = \"1 s\"; {}", there()),
        );
    }
    let mut found: Vec<(f64, f64)> = Vec::with_capacity(rows);
    for row in 0..rows {
        let at = |name: &str, why: String| {
            wrong("file", format!("{row_is} {}, column {name:?}: {why}", row + first_row))
        };
        let moment = match (time, every) {
            (Some(name), _) => match cell(name, row) {
                Ok(Some(moment)) => moment * per_time.unwrap_or(1.0),
                Ok(None) => return at(name, "no time".to_string()),
                Err(why) => return at(name, why),
            },
            (None, Some(every)) => row as f64 * every,
            (None, None) => unreachable!("one of both is given"),
        };
        let read = cell(column, row);
        let number =
            match read.and_then(|cell| cell.map(|number| value(number * scale, quantity)).transpose()) {
                Ok(Some(number)) => number,
                Ok(None) => continue,
                Err(why) => return at(column, why),
            };
        if !moment.is_finite() {
            return at(time.unwrap_or_default(), format!("{moment} is no time"));
        }
        if moment > LATEST_S {
            let message = format!(
                "{moment} s is after the year 5000: name the unit behind it, as in \"{}_ms\"",
                time.unwrap_or("time")
            );
            return at(time.unwrap_or_default(), message);
        }
        if let Some((before, _)) = found.last().filter(|(before, _)| moment < *before) {
            return at(time.unwrap_or_default(), format!("{moment} s is before the row above, {before} s"));
        }
        if found.first().is_some_and(|(first, _)| moment - first > LONGEST_S) {
            return at(time.unwrap_or_default(), "the times are more than a year apart".to_string());
        }
        found.push((moment, number));
    }
    steps(&found, quantity)
}

/// Seconds since 1970 of a date with a time of day as ISO 8601 and RFC 3339 have it: 2026-03-29T12:00:00.5+02:00, or with a space for
/// the T. Without an offset it counts as UTC.
fn calendar_time(text: &str) -> Option<f64> {
    let (date, rest) = text.split_once(['T', ' '])?;
    let mut date = date.split('-').map(str::parse::<i64>);
    let (Some(Ok(year)), Some(Ok(month @ 1..=12)), Some(Ok(day @ 1..=31)), None) =
        (date.next(), date.next(), date.next(), date.next())
    else {
        return None;
    };
    let rest = rest.trim_end_matches(['Z', 'z']);
    let (clock, offset) = match rest.rfind(['+', '-']) {
        Some(at) => {
            (&rest[..at], offset_s(&rest[at + 1..])? * if rest[at..].starts_with('-') { -1.0 } else { 1.0 })
        }
        None => (rest, 0.0),
    };
    let mut parts = clock.trim_end().split(':').map(|part| part.replace(',', ".").parse::<f64>());
    let (Some(Ok(hour)), Some(Ok(minute))) = (parts.next(), parts.next()) else { return None };
    let second = parts.next().map_or(Some(0.0), Result::ok)?;
    if parts.next().is_some() || hour > 24.0 || minute >= 60.0 || second >= 61.0 {
        return None;
    }
    // Days since 1970 of the Gregorian calendar: years begin in March, so that a leap day is the last one.
    let year = if month > 2 { year } else { year - 1 };
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let days =
        365 * year + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400) + day_of_year - 719_468;
    Some(days as f64 * 86_400.0 + hour * 3_600.0 + minute * 60.0 + second - offset)
}

/// An offset from UTC in s: 02:00, 0200 or 02.
fn offset_s(text: &str) -> Option<f64> {
    let digits = text.replace(':', "");
    let (hours, minutes) = digits.split_at_checked(2)?;
    let minutes = if minutes.is_empty() { "0" } else { minutes };
    Some(hours.parse::<f64>().ok()? * 3_600.0 + minutes.parse::<f64>().ok()? * 60.0)
}

fn csv(text: &str, spec: &MeasuredSpec, quantity: Quantity) -> Read<Measured> {
    let mut lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let Some((_, head)) = lines.next() else { return wrong("file", "there is nothing in it") };
    let unquoted = |cell: &'_ str| cell.trim().trim_matches('"').to_string();
    // Where semicolons part cells, commas stand before decimals.
    let delimiter = if head.contains(';') { ';' } else { ',' };
    let names: Vec<String> = head.split(delimiter).map(unquoted).collect();
    if names.iter().all(|name| name.parse::<f64>().is_ok()) {
        return wrong("file", format!("line 1: {head:?} is no line of headings, as in \"time_s,rate_mbps\""));
    }
    let rows: Vec<(usize, Vec<&str>)> =
        lines.map(|(number, line)| (number + 1, line.split(delimiter).map(str::trim).collect())).collect();
    if let Some((number, cells)) = rows.iter().find(|(_, cells)| cells.len() != names.len()) {
        return wrong("file", format!("line {number}: {} cells, and {} headings", cells.len(), names.len()));
    }
    let shown: Vec<&str> = names.iter().map(String::as_str).collect();
    let place = |name: &str| names.iter().position(|one| one == name);
    // Lines that are empty are no rows: the number of a line is looked up where it is needed.
    columns(&shown, rows.len(), spec, quantity, "row", 1, &|name, row| {
        let (number, cells) = &rows[row];
        let cell = place(name).map_or("", |place| cells[place]).trim_matches('"');
        let plain = if delimiter == ';' { cell.replacen(',', ".", 1) } else { cell.to_string() };
        match (cell, plain.parse(), calendar_time(cell)) {
            ("", ..) => Ok(None),
            (_, Ok(found), _) => Ok(Some(found)),
            (_, _, Some(_)) if unit_in(name).is_some() => {
                Err(format!("{cell:?} is a date, and the column's name has a unit (line {number})"))
            }
            (_, _, Some(seconds)) => Ok(Some(seconds)),
            _ => Err(format!("{cell:?} is no number (line {number})")),
        }
    })
}

/// The column of a table with a row for each probe: 1 where it was lost.
const LOST: &str = "lost";

/// The probes of a table that has a column [`LOST`]; `None` of other tables.
fn csv_outcomes(text: &str, spec: &MeasuredSpec) -> Option<Read<Probes>> {
    let head = text.lines().find(|line| !line.trim().is_empty())?;
    head.split(',').find(|name| name.trim().trim_matches('"') == LOST)?;
    let (column, unit) = (Some(LOST.to_string()), Some("share".to_string()));
    let spec = MeasuredSpec { column, unit, ..spec.clone() };
    Some(csv(text, &spec, Quantity::Loss).map(|lost| match lost {
        Measured::Steps(steps, _) => {
            steps.into_iter().map(|(at, lost)| (at.as_secs_f64(), lost > 0.5, None)).collect()
        }
        Measured::Opportunities(..) => vec![],
    }))
}

/// Shares of lost probes in each second, of times in s with whether the probe was lost.
fn lost(probes: &[(f64, bool)], quantity: Quantity) -> Read<Measured> {
    let first = probes.first().map_or(0.0, |(time, _)| *time);
    let mut windows: Vec<(u32, u32)> = vec![];
    for (time, lost) in probes {
        let window = ((time - first) / WINDOW.as_secs_f64()).max(0.0) as usize;
        if window as f64 > LONGEST_S {
            return wrong("file", "the times are more than a year apart");
        }
        if windows.len() <= window {
            windows.resize(window + 1, (0, 0));
        }
        windows[window].0 += 1;
        windows[window].1 += u32::from(*lost);
    }
    let rows: Vec<(f64, f64)> = windows
        .iter()
        .enumerate()
        .map(|(second, (sent, lost))| (second as f64, f64::from(*lost) / f64::from((*sent).max(1))))
        .collect();
    steps(&rows, quantity)
}

/// Probes: time in s, whether it was lost, one-way delay in s.
type Probes = Vec<(f64, bool, Option<f64>)>;

fn irtt(file: &Value, quantity: Quantity) -> Read<Measured> {
    probed(&mut irtt_probes(file)?, quantity)
}

fn irtt_probes(file: &Value) -> Read<Probes> {
    let Some(trips) = file["round_trips"].as_array() else {
        return wrong("file", "it has no list `round_trips`, as irtt writes with -o");
    };
    let mut probes = vec![];
    for (number, trip) in trips.iter().enumerate() {
        let sent = &trip["timestamps"]["client"]["send"];
        let Some(nanos) = sent["monotonic"].as_f64().or_else(|| sent["wall"].as_f64()) else {
            return wrong("file", format!("round trip {number} has no time of sending"));
        };
        let is_lost =
            trip["lost"].as_str().is_some_and(|lost| lost != "false") || trip["lost"] == Value::Bool(true);
        let delay = &trip["delay"];
        let one_way = delay["send"].as_f64().or_else(|| delay["rtt"].as_f64().map(|rtt| rtt / 2.0));
        probes.push((nanos / 1e9, is_lost, one_way.map(|nanos| nanos / 1e9)));
    }
    Ok(probes)
}

/// A line with an answer to Windows' ping: in English, or in any language by its structure, as in
/// `Reply from 192.0.2.1: bytes=32 time=14ms TTL=117`. Units are translated too; answers over IPv6 have a time alone.
fn is_of_windows(line: &str) -> bool {
    let by_structure = line.contains("TTL=") && line.matches(['=', '<']).count() >= 3;
    (by_structure || line.starts_with("Reply from ") && line.contains("time")) && !line.contains("icmp_seq")
}

/// The probes of Windows' ping in English, one each `every` seconds: it states neither times nor numbers.
fn windows_probes(text: &str, every: f64) -> Read<Probes> {
    let mut probes: Probes = vec![];
    for (line_number, line) in text.lines().enumerate() {
        let time = probes.len() as f64 * every;
        let answer = line.starts_with("Reply from ").then(|| line.find("time")).flatten();
        if let Some(at) = answer {
            // `time=14ms`, or `time<1ms` for less than it measures.
            let digits: String = line[at..].chars().skip(5).take_while(char::is_ascii_digit).collect();
            let Ok(ms) = digits.parse::<f64>() else {
                return wrong("file", format!("line {}: {line:?} has no time", line_number + 1));
            };
            let ms = if line[at + 4..].starts_with('<') { ms / 2.0 } else { ms };
            probes.push((time, false, Some(ms / 2e3)));
        } else if ["Request timed out", "General failure", "PING: transmit failed"]
            .iter()
            .any(|lost| line.starts_with(lost))
            || line.contains("unreachable.")
            || line.contains("TTL expired")
        {
            probes.push((time, true, None));
        } else if is_of_windows(line) {
            let message = "it is Windows' ping in another language than English, of which lost probes look like other lines; \
                           measure with `irtt client -o`, or write a table (CSV) of times and delays";
            return wrong("file", format!("line {}: {message}", line_number + 1));
        }
    }
    Ok(probes)
}

fn ping(text: &str, spec: &MeasuredSpec, quantity: Quantity) -> Read<Measured> {
    probed(&mut ping_probes(text, spec)?, quantity)
}

/// Seconds since 1970 at the end of the year 5000: what is above has another unit.
const LATEST_S: f64 = 95_649_033_600.0;
/// An answer may come so many numbers late; one that is further behind is of another run of ping.
const LATE: f64 = 100.0;
/// Numbers of probes are counted with 16 bits (RFC 792) by most.
const NUMBERS: f64 = 65_536.0;

/// The probes of ping's text, by their numbers: one that no line answers was lost, late answers and duplicates are no others.
fn ping_probes(text: &str, spec: &MeasuredSpec) -> Read<Probes> {
    let number = |text: &str, after: &str| -> Option<f64> {
        let rest = &text[text.find(after)? + after.len()..];
        let end = rest.find(|char: char| !matches!(char, '0'..='9' | '.' | '-')).unwrap_or(rest.len());
        rest[..end].parse().ok()
    };
    let every = spec.every.map_or(1.0, Duration::as_secs_f64);
    if text.lines().any(is_of_windows) {
        return windows_probes(text, every);
    }
    let mut probes: Probes = vec![];
    // The greatest number so far in this run of ping.
    let mut greatest: Option<f64> = None;
    let mut stamped: Option<f64> = None;
    for (line_number, line) in text.lines().enumerate() {
        if line.starts_with("PING ") {
            greatest = None;
        }
        let (Some(sequence), Some(ms)) = (number(line, "icmp_seq="), number(line, "time=")) else { continue };
        let stamp = line.starts_with('[').then(|| number(line, "[")).flatten();
        if let (Some(now), Some(before)) = (stamp, stamped)
            && now < before
        {
            let message = format!("line {}: {now} s is before the line above, {before} s", line_number + 1);
            return wrong("file", message);
        }
        stamped = stamp.or(stamped);
        // A clock that was set while the probe was under way makes a time below zero: an answer without a delay.
        let delay = (ms >= 0.0).then_some(ms / 2e3);
        let ahead = greatest.map_or(1.0, |greatest| {
            let ahead = sequence - greatest;
            if sequence.max(greatest) >= NUMBERS {
                return ahead;
            }
            let ahead = ahead.rem_euclid(NUMBERS);
            if ahead > NUMBERS / 2.0 { ahead - NUMBERS } else { ahead }
        });
        if (-LATE..=0.0).contains(&ahead) {
            let answered = probes.iter_mut().rev().nth(-ahead as usize);
            if let Some(probe) = answered.filter(|(_, lost, _)| *lost) {
                (probe.1, probe.2) = (false, delay);
            }
            continue;
        }
        // What is missing between two answers was lost. Numbers that jump further are of another run.
        let ahead = if (1.0..NUMBERS / 2.0).contains(&ahead) { ahead as usize } else { 1 };
        let last = probes.last().map(|(time, ..)| *time);
        let time = stamp.unwrap_or_else(|| last.map_or(0.0, |last| last + ahead as f64 * every));
        for place in 1..ahead {
            let begin = last.unwrap_or(time);
            probes.push((begin + (time - begin) * place as f64 / ahead as f64, true, None));
        }
        probes.push((time, false, delay));
        greatest = Some(sequence);
    }
    if probes.is_empty() {
        let message = "no line has an answer, with icmp_seq= and time=: all probes were lost, or ping ran in another language (run it with LC_ALL=C)";
        return wrong("file", message);
    }
    Ok(probes)
}

/// Delays or losses of probes: time in s, whether it was lost, one-way delay in s.
fn probed(probes: &mut [(f64, bool, Option<f64>)], quantity: Quantity) -> Read<Measured> {
    probes.sort_by(|one, other| one.0.total_cmp(&other.0));
    match quantity {
        Quantity::Rate => wrong("format", "probes measure delay and loss, no rate"),
        Quantity::Signal => wrong("format", "probes measure delay and loss, no signal"),
        Quantity::Loss => {
            lost(&probes.iter().map(|(time, lost, _)| (*time, *lost)).collect::<Vec<_>>(), quantity)
        }
        Quantity::Delay => {
            let rows: Vec<(f64, f64)> = probes
                .iter()
                .filter_map(|(time, lost, delay)| Some((*time, (*delay).filter(|_| !lost)?)))
                .collect();
            for (time, delay) in &rows {
                if let Err(why) = value(*delay, quantity) {
                    return wrong("file", format!("the probe sent at {time} s: {why}"));
                }
            }
            steps(&rows, quantity)
        }
    }
}

fn iperf3(file: &Value, quantity: Quantity) -> Read<Measured> {
    if quantity != Quantity::Rate {
        return wrong("format", "iperf3 measures a rate");
    }
    if let Some(why) = file["error"].as_str() {
        return wrong("file", format!("iperf3 reports an error in it: {why}"));
    }
    let Some(intervals) = file["intervals"].as_array() else {
        return wrong("file", "it has no list `intervals`, as iperf3 writes with --json");
    };
    let mut rows: Vec<(f64, f64)> = vec![];
    for (number, interval) in intervals.iter().enumerate() {
        let sum = &interval["sum"];
        let (Some(start), Some(rate)) = (sum["start"].as_f64(), sum["bits_per_second"].as_f64()) else {
            return wrong("file", format!("interval {number} has no start or no bits_per_second"));
        };
        if let Some((before, _)) = rows.last().filter(|(before, _)| start < *before) {
            let message = format!("interval {number} begins at {start} s, before the one above, {before} s");
            return wrong("file", message);
        }
        match value(rate, quantity) {
            Ok(rate) => rows.push((start, rate)),
            Err(why) => return wrong("file", format!("interval {number}: {why}")),
        }
    }
    steps(&rows, quantity)
}
