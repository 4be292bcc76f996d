//! Parquet files of the emulator and of Python's module: time series out, traces in.
//!
//! A crate of its own, since Arrow and Parquet take half as long to compile as all the rest. It starts no thread, so that a run works in
//! a forked process.

use arrow_array::{
    ArrayRef, Float64Array, Int32Array, RecordBatch, StringArray, UInt8Array, UInt32Array, UInt64Array,
};
use arrow_array::{cast::AsArray, types};
use bytes::Bytes;
use longhaul_results::{Table, Values};
use longhaul_traffic::NumberTable;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::{ArrowReaderOptions, ParquetRecordBatchReaderBuilder};
use parquet::basic::Compression;
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use std::io;
use std::sync::Arc;

/// The content of a table's Parquet file, compressed with snappy.
///
/// # Errors
/// What the library reports.
pub fn write(table: &Table) -> io::Result<Vec<u8>> {
    let columns = table.columns.iter().map(|(name, values)| (*name, array(values)));
    encode(columns.collect()).map_err(io::Error::other)
}

fn encode(columns: Vec<(&'static str, ArrayRef)>) -> Result<Vec<u8>, ParquetError> {
    let batch = RecordBatch::try_from_iter(columns)?;
    let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
    let mut content = vec![];
    let mut writer = ArrowWriter::try_new(&mut content, batch.schema(), Some(properties))?;
    writer.write(&batch)?;
    writer.close()?;
    Ok(content)
}

fn array(values: &Values) -> ArrayRef {
    match values {
        Values::F64(values) => Arc::new(Float64Array::from_iter_values(values.iter().copied())),
        Values::Optional(values) => Arc::new(Float64Array::from_iter(values.iter().copied())),
        Values::U8(values) => Arc::new(UInt8Array::from_iter_values(values.iter().copied())),
        Values::U32(values) => Arc::new(UInt32Array::from_iter_values(values.iter().copied())),
        Values::U64(values) => Arc::new(UInt64Array::from_iter_values(values.iter().copied())),
        Values::I32(values) => Arc::new(Int32Array::from_iter_values(values.iter().copied())),
        Values::Text(values) => Arc::new(StringArray::from_iter_values(values.iter().copied())),
    }
}

/// The columns of a Parquet file, uncompressed or compressed with snappy, Zstandard, LZ4 or gzip.
///
/// # Errors
/// Why it cannot be read, and what would help.
pub fn read(content: Vec<u8>) -> Result<NumberTable, String> {
    // The library asserts what a damaged file need not keep to.
    std::panic::catch_unwind(move || decode(content)).unwrap_or_else(|_| Err("it is damaged".to_string()))
}

fn decode(content: Vec<u8>) -> Result<NumberTable, String> {
    let reason = |error: &dyn std::fmt::Display| {
        let error = error.to_string();
        let help = if error.contains("Disabled feature") {
            "; compress it with snappy or zstd, or not at all"
        } else {
            ""
        };
        format!("{error}{help}")
    };
    // Columns are what Parquet states. What Arrow states besides is not needed, and its reader panics where it is damaged.
    let options = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
    let builder = ParquetRecordBatchReaderBuilder::try_new_with_options(Bytes::from(content), options)
        .map_err(|e| reason(&e))?;
    let schema = builder.schema().clone();
    let mut table: NumberTable =
        schema.fields().iter().map(|field| (field.name().clone(), Ok(vec![]))).collect();
    for batch in builder.build().map_err(|error| reason(&error))? {
        let batch = batch.map_err(|error| reason(&error))?;
        for (index, (_, values)) in table.iter_mut().enumerate() {
            match (numbers(&batch, index), &mut *values) {
                (Some(more), Ok(values)) => values.extend(more),
                (None, values) => *values = Err(schema.field(index).data_type().to_string()),
                (Some(_), Err(_)) => {}
            }
        }
    }
    Ok(table)
}

/// A column's numbers; `None` if it has others than those that a trace may have.
#[allow(clippy::cast_lossless)] // one line for every type
fn numbers(batch: &RecordBatch, column: usize) -> Option<Vec<Option<f64>>> {
    let array = batch.column(column);
    macro_rules! of_type {
        ($($kind:ident),*) => {
            $(if let Some(array) = array.as_primitive_opt::<types::$kind>() {
                return Some(array.iter().map(|value| value.map(|value| value as f64)).collect());
            })*
        };
    }
    of_type!(Float64Type, Float32Type, Int64Type, Int32Type, Int16Type, UInt64Type, UInt32Type, UInt16Type);
    None
}
