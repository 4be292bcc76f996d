//! Tables to and from Python, which has polars for Parquet: columns as bytes in the machine's order, without a copy of a row.

use longhaul_sim::{NumberTable, Table, Values};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// The module of the lab that reads and writes Parquet files.
const LAB: &str = "longhaul.parquet";

/// A column for Python: its name; its type as numpy names it, or `text`; its bytes; for numbers of which some are missing the
/// bytes of a mask, 1 where there is one; for text, whose numbers (u32) are positions in it, the list of words.
type Column<'py> =
    (&'static str, &'static str, Bound<'py, PyBytes>, Option<Bound<'py, PyBytes>>, Vec<&'static str>);

/// The content of a table's Parquet file.
pub fn write(table: &Table) -> PyResult<Vec<u8>> {
    Python::attach(|py| {
        let columns: Vec<Column<'_>> =
            table.columns.iter().map(|(name, values)| column(py, name, values)).collect();
        py.import(LAB)?.call_method1("write", (columns,))?.extract()
    })
}

fn column<'py>(py: Python<'py>, name: &'static str, values: &Values) -> Column<'py> {
    macro_rules! plain {
        ($kind:literal, $values:expr) => {{
            let bytes: Vec<u8> = $values.iter().flat_map(|value| value.to_ne_bytes()).collect();
            (name, $kind, PyBytes::new(py, &bytes), None, vec![])
        }};
    }
    match values {
        Values::F64(values) => plain!("float64", values),
        Values::U8(values) => plain!("uint8", values),
        Values::U32(values) => plain!("uint32", values),
        Values::U64(values) => plain!("uint64", values),
        Values::I32(values) => plain!("int32", values),
        Values::Optional(values) => {
            let numbers: Vec<u8> =
                values.iter().flat_map(|value| value.unwrap_or_default().to_ne_bytes()).collect();
            let mask: Vec<u8> = values.iter().map(|value| u8::from(value.is_some())).collect();
            (name, "float64", PyBytes::new(py, &numbers), Some(PyBytes::new(py, &mask)), vec![])
        }
        Values::Text(values) => {
            let mut words: Vec<&'static str> = vec![];
            let mut number = |word: &'static str| {
                let known = words.iter().position(|known| *known == word);
                known.unwrap_or_else(|| {
                    words.push(word);
                    words.len() - 1
                }) as u32
            };
            let numbers: Vec<u8> = values.iter().flat_map(|word| number(word).to_ne_bytes()).collect();
            (name, "text", PyBytes::new(py, &numbers), None, words)
        }
    }
}

/// The columns of a Parquet file: numbers, or the name of the type of what they hold instead.
///
/// # Errors
/// Why it cannot be read.
pub fn read(py: Python<'_>, content: &[u8]) -> Result<NumberTable, String> {
    type Read = Result<Vec<(String, Option<Vec<Option<f64>>>, String)>, PyErr>;
    let read = || -> Read { py.import(LAB)?.call_method1("read", (PyBytes::new(py, content),))?.extract() };
    let columns = read().map_err(|error| error.value(py).to_string())?;
    Ok(columns.into_iter().map(|(name, values, kind)| (name, values.ok_or(kind))).collect())
}
