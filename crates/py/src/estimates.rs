//! Statistics of groups of values: exact sums, so that neither their order nor the machine changes a bit of the result.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// Of each group the number of values, mean, median, standard deviation of the sample, least and greatest.
const COLUMNS: usize = 6;

/// Statistics of consecutive groups of values: `values` are 64-bit floats in the machine's order, NaN where there is none;
/// `lengths` are the groups' sizes. Columns of 64-bit floats: count, mean, median, standard deviation (n - 1), minimum, maximum;
/// NaN where one is not defined.
#[pyfunction]
pub fn estimates(py: Python<'_>, values: &[u8], lengths: Vec<usize>) -> PyResult<Vec<Py<PyBytes>>> {
    let values: Vec<f64> = values
        .chunks_exact(8)
        .map(|eight| f64::from_ne_bytes(eight.try_into().expect("chunks of eight")))
        .collect();
    if lengths.iter().sum::<usize>() != values.len() {
        return Err(PyValueError::new_err("the groups do not have as many values as there are"));
    }
    let columns = py.detach(|| {
        let mut columns: [Vec<u8>; COLUMNS] = Default::default();
        let mut rest = values.as_slice();
        for length in lengths {
            let (group, after) = rest.split_at(length);
            rest = after;
            for (column, value) in columns.iter_mut().zip(of_group(group)) {
                column.extend(value.to_ne_bytes());
            }
        }
        columns
    });
    Ok(columns.iter().map(|column| PyBytes::new(py, column).unbind()).collect())
}

fn of_group(group: &[f64]) -> [f64; COLUMNS] {
    let mut ordered: Vec<f64> = group.iter().copied().filter(|value| !value.is_nan()).collect();
    ordered.sort_by(f64::total_cmp);
    let (Some(least), Some(most)) = (ordered.first(), ordered.last()) else {
        return [0.0, f64::NAN, f64::NAN, f64::NAN, f64::NAN, f64::NAN];
    };
    let count = ordered.len();
    let n = count as f64;
    let mean = sum(ordered.iter().copied()) / n;
    let middle = count / 2;
    let median = if count % 2 == 1 { ordered[middle] } else { (ordered[middle - 1] + ordered[middle]) / 2.0 };
    let deviation = match count {
        1 => f64::NAN,
        _ => (sum(ordered.iter().map(|value| (value - mean) * (value - mean))) / (n - 1.0)).sqrt(),
    };
    [n, mean, median, deviation, *least, *most]
}

/// The sum, rounded once at its end. Partial sums that do not overlap hold it exactly: Shewchuk, Adaptive Precision Floating-Point
/// Arithmetic and Fast Robust Geometric Predicates (1997), section 2.
fn sum(values: impl Iterator<Item = f64>) -> f64 {
    let mut partials: Vec<f64> = Vec::with_capacity(8);
    for value in values {
        let mut x = value;
        let mut kept = 0;
        for index in 0..partials.len() {
            let (large, small) =
                if x.abs() < partials[index].abs() { (partials[index], x) } else { (x, partials[index]) };
            let high = large + small;
            let low = small - (high - large);
            if low != 0.0 {
                partials[kept] = low;
                kept += 1;
            }
            x = high;
        }
        partials.truncate(kept);
        partials.push(x);
    }
    rounded(&partials)
}

/// The sum of partials in ascending order, to the nearest number; a tie goes by what is below it.
fn rounded(partials: &[f64]) -> f64 {
    let Some((last, mut rest)) = partials.split_last() else { return 0.0 };
    let mut high = *last;
    let mut low = 0.0;
    while let Some((next, below)) = rest.split_last() {
        let before = high;
        rest = below;
        high = before + next;
        low = next - (high - before);
        if low != 0.0 {
            break;
        }
    }
    if let Some(next) = rest.last() {
        if (low < 0.0 && *next < 0.0) || (low > 0.0 && *next > 0.0) {
            let twice = low * 2.0;
            let other = high + twice;
            if twice == other - high {
                high = other;
            }
        }
    }
    high
}
