//! Pieces of hosts' streams: bytes on real packets, a length where only lengths are simulated.

use bytes::Bytes;

/// Bytes of a host's stream, or only how many, where payload is only a length.
pub trait Data: Clone + std::fmt::Debug + PartialEq + Send + 'static {
    /// It can carry fields, which take no room.
    const HAS_FIELDS: bool = false;
    /// How many.
    fn len(&self) -> u32;
    /// The bytes from the front on that are known; none where only the length is.
    fn bytes(&self) -> &[u8];
    /// The same from what [`Data::len`] and [`Data::bytes`] gave; bytes beyond are left out.
    fn of(len: u32, bytes: &[u8]) -> Self;
    /// True if there are none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// The bytes; zeros where only the length is known.
    fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = self.bytes().to_vec();
        bytes.resize(self.len() as usize, 0);
        bytes
    }
    /// The bytes of a host's stream as a piece of memory that is shared, not copied; zeros where only the length is known.
    fn into_shared(self) -> Bytes {
        const ZEROS: &[u8] = &[0; 1 << 16];
        let len = self.len() as usize;
        if self.bytes().is_empty() && len <= ZEROS.len() {
            Bytes::from_static(&ZEROS[..len])
        } else {
            self.to_bytes().into()
        }
    }
    /// The reverse of [`Data::into_shared`]: where hosts' data is only a length, only that is kept.
    fn of_host(bytes: Bytes) -> Self {
        Self::of(bytes.len() as u32, &[])
    }
    /// What is behind the first `header` bytes.
    fn without(self, header: u32) -> Self;
    /// The value of the field before the first byte, if there is one.
    fn field(&self) -> &[u8] {
        &[]
    }
    /// The same with a field, where that is possible.
    #[must_use]
    fn with_field(self, _field: Vec<u8>) -> Self {
        self
    }
}

/// Only a length.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Length(pub u32);

impl Data for Length {
    fn len(&self) -> u32 {
        self.0
    }
    fn bytes(&self) -> &[u8] {
        &[]
    }
    fn of(len: u32, _: &[u8]) -> Self {
        Length(len)
    }
    fn without(self, header: u32) -> Self {
        Length(self.0.saturating_sub(header))
    }
}

impl Data for Bytes {
    fn len(&self) -> u32 {
        self.len() as u32
    }
    fn bytes(&self) -> &[u8] {
        self
    }
    fn of(len: u32, bytes: &[u8]) -> Self {
        Bytes::copy_from_slice(&bytes[..bytes.len().min(len as usize)])
    }
    fn into_shared(self) -> Bytes {
        self
    }
    fn of_host(bytes: Bytes) -> Self {
        bytes
    }
    fn without(self, header: u32) -> Self {
        self.slice(self.len().min(header as usize)..)
    }
}
