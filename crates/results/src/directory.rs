//! Writing a result directory. `summary.json` comes last and by renaming, so that a directory that has one is complete.

use crate::{Summary, Table, Tables};
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// A result could not be written.
#[derive(Debug, thiserror::Error)]
#[error("cannot write {path}: {why}")]
pub struct WriteError {
    /// The file.
    pub path: PathBuf,
    /// The system's reason.
    pub why: String,
}

/// Turns a table into the content of a Parquet file. A program brings it, so that the library for Parquet is no part of a world.
pub type WriteTable<'a> = &'a dyn Fn(&Table) -> io::Result<Vec<u8>>;

/// What goes into a result directory.
pub struct ResultFiles<'a> {
    /// The resolved scenario.
    pub scenario_toml: &'a str,
    /// The numbers.
    pub summary: &'a Summary,
    /// The time series, if they were recorded.
    pub tables: Option<&'a Tables>,
    /// The content of a table's Parquet file.
    pub write_table: WriteTable<'a>,
    /// Captured packets as a finished pcapng file, if there are any.
    pub packets: Option<&'a [u8]>,
    /// Logs of QUIC connections: name of the file, content.
    pub logs: &'a [(String, Vec<u8>)],
    /// What is not deterministic (times, memory), as JSON.
    pub timing_json: &'a str,
}

impl ResultFiles<'_> {
    /// Writes all files into `directory`, which is made if it does not exist.
    ///
    /// # Errors
    /// The file and the reason. Nothing that is left behind passes for a result, since `summary.json` is written last.
    pub fn write(&self, directory: &Path) -> Result<(), WriteError> {
        fs::create_dir_all(directory).map_err(|why| error(directory, why))?;
        let summary = directory.join("summary.json");
        if summary.exists() {
            fs::remove_file(&summary).map_err(|why| error(&summary, why))?;
        }
        put(&directory.join("scenario.toml"), |file| file.write_all(self.scenario_toml.as_bytes()))?;
        put(&directory.join("timing.json"), |file| file.write_all(self.timing_json.as_bytes()))?;
        if let Some(tables) = self.tables {
            for table in tables.present() {
                put(&directory.join(format!("{}.parquet", table.name)), |file| {
                    (self.write_table)(&table).and_then(|content| file.write_all(&content))
                })?;
            }
        }
        if let Some(packets) = self.packets {
            put(&directory.join("packets.pcapng"), |file| file.write_all(packets))?;
        }
        if !self.logs.is_empty() {
            let logs = directory.join("qlog");
            fs::create_dir_all(&logs).map_err(|why| error(&logs, why))?;
            for (name, content) in self.logs {
                put(&logs.join(name), |file| file.write_all(content))?;
            }
        }
        let partial = directory.join(".summary.json.partial");
        put(&partial, |file| {
            serde_json::to_writer_pretty(&mut *file, self.summary).map_err(io::Error::other)?;
            file.write_all(b"\n")
        })?;
        fs::rename(&partial, &summary).map_err(|why| error(&summary, why))
    }
}

fn put(path: &Path, write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>) -> Result<(), WriteError> {
    let mut file = BufWriter::new(File::create(path).map_err(|why| error(path, why))?);
    write(&mut file).and_then(|()| file.flush()).map_err(|why| error(path, why))
}

fn error(path: &Path, why: impl ToString) -> WriteError {
    WriteError { path: path.to_path_buf(), why: why.to_string() }
}
