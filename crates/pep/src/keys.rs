//! The node's key pair: a file that only its owner can read, and the public part that goes into the other node's file.

use crate::Error;
use crate::config::Key;
use longhaul_hop::tls::Identity;
use std::fmt::Write as _;
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

/// First word of a key file.
const MARK: &str = "longhaul-pep-key";

/// Makes a key pair in a new file, and the directory of that file where there is none; returns the public part.
///
/// # Errors
/// A file that exists, or cannot be written.
pub fn generate(path: &Path) -> Result<Key, Error> {
    let failed = |why: String| Error::system(format!("write {}", path.display()), why);
    if let Some(directory) = path.parent().filter(|directory| !directory.as_os_str().is_empty()) {
        std::fs::create_dir_all(directory).map_err(|why| failed(why.to_string()))?;
    }
    let secret = Identity::generate_pkcs8().map_err(|why| failed(why.to_string()))?;
    let mut file =
        std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path).map_err(|why| {
            let hint = if why.kind() == ErrorKind::AlreadyExists {
                "; `keygen --show` prints its public key"
            } else {
                ""
            };
            failed(format!("{why}{hint}"))
        })?;
    writeln!(file, "{MARK} {}", to_hex(&secret)).map_err(|why| failed(why.to_string()))?;
    file.sync_all().map_err(|why| failed(why.to_string()))?;
    Ok(Key(identity(&secret, path)?.public_key().0))
}

/// Reads a key file that only its owner can read.
///
/// # Errors
/// One that is missing, readable by others, or something else.
pub fn load(path: &Path) -> Result<Identity, Error> {
    let failed = |why: String| Error::Config(format!("{}: {why}", path.display()));
    let text = std::fs::read_to_string(path).map_err(|why| {
        let hint =
            if why.kind() == ErrorKind::NotFound { "; make it with `longhaul-pep keygen FILE`" } else { "" };
        failed(format!("{why}{hint}"))
    })?;
    let mode = std::fs::metadata(path).map_err(|why| failed(why.to_string()))?.mode() & 0o777;
    if mode & 0o077 != 0 {
        return Err(failed(format!("others may read this key (mode {mode:o}); chmod 600 it")));
    }
    let secret = text.strip_prefix(MARK).and_then(|rest| from_hex(rest.trim()));
    identity(
        &secret.ok_or_else(|| failed("this is no key; make one with `longhaul-pep keygen FILE`".into()))?,
        path,
    )
}

fn identity(secret: &[u8], path: &Path) -> Result<Identity, Error> {
    Identity::from_pkcs8(secret).map_err(|why| Error::Config(format!("{}: {why}", path.display())))
}

/// Random bytes of the system, for secrets.
pub(crate) fn random(bytes: &mut [u8]) -> Result<(), Error> {
    std::fs::File::open("/dev/urandom")
        .and_then(|mut file| file.read_exact(bytes))
        .map_err(|why| Error::system("read random numbers", why))
}

/// Bytes from hexadecimal digits; `None` if it is something else.
pub(crate) fn from_hex(text: &str) -> Option<Vec<u8>> {
    if !text.bytes().all(|c| c.is_ascii_hexdigit()) || text.len() % 2 != 0 {
        return None;
    }
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).ok()).collect()
}

/// Hexadecimal digits.
pub(crate) fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a string never fails.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_key_is_written_once_and_only_its_owner_reads_it() {
        // As /etc/longhaul is missing on a machine where nothing was installed from a package.
        let directory = std::env::temp_dir().join(format!("longhaul-pep-key-{}", std::process::id()));
        let path = directory.join("longhaul/pep.key");
        let public = generate(&path).unwrap();
        assert_eq!(load(&path).unwrap().public_key().0, public.0);
        assert_eq!(public.to_string().parse(), Ok(public));
        let again = generate(&path).unwrap_err().to_string();
        assert!(again.contains("keygen --show"), "{again}");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
        let open = load(&path).err().unwrap().to_string();
        assert!(open.contains("chmod 600"), "{open}");
        std::fs::remove_dir_all(&directory).unwrap();
    }

    #[test]
    fn what_is_no_key_is_refused() {
        assert!("00".parse::<Key>().is_err());
        assert!("zz".repeat(32).parse::<Key>().is_err());
        assert_eq!(from_hex("+1"), None);
        assert_eq!("0a".repeat(32).parse::<Key>(), Ok(Key([10; 32])));
    }
}
