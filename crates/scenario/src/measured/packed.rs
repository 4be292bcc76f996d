//! Files that are compressed as a whole: by gzip (RFC 1952) or zstd (RFC 8878), known by their first bytes.

use std::io::Read;

/// The content of a file of at most `most` bytes, unpacked if it is compressed.
///
/// # Errors
/// If it is damaged, or unpacked longer than `most`.
pub(super) fn unpacked(bytes: Vec<u8>, most: u64) -> Result<Vec<u8>, String> {
    if bytes.starts_with(b"\x1f\x8b") {
        return read("gzip", flate2::read::MultiGzDecoder::new(&bytes[..]), most);
    }
    if bytes.starts_with(b"\x28\xb5\x2f\xfd") {
        let reader = zstd::stream::read::Decoder::new(&bytes[..]).map_err(|why| format!("zstd: {why}"))?;
        return read("zstd", reader, most);
    }
    Ok(bytes)
}

/// A few bytes can stand for very many: reading ends one byte beyond what is allowed.
fn read(program: &str, reader: impl Read, most: u64) -> Result<Vec<u8>, String> {
    let mut content = vec![];
    reader
        .take(most + 1)
        .read_to_end(&mut content)
        .map_err(|why| format!("it is compressed by {program} and cannot be unpacked: {why}"))?;
    if content.len() as u64 > most {
        return Err(format!("unpacked ({program}) it has more than {} MB", most / 1_000_000));
    }
    Ok(content)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn gzip(content: &[u8]) -> Vec<u8> {
        let mut writer = flate2::write::GzEncoder::new(vec![], flate2::Compression::default());
        writer.write_all(content).unwrap();
        writer.finish().unwrap()
    }

    #[test]
    fn both_programs_are_undone() {
        let content = b"time_s,rate_mbps\n0,1\n".repeat(100);
        for packed in [gzip(&content), zstd::encode_all(&content[..], 3).unwrap(), content.clone()] {
            assert_eq!(unpacked(packed, 10_000).as_ref(), Ok(&content));
        }
        // gzip joins files by putting them one behind the other.
        let two = [gzip(b"0\n"), gzip(b"1\n")].concat();
        assert_eq!(unpacked(two, 100), Ok(b"0\n1\n".to_vec()));
    }

    #[test]
    fn a_short_file_that_unpacks_to_a_long_one_is_refused() {
        let zeros = gzip(&vec![b'0'; 3_000_000]);
        assert!(zeros.len() < 10_000);
        assert_eq!(unpacked(zeros, 2_000_000), Err("unpacked (gzip) it has more than 2 MB".to_string()));
    }

    #[test]
    fn what_is_cut_off_is_refused() {
        for mut packed in [gzip(&[7; 1000]), zstd::encode_all(&[7; 1000][..], 3).unwrap()] {
            packed.truncate(packed.len() - 4);
            assert!(unpacked(packed, 10_000).unwrap_err().contains("cannot be unpacked"));
        }
    }
}
