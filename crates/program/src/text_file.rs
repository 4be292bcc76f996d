//! Reads a file that a person has written: a scenario, a configuration. Whatever else it is ends in one message.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::Path;

/// The largest file that is read, in bytes; a device like `/dev/zero` has no end.
pub const LARGEST: u64 = 16_000_000;

/// The text of a file.
///
/// # Errors
/// Why there is none, to follow the file's name: it cannot be read, has more than [`LARGEST`] bytes, or is not UTF-8.
pub fn read(path: &Path) -> Result<String, String> {
    let mut text = String::new();
    let file = File::open(path).map_err(|why| format!("cannot be read: {}", plain(&why)))?;
    match file.take(LARGEST + 1).read_to_string(&mut text) {
        Ok(_) if text.len() as u64 > LARGEST => Err(format!("larger than {} MB", LARGEST / 1_000_000)),
        Ok(_) => Ok(text),
        Err(why) if why.kind() == ErrorKind::InvalidData => {
            Err("not a text file: it is not UTF-8".to_string())
        }
        Err(why) => Err(format!("cannot be read: {}", plain(&why))),
    }
}

/// An error of the system without its number.
fn plain(why: &std::io::Error) -> String {
    let text = why.to_string();
    text.split_once(" (os error").map_or(text.clone(), |(words, _)| words.to_string())
}

#[cfg(test)]
mod tests {
    use super::read;
    use std::path::Path;

    #[test]
    fn a_file_that_is_no_text_is_refused_with_the_reason() {
        let folder = std::env::temp_dir().join(format!("longhaul-text-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let binary = folder.join("binary");
        std::fs::write(&binary, [0xff, 0xfe, 0]).unwrap();
        let text = folder.join("text");
        std::fs::write(&text, "[run]\n").unwrap();
        assert_eq!(read(&text), Ok("[run]\n".to_string()));
        assert_eq!(read(&binary), Err("not a text file: it is not UTF-8".to_string()));
        assert_eq!(read(&folder), Err("cannot be read: Is a directory".to_string()));
        assert_eq!(read(&folder.join("none")), Err("cannot be read: No such file or directory".to_string()));
        std::fs::remove_dir_all(&folder).unwrap();
    }

    /// Before, all memory was filled with it.
    #[test]
    fn a_device_without_end_is_refused() {
        assert_eq!(read(Path::new("/dev/zero")), Err("larger than 16 MB".to_string()));
    }
}
