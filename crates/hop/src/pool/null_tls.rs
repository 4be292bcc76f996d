//! TLS 1.3 without cryptography, for simulations: handshake flights and records as long as rustls makes them with raw public keys at both
//! ends (RFC 8446 section 5, RFC 7250), and nothing but zeros in them where TLS has secrets.

/// What a record adds: header, type of content and tag (RFC 8446 section 5.2).
pub const RECORD: usize = 5 + 1 + 16;
/// Bytes that a record carries at most (RFC 8446 section 5.1).
pub const MOST: usize = 1 << 14;
/// Lengths of the flights: the client's hello; the server's hello with key, signature and the end of its handshake; the client's key,
/// signature and end. `tests/tls.rs` measures them.
pub const FLIGHTS: [usize; 3] = [217, 390, 209];

const HEADER: usize = 5;
const APPLICATION_DATA: u8 = 23;

/// One end of a connection.
#[derive(Debug)]
pub struct NullTls {
    /// Bytes of the peer's flights that are still to come, and the flight that answers each.
    awaited: Vec<(usize, usize)>,
    partial: Vec<u8>,
}

impl NullTls {
    /// The end that opens the connection, or the other; bytes that leave at once are appended to `out`.
    pub fn new(opener: bool, out: &mut Vec<u8>) -> Self {
        let [first, second, third] = FLIGHTS;
        let awaited = if opener { vec![(second, third)] } else { vec![(third, 0), (first, second)] };
        if opener {
            out.resize(out.len() + first, 0);
        }
        NullTls { awaited, partial: vec![] }
    }

    /// True once data may be sent.
    pub fn is_open(&self) -> bool {
        self.awaited.is_empty()
    }

    /// Bytes have come, cut anywhere: data is appended to `plain`, and what is to be answered to `out`.
    ///
    /// # Errors
    /// What is no record: the connection is to be closed.
    pub fn received(
        &mut self,
        bytes: &[u8],
        plain: &mut Vec<u8>,
        out: &mut Vec<u8>,
    ) -> Result<(), &'static str> {
        let mut bytes = bytes;
        while let Some((awaited, answer)) = self.awaited.last_mut() {
            let taken = bytes.len().min(*awaited);
            bytes = &bytes[taken..];
            *awaited -= taken;
            if *awaited > 0 {
                return Ok(());
            }
            out.resize(out.len() + *answer, 0);
            self.awaited.pop();
        }
        self.partial.extend_from_slice(bytes);
        let mut at = 0;
        while let Some(&[kind, _, _, high, low]) = self.partial.get(at..).and_then(|rest| rest.first_chunk())
        {
            let length = usize::from(u16::from_be_bytes([high, low]));
            if kind != APPLICATION_DATA || !(RECORD - HEADER..=MOST + RECORD - HEADER).contains(&length) {
                return Err("no record of application data");
            }
            let Some(content) = self.partial.get(at + HEADER..at + HEADER + length) else { break };
            plain.extend_from_slice(&content[..length + HEADER - RECORD]);
            at += HEADER + length;
        }
        self.partial.drain(..at);
        Ok(())
    }

    /// Appends `plain` to `out` as records.
    pub fn seal(plain: &[u8], out: &mut Vec<u8>) {
        for content in plain.chunks(MOST) {
            let length = (content.len() + RECORD - HEADER) as u16;
            out.extend([APPLICATION_DATA, 3, 3]);
            out.extend(length.to_be_bytes());
            out.extend_from_slice(content);
            out.resize(out.len() + RECORD - HEADER, 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Both ends open after a round trip, and data comes out as it went in, however the stream is cut.
        #[test]
        fn what_is_sealed_is_opened(
            plain in proptest::collection::vec(any::<u8>(), 0..50_000),
            cuts in proptest::collection::vec(1usize..3000, 1..50),
        ) {
            let (mut to_hub, mut to_terminal, mut got) = (vec![], vec![], vec![]);
            let mut ends = [NullTls::new(true, &mut to_hub), NullTls::new(false, &mut to_terminal)];
            prop_assert!(to_terminal.is_empty());
            ends[1].received(&std::mem::take(&mut to_hub), &mut got, &mut to_terminal).unwrap();
            prop_assert!(!ends[1].is_open());
            ends[0].received(&std::mem::take(&mut to_terminal), &mut got, &mut to_hub).unwrap();
            prop_assert!(ends[0].is_open());
            NullTls::seal(&plain, &mut to_hub);
            prop_assert_eq!(to_hub.len(), FLIGHTS[2] + plain.len() + plain.len().div_ceil(MOST) * RECORD);
            let (mut rest, mut cuts) = (&to_hub[..], cuts.into_iter().cycle());
            while !rest.is_empty() {
                let cut = cuts.next().unwrap().min(rest.len());
                ends[1].received(&rest[..cut], &mut got, &mut to_terminal).unwrap();
                rest = &rest[cut..];
            }
            prop_assert!(ends[1].is_open() && to_terminal.is_empty());
            prop_assert!(got == plain);
        }

        /// Any bytes are refused or taken, without a panic and without more memory than a record.
        #[test]
        fn any_bytes_are_bounded(bytes in proptest::collection::vec(any::<u8>(), 0..2000)) {
            let (mut plain, mut out) = (vec![], vec![]);
            let mut end = NullTls::new(false, &mut out);
            let _ = end.received(&vec![0; FLIGHTS[0] + FLIGHTS[2]], &mut plain, &mut out);
            let _ = end.received(&bytes, &mut plain, &mut out);
            prop_assert!(plain.len() <= bytes.len());
        }
    }
}
