//! Reads the traces that a scenario names. A relative path begins at the scenario file, or, where there is none, at the working
//! directory. What was read is identified by its digest, so that neither its place nor its format is part of a run's identity.

use crate::validate::Problem;
use crate::{AppSpec, Scenario};
use longhaul_traffic::{Format, NumberTable, Trace, TraceError};
use longhaul_units::ranges::Key;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Reads the content of a Parquet file; the error is the reason alone. A program brings it, so that the library for Parquet is no
/// part of a world.
pub type ReadTable<'a> = &'a dyn Fn(Vec<u8>) -> Result<NumberTable, String>;

/// Reads every trace of a scenario; relative paths begin at `folder`.
pub(crate) fn read_all(
    scenario: &mut Scenario,
    folder: &Path,
    read_table: ReadTable<'_>,
) -> Result<(), Problem> {
    let mut known: Vec<(PathBuf, Format, Arc<Trace>)> = vec![];
    for (index, flow) in scenario.flow.iter_mut().enumerate() {
        let AppSpec::Trace(spec) = &mut flow.app else { continue };
        let path = place_of(&spec.file, folder);
        let format = spec.format.unwrap_or_else(|| Format::of(&spec.file));
        let read = known.iter().find(|(known, as_format, _)| *known == path && *as_format == format);
        let trace = match read {
            Some((.., trace)) => trace.clone(),
            None => {
                let trace = read_one(&path, format, read_table);
                let trace = Arc::new(trace.map_err(|message| problem(index, "file", message))?);
                known.push((path.clone(), format, trace.clone()));
                trace
            }
        };
        let digest = trace.digest();
        if let Some(expected) = spec.digest.as_ref().filter(|expected| **expected != digest) {
            let message = format!(
                "{} is another trace: its digest is {digest}, expected is {expected}",
                path.display()
            );
            return Err(problem(index, "digest", message));
        }
        (spec.digest, spec.format, spec.content) = (Some(digest), Some(format), Some(trace));
        spec.file = path.to_string_lossy().into_owned();
    }
    Ok(())
}

fn problem(flow: usize, field: &'static str, message: String) -> Problem {
    let path = vec![Key::Field("flow"), Key::Index(flow), Key::Field("app"), Key::Field(field)];
    Problem { path, message, help: None }
}

/// The folder of the scenario file of this name; the working directory if there is no such file.
pub(crate) fn beside(source_name: &str) -> PathBuf {
    let source = Path::new(source_name);
    source.parent().filter(|_| source.is_file()).unwrap_or(Path::new("")).to_path_buf()
}

/// Where a trace is that a scenario file names.
pub(crate) fn place_of(file: &str, folder: &Path) -> PathBuf {
    let path = folder.join(file);
    std::path::absolute(&path).unwrap_or(path)
}

/// Why a file cannot be read, without the number of the error.
pub(crate) fn reason(why: &std::io::Error) -> String {
    let text = why.to_string();
    text.split(" (os error").next().unwrap_or_default().to_string()
}

/// All of a file. It is read more than once, for its digest and when a result is repeated: so a pipe, from which a second reader
/// would wait for ever, is an error.
pub(crate) fn content(path: &Path) -> std::io::Result<Vec<u8>> {
    let kind = std::fs::metadata(path)?.file_type();
    if !kind.is_file() && !kind.is_dir() {
        let message = "it is a pipe or a device, which gives its content only once; write that to a file";
        return Err(std::io::Error::other(message));
    }
    std::fs::read(path)
}

fn read_one(path: &Path, format: Format, read_table: ReadTable<'_>) -> Result<Trace, String> {
    let content = content(path)
        .map_err(|why| format!("the trace {} cannot be read: {}", path.display(), reason(&why)))?;
    let trace = match format {
        Format::Parquet => read_table(content)
            .map_err(|why| format!("{}: it cannot be read as a Parquet file: {why}", path.display()))
            .map(|table| Trace::of_columns(&table))?,
        _ => Trace::read(&content, format),
    };
    trace.map_err(|TraceError { place, message }| {
        let place =
            if place.is_empty() { String::new() } else { format!("{}, ", place.trim_end_matches(": ")) };
        format!("{place}{}: {message}", path.display())
    })
}
