//! What was written is read back; a damaged file is read or refused, never a panic.

use longhaul_parquet::{read, write};
use longhaul_results::{Table, Values};
use longhaul_traffic::Trace;
use proptest::prelude::*;

fn table(columns: Vec<(&'static str, Values)>) -> Table {
    Table { name: "test", columns }
}

#[test]
fn every_kind_of_column_is_read_back() {
    let written = table(vec![
        ("f64", Values::F64(vec![1.5, -2.0])),
        ("optional", Values::Optional(vec![None, Some(3.0)])),
        ("u32", Values::U32(vec![0, u32::MAX])),
        ("u64", Values::U64(vec![0, 1 << 50])),
        ("i32", Values::I32(vec![-1, 7])),
        ("text", Values::Text(vec!["drop", "mark"])),
        ("u8", Values::U8(vec![0, 3])),
    ]);
    let found = read(write(&written).unwrap()).unwrap();
    let some = |values: [f64; 2]| Ok(values.map(Some).to_vec());
    let expected = vec![
        ("f64".to_string(), some([1.5, -2.0])),
        ("optional".to_string(), Ok(vec![None, Some(3.0)])),
        ("u32".to_string(), some([0.0, 4_294_967_295.0])),
        ("u64".to_string(), some([0.0, 1_125_899_906_842_624.0])),
        ("i32".to_string(), some([-1.0, 7.0])),
        ("text".to_string(), Err("Utf8".to_string())),
        ("u8".to_string(), Err("UInt8".to_string())),
    ];
    assert_eq!(found, expected);
}

#[test]
fn the_same_table_gives_the_same_bytes() {
    let written = table(vec![("time_s", Values::F64(vec![0.5, 1.0, 1.5]))]);
    assert_eq!(write(&written).unwrap(), write(&written).unwrap());
}

#[test]
fn what_is_no_parquet_file_is_refused_with_the_reason() {
    let message = read(vec![0; 12]).unwrap_err();
    assert!(message.contains("Invalid Parquet file"), "{message}");
}

fn trace(gaps: &[f64]) -> Vec<u8> {
    let sizes = gaps.iter().map(|_| 100).collect();
    write(&table(vec![("gap_s", Values::F64(gaps.to_vec())), ("bytes", Values::U64(sizes))])).unwrap()
}

proptest! {
    #[test]
    fn a_damaged_file_is_read_or_refused(
        gaps in proptest::collection::vec(0.001f64..100.0, 1..20),
        place in any::<prop::sample::Index>(),
        value in any::<u8>(),
        cut in any::<bool>(),
    ) {
        let mut content = trace(&gaps);
        let place = place.index(content.len());
        if cut {
            content.truncate(place);
        } else {
            content[place] = value;
        }
        match read(content) {
            Ok(table) => drop(Trace::of_columns(&table)),
            Err(reason) => prop_assert!(!reason.is_empty()),
        }
    }
}
