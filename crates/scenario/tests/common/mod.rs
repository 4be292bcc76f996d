//! What the scenarios of several tests begin with.

/// A run and one link, whose table is still open; a literal, so that more can be put behind it.
macro_rules! head {
    () => {
        r#"[run]
duration = "10 s"
[[link]]
name = "satellite"
ends = ["hub", "remote"]
rate = "50 Mbit/s"
delay = "250 ms"
"#
    };
}

pub(crate) use head;

/// A directory that goes away.
pub struct Directory(std::path::PathBuf);

impl Directory {
    pub fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("longhaul-traces-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Directory(path)
    }
    pub fn file(&self, name: &str, content: impl AsRef<[u8]>) -> std::path::PathBuf {
        let path = self.0.join(name);
        std::fs::write(&path, content).unwrap();
        path
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
