//! The token of the page: a random number in a file that only its owner can read, beside the control socket.

use crate::Error;
use std::fmt::Write as _;
use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Hexadecimal digits of a token.
const DIGITS: usize = 64;

/// The file of the daemon with this control socket.
pub fn file(control: &Path) -> PathBuf {
    control.with_file_name("page.token")
}

/// Reads a token that is there.
///
/// # Errors
/// A file that is missing, is readable by others, or has something else.
pub fn read(path: &Path) -> Result<String, Error> {
    let failed = |why: String| Error::system(format!("read {}", path.display()), why);
    let mut file = File::open(path).map_err(|why| {
        let hint = match why.kind() {
            ErrorKind::NotFound => "; it is made when a daemon with [page] starts",
            ErrorKind::PermissionDenied => "; it needs root",
            _ => "",
        };
        failed(format!("{why}{hint}"))
    })?;
    if file.metadata().map_err(|why| failed(why.to_string()))?.mode() & 0o077 != 0 {
        return Err(failed("others may read it; delete it and start the daemon again".into()));
    }
    let mut text = String::new();
    file.read_to_string(&mut text).map_err(|why| failed(why.to_string()))?;
    let token = text.trim().to_string();
    let fine = token.len() == DIGITS && token.bytes().all(|c| c.is_ascii_hexdigit());
    if fine { Ok(token) } else { Err(failed("it is no token; delete it and start the daemon again".into())) }
}

/// The token that is there, so that an address goes on to work after a restart, or else a new one.
///
/// # Errors
/// A file that cannot be written, and one that [`read`] refuses.
pub fn make(path: &Path) -> Result<String, Error> {
    let failed = |why: std::io::Error| Error::system(format!("write {}", path.display()), why);
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(failed)?;
    }
    let token = random()?;
    match OpenOptions::new().write(true).create_new(true).mode(0o600).open(path) {
        Ok(mut file) => writeln!(file, "{token}").map_err(failed).map(|()| token),
        Err(why) if why.kind() == ErrorKind::AlreadyExists => read(path),
        Err(why) => Err(failed(why)),
    }
}

/// A token of 256 bits.
///
/// # Errors
/// A system without random numbers.
pub fn random() -> Result<String, Error> {
    let mut bytes = [0; DIGITS / 2];
    File::open("/dev/urandom")
        .and_then(|mut file| file.read_exact(&mut bytes))
        .map_err(|why| Error::system("read random numbers", why))?;
    Ok(bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a string never fails.
        let _ = write!(text, "{byte:02x}");
        text
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_token_stays_and_only_its_owner_reads_it() {
        let folder = std::env::temp_dir().join(format!("longhaul-pep-token-{}", std::process::id()));
        let path = file(&folder.join("control.sock"));
        let first = make(&path).unwrap();
        assert_eq!(first.len(), 64);
        assert_eq!(std::fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
        assert_eq!(make(&path).unwrap(), first);
        assert_ne!(random().unwrap(), first);
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
        assert!(make(&path).unwrap_err().to_string().contains("others may read it"));
        std::fs::remove_dir_all(&folder).unwrap();
        assert!(read(&path).unwrap_err().to_string().contains("a daemon with [page]"));
    }
}
